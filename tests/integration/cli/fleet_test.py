#!/usr/bin/env python3
"""`cuspan fleet`: its answers are those of `cuspan stat` on the same spans, row by row; filters, groups, repeated spans, many
distinct values, hostile names, formats and errors.

    fleet_test.py --build BUILD-DIR [unittest's arguments]

It needs duckdb and pandas: fleet_test.sh gets them from PyPI."""

import contextlib
import csv
import io
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tests/support"))
import duckdb  # noqa: E402
import pyarrow  # noqa: E402
from built import BUILD, output_of  # noqa: E402

import cuspan.fleet  # noqa: E402
from cuspan.fleet import Problem  # noqa: E402
from cuspan.fleet.__main__ import main as command  # noqa: E402
from cuspan.fleet import _check, _columns, _engine_duckdb, _progress  # noqa: E402
from cuspan.fleet._compare import compare  # noqa: E402
from made_engine import MS, Engine, serve  # noqa: E402
from make_export import documents  # noqa: E402
from make_trace import attributes as attributes_of  # noqa: E402
from registry import Registry  # noqa: E402

RECORDINGS = sorted([*(ROOT / "examples/recordings").glob("*.cuspanrec"), *(ROOT / "examples/training").glob("*.cuspanrec")])
START = 1_790_000_000_000_000_000  # 2026-09-21 14:13:20 UTC
HOUR_NS = 3600 * 10**9
# Tables of cuspan stat and questions with the same rows.
TABLES = {"kernels": "kernels", "calls": "calls", "synchronization": "waits", "errors": "errors", "copies": "copies",
          "latency": "launch_latency", "devices": "utilization"}
GROUPS = ("service", "job", "host", "gpu", "rank", "process", "day", "hour", "release", "engine.request.header.x-tenant", "engine.name",
          "host.id")


def groups(i):
    """By what the test of the i-th question groups: by nothing, and by two things, in turn; with CUSPAN_LONG by all."""
    return None, *(GROUPS if os.environ.get("CUSPAN_LONG") else (GROUPS[i % len(GROUPS)], GROUPS[(i + 3) % len(GROUPS)]))


def stat(path, *arguments):
    return json.loads(output_of("stat", "--json", "--top", "0", *arguments, path))


def in_order(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def attribute(key, value):
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(number, start=START, duration=500, trace=1, parent=0, **attributes):
    made = {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": attributes.pop("name", "k"),
            "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + duration),
            "attributes": [attribute(key.replace("__", "."), value) for key, value in attributes.items()]}
    return {**made, "parentSpanId": f"{parent:016x}"} if parent else made


def kernel(number, duration, **fields):
    return span(number, duration=duration, cuda__activity="kernel", **fields)


def document(spans, **resource):
    resource = {"service__name": "a", "service__instance__id": "i", "cuda__device__id": 0, "hw__id": "GPU-1", **resource}
    return {"resourceSpans": [{"resource": {"attributes": [attribute(key.replace("__", "."), value)
                                                           for key, value in resource.items() if value is not None]},
                               "scopeSpans": [{"spans": spans}]}]}


class Folder(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.opened = []

    def tearDown(self):
        for fleet in self.opened:
            fleet.close()

    def export(self, *made, folder="fleet", name="spans.jsonl"):
        path = self.work / name
        path.write_text("".join(json.dumps(each) + "\n" for each in made))
        output_of("export", "-q", "-o", self.work / folder, path)
        return self.work / folder

    def open(self, folder):
        self.opened.append(cuspan.fleet.open(folder))
        return self.opened[-1]


class Recorded(unittest.TestCase):
    maxDiff = None

    """All recordings in one folder, as spans of a fleet."""

    @classmethod
    def setUpClass(cls):
        cls.work = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.files = []
        for path in RECORDINGS:
            cls.files.append(cls.work / f"{path.stem}.jsonl")
            output_of("replay", "--quiet", "--file", cls.files[-1], path)
        cls.all = cls.work / "all.jsonl"
        cls.all.write_bytes(b"".join(path.read_bytes() for path in cls.files))
        output_of("export", "-q", "-o", cls.work / "fleet", cls.all)
        cls.fleet = cuspan.fleet.open(cls.work / "fleet")

    @classmethod
    def tearDownClass(cls):
        cls.fleet.close()

    def compare(self, tables, **filters):
        compared, of_fleet_only = 0, {"quantiles", "hw_id"}
        for table, question in TABLES.items():
            found = self.fleet.ask(question, top=0, **filters).dicts()
            if not found:
                self.assertEqual(tables.get(table, []), [], table)
                continue
            by_all = {name for row in found for name in row} - of_fleet_only
            expected = [{name: value for name, value in row.items() if name in by_all} for row in tables[table]]
            found = [{name: value for name, value in row.items() if name not in of_fleet_only} for row in found]
            for row in [*expected, *found]:
                for name, value in row.items():
                    if name.endswith(("share", "concurrency", "bytes_per_s")):
                        row[name] = f"{value:.8g}"
            self.assertEqual(in_order(found), in_order(expected), table)
            compared += len(found)
        return compared

    def test_stat_and_fleet_agree_on_all_recordings(self):
        self.assertGreater(self.compare(stat(self.all)), 120)

    def test_stat_and_fleet_agree_on_each_recording(self):
        for path in self.files:
            with self.subTest(path.name):
                folder = self.work / f"fleet-{path.stem}"
                output_of("export", "-q", "-o", folder, path)
                with cuspan.fleet.open(folder) as self.fleet:
                    self.assertGreater(self.compare(stat(path)), 5)
        del self.fleet  # of the instance

    def test_columns_that_stat_has_too_are_all_compared(self):
        missing = {"kernels": {"grid", "block", "registers", "shared_bytes", "occupancy_share"},
                   "copies": {"peak_share", "peak_of", "peak_bytes_per_s"}}
        tables = stat(self.all)
        for table, question in TABLES.items():
            names = {name for row in tables[table] for name in row}
            self.assertEqual(names - set(self.fleet.ask(question).columns), missing.get(question, set()), question)

    def test_requests(self):
        by_request = stat(self.all, "--by", "request", "--table", "headline")["headline"]
        names = ("wall_ns", "calls", "call_ns", "errors", "kernels", "kernel_ns", "move_ns")
        expected = {row["group"]: [row[name] for name in names] for row in by_request if row["group"] != "(no request)"}
        found = {row["trace_id"]: [row[name] for name in names] for row in self.fleet.slow_requests(top=0).dicts()}
        self.assertGreater(len(found), 100)
        self.assertEqual(found, expected)
        top = self.fleet.slow_requests(top=3).dicts()
        self.assertEqual([row["wall_ns"] for row in top], sorted((row[0] for row in expected.values()), reverse=True)[:3])

    def test_steps(self):
        by_step = stat(self.all, "--by", "step", "--table", "headline")["headline"]
        names = ("calls", "call_ns", "errors", "kernels", "kernel_ns", "move_ns", "moved_bytes")
        expected = {row["group"]: [row[name] for name in names] for row in by_step if row["group"] != "(no step)"}
        found = {str(row["step"]): [row[name] for name in names] for row in self.fleet.steps(top=0).dicts()}
        self.assertGreater(len(found), 5)
        self.assertEqual(found, expected)

    def test_code_lines(self):
        """stat also reads stacks. The rows with a line of a file are the same."""
        is_line = re.compile(r"[^(].*\.py:\d+")
        names = ("self_ns", "launches", "wait_ns", "copied_bytes")
        table = stat(self.all, "--table", "code")["code"]
        expected = {(row["place"], row["function"]): [row[name] for name in names] for row in table
                    if is_line.fullmatch(row["place"]) and any(row[name] for name in names)}  # others are only callers
        rows = self.fleet.code_lines(top=0).dicts()
        found = {(row["place"], row.get("function")): [row[name] for name in names] for row in rows if is_line.fullmatch(row["place"])}
        self.assertGreater(len(found), 5)
        self.assertEqual(found, expected)
        for name in names:
            self.assertEqual(sum(row[name] for row in rows), sum(row[name] for row in table), name)

    def test_memory(self):
        expected = {}
        for row in stat(self.all, "--table", "memory")["memory"]:
            if row["kind"] not in ("all", "array"):
                sums = expected.setdefault((row["process"], row["kind"]), [0, 0, 0])
                sums[0] += row["allocations"]
                sums[1] += row["total_bytes"]
                sums[2] = max(sums[2], row["max_bytes"])
        rows = self.fleet.memory(top=0).dicts()
        found = {(row["process"], row["kind"]): [row["allocations"], row["total_bytes"], row["max_bytes"]] for row in rows
                 if row["kind"] != "array"}
        self.assertGreater(len({kind for _, kind in found}), 3)
        self.assertEqual(found, expected)
        self.assertEqual(sum(row["failed"] for row in rows), 1)

    def test_groups_are_parts_of_the_whole(self):
        whole = {row["full_name"]: row["count"] for row in self.fleet.kernels(top=0).dicts()}
        for by in ("service", "job", "host", "gpu", "rank", "process", "day", "hour"):
            sums = Counter()
            for row in self.fleet.kernels(by=by, top=0).dicts():
                sums[row["full_name"]] += row["count"]
            self.assertEqual(sums, whole, by)
        groups = {row["group"] for row in self.fleet.kernels(by="job").dicts()}
        self.assertEqual(groups, {"(no job)"})

    def test_a_service_is_its_recording(self):
        path = self.work / "threads.jsonl"
        self.assertGreater(self.compare(stat(path), service="threads"), 10)
        self.assertEqual(self.fleet.kernels(service="no such").rows, [])

    def test_groups_as_stat_has_them(self):
        expected = stat(self.all, "--by", "process", "--table", "calls")["calls"]
        found = self.fleet.calls(by="process", top=0).dicts()
        names = ("group", "name", "api", "count", "total_ns", "median_ns", "p99_ns")
        self.assertEqual(in_order([{name: row[name] for name in names} for row in found]),
                         in_order([{name: row[name] for name in names} for row in expected]))

    def test_ranges_of_time_add_up(self):
        ends = self.fleet.sql("SELECT min(start_ns), max(start_ns) FROM spans").fetchone()
        middle = sum(ends) // 2
        n = sum(row["count"] for row in self.fleet.calls(top=0).dicts())
        parts = [sum(row["count"] for row in self.fleet.calls(top=0, **each).dicts()) for each in ({"until": middle}, {"since": middle})]
        self.assertGreater(min(parts), 0)
        self.assertEqual(sum(parts), n)

    def test_formats(self):
        answer = self.fleet.kernels(top=3)
        self.assertEqual(len(answer.rows), 3)
        self.assertEqual(json.loads(answer.json())["kernels"], answer.dicts())
        rows = list(csv.DictReader(io.StringIO(answer.csv())))
        self.assertEqual([int(row["total_ns"]) for row in rows], [row["total_ns"] for row in answer.dicts()])
        frame = answer.df()
        self.assertEqual(list(frame.columns), answer.columns)
        self.assertEqual(list(frame["count"]), [row["count"] for row in answer.dicts()])
        self.assertEqual(answer.markdown().count("\n| "), 4)
        self.assertIn("more rows; --top 0 prints all.", answer.text())
        self.assertIn("<table>", answer._repr_html_())

    def test_every_question_answers_by_everything(self):
        for i, question in enumerate(cuspan.fleet.questions()):
            for by in groups(i):
                with self.subTest(question, by=by):
                    answer = self.fleet.ask(question, by=by, top=2)
                    self.assertEqual(answer.columns[0] == "group", bool(by) and bool(answer.columns))
                    for text in (answer.text(), answer.markdown(), answer.csv(), answer.json()):
                        self.assertTrue(text)

    def test_part_by_part(self):
        """In as many parts as there are resources or partitions, the rows are the same."""
        asked, fleet = 0, cuspan.fleet.open(self.fleet.engine.store.folder)
        self.addCleanup(fleet.close)
        fleet.engine.batch_bytes = 1
        for name, question in cuspan.fleet.questions().items():
            if question.each:
                for by in (None, "hour"):
                    with self.subTest(name, by=by):
                        rows = [in_order(one.ask(name, by=by, top=0).dicts()) for one in (self.fleet, fleet)]
                        self.assertGreater(len(rows[0]), 1)
                        self.assertEqual(rows[0], rows[1])
                        self.assertGreater(fleet.engine._parts, 1)
                        asked += 1
        self.assertGreaterEqual(asked, 4)

    def test_compare(self):
        """The two recordings of one program, before and after it was fixed, as two services."""
        answer = compare(self.fleet, "kernels", {"service": "threads"}, {"service": "vector_add"}, top=0)
        rows = {row["name"]: row for row in answer.dicts()}
        before = {row["name"]: row["total_ns"] for row in self.fleet.kernels(service="threads", top=0).dicts()}
        after = {row["name"]: row["total_ns"] for row in self.fleet.kernels(service="vector_add", top=0).dicts()}
        self.assertEqual(set(rows), {*before, *after})
        for name, row in rows.items():
            self.assertEqual(row["change_total_ns"], after.get(name, 0) - before.get(name, 0))
            self.assertEqual((row.get("before_total_ns"), row.get("after_total_ns")), (before.get(name), after.get(name)))
        changes = [abs(row["change_total_ns"]) for row in answer.dicts()]
        self.assertEqual(changes, sorted(changes, reverse=True))


def made_engines(folder):
    """Three processes of two engines, whose requests have a tenant in a header, or none; one has a release."""
    files = []
    for number, name in ((1, "vllm"), (2, "sglang"), (3, "vllm")):
        engine = serve(Engine(name, seed=number, pid=100 + number), 120, number)
        engine.step([("slow", "decode", 1)], MS, is_summary=True)
        requests = [span for _, span in engine.spans if span["name"].endswith(" request")]
        for at, span in enumerate(requests):
            if at % 3:
                span["attributes"] += attributes_of({"engine.request.header.x-tenant": f"tenant {at % 3}"})
        file = engine.write(folder / f"engine-{number}.jsonl")
        if number == 1:
            file.write_text(file.read_text().replace('"attributes": [{"key": "service.name"', '"attributes": [' + json.dumps(
                attribute("service.version", "1.4.0")) + ', {"key": "service.name"'))
        files.append(file)
    return files


class Engines(Folder):
    """Questions about serving engines have the rows of cuspan stat."""

    maxDiff = None

    def setUp(self):
        super().setUp()
        self.file = self.work / "all.jsonl"
        self.file.write_text("".join(file.read_text() for file in made_engines(self.work)))
        output_of("export", "-q", "-o", self.work / "fleet", self.file)
        self.fleet = self.open(self.work / "fleet")

    def compare(self, question, names, own):
        expected = stat(self.file, "--table", question)[question]
        found = self.fleet.ask(question, by="process", top=0).dicts()
        rows = [{"process": row.pop("group"), **{name: value for name, value in row.items() if name not in own}} for row in found]
        for row in [*rows, *expected]:
            row.update({name: f"{value:.8g}" for name, value in row.items() if name.endswith(("share", "mean_requests"))})
        self.assertEqual(in_order(rows), in_order(expected))
        self.assertGreater(len(rows), names)
        self.assertEqual({name for row in rows for name in row}, {name for row in expected for name in row})

    def test_iterations(self):
        self.compare("iterations", 6, {"gpu_ns"})

    def test_requests(self):
        self.compare("engine_requests", 2, {"gpu_ns"})

    def test_gpu_time_of_iterations(self):
        for row in self.fleet.iterations(top=0).dicts():
            self.assertEqual("gpu_ns" in row, "gpu_share" in row)
        self.assertEqual(sum(row.get("gpu_ns", 0) for row in self.fleet.iterations(top=0).dicts()),
                         sum(row.get("gpu_ns", 0) for row in self.fleet.iterations(by="process", top=0).dicts()))

    def test_iterations_are_no_requests(self):
        """Not even summaries, whose traces have no session."""
        names = {row["name"] for row in self.fleet.slow_requests(top=0).dicts()}
        self.assertEqual({name.split()[-1] for name in names}, {"request"})

    def test_a_bill_by_a_header(self):
        bill = {}
        for line in self.file.read_text().splitlines():
            for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                facts = {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}
                if "engine.request.end" in facts:
                    tenant = facts.get("engine.request.header.x-tenant", "(no engine.request.header.x-tenant)")
                    bill[tenant] = bill.get(tenant, 0) + sum(int(facts[f"engine.request.gpu_share.{phase}"]) for phase in ("prefill", "decode"))
        found = {}
        for row in self.fleet.engine_requests(by="engine.request.header.x-tenant", top=0).dicts():
            found[row["group"]] = found.get(row["group"], 0) + row["gpu_ns"]
        self.assertEqual(found, bill)
        self.assertEqual(len(bill), 3)

    def test_by_release_column_and_resource(self):
        for by, wanted in (("release", {"1.4.0", "(no release)"}), ("service.version", {"1.4.0", "(no service.version)"}),
                           ("engine.name", {"vllm", "sglang"}), ("host.id", {"a1b2"}), ("no.such", {"(no no.such)"}),
                           ("it's.\"' || 1", {"(no it's.\"' || 1)"})):
            self.assertEqual({row["group"] for row in self.fleet.engine_requests(by=by).dicts()}, wanted, by)

    def test_other_questions_by_release(self):
        rows = self.fleet.kernels(by="release").dicts()
        self.assertEqual(sum(row["count"] for row in rows), sum(row["count"] for row in self.fleet.kernels().dicts()))
        self.assertEqual({row["group"] for row in rows}, {"1.4.0", "(no release)"})


class Made(Folder):
    def test_repeated_spans_are_counted_or_left_out(self):
        spans = [kernel(number, 100 + number) for number in range(10)]
        folder = self.export(document(spans), name="one.jsonl")
        self.export(document(spans[5:] + [kernel(10, 7)]), name="two.jsonl")
        fleet = self.open(folder)
        answer = fleet.kernels()
        self.assertEqual(answer.dicts()[0]["count"], 16)
        self.assertTrue(any("5 of 16 spans are repeated" in note for note in answer.notes), answer.notes)
        once = fleet.kernels(distinct=True)
        self.assertEqual(once.dicts()[0]["count"], 11)
        self.assertFalse(any("repeated" in note for note in once.notes), once.notes)
        for fleet.engine.batch_bytes in (fleet.engine.batch_bytes, 1):  # both files in one part
            self.assertEqual([(row["spans"], row["repeated"]) for row in fleet.duplicates().dicts()], [(16, 5)])

    def test_too_many_spans_to_count_the_repeated_ones(self):
        spans = [kernel(number, 100) for number in range(10)]
        folder = self.export(document(spans), name="one.jsonl")
        self.export(document(spans), document([kernel(1, 5)], service__name="b", service__instance__id="j"), name="two.jsonl")
        fleet = self.open(folder)
        fleet.engine.counted_bytes = 5
        found = [note for note in fleet.kernels().notes if "may be repeated" in note]
        self.assertEqual(len(found), 1)

    def test_many_distinct_values_are_rounded_and_marked(self):
        spans = [kernel(i, 1000 + 37 * i) for i in range(2000)] + [kernel(9000 + i, 5, name="other") for i in range(3)]
        fleet = self.open(self.export(document(spans)))
        exact = {row["name"]: row for row in fleet.kernels().dicts()}
        fleet.distinct_max = 500
        answer = fleet.kernels()
        rough = {row["name"]: row for row in answer.dicts()}
        self.assertEqual(exact["k"]["median_ns"], 1000 + 37 * 999)
        self.assertEqual(exact["k"]["quantiles"], "exact")
        self.assertEqual(rough["k"]["quantiles"], "within 1 %")
        self.assertEqual(rough["other"], exact["other"])
        for name in ("count", "total_ns", "avg_ns", "min_ns", "max_ns"):
            self.assertEqual(rough["k"][name], exact["k"][name], name)
        for name in ("median_ns", "p99_ns"):
            self.assertNotEqual(rough["k"][name], exact["k"][name], name)
            self.assertLess(abs(math.log(rough["k"][name] / exact["k"][name])), 0.01, name)
        self.assertIn("within 1 %", answer.text())

    def test_quantiles_are_the_lower_of_two_values(self):
        fleet = self.open(self.export(document([kernel(i, duration) for i, duration in enumerate([10, 20, 30, 41], 1)])))
        row = fleet.kernels().dicts()[0]
        self.assertEqual((row["median_ns"], row["p99_ns"], row["avg_ns"]), (20, 41, 25))

    def test_filters_of_resources(self):
        parts = [document([kernel(i, 100 * i)], service__name=f"s{i}", host__name=f"h{i}", hw__id=f"GPU-{i}", cuda__device__id=i,
                          cuda__process__rank=i, slurm__job__id=f"j{i}", service__version=f"v{i}", service__instance__id=str(i))
                 for i in (1, 2)]
        fleet = self.open(self.export(*parts))
        for filters in ({"service": "s2"}, {"host": "h2"}, {"gpu": "GPU-2"}, {"gpu": "2"}, {"rank": 2}, {"job": "j2"}, {"release": "v2"}):
            self.assertEqual([row["total_ns"] for row in fleet.kernels(**filters).dicts()], [200], filters)
        self.assertEqual([row["group"] for row in fleet.kernels(by="rank").dicts()], ["2", "1"])
        answer = compare(fleet, "kernels", {"release": "v1"}, {"release": "v2"}).dicts()
        self.assertEqual([(row["change_total_ns"], row["ratio"]) for row in answer], [(100, 2.0)])

    def test_hours(self):
        parts = [document([kernel(i, 10, start=START + i * HOUR_NS)]) for i in range(30)]
        fleet = self.open(self.export(*parts))
        count = lambda **filters: sum(row["count"] for row in fleet.kernels(**filters).dicts())  # noqa: E731
        self.assertEqual(count(), 30)
        self.assertEqual(count(since=START + HOUR_NS, until=START + 3 * HOUR_NS), 2)
        self.assertEqual(count(since=START + HOUR_NS + 1, until=START + 3 * HOUR_NS + 1), 2)
        self.assertEqual(len(fleet.kernels(by="hour", top=0).dicts()), 30)
        self.assertEqual({row["group"] for row in fleet.kernels(by="day").dicts()}, {"2026-09-21", "2026-09-22"})
        self.assertEqual(count(since=START + 100 * HOUR_NS), 0)
        self.assertEqual(fleet.kernels(since=START + 100 * HOUR_NS).notes[-1], "No file has spans of this time.")

    def test_a_folder_without_files(self):
        folder = Path(self.export(document([kernel(1, 10)])))
        shutil.rmtree(folder / "spans")
        self.assertEqual(self.open(folder).kernels().notes[-1], "The folder has no files of spans.")

    def test_spans_repeated_for_the_step_of_all_ranks_do_not_count(self):
        """The step of a rank is in another file, hours before."""
        copy = kernel(2, 100, start=START + 3 * HOUR_NS)
        copy["attributes"].append({"key": "training.step.copy", "value": {"boolValue": True}})
        step = document([span(9, cuda__step__number=1)], cuda__device__id=None, hw__id=None)
        work = document([kernel(1, 100, start=START + 3 * HOUR_NS), copy])
        fleet = self.open(self.export(work, step))
        self.assertEqual([fleet.kernels(since=since).dicts()[0]["count"] for since in (None, START + HOUR_NS)], [1, 1])
        self.assertEqual(fleet.sql("SELECT count(*) FROM spans WHERE class = 'kernel'").fetchone(), (1,))

    def test_collectives(self):
        """Two instances on two ranks; a third one lacks a rank, a fourth has one twice, a fifth is a send."""
        parts = []
        for rank in (0, 1):
            make = lambda i, **fields: span(100 * rank + i, start=START + 1000 * i, duration=300 - 100 * rank, trace=2, name="all_reduce",  # noqa: E731
                                            cuda__activity="collective", **{
                "cuda__collective__operation": "all_reduce", "cuda__collective__key": f"{i:016x}", "cuda__collective__communicator": "00000000000000aa",
                "cuda__collective__ranks": 2, "cuda__collective__bytes": 64, **fields})
            spans = [make(i) for i in range(1, 3 + rank)] + [make(9, cuda__collective__operation="send")]
            spans += [make(20 + i, cuda__collective__key=f"{7:016x}") for i in range(2 * rank)]
            parts.append(document(spans, cuda__process__rank=rank, service__instance__id=str(rank), cuda__device__id=rank,
                                  hw__id=f"GPU-{rank}"))
        fleet = self.open(self.export(*parts))
        row, = fleet.collectives().dicts()
        self.assertEqual(row, {"operation": "all_reduce", "communicator": "00000000000000aa", "ranks": 2, "from_bytes": 64, "count": 2,
                               "bytes": 128, "transfer_ns": 200, "busbw": 320000000.0, "wait_ns": 50, "skew_ns": 100, "last": "rank 1 (a)",
                               "last_share": 1.0})
        self.assertEqual(fleet.stragglers().rows, [])  # there are no steps

    def test_what_recordings_lack(self):
        """Work before its call, copies without a kind, and a service without a name, as cuspan stat has them."""
        made = document([kernel(1, 10, cuda__start_delay=-5), kernel(2, 10, cuda__start_delay=7),
                         span(3, name="some copy", duration=10, cuda__activity="memcpy", cuda__memcpy__bytes=80)],
                        service__name="unknown_service:train.py", process__pid=12, host__name="h")
        fleet = self.open(self.export(made))
        tables = stat(self.work / "spans.jsonl")
        row, = fleet.launch_latency().dicts()
        self.assertEqual((row["min_ns"], row["max_ns"], row["avg_ns"]), (0, 7, 3))
        self.assertEqual([row["min_ns"] for row in tables["latency"]], [0])
        self.assertEqual([row["kind"] for row in fleet.copies().dicts()], [row["kind"] for row in tables["copies"]])
        self.assertEqual([row["kind"] for row in fleet.copies().dicts()], ["some copy"])
        self.assertEqual([row["process"] for row in fleet.utilization().dicts()], [row["process"] for row in tables["devices"]])
        self.assertEqual([row["process"] for row in fleet.utilization().dicts()], ["train.py 12 (h)"])

    def test_simple_conditions_are_the_classes(self):
        """Of all kinds of spans, also those that cuspan does not make."""
        activities = (None, "kernel", "concurrent_kernel", "memcpy", "memcpy_kernel", "copy", "memset", "fill", "collective", "graph")
        parts = []
        for device in (None, 0):
            spans = [span(100 * (device is None) + 4 * i + 2 * stream + api, **{name: value for name, value in (
                ("cuda__activity", activity), ("cuda__stream__id", 7 if stream else None), ("cuda__api", "runtime" if api else None)) if value})
                     for i, activity in enumerate(activities) for stream in (0, 1) for api in (0, 1)]
            parts.append(document(spans, cuda__device__id=device, hw__id=None, service__instance__id=str(device)))
        fleet = self.open(self.export(*parts))
        found = fleet.sql("""SELECT class, count(*), bool_and(is_work = (class IN ('kernel', 'copy', 'fill', 'gpu'))),
            bool_and(is_kernel = (class = 'kernel')), bool_and(is_move = (class IN ('copy', 'fill'))), bool_and(is_call = (class = 'call'))
            FROM spans GROUP BY class""").fetchall()
        self.assertEqual({row[0] for row in found}, {"kernel", "copy", "fill", "gpu", "comm", "call", "span"})
        self.assertEqual(sum(row[1] for row in found), 80)
        self.assertEqual([row for row in found if not all(row[2:])], [])

    def test_ranks(self):
        parts = [document([kernel(10 * rank + i, 100) for i in range(rank + 1)], cuda__process__rank=rank,
                          service__instance__id=str(rank), host__name="h") for rank in (0, 1)]
        found = [(row["rank"], row["kernels"], row["kernel_ns"], row["process"])
                 for row in self.open(self.export(*parts)).ranks().dicts()]
        self.assertEqual(found, [(0, 1, 100, "rank 0 (h, a)"), (1, 2, 200, "rank 1 (h, a)")])

    def test_ranks_of_several_jobs(self):
        parts = [document([kernel(10 * job, 100)], cuda__process__rank=0, service__instance__id=str(job), host__name=f"h{job}",
                          slurm__job__id=str(job)) for job in (1, 2)]
        fleet = self.open(self.export(*parts))
        row, = fleet.ranks().dicts()
        self.assertEqual((row["kernels"], row.get("process"), row.get("host")), (2, None, None))
        self.assertEqual([(row["group"], row["process"], row["host"]) for row in fleet.ranks(by="job").dicts()],
                         [("1", "rank 0 (h1, a)", "h1"), ("2", "rank 0 (h2, a)", "h2")])


class Ranks(Folder):
    """Jobs of several ranks: a recorded one, and simulated ones whose late rank is known."""

    maxDiff = None

    def compare(self, path):
        output_of("export", "-q", "-o", self.work / "fleet", path)
        fleet, tables = self.open(self.work / "fleet"), stat(path, "--table", "collectives,ranks,rank_findings,steps")
        for row in tables["collectives"]:
            row["communicator"] = f"0x{int(row['communicator'], 16):x}"
        rows = [[{name: value for name, value in row.items() if name != "from_bytes"} for row in each]
                for each in (fleet.collectives(top=0).dicts(), tables["collectives"])]
        self.assertEqual(*map(in_order, ([{name: value if isinstance(value, (str, int)) else f"{value:.8g}" for name, value in row.items()
                                           if name != "last_share"} for row in each] for each in rows)))
        for one, other in zip(*map(in_order, rows)):
            self.assertAlmostEqual(one["last_share"], other["last_share"], places=8)
        return fleet, tables

    def compare_ranks(self, fleet, tables):
        """Delays differ a little: those of stat also know which transfer blocks which rank."""
        late = {row["rank"]: row for row in fleet.stragglers(top=0).dicts()}
        work = {row["rank"]: row for row in fleet.ranks(top=0).dicts()}
        self.assertEqual(len(late), len(tables["ranks"]))
        for row in tables["ranks"]:
            found = late[row["rank"]]
            for name in ("process", "host", "steps", "lateness_ns"):
                self.assertEqual(found[name], row[name], (row["rank"], name))
            delays = [step["delay_ns"] for step in tables["steps"] if step["process"] == row["process"] and "delay_ns" in step]
            self.assertAlmostEqual(row["delay_ns"], statistics.median(delays), delta=2)
            self.assertAlmostEqual(found["delay_ns"], row["delay_ns"], delta=150_000 + 0.05 * abs(row["delay_ns"]))
            self.assertAlmostEqual(found["last_share"], row["last_share"], places=8)
            self.assertEqual([work[row["rank"]][name] for name in ("process", "host")], [row[name] for name in ("process", "host")])
        found = tables["rank_findings"]
        straggler, = [row for row in found if row["finding"] == "straggler"]
        first = fleet.stragglers().dicts()[0]
        self.assertIn(f"rank {first['rank']} ", straggler["evidence"])
        self.assertIn(f" was late in {first['late_steps']} of {first['steps']} steps", straggler["evidence"])

    def simulate(self, *options):
        path = self.work / "job.jsonl"
        subprocess.run([sys.executable, ROOT / "tests/training/simulate.py", "--otlp", path, "--truth", self.work / "truth.json",
                        *map(str, options)], check=True)
        return path

    def test_a_recorded_job(self):
        path = ROOT / "examples/training/late_rank.jsonl.gz"
        fleet, tables = self.compare(path)
        self.assertEqual(len(tables["collectives"]), 2)
        self.compare_ranks(fleet, tables)
        by_rank = {row["group"]: row for row in stat(path, "--by", "rank", "--table", "headline")["headline"]}
        for row in fleet.ranks().dicts():
            expected = by_rank[str(row["rank"])]
            for name in ("calls", "call_ns", "errors", "kernels", "kernel_ns", "move_ns"):
                self.assertEqual(row[name], expected[name], name)

    def test_a_late_rank(self):
        path = self.simulate("--ranks", 16, "--steps", 8, "--fault", "late-always", "--seed", 4)
        fleet, tables = self.compare(path)
        self.compare_ranks(fleet, tables)
        self.assertEqual(fleet.stragglers().dicts()[0]["rank"], json.loads((self.work / "truth.json").read_text())["rank"])

    def test_hosts_that_are_slow(self):
        """Four ranks of real jobs whose hosts need as long as their GPUs: own times are those of the hosts. In the second one, all
        ranks have the same kinds of collectives, but no communicator in common."""
        for job in ("ddp-pause", "fsdp_tp-late"):
            with self.subTest(job):
                folder = self.work / job
                folder.mkdir()
                for recording in sorted((ROOT / "tests/training/recordings" / job).glob("*.cuspanrec")):
                    output_of("replay", "--set", "steps.traced=all", "--file", folder / f"{recording.stem}.jsonl", recording)
                shutil.rmtree(self.work / "fleet", True)
                output_of("export", "-q", "-o", self.work / "fleet", folder)
                fleet, tables = self.open(self.work / "fleet"), stat(folder, "--table", "ranks,rank_findings,steps")
                self.compare_ranks(fleet, tables)
                slowest = Counter(row["slowest"] for row in fleet.steps(top=0).dicts()).most_common(1)[0][0]
                self.assertIn(slowest.split(" (")[0], tables["rank_findings"][0]["evidence"])

    def test_ranks_that_were_not_compared(self):
        """One rank of four: that nothing was compared is the answer."""
        path = self.simulate("--ranks", 4, "--steps", 5)
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if '"rank 1"' in line]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        output_of("export", "-q", "-o", self.work / "fleet", path)
        answer = self.open(self.work / "fleet").stragglers()
        self.assertEqual((answer.rows, answer.is_unanswered), ([], True))
        self.assertIn("The ranks were not compared", answer.notes[-1])

    def test_communicators(self):
        _, tables = self.compare(self.simulate("--ranks", 8, "--tensor", 2, "--steps", 5, "--overlap"))
        self.assertGreater(len(tables["collectives"]), 4)


class Plots(Folder):
    def run_it(self, folder, *arguments):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
            return command([*map(str, arguments), str(folder)]), err.getvalue()

    def test_files(self):
        made = [document([kernel(100 * i + j, 1000 * (i + 1), name=name, start=START + j * HOUR_NS) for j in range(3)], service__instance__id=str(i),
                         service__name=name) for i, name in enumerate([*HOSTILE, "$x_{$"])]
        folder = self.export(*made)
        for form, begin in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            path = self.work / f"plot.{form}"
            self.assertEqual(self.run_it(folder, "kernels", "--plot", path)[0], 0)
            self.assertTrue(path.read_bytes().startswith(begin))
        for arguments in (["calls"], ["kernels", "--by", "hour"], ["kernels", "--by", "service"], ["utilization"], ["launch_latency"], ["steps"]):
            self.assertEqual(self.run_it(folder, *arguments, "--plot", self.work / "other.svg")[0], 0, arguments)

    def test_bars_and_lines(self):
        from matplotlib.figure import Figure

        fleet = self.open(self.export(document([kernel(1, 5_000_000, name="a"), kernel(2, 1_000_000, name="b"),
                                                kernel(3, 2_000_000, name="b", start=START + HOUR_NS)])))
        axes = fleet.kernels().plot(Figure().add_subplot())
        self.assertEqual([bar.get_width() for bar in axes.patches], [5, 3])
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ["a", "b"])
        self.assertEqual(axes.get_xlabel(), "total (ms)")
        axes = fleet.kernels(by="hour").plot(Figure().add_subplot())
        self.assertEqual({line.get_label(): list(line.get_ydata()) for line in axes.lines}, {"a": [5], "b": [1, 2]})
        self.assertEqual([label.get_text() for label in axes.get_xticklabels()], ["2026-09-21 14:00", "2026-09-21 15:00"])

    def test_errors(self):
        folder = self.export(document([kernel(1, 10)]))
        self.assertIn("end it in .png, .svg or .pdf", self.run_it(folder, "kernels", "--plot", self.work / "plot.xyz")[1])
        self.assertIn("cannot write ", self.run_it(folder, "kernels", "--plot", self.work / "no/plot.png")[1])
        with unittest.mock.patch.dict(sys.modules, {"matplotlib.figure": None}):
            self.assertEqual(self.run_it(folder, "kernels", "--plot", self.work / "plot.png"),
                             (1, "cuspan fleet: plots need matplotlib, which is not installed; run: pip install matplotlib\n"))


class Progressing(unittest.TestCase):
    def watch(self, percent):
        """Until it has printed twice."""
        progress = _progress.Progress(percent)
        progress.is_shown = True
        with unittest.mock.patch.object(_progress, "SHOW_AFTER_S", 0.001), contextlib.redirect_stderr(io.StringIO()) as err, progress:
            while err.getvalue().count("\r") < 2:
                time.sleep(0.001)
        self.assertTrue(err.getvalue().endswith("\r\033[K"))  # the line is empty at the end
        return err.getvalue()

    def test_on_a_terminal(self):
        self.assertIn("\rcuspan fleet: 42 %", self.watch(lambda: 42.4))
        self.assertIn("\rcuspan fleet: 0 s", self.watch(lambda: -1))
        self.assertIn("\rcuspan fleet: 0 s", self.watch(lambda: None))

    def test_nowhere_else(self):
        progress = _progress.Progress(self.fail)
        with unittest.mock.patch.object(_progress, "SHOW_AFTER_S", 0), contextlib.redirect_stderr(io.StringIO()) as err, progress:
            pass
        self.assertEqual(err.getvalue(), "")

    def test_of_a_query(self):
        """The engine's percent, and the share of the parts that are done."""
        class Query:
            def __init__(self, percent):
                self.query_progress = lambda: percent

        engine = _engine_duckdb.DuckDB.__new__(_engine_duckdb.DuckDB)
        for parts, done, running, expected in ((1, 0, [], -1), (1, 0, [-1], -1), (1, 0, [40], 40), (4, 1, [50, -1], 37.5), (4, 4, [], 100)):
            engine._parts, engine._parts_done, engine._running = parts, done, [Query(percent) for percent in running]
            self.assertEqual(engine._percent(), expected)

    def test_of_an_answer(self):
        """While a question runs, and only then, its connection is asked."""
        with tempfile.TemporaryDirectory() as folder:
            output_of("export", "-q", "-o", f"{folder}/fleet", RECORDINGS[0])
            with cuspan.fleet.open(f"{folder}/fleet") as fleet:
                run, seen = fleet.engine._run, []
                fleet.engine._run = lambda *arguments: (seen.append(len(fleet.engine._running)), run(*arguments))[1]
                fleet.utilization()
                self.assertIn(1, seen)
                self.assertEqual(fleet.engine._running, [])

    def test_the_engine_knows_it_and_prints_nothing(self):
        """DuckDB's own percent, of queries of growing length until it has been seen; its bar is not for `python -c`."""
        code = """if True:
            import sys, threading
            sys.path.insert(0, sys.argv[1])
            from cuspan.fleet import _engine_duckdb
            connection = _engine_duckdb.connect(sys.argv[2], "1GB", 1)
            cursor = _engine_duckdb.quiet(connection.cursor())
            settings = [one.execute("SELECT current_setting('enable_progress_bar_print')").fetchone() for one in (connection, cursor)]
            rows, percent = 10**6, -1
            while percent < 0:
                cursor.execute(f"CREATE OR REPLACE TABLE numbers AS SELECT range::DOUBLE AS number FROM range({rows})")
                query = threading.Thread(target=cursor.execute, args=["SELECT count(*) FROM numbers WHERE sqrt(number) % 7 > 3"])
                query.start()
                while query.is_alive():
                    percent = max(percent, cursor.query_progress())
                rows *= 2
            print(settings)"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", code, ROOT / "python", folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.stderr), ("[(False,), (False,)]\n", ""))


HOSTILE = ["'; DROP TABLE spans; --", "$service", "\x1b[31mred\n", "a|b`<script>", "=1+1", "%s{0}\\", "../../etc", "*?[x]", "ü" * 90, "x" * 10_000]


class Hostile(Folder):
    def test_names_are_data(self):
        parts = [document([kernel(i, 100 + i, name=name, cuda__kernel__name=name)], service__name=name, host__name=name,
                          slurm__job__id=name, hw__id=name, service__version=name, service__instance__id=str(i))
                 for i, name in enumerate(HOSTILE)]
        fleet = self.open(self.export(*parts))
        for i, name in enumerate(HOSTILE):
            for filters in ({"service": name}, {"host": name}, {"job": name}, {"gpu": name}, {"release": name}):
                self.assertEqual([(row["name"], row["total_ns"]) for row in fleet.kernels(**filters).dicts()], [(name, 100 + i)])
        self.assertEqual([fleet.kernels(**{name: "a\0b"}).rows for name in ("service", "host", "job", "gpu", "release")], [[]] * 5)
        for by in ("service", "host", "job", "gpu"):
            self.assertEqual({row["group"] for row in fleet.kernels(by=by, top=0).dicts()}, set(HOSTILE))
        answer = fleet.kernels(by="service", top=0)
        self.assertNotIn("\x1b", answer.text() + answer.markdown() + answer._repr_html_())
        self.assertNotIn("<script>", answer.markdown() + answer._repr_html_())
        rows = [line for line in answer.markdown().splitlines() if line.startswith("| ")]
        self.assertEqual({line.replace("\\|", "").count("|") for line in rows}, {len(rows[0].split("|")) - 1})
        self.assertEqual({row["name"] for row in csv.DictReader(io.StringIO(answer.csv(), newline=""))}, set(HOSTILE))

    def test_everything_that_OTLP_can_say(self):
        fleet = self.open(self.export(*documents()))
        for question in cuspan.fleet.questions():
            answer = fleet.ask(question, by="service", top=0)
            for text in (answer.text(), answer.markdown(), answer.csv(), answer.json()):
                self.assertTrue(text)

    def test_patterns_in_the_path_are_not_expanded(self):
        for name in ("a*b", "a?b", "a[bc]d", "quote'"):
            folder = self.work / name
            self.export(document([kernel(1, 10)]), folder=name)
            self.assertEqual(self.open(folder).kernels().dicts()[0]["count"], 1, name)
        self.export(document([kernel(1, 10)]), folder="axb")
        self.assertEqual(self.open(self.work / "a*b").kernels().dicts()[0]["count"], 1)


class Command(Folder):
    def run_it(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = command([*map(str, arguments)])
            except SystemExit as exit_:
                status = exit_.code
        return status, out.getvalue(), err.getvalue()

    def test_options(self):
        folder = self.export(document([kernel(i, 10 * i, start=START + i) for i in range(1, 4)], service__version="1.0"),
                             document([kernel(9, 99, start=START + 24 * HOUR_NS)], service__version="1.1", service__instance__id="j"))
        status, out, _ = self.run_it("kernels", folder, "--json", "--until", "2026-09-22")
        self.assertEqual((status, json.loads(out)["kernels"][0]["total_ns"]), (0, 60))
        status, out, _ = self.run_it("kernels", folder, "--csv", "--since", "2026-09-22T00:00:00+00:00")
        self.assertEqual((status, out.splitlines()[1].split(",")[2]), (0, "99"))
        for sides in (("2026-09-21", "2026-09-22"), ("1.0", "1.1")):
            status, out, _ = self.run_it("compare", folder, "--before", sides[0], "--after", sides[1], "--json")
            row, = json.loads(out)["compare_kernels"]
            self.assertEqual((status, row["before_total_ns"], row["after_total_ns"], row["change_total_ns"]), (0, 60, 99, 39))
        target = self.work / "out.md"
        self.assertEqual(self.run_it("calls", folder, "--markdown", "-o", target)[0], 0)
        self.assertIn("## Calls", target.read_text())

    def test_errors(self):
        folder = self.export(document([kernel(1, 10)]))
        for expected, *arguments in (
                ("unknown question nothing; known are: ", "nothing", folder),
                ("is not a time; write ", "kernels", folder, "--since", "yesterday"),
                ("compare needs two sides; add --before and --after", "compare", folder),
                ("cannot compare steps; compare one of: ", "compare", folder, "--question", "steps", "--before", "1", "--after", "2"),
                ("cannot read ", "kernels", self.work / "none"),
                ("cannot write ", "kernels", folder, "-o", self.work / "no/such/file"),
                ("DuckDB does not start: ", "kernels", folder, "--memory", "much")):
            status, out, err = self.run_it(*arguments)
            self.assertEqual((status, out), (1, ""), arguments)
            self.assertTrue(err.startswith("cuspan fleet: ") and expected in err and err.count("\n") == 1, err)

    def test_another_schema_is_refused(self):
        folder = self.export(document([kernel(1, 10)]))
        for text, expected in (('{"version": 2}', "has version 2 of the schema"), ("{}", "has no version"), ("[", "has no version")):
            (folder / "cuspan-schema.json").write_text(text)
            with self.assertRaisesRegex(Problem, expected):
                cuspan.fleet.open(folder)

    def test_a_broken_file_is_named(self):
        folder = self.export(document([kernel(1, 10)]))
        path, = (folder / "spans").rglob("*.parquet")
        path.write_bytes(path.read_bytes()[:100])
        with self.assertRaisesRegex(Problem, "cannot answer kernels: .*" + re.escape(path.name)):
            self.open(folder).kernels()
        shutil.move(path, folder / "spans/stray.parquet")
        with self.assertRaisesRegex(Problem, "is not in a folder of a date and an hour"):
            self.open(folder).kernels()

    def test_without_duckdb(self):
        done = subprocess.run([sys.executable, "-S", "-c", "import sys; sys.path.insert(0, sys.argv[1])\n"
                               "from cuspan.fleet.__main__ import main; sys.exit(main(['kernels', sys.argv[2]]))", ROOT / "python",
                               self.export(document([kernel(1, 10)]))], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "cuspan fleet: this needs DuckDB, which is not installed; run: "
                                                             "pip install 'duckdb>=2.0'\n"))


class Columns(Folder):
    """Files with other columns or types than `cuspan export` writes."""

    def make(self):
        """Two files of spans, in the order in which the engine reads them, and one of resources."""
        shutil.rmtree(self.work / "fleet", ignore_errors=True)
        folder = self.export(*(document([kernel(10 * i + j, 100 * i + j) for j in range(3)] + [span(10 * i + 5, cuda__step__number=i)], service__name=name,
                                        service__instance__id=name, cuda__process__rank=i) for i, name in enumerate("ab", 1)))
        self.spans = [Path(file.path) for file in self.open(folder).engine.store.files()]
        self.assertEqual(len(self.spans), 2)
        self.resources, = (folder / "resources").glob("*.parquet")
        return folder

    def rewrite(self, path, columns):
        other = self.work / "other.parquet"
        duckdb.execute(f"COPY (SELECT {columns} FROM read_parquet('{path}', hive_partitioning = false)) TO '{other}'")
        os.replace(other, path)

    def replace(self, path, old, new):
        """Bytes of the footer. Names have the same length, so all else stays."""
        data = path.read_bytes()
        self.assertIn(old, data)
        path.write_bytes(data.replace(old, new))

    def answers(self, folder):
        fleet = self.open(folder)
        return {question: in_order(fleet.ask(question, by="service", top=0).dicts()) for question in cuspan.fleet.questions()}

    def check(self, folder, path, problem, questions=("kernels", "utilization")):
        for question in questions:
            with contextlib.redirect_stderr(io.StringIO()) as err:
                self.assertEqual(command([question, str(folder)]), 1)
            self.assertEqual(err.getvalue(), f"cuspan fleet: cannot answer {question}: {path} {problem}; export its spans again, or delete it\n")

    def test_the_list_is_what_export_writes(self):
        self.make()
        for table, path in (("spans", self.spans[0]), ("resources", self.resources)):
            found = duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning = false)", [str(path)]).fetchall()
            self.assertEqual({row[0]: row[1] for row in found}, _columns.COLUMNS[table])
        self.assertEqual(_columns.VERSION, json.loads((self.work / "fleet/cuspan-schema.json").read_text())["version"])

    def test_another_table(self):
        for i in (0, 1):
            with self.subTest(i):
                folder = self.make()
                self.rewrite(self.spans[i], "'x' AS name, 1 AS start_ns, [1, 2] AS attributes")
                self.check(folder, self.spans[i], "has no column resource_id", cuspan.fleet.questions())
        folder = self.make()
        self.rewrite(self.resources, "1 AS x")
        self.check(folder, self.resources, "has no column resource_id", ["utilization"])

    def test_a_missing_column(self):
        """Also the last one that the engine reads, which its own text blames on the first."""
        for i in (0, 1):
            with self.subTest(i):
                folder = self.make()
                self.rewrite(self.spans[i], "* EXCLUDE (step_copy)")
                self.check(folder, self.spans[i], "has no column step_copy")

    def test_another_type(self):
        for i, columns, problem, questions in (
                (0, "* REPLACE (encode(host) AS host)", "has host as BLOB instead of VARCHAR", ["kernels"]),
                (0, "* REPLACE (1 AS name)", "has name as INTEGER instead of VARCHAR", ["kernels"]),  # the engine names the other file
                (1, "* REPLACE ('x' AS start_ns)", "has start_ns as VARCHAR instead of BIGINT", ["utilization"])):
            with self.subTest(columns):
                folder = self.make()
                self.rewrite(self.spans[i], columns)
                if "host" in columns:
                    with self.assertRaisesRegex(Problem, problem):
                        self.open(folder).kernels(host="h", by="host")
                else:
                    self.check(folder, self.spans[i], problem, questions)

    def test_more_columns_are_no_fault(self):
        """Files of a newer release, before and after others."""
        expected = self.answers(self.make())
        for i in (0, 1):
            folder = self.make()
            self.rewrite(self.spans[i], "1 AS newer, *, 'x' AS last")
            self.rewrite(self.resources, "1 AS newer, *")
            self.assertEqual(self.answers(folder), expected)
            self.assertEqual(self.open(folder).sql("SELECT count(*) FROM spans").fetchone(), (8,))

    def test_an_older_release_lacks_columns(self):
        """They are null."""
        expected = self.answers(self.make())
        added = {"spans": ["step_copy", "thread_name"], "resources": ["device_name"]}
        for older in ([0], [1], [0, 1]):
            with self.subTest(older), unittest.mock.patch.dict(_columns.ADDED, added):
                folder = self.make()
                for i in older:
                    self.rewrite(self.spans[i], "* EXCLUDE (step_copy, thread_name)")
                self.rewrite(self.resources, "* EXCLUDE (device_name)")
                self.assertEqual(self.answers(folder), expected)
                sql = self.open(folder).sql
                self.assertEqual(sql("SELECT count(step_copy), count(*), count(DISTINCT service_name) FROM spans").fetchone(), (0, 8, 2))
                self.assertEqual(sql("SELECT count(device_name), count(*) FROM resources").fetchone(), (0, 2))
                self.rewrite(self.spans[1], "* EXCLUDE (name)")
                self.check(folder, self.spans[1], "has no column name", ["kernels"])

    def test_queries_of_ones_own_have_the_engines_text(self):
        folder = self.make()
        fleet = self.open(folder)
        for columns in ("*", "* EXCLUDE (links)"):
            self.rewrite(self.spans[1], columns)
            with self.assertRaises(duckdb.BinderException) as caught:
                fleet.sql("SELECT nothing FROM spans")
            self.assertTrue(str(caught.exception).startswith('Binder Error: Referenced column "nothing" not found'), caught.exception)
            self.assertNotIn(".parquet", str(caught.exception))
            with unittest.mock.patch.dict(_columns.ADDED, {"spans": ["links"]}), self.assertRaisesRegex(duckdb.BinderException, '"nothing"'):
                fleet.sql("SELECT nothing FROM spans")

    def test_errors_that_are_not_of_the_files(self):
        """The engine's text stays; and some errors end its connection, after which no file could be read."""
        fleet = self.open(self.make())
        for error, expected in ((duckdb.BinderException("Binder Error: x"), "Binder Error: x"), (duckdb.Error(""), "Error"),
                                (duckdb.OutOfMemoryException("Out of Memory Error: x\ny"), "Out of Memory Error: x")):
            self.assertEqual(fleet.engine.problem_of(error), expected)
        self.rewrite(self.spans[1], "* EXCLUDE (links)")
        self.assertEqual(fleet.engine.problem_of(duckdb.OutOfMemoryException("Out of Memory Error: x")), "Out of Memory Error: x")
        fleet = self.open(self.make())
        fleet.engine._connection.close()
        self.assertEqual(fleet.engine.problem_of(duckdb.InternalException("INTERNAL Error: x")), "INTERNAL Error: x")
        self.assertIsNone(fleet.engine.problem_of(ValueError("x")))

    def test_too_little_memory_is_no_fault_of_a_file(self):
        fleet = self.open(self.make())
        full = unittest.mock.Mock()
        full.execute.side_effect = duckdb.OutOfMemoryException("Out of Memory Error: x")
        self.assertIsNone(_check.damaged_file(full, ["a.parquet"]))
        with self.assertRaises(duckdb.OutOfMemoryException):
            _check.wrong_columns(full, "spans", ["a.parquet"])
        fleet.engine._connect = lambda: full
        self.assertEqual(fleet.engine.problem_of(duckdb.Error("Error: x")), "Error: x")

    def test_texts_that_are_not_utf8(self):
        """The engine's texts have the names of columns: of the query, of the note about repeated spans, of one's own query."""
        for old, new in ((b"step_copy", b"st\xff\x1b_copy"), (b"span_id", b"s\xff\x1bn_id")):
            with self.subTest(old):
                folder = self.make()
                self.replace(self.spans[0], old, new)
                with contextlib.redirect_stderr(io.StringIO()) as err:
                    self.assertEqual(command(["kernels", str(folder)]), 1)
                text = err.getvalue()
                self.assertTrue(text.startswith("cuspan fleet: cannot ") and text.endswith("; export its spans again, or delete it\n"), text)
                self.assertIn(f"{self.spans[0]} is damaged (", text)
                self.assertTrue(text[:-1].isprintable(), text)
        with self.assertRaisesRegex(duckdb.Error, r'Binder Error: (Referenced column "spam_id" not found(.|\n)*\\xff|its text has bytes that are not UTF-8)'):
            self.open(folder).sql("SELECT spam_id FROM spans")

    def test_texts_that_are_not_utf8_while_rows_are_read(self):
        class Result:
            description = [("x",)]

            def fetchall(self):
                b"Invalid Error: \xff".decode()

        fleet = self.open(self.make())
        fleet.engine._run = lambda *_: Result()
        with self.assertRaisesRegex(Problem, r"cannot answer kernels: Invalid Error: \\xff"):
            fleet.kernels()
        with self.assertRaisesRegex(duckdb.Error, r"^Invalid Error: \\xff$"):
            _check.fetch(unittest.mock.Mock(**{"execute.return_value": Result()}), "SELECT 1")

    def test_files_that_are_not_parquet(self):
        """Other writers leave them when they are killed, or when the disk is full."""
        folder = self.make()
        whole = self.spans[1].read_bytes()
        for content in (b"", b"PAR1", b"garbage" * 100, whole[:len(whole) // 2]):
            self.spans[1].write_bytes(content)
            for question in ("kernels", "utilization"):
                with contextlib.redirect_stderr(io.StringIO()) as err:
                    self.assertEqual(command([question, str(folder)]), 1)
                self.assertRegex(err.getvalue(), f"^cuspan fleet: cannot answer {question}: .*{self.spans[1]}.*; "
                                                 "export its spans again, or delete it\n$")

    def test_a_damaged_page_is_named(self):
        """The engine's text does not have the name."""
        fleet = self.open(self.make())
        data = bytearray(self.spans[1].read_bytes())
        data[4:400] = bytes(396)
        self.spans[1].write_bytes(data)
        error = duckdb.Error("Error: no name")
        self.assertEqual(fleet.engine.problem_of(error), f"Error: no name ({self.spans[1]} is damaged; export its spans again)")


class Lists(unittest.TestCase):
    def test_calls_are_those_of_the_agent(self):
        text = (ROOT / "src/model/cuda/calls_table.c").read_text()
        listed = json.loads((ROOT / "python/cuspan/fleet/calls.json").read_text())
        self.assertEqual(set(listed), {"sync", "launch", "copy", "memory"})
        ledger = re.findall(r'\{"(\w+)", KEY_\w+, TAKE, \w+, MEMORY_(\w+), SIZE_(\w+)\}',
                            (ROOT / "src/analysis/stat/memory/ledger.c").read_text())
        sizes = {"BYTES": "bytes", "PITCH": "pitch", "CHANNELS": "unknown", "FORMAT": "unknown"}
        self.assertEqual(listed.pop("memory"), [[name, kind.lower(), sizes[size]] for name, kind, size in ledger])
        for group, names in listed.items():
            found = set(re.findall(rf"CALL_GROUP_{group.upper()}, \w+, \w+, \w+\}}, /\* (\w+) \*/", text))
            self.assertGreater(len(found), 10)
            self.assertEqual(names, sorted(found), group)

    def test_a_made_fleet_is_what_the_agent_writes(self):
        recordings = [] if os.environ.get("CUSPAN_LONG") else ["--recordings", "vector_add,graph_nodes,slow_step"]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, ROOT / "tests/support/make_fleet.py", BUILD, folder, "--json", "--sets", "1", "--spans", "1000",
                            *recordings], check=True, capture_output=True)
            made, = Path(folder).iterdir()
            with pyarrow.input_stream(str(made), compression="zstd") as stream:
                lines = stream.read().splitlines()
        self.assertGreater(len(lines), 5)
        self.assertEqual(Registry().problems(map(json.loads, lines)), [])


if __name__ == "__main__":
    unittest.main()
