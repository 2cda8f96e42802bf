#!/usr/bin/env python3
"""`cuspan export`: every span and attribute comes back from Parquet; DuckDB, pyarrow and chDB agree with `cuspan stat`; hostile
names stay in their folders; a second export does not double; what goes wrong is named and leaves no file.

    export_test.py --build BUILD-DIR [--write] [unittest's arguments]

It needs duckdb, pyarrow, pandas and chdb: export_test.sh gets them from PyPI. --write: writes the golden files export_schema.txt and
export_rows.json again, which tests/support/make_export.py's spans make."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
from collections import Counter
from functools import partial
from pathlib import Path

import chdb
import duckdb
import pandas
import pyarrow.parquet

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests/support"))
from built import BUILD, run, take_flag  # noqa: E402
from make_export import documents  # noqa: E402
from otlp_encode import block, fixed64, message, number, text, traces, zstd  # noqa: E402

RECORDINGS = sorted((ROOT / "examples/recordings").glob("*.cuspanrec"))
HOUR_NS = 3600 * 10**9
WRITES = take_flag("--write")
cuspan = partial(run, text=False)
SANITIZED = b"sanitizers" in cuspan("version").stdout


def export(folder, *inputs, **options):
    done = cuspan("export", "-o", folder, *inputs, **options)
    assert done.returncode == 0, done.stderr
    return done.stderr.decode()


def span_files(folder):
    return sorted((folder / "spans").rglob("*.parquet"))


def rows_of(path):
    return pyarrow.parquet.read_table(path, partitioning=None).to_pylist()


def rows(folder):
    return [row for path in span_files(folder) for row in rows_of(path)]


def names_of_all(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# ---- Spans from Parquet ----------------------------------------------------------------------------------------------

# Columns that hold an attribute, by tools/gen_fleet_schema.py.
sys.path.insert(0, str(ROOT / "tools"))
import gen_fleet_schema  # noqa: E402

COLUMNS = gen_fleet_schema.columns_of(gen_fleet_schema.SPAN_COLUMNS)
ATTRIBUTES = {column.name: column.keys[0] for column in COLUMNS if column.source == "attribute"}
FLAGS = {column.name for column in COLUMNS if column.type == "flag"}


def typed(letter, text):
    """As value_of() below."""
    kinds = {"s": str, "i": int, "d": float, "b": "true".__eq__, "j": json.loads}
    return letter, kinds[letter](text)


def attributes_of(row):
    found = {key: typed(letter, text) for (key, text), letter in zip(row["attributes"], row["attribute_types"] or "", strict=True)}
    for column, key in ATTRIBUTES.items():
        value = row.get(column)
        if value is not None:
            assert key not in found, key
            found[key] = ("b", value == 1) if column in FLAGS else ("i" if isinstance(value, int) else "s", value)
    return found


def span_of_row(row, resources):
    return {"resource": resources[row["resource_id"]], "trace": row["trace_id"].hex(), "id": row["span_id"],
            "parent": row["parent_id"] or 0, "name": row["name"], "start": row["start_ns"], "duration": row["duration_ns"],
            "kind": row["span_kind"] or 0, "status": row["status"] or 0, "message": row["status_message"] or "",
            "flags": row["flags"] or 0, "state": row["trace_state"] or "",
            "dropped": [row[f"dropped_{what}"] or 0 for what in ("attributes", "events", "links")],
            "attributes": attributes_of(row), "events": json.loads(row["events"] or "[]"),
            "links": json.loads(row["links"] or "[]"), "scope": json.loads(row["scope"] or "{}")}


def spans_from(folder):
    resources = {row["resource_id"]: attributes_of(row) for path in (folder / "resources").iterdir() for row in rows_of(path)}
    return [span_of_row(row, resources) for row in rows(folder)]


# ---- Spans from OTLP JSON, read without cuspan -----------------------------------------------------------------------


def plain(value):
    """The content of an AnyValue as JSON."""
    (kind, content), = value.items() if value else (("", None),)
    if kind == "intValue":
        return int(content)
    if kind == "arrayValue":
        return [plain(item) for item in content.get("values", [])]
    if kind == "kvlistValue":
        return {item["key"]: plain(item["value"]) for item in content.get("values", [])}
    return content


def value_of(value):
    kind, = value
    letter = {"stringValue": "s", "intValue": "i", "doubleValue": "d", "boolValue": "b", "bytesValue": "s"}.get(kind, "j")
    return letter, float(plain(value)) if letter == "d" else plain(value)


def without_empty(fields):
    return {key: value for key, value in fields.items() if value}


def plain_attributes(items):
    return {item["key"]: plain(item["value"]) for item in items}


def event_of(item):
    return without_empty({"time_ns": int(item["timeUnixNano"]), "name": item.get("name"),
                          "attributes": plain_attributes(item.get("attributes", []))})


def link_of(item):
    return without_empty({"trace_id": item.get("traceId"), "span_id": item.get("spanId"), "trace_state": item.get("traceState"),
                          "flags": item.get("flags"), "dropped_attributes": item.get("droppedAttributesCount"),
                          "attributes": plain_attributes(item.get("attributes", []))})


def span_of_json(item, attributes, scope):
    start, end = int(item["startTimeUnixNano"]), int(item.get("endTimeUnixNano", 0))
    status = item.get("status", {})
    return {"resource": attributes, "trace": item["traceId"], "id": int(item["spanId"], 16),
            "parent": int(item.get("parentSpanId") or "0", 16), "name": item["name"], "start": start,
            "duration": max(end - start, 0), "kind": item.get("kind", 0), "status": status.get("code", 0),
            "message": status.get("message", ""), "flags": item.get("flags", 0), "state": item.get("traceState", ""),
            "dropped": [item.get(f"dropped{what}Count", 0) for what in ("Attributes", "Events", "Links")],
            "attributes": {each["key"]: value_of(each["value"]) for each in item["attributes"]},
            "events": [event_of(each) for each in item.get("events", [])], "links": [link_of(each) for each in item.get("links", [])],
            "scope": scope}


def spans_of_json(path):
    """A device's resource is the most complete one, because what is known of a device grows."""
    found, devices = [], {}
    for line in path.read_text().splitlines():
        for batch in json.loads(line)["resourceSpans"]:
            attributes = {each["key"]: value_of(each["value"]) for each in batch["resource"]["attributes"]}
            key = tuple(str(attributes.get(name)) for name in ("hw.id", "service.instance.id"))
            if "hw.id" in attributes:
                if len(attributes) > len(devices.setdefault(key, {})):
                    devices[key].update(attributes)
                attributes = devices[key]
            for scope in batch["scopeSpans"]:
                facts = scope.get("scope", {})
                fields = without_empty({"name": facts.get("name"), "version": facts.get("version"),
                                        "schema_url": scope.get("schemaUrl"), "resource_schema_url": batch.get("schemaUrl")})
                found += [span_of_json(item, attributes, fields) for item in scope["spans"]]
    return found


def ordered(spans):
    return sorted(spans, key=lambda span: (span["trace"], span["id"], span["start"]))


# ---- Engines ---------------------------------------------------------------------------------------------------------

KERNELS = """SELECT coalesce(kernel_full, name) AS kernel, count(*) AS n, sum(duration_ns) AS total, min(duration_ns) AS least,
    max(duration_ns) AS most FROM spans WHERE activity IN ('kernel', 'concurrent_kernel') GROUP BY 1"""
CALLS = """SELECT name, api, count(*) AS n, sum(duration_ns) AS total, count(error) AS errors FROM spans WHERE api IS NOT NULL
    GROUP BY name, api"""
COPIES = """SELECT coalesce(copy_kind, 'fill') AS kind, count(*) AS n, sum(coalesce(copy_bytes, fill_bytes)) AS bytes,
    sum(duration_ns) AS total FROM spans WHERE activity IN ('memcpy', 'memcpy2', 'memset') GROUP BY 1"""


def by_duckdb(folder, query):
    found = duckdb.connect().execute(query.replace("FROM spans", f"FROM read_parquet('{folder}/spans/**/*.parquet')")).fetchall()
    return sorted(tuple(int(cell) if isinstance(cell, float) else cell for cell in row) for row in found)


def by_chdb(folder, query):
    out = str(chdb.query(query.replace("FROM spans", f"FROM file('{folder}/spans/**/*.parquet', Parquet)"), "JSONCompact"))
    return sorted(tuple(int(cell) if str(cell).isdigit() else cell for cell in row) for row in json.loads(out)["data"])


def by_stat(path):
    tables = json.loads(cuspan("stat", "--json", "--top", "0", "--table", "kernels,calls,copies", path).stdout)
    copies = {}
    for row in tables["copies"]:
        n, size, total = copies.get(row["kind"], (0, 0, 0))
        copies[row["kind"]] = n + row["count"], size + row["bytes"], total + row["total_ns"]
    return (sorted((row["full_name"], row["count"], row["total_ns"], row["min_ns"], row["max_ns"]) for row in tables["kernels"]),
            sorted((row["name"], row["api"], row["count"], row["total_ns"], row["errors"]) for row in tables["calls"]),
            sorted((kind, *sums) for kind, sums in copies.items()))


class Case(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.fleet = self.work / "fleet"

    def write(self, name, made):
        path = self.work / name
        path.write_text("".join(json.dumps(document) + "\n" for document in made))
        return path


class Recorded(unittest.TestCase):
    """The spans of all recordings."""

    @classmethod
    def setUpClass(cls):
        work = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.spans, cls.fleet = work / "all.jsonl", work / "fleet"
        for path in RECORDINGS:
            done = cuspan("replay", "--quiet", "--file", cls.spans, path)
            assert done.returncode == 0, done.stderr
        cls.output = export(cls.fleet, cls.spans)

    def test_every_field_of_every_span_comes_back(self):
        expected, found = ordered(spans_of_json(self.spans)), ordered(spans_from(self.fleet))
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertEqual(one, other)
        self.assertEqual(len(self.output.splitlines()), 1, self.output)  # nothing was left out
        self.assertIn(f"{len(expected):,} spans", self.output)

    def test_engines_and_stat_agree(self):
        kernels, calls, copies = by_stat(self.spans)
        self.assertGreater(len(kernels), 10)
        self.assertGreater(len(calls), 10)
        self.assertGreater(len(copies), 1)
        for engine in by_duckdb, by_chdb:
            self.assertEqual(engine(self.fleet, KERNELS), kernels, engine.__name__)
            self.assertEqual(engine(self.fleet, CALLS), calls, engine.__name__)
            self.assertEqual(engine(self.fleet, COPIES), copies, engine.__name__)

    def test_engines_read_partitions_and_maps(self):
        services = sorted({row["service_name"] for row in rows(self.fleet)})
        self.assertGreater(len(services), 3)
        self.assertEqual(by_duckdb(self.fleet, "SELECT DISTINCT service FROM spans"), [(name,) for name in services])
        self.assertEqual(by_chdb(self.fleet, "SELECT DISTINCT service FROM spans"), [(name,) for name in services])
        self.assertEqual(sorted(set(pandas.read_parquet(self.fleet / "spans")["service"])), services)
        table = pyarrow.parquet.read_table(self.fleet / "spans")
        self.assertEqual(sorted(set(table.column("service").to_pylist())), services)
        query = "SELECT attributes['cuda.kernel.grid'] AS grid, count(*) AS n FROM spans WHERE activity = 'kernel' GROUP BY 1"
        grids = Counter(dict(row["attributes"])["cuda.kernel.grid"] for row in rows(self.fleet) if row["activity"] == "kernel")
        self.assertEqual(by_duckdb(self.fleet, query), sorted(grids.items()))
        found = json.loads(str(chdb.query(query.replace("FROM spans", f"FROM file('{self.fleet}/spans/**/*.parquet', Parquet)"),
                                          "JSONCompact")))["data"]
        self.assertEqual({grid: int(n) for grid, n in found}, grids)

    def test_rows_are_sorted_and_in_their_partition(self):
        for path in span_files(self.fleet):
            found = rows_of(path)
            starts = [row["start_ns"] for row in found]
            self.assertEqual(starts, sorted(starts))
            self.assertEqual(len({row["resource_id"] for row in found}), 1)
            self.assertEqual(len({start // HOUR_NS for start in starts}), 1)
            metadata = pyarrow.parquet.ParquetFile(path).metadata
            statistics = metadata.row_group(0).column([column.name for column in COLUMNS].index("start_ns")).statistics
            self.assertEqual((statistics.min, statistics.max), (starts[0], starts[-1]))


class Golden(Case):
    """The spans of make_export.py have everything that OTLP can say, and everything that is hostile."""

    def found(self):
        export(self.fleet, self.write("spans.jsonl", documents()))
        return [{key: value.hex() if isinstance(value, bytes) else value for key, value in row.items() if value not in (None, [])}
                for row in sorted(rows(self.fleet), key=lambda row: (row["service_name"] or "", row["start_ns"], row["span_id"]))]

    def schema(self):
        made = []
        for path in (span_files(self.fleet)[0], next((self.fleet / "resources").iterdir())):
            file = pyarrow.parquet.ParquetFile(path)
            made += [str(file.schema), json.dumps({key.decode(): value.decode() for key, value in file.metadata.metadata.items()
                                                   if key.startswith(b"cuspan.")}), ""]
        return "\n".join(line for line in "\n".join(made).splitlines() if "object at 0x" not in line) + "\n"

    def test_rows_and_schema_are_the_golden_ones(self):
        found = json.loads(json.dumps(self.found()))
        if WRITES:
            (HERE / "export_rows.json").write_text(json.dumps(found, indent=1, ensure_ascii=True) + "\n")
            (HERE / "export_schema.txt").write_text(self.schema())
        expected = json.loads((HERE / "export_rows.json").read_text())
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertEqual(one, other)
        self.assertEqual(self.schema(), (HERE / "export_schema.txt").read_text())

    def test_protobuf_gives_the_same_files(self):
        spans = self.write("spans.jsonl", documents())
        binary = self.work / "spans.binpb"
        binary.write_bytes(b"".join(message(zstd(traces(document))) for document in json.loads("[" + ",".join(
            spans.read_text().splitlines()) + "]")))
        one, two = export(self.fleet, spans), export(self.work / "other", binary)
        self.assertEqual(names_of_all(self.fleet), names_of_all(self.work / "other"))
        self.assertEqual(rows(self.fleet), rows(self.work / "other"))
        self.assertEqual(one.replace("fleet", "other").splitlines()[:-1], two.splitlines()[:-1])

    def test_the_last_of_repeated_fields_counts(self):
        """As protobuf wants it, which merges messages by concatenation."""
        span = (block(1, b"t" * 16) + block(2, b"s" * 8) + text(5, "first") + text(5, "n") + number(6, 2) + number(6, 3) +
                fixed64(7, 5) + fixed64(8, 6))
        path = self.work / "spans.binpb"
        path.write_bytes(message(block(1, block(2, block(2, span)))))
        export(self.fleet, path)
        row, = rows(self.fleet)
        self.assertEqual((row["name"], row["span_kind"]), ("n", 3))

    def test_engines_read_the_resources(self):
        export(self.fleet, self.write("spans.jsonl", documents()))
        count = len(documents())
        query = "SELECT count(*), count(DISTINCT resource_id), sum(length(map_keys(attributes))) FROM"
        found = duckdb.connect().execute(f"{query} read_parquet('{self.fleet}/resources/*.parquet')").fetchall()
        self.assertEqual(found, [(count, count, 4 * count)])
        joined = duckdb.connect().execute(f"""SELECT count(*) FROM read_parquet('{self.fleet}/spans/**/*.parquet') s
            JOIN read_parquet('{self.fleet}/resources/*.parquet') r USING (resource_id)
            WHERE r.attributes['deep'] = '[1,2]' AND s.service_name = r.service_name""").fetchone()
        self.assertEqual(joined, (len(rows(self.fleet)),))

    def test_omissions_are_counted(self):
        output = export(self.fleet, self.write("spans.jsonl", documents()))
        count = len(documents())
        for line in (f"{count} spans end before they start", f"{count} spans have no end", f"{count} spans start after the year 2262",
                     f"{2 * count} attributes are left out", "cut at a NUL", "events without a time"):
            self.assertIn(line, output)

    def test_nothing_is_written_outside_of_the_folder(self):
        export(self.fleet, self.write("spans.jsonl", documents()))
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), ["fleet", "spans.jsonl"])
        for path in span_files(self.fleet):
            parts = path.relative_to(self.fleet / "spans").parts
            self.assertEqual([part.split("=")[0] for part in parts[:3]], ["date", "hour", "service"])
            self.assertEqual(len(parts), 4)

    def test_engines_decode_the_names_of_folders(self):
        export(self.fleet, self.write("spans.jsonl", documents()))
        found = duckdb.connect().execute(f"""SELECT DISTINCT service, service_name
            FROM read_parquet('{self.fleet}/spans/**/*.parquet')""").fetchall()
        self.assertGreater(len(found), 6)
        for folder, name in found:
            self.assertTrue(folder == name or not name or "~" in folder, (folder, name))


def small_document(service, spans):
    return {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
                               "scopeSpans": [{"spans": spans}]}]}


def small_span(number, start, name="k"):
    return {"traceId": f"{1:032x}", "spanId": f"{number:016x}", "name": name, "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + 7), "attributes": []}


class Files(Case):
    def test_a_second_export_changes_nothing(self):
        spans = self.write("spans.jsonl", documents())
        export(self.fleet, spans)
        names, found = names_of_all(self.fleet), rows(self.fleet)
        export(self.fleet, spans)
        self.assertEqual(names_of_all(self.fleet), names)
        self.assertEqual(rows(self.fleet), found)

    def test_other_spans_of_the_same_process_are_added(self):
        for number in (1, 2, 3):
            export(self.fleet, self.write("spans.jsonl", [small_document("a", [small_span(number, 1000 + number)])]))
        self.assertEqual(sorted(row["span_id"] for row in rows(self.fleet)), [1, 2, 3])

    def test_a_second_export_of_a_recording_is_refused(self):
        recording = shutil.copy(RECORDINGS[-1], self.work / "copy.cuspanrec")
        export(self.fleet, RECORDINGS[-1])
        count = len(rows(self.fleet))
        self.assertGreater(count, 0)
        for path in (RECORDINGS[-1], recording, self.work):
            done = cuspan("export", "-o", self.fleet, path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"is already in", done.stderr)
        self.assertEqual(len(rows(self.fleet)), count)

    def test_row_groups_are_full_and_spans_out_of_order_are_sorted(self):
        count = 130_000
        spans = [small_span(number + 1, (number * 7919) % count * 10, f"n{number % 5000}") for number in range(count)]
        export(self.fleet, self.write("spans.jsonl", [small_document("a", spans[i::13]) for i in range(13)]))
        path, = span_files(self.fleet)
        metadata = pyarrow.parquet.ParquetFile(path).metadata
        self.assertEqual([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)], [122_880, count - 122_880])
        found = rows_of(path)
        self.assertEqual([row["start_ns"] for row in found], [10 * i for i in range(count)])
        self.assertEqual(sorted(row["span_id"] for row in found), list(range(1, count + 1)))
        self.assertTrue(all(row["name"] == f"n{(row['span_id'] - 1) % 5000}" for row in found))

    def test_an_hour_ends_a_file(self):
        spans = [small_span(i + 1, HOUR_NS * i // 4) for i in range(12)]
        export(self.fleet, self.write("spans.jsonl", [small_document("a", spans)]))
        self.assertEqual([path.parent.parent.name for path in span_files(self.fleet)], ["hour=00", "hour=01", "hour=02"])
        self.assertEqual({path: len(rows_of(path)) for path in span_files(self.fleet)},
                         dict.fromkeys(span_files(self.fleet), 4))

    def test_standard_input_folders_and_patterns(self):
        one, two = ([small_document(name, [small_span(1, 5)])] for name in "ab")
        (self.work / "in").mkdir()
        self.write("in/one.jsonl", one)
        self.write("in/two.jsonl", two)
        for i, source in enumerate((self.work / "in", self.work / "in/*.jsonl", "-")):
            fleet = self.work / f"fleet{i}"
            text = "".join(json.dumps(document) + "\n" for document in one + two)
            export(fleet, source, input=text.encode())
            self.assertEqual(sorted(row["service_name"] for row in rows(fleet)), ["a", "b"])


class Formats(Case):
    def test_sqlite_is_that_of_stat(self):
        export(self.work / "one.sqlite", self.write("spans.jsonl", documents()))
        done = cuspan("stat", "--sqlite", self.work / "two.db", self.work / "spans.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.work / "one.sqlite").read_bytes(), (self.work / "two.db").read_bytes())

    def test_perfetto_is_that_of_show(self):
        spans = self.write("spans.jsonl", documents())
        export(self.work / "one.json", spans)
        shown = cuspan("show", "--perfetto", "-", spans)
        self.assertEqual((self.work / "one.json").read_bytes(), shown.stdout)
        piped = cuspan("export", "--format", "perfetto", "-o", "-", "--trace", documents()[0]["resourceSpans"][0][
            "scopeSpans"][0]["spans"][0]["traceId"][:8].upper(), spans)
        self.assertEqual(piped.stdout, shown.stdout)

    def test_the_name_selects_the_format(self):
        spans = self.write("spans.jsonl", documents())
        export(self.work / "x.json.d", spans)
        self.assertTrue((self.work / "x.json.d/cuspan-schema.json").exists())
        done = cuspan("export", "--format", "parquet", "-o", self.work / "folder.json", spans)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.work / "folder.json/cuspan-schema.json").exists())


class Errors(Case):
    def check(self, status, text, *arguments, **options):
        done = cuspan("export", *arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr.decode())
        self.assertEqual([name for name in names_of_all(self.work) if name.endswith((".tmp", ".parquet"))], [])

    def test_wrong_command_lines(self):
        spans = self.write("spans.jsonl", documents())
        self.check(2, "name a file", "-o", self.fleet)
        self.check(2, "name the destination with -o", spans)
        self.check(2, "only --format perfetto can write to standard output", "-o", "-", spans)
        self.check(2, "--trace needs --format perfetto", "-o", self.fleet, "--trace", "12", spans)
        self.check(2, "--trace needs a trace ID", "-o", self.work / "x.json", "--trace", "xyz", spans)
        self.check(2, "csv", "-o", self.fleet, "--format", "csv", spans)

    def test_bad_input_leaves_no_files(self):
        self.check(1, "No such file", "-o", self.fleet, self.work / "missing")
        (self.work / "bad.jsonl").write_text("{]\n{}\n")
        self.check(1, "bad.jsonl:1: invalid JSON", "-o", self.fleet, self.work / "bad.jsonl")
        (self.work / "empty").write_text("")
        self.check(1, "it has no spans", "-o", self.fleet, self.work / "empty")

    def test_a_cut_end_is_reported(self):
        spans = self.write("spans.jsonl", [small_document("a", [small_span(i, i)]) for i in range(1, 4)])
        spans.write_text(spans.read_text()[:-30])
        self.assertIn("the end of the file is incomplete", export(self.fleet, spans))
        self.assertEqual(len(rows(self.fleet)), 2)

    def test_folders_of_others_are_refused(self):
        spans = self.write("spans.jsonl", documents())
        self.check(1, "is not empty and has no cuspan-schema.json", "-o", self.work, spans)
        (self.work / "taken").write_text("a file")
        self.check(1, "taken", "-o", self.work / "taken", spans)
        self.check(1, "cannot create", "-o", self.work / "no/such/folder", spans)

    def test_names_of_partitions_are_text(self):
        """Engines decode them: they are cut between characters, and bytes that are not UTF-8 are replaced before."""
        for name in ("\u00e9" * 300, "x" + "\u65e5" * 90, "xx" + "\u65e5" * 90, "xyz" + "\U0001f600" * 60, "a\ud800b"):
            shutil.rmtree(self.fleet, ignore_errors=True)
            export(self.fleet, self.write("spans.jsonl", [small_document(name, [small_span(1, 1)])]))
            for folder in (self.fleet / "spans").rglob("service=*"):
                urllib.parse.unquote(folder.name, errors="strict")
            self.assertEqual(len(duckdb.sql(f"SELECT * FROM read_parquet('{self.fleet}/spans/**/*.parquet', hive_partitioning = true)")
                                 .fetchall()), 1)

    def test_flipped_bits_are_noticed(self):
        """Each page has a checksum, and its compressed data has another one."""
        export(self.fleet, self.write("spans.jsonl", documents()))
        path = max(self.fleet.rglob("*.parquet"), key=lambda file: file.stat().st_size)
        good, metadata = path.read_bytes(), pyarrow.parquet.read_metadata(path)
        table = pyarrow.parquet.read_table(path, page_checksum_verification=True)
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(0).column(column)
            bad = bytearray(good)
            bad[chunk.data_page_offset + chunk.total_compressed_size - 2 if not chunk.has_dictionary_page
                else chunk.dictionary_page_offset + chunk.total_compressed_size - 2] ^= 4
            path.write_bytes(bad)
            with self.assertRaises(OSError, msg=chunk.path_in_schema):
                pyarrow.parquet.read_table(path, page_checksum_verification=True)
            if table.column(chunk.path_in_schema.split(".")[0]).null_count < table.num_rows:  # DuckDB skips the others
                with self.assertRaises(duckdb.Error, msg=chunk.path_in_schema):
                    duckdb.sql(f"SELECT {chunk.path_in_schema.split('.')[0]} FROM '{path}'").fetchall()

    def test_a_full_disk(self):
        """A limit on the size of files acts like one."""
        def limit(size):
            def apply():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return apply
        spans = self.write("spans.jsonl", documents())
        self.check(1, "File too large", "-o", self.fleet, spans, preexec_fn=limit(2000))
        self.check(1, "File too large", "-o", self.work / "other", spans, preexec_fn=limit(10))

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_no_permission(self):
        spans = self.write("spans.jsonl", documents())
        os.chmod(self.work, 0o755)
        os.chmod(spans, 0o644)
        self.fleet.mkdir(mode=0o755)
        if subprocess.run(["test", "-x", BUILD / "cuspan"], check=False, user=65534).returncode:
            self.skipTest("another user cannot reach the build")
        self.check(1, "Permission denied", "-o", self.fleet, spans, user=65534)
        self.check(1, "Permission denied", "-o", self.work / "new", spans, user=65534)

    def test_without_the_library(self):
        spans = self.write("spans.jsonl", documents())
        self.check(1, "libcuspan.so", "-o", self.fleet, "--library", self.work / "libcuspan.so", spans)

    def test_memory_is_bounded(self):
        """All values differ: 300 MB of texts in 60,000 spans."""
        count, size = 60_000, 5_000
        path = self.work / "large.jsonl"
        with open(path, "w", encoding="ascii") as file:
            for i in range(0, count, 100):
                spans = [small_span(number + 1, number, f"name {number}") for number in range(i, i + 100)]
                for span in spans:
                    span["attributes"] = [{"key": "text", "value": {"stringValue": f"{span['spanId']}" + "x" * size}}]
                file.write(json.dumps(small_document("a", spans)) + "\n")

        # More than fits into memory is sorted in TMPDIR.
        environment = {**os.environ, "TMPDIR": str(self.work / "missing")}
        done = subprocess.run([BUILD / "cuspan", "export", "-o", self.fleet, path], env=environment, capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot create a temporary file in", done.stderr)
        self.assertEqual(names_of_all(self.fleet), ["cuspan-schema.json"])

        child = os.fork()
        if child == 0:
            os.execv(BUILD / "cuspan", ["cuspan", "export", "-q", "-o", str(self.fleet), str(path)])
        _, status, usage = os.wait4(child, 0)
        self.assertEqual(status, 0)
        limit = 256 if not SANITIZED else 2048
        self.assertLess(usage.ru_maxrss / 1024, limit)
        self.assertEqual(by_duckdb(self.fleet, "SELECT count(*), sum(length(attributes['text'])), count(DISTINCT name) FROM spans"),
                         [(count, count * (16 + size), count)])


if __name__ == "__main__":
    unittest.main()
