"""Metrics of a training job's steps. The durations equal the distances of the steps' spans, and the parts those of the spans of
GPU work. Run by metrics_test.sh.

    metrics_steps_test.py --build DIRECTORY [GROUP[.test]...]
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import otlp_metrics  # noqa: E402
from metrics_case import CLEAN, Case, build, main, nearly, union  # noqa: E402
from backend import spans_of  # noqa: E402

GPU_WORK = {"kernel", "memcpy", "memset"}


class Steps(Case):
    def play(self, *steps, rank=1, settings=(), **variables):
        """Runs the steps of control_host; sets spans, totals and report."""
        self.replays += 1
        file, report = (Path(self.folder, f"{name}{self.replays}") for name in ("spans.jsonl", "report"))
        self.sink.requests.clear()
        chosen = {"cupti.library": build("libcuspan-replay.so"), "output_file": file, "accounts_file": report,
                  "exit_deadline_ms": 60000, "sampling.sleep": "always", **dict(settings)}
        done = subprocess.run(
            [build("control_host"), build("libcuspan-replay.so"), ROOT / "examples/recordings/vector_add.cuspanrec",
             build("libcuspan.so"), "inject", *steps], capture_output=True, text=True, check=False, timeout=300,
            env={**CLEAN, "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items()), "CUSPAN_JOB_ID": "job",
                 "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "OTEL_METRICS_EXPORTER": "otlp",
                 "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://127.0.0.1:{self.sink.port}/v1/metrics", **variables})
        self.assertEqual((done.returncode, "lost" in done.stderr), (0, False), done.stderr)
        self.on = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("on:")]
        self.spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
        self.ranks = {int(span.attributes["training.step.number"]): span for span in self.spans
                      if span.name.startswith("rank ")}
        requests = [otlp_metrics.from_protobuf(request.body) for request in self.sink.requests]
        self.metrics = self.totals(requests)
        self.report = self.read_report(report)
        self.assertEqual(self.report["unaccounted"], 0)
        return requests

    def durations(self, kind="train"):
        """(count, seconds)"""
        return self.metrics["training.step.duration"].get(
            (("cuda.process.rank", 1), ("training.step.kind", kind), ("training.step.source", "api")), (0, 0))

    def part(self, name):
        return self.metrics["training.step.part.duration"].get(
            (("cuda.process.rank", 1), ("training.step.kind", "train"), ("training.step.part", name)), (0, 0))

    def expect_parts(self):
        """The parts equal those of the spans, in which there is no collective."""
        compute = copies = idle = previous = 0
        for _, span in sorted(self.ranks.items()):
            work = {kind: [] for kind in GPU_WORK}
            for each in self.spans:
                if each.trace_id == span.trace_id and each.attributes.get("cuda.activity") in GPU_WORK:
                    work[each.attributes["cuda.activity"]].append((each.start_ns, each.end_ns))
            every = sum(work.values(), [])
            begin = min(max(previous, span.start_ns), *(start for start, _ in every))
            previous = max(end for _, end in every)
            compute += union(work["kernel"])
            copies += union(every) - union(work["kernel"])
            idle += max(previous, span.end_ns) - begin - union(every)
        for name, wanted in ("compute", compute), ("copies", copies), ("exposed_communication", 0), ("idle", idle):
            count, seconds = self.part(name)
            self.assertEqual(count, len(self.ranks), name)
            self.assertTrue(nearly(seconds, wanted / 1e9), (name, seconds, wanted))

    def test_every_step(self):
        steps = [word for number in range(1, 9) for word in (f"step={number}", "play")]
        self.play(*steps, settings={"steps.traced": "all"})
        self.assertEqual(sorted(self.ranks), list(range(1, 9)))
        count, seconds = self.durations()
        self.assertEqual(count, 7)  # the last one is in progress
        self.assertTrue(nearly(seconds, (self.ranks[8].start_ns - self.ranks[1].start_ns) / 1e9))
        self.expect_parts()
        self.assertEqual(self.report["counters"]["steps_unmeasured"], 0)

    def test_durations_go_on_while_capture_sleeps(self):
        steps = [word for number in range(1, 7) for word in (f"step={number}", *["nap"] * (9 if number == 6 else 1), "on", "play")]
        self.play(*steps, settings={"steps.ratio": 1 / 1024})
        self.assertEqual(sorted(self.ranks), [3, 4])
        self.assertEqual((self.on[2:4], self.on[5]), ([1, 1], 0))
        count, seconds = self.durations()
        self.assertEqual(count, 5)
        self.assertGreater(seconds, 0.5)  # of naps
        self.expect_parts()
        calls = sum("cuda.api" in span.attributes for span in self.spans)
        self.assertLess(self.metrics["cuda.calls"][()][1], 6 * calls / 2)  # not of the last step

    def test_metrics_of_everything_on_request(self):
        self.play("step=3", "play", "step=5", "play", "step=6", "nap", "on", "play",
                  settings={"steps.ratio": 1 / 1024, "sampling.sleep": "never"})
        self.assertEqual((sorted(self.ranks), self.on), ([3], [1]))
        calls = sum("cuda.api" in span.attributes for span in self.spans)
        self.assertEqual(self.metrics["cuda.calls"][()][1], 3 * calls)

    def test_delta_adds_up(self):
        steps = [word for number in range(1, 9) for word in (f"step={number}", "play", "nap")]
        requests = self.play(*steps, settings={"steps.traced": "all"}, OTEL_METRIC_EXPORT_INTERVAL="20",
                             OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta")
        self.assertGreater(len(requests), 3)
        self.assertEqual(self.durations()[0], 7)
        self.expect_parts()

    def test_exemplars_are_spans_of_the_rank(self):
        requests = self.play("step=3", "play", "step=4", "play", "step=5", settings={"steps.ratio": 1 / 1024})
        found = {exemplar.span_id.hex() for (name, _), points in otlp_metrics.series(requests).items()
                 if name == "training.step.duration" for _, point in points for exemplar in point.exemplars}
        self.assertTrue(found)
        self.assertLessEqual(found, {span.span_id for span in self.ranks.values()})

    def test_a_program_without_steps_has_no_such_metrics(self):
        self.play("play")
        self.assertFalse([name for name in self.metrics if name.startswith("training.step")])


if __name__ == "__main__":
    main()
