"""The version. Where the package is built (wheels, python.zip), this file holds the number alone."""

from __future__ import annotations

import os
import re


def _of_clone() -> str:
    try:
        lists = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "CMakeLists.txt")
        with open(lists, encoding="utf-8") as file:
            found = re.search(r"project\(cuspan VERSION ([\d.]+)", file.read())
    except (OSError, ValueError):
        found = None
    return found.group(1) if found else "0+unknown"


VERSION = _of_clone()
