#!/usr/bin/env python3
"""The real agent on recordings made on a real GPU: what it makes of them, what it does when things fail, and what its
host notices of it (nothing).

    agent_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]

The recordings are read by tests/support/recording.py, which shares no code with cuspan, and the spans are held against
them. One test takes root, to make a set-user-ID program, and is skipped elsewhere.
"""

import argparse
import contextlib
import dataclasses
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import accounts  # noqa: E402
import backend  # noqa: E402
import compare  # noqa: E402
import recording  # noqa: E402
import requests_check  # noqa: E402
import sink  # noqa: E402

RECORDINGS = ["vector_add", "threads", "graph", "graph_nodes", "torch_inference"]
CLASSIC_RELEASES = ["12.0", "12.9", "13.0", "13.5"]
MEMORY_BYTES = 64 << 20  # what the agent may take, whatever the load
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HOST_STATUS, HOST_OUTPUT = 7, "host: done\n"

BUILD = Path()
SANITIZERS = ""
# In a forked child of a program with threads the leak checker finds all that those threads hold, and the race checker
# waits a second for them.
FORKS = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "atexit_sleep_ms=0"}
# OpenSSL's, of a sender that is still busy when the deadline at exit has passed.
SUPPRESSED = "leak:libcrypto.so\n"
# Whatever must end within a short deadline would otherwise wait for FOREVER_MS, the longest that the settings allow.
# A program that does is killed after HANG_S, and its test fails. Nothing else limits how long a program takes.
FOREVER_MS = 600000
HANG_S = 300
# The timeouts of a delivery, out of the way of a deadline at exit.
PATIENT = {"OTEL_EXPORTER_OTLP_TIMEOUT": str(FOREVER_MS), "OTEL_BSP_EXPORT_TIMEOUT": str(FOREVER_MS)}
# For who counts what arrives: at the deadline at exit, what still lies in rings and buffers is no longer counted.
NO_HURRY = {"exit_deadline_ms": 60000}
NOTICED = re.compile("cannot deliver to .* cuspan keeps .* and retries$")
_read = {}


def recorded(name):
    if name not in _read:
        _read[name] = recording.read(path_of(name))
    return _read[name]


def path_of(name):
    return str(name) if isinstance(name, Path) else str(ROOT / "examples/recordings" / f"{name}.cuspanrec")


def spans_in(text):
    return [span for line in text.splitlines() for span in backend.spans_of(json.loads(line))]


def raw_spans_in(text):
    """As they stand in OTLP: flags, trace state, events, dropped counts."""
    return [span for line in text.splitlines() for group in json.loads(line)["resourceSpans"]
            for scope in group["scopeSpans"] for span in scope["spans"]]


def peak_of_child(process):
    """VmHWM of the process that the program starts, as last seen before it ends. (What wait4 tells of memory counts
    that of this Python in, which it was forked from.)"""
    peak_kib = 0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        try:
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{child}/status").read_text())
                peak_kib = max(peak_kib, int(found[1]) if found else 0)
        except OSError:
            pass
        time.sleep(0.002)
    return peak_kib * 1024


def is_call(span):
    return "cuda.api" in span.attributes


def is_session(span):
    return "cuda.session.number" in span.attributes


def sessions_of(spans):
    return sorted(filter(is_session, spans), key=lambda s: s.attributes["cuda.session.number"])


class Result:
    status = seconds = peak_bytes = 0
    out = err = text = ""
    _report = None

    @property
    def report(self):
        return self._report

    @report.setter
    def report(self, report):
        """Whatever a test is about, the agent's counters add up."""
        differences = accounts.differences(report, report.get("state", "ended") == "ended") if report else []
        if differences:
            raise AssertionError("the counters don't add up: " + "; ".join(differences))
        self._report = report

    @property
    def spans(self):
        return spans_in(self.text)

    def agent_lines(self):
        """What the agent itself said. The command line says "cuspan replay:", or how it ended."""
        ours = ("cuspan: warning:", "cuspan: lost ", "cuspan: asleep ", "cuspan: view it", "cuspan: no spans", "cuspan: trace ID", "cuspan: and ")
        lines = [line for line in self.err.splitlines() if line.startswith("cuspan: ")]
        return [line for line in lines if line.startswith(ours[0])
                or not line.startswith(ours[1:]) and not re.match(r"cuspan: [0-9,]+( of [0-9,]+)? spans? delivered", line)]


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="agent-test-"))
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.runs = 0

    def environment(self, extra):
        env = {key: value for key, value in os.environ.items()
               if not re.match("CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|.*_proxy$", key, re.I)}
        env["no_proxy"] = "*"
        if SANITIZERS:
            suppressions = self.directory / "suppressions"
            suppressions.write_text(SUPPRESSED)
            env["LSAN_OPTIONS"] = f"suppressions={suppressions}:print_suppressions=0"
        return {**env, **extra}

    def start(self, command, extra, timeout=HANG_S, watch=False):
        """Runs a program, and with `watch` looks how much memory its child takes."""
        result = Result()
        with open(self.directory / "out", "w+b") as out, open(self.directory / "err", "w+b") as err:
            begin = time.monotonic()
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       env=self.environment(extra), cwd=self.directory)
            before = signal.signal(signal.SIGALRM, lambda *_: process.kill())
            signal.alarm(timeout)
            if watch:
                result.peak_bytes = peak_of_child(process)
            _, status = os.waitpid(process.pid, 0)
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            result.seconds = time.monotonic() - begin
            process.returncode = result.status = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            result.out, result.err = out.read().decode(), err.read().decode()
        self.assertNotRegex(result.err, "Sanitizer|runtime error:", "a sanitizer has found something")
        return result

    def replay(self, name, *options, env=None, fail=None, settings=None, to_file=True, status=0, watch=False, timeout=HANG_S):
        self.runs += 1
        target = self.directory / f"{self.runs}.jsonl"
        report = self.directory / f"report-{self.runs}"
        command = [BUILD / "cuspan", "replay", *options, "--set", f"report_file={report}"]
        for key, value in (settings or {}).items():
            command += ["--set", f"{key}={value}"]
        if to_file:
            command += ["--file", target]
        extra = dict(env or {})
        if fail:
            extra["CUSPAN_REPLAY_FAIL"] = fail
        result = self.start([*command, path_of(name)], extra, timeout, watch)
        if status is not None:
            self.assertEqual(result.status, status, result.err)
        if to_file and target.exists():
            result.text = target.read_text()
        for path in self.directory.glob(f"report-{self.runs}.*"):
            result.report = json.loads(path.read_text())
        return result

    def assert_same_work(self, name, spans, repeat=1, has_recorded_times=True):
        """Each record of GPU work is one span with the record's values below the call that caused it; none is twice."""
        held = compare.Comparison(recorded(name), spans, True)
        held.check_ids()
        self.assertEqual(held.differences, [])
        work = recorded(name).gpu_work()
        names = compare.demangle(a.name for a in work if a.name)
        gpu = [span for span in spans if compare.is_gpu_span(span)]
        by_name = Counter((compare.ACTIVITY_NAMES[a.kind], names.get(a.name) if a.kind == recording.KERNEL else None)
                          for a in work)
        self.assertEqual(Counter((s.attributes["cuda.activity"], s.attributes.get("cuda.kernel.name")) for s in gpu),
                         Counter({key: count * repeat for key, count in by_name.items()}))
        ids = {span.span_id: span for span in spans}
        for span in gpu:
            parent = ids[span.parent_id]
            self.assertTrue(is_call(parent), f"{span.name} is below {parent.name}, marked as an orphan: "
                                             f"{span.attributes.get('cuda.orphan')}")
            self.assertEqual(span.attributes["cuda.correlation.id"], parent.attributes["cuda.correlation.id"])
            self.assertGreaterEqual(span.start_ns, parent.start_ns)
        if repeat == 1 and has_recorded_times:
            self.assertEqual(Counter(held.received(s) for s in gpu), Counter(held.expected(a, names) for a in work))

    def assert_nothing_lost(self, result):
        self.assertEqual(result.report["losses"], {})
        self.assertEqual(result.report["delivered"], result.report["spans"])
        self.assertEqual(len(result.spans), result.report["delivered"])
        self.assertEqual(result.agent_lines(), [])


def as_root(span):
    """The same span, as the root of its process's part of the trace."""
    return dataclasses.replace(span, parent_id="")


def content_of(spans):
    """What spans say, without their random IDs and what names the process."""
    ids = {span.span_id: span for span in spans}

    def place(span):
        return (span.name, span.start_ns, span.end_ns) if span else None

    own = {"service.instance.id", "process.pid", "cuda.cupti.version"}
    return Counter(json.dumps([place(s), place(ids.get(s.parent_id)), s.status, s.attributes,
                               {k: v for k, v in s.resource.items() if k not in own}], sort_keys=True) for s in spans)


class Replay(Case):
    """Each recording through each of CUPTI's interfaces."""

    def check(self, name):
        first = None
        ways = [("subscriber", None)] + [("classic", release) for release in CLASSIC_RELEASES]
        for api, release in ways:
            with self.subTest(api=api, release=release):
                options = ["--api", api] + (["--cupti-version", release] if release else [])
                result = self.replay(name, *options)
                self.assert_nothing_lost(result)
                spans = result.spans
                self.assert_same_work(name, spans)
                self.assertEqual(len(sessions_of(spans)), 1)
                self.assertTrue(all(s.resource["cuda.cupti.version"] == (release or "13.5") for s in spans))
                work = content_of(s for s in spans if compare.is_gpu_span(s))
                calls = content_of(s for s in spans if is_call(s))
                # What CUPTI itself did (overhead) differs in form between the interfaces; calls and work don't.
                if first is None:
                    first = calls, work
                else:
                    self.assertEqual(calls, first[0])
                    self.assertEqual(without_missing(work, first[1]), without_missing(first[1], work))

    def test_full_detail_has_every_call(self):
        for name in RECORDINGS:
            if recorded(name).info["detail"] != "full":
                continue
            with self.subTest(name):
                result = self.replay(name, settings={"detail": "full"})
                self.assert_nothing_lost(result)
                self.assert_same_work(name, result.spans)
                held = compare.Comparison(recorded(name), result.spans, True)
                held.check_calls()
                self.assertEqual(held.differences, [])


def without_missing(one, other):
    """Drops the attributes and device facts that only the fields of newer releases have."""
    keys = [set().union(*((i, k) for text in group for i in (3, 4) for k in json.loads(text)[i])) for group in (one, other)]
    common = keys[0] & keys[1]

    def cut(text):
        span = json.loads(text)
        for i in (3, 4):
            span[i] = {k: v for k, v in span[i].items() if k in common}
        return json.dumps(span, sort_keys=True)

    cut_down = Counter()
    for text, count in one.items():
        cut_down[cut(text)] += count
    return cut_down


for _name in RECORDINGS:
    setattr(Replay, f"test_{_name}", lambda self, name=_name: self.check(name))


class Graphs(Case):
    """A made-up recording: a graph of six nodes that one thread captures, and 40 launches from four others."""

    def sample(self, kind):
        file = self.directory / f"{kind}.cuspanrec"
        subprocess.run([BUILD / "replay_sample", file, kind], check=True)
        return file

    def test_an_execution_has_its_graph_s_number_of_nodes(self):
        for options in ((), ("--api", "classic", "--cupti-version", "12.9")):
            result = self.replay(self.sample("graphs"), *options)
            nodes = [span.attributes.get("cuda.graph.nodes") for span in result.spans if span.name == "graph"]
            self.assertEqual(nodes, [6] * 40)

    def linked(self, result):
        by_id = {span.span_id: span for span in result.spans}
        nodes = [span for span in result.spans if span.name == "node"]
        self.assertEqual(len(nodes), 240)
        self.assertEqual({by_id[node.parent_id].name for node in nodes}, {"cudaGraphLaunch"})
        captures = sorted((span for span in result.spans if span.name == "cudaLaunchKernel"), key=lambda s: s.start_ns)
        for node in nodes:
            (link,) = node.links
            capture = captures[node.attributes["cuda.graph.node.id"] % 2**32 - 1]
            self.assertEqual((link["traceId"], link["spanId"]), (capture.trace_id, capture.span_id))
        self.assertEqual(result.report["counters"]["graph_nodes_unlinked"], 0)

    def test_nodes_lead_to_the_calls_that_captured_them(self):
        for options in ((), ("--api", "classic", "--cupti-version", "12.9")):
            self.linked(self.replay(self.sample("graph-nodes"), *options, settings={"detail": "graph-nodes"}))

    def test_a_recording_of_it_says_the_same(self):
        copy = self.directory / "copy.cuspanrec"
        self.replay(self.sample("graph-nodes"), settings={"detail": "graph-nodes", "record_file": copy}, to_file=False)
        self.linked(self.replay(copy, settings={"detail": "graph-nodes"}))

    def test_nodes_have_no_links_unless_they_are_asked_for(self):
        result = self.replay(self.sample("graph-nodes"), settings={"detail": "default"})
        self.assertEqual([node.links for node in result.spans if node.name == "node"], [[]] * 240)
        self.assertEqual(result.report["counters"]["graph_nodes_unlinked"], 0)


class Repeat(Case):
    def test_sessions_link_to_the_one_before(self):
        result = self.replay("threads", "--repeat", "50", settings={"session.spans_max": 1000})
        self.assert_nothing_lost(result)
        self.assert_same_work("threads", result.spans, 50)
        self.assertEqual(result.report["counters"]["orphans"], 0)
        sessions = sessions_of(result.spans)
        self.assertGreater(len(sessions), 20)
        self.assertEqual(result.report["trace_count"], len(sessions))
        self.assertEqual([s.attributes["cuda.session.number"] for s in sessions], list(range(1, len(sessions) + 1)))
        self.assertEqual(sessions[0].links, [])
        for before, session in zip(sessions, sessions[1:]):
            self.assertEqual([(link["traceId"], link["spanId"]) for link in session.links],
                             [(before.trace_id, before.span_id)])
            self.assertEqual(session.parent_id, "")
            self.assertEqual(before.attributes["cuda.session.end_reason"], "spans")
        self.assertEqual(sessions[-1].attributes["cuda.session.end_reason"], "exit")
        self.assertEqual(len({s.trace_id for s in sessions}), len(sessions))
        # Work belongs to its call's trace, whatever session is open when it comes.
        ids = {span.span_id: span for span in result.spans}
        for span in result.spans:
            self.assertTrue(not span.parent_id or ids[span.parent_id].trace_id == span.trace_id)

    def test_a_paced_replay_takes_its_time_and_says_the_same(self):
        fast, paced = self.replay("vector_add"), self.replay("vector_add", "--paced")
        times = [t for s in fast.spans for t in (s.start_ns, s.end_ns)]
        self.assertGreater(paced.seconds, (max(times) - min(times)) / 1e9)
        self.assert_nothing_lost(paced)
        self.assertEqual(content_of(paced.spans), content_of(fast.spans))

    def test_many_threads_streams_and_a_hundred_rounds(self):
        result = self.replay("torch_inference", "--repeat", "20", "--api", "classic")
        self.assert_nothing_lost(result)
        self.assert_same_work("torch_inference", result.spans, 20)


class Faults(Case):
    """CUPTI fails, as src/replay/faults.h has it."""

    def asleep(self, fail, line, *options, settings=None):
        result = self.replay("threads", *options, fail=fail, settings=settings, status=1)
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        self.assertRegex(result.agent_lines()[0], line)
        self.assertRegex(result.err, "cuspan replay: the agent took nothing of the recording")
        self.assertEqual(result.text, "")
        print(result.agent_lines()[0])

    def test_another_subscriber_is_named(self):
        for api in "classic", "subscriber":
            self.asleep("subscribe", r"another tool \(.*some-profiler.*this process is not traced", "--api", api)

    def test_the_driver_does_not_match(self):
        self.asleep("not-initialized", "CUPTI refused.*NOT_INITIALIZED")

    def test_its_version_is_unknown(self):
        self.asleep("version", "does not report its version.*driver is installed")

    def test_buffers_are_refused(self):
        self.asleep("register", "CUPTI refused activity buffers")

    def test_kernels_are_refused(self):
        self.asleep("enable-kind=10", "CUPTI refused kernel records")

    def test_another_kind_is_refused(self):
        result = self.replay("threads", fail="enable-kind=1")
        self.assertEqual(result.report["losses"], {})
        kinds = Counter(s.attributes.get("cuda.activity") for s in result.spans)
        self.assertEqual(kinds["memcpy"], 0)
        self.assertEqual(kinds["kernel"], sum(a.kind == recording.KERNEL for a in recorded("threads").activities))
        self.assertTrue(any(s.name == "cudaMemcpyAsync" for s in result.spans))
        named = self.replay("threads", fail="enable-kind=1", settings={"capture.activities.allow": "memcpy,kernel"})
        self.assertRegex("\n".join(named.agent_lines()), "memcpy")

    def test_callbacks_are_refused(self):
        result = self.replay("threads", fail="enable-callback=3")
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        self.assertRegex(result.agent_lines()[0], "refused callbacks for [0-9]+ of [0-9]+ calls")
        gpu = [s for s in result.spans if compare.is_gpu_span(s)]
        self.assertEqual(len(gpu), len(recorded("threads").gpu_work()))
        self.assertTrue(all(s.attributes.get("cuda.orphan") for s in gpu))
        self.assertEqual(result.report["counters"]["orphans"], len(gpu))

    def test_attributes_are_refused(self):
        result = self.replay("threads", "--api", "classic", fail="attribute")
        self.assert_nothing_lost(result)
        self.assert_same_work("threads", result.spans)

    def lost(self, result, counter, count, others=0):
        self.assertEqual(result.report["losses"], {counter: count})
        lines = [line for line in result.agent_lines() if "did not get through" in line]
        self.assertEqual(len(lines), 1, result.err)
        self.assertIn(f"{counter} {count}", lines[0])
        self.assertEqual(len(result.agent_lines()), 1 + others, result.err)
        self.assertEqual(sessions_of(result.spans)[-1].attributes["cuda.session.lost"], count)

    def test_dropped_records_are_counted(self):
        for api in "classic", "subscriber":
            result = self.replay("threads", "--api", api, fail="dropped=23")
            self.lost(result, "lost_cupti_dropped", 23, others=1)
            self.assertRegex(result.err, r"raise distribution\.cuspan\.cupti\.host_buffer_count")

    def test_zero_timestamps_are_counted(self):
        for api in "classic", "subscriber":
            whole = self.replay("threads", "--api", api)
            result = self.replay("threads", "--api", api, fail="zero-timestamps=3")
            missing = len(whole.spans) - len(result.spans)
            self.assertGreater(missing, 100)
            self.lost(result, "lost_zero_timestamps", missing, others=1)
            self.assertRegex(result.err, r"raise distribution\.cuspan\.cupti\.device_buffer_limit")

    def asserted(self, *arguments, fail=""):
        """A launch in the middle fails an assert: the result of the replay, the IDs of the GPU work that this stops, and the
        calls that failed, the first one first."""
        calls = recorded("torch_inference").calls
        first_id = min(call.correlation_id for call in calls if call.correlation_id)
        kernels = [a.correlation_id for a in recorded("torch_inference").activities if a.kind == recording.KERNEL]
        asserting = sorted(kernels)[len(kernels) // 2] - first_id + 1
        result = self.replay("torch_inference", *arguments, fail=f"assert={asserting}{fail}",
                             settings={"cupti.flush_interval_ms": "60000"})
        failed = [s for s in result.spans if is_call(s) and s.attributes.get("cuda.error.code") == 710]
        failed.sort(key=lambda span: span.attributes["cuda.correlation.id"])
        self.assertGreater(len(failed), 10)
        self.assertRegex(failed[0].name, "Synchronize$")
        reported = failed[0].attributes["cuda.correlation.id"]
        work = [a.correlation_id - first_id + 1 for a in recorded("torch_inference").gpu_work()]
        return result, sorted(id for id in work if asserting <= id <= reported), failed

    def test_work_without_times_that_an_assert_stopped_is_lost_to_it(self):
        for api in "classic", "subscriber":
            result, stopped, _ = self.asserted("--api", api)
            self.lost(result, "lost_context_error", len(stopped), others=1)
            self.assertRegex(result.err, r"cudaErrorAssert \(710\) has ended CUDA context 1;")

    def test_records_that_cupti_dropped_after_an_assert_are_lost_to_it(self):
        for api in "classic", "subscriber":
            result, stopped, _ = self.asserted("--api", api, fail=",dropped=23")
            self.assertEqual(result.report["losses"], {"lost_context_error": len(stopped), "lost_after_error": 23})
            self.assertNotRegex(result.err, "host_buffer_count")

    def test_work_with_a_start_that_an_assert_stopped_is_a_span_with_the_error(self):
        for api in "classic", "subscriber":
            result, stopped, failed = self.asserted("--api", api, fail=",assert-started")
            self.assert_nothing_lost(result)
            spans = [s for s in result.spans if "cuda.unfinished" in s.attributes]
            self.assertEqual(sorted(s.attributes["cuda.correlation.id"] for s in spans), stopped)
            self.assertEqual({(s.attributes["error.type"], s.attributes["cuda.error.code"], s.status, s.end_ns) for s in spans},
                             {("cudaErrorAssert", 710, 2, failed[0].end_ns)})

    def test_executions_without_a_graph_record_are_counted(self):
        for api in "classic", "subscriber":
            result = self.replay("graph", "--api", api, fail="no-graph-records=7")
            self.lost(result, "lost_graph_record", 7, others=1)
            self.assertRegex(result.err, r"set distribution\.cuspan\.cupti\.graph_records to at-once or always")
        for settings in {"detail": "graph-nodes"}, {"capture.activities.deny": "graph"}, {"capture.runtime": "false"}:
            result = self.replay("graph", fail="no-graph-records=7", settings=settings)
            self.assert_nothing_lost(result)

    def test_late_buffers(self):
        result = self.replay("torch_inference", "--repeat", "3", fail="late-buffers")
        self.assert_nothing_lost(result)
        self.assert_same_work("torch_inference", result.spans, 3)

    def test_buffers_after_shutdown_harm_nobody(self):
        for api in "classic", "subscriber":
            result = self.replay("torch_inference", "--api", api, fail="after-shutdown")
            self.assertEqual(len(result.spans), result.report["delivered"])
            self.assertGreater(sum(map(is_call, result.spans)), 500)

    def test_records_out_of_order(self):
        for api in "classic", "subscriber":
            result = self.replay("torch_inference", "--api", api, fail="out-of-order")
            self.assert_nothing_lost(result)
            self.assert_same_work("torch_inference", result.spans)

    def test_malformed_buffers_are_counted(self):
        whole = self.replay("threads")
        result = self.replay("threads", fail="malformed")
        self.lost(result, "lost_malformed", result.report["losses"]["lost_malformed"], others=1)
        self.assertEqual(content_of(s for s in result.spans if not is_session(s)),
                         content_of(s for s in whole.spans if not is_session(s)))

    def test_records_without_layouts_are_counted(self):
        result = self.replay("threads", "--api", "subscriber", fail="null-info")
        self.assertGreater(result.report["losses"].get("lost_malformed", 0), 0)

    def test_a_fatal_error_is_told_once(self):
        for name in "threads", "torch_inference":
            result = self.replay(name, fail="fatal=100", status=None)
            told = [line for line in result.agent_lines() if "CUPTI has stopped working" in line]
            self.assertEqual(len(told), 1, result.err)

    def test_a_flush_that_blocks_is_bounded(self):
        result = self.replay("vector_add", fail=f"flush-blocks={FOREVER_MS}", settings={"exit_deadline_ms": 500}, status=1)
        self.assertRegex(result.err, "the deadline of 500 ms at exit has passed")
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        # What has become spans is counted, though the thread that sends them is stuck.
        self.assertGreater(result.report["spans"], 0)
        # The session's span was not even made.
        self.assertEqual(result.report["losses"], {"lost_deadline": result.report["spans"], "lost_unmade": 1})

    def test_thousands_of_threads_in_bounded_memory(self):
        options = ["torch_inference", "--repeat", "4"]
        baseline = self.replay(*options, fail="threads=2000", env={"OTEL_SDK_DISABLED": "true"}, status=None,
                               watch=True)
        result = self.replay(*options, fail="threads=2000", watch=True)
        grown = result.peak_bytes - baseline.peak_bytes
        print(f"{result.report['counters']['threads_seen']} threads; {grown >> 20} MiB more than without the agent")
        self.assertGreater(result.report["counters"]["threads_seen"], 1500)
        lost = sum(result.report["losses"].values())
        calls = sum(map(is_call, result.spans))
        whole = sum(map(is_call, self.replay("torch_inference").spans)) * 4
        self.assertEqual(calls + lost, whole)
        if not SANITIZERS:
            self.assertLess(grown, MEMORY_BYTES)

    def test_correlation_ids_wrap_around(self):
        for api in "classic", "subscriber":
            result = self.replay("threads", "--api", api, "--repeat", "3",
                                 env={"CUSPAN_REPLAY_FIRST_CORRELATION": str(2**32 - 1000)})
            self.assert_nothing_lost(result)
            self.assert_same_work("threads", result.spans, 3)
            ids = {s.attributes["cuda.correlation.id"] for s in result.spans if compare.is_gpu_span(s)}
            self.assertTrue(min(ids) < 2000 and max(ids) > 2**32 - 1000, (min(ids), max(ids)))

    def test_a_fault_that_does_not_exist_is_an_error(self):
        result = self.replay("vector_add", fail="subscripe", status=1)
        self.assertIn("subscripe", result.err)


class Overload(Case):
    """The replay doesn't wait: what the agent can't take is counted."""

    @staticmethod
    def facts(result):
        """Records of devices and contexts that came through: no spans, but CUPTI counts them among those it drops."""
        counters = result.report["counters"]
        gpu_spans = counters["spans_created"] - counters["calls_captured"] - counters["sessions"]
        return counters["activities_captured"] - gpu_spans

    def account(self, settings):
        repeat = 100
        settings = {**settings, "capture.resource": "false", "capture.activities.deny": "overhead", **NO_HURRY}
        once = self.replay("threads", settings=settings)
        self.assert_nothing_lost(once)
        offered = (len(once.spans) - 1 + self.facts(once)) * repeat
        result = self.replay("threads", "--repeat", repeat, "--overload", settings=settings)
        delivered = [s for s in result.spans if not is_session(s)]
        lost = sum(result.report["losses"].values())
        print(f"{settings}: {offered} offered, {len(delivered)} delivered, lost {result.report['losses']}")
        self.assertEqual(len(result.spans), result.report["delivered"])
        self.assertEqual(len(delivered) + lost + self.facts(result), offered)
        # What counts as a fact comes from the agent's own counters, so it must not hide a loss: the recording bounds it.
        kinds = [activity.kind for activity in recorded("threads").activities]
        known = kinds.count(recording.DEVICE) + kinds.count(recording.CONTEXT)
        self.assertEqual(self.facts(once), known)
        self.assertLessEqual(self.facts(result), known * repeat)
        if lost:
            self.assertTrue(any("did not get through" in line for line in result.agent_lines()), result.err)
        return result

    def test_default_settings(self):
        self.account({})

    def test_small_rings(self):
        result = self.account({"rings.bytes": 8192, "rings.total_bytes": 65536})
        for loss, key in ("lost_ring_full", "rings.bytes"), ("lost_no_ring", "rings.total_bytes"):
            told = [line for line in result.agent_lines() if f"raise distribution.cuspan.{key}" in line]
            self.assertEqual(len(told), 1 if loss in result.report["losses"] else 0, result.err)

    def test_before_12_9_discarded_records_are_counted(self):
        """Those CUPTIs get a buffer that is not read, so it is told by its size how many records were in it."""
        options = ["--api", "classic", "--cupti-version", "12.0"]
        once = self.replay("threads", *options, settings=NO_HURRY)
        settings = {"cupti.host_buffer_count": 2, "cupti.host_buffer_bytes": 16384, **NO_HURRY}
        result = self.replay("threads", *options, "--repeat", "100", "--overload", settings=settings)
        offered = 100 * once.report["counters"]["activities_captured"]
        lost = result.report["losses"]["lost_no_buffer"]
        got = result.report["counters"]["activities_captured"]
        print(f"{offered} records, {got} captured, {lost} told lost")
        # Copies are shorter than the kernels that they are counted as.
        self.assertLess(got + lost, offered * 1.1)
        self.assertGreater(got + lost, offered * 0.4)
        self.assertTrue(any("cupti.host_buffer_count" in line for line in result.agent_lines()), result.err)

    def test_small_buffers_say_so(self):
        """CUPTI counts the records for which it found no buffer; none is counted twice."""
        settings = {"cupti.host_buffer_count": 2, "cupti.host_buffer_bytes": 16384, **NO_HURRY}
        result = self.replay("threads", "--repeat", "100", "--overload", settings=settings)
        wanted = 100 * len(recorded("threads").gpu_work())
        got = sum(map(compare.is_gpu_span, result.spans))
        print(f"{wanted} records, {got} delivered, {result.report['losses']}")
        self.assertLess(got, wanted)
        once = self.replay("threads", settings=settings)
        self.assertNotIn("lost_no_buffer", result.report["losses"])
        self.assertEqual(result.report["counters"]["activities_captured"] + result.report["losses"]["lost_cupti_dropped"],
                         100 * once.report["counters"]["activities_captured"])


class Host(Case):
    """A program that loads the agent as the driver does goes on as if nothing were there."""

    def host(self, *arguments, library=None, lines=1, line="", env=None, fail=None, play=None, settings=None,
             program="agent_host"):
        extra = dict(env or {})
        if play:
            arguments = (*arguments, BUILD / "libcuspan-replay.so", path_of(play))
            settings = {"cupti.library": BUILD / "libcuspan-replay.so", **(settings or {})}
        if settings:
            extra["CUSPAN_SET"] = ";".join(f"{key}={value}" for key, value in settings.items())
        if fail:
            extra["CUSPAN_REPLAY_FAIL"] = fail
        result = self.start([BUILD / program, library or BUILD / "libcuspan.so", *arguments], extra)
        self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT), result.err)
        said = result.err.splitlines()
        # A collector that can't be reached is said when it is first noticed, which a fast program does not live to see.
        noticed = [text for text in said if NOTICED.search(text)]
        self.assertLessEqual(len(noticed), 1, result.err)
        said = [text for text in said if text not in noticed]
        if lines is not None:
            self.assertEqual(len(said), lines, result.err)
        if lines:
            print(result.err.strip())
            self.assertRegex("\n".join(said), line)
        self.assertTrue(all(text.startswith("cuspan: ") for text in said + noticed), result.err)
        return result

    def closed_port(self):
        return backend.free_ports(1)[0]

    def yaml(self, text):
        path = self.directory / "cuspan.yaml"
        path.write_text(text)
        return {"CUSPAN_CONFIG_FILE": str(path)}

    def test_broken_yaml_is_placed(self):
        self.host(env=self.yaml('file_format: "1.1"\ntracer_provider:\n  processors: [\n  - batch\n'),
                  line=r"cuspan\.yaml:\d+:\d+: .*not traced")

    def test_a_wrong_key_is_placed(self):
        self.host(env=self.yaml('file_format: "1.1"\ndistribution:\n  cuspan:\n    detial: full\n'),
                  line=r"cuspan\.yaml:4:5: .*detial.*detail")

    def test_a_missing_file_is_named(self):
        self.host(env={"CUSPAN_CONFIG_FILE": "/nowhere/cuspan.yaml"}, line="/nowhere/cuspan.yaml.*not traced")

    def test_no_cupti(self):
        folders = ["/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu",
                   "/usr/lib/aarch64-linux-gnu", BUILD / "cupti"]
        if any(Path(folder, f"libcupti.so.{major}").exists() for folder in folders for major in (12, 13)):
            self.skipTest("this machine has a CUPTI")
        self.host(line="found no CUPTI.*cupti.library.*not traced")

    def test_a_library_that_is_no_cupti(self):
        self.host(settings={"cupti.library": BUILD / "libcuspan-export.so"}, line="is not CUPTI")
        self.host(settings={"cupti.library": path_of("vector_add")}, line="can't load CUPTI")
        self.host(settings={"cupti.library": "/nowhere/libcupti.so"}, line="can't load CUPTI")

    def test_disabled_is_silent(self):
        self.host(env={"OTEL_SDK_DISABLED": "true"}, lines=0)
        self.host(env={"OTEL_SDK_DISABLED": "true"}, play="threads", lines=0)

    def test_never_sampled_is_silent(self):
        self.host(env={"OTEL_TRACES_SAMPLER": "always_off"}, play="threads", lines=0)

    def test_an_unsampled_parent_is_silent(self):
        self.host(env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}, play="threads", lines=0)

    def test_no_exporter(self):
        self.host(env={"OTEL_TRACES_EXPORTER": "none"}, play="threads", line="no exporter is left")

    def test_another_subscriber(self):
        self.host(play="threads", fail="subscribe", line="another tool.*some-profiler")

    def test_a_dead_collector(self):
        deadline_ms = 700
        report = self.directory / "report"
        settings = {"endpoint": f"http://127.0.0.1:{self.closed_port()}", "exit_deadline_ms": deadline_ms,
                    "report_file": report}
        self.host(play="threads", settings=settings, line="did not get through", env=PATIENT)
        found = json.loads(next(self.directory.glob("report.*")).read_text())
        self.assertEqual(found["delivered"], 0)
        self.assertEqual(sum(found["losses"].values()), found["spans"])

    def test_a_collector_that_never_answers(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(16)
            self.host(play="threads", line="lost_deadline", env=PATIENT,
                      settings={"endpoint": f"http://127.0.0.1:{listener.getsockname()[1]}", "exit_deadline_ms": 700})

    def test_no_export_module(self):
        """Where libcuspan.so lies alone, there is no curl to send with."""
        alone = self.directory / "libcuspan.so"
        shutil.copy(BUILD / "libcuspan.so", alone)
        self.host(play="threads", library=alone, lines=2, line="libcuspan-export.so",
                  settings={"endpoint": f"http://127.0.0.1:{self.closed_port()}", "exit_deadline_ms": 500})

    def test_spans_to_a_file(self):
        target = self.directory / "spans.jsonl"
        self.host("thread", play="threads", lines=0, settings={"output_file": target})
        spans = spans_in(target.read_text())
        self.assert_same_work("threads", spans)
        self.assertEqual(sessions_of(spans)[0].name, "agent_host")
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)

    def test_forks_before_and_after(self):
        target = self.directory / "spans.jsonl"
        self.host("fork-before", "fork-after", play="threads", lines=0, env=FORKS, settings={"output_file": target})
        self.assert_same_work("threads", spans_in(target.read_text()), 20)

    @unittest.skipIf("--sanitizers" in sys.argv and sys.argv[sys.argv.index("--sanitizers") + 1],
                     "sanitized builds use the system's OpenSSL, whose exit handler can wait in a child for a lock")
    def test_forked_children_do_not_wait_for_a_dead_collector(self):
        self.host("fork-after", play="threads", line="lost_deadline", env=FORKS,
                  settings={"endpoint": f"http://127.0.0.1:{self.closed_port()}", "exit_deadline_ms": 5000})

    @unittest.skipIf("--sanitizers" in sys.argv and sys.argv[sys.argv.index("--sanitizers") + 1],
                     "a sanitizer has an allocator of its own")
    def test_in_a_callback_it_does_little(self):
        """No allocation, no lock, no system call, no call of CUPTI's. (The README names an exception, which
        a replay doesn't have: on a GPU a thread's first callback asks the system who it is.)
        """
        for name in RECORDINGS:
            for api, detail in itertools.product(["subscriber", "classic"], ["summary", "default", "graph-nodes", "full"]):
                with self.subTest(name=name, api=api, detail=detail):
                    noted = self.directory / "noted"
                    self.host(play=name, lines=0, program="agent_host_watched", env={"HOST_WATCH": str(noted)}, settings={
                        "output_file": self.directory / "spans.jsonl", "cupti.api": api, "detail": detail})
                    head, *notes = noted.read_text().splitlines()
                    if detail in ("graph-nodes", "full"):  # the README names this one, too
                        notes = [note for note in notes if not note.endswith("a node of a graph: cuptiGetGraphNodeId")]
                    self.assertEqual(notes, [])
                    if os.uname().machine == "x86_64":
                        self.assertIn("system calls watched", head, "the kernel can't trap them (5.11 and later can)")
                    launches = {work.correlation_id for work in recorded(name).gpu_work()}
                    self.assertGreaterEqual(int(head.split()[0]), 2 * len(launches))

    @unittest.skipIf("--sanitizers" in sys.argv and sys.argv[sys.argv.index("--sanitizers") + 1],
                     "a sanitizer has an allocator of its own")
    def test_a_forked_child_never_touches_cupti(self):
        """Though it makes CUDA calls, and the agent's callbacks are still in CUPTI's tables."""
        for api in "subscriber", "classic":
            with self.subTest(api=api):
                noted, target = self.directory / f"noted-{api}", self.directory / f"{api}.jsonl"
                self.host("fork-play", play="threads", lines=0, program="agent_host_watched",
                          env={"HOST_WATCH": str(noted)}, settings={"output_file": target, "cupti.api": api})
                head, *notes = Path(f"{noted}.child").read_text().splitlines()
                self.assertEqual(notes, [])
                if os.uname().machine == "x86_64":
                    self.assertIn("system calls watched", head, "the kernel can't trap them (5.11 and later can)")
                launches = {work.correlation_id for work in recorded("threads").gpu_work()}
                self.assertGreaterEqual(int(head.split()[0]), 2 * len(launches))
                self.assertEqual(noted.read_text().splitlines()[1:], [])
                self.assert_same_work("threads", spans_in(target.read_text()))

    @unittest.skipIf("--sanitizers" in sys.argv and sys.argv[sys.argv.index("--sanitizers") + 1],
                     "the leak checker can't look into a process with another user's rights")
    def test_a_set_user_id_program_is_led_by_no_environment(self):
        folder = self.directory / "set-user-id"
        folder.mkdir()
        self.directory.chmod(0o755)

        def copied(program, name, mode):
            path = folder / name
            shutil.copy(program, path)
            try:
                shutil.chown(path, "nobody")
            except (LookupError, OSError) as error:
                self.skipTest(f"only root can make a set-user-ID program: {error}")
            path.chmod(mode)
            return path

        who = subprocess.run([copied(shutil.which("id"), "id", 0o4755), "-u"], stdout=subprocess.PIPE, text=True).stdout
        if int(who or 0) == os.geteuid():
            self.skipTest("programs below the temporary directory don't get their owner's rights (nosuid, no_new_privs)")
        library = folder / "libcuspan.so"  # where nobody may read it
        shutil.copy(BUILD / "libcuspan.so", library)
        env = {"CUSPAN_CONFIG_FILE": "/nowhere", "CUSPAN_SET": "detail=/nowhere", "OTEL_LOG_LEVEL": "debug",
               "OTEL_EXPORTER_OTLP_ENDPOINT": "/nowhere"}
        self.host(library=library, program=copied(BUILD / "agent_host", "plain", 0o755), env=env, line="/nowhere")
        result = self.start([copied(BUILD / "agent_host", "host", 0o4755), library], env)
        self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT), result.err)
        print(result.err.strip())
        self.assertNotIn("/nowhere", result.err)
        # By its defaults it looks for a CUPTI; what it says of that depends on the machine.
        self.assertTrue(all(line.startswith("cuspan: ") for line in result.err.splitlines()), result.err)

        # Nor does cuspan.h load what the environment names.
        for name, mode, found in ("asks", 0o755, "agent\n"), ("asks-as-nobody", 0o4755, "none\n"):
            program = copied(BUILD / "api_host", name, mode)
            self.assertEqual(self.start([program], {"CUDA_INJECTION64_PATH": str(library)}).out, found)

    def test_quiet_without_a_standard_error(self):
        """A host that has closed its descriptors must not find our lines in its files."""
        out = subprocess.run(["sh", "-c", '"$0" "$1" 2>&-', str(BUILD / "agent_host"), str(BUILD / "libcuspan.so")],
                             env=self.environment({"CUSPAN_CONFIG_FILE": "/nowhere"}), stdout=subprocess.PIPE, text=True)
        self.assertEqual((out.returncode, out.stdout), (HOST_STATUS, HOST_OUTPUT))

    def test_four_outputs_that_are_stuck_share_one_deadline(self):
        """Else the time for counting what is lost would be gone before the last of them is given up."""
        pipes = [self.directory / f"pipe{number}" for number in range(4)]
        readers = []
        for pipe in pipes:
            os.mkfifo(pipe)
            readers.append(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))  # and reads nothing
        processors = "".join(f'  - batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{pipe}"}}}}}}\n'
                             for pipe in pipes)
        env = self.yaml(f'file_format: "1.1"\ntracer_provider:\n  processors:\n{processors}')
        result = self.host(play="threads", line="lost_deadline", env=env,
                           settings={"exit_deadline_ms": 500, "report_file": self.directory / "report"})
        for reader in readers:
            os.close(reader)
        found = json.loads(next(self.directory.glob("report.*")).read_text())
        self.assertEqual([output["lost"] for output in found["outputs"]], [found["spans"]] * 4)
        self.assertNotIn("at exit has passed", result.err, "the host's thread has lost patience with ours")

    @unittest.skipIf("--sanitizers" in sys.argv and sys.argv[sys.argv.index("--sanitizers") + 1],
                     "the watched host is not built there")
    def test_a_runtime_call_that_is_denied_keeps_its_callback(self):
        """Without it the driver call that the runtime makes inside would be taken for the program's own."""
        counts = []
        for deny in "", "cuda*":
            noted = self.directory / "noted"
            self.host(play="threads", lines=0, program="agent_host_watched", env={"HOST_WATCH": str(noted)}, settings={
                "output_file": self.directory / f"spans{deny[:1]}.jsonl", "capture.calls.deny": deny})
            counts.append(int(noted.read_text().split()[0]))
        print(f"{counts[0]} callbacks, {counts[1]} with all runtime calls denied")
        self.assertAlmostEqual(counts[0], counts[1], delta=20)  # requests for buffers are among them
        denied = spans_in((self.directory / "spansc.jsonl").read_text())
        self.assertEqual([span.name for span in denied if span.attributes.get("cuda.api") == "runtime"], [])

    def test_standard_error_that_nobody_reads(self):
        """A pipe whose reader has gone, or has stopped reading: the host neither dies nor waits."""
        collector = f"endpoint=http://127.0.0.1:{self.closed_port()};exit_deadline_ms=300"
        speaks = {"CUSPAN_CONFIG_FILE": "/nowhere"}
        loses = {"CUSPAN_SET": f"cupti.library={BUILD}/libcuspan-replay.so;{collector}"}
        for name, extra, play in (("a wrong file", speaks, []), ("a dead collector", loses, [
                BUILD / "libcuspan-replay.so", path_of("threads")])):
            for is_full in False, True:
                with self.subTest(name, is_full=is_full):
                    reader, writer = os.pipe()
                    if is_full:
                        os.set_blocking(writer, False)
                        with contextlib.suppress(BlockingIOError):
                            while True:
                                os.write(writer, b"x")
                        os.set_blocking(writer, True)
                    else:
                        os.close(reader)
                    done = subprocess.run([BUILD / "agent_host", BUILD / "libcuspan.so", *play], stdout=subprocess.PIPE,
                                          stderr=writer, text=True, env=self.environment({**PATIENT, **extra}), timeout=HANG_S)
                    os.close(writer)
                    self.assertEqual((done.returncode, done.stdout), (HOST_STATUS, HOST_OUTPUT))
                    if is_full:
                        os.close(reader)

    def test_threads_that_go_on_calling_do_not_hold_up_the_exit(self):
        report = self.directory / "report"
        ring = 16384 if SANITIZERS else 65536  # with the race checker a span takes a third of a millisecond here
        cupti = next(BUILD.rglob("libfake_cupti_classic.so"))
        extra = {"TSAN_OPTIONS": "report_thread_leaks=0:halt_on_error=1", "CUSPAN_SET": ";".join([
            f"cupti.library={cupti}", "cupti.api=classic", "detail=full", "output_file=/dev/null",
            f"report_file={report}", f"exit_deadline_ms={FOREVER_MS}", f"rings.bytes={ring}", f"rings.total_bytes={16 * ring}"])}
        result = self.start([BUILD / "polling_host", BUILD / "libcuspan.so", cupti], extra)
        self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT), result.err)
        found = json.loads(next(self.directory.glob("report.*")).read_text())
        self.assertGreater(found["delivered"], 0)
        self.assertEqual(found["delivered"], found["spans"])
        self.assertNotIn("lost_deadline", found["losses"])
        print(f"{found['spans']} spans, {result.seconds:.2f} s")

    def test_loads_in_milliseconds(self):
        times = []
        for _ in range(5):
            file = self.directory / "times"
            self.host(env={"HOST_TIMES": str(file)}, settings={"output_file": self.directory / "x"}, play="vector_add",
                      lines=0)
            times.append([float(part) for part in file.read_text().split()])
        load, start = (sorted(column)[len(times) // 2] for column in zip(*times))
        print(f"libcuspan.so loads in {load:.2f} ms and starts in {start:.2f} ms (median of 5, double of CUPTI)")


@unittest.skipIf(shutil.which("readelf") is None, "no readelf")
class Control(Case):
    """The program begins and ends its tracing, and what isn't sampled lets the agent sleep."""

    SAMPLED, UNSAMPLED = f"attach=00-{TRACE}-{PARENT}-01", f"attach=00-{TRACE}-{PARENT}-00"

    def steps(self, *steps, settings=None, env=None, play="vector_add"):
        self.runs += 1
        target, report = self.directory / f"{self.runs}.jsonl", self.directory / f"control-{self.runs}"
        double = BUILD / "libcuspan-replay.so"
        chosen = {"cupti.library": double, "output_file": target, "report_file": report, "exit_deadline_ms": 60000,
                  **(settings or {})}
        result = self.start([BUILD / "control_host", double, path_of(play), BUILD / "libcuspan.so", *steps], {
            "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items() if value is not None), **(env or {})})
        self.assertEqual(result.status, 0, result.err)
        result.answers = [int(line.split(": ")[1]) for line in result.out.splitlines()]
        result.text = target.read_text() if target.exists() else ""
        for path in self.directory.glob(f"control-{self.runs}.*"):
            result.report = json.loads(path.read_text())
        return result

    def kernels(self, spans):
        return sum(span.attributes.get("cuda.activity") == "kernel" for span in spans)

    def test_start_stop_and_start_again(self):
        """With the classic API CUPTI's records go off in between, with the other they come and are left out."""
        in_one = self.kernels(self.replay("vector_add").spans)
        for api in "classic", "subscriber":
            with self.subTest(api):
                result = self.steps("on", "play", "start", "start", "on", "play", "stop", "stop", "on", "play", "nap", "start",
                                    "play", settings={"cupti.api": api})
                self.assertEqual(result.answers, [0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0])
                self.assertEqual(result.err, "")
                sessions = sessions_of(result.spans)
                self.assertEqual([s.attributes["cuda.session.end_reason"] for s in sessions], ["stop", "exit"])
                self.assertEqual([self.kernels(s for s in result.spans if s.trace_id == session.trace_id)
                                  for session in sessions], [in_one, in_one])
                counters = result.report["counters"]
                self.assertEqual(counters["sleeps"], 1)
                self.assertGreater(counters["asleep_ns"], 100e6)
                self.assertEqual(counters["orphans"], 0)
                self.assertEqual(result.report["losses"], {})

    def test_an_agent_that_cannot_start_says_why_once(self):
        result = self.steps("start", "start", "flush", "stop", settings={"cupti.library": "/nowhere"})
        self.assertEqual(result.answers, [-1, -1, -1, 1])
        self.assertEqual(len(result.err.splitlines()), 1, result.err)
        self.assertIn("/nowhere", result.err)
        result = self.start([BUILD / "control_host", BUILD / "libcuspan-replay.so", path_of("vector_add"), "/nowhere.so",
                             "start", "stop", "flush"], {})
        self.assertEqual((result.status, result.out, result.err), (0, "start: -1\nstop: 1\nflush: -1\n", ""))

    def test_a_start_without_a_place_to_send_to_says_so(self):
        for env, why, injected_lines in ({"OTEL_TRACES_EXPORTER": "none"}, "no exporter is left", 1), (
                {"OTEL_SDK_DISABLED": "true"}, "disabled by its configuration", 0):
            result = self.steps("start", "start", env=env, settings={"output_file": None})
            self.assertEqual(result.answers, [-1, -1])
            self.assertEqual(len(result.err.splitlines()), 1, result.err)
            self.assertIn(why, result.err)
            injected = self.steps("inject", env=env, settings={"output_file": None})
            self.assertEqual((injected.answers, len(injected.err.splitlines())), ([1], injected_lines), injected.err)

    def test_flush_delivers_before_it_returns(self):
        """And again and again; without it the first spans leave after a minute."""
        target = self.directory / "flushed.jsonl"
        double = BUILD / "libcuspan-replay.so"
        program = subprocess.Popen(
            [BUILD / "control_host", double, path_of("vector_add"), BUILD / "libcuspan.so", "start", "play", "flush", "play",
             "flush", *["nap"] * 600], stdout=subprocess.PIPE, text=True, env=self.environment({
                 "CUSPAN_SET": f"cupti.library={double};output_file={target}", "OTEL_BSP_SCHEDULE_DELAY": "60000"}))
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.kill)
        counts = []
        for expected in "start: 0", "play: 0", "flush: 0", "play: 0", "flush: 0":
            self.assertEqual(program.stdout.readline().strip(), expected)
            if expected == "flush: 0":
                counts.append(self.kernels(spans_in(target.read_text())))
        program.kill()
        program.wait()
        in_one = self.kernels(self.replay("vector_add").spans)
        self.assertIn(counts[0], (in_one, 2 * in_one))  # the program may have gone on meanwhile
        self.assertEqual(counts[1], 2 * in_one)

    def test_flush_keeps_to_its_deadline(self):
        result = self.steps("start", "play", "flush-0", env=PATIENT, settings={
            "output_file": None, "endpoint": f"http://127.0.0.1:{backend.free_ports(1)[0]}", "exit_deadline_ms": 300})
        self.assertEqual(result.answers, [0, 0, -1])

    def test_a_child_of_a_dormant_process_loads_nothing(self):
        """CUDA has begun in its parent, so it never touches CUPTI, whatever is attached in it."""
        env = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}
        result = self.steps("inject", "child", self.SAMPLED, "nap", "nap", "on", "start", env=env)
        self.assertEqual(result.answers, [1, 0, 0, 0, 0, 0, -1])
        self.assertEqual((result.spans, result.report["state"], result.report["counters"]["calls_captured"]),
                         ([], "not traced", 0))

    def test_start_goes_before_the_cuda_profiler(self):
        for env in {}, {"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}:
            result = self.steps("inject", "on", "start", "on", "stop", "on", env=env, settings={"capture.cuda_profiler": "true"})
            self.assertEqual(result.answers, [1, 0, 0, 1, 0, 0])

    def test_graphs_that_are_made_in_sleep_have_no_spans(self):
        for api in "classic", "subscriber":
            result = self.steps("start", "stop", "nap", "play", "nap", "start", play="graph", settings={"cupti.api": api})
            self.assertEqual([span.name for span in result.spans if not is_session(span)], [])
            self.assertEqual(result.report["losses"], {})

    def test_work_that_never_has_a_call_is_there_after_a_sleep(self):
        settings = {"capture.runtime": "false", "capture.driver": "false"}
        alone = self.steps("start", "play", settings=settings)
        after = self.steps("start", "play", "nap", "stop", "nap", "start", "nap", "play", settings=settings)
        self.assertGreater(self.kernels(alone.spans), 0)
        self.assertEqual(self.kernels(after.spans), 2 * self.kernels(alone.spans))

    def test_a_forked_child_is_not_traced(self):
        result = self.steps("start", "child", "start", "on", "flush", "stop")
        self.assertEqual(result.answers, [0, 0, -1, 0, -1, 1])

    def test_a_forked_child_is_not_checked_for_leaks(self):
        """The check takes locks that another thread may have held at the fork; then the child would hang at its exit."""
        result = self.steps("start", "child", "leak", env={"ASAN_OPTIONS": "detect_leaks=1"})
        self.assertEqual(result.answers, [0, 0, 0])

    def test_it_sleeps_while_nothing_sampled_is_attached(self):
        result = self.steps("start", "play", self.SAMPLED, "on", "detach", settings={"sampling.sleep": "always"})
        self.assertEqual(result.answers, [0, 0, 0, 1, 0])
        self.assertEqual(result.spans, [])
        counters = result.report["counters"]
        self.assertGreaterEqual(counters["sleeps"], 1)
        self.assertEqual(result.report["losses"], {})

    def test_an_unsampled_process_waits_for_a_sampled_context(self):
        """Nothing is loaded before; then it starts beside the request, which is not kept waiting."""
        env = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}
        result = self.steps("play", env=env)
        self.assertEqual((result.spans, result.report), ([], None))
        double, recording_path = BUILD / "libcuspan-replay.so", path_of("vector_add")
        for attached, wakes in (self.UNSAMPLED, False), (self.SAMPLED, True):
            with self.subTest(attached):
                report = self.directory / f"wakes-{wakes}"
                # CUDA's part is taken by the loader: control_host's agent is injected by the environment.
                result = self.start([BUILD / "control_host", double, recording_path, BUILD / "libcuspan.so", "inject",
                                     attached, "nap", "nap", "on"], {**env, "CUSPAN_SET": (
                                         f"cupti.library={double};report_file={report};"
                                         f"output_file={self.directory}/wakes-{wakes}.jsonl")})
                self.assertEqual(result.out.splitlines()[-1], f"on: {int(wakes)}", result.err)


class Published(Case):
    """What SDKs and the agent publish of a process and its threads (OTEP 4719, OTEP 4947)."""

    host = Host.host

    def published(self, *arguments, library=None, resource="", lines=0, line="", **settings):
        library = library or BUILD / "libcuspan.so"
        target = self.directory / "spans.jsonl"
        self.host(*arguments, BUILD / "libcuspan-replay.so", path_of("vector_add"), program="publish_host", library=library,
                  lines=lines, line=line, env={"CUDA_INJECTION64_PATH": str(library), "OTEL_RESOURCE_ATTRIBUTES": resource},
                  settings={"cupti.library": BUILD / "libcuspan-replay.so", "output_file": target, "cupti.flush_interval_ms": 50,
                            **settings})
        return spans_in(target.read_text())

    def resources(self, spans, key):
        return {span.resource.get(key) for span in spans if compare.is_gpu_span(span)}, {
            span.resource.get(key) for span in spans if is_call(span)}

    def test_a_process_context_that_comes_late(self):
        spans = self.published(resource="deployment.environment.name=mine")
        self.assert_same_work("vector_add", spans, 2)
        names = {"unknown_service:publish_host", "late-shop"}
        self.assertEqual(self.resources(spans, "service.name"), (names, names))
        self.assertEqual(self.resources(spans, "sizing"), ({None, "tiny"}, {None, "tiny"}))
        self.assertEqual(self.resources(spans, "deployment.environment.name"), ({"mine"}, {"mine"}))
        self.assertEqual(len(self.resources(spans, "service.instance.id")[0]), 1)
        self.assertEqual({span.resource["service.name"] for span in spans if span.resource.get("sizing")}, {"late-shop"})
        self.assertFalse([span for span in spans if "cuda.device.uuid" not in span.resource and compare.is_gpu_span(span)])

    def test_the_users_service_name_goes_before_a_late_one(self):
        spans = self.published(resource="service.name=mine")
        self.assertEqual(self.resources(spans, "service.name"), ({"mine"}, {"mine"}))
        self.assertEqual(self.resources(spans, "sizing"), ({None, "tiny"}, {None, "tiny"}))

    def test_threads_publish_on_request_alone(self):
        self.published("hidden")
        self.published("ask", "shown")

    def test_threads_publish_by_a_setting(self):
        self.published("shown", publish_thread_context="true")

    def test_without_its_library_it_says_so_once(self):
        alone = self.directory / "alone"
        alone.mkdir()
        for name in ("libcuspan.so", "libcuspan-export.so"):
            shutil.copy(BUILD / name, alone / name)
        self.published("hidden", library=alone / "libcuspan.so", lines=1, publish_thread_context="true",
                       line="cannot load .*libcuspan-thread-ctx.so, which must be in the folder of libcuspan.so .*publish_thread_context")

    def test_its_library_exports_the_symbol(self):
        library = BUILD / "libcuspan-thread-ctx.so"
        symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", "--relocs", library], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
        self.assertRegex(symbols, r"TLS +GLOBAL +DEFAULT +\d+ otel_thread_ctx_v1")
        if not SANITIZERS:
            self.assertRegex(symbols, r"(TLSDESC|DTPMOD64?) .*otel_thread_ctx_v1")  # by its name, as readers look for it


class Library(Case):
    """What the host gets."""

    def tool(self, *command):
        return subprocess.run([*command, BUILD / "libcuspan.so"], stdout=subprocess.PIPE, text=True, check=True).stdout

    def setUp(self):
        super().setUp()
        if SANITIZERS:
            self.skipTest("a sanitized library needs its runtime")

    def test_exports_its_entries_alone(self):
        names = [line.split()[-1] for line in self.tool("nm", "-D", "--defined-only").splitlines()]
        names = [name.split("@")[0] for name in names if " A " not in name and not name.startswith("CUSPAN_")]
        self.assertEqual(names, ["InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension",
                                 "cuspan_agent_api", "cuspan_doctor_api", "cuspan_python_watcher", "cuspan_root_api"])

    def test_needs_libc_alone(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", self.tool("readelf", "-d"))
        self.assertIn("libc.so.6", needed)
        self.assertTrue(all(re.match(r"libc\.so|ld-linux", name) for name in needed), needed)

    def test_glibc_version(self):
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", self.tool("readelf", "-V"))}
        own = tuple(map(int, re.search(r"(\d+)\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION")).groups()))
        print(f"needs glibc {'.'.join(map(str, max(versions)))}, built with {'.'.join(map(str, own))}")
        self.assertLessEqual(max(versions), own)

    def test_thread_local_storage_needs_no_call(self):
        """Ours is initial-exec; only the demangler's archive, libsupc++, may bring along another."""
        self.assertRegex(self.tool("readelf", "-rW"), "TPOFF|TPREL")
        code = self.tool("objdump", "-d", "--no-show-raw-insn")
        users = set()
        function = ""
        for line in code.splitlines():
            begin = re.match(r"[0-9a-f]+ <(.*)>:", line)
            function = begin[1] if begin else function
            if "__tls_get_addr" in line and "call" in line:
                users.add(function)
        self.assertEqual([name for name in users if "cxa" not in name and not name.startswith("_ZN")], [])

    def test_stays_when_it_is_closed(self):
        """Threads' exit hooks and CUPTI hold its addresses."""
        self.assertIn("NODELETE", self.tool("readelf", "-d"))

    def test_nothing_is_writable_and_executable(self):
        self.assertNotRegex(self.tool("readelf", "-lW"), r"LOAD.*RWE|GNU_STACK.*RWE")
        self.assertNotIn("TEXTREL", self.tool("readelf", "-dW"))


class Soak(Case):
    def test_many_rounds_in_bounded_memory(self):
        """A long run in short; with CUSPAN_LONG in the environment a hundred times as long."""
        rounds = (20 if SANITIZERS else 200) * (100 if os.environ.get("CUSPAN_LONG") else 1)
        options = ["torch_inference", "--file", "/dev/null"]
        once = self.replay(*options, to_file=False)
        asleep = self.replay(*options, to_file=False, env={"OTEL_SDK_DISABLED": "true"}, status=None, watch=True)
        result = self.replay(*options, "--repeat", rounds, to_file=False, watch=True, timeout=3000)
        grown = result.peak_bytes - asleep.peak_bytes
        print(f"{result.report['spans']} spans in {result.seconds:.1f} s; {grown >> 20} MiB more than without the agent")
        self.assertEqual(result.report["losses"], {})
        self.assertEqual(result.report["delivered"], result.report["spans"])
        sessions = result.report["counters"]["sessions"]
        self.assertEqual(result.report["spans"], (once.report["spans"] - 1) * rounds + sessions)
        self.assertEqual(result.agent_lines(), [])
        if not SANITIZERS:
            self.assertLess(grown, MEMORY_BYTES)


class Requests(Case):
    """A made-up service (tests/support/sample/replay_sample.h): each request's trace holds exactly its own calls and GPU work."""
    GROUP = 5

    def sample(self, threads, calls):
        path = self.directory / f"service-{threads}-{calls}.cuspanrec"
        subprocess.run([BUILD / "replay_sample", path, str(threads), str(calls), "requests"], check=True)
        return path

    def place(self, correlation_id, threads):
        """The thread, the group and the step of a call."""
        thread, call = (correlation_id - 1) % threads, (correlation_id - 1) // threads
        return thread, call // self.GROUP, call % self.GROUP

    def request(self, thread, group):
        number = (thread << 32 | group).to_bytes(8, "big")
        return b"request!".hex() + number.hex(), (b"\xff" + number[1:]).hex()

    def check_traces(self, result, threads, calls):
        by_id = {span.span_id: span for span in result.spans}
        self.assertEqual(len(by_id), len(result.spans))
        session_traces = {span.trace_id for span in result.spans if is_session(span)}
        seen, gpu = set(), set()
        for span in result.spans:
            if "cuda.correlation.id" not in span.attributes:
                continue
            correlation_id = span.attributes["cuda.correlation.id"]
            thread, group, step = self.place(correlation_id, threads)
            if "cuda.activity" in span.attributes:
                gpu.add(correlation_id)
                self.assertEqual(span.trace_id, by_id[span.parent_id].trace_id)
                self.assertEqual(by_id[span.parent_id].attributes["cuda.correlation.id"], correlation_id)
                continue
            seen.add((thread, group))
            trace_id, parent_id = self.request(thread, group)
            if group % 7 == 6:
                self.assertIn(span.trace_id, session_traces)
            else:
                self.assertEqual(span.trace_id, trace_id)
                self.assertNotEqual(group % 10, 9, "this request isn't sampled")
            if step in (1, 2):
                stage = by_id[span.parent_id]
                self.assertEqual((stage.name, stage.trace_id), ("stage", span.trace_id))
                self.assertEqual([event["name"] for event in stage.events], ["half"])
                span = stage
            if group % 7 != 6:
                self.assertEqual(span.parent_id, parent_id)
            else:
                self.assertTrue(is_session(by_id[span.parent_id]))
        groups = {(thread, group) for thread in range(threads) for group in range(calls // self.GROUP)}
        sampled = {(thread, group) for thread, group in groups if group % 7 == 6 or group % 10 != 9}
        self.assertEqual(seen, sampled)
        expected = {1 + thread + call * threads for thread in range(threads) for call in range(calls)}
        expected = {i for i in expected if (i - 1) // threads % 4 != 3 and i % 17 and self.place(i, threads)[:2] in sampled}
        self.assertEqual(gpu, expected)
        stages = [span for span in result.spans if span.name == "stage"]
        self.assertEqual(len(stages), len(sampled))

    def test_thousands_of_requests(self):
        """With --long ten thousand: this side takes a hundred seconds for them."""
        threads, calls = 8, 6250 if os.environ.get("CUSPAN_LONG") else 600 if SANITIZERS else 1250
        path = self.sample(threads, calls)
        result = self.replay(path, settings={"exit_deadline_ms": 60000, "capture.activities.deny": "graph"})
        self.assert_nothing_lost(result)
        self.assertEqual(result.report["counters"]["orphans"], 0)
        self.check_traces(result, threads, calls)

    def test_names_that_the_program_gave(self):
        recorded_names = self.directory / "names.cuspanrec"
        subprocess.run([BUILD / "replay_sample", recorded_names, "1", "200", "names"], check=True)
        again = self.directory / "again.cuspanrec"
        self.replay(recorded_names, to_file=False, settings={"record_file": again})
        for path in (recorded_names, again):
            spans = self.replay(path).spans
            calls, gpu = [s for s in spans if is_call(s)], [s for s in spans if compare.is_gpu_span(s)]
            self.assertEqual({s.attributes.get("cuda.context.name") for s in calls + gpu}, {"training"})
            self.assertEqual({s.attributes["thread.name"] for s in calls}, {"loader"})
            self.assertEqual({s.resource.get("cuda.device.label") for s in gpu if s.resource["cuda.device.id"] == 0}, {"left"})
        silent = self.replay(recorded_names, settings={"capture.nvtx": "false"}).spans
        self.assertEqual({s.attributes.get("cuda.context.name") for s in silent}, {None})

    def test_a_service_recorded_on_a_gpu(self):
        """320 requests of tests/gpu/programs/requests.cu on 16 threads of an H200's machine."""
        for api in "subscriber", "classic":
            result = self.replay("service", "--api", api)
            self.assert_nothing_lost(result)
            self.assertEqual(list(requests_check.check(result.spans, 320)), [])
            self.assertEqual(result.report["counters"]["orphans"], 0)

    def test_asleep_but_for_sampled_requests(self):
        """Each sampled request has all that is its own; what belongs to none has no spans at all."""
        for api in "subscriber", "classic":
            result = self.replay("service", "--api", api, settings={"sampling.sleep": "always"})
            counters = result.report["counters"]
            print({key: counters[key] for key in ("sleeps", "asleep_ns", "asleep_records", "spans_unsampled", "orphans")})
            self.assertEqual(result.report["losses"], {})
            self.assertEqual(list(requests_check.check(result.spans, 320)), [])
            self.assertGreater(counters["sleeps"], 0)
            self.assertEqual(counters["orphans"], 0)

    def test_recorded_again(self):
        """What the agent records of a replay is what was recorded."""
        path, again = self.sample(4, 500), self.directory / "again.cuspanrec"
        self.replay(path, to_file=False, settings={"record_file": again})
        result = self.replay(again, settings={"capture.activities.deny": "graph"})
        self.assert_nothing_lost(result)
        self.check_traces(result, 4, 500)

    def test_the_sampler_goes_before_the_flag_where_it_is_told_to(self):
        result = self.replay(self.sample(2, 500), env={"OTEL_TRACES_SAMPLER": "always_on"})
        self.assert_nothing_lost(result)
        traces = {span.trace_id for span in result.spans}
        for group in range(100):
            if group % 7 != 6:
                self.assertIn(self.request(0, group)[0], traces)


def union_ns(spans):
    """The time in which at least one of them was there."""
    total = until = 0
    for start, end in sorted((span.start_ns, span.end_ns) for span in spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def totals_of(calls, work):
    """What spans of calls and of GPU work add up to, as cuda.total.* has it; what is 0 is left out."""
    def kind(name):
        return [span for span in work if span.attributes["cuda.activity"] == name]

    def took(spans):
        return sum(span.end_ns - span.start_ns for span in spans)

    devices = {span.resource.get("cuda.device.id") for span in work}
    longest = {}
    for span in kind("kernel"):
        longest[span.name] = max(longest.get(span.name, 0), span.end_ns - span.start_ns)
    always = {"calls": len(calls), "call_time": took(calls), "kernels": len(kind("kernel")),
              "gpu_time": sum(union_ns(s for s in work if s.resource.get("cuda.device.id") == d) for d in devices)}
    rest = {"errors": sum("error.type" in span.attributes for span in calls),
            "launch_time": took(s for s in calls if re.match(r"cu(da)?(Graph)?Launch", s.name)),
            "sync_time": took(s for s in calls if s.name.endswith("Synchronize")),
            "start_delay": sum(max(0, span.attributes.get("cuda.start_delay", 0)) for span in work),
            "copies": len(kind("memcpy") + kind("memcpy_peer")),
            "copy_bytes": sum(s.attributes["cuda.memcpy.bytes"] for s in kind("memcpy") + kind("memcpy_peer")),
            "fills": len(kind("memset")), "fill_bytes": sum(s.attributes["cuda.memset.bytes"] for s in kind("memset")),
            "graphs": len(kind("graph")),
            **{f"slowest.{i}.duration": ns for i, ns in enumerate(sorted(longest.values(), reverse=True)[:3], 1)}}
    return {**always, **{key: value for key, value in rest.items() if value}}, longest


class Summary(Case):
    """The detail `summary`, and the totals of ranges and sessions: against sums over the spans of the detail `default`."""
    # What a summary counts of the default profile.
    SUMMED = re.compile(r"cu(da)?(Launch|GraphLaunch|Mem|Malloc|HostAlloc|Free|.*Synchronize)")

    def check_totals(self, span, calls, work):
        expected, longest = totals_of(calls, work)
        prefix = "cuda.total."
        found = {key[len(prefix):]: value for key, value in span.attributes.items() if key.startswith(prefix)}
        for i in 1, 2, 3:
            name = found.pop(f"slowest.{i}.kernel", None)
            self.assertEqual(longest.get(name), found.get(f"slowest.{i}.duration"))
        self.assertEqual(found, expected)

    def spans_by_trace(self, name, **settings):
        result = self.replay(name, settings=settings)
        self.assert_nothing_lost(result)
        by_trace = {}
        for span in result.spans:
            by_trace.setdefault(span.trace_id, []).append(span)
        return by_trace

    def check_sessions(self, name):
        (every,) = self.spans_by_trace(name).values()
        (summed,) = self.spans_by_trace(name, detail="summary").values()
        calls, work = [s for s in every if is_call(s)], [s for s in every if compare.is_gpu_span(s)]
        self.assertTrue(calls and work)
        (session,) = filter(is_session, every)
        self.check_totals(session, calls, work)
        (only,) = summed
        self.check_totals(only, [s for s in calls if self.SUMMED.match(s.name)], work)
        self.assertGreaterEqual(only.end_ns, max(s.end_ns for s in work))

    def test_a_service_recorded_on_a_gpu(self):
        for api in "subscriber", "classic":
            default = self.replay("service", "--api", api).spans
            result = self.replay("service", "--api", api, settings={"detail": "summary"})
            self.assert_nothing_lost(result)
            (session,) = filter(is_session, result.spans)
            wanted = {s.trace_id for s in default if is_call(s)} - {s.trace_id for s in default if is_session(s)}
            summaries = {s.trace_id: s for s in result.spans if s.name == "cuda summary"}
            self.assertEqual(set(summaries), wanted)
            self.assertEqual(len(wanted), 288)
            self.assertEqual(len(result.spans), 1 + 288 + sum(s.name == "stage" for s in default))
            for trace_id in wanted | {next(s.trace_id for s in default if is_session(s))}:
                of_trace = [s for s in default if s.trace_id == trace_id]
                calls = [s for s in of_trace if is_call(s) and self.SUMMED.match(s.name)]
                work = [s for s in of_trace if compare.is_gpu_span(s)]
                span = summaries.get(trace_id, session)
                self.check_totals(span, calls, work)
                self.assertEqual(span.start_ns, min(s.start_ns for s in calls))
                self.assertEqual(span.end_ns, max(s.end_ns for s in calls + work))
                if span is not session:
                    self.assertEqual(span.parent_id, f"ff{int(trace_id[16:], 16):014x}")
                    self.assertEqual(span.attributes["cuda.summary.number"], 1)
                    self.assertRegex(span.attributes["hw.id"], "^GPU-")

    def test_ranges_count_what_is_inside(self):
        for detail in "default", "summary":
            default = self.replay("service").spans
            ranges = [s for s in self.replay("service", settings={"detail": detail}).spans if s.name == "stage"]
            for span in ranges:
                (same,) = [s for s in default if s.name == "stage" and s.trace_id == span.trace_id]
                calls = [s for s in default if s.parent_id == same.span_id]
                ids = {s.span_id for s in calls}
                self.check_totals(span, calls, [s for s in default if s.parent_id in ids])
                self.assertEqual((span.start_ns, span.end_ns, span.parent_id), (same.start_ns, same.end_ns, same.parent_id))
            self.assertEqual(len(ranges), 288)

    def test_vector_add(self):
        self.check_sessions("vector_add")

    def test_threads(self):
        self.check_sessions("threads")

    def test_graph(self):
        self.check_sessions("graph")

    def test_torch_inference(self):
        self.check_sessions("torch_inference")

    def test_sessions_that_are_cut_have_their_own_work(self):
        by_trace = self.spans_by_trace("torch_inference", **{"session.spans_max": 100})
        self.assertGreater(len(by_trace), 5)
        for spans in by_trace.values():
            (session,) = filter(is_session, spans)
            self.check_totals(session, [s for s in spans if is_call(s)], [s for s in spans if compare.is_gpu_span(s)])

    def test_thousands_of_requests(self):
        """More at once than are kept: some leave early, and what comes later is in a further one."""
        path = self.directory / "many.cuspanrec"
        subprocess.run([BUILD / "replay_sample", path, "8", "600" if SANITIZERS else "3000", "requests"], check=True)
        settings = {"exit_deadline_ms": 60000, "capture.activities.deny": "graph"}
        default = self.replay(path, settings={**settings, "capture.calls.allow": "launch,copy,fill,alloc,free,sync"}).spans
        result = self.replay(path, settings={**settings, "detail": "summary"})
        self.assert_nothing_lost(result)
        sums, expected = {}, {}
        for span in result.spans:
            if span.name == "cuda summary":
                found = sums.setdefault((span.trace_id, span.parent_id), Counter())
                found.update({key: span.attributes.get(f"cuda.total.{key}", 0) for key in ("calls", "kernels", "copies")})
                found["summaries"] += 1
                self.assertLessEqual(span.attributes["cuda.summary.number"], found["summaries"])
        session_traces = {span.trace_id for span in default if is_session(span)}
        for trace_id, spans in itertools.groupby(sorted(default, key=lambda s: s.trace_id), lambda s: s.trace_id):
            spans = list(spans)
            if trace_id not in session_traces:
                calls = list(filter(is_call, spans))
                work = Counter(s.attributes["cuda.activity"] for s in spans if compare.is_gpu_span(s))
                expected[trace_id] = (len(calls), work["kernel"], work["memcpy"])
        self.assertEqual({trace: (found["calls"], found["kernels"], found["copies"]) for (trace, _), found in sums.items()},
                         {trace: counts for trace, counts in expected.items() if any(counts)})

    def test_show_draws_it(self):
        path = self.directory / "summary.jsonl"
        path.write_text(self.replay("service", settings={"detail": "summary"}).text)
        request = f"{b'request!'.hex()}{8:016x}"
        shown = self.start([BUILD / "cuspan", "show", "--width", "120", "--trace", request, path], {})
        self.assertRegex(shown.out, r"cuda summary  GPU [0-9.]+ .s, \d+ kernels")


class Context(Case):
    """The trace that the process belongs to."""

    def test_first_session_is_the_child(self):
        state = "vendor=a1,other=b2"
        env = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-03", "TRACESTATE": state}
        result = self.replay("threads", "--repeat", "10", env=env, settings={"session.spans_max": 2000})
        self.assertEqual(result.report["losses"], {})
        sessions = sessions_of(result.spans)
        raw = {span["spanId"]: span for span in raw_spans_in(result.text)}
        self.assertGreater(len(sessions), 2)
        first = sessions[0]
        self.assertEqual((first.trace_id, first.parent_id), (TRACE, PARENT))
        self.assertEqual(raw[first.span_id]["flags"], 0x303)
        for span in result.spans:
            if span.trace_id == TRACE:
                self.assertEqual(raw[span.span_id]["traceState"], state)
            else:
                self.assertNotIn("traceState", raw[span.span_id])
        for session in sessions[1:]:
            self.assertNotEqual(session.trace_id, TRACE)
            self.assertEqual(session.parent_id, "")
            process = [link for link in session.links if (link["traceId"], link["spanId"]) == (TRACE, PARENT)]
            self.assertEqual([link["traceState"] for link in process], [state])
            self.assertEqual(len(session.links), 2)

    def test_a_bad_traceparent_is_none(self):
        for bad in f"00-{TRACE}-{PARENT}", f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", "x":
            result = self.replay("vector_add", env={"TRACEPARENT": bad, "TRACESTATE": "a=b"})
            self.assertEqual(sessions_of(result.spans)[0].parent_id, "")
            self.assertTrue(all("traceState" not in span for span in raw_spans_in(result.text)))

    def test_an_unsampled_parent_puts_it_to_sleep(self):
        result = self.replay("vector_add", env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}, status=1)
        self.assertEqual((result.text, result.agent_lines()), ("", []))

    def test_the_sampler_may_ignore_the_parent(self):
        result = self.replay("vector_add", env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00",
                                                "OTEL_TRACES_SAMPLER": "always_on"})
        self.assertEqual(sessions_of(result.spans)[0].trace_id, TRACE)

    def test_a_ratio_counts_what_it_leaves_out(self):
        result = self.replay("threads", "--repeat", "50", settings={"session.spans_max": 200},
                             env={"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"})
        counters = result.report["counters"]
        self.assertEqual(result.report["losses"], {})
        self.assertGreater(counters["spans_unsampled"], 0)
        share = len(result.spans) / (len(result.spans) + counters["spans_unsampled"])
        print(f"{share:.2f} of the spans in {counters['sessions']} sessions")
        self.assertGreater(counters["sessions"], 100)
        self.assertTrue(0.25 < share < 0.75, share)
        ids = {span.span_id for span in result.spans}
        self.assertEqual([s.name for s in result.spans if s.parent_id and s.parent_id not in ids], [])


class Outputs(Case):
    def decode(self, *arguments):
        here = ROOT / "tests/support"
        python = subprocess.run([here / "otlp_python.sh"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        done = subprocess.run([python, here / "otlp_decode.py", *arguments], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_protobuf_and_json_say_the_same(self):
        """One process sends all its spans to three outputs; an independent decoder reads two of them."""
        server = sink.Sink()
        self.addCleanup(server.close)
        config = self.directory / "three.yaml"
        target = self.directory / "third.jsonl"
        config.write_text(f"""file_format: "1.1"
tracer_provider:
  processors:
  - batch: {{exporter: {{otlp_http: {{endpoint: "http://127.0.0.1:{server.port}/pb", compression: gzip,
                                    headers: [{{name: api-key, value: sesame}}]}}}}}}
  - batch: {{exporter: {{otlp_http: {{endpoint: "http://127.0.0.1:{server.port}/json", encoding: json,
                                    compression: none}}}}}}
  - batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{target}"}}}}}}
distribution: {{cuspan: {{memory_bytes_max: 134217728}}}} # with libdeflate, three outputs exceed the default
""")
        result = self.replay("torch_inference", "--repeat", "3", "--config", config, to_file=False)
        self.assertEqual(result.report["losses"], {})
        files = {"/pb": [], "/json": []}
        for number, request in enumerate(server.requests):
            is_protobuf = request.path == "/pb"
            headers = {key.lower(): value for key, value in request.headers.items()}
            self.assertEqual(headers["content-type"], "application/x-protobuf" if is_protobuf else "application/json")
            self.assertEqual(headers.get("content-encoding"), "gzip" if is_protobuf else None)
            self.assertEqual(headers.get("api-key"), "sesame" if is_protobuf else None)
            self.assertRegex(headers["user-agent"], "^cuspan/.* OTel-OTLP-Exporter-C/")
            path = self.directory / f"request-{number}"
            path.write_bytes(request.body + (b"" if is_protobuf or request.body.endswith(b"\n") else b"\n"))
            files[request.path].append(path)
        print(self.decode("--protobuf", *files["/pb"], "--json", *files["/json"]).strip())
        third = target.read_text()
        self.assert_same_work("torch_inference", spans_in(third), 3)
        sent = [span for path in files["/json"] for span in raw_spans_in(path.read_text())]
        self.assertEqual(sorted(s["spanId"] for s in sent), sorted(s["spanId"] for s in raw_spans_in(third)))
        self.assertNotIn("sesame", result.err + result.out + third)

    def test_the_environment_chooses_the_output(self):
        server = sink.Sink()
        self.addCleanup(server.close)
        for protocol, kind in (("http/json", "application/json"), ("http/protobuf", "application/x-protobuf")):
            self.replay("vector_add", to_file=False, env={
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.port}", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
            self.assertEqual(server.requests[-1].path, "/v1/traces")
            self.assertEqual({k.lower(): v for k, v in server.requests[-1].headers.items()}["content-type"], kind)

    def test_console_goes_to_standard_output(self):
        result = self.replay("vector_add", "--console", "-q", to_file=False)
        for word in "cudaLaunchKernel", "cudaMemcpy", "add(float const*, float const*, float*, int)":
            self.assertIn(word, result.out)
        self.assertEqual(result.err, "")

    def test_file_to_standard_output(self):
        result = self.replay("vector_add", "--file", "-", "-q", to_file=False)
        self.assert_same_work("vector_add", spans_in(result.out))

    def test_a_replay_that_delivers_nothing_has_failed(self):
        result = self.replay("vector_add", "--file", "/nowhere/x.jsonl", to_file=False, status=1)
        self.assertRegex(result.err, "cannot open /nowhere/x.jsonl .No such file or directory")
        self.assertEqual(result.report["losses"], {"lost_output": result.report["spans"]})

    def test_a_recordings_name_is_a_name(self):
        """Whoever sends a recording must not choose where its spans go, or what else the agent does."""
        stolen = self.directory / "stolen.jsonl"
        evil = self.directory / "evil.cuspanrec"
        evil.write_bytes(recording.renamed(path_of("vector_add"), f"x;output_file={stolen}"))
        result = self.replay(evil)
        self.assertFalse(stolen.exists())
        self.assertEqual(sessions_of(result.spans)[0].name, f"x_output_file={stolen}")

    def test_show_is_not_led_by_the_environment(self):
        """Whatever an agent in a program would be told: the picture is of the recording."""
        plain = self.start([BUILD / "cuspan", "show", "--lines", path_of("vector_add")], {})
        self.assertEqual(plain.out.count("\n"), 34, plain.err)
        for env in ({"OTEL_SDK_DISABLED": "true"}, {"CUSPAN_CAPTURE_RUNTIME": "false"}, {"CUSPAN_MEMORY_BYTES_MAX": "1"},
                    {"CUSPAN_RECORD_FILE": str(self.directory / "x")}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "bad"},
                    {"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}):
            told = self.start([BUILD / "cuspan", "show", "--lines", path_of("vector_add")], env)
            self.assertEqual((told.status, told.out.count("\n"), told.err), (0, 34, plain.err), env)

    def test_the_users_service_name_goes_before_the_recordings(self):
        for env in {"OTEL_SERVICE_NAME": "mine"}, {"OTEL_RESOURCE_ATTRIBUTES": "service.name=mine"}:
            self.assertEqual(self.replay("vector_add", env=env).spans[0].resource["service.name"], "mine")
        empty = self.replay("vector_add", env={"OTEL_SERVICE_NAME": ""})
        self.assertEqual(empty.spans[0].resource["service.name"], "vector_add")

    def test_contexts_are_as_recorded(self):
        handles = set(recorded("threads").contexts_created)
        self.assertNotIn(0, handles)
        result = self.replay("threads")
        shown = {pair["value"]["stringValue"] for span in raw_spans_in(result.text) for event in span.get("events", [])
                 for pair in event.get("attributes", []) if pair["key"] == "cuda.context.handle"}
        self.assertEqual(shown, {hex(handle) for handle in handles})

    def test_each_output_is_reported_by_itself(self):
        """Total loss in one output, and none in the other, is neither delivery nor loss of all."""
        target = self.directory / "good.jsonl"
        config = self.directory / "two.yaml"
        for bad, status in (f"{self.directory}/other.jsonl", 0), ("/nowhere/x.jsonl", 1):
            target.unlink(missing_ok=True)
            config.write_text(f"""file_format: "1.1"
tracer_provider:
  processors:
  - batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{bad}"}}}}}}
  - batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{target}"}}}}}}
""")
            result = self.replay("vector_add", "--config", config, to_file=False, status=status)
            made = result.report["spans"]
            arrived = 0 if status else made
            settled = {"on_way": 0, "unaccounted": 0}
            self.assertEqual(len(spans_in(target.read_text())), made)
            self.assertEqual(result.report["outputs"],
                             [{"kind": "file", "endpoint": bad, "delivered": arrived, "lost": made - arrived, **settled,
                               **({"trouble": f"cannot write to {bad}"} if status else {})},
                              {"kind": "file", "endpoint": str(target), "delivered": made, "lost": 0, **settled}])
            self.assertEqual(result.report["delivered"], arrived)
            said = [line for line in result.err.splitlines() if "delivered" in line or "view it" in line]
            self.assertEqual(said, [f"cuspan: {'0 of ' if status else ''}{made} spans delivered to {bad}",
                                    f"cuspan: {made} spans delivered to {target}",
                                    *([] if status else [f"cuspan: view it: cuspan show {bad}"]),
                                    f"cuspan: view it: cuspan show {target}"])

    def test_attribute_limits(self):
        env = {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "4", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "6"}
        result, whole = self.replay("threads", env=env), self.replay("threads")
        full = Counter(len(s["attributes"]) for s in raw_spans_in(whole.text))
        cut = Counter()
        for span in raw_spans_in(result.text):
            self.assertLessEqual(len(span["attributes"]), 4)
            cut[len(span["attributes"]) + span.get("droppedAttributesCount", 0)] += 1
            for pair in span["attributes"]:
                self.assertLessEqual(len(pair["value"].get("stringValue", "")), 6)
        self.assertEqual(cut, full)

    def test_service_name(self):
        result = self.replay("vector_add", "--service-name", "trainer",
                             env={"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=lab,team=a%20b"})
        for span in result.spans:
            self.assertEqual((span.resource["service.name"], span.resource["deployment.environment.name"],
                              span.resource["team"]), ("trainer", "lab", "a b"))

    def test_rank_and_job(self):
        """On every resource: a device's spans are the process's as well."""
        env = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "SLURM_JOB_ID": "4711", "SLURMD_NODENAME": "node-3"}
        keys = ("cuda.process.rank", "cuda.process.local_rank", "cuda.process.world_size", "slurm.job.id",
                "slurm.node.name")
        result = self.replay("vector_add", env=env)
        self.assertEqual({tuple(span.resource.get(key) for key in keys) for span in result.spans},
                         {(3, 1, 4, "4711", "node-3")})
        plain = self.replay("vector_add")
        self.assertEqual([key for span in plain.spans for key in keys if key in span.resource], [])


class CommandCase(Case):
    """What runs commands by cuspan run needs."""

    def program(self, recording="vector_add"):
        """A host with the agent in it that plays a recording and ends with status 7."""
        return [BUILD / "agent_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so", path_of(recording)]

    def script(self, text):
        """A shell script, in which $HOST is such a host."""
        path = self.directory / "job.sh"
        host = " ".join(map(str, self.program()))
        path.write_text(f"#!/bin/sh\nHOST='{host}'\n{text}\n")
        path.chmod(0o755)
        return [path]

    def run_command(self, program, *options, env=None, status=7, timeout=HANG_S):
        """Without handlers for signals, which the host would notice; exits_test.py has those."""
        self.runs += 1
        target = self.directory / f"run-{self.runs}.jsonl"
        command = [BUILD / "cuspan", "run", "--file", target, "--set", f"cupti.library={BUILD}/libcuspan-replay.so",
                   "--set", "on_signal=", *options, *program]
        result = self.start(command, env or {}, timeout)
        self.assertEqual(result.status, status, result.err)
        result.text = target.read_text() if target.exists() else ""
        result.roots = [span for span in raw_spans_in(result.text) if not span.get("parentSpanId")]
        return result

    def attributes(self, span):
        return {pair["key"]: next(iter(pair["value"].values())) for pair in span.get("attributes", [])}


class Command(CommandCase):
    """cuspan run: the processes of one command are one trace, below a root span."""

    def test_the_root_is_above_the_session(self):
        before = time.time_ns()
        result = self.run_command(self.program())
        after = time.time_ns()
        root, = result.roots
        session, = sessions_of(result.spans)
        self.assertEqual((session.trace_id, session.parent_id), (root["traceId"], root["spanId"]))
        self.assertEqual({span.trace_id for span in result.spans}, {root["traceId"]})
        self.assertEqual((root["name"], root["kind"], root["flags"]), ("agent_host", 1, 0x103))
        self.assertEqual(self.attributes(root), {"process.exit.code": "7", "error.type": "exit_status"})
        self.assertEqual(root["status"]["code"], 2)
        self.assertTrue(before <= int(root["startTimeUnixNano"]) < int(root["endTimeUnixNano"]) <= after)
        self.assertIn(f"cuspan: {len(result.spans)} spans delivered to ", result.err)
        self.assertNotIn("processes", result.err)
        of_root, of_session = (next(s.resource for s in result.spans if s.span_id == span_id)
                               for span_id in (root["spanId"], session.span_id))
        for key in "service.name", "host.id", "host.name", "process.pid", "telemetry.sdk.version", "os.type":
            self.assertEqual(of_root[key], of_session[key])

    def test_a_script_of_several_programs_is_one_trace(self):
        result = self.run_command(self.script("$HOST; $HOST; true"), "--service-name", "job", status=0)
        root, = result.roots
        self.assertEqual(root["name"], "job.sh")
        self.assertEqual((self.attributes(root), root.get("status", {})), ({"process.exit.code": "0"}, {}))
        self.assertEqual({(s.trace_id, s.parent_id) for s in sessions_of(result.spans)},
                         {(root["traceId"], root["spanId"])})
        self.assertEqual(len(sessions_of(result.spans)), 2)
        self.assertEqual({span.resource["service.name"] for span in result.spans}, {"job"})
        self.assertRegex(result.err, r"spans delivered to .*, by 2 processes\n")

    def test_a_signal_is_an_error(self):
        result = self.run_command(self.script("$HOST; kill -TERM $$"), status=-15)
        root, = result.roots
        self.assertEqual((self.attributes(root), root["status"]["code"]), ({"error.type": "SIGTERM"}, 2))

    def test_pythons_script_is_the_name(self):
        path = self.directory / "train.py"
        path.write_text(f"import subprocess\nsubprocess.run({list(map(str, self.program()))})\n")
        root, = self.run_command([sys.executable, "-u", path, "--secret"], status=0).roots
        self.assertEqual(root["name"], "train.py")
        self.assertNotIn("--secret", json.dumps(root))

    def test_below_a_traceparent_there_is_no_root(self):
        env = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-01", "TRACESTATE": "a=1"}
        result = self.run_command(self.program(), env=env)
        self.assertEqual(result.roots, [])
        session, = sessions_of(result.spans)
        self.assertEqual((session.trace_id, session.parent_id), (TRACE, PARENT))

    def test_a_bad_traceparent_is_replaced(self):
        result = self.run_command(self.program(), env={"TRACEPARENT": f"00-{TRACE}-x", "TRACESTATE": "a=1"})
        root, = result.roots
        self.assertNotIn("a=1", result.text)
        self.assertEqual(sessions_of(result.spans)[0].parent_id, root["spanId"])

    def test_without_cuda_there_is_no_root(self):
        result = self.run_command(["true"], status=0)
        self.assertEqual(result.text, "")
        self.assertIn("no spans: the agent was never started", result.err)

    def test_what_the_command_is_told(self):
        told = self.run_command(["sh", "-c", "echo $TRACEPARENT $TRACESTATE"], status=0)
        self.assertRegex(told.out, "^00-[0-9a-f]{32}-[0-9a-f]{16}-03\n$")
        for env in {"OTEL_SDK_DISABLED": "true"}, {"CUSPAN_SET": "detial=full"}:
            told = self.run_command(["sh", "-c", "echo $TRACEPARENT $TRACESTATE"], status=0, env=env)
            self.assertEqual(told.out, "\n")

    def test_what_is_not_sampled_is_neither_traced_nor_sent(self):
        for env in ({"OTEL_TRACES_SAMPLER": "always_off"}, {"OTEL_TRACES_SAMPLER": "parentbased_always_off"},
                    {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}):
            result = self.run_command(self.script("echo $TRACEPARENT; $HOST"), env=env)
            self.assertRegex(result.out, "^00-[0-9a-f]{32}-[0-9a-f]{16}-02\n")
            self.assertEqual(result.text, "")
            self.assertEqual(result.err, "cuspan: no spans: the sampler dropped this run\n")

    def test_the_threshold_is_in_every_span(self):
        env = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "1"}
        result = self.run_command(self.program(), env=env)
        self.assertEqual({span.get("traceState") for span in raw_spans_in(result.text)}, {"ot=th:0"})
        self.assertEqual(len(result.roots), 1)

    def test_a_dead_collector_is_not_waited_for_twice(self):
        """A busy machine may take longer than two deadlines. Of ten attempts one takes less."""
        self.assertTrue(any(self.ends_before_two_deadlines() for _ in range(10)))

    def ends_before_two_deadlines(self):
        port = backend.free_ports(1)[0]
        command = [BUILD / "cuspan", "run", "--endpoint", f"http://localhost:{port}", "--set", "exit_deadline_ms=1500", "--set", "on_signal=",
                   "--set", f"cupti.library={BUILD}/libcuspan-replay.so", *self.program()]
        result = self.start(command, {})
        self.assertEqual(result.status, 7)
        self.assertIn("cuspan: 0 of 33 spans delivered", result.err)
        return result.seconds < 3

    def test_only_agents_reports_are_kept(self):
        kept = self.directory / "kept"
        self.run_command(self.program(), "--set", f"report_file={kept}")
        self.assertEqual(len(list(self.directory.glob("kept.*"))), 1)


class Processes(CommandCase):
    """The ways in which a Python program begins processes: each that uses CUDA is a session of the same trace."""
    BEGIN = f"""
import multiprocessing, os, subprocess, sys
sys.path[:0] = [{str(ROOT / "tests/support")!r}, {str(ROOT / "python")!r}]
import cuspan, python_host
TRACEPARENT = "00-{TRACE}-{PARENT}-01"

def idle():
    pass

def end(child):
    child.join()
    assert child.exitcode == 0, child.exitcode

def run_both(method, make=lambda work: work, target=python_host.cuda):
    context = multiprocessing.get_context(method)
    children = [context.Process(target=make(target), args=(rank,)) for rank in (0, 1)]
    children.append(context.Process(target=idle))
    for child in children:
        child.start()
    for child in children:
        end(child)

def main():
"""

    def setUp(self):
        super().setUp()
        if SANITIZERS:
            self.skipTest("a sanitized library can't be loaded into Python")

    def python(self, text, env=None, **arguments):
        """Runs a program of which this is the main function."""
        path = self.directory / "job.py"
        body = "".join(f"    {line}\n" for line in text.strip().splitlines())
        path.write_text(f"{self.BEGIN}{body}\nif __name__ == '__main__':\n    main()\n")
        env = {"HOST_DOUBLE": str(BUILD / "libcuspan-replay.so"), "HOST_RECORDING": path_of("vector_add"),
               "PYTHONDONTWRITEBYTECODE": "1", **FORKS, **(env or {})}
        reports = self.directory / f"reports-{self.runs}"
        result = self.run_command([sys.executable, path], "--set", f"report_file={reports}", env=env, status=0, **arguments)
        result.reports = [json.loads(report.read_text()) for report in self.directory.glob(f"{reports.name}.*")]
        return result

    def check(self, result, parents, ranks=(0, 1), trace_id=None):
        """Nothing is lost, and each process has the whole recording below a session, whose parents are these."""
        self.assertEqual([report["losses"] for report in result.reports], [{}] * len(parents), result.err)
        sessions = sessions_of(result.spans)
        self.assertEqual(sorted(session.parent_id for session in sessions), sorted(parents))
        self.assertEqual({span.trace_id for span in result.spans}, {trace_id or result.roots[0]["traceId"]} | {root["traceId"] for root in result.roots})
        by_rank = sorted((session.resource.get("cuda.process.rank", -1) for session in sessions))
        self.assertEqual(by_rank, sorted(ranks))
        self.assertEqual(len({session.resource["process.pid"] for session in sessions}), len(parents))
        self.assertEqual(len({span.span_id for span in result.spans}), len(result.spans))
        for session in sessions:
            pid = session.resource["process.pid"]
            own = [span for span in result.spans if span.resource["process.pid"] == pid
                   and not span.attributes.keys() & {"cuda.range", "process.exit.code"}]
            self.assert_same_work("vector_add", [as_root(span) if is_session(span) else span for span in own])
        self.assertEqual(result.agent_lines(), [])

    def check_below_the_root(self, result, processes=2, ranks=(0, 1)):
        root, = result.roots
        self.check(result, [root["spanId"]] * processes, ranks)

    def check_below_the_request(self, result, processes=2, ranks=(0, 1)):
        self.check(result, [PARENT] * processes, ranks, TRACE)

    def test_each_start_method_of_multiprocessing(self):
        for method in "spawn", "fork", "forkserver":
            with self.subTest(method):
                result = self.python(f"run_both({method!r})")
                self.check_below_the_root(result)
                self.assertEqual({(session.name, session.resource["service.name"]) for session in sessions_of(result.spans)},
                                 {("job.py", "unknown_service:job.py")})
                self.check_below_the_root(self.python(f"cuspan.is_on()\nrun_both({method!r})"))

    def test_children_below_what_their_parent_works_for(self):
        for method in "spawn", "fork", "forkserver":
            with self.subTest(method):
                self.check_below_the_request(self.python(
                    f"with cuspan.attach(TRACEPARENT):\n    run_both({method!r}, cuspan.child)\n"
                    "assert 'cafe' not in os.environ['TRACEPARENT']"))

    def test_pools_whose_workers_are_begun_in_a_request(self):
        for method in "spawn", "fork", "forkserver":
            with self.subTest(method):
                self.check_below_the_request(self.python(f"""
from concurrent.futures import ProcessPoolExecutor
with cuspan.attach(TRACEPARENT):
    begun = cuspan.child(idle)
with ProcessPoolExecutor(1, multiprocessing.get_context({method!r}), begun) as pool:
    pool.submit(python_host.cuda, 3).result()
"""), 1, [3])

    def test_fork_with_cuda_begun_before(self):
        """The child has no agent of its own, harms nobody, and ends at once."""
        for ending in "os._exit(3)", "sys.exit(3)":
            with self.subTest(ending):
                self.check_below_the_root(self.python(f"""
double = python_host.begin()
children = []
for child in range(3):
    pid = os.fork()
    if pid == 0:
        assert not cuspan.finish()
        if child:
            python_host.work(double, overload=True)
        {ending}
    children.append(pid)
python_host.work(double)
for pid in children:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
"""), 1, [-1])

    def test_spawn_with_cuda_begun_before(self):
        for method in "spawn", "forkserver":
            with self.subTest(method):
                self.check_below_the_root(self.python(f"python_host.cuda()\ncuspan.is_on()\nrun_both({method!r})"),
                                          3, [-1, 0, 1])

    def test_fork_and_exec(self):
        """What the child is to work for is in its environment, and not in the parent's."""
        self.check_below_the_request(self.python("""
program = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; import python_host; python_host.cuda(1)"]
before = dict(os.environ)
with cuspan.attach(TRACEPARENT, "a=1"):
    made = cuspan.environment()
    assert (made["TRACEPARENT"], made["TRACESTATE"]) == (TRACEPARENT, "a=1")
    subprocess.run(program, env=made, check=True)
    pid = os.fork()
    if pid == 0:
        os.execve(program[0], program, made)
assert os.waitpid(pid, 0)[1] == 0
assert dict(os.environ) == before
"""), 2, [1, 1])

    def test_fork_with_cuda_begun_before_and_exec(self):
        """The child is none of the agent's; the program that it becomes is."""
        self.check_below_the_root(self.python("""
program = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; import python_host; python_host.cuda(5)"]
double = python_host.begin()
pid = os.fork()
if pid == 0:
    os.execv(program[0], program)
python_host.work(double)
assert os.waitpid(pid, 0)[1] == 0
"""), 2, [-1, 5])

    def test_subprocesses_without_a_request(self):
        self.check_below_the_root(self.python("""
code = "import sys; sys.path[:0] = {!r}; import python_host; python_host.cuda({})"
for rank in 0, 1:
    subprocess.run([sys.executable, "-c", code.format(sys.path, rank)], check=True)
"""))

    def test_a_range_is_above_the_processes_that_it_begins(self):
        result = self.python("""
python_host.cuda()
cuspan.is_on()
with cuspan.attach(TRACEPARENT), cuspan.range("request"):
    run_both("spawn", cuspan.child)
""")
        request, = (span for span in result.spans if span.name == "request")
        self.assertEqual(request.parent_id, PARENT)
        children = [session for session in sessions_of(result.spans) if session.trace_id == TRACE]
        self.assertEqual([(s.parent_id, s.resource["cuda.process.rank"]) for s in
                          sorted(children, key=lambda s: s.resource["cuda.process.rank"])],
                         [(request.span_id, 0), (request.span_id, 1)])

    def test_a_child_that_ends_by__exit(self):
        """finish() delivers what the agent has; nothing runs at the end, and without it the session is missing."""
        text = """
pid = os.fork()
if pid == 0:
    python_host.cuda(1)
    {}
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
        self.check_below_the_root(self.python(text.format("assert cuspan.finish() and not cuspan.finish()")), 1, [1])
        self.assertEqual(sessions_of(self.python(text.format("pass")).spans), [])

    def test_what_the_program_ends_is_among_the_spans(self):
        """CUDA calls of a finalizer: the agent finishes after it."""
        self.check_below_the_root(self.python("""
from multiprocessing import util
def work():
    util.Finalize(None, python_host.cuda, (4,), exitpriority=1)
cuspan.is_on()
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
end(child)
"""), 1, [4])

    def test_without_cuda_nothing_is_sent(self):
        result = self.python("""
cuspan.is_on()
for method in "spawn", "fork", "forkserver":
    child = multiprocessing.get_context(method).Process(target=cuspan.child(idle))
    child.start()
    end(child)
""")
        self.assertEqual((result.text, result.reports), ("", []))
        self.assertIn("no spans: the agent was never started", result.err)


class Filters(Case):
    def names(self, *options, **settings):
        result = self.replay("torch_inference", *options,
                             settings={key.replace("__", "."): value for key, value in settings.items()})
        self.assertEqual(result.report["losses"], {})
        return result, Counter(s.name for s in result.spans)

    def test_kernels_denied(self):
        whole, names = self.names()
        kernels = Counter(s.name for s in whole.spans if s.attributes.get("cuda.activity") == "kernel")
        denied, count = kernels.most_common(1)[0]
        result, left = self.names(capture__kernels__deny=denied)
        self.assertEqual(left, names - Counter({denied: count}))
        self.assertEqual(result.report["counters"]["spans_filtered"], whole.report["counters"]["spans_filtered"] + count)

    def test_kernels_allowed(self):
        result, _ = self.names(capture__kernels__allow="*gemm*")
        kernels = [s for s in result.spans if s.attributes.get("cuda.activity") == "kernel"]
        wanted = sum("gemm" in full for full in self.full_names())
        self.assertGreater(wanted, 0)
        self.assertEqual(len(kernels), wanted)

    def full_names(self):
        work = [a for a in recorded("torch_inference").gpu_work() if a.kind == recording.KERNEL]
        names = compare.demangle(a.name for a in work)
        return [names[a.name] for a in work]

    def test_calls_allowed(self):
        result, _ = self.names(capture__calls__allow="cudaLaunchKernel")
        self.assertEqual({s.name for s in result.spans if is_call(s)}, {"cudaLaunchKernel"})
        # Work of other calls is still shown: its call is left out, not unknown.
        self.assertEqual(sum(map(compare.is_gpu_span, result.spans)), len(recorded("torch_inference").gpu_work()))

    def test_calls_denied(self):
        whole, names = self.names()
        result, left = self.names(capture__calls__deny="cudaMemcpy*")
        self.assertEqual([name for name in left if name.startswith("cudaMemcpy")], [])
        self.assertEqual(left, Counter({n: c for n, c in names.items() if not n.startswith("cudaMemcpy")}))

    def test_activities_allowed(self):
        result, _ = self.names(capture__activities__allow="memcpy")
        self.assertEqual({s.attributes["cuda.activity"] for s in result.spans if "cuda.activity" in s.attributes},
                         {"memcpy"})

    def test_no_calls_at_all(self):
        result, _ = self.names(capture__runtime="false", capture__driver="false")
        self.assertEqual([s.name for s in result.spans if is_call(s)], [])
        self.assertEqual(sum(map(compare.is_gpu_span, result.spans)), len(recorded("torch_inference").gpu_work()))

    def test_no_parameters(self):
        result, _ = self.names(capture__parameters="false")
        self.assertEqual([key for s in result.spans for key in s.attributes if key.startswith("cuda.arg.")], [])

    def test_full_detail_has_more_fields(self):
        small, _ = self.names()
        large, _ = self.names(detail="full")
        fields = [{key for s in r.spans if s.attributes.get("cuda.activity") == "kernel" for key in s.attributes}
                  for r in (small, large)]
        self.assertLess(fields[0], fields[1])
        self.assertIn("cuda.kernel.priority", fields[1] - fields[0])
        self.assertGreater(len(large.spans), 5 * len(small.spans))
        self.assertIn("synchronization", {s.attributes.get("cuda.activity") for s in large.spans})

    def test_a_wrong_setting_names_its_key(self):
        """On the command line before anything is played, in the environment by the agent."""
        result = self.replay("vector_add", settings={"capture.kernals.deny": "x"}, status=2)
        self.assertRegex(result.err, r"^cuspan replay: options: capture\.kernals\.deny: unknown key.*capture\.kernels\.deny")
        self.assertEqual(result.err.count("\n"), 1, result.err)
        result = self.replay("vector_add", env={"CUSPAN_SET": "capture.kernals.deny=x"}, status=1)
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        self.assertRegex(result.agent_lines()[0], "CUSPAN_SET: capture.kernals.deny.*capture.kernels.deny")


def main():
    global BUILD, SANITIZERS
    parser = argparse.ArgumentParser(description="Runs the agent on recordings of a real GPU.")
    parser.add_argument("--build", required=True, type=Path, help="the build's directory")
    parser.add_argument("--sanitizers", default="", help="what it was built with")
    parser.add_argument("tests", nargs="*", help="groups or single tests; none: all")
    args = parser.parse_args()
    BUILD, SANITIZERS = args.build.resolve(), args.sanitizers
    unittest.main(argv=[sys.argv[0], *args.tests], verbosity=2)


if __name__ == "__main__":
    main()
