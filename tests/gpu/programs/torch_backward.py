#!/usr/bin/env python3
"""Checks that PyTorch's own threads get the context of backward()'s caller.

    python3 tests/gpu/programs/torch_backward.py

Needs PyTorch, a GPU and cc. Uses the stub agent of python/tests."""

import ctypes
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FIRST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECOND = "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01"


def stub_agent(folder):
    library = os.path.join(folder, "libcuspan.so")
    sources = [ROOT / "python/tests/stub_agent.c", ROOT / "src/agent/core/entry/python_entry.c"]
    options = ["-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuspan.so", f"-I{ROOT}/include", f"-I{ROOT}/src"]
    subprocess.run(["cc", *options, "-o", library, *sources, "-ldl"], check=True)
    return library


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUDA_INJECTION64_PATH"] = library = stub_agent(folder)
        sys.path.insert(0, str(ROOT / "python"))
        import cuspan

        cuspan.is_on()
        stub = ctypes.CDLL(library)
        import torch

    def native():
        text, state = ctypes.create_string_buffer(56), ctypes.create_string_buffer(8)
        return text.value.decode() if stub.stub_current(text, state, 8) else None

    seen = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(_context, value):
            return value * 2

        @staticmethod
        def backward(_context, gradient):
            seen.append((threading.get_ident(), native()))
            return gradient * 2

    def step():
        seen.clear()
        weight = torch.ones(1024, device="cuda", requires_grad=True)
        Look.apply(weight).sum().backward()
        Look.apply(weight).sum().backward()
        torch.autograd.grad(Look.apply(weight).sum(), weight)
        return list(seen)

    results = []
    for context in (FIRST, SECOND):
        with cuspan.attach(context):
            results.append([at == context for _, at in step()])
    outside = step()
    results.append([at is None for _, at in outside])
    results.append([thread != threading.get_ident() for thread, _ in outside])  # otherwise nothing was tested
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}: {results}")
    return 0 if all(all(result) and len(result) == 3 for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
