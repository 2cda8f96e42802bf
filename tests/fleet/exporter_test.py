#!/usr/bin/env python3
"""The Collector's ClickHouse exporter with the tables of deploy/fleet: it sends the rows that exporter_rows.py makes, and what it
repeats is stored once.

    exporter_test.py --collector PROGRAM [--build BUILD-DIR] [unittest's arguments]

exporter_test.sh builds a Collector, and gets chdb from PyPI."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import clickhouse_case
import exporter_rows
import proc
from built import output_of, take_option
from clickhouse_case import RECORDINGS, SCHEMA
from make_export import documents

COLLECTOR = take_option("--collector", None)
SERVER = Path(__file__).with_name("chdb_server.py")
WAIT_S = 300
CONFIG = """
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:0"}}}}}}
exporters:
  clickhouse:
    endpoint: https://localhost:{port}
    tls: {{ca_file: {folder}/cert.pem}}
    username: collector
    password: ${{env:PASSWORD}}
    database: cuspan
    create_schema: false
    async_insert: false
    compress: {compress}
    timeout: 120s
    retry_on_failure: {{initial_interval: 100ms, max_interval: 1s, max_elapsed_time: 0}}
    sending_queue: {{block_on_overflow: true, num_consumers: 2}}
service:
  telemetry: {{metrics: {{level: none}}, logs: {{encoding: json}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [clickhouse]}}
"""


class Exporter(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.running = []
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", self.work / "key.pem", "-out", self.work / "cert.pem"],
                       check=True, capture_output=True)

    def tearDown(self):
        for process in self.running:
            process.kill()
            process.wait()

    def start_server(self, *arguments):
        schema = self.work / "schema.sql"  # without merges, so that repeated rows can be counted
        schema.write_text(SCHEMA.read_text().replace("TTL toDateTime(time) + INTERVAL 7 DAY\n", "").replace(
            "min_age_to_force_merge_seconds = 3600", "min_age_to_force_merge_seconds = 0") + "\nSYSTEM STOP MERGES cuspan.stored_spans;\n")
        process = subprocess.Popen([sys.executable, SERVER, "--data", self.work / "data", "--port", "0", "--init", schema, "--user",
                                    "collector:writer:secret", "--user", "reader:reader:r", "--cert", self.work / "cert.pem", "--key",
                                    self.work / "key.pem", *arguments], stdout=subprocess.PIPE, text=True)
        self.running.append(process)
        self.port = int(process.stdout.readline().split()[-1])
        process.stdout.close()

    def start_collector(self, compress="lz4"):
        """It says the port of its receiver in its log."""
        (self.work / "collector.yaml").write_text(CONFIG.format(port=self.port, folder=self.work, compress=compress))
        log = self.work / "collector.log"
        with log.open("w") as out:
            process = subprocess.Popen([COLLECTOR, "--config", self.work / "collector.yaml"], stderr=out, env={**os.environ, "PASSWORD": "secret"})
        self.running.append(process)
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and process.poll() is None:
            for line in log.read_text().splitlines():
                if "Starting HTTP server" in line and line.endswith("}"):
                    self.otlp = int(json.loads(line)["endpoint"].rsplit(":", 1)[1])
                    if self.otlp:
                        return process
                    self.otlp = self.port_of(process.pid)
                    return process
            time.sleep(0.05)
        self.fail(log.read_text())

    def port_of(self, pid):
        """The TCP port on which a process listens."""
        inodes = {name[8:-1] for name in proc.descriptors(pid).values() if name.startswith("socket:[")}
        for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                return int(fields[1].rsplit(":", 1)[1], 16)
        return 0

    def send(self, lines):
        connection = http.client.HTTPConnection("127.0.0.1", self.otlp, timeout=WAIT_S)
        for line in lines:
            connection.request("POST", "/v1/traces", line.encode("utf-8", "surrogatepass"), {"Content-Type": "application/json"})
            response = connection.getresponse()
            self.assertEqual((response.read() or b"", response.status)[1], 200)
        connection.close()

    def stop_collector(self, process):
        """It delivers its queue first."""
        process.terminate()
        process.wait(WAIT_S)

    def ask(self, sql):
        done = subprocess.run(["curl", "-sS", "--fail-with-body", "--cacert", self.work / "cert.pem", "-u", "reader:r", "--data-binary", sql,
                               f"https://localhost:{self.port}/"], capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace").strip()

    def lines(self):
        for path in RECORDINGS:
            file = self.work / f"{path.stem}.jsonl"
            output_of("replay", "--quiet", "--file", file, path)
            yield from file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()

    def contents(self):
        columns = "* REPLACE(lower(hex(trace_id)) AS trace_id)"
        return (self.ask(f"SELECT {columns} FROM cuspan.spans ORDER BY trace_id, span_id, start_ns, resource_id FORMAT TSV").splitlines(),
                self.ask("SELECT * FROM cuspan.resources ORDER BY resource_id FORMAT TSV").splitlines())

    def test_rows_are_those_of_exporter_rows(self):
        self.start_server()
        made = documents()
        for each in made:
            for resource_spans in each["resourceSpans"]:
                # The exporter keeps both of two attributes with one name, and wraps starts after 2262.
                listed = resource_spans["resource"]["attributes"]
                listed[:] = {attribute["key"]: attribute for attribute in listed}.values()
                for scope_spans in resource_spans["scopeSpans"]:
                    scope_spans["spans"] = [span for span in scope_spans["spans"] if len(span["startTimeUnixNano"]) < 20 and span["name"]]
        lines = [*self.lines(), *(json.dumps(each) for each in made)]
        for compress in ("lz4", "gzip", "none"):
            with self.subTest(compress):
                process = self.start_collector(compress)
                self.send(lines if compress == "lz4" else lines[:1])
                self.stop_collector(process)
        found = self.contents()
        self.running[0].kill()
        self.running[0].wait()
        rows = [row for line in [*lines] for row in exporter_rows.rows_of(line)]
        connection = clickhouse_case.chdb.connect(str(self.work / "expected"))
        for statement in clickhouse_case.statements((self.work / "schema.sql").read_text()):
            connection.query(statement)
        self.assertEqual(exporter_rows.insert(connection, lines), len(rows))
        connection.close()
        self.start_server_on("expected")
        expected = self.contents()
        self.assertGreater(len(expected[0]), 18_000)
        for name, a, b in zip(("spans", "resources"), found, expected):
            self.assertEqual(len(a), len(b), name)
            differences = [(x, y) for x, y in zip(a, b) if x != y]
            self.assertEqual(differences[:2], [], name)

    def start_server_on(self, folder):
        (self.work / "data").rename(self.work / "old")
        (self.work / folder).rename(self.work / "data")
        self.start_server()

    def test_what_it_repeats_is_stored_once(self):
        """The answer of each third insert is lost, so the exporter repeats it: the same rows in the same order."""
        self.start_server("--lose-answers", "3")
        process = self.start_collector()
        lines = list(self.lines())
        self.send(lines)
        self.stop_collector(process)
        sent = sum(1 for line in lines for _ in exporter_rows.rows_of(line))
        self.assertIn("Exporting failed", (self.work / "collector.log").read_text())
        self.assertEqual(self.ask("SELECT count(), uniqExact(trace_id, span_id) FROM cuspan.stored_spans"), f"{sent}\t{sent}")

    def test_killed_server(self):
        """The next server gets the rest, and nothing is stored twice."""
        self.start_server("--insert-delay", "0.2")
        process = self.start_collector()
        lines = list(self.lines())
        self.send(lines[: len(lines) // 2])
        self.running[0].kill()
        self.running[0].wait()
        port = self.port
        self.send(lines[len(lines) // 2 :])
        self.start_server("--port", str(port))
        sent = sum(1 for line in lines for _ in exporter_rows.rows_of(line))
        # A Collector without a queue on disk drops what it repeats when it ends.
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and self.ask("SELECT count() FROM cuspan.spans") != str(sent):
            time.sleep(0.1)
        self.stop_collector(process)
        self.assertEqual(self.ask("SELECT count(), uniqExact(trace_id, span_id) FROM cuspan.spans"), f"{sent}\t{sent}")


if __name__ == "__main__":
    unittest.main()
