#!/usr/bin/env python3
"""`cuspan overhead` on a program that replays a recording if an agent is injected: rounds and their order, the
statistics recomputed with the benchmark's own (tests/bench/paired.py), programs that fail under a level, wrong
arguments.

    overhead_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tests/support")]
import paired  # noqa: E402
from built import BUILD  # noqa: E402

LEVELS = ["none", "asleep", "summary", "default", "graph-nodes", "full"]


class Overhead(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "tmp").mkdir()

    def program(self, recording="vector_add", before="", after=""):
        """$LEVEL is the level that it runs with."""
        path = self.folder / "program"
        host = " ".join(shlex.quote(str(part)) for part in (
            BUILD / "agent_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
            ROOT / f"examples/recordings/{recording}.cuspanrec"))
        path.write_text(f"""#!/bin/sh
LEVEL=none
case "$OTEL_TRACES_SAMPLER" in always_off) LEVEL=asleep;; esac
LEVEL=$(printf '%s\\n' "$CUSPAN_SET" | sed -n 's/^detail=//p' | grep . || echo $LEVEL)
echo $LEVEL >> {self.folder}/levels
{before}
if [ -n "$CUDA_INJECTION64_PATH" ]; then {host} > {self.folder}/host.out; [ $? = 7 ] || exit 9; fi
{after}
""")
        path.chmod(0o755)
        return path

    def environment(self):
        left = {key: value for key, value in os.environ.items()
                if not key.startswith(("OTEL_", "CUSPAN_", "TRACE", "CUDA_INJECTION", "NVTX_"))}
        return {**left, "LC_ALL": "C.UTF-8", "TMPDIR": str(self.folder / "tmp")}

    def overhead(self, *arguments, program=None, status=0, **more):
        command = [BUILD / "cuspan", "overhead", "--set", f"cupti.library={BUILD}/libcuspan-replay.so", "--set", "on_signal=",
                   *arguments, *([program] if program else [])]
        done = subprocess.run(list(map(str, command)), env={**self.environment(), **more}, capture_output=True, text=True,
                              timeout=600, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(list((self.folder / "tmp").iterdir()), [], "a report was left behind")
        return done

    def tables(self, *arguments, **more):
        return json.loads(self.overhead("--json", *arguments, **more).stdout)

    def test_rounds_turn_their_order(self):
        found = self.tables("--rounds", 3, "--warm-up", 1, program=self.program())
        ran = (self.folder / "levels").read_text().split()
        self.assertEqual(ran, [LEVELS[(i + turn) % 6] for turn in range(4) for i in range(6)])
        self.assertEqual([(run["round"], run["level"]) for run in found["runs"]],
                         [(turn, LEVELS[(i + turn) % 6]) for turn in range(1, 4) for i in range(6)])
        self.assertEqual([row["level"] for row in found["overhead"]], LEVELS)
        self.assertEqual({row["runs"] for row in found["overhead"]}, {3})

    def test_agents_report_under_their_levels(self):
        rows = {row["level"]: row for row in
                self.tables("--rounds", 1, "--warm-up", 0, program=self.program("threads"))["overhead"]}
        self.assertNotIn("spans", rows["none"])
        self.assertEqual(rows["default"]["lost"], 0)
        self.assertLess(rows["summary"]["spans"], rows["default"]["spans"])
        self.assertLess(rows["default"]["spans"], rows["full"]["spans"])
        for level in "default", "full":
            row = rows[level]
            self.assertGreater(row["threads_ns"], 0)
            self.assertEqual(row["callback_ns"] + row["rest_ns"], row["whole_ns"])
            self.assertLessEqual(row["callback_ns"], row["whole_ns"])

    def test_counters_are_a_level_on_request(self):
        told = f'printf "%s\\n" "$CUSPAN_SET" > {self.folder}/set'
        for arguments, metrics in (((), ["dram.read,dram.write"]), (("--set", "counters.metrics=l2.hit_rate"), ["l2.hit_rate"])):
            rows = self.tables("--rounds", 1, "--warm-up", 0, "--levels", "counters", *arguments, program=self.program(before=told))["overhead"]
            self.assertEqual([row["level"] for row in rows], ["none", "counters"])
            lines = (self.folder / "set").read_text().splitlines()
            self.assertEqual([line.removeprefix("counters.metrics=") for line in lines if line.startswith("counters.metrics=")], metrics)
            self.assertIn("detail=default", lines)

    def test_statistics_are_those_of_the_benchmark(self):
        found = self.tables("--rounds", 9, "--warm-up", 0, "--levels", "none,default", "--figure", "took ([0-9.]+) ms",
                            program=self.program(after="sleep 0.0$(( $$ % 3 )); echo took $(( 100 + $$ % 17 )).5 ms"))
        runs = [{"app": "a", "config": run["level"], "series": "rounds", "round": run["round"],
                 "figures": {"wall": run["wall_ns"], "figure": run["figure"]}} for run in found["runs"]]
        row = found["overhead"][1]
        for figure, key in ("wall", "wall_ratio"), ("figure", "figure_ratio"):
            want = paired.ratio(runs, "a", "default", "none", figure)
            self.assertTrue(want.is_sure)
            self.assertAlmostEqual(row[key], want.median, places=6)
            self.assertAlmostEqual(row[f"{key}_low"], want.low, places=6)
            self.assertAlmostEqual(row[f"{key}_high"], want.high, places=6)
        self.assertEqual(row["wall_confidence_share"], 0.95)
        whole = paired.difference(runs, "a", "default", "none", "wall").median
        self.assertAlmostEqual(row["whole_ns"], max(whole, 0), delta=2)

    def test_a_cost_that_is_known(self):
        after = 'case $LEVEL in none) echo 10 of 1; echo step 10;; *) echo step 12.5;; esac'
        found = self.overhead("--rounds", 6, "--levels", "full", "--figure", "step ([0-9.]+)", program=self.program(after=after))
        self.assertRegex(found.stdout, r"(?m)^full +6 .* 12\.50  1\.250 \(1\.250 to 1\.250\) ")
        rate = self.tables("--rounds", 1, "--levels", "full", "--figure", "step ([0-9.]+)", "--rate",
                           program=self.program(after=after))
        self.assertAlmostEqual(rate["overhead"][1]["figure_ratio"], 0.8)
        shown = self.overhead("--rounds", 1, "--markdown", "--levels", "default", program=self.program())
        self.assertRegex(shown.stdout, r"(?m)^\| default \| 1 \|")
        self.assertIn(", range)", shown.stdout)

    def test_a_program_that_fails_under_a_level(self):
        program = self.program(before="[ $LEVEL = full ] && { echo out of memory; exit 3; }")
        done = self.overhead("--rounds", 2, program=program, status=1)
        self.assertIn("level full: the program ended with exit status 3 (without cuspan: exit status 0); skipping this level\n"
                      "its last output:\nout of memory\n", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^full +failed$")
        self.assertRegex(done.stdout, r"(?m)^default +2 ")
        self.assertEqual((self.folder / "levels").read_text().split().count("full"), 1)

    def test_a_program_that_dies_under_a_level(self):
        done = self.overhead("--rounds", 1, "--levels", "default", status=1,
                             program=self.program(before="[ $LEVEL = default ] && kill -SEGV $$"))
        self.assertIn("level default: the program was killed by signal 11 (", done.stderr)

    def test_a_program_that_fails_by_itself(self):
        done = self.overhead(program=self.program(before="kill -ABRT $$"), status=1)
        self.assertIn("level none: the program was killed by signal 6", done.stderr)
        self.assertIn("there is no run without cuspan to compare with", done.stderr)
        self.assertEqual(done.stdout, "")
        # Any exit status is accepted if it is the same under all levels.
        self.overhead("--rounds", 1, program=self.program(after="exit 4"))

    def test_no_figure_where_one_is_wanted(self):
        done = self.overhead("--figure", "step ([0-9.]+)", program=self.program(), status=1)
        self.assertIn("level none: no output of the program matches --figure", done.stderr)

    def test_a_program_without_an_agent(self):
        done = self.overhead("--rounds", 1, program="true", status=1)
        self.assertIn("the agent was never started", done.stderr)
        done = self.overhead(program="/no/such/program", status=127)
        self.assertIn("/no/such/program", done.stderr)

    def test_a_configuration_file_has_the_sampler(self):
        config = self.folder / "cuspan.yaml"
        config.write_text('file_format: "1.1"\ntracer_provider:\n  processors:\n    - batch:\n        exporter:\n'
                          f'          otlp_file/development:\n            output_stream: file://{self.folder}/spans.jsonl\n')
        done = self.overhead("--config", config, "--rounds", 1, program=self.program())
        self.assertIn("skipping asleep, because ", done.stderr)
        self.assertNotIn("\nasleep", done.stdout)
        self.assertGreater((self.folder / "spans.jsonl").stat().st_size, 0)
        done = self.overhead("--config", config, "--levels", "asleep", program=self.program(), status=2)
        self.assertIn("omit one of them", done.stderr)

    def test_it_ends_in_time_and_when_asked(self):
        found = self.tables("--rounds", 500, "--levels", "default", "--seconds", 1, program=self.program(after="sleep 0.2"))
        self.assertLess(found["overhead"][0]["runs"], 20)
        levels = self.folder / "levels"
        levels.write_text("")
        running = subprocess.Popen([BUILD / "cuspan", "overhead", "--rounds", "500", "--levels", "none",
                                    self.program(before="sleep 0.05")], env=self.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        while levels.stat().st_size < 8 * len("none\n") and running.poll() is None:
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=600)
        self.assertTrue(running.returncode == 1 and out.startswith("Cost of each level") or running.returncode == -2,
                        (running.returncode, out, err))

    def test_wrong_arguments_are_named(self):
        for arguments, said in ((("--levels", "default,fool", "x"), 'not "fool"'), (("--rounds", "0", "x"), "from 1 to 1000"),
                                (("--figure", "step", "x"), "needs the number in parentheses"),
                                (("--figure", "step (", "x"), "--figure step ("), (("--rate", "x"), "--rate needs --figure"),
                                ((), "name the program to run")):
            self.assertIn(said, self.overhead(*arguments, status=2).stderr)


if __name__ == "__main__":
    unittest.main()
