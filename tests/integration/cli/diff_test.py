#!/usr/bin/env python3
"""`cuspan stat --save` and `cuspan diff`: the test computes a baseline's content itself; diff finds a planted change
and nothing else; a program compared with itself a hundred times gives no more false alarms than the level allows.

The programs are recordings of real GPU runs. Further runs are sampled from their executions, with noise between runs.

    diff_test.py --build BUILD-DIR [unittest's arguments]
"""

import csv
import io
import json
import math
import random
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from backend import spans_of  # noqa: E402
from built import run  # noqa: E402

RECORDINGS = ROOT / "examples/recordings"
VALUES_MAX = 32
KINDS = ["kernel", "copy", "call", "total"]
LEVEL = 0.05


def run_item(values):
    """The data that a baseline keeps of an item's executions in a run."""
    ordered = sorted(values)
    count, kept = len(ordered), min(len(ordered), VALUES_MAX)
    return {"count": count, "total": sum(ordered), "median": ordered[(count + 1) // 2 - 1],
            "values": [ordered[(2 * i + 1) * count // (2 * kept)] for i in range(kept)]}


def items_of(spans):
    """(kind, name) → durations, of all items that have any."""
    items = defaultdict(list)
    for span in spans:
        attributes = span.attributes
        activity = attributes.get("cuda.activity")
        if activity == "kernel":
            key = "kernel", attributes["cuda.kernel.name"]
        elif activity == "memcpy":
            key = "copy", "{} {} to {}".format(*(attributes[f"cuda.memcpy.{x}"] for x in ("kind", "src_kind", "dst_kind")))
        elif activity == "memset":
            key = "copy", "fill of " + attributes.get("cuda.memset.memory_kind", "unknown")
        elif "cuda.api" in attributes:
            key = "call", span.name
        else:
            continue
        items[key].append(span.end_ns - span.start_ns)
    return items


def baseline(runs):
    """The file of several runs, each a mapping from (kind, name) to durations."""
    keys = sorted({key for items in runs for key in items}, key=lambda key: (KINDS.index(key[0]), key[1].encode()))
    return json.dumps({"cuspan_baseline": 1, "runs": len(runs), "gpus": "NVIDIA H200", "items": [
        {"kind": kind, "name": name, "unit": "ns",
         "runs": [run_item(items[kind, name]) if (kind, name) in items else None for items in runs]}
        for kind, name in keys]}, separators=(",", ":"))


class Case(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.files, cls.spans = {}, {}
        for name in "torch_inference", "service", "threads", "graph_nodes":
            cls.files[name] = cls.folder / f"{name}.jsonl"
            done = run("replay", "--quiet", "--file", cls.files[name], RECORDINGS / f"{name}.cuspanrec")
            assert done.returncode == 0, done.stderr
            cls.spans[name] = [span for line in cls.files[name].read_text().splitlines() for span in spans_of(json.loads(line))]

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def diff(self, *arguments):
        done = run("diff", "--json", *arguments)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout), done.returncode

    def another_run(self, items, draw, between=0.0, slower=None):
        """A simulated run: each item's executions sampled again, multiplied by a noise factor of the whole run."""
        drawn = {}
        for key, values in items.items():
            factor = math.exp(draw.gauss(0, between)) * (slower or {}).get(key, 1)
            drawn[key] = [max(1, round(value * factor)) for value in draw.choices(values, k=len(values))]
        return drawn

    def slow_kernel(self):
        """The kernel with the most executions in the inference."""
        items = items_of(self.spans["torch_inference"])
        return max((key for key in items if key[0] == "kernel"), key=lambda key: sum(items[key]))


class Diff(Case):
    # --- baselines ---

    def test_a_baseline_holds_what_the_spans_say(self):
        for name, spans in self.spans.items():
            path = self.folder / "saved.json"
            done = run("stat", "--save", path, self.files[name])
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            saved = json.loads(path.read_text())
            want = json.loads(baseline([items_of(spans)]))
            got = {**saved, "items": [item for item in saved["items"] if item["kind"] != "total"]}
            self.assertEqual(got, want)
            totals = {item["name"]: item["runs"][0]["median"] for item in saved["items"] if item["kind"] == "total"}
            headline = json.loads(run("stat", "--json", self.files[name]).stdout)["headline"][0]
            for key, value in headline.items():
                if isinstance(value, int):
                    self.assertEqual(totals.get(key, value), value, key)
            self.assertGreater(totals["busy_ns"], 0)

    def test_a_baseline_is_for_git(self):
        """The output is always the same: one line per item and one per run, with the runs in the order in which they
        were named."""
        first, again = self.folder / "one.json", self.folder / "two.json"
        for path in first, again:
            self.assertEqual(run("stat", "--save", path, self.files["service"], self.files["service"]).returncode, 0)
        self.assertEqual(first.read_text(), again.read_text())
        lines = first.read_text().splitlines()
        items = [line for line in lines if line.startswith('{"kind"')]
        self.assertEqual(len([line for line in lines if line.startswith(" {")]), 2 * len(items))
        self.assertEqual(first.stat().st_mode & 0o777, 0o600)

    def test_a_baseline_is_as_good_as_its_spans(self):
        saved = self.folder / "kept.json"
        run("stat", "--save", saved, self.files["torch_inference"])
        other = self.files["graph_nodes"]
        self.assertEqual(self.diff("--all", saved, other), self.diff("--all", self.files["torch_inference"], other))

    def test_a_damaged_baseline_is_told(self):
        whole = json.loads(baseline([items_of(self.spans["service"])]))
        for change, said in [({"cuspan_baseline": 2}, "version 2, but this cuspan reads version 1"),
                             ({"runs": 3}, "item 1 of the baseline is damaged"), ({"items": 1}, 'without "runs"')]:
            path = self.write("bad.json", json.dumps({**whole, **change}, separators=(",", ":")))
            done = run("diff", path, self.files["service"])
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        path = self.write("bad.json", '{"cuspan_baseline":1,\n<<<<<<< HEAD\n')
        self.assertIn("is not valid JSON", run("diff", path, path).stderr)

    # --- findings ---

    def test_a_slower_kernel_in_one_run_of_each(self):
        """With spans: each execution of one kernel takes a fifth longer."""
        _, name = self.slow_kernel()
        documents = [json.loads(line) for line in self.files["torch_inference"].read_text().splitlines()]
        for resource in (resource for document in documents for resource in document["resourceSpans"]):
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    if {"key": "cuda.kernel.name", "value": {"stringValue": name}} in span.get("attributes", []):
                        start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
                        span["endTimeUnixNano"] = str(start + (end - start) * 6 // 5)
        slower = self.write("slower.jsonl", "".join(json.dumps(document) + "\n" for document in documents))
        tables, status = self.diff(self.files["torch_inference"], slower)
        self.assertEqual(status, 1)
        self.assertEqual([row["name"] for row in tables["regressions"]], [name])
        row = tables["regressions"][0]
        self.assertAlmostEqual(row["change_share"], 0.2, places=2)
        self.assertLessEqual(row["low_share"], row["change_share"])
        self.assertGreaterEqual(row["high_share"], row["change_share"])
        self.assertLess(row["p"], LEVEL)
        tables, status = self.diff(slower, self.files["torch_inference"])
        self.assertEqual((status, [row["name"] for row in tables["improvements"]]), (0, [name]))

    # --- items on one side only ---

    def test_added_time_counts(self):
        items = items_of(self.spans["torch_inference"])
        kernels = sum(sum(values) for (kind, _), values in items.items() if kind == "kernel")
        largest = max((key for key in items if key[0] == "kernel"), key=lambda key: sum(items[key]))
        copy = ("copy", "HostToDevice pageable to device, added")
        renamed = {("kernel", "renamed") if key == largest else key: values for key, values in items.items()}
        base = self.write("base.json", baseline([items]))
        for name, of_new, found in (
                ("copies", {**items, copy: [kernels // 50] * 40}, ["HostToDevice pageable to device, added"]),
                ("tiny", {**items, copy: [kernels // 500]}, []),
                ("renamed", renamed, []),
                ("renamed and slower", {**renamed, ("kernel", "more"): [kernels // 20] * 8}, ["more", "renamed"]),
                ("more kernels", {**items, ("kernel", "more"): [kernels // 20] * 8}, ["more"]),
                ("few kernels", {**items, ("kernel", "more"): [kernels // 100] * 2}, [])):
            with self.subTest(name):
                new = self.write("new.json", baseline([of_new]))
                tables, status = self.diff(base, new)
                self.assertEqual((sorted(row["name"] for row in tables["regressions"]), status), (found, bool(found)))
                tables, status = self.diff(new, base)
                self.assertEqual(status, 0)
                self.assertEqual(len(tables["improvements"]), len(found))
        once = self.write("once.json", baseline([items, {**items, copy: [kernels // 50] * 40}]))  # not in all runs
        self.assertEqual(self.diff(base, once)[1], 0)
        off = self.write("off.yaml", "slower: {copies: off}\n")
        self.assertEqual(self.diff("--limits", off, base, self.write("new.json", baseline([{**items, copy: [kernels] * 9}])))[1], 0)
        more = self.write("more.yaml", "more: {copies: 9}\n")
        self.assertEqual(self.diff("--limits", more, base, self.write("new.json", baseline([{**items, copy: [1]}])))[1], 1)

    # --- options and errors ---

    def test_limits(self):
        items = items_of(self.spans["service"])
        base = self.write("base.json", baseline([items]))
        doubled = {key: values * 2 if key == ("call", "cudaMalloc") else values for key, values in items.items()}
        new = self.write("new.json", baseline([doubled]))
        self.assertEqual(self.diff(base, new)[1], 0)
        more = self.write("more.yaml", "more: {calls: 0.5}\n")
        tables, status = self.diff("--limits", more, base, new)
        self.assertEqual((status, [row["name"] for row in tables["regressions"]]), (1, ["cudaMalloc"]))
        ignored = self.write("ignored.yaml", "more: {calls: 0.5}\nrules:\n  - {call: cudaMal*, ignore: true}\n")
        self.assertEqual(self.diff("--limits", ignored, base, new)[1], 0)
        absolute = self.write("absolute.yaml", "rules:\n  - call: \"cuda*\"\n    count_max: 20\n  - call: cudaLaunchKernel\n"
                              "    count_max: off\n    median_max: 1\n  - {kernel: \"work*\", sum_max: 1000}\n")
        tables, status = self.diff("--limits", absolute, base, new)
        self.assertEqual(status, 1)
        got = {(row["name"], row["limit"]): row.get("is", row.get("is_ns")) for row in tables["limits"]}
        want = {(name, "count_max"): len(values) for (kind, name), values in doubled.items()
                if kind == "call" and len(values) > 20 and name != "cudaLaunchKernel"}
        want["cudaLaunchKernel", "median_max"] = run_item(items["call", "cudaLaunchKernel"])["median"]
        want["work(int*, int)", "sum_max"] = sum(items["kernel", "work(int*, int)"])
        self.assertEqual(got, want)

    def test_wrong_limits_are_named(self):
        for text, said in [("slowr: {kernels: 1}\n", ":1:1: slowr: unknown key; did you mean slower?"),
                           ("slower: {kernel: 1}\n", "kernel: unknown key; did you mean kernels?"),
                           ("level: 2\n", "between 0 and 1"), ("slower: {kernels: -1}\n", "expected a number from 0, or off"),
                           ("rules:\n  - {slower: 1}\n", ":2:5: a rule needs one of kernel, copy, call and total"), ("rules: 1\n", "expected a list of rules"),
                           ("rules:\n  - {kernel: a, call: b}\n", "one of kernel, copy, call and total"),
                           ("rules:\n  - {kernel: a, ignore: 2}\n", "expected true or false"), ("- 1\n", "expected a mapping"),
                           ("a: [\n", "limits.yaml"), ('"a\\nb": 1\n', ":1:1: a?b: unknown key")]:
            path = self.write("limits.yaml", text)
            done = run("diff", "--limits", path, self.files["service"], self.files["service"])
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_the_example_of_the_page(self):
        page = (ROOT / "docs/diff.md").read_text()
        example = self.write("page.yaml", page.split("```yaml\n")[1].split("```")[0])
        done = run("diff", "--limits", example, self.files["service"], self.files["service"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_sides(self):
        """Single files, several files by name, and a folder give the same runs."""
        folder = self.folder / "runs"
        folder.mkdir()
        for i in range(4):
            (folder / f"{i}.jsonl").write_bytes(self.files["service"].read_bytes())
        one = self.files["service"]
        by_folder = self.diff("--all", folder, folder)
        self.assertEqual(by_folder[0]["headline"][0]["base_runs"], 4)
        self.assertEqual(by_folder[0]["headline"][0]["test"], "permutation of runs (Westfall-Young)")
        self.assertEqual(self.diff("--base", one, one, one, one, "--new", folder, "--all"), by_folder)
        recording = RECORDINGS / "service.cuspanrec"
        self.assertEqual(self.diff(recording, one)[1], 0)
        for arguments in [[one], [one, one, one], [one, "--new", one], ["--base", one]]:
            done = run("diff", *arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertEqual(run("diff", one, "/no/such").returncode, 2)

    def test_other_gpus_are_told(self):
        other = self.write("other.json", baseline([items_of(self.spans["service"])]).replace("NVIDIA H200", "NVIDIA L4"))
        self.assertIn("different GPUs: NVIDIA L4, and NVIDIA H200", run("diff", other, self.files["service"]).stderr)

    def test_forms(self):
        base, new = self.files["service"], self.files["torch_inference"]
        tables, _ = self.diff("--all", base, new)
        markdown = run("diff", "--markdown", "--all", base, new).stdout
        self.assertEqual(markdown.count("\n| kernel |") + markdown.count("\n| call |"), 2 * sum(
            row["kind"] in ("kernel", "call") for row in tables["items"] if row["verdict"] in ("new", "gone")) + sum(
            row["kind"] in ("kernel", "call") for row in tables["items"] if row["verdict"] not in ("new", "gone"))
            + sum(row["kind"] in ("kernel", "call") for row in tables["regressions"] + tables["improvements"]))
        shown = run("diff", "--csv", "--all", base, new).stdout
        part = shown[shown.index("# items\n") + len("# items\n"):]
        rows = list(csv.DictReader(io.StringIO(part.strip())))
        self.assertEqual([row["name"] for row in rows], [row["name"] for row in tables["items"]])
        self.assertNotIn("\033", run("diff", base, new).stdout)


class Statistics(Case):
    """How often diff finds a change, and how often one that is none."""

    def test_a_slower_kernel_among_several_runs(self):
        items, slow = items_of(self.spans["torch_inference"]), self.slow_kernel()
        for runs in 2, 4, 6:
            found = 0
            for seed in range(10):
                draw = random.Random(1000 * runs + seed)
                base = self.write("base.json", baseline([self.another_run(items, draw, 0.01) for _ in range(runs)]))
                new = self.write("new.json", baseline([self.another_run(items, draw, 0.01, {slow: 1.2}) for _ in range(runs)]))
                tables, status = self.diff(base, new)
                names = [row["name"] for row in tables["regressions"] if row["kind"] == "kernel"]
                found += status == 1 and slow[1] in names
                self.assertEqual([name for name in names if name != slow[1]], [], f"{runs} runs, seed {seed}")
            self.assertGreaterEqual(found, 9, f"{runs} runs")

    def false_alarms(self, name, runs, between, limits):
        """In how many of 100 comparisons of a program with itself diff reports any difference."""
        items, alarms = items_of(self.spans[name]), 0
        for seed in range(100):
            draw = random.Random(f"{name} {runs} {seed}")
            sides = [self.write(side, baseline([self.another_run(items, draw, between) for _ in range(runs)]))
                     for side in ("base.json", "new.json")]
            tables, _ = self.diff(*limits, *sides)
            alarms += bool(tables["regressions"] or tables["improvements"])
        return alarms

    def test_a_program_against_itself(self):
        """With thresholds of 0, every significant difference counts, so the test's level must hold without them. With
        one run per side there is no noise between runs, because it could not be distinguished from a change; with five
        there is."""
        nothing = self.write("nothing.yaml", "slower: {kernels: 0, copies: 0, calls: 0, totals: 0}\n")
        cases = [("torch_inference", 1, 0), ("service", 1, 0), ("torch_inference", 5, 0.03), ("service", 5, 0.03)]
        alarms = {case: self.false_alarms(*case, ["--limits", nothing]) for case in cases}
        # A test with a level of 5 % gives more than 13 alarms in one of 2,000 such hundreds.
        self.assertLessEqual(max(alarms.values()), 13, alarms)

    def test_a_program_against_itself_with_the_thresholds_that_hold_unless_told(self):
        """With default options. Two runs per side have 1 % of noise between them, which the test of executions takes
        for changes. Thresholds, and the rule that each run of a side differs from each of the other in one direction,
        exclude them."""
        for runs, between in (1, 0), (2, 0.01), (5, 0.02):
            alarms = self.false_alarms("torch_inference", runs, between, [])
            self.assertLessEqual(alarms, 100 * LEVEL, f"{runs} runs a side")


if __name__ == "__main__":
    unittest.main()
