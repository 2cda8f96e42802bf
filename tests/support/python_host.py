"""Stands in for CUDA in a Python program, like host.c in C: begin() loads the agent that CUDA_INJECTION64_PATH names,
like the driver in the first CUDA call, and work() makes the calls of the recording HOST_RECORDING through the replay
library HOST_DOUBLE."""

import ctypes
import os


class Options(ctypes.Structure):
    """struct replay_options."""

    _fields_ = [("is_paced", ctypes.c_bool), ("overload", ctypes.c_bool), ("repeat", ctypes.c_uint32),
                ("progress", ctypes.c_void_p), ("progress_context", ctypes.c_void_p)]


def begin():
    double = ctypes.CDLL(os.environ["HOST_DOUBLE"])
    error = ctypes.create_string_buffer(512)
    if double.cuspan_replay_load(os.environ["HOST_RECORDING"].encode(), error):
        raise RuntimeError(error.value.decode())
    ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
    return double


def work(double, overload=False):
    result, error = (ctypes.c_uint64 * 16)(), ctypes.create_string_buffer(512)  # struct replay_result has 10
    if double.cuspan_replay_run(ctypes.byref(Options(overload=overload)), result, error):
        raise RuntimeError(error.value.decode())


def cuda(rank=None):
    """All CUDA work of one of several processes that a launcher started."""
    if rank is not None:
        os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    work(begin())
