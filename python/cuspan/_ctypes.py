"""ctypes. In a Python that has none (built without libffi; a subinterpreter with a lock of its own), a stand-in with which
the package can be imported: no agent is found then."""

from __future__ import annotations

from typing import Any

try:
    import ctypes as ctypes

    HAS_CTYPES = True
except ImportError:
    HAS_CTYPES = False

    class _Missing:
        """Each attribute, each call, and each class that inherits from it is one of these, too."""

        def __init__(self, *_: object) -> None:
            pass

        def __getattr__(self, name: str) -> _Missing:
            if name.startswith("__"):
                raise AttributeError(name)
            return self

        def __call__(self, *_: object, **__: object) -> _Missing:
            return self

        def __mul__(self, _: object) -> _Missing:
            return self

    ctypes: Any = _Missing()  # type: ignore[no-redef]
