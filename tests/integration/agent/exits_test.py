#!/usr/bin/env python3
"""How hosts end: status and output are the same with and without the agent, and each span is delivered or counted.

    exits_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]

The hosts are exit_host.c and Python programs; the replay library stands in for CUPTI.
"""

import contextlib
import json
import re
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
import backend  # noqa: E402
from agent_case import FOREVER_MS, HANG_S, PATIENT, path_of, spans_in  # noqa: E402

STATUS = 7
RECORDING = "threads"
# If no handler runs, spans may wait for these intervals, which the tests make short.
INTERVALS_MS = {"cupti.flush_interval_ms": 200}
SCHEDULE_MS = 200
_bare = {}
OF_SANITIZERS = {"fault", "illegal-instruction", "abort", "throw"}  # sanitizers have their own handlers for these


class Collector:
    """The server at the endpoint. `answers_after_s` None: never."""

    def __init__(self, answers_after_s=0.0, context=None):
        self.bodies, self.closed = [], False
        self.delay_s = answers_after_s
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.context = context
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def url(self):
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.talk, args=(self.listener.accept()[0],), daemon=True).start()

    def talk(self, connection):
        with contextlib.suppress(OSError, ValueError), connection:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            file = connection.makefile("rb")
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = file.readline()
                    if not line:
                        return
                    head += line
                body = file.read(int(re.search(rb"(?i)content-length: *(\d+)", head)[1]))
                if self.delay_s is None:
                    time.sleep(3600)
                time.sleep(self.delay_s)
                self.bodies.append((head, body))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")

    def spans(self):
        return [span for _, body in self.bodies for span in backend.spans_of(json.loads(body))]

    def close(self):
        self.listener.close()


def self_signed(folder):
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


class ExitCase(agent_case.Case):
    NAMES_OF_STEPS = ["flushers", "take", "flush_cupti", "take_flushed", "switch_off", "take_last", "late", "close",
                      "deliver", "recording", "report"]

    def setUp(self):
        super().setUp()
        self.fate_is_known = True

    def collector(self, *arguments, **options):
        made = Collector(*arguments, **options)
        self.addCleanup(made.close)
        return made

    def command(self, way, recording=RECORDING):
        return [agent_case.BUILD / "exit_host", agent_case.BUILD / "libcuspan.so",
                agent_case.BUILD / "libcuspan-replay.so", path_of(recording), way]

    def environment_for(self, settings=None, env=None, fail=None):
        self.runs += 1
        target, report = self.directory / f"{self.runs}.jsonl", self.directory / f"report-{self.runs}"
        chosen = {"cupti.library": agent_case.BUILD / "libcuspan-replay.so", "output_file": target,
                  "accounts_file": report, "exit_deadline_ms": 60000, **(settings or {})}
        extra = {"CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items() if value is not None),
                 **agent_case.FORKS, **(env or {})}
        if fail:
            extra["CUSPAN_REPLAY_FAIL"] = fail
        return target, report, extra

    def host(self, way, settings=None, env=None, fail=None, timeout=HANG_S, recording=RECORDING):
        target, report, extra = self.environment_for(settings, env, fail)
        result = self.start(self.command(way, recording), extra, timeout)
        result.text = target.read_text() if target.exists() else ""
        result.report = None
        for path in report.parent.glob(f"{report.name}.*"):
            result.report = json.loads(path.read_text())
        return result

    def bare(self, way, env=None):
        """The same as without an agent."""
        if way not in _bare:
            _bare[way] = self.start_bare(way, env)
        return _bare[way]

    def start_bare(self, way, env):
        return self.start(self.command(way), {"OTEL_SDK_DISABLED": "true", **agent_case.FORKS, **(env or {})})

    def assert_same_end(self, result, way, env=None):
        bare = self.bare(way, env)
        self.assertEqual((result.status, result.out), (bare.status, bare.out), result.err)
        return bare

    def assert_fates(self, result, rounds=1):
        """Each span has arrived or is counted as lost, apart from records that were not spans yet at the deadline."""
        report = result.report
        self.assertIsNotNone(report, result.err)
        lost = sum(count for name, count in report["losses"].items() if name != "lost_unmade")
        self.assertEqual(report["delivered"] + lost, report["spans"], report["losses"])

    def assert_all_there(self, result, rounds=1):
        self.assert_fates(result)
        self.assertEqual(result.report["losses"], {}, result.err)
        self.assertEqual(len(result.spans), result.report["spans"])
        self.assertTrue(result.text.endswith("\n"))
        self.assertEqual(result.report["shutdown"]["verdict"], "PASSED", result.report["shutdown"])
        self.assert_same_work(RECORDING, result.spans, rounds)


class Exits(ExitCase):
    """Exits that run exit handlers."""

    def test_each_way_delivers_all(self):
        for way, rounds in ("return", 1), ("exit-in-a-thread", 1), ("quick_exit", 1), ("pthread_exit", 2), ("dlclose", 2):
            with self.subTest(way):
                result = self.host(way)
                self.assert_same_end(result, way)
                self.assertEqual(result.err, "")
                self.assert_all_there(result, rounds)

    def test_the_cause_is_reported(self):
        for way, cause in (("return", "exit"), ("quick_exit", "quick_exit"),
                           ("pthread_exit", "the end of its last thread"), ("TERM-after-finish", "cuspan_finish")):
            with self.subTest(way):
                self.assertEqual(self.host(way).report["shutdown"]["cause"], cause)

    def test_collectors_dead_hanging_slow_and_alive(self):
        """The exit takes no longer than the deadline plus the host's own time, and each span is delivered or
        counted."""
        deadline_ms = 1000
        certificate_context, certificate = self_signed(self.directory)
        with socket.socket() as unheard:  # accepts no connection
            unheard.bind(("127.0.0.1", 0))
            unheard.listen(0)
            for name, collector, expected in (
                    ("alive", self.collector(), "delivered"),
                    ("slow", self.collector(0.2), "delivered"),
                    ("hanging", self.collector(None), "lost_deadline"),
                    ("dead", f"http://127.0.0.1:{backend.free_ports(1)[0]}", "lost_deadline"),
                    ("unheard", f"http://127.0.0.1:{unheard.getsockname()[1]}", "lost_deadline"),
                    ("TLS alive", self.collector(context=certificate_context), "delivered"),
                    ("TLS slow", self.collector(0.2, certificate_context), "delivered"),
                    ("TLS hanging", self.collector(None, certificate_context), "lost_deadline")):
                for way in ("return", "exit-in-a-thread", "quick_exit") if name == "TLS alive" else ("return",):
                    with self.subTest(name, way=way):
                        wanted = isinstance(collector, Collector)
                        settings = {"output_file": None, "protocol": "http/json", "compression": "none",
                                    "endpoint": collector.url if wanted else collector,
                                    "exit_deadline_ms": FOREVER_MS if expected == "delivered" else deadline_ms}
                        if wanted:
                            collector.bodies.clear()
                        result = self.host(way, settings, {**PATIENT, "OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificate)})
                        self.assert_same_end(result, way)
                        self.assert_fates(result)
                        shutdown = result.report["shutdown"]
                        if expected == "delivered":
                            self.assertEqual(result.report["losses"], {}, result.err)
                            self.assert_same_work(RECORDING, collector.spans())
                            self.assertEqual((result.err, shutdown["verdict"]), ("", "PASSED"))
                        else:
                            self.assertEqual(list(result.report["losses"]), [expected])
                            self.assertEqual(shutdown["verdict"], "FAILED")
                            self.assertIn("lost_deadline", result.err)

    def test_cupti_ends_before_the_agent(self):
        """The driver's own exit handler runs first: work that CUPTI still held is gone, what was captured is
        delivered."""
        for way in "return", "exit-in-a-thread":
            with self.subTest(way):
                result = self.host(way, fail="exits-first")
                self.assert_same_end(result, way)
                self.assert_fates(result)
                self.assertEqual(len(result.spans), result.report["delivered"])
                self.assertGreater(result.report["counters"]["calls_captured"], 0)
                steps = {step["name"]: step for step in result.report["shutdown"]["steps"]}
                self.assertEqual(steps["flush_cupti"]["fate"], "failed")
                self.assertEqual(steps["deliver"]["fate"], "done")

    def test_after_a_fatal_error(self):
        """For example after an illegal address: CUPTI reports no more."""
        for way in "return", "quick_exit":
            with self.subTest(way):
                result = self.host(way, fail="fatal")
                self.assert_same_end(result, way)
                self.assert_fates(result)
                self.assertRegex(result.err, "CUPTI has stopped working")
                steps = {step["name"]: step["fate"] for step in result.report["shutdown"]["steps"]}
                self.assertEqual((steps["flush_cupti"], steps["deliver"]), ("skipped", "done"))

    def test_python_s_own_ways(self):
        if agent_case.SANITIZERS:
            self.skipTest("a sanitized library can't be loaded into Python")
        program = self.directory / "program.py"
        ends = {"pass": True, "sys.exit(7)": True, "raise RuntimeError('x')": True, "os._exit(7)": False,
                "os.abort()": False, "signal.raise_signal(signal.SIGINT)": True,  # Python ends itself with the signal
                "signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT); time.sleep(9)": False,
                "threading.Thread(target=lambda: (time.sleep(0.1), print('later'))).start()": True,
                "threading.Thread(target=time.sleep, args=[60], daemon=True).start()": True}
        for end, runs_handlers in ends.items():
            with self.subTest(end):
                program.write_text(f"""
import os, signal, sys, threading, time
sys.path.insert(0, {str(ROOT / "tests/support")!r})
import python_host
python_host.cuda()
print("played", flush=True)
{end}
""")
                python = {"HOST_DOUBLE": str(agent_case.BUILD / "libcuspan-replay.so"), "HOST_RECORDING": path_of(RECORDING),
                          "CUDA_INJECTION64_PATH": str(agent_case.BUILD / "libcuspan.so"), "PYTHONDONTWRITEBYTECODE": "1"}
                _, report, extra = self.environment_for({"on_signal": "INT"}, python)
                bare = self.start([sys.executable, program], {**python, "OTEL_SDK_DISABLED": "true"})
                result = self.start([sys.executable, program], extra)
                self.assertEqual((result.status, result.out, result.err), (bare.status, bare.out, bare.err))
                reports = list(report.parent.glob(f"{report.name}.*"))
                self.assertEqual(len(reports), 1)
                found = json.loads(reports[0].read_text())
                self.assertEqual(found["state"], "ended" if runs_handlers else "running")
                if runs_handlers:
                    self.assertEqual((found["losses"], found["delivered"]), ({}, found["spans"]))

    def test_without_handlers_no_more_than_the_last_interval_is_lost(self):
        """_exit, a signal's default action, abort, kill -9: the host ends in its own way, and only complete lines
        arrive."""
        for way in "_exit", "TERM", "KILL", "abort", "fault", "illegal-instruction", "throw":
            with self.subTest(way):
                if way in OF_SANITIZERS and agent_case.SANITIZERS:
                    continue
                quiet = {"OTEL_BSP_SCHEDULE_DELAY": str(SCHEDULE_MS), "HOST_DELIVERED": "1037"}
                result = self.host(way, INTERVALS_MS, quiet)
                bare = self.assert_same_end(result, way)
                self.assertEqual(result.err, bare.err)
                self.assertEqual(result.report["state"], "running")
                self.assertEqual(result.report["delivered"], len(result.spans))
                self.assertTrue(result.text.endswith("\n"))
                work = [span for span in result.spans if not agent_case.is_session(span)]
                self.assertEqual(len(work), len(self.whole_work()), "what had waited for its interval is there")

    def whole_work(self):
        if not hasattr(self, "_work"):
            self._work = [span for span in self.host("return").spans if not agent_case.is_session(span)]
        return self._work

    def test_how_much_a_kill_loses(self):
        """Of a host that works all the time. A busy machine may be late, so one of five attempts must be in time."""
        most_ms = INTERVALS_MS["cupti.flush_interval_ms"] + SCHEDULE_MS + 2000
        self.assertTrue(any(self.lost_by_a_kill_ms() < most_ms for _ in range(5)))

    def lost_by_a_kill_ms(self):
        in_one = sum(not agent_case.is_session(span) for span in self.replay("vector_add").spans)
        target, _, extra = self.environment_for(INTERVALS_MS, {"OTEL_BSP_SCHEDULE_DELAY": str(SCHEDULE_MS)})
        process = subprocess.Popen([str(part) for part in self.command("rounds-for-ever", "vector_add")], stdout=subprocess.PIPE,
                                   env=self.environment(extra), text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        rounds = []
        begin = time.monotonic()
        self.assertEqual(process.stdout.readline(), "host: played\n")
        while time.monotonic() < begin + 3:
            number, at = process.stdout.readline().split()
            rounds.append((int(number), float(at)))
        process.kill()
        killed = time.clock_gettime(time.CLOCK_MONOTONIC)
        process.wait()
        text = target.read_text()
        spans = spans_in(text[:text.rindex("\n") + 1])
        there = sum(not agent_case.is_session(span) for span in spans) / in_one - 1  # one was sent before the first
        missing_since = next((at for number, at in rounds if number > there), killed)
        lost_ms = (killed - missing_since) * 1000
        print(f"of {rounds[-1][0]} rounds {there:.1f} arrived: the last {lost_ms:.0f} ms are lost, with a flush interval of "
              f"{INTERVALS_MS['cupti.flush_interval_ms']} ms and a schedule delay of {SCHEDULE_MS} ms")
        self.assertGreater(there, 1)
        return lost_ms


class Signals(ExitCase):
    """on_signal."""

    def test_all_is_delivered_and_the_status_is_the_signal_s(self):
        names = "TERM,INT,HUP,QUIT,USR1,ABRT,SEGV,ILL"
        for way in "TERM", "INT", "HUP", "QUIT", "USR1", "abort", "fault", "illegal-instruction", "throw":
            with self.subTest(way):
                if way in OF_SANITIZERS and agent_case.SANITIZERS:
                    continue
                result = self.host(way, {"on_signal": names})
                bare = self.assert_same_end(result, way)
                self.assertEqual(result.err, bare.err)
                self.assert_all_there(result)
                name = {"abort": "ABRT", "throw": "ABRT", "fault": "SEGV", "illegal-instruction": "ILL"}.get(way, way)
                self.assertEqual(result.report["shutdown"]["cause"], f"SIG{name}")

    def test_in_each_place(self):
        for way in ("TERM-and-its-echo", "TERM-and-its-echo-on-threads", "TERM-in-sigsuspend", "TERM-in-flush",
                    "TERM-after-finish", "chained-handler"):
            with self.subTest(way):
                result = self.host(way, {"on_signal": "TERM"})
                self.assertEqual(result.status, -signal.SIGTERM, result.err)
                self.assert_same_end(result, way)
                self.assert_all_there(result)

    def test_on_a_thread_that_waits_for_a_flush(self):
        """The flush then never returns: nothing of ours waits for it."""
        slow = self.collector(1.5)
        result = self.host("TERM-in-flush", {"on_signal": "TERM", "exit_deadline_ms": 20000, "output_file": None,
                                             "protocol": "http/json", "compression": "none", "endpoint": slow.url})
        self.assertEqual(result.status, -signal.SIGTERM, result.err)
        self.assert_fates(result)
        self.assertEqual((result.report["losses"], result.err), ({}, ""))
        self.assert_same_work(RECORDING, slow.spans())

    def test_one_that_is_not_named_ends_at_once(self):
        result = self.host("INT", {"on_signal": "TERM"})
        self.assertEqual(result.status, -signal.SIGINT)
        self.assertEqual(result.report["state"], "running")

    def test_the_host_s_own_handler_goes_before(self):
        result = self.host("own-handler", {"on_signal": "TERM"})
        self.assert_same_end(result, "own-handler")
        self.assertIn("TERM was handled\n", result.out)
        self.assert_all_there(result, 2)

    def test_what_the_host_ignores_stays_ignored(self):
        if agent_case.SANITIZERS:
            self.skipTest("a sanitized library can't be loaded into Python")
        program = self.directory / "program.py"
        program.write_text(f"""
import os, signal, sys
sys.path.insert(0, {str(ROOT / "tests/support")!r})
import python_host
signal.signal(signal.SIGTERM, signal.SIG_IGN)
python_host.cuda()
os.kill(os.getpid(), signal.SIGTERM)
print("alive")
""")
        _, _, extra = self.environment_for({"on_signal": "TERM"}, {
            "HOST_DOUBLE": str(agent_case.BUILD / "libcuspan-replay.so"), "HOST_RECORDING": path_of(RECORDING),
            "CUDA_INJECTION64_PATH": str(agent_case.BUILD / "libcuspan.so"), "PYTHONDONTWRITEBYTECODE": "1"})
        result = self.start([sys.executable, program], extra)
        self.assertEqual((result.status, result.out), (0, "alive\n"), result.err)

    def test_a_forked_child_ends_at_once(self):
        result = self.host("child-of-TERM", {"on_signal": "TERM"})
        self.assert_same_end(result, "child-of-TERM")
        self.assertIn("the child has ended by TERM\n", result.out)
        self.assert_all_there(result)

    def test_within_the_deadline(self):
        """With a collector that never responds, and a CUPTI that never returns."""
        hanging = self.collector(None)
        for name, settings, fail, said in (
                ("collector", {"output_file": None, "endpoint": hanging.url}, None, "lost_deadline"),
                ("CUPTI", {}, f"flush-blocks={FOREVER_MS}", "the deadline of 700 ms has passed")):
            with self.subTest(name):
                result = self.host("TERM", {"on_signal": "TERM", "exit_deadline_ms": 700, **settings}, PATIENT, fail)
                self.assertEqual(result.status, -signal.SIGTERM)
                self.assertIn(said, result.err)
                self.assertEqual(result.report["shutdown"]["cause"], "SIGTERM")  # a report always exists

    def test_time_is_left_to_deliver(self):
        """At exit, spans arrive faster than they can be delivered: what is not made in time is counted, and the rest
        gets its share of the deadline. CUPTI hands over all records at the end, and the collector never responds."""
        deadline_ms = 6000
        result = self.host("TERM", {"on_signal": "TERM", "exit_deadline_ms": deadline_ms, "output_file": None,
                                    "protocol": "http/json", "endpoint": self.collector(None).url},
                           {"OTEL_BSP_MAX_QUEUE_SIZE": "300", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10"}, fail="late-buffers",
                           recording="graph_nodes")
        self.assertEqual(result.status, -signal.SIGTERM)
        self.assertGreater(result.report["losses"]["lost_unmade"], 0)
        self.assertGreater(result.report["losses"]["lost_deadline"], 0)
        steps = {step["name"]: step for step in result.report["shutdown"]["steps"]}
        before = self.NAMES_OF_STEPS[:self.NAMES_OF_STEPS.index("deliver")]
        self.assertLess(sum(steps[name]["ms"] for name in before), deadline_ms)
        self.assertEqual((steps["take_flushed"]["fate"], steps["deliver"]["fate"]), ("failed", "failed"))

    def test_a_second_one_ends_it_at_once(self):
        hanging = self.collector(None)
        result = self.host("TERM-twice", {"on_signal": "TERM", "output_file": None, "endpoint": hanging.url,
                                          "exit_deadline_ms": FOREVER_MS}, PATIENT)
        self.assertEqual(result.status, -signal.SIGTERM)
        self.assertEqual(result.report["state"], "exiting")

    def test_during_an_exit(self):
        """Either the exit completes first, or the signal waits for it: everything is delivered in both cases."""
        slow = self.collector(1.0)
        result = self.host("TERM-in-exit", {"on_signal": "TERM", "output_file": None, "endpoint": slow.url})
        self.assertIn(result.status, (STATUS, -signal.SIGTERM))
        self.assert_fates(result)
        self.assertEqual(result.report["losses"], {})

    def test_cuspan_run_turns_it_on(self):
        for options, env, finishes in ([], {}, True), (["--set", "on_signal="], {}, False), ([], {"CUSPAN_ON_SIGNAL": "USR1"}, False):
            with self.subTest(options=options, env=env):
                self.runs += 1
                target = self.directory / f"run-{self.runs}.jsonl"
                result = self.start([agent_case.BUILD / "cuspan", "run", "--file", target, "--set",
                                     f"cupti.library={agent_case.BUILD}/libcuspan-replay.so", *options, *self.command("TERM")], env)
                self.assertEqual(result.status, -signal.SIGTERM, result.err)
                spans = spans_in(target.read_text()) if target.exists() else []
                sessions = [span for span in spans if agent_case.is_session(span)]
                self.assertEqual(len(sessions), finishes, result.err)

    def run_command(self, *command, settings=None, env=None, fail=None):
        """cuspan run prints one line on how each process without a final report ended."""
        self.runs += 1
        chosen = {"cupti.library": agent_case.BUILD / "libcuspan-replay.so", "exit_deadline_ms": 60000, **INTERVALS_MS,
                  **(settings or {})}
        sets = [part for key, value in chosen.items() for part in ("--set", f"{key}={value}")]
        result = self.start([agent_case.BUILD / "cuspan", "run", "--file", self.directory / f"run-{self.runs}.jsonl", *sets,
                             *command], {"OTEL_BSP_SCHEDULE_DELAY": str(SCHEDULE_MS), **agent_case.FORKS, **(env or {}),
                                         **({"CUSPAN_REPLAY_FAIL": fail} if fail else {})})
        self.assertNotIn("never started", result.err)
        return [line for line in result.err.splitlines() if line.startswith("cuspan: process ")], result

    def test_cuspan_run_tells_how_a_process_ended(self):
        for way, settings, said in (
                ("_exit", {}, r"ended by _exit\(\) or exec\(\), .*; the last \d.* were not delivered; call cuspan_finish\(\)"),
                ("KILL", {}, r"was ended by SIGKILL; the last \d.* were not delivered; deliver more often"),
                ("fault", {}, r"was ended by SIGSEGV; the last \d.* were not delivered; to deliver first, add SIGSEGV"),
                ("TERM", {"on_signal": ""}, r"was ended by SIGTERM; the last \d.* were not delivered; to deliver first, add SIGTERM")):
            with self.subTest(way):
                if way in OF_SANITIZERS and agent_case.SANITIZERS:
                    continue
                lines, result = self.run_command(*self.command(way), settings=settings, env={"HOST_DELIVERED": "1037"})
                self.assertEqual(len(lines), 1, result.err)
                self.assertRegex(lines[0], rf"^cuspan: process \d+ \(exit_host\) {said}")
                self.assertRegex(result.err, r"(?m)^cuspan: 1,038 spans delivered to ")

    def test_cuspan_run_before_the_first_delivery(self):
        """The work was shorter than every interval."""
        lines, result = self.run_command(*self.command("_exit"), settings={"cupti.flush_interval_ms": 60000},
                                         env={"OTEL_BSP_SCHEDULE_DELAY": "60000"})
        self.assertEqual(len(lines), 1, result.err)
        self.assertRegex(lines[0], r"ended by _exit\(\) or exec\(\), .*; all of its \d.* were not delivered; call cuspan_finish")

    def test_cuspan_run_and_a_missed_deadline(self):
        lines, result = self.run_command(*self.command("TERM"), settings={"exit_deadline_ms": 700},
                                         fail="flush-blocks=30000")
        self.assertEqual(result.status, -signal.SIGTERM)
        self.assertEqual(len(lines), 1, result.err)
        self.assertRegex(lines[0], r"ended before the agent had delivered everything: .*raise distribution.cuspan.exit_deadline_ms")

    def test_cuspan_run_and_several_processes(self):
        """Each span is accounted for."""
        ways = "return", "_exit", "KILL", "return"
        script = "; ".join(shlex.join(map(str, self.command(way))) for way in ways)
        lines, result = self.run_command("sh", "-c", script, env={"HOST_DELIVERED": "1037"})
        self.assertRegex(result.err, r"(?m)^cuspan: 4,151 spans delivered to .*, by 4 processes$")
        self.assertEqual(len(lines), 2, result.err)
        for line in lines:
            self.assertRegex(line, r"ended by _exit\(\), exec\(\) or a signal, .*; everything after its last delivery was lost")

    def test_cuspan_run_and_an_agent_that_does_not_trace(self):
        for settings, fail, said in (({"start_on": "control"}, None, "it waits for `cuspan start`"),
                                     ({}, "register", "CUPTI refused activity buffers")):
            with self.subTest(said):
                lines, result = self.run_command(*self.command("return"), settings=settings, fail=fail)
                self.assertEqual(len(lines), 1, result.err)
                self.assertRegex(lines[0], rf"^cuspan: process \d+ \(exit_host\) was not traced: {said}")

    def test_a_wrong_name_is_refused(self):
        result = self.host("return", {"on_signal": "TERM,KILL"})
        self.assert_same_end(result, "return")
        self.assertRegex(result.err, r'on_signal: expected HUP, INT, .*, not "KILL"')


class Shutdown(ExitCase):
    """The report of its steps."""

    NAMES = ExitCase.NAMES_OF_STEPS

    def test_each_step_with_count_and_time(self):
        text_file = self.directory / "shutdown"
        result = self.host("return", {"shutdown_report": text_file})
        shutdown = result.report["shutdown"]
        self.assertEqual([step["name"] for step in shutdown["steps"]], self.NAMES)
        by_name = {step["name"]: step for step in shutdown["steps"]}
        self.assertEqual({step["fate"] for step in shutdown["steps"]} - {"done", "skipped"}, {"under way"})  # the report itself
        self.assertEqual(by_name["deliver"]["count"] + 0, by_name["deliver"]["count"])
        self.assertGreater(by_name["deliver"]["count"], 0)
        self.assertGreater(shutdown["ms"], by_name["deliver"]["ms"])
        self.assertEqual({name for name, count in shutdown["open"].items() if count}, set())
        text, = (path.read_text() for path in self.directory.glob("shutdown.*"))
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^cuspan: the shutdown of process \d+, by exit, took [0-9.]+ ms$")
        self.assertEqual(lines[-1], "PASSED")
        self.assertEqual(len(lines), 1 + len(self.NAMES) + 6 + 1)
        self.assertTrue(all(re.match("done|skipped", line) for line in lines[1:1 + len(self.NAMES)]), text)

    def test_on_standard_error(self):
        result = self.host("return", {"shutdown_report": "stderr"})
        self.assertRegex(result.err, r"(?s)^cuspan: the shutdown.*\nPASSED\n$")

    def test_a_step_that_fails_does_not_keep_the_next_from_going_on(self):
        result = self.host("return", {"shutdown_report": "stderr"}, fail="exits-first")
        self.assertRegex(result.err, r"\nfailed +flush CUPTI .*: CUPTI_ERROR_NOT_INITIALIZED|NOT_INITIALIZED")
        self.assertRegex(result.err, r"\ndone +deliver ")
        self.assertRegex(result.err, r"\nFAILED\n")

    def test_a_step_that_never_ends_is_under_way(self):
        result = self.host("return", {"shutdown_report": "stderr", "exit_deadline_ms": 500},
                           fail=f"flush-blocks={FOREVER_MS}")
        self.assertRegex(result.err, r"\nunder way +flush CUPTI ")
        self.assertRegex(result.err, r"\nnot reached +deliver ")
        self.assertRegex(result.err, r"\nFAILED\n")

    def test_what_is_still_open_is_told(self):
        result = self.host("return", {"exit_deadline_ms": 500, "output_file": None, "endpoint": self.collector(None).url})
        self.assertEqual(result.report["shutdown"]["verdict"], "FAILED")

    def test_a_report_that_cannot_be_written_is_said_once(self):
        result = self.host("return", {"shutdown_report": "/nowhere/shutdown"})
        self.assert_same_end(result, "return")
        self.assertRegex(result.err, "cannot write the shutdown report /nowhere/shutdown")

    def test_of_a_recording(self):
        result = self.host("return", {"record_file": self.directory / "made.cuspanrec", "shutdown_report": "stderr"})
        self.assertRegex(result.err, r"\nskipped +deliver ")
        self.assertRegex(result.err, r"\ndone +close the recording .* [1-9]\d* events")
        self.assertRegex(result.err, r"\nPASSED\n")


if __name__ == "__main__":
    agent_case.main()
