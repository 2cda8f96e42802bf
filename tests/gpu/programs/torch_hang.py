"""One rank of a small training job in which one rank causes a hang. It knows nothing about cuspan.

    RANK=R WORLD_SIZE=N MASTER_ADDR=... MASTER_PORT=... torch_hang.py FAULT CULPRIT FOLDER [--backend nccl|gloo] [--at STEP]

Each step loads a batch from a process, trains with DistributedDataParallel, and reduces metrics in two communicators of all ranks
(NUMBERS, then WEIGHTS), which nothing else uses. In step AT, the culprit does FAULT (hangs_check.py lists them) just before the
first of them, or instead of it. FOLDER/RANK.json has the truth: the time, and the call that the others wait in."""

import argparse
import ctypes
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

NUMBERS_BYTES, WEIGHTS_BYTES = 32 << 20, 16 << 20  # so large that other sizes do not end by chance
BATCH, WIDTH = 64, 256


def load(queue):
    while True:
        queue.put([[float(i % 7) for i in range(WIDTH)] for _ in range(BATCH)])


class Rank:
    def __init__(self, options):
        self.options, self.number = options, int(os.environ["RANK"])
        is_gpu = options.backend == "nccl"
        # before CUDA: its state does not survive a fork
        self.batches = multiprocessing.Queue(2)
        self.loader = multiprocessing.Process(target=load, args=(self.batches,), daemon=True)
        self.loader.start()
        self.device = torch.device("cuda", self.number % torch.cuda.device_count()) if is_gpu else torch.device("cpu")
        if is_gpu:
            torch.cuda.set_device(self.device)
        dist.init_process_group(options.backend)
        self.groups = [dist.new_group(), dist.new_group()]
        self.values = [torch.ones(size // 4, device=self.device) for size in (NUMBERS_BYTES, WEIGHTS_BYTES)]
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)).to(self.device)
        self.model = nn.parallel.DistributedDataParallel(model, device_ids=[self.device.index] if is_gpu else None)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)

    def write(self, step, **more):
        path = Path(self.options.folder, f"{self.number}.json")
        whole = {"pid": os.getpid(), "loader": self.loader.pid, "step": step, "time_ns": time.time_ns(), **more}
        path.with_suffix(".tmp").write_text(json.dumps(whole))
        path.with_suffix(".tmp").replace(path)

    def reduce(self, which, elements=None):
        dist.all_reduce(self.values[which][:elements], group=self.groups[which])

    def train(self):
        batch = torch.tensor(self.batches.get(), device=self.device)
        self.optimizer.zero_grad()
        self.model(batch).sum().backward()
        self.optimizer.step()

    def metrics(self):
        self.reduce(0)
        self.reduce(1)
        for values in self.values:
            values.mul_(0.5)
        return float(self.values[0][0])  # waits for the GPU

    def fault(self):
        """Returns the metrics' stand-in; None: as usual. The line of each hang on the host is this function's or FAULTS'."""
        return FAULTS[self.options.fault](self)

    def run(self):
        for step in range(100000):
            is_time = step == self.options.at
            is_culprit = is_time and self.number == self.options.culprit
            if not is_time:
                self.write(step)
            self.train()
            if is_time:
                if self.device.type == "cuda":
                    torch.cuda.synchronize()  # what a process that ends has enqueued ends with it
                # `number` counts the calls of NUMBERS, from 0
                self.write(step, culprit=self.options.culprit, number=step, operation="all_reduce", bytes=NUMBERS_BYTES)
            if not (is_culprit and self.fault()):
                self.metrics()


def take_lock(_):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def hold_gil(_):
    ctypes.PyDLL(None).pause()  # PyDLL does not release it


def spin(_):
    torch.cuda._sleep(1 << 62)


def skip(rank):
    rank.reduce(1)
    float(rank.values[1][0])
    return True


def change_size(rank):
    rank.reduce(0, NUMBERS_BYTES // 4 // 32)
    rank.reduce(1)
    float(rank.values[1][0])
    return True


def change_order(rank):
    rank.reduce(1)
    rank.reduce(0)
    float(rank.values[0][0])
    return True


def kill_loader(rank):
    os.kill(rank.loader.pid, signal.SIGKILL)
    rank.loader.join()
    while True:
        rank.batches.get()


FAULTS = {
    "kill": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda _: os.kill(os.getpid(), signal.SIGSTOP),
    "lock": take_lock,
    "gil": hold_gil,
    "kernel": spin,
    "skip": skip,
    "size": change_size,
    "order": change_order,
    "end": lambda _: sys.exit(0),
    "loader": kill_loader,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fault", choices=FAULTS)
    parser.add_argument("culprit", type=int)
    parser.add_argument("folder")
    parser.add_argument("--backend", default="nccl")
    parser.add_argument("--at", type=int, default=20)
    Rank(parser.parse_args()).run()


if __name__ == "__main__":
    main()
