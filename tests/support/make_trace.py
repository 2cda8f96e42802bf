#!/usr/bin/env python3
"""Writes a plausible CUDA trace as OTLP JSON lines, for the tests of `cuspan show` and for viewing its pictures.

usage: make_trace.py small|threads|large|wide [SEED] > trace.jsonl
  small    a vector addition: one thread, one stream, and a slow creation of the context
  threads  three threads, four streams, two GPUs, failing calls, difficult names
  large    an inference loop with some 10,000 spans
  wide     1,000 names, too many even for merged lines
"""

import json
import random
import sys

START_NS = 1_790_000_000_000_000_000
BATCH_SPANS = 512


def value(v):
    if isinstance(v, bool):
        return {"boolValue": v}
    if isinstance(v, int):
        return {"intValue": str(v)}
    if isinstance(v, float):
        return {"doubleValue": v}
    if isinstance(v, (list, tuple)):
        return {"arrayValue": {"values": [value(x) for x in v]}}
    return {"stringValue": v}


def attributes(d):
    return [{"key": k, "value": value(v)} for k, v in d.items()]


class Trace:
    def __init__(self, program, seed):
        self.random = random.Random(seed)
        self.id = f"{self.random.getrandbits(128):032x}"
        self.next_id = self.random.getrandbits(62)
        self.correlation = 0
        self.spans = []  # (resource key, span)
        self.program = program
        self.session = self.new_id()
        self.free_at = {}  # stream -> ns

    def new_id(self):
        self.next_id += 1
        return f"{self.next_id:016x}"

    def add(self, resource, name, start, end, parent, attrs, error=None):
        span = {
            "traceId": self.id,
            "spanId": self.new_id(),
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(START_NS + start),
            "endTimeUnixNano": str(START_NS + end),
            "attributes": attributes(attrs),
        }
        if parent:
            span["parentSpanId"] = parent
        if error:
            span["status"] = {"code": 2}
            span["attributes"] += attributes({"error.type": error})
        self.spans.append((resource, span))
        return span["spanId"]

    def call(self, name, start, duration, thread=(4711, "main"), error=None, **args):
        self.correlation += 1
        attrs = {"cuda.api": "runtime", "cuspan.thread.id": thread[0], "thread.name": thread[1],
                 "cuda.correlation.id": self.correlation}
        attrs.update({f"cuda.arg.{k}": v for k, v in args.items()})
        return self.add("process", name, start, start + duration, self.session, attrs, error)

    def work(self, parent, name, activity, start, duration, stream=7, device=0, **attrs):
        start = max(start, self.free_at.get((device, stream), 0))
        self.free_at[(device, stream)] = start + duration
        d = {"cuda.activity": activity, "cuda.context.id": 1 + device, "cuda.stream.id": stream,
             "cuda.correlation.id": self.correlation}
        d.update(attrs)
        self.add(f"gpu{device}", name, start, start + duration, parent, d)
        return start + duration

    def launch(self, kernel, start, duration, call_ns=4100, grid=(4096, 1, 1), block=(256, 1, 1), thread=(4711, "main"),
               stream=7, device=0, call="cudaLaunchKernel"):
        parent = self.call(call, start, call_ns, thread)
        return self.work(parent, kernel, "kernel", start + call_ns + 900, duration, stream, device,
                         **{"cuda.kernel.name": f"void {kernel}<float>(float const*, float*, int)",
                            "cuda.kernel.grid": list(grid), "cuda.kernel.block": list(block),
                            "cuda.kernel.registers": 32})

    def copy(self, direction, start, duration, bytes, thread=(4711, "main"), stream=7, device=0, call="cudaMemcpy"):
        parent = self.call(call, start, duration + 5200, thread, count=bytes)
        return self.work(parent, f"memcpy {direction}", "memcpy", start + 3000, duration, stream, device,
                         **{"cuda.memcpy.bytes": bytes, "cuda.memcpy.kind": direction})

    def finish(self):
        ends = [int(s["endTimeUnixNano"]) for _, s in self.spans]
        starts = [int(s["startTimeUnixNano"]) for _, s in self.spans]
        self.add("process", self.program, min(starts) - START_NS, max(ends) - START_NS, None,
                 {"cuda.session.number": 1, "cuda.session.spans": len(self.spans)})
        self.spans[-1][1]["spanId"] = self.session

    def lines(self):
        resources = {"process": {"service.name": self.program, "process.pid": 4711, "host.id": "a1b2"}}
        for device in range(2):
            resources[f"gpu{device}"] = dict(resources["process"], **{
                "hw.id": f"GPU-5d1f{device}", "hw.type": "gpu", "hw.name": "NVIDIA H200", "cuda.device.id": device})
        for first in range(0, len(self.spans), BATCH_SPANS):
            batch = self.spans[first:first + BATCH_SPANS]
            groups = {}
            for key, span in batch:
                groups.setdefault(key, []).append(span)
            yield json.dumps({"resourceSpans": [
                {"resource": {"attributes": attributes(resources[key])},
                 "scopeSpans": [{"scope": {"name": "cuspan", "version": "0.1.0"}, "spans": spans}]}
                for key, spans in groups.items()]}, ensure_ascii=False)


def small(seed):
    t = Trace("vector_add", seed)
    size = 16 << 20
    at = 0
    t.call("cudaMalloc", at, 183_400_000, size=size)
    at += 183_402_000
    for _ in range(2):
        t.call("cudaMalloc", at, 96_000, size=size)
        at += 98_000
    for _ in range(2):
        t.copy("HtoD", at, 612_000, size)
        at += 620_000
    t.launch("vector_add", at, 14_600, grid=(16384, 1, 1))
    at += 6_000
    t.call("cudaDeviceSynchronize", at, 16_900)
    at += 18_000
    t.copy("DtoH", at, 598_000, size)
    at += 606_000
    for _ in range(3):
        t.call("cudaFree", at, 71_000)
        at += 73_000
    t.finish()
    return t


def threads(seed):
    t = Trace("訓練サーバー", seed)
    workers = [(4711, "main"), (4720, "データ読込"), (4721, "worker-2")]
    t.call("cudaMalloc", 0, 2_100_000, size=1 << 30)
    at = 2_200_000
    for step in range(12):
        for n, worker in enumerate(workers):
            start = at + n * 7_000
            stream, device = (13 + n, n % 2)
            t.copy("HtoD", start, 40_000, 1 << 18, worker, stream, device, "cudaMemcpyAsync")
            t.launch("行列積_kernel" if n == 1 else "gemm_bf16", start + 50_000, 120_000 + 9_000 * n, thread=worker,
                     stream=stream, device=device, grid=(32, 8, 1), block=(16, 16, 1))
            t.launch("layer_norm", start + 58_000, 20_000, thread=worker, stream=stream, device=device)
        at += 260_000
    t.call("cudaMalloc", at, 12_000, error="cudaErrorMemoryAllocation", size=1 << 42)
    t.call("cudaMalloc", at + 14_000, 11_000, error="cudaErrorMemoryAllocation", size=1 << 42)
    parent = t.call("cudaMemsetAsync", at + 30_000, 4_000)
    t.work(parent, "memset", "memset", at + 36_000, 9_000, 7, 0, **{"cuda.memset.bytes": 4096})
    t.call("cudaStreamSynchronize", at + 40_000, 300_000)
    t.add("process", "e\u0301vil \x1b[31mname\n\u202e \"quoted\" \\", at + 50_000, at + 60_000, t.session, {"key with blank": "a \"b\"\t"})
    t.finish()
    return t


def large(seed):
    t = Trace("python", seed)
    r = t.random
    kernels = ["ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "vectorized_elementwise_kernel",
               "reduce_kernel", "flash_fwd_kernel", "layer_norm_kernel", "softmax_warp_forward", "CatArrayBatchedCopy"]
    at = 0
    for step in range(60):
        t.copy("HtoD", at, 9_000, 1 << 16, call="cudaMemcpyAsync")
        at += 15_000
        for _ in range(82):
            kernel = r.choices(kernels, [30, 30, 6, 6, 6, 6, 3])[0]
            t.launch(kernel, at, int(r.gauss(11_000, 2_000)), call_ns=int(r.gauss(3_500, 300)))
            at += 7_900
        t.call("cudaStreamSynchronize", at, 280_000)
        at += 290_000
        if step == 31:
            t.launch("reduce_kernel", at, 10_000)
            t.call("cudaMemcpyAsync", at + 9_000, 1_500, error="cudaErrorInvalidValue")
            at += 2_000_000
    t.finish()
    return t


def wide(seed):
    t = Trace("many_names", seed)
    at = 0
    for i in range(1000):
        t.launch(f"kernel_{i}", at, t.random.randrange(2_000, 90_000), call=f"cuCall{i % 40}")
        at += 20_000
    t.finish()
    return t


def main():
    makers = {"small": small, "threads": threads, "large": large, "wide": wide}
    if len(sys.argv) < 2 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    sys.stdout.reconfigure(encoding="utf-8")
    for line in makers[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 1).lines():
        print(line)


if __name__ == "__main__":
    main()
