"""Hooks where Python switches contexts without notifying a runtime context. They are installed once an agent is found,
so a process without one runs unchanged.

Since 3.14 the interpreter reports every switch. Before, wrappers around asyncio's handles and around work handed to
threads follow the switches. Event loops in C (uvloop) cannot be followed there."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import sys
from types import ModuleType
from typing import Any, Callable, TypeVar

from cuspan import _link
from cuspan._agent import Agent
from cuspan._imports import when_imported

Result = TypeVar("Result")


def install(agent: Agent) -> None:
    if not _watch_interpreter(agent):
        _follow_asyncio()
    when_imported("torch", _link_backward)
    _follow_multiprocessing()


def _link_backward(_module: ModuleType) -> None:
    from cuspan import torch

    torch.link_backward()


def _follow_multiprocessing() -> None:
    from cuspan._processes import follow_multiprocessing

    follow_multiprocessing()


# --- 3.14 and later: the interpreter's context watchers ---

_SWITCHED = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


def _on_switch(_context: object) -> None:
    _link.sync()


class _Python(ctypes.Structure):
    """cuspan_python in src/agent/entry/python_entry.h."""

    _fields_ = [
        (name, ctypes.c_void_p)
        for name in ("get_raised", "set_raised", "call", "release", "matches", "interrupt", "keyboard_interrupt")
    ] + [("on_switch", ctypes.py_object)]


def _python_functions() -> _Python:
    names = (
        "PyErr_GetRaisedException",
        "PyErr_SetRaisedException",
        "PyObject_CallOneArg",
        "Py_DecRef",
        "PyErr_GivenExceptionMatches",
        "PyErr_SetInterrupt",
    )
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in names]
    return _Python(*addresses, id(KeyboardInterrupt), _on_switch)


def _watch_interpreter(agent: Agent) -> bool:
    """A watcher may be called while an exception propagates, and Python code in it would lose the exception. The agent
    therefore has the watcher, in C, which saves the exception and calls _on_switch()."""
    watcher_for: Any = getattr(agent.library, "cuspan_python_watcher", None)
    if sys.version_info < (3, 14) or watcher_for is None or not hasattr(ctypes.pythonapi, "PyContext_AddWatcher"):
        return False
    functions = _python_functions()
    watcher_for.argtypes = [ctypes.c_void_p]
    watcher_for.restype = ctypes.c_void_p
    watcher = watcher_for(ctypes.byref(functions))
    if not watcher:
        return False
    _keep.append(functions)
    add = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(("PyContext_AddWatcher", ctypes.pythonapi))
    try:
        return add(watcher) >= 0
    except RuntimeError:  # all eight watchers of the interpreter are in use
        return False


_keep: list[object] = []


# --- before 3.14: asyncio's handles ---


def _follow_asyncio() -> None:
    _link.has_unseen_switches = _is_loop_in_the_dark
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


class _Depth(_link.threading.local):
    handles = 0


_depth = _Depth()


def _run_handle(original: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
    current, explicit, mirror = _link.CURRENT, _link.EXPLICIT, _link.mirror

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
                _link.sync()

    return _run


def _then_sync(original: Callable[..., Result]) -> Callable[..., Result]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Result:
        try:
            return original(*args, **kwargs)
        finally:
            _link.changed()

    return call


def _in_context(original: Callable[..., Result]) -> Callable[..., Result]:
    """Wraps functions that run another function in a different thread, inside a copy of this context."""

    @functools.wraps(original)
    def call(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Result:
        return original(functools.partial(_run_in_context, func), *args, **kwargs)

    return call


def _run_in_context(func: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    _link.sync()
    try:
        return func(*args, **kwargs)
    finally:
        _link.mirror(None, None)
