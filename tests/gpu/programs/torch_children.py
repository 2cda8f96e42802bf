"""PyTorch in children of multiprocessing. Their parent does not use CUDA and is in a request when it starts them.

    torch_children.py spawn|fork|forkserver TRACEPARENT

Two children work, each as its own rank, on its own GPU if there are two; a third does not use CUDA. Prints "rank R on
GPU UUID: PASS" for each, and PASS."""

import multiprocessing
import os
import sys

import cuspan
import torch

CHILDREN, LAUNCHES = 2, 20


def say(line):
    """In one write, because others write to the same file: print writes the line end separately if unbuffered."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def work(rank):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(CHILDREN))
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    sums = torch.zeros(1024, device=device)
    for _ in range(LAUNCHES):
        sums.add_(rank + 1)
    is_right = bool((sums.cpu() == LAUNCHES * (rank + 1)).all())
    uuid = torch.cuda.get_device_properties(device).uuid
    say(f"rank {rank} on GPU-{uuid}: {'PASS' if is_right else 'FAIL'}")
    sys.exit(0 if is_right else 1)


def idle():
    pass


def main():
    method, traceparent = sys.argv[1:3]
    context = multiprocessing.get_context(method)
    with cuspan.attach(traceparent):
        children = [context.Process(target=cuspan.child(work), args=(rank,)) for rank in range(CHILDREN)]
        children.append(context.Process(target=cuspan.child(idle)))
        for child in children:
            child.start()
    for child in children:
        child.join()
    failed = [child.exitcode for child in children if child.exitcode]
    say(f"FAIL: {failed}" if failed else "PASS")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
