"""cuspan for Python: the OpenTelemetry SDK's current span becomes the parent of the CUDA work of its thread.

With OTEL_PYTHON_CONTEXT=cuspan no call is needed. A service can use the functions here to add its own ranges, spans and
marks, and to control tracing. Without an agent they do nothing and cost little. They do not need OpenTelemetry."""

from __future__ import annotations

from cuspan import _agent, _engines, _guard, _hooks  # noqa: F401 (_engines and _hooks register themselves)
from cuspan._attach import attach, current_traceparent
from cuspan._control import flush, start, stop
from cuspan._iterations import iteration, request
from cuspan._job_steps import step
from cuspan._native import library
from cuspan._processes import carried, child, environment, finish
from cuspan._ranges import loop, mark, range, span
from cuspan._version import VERSION as __version__

__all__ = [
    "__version__",
    "attach",
    "carried",
    "child",
    "current_traceparent",
    "environment",
    "finish",
    "flush",
    "is_on",
    "iteration",
    "library",
    "loop",
    "mark",
    "range",
    "request",
    "span",
    "start",
    "step",
    "stop",
]


@_guard.guarded(False)
def is_on() -> bool:
    """Whether the agent is loaded and traces."""
    agent = _agent.look()
    return agent is not None and bool(agent.is_on())
