"""Calls a function once a module has been imported."""

from __future__ import annotations

import logging
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Callable

Callback = Callable[[ModuleType], None]


class _Finder(MetaPathFinder):
    """Finds nothing itself, but makes the module's own loader call back."""

    def __init__(self) -> None:
        self.waiting: dict[str, Callback] = {}

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        callback = self.waiting.pop(name, None)
        spec = find_spec(name) if callback else None
        if spec is not None and spec.loader is not None:
            _call_after_exec(spec.loader, callback)
        return spec


def _call_after_exec(loader: Any, callback: Callback) -> None:
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module
        original(module)
        _call(callback, module)

    loader.exec_module = exec_module


def _call(callback: Callback, module: ModuleType) -> None:
    try:
        callback(module)
    except Exception:  # an unknown version must not break the import
        logging.getLogger("cuspan").exception("cannot follow %s; CUDA work there may lack its parent", module.__name__)


_finder = _Finder()


def when_imported(name: str, callback: Callback) -> None:
    """Calls it now if the module has already been imported."""
    module = sys.modules.get(name)
    if module is not None:
        _call(callback, module)
        return
    _finder.waiting[name] = callback
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
