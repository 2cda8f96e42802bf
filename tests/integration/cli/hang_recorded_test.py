#!/usr/bin/env python3
"""Live states that agents left on two H200s: `cuspan hang` must name the truth, which the program wrote (tests/gpu/hangs.sh with
steps.traced=auto). The jobs were killed 6 to 15 s after the fault, so their last second is judged."""
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
ARCHIVE = ROOT / "tests/hang/recordings/ddp-two-h200.tar.xz"


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(cls.folder)

    def ask(self, fault, *options):
        files = sorted((self.folder / fault).glob("*.live"))
        self.assertEqual(len(files), 2)
        return subprocess.run([BUILD / "cuspan", "hang", *options, *files], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "CUSPAN_CONTROL_DIRECTORY": str(self.folder / "none")})

    def test_each_fault_is_named(self):
        self.assertEqual({path.name for path in self.folder.iterdir()}, set(hangs_check.FAULTS))
        for fault in hangs_check.FAULTS:
            truths = [json.loads((self.folder / fault / f"{rank}.json").read_text()) for rank in (0, 1)]
            truth = {**next(one for one in truths if "culprit" in one), "ranks": 2}
            done = self.ask(fault, "--json", "--this-host")
            judgment = hangs_check.judge(fault, json.loads(done.stdout), truth, {one["pid"] for one in truths})
            with self.subTest(fault):
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertTrue(hangs_check.is_named(judgment), judgment)
                self.assertFalse(judgment["wrong_sure"])

    def test_the_text(self):
        text = self.ask("kernel").stdout
        self.assertIn("rank 0 has a kernel that does not end; others wait for call 20 of", text)
        self.assertIn("This is sure.", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    options, rest = parser.parse_known_args()
    BUILD = options.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
