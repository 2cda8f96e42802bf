"""Keeps the native thread's trace context equal to that of the Python context.

Python's context is a contextvars.Context; the agent has one for each native thread. Each hook (attach and detach of the
runtime context, an event loop's handle, the interpreter's context switch) calls sync() or mirror(), which replace the
thread's context. They compare first, so an unchanged context costs no native call."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar, Token
from typing import Any, Callable

from cuspan import _agent
from cuspan._trace_context import TraceContext, parse, to_native

OtelContext = Any  # opentelemetry.context.Context, which need not be installed


class Explicit:
    """The context set by attach(). It applies while OpenTelemetry's context is the one that was current then."""

    __slots__ = ("_header", "_trace_context", "base", "is_open")

    def __init__(
        self, trace_context: TraceContext | None, traceparent: str = "", tracestate: str | None = None
    ) -> None:
        self._trace_context = trace_context
        self._header = (traceparent, tracestate) if traceparent else None
        self.base: OtelContext = CURRENT.get(None)
        self.is_open = True  # attach() has not ended; a task started inside may outlive it

    def trace_context(self) -> TraceContext | None:
        if self._header is not None:  # parsed lazily: without an agent it is not needed
            self._trace_context, self._header = parse(*self._header), None
        return self._trace_context


CURRENT: ContextVar[OtelContext] = ContextVar("cuspan_current")
EXPLICIT: ContextVar[Explicit | None] = ContextVar("cuspan_explicit")


# Set while it changes: a signal handler may raise in between, and then the next change starts again.
_UNKNOWN: Any = object()


class _Thread(threading.local):
    """The context that we have attached to the native thread."""

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
    """Gives the native thread the context of the current Python context."""
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
        # In one step, so no signal handler can run between the call and the storing of its token.
        thread.tokens.extend(map(_native.attach, (native,)))
    thread.given = wanted


def _detach_all(tokens: list[int]) -> None:
    _native.detach(tokens[0])  # and everything attached after it
    tokens.clear()


def use(agent: _agent.Agent) -> None:
    """Called when the agent has been found. From now on it receives contexts."""
    global _native, changed
    _native = agent
    thread.context = thread.explicit = None
    changed = _changed
    os.register_at_fork(after_in_child=_after_fork)
    sync()


def _after_fork() -> None:
    """In a forked child: the state of this thread in the child's agent is unknown, so it starts again."""
    if thread.tokens:
        _detach_all(thread.tokens)
    thread.context = thread.explicit = thread.given = None
    sync()


def leave_attach() -> None:
    """In a forked child: its work is not inside what the parent has attached."""
    EXPLICIT.set(None)
    if _native is not None:
        sync()


# Whether an event loop runs in this thread whose task switches are not reported. Set by _hooks.
has_unseen_switches: Callable[[], bool] = lambda: False  # noqa: E731


def _changed() -> None:
    """In such a loop the next task would inherit what a task leaves attached, so only those of attach() apply there."""
    explicit = EXPLICIT.get(None)
    if (explicit is not None and explicit.is_open) or not has_unseen_switches():
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
        if has_unseen_switches() and not (outer is not None and outer.is_open):
            mirror(None, None)
        else:
            sync()


# The runtime context calls it after each attach and detach. Without an agent, it looks for one now and then.
changed: Callable[[], object] = _agent.look
