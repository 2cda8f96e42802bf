"""Writes wheels and source archives with the same bytes each time: sorted entries, fixed owners, modes and times."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

ZIP_STARTS = 315532800  # 1980-01-01, the first time that a zip file can hold


def timestamp(source: Path) -> int:
    """The time of all entries: SOURCE_DATE_EPOCH, or that of the last commit of the clone."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not told and (source / ".git").exists():
        command = ["git", "-C", str(source), "log", "-1", "--format=%ct"]
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    return max(int(told or 0), ZIP_STARTS)


class Entry:
    """A file of an archive: its text, or the file with its bytes."""

    def __init__(self, name: str, content: str | Path, executable: bool = False) -> None:
        self.name = name
        self.executable = executable
        self._content = content

    def read(self) -> bytes:
        return self._content.encode() if isinstance(self._content, str) else self._content.read_bytes()


def _record_line(entry: Entry) -> str:
    data = entry.read()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{entry.name},sha256={digest},{len(data)}\n"


def write_wheel(path: Path, entries: list[Entry], dist_info: str, when: int) -> None:
    """`entries` are all files of the wheel except RECORD. Those of dist-info come last, as the format recommends."""
    ordered = sorted(entries, key=lambda entry: (entry.name.startswith(dist_info), entry.name))
    record = "".join(map(_record_line, ordered)) + f"{dist_info}/RECORD,,\n"
    write_zip(path, [*ordered, Entry(f"{dist_info}/RECORD", record)], when)


def write_zip(path: Path, entries: list[Entry], when: int) -> None:
    """In the order given."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, time.gmtime(when)[:6])
            info.create_system = 3  # Unix, or the modes would be ignored
            info.external_attr = (0o100755 if entry.executable else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.read(), compresslevel=9)


def write_source(path: Path, entries: list[Entry], root: str, when: int) -> None:
    """A .tar.gz whose entries are all below the folder `root`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in sorted(entries, key=lambda entry: entry.name):
            data = entry.read()
            info = tarfile.TarInfo(f"{root}/{entry.name}")
            info.size, info.mtime = len(data), when
            info.mode = 0o755 if entry.executable else 0o644
            archive.addfile(info, io.BytesIO(data))
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=when) as compressed:
        compressed.write(packed.getvalue())
