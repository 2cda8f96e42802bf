"""One rank of a program that makes known collectives. Prints as JSON what it made.

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500 nccl.py
"""

import contextlib
import json
import os
import time

import torch
import torch.distributed as dist

ROUNDS, COUNT = 5, 1 << 20  # floats of a message
ENQUEUED = 2000  # small collectives whose calls are timed

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", rank=rank, world_size=world, device_id=device)
source = torch.ones(COUNT, device=device)
whole = torch.empty(COUNT * world, device=device)
part = torch.empty(COUNT, device=device)
sides = [torch.empty(COUNT, device=device) for _ in range(world)]
made = {"all_reduce": 0, "all_gather": 0, "reduce_scatter": 0, "broadcast": 0}


def ring():
    """Sends to the next rank and receives from the previous one, in one group."""
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, source, (rank + 1) % world),
                                    dist.P2POp(dist.irecv, part, (rank - 1) % world)])
    for work in works:
        work.wait()


def several():
    """Three AllReduces in one group."""
    with dist._coalescing_manager(device=device) if hasattr(dist, "_coalescing_manager") else contextlib.nullcontext():
        for side in (source, part, sides[0]):
            dist.all_reduce(side)


for _ in range(ROUNDS):
    dist.all_reduce(source)
    dist.all_gather_into_tensor(whole, source)
    dist.reduce_scatter_tensor(part, whole)
    dist.broadcast(source, 0)
    several()
    made["all_reduce"] += 4
    for operation in ("all_gather", "reduce_scatter", "broadcast"):
        made[operation] += 1
    if world > 1:
        ring()
torch.cuda.synchronize()

# A new group's communicator is made by ncclCommSplit.
group = dist.new_group(list(range(world)))
for _ in range(ROUNDS):
    dist.all_reduce(source, group=group)
torch.cuda.synchronize()

model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 1024, device=device), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(ROUNDS):
    optimizer.zero_grad()
    model(torch.ones(8, 1024, device=device)).sum().backward()
    optimizer.step()
torch.cuda.synchronize()

small = torch.ones(2, device=device)
dist.all_reduce(small)
torch.cuda.synchronize()
times = []
for _ in range(10):
    begin = time.perf_counter_ns()
    for _ in range(ENQUEUED // 10):
        dist.all_reduce(small)
    times.append((time.perf_counter_ns() - begin) / (ENQUEUED // 10))
    torch.cuda.synchronize()
print(json.dumps({"rank": rank, "world": world, "rounds": ROUNDS, "count": COUNT, "enqueued": ENQUEUED, "made": made,
                  "nccl": ".".join(map(str, torch.cuda.nccl.version())), "enqueue_ns": sorted(times)[len(times) // 2]}))
dist.destroy_process_group()
