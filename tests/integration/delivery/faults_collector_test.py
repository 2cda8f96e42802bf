#!/usr/bin/env python3
"""A real Collector (Jaeger) that starts late, stops and refuses.

    faults_collector_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import os
import re
import shutil
import signal
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import backend  # noqa: E402
import faults_case  # noqa: E402
from faults_case import DELIVERED, HASTE, ROOT, Agent  # noqa: E402


class Collector(faults_case.Case):
    def setUp(self):
        super().setUp()
        self.binary = os.environ.get("JAEGER") or shutil.which("jaeger")
        if not self.binary:
            self.skipTest("no Jaeger binary (set JAEGER)")

    def start(self, ports, receiver=""):
        """`receiver` is a line of settings for the receivers."""
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
        """SIGSTOP: the kernel accepts connections, and no response comes."""
        jaeger = self.start(backend.free_ports(4))
        agent = Agent(self, f"http://127.0.0.1:{jaeger.otlp_http}", env={"OTEL_EXPORTER_OTLP_TIMEOUT": 500 * HASTE})
        os.kill(jaeger.process.process.pid, signal.SIGSTOP)
        agent.play()
        agent.wait_for_line("no response in time")
        os.kill(jaeger.process.process.pid, signal.SIGCONT)
        agent.wait_for_line("works again")
        agent.end()
        # It accepts the requests in its sockets, too, so spans may be there twice.
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


if __name__ == "__main__":
    faults_case.main()
