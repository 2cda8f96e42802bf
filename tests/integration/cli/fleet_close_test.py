#!/usr/bin/env python3
"""`cuspan fleet close`: repeated spans go, small files become one, and a kill at any moment loses and doubles nothing.

    fleet_close_test.py --build BUILD-DIR [unittest's arguments]

It needs duckdb and pyarrow: fleet_test.sh gets them from PyPI."""

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fleet_test as shared  # noqa: E402
import duckdb  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.parquet as parquet  # noqa: E402
from fleet_test import HOUR_NS, ROOT, START, document, kernel  # noqa: E402

import cuspan.fleet  # noqa: E402
from cuspan.fleet import Problem, _close  # noqa: E402
from cuspan.fleet.__main__ import main as command  # noqa: E402

LATER = START + 100 * HOUR_NS
MOMENTS = 8 if os.environ.get("CUSPAN_LONG") else 3
# Runs it and kills itself at the Nth line of its module. At the end, prints the lines that change the folder: those that put a
# partition in its place, and others.
KILLED = """
import json, os, signal, sys, threading
sys.path.insert(0, sys.argv[1])
from cuspan.fleet import _close
if sys.argv[5] == "plain":
    _close._exchange = lambda one, other: False
lines, changing = 0, {True: [], False: []}
def trace(frame, event, _):
    global lines
    if frame.f_code.co_filename != _close.__file__:
        return None
    if event == "line":
        lines += 1
        if frame.f_code.co_name in ("_write_json", "_put_in_place", "_remove_old", "_exchange", "_finish"):
            changing[frame.f_code.co_name == "_put_in_place"].append(lines)
        if lines == int(sys.argv[4]):
            os.kill(os.getpid(), signal.SIGKILL)
    return trace
sys.settrace(trace)
threading.settrace(trace)  # what Ctrl-C can end runs on a thread
_close.close(sys.argv[2], int(sys.argv[3]))
sys.settrace(None)
print(json.dumps([changing[True], changing[False]]))
"""


def content(folder):
    """The partitions as other readers see them: their sorted spans."""
    found = {}
    for path in (folder / "spans").rglob("*.parquet"):
        rows = parquet.ParquetFile(path).read(columns=["span_id", "trace_id", "duration_ns"]).to_pylist()
        found.setdefault(str(path.parent.relative_to(folder)), []).extend((row["trace_id"], row["span_id"], row["duration_ns"]) for row in rows)
    return {partition: sorted(rows) for partition, rows in found.items()}


def without_repeats(partitions):
    return {partition: sorted(set(rows)) for partition, rows in partitions.items()}


def files_of(folder):
    return sorted(path for path in (folder / "spans").rglob("*.parquet"))


class Close(shared.Folder):
    def of(self, service, *numbers):
        return document([kernel(number, number) for number in numbers], service__name=service, service__instance__id=str(service))

    def make(self, folder="fleet"):
        """Three partitions: repeated spans in several files, in one resource and another; several files without any; one file."""
        first = [kernel(number, 100 + number, start=START + number * 7 % 10) for number in range(10)]
        self.export(document(first), self.of("b", 50), self.of("c", 60), folder=folder, name="one.jsonl")
        self.export(document(first[5:] + [kernel(10, 7)]), self.of("b", 51, 50), folder=folder, name="two.jsonl")
        return self.export(document(first[:2], hw__id="GPU-2"), folder=folder, name="three.jsonl")

    def test_repeated_spans_go_and_files_are_merged(self):
        folder = self.make()
        before = content(folder)
        schema = parquet.ParquetFile(files_of(folder)[0]).schema_arrow
        modes = {path.stat().st_mode for path in files_of(folder)}
        answer = _close.close(folder, LATER)
        self.assertEqual([(row["service"], row["spans"], row["removed"], row["files_before"], row["files_after"]) for row in answer.dicts()],
                         [("a", 11, 7, 3, 1), ("b", 2, 1, 2, 1), ("c", 1, 0, 1, 1)])
        self.assertEqual(answer.notes, ["8 of 22 spans were repeated and are removed."])
        self.assertNotEqual(before, without_repeats(before))
        self.assertEqual(content(folder), without_repeats(before))
        for path in files_of(folder):
            file = parquet.ParquetFile(path)
            self.assertTrue(file.schema_arrow.equals(schema), path)
            self.assertEqual({key: value for key, value in file.metadata.metadata.items()}, {b"cuspan.schema": b"1", b"cuspan.table": b"spans"})
            starts = file.read(columns=["start_ns"]).column(0).to_pylist()
            self.assertEqual(starts, sorted(starts))
        self.assertEqual({path.stat().st_mode for path in files_of(folder)}, modes)
        self.assertEqual([path.name for path in (folder / "closing").iterdir()], ["lock"])
        self.assertEqual(_close.close(folder, LATER).notes, ["No hour was open."])

    def test_all_columns_stay(self):
        """Of all recordings, and of spans with everything that OTLP has."""
        recordings = [str(path) for path in shared.RECORDINGS]
        shared.output_of("export", "-q", "-o", self.work / "fleet", *recordings)
        folder = self.export(*shared.documents())
        for path in files_of(folder):
            shutil.copy(path, path.with_name(f"{path.name[:16]}-00.parquet"))
        table = lambda: [row for path in files_of(folder) for row in parquet.ParquetFile(path).read().to_pylist()]  # noqa: E731
        key = lambda row: (row["trace_id"], row["span_id"], row["service_name"], row["start_ns"] // HOUR_NS)  # noqa: E731
        before = table()
        size = sum(path.stat().st_size for path in files_of(folder)) / 2
        answer = _close.close(folder, 2**64)
        after = {key(row): row for row in table()}
        self.assertEqual(set(after), {key(row) for row in before})
        self.assertEqual(sum(row["removed"] for row in answer.dicts()), len(before) - len(after))
        seen = {}
        for row in before:  # a test's spans are different ones with the same ID
            seen.setdefault(key(row), []).append(row)
        self.assertEqual([row for row in after.values() if row not in seen[key(row)]], [])
        self.assertLess(sum(path.stat().st_size for path in files_of(folder)), 2 * size)  # small ones, most of which is the footer

    def test_only_hours_that_have_ended(self):
        folder = self.export(document([kernel(1, 10)]), name="one.jsonl")
        self.export(document([kernel(1, 10), kernel(2, 10, start=START + HOUR_NS)]), name="two.jsonl")
        end = START - START % HOUR_NS + HOUR_NS
        self.assertEqual(_close.close(folder, end - 1).rows, [])
        self.assertEqual(len(_close.close(folder, end).rows), 1)
        self.assertEqual(len(files_of(folder)), 2)

    def test_answers_print_repeats_of_open_hours_only(self):
        folder = self.make()
        notes = lambda: [note for note in self.open(folder).kernels().notes if "repeated" in note]  # noqa: E731
        self.assertEqual(notes(), ["8 of 22 spans are repeated; leave them out with --distinct, or remove them with cuspan fleet close."])
        _close.close(folder, LATER)
        self.assertEqual(notes(), [])
        fleet = self.open(folder)
        fleet.engine.counted_bytes = 5
        self.assertFalse(any("repeated" in note for note in fleet.kernels().notes))
        self.export(document([kernel(number, 100 + number) for number in range(4)]), name="late.jsonl")
        self.assertEqual(notes(), ["4 of 15 spans are repeated; leave them out with --distinct, or remove them with cuspan fleet close."])
        found, = [note for note in fleet.kernels().notes if "repeated" in note]
        self.assertIn("Spans may be repeated in 1 of 3 hours of services, which are not closed.", found)
        self.assertEqual([(row["service"], row["removed"]) for row in _close.close(folder, LATER).dicts()], [("a", 4)])
        self.assertEqual(notes(), [])

    def test_large_files_are_not_merged_and_continue(self):
        folder = self.export(document([kernel(i, i) for i in range(1, 400)]), name="one.jsonl")
        self.export(document([kernel(i, i) for i in range(400, 800)] + [kernel(1, 1)]), name="two.jsonl")
        before = content(folder)
        with mock.patch.object(_close, "_FILE_BYTES", 1), mock.patch.object(_close, "_GROUP_ROWS", 100):
            answer = _close.close(folder, LATER).dicts()
        self.assertEqual((answer[0]["removed"], answer[0]["files_before"]), (1, 2))
        self.assertGreater(len(files_of(folder)), 2)
        self.assertEqual(content(folder), without_repeats(before))

    def test_a_kill_at_any_moment_loses_and_doubles_nothing(self):
        made = self.make("made")
        before, after = content(made), without_repeats(content(made))
        for way in "exchange", "plain":
            placing, others = json.loads(self.killed(self.copy(made), 10**9, way).stdout)
            self.assertGreater(len(others), MOMENTS)
            self.assertGreater(len(placing), 3)
            moments = [*placing[: len(placing) // 2 : 1 if os.environ.get("CUSPAN_LONG") else 3], *(others[moment * len(others) // MOMENTS] for moment in range(MOMENTS))]
            states = set()
            for line in moments:
                folder = self.copy(made)
                with self.subTest(way=way, line=line):
                    self.assertEqual(self.killed(folder, line, way).returncode, -signal.SIGKILL)
                    states.add(self.check(folder, before, after, is_seen_by_all=way == "exchange"))
            self.assertGreater(len(states), 1, way)

    def check(self, folder, before, after, is_seen_by_all):
        """Each partition is the old or the new one. Afterwards, another run completes it."""
        if is_seen_by_all:
            found = content(folder)
            self.assertEqual(set(found), set(before))
            for partition, rows in found.items():
                self.assertIn(rows, (before[partition], after[partition]))
        services = {partition.rpartition("=")[2]: (len(before[partition]), len(after[partition])) for partition in before}
        rows = self.open(folder).duplicates().dicts()
        self.assertEqual({row["service"] for row in rows}, set(services))
        for row in rows:
            self.assertIn(row["spans"], services[row["service"]])
            self.assertEqual(row["spans"] - row["repeated"], services[row["service"]][1])
        _close.close(folder, LATER)
        self.assertEqual(content(folder), after)
        self.assertEqual([path.name for path in (folder / "closing").iterdir()], ["lock"])
        return tuple(row["spans"] for row in rows)

    def copy(self, made):
        folder = self.work / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        return Path(shutil.copytree(made, folder))

    def killed(self, folder, line, way):
        return subprocess.run([sys.executable, "-c", KILLED, ROOT / "python", folder, str(LATER), str(line), way], capture_output=True,
                              text=True, check=False)

    def test_files_that_appear_meanwhile_stay(self):
        folder = self.make()
        exchange = _close._exchange

        def late(one, other):
            self.export(document([kernel(70, 70)]), self.of("b", 71), name="late.jsonl")
            (other / "cuspan-1.tmp").write_bytes(b"half")
            return exchange(one, other)

        with mock.patch.object(_close, "_exchange", late):
            _close.close(folder, LATER)
        spans = {row["service"]: row["spans"] for row in self.open(folder).duplicates().dicts()}
        self.assertEqual(spans, {"a": 12, "b": 3, "c": 1})
        self.assertTrue((next((folder / "spans").rglob("service=a")) / "cuspan-1.tmp").exists())
        self.assertEqual({row["service"]: row["spans"] for row in _close.close(folder, LATER).dicts()}, {"a": 12, "b": 3})

    def test_names_of_services(self):
        """With a suffix that `closing` uses, too, with a slash, and none."""
        for number, name in enumerate(("x.old", "a/b", None)):
            for i in range(2):
                self.export(self.of(name, 100 * number + i), name=f"{number}{i}.jsonl")
        folder = self.work / "fleet"
        for way in (_close._exchange, lambda one, other: False):
            with mock.patch.object(_close, "_exchange", way):
                found = _close.close(folder, LATER)
            self.assertLessEqual({row[1] for row in found.rows}, {"x.old", "a/b", None})
            for path in files_of(folder):
                shutil.copy(path, path.with_name(f"{path.name[:16]}-00.parquet"))
        _close.close(folder, LATER)
        self.assertEqual(sorted(row["spans"] for row in self.open(folder).duplicates().dicts()), [2, 2, 2])

    def test_two_at_a_time(self):
        folder = self.make()
        with _close._lock(folder):
            with self.assertRaisesRegex(Problem, "another cuspan fleet close works in .*; wait for its end"):
                _close.close(folder, LATER)
        self.assertEqual(len(_close.close(folder, LATER).rows), 3)

    def test_a_reader_while_it_works(self):
        """The files of a partition change between the list of files and the query."""
        folder = self.make()
        fleet = self.open(folder)
        run, is_first = fleet.engine._run, [True]

        def late(*arguments):
            if is_first.pop() if is_first else False:
                _close.close(folder, LATER)
            return run(*arguments)

        fleet.engine._run = late
        self.assertEqual(sum(row["count"] for row in fleet.kernels().dicts()), 14)

    def test_errors(self):
        folder = self.make()
        with mock.patch.dict(sys.modules, {"pyarrow": None}), self.assertRaisesRegex(Problem, "this needs pyarrow, .* pip install 'pyarrow"):
            _close.close(folder, LATER)
        before = content(folder)
        path, = [path for path in files_of(folder) if "service=c" in str(path)]
        whole = path.read_bytes()
        path.write_bytes(whole[:50])
        with self.assertRaisesRegex(Problem, "cannot close .*service=c: .*" + path.name):
            _close.close(folder, LATER)
        path.write_bytes(whole)
        self.assertEqual(without_repeats(content(folder)), without_repeats(before))
        folder = self.make("again")
        with mock.patch.object(_close, "_finish", side_effect=OSError(28, "No space left on device")):
            with self.assertRaisesRegex(Problem, "cannot close .*: No space left on device; check free space and the owner of the folder"):
                _close.close(folder, LATER)
        self.assertEqual(content(folder), before)

    def test_files_with_other_columns(self):
        """Their columns would become those of the merged file. A newer release has more, which stay."""
        for columns, expected in (("* RENAME (step_copy AS stap_copy)", "has no column step_copy"), ("1 AS x", "has no column resource_id"),
                                  ("* REPLACE (encode(name) AS name)", "has name as BLOB instead of VARCHAR"), ("*, 7 AS newer", "Casting field 'newer' with null values to non-nullable"),
                                  ("*, nullif(7, duration_ns) AS newer", None)):
            with self.subTest(columns):
                folder = self.make(f"fleet-{len(columns)}")
                path = next(path for path in files_of(folder) if "service=a" in str(path))
                duckdb.execute(f"COPY (SELECT {columns} FROM read_parquet('{path}', hive_partitioning = false)) TO '{self.work}/other.parquet'")
                os.replace(self.work / "other.parquet", path)
                before = {path: path.read_bytes() for path in files_of(folder)}
                if expected:
                    with self.assertRaises(Problem) as caught:
                        _close.close(folder, LATER)
                    wrong = expected if "null" in expected else f"{path} {expected}; export its spans again, or delete it"
                    self.assertEqual(str(caught.exception), f"cannot close {path.parent}: {wrong}")
                    self.assertEqual({path: path.read_bytes() for path in files_of(folder)}, before)
                else:
                    _close.close(folder, LATER)
                    merged = parquet.ParquetFile(*[path for path in files_of(folder) if "service=a" in str(path)]).read(columns=["newer"])
                    self.assertEqual(set(merged.column(0).to_pylist()), {7, None})
                self.assertEqual([path.name for path in (folder / "closing").iterdir()], ["lock"])

    def test_files_without_the_description_of_a_footer(self):
        folder = self.make()
        for path in files_of(folder):
            duckdb.execute(f"COPY (SELECT * FROM read_parquet('{path}', hive_partitioning = false)) TO '{self.work}/other.parquet'")
            os.replace(self.work / "other.parquet", path)
        before = content(folder)
        _close.close(folder, LATER)
        self.assertEqual(content(folder), without_repeats(before))

    def test_what_the_libraries_cannot_read(self):
        """The file is named, also if a library's text has bytes that are not UTF-8 or no name."""
        folder = self.make()
        before = content(folder)
        path = next(path for path in files_of(folder) if "service=a" in str(path))
        with mock.patch.object(parquet, "ParquetFile", side_effect=pyarrow.ArrowInvalid("no footer")), self.assertRaisesRegex(
                Problem, f"^cannot read {path}: no footer; export its spans again, or delete it$"):
            _close.close(folder, LATER)
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"step_copy", b"st\xff\x1b_copy"))
        with self.assertRaisesRegex(Problem, f"^cannot close .*: {path} is damaged"):
            _close.close(folder, LATER)
        path.write_bytes(whole)
        for name, error, expected in (("_find_repeated", UnicodeDecodeError("utf-8", b"Error: a\xff", 8, 9, "x"), r"service=a: Error: a\\xff"),
                                      ("_find_repeated", pyarrow.ArrowInvalid("no number"), "service=a: no number"),
                                      ("_rewrite", OSError("no reason"), "service=a: no reason; check free space")):
            with mock.patch.object(_close._Closer, name, side_effect=error), self.assertRaisesRegex(Problem, f"^cannot close .*{expected}"):
                _close.close(folder, LATER)
        self.assertEqual(content(folder), before)

    def test_the_command(self):
        folder = self.make()
        done = subprocess.run([sys.executable, "-m", "cuspan.fleet", "close", str(folder), "--json", "--before", "2026-09-22"], check=True,
                              capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(sum(row["removed"] for row in json.loads(done.stdout)["close"]), 8)
        self.assertEqual(command(["close", "--engine", "clickhouse://localhost"]), 1)


if __name__ == "__main__":
    unittest.main()
