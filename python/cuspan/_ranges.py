"""The program's own ranges, spans and marks."""

from __future__ import annotations

import builtins
import ctypes
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Optional, Union

from cuspan import _agent
from cuspan._decorates import Decorates

Value = Union[bool, int, float, str]
Attributes = Optional[Mapping[str, Value]]

_INT, _BOOL, _DOUBLE, _STRING = builtins.range(4)
_UNSET, _ERROR = 0, 2


class _Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("d", ctypes.c_double), ("s", ctypes.c_char_p)]


class _Attribute(ctypes.Structure):
    """cuspan_attribute."""

    _fields_ = [("key", ctypes.c_char_p), ("type", ctypes.c_uint32), ("bytes", ctypes.c_uint32), ("value", _Value)]


def _attribute(key: str, value: object) -> _Attribute:
    made = _Attribute(key.encode("utf-8", "replace"), _INT)
    if isinstance(value, bool):
        made.type, made.value.i = _BOOL, value
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        made.value.i = value
    elif isinstance(value, float):
        made.type, made.value.d = _DOUBLE, value
    else:
        text = str(value).encode("utf-8", "replace")
        made.type, made.value.s, made.bytes = _STRING, text, len(text)
    return made


def _native(attributes: Mapping[str, object]) -> tuple[Any, int]:
    if not attributes:
        return None, 0
    made = [_attribute(key, value) for key, value in attributes.items()]
    return (_Attribute * len(made))(*made), len(made)


def _merged(attributes: Attributes, more: dict[str, Value]) -> dict[str, Value]:
    return {**attributes, **more} if attributes else more


class _Span:
    """Common base of range and span: it starts, and ends with a status."""

    _id = 0

    def __init__(self, name: str, attributes: Attributes = None, /, **more: Value) -> None:
        self._name = name
        self._attributes = _merged(attributes, more)

    def _begin(self, is_range: bool) -> None:
        agent = _agent.look()
        if agent is not None:
            begin = agent.range_push if is_range else agent.span_start
            self._id = begin(self._name.encode("utf-8", "replace"), *_native(self._attributes))

    def end(self, error: BaseException | None = None, **attributes: Value) -> None:
        """Ends it, once. With an error, its status is Error."""
        agent = _agent.look()
        ended, self._id = self._id, 0
        if not ended or agent is None:
            return
        if error is None:
            agent.end(ended, _UNSET, None, *_native(attributes))
            return
        attributes.setdefault("error.type", _name_of(type(error)))
        agent.end(ended, _ERROR, str(error).encode("utf-8", "replace"), *_native(attributes))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not an error: a canceled task, a closed generator, a program that exits.
        if self._id:
            self.end(error if isinstance(error, Exception) else None)


def _name_of(kind: type[BaseException]) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


class range(_Span, Decorates):
    """`with cuspan.range("decode", tokens=7):` or `@cuspan.range("decode")`: a span that is the parent of the CUDA
    calls and ranges that follow on this thread, as long as the thread has the context in which the range started."""

    def __enter__(self) -> range:
        self._begin(True)
        return self

    def _again(self) -> range:
        return range(self._name, self._attributes)


class span(_Span):
    """A span that starts now and may end on any thread, by end() or as a context manager. It has no children."""

    def __init__(self, name: str, attributes: Attributes = None, /, **more: Value) -> None:
        super().__init__(name, attributes, **more)
        self._begin(False)

    def __enter__(self) -> span:
        return self


def loop(name: str) -> Iterator[int]:
    """`for _ in cuspan.loop("forward"):` one range. With counters.replay: loop, and if counters.ranges has its name,
    the body runs as often as hardware counters with several passes need; else once. It must do the same GPU work each
    time."""
    agent = _agent.look()
    identity = agent.loop_push(name.encode("utf-8", "replace"), None, 0) if agent is not None else 0
    runs = 0
    try:
        yield runs
        while agent is not None and identity and agent.again(identity):
            runs += 1
            yield runs
    finally:
        if agent is not None and identity:
            agent.end(identity, _UNSET, None, None, 0)


def mark(name: str, attributes: Attributes = None, /, **more: Value) -> bool:
    """An event at this moment: of the innermost open range, or else a span without a duration."""
    agent = _agent.look()
    if agent is None:
        return False
    return agent.mark(name.encode("utf-8", "replace"), *_native(_merged(attributes, more))) == 0
