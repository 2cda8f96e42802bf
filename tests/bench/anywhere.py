#!/usr/bin/env python3
"""The part of the benchmark that needs no GPU. Called by tests/bench/anywhere.sh.

    anywhere.sh [OUT.json] [--rounds N] [--long] [--build DIR]

"stages": pipeline_bench by recording and detail, in one thread: CPU ns per span of decode, correlate, encode, compress.
"replays": the real agent, `cuspan replay` at full speed into null_collector, which ignores the content: CPU time by
thread, spans/s, losses, resident memory, bytes on the wire. Threads are pinned if there are at least two processors:
the pipeline's has one of its own. CPU times come from the scheduler, read every 5 ms until the thread ends, so the last
5 ms may be missing. "memory": the maximum that cuspan allocates in each load of tests/integration/agent/bounds_test.py,
with default settings. "growth": growth.py (--long: 10^8 spans). "instructions": guard.py. OUT.json has all raw values;
"budgets" and "tables" are computed from them for tests/bench/page.py."""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import growth  # noqa: E402
import guard  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ("torch_inference", "service", "graph_nodes")
DETAILS = ("default", "summary", "graph-nodes", "full")
COMPRESSIONS = ("none", "gzip", "zstd")
STAGES = ("decode", "correlate", "encode", "compress")
SPANS_A_ROUND = 100_000
SPANS_A_REPLAY = 2_000_000
SAMPLE_SECONDS = 0.005
REPLAY_SECONDS_MAX = 300
MIB = 1024


def recording(name):
    return ROOT / f"examples/recordings/{name}.cuspanrec"


def checked(command, **options):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if run.returncode:
        raise guard.Trouble(f"{' '.join(map(str, command))}: {run.stderr.strip()[-300:]}")
    return run.stdout


def median(values):
    return statistics.median(values)


# --- stages ---

def stages(build, rounds):
    found = []
    for name in RECORDINGS:
        once = json.loads(checked([build / "pipeline_bench", "--only", "correlate", "--repeat", 1, "--rounds", 1, recording(name)]))
        repeat = max(1, round(SPANS_A_ROUND / once["spans"]))
        for detail in DETAILS:
            by = ["--by-record"] if detail == "summary" else []
            said = checked([build / "pipeline_bench", "--json", "--detail", detail, "--repeat", repeat, "--rounds", rounds, *by,
                            recording(name)])
            found.append({"recording": name, "detail": detail, "compression": "gzip", **json.loads(said)})
    said = checked([build / "pipeline_bench", "--json", "--zstd", "--rounds", rounds, recording(RECORDINGS[0])])
    found.append({"recording": RECORDINGS[0], "detail": "default", "compression": "zstd", **json.loads(said)})
    return found


# --- the real agent ---

class Watch:
    """CPU time by thread and the peak memory of a process, read while it runs."""

    def __init__(self, pid):
        self.pid, self.cpu_ns, self.names, self.peak_kib, self.pinned = pid, {}, {}, 0, set()

    def sample(self):
        try:
            for task in Path(f"/proc/{self.pid}/task").iterdir():
                self.see(int(task.name), task)
            status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        except (OSError, ValueError):
            return  # it has just ended
        found = re.search(r"VmHWM:\s+(\d+)", status)
        self.peak_kib = max(self.peak_kib, int(found.group(1)) if found else 0)

    def see(self, tid, task):
        self.names[tid] = (task / "comm").read_text(encoding="utf-8").strip()
        self.cpu_ns[tid] = max(self.cpu_ns.get(tid, 0), int((task / "schedstat").read_text(encoding="utf-8").split()[0]))
        if (tid, self.names[tid]) not in self.pinned:
            self.pinned.add((tid, self.names[tid]))
            pin(tid, place_of(self.names[tid]))

    def by_name(self):
        found = {}
        for tid, ns in self.cpu_ns.items():
            name = self.names[tid] if self.names[tid].startswith("cuspan/") else "stand-in"
            found[name] = found.get(name, 0) + ns
        return found


def place_of(name):
    """Which processors to use: the pipeline's thread has the first, then the sender's; the others share the rest."""
    return {"cuspan/pipeline": 0, "cuspan/sender": 1}.get(name, 2)


def pin(tid, place):
    processors = sorted(PROCESSORS)
    if len(processors) > 1:
        os.sched_setaffinity(tid, {processors[min(place, len(processors) - 1)]})


PROCESSORS = os.sched_getaffinity(0)


def child_of(pid):
    """The playing process, which the command line started; None before."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return None
    return int(children[0]) if children else None


def watch_until_end(process):
    watch, until = None, time.monotonic() + REPLAY_SECONDS_MAX
    while process.poll() is None:
        if time.monotonic() > until:
            process.kill()
            raise guard.Trouble("a replay has not ended in time")
        child = None if watch else child_of(process.pid)
        watch = watch or (Watch(child) if child else None)
        if watch:
            watch.sample()
        time.sleep(SAMPLE_SECONDS)
    if process.returncode or not watch:
        raise guard.Trouble(f"cuspan replay has failed: {process.stderr.read().strip()[-300:]}")
    return watch


def collected_bytes(said):
    found = re.search(r"requests (\d+) bytes (\d+)", said)
    if not found:
        raise guard.Trouble("null_collector has not said what it got")
    return int(found.group(1)), int(found.group(2))


def replay(build, name, compression, repeat):
    """One run of the real agent, with all its measurements."""
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen([build / "null_collector"], stdout=subprocess.PIPE, text=True) as collector:
        pin(collector.pid, 3)
        try:
            port = collector.stdout.readline().split()[1]
            began = time.monotonic()
            with subprocess.Popen([build / "cuspan", "replay", "--quiet", "--endpoint", f"http://127.0.0.1:{port}", "--set",
                                   f"compression={compression}", "--set", f"accounts_file={folder}/report", "--repeat", str(repeat),
                                   recording(name)], stderr=subprocess.PIPE, text=True, env=clean_environment()) as process:
                watch = watch_until_end(process)
            wall_s = time.monotonic() - began
        finally:
            collector.terminate()
        requests, wire = collected_bytes(collector.stdout.read())
        report = json.loads(next(Path(folder).glob("report.*")).read_text(encoding="utf-8"))
    return {"recording": name, "compression": compression, "repeat": repeat, "spans": report["spans"],
            "delivered": report["delivered"], "losses": report["losses"], "cpu_ns": watch.by_name(), "wall_s": wall_s,
            "peak_kib": watch.peak_kib, "requests": requests, "wire_bytes": wire}


def clean_environment():
    return {name: value for name, value in os.environ.items() if not re.match(r"CUSPAN_|OTEL_|TRACE|.*_proxy$", name, re.I)}


def replays(build, rounds):
    found = []
    for name in RECORDINGS[:2]:
        few = replay(build, name, "none", 10)
        repeat = max(1, round(SPANS_A_REPLAY / (few["spans"] / 10)))
        found += [replay(build, name, compression, repeat) for _ in range(rounds) for compression in COMPRESSIONS]
    return found


def summed(runs):
    """The runs of one recording and compression, as medians."""
    def a_span(thread):
        return [run["cpu_ns"].get(thread, 0) / run["spans"] for run in runs]
    pipeline, sender = a_span("cuspan/pipeline"), a_span("cuspan/sender")
    return {"recording": runs[0]["recording"], "compression": runs[0]["compression"],
            "pipeline_ns": median(pipeline), "sender_ns": median(sender), "both": [a + b for a, b in zip(pipeline, sender)],
            "per_core": 1e9 / median(pipeline), "per_second": median([run["spans"] / run["wall_s"] for run in runs]),
            "lost": sum(run["spans"] - run["delivered"] + sum(run["losses"].values()) for run in runs),
            "peak_mib": max(run["peak_kib"] for run in runs) / MIB,
            "bytes": median([run["wire_bytes"] / run["delivered"] for run in runs])}


def grouped(runs):
    keys = list(dict.fromkeys((run["recording"], run["compression"]) for run in runs))
    return [summed([run for run in runs if (run["recording"], run["compression"]) == key]) for key in keys]


# --- start and exit ---

DEADLINE_MS = 700
REFUSED = "http://127.0.0.1:9"  # no server uses the discard port


def host(build, folder, settings, **environment):
    """A program that loads the agent and plays a recording. Wall ms, and the time of loading and starting."""
    given = ";".join(f"{key}={value}" for key, value in {"cupti.library": build / "libcuspan-replay.so", **settings}.items())
    command = [build / "agent_host", build / "libcuspan.so", build / "libcuspan-replay.so", recording("threads")]
    began = time.monotonic()
    subprocess.run([str(word) for word in command], capture_output=True, check=False,
                   env={**clean_environment(), "CUSPAN_SET": given, "HOST_TIMES": f"{folder}/times", **environment})
    wall_ms = (time.monotonic() - began) * 1e3
    return wall_ms, sum(float(part) for part in Path(folder, "times").read_text(encoding="utf-8").split())


def start_and_exit(build, rounds):
    """ms more than the same program with the agent disabled, in pairs of one round. The replay library starts at no
    cost."""
    found = {"start": [], "exit, live": [], "exit, dead": []}
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen([build / "null_collector"], stdout=subprocess.PIPE, text=True) as collector:
        try:
            live = f"http://127.0.0.1:{collector.stdout.readline().split()[1]}"
            for _ in range(2 * rounds + 1):
                alone_ms, _ = host(build, folder, {}, OTEL_SDK_DISABLED="true")
                live_ms, start_ms = host(build, folder, {"endpoint": live})
                dead_ms, _ = host(build, folder, {"endpoint": REFUSED, "exit_deadline_ms": DEADLINE_MS})
                found["start"].append(start_ms)
                found["exit, live"].append(live_ms - alone_ms - start_ms)
                found["exit, dead"].append(dead_ms - alone_ms - start_ms)
        finally:
            collector.terminate()
    return found


# --- memory ---

def allocated(build):
    """Maximum bytes by load, for loads with the default settings."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "allocated.json")
        checked([ROOT / "tests/integration/agent/bounds_test.py", "--build", build, "--out", out])
        found = json.loads(out.read_text(encoding="utf-8"))["tests"]
    if not found:
        raise guard.Trouble("bounds_test.py has counted nothing: is libmemory-watch.so built?")
    return found


# --- values for the page ---

def check(name, values, limit, unit):
    return {"name": name, "value": round(median(values), 2), "low": round(min(values), 2), "high": round(max(values), 2),
            "limit": limit, "unit": unit}


def encode_check(run):
    """The sum of the three stages' medians; the sums of their minimum and maximum bound the spread."""
    parts = [run["stages"][stage] for stage in STAGES[:3]]
    return {"name": run["recording"], "value": round(sum(part["ns"] for part in parts), 1),
            "low": round(sum(part["min"] for part in parts), 1), "high": round(sum(part["max"] for part in parts), 1),
            "limit": 200, "unit": "ns"}


def budgets(results):
    sums = grouped(results["replays"])
    first = [one for one in sums if one["recording"] == RECORDINGS[0]]
    limits = {"gzip": 40, "zstd": 28}
    return {
        "encode": [encode_check(run) for run in results["stages"]
                   if run["detail"] == "default" and run["compression"] == "gzip" and run["recording"] == RECORDINGS[0]],
        "wire": [check(f"{one['recording']}, pipeline and sender", one["both"], 500, "ns")
                 for one in first if one["compression"] == "gzip"],
        "bytes": [check(one["compression"], [one["bytes"]], limits[one["compression"]], "bytes")
                  for one in first if one["compression"] in limits],
        "start-exit": [check("exit, dead", results["start_exit"]["exit, dead"], DEADLINE_MS, "ms")],
        "memory": [memory_check(results["memory"])],
    }


def memory_check(loads):
    """The largest value; the range goes from the smallest to it, over the loads."""
    mib = [count / MIB / MIB for count in loads.values()]
    return {**check(f"in {len(mib)} loads", mib, 64, "MiB"), "value": round(max(mib), 2)}


def memory_table(loads):
    rows = [[name, f"{count / MIB / MIB:.1f}"] for name, count in sorted(loads.items(), key=lambda one: -one[1])]
    return {"title": "Memory by load", "text": "Peak allocations of libcuspan.so and libcuspan-export.so with default settings: blocks, mappings, "
            "stacks, variables (`tests/integration/agent/bounds_test.py` lists the loads).",
            "columns": ["load", "peak allocations, MiB"], "rows": rows}


def stage_table(runs):
    rows = [[run["recording"], run["detail"], run["compression"], run["unit"],
             *[f"{run['stages'][s]['ns']:.0f} ({run['stages'][s]['min']:.0f} to {run['stages'][s]['max']:.0f})" for s in STAGES],
             f"{run['bytes']:.0f}", f"{run['compressed_bytes']:.1f}", run["allocations"]] for run in runs]
    return {"title": "By stage", "text": "CPU time in one thread (`pipeline_bench`): median, minimum and maximum of the rounds. A summary "
            "combines many calls and records into one span, so its cost is per captured record.",
            "columns": ["recording", "detail", "compression", "per", *[f"{stage}, ns" for stage in STAGES], "bytes", "compressed",
                        "allocations after startup"], "rows": rows}


def replay_table(runs):
    rows = [[one["recording"], one["compression"], f"{one['pipeline_ns']:.0f}", f"{one['sender_ns']:.0f}",
             f"{one['per_core']:,.0f}", f"{one['per_second']:,.0f}", one["lost"], f"{one['peak_mib']:.1f}", f"{one['bytes']:.1f}"]
            for one in grouped(runs)]
    return {"title": "The agent at full load", "text": "`cuspan replay` into a collector that ignores the content. The CUPTI stand-in fills rings and "
            "buffers on its own threads, as fast as the agent accepts them. *Spans/s per pipeline core* assumes that "
            "this thread is always busy. *Spans/s by the clock* is for the whole machine, including start and exit.",
            "columns": ["recording", "compression", "pipeline, CPU ns per span", "sender, CPU ns per span", "spans/s per pipeline core",
                        "spans/s by the clock", "lost", "peak resident memory, MiB", "bytes per span on the wire"], "rows": rows}


def growth_table(name, one):
    has_instructions = any("instructions" in row for row in one["rows"])
    rows = [[f"{row['value']:,}", f"{row['ns']:.0f} ({row['ns_min']:.0f} to {row['ns_max']:.0f})", f"{row['ratio']:.2f} ×",
             f"{row['rss_kib'] / MIB:.0f}", f"{row['allocations']:,}",
             *([f"{row['instructions']:,.0f}" if "instructions" in row else ""] if has_instructions else [])] for row in one["rows"]]
    return {"title": f"Growth: {name}", "text": f"{one['why']} Ratios are relative to the row with {one['base']:,}.",
            "columns": [name, "ns per span", "ratio", "peak resident memory, MiB", "allocations after startup",
                        *(["instructions per span"] if has_instructions else [])], "rows": rows}


def instruction_table(found):
    rows = [[name, f"{value:,.0f}"] for name, value in found["instructions"].items()]
    return {"title": "Instructions", "text": "Instructions per span and stage, and of the four callbacks of a launch, counted by "
            f"callgrind ({found['compiler']}). `tests/bench/guard.sh` checks them.", "columns": ["what", "instructions"], "rows": rows}


def with_page(results):
    tables = [stage_table(results["stages"]), replay_table(results["replays"])]
    tables += [growth_table(name, one) for name, one in results["growth"].items()]
    tables.append(memory_table(results["memory"]))
    if "instructions" in results:
        tables.append(instruction_table(results["instructions"]))
    return {**results, "budgets": budgets(results), "tables": tables}


# --- all parts ---

def machine():
    found = re.search(r"^model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return {"cpu": found.group(1) if found else platform.machine(), "cores": len(PROCESSORS), "kernel": platform.release()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long", action="store_true", help="growth up to 10^8 spans")
    args = parser.parse_args()
    out = args.out or args.build / "bench/anywhere.json"
    counts = shutil.which("valgrind") is not None
    commit = checked(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"]).strip()
    try:
        key = guard.compiler(args.build)
        results = {"machine": machine(), "commit": commit, "date": time.strftime("%Y-%m-%d", time.gmtime()), "compiler": key,
                   "command": " ".join(["tests/bench/run.sh anywhere", *sys.argv[1:]]), "rounds": args.rounds}
        results["stages"] = stages(args.build, args.rounds)
        results["replays"] = replays(args.build, args.rounds)
        results["start_exit"] = start_and_exit(args.build, args.rounds)
        results["memory"] = allocated(args.build)
        results["growth"] = growth.measure(args.build, args.rounds, args.long, counts)
        if counts:
            results["instructions"] = {"compiler": key, **guard.measure(args.build)}
    except guard.Trouble as trouble:
        print(f"anywhere.sh: {trouble}", file=sys.stderr)
        return 1
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(with_page(results), indent=1) + "\n", encoding="utf-8")
    print(f"written: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
