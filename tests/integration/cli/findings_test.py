#!/usr/bin/env python3
"""Each problem that `cuspan stat --findings` detects, planted in a synthetic program, is found with the right figures.
Programs with almost a problem, and a clean program, give nothing; and docs/findings.md matches the code.

    findings_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from backend import spans_of  # noqa: E402
from built import BUILD, output_of  # noqa: E402
from made_engine import Engine  # noqa: E402
from made_program import MIB, Program  # noqa: E402
from make_trace import attributes  # noqa: E402

US, MS = 1_000, 1_000_000
BUFFER = 0x500000


class Findings(unittest.TestCase):
    def setUp(self):
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory()), "trace.jsonl")
        self.p = Program()

    def found(self, program=None):
        """The rows by finding; several rows of one finding are a list."""
        (program or self.p).write(self.file)
        rows = {}
        for row in json.loads(output_of("stat", "--findings", "--json", "--top", 0, self.file))["findings"]:
            rows.setdefault(row["finding"], []).append(row)
        return rows

    def one(self, word, program=None):
        rows = self.found(program)
        self.assertEqual(len(rows.get(word, [])), 1, rows)
        return rows[word][0]

    def assert_nothing(self, program=None):
        self.assertEqual(self.found(program), {})


class Clean(Findings):
    def test_a_clean_program(self):
        """Set up, then batches: asynchronous copies from pinned memory, kernels that keep the GPU busy, results, one
        wait."""
        p = self.p
        host = [p.allocate(8 * MIB, name="cudaHostAlloc") for _ in range(2)]
        device = [p.allocate(8 * MIB) for _ in range(2)]
        for batch in range(50):
            with p.range(f"batch {batch}"):
                p.copy("HostToDevice", 8 * MIB, 160 * US, src=host[0], dst=device[0])
                for kernel in "gather", "multiply", "normalize":
                    p.launch(kernel, 120 * US)
                p.copy("DeviceToHost", 8 * MIB, 160 * US, src=device[1], dst=host[1])
                p.wait("cudaStreamSynchronize", stream=7)
            p.now += 20 * US
        for address in host:
            p.free(address, name="cudaFreeHost")
        for address in device:
            p.free(address)
        self.assert_nothing()
        self.assertIn("No findings", output_of("stat", "--findings", self.file))

    def test_the_examples_that_have_no_fault(self):
        for example in "graph", "graph_nodes":
            shown = output_of("stat", "--findings", ROOT / f"examples/recordings/{example}.cuspanrec")
            self.assertIn("No findings", shown)

    def test_a_short_program_is_not_worth_a_finding(self):
        self.p.copy("HostToDevice", MIB, 80 * US, host="pageable", is_async=False)  # 60 % of it are 54 us
        self.assert_nothing()

    def test_a_program_without_gpu_work(self):
        self.p.call("cudaGetDeviceCount")
        self.assert_nothing()


class Launches(Findings):
    def test_launch_bound(self):
        for _ in range(320):
            self.p.launch("step", 20 * US)
            self.p.now += 56 * US  # 60 us from launch to launch, 20 of them busy
        row = self.one("launch-bound")
        self.assertEqual((row["count"], row["where"]), (320, "main"))
        self.assertAlmostEqual(row["saving_ns"] / (319 * 40 * US), 1, delta=0.001)
        self.assertAlmostEqual(row["saving_share"], 2 / 3, delta=0.01)
        self.assertRegex(row["evidence"], r"idle for .* \(67 %\) .* spent 2 % of that in launches and copies, 0 % in other CUDA calls")

    def test_not_launch_bound_where_the_host_is_ahead(self):
        for _ in range(320):
            self.p.launch("step", 20 * US)
        self.assert_nothing()

    def test_pauses_are_no_launches(self):
        for _ in range(100):
            self.p.launch("step", 500 * US)
            self.p.now += 5 * MS  # a request every 5 ms
        self.assert_nothing()

    def test_a_host_that_waits_for_the_gpu_is_not_late(self):
        for _ in range(320):
            self.p.launch("step", 20 * US)
            self.p.wait()
            self.p.now += 56 * US
        self.assertNotIn("launch-bound", self.found())

    def test_one_long_gap_is_no_phase(self):
        for _ in range(20):
            self.p.launch("step", 20 * US)
        self.p.now += 900 * US
        for _ in range(20):
            self.p.launch("step", 20 * US)
        self.assert_nothing()

    def test_tiny_launches(self):
        for _ in range(1000):
            self.p.launch("tiny", 1_500)
        row = self.one("tiny-launches")
        self.assertEqual((row["count"], row["where"]), (1000, "tiny"))
        self.assertEqual(row["saving_ns"], 999 * 1_000)  # each kernel starts 1 us after its call; before the first one, the GPU is unknown
        self.assertIn("1.50 us each on the GPU and 4.00 us each on the host", row["evidence"])

    def test_tiny_kernels_behind_a_long_one_cost_nothing(self):
        self.p.launch("long", 10 * MS)
        for _ in range(1000):
            self.p.launch("tiny", 1_500)
        self.assert_nothing()

    def test_a_few_tiny_kernels(self):
        for _ in range(90):
            self.p.launch("tiny", 1_500)
            self.p.launch("long", 60 * US)
        self.assertNotIn("tiny-launches", self.found())

    def round(self, sync=False):
        for number in range(6):
            self.p.launch(f"part_{number}", 2 * US)
        if sync:
            self.p.wait()

    def test_graph_candidate(self):
        for _ in range(100):
            self.round()
        row = self.one("graph-candidate")
        self.assertEqual((row["count"], row["where"]), (100, "part_0"))
        self.assertIn("a sequence of 6 launches and copies that starts with part_0 repeats 100 times", row["evidence"])
        self.assertIn("take 24.0 us of host time", row["evidence"])
        # 24 us of calls less 10; the GPU is idle for 1 + 5 * 2 us from the first call to the last kernel
        self.assertEqual(row["saving_ns"], 100 * 11 * US)

    def test_graph_candidate_between_waits_and_other_work(self):
        for _ in range(100):
            self.round(sync=True)
        for number in range(300):
            self.p.launch(f"other_{number}", 20 * US)
        self.assertEqual(self.one("graph-candidate")["count"], 100)

    def test_copies_of_other_sizes_are_other_sequences(self):
        for number in range(60):
            self.round()
            self.p.copy("HostToDevice", 1000 + number * number, 2 * US)
        self.assertNotIn("graph-candidate", self.found())

    def test_two_sequences_in_one_round_are_two_candidates(self):
        for _ in range(50):
            self.round(sync=True)
            for number in range(8):
                self.p.launch(f"other_{number}", 2 * US)
            self.p.wait()
        rows = {row["where"]: row for row in self.found()["graph-candidate"]}
        self.assertEqual({where: row["count"] for where, row in rows.items()}, {"part_0": 50, "other_0": 50})
        self.assertIn("sequence of 8", rows["other_0"]["evidence"])

    def test_nine_rounds_are_too_few(self):
        for _ in range(9):
            self.round()
        self.assertNotIn("graph-candidate", self.found())

    def test_what_waits_in_the_queue_needs_no_graph(self):
        self.p.launch("long", 10 * MS)
        for _ in range(100):
            self.round()
        self.assert_nothing()

    def queue(self, threads, streams, grid):
        self.p.launch("ahead", 2 * MS)
        for number in range(60):
            with self.p.on(5000 + number % threads, f"worker-{number % threads}"):
                self.p.launch("small", 50 * US, grid=grid, stream=7 + number % streams)

    def test_serialized_kernels(self):
        self.queue(threads=2, streams=1, grid=(400, 1, 1))
        row = self.one("serialized-kernels")
        self.assertEqual((row["count"], row["saving_ns"]), (59, 59 * 50 * US))
        self.assertIn("stream 7", row["evidence"])

    def test_kernels_of_one_thread_may_depend_on_each_other(self):
        self.queue(threads=1, streams=1, grid=(400, 1, 1))
        self.assert_nothing()

    def test_kernels_that_were_launched_when_the_one_before_had_ended(self):
        for number in range(60):
            with self.p.on(5000 + number % 2, f"worker-{number % 2}"):
                self.p.launch("small", 50 * US, grid=(400, 1, 1))
            self.p.now = self.p.done_at - 2 * US  # the next call ends 2 us after this kernel
        self.assertNotIn("serialized-kernels", self.found())

    def test_kernels_that_fill_the_gpu_gain_nothing(self):
        self.queue(threads=2, streams=1, grid=(4096, 1, 1))
        self.assert_nothing()


class Kernels(Findings):
    def kernels(self, name="worker", runs=20, duration=200 * US, **shape):
        for _ in range(runs):
            self.p.launch(name, duration, **shape)

    def test_registers(self):
        self.kernels(registers=255, block=(256, 1, 1))
        row = self.one("low-occupancy")
        self.assertEqual((row["where"], row["count"]), ("worker", 20))
        self.assertEqual(row["saving_ns"], 20 * 200 * US * 7 // 8)
        self.assertIn("occupancy 12.5 %; limited by registers: 255 per thread", row["evidence"])
        self.assertNotIn("shared", row["evidence"])

    def test_shared_memory(self):
        self.kernels(shared=200 << 10, block=(64, 1, 1))
        row = self.one("low-occupancy")
        self.assertIn("occupancy 3.1 %; limited by shared memory: 204800 bytes per block", row["evidence"])
        self.assertNotIn("registers limit", row["evidence"])

    def test_block_size(self):
        self.kernels(block=(8, 1, 1))
        self.assertIn("occupancy 12.5 %; limited by the block size: 8 threads", self.one("low-occupancy")["evidence"])

    def test_small_grid(self):
        self.kernels(grid=(16, 1, 1))
        row = self.one("low-occupancy")
        self.assertIn("the grid has 16 blocks for 132 multiprocessors", row["evidence"])
        self.assertAlmostEqual(row["saving_ns"], 20 * 200 * US * (1 - 16 / 132), delta=20)

    def test_a_good_kernel(self):
        self.kernels(registers=128, block=(256, 1, 1))
        self.assert_nothing()

    def test_kernels_of_libraries_and_pipelines(self):
        self.kernels("at::native::reduce_kernel", grid=(16, 1, 1))
        self.kernels("nvjet_sm90_hsh_64x8", registers=168, block=(128, 1, 1), shared=150 << 10)
        self.kernels("my_pipeline", registers=168, block=(128, 1, 1), shared=150 << 10)
        self.assert_nothing()

    def test_what_takes_little_of_the_time(self):
        self.kernels("other", runs=100, duration=5 * MS)
        self.kernels(registers=255)
        self.assert_nothing()


class Copies(Findings):
    def test_synchronous_copies(self):
        for _ in range(20):
            self.p.copy("HostToDevice", MIB, 30 * US, is_async=False)
            self.p.launch("kernel", 50 * US)
        row = self.one("synchronous-copies")
        self.assertEqual((row["count"], row["where"]), (20, "memcpy HostToDevice"))
        # each call: 1 us, the copy after the previous kernel, 2 us; all except the first follow a kernel
        self.assertEqual(row["saving_ns"], 20 * 33 * US - 19 * 1 * US)

    def test_asynchronous_copies_hold_nobody(self):
        for _ in range(50):
            self.p.copy("HostToDevice", MIB, 30 * US, host_ns=20 * US)
        self.assertNotIn("synchronous-copies", self.found())

    def test_a_few_synchronous_copies(self):
        for _ in range(9):
            self.p.copy("HostToDevice", MIB, 30 * US, is_async=False)
        self.assertNotIn("synchronous-copies", self.found())

    def test_pageable_copies_that_hold_the_host(self):
        for _ in range(20):
            self.p.copy("HostToDevice", 4 * MIB, 400 * US, host="pageable", host_ns=410 * US)
        row = self.one("pageable-copies")
        self.assertEqual((row["count"], row["where"]), (20, "HostToDevice"))
        # the call starts 1 us before the copy and ends with it, minus the 5 us of any call
        self.assertEqual(row["saving_ns"], 20 * (400 - 5) * US)
        self.assertIn("40.0 GB/s (assumed for this GPU)", row["evidence"])

    def test_pageable_copies_by_a_link_that_is_told(self):
        self.p.devices = {0: {"cuda.device.pcie.bandwidth": 15753846153}}  # x8 of PCIe 4.0
        for _ in range(20):
            self.p.copy("HostToDevice", 4 * MIB, 1000 * US, host="pageable", host_ns=3 * US)
        row = self.one("pageable-copies")
        self.assertIn("9.9 GB/s (two thirds of the PCIe link's peak)", row["evidence"])
        self.assertAlmostEqual(row["saving_ns"], 20 * (1000 * US - 4 * MIB * 1e9 / (0.63 * 15753846153)), delta=20)

    def test_pageable_copies_beside_pinned_ones_that_show_the_rate(self):
        for _ in range(20):
            self.p.copy("DeviceToHost", 2 * MIB, 40 * US)
            self.p.copy("DeviceToHost", 4 * MIB, 400 * US, is_async=False, host="pageable")
        row = self.one("pageable-copies")
        self.assertIn("52.4 GB/s (median of this run's pinned copies)", row["evidence"])
        self.assertAlmostEqual(row["saving_ns"], 20 * (400 - 80) * US, delta=20 * 10)

    def test_pageable_copies_after_a_long_warm_up(self):
        """128 MiB in 32 copies are 6 ms too slow: a quarter of the work, and 0.1 % of the time with what went before."""
        def program(warm_up):
            self.p = Program()
            self.p.launch("first", 100 * US)
            self.p.wait()
            warm_up()
            for _ in range(32):
                self.p.copy("HostToDevice", 4 * MIB, 300 * US, host="pageable", host_ns=3 * US)
                self.p.launch("kernel", 400 * US)
            self.p.wait()
            return self.one("pageable-copies")
        def load_modules():
            for _ in range(20):
                self.p.now += 300 * MS
                self.p.launch("probe", 5 * US)
        plain, warmed = program(lambda: None), program(load_modules)
        self.assertEqual((warmed["count"], warmed["saving_ns"]), (32, plain["saving_ns"]))
        self.assertAlmostEqual(warmed["saving_share"], plain["saving_share"], delta=0.02)
        self.assertGreater(warmed["saving_share"], 0.2)

    def test_small_pageable_copies(self):
        for _ in range(20):
            self.p.copy("HostToDevice", 64 << 10, 10 * US, host="pageable", host_ns=14 * US)
            self.p.launch("kernel", 20 * US)
        self.assertNotIn("pageable-copies", self.found())

    def test_tiny_copies(self):
        for _ in range(10):
            for _ in range(50):
                self.p.copy("HostToDevice", 256, 1 * US)
            self.p.launch("kernel", 20 * US)
        row = self.one("tiny-copies")
        self.assertEqual(row["count"], 500)
        self.assertIn("in 10 rows", row["evidence"])
        # All except the first of each row. While the previous kernel runs, 17 us after its call, no time is lost.
        self.assertAlmostEqual(row["saving_ns"], 10 * 49 * 3 * US - 9 * 15 * US, delta=9 * 3 * US)

    def test_tiny_copies_between_kernels(self):
        for _ in range(200):
            self.p.copy("HostToDevice", 256, 1 * US)
            self.p.launch("kernel", 20 * US)
        self.assertNotIn("tiny-copies", self.found())

    def trip(self, pause=0, back=BUFFER):
        self.p.copy("DeviceToHost", 4 * MIB, 100 * US, dst=BUFFER, src=0x100000)
        self.p.wait("cudaStreamSynchronize", stream=7)
        self.p.now += pause
        self.p.copy("HostToDevice", 4 * MIB, 100 * US, src=back, dst=0x200000)
        self.p.launch("kernel", 100 * US)

    def test_round_trips(self):
        for _ in range(20):
            self.trip()
        row = self.one("round-trips")
        self.assertEqual((row["count"], row["saving_ns"]), (20, 20 * 200 * US))

    def test_data_that_the_host_can_have_changed(self):
        for _ in range(20):
            self.trip(pause=300 * US)  # 4 MiB at 20 GB/s: 210 us
        self.assertNotIn("round-trips", self.found())

    def test_other_data(self):
        for _ in range(20):
            self.trip(back=0x900000)
        self.assertNotIn("round-trips", self.found())


class Waits(Findings):
    def test_nothing_pending(self):
        for _ in range(100):
            self.p.launch("kernel", 50 * US)
            self.p.copy("DeviceToHost", 4096, 2 * US)
            for _ in range(3):
                self.p.wait()  # the second and third wait for nothing
        row = self.one("needless-sync")
        self.assertEqual((row["count"], row["saving_ns"]), (200, 200 * 1_500))

    def test_what_has_not_begun_is_pending(self):
        for _ in range(100):
            self.p.free_at[0, 7] = self.p.now + 100 * US  # it waits for an event
            self.p.launch("kernel", 20 * US)
            self.p.copy("DeviceToHost", 4096, 2 * US)
            self.p.now += 10 * US
            self.p.wait()
        self.assertNotIn("needless-sync", self.found())

    def test_graphs_are_work(self):
        self.p.launch("kernel", 20 * US)
        for _ in range(100):
            called = self.p.now
            parent = self.p.call("cudaGraphLaunch", 8 * US, stream="0x7")
            self.p.on_gpu(parent, called, "graph", "graph", 100 * US, 7, 0, 1)
            self.p.wait()
            self.p.now += 60 * US
        self.assert_nothing()

    def test_work_is_pending_before_it_starts(self):
        for _ in range(200):
            self.p.launch("kernel", 2 * US, host_ns=300)  # starts 1 us after the call's start
            self.p.wait()
            self.p.now += 100 * US
        self.assertNotIn("needless-sync", self.found())

    def test_waits_for_work_that_was_lost(self):
        for _ in range(100):
            self.p.launch("kernel", 50 * US)
            self.p.copy("DeviceToHost", 4096, 2 * US)
            self.p.wait()
            self.p.call("cudaDeviceSynchronize", 40 * US)
        self.assertNotIn("needless-sync", self.found())

    def test_what_another_stream_does_is_pending(self):
        for _ in range(100):
            self.p.launch("kernel", 50 * US)
            self.p.launch("aside", 200 * US, stream=9)
            self.p.copy("DeviceToHost", 4096, 2 * US)
            for _ in range(3):
                self.p.wait("cudaStreamSynchronize", stream=7)
            self.p.wait("cudaStreamSynchronize", stream=9)
        self.assert_nothing()

    def test_between_launches(self):
        for _ in range(100):
            self.p.launch("kernel", 30 * US)
            self.p.wait()
        row = self.one("sync-between-launches")
        self.assertEqual((row["count"], row["where"]), (99, "cudaDeviceSynchronize"))
        # 1.5 us until the wait returns, 1 us until the next kernel starts
        self.assertEqual(row["saving_ns"], 99 * 2_500)

    def test_results_are_waited_for(self):
        for _ in range(100):
            self.p.launch("kernel", 30 * US)
            self.p.copy("DeviceToHost", 4096, 2 * US)
            self.p.wait()
        self.assertNotIn("sync-between-launches", self.found())

    def test_a_host_that_works_after_the_wait(self):
        for _ in range(100):
            self.p.launch("kernel", 30 * US)
            self.p.wait()
            self.p.now += 60 * US
        self.assertNotIn("sync-between-launches", self.found())

    def test_managed_memory_may_be_read(self):
        self.p.allocate(MIB, name="cudaMallocManaged")
        for _ in range(100):
            self.p.launch("kernel", 30 * US)
            self.p.wait()
        self.assertNotIn("sync-between-launches", self.found())


class Memory(Findings):
    def loop(self, rounds, step):
        for _ in range(rounds):
            step()
            self.p.launch("kernel", 200 * US)
            self.p.copy("DeviceToHost", 4096, 2 * US)
            self.p.wait()

    def test_steady_allocations(self):
        self.loop(100, lambda: self.p.free(self.p.allocate(MIB)))
        row = self.one("steady-allocation")
        self.assertEqual(row["where"], "cudaMalloc")
        self.assertAlmostEqual(row["count"], 50, delta=1)
        self.assertEqual(row["saving_ns"], row["count"] * 80 * US)

    def test_pools_and_set_up(self):
        for _ in range(50):
            self.p.free(self.p.allocate(MIB))
        self.loop(100, lambda: self.p.free(self.p.allocate(MIB, name="cudaMallocAsync", duration=6 * US), name="cudaFreeAsync",
                                           duration=6 * US))
        self.assert_nothing()

    def test_what_was_set_up_may_be_freed_when_it_is_done_with(self):
        blocks = iter([self.p.allocate(MIB) for _ in range(100)])
        self.loop(100, lambda: self.p.free(next(blocks)))
        self.assert_nothing()

    def test_leak(self):
        def step():
            with self.p.range("request"):
                self.p.allocate(2 * MIB, duration=3 * US)
        self.loop(100, step)
        row = self.one("leak")
        self.assertEqual(row["where"], "request")
        self.assertAlmostEqual(row["count"], 50, delta=1)
        self.assertEqual(row["saving_bytes"], row["count"] * 2 * MIB)
        self.assertIn("cudaMalloc in range request", row["evidence"])

    def leak_of(self, kernel, size):
        """The findings if each step allocates a block of this size and a kernel of this name runs."""
        self.p = Program()
        self.p.launch(kernel, 10 * US)
        self.loop(100, lambda: self.p.allocate(size, duration=3 * US))
        return self.found().get("leak")

    def test_segments_of_a_caching_allocator_are_no_leak(self):
        """PyTorch's allocator never gives its segments back, of 2 MiB or multiples of it. Other blocks of the same program can leak."""
        for size in 2 * MIB, 20 * MIB:
            with self.subTest(size):
                self.assertIsNone(self.leak_of("at::native::add", size))
                self.assertIsNotNone(self.leak_of("add", size))
        for size in MIB, 3 * MIB, 2 * MIB + 512:
            with self.subTest(size):
                self.assertIsNotNone(self.leak_of("at::native::add", size))

    def test_leak_of_a_host_that_is_ahead(self):
        """It makes its last allocation when the GPU has done a tenth of its work."""
        for _ in range(100):
            self.p.allocate(2 * MIB, duration=3 * US)
            self.p.launch("kernel", 70 * US)
        self.p.wait()
        row = self.one("leak")
        self.assertEqual((row["where"], row["count"]), ("cudaMalloc", 50))

    def test_what_a_host_that_is_ahead_allocates_at_first_is_no_leak(self):
        """Most of the host's time is set-up, but a small part of the GPU's."""
        for _ in range(100):
            self.p.allocate(2 * MIB, duration=30 * US)
            self.p.copy("HostToDevice", 2 * MIB, 10 * US)
        for _ in range(100):
            self.p.launch("kernel", 300 * US)
        self.p.wait()
        self.assertNotIn("leak", self.found())

    def test_what_no_work_came_after_is_no_leak(self):
        """Only the memory allocated in the third quarter belongs to the work."""
        for number in range(100):
            if 55 <= number < 65:
                self.p.allocate(2 * MIB, duration=3 * US)
            self.p.launch("kernel", 300 * US)
        for _ in range(100):
            self.p.allocate(2 * MIB, duration=100 * US)
        self.p.wait()
        self.assertNotIn("leak", self.found())

    def test_what_is_allocated_once_is_no_leak(self):
        for _ in range(100):
            self.p.allocate(2 * MIB)
        self.loop(100, lambda: None)
        self.assert_nothing()

    def test_growth_that_stops_is_no_leak(self):
        rounds = iter(range(100))
        self.loop(100, lambda: self.p.allocate(2 * MIB, duration=3 * US) if next(rounds) < 65 else None)
        self.assert_nothing()

    def test_a_late_set_up_is_no_leak(self):
        rounds = iter(range(100))
        self.loop(100, lambda: [self.p.allocate(2 * MIB, duration=3 * US) for _ in range(20)] if next(rounds) == 80 else None)
        self.assert_nothing()

    def test_wrong_frees(self):
        address = self.p.allocate(MIB)
        self.p.launch("kernel", 200 * US)
        self.p.free(address)
        for _ in range(2):
            self.p.free(address, error="cudaErrorInvalidValue")
        row = self.one("wrong-free")
        self.assertEqual(row["count"], 2)
        self.assertIn("2 addresses had already been freed, 0 were never", row["evidence"])


class Engines(Findings):
    """Serving engines. Their made iterations are launch-bound or not like any program, so other findings do not count."""

    def setUp(self):
        super().setUp()
        self.p = Engine()

    def decode(self, gpu_ns, requests=16, times=1, gap=20 * US, **more):
        for _ in range(times):
            self.p.step([(f"r{number}", "decode", 1) for number in range(requests)], gpu_ns, **more)
            self.p.now += gap

    def decode_beside(self, prompts, gpu_ns, host_ns=0):
        with self.p.iteration([(f"r{number}", "decode", 1) for number in range(16)] + [(name, "prefill", count) for name, count in prompts]):
            self.p.launch("forward", gpu_ns)
            self.p.wait()
            self.p.now += host_ns
        self.p.now += 20 * US

    def none(self, word):
        self.assertNotIn(word, self.found())

    def test_prefill_stalls_decode(self):
        self.decode(10 * MS, times=30)
        self.decode_beside([("long", 3000)], 95 * MS)
        self.decode_beside([("short", 100)], 12 * MS)
        self.decode(10 * MS, times=30)
        row = self.one("prefill-stalls-decode")
        self.assertEqual((row["count"], row["where"], row["saving_ns"]), (1, "vllm", 85 * MS))
        self.assertAlmostEqual(row["saving_share"], 85 / (60 * 10 + 95 + 12), delta=0.001)
        self.assertIn(f"in iteration 31 (trace {self.p.trace_of(31)}) 16 decode tokens waited 95.0 ms for 3000 prefill tokens "
                      "(long prefill 3000)", row["evidence"])

    def test_prefill_stalls_decode_names_some_requests(self):
        self.decode(10 * MS, times=30)
        self.decode_beside([(f"new{number}", 500) for number in range(5)], 60 * MS)
        self.assertTrue(self.one("prefill-stalls-decode")["evidence"].endswith(
            "2500 prefill tokens (new0 prefill 500, new1 prefill 500, new2 prefill 500 and 2 more)"))

    def test_prefill_stalls_decode_without_neighbors(self):
        self.p.has_parts = False
        self.decode(10 * MS, times=30)
        self.decode_beside([("secret", 3000)], 60 * MS)
        self.assertTrue(self.one("prefill-stalls-decode")["evidence"].endswith("3000 prefill tokens"))

    def test_prompts_that_delay_little_do_not_stall(self):
        for _ in range(30):
            self.decode(10 * MS)
            self.decode_beside([("short", 200)], 16 * MS)
        self.none("prefill-stalls-decode")

    def test_a_slow_host_is_no_prompt(self):
        """A mixed iteration that loads modules."""
        self.decode(10 * MS, times=30)
        self.decode_beside([("first", 3000)], 30 * MS, host_ns=500 * MS)
        self.none("prefill-stalls-decode")

    def test_prompts_alone_stall_nobody(self):
        self.decode(10 * MS, times=30)
        self.p.step([("long", "prefill", 3000)], 100 * MS)
        self.none("prefill-stalls-decode")

    def test_scheduler_bound(self):
        self.decode(2 * MS, times=50, gap=2 * MS)
        row = self.one("scheduler-bound")
        self.assertEqual((row["count"], row["where"], row["saving_ns"]), (49, "vllm", 49 * 2 * MS))
        self.assertAlmostEqual(row["saving_share"], 0.5, delta=0.002)
        self.assertRegex(row["evidence"], r"^from 49 iterations to the next ones, although requests were in progress, the GPU was idle .* \(50 %\)$")

    def host_takes_time(self, **totals):
        for _ in range(50):
            with self.p.iteration([("a", "decode", 1)], rank_attrs=totals):
                self.p.now += 3 * MS
                self.p.launch("forward", 2 * MS)
                self.p.wait()

    def test_an_iteration_with_a_graph_is_scheduler_bound(self):
        """Asynchronous scheduling: the engine's own code delays it in the iteration, too."""
        self.host_takes_time(**{"cuda.total.graphs": 1})
        row = self.one("scheduler-bound")
        self.assertAlmostEqual(row["saving_ns"], 49 * 3 * MS, delta=MS)

    def test_an_iteration_without_a_graph_is_bound_by_its_launches(self):
        self.host_takes_time()
        self.none("scheduler-bound")

    def test_short_gaps_are_not_scheduler_bound(self):
        self.decode(2 * MS, times=50, gap=700 * US)
        self.none("scheduler-bound")

    def test_an_engine_without_requests_is_not_scheduler_bound(self):
        for number in range(50):
            self.p.step([(f"r{number}", "prefill", 100)], 2 * MS)
            self.p.now += 10 * MS
        self.none("scheduler-bound")

    def test_a_gpu_that_works_in_the_gaps_is_not_scheduler_bound(self):
        """The engine schedules while the GPU computes."""
        for _ in range(50):
            with self.p.iteration([("a", "decode", 1)]):
                self.p.launch("forward", 4 * MS)
            self.p.now += 4 * MS
        self.none("scheduler-bound")

    def test_gaps_around_unrecorded_iterations_do_not_count(self):
        for _ in range(50):
            self.decode(2 * MS, gap=4 * MS)
            self.p.number += 1
        self.none("scheduler-bound")

    def test_preemption(self):
        for number in range(50):
            self.decode(2 * MS)
            is_preempted = number % 4 == 0
            self.p.request(f"r{number}", self.p.now - 2 * MS, self.p.now, preemptions=int(is_preempted), prompt_tokens=100,
                           cached_tokens=20, prefill_tokens=80 + 120 * is_preempted, gpu_share_prefill=200_000, gpu_share_decode=100_000)
        row = self.one("preemption")
        self.assertEqual((row["count"], row["where"], "saving_ns" in row), (13, "vllm", False))
        self.assertEqual(row["evidence"], "the engine stopped 13 of 50 sampled requests, 13 times in all, and resumed them; "
                         f"{13 * 120} of {50 * 80 + 13 * 120} prefill tokens were computed again, which took an estimated "
                         f"{100 * 13 * 0.12 / (50 * 0.3):.0f} % of the requests' GPU time")

    def test_rare_preemptions_are_no_finding(self):
        for number in range(1200):
            self.p.now += MS
            self.p.request(f"r{number}", self.p.now - MS, self.p.now, preemptions=int(number % 60 == 0))
        self.none("preemption")

    def wait_in_queue(self, requests, iterations):
        """Every 10 iterations, a request starts that waited for the last `iterations`."""
        for number in range(10):
            self.decode(5 * MS, requests=requests, times=10)
            start = self.p.now
            self.p.request(f"late{number}", start, start + MS, queue=iterations * (5 * MS + 30 * US))

    def test_small_batch(self):
        self.wait_in_queue(4, 8)
        row = self.one("small-batch")
        self.assertEqual((row["count"], row["where"]), (80, "vllm"))
        self.assertAlmostEqual(row["saving_share"], 0.8, delta=0.01)
        self.assertIn("80 iterations that only decode had at most 8 requests", row["evidence"])
        self.assertIn("10 waited for at least 4 such iterations", row["evidence"])

    def test_a_request_waits_for_the_iteration_in_progress(self):
        self.wait_in_queue(4, 3)
        self.none("small-batch")

    def test_large_batches_are_not_small(self):
        self.wait_in_queue(16, 8)
        self.none("small-batch")

    def graphs(self, requests, times=1, eager_ns=0):
        """Iterations with a CUDA graph; with `eager_ns`, their kernels are launched one by one, which takes longer."""
        for _ in range(times):
            with self.p.iteration([(f"r{number}", "decode", 1) for number in range(requests)],
                                  rank_attrs={} if eager_ns else {"cuda.total.graphs": 1, "cuda.total.kernels": 0}):
                self.p.now += eager_ns
                self.p.launch("forward", 2 * MS)
                self.p.wait()
            self.p.now += 20 * US

    def test_graph_miss(self):
        for number in range(20):
            self.graphs(16, times=4)
            self.graphs(24, eager_ns=3 * MS + number * US)
        row = self.one("graph-miss")
        self.assertEqual((row["count"], row["where"], row["saving_ns"]), (20, "vllm", sum(3 * MS + number * US for number in range(20))))
        self.assertAlmostEqual(row["saving_share"], 60 / (100 * 2 + 60), delta=0.005)
        self.assertIn(f"iteration 100 (trace {self.p.trace_of(100)}) had 24 requests and 1 kernels, and took 5.02 ms instead of 2.00 ms",
                      row["evidence"])

    def test_graph_miss_beyond_the_largest_graph(self):
        self.graphs(60, times=20)
        self.graphs(70, times=12, eager_ns=MS)
        self.assertEqual(self.one("graph-miss")["count"], 12)

    def test_other_sizes_and_prompts_are_no_graph_miss(self):
        self.graphs(4, times=20)
        self.graphs(32, times=20, eager_ns=MS)
        for _ in range(20):
            self.p.step([(f"new{number}", "prefill", 100) for number in range(4)], 4 * MS)
            self.decode(4 * MS, requests=4, is_summary=True)
        self.none("graph-miss")

    def test_an_engine_without_graphs_has_no_graph_miss(self):
        self.graphs(16, times=40, eager_ns=MS)
        self.graphs(16, times=9)
        self.none("graph-miss")

    def ranks(self, late_ns, every=2, times=40, is_stage=False, host=None, summaries=False):
        """Two ranks of one engine, the second of which is late in every nth iteration."""
        other = Engine(seed=2, pid=4712, first=self.p, rank=1)
        for number in range(times):
            start, parts = self.p.now, [(f"r{number}", "decode", 1) for number in range(16)]
            is_late = number % every == every - 1
            self.p.step(parts, 2 * MS, is_summary=summaries and is_late)
            other.now = self.p.now + 5 * US if is_stage else start + 10 * US + late_ns * is_late
            other.step(parts, 2 * MS, is_summary=summaries and is_late)
            self.p.now = max(self.p.now, other.now) + 20 * US
        other.write(self.file)
        lines = self.file.read_text()
        if host:
            lines = lines.replace('{"key": "host.id", "value": {"stringValue": "a1b2"}}', json.dumps(attributes({"host.name": host})[0]))
        self.p.write(self.file)
        self.file.write_text(self.file.read_text() + lines)
        return {row["finding"]: row for row in json.loads(output_of("stat", "--findings", "--json", "--top", 0, self.file))["findings"]}

    def test_late_rank(self):
        row = self.ranks(500 * US)["late-rank"]
        self.assertEqual((row["count"], row["where"], row["process"]), (20, "vllm", "server 4712"))
        self.assertAlmostEqual(row["saving_ns"], 20 * 510 * US, delta=20 * 15 * US)
        self.assertRegex(row["evidence"], "^the rank started 20 of 40 iterations later than the other ranks of its host, by 510 us on "
                         "average; its GPU was idle for 10.[0-9] ms meanwhile$")

    def test_ranks_that_start_together_are_not_late(self):
        self.assertNotIn("late-rank", self.ranks(30 * US))

    def test_a_rank_that_is_rarely_late_is_no_finding(self):
        self.assertNotIn("late-rank", self.ranks(500 * US, every=3))

    def test_stages_of_a_pipeline_are_not_late(self):
        self.assertNotIn("late-rank", self.ranks(0, is_stage=True))

    def test_summaries_are_no_late_ranks(self):
        self.assertNotIn("late-rank", self.ranks(500 * US, summaries=True))

    def test_clocks_of_two_hosts_are_not_compared(self):
        self.assertNotIn("late-rank", self.ranks(500 * US, host="other"))

    def test_summaries_are_no_idle_iterations(self):
        """Work of theirs that has no spans runs after them."""
        for number in range(100):
            with self.p.iteration([("a", "decode", 1)], is_summary=number % 2 == 1):
                self.p.launch("forward", 4 * MS)
            self.p.now += 4 * MS
        self.none("scheduler-bound")

    def test_the_example_has_none_of_these_faults(self):
        example = ROOT / "examples/engines/transformers.cuspanrec"
        rows = json.loads(output_of("stat", "--findings", "--json", "--top", 0, example))["findings"]
        self.assertEqual({row["finding"] for row in rows}, {"launch-bound", "tiny-launches"})

    def test_few_requests_are_no_small_batch(self):
        self.decode(5 * MS, requests=1, times=100)
        self.p.request("r0", 0, self.p.now, queue=MS)
        self.none("small-batch")


class PlantedInEngines(Findings):
    """An engine whose host launches its kernels too slowly, with one fault more: that one is named first."""

    def setUp(self):
        super().setUp()
        self.p = Engine()

    def iteration(self, prefills=(), kernels=40, gap=300 * US, host_ns=60 * US):
        with self.p.iteration([(f"r{number}", "decode", 1) for number in range(16)] + [(name, "prefill", tokens) for name, tokens in prefills]):
            for _ in range(kernels):
                self.p.launch("forward", 20 * US + sum(tokens for _, tokens in prefills) * US, host_ns=host_ns)
            self.p.wait()
        self.p.now += gap

    def first(self):
        self.p.write(self.file)
        rows = json.loads(output_of("stat", "--findings", "--json", "--top", 0, self.file))["findings"]
        self.assertIn("launch-bound", [row["finding"] for row in rows])
        return rows[0]

    def test_without_a_fault(self):
        for _ in range(100):
            self.iteration()
        self.assertEqual(self.first()["finding"], "launch-bound")

    def test_the_engines_start_does_not_count(self):
        for _ in range(5000):
            self.p.launch("warm_up", 5 * US, host_ns=60 * US)
        self.p.wait()
        self.assertEqual(self.first()["where"], "main")
        for _ in range(20):
            self.iteration()
        self.p.write(self.file)
        rows = json.loads(output_of("stat", "--findings", "--json", "--top", 0, self.file))["findings"]
        (row,) = [row for row in rows if row["finding"] == "launch-bound"]
        self.assertEqual(row["count"], 20 * 40)

    def test_a_long_prompt_among_decodes(self):
        for number in range(100):
            self.iteration([("long", 3000)] if number == 60 else ())
        row = self.first()
        self.assertEqual(row["finding"], "prefill-stalls-decode")
        self.assertIn("in iteration 61 ", row["evidence"])
        self.assertIn("for 3000 prefill tokens (long prefill 3000)", row["evidence"])

    def test_a_tokenizer_that_holds_the_gil(self):
        """The engine's thread waits for it, mostly between iterations."""
        for _ in range(100):
            self.iteration(gap=3 * MS, host_ns=70 * US)
        self.assertEqual(self.first()["finding"], "scheduler-bound")

    def test_a_kv_cache_that_is_too_small(self):
        """The engine stops the youngest request again and again, and computes its prompt once more."""
        for number in range(100):
            self.iteration([(f"r{number}", 400)] if number % 5 == 0 else ())
            self.p.request(f"r{number}", self.p.now - 9 * MS, self.p.now, queue=40 * MS, preemptions=int(number % 5 == 0), prompt_tokens=100,
                           prefill_tokens=100 + 300 * (number % 5 == 0), gpu_share_prefill=200_000, gpu_share_decode=100_000)
        self.assertEqual(self.first()["finding"], "preemption")


class Forms(Findings):
    def test_every_form_has_evidence_and_advice(self):
        for _ in range(1000):
            self.p.launch("tiny|kernel", 1_500)
        self.p.write(self.file)
        (row,) = [row for row in json.loads(output_of("stat", "--findings", "--json", self.file))["findings"]
                  if row["finding"] == "tiny-launches"]
        shown = output_of("stat", "--findings", "--width", 80, self.file)
        self.assertIn(" ".join(row["evidence"].split()), " ".join(shown.split()))
        self.assertIn(row["advice"], " ".join(shown.split()))
        self.assertLessEqual(max(len(line) for line in shown.splitlines() if line.startswith("  ")), 80)
        for form in "--csv", "--markdown":
            self.assertIn(row["advice"], output_of("stat", "--findings", form, self.file))
        table = output_of("stat", self.file).split("\nFindings (--table findings)\n")[1]
        self.assertIn("tiny-launches", table)
        self.assertNotIn(row["advice"], table)

    def test_only_the_first_findings(self):
        for number in range(3):
            for _ in range(1000):
                self.p.launch(f"tiny_{number}", 1_500)
        self.p.write(self.file)
        self.assertRegex(output_of("stat", "--findings", "--top", 1, self.file), r"and \d+ more")


    def test_losses_are_said(self):
        self.p.launch("kernel", 50 * US)
        self.p.lost = 7
        self.p.write(self.file)
        done = subprocess.run([str(BUILD / "cuspan"), "stat", str(self.file)], capture_output=True, text=True, timeout=600, check=True)
        self.assertIn("lost 7 spans", done.stderr)

    def test_each_process_has_its_own_findings(self):
        other = Program("other", seed=2, pid=4712)
        for _ in range(1000):
            other.launch("tiny", 1_500)
        lines = other.write(self.file).read_text()
        for _ in range(100):
            self.p.launch("kernel", 500 * US)
        self.file.write_text(self.p.write(self.file).read_text() + lines)
        rows = json.loads(output_of("stat", "--findings", "--json", self.file))["findings"]
        self.assertEqual({row["process"] for row in rows}, {"other 4712"})
        (tiny,) = [row for row in rows if row["finding"] == "tiny-launches"]
        self.assertAlmostEqual(tiny["saving_share"], 0.25, delta=0.001)


class Recordings(unittest.TestCase):
    """Findings in recordings of real GPU runs, computed again from their spans."""

    def of(self, example):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "trace.jsonl")
            output_of("replay", "--quiet", "--file", file, ROOT / f"examples/recordings/{example}.cuspanrec")
            spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
            rows = json.loads(output_of("stat", "--findings", "--json", file))["findings"]
        return sorted(spans, key=lambda span: span.start_ns), {(row["finding"], row["where"]): row for row in rows}

    def test_tiny_launches_of_the_service(self):
        """The GPU's idle time while any call waits for its kernel."""
        spans, rows = self.of("service")
        by_id = {span.span_id: span for span in spans}
        work = [span for span in spans if span.attributes.get("cuda.activity") in ("kernel", "memcpy", "memset")]
        kernels = [span for span in work if span.name == "work"]
        events = [(span.start_ns, 1, 0) for span in work] + [(span.end_ns, -1, 0) for span in work]
        counted = 0
        for span in kernels:  # in the order of their starts: no idle time counts for two
            start = max(by_id[span.parent_id].start_ns, counted)
            if start < span.start_ns:
                events += [(start, 0, 1), (span.start_ns, 0, -1)]
            counted = max(counted, span.start_ns)
        saving = busy = waiting = before = 0
        for time, more_busy, more_waiting in sorted(events):
            saving += time - before if waiting and not busy else 0
            before, busy, waiting = time, busy + more_busy, waiting + more_waiting
        row = rows["tiny-launches", "work"]
        self.assertEqual((row["count"], row["saving_ns"]), (len(kernels), saving))

    def test_pageable_copies_of_the_vector_addition(self):
        spans, rows = self.of("vector_add")
        for direction in "HostToDevice", "DeviceToHost":
            copies = [span for span in spans if span.attributes.get("cuda.memcpy.kind") == direction]
            slower = sum(int(span.end_ns - span.start_ns - span.attributes["cuda.memcpy.bytes"] / 40) for span in copies)
            row = rows["pageable-copies", direction]
            self.assertEqual(row["count"], len(copies))
            self.assertAlmostEqual(row["saving_ns"], slower, delta=len(copies))


class Planted(unittest.TestCase):
    """Recordings of tests/gpu/programs/faults.cu on an H200, one fault each."""

    def evidence(self, fault, text):
        (row,) = [row for row in json.loads(text)["findings"] if row["finding"] == fault]
        return row["evidence"]

    def check(self, fault, words):
        recording = ROOT / f"tests/gpu/recordings/{fault}.cuspanrec"
        self.assertIn(words, self.evidence(fault, output_of("stat", "--findings", "--json", recording)))
        with tempfile.TemporaryDirectory() as folder:  # live
            tables = Path(folder, "tables.json")
            done = subprocess.run([BUILD / "cuspan", "stat", "--json", "-o", tables, "--set",
                                   f"cupti.library={BUILD}/libcuspan-replay.so", "--", BUILD / "exit_host", BUILD / "libcuspan.so",
                                   BUILD / "libcuspan-replay.so", recording, "return"],
                                  capture_output=True, text=True, timeout=600, check=False)
            self.assertEqual(done.returncode, 7, done.stderr)  # as that host ends
            self.assertIn(words, self.evidence(fault, tables.read_text()))

    def test_leak(self):
        """300 allocations; the host makes the last one before the GPU's last quarter."""
        self.check("leak", "150 blocks that thread faults allocated with cudaMalloc in the second half of the run were never freed")

    def test_wrong_free(self):
        self.check("wrong-free", "1 addresses had already been freed, 0 were never allocated")


class Documents(unittest.TestCase):
    def test_each_finding_is_explained(self):
        words = re.findall(r'X\(FINDING_\w+, "([a-z-]+)"', (ROOT / "src/analysis/stat/findings/finding.h").read_text())
        self.assertEqual(len(words), 21)
        explained = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs/findings.md").read_text(), re.M)
        self.assertEqual(explained, words)

    def test_each_limit_is_told_as_it_is(self):
        told = dict(re.findall(r"^\| `([A-Z0-9_]+)` \| ([0-9.e]+) \|", (ROOT / "docs/findings.md").read_text(), re.M))
        header = (ROOT / "src/analysis/stat/findings/findings_limits.h").read_text()
        limits = dict(re.findall(r"^#define ([A-Z0-9_]+)\s+([0-9.e]+)", header, re.M))
        self.assertGreater(len(limits), 20)
        self.assertEqual(told, limits)


if __name__ == "__main__":
    unittest.main()
