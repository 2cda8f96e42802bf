#!/usr/bin/env python3
"""Millions of spans of all recordings, as many processes, hosts, GPUs and jobs of two days: `cuspan stat`, `cuspan fleet` with DuckDB,
and with ClickHouse's engine (chDB) give the same rows for every question, within their limits of memory.

    scale_test.py --build BUILD [--spans N] [--no-clickhouse] [unittest's arguments]

scale.sh gets its packages from PyPI. The spans, 2 million unless N is given, are made by tests/support/make_fleet.py, in TMPDIR."""

import json
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tests/support"))
import cuspan.fleet  # noqa: E402
import make_fleet  # noqa: E402
from built import BUILD, CLEAN, take_flag, take_option  # noqa: E402

SPANS, HAS_CLICKHOUSE = 2_000_000, True
MB, MIB = 10**6, 1 << 20
# Thirteen processes run at the same time here, and each of them needs some spans in memory. MANY spans have more distinct durations
# and requests.
STAT_BYTES_MAX, GROUPS_BYTES_MAX, FLEET_BYTES_MAX, MANY = 140 * MB, 220 * MB, 2048 * MIB, 10_000_000
# Questions, and the tables of cuspan stat with the same rows.
TABLES = {"kernels": "kernels", "calls": "calls", "waits": "synchronization", "errors": "errors", "copies": "copies",
          "launch_latency": "latency", "utilization": "devices"}
QUANTILES = ("median_ns", "p99_ns", "median_bytes")
# A process of the same rank, host and service as an earlier one has its number in the tables of cuspan stat only.
RANK_AND_PID = re.compile(r"^(rank .*), \d+\)$")
SQL = """CREATE DATABASE cuspan;
CREATE TABLE cuspan.schema_version (version UInt32) ENGINE = MergeTree ORDER BY version;
INSERT INTO cuspan.schema_version VALUES (1);
CREATE VIEW cuspan.spans AS SELECT * FROM file('{folder}/spans/**/*.parquet', Parquet);
CREATE VIEW cuspan.resources AS SELECT * FROM file('{folder}/resources/*.parquet', Parquet);
"""


def run_measured(work, *command):
    """Output and what it used (tests/support/run_measured.py)."""
    used = work / "used.json"
    done = subprocess.run([sys.executable, "-S", ROOT / "tests/support/run_measured.py", used, *map(str, command)],
                          capture_output=True, check=False, env={**CLEAN, "PYTHONPATH": str(ROOT / "python")})
    found = json.loads(used.read_text())
    assert done.returncode == 0, done.stderr.decode()
    name = " ".join(str(word) for word in command[1:] if "/" not in str(word))
    print(f"{name}: {found['wall_s']:.1f} s, {found['cpu_s']:.1f} s of CPU time, {found['peak_bytes'] / MB:.0f} MB", flush=True)
    return done.stdout.decode(), found


def plain(row):
    """Ratios are compared to eight digits. Columns that are only in one of the two are not compared."""
    return {name: f"{value:.8g}" if isinstance(value, float) or name.endswith(("share", "concurrency", "per_s", "mean_requests")) else value
            for name, value in row.items() if name not in ("quantiles", "hw_id")}


def in_order(rows):
    return sorted((plain(row) for row in rows), key=lambda row: json.dumps(row, sort_keys=True, default=str))


def without_pid(name):
    return RANK_AND_PID.sub(r"\1)", name)


def names_of(rows):
    return {name for row in rows for name in row}


class Scale(unittest.TestCase):
    maxDiff = 3000

    @classmethod
    def setUpClass(cls):
        cls.work = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.input, cls.folder = cls.work / "input", cls.work / "fleet"
        start = time.monotonic()
        cls.made = make_fleet.make(BUILD, cls.input, SPANS)
        print(f"{cls.made} in {time.monotonic() - start:.1f} s", flush=True)
        text, cls.stat_used = run_measured(cls.work, BUILD / "cuspan", "stat", "--json", "--top", "0", cls.input)
        cls.tables = json.loads(text)
        _, cls.export_used = run_measured(cls.work, BUILD / "cuspan", "export", "-q", "-o", cls.folder, cls.input)
        cls.engines = {"DuckDB": cuspan.fleet.open(cls.folder, threads=2)}
        cls.server = None
        if HAS_CLICKHOUSE:
            cls.start_server()
        cls.answers = {}

    @classmethod
    def start_server(cls):
        (cls.work / "init.sql").write_text(SQL.format(folder=cls.folder))
        cls.server = subprocess.Popen(
            [sys.executable, ROOT / "tests/fleet/chdb_server.py", "--data", cls.work / "chdb", "--init", cls.work / "init.sql"],
            stdout=subprocess.PIPE, text=True)
        line = cls.server.stdout.readline()
        assert line.startswith("listening on "), line
        cls.engines["ClickHouse"] = cuspan.fleet.open(f"clickhouse://127.0.0.1:{int(line.split()[-1])}")

    @classmethod
    def tearDownClass(cls):
        for fleet in cls.engines.values():
            fleet.close()
        if cls.server:
            cls.server.kill()
            cls.server.communicate()

    def rows(self, engine, question):
        """All rows of a question, asked once."""
        if (engine, question) not in self.answers:
            start = time.monotonic()
            self.answers[engine, question] = self.ask(engine, question)
            print(f"{engine}, {question}: {time.monotonic() - start:.1f} s", flush=True)
        return self.answers[engine, question]

    def ask(self, engine, question):
        """DuckDB as a command, whose memory is measured."""
        if engine != "DuckDB":
            return self.engines[engine].ask(question, top=0).dicts()
        text, used = run_measured(self.work, sys.executable, "-m", "cuspan.fleet", question, self.folder, "--top", "0", "--json",
                                  "--threads", "2")
        self.assertLess(used["peak_bytes"], FLEET_BYTES_MAX)
        return json.loads(text)[question]

    def stat(self, *arguments, of=None):
        text, used = run_measured(self.work, BUILD / "cuspan", "stat", "--json", "--top", "0", *arguments, of or self.input)
        self.assertLess(used["peak_bytes"], GROUPS_BYTES_MAX if SPANS <= MANY else 2048 * MIB)
        return json.loads(text)

    def test_tables_of_stat(self):
        for question, table in TABLES.items():
            for engine in self.engines:
                found = self.rows(engine, question)
                self.assertGreater(len(found), 3, question)
                names = names_of(found)
                expected = [{name: value for name, value in row.items() if name in names} for row in self.tables[table]]
                for row in expected:
                    if "process" in row:
                        row["process"] = without_pid(row["process"])
                self.assert_equal_rows(found, expected, (engine, question))

    def assert_equal_rows(self, found, expected, what):
        """With many spans, `cuspan stat` rounds quantiles by less than 1 %: its tables share a million distinct values. Those of
        `cuspan fleet` are exact up to a million of each row."""
        if SPANS > MANY:
            found, expected = ([dict(row) for row in rows] for rows in (found, expected))
            order = sorted(names_of(found) - set(QUANTILES) - {"share"})
            for rows in (found, expected):
                rows.sort(key=lambda row: json.dumps([row.get(name) for name in order]))
            for one, other in zip(found, expected):
                for name in QUANTILES:
                    if name in one:
                        self.assertLessEqual(abs(one[name] - other[name]), 0.01 * other[name] + 1, (what, one, other))
                        one.pop(name), other.pop(name)
        self.assertEqual(in_order(found), in_order(expected), what)

    def test_every_span_counts_once(self):
        counted = sum(row["count"] for row in self.tables["calls"])
        self.assertEqual(counted, sum(row["calls"] for row in self.tables["headline"]))
        for engine in self.engines:
            number, = self.engines[engine].sql("SELECT count(*) FROM spans").fetchone()
            self.assertEqual(number, self.made["spans"], engine)
            self.assertEqual(sum(row["spans"] for row in self.rows(engine, "duplicates")), number)
            self.assertEqual(sum(row["repeated"] for row in self.rows(engine, "duplicates")), 0)

    def test_groups_of_processes(self):
        names = ("group", "name", "api", "count", "errors", "total_ns", "median_ns", "p99_ns", "min_ns", "max_ns")
        expected = [row for row in self.stat("--by", "process", "--table", "calls")["calls"] if not row["group"].startswith("rank ")]
        self.assertGreater(len(expected), 50)
        for engine in self.engines:
            found = [row for row in self.engines[engine].calls(by="process", top=0).dicts() if not row["group"].startswith("rank ")]
            self.assert_equal_rows([{name: row[name] for name in names} for row in found],
                                   [{name: row[name] for name in names} for row in expected], engine)

    def test_engines(self):
        for question in "iterations", "engine_requests":
            expected = self.tables[question]
            self.assertGreater(len(expected), 1)
            for engine in self.engines:
                rows = self.engines[engine].ask(question, by="process", top=0).dicts()
                found = [{"process": row.pop("group"), **{name: value for name, value in row.items() if name != "gpu_ns"}} for row in rows]
                self.assertEqual(in_order(found), in_order(expected), (engine, question))

    def test_groups_add_up(self):
        """Each group has tables of its own, so this is also a test of memory."""
        whole, = self.tables["headline"]
        for by in ("thread", "stream") if SPANS > MANY else ("stream",):
            rows = self.stat("--by", by, "--table", "headline")["headline"]
            for name in ("calls", "call_ns", "kernels", "kernel_ns"):
                self.assertEqual(sum(row[name] for row in rows), whole[name], (by, name))

    def test_requests(self):
        """Of one job: `cuspan stat` keeps some thousand groups, of traces with calls. A serving engine's requests have none."""
        names = ("wall_ns", "calls", "call_ns", "errors", "kernels", "kernel_ns", "move_ns")
        path = sorted(self.input.iterdir())[0]
        table = self.stat("--by", "request", "--table", "headline", of=path)["headline"]
        expected = {row["group"]: [row[name] for name in names] for row in table if row["group"] != "(no request)"}
        self.assertGreater(len(expected), 1000)
        for engine in self.engines:
            found = {row["trace_id"]: [row[name] for name in names]
                     for row in self.engines[engine].slow_requests(top=0, job=str(make_fleet.job_of(0))).dicts() if row["calls"]}
            if len(expected) < len(found):
                self.assertGreater(len(found), 4096)
                found = {trace: found[trace] for trace in expected}
            self.assertEqual(found, expected, engine)

    def test_steps(self):
        names = ("calls", "call_ns", "errors", "kernels", "kernel_ns", "move_ns", "moved_bytes")
        table = self.stat("--by", "step", "--table", "headline")["headline"]
        expected = {row["group"]: [row[name] for name in names] for row in table if row["group"] != "(no step)"}
        for engine in self.engines:
            found = {str(row["step"]): [row[name] for name in names] for row in self.rows(engine, "steps")}
            self.assertGreater(len(found), 5)
            self.assertEqual(found, expected, engine)

    def test_code_lines(self):
        """stat also reads stacks. The rows with a line of a file are the same."""
        is_line = re.compile(r"[^(].*\.py:\d+")
        names = ("self_ns", "launches", "wait_ns", "copied_bytes")
        table = self.tables["code"]
        expected = {(row["place"], row["function"]): [row[name] for name in names] for row in table
                    if is_line.fullmatch(row["place"]) and any(row[name] for name in names)}
        for engine in self.engines:
            rows = self.rows(engine, "code_lines")
            found = {(row["place"], row.get("function")): [row[name] for name in names] for row in rows
                     if is_line.fullmatch(row["place"])}
            self.assertGreater(len(found), 5)
            self.assertEqual(found, expected, engine)
            for name in names:
                self.assertEqual(sum(row[name] for row in rows), sum(row[name] for row in table), name)

    def test_memory(self):
        expected = {}
        for row in self.tables["memory"]:
            if row["kind"] not in ("all", "array"):
                sums = expected.setdefault((without_pid(row["process"]), row["kind"]), [0, 0, 0])
                sums[0] += row["allocations"]
                sums[1] += row["total_bytes"]
                sums[2] = max(sums[2], row["max_bytes"])
        for engine in self.engines:
            found = {(row["process"], row["kind"]): [row["allocations"], row["total_bytes"], row["max_bytes"]]
                     for row in self.rows(engine, "memory") if row["kind"] != "array"}
            self.assertGreater(len(found), 20)
            self.assertEqual(found, expected, engine)

    def test_engines_agree(self):
        """Also on the questions without a table of cuspan stat."""
        for question in cuspan.fleet.questions():
            with self.subTest(question):
                both = [self.rows(engine, question) for engine in self.engines]
                self.assertGreater(len(both[0]), question != "engine_requests")  # of one engine
                self.assertEqual(in_order(both[0]), in_order(both[-1]))

    def test_memory_of_the_programs(self):
        self.assertLess(self.stat_used["peak_bytes"], STAT_BYTES_MAX if SPANS <= MANY else 2048 * MIB)
        self.assertLess(self.export_used["peak_bytes"], 256 * MIB)

    def test_bytes_of_a_span(self):
        size = sum(path.stat().st_size for path in self.folder.rglob("*.parquet"))
        print(f"{size / self.made['spans']:.1f} bytes a span", flush=True)
        self.assertLess(size / self.made["spans"], 30)


if __name__ == "__main__":
    SPANS = int(take_option("--spans", SPANS))
    HAS_CLICKHOUSE = not take_flag("--no-clickhouse")
    unittest.main(verbosity=2)
