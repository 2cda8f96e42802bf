#!/usr/bin/env python3
"""Measures the tables of deploy/fleet/clickhouse in chDB, beside the table that the Collector's exporter creates, whose attributes
are maps only: bytes for each span, CPU time of inserts, merges and questions, peak memory.

    clickhouse.py [BUILD] [--copies N] [--keep FOLDER]

The spans are those of all recordings, copied N times (535: 10.6 million spans) with other IDs, processes, GPUs and hosts, and
durations that differ by up to 20 %. It needs chdb; start it with a Python that has it. --keep: the folder stays, and is used if it
exists."""

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/fleet"))
import clickhouse_case  # noqa: E402, which finds built
import built  # noqa: E402
import exporter_rows  # noqa: E402
from chdb_server import statements  # noqa: E402

COLUMNS = ", ".join(f"`{name}`" for name in exporter_rows.COLUMNS)
ID = "reinterpretAsUInt64(reverse(unhex({})))"
COPY = f"""INSERT INTO exporter.spans ({COLUMNS}) SELECT Timestamp + toIntervalSecond({{copy}} % 20 * 20),
    lower(hex(MD5(concat(TraceId, '-{{copy}}')))), lower(hex(bitXor({ID.format('SpanId')}, ({{copy}} + 1) * 1000))),
    if(ParentSpanId = '', '', lower(hex(bitXor({ID.format('ParentSpanId')}, ({{copy}} + 1) * 1000)))), TraceState, SpanName, SpanKind,
    ServiceName, mapApply((key, value) -> (key, multiIf(key IN ('service.instance.id', 'hw.id', 'cuda.device.uuid'),
        concat(value, '-{{machine}}'), key = 'host.name', 'node{{machine}}', value)), ResourceAttributes),
    ScopeName, ScopeVersion, SpanAttributes, toUInt64(Duration * (0.8 + 0.4 * randCanonical())), StatusCode, StatusMessage,
    {', '.join(f'`{name}`' for name in exporter_rows.COLUMNS[15:])} FROM exporter.once"""
INSERT = f"""INSERT INTO {{table}} ({COLUMNS}) SELECT {COLUMNS} FROM exporter.spans LIMIT {{rows}} OFFSET {{offset}}
    SETTINGS min_insert_block_size_rows = 65536, min_insert_block_size_bytes = 0, max_block_size = 65536, max_insert_threads = 1,
    max_threads = 1"""
START, END = "toUnixTimestamp64Nano(Timestamp)", "toUnixTimestamp64Nano(Timestamp) + toInt64(Duration)"
QUANTILES = "quantileExactWeighted(0.5)({0}, 1), quantileExactWeighted(0.99)({0}, 1), max({0})"
QUESTIONS = {  # of the exporter's table, of the views
    "kernels": (f"SELECT SpanAttributes['cuda.kernel.name'] AS kernel, count(), sum(Duration) AS total, {QUANTILES.format('Duration')}"
                " FROM exporter.spans WHERE SpanAttributes['cuda.activity'] = 'kernel' GROUP BY kernel ORDER BY total DESC LIMIT 20",
                f"SELECT kernel_full, count(), sum(duration_ns) AS total, {QUANTILES.format('duration_ns')}"
                " FROM cuspan.spans WHERE activity = 'kernel' GROUP BY kernel_full ORDER BY total DESC LIMIT 20"),
    "launch latency": ("SELECT SpanAttributes['cuda.activity'] AS kind, count(),"
                       f" {QUANTILES.format('''greatest(toInt64OrZero(SpanAttributes['cuda.start_delay']), 0)''')}"
                       " FROM exporter.spans WHERE SpanAttributes['cuda.start_delay'] != '' GROUP BY kind",
                       f"SELECT activity, count(), {QUANTILES.format('greatest(start_delay, 0)')}"
                       " FROM cuspan.spans WHERE start_delay IS NOT NULL GROUP BY activity"),
    "busy time": (f"SELECT ResourceAttributes['hw.id'] AS gpu, count(), intervalLengthSum({START}, {END}) AS busy FROM exporter.spans"
                  " WHERE SpanAttributes['cuda.activity'] != '' GROUP BY gpu ORDER BY busy DESC LIMIT 20",
                  "SELECT hw_id, count(), intervalLengthSum(start_ns, start_ns + duration_ns) AS busy FROM cuspan.spans"
                  " WHERE activity IS NOT NULL GROUP BY hw_id ORDER BY busy DESC LIMIT 20"),
    "slowest traces": (f"SELECT TraceId, max({END}) - min({START}) AS wall FROM exporter.spans GROUP BY TraceId ORDER BY wall DESC LIMIT 20",
                       "SELECT hex(trace_id), max(start_ns + duration_ns) - min(start_ns) AS wall FROM cuspan.spans GROUP BY trace_id"
                       " ORDER BY wall DESC LIMIT 20"),
}


class Measured:
    def __init__(self, connection):
        self.connection = connection

    def __call__(self, what, sql, runs=1):
        best = None
        for _ in range(runs):
            start, cpu = time.monotonic(), time.process_time()
            self.connection.query(sql)
            found = time.process_time() - cpu, time.monotonic() - start
            best = min(best or found, found)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{what:52} {best[0]:7.2f} s of CPU {best[1]:7.2f} s  peak so far {peak:5.0f} MB", flush=True)


def make_spans(connection, copies):
    """The exporter's table, with its codecs and indexes."""
    connection.query("CREATE DATABASE exporter")
    for table in ("once", "spans"):
        lines = connection.query("DESCRIBE TABLE cuspan.otel_traces", "TSV").bytes().decode().splitlines()
        columns = [f"`{line.split(chr(9))[0]}` {line.split(chr(9))[1]} CODEC(ZSTD(1))" for line in lines]
        indexes = [f"INDEX {kind}_{at} map{kind.title()}({at}) TYPE bloom_filter(0.01) GRANULARITY 1"
                   for at in ("ResourceAttributes", "SpanAttributes") for kind in ("keys", "values")]
        connection.query(f"CREATE TABLE exporter.{table} ({', '.join([*columns, *indexes])}, INDEX trace TraceId TYPE bloom_filter(0.001)"
                         " GRANULARITY 1) ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))")
    with tempfile.TemporaryDirectory() as folder:
        for path in clickhouse_case.RECORDINGS:
            file = Path(folder) / f"{path.stem}.jsonl"
            built.output_of("replay", "--quiet", "--file", file, path)
            rows = [exporter_rows.json.dumps(row) for line in file.open(encoding="utf-8") for row in exporter_rows.rows_of(line)]
            with connection.send_insert(f"INSERT INTO exporter.once ({COLUMNS})", "JSONEachRow") as inserter:
                inserter.append("\n".join(rows).encode())
                inserter.finish()
    for copy in range(copies):
        connection.query(COPY.format(copy=copy, machine=copy // 20))
    connection.query("OPTIMIZE TABLE exporter.spans FINAL")


def size(connection, database, table):
    found = connection.query("SELECT sum(rows), sum(bytes_on_disk) / sum(rows), count() FROM system.parts"
                             f" WHERE active AND database = '{database}' AND table = '{table}'", "TSV").bytes().decode().split()
    print(f"{database}.{table}: {int(found[0]):,} rows, {float(found[1]):.1f} bytes each, {found[2]} parts", flush=True)
    return int(found[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    parser.add_argument("--copies", type=int, default=535)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    built.BUILD = options.build.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary) / "chdb").resolve()
        is_made = folder.exists()
        connection = clickhouse_case.chdb.connect(str(folder))
        connection.query("DROP DATABASE IF EXISTS cuspan")
        text = clickhouse_case.SCHEMA.read_text(encoding="utf-8").replace("TTL toDateTime(time) + INTERVAL 7 DAY\n", "")
        for statement in statements(text.replace("TTL last_seen + INTERVAL 8 DAY;", ";")):
            connection.query(statement)
        if not is_made:
            make_spans(connection, options.copies)
        measured = Measured(connection)
        rows = size(connection, "exporter", "spans")
        few = min(rows, 1_000_000)
        connection.query("DROP TABLE IF EXISTS exporter.few")
        connection.query("CREATE TABLE exporter.few AS exporter.spans")
        connection.query("SYSTEM STOP MERGES exporter.few")
        measured(f"read {few:,} spans", f"SELECT {COLUMNS} FROM exporter.spans LIMIT {few} FORMAT Null SETTINGS max_threads = 1")
        measured(f"insert {few:,} spans, exporter's table", INSERT.format(table="exporter.few", rows=few, offset=0))
        connection.query("SYSTEM START MERGES exporter.few")
        measured("merge them", "OPTIMIZE TABLE exporter.few FINAL")
        connection.query("DROP TABLE exporter.few")
        connection.query("SYSTEM STOP MERGES cuspan.stored_spans")
        measured(f"insert {few:,} spans, stored_spans", INSERT.format(table="cuspan.otel_traces", rows=few, offset=0))
        connection.query("SYSTEM START MERGES cuspan.stored_spans")
        measured("merge them", "OPTIMIZE TABLE cuspan.stored_spans FINAL")
        measured("insert the others, with merges", INSERT.format(table="cuspan.otel_traces", rows=rows, offset=few))
        repeats = rows // 50
        measured(f"insert {repeats:,} spans again", INSERT.format(table="cuspan.otel_traces", rows=repeats, offset=5_003))
        size(connection, "cuspan", "stored_spans")
        for name, (of_exporter, of_views) in QUESTIONS.items():
            measured(f"{name}, exporter's table", of_exporter, runs=2)
            measured(f"{name}, stored_spans in parts", of_views, runs=2)
        measured("merge all", "OPTIMIZE TABLE cuspan.stored_spans FINAL")
        size(connection, "cuspan", "stored_spans")
        for name, (_, of_views) in QUESTIONS.items():
            measured(f"{name}, stored_spans merged", of_views, runs=2)
        connection.close()


if __name__ == "__main__":
    main()
