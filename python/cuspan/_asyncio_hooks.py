"""Hooks of asyncio, for Python before 3.14: wrappers around its handles and around work handed to threads follow the
switches between contexts. Event loops in C (uvloop) cannot be followed there."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
from types import ModuleType
from typing import Any, Callable, TypeVar

from cuspan import _link
from cuspan._imports import when_imported

Result = TypeVar("Result")


def install() -> None:
    _link.link.set_has_unseen_switches(_is_loop_in_the_dark)
    asyncio.Handle._run = _run_handle(asyncio.Handle._run)
    asyncio.BaseEventLoop.run_forever = _then_sync(asyncio.BaseEventLoop.run_forever)
    if sys.version_info >= (3, 12):  # an eager task runs inside create_task()
        asyncio.BaseEventLoop.create_task = _then_sync(asyncio.BaseEventLoop.create_task)
    asyncio.to_thread = asyncio.threads.to_thread = _in_context(asyncio.to_thread)
    when_imported("anyio.to_thread", _follow_anyio)


def _follow_anyio(module: ModuleType) -> None:
    module.run_sync = _in_context(module.run_sync)


def _is_loop_in_the_dark() -> bool:
    loop = asyncio._get_running_loop()
    return loop is not None and not isinstance(loop, asyncio.BaseEventLoop)


class _Depth(threading.local):
    handles = 0


_depth = _Depth()


def _run_handle(original: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
    current, explicit, mirror = _link.CURRENT, _link.EXPLICIT, _link.link.mirror

    @functools.wraps(original)
    def _run(self: asyncio.Handle) -> None:
        context = self._context
        mirror(context.get(current), context.get(explicit))
        # The next handle replaces what a handle leaves. Only a loop that runs inside a handle must clean up.
        _depth.handles += 1
        try:
            original(self)
        finally:
            _depth.handles -= 1
            if _depth.handles:
                _link.link.sync()

    return _run


def _then_sync(original: Callable[..., Result]) -> Callable[..., Result]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Result:
        try:
            return original(*args, **kwargs)
        finally:
            _link.link.changed()

    return call


def _in_context(original: Callable[..., Result]) -> Callable[..., Result]:
    """Wraps functions that run another function in a different thread, inside a copy of this context."""

    @functools.wraps(original)
    def call(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Result:
        return original(functools.partial(_run_in_context, func), *args, **kwargs)

    return call


def _run_in_context(func: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    _link.link.sync()
    try:
        return func(*args, **kwargs)
    finally:
        _link.link.mirror(None, None)
