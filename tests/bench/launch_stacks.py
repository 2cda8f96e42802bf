#!/usr/bin/env python3
"""The cost of a stack for a launch: the time of its two callbacks, with and without capture.launch_stacks.

    launch_stacks.py [--build build] [--rounds 30] [--python PYTHON]

Processes with different settings take turns; a ratio or difference is of one round. Each makes 200 times 500 launches below
20 Python frames, with a pause after each 500, in which the agent reads the ring. The least of a process's 200 times counts: it is without interrupts."""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"none": "none", "python": "python", "one in 16": "python", "all": "all"}
FRAMES, BURST, BURSTS = 20, 500, 200


def below(frames, function):
    return below(frames - 1, function) if frames > 1 else function()


def inside(agent, cupti, calls):
    """Runs in the traced process; prints the least time and its instructions."""
    agent, cupti, calls = ctypes.CDLL(agent), ctypes.CDLL(cupti), ctypes.CDLL(calls)
    calls.code_calls.restype = ctypes.c_double
    if not agent.InitializeInjection():
        sys.exit("the agent does not start")
    callback = ctypes.c_void_p.in_dll(cupti, "fake_callback")
    found, instructions, first = [], ctypes.c_double(), 0

    def burst():
        nonlocal first
        ns = calls.code_calls(callback, ctypes.c_uint32(first), BURST, ctypes.byref(instructions))
        found.append((ns, instructions.value))
        first += BURST
        time.sleep(0.004)
    for _ in range(BURSTS):
        below(FRAMES - 2, burst)
    print(json.dumps(min(found[BURSTS // 10:])))


def run(options, name, folder):
    cupti, agent, calls = (options.build / file for file in ("libfake_cupti_classic.so", "libcuspan.so", "libcode_calls.so"))
    chosen = {"cupti.library": cupti, "cupti.api": "classic", "output_file": "/dev/null", "capture.launch_stacks": SETTINGS[name],
              "capture.launch_stacks_period": 16 if name == "one in 16" else 1, "cupti.flush_interval_ms": 1}
    env = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "PYTHON"))}
    env["CUSPAN_SET"] = ";".join(f"{key}={value}" for key, value in chosen.items())
    done = subprocess.run([options.python, __file__, "--inside", agent, cupti, calls], env=env, capture_output=True, text=True,
                          check=True, cwd=folder)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(*options.inside)
        return
    options.build = options.build.resolve()
    names = list(SETTINGS)
    found = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                found[name].append(run(options, name, folder))
    for name in names:
        ns = [value for value, _ in found[name]]
        more = [value - base for (value, _), (base, _) in zip(found[name], found["none"])]
        count = statistics.median(value for _, value in found[name])
        base = statistics.median(value for _, value in found["none"])
        print(f"{name:10} {statistics.median(ns):6.1f} ns a launch, {statistics.median(more):+6.1f} ns ({min(more):+.1f} to {max(more):+.1f})"
              + (f", {count - base:+.0f} instructions" if base else ""))


if __name__ == "__main__":
    main()
