#!/usr/bin/env python3
"""The cost of following vLLM, on this machine's GPU: the throughput with each mode of tests/gpu/programs/engines/vllm_cost.py, as a
ratio of that without, in neighboring blocks of one process, and in pairs of processes with and without cuspan. With two GPUs, the
processes of a pair run beside each other, and change their GPUs from pair to pair. Also in turns of 64 iterations of the same batch,
where each is compared with its two neighbors.

    tests/bench/engines.py OUTDIR [--size 1b] [--rounds 18] [--turns 8] [--pairs 4] [--cuspan build/cuspan] [--set KEY=VALUE]...

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
PAIR_ROUNDS = 6


def start(options, name, modes, rounds, is_followed, gpu=0):
    command = [sys.executable, ROOT / "tests/gpu/programs/engines/vllm_cost.py", options.size, rounds, options.out / f"{name}.json", *modes]
    if is_followed:
        settings = [word for one in options.set for word in ("--set", one)]
        command = [options.cuspan, "run", *settings, "--file", options.out / f"{name}.jsonl", "--", *command]
    path = os.pathsep.join([str(ROOT / "tests/gpu/programs/engines"), *([str(ROOT / "python")] if is_followed else []), os.environ.get("PYTHONPATH", "")])
    with (options.out / f"{name}.log").open("w") as log:
        return subprocess.Popen([str(word) for word in command], stdout=log, stderr=log,
                                env={**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": str(gpu)})


def end(options, name, process):
    if process.wait():
        sys.exit(f"{name} failed with status {process.returncode}: see {options.out / name}.log")
    for spans in options.out.glob(f"{name}.jsonl*"):
        spans.unlink()
    return json.loads((options.out / f"{name}.json").read_text())


def say(what, ratios):
    low, high = interval(ratios) or (min(ratios), max(ratios))
    label = "95 % interval" if interval(ratios) else "extremes"
    print(f"{what}: {statistics.median(ratios):.4f} of the throughput ({label} {low:.4f} to {high:.4f}, {len(ratios)} values)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="1b")
    parser.add_argument("--rounds", type=int, default=18)
    parser.add_argument("--turns", type=int, default=8, help="blocks of about 1,000 iterations")
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
        made = end(options, "modes", start(options, "modes", MODES, options.rounds, True))
        print(f"{options.size}: {sum(one['iterations'] for one in made['blocks'])} iterations", flush=True)
        for what, value in (("blocks", speed), ("iterations that decode", pace), ("the fastest tenth of them", fast_pace)):
            turns = [{one["mode"]: value(one) for one in made["blocks"] if one["round"] == turn} for turn in range(options.rounds)]
            for mode in MODES[1:]:
                say(f"{options.size}, one process, {what}, {mode} against asleep", [turn[mode] / turn["asleep"] for turn in turns])
    if options.turns:
        made = end(options, "turns", start(options, "turns", ["turns"], options.turns, True))
        print(f"{options.size}: {sum(one['iterations'] for one in made['blocks'])} iterations", flush=True)
        ratios = {mode: [] for mode in MODES[1:]}
        for block in made["blocks"]:
            for before, here, after in zip(block["turns"], block["turns"][1:], block["turns"][2:]):
                if here[0] in ratios and before[0] == after[0] == "asleep":
                    ratios[here[0]].append((before[1] + after[1]) / 2 / here[1])
        for mode, values in ratios.items():
            say(f"{options.size}, one process, turns of iterations that decode, {mode} against asleep", values)
    import torch

    has_two, paces = torch.cuda.device_count() > 1, {"none": [], "some": []}
    for pair in range(options.pairs):
        modes, running = ("none", "some") if pair % 2 else ("some", "none"), {}
        for gpu, mode in enumerate(modes):
            running[mode] = start(options, f"{mode}{pair}", [mode], PAIR_ROUNDS, mode == "some", gpu if has_two else 0)
            if not has_two:
                running[mode].wait()
        for mode in modes:
            made = end(options, f"{mode}{pair}", running[mode])
            paces[mode].append([statistics.median(map(value, made["blocks"])) for value in (pace, fast_pace)])
            print(f"{options.size}, {mode}: ready in {made['ready']:.1f} s, {paces[mode][-1][0]:,.1f} iterations a second that decode", flush=True)
    if options.pairs:
        for at, what in enumerate(("iterations that decode", "the fastest tenth of them")):
            say(f"{options.size}, pairs of processes, {what}, some against none",
                [some[at] / none[at] for none, some in zip(paces["none"], paces["some"])])


if __name__ == "__main__":
    main()
