#!/usr/bin/env python3
"""The cost of following vLLM, on this machine's GPU: the throughput with each mode of tests/gpu/programs/engines/vllm_cost.py, as a
ratio of that without, in neighboring blocks of one process, and in pairs of processes with and without cuspan.

    tests/bench/engines.py OUTDIR [--size 1b] [--rounds 18] [--pairs 4] [--cuspan build/cuspan] [--set KEY=VALUE]...

Needs python3 with vLLM and PyTorch. Prints the medians with 95 % intervals, and writes what it measured to OUTDIR."""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from paired import interval

ROOT = Path(__file__).resolve().parents[2]
MODES = ["asleep", "some", "all"]


def run(options, name, modes, rounds, is_followed):
    target = options.out / f"{name}.json"
    command = [sys.executable, ROOT / "tests/gpu/programs/engines/vllm_cost.py", options.size, rounds, target, *modes]
    if is_followed:
        settings = [word for one in options.set for word in ("--set", one)]
        command = [options.cuspan, "run", *settings, "--file", options.out / f"{name}.jsonl", "--", *command]
    path = os.pathsep.join([str(ROOT / "tests/gpu/programs/engines"), *([str(ROOT / "python")] if is_followed else []), os.environ.get("PYTHONPATH", "")])
    with (options.out / f"{name}.log").open("w") as log:
        status = subprocess.run([str(word) for word in command], stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
    if status:
        sys.exit(f"{name} failed with status {status}: see {options.out / name}.log")
    for spans in options.out.glob(f"{name}.jsonl*"):
        spans.unlink()
    return json.loads(target.read_text())


def say(what, ratios):
    low, high = interval(ratios) or (min(ratios), max(ratios))
    label = "95 % interval" if interval(ratios) else "extremes"
    print(f"{what}: {statistics.median(ratios):.4f} of the throughput ({label} {low:.4f} to {high:.4f}, {len(ratios)} values)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="1b")
    parser.add_argument("--rounds", type=int, default=18)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--cuspan", default=ROOT / "build/cuspan")
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    if not importlib.util.find_spec("vllm"):
        sys.exit(f"{sys.executable} has no vLLM: install vllm==0.24.0, or use the Python that has it")
    options.out.mkdir(parents=True, exist_ok=True)

    def speed(one):
        return one["tokens"] / one["seconds"]

    def pace(one):
        return 1 / one["decode_seconds"]

    def fast_pace(one):
        return 1 / one["fast_seconds"]

    if options.rounds:
        made = run(options, "modes", MODES, options.rounds, True)
        print(f"{options.size}: {sum(one['iterations'] for one in made['blocks'])} iterations", flush=True)
        for what, value in (("blocks", speed), ("iterations that decode", pace), ("the fastest tenth of them", fast_pace)):
            turns = [{one["mode"]: value(one) for one in made["blocks"] if one["round"] == turn} for turn in range(options.rounds)]
            for mode in MODES[1:]:
                say(f"{options.size}, one process, {what}, {mode} against asleep", [turn[mode] / turn["asleep"] for turn in turns])
    medians = {"none": [], "some": []}
    for pair in range(options.pairs):
        for mode in ("none", "some") if pair % 2 else ("some", "none"):
            made = run(options, f"{mode}{pair}", [mode], 6, mode == "some")
            medians[mode].append(statistics.median(map(pace, made["blocks"])))
            print(f"{options.size}, {mode}: ready in {made['ready']:.1f} s, {medians[mode][-1]:,.1f} iterations a second that decode", flush=True)
    if options.pairs:
        say(f"{options.size}, pairs of processes, some against none", [some / none for none, some in zip(medians["none"], medians["some"])])


if __name__ == "__main__":
    main()
