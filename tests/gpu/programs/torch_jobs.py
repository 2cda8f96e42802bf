"""One rank of a small training job on four GPUs, started by torchrun. It knows nothing about cuspan.

    torchrun --standalone --nproc-per-node 4 torch_jobs.py JOB LOG-FOLDER [--steps N] [--late RANK] [--late-us US] [--late-by pause|gpu]

JOB: ddp (data parallel), fsdp_tp (FSDP over two tensor parallel groups of two: communicators of two kinds) or pipeline (1F1B over
four stages). LOG-FOLDER gets the truth as RANK.json: for each iteration its times by the program's own clock, and how long the
planted pause or the planted GPU work took. All ranks are on one host, so their clocks are equal."""

import argparse
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

WARM_UP = 6  # iterations without a planted delay
MICROBATCHES = 8


def now_us():
    return time.time_ns() / 1000


class Late:
    """The planted delay. GPU work is timed by events; a pause by the clock."""

    def __init__(self, options, rank, device):
        self.us = options.late_us if rank == options.late else 0
        self.by = options.late_by
        self.matrix = torch.randn(1024, 1024, device=device)
        self.is_on, self.events, self.paused_us = False, [], 0.0
        self.kernels_us = self.calibrate()

    def calibrate(self):
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        for count in (8, 64):
            ends[0].record()
            for _ in range(count):
                self.matrix @ self.matrix
            ends[1].record()
            torch.cuda.synchronize()
        return ends[0].elapsed_time(ends[1]) * 1000 / 64

    def pause(self):
        if self.is_on and self.us and self.by == "pause":
            begin = time.perf_counter()
            while time.perf_counter() - begin < self.us / 1e6:
                pass
            self.paused_us += (time.perf_counter() - begin) * 1e6

    def work(self, share=1.0):
        if not (self.is_on and self.us and self.by == "gpu"):
            return
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        ends[0].record()
        for _ in range(max(1, round(self.us * share / self.kernels_us))):
            self.matrix @ self.matrix
        ends[1].record()
        self.events.append(ends)

    def take(self):
        """Of the iteration that ended: a function that returns the delay once the GPU has finished."""
        paused, events = self.paused_us, self.events
        self.events, self.paused_us = [], 0.0
        return lambda: paused + sum(first.elapsed_time(second) * 1000 for first, second in events)


def layers_of(count, width, device):
    return nn.Sequential(*(part for _ in range(count) for part in (nn.Linear(width, width, bias=False), nn.ReLU()))).to(device)


class DataParallel:
    def __init__(self, device, late):
        self.late, self.batch = late, torch.randn(512, 2048, device=device)
        self.model = nn.parallel.DistributedDataParallel(layers_of(4, 2048, device), device_ids=[device.index])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, foreach=True)

    def iterate(self):
        self.late.work()
        loss = (self.model(self.batch) - self.batch).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class ShardedTensorParallel:
    def __init__(self, device, late):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        self.late = late
        mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "tensor"))
        torch.manual_seed(mesh["data"].get_local_rank())
        self.batch = torch.randn(2048, 2048, device=device)
        self.model = nn.Sequential(Block(2048), Block(2048)).to(device)
        for block in self.model:
            parallelize_module(block, mesh["tensor"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
            fully_shard(block, mesh=mesh["data"])
        fully_shard(self.model, mesh=mesh["data"])
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-5, foreach=True)

    def iterate(self):
        self.late.work()
        loss = (self.model(self.batch) - self.batch).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss


class LateStage(nn.Module):
    def __init__(self, layers, late):
        super().__init__()
        self.layers, self.late = layers, late

    def forward(self, x):
        self.late.work(1 / MICROBATCHES)
        return self.layers(x)


class Pipeline:
    def __init__(self, device, late):
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.batch = torch.randn(512 * MICROBATCHES, 1024, device=device)
        model = LateStage(layers_of(3, 1024, device), late)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-5, foreach=True)
        stage = PipelineStage(model, self.rank, self.world, device)
        self.schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=lambda output, target: (output - target).square().mean())

    def iterate(self):
        if self.rank == 0:
            self.schedule.step(self.batch)
        elif self.rank == self.world - 1:
            self.schedule.step(target=self.batch, losses=[])
        else:
            self.schedule.step()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


JOBS = {"ddp": DataParallel, "fsdp_tp": ShardedTensorParallel, "pipeline": Pipeline}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("log", type=Path)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--late", type=int, default=-1, metavar="RANK")
    parser.add_argument("--late-us", type=float, default=1000)
    parser.add_argument("--late-by", choices=["pause", "gpu"], default="pause")
    parser.add_argument("--no-wait", action="store_true", help="the program does not wait for the GPU at the end of each iteration")
    return parser.parse_args()


def main():
    options = parse()
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(1)
    late, log = Late(options, rank, device), []
    job = JOBS[options.job](device, late)
    for index in range(options.steps):
        late.is_on = index >= WARM_UP
        times = {"iteration": index, "begin_us": now_us()}
        late.pause()
        times["start_us"] = now_us()
        job.iterate()
        times["launched_us"] = now_us()
        if not options.no_wait:
            torch.cuda.synchronize()
        times["late_us"] = late.take()
        times["end_us"] = now_us()
        log.append(times)
    torch.cuda.synchronize()
    for times in log:
        times["late_us"] = times["late_us"]()
    options.log.mkdir(parents=True, exist_ok=True)
    (options.log / f"{rank}.json").write_text(json.dumps(log))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
