"""Serves requests with transformers' continuous batching on a GPU: a Llama with random weights, no network.

    transformers_serve.py SIZE REQUESTS PROMPT GENERATED OUT.json

SIZE: tiny, 1b or 8b (the shapes of these Llamas). Each request has a traceparent. OUT.json gets the batches that transformers'
scheduler returned, the wanted tokens of each request, and the time from the first request to the last answer."""

import contextlib
import json
import os
import random
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
from serve_shapes import SHAPES  # noqa: E402
from transformers import ContinuousBatchingConfig, GenerationConfig, LlamaConfig, LlamaForCausalLM  # noqa: E402
from transformers.generation.continuous_batching import scheduler  # noqa: E402

try:
    import cuspan
except ImportError:
    cuspan = None  # to measure without it


def attached(at):
    if cuspan is None:
        return contextlib.nullcontext()
    return cuspan.attach(f"00-{at + 1:032x}-{at + 1:016x}-01")


def main():
    size, requests, prompt, generated, target = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = LlamaForCausalLM(LlamaConfig(vocab_size=32000, max_position_embeddings=8192, **SHAPES[size])).to(torch.bfloat16).eval()
    model.set_attn_implementation(os.environ.get("ATTENTION", "sdpa"))
    options = {name: True for name in os.environ.get("ENGINE_OPTIONS", "").split(",") if name}  # use_cuda_graph, use_async_batching
    config = ContinuousBatchingConfig(num_blocks=4096, block_size=32, max_batch_tokens=2048, **options)
    generation = GenerationConfig(max_new_tokens=generated, do_sample=False, eos_token_id=-1, pad_token_id=0)
    manager = model.init_continuous_batching(generation_config=generation, continuous_batching_config=config)
    rng, wanted, batches, outputs = random.Random(7), {}, [], {}
    original = scheduler.FIFOScheduler.schedule_batch

    def schedule_batch(self, *args):
        batch = original(self, *args)
        if batch[0]:
            batches.append([(future.state.request_id, future.query_length) for future in batch[0]])
        return batch

    scheduler.FIFOScheduler.schedule_batch = schedule_batch
    manager.start()
    begun = time.monotonic()
    for at in range(requests):
        count, most = rng.randint(1, 2 * prompt), rng.randint(1, 2 * generated)
        with attached(at):
            name = manager.add_request([rng.randrange(3, 32000) for _ in range(count)], request_id=f"r{at}", max_new_tokens=most)
        wanted[name] = (count, most)
    while len(outputs) < requests:
        output = manager.get_result(timeout=120)
        if output is None:
            break
        if output.is_finished():
            outputs[output.request_id] = len(output.generated_tokens)
    seconds = time.monotonic() - begun
    manager.stop(block=True)
    torch.cuda.synchronize()
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"batches": batches, "wanted": wanted, "outputs": outputs, "seconds": seconds}, file)
    print(f"{size}: {len(outputs)} of {requests} requests, {len(batches)} iterations, {sum(outputs.values())} tokens in {seconds:.2f} s")


if __name__ == "__main__":
    main()
