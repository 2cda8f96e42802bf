#!/usr/bin/env python3
"""Models as people run them, each with the median, the mean and the minimum of its steps.

    models.py gpt2 | resnet-train | resnet-infer | decode | decode-graph | ddp | jax | small-infer | small-train
    models.py serve torch | jax         imports that once, then forks a process for each run that a line of standard input asks for

gpt2: a training step of GPT-2 (124 million parameters, 12 x 1024 tokens, bfloat16, fused AdamW). resnet-train, resnet-infer:
ResNet-50 with 256 and 64 images (channels last, mixed precision). decode: one token of a Llama-like model (16 layers of width 2048,
batch 1, a cache of 1,024 tokens), launched kernel by kernel; decode-graph: the same as a CUDA graph. ddp: gpt2 on two GPUs with
DistributedDataParallel, as torchrun starts it. jax: a jitted training step of a multi-layer perceptron. small-infer, small-train:
24 blocks of width 64, whose time is that of launches; the optimizer updates one tensor after the other.

Weights and data are random: only the times matter. Steps are measured for SECONDS (1) after a warm-up, and in whole
periods of 64 with BENCH_STEPS, so that the mean contains its part of a step in 64 that is traced. PROF=cuda measures under
PyTorch's profiler with its CUDA activities, PROF=all also with the CPU's, PROF=stack with these and with_stack=True. Each prints
the number of the profiler's events, and that of launches in a step. BENCH_STEPS=1 reports each step with
cuspan.step(), which needs the package on PYTHONPATH. BENCH_POLICY=batch or idle gives the agent's threads that scheduling policy
after the warm-up.

BENCH_LATE=1 measures in two halves of one process, because steps of two processes differ by more than a tracer costs: without a
tracer, then with the library that BENCH_LOAD names, or under the profiler. Besides the figures of the second half it prints its
median and mean divided by those of the first half. Not for ddp, nor for graphs, which must be created under the tracer.
BENCH_SWITCH=1, together with it, measures a third time: turns of 4 steps with and without stacks of launches in one traced
process, which the library must be able to switch (../programs/stacks_switch.c). It prints the median and the mean of the steps
with stacks divided by those without.

BENCH_DEVICE=cpu runs the small models without a GPU, to try the program itself.
"""

import ctypes
import importlib
import itertools
import json
import math
import os
import statistics
import sys
import time
from contextlib import nullcontext
from pathlib import Path

WARM_UP = 10


# ---- Models ------------------------------------------------------------------------------------------------------------


def gpt2(wrap=lambda model: model):
    import torch
    from torch import nn
    from torch.nn import functional as F
    layers, width, heads, tokens, batch, words = 12, 768, 12, 1024, 12, 50304

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (part.view(*part.shape[:2], heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
            attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attention.transpose(1, 2).reshape(x.shape))
            return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(tokens, width)
            self.blocks, self.last = nn.Sequential(*(Block() for _ in range(layers))), nn.LayerNorm(width)

        def forward(self, given, wanted):
            x = self.blocks(self.words(given) + self.places.weight)
            logits = self.last(x) @ self.words.weight.T
            return F.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())

    with torch.device("cuda"):
        model = wrap(Model())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    given, wanted = (torch.randint(words, (batch, tokens), device="cuda") for _ in range(2))

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(given, wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()
    return step


def resnet50():
    from torch import nn

    class Bottleneck(nn.Module):
        def __init__(self, width_in, width, stride):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width_in, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
                nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
            self.side = nn.Identity() if width_in == 4 * width and stride == 1 else nn.Sequential(
                nn.Conv2d(width_in, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))
            self.last = nn.ReLU(inplace=True)

        def forward(self, x):
            return self.last(self.body(x) + self.side(x))

    blocks, width_in = [], 64
    for stage, (count, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for number in range(count):
            blocks.append(Bottleneck(width_in, width, 2 if stage and number == 0 else 1))
            width_in = 4 * width
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def resnet(is_training):
    import torch
    count = 256 if is_training else 64
    with torch.device("cuda"):
        model = resnet50().to(memory_format=torch.channels_last).train(is_training)
    images = torch.randn(count, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (count,), device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def train():
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    @torch.inference_mode()
    def infer():
        with torch.autocast("cuda", torch.bfloat16):
            return model(images).argmax(1)[0].item()
    return train if is_training else infer


def llama():
    """Decodes one token: `step()` launches each kernel, `again()` without the result."""
    import torch
    from torch import nn
    from torch.nn import functional as F
    layers, width, heads, inner, cached, words = 16, 2048, 32, 5632, 1024, 32000
    size = width // heads
    tensor = {"device": "cuda", "dtype": torch.bfloat16}

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.RMSNorm(width, **tensor), nn.RMSNorm(width, **tensor)
            self.qkv, self.out = nn.Linear(width, 3 * width, bias=False, **tensor), nn.Linear(width, width, bias=False, **tensor)
            self.gate, self.up = nn.Linear(width, inner, bias=False, **tensor), nn.Linear(width, inner, bias=False, **tensor)
            self.down = nn.Linear(inner, width, bias=False, **tensor)
            self.keys, self.values = (torch.zeros(1, heads, cached, size, **tensor) for _ in range(2))

        def forward(self, x, place, cos, sin):
            q, k, v = (part.view(1, 1, heads, size).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
            q, k = turn(q, cos, sin), turn(k, cos, sin)
            self.keys.index_copy_(2, place, k)
            self.values.index_copy_(2, place, v)
            attention = F.scaled_dot_product_attention(q, self.keys, self.values)
            x = x + self.out(attention.transpose(1, 2).reshape(1, 1, width))
            y = self.second(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def turn(x, cos, sin):
        left, right = x.chunk(2, -1)
        return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)

    embedding, last = nn.Embedding(words, width, **tensor), nn.RMSNorm(width, **tensor)
    model = nn.ModuleList(Layer() for _ in range(layers))
    head = nn.Linear(width, words, bias=False, **tensor)
    place, token = torch.zeros(1, dtype=torch.long, device="cuda"), torch.zeros(1, 1, dtype=torch.long, device="cuda")
    angles = torch.arange(cached, device="cuda")[:, None] / 10000 ** (torch.arange(size // 2, device="cuda") * 2 / size)
    cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()

    @torch.inference_mode()
    def decode():
        x = embedding(token)
        for layer in model:
            x = layer(x, place, cos[place], sin[place])
        token.copy_(head(last(x)).argmax(-1))
        place.add_(1).remainder_(cached)
    return decode, token


def small(is_training):
    """Blocks within blocks, as models have them: a launch is some 15 to 20 Python frames deep."""
    import torch
    from torch import nn
    from torch.nn import functional as F
    width, batch, layers, device = 64, 8, 24, os.environ.get("BENCH_DEVICE", "cuda")

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, x):
            return self.down(F.gelu(self.up(x)))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.inner, self.scale = nn.LayerNorm(width), Inner(), nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x + self.scale * self.inner(self.norm(x))

    with torch.device(device):
        model = nn.Sequential(*(Block() for _ in range(layers))).train(is_training)
    given = torch.randn(batch, width, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, foreach=False)

    def train():
        loss = model(given).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    @torch.inference_mode()
    def infer():
        return model(given).square().mean().item()
    return train if is_training else infer


def decode():
    run, token = llama()

    def step():
        run()
        return token.item()
    return step


def decode_graph():
    import torch
    run, token = llama()
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()

    def step():
        graph.replay()
        return token.item()
    return step


def jax_step():
    import jax
    import jax.numpy as jnp
    width, layers = 2048, 8
    keys = jax.random.split(jax.random.PRNGKey(1), layers + 1)
    weights = [jax.random.normal(key, (width, width), jnp.bfloat16) / math.sqrt(width) for key in keys[1:]]
    batch = jax.random.normal(keys[0], (256, width), jnp.bfloat16)

    def loss(weights, batch):
        for weight in weights:
            batch = jax.nn.gelu(batch @ weight)
        return jnp.mean(batch.astype(jnp.float32) ** 2)

    @jax.jit
    def update(weights, batch):
        value, slopes = jax.value_and_grad(loss)(weights, batch)
        return [weight - 0.01 * slope for weight, slope in zip(weights, slopes)], value

    def step():
        nonlocal weights
        weights, value = update(weights, batch)
        return value.item()
    return step


# ---- Measurement -------------------------------------------------------------------------------------------------------


def seconds():
    return float(os.environ.get("SECONDS", "1"))


def period():
    return 64 if "BENCH_STEPS" in os.environ else 8


def count(step, times):
    times_us = []
    for _ in range(times):
        begin = time.perf_counter_ns()
        step()
        times_us.append((time.perf_counter_ns() - begin) / 1e3)
    return times_us


def timed(step):
    times_us, until = [], time.monotonic() + seconds()
    while not times_us or time.monotonic() < until:
        times_us += count(step, period())
    return times_us


def warm_up(step):
    count(step, WARM_UP)
    policy = {"batch": os.SCHED_BATCH, "idle": os.SCHED_IDLE}.get(os.environ.get("BENCH_POLICY"))
    for task in Path("/proc/self/task").iterdir() if policy else ():
        if (task / "comm").read_text().startswith("cuspan"):
            os.sched_setscheduler(int(task.name), policy, os.sched_param(0))


def reported(step):
    """With a boundary at the beginning of each step, if they are wanted."""
    if "BENCH_STEPS" not in os.environ:
        return step
    import cuspan
    numbers = itertools.count()

    def reported_step():
        cuspan.step(next(numbers))
        return step()
    return reported_step


def profiler():
    wanted = os.environ.get("PROF")
    if not wanted:
        return nullcontext()
    from torch.profiler import ProfilerActivity, profile
    kinds = [ProfilerActivity.CUDA] + ([] if wanted == "cuda" else [ProfilerActivity.CPU])
    return profile(activities=kinds, with_stack=wanted == "stack")


def tell_profile(name, profile, steps):
    events = profile.profiler.kineto_results.events()
    launches = sum(event.name().startswith(("cudaLaunchKernel", "cuLaunchKernel")) for event in events)
    print(f"profiler-events {len(events)} events\n{name}.launches {launches / steps:.6g} launches")


def tell_halves(name, kind, with_us, without_us):
    for what, of in ("median", statistics.median), ("mean", statistics.fmean):
        print(f"{name}.{kind}-{what} {of(with_us) / of(without_us):.6g} x")


def tell(name, times_us, profile, before_us=()):
    if profile:
        tell_profile(name, profile, len(times_us))
    if before_us:
        tell_halves(name, "late", times_us, before_us)
    print(f"{name}.median {statistics.median(times_us):.6g} us\n{name}.mean {statistics.fmean(times_us):.6g} us\n"
          f"{name}.min {min(times_us):.6g} us\n{name}.steps {len(times_us)} steps")


TURN = 4  # steps


def measure_switched(name, step, library):
    """Turns with and without stacks. The one that begins changes from pair to pair."""
    switch = ctypes.c_int.in_dll(library, "bench_takes_stacks")
    found_us, until = ([], []), time.monotonic() + 2 * seconds()
    for pair in itertools.count():
        for is_on in (pair % 2, 1 - pair % 2):
            switch.value = is_on
            found_us[is_on].extend(count(step, TURN))
        if time.monotonic() >= until:
            break
    switch.value = 1
    tell_halves(name, "switched", found_us[1], found_us[0])


def measure(name, step):
    before_us, library = [], None
    if "BENCH_LATE" in os.environ:
        count(step, WARM_UP)
        before_us = timed(step)
        if "BENCH_LOAD" in os.environ:
            library = ctypes.CDLL(os.environ["BENCH_LOAD"])
            library.InitializeInjection()
    step = reported(step)
    warm_up(step)
    if "BENCH_READY" in os.environ:
        Path(os.environ["BENCH_READY"]).touch()
    with profiler() as profile:
        times_us = timed(step)
    tell(name, times_us, profile, before_us)
    if "BENCH_SWITCH" in os.environ:
        measure_switched(name, step, library)


def one_rank(rank, name, port):
    import torch
    from torch.nn.parallel import DistributedDataParallel
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                      TORCHELASTIC_RUN_ID=f"bench-{port}")
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl")
    step = reported(gpt2(lambda model: DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)))
    go_on = torch.ones(1, device="cuda")
    warm_up(step)
    times_us = []
    with profiler() as profile:
        until = time.monotonic() + seconds()
        while go_on.item():  # rank 0 decides when to stop, for both
            times_us += count(step, period())
            go_on.fill_(time.monotonic() < until)
            torch.distributed.broadcast(go_on, 0)
    if rank == 0:
        tell(name, times_us, profile)
    torch.distributed.destroy_process_group()


def ddp(name):
    """The ranks are processes, and each loads the agent."""
    import socket
    import subprocess
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    if "torch" not in sys.modules:  # not served
        ranks = [subprocess.Popen([sys.executable, __file__, name, str(rank), port]) for rank in range(2)]
        sys.exit(max(rank.wait() for rank in ranks))
    ranks = []
    for rank in range(2):
        ranks.append(os.fork())
        if not ranks[-1]:
            one_rank(rank, name, port)
            return
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(rank, 0)[1]) for rank in ranks))


def serve(module):
    """Forks for each line {"app", "environment", "directory", "out", "err"}, and prints the process ID, then its exit status. Returns the
    app in each child: importing PyTorch takes longer than measuring. Its optimizers import torch._dynamo."""
    importlib.import_module("torch._dynamo" if module == "torch" else module)
    for line in iter(sys.stdin.readline, ""):
        wanted = json.loads(line)
        child = os.fork()
        if not child:
            os.setsid()
            for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, wanted["out"], os.O_WRONLY), (2, wanted["err"], os.O_WRONLY)):
                os.dup2(os.open(path, flags), number)
            os.chdir(wanted["directory"])
            os.environ.clear()
            os.environ.update(wanted["environment"])
            sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(":"))
            return wanted["app"]
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    models = {"gpt2": gpt2, "resnet-train": lambda: resnet(True), "resnet-infer": lambda: resnet(False), "decode": decode,
              "decode-graph": decode_graph, "jax": jax_step, "small-infer": lambda: small(False), "small-train": lambda: small(True)}
    if name == "serve" and len(sys.argv) == 3:
        name = serve(sys.argv[2])
    if name == "ddp":
        one_rank(int(sys.argv[2]), name, sys.argv[3]) if len(sys.argv) > 3 else ddp(name)
    elif name in models:
        measure(name, models[name]())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
