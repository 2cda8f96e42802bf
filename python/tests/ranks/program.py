"""One rank of a training loop, for the tests of step boundaries. It knows nothing about cuspan.

    torchrun --nproc-per-node 2 program.py CASE ITERATIONS LOG-FOLDER

On a CPU, HOST_DOUBLE is the library that stands in for CUDA (tests/support/python_host.py): each iteration makes its calls a
known number of times, some before the backward pass and some after it. LOG-FOLDER gets the truth as RANK.json: for each
iteration its plays, whether the optimizer stepped, and the times of its start, of its last backward pass and of its
last optimizer's step."""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/support"))

import python_host  # noqa: E402

WIDTH = 64
PAUSE_S = 0.01  # between iterations, so that tests can distinguish their times
INF_AT = (9, 14)  # iterations in which the planted inf keeps the optimizer from stepping


class Loop:
    """An iteration calls play() before and after its backward pass, and backward() and step() for the log."""

    def __init__(self):
        self.rank = dist.get_rank()
        self.has_gpu = torch.cuda.is_available()
        self.device = torch.device("cuda", self.rank) if self.has_gpu else torch.device("cpu")
        self.double = None if self.has_gpu else python_host.begin()
        self.log = []
        torch.manual_seed(1)
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(self.device)

    def play(self):
        if self.double:
            python_host.work(self.double)
        self.log[-1]["plays"] += 1

    def batch(self):
        return torch.randn(8, WIDTH, device=self.device)

    def backward(self, loss):
        self.log[-1]["backward_ns"] = time.time_ns()
        loss.backward()

    def step(self, optimizer, *arguments):
        self.log[-1]["step_ns"] = time.time_ns()
        result = optimizer.step(*arguments)
        self.log[-1]["stepped_ns"] = time.time_ns()
        return result

    def run(self, body, iterations):
        for index in range(iterations):
            time.sleep(PAUSE_S)
            self.log.append({"iteration": index, "plays": 0, "skipped": False, "begin_ns": time.time_ns()})
            time.sleep(0.002)  # so that the ends of two iterations are apart
            self.play()
            for _ in range(index % 3):
                self.play()
            body(self, index)


def ddp(loop):
    return nn.parallel.DistributedDataParallel(loop.model, device_ids=[loop.rank] if loop.has_gpu else None)


def case_ddp(loop):
    model = ddp(loop)
    optimizer = torch.optim.AdamW(model.parameters())

    def body(loop, _):
        loop.backward(model(loop.batch()).square().mean())
        loop.play()
        loop.step(optimizer)
        optimizer.zero_grad()

    return body


def case_fsdp2(loop):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(loop.device.type, (dist.get_world_size(),))
    for layer in loop.model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    model = fully_shard(loop.model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())

    def body(loop, _):
        loop.backward(model(loop.batch()).square().mean())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        loop.play()
        loop.step(optimizer)
        optimizer.zero_grad()

    return body


def case_accumulation(loop):
    model = ddp(loop)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def body(loop, _):
        for micro in range(4):
            model.require_backward_grad_sync = micro == 3
            loop.backward(model(loop.batch()).square().mean() / 4)
        loop.play()
        loop.step(optimizer)
        optimizer.zero_grad()

    return body


def case_inf(loop):
    model = ddp(loop)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler(loop.device.type, init_scale=16.0)

    def body(loop, index):
        loss = scaler.scale(model(loop.batch()).square().mean())
        loop.backward(loss * float("inf") if index in INF_AT else loss)
        loop.play()
        scale = scaler.get_scale()
        loop.step(_Scaled(scaler, optimizer))
        scaler.update()
        loop.log[-1]["skipped"] = scaler.get_scale() < scale
        optimizer.zero_grad()

    return body


class _Scaled:
    def __init__(self, scaler, optimizer):
        self._scaler, self._optimizer = scaler, optimizer

    def step(self):
        return self._scaler.step(self._optimizer)


def case_two_optimizers(loop):
    """A GAN: each network has a backward pass and an optimizer."""
    generator = ddp(loop)
    discriminator = nn.parallel.DistributedDataParallel(nn.Linear(WIDTH, 1).to(loop.device))
    first = torch.optim.Adam(discriminator.parameters())
    second = torch.optim.Adam(generator.parameters())

    def body(loop, _):
        loop.backward(discriminator(generator(loop.batch()).detach()).square().mean())
        loop.step(first)
        loop.play()
        loop.backward(discriminator(generator(loop.batch())).square().mean())
        loop.step(second)
        first.zero_grad(), second.zero_grad()

    return body


def case_parts(loop):
    """As in torchtitan: an optimizer for each part of the model, all of which step after one backward pass."""
    model = ddp(loop)
    optimizers = [torch.optim.AdamW(part.parameters()) for part in loop.model if isinstance(part, nn.Linear)]
    schedulers = [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0) for optimizer in optimizers]

    def body(loop, _):
        for micro in range(2):
            model.require_backward_grad_sync = micro == 1
            loop.backward(model(loop.batch()).square().mean() / 2)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        loop.play()
        for optimizer in optimizers:
            loop.step(optimizer)
        for scheduler in schedulers:
            scheduler.step()
        for optimizer in optimizers:
            optimizer.zero_grad()

    return body


def case_compiled(loop):
    # The CPU has the hooks to test and not the code: inductor's needs a C++ compiler.
    backend = "inductor" if loop.has_gpu else "aot_eager"
    model = torch.compile(ddp(loop), backend=backend)
    optimizer = torch.optim.AdamW(loop.model.parameters(), foreach=True)
    step = torch.compile(optimizer.step, backend=backend)

    class Compiled:
        def step(self):
            return step()

    def body(loop, _):
        loop.backward(model(loop.batch()).square().mean())
        loop.play()
        loop.step(Compiled())
        optimizer.zero_grad()

    return body


def case_in_backward(loop):
    """Each parameter's optimizer steps as soon as its gradient is there."""
    model = ddp(loop)
    optimizers = {parameter: torch.optim.SGD([parameter], lr=0.01) for parameter in model.parameters()}

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(step)

    def body(loop, _):
        loop.play()
        loop.backward(model(loop.batch()).square().mean())
        loop.log[-1]["step_ns"] = loop.log[-1]["backward_ns"]
        loop.log[-1]["stepped_ns"] = time.time_ns()

    return body


def case_graph(loop):
    """Forward and backward pass in a CUDA graph, as torch.cuda.make_graphed_callables makes it; the optimizer outside."""
    model = torch.cuda.make_graphed_callables(loop.model, (loop.batch(),))
    optimizer = torch.optim.SGD(loop.model.parameters(), lr=0.01)

    def body(loop, _):
        loop.backward(model(loop.batch()).square().mean())
        for parameter in loop.model.parameters():
            dist.all_reduce(parameter.grad)
        loop.step(optimizer)
        optimizer.zero_grad(set_to_none=False)

    return body


def main():
    name, iterations, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    loop = Loop()
    loop.run(globals()[f"case_{name}"](loop), iterations)
    if loop.has_gpu:
        torch.cuda.synchronize()
    (folder / f"{loop.rank}.json").write_text(json.dumps(loop.log))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
