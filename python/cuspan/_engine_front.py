"""The context of a request, where a program passes the request to a serving engine: what the program has attached, or
OpenTelemetry's current span, or else the traceparent of the HTTP request. No other header is read.

Tested with FastAPI 0.136 and Starlette 1.10."""

from __future__ import annotations

import functools
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from cuspan import _agent, _attach
from cuspan._engines import safely, say_missing
from cuspan._iterations import Headers
from cuspan._trace_context import parse

_traceparent: ContextVar[str | None] = ContextVar("cuspan_traceparent", default=None)


def current() -> Headers:
    context = _attach.of_program() or parse(_traceparent.get())
    return (context.traceparent(), context.tracestate) if context is not None else None


def follow(_: _agent.Agent, module: ModuleType) -> None:
    """Starlette's application, of which FastAPI's is a subclass."""
    application: Any = getattr(module, "Starlette", None)
    if application is None:
        say_missing("starlette.applications.Starlette")
        return
    original = application.__call__

    @functools.wraps(original)
    async def call(self: Any, scope: Any, receive: Any, send: Any) -> None:
        safely("the hook of Starlette.__call__", _note, scope)
        await original(self, scope, receive, send)

    application.__call__ = call


def _note(scope: Any) -> None:
    """A connection's task may serve several requests, so a request without the header replaces the one before."""
    if scope["type"] not in ("http", "websocket"):
        return
    value = next((value for name, value in scope["headers"] if name == b"traceparent"), None)
    _traceparent.set(value.decode("latin-1") if value is not None else None)
