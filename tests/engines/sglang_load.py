"""Runs SGLang with a tiny model of random weights and requests of mixed lengths, each with a context of its own, attached
in the task that passes it to SGLang. Writes what SGLang returned for each.

    sglang_load.py MODEL OUT.json REQUESTS [ENGINE-ARGUMENT=JSON...]"""

import asyncio
import json
import random
import sys

import sglang
from servers import traceparent

import cuspan

SETTINGS = {
    "device": "cpu",
    "attention_backend": "torch_native",
    "sampling_backend": "pytorch",
    "grammar_backend": "none",
    "load_format": "dummy",
    "skip_tokenizer_init": True,
    "dtype": "float32",
    "context_length": 1024,
    "chunked_prefill_size": 256,
    "max_running_requests": 32,
    "max_total_tokens": 40000,
    "decode_log_interval": 1,
    "log_level": "info",
}


async def load(engine, count, options):
    rng = random.Random(7)
    prompts, outputs = options.get("prompts", [3, 17, 60, 130, 400, 700]), options.get("outputs", [1, 2, 8, 30, 64])
    abort, sequences = options.get("abort", 0), options.get("sequences", 1)

    async def one(at):
        length, wanted = rng.choice(prompts), rng.choice(outputs)
        prompt = ([5, 6, 7, 8] * 200)[:length] if "repeats" in options else [rng.randrange(3, 512) for _ in range(length)]
        wanted = 400 if at < abort else wanted
        sampling = {"max_new_tokens": wanted, "ignore_eos": True, "temperature": 0 if sequences == 1 else 1}
        await asyncio.sleep(at * options.get("delay", 0))
        name = f"r{at:03}"  # SGLang aborts all whose ID begins like this
        done = []
        with cuspan.attach(traceparent(at)):
            stream = await engine.async_generate(
                input_ids=prompt, sampling_params={**sampling, "n": sequences}, stream=True, rid=name
            )
            async for output in stream:
                done = output
                if at < abort and len(output["output_ids"]) > 2:
                    engine.tokenizer_manager.abort_request(rid=name)
                    await asyncio.sleep(3)
                    break
        return {
            "id": name,
            "prompt": length,
            "wanted": wanted,
            "tokens": list(done["output_ids"]),
            "generated": done["meta_info"]["completion_tokens"],
            "cached": done["meta_info"]["cached_tokens"],
            "aborted": at < abort,
        }

    return await asyncio.gather(*(one(at) for at in range(count)))


def main():
    model, out, count, *given = sys.argv[1:]
    arguments = {name: json.loads(value) for name, value in (one.split("=", 1) for one in given)}
    options = arguments.pop("load", {})
    engine = sglang.Engine(model_path=model, **{**SETTINGS, **arguments})
    done = engine.loop.run_until_complete(load(engine, int(count), options))
    engine.loop.run_until_complete(asyncio.sleep(1))
    engine.shutdown()
    with open(out, "w") as file:
        json.dump(done, file)


if __name__ == "__main__":
    main()
