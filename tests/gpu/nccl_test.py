#!/usr/bin/env python3
"""Runs tests/gpu/programs/nccl.py on each rank and checks the spans of its collectives. Called by nccl.sh.

    nccl_test.py BUILD OUTDIR CUPTI-LIBRARY

Runs: none (without cuspan), nvtx (without NCCL's profiler plugin), plugin (cuspan's defaults), and record (recordings
for replays, which are not checked). Results: OUTDIR/nccl.json."""

import json
import os
import socket
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support")]

import backend  # noqa: E402

BUILD, OUT, CUPTI = (Path(argument).resolve() for argument in sys.argv[1:4])
PROGRAM = ROOT / "tests/gpu/programs/nccl.py"
LIMIT_S = 180
failures = []


def check(what, is_right, detail=""):
    print(f"{'ok    ' if is_right else 'FAILED'} {what}{'' if is_right else f': {detail}'}")
    if not is_right:
        failures.append(f"{what}: {detail}")


def gpus():
    listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def free_port():
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


def command_of(run, rank):
    program = [sys.executable, PROGRAM]
    if run == "none":
        return program
    common = ["--set", f"cupti.library={CUPTI}"]
    if run == "record":
        return [BUILD / "cuspan", "record", "-o", OUT / f"nccl-rank{rank}.cuspanrec", *common, "--", *program]
    file = OUT / f"nccl-{run}-rank{rank}.jsonl"
    file.unlink(missing_ok=True)
    return [BUILD / "cuspan", "run", "--file", file, *common, "--", *program]


def start(run, rank, world, port):
    env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "localhost",
           "MASTER_PORT": str(port)}
    env.pop("NCCL_PROFILER_PLUGIN", None)
    if run == "nvtx":
        env["NCCL_PROFILER_PLUGIN"] = "none"
    return subprocess.Popen([str(word) for word in command_of(run, rank)], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def run_ranks(run, world):
    """The output of each rank; empty if one failed."""
    port = free_port()
    ranks = [start(run, rank, world, port) for rank in range(world)]
    printed = []
    for rank, process in enumerate(ranks):
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        (OUT / f"nccl-{run}-rank{rank}.err").write_text(err)
        check(f"{run}: rank {rank} ends well", process.returncode == 0, f"status {process.returncode}: {err[-600:]}")
        printed += [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return printed if len(printed) == world else []


def read_spans(run, rank):
    text = (OUT / f"nccl-{run}-rank{rank}.jsonl").read_text()
    return [span for line in text.splitlines() for span in backend.spans_of(json.loads(line))]


def own(span):
    return {key.removeprefix("collective."): value for key, value in span.attributes.items()
            if key.startswith("collective.")}


def check_rank(run, rank, spans, printed):
    """Returns the rank's collectives by key."""
    what = f"{run}, rank {rank}"
    by_id = {span.span_id: span for span in spans}
    found = [span for span in spans if span.attributes.get("cuda.activity") == "collective"]
    kernels = [span for span in spans if span.attributes.get("cuda.activity") == "kernel" and span.name.startswith("nccl")]
    lonely = [k.name for k in kernels if by_id[k.parent_id].attributes.get("cuda.activity") != "collective"]
    check(f"{what}: kernels are below collectives ({len(kernels)})", not lonely, Counter(lonely))
    sources = Counter(own(span)["source"] for span in found)
    print(f"       {what}: {len(found)} collectives, sources {dict(sources)}, {dict(Counter(s.name for s in found))}")
    if printed["world"] == 1:
        check(f"{what}: one rank copies", any(span.name == "AllGather" for span in found), sources)
        return {own(span)["key"]: span for span in found if "key" in own(span)}
    check(f"{what}: few are known by name only", sources["kernel"] <= len(found) // 50, sources)
    large = [own(s) for s in found if s.name == "AllReduce" and own(s).get("bytes") == 4 * printed["count"]]
    check(f"{what}: AllReduces of {4 * printed['count']} bytes", len(large) >= 2 * printed["rounds"], len(large))
    gathers = [own(s) for s in found if s.name == "AllGather" and "grouped" not in own(s)]
    sizes = {g.get("bytes") for g in gathers}
    check(f"{what}: AllGathers have the bytes of all ranks", 4 * printed["count"] * printed["world"] in sizes, sizes)
    check(f"{what}: three in one group", any(own(s).get("grouped") == 3 for s in found if s.name == "AllReduce"),
          Counter(own(s).get("grouped") for s in found))
    exchanges = [own(s) for s in found if s.name == "SendRecv"]
    check(f"{what}: exchanges", len(exchanges) >= printed["rounds"], len(exchanges))
    ranks = Counter(own(s).get("rank") for s in found if own(s)["source"] != "kernel")
    check(f"{what}: the rank", set(ranks) <= ({rank} if run == "plugin" else {rank, None}), ranks)
    check(f"{what}: bandwidths", all(g["busbw"] > 0 for g in large if "busbw" in g), large[:1])
    if run == "plugin":
        check(f"{what}: the plugin gives datatypes", sources["plugin"] > len(found) // 2, sources)
        kinds = Counter((own(s).get("datatype"), own(s).get("algorithm"), own(s).get("protocol")) for s in found)
        print(f"       {what}: {dict(kinds)}")
    ordinals = defaultdict(list)
    for span in found:
        if "ordinal" in own(span) and span.name not in ("Send", "Recv", "SendRecv"):
            ordinals[own(span)["communicator"], span.name].append(own(span)["ordinal"])
    check(f"{what}: no ordinal twice", all(len(set(n)) == len(n) for n in ordinals.values()),
          {key: [n for n, c in Counter(values).items() if c > 1][:3] for key, values in ordinals.items()})
    return {own(span)["key"]: span for span in found if "key" in own(span)}


def check_run(run, world, printed):
    keyed = [check_rank(run, rank, read_spans(run, rank), printed[rank]) for rank in range(world)]
    if world == 1:
        return
    first, second = keyed[:2]
    common = set(first) & set(second)
    check(f"{run}: the ranks have the same keys ({len(common)})", len(common) >= 0.98 * max(len(first), len(second)),
          f"{len(first)} and {len(second)}, of which {len(common)} in both")
    apart = [key for key in common if first[key].name != second[key].name]
    check(f"{run}: the same key is the same operation", not apart, apart[:3])
    overlaps = [key for key in common
                if first[key].start_ns < second[key].end_ns and second[key].start_ns < first[key].end_ns]
    check(f"{run}: the same collective runs at the same time", len(overlaps) >= 0.95 * len(common),
          f"{len(overlaps)} of {len(common)}")


def main():
    world = min(gpus(), 2)
    result = {"world": world}
    for run in ("none", "nvtx", "plugin", "record"):
        printed = run_ranks(run, world)
        if not printed:
            continue
        printed.sort(key=lambda one: one["rank"])
        result[run] = {"enqueue_ns": statistics.median(one["enqueue_ns"] for one in printed), "nccl": printed[0]["nccl"]}
        print(f"       {run}: NCCL {printed[0]['nccl']}, {world} ranks, {result[run]['enqueue_ns']:.0f} ns to enqueue an AllReduce")
        if run in ("nvtx", "plugin"):
            check_run(run, world, printed)
    result["failures"] = failures
    (OUT / "nccl.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
