#!/usr/bin/env python3
"""The faults of a collector, where gRPC differs from HTTP.

    faults_grpc_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import bad_server as bad  # noqa: E402
import faults_case  # noqa: E402
from bad_server import Link, answer, broken, grpc, take  # noqa: E402
from faults_case import HASTE, eventually  # noqa: E402


class Grpc(faults_case.Case):
    def test_it_works(self):
        server = self.server(take, grpc=True)
        agent = self.agent(server)
        for number in range(3):
            agent.play()
            eventually(lambda: len(server.requests) > number, agent.said)
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

    def test_resource_exhausted_with_a_delay(self):
        details = bad.rpc_status(8, "full", bad.retry_info(1, 500000000))
        server = self.server(grpc(8, "full", details), take, grpc=True)
        self.recovers(server, "is not ready: gRPC RESOURCE_EXHAUSTED: full")
        self.assertGreaterEqual((server.requests[1].time - server.requests[0].time) * HASTE, 1.4)

    def test_unavailable_with_a_delay(self):
        details = bad.rpc_status(14, "later", bad.retry_info(2))
        server = self.server(grpc(14, "later", details), take, grpc=True)
        self.recovers(server, "is not ready: gRPC UNAVAILABLE: later")
        self.assertGreaterEqual((server.requests[1].time - server.requests[0].time) * HASTE, 1.9)

    def test_partial_success(self):
        message = bad.partial_success(1, "one of them")
        body = b"\0" + len(message).to_bytes(4, "big") + message

        def reject(link):
            request = link.request()
            link.server.take(request, 1)
            bad.grpc_answer(link, body=body)
            return True

        server = self.server(reject, take, grpc=True)
        agent = self.agent(server)
        agent.play()
        agent.wait_for_line("rejected")
        agent.end()
        self.assertEqual(agent.losses, {"lost_rejected": 1})
        self.assert_same(agent, server)

    def test_trailers_are_missing(self):
        """Without a status the agent cannot know whether the spans were accepted, as with a lost response."""
        server = self.server(grpc(0, trailers=False, taken=True), take, grpc=True)
        self.recovers(server, "is not ready: gRPC's response ended before its status; .* retries", twice=True)
        self.keeps_trying(self.server(grpc(0, trailers=False), grpc=True), "response ended before its status")

    def test_go_away(self):
        """A server that restarts completes older streams and refuses newer ones. libcurl 7.88 does not wait for the
        response, so the spans may arrive again, and the agent counts that."""
        server = self.server(bad.go_away(processed=True), take, grpc=True)
        agent = self.agent(server)
        agent.play()
        eventually(lambda: server.requests, "a request")
        agent.end()
        self.assert_delivered(agent, server, twice=True)
        self.assert_resent_as_seen(agent, server)
        server = self.server(bad.go_away(processed=False), take, grpc=True)
        agent = self.agent(server)
        agent.play()
        eventually(lambda: server.taken, "that it is sent again")
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_resent_as_seen(agent, server)

    def test_a_stream_that_is_reset(self):
        for code in (bad.REFUSED_STREAM, 2, 8):  # and INTERNAL_ERROR, CANCEL
            with self.subTest(code):
                server = self.server(bad.reset_stream(code), take, grpc=True)
                agent = self.agent(server)
                agent.play()
                eventually(lambda: server.taken, "that it is sent again")
                agent.end()
                self.assert_delivered(agent, server)
                self.assert_resent_as_seen(agent, server)

    def test_reset_and_hang(self):
        self.recovers(self.server(broken(Link.reset, "answer", taken=True), take, grpc=True), "cannot deliver to", twice=True,
                      resent=None)
        self.recovers(self.server(broken(Link.hang, "answer"), take, grpc=True), "cannot deliver to .*no response in time",
                      env={"OTEL_EXPORTER_OTLP_TIMEOUT": 400 * HASTE}, resent=None)

    def test_an_http_server(self):
        """A proxy or server that speaks only HTTP/1.1."""
        server = self.server(bad.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
        self.keeps_trying(server, "cannot deliver to .*HTTP/2", env={"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, path="")

    def test_a_proxys_page(self):
        self.loses(self.server(answer(403, content_type=bad.HTML), grpc=True), "lost_refused", "HTTP 403.*headers")
        self.recovers(self.server(answer(502, content_type=bad.HTML), take, grpc=True), "is not ready: HTTP 502")


if __name__ == "__main__":
    faults_case.main()
