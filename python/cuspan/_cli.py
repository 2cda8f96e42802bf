"""The command `cuspan` of the wheel. It runs the native program in its own place, or says in one line why not. Only
`cuspan fleet` is Python."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import NoReturn

from cuspan import _native

_CANNOT_RUN = 126  # as in a shell
_MACHINES = {62: "x86_64", 183: "aarch64"}  # by their number in ELF files


def _fail(reason: str) -> NoReturn:
    print(f"cuspan: {reason}", file=sys.stderr)
    sys.exit(_CANNOT_RUN)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _glibc() -> str | None:
    """The version of this process's glibc; None: another C library."""
    try:
        name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    except (AttributeError, OSError, ValueError):
        return None
    return version if name == "glibc" else None


def _needed_glibc() -> str:
    try:
        from cuspan._wheel import GLIBC  # written when the wheel is made
    except ImportError:
        return "0"
    return str(GLIBC)


def _check_machine() -> None:
    """The dynamic loader would report an older glibc in one line per symbol version, and without advice."""
    needed, found = _needed_glibc(), _glibc()
    if found is None:
        _fail(
            f"this system has no glibc (musl, as in Alpine, is unsupported); use an image with glibc {needed} or later"
        )
    if _version(found) < _version(needed):
        _fail(
            f"needs glibc {needed} or later, but this system has {found}; upgrade it, or build cuspan here: "
            "pip install --no-binary cuspan cuspan"
        )


def _machine_of(path: str) -> str:
    with open(path, "rb") as file:
        header = file.read(20)
    number = int.from_bytes(header[18:20], "little")
    return _MACHINES.get(number, f"another machine ({number})")


def _explain(error: OSError) -> str:
    program = _native.PROGRAM
    if error.errno == errno.ENOEXEC:
        return (
            f"{program} is for {_machine_of(program)}, and this machine is {os.uname().machine}; "
            "install again here: pip install --force-reinstall cuspan"
        )
    if error.errno == errno.ENOENT and os.path.exists(program):
        return (
            f"cannot run {program}: this system lacks the dynamic loader of glibc; use an image with glibc "
            f"{_needed_glibc()} or later"
        )
    if error.errno == errno.EACCES:
        return (
            f"cannot run {program}: {error.strerror}; check that its file system is not mounted noexec, "
            "then chmod +x it or install again"
        )
    return f"cannot run {program}: {error.strerror}; install again: pip install --force-reinstall cuspan"


def main() -> NoReturn:
    arguments = sys.argv[1:]
    if arguments[:2] == ["help", "fleet"]:
        arguments = ["fleet", "--help"]
    if arguments[:1] == ["fleet"]:  # in Python, because DuckDB is
        from cuspan.fleet.__main__ import main as fleet

        sys.exit(fleet(arguments[1:]))
    if _native.library() is None:
        _fail(
            "this package has only Python files, because it was built from python/; install the wheel: "
            "pip install cuspan"
        )
    _check_machine()
    # Python ignores these two, and a program would inherit that.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    own_name = sys.argv[0] if os.path.basename(sys.argv[0]) == "cuspan" else "cuspan"
    try:
        os.execv(_native.PROGRAM, [own_name, *sys.argv[1:]])
    except OSError as error:
        _fail(_explain(error))
