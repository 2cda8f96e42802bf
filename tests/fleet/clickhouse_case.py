"""For tests of the tables and dashboards in deploy/fleet: chDB, which is ClickHouse's engine, with the tables, and the spans of all
recordings."""

import gzip
import json
import sys
import tempfile
import unittest
from pathlib import Path

import chdb

ROOT = Path(__file__).resolve().parents[2]
for folder in ("python", "tests/support", "tools"):
    sys.path.insert(0, str(ROOT / folder))
import exporter_rows  # noqa: E402
from built import output_of  # noqa: E402
from chdb_server import statements  # noqa: E402

SCHEMA = ROOT / "deploy/fleet/clickhouse/schema.sql"
RECORDINGS = sorted(path for folder in ("recordings", "training", "engines") for path in (ROOT / "examples" / folder).glob("*.cuspanrec"))
START = 1_790_000_000_000_000_000  # 2026-09-21 14:13:20 UTC


def attribute(key, value):
    kind = "boolValue" if isinstance(value, bool) else "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(number, start=START, duration=500, trace=1, name="k", **attributes):
    return {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": name, "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + duration),
            "attributes": [attribute(key.replace("__", "."), value) for key, value in attributes.items()]}


def document(spans, **resource):
    resource = {"service__name": "a", "service__instance__id": "i", "cuda__device__id": 0, "hw__id": "GPU-1", **resource}
    return {"resourceSpans": [{"resource": {"attributes": [attribute(key.replace("__", "."), value)
                                                           for key, value in resource.items() if value is not None]},
                               "scopeSpans": [{"spans": spans}]}]}


class ClickHouse(unittest.TestCase):
    """A new database cuspan for each class."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.work = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.connection = chdb.connect(str(cls.work / "clickhouse"))
        cls.create()

    @classmethod
    def tearDownClass(cls):
        cls.connection.close()

    @classmethod
    def create(cls, change=lambda text: text):
        """Runs schema.sql. Partitions are merged only where a test asks for it."""
        text = SCHEMA.read_text(encoding="utf-8").replace("min_age_to_force_merge_seconds = 3600", "min_age_to_force_merge_seconds = 0")
        # The recordings and START may be older than the retention.
        text = text.replace("TTL toDateTime(time) + INTERVAL 7 DAY\n", "").replace("TTL last_seen + INTERVAL 8 DAY;", ";")
        for statement in statements(change(text)):
            cls.connection.query(statement)

    @classmethod
    def load_recordings(cls):
        """All recordings, and a job with ranks and collectives; leaves them as lines of OTLP JSON, too."""
        cls.lines = cls.work / "all.jsonl"
        with cls.lines.open("wb") as out:
            for path in RECORDINGS:
                file = cls.work / f"{path.stem}.jsonl"
                output_of("replay", "--quiet", "--file", file, path)
                out.write(file.read_bytes())
            out.write(gzip.decompress((ROOT / "examples/training/late_rank.jsonl.gz").read_bytes()))
        cls.insert_file(cls.lines)

    @classmethod
    def insert_file(cls, path):
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            return exporter_rows.insert(cls.connection, file)

    @classmethod
    def insert(cls, *documents):
        return exporter_rows.insert(cls.connection, [json.dumps(each) for each in documents])

    @classmethod
    def rows(cls, sql, **parameters):
        """Lists of values."""
        text = cls.connection.query(sql, "JSONCompact", params=parameters or None).bytes().decode("utf-8", "replace")
        return json.loads(text)["data"]

    @classmethod
    def dicts(cls, sql):
        text = json.loads(cls.connection.query(sql, "JSON").bytes().decode("utf-8", "replace"))
        numbers = {column["name"] for column in text["meta"] if "Int" in column["type"] and "(" not in column["type"].replace("Nullable(", "")}
        return [{name: int(value) if name in numbers and value is not None else value for name, value in row.items()} for row in text["data"]]

    @classmethod
    def value(cls, sql, **parameters):
        return cls.rows(sql, **parameters)[0][0]
