#!/usr/bin/env python3
"""The lines that captured a CUDA graph, on a real GPU with PyTorch: the GPU time of the graph's nodes is on them, and not
on the line that launches the graph.

    graph_lines.py [--build build] [--cupti LIBRARY]      prints the tables; status 1 if one is wrong"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPLAYS = 50


def product(x, weight):
    return x @ weight


def activation(x):
    return x.relu()


def capture(torch):
    weight, x = torch.randn(2048, 2048, device="cuda"), torch.randn(2048, 2048, device="cuda")
    activation(product(x, weight))  # the libraries are loaded before
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = activation(product(x, weight))
    return graph, y


def replay(graph):
    for _ in range(REPLAYS):
        graph.replay()


def inside():
    import torch
    with torch.inference_mode():
        graph, y = capture(torch)
        replay(graph)
        torch.cuda.synchronize()
    print(f"sum {float(y.sum()):.3f}", file=sys.stderr)


def table(options, folder, *settings):
    """{function: row} of the traced program, and its counters"""
    spans, report = Path(folder) / "spans.jsonl", Path(folder) / "report"
    for old in [spans, *Path(folder).glob("report*")]:
        old.unlink(missing_ok=True)
    wanted = ["capture.launch_stacks=python", f"accounts_file={report}", *settings]
    if options.cupti:
        wanted.append(f"cupti.library={options.cupti}")
    sets = [word for setting in wanted for word in ("--set", setting)]
    subprocess.run([options.build / "cuspan", "run", *sets, "--file", spans, sys.executable, __file__, "--inside"], check=True,
                   timeout=300)
    stat = [options.build / "cuspan", "stat", "--by", "function", spans]
    print(", ".join(settings), flush=True)
    subprocess.run([*stat, "--top", "8"], check=True)
    rows = json.loads(subprocess.run([*stat, "--json"], check=True, capture_output=True, text=True).stdout)["code"]
    made, = Path(folder).glob("report*")
    return {row.get("function", row["place"]): row for row in rows}, json.loads(made.read_text())["counters"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--cupti")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside()
        return 0
    options.build = options.build.resolve()
    failed = []

    def check(is_right, what):
        if not is_right:
            failed.append(what)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for period in 1, 1000:  # a node's stack is always taken
            rows, counters = table(options, folder, "detail=graph-nodes", f"capture.launch_stacks_period={period}")
            total = sum(row["self_ns"] for row in rows.values())
            captured = sum(rows[name]["self_ns"] for name in ("product", "activation") if name in rows)
            check(captured >= 0.95 * total, f"period {period}: {captured} of {total} ns are on the captured lines")
            check(rows.get("replay", {"self_ns": 0})["self_ns"] <= 0.01 * total, f"period {period}: the replay's line has GPU time")
            check(counters["graph_nodes_unlinked"] == 0, f"period {period}: nodes without their call")
            check(counters["code_unknown"] == 0, f"period {period}: unknown stacks")
        rows, _ = table(options, folder, "detail=default")
        total = sum(row["self_ns"] for row in rows.values())
        check(rows["replay"]["self_ns"] >= 0.8 * total, "detail default: the graph's time is not on the replay's line")
    print("\n".join(failed) or "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
