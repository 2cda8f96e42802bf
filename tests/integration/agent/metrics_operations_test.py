#!/usr/bin/env python3
"""otel.sdk.exporter.operation.duration: the exports of spans and metrics.

    metrics_operations_test.py --build BUILD-DIR [unittest's arguments]
"""

import sys
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

import otlp_metrics  # noqa: E402
from metrics_case import Case, cuspan, main  # noqa: E402


ACCEPTED = (("http.response.status_code", 200),)


class Operations(Case):
    """otel.sdk.exporter.operation.duration: each export that ended before the last metrics were collected. How many of the last
    ones that leaves out depends on the machine, so a run in which it leaves out too many is repeated."""

    RECORDING = ROOT / "examples/recordings/service.cuspanrec"
    SOON = ["--paced", "--set", "cupti.flush_interval_ms=20", "--set", "memory_bytes_max=100000000"]
    INTERVALS = {"OTEL_METRIC_EXPORT_INTERVAL": "20", "OTEL_BSP_SCHEDULE_DELAY": "20"}

    def operations(self, requests):
        """{attributes without type and name: (count, seconds)} by otel.component.name"""
        found = defaultdict(dict)
        for key, (count, seconds) in self.totals(requests)["otel.sdk.exporter.operation.duration"].items():
            key = dict(key)
            kind, name = key.pop("otel.component.type"), key.pop("otel.component.name")
            self.assertTrue(name.startswith(f"{kind}/"), name)
            found[name][tuple(sorted(key.items()))] = count, seconds
        return found

    def exported(self, *arguments, status=0, repeat=3, **variables):
        """With spans also to the sink: (operations, requests with spans, requests with metrics, report)."""
        self.replays += 1
        report = Path(self.folder, f"report{self.replays}")
        self.sink.requests.clear()
        cuspan("replay", "--quiet", *self.SOON, "--repeat", repeat, "--set", f"accounts_file={report}", *arguments, self.RECORDING,
               status=status, **{"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.sink.port}", "OTEL_METRICS_EXPORTER": "otlp",
                                 "OTEL_TRACES_SAMPLER": "always_on", **self.INTERVALS, **variables})
        metrics = [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests if request.path == "/v1/metrics"]
        spans = [request for request in self.sink.requests if request.path == "/v1/traces"]
        return self.operations(metrics), spans, metrics, self.read_report(report)

    def is_nearly_all(self, found):
        """Whether half of the exports of spans are counted, and all of metrics but the last, which counts, and two before it."""
        operations, spans, metrics, _ = found
        count, metrics_count = (operations[f"otlp_http_{kind}_exporter/0"].get(ACCEPTED, (0, 0))[0] for kind in ("span", "metric"))
        self.assertLessEqual(count, len(spans))
        self.assertLess(metrics_count, len(metrics))
        return count > 3 and count >= len(spans) // 2 and metrics_count >= len(metrics) - 3

    def test_each_export_of_spans_and_metrics(self):
        for temporality in "cumulative", "delta":
            with self.subTest(temporality):
                start = time.monotonic()
                found, *_ = self.repeat_until(self.is_nearly_all, lambda: self.exported(
                    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=temporality))
                elapsed = time.monotonic() - start
                self.assertEqual(set(found), {"otlp_http_span_exporter/0", "otlp_http_metric_exporter/0"})
                for ends in found.values():
                    (attributes, (_, seconds)), = ends.items()
                    self.assertEqual(attributes, ACCEPTED)
                    self.assertTrue(0 < seconds < elapsed, (seconds, elapsed))

    def test_an_export_is_one_with_its_retries(self):
        """The first gets 503 at first, so it takes as long as a retry; the second is rejected."""
        refused = (("error.type", "400"), ("http.response.status_code", 400))

        def run():
            self.sink.statuses["/v1/traces"] = [503, 200, 400]
            return self.exported(repeat=6)
        found, spans, _, report = self.repeat_until(
            lambda found: len(found[0]["otlp_http_span_exporter/0"]) > 1, run)
        ends = found["otlp_http_span_exporter/0"]
        self.assertEqual(set(ends), {ACCEPTED, refused})
        self.assertEqual(ends[refused][0], 1)
        self.assertEqual(report["counters"]["batches_resent"], 1)
        self.assertLessEqual(sum(count for count, _ in ends.values()), len(spans) - 1)
        self.assertGreater(ends[ACCEPTED][1], 0.1)

    def test_who_does_not_answer(self):
        found, *_ = self.repeat_until(lambda found: "otlp_http_span_exporter/0" in found[0], lambda: self.exported(
            "--set", "exit_deadline_ms=300", status=1, OTEL_BSP_EXPORT_TIMEOUT="100",
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://127.0.0.1:9/v1/traces"))
        self.assertEqual(set(found["otlp_http_span_exporter/0"]), {(("error.type", "unreachable"),)})

    def test_a_file_is_written(self):
        spans, operations = self.repeat_until(lambda found: "otlp_file_span_exporter/0" in found[1], self.to_file)
        self.assertTrue(spans)
        self.assertEqual(set(operations["otlp_file_span_exporter/0"]), {()})

    def to_file(self):
        spans, requests, _ = self.replay(self.RECORDING, *self.SOON, **self.INTERVALS)
        return spans, self.operations(requests)

    def test_from_a_spool_it_is_the_request_that_counts(self):
        found, *_ = self.repeat_until(self.is_nearly_all, lambda: self.exported(
            "--set", f"spool.directory={self.folder}/spool{self.replays}"))
        self.assertEqual(set(found["otlp_http_span_exporter/0"]), {ACCEPTED})


if __name__ == "__main__":
    main()
