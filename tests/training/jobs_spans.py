"""Writes a job of jobs.py as the agent does: a file for each rank, with its own clock, resources, names and types of attributes."""

import hashlib
import json
import random
import uuid

from jobs import OPERATIONS

EPOCH_NS = 1_790_000_000_000_000_000
COPIES = ("memcpy", "memset")


def attributes(values):
    def wrap(value):
        if isinstance(value, bool):
            return {"boolValue": value}
        if isinstance(value, int):
            return {"intValue": str(value)}
        return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}

    return [{"key": key, "value": wrap(value)} for key, value in values.items()]


def digest(*words, size=16):
    return hashlib.blake2b(" ".join(map(str, words)).encode(), digest_size=size).hexdigest()


class Clock:
    """Of a host: off by some milliseconds, and drifting."""

    def __init__(self, draw, offset_ns, drift):
        self.offset_ns, self.drift = draw.uniform(-offset_ns, offset_ns), draw.uniform(-drift, drift)

    def __call__(self, true_ns):
        return EPOCH_NS + int(true_ns + self.offset_ns + self.drift * true_ns)


class Writer:
    """`selection`: as with steps.spans_max: collectives and the longest work, and the totals on the rank's span."""

    def __init__(self, job, folder, clock_ms=3.0, drift=10e-6, selection=0, name="trainer", number_format="0x{:x}"):
        self.job, self.folder, self.selection, self.name, self.number_format = job, folder, selection, name, number_format
        draw = random.Random(f"clock {job.plan.seed}")
        self.clocks = [Clock(draw, clock_ms * 1e6, drift) for _ in range((job.plan.ranks - 1) // job.plan.per_host + 1)]
        self.ids = 0

    def write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for rank in self.job.ranks:
            with open(self.folder / f"rank{rank.number}.jsonl", "w", encoding="utf-8") as file:
                for step in rank.steps:
                    host, gpu = self.step_spans(rank, step)
                    file.write(json.dumps(self.message(rank, host, gpu)) + "\n")

    def resource(self, rank):
        seed = self.job.plan.seed
        return {"service.name": self.name, "telemetry.sdk.name": "cuspan", "telemetry.sdk.language": "c",
                "telemetry.sdk.version": "0.2.0", "service.instance.id": str(uuid.UUID(digest("process", seed, rank.number))),
                "process.pid": 1000 + seed % 1000 * 100 + rank.number,
                "process.executable.name": "python3.12", "host.name": f"node-{rank.host}", "host.arch": "amd64", "os.type": "linux",
                "cuda.version": "13.0", "cuda.process.rank": rank.number, "cuda.process.local_rank": rank.number % self.job.plan.per_host,
                "cuda.process.world_size": self.job.plan.ranks}

    def device(self, rank):
        local, gpu = rank.number % self.job.plan.per_host, digest("gpu", rank.number)
        gpu = f"GPU-{uuid.UUID(gpu)}"
        return {"cuda.device.id": local, "cuda.device.uuid": gpu, "cuda.device.name": "NVIDIA H100 80GB HBM3", "hw.type": "gpu",
                "hw.vendor": "NVIDIA", "hw.id": gpu, "hw.name": "NVIDIA H100 80GB HBM3", "hw.model": "NVIDIA H100 80GB HBM3",
                "cuda.device.multiprocessors": 132, **self.resource(rank)}

    def message(self, rank, host, gpu):
        def spans_of(resource, spans):
            return {"resource": {"attributes": attributes(resource)},
                    "scopeSpans": [{"scope": {"name": "cuspan", "version": "0.2.0"}, "spans": spans}]}

        parts = [spans_of(self.resource(rank), host)]
        return {"resourceSpans": parts + ([spans_of(self.device(rank), gpu)] if gpu else [])}

    def span(self, rank, name, trace, parent, start, end, values, links=()):
        self.ids += 1
        clock = self.clocks[rank.host]
        span = {"traceId": trace, "spanId": f"{rank.number + 1:04x}{self.ids:012x}", "parentSpanId": parent, "flags": 259, "kind": 1,
                "startTimeUnixNano": str(clock(start)), "endTimeUnixNano": str(clock(end)), "name": name,
                "attributes": attributes(values)}
        return span

    def step_spans(self, rank, step):
        seed = self.job.plan.seed
        trace, parent = digest("job", seed, step["number"]), digest("step", seed, step["number"], size=8)
        works = [(start, end) for *_, start, end, _ in step["works"]] + [(part.start, part.end) for part, _, _ in step["collectives"]]
        end = max([step["end"], *(end for _, end in works)])
        backlog = max(0, int(step["gpu_free"] - step["start"]))
        is_last = step is rank.steps[-1]
        values = {"training.step.number": step["number"], "training.step.kind": "train", "training.step.source": "optimizer"}
        root = [self.span(rank, f"step {step['number']}", trace, "", step["start"], step["end"], values)] if rank.number == 0 else []
        for span in root:
            span["spanId"] = parent
        own = self.span(rank, f"rank {rank.number}", trace, parent, step["start"], end,
                        {**values, "cuda.session.spans": len(step["calls"]) + 2 * len(works), "cuda.session.end_reason":
                         "exit" if is_last else "step", **({} if rank.steps[0] is step else {"training.step.gpu_backlog": backlog})})
        host, gpu = self.work_spans(rank, step, trace, own["spanId"])
        if self.selection and len(host) + len(gpu) > self.selection:
            own["attributes"] += attributes({"training.step.left_out": self.select(host, gpu, own["spanId"]), **self.totals(step)})
        return host + root + [own], gpu

    def work_spans(self, rank, step, trace, parent):
        calls = [self.span(rank, name, trace, parent, start, end, {"cuda.api": "runtime", "cuspan.thread.id": 1000 + rank.number,
                                                                  "cuda.context.id": 1, "cuda.correlation.id": index + 1})
                 for index, (name, start, end) in enumerate(step["calls"])]
        streams = {"compute": 7}
        gpu = []
        for kind, name, stream, start, end, call in step["works"]:
            values = {"cuda.activity": kind, "cuda.context.id": 1, "cuda.stream.id": streams.setdefault(stream, 13 + len(streams))}
            if kind in COPIES:
                values.update({"cuda.memcpy.kind": "HostToDevice", "cuda.memcpy.bytes": 2 << 20, "cuda.memcpy.src_kind": "pinned",
                               "cuda.memcpy.dst_kind": "device"})
                name = "memcpy HostToDevice"
            gpu.append(self.span(rank, name, trace, calls[call]["spanId"], start, end, {**values, "cuda.correlation.id": call + 1}))
        for part, stream, call in step["collectives"]:
            gpu += self.collective_spans(rank, part, trace, calls[call]["spanId"], streams.setdefault(stream, 13 + len(streams)))
        return calls, sorted(gpu, key=lambda span: span["startTimeUnixNano"])

    def collective_spans(self, rank, part, trace, parent, stream):
        title, factor = OPERATIONS[part.operation]
        communicator = part.communicator
        way = (rank.number, part.peer) if part.operation == "send" else (part.peer, rank.number)
        key = digest(communicator.key, way if part.peer >= 0 else part.operation, part.ordinal, size=8)
        ranks = len(communicator.members)
        seconds = (part.end - part.start) / 1e9
        values = {"cuda.activity": "collective", "cuda.context.id": 1, "cuda.stream.id": stream,
                  "collective.operation": part.operation,
                  "collective.communicator": self.number_format.format(communicator.key),
                  "collective.ordinal": part.ordinal, "collective.key": self.number_format.format(int(key, 16)),
                  "collective.ranks": ranks, "collective.rank": communicator.members.index(rank.number),
                  **({"collective.peer": part.peer} if part.peer >= 0 else {}),
                  "collective.bytes": part.size, "collective.algbw": part.size / seconds,
                  "collective.busbw": part.size / seconds * factor(2 if part.peer >= 0 else ranks),
                  "collective.source": "nvtx"}
        collective = self.span(rank, title, trace, parent, part.start, part.end, values)
        kernel = self.span(rank, f"ncclDevKernel_{title}_Sum_f32_RING_LL", trace, collective["spanId"], part.start, part.end,
                           {"cuda.activity": "kernel", "cuda.context.id": 1, "cuda.stream.id": stream})
        return [collective, kernel]

    def select(self, host, gpu, parent):
        """Leaves collectives without their kernels, and the longest kernels; returns how many are gone."""
        before = len(host) + len(gpu)
        chosen = [span for span in gpu if not span["name"].startswith("nccl") and span["name"][0].isupper()]
        others = sorted((span for span in gpu if span["name"][0].islower() and not span["name"].startswith("nccl")),
                        key=lambda span: int(span["startTimeUnixNano"]) - int(span["endTimeUnixNano"]))
        chosen = chosen[:self.selection * 3 // 4]
        chosen += others[:self.selection - len(chosen)]
        for span in chosen:
            span["parentSpanId"] = parent
        gpu[:] = sorted(chosen, key=lambda span: span["startTimeUnixNano"])
        host.clear()
        return before - len(gpu)

    def totals(self, step):
        """Of all of the step's work, selected or not."""
        compute = union([(start, end) for kind, _, _, start, end, _ in step["works"] if kind == "kernel"])
        transfers = union([(part.start, part.end) for part, _, _ in step["collectives"]])
        copies = union([(start, end) for kind, _, _, start, end, _ in step["works"] if kind in COPIES])
        return {"training.step.compute_time": int(total(compute)), "training.step.exposed_time": int(total(union(compute + transfers)) - total(compute)),
                "training.step.copy_time": int(total(union(compute + transfers + copies)) - total(union(compute + transfers)))}


def union(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def total(intervals):
    return sum(end - start for start, end in intervals)
