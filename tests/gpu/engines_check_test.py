#!/usr/bin/env python3
"""Tests engines_check.py and engines_metrics.py with a recording of vLLM on an H200 and what vLLM said in that run
(recordings/vllm_served.json), and with changes of both. Needs no GPU.

    engines_check_test.py --build DIRECTORY"""

import argparse
import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GPU = Path(__file__).resolve().parent
ROOT = GPU.parents[1]
BUILD = ROOT / "build"


class Vllm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.requests, cls.spans = cls.folder / "requests", cls.folder / "spans.jsonl"
        subprocess.run([GPU / "engines_metrics.py", "receive", cls.requests, BUILD / "cuspan", "replay", "--quiet", "--file", cls.spans,
                        "--set", "engine.ratio=1", ROOT / "examples/engines/vllm.cuspanrec"], check=True, timeout=300)
        cls.served = json.loads((GPU / "recordings/vllm_served.json").read_text())

    def run_check(self, served, *options, spans=None):
        path = self.folder / "served.json"
        path.write_text(json.dumps(served))
        return subprocess.run([GPU / "engines_check.py", spans or self.spans, path, "--all", *options], capture_output=True, text=True, timeout=300)

    def run_metrics(self, served, requests=None):
        path = self.folder / "served.json"
        path.write_text(json.dumps(served))
        return subprocess.run([GPU / "engines_metrics.py", "compare", requests or self.requests, self.spans, path, "vllm"], capture_output=True,
                              text=True, timeout=300)

    def lies(self):
        def change(function):
            changed = copy.deepcopy(self.served)
            function(changed)
            return changed

        yield "an iteration more", change(lambda served: served["batches"].append(served["batches"][-1]))
        yield "a token more", change(lambda served: served["batches"][1][0].__setitem__(1, 99))
        yield "a request more", change(lambda served: served["wanted"].update(r99=[1, 1]))

    def test_they_agree(self):
        for done in self.run_check(self.served), self.run_metrics(self.served):
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("12 requests, 15 iterations", self.run_check(self.served).stdout)

    def test_the_engine_says_something_else(self):
        for what, served in self.lies():
            with self.subTest(what):
                self.assertEqual(self.run_check(served).returncode, 1)
                self.assertEqual(self.run_metrics(served).returncode, 1)

    def test_ranks_are_missing(self):
        done = self.run_check(self.served, "2")
        self.assertIn("15 iterations, and 15 spans of 2 ranks", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_spans_are_missing(self):
        for name in "vllm request", "rank 0", "iteration 7":
            kept = self.folder / "kept.jsonl"
            with kept.open("w") as out:
                for line in self.spans.read_text().splitlines():
                    batch = json.loads(line)
                    for scope in (scope for resource in batch.get("resourceSpans", []) for scope in resource["scopeSpans"]):
                        scope["spans"] = [span for span in scope["spans"] if span["name"] != name]
                    print(json.dumps(batch), file=out)
            with self.subTest(name):
                self.assertEqual(self.run_check(self.served, spans=kept).returncode, 1)

    def test_metrics_are_missing(self):
        changed = self.folder / "changed"
        changed.write_text(self.requests.read_text().replace("engine.gpu.time", "engine.gpu.other"))
        self.assertEqual(self.run_metrics(self.served, changed).returncode, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    options, rest = parser.parse_known_args()
    BUILD = options.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
