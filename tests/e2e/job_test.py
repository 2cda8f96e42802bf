"""The way of a training job through Collectors: the spans of eight ranks, sent by one process for each rank as agents would, through a
balancing Collector to two that do tail sampling. Each step must be kept or dropped as a whole, with all ranks, in one place. Called
by tests/e2e/job.sh.

    job_test.py BUILD OUT-DIR SAMPLER [BALANCER]

SAMPLER is a Collector with tail_sampling, BALANCER one with loadbalancing. Without BALANCER, all ranks send to one
sampler, so only examples/training/sample.yaml is tested.

The spans are those of tests/training/simulate.py: one rank is late in half of the steps, which are the slow ones."""

import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/training")]

from backend import Process, free_ports, post_nothing  # noqa: E402
from late_steps import late_steps  # noqa: E402
from otlp_sink import fields  # noqa: E402
from sink import Sink  # noqa: E402

RANKS, STEPS, LATE_US = 8, 20, 200_000
SLOW_MS = 150  # the others take about 20 ms
DECISION_WAIT_S = 3
SEND_LIMIT_S = 120


def arrived(sink):
    """The IDs of the spans that a sampler sent, by trace."""
    found = defaultdict(list)
    for request in list(sink.requests):
        data = request.body
        for _, of_resource in fields(data):
            for part, of_scope in fields(data, *of_resource):
                for inner, span in fields(data, *of_scope) if part == 2 else ():
                    if inner == 2:
                        known = dict(fields(data, *span))
                        found[data[slice(*known[1])].hex()].append(data[slice(*known[2])].hex())
    return found


class Collectors:
    """The balancer, if there is one, in front of the samplers, each with a sink."""

    def __init__(self, out, sampler, balancer):
        self.processes, self.sinks, grpc = [], [], []
        for number in range(2 if balancer else 1):
            http, own_grpc = free_ports(2)
            sink = Sink()
            self.sinks.append(sink)
            env = {"SLOW_MS": str(SLOW_MS), "SHARE_PERCENT": "0", "DECISION_WAIT": f"{DECISION_WAIT_S}s",
                   "COLLECTOR_TO": f"http://localhost:{sink.port}"}
            self.start(sampler, "sample.yaml", out, f"sampler-{number}", http, own_grpc, env)
            grpc.append(own_grpc)
        if balancer:
            http, own_grpc = free_ports(2)
            env = {f"SAMPLER_{number}": f"localhost:{port}" for number, port in enumerate(grpc, 1)}
            self.start(balancer, "balance.yaml", out, "balancer", http, own_grpc, env)
        self.endpoint = f"http://localhost:{http}"

    def start(self, binary, config, out, name, http, grpc, env):
        ports = {"COLLECTOR_HOST": "localhost", "OTLP_GRPC_PORT": str(grpc), "OTLP_HTTP_PORT": str(http)}
        self.processes.append(Process(binary, ROOT / "examples/training" / config, out, name, {**ports, **env},
                                      lambda: post_nothing(http)))

    def close(self):
        for part in (*self.processes, *self.sinks):
            part.close()


def send(build, collectors, files):
    """All ranks at once, each in a process of its own."""
    sending = [subprocess.Popen([build / "cuspan", "send", "--endpoint", collectors.endpoint, file], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True) for file in files]
    for process in sending:
        text = process.communicate(timeout=SEND_LIMIT_S)[0]
        if process.returncode:
            yield f"cuspan send: status {process.returncode}: {text.strip()}"


def wait_for(collectors, count):
    """Until the slow steps have arrived, and as long again for what must not arrive."""
    deadline = time.monotonic() + 20 * DECISION_WAIT_S
    while time.monotonic() < deadline:
        if sum(len(ids) for sink in collectors.sinks for ids in arrived(sink).values()) >= count:
            break
        time.sleep(0.2)
    time.sleep(2 * DECISION_WAIT_S)


def check(collectors, spans, slow):
    found = [arrived(sink) for sink in collectors.sinks]
    for trace, expected in spans.items():
        places = [number for number, by_trace in enumerate(found) if trace in by_trace]
        ids = [span for by_trace in found for span in by_trace.get(trace, [])]
        if (trace in slow) != bool(places):
            yield f"trace {trace}: {'slow' if trace in slow else 'not slow'}, and kept in {len(places)} places"
        elif places and (len(places) > 1 or sorted(ids) != sorted(expected)):
            yield f"trace {trace}: {len(ids)} spans of {len(expected)}, from samplers {places}"
    if len(found) > 1 and not all(found):
        yield f"one sampler had everything: {[len(by_trace) for by_trace in found]} traces"
    print(f"    {len(slow)} of {len(spans)} steps are slow, kept by samplers: {[len(by_trace) for by_trace in found]}")


def main():
    build, out = (Path(argument).resolve() for argument in sys.argv[1:3])
    sampler, balancer = sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else None
    files, spans, slow = late_steps(out, RANKS, STEPS, LATE_US, SLOW_MS)
    found = [] if 5 <= len(slow) < len(spans) - 5 and len(files) == RANKS else [f"{len(slow)} slow steps say nothing"]
    collectors = Collectors(out, sampler, balancer)
    try:
        found += send(build, collectors, files)
        if not found:
            wait_for(collectors, sum(len(spans[trace]) for trace in slow))
            found += check(collectors, spans, slow)
    finally:
        collectors.close()
    name = "balancer and two samplers" if balancer else "one sampler"
    print(f"{'not ok' if found else 'ok'} {name}")
    print("".join(f"    {line}\n" for line in found[:10]), end="")
    print(f"{0 if found else 1} passed, {1 if found else 0} failed, 0 skipped")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
