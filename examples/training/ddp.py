#!/usr/bin/env python3
"""A small training job with DistributedDataParallel: a rank for each GPU with NCCL, or ranks on the CPU with gloo.

    torchrun --nproc-per-node 2 examples/training/ddp.py [--steps N] [--late RANK --late-ms MS --late-by sleep|gpu|loader]

It knows nothing about cuspan: start it with `cuspan run torchrun ...` to trace it. --late makes one rank late, in each step from the
tenth on: by a pause of the program (sleep), by more work on its GPU (gpu), or by a slow data loader (loader). docs/training.md shows
what the traces look like.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

WIDTH, LAYERS, BATCH = 2048, 8, 256


class Batches(IterableDataset):
    """Random batches. A slow loader needs `pause_s` for each."""

    def __init__(self, pause_s):
        self.pause_s = pause_s

    def __iter__(self):
        while True:
            if self.pause_s:
                time.sleep(self.pause_s)
            yield torch.randn(BATCH, WIDTH)


def work_on_the_gpu(device, milliseconds):
    """As a second program on the same GPU would take it."""
    a = torch.randn(4096, 4096, device=device)
    end = time.monotonic() + milliseconds / 1000
    while time.monotonic() < end:
        a @ a
        if device.type == "cuda":
            torch.cuda.synchronize()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--late", type=int, default=-1, metavar="RANK")
    parser.add_argument("--late-ms", type=float, default=30)
    parser.add_argument("--late-by", choices=["sleep", "gpu", "loader"], default="sleep")
    return parser.parse_args()


def main():
    options = parse()
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    is_late = rank == options.late
    has_gpu = torch.cuda.is_available()
    device = torch.device("cuda", local_rank) if has_gpu else torch.device("cpu")
    if has_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if has_gpu else "gloo")

    torch.manual_seed(1)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU())]
    model = DistributedDataParallel(nn.Sequential(*layers).to(device), device_ids=[local_rank] if has_gpu else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    pause_s = options.late_ms / 1000 if is_late and options.late_by == "loader" else 0
    batches = iter(DataLoader(Batches(pause_s), batch_size=None, num_workers=0))

    begin = time.monotonic()
    for step in range(options.steps):
        if is_late and step >= 10:
            if options.late_by == "sleep":
                time.sleep(options.late_ms / 1000)
            elif options.late_by == "gpu":
                work_on_the_gpu(device, options.late_ms)
        batch = next(batches).to(device, non_blocking=True)
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 50 == 0 and rank == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    if has_gpu:
        torch.cuda.synchronize()
    if rank == 0:
        print(f"{options.steps} steps in {time.monotonic() - begin:.1f} s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
