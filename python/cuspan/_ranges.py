"""The program's own ranges, spans and marks."""

from __future__ import annotations

import _thread
import builtins
import itertools
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Optional, TypeVar, Union, overload

from cuspan import _agent, _guard
from cuspan._ctypes import ctypes
from cuspan._decorates import Decorates, add_manager, is_function
from cuspan._text import utf8

Value = Union[bool, int, float, str]
Attributes = Optional[Mapping[str, Value]]
Decorated = TypeVar("Decorated")

_INT, _BOOL, _DOUBLE, _STRING = builtins.range(4)
_UNSET, _ERROR = 0, 2
_ATTRIBUTES_MAX = 256  # the agent takes fewer, and counts the others


class _Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("d", ctypes.c_double), ("s", ctypes.c_char_p)]


class _Attribute(ctypes.Structure):
    """cuspan_attribute."""

    _fields_ = [("key", ctypes.c_char_p), ("type", ctypes.c_uint32), ("bytes", ctypes.c_uint32), ("value", _Value)]


def _attribute(key: bytes, value: object) -> _Attribute:
    made = _Attribute(key, _INT)
    kind = type(value)
    if kind is bool:
        made.type, made.value.i = _BOOL, value
    elif issubclass(kind, int) and -(2**63) <= int.__int__(value) < 2**63:  # type: ignore[arg-type]
        made.value.i = int.__int__(value)  # type: ignore[arg-type]
    elif issubclass(kind, float):
        made.type, made.value.d = _DOUBLE, value
    else:
        text = utf8(value)
        made.type, made.value.s, made.bytes = _STRING, text, len(text)
    return made


def _items(attributes: Any) -> list[tuple[object, object]]:
    """Of a mapping, which may be any object of the program."""
    found: list[tuple[object, object]] = []
    if attributes is None:
        return found
    try:
        for key, value in itertools.islice(attributes.items(), _ATTRIBUTES_MAX):
            found.append((key, value))
    except _guard.NO_ROOM:
        pass
    except BaseException as error:
        _guard.keep(error, "reading attributes", is_of_value=type(attributes) is not dict)
    return found


def _native(attributes: object, more: dict[str, Value] | None) -> tuple[Any, int]:
    """Later values of a key replace earlier ones."""
    if attributes is None and not more:
        return None, 0
    made: dict[bytes, _Attribute] = {}
    for key, value in (*_items(attributes), *_items(more)):
        name = utf8(key)
        made[name] = _attribute(name, value)
    return (_Attribute * len(made))(*made.values()), len(made)


def _name_of(kind: type[BaseException]) -> str:
    try:
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    except _guard.NO_ROOM:
        return "?"
    except BaseException as error:
        _guard.keep(error, "reading the name of an exception")
        return "?"


def _end(identity: int, error: BaseException | None, attributes: dict[str, Value] | None = None) -> None:
    agent = _agent.look()
    if not identity or agent is None:
        return
    if error is None:
        agent.end(identity, _UNSET, None, *_native(None, attributes))
        return
    more: dict[str, Value] = {"error.type": _name_of(type(error)), **(attributes or {})}
    agent.end(identity, _ERROR, utf8(error), *_native(None, more))


class _Span:
    """Common base of range and span: it starts, and ends with a status. One object can be used several times at once, by
    threads and tasks."""

    _name: str | None = None
    _attributes: Attributes = None
    _more: dict[str, Value] | None = None
    _open: list[tuple[int, int]] | None = None  # thread, and the agent's ID

    def __init__(self, name: Any = None, attributes: Attributes = None, /, *_others: object, **more: Value) -> None:
        self._name = name
        self._attributes = attributes
        self._more = more

    def __getstate__(self) -> dict[str, Any]:
        """Nothing has started in a copy."""
        return {**vars(self), "_open": None}

    def _begin(self, is_range: bool) -> None:
        agent = _agent.look()
        if agent is None:
            return
        begin = agent.range_push if is_range else agent.span_start
        name = b"range" if self._name is None else utf8(self._name)
        identity = begin(name, *_native(self._attributes, self._more))
        if self._open is None:
            self._open = []
        self._open.append((_thread.get_ident(), identity))

    def _take(self) -> int:
        """The last one that this thread has opened, or else the last one. 0: none."""
        opened, thread = self._open, _thread.get_ident()
        if not opened:
            return 0
        at = next((at for at in builtins.range(len(opened) - 1, -1, -1) if opened[at][0] == thread), -1)
        return opened.pop(at)[1]

    @_guard.guarded()
    def end(self, /, error: BaseException | None = None, **attributes: Value) -> None:
        """Ends it, once. With an error, its status is Error."""
        _end(self._take(), error, attributes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._open:
            return
        try:
            # Not an error: a canceled task, a closed generator, a program that exits.
            _end(self._take(), error if issubclass(type(error), Exception) else None)
        except _guard.NO_ROOM:
            pass
        except BaseException as wrong:
            _guard.keep(wrong)


class range(_Span, Decorates):
    """`with cuspan.range("decode", tokens=7):` or `@cuspan.range("decode")`: a span that is the parent of the CUDA
    calls and ranges that follow on this thread, as long as the thread has the context in which the range started.
    `@cuspan.range` alone has the name of the function."""

    @overload
    def __new__(cls, name: str = ..., attributes: Attributes = ..., /, **more: Value) -> range: ...
    @overload
    def __new__(cls, function: Decorated, /) -> Decorated: ...  # type: ignore[misc]
    def __new__(cls, name: Any = None, /, *others: Any, **more: Any) -> Any:
        try:
            made = object.__new__(cls)
        except _guard.NO_ROOM:
            return _spare
        if type(name) is str or name is None or others or more or cls is not range or not is_function(name):
            return made
        decorated = made(name)
        made._name = name  # it may be meant as one
        add_manager(decorated, made)
        return decorated

    def __enter__(self) -> range:
        try:
            self._begin(True)
        except _guard.NO_ROOM:
            pass
        except BaseException as error:
            _guard.keep(error)
        return self

    def __call__(self, function: Decorated) -> Decorated:
        begin = (
            self if self._name is not None else range(_name_of_function(function), self._attributes, **self._more or {})
        )
        return super(range, begin).__call__(function)

    def _again(self) -> range:
        made = object.__new__(range)
        made._name, made._attributes, made._more = self._name, self._attributes, self._more
        return made


@_guard.guarded("function")
def _name_of_function(function: Any) -> str:
    for inner in "__func__", "func", "fget":
        function = getattr(function, inner, function)
    name = getattr(function, "__qualname__", None) or _guard.name_of_type(function)
    return str(name).rpartition("<locals>.")[2]


_spare = range("?")  # one object can be used several times at once


class span(_Span):
    """A span that starts now and may end on any thread, by end() or as a context manager. It has no children."""

    @_guard.guarded()
    def __init__(self, name: str | None = None, attributes: Attributes = None, /, **more: Value) -> None:
        super().__init__(name, attributes, **more)
        self._begin(False)

    def __enter__(self) -> span:
        return self


@_guard.guarded((0,))
def loop(name: str) -> Iterable[int]:
    """`for _ in cuspan.loop("forward"):` one range. With counters.replay: loop, and if counters.ranges has its name,
    the body runs as often as hardware counters with several passes need; else once. It must do the same GPU work each
    time."""
    return _loop(utf8(name))


def _loop(name: bytes) -> Iterator[int]:
    identity = _begin_loop(name)
    runs = 0
    try:
        yield runs
        while identity and _runs_again(identity):
            runs += 1
            yield runs
    finally:
        _end_loop(identity)


@_guard.guarded(0)
def _begin_loop(name: bytes) -> int:
    agent = _agent.look()
    return agent.loop_push(name, None, 0) if agent is not None else 0


@_guard.guarded(False)
def _runs_again(identity: int) -> bool:
    agent = _agent.look()
    return agent is not None and bool(agent.again(identity))


@_guard.guarded()
def _end_loop(identity: int) -> None:
    _end(identity, None)


@_guard.guarded(False)
def mark(name: str, attributes: Attributes = None, /, **more: Value) -> bool:
    """An event at this moment: of the innermost open range, or else a span without a duration."""
    agent = _agent.look()
    return agent is not None and agent.mark(utf8(name), *_native(attributes, more)) == 0
