#!/usr/bin/env python3
"""The cost of a look at all threads (src/agent/watch/stacks/): CPU time of the thread that looks, with 4 and 64 threads.

    tests/bench/thread_stacks.py [--build BUILD] [PYTHON...]     the default is every CPython of this machine

The threads wait in an event below 12 functions of Python. A look has Python and native frames with files, lines and symbols."""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/integration/agent"))
from python_frames_test import of_this_machine

LOOKS = 200


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("python", nargs="*")
    options = parser.parse_args()
    for python in options.python or of_this_machine():
        command = [python, ROOT / "tests/support/thread_stacks_inside.py", options.build / "libstacks_looker.so", "time", str(LOOKS)]
        for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
            print(f"{python}: {line}")


if __name__ == "__main__":
    main()
