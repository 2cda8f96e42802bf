"""Other processes: what a child is to work for, and the end of one that multiprocessing has forked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Callable

from cuspan import _agent, _link
from cuspan._attach import attach, current
from cuspan._imports import when_imported
from cuspan._trace_context import TraceContext, parse

_TRACEPARENT, _TRACESTATE = "TRACEPARENT", "TRACESTATE"


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """For `subprocess.Popen(..., env=cuspan.environment())`: `base`, else this process's variables, with the
    TRACEPARENT and TRACESTATE of what this thread works for. The child's session becomes a child of that. Without a
    context they stay as they are. This process's own environment doesn't change."""
    made = dict(os.environ if base is None else base)
    context = current()
    if context is None:
        return made
    before = parse(made.pop(_TRACEPARENT, ""), made.pop(_TRACESTATE, ""))
    made[_TRACEPARENT] = context.traceparent()
    # A session has no tracestate to tell; that of its trace is the process's.
    state = context.tracestate or (before.tracestate if before and before.trace_id == context.trace_id else "")
    if state:
        made[_TRACESTATE] = state
    return made


class child:
    """`multiprocessing.Process(target=cuspan.child(work), args=...)`: the process's session becomes a child of what this
    thread works for now. With any start method, for pools' initializers and for torch.multiprocessing.spawn too. In the
    child it sets TRACEPARENT and TRACESTATE, for the agent that CUDA will load; where CUDA is in use already, it comes
    too late. In this process it is `target`."""

    def __init__(self, target: Callable[..., Any]) -> None:
        self._target = target
        self._parent = os.getpid()
        self._variables = {
            name: value for name, value in environment().items() if name in (_TRACEPARENT, _TRACESTATE)
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if os.getpid() != self._parent:
            for name in (_TRACEPARENT, _TRACESTATE):
                os.environ.pop(name, None)
            os.environ.update(self._variables)
            _agent.look_now()
            _link.leave_attach()  # a forked child's copy of it
        return self._target(*args, **kwargs)


class carried:
    """`pool.submit(cuspan.carried(work), ...)`: wherever and whenever the function is called, on another thread or in
    another process, its CUDA work belongs to what this thread works for now."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._context: TraceContext | None = current()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._context is None:
            return self._function(*args, **kwargs)
        with attach(self._context.traceparent(), self._context.tracestate):
            return self._function(*args, **kwargs)


def finish() -> bool:
    """For a process that is about to end by os._exit(), where nothing runs at exit: the agent delivers what it has,
    within its exit_deadline_ms, and traces no further. False: no agent traces this process."""
    agent = _agent.look_now() if _agent.is_loaded() else None
    return agent is not None and agent.finish() == 0


# --- the children of multiprocessing: those of fork and forkserver end by os._exit() ---

_AFTER_ALL_OTHERS = -1000  # finalizers of the program's own may use CUDA


def follow_multiprocessing() -> None:
    """From now on, or once the program imports it; again: nothing."""
    if not _keep:
        when_imported("multiprocessing.util", _follow)


def _follow(util: Any) -> None:
    if _keep:
        return
    from multiprocessing import process

    def begin(_self: object) -> None:
        from multiprocessing import get_start_method

        # A process of a context of its own knows how it was begun; others are begun as the program has set it.
        method = getattr(process.current_process(), "_start_method", None) or get_start_method(allow_none=True)
        if method != "spawn":  # whose children end as others do
            util.Finalize(None, finish, exitpriority=_AFTER_ALL_OTHERS)

    util.register_after_fork(begin, begin)
    _keep.append(begin)  # which multiprocessing doesn't
    if process.parent_process() is not None:
        begin(begin)


_keep: list[object] = []

if _agent.is_to_come():
    follow_multiprocessing()
