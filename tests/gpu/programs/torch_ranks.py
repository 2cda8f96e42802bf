"""A few steps of training on several ranks, whose gradients are summed; started by torchrun.

Uses NCCL with a GPU for each rank, else gloo with one GPU for all. Prints "rank R of N on GPU UUID by BACKEND: PASS
CHECKSUM"."""

import os
import sys

import torch
import torch.distributed as dist

STEPS = 5


def main():
    rank, local_rank, world_size = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    gpus = torch.cuda.device_count()
    backend = "nccl" if gpus >= world_size else "gloo"
    device = torch.device("cuda", local_rank % gpus)
    torch.cuda.set_device(device)
    dist.init_process_group(backend)
    torch.manual_seed(1)  # the same weights everywhere
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)).to(device)
    torch.manual_seed(rank)  # and different data for each rank
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(64, 256, device=device)).square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
    total = torch.stack([parameter.detach().double().sum() for parameter in model.parameters()]).sum()
    same = [torch.zeros_like(total) for _ in range(world_size)]
    dist.all_gather(same, total)
    torch.cuda.synchronize()
    is_same = all(torch.equal(other, total) for other in same)
    uuid = torch.cuda.get_device_properties(device).uuid
    # In one write, because the other ranks write to the same file: print writes the line end separately if unbuffered.
    os.write(sys.stdout.fileno(), f"rank {rank} of {world_size} on GPU-{uuid} by {backend}: {'PASS' if is_same else 'FAIL'} "
             f"{float(total):.6f}\n".encode())
    dist.destroy_process_group()
    return 0 if is_same else 1


if __name__ == "__main__":
    raise SystemExit(main())
