"""The context and headers of a request, where a program passes it to a serving engine. The context is what the program has
attached, or OpenTelemetry's current span, or else the traceparent of the HTTP or gRPC request. Of other headers,
only those are read that engine.headers names.

Tested with FastAPI 0.136, Starlette 1.10 and grpcio 1.85."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Callable

from cuspan import _agent, _attach
from cuspan._engines import safely, say_missing
from cuspan._iterations import Attributes, Headers
from cuspan._trace_context import parse

_VALUE_CHARACTERS_MAX = 63
_traceparent: ContextVar[str | None] = ContextVar("cuspan_traceparent", default=None)
_attributes: ContextVar[Attributes] = ContextVar("cuspan_headers", default=())


def current() -> Headers:
    context = _attach.of_program() or parse(_traceparent.get())
    return (context.traceparent(), context.tracestate) if context is not None else None


def attributes() -> Attributes:
    return _attributes.get()


def _note(agent: _agent.Agent, pairs: Iterable[tuple[Any, Any]]) -> None:
    """A connection's task may serve several requests, so a request without a header replaces the one before."""
    traceparent, noted = _read(agent.engine_headers, pairs)
    _traceparent.set(traceparent)
    _attributes.set(noted)


def from_headers(agent: _agent.Agent, pairs: Iterable[tuple[Any, Any]]) -> tuple[Headers, Attributes]:
    """Of an engine that has a request's headers."""
    traceparent, noted = _read(agent.engine_headers, pairs)
    return (None if traceparent is None else (traceparent, "")), noted


def _read(names: tuple[str, ...], pairs: Iterable[tuple[Any, Any]]) -> tuple[str | None, Attributes]:
    """Names are in lower case; names and values are bytes (ASGI) or texts (gRPC)."""
    wanted, found = _wanted(names), dict[str, str]()
    for key, value in pairs:
        name = wanted.get(key)
        if name is not None:
            text = value if isinstance(value, str) else value.decode("latin-1")
            found[name] = f"{found[name]}, {text}" if name in found else text
    return found.get("traceparent"), tuple((name, _bounded(found[name])) for name in names if name in found)


@functools.lru_cache(maxsize=4)
def _wanted(names: tuple[str, ...]) -> dict[str | bytes, str]:
    every = ("traceparent", *names)
    return {**{name: name for name in every}, **{name.encode(): name for name in every}}


def _bounded(value: str) -> str:
    return "".join(one if " " <= one <= "~" else "?" for one in value[:_VALUE_CHARACTERS_MAX])


# --- HTTP ---


def follow(agent: _agent.Agent, module: ModuleType) -> None:
    """Starlette's application, of which FastAPI's is a subclass."""
    application: Any = getattr(module, "Starlette", None)
    if application is None:
        say_missing("Starlette Starlette", "__call__")
        return
    original = application.__call__

    @functools.wraps(original)
    async def call(self: Any, scope: Any, receive: Any, send: Any) -> None:
        safely("the hook of Starlette.__call__", _note_scope, agent, scope)
        await original(self, scope, receive, send)

    application.__call__ = call


def _note_scope(agent: _agent.Agent, scope: Any) -> None:
    if scope["type"] in ("http", "websocket"):
        _note(agent, scope["headers"])


# --- gRPC ---


def follow_grpc(agent: _agent.Agent, module: Any) -> None:
    """Both kinds of servers get an interceptor: handlers run in its context."""

    def note(details: Any) -> None:
        safely("the hook of gRPC.server", _note, agent, details.invocation_metadata or ())

    class Interceptor(module.ServerInterceptor):  # type: ignore[misc]
        def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
            note(details)
            return continuation(details)

    class AsyncInterceptor(module.aio.ServerInterceptor):  # type: ignore[misc]
        async def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
            note(details)
            return await continuation(details)

    _intercept(module, Interceptor())
    _intercept(module.aio, AsyncInterceptor())


def _intercept(module: Any, interceptor: object) -> None:
    original = getattr(module, "server", None)
    if not callable(original):
        say_missing("gRPC", "server")
        return

    @functools.wraps(original)
    def server(*args: Any, **keywords: Any) -> Any:
        changed = safely("the hook of gRPC.server", _with_interceptor, interceptor, args, keywords)
        args, keywords = changed or (args, keywords)
        return original(*args, **keywords)

    module.server = server


def _with_interceptor(
    interceptor: object, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """It is outside the others. It is the third argument of both functions."""
    if len(args) > 2:
        return (*args[:2], (interceptor, *(args[2] or ())), *args[3:]), keywords
    return args, {**keywords, "interceptors": (interceptor, *(keywords.get("interceptors") or ()))}
