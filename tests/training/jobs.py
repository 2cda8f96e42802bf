"""Training jobs as programs of their ranks: what each rank's host launches, on which streams, and which collectives it takes part in.

simulate.py computes a step from segments; here nothing is a segment. Each rank is a coroutine that runs ahead of its GPU as PyTorch
does, streams run in order and wait for each other, and a collective ends on its ranks when the last one has arrived and the bytes are
there. Waiting, bubbles and lateness follow from that. jobs_spans.py writes the result as the agent would.

    job = Job(Plan("ddp", ranks=16, steps=30, seed=1, fault="throttled"))
    job.run()                   # job.ranks[i].steps: spans by the true clock; job.truth: what was planted

PROGRAMS: ddp, fsdp_tp (shards in groups of hosts, tensor parallel within), pipeline (1F1B, with data parallel replicas), grid (the same
with tensor parallelism within the stages), moe.
FAULTS says what each one does, and to which programs it belongs."""

import random
from dataclasses import dataclass, field

US, MS = 1_000, 1_000_000
LAUNCH_NS, ARRIVE_NS = 6 * US, 4 * US
OPERATIONS = {"all_reduce": ("AllReduce", lambda n: 2 * (n - 1) / n), "all_gather": ("AllGather", lambda n: (n - 1) / n),
              "reduce_scatter": ("ReduceScatter", lambda n: (n - 1) / n), "all_to_all": ("AlltoAll", lambda n: (n - 1) / n),
              "send": ("Send", lambda n: 1), "recv": ("Recv", lambda n: 1)}
ALL = ("ddp", "fsdp_tp", "pipeline", "grid", "moe")
# The expected first finding: a rank, a host, a link, a cause (the finding's name), or nothing at all.
FAULTS = {
    "none": ("nothing", ALL),
    "late": ("rank", ALL[:-1]),      # more work on the GPU of a rank, in each step
    "late_host_thread": ("rank", ALL[:-1]),      # a rank's program pauses within each step
    "throttled": ("rank", ALL),                            # all kernels of a rank take longer
    "late_host": ("host", ("ddp", "fsdp_tp")),             # all ranks of a host
    "loader": ("rank", ("ddp", "fsdp_tp")),                # one rank loads data before its first call
    "gc": ("rank", ("ddp", "fsdp_tp")),                    # every fifth step of a rank pauses
    "hot_expert": ("rank", ("moe",)),                      # a rank has more tokens in each layer
    "slow_link": ("link", ("fsdp_tp",)),                   # one tensor parallel group has half the bandwidth
    "slow_later": ("link", ("ddp",)),                      # the communicator has half the bandwidth from some step on
    "loaders": ("data-loader", ("ddp", "fsdp_tp")),        # all ranks load data while their GPUs are idle
    "network": ("exposed-communication", ("ddp",)),        # all transfers take long
    "uneven": ("imbalance", ("ddp",)),                     # another rank in each step has more work
    "one_step": ("nothing", ("ddp", "fsdp_tp")),           # a rank is late in one step
    "warm_up": ("nothing", ("ddp", "fsdp_tp")),            # the first steps take long on one rank
}


@dataclass
class Plan:
    program: str
    ranks: int = 16
    steps: int = 30
    seed: int = 1
    fault: str = "none"
    per_host: int = 8
    is_ahead: bool = False  # the program does not wait for the GPU at the end of a step
    noise: float = 0.02
    layers: int = 4
    kernel_us: float = 500
    strength: float = 0.0  # of the fault, as a share of the step; 0: chosen


@dataclass
class Communicator:
    key: int
    members: list
    bandwidth: float  # bytes per second
    ordinals: dict = field(default_factory=dict)  # per operation and rank


@dataclass
class Collective:
    """One rank's part. `end` is known when all are there."""
    operation: str
    communicator: Communicator
    ordinal: int
    size: int
    start: float
    peer: int = -1
    end: float = None


class Rank:
    def __init__(self, job, number):
        self.job, self.number, self.random = job, number, random.Random(f"{job.plan.seed} {number}")
        self.host = number // job.plan.per_host
        self.now = self.random.uniform(0, 2 * MS)  # of the program's thread
        self.streams = {}
        self.speed = 1 + self.random.gauss(0, 0.002)  # no two GPUs are alike
        self.pace = 1.0  # of kernels, by a fault
        self.steps = []  # of the step: number, start, calls, works, collectives

    # --- what a program does ---

    def begin(self, number):
        if self.steps:
            self.steps[-1]["end"] = self.now
        self.steps.append({"number": number, "start": self.now, "end": self.now, "calls": [], "works": [], "collectives": [],
                           "gpu_free": max(self.streams.values(), default=0)})

    def busy(self, us):
        self.now += us * US * (1 + abs(self.random.gauss(0, 0.05)))
        if self.random.random() < 0.002:  # the system runs something else
            self.now += self.random.uniform(50, 600) * US

    def call(self, name, ns=LAUNCH_NS):
        self.steps[-1]["calls"].append((name, self.now, self.now + ns))
        self.now += ns + abs(self.random.gauss(0, 0.6 * US))
        return len(self.steps[-1]["calls"]) - 1

    def ready(self, stream):
        return self.streams.get(stream, 0)

    def launch(self, name, us, stream="compute", kind="kernel"):
        call = self.call("cudaLaunchKernel" if kind == "kernel" else "cudaMemcpyAsync")
        start = max(self.now + ARRIVE_NS, self.ready(stream))
        busy = us * US * self.speed * (self.pace if kind == "kernel" else 1) * max(0.5, self.random.gauss(1, self.job.plan.noise))
        self.steps[-1]["works"].append((kind, name, stream, start, start + busy, call))
        self.streams[stream] = start + busy + 1 * US

    def wait(self, stream, *others):
        self.streams[stream] = max(self.ready(stream), *(self.ready(other) for other in others))

    def synchronize(self):
        end = max(self.now, *self.streams.values())
        self.call("cudaDeviceSynchronize", max(end - self.now, 2 * US))

    def post(self, operation, communicator, size, stream, peer=-1):
        """Enqueues a collective; `yield` it to know its end."""
        call = self.call("cuLaunchKernelEx")
        sides = ("send", "recv") if peer >= 0 else (operation,)
        way = (self.number, peer) if operation != "recv" else (peer, self.number)
        key = (sides, way) if peer >= 0 else (operation, self.number)
        ordinal = communicator.ordinals.get((key, self.number), 0)
        communicator.ordinals[key, self.number] = ordinal + 1
        part = Collective(operation, communicator, ordinal, size, max(self.now + ARRIVE_NS, self.ready(stream)), peer)
        self.steps[-1]["collectives"].append((part, stream, call))
        self.job.arrive(self, part, (communicator.key, way if peer >= 0 else operation, ordinal))
        return part

    def join(self, part, stream):
        self.streams[stream] = part.end + 1 * US


class Job:
    def __init__(self, plan):
        self.plan, self.random = plan, random.Random(plan.seed)
        self.open = {}
        self.ranks = [Rank(self, number) for number in range(plan.ranks)]
        self.slow_from = None
        self.make_communicators()
        self.plant()

    def key(self):
        return self.random.getrandbits(64) | 1 << 63  # real ones fill 64 bits

    def make_communicators(self):
        plan = self.plan
        everyone, fast, slow = list(range(plan.ranks)), 150e9, 40e9
        self.world = Communicator(self.key(), everyone, slow)
        self.tensor = min(plan.per_host, 4) if plan.program == "fsdp_tp" else 2 if plan.program == "grid" else 1
        self.stages = 4 if plan.program in ("pipeline", "grid") else 1
        self.groups = [Communicator(self.key(), everyone[at:at + self.tensor], fast) for at in range(0, plan.ranks, self.tensor)]
        self.shards = [Communicator(self.key(), everyone[at::self.tensor], slow) for at in range(self.tensor)]
        of_stage, each = plan.ranks // self.stages, 2 if plan.program == "grid" else 1
        self.replicas = [Communicator(self.key(), everyone[at * of_stage + of:(at + 1) * of_stage:each], slow)
                         for at in range(self.stages) for of in range(each)]
        self.pairs = Communicator(self.key(), everyone, slow)

    def plant(self):
        plan, draw = self.plan, self.random
        what, programs = FAULTS[plan.fault]
        if plan.program not in programs:
            raise ValueError(f"{plan.fault} does not belong to {plan.program}")
        self.bad = self.ranks[draw.randrange(plan.ranks)]
        self.share = plan.strength or draw.uniform(0.06, 0.2)
        self.bad_step = draw.randrange(plan.steps // 3, plan.steps - 2)
        self.truth = {"fault": plan.fault, "expected": what, "rank": self.bad.number, "host": f"node-{self.bad.host}", "share": self.share}
        self.step_us = plan.layers * 3 * plan.kernel_us
        if self.stages > 1:
            self.step_us *= 2 + (self.stages - 1) / 4
        if plan.fault in ("loader", "loaders", "late_host_thread", "gc", "one_step", "warm_up"):
            plan.is_ahead = False  # a program that runs ahead hides them
        if plan.fault == "throttled":
            self.bad.pace = 1 + 1.5 * self.share
        if plan.fault == "late_host":
            for rank in self.ranks:
                if rank.host == self.bad.host:
                    rank.pace = 1 + self.share
        if plan.fault == "slow_link":
            slow = self.groups[self.bad.number // self.tensor]
            slow.bandwidth /= 2
            self.truth["link"] = slow.key
        if plan.fault == "slow_later":
            self.slow_from, self.truth["link"] = draw.randrange(plan.steps // 3, plan.steps * 2 // 3), self.world.key
        if plan.fault == "network":
            self.world.bandwidth /= 12

    # --- collectives ---

    def arrive(self, rank, part, key):
        parts = self.open.setdefault(key, [])
        parts.append((rank, part))
        members = 2 if part.peer >= 0 else len(part.communicator.members)
        if len(parts) < members:
            return
        del self.open[key]
        factor = OPERATIONS[part.operation][1](members)
        bandwidth = part.communicator.bandwidth
        if self.slow_from is not None and part.communicator is self.world and rank.steps[-1]["number"] >= self.slow_from:
            bandwidth /= 2
        size = max(each.size for _, each in parts)
        end = max(each.start for _, each in parts) + 8 * US + size * factor * 1e9 / bandwidth * (1 + abs(self.random.gauss(0, 0.03)))
        for _, each in parts:
            each.end = end + abs(self.random.gauss(0, 1 * US))

    def run(self):
        programs = [(rank, PROGRAMS[self.plan.program](self, rank)) for rank in self.ranks]
        waiting = {rank.number: None for rank, _ in programs}
        while programs:
            left, has_moved = [], False
            for rank, program in programs:
                part = waiting[rank.number]
                if part is not None and part.end is None:
                    left.append((rank, program))
                    continue
                has_moved = True
                try:
                    waiting[rank.number] = next(program)
                    left.append((rank, program))
                except StopIteration:
                    pass
            if not has_moved:
                raise RuntimeError("deadlock")
            programs = left
        for rank in self.ranks:
            rank.steps[-1]["end"] = rank.now

    # --- faults, where a step begins and in its middle ---

    def is_bad(self, rank):
        return rank is self.bad

    def load(self, rank, step):
        """Before the first call of the step."""
        fault, step_us = self.plan.fault, self.step_us
        rank.busy(20)
        if fault == "loaders":
            rank.busy(step_us * (0.5 + 4 * self.share))
        if not self.is_bad(rank):
            return
        if fault == "loader":
            rank.busy(step_us * self.share)
        if fault == "one_step" and step == self.bad_step:
            rank.busy(step_us * rank.random.uniform(0.5, 3))
        if fault == "warm_up" and step <= 2:
            rank.busy(step_us * rank.random.uniform(5, 20) / step)

    def disturb(self, rank, step):
        fault, step_us = self.plan.fault, self.step_us
        if fault == "uneven" and random.Random(f"{self.plan.seed} {step}").randrange(self.plan.ranks) == rank.number:
            rank.launch("longer", step_us * (0.1 + self.share))
        if not self.is_bad(rank):
            return
        if fault == "late":
            rank.launch("extra", step_us * self.share)
        if fault == "late_host_thread" or (fault == "gc" and step % 5 == 0):
            if fault == "gc":
                rank.busy(step_us * (0.5 + 4 * self.share))
            else:
                rank.synchronize()
                rank.busy(step_us * self.share)

    def end_step(self, rank, step):
        if not self.plan.is_ahead or step % 10 == 9:
            rank.synchronize()

    def finish(self, rank):
        """After the last step: rank 0 saves the model."""
        rank.begin(self.plan.steps + 1)
        rank.launch("copy", 200, kind="memcpy")
        rank.synchronize()
        if rank.number == 0:
            rank.busy(800_000)
            rank.launch("copy", 200, kind="memcpy")
            rank.synchronize()


def ddp(job, rank):
    plan = job.plan
    for step in range(1, plan.steps + 1):
        rank.begin(step)
        job.load(rank, step)
        rank.launch("copy", 40, kind="memcpy")
        for _ in range(plan.layers):
            rank.launch("gemm", plan.kernel_us)
        job.disturb(rank, step)
        for layer in range(plan.layers):
            rank.launch("gemm_dx", plan.kernel_us)
            rank.launch("gemm_dw", plan.kernel_us)
            if layer % 2:
                rank.wait("comm", "compute")
                part = rank.post("all_reduce", job.world, 4 << 20, "comm")
                yield part
                rank.join(part, "comm")
        rank.wait("compute", "comm")
        rank.launch("optimizer", 60)
        job.end_step(rank, step)
    job.finish(rank)


def fsdp_tp(job, rank):
    plan = job.plan
    group, shard = job.groups[rank.number // job.tensor], job.shards[rank.number % job.tensor]

    def reduce_in_group():
        rank.wait("tensor", "compute")
        part = rank.post("all_reduce", group, 2 << 20, "tensor")
        return part

    for step in range(1, plan.steps + 1):
        rank.begin(step)
        job.load(rank, step)
        rank.launch("copy", 40, kind="memcpy")
        for layer in range(plan.layers):
            part = rank.post("all_gather", shard, 4 << 20, "comm")
            yield part
            rank.join(part, "comm")
            rank.wait("compute", "comm")
            rank.launch("gemm", plan.kernel_us)
            part = reduce_in_group()
            yield part
            rank.join(part, "tensor")
            rank.wait("compute", "tensor")
            if layer == 1:
                job.disturb(rank, step)
        for _ in range(plan.layers):
            rank.launch("gemm_dx", plan.kernel_us)
            part = reduce_in_group()
            yield part
            rank.join(part, "tensor")
            rank.wait("compute", "tensor")
            rank.launch("gemm_dw", plan.kernel_us)
            rank.wait("comm", "compute")
            part = rank.post("reduce_scatter", shard, 4 << 20, "comm")
            yield part
            rank.join(part, "comm")
        rank.wait("compute", "comm")
        rank.launch("optimizer", 60)
        job.end_step(rank, step)
    job.finish(rank)


def pipeline(job, rank):
    """1F1B without interleaving; sends and receives have a stream for each direction. In a grid, the ranks of a pair divide each layer."""
    plan, of_stage = job.plan, job.plan.ranks // job.stages
    stage, microbatches = rank.number // of_stage, 8
    before, after = rank.number - of_stage, rank.number + of_stage
    replicas = next(each for each in job.replicas if rank.number in each.members)
    is_first, is_last = stage == 0, stage == job.stages - 1

    def receive(peer, stream):
        part = rank.post("recv", job.pairs, 1 << 20, stream, peer)
        yield part
        rank.join(part, stream)
        rank.wait("compute", stream)

    def settle(stream):
        part = sends.pop(stream, None)
        if part is not None:
            yield part
            rank.join(part, stream)

    def send(peer, stream):
        yield from settle(stream)
        rank.wait(stream, "compute")
        sends[stream] = rank.post("send", job.pairs, 1 << 20, stream, peer)

    def reduce():
        if job.tensor > 1:
            rank.wait("tensor", "compute")
            part = rank.post("all_reduce", job.groups[rank.number // job.tensor], 1 << 20, "tensor")
            yield part
            rank.join(part, "tensor")
            rank.wait("compute", "tensor")

    def forward():
        if not is_first:
            yield from receive(before, "recv_f")
        rank.launch("gemm", plan.kernel_us)
        yield from reduce()
        if not is_last:
            yield from send(after, "send_f")

    def backward():
        if not is_last:
            yield from receive(after, "recv_b")
        rank.launch("gemm_dx", plan.kernel_us)
        yield from reduce()
        rank.launch("gemm_dw", plan.kernel_us)
        if not is_first:
            yield from send(before, "send_b")

    sends = {}
    for step in range(1, plan.steps + 1):
        rank.begin(step)
        job.load(rank, step)
        warm_up = min(job.stages - 1 - stage, microbatches)
        for index in range(microbatches + warm_up):
            if index < microbatches:
                yield from forward()
                if index == 1:
                    job.disturb(rank, step)
            if index >= warm_up:
                yield from backward()
        yield from settle("send_f")
        yield from settle("send_b")
        rank.wait("comm", "compute")
        if len(replicas.members) > 1:
            part = rank.post("all_reduce", replicas, 4 << 20, "comm")
            yield part
            rank.join(part, "comm")
        rank.wait("compute", "comm")
        rank.launch("optimizer", 60)
        job.end_step(rank, step)
    job.finish(rank)


def moe(job, rank):
    plan = job.plan
    is_hot = job.plan.fault == "hot_expert" and job.is_bad(rank)
    for step in range(1, plan.steps + 1):
        rank.begin(step)
        job.load(rank, step)
        for part_of_step in ("forward", "backward"):
            for _ in range(plan.layers):
                rank.launch("attention", plan.kernel_us)
                for at in range(2):
                    rank.wait("comm", "compute")
                    tokens = (1 + 3 * job.share if is_hot else 1) * rank.random.uniform(0.95, 1.05)
                    part = rank.post("all_to_all", job.world, int(tokens * (1 << 20)), "comm")
                    yield part
                    rank.join(part, "comm")
                    rank.wait("compute", "comm")
                    if at == 0:
                        rank.launch("expert", plan.kernel_us * tokens)
            if part_of_step == "forward":
                job.disturb(rank, step)
        rank.launch("optimizer", 60)
        job.end_step(rank, step)
    job.finish(rank)


PROGRAMS = {"ddp": ddp, "fsdp_tp": fsdp_tp, "pipeline": pipeline, "grid": pipeline, "moe": moe}
