#!/usr/bin/env python3
"""Looks at all threads (src/agent/watch/stacks/) of real Pythons, compared with sys._current_frames() for threads that stand still.

    thread_stacks_test.py --build BUILD-DIR [--all] [--long] [--python PYTHON]... [unittest's arguments]

Without --python it runs in the Python of this test, and with --all in every CPython from 3.9 to 3.15 of this machine, one
per minor version. --looker LIBRARY replaces BUILD-DIR/libstacks_looker.so. --long: 10,000 looks under load instead of 200.
tests/support/thread_stacks_inside.py runs inside."""

import argparse
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from python_frames_test import environment, of_this_machine

ROOT = Path(__file__).resolve().parents[3]
INSIDE = ROOT / "tests/support/thread_stacks_inside.py"
OPTIONS = argparse.Namespace()
PYTHONS = []


class Looks(unittest.TestCase):
    def each(self, part, count=0, long=None):
        for python in PYTHONS:
            with self.subTest(python=python):
                done = subprocess.run([python, INSIDE, OPTIONS.looker, part, str(long if long and OPTIONS.long else count)],
                                      capture_output=True, text=True, timeout=900, check=False, env=environment())
                self.assertEqual((done.returncode, done.stderr), (0, ""), f"{python}: {done.stdout}{done.stderr}")
                print(f"{part}: {python}: {done.stdout.strip().splitlines()[-1]}")

    def test_places(self):
        """Locks, sleeps, generators, coroutines, deep recursion, names in all scripts."""
        self.each("places", 1, 20)

    def test_native_frames(self):
        self.each("native")

    def test_held_lock(self):
        self.each("gil")

    def test_busy_loops(self):
        self.each("busy")

    def test_fork(self):
        self.each("fork")

    def test_filter_of_system_calls(self):
        self.each("filter")

    def test_load(self):
        self.each("load", 200, 10000)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--looker", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--python", action="append")
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    OPTIONS.looker = OPTIONS.looker or OPTIONS.build.resolve() / "libstacks_looker.so"
    PYTHONS[:] = OPTIONS.python or (of_this_machine() if OPTIONS.all else [sys.executable])
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
