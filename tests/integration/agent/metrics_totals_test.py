#!/usr/bin/env python3
"""Metrics of recordings of real GPU runs: their totals equal those of the spans and of `cuspan stat`, in protobuf and JSON,
cumulative and delta, with explicit and exponential buckets. Losses are counted.

    metrics_totals_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

import otlp_metrics  # noqa: E402
from metrics_case import CLEAN, RECORDINGS, ROOM, Case, build, cuspan, main, nearly  # noqa: E402


class Totals(Case):
    def test_they_are_those_of_the_spans_and_of_stat(self):
        for recording in RECORDINGS:
            with self.subTest(recording.stem):
                spans, requests, report = self.replay(recording)
                totals = self.totals(requests)
                self.expect(spans, totals)
                metrics = report["metrics"]
                self.assertEqual((metrics["made"], metrics["lost"]), (metrics["delivered"], 0))
                self.assertEqual(metrics["made"], sum(len(points) for points in otlp_metrics.series(requests).values()))
                tables = json.loads(cuspan("stat", "--json", "--top", 0, self.file).stdout)
                self.assertEqual(totals["cuda.calls"][()][1], sum(row["count"] for row in tables["calls"]))
                self.assertTrue(nearly(totals["cuda.call.time"][()][1], sum(row["total_ns"] for row in tables["calls"]) / 1e9))
                self.assertTrue(nearly(totals["cuda.wait.time"][()][1],
                                       sum(row["total_ns"] for row in tables["synchronization"]) / 1e9))
                self.assertEqual(sum(value for _, value in totals["cuda.memcpy.io"].values()) +
                                 sum(value for _, value in totals["cuda.memset.io"].values()),
                                 sum(row["bytes"] for row in tables["copies"]))
                self.assertTrue(nearly(sum(value for _, value in totals["cuda.gpu.busy_time"].values()),
                                       sum(row["busy_ns"] for row in tables["devices"]) / 1e9))

    def test_json_says_the_same(self):
        for recording in RECORDINGS:
            with self.subTest(recording.stem):
                spans, requests, _ = self.replay(recording, OTEL_EXPORTER_OTLP_METRICS_PROTOCOL="http/json")
                self.assertEqual(self.sink.requests[0].headers["Content-Type"], "application/json")
                self.expect(spans, self.totals(requests))

    def test_exponential_buckets(self):
        for recording in RECORDINGS:
            for protocol in "http/protobuf", "http/json":
                with self.subTest(recording.stem, protocol=protocol):
                    spans, requests, _ = self.replay(
                        recording, OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=protocol,
                        OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION="base2_exponential_bucket_histogram")
                    self.expect(spans, self.totals(requests))
                    kinds = {metric.WhichOneof("data") for points in otlp_metrics.series(requests).values()
                             for metric, _ in points}
                    self.assertEqual(kinds, {"sum", "gauge", "exponential_histogram"})

    def test_exponential_buckets_of_zeros(self):
        """Steps without communication: all values are 0, so there are no buckets. from_protobuf() wants the canonical form."""
        _, requests, _ = self.replay(
            ROOT / "examples/training/slow_step.cuspanrec",
            OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION="base2_exponential_bucket_histogram")
        zeros = [point for (name, _), found in otlp_metrics.series(requests).items() if name == "training.step.communication.duration"
                 for _, point in found if point.count == point.zero_count]
        self.assertTrue(zeros)
        self.assertEqual({len(point.positive.bucket_counts) for point in zeros}, {0})

    def paced(self, temporality):
        """A run in several intervals."""
        return self.repeat_until(lambda found: len(found[1]) > 3, lambda: self.replay(
            ROOT / "examples/recordings/service.cuspanrec", "--paced", OTEL_METRIC_EXPORT_INTERVAL="20",
            OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=temporality))

    def test_delta_adds_up(self):
        spans, requests, _ = self.paced("delta")
        self.expect(spans, self.totals(requests))
        for (name, _), points in otlp_metrics.series(requests).items():
            kinds = {metric.WhichOneof("data") for metric, _ in points}
            for metric, point in points:
                falls = kinds == {"sum"} and not metric.sum.is_monotonic
                self.assertEqual(kinds != {"gauge"} and otlp_metrics.is_delta(metric), kinds != {"gauge"} and not falls, name)
            if kinds != {"gauge"} and otlp_metrics.is_delta(points[0][0]):
                for (_, before), (_, after) in zip(points, points[1:]):
                    self.assertGreaterEqual(after.start_time_unix_nano, before.time_unix_nano)

    def test_cumulative_never_falls(self):
        spans, requests, _ = self.paced("cumulative")
        self.expect(spans, self.totals(requests))
        for (name, _), points in otlp_metrics.series(requests).items():
            for (metric, before), (_, after) in zip(points, points[1:]):
                if "istogram" in metric.WhichOneof("data"):
                    self.assertGreaterEqual(after.count, before.count)
                    self.assertEqual(after.start_time_unix_nano, before.start_time_unix_nano)
                elif metric.WhichOneof("data") == "sum" and metric.sum.is_monotonic:
                    self.assertGreaterEqual(otlp_metrics.value(after), otlp_metrics.value(before), name)

    def test_low_memory(self):
        spans, requests, _ = self.paced("lowmemory")
        self.expect(spans, self.totals(requests))
        deltas = {metric.WhichOneof("data"): otlp_metrics.is_delta(metric)
                  for points in otlp_metrics.series(requests).values() for metric, _ in points
                  if metric.WhichOneof("data") != "gauge"}
        self.assertEqual(deltas, {"sum": False, "histogram": True})


class Bounds(Case):
    """A new name for each kernel: several chunks, and more names than are distinguished."""

    def test_names_without_end(self):
        for protocol in "http/protobuf", "http/json":
            for form in "explicit_bucket_histogram", "base2_exponential_bucket_histogram":
                with self.subTest(protocol=protocol, form=form):
                    spans, requests, report = self.replay(
                        ROOT / "examples/recordings/torch_inference.cuspanrec", CUSPAN_REPLAY_FAIL="unique-names=150",
                        OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=protocol,
                        OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=form)
                    kernels = [span for span in spans if span.attributes.get("cuda.activity") == "kernel"]
                    said = self.totals(requests)["cuda.kernel.duration"]
                    named = [count for key, (count, _) in said.items() if "cuda.kernel.short_name" in dict(key)]
                    others = [count for key, (count, _) in said.items() if dict(key).get("otel.metric.overflow") is True]
                    self.assertEqual((named, others), ([1] * 256, [len(kernels) - 256]))
                    self.assertEqual(report["counters"]["kernels_unnamed"], len(kernels) - 256)
                    self.assertTrue(nearly(sum(seconds for _, seconds in said.values()),
                                           sum(span.end_ns - span.start_ns for span in kernels) / 1e9))
                    sizes = [len(request.body) for request in self.sink.requests]
                    self.assertGreater(max(sizes), 64 * 1024)  # more than one chunk


class Awake(Case):
    def test_nothing_sleeps_between_requests(self):
        """`always` would lose data: unsampled work would be missing in the metrics."""
        recording = ROOT / "examples/recordings/service.cuspanrec"
        wanted, *_ = self.replay(recording)
        calls = sum("cuda.api" in span.attributes for span in wanted)
        for metrics in "none", "otlp":
            spans, requests, report = self.replay(recording, "--paced", settings=[*ROOM, "sampling.sleep=always"],
                                                  OTEL_TRACES_SAMPLER="parentbased_always_on", OTEL_METRICS_EXPORTER=metrics)
            self.assertEqual(report["counters"]["sleeps"] == 0, metrics == "otlp")
        self.assertLess(sum("cuda.api" in span.attributes for span in spans), calls)
        self.assertEqual(self.totals(requests)["cuda.calls"][()][1], calls)


class Memory(Case):
    def test_what_is_freed_is_not_live(self):
        spans, requests, _ = self.replay(ROOT / "examples/recordings/vector_add.cuspanrec")
        totals = self.totals(requests)
        held = peak = 0
        sizes = {}
        for span in spans:
            name, pointer = span.name, span.attributes.get("cuda.arg.ptr")
            if name == "cudaMalloc":
                sizes[pointer] = int(span.attributes["cuda.arg.bytes"])
                held += sizes[pointer]
            elif name == "cudaFree":
                held -= sizes.pop(pointer, 0)
            peak = max(peak, held)
        self.assertGreater(peak, 0)
        live, most = ({dict(key)["cuda.memory.kind"]: value for key, (_, value) in totals[name].items()}
                      for name in ("cuda.memory.usage", "cuda.memory.peak"))
        self.assertEqual((live["device"], most["device"]), (held, peak))


class Alone(Case):
    """Without an exporter for spans."""

    def test_no_span_is_made(self):
        recording = ROOT / "examples/recordings/torch_inference.cuspanrec"
        spans, _, _ = self.replay(recording)
        self.sink.requests.clear()
        report = Path(self.folder, "alone")
        cuspan("replay", "--set", f"accounts_file={report}", recording, OTEL_TRACES_EXPORTER="none", OTEL_METRICS_EXPORTER="otlp",
               OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{self.sink.port}")
        requests = [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests]
        self.assertEqual({request.path for request in self.sink.requests}, {"/v1/metrics"})
        self.expect(spans, self.totals(requests))
        report = self.read_report(report)
        self.assertEqual((report["spans"], report["outputs"], report["unaccounted"]), (0, [], 0))

    def test_an_endpoint_for_both(self):
        cuspan("replay", "--quiet", "--endpoint", f"http://127.0.0.1:{self.sink.port}",
               ROOT / "examples/recordings/vector_add.cuspanrec", OTEL_METRICS_EXPORTER="otlp")
        self.assertEqual({request.path for request in self.sink.requests}, {"/v1/traces", "/v1/metrics"})

    def test_a_file_names_the_reader(self):
        config = Path(self.folder, "config.yaml")
        config.write_text(f"""file_format: "1.1"
meter_provider:
  readers:
  - periodic:
      interval: 1000
      timeout: 500
      exporter:
        otlp_http:
          endpoint: http://127.0.0.1:{self.sink.port}/v1/metrics
          headers: [{{name: api-key, value: secret}}]
          encoding: json
          compression: none
          temporality_preference: delta
          default_histogram_aggregation: base2_exponential_bucket_histogram
""")
        cuspan("replay", ROOT / "examples/recordings/vector_add.cuspanrec", CUSPAN_CONFIG_FILE=str(config))
        request, = self.sink.requests
        self.assertEqual((request.headers["api-key"], request.headers.get("Content-Encoding")), ("secret", None))
        points = otlp_metrics.series([otlp_metrics.from_json(request.body)])
        kernels = [metric for (name, _), found in points.items() if name == "cuda.kernel.duration" for metric, _ in found]
        self.assertEqual(kernels[0].exponential_histogram.aggregation_temporality, otlp_metrics.DELTA)
        said = cuspan("check", config).stdout
        self.assertIn("metrics, every 1 s:", said)
        self.assertNotIn("asleep: nothing", said)


class Losses(Case):
    def test_a_collector_that_is_away(self):
        *_, report = self.replay(ROOT / "examples/recordings/vector_add.cuspanrec",
                                 OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="http://127.0.0.1:9/v1/metrics",
                                 settings=["exit_deadline_ms=300"])
        metrics = report["metrics"]
        self.assertEqual((metrics["delivered"], metrics["lost"]), (0, metrics["made"]))
        self.assertGreater(metrics["made"], 15)
        self.assertEqual(report["losses"], {"lost_points": metrics["made"]})
        self.assertIn("lost_points", self.stderr)
        self.assertIn("cannot deliver", metrics["trouble"])

    def test_losses_are_metrics(self):
        _, requests, _ = self.replay(ROOT / "examples/recordings/vector_add.cuspanrec")
        totals = self.totals(requests)
        self.assertEqual(totals["cuspan.lost"], {})
        exported = {dict(key).get("error.type"): value for key, (_, value) in totals["otel.sdk.exporter.span.exported"].items()}
        self.assertEqual(set(exported), {None})
        processed = list(totals["otel.sdk.processor.span.processed"].values())
        self.assertEqual(processed, [(None, 33)])


class Words(Case):
    def test_what_is_unknown_is_said(self):
        for variables, words in (
                ({"OTEL_METRICS_EXPORTER": "prometheus"}, "OTEL_METRICS_EXPORTER: cuspan does not have the exporter \"prometheus\""),
                ({"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "soon"},
                 "OTEL_METRIC_EXPORT_INTERVAL: expected"),
                ({"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRICS_EXEMPLAR_FILTER": "sometimes"},
                 "OTEL_METRICS_EXEMPLAR_FILTER: expected trace_based, always_on or always_off, not \"sometimes\": using the default (trace_based)"),
                ({"OTEL_METRICS_EXPORTER": "otlp,console"}, "only one exporter is supported")):
            with self.subTest(words):
                done = subprocess.run([str(build("cuspan")), "check"], capture_output=True, text=True, check=False,
                                      env={**CLEAN, **variables})
                self.assertEqual(done.stderr.count(words), 1, done.stderr)

    def test_by_default_there_are_none(self):
        _, requests, report = self.replay(ROOT / "examples/recordings/vector_add.cuspanrec", OTEL_METRICS_EXPORTER="")
        self.assertEqual(requests, [])
        self.assertNotIn("metrics", report)

    def test_the_page_is_the_table(self):
        page = (ROOT / "docs/metrics.md").read_text()
        self.assertIn(cuspan("help", "metrics").stdout, page)


if __name__ == "__main__":
    main()
