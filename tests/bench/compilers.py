#!/usr/bin/env python3
"""Compares two builds of cuspan, for example by two compilers, in one interleaved run.

    compilers.py BUILD REFERENCE [--rounds N] [--json OUT.json]

In each round, each build's pipeline_bench runs on the recording torch_inference: first the one, then the other, and the other
way around in the next round. Prints CPU times per span in both, and the median of the ratios by round with its 95 % interval:
`encode` is the whole chain from playing the recording to encoded spans, `stages` the chain without the playing. Instructions
are counted by guard.py.

    cmake --preset release && cmake --build --preset release
    tools/release/build.sh x86_64 --tests pipeline_bench callback_bench
    tests/bench/compilers.py build/release/x86_64 build
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import paired

ROOT = Path(__file__).resolve().parents[2]
RECORDING = ROOT / "examples/recordings/torch_inference.cuspanrec"
CHAINS = ("fill", "encode")  # without cuspan's stages, and up to the last one
ROUND = ("--repeat", "100", "--rounds", "1", "--json")


def figures_of(build):
    """ns a span, in CPU time of the thread: {chain: ...}, of one run of each, and cuspan's own stages."""
    found = {}
    for chain in CHAINS:
        run = subprocess.run([build / "pipeline_bench", "--only", chain, *ROUND, RECORDING], check=True, capture_output=True, text=True)
        found[chain] = json.loads(run.stdout)["ns"]
    return {**found, "stages": found["encode"] - found["fill"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    builds = {"build": options.build, "reference": options.reference}
    for build in builds.values():
        if not (build / "pipeline_bench").exists():
            sys.exit(f"compilers: {build} has no pipeline_bench: build the tests there")
    runs = []
    for number in range(options.rounds):
        for config in sorted(builds, reverse=number % 2 == 1):
            runs.append({"app": "pipeline", "config": config, "series": "rounds", "round": number, "figures": figures_of(builds[config])})
    for figure in ("encode", "stages"):
        ratio = paired.ratio(runs, "pipeline", "build", "reference", figure)
        both = [paired.value(runs, "pipeline", config, figure).median for config in ("build", "reference")]
        print(f"{figure:10} {both[0]:7.1f} and {both[1]:7.1f} ns a span: {ratio.median:.3f} times ({ratio.low:.3f} to {ratio.high:.3f})")
    if options.json:
        options.json.write_text(json.dumps(runs, indent=1) + "\n")


if __name__ == "__main__":
    main()
