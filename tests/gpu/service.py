#!/usr/bin/env python3
"""The service of examples/service on a GPU, its workers alternately with and without the agent. Called by service.sh.

    service.py BUILD-DIR WORK-DIR OUT-DIR torch|cuda|none

Checks that each request's trace has exactly its own work, measures requests/s, times and the workers' CPU time, and
leaves in OUT-DIR: results.txt, results.json, the traces (OTLP JSON lines) of the slowest normal request
(slowest.jsonl), of the heavy one that it waited for (ahead.jsonl), of a failed one (failed.jsonl), and logs.txt.
AGENT_SET has further settings for the agent, in the format of CUSPAN_SET.
"""

import json
import os
import signal
import statistics
import sys
import time
import traceback
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from backend import spans_of  # noqa: E402
from otlp_json import only_trace, traces_data  # noqa: E402
from service_check import ERROR, check  # noqa: E402
from service_stack import Service  # noqa: E402
from sink import Sink  # noqa: E402

CONCURRENT = 100
ROUNDS = 3
SECONDS_A_LOAD = 4
REQUESTS_MAX = 3000
START_S = 90  # PyTorch from a cold disk
ONE_PERCENT = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"}
FIGURES = {"requests/s": "per_s", "p50 ms": "p50_ms", "p99 ms": "p99_ms", "worker CPU ms a request": "cpu_ms"}


class Run:
    def __init__(self, build, work, out, model):
        self.work, self.out = Path(work), Path(out)
        self.problems, self.requests, self.figures, self.notes = [], [], defaultdict(list), []
        self.next_number = 0
        self.sink = Sink()
        agent = {"CUDA_INJECTION64_PATH": str(Path(build, "libcuspan.so").resolve()), "OTEL_PYTHON_CONTEXT": "cuspan",
                 "CUSPAN_SET": f"accounts_file={self.work}/report;{os.environ.get('AGENT_SET', '')}".rstrip(";")}
        self.bare = Service("bare", work, self.sink.port, model)
        self.traced = Service("cuspan", work, self.sink.port, model, agent)

    def wait_until_ready(self):
        for service in (self.bare, self.traced):
            service.wait_until_ready(START_S)
        said = [line for part in self.traced.workers for line in part.log.read_text().splitlines()]
        self.has_gpu = not any("no GPU work" in line for line in said)
        self.notes += said

    def load(self, service, count, concurrency, heavy_every=0, fail_every=0, **environment):
        """Sends requests with unique numbers. Returns the output of load.py, and the workers' CPU time."""
        before = sum(worker.cpu_seconds() for worker in service.workers)
        result = service.load("--requests", count, "--concurrency", concurrency, "--heavy-every", heavy_every,
                              "--fail-every", fail_every, "--first", self.next_number, **environment)
        self.next_number += count
        used = sum(worker.cpu_seconds() for worker in service.workers) - before
        result["cpu_ms"] = 1e3 * used / count
        if service is self.traced:
            may_be_dropped = bool(environment)
            self.requests += [{**each, "may_be_dropped": may_be_dropped} for each in result["done"]]
        return result

    def measure(self):
        variants = [("no agent", self.bare, {}), ("cuspan", self.traced, {}),
                    ("no agent, 1 % sampled", self.bare, ONE_PERCENT), ("cuspan, 1 % sampled", self.traced, ONE_PERCENT)]
        rate = min(self.load(service, 300, CONCURRENT)["per_s"] for service in (self.bare, self.traced))
        count = int(min(REQUESTS_MAX, max(200, SECONDS_A_LOAD * rate)))
        self.notes.append(f"{ROUNDS} rounds of {count} requests, {CONCURRENT} at once")
        for i in range(ROUNDS):
            for name, service, environment in variants[i % 4:] + variants[:i % 4]:
                result = self.load(service, count, CONCURRENT, **environment)
                self.figures[name].append({figure: result[key] for figure, key in FIGURES.items()})

    def mix(self):
        """Heavy and failing requests among a hundred at once."""
        return self.load(self.traced, 600, CONCURRENT, heavy_every=150, fail_every=100)["done"]

    def for_the_picture(self):
        """A few at once, so that a slow request is slow only because of the GPU: no queue in front of a worker, and no
        memory that is allocated again, as after a failed request."""
        self.load(self.traced, 60, 6, heavy_every=10)
        return self.load(self.traced, 240, 6, heavy_every=30)["done"]

    def close(self):
        """Ends the workers like an orchestrator; then all spans have arrived."""
        for service in (self.traced, self.bare):
            statuses = service.close()
            if any(statuses):
                self.problems.append(f"{service.name}: exit statuses {statuses}")
        self.sink.close()

    def decode(self):
        """The spans of all traces."""
        traces = defaultdict(list)
        with ProcessPoolExecutor() as pool:
            for spans in pool.map(spans_of_body, [request.body for request in self.sink.requests], chunksize=8):
                for span in spans:
                    traces[span.trace_id].append(span)
        return traces

    def check(self, traces):
        for request in self.requests:
            # A root that arrived was sampled; a missing one may have been excluded by the ratio.
            request["is_sampled"] = not request["may_be_dropped"] or any(
                not span.parent_id for span in traces.get(request["trace_id"], []))
        self.problems += check(self.requests, self.without_bare(traces), self.has_gpu, len(self.traced.workers))
        if self.has_gpu:
            self.problems += self.check_reports()
        sampled = sum(request["is_sampled"] for request in self.requests)
        self.notes.append(f"{len(self.requests)} requests under the agent, {sampled} of them sampled, "
                          f"{sum(map(len, traces.values()))} spans in all")

    def without_bare(self, traces):
        """The workers without the agent also send traces, which must have no CUDA spans."""
        theirs = {request["trace_id"] for request in self.requests}
        return {trace: spans for trace, spans in traces.items()
                if trace in theirs or any(key.startswith("cuda.") for span in spans for key in span.attributes)}

    def check_reports(self):
        reports = [json.loads(path.read_text()) for path in self.work.glob("report.*")]
        if len(reports) != len(self.traced.workers):
            yield f"{len(reports)} reports of {len(self.traced.workers)} workers"
        for report in reports:
            self.notes.append(f"an agent: {report['spans']} spans, {report['delivered']} delivered")
            yield from (f"lost: {name} {count}" for name, count in report["losses"].items() if count)

    def save_traces(self, mixed, few, traces):
        slowest = max((each for each in few if each["kind"] == "normal"), key=lambda each: each["seconds"])
        failed = next((each for each in mixed or [] if each["kind"] == "failing"), None)
        ahead = who_was_ahead(slowest, [each for each in few if each["kind"] == "heavy"], traces)
        for name, request in ("slowest", slowest), ("failed", failed), ("ahead", ahead):
            if request is None:
                continue
            trace = request["trace_id"]
            kept = [resource for r in self.sink.requests if bytes.fromhex(trace) in r.body
                    for resource in only_trace(traces_data(r.body), trace)]
            (self.out / f"{name}.jsonl").write_text(json.dumps({"resourceSpans": kept}) + "\n", encoding="utf-8")
            spans = traces[trace]
            delays = [span.attributes["cuda.start_delay"] for span in spans if "cuda.start_delay" in span.attributes]
            self.notes.append(f"{name}.jsonl: request {request['number']}, {1e3 * request['seconds']:.1f} ms, "
                              f"{len(spans)} spans, {sum(span.status == ERROR for span in spans)} failed, "
                              f"longest start delay {max(delays, default=0) / 1e6:.1f} ms, trace {trace}")

    def table(self):
        columns = list(FIGURES)
        lines = [f"{'median of ' + str(ROUNDS) + ' (all)':26}" + "".join(f"{name:>34}" for name in columns)]
        for variant, rounds in self.figures.items():
            cells = [[each[column] for each in rounds] for column in columns]
            lines.append(f"{variant:26}" + "".join(
                f"{statistics.median(cell):12.2f} ({', '.join(f'{value:.2f}' for value in cell)})".rjust(34)
                for cell in cells))
        return lines

    def write(self):
        verdict = [f"{'not ok' if self.problems else 'ok'}: {len(self.problems)} problems", *self.problems[:40]]
        text = "\n".join([*self.notes, "", *self.table(), "", *verdict]) + "\n"
        print(text, flush=True)
        (self.out / "results.txt").write_text(text, encoding="utf-8")
        (self.out / "results.json").write_text(json.dumps({"figures": self.figures, "problems": self.problems,
                                                           "notes": self.notes}, indent=1), encoding="utf-8")
        logs = [f"== {path.name}\n{path.read_text(errors='replace')[-20000:]}\n" for path in sorted(
            [*self.work.glob("*.log"), *self.work.glob("report.*")])]
        (self.out / "logs.txt").write_text("\n".join(logs), encoding="utf-8")


def spans_of_body(body):
    return list(spans_of(traces_data(body)))


def interval_of(spans):
    """When, and on which worker, a trace's model ran; None if it did not."""
    ran = next((span for span in spans if span.name == "infer"), None)
    return ran and (ran.resource.get("service.instance.id"), ran.start_ns, ran.end_ns)


def who_was_ahead(request, heavy, traces):
    """The heavy request that ran on the same worker when this one started."""
    mine = interval_of(traces[request["trace_id"]])
    for each in heavy:
        other = interval_of(traces[each["trace_id"]])
        if mine and other and other[0] == mine[0] and other[1] < mine[2] and mine[1] < other[2]:
            return each
    return None


def step(run, name, function):
    """One step; if it fails, the others still leave their results."""
    began = time.monotonic()
    try:
        return function()
    except Exception:
        run.problems.append(f"{name}: {traceback.format_exc(limit=-3)}")
        return None
    finally:
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    run = Run(*sys.argv[1:5])
    mixed = few = traces = None
    try:
        step(run, "start", run.wait_until_ready)
        if not run.problems:
            step(run, "measure", run.measure)
            mixed = step(run, "mix", run.mix)
            few = step(run, "for the picture", run.for_the_picture)
    finally:
        step(run, "close", run.close)
        traces = step(run, "decode", run.decode)
        if traces is not None and run.requests:
            step(run, "check", partial(run.check, traces))
        if traces and few:
            step(run, "save", partial(run.save_traces, mixed, few, traces))
        run.write()
    return 1 if run.problems or not run.requests else 0


if __name__ == "__main__":
    sys.exit(main())
