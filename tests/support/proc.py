"""Descriptors and threads of a running process, from /proc: some may end while they are read."""

import contextlib
import os
from pathlib import Path


def descriptors(pid):
    """The file of each open descriptor, by its number; without those that were closed meanwhile."""
    found = {}
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found[int(link.name)] = os.readlink(link)
    return found


def threads(pid):
    """The name of each thread, by its ID; without those that ended meanwhile."""
    names = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            names[int(task.name)] = (task / "comm").read_text().strip()
    return names
