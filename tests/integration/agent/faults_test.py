#!/usr/bin/env python3
"""The agent against a collector at fault: a server that misbehaves on purpose (bad_server.py), and a real Collector that is
stopped, killed and started again. In each test every span is delivered or counted by its reason; none is there twice unless
an answer was lost on the way; what was sent again is counted; and there is one line for each kind of trouble, without a
secret.

    faults_test.py --build DIRECTORY [--sanitizers LIST] [--long [--outage-s SECONDS]] [GROUP[.test]...]
"""

import argparse
import contextlib
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/support")]

import backend  # noqa: E402
import bad_server as bad  # noqa: E402
from bad_server import answer, broken, grpc, Link, take  # noqa: E402

BUILD = Path()
SANITIZERS = ""
LONG = False
OUTAGE_S = 3600
HOST_STATUS = 7
SECRET = "s3cr3t-of-the-tests-0123456789"
PATIENCE_S = 300  # until something happens that must: it ends what hangs, and does not judge speed
DELIVERED = "spans_delivered"
SUPPRESSED = "leak:libcrypto.so\n"


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"in {PATIENCE_S} s there was never: {what() if callable(what) else what}")
        time.sleep(0.02)


class Agent:
    """A host with the agent (faults_host.c), until end()."""

    def __init__(self, case, endpoint, settings=None, env=None, recording="threads", path="/v1/traces", patient=True):
        self.case = case
        self.directory = Path(tempfile.mkdtemp(dir=case.directory))
        settings = {"cupti.library": BUILD / "libcuspan-replay.so", "report_file": self.directory / "report",
                    "exit_deadline_ms": 60000, "compression": "none", **(settings or {})}
        environment = {key: value for key, value in os.environ.items()
                       if not re.match("CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|.*_proxy$|SSL_CERT", key,
                                       re.I)}
        environment |= {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint + path, "OTEL_BSP_SCHEDULE_DELAY": "50",
                        "NVTX_INJECTION64_PATH": BUILD / "libcuspan.so",
                        "OTEL_LOG_LEVEL": "info", "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{SECRET}",
                        "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items()), **(env or {})}
        if SANITIZERS:
            suppressions = self.directory / "suppressions"
            suppressions.write_text(SUPPRESSED)
            environment["LSAN_OPTIONS"] = f"suppressions={suppressions}:print_suppressions=0"
        self.err_path = self.directory / "err"
        with open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                [BUILD / "faults_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                 ROOT / f"examples/recordings/{recording}.cuspanrec", *([] if patient else ["impatient"])],
                env={key: str(value) for key, value in environment.items()}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=err, text=True)
        case.addCleanup(self.kill)

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
        """What it said while it ran; not the summary of losses at the end."""
        return [line for line in self.said().splitlines() if " lost: lost_" not in line]

    def wait_for_line(self, pattern):
        eventually(lambda: re.search(pattern, self.said()), lambda: f"{pattern} in: {self.said()}")

    def end(self, patience_s=PATIENCE_S):
        self.process.stdin.close()
        self.case.assertEqual(self.process.wait(patience_s), HOST_STATUS, self.said())
        self.process.stdin = open(os.devnull, "w")
        self.report = json.loads(next(self.directory.glob("report.*")).read_text())
        self.counters, self.losses = self.report["counters"], self.report["losses"]
        said = self.said()
        self.case.assertNotRegex(said, "Sanitizer|runtime error:")
        self.case.assertNotIn(SECRET[:12], said)
        self.case.assertTrue(all(line.startswith("cuspan: ") for line in said.splitlines()), said)
        # The sum: each span has met one fate.
        output, = self.report["outputs"]
        self.case.assertEqual(output["delivered"] + output["lost"], self.report["spans"], self.report)
        return self


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="faults-test-"))
        self.addCleanup(shutil.rmtree, self.directory, True)

    def server(self, *script, **how):
        server = bad.Server(*script, **how)
        self.addCleanup(server.close)
        return server

    def agent(self, server, settings=None, env=None, scheme=None, host="127.0.0.1", **more):
        scheme = scheme or ("https" if server.tls else "http")
        if server.grpc:
            env = {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", **(env or {})}
            more["path"] = ""
        return Agent(self, f"{scheme}://{host}:{server.port}", settings, env, **more)

    def assert_delivered(self, agent, *servers, twice=False):
        """All of it, and no more than once unless `twice`."""
        self.assertEqual(agent.losses, {}, agent.said())
        self.assert_same(agent, *servers, twice=twice)

    def assert_same(self, agent, *servers, twice=False):
        """What the agent takes for delivered is what the servers have taken."""
        taken = sum((server.taken for server in servers), type(servers[0].taken)())
        self.assertEqual(agent.counters[DELIVERED], len(taken), agent.said())
        if not twice:
            self.assertEqual([span for span, count in taken.items() if count > 1], [])

    def assert_said(self, agent, *patterns):
        """Each in one line, in this order, and nothing else."""
        lines = agent.lines()
        self.assertEqual(len(lines), len(patterns), "\n".join(lines))
        for line, pattern in zip(lines, patterns):
            self.assertRegex(line, pattern)

    def recovers(self, server, *patterns, twice=False, resent=1, plays=1, **more):
        """Plays once, against a script whose last fault is none: all arrives while the program still runs."""
        agent = self.agent(server, **more)
        agent.play(plays)
        agent.wait_for_line("works again")
        agent.end()
        self.assert_delivered(agent, server, twice=twice)
        self.assert_said(agent, *patterns, "works again")
        if resent is not None:
            self.assertEqual(agent.counters["batches_resent"], resent)
        return agent

    def loses(self, server, reason, *patterns, **more):
        """Plays against a server that never takes anything: all is counted for the one reason."""
        agent = self.agent(server, **more)
        agent.play()
        agent.wait_for_line(patterns[-1])
        agent.end()
        self.assertEqual(agent.losses, {reason: agent.report["spans"]}, agent.said())
        self.assertEqual(len(server.taken), 0)
        self.assert_said(agent, *patterns)
        return agent


    def keeps_trying(self, server, pattern, **more):
        """Plays against a server that is not to be reached, which is said at once; at exit all is counted."""
        agent = self.agent(server, {"exit_deadline_ms": 300}, **more)
        agent.play()
        agent.wait_for_line("cuspan keeps .* and retries")
        agent.end()
        self.assertEqual(agent.losses, {"lost_deadline": agent.report["spans"]}, agent.said())
        self.assertEqual(len(server.taken), 0)
        self.assert_said(agent, pattern)
        return agent


class Connections(Case):
    """What happens to a connection."""

    def test_refused_then_there(self):
        port = backend.free_ports(1)[0]
        agent = Agent(self, f"http://127.0.0.1:{port}")
        agent.play()
        agent.wait_for_line("cannot deliver to")
        server = self.server(take, port=port)
        agent.wait_for_line("works again")
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent, "cannot deliver to .*: connection refused; .*cuspan keeps .* and retries", "works again")
        self.assertGreaterEqual(agent.counters["batches_resent"], 1)

    def test_reset_before_the_request(self):
        self.recovers(self.server(broken(Link.reset, "before"), take), "cannot deliver to .* closed before a response")

    def test_reset_within_the_request(self):
        server = self.server(broken(Link.reset, "request"), take)
        self.recovers(server, "cannot deliver to .* closed before a response", recording="service")
        self.assertEqual(len(server.broken_off), 1)

    def test_reset_before_the_answer(self):
        """The server has taken the spans, and nobody can know: the one case in which they are there twice."""
        server = self.server(broken(Link.reset, "answer", taken=True), take)
        self.recovers(server, "cannot deliver to .* closed before a response", twice=True)
        self.assertGreater(len(server.twice()), 0)

    def test_reset_within_the_answer(self):
        """The status has come, so they are delivered."""
        server = self.server(broken(Link.reset, "within", taken=True), take)
        agent = self.agent(server)
        agent.play()
        agent.wait_for_line("accepted the spans")
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent, "accepted the spans, but its response is incomplete")
        self.assertEqual(agent.counters["batches_resent"], 0)

    def test_hang_before_the_answer(self):
        server = self.server(broken(Link.hang, "answer"), take)
        self.recovers(server, "cannot deliver to .*no response in time.*timeout", env={"OTEL_EXPORTER_OTLP_TIMEOUT": 400}, resent=None)

    def test_hang_within_the_answer(self):
        server = self.server(broken(Link.hang, "within", taken=True), take)
        agent = self.agent(server, env={"OTEL_EXPORTER_OTLP_TIMEOUT": 600})
        agent.play()
        agent.wait_for_line("accepted the spans")
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent, "accepted the spans, but its response is incomplete")

    def test_a_hang_ends_with_the_program(self):
        """Whatever the timeouts are."""
        for when in ("answer", "within", "request"):
            with self.subTest(when):
                server = self.server(broken(Link.hang, when, taken=when == "within"))
                agent = self.agent(server, {"exit_deadline_ms": 500}, {"OTEL_EXPORTER_OTLP_TIMEOUT": 600000,
                                                                        "OTEL_BSP_EXPORT_TIMEOUT": 600000})
                agent.play()
                eventually(lambda: server.requests or server.broken_off, "a request")
                agent.end()
                if when != "within":
                    self.assertEqual(agent.losses, {"lost_deadline": agent.report["spans"]})

    def test_slow_reading(self):
        """A server that takes a byte at a time is given up for this request, and for good after the export timeout."""
        server = self.server(bad.read_slowly(1000))
        agent = self.agent(server, recording="service", env={"OTEL_EXPORTER_OTLP_TIMEOUT": 300, "OTEL_BSP_EXPORT_TIMEOUT": 1000})
        agent.play(4)  # more than socket buffers take
        agent.wait_for_line("are lost")
        agent.end()
        self.assertEqual(len(server.taken), 0)
        self.assertGreater(agent.losses["lost_unreachable"], 0)
        self.assert_said(agent, "cannot deliver to .*no response in time.*timeout", "are lost: no request was accepted for 1000 ms")

    def test_the_export_timeout(self):
        """What could not be delivered in its time is lost, and says so."""
        server = self.server(answer(503))
        agent = self.agent(server, {"exit_deadline_ms": 300}, env={"OTEL_BSP_EXPORT_TIMEOUT": 600})
        agent.play()
        agent.wait_for_line("are lost")
        agent.end()
        self.assertGreater(agent.losses["lost_unreachable"], 0)
        self.assertLessEqual(set(agent.losses), {"lost_unreachable", "lost_deadline"})
        self.assert_said(agent, "is not ready: HTTP 503", r"are lost: no request was accepted for 600 ms \(export_timeout\)")

    def test_a_kept_connection_that_ends_with_the_request(self):
        """libcurl sends again by itself what a kept connection has swallowed. That counts."""
        server = self.server(take, bad.close_after_reading, take)
        agent = self.agent(server)
        agent.play()
        eventually(lambda: server.requests, "the first request")
        agent.play()
        agent.end()
        self.assert_delivered(agent, server)
        sent = [tuple(request.spans) for request in server.requests]
        self.assertEqual(agent.counters["batches_resent"], len(sent) - len(set(sent)))
        self.assertGreaterEqual(agent.counters["batches_resent"], 1)

    def test_a_hundred_short_outages_are_a_few_lines(self):
        script = [broken(Link.reset, "before"), take] * 12
        server = self.server(*script, take)
        agent = self.agent(server)
        for number in range(12):
            agent.play()
            eventually(lambda: len(server.requests) > number, "a request")
        agent.end()
        self.assert_delivered(agent, server)
        self.assertLessEqual(len(agent.lines()), 2, agent.said())


class Answers(Case):
    """What a server says."""

    def test_statuses_that_are_tried_again(self):
        server = self.server(*(answer(status) for status in (429, 502, 503, 504)), take)
        self.recovers(server, "is not ready: HTTP 429; .*cuspan keeps .* and retries", resent=4)
        gaps = [after.time - before.time for before, after in zip(server.requests, server.requests[1:])]
        # 0.5, 1, 2, 4 s, less up to half.
        for gap, least in zip(gaps, (0.25, 0.5, 1, 2)):
            self.assertGreaterEqual(gap, least)

    def test_retry_after_in_both_forms(self):
        for status, fault in ((429, answer(429, "Retry-After: 2")), (503, bad.retry_at(503, 3))):
            with self.subTest(status):
                server = self.server(fault, take)
                self.recovers(server, f"is not ready: HTTP {status}")
                # A date has whole seconds.
                self.assertGreaterEqual(server.requests[1].time - server.requests[0].time, 1.9)

    def test_retry_after_that_is_nonsense(self):
        server = self.server(answer(503, "Retry-After: soon, \x80"), answer(503, "Retry-After: 99999999999999999999999x"), take)
        self.recovers(server, "is not ready: HTTP 503", resent=2)

    def test_statuses_that_are_final(self):
        for status, hint in ((500, "HTTP 500"), (501, "HTTP 501"), (401, "headers"), (403, "headers"), (404, "path"),
                             (413, "max_export_batch_size"), (415, "encoding"), (407, "proxy")):
            with self.subTest(status):
                server = self.server(answer(status))
                agent = self.loses(server, "lost_refused", f"refuses spans, which are lost: HTTP {status}.*{hint}|HTTP {status}$")
                self.assertRegex(agent.lines()[0], hint)
                self.assertEqual(len({tuple(request.spans) for request in server.requests}), len(server.requests))
                self.assertEqual(agent.counters["batches_resent"], 0)

    def test_413_before_the_body_was_read(self):
        server = self.server(bad.refuse_early(413))
        agent = self.agent(server, recording="service")
        agent.play(3)
        agent.wait_for_line("HTTP 413")
        agent.end()
        self.assertEqual(agent.losses, {"lost_refused": agent.report["spans"]}, agent.said())
        self.assert_said(agent, "HTTP 413.*max_export_batch_size")

    def test_400_with_a_status_body(self):
        body = bad.rpc_status(3, "span 7 has\nno name")
        self.loses(self.server(answer(400, body=body)), "lost_refused", "HTTP 400: span 7 has no name$")
        body = json.dumps({"code": 3, "message": "span 8 has no name"}).encode()
        self.loses(self.server(answer(400, body=body, content_type=bad.JSON)), "lost_refused", "HTTP 400: span 8 has no name$")

    def test_a_message_with_the_secret(self):
        body = bad.rpc_status(16, f"who is Bearer {SECRET}?")
        self.loses(self.server(answer(401, body=body)), "lost_refused", "contains a secret")

    def test_partial_success(self):
        server = self.server(answer(200, body=bad.partial_success(5, "five are too old"), rejected=5), take)
        agent = self.agent(server)
        agent.play()
        agent.wait_for_line("rejected")
        agent.end()
        self.assertEqual(agent.losses, {"lost_rejected": 5})
        self.assert_same(agent, server)
        self.assert_said(agent, "rejected 5 of [0-9]+ spans: five are too old")
        self.assertEqual(agent.counters["batches_resent"], 0)

    def test_a_large_answer(self):
        """5 MB are over the specification's 4 MiB: an error, and none that is tried again, whatever the status."""
        for status in (200, 400, 503):
            with self.subTest(status):
                server = self.server(answer(status, body=b"\0" * 5000000))
                agent = self.agent(server)
                agent.play()
                agent.wait_for_line("larger than 4 MiB")
                agent.end()
                self.assertEqual(agent.losses, {"lost_refused": agent.report["spans"]}, agent.said())
                self.assert_said(agent, "refuses spans, .*the response is larger than 4 MiB")
                self.assertEqual(server.twice(), [])

    def test_a_large_answer_takes_no_memory(self):
        """4 MB of JSON that would be a list of two million things."""
        json_bomb = b'{"x":[' + b"0," * 2000000 + b"0]}"
        peaks = []
        for body in (b"{}", json_bomb):
            server = self.server(answer(200, body=body, content_type=bad.JSON))
            agent = self.agent(server)
            for number in range(3):
                agent.play()
                eventually(lambda: len(server.requests) > number, "a request")
            time.sleep(0.2)
            peaks.append(int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{agent.process.pid}/status").read_text())[1]))
            agent.end()
            self.assert_delivered(agent, server)
        print(f"peak of memory, KiB: {peaks}")
        if not SANITIZERS:
            self.assertLess(peaks[1] - peaks[0], 8000)  # without a bound it is 140000

    def test_answers_that_do_not_end(self):
        for name, fault in (("headers", bad.endless_headers), ("interim answers", bad.endless_interim)):
            with self.subTest(name):
                server = self.server(fault, take)
                agent = self.agent(server)
                agent.play()
                agent.wait_for_line("headers are larger than")
                agent.end()
                self.assertEqual(agent.counters[DELIVERED] + sum(agent.losses.values()), agent.report["spans"])

    def test_an_answer_that_cannot_be_read(self):
        """200 is delivered, but one should know: many a proxy's or portal's page comes with 200."""
        for name, fault in (("broken gzip", answer(200, "Content-Encoding: gzip", body=b"\x1f\x8b\x08nonsense")),
                            ("broken protobuf", answer(200, body=b"\xff\xff\xff")),
                            ("a page", answer(200, body=b"<html>log in</html>", content_type=bad.HTML)),
                            ("broken JSON", answer(200, body=b"{", content_type=bad.JSON))):
            with self.subTest(name):
                server = self.server(fault)
                agent = self.agent(server)
                agent.play()
                agent.wait_for_line("accepted the spans")
                agent.end()
                self.assert_delivered(agent, server)
                self.assert_said(agent, "accepted the spans.* is not an OTLP response.*check the endpoint")

    def test_an_empty_answer_needs_no_type(self):
        server = self.server(answer(200, content_type=None), answer(204, content_type=bad.HTML))
        agent = self.agent(server)
        agent.play()
        eventually(lambda: server.requests, "a request")
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent)

    def test_redirects_are_not_followed(self):
        """Where they lead nobody may get the headers."""
        other = self.server(take)
        for status in (301, 302, 303, 307, 308):
            with self.subTest(status):
                server = self.server(answer(status, f"Location: http://127.0.0.1:{other.port}/v1/traces"))
                self.loses(server, "lost_refused", f"HTTP {status}.*does not follow redirects; set the endpoint")
        self.assertEqual(other.requests, [])

    def test_what_speaks_no_http(self):
        for text in (b"SSH-2.0-OpenSSH_9.2\r\n", b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0@\0"):
            with self.subTest(text):
                self.loses(self.server(bad.say(text)), "lost_refused", "not speak HTTP.*4318.*protocol")

    def test_all_of_it_by_turns(self):
        """Whatever comes, in one run; with each span's fate known in the end."""
        script = [answer(503), broken(Link.reset, "before"), take, answer(400), take, answer(429), take,
                  broken(Link.reset, "request"), take, answer(200, body=bad.partial_success(3), rejected=3),
                  bad.close_after_reading, take]
        server = self.server(*script)
        agent = self.agent(server)
        for _ in range(8):
            agent.play()
            time.sleep(0.1)
        eventually(lambda: len(server.script) == 1, "the end of the script")
        agent.end()
        self.assertEqual(set(agent.losses), {"lost_refused", "lost_rejected"}, agent.said())
        self.assertEqual(agent.losses["lost_rejected"], 3)
        self.assert_same(agent, server)
        # Of each kind of trouble one at most, and that it is over.
        self.assertLessEqual(len([line for line in agent.lines() if "warning" in line]), 4, agent.said())


class Grpc(Case):
    """The same where gRPC differs."""

    def test_it_works(self):
        """Also the second time, and the third."""
        server = self.server(take, grpc=True)
        agent = self.agent(server)
        for number in range(3):
            agent.play()
            eventually(lambda: len(server.requests) > number, agent.said)
            time.sleep(0.1)
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent)

    def test_codes_that_are_tried_again(self):
        codes = (14, 1, 4, 10, 11, 15)
        server = self.server(*(grpc(code, "not%20now") for code in codes[:3]), take, grpc=True)
        self.recovers(server, "is not ready: gRPC UNAVAILABLE: not now; .*cuspan keeps .* and retries", resent=3)
        server = self.server(*(grpc(code) for code in codes[3:]), take, grpc=True)
        self.recovers(server, "is not ready: gRPC ABORTED", resent=3)

    def test_codes_that_are_final(self):
        for code, text in ((3, "INVALID_ARGUMENT"), (13, "INTERNAL"), (16, "UNAUTHENTICATED.*headers"), (12, "4317"),
                           (8, "RESOURCE_EXHAUSTED.*max_export_batch_size")):
            with self.subTest(code):
                self.loses(self.server(grpc(code), grpc=True), "lost_refused", f"refuses spans, which are lost: .*{text}")

    def test_resource_exhausted_with_the_time_of_return(self):
        details = bad.rpc_status(8, "full", bad.retry_info(1, 500000000))
        server = self.server(grpc(8, "full", details), take, grpc=True)
        self.recovers(server, "is not ready: gRPC RESOURCE_EXHAUSTED: full")
        self.assertGreaterEqual(server.requests[1].time - server.requests[0].time, 1.4)

    def test_unavailable_with_the_time_of_return(self):
        details = bad.rpc_status(14, "later", bad.retry_info(2))
        server = self.server(grpc(14, "later", details), take, grpc=True)
        self.recovers(server, "is not ready: gRPC UNAVAILABLE: later")
        self.assertGreaterEqual(server.requests[1].time - server.requests[0].time, 1.9)

    def test_partial_success(self):
        message = bad.partial_success(4, "four of them")
        body = b"\0" + len(message).to_bytes(4, "big") + message

        def reject(link):
            request = link.request()
            link.server.take(request, 4)
            bad.grpc_answer(link, body=body)
            return True

        server = self.server(reject, take, grpc=True)
        agent = self.agent(server)
        agent.play()
        agent.wait_for_line("rejected")
        agent.end()
        self.assertEqual(agent.losses, {"lost_rejected": 4})
        self.assert_same(agent, server)

    def test_trailers_are_missing(self):
        """Without a status nobody knows what became of the spans: an answer that was lost on the way."""
        server = self.server(grpc(0, trailers=False, taken=True), take, grpc=True)
        self.recovers(server, "is not ready: gRPC's response ended before its status; .* retries", twice=True)
        self.keeps_trying(self.server(grpc(0, trailers=False), grpc=True), "response ended before its status")

    def test_go_away(self):
        """A server that restarts lets what it has begun come to its end, and refuses what came too late. libcurl 7.88 doesn't
        wait for that end, so that the spans may come again, and that is counted."""
        server = self.server(bad.go_away(processed=True), take, grpc=True)
        agent = self.agent(server)
        agent.play()
        eventually(lambda: server.requests, "a request")
        time.sleep(1)
        agent.end()
        self.assert_delivered(agent, server, twice=True)
        sent = [tuple(request.spans) for request in server.requests]
        self.assertEqual(agent.counters["batches_resent"], len(sent) - len(set(sent)))
        server = self.server(bad.go_away(processed=False), take, grpc=True)
        agent = self.agent(server)
        agent.play()
        eventually(lambda: server.taken, "that it is sent again")
        agent.end()
        self.assert_delivered(agent, server)
        sent = [tuple(request.spans) for request in server.requests]
        self.assertEqual(agent.counters["batches_resent"], len(sent) - len(set(sent)))

    def test_a_stream_that_is_reset(self):
        for code in (bad.REFUSED_STREAM, 2, 8):  # and INTERNAL_ERROR, CANCEL
            with self.subTest(code):
                server = self.server(bad.reset_stream(code), take, grpc=True)
                agent = self.agent(server)
                agent.play()
                eventually(lambda: server.taken, "that it is sent again")
                agent.end()
                self.assert_delivered(agent, server)
                sent = [tuple(request.spans) for request in server.requests]
                self.assertEqual(agent.counters["batches_resent"], len(sent) - len(set(sent)))

    def test_reset_and_hang(self):
        self.recovers(self.server(broken(Link.reset, "answer", taken=True), take, grpc=True), "cannot deliver to", twice=True,
                      resent=None)
        self.recovers(self.server(broken(Link.hang, "answer"), take, grpc=True), "cannot deliver to .*no response in time",
                      env={"OTEL_EXPORTER_OTLP_TIMEOUT": 400}, resent=None)

    def test_an_http_server(self):
        """Something in between that speaks HTTP/1.1 alone."""
        server = self.server(bad.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
        self.keeps_trying(server, "cannot deliver to .*HTTP/2", env={"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, path="")

    def test_a_proxys_page(self):
        self.loses(self.server(answer(403, content_type=bad.HTML), grpc=True), "lost_refused", "HTTP 403.*headers")
        self.recovers(self.server(answer(502, content_type=bad.HTML), take, grpc=True), "is not ready: HTTP 502")


class Tls(Case):
    @classmethod
    def setUpClass(cls):
        cls.keys = Path(tempfile.mkdtemp(prefix="faults-keys-"))
        cls.addClassCleanup(shutil.rmtree, cls.keys, True)
        bad.make_certificates(cls.keys)

    def trusting(self, name="ca", **more):
        return {"OTEL_EXPORTER_OTLP_CERTIFICATE": self.keys / f"{name}.pem", **more}

    def key(self, name, key="key.pem"):
        return {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": self.keys / f"{name}.pem",
                "OTEL_EXPORTER_OTLP_CLIENT_KEY": self.keys / key}

    def delivers(self, server, env, **more):
        agent = self.agent(server, env=env, **more)
        agent.play()
        eventually(lambda: server.requests, agent.said)
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent)

    def is_distrusted(self, server, pattern, env, **more):
        self.keeps_trying(server, pattern, env=env, **more)
        self.assertEqual(server.requests, [])

    def test_http_2_then_1_1(self):
        """The server has the choice, and may change its mind."""
        for protocols in (("h2", "http/1.1"), ("http/1.1",), ()):
            with self.subTest(protocols):
                self.delivers(self.server(tls=bad.server_tls(self.keys, protocols=protocols)), self.trusting())
        context = bad.server_tls(self.keys, protocols=("h2", "http/1.1"))
        server = self.server(take, bad.reset_stream(bad.HTTP_1_1_REQUIRED), take, tls=context)
        agent = self.agent(server, env=self.trusting())
        agent.play()
        eventually(lambda: server.requests, agent.said)
        context.set_alpn_protocols(["http/1.1"])
        agent.play()
        eventually(lambda: len(server.taken) > len(server.requests[0].spans), agent.said)
        agent.end()
        self.assert_delivered(agent, server)

    def test_a_wrong_name(self):
        self.is_distrusted(self.server(tls=bad.server_tls(self.keys, "wrong")),
                           "cannot deliver to .*the certificate is for another name.*endpoint", self.trusting())

    def test_expired(self):
        self.is_distrusted(self.server(tls=bad.server_tls(self.keys, "expired")), "cannot deliver to .*has expired.*renew|clock",
                           self.trusting())

    def test_an_unknown_authority(self):
        self.is_distrusted(self.server(tls=bad.server_tls(self.keys)), "cannot deliver to .*certificate.*ca_file",
                           self.trusting("another"))
        self.is_distrusted(self.server(tls=bad.server_tls(self.keys)), "cannot deliver to .*certificate.*ca_file", {})

    def test_a_certificate_that_is_renewed(self):
        """It comes to work without a restart of the program."""
        port = backend.free_ports(1)[0]
        server = self.server(tls=bad.server_tls(self.keys, "expired"), port=port)
        agent = self.agent(server, env=self.trusting())
        agent.play()
        agent.wait_for_line("expired")
        server.close()
        server = self.server(tls=bad.server_tls(self.keys), port=port)
        agent.wait_for_line("works again")
        agent.end()
        self.assert_delivered(agent, server)

    def test_mutual(self):
        def mutual():
            return self.server(tls=bad.server_tls(self.keys, client_ca="ca"))

        self.delivers(mutual(), self.trusting(**self.key("client")))
        self.is_distrusted(mutual(), "cannot deliver to .*cert_file.*key_file", self.trusting())
        self.is_distrusted(mutual(), "cannot deliver to .*cert_file.*key_file", self.trusting(**self.key("foreign")))
        for certificate, key in (("client", "ca.key"), ("client", "nowhere.pem"), ("nowhere", "key.pem")):
            with self.subTest(certificate=certificate, key=key):
                self.is_distrusted(mutual(), "cannot deliver to .*cert_file.*key_file", self.trusting(**self.key(certificate, key)))

    def test_an_authority_file_that_is_missing(self):
        self.is_distrusted(self.server(tls=bad.server_tls(self.keys)), "cannot deliver to .*nowhere.*ca_file",
                           self.trusting("nowhere"))

    def test_no_tls_where_it_is_expected(self):
        server = self.server(bad.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
        self.is_distrusted(server, "cannot deliver to .*http:// instead of https://", self.trusting(), scheme="https")

    def test_tls_where_none_is_expected(self):
        server = self.server(tls=bad.server_tls(self.keys))
        agent = self.agent(server, {"exit_deadline_ms": 300}, scheme="http")
        agent.play()
        agent.wait_for_line("cuspan: warning")
        agent.end()
        self.assertEqual(sum(agent.losses.values()), agent.report["spans"])

    def test_cut_off_within_the_handshake(self):
        """A listener that closes what it accepts."""
        server = self.server(broken(Link.reset, "before"))
        self.is_distrusted(server, "cannot deliver to", self.trusting(), scheme="https")

    def test_over_ipv6(self):
        self.delivers(self.server(tls=bad.server_tls(self.keys), host="::1"), self.trusting(), host="[::1]")


class Proxies(Case):
    def proxy(self, *arguments):
        proxy = bad.Proxy(*arguments)
        self.addCleanup(proxy.close)
        return proxy

    def through(self, server, **env):
        agent = self.agent(server, env=env)
        agent.play()
        eventually(lambda: server.requests, agent.said)
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent)

    def test_http(self):
        proxy, server = self.proxy(), self.server()
        self.through(server, http_proxy=f"http://127.0.0.1:{proxy.port}")
        self.assertRegex(proxy.asked[0], f"POST http://127.0.0.1:{server.port}/v1/traces HTTP/1.1")

    def test_https_by_connect(self):
        """The proxy sees neither headers nor spans."""
        keys = self.directory
        bad.make_certificates(keys)
        proxy, server = self.proxy(), self.server(tls=bad.server_tls(keys))
        self.through(server, https_proxy=f"http://user:{SECRET}@127.0.0.1:{proxy.port}",
                     OTEL_EXPORTER_OTLP_CERTIFICATE=keys / "ca.pem")
        self.assertEqual(proxy.asked, [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"])
        self.assertNotIn("Authorization: Bearer", proxy.heads[0])
        self.assertIn("Proxy-Authorization: Basic", proxy.heads[0])

    def test_grpc_by_connect(self):
        """HTTP/2 without TLS passes no proxy in another way."""
        proxy, server = self.proxy(), self.server(take, grpc=True)
        self.through(server, http_proxy=f"http://127.0.0.1:{proxy.port}")
        self.assertEqual(set(proxy.asked), {f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"})

    def test_no_proxy(self):
        proxy, server = self.proxy(), self.server()
        self.through(server, http_proxy=f"http://127.0.0.1:{proxy.port}", no_proxy="localhost,127.0.0.1")
        self.assertEqual(proxy.asked, [])

    def test_a_proxy_that_refuses(self):
        for status, kind, pattern in ((407, "lost_refused", "HTTP 407.*http_proxy"), (403, "lost_refused", "HTTP 403")):
            with self.subTest(status):
                proxy, server = self.proxy(status), self.server()
                self.loses(server, kind, pattern, env={"http_proxy": f"http://user:{SECRET}@127.0.0.1:{proxy.port}"})

    def test_a_proxy_that_refuses_to_connect(self):
        keys = self.directory
        bad.make_certificates(keys)
        for status in (403, 407, 502):
            with self.subTest(status):
                proxy, server = self.proxy(status), self.server(tls=bad.server_tls(keys))
                self.keeps_trying(server, f"cannot deliver to .*the proxy.*{status}.*https_proxy.*no_proxy",
                                  env={"https_proxy": f"http://user:{SECRET}@127.0.0.1:{proxy.port}"})

    def test_a_proxy_that_is_not_there(self):
        server = self.server()
        port = backend.free_ports(1)[0]
        self.keeps_trying(server, "cannot deliver to .*connection refused.*proxy",
                          env={"http_proxy": f"http://user:{SECRET}@127.0.0.1:{port}"})


class Names(Case):
    """A name service that fails, and addresses of which not all are alive."""

    def hosts(self, text):
        (self.directory / "hosts").write_text(text)
        return {"FAULTS_HOSTS": self.directory / "hosts"}

    def test_a_name_that_comes(self):
        server = self.server()
        agent = self.agent(server, host="collector.test", env=self.hosts(""))
        agent.play()
        agent.wait_for_line("cannot deliver to")
        self.hosts("collector.test 127.0.0.1\n")
        agent.wait_for_line("works again")
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent, "cannot deliver to .*: Could not resolve host: collector.test.*cuspan keeps .* and retries", "works again")

    def test_a_name_that_moves(self):
        """The collector is started again elsewhere, as in a cluster: the old address is given up with the connection."""
        first = self.server(take, host="127.0.0.1")
        agent = self.agent(first, host="collector.test", env=self.hosts("collector.test 127.0.0.1\n"))
        agent.play()
        eventually(lambda: first.requests, agent.said)
        first.close()
        self.hosts("collector.test 127.0.0.2\n")
        second = self.server(take, host="127.0.0.2", port=first.port)
        agent.play()
        eventually(lambda: second.requests, agent.said)
        agent.end()
        self.assert_delivered(agent, first, second)

    def ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 here")

    def delivers(self, server, **more):
        agent = self.agent(server, **more)
        agent.play()
        eventually(lambda: server.requests, agent.said)
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent)

    def test_an_address_of_ipv6(self):
        self.ipv6()
        self.delivers(self.server(host="::1"), host="[::1]")
        self.delivers(self.server(host="::1", grpc=True), host="[::1]")

    def test_one_family_is_refused(self):
        self.ipv6()
        self.delivers(self.server(), host="collector.test", env=self.hosts("collector.test ::1 127.0.0.1\n"))
        self.delivers(self.server(host="::1"), host="collector.test", env=self.hosts("collector.test 127.0.0.1 ::1\n"))

    def test_one_family_is_silent(self):
        """A listener whose queue is full answers nothing at all. The other family is tried in time."""
        self.ipv6()
        server = self.server()
        with socket.socket(socket.AF_INET6) as silent, contextlib.ExitStack() as waiting:
            silent.bind(("::1", server.port))
            silent.listen(0)
            for _ in range(3):
                client = waiting.enter_context(socket.socket(socket.AF_INET6))
                client.setblocking(False)
                client.connect_ex(("::1", server.port))
            self.delivers(server, host="collector.test", env=self.hosts("collector.test ::1 127.0.0.1\n"))


class Outage(Case):
    """An hour without a collector: a third of it nobody listens, a third it answers nothing, a third it says 503. In CI the
    program's clock runs faster, and there are fewer spans in its seconds; with --long it is an hour, at 10,000 spans a
    second. The code is the same, and so is what is asked of it."""

    def test_an_hour(self):
        haste, every_ms = (1, 104) if LONG else (90, 20000)
        third_s = OUTAGE_S / 3 / haste
        first_s, after_s = 20 / haste, 60 / haste
        queue = 262144 if LONG else 262144 * 104 // every_ms
        port = backend.free_ports(1)[0]
        agent = Agent(self, f"http://127.0.0.1:{port}", {"exit_deadline_ms": 120000, "compression": "gzip"},
                      {"FAULTS_HASTE": haste, "OTEL_BSP_MAX_QUEUE_SIZE": queue, "OTEL_BSP_SCHEDULE_DELAY": 1000}, patient=False)
        before = self.server(take, port=port)
        times = int((2 * first_s + 3 * third_s + after_s) * haste * 1000 / every_ms)
        agent.process.stdin.write(f"steady {every_ms} {times}\n")
        agent.process.stdin.flush()
        eventually(lambda: before.takings, agent.said)
        time.sleep(first_s)
        before.close()
        peaks = []

        def rest(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(min(1, seconds / 20))
                status = Path(f"/proc/{agent.process.pid}/status").read_text()
                peaks.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]))

        rest(third_s)
        silent = self.server(broken(Link.hang, "answer"), port=port)
        rest(third_s)
        silent.close()
        busy = self.server(answer(503), port=port)
        rest(third_s)
        busy.close()
        back = time.monotonic()
        after = self.server(take, port=port)
        eventually(lambda: after.takings, agent.said)
        recovery_s = (time.monotonic() - back) * haste
        self.assertEqual(agent.process.stdout.readline(), "done\n", agent.said())
        agent.end(200)
        self.check(agent, before, silent, busy, after, haste, recovery_s, peaks)

    def check(self, agent, before, silent, busy, after, haste, recovery_s, peaks):
        taken = before.taken + after.taken
        if LONG:
            self.assert_same(agent, before, after)
        else:  # a machine with much else to do may need the tenth of a second in which the program's patience is over
            self.assertLessEqual(agent.counters[DELIVERED], len(taken), agent.said())
            self.assertGreater(len(after.taken), 0)
        self.assertEqual(silent.takings + busy.takings, [])
        gaps = [(b.time - a.time) * haste for a, b in zip(busy.requests, busy.requests[1:])]
        waits = [(b.time - a.time) * haste for a, b in zip(silent.requests, silent.requests[1:])]
        print(f"{agent.report['spans']} spans, {agent.counters[DELIVERED]} delivered, {agent.losses}; back after "
              f"{recovery_s:.1f} s; {len(busy.requests)} requests in a third of 503, {min(gaps):.1f} to {max(gaps):.1f} s apart; "
              f"{len(silent.requests)} of silence, {min(waits):.1f} s apart at least; memory {min(peaks)} to {max(peaks)} KiB")
        # Backoff is at its longest: 10 s less up to half, 7.5 on average. On the faster clock a thread of the server's that
        # is late by milliseconds shifts one by seconds: there only the number of requests is judged, and what is late
        # makes them fewer.
        self.assertLessEqual(len(busy.requests), OUTAGE_S / 3 / 5 + 5)
        if LONG:
            self.assertGreaterEqual(min(gaps[3:]), 4.9)
            self.assertIn(round(sum(gaps) / len(gaps)), range(6, 15))
            self.assertLess(recovery_s, 15)
        self.assertGreater(max(gaps[3:]) - min(gaps[3:]), 0.1, "no jitter")
        # A timeout of 10 s and the pause; cut short where the batch's 30 s are over.
        self.assertGreater(sum(waits) / len(waits), 10)
        # The queue's worth is delivered late, the rest is lost, for these reasons alone.
        self.assertLessEqual(set(agent.losses), {"lost_queue_full", "lost_unreachable"})
        self.assertGreater(agent.losses["lost_queue_full"], 0)
        self.assertGreater(agent.losses["lost_unreachable"], 0)
        self.assertGreaterEqual(agent.counters["batches_resent"], len(busy.requests) - 1)
        half = len(peaks) // 2  # until then the queue's memory has been full once
        if not SANITIZERS:
            self.assertLess(max(peaks[half:]) - max(peaks[:half]), 4096, "it grows")
            self.assertLess(max(peaks), 64 * 1024)
        self.assert_outage_told(agent)

    def assert_outage_told(self, agent):
        said = "\n".join(agent.lines())
        most = 1 if LONG else 2
        for pattern in ("cannot deliver to ", "is not ready: HTTP 503", "are lost: no request was accepted", "the queue .* is full",
                        "works again"):
            self.assertIn(len(re.findall(pattern, said)), range(1, most + 1), said)
        self.assertLessEqual(len(agent.lines()), 5 * most, said)


class Collector(Case):
    """A real Collector (Jaeger's), which is killed, stopped for a while, and refuses."""

    def setUp(self):
        super().setUp()
        self.binary = os.environ.get("JAEGER") or shutil.which("jaeger")
        if not self.binary:
            self.skipTest("no Jaeger binary (set JAEGER)")

    def start(self, ports, receiver=""):
        """Its receivers' settings may be narrowed."""
        environment = dict(zip(("JAEGER_PORT", "JAEGER_GRPC_PORT", "OTLP_GRPC_PORT", "OTLP_HTTP_PORT"), map(str, ports)))
        jaeger = backend.Jaeger.__new__(backend.Jaeger)
        jaeger.port, _, jaeger.otlp_grpc, jaeger.otlp_http = ports
        jaeger.api = f"http://localhost:{jaeger.port}/api/v3"

        def ready():
            backend.get(f"{jaeger.api}/services", 2)
            if not receiver:
                backend.post_nothing(jaeger.otlp_http)

        config = ROOT / "tools/jaeger.yaml"
        if receiver:
            text = re.sub(r"(endpoint: .*OTLP_(?:HTTP|GRPC)_PORT.*)", lambda found: found[1] + "\n" + " " * 8 + (
                receiver if "HTTP" in found[1] else receiver.replace("max_request_body_size: 2000", "max_recv_msg_size_mib: 0")),
                          config.read_text())
            config = self.directory / "jaeger.yaml"
            config.write_text(text)
        jaeger.process = backend.Process(self.binary, config, self.directory, "jaeger", environment, ready)
        self.addCleanup(jaeger.close)
        return jaeger

    def check_all_there(self, agent, jaeger):
        spans = jaeger.traces(agent.report["traces"], agent.report["spans"])
        self.assertEqual(agent.losses, {}, agent.said())
        self.assertEqual(len(spans), agent.report["spans"])
        self.assertEqual(len({(span.trace_id, span.span_id) for span in spans}), len(spans))

    def test_it_is_started_late(self):
        for protocol in ("http/protobuf", "grpc"):
            with self.subTest(protocol):
                ports = backend.free_ports(4)
                port = ports[2] if protocol == "grpc" else ports[3]
                agent = Agent(self, f"http://127.0.0.1:{port}", env={"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": protocol},
                              path="" if protocol == "grpc" else "/v1/traces")
                agent.play()
                agent.wait_for_line("cannot deliver to")
                jaeger = self.start(ports)
                agent.wait_for_line("works again")
                agent.end()
                self.check_all_there(agent, jaeger)
                jaeger.close()

    def test_it_is_stopped_for_a_while(self):
        """SIGSTOP: the kernel accepts for it, and no answer comes."""
        jaeger = self.start(backend.free_ports(4))
        agent = Agent(self, f"http://127.0.0.1:{jaeger.otlp_http}", env={"OTEL_EXPORTER_OTLP_TIMEOUT": 500})
        os.kill(jaeger.process.process.pid, signal.SIGSTOP)
        agent.play()
        agent.wait_for_line("no response in time")
        os.kill(jaeger.process.process.pid, signal.SIGCONT)
        agent.wait_for_line("works again")
        agent.end()
        # What it had in its sockets it takes, too: there may be spans that it has twice.
        self.assertEqual(agent.losses, {}, agent.said())
        spans = jaeger.traces(agent.report["traces"], agent.report["spans"])
        self.assertEqual(len({(span.trace_id, span.span_id) for span in spans}), agent.report["spans"])
        self.assertGreaterEqual(agent.counters["batches_resent"], 1)

    def test_it_refuses_what_is_too_large(self):
        jaeger = self.start(backend.free_ports(4), receiver="max_request_body_size: 2000")
        agent = Agent(self, f"http://127.0.0.1:{jaeger.otlp_http}")
        agent.play()
        agent.wait_for_line("refuses spans")
        agent.end()
        self.assertEqual(agent.losses.get("lost_refused", 0) + agent.counters[DELIVERED], agent.report["spans"])
        self.assertGreater(agent.losses["lost_refused"], 0)


def main():
    global BUILD, SANITIZERS, LONG, OUTAGE_S
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--sanitizers", default="")
    parser.add_argument("--long", action="store_true", default=bool(os.environ.get("CUSPAN_LONG")))
    parser.add_argument("--outage-s", type=float, default=OUTAGE_S, help="in place of an hour")
    parser.add_argument("groups", nargs="*")
    arguments = parser.parse_args()
    BUILD, SANITIZERS, LONG = arguments.build.resolve(), arguments.sanitizers, arguments.long
    OUTAGE_S = arguments.outage_s
    unittest.main(argv=[sys.argv[0], *arguments.groups], verbosity=2)


if __name__ == "__main__":
    main()
