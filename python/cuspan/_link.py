"""Gives the native thread the trace context that the Python context says.

Python's context is a contextvars.Context, the agent's is one for each native thread. Each hook (the runtime context's
attach and detach, an event loop's handle, the interpreter's switch of contexts) ends in sync() or mirror(), which
replace what the thread has. They compare first, so a context that is the same costs no native call."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar, Token
from typing import Any, Callable

from cuspan import _agent
from cuspan._trace_context import TraceContext, parse, to_native

OtelContext = Any  # opentelemetry.context.Context, which need not be installed


class Explicit:
    """What attach() has set: it counts while OpenTelemetry's context is the one of that moment."""

    __slots__ = ("_header", "_trace_context", "base", "is_open")

    def __init__(
        self, trace_context: TraceContext | None, traceparent: str = "", tracestate: str | None = None
    ) -> None:
        self._trace_context = trace_context
        self._header = (traceparent, tracestate) if traceparent else None
        self.base: OtelContext = CURRENT.get(None)
        self.is_open = True  # attach() has not ended; a task that was begun inside may outlive it

    def trace_context(self) -> TraceContext | None:
        if self._header is not None:  # read once it is needed: without an agent it isn't
            self._trace_context, self._header = parse(*self._header), None
        return self._trace_context


CURRENT: ContextVar[OtelContext] = ContextVar("cuspan_current")
EXPLICIT: ContextVar[Explicit | None] = ContextVar("cuspan_explicit")


# Stands while it changes: a signal's handler may raise in between, and then the next change begins anew.
_UNKNOWN: Any = object()


class _Thread(threading.local):
    """What the native thread has from us."""

    context: OtelContext = None
    explicit: Explicit | None = None
    given: TraceContext | None = None

    def __init__(self) -> None:
        self.tokens: list[int] = []  # the agent's, none or one


thread = _Thread()
_native: _agent.Agent | None = None


def _no_spans(context: OtelContext) -> TraceContext | None:
    return None


# Set by cuspan.otel: the trace context of the span in an OpenTelemetry context.
trace_context_of: Callable[[OtelContext], TraceContext | None] = _no_spans


def sync() -> None:
    """The native thread gets what the current Python context says."""
    mirror(CURRENT.get(None), EXPLICIT.get(None))


def mirror(context: OtelContext, explicit: Explicit | None) -> None:
    if context is thread.context and explicit is thread.explicit:
        return
    thread.context = _UNKNOWN
    if explicit is not None and explicit.base is context:
        _give(explicit.trace_context())
    else:
        _give(trace_context_of(context) if context else None)
    thread.context, thread.explicit = context, explicit


def _give(wanted: TraceContext | None) -> None:
    if wanted == thread.given or _native is None:
        return
    thread.given = _UNKNOWN
    if thread.tokens:
        _detach_all(thread.tokens)
    if wanted is not None:
        native, _alive = to_native(wanted)
        # In one step: a signal's handler can't come between the call and the keeping of its token.
        thread.tokens.extend(map(_native.attach, (native,)))
    thread.given = wanted


def _detach_all(tokens: list[int]) -> None:
    _native.detach(tokens[0])  # and what was attached after it
    tokens.clear()


def use(agent: _agent.Agent) -> None:
    """The agent has been found: from now on contexts go to it."""
    global _native, changed
    _native = agent
    thread.context = thread.explicit = None
    changed = _changed
    os.register_at_fork(after_in_child=_after_fork)
    sync()


def _after_fork() -> None:
    """What the child's agent knows of this thread isn't known here: begin anew."""
    if thread.tokens:
        _detach_all(thread.tokens)
    thread.context = thread.explicit = thread.given = None
    sync()


def leave_attach() -> None:
    """In a process of its own: its work isn't inside what another has attached."""
    EXPLICIT.set(None)
    if _native is not None:
        sync()


# Does an event loop run here whose switches of tasks nobody tells us? Set by _hooks.
runs_in_the_dark: Callable[[], bool] = lambda: False  # noqa: E731


def _changed() -> None:
    """There, what a task leaves attached would be the next task's: only what happens inside attach() counts."""
    explicit = EXPLICIT.get(None)
    if (explicit is not None and explicit.is_open) or not runs_in_the_dark():
        sync()


def attach(explicit: Explicit) -> tuple[Explicit, Token[Any]]:
    token = EXPLICIT.set(explicit)
    if _native is not None:
        sync()
    return explicit, token


def detach(attached: tuple[Explicit, Token[Any]]) -> None:
    explicit, token = attached
    explicit.is_open = False
    try:
        EXPLICIT.reset(token)
    finally:
        _tidy_up()


def _tidy_up() -> None:
    if _native is not None:
        outer = EXPLICIT.get(None)
        if runs_in_the_dark() and not (outer is not None and outer.is_open):
            mirror(None, None)
        else:
            sync()


# Called by the runtime context after each attach and detach; without an agent it looks for one now and then.
changed: Callable[[], object] = _agent.look
