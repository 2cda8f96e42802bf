#!/usr/bin/env python3
"""The memory tables of `cuspan stat`: for recordings of real GPU runs, they equal figures computed in another way; for
synthetic programs with leaks, double frees, pools and mapped memory, they equal what the programs did.

    stat_memory_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from backend import spans_of  # noqa: E402
from built import output_of  # noqa: E402
from made_program import MIB, Program  # noqa: E402

RECORDINGS = sorted((ROOT / "examples/recordings").glob("*.cuspanrec"))


def tables_of(file):
    return json.loads(output_of("stat", "--json", "--top", 0, file))


def bytes_of(span):
    arguments = {key[len("cuda.arg."):]: value for key, value in span.attributes.items() if key.startswith("cuda.arg.")}
    if "pitch" in arguments:
        return arguments["pitch"] * arguments["height"] * arguments.get("depth", 1)
    if "channel.x" in arguments:
        bits = sum(arguments[f"channel.{axis}"] for axis in "xyzw")
        return max(arguments["width"], 1) * max(arguments["height"], 1) * max(arguments.get("depth", 1), 1) * bits // 8
    return arguments["bytes"]


class Recordings(unittest.TestCase):
    """Adds up all live memory again at each allocation and each free."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def lives_of(self, spans):
        """(kind, bytes, from, until or None), by the address that each allocation got."""
        kinds = {"cudaMalloc": "device", "cudaMallocPitch": "device", "cudaHostAlloc": "pinned", "cudaMallocAsync": "pool",
                 "cudaMallocArray": "array", "cudaMallocManaged": "managed"}
        lives, open_ = [], {}
        for span in sorted(spans, key=lambda span: span.end_ns if span.name in kinds else span.start_ns):
            address = span.attributes.get("cuda.arg.ptr", span.attributes.get("cuda.arg.array"))
            if span.name in kinds and not span.status:
                open_[address] = [kinds[span.name], bytes_of(span), span.end_ns, None]
                lives.append(open_[address])
            elif span.name in ("cudaFree", "cudaFreeHost", "cudaFreeAsync", "cudaFreeArray") and address in open_:
                open_.pop(address)[3] = span.start_ns
        return lives

    def test_live_and_peak(self):
        seen = set()
        for recording in RECORDINGS:
            file = self.folder / f"{recording.stem}.jsonl"
            output_of("replay", "--quiet", "--file", file, recording)
            spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
            tables = tables_of(file)
            lives = self.lives_of(spans)
            rows = {row["kind"]: row for row in tables["memory"] if row["kind"] != "all"}
            self.assertEqual(set(rows), {kind for kind, *_ in lives}, recording.stem)
            for kind, row in rows.items():
                mine = [life for life in lives if life[0] == kind]
                peak = max(sum(size for _, size, since, until in mine if since <= at and (until is None or until > at))
                           for _, _, at, _ in mine)
                self.assertEqual(row["allocations"], len(mine))
                self.assertEqual(row["total_bytes"], sum(life[1] for life in mine))
                self.assertEqual(row["live_bytes"], sum(life[1] for life in mine if life[3] is None))
                self.assertEqual(row["peak_bytes"], peak, (recording.stem, kind))
                seen.add(kind)
            unfreed = sum(row["bytes"] for row in tables["memory_unfreed"])
            self.assertEqual(unfreed, sum(life[1] for life in lives if life[3] is None))
            for row in tables["memory_unfreed"]:
                self.assertEqual(row["until"], "exit")
            self.assertEqual(tables["memory_wrong_frees"], [])
            at_end = {}
            for row in tables["memory_over_time"]:
                at_end[row["device"]] = row["live_bytes"]
            for row in tables["memory"]:
                if row["kind"] == "all":
                    self.assertEqual(at_end[row["device"]], row["live_bytes"])
        self.assertEqual(seen, {"device", "pinned", "pool", "array", "managed"})

    def test_an_allocation_that_failed(self):
        tables = tables_of(ROOT / "examples/recordings/threads.cuspanrec")
        (row,) = tables["memory_failed"]
        self.assertEqual((row["name"], row["error"], row["count"], row["thread"]),
                         ("cudaMalloc", "cudaErrorMemoryAllocation", 1, "threads"))

    def test_pytorch_is_seen_where_it_is_and_nowhere_else(self):
        for recording in RECORDINGS:
            rows = {row["what"]: row for row in tables_of(recording)["memory_pytorch"]}
            if recording.stem != "torch_inference":
                self.assertEqual(rows, {})
                continue
            self.assertEqual(rows["PyTorch: 2 MiB segments for small tensors"]["live_bytes"], 5 * 2 * MIB)
            self.assertEqual(rows["PyTorch: large segments"]["live_bytes"], 96 * MIB)
            self.assertEqual(rows["other sizes: libraries and others"]["allocations"], 4)


class Made(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.program = Program()
        self.program.launch("first", 5_000)  # shows which GPU context 1 belongs to

    def tables(self, *more):
        file = self.folder / "trace.jsonl"
        file.write_text("".join(program.write(self.folder / "one.jsonl").read_text() for program in (self.program, *more)))
        return tables_of(file)

    def row(self, tables, kind, device="0", **wanted):
        rows = [row for row in tables["memory"] if (row["kind"], row["device"]) == (kind, device) and
                all(row[key] == value for key, value in wanted.items())]
        self.assertEqual(len(rows), 1, tables["memory"])
        return rows[0]

    def test_a_leak_names_call_thread_and_range(self):
        p = self.program
        for _ in range(5):
            with p.range("request"), p.on(4720, "worker"):
                p.allocate(3 * MIB)
                p.free(p.allocate(MIB))
        p.allocate(64, name="cudaHostAlloc", flags=0)
        tables = self.tables()
        leak, pinned = tables["memory_unfreed"]
        self.assertEqual((leak["name"], leak["thread"], leak["thread_id"], leak["range"], leak["count"], leak["bytes"],
                          leak["until"], leak["device"]),
                         ("cudaMalloc", "worker", "4720", "request", 5, 15 * MIB, "exit", "0"))
        self.assertLess(leak["first_ns"], leak["last_ns"])
        self.assertEqual((pinned["name"], pinned["kind"], pinned["device"], pinned["range"]), ("cudaHostAlloc", "pinned", "host", ""))
        row = self.row(tables, "device")
        self.assertEqual((row["live_bytes"], row["peak_bytes"], row["frees"]), (15 * MIB, 16 * MIB, 5))
        self.assertGreater(row["growth_bytes_per_s"], 0)

    def test_growth_by_stretches(self):
        p = self.program
        start = p.now + 50_000
        for _ in range(10):
            p.allocate(MIB)
            p.now += 950_000
        p.call("cudaDeviceSynchronize", 1_000)
        rows = self.tables()["memory_over_time"]
        self.assertEqual([row["live_bytes"] for row in rows], [MIB * (1 + i) for i in range(10)])
        self.assertEqual([row["allocated_bytes"] for row in rows], [MIB] * 10)
        self.assertEqual(rows[0]["from_ns"], start - 1_000_000)

    def test_what_a_stretch_begins_with_is_its_most(self):
        p = self.program
        block = p.allocate(4 * MIB)
        p.now += 5_500_000
        p.free(block)
        p.now += 4_450_000
        p.call("cudaDeviceSynchronize", 1_000)
        rows = self.tables()["memory_over_time"]
        self.assertEqual([row["peak_bytes"] for row in rows], [4 * MIB] * 6 + [0] * 4)
        self.assertEqual([row["live_bytes"] for row in rows], [4 * MIB] * 5 + [0] * 5)

    def test_a_process_that_goes_on_has_not_leaked_yet(self):
        self.program.allocate(MIB)
        self.program.is_exited = False
        (row,) = self.tables()["memory_unfreed"]
        self.assertEqual(row["until"], "end of trace")

    def test_double_unknown_and_foreign_frees(self):
        p = self.program
        with p.on(4720, "owner"):
            address = p.allocate(MIB)
            p.free(address)
        with p.range("cleaning"):
            p.free(address, error="cudaErrorInvalidValue")
        p.free(0xdead000, error="cudaErrorInvalidValue")
        p.free(0xbeef000)  # succeeds: it was allocated before the trace
        p.free(0)
        p.free(0x77000, error="cudaErrorCudartUnloading")  # at the process's end
        rows = {row["what"]: row for row in self.tables()["memory_wrong_frees"]}
        self.assertEqual(set(rows), {"freed twice", "unknown address", "allocation not traced"})
        twice = rows["freed twice"]
        self.assertEqual((twice["range"], twice["thread"], twice["address"], twice["allocated_by"], twice["freed_in"],
                          twice["error"], twice["count"]),
                         ("cleaning", "main", hex(address), "cudaMalloc", "owner", "cudaErrorInvalidValue", 1))
        self.assertEqual(rows["unknown address"]["address"], "0xdead000")
        self.assertEqual(rows["allocation not traced"]["address"], "0xbeef000")

    def test_a_free_that_fails_frees_nothing(self):
        p = self.program
        p.free(p.allocate(MIB), error="cudaErrorIllegalAddress")
        tables = self.tables()
        self.assertEqual(tables["memory_wrong_frees"], [])
        self.assertEqual(self.row(tables, "device")["live_bytes"], MIB)

    def test_an_address_is_given_again(self):
        p = self.program
        for _ in range(3):
            p.free(p.allocate(MIB, address=0x700000))
        p.allocate(2 * MIB, address=0x700000)
        tables = self.tables()
        row = self.row(tables, "device")
        self.assertEqual((row["live_bytes"], row["peak_bytes"], row["total_bytes"], row["frees"]), (2 * MIB, 2 * MIB, 5 * MIB, 3))
        self.assertEqual(tables["memory_wrong_frees"], [])

    def test_pools_and_their_streams(self):
        p = self.program
        default = p.allocate(MIB, name="cudaMallocAsync_ptsz", stream="0x7")
        own = p.allocate(3 * MIB, name="cudaMallocFromPoolAsync", pool="0xabc", stream="0x7")
        p.free(default, name="cudaFreeAsync", stream="0x7")
        p.free(own)  # cudaFree accepts these, too
        p.allocate(4 * MIB, name="cudaMallocFromPoolAsync", pool="0xabc", stream="0x7")
        tables = self.tables()
        self.assertEqual(self.row(tables, "pool", pool="default")["live_bytes"], 0)
        self.assertEqual(self.row(tables, "pool", pool="0xabc")["live_bytes"], 4 * MIB)
        self.assertEqual(self.row(tables, "all")["peak_bytes"], 4 * MIB)

    def test_sizes_that_are_not_told_as_bytes(self):
        p = self.program
        p.call("cudaMallocPitch", ptr="0x10000", pitch=512, width=500, height=10)
        p.call("cudaMalloc3D", ptr="0x20000", pitch=512, xsize=500, ysize=10, width=500, height=10, depth=4)
        p.call("cudaMallocArray", **{"array": "0x1", "channel.x": 32, "channel.y": 32, "channel.z": 0, "channel.w": 0,
                                     "width": 100, "height": 0, "flags": 0})
        p.call("cudaMallocMipmappedArray", **{"mipmapped_array": "0x2", "channel.x": 8, "channel.y": 0, "channel.z": 0,
                                              "channel.w": 0, "width": 8, "height": 8, "depth": 0, "num_levels": 4, "flags": 0})
        p.call("cuArrayCreate", handle="0x3", width=64, height=2, format="Half", channels=4)
        tables = self.tables()
        self.assertEqual(self.row(tables, "device")["live_bytes"], 512 * 10 + 512 * 10 * 4)
        self.assertEqual(self.row(tables, "array")["live_bytes"], 100 * 8 + (64 + 16 + 4 + 1) + 64 * 2 * 8)
        p.call("cudaFreeMipmappedArray", mipmapped_array="0x2")
        p.call("cuArrayDestroy", array="0x3")
        self.assertEqual(self.row(self.tables(), "array")["live_bytes"], 800)

    def test_mapped_memory_lives_until_it_is_released_and_unmapped(self):
        p = self.program
        where = {"location.type": "Device", "location.id": 0}
        for handle in "0x1", "0x2", "0x3":
            p.call("cuMemCreate", handle=handle, bytes=20 * MIB, **where)
        base = 0x7e0000000000
        for i, handle in enumerate(("0x1", "0x2")):
            p.call("cuMemMap", ptr=hex(base + i * 20 * MIB), bytes=20 * MIB, offset=0, handle=handle, flags=0)
        for handle in "0x1", "0x2", "0x3":
            p.call("cuMemRelease", handle=handle)
        row = self.row(self.tables(), "virtual")
        self.assertEqual((row["live_bytes"], row["peak_bytes"], row["frees"]), (40 * MIB, 60 * MIB, 1))
        p.call("cuMemUnmap", ptr=hex(base), bytes=40 * MIB)
        row = self.row(self.tables(), "virtual")
        self.assertEqual((row["live_bytes"], row["frees"]), (0, 3))

    def test_unmapped_memory_lives_until_it_is_released(self):
        p = self.program
        p.call("cuMemCreate", handle="0x1", bytes=20 * MIB, **{"location.type": "Device", "location.id": 0})
        p.call("cuMemMap", ptr="0x7e0000000000", bytes=20 * MIB, offset=0, handle="0x1", flags=0)
        p.call("cuMemUnmap", ptr="0x7e0000000000", bytes=20 * MIB)
        self.assertEqual(self.row(self.tables(), "virtual")["live_bytes"], 20 * MIB)
        p.call("cuMemRelease", handle="0x1")
        self.assertEqual(self.row(self.tables(), "virtual")["live_bytes"], 0)

    def test_expandable_segments_of_pytorch(self):
        p = self.program
        p.launch("at::native::vectorized_elementwise_kernel", 5_000)
        for handle in "0x1", "0x2":
            p.call("cuMemCreate", handle=handle, bytes=20 * MIB, **{"location.type": "Device", "location.id": 0})
        rows = {row["what"]: row["live_bytes"] for row in self.tables()["memory_pytorch"]}
        self.assertEqual(rows, {"PyTorch: expandable segments": 40 * MIB})

    def test_two_processes_with_the_same_addresses(self):
        other = Program("other", seed=2, pid=4712)
        other.launch("first", 5_000)
        other.allocate(8 * MIB, address=0x700000)
        p = self.program
        p.free(p.allocate(MIB, address=0x700000))
        tables = self.tables(other)
        self.assertEqual(self.row(tables, "device", process="made 4711")["live_bytes"], 0)
        self.assertEqual(self.row(tables, "device", process="other 4712")["live_bytes"], 8 * MIB)
        self.assertEqual([row["process"] for row in tables["memory_unfreed"]], ["other 4712"])

    def test_gpus_are_told_apart_by_their_contexts(self):
        p = self.program
        p.launch("second", 5_000, device=1, context=2, stream=9)
        p.allocate(MIB)
        p.allocate(5 * MIB, context=2)
        p.allocate(7 * MIB, context=3)  # nothing ran there
        tables = self.tables()
        for device, size in ("0", 1), ("1", 5), ("unknown", 7):
            self.assertEqual(self.row(tables, "device", device)["live_bytes"], size * MIB)


if __name__ == "__main__":
    unittest.main()
