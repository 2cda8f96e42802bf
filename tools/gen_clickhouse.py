#!/usr/bin/env python3
"""Generates deploy/fleet/clickhouse/schema.sql, the tables for ClickHouse, from the columns in tools/gen_fleet_schema.py.

    tools/gen_clickhouse.py             writes it
    tools/gen_clickhouse.py --check     fails and prints the difference if it is out of date

The Collector's exporter inserts into a table with its own columns. Materialized views compute those of the schema from them."""

import difflib
import sys
from pathlib import Path

import gen_attributes
import attribute_registry
import gen_fleet_schema

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
from cuspan.fleet import _sql  # noqa: E402

SCHEMA = ROOT / "deploy/fleet/clickhouse/schema.sql"

# Columns of the schema that the exporter does not send. They are null.
NOT_SENT = ("flags", "dropped_attributes", "dropped_events", "dropped_links", "attribute_types")

# Stored columns other than those of attributes: (column, type, codec, value from the exporter's columns).
LOW = "LowCardinality(String)"
MAP = "Map(LowCardinality(String), String)"
FIELDS = (
    ("service", LOW, "ZSTD(1)", "ServiceName"),
    ("resource_id", "UInt64", "ZSTD(1)", "cityHash64(mapKeys(ResourceAttributes), mapValues(ResourceAttributes))"),
    ("time", "DateTime64(9)", "Delta(8), ZSTD(1)", "Timestamp"),
    ("trace_id", "FixedString(16)", "ZSTD(1)", "toFixedString(unhex(TraceId), 16)"),
    ("span_id", "UInt64", "ZSTD(1)", "reinterpretAsUInt64(reverse(unhex(SpanId)))"),
    ("parent_id", "Nullable(UInt64)", "ZSTD(1)", "if(ParentSpanId = '', NULL, reinterpretAsUInt64(reverse(unhex(ParentSpanId))))"),
    ("name", LOW, "ZSTD(1)", "SpanName"),
    ("duration_ns", "Int64", "ZSTD(1)", "greatest(toInt64(Duration), 0)"),
    ("kind_text", LOW, "ZSTD(1)", "SpanKind"),
    ("status_text", LOW, "ZSTD(1)", "StatusCode"),
    ("status_message_text", LOW, "ZSTD(1)", "StatusMessage"),
    ("trace_state_text", LOW, "ZSTD(1)", "TraceState"),
    ("scope_name", LOW, "ZSTD(1)", "ScopeName"),
    ("scope_version", LOW, "ZSTD(1)", "ScopeVersion"),
    ("event_times", "Array(DateTime64(9))", "ZSTD(1)", "`Events.Timestamp`"),
    ("event_names", "Array(LowCardinality(String))", "ZSTD(1)", "`Events.Name`"),
    ("event_attributes", f"Array({MAP})", "ZSTD(1)", "`Events.Attributes`"),
    ("link_trace_ids", "Array(String)", "ZSTD(1)", "`Links.TraceId`"),
    ("link_span_ids", "Array(String)", "ZSTD(1)", "`Links.SpanId`"),
    ("link_trace_states", "Array(String)", "ZSTD(1)", "`Links.TraceState`"),
    ("link_attributes", f"Array({MAP})", "ZSTD(1)", "`Links.Attributes`"),
)
# Of the view: columns that are computed from stored ones.
COMPUTED = {
    "service_name": "nullIf(service, '')",
    "start_ns": "toUnixTimestamp64Nano(time)",
    "span_kind": "CAST(transform(kind_text, ['Internal', 'Server', 'Client', 'Producer', 'Consumer'], [1, 2, 3, 4, 5], NULL),"
                 " 'Nullable(Int64)')",
    "status": "CAST(transform(status_text, ['Ok', 'Error'], [1, 2], NULL), 'Nullable(Int64)')",
    "status_message": "nullIf(status_message_text, '')",
    "trace_state": "nullIf(trace_state_text, '')",
    "scope": """if(scope_name = '' AND scope_version = '', NULL, toJSONString(mapFilter((key, value) -> value != '',
        map('name', toString(scope_name), 'version', toString(scope_version)))))""",
    "events": """if(empty(event_names), NULL, toJSONString(arrayMap((time_ns, name, attributes) ->
        CAST((toUnixTimestamp64Nano(time_ns), name, attributes),
            'Tuple(time_ns Int64, name String, attributes Map(String, String))'),
        event_times, event_names, event_attributes)))""",
    "links": """if(empty(link_trace_ids), NULL, toJSONString(arrayMap((trace_id, span_id, trace_state, attributes) ->
        CAST((trace_id, span_id, trace_state, attributes),
            'Tuple(trace_id String, span_id String, trace_state String, attributes Map(String, String))'),
        link_trace_ids, link_span_ids, link_trace_states, link_attributes)))""",
}
# Strings with many values; the others have few in a part of the table.
MANY_VALUES = {"stack_id", "collective_key"}
CODECS = {"correlation": "Delta(8), ZSTD(1)"}


RENAMED = attribute_registry.renamed()


def keys_of(column):
    """Its attributes, then their names in earlier versions: other agents may still send those."""
    return [*column.keys, *(old for old, now in RENAMED.items() if now in column.keys)]


def value_of(column, source):
    """The first of the column's attributes that is present, and not empty."""
    forms = {"flag": "CAST(transform({}, ['true', 'false'], [1, 0], NULL), 'Nullable(Int64)')", "int64": "toInt64OrNull({})"}
    values = [forms.get(column.type, "nullIf({}, '')").format(f"{source}['{key}']") for key in keys_of(column)]
    return values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"


def type_of(column):
    if column.type in ("int64", "flag"):
        return "Nullable(Int64)"
    return "Nullable(String)" if column.name in MANY_VALUES else "LowCardinality(Nullable(String))"


def stored(columns):
    """(column, type, codec, value) of all stored columns of spans."""
    source = {"resource": "ResourceAttributes", "attribute": "SpanAttributes"}
    of_attributes = [(column.name, type_of(column), CODECS.get(column.name, "ZSTD(1)"), value_of(column, source[column.source]))
                     for column in columns if column.keys and column.name != "service_name"]
    keys = {kind: [key for column in columns if column.source == "attribute" and column.type == kind for key in keys_of(column)]
            for kind in ("string", "int64", "flag")}
    rest = (f"mapFilter((key, value) -> NOT ((value != '' AND key IN (\n        {quoted(keys['string'])}))\n"
            f"    OR (key IN (\n        {quoted(keys['int64'])})\n    AND toInt64OrNull(value) IS NOT NULL)\n"
            f"    OR (key IN ({quoted(keys['flag'])}) AND value IN ('true', 'false'))), SpanAttributes)")
    return [*FIELDS, *of_attributes, ("attributes", MAP, "ZSTD(1)", rest)]


def selected(columns, computed):
    for column in columns:
        if column.name in NOT_SENT:
            kind = "String" if column.type == "string" else "Int64"
            yield f"    CAST(NULL, 'Nullable({kind})') AS {column.name}"
        elif column.name in computed:
            yield f"    {computed[column.name]} AS {column.name}"
        else:
            yield f"    {column.name}"


def of_questions():
    """The expressions of `cuspan fleet` for the class of a span and its process."""
    expressions = {"class": _sql._CLASS, "process": "process_of()"}
    return {name: " ".join(_sql.expand(text, _sql.CLICKHOUSE).split()) for name, text in expressions.items()}


def quoted(keys):
    lines, line = [], ""
    for key in keys:
        if len(line) + len(key) > 100:
            lines.append(line.rstrip())
            line = ""
        line += f"'{key}', "
    return "\n        ".join([*lines, line.rstrip(", ")])


def schema(spans, resources):
    rows = stored(spans)
    names = {column.name for column in spans if column.keys}  # attributes that may have got a column after the table was made
    of_resource = {column.name: value_of(column, "resource_attributes") for column in resources if column.keys}
    return TEXT.format(
        version=gen_fleet_schema.VERSION, map=MAP, low=LOW,
        columns=",\n".join(f"    {name} {kind} CODEC({codec})" for name, kind, codec, _ in rows),
        added=",\n".join(f"    ADD COLUMN IF NOT EXISTS {name} {kind} CODEC({codec})" for name, kind, codec, _ in rows
                         if name in names),
        values=",\n".join(f"    {value} AS {name}" for name, _, _, value in rows),
        spans=",\n".join(selected(spans, COMPUTED)),
        **of_questions(),
        resources=",\n".join(selected(resources, {**of_resource, "attributes": "resource_attributes"})))


TEXT = """-- Tables for the spans of cuspan in ClickHouse. docs/fleet-clickhouse.md describes them.
-- tools/gen_clickhouse.py generates this file: do not edit it. It can be run again on an existing database.

CREATE DATABASE IF NOT EXISTS cuspan;

-- The version of these tables. Another version is refused: create the tables in another server, or drop the database.
CREATE TABLE IF NOT EXISTS cuspan.schema_version (version UInt32) ENGINE = MergeTree ORDER BY ();
INSERT INTO cuspan.schema_version SELECT {version} WHERE (SELECT count() FROM cuspan.schema_version) = 0;
SELECT throwIf(min(version) != {version} OR max(version) != {version},
    'the database cuspan has another version of these tables; use another server, or drop the database')
FROM cuspan.schema_version;

-- The Collector's exporter inserts here. Nothing is stored in this table: the views below fill the others from it, with the
-- rights of the user who runs this file, so that the exporter's user needs INSERT on this table only.
CREATE TABLE IF NOT EXISTS cuspan.otel_traces
(
    Timestamp DateTime64(9),
    TraceId String,
    SpanId String,
    ParentSpanId String,
    TraceState String,
    SpanName {low},
    SpanKind {low},
    ServiceName {low},
    ResourceAttributes {map},
    ScopeName String,
    ScopeVersion String,
    SpanAttributes {map},
    Duration UInt64,
    StatusCode {low},
    StatusMessage String,
    `Events.Timestamp` Array(DateTime64(9)),
    `Events.Name` Array({low}),
    `Events.Attributes` Array({map}),
    `Links.TraceId` Array(String),
    `Links.SpanId` Array(String),
    `Links.TraceState` Array(String),
    `Links.Attributes` Array({map})
)
ENGINE = Null;

-- One row for each span. A span that arrives twice has the same key, so merges remove it. An insert that the exporter repeats
-- is recognized among the last 10,000. When a partition has not changed for an hour, the server merges it to one part.
CREATE TABLE IF NOT EXISTS cuspan.stored_spans
(
{columns},
    INDEX start_ns toUnixTimestamp64Nano(time) TYPE minmax GRANULARITY 1,
    INDEX trace_id trace_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toStartOfHour(time, 'UTC')
PRIMARY KEY (service, resource_id, time)
ORDER BY (service, resource_id, time, trace_id, span_id)
TTL toDateTime(time) + INTERVAL 7 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;

-- In tables of an earlier release: columns that are new, null in older rows.
ALTER TABLE cuspan.stored_spans
{added};

CREATE MATERIALIZED VIEW IF NOT EXISTS cuspan.store_spans TO cuspan.stored_spans DEFINER = CURRENT_USER SQL SECURITY DEFINER AS
SELECT
{values}
FROM cuspan.otel_traces;

-- The same in the view of an earlier release.
ALTER TABLE cuspan.store_spans MODIFY QUERY
SELECT
{values}
FROM cuspan.otel_traces;

-- One row for each process and each of its devices.
CREATE TABLE IF NOT EXISTS cuspan.stored_resources
(
    resource_id UInt64,
    last_seen DateTime,
    resource_attributes {map} CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(last_seen)
ORDER BY resource_id
TTL last_seen + INTERVAL 8 DAY;

CREATE MATERIALIZED VIEW IF NOT EXISTS cuspan.store_resources TO cuspan.stored_resources DEFINER = CURRENT_USER SQL SECURITY DEFINER AS
SELECT cityHash64(mapKeys(ResourceAttributes), mapValues(ResourceAttributes)) AS resource_id,
    max(toDateTime(Timestamp)) AS last_seen, any(ResourceAttributes) AS resource_attributes
FROM cuspan.otel_traces
GROUP BY resource_id;

-- The columns of docs/fleet-schema.md, and the start as a time. FINAL leaves out repeated spans of partitions that are not merged to one part yet.
CREATE OR REPLACE VIEW cuspan.spans AS
SELECT
{spans},
    time
FROM cuspan.stored_spans FINAL;

-- For the dashboards: what `cuspan fleet` derives from the columns. class: kernel, copy, fill, gpu (other work), comm
-- (collectives), call, span.
CREATE OR REPLACE VIEW cuspan.dashboard_spans AS
SELECT *, start_ns + least(duration_ns, 9223372036854775807 - start_ns) AS end_ns,
    coalesce(error, CASE WHEN status = 2 THEN status_message END) AS error_text,
    {class} AS class,
    {process} AS process
FROM cuspan.spans
WHERE step_copy IS NULL;

CREATE OR REPLACE VIEW cuspan.resources AS
SELECT
{resources}
FROM cuspan.stored_resources FINAL;
"""


def main():
    try:
        spans = gen_fleet_schema.complete(gen_fleet_schema.columns_of(gen_fleet_schema.SPAN_COLUMNS))
        resources = gen_fleet_schema.complete(gen_fleet_schema.columns_of(gen_fleet_schema.RESOURCE_COLUMNS))
    except gen_attributes.Missing as missing:
        print(missing)
        return 1
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    text = schema(spans, resources)
    old = SCHEMA.read_text(encoding="utf-8") if SCHEMA.exists() else ""
    if sys.argv[1:]:
        name = str(SCHEMA.relative_to(ROOT))
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), name, name + " (made again)", n=1))
        return int(old != text)
    SCHEMA.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
