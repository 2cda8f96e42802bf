#!/usr/bin/env python3
"""Tail sampling behind Kafka: the topic has two partitions and two samplers share them. Jaeger must have each trace whole or not at
all, and exactly those that sampler.yaml's policies name: slow steps of a training job with all ranks, slow requests, and failed
ones. The ranks' spans come from one process each.

    sampling_test.py --build DIRECTORY --collector FILE --jars FOLDER --jaeger FILE"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from tier import DEPLOY, LIMIT_S, ROOT, Collector, Failed, Kafka, Service, Tier, clean_environment, wait_for  # noqa: E402

from backend import free_ports, spans_of  # noqa: E402
from late_steps import late_steps  # noqa: E402

RANKS, STEPS, LATE_US, SLOW_STEP_MS = 8, 20, 200_000, 150
REQUESTS, SLOW_REQUEST_MS = 60, 100
DECISION_WAIT_S = 4


class Jaeger(Service):
    """With deploy/fleet/jaeger.yaml: clients need a certificate."""

    def __init__(self, tier, binary):
        self.page, page_grpc, self.grpc = free_ports(3)
        super().__init__(tier, "jaeger", [binary, "--config", DEPLOY / "jaeger.yaml"], {
            "SECRETS": tier.secrets, "JAEGER_DATA": tier.folder / "badger", "JAEGER_LISTEN": "127.0.0.1", "JAEGER_PORT": self.page,
            "JAEGER_GRPC_PORT": page_grpc, "OTLP_GRPC_PORT": self.grpc}, lambda: self.get("services") is not None)

    def get(self, path):
        try:
            with urllib.request.urlopen(f"https://localhost:{self.page}/api/v3/{path}", timeout=30, context=self.tier.context()) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def spans(self, trace):
        answer = self.get(f"traces/{trace}?raw_traces=true&rawTraces=true")
        return [span.span_id for span in spans_of(answer["result"])] if answer else []


def requests(folder):
    """Traces of requests from two programs: a third is slow, a third has a failed call."""
    start, files, spans, kept = time.time_ns(), [], defaultdict(list), set()
    for program, kind in (("gateway", 2), ("model", 1)):
        made = []
        for number in range(REQUESTS):
            trace, span = f"{0xabc0000 + number:032x}", f"{(1 << 32) + number * 2 + kind:016x}"
            spans[trace].append(span)
            slow, failed = number % 3 == 0, number % 3 == 1
            if slow or failed:
                kept.add(trace)
            made.append({"traceId": trace, "spanId": span, "name": program, "kind": kind, "startTimeUnixNano": str(start),
                         "endTimeUnixNano": str(start + (SLOW_REQUEST_MS + 20 if slow else 5) * 1_000_000),
                         "status": {"code": 2} if failed and kind == 1 else {}})
        files.append(folder / f"{program}.jsonl")
        files[-1].write_text(json.dumps({"resourceSpans": [{"resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": program}}]}, "scopeSpans": [{"spans": made}]}]}) + "\n")
    return files, spans, kept


def check(jaeger, spans, kept, what):
    wrong = []
    for trace, expected in spans.items():
        found = jaeger.spans(trace)
        if sorted(found) != sorted(expected if trace in kept else []):
            wrong.append(f"{what}: trace {trace}: {len(found)} of {len(expected)} spans, {'kept' if trace in kept else 'not kept'} expected")
    return wrong


def run(tier, jaeger_binary):
    kafka, jaeger = Kafka(tier, partitions=2), Jaeger(tier, jaeger_binary)
    node = tier.node(kafka)
    jaeger.start(wait=False)
    node.start(wait=False)
    kafka.start()
    samplers = [Collector(tier, f"sampler-{number}", "sampler.yaml", KAFKA_BROKERS=f"127.0.0.1:{kafka.internal}",
                          JAEGER_ENDPOINT=f"localhost:{jaeger.grpc}", DECISION_WAIT=f"{DECISION_WAIT_S}s", SHARE_PERCENT=0,
                          SLOW_STEP_MS=SLOW_STEP_MS, SLOW_REQUEST_MS=SLOW_REQUEST_MS).start(wait=False) for number in range(2)]
    for service in (jaeger, node, *samplers):
        service.wait()
    # Both have a partition before the first span comes; a trace would otherwise be divided when the second one gets its own.
    wait_for(lambda: all(sampler.metrics().get("otelcol_kafka_receiver_partition_start", 0) -
                         sampler.metrics().get("otelcol_kafka_receiver_partition_close", 0) == 1 for sampler in samplers), "partitions")
    files, spans, slow = late_steps(tier.folder, RANKS, STEPS, LATE_US, SLOW_STEP_MS)
    more, request_spans, kept = requests(tier.folder)
    sending = [subprocess.Popen([tier.build / "cuspan", "send", "--endpoint", f"http://127.0.0.1:{node.otlp}", file],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environment()) for file in files + more]
    for process in sending:
        text = process.communicate(timeout=LIMIT_S)[0]
        if process.returncode:
            raise Failed(f"cuspan send: {text}")
    expected = sum(len(spans[trace]) for trace in slow) + sum(len(request_spans[trace]) for trace in kept)

    def sent():
        return sum(sampler.metrics().get("otelcol_exporter_sent_spans", 0) for sampler in samplers)

    wait_for(lambda: sent() >= expected, f"{expected} spans at Jaeger", pause_s=0.5)
    time.sleep(DECISION_WAIT_S) # for what must not arrive
    wrong = check(jaeger, spans, slow, "step") + check(jaeger, request_spans, kept, "request")
    shares = [int(sampler.metrics().get("otelcol_exporter_sent_spans", 0)) for sampler in samplers]
    if not all(shares):
        wrong.append(f"one sampler had everything: {shares}")
    print(f"{len(slow)} of {len(spans)} steps of {RANKS} ranks, {len(kept)} of {len(request_spans)} requests; by sampler: {shares} spans")
    # Without a certificate, Jaeger takes nothing.
    refused = subprocess.run([tier.build / "cuspan", "send", "--timeout", "3", "--protocol", "grpc", "--endpoint",
                              f"https://localhost:{jaeger.grpc}", more[0]], capture_output=True, text=True, check=False,
                             env=clean_environment(OTEL_EXPORTER_OTLP_CERTIFICATE=tier.secrets / "ca.crt"))
    if refused.returncode == 0:
        wrong.append("Jaeger takes spans of a client without a certificate")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "collector", "jars", "jaeger"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    tier = Tier(tempfile.mkdtemp(prefix="cuspan-fleet."), Path(options.build).resolve(), options.collector, options.jars)
    wrong = ["it did not end"]
    try:
        wrong = run(tier, options.jaeger)
    except Failed as error:
        wrong = [str(error)]
    finally:
        tier.close()
        if not wrong:
            shutil.rmtree(tier.folder)
    print("".join(f"not ok {line}\n" for line in wrong[:10]) + ("" if not wrong else f"logs: {tier.folder}\n"), end="")
    print(f"{0 if wrong else 1} passed, {1 if wrong else 0} failed, 0 skipped")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
