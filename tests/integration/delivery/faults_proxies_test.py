#!/usr/bin/env python3
"""Delivery through a proxy, and proxies that refuse.

    faults_proxies_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import backend  # noqa: E402
import bad_server as bad  # noqa: E402
import faults_case  # noqa: E402
from bad_server import take  # noqa: E402
from faults_case import HASTE, SECRET  # noqa: E402


class Proxies(faults_case.Case):
    @classmethod
    def setUpClass(cls):
        cls.keys = Path(tempfile.mkdtemp(prefix="faults-keys-"))
        cls.addClassCleanup(shutil.rmtree, cls.keys, True)
        bad.make_certificates(cls.keys)

    def proxy(self, *arguments):
        proxy = bad.Proxy(*arguments)
        self.addCleanup(proxy.close)
        return proxy

    def through(self, server, **env):
        self.delivers(server, env=env)

    def test_http(self):
        proxy, server = self.proxy(), self.server()
        self.through(server, http_proxy=f"http://127.0.0.1:{proxy.port}")
        self.assertRegex(proxy.asked[0], f"POST http://127.0.0.1:{server.port}/v1/traces HTTP/1.1")

    def test_https_by_connect(self):
        """The proxy receives neither headers nor spans."""
        proxy, server = self.proxy(), self.server(tls=bad.server_tls(self.keys))
        self.through(server, https_proxy=f"http://user:{SECRET}@127.0.0.1:{proxy.port}",
                     OTEL_EXPORTER_OTLP_CERTIFICATE=self.keys / "ca.pem")
        self.assertEqual(proxy.asked, [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"])
        self.assertNotIn("Authorization: Bearer", proxy.heads[0])
        self.assertIn("Proxy-Authorization: Basic", proxy.heads[0])

    def test_grpc_by_connect(self):
        """The only way for HTTP/2 without TLS through a proxy."""
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
        for status in (403, 407, 502):
            with self.subTest(status):
                proxy, server = self.proxy(status), self.server(tls=bad.server_tls(self.keys))
                self.keeps_trying(server, f"cannot deliver to .*the proxy.*{status}.*https_proxy.*no_proxy",
                                  env={"https_proxy": f"http://user:{SECRET}@127.0.0.1:{proxy.port}"})

    def test_a_proxy_that_is_not_there(self):
        server = self.server()
        port = backend.free_ports(1)[0]
        self.keeps_trying(server, "cannot deliver to .*connection refused.*proxy",
                          env={"http_proxy": f"http://user:{SECRET}@127.0.0.1:{port}"})


    def test_secrets_of_proxies_that_cannot_be_used(self):
        """libcurl's messages repeat the variable. Neither log, nor report, nor doctor has the password."""
        server = self.server()
        for user, host in ((f"alice:{SECRET}", "127.0.0.1:99999"), (f"alice:{SECRET[:9]}/{SECRET}", "127.0.0.1:1"),
                           (f"alice:{SECRET}#x", "127.0.0.1:1"), (f"alice:a b{SECRET}", "127.0.0.1:1"), (SECRET, "[::1:1"),
                           (f"alice:{SECRET}", "nowhere.invalid:1")):
            for scheme in ("http://", "", "ftp://") if host.endswith("99999") else ("http://",):
                env = {"http_proxy": f"{scheme}{user}@{host}"}
                with self.subTest(**env):
                    agent = self.agent(server, {"exit_deadline_ms": 30 * HASTE}, env=env)
                    agent.play()
                    agent.end()  # checks what it said
                    self.assertNotIn(SECRET, next(agent.directory.glob("report.*")).read_text())
        said = subprocess.run([faults_case.BUILD / "cuspan", "doctor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, "http_proxy": f"http://alice:a b{SECRET}@127.0.0.1:1", "no_proxy": "",
                                   "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}).stdout.decode()
        self.assertIn("Unsupported proxy", said)
        self.assertNotIn(SECRET, said)


if __name__ == "__main__":
    faults_case.main()
