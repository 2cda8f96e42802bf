"""The files of an export (docs/fleet-schema.md)."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from cuspan.fleet._columns import VERSION

CLOSED = "_closed.json"  # in the folder of an hour and service: the names of its files without repeated spans
CLOSING = "closing"  # the folder of cuspan fleet close, beside spans
HOUR_NS = 3600 * 10**9
_GLOB = re.compile(r"[*?\[]")


class Problem(Exception):
    """Its text names the failure and the remedy in one line."""


@dataclass(frozen=True)
class Filters:
    """Which spans count. Times are nanoseconds since 1970; `until` is exclusive."""

    since: int | None = None
    until: int | None = None
    service: str | None = None
    job: str | None = None
    host: str | None = None
    gpu: str | None = None
    rank: int | None = None
    release: str | None = None  # service.version

    def values(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class File:
    path: str
    resource: str  # 16 hexadecimal digits
    hour: int  # its start, in ns
    size: int

    @property
    def partition(self) -> str:
        """The folder of its hour and service."""
        return str(Path(self.path).parent)


def _hour_of(path: Path) -> int:
    """Of spans/date=2026-11-26/hour=03/service=NAME/FILE."""
    date, hour = path.parts[-4], path.parts[-3]
    try:
        day = datetime.strptime(date, "date=%Y-%m-%d").replace(tzinfo=timezone.utc)
        return int((day + timedelta(hours=int(hour[len("hour=") :]))).timestamp()) * 10**9
    except ValueError:
        raise Problem(f"{path} is not in a folder of a date and an hour; export into an empty folder") from None


def literal_path(path: str) -> str:
    """A pattern that matches this path only: the engine expands patterns in every path."""
    return _GLOB.sub(lambda found: f"[{found.group()}]", path)


def closed_names(partition: Path) -> set[str]:
    """The files that had no repeated spans when the partition was closed."""
    try:
        return set(json.loads((partition / CLOSED).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _size_of(path: Path) -> int:
    try:
        status = path.stat()
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}; export its spans again, or delete it") from None
    if not stat.S_ISREG(status.st_mode):  # the engine would wait for a pipe's writer
        raise Problem(f"{path} is not a file; delete it")
    return status.st_size


class Store:
    """A folder that `cuspan export` wrote."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        description = self.folder / "cuspan-schema.json"
        try:
            version = json.loads(description.read_text(encoding="utf-8"))["version"]
        except OSError as error:
            raise Problem(
                f"cannot read {description}: {error.strerror}; name the folder of: cuspan export -o FOLDER FILE..."
            ) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Problem(f"{description} has no version of a schema; export again into an empty folder") from None
        if version != VERSION:
            raise Problem(
                f"{self.folder} has version {version} of the schema, and this cuspan reads version {VERSION}; "
                "install the release that wrote it, or export again"
            )

    def _paths(self) -> Iterable[Path]:
        """A killed cuspan fleet close can have left a partition in its own folder, on file systems that cannot exchange
        folders."""
        yield from (self.folder / "spans").rglob("*.parquet")
        for partition in (self.folder / CLOSING).glob("*/date=*/hour=*/service=*"):
            if (
                not partition.parts[-4].endswith(".old")
                and not (self.folder / "spans" / Path(*partition.parts[-3:])).exists()
            ):
                yield from partition.glob("*.parquet")

    def files(self, since: int | None = None, until: int | None = None) -> list[File]:
        """Those that can have spans of the range, in order of resource and time."""
        found = []
        for path in self._paths():
            hour = _hour_of(path)
            if (until is None or hour < until) and (since is None or hour + HOUR_NS > since):
                found.append(File(str(path), path.name[:16], hour, _size_of(path)))
        return sorted(found, key=lambda file: (file.resource, file.hour, file.path))

    def open_files(self, files: Sequence[File]) -> list[File]:
        """Those of partitions that cuspan fleet close has not closed, or that have got new files since."""
        by_partition: dict[str, list[File]] = {}
        for file in files:
            by_partition.setdefault(file.partition, []).append(file)
        return [
            file
            for partition, group in by_partition.items()
            if not {Path(file.path).name for file in group} <= closed_names(Path(partition))
            for file in group
        ]

    def resource_files(self) -> list[str]:
        found = sorted((self.folder / "resources").glob("*.parquet"))
        for path in found:
            _size_of(path)
        return [str(path) for path in found]


def batches(files: Sequence[File], most_bytes: int, each: str) -> Iterable[list[File]]:
    """All files of a "resource" or "partition" are in one batch."""
    keys = {"resource": lambda file: file.resource, "partition": lambda file: file.partition}
    key = keys[each]
    batch: list[File] = []
    size = 0
    for file in sorted(files, key=key):  # stable
        if batch and size >= most_bytes and key(file) != key(batch[-1]):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch
