"""Computes the tables of `cuspan stat --json` again from CUPTI's raw records with other code, and lists the
differences. The records are those of a recording, read by tests/support/recording.py, or those that record_tap.c wrote
in the same run. Neither uses any code of cuspan.

    tables_check.py RECORDING TABLES.json       prints the differences; the exit status is 1 if there are any
"""

import json
import math
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import recording as recordings  # noqa: E402
from compare import demangle  # noqa: E402
from recording import DRIVER, GPU_WORK, GRAPH_TRACE, KERNEL, MEMCPY, MEMCPY_PEER, MEMSET, RUNTIME  # noqa: E402

CLASS = {KERNEL: "kernel", MEMCPY: "copy", MEMCPY_PEER: "copy", MEMSET: "fill", GRAPH_TRACE: "gpu"}
# CUPTI's numbers of the fields.
COPY_KIND, COPY_FROM, COPY_TO, COPY_BYTES, FILL_BYTES, KERNEL_NAME = 1, 2, 3, 5, 2, 24
ROLES = {KERNEL: (7, 8, 10, 11, 12, 22), MEMCPY: (6, 7, 8, 9, 10, 11), MEMCPY_PEER: (6, 7, 8, 9, 10, 15),
         MEMSET: (3, 4, 5, 6, 7, 8), GRAPH_TRACE: (2, 3, 4, 6, 7, 1)}
COPY_KINDS = ["unknown", "HostToDevice", "DeviceToHost", "HostToArray", "ArrayToHost", "ArrayToArray", "ArrayToDevice",
              "DeviceToArray", "DeviceToDevice", "HostToHost", "PeerToPeer"]
MEMORY_KINDS = ["unknown", "pageable", "pinned", "device", "array", "managed", "device_static", "managed_static"]
WAITING = "Synchronize"  # in the names of calls that wait
# Runtime calls by CUPTI's number: (kind of memory, index of the size among the parameters); the address is the first
# one.
ALLOCATIONS = {20: ("device", 1), 25: ("pinned", 1), 27: ("pinned", 1), 206: ("managed", 1), 373: ("pool", 1)}
PITCHED = 21  # (address, pitch, width, height): the size is pitch times height
FREES = {22, 26, 375}
DRIVER_ALLOCATES = re.compile(r"cuMem(Alloc|Create|Map|HostAlloc|Free)")
RUNTIME_ELSE = re.compile(r"cudaMalloc(?!Async$|Host$|Managed$|Pitch$)\w+|cudaHostRegister|cudaFree(?!Host$|Async$|Array$)\w+")


@dataclass
class Work:
    """A piece of GPU work. Spans have no zero length: the minimum is 1 ns."""
    sort: str
    name: str
    start: int
    end: int
    device: int
    context: int
    stream: int
    values: dict
    kind: int
    correlation: int
    called: int = None  # when its call started, if known

    @property
    def length(self):
        return self.end - self.start

    @property
    def delay(self):
        return None if self.called is None else self.start - self.called


def call_names():
    """{(domain, number): name}, from the table that is generated from NVIDIA's headers."""
    text = (ROOT / "src/model/cuda/calls_table.c").read_text()
    found = {}
    for domain, word in (DRIVER, "driver"), (RUNTIME, "runtime"):
        body = re.search(rf"call_table_{word}\[\d+\] = \{{\n(.*?)\n\}};", text, re.DOTALL)
        for number, name in re.findall(r"\[(\d+)\] = \{[^}]*\}, /\* (\w+) \*/", body[1]):
            found[domain, int(number)] = name
    return found


class Raw:
    """CUPTI's data of one run: `work`, and of a recording also `calls` and `memory`."""

    def __init__(self, work, calls=None, without_times=0, losses=None):
        self.work, self.calls, self.without_times, self.losses = work, calls, without_times, losses or {}

    @classmethod
    def of_recording(cls, path):
        content = recordings.read(path)
        called = {}
        for call in sorted(content.own_calls(), key=lambda call: call.start_ns, reverse=True):
            called[call.correlation_id] = call.start_ns  # the earliest
        records = [(a.kind, a.values, a.start_ns, a.end_ns, a.device_id, a.context_id, a.stream_id, a.correlation_id, a.name)
                   for a in content.gpu_work()]
        return cls(*works(records, called, content.own_calls()), content.losses)

    @classmethod
    def of_tap(cls, path):
        records = []
        for line in Path(path).read_text().splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "unknown":
                raise ValueError(f"{path}: the tap could not read a record of kind {rest}")
            fields = dict(re.findall(r"(\d+)=(.*?)(?= \d+=|$)", rest))
            kind, name = int(kind), fields.pop(str(KERNEL_NAME), None) if int(kind) == KERNEL else None
            values = {int(key): int(value) for key, value in fields.items()}
            records.append((kind, values, *(values.get(field, 0) for field in ROLES[kind]), name))
        return cls(*works(records, {}, None))


def works(records, called, calls):
    names = demangle(record[-1] for record in records if record[-1])
    found, without_times = [], 0
    for kind, values, start, end, device, context, stream, correlation, name in records:
        assert kind in GPU_WORK, kind
        if not start or not end:
            without_times += 1
            continue
        found.append(Work(CLASS[kind], names.get(name), start, max(end, start + 1), device, context, stream, values, kind,
                          correlation, called.get(correlation)))
    return found, calls, without_times


def nearest_rank(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def spread(values, total=True):
    found = {"count": len(values), "avg_ns": sum(values) // len(values), "median_ns": nearest_rank(values, 50),
             "p99_ns": nearest_rank(values, 99), "min_ns": min(values), "max_ns": max(values)}
    return {**found, "total_ns": sum(values)} if total else found


def union(works_):
    """Sorts all starts and ends, unlike the program, which merges intervals."""
    covered = depth = 0
    since = None
    for time, change in sorted([(w.start, -1) for w in works_] + [(w.end, 1) for w in works_]):
        if depth == 0 and change == -1:
            since = time
        depth -= change
        if depth == 0:
            covered += time - since
    return covered


def grouped(items, key):
    found = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return found


class Comparison:
    """`differences` is a list of lines, empty if the tables match CUPTI's data."""

    def __init__(self, tables, raw, every_call=True):
        """`every_call`: each recorded call must be in the tables; else those that caused GPU work, and of the others
        all or none with a name (the recording has more calls than the detail of the tables)."""
        self.tables, self.raw, self.every_call = tables, raw, every_call
        self.differences, self.compared = [], Counter()
        self.work = grouped(raw.work, lambda work: work.sort)
        self.kernels()
        self.copies()
        self.devices()
        self.streams()
        self.headline()
        if raw.calls is not None:
            self.calls()
            self.latency()
            self.memory()

    def same(self, what, got, want):
        self.compared[what.split()[0]] += 1
        if isinstance(want, float):
            is_same = got is not None and math.isclose(got, want, rel_tol=1e-6, abs_tol=1e-9)
        else:
            is_same = got == want
        if not is_same:
            self.differences.append(f"{what}: the tables have {got}, CUPTI's records {want}")

    def rows(self, table, key, wanted):
        """The table's rows by key, after comparing the set of keys."""
        found = {key(row): row for row in self.tables[table]}
        self.same(f"{table} rows", sorted(map(str, found)), sorted(map(str, wanted)))
        self.same(f"{table} number of rows", len(self.tables[table]), len(wanted))
        return [(name, found[name], wanted[name]) for name in wanted if name in found]

    def values(self, table, name, row, want):
        for field, value in want.items():
            self.same(f"{table} {name} {field}", row.get(field), value)

    def kernels(self):
        of = grouped(self.work["kernel"], lambda work: work.name)
        all_ns = sum(work.length for work in self.work["kernel"])
        for name, row, works_ in self.rows("kernels", lambda row: row["full_name"], of):
            want = spread([work.length for work in works_])
            self.values("kernels", name, row, {**want, "share": want["total_ns"] / all_ns})
            last = {json.dumps([work.values[field] for field in range(first, first + 3)], separators=(",", ":"))
                    for first in (13,) for work in works_ if first in work.values}
            if len(last) == 1:  # the table shows one of several grids
                self.same(f"kernels {name} grid", row["grid"], last.pop())

    def copies(self):
        def key(work):
            if work.sort == "fill":
                return ("fill",)
            return (COPY_KINDS[work.values.get(COPY_KIND, 0)], MEMORY_KINDS[work.values.get(COPY_FROM, 0)],
                    MEMORY_KINDS[work.values.get(COPY_TO, 0)])
        of = grouped(self.work["copy"] + self.work["fill"], key)
        rows = defaultdict(list)  # memsets may be in several rows, by memory
        for row in self.tables["copies"]:
            rows[("fill",) if row["kind"] == "fill" else (row["kind"], row.get("from"), row.get("to"))].append(row)
        self.same("copies rows", sorted(rows), sorted(of))
        for name in of.keys() & rows.keys():
            sizes = [work.values.get(FILL_BYTES if work.kind == MEMSET else COPY_BYTES, 0) for work in of[name]]
            want = {"count": len(sizes), "bytes": sum(sizes), "total_ns": sum(work.length for work in of[name])}
            for field, value in want.items():
                self.same(f"copies {name} {field}", sum(row[field] for row in rows[name]), value)
            if len(rows[name]) == 1:
                self.values("copies", name, rows[name][0], {
                    "min_bytes": min(sizes), "max_bytes": max(sizes), "median_bytes": nearest_rank(sizes, 50),
                    "median_ns": nearest_rank([work.length for work in of[name]], 50)})

    def devices(self):
        of = grouped(self.raw.work, lambda work: str(work.device))
        longest = []
        for name, row, works_ in self.rows("devices", lambda row: row["device"], of):
            begin, end = min(work.start for work in works_), max(work.end for work in works_)
            latest, gaps = begin, []
            for work in sorted(works_, key=lambda work: work.start):
                if work.start > latest:
                    gaps.append(work.start - latest)
                latest = max(latest, work.end)
            longest += sorted(gaps)[-5:]
            kernels = [work for work in works_ if work.sort == "kernel"]
            moves = [work for work in works_ if work.sort in ("copy", "fill")]
            both = union(kernels) + union(moves) - union(kernels + moves)
            self.values("devices", name, row, {
                "count": len(works_), "window_ns": end - begin, "busy_ns": union(works_), "kernel_ns": union(kernels),
                "copy_ns": union(moves), "utilization_share": union(works_) / (end - begin), "gaps": len(gaps),
                "concurrency": sum(work.length for work in works_) / union(works_)})
            if moves:
                self.same(f"devices {name} overlap_share", float(row.get("overlap_share") or 0), both / union(moves))
        self.same("gaps", [row["gap_ns"] for row in self.tables["gaps"]], sorted(longest, reverse=True))

    def streams(self):
        of = grouped(self.raw.work, lambda work: (str(work.device), str(work.context), str(work.stream)))
        for name, row, works_ in self.rows("streams", lambda row: (row["device"], row["context"], row["stream"]), of):
            self.values("streams", name, row, {"count": len(works_), "busy_ns": union(works_)})
            waits = [work.delay for work in works_ if work.delay is not None and work.delay >= 0]
            if waits:
                self.values("streams", name, row, {"median_wait_ns": nearest_rank(waits, 50),
                                                   "p99_wait_ns": nearest_rank(waits, 99), "max_wait_ns": max(waits)})

    def headline(self):
        (row,) = self.tables["headline"]
        moves = self.work["copy"] + self.work["fill"]
        self.values("headline", "", row, {
            "kernels": len(self.work["kernel"]), "kernel_ns": sum(work.length for work in self.work["kernel"]),
            "move_ns": sum(work.length for work in moves),
            "moved_bytes": sum(work.values.get(FILL_BYTES if work.kind == MEMSET else COPY_BYTES, 0) for work in moves)})

    def calls(self):
        names = call_names()
        of = grouped(self.raw.calls, lambda call: (names[call.domain, call.cbid], "driver" if call.domain == DRIVER else "runtime"))
        if not self.every_call:
            causes = {work.correlation for work in self.raw.work}
            shown = {(row["name"], row["api"]) for row in self.tables["calls"]}
            of = {name: calls for name, calls in of.items()
                  if name in shown or any(call.correlation_id in causes for call in calls)}
        for name, row, calls in self.rows("calls", lambda row: (row["name"], row["api"]), of):
            self.values("calls", name, row, {**spread([max(call.end_ns, call.start_ns + 1) - call.start_ns for call in calls]),
                                             "errors": sum(call.result != 0 for call in calls)})
        waiting = {name: calls for name, calls in of.items() if WAITING in name[0]}
        self.rows("synchronization", lambda row: (row["name"], row["api"]), waiting)
        self.same("headline calls", self.tables["headline"][0]["calls"], sum(map(len, of.values())))

    def latency(self):
        of = grouped((work for work in self.raw.work if work.delay is not None), lambda work: work.sort)
        for name, row, works_ in self.rows("latency", lambda row: row["work"], of):
            self.values("latency", name, row, spread([max(0, work.delay) for work in works_], total=False))
        delays = [max(0, work.delay) for work in of["kernel"]]
        for row in self.tables["latency_histogram"]:
            self.same(f"latency_histogram {row['from_ns']}", row["count"],
                      sum(row["from_ns"] <= delay < row["below_ns"] for delay in delays))
        self.same("latency_histogram all", sum(row["count"] for row in self.tables["latency_histogram"]), len(delays))

    def memory(self):
        """From the calls that allocate and free; not if driver calls are used, which have many forms."""
        names = call_names()
        used = {names[call.domain, call.cbid] for call in self.raw.calls if call.result == 0}
        self.memory_is_told = not any(DRIVER_ALLOCATES.match(name) or RUNTIME_ELSE.fullmatch(name) for name in used
                                      if name != "cudaMallocArray")
        if not self.memory_is_told:
            return
        events = []
        for call in self.raw.calls:
            if call.domain != RUNTIME or call.result != 0 or not call.values:
                continue
            if call.cbid in ALLOCATIONS:
                kind, size = ALLOCATIONS[call.cbid]
                events.append((call.end_ns, 1, call.values[0], kind, call.values[size]))
            elif call.cbid == PITCHED:
                events.append((call.end_ns, 1, call.values[0], "device", call.values[1] * call.values[3]))
            elif call.cbid in FREES:
                events.append((call.start_ns, 0, call.values[0], None, None))
        self.blocks(sorted(events, key=lambda event: event[:2]))

    def blocks(self, events):
        live, now, peak, count, frees, total = {}, Counter(), Counter(), Counter(), Counter(), Counter()
        for _, is_allocation, address, kind, size in events:
            if is_allocation and address:
                live[address] = kind, size
                now[kind] += size
                count[kind] += 1
                total[kind] += size
                peak[kind] = max(peak[kind], now[kind])
            elif not is_allocation and address in live:
                kind, size = live.pop(address)
                now[kind] -= size
                frees[kind] += 1
        rows = grouped((row for row in self.tables["memory"] if row["kind"] in set(count)), lambda row: row["kind"])
        self.same("memory kinds", sorted(rows), sorted(count))
        for kind in count.keys() & rows.keys():
            got = {field: sum(row[field] for row in rows[kind])
                   for field in ("allocations", "frees", "live_bytes", "total_bytes")}
            self.same(f"memory {kind}", got, {"allocations": count[kind], "frees": frees[kind], "live_bytes": now[kind],
                                              "total_bytes": total[kind]})
            if len(rows[kind]) == 1:
                self.same(f"memory {kind} peak", rows[kind][0]["peak_bytes"], peak[kind])


if __name__ == "__main__":
    found = Comparison(json.loads(Path(sys.argv[2]).read_text()), Raw.of_recording(sys.argv[1]), every_call=False)
    print(*found.differences, sep="\n")
    print(f"{sum(found.compared.values())} figures compared, {len(found.differences)} differ")
    sys.exit(1 if found.differences else 0)
