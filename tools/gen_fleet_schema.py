#!/usr/bin/env python3
"""Generates the schema of the Parquet files that `cuspan export` writes: docs/fleet-schema.md for people,
src/analysis/export/fleet_columns_table.c for the program, and python/cuspan/fleet/columns.json for `cuspan fleet`.

    tools/gen_fleet_schema.py             writes them
    tools/gen_fleet_schema.py --check     fails and prints the difference if one of them is out of date

The columns are below. Types, units and meanings of those that hold an attribute come from the registry, src/model/attributes.yaml. The tool
fails if an attribute does not exist there or has another type."""

import difflib
import json
import sys
from pathlib import Path

import attribute_registry
import gen_attributes

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/fleet-schema.md"
TABLE = ROOT / "src/analysis/export/fleet_columns_table.c"
LIST = ROOT / "python/cuspan/fleet/columns.json"

# Raise it for a change that is not in the list under "Versions" on the page.
VERSION = 1

# COLUMN | TYPE | SOURCE | UNIT | MEANING
# TYPE: int64, uint64, flag (of a bool), string, id (16 bytes), map; with "!", it is never null; with "+", it was added after the first
# release with this version, so older files lack it. SOURCE: "field", "resource KEY[ KEY...]" (the
# first that is present) or "attribute KEY"; the unit of the last two comes from the registry.
SPAN_COLUMNS = """
resource_id | uint64! | field | | the resource, as in the table of resources
service_name | string | resource service.name
job | string | resource slurm.job.id k8s.job.name
host | string | resource host.name
instance | string | resource service.instance.id
pid | int64 | resource process.pid
hw_id | string | resource hw.id
device | int64 | resource cuda.device.id
rank | int64 | resource cuda.process.rank
trace_id | id! | field | | the trace
span_id | uint64! | field | | the span. As 16 hexadecimal digits: `printf('%016x', span_id)`
parent_id | uint64 | field | | the parent span; null: none
name | string! | field | | the span's name; of a kernel its short name
activity | string | attribute cuda.activity
api | string | attribute cuda.api
kernel_full | string | attribute cuda.kernel.name
start_ns | int64! | field | ns | start since 1970. The rows of a file are in its order
duration_ns | int64! | field | ns | end minus start
span_kind | int64 | field | | OTLP's span kind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer; null: unspecified
status | int64 | field | | OTLP's status: 1 OK, 2 error; null: unset
status_message | string | field | | the message of the status
error | string | attribute error.type
context | int64 | attribute cuda.context.id
stream | int64 | attribute cuda.stream.id
thread | int64 | attribute cuspan.thread.id
thread_name | string | attribute thread.name
correlation | int64 | attribute cuda.correlation.id
start_delay | int64 | attribute cuda.start_delay
copy_kind | string | attribute cuda.memcpy.kind
copy_source | string | attribute cuda.memcpy.src_kind
copy_target | string | attribute cuda.memcpy.dst_kind
copy_bytes | int64 | attribute cuda.memcpy.bytes
fill_target | string | attribute cuda.memset.memory_kind
fill_bytes | int64 | attribute cuda.memset.bytes
graph_node | int64 | attribute cuda.graph.node.id
session_spans | int64 | attribute cuda.session.spans
step | int64 | attribute training.step.number
step_kind | string | attribute training.step.kind
step_copy | flag | attribute training.step.copy
engine_name | string | attribute engine.name
engine_iteration | int64 | attribute engine.iteration.number
engine_request_end | string | attribute engine.request.end
collective_operation | string | attribute collective.operation
collective_key | string | attribute collective.key
collective_communicator | string | attribute collective.communicator
collective_ranks | int64 | attribute collective.ranks
collective_bytes | int64 | attribute collective.bytes
code_function | string | attribute code.function.name
code_file | string | attribute code.file.path
code_line | int64 | attribute code.line.number
stack_id | string | attribute cuspan.stack.id
flags | int64 | field | | OTLP's flags; null: 0
trace_state | string | field | | the trace state
scope | string | field | | JSON: the scope's `name`, `version`, `attributes` and `schema_url`, and the resource's `resource_schema_url`
dropped_attributes | int64 | field | {attribute} | as the span says; null: 0. The same for the next two
dropped_events | int64 | field | {event} |
dropped_links | int64 | field | {link} |
attributes | map! | field | | all other attributes of the span, in their order, as text
attribute_types | string | field | | a letter for each entry of `attributes`: s string, i int, d double, b bool, j list or map as JSON. Null: there are none
events | string | field | | JSON: a list of objects with `time_ns`, `name` and `attributes`; null: none
links | string | field | | JSON: a list of objects with `trace_id`, `span_id`, `trace_state`, `flags`, `attributes` and `dropped_attributes`; null: none
"""

RESOURCE_COLUMNS = """
resource_id | uint64! | field | | hash of all attributes, the same in every export
service_name | string | resource service.name
job | string | resource slurm.job.id k8s.job.name
host | string | resource host.name
instance | string | resource service.instance.id
pid | int64 | resource process.pid
hw_id | string | resource hw.id
device | int64 | resource cuda.device.id
device_name | string | resource hw.name
rank | int64 | resource cuda.process.rank
attributes | map! | field | | all attributes of the resource, also those above, as text
attribute_types | string | field | | as in the table of spans
"""

DUCKDB = {"int64": "BIGINT", "uint64": "UBIGINT", "flag": "BIGINT", "string": "VARCHAR", "id": "BLOB", "map": "MAP(VARCHAR, VARCHAR)"}
PARQUET = {"int64": "INT64", "uint64": "UINT64", "flag": "INT64", "string": "STRING", "id": "FIXED[16]", "map": "MAP(STRING, STRING)"}
ATTRIBUTE_TYPES = {"int64": "int", "flag": "boolean", "string": "string"}


class Column:
    def __init__(self, line):
        cells = [cell.strip() for cell in line.split("|")]
        self.name, kind, source = cells[:3]
        self.type, self.is_optional, self.is_added = kind.rstrip("!+"), not kind.endswith("!"), kind.endswith("+")
        self.source, *self.keys = source.split()
        self.unit, self.meaning = (cells[3:] + ["", ""])[:2]


def columns_of(text):
    return [Column(line) for line in text.strip().splitlines()]


def complete(columns):
    """Fills in what the registry says."""
    groups = attribute_registry.read()
    spans, resources = groups["cuspan.span"], groups["cuspan.resource"]
    for column in columns:
        known = [(spans if column.source == "attribute" else resources).get(key) for key in column.keys]
        known = [facts for facts in known if facts]
        if not column.keys:
            continue
        if not known:
            raise gen_attributes.Missing(f"fleet schema: {column.name}: no such attribute: {' '.join(column.keys)}")
        facts = known[0]
        column.unit = facts.get("unit", "")
        if facts["type"] != ATTRIBUTE_TYPES[column.type]:
            raise gen_attributes.Missing(f"fleet schema: {column.name} is {column.type}, but {column.keys[0]} is {facts['type']}")
        column.meaning = " or ".join(f"`{key}`" for key in column.keys)
        if column.type == "flag":
            column.meaning += "; 1: true, 0: false"
    return columns


def row_of(column):
    source = {"field": "FLEET_FIELD", "resource": "FLEET_RESOURCE", "attribute": "FLEET_ATTRIBUTE"}[column.source]
    kind = {"id": "ID", "map": "MAP_KEY", "flag": "INT64"}.get(column.type, column.type.upper())
    keys = f'"{" ".join(column.keys)}"' if column.keys else "NULL"
    rows = [f'    {{"{column.name}", PARQUET_{kind}, {"true" if column.is_optional else "false"}, {source}, {keys}, {"true" if column.type == "flag" else "false"}}},']
    if column.type == "map":
        rows.append(rows[0].replace("MAP_KEY", "MAP_VALUE"))
    return rows


def table(spans, resources):
    lines = ["/* Generated by tools/gen_fleet_schema.py: do not edit. */", "/* clang-format off */", '#include "analysis/export/fleet_columns.h"', "",
             f'const char fleet_schema_version[] = "{VERSION}";', ""]
    for name, columns in ("span", spans), ("resource", resources):
        rows = [row for column in columns for row in row_of(column)]
        lines += [f"const struct fleet_column fleet_{name}_columns[] = {{", *rows, "};", "",
                  f"const size_t fleet_{name}_column_count = {len(rows)};", ""]
    return "\n".join(lines[:-1]) + "\n"


def list_of(**tables):
    """Names and DuckDB's types."""
    content = {name: {column.name: DUCKDB[column.type] for column in columns} for name, columns in tables.items()}
    added = {name: [column.name for column in columns if column.is_added] for name, columns in tables.items()}
    keys = {key: column.name for column in tables["spans"] for key in column.keys}
    return json.dumps({"version": VERSION, **content, "added": added, "keys": keys}, separators=(",", ":")) + "\n"


def rows_of(columns):
    def kind(column):
        return gen_attributes.typed(PARQUET[column.type], column.unit) + ("" if column.is_optional else ", required")
    return [(f"`{column.name}`", kind(column), column.meaning) for column in columns]


def page(spans, resources):
    head = ("column", "type, unit", "meaning")
    of_spans = {column.name for column in spans if column.source == "resource"}
    same = [f"`{column.name}`" for column in resources if column.name in of_spans]
    own = [column for column in resources if column.name not in of_spans]
    return TEXT.format(version=VERSION, spans=gen_attributes.table(head, rows_of(spans)),
                       same=", ".join(same), resources=gen_attributes.table(head, rows_of(own)))


TEXT = """# Schema of exported spans

The Parquet files that `cuspan export` writes, for queries with DuckDB, ClickHouse, pandas or Spark.
`tools/gen_fleet_schema.py` generates this page: do not edit it.

```
cuspan export -o fleet trace.jsonl
duckdb -c "SELECT name, count(*), sum(duration_ns) FROM 'fleet/spans/**/*.parquet' WHERE activity = 'kernel' GROUP BY name"
```

| engine | reads |
|---|---|
| DuckDB | `FROM 'fleet/spans/**/*.parquet'` |
| ClickHouse, chDB | `FROM file('fleet/spans/**/*.parquet', Parquet)` |
| pandas, pyarrow | `pandas.read_parquet('fleet/spans')`, `pyarrow.parquet.read_table('fleet/spans')` |
| Spark | `spark.read.parquet('fleet/spans')`; UINT64 is DECIMAL(20, 0) there. [A recipe](../examples/fleet/spark_fleet.py), tested with 4.3.0 |

pandas and pyarrow read all columns unless you name them with `columns=[...]`. ClickHouse does not decode `%2F` in `service`;
`service_name` has the name in every engine.

## Files

```
fleet/cuspan-schema.json
fleet/spans/date=2026-11-26/hour=03/service=train.py/8c5fe1a0b96d2f43-0d1c2b3a49586776.parquet
fleet/resources/91f0c3d2a4b5e687.parquet
fleet/recordings/77d1e0f9a8b3c2d4
```

| part | meaning |
|---|---|
| `cuspan-schema.json` | the version of the schema. `cuspan export` refuses others |
| `date=`, `hour=` | the start of the spans in UTC. A span belongs to the hour in which it starts, so a query for an hour that follows spans to their parents or GPU work reads the hour before, too |
| `service=` | `service.name`, percent-encoded: every byte except letters, digits, `.`, `_` and `-` is `%` and two hexadecimal digits. Longer than 180 bytes: cut, `~` and a hash. `__HIVE_DEFAULT_PARTITION__`: the resource has none. The exact name is in the column `service_name` |
| file of spans | the spans of one resource in one hour: one process's work on one device, or its calls. Its name is the resource's ID and a hash of all IDs of its spans, so a second export of the same spans replaces it. Above about 64 MB, another file follows |
| file of resources | all resources of one export; its name is a hash of their IDs. A resource may be in several files |
| `_closed.json` | in the folder of an hour and service that `cuspan fleet close` has closed: `files` has the names of its files, which have no repeated spans. Files that appear later are not in it. Most engines ignore names that start with `_`. Closed files are named by their resource and a hash |
| `closing` | the work of `cuspan fleet close`. `cuspan fleet` completes or discards what a killed run has left |
| file of recordings | empty; its name is a hash of an exported recording. A second export of the same recording is refused, because each replay gives its spans new IDs |

- Rows are in order of `start_ns`, in groups of up to 122,880. Pages are compressed by zstd. Strings have dictionaries. The
  footer has the minimum and maximum of every column of numbers.
- Files appear under their names when they are complete.
- The names of `date`, `hour` and `service` exist in paths only, not in files. Engines guess the type of `service`: a name
  like `2024` becomes a number.
- A file has at least 5 kB: 10,000 processes with 33 spans each make 20,000 files with 500 bytes a span, and each question
  takes 20 s of CPU time for opening them. `cuspan fleet close` merges files of one process only. For many short processes,
  use ClickHouse (`deploy/fleet`), or read their span files with `cuspan stat`.
- A killed export leaves a file that ends in `.tmp`: delete it.
- The footer of each file has the key `cuspan.schema` with the version, and `cuspan.table`: `spans` or `resources`.

## Spans

Columns may be null unless they are required. [attributes.md](attributes.md) describes the attributes that are named as the
meaning of a column.

{spans}

An attribute is either in its column or in `attributes`, never in both. It is in `attributes` if its type is not that of the
column, which happens in spans of other programs.

## Resources

The attributes of resources are in a table of their own, which also has these columns of spans:
{same}.

{resources}

## Exactness

An export has every span and every attribute. These have no place in the files; `cuspan export` counts and prints them:

- spans that end before they start: their duration is 0;
- spans without an end: their duration is 0;
- starts after the year 2262, which become the largest number;
- a second attribute of the same name in a span or resource;
- keys of attributes, names of events and values of resources with a NUL, which end there;
- bytes that are not UTF-8: they become U+FFFD;
- events without a time, counts of attributes that were dropped from events, scopes and resources, and entities of resources.

Bytes in attributes are base64 text, as in OTLP JSON.

Spans can be [repeated](fleet.md#repeated-spans). Remove duplicates by `(trace_id, span_id)`, for each partition once, when
it is complete, as `cuspan fleet close` does.

## Versions

This is version {version}. These changes keep the version, so queries must name their columns and ignore others:

- a new column, which is null in older files;
- an attribute that moves from `attributes` to a new column. Queries for both use
  `coalesce(column, CAST(attributes['KEY'] AS ...))`;
- a new value in a column, a new key in `cuspan-schema.json` or in a footer.

Everything else is a new version: a column that is removed, renamed, has another type, unit or meaning, becomes nullable, or
other names of files and folders. A new version goes into a folder of its own; an older `cuspan export` reads and writes
only its own version.
"""


def main():
    try:
        spans, resources = complete(columns_of(SPAN_COLUMNS)), complete(columns_of(RESOURCE_COLUMNS))
    except gen_attributes.Missing as missing:
        print(missing)
        return 1
    made = {PAGE: page(spans, resources), TABLE: table(spans, resources), LIST: list_of(spans=spans, resources=resources)}
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    is_old = False
    for path, text in made.items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if sys.argv[1:]:
            name = str(path.relative_to(ROOT))
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), name, name + " (made again)", n=1))
            is_old |= old != text
        elif old != text:
            path.write_text(text, encoding="utf-8")
    return int(is_old)


if __name__ == "__main__":
    sys.exit(main())
