#!/usr/bin/env python3
"""The spans of an engine with the real agent: transformers' continuous batching on a CPU, and a recording of CUDA calls
that each iteration plays. Needs torch, transformers 5 and the build; no network.

    tests/engines/spans_test.py [BUILD]"""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = 50
BUILD = Path(sys.argv.pop(1) if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else ROOT / "build").resolve()
PROGRAM = f"""
import sys
sys.path += [{str(ROOT / "python")!r}, {str(ROOT / "tests/support")!r}, {str(ROOT / "tests/engines")!r}]
import python_host
double = python_host.begin()
from cuspan import _agent
assert _agent.look_now() is not None
from transformers.generation.continuous_batching import continuous_api
original = continuous_api.ContinuousBatchProcessor._generation_step
def step(self, model):
    python_host.work(double)
    return original(self, model)
continuous_api.ContinuousBatchProcessor._generation_step = step
import transformers_load
result = transformers_load.serve()
import json
json.dump([len(result.batches), result.wanted], open(sys.argv[1], "w"))
"""


def attributes(span: dict) -> dict:
    found = {}
    for one in span.get("attributes", []):
        (kind, value), *_ = one["value"].items()
        found[one["key"]] = int(value) if kind == "intValue" else value
    return found


class Spans(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory(prefix="cuspan-engines-") as folder:
            spans = Path(folder, "spans.jsonl")
            settings = f"cupti.library={BUILD}/libcuspan-replay.so;output_file={spans};engine.ratio=1"
            environment = {
                **os.environ,
                "CUDA_INJECTION64_PATH": f"{BUILD}/libcuspan.so",
                "HOST_DOUBLE": f"{BUILD}/libcuspan-replay.so",
                "HOST_RECORDING": f"{ROOT}/examples/recordings/vector_add.cuspanrec",
                "CUSPAN_SET": settings,
            }
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, f"{folder}/result"], env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr[-3000:]
            cls.log = done.stderr
            cls.batches, cls.wanted = json.loads(Path(folder, "result").read_text())
            cls.spans = [
                span
                for line in spans.read_text().splitlines()
                for resource in json.loads(line)["resourceSpans"]
                for scope in resource["scopeSpans"]
                for span in scope["spans"]
            ]
        cls.by_id = {(span["traceId"], span["spanId"]): span for span in cls.spans}
        cls.requests = [span for span in cls.spans if span["name"] == "transformers request"]
        cls.iterations = [span for span in cls.spans if span["name"].startswith("iteration ")]

    def test_each_request_has_a_span_in_its_trace(self) -> None:
        parents = {f"{at + 1:032x}": f"{at + 1:016x}" for at in range(REQUESTS)}
        self.assertEqual({span["traceId"]: span["parentSpanId"] for span in self.requests}, parents)
        for span in self.requests:
            found = attributes(span)
            prompt, generated = self.wanted[found["gen_ai.request.id"]]
            self.assertEqual(found["engine.request.prompt_tokens"], prompt)
            self.assertEqual(found["engine.request.generated_tokens"], generated)
            self.assertEqual(found["engine.request.prefill_tokens"], prompt)
            self.assertEqual(found["engine.request.decode_tokens"], generated - 1)
            self.assertEqual(found["engine.request.end"], "finished")

    def test_each_iteration_is_a_trace(self) -> None:
        self.assertEqual(len(self.iterations), self.batches)
        ranks = collections.Counter(
            (span["traceId"], span.get("parentSpanId")) for span in self.spans if span["name"] == "rank 0"
        )
        self.assertEqual(ranks, {(span["traceId"], span["spanId"]): 1 for span in self.iterations})

    def test_links_lead_both_ways(self) -> None:
        for here in self.requests + self.iterations:
            self.assertTrue(here.get("links"))
            for link in here["links"]:
                self.assertIn((link["traceId"], link["spanId"]), self.by_id)

    def test_gpu_work_is_below_iterations(self) -> None:
        traces = {span["traceId"] for span in self.iterations}
        kernels = [span for span in self.spans if "cuda.kernel.name" in attributes(span) or "vector" in span["name"]]
        inside = sum(span["traceId"] in traces for span in kernels)
        print(f"{len(self.iterations)} iterations, {len(self.requests)} requests, {inside} of {len(kernels)} kernels")
        self.assertGreater(len(kernels), 0)
        self.assertEqual(inside, len(kernels))


if __name__ == "__main__":
    unittest.main()
