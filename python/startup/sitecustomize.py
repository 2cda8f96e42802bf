"""Runs at the start of each Python program below `cuspan run`, which puts the archive with this file into PYTHONPATH. It
loads what follows training steps (cuspan_auto.py) if CUDA is going to load the agent, and then the sitecustomize that
the program would have without this one.

Any Python may read this file, also Python 2, so its syntax is that of all. An error here must not reach the program."""

import sys


def _load():
    import os

    if sys.version_info >= (3, 9) and "libcuspan.so" in os.environ.get("CUDA_INJECTION64_PATH", ""):
        import cuspan_auto  # noqa: F401


try:
    _load()
except Exception:
    pass
# The program's sys.path is as without cuspan. cuspan_auto knows the archive.
_archive = __file__.rpartition("/")[0]
sys.path[:] = [path for path in sys.path if path != _archive]
_self = sys.modules.pop(__name__)
try:
    import sitecustomize  # noqa: F401
except BaseException:
    # Usually there is none. Python's zipimport before 3.10 removes the module that fails, so it must be there.
    sys.modules[__name__] = _self
    raise  # as the program would get it without this file
