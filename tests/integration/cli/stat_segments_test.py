#!/usr/bin/env python3
"""`cuspan stat`, its groups and the baselines of `cuspan diff` come to the same result whether the spans arrive in one
segment or in many small ones: for all recordings in the repository, and for programs with all kinds of
findings.

    stat_segments_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from built import BUILD, CLEAN  # noqa: E402
from made_engine import MS, Engine, serve  # noqa: E402
from made_program import Program  # noqa: E402

RECORDINGS = sorted([*(ROOT / "examples/recordings").glob("*.cuspanrec"), *(ROOT / "tests/gpu/recordings").glob("*.cuspanrec")])
SIZES = 1, 13, 700
# A call without work belongs to its context's GPU, which is unknown until a segment contains work of the context.
GROUPS = "range", "stream", "thread", "request", "process"


def run(*command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600, check=True,
                          env=CLEAN).stdout


MIB = 1 << 20
US = 1000


def workers_on_one_stream(p):
    for number in range(80):
        with p.on(5000 + number % 2, f"worker-{number % 2}"):
            p.launch("small", 50 * US, grid=(400, 1, 1))


def waits(p):
    for number in range(300):
        p.launch("kernel", 30 * US)
        p.wait()
        if number % 2:
            p.wait()


def launches(p):
    for _ in range(120):
        for kernel in "first", "second", "third", "fourth", "fifth":
            p.launch(kernel, 1_500)
        p.wait("cudaStreamSynchronize", 7)


def narrow_kernels(p):
    for _ in range(50):
        p.launch("narrow", 40 * US, grid=(2, 1, 1))


def copies(p):
    for number in range(60):
        p.copy("HostToDevice", 8 * MIB, 200 * US)
        p.copy("HostToDevice", 4 * MIB, 900 * US, host="pageable", is_async=bool(number % 2))
        p.copy("DeviceToHost", 4 * MIB, 120 * US, is_async=False, dst=0x9000)
        p.copy("HostToDevice", 4 * MIB, 120 * US, src=0x9000)
        for _ in range(8):
            p.copy("HostToDevice", 64, 1_000, is_async=False)


def allocations(p):
    for number in range(80):
        address = p.allocate(MIB)
        p.launch("kernel", 20 * US)
        p.free(address)
        if number % 3 == 0:
            p.allocate(2 * MIB)
    p.free(0xdead000, error="cudaErrorInvalidValue")


MADE = workers_on_one_stream, waits, launches, narrow_kernels, copies, allocations


class Segments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.files = []
        for recording in RECORDINGS:
            file = Path(cls.folder) / f"{recording.parent.parent.name}-{recording.stem}.jsonl"
            run(BUILD / "cuspan", "replay", "-q", "--file", file, recording)
            cls.files.append(file)

    def tables(self, file, size, *group):
        return json.loads(run(BUILD / "stat_segments", file, size, *group))

    def compare(self, file, *group):
        whole = self.tables(file, 0, *group)
        for size in SIZES:
            cut = self.tables(file, size, *group)
            for key, rows in whole.items():
                self.assertEqual(cut[key], rows, f"{file.name}: table {key}, segments of {size} spans, {group}")
            self.assertEqual(cut.keys(), whole.keys())
        return whole

    def test_tables_do_not_depend_on_segments(self):
        seen = set()
        for file in self.files:
            with self.subTest(file=file.name):
                seen |= {key for key, rows in self.compare(file).items() if rows}
        for table in "calls", "synchronization", "kernels", "counters", "copies", "devices", "gaps", "streams", "memory", \
                "memory_unfreed", "memory_wrong_frees", "findings", "own":
            self.assertIn(table, seen)

    def test_findings_do_not_depend_on_segments(self):
        found = set()
        for make in MADE:
            program = Program()
            make(program)
            file = program.write(Path(self.folder) / f"made-{make.__name__}.jsonl")
            with self.subTest(program=make.__name__):
                found |= {row["finding"] for row in self.compare(file)["findings"]}
        self.assertEqual(found, {
            "launch-bound", "tiny-launches", "graph-candidate", "serialized-kernels", "synchronous-copies", "pageable-copies",
            "tiny-copies", "round-trips", "needless-sync", "sync-between-launches", "low-occupancy", "steady-allocation", "leak",
            "wrong-free"})

    def test_tables_of_engines_do_not_depend_on_segments(self):
        tables = self.compare(serve(Engine(), 100, 1).write(Path(self.folder) / "engine.jsonl"))
        for table in "iterations", "slow_iterations", "engine_requests", "slow_engine_requests":
            self.assertTrue(tables[table], table)

    def test_findings_about_engines_do_not_depend_on_segments(self):
        engine = Engine()
        other = Engine(seed=2, pid=4712, first=engine, rank=1)
        for number in range(120):
            other.number, other.now = engine.number, engine.now + MS // 2
            engine.step([(name, "decode", 1) for name in "abc"], MS + MS // 2 * (number % 2), rank_attrs={"cuda.total.graphs": 1 - number % 2})
            other.step([(name, "decode", 1) for name in "abc"], MS)
            engine.now += MS * (number % 2 + 1)
            if number % 10 == 9:
                engine.request(f"late{number}", engine.now, engine.now + MS, queue=16 * MS, preemptions=1)
                engine.step([("a", "decode", 1), ("b", "prefill", 3000)], 5 * MS)
        file = engine.write(Path(self.folder) / "stalls.jsonl")
        file.write_text(file.read_text() + other.write(Path(self.folder) / "rank-1").read_text())
        rows = self.compare(file)["findings"]
        self.assertLessEqual({"prefill-stalls-decode", "scheduler-bound", "preemption", "small-batch", "late-rank", "graph-miss"},
                             {row["finding"] for row in rows})

    def test_one_segment_is_what_stat_prints(self):
        for file in self.files:
            self.assertEqual(self.tables(file, 0), json.loads(run(BUILD / "cuspan", "stat", "--json", "--top", 0, file)))

    def test_groups_do_not_depend_on_segments(self):
        for file in self.files:
            if file.stat().st_size < 1_000_000:
                for word in GROUPS:
                    with self.subTest(file=file.name, by=word):
                        self.compare(file, word)

    def test_baselines_do_not_depend_on_segments(self):
        for file in self.files:
            whole, cut, stat = (file.with_suffix(f".{word}") for word in ("whole", "cut", "stat"))
            run(BUILD / "stat_segments", file, 0, whole)
            run(BUILD / "stat_segments", file, 29, cut)
            run(BUILD / "cuspan", "stat", "--save", stat, file)
            self.assertEqual(cut.read_text(), whole.read_text(), file.name)
            self.assertEqual(stat.read_text(), whole.read_text(), file.name)


if __name__ == "__main__":
    unittest.main()
