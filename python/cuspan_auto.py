"""Finds the steps of a training loop whose program does not import cuspan. The
sitecustomize of python.zip, which `cuspan run` puts into PYTHONPATH, loads this at the start of Python if CUDA is going
to load the agent. It imports nothing until the program imports PyTorch, or a model of Triton its utilities.

An error here must not reach the program."""

import sys


_NAMES = ("torch", "triton_python_backend_utils")


class _Watch:
    """In sys.meta_path: finds nothing itself. The import of a module begins with its own spec."""

    def __init__(self) -> None:
        self._is_done = False

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name not in _NAMES or self._is_done:
            return None
        self._is_done = True
        try:
            return _load_and_find(name, path, target)
        except Exception:
            return None


def _import_agent():  # type: ignore[no-untyped-def]
    """The package of the program's environment, or else the one beside this file, which may be in an archive that
    is not in sys.path."""
    try:
        from cuspan import _agent
    except ModuleNotFoundError as error:
        if error.name != "cuspan":
            raise
        beside = __file__.rpartition("/")[0]
        sys.path.append(beside)
        try:
            from cuspan import _agent
        finally:
            sys.path.remove(beside)
    return _agent


def _load() -> None:
    try:
        _import_agent().look_now()  # its hooks wait for the end of this import
    except Exception as error:
        if sys.stderr is not None:  # else print() would write to standard output
            print(f"cuspan: cannot follow the steps of this program: {error!r}", file=sys.stderr)


def _load_and_find(name, path, target):  # type: ignore[no-untyped-def]
    """The import system has passed the place in sys.meta_path where the package's own finder now is."""
    _load()
    imports = sys.modules.get("cuspan._imports")
    return imports.finder.find_spec(name, path, target) if imports else None


def install() -> None:
    if any(name in sys.modules for name in _NAMES):
        _load()
    else:
        sys.meta_path.insert(0, _Watch())  # type: ignore[arg-type]


try:
    install()
except Exception:
    pass
