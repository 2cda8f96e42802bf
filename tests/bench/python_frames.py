#!/usr/bin/env python3
"""The cost of the walk of Python frames, in a loop: nanoseconds of CPU time (the median of nine runs) and instructions.

    tests/bench/python_frames.py [--build BUILD] [PYTHON...]     the default is every CPython of this machine

Instructions are counted by the processor, or else by valgrind."""

import argparse
import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RUNS, WALKS = 9, 50000
WALK, WALK_AND_DESCRIBE, WALK_WITH_COLD_CACHES = range(3)
TIMES_LESS = {WALK: 1, WALK_AND_DESCRIBE: 10, WALK_WITH_COLD_CACHES: 1000}
CASES = (("walk, 20 frames", 20, WALK), ("walk, 64 of 80 frames", 80, WALK),
         ("walk and describe, 20 frames", 20, WALK_AND_DESCRIBE),
         ("walk, 20 frames, cold caches", 20, WALK_WITH_COLD_CACHES))
FRAMES_MAX = 64


def measure(walker, frames, what, runs, walks):
    """[(ns, instructions)] of the runs, on a stack of this many different functions."""
    ns, instructions = ctypes.c_double(), ctypes.c_double()

    def innermost():
        results = []
        for _ in range(runs):
            count = walker.walker_time(walks, FRAMES_MAX, what, ctypes.byref(ns), ctypes.byref(instructions))
            assert count == min(frames, FRAMES_MAX), count
            results.append((ns.value, instructions.value))
        return results
    function = innermost
    for number in range(frames - 4):  # innermost(), this function, inside(), the module
        scope = {"then": function}
        exec(f"def function_{number}(value=0):\n    value += 1\n    return then()\n", scope)
        function = scope[f"function_{number}"]
    return function()


def inside(arguments):
    """In the Python that is measured: a line per case."""
    walker = ctypes.PyDLL(arguments[0])
    text = ctypes.create_string_buffer(512)
    if walker.walker_find(text, 512):
        raise SystemExit(text.value.decode())
    runs, walks = map(int, arguments[1:3])
    for index, (_, frames, what) in enumerate(CASES):
        if len(arguments) < 4 or int(arguments[3]) == index:
            results = sorted(measure(walker, frames, what, runs, walks // TIMES_LESS[what]))
            print(*results[len(results) // 2])


def by_valgrind(python, walker, case):
    """Instructions of one walk."""
    what = CASES[case][2]
    counted = ["python_frames_walk"] + (["python_frame_describe"] if what == WALK_AND_DESCRIBE else [])
    walks = 1000
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
                               *[f"--toggle-collect={name}" for name in counted],
                               python, __file__, "--inside", walker, "1", str(walks), str(case)],
                              capture_output=True, text=True, check=True)
    total = int(re.search(r"Collected : (\d+)", done.stderr)[1])
    return total / (walks // TIMES_LESS[what])


def main():
    sys.path.insert(0, str(ROOT / "tests/integration/agent"))
    from python_frames_test import environment, of_this_machine
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("python", nargs="*")
    options = parser.parse_args()
    walker = options.build.resolve() / "libpython_walker.so"
    for python in options.python or of_this_machine():
        version = subprocess.run([python, "-c", "import platform; print(platform.python_version())"], capture_output=True,
                                 text=True, check=True).stdout.strip()
        done = subprocess.run([python, __file__, "--inside", walker, str(RUNS), str(WALKS)], capture_output=True, text=True,
                              check=True, env=environment())
        for case, line in enumerate(done.stdout.splitlines()):
            ns, instructions = map(float, line.split())
            if not instructions and CASES[case][2] != WALK_WITH_COLD_CACHES and shutil.which("valgrind"):
                instructions = by_valgrind(python, walker, case)
            counted = f"  {instructions:7.0f} instructions" if instructions else ""
            print(f"Python {version:8} {CASES[case][0]:30} {ns:7.1f} ns{counted}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    else:
        main()
