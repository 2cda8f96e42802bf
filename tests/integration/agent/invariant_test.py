#!/usr/bin/env python3
"""Violated invariants of the agent: it logs one line and stops tracing, and its host does not notice.

    invariant_test.py --build DIRECTORY

libcuspan_breakable.so contains the agent with a hook in INVARIANT(): CUSPAN_BREAK names a source file whose invariants all
fail. Each file of src/ with an invariant is tried, so those that no replay reaches are also found.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

import sink  # noqa: E402
from built import BUILD  # noqa: E402

RECORDING = ROOT / "examples/recordings/torch_inference.cuspanrec"
HOST_STATUS, HOST_OUTPUT = 7, "host: done\n"
FAULT = re.compile(r"^cuspan: internal error: .* is false \((\w+\.c):\d+\); this process is no longer traced")
CONFIGURATION = """file_format: "1.1"
tracer_provider:
  processors: [{{batch: {{exporter: {{otlp_http: {{endpoint: 'http://127.0.0.1:{port}/v1/traces', encoding: json}}}}}}}}]
distribution:
  cuspan: {{cupti: {{library: '{build}/libcuspan-replay.so'}}, accounts_file: '{folder}/report', exit_deadline_ms: 20000}}
"""


def files_with_invariants():
    found = {path.name for path in (ROOT / "src").rglob("*.c") if re.search(r"\bINVARIANT(_OR_NULL)?\(", path.read_text())}
    return sorted(found - {"invariant.c"})


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.collector = sink.Sink()
        cls.addClassCleanup(cls.collector.close)

    def host(self, broken):
        folder = Path(tempfile.mkdtemp(prefix="broken-test-"))
        self.addCleanup(shutil.rmtree, folder, True)
        self.collector.requests.clear()
        (folder / "cuspan.yaml").write_text(CONFIGURATION.format(port=self.collector.port, build=BUILD, folder=folder))
        env = {key: value for key, value in os.environ.items() if not re.match("CUSPAN_|OTEL_|TRACE|.*_proxy$", key, re.I)}
        env.update(CUSPAN_CONFIG_FILE=str(folder / "cuspan.yaml"), CUSPAN_BREAK=broken, no_proxy="*")
        done = subprocess.run([BUILD / "agent_host", BUILD / "libcuspan_breakable.so", BUILD / "libcuspan-replay.so",
                               RECORDING], env=env, capture_output=True, text=True, timeout=600, cwd=folder)
        self.assertEqual((done.returncode, done.stdout), (HOST_STATUS, HOST_OUTPUT), done.stderr)
        reports = [json.loads(path.read_text()) for path in folder.glob("report.*")]
        return done.stderr.splitlines(), reports[0] if reports else None

    def test_nothing_is_said_while_all_hold(self):
        lines, report = self.host("nothing")
        self.assertEqual(lines, [])
        self.assertEqual((report["counters"]["broken_invariants"], report["losses"]), (0, {}))

    def test_each_is_said_once_and_the_host_goes_on(self):
        files = files_with_invariants()
        self.assertGreater(len(files), 8)
        for name in files:
            with self.subTest(name):
                lines, report = self.host(name)
                self.assertTrue(lines and FAULT.match(lines[0]), lines)
                self.assertEqual(FAULT.match(lines[0])[1], name)
                self.assertEqual(sum(bool(FAULT.match(line)) for line in lines), 1, lines)
                if report is None:  # failed while the settings were read: it never started
                    self.assertRegex("\n".join(lines), "cannot read the configuration")
                    continue
                self.assertGreater(report["counters"]["broken_invariants"], 0)
                for output in report["outputs"]:
                    self.assertEqual(output["delivered"] + output["lost"], report["spans"])

    def test_what_was_made_before_is_delivered_and_the_rest_counted(self):
        lines, report = self.host("pending.c:100")
        got = [span for request in self.collector.requests for group in json.loads(request.body)["resourceSpans"]
               for scope in group["scopeSpans"] for span in scope["spans"]]
        print(f"{len(got)} spans delivered, {report['losses']} lost")
        self.assertGreater(len(got), 0)
        self.assertEqual((len(got), report["delivered"]), (report["spans"], report["spans"]))
        self.assertRegex(lines[0], FAULT)
        self.assertLessEqual(set(report["losses"]), {"lost_broken"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
