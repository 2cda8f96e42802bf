#!/usr/bin/env python3
"""Each kind of response over HTTP: statuses, Retry-After, partial success, and responses that are not OTLP.

    faults_answers_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import json
import re
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import bad_server as bad  # noqa: E402
import faults_case  # noqa: E402
from bad_server import Link, answer, broken, take  # noqa: E402
from faults_case import DELIVERED, HASTE, SECRET, eventually  # noqa: E402


class Answers(faults_case.Case):
    def test_statuses_that_are_tried_again(self):
        server = self.server(*(answer(status) for status in (429, 502, 503, 504)), take)
        self.recovers(server, "is not ready: HTTP 429; .*cuspan keeps .* and retries", resent=4)
        gaps = [(after.time - before.time) * HASTE for before, after in zip(server.requests, server.requests[1:])]
        # 0.5, 1, 2, 4 s, minus up to half.
        for gap, least in zip(gaps, (0.25, 0.5, 1, 2)):
            self.assertGreaterEqual(gap, least)

    def test_retry_after_in_both_forms(self):
        # A date has whole seconds, and needs a clock that agrees with the server's.
        for status, fault, haste, least_s in ((429, answer(429, "Retry-After: 2"), HASTE, 1.9), (503, bad.retry_at(503, 2), 1, 0.9)):
            with self.subTest(status):
                server = self.server(fault, take)
                self.recovers(server, f"is not ready: HTTP {status}", haste=haste)
                self.assertGreaterEqual((server.requests[1].time - server.requests[0].time) * haste, least_s)

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
        """Of a batch of unknown size, which depends on how fast the spans arrive."""
        server = self.server(answer(200, body=bad.partial_success(1, "one is too old"), rejected=1), take)
        agent = self.agent(server)
        agent.play()
        agent.wait_for_line("rejected")
        agent.end()
        self.assertEqual(agent.losses, {"lost_rejected": 1})
        self.assert_same(agent, server)
        self.assert_said(agent, "rejected 1 of [0-9]+ spans: one is too old")
        self.assertEqual(agent.counters["batches_resent"], 0)

    def test_a_large_answer(self):
        """5 MB exceed the specification's 4 MiB: an error without a retry, whatever the status."""
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
        """4 MB of JSON, which parse to a list of two million numbers."""
        json_bomb = b'{"x":[' + b"0," * 2000000 + b"0]}"
        peaks = []
        for body in (b"{}", json_bomb):
            server = self.server(answer(200, body=body, content_type=bad.JSON))
            agent = self.agent(server)
            for number in range(3):
                agent.play()
                eventually(lambda: len(server.requests) > number, "a request")
            peaks.append(int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{agent.process.pid}/status").read_text())[1]))
            agent.end()
            self.assert_delivered(agent, server)
        print(f"peak of memory, KiB: {peaks}")
        if not faults_case.SANITIZERS:
            self.assertLess(peaks[1] - peaks[0], 8000)  # without a limit it is 140000

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
        """Status 200 means delivered, but the agent warns: proxies and portals send pages with status 200."""
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
        """Their target must not receive the headers."""
        other = self.server(take)
        for status in (301, 302, 303, 307, 308):
            with self.subTest(status):
                server = self.server(answer(status, f"Location: http://127.0.0.1:{other.port}/v1/traces"))
                self.loses(server, "lost_refused", f"HTTP {status}.*does not follow redirects; set the endpoint")
        self.assertEqual(other.requests, [])

    def test_a_server_that_speaks_no_http(self):
        for text in (b"SSH-2.0-OpenSSH_9.2\r\n", b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0@\0"):
            with self.subTest(text):
                self.loses(self.server(bad.say(text)), "lost_refused", "not speak HTTP.*4318.*protocol")

    def test_all_faults_in_turn(self):
        """In one run, and at the end each span is delivered or counted as lost."""
        script = [answer(503), broken(Link.reset, "before"), take, answer(400), take, answer(429), take,
                  broken(Link.reset, "request"), take, answer(200, body=bad.partial_success(1), rejected=1),
                  bad.close_after_reading, take]
        server = self.server(*script)
        agent = self.agent(server)
        while len(server.script) > 1:
            left = len(server.script)
            agent.play()
            eventually(lambda: len(server.script) < left, agent.said)
        agent.end()
        self.assertEqual(set(agent.losses), {"lost_refused", "lost_rejected"}, agent.said())
        self.assertEqual(agent.losses["lost_rejected"], 1)
        self.assert_same(agent, server)
        # At most one line for each kind of failure, and one that delivery works again.
        self.assertLessEqual(len([line for line in agent.lines() if "warning" in line]), 4, agent.said())


if __name__ == "__main__":
    faults_case.main()
