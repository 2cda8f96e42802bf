"""Profiles through a real Collector, into a file and to a receiver: what arrives is what the spans say. Called by tests/e2e/profiles.sh,
with the Collector's path in COLLECTOR."""

import json
import os
import sys
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/integration/agent")]
import otlp_profiles  # noqa: E402
from backend import Process, free_ports, post_nothing  # noqa: E402
from profiles_test import PATH, SERVICE, TORCH, Case, expected, got  # noqa: E402

GATE = "--feature-gates=service.profilesSupport"
CONFIG = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters:
  file: {{path: {file}, flush_interval: 100ms}}
  otlp_http: {{endpoint: "http://127.0.0.1:{sink}"}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [otlp_http]}}
{profiles}
"""
PIPELINE = "    profiles: {receivers: [otlp], exporters: [otlp_http, file]}"


class ThroughACollector(Case):
    def start(self, profiles, *options):
        port, = free_ports(1)
        config, self.file = self.folder / "collector.yaml", self.folder / "profiles.jsonl"
        config.write_text(CONFIG.format(port=port, sink=self.sink.port, file=self.file, profiles=profiles))
        collector = Process(os.environ["COLLECTOR"], config, self.folder, "collector", {}, lambda: post_nothing(port), options)
        self.addCleanup(collector.close)
        return port

    def wait_for(self, read):
        deadline = time.monotonic() + 60
        while not (found := read()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        return found

    def arrived(self):
        """The profiles at the receiver behind the Collector."""
        bodies = self.wait_for(lambda: [request.body for request in self.sink.requests if request.path == PATH])
        return [profile for body in bodies for profile in otlp_profiles.read(body)]

    def test_what_arrives_is_what_was_sent(self):
        port = self.start(PIPELINE, GATE)
        for name in TORCH, SERVICE:
            with self.subTest(recording=name):
                spans, _ = self.replay(name)  # directly
                wanted = expected(spans)
                self.replay(name, f"profiles.endpoint=http://127.0.0.1:{port}{PATH}")
                self.assertEqual(self.report["losses"], {})
                times = got(self.arrived(), False)
                for kind, of_kind in wanted.items():
                    self.assertEqual(sum(times[kind].values()), sum(of_kind.values()))
                    self.assertEqual({frames for frames, _ in times[kind]}, {frames for frames, _ in of_kind})

    def test_the_file(self):
        port = self.start(PIPELINE, GATE)
        self.replay(TORCH, f"profiles.endpoint=http://127.0.0.1:{port}{PATH}")
        line, _ = self.wait_for(lambda: self.file.exists() and self.file.read_text().count("\n") and self.file.read_text().split("\n", 1))
        data = json.loads(line)
        dictionary = data["dictionary"]
        strings = dictionary["stringTable"]
        profile = data["resourceProfiles"][0]["scopeProfiles"][0]["profiles"][0]
        self.assertEqual(strings[profile["sampleType"]["typeStrindex"]], "gpu_kernel_time")
        leaf = dictionary["stackTable"][profile["samples"][0]["stackIndex"]]["locationIndices"][0]
        attribute = dictionary["attributeTable"][dictionary["locationTable"][leaf]["attributeIndices"][0]]
        self.assertEqual((strings[attribute["keyStrindex"]], attribute["value"]["stringValue"]), ("profile.frame.type", "cuda"))
        self.assertEqual(len(dictionary["linkTable"]), 2)

    def test_a_collector_without_profiles_refuses_them(self):
        port = self.start("")
        self.replay(TORCH, f"profiles.endpoint=http://127.0.0.1:{port}{PATH}")
        self.assertEqual(self.report["losses"], {"lost_profile_samples": self.report["counters"]["profile_samples_made"]})
        self.assertIn("refuses profiles, which are lost: HTTP 404", self.stderr)


if __name__ == "__main__":
    unittest.main()
