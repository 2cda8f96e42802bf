"""The service of examples/service without a GPU, from its client through a real Collector with tail sampling to a real
Jaeger: which traces are kept, and whether each is complete. Called by tests/e2e/service.sh.

    service_test.py JAEGER-BINARY OUT-DIR AGENT
"""

import re
import sys
import time

from backend import Collector, Jaeger
from service_stack import Service

SLOW_MS = 100
NEAR_MS = 25  # this close to the threshold, both are right: the client's times and the spans' differ a little
DECISION_WAIT_S = 3
ERROR = 2
ROUND = ("--requests", 240, "--concurrency", 4, "--heavy-every", 60, "--fail-every", 50)


def check_chain(spans, failed):
    """Client, gateway, gateway's client, worker, model: a chain of spans in one trace."""
    wanted = [("load", "POST"), ("gateway", "POST /infer"), ("gateway", "POST"), ("worker", "POST /infer"),
              ("worker", "infer")]
    by_parent = {span.parent_id: span for span in spans}
    chain, parent = [], ""
    while parent in by_parent:
        chain.append(by_parent[parent])
        parent = chain[-1].span_id
    found = [(span.resource["service.name"], span.name) for span in chain]
    if found != wanted or len(spans) != len(wanted):
        yield f"{found} instead of {wanted}, of {len(spans)} spans"
    if {span.status == ERROR for span in spans} != {failed}:
        yield f"failed is {failed}, the spans' status is {[span.status for span in spans]}"


def check_tail_sampling(done, traces):
    """Slow and failed requests are kept, others not."""
    counts = {"kept": 0, "dropped": 0, "behind a heavy one": 0}
    for each in done:
        failed, took_ms = each["kind"] == "failing", 1e3 * each["seconds"]
        if not failed and abs(took_ms - SLOW_MS) < NEAR_MS:
            continue
        is_wanted, spans = failed or took_ms > SLOW_MS, traces[each["trace_id"]]
        counts["kept" if is_wanted else "dropped"] += 1
        counts["behind a heavy one"] += is_wanted and each["kind"] == "normal"
        if is_wanted != bool(spans):
            yield f"request {each['number']}, {each['kind']}, {took_ms:.0f} ms: {len(spans)} spans in Jaeger"
        elif is_wanted:
            yield from (f"request {each['number']}: {wrong}" for wrong in check_chain(spans, failed))
    print(f"    {counts}")
    if not counts["behind a heavy one"] or counts["dropped"] < len(done) / 3:
        yield f"says nothing: {counts}"


def check_load(service, jaeger):
    done = service.load(*ROUND)["done"]
    time.sleep(2 * DECISION_WAIT_S + 1)
    traces = {each["trace_id"]: jaeger.traces([each["trace_id"]], 0) for each in done}
    return list(check_tail_sampling(done, traces))


def check_dead_worker(service, jaeger):
    """Without one of the two workers, every other request fails with an error, and its trace is kept."""
    service.workers[1].close()
    answers = [service.run("client.py", "--images", "3", "--layers", "4", "--value", "7.5") for _ in range(2)]
    found = []
    if sorted(answer.returncode for answer in answers) != [0, 1]:
        found.append(f"exit statuses {[answer.returncode for answer in answers]}")
    if not any("200 {'answer': 11.5}" in answer.stdout for answer in answers):
        found.append(f"no right answer: {[answer.stdout for answer in answers]}")
    (failed,) = [answer.stdout for answer in answers if answer.stdout.startswith("502")]
    (trace_id,) = re.findall(r"/trace/([0-9a-f]{32})", failed)
    spans = jaeger.traces([trace_id], 3)
    if [span.status for span in spans] != 3 * [ERROR]:
        found.append(f"of the failed one: {[(span.name, span.status) for span in spans]}")
    return found


def check_refusals(service, _):
    """An invalid request is the client's error, and the gateway returns it to the client."""
    answer = service.run("client.py", "--layers", "0")
    wanted = "400 {'error': 'needs images, pixels, layers (whole numbers from 1) and value (a number)'}"
    return [] if answer.returncode == 1 and answer.stdout.startswith(wanted) else [f"{answer.stdout} {answer.stderr}"]


def check_logs(service, _):
    """Each process prints only its description: no warning of OpenTelemetry, of the package or of the agent."""
    logs = {part.log.name: part.log.read_text().splitlines() for part in (service.gateway, *service.workers)}
    return [f"{name}: {lines}" for name, lines in logs.items() if len(lines) != 1]


CHECKS = (check_load, check_refusals, check_dead_worker, check_logs)


def main():
    binary, out, agent = sys.argv[1:4]
    failed = 0
    jaeger = Jaeger(binary, out)
    collector = service = None
    try:
        collector = Collector(binary, out, jaeger, "examples/service/collector.yaml", SLOW_MS=str(SLOW_MS),
                              DECISION_WAIT=f"{DECISION_WAIT_S}s", SHARE_PERCENT="0")
        # Started as for a GPU: without one, the agent is not loaded and the service works as usual.
        service = Service("service", out, collector.otlp_http, "none",
                          {"OTEL_PYTHON_CONTEXT": "cuspan", "CUDA_INJECTION64_PATH": agent})
        service.wait_until_ready()
        for check in CHECKS:
            found = check(service, jaeger)
            print(("not ok " if found else "ok ") + check.__name__, flush=True)
            print("".join(f"    {line}\n" for line in found[:10]), end="")
            failed += bool(found)
    finally:
        for part in (service, collector, jaeger):
            statuses = part.close() if part else None
            if part is service and part and statuses != [0, 0, 0]:
                print(f"not ok: the service's exit statuses are {statuses}")
                failed += 1
    print(f"{max(0, len(CHECKS) - failed)} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
