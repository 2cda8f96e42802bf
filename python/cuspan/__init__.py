"""cuspan for Python: the OpenTelemetry SDK's current span becomes the parent of the CUDA work of its thread.

With OTEL_PYTHON_CONTEXT=cuspan nothing has to be called. The functions here are for what a service wants to say itself;
they do nothing, cheaply, where there is no agent, and need no OpenTelemetry."""

from __future__ import annotations

from cuspan import _agent
from cuspan._attach import attach, current_traceparent
from cuspan._control import flush, start, stop
from cuspan._processes import carried, child, environment, finish
from cuspan._ranges import loop, mark, range, span

__all__ = [
    "attach",
    "carried",
    "child",
    "current_traceparent",
    "environment",
    "finish",
    "flush",
    "is_on",
    "loop",
    "mark",
    "range",
    "span",
    "start",
    "stop",
]


def is_on() -> bool:
    """The agent is there and traces."""
    agent = _agent.look()
    return agent is not None and bool(agent.is_on())
