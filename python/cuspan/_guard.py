"""The one place that keeps the package's errors out of the program. Each function that the program calls is guarded(),
and so is each hook in calls that are the program's own; the frequent ones call keep() themselves.

The program's own exceptions still reach it while our code runs: Ctrl-C, and those of a signal handler, a debugger or
another thread."""

from __future__ import annotations

import functools
import sys
from types import CodeType
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


def keep(error: BaseException, place: str = "") -> None:
    """Inside `except BaseException as error`: raises it again if it is the program's, else logs one line. `place`
    defaults to the name of the function that has caught it."""
    try:
        is_programs = isinstance(error, KeyboardInterrupt) or _comes_from_outside(error)
    except BaseException:
        is_programs = False
    if is_programs:
        raise
    try:
        _log(error, place or _place_of(error))
    except BaseException:  # the program's logging, or the interpreter shuts down
        pass


def _place_of(error: BaseException) -> str:
    return error.__traceback__.tb_frame.f_code.co_name if error.__traceback__ else "?"


def _comes_from_outside(error: BaseException) -> bool:
    """Whether a signal handler or a debugger has raised it while our code ran, or another thread has. All others come
    from what we called, as str() of an argument."""
    interrupters = _interrupters()
    trace = error.__traceback__
    place = ""
    while trace is not None:
        if trace.tb_frame.f_code in interrupters:
            return True
        place = trace.tb_frame.f_globals.get("__name__", "")
        trace = trace.tb_next
    # Another thread's has no frame of its own. Our code raises only subclasses of Exception.
    return place.partition(".")[0] in _OWN_CODE and not isinstance(error, Exception)


def _interrupters() -> set[CodeType]:
    """The code of what the interpreter calls between two instructions."""
    found: list[Any] = [sys.gettrace(), sys.getprofile()]
    signal = sys.modules.get("signal")  # without it, there is no handler in Python
    if signal is not None:
        found += map(signal.getsignal, signal.valid_signals())
    return {code for code in map(_code_of, found) if code is not None}


def _code_of(function: Any) -> CodeType | None:
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__") and callable(function):
        function = getattr(type(function).__call__, "__func__", type(function).__call__)
    return getattr(function, "__code__", None)


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
