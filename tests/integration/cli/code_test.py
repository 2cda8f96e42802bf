#!/usr/bin/env python3
"""`cuspan stat --table code`, `cuspan flame`, and the lines in `cuspan show` and in findings, on made traces with call
stacks: every figure is computed again in another way from the same spans, the formats are read by other
decoders, and nothing outside --source is opened.

    code_test.py --build BUILD-DIR [unittest's arguments]
"""

import gzip
import json
import os
import pty
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import make_code_trace  # noqa: E402
import make_cubin  # noqa: E402
from backend import spans_of  # noqa: E402
from bad_server import fields  # noqa: E402
from built import BUILD, run  # noqa: E402
from make_code_trace import SITE, CodeTrace, main_stack, python, torch  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
FRAME = re.compile(r'  File "(.*?)", line (\d+), in (.*)', re.DOTALL)
LIBRARY = re.compile(r"(^|/)(site-packages|dist-packages)/|^<frozen")


class Model:
    """The rows and stacks of a file, from the attributes of its spans, without the program's tables."""

    def __init__(self, file):
        self.spans = [span for line in file.read_text(errors="replace").splitlines() for span in spans_of(json.loads(line))]
        self.by_id = {span.span_id: span for span in self.spans}
        self.texts = {}
        for span in self.spans:
            if "code.stacktrace" in span.attributes:
                self.texts[span.attributes["cuspan.stack.id"]] = span.attributes["code.stacktrace"].split("\n")
        self.work = [span for span in self.spans if "cuda.device.id" in span.resource]
        self.calls = [span for span in self.spans if "cuda.api" in span.attributes]
        self.sampled_threads = {call.attributes["cuspan.thread.id"] for call in self.calls if "cuspan.stack.id" in call.attributes}
        self.launches = [call for call in self.calls if "Launch" in call.name]
        self.waits = [call for call in self.calls if "Synchronize" in call.name or call.name == "cudaMemcpy"]
        self.copies = [work for work in self.work if "cuda.memcpy.bytes" in work.attributes]
        self.forward = self.read_forward()

    # --- ranges of emit_nvtx ---

    @staticmethod
    def number(span):
        match = re.search(r", seq = (\d+)(,|$)", span.name)
        return match and match.group(1)

    @staticmethod
    def is_node(span):
        return bool(re.match(r"autograd::engine::|[\w:]*(Backward|AccumulateGrad)\w*(,|$)", span.name))

    def read_forward(self):
        """By number: the operators, as outermost ranges with the number."""
        operators = defaultdict(list)
        for span in self.spans:
            around = list(self.up(span))
            number = self.number(span)
            if number and not any(map(self.is_node, around)):
                operators[number].append([at for at in around if self.number(at) == number][-1])
        return operators

    def line_of_node(self, node):
        """The forward call whose line counts: the first one with a line in the last operator, or None."""
        operators = [at for at in self.forward.get(self.number(node), []) if at.start_ns < node.start_ns]
        if len({at.attributes["cuspan.thread.id"] for at in operators}) != 1:
            return None
        last = max(operators, key=lambda at: at.start_ns)
        inside = [call for call in self.calls if "code.file.path" in call.attributes and last in self.up(call)]
        return min(inside, key=lambda call: call.start_ns, default=None)

    def forward_of(self, span):
        """The forward call of work of a backward operator without Python, or None."""
        if "code.file.path" in (self.attributes(span) or {}):
            return None
        return next(filter(None, (self.line_of_node(at) for at in self.up(span) if self.is_node(at))), None)

    def up(self, span):
        while span:
            yield span
            span = self.by_id.get(span.parent_id)

    def attributes(self, span):
        """Those of the span or of its call; None: there is no call."""
        for at in self.up(span):
            if any(key.startswith(("cuspan.stack", "code.")) for key in at.attributes) or "cuda.api" in at.attributes:
                return at.attributes
        return None

    def stack(self, span):
        """(label or None, frames with the innermost one first, the index of the program's one)."""
        attributes = self.attributes(span)
        if attributes is None:
            return "(no call)", [], 0
        if self.forward_of(span):
            return self.stack(self.forward_of(span))
        number = attributes.get("cuspan.stack.id")
        frames = [frame for frame in self.texts.get(number, []) if frame != "  ..."]
        if "code.file.path" in attributes:
            own = next(i for i, frame in enumerate(frames)
                       if FRAME.fullmatch(frame) and FRAME.fullmatch(frame).groups() ==
                       (attributes["code.file.path"], str(attributes["code.line.number"]), attributes["code.function.name"]))
            return None, frames, own
        node = next((re.search(r"([A-Z][a-z]+Backward\d*?)(?:5applyE|::apply\()", frame) for frame in frames if "apply" in frame), None)
        if node:
            return f"(backward: {node.group(1)})", frames, 0
        if "code.function.name" in attributes:
            return None, frames, 0
        around = next((re.sub("^autograd::engine::.*: ", "", at.name).split(",")[0] for at in self.up(span) if self.is_node(at)), None)
        if around:
            return f"(backward: {around})", [], 0
        caller = next(at for at in self.up(span) if "cuda.api" in at.attributes)
        if number is None and caller.attributes["cuspan.thread.id"] not in self.sampled_threads:
            return "(no Python)", [], 0
        label = "(not sampled)" if number is None else "(no Python)" if frames or not int(number, 16) else "(unknown stack)"
        return label, frames, 0

    @staticmethod
    def place(frame, by):
        if not FRAME.fullmatch(frame):
            module, function = re.fullmatch(r"  (\S+?)\+0x[0-9a-f]+(?: (.*)\+0x[0-9a-f]+)?", frame).groups()
            return module, None if by == "module" else function
        file, line, function = FRAME.fullmatch(frame).groups()
        return {"line": (f"{file}:{line}", function), "function": (file, function), "module": (file, None)}[by]

    def row(self, span, by):
        label, frames, own = self.stack(span)
        if label:
            return label, None
        place, function = self.place(frames[own], by)
        return f"{place} (backward)" if self.forward_of(span) else place, function

    def callers(self, span, by):
        label, frames, own = self.stack(span)
        if label or self.forward_of(span):
            return []
        if not FRAME.fullmatch(frames[own]):  # of the same executable
            return [self.place(frame, by) for frame in frames[own + 1:] if self.place(frame, "module") == self.place(frames[own], "module")]
        return [self.place(frame, by) for frame in frames[own + 1:]
                if FRAME.fullmatch(frame) and not LIBRARY.search(FRAME.fullmatch(frame).group(1))]

    def rows(self, by):
        rows = defaultdict(Counter)
        tops = defaultdict(Counter)
        for work in self.work:
            duration = work.end_ns - work.start_ns
            row = self.row(work, by)
            rows[row]["self_ns"] += duration
            tops[row][work.name] += duration
            for place in {row, *self.callers(work, by)}:
                rows[place]["total_ns"] += duration
        for copy in self.copies:
            rows[self.row(copy, by)]["copied_bytes"] += copy.attributes["cuda.memcpy.bytes"]
        for call in self.launches:
            rows[self.row(call, by)]["launches"] += 1
        for call in self.waits:
            rows[self.row(call, by)]["wait_ns"] += call.end_ns - call.start_ns
        for row, top in tops.items():
            rows[row]["top"] = min(top, key=lambda name: (-top[name], name))
        return rows

    # --- flame graphs ---

    @staticmethod
    def shown(frame):
        match = FRAME.fullmatch(frame)
        if match:
            file, line, function = match.groups()
            return f"{function} ({re.sub('^.*/(site|dist)-packages/', '', file)}:{line})"
        module, symbol = re.fullmatch(r"  (\S+?)\+0x[0-9a-f]+(?: (.*)\+0x[0-9a-f]+)?", frame).groups()
        return f"{symbol} ({module})" if symbol else module

    def folded(self, weight):
        lines = Counter()
        items = {"gpu-time": [(work, work.name, work.end_ns - work.start_ns) for work in self.work],
                 "bytes": [(copy, copy.name, copy.attributes["cuda.memcpy.bytes"]) for copy in self.copies],
                 "wait": [(call, call.name, call.end_ns - call.start_ns) for call in self.waits],
                 "launches": [(call, next((work.name for work in self.work if work.parent_id == call.span_id), call.name), 1)
                              for call in self.launches]}[weight]
        for span, leaf, value in items:
            label, frames, _ = self.stack(span)
            attributes = self.attributes(span) or {}
            is_cut = "  ..." in self.texts.get(attributes.get("cuspan.stack.id"), [])
            first = [label] if label else ["(more callers)"] if is_cut else []
            if self.forward_of(span):
                first.insert(0, "(backward)")
            path = first + [self.shown(frame) for frame in reversed(frames)] + [leaf]
            lines[";".join(part.replace(";", ",") for part in path)] += value
        return lines


def read_folded(text):
    lines = Counter()
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        lines[stack] += int(value)
    return lines


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


def callers():
    """Stacks of Python behind different native callers, without one, and without code of the program."""
    trace = CodeTrace("callers", 1)
    forward = [torch("nn/functional.py", 12, "linear"), python("model.py", 5, "forward"), python("train.py", 9, "main")]
    for number, function in enumerate(("addmm", "mm"), 1):
        caller = f"at::native::{function}(at::Tensor const&)+0x1c (libtorch_cuda.so+0x118{number})"
        trace.launch_at((number, [caller, *forward], 2), "gemm", number * 1_000)
    trace.launch_at((3, forward, 1), "gemm", 4_000)
    trace.launch_at((4, ["libffi.so.8+0x6f7a", torch("a.py", 1, "f"), torch("b.py", 2, "g")], 1), "copy", 8_000)
    trace.finish()
    return "\n".join(trace.lines()) + "\n"


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.files = {name: cls.made(name) for name in ("training", "slower", "autograd", "xla", "cpp", "hostile", "none")}

    @classmethod
    def made(cls, name):
        file = cls.path(f"{name}.jsonl")
        make_code_trace.write(file, name, len(name))  # IDs differ between files
        return file

    @classmethod
    def path(cls, name):
        return Path(cls.folder, name)

    def ok(self, *arguments, **options):
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def table(self, file, *options, table="code"):
        return json.loads(self.ok("stat", "--json", "--top", 0, "--table", table, *options, file))[table]


class Table(Case):
    def test_every_figure(self):
        for name, by in product(("training", "autograd", "cpp"), ("line", "function", "module")):
            want = Model(self.files[name]).rows(by)
            rows = self.table(self.files[name], "--by", by)
            self.assertEqual({(row["place"], row.get("function")) for row in rows}, set(want), by)
            for row in rows:
                place = row["place"], row.get("function")
                for key in "self_ns", "total_ns", "launches", "wait_ns", "copied_bytes":
                    self.assertEqual(row[key], want[place][key], (place, key))
                self.assertEqual(row.get("top"), want[place]["top"] or None, place)

    def test_backward(self):
        rows = {row["place"]: row for row in self.table(self.files["autograd"])}
        for place, self_ns in (("model.py:31 (backward)", 82_000),  # with and without a native stack
                               ("model.py:51 (backward)", 44_000),  # not of the operator before it
                               ("(backward: ExpandBackward0)", 46_000),  # its forward operator has no call,
                               ("(backward: ReluBackward0)", 48_000),  # or none with a stack
                               ("model.py:70 (backward)", 50_000),
                               ("model.py:80 (backward)", 26_500),
                               ("(backward: CosBackward0)", 26_000),  # now two threads use the number
                               ("(backward: TanBackward0)", 54_000),  # nobody uses the number
                               ("model.py:90", 56_000),  # Python of its own
                               ("(backward: torch::autograd::AccumulateGrad)", 58_000)):
            self.assertEqual(rows[place]["self_ns"], self_ns, place)
        self.assertEqual(rows["model.py:31 (backward)"]["total_ns"], 82_000)
        self.assertNotIn("model.py:50 (backward)", rows)
        self.assertNotIn("model.py:60 (backward)", rows)

    def test_executed_text(self):
        """It belongs to its caller."""
        trace = CodeTrace("executed", 1)
        frames = [python("<string>", 1, "f"), python("model.py", 5, "g"), python("<eval_with_key>.3", 2, "forward"), torch("fx/graph_module.py", 7, "call"),
                  python("<string>", 3, "<module>"), python("<string>", 4, "h"), python("train.py", 9, "main"), python("<stdin>", 10, "i"),
                  python("<frozen runpy>", 11, "j"), python("<string>", 12, "<module>")]
        trace.launch_at((1, frames, 0), "k", 1_000)
        trace.launch_at((2, [python("<string>", 6, "launcher"), torch("triton.py", 1, "run"), python("train.py", 13, "l")], None), "k", 2_000)
        trace.finish()
        file = self.path("executed.jsonl")
        file.write_text("\n".join(trace.lines()) + "\n")
        rows = {row["place"]: (row["self_ns"], row["total_ns"]) for row in self.table(file)}
        self.assertEqual(rows, {"<string>:1": (1_000, 1_000), "train.py:13": (2_000, 2_000),
                                **{place: (0, 1_000) for place in ("model.py:5", "<string>:3", "<string>:4", "train.py:9", "<stdin>:10", "<string>:12")}})

    def test_the_native_caller_has_no_row(self):
        """`capture.launch_stacks=all`: the line of Python is the place, whichever native function launches for it."""
        file = self.path("callers.jsonl")
        file.write_text(callers())
        rows = {row["place"]: (row["self_ns"], row["total_ns"]) for row in self.table(file)}
        self.assertEqual(rows, {"model.py:5": (7_000, 7_000), "train.py:9": (0, 7_000), f"{SITE}torch/a.py:1": (8_000, 8_000)})

    def test_xla(self):
        rows = {(row["place"], row.get("function")): row["self_ns"] for row in self.table(self.files["xla"]) if row["self_ns"]}
        flax = "/opt/venv/lib/python3.12/site-packages/flax/linen/linear.py"
        self.assertEqual(rows, {("/work/model.py:31", "Block.forward"): 20_000,
                                ("/work/model.py:31", "f"): 22_000,  # the first of several
                                ("/work/model.py:33", "g"): 24_000,
                                ("/work/my model.py:7", "f"): 26_000,  # outside the library
                                (f"{flax}:271", None): 28_000,
                                ("/work/model.py:40", None): 30_000,
                                ("/work/train.py:88", "main"): 32_000,  # the line behind it was cut
                                ("train.py:61", "Trainer.step"): 34_000,  # the launch's own stack
                                ("(XLA: jit(step)/nothing)", None): 36_000})
        total = {(row["place"], row.get("function")): row["total_ns"] for row in self.table(self.files["xla"])}
        self.assertEqual(total["/work/train.py:88", "main"], 32_000 + 24_000 + 22_000)
        self.assertEqual(total["/work/train.py:88", "<module>"], 20_000)

    def test_xla_without_stacks(self):
        """The ranges are enough."""
        documents = self.files["xla"].read_text().replace("cuspan.stack.id", "x.id").replace('"code.', '"x.')
        file = self.path("only_xla.jsonl")
        file.write_text(documents)
        rows = {row["place"]: row["self_ns"] for row in self.table(file)}
        self.assertEqual(rows["/work/model.py:33"], 24_000)
        self.assertEqual(rows["(XLA: jit(step)/unknown)"], 34_000)
        file.write_text(documents.replace("nvtx.payload.", "x."))
        self.assertEqual(run("stat", "--table", "code", file).returncode, 2)

    def test_sums_are_all_work(self):
        for name in "training", "autograd", "xla", "cpp", "hostile":
            model = Model(self.files[name])
            rows = self.table(self.files[name])
            self.assertEqual(sum(row["self_ns"] for row in rows), sum(work.end_ns - work.start_ns for work in model.work))
            self.assertEqual(sum(row["launches"] for row in rows), len(model.launches))
            self.assertEqual(sum(row["wait_ns"] for row in rows), sum(call.end_ns - call.start_ns for call in model.waits))
            self.assertAlmostEqual(sum(row["share"] for row in rows), 1, 6)

    def test_order_of_rows(self):
        rows = self.table(self.files["training"])
        self.assertEqual(rows, sorted(rows, key=lambda row: (-row["self_ns"], -row["total_ns"], -row["wait_ns"], row["place"],
                                                             row.get("function", ""))))

    def test_own_rows(self):
        rows = {row["place"]: row for row in self.table(self.files["training"])}
        for label in ("(not sampled)", "(no Python)", "(no call)", "(unknown stack)", "(backward: MmBackward0)",
                      "(backward: ReluBackward0)", "(backward: AddmmBackward0)"):
            self.assertGreater(rows[label]["self_ns"], 0, label)
            self.assertEqual(rows[label]["self_ns"], rows[label]["total_ns"])
        self.assertEqual(rows["model.py:77"]["total_ns"], rows["model.py:77"]["self_ns"])
        self.assertEqual(rows["model.py:78"]["total_ns"], rows["model.py:77"]["self_ns"])  # recursion counts once

    def test_text(self):
        self.assertEqual(self.ok("stat", "--by", "line", "--top", 6, self.files["training"]), """\
Code (--table code)
By the program's innermost frame at the launch. GPU time: concurrent work adds up, and the sum of all rows is all GPU time. With \
callees: also of what the line calls. Waits: calls that wait for the GPU, and synchronous copies.
code                        function           GPU time   share  with callees  launches  waits  copied  most time in
model.py:31                 Block.forward       1.35 ms  32.1 %       1.35 ms        24   0 ns     0 B  gemm
(backward: MmBackward0)                         1.20 ms  28.5 %       1.20 ms         8   0 ns     0 B  gemm
model.py:22                 Attention.forward    840 µs  20.0 %        840 µs        12   0 ns     0 B  flash_fwd_kernel
(backward: AddmmBackward0)                       160 µs   3.8 %        160 µs         4   0 ns     0 B  gemm_wgrad
graphs.py:15                replay               120 µs   2.9 %        120 µs         4   0 ns     0 B  node_1
graphs.py:9                 captured             120 µs   2.9 %        120 µs         0   0 ns     0 B  node_0
and 20 more

""")
        self.assertEqual(self.ok("stat", "--by", "module", "--markdown", "--top", 2, self.files["cpp"]), """\
### Code

By the program's innermost frame at the launch. GPU time: concurrent work adds up, and the sum of all rows is all GPU time. With \
callees: also of what the line calls. Waits: calls that wait for the GPU, and synchronous copies.

| code | GPU time | share | with callees | launches | waits | copied | most time in |
|---|---:|---:|---:|---:|---:|---:|---|
| solver | 180 µs | 100.0 % | 180 µs | 6 | 180 µs | 0 B | jacobi |

""")
        self.assertEqual(self.ok("stat", "--by", "function", "--csv", self.files["cpp"]), """\
# code
place,function,self_ns,share,total_ns,launches,wait_ns,copied_bytes,top,top_place,source
"solver","solve(double*, int)",150000,0.833333333,180000,3,180000,0,"jacobi",,
"solver","refine(std::vector<double>&)",30000,0.166666667,30000,3,0,0,"residual",,
"solver","main",0,0,180000,0,0,0,,,

""")

    def test_spans_in_any_order_and_file(self):
        documents = []
        for line in self.files["training"].read_text().splitlines():
            for resource in json.loads(line)["resourceSpans"]:
                for span in resource["scopeSpans"][0]["spans"]:
                    documents.append(json.dumps({"resourceSpans": [{**resource, "scopeSpans": [{"spans": [span]}]}]}))
        want = self.table(self.files["training"])
        for seed in range(3):
            random.Random(seed).shuffle(documents)
            for part in range(2):
                self.path(f"part{part}.jsonl").write_text("\n".join(documents[part::2]) + "\n")
            done = self.ok("stat", "--json", "--top", 0, "--table", "code", self.path("part0.jsonl"), self.path("part1.jsonl"))
            self.assertEqual(json.loads(done)["code"], want)

    def test_small_segments(self):
        """The text of a stack may be in a later segment."""
        def tables(name, size):
            return json.loads(subprocess.run([BUILD / "stat_segments", self.files[name], str(size)], capture_output=True,
                                             check=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout)["code"]
        for name, size in product(("training", "autograd", "xla"), (1, 13)):
            self.assertEqual(tables(name, size), tables(name, 0))

    def test_copies_of_steps_count_once(self):
        """A step's trace and that of all work of a rank have the same spans; those of one of them are marked."""
        documents = [json.loads(line) for line in self.files["training"].read_text().splitlines()]
        for document in documents:
            for resource in document["resourceSpans"]:
                for span in resource["scopeSpans"][0]["spans"]:
                    span["traceId"] = "1" + span["traceId"][1:]
                    span["spanId"] = "f" + span["spanId"][1:]
                    if "parentSpanId" in span:
                        span["parentSpanId"] = "f" + span["parentSpanId"][1:]
                    span["attributes"].append({"key": "training.step.copy", "value": {"boolValue": True}})
        copies = self.path("copies_of_steps.jsonl")
        copies.write_text("".join(json.dumps(document) + "\n" for document in documents))
        both = self.ok("stat", "--json", "--top", 0, "--table", "code", self.files["training"], copies)
        self.assertEqual(json.loads(both)["code"], self.table(self.files["training"]))
        self.assertEqual(self.ok("flame", "--format", "folded", self.files["training"], copies),
                         self.ok("flame", "--format", "folded", self.files["training"]))

    def test_groups_add_up(self):
        for by in "thread", "stream", "process":
            sums = Counter()
            for row in self.table(self.files["training"], "--by", by):
                # A range of autograd is in no stream's group.
                place = "(no Python)" if by == "stream" and row["place"] == "(backward: AddmmBackward0)" else row["place"]
                sums[place, row.get("function")] += row["self_ns"]
            want = Counter({(row["place"], row.get("function")): row["self_ns"] for row in self.table(self.files["training"])})
            if by == "stream":
                want["(no Python)", None] += want.pop(("(backward: AddmmBackward0)", None))
            self.assertEqual(sums, want, by)

    def test_without_stacks(self):
        done = run("stat", "--table", "code", self.files["none"])
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, 'cuspan stat: no table "code": the spans have no call stacks; trace with '
                                      "cuspan run --set capture.launch_stacks=python\n")
        self.assertNotIn("code", json.loads(self.ok("stat", "--json", self.files["none"])))
        self.assertIn("code", json.loads(self.ok("stat", "--json", self.files["training"])))
        self.assertEqual(run("stat", "--by", "lines", self.files["none"]).returncode, 2)

    def test_only_the_table_with_by_line(self):
        self.assertEqual(list(json.loads(self.ok("stat", "--json", "--by", "line", self.files["training"]))), ["code"])
        both = json.loads(self.ok("stat", "--json", "--by", "function", "--table", "code,kernels", self.files["training"]))
        self.assertEqual(list(both), ["code", "kernels"])
        self.assertEqual(both["code"], self.table(self.files["training"], "--by", "function")[:20])
        self.assertNotIn("group", both["kernels"][0])

    def test_hostile_names(self):
        rows = self.table(self.files["hostile"])
        functions = {row.get("function", "") for row in rows}
        for name in make_code_trace.HOSTILE:
            shown = name if len(name) < 500 else "x" * 512 + "..."
            self.assertIn(shown, functions)
        text = self.ok("stat", "--by", "line", "--top", 0, self.files["hostile"])
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\x7f]")
        self.assertNotIn("\u202e", text)
        self.assertEqual(len(text.splitlines()), 3 + len(rows) + 1)

    def test_deep_stacks(self):
        """Of a stack, 1,024 frames are kept. The GPU time stays."""
        deep = CodeTrace("deep", 1)
        deep.launch_at((1, [python("deep.py", n + 1, "f") for n in range(5_000)], 0), "kernel", 1_000)
        deep.finish()
        file = self.path("deep.jsonl")
        file.write_text("\n".join(deep.lines()) + "\n")
        rows = self.table(file)
        self.assertEqual({row["place"] for row in rows}, {f"deep.py:{n + 1}" for n in range(1_024)})
        self.assertEqual([row["self_ns"] for row in rows if row["self_ns"]], [1_000])
        self.ok("flame", "-o", self.path("deep.folded"), file)
        stack, = read_folded(self.path("deep.folded").read_text())
        frames = stack.split(";")
        self.assertEqual((frames[:2], len(frames)), (["(more callers)", "f (deep.py:1024)"], 1_026))

    def test_deep_ranges(self):
        """Of the spans around a call or its work, 256 are looked at. The work's first one is the call."""
        deep = CodeTrace("deep", 1)
        deep.launch_at(main_stack(1, python("train.py", 1, "f"), own=0), "forward", 1)
        for depth in 255, 256:
            parent = deep.session
            for number in range(depth):
                name = f"Depth{depth}Backward0, seq = 7" if number == 0 else "range"
                parent = deep.add("process", name, deep.at, deep.at + 9_000, parent, {"cuda.range.kind": "nvtx", "cuspan.thread.id": 4720})
            deep.launch_at((0, [], None), f"kernel_{depth}", depth, thread=(4720, "autograd"), parent=parent)
            deep.at += 10_000
        deep.finish()
        file = self.path("deep_ranges.jsonl")
        file.write_text("\n".join(deep.lines()) + "\n")
        rows = {row["place"]: row["self_ns"] for row in self.table(file)}
        self.assertEqual((rows["(backward: Depth255Backward0)"], rows["(no Python)"]), (255, 256))

    def test_100000_lines(self):
        file = self.made("wide")
        rows = self.table(file)
        self.assertEqual(len(rows), 100_001)
        self.assertEqual(sum(row["self_ns"] for row in rows), sum(100 + i % 1_000 for i in range(100_000)))
        self.assertEqual(max(row["total_ns"] for row in rows), sum(row["self_ns"] for row in rows))
        svg = self.path("wide.svg")
        self.ok("flame", "-o", svg, file)
        root = ElementTree.parse(svg).getroot()
        self.assertEqual(len([g for g in root.iter(f"{SVG}g") if g.get("class", "").startswith("f ")]), 20_000)
        self.assertRegex(svg.read_text(), r"180002 frames below [0-9.]+ % are not drawn")
        self.ok("flame", "-o", self.path("wide.folded"), file)
        self.assertEqual(sum(read_folded(self.path("wide.folded").read_text()).values()), sum(row["self_ns"] for row in rows))


class Source(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.source = cls.path("src")
        cls.source.mkdir()
        cls.path("secret.py").write_text("the secret\n" * 99)
        (cls.source / "model.py").write_text("".join(f"    line_{n} = forward(x)  # <{n}>\n" for n in range(1, 100)))
        (cls.source / "train.py").symlink_to("../secret.py")
        (cls.source / "graphs.py").mkdir()
        os.mkfifo(cls.source / "data.py")

    def test_lines(self):
        rows = {row["place"]: row for row in self.table(self.files["training"], "--source", self.source)}
        self.assertEqual(rows["model.py:31"]["source"], "line_31 = forward(x)  # <31>")
        self.assertEqual({place.split(":")[0] for place, row in rows.items() if "source" in row}, {"model.py"})
        text = self.ok("stat", "--by", "line", "--source", self.source, "--top", 1, self.files["training"])
        self.assertRegex(text, r"(?m)most time in +source\nmodel.py:31 .* gemm +line_31 = forward\(x\)  # <31>$")
        self.assertNotIn("secret", text)

    def test_line_of_backward(self):
        rows = {row["place"]: row for row in self.table(self.files["autograd"], "--source", self.source)}
        self.assertEqual(rows["model.py:31 (backward)"]["source"], "line_31 = forward(x)  # <31>")

    def test_by_function_has_no_line(self):
        self.assertFalse([row for row in self.table(self.files["training"], "--by", "function", "--source", self.source)
                          if "source" in row])

    def test_paths_outside(self):
        trace = CodeTrace("paths", 1)
        secret = self.path("secret.py")
        outside = ["/etc/passwd", "../secret.py", "../src/model.py", str(secret), f"{self.source}/../secret.py", "x/../model.py",
                   "train.py", "/proc/self/environ", "/dev/zero", "graphs.py", "data.py", "", "."]
        inside = ["model.py", f"{self.source}/model.py", "./model.py", "//model.py"]
        for number, path in enumerate([*outside, *inside]):
            trace.launch_at((number + 1, [python(path, 1, "f")], 0), "k", 1_000)
        trace.finish()
        file = self.path("paths.jsonl")
        file.write_text("\n".join(trace.lines()) + "\n")
        rows = self.table(file, "--source", self.source)
        self.assertEqual({row["place"] for row in rows if "source" in row}, {f"{path}:1" for path in inside[:3]})
        if shutil.which("strace"):  # nothing else is opened either, and nothing at all without --source
            for options, wanted in ((("--source", self.source), {"model.py", "data.py", "graphs.py", "train.py", "."}), ((), set())):
                log = self.path("strace.log")
                done = subprocess.run(["strace", "-f", "-e", "trace=open,openat,openat2,creat", "-o", log, BUILD / "cuspan", "stat",
                                       "--by", "line", *options, file], capture_output=True, check=False)
                if done.returncode:
                    continue  # not permitted here
                opened = re.findall(r'open(?:at)?\((?:AT_FDCWD|\d+), "([^"]*)"', log.read_text())
                for path in outside + inside:
                    if path and path not in wanted and path != str(secret):
                        self.assertNotIn(path, opened)
                self.assertFalse([path for path in opened if "secret" in path or "passwd" in path])

    def test_several_directories(self):
        other = self.path("other")
        other.mkdir()
        (other / "model.py").write_text("other\n" * 40)
        (other / "data.py").write_text("to_gpu()\n" * 40)
        rows = {row["place"]: row.get("source") for row in
                self.table(self.files["training"], "--source", self.source, "--source", other)}
        self.assertEqual((rows["model.py:31"], rows["data.py:12"]), ("line_31 = forward(x)  # <31>", "to_gpu()"))
        rows = {row["place"]: row.get("source") for row in
                self.table(self.files["training"], "--source", other, "--source", self.source)}
        self.assertEqual((rows["model.py:31"], rows["model.py:90"]), ("other", "line_90 = forward(x)  # <90>"))
        done = run("stat", *["--source=."] * 17, self.files["training"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("--source can be given 16 times", done.stderr)

    def test_no_directory(self):
        done = run("stat", "--by", "line", "--source", "/no/such", self.files["training"])
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "cuspan stat: --source /no/such: No such file or directory; name a directory with source files\n")


class Compiled(Case):
    """Launches in files that Inductor generated, and the call stacks that PyTorch writes for its kernels."""

    GENERATED = "torchinductor_me/ab/cabc.py"
    LAUNCHER = python("<string>", 6, "launcher")
    HEURISTICS = torch("_inductor/runtime/triton_heuristics.py", 1200, "CachingAutotuner.run")
    BACKWARD = torch("_functorch/_aot_autograd/runtime_wrappers.py", 2000, "AOTDispatchAutograd.post_compile.<locals>.CompiledFunction.backward")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cache, cls.debug = cls.path("torchinductor_me"), cls.path("debug")
        (cls.cache / "ab").mkdir(parents=True)
        cls.lines = {}  # of the launches, by the file's name and the kernel
        for name, calls in (("cabc", ["triton_poi_fused_add_relu_0", "extern_kernels.mm", "triton_red_fused_sum_1", "triton_none_2"]),
                            ("cdef", ["triton_poi_fused_add_relu_0", "extern_kernels.mm"])):
            text = ["def call(args):"]
            for number, call in enumerate(calls, 1):
                text += ["    # Topologically Sorted Source Nodes: [x], Original ATen: [aten.x]",
                         f"    # [Provenance debug handles] {call}:{number}", "    raw_stream0 = get_raw_stream(0)"]
                text.append(f"    {call}(x)" if call.startswith("extern") else f"    {call}.run(x, stream=raw_stream0)")
                cls.lines[name, call] = len(text)
            (cls.cache / f"ab/{name}.py").write_text("\n".join(text) + "\n")

        def trace(*frames):
            return "".join(f"{frame}\n    text of the line\n" for frame in frames)
        forward = {"triton_poi_fused_add_relu_0:1": [trace(python("/work/model.py", 40, "Model.forward"), torch("nn/modules/module.py", 7, "f"),
                                                           python("/work/model.py", 31, "Block.forward"), torch("nn/modules/linear.py", 9, "forward")),
                                                     trace(python("/work/model.py", 33, "Block.forward"))],
                   "extern_kernels.mm:2": [trace(python("/other/net.py", 5, "mm"))],
                   "triton_red_fused_sum_1:3": [trace(torch("nn/functional.py", 8, "sum"))],
                   "triton_none_2:4": []}
        backward = {"triton_poi_fused_add_relu_0:1": [trace(python("/work/model.py", 35, "g"))],
                    "extern_kernels.mm:2": [trace(python("/work/model.py", 36, "g"))]}
        for folder, document in (("model__0_forward_1.0", forward), ("model__0_backward_2.1", backward)):
            (cls.debug / folder).mkdir(parents=True)
            (cls.debug / folder / "inductor_provenance_tracking_kernel_stack_traces_15.json").write_text(json.dumps(document))

    def compiled(self, name="compiled", text=True):
        t = CodeTrace("compiled", 1)
        number = 0

        def launch(generated, kernel, duration, *outer, launcher=True):
            nonlocal number
            number += 1
            call = python(f"torchinductor_me/ab/{generated}.py", self.lines[generated, kernel], "call")
            inner = [self.LAUNCHER, self.HEURISTICS, call] if launcher else [call]
            frames = [*inner, torch("_inductor/output_code.py", 700, "CompiledFxGraph.__call__"), *outer]
            own = next((i for i, frame in enumerate(frames) if ' "train.py"' in frame or ' "model.py"' in frame), 0)
            t.launch_at((number, frames, own), kernel, duration)
        outer = [python("model.py", 60, "Model.forward"), python("train.py", 61, "step")]
        launch("cabc", "triton_poi_fused_add_relu_0", 1_000, *outer)
        launch("cabc", "extern_kernels.mm", 2_000, *outer, launcher=False)
        launch("cabc", "triton_red_fused_sum_1", 3_000, *outer)
        launch("cabc", "triton_none_2", 4_000, *outer)
        launch("cdef", "triton_poi_fused_add_relu_0", 10_000, self.BACKWARD)
        launch("cdef", "extern_kernels.mm", 20_000, self.BACKWARD, launcher=False)
        # Code of the program that generated code calls.
        number += 1
        t.launch_at((number, [python("model.py", 90, "custom"), python(self.GENERATED, 4, "call"), *outer], 0), "custom", 500)
        t.finish()
        file = self.path(f"{name}.jsonl")
        file.write_text("\n".join(t.lines()) + "\n")
        return file

    def places(self, *options):
        return {(row["place"], row.get("function")): (row["self_ns"], row["total_ns"]) for row in
                self.table(self.compiled(), "--by", "line", *options)}

    def test_lines(self):
        want = {("model.py:31", "Block.forward"): (1_000, 1_000),  # of the first stack, and relative as in other spans
                ("/other/net.py:5", "mm"): (2_000, 2_000),
                (f"{make_code_trace.SITE}torch/nn/functional.py:8", "sum"): (3_000, 3_000),  # there is nothing else
                ("model.py:60", "Model.forward"): (4_000, 10_500),  # no stack: the call of the compiled code
                ("model.py:35 (backward)", "g"): (10_000, 10_000),
                ("model.py:36 (backward)", "g"): (20_000, 20_000),
                ("model.py:90", "custom"): (500, 500),
                ("train.py:61", "step"): (0, 10_500)}
        self.assertEqual(self.places("--source", self.cache, "--source", self.debug), want)
        self.assertEqual(self.places("--source", self.folder), want)

    def test_logs(self):
        """The same in the log that PyTorch writes."""
        logs = self.path("torch_trace/deep")
        logs.mkdir(parents=True)
        name = "inductor_provenance_tracking_kernel_stack_traces"
        text = 'V1126 03:00:00.000000 1 torch/a.py:7] {"str": ["/work/model.py", 3]}\n'
        for folder in sorted(self.debug.iterdir()):
            document = next(folder.iterdir()).read_text()
            wrong = document.replace("model.py", "wrong.py")
            for artifact, payload in (("other", wrong), (name, document), (f"{name}_not", wrong)):
                text += f'V1126 03:00:00.000000 1 torch/b.py:8] {{"artifact": {{"name": "{artifact}", "encoding": "json"}}, "has_payload": "00"}}\n'
                text += "".join(f"\t{line}\n" for line in payload.split("\n"))
        (logs / "dedicated_log_torch_trace_rank_0_ab1.log").write_text(text.rstrip("\n"))
        (logs / "other.log").write_text(text.replace("model.py", "wrong.py"))
        os.mkfifo(logs / "dedicated_log_torch_trace_fifo.log")
        want = self.places("--source", self.cache, "--source", self.debug)
        self.assertIn(("model.py:31", "Block.forward"), want)
        self.assertEqual(self.places("--source", self.cache, "--source", logs.parent), want)
        # An artifact that is longer than a part of the file that is read at once, in several lines.
        long = text.replace('{"triton_poi', '{"long:9": ["' + "x" * 200_000 + '"],\n\t"triton_poi')
        (logs / "dedicated_log_torch_trace_rank_0_ab1.log").write_text(long)
        places = self.places("--source", self.cache, "--source", logs.parent)
        self.assertEqual(places, want)
        shutil.rmtree(logs.parent)

    def test_without_the_files(self):
        """Forward belongs to the call of the compiled code, backward to the generated line."""
        want = {("model.py:60", "Model.forward"): (10_000, 10_500),
                (f"torchinductor_me/ab/cdef.py:{self.lines['cdef', 'triton_poi_fused_add_relu_0']}", "call"): (10_000, 10_000),
                (f"torchinductor_me/ab/cdef.py:{self.lines['cdef', 'extern_kernels.mm']}", "call"): (20_000, 20_000),
                ("model.py:90", "custom"): (500, 500),
                ("train.py:61", "step"): (0, 10_500)}
        self.assertEqual(self.places(), want)
        self.assertEqual(self.places("--source", self.cache), want)
        self.assertEqual(self.places("--source", self.debug), want)

    def test_comment_of_generated_code(self):
        rows = {row["place"]: row.get("source") for row in self.table(self.compiled(), "--by", "line", "--source", self.cache)}
        self.assertEqual(rows[f"torchinductor_me/ab/cdef.py:{self.lines['cdef', 'extern_kernels.mm']}"],
                         "# Topologically Sorted Source Nodes: [x], Original ATen: [aten.x]")

    def test_ambiguous_kernels(self):
        """Two graphs with the same kernels and other lines: neither is taken."""
        other = self.path("other_debug")
        other.mkdir()
        same = {"triton_poi_fused_add_relu_0:1": [f"{python('/work/model.py', 99, 'h')}\n"],
                "extern_kernels.mm:2": [f"{python('/work/model.py', 36, 'g')}\n"]}
        (other / "inductor_provenance_tracking_kernel_stack_traces.json").write_text(json.dumps(same))
        places = self.places("--source", self.cache, "--source", self.debug, "--source", other)
        self.assertEqual(places["model.py:36 (backward)", "g"], (20_000, 20_000))  # they agree
        self.assertNotIn(("model.py:35 (backward)", "g"), places)
        self.assertNotIn(("model.py:99 (backward)", "h"), places)
        shutil.rmtree(other)

    def test_files_of_one_name(self):
        """A file in a folder is not the one of the same name above it, even if no span names the former."""
        nested = self.path("nested_debug")
        nested.mkdir()
        inner = {"triton_poi_fused_add_relu_0:1": [f"{python('/work/train.py', 61, 'step')}\n{python('/work/nets/model.py', 70, 'f')}\n"],
                 "extern_kernels.mm:2": [f"{python('/work/nets/model.py', 71, 'f')}\n"],
                 "triton_red_fused_sum_1:3": [], "triton_none_2:4": []}
        (nested / "inductor_provenance_tracking_kernel_stack_traces.json").write_text(json.dumps(inner))
        places = self.places("--source", self.cache, "--source", nested)
        self.assertEqual(places["nets/model.py:70", "f"], (1_000, 1_000))
        self.assertEqual(places["nets/model.py:71", "f"], (2_000, 2_000))
        shutil.rmtree(nested)

    def test_damaged_and_forbidden_files(self):
        want = self.places("--source", self.cache)
        bad = self.path("bad")
        (bad / "deep").mkdir(parents=True)
        start = "inductor_provenance_tracking_kernel_stack_traces"
        for number, text in enumerate(("", "{", "[]", '["x"]', '{"extern_kernels.mm:2": 7}', '{"extern_kernels.mm:2": [null, {}]}', "7", "[" * 5_000)):
            (bad / f"{start}_{number}.json").write_text(text)
        good = next(self.debug.rglob("*.json"))
        (bad / f"{start}_link.json").symlink_to(good)
        (bad / "folder").symlink_to(self.debug)
        (bad / f"{start}_{'folder'}.json").mkdir()
        os.mkfifo(bad / f"{start}_fifo.json")
        shutil.copy(good, bad / "other.json")
        self.assertEqual(self.places("--source", self.cache, "--source", bad), want)
        shutil.rmtree(bad)


class KernelLines(Case):
    """Where kernels are defined, from made GPU code."""

    FUNCTIONS = (("_ZN2ns4gemmIfLi32EEEvPKT_", "/work", "gemm.cu", [10, 12, 40, 12]),
                 ("_ZN2ns4gemmIdLi64EEEvPKT_", "/work", "gemm.cu", [10, 12]),  # of the same template
                 ("plain", "", "plain.cu", [300]),
                 ("_Z3oddPf", "/work/sub", "/absolute/odd.cuh", [70_000, 1]),
                 ("_ZN33_GLOBAL__N__b02bf628_4_k_cu_plain6hiddenEPi", "/work", "gemm.cu", [2, 1]))
    WANT = {"ns::gemm": "/work/gemm.cu:10", "plain": "plain.cu:300", "odd": "/absolute/odd.cuh:70000",
            "(anonymous namespace)::hidden": "/work/gemm.cu:2"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        trace = CodeTrace("kernels", 1)
        line = main_stack(1, python("model.py", 5, "f"), own=0)
        for number, name in enumerate((*cls.WANT, "other")):
            trace.launch_at(line, name, 9_000 - number)
        trace.finish()
        cls.spans = cls.path("kernels.jsonl")
        cls.spans.write_text("\n".join(trace.lines()) + "\n")

    def places(self, *files, status=0):
        options = [option for file in files for option in ("--kernel-lines", file)]
        done = run("stat", "--json", "--table", "kernels", *options, self.spans)
        self.assertEqual(done.returncode, status, done.stderr)
        self.errors = done.stderr
        return {row["name"]: row["place"] for row in json.loads(done.stdout)["kernels"] if "place" in row}

    def write(self, content, name="code.bin"):
        path = self.path(name)
        path.write_bytes(content)
        return path

    def test_all_forms(self):
        cubin = make_cubin.cubin(self.FUNCTIONS)
        ptx = make_cubin.entry(b".version 9.0\n" * 20, make_cubin.PTX_KIND, "lz4")
        other = make_cubin.fatbin(make_cubin.entry(make_cubin.cubin([("elsewhere", "", "e.cu", [1])])))
        forms = [cubin, make_cubin.cubin(self.FUNCTIONS, version=4), make_cubin.cubin(self.FUNCTIONS, kind=make_cubin.REL)]
        for packing in None, "lz4", "zstd":
            fatbin = make_cubin.fatbin(ptx, make_cubin.entry(cubin, packing=packing), ptx)
            forms += [fatbin, make_cubin.program(other, fatbin)]
        for number, form in enumerate(forms):
            self.assertEqual(self.places(self.write(form)), self.WANT, number)

    def test_tables(self):
        path = self.write(make_cubin.program(make_cubin.fatbin(make_cubin.entry(make_cubin.cubin(self.FUNCTIONS)))))
        row = self.table(self.spans, "--by", "line", "--kernel-lines", path)[0]
        self.assertEqual((row["place"], row["top"], row["top_place"]), ("model.py:5", "ns::gemm", "/work/gemm.cu:10"))
        text = self.ok("stat", "--by", "line", "--top", 1, "--kernel-lines", path, self.spans)
        self.assertRegex(text, r"(?m)most time in +at\nmodel.py:5 .* ns::gemm +/work/gemm.cu:10$")
        self.assertNotIn("top_place", self.table(self.spans)[0])

    def test_several_files(self):
        first = self.write(make_cubin.cubin(self.FUNCTIONS[:2]), "first")
        folder = self.path("triton/cache/deep")
        folder.mkdir(parents=True)
        (folder / "kernel.cubin").write_bytes(make_cubin.cubin(self.FUNCTIONS[2:]))
        (folder / "kernel.other").write_bytes(make_cubin.cubin([("plain", "", "wrong.cu", [1])]))
        (folder / "link.cubin").symlink_to("kernel.other")
        os.mkfifo(folder / "fifo.cubin")
        self.assertEqual(self.places(first, self.path("triton")), self.WANT)

    def test_ambiguous_names(self):
        second = self.write(make_cubin.cubin([("_ZN2ns4gemmIiEEvv", "/work", "other.cu", [10])]), "second")
        want = {name: place for name, place in self.WANT.items() if name != "ns::gemm"}
        self.assertEqual(self.places(self.write(make_cubin.cubin(self.FUNCTIONS)), second), want)

    def test_twice(self):
        """The same kernels in two files are no error."""
        cubin = make_cubin.cubin(self.FUNCTIONS)
        self.assertEqual(self.places(self.write(cubin, "one"), self.write(cubin, "other")), self.WANT)
        self.assertEqual(self.errors, "")

    def test_long_names(self):
        """Each is left out, and 20,000 names that are the ends of one text take no memory for each of them."""
        long = [("k" * 5_000, "", "k.cu", [1]), ("folder", "f" * 5_000, "k.cu", [1]), ("file", "", "f" * 5_000, [1]),
                ("k" * 70_000, "", "k.cu", [1])]
        self.assertEqual(self.places(self.write(make_cubin.cubin([*self.FUNCTIONS, *long]))), self.WANT)
        path = self.write(make_cubin.ends(20_000))
        is_sanitized = b"__asan_init" in (BUILD / "cuspan").read_bytes()  # it needs terabytes of addresses
        limit = {} if is_sanitized else {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))}
        done = run("stat", "--table", "kernels", "--kernel-lines", path, self.spans, **limit)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_files_without_lines(self):
        for content in (b"", b"text", make_cubin.program(), make_cubin.elf(190, []), make_cubin.fatbin()):
            self.assertEqual(self.places(self.write(content)), {})
            self.assertIn("no kernel has a line; compile it with nvcc -lineinfo", self.errors)
        done = run("stat", "--table", "kernels", "--kernel-lines", "/no/such", self.spans)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "cuspan stat: --kernel-lines /no/such: No such file or directory; name a program, a cubin or a "
                                      "directory of cubins\n")
        done = run("stat", *["--kernel-lines=x"] * 17, self.spans)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--kernel-lines can be given 16 times", done.stderr)

    def test_damaged_files(self):
        """Each is read without harm, cut at any place and with any byte changed."""
        whole = make_cubin.program(make_cubin.fatbin(make_cubin.entry(make_cubin.cubin(self.FUNCTIONS), packing="lz4")))
        damage = random.Random(1)
        folder = self.path("damaged")
        folder.mkdir()
        for number in range(300):
            content = bytearray(whole[:damage.randrange(len(whole))] if number % 2 else whole)
            for _ in range(number % 5):
                content[damage.randrange(len(content) or 1)] = damage.randrange(256)
            (folder / f"{number}.cubin").write_bytes(content)
        self.places(folder)


class Diff(Case):
    def rows(self, *arguments, status=(0, 1)):
        done = run("diff", "--json", *arguments)
        self.assertIn(done.returncode, status, done.stderr)
        return json.loads(done.stdout).get("code")

    @staticmethod
    def change(row):
        return abs(row.get("new_ns", 0) - row.get("base_ns", 0))

    def test_every_figure(self):
        for by in "line", "function", "module":
            base, new = (Counter({place: row["self_ns"] for place, row in Model(self.files[name]).rows(by).items() if row["self_ns"]})
                         for name in ("training", "slower"))
            rows = self.rows("--all", "--by", by, self.files["training"], self.files["slower"])
            self.assertEqual({(row["place"], row.get("function")): (row.get("base_ns", 0), row.get("new_ns", 0)) for row in rows},
                             {place: (base[place], new[place]) for place in {*base, *new}})
            for row in rows:
                if "base_ns" in row and "new_ns" in row:
                    self.assertAlmostEqual(row["change_share"], row["new_ns"] / row["base_ns"] - 1, 6)
                else:
                    self.assertNotIn("change_share", row)
            self.assertEqual(rows, sorted(rows, key=lambda row: (-self.change(row), row["place"], row.get("function", ""))))

    def test_only_changes(self):
        rows = self.rows(self.files["training"], self.files["slower"])
        self.assertEqual([row["place"] for row in rows], ["model.py:22", "model.py:90", "model.py:95"])
        self.assertEqual(self.rows(self.files["training"], self.files["training"], status=(0,)), [])
        text = self.ok("diff", self.files["training"], self.files["training"])
        self.assertNotIn("model.py", text)

    def test_backward_is_a_row(self):
        rows = {row["place"]: row.get("base_ns") for row in self.rows("--all", self.files["autograd"], self.files["training"])}
        self.assertEqual((rows["model.py:31 (backward)"], rows["model.py:31"]), (82_000, 20_000))
        rows = {(row["place"], row.get("function")): row.get("base_ns") for row in
                self.rows("--all", "--by", "function", self.files["autograd"], self.files["training"])}
        self.assertEqual(rows["model.py (backward)", "Model.forward"], 82_000 + 50_000 + 44_000 + 26_500)

    def test_runs_and_baselines(self):
        """The median of several runs, and a baseline has the same lines as its files."""
        runs = []
        for number, duration in enumerate((1_000, 9_000, 2_000, 3_000)):
            trace = CodeTrace("run", number)
            line = main_stack(1, python("a b.py", 7, "f\tg"), own=0)
            trace.launch_at(line, "k", duration)
            if number == 1:
                trace.launch_at(main_stack(2, python("once.py", 8, "f"), own=0), "k", 500)
            trace.finish()
            runs.append(self.path(f"run{number}.jsonl"))
            runs[-1].write_text("\n".join(trace.lines()) + "\n")
        want = [{"place": "a b.py:7", "function": "f\tg", "base_ns": 2_500, "new_ns": 9_000, "change_share": 2.6}]
        self.assertEqual([row for row in self.rows("--base", *runs, "--new", runs[1]) if row["place"] != "once.py:8"], want)
        # A line of one run of four has a median of 0.
        self.assertIn({"place": "once.py:8", "function": "f", "new_ns": 500}, self.rows("--base", *runs, "--new", runs[1]))
        baseline = self.path("baseline.json")
        self.ok("stat", "--save", baseline, *runs)
        self.assertEqual(self.rows("--base", baseline, "--new", runs[1]), self.rows("--base", *runs, "--new", runs[1]))

    def test_no_verdict(self):
        """Lines do not count as items, and have no limits."""
        done = run("diff", "--json", self.files["training"], self.files["training"])
        headline = json.loads(done.stdout)["headline"]
        without = self.path("without.jsonl")
        without.write_text(self.files["training"].read_text().replace("cuspan.stack.id", "x.id").replace('"code.', '"x.'))
        done = run("diff", "--json", without, without)
        self.assertEqual(json.loads(done.stdout)["headline"], headline)
        self.assertNotIn("code", json.loads(done.stdout))
        self.assertIsNone(self.rows(without, self.files["training"]))
        limits = self.path("limits.yaml")
        limits.write_text("rules: [{code: x, sum_max: 1}]")
        done = run("diff", "--limits", limits, without, without)
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown key", done.stderr)
        self.assertEqual(run("diff", "--by", "thread", without, without).returncode, 2)

    def test_many_lines(self):
        wide = self.made("wide")
        rows = self.rows("--all", self.files["training"], wide)
        self.assertEqual(len([row for row in rows if "new_ns" in row]), 4_096 + 1)
        self.assertEqual(sum(row.get("new_ns", 0) for row in rows), sum(100 + i % 1_000 for i in range(100_000)))
        self.assertEqual(len(self.rows(self.files["training"], wide)), 20)


class Flame(Case):
    def flame(self, name, *options):
        path = self.path(name)
        self.ok("flame", "-o", path, *options)
        return path

    def test_folded(self):
        for name in "training", "autograd", "cpp":
            model = Model(self.files[name])
            for weight in "gpu-time", "wait", "bytes", "launches":
                text = self.flame("x.folded", "--weight", weight, self.files[name]).read_text()
                self.assertEqual(read_folded(text), model.folded(weight), weight)

    def test_the_native_caller_is_between_python_and_the_kernel(self):
        file = self.path("callers.jsonl")
        file.write_text(callers())
        python_frames = "main (train.py:9);forward (model.py:5);linear (torch/nn/functional.py:12);"
        text = self.flame("callers.folded", file).read_text()
        self.assertEqual(sorted(text.splitlines()), sorted([
            f"{python_frames}gemm 4000",
            f"{python_frames}at::native::addmm(at::Tensor const&) (libtorch_cuda.so);gemm 1000",
            f"{python_frames}at::native::mm(at::Tensor const&) (libtorch_cuda.so);gemm 2000",
            "g (torch/b.py:2);f (torch/a.py:1);libffi.so.8;copy 8000"]))

    def test_several_files(self):
        other = self.path("other.jsonl")  # of another process, which uses the same IDs of stacks
        other.write_text(self.files["cpp"].read_text().replace('"4711"', '"4712"'))
        text = self.flame("x.folded", self.files["training"], other).read_text()
        self.assertEqual(read_folded(text), Model(self.files["training"]).folded("gpu-time") + Model(other).folded("gpu-time"))

    def decode(self, path):
        """The folded lines of a pprof file."""
        strings, functions, locations, samples, types = [], {}, {}, [], []
        for field, value in fields(gzip.decompress(path.read_bytes())):
            if field == 6:
                strings.append(value.decode())
            elif field == 5:
                function = dict(fields(value))
                functions[function[1]] = function
            elif field == 4:
                location = dict(fields(value))
                locations[location[1]] = dict(fields(location[4]))
            elif field == 2:
                sample = dict(fields(value))
                samples.append((packed(sample[1]), packed(sample[2])))
            elif field == 1:
                types.append(dict(fields(value)))
            else:
                self.fail(f"field {field}")
        self.assertEqual(strings[0], "")
        lines = Counter()
        for places, (value,) in samples:
            names = []
            for place in reversed(places):
                function = functions[locations[place][1]]
                name, file = strings[function[2]], re.sub("^.*/(site|dist)-packages/", "", strings[function.get(4, 0)])
                line = locations[place].get(2)
                names.append(f"{name} ({file}:{line})" if line else f"{name} ({file})" if file and file != name else name)
            lines[";".join(name.replace(";", ",") for name in names)] += value
        return lines, [(strings[kind[1]], strings[kind[2]]) for kind in types]

    def test_pprof(self):
        for weight, kind in (("gpu-time", ("gpu_time", "nanoseconds")), ("wait", ("wait", "nanoseconds")),
                             ("bytes", ("copied", "bytes")), ("launches", ("launches", "count"))):
            path = self.flame("x.pb.gz", "--weight", weight, self.files["training"])
            lines, types = self.decode(path)
            self.assertEqual(lines, Model(self.files["training"]).folded(weight))
            self.assertEqual(types, [kind])
        for name in "cpp", "hostile":
            self.assertEqual(sum(self.decode(self.flame("y.pb.gz", self.files[name]))[0].values()),
                             sum(work.end_ns - work.start_ns for work in Model(self.files[name]).work))

    def test_go_reads_pprof(self):
        if not shutil.which("go"):
            self.skipTest("no go")
        path = self.flame("x.pb.gz", self.files["training"])
        done = subprocess.run(["go", "tool", "pprof", "-top", "-unit=ns", "-nodecount=999", path], capture_output=True, text=True,
                              check=False, env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": ""})
        if "no such tool" in done.stderr:
            self.skipTest("go has no pprof")
        self.assertEqual(done.returncode, 0, done.stderr)
        flat = {name: int(value) for value, name in re.findall(r"(?m)^\s*(\d+)ns .*?% +\d+ns +\S+%  (.*)$", done.stdout)}
        self.assertEqual(flat["flash_fwd_kernel"], 840_000)
        self.assertIn("Type: gpu_time", done.stdout)

    def test_go_reads_a_large_pprof(self):
        trace = CodeTrace("large", 1)
        for i in range(3_000):
            trace.launch_at((i + 1, [python(f"{'x' * 60}_{i}.py", i + 1, "f")], 0), "kernel", 1_000)
        trace.finish()
        file = self.path("large.jsonl")
        file.write_text("\n".join(trace.lines()) + "\n")
        path = self.flame("large.pb.gz", file)
        self.assertGreater(len(gzip.decompress(path.read_bytes())), 3 * 65535)
        self.assertEqual(sum(self.decode(path)[0].values()), 3_000_000)

    # --- SVG ---

    def frames(self, root):
        """(class, start, value, depth, name, information) of all frames."""
        found = []
        for g in root.iter(f"{SVG}g"):
            if not g.get("class", "").startswith("f "):
                continue
            name, _, info = g.find(f"{SVG}title").text.partition("\n")
            found.append((g.get("class")[2:], int(g.get("data-s")), int(g.get("data-v")),
                          (int(g.find(f"{SVG}rect").get("y")) - 66) // 17, name, info))
        return found

    def test_svg(self):
        root = ElementTree.parse(self.flame("x.svg", self.files["training"])).getroot()
        frames = self.frames(root)
        model = Model(self.files["training"])
        whole = sum(work.end_ns - work.start_ns for work in model.work)
        self.assertEqual(frames[0][:5], ("ro", 0, whole, 0, "all"))
        self.assertEqual(root.find(f".//{SVG}text[@id='title']").text, "GPU time by call stack: 4.21 ms")
        # Each path is there with its value, and children are within their parents.
        stack, paths = [], Counter()
        for kind, start, value, depth, name, info in frames:
            del stack[depth:]
            if depth:
                self.assertTrue(stack[-1][0] <= start and start + value <= stack[-1][0] + stack[-1][1])
                self.assertIn(f"\n{value} ns", "\n" + info)
            stack.append((start, value, name))
            if kind == "wo":
                paths[";".join(name.replace(";", ",") for _, _, name in stack[1:])] += value
        self.assertEqual(paths, model.folded("gpu-time"))
        kinds = {name: kind for kind, _, _, _, name, _ in frames}
        self.assertEqual(kinds["Block.forward (model.py:31)"], "py")
        self.assertEqual(kinds["Module._call_impl (torch/nn/modules/module.py:1751)"], "li")
        self.assertEqual(kinds["flash_fwd_kernel"], "wo")
        self.assertEqual(kinds["(not sampled)"], "la")
        self.assertEqual(kinds["libstdc++.so.6"], "na")

    def test_svg_needs_no_network(self):
        text = self.flame("x.svg", self.files["training"]).read_text()
        self.assertEqual(set(re.findall(r"https?://[^\"' ]*", text)), {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})
        for word in "xlink", "@import", "url(", "src=", "fetch(", "XMLHttpRequest", "innerHTML", "eval(", "document.write":
            self.assertNotIn(word, text)

    def test_svg_with_hostile_names(self):
        path = self.flame("h.svg", self.files["hostile"])
        root = ElementTree.parse(path).getroot()
        names = {name for _, _, _, _, name, _ in self.frames(root)}
        for number, name in enumerate(make_code_trace.HOSTILE):
            clean = re.sub("[\x00-\x1f\u202e\ufffe\uffff]", "?", name if len(name) < 500 else "x" * 512 + "...")
            file = re.sub("[\x00-\x1f\u202e\ufffe\uffff]", "?", name + ".py" if len(name) < 500 else "x" * 512 + "...")
            self.assertIn(f"{clean} ({file}:{number + 1})", names)
        self.assertIn("bad \ufffd\ufffd\ufffd utf-8 (bad \ufffd\ufffd\ufffd utf-8.py:21)", names)
        self.assertEqual(len(root.findall(f".//{SVG}script")), 1)
        tags = Counter(element.tag.replace(SVG, "") for element in root.iter())
        self.assertEqual(set(tags), {"svg", "style", "rect", "text", "title", "g", "foreignObject", "script",
                                     "{http://www.w3.org/1999/xhtml}input"})
        for element in root.iter():  # no attribute comes from a name
            self.assertLessEqual(set(element.attrib), {"id", "class", "x", "y", "width", "height", "viewBox", "data-s", "data-v",
                                                       "text-anchor", "type", "placeholder"})
        other = ElementTree.parse(self.flame("x.svg", self.files["training"])).getroot()
        self.assertEqual(root.find(f".//{SVG}script").text, other.find(f".//{SVG}script").text)
        folded = self.flame("h.folded", self.files["hostile"]).read_text().splitlines()
        self.assertEqual(len(folded), len(make_code_trace.HOSTILE) + 1)
        for line in folded:
            self.assertRegex(line, r"^main \(train\.py:9\);[^;]*;kernel [^;]* \d+$")

    def test_without_stacks(self):
        done = run("flame", "-o", self.path("n.folded"), self.files["none"])
        self.assertEqual(done.returncode, 0)
        self.assertIn("the spans have no call stacks, so there are only kernels and copies", done.stderr)
        self.assertEqual(self.path("n.folded").read_text(), "(no stacks: set capture.launch_stacks);kernel 5000\n")

    def test_nothing_to_show(self):
        path = self.flame("n.svg", "--weight", "bytes", self.files["none"])
        self.assertIn("There is nothing to show", path.read_text())
        ElementTree.parse(path)
        self.assertEqual(self.flame("n.folded", "--weight", "bytes", self.files["none"]).read_text(), "")
        self.assertEqual(self.decode(self.flame("n.pb.gz", "--weight", "wait", self.files["none"]))[0], {})

    def test_diff(self):
        old, new = (Model(self.files[name]).folded("gpu-time") for name in ("training", "slower"))
        def no_lines(lines):
            merged = Counter()
            for stack, value in lines.items():
                merged[re.sub(r":\d+\)(?=;|$)", ")", stack)] += value
            return merged
        old, new = no_lines(old), no_lines(new)
        text = self.flame("d.folded", "--diff", self.files["training"], self.files["slower"]).read_text()
        found = {stack: (int(before), int(after)) for stack, before, after in re.findall(r"(?m)^(.*) (\d+) (\d+)$", text)}
        self.assertEqual(found, {stack: (old[stack], new[stack]) for stack in {*old, *new}})
        root = ElementTree.parse(self.flame("d.svg", "--diff", self.files["training"], self.files["slower"])).getroot()
        fills = {g.find(f"{SVG}title").text.split("\n")[0]: g.find(f"{SVG}rect").get("fill")
                 for g in root.iter(f"{SVG}g") if g.get("class", "").startswith("f ")}
        self.assertEqual(fills["Attention.forward (model.py)"], "rgb(245,85,85)")  # twice as slow
        self.assertEqual(fills["Model.new_norm (model.py)"], "rgb(245,85,85)")
        self.assertEqual(fills["Model.old_mask (model.py)"], "rgb(85,85,250)")
        self.assertEqual(fills["replay (graphs.py)"], "#e4e4e4")
        frames = self.frames(root)
        self.assertEqual(frames[0][2], sum(old.values()) + sum(new.values()))
        self.assertIn("old 840 µs, new 1.68 ms (+100.0 %)", next(info for *_, name, info in frames if name == "Attention.forward (model.py)"))

    def test_script(self):
        """Search and zoom in a real browser."""
        browser = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
        if not browser:
            self.skipTest("no Chromium")
        text = self.flame("x.svg", self.files["training"]).read_text()
        steps = """<script>//<![CDATA[
(function(){var out=[],find=function(n){return [].filter.call(document.querySelectorAll("g.f"),function(g){
 return g.querySelector("title").textContent.indexOf(n)===0})[0]},
 at=function(n){var g=find(n);return g.classList.contains("hide")?"hidden":g.querySelector("rect").getAttribute("width")+
  (g.classList.contains("up")?" up":"")+(g.classList.contains("hit")?" hit":"")+" "+g.querySelector("text").textContent},
 click=function(e){e.dispatchEvent(new MouseEvent("click",{bubbles:true}))},id=function(i){return document.getElementById(i)},
 say=function(w){out.push(w+"|"+at("all")+"|"+at("Block.forward (model.py:31)")+"|"+at("flash_fwd_kernel")+"|"+
  id("matched").textContent+"|"+id("reset").classList.contains("hide"))},
 box=document.querySelector("#box input"),type=function(w){box.value=w;box.dispatchEvent(new Event("input"))};
say("start");click(find("Block.forward (model.py:31)"));say("zoom");click(id("reset"));say("reset");
type("FLASH|gemm$");say("search");type("[");say("bad regex");type("model\\\\.py");say("nested");
type("");say("empty");
find("gemm").dispatchEvent(new MouseEvent("mouseover"));out.push(id("details").textContent);
click(find("flash_fwd_kernel"));type("model");window.dispatchEvent(new KeyboardEvent("keydown",{key:"Escape"}));say("escape");
var p=document.createElementNS("http://www.w3.org/2000/svg","text");p.setAttribute("id","result");p.textContent=out.join("\\n");
document.documentElement.appendChild(p);})();
//]]></script></svg>"""
        page = self.path("script.svg")
        page.write_text(text.replace("</svg>", steps))
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,700",
                               f"--user-data-dir={self.path('browser')}", "--dump-dom", f"file://{page}"],
                              capture_output=True, text=True, timeout=300, check=False)
        result = re.search(r'id="result">([^<]*)<', done.stdout)
        self.assertIsNotNone(result, done.stdout[-2000:] + done.stderr[-2000:])
        lines = result.group(1).replace("&gt;", ">").replace("&amp;", "&").split("\n")
        model = Model(self.files["training"])
        whole = sum(work.end_ns - work.start_ns for work in model.work)
        of_model = model.rows("module")["model.py", None]["self_ns"]
        block, flash = 1200 * 1_350_000 / whole, 1200 * 840_000 / whole
        want_start = ["1200.00 all", f"{block:.2f} Block.forward (model.py:31)", f"{flash:.2f} flash_fwd_kernel", "", "true"]
        self.assertEqual(lines[0], "|".join(["start", *want_start]))
        self.assertEqual(lines[1], "zoom|1200.00 up all|1200.00 Block.forward (model.py:31)|hidden||false")
        self.assertEqual(lines[2], "|".join(["reset", *want_start]))
        share = 100 * (840_000 + 1_218_000 + 1_200_000) / whole
        self.assertEqual(lines[3], f"search|1200.00 all|{block:.2f} Block.forward (model.py:31)|{flash:.2f} hit flash_fwd_kernel|"
                                   f"matched: {share:.1f} %|true")
        self.assertIn("matched: 0.0 %", lines[4])
        self.assertIn(f"matched: {100 * of_model / whole:.1f} %", lines[5])
        self.assertEqual(lines[6], "|".join(["empty", *want_start]))
        self.assertRegex(lines[7], r"^gemm  1\.\d\d ms, \d\d\.\d\d %, \d+ ns$")
        self.assertEqual(lines[8], "|".join(["escape", *want_start]))

    # --- arguments ---

    def test_formats_and_outputs(self):
        want = self.flame("x.folded", self.files["cpp"]).read_text()
        self.assertEqual(self.ok("flame", "--format", "folded", "-o", "-", self.files["cpp"]), want)
        self.assertEqual(self.ok("flame", "--format", "folded", self.files["cpp"]), want)
        self.assertTrue(self.ok("flame", self.files["cpp"]).startswith("<?xml"))
        self.assertEqual(self.ok("flame", "--format", "folded", "-", input=self.files["cpp"].read_text()), want)
        self.ok("flame", "--format", "folded", "-o", self.path("any.name"), self.files["cpp"])
        self.assertEqual(self.path("any.name").read_text(), want)
        done = run("flame", "-o", self.path("said.svg"), self.files["cpp"])
        self.assertEqual(done.stderr, f"cuspan flame: wrote {self.path('said.svg')}; open it in a browser\n")

    def test_on_a_terminal(self):
        folder = self.path("here")
        folder.mkdir()
        master, terminal = pty.openpty()
        done = subprocess.run([BUILD / "cuspan", "flame", self.files["cpp"]], cwd=folder, stdout=terminal, stderr=subprocess.PIPE,
                              text=True, check=False)
        os.close(terminal)
        os.close(master)
        self.assertEqual((done.returncode, done.stderr), (0, "cuspan flame: wrote flame.svg; open it in a browser\n"))
        ElementTree.parse(folder / "flame.svg")

    def test_wrong_arguments(self):
        file = self.files["cpp"]
        for arguments, words in ((("flame",), "name a file"),
                                 (("flame", "-o", "x.png", file), "x.png: unknown format; end the name with .svg"),
                                 (("flame", "--diff", file), "--diff needs two operands"),
                                 (("flame", "--diff", "-o", "x.pb.gz", file, file), "--diff can only write svg and folded"),
                                 (("flame", "-o", "x.speedscope.json", file), "speedscope opens the last two"),
                                 (("flame", "--weight", "time", file), "--weight needs one of: gpu-time wait bytes launches"),
                                 (("flame", "--format", "png", file), "--format needs one of")):
            done = run(*arguments, cwd=self.folder)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)
        for arguments, words in ((("flame", "-o", "x.svg", "/no/such"), "/no/such"),
                                 (("flame", "-o", "/no/such/x.svg", file), "/no/such/x.svg: No such file or directory"),
                                 (("flame", "-o", "/dev/full/x.svg", file), "Not a directory"),
                                 (("flame", "--diff", "-o", "x.svg", file, "/no/such"), "/no/such")):
            done = run(*arguments, cwd=self.folder)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(words, done.stderr)
        with open("/dev/full", "w") as full:
            done = subprocess.run([BUILD / "cuspan", "flame", file], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "cuspan flame: -: No space left on device\n"))


class OtherCommands(Case):
    def test_show(self):
        text = self.ok("show", "--rows", 0, "--width", 150, self.files["training"])
        self.assertRegex(text, r"cudaLaunchKernel  model\.py:31 Block\.forward")
        self.assertRegex(text, r"node_0  graphs\.py:9 captured")
        self.assertNotRegex(text, r"unsampled_kernel.*\.py")
        merged = self.ok("show", "--rows", 30, "--width", 150, self.files["training"])
        self.assertRegex(merged, r"flash_fwd_kernel ×12  model\.py:22 Attention\.forward")
        self.assertRegex(merged, r"cudaLaunchKernel ×\d+ +\d")  # of several lines
        self.assertRegex(self.ok("show", "--width", 100, self.files["cpp"]), r"cudaLaunchKernel  solve\(double\*, int\)")

    def test_perfetto(self):
        path = self.path("p.json")
        self.ok("show", "--perfetto", path, self.files["training"])
        events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
        line = [(event["args"].get("code.file.path"), event["args"].get("code.line.number"), event["args"].get("code.function.name"))
                for event in events if event["name"] == "flash_fwd_kernel"]
        self.assertEqual(set(line), {("model.py", 22, "Attention.forward")})
        nodes = {event["name"]: event["args"]["code.file.path"] for event in events if event["name"].startswith("node_")}
        self.assertEqual(nodes, {"node_0": "graphs.py", "node_1": "graphs.py"})
        self.assertFalse([event for event in events if event["name"] == "unsampled_kernel" and "code.file.path" in event["args"]])

    def test_findings(self):
        trace = CodeTrace("copies", 1)
        log = main_stack(5, python("train.py", 88, "Trainer.log"), own=0, step=64)
        other = main_stack(7, python("train.py", 88, "Trainer.log"), own=0, step=65)  # another stack of the same line
        load = main_stack(6, python("data.py", 12, "load"), own=0, step=64)
        for i in range(500):
            trace.copy_at([load, log, log, other, other][i % 5], "DtoH", 2_000, 8, "cudaMemcpy")
        for i in range(200):
            trace.launch_at(None if i % 10 else log, "tiny", 1_000)
            trace.wait_at(load, 3_000)
        trace.finish()
        file = self.path("copies.jsonl")
        file.write_text("\n".join(trace.lines()) + "\n")
        rows = {row["finding"]: row for row in self.table(file, table="findings")}
        for finding in "synchronous-copies", "tiny-copies":
            self.assertEqual(rows[finding]["code"], "train.py:88")
            self.assertTrue(rows[finding]["evidence"].endswith("; 400 at train.py:88 (Trainer.log)"), rows[finding]["evidence"])
        self.assertIn("500 copies of at most 8 bytes in 1 rows", rows["tiny-copies"]["evidence"])
        self.assertTrue(rows["tiny-launches"]["evidence"].endswith("; of 20 with a call stack, 20 at train.py:88 (Trainer.log)"))
        self.assertTrue(rows["needless-sync"]["evidence"].endswith("; 200 at data.py:12 (load)"))
        self.assertEqual(rows["launch-bound"]["code"], "train.py:88")
        self.assertIn("at train.py:88", self.ok("stat", "--findings", file))

    def test_findings_without_stacks(self):
        trace = CodeTrace("copies", 1)
        for _ in range(500):
            trace.copy_at(None, "DtoH", 2_000, 8, "cudaMemcpy")
        trace.finish()
        file = self.path("plain.jsonl")
        file.write_text("\n".join(trace.lines()) + "\n")
        rows = self.table(file, table="findings")
        self.assertIn("tiny-copies", {row["finding"] for row in rows})
        for row in rows:
            self.assertNotIn("code", row)
            self.assertNotIn("call stack", row["evidence"])


class Recordings(unittest.TestCase):
    """Runs on an H100: the tables byte for byte. CUSPAN_WRITE=1 writes them."""
    maxDiff = None
    SLOW, FIXED = (ROOT / f"examples/training/slow_step{name}.cuspanrec" for name in ("", "_fixed"))
    GRAPH = ROOT / "tests/gpu/recordings/graph_lines.cuspanrec"

    def check(self, name, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = ROOT / "tests/integration/cli/tables" / f"{name}.txt"
        if os.environ.get("CUSPAN_WRITE"):
            expected.write_text(done.stdout)
        self.assertEqual(done.stdout, expected.read_text())
        return done.stdout

    def test_a_slow_step(self):
        options = "--top", "0", "--width", "160"
        text = self.check("slow_step_line", "stat", "--by", "line", *options, "--source", ROOT / "examples/training", self.SLOW)
        self.assertRegex(text.splitlines()[3], r"^slow_step\.py:20 +causal_mask .* 20\.6 % .* return mask\.to\(device\)$")
        self.check("slow_step_function", "stat", "--by", "function", *options, self.SLOW)
        self.check("slow_step_module", "stat", "--by", "module", *options, self.SLOW)

    def test_without_that_line(self):
        self.check("slow_step_diff", "diff", "--by", "line", "--all", self.SLOW, self.FIXED)

    def test_nodes_of_a_graph(self):
        text = self.check("graph_lines", "stat", "--by", "line", "--top", "0", "--width", "160", self.GRAPH)
        self.assertIn("code.py:187  graph.<locals>.work ", text)

    def test_rows_add_up(self):
        for recording in self.SLOW, self.FIXED, self.GRAPH:
            found = json.loads(run("stat", "--table", "code,kernels,copies", "--top", "0", "--json", recording).stdout)
            work = sum(row["total_ns"] for table in ("kernels", "copies") for row in found[table])
            self.assertEqual(sum(row["self_ns"] for row in found["code"]), work)
            folded = run("flame", "--format", "folded", "-o", "-", recording).stdout
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), work)


if __name__ == "__main__":
    unittest.main()
