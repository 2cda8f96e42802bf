#!/usr/bin/env python3
"""The spans of engines with the real agent: transformers' continuous batching, and vLLM if there is one, on a CPU. Each
iteration plays a recording of CUDA calls. Needs torch, transformers 5 and the build; no network.

    tests/engines/spans_test.py [BUILD]"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import servers

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


class Engine:
    """The tests of each engine. A subclass runs it in setUpClass()."""

    ENGINE = ""
    RANKS = 1
    RATIO = 1
    WARM_UPS = 0  # runs of the model outside iterations

    @classmethod
    def run_engine(cls, command: list[object], folder: Path, **more: str) -> None:
        spans = folder / "spans.jsonl"
        environment = {
            **os.environ,
            **more,
            "CUDA_INJECTION64_PATH": f"{BUILD}/libcuspan.so",
            "HOST_DOUBLE": f"{BUILD}/libcuspan-replay.so",
            "HOST_RECORDING": f"{ROOT}/examples/recordings/vector_add.cuspanrec",
            "CUSPAN_SET": f"cupti.library={BUILD}/libcuspan-replay.so;output_file={spans};engine.ratio={cls.RATIO}",
        }
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        cls.log = done.stdout + done.stderr
        cls.spans = [
            span
            for line in spans.read_text().splitlines()
            for resource in json.loads(line)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]
        cls.by_id = {(span["traceId"], span["spanId"]): span for span in cls.spans}
        cls.requests = [span for span in cls.spans if span["name"] == f"{cls.ENGINE} request"]
        cls.iterations = [span for span in cls.spans if span["name"].startswith("iteration ")]
        cls.rank_0 = {span["traceId"]: span for span in cls.spans if span["name"] == "rank 0"}

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

    def test_each_iteration_is_a_trace_of_all_ranks(self) -> None:
        self.assertEqual(len(self.iterations), self.batches)
        for rank in range(self.RANKS):
            found = [(span["traceId"], span["parentSpanId"]) for span in self.spans if span["name"] == f"rank {rank}"]
            self.assertEqual(sorted(found), sorted((span["traceId"], span["spanId"]) for span in self.iterations))

    def test_links_lead_both_ways(self) -> None:
        """From requests to iterations, and from rank 0 of these to requests."""
        for here in [*self.requests, *self.rank_0.values()]:
            self.assertTrue(here.get("links"))
            for link in here["links"]:
                self.assertIn((link["traceId"], link["spanId"]), self.by_id)
        self.assertFalse([span["name"] for span in self.iterations if "links" in span])

    def test_gpu_work_is_below_iterations(self) -> None:
        traces = {span["traceId"] for span in self.iterations}
        kernels = [span for span in self.spans if "cuda.kernel.name" in attributes(span) or "vector" in span["name"]]
        inside = sum(span["traceId"] in traces for span in kernels)
        print(
            f"{self.ENGINE}: {len(self.iterations)} iterations, {len(self.requests)} requests, {len(kernels)} kernels"
        )
        self.assertGreater(len(kernels), 0)
        self.assertEqual((inside, len(kernels) - inside), (self.batches * self.RANKS, self.WARM_UPS))


class Transformers(Engine, unittest.TestCase):
    ENGINE = "transformers"

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory(prefix="cuspan-engines-") as folder:
            cls.run_engine([sys.executable, "-c", PROGRAM, f"{folder}/result"], Path(folder))
            cls.batches, cls.wanted = json.loads(Path(folder, "result").read_text())


class Summaries(Engine):
    """Nothing is recorded, except what begins a sampled request."""

    RATIO = 0

    def test_each_iteration_is_a_trace_of_all_ranks(self) -> None:
        summaries = [span for span in self.iterations if attributes(span).get("engine.iteration.summary")]
        print(f"{self.ENGINE}: {len(summaries)} summaries of {self.batches} iterations, {len(self.iterations)} traces")
        self.assertGreater(len(summaries), 0)
        self.assertLess(len(self.iterations), self.batches)
        for rank in range(self.RANKS):
            found = [(span["traceId"], span["parentSpanId"]) for span in self.spans if span["name"] == f"rank {rank}"]
            self.assertEqual(sorted(found), sorted((span["traceId"], span["spanId"]) for span in self.iterations))

    def test_links_lead_both_ways(self) -> None:
        links = {(span["traceId"], span["spanId"]): self.links(span) for span in self.requests}
        links |= {(span["traceId"], span["spanId"]): self.links(self.rank_0[span["traceId"]]) for span in self.iterations}
        self.assertTrue(all(links[span["traceId"], span["spanId"]] for span in self.iterations))
        for here, there in links.items():
            for one in there:
                of_request = [link for link in links[one] if attributes(self.by_id[link]).get("engine.iteration.summary")]
                self.assertTrue(here in links[one] or len(of_request) == 16, (here, one))

    @staticmethod
    def links(span: dict) -> list[tuple[str, str]]:
        return [(link["traceId"], link["spanId"]) for link in span.get("links", [])]

    def test_gpu_work_is_below_iterations(self) -> None:
        self.skipTest("there is none of summaries")


class TransformersSummaries(Summaries, Transformers):
    pass


@unittest.skipUnless(importlib.util.find_spec("vllm"), "there is no vLLM")
class Vllm(Engine, unittest.TestCase):
    """Two workers, EngineCore and the program, each a process with an agent."""

    ENGINE = "vllm"
    RANKS = 2
    WARM_UPS = 2

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory(prefix="cuspan-engines-") as folder:
            out, model = Path(folder, "out.json"), Path(folder, "model")
            servers.make_model(model)
            program = [sys.executable, Path(__file__).with_name("vllm_load.py"), model, out, REQUESTS]
            more = {"ENGINE_AGENT": str(ROOT / "tests/support"), "VLLM_WORKER_MULTIPROC_METHOD": "spawn"}
            cls.run_engine([*program, "tensor_parallel_size=2"], Path(folder), **servers.ENVIRONMENT, **more)
            cls.wanted = {made["id"]: (made["prompt"], made["wanted"]) for made in json.loads(out.read_text())}
            cls.batches = cls.log.count(" context requests, ")


@unittest.skipUnless(importlib.util.find_spec("vllm"), "there is no vLLM")
class Transfer(unittest.TestCase):
    """One vLLM computes the prompts, another continues with its KV caches: one trace has a span of each."""

    def test_a_trace_has_a_span_of_each_engine(self) -> None:
        with tempfile.TemporaryDirectory(prefix="cuspan-engines-") as folder:
            model = Path(folder, "model")
            servers.make_model(model)
            prefill = self.spans_of(Path(folder, "prefill"), model, folder, "kv_producer", "only_prefill=true")
            decode = self.spans_of(Path(folder, "decode"), model, folder, "kv_consumer")
        parents = {f"{at + 1:032x}": f"{at + 1:016x}" for at in range(REQUESTS)}
        for spans in prefill, decode:
            self.assertEqual({trace: span["parentSpanId"] for trace, span in spans.items()}, parents)
        transferred = 0
        for trace, span in prefill.items():
            self.assertNotEqual(span["spanId"], decode[trace]["spanId"])
            first, second = attributes(span), attributes(decode[trace])
            for name in "gen_ai.request.id", "engine.request.prompt_tokens", "engine.request.end":
                self.assertEqual(first[name], second[name])
            self.assertEqual(first["engine.request.prefill_tokens"], first["engine.request.prompt_tokens"])
            transferred += second["engine.request.cached_tokens"]
            self.assertEqual(
                second["engine.request.cached_tokens"] + second["engine.request.prefill_tokens"],
                second["engine.request.prompt_tokens"],
            )
        self.assertGreater(transferred, 1000)
        print(f"{len(decode)} traces of two engines, {transferred} tokens transferred")

    def spans_of(self, folder: Path, model: Path, store: str, role: str, *arguments: str) -> dict[str, dict]:
        """Those of requests, by their trace."""
        folder.mkdir()

        class Run(Engine):
            ENGINE = "vllm"

        program = [sys.executable, Path(__file__).with_name("vllm_load.py"), model, folder / "out.json", REQUESTS]
        more = {"ENGINE_AGENT": str(ROOT / "tests/support"), "VLLM_WORKER_MULTIPROC_METHOD": "spawn"}
        Run.run_engine([*program, *servers.transfer(role, store), *arguments], folder, **servers.ENVIRONMENT, **more)
        return {span["traceId"]: span for span in Run.requests}


class VllmSummaries(Summaries, Vllm):
    pass


if __name__ == "__main__":
    unittest.main()
