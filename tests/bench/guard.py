#!/usr/bin/env python3
"""Limits the instructions per span: they are counted, so the result is the same on a busy and on an idle machine.

    guard.py [--build DIR] [--accept] [--json OUT.json]

valgrind's callgrind counts pipeline_bench on two recordings, up to each stage and for two numbers of repetitions. The
difference excludes starting and loading, and a stage's cost is the difference to the stage before. Compressing is
excluded, because its libraries select code by the processor's features. libc's memcpy also does, but valgrind presents
a processor without AVX-512 to all, and copies are short here. Of the callbacks, the four of one launch are counted,
inside callbacks_handle only, and again with the record of the kernel's name, which a launch writes with a CUPTI before
13.5. pipeline_bench counts allocations after the warm-up.

The figures of tests/bench/guard.json apply to one compiler, its major version and one kind of processor, with the
options of the preset `release`. A rise above 1 % fails, and so does a fall of 3 %: accepting it keeps the guard tight. Exit
status: 0, 1, or 77 if this compiler has no figures yet."""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "tests/bench/guard.json"
PROGRAMS = ("pipeline_bench", "callback_bench")
RECORDINGS = ("torch_inference", "service")
STAGES = ("fill", "decode", "correlate", "encode")
REPETITIONS = (4, 12)
LAUNCHES = (1000, 5000)
CALLBACKS = {"callbacks of a launch": (), "callbacks of a launch, CUPTI < 13.5": ("names",)}
MAY_RISE, MAY_FALL = 0.01, 0.03
ACCEPT = "tests/bench/guard.sh --accept"
SKIPPED = 77


class Trouble(Exception):
    """The reason why something cannot be counted, in one line."""


# --- counting ---

def collected(said):
    """callgrind's total, from its output."""
    found = re.search(r"Collected : (\d+)", said)
    if not found:
        raise Trouble(f"callgrind has counted nothing: {said.strip()[-300:]}")
    return int(found.group(1))


def callgrind(command, *options):
    """(instructions, the program's JSON output)"""
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options, *map(str, command)],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        raise Trouble(f"{Path(command[0]).name} has failed under valgrind: {run.stderr.strip()[-300:]}")
    return collected(run.stderr), json.loads(run.stdout)


def without_debug(build, folder):
    """Copies of the programs without debugging information: some valgrinds fail on clang's, and it takes them time."""
    for program in PROGRAMS:
        if subprocess.run(["strip", "--strip-debug", "-o", folder / program, build / program], check=False).returncode:
            raise Trouble(f"{build / program} is not there or no program: build it first")


def chain(build, recording, stage, repetitions):
    return callgrind([build / "pipeline_bench", "--only", stage, "--rounds", 1, "--repeat", repetitions,
                      ROOT / f"examples/recordings/{recording}.cuspanrec"])


def callbacks(build, launches, names):
    return callgrind([build / "callback_bench", "--counted", launches, *names], "--toggle-collect=callbacks_handle")


def by_stage(recording, chains):
    """The cost of each stage, from {stage: [(instructions, said), (instructions, said)]}: a difference of
    differences."""
    spans = [said["spans"] for _, said in chains[STAGES[-1]]]
    if spans[1] <= spans[0]:
        raise Trouble(f"{recording}: no spans were made")
    cost = {stage: (runs[1][0] - runs[0][0]) / (spans[1] - spans[0]) for stage, runs in chains.items()}
    return {f"{recording}/{stage}": round(cost[stage] - cost[before], 1) for before, stage in zip(STAGES, STAGES[1:])}


def by_launch(runs):
    (few, said), (many, said_more) = runs
    if said["lost"] or said_more["lost"]:
        raise Trouble("callback_bench has lost records: its ring was full")
    return round((many - few) / (said_more["launches"] - said["launches"]), 1)


def measure(build):
    """{"instructions": {figure: a span or a launch}, "allocations": {recording: after the warm-up}}"""
    with tempfile.TemporaryDirectory() as folder:
        without_debug(build, Path(folder))
        return measure_in(Path(folder))


def measure_in(build):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        started = {recording: {stage: [pool.submit(chain, build, recording, stage, n) for n in REPETITIONS]
                               for stage in STAGES} for recording in RECORDINGS}
        launches = {figure: [pool.submit(callbacks, build, n, names) for n in LAUNCHES] for figure, names in CALLBACKS.items()}
        found = {"instructions": {figure: by_launch([run.result() for run in runs]) for figure, runs in launches.items()},
                 "allocations": {}}
        for recording, stages in started.items():
            chains = {stage: [run.result() for run in runs] for stage, runs in stages.items()}
            found["instructions"].update(by_stage(recording, chains))
            found["allocations"][recording] = max(said["allocations"] for runs in chains.values() for _, said in runs)
    return found


# --- the compiler ---

def compiler_of(description, machine):
    """A name for the figures, from CMake's description of its C compiler."""
    def value(name):
        found = re.search(rf'^set\(CMAKE_C_COMPILER_{name} "([^"]+)"\)', description, re.M)
        if not found:
            raise Trouble("CMake has not said which compiler it uses")
        return found.group(1)
    name = {"GNU": "gcc", "Clang": "clang"}.get(value("ID"), value("ID"))
    return f"{name}-{value('VERSION').split('.')[0]} {machine}"


def check_options(cache):
    """The figures apply only to the options of the preset `release`."""
    def value(name):
        found = re.search(rf"^{name}:[A-Z]+=(.*)$", cache, re.M)
        return found.group(1) if found else ""
    if value("CMAKE_BUILD_TYPE") != "RelWithDebInfo" or value("CUSPAN_SANITIZE"):
        raise Trouble("what is counted must be built by the preset `release`, without sanitizers")


def compiler(build):
    found = sorted(build.glob("CMakeFiles/*/CMakeCCompiler.cmake"))
    if not found:
        raise Trouble(f"{build} is no build folder: cmake --preset release -DCUSPAN_BUILD_TESTS=ON, then build it")
    check_options((build / "CMakeCache.txt").read_text(encoding="utf-8"))
    return compiler_of(found[-1].read_text(encoding="utf-8"), platform.machine())


# --- comparing ---

def compare(committed, found):
    """Lines about differences from the committed figures; empty if there are none."""
    wrong = []
    for name in sorted({*committed["instructions"], *found["instructions"]}):
        before, now = committed["instructions"].get(name), found["instructions"].get(name)
        if before is None or now is None:
            wrong.append(f"{name}: {'there is no committed figure' if before is None else 'is no longer counted'}")
        elif now > before * (1 + MAY_RISE):
            wrong.append(f"{name}: dearer, from {before} to {now} instructions ({now / before - 1:+.1%})")
        elif now < before * (1 - MAY_FALL):
            wrong.append(f"{name}: cheaper, from {before} to {now} instructions ({now / before - 1:+.1%})")
    for name in sorted({*committed["allocations"], *found["allocations"]}):
        before, now = committed["allocations"].get(name), found["allocations"].get(name)
        if before != now:
            wrong.append(f"{name}: allocations after the warm-up, from {before} to {now}")
    return wrong


def table(found, committed):
    lines = []
    for name, now in found["instructions"].items():
        before = committed["instructions"].get(name) if committed else None
        was = f"   committed {before:8.1f}   {now / before - 1:+.1%}" if before else ""
        lines.append(f"{name:35} {now:8.1f} instructions{was}")
    lines += [f"{name:35} {now:8} allocations after the warm-up" for name, now in found["allocations"].items()]
    return "\n".join(lines)


def skip(why):
    print(f"skipped: bench/guard: {why}")
    return SKIPPED


def judge(key, all_committed, found):
    """Prints the result and returns the exit status."""
    committed = all_committed.get(key)
    print(f"{key}, a span (a launch)\n{table(found, committed)}")
    if not committed:
        return skip(f"there are no figures of {key} yet; {ACCEPT} accepts those above")
    wrong = compare(committed, found)
    for line in wrong:
        print(f"failed: {line}")
    if wrong:
        print(f"If that is as it should be: {ACCEPT}")
    return int(bool(wrong))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--accept", action="store_true", help="write what is found to guard.json")
    parser.add_argument("--json", type=Path, help="write what is found there, too")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        why = "valgrind is missing: tests/run.sh installs it"
        return 1 if os.environ.get("CI") == "true" and not print(f"failed: {why}") else skip(why)
    committed = json.loads(COMMITTED.read_text(encoding="utf-8")) if COMMITTED.exists() else {}
    try:
        key, found = compiler(args.build), measure(args.build)
    except Trouble as trouble:
        print(f"failed: {trouble}")
        return 1
    if args.json:
        args.json.write_text(json.dumps({"compiler": key, **found}, indent=1) + "\n", encoding="utf-8")
    if not args.accept:
        return judge(key, committed, found)
    print(f"accepted as the figures of {key}:\n{table(found, committed.get(key))}")
    text = json.dumps({**committed, key: found}, indent=1, sort_keys=True)
    COMMITTED.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
