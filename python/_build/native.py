"""The native parts of a wheel: which files, and what they need of a machine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from archive import Entry

WHEEL_BYTES_MAX = 4_150_000
LIBRARIES = (
    "libcuspan.so",
    "libcuspan-export.so",
    "libcuspan-share.so",
    "libcuspan-thread-ctx.so",
    "libcuspan-replay.so",
    "libcuspan-replay-classic.so",
)
STARTUP = "lib/cuspan/python.zip"  # absent if the build had no Python
# Libraries of every glibc system. The loader's name differs by architecture.
_SYSTEM = re.compile(r"(libc|libm|libgcc_s|libstdc\+\+)\.so\.\d|lib(dl|pthread|rt)\.so\.\d|ld-linux-[\w-]+\.so\.\d")
_MACHINES = {"x86_64": "X86-64", "aarch64": "AArch64"}
_GLIBC_MIN = (2, 17)  # older ones have other tags


class Unfit(Exception):
    """These files cannot be in a wheel."""


def _readelf(option: str, path: Path) -> str:
    done = subprocess.run(
        ["readelf", "-W", option, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    if done.returncode:
        raise Unfit(f"{path} is not a library or program: {done.stderr.strip()}")
    return done.stdout


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


class Parts:
    def __init__(self, stage: Path, machine: str) -> None:
        if machine not in _MACHINES:
            raise Unfit(f"no wheel for {machine}: only {', '.join(_MACHINES)}")
        self.stage, self.machine = stage, machine
        self.glibc: tuple[int, ...] = _GLIBC_MIN
        self.foreign: set[str] = set()  # libraries that not every glibc system has
        for path in self._binaries():
            self._examine(path)

    def _binaries(self) -> list[Path]:
        paths = [self.stage / "bin/cuspan", *(self.stage / "lib/cuspan" / name for name in LIBRARIES)]
        missing = [str(path) for path in paths if not path.is_file()]
        if missing:
            raise Unfit(f"{', '.join(missing)}: missing; install a build there (cmake --install build --prefix)")
        return paths

    def _examine(self, path: Path) -> None:
        if _MACHINES[self.machine] not in _readelf("--file-header", path):
            raise Unfit(f"{path} is not for {self.machine}")
        dynamic = _readelf("--dynamic", path)
        if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
            raise Unfit(f"{path} has an RPATH")
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        self.foreign.update(name for name in needed if not _SYSTEM.fullmatch(name))
        versions = _readelf("--version-info", path)
        for version in re.findall(r"Name: GLIBC_(\d+(?:\.\d+)+)", versions):
            self.glibc = max(self.glibc, tuple(map(int, version.split("."))))
        if "GLIBC_ABI_DT_RELR" in versions:  # packed relocations, which have a name instead of a number
            self.glibc = max(self.glibc, (2, 36))

    def platform(self, max_glibc: str | None) -> str:
        """The platform tag."""
        if self.foreign:
            if max_glibc:
                raise Unfit(
                    f"needs {', '.join(sorted(self.foreign))}, which not every system has: link them statically"
                )
            return f"linux_{self.machine}"
        if max_glibc and self.glibc > tuple(map(int, max_glibc.split("."))):
            raise Unfit(f"needs glibc {_text(self.glibc)}, but at most {max_glibc} is allowed (--max-glibc)")
        return f"manylinux_{self.glibc[0]}_{self.glibc[1]}_{self.machine}"

    def module(self) -> str:
        """cuspan/_wheel.py, by which the command explains why it cannot run."""
        return f'"""What the native parts need."""\n\nGLIBC = "{_text(self.glibc)}"\nMACHINE = "{self.machine}"\n'

    def entries(self) -> list[Entry]:
        to = "cuspan/native"
        found = [Entry(f"{to}/bin/cuspan", self.stage / "bin/cuspan", executable=True)]
        found += (Entry(f"{to}/lib/cuspan/{name}", self.stage / "lib/cuspan" / name, True) for name in LIBRARIES)
        startup = [self.stage / STARTUP] if (self.stage / STARTUP).is_file() else []
        share = self.stage / "share/cuspan"
        kept = (path for path in share.rglob("*") if path.is_file() and "slurm" not in path.parts)  # for administrators
        others = [self.stage / "include/cuspan/cuspan.h", *startup, *kept]
        found += (Entry(f"{to}/{path.relative_to(self.stage)}", path) for path in others)
        return found
