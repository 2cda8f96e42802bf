#!/usr/bin/env python3
"""Runs examples/torch_inference.py entirely under PyTorch's profiler, for tests/gpu/numbers/profilers_test.py.

    torch_profiled.py OUT.json

OUT.json contains the profiler's data: `events` of its trace, each [kind, name, duration in ns], where kind is kernel,
copy or fill, and `averages`, its own table (key_averages()) of the GPU's work: {name: [count, total in us]}.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
import torch_inference  # noqa: E402

SORTS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill"}


def main():
    out, sys.argv[1:] = sys.argv[1], []
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        status = torch_inference.main()
        torch.cuda.synchronize()
    path = tempfile.mktemp(suffix=".json")
    profiler.export_chrome_trace(path)
    with open(path, encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X" and event.get("cat") in SORTS]
    os.unlink(path)
    found = [[SORTS[event["cat"]], event["name"], round(event["dur"] * 1000)] for event in events]
    names = {name for _, name, _ in found}
    averages = {row.key: [row.count, getattr(row, "self_device_time_total", None) or getattr(row, "self_cuda_time_total", 0)]
                for row in profiler.key_averages() if row.key in names}
    Path(out).write_text(json.dumps({"events": found, "averages": averages}), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
