#!/usr/bin/env python3
"""The tables for ClickHouse (deploy/fleet/clickhouse/schema.sql): rows equal those of `cuspan export` column by column; repeated
spans; versions; retention.

    tables_test.py [--build BUILD-DIR] [unittest's arguments]

It needs chdb and duckdb: clickhouse_test.sh gets them from PyPI."""

import json
import re
import time
import unittest

import clickhouse_case
import duckdb
import exporter_rows
import gen_clickhouse
import gen_fleet_schema
from built import output_of
from clickhouse_case import SCHEMA, START, ClickHouse, document, span
from make_export import documents
from make_export import span as made_span

HOUR_NS = 3600 * 10**9
SPANS = [column for column in gen_fleet_schema.columns_of(gen_fleet_schema.SPAN_COLUMNS)]
RESOURCES = [column for column in gen_fleet_schema.columns_of(gen_fleet_schema.RESOURCE_COLUMNS)]
# docs/fleet-clickhouse.md explains each of them.
DIFFERENT = {"resource_id", *gen_clickhouse.NOT_SENT}
JSON = {"scope", "events", "links"}
OTHER = {"map": "Map(LowCardinality(String), String)", "id": "FixedString(16)", "uint64": "UInt64", "int64": "Int64", "flag": "Int64",
         "string": "String"}


def without_types(name, value):
    """The JSON of these columns without what the exporter does not send."""
    if name not in JSON or value is None:
        return value
    value = json.loads(value)
    if name == "scope":
        return {key: text for key, text in value.items() if key in ("name", "version")} or None
    for each in value:
        for key in ("flags", "dropped_attributes"):
            each.pop(key, None)
        each["attributes"] = {key: exporter_text(content) for key, content in (each.get("attributes") or {}).items()}
        each["trace_state"] = each.get("trace_state") or ""
    return value


def exporter_text(content):
    if isinstance(content, str):
        return content
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def same_value(text):
    """Doubles have more digits in cuspan's files than they need, and JSON has other escapes."""
    try:
        return json.loads(text) if text[:1] in "[{" else float(text) if "." in text else text
    except ValueError:
        return text


class Rows(ClickHouse):
    """The same spans by `cuspan export` and by the exporter."""

    def exported(self, lines, table):
        folder = self.work / f"fleet-{lines.stem}"
        if not folder.exists():
            output_of("export", "-q", "-o", folder, lines)
        columns = SPANS if table == "spans" else RESOURCES
        return self.of_duckdb(f"{folder}/{table}/**/*.parquet", columns)

    def of_duckdb(self, pattern, columns):
        names = [column.name for column in columns if column.name not in DIFFERENT]
        with duckdb.connect() as connection:
            rows = connection.execute(f"SELECT {', '.join(names)} FROM read_parquet($1, hive_partitioning = false)", [pattern]).fetchall()
        return [dict(zip(names, row)) for row in rows]

    def stored(self, table):
        """Through Parquet, so that both are read alike."""
        path = self.work / f"stored-{table}.parquet"
        path.unlink(missing_ok=True)
        columns = SPANS if table == "spans" else RESOURCES
        names = ", ".join(column.name for column in columns)
        data = self.connection.query(f"SELECT {names} FROM cuspan.{table} SETTINGS output_format_parquet_fixed_string_as_fixed_byte_array = 1,"
                                     " output_format_parquet_string_as_string = 1", "Parquet").bytes()
        path.write_bytes(data)
        return self.of_duckdb(str(path), columns)

    def in_order(self, rows):
        made = []
        for row in rows:
            made.append({name: {key: same_value(value[key]) for key in sorted(value)} if name == "attributes" else
                         bytes(value).hex() if name == "trace_id" else without_types(name, value) for name, value in row.items()})
        return sorted(made, key=lambda row: json.dumps([row.get("trace_id"), row.get("span_id"), row["instance"], row["device"], row["pid"]]))

    def test_all_recordings(self):
        self.load_recordings()
        expected, found = (self.in_order(rows) for rows in (self.exported(self.lines, "spans"), self.stored("spans")))
        self.assertGreater(len(expected), 20_000)
        self.assertEqual(len(found), len(expected))
        for column in SPANS:
            if column.name not in DIFFERENT:
                with self.subTest(column.name):
                    differences = [(a[column.name], b[column.name]) for a, b in zip(found, expected) if a[column.name] != b[column.name]]
                    self.assertEqual(differences[:3], [])
        # The test compares something in most columns.
        filled = {name for row in expected for name, value in row.items() if value not in (None, {}, "")}
        self.assertGreaterEqual(len(filled), 38, filled)
        expected, found = (self.in_order(rows) for rows in (self.exported(self.lines, "resources"), self.stored("resources")))
        self.assertGreater(len(expected), 10)
        self.assertEqual(found, expected)

    def test_each_resource_joins_its_spans(self):
        self.insert(document([span(1)], service__instance__id="joins"))
        self.assertEqual(self.rows("SELECT count() FROM cuspan.spans WHERE resource_id NOT IN (SELECT resource_id FROM cuspan.resources)"), [[0]])

    def test_hostile_spans(self):
        """Every type of value, NUL, and attributes whose type is not that of their column."""
        self.connection.query("TRUNCATE TABLE cuspan.stored_spans")
        lines = self.work / "hostile.jsonl"
        made = documents()
        for each in made:
            for resource_spans in each["resourceSpans"]:
                for scope_spans in resource_spans["scopeSpans"]:
                    # Starts after 2262 have no place in ClickHouse's time, a second attribute of a name none in cuspan's files.
                    scope_spans["spans"] = [each for each in scope_spans["spans"] if len(each["startTimeUnixNano"]) < 20 and each["name"]]
        lines.write_text("".join(json.dumps(each) + "\n" for each in made))
        exported = {(bytes(row["trace_id"]).hex(), row["span_id"], row["service_name"]): row for row in self.exported(lines, "spans")}
        self.assertEqual(self.insert_file(lines), self.value("SELECT count() FROM cuspan.stored_spans"))
        found = self.stored("spans")
        self.assertEqual(len(found), len(exported))
        for row in found:
            service = (row["service_name"] or "").split("\0")[0] or None  # cuspan's files end such a text at the NUL
            expected = exported[bytes(row["trace_id"]).hex(), row["span_id"], service]
            for name in ("name", "start_ns", "duration_ns", "span_kind", "status", "parent_id", "trace_state", "stream", "thread", "code_line",
                         "kernel_full", "start_delay", "correlation", "job", "pid", "step_copy"):
                if name == "step_copy" and row["step_copy"] is None:
                    continue
                self.assertEqual(row[name], expected[name], (row["name"], name))
            texts = {**row["attributes"]}
            for key, text in expected["attributes"].items():
                if key in texts:
                    self.assertEqual(same_value(texts.pop(key)), same_value(text), key)
            self.assertEqual(texts, {})

    def test_numbers_that_are_none_stay_attributes(self):
        attributes = {"cuda.stream.id": "seven", "cuda.context.id": "5", "cuda.activity": "", "training.step.copy": "maybe", "other": "x"}
        made = made_span(900, attributes=[{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()])
        self.insert({"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]})
        row = self.dicts(f"SELECT stream, context, activity, step_copy, attributes FROM cuspan.spans WHERE span_id = {int(made['spanId'], 16)}")[0]
        self.assertEqual(row, {"stream": None, "context": 5, "activity": None, "step_copy": None,
                               "attributes": {"cuda.stream.id": "seven", "cuda.activity": "", "training.step.copy": "maybe", "other": "x"}})


class Shape(ClickHouse):
    def described(self, table):
        return {name: kind for name, kind, *_ in self.rows(f"DESCRIBE TABLE cuspan.{table}")}

    def test_columns_of_the_schema(self):
        for table, columns, more in (("spans", SPANS, ["time"]), ("resources", RESOURCES, [])):
            found = self.described(table)
            self.assertEqual(list(found), [column.name for column in columns] + more)
            for column in columns:
                kind = found[column.name].replace("LowCardinality(Nullable(String))", "Nullable(String)").replace("LowCardinality(String)", "String")
                expected = OTHER[column.type].replace("LowCardinality(String)", "String")
                self.assertEqual(kind, f"Nullable({expected})" if column.is_optional else expected, column.name)

    def test_columns_of_the_exporter(self):
        self.assertEqual(list(self.described("otel_traces")), list(exporter_rows.COLUMNS))

    def test_a_second_run_changes_nothing(self):
        self.insert(document([span(1)]))
        before = [self.described(table) for table in ("spans", "stored_spans", "store_spans")]
        self.create()
        self.assertEqual([self.described(table) for table in ("spans", "stored_spans", "store_spans")], before)
        self.assertEqual(self.rows("SELECT count() FROM cuspan.spans"), [[1]])

    def test_another_version_is_refused(self):
        self.connection.query("ALTER TABLE cuspan.schema_version UPDATE version = 99 WHERE 1 SETTINGS mutations_sync = 1")
        self.assertRaisesRegex(Exception, "another version of these tables", self.create)
        self.connection.query(f"ALTER TABLE cuspan.schema_version UPDATE version = {gen_fleet_schema.VERSION} WHERE 1 SETTINGS mutations_sync = 1")
        self.create()

    def test_tables_of_an_earlier_release_get_new_columns(self):
        self.connection.query("DROP DATABASE cuspan")

        def without_steps(text):
            lines = [line for line in text.splitlines() if not line.split()[:1] in (["step"], ["step_kind"]) and " AS step" not in line
                     and "EXISTS step" not in line]
            text = "\n".join(lines).split("-- The columns of docs/fleet-schema.md")[0]
            return re.sub(r"'(?:cuda|training)\.step\.(?:number|kind)'", "'x'", text)

        made = [document([span(number, cuda__step__number=number, cuda__activity="kernel")]) for number in (1, 2)]
        self.create(without_steps)
        self.assertNotIn("step", self.described("stored_spans"))
        self.insert(made[0])
        self.create()
        self.insert(made[1])
        self.assertEqual(self.rows("SELECT span_id, step, attributes['cuda.step.number'], activity FROM cuspan.spans ORDER BY span_id"),
                         [[1, None, "1", "kernel"], [2, 2, "", "kernel"]])


class Repeats(ClickHouse):
    """Spans that arrive twice."""

    def setUp(self):
        for table in ("stored_spans", "stored_resources"):
            self.connection.query(f"DROP TABLE cuspan.{table} SYNC")
        self.connection.query("DROP TABLE cuspan.store_spans SYNC")
        self.connection.query("DROP TABLE cuspan.store_resources SYNC")
        self.create()
        self.connection.query("SYSTEM STOP MERGES cuspan.stored_spans")
        self.addCleanup(self.connection.query, "SYSTEM START MERGES cuspan.stored_spans")

    def counts(self):
        """(rows in the table, spans)"""
        return tuple(self.value(f"SELECT count() FROM cuspan.{table}") for table in ("stored_spans", "spans"))

    def test_the_same_insert_is_stored_once(self):
        batch = document([span(number, start=START + number * HOUR_NS) for number in range(1, 4)])
        self.insert(batch)
        self.insert(batch)
        self.assertEqual(self.counts(), (3, 3))

    def test_another_batch_with_the_same_spans(self):
        """Its rows are stored, but never count twice, before and after the partition is merged."""
        made = [span(number, start=START + number) for number in range(1, 11)]
        self.insert(document(made[:6]))
        self.insert(document(made[4:]))
        self.assertEqual(self.counts(), (12, 10))
        self.assertEqual(self.value("SELECT sum(duration_ns) FROM cuspan.spans"), 5000)
        self.assertEqual(self.value("SELECT count() FROM cuspan.spans WHERE span_id = 5"), 1)
        self.connection.query("SYSTEM START MERGES cuspan.stored_spans")
        self.connection.query("OPTIMIZE TABLE cuspan.stored_spans FINAL")
        self.assertEqual(self.counts(), (10, 10))

    def test_spans_that_differ_are_kept(self):
        """By trace, span, resource or start."""
        self.insert(document([span(1)]))
        self.insert(document([span(2)]))
        self.insert(document([span(1, trace=2)]))
        self.insert(document([span(1)], service__instance__id="other"))
        self.insert(document([span(1, start=START + 1)]))
        self.assertEqual(self.counts(), (5, 5))

    def test_a_resource_is_there_once(self):
        for number in range(1, 4):
            self.insert(document([span(number)]))
        self.assertEqual(self.value("SELECT count() FROM cuspan.resources"), 1)
        self.assertEqual(self.value("SELECT count() FROM cuspan.stored_resources"), 3)

    def test_the_server_closes_partitions_itself(self):
        """With the settings of the table, for partitions without a change for a second."""
        made = [span(number, start=START + number) for number in range(1, 11)]
        self.insert(document(made[:6]))
        self.insert(document(made[4:]))
        self.connection.query("SYSTEM START MERGES cuspan.stored_spans")
        self.connection.query("ALTER TABLE cuspan.stored_spans MODIFY SETTING min_age_to_force_merge_seconds = 1, merge_selecting_sleep_ms = 100,"
                              " max_merge_selecting_sleep_ms = 200")
        self.assertIn("min_age_to_force_merge_on_partition_only = 1", self.value("SHOW CREATE TABLE cuspan.stored_spans"))
        for _ in range(3000):
            if self.counts() == (10, 10):
                break
            time.sleep(0.1)
        self.assertEqual(self.counts(), (10, 10))
        self.assertEqual(self.value("SELECT count() FROM system.parts WHERE active AND table = 'stored_spans' AND database = 'cuspan'"), 1)


class Retention(ClickHouse):
    def test_old_partitions_are_dropped(self):
        text = SCHEMA.read_text(encoding="utf-8")
        self.assertTrue("TTL toDateTime(time) + INTERVAL 7 DAY\n" in text)
        self.connection.query("DROP DATABASE cuspan")
        for statement in clickhouse_case.statements(text):
            self.connection.query(statement)
        now = time.time_ns()
        self.insert(document([span(1, start=now - 9 * 24 * HOUR_NS), span(2, start=now - 6 * 24 * HOUR_NS), span(3, start=now)]))
        self.connection.query("OPTIMIZE TABLE cuspan.stored_spans FINAL")
        self.assertEqual(self.rows("SELECT span_id FROM cuspan.spans ORDER BY span_id"), [[2], [3]])
        # As deploy/fleet/clickhouse/apply.sh has it.
        self.connection.query("ALTER TABLE cuspan.stored_spans MODIFY TTL toDateTime(time) + INTERVAL 3 DAY SETTINGS mutations_sync = 1")
        self.connection.query("OPTIMIZE TABLE cuspan.stored_spans FINAL")
        self.assertEqual(self.rows("SELECT span_id FROM cuspan.spans"), [[3]])


if __name__ == "__main__":
    unittest.main()
