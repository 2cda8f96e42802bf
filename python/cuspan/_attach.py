"""attach(), and the context that the thread works for."""

from __future__ import annotations

import ctypes
import sys

from cuspan import _agent, _link
from cuspan._decorates import Decorates
from cuspan._trace_context import NATIVE_BYTES, TraceContext, from_native


class attach(Decorates):
    """`with cuspan.attach():` the thread's CUDA work belongs to OpenTelemetry's current span, or to the request that
    `traceparent` names. An invalid one attaches nothing. A span opened inside takes precedence."""

    __slots__ = ("_attached", "_traceparent", "_tracestate")

    def __init__(self, traceparent: str | None = None, tracestate: str | None = None) -> None:
        self._traceparent = traceparent
        self._tracestate = tracestate

    def __enter__(self) -> None:
        self._attached = None
        if self._traceparent is not None:
            _agent.look()
            self._attached = _link.link.attach(_link.Explicit(None, self._traceparent, self._tracestate))
        elif _agent.look() is not None:
            self._attached = _link.link.attach(_link.Explicit(_current_span()))

    def __exit__(self, *_error: object) -> None:
        if self._attached is not None:
            _link.link.detach(self._attached)

    def _again(self) -> attach:
        return attach(self._traceparent, self._tracestate)


def current() -> TraceContext | None:
    agent = _agent.look()
    if agent is None:
        explicit = _link.EXPLICIT.get(None)
        counts = explicit is not None and explicit.base is _link.CURRENT.get(None)
        return explicit.trace_context() if counts else _current_span()
    native = ctypes.create_string_buffer(NATIVE_BYTES)
    return from_native(native.raw) if agent.current(native) else None


def current_traceparent() -> str | None:
    """The context to propagate to other services: the innermost open range, else what is attached, else the session."""
    found = current()
    return found.traceparent() if found else None


def _current_span() -> TraceContext | None:
    """OpenTelemetry's current context, with any of its runtime contexts. Imports nothing."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from cuspan.otel import trace_context_of

    return trace_context_of(None)
