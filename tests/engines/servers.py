"""For the tests with servers: a tiny model, processes of an engine, what they report, and requests over HTTP."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / "python"
REQUESTS = int(os.environ.get("REQUESTS", "50"))
PREFILL, DECODE = 0, 1
DUMMY = 1  # a kind of iterations
_WARNED = re.compile(r"cuspan: [^\n]*")
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "CUDA_INJECTION64_PATH": "",
    "ENGINE_PYTHONPATH": str(PYTHON),
    "PYTHONPATH": os.pathsep.join([str(HERE / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]),
}


VLLM_SETTINGS = {
    "load_format": "dummy",
    "enforce_eager": True,
    "max_model_len": 1024,
    "dtype": "float32",
    "max_num_seqs": 32,
    "max_num_batched_tokens": 256,
    "enable_logging_iteration_details": True,
    "disable_log_stats": False,
}


def transfer(role: str, store: str, **more: bool) -> list[str]:
    """Arguments of a vLLM that writes its KV caches to a folder, or reads them from there."""
    connector = {
        "kv_connector": "CpuConnector",
        "kv_connector_module_path": "kv_connector",
        "kv_role": role,
        "kv_connector_extra_config": {"shared_storage_path": store, **more},
    }
    settings = ["block_size=32", "max_num_batched_tokens=8192", "enable_prefix_caching=false", "prompts=[60, 130, 200]"]
    return [*settings, f"kv_transfer_config={json.dumps(connector)}"]


def make_model(folder: Path, **more: object) -> None:
    """`more` replaces entries of its config.json."""
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
        **more,
    }
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
    words = {"<unk>": 0, "<s>": 1, "</s>": 2, **{f"t{at}": at for at in range(3, 512)}}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    fast.save_pretrained(folder)


@contextlib.contextmanager
def running(command: list[object], log: Path, **environment: str) -> Iterator[subprocess.Popen]:
    """In a process group of its own, of which nothing is left."""
    with log.open("w") as file:
        variables = {**os.environ, **ENVIRONMENT, **environment}
        words = [str(word) for word in command]
        process = subprocess.Popen(words, env=variables, stdout=file, stderr=file, start_new_session=True)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def traceparent(at: int) -> str:
    return f"00-{at + 1:032x}-{at + 1:016x}-01"


class Events:
    """The reports of an engine's processes."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        self.by_process = {path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in paths}
        self.ranks: dict[int, list[dict]] = {}
        self.requests: dict[tuple[str, int], dict] = {}  # by process and number
        self.iterations: list[dict] = []
        self.dummies: list[dict] = []
        self.here: list[dict] = []
        for process, records in self.by_process.items():
            made = [record for record in records if record["what"] == "iteration"]
            iterations = [record for record in made if record["kind"] != DUMMY]
            self.dummies += [record for record in made if record["kind"] == DUMMY]
            if iterations:
                self.ranks[iterations[0]["rank"]] = iterations
                self.iterations += iterations
            for record in records:
                if record["what"] == "request":
                    self.requests[process, record["number"]] = record
                elif record["what"] == "end":
                    self.requests[process, record["number"]].update(reason=record["reason"], generated=record["tokens"])
            self.here += [record for record in records if record["what"] == "here"]


class Server:
    """An engine behind HTTP, with an agent that records in each process."""

    def __init__(
        self, command: list[object], folder: Path, model: Path, port: int, environment: dict[str, str], **options: object
    ) -> None:
        self.command, self.folder, self.model, self.port = command, folder, model, port
        self.environment = environment
        self.options = options
        self.used: list[int] = []

    def post(self, at: int, prompt: object, leaves: bool = False) -> None:
        """A client that leaves closes the connection after the first tokens."""
        length = {"max_tokens": 900, "stream": True} if leaves else {"max_tokens": 8}
        body = {"model": str(self.model), "prompt": prompt, **length, **self.options}
        headers = {"Content-Type": "application/json", "traceparent": traceparent(at), "X-Request-Id": f"r{at}"}
        url = f"http://127.0.0.1:{self.port}/v1/completions"
        with urllib.request.urlopen(
            urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=200
        ) as out:
            if leaves:
                out.readline()
            else:
                self.used.append(json.load(out)["usage"]["completion_tokens"])

    def run(self, prompts: list[object], leave: int = 0) -> Events:
        """All requests at once, each with a context of its own. The first `leave` clients leave."""
        with running(self.command, self.folder / "log", ENGINE_EVENTS=str(self.folder), **self.environment) as process:
            for _ in range(600):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5).close()
                    break
                assert process.poll() is None, self.log()[-3000:]
                time.sleep(1)
            threads = [threading.Thread(target=self.post, args=(*one, one[0] < leave)) for one in enumerate(prompts)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            time.sleep(2)  # what follows the last answer
        return Events(self.folder)

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")


def warnings_of(log: str) -> list[str]:
    return _WARNED.findall(log)


def split(parts: list[list[int]]) -> tuple[int, int, int, int]:
    tokens = {phase: [part[3] for part in parts if part[1] == phase] for phase in (PREFILL, DECODE)}
    return len(tokens[PREFILL]), sum(tokens[PREFILL]), len(tokens[DECODE]), sum(tokens[DECODE])


class EngineCase(unittest.TestCase):
    """Runs an engine whose processes report."""

    LOAD = ""  # a program that passes requests to the engine
    CONFIG: dict[str, object] = {}  # of the model

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="cuspan-engines-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        make_model(cls.folder / "model", **cls.CONFIG)

    def check_ranks(self, events: Events, log: str, ranks: int) -> None:
        """All ranks report the same iterations, each of which ends before the next. Only rank 0 has the parts."""
        first = events.ranks[0]
        self.assertEqual([made["number"] for made in first], list(range(first[0]["number"], first[-1]["number"] + 1)))
        self.assertEqual(sorted(events.ranks), list(range(ranks)))
        self.assertEqual({made["ranks"] for made in first}, {ranks})
        for rank, iterations in events.ranks.items():
            same = "seed", "number", "kind", "recorded", "ranks"
            self.assertEqual(
                [[one[key] for key in same] for one in iterations], [[one[key] for key in same] for one in first]
            )
            self.assertTrue(rank == 0 or not any(made["parts"] for made in iterations))
        self.check_ends(events)
        self.assertEqual(warnings_of(log), [])

    def check_ends(self, events: Events) -> None:
        for records in events.by_process.values():
            found = [record["what"] for record in records if record["what"].startswith("iteration")]
            self.assertEqual(found, ["iteration", "iteration_end"] * (len(found) // 2))

    def check_broken(self, engine: str, points: list[str], *arguments: str, **environment: str) -> None:
        """Each hook is missing, or raises, in turn: the same line in each process that has it, and the same tokens."""
        done, _, _ = self.load(*arguments, requests=12, **environment)
        wanted = [made["tokens"] for made in done]
        for point in points:
            for how in "missing", "raising":
                with self.subTest(point, how=how):
                    broken = {"ENGINE_BROKEN": f"{engine} {point}:{how}"}
                    done, _, log = self.load(*arguments, requests=12, **environment, **broken)
                    self.assertEqual([made["tokens"] for made in done], wanted)
                    self.assertEqual(len(set(warnings_of(log))), 1, warnings_of(log))

    def load(self, *arguments: str, requests: int = REQUESTS, **environment: str) -> tuple[list[dict], Events, str]:
        """Returns the engine's results, the events and the log."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        program = [self.LOAD, self.folder / "model", folder / "out.json", requests, *arguments]
        log = self.run_program(program, folder, **environment)
        return json.loads((folder / "out.json").read_text()), Events(folder), log

    def run_program(self, program: list[object], folder: Path, **environment: str) -> str:
        with running(
            [sys.executable, *program], folder / "log", ENGINE_EVENTS=str(folder), **environment
        ) as process:
            status = process.wait(timeout=600)
        log = (folder / "log").read_text(errors="replace")
        self.assertEqual(status, 0, log[-3000:])
        return log
