#!/usr/bin/env python3
"""`cuspan fleet --engine clickhouse://...`: all rows of all questions equal DuckDB's, over HTTP with ClickHouse's engine; values of
users stay data; TLS, passwords and errors.

    fleet_clickhouse_test.py --build BUILD-DIR [unittest's arguments]

It needs duckdb, chdb, lz4 and clickhouse-cityhash: fleet_test.sh gets them from PyPI."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fleet_test as shared  # noqa: E402
from fleet_test import HOSTILE, ROOT, document, groups, in_order, kernel, output_of  # noqa: E402

import cuspan.fleet  # noqa: E402
from cuspan.fleet import Problem  # noqa: E402
from cuspan.fleet import _engine_clickhouse as engine  # noqa: E402
from cuspan.fleet.__main__ import main as command  # noqa: E402

TABLES = """CREATE DATABASE IF NOT EXISTS cuspan;
CREATE TABLE cuspan.schema_version (version UInt32) ENGINE = MergeTree ORDER BY version;
INSERT INTO cuspan.schema_version SELECT 1;
CREATE TABLE cuspan.spans ENGINE = MergeTree ORDER BY start_ns AS SELECT * FROM file('{folder}/spans/**/*.parquet', Parquet);
CREATE TABLE cuspan.resources ENGINE = MergeTree ORDER BY resource_id AS SELECT * FROM file('{folder}/resources/*.parquet', Parquet);
CREATE DATABASE old;
CREATE TABLE old.schema_version (version UInt32) ENGINE = MergeTree ORDER BY version;
INSERT INTO old.schema_version SELECT 7;
CREATE DATABASE half;
CREATE TABLE half.schema_version (version UInt32) ENGINE = MergeTree ORDER BY version;
INSERT INTO half.schema_version SELECT 1;
"""


class Server:
    """ClickHouse's HTTP interface over chDB, with the spans of a folder."""

    def __init__(self, folder, *options):
        self.temporary = tempfile.TemporaryDirectory()
        init = Path(self.temporary.name) / "init.sql"
        init.write_text(TABLES.format(folder=folder))
        self.process = subprocess.Popen([sys.executable, str(ROOT / "tests/fleet/chdb_server.py"), "--data", f"{self.temporary.name}/data",
                                         "--port", "0", "--init", str(init), *map(str, options)], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(re.search(r"listening on (\d+)", line).group(1))
        self.url = f"clickhouse://127.0.0.1:{self.port}"

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.temporary.cleanup()


def rounded(rows):
    """Engines divide in another order."""
    return in_order({name: f"{value:.12g}" if isinstance(value, float) else value for name, value in row.items()} for row in rows)


class Equal(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "fleet"
        output_of("export", "-q", "-o", folder, *shared.RECORDINGS, ROOT / "examples/training/late_rank.jsonl.gz",
                  *shared.made_engines(folder.parent))
        cls.server = Server(folder)
        cls.duckdb = cuspan.fleet.open(folder)
        cls.clickhouse = cuspan.fleet.open(cls.server.url)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.duckdb.close()

    def compare(self, question, **options):
        expected = self.duckdb.ask(question, **options)
        found = self.clickhouse.ask(question, **options)
        self.assertEqual(rounded(found.dicts()), rounded(expected.dicts()))
        if expected.rows:
            self.assertEqual(found.columns, expected.columns)
        return len(found.rows)

    def test_all_rows_of_all_questions(self):
        for i, question in enumerate(cuspan.fleet.questions()):
            for by in groups(i):
                with self.subTest(question, by=by):
                    rows = self.compare(question, by=by, top=0)
                    self.assertTrue(rows or (by and question in ("collectives", "stragglers")))  # one group lacks the other ranks

    def test_engines_by_attributes(self):
        for question in "iterations", "engine_requests":
            for by in shared.GROUPS[-4:]:
                with self.subTest(question, by=by):
                    self.assertGreater(self.compare(question, by=by, top=0), 1)

    def test_filters(self):
        middle = sum(self.duckdb.sql("SELECT min(start_ns), max(start_ns) FROM spans").fetchone()) // 2
        gpu, host = self.duckdb.sql("SELECT max(hw_id), max(host) FROM spans").fetchone()
        for filters in ({"service": "threads"}, {"since": middle}, {"until": middle}, {"gpu": gpu}, {"gpu": "0"}, {"host": host}, {"rank": 1},
                        {"release": "none"}, {"job": "none"}):
            for question in ("kernels", "utilization", "slow_requests", "steps"):
                with self.subTest(question, **filters):
                    self.compare(question, top=0, **filters)
        self.assertGreater(self.compare("kernels", service="threads"), 0)
        self.assertGreater(self.compare("kernels", until=middle), 0)

    def test_quantiles_are_exact(self):
        """However many distinct values there are: DuckDB rounds them beyond a number."""
        with contextlib.ExitStack() as stack:
            stack.callback(setattr, self.clickhouse, "distinct_max", self.clickhouse.distinct_max)
            self.clickhouse.distinct_max = 20
            self.assertEqual({row["quantiles"] for row in self.clickhouse.kernels(top=0).dicts()}, {"exact"})
            self.compare("kernels", top=0)

    def test_only_the_first_rows(self):
        for by in (None, "process"):
            self.assertGreater(self.compare("slow_requests", top=3, by=by), 2)

    def test_your_own_query(self):
        result = self.clickhouse.sql("SELECT count(*) AS n, class FROM spans WHERE service_name = $service GROUP BY class", {"service": "threads"})
        expected = self.duckdb.sql("SELECT count(*) AS n, class FROM spans WHERE service_name = $service GROUP BY class", {"service": "threads"})
        self.assertEqual(sorted(result.fetchall()), sorted(expected.fetchall()))
        self.assertEqual(list(result.df().columns), ["n", "class"])

    def test_repeated_spans(self):
        """In a table that has them. The view of deploy/fleet/clickhouse leaves them out."""
        self.compare("kernels", top=0, distinct=True)

    def test_the_command(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(command(["kernels", "--engine", self.server.url, "--json", "--top", "0"]), 0)
        self.assertEqual(json.loads(out.getvalue())["kernels"], self.clickhouse.kernels(top=0).dicts())


class Hostile(shared.Folder):
    def test_names_are_data(self):
        names = [*HOSTILE, "{database:Identifier}", "\\N", "\\'", "a\tb"]
        parts = [document([kernel(i, 100 + i, name=name, cuda__kernel__name=name)], service__name=name, host__name=name,
                          slurm__job__id=name, hw__id=name, service__version=name, service__instance__id=str(i))
                 for i, name in enumerate(names)]
        server = Server(self.export(*parts))
        self.addCleanup(server.stop)
        fleet = cuspan.fleet.open(server.url)
        for i, name in enumerate(names):
            filtered = ("service", "host", "job", "gpu", "release")
            for filters in ({key: name} for key in (filtered if os.environ.get("CUSPAN_LONG") else filtered[i % 5:i % 5 + 1])):
                self.assertEqual([(row["name"], row["total_ns"]) for row in fleet.kernels(**filters).dicts()], [(name, 100 + i)], filters)
        for by in ("service", "host", "job", "gpu"):
            self.assertEqual({row["group"] for row in fleet.kernels(by=by, top=0).dicts()}, set(names))
        self.assertEqual(fleet.kernels(service="a\0b").rows, [])
        self.assertEqual(fleet.sql("SELECT $a AS a, $b AS b, $c AS c", {"a": "a\0'\\\n", "b": ["'", "\\", "\0,\n"], "c": -3}).fetchall(),
                         [("a\0'\\\n", ["'", "\\", "\0,\n"], -3)])
        for database in ("cuspan`", "cuspan;--", "a b", "%00"):
            with self.assertRaises(Problem):
                cuspan.fleet.open(f"{server.url}/{database}")


def certificate(folder):
    """Of an authority for 127.0.0.1."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key.pem", "-out", folder / "cert.pem",
                    "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


class Access(shared.Folder):
    def setUp(self):
        super().setUp()
        os.environ.pop(engine.PASSWORD, None)
        self.addCleanup(os.environ.pop, engine.PASSWORD, None)

    def start(self, *options):
        server = Server(self.export(document([kernel(1, 10)])), *options)
        self.addCleanup(server.stop)
        return server

    def fails(self, expected, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertEqual(command(["kernels", *map(str, arguments)]), 1)
        self.assertEqual(out.getvalue(), "")
        self.assertTrue(err.getvalue().startswith("cuspan fleet: ") and err.getvalue().count("\n") == 1, err.getvalue())
        self.assertIn(expected, err.getvalue())
        return err.getvalue()

    def test_passwords(self):
        server = self.start("--user", "reader:reader:pä ss'\\")
        url = f"clickhouse://reader@127.0.0.1:{server.port}"
        self.fails("Authentication failed: password is incorrect", "--engine", url)
        self.fails("set the password with CUSPAN_CLICKHOUSE_PASSWORD or --password-file", "--engine", url)
        os.environ[engine.PASSWORD] = "pä ss'\\"
        self.assertEqual(cuspan.fleet.open(url).kernels().dicts()[0]["count"], 1)
        os.environ[engine.PASSWORD] = "wrong"
        path = self.work / "password"
        path.write_text("pä ss'\\\n")
        self.assertEqual(cuspan.fleet.open(url, password_file=path).kernels().dicts()[0]["count"], 1)
        self.fails("cannot read ", "--engine", url, "--password-file", self.work / "none")
        path.write_bytes(b"\xff")
        self.fails("it is not UTF-8", "--engine", url, "--password-file", path)
        text = self.fails("the address has a password, which other users of this machine can see", "--engine", "clickhouse://a:secret@h")
        self.assertNotIn("secret", text)
        text = self.fails("is not an address", "--engine", "clickhous://a:secret@h")
        self.assertNotIn("secret", text)

    def test_tls(self):
        cert, key = certificate(self.work)
        server = self.start("--cert", cert, "--key", key)
        url = f"clickhouses://127.0.0.1:{server.port}"
        self.fails("cannot trust 127.0.0.1", "--engine", url)
        self.assertEqual(cuspan.fleet.open(f"{url}?ca={cert}").kernels().dicts()[0]["count"], 1)
        self.fails("cannot read ", "--engine", f"{url}?ca={self.work}/none")
        self.fails("cannot connect to ClickHouse at 127.0.0.1", "--engine", f"{url}?secure=0")

    def test_addresses(self):
        for url, host, port, secure, database, user in (
                ("clickhouse://db", "db", 8443, True, "cuspan", "default"), ("clickhouse://localhost", "localhost", 8123, False, "cuspan", "default"),
                ("clickhouse://u@db:1/d?secure=0", "db", 1, False, "d", "u"), ("clickhouses://127.0.0.1/x", "127.0.0.1", 8443, True, "x", "default"),
                ("clickhouse://[::1]:9", "::1", 9, False, "cuspan", "default"), ("clickhouse://a%40b@10.0.0.1", "10.0.0.1", 8443, True, "cuspan", "a@b")):
            found = engine.parse(url)
            self.assertEqual((found.host, found.port, found.is_secure, found.database, found.user), (host, port, secure, database, user), url)

    def test_errors(self):
        server = self.start()
        self.fails("has version 7 of the schema, and this cuspan reads version 1", "--engine", f"{server.url}/old")
        self.fails("create its tables: deploy/fleet/clickhouse", "--engine", f"{server.url}/none")
        self.fails("cannot answer kernels: ", "--engine", f"{server.url}/half")
        self.fails("create its tables: deploy/fleet/clickhouse", "--engine", f"{server.url}/half")
        server.stop()
        self.fails("cannot connect to ClickHouse at 127.0.0.1", "--engine", server.url)
        self.fails("cannot connect to ClickHouse at no-such-host.invalid:8443", "--engine", "clickhouse://no-such-host.invalid")
        self.fails("name either a folder", "--engine", server.url, self.work)
        self.fails("name either a folder")
        for url in ("clickhouse://", "http://h", "clickhouse://h:port", "clickhouse://h?tls=1"):
            self.fails("is not an address", "--engine", url)

    def test_another_server(self):
        code = ("from http.server import *\nclass H(BaseHTTPRequestHandler):\n def do_POST(self):\n  self.send_response(200); self.end_headers(); "
                "self.wfile.write(b'<html>')\n def log_message(*a): pass\ns = HTTPServer(('127.0.0.1', 0), H); print(s.server_port, flush=True); s.serve_forever()")
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        port = int(process.stdout.readline())
        self.fails("does not answer like ClickHouse; check the address: b'<html>'", "--engine", f"clickhouse://127.0.0.1:{port}")


if __name__ == "__main__":
    unittest.main()
