"""Hooks of asyncio, for Python before 3.14: wrappers around its handles and around work handed to threads follow the
switches between contexts. Event loops in C (uvloop) cannot be followed there."""

from __future__ import annotations

import _thread
import asyncio
import functools
import sys
from collections.abc import Awaitable
from types import ModuleType
from typing import Any, Callable, TypeVar

from cuspan import _guard, _link
from cuspan._imports import when_imported

Result = TypeVar("Result")


def install() -> None:
    _link.link.set_has_unseen_switches(_is_loop_in_the_dark)
    asyncio.Handle._run = _run_handle(asyncio.Handle._run)
    asyncio.BaseEventLoop.run_forever = _then_sync(asyncio.BaseEventLoop.run_forever)
    if sys.version_info >= (3, 12):  # an eager task runs inside create_task()
        asyncio.BaseEventLoop.create_task = _then_sync(asyncio.BaseEventLoop.create_task)
    for module in asyncio, asyncio.threads:  # both have the function, and the program may have replaced either
        _replace(module, "to_thread")
    when_imported("anyio.to_thread", lambda module: _replace(module, "run_sync"))


_wrappers: dict[Any, Any] = {}


def _replace(module: ModuleType, name: str) -> None:
    original = getattr(module, name)
    setattr(module, name, _wrappers.setdefault(original, _in_context(original)))


def _is_loop_in_the_dark() -> bool:
    loop = asyncio._get_running_loop()
    return loop is not None and not isinstance(loop, asyncio.BaseEventLoop)


class _Depth(_thread._local):
    handles = 0


_depth = _Depth()


def _run_handle(original: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
    current, explicit, mirror = _link.CURRENT, _link.EXPLICIT, _link.link.mirror

    @functools.wraps(original)
    def _run(self: asyncio.Handle) -> None:
        try:
            context = self._context  # type: ignore[attr-defined]
            mirror(context.get(current), _link.not_abandoned(context.get(explicit)))
        except _guard.NO_ROOM:
            pass
        except BaseException as error:
            _guard.keep(error)
        # The next handle replaces what a handle leaves. Only a loop that runs inside a handle must clean up.
        _depth.handles += 1
        try:
            original(self)
        finally:
            _depth.handles -= 1
            if _depth.handles:
                _link.link.sync_safely()

    return _run


def _then_sync(original: Callable[..., Result]) -> Callable[..., Result]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Result:
        try:
            return original(*args, **kwargs)
        finally:
            _link.link.changed()

    return call


def _in_context(original: Callable[..., Awaitable[Result]]) -> Callable[..., Awaitable[Result]]:
    """Wraps functions that run another function, their first argument, in a different thread, inside a copy of this
    context."""

    @functools.wraps(original)
    async def call(*args: Any, **kwargs: Any) -> Result:
        if args:
            args = (functools.partial(_run_in_context, args[0]), *args[1:])
        elif "func" in kwargs:
            kwargs["func"] = functools.partial(_run_in_context, kwargs["func"])
        return await original(*args, **kwargs)

    return call


def _run_in_context(func: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
    _link.link.sync_safely()
    try:
        return func(*args, **kwargs)
    finally:
        _link.link.leave()
