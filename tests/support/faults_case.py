"""Helpers of the tests of delivery (tests/integration/delivery): a host with the agent, and the checks of its counters and lines.

Every span is delivered or counted with a reason. No span arrives twice unless a response was lost. Retries are counted.
The agent logs one line for each kind of failure, without a secret.

The clocks of the host run HASTE times faster than real time (tests/integration/doubles/faults_doubles.c), so the pauses
between retries are short. Deadlines and timeouts are 10 minutes of that clock unless a test is about one.
Agent.set_haste() changes the speed: a test lets a timeout pass fast, then gives the next request time to succeed.
"""

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import bad_server
from built import BUILD, SANITIZERS

ROOT = Path(__file__).resolve().parents[2]
HASTE = 10
LONGEST_MS = 600000  # the longest timeout and deadline that the settings allow
HOST_STATUS = 7
SECRET = "s3cr3t-of-the-tests-0123456789"
HANG_S = 300  # ends a test that hangs; it does not judge speed
DELIVERED = "spans_delivered"
SUPPRESSED = "leak:libcrypto.so\n"
OTHER_ENVIRONMENT = re.compile("CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|.*_proxy$|SSL_CERT", re.I)


def recording(name):
    return ROOT / f"examples/recordings/{name}.cuspanrec"


def eventually(condition, what):
    deadline = time.monotonic() + HANG_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {HANG_S} s: {what() if callable(what) else what}")
        time.sleep(0.02)


class Agent:
    """A host with the agent (faults_host.c), until end()."""

    def __init__(self, case, endpoint, settings=None, env=None, recording="threads", path="/v1/traces", patient=True,
                 haste=HASTE):
        self.case = case
        self.directory = Path(tempfile.mkdtemp(dir=case.directory))
        self.clock = os.open(self.directory / "clock", os.O_RDWR | os.O_CREAT, 0o600)
        case.addCleanup(os.close, self.clock)
        self.set_haste(haste)
        settings = {"cupti.library": BUILD / "libcuspan-replay.so", "control.directory": self.directory, "accounts_file": self.directory / "report",
                    "exit_deadline_ms": LONGEST_MS, "compression": "none", **(settings or {})}
        environment = {key: value for key, value in os.environ.items() if not OTHER_ENVIRONMENT.match(key)}
        environment |= {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint + path, "FAULTS_CLOCK": self.directory / "clock",
                        "OTEL_BSP_SCHEDULE_DELAY": 50 * HASTE, "OTEL_EXPORTER_OTLP_TIMEOUT": LONGEST_MS,
                        "OTEL_BSP_EXPORT_TIMEOUT": LONGEST_MS,
                        "NVTX_INJECTION64_PATH": BUILD / "libcuspan.so",
                        "OTEL_LOG_LEVEL": "info", "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{SECRET}",
                        "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items()), **(env or {})}
        if SANITIZERS:
            suppressions = self.directory / "suppressions"
            suppressions.write_text(SUPPRESSED)
            environment["LSAN_OPTIONS"] = f"suppressions={suppressions}:print_suppressions=0"
        if SANITIZERS and settings["exit_deadline_ms"] < LONGEST_MS:
            # An exporter that is busy when the deadline has passed is left behind, with what it uses.
            environment["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"
        self.err_path = self.directory / "err"
        with open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                [BUILD / "faults_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                 ROOT / f"examples/recordings/{recording}.cuspanrec", *([] if patient else ["impatient"])],
                env={key: str(value) for key, value in environment.items()}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=err, text=True)
        case.addCleanup(self.kill)

    def set_haste(self, haste):
        os.pwrite(self.clock, struct.pack("=q", haste), 0)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def command(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.case.assertEqual(self.process.stdout.readline(), "done\n", self.said())

    def play(self, times=1):
        self.command(f"play {times}")

    def said(self):
        return self.err_path.read_text(errors="replace")

    def lines(self):
        """The lines of the agent, except the summary at exit."""
        return [line for line in self.said().splitlines() if " lost: lost_" not in line]

    def wait_for_line(self, pattern):
        eventually(lambda: re.search(pattern, self.said()), lambda: f"{pattern} in: {self.said()}")

    def end(self):
        self.process.stdin.close()
        self.case.assertEqual(self.process.wait(HANG_S), HOST_STATUS, self.said())
        self.process.stdin = open(os.devnull, "w")
        self.report = json.loads(next(self.directory.glob("report.*")).read_text())
        self.counters, self.losses = self.report["counters"], self.report["losses"]
        said = self.said()
        self.case.assertNotRegex(said, "Sanitizer|runtime error:")
        self.case.assertNotIn(SECRET[:12], said)
        self.case.assertTrue(all(line.startswith("cuspan: ") for line in said.splitlines()), said)
        # Each span is delivered or lost.
        output, = self.report["outputs"]
        self.case.assertEqual(output["delivered"] + output["lost"], self.report["spans"], self.report)
        return self


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="faults-test-"))
        self.addCleanup(shutil.rmtree, self.directory, True)

    def needs_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            self.skipTest(f"no IPv6 here, as in a container of Docker: {error}")

    def server(self, *script, **how):
        server = bad_server.Server(*script, **how)
        self.addCleanup(server.close)
        return server

    def agent(self, server, settings=None, env=None, scheme=None, host="127.0.0.1", **more):
        scheme = scheme or ("https" if server.tls else "http")
        if server.grpc:
            env = {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", **(env or {})}
            more["path"] = ""
        return Agent(self, f"{scheme}://{host}:{server.port}", settings, env, **more)

    def assert_delivered(self, agent, *servers, twice=False):
        """All spans arrived, and none arrived twice unless `twice`."""
        self.assertEqual(agent.losses, {}, agent.said())
        self.assert_same(agent, *servers, twice=twice)

    def assert_same(self, agent, *servers, twice=False):
        """The spans that the agent counts as delivered are those that the servers accepted."""
        taken = sum((server.taken for server in servers), type(servers[0].taken)())
        self.assertEqual(agent.counters[DELIVERED], len(taken), agent.said())
        if not twice:
            self.assertEqual([span for span, count in taken.items() if count > 1], [])

    def assert_resent_as_seen(self, agent, server):
        """The agent counts as many retries as the server saw."""
        sent = [tuple(request.spans) for request in server.requests]
        self.assertEqual(agent.counters["batches_resent"], len(sent) - len(set(sent)))

    def assert_said(self, agent, *patterns):
        """One line for each pattern, in this order, and no other."""
        lines = agent.lines()
        self.assertEqual(len(lines), len(patterns), "\n".join(lines))
        for line, pattern in zip(lines, patterns):
            self.assertRegex(line, pattern)

    def delivers(self, server, **more):
        """Plays once against a server without a fault: all spans arrive, and nothing is logged."""
        agent = self.agent(server, **more)
        agent.play()
        eventually(lambda: server.requests, agent.said)
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent)

    def recovers(self, server, *patterns, twice=False, resent=1, plays=1, **more):
        """Plays once against faults that end: all spans arrive while the program runs."""
        agent = self.agent(server, **more)
        agent.play(plays)
        agent.wait_for_line("works again")
        agent.end()
        # If a short timeout is the fault, a busy machine may be late a second time.
        twice = twice or resent is None and agent.counters["batches_resent"] > 1
        self.assert_delivered(agent, server, twice=twice)
        self.assert_said(agent, *patterns, "works again")
        if resent is not None:
            self.assertEqual(agent.counters["batches_resent"], resent)
        return agent

    def loses(self, server, reason, *patterns, **more):
        """Plays against a server that never accepts anything: all spans are lost for one reason."""
        agent = self.agent(server, **more)
        agent.play()
        agent.wait_for_line(patterns[-1])
        agent.end()
        self.assertEqual(agent.losses, {reason: agent.report["spans"]}, agent.said())
        self.assertEqual(len(server.taken), 0)
        self.assert_said(agent, *patterns)
        return agent

    def assert_all_late(self, agent):
        """Nothing was delivered before the deadline at exit. On a busy machine, some records were not spans yet."""
        losses = {**agent.losses}
        losses.pop("lost_unmade", None)
        self.assertEqual(losses, {"lost_deadline": agent.report["spans"]}, agent.said())

    def keeps_trying(self, server, pattern, **more):
        """Plays against an unreachable server: the agent logs that at once, and all spans are lost at exit."""
        agent = self.agent(server, {"exit_deadline_ms": 300 * HASTE}, **more)
        agent.play()
        agent.wait_for_line("cuspan keeps .* and retries")
        agent.end()
        self.assert_all_late(agent)
        self.assertEqual(len(server.taken), 0)
        self.assert_said(agent, pattern)
        return agent


def main():
    """Of a file of tests."""
    unittest.main(verbosity=2)
