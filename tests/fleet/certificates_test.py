#!/usr/bin/env python3
"""deploy/fleet/certificates.sh: what it makes, what it keeps, and what it replaces.   certificates_test.py [unittest's arguments]"""

import os
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "deploy/fleet/certificates.sh"


class Certificates(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()), "secrets")

    def run_script(self, *arguments, status=0):
        done = subprocess.run([SCRIPT, *arguments], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def make(self, *arguments, options=(), status=0):
        return self.run_script(*options, str(self.folder), *arguments, status=status)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.suffix != ".srl"}

    def openssl(self, *arguments):
        return subprocess.run(["openssl", *arguments], text=True, capture_output=True, check=True, cwd=self.folder).stdout

    def test_what_it_makes(self):
        self.make("kafka=kafka.example.com,10.1.2.3")
        self.openssl("verify", "-CAfile", "ca.crt", *[path.name for path in self.folder.glob("*.crt")])
        names = self.openssl("x509", "-in", "kafka.crt", "-noout", "-ext", "subjectAltName,extendedKeyUsage")
        for name in "DNS:kafka.example.com", "IP Address:10.1.2.3", "DNS:kafka", "DNS:localhost", "Server", "Client":
            self.assertIn(name, names)
        passwords = {path.read_text() for path in self.folder.glob("*.password")}
        self.assertEqual(len(passwords), len(list(self.folder.glob("*.password"))), "two are the same")
        for password in passwords:
            self.assertRegex(password, r"\Ap[0-9a-f]{48}\Z")
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE((self.folder / "ca.key").stat().st_mode), 0o600)
        # Kafka's file has all parts.
        for part in "kafka.key", "kafka.crt", "ca.crt":
            self.assertIn((self.folder / part).read_text(), (self.folder / "kafka.pem").read_text())

    def test_it_keeps_what_is_valid(self):
        self.make()
        before = self.contents()
        self.assertIn("0 new", self.make())
        self.assertEqual(self.contents(), before)
        self.make(options=["--check"])

    def test_it_replaces_what_expires(self):
        self.make(options=["--days", "29"])
        before = self.contents()
        self.assertIn("kafka.crt", self.make(options=["--check"], status=1))
        self.assertEqual(self.contents(), before, "--check changes nothing")
        self.make()
        after = self.contents()
        for name, text in before.items():
            self.assertEqual(after[name] == text, name.startswith("ca.") or name.endswith((".password", ".names")), name)
        self.make(options=["--check"])

    def test_it_replaces_what_does_not_fit(self):
        self.make()
        before = self.contents()
        self.make("kafka=other")
        changed = {name for name, text in self.contents().items() if before[name] != text}
        self.assertEqual(changed, {"kafka.crt", "kafka.key", "kafka.pem", "kafka.names"})
        (self.folder / "jaeger.key").write_bytes((self.folder / "kafka.key").read_bytes())
        (self.folder / "node.crt").unlink()
        (self.folder / "grafana-admin.password").write_text("")
        found = self.make("kafka=other")
        for name in "jaeger.crt", "node.crt", "grafana-admin.password":
            self.assertIn(name, found)
        self.assertIn("3 new", found)

    def test_a_new_authority(self):
        self.make()
        (self.folder / "ca.key").unlink()
        before = self.contents()
        self.make()
        self.openssl("verify", "-CAfile", "ca.crt", *[path.name for path in self.folder.glob("*.crt")])
        self.assertNotEqual(self.contents()["kafka.crt"], before["kafka.crt"])

    def test_wrong_arguments(self):
        self.assertIn("usage", self.run_script(status=1))
        self.assertIn("services are", self.make("cafka=x", status=1))
        self.assertIn("not a DNS name", self.make("kafka=a$(touch x)b", status=1))
        self.assertFalse(os.path.exists("x"))


if __name__ == "__main__":
    unittest.main()
