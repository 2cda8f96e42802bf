#!/usr/bin/env python3
"""Metrics of a serving engine on a GPU, compared with its spans and with what the engine itself says.

    engines_metrics.py receive OUT COMMAND...                        runs the command, and writes the metrics that its processes send to OUT
    engines_metrics.py compare OUT SPANS.jsonl SERVED.json ENGINE    prints one line with the figures; each fault on a line of its own,
                                                                     and exit status 1

Every iteration must have been recorded."""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import engines_check

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from sink import Sink  # noqa: E402


def receive(target, *command):
    sink = Sink()
    sending = {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json",
               "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{sink.port}/v1/metrics"}
    status = subprocess.run(command, env={**os.environ, **sending}, check=False).returncode
    sink.close()
    Path(target).write_text("".join(f"{request.body.decode()}\n" for request in sink.requests), encoding="utf-8")
    return status


def attributes_in(one):
    return tuple(sorted((item["key"], engines_check.value_of(item["value"])) for item in one.get("attributes", [])))


def totals_in(path):
    """{(metric, attributes): (count, sum)} of all processes: of each, its last cumulative points."""
    last = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        for resource in json.loads(line)["resourceMetrics"]:
            for metric in (metric for scope in resource["scopeMetrics"] for metric in scope["metrics"]):
                for point in metric.get("sum", metric.get("histogram", metric.get("gauge", {}))).get("dataPoints", []):
                    value = float(point.get("asInt", point.get("asDouble", point.get("sum", 0))))
                    last[attributes_in(resource["resource"]), metric["name"], attributes_in(point)] = int(point.get("count", 0)), value
    totals = collections.defaultdict(lambda: (0, 0.0))
    for (_, name, attributes), (count, value) in last.items():
        totals[name, attributes] = totals[name, attributes][0] + count, totals[name, attributes][1] + value
    return totals


def compare(requests, spans, served, engine):
    totals, spans, served = totals_in(Path(requests)), list(engines_check.spans_in(Path(spans))), json.loads(Path(served).read_text(encoding="utf-8"))
    server = (("gen_ai.operation.name", "text_completion"), ("gen_ai.provider.name", engine))
    name, forward = ("engine.name", engine), ("engine.iteration.kind", "forward")
    ended = [span for span in spans if "gen_ai.request.id" in span.attributes]
    ranks = [span for span in spans if "engine.iteration.number" in span.attributes and span.name == "rank 0"]

    def of_requests(*keys):
        return sum(span.attributes[f"engine.request.{key}"] for span in ended for key in keys) / 1e9

    wanted = {
        ("gen_ai.server.request.duration", server): (len(served["wanted"]), of_requests("queue_time", "prefill_time", "decode_time")),
        ("gen_ai.server.time_to_first_token", server): (len(served["wanted"]), of_requests("queue_time", "prefill_time")),
        ("engine.request.queue.duration", (name,)): (len(served["wanted"]), of_requests("queue_time")),
        ("engine.active_requests", (name,)): (0, 0),
        ("engine.iteration.duration", (("cuda.process.rank", 0), forward, name)):
            (len(served["batches"]), None),  # a span lasts until its GPU work ends
        ("engine.gpu.time", (("cuda.process.rank", 0), forward, name)): (0, sum(span.attributes["cuda.total.gpu_time"] for span in ranks) / 1e9),
        **{("engine.tokens", (name, ("engine.phase", phase))): (0, sum(span.attributes[f"engine.request.{phase}_tokens"] for span in ended))
           for phase in ("prefill", "decode")},
    }
    faults = [f"{key[0]} {dict(key[1])}: {totals[key]}, and {value} by the spans and the engine" for key, value in wanted.items()
              if totals[key][0] != value[0] or value[1] is not None and abs(totals[key][1] - value[1]) > 1e-6 * max(1e-3, abs(value[1]))]
    computed = sum(count for batch in served["batches"] for _, count in batch)
    counted = sum(value for (metric, _), (_, value) in totals.items() if metric == "engine.tokens")
    if counted != computed:
        faults.append(f"{counted} tokens counted, and the engine computed {computed}")
    print(f"metrics: {len(totals)} series, {counted:.0f} tokens, {totals['engine.gpu.time', (('cuda.process.rank', 0), forward, name)][1]:.3f} s of GPU time, "
          f"{len(faults)} faults")
    for fault in faults:
        print(fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit({"receive": receive, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
