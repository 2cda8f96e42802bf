#!/usr/bin/env python3
"""The spool with the real agent and `cuspan send`, and a collector that stops and starts.

    spool_test.py --build DIRECTORY [--sanitizers LIST] [--long] [GROUP[.test]...]

Each span is delivered once, counted as lost with a reason, or still in the spool, whatever happens to the agent, the
collector and the disk. --long plays an outage of an hour at 10,000 spans/s in full, and kills more processes.
"""

import contextlib
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import proc  # noqa: E402
from built import BUILD, take_flag  # noqa: E402
from otlp_encode import zstd  # noqa: E402
from otlp_sink import OtlpSink  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
LONG = take_flag("--long")
LIMIT_S = 300  # a limit for hangs; normal runs take a second or two
RECORDING = ROOT / "examples/recordings/threads.cuspanrec"
SPANS = 1038  # approximately, of one play
# A paced replay does not wait for the agent. With this much memory, nothing is lost even if the agent gets no CPU for seconds.
ROOM = {"rings__bytes": 1 << 20, "rings__total_bytes": 1 << 28, "memory_bytes_max": 1 << 30}
PROTOCOLS = "http/protobuf", "http/json", "grpc"
HOUR_SPANS = 36_000_000
# For requests from memory, which are lost after a timeout: a busy machine does not reach these.
PATIENT = {"OTEL_EXPORTER_OTLP_TIMEOUT": "600000", "OTEL_BSP_EXPORT_TIMEOUT": "600000"}


def bytes_in(folder):
    return sum(path.stat().st_size for path in folder.glob("*.segment"))


def child_of(process):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise AssertionError("cuspan replay has no child")


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="spool-test-"))
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.spool = self.directory / "spool"
        self.processes = []
        self.addCleanup(self.end_all)
        self.runs = self.sinks = 0

    def end_all(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # also the program that it has started
            process.wait()

    def sink(self, protocol="http", opened=True, keep=True):
        sink = OtlpSink(protocol="grpc" if protocol == "grpc" else "http", keep=keep)
        self.addCleanup(sink.close)
        self.sinks += 1
        if protocol in PROTOCOLS:  # each part of a test has its own spool
            self.spool = self.directory / f"spool-{self.sinks}"
        return sink.open() if opened else sink

    def start(self, command, prepare=None, env=None):
        clean = {key: value for key, value in os.environ.items()
                 if not re.match("CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|.*_proxy$", key, re.I)}
        self.runs += 1
        err = open(self.directory / f"err-{self.runs}", "w+")
        self.addCleanup(err.close)
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=err, env={**clean, "no_proxy": "*", "OTEL_LOG_LEVEL": "info", **(env or {})},
                                   cwd=self.directory, preexec_fn=prepare, start_new_session=True)
        process.err = err
        process.accounts_file = self.directory / f"report-{self.runs}"
        self.processes.append(process)
        return process

    def agent(self, sink, *options, protocol="http/protobuf", spool=True, prepare=None, env=None, **settings):
        command = [BUILD / "cuspan", "replay", "--endpoint", sink.endpoint, "--protocol", protocol,
                   "--set", f"accounts_file={self.directory / f'report-{self.runs + 1}'}"]
        if spool:
            command += ["--set", f"spool.directory={self.spool}"]
        for key, value in settings.items():
            command += ["--set", f"{key.replace('__', '.')}={value}"]
        return self.start([*command, *options, RECORDING], prepare, env)

    def end(self, process, limit_s=LIMIT_S):
        """Waits for the end and returns the report, in which every span must have a fate. `said` is the log."""
        process.wait(limit_s)
        process.err.seek(0)
        process.said = process.err.read()
        self.assertNotRegex(process.said, "Sanitizer|runtime error:")
        reports = list(self.directory.glob(f"{process.accounts_file.name}.*"))
        if not reports:
            return None
        report = json.loads(reports[0].read_text())
        (output,) = report["outputs"]
        self.assertEqual(output["delivered"] + output["lost"] + output.get("spooled", 0), report["spans"], report)
        self.assertEqual(report["counters"]["spans_spooled_left"], output.get("spooled", 0))
        return report

    def run_agent(self, *arguments, **keywords):
        process = self.agent(*arguments, **keywords)
        report = self.end(process)
        self.assertIsNotNone(report, process.said)
        report["said"] = process.said
        report["status"] = process.returncode
        return report

    def send(self, sink, *arguments, status=0, protocol=None, limit_s=LIMIT_S):
        command = [BUILD / "cuspan", "send", "--timeout", "1" if status else "60"]
        if sink:
            command += ["--endpoint", sink.endpoint]
        if protocol:
            command += ["--protocol", protocol]
        process = self.start([*command, *(arguments or [self.spool])])
        self.end(process, limit_s)
        self.assertEqual(process.returncode, status, process.said)
        return process.said

    def assert_each_once(self, sink, count):
        ids = [span_id for arrived in sink.arrived for span_id in arrived.span_ids]
        self.assertEqual(len(ids), count)
        self.assertEqual(len(set(ids)), count)

    def waiting(self):
        """The bodies in the spool, in order, for each source."""
        sources = {}
        for path in sorted(self.spool.glob("*.segment")):
            data, at = path.read_bytes(), 32
            while at + 32 <= len(data):
                end = at + 32 + int.from_bytes(data[at + 8:at + 12], "little")
                sources.setdefault(path.name.rpartition("-")[0], []).append(hash(data[at + 32:end]))
                at = end
        return sources

    def assert_in_order(self, sink, sources):
        for bodies in sources.values():
            self.assertEqual([body for body in sink.hashes if body in set(bodies)], bodies)

    def assert_empty(self):
        self.assertEqual(sorted(path.name for path in self.spool.iterdir()), [])


class Outage(Case):
    def test_while_it_runs(self):
        """The collector is unavailable when the agent starts and comes back later; a minute of spans at full rate waits
        on the disk."""
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                sink = self.sink(protocol, opened=False)
                process = self.agent(sink, "--repeat", "100", protocol=protocol, exit_deadline_ms=100000)
                deadline = time.monotonic() + LIMIT_S
                while not self.spool.exists() or bytes_in(self.spool) < 100000 and time.monotonic() < deadline:
                    time.sleep(0.01)
                sink.open()
                report = self.end(process)
                if report["counters"]["spans_spooled_left"]:
                    self.send(sink, protocol=protocol)
                self.assertEqual(report["losses"], {})
                self.assert_each_once(sink, report["spans"])
                self.assertGreater(report["spans"], 90 * SPANS)
                self.assertEqual(report["counters"]["spans_spooled"], report["spans"])
                self.assert_empty()

    def test_status_shows_it(self):
        """How many spans wait on the disk, and why."""
        sink = self.sink()
        sink.status = 503
        process = self.agent(sink, "--paced", "--repeat", "10000")
        pid = child_of(process)
        pattern = r"\n    = 0 delivered \+ [\d,]+ on their way \+ [1-9][\d,]* in the spool \+ 0 lost\n    last error: .*503"
        deadline = time.monotonic() + LIMIT_S
        while not re.search(pattern, text := self.status_of(pid)):
            self.assertLess(time.monotonic(), deadline, text)
            time.sleep(0.1)

    def status_of(self, pid):
        done = subprocess.run([BUILD / "cuspan", "status", str(pid)], text=True, capture_output=True, check=False)
        return done.stdout + done.stderr

    def test_beyond_its_end(self):
        """An exit does not wait for an unavailable collector. The next agent delivers the rest in order, together with
        its own."""
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                sink = self.sink(protocol, opened=False)
                first = self.run_agent(sink, "--repeat", "20", protocol=protocol, exit_deadline_ms=600000)  # which is not used
                self.assertEqual((first["losses"], first["delivered"], first["status"]), ({}, 0, 0), first["said"])
                self.assertRegex(first["said"], rf"{first['spans']} spans are left in the spool: .*`cuspan send`")
                waiting = self.waiting()
                sink.open()
                # Paced, so that it runs while the other's spans are delivered.
                second = self.run_agent(sink, "--paced", "--repeat", "8", protocol=protocol, **ROOM)
                self.assertEqual(second["losses"], {})
                self.assertEqual(second["counters"]["recovered_spans"], first["spans"], second["said"])
                self.assertEqual(second["counters"]["recovered_lost"], 0)
                self.assertRegex(second["said"], rf"{first['spans']} spans that process \d+ \(cuspan\) left")
                self.assertNotIn("unexpectedly", second["said"])
                self.assert_each_once(sink, first["spans"] + second["spans"])
                self.assert_in_order(sink, waiting)
                self.assertEqual(len({arrived.pid for arrived in sink.arrived}), 2)
                self.assert_empty()

    def test_a_collector_that_lives_leaves_nothing_behind(self):
        sink = self.sink()
        report = self.run_agent(sink, "--repeat", "10")
        self.assertEqual((report["losses"], report["delivered"]), ({}, report["spans"]))
        self.assert_each_once(sink, report["spans"])
        self.assert_empty()

    def test_an_hour(self):
        """As many spans as 10,000 spans/s give, as fast as possible; all on the disk, then all at the collector."""
        sink = self.sink(opened=False, keep=False)
        wanted = HOUR_SPANS if LONG else HOUR_SPANS // 60
        report = self.run_agent_long(sink, wanted)
        on_disk = bytes_in(self.spool)
        self.assertEqual((report["losses"], report["delivered"]), ({}, 0))
        sink.open()
        said = self.send(sink, limit_s=4000)
        print(f"{report['spans']:,} spans waited in {on_disk / 1e6:,.1f} MB: {on_disk / report['spans']:.1f} bytes each")
        self.assertEqual(sink.spans, report["spans"], said)
        self.assert_empty()

    def run_agent_long(self, sink, spans):
        process = self.agent(sink, "--repeat", str(spans // SPANS))
        report = self.end(process, 4000)
        self.assertGreater(report["spans"], 0.9 * spans)
        return report

    def test_what_it_refuses_is_counted(self):
        sink = self.sink()
        sink.status = 400
        report = self.run_agent(sink, "--repeat", "3")
        self.assertEqual(report["losses"], {"lost_refused": report["spans"]})
        self.assert_empty()

    def test_busy_is_not_refused(self):
        sink = self.sink()
        sink.status = 503
        report = self.run_agent(sink, "--repeat", "3")
        self.assertEqual((report["losses"], report["delivered"]), ({}, 0))
        sink.status = 200
        self.send(sink)
        self.assert_each_once(sink, report["spans"])


class Killed(Case):
    def ledger_of(self, pid):
        """The ledger of the process's source; b"" if it has none yet."""
        with contextlib.suppress(OSError):
            for fd, name in proc.descriptors(pid).items():
                if re.search(rf"-{pid}-\w+-\d\.ledger$", name):  # it may also hold those of ended processes
                    return Path(f"/proc/{pid}/fd/{fd}").read_bytes()
        return b""

    def wait_for_writes(self, pids):
        """Waits until the ledger of each process has changed several times: before that, a kill has little to lose."""
        seen = {pid: set() for pid in pids}
        deadline = time.monotonic() + LIMIT_S
        while not all(len(ledgers) > 4 for ledgers in seen.values()):
            self.assertLess(time.monotonic(), deadline, "the ledgers don't change")
            for pid in pids:
                seen[pid].add(self.ledger_of(pid))
            time.sleep(0.05)

    def test_at_random_points(self):
        """kill -9, eight times, and twenty with --long: everything that was in the spool then arrives, and the rest is counted."""
        sink = self.sink()
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        chance = random.Random(seed)
        killed = set()
        waves = 5 if LONG else 2
        for wave in range(waves):
            # In half of them the killed process finds no collector.
            target = sink if wave % 2 else self.sink(opened=False)
            runs = [self.agent(target, "--paced", "--repeat", "10000", protocol="http/json") for _ in range(4)]
            children = [child_of(run) for run in runs]
            self.wait_for_writes(children)
            for pid in chance.sample(children, 4):
                time.sleep(chance.uniform(0, 1))
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            for run in runs:
                run.wait(LIMIT_S)
        said = self.send(sink)
        self.assert_empty()
        # Processes of the second wave start to deliver the spans of the first.
        said += "".join(Path(run.err.name).read_text() for run in self.processes)
        told = re.findall(r"process (\d+) \(cuspan\) ended unexpectedly: of (\d+) spans that it is known to have created, "
                          r"(\d+) were delivered, (\d+) are in the spool and will be sent now, (\d+) are lost", said)
        lost = {int(pid): int(count) for pid, _, _, _, count in told}
        made = {int(pid): int(count) for pid, count, _, _, _ in told}
        came, requests, seen = Counter(), Counter(), {}
        for arrived in sink.arrived:
            requests[arrived.pid] += not set(arrived.span_ids).isdisjoint(seen.setdefault(arrived.pid, set()))
            seen[arrived.pid].update(arrived.span_ids)
        for pid, ids in seen.items():
            came[pid] = len(ids)
        for pid in killed:
            self.assertGreater(came[pid], 0)
            if pid in made:
                self.assertEqual(came[pid] + lost[pid], made[pid], said)
        # A request is sent twice if it was accepted and its sender was killed before the response.
        self.assertLessEqual(sum(requests.values()), len(killed))
        # All that found no collector; the others may have delivered everything just before their end.
        self.assertGreaterEqual(len(made.keys() & killed), 2 * waves)
        print(f"{sum(lost.values())} of {sum(made.values())} spans known to have been made by {len(killed)} processes are "
              f"lost; {sum(requests.values())} requests came twice")

    def test_the_next_agent_counts_it(self):
        sink = self.sink(opened=False)
        first = self.agent(sink, "--paced", "--repeat", "10000")
        pid = child_of(first)
        deadline = time.monotonic() + LIMIT_S
        while not self.spool.exists() or not bytes_in(self.spool) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        first.wait(LIMIT_S)
        sink.open()
        second = self.run_agent(sink, "--paced", "--repeat", "8", **ROOM)
        told = re.search(rf"warning: process {pid} \(cuspan\) ended unexpectedly: of (\d+) spans that it is known to "
                         r"have created, 0 were delivered, (\d+) are in the spool and will be sent now, (\d+) are lost", second["said"])
        made, here, lost = map(int, told.groups())
        self.assertEqual(made, here + lost)
        self.assertEqual(second["counters"]["recovered_spans"], here)
        self.assertEqual(second["counters"]["recovered_lost"], lost)
        self.assertEqual(second["losses"], {})  # they belong to the other one
        self.assert_each_once(sink, second["spans"] + here)

    def test_who_delivers_may_be_killed_too(self):
        sink = self.sink(opened=False)
        first = self.run_agent(sink, "--repeat", "200")
        sink.open()
        for _ in range(5):
            process = self.start([BUILD / "cuspan", "send", "--endpoint", sink.endpoint, self.spool])
            before = sink.requests
            deadline = time.monotonic() + LIMIT_S
            while sink.requests < before + 2 and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.001)
            process.kill()
            process.wait()
        self.send(sink)
        ids = Counter(span_id for arrived in sink.arrived for span_id in arrived.span_ids)
        self.assertEqual(len(ids), first["spans"])
        self.assertLessEqual(sink.requests, first["counters"]["spans_spooled"])
        twice = sum(1 for count in ids.values() if count > 1)
        self.assertLessEqual(twice, 5 * 8192)  # one request in progress for each killed process
        self.assertLessEqual(max(ids.values()), 6)


class Shared(Case):
    def test_several_processes_with_one_directory(self):
        sink = self.sink(opened=False)
        runs = [self.agent(sink, "--repeat", "20", exit_deadline_ms=60000) for _ in range(4)]
        reports = [self.end(run) for run in runs]
        made = sum(report["spans"] for report in reports)
        self.assertEqual([report["losses"] for report in reports], [{}] * 4)
        waiting = self.waiting()
        self.assertEqual(len(waiting), 4)
        sink.open()
        more = [self.agent(sink, "--paced", "--repeat", "8", exit_deadline_ms=60000, **ROOM) for _ in range(3)]
        own = [self.end(run) for run in more]
        said = self.send(sink)
        self.assertEqual([report["losses"] for report in own], [{}] * 3)
        self.assert_each_once(sink, made + sum(report["spans"] for report in own))
        self.assert_in_order(sink, waiting)
        self.assertEqual(len({arrived.pid for arrived in sink.arrived}), 7, said)
        self.assert_empty()

    def test_what_a_running_process_has_is_left_to_it(self):
        sink = self.sink(opened=False)
        run = self.agent(sink, "--paced", "--repeat", "10000")
        deadline = time.monotonic() + LIMIT_S
        while not self.spool.exists() or not bytes_in(self.spool) and time.monotonic() < deadline:
            time.sleep(0.05)
        sink2 = self.sink()
        said = self.send(sink2)
        self.assertIn("skipped: 1 running process will deliver its own", said)
        self.assertEqual(sink2.spans, 0)
        os.kill(child_of(run), signal.SIGKILL)
        run.wait(LIMIT_S)
        self.send(sink2)
        self.assertGreater(sink2.spans, 0)
        self.assert_empty()


class Disk(Case):
    def test_a_full_spool(self):
        sink = self.sink(opened=False)
        report = self.run_agent(sink, "--repeat", "200", spool__bytes_max=4 << 20)
        lost = report["losses"]["lost_spool_full"]
        self.assertGreater(lost, 0)
        self.assertEqual(set(report["losses"]), {"lost_spool_full"})
        self.assertLessEqual(bytes_in(self.spool), 4 << 20)
        self.assertEqual(len(re.findall("is full .*raise distribution.cuspan.spool.bytes_max", report["said"])), 1)
        sink.open()
        self.send(sink)
        self.assert_each_once(sink, report["spans"] - lost)

    def test_a_full_disk(self):
        """EFBIG instead of ENOSPC, which needs a file system and root. The spans that fit are spooled. The others are sent
        from memory after those."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, resource.RLIM_INFINITY))

        sink = self.sink()
        report = self.run_agent(sink, "--repeat", "25", prepare=limit, exit_deadline_ms=600000, env=PATIENT)
        self.assertEqual((report["losses"], report["delivered"]), ({}, report["spans"]), report["said"])
        self.assert_each_once(sink, report["spans"])
        self.assertRegex(report["said"], "File too large.; spans are sent from memory")

    def mounted(self, script, sink, options=""):
        """Runs the agent with a separate file system as the spool's directory, in its own namespace."""
        self.spool.mkdir(mode=0o700)
        command = (f"mount -t tmpfs -o {options},mode=0700 none {self.spool} && {script} && "
                   f"exec '{BUILD}/cuspan' replay --endpoint {sink.endpoint} --set spool.directory={self.spool} "
                   f"--set exit_deadline_ms=600000 --set accounts_file={self.directory}/report-{self.runs + 2} "
                   f"--repeat 25 '{RECORDING}'")
        probe = self.start(["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {self.spool}"])
        if probe.wait(LIMIT_S) != 0:
            self.skipTest("no right to mount a file system here")
        process = self.start(["unshare", "-m", "sh", "-c", command], env=PATIENT)
        report = self.end(process)
        self.assertIsNotNone(report, process.said)
        return report, process.said

    def test_no_space_left(self):
        sink = self.sink()
        report, said = self.mounted("true", sink, "size=64k")
        self.assertEqual((report["losses"], report["delivered"]), ({}, report["spans"]), said)
        self.assertRegex(said, "No space left on device.; spans are sent from memory")
        self.assertLessEqual(len(re.findall("No space left", said)), 3)
        self.assert_each_once(sink, report["spans"])

    def test_read_only(self):
        sink = self.sink()
        report, said = self.mounted(f"mount -o remount,ro {self.spool}", sink, "size=1m")
        self.assertEqual((report["losses"], report["delivered"]), ({}, report["spans"]), said)
        self.assertEqual(len(re.findall("Read-only file system.; spans are sent from memory", said)), 1, said)
        self.assert_each_once(sink, report["spans"])

    def test_directories_that_are_refused(self):
        """One line each, and the spans are delivered as without a spool."""
        open_to_all, link, target = (self.directory / name for name in ("open", "link", "target"))
        open_to_all.mkdir()
        open_to_all.chmod(0o777)
        target.mkdir(mode=0o700)
        link.symlink_to(target)
        cases = {open_to_all: "is writable by others", link: "symbolic link", Path("/nowhere/at/all"): "cannot be created"}
        for folder, line in cases.items():
            with self.subTest(folder):
                self.spool = folder
                sink = self.sink()
                report = self.run_agent(sink, "--repeat", "5")
                self.assertEqual((report["losses"], report["delivered"]), ({}, report["spans"]))
                self.assertEqual(len(re.findall(line, report["said"])), 1, report["said"])
                self.assert_each_once(sink, report["spans"])
        self.assertEqual(list(target.iterdir()), [])

    def test_no_secret_lies_there(self):
        sink = self.sink(opened=False)
        self.run_agent(sink, env={"OTEL_EXPORTER_OTLP_HEADERS": "api-key=sesame-sesame"})
        self.assertTrue(list(self.spool.iterdir()))
        for path in self.spool.iterdir():
            self.assertNotIn(b"sesame", path.read_bytes())
            self.assertEqual(path.stat().st_mode & 0o7777, 0o600)
        self.assertEqual(self.spool.stat().st_mode & 0o7777, 0o700)
        sink.open()
        process = self.start([BUILD / "cuspan", "send", "--endpoint", sink.endpoint, self.spool],
                             env={"OTEL_EXPORTER_OTLP_HEADERS": "api-key=sesame-sesame"})
        self.end(process)
        self.assertEqual(process.returncode, 0, process.said)
        self.assertIn("sesame-sesame", sink.headers[0].values())
        self.assertNotIn("sesame", process.said)

    def test_damage_is_counted(self):
        sink = self.sink(opened=False)
        report = self.run_agent(sink, "--repeat", "25")
        segments = sorted(self.spool.glob("*.segment"))
        with open(segments[0], "r+b") as file:
            file.seek(segments[0].stat().st_size // 2)
            file.write(bytes(64))
        sink.open()
        said = self.send(sink, status=1)
        lost = int(re.search(r"lost ([0-9,]+): refused by the collector, or damaged", said)[1].replace(",", ""))
        self.assertGreater(lost, 0)
        self.assertEqual(sink.spans + lost, report["spans"])
        self.assert_empty()


class Send(Case):
    def lines(self, repeat=3):
        path = self.directory / "trace.jsonl"
        process = self.start([BUILD / "cuspan", "replay", "--file", path, "--repeat", str(repeat), RECORDING])
        self.assertEqual(process.wait(LIMIT_S), 0)
        return path, sum(len(scope["spans"]) for line in path.read_text().splitlines()
                         for group in json.loads(line)["resourceSpans"] for scope in group["scopeSpans"])

    def test_nobody_takes_it(self):
        """Trying loses nothing, and the exit status says that spans remain."""
        sink = self.sink(opened=False)
        report = self.run_agent(sink, "--repeat", "3")
        before = {path.name: path.stat().st_size for path in self.spool.glob("*.segment")}
        said = self.send(sink, status=1)
        self.assertRegex(said, f"{report['spans']:,} remain: nothing accepted them")
        self.assertNotIn("lost", said)
        self.assertEqual({path.name: path.stat().st_size for path in self.spool.glob("*.segment")}, before)
        sink.open()
        said = self.send(sink)
        self.assertIn(f"{report['spans']:,} spans delivered to {sink.endpoint}/v1/traces", said)

    def test_by_another_protocol(self):
        """Spans that were spooled for one protocol are sent by another, except JSON, which gRPC cannot carry."""
        for written, sent, status in ("http/protobuf", "grpc", 0), ("grpc", "http/protobuf", 0), ("http/json", "grpc", 1), \
                ("http/json", "http/protobuf", 0):
            with self.subTest(f"{written} as {sent}"):
                sink = self.sink(sent, opened=False)
                report = self.run_agent(sink, "--repeat", "3", protocol=written)
                sink.open()
                self.send(sink, protocol=sent, status=status)
                self.assert_each_once(sink, 0 if status else report["spans"])
                if status:
                    other = self.sink()
                    self.send(other)
                    self.assert_each_once(other, report["spans"])

    def test_compressions(self):
        for compression in "none", "gzip":
            sink = self.sink(opened=False)
            report = self.run_agent(sink, "--repeat", "3", compression=compression)
            sink.open()
            self.send(sink)
            self.assert_each_once(sink, report["spans"])
            self.assertEqual({headers.get("Content-Encoding") for headers in sink.headers},
                             {None if compression == "none" else compression})

    def test_one_of_its_files(self):
        sink = self.sink(opened=False)
        first, second = self.run_agent(sink, "--repeat", "3"), self.run_agent(sink, "--repeat", "5")
        sink.open()
        self.send(sink, sorted(self.spool.glob("*.segment"))[1])
        self.assert_each_once(sink, second["spans"])
        self.send(sink, sorted(self.spool.glob("*.ledger"))[0])
        self.assert_each_once(sink, first["spans"] + second["spans"])
        self.assert_empty()

    def test_lines_of_json(self):
        path, count = self.lines()
        before = path.read_bytes()
        sink = self.sink()
        said = self.send(sink, path)
        self.assertIn(f"{count:,} spans delivered", said)
        self.assert_each_once(sink, count)
        self.assertEqual(path.read_bytes(), before)
        sink.close()
        self.assertRegex(self.send(sink, path, status=1), f"{count:,} remain")

    def test_lines_that_are_none(self):
        path, count = self.lines()
        whole = path.read_bytes()
        path.write_bytes(b"\nnot json\n{}\n" + b"[" * 5000 + b"\n" + whole + whole[:1000])
        sink = self.sink()
        said = self.send(sink, path)
        self.assert_each_once(sink, count)
        self.assertRegex(said, r"trace\.jsonl:2: skipped .not a complete .*, and so are later lines")
        path.write_bytes(b"not json\n" * 200)
        self.assertEqual(self.send(self.sink(), path, status=1).count("skipped"), 1)

    def test_compressed_lines(self):
        path, count = self.lines()
        for name, packed in (("trace.jsonl.gz", gzip.compress(path.read_bytes())), ("trace.jsonl.zst", zstd(path.read_bytes()))):
            file = self.directory / name
            file.write_bytes(packed)
            sink = self.sink()
            self.assertIn(f"{count:,} spans delivered", self.send(sink, file))
            self.assert_each_once(sink, count)
            file.write_bytes((packed + packed)[:-100])
            self.assertIn("data ends early; the lines before are sent", self.send(self.sink(), file))

    def test_what_is_no_file_of_lines(self):
        sink = self.sink()
        messages = self.directory / "spans.pb"
        messages.write_bytes(b"\0\0\0\x03\x0a\x01x")
        for file, words in ((ROOT / "examples/recordings/vector_add.cuspanrec", "it is a recording; send it with cuspan replay"),
                            (BUILD / "cuspan", "it is an ELF program"), (messages, "it has OTLP protobuf messages")):
            said = self.send(sink, file, status=1)
            self.assertIn(f"{file}: {words}", said)
            self.assertEqual(len(said.splitlines()), 1, said)

    def test_what_cant_be_sent(self):
        sink = self.sink()
        path, _ = self.lines()
        self.assertIn("/nowhere does not exist", self.send(sink, "/nowhere", status=1))
        self.assertIn("gRPC cannot carry", self.send(sink, path, status=1, protocol="grpc"))
        self.assertIn("no OTLP exporter", self.send(None, "--set", "console=true", path, status=2))
        empty = self.directory / "empty"
        empty.mkdir(mode=0o700)
        self.assertIn("0 spans delivered", self.send(sink, empty))
        (empty / "trace.jsonl").write_bytes(path.read_bytes())
        self.assertIn(f"{empty} is not a spool: it contains only other files", self.send(sink, empty, status=1))
        process = self.start([BUILD / "cuspan", "send"])
        self.end(process)
        self.assertEqual(process.returncode, 2)
        self.assertIn("spool.directory", process.said)

    def test_the_directory_of_the_settings(self):
        sink = self.sink(opened=False)
        report = self.run_agent(sink)
        sink.open()
        self.send(sink, "--set", f"spool.directory={self.spool}")
        self.assert_each_once(sink, report["spans"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
