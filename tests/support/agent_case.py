"""Shared by the tests of the whole agent: programs with an agent, their spans, and checks of these.

The recordings are read by recording.py, which shares no code with cuspan, and the spans are compared with them.
"""

import dataclasses
import gc
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

import accounts
import backend
import compare
import recording
import registry
from built import BUILD, SANITIZERS

REGISTRY, CHECKED_SHAPES = registry.Registry(), set()
RECORDINGS = ["vector_add", "threads", "graph", "graph_nodes", "torch_inference"]
CLASSIC_RELEASES = ["12.0", "12.9", "13.0", "13.5"]
MEMORY_BYTES = 64 << 20  # maximum memory of the agent under any load
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HOST_STATUS, HOST_OUTPUT = 7, "host: done\n"

SANITIZER_OPTIONS = {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}
# In a forked child of a program with threads, the leak checker reports everything that those threads hold, and the race
# checker waits a second for them.
FORKS = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "atexit_sleep_ms=0"}
# Allocations of OpenSSL, in a sender that is still busy when the deadline at exit has passed.
SUPPRESSED = "leak:libcrypto.so\n"
# Anything that must end within a short deadline would otherwise wait for FOREVER_MS, the longest that the settings
# allow. A program that waits so long is killed after HANG_S, and its test fails. Nothing else limits how long a program
# takes.
FOREVER_MS = 600000
HANG_S = 300
# The timeouts of a delivery, long enough not to interfere with a deadline at exit.
PATIENT = {"OTEL_EXPORTER_OTLP_TIMEOUT": str(FOREVER_MS), "OTEL_BSP_EXPORT_TIMEOUT": str(FOREVER_MS)}
# On a busy machine the default deadline at exit can pass before the agent has written everything. Programs that write to
# a file have this much time in all tests, the others where a test counts what arrives.
NO_HURRY = {"exit_deadline_ms": 60000}
NOTICED = re.compile("cannot deliver to .* cuspan keeps .* and retries$")
# Tests read hundreds of thousands of spans, which are in no reference cycles. Collections would take most of the time.
gc.disable()
_read = {}


def recorded(name):
    if name not in _read:
        _read[name] = recording.read(path_of(name))
    return _read[name]


def path_of(name):
    return str(name) if isinstance(name, Path) else str(ROOT / "examples/recordings" / f"{name}.cuspanrec")


def documents_in(text, is_whole=True):
    """In every test, the agent's spans must be those of the registry, unless limits have cut their texts. Of spans with the same names of
    attributes, the first in this process is looked at: tests read hundreds of thousands."""
    documents = [json.loads(line) for line in text.splitlines()]
    wrong = REGISTRY.problems(documents, CHECKED_SHAPES) if is_whole else []
    if wrong:
        raise AssertionError("not as in src/model/attributes.yaml: " + "; ".join(wrong[:10]))
    return documents


def spans_in(text):
    return [span for document in documents_in(text) for span in backend.spans_of(document)]


def raw_spans_in(text, is_whole=True):
    """Members that exist only in OTLP: flags, trace state, events, dropped counts."""
    return [span for document in documents_in(text, is_whole) for group in document["resourceSpans"] for scope in group["scopeSpans"]
            for span in scope["spans"]]


def peak_of_child(process):
    """VmHWM of the process that the program starts, read last before it ends. (The value of wait4 includes the memory
    of this Python, from which the process was forked.)"""
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
    _report = _spans = _spans_of = None

    @property
    def report(self):
        return self._report

    @report.setter
    def report(self, report):
        """In every test, the agent's counters must add up."""
        differences = accounts.differences(report, report.get("state", "ended") == "ended") if report else []
        if differences:
            raise AssertionError("the counters don't add up: " + "; ".join(differences))
        self._report = report

    @property
    def spans(self):
        if self._spans_of is not self.text:
            self._spans, self._spans_of = spans_in(self.text), self.text
        return self._spans

    def agent_lines(self):
        """The lines of the agent itself, without those of the command line ("cuspan replay:", or how the program
        ended)."""
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
        env["XDG_RUNTIME_DIR"] = str(self.directory)  # another program's `cuspan stop` must not reach these agents
        if SANITIZERS:
            suppressions = self.directory / "suppressions"
            suppressions.write_text(SUPPRESSED)
            env["LSAN_OPTIONS"] = f"suppressions={suppressions}:print_suppressions=0"
        for name in extra.keys() & env.keys() & SANITIZER_OPTIONS:  # tests/run.sh sets some, too
            extra = {**extra, name: f"{env[name]}:{extra[name]}"}
        return {**env, **extra}

    def start(self, command, extra, timeout=HANG_S, watch=False):
        """Runs a program; with `watch`, measures the memory of its child."""
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
        command = [BUILD / "cuspan", "replay", *options, "--set", f"accounts_file={report}"]
        if to_file:
            command += ["--file", target]
            settings = {**NO_HURRY, **(settings or {})}
        for key, value in (settings or {}).items():
            command += ["--set", f"{key}={value}"]
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
        """Each record of GPU work is exactly one span, with the record's values, below the call that caused it."""
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
    """The same span as the root of its process's part of the trace."""
    return dataclasses.replace(span, parent_id="")


def content_of(spans):
    """The spans' content without random IDs and without the process's names."""
    ids = {span.span_id: span for span in spans}

    def place(span):
        return (span.name, span.start_ns, span.end_ns) if span else None

    own = {"service.instance.id", "process.pid", "cuda.cupti.version"}
    return Counter(json.dumps([place(s), place(ids.get(s.parent_id)), s.status, s.attributes,
                               {k: v for k, v in s.resource.items() if k not in own}], sort_keys=True) for s in spans)


def main():
    """Command line of a test file: FILE --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]"""
    unittest.main(verbosity=2)
