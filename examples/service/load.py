#!/usr/bin/env python3
"""Sends many requests at once. Each has a unique shape, so its trace can be recognized by its work. Some are heavy
(32 images of 16 MiB through 300 layers), and some request more memory than any GPU has.

    load.py [--gateway URL] [--requests N] [--concurrency C] [--heavy-every N] [--fail-every N] [--out FILE.json]

Prints requests/s, p50, p99 and the longest time, and the traces of the slowest. --out: each request's trace ID, shape
and time. Exit status 1 if an answer is wrong, or one that should fail did not, or the reverse.
"""

import argparse
import http.client
import json
import queue
import sys
import threading
import time

import tracing
import web

HEAVY = {"images": 32, "pixels": 1 << 22, "layers": 300}
TOO_LARGE = {"images": 1, "pixels": 1 << 40, "layers": 1}


def kind_of(n, options):
    """0 disables a kind."""
    if options.fail_every and n % options.fail_every == options.fail_every - 1:
        return "failing"
    if options.heavy_every and n % options.heavy_every == options.heavy_every - 1:
        return "heavy"
    return "normal"


def shape_of(n, kind):
    """Among normal requests, no two of 10,689 in a row have the same shape: 3, 509 and 7 are prime."""
    return {"failing": TOO_LARGE, "heavy": HEAVY,
            "normal": {"images": 1 + n % 3, "pixels": 64 * (1 + n % 509), "layers": 1 + n % 7}}[kind]


def send(gateway, n, options):
    kind = kind_of(n, options)
    request = {**shape_of(n, kind), "value": n % 1000}
    done = {"number": n, "kind": kind, **request, "trace_id": None, "status": 0, "is_right": False}
    began = time.perf_counter()
    try:
        answer = gateway.post("/infer", request, **{"request.number": n, "request.kind": kind})
        done.update(trace_id=answer.trace_id, status=answer.status,
                    is_right=answer.status == 500 if kind == "failing" else
                    answer.body.get("answer") == request["value"] + request["layers"])
        if not done["is_right"]:
            done["answer"] = answer.body
    except (OSError, http.client.HTTPException, ValueError) as error:
        done["answer"] = repr(error)
    return {**done, "seconds": time.perf_counter() - began}


def send_all(options):
    gateway, numbers, done = web.Peer(options.gateway), queue.SimpleQueue(), []
    for n in range(options.first, options.first + options.requests):
        numbers.put(n)

    def work():
        while True:
            try:
                n = numbers.get_nowait()
            except queue.Empty:
                return
            done.append(send(gateway, n, options))

    threads = [threading.Thread(target=work) for _ in range(options.concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def percentile(seconds, share):
    """The percentile of sorted times."""
    return seconds[max(0, -int(-share * len(seconds) // 1) - 1)]


def summary_of(done, took):
    seconds = sorted(each["seconds"] for each in done)
    return {"requests": len(done), "wrong": sum(not each["is_right"] for each in done), "per_s": len(done) / took,
            "p50_ms": 1e3 * percentile(seconds, 0.5), "p99_ms": 1e3 * percentile(seconds, 0.99), "max_ms": 1e3 * seconds[-1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gateway", default="http://localhost:8080")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--heavy-every", type=int, default=50, help="0: none")
    parser.add_argument("--fail-every", type=int, default=80, help="0: none")
    parser.add_argument("--first", type=int, default=0, help="number of the first request")
    parser.add_argument("--out")
    options = parser.parse_args()

    tracing.start("load")
    began = time.perf_counter()
    done = send_all(options)
    summary = summary_of(done, time.perf_counter() - began)
    print("{requests} requests, {wrong} wrong, {per_s:.1f} requests/s, p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms, "
          "longest {max_ms:.1f} ms".format(**summary))
    for each in sorted(done, key=lambda each: -each["seconds"])[:5]:
        print(f"  {1e3 * each['seconds']:8.1f} ms  {each['kind']:8} trace {each['trace_id']}")
    for each in [each for each in done if not each["is_right"]][:5]:
        print(f"  wrong: {each}", file=sys.stderr)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({**summary, "done": sorted(done, key=lambda each: each["number"])}, file)
    return 1 if summary["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
