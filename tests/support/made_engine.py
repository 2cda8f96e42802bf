"""A synthetic serving engine as the spans that it would have: iterations, each a trace of its own with the calls and GPU
work of rank 0, and requests. For tests of `cuspan stat`, which need to know the content of a trace."""

import random
from contextlib import contextmanager

from made_program import Program
from make_trace import START_NS, attributes

US, MS = 1_000, 1_000_000
PHASES = "prefill", "decode"


class Engine(Program):
    """Iterations come one after another; between them, the test advances the clock `now`."""

    def __init__(self, engine="vllm", name="server", seed=1, pid=4711, has_parts=True, first=None, rank=0):
        """`first`: rank 0 of the engine, if this is another one. Only rank 0 has the spans of the iterations themselves."""
        super().__init__(name, seed, pid)
        self.engine, self.has_parts, self.first, self.rank = engine, has_parts, first, rank
        self.number, self.roots = 0, {}

    def set(self, span, trace, end=None, **attrs):
        span["traceId"] = trace
        span["attributes"] += attributes({key: value for key, value in attrs.items() if value is not None})
        if end is not None:
            span["endTimeUnixNano"] = str(START_NS + end)

    def trace_of(self, number):
        return f"{(self.first or self).pid:016x}{number:016x}"

    @contextmanager
    def iteration(self, parts, kind="forward", rank_attrs=None, has_rank=True, is_summary=False):
        """`parts`: (request's ID, phase, tokens). The body is what the engine does in the iteration. A summary has no spans
        of this work."""
        self.number += 1
        start, first = self.now, len(self.spans)
        named = {"engine.name": self.engine, "engine.iteration.number": self.number, "engine.iteration.kind": kind,
                 **({"engine.iteration.summary": True} if is_summary else {})}
        root_id = self.add("process", f"iteration {self.number}", start, start, None, named)
        root = self.spans[-1][1]
        self.roots[self.number] = root_id
        rank_id = self.add("process", f"rank {self.rank}", start, start, self.first.roots[self.number] if self.first else root_id, named)
        rank = self.spans[-1][1]
        self.parents.append(rank_id)
        yield
        self.parents.pop()
        inside = [span for _, span in self.spans[first + 2:]]
        for span in inside:
            self.set(span, self.trace_of(self.number))
        work = [span for span in inside if any(item["key"] == "cuda.activity" for item in span["attributes"])]
        busy = sum(int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) for span in work)  # one stream
        tokens = {phase: sum(part[2] for part in parts if part[1] == phase) for phase in PHASES}
        self.set(root, self.trace_of(self.number), self.now, **{
            "engine.iteration.requests": len(parts), **{f"engine.iteration.{phase}_tokens": tokens[phase] for phase in PHASES},
            "engine.iteration.parts": [f"{name} {phase} {count}" for name, phase, count in parts] if self.has_parts and parts else None})
        self.set(rank, self.trace_of(self.number), self.now, **{
            **({} if is_summary else {"cuda.session.number": self.number, "cuda.session.spans": 1, "cuda.session.end_reason": "step"}), "cuda.total.calls": len(inside) - len(work),
            "cuda.total.gpu_time": busy, "cuda.total.kernels": len(work), "cuda.device.id": 0 if work else None, **(rank_attrs or {})})
        left_out = [rank] * (not has_rank) + [root] * bool(self.first) + inside * is_summary
        self.spans = [item for item in self.spans if not any(item[1] is span for span in left_out)]

    def step(self, parts, gpu_ns, **more):
        """An iteration that launches a kernel and waits for it."""
        with self.iteration(parts, **more):
            self.launch("forward", gpu_ns)
            self.wait()

    def request(self, name, start, end, how="finished", queue=None, prefill=None, per_token=None, trace=None, **counts):
        """Times in ns; `counts`: attributes engine.request.*."""
        counts = {"prompt_tokens": 10, "cached_tokens": 0, "generated_tokens": 5, "prefill_tokens": 10, "decode_tokens": 4,
                  "preemptions": 0, "iterations": 5, "iterations_measured": 5, "iterations_recorded": 5, **counts}
        self.add("process", f"{self.engine or 'engine'} request", start, end, None, {
            **({"engine.name": self.engine} if self.engine else {}), "gen_ai.request.id": name, "engine.request.end": how})
        self.set(self.spans[-1][1], trace or f"{len(self.spans):032x}", **{
            "engine.request.queue_time": queue, "engine.request.prefill_time": prefill,
            "engine.request.time_per_output_token": per_token,
            **{f"engine.request.{key.replace('share_', 'share.')}": value for key, value in counts.items()}})


def serve(engine, iterations, seed):
    """Requests come and go at random; each iteration computes a token of each, or its prompt."""
    chance, running = random.Random(seed), {}
    for _ in range(iterations):
        while len(running) < 8 and chance.random() < 0.4:
            name = f"r{engine.number}-{len(running)}"
            running[name] = {"start": None, "queue": chance.randrange(5 * MS), "tokens": 0, "goal": chance.randrange(1, 30)}
        parts = [(name, "decode", 1) if state["tokens"] else (name, "prefill", chance.randrange(1, 500)) for name, state in running.items()]
        start = engine.now
        kind = "forward" if parts else "dummy"
        totals = {"cuda.total.graphs": 2} if chance.random() < 0.5 else {}
        if chance.random() < 0.05:
            totals["cuda.total.incomplete"] = True
        engine.step(parts, 2 * MS + sum(part[2] for part in parts) * 3 * US, kind=kind, rank_attrs=totals, has_rank=chance.random() < 0.95)
        for name, state in list(running.items()):
            state["start"] = start if state["start"] is None else state["start"]
            state["first"] = state.get("first", engine.now)
            state["tokens"] += 1
            if state["tokens"] == state["goal"]:
                del running[name]
                engine.request(name, state["start"], engine.now, chance.choice(["finished", "finished", "aborted", "failed", "unfinished"]),
                               state["queue"] if chance.random() < 0.8 else None, state["first"] - state["start"],
                               (engine.now - state["first"]) // (state["tokens"] - 1) if state["tokens"] > 1 else None,
                               iterations=state["tokens"], iterations_measured=state["tokens"] // 2, generated_tokens=state["tokens"],
                               gpu_share_prefill=chance.randrange(MS), gpu_share_decode=chance.randrange(MS), gpu_time=9 * MS)
        engine.now += chance.randrange(50 * US)
        engine.number += chance.random() < 0.2  # an iteration that is not recorded
    return engine
