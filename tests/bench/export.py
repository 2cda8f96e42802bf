#!/usr/bin/env python3
"""Measures `cuspan export` to Parquet: time, memory and bytes per span.

    export.py [BUILD] [--spans N] [--rounds N] [--keep FILE]

The spans are those of read.py (2 million, 1.9 GB of JSON lines), but scattered: the IDs are random, starts differ by up to
2 µs and durations by up to 20 %. Replayed spans repeat and their IDs count up, so they take about a byte each. The file is in
TMPDIR and deleted at the end; --keep FILE keeps it, and uses it if it exists. Prints for each round the wall-clock and CPU
time, the peak of resident memory and the free processors at the start; then the medians and the bytes per span."""

import argparse
import hashlib
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import read  # noqa: E402

SPAN_IDS = re.compile(rb'"(spanId|parentSpanId)":"([0-9a-f]{16})"')
TIMES = re.compile(rb'"startTimeUnixNano":"(\d+)","endTimeUnixNano":"(\d+)"')


def scatter(plain, path):
    """Parents still have the IDs of their spans."""
    made = random.Random(1)

    def new_id(found):
        return b'"%s":"%s"' % (found[1], hashlib.blake2b(found[2], digest_size=8).hexdigest().encode())

    def new_times(found):
        start, duration = int(found[1]), int(found[2]) - int(found[1])
        start += made.randrange(2000)
        return b'"startTimeUnixNano":"%d","endTimeUnixNano":"%d"' % (start, start + int(duration * made.uniform(0.8, 1.2)))

    with open(plain, "rb") as lines, open(path, "wb") as out:
        for line in lines:
            out.write(TIMES.sub(new_times, SPAN_IDS.sub(new_id, line)))


def make(cuspan, spans, path):
    with tempfile.TemporaryDirectory() as folder:
        read.make(cuspan, spans, Path(folder) / "spans")
        scatter(Path(folder) / "spans", path)


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def measure(cuspan, path, folder):
    """Wall-clock s, CPU s, peak MB, MB written of one run."""
    subprocess.run(["rm", "-rf", folder], check=True)
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.execv(cuspan, [str(cuspan), "export", "-q", "-o", str(folder), str(path)])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit("export.py: cuspan export failed")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, size_of(folder) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=read.ROOT / "build")
    parser.add_argument("--spans", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    cuspan = options.build.resolve() / "cuspan"
    spans = -(-options.spans // read.SPANS_OF_RECORDING) * read.SPANS_OF_RECORDING
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder) / "spans"
        if not path.exists():
            make(cuspan, options.spans, path)
        print(f"{path.stat().st_size / 1e6:.0f} MB, about {spans} spans")
        rounds = []
        for _ in range(options.rounds):
            idle = os.cpu_count() - os.getloadavg()[0]
            rounds.append(measure(cuspan, path, Path(folder) / "parquet"))
            print("{:6.2f} s  {:6.2f} s of CPU  {:5.0f} MB  {:5.1f} MB written  ({:.1f} processors idle)".format(*rounds[-1], idle))
        print("{:6.2f} s  {:6.2f} s of CPU  {:5.0f} MB  {:5.1f} MB written  (median)".format(*map(statistics.median, zip(*rounds))))
        print(f"{rounds[0][3] * 1e6 / spans:.1f} bytes per span")


if __name__ == "__main__":
    main()
