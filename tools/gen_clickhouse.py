#!/usr/bin/env python3
"""Generates deploy/fleet/clickhouse/schema.sql, the tables for ClickHouse, from the columns in tools/gen_fleet_schema.py.

    tools/gen_clickhouse.py             writes it
    tools/gen_clickhouse.py --check     fails and prints the difference if it is out of date

The table of spans has the columns into which the Collector's exporter inserts. The server computes those of the schema from them;
attributes that have a column, and IDs as text, are not stored."""

import difflib
import sys
from pathlib import Path

import gen_attributes
import gen_fleet_schema

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "deploy/fleet/clickhouse/schema.sql"

# Raise it for a change that `CREATE ... IF NOT EXISTS` and `ADD COLUMN IF NOT EXISTS` do not make of existing tables.
VERSION = 1

# Columns of the schema that the exporter does not send. Their types are in the view, and they are null.
NOT_SENT = ("flags", "dropped_attributes", "dropped_events", "dropped_links", "attribute_types")

# Strings with few values in a part of the table; the others have many.
MANY_VALUES = {"stack_id", "collective_key"}

# Of the view: columns that are computed from the exporter's.
COMPUTED = {
    "service_name": "nullIf(ServiceName, '')",
    "name": "SpanName",
    "start_ns": "toUnixTimestamp64Nano(Timestamp)",
    "duration_ns": "greatest(toInt64(Duration), 0)",
    "span_kind": "CAST(transform(SpanKind, ['Internal', 'Server', 'Client', 'Producer', 'Consumer'], [1, 2, 3, 4, 5], NULL), 'Nullable(Int64)')",
    "status": "CAST(transform(StatusCode, ['Ok', 'Error'], [1, 2], NULL), 'Nullable(Int64)')",
    "status_message": "nullIf(StatusMessage, '')",
    "trace_state": "nullIf(TraceState, '')",
    "scope": "if(ScopeName = '' AND ScopeVersion = '', NULL, toJSONString(mapFilter((key, value) -> value != '', map('name', toString(ScopeName), 'version', toString(ScopeVersion)))))",
    "events": """if(empty(`Events.Name`), NULL, toJSONString(arrayMap((time_ns, name, attributes) ->
        CAST((toUnixTimestamp64Nano(time_ns), name, attributes), 'Tuple(time_ns Int64, name String, attributes Map(String, String))'),
        `Events.Timestamp`, `Events.Name`, `Events.Attributes`)))""",
    "links": """if(empty(`Links.TraceId`), NULL, toJSONString(arrayMap((trace_id, span_id, trace_state, attributes) ->
        CAST((trace_id, span_id, trace_state, attributes),
            'Tuple(trace_id String, span_id String, trace_state String, attributes Map(String, String))'),
        `Links.TraceId`, `Links.SpanId`, `Links.TraceState`, `Links.Attributes`)))""",
}
# Of the table: columns that are stored, but have no attribute of their own.
STORED = {
    "resource_id": "UInt64 MATERIALIZED cityHash64(mapKeys(ResourceAttributes), mapValues(ResourceAttributes)) CODEC(ZSTD(1))",
    "trace_id": "FixedString(16) MATERIALIZED unhex(TraceId) CODEC(ZSTD(1))",
    "span_id": "UInt64 MATERIALIZED reinterpretAsUInt64(reverse(unhex(SpanId))) CODEC(ZSTD(1))",
    "parent_id": "Nullable(UInt64) MATERIALIZED if(ParentSpanId = '', NULL, reinterpretAsUInt64(reverse(unhex(ParentSpanId)))) CODEC(ZSTD(1))",
}


def value_of(column, source):
    """The first of the column's attributes that is present, and not empty."""
    values = [f"nullIf({source}['{key}'], '')" for key in column.keys]
    text = values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"
    return f"toInt64OrNull({source}['{column.keys[0]}'])" if column.type == "int64" else text


def type_of(column):
    if column.type == "int64":
        return "Nullable(Int64)"
    return "Nullable(String)" if column.name in MANY_VALUES else "LowCardinality(Nullable(String))"


def stored(columns):
    """Lines of the table: (column, definition)."""
    source = {"resource": "ResourceAttributes", "attribute": "SpanAttributes"}
    for column in columns:
        if column.name in STORED:
            yield f"    {column.name} {STORED[column.name]}"
        elif column.keys and column.name not in COMPUTED:
            yield f"    {column.name} {type_of(column)} MATERIALIZED {value_of(column, source[column.source])} CODEC(ZSTD(1))"


def selected(columns, extra):
    for column in columns:
        if column.name in NOT_SENT:
            kind = "String" if column.type == "string" else "Int64"
            yield f"    CAST(NULL, 'Nullable({kind})') AS {column.name}"
        elif column.name in extra:
            yield f"    {extra[column.name]} AS {column.name}"
        else:
            yield f"    {column.name}"


def quoted(keys):
    lines, line = [], ""
    for key in keys:
        if len(line) + len(key) > 100:
            lines.append(line.rstrip())
            line = ""
        line += f"'{key}', "
    return "\n        ".join([*lines, line.rstrip(", ")])


def schema(spans, resources):
    extra = {column.name: value_of(column, "ResourceAttributes") for column in resources if column.keys}
    keys = [key for column in spans if column.source == "attribute" for key in column.keys]
    return TEXT.format(version=VERSION, columns=",\n".join(stored(spans)), attribute_keys=quoted(keys),
                       spans=",\n".join(selected(spans, COMPUTED)),
                       resources=",\n".join(selected(resources, {**extra, "attributes": "ResourceAttributes"})))


TEXT = """-- Tables for the spans of cuspan in ClickHouse 25.8 or later. docs/fleet-clickhouse.md describes them.
-- tools/gen_clickhouse.py generates this file: do not edit it. It can be run again on an existing database.

CREATE DATABASE IF NOT EXISTS cuspan;

-- The version of these tables. Another version is refused: create the tables in a server or database of their own.
CREATE TABLE IF NOT EXISTS cuspan.schema_version (version UInt32) ENGINE = MergeTree ORDER BY version;
INSERT INTO cuspan.schema_version SELECT {version} WHERE (SELECT count() FROM cuspan.schema_version) = 0;
SELECT throwIf(min(version) != {version} OR max(version) != {version},
    'the database cuspan has another version of these tables; use a new server, or drop it') FROM cuspan.schema_version;

-- The Collector's exporter inserts into the columns with names like SpanName. EPHEMERAL columns are not stored: the columns
-- below are computed from them at the insert. A span that arrives twice has the same key, so merges remove it.
CREATE TABLE IF NOT EXISTS cuspan.otel_traces
(
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TraceId String EPHEMERAL,
    SpanId String EPHEMERAL,
    ParentSpanId String EPHEMERAL,
    TraceState LowCardinality(String) CODEC(ZSTD(1)),
    SpanName LowCardinality(String) CODEC(ZSTD(1)),
    SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName LowCardinality(String) CODEC(ZSTD(1)),
    ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) EPHEMERAL,
    Duration UInt64 CODEC(ZSTD(1)),
    StatusCode LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    Events Nested
    (
        Timestamp DateTime64(9),
        Name LowCardinality(String),
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    Links Nested
    (
        TraceId String,
        SpanId String,
        TraceState String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
{columns},
    attributes Map(LowCardinality(String), String) MATERIALIZED mapFilter((key, value) -> key NOT IN (
        {attribute_keys}), SpanAttributes) CODEC(ZSTD(1)),
    INDEX start_ns toUnixTimestamp64Nano(Timestamp) TYPE minmax GRANULARITY 1,
    INDEX trace_id trace_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toStartOfHour(Timestamp, 'UTC')
PRIMARY KEY (ServiceName, resource_id, Timestamp)
ORDER BY (ServiceName, resource_id, Timestamp, trace_id, span_id)
TTL toDateTime(Timestamp) + INTERVAL 7 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;

-- One row for each process and each of its devices.
CREATE TABLE IF NOT EXISTS cuspan.resource_attributes
(
    resource_id UInt64,
    last_seen DateTime,
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(last_seen)
ORDER BY resource_id
TTL last_seen + INTERVAL 8 DAY;

CREATE MATERIALIZED VIEW IF NOT EXISTS cuspan.resource_attributes_of_spans TO cuspan.resource_attributes AS
SELECT resource_id, max(toDateTime(Timestamp)) AS last_seen, any(ResourceAttributes) AS ResourceAttributes
FROM cuspan.otel_traces
GROUP BY resource_id;

-- The columns of docs/fleet-schema.md. FINAL leaves out repeated spans of partitions that are not merged yet.
CREATE OR REPLACE VIEW cuspan.spans AS
SELECT
{spans}
FROM cuspan.otel_traces FINAL;

CREATE OR REPLACE VIEW cuspan.resources AS
SELECT
{resources}
FROM cuspan.resource_attributes FINAL;
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
