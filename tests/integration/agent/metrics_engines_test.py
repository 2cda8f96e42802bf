"""Metrics of serving engines: those of a recording equal its spans, and they count what is not sampled. Run by metrics_test.sh.

    metrics_engines_test.py --build DIRECTORY [GROUP[.test]...]
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import otlp_metrics  # noqa: E402
from metrics_case import CLEAN, Case, build, main, nearly  # noqa: E402
from backend import spans_of  # noqa: E402

REQUESTS, ITERATIONS = 12, 15  # of each recording in examples/engines
# Of OpenTelemetry's conventions for generative AI.
BOUNDS = {
    "gen_ai.server.request.duration": [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    "gen_ai.server.time_to_first_token": [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0],
    "gen_ai.server.time_per_output_token": [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5],
}


def server(engine):
    return (("gen_ai.operation.name", "text_completion"), ("gen_ai.provider.name", engine))


def iterations(engine, kind="forward", rank=0):
    return (("cuda.process.rank", rank), ("engine.iteration.kind", kind), ("engine.name", engine))


class Transformers(Case):
    ENGINE = "transformers"

    def expect(self, name, attributes, count, seconds):
        found = self.metrics[name][attributes]
        self.assertEqual(found[0], count, name)
        self.assertTrue(nearly(found[1], seconds), (name, found[1], seconds))

    def play(self, **variables):
        spans, requests, report = self.replay(ROOT / f"examples/engines/{self.ENGINE}.cuspanrec", "--set", "engine.ratio=1", **variables)
        self.metrics = self.totals(requests)
        self.assertEqual(report["unaccounted"], 0)
        return spans, requests

    def test_they_equal_the_spans(self):
        spans, requests = self.play()
        served = [span for span in spans if span.name == f"{self.ENGINE} request"]
        ranks = [span for span in spans if span.name == "rank 0"]
        self.assertEqual((len(served), len(ranks)), (REQUESTS, ITERATIONS))

        def seconds(*names):
            return sum(int(span.attributes[f"engine.request.{name}"]) for span in served for name in names) / 1e9

        who = server(self.ENGINE)
        self.expect("gen_ai.server.request.duration", who, REQUESTS, seconds("queue_time", "prefill_time", "decode_time"))
        self.expect("gen_ai.server.time_to_first_token", who, REQUESTS, seconds("queue_time", "prefill_time"))
        self.expect("gen_ai.server.time_per_output_token", who, REQUESTS, seconds("time_per_output_token"))
        engine = (("engine.name", self.ENGINE),)
        self.expect("engine.request.queue.duration", engine, REQUESTS, seconds("queue_time"))
        for phase in "prefill", "decode":
            tokens = sum(int(span.attributes[f"engine.request.{phase}_tokens"]) for span in served)
            self.assertEqual(self.metrics["engine.tokens"][(*engine, ("engine.phase", phase))][1], tokens)
        self.assertEqual(self.metrics["engine.active_requests"][engine][1], 0)
        self.assertEqual(self.metrics["engine.preemptions"][engine][1], 0)
        self.assertEqual(self.metrics["engine.iteration.duration"][iterations(self.ENGINE)][0], ITERATIONS)
        busy = sum(int(span.attributes.get("cuda.total.gpu_time", 0)) for span in ranks) / 1e9
        self.assertTrue(nearly(self.metrics["engine.gpu.time"][iterations(self.ENGINE)][1], busy))
        for (name, _), points in otlp_metrics.series(requests).items():
            if name in BOUNDS:
                self.assertEqual(list(points[-1][1].explicit_bounds), BOUNDS[name])

    def test_sampling_changes_none(self):
        self.play()
        wanted = {name: series for name, series in self.metrics.items() if name.startswith(("gen_ai", "engine"))}
        self.assertEqual(len(wanted), 9)
        for variables in ({"OTEL_TRACES_SAMPLER": "always_off"}, {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.3"},
                          {"OTEL_TRACES_EXPORTER": "none"}):
            with self.subTest(**variables):
                self.play(**variables)
                self.assertEqual({name: series for name, series in self.metrics.items() if name.startswith(("gen_ai", "engine"))}, wanted)

    def test_exemplars_are_spans(self):
        spans, requests = self.play()
        ids = {(span.trace_id, span.span_id): span.name for span in spans}
        names = {}
        for (name, _), points in otlp_metrics.series(requests).items():
            for exemplar in getattr(points[-1][1], "exemplars", ()):
                if exemplar.span_id and name.startswith(("gen_ai", "engine")):
                    names.setdefault(name, set()).add(ids[exemplar.trace_id.hex(), exemplar.span_id.hex()])
        request = {f"{self.ENGINE} request"}
        self.assertEqual(names, {**dict.fromkeys(BOUNDS, request), "engine.iteration.duration": {"rank 0"}})

    def test_a_program_without_an_engine_has_no_such_metrics(self):
        _, requests, _ = self.replay(ROOT / "examples/recordings/vector_add.cuspanrec")
        self.assertFalse([name for name in self.totals(requests) if name.startswith(("gen_ai", "engine"))])


class Vllm(Transformers):
    ENGINE = "vllm"


class Program(Case):
    """control_host, whose requests may be unsampled, and whose iterations are not recorded."""

    def play(self, *words, **variables):
        self.replays += 1
        file = Path(self.folder, f"spans{self.replays}.jsonl")
        self.sink.requests.clear()
        settings = {"cupti.library": build("libcuspan-replay.so"), "output_file": file, "exit_deadline_ms": 60000, "engine.ratio": 1 / 1024}
        done = subprocess.run(
            [build("control_host"), build("libcuspan-replay.so"), ROOT / "examples/recordings/vector_add.cuspanrec",
             build("libcuspan.so"), "inject", *words], capture_output=True, text=True, check=False, timeout=300,
            env={**CLEAN, "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items()), "OTEL_METRICS_EXPORTER": "otlp",
                 "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{self.sink.port}/v1/metrics", **variables})
        self.assertEqual((done.returncode, "lost" in done.stderr), (0, False), done.stderr)
        self.spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
        requests = [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests]
        self.metrics = self.totals(requests)
        return requests

    def words(self, count):
        """`count` iterations of a request that is not sampled, and one that has not ended."""
        words = [f"request=r1,00-{1:032x}-{1:016x}-00", f"request=r2,00-{2:032x}-{2:016x}-00"]
        for number in range(1, count + 1):
            words += [f"iteration={number}", "play", "nap", "iteration-end"]
        return [*words, "request-end=r1"]

    def expect(self, count):
        engine = (("engine.name", "test"),)
        self.assertFalse([span for span in self.spans if span.name == "test request"])
        self.assertEqual(self.metrics["gen_ai.server.request.duration"][server("test")][0], 1)
        self.assertEqual(self.metrics["gen_ai.server.time_to_first_token"][server("test")][0], 1)
        self.assertEqual(self.metrics["gen_ai.server.time_per_output_token"][server("test")][0], 1)
        self.assertEqual(self.metrics["engine.active_requests"][engine][1], 1)
        self.assertEqual(self.metrics["engine.tokens"][(*engine, ("engine.phase", "prefill"))][1], 40)
        self.assertEqual(self.metrics["engine.tokens"][(*engine, ("engine.phase", "decode"))][1], 2 * (count - 1))
        self.assertEqual(self.metrics["engine.iteration.duration"][iterations("test")][0], count)
        self.assertTrue(nearly(self.metrics["engine.gpu.time"][iterations("test")][1], self.metrics["cuda.gpu.busy_time"][self.device()][1]))

    def device(self):
        key, = self.metrics["cuda.gpu.busy_time"]
        return key

    def test_what_is_not_sampled(self):
        self.play(*self.words(8))
        self.expect(8)

    def test_delta_adds_up(self):
        requests = self.play(*self.words(8), OTEL_METRIC_EXPORT_INTERVAL="20",
                             OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta")
        self.assertGreater(len(requests), 3)
        self.expect(8)

    def test_another_rank_has_iterations_only(self):
        self.play("rank=1", "iteration=1", "play", "iteration-end")
        self.assertEqual(self.metrics["engine.iteration.duration"][iterations("test", rank=1)][0], 1)
        self.assertFalse([name for name in self.metrics if name.startswith("gen_ai")])


if __name__ == "__main__":
    main()
