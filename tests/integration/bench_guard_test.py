#!/usr/bin/env python3
"""tests/bench/guard.py on made-up counts: what it reads, what it works out, what it lets pass and what not."""

import contextlib
import io
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))
sys.dont_write_bytecode = True
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
        def runs(start, a_span):  # 100 and 300 spans
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
        for counts in found(), found(1029.0), found(971.0, 514.0):
            self.assertEqual(judged("gcc-12 x86_64", counts)[0], 0)

    def test_a_rise_is_told_with_stage_figures_and_command(self):
        status, said = judged("gcc-12 x86_64", found(1031.0))
        self.assertEqual(status, 1)
        self.assertIn("failed: a/correlate: dearer, from 1000.0 to 1031.0 instructions (+3.1%)", said)
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


if __name__ == "__main__":
    unittest.main()
