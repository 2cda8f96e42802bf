#!/usr/bin/env python3
"""Compares the tables of `cuspan stat` with those of PyTorch's profiler and of Nsight Systems, on a GPU. Called by
numbers.sh.

    profilers_test.py BUILD OUT CUPTI-LIBRARY -- PROGRAM...       (a PROGRAM is a command line)

PyTorch's profiler and cuspan in the same run (`cuspan run --share`): as many kernels, copies and memsets by name, and
their times within CLOCKS_NS each, and JUMP_NS in total: both come from one record of the GPU, but PyTorch has CUPTI
convert its clock into ticks of the processor, and converts these back. PyTorch's profiler alone, and Nsight Systems, in
separate runs: counts and bytes are exactly equal, because the work is the same each time; times are within NOISE,
because the runs differ.
"""

import json
import re
import shlex
import sqlite3
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[at] / folder) for at, folder in ((0, ""), (2, "bench"), (2, "support"))]
from checks import ROOT, Checks, Failure, has_torch, run  # noqa: E402
from compare import demangle  # noqa: E402
from gpu import find_nsys  # noqa: E402

LIMIT = 60
CLOCKS_NS, JUMP_NS = 32, 500  # a tick of the GPU's clock; and one new reference point for converting clocks
# For the time of all kernels, and the median of a kernel with so many executions, from run to run: the GPU's clock
# rises in the first milliseconds, and the first runs of a kernel find no instructions in the caches.
NOISE, NOISE_NS, NOISE_RUNS = 0.3, 1500, 8
COPY = re.compile(r"Memcpy (\w+) \((\w+) -> (\w+)\)")
COPY_KINDS = {"HtoD": "HostToDevice", "DtoH": "DeviceToHost", "DtoD": "DeviceToDevice", "HtoH": "HostToHost", "HtoA": "HostToArray",
              "AtoH": "ArrayToHost", "AtoA": "ArrayToArray", "AtoD": "ArrayToDevice", "DtoA": "DeviceToArray", "PtoP": "PeerToPeer"}


def spaceless(name):
    """Demanglers differ in their spaces."""
    return re.sub(r"\s+", "", name)


def of_events(events):
    """{kind: {name: [durations in ns]}}, copies by (kind, from, to), memsets together. PyTorch leaves very long names
    mangled."""
    plain = demangle(name for _, name, _ in events if name.startswith("_Z"))
    events = [(sort, plain.get(name, name), length) for sort, name, length in events]
    found = {"kernel": defaultdict(list), "copy": defaultdict(list), "fill": defaultdict(list)}
    for sort, name, length in events:
        if sort == "copy":
            match = COPY.match(name)
            name = (COPY_KINDS.get(match[1], match[1]), match[2].lower(), match[3].lower()) if match else name
        found[sort]["fill" if sort == "fill" else spaceless(name) if sort == "kernel" else name].append(length)
    return found


def of_tables(tables):
    """{kind: {name: (count, total_ns)}} of cuspan stat --json; for kernels also the median."""
    found = {"kernel": {spaceless(row["full_name"]): (row["count"], row["total_ns"], row["median_ns"]) for row in tables["kernels"]},
             "copy": {}, "fill": {}}
    for row in tables["copies"]:
        if row["kind"] == "fill":
            count, total = found["fill"].get("fill", (0, 0))
            found["fill"]["fill"] = count + row["count"], total + row["total_ns"]
        else:
            found["copy"][row["kind"], row["from"], row["to"]] = row["count"], row["total_ns"]
    return found


def counts_differ(events, tables):
    """Lines about items whose counts differ."""
    for sort in events:
        seen = Counter({name: len(lengths) for name, lengths in events[sort].items()})
        told = Counter({name: count for name, (count, *_) in tables[sort].items()})
        for name in sorted(seen.keys() | told.keys(), key=str):
            if seen[name] != told[name]:
                yield f"{sort} {name}: the profiler has {seen[name]}, cuspan stat {told[name]}"


def times_differ(events, tables, clocks_ns):
    """The same for a run that both traced: lines, and the largest difference for each piece of work."""
    largest, lines = 0.0, []
    for sort in events:
        for name, lengths in events[sort].items():
            count, total, *_ = tables[sort].get(name, (0, 0))
            apart = abs(sum(lengths) - total)
            largest = max(largest, apart / max(count, 1))
            if apart > clocks_ns * count + (JUMP_NS if clocks_ns else 0):
                lines.append(f"{sort} {name}: the profiler has {sum(lengths)} ns in {len(lengths)}, cuspan stat {total} in {count}")
    return lines, largest


def noise_differs(one, two):
    """Lines about times of two runs, {name: (count, total_ns, median_ns)} each, that differ by more than noise."""
    all_one, all_two = (sum(total for _, total, _ in side.values()) for side in (one, two))
    if abs(all_one - all_two) > NOISE * max(all_one, all_two) + NOISE_NS:
        yield f"all: {all_one} ns and {all_two} ns"
    for name in sorted(one.keys() & two.keys(), key=str):
        (runs, _, median), (_, _, other) = one[name], two[name]
        if runs >= NOISE_RUNS and abs(median - other) > NOISE * max(median, other) + NOISE_NS:
            yield f"{name}: {median} ns and {other} ns at the median"


def of_lengths(lengths):
    """{name: (count, total_ns, median_ns)}"""
    return {name: (len(of), sum(of), sorted(of)[(len(of) - 1) // 2]) for name, of in lengths.items()}


class Kineto:
    def __init__(self, checks, build, cupti, folder):
        self.checks, self.cuspan, self.cupti, self.folder = checks, Path(build).resolve() / "cuspan", cupti, Path(folder)

    def profiled(self, name, *command):
        out = self.folder / f"{name}-profiler.json"
        out.unlink(missing_ok=True)
        done = run([*command, sys.executable, ROOT / "tests/gpu/programs/torch_profiled.py", out], LIMIT).wanted()
        said = json.loads(out.read_text())
        self.checks.check(len(said["events"]) > 100, f"PyTorch's profiler has {len(said['events'])} pieces of GPU work")
        return said, done

    def table_of(self, said):
        """PyTorch's own table agrees with the events from which it was made."""
        seen = defaultdict(list)
        for _, name, length in said["events"]:
            seen[name].append(length)
        return [f"{name}: {count} in {total:.3f} us, its events {len(seen[name])} in {sum(seen[name]) / 1e3:.3f}"
                for name, (count, total) in said["averages"].items()
                if count != len(seen[name]) or abs(total * 1e3 - sum(seen[name])) > (1000 if float(total).is_integer() else 2) * count]

    def beside(self):
        spans = self.folder / "kineto-beside.jsonl"
        spans.unlink(missing_ok=True)
        said, _ = self.profiled("kineto-beside", self.cuspan, "run", "--share", "--set", f"cupti.library={self.cupti}", "--file",
                                spans, "--set", "exit_deadline_ms=20000", "--")
        tables = of_tables(json.loads(run([self.cuspan, "stat", "--json", "--top", "0", spans], LIMIT).wanted().out))
        events = of_events(said["events"])
        self.checks.none(self.table_of(said), "PyTorch's table (key_averages) is that of its events")
        self.checks.none(counts_differ(events, tables), "as many kernels, copies and fills by name, in the very same run")
        lines, largest = times_differ(events, tables, CLOCKS_NS)
        self.checks.none(lines, f"their times by name are within {CLOCKS_NS} ns for each (and {JUMP_NS}), in the very same run")
        self.checks.figure("largest difference for each piece of work", round(largest, 3), f"{largest:.3f} ns")

    def alone(self):
        said, _ = self.profiled("kineto-alone")
        target = self.folder / "kineto-alone-stat.json"
        run([self.cuspan, "stat", "--json", "--top", "0", "-o", target, "--set", f"cupti.library={self.cupti}", "--", sys.executable,
             ROOT / "examples/torch_inference.py"], LIMIT).wanted()
        tables, events = of_tables(json.loads(target.read_text())), of_events(said["events"])
        self.checks.none(counts_differ(events, tables), "as many as PyTorch's profiler alone has in another run of the work")
        kernels = of_lengths(events["kernel"])
        self.checks.none(noise_differs(kernels, tables["kernel"]),
                         f"kernels' times are within {100 * NOISE:.0f} % and {NOISE_NS} ns of PyTorch's, in runs of their own")
        for who, side in ("profiler", kernels), ("cuspan", tables["kernel"]):
            self.checks.figure(f"time of all kernels, {who}", sum(total for _, total, _ in side.values()))


# --- Nsight Systems ---

def of_sqlite(path):
    """({name: (count, total_ns, median_ns)} of kernels, {copy kind: (count, bytes)}, (memsets, bytes)); cuspan has
    Nsight's tables."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    there = {name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def rows(table, query):
        return database.execute(query).fetchall() if table in there else []
    lengths = defaultdict(list)
    for name, length in rows("CUPTI_ACTIVITY_KIND_KERNEL", "SELECT value, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL "
                             "JOIN StringIds ON StringIds.id = demangledName"):
        lengths[spaceless(name)].append(length)
    copies = rows("CUPTI_ACTIVITY_KIND_MEMCPY", "SELECT copyKind, count(*), sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY "
                  "GROUP BY copyKind")
    fills = rows("CUPTI_ACTIVITY_KIND_MEMSET", "SELECT count(*), coalesce(sum(bytes), 0) FROM CUPTI_ACTIVITY_KIND_MEMSET")
    database.close()
    return (of_lengths(lengths), {kind: (count, size) for kind, count, size in copies}, fills[0] if fills else (0, 0))


class Nsight:
    def __init__(self, checks, build, cupti, folder):
        self.checks, self.cuspan, self.cupti, self.folder = checks, Path(build).resolve() / "cuspan", cupti, Path(folder)
        self.nsys, self.works = find_nsys(), True

    def report_of(self, name, command):
        """Nsight Systems' SQLite file of a run of the program; None, after printing its output, if it cannot make
        one."""
        report, database = self.folder / f"{name}.nsys-rep", self.folder / f"{name}-nsys.sqlite"
        for old in report, database:
            old.unlink(missing_ok=True)
        done = run([self.nsys, "profile", "--trace=cuda,nvtx", "-s", "none", "--cpuctxsw=none", "-f", "true", "-o",
                    str(report).removesuffix(".nsys-rep"), *command], LIMIT)
        if report.exists():
            done = run([self.nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "-o", database, report], LIMIT)
        if database.exists():
            return database
        said = [line for line in (done.out + done.err).strip().splitlines() if line.strip()][-2:]
        self.checks.leave_out(f"{self.nsys} made no {'SQLite file' if report.exists() else 'report'} (status {done.status}): "
                              + " / ".join(said))
        return None

    def compare(self, command):
        name = Path(command[0]).stem
        theirs = self.report_of(name, command) if self.works else None
        self.works = bool(theirs)  # if it makes no report of one program, it makes none of the next
        if not theirs:
            return
        spans, ours = self.folder / f"{name}-nsight.jsonl", self.folder / f"{name}-cuspan.sqlite"
        spans.unlink(missing_ok=True)
        run([self.cuspan, "run", "--set", f"cupti.library={self.cupti}", "--file", spans, "--", *command], LIMIT).wanted()
        run([self.cuspan, "stat", "--sqlite", ours, spans], LIMIT).wanted()
        (kernels, copies, fills), (their_kernels, their_copies, their_fills) = of_sqlite(ours), of_sqlite(theirs)
        if not their_kernels:
            raise Failure(f"{theirs} has no kernels: is this Nsight Systems of another CUDA than the program?")
        one, two = ({name: count for name, (count, *_) in side.items()} for side in (their_kernels, kernels))
        self.checks.check(one == two, f"as many kernels by name as Nsight Systems has: {one}" + ("" if one == two else f", not {two}"))
        self.checks.check(copies == their_copies, f"copies and their bytes by kind: {their_copies}, cuspan has {copies}")
        self.checks.check(fills == their_fills, f"fills and their bytes: {their_fills}, cuspan has {fills}")
        self.checks.none(noise_differs(their_kernels, kernels), f"kernels' times are within {100 * NOISE:.0f} % and {NOISE_NS} ns")


def main():
    build, folder, cupti, dashes, *programs = sys.argv[1:]
    assert dashes == "--", __doc__
    checks = Checks("profilers", folder)
    kineto, nsight = (what(checks, build, cupti, Path(folder).resolve()) for what in (Kineto, Nsight))
    checks.where = "PyTorch's profiler"
    if has_torch():
        checks.part("beside PyTorch's profiler", kineto.beside)
        checks.part("PyTorch's profiler alone", kineto.alone)
    else:
        checks.leave_out("python3 has no PyTorch, or PyTorch finds no GPU")
    checks.where = "Nsight Systems"
    if nsight.nsys:
        for program in programs:
            checks.part(f"Nsight Systems, {Path(program).stem}", nsight.compare, shlex.split(program))
    else:
        checks.leave_out("no nsys on the PATH, in /opt/nvidia, or named by NSYS")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
