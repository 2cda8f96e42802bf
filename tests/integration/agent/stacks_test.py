#!/usr/bin/env python3
"""Call stacks of allocations (`capture.allocation_stacks`): the real agent in a program that allocates in two
functions, on two threads, with a CUPTI that does nothing.

    stacks_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from backend import spans_of  # noqa: E402

BUILD = ROOT / "build"


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))}
    return {**kept, "LC_ALL": "C.UTF-8", **more}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "spans.jsonl"

    def play(self, *settings, times=2, program=None, output=True):
        """The spans of the calls, in order. `self.err` is the log, `self.fastest_ns` the shortest time of a call's
        callbacks."""
        cupti = BUILD / "libfake_cupti_classic.so"
        wanted = [f"cupti.library={cupti}", "cupti.api=classic", *settings] + ([f"output_file={self.file}"] if output else [])
        done = subprocess.run([program or BUILD / "stack_host", BUILD / "libcuspan.so", cupti, str(times)], capture_output=True,
                              text=True, timeout=600, check=False, env=environment(CUSPAN_SET=";".join(wanted)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.err, self.fastest_ns = done.stderr, int(done.stdout)
        if not output:
            return []
        spans = [span for line in self.file.read_text().splitlines() for span in spans_of(json.loads(line))]
        return sorted((span for span in spans if span.name == "cudaMalloc"), key=lambda span: span.start_ns)

    @staticmethod
    def functions(span):
        return [re.split(r"[+ ]", line)[0] for line in span.attributes["code.stacktrace"].split("\n")]


class Stacks(Case):
    def test_off_there_is_none(self):
        calls = self.play()
        self.assertEqual(len(calls), 5)
        for call in calls:
            self.assertNotIn("code.stacktrace", call.attributes)

    def test_each_allocation_has_where_it_was_made(self):
        calls = self.play("capture.allocation_stacks=true")
        self.assertEqual(len(calls), 5)
        for call, name in zip(calls, ("load_weights", "make_scratch") * 2):
            functions = self.functions(call)
            self.assertEqual(functions[functions.index(name):][:2], [name, "main"], call.attributes["code.stacktrace"])
            self.assertLessEqual(functions.index(name), 2)  # static functions in between have no name
            self.assertNotIn("libcuspan", call.attributes["code.stacktrace"])
            self.assertRegex(call.attributes["code.stacktrace"], rf"(?m)^{name}\+0x[0-9a-f]+ \(stack_host\+0x[0-9a-f]+\)$")

    def test_a_deep_stack_is_cut(self):
        deep = self.play("capture.allocation_stacks=true")[-1]
        functions = self.functions(deep)
        self.assertEqual(len(functions), 16)
        self.assertEqual(set(functions[3:]), {"go_deep"})

    def test_offsets_are_those_of_the_program(self):
        """addr2line, or nm, finds the function by these addresses."""
        call = self.play("capture.allocation_stacks=true", times=1)[0]
        offset, = re.findall(r"load_weights\+0x[0-9a-f]+ \(stack_host\+(0x[0-9a-f]+)\)", call.attributes["code.stacktrace"])
        symbols = subprocess.run(["nm", "-n", "--defined-only", BUILD / "stack_host"], capture_output=True, text=True, check=True)
        before = [line.split()[2] for line in symbols.stdout.splitlines() if len(line.split()) == 3 and
                  int(line.split()[0], 16) < int(offset, 16)]
        self.assertEqual(before[-1], "load_weights")

    def test_many_allocations_lose_nothing(self):
        """As many as fit into one ring, as fast as possible."""
        calls = self.play("capture.allocation_stacks=true", times=500)
        self.assertEqual(len(calls), 1001)
        for call, name in zip(calls, ("load_weights", "make_scratch") * 500):
            self.assertIn(name, call.attributes["code.stacktrace"])

    def test_what_was_never_freed_is_told_by_stack(self):
        self.play("capture.allocation_stacks=true", times=3)
        done = subprocess.run([BUILD / "cuspan", "stat", "--json", "--table", "memory_unfreed", self.file], capture_output=True,
                              text=True, check=True, env=environment())
        rows = json.loads(done.stdout)["memory_unfreed"]
        self.assertEqual(len(rows), 3)
        of = {next(name for name in ("load_weights", "make_scratch", "go_deep") if name in row["stack"]): row for row in rows}
        self.assertEqual((of["load_weights"]["count"], of["load_weights"]["bytes"]), (3, 3 << 20))
        self.assertEqual((of["make_scratch"]["count"], of["make_scratch"]["bytes"]), (3, 3 * 4096))
        self.assertRegex(of["load_weights"]["stack"], r"load_weights\+0x[0-9a-f]+ < main\+0x[0-9a-f]+")

    def test_not_with_summaries_or_recordings(self):
        self.play("capture.allocation_stacks=true", "detail=summary", times=1)
        self.assertNotIn("code.stacktrace", self.file.read_text())
        self.play("capture.allocation_stacks=true", f"record_file={self.folder / 'recording'}", times=1, output=False)
        self.assertNotIn(b"load_weights", (self.folder / "recording").read_bytes())

    def test_a_replay_walks_no_stacks(self):
        """Its threads are the player's."""
        done = subprocess.run([BUILD / "cuspan", "replay", "--quiet", "--set", "capture.allocation_stacks=true", "--file", self.file,
                               ROOT / "examples/recordings/vector_add.cuspanrec"], env=environment(), check=False)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("code.stacktrace", self.file.read_text())

    def test_what_it_costs_is_bounded(self):
        """In units of the callbacks without a stack, at their fastest: a stack takes about 40 of them."""
        self.play(times=200)
        without = self.fastest_ns
        self.play("capture.allocation_stacks=true", times=200)
        print(f"callbacks of an allocation: {without} ns, with its stack {self.fastest_ns} ns")
        self.assertLess(self.fastest_ns, 300 * without)


if __name__ == "__main__":
    if "--build" in sys.argv:
        at = sys.argv.index("--build")
        BUILD = Path(sys.argv[at + 1]).resolve()
        del sys.argv[at:at + 2]
    unittest.main()
