#!/usr/bin/env python3
"""How long `cuspan attach` stops the one thread: median and 99th percentile.

    attach.py [--build DIRECTORY] [--runs N] [--agent]

Hosts: one that sleeps, four threads that loop in malloc and dlopen, and one with 5,000 mappings. Each attach is a process
of its own, with a stand-in for the agent, or the real one in a new host each time (--agent), whose start is reported as
well. On a machine that does other work, times say what that work does.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1e3}
MAPPINGS = ("import mmap, sys; kept = [mmap.mmap(-1, 4096, prot=1 + 2 * (i % 2)) for i in range(5000)]\n"
            "print('ready', flush=True)\nfor line in sys.stdin: print(line, flush=True)")


def start(*command, **options):
    host = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    assert host.stdout.readline() == "ready\n" or options
    return host


def attach(build, library, pid, *options):
    said = subprocess.run([build / "cuspan", "attach", "--library", library, *options, str(pid)], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    return [float(number) * UNITS[unit] for number, unit in re.findall(r"(?:stopped for|started in) ([\d.]+) (ns|µs|ms|s)", said)]


def figures(times_ms):
    ordered = sorted(times_ms)
    return f"median {statistics.median(ordered):.2f} ms, p99 {ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]:.2f} ms"


def with_stand_in(build, runs):
    library = build / "attach_double/libcuspan.so"
    for name, command in {"one thread, asleep": [build / "attach_host", "read"],
                          "four threads in malloc and dlopen": [build / "attach_host", "loop", "both", "4"],
                          "5,000 mappings": [sys.executable, "-c", MAPPINGS]}.items():
        host = start(*command)
        print(f"{name}: stopped for {figures([attach(build, library, host.pid)[0] for _ in range(runs)])} ({runs} attaches)")
        host.kill()
        host.wait()


def with_agent(build, runs):
    stopped, started = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            host = start(build / "control_host", build / "libcuspan-replay.so", ROOT / "examples/recordings/vector_add.cuspanrec",
                         build / "libcuspan.so", "nap", "line", stderr=subprocess.DEVNULL)
            times = attach(build, build / "libcuspan.so", host.pid, "--file", f"{folder}/spans.jsonl", "--set",
                           f"cupti.library={build}/libcuspan-replay.so")
            stopped.append(times[0])
            started.append(times[1])
            host.communicate("\n")
    print(f"the agent, in a host with a stand-in for CUPTI: stopped for {figures(stopped)}; the agent's start took {figures(started)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--agent", action="store_true")
    options = parser.parse_args()
    (with_agent if options.agent else with_stand_in)(options.build.resolve(), options.runs)


if __name__ == "__main__":
    main()
