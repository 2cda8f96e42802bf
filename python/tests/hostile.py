"""Objects that a program may pass, such as texts that cannot be encoded, and objects each of whose methods raises."""

from __future__ import annotations

import cuspan

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Refused(BaseException):
    """No subclass of Exception."""


def _refuse(*_args, **_kwargs):
    raise Refused


class Hostile:
    """Each access and operation raises, also a read of its class."""

    __class__ = property(_refuse)
    __getattr__ = _refuse


for _name in (
    "str repr bool len iter next eq ne lt le gt ge hash int index float call contains getitem format bytes "
    "fspath enter exit await aiter anext reduce reduce_ex add complex"
).split():
    setattr(Hostile, f"__{_name}__", _refuse)


class HostileText(str):
    encode = decode = __str__ = __repr__ = __eq__ = __hash__ = __len__ = __iter__ = __format__ = _refuse


class HostileNumber(int):
    __int__ = __index__ = __str__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __hash__ = __bool__ = _refuse


class HostileMapping(dict):
    items = keys = values = get = __iter__ = __len__ = __bool__ = __getitem__ = _refuse


class EndlessMapping(dict):
    def items(self):
        number = 0
        while True:
            number += 1
            yield str(number), number


class OddPairs(dict):
    def items(self):
        return [1, (2,), (3, 4, 5)]


class HostileError(Exception):
    """Has no text."""

    __str__ = __repr__ = _refuse


class NamelessError(Exception, metaclass=type("Meta", (type,), {"__module__": property(_refuse)})):
    pass


def values():
    return [
        None,
        0,
        -1,
        2**70,
        10**5000,
        True,
        1.5,
        float("nan"),
        "",
        "a\0b",
        "lone \udc80 surrogate",
        "\ud800",
        b"bytes",
        b"\xff\x00",
        bytearray(b"x"),
        object(),
        object,
        [],
        [1, 2],
        (),
        {},
        {1: 2, None: 3, b"k": 4, "\udc80": "\udc80"},
        {"a": Hostile(), "b": HostileText("b"), "c": HostileNumber(3)},
        Hostile(),
        HostileText("text"),
        HostileNumber(7),
        HostileMapping(a=1),
        EndlessMapping(),
        OddPairs(),
        HostileError(),
        len,
        lambda: 1 / 0,
        Refused,
    ]


def enter_and_leave(manager):
    if not callable(manager) or hasattr(manager, "__enter__"):  # else a function that was decorated
        manager.__enter__()
        manager.__exit__(None, None, None)


def end(value):
    opened = cuspan.span("x")
    opened.end(value, **{"key": value})


def run_request(value):
    made = cuspan.request(value, value, value, traceparent=value, tracestate=value)
    enter_and_leave(cuspan.iteration(value, value, [(made, value, value, value), value], seed=value))
    enter_and_leave(cuspan.iteration("x", 1, value, kind=value, rank=value, ranks=value, recorded=value))
    made.end(value, value)


# Each public function, called with one value in each place that it has.
CALLS = {
    "range": lambda value: enter_and_leave(cuspan.range(value, value, key=value)),
    "range without attributes": lambda value: enter_and_leave(cuspan.range(value)),
    "range of attributes": lambda value: enter_and_leave(cuspan.range("x", value)),
    "too much": lambda value: enter_and_leave(cuspan.range(value, value, value, value)),
    "span": lambda value: enter_and_leave(cuspan.span(value, value, key=value)),
    "end": end,
    "mark": lambda value: cuspan.mark(value, value, key=value),
    "wrong mark": lambda value: cuspan.mark(name=value),
    "loop": lambda value: list(cuspan.loop(value)),
    "attach": lambda value: enter_and_leave(cuspan.attach(value)),
    "attach with state": lambda value: enter_and_leave(cuspan.attach(GIVEN, value)),
    "wrong attach": lambda value: enter_and_leave(cuspan.attach(1, 2, value)),
    "environment": lambda value: cuspan.environment(value),
    "environment of a context": lambda value: cuspan.attach(GIVEN, value)(cuspan.environment)({"TRACEPARENT": value}),
    "child": lambda value: cuspan.child(value),
    "carried": lambda value: cuspan.carried(value),
    "request": run_request,
    "wrong request": lambda value: cuspan.request(1, 2, 3, 4, 5).end(value),
    "wrong iteration": lambda value: enter_and_leave(cuspan.iteration(wrong=value)),
    "step": lambda value: cuspan.step(value),
    "flush": lambda value: cuspan.flush(value),
    "decorating": lambda value: cuspan.range("x")(value),
    "attach decorating": lambda value: cuspan.attach()(value),
    "current": lambda value: cuspan.attach(GIVEN, value)(cuspan.current_traceparent)(),
}
