#!/usr/bin/env python3
"""`cuspan stat --table memory_code`: memory by line of code, computed again in another way, with sums that equal the
table of memory; and the order of rows (`--sort`), with the time in waiting calls by line.

    memory_code_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import random
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from built import run  # noqa: E402
from made_program import MIB, Program  # noqa: E402
from make_trace import attributes as encode  # noqa: E402

KINDS = {"device": ("cudaMalloc", "cudaFree"), "pool": ("cudaMallocAsync", "cudaFreeAsync"),
         "managed": ("cudaMallocManaged", "cudaFree"), "pinned": ("cudaHostAlloc", "cudaFreeHost")}


class Line:
    """A line of the program, which allocates below a function of PyTorch."""

    def __init__(self, number, file, line, function):
        self.number, self.file, self.line, self.function = number, file, line, function

    def attributes(self, with_text=True):
        frames = [("/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", 1339, "Module.to"),
                  (self.file, self.line, self.function),
                  ("/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", 1751, "Module._call_impl"),
                  ("train.py", 152, "<module>")]
        text = "\n".join(f'File "{file}", line {line}, in {function}' for file, line, function in frames)
        attributes = {"cuspan.stack.id": f"{self.number:016x}", "code.file.path": self.file, "code.line.number": self.line,
                      "code.function.name": self.function}
        return {**attributes, "code.stacktrace": text} if with_text else attributes

    def row(self, by):
        return {"line": (f"{self.file}:{self.line}", self.function), "function": (self.file, self.function),
                "module": (self.file, None)}[by]


class Made(Program):
    """A program that notes what it allocated: (place, GPU, bytes, from, until or None, process)."""

    def __init__(self, pid=4711, seed=1):
        super().__init__(seed=seed, pid=pid)
        self.blocks = []
        for device in range(2):
            self.launch("first", 5_000, device=device, context=1 + device)

    def put(self, attributes):
        self.spans[-1][1]["attributes"] += encode(attributes)

    def take(self, line, size, kind="device", device=0, attributes=None):
        """`line`: a Line, or the row of an allocation without one."""
        address = self.allocate(size, name=KINDS[kind][0], context=1 + device)
        if isinstance(line, Line):
            self.put(line.attributes() if attributes is None else attributes)
        where = {"managed": "managed", "pinned": "host"}.get(kind, str(device))
        self.blocks.append([line, where, size, self.now, None, self.pid, address, kind])
        return self.blocks[-1]

    def give(self, block):
        block[4] = self.now
        self.free(block[6], name=KINDS[block[7]][1])


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "trace.jsonl"

    def write(self, *programs):
        self.file.write_text("".join(program.write(self.folder / "one.jsonl").read_text() for program in programs))

    def stat(self, *arguments):
        done = run("stat", "--json", "--top", 0, *arguments, self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


def expected(programs, by):
    """{(place, function, GPU): row}, at each change by adding up all blocks again."""
    rows = defaultdict(lambda: defaultdict(int))
    blocks = [block for program in programs for block in program.blocks]
    lives = lambda block, at: block[3] <= at and (block[4] is None or block[4] > at)  # noqa: E731
    key = lambda block: (block[0].row(by) if isinstance(block[0], Line) else (block[0], None)) + (block[1],)  # noqa: E731
    for block in blocks:
        row = rows[key(block)]
        row["total_bytes"] += block[2]
        row["allocations"] += 1
        row["frees"] += block[4] is not None
        row["live_bytes"] += block[2] if block[4] is None else 0
    for row_key, row in list(rows.items()):
        mine = [block for block in blocks if key(block) == row_key]
        row["peak_bytes"] = max(sum(block[2] for block in mine if lives(block, at[3])) for at in mine)
    for account in {(block[1], block[5]) for block in blocks}:
        mine = [block for block in blocks if (block[1], block[5]) == account]
        sums = [(sum(block[2] for block in mine if lives(block, at[3])), -at[3]) for at in mine]
        peak_ns = -max(sums)[1]
        for block in mine:
            live = block[2] if lives(block, peak_ns) else 0
            rows[key(block)]["at_peak_bytes"] += live
            callers = {key(block)}
            if live and isinstance(block[0], Line) and block[0].number != 90:  # whose text is not in the file
                callers.add(Line(0, "train.py", 152, "<module>").row(by) + (block[1],))
            for caller in callers:
                rows[caller]["at_peak_total_bytes"] += live
    return {row_key: dict(row) for row_key, row in rows.items()}


class MemoryByCode(Case):
    def made(self, pid, seed):
        p, choose = Made(pid, seed), random.Random(seed)
        lines = [Line(1 + number, f"model{number % 3}.py", 10 + number // 2, f"Block.f{number % 5}") for number in range(12)]
        with p.on(4720, "native"):  # no call of this thread has a stack
            p.take("(no Python)", 3 * MIB)
        p.take("(not sampled)", 2 * MIB)
        # The text of this stack came with a launch, which is not in the file; and one that is.
        p.take(Line(90, "late.py", 5, "late"), MIB, attributes=Line(90, "late.py", 5, "late").attributes(with_text=False))
        p.launch("gemm", 5_000)
        p.spans[-2][1]["attributes"] += encode(Line(91, "both.py", 6, "both").attributes())
        p.take(Line(91, "both.py", 6, "both"), MIB, attributes=Line(91, "both.py", 6, "both").attributes(with_text=False))
        for _ in range(300):
            p.now += choose.randrange(10_000)
            living = [block for block in p.blocks if block[4] is None]
            if choose.random() < 0.4 and living:
                p.give(choose.choice(living))
            else:
                p.take(choose.choice(lines), choose.randrange(1, 64) * 4096, choose.choice(list(KINDS)), choose.randrange(2))
        return p

    def check(self, programs, by, *arguments):
        table = self.stat("--table", "memory_code", "--by", by, *arguments)["memory_code"]
        rows = {(row["place"], row.get("function") or None, row["device"]): row for row in table}
        self.assertEqual(len(rows), len(table))
        wanted = expected(programs, by)
        self.assertEqual(set(rows), set(wanted))
        for key, row in wanted.items():
            self.assertEqual({name: rows[key][name] for name in row}, row, key)
        return table

    def test_every_figure_and_every_sum(self):
        programs = [self.made(4711, 1), self.made(4712, 2)]
        self.write(*programs)
        memory = self.stat("--table", "memory")["memory"]
        for by in "line", "function", "module":
            table = self.check(programs, by)
            self.assertEqual([row["at_peak_bytes"] for row in table], sorted((row["at_peak_bytes"] for row in table), reverse=True))
            for device in "0", "1", "host", "managed":
                kind = "managed" if device == "managed" else "all"
                of_memory = [row for row in memory if row["kind"] == kind and device in (row["device"], "managed")]
                of_code = [row for row in table if row["device"] == device]
                self.assertTrue(of_code)
                for name in "live_bytes", "total_bytes", "allocations", "frees":
                    self.assertEqual(sum(row[name] for row in of_code), sum(row[name] for row in of_memory), (device, name))
                if device != "managed":  # the table of memory has a peak for each GPU
                    self.assertEqual(sum(row["at_peak_bytes"] for row in of_code), sum(row["peak_bytes"] for row in of_memory))

    def test_each_process_on_its_own(self):
        programs = [self.made(4711, 1), self.made(4712, 2)]
        self.write(*programs)
        table = self.stat("--table", "memory_code", "--by", "process")["memory_code"]
        for program in programs:
            rows = [row for row in table if str(program.pid) in row["group"]]
            self.assertEqual(sum(row["total_bytes"] for row in rows), sum(block[2] for block in program.blocks))
            self.assertEqual(len(rows), len(expected([program], "line")))

    def test_of_equal_peaks_the_first_counts(self):
        p = Made()
        p.give(p.take(Line(1, "a.py", 1, "first"), MIB))
        p.take(Line(2, "b.py", 2, "second"), MIB)
        self.write(p)
        rows = {row["place"]: row for row in self.stat("--table", "memory_code")["memory_code"]}
        self.assertEqual([rows[place]["at_peak_bytes"] for place in ("a.py:1", "b.py:2")], [MIB, 0])
        self.assertEqual([rows[place]["peak_bytes"] for place in ("a.py:1", "b.py:2")], [MIB, MIB])

    def test_recursion_counts_once(self):
        p = Made()
        line = Line(1, "tree.py", 9, "grow")
        attributes = line.attributes()
        attributes["code.stacktrace"] = attributes["code.stacktrace"].replace("\nFile \"tree", "\nFile \"tree.py\", line 9, in grow" * 3 +
                                                                             "\nFile \"tree")
        p.take(line, MIB, attributes=attributes)
        self.write(p)
        rows = {row["place"]: row["at_peak_total_bytes"] for row in self.stat("--table", "memory_code")["memory_code"]}
        self.assertEqual(rows, {"tree.py:9": MIB, "train.py:152": MIB})

    def test_backward_belongs_to_the_forward_line(self):
        """The thread of autograd has no stack, but ranges of emit_nvtx."""
        p = Made()
        with p.range("aten::mm, seq = 12"):
            p.put({"cuspan.thread.id": 4711, "thread.name": "main"})
            p.launch("gemm", 5_000)
            p.spans[-2][1]["attributes"] += encode(Line(1, "model.py", 31, "Block.forward").attributes())
        with p.on(4720, "pt_autograd_0"), p.range("autograd::engine::evaluate_function: MmBackward0, seq = 12"):
            p.put({"cuspan.thread.id": 4720, "thread.name": "pt_autograd_0"})
            p.take("", MIB)
        p.take(Line(2, "model.py", 31, "Block.forward"), 2 * MIB)
        self.write(p)
        rows = {row["place"]: row["live_bytes"] for row in self.stat("--table", "memory_code")["memory_code"] if row["live_bytes"]}
        self.assertEqual(rows, {"model.py:31": 2 * MIB, "model.py:31 (backward)": MIB})
        stacks = {row["bytes"]: row["stack"] for row in self.stat("--table", "memory_unfreed")["memory_unfreed"]}
        self.assertEqual(stacks, {2 * MIB: "model.py:31 Block.forward < train.py:152 <module>", MIB: "model.py:31 (backward) Block.forward"})

    def test_stacks_of_allocations_do_not_count_for_launches(self):
        """A launch without a stack, on a thread where only allocations have some, was not left out by sampling."""
        p = Made()
        p.launch("gemm", 5_000)
        p.spans[-2][1]["attributes"] += encode(Line(1, "train.py", 7, "step").attributes())
        with p.on(4720, "native"):
            p.take(Line(2, "b.py", 2, "second"), MIB)
            p.launch("gemm", 7_000)
        self.write(p)
        rows = {row["place"]: row["self_ns"] for row in self.stat("--table", "code")["code"] if row["self_ns"]}
        self.assertEqual(rows, {"train.py:7": 5_000, "(not sampled)": 10_000, "(no Python)": 7_000})

    def test_what_is_never_freed_shows_lines(self):
        p = Made()
        for _ in range(3):
            p.take(Line(1, "model.py", 31, "Block.load"), MIB)
        p.take(Line(2, "model.py", 40, "Block.cache"), 8 * MIB, attributes=Line(2, "model.py", 40, "Block.cache").attributes(False))
        self.write(p)
        cache, load = self.stat("--table", "memory_unfreed")["memory_unfreed"]
        self.assertEqual((cache["stack"], cache["bytes"]), ("model.py:40 Block.cache", 8 * MIB))
        self.assertEqual((load["stack"], load["count"]), ("model.py:31 Block.load < train.py:152 <module>", 3))

    def test_allocations_alone_are_no_table_of_code(self):
        p = Made()
        p.take(Line(1, "model.py", 31, "Block.load"), MIB)
        self.write(p)
        self.assertNotIn("code", self.stat())
        done = run("stat", "--table", "code", self.file)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("capture.launch_stacks", done.stderr)

    def test_without_stacks_there_is_no_table(self):
        p = Made()
        p.take("", MIB)
        self.write(p)
        self.assertNotIn("memory_code", self.stat())
        done = run("stat", "--table", "memory_code", self.file)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no allocation has a call stack; trace with cuspan run --set capture.allocation_stacks=true", done.stderr)

    def test_a_stack_without_an_id(self):
        """Each allocation has the text alone."""
        p = Made()
        for _ in range(2):
            p.take(Line(1, "", 0, ""), MIB, attributes={"code.stacktrace": "load_weights+0x1c (trainer+0x1189)\nmain+0x40 (trainer+0x2000)"})
        self.write(p)
        (row,) = self.stat("--table", "memory_code")["memory_code"]
        self.assertEqual((row["place"], row["live_bytes"]), ("(no Python)", 2 * MIB))
        (row,) = self.stat("--table", "memory_unfreed")["memory_unfreed"]
        self.assertEqual((row["stack"], row["count"]), ("load_weights+0x1c < main+0x40", 2))

    def test_source_lines(self):
        p = Made()
        p.take(Line(1, "model.py", 2, "load"), MIB)
        self.write(p)
        (self.folder / "model.py").write_text("def load():\n    return torch.empty(1 << 18, device='cuda')\n")
        row, caller = self.stat("--table", "memory_code", "--source", self.folder)["memory_code"]
        self.assertEqual((caller["place"], caller["allocations"], caller["at_peak_total_bytes"]), ("train.py:152", 0, MIB))
        self.assertEqual(row["source"], "return torch.empty(1 << 18, device='cuda')")


class Findings(Case):
    """Findings about memory name the line that allocated."""

    def found(self, step):
        p = Made()
        for _ in range(100):
            step(p)
            p.launch("kernel", 200_000)
            p.wait()
        self.write(p)
        return {row["finding"]: row["evidence"] for row in self.stat("--findings")["findings"]}

    def test_a_leak(self):
        line = Line(1, "cache.py", 31, "Cache.put")
        evidence = self.found(lambda p: p.take(line, 2 * MIB))["leak"]
        self.assertRegex(evidence, r"50 blocks that thread main allocated with cudaMalloc .*; 50 at cache.py:31 \(Cache.put\)$")

    def test_steady_allocations(self):
        line = Line(1, "model.py", 40, "Block.buffer")
        evidence = self.found(lambda p: p.give(p.take(line, MIB)))["steady-allocation"]
        self.assertRegex(evidence, r"; \d+ at model.py:40 \(Block.buffer\)$")


class Order(Case):
    def made(self):
        """Lines whose calls wait, and calls that only look as if they did."""
        p, waits = Made(), defaultdict(int)
        names = ["cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cuCtxSynchronize", "cudaMemcpy",
                 "cuMemcpyDtoH", "cudaStreamWaitEvent", "cudaMemcpyAsync", "cudaEventQuery"]
        for number, name in enumerate(names):
            line = Line(1 + number, "train.py", 100 + number, f"f{number}")
            p.call(name, 1_000 * (1 + (number * 5) % 7))
            p.put(line.attributes())
            if number < 6:
                waits[line.row("line")[0]] = 1_000 * (1 + (number * 5) % 7)
        p.launch("gemm", 50_000)
        p.spans[-2][1]["attributes"] += encode(Line(50, "train.py", 200, "launch").attributes())
        self.write(p)
        return waits

    def test_waits_by_line(self):
        waits = self.made()
        rows = self.stat("--by", "line")["code"]
        self.assertEqual(rows[0]["place"], "train.py:200")
        self.assertEqual({row["place"]: row["wait_ns"] for row in rows if row["wait_ns"]}, waits)
        synchronization = self.stat("--table", "synchronization")
        self.assertTrue(synchronization)
        for column in "waits", "wait_ns":
            ordered = self.stat("--by", "line", "--sort", column)["code"]
            self.assertEqual([row["wait_ns"] for row in ordered], sorted((row["wait_ns"] for row in rows), reverse=True))
            self.assertEqual({row["place"] for row in ordered}, {row["place"] for row in rows})
        top = json.loads(run("stat", "--json", "--by", "line", "--sort", "waits", "--top", 2, self.file).stdout)["code"]
        self.assertEqual([row["place"] for row in top], sorted(waits, key=lambda place: -waits[place])[:2])

    def test_columns_of_other_tables(self):
        self.made()
        rows = self.stat("--table", "calls")["calls"]
        column = next(key for key in rows[0] if key.endswith("max_ns"))
        ordered = self.stat("--table", "calls", "--sort", column)["calls"]
        self.assertEqual([row[column] for row in ordered], sorted((row[column] for row in rows), reverse=True))
        shares = self.stat("--table", "code", "--sort", "share")["code"]
        self.assertEqual([row["share"] for row in shares], sorted((row["share"] for row in shares), reverse=True))

    def test_columns_in_groups(self):
        p = Made()
        p.call("cudaDeviceSynchronize", 1_000_000)
        for _ in range(5):
            p.call("cudaEventQuery", 1_000)
        self.write(p)
        for sort, first in ([], "cudaDeviceSynchronize"), (["--sort", "count"], "cudaEventQuery"):
            rows = self.stat("--by", "thread", "--table", "calls", *sort)["calls"]
            self.assertEqual(rows[0]["name"], first)

    def test_an_unknown_column(self):
        self.made()
        for column in "nothing", "place":
            done = run("stat", "--table", "code", "--sort", column, self.file)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f'--sort: no table has a column of numbers "{column}"', done.stderr)


if __name__ == "__main__":
    unittest.main()
