#!/usr/bin/env python3
"""Measures `cuspan fleet`: wall-clock time, CPU time and peak memory of each question.

    fleet.py [BUILD] [--copies N] [--links N] [--keep FOLDER] [--memory SIZE] [QUESTION...]

The spans are those of all recordings, exported, and copied N times (500: 10 million spans) with other IDs, resources and traces, starts
20 s apart in 20 copies each, and durations that differ by up to 20 %, so that nearly all of them are distinct. --links N has each file N
times under other names, as repeated spans: for counting, not for utilization, whose rows would overlap. It needs duckdb; start it
with the Python that has it. --keep: the folder stays, and is used if it exists."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIES_IN_A_FILE = 20
# Each file stays sorted by start.
COPY = """COPY (SELECT * EXCLUDE (repeat, id) REPLACE (xor(resource_id, $copy::UBIGINT) AS resource_id,
    xor(span_id, id) AS span_id, xor(parent_id, id) AS parent_id, start_ns + repeat * 20000000000 AS start_ns,
    CAST(duration_ns * (0.8 + 0.4 * random()) AS BIGINT) AS duration_ns,
    CAST(md5(hex(trace_id) || '-' || id)[1:16] AS BLOB) AS trace_id)
    FROM (SELECT *, CAST((repeat + 1) * 1000 + $copy AS UBIGINT) AS id
        FROM read_parquet($file, hive_partitioning = false), range(20) AS repeats(repeat)) ORDER BY start_ns)
    TO 'copy.parquet' (FORMAT parquet, COMPRESSION zstd)"""
QUESTIONS = ["kernels", "calls", "waits", "copies", "launch_latency", "utilization", "slow_requests", "steps", "ranks", "code_lines",
             "memory", "errors", "duplicates"]


def make(cuspan, folder, copies, links):
    import duckdb

    plain = folder.with_name(folder.name + "-plain")
    recordings = [*(ROOT / "examples/recordings").glob("*.cuspanrec"), *(ROOT / "examples/training").glob("*.cuspanrec")]
    subprocess.run([cuspan, "export", "-q", "-o", plain, *sorted(recordings)], check=True)
    folder.mkdir()
    shutil.copytree(plain / "resources", folder / "resources")
    shutil.copy(plain / "cuspan-schema.json", folder)
    os.chdir(folder)
    connection = duckdb.connect(config={"threads": "2", "memory_limit": "2GB"})
    for file in sorted((plain / "spans").rglob("*.parquet")):
        target = folder / file.parent.relative_to(plain)
        target.mkdir(parents=True, exist_ok=True)
        for copy in range(copies // COPIES_IN_A_FILE):
            connection.execute(COPY, {"copy": copy, "file": str(file)})
            name = f"{int(file.name[:16], 16) ^ copy:016x}"
            for link in range(links):
                os.link("copy.parquet", target / f"{name}-{link:016x}.parquet")
            os.unlink("copy.parquet")
    shutil.rmtree(plain)


def measure(question, folder, memory):
    """Wall-clock s, CPU s, peak MB of one run."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execve(sys.executable, [sys.executable, "-m", "cuspan.fleet", question, str(folder), "--threads", "2", "--memory", memory],
                  {**os.environ, "PYTHONPATH": str(ROOT / "python")})
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        return None
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    parser.add_argument("questions", nargs="*", default=[])
    parser.add_argument("--copies", type=int, default=500)
    parser.add_argument("--links", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--memory", default="1GB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary) / "fleet").resolve()
        if not folder.exists():
            make(options.build.resolve() / "cuspan", folder, options.copies, options.links)
        size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
        print(f"{size / 1e6:.0f} MB")
        for question in options.questions or QUESTIONS:
            idle = os.cpu_count() - os.getloadavg()[0]
            found = measure(question, folder, options.memory)
            figures = "{:6.2f} s  {:6.2f} s of CPU  {:5.0f} MB".format(*found) if found else "failed"
            print(f"{question:15} {figures}  ({idle:.1f} processors idle)", flush=True)


if __name__ == "__main__":
    main()
