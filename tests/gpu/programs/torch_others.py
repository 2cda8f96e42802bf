#!/usr/bin/env python3
"""PyTorch with its own profiler, before, during and after, for tests/gpu/others.py: prints one line of JSON.

    torch_others.py [--rounds N] [--steps N] [--threads N] [--pause S] [--nudge] [--first] [--graph] [--without] [--quiet-end S]

A round is --steps steps without the profiler and as many with it; after the last round some follow without it. first:
the profiler also runs before CUDA is initialized. nudge: a step after each round, before the pause (a profiler that
ends CUPTI does so in the program's next call). graph: the steps are launches of a CUDA graph. without: no profiler at
all. With TEARDOWN_CUPTI=1 the next round waits until the profiler has ended CUPTI (teardown_ms). The line has, for each
round, the profiler's counts, and the times of each phase, in ns since 1970.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from contextlib import nullcontext

import torch
from torch.profiler import ProfilerActivity, profile

LAYERS, WIDTH = 16, 256


def make_step(options):
    torch.manual_seed(1)
    blocks = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH), torch.nn.GELU())
              for _ in range(LAYERS)]
    model = torch.nn.Sequential(*blocks).cuda().eval()
    batch = torch.randn(8, WIDTH, device="cuda")

    @torch.no_grad()
    def step():
        return model(batch).square().mean()
    for _ in range(3):
        step().item()
    if not options.graph:
        return step
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay():
        graph.replay()
        return result
    return replay


def work(step, options):
    """The steps of a phase, on each thread. Returns their times."""
    begin = time.time_ns()

    def run():
        for _ in range(options.steps):
            step().item()
    threads = [threading.Thread(target=run) for _ in range(options.threads - 1)]
    for thread in threads:
        thread.start()
    run()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    return [begin, time.time_ns()]


def seen_by(profiler):
    """Counts and inconsistencies of a profiler's trace."""
    path = tempfile.mktemp(suffix=".json")
    profiler.export_chrome_trace(path)
    with open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    os.unlink(path)
    by = {}
    for event in events:
        by.setdefault(event.get("cat", "?"), []).append(event)
    calls = {e["args"]["correlation"]: e for e in by.get("cuda_runtime", []) + by.get("cuda_driver", [])
             if "correlation" in e.get("args", {})}
    kernels = by.get("kernel", [])
    found = [calls.get(e["args"].get("correlation")) for e in kernels]
    leads = [e["ts"] - call["ts"] for e, call in zip(kernels, found) if call]
    ids = [e["args"].get("correlation") for e in kernels]
    return {"kernels": len(kernels), "copies": len(by.get("gpu_memcpy", [])) + len(by.get("gpu_memset", [])),
            "runtime": len(calls), "operators": len(by.get("cpu_op", [])), "kernels_without_call": found.count(None),
            "kernels_of_one_call_max": max((ids.count(i) for i in set(ids[:500])), default=0),
            "kernels_with_operator": sum("External id" in e["args"] or "external id" in e["args"] for e in kernels),
            "no_duration": sum(not e.get("dur", 0) > 0 for e in kernels),
            "lead_us": [min(leads, default=0), sorted(leads)[len(leads) // 2] if leads else 0, max(leads, default=0)]}


def thread_ids():
    return set(os.listdir("/proc/self/task"))


def wait_for_teardown(before, step):
    """The profiler ends CUPTI on a thread of its own, in the program's next call. A round that begins earlier would have no
    records from then on, also without cuspan. Returns ms, or None after five seconds."""
    begin = time.monotonic()
    while time.monotonic() - begin < 5:
        if not thread_ids() - before:
            return round((time.monotonic() - begin) * 1e3, 1)
        step().item()
        time.sleep(0.001)
    return None


def profiled(run, step=None):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        result = run()
        before = thread_ids()
    seen = seen_by(profiler)
    if step and os.environ.get("TEARDOWN_CUPTI") == "1":
        seen["teardown_ms"] = wait_for_teardown(before, step)
    return result, seen


def main():
    parser = argparse.ArgumentParser()
    for name, default in ("rounds", 1), ("steps", 40), ("threads", 1):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in "pause", "quiet-end":
        parser.add_argument(f"--{name}", type=float, default=0)
    for name in "first", "graph", "without", "nudge":
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    said = {"rounds": [], "before": [], "during": [], "step_us": {}}
    if options.first:
        _, said["first"] = profiled(lambda: torch.zeros(8, device="cuda").sum().item())
        time.sleep(options.pause)
    step = make_step(options)
    for _ in range(options.rounds):
        said["before"].append(work(step, options))
        if options.without:
            said["during"].append(work(step, options))
            continue
        window, seen = profiled(lambda: work(step, options), None if options.nudge else step)
        said["during"].append(window)
        said["rounds"].append(seen)
        if options.nudge:
            time.sleep(0.1)
            step().item()
        time.sleep(options.pause)
    time.sleep(options.quiet_end)
    said["after"] = [work(step, options)]
    for phase in "before", "during", "after":
        said["step_us"][phase] = round(sum(e - b for b, e in said[phase]) / 1e3 / options.steps / len(said[phase]), 1)
    print("RESULT " + json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
