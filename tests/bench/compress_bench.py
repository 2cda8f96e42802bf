#!/usr/bin/env python3
"""What compressing a request costs, by library and level: plays a recording to a receiver of its own, and has compress_bench
compress the largest request as it came.

    tests/bench/compress_bench.py [BUILD-FOLDER [RECORDING [ROUNDS]]]      (build, torch_inference, 40)
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import sink  # noqa: E402

RESOURCE_SPANS, SCOPE_SPANS, SPANS = 1, 2, 2  # OTLP's field numbers on the way to a span
FIXED_BYTES = {1: 8, 5: 4}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def messages(data, wanted):
    """The fields of one number that have a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            length, at = varint(data, at)
            if tag >> 3 == wanted:
                yield data[at:at + length]
            at += length
        elif tag & 7 == 0:
            _, at = varint(data, at)
        else:
            at += FIXED_BYTES[tag & 7]


def count_spans(body):
    return sum(1 for resource in messages(body, RESOURCE_SPANS) for scope in messages(resource, SCOPE_SPANS)
               for _ in messages(scope, SPANS))


def main():
    build = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
    recording = sys.argv[2] if len(sys.argv) > 2 else ROOT / "examples/recordings/torch_inference.cuspanrec"
    rounds = sys.argv[3] if len(sys.argv) > 3 else "40"
    server = sink.Sink()
    subprocess.run([build / "cuspan", "replay", "-q", "--repeat", rounds, "--set", "compression=none",
                    "--endpoint", f"http://127.0.0.1:{server.port}", recording], check=True)
    server.close()
    body = max((request.body for request in server.requests), key=len)
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        spans = count_spans(body)
        print(f"{Path(recording).stem}, {rounds} rounds: the largest request has {spans} spans", flush=True)
        return subprocess.run([build / "compress_bench", file.name, str(spans)]).returncode


if __name__ == "__main__":
    sys.exit(main())
