#!/usr/bin/env python3
"""The real SGLang on a CPU with an agent that records, in each of its processes: iterations, their requests and tokens
are those of SGLang's own log, all ranks report the same, and each request has its context. A hook that is missing or
raises costs one line. Needs sglang in this Python; no network.

    tests/engines/sglang_test.py [TEST...]"""

from __future__ import annotations

import collections
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
_ACCEPTED = re.compile(r"Decode batch[^\n]*?, accept len: ([\d.]+), accept rate: ([\d.]+)")
_DECODE = re.compile(r"Decode batch[^\n]*?, #running-req: (\d+)")


def split_batches(iterations: list[dict]) -> tuple[list[tuple[int, int]], list[int]]:
    """Requests and tokens of each prefill, and requests of each decode."""
    prefills, decodes = [], []
    for made in iterations:
        requests, tokens, decoding, _ = split(made["parts"])
        if requests:  # SGLang does not log the decodes beside them
            prefills.append((requests, tokens))
        else:
            decodes.append(decoding)
    return prefills, decodes


def logged(log: str) -> tuple[list[tuple[int, int]], list[int]]:
    return [(int(a), int(b)) for a, b in _PREFILL.findall(log)], [int(count) for count in _DECODE.findall(log)]


class Case(EngineCase):
    LOAD = "sglang_load.py"

    def load(self, *arguments: str, requests: int = REQUESTS, **environment: str) -> tuple[list[dict], Events, str]:
        return super().load(*arguments, requests=requests, **ENVIRONMENT, **environment)

    def check(self, done: list[dict], events: Events, log: str, ranks: int = 1) -> None:
        first = events.ranks[0]
        prefills, decodes = batches = split_batches(first)
        self.assertEqual(batches, logged(log))
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
        for process, records in events.by_process.items():
            for made in (record for record in records if record["what"] == "iteration"):
                for number, phase, _, count, *_ in made["parts"]:
                    tokens[events.requests[process, number]["id"], phase] += count
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

    def test_dp_2(self) -> None:
        """Each engine has a seed and numbers of its own, and about half of the requests."""
        done, events, log = self.load("dp_size=2")
        self.check_requests(done, events)
        found = []
        for records in events.by_process.values():
            made = [record for record in records if record["what"] == "iteration"]
            found += [made] if made else []
            self.assertEqual([one["number"] for one in made], list(range(1, len(made) + 1)))
            self.assertEqual({(one["rank"], one["ranks"]) for one in made}, {(0, 1)} if made else set())
        lines = ["\n".join(line for line in log.splitlines() if f" DP{rank}]" in line) for rank in range(2)]
        self.assertEqual(sorted(map(split_batches, found)), sorted(map(logged, lines)))
        self.assertEqual(len({one["seed"] for made in found for one in made}), 2)
        self.assertEqual(warnings_of(log), [])
        print(f"test_dp_2: {[len(made) for made in found]} iterations of {len(done)} requests")

    def test_speculation(self) -> None:
        """Of n-grams. SGLang logs for each decode how many tokens a request got, and which share of its drafts is in them."""
        drafts = 3
        done, events, log = self.load('speculative_algorithm="NGRAM"', f"speculative_num_draft_tokens={drafts + 1}")
        self.check(done, events, log)
        parts = [part for made in events.ranks[0] for part in made["parts"]]
        self.assertEqual({tuple(part[3::2]) for part in parts if part[1] == DECODE}, {(drafts + 1, drafts)})
        self.assertEqual({part[5] for part in parts if part[1] == PREFILL}, {0})
        rates = [(float(tokens), float(rate)) for tokens, rate in _ACCEPTED.findall(log)]
        self.assertGreater(len(rates), 10)
        for tokens, rate in rates:
            self.assertAlmostEqual(tokens - 1, drafts * rate, delta=0.025)

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


class Sequences(Case):
    """n > 1: SGLang computes each prompt once to cache it, and then each sequence as a request, below the same span."""

    COUNT = 3

    def check_requests(self, done: list[dict], events: Events) -> None:
        found = collections.Counter((made["context"], made["prompt"], made["generated"]) for made in events.requests.values())
        wanted: collections.Counter = collections.Counter()
        for at, made in enumerate(done):
            wanted[traceparent(at), made["prompt"], 0] += 1  # it returns none
            wanted[traceparent(at), made["prompt"], made["wanted"]] += self.COUNT
        self.assertEqual(found, wanted)
        self.assertEqual({made["reason"] for made in events.requests.values()}, {FINISHED})
        self.assertEqual(len({made["id"] for made in events.requests.values()}), len(done) * (1 + self.COUNT))

    def test_several_sequences(self) -> None:
        done, events, log = self.load(f'load={{"sequences": {self.COUNT}}}', requests=12)
        self.check(done, events, log)


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
