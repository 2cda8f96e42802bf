"""Other processes: the context for children, and the end of children that multiprocessing has forked."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from types import FunctionType
from typing import Any, Callable

from cuspan import _agent, _guard, _link
from cuspan._attach import attach, current
from cuspan._imports import when_imported
from cuspan._trace_context import TraceContext, parse

_TRACEPARENT, _TRACESTATE = "TRACEPARENT", "TRACESTATE"


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """For `subprocess.Popen(..., env=cuspan.environment())`: `base` (default: this process's variables) with the
    TRACEPARENT and TRACESTATE of this thread's context. The child's session becomes a child of that context. Without a
    context, the variables stay as they are. This process's own environment does not change."""
    made = _copied(base)
    _add_context(made)
    return made


def _copied(base: Mapping[str, str] | None) -> dict[str, str]:
    try:
        return dict(os.environ if base is None else base)
    except _guard.NO_ROOM:
        raise  # a child without variables would be worse
    except BaseException as error:
        _guard.keep(error, "environment()")
        return dict(os.environ)


@_guard.guarded()
def _add_context(made: dict[str, str]) -> None:
    context = current()
    if context is None:
        return
    before = parse(made.pop(_TRACEPARENT, ""), made.pop(_TRACESTATE, ""))
    made[_TRACEPARENT] = context.traceparent()
    # A session has no tracestate of its own; its trace has that of the process.
    state = context.tracestate or (before.tracestate if before and before.trace_id == context.trace_id else "")
    if state:
        made[_TRACESTATE] = state


class _Function:
    """A function that can be sent to other processes, and looks like the one that it calls."""

    _function: Callable[..., Any]

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._function

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return getattr(self._function, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class child(_Function):
    """`multiprocessing.Process(target=cuspan.child(work), args=...)`: the child process's session becomes a child of
    this thread's current context. Works with any start method, with initializers of pools, and with
    torch.multiprocessing.spawn. It sets TRACEPARENT and TRACESTATE in the child, for the agent that CUDA loads; if CUDA
    is already in use there, it is too late. In this process it is the same as `target`."""

    def __init__(self, target: Callable[..., Any]) -> None:
        self._function = target
        self._parent = os.getpid()
        self._variables = {name: value for name, value in environment().items() if name in (_TRACEPARENT, _TRACESTATE)}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if os.getpid() != self._parent:
            self._arrive()
        return self._function(*args, **kwargs)

    @_guard.guarded()
    def _arrive(self) -> None:
        for name in (_TRACEPARENT, _TRACESTATE):
            os.environ.pop(name, None)
        os.environ.update(self._variables)
        _agent.look_now()
        _link.link.leave_attach()  # the forked child's copy of it


class carried(_Function):
    """`pool.submit(cuspan.carried(work), ...)`: the CUDA work of the function belongs to this thread's current context,
    whenever it is called, on another thread or in another process."""

    _context: TraceContext | None = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._capture()
        self._mark()

    @_guard.guarded()
    def _capture(self) -> None:
        self._context = current()

    @_guard.guarded()
    def _mark(self) -> None:
        if type(self._function) is FunctionType and inspect.iscoroutinefunction(self._function):
            if hasattr(inspect, "markcoroutinefunction"):  # since 3.12
                inspect.markcoroutinefunction(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        function, context = self._function, self._context
        if context is not None:  # of its kind: a coroutine or generator runs later
            function = attach(context.traceparent(), context.tracestate)(function)
        return function(*args, **kwargs)


@_guard.guarded(False)
def finish() -> bool:
    """For a process that is about to call os._exit(), which runs no exit handlers: the agent delivers what it has,
    within its exit_deadline_ms, and stops tracing. False: no agent traces this process."""
    agent = _agent.look_now() if _agent.is_loaded() else None
    return agent is not None and agent.finish() == 0


# --- children of multiprocessing: those of fork and forkserver end with os._exit() ---

_AFTER_ALL_OTHERS = -1000  # the program's own finalizers may use CUDA


def follow_multiprocessing() -> None:
    """Installs the finalizer now, or once the program imports multiprocessing. Further calls do nothing."""
    if not _keep:
        when_imported("multiprocessing.util", _follow)


def _follow(util: Any) -> None:
    if _keep:
        return
    from multiprocessing import process

    @_guard.guarded()
    def begin(_self: object) -> None:
        from multiprocessing import get_start_method

        # A process from a context of its own knows its start method; others use the program's default.
        method = getattr(process.current_process(), "_start_method", None) or get_start_method(allow_none=True)
        if method != "spawn":  # its children exit normally
            util.Finalize(None, finish, exitpriority=_AFTER_ALL_OTHERS)

    util.register_after_fork(begin, begin)
    _keep.append(begin)  # multiprocessing does not keep a reference
    if process.parent_process() is not None:
        begin(begin)


_keep: list[object] = []

if _agent.is_expected():
    follow_multiprocessing()
