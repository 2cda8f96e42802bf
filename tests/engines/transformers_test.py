#!/usr/bin/env python3
"""Continuous batching of the real transformers on a CPU, with an agent that records: iterations, their requests and
tokens are what transformers reports, and each request has its context. Needs torch and transformers 5; no network.

    tests/engines/transformers_test.py [TEST...]"""

from __future__ import annotations

import collections
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["CUDA_INJECTION64_PATH"] = ""
PYTHON = Path(__file__).resolve().parents[2] / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "tests")]

import transformers  # noqa: E402
from fake_engine_agent import DECODE, PREFILL, FakeAgent  # noqa: E402
from transformers.generation.continuous_batching import continuous_api  # noqa: E402
from transformers_load import Result, serve, traceparent  # noqa: E402

from cuspan import _engines  # noqa: E402

FINISHED, ABORTED, FAILED = range(3)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.agent = FakeAgent()
        manager = continuous_api.ContinuousBatchingManager
        self.addCleanup(setattr, manager, "__init__", manager.__init__)
        for patch in mock.patch("cuspan._guard._logged", set()), mock.patch("cuspan._engines._missing", set()):
            patch.start()
            self.addCleanup(patch.stop)

    def served(self, **options) -> Result:
        _engines._install(self.agent)
        return serve(**options)

    def named(self) -> dict[str, dict]:
        return {made["id"]: made for made in self.agent.requests.values()}

    def tokens(self) -> collections.Counter:
        found: collections.Counter = collections.Counter()
        for made in self.agent.iterations:
            for number, phase, _, tokens, _, _ in made["parts"]:
                found[self.agent.requests[number]["id"], phase] += tokens
        return found

    def check(self, result: Result, sequences: int = 1) -> None:
        """Iterations and their members are those of transformers' scheduler. No request is missing."""
        agent = self.agent
        parts = [[(agent.requests[part[0]]["id"], part[3]) for part in made["parts"]] for made in agent.iterations]
        self.assertEqual(parts, result.batches)
        self.assertEqual([made["number"] for made in agent.iterations], list(range(1, len(parts) + 1)))
        self.assertEqual(len({made["seed"] for made in agent.iterations}), 1)
        self.assertEqual(agent.open, 0)
        named = self.named()
        self.assertEqual(len(named), len(result.wanted) * sequences)
        for name, made in named.items():
            self.assertEqual(made["context"].traceparent(), traceparent(int(name.partition("_")[0][1:])))
            self.assertGreater(made["arrived"], 1_700_000_000_000_000_000)
            self.assertEqual((made["reason"], made["tokens"]), (FINISHED, len(result.outputs[name])))
        self.assertEqual(sum(event[0] == "end" for event in agent.events), len(named))


class Batching(Case):
    def test_iterations_requests_and_tokens(self) -> None:
        result = self.served()
        self.check(result)
        found = self.tokens()
        for name, (prompt, generated) in result.wanted.items():
            self.assertEqual(len(result.outputs[name]), generated)
            self.assertEqual((found[name, PREFILL], found[name, DECODE]), (prompt, generated - 1))
            self.assertEqual(self.named()[name]["prompt"], prompt)
        print(f"transformers {transformers.__version__}: {len(result.batches)} iterations, {found.total()} tokens")
        self.assertEqual(self.agent.iterations[0]["recorded"], 1)
        self.assertLess(sum(made["recorded"] for made in self.agent.iterations), len(result.batches) / 2)

    def test_results_are_read_for_their_own_iteration(self) -> None:
        self.served()
        numbers = [made["number"] for _, made in self.agent.threads]
        self.assertEqual(numbers, [made["number"] for made in self.agent.iterations])
        self.assertEqual(sum(event[0] == "detach" for event in self.agent.events), len(numbers))

    def test_a_cache_that_is_too_small(self) -> None:
        result = self.served(blocks=60)
        self.check(result)
        resumed = sum(part[2] for made in self.agent.iterations for part in made["parts"])
        self.assertGreater(resumed, 0)
        found = self.tokens()
        for name, (prompt, generated) in result.wanted.items():
            self.assertGreaterEqual(found[name, PREFILL], prompt)
            self.assertLessEqual(found[name, DECODE], generated - 1)
        print(f"{resumed} preemptions in {len(result.batches)} iterations")

    def test_several_sequences_for_a_prompt(self) -> None:
        self.check(self.served(sequences=3, requests=10), sequences=3)

    def test_cancelled_requests(self) -> None:
        result = self.served(cancel=3)
        named = self.named()
        cancelled = [made for made in named.values() if made["id"] not in result.outputs]
        self.assertEqual([made.get("reason") for made in cancelled], [ABORTED] * 3)
        self.assertEqual(len(named) - len(cancelled), len(result.outputs))

    def test_clients_ids_like_those_of_the_warm_up(self) -> None:
        result = self.served(requests=3, prefix="__warmup_")
        self.assertEqual(len(self.named()), 3)
        self.assertEqual(len(self.agent.iterations), len(result.batches))

    def test_a_model_that_fails(self) -> None:
        with mock.patch.object(continuous_api.ContinuousBatchProcessor, "_generation_step", side_effect=OSError("x")):
            self.served()
        self.assertEqual({made.get("reason") for made in self.named().values()}, {FAILED})
        self.assertEqual(self.agent.open, 0)


class Errors(Case):
    """Each hook is missing, or raises, in turn: one line, and the same tokens."""

    POINTS = [
        "ContinuousBatchingManager.__init__",
        "ContinuousBatchingManager.input_queue.put",
        "ContinuousBatchingManager._create_batch_processor",
        "ContinuousBatchProcessor.inputs_and_outputs.prepare_batch_tensors",
        "ContinuousBatchProcessor._generation_step",
        "ContinuousBatchProcessor.update_batch",
        "ContinuousBatchProcessor.offloading_manager.offload_requests",
        "ContinuousBatchProcessor.scheduler.finish_request",
        "ContinuousBatchProcessor.scheduler.clear_cancelled_requests",
    ]

    def outputs(self) -> dict[str, list[int]]:
        return serve(blocks=60, requests=12).outputs

    def test_each_hook(self) -> None:
        wanted, original = self.outputs(), _engines.hook
        self.assertEqual(len(wanted), 12)
        seen = set()
        for point in self.POINTS:
            for what in "missing", "raising":

                def hook(owner, name, label, before=None, after=None, point=point, what=what):
                    seen.add(f"{label}.{name}")
                    if f"{label}.{name}" == f"transformers {point}" and what == "missing":
                        return original(object(), name, label) if name != "__init__" else original(None, "x", "y")
                    if f"{label}.{name}" == f"transformers {point}":
                        before, after = before and refuse, after and refuse
                    return original(owner, name, label, before, after)

                with (
                    self.subTest(point, what=what),
                    mock.patch("cuspan._engine_transformers.hook", hook),
                    mock.patch("cuspan._engines.hook", hook),
                    self.assertLogs("cuspan", "WARNING") as logged,
                ):
                    self.doCleanups()
                    self.setUp()
                    _engines._install(self.agent)
                    self.assertEqual(self.outputs(), wanted)
                    self.assertEqual(len(logged.output), 1, logged.output)
        self.assertEqual(seen, {f"transformers {point}" for point in self.POINTS})

    def test_an_agent_that_fails(self) -> None:
        wanted = self.outputs()
        for name in "request", "request_end", "iteration", "iteration_end", "iteration_here", "detach":
            with self.subTest(name), mock.patch.object(self.agent, name, refuse):
                self.doCleanups()
                self.setUp()
                setattr(self.agent, name, refuse)
                with self.assertLogs("cuspan", "WARNING") as logged:
                    _engines._install(self.agent)
                    self.assertEqual(self.outputs(), wanted)
                self.assertLessEqual(len(logged.output), 2, logged.output)

    def test_an_agent_without_iterations(self) -> None:
        before = continuous_api.ContinuousBatchingManager.__init__
        self.agent.has_iterations = False
        _engines._install(self.agent)
        self.assertIs(continuous_api.ContinuousBatchingManager.__init__, before)


class Refused(Exception):
    pass


def refuse(*_args, **_keywords):
    raise Refused


if __name__ == "__main__":
    unittest.main()
