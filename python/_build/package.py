"""Makes cuspan's wheels and its source archive. tools/release/wheel.py and the build backend call it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import metadata
import native
from archive import Entry, timestamp, write_source, write_wheel

_LICENSE = metadata.SOURCE / "LICENSE"
# Everything that building needs: not the tests, and not what only the pages use.
_SOURCES = (
    "CMakeLists.txt",
    "CMakePresets.json",
    "LICENSE",
    "README.md",
    "cmake",
    "config",
    "include",
    "python",
    "src",
    "tools",
)
_BACKEND = """[build-system]
requires = ["tomli; python_version < '3.11'"]
build-backend = "backend"
backend-path = ["python/_build"]
"""


def _python_files() -> list[Entry]:
    folder = metadata.PACKAGE / "cuspan"
    fleet = folder / "fleet"
    paths = [*folder.glob("*.py"), folder / "py.typed", *fleet.glob("*.py"), *fleet.glob("*.json")]
    paths += fleet.glob("questions/*.sql")
    found = [Entry(str(path.relative_to(metadata.PACKAGE)), path) for path in paths if path.name != "_version.py"]
    return [*found, Entry("cuspan/_version.py", metadata.version_module())]


def _write(out: Path, tag: str, entries: list[Entry], pure: bool) -> Path:
    info = metadata.dist_info()
    licenses = [_LICENSE.name] if _LICENSE.is_file() else []
    entries = [
        *entries,
        Entry(f"{info}/METADATA", metadata.core(licenses)),
        Entry(f"{info}/WHEEL", metadata.wheel(tag, pure)),
        Entry(f"{info}/entry_points.txt", metadata.entry_points(has_command=not pure)),
        *(Entry(f"{info}/licenses/{name}", _LICENSE) for name in licenses),
    ]
    path = out / f"cuspan-{metadata.version()}-{tag}.whl"
    out.mkdir(parents=True, exist_ok=True)
    write_wheel(path, entries, info, timestamp(metadata.SOURCE))
    return path


def pure_wheel(out: Path) -> Path:
    """Without the native parts, for python/ of a clone."""
    return _write(out, "py3-none-any", _python_files(), pure=True)


def editable_wheel(out: Path) -> Path:
    return _write(out, "py3-none-any", [Entry("cuspan.pth", f"{metadata.PACKAGE}\n")], pure=True)


def native_wheel(out: Path, stage: Path, machine: str, max_glibc: str | None) -> Path:
    """With the files of `stage`, an installation prefix. `max_glibc`: fail if they need a later one; None: any, and
    they may also need libraries of this distribution."""
    parts = native.Parts(stage, machine)
    tag = f"py3-none-{parts.platform(max_glibc)}"
    entries = [*_python_files(), Entry("cuspan/_wheel.py", parts.module()), *parts.entries()]
    path = _write(out, tag, entries, pure=False)
    size = path.stat().st_size
    if size > native.WHEEL_BYTES_MAX and max_glibc:
        path.unlink()
        raise native.Unfit(
            f"the wheel has {size} bytes, more than {native.WHEEL_BYTES_MAX}: strip the files of {stage}"
        )
    return path


def _source_files() -> list[str]:
    """In a clone, what git knows or would add; elsewhere, everything."""
    if (metadata.SOURCE / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *_SOURCES]
        listed = subprocess.run(command, cwd=metadata.SOURCE, stdout=subprocess.PIPE, text=True, check=True).stdout
        return [name for name in listed.split("\0") if name and (metadata.SOURCE / name).is_file()]
    found = []
    for name in _SOURCES:
        top = metadata.SOURCE / name
        files = [top] if top.is_file() else [path for path in top.rglob("*") if path.is_file()]
        found += [str(path.relative_to(metadata.SOURCE)) for path in files if "__pycache__" not in path.parts]
    return found


def source_archive(out: Path) -> Path:
    root = f"cuspan-{metadata.version()}"
    entries = [Entry("PKG-INFO", metadata.core([_LICENSE.name])), Entry("pyproject.toml", _BACKEND)]
    for name in _source_files():
        path = metadata.SOURCE / name
        entries.append(Entry(name, path, executable=bool(path.stat().st_mode & 0o100)))
    path = out / f"{root}.tar.gz"
    out.mkdir(parents=True, exist_ok=True)
    write_source(path, entries, root, timestamp(metadata.SOURCE))
    return path
