"""Looks for the hook points of engines in their source files, without importing them. `cuspan doctor` runs main()."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Callable, Optional

from cuspan._hook_points import ENGINES, Engine, Point, is_on

Reader = Callable[[str], Optional[str]]  # the text of a file, by its path from the folder of the package
_Members = dict[str, Optional[list[str]]]  # by name: arguments of a function, or None
_NAMES_MAX = 4  # in a line
_IMPORTS_MAX = 8  # from module to module, until a definition
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRITON = "/opt/tritonserver/backends/python"


class Sources:
    def __init__(self, read: Reader) -> None:
        self._read = read
        self._trees: dict[str, ast.Module | None] = {}

    def missing(self, point: Point) -> list[str]:
        """The members of a point that are not there."""
        if not any(self._tree(module) for module in point.module.split("|")):
            return [f"module {point.module}"]
        owners = [
            made
            for module in point.module.split("|")
            for owner in point.owner.split("|")
            if (made := self._members(module, owner)) is not None
        ]
        if not owners:
            return [point.owner]
        prefix = f"{point.owner.strip('|')}." if point.owner else ""
        return [prefix + word for word in point.members.split() if not any(_has(made, word) for made in owners)]

    def _tree(self, module: str) -> ast.Module | None:
        if module not in self._trees:
            path = module.replace(".", "/")
            text = self._read(f"{path}.py") or self._read(f"{path}/__init__.py")
            self._trees[module] = ast.parse(text) if text else None
        return self._trees[module]

    def _members(self, module: str, owner: str, depth: int = 0) -> _Members | None:
        tree = self._tree(module)
        if tree is None or depth > _IMPORTS_MAX:
            return None
        if not owner:
            return self._of_module(module, tree)
        for node in _statements(tree.body):
            if isinstance(node, ast.ClassDef) and node.name == owner:
                return self._of_class(module, node, depth)
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == owner:
                        return self._members(self._imported_from(module, node), alias.name, depth + 1)
        return None

    def _of_module(self, module: str, tree: ast.Module) -> _Members:
        found: _Members = {}
        for node in _statements(tree.body):
            if isinstance(node, _FUNCTIONS):
                found[node.name] = _arguments(node)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    there = self._tree(self._imported_from(module, node))
                    made = [one for one in _statements(there.body if there else ()) if isinstance(one, _FUNCTIONS)]
                    found[alias.asname or alias.name] = next(
                        (_arguments(one) for one in made if one.name == alias.name), None
                    )
        return found

    def _of_class(self, module: str, node: ast.ClassDef, depth: int) -> _Members:
        found: _Members = {}
        for base in reversed(node.bases):
            if isinstance(base, ast.Name):
                found.update(self._members(module, base.id, depth + 1) or {})
        if any("dataclass" in ast.dump(decorator) for decorator in node.decorator_list):
            found["__init__"] = None
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                if isinstance(part.value, ast.Name) and part.value.id == "self":
                    found[part.attr] = None
        for part in _statements(node.body):
            if isinstance(part, _FUNCTIONS):
                found[part.name] = _arguments(part)[1:]
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                found[part.target.id] = None
            elif isinstance(part, ast.Assign):
                found.update({target.id: None for target in part.targets if isinstance(target, ast.Name)})
        return found

    def _imported_from(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        is_package = self._read(f"{module.replace('.', '/')}/__init__.py") is not None
        parts = module.split(".")
        parts = parts[: len(parts) - node.level + is_package]
        return ".".join([*parts, *([node.module] if node.module else [])])


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Also those below `if`, `try` and `with`."""
    for node in body:
        yield node
        if not isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            for name in "body", "orelse", "finalbody":
                yield from _statements(getattr(node, name, ()))
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [made.arg for made in (*node.args.posonlyargs, *node.args.args)]


def _has(members: _Members, word: str) -> bool:
    for one in word.split("|"):
        name, _, wanted = one.rstrip(")").partition("(")
        if name in members:
            first, found = wanted.split(",") if wanted else [], members[name]
            if found is None or found[: len(first)] == first:
                return True
    return False


def numbers_of(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3])


def look(engine: Engine, version: str, read: Reader) -> list[tuple[Point, list[str]]]:
    """The points of which something is missing, and what."""
    sources = Sources(read)
    points = [point for point in engine.points if numbers_of(version) >= numbers_of(point.since)]
    return [(point, gone) for point in points if (gone := sources.missing(point))]


# --- Installed engines ---


def _folder_of(engine: Engine) -> str | None:
    """Where Python would import it from."""
    try:
        spec = importlib.util.find_spec(engine.package)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        is_triton = os.path.exists(f"{_TRITON}/{engine.package}.py")
        return _TRITON if is_triton else None
    folder = os.path.dirname(spec.origin)
    return os.path.dirname(folder) if spec.submodule_search_locations else folder


def _version_of(engine: Engine, folder: str) -> str:
    for name in engine.distributions:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return (_read_below(folder)("../../TRITON_VERSION") or "").strip() if folder == _TRITON else ""


def _read_below(folder: str) -> Reader:
    def read(path: str) -> str | None:
        try:
            with open(os.path.join(folder, path), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None

    return read


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMES_MAX
    return ", ".join(names[:_NAMES_MAX]) + (f" and {more} more" if more > 0 else "")


def _findings(engine: Engine, folder: str) -> Iterator[tuple[str, str, str]]:
    """Severity, what was found, and what to do."""
    version = _version_of(engine, folder)
    title = f"{engine.name} {version}".rstrip()
    if not engine.points:
        yield "warning", f"{title} ({folder}): there are no hooks for it, so its requests have no spans", (
            "call cuspan.request() and cuspan.iteration() in the program"
        )
        return
    gone = look(engine, version, _read_below(folder))
    tested = ", ".join(engine.tested)
    if gone and engine.tested and all(numbers_of(version) < numbers_of(one) for one in engine.tested):
        names = [name for _, missing in gone for name in missing]
        yield "ok", f"{title} ({folder}) is too old for its hooks: it has no {_listed(names)}; tested: {tested}", ""
        return
    advice = f"use a version that was tested ({tested}), or report this" if tested else "report this"
    for lost in dict.fromkeys(point.lost for point, _ in gone):
        names = [name for point, missing in gone if point.lost == lost for name in missing]
        yield "warning", f"{title} ({folder}) has no {_listed(names)}; not traced: {lost}", advice
    if not is_on(engine):
        yield "warning", f"{title} ({folder}): its hooks are off, because they are untested", (
            f"set CUSPAN_ENGINES={engine.adapter} to try them"
        )
    elif not gone:
        is_tested = any(f"{version}.".startswith((f"{one}.", f"{one}+")) for one in engine.tested)
        others = "" if is_tested else f"; this version was not tested, {f'unlike {tested}' if tested else 'nor was another'}"
        yield "ok", f"{title} ({folder}): all hook points found{others}", ""


def main() -> None:
    if "" in sys.path:
        sys.path.remove("")  # the current folder is not the program's
    found = [line for engine in ENGINES if (folder := _folder_of(engine)) for line in _findings(engine, folder)]
    for line in found or [("ok", f"no serving engine is installed for {sys.executable}", "")]:
        print("\t".join(part.replace("\t", " ").replace("\n", " ") for part in line))
