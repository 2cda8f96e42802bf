#!/usr/bin/env python3
"""A training job of four processes in which rank 2 makes the others wait, so that `cuspan hang` can be tried without a GPU.

    cuspan run --file hang.jsonl --set hang.after_ms=1000 python3 examples/training/hang.py --hang KIND

KIND is skip (it leaves out a collective), size (it calls one with another size), order (it calls two in another order), lock (it
waits for a lock), stop (it is stopped, as by SIGSTOP), kill (it is killed), loader (its data loader is killed), or none. README.md has
what is shown. Ctrl-C ends the job.
"""

import argparse
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading

import nccl_without_gpu

RANKS, CULPRIT, STEP = 4, 2, 20
BUCKETS = [25 << 20, 17 << 20, 9 << 20]  # bytes of gradients
KINDS = ["none", "skip", "size", "order", "lock", "stop", "kill", "loader"]


def load(batches):
    for number in range(10**9):
        batches.put(number)


class Trainer:
    def __init__(self, kind, meeting):
        self.batches = multiprocessing.Queue(2)
        self.loader = multiprocessing.Process(target=load, args=[self.batches], daemon=True)
        self.loader.start()
        nccl_without_gpu.start_agent()
        self.rank = int(os.environ["RANK"])
        self.kind = kind if self.rank == CULPRIT else "none"
        self.world = nccl_without_gpu.Communicator(meeting, list(range(RANKS)), self.rank)
        self.pair = nccl_without_gpu.Communicator(meeting, [self.rank & ~1, self.rank | 1], self.rank)  # tensor parallelism
        self.lock = threading.Lock()

    def is_wrong(self, kind):
        return self.step == STEP and self.kind == kind

    def next_batch(self):
        if self.is_wrong("loader"):
            self.loader.kill()
            self.loader.join()
            while not self.batches.empty():
                self.batches.get()
        return self.batches.get()

    def forward(self):
        calls = [lambda: self.pair.all_reduce(4 << 20), lambda: self.world.all_reduce(4)]
        for call in reversed(calls) if self.is_wrong("order") else calls:
            call()

    def backward(self):
        for number, size in enumerate(BUCKETS):
            if number == 2 and self.is_wrong("skip"):
                continue
            self.world.all_reduce(size // 2 if number == 1 and self.is_wrong("size") else size)

    def write_metrics(self):
        if self.is_wrong("lock"):
            threading.Thread(target=self.lock.acquire, daemon=True).start()
        if self.is_wrong("stop"):
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.is_wrong("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        with self.lock:
            pass

    def train(self, steps):
        for self.step in range(steps):
            nccl_without_gpu.begin_step(self.step)
            self.next_batch()
            self.forward()
            self.backward()
            self.write_metrics()


def launch(options):
    with tempfile.TemporaryDirectory() as meeting:
        ranks = [subprocess.Popen([sys.executable, sys.argv[0], "--hang", options.hang, "--steps", str(options.steps), "--meeting", meeting],
                                  env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS),
                                       "CUSPAN_JOB_ID": "hang-example"})
                 for rank in range(RANKS)]
        try:
            status = max(process.wait() for process in ranks if process is not ranks[CULPRIT])
        except KeyboardInterrupt:
            status = 130
        for process in ranks:
            process.kill()
            process.wait()
        return status


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--hang", choices=KINDS, default="none")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--meeting", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.meeting:
        sys.exit(launch(options))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # without a traceback of each rank
    Trainer(options.hang, options.meeting).train(options.steps)


if __name__ == "__main__":
    main()
