#!/usr/bin/env python3
"""Many simultaneous requests of a service in Python: each is a span of OpenTelemetry's SDK and makes a known number of
copies of a unique size, and of kernels. Nothing in it refers to cuspan.

    OTEL_PYTHON_CONTEXT=cuspan cuspan run --file SPANS.jsonl requests.py threads|pool|asyncio REQUESTS OUT.json [shared]

OUT.json: for each request its trace and span ID and its work; requests_check.py SPANS.jsonl OUT.json compares. Every
tenth request is unsampled. `shared`: request n is a part of the trace n, on which other processes also work, each on
the GPU of its LOCAL_RANK.
"""

import asyncio
import json
import os
import queue
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

CONCURRENT = 100


class AllButEveryTenth(Sampler):
    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, links=None, trace_state=None):
        is_sampled = int(name.split()[1]) % 10 != 9
        return SamplingResult(Decision.RECORD_AND_SAMPLE if is_sampled else Decision.DROP)

    def get_description(self):
        return "all but every tenth"


trace.set_tracer_provider(TracerProvider(sampler=AllButEveryTenth()))
tracer = trace.get_tracer("requests")
done = []
is_shared = "shared" in sys.argv[4:]
rank = int(os.environ.get("LOCAL_RANK", 0))
device = torch.device("cuda", rank % torch.cuda.device_count())
pinned = torch.zeros(512 * 64, dtype=torch.uint8).pin_memory()


def size_of(n):
    return 64 * (1 + n % 509)


def request(n):
    """The request's span; if it is shared, below the context that came with it."""
    came = SpanContext(int.from_bytes(b"request!", "big") << 64 | n + 1, n + 1, True, TraceFlags(TraceFlags.SAMPLED))
    parent = trace.set_span_in_context(NonRecordingSpan(came)) if is_shared else None
    return tracer.start_as_current_span(f"request {n}", parent)


def begin(n, span):
    identity = span.get_span_context()
    done.append({"number": n, "rank": rank, "trace_id": f"{identity.trace_id:032x}", "span_id": f"{identity.span_id:016x}",
                 "is_sampled": identity.trace_flags.sampled, "copies": 1 + n % 3, "bytes": size_of(n),
                 "kernels": 1 + n % 7})


def copy(n, buffer):
    buffer[:size_of(n)].copy_(pinned[:size_of(n)], non_blocking=True)


def serve(n, buffer):
    with request(n) as span:
        begin(n, span)
        for _ in range(1 + n % 3):
            copy(n, buffer)
        for _ in range(1 + n % 7):
            buffer.add_(1)


async def serve_async(n, buffers):
    with request(n) as span:
        begin(n, span)
        buffer = await buffers.get()
        for _ in range(1 + n % 3):
            copy(n, buffer)
            await asyncio.sleep(0)
        for _ in range(1 + n % 7):
            buffer.add_(1)
            await asyncio.sleep(0.0001 * (n % 5))
        buffers.put_nowait(buffer)


def new_buffer():
    return torch.zeros(512 * 64, dtype=torch.uint8, device=device)


def run_threads(count):
    numbers = queue.SimpleQueue()
    for n in range(count):
        numbers.put(n)

    def work():
        buffer = new_buffer()
        while True:
            try:
                serve(numbers.get_nowait(), buffer)
            except queue.Empty:
                return

    threads = [threading.Thread(target=work) for _ in range(CONCURRENT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_pool(count):
    """The request's span starts on one thread; threads of a pool do its work, as instrumentations propagate it."""
    local = threading.local()

    def prepare():
        local.buffer = new_buffer()

    def step(n, inherited, work):
        token = context.attach(inherited)
        work(n, local.buffer)
        context.detach(token)

    def add(_, buffer):
        buffer.add_(1)

    with ThreadPoolExecutor(CONCURRENT, initializer=prepare) as pool:
        for first in range(0, count, CONCURRENT):
            results = []
            for n in range(first, min(count, first + CONCURRENT)):
                with request(n) as span:
                    begin(n, span)
                    works = [copy] * (1 + n % 3) + [add] * (1 + n % 7)
                    results += [pool.submit(step, n, context.get_current(), work) for work in works]
            for result in results:
                result.result()


async def run_asyncio(count):
    buffers = asyncio.Queue()
    for _ in range(CONCURRENT):
        buffers.put_nowait(new_buffer())
    for first in range(0, count, CONCURRENT):
        await asyncio.gather(*(serve_async(n, buffers) for n in range(first, min(count, first + CONCURRENT))))


def main():
    how, count = sys.argv[1], int(sys.argv[2])
    torch.cuda.set_device(device)
    new_buffer()
    torch.cuda.synchronize()
    if how == "asyncio":
        asyncio.run(run_asyncio(count))
    else:
        {"threads": run_threads, "pool": run_pool}[how](count)
    torch.cuda.synchronize()
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        json.dump(done, file)
    print(f"PASS: {count} requests by {how}, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
