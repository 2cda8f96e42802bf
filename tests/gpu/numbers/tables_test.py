#!/usr/bin/env python3
"""Compares `cuspan stat` of programs on a real GPU with CUPTI's records of the same run, to the nanosecond. Called by
run.sh and numbers.sh.

    tables_test.py BUILD OUT CUPTI-LIBRARY -- PROGRAM...       (a PROGRAM is a command line)

Each program runs four times. Recorded: the recording's tables are compared with its records as
tests/support/recording.py reads them, including calls, latencies and memory. Under `cuspan stat`, and with its spans in
a file: with record_tap.c in front of CUPTI, which writes the GPU's records independently. And as users run it: counts
and bytes equal those of the recording, because the programs do the same work each time.
"""

import json
import os
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks import ROOT, Checks, Failure, run  # noqa: E402
from tables_check import Comparison, Raw  # noqa: E402

LIMIT = 60
# Space for bursts of many threads, and spans as JSON, because everything must be there. Graphs as in a recording,
# because otherwise the first ones may show their nodes.
ROOM = ["--set", "rings.total_bytes=67108864", "--set", "memory_bytes_max=268435456", "--set", "exit_deadline_ms=20000",
        "--set", "cupti.graph_records=always"]
SAME_WORK = {"kernels": ("full_name", "count"), "copies": ("kind", "from", "to", "count", "bytes"),
             "calls": ("name", "api", "count", "errors"), "streams": ("device", "count")}
# Calls whose number depends on when the GPU finishes, or on what CUDA has loaded before.
VARYING = ("cudaEventQuery", "cudaStreamQuery")


def build_tap(cupti, folder):
    """Puts record_tap.so in front of that CUPTI. The tap is linked with a library without code that has CUPTI's whole
    path as its name: with the name libcupti.so.13, the tap would get the one of PyTorch."""
    cupti, folder = Path(cupti).resolve(), Path(folder).resolve()
    tap, path = folder / "record_tap.so", folder / "record_tap_path.so"
    run(["cc", "-shared", "-nostdlib", "-x", "c", os.devnull, "-o", path, f"-Wl,-soname,{cupti}"]).wanted()
    run(["cc", "-shared", "-fPIC", "-O2", f'-DTAP_CUPTI="{cupti}"', ROOT / "tests/gpu/programs/record_tap.c", "-o", tap,
         "-Wl,--no-as-needed", path, "-ldl"]).wanted()
    return tap


def of_tap(path, said):
    """The records that the tap has written. `said` is the output of a program with the tap."""
    if not path.exists():
        raise Failure(f"the tap has written nothing: {said.strip()}")
    return Raw.of_tap(path)


class Tables:
    def __init__(self, checks, build, cupti, folder):
        self.checks, self.cuspan, self.cupti, self.folder = checks, Path(build).resolve() / "cuspan", cupti, Path(folder)

    def program(self, *words, tap=None, statuses=(0,), **environment):
        """Runs cuspan with these arguments, the last of which are a program."""
        return run([self.cuspan, words[0], "--set", f"cupti.library={tap or self.cupti}", *ROOM, *words[1:]], LIMIT,
                   **environment).wanted(*statuses)

    def tables(self, file, *options):
        done = run([self.cuspan, "stat", "--json", "--top", "0", *options, file], LIMIT).wanted()
        if done.err.strip():
            raise Failure(f"cuspan stat says: {done.err.strip()}")
        return json.loads(done.out)

    def compare(self, what, tables, raw):
        found = Comparison(tables, raw)
        self.checks.none(found.differences, f"{what}: {sum(found.compared.values())} figures are CUPTI's, of "
                         f"{len(raw.work)} records, {len(raw.calls or [])} calls")
        self.checks.check(raw.work and not raw.without_times, f"{what}: the records have times ({raw.without_times} have none)")
        return found

    def recorded(self, name, command):
        target = self.folder / f"{name}.cuspanrec"
        target.unlink(missing_ok=True)
        self.program("record", "-q", "-o", target, "--", *command)
        raw = Raw.of_recording(target)
        self.checks.none([f"{key} {count}" for key, count in raw.losses.items() if count], "recorded: nothing is lost")
        tables = self.tables(target)
        found = self.compare("recorded", tables, raw)
        if not found.memory_is_told:
            self.checks.leave_out("memory: the program allocates by calls that tables_check.py doesn't follow")
        return tables

    def live(self, name, command, tap):
        target, records = self.folder / f"{name}-live.json", self.folder / f"{name}-live.records"
        for old in target, records:
            old.unlink(missing_ok=True)
        done = self.program("stat", "--json", "--top", "0", "-o", target, "--", *command, tap=tap, TAP_FILE=records)
        self.compare("live", json.loads(target.read_text()), of_tap(records, done.err))

    def of_spans(self, name, command, tap):
        spans, records = self.folder / f"{name}.jsonl", self.folder / f"{name}-spans.records"
        for old in spans, records:
            old.unlink(missing_ok=True)
        done = self.program("run", "--file", spans, "--", *command, tap=tap, TAP_FILE=records)
        self.compare("of the spans' file", self.tables(spans), of_tap(records, done.err))

    def plain(self, name, command, recorded):
        target = self.folder / f"{name}-plain.json"
        bare = run(command, LIMIT).wanted()
        done = self.program("stat", "--json", "--top", "0", "-o", target, "--", *command)
        self.checks.check(done.out == bare.out, "under cuspan stat the program's output is its own")
        tables = json.loads(target.read_text())
        for table, fields in SAME_WORK.items():
            one, two = ({json.dumps([row.get(field) for field in fields]) for row in of[table] if row.get("name") not in VARYING}
                        for of in (recorded, tables))
            self.checks.none(sorted(one ^ two), f"live and recorded, another run of the same work: {table} agree in {fields}")

    def all(self, command, tap):
        name = Path(command[-1] if command[0].endswith(("python3", "python")) else command[0]).stem
        kept = {}
        self.checks.part(f"{name} recorded", lambda: kept.update(tables=self.recorded(name, command)))
        if tap:
            self.checks.part(f"{name} live", self.live, name, command, tap)
            self.checks.part(f"{name} spans", self.of_spans, name, command, tap)
        if kept:
            self.checks.part(f"{name} plain", self.plain, name, command, kept["tables"])


def main():
    build, folder, cupti, dashes, *programs = sys.argv[1:]
    assert dashes == "--" and programs, __doc__
    os.makedirs(folder, exist_ok=True)
    checks = Checks("tables", folder)
    tap = []
    checks.where = "the tap"
    if b"cuptiActivityRegisterCallbacks_v2" in Path(cupti).read_bytes():
        checks.part("the tap", lambda: checks.check(tap.append(build_tap(cupti, folder)) is None, f"stands before {cupti}"))
    else:
        checks.leave_out(f"{cupti} is older than 13.3: its records don't say themselves where their fields lie")
    for program in programs:
        Tables(checks, build, cupti, Path(folder).resolve()).all(shlex.split(program), tap[0] if tap else None)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
