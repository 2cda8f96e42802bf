#!/usr/bin/env python3
"""Measures the cost of compressing a request, by library and level: plays a recording to its own receiver, and has
compress_bench compress the largest request.

    tests/bench/programs/compress_bench.py [BUILD-FOLDER [RECORDING [ROUNDS]]]      (build, torch_inference, 40)
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/bench/rivals")]

import receiver  # noqa: E402
import sink  # noqa: E402


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
        spans = sum(1 for _ in receiver.spans_of(body))
        print(f"{Path(recording).stem}, {rounds} rounds: the largest request has {spans} spans", flush=True)
        return subprocess.run([build / "compress_bench", file.name, str(spans)]).returncode


if __name__ == "__main__":
    sys.exit(main())
