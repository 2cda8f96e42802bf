#!/usr/bin/env python3
"""Sends one request and prints its answer and the URL of its trace.

    client.py [--gateway URL] [--jaeger URL] [--images N] [--pixels N] [--layers N] [--value X]
"""

import argparse
import sys

import tracing
import web


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gateway", default="http://localhost:8080")
    parser.add_argument("--jaeger", default="http://localhost:16686")
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--pixels", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--value", type=float, default=7)
    options = parser.parse_args()
    tracing.start("client")
    answer = web.Peer(options.gateway).post("/infer", {"images": options.images, "pixels": options.pixels,
                                                       "layers": options.layers, "value": options.value})
    print(answer.status, answer.body)
    print(f"trace: {options.jaeger}/trace/{answer.trace_id}   (a few seconds from now, if the Collector keeps it)")
    return 0 if answer.status == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
