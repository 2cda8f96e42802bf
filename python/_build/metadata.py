"""The package's metadata, from python/pyproject.toml and, for the version, CMakeLists.txt."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]  # python/
SOURCE = PACKAGE.parent  # of a clone or an unpacked source archive


def version() -> str:
    """Of the clone. A copy of python/ alone has none."""
    lists = SOURCE / "CMakeLists.txt"
    found = re.search(r"project\(cuspan VERSION ([\d.]+)", lists.read_text()) if lists.is_file() else None
    return found.group(1) if found else "0+unknown"


def version_module() -> str:
    """cuspan/_version.py of a built package."""
    return f'"""The version of the package."""\n\nVERSION = "{version()}"\n'


def project() -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    table: dict[str, Any] = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    return table


def dist_info() -> str:
    return f"cuspan-{version()}.dist-info"


def _with_extra(requirement: str, extra: str) -> str:
    return f"{requirement}; extra == '{extra}'"


def core(licenses: list[str]) -> str:
    """The text of METADATA and PKG-INFO."""
    table = project()
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", table["name"]),
        ("Version", version()),
        ("Summary", table["description"]),
        ("License-Expression", table["license"]),
        *(("License-File", name) for name in licenses),
        ("Keywords", ",".join(table["keywords"])),
        *(("Classifier", name) for name in table["classifiers"]),
        ("Requires-Python", table["requires-python"]),
    ]
    for extra, requirements in sorted(table["optional-dependencies"].items()):
        fields.append(("Provides-Extra", extra))
        fields += (("Requires-Dist", _with_extra(name, extra)) for name in requirements)
    fields.append(("Description-Content-Type", "text/markdown"))
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return f"{head}\n{(PACKAGE / table['readme']).read_text()}"


def entry_points(has_command: bool) -> str:
    table = project()
    groups = dict(table["entry-points"])
    if has_command:
        groups["console_scripts"] = table["scripts"]
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in sorted(names.items()))
        for group, names in sorted(groups.items())
    )


def wheel(tag: str, pure: bool) -> str:
    return f"Wheel-Version: 1.0\nGenerator: cuspan {version()}\nRoot-Is-Purelib: {str(pure).lower()}\nTag: {tag}\n"
