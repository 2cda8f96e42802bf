"""Context managers that also decorate. They return an object of the same kind as their argument: a coroutine function,
a generator function, a method, a functools.partial, a callable object."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import types
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable, TypeVar, cast

from cuspan import _guard

Decorated = TypeVar("Decorated")
Begin = Callable[[], AbstractContextManager[Any]]


class Decorates:
    def _again(self) -> AbstractContextManager[Any]:
        """A new one like this, for one call of the function."""
        raise NotImplementedError

    @_guard.guarded(nullcontext())
    def _begin_again(self) -> AbstractContextManager[Any]:
        return self._again()

    def __call__(self, function: Decorated) -> Decorated:
        return decorated(function, self._begin_again)


@_guard.guarded(False)
def is_function(value: object) -> bool:
    """Whether the object, rather than its text, is meant: not by one that `with` can enter."""
    names: set[str] = set()
    for each in _mro(type(value)):
        names.update(_members(each))
    return not issubclass(type(value), str) and ("__get__" in names or "__call__" in names and "__enter__" not in names)


_mro = type.__dict__["__mro__"].__get__  # a metaclass can make each access raise
_members = type.__dict__["__dict__"].__get__


def decorated(function: Decorated, begin: Begin) -> Decorated:
    """Returns an object unchanged if it cannot be decorated."""
    try:
        return cast(Decorated, _decorated(function, begin))
    except _guard.NO_ROOM:
        return function
    except BaseException as error:
        _guard.keep(error)
        return function


def _decorated(function: Any, begin: Begin) -> Any:
    kind = type(function)
    if kind is types.FunctionType:
        return _of_function(function, begin)
    if kind in (staticmethod, classmethod):
        return kind(_decorated(function.__func__, begin))
    if kind is types.MethodType:
        return types.MethodType(_decorated(function.__func__, begin), function.__self__)
    if kind in (functools.partial, functools.partialmethod):
        made = kind(_decorated(function.func, begin), *function.args, **function.keywords)
        made.__dict__.update(vars(function))
        return made
    if kind is property:
        return property(_decorated(function.fget, begin), function.fset, function.fdel, function.__doc__)
    if kind is functools.cached_property:
        made = kind(_decorated(function.func, begin))
        made.attrname = function.attrname
        return made
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"only functions and callable objects can be decorated, not {function!r}")
    return _proxy_of(function, begin)


def _of_function(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    return functools.update_wrapper(_wrapper(function, begin), function)


def _wrapper(function: Callable[..., Any], begin: Begin) -> Any:
    if inspect.isasyncgenfunction(function):
        return _of_async_generator(function, begin)
    if inspect.isgeneratorfunction(function):
        return _of_generator(function, begin)
    if inspect.iscoroutinefunction(function):

        async def call_async(*args: Any, **kwargs: Any) -> Any:
            with begin():
                awaited = function(*args, **kwargs)
                del args, kwargs  # large ones may be needed no longer than the body keeps them
                return await awaited

        return call_async

    def call(*args: Any, **kwargs: Any) -> Any:
        with begin():
            return function(*args, **kwargs)

    return call


def _of_generator(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    """It begins with the body, at the first next(), and ends with it."""

    def generate(*args: Any, **kwargs: Any) -> Any:
        with begin():
            generator = function(*args, **kwargs)
            del args, kwargs
            resume, given = generator.send, None
            while True:  # not `yield from`, which closes the generator instead of passing GeneratorExit
                try:
                    values = [resume(given)]
                except StopIteration as stop:
                    return stop.value
                finally:
                    given = None  # an exception refers to this frame
                try:
                    given = yield values.pop()  # so that this frame does not keep it
                    resume = generator.send
                except BaseException as error:
                    resume, given = generator.throw, error

    code = getattr(function, "__code__", None)
    is_awaitable = code is not None and code.co_flags & inspect.CO_ITERABLE_COROUTINE
    return types.coroutine(generate) if is_awaitable else generate


def _of_async_generator(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    async def generate_async(*args: Any, **kwargs: Any) -> Any:
        with begin():
            generator = function(*args, **kwargs)
            del args, kwargs
            step = _first_step(generator)
            while True:
                try:
                    values = [await step]
                except StopAsyncIteration:  # the function's own would be a RuntimeError
                    return
                finally:
                    step = None
                try:
                    step = generator.asend((yield values.pop()))
                except BaseException as error:
                    step = generator.athrow(error)

    return generate_async


def _first_step(generator: Any) -> Any:
    """Without the hooks of the event loop, which would close this generator and the one around it at the same time."""
    hooks = sys.get_asyncgen_hooks()
    try:
        sys.set_asyncgen_hooks(None, _no_finalizer)
        return generator.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _no_finalizer(_generator: object) -> None:
    pass


# --- callable objects: a torch.nn.Module, a cached function, a function in C ---


class _Proxy:
    """Looks like the object, which stays as it is, and is called in its place."""

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return object.__getattribute__(self, name)
        return getattr(_target(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_target(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_target(self), name)

    @property
    def __wrapped__(self) -> Any:
        return _target(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        made = _target(self).__reduce_ex__(protocol)
        # The name of a global variable, which has this object; or else a copy.
        return made if isinstance(made, str) else (decorated, _parts(self))

    def __copy__(self) -> Any:
        return self._of_copy(copy.copy(_target(self)))

    def __deepcopy__(self, memo: Any) -> Any:
        return self._of_copy(copy.deepcopy(_target(self), memo))

    def _of_copy(self, made: Any) -> Any:
        return self if made is _target(self) else decorated(made, _parts(self)[1])


_OWN = frozenset(("__call__", "__wrapped__", "__reduce_ex__", "__copy__", "__deepcopy__", "_of_copy"))
# Of special methods, Python looks at the class only. These of the object's class are not needed, or _Proxy's.
_NOT_DELEGATED = (
    frozenset(
        """__class_getitem__ __del__ __delattr__ __getattr__ __getattribute__ __init__ __init_subclass__ __new__
    __reduce__ __setattr__ __subclasshook__""".split()
    )
    | _OWN
)


def _parts(proxy: _Proxy) -> tuple[Any, Begin]:
    return cast("tuple[Any, Begin]", object.__getattribute__(proxy, "_parts"))


def _target(proxy: _Proxy) -> Any:
    return _parts(proxy)[0]


class _Call:
    """__call__ of a proxy's class: a method of the object, so that it can be a coroutine function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __get__(self, proxy: _Proxy | None, _kind: Any = None) -> Any:
        return self._function if proxy is None else types.MethodType(self._function, _target(proxy))


def _proxy_of(target: Any, begin: Begin) -> Any:
    kind = type(target)
    names = {name for each in kind.__mro__[:-1] for name in vars(each) if name[:2] == name[-2:] == "__"}
    members: dict[str, Any] = {
        name: _delegate(name)
        for name in {"__repr__", "__str__", *names} - _NOT_DELEGATED
        if callable(getattr(kind, name, None))
    }
    members.update(
        (name, getattr(kind, name))
        for name in names - _NOT_DELEGATED
        if name == "__dataclass_fields__" or getattr(kind, name, name) is None
    )
    if "__get__" in members:
        members["__get__"] = lambda self, *where: _decorated_if_called(_target(self).__get__(*where), begin)
    members["__call__"] = _Call(_of_function(kind.__call__, begin))
    made: Any = object.__new__(type(kind.__name__, (_Proxy,), members))
    object.__setattr__(made, "_parts", (target, begin))
    return made


def _decorated_if_called(got: Any, begin: Begin) -> Any:
    return decorated(got, begin) if callable(got) else got


@_guard.guarded()
def add_manager(made: object, manager: AbstractContextManager[Any]) -> None:
    """A decorated object may have been meant as the name of `manager`: `with` enters that."""
    kind: Any = type(made)
    if issubclass(kind, _Proxy) and not hasattr(kind, "__enter__"):
        kind.__enter__ = lambda _self: manager.__enter__()
        kind.__exit__ = lambda _self, *error: manager.__exit__(*error)


def _delegate(name: str) -> Callable[..., Any]:
    def method(self: _Proxy, /, *args: Any, **kwargs: Any) -> Any:
        target = _target(self)
        return getattr(type(target), name)(target, *args, **kwargs)

    return method
