#!/usr/bin/env python3
"""A collector that refuses, resets, closes or holds connections.

    faults_connections_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import backend  # noqa: E402
import bad_server as bad  # noqa: E402
import faults_case  # noqa: E402
from bad_server import Link, answer, broken, take  # noqa: E402
from faults_case import HASTE, Agent, eventually  # noqa: E402


class Connections(faults_case.Case):
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
        """The agent cannot know that the server accepted the spans: the one case in which spans arrive twice."""
        server = self.server(broken(Link.reset, "answer", taken=True), take)
        self.recovers(server, "cannot deliver to .* closed before a response", twice=True)
        self.assertGreater(len(server.twice()), 0)

    def test_reset_within_the_answer(self):
        """The status arrived, so the spans are delivered."""
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
        self.recovers(server, "cannot deliver to .*no response in time.*timeout", resent=None,
                      env={"OTEL_EXPORTER_OTLP_TIMEOUT": 400 * HASTE})

    def test_hang_within_the_answer(self):
        server = self.server(broken(Link.hang, "within", taken=True), take)
        agent = self.agent(server, env={"OTEL_EXPORTER_OTLP_TIMEOUT": 2000 * HASTE})
        agent.play()
        agent.wait_for_line("accepted the spans")
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent, "accepted the spans, but its response is incomplete")

    def test_a_hang_ends_with_the_program(self):
        """Although every timeout is 10 minutes."""
        for when in ("answer", "within", "request"):
            with self.subTest(when):
                server = self.server(broken(Link.hang, when, taken=when == "within"))
                agent = self.agent(server, {"exit_deadline_ms": 500 * HASTE})
                agent.play()
                eventually(lambda: server.requests or server.broken_off, "a request")
                agent.end()
                if when != "within":
                    self.assert_all_late(agent)

    def test_slow_reading(self):
        """The request times out at a server that reads slowly, and its spans are lost after the export timeout. Several batches in
        turn are lost before the replay goes on, and it waits 30 s for the agent, so the timeouts are short."""
        server = self.server(bad.read_slowly(1000))
        agent = self.agent(server, recording="service", env={"OTEL_EXPORTER_OTLP_TIMEOUT": 100 * HASTE,
                                                              "OTEL_BSP_EXPORT_TIMEOUT": 300 * HASTE})
        agent.play(4)  # more than fits into socket buffers
        agent.wait_for_line("are lost")
        agent.end()
        self.assertEqual(len(server.taken), 0)
        self.assertGreater(agent.losses["lost_unreachable"], 0)
        self.assert_said(agent, "cannot deliver to .*no response in time.*timeout",
                         f"are lost: no request was accepted for {300 * HASTE} ms")

    def test_the_export_timeout(self):
        """Spans that are not delivered in this time are lost, and the agent logs that."""
        server = self.server(answer(503))
        agent = self.agent(server, {"exit_deadline_ms": 300 * HASTE}, env={"OTEL_BSP_EXPORT_TIMEOUT": 2000 * HASTE}, haste=1)
        agent.play()
        agent.wait_for_line("is not ready")
        agent.set_haste(HASTE)
        agent.wait_for_line("are lost")
        agent.end()
        self.assertGreater(agent.losses["lost_unreachable"], 0)
        self.assertLessEqual(set(agent.losses), {"lost_unreachable", "lost_deadline", "lost_unmade"})
        self.assert_said(agent, "is not ready: HTTP 503",
                         rf"are lost: no request was accepted for {2000 * HASTE} ms \(export_timeout\)")

    def test_the_export_timeout_cuts_off_a_request(self):
        """A server that was not ready, and answers the last request too late, is one problem."""
        server = self.server(answer(503), broken(Link.hang, "answer"))
        agent = self.agent(server, {"exit_deadline_ms": 300 * HASTE}, env={"OTEL_BSP_EXPORT_TIMEOUT": 2000 * HASTE}, haste=1)
        agent.play()
        agent.wait_for_line("is not ready")
        agent.set_haste(HASTE)
        agent.wait_for_line("are lost")
        agent.end()
        self.assertGreater(agent.losses["lost_unreachable"], 0)
        self.assert_said(agent, "is not ready: HTTP 503",
                         rf"are lost: no request was accepted for {2000 * HASTE} ms \(export_timeout\)")

    def test_a_kept_connection_that_ends_with_the_request(self):
        """libcurl resends a request after a kept connection closed. That counts as a retry."""
        server = self.server(take, bad.close_after_reading, take)
        agent = self.agent(server)
        agent.play()
        eventually(lambda: server.requests, "the first request")
        agent.play()
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_resent_as_seen(agent, server)
        self.assertGreaterEqual(agent.counters["batches_resent"], 1)

    def test_many_short_outages_are_a_few_lines(self):
        script = [broken(Link.reset, "before"), take] * 12
        server = self.server(*script, take)
        agent = self.agent(server)
        for number in range(12):
            agent.play()
            eventually(lambda: len(server.requests) > number, "a request")
        agent.end()
        self.assert_delivered(agent, server)
        self.assertLessEqual(len(agent.lines()), 2, agent.said())


if __name__ == "__main__":
    faults_case.main()
