"""Ctrl-C ends a query at once. DuckDB looks for it in some of its calls only, and raises an error of its own there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

_AGAIN_S = 0.05  # a query that begins after an interrupt does not see it

Result = TypeVar("Result")


def interruptible(work: Callable[[], Result], interrupt: Callable[[], Any]) -> Result:
    """The result of `work`. If a signal handler raises meanwhile, calls `interrupt` until `work` ends, and raises the
    exception here. Only the main thread runs handlers, so others work themselves."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    ended = threading.Event()  # not join(): if it is interrupted, Python 3.10 and 3.11 take the thread for stopped
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        ended.wait()
    except BaseException:
        while not ended.is_set():
            interrupt()
            ended.wait(_AGAIN_S)
        raise
    if errors:
        raise errors[0]
    return results[0]
