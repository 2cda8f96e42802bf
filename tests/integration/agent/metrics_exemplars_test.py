#!/usr/bin/env python3
"""Exemplars of metrics lead to the spans that they measure.

    metrics_exemplars_test.py --build BUILD-DIR [unittest's arguments]
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

import otlp_metrics  # noqa: E402
from metrics_case import CLEAN, Case, build, cuspan, main, nearly  # noqa: E402


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
        self.assertEqual(len(none), 0)
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
        config = Path(self.folder, "config.yaml")
        config.write_text(f"""file_format: "1.1"
meter_provider:
  exemplar_filter: always_on
  readers: [{{periodic: {{exporter: {{otlp_http: {{endpoint: "http://127.0.0.1:{self.sink.port}/v1/metrics"}}}}}}}}]
""")
        cuspan("replay", ROOT / "examples/recordings/torch_inference.cuspanrec", CUSPAN_CONFIG_FILE=str(config))
        self.assertGreater(len(self.exemplars([otlp_metrics.from_protobuf(request.body) for request in self.sink.requests])), 10)
        config.write_text(config.read_text().replace("always_on", "sometimes"))
        done = subprocess.run([str(build("cuspan")), "check", config], capture_output=True, text=True, check=False, env=CLEAN)
        self.assertEqual(done.returncode, 1)
        self.assertIn("meter_provider.exemplar_filter: expected", done.stderr)


if __name__ == "__main__":
    main()
