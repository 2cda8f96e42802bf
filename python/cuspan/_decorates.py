"""Context managers that also decorate functions and coroutine functions."""

from __future__ import annotations

import functools
import inspect
from contextlib import AbstractContextManager
from typing import Any, Callable


class Decorates:
    def _again(self) -> AbstractContextManager[Any]:
        """A new one like this, for one call of the function."""
        raise NotImplementedError

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                with self._again():
                    return await function(*args, **kwargs)

            return call_async

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return call
