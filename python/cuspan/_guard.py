"""The one place that keeps the package's errors out of the program. Each function that the program calls is guarded(),
and so is each hook in calls that are the program's own; the frequent ones call keep() themselves.

The program's own exceptions still reach it while our code runs: Ctrl-C, and those of a signal handler, a debugger or
another thread."""

from __future__ import annotations

import functools
import inspect
from types import FrameType
from typing import Any, Callable, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

# Without stack or memory there is no room for a call, so each `except` for keep() comes after one for these.
NO_ROOM = (RecursionError, MemoryError)
_PLACES_LOGGED_MAX = 8
_OWN_CODE = ("cuspan", "ctypes", "namedtuple_TraceContext")  # modules whose functions are ours, or that only we call

_logged: set[str] = set()


def guarded(default: Any = None) -> Callable[[Function], Function]:
    """The function returns `default` instead of raising an error of ours, also if it is called with wrong arguments."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except NO_ROOM:
                return default
            except BaseException as error:
                keep(error, function.__qualname__)
                return default

        return cast(Function, call)

    return decorate


def keep(error: BaseException, place: str = "", is_of_value: bool = False) -> None:
    """Inside `except BaseException as error`: raises it again if it is the program's, else logs one line. `place`
    defaults to the name of the function that has caught it. `is_of_value`: it called an argument, whose class may be
    one in C."""
    try:
        is_programs = isinstance(error, KeyboardInterrupt) or _comes_from_outside(error, is_of_value)
    except BaseException:
        is_programs = False
    if is_programs:
        raise
    try:
        _log(error, place or _place_of(error))
    except BaseException:  # the program's logging, or the interpreter shuts down
        pass
    # Up to Python 3.12, a frame keeps what _interrupts() has read of it, and so the error and all arguments, in a cycle.
    BaseException.with_traceback(error, None)


def _place_of(error: BaseException) -> str:
    return error.__traceback__.tb_frame.f_code.co_name if error.__traceback__ else "?"


def _comes_from_outside(error: BaseException, is_of_value: bool) -> bool:
    """Whether a signal handler or a debugger has raised it while our code ran, or another thread has. All others come
    from what we called, as str() of an argument."""
    trace = error.__traceback__
    place = ""
    while trace is not None:
        if _interrupts(trace.tb_frame):
            return True
        place = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    # Another thread's has no frame of its own.
    return place.partition(".")[0] in _OWN_CODE and not (
        isinstance(error, Exception) and (is_of_value or _can_be_ours(type(error)))
    )


def _can_be_ours(kind: type[BaseException]) -> bool:
    """Our code, and the functions in C that it calls, raise few others."""
    return kind.__module__ in ("builtins", "ctypes", "struct") and kind is not TimeoutError


def _interrupts(frame: FrameType) -> bool:
    """Whether it is of a handler, or of a function that traces: they are given the frame that they interrupt."""
    code = frame.f_code
    count = code.co_argcount
    values = [frame.f_locals.get(name) for name in code.co_varnames[:count]]
    if code.co_flags & inspect.CO_VARARGS:
        values += frame.f_locals.get(code.co_varnames[count + code.co_kwonlyargcount], ())
    return any(value is frame.f_back for value in values if type(value) is FrameType)


def _log(error: BaseException, place: str) -> None:
    if place in _logged or len(_logged) >= _PLACES_LOGGED_MAX:
        return
    _logged.add(place)
    import logging

    logging.getLogger("cuspan").warning(
        "cuspan: %s failed (%s); the program is not affected, and further errors there are not logged",
        place,
        text_of_error(error),
    )


def text_of_error(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return name_of_type(error)


def name_of_type(value: object) -> str:
    """A metaclass can make each of its attributes raise."""
    return cast(str, type.__dict__["__name__"].__get__(type(value)))
