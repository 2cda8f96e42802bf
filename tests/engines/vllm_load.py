"""Runs vLLM with a tiny model of random weights and requests of mixed lengths, each with a context of its own, attached
in the task that passes it to vLLM. Writes what vLLM returned for each.

    vllm_load.py MODEL OUT.json [REQUESTS [ENGINE-ARGUMENT=JSON...]]"""

import asyncio
import json
import random
import sys

from servers import VLLM_SETTINGS, traceparent


async def load(model, count, arguments):
    from vllm import SamplingParams
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    import cuspan

    repeats = arguments.pop("repeats", False)
    abort = arguments.pop("abort", 0)
    delay = arguments.pop("delay", 0)
    prompts = arguments.pop("prompts", [3, 17, 60, 130, 400, 700])
    outputs = arguments.pop("outputs", [1, 2, 8, 30, 64])
    sequences = arguments.pop("sequences", 1)
    only_prefill = arguments.pop("only_prefill", False)  # the same prompts, and one token each
    settings = {**VLLM_SETTINGS, "skip_tokenizer_init": True, **arguments}
    engine = AsyncLLM.from_engine_args(AsyncEngineArgs(model=model, **settings))
    rng = random.Random(7)

    async def one(at):
        length, wanted = rng.choice(prompts), rng.choice(outputs)
        wanted = 1 if only_prefill else wanted
        prompt = ([5, 6, 7, 8] * 200)[:length] if repeats else [rng.randrange(3, 512) for _ in range(length)]
        sampling = SamplingParams(
            n=sequences,
            max_tokens=wanted,
            min_tokens=wanted,
            ignore_eos=True,
            detokenize=False,
            temperature=0.0 if sequences == 1 else 1.0,
        )
        tokens = []
        await asyncio.sleep(at * delay)
        with cuspan.attach(traceparent(at)):
            async for output in engine.generate({"prompt_token_ids": prompt}, sampling, request_id=f"r{at}"):
                tokens = [list(made.token_ids) for made in output.outputs]
                if at < abort:
                    break
        if at < abort:
            await engine.abort(f"r{at}")
        return {
            "id": f"r{at}",
            "prompt": length,
            "wanted": wanted,
            "tokens": tokens,
            "cached": output.num_cached_tokens or 0,
            "aborted": at < abort,
        }

    done = await asyncio.gather(*(one(at) for at in range(count)))
    if abort:
        await asyncio.sleep(1)
    engine.shutdown()
    return done


def main():
    model, out, count, *given = sys.argv[1:]
    arguments = {name: json.loads(value) for name, value in (one.split("=", 1) for one in given)}
    done = asyncio.run(load(model, int(count), arguments))
    with open(out, "w") as file:
        json.dump(done, file)


if __name__ == "__main__":
    main()
