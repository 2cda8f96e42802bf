#!/usr/bin/env python3
"""tests/bench/guard.py, growth.py and anywhere.py with synthetic figures: what they read, what they compute, and what
the guard accepts and rejects."""

import contextlib
import io
import sys
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/bench"))
sys.dont_write_bytecode = True
import anywhere  # noqa: E402
import growth  # noqa: E402
import guard  # noqa: E402

COMMITTED = {"instructions": {"a/correlate": 1000.0, "a/encode": 500.0}, "allocations": {"a": 0}}
CMAKE = 'set(CMAKE_C_COMPILER "/usr/bin/cc")\nset(CMAKE_C_COMPILER_ID "{}")\nset(CMAKE_C_COMPILER_VERSION "{}")\n'
CACHE = "CMAKE_BUILD_TYPE:STRING={}\nCUSPAN_SANITIZE:STRING={}\n"


def found(correlate=1000.0, encode=500.0, allocations=0):
    return {"instructions": {"a/correlate": correlate, "a/encode": encode}, "allocations": {"a": allocations}}


def judged(key, counts):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = guard.judge(key, {"gcc-12 x86_64": COMMITTED}, counts)
    return status, said.getvalue()


class Reading(unittest.TestCase):
    def test_callgrinds_count(self):
        self.assertEqual(guard.collected("==1== Events    : Ir\n==1== Collected : 480477\n==1==\n"), 480477)
        with self.assertRaises(guard.Trouble):
            guard.collected("valgrind: no such program")

    def test_the_compiler(self):
        self.assertEqual(guard.compiler_of(CMAKE.format("GNU", "12.2.0"), "x86_64"), "gcc-12 x86_64")
        self.assertEqual(guard.compiler_of(CMAKE.format("Clang", "14.0.6"), "aarch64"), "clang-14 aarch64")
        with self.assertRaises(guard.Trouble):
            guard.compiler_of("", "x86_64")

    def test_other_builds_are_refused(self):
        guard.check_options(CACHE.format("RelWithDebInfo", ""))
        for wrong in CACHE.format("Debug", ""), CACHE.format("RelWithDebInfo", "thread"), "":
            with self.assertRaises(guard.Trouble):
                guard.check_options(wrong)


class WorkingOut(unittest.TestCase):
    def test_stages_are_differences_of_differences(self):
        def runs(start, a_span):  # of 100 and of 300 spans
            return [(start + 100 * a_span, {"spans": 100}), (start + 300 * a_span, {"spans": 300})]
        chains = {"fill": runs(5000, 10), "decode": runs(5000, 30), "correlate": runs(6000, 130), "encode": runs(9000, 180)}
        self.assertEqual(guard.by_stage("a", chains), {"a/decode": 20, "a/correlate": 100, "a/encode": 50})
        with self.assertRaises(guard.Trouble):
            guard.by_stage("a", {stage: [(1, {"spans": 0}), (2, {"spans": 0})] for stage in guard.STAGES})

    def test_a_launch(self):
        few, many = {"launches": 10, "lost": 0}, {"launches": 30, "lost": 0}
        self.assertEqual(guard.by_launch([(1000 + 70, few), (1000 + 210, many)]), 7)
        with self.assertRaises(guard.Trouble):
            guard.by_launch([(1000, few), (2000, {**many, "lost": 1})])


class Judging(unittest.TestCase):
    def test_what_is_as_committed_passes(self):
        for counts in found(), found(1009.0), found(971.0, 504.0):
            self.assertEqual(judged("gcc-12 x86_64", counts)[0], 0)

    def test_a_rise_is_told_with_stage_figures_and_command(self):
        status, said = judged("gcc-12 x86_64", found(1011.0))
        self.assertEqual(status, 1)
        self.assertIn("failed: a/correlate: dearer, from 1000.0 to 1011.0 instructions (+1.1%)", said)
        self.assertIn("tests/bench/guard.sh --accept", said)
        self.assertNotIn("a/encode: ", said)

    def test_a_fall_is_told(self):
        status, said = judged("gcc-12 x86_64", found(encode=484.0))
        self.assertEqual(status, 1)
        self.assertIn("a/encode: cheaper, from 500.0 to 484.0", said)

    def test_one_allocation_fails(self):
        status, said = judged("gcc-12 x86_64", found(allocations=1))
        self.assertEqual(status, 1)
        self.assertIn("a: allocations after the warm-up, from 0 to 1", said)

    def test_a_figure_that_comes_or_goes_fails(self):
        counts = found()
        counts["instructions"]["a/send"] = counts["instructions"].pop("a/encode")
        status, said = judged("gcc-12 x86_64", counts)
        self.assertEqual(status, 1)
        self.assertIn("a/encode: is no longer counted", said)
        self.assertIn("a/send: there is no committed figure", said)

    def test_an_unknown_compiler_is_skipped_aloud(self):
        status, said = judged("gcc-99 x86_64", found(2000.0))
        self.assertEqual(status, guard.SKIPPED)
        self.assertIn("2000.0", said)
        self.assertRegex(said, r"(?m)^skipped: bench/guard: .*gcc-99 x86_64.*guard\.sh --accept")


def replayed(compression, pipeline_ns, sender_ns, **others):
    return {"recording": "torch_inference", "compression": compression, "repeat": 1, "spans": 1000, "delivered": 1000,
            "losses": {}, "wall_s": 0.5, "peak_kib": 2048, "requests": 1, "wire_bytes": 30_000,
            "cpu_ns": {"cuspan/pipeline": 1000 * pipeline_ns, "cuspan/sender": 1000 * sender_ns, "stand-in": 5}, **others}


class Growing(unittest.TestCase):
    def test_the_median_of_the_lives_and_the_worst_of_memory(self):
        lives = [{"spans": 1000, "ns": ns, "rss_kib": rss, "allocations": n} for ns, rss, n in ((30, 5, 0), (10, 9, 2), (20, 7, 1))]
        row = growth.row(4, lives)
        self.assertEqual((row["value"], row["ns"], row["ns_min"], row["ns_max"]), (4, 20, 10, 30))
        self.assertEqual((row["rss_kib"], row["allocations"]), (9, 2))

    def test_ratios_are_to_the_base(self):
        rows = growth.with_ratios([{"value": 1, "ns": 50}, {"value": 8, "ns": 75}], 1)
        self.assertEqual([row["ratio"] for row in rows], [1, 1.5])

    def test_instructions_are_a_difference_of_two_lengths_without_filling(self):
        def counted(command, *_):  # starting takes 9000, filling 10 per span, encoding 50 more
            spans = 64 * 1000 * command[command.index("--repeat") + 1]
            return 9000 + spans * (60 if "encode" in command else 10), {"spans": spans if "encode" in command else 0}
        with unittest.mock.patch.object(guard, "callgrind", counted):
            self.assertEqual(growth.instructions(Path("build"), ["--threads", 64], 64), 50)
        with unittest.mock.patch.object(guard, "callgrind", lambda *_: (1, {"spans": 7})), self.assertRaises(guard.Trouble):
            growth.instructions(Path("build"), [], 1)

    def test_each_series_begins_with_its_base_and_says_why(self):
        for name, rows in growth.series().items():
            self.assertEqual(rows[0][0], 1)
            self.assertTrue(growth.REASONS[name])


class Anywhere(unittest.TestCase):
    def test_what_the_collector_says(self):
        self.assertEqual(anywhere.collected_bytes("requests 30 bytes 92613754\n"), (30, 92613754))
        with self.assertRaises(guard.Trouble):
            anywhere.collected_bytes("")

    def test_threads_by_name_and_the_rest_is_the_stand_ins(self):
        watch = anywhere.Watch(1)
        watch.names = {1: "cuspan", 2: "cuspan/pipeline", 3: "cuspan/sender", 4: "python3", 5: "cuspan/sender"}
        watch.cpu_ns = {1: 1, 2: 10, 3: 100, 4: 1000, 5: 200}
        self.assertEqual(watch.by_name(), {"stand-in": 1001, "cuspan/pipeline": 10, "cuspan/sender": 300})

    def test_medians_by_recording_and_compression(self):
        runs = [replayed("gzip", 200, 300), replayed("none", 1, 1), replayed("gzip", 400, 300), replayed("gzip", 250, 250)]
        one, other = anywhere.grouped(runs)
        self.assertEqual((one["compression"], other["compression"]), ("gzip", "none"))
        self.assertEqual((one["pipeline_ns"], one["sender_ns"], one["both"]), (250, 300, [500, 700, 500]))
        self.assertEqual((one["per_core"], one["per_second"], one["lost"], one["bytes"]), (4e6, 2000, 0, 30))

    def test_each_kind_of_loss_shows(self):
        self.assertEqual(anywhere.summed([replayed("none", 1, 1, delivered=990)])["lost"], 10)
        self.assertEqual(anywhere.summed([replayed("none", 1, 1, losses={"lost_ring_full": 3})])["lost"], 3)

    def test_the_budgets_rows(self):
        stages = {stage: {"ns": 60, "min": 50, "max": 90} for stage in anywhere.STAGES}
        run = {"recording": "torch_inference", "detail": "default", "compression": "gzip", "stages": stages}
        found = anywhere.budgets({"stages": [run, {**run, "detail": "full"}], "replays": [
            replayed("none", 1, 1), replayed("gzip", 200, 310), replayed("zstd", 200, 350, wire_bytes=25_000, peak_kib=65 * 1024)],
            "start_exit": {"start": [2, 6, 4], "exit, live": [60], "exit, dead": [400, 300]},
            "memory": {"a load": 63 << 20, "another": 65 << 20}})
        self.assertEqual(found["encode"], [{"name": "torch_inference", "value": 180, "low": 150, "high": 270, "limit": 200,
                                            "unit": "ns"}])
        self.assertEqual([(c["value"], c["limit"]) for c in found["wire"]], [(510, 500)])
        self.assertEqual([(c["name"], c["value"], c["limit"]) for c in found["bytes"]], [("gzip", 30, 40), ("zstd", 25, 28)])
        self.assertEqual([(c["value"], c["low"], c["high"], c["limit"]) for c in found["memory"]], [(65, 63, 65, 64)])
        self.assertEqual([(c["value"], c["low"], c["high"], c["limit"]) for c in found["start-exit"]],
                         [(350, 300, 400, anywhere.DEADLINE_MS)])


if __name__ == "__main__":
    unittest.main()
