#!/usr/bin/env python3
"""Metrics: on recordings of real GPU runs their totals are those of the spans and of `cuspan stat`, in protobuf and JSON,
cumulative and delta, with explicit and exponential buckets; they work without spans, and lose nothing in
silence. Everything is decoded by code that isn't cuspan's.

    metrics_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/support")]

import otlp_metrics  # noqa: E402
from backend import spans_of  # noqa: E402
from sink import Sink  # noqa: E402

BUILD = ROOT / "build"
RECORDINGS = sorted((ROOT / "examples/recordings").glob("*.cuspanrec"))
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))}


def cuspan(*arguments, status=0, **variables):
    done = subprocess.run([str(BUILD / "cuspan"), *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False,
                          env={**CLEAN, "LC_ALL": "C.UTF-8", **variables})
    assert done.returncode == status, done.stderr
    return done


def nearly(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-12


def union(stretches):
    covered = last = 0
    for start, end in sorted(stretches):
        covered += max(0, end - max(start, last))
        last = max(last, end)
    return covered


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.sink = Sink()
        self.addCleanup(self.sink.close)

    def replay(self, recording, *arguments, settings=(), **variables):
        """(spans, requests of metrics, report) of a replay whose spans go into a file."""
        file, report = Path(self.folder.name, "spans.jsonl"), Path(self.folder.name, "report")
        file.unlink(missing_ok=True)
        for old in Path(self.folder.name).glob("report.*"):
            old.unlink()
        self.sink.requests.clear()
        base = {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "always_on",
                "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{self.sink.port}/v1/metrics"}
        options = [word for setting in (f"report_file={report}", *settings) for word in ("--set", setting)]
        done = cuspan("replay", "--file", file, *options, *arguments, recording, **{**base, **variables})
        self.stderr = done.stderr
        spans = [span for line in (file.read_text().splitlines() if file.exists() else [])
                 for span in spans_of(json.loads(line))]
        report = json.loads(next(Path(self.folder.name).glob("report.*")).read_text())
        requests = []
        for request in self.sink.requests:
            self.assertEqual(request.path, "/v1/metrics")
            is_json = request.headers["Content-Type"] == "application/json"
            requests.append(otlp_metrics.from_json(request.body) if is_json else otlp_metrics.from_protobuf(request.body))
        return spans, requests, report

    def totals(self, requests):
        """{metric: {attributes: (count, sum)}}"""
        found = defaultdict(dict)
        for (name, attributes), points in otlp_metrics.series(requests).items():
            found[name][attributes] = otlp_metrics.total(points)
        return found

    def expect(self, spans, totals, is_long=False):
        """What the spans say is what the metrics say. Of a long run, whose records may come far out of their order, the time in
        which a GPU was busy is an estimate."""
        calls = [span for span in spans if "cuda.api" in span.attributes]
        length = [span.end_ns - span.start_ns for span in calls]
        self.assertEqual(totals["cuda.calls"], {(): (None, len(calls))})
        self.assertTrue(nearly(totals["cuda.call.time"][()][1], sum(length) / 1e9))
        self.assertEqual(totals["cuda.call.errors"].get((), (None, 0))[1], sum("error.type" in span.attributes for span in calls))
        work = defaultdict(list)
        for span in spans:
            work[span.attributes.get("cuda.activity")].append(span)
        self.expect_kernels(work["kernel"], totals)
        self.expect_copies(work["memcpy"] + work["memcpy_peer"], totals)
        self.assertEqual(sum(count for count, _ in totals["cuda.memset.duration"].values()), len(work["memset"]))
        self.assertEqual(sum(value for _, value in totals["cuda.graph.executions"].values()), len(work["graph"]))
        if is_long:
            return
        gpu = [span for kind in ("kernel", "memcpy", "memcpy_peer", "memset", "graph") for span in work[kind]]
        by_device = defaultdict(list)
        for span in gpu:
            by_device[span.resource["hw.id"]].append((span.start_ns, span.end_ns))
        busy = {dict(key)["hw.id"]: value for key, (_, value) in totals["cuda.gpu.busy_time"].items()}
        self.assertEqual(set(busy), set(by_device))
        for device, stretches in by_device.items():
            self.assertTrue(nearly(busy[device], union(stretches) / 1e9), (busy[device], union(stretches)))

    def expect_kernels(self, kernels, totals):
        counts, times = Counter(), Counter()
        for span in kernels:
            key = span.resource["hw.id"], span.name
            counts[key] += 1
            times[key] += span.end_ns - span.start_ns
        said = {(dict(key)["hw.id"], dict(key)["cuda.kernel.short_name"]): value
                for key, value in totals["cuda.kernel.duration"].items()}
        self.assertEqual({key: count for key, (count, _) in said.items()}, dict(counts))
        for key, (_, seconds) in said.items():
            self.assertTrue(nearly(seconds, times[key] / 1e9), key)
        delays = [int(span.attributes["cuda.start_delay"]) for span in kernels if "cuda.start_delay" in span.attributes]
        latency = list(totals["cuda.launch.latency"].values())
        self.assertEqual(sum(count for count, _ in latency), len(delays))
        self.assertTrue(nearly(sum(seconds for _, seconds in latency), sum(max(0, delay) for delay in delays) / 1e9))

    def expect_copies(self, copies, totals):
        counts, sizes = Counter(), Counter()
        for span in copies:
            kind = span.attributes.get("cuda.memcpy.kind", "PeerToPeer")
            counts[kind] += 1
            sizes[kind] += int(span.attributes["cuda.memcpy.bytes"])
        said = Counter()
        for key, (count, _) in totals["cuda.memcpy.duration"].items():
            said[dict(key)["cuda.memcpy.kind"]] += count
        self.assertEqual(said, counts)
        moved = Counter()
        for key, (_, value) in totals["cuda.memcpy.io"].items():
            moved[dict(key)["cuda.memcpy.kind"]] += value
        self.assertEqual(+moved, +sizes)

    def view(self, views, *arguments, recording=None, reader="", exporter="", **variables):
        """(spans, requests, report) with these views, in protobuf."""
        config = Path(self.folder.name, "config.yaml")
        lines = "\n".join(f"  - {view}" for view in views)
        config.write_text(f"""file_format: "1.1"
tracer_provider: {{sampler: {{always_on: }}, processors: [{{batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{self.folder.name}/x.jsonl"}}}}}}}}]}}
meter_provider:
  readers:
  - periodic: {{{reader}exporter: {{otlp_http: {{{exporter}endpoint: "http://127.0.0.1:{self.sink.port}/v1/metrics"}}}}}}
  views:
{lines}
""")
        return self.replay(recording or self.RECORDING, *arguments, CUSPAN_CONFIG_FILE=str(config), **variables)


class Totals(Case):
    def test_they_are_those_of_the_spans(self):
        for recording in RECORDINGS:
            with self.subTest(recording.stem):
                spans, requests, report = self.replay(recording)
                self.expect(spans, self.totals(requests))
                metrics = report["metrics"]
                self.assertEqual((metrics["made"], metrics["lost"]), (metrics["delivered"], 0))
                self.assertEqual(metrics["made"], sum(len(points) for points in otlp_metrics.series(requests).values()))

    def test_they_are_those_of_stat(self):
        for recording in RECORDINGS:
            with self.subTest(recording.stem):
                _, requests, _ = self.replay(recording)
                totals = self.totals(requests)
                tables = json.loads(cuspan("stat", "--json", "--top", 0, Path(self.folder.name, "spans.jsonl")).stdout)
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

    def paced(self, temporality):
        """A second of a program, in many intervals."""
        return self.replay(ROOT / "examples/recordings/service.cuspanrec", "--paced",
                           OTEL_METRIC_EXPORT_INTERVAL="20",
                           OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=temporality)

    def test_delta_adds_up(self):
        spans, requests, _ = self.paced("delta")
        self.assertGreater(len(requests), 3)
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
        self.assertGreater(len(requests), 3)
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


class Exemplars(Case):
    def test_they_lead_to_spans_of_their_bucket(self):
        spans, requests, _ = self.replay(ROOT / "examples/recordings/torch_inference.cuspanrec")
        by_id = {span.span_id: span for span in spans}
        found = 0
        for (name, attributes), points in otlp_metrics.series(requests).items():
            for metric, point in points:
                for exemplar in getattr(point, "exemplars", ()):
                    span = by_id[exemplar.span_id.hex()]
                    self.assertEqual(span.trace_id, exemplar.trace_id.hex())
                    if name == "cuda.kernel.duration":
                        self.assertEqual(span.name, dict(attributes)["cuda.kernel.short_name"])
                        self.assertTrue(nearly(exemplar.as_double, (span.end_ns - span.start_ns) / 1e9))
                    elif name == "cuda.launch.latency":
                        self.assertTrue(nearly(exemplar.as_double, int(span.attributes["cuda.start_delay"]) / 1e9))
                    found += 1
        self.assertGreater(found, 10)

    def test_what_is_not_sampled_counts_and_has_none(self):
        recording = ROOT / "examples/recordings/torch_inference.cuspanrec"
        spans, requests, _ = self.replay(recording)
        wanted = self.totals(requests)
        none, requests, _ = self.replay(recording, OTEL_TRACES_SAMPLER="always_off")
        self.assertEqual(none, [])
        totals = self.totals(requests)
        self.expect(spans, totals)
        self.assertEqual(set(totals["cuda.kernel.duration"]), set(wanted["cuda.kernel.duration"]))
        self.assertEqual(sum(len(getattr(point, "exemplars", ())) for points in otlp_metrics.series(requests).values()
                             for _, point in points), 0)


    def exemplars(self, requests):
        return [(name, exemplar) for (name, _), points in otlp_metrics.series(requests).items() for _, point in points
                for exemplar in getattr(point, "exemplars", ())]

    def test_of_all_work_on_request(self):
        recording = ROOT / "examples/recordings/torch_inference.cuspanrec"
        for protocol in "http/protobuf", "http/json":
            with self.subTest(protocol):
                _, requests, _ = self.replay(recording, OTEL_TRACES_SAMPLER="always_off", OTEL_METRICS_EXEMPLAR_FILTER="always_on",
                                             OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=protocol)
                found = self.exemplars(requests)
                self.assertGreater(len(found), 10)
                self.assertEqual({exemplar.span_id for _, exemplar in found}, {b""})
        spans, requests, _ = self.replay(recording, OTEL_METRICS_EXEMPLAR_FILTER="always_on")
        ids = {span.span_id for span in spans}
        self.assertLessEqual({exemplar.span_id.hex() for name, exemplar in self.exemplars(requests) if name.startswith("cuda")}, ids)

    def test_of_nothing_on_request(self):
        _, requests, _ = self.replay(ROOT / "examples/recordings/torch_inference.cuspanrec", OTEL_METRICS_EXEMPLAR_FILTER="always_off")
        self.assertEqual(self.exemplars(requests), [])

    def test_a_file_says_which(self):
        config = Path(self.folder.name, "config.yaml")
        config.write_text(f"""file_format: "1.1"
meter_provider:
  exemplar_filter: always_on
  readers: [{{periodic: {{exporter: {{otlp_http: {{endpoint: "http://127.0.0.1:{self.sink.port}/v1/metrics"}}}}}}}}]
""")
        cuspan("replay", ROOT / "examples/recordings/torch_inference.cuspanrec", CUSPAN_CONFIG_FILE=str(config))
        self.assertGreater(len(self.exemplars([otlp_metrics.from_protobuf(request.body) for request in self.sink.requests])), 10)
        config.write_text(config.read_text().replace("always_on", "sometimes"))
        done = subprocess.run([str(BUILD / "cuspan"), "check", config], capture_output=True, text=True, check=False, env=CLEAN)
        self.assertEqual(done.returncode, 1)
        self.assertIn("meter_provider.exemplar_filter: expected", done.stderr)


class Views(Case):
    """meter_provider.views, each stream against the spans."""

    RECORDING = ROOT / "examples/recordings/torch_inference.cuspanrec"

    def kernels(self, spans):
        return [span.end_ns - span.start_ns for span in spans if span.attributes.get("cuda.activity") == "kernel"]

    def test_totals_are_the_same_without_names(self):
        """On every recording, in both forms, of sums, too: a view that adds up loses nothing."""
        for recording in RECORDINGS:
            for form in "explicit_bucket_histogram", "base2_exponential_bucket_histogram":
                with self.subTest(recording.stem, form=form):
                    spans, requests, report = self.view([
                        f"{{selector: {{instrument_type: histogram}}, stream: {{attribute_keys: {{included: [otel.*, error.type]}}, "
                        f"aggregation: {{{form}: }}}}}}",
                        "{selector: {instrument_type: counter, unit: By}, stream: {attribute_keys: {excluded: [cuda.memcpy.kind]}}}"],
                        recording=recording)
                    totals, kernels = self.totals(requests), self.kernels(spans)
                    if kernels:
                        (count, seconds), = totals["cuda.kernel.duration"].values()
                        self.assertEqual(count, len(kernels))
                        self.assertTrue(nearly(seconds, sum(kernels) / 1e9))
                        point, = (point for (name, _), points in otlp_metrics.series(requests).items()
                                  if name == "cuda.kernel.duration" for _, point in points)
                        self.assertEqual((point.min, point.max), (min(kernels) / 1e9, max(kernels) / 1e9))
                    copies = [int(span.attributes["cuda.memcpy.bytes"]) for span in spans
                              if span.attributes.get("cuda.activity") in ("memcpy", "memcpy_peer")]
                    self.assertEqual(sum(value for _, value in totals["cuda.memcpy.io"].values()), sum(copies))
                    self.assertNotIn("cuda.memcpy.kind", {key for series in totals["cuda.memcpy.io"] for key, _ in series})
                    self.assertEqual(report["metrics"]["lost"], 0)

    def test_each_bucket_holds_what_the_spans_say(self):
        bounds = [2e-6, 2.5e-6, 3.2e-6, 4e-6, 1e-5]
        spans, requests, _ = self.view([
            "{selector: {instrument_name: cuda.kernel.duration}, stream: {name: kernels, description: All., attribute_keys: "
            f"{{excluded: ['*']}}, aggregation: {{explicit_bucket_histogram: {{boundaries: {bounds}, record_min_max: false}}}}}}}}"])
        (metric, point), = next(points for (name, _), points in otlp_metrics.series(requests).items() if name == "kernels")
        kernels = self.kernels(spans)
        self.assertEqual(list(point.explicit_bounds), bounds)
        edges = [-1, *bounds, float("inf")]
        self.assertEqual(list(point.bucket_counts),
                         [sum(low < length / 1e9 <= high for length in kernels) for low, high in zip(edges, edges[1:])])
        self.assertGreater(sum(count > 0 for count in point.bucket_counts), 2)
        self.assertFalse(point.HasField("min"))
        self.assertEqual((metric.description, metric.unit), ("All.", "s"))
        self.assertNotIn("cuda.kernel.duration", self.totals(requests))

    def test_exponential_ones_are_as_small_as_asked(self):
        spans, requests, _ = self.view([
            "{selector: {instrument_name: cuda.kernel.duration}, stream: {attribute_keys: {excluded: ['*']}, "
            "aggregation: {base2_exponential_bucket_histogram: {max_size: 4, max_scale: 3, record_min_max: false}}}}"])
        (_, point), = next(points for (name, _), points in otlp_metrics.series(requests).items() if name == "cuda.kernel.duration")
        kernels, base = self.kernels(spans), 2 ** 2 ** -point.scale
        self.assertLessEqual(len(point.positive.bucket_counts), 4)
        self.assertLessEqual(point.scale, 3)
        self.assertEqual(list(point.positive.bucket_counts),
                         [sum(base ** at < length / 1e9 <= base ** (at + 1) for length in kernels)
                          for at in range(point.positive.offset, point.positive.offset + len(point.positive.bucket_counts))])

    def test_several_streams_of_one_metric(self):
        spans, requests, _ = self.view([
            "{selector: {instrument_name: cuda.kernel.duration}, stream: {}}",
            "{selector: {instrument_name: cuda.kernel.duration}, stream: {name: cuda.kernel.time, aggregation: {sum: }}}",
            "{selector: {instrument_name: cuda.kernel.duration}, stream: {name: fine, aggregation: "
            "{base2_exponential_bucket_histogram: }}}"])
        self.expect(spans, self.totals(requests))
        totals = self.totals(requests)
        self.assertEqual({key: seconds for key, (_, seconds) in totals["fine"].items()},
                         {key: seconds for key, (_, seconds) in totals["cuda.kernel.duration"].items()})
        self.assertEqual({key: seconds for key, (_, seconds) in totals["cuda.kernel.time"].items()},
                         {key: seconds for key, (_, seconds) in totals["cuda.kernel.duration"].items()})
        kinds = {name: metric.WhichOneof("data") for (name, _), points in otlp_metrics.series(requests).items() for metric, _ in points}
        self.assertEqual((kinds["cuda.kernel.duration"], kinds["cuda.kernel.time"], kinds["fine"]),
                         ("histogram", "sum", "exponential_histogram"))

    def test_what_is_dropped_is_not_there(self):
        spans, requests, _ = self.view(["{selector: {instrument_name: 'otel.*'}, stream: {aggregation: {drop: }}}",
                                        "{selector: {unit: By}, stream: {aggregation: {drop: }}}",
                                        "{selector: {instrument_type: gauge}, stream: {aggregation: {drop: {}}}}",
                                        "{selector: {instrument_name: 'cuda.kernel.d?ration'}, stream: {aggregation: {drop: }}}"])
        totals = self.totals(requests)
        self.assertTrue(spans)
        self.assertEqual(set(totals), {"cuda.calls", "cuda.call.errors", "cuda.call.time", "cuda.wait.time", "cuda.launches", "cuda.launch.latency",
                                       "cuda.memcpy.duration", "cuda.gpu.busy_time", "cuspan.cpu.time"} |
                         ({"cuda.memset.duration"} & set(totals)))

    def test_a_limit_of_series(self):
        spans, requests, _ = self.view(["{selector: {instrument_name: cuda.kernel.duration}, stream: {aggregation_cardinality_limit: 3}}"])
        found = self.totals(requests)["cuda.kernel.duration"]
        self.assertEqual([dict(key).get("otel.metric.overflow") for key in found], [None, None, True])
        self.assertEqual(sum(count for count, _ in found.values()), len(self.kernels(spans)))

    def paced(self, temporality, form):
        return self.view([f"{{selector: {{instrument_type: histogram}}, stream: {{attribute_keys: {{excluded: [cuda.kernel.short_name]}}, "
                          f"aggregation: {{{form}: }}, aggregation_cardinality_limit: 2}}}}",
                          "{selector: {instrument_type: counter}, stream: {attribute_keys: {excluded: ['*']}}}"],
                         "--paced", recording=ROOT / "examples/recordings/service.cuspanrec", reader="interval: 20, ",
                         exporter=f"temporality_preference: {temporality}, ")

    def test_intervals_add_up(self):
        for temporality in "delta", "cumulative", "low_memory":
            for form in "explicit_bucket_histogram", "base2_exponential_bucket_histogram":
                with self.subTest(temporality, form=form):
                    spans, requests, _ = self.paced(temporality, form)
                    totals, kernels = self.totals(requests), self.kernels(spans)
                    self.assertGreater(len(requests), 3)
                    (count, seconds), = totals["cuda.kernel.duration"].values()
                    self.assertEqual(count, len(kernels))
                    self.assertTrue(nearly(seconds, sum(kernels) / 1e9))
                    self.assertEqual(totals["cuda.calls"][()][1], sum("cuda.api" in span.attributes for span in spans))
                    for (name, _), points in otlp_metrics.series(requests).items():
                        for (metric, before), (_, after) in zip(points, points[1:]):
                            if "istogram" in metric.WhichOneof("data") and not otlp_metrics.is_delta(metric):
                                self.assertGreaterEqual(after.count, before.count, name)

    def test_exemplars_of_added_up_series_lead_to_spans(self):
        spans, requests, _ = self.view([
            "{selector: {instrument_name: cuda.kernel.duration}, stream: {attribute_keys: {excluded: ['*']}}}"])
        lengths = {span.span_id: span.end_ns - span.start_ns for span in spans}
        (_, point), = next(points for (name, _), points in otlp_metrics.series(requests).items() if name == "cuda.kernel.duration")
        self.assertTrue(point.exemplars)
        for exemplar in point.exemplars:
            self.assertTrue(nearly(exemplar.as_double, lengths[exemplar.span_id.hex()] / 1e9))

    def test_what_can_not_be_is_said(self):
        for view, words in (
                ("{selector: {instrument_name: cuda.calls}, stream: {aggregation: {explicit_bucket_histogram: }}}",
                 "8:5: meter_provider.views[0]: cuda.calls is not a histogram, so it has no buckets: choose another"),
                ("{selector: {instrument_name: '*'}, stream: {name: all}}", "which cannot all have the name all"),
                ("{selector: {instrument_name: cuda.calls}, stream: {aggregation: {last_value: }}}", "cuda.calls is not a gauge"),
                ("{selector: {instrument_name: cuda.memory.live}, stream: {aggregation: {sum: }}}", "cuda.memory.live is a gauge"),
                ("{selector: {instrument_name: cuda.calls}}", "expected selector and stream"),
                ("{selector: {instrument_nam: cuda.calls}, stream: }", "selector.instrument_nam: unknown key; did you mean instrument_name?"),
                ("{selector: , stream: {aggregation: {dorp: }}}", "stream.aggregation.dorp: unknown key; did you mean drop?"),
                ("{selector: , stream: {attribute_keys: [a]}}", "stream.attribute_keys: expected a mapping, not a list"),
                ("{selector: , stream: {attribute_keys: {included: []}}}", "included: expected a list of attribute names"),
                ("{selector: {instrument_type: meter}, stream: }", "instrument_type: expected counter, up_down_counter, gauge or histogram"),
                ("{selector: {instrument_name: cuda.calls}, stream: {name: 1st}}", "name: expected a metric name"),
                ("{selector: , stream: {aggregation_cardinality_limit: 0}}", "aggregation_cardinality_limit: expected an integer from 1 to"),
                ("{selector: {instrument_type: histogram}, stream: {aggregation: {explicit_bucket_histogram: {boundaries: [2, 1]}}}}",
                 "boundaries: expected numbers, each above the one before it"),
                ("{selector: {instrument_type: histogram}, stream: {aggregation: {explicit_bucket_histogram: {boundaries: [a]}}}}",
                 "boundaries[0]: expected a number of seconds"),
                ("{selector: {instrument_type: histogram}, stream: {aggregation: {base2_exponential_bucket_histogram: {max_size: 1}}}}",
                 "max_size: expected an integer from 2 to"),
                ("{selector: {instrument_type: histogram}, stream: {aggregation: {base2_exponential_bucket_histogram: {max_scale: 21}}}}",
                 "max_scale: expected an integer from -10 to 20"),
                ("{selector: {instrument_type: histogram}, stream: {aggregation: {drop: {a: 1}}}}", "expected nothing below this key")):
            self.check([view], words, 1)
        self.check(["{selector: {instrument_name: cuda.calls}, stream: {}}"] * 5, "more than 4 views select cuda.calls", 1)
        for view, words in (
                ("{selector: {instrument_type: histogram}, stream: {aggregation: {base2_exponential_bucket_histogram: {max_size: 161}}}}",
                 "max_size: cuspan's histograms have fewer buckets than 161: using 160"),
                ("{selector: {instrument_name: '*'}, stream: {aggregation: {last_value: }}}", "the view is not applied to this metric"),
                ("{selector: {instrument_name: http.duration}, stream: {}}", "warning: {config}:8:5: meter_provider.views[0]: selects none"),
                ("{selector: {meter_name: io.opentelemetry.jvm}, stream: {}}", "selects none of cuspan's metrics"),
                ("{selector: {instrument_type: observable_gauge}, stream: {}}", "selects none of cuspan's metrics"),
                ("{selector: {instrument_name: cuda.calls}, stream: {name: cuda.launches}}", "two streams have the name cuda.launches")):
            self.check([view], words, 0)

    def check(self, views, words, status):
        config = Path(self.folder.name, "config.yaml")
        lines = "\n".join(f"  - {view}" for view in views)
        config.write_text(f"""file_format: "1.1"

meter_provider:
  readers:
  - periodic: {{exporter: {{console: }}}}

  views:
{lines}
""")
        with self.subTest(words):
            done = subprocess.run([str(BUILD / "cuspan"), "check", config], capture_output=True, text=True, check=False, env=CLEAN)
            said = done.stdout + done.stderr
            self.assertIn(words.replace("{config}", str(config)), said)
            self.assertEqual(done.returncode, status, said)


class Alone(Case):
    """Without an exporter for spans."""

    def test_no_span_is_made(self):
        recording = ROOT / "examples/recordings/torch_inference.cuspanrec"
        spans, _, _ = self.replay(recording)
        self.sink.requests.clear()
        report = Path(self.folder.name, "alone")
        cuspan("replay", "--set", f"report_file={report}", recording, OTEL_TRACES_EXPORTER="none", OTEL_METRICS_EXPORTER="otlp",
               OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{self.sink.port}")
        requests = [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests]
        self.assertEqual({request.path for request in self.sink.requests}, {"/v1/metrics"})
        self.expect(spans, self.totals(requests))
        report = json.loads(next(Path(self.folder.name).glob("alone.*")).read_text())
        self.assertEqual((report["spans"], report["outputs"], report["unaccounted"]), (0, [], 0))

    def test_an_endpoint_for_both(self):
        cuspan("replay", "--quiet", "--endpoint", f"http://127.0.0.1:{self.sink.port}",
               ROOT / "examples/recordings/vector_add.cuspanrec", OTEL_METRICS_EXPORTER="otlp")
        self.assertEqual({request.path for request in self.sink.requests}, {"/v1/traces", "/v1/metrics"})

    def test_a_file_names_the_reader(self):
        config = Path(self.folder.name, "config.yaml")
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


class Bounds(Case):
    """A name that was never there before for each kernel: several chunks, and more names than are told apart."""

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
                    self.assertGreater(max(sizes), 64 * 1024)  # it takes more than a chunk


class Awake(Case):
    def test_nothing_sleeps_between_requests(self):
        """`always` would: what isn't sampled would be missing in the metrics."""
        recording = ROOT / "examples/recordings/service.cuspanrec"
        wanted, *_ = self.replay(recording)
        calls = sum("cuda.api" in span.attributes for span in wanted)
        for metrics in "none", "otlp":
            spans, requests, report = self.replay(recording, "--paced", settings=["sampling.sleep=always"],
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
                      for name in ("cuda.memory.live", "cuda.memory.peak"))
        self.assertEqual((live["device"], most["device"]), (held, peak))


class Hardware(Case):
    """What NVML says, by a stand-in for it."""

    def hardware(self, *arguments, **variables):
        libraries = Path(self.folder.name, "libraries")
        libraries.mkdir(exist_ok=True)
        shutil.copy(BUILD / "libfake_nvml.so", libraries / "libnvidia-ml.so.1")
        spans, requests, _ = self.replay(ROOT / "examples/recordings/service.cuspanrec", "--paced", "--repeat", "3", *arguments,
                                         OTEL_METRIC_EXPORT_INTERVAL="50", LD_LIBRARY_PATH=str(libraries), **variables)
        uuids = {span.resource["hw.id"] for span in spans if "hw.id" in span.resource}
        found = {}
        for (name, attributes), points in otlp_metrics.series(requests).items():
            if name.startswith("hw."):
                self.assertIn(dict(attributes)["hw.id"], uuids)
                found[name] = otlp_metrics.value(points[-1][1])
                self.attributes = dict(attributes)
        return found

    def test_each_figure(self):
        self.assertEqual(self.hardware(), {
            "hw.gpu.utilization": 0.42, "hw.gpu.memory.limit": 1000, "hw.gpu.memory.usage": 250,
            "hw.gpu.memory.utilization": 0.25, "hw.temperature": 55, "hw.power": 123.5, "hw.energy": 9.0})
        self.assertEqual(self.attributes["hw.name"], "Stand-in GPU")

    def test_what_a_gpu_does_not_tell_is_left_out(self):
        found = self.hardware(FAKE_NVML_OLD="1", OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta")
        self.assertNotIn("hw.energy", found)
        self.assertIn("hw.power", found)

    def test_a_gpu_that_is_unknown_to_it_and_one_without_rights(self):
        self.assertEqual(self.hardware(FAKE_NVML_UUID="GPU-another"), {})
        self.assertEqual(self.hardware(FAKE_NVML_INIT="4"), {})

    def test_who_is_slow_is_not_waited_for(self):
        self.assertEqual(self.hardware(FAKE_NVML_SLOW_MS="60000"), {})


class Samples(Case):
    """Hardware counters of whole GPUs: the double's chip counts, in sample n, 1000 * (1 + n % 3) of the first metric, twice as
    much of the second and so on."""
    CHIP = "dram__bytes_read.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed,smsp__inst_executed.sum"
    WANTED = ("counters.sampling.interval_us=1000", "counters.sampling.metrics=reads=dram__bytes_read.sum,dram.utilization,instructions")
    SERVICE = ROOT / "examples/recordings/service.cuspanrec"  # of 0.3 s, on one GPU
    LEVELS = {"throughput": ("reads", 1e6, "By/s"), "ratio": ("dram.utilization", 20, "1"), "rate": ("instructions", 3e6, "{event}/s")}

    def sampled(self, *arguments, wanted=WANTED, chip=CHIP, **variables):
        return self.replay(self.SERVICE, "--paced", "--repeat", 6, *arguments, settings=wanted,
                           **{"CUSPAN_REPLAY_SAMPLES": chip, **variables})

    def sampled_in_time(self):
        """On a busy machine the thread that reads may be late, and lose samples. Of ten attempts one loses none."""
        for _ in range(10):
            found = self.sampled()
            if not found[2]["counters"]["gpu_samples_lost"]:
                break
        return found

    def counted(self, requests):
        """{"throughput.mean": {name: values}}, and each point has its GPU and its unit."""
        found = defaultdict(dict)
        for (metric, attributes), points in otlp_metrics.series(requests).items():
            if not metric.startswith("cuda.counter."):
                continue
            key = dict(attributes)
            self.assertEqual((key["cuda.device.id"], set(key)), (0, {"hw.id", "cuda.device.id", "cuda.counter.name"}))
            kind = metric.removeprefix("cuda.counter.")
            self.assertEqual({point[0].unit for point in points}, {self.LEVELS[kind.split(".")[0]][2]})
            self.assertEqual({point[0].WhichOneof("data") for point in points}, {"gauge"})
            found[kind][key["cuda.counter.name"]] = [otlp_metrics.value(point) for _, point in points]
        return found

    def lines(self):
        return [line for line in self.stderr.splitlines() if "sampled" in line or "samples" in line]

    def test_levels_of_each_kind(self):
        _, requests, report = self.sampled_in_time()
        counted = self.counted(requests)
        for kind, (name, level, _) in self.LEVELS.items():
            for form, least, most in ("min", 1, 1), ("mean", 1.97, 2.03), ("max", 3, 3):
                (series, values), = counted[f"{kind}.{form}"].items()
                self.assertEqual(series, name)
                for value in values:
                    self.assertTrue(least * level * (1 - 1e-9) <= value <= most * level * (1 + 1e-9), (kind, form, value))
        self.assertGreater(report["counters"]["gpu_samples"], 300)
        self.assertEqual((report["counters"]["gpu_samples_lost"], report["losses"], self.lines()), (0, {}, []))

    def test_each_interval_has_its_own(self):
        view = "{selector: {instrument_name: cuda.counter.*.max}, stream: {aggregation: {drop: }}}"
        other = "{selector: {instrument_name: cuda.counter.ratio.mean}, stream: {name: gpu.load}}"
        settings = [word for setting in self.WANTED for word in ("--set", setting)]
        _, requests, _ = self.view([view, other], "--paced", "--repeat", 6, *settings, recording=self.SERVICE, reader="interval: 200, ",
                                   CUSPAN_REPLAY_SAMPLES=self.CHIP)
        counted = self.counted(requests)
        self.assertEqual(set(counted), {"throughput.min", "throughput.mean", "rate.min", "rate.mean", "ratio.min"})
        self.assertGreater(len(counted["throughput.mean"]["reads"]), 1)
        load = [otlp_metrics.value(point) for (name, _), points in otlp_metrics.series(requests).items() if name == "gpu.load" for _, point in points]
        self.assertEqual(len(load), len(counted["ratio.min"]["dram.utilization"]))

    def test_what_goes_wrong_is_one_line_and_costs_nothing_else(self):
        whole, _, _ = self.sampled()
        for fail, chip, line in (("counters=35", self.CHIP, "NVreg_RestrictProfilingToAdminUsers=0"),
                                 ("counters=26", self.CHIP, "another tool uses the GPU's hardware counters"),
                                 ("counters=43", self.CHIP, "MIG"),
                                 ("", "dram__bytes_read.sum", 'has no metric "dram.utilization"; `cuspan counters` lists'),
                                 ("counters=27", self.CHIP, "cannot query the available counters")):
            with self.subTest(fail, chip=chip):
                spans, requests, report = self.sampled(chip=chip, CUSPAN_REPLAY_FAIL=fail)
                self.assertEqual(len(self.lines()), 1, self.stderr)
                self.assertRegex(self.lines()[0], "hardware counters of GPU 0 are not sampled: ")
                self.assertIn(line, self.lines()[0])
                self.assertEqual((self.counted(requests), len(spans), report["losses"]), ({}, len(whole), {}))

    def test_a_full_buffer_is_counted(self):
        _, requests, report = self.sampled(CUSPAN_REPLAY_FAIL="samples-full=3")
        self.assertEqual(len(self.lines()), 1, self.stderr)
        self.assertRegex(self.lines()[0], "its buffer overflowed; raise distribution.cuspan.counters.sampling.interval_us")
        self.assertGreater(report["counters"]["gpu_samples_lost"], 10)
        self.assertEqual(report["losses"], {})
        self.assertTrue(self.counted(requests))

    def test_who_reads_late_has_fewer_samples_not_wrong_ones(self):
        """A reading that takes longer than the image has room for: what did not fit has lost its time."""
        _, requests, report = self.sampled(CUSPAN_REPLAY_FAIL="samples-hang=200")
        self.assertGreater(report["counters"]["gpu_samples_lost"], 0)
        for value in self.counted(requests)["throughput.max"]["reads"]:
            self.assertAlmostEqual(value, 3e6, delta=1)

    def test_a_thread_that_hangs_holds_no_exit_up(self):
        self.sampled(CUSPAN_REPLAY_FAIL="samples-hang=3600000")

    def test_there_is_a_thread_only_where_it_is_wanted(self):
        for settings, variables, wanted in ((self.WANTED, {"OTEL_METRICS_EXPORTER": "otlp"}, True), ((), {"OTEL_METRICS_EXPORTER": "otlp"}, False),
                                            (self.WANTED, {"OTEL_METRICS_EXPORTER": "none"}, False)):
            with self.subTest(settings=settings, **variables):
                options = [word for setting in settings for word in ("--set", setting)]
                program = subprocess.Popen([str(BUILD / "cuspan"), "replay", "--quiet", "--paced", "--repeat", "6", *options, "--file", self.folder.name + "/t.jsonl",
                                            str(self.SERVICE)], stderr=subprocess.DEVNULL,
                                           env={**CLEAN, **variables, "CUSPAN_REPLAY_SAMPLES": self.CHIP,
                                                "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{self.sink.port}/v1/metrics"})
                seen = set()
                while program.poll() is None:
                    for comm in Path("/proc").glob("[0-9]*/task/*/comm"):
                        try:
                            if f"\nPPid:\t{program.pid}\n" in comm.with_name("status").read_text() or comm.parts[2] == str(program.pid):
                                seen.add(comm.read_text().strip())
                        except OSError:
                            pass
                    time.sleep(0.02)
                self.assertEqual("cuspan/samples" in seen, wanted, seen)
                self.assertTrue(any(name.startswith("cuspan/") for name in seen), seen)

    def test_settings_that_can_not_be_together(self):
        for settings, variables, words in (
                ({"counters.sampling.metrics": "dram.read"}, {}, "samples are exported as metrics, which are disabled: set OTEL_METRICS_EXPORTER=otlp"),
                ({"counters.sampling.metrics": "dram.read", "counters.metrics": "dram.read"}, {"OTEL_METRICS_EXPORTER": "otlp"},
                 "a GPU's counters have one user at a time"),
                ({"counters.sampling.metrics": "x" * 60}, {"OTEL_METRICS_EXPORTER": "otlp"}, "counters.sampling.metrics: \"xxx"),
                ({"counters.sampling.interval_us": "10"}, {}, "counters.sampling.interval_us")):
            with self.subTest(words):
                done = subprocess.run([str(BUILD / "cuspan"), "check"], capture_output=True, text=True, check=False,
                                      env={**CLEAN, **variables, "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items())})
                self.assertEqual((done.stdout + done.stderr).count(words), 1, done.stdout + done.stderr)


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


class Operations(Case):
    """otel.sdk.exporter.operation.duration: each export that ended before the last request of metrics was made."""

    RECORDING = ROOT / "examples/recordings/service.cuspanrec"
    SOON = ["--paced", "--repeat", "15", "--set", "cupti.flush_interval_ms=50", "--set", "memory_bytes_max=100000000"]

    def operations(self, requests):
        """{attributes without type and name: (count, seconds)} by otel.component.name"""
        found = defaultdict(dict)
        for key, (count, seconds) in self.totals(requests)["otel.sdk.exporter.operation.duration"].items():
            key = dict(key)
            kind, name = key.pop("otel.component.type"), key.pop("otel.component.name")
            self.assertTrue(name.startswith(f"{kind}/"), name)
            found[name][tuple(sorted(key.items()))] = count, seconds
        return found

    def paced(self, *arguments, status=0, **variables):
        """With spans to the sink, too: (operations, requests of spans, requests of metrics, report)."""
        report = Path(self.folder.name, "report")
        self.sink.requests.clear()
        done = cuspan("replay", "--quiet", *self.SOON, "--set", f"report_file={report}",
                      *arguments, self.RECORDING, status=status, **{
                          "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.sink.port}", "OTEL_METRICS_EXPORTER": "otlp",
                          "OTEL_METRIC_EXPORT_INTERVAL": "50", "OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_TRACES_SAMPLER": "always_on", **variables})
        self.stderr = done.stderr
        metrics = [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests if request.path == "/v1/metrics"]
        spans = [request for request in self.sink.requests if request.path == "/v1/traces"]
        return self.operations(metrics), spans, metrics, json.loads(next(Path(self.folder.name).glob("report.*")).read_text())

    def test_each_export_of_spans_and_metrics(self):
        for temporality in "cumulative", "delta":
            with self.subTest(temporality):
                found, spans, metrics, _ = self.paced(OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=temporality)
                self.assertEqual(set(found), {"otlp_http_span_exporter/0", "otlp_http_metric_exporter/0"})
                accepted = (("http.response.status_code", 200),)
                (count, seconds), = (found["otlp_http_span_exporter/0"].pop(accepted), *found["otlp_http_span_exporter/0"].values())
                self.assertIn(count, range(len(spans) // 2, len(spans) + 1))
                self.assertGreater(count, 3)
                self.assertTrue(0 < seconds < 10, seconds)
                # The request that says so isn't over when it is made, and the one before may not be, either.
                self.assertIn(found["otlp_http_metric_exporter/0"][accepted][0], range(len(metrics) - 3, len(metrics)))
                for path in Path(self.folder.name).glob("report.*"):
                    path.unlink()

    def test_an_export_is_one_with_its_retries(self):
        """The first is answered by 503 at first, so it takes as long as a pause; the second is refused."""
        self.sink.statuses["/v1/traces"] = [503, 200, 400]
        found, spans, _, report = self.paced()
        ends = found["otlp_http_span_exporter/0"]
        self.assertEqual(set(ends), {(("http.response.status_code", 200),),
                                     (("error.type", "400"), ("http.response.status_code", 400))})
        self.assertEqual(ends[(("error.type", "400"), ("http.response.status_code", 400))][0], 1)
        self.assertEqual(report["counters"]["batches_resent"], 1)
        self.assertLessEqual(sum(count for count, _ in ends.values()), len(spans) - 1)
        self.assertGreater(ends[(("http.response.status_code", 200),)][1], 0.1)

    def test_who_does_not_answer(self):
        found, *_ = self.paced("--set", "exit_deadline_ms=300", status=1, OTEL_BSP_EXPORT_TIMEOUT="200",
                               OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://127.0.0.1:9/v1/traces")
        self.assertEqual(set(found["otlp_http_span_exporter/0"]), {(("error.type", "unreachable"),)})

    def test_a_file_is_written(self):
        spans, requests, _ = self.replay(self.RECORDING, *self.SOON, OTEL_METRIC_EXPORT_INTERVAL="50", OTEL_BSP_SCHEDULE_DELAY="50")
        self.assertTrue(spans)
        self.assertEqual(set(self.operations(requests)["otlp_file_span_exporter/0"]), {()})

    def test_from_a_spool_it_is_the_request_that_counts(self):
        found, spans, *_ = self.paced("--set", f"spool.directory={self.folder.name}/spool")
        (count, _), = found["otlp_http_span_exporter/0"].values()
        self.assertIn(count, range(len(spans) // 2, len(spans) + 1))


class Spool(Case):
    """With spool.directory points outlive an outage, and their process."""

    RECORDING = ROOT / "examples/recordings/service.cuspanrec"

    def setUp(self):
        super().setUp()
        self.spool = Path(self.folder.name, "spool")

    def spooled(self, *arguments, temporality="delta", to=None, **variables):
        to = to or f"http://127.0.0.1:{self.sink.port}/v1/metrics"
        return self.replay(self.RECORDING, "--paced", *arguments, settings=[f"spool.directory={self.spool}"],
                           OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=temporality, OTEL_METRIC_EXPORT_INTERVAL="30",
                           OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=to, **variables)

    def send(self, *arguments, status=0, **variables):
        self.sink.requests.clear()
        done = cuspan("send", *arguments, self.spool, status=status, **variables)
        return [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests], done.stderr

    def test_beyond_the_end_of_the_process(self):
        for temporality in "delta", "cumulative":
            with self.subTest(temporality):
                spans, requests, report = self.spooled(temporality=temporality, to="http://127.0.0.1:9/v1/metrics")
                metrics = report["metrics"]
                self.assertEqual((requests, metrics["delivered"], metrics["lost"], metrics["spooled"]), ([], 0, 0, metrics["made"]))
                self.assertGreater(metrics["made"], 30)
                self.assertIn(f"{metrics['made']} data points of metrics are left in the spool", self.stderr)
                requests, said = self.send("--endpoint", f"http://127.0.0.1:{self.sink.port}")
                self.assertGreater(len(requests), 3)
                self.assertEqual({request.path for request in self.sink.requests}, {"/v1/metrics"})
                self.expect(spans, self.totals(requests))
                points = otlp_metrics.series(requests).values()
                self.assertEqual(sum(map(len, points)), metrics["made"])
                for series in points:
                    times = [point.time_unix_nano for _, point in series]
                    self.assertEqual(times, sorted(times))
                self.assertIn(f"cuspan: {metrics['made']} data points of metrics delivered to http://127.0.0.1:{self.sink.port}/v1/metrics",
                              said.replace(",", ""))
                self.assertEqual(list(self.spool.iterdir()), [])

    def test_an_outage_that_outlasts_all_patience(self):
        """Without a spool the same loses points: else this would show nothing."""
        for has_spool in False, True:
            self.sink.statuses["/v1/metrics"] = [503, 503]
            options = [f"spool.directory={self.spool}"] if has_spool else []
            spans, requests, report = self.replay(
                self.RECORDING, "--paced", "--repeat", "12", settings=options, OTEL_METRIC_EXPORT_INTERVAL="30",
                OTEL_METRIC_EXPORT_TIMEOUT="100", OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta")
            metrics = report["metrics"]
            self.assertEqual(metrics["lost"] == 0, has_spool, (report["losses"], self.stderr))
            self.assertEqual(metrics["made"], metrics["delivered"] + metrics["lost"])
        self.expect(spans, self.totals(requests[2:]), is_long=True)  # those that were refused came again
        self.assertEqual(requests[0], requests[2])

    def test_the_next_process_delivers(self):
        spans, _, first = self.spooled(to="http://127.0.0.1:9/v1/metrics")
        self.sink.requests.clear()
        others, requests, second = self.spooled("--repeat", 10)
        counters = second["counters"]
        self.assertEqual((counters["recovered_points"], counters["recovered_points_lost"]), (first["metrics"]["made"], 0))
        self.assertEqual(second["metrics"]["made"], second["metrics"]["delivered"])
        by_process = defaultdict(list)
        for request in requests:
            pid, = (pair.value.int_value for pair in request.resource_metrics[0].resource.attributes if pair.key == "process.pid")
            by_process[pid].append(request)
        self.assertEqual(len(by_process), 2)
        totals = sorted((self.totals(requests) for requests in by_process.values()), key=lambda found: found["cuda.calls"][()][1])
        self.expect(spans, totals[0])
        self.expect(others, totals[1], is_long=True)
        self.assertEqual(list(self.spool.iterdir()), [])

    def test_what_is_refused_is_counted(self):
        self.sink.statuses["/v1/metrics"] = [400]
        *_, report = self.spooled("--repeat", 3)
        metrics = report["metrics"]
        self.assertGreater(metrics["lost"], 0)
        self.assertEqual((metrics["made"], metrics["spooled"]), (metrics["delivered"] + metrics["lost"], 0))
        self.assertEqual(report["losses"], {"lost_points": metrics["lost"]})

    def test_a_full_spool_is_counted(self):
        *_, report = self.replay(ROOT / "examples/recordings/torch_inference.cuspanrec", "--paced", "--repeat", "5",
                                 CUSPAN_REPLAY_FAIL="unique-names=150", OTEL_METRIC_EXPORT_INTERVAL="5",
                                 OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="http://127.0.0.1:9/v1/metrics", OTEL_EXPORTER_OTLP_COMPRESSION="none",
                                 settings=[f"spool.directory={self.spool}", "spool.bytes_max=4194304"])
        metrics = report["metrics"]
        self.assertGreater(metrics["lost"], 0)
        self.assertEqual(metrics["made"], metrics["lost"] + metrics["spooled"])
        self.assertIn("new metrics are lost", self.stderr)

    def test_where_they_are_sent(self):
        """Beside the spans where that is known, else by the configuration; never to the spans' own path."""
        *_, report = self.spooled(to="http://127.0.0.1:9/v1/metrics")
        made = report["metrics"]["made"]
        requests, said = self.send(status=1, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"http://127.0.0.1:{self.sink.port}/my/path")
        self.assertEqual(requests, [])
        self.assertIn("no endpoint is set", said)
        self.assertIn(f"{made} remain", said)
        requests, said = self.send(OTEL_TRACES_EXPORTER="none", OTEL_METRICS_EXPORTER="otlp",
                                   OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"http://127.0.0.1:{self.sink.port}/my/metrics")
        self.assertEqual({request.path for request in self.sink.requests}, {"/my/metrics"})
        self.assertEqual(sum(map(len, otlp_metrics.series(requests).values())), made)

    def test_who_is_killed_leaves_them(self):
        """What had been written is delivered; what had been made is counted."""
        process = subprocess.Popen(
            [str(BUILD / "cuspan"), "replay", "--quiet", "--paced", "--repeat", "200", "--file", os.devnull, "--set",
             f"spool.directory={self.spool}", str(self.RECORDING)], stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**CLEAN, "OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "30",
                 "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:9/v1/metrics"})
        time.sleep(2.5)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        requests, said = self.send("--endpoint", f"http://127.0.0.1:{self.sink.port}")
        made, delivered, here, lost = map(int, re.search(
            r"ended unexpectedly: of (\d+) data points that it is known to have created, (\d+) were delivered, (\d+) are in the spool "
            r"and will be sent now, (\d+) are lost", said).groups())
        self.assertEqual((made, delivered), (here + lost, 0))
        self.assertGreater(here, 100)
        self.assertEqual(sum(map(len, otlp_metrics.series(requests).values())), here)


class Words(Case):
    def test_what_is_unknown_is_said(self):
        for variables, words in (
                ({"OTEL_METRICS_EXPORTER": "prometheus"}, "OTEL_METRICS_EXPORTER: cuspan does not have the exporter \"prometheus\""),
                ({"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "soon"},
                 "OTEL_METRIC_EXPORT_INTERVAL: expected"),
                ({"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRICS_EXEMPLAR_FILTER": "sometimes"},
                 "OTEL_METRICS_EXEMPLAR_FILTER: expected trace_based, always_on or always_off, not \"sometimes\": using the default, trace_based"),
                ({"OTEL_METRICS_EXPORTER": "otlp,console"}, "only one exporter is supported")):
            with self.subTest(words):
                done = subprocess.run([str(BUILD / "cuspan"), "check"], capture_output=True, text=True, check=False,
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
    if "--build" in sys.argv:
        at = sys.argv.index("--build")
        BUILD = Path(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main(verbosity=2)
