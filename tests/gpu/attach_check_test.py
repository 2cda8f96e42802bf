#!/usr/bin/env python3
"""Tests the checks of attach_check.py with synthetic spans and with recordings: correct ones pass, each single fault is found. Then
attach_test.py's cases with the agent, in a host that plays a recording instead of programs on a GPU.

    attach_check_test.py [--build DIRECTORY]"""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/gpu")]
import attach_check as checks  # noqa: E402
import attach_test  # noqa: E402
import processes_test  # noqa: E402
from backend import Span, spans_of  # noqa: E402
from built import BUILD, CLEAN  # noqa: E402

REPLAY = BUILD / "libcuspan-replay.so"
FIRST, COUNT, AFTER = 60, 70, 8  # the first traced launch, all launches of a thread, those after the attach
OUTPUT = f"ready\nthread 0 500 {COUNT}\nthread 1 501 {COUNT}\nresults same\ndone"
REPORT = {"losses": {"lost_graph_record": 1}, "counters": {"lost_graph_record": 1}}


def span(number, parent, name, **attributes):
    return Span("t", f"{number:016x}", f"{parent:016x}" if parent else "", name, number, number + 1, 0, attributes, {})


def launches():
    """Of attach.cu, by two threads in turn."""
    made = []
    for n in range(FIRST, COUNT):
        for thread in 0, 1:
            number = 10 * n + 4 * thread + 1
            made.append(span(number, 1, "cudaLaunchKernel", **{"cuda.api": "runtime", "cuspan.thread.id": 500 + thread, "cuda.correlation.id": number}))
            made.append(span(number + 1, number, f"work_{thread}", **{"cuda.activity": "kernel", "cuda.correlation.id": number,
                                                                      "cuda.kernel.grid": [1 + n % checks.LAUNCHES_PERIOD, 1, 1]}))
    return made


def graphs():
    """A launch with its execution, and one of an older graph."""
    return [span(1, 9, "cudaGraphLaunch", **{"cuda.api": "runtime", "cuda.correlation.id": 1}),
            span(2, 1, "graph", **{"cuda.activity": "graph", "cuda.correlation.id": 1}),
            span(3, 9, "cudaGraphLaunch", **{"cuda.api": "runtime", "cuda.correlation.id": 3})]


def change(at, **attributes):
    return lambda spans: spans[at].attributes.update({key.replace("__", "."): value for key, value in attributes.items()})


class Checks(unittest.TestCase):
    def assert_finds(self, make, check, **lies):
        self.assertEqual(list(check(make())), [])
        for what, lie in lies.items():
            changed = copy.deepcopy(make())
            changed = lie(changed) or changed
            with self.subTest(what):
                self.assertNotEqual(list(check(changed)), [])

    def test_launches(self):
        self.assert_finds(launches, checks.check_launches,
                          none=lambda s: [s[1]],
                          without_kernel=lambda s: s[:-1],
                          first_without_kernel=lambda s: [s[0], *s[2:]],
                          call_twice=change(2, cuda__correlation__id=601),
                          kernel_twice=lambda s: [*s, copy.copy(s[1])],
                          another_kernel=change(1, cuda__correlation__id=77),
                          orphan=change(-1, cuda__orphan=True))
        early = span(500, 1, "work_0", **{"cuda.activity": "kernel", "cuda.correlation.id": 499, "cuda.orphan": True})
        self.assertEqual(list(checks.check_launches([early, *launches()])), [])
        self.assertEqual(list(checks.check_launches(launches()[:-1], 1)), [])
        self.assertNotEqual(list(checks.check_launches(launches(), 1)), [])

    def test_a_launch_of_a_collective(self):
        """Its kernel is a child of the collective's span."""
        spans = launches()
        spans[1].parent_id = "c"
        self.assertNotEqual(list(checks.check_launches(spans)), [])
        collective = span(12, 601, "AllReduce", **{"collective.operation": "all_reduce"})
        spans[1].parent_id, collective.parent_id = collective.span_id, spans[0].span_id
        self.assertEqual(list(checks.check_launches([*spans, collective])), [])

    def test_a_launch_that_failed(self):
        spans = launches()[:-1]
        spans[-1].status = checks.ERROR
        self.assertEqual(list(checks.check_launches(spans)), [])

    def test_sequences(self):
        self.assert_finds(launches, lambda spans: checks.check_sequences(spans, OUTPUT, AFTER),
                          gap=lambda s: s[:8] + s[10:],
                          too_few=lambda s: s[20:],
                          last_one=lambda s: s[:-2],
                          kernels_swapped=lambda s: (setattr(s[1], "name", "work_1"), setattr(s[3], "name", "work_0")) and s,
                          order=lambda s: (change(1, cuda__kernel__grid=[62, 1, 1])(s), change(5, cuda__kernel__grid=[61, 1, 1])(s)) and s,
                          thread=change(0, cuspan__thread__id=501))
        self.assertEqual(list(checks.check_sequences(launches()[:8] + launches()[10:], OUTPUT, AFTER - 1, 1)), [])
        self.assertEqual(len(list(checks.check_sequences(launches(), "ready\ndone", AFTER))), 1)

    def test_results(self):
        self.assertEqual(list(checks.check_results(OUTPUT)), [])
        self.assertNotEqual(list(checks.check_results(OUTPUT.replace("same", "differ"))), [])

    def test_graphs(self):
        self.assert_finds(graphs, lambda spans: checks.check_graphs(spans, REPORT),
                          none=lambda s: [s[1]], not_counted=lambda s: [s[0], s[2]], counted_in_vain=lambda s: s[:2])

    def test_report(self):
        with unittest.mock.patch.object(checks.accounts, "differences", lambda report: report.get("differences", [])):
            self.assertEqual(list(checks.check_report(REPORT, ("lost_graph_record",))), [])
            self.assertEqual(list(checks.check_report(REPORT)), ["lost: lost_graph_record 1"])
            self.assertEqual(list(checks.check_report({"losses": {}, "differences": ["one"]})), ["one"])

    def test_times(self):
        self.assertEqual(list(checks.check_first_span([0.1, 2.0], 2.0)), [])
        self.assertEqual(list(checks.check_first_span([0.1, 2.5, 3.0], 2.0)), ["the first span came after 3.00 s, and 2 of 3 after more than 2.0 s"])
        self.assertEqual([checks.percentile(range(100), share) for share in (0, 0.5, 0.99, 1)], [0, 50, 99, 99])


class Recorded(unittest.TestCase):
    """Recordings of programs on a GPU."""

    def replayed(self, recording):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([BUILD / "cuspan", "replay", "-q", "--file", f"{folder}/spans.jsonl", "--set", f"accounts_file={folder}/report",
                            ROOT / f"examples/recordings/{recording}.cuspanrec"], check=True, env=CLEAN, capture_output=True)
            report, = Path(folder).glob("report*")
            spans = [span for line in Path(folder, "spans.jsonl").read_text().splitlines() for span in spans_of(json.loads(line))]
            return spans, json.loads(report.read_text())

    def test_launches(self):
        for recording in "vector_add", "threads", "torch_inference":
            spans, report = self.replayed(recording)
            self.assertEqual(list(checks.check_launches(spans)) + list(checks.check_report(report)), [])
            kernel = next(span for span in spans if span.attributes.get("cuda.activity") == "kernel")
            self.assertNotEqual(list(checks.check_launches([span for span in spans if span is not kernel])), [])

    def test_graphs(self):
        spans, report = self.replayed("graph")
        self.assertEqual(list(checks.check_graphs(spans, report)), [])
        graph = next(span for span in spans if span.attributes.get("cuda.activity") == "graph")
        self.assertNotEqual(list(checks.check_graphs([span for span in spans if span is not graph], report)), [])


class StandIn(attach_test.Program):
    """A host that plays a recording before and after the attach."""

    ready = done = "play-waiting: 0"
    cost = r"line: (\d)"
    recording, more = "threads", ()

    def launching(self, *agent):
        late = ["late"] if agent else []
        return [BUILD / "control_host", REPLAY, ROOT / f"examples/recordings/{self.recording}.cuspanrec", BUILD / "libcuspan.so",
                "play-waiting", "line", *late, "play-waiting", *self.more]

    @staticmethod
    def check(spans, output, lost):
        if "line: 0" not in output.splitlines():
            yield "the stand-in read no line"


class ForCosts(StandIn):
    more = ("line", "line", "line")

    @staticmethod
    def check(spans, output, lost):
        return []


class Ending(StandIn):
    more = ("no-such-step",)


class Hanging(StandIn):
    def launching(self, *agent):
        return ["sleep", "1000"]


class Flow(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attach-check-")
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)

    def result(self, name, program, count=2, cupti=REPLAY):
        return processes_test.run_case(attach_test.Cases(self.out, BUILD, [cupti], program, count, 2), name)

    def figures(self, name):
        return json.loads((self.out / name / "figures.json").read_text())

    def test_late(self):
        faults, said = self.result("late", StandIn)
        self.assertEqual(faults, [])
        self.assertRegex(said, r"^2 starts with CUPTI 13\.5, \d{4} spans, 0 kernels without times, counted$")
        self.assertEqual([path.name for path in (self.out / "late").glob("*/late.*")], [])

    def test_threads(self):
        with unittest.mock.patch.object(attach_test, "FIRST_SPAN_S", 0.01):  # it has none until it reads the next line
            faults, said = self.result("threads", ForCosts)
        self.assertEqual([fault for fault in faults if "results" not in fault], faults[:1])
        self.assertIn("the first span came after", faults[0])
        self.assertRegex(said, r"^2 attaches, a thread stopped for \d+ µs \(p99 \d+\), first span after \d+\.\d\d s at most; a launch after")
        attaches, costs = self.figures("threads")["attach"], self.figures("threads")["cost"]
        self.assertEqual([len(attaches), len(costs)], [2, 2])
        self.assertTrue(all(figure["spans"] > 500 for figure in attaches))
        self.assertEqual([(figure["cost_ns"], figure["untouched_ns"]) for figure in costs], [(0, 0), (0, 0)])

    def test_what_fails(self):
        faults, _ = self.result("late", StandIn, 1, self.out / "no-cupti.so")
        self.assertIn("the agent does not start: ", faults[0])
        faults, _ = self.result("late", Ending, 1)
        self.assertIn("it ended (status 2): 'no step no-such-step", faults[0])
        with unittest.mock.patch.dict(attach_test.PROGRAM_S, late=0.5):
            faults, _ = self.result("late", Hanging, 1)
        self.assertIn("(hung and was killed)", faults[0])
        with unittest.mock.patch.dict(attach_test.LIMITS_S, late=0.0):
            faults, _ = self.result("late", StandIn, 1)
        self.assertIn("1 of 1 did not come within 0.0 s", faults[0])

    def test_what_is_missing(self):
        with self.assertRaisesRegex(attach_test.Skipped, "no .*gpu/attach, and no nvcc"):
            processes_test.run_case(attach_test.Cases(self.out, self.out, [REPLAY], count=1), "late")


if __name__ == "__main__":
    unittest.main(verbosity=2)
