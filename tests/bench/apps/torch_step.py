#!/usr/bin/env python3
"""A step of a PyTorch model that is bound by launches: a multi-layer perceptron of small layers, and one number back.

    torch_step.py [STEPS|late]

Prints the minimum and the median of STEPS (600; 200 with the profiler) steps after a warm-up. PROF=cuda runs them under
PyTorch's profiler (Kineto) with its CUDA activities, PROF=all also with the CPU's, and prints the number of its events.
late: steps before and after the library that BENCH_LOAD names is loaded, as in figures.h.
"""

import ctypes
import os
import statistics
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import torch

LAYERS, WIDTH, BATCH = 32, 256, 8


def make_step():
    torch.manual_seed(1)
    blocks = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH), torch.nn.GELU())
              for _ in range(LAYERS)]
    model = torch.nn.Sequential(*blocks).cuda().eval()
    batch = torch.randn(BATCH, WIDTH, device="cuda")

    @torch.no_grad()
    def step():
        return model(batch).square().mean().item()  # .item() waits for the GPU
    return step


def ready_to_measure():
    """Like the function in figures.h."""
    if "BENCH_READY" in os.environ:
        Path(os.environ["BENCH_READY"]).touch()
    time.sleep(0.2)


def profiler():
    wanted = os.environ.get("PROF")
    if not wanted:
        return nullcontext()
    from torch.profiler import ProfilerActivity, profile
    kinds = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if wanted == "all" else [])
    return profile(activities=kinds)


def timed(step, count):
    times_us = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        step()
        times_us.append((time.perf_counter_ns() - begin) / 1e3)
    return times_us


def measure_late(step):
    timed(step, 400)
    ready_to_measure()
    before = timed(step, 500)
    if "BENCH_LOAD" in os.environ:
        ctypes.CDLL(os.environ["BENCH_LOAD"]).InitializeInjection()
    after = timed(step, 500)
    print(f"torch-step-late.median {statistics.median(after) / statistics.median(before):.6g} x")
    print(f"torch-step-late.min {min(after) / min(before):.6g} x")


def main():
    if sys.argv[1:] == ["late"]:
        measure_late(make_step())
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200 if os.environ.get("PROF") else 600
    step = make_step()
    timed(step, 50)
    ready_to_measure()
    with profiler() as profile:
        timed(step, 50)
        times_us = timed(step, count)
    print(f"torch-step.min {min(times_us):.3f} us")
    print(f"torch-step.median {statistics.median(times_us):.3f} us")
    if profile:
        print(f"profiler-events {len(profile.events())} events")


if __name__ == "__main__":
    main()
