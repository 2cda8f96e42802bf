#!/usr/bin/env python3
"""The real SGLang on a CPU with an agent that records, in each of its processes: iterations, their requests and tokens
are those of SGLang's own log, all ranks report the same, and each request has its context. A hook that is missing or
raises costs one line. Needs sglang in this Python; no network.

    tests/engines/sglang_test.py [TEST...]"""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path

from servers import DECODE, PREFILL, REQUESTS, EngineCase, Events, Server, split, traceparent, warnings_of

FINISHED, ABORTED = 0, 1
PORT = 27813
ENVIRONMENT = {"ENGINE_STUBS": "sglang", "SGLANG_USE_CPU_ENGINE": "1", "SGLANG_CPU_OMP_THREADS_BIND": "0|1"}
_PREFILL = re.compile(r"Prefill batch[^\n]*?, #new-seq: (\d+), #new-token: (\d+)")
_DECODE = re.compile(r"Decode batch[^\n]*?, #running-req: (\d+)")


class Case(EngineCase):
    LOAD = "sglang_load.py"

    def load(self, *arguments: str, requests: int = REQUESTS, **environment: str) -> tuple[list[dict], Events, str]:
        return super().load(*arguments, requests=requests, **ENVIRONMENT, **environment)

    def check(self, done: list[dict], events: Events, log: str, ranks: int = 1) -> None:
        first = events.ranks[0]
        prefills, decodes = [], []
        for made in first:
            requests, tokens, decoding, _ = split(made["parts"])
            if requests:  # SGLang does not log the decodes beside them
                prefills.append((requests, tokens))
            else:
                decodes.append(decoding)
        self.assertEqual(prefills, [(int(a), int(b)) for a, b in _PREFILL.findall(log)])
        self.assertEqual(decodes, [int(count) for count in _DECODE.findall(log)])
        self.check_ranks(events, log, ranks)
        self.check_requests(done, events)
        print(
            f"{self.id().split('.')[-1]}: {len(first)} iterations, {len(prefills)} + {len(decodes)} in SGLang's log, "
            f"{ranks} ranks, {sum(part[3] for made in first for part in made['parts'])} tokens"
        )

    def check_requests(self, done: list[dict], events: Events) -> None:
        named = {made["id"]: made for made in events.requests.values()}
        self.assertEqual(sorted(named), sorted(made["id"] for made in done))
        tokens = {(name, phase): 0 for name in named for phase in (PREFILL, DECODE)}
        for made in events.ranks[0]:
            for number, phase, _, count, *_ in made["parts"]:
                name = next(one["id"] for one in events.requests.values() if one["number"] == number)
                tokens[name, phase] += count
        for made in done:
            request = named[made["id"]]
            self.assertEqual(request["context"], traceparent(int(made["id"][1:])))
            self.assertEqual(request["prompt"], made["prompt"])
            self.assertEqual(request["reason"], ABORTED if made["aborted"] else FINISHED)
            if not made["aborted"]:
                self.assertEqual((request["generated"], request["cached"]), (made["wanted"], made["cached"]))
                self.check_tokens(made, tokens)

    def check_tokens(self, made: dict, tokens: dict[tuple[str, int], int]) -> None:
        name = made["id"]
        self.assertEqual(tokens[name, PREFILL], made["prompt"] - made["cached"])
        self.assertGreaterEqual(tokens[name, DECODE], made["wanted"] - 1)


class Engines(Case):
    def test_tp_1(self) -> None:
        self.check(*self.load())

    def test_tp_2(self) -> None:
        self.check(*self.load("tp_size=2"), ranks=2)

    def test_pp_2(self) -> None:
        done, events, log = self.load("pp_size=2")
        log = "\n".join(line for line in log.splitlines() if " PP1]" not in line)  # each stage logs
        self.check(done, events, log, ranks=2)

    def test_500_requests(self) -> None:
        self.check(*self.load("max_running_requests=128", requests=500))

    def test_mixed_chunks(self) -> None:
        self.check(*self.load("enable_mixed_chunk=true"))


class Requests(Case):
    def test_aborted(self) -> None:
        self.check(*self.load('load={"abort": 3}', requests=12))

    def test_cached_prefixes(self) -> None:
        done, events, log = self.load('load={"repeats": true, "delay": 0.3}', requests=12)
        self.check(done, events, log)
        self.assertGreater(sum(made["cached"] for made in events.requests.values()), 100)


class Preemptions(Case):
    """Their tokens are computed again."""

    def check_tokens(self, made: dict, tokens: dict[tuple[str, int], int]) -> None:
        self.assertGreaterEqual(tokens[made["id"], PREFILL], made["prompt"] - made["cached"])

    def test_preemptions(self) -> None:
        done, events, log = self.load("disable_radix_cache=true", requests=20, SGLANG_TEST_RETRACT="1")
        self.check(done, events, log)
        resumed = sum(part[2] for made in events.ranks[0] for part in made["parts"])
        self.assertGreater(resumed, 0)
        print(f"{resumed} preemptions")


class Http(Case):
    def test_contexts(self) -> None:
        folder, model = Path(tempfile.mkdtemp(dir=self.folder)), self.folder / "model"
        options = (
            "--device cpu --attention-backend torch_native --sampling-backend pytorch --grammar-backend none "
            "--load-format dummy --dtype float32 --context-length 1024 --max-total-tokens 20000"
        )
        module = [sys.executable, "-m", "sglang.launch_server", "--model-path", model]
        command = [*module, *options.split(), "--host", "127.0.0.1", "--port", PORT]
        server = Server(command, folder, model, PORT, ENVIRONMENT, ignore_eos=True)
        events = server.run([[5 + at] * (3 + at) for at in range(REQUESTS)], leave=3)
        self.assertEqual(server.used, [8] * (REQUESTS - 3), server.log()[-3000:])
        self.assertEqual(warnings_of(server.log()), [])
        found = {
            (made["context"], made["prompt"], made["reason"]) for made in events.requests.values() if made["context"]
        }
        wanted = {(traceparent(at), 3 + at, ABORTED if at < 3 else FINISHED) for at in range(REQUESTS)}
        self.assertEqual(found, wanted)
        print(f"{len(found)} contexts of {REQUESTS}")


class Broken(Case):
    POINTS = [
        "APIServerReqTimeStats.__init__",
        "ReqTimeStatsBase.__getstate__",
        "Scheduler.__init__",
        "Scheduler.run_batch",
        "Scheduler.process_batch_result",
    ]

    def test_each_hook(self) -> None:
        self.check_broken("SGLang", self.POINTS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
