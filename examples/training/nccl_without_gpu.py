"""Stands in for NCCL and the CUDA driver on a machine without a GPU, for hang.py: ranks meet in a folder, and a collective returns when
all have called it with the same size. cuspan, if the program was started with it, sees the calls through the library with which it
replays recordings; with a real NCCL, it sees them by NVTX.
"""

import ctypes
import hashlib
import importlib
import itertools
import os
import sys
import time
from pathlib import Path

RECORDING = Path(__file__).resolve().parents[1] / "recordings/vector_add.cuspanrec"  # is not played
POLL_S = 0.002


class Attribute(ctypes.Structure):
    """struct range_attr of cuspan, with a number."""

    _fields_ = [("key", ctypes.c_char_p), ("key_bytes", ctypes.c_uint32), ("bytes", ctypes.c_uint32), ("type", ctypes.c_uint8),
                ("value", ctypes.c_int64)]


REPLAY = CUSPAN = None


def start_agent():
    """Starts the agent as the CUDA driver does in the first CUDA call of a program, with the library for replays as CUPTI."""
    global REPLAY, CUSPAN
    path = os.environ.get("CUDA_INJECTION64_PATH")
    if not path:
        return
    replay = Path(path).with_name("libcuspan-replay.so")
    REPLAY = ctypes.CDLL(str(replay))
    error = ctypes.create_string_buffer(1024)
    if REPLAY.cuspan_replay_load(str(RECORDING).encode(), error):
        raise RuntimeError(error.value.decode())
    os.environ["CUSPAN_SET"] = ";".join(filter(None, [os.environ.get("CUSPAN_SET"), f"cupti.library={replay}"]))
    ctypes.CDLL(path).InitializeInjection()
    sys.path.append(str(replay.with_name("python.zip")))
    CUSPAN = importlib.import_module("cuspan")


def begin_step(number):
    if CUSPAN:
        CUSPAN.step(number)


def tell(name, values):
    """Tells the agent that a call of NCCL begins, or without a name that it returns."""
    if not REPLAY:
        return
    note = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.POINTER(Attribute), ctypes.c_uint32).in_dll(REPLAY, "cuspan_replay_nccl")
    if note:
        note(name, (Attribute * len(values))(*(Attribute(key, len(key), 0, 0, value) for key, value in values.items())), len(values))


class Communicator:
    def __init__(self, folder, ranks, rank):
        self.ranks, self.rank, self.ordinals = ranks, ranks.index(rank), itertools.count()
        self.folder = Path(folder, f"ranks-{ranks[0]}-to-{ranks[-1]}")
        self.number = int.from_bytes(hashlib.sha256(bytes(self.folder)).digest()[:7], "little")  # as NCCL's, unlike those of other jobs
        self.folder.mkdir(exist_ok=True)

    def all_reduce(self, size):
        ordinal = next(self.ordinals)
        tell(b"ncclAllReduce", {b"nvtx.payload.NCCL communicator ID": self.number, b"nvtx.payload.Message size [bytes]": size,
                                b"collective.ordinal": ordinal, b"collective.ranks": len(self.ranks), b"collective.rank": self.rank})
        (self.folder / f"{ordinal}-{size}-{self.rank}").touch()
        others = [self.folder / f"{ordinal}-{size}-{rank}" for rank in range(len(self.ranks))]
        while not all(map(Path.exists, others)):
            time.sleep(POLL_S)
        tell(None, {})
