#!/usr/bin/env python3
"""A program with CUDA work, for launchers: it loads the agent that CUDA_INJECTION64_PATH names, as CUDA's driver does,
and makes the calls of a recording. Like the driver, it ignores a library that it cannot load. Prints one line with its
rank and whether it was traced.

    program.py RANK-VARIABLE

run.sh installs it beside python_host.py and the recording, in a folder beside that of cuspan.
"""

import ctypes
import os
import sys
from pathlib import Path

import python_host

FOLDER = Path(__file__).resolve().parent
os.environ["HOST_DOUBLE"] = f"{FOLDER.parent}/cuspan/lib/cuspan/libcuspan-replay.so"
os.environ["HOST_RECORDING"] = f"{FOLDER}/vector_add.cuspanrec"


def loads_agent():
    try:
        ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
    except (KeyError, OSError):
        return False
    return True


def main():
    is_traced = loads_agent()
    if is_traced:
        python_host.cuda()
    rank = os.environ.get(sys.argv[1], "?")
    os.write(1, f"rank {rank} {'traced' if is_traced else 'untraced'}\n".encode())  # at once: other ranks write, too


main()
