"""cuspan for Python: the OpenTelemetry SDK's current span becomes the parent of the CUDA work of its thread.

With OTEL_PYTHON_CONTEXT=cuspan nothing has to be called. The functions here are for what a service wants to say itself;
they do nothing, cheaply, where there is no agent, and need no OpenTelemetry."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from cuspan import _agent, _link
from cuspan._ranges import mark, range, span
from cuspan._trace_context import NATIVE_BYTES, TraceContext, from_native, parse

__all__ = ["attach", "current_traceparent", "is_on", "mark", "range", "span"]


def is_on() -> bool:
    """The agent is there and traces."""
    agent = _agent.look()
    return agent is not None and bool(agent.is_on())


@contextmanager
def attach(traceparent: Optional[str] = None, tracestate: Optional[str] = None) -> Iterator[None]:
    """The thread's CUDA work belongs to the request that `traceparent` names, else to OpenTelemetry's current span.

    A traceparent that is invalid attaches nothing. A span that is opened inside counts before it."""
    _agent.look()
    attached = _link.attach(parse(traceparent, tracestate) if traceparent else _current_span())
    try:
        yield
    finally:
        _link.detach(attached)


def current_traceparent() -> Optional[str]:
    """For what this thread causes elsewhere: the innermost open range, else what is attached, else the session."""
    agent = _agent.look()
    if agent is None:
        explicit = _link.EXPLICIT.get(None)
        counts = explicit is not None and explicit.base is _link.CURRENT.get(None)
        found = explicit.trace_context if counts else _current_span()
        return found.traceparent() if found else None
    native = ctypes.create_string_buffer(NATIVE_BYTES)
    return from_native(native.raw).traceparent() if agent.current(native) else None


def _current_span() -> Optional[TraceContext]:
    """OpenTelemetry's, with any of its runtime contexts; nothing is imported for it."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from cuspan.otel import trace_context_of

    return trace_context_of(None)
