"""The progress of a query, on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

SHOW_AFTER_S = 1.0


class Progress:
    """Prints the share that is done while a query runs for longer than a second. `percent`: asks the engine; below 0 or
    None: it does not know, and the seconds are printed."""

    def __init__(self, percent: Callable[[], float | None]) -> None:
        self._percent = percent
        self.is_shown = False

    def __enter__(self) -> Progress:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True) if self.is_shown else None
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

    def _watch(self) -> None:
        start = time.monotonic()
        has_printed = False
        while not self._done.wait(SHOW_AFTER_S):
            percent = self._percent()
            seconds = time.monotonic() - start
            text = f"{seconds:.0f} s" if percent is None or percent < 0 else f"{percent:.0f} %"
            print(f"\rcuspan fleet: {text}\033[K", end="", file=sys.stderr, flush=True)
            has_printed = True
        if has_printed:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
