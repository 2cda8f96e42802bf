"""The cost of following an engine: one vLLM, and in it blocks of the same 256 requests in flight, in turn followed in different
ways, so that each block has its neighbors to compare with.

    vllm_cost.py SIZE ROUNDS OUT.json MODE... [ENGINE-ARGUMENT=JSON...]

A MODE is `asleep` (no request is sampled and no iteration recorded), `some` (the requests are sampled, and iterations recorded as
engine.ratio says), `all` (each iteration is recorded), `none` (for a process without an agent), or `turns`: long outputs, and while all
requests decode, the mode changes every TURN iterations, in the order of TURNS. Where the speed of the host comes in waves of seconds,
only neighbors this close tell the cost of an iteration. SIZE: a shape of serve_shapes.py.
OUT.json gets, for each block, its mode, iterations, tokens and seconds, and the mean seconds of an iteration in which all requests
decode (fast_seconds: a tenth of them is faster): the rest of a block, in which they arrive, differs more from block to block. For
`turns`, it gets the mode and the mean seconds of each turn."""

import asyncio
import itertools
import json
import operator
import os
import random
import statistics
import sys
import time

import vllm_serve

REQUESTS, PROMPT, GENERATED = 256, 100, 256
TURNS, TURN, LONG = ("asleep", "some", "asleep", "all"), 64, 1060
UNSETTLED = 4  # first iterations of a turn that do not count: the engine is an iteration ahead


class Scheduler(vllm_serve.Scheduler):
    """Follows as the requests' IDs say."""

    mode, turn = "none", 0

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        if vllm_serve.cuspan is not None:
            choose_in_stamps(self)

    def schedule(self, *args, **keywords):
        output = super().schedule(*args, **keywords)
        for new in output.scheduled_new_reqs[:1]:
            self.mode, self.turn = new.req_id.partition("-")[0], 0
        if (self.mode == "turns" or self.turn) and is_full(output):
            self.mode = TURNS[self.turn // TURN % len(TURNS)]
            self.turn += 1
        return output

    def line_of(self, output):
        """Short, because it is written in each iteration: the time, whether all requests decode, and how this one is followed."""
        return f"{time.monotonic():.6f} {int(is_full(output))} {self.mode}"


def is_full(output):
    return len(output.num_scheduled_tokens) == REQUESTS and output.total_num_scheduled_tokens == REQUESTS


def choose_in_stamps(scheduler):
    from cuspan import _iterations

    original = _iterations.Schedule.stamp

    def stamp(self, *args, **keywords):
        seed, number, kind, recorded, *rest = original(self, *args, **keywords)
        kind = _iterations.NO_ITERATION if scheduler.mode == "asleep" else kind
        return seed, number, kind, int(recorded or scheduler.mode == "all"), *rest

    _iterations.Schedule.stamp = stamp


async def block(engine, mode, at):
    rng, generated = random.Random(7), LONG if mode == "turns" else GENERATED

    async def one(request):
        count = rng.randint(1, 2 * PROMPT)
        tokens = [rng.randrange(3, 32000) for _ in range(count)]
        with vllm_serve.attached(at * REQUESTS + request, is_sampled=mode != "asleep"):
            async for output in engine.generate({"prompt_token_ids": tokens}, vllm_serve.sampling(generated), request_id=f"{mode}-{at}-{request}"):
                last = output
        return len(last.outputs[0].token_ids)

    begun = time.monotonic()
    tokens = await asyncio.gather(*(one(request) for request in range(REQUESTS)))
    return {"mode": mode, "tokens": sum(tokens), "seconds": time.monotonic() - begun}


def read_block(lines):
    """Returns the number of iterations, and of those in which all requests decode the mean time, that which a tenth is faster than (what
    delays single iterations, on a host that others use, does not change it), and the mean time in each turn."""
    made = [(float(at), full == "1", mode) for at, full, mode in (line.split() for line in lines)]
    times = [(before[2], after[0] - before[0]) for before, after in zip(made, made[1:]) if before[1] and after[1]]
    if not times:
        sys.exit(f"in none of {len(made)} iterations all requests decode: their outputs must be longer")
    turns = [(mode, [seconds for _, seconds in turn][UNSETTLED:]) for mode, turn in itertools.groupby(times, key=operator.itemgetter(0))]
    times = [seconds for _, seconds in times]
    return {"iterations": len(made), "decode_seconds": statistics.fmean(times), "fast_seconds": sorted(times)[len(times) // 10],
            "turns": [(mode, statistics.fmean(turn)) for mode, turn in turns if len(turn) >= TURN - UNSETTLED - 1]}


async def measure(size, rounds, modes, given):
    begun, blocks = time.monotonic(), []
    engine, batches = vllm_serve.make_engine(size, {"scheduler_cls": "vllm_cost.Scheduler", "enable_prefix_caching": False, **given})
    ready = time.monotonic() - begun
    for mode in modes:  # warms up
        await block(engine, mode, len(blocks))
    for turn in range(rounds):
        for mode in modes[turn % len(modes):] + modes[:turn % len(modes)]:
            before = len(batches.read_text().splitlines())
            blocks.append({"round": turn, **await block(engine, mode, len(modes) + len(blocks))})
            await asyncio.sleep(0.1)
            blocks[-1].update(read_block(batches.read_text().splitlines()[before:]))
    engine.shutdown()
    return ready, blocks


def main():
    size, rounds, target, *rest = sys.argv[1:]
    given = {name: json.loads(value) for name, value in (one.split("=", 1) for one in rest if "=" in one)}
    modes = [one for one in rest if "=" not in one]
    ready, blocks = asyncio.run(measure(size, int(rounds), modes, given))
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"size": size, "ready": ready, "blocks": blocks, "is_followed": "CUDA_INJECTION64_PATH" in os.environ}, file)
    print(f"{size}: ready in {ready:.1f} s, {len(blocks)} blocks, {sum(one['iterations'] for one in blocks)} iterations")


if __name__ == "__main__":
    main()
