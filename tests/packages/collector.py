#!/usr/bin/env python3
"""A collector for the bare systems: prints its URL, and keeps the number of spans that it has received in a file.

    collector.py FILE"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from otlp_sink import OtlpSink  # noqa: E402


class Collector(OtlpSink):
    def __init__(self, file):
        super().__init__(keep=False)
        self.file = Path(file)
        self.write()

    def write(self):
        new = self.file.with_suffix(".new")
        new.write_text(f"{self.counted}\n")
        new.rename(self.file)

    def take(self, body, encoding, is_json):
        """Before the sender has its answer, so that it can read the number."""
        super().take(body, encoding, is_json)
        with self.lock:
            self.write()


print(Collector(sys.argv[1]).open().endpoint, flush=True)
while True:
    time.sleep(1000)
