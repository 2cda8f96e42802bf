#!/usr/bin/env python3
"""Certificates, keys and protocols that fit and that do not.

    faults_tls_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import backend  # noqa: E402
import bad_server as bad  # noqa: E402
import faults_case  # noqa: E402
from bad_server import Link, broken, take  # noqa: E402
from faults_case import HASTE, eventually  # noqa: E402


class Tls(faults_case.Case):
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

    def is_distrusted(self, server, pattern, env, **more):
        self.keeps_trying(server, pattern, env=env, **more)
        self.assertEqual(server.requests, [])

    def test_http_2_then_1_1(self):
        """The server chooses the protocol, and may choose another one later."""
        for protocols in (("h2", "http/1.1"), ("http/1.1",), ()):
            with self.subTest(protocols):
                self.delivers(self.server(tls=bad.server_tls(self.keys, protocols=protocols)), env=self.trusting())
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
        """Delivery works again without a restart of the program."""
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

        self.delivers(mutual(), env=self.trusting(**self.key("client")))
        self.is_distrusted(mutual(), "cannot deliver to .*cert_file.*key_file", self.trusting())
        self.is_distrusted(mutual(), "cannot deliver to .*cert_file.*key_file", self.trusting(**self.key("foreign")))
        for certificate, key in (("client", "ca.key"), ("client", "nowhere.pem"), ("nowhere", "key.pem")):
            with self.subTest(certificate=certificate, key=key):
                self.is_distrusted(mutual(), "cannot deliver to .*cert_file.*key_file", self.trusting(**self.key(certificate, key)))

    def test_a_key_with_a_pass_phrase(self):
        """OpenSSL would ask for it on the terminal of the program, with echo off."""
        server = self.server(tls=bad.server_tls(self.keys, client_ca="ca"))
        for name, options in (("pkcs8.pem", ["pkcs8", "-topk8", "-in", "key.pem", "-v2", "aes256"]),
                              ("traditional.pem", ["pkey", "-in", "key.pem", "-aes256", "-traditional"])):
            subprocess.run(["openssl", *options, "-out", name, "-passout", "pass:secret1"], cwd=self.keys, check=True)
            (self.keys / f"both-{name}").write_text((self.keys / "client.pem").read_text() + (self.keys / name).read_text())
            for certificate, key in ("client.pem", name), (f"both-{name}", f"both-{name}"):
                with self.subTest(certificate=certificate, key=key):
                    env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"https://127.0.0.1:{server.port}", "no_proxy": "*",
                           "OTEL_EXPORTER_OTLP_CERTIFICATE": str(self.keys / "ca.pem"),
                           "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(self.keys / certificate),
                           "OTEL_EXPORTER_OTLP_CLIENT_KEY": str(self.keys / key)}
                    longest = f"exit_deadline_ms={faults_case.LONGEST_MS}"
                    for command in ("replay", "--set", longest, faults_case.recording("threads")), ("doctor",):
                        said = self.on_a_terminal([faults_case.BUILD / "cuspan", *command], env, until="has a pass phrase")
                        self.assertIn("has a pass phrase", said)
                        self.assertNotRegex(said, "(?i)enter.*pass")

    def on_a_terminal(self, command, env, until):
        """The text that a program writes to its controlling terminal, whose echo stays on, until it ends or says `until`."""
        child, terminal = pty.fork()
        if child == 0:
            os.execve(command[0], [str(part) for part in command], env)
        said = ""
        with contextlib.suppress(OSError):  # it ended
            while until not in said and (part := os.read(terminal, 4096)):
                self.assertTrue(termios.tcgetattr(terminal)[3] & termios.ECHO)
                said = re.sub(r"\s+", " ", said + part.decode())
        os.close(terminal)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return said

    def test_an_authority_file_that_is_missing(self):
        self.is_distrusted(self.server(tls=bad.server_tls(self.keys)), "cannot deliver to .*nowhere.*ca_file",
                           self.trusting("nowhere"))

    def test_no_tls_where_it_is_expected(self):
        server = self.server(bad.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"))
        self.is_distrusted(server, "cannot deliver to .*http:// instead of https://", self.trusting(), scheme="https")

    def test_tls_where_none_is_expected(self):
        server = self.server(tls=bad.server_tls(self.keys))
        agent = self.agent(server, {"exit_deadline_ms": 300 * HASTE}, scheme="http")
        agent.play()
        agent.wait_for_line("cuspan: warning")
        agent.end()
        self.assert_all_late(agent)

    def test_a_reset_during_the_handshake(self):
        server = self.server(broken(Link.reset, "before"))
        self.is_distrusted(server, "cannot deliver to", self.trusting(), scheme="https")

    def test_over_ipv6(self):
        self.needs_ipv6()
        self.delivers(self.server(tls=bad.server_tls(self.keys), host="::1"), env=self.trusting(), host="[::1]")


if __name__ == "__main__":
    faults_case.main()
