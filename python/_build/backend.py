"""The build backend (PEP 517, PEP 660).

In python/ of a clone, it makes a wheel of the Python files alone. In the source archive, it builds the agent and the
command line with CMake, and makes a wheel with them. CMAKE_ARGS has further options of CMake."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import metadata  # noqa: E402
import package  # noqa: E402

_Settings = Any


def _builds_native() -> bool:
    """The folder that is built: the frontend's working directory."""
    return Path("CMakeLists.txt").is_file()


def get_requires_for_build_wheel(_settings: _Settings = None) -> list[str]:
    if not _builds_native():
        return []
    return [name for name, command in (("cmake>=3.22", "cmake"), ("ninja", "ninja")) if not shutil.which(command)]


def _check_system() -> None:
    """pip tries the source archive where no wheel fits: say why it cannot work either, instead of a compiler."""
    try:
        has_glibc = sys.platform == "linux" and (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (OSError, ValueError):
        has_glibc = False
    if not has_glibc:
        sys.exit("cuspan: only Linux with glibc is supported; musl (as in Alpine), macOS and Windows are not")


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(
            f"cuspan: {command[0]} failed; the packages that the build needs are in docs/install.md of the repository"
        )


def _build(work: Path) -> Path:
    """Builds cuspan and returns the prefix with its files."""
    build, stage = work / "build", work / "stage"
    options = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCUSPAN_BUILD_TESTS=OFF"]
    options += shlex.split(os.environ.get("CMAKE_ARGS", ""))
    _run("cmake", "-S", metadata.SOURCE, "-B", build, "-G", "Ninja", *options)
    _run("cmake", "--build", build)
    _run("cmake", "--install", build, "--strip", "--prefix", stage)
    return stage


def build_wheel(wheel_directory: str, _settings: _Settings = None, _metadata_directory: str | None = None) -> str:
    out = Path(wheel_directory)
    if not _builds_native():
        return package.pure_wheel(out).name
    _check_system()
    with tempfile.TemporaryDirectory(prefix="cuspan-build-") as work:
        return package.native_wheel(out, _build(Path(work)), os.uname().machine, max_glibc=None).name


def build_editable(wheel_directory: str, _settings: _Settings = None, _metadata_directory: str | None = None) -> str:
    return package.editable_wheel(Path(wheel_directory)).name


def build_sdist(sdist_directory: str, _settings: _Settings = None) -> str:
    return package.source_archive(Path(sdist_directory)).name
