#!/usr/bin/env python3
"""A real Collector with a Jaeger behind it: prints the Collector's URL, and for each trace ID on standard input the number of
its spans in Jaeger, once there are as many as expected.

    read_back.py JAEGER SPANS"""

import contextlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from backend import Collector, Jaeger  # noqa: E402

FOREVER_S = 300

with tempfile.TemporaryDirectory() as folder, contextlib.closing(Jaeger(sys.argv[1], folder)) as jaeger, \
        contextlib.closing(Collector(sys.argv[1], folder, jaeger)) as collector:
    print(f"http://127.0.0.1:{collector.otlp_http}", flush=True)
    for line in sys.stdin:
        print(len(jaeger.traces([line.strip()], int(sys.argv[2]), FOREVER_S)), flush=True)
