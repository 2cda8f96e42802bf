#!/usr/bin/env python3
"""deploy/alerts: the agent's reports of a hang through a real Collector into a file and into Prometheus, where the rules find them.

    alerts_test.py --build DIR --collector FILE [--jars DIR]"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/e2e")]
from backend import Process, attributes_of, free_ports, post_nothing  # noqa: E402
from metrics_test import Prometheus  # noqa: E402

ALERTS = ROOT / "deploy/alerts"
RECORDING = ROOT / "tests/training/recordings/ddp-gpu/rank1.cuspanrec"
INTERVAL_MS = 200
WAIT_S = 300
OPTIONS = None


def rules():
    group, = yaml.safe_load((ALERTS / "prometheus.yaml").read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def records_in(lines):
    return [record for line in lines for resource in json.loads(line).get("resourceLogs", ()) for scope in resource["scopeLogs"]
            for record in scope["logRecords"]]


class Case(unittest.TestCase):
    def start(self, *additions):
        """A Collector with docker/collector.yaml."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file, self.spool = self.folder / "hangs/hangs.jsonl", self.folder / "spool"
        self.spool.mkdir()
        self.grpc, self.http, self.scraped, self.hangs, nobody = free_ports(5)
        environment = {"COLLECTOR_HOST": "localhost", "OTLP_GRPC_PORT": str(self.grpc), "OTLP_HTTP_PORT": str(self.http),
                       "PROMETHEUS_PORT": str(self.scraped), "COLLECTOR_TO": f"http://localhost:{nobody}", "HANGS_FILE": str(self.file),
                       "HANGS_PORT": str(self.hangs), "HANGS_EXPIRE": "20s"}
        collector = Process(OPTIONS.collector, ROOT / "docker/collector.yaml", self.folder, "collector", environment,
                            lambda: post_nothing(self.http), [f"--config={path}" for path in additions])
        self.addCleanup(collector.close)

    def replay(self, hang_ms, name="agent", **environment):
        """A rank in which a collective does not return for so long. Its spans go to a file."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))}
        settings = {"hang.watch": "on", "hang.after_ms": 50, "hang.endpoint": f"http://localhost:{self.http}/v1/logs", "steps.traced": "all",
                    "spool.directory": self.spool}
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        error = open(self.folder / f"{name}.txt", "w+", encoding="utf-8")
        self.addCleanup(error.close)
        process = subprocess.Popen(
            [OPTIONS.build / "cuspan", "replay", "--file", self.folder / f"{name}.jsonl", *words, RECORDING], stderr=error, stdout=error,
            env={**clean, "CUSPAN_REPLAY_FAIL": f"nccl-hangs=60,nccl-hangs-ms={hang_ms}", "CUSPAN_CONTROL_DIRECTORY": str(self.folder),
                 "OTEL_SERVICE_NAME": name, **environment}, start_new_session=True)
        self.addCleanup(self.end, process)
        process.lines = lambda: Path(error.name).read_text().splitlines()
        return process

    def end(self, process):
        """Also the process that plays, which this one has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def wait_for(self, read):
        deadline = time.monotonic() + WAIT_S
        while True:
            with contextlib.suppress(TimeoutError):  # of a request, on a busy machine
                if found := read():
                    return found
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def arrived(self):
        """The lines of the Collector's file that are complete."""
        return self.file.read_text().rpartition("\n")[0].splitlines() if self.file.exists() else []


class ThroughACollector(Case):
    def setUp(self):
        self.start(ALERTS / "collector.yaml")

    def check(self, **environment):
        """The same records arrive as the agent has in its spool, except the longer report there."""
        process = self.replay(4000, **environment)
        self.assertEqual(process.wait(300), 0, process.lines())
        path, = self.spool.glob("hang-*.jsonl")
        sent = records_in(path.read_text().splitlines())
        self.wait_for(lambda: len(records_in(self.arrived())) == len(sent))
        self.assertEqual(attributes_of(sent[-1])["cuspan.hang.state"], "ended")
        for there, here in zip(records_in(self.arrived()), sent, strict=True):
            self.assertEqual((there["eventName"], there["severityText"], there["body"]), ("cuspan.hang", here["severityText"], here["body"]))
            report, whole = (json.loads(attributes_of(record).pop("cuspan.hang.report")) for record in (there, here))
            self.assertEqual([report[key] for key in ("pid", "stall", "state")], [whole[key] for key in ("pid", "stall", "state")])
            self.assertEqual(*({key: value for key, value in attributes_of(record).items() if key != "cuspan.hang.report"}
                               for record in (there, here)))
        return sent

    def test_protobuf(self):
        self.check()
        self.assertEqual(self.file.parent.stat().st_mode & 0o777, 0o700)
        done = subprocess.run([OPTIONS.build / "cuspan", "hang", "--json", self.file], capture_output=True, text=True, check=False)
        job, = json.loads(done.stdout)["jobs"]
        self.assertEqual((done.returncode, job["ranks_known"], job["ranks_expected"]), (0, 1, 4), done)

    def test_json(self):
        self.check(OTEL_EXPORTER_OTLP_PROTOCOL="http/json")

    def test_other_logs_are_left_out(self):
        for name in "other", "cuspan.hang":
            body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"eventName": name, "body": {"stringValue": name}}]}]}]}
            urllib.request.urlopen(urllib.request.Request(f"http://localhost:{self.http}/v1/logs", json.dumps(body).encode(),
                                                          {"Content-Type": "application/json"}), timeout=60).close()
        found = self.wait_for(lambda: records_in(self.arrived()))
        self.assertEqual([record["eventName"] for record in found], ["cuspan.hang"])

    def test_a_report_before_the_alarm_raises_none(self):
        for rank, severity in enumerate((9, 13)):  # INFO, WARN
            body = {"resourceLogs": [{
                "resource": {"attributes": [{"key": "cuda.process.rank", "value": {"intValue": rank}}]},
                "scopeLogs": [{"logRecords": [{"eventName": "cuspan.hang", "severityNumber": severity, "attributes": [
                    {"key": "cuspan.hang.state", "value": {"stringValue": "begins"}}]}]}]}]}
            urllib.request.urlopen(urllib.request.Request(f"http://localhost:{self.http}/v1/logs", json.dumps(body).encode(),
                                                          {"Content-Type": "application/json"}), timeout=60).close()

        def series():
            with urllib.request.urlopen(f"http://localhost:{self.hangs}/metrics", timeout=60) as page:
                return [line for line in page.read().decode().splitlines() if line.startswith("cuspan_hang_reports")]
        line, = self.wait_for(series)
        self.assertIn('cuda_process_rank="1"', line)
        self.assertEqual(len(records_in(self.wait_for(self.arrived))), 2)

    def test_the_rules_fire(self):
        prometheus = Prometheus("prometheus", self.folder, f'{self.scraped}", "localhost:{self.hangs}')
        self.addCleanup(prometheus.close)
        hangs, stands = (rules()[name]["expr"] for name in ("CuspanHang", "CuspanJobStandsStill"))
        metrics = {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": str(INTERVAL_MS),
                   "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": f"http://localhost:{self.http}/v1/metrics"}
        process = self.replay(10**9, "stands", **metrics)
        self.assertEqual(self.wait_for(lambda: prometheus.query(hangs)), {(("job", "stands"),): 1})
        series, = prometheus.query("cuspan_hang_reports_total")
        self.assertEqual(dict(series)["cuda_process_rank"], "1")
        quickly = stands.replace("5m", "5s").replace("2m", "2s")
        self.assertEqual(self.wait_for(lambda: prometheus.query(quickly)), {(("job", "stands"),): 1})
        self.assertEqual(prometheus.query(stands), {})  # not yet
        self.wait_for(lambda: len(records_in(self.arrived())) >= 4)  # of 20 s and more
        self.wait_for(lambda: prometheus.query(hangs))
        self.assertIsNone(process.poll())
        self.end(process)
        self.wait_for(lambda: not prometheus.query(quickly))
        self.wait_for(lambda: not prometheus.query(hangs))


class WithoutLogs(Case):
    def test_costs_one_line(self):
        self.start()
        process = self.replay(4000)
        self.assertEqual(process.wait(300), 0)
        refused = [line for line in process.lines() if "refuses reports of hangs" in line]
        self.assertEqual(len(refused), 1, process.lines())
        self.assertIn("HTTP 404", refused[0])


class Rules(unittest.TestCase):
    def test_promtool(self):
        for arguments in (["check", "rules", ALERTS / "prometheus.yaml"], ["test", "rules", "alerts_rules.yaml"]):
            done = subprocess.run(["promtool", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_grafana_has_the_same(self):
        group, = yaml.safe_load((ALERTS / "grafana.yaml").read_text())["groups"]
        self.assertEqual([rule["title"] for rule in group["rules"]], list(rules()))
        for rule in group["rules"]:
            other = rules()[rule["title"]]
            query, threshold = rule["data"]
            self.assertEqual(query["model"]["expr"], other["expr"])
            self.assertEqual(rule["labels"], other["labels"])
            self.assertEqual({key: text.replace("$values.ranks.Value", "$value") for key, text in rule["annotations"].items()},
                             other["annotations"])
            self.assertEqual((threshold["refId"], threshold["model"]["expression"]), (rule["condition"], query["refId"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--collector", required=True)
    parser.add_argument("--jars")  # of Kafka; all tests of this folder get it
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
