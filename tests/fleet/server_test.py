#!/usr/bin/env python3
"""The server of the tests itself: acknowledged inserts survive kill -9; users, TLS, formats, errors. And the scripts of
deploy/fleet/clickhouse, with it.

    server_test.py [--build BUILD-DIR] [unittest's arguments]"""

import base64
import gzip
import hashlib
import http.client
import json
import os
import ssl
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path
from urllib.parse import urlencode

import clickhouse_case
import exporter_rows
import lz4.block
from chdb_server import checksum, frame, hello, statements, unframe, varint

SERVER = Path(__file__).with_name("chdb_server.py")
USERS = ("--user", "root:admin:r", "--user", "collector:writer:w", "--user", "reader:reader:s")


class Server(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.process = None

    def tearDown(self):
        self.kill()

    def start(self, *arguments):
        self.process = subprocess.Popen([sys.executable, str(SERVER), "--data", str(self.work / "data"), "--port", "0", *arguments],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[-1])

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def post(self, body="", user=None, headers=None, **options):
        """(status, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = dict(headers or {})
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        connection.request("POST", "/?" + urlencode(options), body if isinstance(body, (bytes, list)) else body.encode(), headers)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def table(self):
        self.post("CREATE DATABASE d", user="root:r")
        self.assertEqual(self.post("CREATE TABLE d.t (a UInt64, b String) ENGINE = MergeTree ORDER BY a", user="root:r"), (200, b""))

    def count(self):
        return int(self.post("SELECT count() FROM d.t", user="root:r")[1])


class Storing(Server):
    def test_acknowledged_inserts_survive_kill(self):
        self.start()
        self.table()
        for number in range(5):
            self.assertEqual(self.post(f'{{"a": {number}, "b": "x"}}', query="INSERT INTO d.t (a, b) FORMAT JSONEachRow")[0], 200)
        self.kill()
        self.start()
        self.assertEqual(self.count(), 5)

    def test_formats_and_encodings_of_inserts(self):
        self.start()
        self.table()
        rows = b'{"a": 1, "b": "it\'s"}\n{"a": 2, "b": "y"}\n'
        native = self.post("SELECT number AS a, 'n' AS b FROM numbers(3) FORMAT Native")[1]
        packed = lz4.block.compress(native, store_size=False)
        body = b"\x82" + struct.pack("<II", len(packed) + 9, len(native)) + packed
        insert = "INSERT INTO d.t (a, b) FORMAT "
        for expected, sent in enumerate((
            lambda: self.post(rows, query=insert + "JSONEachRow"),
            lambda: self.post(gzip.compress(rows), query=insert + "JSONEachRow", headers={"Content-Encoding": "gzip"}),
            lambda: self.post([rows[:7], rows[7:]], query=insert + "JSONEachRow"),  # in chunks
            lambda: self.post(insert + "JSONEachRow\n" + rows.decode()),
            lambda: self.post("INSERT INTO d.t VALUES (1, 'a FORMAT b'), (2, 'c')"),
        ), 1):
            with self.subTest(expected):
                self.assertEqual(sent(), (200, b""))
                self.assertEqual(self.count(), 2 * expected)
        self.assertEqual(self.post(native, query=insert + "Native")[0], 200)
        self.assertEqual(self.post(checksum(body) + body, query=insert + "Native", decompress=1)[0], 200)
        self.assertEqual(self.count(), 16)
        self.assertEqual(self.post(b"x" * 16 + body, query=insert + "Native", decompress=1)[0], 400)
        self.assertEqual(self.post(native[:20], query=insert + "Native")[0], 400)
        self.assertEqual(self.count(), 16)

    def test_an_answer_that_is_lost(self):
        self.start("--lose-answers", "2")
        self.table()
        row = '{"a": 1, "b": "x"}'
        self.assertEqual(self.post(row, query="INSERT INTO d.t FORMAT JSONEachRow")[0], 200)
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            self.post(row, query="INSERT INTO d.t FORMAT JSONEachRow")
        self.assertEqual(self.count(), 2)


class Asking(Server):
    def test_parameters_formats_and_settings(self):
        self.start()
        self.assertEqual(self.post("SELECT {x:String}, {n:Int64} FORMAT CSV", param_x="it's", param_n=3), (200, b'"it\'s",3\n'))
        self.assertEqual(self.post("SELECT 1", default_format="JSONCompact")[1][:1], b"{")
        self.assertEqual(self.post("SELECT 1", headers={"X-ClickHouse-Format": "CSV"}), (200, b"1\n"))
        self.assertEqual(self.post("SELECT getSetting('max_threads')", max_threads=1), (200, b"1\n"))
        self.assertNotEqual(self.post("SELECT getSetting('max_threads')", max_threads=7)[1], self.post("SELECT getSetting('max_threads')")[1])
        plain = self.post("SELECT 1 AS a FORMAT Native")[1]
        self.assertEqual(unframe(self.post("SELECT 1 AS a FORMAT Native", compress=1)[1]), plain)

    def test_errors(self):
        self.start()
        for text, status, code in (("SELECT nothing", 400, "UNKNOWN_IDENTIFIER"), ("SELECT 1 FROM d.t", 404, "UNKNOWN_"),
                                   ("SELEC 1", 400, "SYNTAX_ERROR")):
            found = self.post(text)
            self.assertEqual(found[0], status)
            self.assertIn(code, found[1].decode())
        self.assertIn("UNKNOWN_SETTING", self.post("SELECT 1", no_such_setting=1)[1].decode())
        self.assertEqual(self.post("SELECT 1", **{"a = 1, b": 1})[0], 400)
        self.assertEqual(self.post("SELECT 1"), (200, b"1\n"))

    def test_users(self):
        self.start(*USERS)
        self.table()
        insert = "INSERT INTO d.t FORMAT CSV\n1,a\n"
        expected = {"root:r": (200, 200, 200), "collector:w": (403, 200, 403), "reader:s": (200, 403, 403), "reader:no": (401, 401, 401),
                    "nobody:": (401, 401, 401), None: (401, 401, 401)}
        for user, statuses in expected.items():
            found = tuple(self.post(text, user=user)[0] for text in ("SELECT count() FROM d.t", insert, "CREATE TABLE IF NOT EXISTS d.u (a Int8) ENGINE = Memory"))
            self.assertEqual(found, statuses, user)
        self.assertEqual(self.post("DESCRIBE TABLE d.t", user="collector:w")[0], 200)
        self.assertEqual(self.post("SELECT 1", headers={"X-ClickHouse-User": "reader", "X-ClickHouse-Key": "s"})[0], 200)
        self.assertEqual(self.post("SELECT 1", headers={"X-ClickHouse-User": "reader", "X-ClickHouse-Key": "w"})[0], 401)
        # A reader's own settings, too, cannot make it a writer.
        self.assertEqual(self.post("INSERT INTO d.t SELECT 1, 'a'", user="reader:s", readonly=0)[0], 403)
        self.assertEqual(self.post("WITH 1 AS x SELECT x", user="reader:s", readonly=0)[0], 400)

    def test_tls(self):
        cert, key = self.work / "cert.pem", self.work / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert], check=True, capture_output=True)
        self.start("--cert", str(cert), "--key", str(key))
        trusted = ssl.create_default_context(cafile=str(cert))
        for context, is_trusted in ((trusted, True), (ssl.create_default_context(), False)):
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=300, context=context)
            if is_trusted:
                connection.request("GET", "/ping")
                self.assertEqual(connection.getresponse().read(), b"Ok.\n")
            else:
                self.assertRaises(ssl.SSLError, connection.request, "GET", "/ping")
            connection.close()

    def test_the_first_answer_of_a_client_with_a_revision(self):
        """Go's client reads it as revision 54460, and the rest as the revision in it."""
        self.start()
        found = self.post("SELECT displayName(), version(), revision(), timezone()", client_protocol_version=54460, default_format="Native")[1]
        self.assertEqual(found[:8], b"\x01\x00\x02\xff\xff\xff\xff\x00")
        self.assertEqual(found[8:10], varint(4) + varint(1))
        self.assertIn(b"revision()\x06UInt32\x00\x00\x00\x00\x00", found)
        self.assertEqual(hello(["a", "b", 0, "c"])[-3:], b"\x00\x01c")


class Scripts(Server):
    """apply.sh and close.sh of deploy/fleet/clickhouse, over TLS."""

    PASSWORD = "a\\'\" b:c$x"

    def start_with_tls(self):
        secrets = self.work / "secrets"
        secrets.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", secrets / "key", "-out", secrets / "ca.crt"],
                       check=True, capture_output=True)
        (secrets / "clickhouse-admin.password").write_text(self.PASSWORD + "\n")
        self.start("--cert", str(secrets / "ca.crt"), "--key", str(secrets / "key"), "--user", f"admin:admin:{self.PASSWORD}")
        self.environment = {**os.environ, "SECRETS": str(secrets), "CLICKHOUSE_URL": f"https://localhost:{self.port}"}

    def script(self, name, *arguments, **environment):
        folder = clickhouse_case.SCHEMA.parent
        done = subprocess.run([folder / f"{name}.sh", *arguments], env={**self.environment, **environment}, capture_output=True, text=True,
                              timeout=600, check=False)
        return done.returncode, done.stdout + done.stderr

    def ask(self, sql):
        text = f'. "{clickhouse_case.SCHEMA.parent}/lib.sh"; query "$1"'
        return subprocess.run(["bash", "-c", text, "-", sql], env=self.environment, capture_output=True, text=True, check=True).stdout.strip()

    def insert(self, *documents):
        rows = [json.dumps(row) for each in documents for row in exporter_rows.rows_of(json.dumps(each))]
        self.ask(f"{exporter_rows.INSERT} FORMAT JSONEachRow\n" + "\n".join(rows))

    def test_tables_retention_and_closing(self):
        self.start_with_tls()
        self.assertEqual(self.script("apply")[0], 0)
        self.assertIn("toIntervalDay(7)", self.ask("SHOW CREATE TABLE cuspan.stored_spans"))
        status, text = self.script("apply", "--retention", "20000")
        self.assertEqual((status, text.splitlines()[-1]), (0, f"tables for spans are ready at https://localhost:{self.port}"))
        self.assertIn("toIntervalDay(20000)", self.ask("SHOW CREATE TABLE cuspan.stored_spans"))
        self.assertIn("toIntervalDay(20001)", self.ask("SHOW CREATE TABLE cuspan.stored_resources"))
        self.assertEqual(self.script("close"), (0, "0 hours merged, 0 repeated spans removed\n"))
        # No merge but those of the script.
        self.ask("SYSTEM STOP MERGES cuspan.stored_spans")
        made = [clickhouse_case.span(number) for number in range(1, 11)]
        self.insert(clickhouse_case.document(made[:7]))
        self.insert(clickhouse_case.document(made[3:]))
        self.insert(clickhouse_case.document([clickhouse_case.span(11, start=clickhouse_case.START + 3600 * 10**9)]))
        self.ask("SYSTEM START MERGES cuspan.stored_spans")
        self.assertEqual(self.script("close", "--older-than", "90000")[1], "0 hours merged, 0 repeated spans removed\n")
        status, text = self.script("close", "--older-than", "0")
        self.assertEqual((status, text), (0, "2026-09-21 14:00:00 UTC: 10 spans, 4 repeated ones removed\n1 hours merged, 4 repeated spans removed\n"))
        self.assertEqual(self.ask("SELECT count() FROM cuspan.stored_spans"), "11")

    def test_errors(self):
        self.start_with_tls()
        for arguments in (["--retention"], ["--retention", "0"], ["--retention", "1; DROP TABLE x"], ["--unknown"]):
            status, text = self.script("apply", *arguments)
            self.assertEqual((status, len(text.splitlines())), (1, 1), text)
        for arguments in (["--older-than", "x"], ["--older-than"], ["more"]):
            self.assertEqual(self.script("close", *arguments)[0], 1)
        status, text = self.script("close")
        self.assertEqual(status, 0)
        self.ask("CREATE DATABASE cuspan")
        self.ask("CREATE TABLE cuspan.schema_version (version UInt32) ENGINE = MergeTree ORDER BY ()")
        self.ask("INSERT INTO cuspan.schema_version VALUES (99)")
        status, text = self.script("apply")
        self.assertEqual(status, 1)
        self.assertIn("another version of these tables", text)
        self.assertNotIn("otel_traces", self.ask("SHOW TABLES FROM cuspan"))

    def test_the_password_is_not_in_the_arguments(self):
        folder = self.work / "bin"
        folder.mkdir()
        (folder / "curl").write_text('#!/bin/bash\nprintf "%s\\n" "$@" >>"$SEEN"\n')
        (folder / "curl").chmod(0o755)
        (self.work / "clickhouse-admin.password").write_text("hidden")
        seen = self.work / "seen"
        self.environment = {**os.environ, "SECRETS": str(self.work), "SEEN": str(seen), "PATH": f"{folder}:{os.environ['PATH']}"}
        self.assertEqual(self.script("apply")[0], 0)
        self.assertIn("CREATE DATABASE", seen.read_text())
        self.assertIn("https://clickhouse:8443/", seen.read_text())
        self.assertNotIn("hidden", seen.read_text())

    def test_hashes_of_passwords(self):
        self.environment = {**os.environ, "SECRETS": str(self.work), "ENTRYPOINT": "/usr/bin/env"}
        self.assertEqual(self.script("start")[0], 1)
        for user in ("admin", "collector", "reader"):
            (self.work / f"clickhouse-{user}.password").write_text(f"{user}\n")
        status, text = self.script("start")
        self.assertEqual(status, 0)
        users = xml.dom.minidom.parse(str(clickhouse_case.SCHEMA.parent / "users.d/cuspan.xml"))
        named = {element.getAttribute("from_env") for element in users.getElementsByTagName("password_sha256_hex")}
        expected = {f"CLICKHOUSE_{user.upper()}_SHA256={hashlib.sha256(user.encode()).hexdigest()}" for user in ("admin", "collector", "reader")}
        self.assertEqual({line.split("=")[0] for line in expected}, named)
        self.assertLessEqual(expected, set(text.splitlines()))


class Parts(unittest.TestCase):
    def test_statements(self):
        self.assertEqual(statements("-- a; b\nSELECT ';';\nSELECT\n  -- c\n 1; \n"), ["SELECT ';'", "SELECT\n 1"])

    def test_frames(self):
        for size in (0, 1, (1 << 20) + 1):
            data = os.urandom(size)
            self.assertEqual(unframe(frame(data)), data)
        self.assertRaises(ValueError, unframe, frame(b"abc")[:-1])
        body = b"\x99" + struct.pack("<II", 10, 1) + b"a"
        self.assertRaises(ValueError, unframe, checksum(body) + body)


if __name__ == "__main__":
    unittest.main()
