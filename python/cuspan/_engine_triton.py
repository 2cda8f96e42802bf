"""Python models of Triton (its Python backend). Each instance of a model is a process, and each of its calls of
execute(requests) is an iteration. Tokens are rows of a request's first input, of models that batch; otherwise 1.

A request's context is that of its trace, if Triton traces with OpenTelemetry. Otherwise it is the parameter `traceparent`,
as which Triton passes on the header. Not followed: what a decoupled model does for a request after execute() has
returned, and a coroutine that begins before another one has ended.

A call costs about 10 us, and 13 us more for each request (Python 3.11, with a header).

Tested with Triton 2.51 (24.10) on a CPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Optional

from cuspan import _agent
from cuspan._engine_front import from_headers
from cuspan._engines import RAISED, hook, safely, say_missing
from cuspan._iterations import (
    ABORTED,
    FAILED,
    FINISHED,
    NO_ITERATION,
    Headers,
    Part,
    Rank,
    Schedule,
)

_Token = Optional[tuple[int, int]]  # number of the iteration, how many requests


def follow(agent: _agent.Agent, module: ModuleType) -> None:
    """A model imports the module before it defines its class. Afterwards Triton sets attributes of the module, and then
    makes the instance."""
    if hasattr(module, "TritonError"):
        _follow_models(agent)
        return
    original = type(module)

    class Utilities(original):  # type: ignore[misc, valid-type]
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "TritonError":
                super().__setattr__("__class__", original)
                safely("the hook of tritonserver", _follow_models, agent)

    module.__class__ = Utilities


def _follow_models(agent: _agent.Agent) -> None:
    every = [getattr(module, "__dict__", {}).get("TritonPythonModel") for module in tuple(sys.modules.values())]
    models = [model for model in dict.fromkeys(every) if isinstance(model, type)]
    engine, label = _Engine(agent), "tritonserver TritonPythonModel"
    if not models:
        say_missing("tritonserver", "TritonPythonModel")
    for model in models:
        if hasattr(model, "initialize"):  # optional
            hook(model, "initialize", label, engine.name)
        hook(model, "execute", label, engine.begin, engine.end)


class _Engine:
    def __init__(self, agent: _agent.Agent) -> None:
        self._agent = agent
        self._rank = Rank(agent, "triton")
        self._schedule = Schedule()
        self._has_rows = self._is_open = False

    def name(self, _model: Any, args: Any) -> None:
        self._rank = Rank(self._agent, f"triton {args['model_name']}")
        self._has_rows = json.loads(args["model_config"])["max_batch_size"] > 0

    def begin(self, _model: Any, requests: Any) -> _Token:
        if self._is_open:  # of a class that is derived from another one
            return None
        stamp = self._schedule.stamp(list(self._parts(requests)))
        self._rank.begin(stamp)
        self._is_open = True
        return stamp[1], len(requests)

    def _parts(self, requests: Any) -> Iterator[Part]:
        for at, request in enumerate(requests):
            rows = request.inputs()[0].shape()[0] if self._has_rows else 1
            headers, noted = from_headers(self._agent, _parameters(request))
            headers = _traced(request) or headers
            yield self._schedule.admit(at, request.request_id(), rows, headers=headers, attributes=noted), rows, 0, 0, False

    def end(self, token: _Token, result: Any) -> None:
        if token is None:
            return
        number, count = token
        self._is_open = False
        self._rank.end()
        self._schedule.done(number)
        for at in range(count):
            self._schedule.end(at, FAILED if result is RAISED else _reason(result[at] if result else None))
        self._rank.begin(self._schedule.stamp(kind=NO_ITERATION))


def _traced(request: Any) -> Headers:
    """The span of Triton for this request."""
    get = getattr(request.trace(), "get_context", None) if hasattr(request, "trace") else None
    text = get() if get is not None else None
    found = json.loads(text) if text else {}
    return (found["traceparent"], found.get("tracestate", "")) if "traceparent" in found else None


def _parameters(request: Any) -> Iterator[tuple[str, str]]:
    """Triton passes on headers as parameters, with names as the client wrote them."""
    text = request.parameters()
    for name, value in (json.loads(text) if text else {}).items():
        if isinstance(value, str):
            yield name.lower(), value


def _reason(response: Any) -> int:
    """Decoupled models return nothing."""
    if response is None or not response.has_error():
        return FINISHED
    error = response.error()
    return ABORTED if hasattr(error, "code") and error.code() == getattr(error, "CANCELLED", None) else FAILED
