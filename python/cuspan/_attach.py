"""attach(), and the context that the thread works for."""

from __future__ import annotations

import sys
from typing import Any

from cuspan import _agent, _guard, _link
from cuspan._ctypes import ctypes
from cuspan._decorates import Decorates
from cuspan._trace_context import NATIVE_BYTES, TraceContext, from_native


class attach(Decorates):
    """`with cuspan.attach():` the thread's CUDA work belongs to OpenTelemetry's current span, or to the request that
    `traceparent` names. An invalid one attaches nothing. A span opened inside takes precedence. It also decorates
    functions: `@cuspan.attach()`."""

    _attached: _link.Explicit | None = None  # the last one
    _is_used = False
    _traceparent: str | None = None
    _tracestate: str | None = None

    @_guard.guarded()
    def __init__(self, traceparent: str | None = None, tracestate: str | None = None) -> None:
        self._traceparent = traceparent
        self._tracestate = tracestate

    def __getstate__(self) -> dict[str, Any]:
        """A copy is not in use."""
        return {**vars(self), "_attached": None}

    def __enter__(self) -> None:
        made = None
        try:
            if _agent.look() is None and self._traceparent is None:
                return
            made = self._attached = self._explicit()
            self._is_used = True
            _link.link.attach(made)
        except _guard.NO_ROOM:
            pass
        except BaseException as error:
            try:
                _guard.keep(error)
            except BaseException:  # such as Ctrl-C: there will be no __exit__()
                if made is not None:
                    _link.link.detach(made)
                raise

    def __exit__(self, *_error: object) -> None:
        if not self._is_used:
            return
        try:
            ended = self._innermost()
            if ended is not None and ended.is_open:
                _link.link.detach(ended)
        except _guard.NO_ROOM:
            pass
        except BaseException as error:
            _guard.keep(error)

    def _explicit(self) -> _link.Explicit:
        if self._traceparent is not None:
            return _link.Explicit(None, self._traceparent, self._tracestate, self)
        return _link.Explicit(_current_span(), owner=self)

    def _innermost(self) -> _link.Explicit | None:
        """One object can be used several times at once, by tasks and threads: this context's own, or else the last."""
        explicit = _link.current_explicit()
        while explicit is not None and not (explicit.owner is self and explicit.is_open):
            explicit = explicit.outer
        ended, self._attached = explicit or self._attached, None
        return ended

    def _again(self) -> attach:
        return attach(self._traceparent, self._tracestate)


def current() -> TraceContext | None:
    agent = _agent.look()
    if agent is None:
        return of_program()
    native = ctypes.create_string_buffer(NATIVE_BYTES)
    return from_native(native.raw) if agent.current(native) else None


def of_program() -> TraceContext | None:
    """The attached context, or else OpenTelemetry's current span."""
    explicit = _link.current_explicit()
    counts = explicit is not None and explicit.base is _link.CURRENT.get(None)
    return explicit.trace_context() if explicit is not None and counts else _current_span()


@_guard.guarded()
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
