"""Metrics of the real agent through a real Collector into a real Prometheus, with the files of docker/: Prometheus's
values equal those of the spans, every query of the dashboards finds data, and exemplars lead to spans. Called by
tests/e2e/run.sh.

    metrics_test.py COLLECTOR-BINARY PROMETHEUS-BINARY BUILD-DIR OUT-DIR
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.parse
from pathlib import Path

from backend import ROOT, Process, free_ports, get, post_nothing, spans_of

PROGRAM = "metrics-test"
INTERVAL_MS = 200
TRAINING = "training-test"
RANKS = 2
STEPS = 12
ENGINE = "engine-test"
REQUESTS = 36  # three times 12
WINDOW = "5m"  # instead of Grafana's variables


def queries(dashboard, program):
    """(title, query) with the variables replaced."""
    for panel in json.loads((ROOT / f"docker/grafana/{dashboard}.json").read_text())["panels"]:
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", WINDOW).replace("$window", WINDOW)
            yield panel["title"], text.replace("$job", program)


QUERIES = [*queries("cuspan", PROGRAM), *queries("training", TRAINING), *queries("engine", ENGINE)]


class Prometheus:
    def __init__(self, binary, directory, target):
        self.port, = free_ports(1)
        config = (ROOT / "docker/prometheus.yaml").read_text()
        assert "collector:9464" in config and "scrape_interval: 5s" in config
        path = Path(directory, "prometheus.yaml")
        config = config.replace("collector:9464", f"localhost:{target}")
        path.write_text(config.replace("interval: 5s", f"interval: {INTERVAL_MS}ms"))
        self.log = open(Path(directory, "prometheus.log"), "wb")
        self.process = subprocess.Popen([binary, f"--config.file={path}", f"--storage.tsdb.path={directory}/tsdb",
                                         f"--web.listen-address=127.0.0.1:{self.port}", "--enable-feature=exemplar-storage"],
                                        stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 60
        while True:
            try:
                if 1 in self.query("up").values():  # it starts to scrape seconds after it is ready
                    return
            except OSError:
                pass
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.close()
                raise RuntimeError(f"Prometheus does not start; its log: {self.log.name}")
            time.sleep(0.1)

    def ask(self, what, **arguments):
        answer = json.loads(get(f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(arguments)}"))
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, text):
        """{labels: value}"""
        return {tuple(sorted(series["metric"].items())): float(series["value"][1])
                for series in self.ask("query", query=text)["result"]}

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


class Collector:
    """Runs docker/collector.yaml without an exporter of spans; the test has them in a file."""

    def __init__(self, binary, directory):
        self.grpc, self.http, self.prometheus, nobody = free_ports(4)
        environment = {"COLLECTOR_HOST": "localhost", "OTLP_GRPC_PORT": str(self.grpc), "OTLP_HTTP_PORT": str(self.http),
                       "PROMETHEUS_PORT": str(self.prometheus), "COLLECTOR_TO": f"http://localhost:{nobody}"}
        self.process = Process(binary, ROOT / "docker/collector.yaml", directory, "collector", environment,
                               lambda: post_nothing(self.http))

    def close(self):
        self.process.close()


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = Collector(COLLECTOR, OUT)
        cls.addClassCleanup(cls.collector.close)
        cls.prometheus = Prometheus(PROMETHEUS, OUT, cls.collector.prometheus)
        cls.addClassCleanup(cls.prometheus.close)
        libraries = Path(OUT, "libraries")
        libraries.mkdir()
        shutil.copy(Path(BUILD, "libfake_nvml.so"), libraries / "libnvidia-ml.so.1")
        cls.file = Path(OUT, "spans.jsonl")
        clean = cls.clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))}
        done = subprocess.run(
            [f"{BUILD}/cuspan", "replay", "--file", str(cls.file), "--paced", "--repeat", "20",
             "--set", "cupti.flush_interval_ms=100",
             str(ROOT / "examples/recordings/service.cuspanrec")], capture_output=True, text=True, check=False, timeout=300,
            env={**clean, "OTEL_SERVICE_NAME": PROGRAM, "OTEL_TRACES_SAMPLER": "always_on", "OTEL_METRICS_EXPORTER": "otlp",
                 "OTEL_METRIC_EXPORT_INTERVAL": str(INTERVAL_MS), "LD_LIBRARY_PATH": str(libraries),
                 "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://localhost:{cls.collector.http}/v1/metrics"})
        assert done.returncode == 0, done.stderr
        cls.train()
        cls.serve()
        cls.spans = [span for line in cls.file.read_text().splitlines() for span in spans_of(json.loads(line))]
        time.sleep(2 + 3 * INTERVAL_MS / 1000)  # the Collector's batch, and a few scrapes

    @classmethod
    def train(cls):
        """A job of two ranks, which samples each step."""
        steps = [word for number in range(1, STEPS + 1) for word in (f"step={number}", "play", "nap")]
        running = []
        for rank in range(RANKS):
            settings = {"cupti.library": f"{BUILD}/libcuspan-replay.so", "output_file": f"{OUT}/rank-{rank}.jsonl",
                        "cupti.flush_interval_ms": 100, "steps.ratio": 1}
            running.append(subprocess.Popen(
                [f"{BUILD}/control_host", f"{BUILD}/libcuspan-replay.so", str(ROOT / "examples/recordings/vector_add.cuspanrec"),
                 f"{BUILD}/libcuspan.so", "inject", *steps], stdout=subprocess.DEVNULL,
                env={**cls.clean, "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items()),
                     "CUSPAN_JOB_ID": "job", "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS),
                     "OTEL_SERVICE_NAME": TRAINING, "OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": str(INTERVAL_MS),
                     "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://localhost:{cls.collector.http}/v1/metrics"}))
        assert [process.wait(300) for process in running] == [0] * RANKS

    @classmethod
    def serve(cls):
        """A serving engine, none of whose requests is sampled."""
        done = subprocess.run(
            [f"{BUILD}/cuspan", "replay", "--file", f"{OUT}/engine.jsonl", "--paced", "--repeat", "3", "--set", "cupti.flush_interval_ms=100",
             str(ROOT / "examples/engines/transformers.cuspanrec")], capture_output=True, text=True, check=False, timeout=300,
            env={**cls.clean, "OTEL_SERVICE_NAME": ENGINE, "OTEL_TRACES_SAMPLER": "always_off", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": str(INTERVAL_MS),
                 "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://localhost:{cls.collector.http}/v1/metrics"})
        assert done.returncode == 0, done.stderr

    def test_every_query_of_the_dashboards_finds_something(self):
        self.assertGreater(len(QUERIES), 25)
        for title, text in QUERIES:
            with self.subTest(title, query=text):
                self.assertNotIn("$", text.replace('$1"', ""))  # of label_replace
                found = self.prometheus.query(text)
                self.assertTrue(found, "nothing")
                self.assertFalse([value for value in found.values() if value != value], found)

    def test_queries_use_metrics_that_there_are(self):
        """Checks all names in the queries, because `or vector(0)` would hide a typing error."""
        page = (ROOT / "docs/metrics.md").read_text()
        named = set(re.findall(r"^\| `([a-z0-9_.]+)` \|", page, re.M))
        for _, expression in QUERIES:
            for metric in re.findall(r"\b((?:cuda|hw|otel|cuspan|training|engine|gen_ai)_\w+?)(?=\{)", expression):
                base = re.sub("_(total|bucket|sum|count)$", "", metric)
                base = re.sub("_(seconds|bytes|ratio|watts|celsius)$", "", base)
                self.assertIn(base, {name.replace(".", "_") for name in named}, metric)

    def test_sums_are_those_of_the_spans(self):
        calls = [span for span in self.spans if "cuda.api" in span.attributes]
        kernels = [span for span in self.spans if span.attributes.get("cuda.activity") == "kernel"]
        copied = sum(int(span.attributes.get("cuda.memcpy.bytes", 0)) for span in self.spans)
        program = f'{{job="{PROGRAM}"}}'
        for text, wanted in ((f"cuda_calls_total{program}", len(calls)),
                             (f"sum(cuda_kernel_duration_seconds_count{program})", len(kernels)),
                             (f"sum(cuda_kernel_duration_seconds_sum{program})",
                              sum(span.end_ns - span.start_ns for span in kernels) / 1e9),
                             (f'sum(cuda_kernel_duration_seconds_bucket{{job="{PROGRAM}",le="+Inf"}})', len(kernels)),
                             (f"sum(cuda_memcpy_io_bytes_total{program})", copied),
                             (f"hw_power_watts{program}", 123.5)):
            with self.subTest(text):
                value, = self.prometheus.query(text).values()
                self.assertAlmostEqual(value, wanted, delta=1e-9 * wanted)

    def test_steps_of_each_rank(self):
        for rank in range(RANKS):
            labels = f'{{job="{TRAINING}",cuda_process_rank="{rank}",training_step_kind="train"}}'
            count, = self.prometheus.query(f"training_step_duration_seconds_count{labels}").values()
            seconds, = self.prometheus.query(f"training_step_duration_seconds_sum{labels}").values()
            spans = [span for line in Path(OUT, f"rank-{rank}.jsonl").read_text().splitlines() for span in spans_of(json.loads(line))]
            starts = sorted(span.start_ns for span in spans if span.name == f"rank {rank}")
            self.assertEqual((count, len(starts)), (STEPS - 1, STEPS))  # the last one is in progress
            self.assertAlmostEqual(seconds, (starts[-1] - starts[0]) / 1e9)
            parts = self.prometheus.query(f"training_step_part_duration_seconds_count{labels}")
            self.assertEqual({dict(key)["training_step_part"]: value for key, value in parts.items()},
                             dict.fromkeys(("compute", "exposed_communication", "copies", "idle"), STEPS))

    def test_an_engine_s_requests(self):
        spans = [span for line in Path(OUT, "engine.jsonl").read_text().splitlines() for span in spans_of(json.loads(line))]
        self.assertFalse([span for span in spans if span.name == "transformers request"])
        labels = f'{{job="{ENGINE}",gen_ai_provider_name="transformers",gen_ai_operation_name="text_completion"}}'
        for name in "request_duration", "time_to_first_token", "time_per_output_token":
            self.assertEqual(list(self.prometheus.query(f"gen_ai_server_{name}_seconds_count{labels}").values()), [REQUESTS])
        bounds = {dict(key)["le"] for key in self.prometheus.query(f"gen_ai_server_time_per_output_token_seconds_bucket{labels}")}
        self.assertEqual(sorted(map(float, bounds)),
                         [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, float("inf")])
        self.assertEqual(list(self.prometheus.query(f'engine_active_requests{{job="{ENGINE}"}}').values()), [0])

    def test_by_grpc(self):
        done = subprocess.run(
            [f"{BUILD}/cuspan", "replay", "--file", "/dev/null", str(ROOT / "examples/recordings/vector_add.cuspanrec")],
            capture_output=True, text=True, check=False, timeout=120,
            env={**self.clean, "OTEL_SERVICE_NAME": "by-grpc", "OTEL_METRICS_EXPORTER": "otlp",
                 "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc",
                 "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://localhost:{self.collector.grpc}"})
        self.assertEqual((done.returncode, "lost" in done.stderr), (0, False), done.stderr)
        deadline = time.monotonic() + 30
        while not (found := self.prometheus.query('cuda_calls_total{job="by-grpc"}')) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual(list(found.values()), [13])

    def test_a_view(self):
        """A view gives the metric another name and other buckets, and one series instead of one per kernel."""
        config, file, bounds = Path(OUT, "views.yaml"), Path(OUT, "viewed.jsonl"), [1e-06, 2e-06, 5e-06, 0.0001]
        config.write_text(f"""file_format: "1.1"
resource: {{attributes: [{{name: service.name, value: viewed}}]}}
tracer_provider:
  sampler: {{always_on: }}
  processors: [{{simple: {{exporter: {{otlp_file/development: {{output_stream: "file://{file}"}}}}}}}}]
meter_provider:
  readers: [{{periodic: {{exporter: {{otlp_http: {{endpoint: "http://localhost:{self.collector.http}/v1/metrics"}}}}}}}}]
  views:
  - selector: {{instrument_name: cuda.kernel.duration}}
    stream:
      name: my.kernels
      attribute_keys: {{excluded: [cuda.kernel.short_name]}}
      aggregation: {{explicit_bucket_histogram: {{boundaries: {bounds}}}}}
""")
        done = subprocess.run([f"{BUILD}/cuspan", "replay", str(ROOT / "examples/recordings/torch_inference.cuspanrec")],
                              capture_output=True, text=True, check=False, timeout=120,
                              env={**self.clean, "CUSPAN_CONFIG_FILE": str(config)})
        self.assertEqual((done.returncode, "lost" in done.stderr), (0, False), done.stderr)
        kernels = [(span.end_ns - span.start_ns) / 1e9 for line in file.read_text().splitlines() for span in spans_of(json.loads(line))
                   if span.attributes.get("cuda.activity") == "kernel"]
        deadline = time.monotonic() + 30
        while not (found := self.prometheus.query('my_kernels_seconds_bucket{job="viewed"}')) and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual({float(dict(labels)["le"]): count for labels, count in found.items()},
                         {bound: sum(length <= bound for length in kernels) for bound in [*bounds, float("inf")]})
        self.assertEqual(self.prometheus.query('cuda_kernel_duration_seconds_count{job="viewed"}'), {})

    def test_how_long_exports_took(self):
        found = {dict(labels)["otel_component_type"]: (dict(labels).get("http_response_status_code"), dict(labels).get("error_type"), count)
                 for labels, count in self.prometheus.query(
                     f'otel_sdk_exporter_operation_duration_seconds_count{{job="{PROGRAM}"}}').items()}
        self.assertEqual(set(found), {"otlp_file_span_exporter", "otlp_http_metric_exporter"})
        self.assertEqual(found["otlp_http_metric_exporter"][:2], ("200", None))
        self.assertGreater(found["otlp_http_metric_exporter"][2], 5)
        self.assertEqual(found["otlp_file_span_exporter"][:2], (None, None))

    def test_exemplars_lead_to_spans(self):
        began = min(span.start_ns for span in self.spans) / 1e9  # the clock of the recording
        found = self.prometheus.ask("query_exemplars", query=f'cuda_kernel_duration_seconds_bucket{{job="{PROGRAM}"}}', start=began - 60,
                                    end=time.time())
        by_id = {(span.trace_id, span.span_id): span for span in self.spans}
        count = 0
        for series in found:
            for exemplar in series["exemplars"]:
                span = by_id[exemplar["labels"]["trace_id"], exemplar["labels"]["span_id"]]
                self.assertEqual(span.name, series["seriesLabels"]["cuda_kernel_short_name"])
                self.assertAlmostEqual(float(exemplar["value"]), (span.end_ns - span.start_ns) / 1e9)
                count += 1
        self.assertGreater(count, 0)


if __name__ == "__main__":
    COLLECTOR, PROMETHEUS, BUILD, OUT = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
