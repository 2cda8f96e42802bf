"""Hooks where Python switches contexts without notifying a runtime context. They are installed once an agent is found,
so a process without one runs unchanged.

Since 3.14 the interpreter reports every switch. Before, the wrappers of _asyncio_hooks follow the switches."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from cuspan import _agent, _guard, _link
from cuspan._ctypes import ctypes
from cuspan._imports import when_imported
from cuspan._processes import follow_multiprocessing


def _install(agent: _agent.Agent) -> None:
    _follow_switches(agent)
    when_imported("torch", _link_backward)
    when_imported("torch", lambda _torch: _expect_profiler(agent))
    follow_multiprocessing()


@_guard.guarded()
def _follow_switches(agent: _agent.Agent) -> None:
    """An unknown Python version must not stop the service."""
    if not _watch_interpreter(agent):
        when_imported("asyncio", _follow_asyncio)


def _follow_asyncio(_module: ModuleType) -> None:
    from cuspan import _asyncio_hooks  # not at the top: it imports asyncio, which takes 30 ms

    _asyncio_hooks.install()


def _link_backward(_module: ModuleType) -> None:
    from cuspan import torch  # not at the top: it imports PyTorch

    torch.link_backward()


def _expect_profiler(agent: _agent.Agent) -> None:
    """PyTorch's profiler may use CUPTI before CUDA starts the agent, which could then not take it back."""
    expect: Any = getattr(agent.library, "cuspan_python_tools", None)
    if expect is not None:
        expect()


# --- 3.14 and later: the interpreter's context watchers ---

_SWITCHED = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


@_guard.guarded()
def _on_switch(_context: object) -> None:
    _link.link.sync()


class _Python(ctypes.Structure):
    """cuspan_python in src/agent/core/entry/python_entry.h."""

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


def _watch_interpreter(agent: _agent.Agent) -> bool:
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

_agent.on_found(_install)  # runs after link.use(), which _link has registered during its import
