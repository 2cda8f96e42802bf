#!/usr/bin/env python3
"""Measures how fast `cuspan stat` reads files of spans, and how much memory it needs.

    read.py [BUILD] [--spans N] [--rounds N] [--keep FILE] [--requests] [--stat OPTIONS]

The spans are examples/recordings/torch_inference.cuspanrec, replayed until there are about N (2 million, 1.9 GB) in a file of
JSON lines in TMPDIR, which is deleted at the end; --keep FILE keeps it, and uses it if it exists. Prints for each round the
wall-clock and CPU time, the peak of resident memory, and the free processors at the start; then the medians.

--requests: the spans of requests.py, which take more memory, in OTLP protobuf (177 bytes each). --stat: more options of
`cuspan stat`, such as "--by request"."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDING = ROOT / "examples/recordings/torch_inference.cuspanrec"
SPANS_OF_RECORDING = 1087


def make_requests(spans, path):
    with open(path, "wb") as out:
        subprocess.run([sys.executable, ROOT / "tests/bench/requests.py", str(spans)], stdout=out, check=True)


def make(cuspan, spans, path):
    subprocess.run([cuspan, "replay", "--quiet", "--file", path, "--repeat", str(-(-spans // SPANS_OF_RECORDING)), RECORDING],
                   check=True)


def measure(cuspan, path, more):
    """Wall-clock s, CPU s, peak MB of one run."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(cuspan, [str(cuspan), "stat", "--json", *more, str(path)])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit("read.py: cuspan stat failed")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    parser.add_argument("--spans", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--requests", action="store_true")
    parser.add_argument("--stat", default="")
    options = parser.parse_args()
    cuspan = options.build.resolve() / "cuspan"
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder) / "spans"
        if not path.exists() and options.requests:
            make_requests(options.spans, path)
        elif not path.exists():
            make(cuspan, options.spans, path)
        print(f"{path.stat().st_size / 1e6:.0f} MB")
        rounds = []
        for _ in range(options.rounds):
            idle = os.cpu_count() - os.getloadavg()[0]
            rounds.append(measure(cuspan, path, options.stat.split()))
            print("{:6.2f} s  {:6.2f} s of CPU  {:5.0f} MB  ({:.1f} processors idle)".format(*rounds[-1], idle))
        print("{:6.2f} s  {:6.2f} s of CPU  {:5.0f} MB  (median)".format(*map(statistics.median, zip(*rounds))))


if __name__ == "__main__":
    main()
