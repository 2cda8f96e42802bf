#!/usr/bin/env python3
"""`cuspan doctor`: the path to the collector.

    doctor_collector_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import contextlib
import json
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import backend  # noqa: E402
import bad_server  # noqa: E402
import doctor_case  # noqa: E402
import sink  # noqa: E402
from doctor_case import Answering, LOCAL  # noqa: E402


class Collector(doctor_case.Case):
    def speak(self, first):
        """A server that sends these bytes to every client."""
        listener = socket.create_server((LOCAL, 0))

        def serve(client):
            with client, contextlib.suppress(OSError):
                client.sendall(first)
                while client.recv(4096):
                    pass

        def run():
            with contextlib.suppress(OSError):  # until it is closed
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=run, daemon=True).start()
        self.addCleanup(listener.close)
        return listener.getsockname()[1]

    def asks(self, check, finding, found="", fix="", port=None, url=None, arguments=(), **options):
        url = url or f"http://{LOCAL}:{port}"
        return self.says(f"collector.{check}", finding, found, fix, arguments=["--endpoint", url, *arguments], **options)

    def test_no_fault(self):
        receiver = sink.Sink()
        self.addCleanup(receiver.close)
        for protocol in "http/protobuf", "http/json":
            arguments = ["--protocol", protocol]
            self.asks("answer", "ok", "accepts an empty export request.*HTTP 200", port=receiver.port, arguments=arguments)
        types = {request.headers["Content-Type"]: request for request in receiver.requests}
        self.assertEqual(types["application/x-protobuf"].body, b"")
        self.assertEqual(json.loads(types["application/json"].body), {"resourceSpans": []})
        self.assertEqual({request.path for request in receiver.requests}, {"/v1/traces"})
        self.asks("protocol", "ok", port=receiver.port)
        self.asks("host", "ok", LOCAL, port=receiver.port)
        self.asks("port", "ok", "accepts connections", port=receiver.port)
        self.asks("tls", "skipped", port=receiver.port)
        self.asks("proxy", "ok", "no proxy", port=receiver.port)

    def test_no_network(self):
        for check in "proxy", "host", "port", "protocol", "tls", "answer", "jaeger":
            self.says(f"collector.{check}", "skipped", "no output uses the network", arguments=["--file", "x.jsonl"])

    def test_headers_are_sent_and_not_shown(self):
        server = self.serve(401, b"the key s3cr3t is wrong")
        line = self.asks("answer", "problem", "HTTP 401: .*contains a secret", "headers", port=server.server_port,
                         env={"OTEL_EXPORTER_OTLP_HEADERS": "api-key=s3cr3t"})
        self.assertNotIn("s3cr3t", str(line))
        self.assertEqual(server.bodies[0][0]["api-key"], "s3cr3t")

    def test_refusals(self):
        for status, body, found, fix in ((404, b"", "HTTP 404", "/v1/traces"), (503, b"later", "HTTP 503: later", "log"),
                                          (415, b"no gzip here", "HTTP 415: no gzip here", "compression"), (307, b"", "HTTP 307", "redirects")):
            server = self.serve(status, body)
            self.asks("answer", "problem", found, fix, port=server.server_port)
            self.asks("protocol", "ok", "rejects the request", port=server.server_port)

    def test_unknown_host(self):
        url = "http://no-such-host.invalid:4318"
        self.asks("host", "problem", "no-such-host.invalid: ", "correct the endpoint's host name", url=url)
        self.asks("port", "unknown", url=url)
        self.asks("answer", "unknown", "no connection: ", url=url)

    def test_closed_port(self):
        port = backend.free_ports(1)[0]
        self.asks("port", "problem", "refused", "start the collector", port=port)
        self.asks("protocol", "unknown", port=port)
        self.asks("answer", "unknown", "no connection: ", port=port)
        self.put("/.dockerenv")
        self.asks("port", "problem", "refused", "in a container, 127.0.0.1 is the container itself", port=port)

    def test_http_at_a_grpc_port(self):
        # A gRPC server first sends an empty SETTINGS frame.
        port = self.speak(b"\0\0\0\4\0\0\0\0\0")
        lines = self.doctor("collector", "--endpoint", f"http://{LOCAL}:{port}")
        self.assert_says(lines, "collector.protocol", "problem", r"speaks HTTP/2 \(gRPC\)", "4318.*--protocol grpc")
        self.assert_says(lines, "collector.answer", "problem", f"http://{LOCAL}:{port}", "protocol")

    def test_grpc_at_an_http_port(self):
        server = self.serve()
        self.asks("protocol", "problem", "speaks HTTP/1.1", "4317.*http/protobuf", port=server.server_port, arguments=["--protocol", "grpc"])

    def test_a_silent_port(self):
        port = self.speak(b"")
        lines = self.doctor("collector", "--endpoint", f"http://{LOCAL}:{port}", env={"OTEL_EXPORTER_OTLP_TIMEOUT": "500"})
        self.assert_says(lines, "collector.protocol", "unknown", "does not respond")
        self.assert_says(lines, "collector.answer", "problem", "", "log")

    def test_proxies(self):
        server = self.serve()
        dead = backend.free_ports(1)[0]
        env = {"http_proxy": f"http://user:s3cr3t@{LOCAL}:{dead}"}
        line = self.asks("proxy", "problem", rf"use the proxy http://{LOCAL}:{dead}.* \(http_proxy\), and fail", f"export no_proxy={LOCAL}", port=server.server_port, env=env)
        self.assertNotIn("s3cr3t", str(line))
        self.asks("proxy", "ok", "no proxy", port=server.server_port, env={**env, "no_proxy": f"example.com,{LOCAL}"})
        self.asks("answer", "ok", port=server.server_port, env={**env, "no_proxy": "*"})
        # This server is a working proxy: it accepts requests for any host.
        self.asks("proxy", "ok", "and succeed", url="http://elsewhere.invalid:4318", env={"http_proxy": f"http://{LOCAL}:{server.server_port}"})
        self.asks("host", "warning", "elsewhere.invalid", "correct", url="http://elsewhere.invalid:4318",
                  env={"http_proxy": f"http://{LOCAL}:{server.server_port}"})

    def certificate(self, name, *more):
        key, certificate = self.directory / f"{name}.key", self.directory / f"{name}.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                        "-out", certificate, "-subj", f"/CN={name}", *more], stderr=subprocess.DEVNULL, check=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return certificate, context

    def test_tls(self):
        certificate, context = self.certificate("good", "-addext", "subjectAltName=IP:127.0.0.1")
        server = self.serve(context=context)
        url = f"https://{LOCAL}:{server.server_port}"
        trusted = {"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate}
        self.asks("tls", "ok", "is trusted by", url=url, env=trusted)
        self.asks("answer", "ok", "HTTP 200", url=url, env=trusted)
        self.asks("tls", "problem", "certificate", "OTEL_EXPORTER_OTLP_CERTIFICATE", url=url)
        self.asks("answer", "problem", "certificate", "TLS", url=url)
        self.asks("tls", "warning", "tls_verify", "true", url=url, arguments=["--set", "tls_verify=false"])
        self.asks("tls", "problem", "/nowhere.pem: No such file", "correct the path", url=url, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere.pem"})
        self.asks("protocol", "problem", "speaks TLS", "https://", port=server.server_port)

    def test_a_certificate_with_another_name(self):
        certificate, context = self.certificate("elsewhere", "-addext", "subjectAltName=DNS:elsewhere.example")
        url = f"https://{LOCAL}:{self.serve(context=context).server_port}"
        self.asks("tls", "problem", "", "host name of the certificate", url=url, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate})

    def test_an_expired_certificate(self):
        certificate, _ = self.certificate("expired", "-addext", "subjectAltName=IP:127.0.0.1")
        key, request = self.directory / "expired.key", self.directory / "expired.csr"
        extensions = self.directory / "extensions"
        extensions.write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:TRUE\n")
        for command in (["req", "-new", "-key", key, "-subj", "/CN=expired", "-out", request],
                        ["x509", "-req", "-in", request, "-signkey", key, *bad_server.expired_options(), "-extfile", extensions,
                         "-out", certificate]):
            subprocess.run(["openssl", *command], stderr=subprocess.DEVNULL, check=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        url = f"https://{LOCAL}:{self.serve(context=context).server_port}"
        self.asks("tls", "problem", "expired", "renew", url=url, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate})

    def test_required_client_certificate(self):
        certificate, context = self.certificate("mutual", "-addext", "subjectAltName=IP:127.0.0.1")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificate)
        url = f"https://{LOCAL}:{self.serve(context=context).server_port}"
        self.asks("tls", "problem", "", "CLIENT_CERTIFICATE", url=url, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate})

    def test_tls_to_a_plain_port(self):
        server = self.serve()
        self.asks("protocol", "problem", "speaks HTTP without TLS", "http:// instead", url=f"https://{LOCAL}:{server.server_port}")
        self.asks("tls", "unknown", "no TLS handshake", url=f"https://{LOCAL}:{server.server_port}")

    def jaeger(self):
        try:
            return self.serve(port=16686)
        except OSError:
            self.skipTest("port 16686 is in use")

    def test_jaeger(self):
        self.jaeger()
        server = self.serve()
        self.asks("jaeger", "ok", f"http://{LOCAL}:16686", port=server.server_port)
        self.asks("jaeger", "skipped", port=backend.free_ports(1)[0])
        refusing = self.serve(404)
        self.asks("answer", "problem", "HTTP 404", port=refusing.server_port)

    def test_jaegers_page_instead_of_the_collector(self):
        self.jaeger().status = 405
        self.asks("protocol", "problem", "Jaeger's web page", "4318", port=16686)

    def test_a_jaeger_that_fails(self):
        self.jaeger().RequestHandlerClass = type("Failing", (Answering,), {"do_GET": lambda self: self.answer(500, b"")})
        self.asks("jaeger", "warning", "500", "log", port=self.serve().server_port)


if __name__ == "__main__":
    doctor_case.main("collector")
