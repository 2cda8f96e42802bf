#!/usr/bin/env python3
"""The hang watch through the whole agent: recordings of training jobs in which a call of NCCL does not return, and healthy ones.

    hang_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tools")]

import agent_case  # noqa: E402
import attribute_registry  # noqa: E402
from agent_case import Case  # noqa: E402

JOBS = ROOT / "tests/training/recordings"
DDP, PIPELINE = JOBS / "ddp-gpu/rank1.cuspanrec", JOBS / "pipeline/rank1.cuspanrec"
AFTER_MS = 50  # a call that hangs is reported after at most 60 times this
HANG_MS = 6000
LIVE, STALLED, OVER = b"cuspanLV", 3, 4
OPERATIONS = {"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Broadcast": "broadcast",
              "Send": "send", "Recv": "recv"}
LOG_ATTRIBUTES = attribute_registry.events(attribute_registry.LOGS)["cuspan.hang"]["attributes"]


def value_of(value):
    kind, = value
    return int(value[kind]) if kind == "intValue" else value[kind]


def records_in(documents):
    return [record for document in documents for resource in document.get("resourceLogs", ()) for scope in resource["scopeLogs"]
            for record in scope["logRecords"]]


def attributes_of(record):
    return {attribute["key"]: value_of(attribute["value"]) for attribute in record["attributes"]}


class Collector:
    """Accepts spans as JSON, and answers logs with a status; keeps both."""

    def __init__(self, logs_status):
        collector = self
        self.spans, self.logs, self.metrics = [], [], []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                is_logs = self.path == "/v1/logs"
                ({"/v1/logs": collector.logs, "/v1/metrics": collector.metrics}.get(self.path, collector.spans)).append(body)
                self.send_response(logs_status if is_logs else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class HangCase(Case):
    SETTINGS = {"hang.watch": "on", "hang.after_ms": AFTER_MS, "steps.traced": "all"}

    def run_with(self, recording, fail=None, settings=None, **more):
        result = self.replay(recording, fail=fail, settings={**self.SETTINGS, **(settings or {})}, **more)
        lines = result.text.splitlines()
        self.records = records_in(map(json.loads, lines))
        result.text = "".join(line + "\n" for line in lines if '"resourceLogs"' not in line)
        return result

    def longest(self):
        """The records of the longest stall. With so short a time, a busy machine may cause others."""
        by_duration = sorted((attributes_of(record) for record in self.records), key=lambda a: a["cuspan.hang.duration"])
        number = by_duration[-1]["cuspan.hang.number"]
        return [record for record in self.records if attributes_of(record)["cuspan.hang.number"] == number]

    def check_sent(self, result, received):
        """Each report arrived or is counted as lost. At such a rate, the queue may be full on a busy machine."""
        counters = result.report["counters"]
        lost = result.report["losses"].pop("lost_hang_reports", 0)
        self.assertEqual(result.report["losses"], {})
        self.assertEqual(counters["hang_reports_delivered"], len(received))
        self.assertEqual(counters["hang_reports_made"], len(received) + lost)
        return lost == 0

    def calls(self, result):
        """The calls of collectives, in order, as their spans have them."""
        named = [span for span in result.spans if span.attributes.get("nvtx.domain") == "NCCL" and span.name[4:] in OPERATIONS]
        return sorted(named, key=lambda span: span.start_ns)


class Hang(HangCase):
    def check_names(self, recording, nth):
        result = self.run_with(recording, f"nccl-hangs={nth},nccl-hangs-ms={HANG_MS}")
        call = self.calls(result)[nth - 1]
        begins, *lasts, ended = self.longest()
        got = attributes_of(begins)
        reports = [json.loads(attributes_of(record)["cuspan.hang.report"]) for record in (begins, *lasts)]
        self.assertTrue(any("exact_seconds" in one and one["communicators"][0]["exact"] for one in reports))  # a flush may take long
        report = json.loads(got["cuspan.hang.report"])
        communicator = int(call.attributes["nvtx.payload.NCCL communicator ID"])
        self.assertEqual(got["cuspan.hang.state"], "begins")
        self.assertEqual(int(got["collective.communicator"], 16), communicator)
        self.assertEqual(got["collective.operation"], OPERATIONS[call.name[4:]])
        self.assertEqual(got["collective.ordinal"], call.attributes["collective.ordinal"])
        self.assertEqual(got["collective.bytes"], call.attributes["nvtx.payload.Message size [bytes]"])
        self.assertEqual(got.get("collective.peer"), call.attributes.get("nvtx.payload.Peer rank"))
        self.assertEqual(got["collective.ranks"], call.attributes["collective.ranks"])
        self.assertIn(f"{got['collective.operation']} {got['collective.ordinal']} of communicator {got['collective.communicator']}",
                      begins["body"]["stringValue"])
        self.assertEqual((begins["severityText"], begins["eventName"]), ("WARN" if report["alarm"] else "INFO", "cuspan.hang"))
        self.assertEqual((lasts[-1]["severityText"], reports[-1]["alarm"]), ("WARN", True))  # of so long a stall
        self.assertEqual((report["version"], report["state"]), (1, "begins"))
        in_progress, = [one for one in report["calls"] if one["call"] == call.name]
        self.assertEqual(int(in_progress["communicator"], 16), communicator)
        first = report["communicators"][0]
        self.assertEqual(int(first["id"], 16), communicator)
        self.assertFalse(first["calls"][0]["returned"])
        self.assertEqual(first["enqueued"], sum(one.attributes["nvtx.payload.NCCL communicator ID"] in (communicator, str(communicator))
                                                for one in self.calls(result)[:nth]))
        self.assertTrue(any(thread["thread"] == in_progress["thread"] for thread in report["threads"]))
        for record in self.records:
            self.assertLessEqual(set(attributes_of(record)), set(LOG_ATTRIBUTES))
        alarms = {attributes_of(record)["cuspan.hang.number"] for record in self.records if record["severityText"] == "WARN"}
        if self.check_sent(result, self.records):
            self.assertEqual((attributes_of(ended)["cuspan.hang.state"], ended["severityText"]), ("ended", "INFO"))
            self.assertEqual(len(result.agent_lines()), 2 * len(alarms), result.err)

    def test_names_the_collective(self):
        self.check_names(DDP, 60)

    def test_names_a_send(self):
        sends = [n for n, call in enumerate(self.calls(self.run_with(PIPELINE)), 1) if call.name in ("ncclSend", "ncclRecv")]
        self.check_names(PIPELINE, sends[len(sends) // 2])

    def test_a_kernel_that_does_not_end(self):
        """As on GPUs: only a forced flush brings the records of what hangs, without times and once, and each flush makes a record."""
        result = self.run_with(DDP, f"nccl-hangs=60,nccl-hangs-ms={HANG_MS},kernel-hangs=300,flush-overhead=1", {"hang.after_ms": 500})
        begins, *lasts, _ = self.longest()
        reports = [json.loads(attributes_of(record)["cuspan.hang.report"]) for record in (begins, *lasts)]
        exact = [one for one in reports if "exact_seconds" in one]
        self.assertTrue(exact)
        self.assertIn(exact[-1].get("oldest_work", {"kind": "kernel"})["kind"], ("kernel", "collective"))  # unknown after an earlier flush
        first = exact[-1]["communicators"][0]
        self.assertTrue(first["exact"])
        self.assertLess(first["completed"], first["enqueued"] - 1)
        self.assertEqual({call["ended"] for call in first["calls"][:2]}, {False})
        unfinished = [span for span in result.spans if "cuda.unfinished" in span.attributes]
        self.assertTrue(unfinished)
        for span in unfinished:
            self.assertEqual((span.status, "cuda.error.code" in span.attributes), (0, False))
            self.assertGreaterEqual(span.end_ns, span.start_ns)

    def test_without_a_flush_ends_are_not_exact(self):
        """CUPTI refuses it."""
        result = self.run_with(DDP, f"nccl-hangs=60,nccl-hangs-ms={HANG_MS},flush-refused=1000000", {"hang.after_ms": 500})
        begins, *lasts, _ = self.longest()
        for report in (json.loads(attributes_of(record)["cuspan.hang.report"]) for record in (begins, *lasts)):
            self.assertEqual(report.keys() & {"exact_seconds", "oldest_work"}, set())
            self.assertEqual({communicator["exact"] for communicator in report["communicators"]}, {False})
        self.assertIn("CUPTI does not deliver its records", result.err)

    def test_a_call_that_is_slow_but_returns_soon_is_no_hang(self):
        self.run_with(DDP, "nccl-hangs=60,nccl-hangs-ms=200", {"hang.after_ms": 5000})
        self.assertEqual(self.records, [])

    def test_healthy_jobs_have_no_reports(self):
        """With the defaults, but also where the process is no rank."""
        for recording in sorted(JOBS.glob("*/*.cuspanrec")) + [ROOT / "examples/training/slow_step.cuspanrec", "torch_inference", "graph"]:
            with self.subTest(recording):
                result = self.run_with(recording, settings={"hang.after_ms": 5000})
                self.assertEqual(self.records, [])
                self.assertEqual(result.report["counters"]["hang_reports_made"], 0)

    def test_spans_do_not_depend_on_it(self):
        on = self.run_with(DDP)
        off = self.run_with(DDP, settings={"hang.watch": "off"})
        self.assertEqual(*(sorted((span.name, span.start_ns, span.end_ns) for span in result.spans if not agent_case.is_session(span))
                           for result in (on, off)))

    def test_auto_is_on_in_ranks(self):
        """A replay takes the rank from its recording; one of the two has none."""
        sample = self.directory / "collectives.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", sample, "collectives"], check=True)
        for recording, expected in ((DDP, True), (sample, False)):
            self.run_with(recording, f"nccl-hangs=60,nccl-hangs-ms={HANG_MS}", {"hang.watch": "auto"})
            self.assertEqual(bool(self.records), expected, recording)
        self.run_with(sample, f"nccl-hangs=60,nccl-hangs-ms={HANG_MS}", {"hang.watch": "on"})
        self.assertTrue(self.records)

    def test_the_gpus_are_in_it(self):
        """With a stand-in for NVML, which reports an XID error once it was asked."""
        libraries = self.directory / "libraries"
        libraries.mkdir()
        shutil.copy(agent_case.BUILD / "libfake_nvml.so", libraries / "libnvidia-ml.so.1")
        self.run_with(DDP, f"nccl-hangs=60,nccl-hangs-ms={HANG_MS}",
                      env={"LD_LIBRARY_PATH": str(libraries), "FAKE_NVML_XIDS": "79", "FAKE_NVML_STATUS": "hot"})
        *_, last, _ = self.longest()
        gpus = json.loads(attributes_of(last)["cuspan.hang.report"])["gpus"]
        self.assertTrue(gpus)
        for gpu in gpus:
            self.assertTrue(gpu.pop("id").startswith("GPU-"))
            self.assertEqual(gpu, {"state": "degraded", "xids": 1, "last_xid": 79, "ecc_corrected": 12, "ecc_uncorrected": 1,
                                   "slowdowns": ["hw_thermal"]})

    def test_stacks_may_be_left_out(self):
        self.run_with(DDP, f"nccl-hangs=60,nccl-hangs-ms={HANG_MS}", {"hang.stacks": "none"})
        report = json.loads(attributes_of(self.records[0])["cuspan.hang.report"])
        self.assertTrue(report["threads"])
        self.assertFalse(any("python" in thread or "native" in thread for thread in report["threads"]))


class HangCollectors(HangCase):
    def deliver(self, status, settings=None):
        self.collector = Collector(status)
        self.addCleanup(self.collector.close)
        return self.to(self.collector.url, settings)

    def to(self, url, settings=None, *options, status=0):
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        return self.replay(DDP, *options, env=env, fail=f"nccl-hangs=60,nccl-hangs-ms={HANG_MS}", to_file=False, status=status,
                           settings={**self.SETTINGS, **agent_case.NO_HURRY, **(settings or {})})

    def test_logs_go_to_the_path_of_logs(self):
        result = self.deliver(200)
        records = records_in(self.collector.logs)
        self.records = records
        begins, *_, ended = self.longest()
        self.assertEqual(attributes_of(begins)["collective.operation"], "all_reduce")
        for record in records:
            self.assertLessEqual(len(json.dumps(record, separators=(",", ":"))), 4096)
        if self.check_sent(result, records):
            self.assertEqual(attributes_of(ended)["cuspan.hang.state"], "ended")

    def test_a_server_without_logs_costs_one_line(self):
        result = self.deliver(404)
        refused = [line for line in result.agent_lines() if "refuses" in line]
        self.assertEqual(len(refused), 1, result.err)
        self.assertRegex(refused[0], "refuses reports of hangs, which are lost: HTTP 404; the server takes no logs .*hang.endpoint")
        made = result.report["counters"]["hang_reports_made"]
        self.assertEqual(result.report["losses"], {"lost_hang_reports": made})
        self.assertEqual(result.report["counters"]["spans_delivered"], result.report["counters"]["spans_created"])
        self.assertTrue(self.collector.spans)

    def test_progress_is_a_metric(self):
        collector = Collector(200)
        self.addCleanup(collector.close)
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_METRICS_EXPORTER": "otlp",
               "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        self.replay(DDP, env=env, to_file=False, settings={**self.SETTINGS, **agent_case.NO_HURRY, "hang.after_ms": 5000})
        points = [point for document in collector.metrics for resource in document["resourceMetrics"] for scope in resource["scopeMetrics"]
                  for metric in scope["metrics"] if metric["name"] == "cuspan.job.progress" for point in metric["sum"]["dataPoints"]]
        latest = {}
        for point in points:
            attributes = attributes_of(point)
            latest[attributes["collective.communicator"], attributes["collective.state"]] = int(point["asInt"])
        spans = [span for document in collector.spans for span in agent_case.backend.spans_of(document)]
        calls = [span for span in spans if span.attributes.get("nvtx.domain") == "NCCL" and span.name[4:] in OPERATIONS]
        ended = [span for span in spans if span.attributes.get("cuda.activity") == "collective"]
        self.assertEqual(sum(value for (_, state), value in latest.items() if state == "enqueued"), len(calls))
        self.assertEqual(sum(value for (_, state), value in latest.items() if state == "completed"), len(ended))

    def test_an_endpoint_of_its_own(self):
        other = Collector(200)
        self.addCleanup(other.close)
        result = self.deliver(404, {"hang.endpoint": f"{other.url}/v1/logs", "hang.watch": "on"})
        self.check_sent(result, records_in(other.logs))
        self.assertTrue(other.logs)
        self.assertEqual(self.collector.logs, [])

    def test_beside_a_spool_there_is_the_whole_report(self):
        spool = self.directory / "spool"
        spool.mkdir()
        result = self.deliver(200, {"spool.directory": spool})
        path, = spool.glob("hang-*.jsonl")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        whole = records_in(map(json.loads, path.read_text().splitlines()))
        if self.check_sent(result, whole + records_in(self.collector.logs)):
            self.assertEqual(len(whole), len(records_in(self.collector.logs)))
        communicator = json.loads(attributes_of(whole[0])["cuspan.hang.report"])["communicators"][0]
        self.assertGreater(len(communicator["calls"]), 50)

    def test_an_unreachable_collector_changes_nothing_else(self):
        result = self.to("http://127.0.0.1:9", {"exit_deadline_ms": 500}, "--overload", status=1)
        self.assertGreater(result.report["counters"]["hang_reports_made"], 0)
        self.assertEqual(sum("cannot deliver to" in line and "v1/logs" in line and "retries" in line for line in result.agent_lines()), 1, result.err)
        losses = result.report["losses"]
        self.assertEqual(losses.pop("lost_hang_reports"), result.report["counters"]["hang_reports_made"])
        self.assertGreaterEqual(sum(losses.values()), result.report["counters"]["spans_created"])


class HangSurvives(HangCase):
    """The live state of a process that hangs, read here from its documented form."""

    def begin(self):
        env = {**self.environment({"CUSPAN_REPLAY_FAIL": "nccl-hangs=60,nccl-hangs-ms=600000"})}
        command = [agent_case.BUILD / "cuspan", "replay", "--file", self.directory / "out.jsonl"]
        for key, value in self.SETTINGS.items():
            command += ["--set", f"{key}={value}"]
        process = subprocess.Popen([*map(str, command), str(DDP)], env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_until(self, condition):
        end = time.monotonic() + agent_case.HANG_S
        while not (found := condition()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        return found

    def stalled(self):
        """The process, which `cuspan replay` has started; None: it does not stand still yet."""
        for self.file in (self.directory / "cuspan").glob("*.live"):
            found = self.read(self.file.read_bytes())
            if found.get("watch") == STALLED:
                self.assertEqual(self.file.name, f"{found['pid']}.live")
                self.addCleanup(self.kill, found["pid"])
                return found["pid"]
        return None

    def kill(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def read(self, state):
        """The parts of a live state that matter, by model/hang/live_state.h."""
        if state[:8] != LIVE:
            return {}
        version, _, count, size, entries, entry_size, _, _, _, _, at, _, _, total, pid = struct.unpack_from("<14Ii", state, 8)
        self.assertEqual((version, entry_size), (1, 64))
        self.assertLessEqual(total, len(state))
        watch, = struct.unpack_from("<I", state, 144)
        calls = {}
        for i in range(count):
            place = at + i * size
            name, enqueued = struct.unpack_from("<QQ", state, place)
            for n in range(entries):
                sequence, _, ordinal, bytes_, _, _, _, operation, _, flags = struct.unpack_from("<QQQQQIiBBB", state, place + 128 + n * 64)
                if name and sequence == 2 * enqueued:
                    calls[name] = (enqueued, operation, ordinal, bytes_, flags)
        return {"watch": watch, "pid": pid, "calls": calls}

    def test_kill_leaves_the_file(self):
        process = self.begin()
        pid = self.wait_until(self.stalled)
        os.kill(pid, signal.SIGKILL)
        process.wait()
        state = self.file.read_bytes()
        self.assertLessEqual(len(state), 65536)
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        found = self.read(state)
        (enqueued, operation, ordinal, bytes_, flags), = [call for call in found["calls"].values() if not call[4]]
        self.assertEqual((enqueued, operation, flags), (60, 1, 0))
        self.assertEqual((ordinal, bytes_), (54, 16777216))

    def test_a_stopped_process_can_be_read(self):
        self.begin()
        pid = self.wait_until(self.stalled)
        os.kill(pid, signal.SIGSTOP)
        links = Path(f"/proc/{pid}/fd")
        memory = next(link for link in links.iterdir() if os.readlink(link) == "/memfd:cuspan.live (deleted)")
        found = self.read(memory.read_bytes())
        self.assertEqual(found["watch"], STALLED)
        self.assertIn((60, 1, 54, 16777216, 0), found["calls"].values())
        with self.assertRaises(OSError):
            os.truncate(memory, 0)

    def test_a_normal_end_is_known_if_others_may_wait(self):
        self.run_with(DDP, settings={"hang.after_ms": 600000})
        left, = (self.directory / "cuspan").glob("*.live")
        self.assertEqual(self.read(left.read_bytes())["watch"], OVER)

        def ask(*words):
            return subprocess.run([agent_case.BUILD / "cuspan", "hang", *words], capture_output=True, text=True, check=False,
                                  env={**os.environ, "CUSPAN_CONTROL_DIRECTORY": str(left.parent)})

        done = ask(left)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "No hang in 1 of 4 ranks: no rank stands still\n", ""))
        done = ask("--this-host")
        if not done.stdout:  # otherwise other jobs are on this machine
            self.assertRegex(done.stderr, r"^cuspan hang: no rank is left here; \d+ ended as they should in the last hour\n$")


if __name__ == "__main__":
    agent_case.main()
