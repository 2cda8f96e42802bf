"""Finds serving engines in the program, and follows their iterations. Each engine has an adapter (_engine_NAME.py),
which is loaded after the engine's own module.

An adapter wraps functions of the engine. Its own code never raises into the engine, reads only the lengths of prompts
and outputs, and keeps no reference to them. A function that an engine's version lacks is logged once. _hook_points.py
lists what adapters need."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any, Callable

from cuspan import _agent, _guard
from cuspan._imports import when_imported


def _install(agent: _agent.Agent) -> None:
    if not agent.has_iterations:
        return
    from cuspan._hook_points import ENGINES, is_on  # not at the top: only processes with an agent need it

    for engine in ENGINES:
        for point in engine.points if is_on(engine) else ():
            for module in point.module.split("|") if point.follow else ():
                when_imported(module, functools.partial(_follow, agent, engine.adapter, point.follow))


def _follow(agent: _agent.Agent, adapter: str, function: str, module: ModuleType) -> None:
    getattr(importlib.import_module(f"cuspan._engine_{adapter}"), function)(agent, module)


# --- For the adapters ---


RAISED = object()  # instead of a result
_missing: set[str] = set()


def say_missing(label: str, name: str) -> None:
    what = f"{label}.{name}"
    if what in _missing:
        return
    _missing.add(what)
    import logging

    from cuspan._hook_points import lost_without

    logging.getLogger("cuspan").warning(
        "cuspan: there is no %s in this version of the engine; not traced: %s; the engine is not affected",
        what,
        lost_without(label, name) or "part of its iterations and requests",
    )


def safely(place: str, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """None: it has raised. Objects of the engine may raise anything."""
    try:
        return function(*args, **keywords)
    except _guard.NO_ROOM:
        return None
    except BaseException as error:
        _guard.keep(error, place, is_of_value=True)
        return None


def hook(
    owner: Any,
    name: str,
    label: str,
    before: Callable[..., Any] | None = None,
    after: Callable[[Any, Any], Any] | None = None,
) -> bool:
    """Wraps a method of an object, or a function of a class, once. `before` receives its arguments, and `after` what
    `before` has returned (None after an error) and the result, or RAISED; of a coroutine, that of awaiting it. `label`
    names it in a log line."""
    import inspect  # not at the top: only processes with an agent need it

    original = None if owner is None else getattr(owner, name, None)  # also None has an __init__()
    place = f"the hook of {label}.{name}"
    if not callable(original):
        say_missing(label, name)
        return False
    if getattr(original, "_cuspan_hook", None) == place:
        return True

    @functools.wraps(original)
    def call(*args: Any, **keywords: Any) -> Any:
        token = safely(place, before, *args, **keywords) if before is not None else None
        try:
            result = original(*args, **keywords)
        except BaseException:
            if after is not None:
                safely(place, after, token, RAISED)
            raise
        if after is not None:
            safely(place, after, token, result)
        return result

    @functools.wraps(original)
    async def call_coroutine(*args: Any, **keywords: Any) -> Any:
        token = safely(place, before, *args, **keywords) if before is not None else None
        try:
            result = await original(*args, **keywords)
        except BaseException:
            if after is not None:
                safely(place, after, token, RAISED)
            raise
        if after is not None:
            safely(place, after, token, result)
        return result

    made: Any = call_coroutine if inspect.iscoroutinefunction(original) else call
    made._cuspan_hook = place
    setattr(owner, name, made)
    return True


def hook_init(owner: Any, label: str, after: Callable[[Any], Any]) -> bool:
    """Calls it with each new object of the class, unless its creation fails."""

    def made(self: Any, result: object) -> None:
        if result is not RAISED:
            after(self)

    return hook(owner, "__init__", label, lambda self, *_args, **_keywords: self, made)


_agent.on_found(_install)
