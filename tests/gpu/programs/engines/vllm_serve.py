"""Serves requests with vLLM on GPUs: a Llama with random weights, no network. The engine's core and its workers are processes of
their own.

    vllm_serve.py SIZE REQUESTS PROMPT GENERATED OUT.json [ENGINE-ARGUMENT=JSON...]

SIZE: a shape of serve_shapes.py. Each request has a traceparent. OUT.json gets what transformers_serve.py writes; the
batches are those that vLLM's own scheduler returned. Without asynchronous scheduling (n-gram speculation on the host, for example)
scheduler_cls must be "vllm_serve.SyncScheduler". PLANT=gil: a thread of the engine's core holds the interpreter
lock half of the time. PLANT=prefill: a request with 3,000 tokens after every 200 ms."""

import asyncio
import contextlib
import json
import os
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # also for the process that loads the scheduler

from serve_shapes import SHAPES  # noqa: E402
from vllm.engine.arg_utils import AsyncEngineArgs  # noqa: E402
from vllm.sampling_params import SamplingParams  # noqa: E402
from vllm.v1.core.sched.async_scheduler import AsyncScheduler  # noqa: E402
from vllm.v1.core.sched.scheduler import Scheduler as VllmScheduler  # noqa: E402
from vllm.v1.engine.async_llm import AsyncLLM  # noqa: E402

try:
    import cuspan
except ImportError:
    cuspan = None  # to measure without it


def hold_the_lock():
    """As a tokenizer written in Python: 4 ms of work, half of the time."""
    while True:
        until = time.monotonic() + 0.004
        while time.monotonic() < until:
            sum(range(1000))
        time.sleep(0.004)


class Writer:
    """A scheduler that writes each batch into the file SERVE_BATCHES, if there is one."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        target = os.environ.get("SERVE_BATCHES")
        self._file = open(target, "a", encoding="utf-8") if target else None  # noqa: SIM115
        if os.environ.get("PLANT") == "gil":
            threading.Thread(target=hold_the_lock, daemon=True).start()

    def schedule(self, *args, **keywords):
        output = super().schedule(*args, **keywords)
        if self._file is not None and output.total_num_scheduled_tokens:
            print(self.line_of(output), file=self._file, flush=True)
        return output

    def line_of(self, output):
        return json.dumps(list(output.num_scheduled_tokens.items()))


class Scheduler(Writer, AsyncScheduler):
    pass


class SyncScheduler(Writer, VllmScheduler):
    pass


def attached(at, is_sampled=True):
    return contextlib.nullcontext() if cuspan is None else cuspan.attach(f"00-{at + 1:032x}-{at + 1:016x}-{int(is_sampled):02x}")


def sampling(tokens):
    return SamplingParams(max_tokens=tokens, min_tokens=tokens, ignore_eos=True, detokenize=False, temperature=0.0)


def make_engine(size, given):
    """Returns the engine and the file with its batches."""
    folder = Path(tempfile.gettempdir(), f"vllm-serve-{size}")  # fixed: what vLLM compiles for it is kept
    folder.mkdir(exist_ok=True)
    if "SERVE_BATCHES" not in os.environ:
        handle, os.environ["SERVE_BATCHES"] = tempfile.mkstemp(prefix="vllm-serve-batches-")
        os.close(handle)
    shape = {**SHAPES[size], "vocab_size": 32000, "max_position_embeddings": 8192}
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
              "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False, "dtype": "bfloat16"}
    made = folder / f"config.{os.getpid()}"  # others may read it
    made.write_text(json.dumps({**config, **shape}), encoding="utf-8")
    made.replace(folder / "config.json")
    settings = {"load_format": "dummy", "skip_tokenizer_init": True, "max_model_len": 4096, "max_num_seqs": 256, "disable_log_stats": True,
                "scheduler_cls": "vllm_serve.Scheduler", "disable_custom_all_reduce": True, "gpu_memory_utilization": 0.5,
                "kv_cache_memory_bytes": 40 << 30,  # without it vLLM measures, and fails if another process frees memory meanwhile
                **given}
    return AsyncLLM.from_engine_args(AsyncEngineArgs(model=str(folder), **settings)), Path(os.environ["SERVE_BATCHES"])


async def serve(size, requests, prompt, generated, given):
    engine, written = make_engine(size, given)
    rng, wanted, outputs = random.Random(7), {}, {}

    async def one(at, count, most):
        tokens = [rng.randrange(3, 32000) for _ in range(count)]
        with attached(at):
            async for output in engine.generate({"prompt_token_ids": tokens}, sampling(most), request_id=f"r{at}"):
                outputs[f"r{at}"] = len(output.outputs[0].token_ids)

    async def long_prompts(first):
        for at in range(first, first + 12):
            await asyncio.sleep(0.2)
            wanted[f"r{at}"] = (3000, 4)
            await one(at, 3000, 4)

    for at in range(requests):
        wanted[f"r{at}"] = (rng.randint(1, 2 * prompt), rng.randint(1, 2 * generated))
    begun = time.monotonic()
    planted = [long_prompts(requests)] if os.environ.get("PLANT") == "prefill" else []
    await asyncio.gather(*(one(at, *wanted[f"r{at}"]) for at in range(requests)), *planted)
    seconds = time.monotonic() - begun
    await asyncio.sleep(0.5)
    engine.shutdown()
    batches = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    return [[(re.sub(r"-[0-9a-f]{8}\Z", "", name), count) for name, count in batch] for batch in batches], wanted, outputs, seconds


def main():
    size, requests, prompt, generated, target, *given = sys.argv[1:]
    arguments = {name: json.loads(value) for name, value in (one.split("=", 1) for one in given)}
    batches, wanted, outputs, seconds = asyncio.run(serve(size, int(requests), int(prompt), int(generated), arguments))
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"batches": batches, "wanted": wanted, "outputs": outputs, "seconds": seconds}, file)
    print(f"{size}: {len(outputs)} of {len(wanted)} requests, {len(batches)} iterations, {sum(outputs.values())} tokens in {seconds:.2f} s")


if __name__ == "__main__":
    main()
