#!/usr/bin/env python3
"""Counts the stays of a kernel's record on its way through the agent, from the decoder to the sink of spans.

    tools/count_stays.py [--files] [--show] [--most N]     --files: by file instead of folder; --show: the functions of the median
                                                            record; --most: fails if a record makes more

A stay is a sequence of calls of functions in one folder, without a call of another folder in between. base and model don't count:
they know no stage. An agent built with gcc's -finstrument-functions plays a recording, and each call of its pipeline thread is
noted. A way begins where the pipeline takes the record from capture, and ends where the span is given to the encoder."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build-stays"
RECORDING = ROOT / "examples/recordings/threads.cuspanrec"
BEGIN, END = "gpu_join_add", "on_span"
GROUND = ("base", "model")

# Linked into each library and program; only the agent's library writes.
HOOK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern const char __ehdr_start[];
static FILE *calls;
void __cyg_profile_func_enter(void *function, void *site)
{
    if (!calls) {
        const char *path = getenv("STAYS");
        Dl_info own;
        int is_agent = dladdr(__ehdr_start, &own) && strstr(own.dli_fname, "/libcuspan.so");
        calls = fopen(path && is_agent ? path : "/dev/null", "ae");
    }
    fprintf(calls, "%d %lx\n", (int)gettid(), (unsigned long)((const char *)function - __ehdr_start));
}
void __cyg_profile_func_exit(void *function, void *site) {}
"""


def build():
    hook = BUILD / "hook.o"
    BUILD.mkdir(exist_ok=True)
    subprocess.run(["cc", "-O2", "-fPIC", "-fvisibility=hidden", "-x", "c", "-c", "-o", hook, "-"], input=HOOK, text=True, check=True)
    linked = [f"-DCMAKE_{kind}_LINKER_FLAGS={hook}" for kind in ("EXE", "MODULE", "SHARED")]
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCUSPAN_BUILD_TESTS=OFF",
                    "-DCMAKE_C_FLAGS=-finstrument-functions", *linked], **quiet)
    subprocess.run(["cmake", "--build", BUILD], **quiet)


def play():
    """[(thread, offset of the function)] of all calls in the agent's library, in order."""
    with tempfile.TemporaryDirectory() as folder:
        calls = Path(folder, "calls")
        subprocess.run([BUILD / "cuspan", "replay", "--file", Path(folder, "spans.jsonl"), RECORDING], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "STAYS": str(calls)})
        return [tuple(line.split()) for line in calls.read_text(encoding="utf-8").splitlines()]


def places(offsets):
    """{offset: (function, file below src)}"""
    offsets = sorted(offsets)
    done = subprocess.run(["addr2line", "-f", "-e", BUILD / "libcuspan.so"], input="\n".join(offsets), stdout=subprocess.PIPE, text=True, check=True)
    lines = done.stdout.splitlines()
    return {offset: (lines[2 * i], re.sub(r".*/src/|:.*", "", lines[2 * i + 1])) for i, offset in enumerate(offsets)}


def ways(calls, named):
    """The functions of each record of its way, as (function, file)."""
    threads = {}
    for thread, offset in calls:
        function = named[offset]
        way = threads.get(thread)
        if function[0] == BEGIN:
            threads[thread] = [function]
        elif way is not None:
            way.append(function)
            if function[0] == END:
                yield threads.pop(thread)


def stays(way, by_file):
    found = []
    for _, file in way:
        place = file if by_file else file.rpartition("/")[0]
        if file.split("/")[0] not in GROUND and found[-1:] != [place]:
            found.append(place)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", action="store_true")
    options.add_argument("--show", action="store_true")
    options.add_argument("--most", type=int, metavar="N")
    asked = options.parse_args()
    build()
    calls = play()
    named = places({offset for _, offset in calls})
    kernels = [way for way in ways(calls, named) if any("kernel_name" in function for function, _ in way)]
    if not kernels:
        sys.exit(f"no kernel's record led from {BEGIN} to {END}")
    kernels.sort(key=lambda way: len(stays(way, asked.files)))
    median, most = kernels[(len(kernels) - 1) // 2], len(stays(kernels[-1], asked.files))
    if asked.show:
        print("\n".join(f"{file:<45} {function}" for function, file in median if file.split("/")[0] not in GROUND))
    chosen = stays(median, asked.files)
    print(f"{len(kernels)} kernels; median: {len(chosen)} stays in {len(set(chosen))} places; most: {most}")
    print(", ".join(f"{place} {count}" for place, count in Counter(chosen).most_common()))
    if asked.most and most > asked.most:
        sys.exit(f"a kernel's record makes {most} stays, and may make {asked.most}: tools/count_stays.py --show")


if __name__ == "__main__":
    main()
