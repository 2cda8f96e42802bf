#!/usr/bin/env python3
"""Simulates a training job of many ranks, with planted faults, and writes what cuspan would have recorded.

    simulate.py --ranks 64 --steps 20 --seed 1 --fault late --otlp job.jsonl --truth truth.json

A step is a sequence of segments: compute on each rank, then a collective of its communicator, which ends on all of its
ranks at max(arrivals) + transfer. Ranks form a grid: groups of `--tensor` neighbors reduce after each segment (tensor
parallelism), and ranks with the same place in their group reduce the gradients (data parallelism) at the end of the
step, either after the compute or overlapped with it (`--overlap`). `--profile` takes compute, copies and transfers from
an OTLP file of a real job with two ranks instead: all ranks repeat the same one of its steps, and reduce beside the
compute. With `--mixed-steps`, each rank repeats another one, so that ranks differ as much as the steps of the real job.

Faults: `late` (one rank is later in half of the steps), `late-always`, `loader` (the same, before the first call),
`inherited` (late rank inside a tensor group), `link` (one communicator has half the bandwidth), `link-later` (the same
from some step on), `imbalance` (another rank in each step has more work), `data-loader` (all ranks load data before
each step), `none`. Hosts have clock offsets of up to 5 ms and drifts of up to 20 ppm.

The host waits for the GPU at the end of each step, or runs up to one step ahead (`--ahead`).
"""

import argparse
import gzip
import json
import random
import statistics
import struct
import sys

RECORD = struct.Struct("<IIQQQQQIIQ")
RANK, STEP, CALL, WORK, COLLECTIVE = range(5)
COMPUTE, COMMUNICATION, COPY = range(3)
OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter",
              "send", "recv", "send_recv"]
ALL_REDUCE, SEND_RECV = 0, 10
EPOCH_NS = 1_780_000_000_000_000_000
HOST_RANKS = 8
FAULTS = ("none", "late", "late-always", "loader", "inherited", "link", "link-later", "imbalance", "data-loader")


def mix(*words):
    """A 63-bit key that is the same on all ranks."""
    value = 0x9E3779B97F4A7C15
    for word in words:
        value = (value ^ word) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        value ^= value >> 31
    return value >> 1


class Clock:
    """A host's clock: true time in ns since the start of the job to what the host shows."""

    def __init__(self, offset_ns, drift):
        self.offset_ns, self.drift = offset_ns, drift

    def __call__(self, true_ns):
        return EPOCH_NS + int(true_ns + self.offset_ns + self.drift * true_ns)


class Communicator:
    def __init__(self, key, members, bandwidth):
        self.key, self.members, self.bandwidth, self.nominal = key, members, bandwidth, bandwidth
        self.ordinal = 0


class Job:
    """Calls emit(type, rank, step, start, end, key, communicator, word, participants, bytes) in the order of time of
    each rank. `truth` holds what was planted, and what follows from it."""

    def __init__(self, args, emit):
        self.args, self.emit, self.random = args, emit, random.Random(args.seed)
        self.ranks = range(args.ranks)
        hosts = (args.ranks + HOST_RANKS - 1) // HOST_RANKS
        self.make_clocks(hosts)
        self.make_communicators()
        self.make_segments()
        self.plant()
        self.now = [0.0] * args.ranks   # of each rank's compute stream, true ns
        self.host = [0.0] * args.ranks  # where the program's thread begins its next step
        self.parts = {part: [] for part in ("duration", "exposed", "most_exposed", "imbalance", "loader")}  # of each step
        self.records = [[] for _ in self.ranks]  # of the step
        self.delays = []  # of the late rank against its peers, in its late steps
        self.alone = [0.0] * args.ranks  # as `now`, if the rank had not waited for another one in this step

    def make_clocks(self, hosts):
        spread = 0 if self.args.no_clocks else 1
        draws = [(self.random.uniform(-5e6, 5e6), self.random.uniform(-20e-6, 20e-6)) for _ in range(hosts)]
        self.clocks = [Clock(spread * offset, spread * drift) for offset, drift in draws]
        self.clock_of = [self.clocks[rank // HOST_RANKS] for rank in self.ranks]

    def make_communicators(self):
        tensor, count, speed = self.args.tensor, self.args.ranks, self.args.bandwidth
        self.tensor = [Communicator(mix(1, self.args.seed, first), list(range(first, first + tensor)), speed * 200e9)
                       for first in range(0, count, tensor)] if tensor > 1 else []
        self.data = [Communicator(mix(2, self.args.seed, place), list(range(place, count, tensor)), speed * 40e9)
                     for place in range(tensor)] if count > tensor else []
        self.pairs = [Communicator(mix(3, self.args.seed, first), [first, first + 1], speed * 20e9)
                      for first in range(0, count - 1, 2)] if self.args.pairs else []

    def make_segments(self):
        """Variants of a step: its segments, and the compute after them."""
        if self.args.profile:
            self.variants = read_profile(self.args.profile)
        else:
            self.variants = [([Segment(self.random.uniform(0.7, 1.3) * self.args.step_ms * 1e6 / self.args.segments,
                                       0, int(self.random.choice((1, 4, 16)) * 2**20), None)
                               for _ in range(self.args.segments)], 0.0)]
        segments, tail = self.variants[0]
        self.segment_count = len(segments)
        self.compute_ns = sum(segment.compute_ns + segment.copy_ns for segment in segments) + tail

    def plant(self):
        fault, draw, segments = self.args.fault, self.random, self.variants[0][0]
        self.late_steps, self.late_rank, self.delay_ns, self.where = set(), None, 0, 0
        least = max(200e3, 0.01 * self.compute_ns)
        if fault in ("late", "late-always", "loader", "inherited"):
            steps = range(1, self.args.steps + 1)
            self.late_rank = draw.randrange(self.args.ranks)
            self.late_steps = set(steps if fault == "late-always" else draw.sample(steps, self.args.steps // 2))
            self.delay_ns = self.args.delay_us * 1e3 or draw.uniform(1.1 * least, 4 * least)
            self.where = 0 if fault == "loader" else draw.randrange(self.segment_count)
        if fault == "loader" and self.args.ahead:
            self.late_steps = set(range(1, self.args.steps + 1))  # a host that is late once catches up
        self.is_idle = fault == "loader" or (fault != "imbalance" and draw.random() < 0.3)  # an imbalance is one of work
        self.slow, self.slow_from = None, 0
        if fault in ("link", "link-later"):
            self.slow = draw.choice(self.pairs or (self.tensor if len(self.tensor) > 2 else self.data))
        if fault == "link-later":
            self.slow_from = draw.randint(self.args.steps // 4, self.args.steps // 2)
        self.truth = {"fault": fault, "rank": self.late_rank, "planted_ns": self.delay_ns, "delay_ns": 0,
                      "least_ns": least,
                      "steps": sorted(self.late_steps), "link": self.slow.key if self.slow else None,
                      "link_ranks": self.slow.members if self.slow else None, "link_from": self.slow_from,
                      "clocks": [{"offset_ns": clock.offset_ns, "drift": clock.drift} for clock in self.clocks]}

    def run(self):
        for rank in self.ranks:
            self.emit(RANK, rank, 0, 0, 0, 0, 0, rank // HOST_RANKS, 0, 0)
        for step in range(1, self.args.steps + 1):
            self.run_step(step)
        medians = {part: statistics.median(steps) for part, steps in self.parts.items()}
        self.truth.update({f"{part}_share": median / medians["duration"] for part, median in medians.items()})
        if self.delays:
            self.truth["delay_ns"] = statistics.median(self.delays)
        self.truth["duration_ns"] = max(self.now)

    def shown(self, step, rank):
        """The step's number on this rank."""
        return step + (self.args.shift if rank == self.args.ranks - 1 else 0)

    def is_sampled(self, step):
        return step % self.args.sampled == 0

    def put(self, step, kind, rank, *fields):
        if self.is_sampled(step):
            self.records[rank].append((kind, rank, *fields))

    def write_step(self):
        """A collective of a stream may start after the compute that follows it."""
        for records in self.records:
            records.sort(key=lambda record: record[3])  # by start
            for record in records:
                self.emit(*record)
            records.clear()

    def begin(self, step, late):
        """The host starts the step, loads data, and launches its first work."""
        for rank in self.ranks:
            before = self.now[rank]
            start = self.host[rank] if self.args.ahead else before
            delay = self.delay_ns if rank == late and self.args.fault == "loader" else 0
            if self.args.fault == "data-loader":
                delay = max(0.0, self.random.gauss(self.args.loader_share, 0.1 * self.args.loader_share)) * self.compute_ns
            backlog = before - start if before > start else 0
            shown, clock = self.shown(step, rank), self.clock_of[rank]
            # The host is ahead of the GPU, so the end is known only later.
            self.put(step, STEP, rank, shown, clock(start), clock(start) + 1000, 0 if self.args.no_backlog else int(backlog) + 1,
                     0, 0, 0, 0)
            self.put(step, CALL, rank, shown, clock(start + delay), 0, 0, 0, 0, 0, 0)
            self.now[rank] = max(before, start + delay)
            if self.args.ahead:  # one step at most
                self.host[rank] = max(start + delay + 0.3 * self.compute_ns, before)
            self.idle[rank] = self.now[rank] - before

    def run_step(self, step):
        late = self.late_rank if step in self.late_steps else None
        before, count = list(self.now), self.args.ranks
        self.idle, self.exposed, self.most_exposed = [0.0] * count, [0.0] * count, [0.0] * count
        if self.slow and step == max(self.slow_from, 1):
            self.slow.bandwidth /= 2
        self.begin(step, late)
        stream = list(self.now)  # of the communication
        self.alone, self.alone_stream = list(self.now), list(self.now)
        picked = [self.variants[mix(step, rank * self.args.mixed_steps) % len(self.variants)] for rank in self.ranks]
        unlucky = self.random.randrange(count)
        for at in range(self.segment_count):
            extra = self.extra(at, late, unlucky)
            self.compute(step, [segments[at].compute_ns for segments, _ in picked], extra)
            self.copy(step, [segments[at].copy_ns for segments, _ in picked], stream)
            first = picked[0][0][at]
            for communicator in self.tensor:
                self.reduce(step, communicator, first, self.now, None)
            if self.args.profile:
                for communicator in self.data:
                    self.reduce(step, communicator, first, self.now, stream)
            elif self.args.overlap and at % 4 == 3:
                for communicator in self.data:
                    self.reduce(step, communicator, first.of_size(4 * first.bytes), self.now, stream)
        for communicator in self.pairs:
            self.reduce(step, communicator, Segment(0, 0, 2**20, None), self.now, None, SEND_RECV)
        if not self.args.profile:
            for communicator in self.data:
                self.reduce(step, communicator, Segment(0, 0, 2**22, None), self.now, stream)
        for rank in self.ranks:
            self.exposed[rank] += max(0.0, self.alone_stream[rank] - self.alone[rank])  # the rest is waiting, or a slow link
            self.most_exposed[rank] += max(0.0, stream[rank] - self.now[rank])
            self.now[rank] = max(self.now[rank], stream[rank])
            self.alone[rank] = max(self.alone[rank], self.alone_stream[rank])
        if any(tail for _, tail in picked):
            self.compute(step, [tail for _, tail in picked], {})
        if self.is_sampled(step):
            self.sum_up(before, late)
        self.write_step()

    def extra(self, at, late, unlucky):
        """Additional time of ranks in a segment, ns."""
        extra = {}
        if late is not None and at == self.where and self.args.fault != "loader":
            extra[late] = self.delay_ns
        if self.args.fault == "imbalance" and at == self.segment_count // 2:
            extra[unlucky] = self.args.imbalance_share * self.compute_ns
        return extra

    def sum_up(self, before, late):
        """Shares of the step that follow from what was planted; the late rank is no matter of balance.

        The delay of a rank is how much later than its peers it would have ended the step if no rank had waited for
        another one, and all links were equal. So what is hidden by a transfer that blocks its peers is no delay."""
        count = self.args.ranks
        alone = [end - start for end, start in zip(self.alone, before)]
        if late is not None:
            self.delays.append(alone[late] - statistics.median(alone[rank] for rank in self.ranks if rank != late))
        own = [alone[rank] for rank in self.ranks if rank != self.late_rank]
        for part, ns in (("duration", sum(now - start for now, start in zip(self.now, before)) / count),
                         ("exposed", min(self.exposed)), ("most_exposed", min(self.most_exposed)),
                         ("imbalance", max(own) - sum(own) / len(own)), ("loader", sorted(self.idle)[count // 2])):
            self.parts[part].append(ns)

    def compute(self, step, mean_ns, extra):
        gauss, now = self.random.gauss, self.now
        for rank in self.ranks:
            start, busy = now[rank], mean_ns[rank] * (1 + gauss(0, self.args.noise))
            delay = extra.get(rank, 0)
            self.alone[rank] += busy + delay
            if delay and not self.is_idle:
                busy, delay = busy + delay, 0
            clock = self.clock_of[rank]
            self.put(step, WORK, rank, self.shown(step, rank), clock(start), clock(start + busy), 0, 0, COMPUTE, 0, 0)
            now[rank] = start + busy + delay

    def copy(self, step, mean_ns, stream):
        """Copies do not hide communication."""
        for rank in self.ranks:
            start, busy, clock = self.now[rank], mean_ns[rank], self.clock_of[rank]
            if busy:
                self.put(step, WORK, rank, self.shown(step, rank), clock(start), clock(start + busy), 0, 0, COPY, 0, 0)
            self.alone[rank] += busy
            self.exposed[rank] += max(0.0, min(stream[rank], start + busy) - start)
            self.most_exposed[rank] += max(0.0, min(stream[rank], start + busy) - start)
            self.now[rank] = start + busy

    def transfer_ns(self, communicator, segment, operation, bandwidth):
        """The real duration, or that of a link. A slow link takes twice as long, except for the latency."""
        count = len(communicator.members)
        if segment.transfer_ns:
            return segment.transfer_ns * communicator.nominal / bandwidth
        return 8e3 + segment.bytes * (2 * (count - 1) / count if operation == ALL_REDUCE else 1) * 1e9 / bandwidth

    def reduce(self, step, communicator, segment, now, stream, operation=ALL_REDUCE):
        """`stream`: None if the compute waits for the collective."""
        gauss, members = self.random.gauss, communicator.members
        starts = [now[rank] if stream is None else max(now[rank], stream[rank]) for rank in members]
        end = max(starts) + self.transfer_ns(communicator, segment, operation, communicator.bandwidth) * (1 + abs(gauss(0, 0.02)))
        usual = self.transfer_ns(communicator, segment, operation, communicator.nominal)
        key = mix(communicator.key, operation, communicator.ordinal)
        communicator.ordinal += 1
        for start, rank in zip(starts, members):
            own_end, clock = end + abs(gauss(0, 1500)), self.clock_of[rank]
            if stream is None:
                self.alone[rank] += usual
            else:
                self.alone_stream[rank] = max(self.alone[rank], self.alone_stream[rank]) + usual
            self.put(step, COLLECTIVE, rank, self.shown(step, rank), clock(start), clock(own_end), key, communicator.key,
                     operation, len(members), segment.bytes)
            if stream is None:
                self.exposed[rank] += own_end - max(starts)  # the rest is waiting
                self.most_exposed[rank] += own_end - start
                now[rank] = own_end
            else:
                stream[rank] = own_end


class Segment:
    """Of a step: compute, copies, and then a collective. `transfer_ns`: its real duration, or None."""

    def __init__(self, compute_ns, copy_ns, size, transfer_ns):
        self.compute_ns, self.copy_ns, self.bytes, self.transfer_ns = compute_ns, copy_ns, size, transfer_ns

    def of_size(self, size):
        return Segment(self.compute_ns, self.copy_ns, size, self.transfer_ns)


def read_work(path):
    """GPU work of a real job: {trace: {rank: [(start, end, kind, key, bytes)]}}, sorted."""
    opened = gzip.open(path, "rt", encoding="utf-8") if str(path).endswith(".gz") else open(path, encoding="utf-8")
    work = {}
    with opened as lines:
        for line in lines:
            for resource in json.loads(line).get("resourceSpans", []):
                rank = values_of(resource["resource"]).get("cuda.process.rank")
                for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
                    values = values_of(span)
                    kind = values.get("cuda.activity")
                    if kind not in ("kernel", "memcpy", "memset", "collective") or span["name"].startswith("nccl"):
                        continue
                    work.setdefault(span["traceId"], {}).setdefault(rank, []).append(
                        (int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]), kind,
                         values.get("collective.key"), int(values.get("collective.bytes", 0))))
    for ranks in work.values():
        for spans in ranks.values():
            spans.sort()
    return work


def values_of(item):
    return {attribute["key"]: next(iter(attribute["value"].values())) for attribute in item.get("attributes", [])}


def split(spans):
    """Work before each collective of a rank's step, and after the last one: [compute, copies], and collectives."""
    parts, collectives = [[0, 0]], []
    for start, end, kind, key, size in spans:
        if kind == "collective":
            collectives.append((end - start, key, size))
            parts.append([0, 0])
        else:
            parts[-1][kind != "kernel"] += end - start
    return parts, collectives


def read_profile(path):
    """Real durations from OTLP of a job with two ranks: variants of a step, each with its segments and its last compute.

    The rank that arrives first has only its usual work before the first collective. After that, only the last one to
    arrive shows when its work was done, because the others work ahead while they wait."""
    variants = []
    for ranks in read_work(path).values():
        if len(ranks) != 2:
            continue
        both = [split(spans) for spans in ranks.values()]
        if not both[0][1] or [key for _, key, _ in both[0][1]] != [key for _, key, _ in both[1][1]]:
            continue
        durations = [[duration for duration, _, _ in collectives] for _, collectives in both]
        shows = [durations[0][0] < durations[1][0]] + [first > second for first, second in zip(*durations)]
        segments = [Segment(*both[shows[at]][0][at], size, min(durations[0][at], durations[1][at]))
                    for at, (_, _, size) in enumerate(both[0][1])]
        variants.append((segments, both[shows[-1]][0][-1][0]))
    if not variants or len({len(segments) for segments, _ in variants}) > 1:
        sys.exit(f"{path}: no steps with the same collectives on two ranks; record a job with two ranks")
    return variants


def writer_of_records(out):
    pack, write = RECORD.pack, out.write

    def emit(*fields):
        write(pack(*fields))
    return emit


class OtlpWriter:
    """One line of OTLP JSON per step and rank, in cuspan's attributes."""

    def __init__(self, out, seed):
        self.out, self.seed = out, seed
        self.resources, self.spans, self.step_of, self.next_id = {}, {}, {}, 1
        self.ordinals = {}

    def id(self):
        self.next_id += 1
        return f"{self.next_id:016x}"

    def emit(self, kind, rank, step, start, end, key, communicator, word, participants, size):
        if kind == RANK:
            self.resources[rank] = {"host.name": f"node-{word}", "service.name": "trainer", "process.pid": 1000 + rank,
                                    "cuda.process.rank": rank, "cuda.process.world_size": 0}
            return
        trace = f"{mix(self.seed, step):016x}{mix(step, self.seed, 1):016x}"
        if kind == STEP:
            self.flush(rank)
            values = {"training.step.number": step, "training.step.source": "api", "training.step.kind": "train",
                      "cuda.session.end_reason": "step"}
            if key:
                values["training.step.gpu_backlog"] = key - 1
            self.step_of[rank] = {"traceId": trace, "spanId": self.id(), "name": f"rank {rank}", "kind": 1,
                                  "startTimeUnixNano": str(start), "endTimeUnixNano": str(end),
                                  "attributes": attributes(values)}
            self.spans[rank] = [self.step_of[rank]]
            return
        values, name = {"cuda.activity": "kernel", "cuda.stream.id": 7}, "compute"
        if kind == CALL:
            end, name, values = start + 5000, "cudaLaunchKernel", {"cuda.api": "runtime"}
        if kind == COLLECTIVE:
            name = OPERATIONS[word].title().replace("_", "")
            ordinal = self.ordinals[rank, communicator, word] = self.ordinals.get((rank, communicator, word), -1) + 1
            values.update({"cuda.activity": "collective", "collective.operation": OPERATIONS[word], "collective.ranks": participants,
                           "collective.communicator": f"0x{communicator:x}", "collective.bytes": size,
                           "collective.key": f"0x{key:x}", "collective.source": "nvtx", "collective.ordinal": ordinal})
        if kind == COLLECTIVE and word == SEND_RECV:
            values["collective.peer"] = 1 - rank % 2
        self.spans[rank].append({"traceId": trace, "spanId": self.id(), "parentSpanId": self.step_of[rank]["spanId"],
                                 "name": name, "kind": 1, "startTimeUnixNano": str(start), "endTimeUnixNano": str(end),
                                 "attributes": attributes(values)})
        # A step's span ends with its last GPU work.
        self.step_of[rank]["endTimeUnixNano"] = str(max(end, int(self.step_of[rank]["endTimeUnixNano"])))

    def flush(self, rank):
        if self.spans.get(rank):
            self.out.write(json.dumps({"resourceSpans": [{
                "resource": {"attributes": attributes(self.resources[rank])},
                "scopeSpans": [{"scope": {"name": "cuspan"}, "spans": self.spans[rank]}]}]}) + "\n")

    def close(self):
        for rank in self.resources:
            self.resources[rank]["cuda.process.world_size"] = len(self.resources)
            self.flush(rank)


def attributes(values):
    return [{"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in values.items()]


def parser():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ranks", type=int, default=64)
    options.add_argument("--tensor", type=int, default=1, help="ranks of a tensor group; 1: data parallelism alone")
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--segments", type=int, default=16, help="of a step")
    options.add_argument("--step-ms", type=float, default=20, help="compute of a step")
    options.add_argument("--noise", type=float, default=0.005, help="deviation of a segment's compute")
    options.add_argument("--overlap", action="store_true", help="gradients are reduced beside the compute")
    options.add_argument("--pairs", action="store_true", help="neighbors exchange data by send and recv")
    options.add_argument("--fault", default="none", choices=FAULTS)
    options.add_argument("--delay-us", type=float, default=0, help="of a late rank; 0: random, from 200 us or 1 %% on")
    options.add_argument("--imbalance-share", type=float, default=0.15, help="more work, of a step's compute")
    options.add_argument("--loader-share", type=float, default=0.1, help="time to load data, of a step's compute")
    options.add_argument("--bandwidth", type=float, default=1, help="of all links, times the usual one")
    options.add_argument("--ahead", action="store_true", help="hosts submit work up to one step ahead of the GPU")
    options.add_argument("--sampled", type=int, default=1, help="each N-th step is recorded")
    options.add_argument("--no-backlog", action="store_true", help="without training.step.gpu_backlog, as in old files")
    options.add_argument("--shift", type=int, default=0, help="added to the step numbers of the last rank")
    options.add_argument("--no-clocks", action="store_true", help="all clocks are equal")
    options.add_argument("--profile", help="OTLP JSON of a real job with two ranks, for the durations")
    options.add_argument("--mixed-steps", action="store_true", help="with --profile: each rank repeats another real step")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--records", help="write binary records for ranks_driver; -: standard output")
    options.add_argument("--otlp", help="write OTLP JSON lines")
    options.add_argument("--truth", help="write what was planted")
    return options


def main():
    args = parser().parse_args()
    if args.ranks < 2 or args.tensor < 1 or args.ranks % args.tensor:
        sys.exit("--ranks must be at least 2 and a multiple of --tensor")
    if args.otlp:
        with open(args.otlp, "w", encoding="utf-8") as out:
            otlp = OtlpWriter(out, args.seed)
            job = Job(args, otlp.emit)
            job.run()
            otlp.close()
    else:
        with (sys.stdout.buffer if args.records in (None, "-") else open(args.records, "wb")) as out:
            job = Job(args, writer_of_records(out))
            job.run()
    if args.truth:
        with open(args.truth, "w", encoding="utf-8") as out:
            json.dump(job.truth, out)


if __name__ == "__main__":
    main()
