#!/usr/bin/env python3
"""Hangs of public reports (tests/field/LOG.md): what `cuspan hang` says of each."""
import argparse
import json
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path("build")
WORLD = "1"


class Job:
    """Ranks that wait for their GPU. Calls of a communicator are (operation, bytes); time passes with each call of a rank."""

    def __init__(self, count):
        self.ranks = [{"rank": rank, "world_size": count, "host": "node", "pid": 100 + rank, "started_ticks": 1, "where": "cuda_sync", "watch": "stalled",
                       "still": True, "stalled_ns": 42 * 10**9, "communicators": []} for rank in range(count)]
        self.add(WORLD, range(count))
        self.now_ns = 0

    def add(self, communicator, members):
        for number, rank in enumerate(members):
            self.ranks[rank]["communicators"].append({"id": communicator, "ranks": len(members), "rank": number, "enqueued": 0, "completed": 0, "calls": []})

    def seat(self, rank, communicator):
        return next(seat for seat in self.ranks[rank]["communicators"] if seat["id"] == communicator)

    def call(self, ranks, operation, size, communicator=WORLD, ended=False):
        for rank in [ranks] if isinstance(ranks, int) else ranks:
            seat = self.seat(rank, communicator)
            self.now_ns += 10
            before = sum(call["operation"] == operation for call in seat["calls"])
            seat["calls"].append({"number": seat["enqueued"], "ordinal": before, "at_ns": self.now_ns, "operation": operation, "bytes": size, "thread": 100 + rank,
                                  "returned": True, "ended": ended})
            seat["enqueued"] += 1
            seat["completed"] += ended

    def place(self, ranks, where, function=None):
        for rank in [ranks] if isinstance(ranks, int) else ranks:
            self.ranks[rank]["where"] = where
            if function:
                self.ranks[rank]["function"] = function

    def exact(self):
        for rank in self.ranks:
            for seat in rank["communicators"]:
                seat["exact"] = True

    def verdict(self):
        text = json.dumps({"cuspan_hang": 1, "ranks": self.ranks})
        done = subprocess.run([BUILD / "cuspan", "hang", "--json", "-"], input=text, capture_output=True, text=True, timeout=60, check=False)
        found, = json.loads(done.stdout)["jobs"]
        return found


class Reports(unittest.TestCase):
    def expect(self, job, kind, ranks, sure=True):
        for is_exact in (False, True):
            if is_exact:
                job.exact()
            found = job.verdict()
            self.assertEqual((found["kind"], [one["rank"] for one in found["culprits"]], found["sure"]), (kind, list(ranks), sure), found["headline"])
        return found

    def test_pytorch_97191(self):
        """Rank 0 all-reduces twice the size, in the first call."""
        job = Job(8)
        job.call(0, "all_reduce", 800 << 20)
        job.call(range(1, 8), "all_reduce", 400 << 20)
        self.expect(job, "size_mismatch", [0])

    def test_pytorch_140563(self):
        """The first rank has another size; PyTorch's analyzer compares with it, and names ranks that are right."""
        job = Job(128)
        job.call(range(128), "all_reduce", 1 << 20, ended=True)
        job.call(0, "all_reduce", 4100)
        job.call(range(1, 128), "all_reduce", 1 << 20)
        self.expect(job, "size_mismatch", [0])

    def test_apex_19(self):
        """Each rank calls in the order of a dictionary."""
        job = Job(4)
        for rank in range(4):
            for size in ((64, 4096) if rank != 2 else (4096, 64)):
                job.call(rank, "broadcast", size)
        self.expect(job, "size_mismatch", [2])

    def test_lightning_19106(self):
        """A rank logs a value that others do not have, and so gathers once more."""
        job = Job(4)
        for rank in range(4):
            if rank == 1:
                job.call(rank, "broadcast", 8)
            job.call(rank, "all_gather", 64)
            job.call(rank, "all_reduce", 4096)
        self.expect(job, "extra_call", [1])

    def test_lightning_20832(self):
        """Rank 3 gathers where the others broadcast. Rank 0, the root, has sent its data and goes on."""
        job = Job(4)
        job.call(range(4), "all_reduce", 1 << 20, ended=True)
        job.call(0, "broadcast", 5164000, ended=True)
        job.call([1, 2], "broadcast", 5164000)
        job.call([0, 3], "all_gather", 2052)
        found = self.expect(job, "skipped_call", [3])
        self.assertEqual(found["call"]["number"], 1)

    def test_nccl_1911(self):
        """Two ranks are ahead. They are not the cause, but those that did not make the call."""
        job = Job(32)
        job.call(range(32), "all_gather", 4096, ended=True)
        job.call([12, 13], "all_gather", 4096)
        others = [rank for rank in range(32) if rank not in (12, 13)]
        job.place(others, "host")
        self.expect(job, "host", others, sure=False)

    def test_nccl_1730(self):
        """All have made the call, and it does not end. NCCL's RAS says OK."""
        job = Job(8)
        job.call(range(8), "all_reduce", 8652160, ended=True)
        job.call(range(8), "all_reduce", 8652160)
        job.exact()
        found = job.verdict()
        self.assertEqual((found["kind"], found["sure"], found["call"]["number"]), ("inside", False, 1))

    def test_ray_42751(self):
        """A rank creates a communicator for a barrier on another device; the others have one, and wait for it."""
        job = Job(8)
        job.call(range(8), "all_reduce", 4096, ended=True)
        job.call([rank for rank in range(8) if rank != 1], "all_reduce", 4)
        job.place(1, "nccl", "ncclCommInitRankConfig")
        self.expect(job, "host", [1])

    def test_pytorch_119215(self):
        """A rank aborts its communicator, which does not return; the others wait in it."""
        job = Job(4)
        job.call(range(4), "all_reduce", 4096, ended=True)
        job.call([0, 1, 3], "all_reduce", 4)
        job.place(2, "nccl", "ncclCommAbort")
        found = self.expect(job, "host", [2])
        self.assertIn("in a call of NCCL, in ncclCommAbort", found["headline"])

    def test_marin_7344(self):
        """A rank's launch spins in NCCL (also nccl 2353), and the others wait in the collective that it does not launch."""
        job = Job(8)
        job.call(range(8), "all_reduce", 4096, ended=True)
        job.call(range(8), "all_reduce", 4096)
        job.place(3, "nccl", "ncclGroupEnd")
        found = self.expect(job, "host", [3], sure=False)
        self.assertIn("rank 3 is in a call of NCCL, in ncclGroupEnd; others wait for call 1 of communicator 1", found["headline"])
        job.place(range(8), "nccl", "ncclGroupEnd")  # all connect
        self.assertEqual(job.verdict()["kind"], "inside")

    def test_torchrec_4149(self):
        """Two ranks wait for a collective of one process group before they make that of another group, for which the others wait first."""
        job = Job(16)
        for rank in range(8):
            job.add(f"b{rank}", [rank, rank + 8])
        for rank in range(16):
            job.call(rank, "all_to_all", 4096, ended=True)
            job.call(rank, "all_reduce", 64, f"b{rank % 8}", ended=True)
        for rank in range(16):
            if rank in (6, 7):
                job.call(rank, "all_reduce", 64, f"b{rank % 8}")
            else:
                job.call(rank, "all_to_all", 4096)
        found = self.expect(job, "order", [6, 7], sure=False)
        self.assertEqual({found["call"]["operation"], found["other_call"]["operation"]}, {"all_to_all", "all_reduce"})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BUILD = arguments.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
