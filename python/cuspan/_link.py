"""Keeps the native thread's trace context equal to that of the Python context.

Python's context is a contextvars.Context; the agent has one for each native thread. Each hook (attach and detach of the
runtime context, an event loop's handle, the interpreter's context switch) calls link.sync() or link.mirror(), which
replace the thread's context. They compare first, so an unchanged context costs no native call."""

from __future__ import annotations

import _thread
import os
from contextvars import ContextVar, Token
from typing import Any, Callable

from cuspan import _agent, _guard
from cuspan._trace_context import TraceContext, parse, to_native

OtelContext = Any  # opentelemetry.context.Context, which need not be installed


class Explicit:
    """The context set by attach(). It applies while OpenTelemetry's context is the one that was current then.

    Those of a Python context are a chain, from the innermost to the outermost. They may end in any order: generators
    can be closed at any time, by another thread or task, which has another context."""

    __slots__ = ("_header", "_trace_context", "base", "is_abandoned", "is_open", "outer", "owner", "token")

    def __init__(
        self,
        trace_context: TraceContext | None,
        traceparent: object = None,
        tracestate: object = None,
        owner: object = None,
    ) -> None:
        self._trace_context = trace_context
        self._header = None if traceparent is None else (traceparent, tracestate)
        self.owner = owner
        self.base: OtelContext = CURRENT.get(None)
        self.outer = current_explicit()
        self.token: Token[Explicit | None] | None = None
        self.is_open = True  # attach() has not ended; a task started inside may outlive it
        self.is_abandoned = False  # ended from another context: those that still have it no longer use it

    def trace_context(self) -> TraceContext | None:
        if self._header is not None:  # parsed lazily: without an agent it is not needed
            self._trace_context, self._header = parse(*self._header), None
        return self._trace_context


CURRENT: ContextVar[OtelContext] = ContextVar("cuspan_current")
EXPLICIT: ContextVar[Explicit | None] = ContextVar("cuspan_explicit")


def not_abandoned(explicit: Explicit | None) -> Explicit | None:
    """The innermost that counts."""
    while explicit is not None and explicit.is_abandoned:
        explicit = explicit.outer
    return explicit


def current_explicit() -> Explicit | None:
    return not_abandoned(EXPLICIT.get(None))


# Set while it changes: a signal handler may raise in between, and then the next change starts again.
_UNKNOWN: Any = object()


class _Thread(_thread._local):
    """The state of one native thread."""

    context: OtelContext = None
    explicit: Explicit | None = None
    given: TraceContext | None = None

    def __init__(self) -> None:
        self.tokens: list[int] = []  # the agent's, none or one


def _no_spans(_context: OtelContext) -> TraceContext | None:
    return None


def _all_seen() -> bool:
    return False


class Link:
    """Attaches contexts to native threads, once an agent has been found. There is one in the process."""

    def __init__(self) -> None:
        self._agent: _agent.Agent | None = None
        self._thread = _Thread()
        self._trace_context_of: Callable[[OtelContext], TraceContext | None] = _no_spans
        self._has_unseen_switches: Callable[[], bool] = _all_seen
        # The runtime context calls it after each attach and detach. Without an agent, it looks for one now and then.
        # An attribute, because a method that tests for the agent would cost a second call.
        self.changed: Callable[[], object] = _agent.look

    def use(self, agent: _agent.Agent) -> None:
        """Called when the agent has been found. From now on it receives contexts."""
        self._agent = agent
        self._thread.context = self._thread.explicit = None
        self.changed = self._sync_if_seen
        os.register_at_fork(after_in_child=self._after_fork)
        self.sync()

    def set_trace_context_of(self, function: Callable[[OtelContext], TraceContext | None]) -> None:
        """`function` returns the trace context of the span in an OpenTelemetry context."""
        self._trace_context_of = function

    def set_has_unseen_switches(self, function: Callable[[], bool]) -> None:
        """`function` returns whether an event loop runs in this thread whose task switches are not reported."""
        self._has_unseen_switches = function

    def given(self) -> TraceContext | None:
        """The context that we have attached to the native thread."""
        return self._thread.given

    def sync(self) -> None:
        """Gives the native thread the context of the current Python context."""
        self.mirror(CURRENT.get(None), current_explicit())

    @_guard.guarded()
    def sync_safely(self) -> None:
        """For hooks in the program's own calls."""
        self.sync()

    @_guard.guarded()
    def leave(self) -> None:
        """For hooks: the native thread works for no context."""
        self.mirror(None, None)

    def mirror(self, context: OtelContext, explicit: Explicit | None) -> None:
        thread = self._thread
        if context is thread.context and explicit is thread.explicit:
            return
        thread.context = _UNKNOWN
        self._give(self._wanted(context, explicit))
        thread.context, thread.explicit = context, explicit

    @_guard.guarded()
    def _wanted(self, context: OtelContext, explicit: Explicit | None) -> TraceContext | None:
        """A header or span of the program that cannot be read counts as none."""
        if explicit is not None and explicit.base is context:
            return explicit.trace_context()
        return self._trace_context_of(context) if context else None

    def _give(self, wanted: TraceContext | None) -> None:
        thread, agent = self._thread, self._agent
        if wanted == thread.given or agent is None:
            return
        native = to_native(wanted) if wanted is not None else None
        thread.given = _UNKNOWN
        if thread.tokens:
            _detach_all(agent, thread.tokens)
        if native is not None:
            # In one step, so no signal handler can run between the call and the storing of its token.
            thread.tokens.extend(map(agent.attach, native[:1]))
        thread.given = wanted

    @_guard.guarded()
    def _sync_if_seen(self) -> None:
        """In a loop with unseen switches, the next task would inherit what a task leaves attached, so only contexts of
        attach() apply there."""
        explicit = current_explicit()
        if (explicit is not None and explicit.is_open) or not self._has_unseen_switches():
            self.mirror(CURRENT.get(None), explicit)

    def attach(self, explicit: Explicit) -> None:
        explicit.token = EXPLICIT.set(explicit)
        if self._agent is not None:
            self.mirror(CURRENT.get(None), explicit)

    def detach(self, explicit: Explicit) -> None:
        """It need not be the innermost one of this context, nor belong to this context."""
        explicit.is_open = False
        innermost, token, explicit.token = current_explicit(), explicit.token, None
        try:
            if token is not None:
                EXPLICIT.reset(token)
        except ValueError:  # of another context
            explicit.is_abandoned = True
        else:
            if innermost is not explicit:
                _take_out(explicit, innermost)
                EXPLICIT.set(innermost)
            elif EXPLICIT.get(None) is not explicit.outer:  # which another one's end has changed
                EXPLICIT.set(explicit.outer)
            explicit.outer = None  # tasks that were started inside keep it, but not all before it
        if self._agent is not None:
            self._tidy_up()

    def _tidy_up(self) -> None:
        outer = current_explicit()
        if self._has_unseen_switches() and not (outer is not None and outer.is_open):
            self.mirror(None, None)
        else:
            self.mirror(CURRENT.get(None), outer)

    def replace(self, trace_context: TraceContext | None) -> None:
        """For threads that are not the program's: nothing is to be restored later."""
        explicit = Explicit(trace_context)
        explicit.outer = None
        EXPLICIT.set(explicit)
        if self._agent is not None:
            self.mirror(CURRENT.get(None), explicit)

    def leave_attach(self) -> None:
        """In a forked child: its work is not inside what the parent has attached."""
        EXPLICIT.set(None)
        if self._agent is not None:
            self.sync()

    @_guard.guarded()
    def _after_fork(self) -> None:
        """In a forked child: the state of this thread in the child's agent is unknown, so it starts again."""
        thread, agent = self._thread, self._agent
        if agent is not None and thread.tokens:
            _detach_all(agent, thread.tokens)
        thread.context = thread.explicit = thread.given = None
        self.sync()


def _take_out(explicit: Explicit, chain: Explicit | None) -> None:
    while chain is not None:
        if chain.outer is explicit:
            chain.outer = explicit.outer
        chain = chain.outer


def _detach_all(agent: _agent.Agent, tokens: list[int]) -> None:
    agent.detach(tokens[0])  # and everything attached after it
    tokens.clear()


link = Link()
_agent.on_found(link.use)
