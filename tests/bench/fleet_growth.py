#!/usr/bin/env python3
"""Measures reader, writer and questions of a fleet's spans from 10^6 to 10^8 of them, next to other tools.

    fleet_growth.py [BUILD] [OUT.json] [--spans N,N...] [--memory SIZE] [--others-max N] [--json-max N] [--spark-max N] [--work FOLDER]

The spans are those of tests/support/make_fleet.py in zstd protobuf: all recordings as many processes, hosts, GPUs and hours of two days,
with random IDs and mostly distinct durations. For each number of spans: `cuspan stat` with all tables, `cuspan export`, each question of
`cuspan fleet` on two threads. Up to --others-max spans: pandas on the exported files. Up to --json-max: stat and export of the same spans as JSON lines,
DuckDB's own reader of them into Parquet, and HTA on the same calls and work as a trace of PyTorch's profiler. Up to --spark-max: examples/fleet/spark_fleet.py in Spark's local-cluster mode, two workers with one core and 1 GiB each.
Each is one run in a process of its own: wall-clock and CPU seconds, peak of resident memory, bytes; and the processors that were idle
before it. It needs duckdb, numpy, pandas, pyspark and HolisticTraceAnalysis: run.sh gets them. FOLDER stays, and the spans in it are used
again. Sizes that OUT.json has already stay in it."""

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import make_fleet  # noqa: E402

QUESTIONS = ["kernels", "launch_latency", "slow_requests", "utilization", "calls", "waits", "errors", "copies", "memory", "steps",
             "ranks", "collectives", "code_lines", "duplicates"]
SPARK_WORKERS, SPARK_MASTER = 2, "local-cluster[2,1,1024]"
JSON_READER = """import duckdb, sys
db = duckdb.connect(config={"threads": "2", "memory_limit": sys.argv[3], "preserve_insertion_order": "false"})
db.execute('''COPY (
    WITH batches AS (SELECT unnest(resourceSpans) AS b FROM read_json(?, maximum_object_size = 33554432, columns = {
        resourceSpans: 'STRUCT(resource STRUCT(attributes STRUCT("key" VARCHAR, "value" JSON)[]), scopeSpans STRUCT(spans STRUCT(
            traceId VARCHAR, spanId VARCHAR, parentSpanId VARCHAR, name VARCHAR, startTimeUnixNano VARCHAR, endTimeUnixNano VARCHAR,
            attributes STRUCT("key" VARCHAR, "value" JSON)[])[])[])[]'})),
    scopes AS (SELECT list_filter(b.resource.attributes, lambda a: a.key = 'service.instance.id')[1].value AS instance,
        unnest(b.scopeSpans) AS s FROM batches),
    spans AS (SELECT instance, unnest(s.spans) AS span FROM scopes)
    SELECT span.traceId AS trace_id, span.spanId AS span_id, span.parentSpanId AS parent_id, span.name AS name,
        CAST(span.startTimeUnixNano AS BIGINT) AS start_ns,
        CAST(span.endTimeUnixNano AS BIGINT) - CAST(span.startTimeUnixNano AS BIGINT) AS duration_ns,
        span.attributes AS attributes, instance FROM spans) TO ''' + "'" + sys.argv[2] + "' (FORMAT parquet, COMPRESSION zstd)",
    [sys.argv[1]])
"""
PANDAS = """import pandas, sys, glob
files = glob.glob(sys.argv[1] + "/spans/**/*.parquet", recursive=True)
columns = ["activity", "kernel_full", "name", "duration_ns"]
parts = []
for file in files:
    frame = pandas.read_parquet(file, columns=columns, partitioning=None, filters=[("activity", "in", ["kernel", "concurrent_kernel"])])
    parts.append(frame[["kernel_full", "name", "duration_ns"]].astype({"kernel_full": "category", "name": "category"}))
kinds = ["kernel_full", "name"]
for kind in kinds:
    all_kinds = pandas.api.types.union_categoricals([part[kind] for part in parts]).categories
    for part in parts:
        part[kind] = part[kind].cat.set_categories(all_kinds)
spans = pandas.concat(parts)
print(spans.groupby("kernel_full", observed=True)["duration_ns"].agg(["count", "sum", "median", "min", "max"]).sort_values("sum"))
"""

# The trace that PyTorch's profiler would write of the same calls and work, as one rank.
KINETO = """import glob, json, sys
import pyarrow.parquet
work = {"kernel": "kernel", "concurrent_kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}
columns = ["name", "activity", "api", "stream", "device", "correlation", "start_ns", "duration_ns"]
with open(sys.argv[2], "w") as out:
    out.write('{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "deviceProperties": [], "traceEvents": [')
    separator = ""
    for file in glob.glob(sys.argv[1] + "/spans/**/*.parquet", recursive=True):
        for row in pyarrow.parquet.read_table(file, columns=columns, partitioning=None).to_pylist():
            category = work.get(row["activity"]) or (row["api"] and "cuda_runtime")
            if category:
                stream = row["stream"] or 0
                args = {"correlation": row["correlation"] or 0} | ({} if row["api"] else {"stream": stream, "device": row["device"] or 0})
                out.write(separator + json.dumps({"ph": "X", "cat": category, "name": row["name"], "pid": 0 if row["api"] else 1, "tid": stream,
                    "ts": row["start_ns"] / 1000, "dur": row["duration_ns"] / 1000, "args": args}))
                separator = ","
    out.write("]}")
"""
HTA = """import sys
from hta.trace_analysis import TraceAnalysis
trace = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=".")
print(trace.get_gpu_kernel_breakdown(visualize=False))
"""


def run(command, name, environment=None):
    """Time and memory of a command, or why it failed."""
    idle = os.cpu_count() - os.getloadavg()[0]
    with tempfile.NamedTemporaryFile() as used:
        done = subprocess.run([sys.executable, "-S", ROOT / "tests/support/run_measured.py", used.name, *map(str, command)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, env={**os.environ, **(environment or {})})
        found = json.loads(used.read().decode() or "{}")
    if done.returncode != 0:
        lines = done.stderr.decode().strip().splitlines() or [f"status {done.returncode}"]
        why = next((line for line in lines if "Error" in line or "Exception" in line), lines[-1])[:160]
        print(f"  {name:24} failed: {why}", flush=True)
        return {"failed": why}
    row = {"wall_s": round(found["wall_s"], 2), "cpu_s": round(found["cpu_s"], 2), "peak_mb": round(found["peak_bytes"] / 1e6),
           "idle": round(idle, 1)}
    print(f"  {name:24} {row['wall_s']:8.2f} s {row['cpu_s']:8.2f} s of CPU {row['peak_mb']:6} MB  ({idle:.1f} idle)", flush=True)
    return row


def size_of(folder, pattern="*.parquet"):
    return sum(path.stat().st_size for path in folder.rglob(pattern))


def tree_peak_mb(pid, stop):
    """Sum of the resident memory of a process and its descendants, the largest seen."""
    most = 0
    while not stop():
        total, known = 0, {pid}
        for entry in sorted((int(name) for name in os.listdir("/proc") if name.isdigit())):
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
                if entry in known or int(fields[1]) in known:
                    known.add(entry)
                    total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            except (OSError, IndexError):
                pass
        most = max(most, total)
        time.sleep(0.2)
    return most / 1e6


def spark(question, folder):
    """Start and question; the memory of the driver and the workers together."""
    idle = os.cpu_count() - os.getloadavg()[0]
    start = time.monotonic()
    command = [Path(sys.executable).parent / "spark-submit", "--master", SPARK_MASTER, "--driver-memory", "1g",
               "--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=ERROR",
               ROOT / "examples/fleet/spark_fleet.py", question, folder, "--json", "--top", "0"]
    done = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env={**os.environ, "PYSPARK_PYTHON": sys.executable})
    peak = tree_peak_mb(done.pid, lambda: done.poll() is not None)
    errors = done.stderr.read().decode().strip().splitlines()
    name = f"Spark, {question}"
    if done.returncode != 0:
        why = next((line for line in errors if "Error" in line or "Exception" in line), (errors or ["failed"])[-1])
        print(f"  {name:24} failed: {why[:160]}", flush=True)
        return {"failed": why[:160]}
    row = {"wall_s": round(time.monotonic() - start, 2), "peak_mb": round(peak), "idle": round(idle, 1)}
    print(f"  {name:24} {row['wall_s']:8.2f} s {'':17} {row['peak_mb']:6} MB  ({idle:.1f} idle)", flush=True)
    return row


def measure(build, work, spans, options):
    folder, made_path = work / f"{spans}", work / f"{spans}.json"
    if not made_path.exists():
        shutil.rmtree(folder, ignore_errors=True)
        made_path.write_text(json.dumps(make_fleet.make(build, folder, spans)))
    made = json.loads(made_path.read_text())
    print(f"{made}", flush=True)
    rows = {"stat": run([build / "cuspan", "stat", "--json", "--top", "0", folder], "stat")}
    exported = work / f"{spans}-parquet"
    shutil.rmtree(exported, ignore_errors=True)
    rows["export"] = run([build / "cuspan", "export", "-q", "-o", exported, folder], "export")
    size, files = size_of(exported), len(list((exported / "spans").rglob("*.parquet")))
    print(f"  {size / made['spans']:.1f} bytes a span in {files} files", flush=True)
    for question in options.questions:
        rows[f"fleet {question}"] = run([sys.executable, "-m", "cuspan.fleet", question, exported, "--threads", "2", "--memory",
                                         options.memory], f"fleet {question}", {"PYTHONPATH": str(ROOT / "python")})
    if spans <= options.others_max:
        rows["pandas kernels"] = run([sys.executable, "-c", PANDAS, exported], "pandas kernels")
    if spans <= options.json_max:
        subprocess.run([sys.executable, "-c", KINETO, exported, work / "kineto.json"], check=True)
        rows["HTA kernels"] = run([sys.executable, "-c", HTA, work / "kineto.json"], "HTA kernels")
        (work / "kineto.json").unlink()
        lines = work / f"{spans}-json"
        if not lines.exists():
            make_fleet.make(build, lines, spans, is_json=True)
        rows["DuckDB read_json"] = run([sys.executable, "-c", JSON_READER, lines / "*.jsonl.zst", work / "read.parquet", "4GB"],
                                       "DuckDB read_json")
        rows["stat of JSON"] = run([build / "cuspan", "stat", "--json", "--top", "0", lines], "stat of JSON")
        rows["export of JSON"] = run([build / "cuspan", "export", "-q", "-o", work / "of-json", lines], "export of JSON")
        shutil.rmtree(work / "of-json", ignore_errors=True)
        (work / "read.parquet").unlink(missing_ok=True)
        if not options.keeps:
            shutil.rmtree(lines)
    if spans <= options.spark_max:
        for question in ("kernels", "utilization"):
            rows[f"Spark {question}"] = spark(question, exported)
    if not options.keeps:
        shutil.rmtree(exported)
        shutil.rmtree(folder)
        made_path.unlink()
    return {"commit": options.commit, "date": datetime.date.today().isoformat(), "spans": made["spans"], "processes": made["processes"], "input_bytes": made["bytes"], "parquet_bytes": size, "files": files,
            "rows": rows}


def machine():
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release()}


def known_sizes(out):
    """Of this machine, so that sizes can be measured one by one."""
    if not out or not out.exists():
        return []
    known = json.loads(out.read_text(encoding="utf-8"))
    return known["sizes"] if known["machine"] == machine() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--spans", default="1000000,10000000,100000000")
    parser.add_argument("--memory", default="1GB", help="of DuckDB, as in cuspan fleet --memory")
    parser.add_argument("--others-max", type=int, default=10_000_000)
    parser.add_argument("--json-max", type=int, default=1_000_000)
    parser.add_argument("--spark-max", type=int, default=100_000_000)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--questions", type=lambda text: text.split(","), default=QUESTIONS)
    options = parser.parse_args()
    options.keeps = options.work is not None
    command = "tests/bench/run.sh fleet " + " ".join(sys.argv[2:])
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    options.commit = commit.stdout.strip()
    found = {"machine": machine(), "commit": options.commit, "date": datetime.date.today().isoformat(), "command": command.strip(),
             "memory": options.memory, "sizes": known_sizes(options.out)}
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for spans in map(int, options.spans.split(",")):
            size = measure(options.build.resolve(), work.resolve(), spans, options)
            found["sizes"] = sorted([*(known for known in found["sizes"] if known["spans"] != size["spans"]), size],
                                    key=lambda known: known["spans"])
            if options.out:
                options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
