"""The arguments of questions: converted, or refused in one line."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from datetime import date, datetime, timezone
from typing import Any, Protocol, TypeVar, Union, cast

from cuspan._guard import name_of_type
from cuspan.fleet._answer import Answer
from cuspan.fleet._sql import GROUPS
from cuspan.fleet._store import Filters, Problem

Time = Union[int, str, date]  # a datetime is a date
_INT64_MAX = 2**63 - 1
_SHOWN_MAX = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


Convert = TypeVar("Convert", bound=Callable[..., Any])


class Ask(Protocol):
    """A question, as a method of Fleet."""

    def __call__(
        self,
        *,
        by: str | None = None,
        top: int = 20,
        distinct: bool = False,
        since: Time | None = None,
        until: Time | None = None,
        service: str | None = None,
        job: str | int | None = None,
        host: str | None = None,
        gpu: str | int | None = None,
        rank: int | None = None,
        release: str | None = None,
    ) -> Answer: ...


def _checked(convert: Convert) -> Convert:
    """Objects whose methods raise are refused, too."""

    @functools.wraps(convert)
    def call(*values: Any) -> Any:
        try:
            return convert(*values)
        except (Problem, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise Problem(f"{shown(values[-1])} cannot be an argument: {name_of_type(error)}") from None

    return cast(Convert, call)


def shown(value: object) -> str:
    try:
        text = repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:
        text = name_of_type(value)
    return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"


def _wrong(name: str, value: object, wanted: str) -> Problem:
    return Problem(f"{name} is {shown(value)}; it must be {wanted}")


def time_of(text: str) -> datetime:
    """UTC if the text names no time zone."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise Problem(f"{text} is not a time; write 2026-11-26T03:00 (UTC) or 2026-11-26") from None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def ns_of(moment: datetime) -> int:
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000


def _whole(name: str, value: Any, wanted: str, least: int) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise _wrong(name, value, wanted) from None
    if not least <= number <= _INT64_MAX:
        raise _wrong(name, value, wanted)
    return number


def _time(name: str, value: Any) -> int:
    wanted = "a time: 2026-11-26T03:00 (UTC), a datetime, or nanoseconds since 1970"
    if isinstance(value, str):
        try:
            value = time_of(value)
        except Problem:
            raise _wrong(name, value, wanted) from None
    if isinstance(value, datetime):
        value = ns_of(value if value.tzinfo else value.replace(tzinfo=timezone.utc))
    elif isinstance(value, date):
        value = ns_of(datetime(value.year, value.month, value.day, tzinfo=timezone.utc))
    return _whole(name, value, wanted, -_INT64_MAX)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.isascii() and _has_surrogates(value):
        raise _wrong(name, value, "a text")
    return value


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _text_or_number(name: str, value: Any) -> str:
    is_number = hasattr(value, "__index__") and not isinstance(value, bool)
    return str(operator.index(value)) if is_number else _text(name, value)


def _rank(name: str, value: Any) -> int:
    is_number = isinstance(value, str) and value.isascii() and value.isdigit()
    return _whole(name, int(value) if is_number and len(value) < 20 else value, "a whole number, 0 or more", 0)


_CONVERTED = {
    "since": _time,
    "until": _time,
    "service": _text,
    "job": _text_or_number,
    "host": _text,
    "gpu": _text_or_number,
    "rank": _rank,
    "release": _text,
}


@_checked
def filters_of(given: dict[str, Any]) -> Filters:
    unknown = next((name for name in given if name not in _CONVERTED), None)
    if unknown is not None:
        raise Problem(f"unknown filter {unknown}; known are: {', '.join(_CONVERTED)}")
    return Filters(**{name: _CONVERTED[name](name, value) for name, value in given.items() if value is not None})


@_checked
def by_of(value: Any) -> str | None:
    """A name with a dot is the key of an attribute."""
    if value is not None and (not isinstance(value, str) or (value not in GROUPS and "." not in _text("by", value))):
        raise Problem(
            f"cannot group by {value if isinstance(value, str) else shown(value)}; known are: {', '.join(GROUPS)}, "
            "and attributes such as service.version"
        )
    return value


@_checked
def top_of(value: Any) -> int:
    return _whole("top", value, "a whole number of rows, 0 for all", 0)


@_checked
def flag_of(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, value, "True or False")
    return value


@_checked
def query_of(query: Any, parameters: Any) -> dict[str, Any]:
    if not isinstance(query, str):
        raise _wrong("the query", query, "a text of SQL")
    if parameters is not None and not isinstance(parameters, dict):
        raise _wrong("parameters", parameters, "a dictionary: {'name': value} for $name")
    return parameters or {}


@_checked
def folder_of(where: Any, memory_limit: Any, threads: Any) -> None:
    """Checks the arguments of open()."""
    if not isinstance(where, str) and not hasattr(where, "__fspath__"):
        raise _wrong("the first argument", where, "a folder that cuspan export wrote, or clickhouse://HOST")
    _text("memory_limit", memory_limit)
    if threads is not None:
        _whole("threads", threads, "a whole number, 1 or more", 1)
