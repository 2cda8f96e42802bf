#!/usr/bin/env python3
"""Call stacks of allocations (`capture.allocation_stacks`): the real agent in a program that allocates in two
functions, on two threads, with a CUPTI that does nothing.

    stacks_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from backend import spans_of  # noqa: E402
from built import BUILD, CLEAN  # noqa: E402


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "spans.jsonl"

    def play(self, *settings, times=2, pause_us=0, output=True):
        """The spans of the calls, in order. `self.err` is the log, `self.fastest_ns` the shortest time of a call's
        callbacks."""
        cupti = BUILD / "libfake_cupti_classic.so"
        wanted = [f"cupti.library={cupti}", "cupti.api=classic", *settings] + ([f"output_file={self.file}"] if output else [])
        done = subprocess.run([BUILD / "stack_host", BUILD / "libcuspan.so", cupti, str(times), str(pause_us)], capture_output=True,
                              text=True, timeout=600, check=False, env={**CLEAN, "CUSPAN_SET": ";".join(wanted)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.err, self.fastest_ns = done.stderr, int(done.stdout)
        if not output:
            return []
        spans = [span for line in self.file.read_text().splitlines() for span in spans_of(json.loads(line))]
        return sorted((span for span in spans if span.name == "cudaMalloc"), key=lambda span: span.start_ns)

    def stat(self, table, file):
        done = subprocess.run([BUILD / "cuspan", "stat", "--json", "--table", table, file], capture_output=True, text=True, check=True,
                              env=CLEAN, timeout=600)
        return json.loads(done.stdout)[table]

    def texts_of(self, calls):
        """The text of each call's stack, which only the first span with its ID has; None: the call has no stack."""
        texts = {}
        for call in calls:
            if "code.stacktrace" in call.attributes:
                self.assertNotIn(call.attributes["cuspan.stack.id"], texts, "sent twice")
                texts[call.attributes["cuspan.stack.id"]] = call.attributes["code.stacktrace"]
        return [texts[call.attributes["cuspan.stack.id"]] if "cuspan.stack.id" in call.attributes else None for call in calls]

    @staticmethod
    def functions(text):
        return [re.split(r"[+ ]", line)[0] for line in text.split("\n")]


class Stacks(Case):
    def test_off_there_is_none(self):
        calls = self.play()
        self.assertEqual(len(calls), 5)
        for call in calls:
            self.assertFalse({key for key in call.attributes if key.startswith(("code.", "cuspan.stack"))})

    def test_each_allocation_has_where_it_was_made(self):
        calls = self.play("capture.allocation_stacks=true")
        self.assertEqual(len(calls), 5)
        for text, name in zip(self.texts_of(calls), ("load_weights", "make_scratch") * 2):
            functions = self.functions(text)
            self.assertEqual(functions[:3], ["allocate", name, "main"], text)  # static functions have names, too
            self.assertRegex(text, rf"(?m)^{name}\+0x[0-9a-f]+ \(stack_host\+0x[0-9a-f]+\)$")

    def test_the_first_call_of_a_thread_has_no_more_than_a_cut_stack(self):
        """The limits of its stack are not known yet, and the stack is 200 functions deep."""
        deep = self.texts_of(self.play("capture.allocation_stacks=true"))[-1]
        if deep is not None:
            self.assertEqual(self.functions(deep)[-1], "...")

    def test_offsets_are_those_of_the_program(self):
        """addr2line, or nm, finds the function by these addresses."""
        text = self.texts_of(self.play("capture.allocation_stacks=true", times=1))[0]
        offset, = re.findall(r"load_weights\+0x[0-9a-f]+ \(stack_host\+(0x[0-9a-f]+)\)", text)
        symbols = subprocess.run(["nm", "-n", "--defined-only", BUILD / "stack_host"], capture_output=True, text=True, check=True)
        before = [line.split()[2] for line in symbols.stdout.splitlines() if len(line.split()) == 3 and
                  int(line.split()[0], 16) < int(offset, 16)]
        self.assertEqual(before[-1], "load_weights")

    def test_allocations_are_not_sampled(self):
        """With every other stack sampled out, allocations keep theirs."""
        calls = self.play("capture.allocation_stacks=true", "capture.launch_stacks=all", "capture.launch_stacks_period=1000000")
        for text, name in zip(self.texts_of(calls), ("load_weights", "make_scratch") * 2):
            self.assertEqual(self.functions(text)[1], name)

    def test_a_burst_loses_no_call(self):
        """More calls at once than copies of stacks: what has no stack is counted, and what has one has the right one."""
        report = self.folder / "report"
        calls = self.play("capture.allocation_stacks=true", f"accounts_file={report}", times=500)
        self.assertEqual(len(calls), 1001)
        texts = self.texts_of(calls)
        counters = json.loads(next(self.folder.glob("report*")).read_text())["counters"]
        self.assertEqual(texts.count(None), counters["code_unknown"])
        self.assertEqual(counters["notes_lost"], 0)
        self.assertGreaterEqual(len(calls) - texts.count(None), 64)
        for text, name in zip(texts, ("load_weights", "make_scratch") * 500):
            if text:
                self.assertEqual(self.functions(text)[1], name)

    def test_known_stacks_lose_nothing(self):
        """As many as fit into one ring, as fast as possible."""
        texts = self.texts_of(self.play("capture.allocation_stacks=true", times=500, pause_us=100000))
        for text, name in zip(texts, ("load_weights", "make_scratch") * 500):
            self.assertEqual(self.functions(text)[1], name)

    def test_what_was_never_freed_is_told_by_stack(self):
        self.play("capture.allocation_stacks=true", times=3)
        rows = self.stat("memory_unfreed", self.file)
        self.assertEqual(len(rows), 3)
        of = {next((name for name in ("load_weights", "make_scratch") if name in row.get("stack", "")), "go_deep"): row for row in rows}
        self.assertEqual((of["load_weights"]["count"], of["load_weights"]["bytes"]), (3, 3 << 20))
        self.assertEqual((of["make_scratch"]["count"], of["make_scratch"]["bytes"]), (3, 3 * 4096))
        self.assertRegex(of["load_weights"]["stack"], r"load_weights\+0x[0-9a-f]+ < main\+0x[0-9a-f]+")

    def test_not_with_summaries(self):
        self.play("capture.allocation_stacks=true", "detail=summary", times=1)
        self.assertNotIn("code.stacktrace", self.file.read_text())

    def test_a_recording_has_the_stacks(self):
        live = self.texts_of(self.play("capture.allocation_stacks=true"))
        recording, replayed = self.folder / "recording", self.folder / "replayed"
        self.play("capture.allocation_stacks=true", f"record_file={recording}", output=False)
        for settings in [], ["--set", "capture.allocation_stacks=true"]:
            subprocess.run([BUILD / "cuspan", "replay", "--quiet", *settings, "--file", replayed, recording], env=CLEAN,
                           check=True, timeout=600)
            spans = [span for line in replayed.read_text().splitlines() for span in spans_of(json.loads(line))]
            calls = sorted((span for span in spans if span.name == "cudaMalloc"), key=lambda span: span.start_ns)
            self.assertEqual(self.texts_of(calls)[:4], live[:4])
            tables = [self.stat("memory_code", file) for file in (replayed, recording)]
            self.assertEqual(tables[0], tables[1])
            self.assertEqual([row["total_bytes"] for row in tables[0] if row.get("function") == "allocate"], [2 * (1 << 20) + 2 * 4096])
            replayed.unlink()

    def test_a_replay_walks_no_stacks(self):
        """Its threads are the player's."""
        done = subprocess.run([BUILD / "cuspan", "replay", "--quiet", "--set", "capture.allocation_stacks=true", "--file", self.file,
                               ROOT / "examples/recordings/vector_add.cuspanrec"], env=CLEAN, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("code.stacktrace", self.file.read_text())

    def test_what_it_costs_is_bounded(self):
        """In units of the callbacks without a stack, at their fastest: a known stack takes about 2 of them."""
        self.play(times=200, pause_us=100000)
        without = self.fastest_ns
        self.play("capture.allocation_stacks=true", times=200, pause_us=100000)
        print(f"callbacks of an allocation: {without} ns, with its stack {self.fastest_ns} ns")
        self.assertLess(self.fastest_ns, 100 * without)


if __name__ == "__main__":
    unittest.main()
