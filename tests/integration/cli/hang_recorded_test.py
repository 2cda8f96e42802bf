#!/usr/bin/env python3
"""Live states that agents left on two H200s: `cuspan hang` must name the truth, which the program wrote (tests/gpu/hangs.sh with
steps.traced=auto; ddp-two-h200 had no identity, so that its capture was awake). The jobs were killed 6 to 15 s after the fault, so
their last second is judged."""
import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/gpu"))
import hangs_check  # noqa: E402

BUILD = Path("build")


class Case(unittest.TestCase):
    ARCHIVE = ""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        with tarfile.open(ROOT / "tests/hang/recordings" / cls.ARCHIVE) as archive:
            archive.extractall(cls.folder)
        assert {path.name for path in cls.folder.iterdir()} == set(hangs_check.FAULTS)

    def ask(self, fault, *options):
        files = sorted((self.folder / fault).glob("*.live"))
        self.assertEqual(len(files), 2)
        return subprocess.run([BUILD / "cuspan", "hang", *options, *files], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "CUSPAN_CONTROL_DIRECTORY": str(self.folder / "none")})

    def judge(self, fault):
        truths = [json.loads((self.folder / fault / f"{rank}.json").read_text()) for rank in (0, 1)]
        truth = {**next(one for one in truths if "culprit" in one), "ranks": 2}
        done = self.ask(fault, "--json", "--this-host")
        self.assertEqual(done.returncode, 3, done.stderr)
        return hangs_check.judge(fault, json.loads(done.stdout), truth, {one["pid"] for one in truths})


class Awake(Case):
    ARCHIVE = "ddp-two-h200.tar.xz"

    def test_each_fault_is_named(self):
        for fault in hangs_check.FAULTS:
            with self.subTest(fault):
                judgment = self.judge(fault)
                self.assertTrue(hangs_check.is_named(judgment), judgment)
                self.assertFalse(judgment["wrong_sure"])

    def test_the_text(self):
        text = self.ask("kernel").stdout
        self.assertIn("rank 0 has a kernel that does not end; others wait for call 20 of", text)
        self.assertIn("This is sure.", text)


class Asleep(Case):
    """Which of the latest collectives have ended is not known."""

    ARCHIVE = "ddp-two-h200-asleep.tar.xz"

    def test_each_rank_is_named_that_can_be(self):
        for fault in hangs_check.FAULTS.keys() - {"kernel"}:
            with self.subTest(fault):
                judgment = self.judge(fault)
                self.assertTrue(judgment["right"]["rank"], judgment)
                self.assertFalse(judgment["wrong_sure"])
                if fault not in ("kill", "stop"):  # states of these two are older than the fault
                    self.assertTrue(hangs_check.is_named(judgment), judgment)

    def test_a_dead_rank_may_have_made_later_calls(self):
        text = self.ask("kill", "--this-host").stdout
        self.assertRegex(text.replace("\n", " "), r"rank 1 is dead; others wait for call \d+ of communicator \S+ \(2 ranks\), .*, or for a\s+later call")

    def test_a_kernel_that_nobody_saw(self):
        self.assertIn("no rank is behind the others: a kernel, the order of calls, the network or NCCL", self.ask("kernel").stdout.replace("\n", " "))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    options, rest = parser.parse_known_args()
    BUILD = options.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
