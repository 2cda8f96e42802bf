"""The files of the agent and the command line in this package. A package built from python/ of a clone has none."""

from __future__ import annotations

import os

from cuspan import _guard

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")
PROGRAM = os.path.join(_FOLDER, "bin", "cuspan")
LIBRARY = os.path.join(_FOLDER, "lib", "cuspan", "libcuspan.so")


@_guard.guarded()
def library() -> str | None:
    """The path of this package's agent, for CUDA_INJECTION64_PATH. None if the package has only Python files."""
    return LIBRARY if os.path.isfile(LIBRARY) else None
