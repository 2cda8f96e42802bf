"""Work on the GPU whose lines are known. Called by code_test.py.

    code.py lines | train | compile | graph | triton | jax | cupy | numba | memory    [--profile FILE | --nvtx]

lines: operations whose kernels have names of their own, each in another kind of Python frame. train: steps of a small
transformer; its functions are below "The model". --profile: the same below PyTorch's profiler with stacks, which writes FILE.
--nvtx: with the NVTX ranges of emit_nvtx. memory: each tensor is a call of
CUDA; lines end in "# memory: NAME". The others launch as their names say. A line with an expected kernel ends in "# kernel: PATTERN"."""

import asyncio
import sys
import threading

STEPS, WARM_UP = 6, 3


# ---- Kernels with known lines ------------------------------------------------------------------------------------------


def lines():
    import torch
    x = torch.rand(1 << 20, device="cuda")
    torch.cuda.synchronize()

    def generate():
        for _ in range(3):
            yield torch.erfinv(x)  # kernel: erfinv

    async def wait():
        await asyncio.sleep(0)
        return torch.lgamma(x)  # kernel: lgamma

    class Thing:
        def __call__(self):
            return torch.digamma(x)  # kernel: digamma

        def __del__(self):
            torch.special.i1(x)  # kernel: i1

    def recurse(depth):
        return recurse(depth - 1) if depth else torch.special.bessel_j0(x)  # kernel: bessel_j0

    def work():
        torch.special.bessel_j1(x)  # kernel: bessel_j1

    for _ in range(3):
        list(generate())
        asyncio.run(wait())
        thing = Thing()
        thing()
        del thing
        recurse(100)
        [torch.special.bessel_y0(x) for _ in range(2)]  # kernel: bessel_y0
        list(map(lambda y: torch.special.airy_ai(y), [x, x]))  # kernel: airy_ai
        exec("import torch\n\ntorch.erfc(x)", {"x": x})
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        (torch.special
         .modified_bessel_i0(x))  # kernel: modified_bessel_i0
    torch.cuda.synchronize()


# ---- The model ---------------------------------------------------------------------------------------------------------


def train(profile=None, nvtx=False):
    import torch
    from torch import nn
    from torch.nn import functional as F
    width, heads, tokens, batch, words = 512, 8, 512, 8, 16384

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def split(self, x):
            return (part.reshape(batch, tokens, heads, -1).transpose(1, 2).contiguous() for part in self.qkv(x).chunk(3, -1))

        def forward(self, x):
            q, k, v = self.split(x)
            scores = q @ k.transpose(-1, -2)
            scores = torch.softmax(scores / (width // heads) ** 0.5, -1)
            return self.out((scores @ v).transpose(1, 2).reshape(batch, tokens, width))

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def activate(self, x):
            return x * torch.sigmoid(1.702 * x)

        def forward(self, x):
            return self.down(self.activate(self.up(x)))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.mlp = Attention(), Mlp()

        def forward(self, x):
            x = x + self.attention(self.first(x))
            return x + self.mlp(self.second(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.blocks, self.head = nn.Embedding(words, width), nn.Sequential(*(Block() for _ in range(4))), nn.Linear(width, words)

        def embed(self, given):
            return self.words(given) * width ** 0.5

        def logits(self, x):
            return self.head(F.dropout(x, 0.1))

        def forward(self, given, wanted):
            return self.loss(self.logits(self.blocks(self.embed(given))), wanted)

        def loss(self, logits, wanted):
            return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())

    def clip(parameters):
        nn.utils.clip_grad_norm_(parameters, 1.0)

    def augment(given):
        return (given + torch.randint_like(given, 3)) % words

    def penalty(parameters):
        return sum(parameter.square().sum() for parameter in parameters)

    model = Model().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, foreach=False)
    given, wanted = (torch.randint(words, (batch, tokens), device="cuda") for _ in range(2))

    def step():
        source = augment(given)
        with torch.cuda.nvtx.range("forward"):
            loss = model(source, wanted) + 1e-6 * penalty(model.parameters())
        loss.backward()
        clip(model.parameters())
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    for _ in range(WARM_UP):
        step()
    if profile:
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities, with_stack=True) as recorded:
            for _ in range(STEPS):
                step()
            torch.cuda.synchronize()
        recorded.export_chrome_trace(profile)
        return
    with torch.autograd.profiler.emit_nvtx(enabled=nvtx):
        for _ in range(STEPS):
            with torch.cuda.nvtx.range("step"):
                step()
    torch.cuda.synchronize()


# ---- Compiled work -----------------------------------------------------------------------------------------------------


def compile():
    import torch

    @torch.compile
    def fused(x, y):
        return (torch.sin(x) * y + torch.cos(y)).sum(-1)

    x, y = (torch.rand(512, 512, device="cuda", requires_grad=True) for _ in range(2))
    for _ in range(4):
        fused(x, y).sum().backward()
    torch.cuda.synchronize()


def graph():
    import torch
    x = torch.rand(1 << 20, device="cuda")

    def work():
        y = torch.erfinv(x)  # kernel: erfinv
        torch.lgamma(y)  # kernel: lgamma

    for _ in range(3):
        work()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        work()
    for _ in range(5):
        captured.replay()  # line of the replay
    torch.cuda.synchronize()


def triton():
    import torch
    import triton as t
    import triton.language as tl

    @t.jit
    def add_one(pointer, count, size: tl.constexpr):
        at = tl.program_id(0) * size + tl.arange(0, size)
        tl.store(pointer + at, tl.load(pointer + at, mask=at < count) + 1, mask=at < count)

    x = torch.zeros(1 << 16, device="cuda")
    for _ in range(4):
        add_one[(64,)](x, x.numel(), 1024)  # kernel: add_one
    torch.cuda.synchronize()


def jax():
    import jax as j
    import jax.numpy as np

    @j.jit
    def step(a, b):
        return np.tanh(a @ b).sum()  # line of the dot

    a = np.ones((512, 512))
    for _ in range(4):
        step(a, a).block_until_ready()


def cupy():
    import cupy as cp
    x = cp.arange(1 << 20, dtype=cp.float32)
    for _ in range(4):
        x = cp.sqrt(x)  # kernel: sqrt
    cp.cuda.Device().synchronize()


def numba():
    import numpy
    if not hasattr(numpy, "row_stack"):  # Numba's CUDA target before 0.23 needs it
        numpy.row_stack = numpy.vstack
    from numba import cuda

    @cuda.jit
    def add_one(values):
        at = cuda.grid(1)
        if at < values.size:
            values[at] += 1

    values = cuda.to_device(numpy.zeros(1 << 16, numpy.float32))
    for _ in range(4):
        add_one[256, 256](values)  # kernel: add_one
    cuda.synchronize()


# ---- Memory ------------------------------------------------------------------------------------------------------------


def memory():
    import os
    os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    import torch
    kept = []

    def load():
        kept.append(torch.empty(8 << 20, dtype=torch.uint8, device="cuda"))  # memory: kept

    def scratch():
        torch.empty(4 << 20, dtype=torch.uint8, device="cuda")  # memory: scratch

    for _ in range(5):
        load()
        scratch()
    staging = torch.empty(2 << 20, dtype=torch.uint8).pin_memory()  # memory: pinned
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    return staging


if __name__ == "__main__":
    arguments = sys.argv[2:]
    if arguments == ["--nvtx"]:
        train(nvtx=True)
    else:
        globals()[sys.argv[1]](*arguments[1:] if arguments[:1] == ["--profile"] else ())
