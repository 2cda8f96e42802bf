"""Runs transformers' continuous batching with a tiny model of random weights and requests of mixed lengths, all at
once, each with a context of its own."""

from __future__ import annotations

import random
from unittest import mock

import torch
from transformers import ContinuousBatchingConfig, GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.generation.continuous_batching import scheduler

import cuspan

torch.set_num_threads(1)
REQUESTS = 50


def traceparent(at: int) -> str:
    return f"00-{at + 1:032x}-{at + 1:016x}-01"


def tiny_llama() -> LlamaForCausalLM:
    torch.manual_seed(1)
    config = LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=512,
        max_position_embeddings=2048,
    )
    model = LlamaForCausalLM(config).eval()
    model.set_attn_implementation("sdpa")
    return model


class Result:
    def __init__(self) -> None:
        self.outputs: dict[str, list[int]] = {}
        self.wanted: dict[str, tuple[int, int]] = {}  # tokens of the prompt and to generate
        self.batches: list[list[tuple[str, int]]] = []  # as transformers' scheduler returned them


def serve(blocks: int = 400, sequences: int = 1, cancel: int = 0, requests: int = REQUESTS, prefix: str = "r") -> Result:
    """All requests at once, each with a context of its own."""
    result = Result()
    config = ContinuousBatchingConfig(num_blocks=blocks, block_size=16, max_batch_tokens=256)
    generation = GenerationConfig(
        max_new_tokens=64, do_sample=sequences > 1, eos_token_id=-1, pad_token_id=0, num_return_sequences=sequences
    )
    manager = tiny_llama().init_continuous_batching(generation_config=generation, continuous_batching_config=config)
    rng = random.Random(7)

    original = scheduler.FIFOScheduler.schedule_batch

    def schedule_batch(self, *args):
        batch = original(self, *args)
        if batch[0]:
            result.batches.append([(future.state.request_id, future.query_length) for future in batch[0]])
        return batch

    with mock.patch.object(scheduler.FIFOScheduler, "schedule_batch", schedule_batch):
        manager.start()
        for at in range(requests):
            prompt, generated = rng.choice([3, 17, 60, 130, 400, 700]), rng.choice([1, 2, 8, 30, 64])
            tokens = [rng.randrange(3, 512) for _ in range(prompt)]
            with cuspan.attach(traceparent(at)):
                name = manager.add_request(tokens, request_id=f"{prefix}{at}", max_new_tokens=generated)
            result.wanted[name] = prompt, generated
        for at in range(cancel):
            manager.cancel_request(f"{prefix}{at}")
        while len(result.outputs) < requests * sequences - cancel:
            output = manager.get_result(timeout=60)
            if output is None:
                break
            if output.is_finished():
                result.outputs[output.request_id] = output.generated_tokens
        manager.stop(block=True)
    return result
