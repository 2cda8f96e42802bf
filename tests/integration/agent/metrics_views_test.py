#!/usr/bin/env python3
"""meter_provider.views: each stream compared with the spans of the same run.

    metrics_views_test.py --build BUILD-DIR [unittest's arguments]
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

import otlp_metrics  # noqa: E402
from metrics_case import CLEAN, RECORDINGS, Case, build, main, nearly  # noqa: E402


class Views(Case):
    """meter_provider.views: each stream compared with the spans."""

    has_views = True
    RECORDING = ROOT / "examples/recordings/torch_inference.cuspanrec"

    def kernels(self, spans):
        return [span.end_ns - span.start_ns for span in spans if span.attributes.get("cuda.activity") == "kernel"]

    def test_totals_are_the_same_without_names(self):
        """On every recording, in both formats and for sums: a view that adds up loses nothing."""
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
                        point, = (point for (name, _), points in otlp_metrics.series(requests, has_views=True).items()
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
        (metric, point), = next(points for (name, _), points in otlp_metrics.series(requests, has_views=True).items() if name == "kernels")
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
        (_, point), = next(points for (name, _), points in otlp_metrics.series(requests, has_views=True).items() if name == "cuda.kernel.duration")
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
        kinds = {name: metric.WhichOneof("data") for (name, _), points in otlp_metrics.series(requests, has_views=True).items() for metric, _ in points}
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
        """A run in several intervals."""
        return self.repeat_until(lambda found: len(found[1]) > 3, lambda: self.view([f"{{selector: {{instrument_type: histogram}}, stream: {{attribute_keys: {{excluded: [cuda.kernel.short_name]}}, "
                          f"aggregation: {{{form}: }}, aggregation_cardinality_limit: 2}}}}",
                          "{selector: {instrument_type: counter}, stream: {attribute_keys: {excluded: ['*']}}}"],
                         "--paced", recording=ROOT / "examples/recordings/service.cuspanrec", reader="interval: 20, ",
                         exporter=f"temporality_preference: {temporality}, "))

    def test_intervals_add_up(self):
        for temporality in "delta", "cumulative", "low_memory":
            for form in "explicit_bucket_histogram", "base2_exponential_bucket_histogram":
                with self.subTest(temporality, form=form):
                    spans, requests, _ = self.paced(temporality, form)
                    totals, kernels = self.totals(requests), self.kernels(spans)
                    (count, seconds), = totals["cuda.kernel.duration"].values()
                    self.assertEqual(count, len(kernels))
                    self.assertTrue(nearly(seconds, sum(kernels) / 1e9))
                    self.assertEqual(totals["cuda.calls"][()][1], sum("cuda.api" in span.attributes for span in spans))
                    for (name, _), points in otlp_metrics.series(requests, has_views=True).items():
                        for (metric, before), (_, after) in zip(points, points[1:]):
                            if "istogram" in metric.WhichOneof("data") and not otlp_metrics.is_delta(metric):
                                self.assertGreaterEqual(after.count, before.count, name)

    def test_exemplars_of_added_up_series_lead_to_spans(self):
        spans, requests, _ = self.view([
            "{selector: {instrument_name: cuda.kernel.duration}, stream: {attribute_keys: {excluded: ['*']}}}"])
        lengths = {span.span_id: span.end_ns - span.start_ns for span in spans}
        (_, point), = next(points for (name, _), points in otlp_metrics.series(requests, has_views=True).items() if name == "cuda.kernel.duration")
        self.assertTrue(point.exemplars)
        for exemplar in point.exemplars:
            self.assertTrue(nearly(exemplar.as_double, lengths[exemplar.span_id.hex()] / 1e9))

    def test_what_can_not_be_is_said(self):
        for view, words in (
                ("{selector: {instrument_name: cuda.calls}, stream: {aggregation: {explicit_bucket_histogram: }}}",
                 "8:5: meter_provider.views[0]: cuda.calls is not a histogram, so it has no buckets: choose another"),
                ("{selector: {instrument_name: '*'}, stream: {name: all}}", "which cannot all have the name all"),
                ("{selector: {instrument_name: cuda.calls}, stream: {aggregation: {last_value: }}}", "cuda.calls is not a gauge"),
                ("{selector: {instrument_name: cuda.memory.peak}, stream: {aggregation: {sum: }}}", "cuda.memory.peak is a gauge"),
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
        config = Path(self.folder, "config.yaml")
        lines = "\n".join(f"  - {view}" for view in views)
        config.write_text(f"""file_format: "1.1"

meter_provider:
  readers:
  - periodic: {{exporter: {{console: }}}}

  views:
{lines}
""")
        with self.subTest(words):
            done = subprocess.run([str(build("cuspan")), "check", config], capture_output=True, text=True, check=False, env=CLEAN)
            said = done.stdout + done.stderr
            self.assertIn(words.replace("{config}", str(config)), said)
            self.assertEqual(done.returncode, status, said)


if __name__ == "__main__":
    main()
