#!/usr/bin/env python3
"""Writes spans of many short requests, which take more memory to read than others: OTLP protobuf on standard output.

    requests.py SPANS [--names N] [--requests-of N] >FILE

Each request is a trace of its own: a span of the service, then turns of an allocation, a launch, its kernel and a free.
--requests-of: spans in a request (default 5). --names: different names of requests (default 1 million). There are eight
processes, each with one GPU."""

import argparse
import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from otlp_encode import varint  # noqa: E402

REQUESTS_OF_MESSAGE = 1000
PROCESSES = 8
START_NS = 1_780_000_000_000_000_000


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(number, key, value):
    any_value = field(1, value.encode()) if isinstance(value, str) else varint(3 << 3) + varint(value)
    return field(number, field(1, key.encode()) + field(2, any_value))


def resource(**attributes):
    return field(1, b"".join(attribute(1, key.replace("__", "."), value) for key, value in attributes.items()))


# Trace ID, span ID, parent's ID, start and end are at the start of a span, each of them behind its tag.
HEAD = struct.Struct("<2s16s2sQ2sQsQsQ")


def head(trace, span, parent, start_ns, end_ns):
    return HEAD.pack(b"\x0a\x10", trace, b"\x12\x08", span, b"\x22\x08", parent, b"\x39", start_ns, b"\x41", end_ns)


def tail(name, *attributes):
    return field(5, name.encode()) + b"".join(attribute(9, key, value) for key, value in attributes)


def tails():
    call = (("cuda.api", "runtime"), ("cuspan.thread.id", 77), ("cuda.context.id", 1))
    kernel = tail("gemm", ("cuda.activity", "kernel"), ("cuda.stream.id", 7), ("cuda.context.id", 1),
                  ("cuda.kernel.name", "void gemm<float, 128>(float*, float const*, int)"), ("cuda.kernel.grid", "[32,8,1]"),
                  ("cuda.kernel.block", "[128,1,1]"), ("cuda.kernel.registers", 64))
    pointers = [("cuda.arg.ptr", hex(0x7F0000000000 + i * 4096)) for i in range(5000)]
    allocations = [tail("cudaMalloc", *call, pointer, ("cuda.arg.bytes", 4096)) for pointer in pointers]
    frees = [tail("cudaFree", *call, pointer) for pointer in pointers]
    return allocations, tail("cudaLaunchKernel", *call), kernel, frees


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spans", type=int)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--requests-of", type=int, default=5)
    options = parser.parse_args()
    rng, out = random.Random(1), sys.stdout.buffer
    allocations, launch, kernel, frees = tails()
    hosts = [resource(service__name="api", service__instance__id=f"process {p}", process__pid=100 + p) for p in range(PROCESSES)]
    gpus = [resource(service__name="api", service__instance__id=f"process {p}", process__pid=100 + p, cuda__device__id=p,
                     hw__id=f"GPU-{p}", hw__name="GPU") for p in range(PROCESSES)]
    span, request, message = 1, 0, 0
    while span <= options.spans:
        process, host, gpu = message % PROCESSES, [], []
        now = START_NS + message // PROCESSES * REQUESTS_OF_MESSAGE * 100_000 + process
        for _ in range(REQUESTS_OF_MESSAGE):
            trace, root, turn = rng.randbytes(16), span, 0
            name = rng.randrange(options.names)
            host.append(head(trace, root, 0, now, now + 90_000) + tail(f"GET /users/{name}/orders"))
            while turn < options.requests_of - 1:
                at, pointer = now + 1000 + turn * 1000, (request + turn) % len(frees)
                parts = ((host, root, 0, allocations[pointer]), (host, root, 800, launch), (gpu, span + turn + 2, 1200, kernel),
                         (host, root, 2500, frees[pointer]))
                for place, parent, after, rest in parts[:options.requests_of - 1 - turn]:
                    turn += 1
                    place.append(head(trace, span + turn, parent, at + after, at + after + 500) + rest)
            span, request, now = span + options.requests_of, request + 1, now + 100_000
        data = b"".join(field(1, of + field(2, b"".join(field(2, item) for item in spans)))
                        for of, spans in ((hosts[process], host), (gpus[process], gpu)) if spans)
        out.write(struct.pack(">I", len(data)) + data)
        message += 1


if __name__ == "__main__":
    main()
