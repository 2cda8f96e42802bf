#!/usr/bin/env python3
"""Measures whether the cost of a span stays the same as everything grows.

    growth.py [BUILD] [OUT.json] [--long] [--rounds N] [--instructions]

Runs pipeline_bench on examples/recordings/torch_inference.cuspanrec: CPU ns per span of decode, correlate and encode
together, without filling. "spans": one run of 10^3 to 10^7 spans (--long: 10^8), by decade; the others after a fixed
number of spans, in the last decade: concurrent "threads", "devices" that execute the GPU's work, "names" of kernels, in
turn. The rows of a series alternate, --rounds times; the result is the median with the minimum and maximum, the ratio
to the series' `base`, the peak of resident memory and the allocations. --instructions adds callgrind's counts if that
takes seconds; they have no noise."""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import guard  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RECORDING = ROOT / "examples/recordings/torch_inference.cuspanrec"
SPANS, SPANS_MANY_NAMES = 10**6, 10**7
MANY_NAMES = 10_000
COUNTED_MAX = {"threads": 64, "devices": 8, "names": MANY_NAMES}  # more would take callgrind minutes
COUNTED_SPANS = 20_000

# The reasons why a series is not flat, from the code and its measurements. Check them again when the code changes.
REASONS = {
    "spans": "The first ten thousand spans access the pages of the tables for the first time (pending calls, the "
             "encoder's chunks). The kernel clears each page then, and resident memory grows. After that nothing "
             "grows.",
    "threads": "Common parts of calls are stored per thread, because its ID and name are among the attributes, in "
               "1024 entries overall (SPAN_SHARED_MAX). If many threads make the same calls, there are too few "
               "entries, and parts are encoded again. Each pass over the rings finds fewer records per ring. The "
               "time rises more than the instruction count, so the cause is memory access. It is not the size of the"
               " rings: smaller rings made no measurable difference.",
    "devices": "A span is encoded for the resource of its device. Each device adds a resource to a batch, and common"
               " parts of spans per device.",
    "names": "The common parts of a kernel's spans are encoded once, for 1024 kernels, calls and streams at a time"
             " (SPAN_SHARED_MAX, two entries for each key). With more, most spans are encoded again. A name is "
             "demangled once while the names in use fit into 4 MiB (names.c; 24,576 at most). With more names in "
             "rotation, some are found and the others are demangled again.",
}


def series():
    """{what grows: [(value, options, spans)]}"""
    def rows(values, options, spans):
        return [(value, options(value), spans(value)) for value in values]
    return {
        "threads": rows([1, 4, 16, 64, 256], lambda n: ["--together", "--threads", n], lambda n: SPANS),
        "devices": rows([1, 2, 4, 8], lambda n: ["--devices", n], lambda n: SPANS),
        "names": rows([10**n for n in range(7)], lambda n: ["--names", n],
                      lambda n: SPANS if n <= MANY_NAMES else SPANS_MANY_NAMES),
    }


def life(build, options, spans):
    """The decades of one run, as pipeline_bench prints them."""
    command = [build / "pipeline_bench", "--growth", spans, *options, RECORDING]
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if run.returncode:
        raise guard.Trouble(f"pipeline_bench has failed: {run.stderr.strip()[-300:]}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def row(value, decades):
    """The same decade in several runs."""
    ns = [decade["ns"] for decade in decades]
    return {"value": value, "ns": round(statistics.median(ns), 1), "ns_min": min(ns), "ns_max": max(ns), "ns_all": ns,
            "rss_kib": max(decade["rss_kib"] for decade in decades), "spans": decades[0]["spans"],
            "allocations": max(decade["allocations"] for decade in decades)}


def with_ratios(rows, base):
    """Relative to the row whose value is `base`."""
    reference = next(one for one in rows if one["value"] == base)["ns"]
    return [{**one, "ratio": round(one["ns"] / reference, 3)} for one in rows]


def instructions(build, options, together):
    """Per span, for enough repetitions to make the runs comparable."""
    few = max(1, COUNTED_SPANS // 1000 // together)
    repetitions = few, 3 * few
    cost = {}
    for stage in "fill", "encode":
        runs = [guard.callgrind([build / "pipeline_bench", "--only", stage, "--rounds", 1, "--repeat", n, *options, RECORDING])
                for n in repetitions]
        cost[stage] = runs[1][0] - runs[0][0]
    spans = runs[1][1]["spans"] - runs[0][1]["spans"]
    if spans <= 0:
        raise guard.Trouble(f"no spans were made with {options}")
    return round((cost["encode"] - cost["fill"]) / spans, 1)


def measure(build, rounds, is_long, counts):
    spans_max = 10**8 if is_long else 10**7
    lives = [life(build, [], spans_max if i == 0 else min(spans_max, SPANS)) for i in range(rounds)]
    rows = [row(decade["spans"], [one[i] for one in lives if i < len(one)]) for i, decade in enumerate(lives[0])]
    # The first rows include the cost of touching pages for the first time, so the ratio is to a later one.
    found = {"spans": {"base": 10**5, "why": REASONS["spans"], "rows": with_ratios(rows, 10**5)}}
    for name, wanted in series().items():
        decades = {value: [] for value, _, _ in wanted}
        for _ in range(rounds):
            for value, options, spans in wanted:
                decades[value].append(life(build, options, spans)[-1])
        rows = with_ratios([row(value, decades[value]) for value, _, _ in wanted], 1)
        for one, (value, options, _) in zip(rows, wanted):
            if counts and value <= COUNTED_MAX[name]:
                one["instructions"] = instructions(build, options, value if name == "threads" else 1)
        found[name] = {"base": 1, "why": REASONS[name], "rows": rows}
    return found


def text(found):
    lines = []
    for name, one in found.items():
        lines.append(f"{name} (ratio to {one['base']})")
        for r in one["rows"]:
            counted = f"{r['instructions']:8.0f} instructions" if "instructions" in r else ""
            lines.append(f"  {r['value']:>11,}  {r['ns']:8.1f} ns ({r['ns_min']:.1f} to {r['ns_max']:.1f})  {r['ratio']:.2f} ×  "
                         f"{r['rss_kib'] / 1024:6.1f} MiB  {r['allocations']:9,} allocations  {counted}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--long", action="store_true", help="up to 10^8 spans")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    args = parser.parse_args()
    try:
        found = measure(args.build, args.rounds, args.long, args.instructions)
    except guard.Trouble as trouble:
        print(f"growth.py: {trouble}", file=sys.stderr)
        return 1
    print(text(found))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
