"""Paths for LD_PRELOAD, which takes no path with a space or a colon."""

import tempfile
from pathlib import Path

_folder = None  # removed when this process ends


def preloadable(library):
    """The path of a link to the library, in a private folder."""
    global _folder
    _folder = _folder or tempfile.TemporaryDirectory(prefix="preload-", dir="/tmp")  # $TMPDIR may have a space
    link = Path(_folder.name) / Path(library).name
    if not link.is_symlink():
        link.symlink_to(Path(library).resolve())
    return str(link)
