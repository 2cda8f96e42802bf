"""`cuspan fleet close`: hours without repeated spans, in fewer files.

The files of an hour and service are one folder, a partition. Its new content is made in a folder of its own beside
`spans`, and takes the place of the old one in one step, so readers and a kill at any moment find all of one or all of
the other."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from cuspan.fleet._answer import Answer
from cuspan.fleet._check import decoded, explain, first_line, import_duckdb, wrong_columns
from cuspan.fleet._engine_duckdb import connect
from cuspan.fleet._interrupt import interruptible
from cuspan.fleet._store import CLOSED, CLOSING, HOUR_NS, File, Problem, Store, literal_path

_FILE_BYTES = 64 << 20
_GROUP_ROWS = 122_880
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2
_OLD = ".old"  # of the name of a run's folder: the old partitions, where they cannot be exchanged
_NO_SERVICE = "__HIVE_DEFAULT_PARTITION__"
_DISTINCT_NUMBERS = ("span_id", "parent_id", "start_ns", "duration_ns", "correlation", "start_delay")
_COLUMNS = ["hour", "service", "spans", "removed", "files_before", "files_after"]


def _import_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Problem("this needs pyarrow, which is not installed; run: pip install 'pyarrow>=17'") from None
    return pyarrow


# --- files ---


def _finish(path: Path, like: Path) -> None:
    """On the disk, and readable by those who can read the other one."""
    shutil.copymode(like, path)
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_json(path: Path, content: dict[str, Any], like: Path) -> None:
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
    _finish(temporary, like)
    os.replace(temporary, path)


def _token_of(partition: Path) -> str | None:
    try:
        token = json.loads((partition / CLOSED).read_text(encoding="utf-8"))["token"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return token if isinstance(token, str) else None


def _exchange(one: Path, other: Path) -> bool:
    """In one step. False: this file system or C library cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    at_here = -100  # AT_FDCWD
    if renameat2(at_here, os.fsencode(one), at_here, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(one))


def _put_in_place(made: Path, live: Path) -> Path:
    """Returns the folder with the old content."""
    if _exchange(made, live):
        return made
    token_folder = made.parents[2]
    old = token_folder.with_name(f"{token_folder.name}{_OLD}") / made.relative_to(token_folder)
    old.parent.mkdir(parents=True, exist_ok=True)
    os.rename(live, old)  # readers use `made` now
    os.rename(made, live)
    return old


def _remove_old(old: Path, live: Path) -> None:
    """Files that others have put there since belong to the new folder."""
    used = set(json.loads((live / CLOSED).read_text(encoding="utf-8"))["replaced"])
    for path in old.iterdir():
        if path.name not in used and path.name != CLOSED and not path.name.startswith(f"{CLOSED}."):
            os.replace(path, live / path.name)
    shutil.rmtree(old)


def _recover(root: Path) -> None:
    """Completes or discards what a killed run has left."""
    folders = sorted(path for path in (root / CLOSING).glob("*") if path.is_dir())
    for token_folder in folders:
        token = token_folder.name.removesuffix(_OLD)
        for folder in sorted(token_folder.glob("date=*/hour=*/service=*")):
            live = root / "spans" / folder.relative_to(token_folder)
            if not live.exists() and _token_of(folder) == token:
                os.rename(folder, live)
            elif live.exists() and _token_of(live) == token:
                _remove_old(folder, live)
    for token_folder in folders:
        shutil.rmtree(token_folder)


@contextmanager
def _lock(root: Path) -> Iterator[None]:
    path = root / CLOSING
    try:
        path.mkdir(0o700, exist_ok=True)
        descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}; check the owner of the folder") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Problem(f"another cuspan fleet close works in {root}; wait for its end") from None
    finally:
        os.close(descriptor)


# --- partitions ---


class _Closer:
    def __init__(self, store: Store, connection: Any, pyarrow: Any) -> None:
        self._root = store.folder
        self._connection = connection
        self._pyarrow = pyarrow
        self._token = secrets.token_hex(8)

    def close(self, live: Path, files: list[File]) -> tuple[int, int, int]:
        """Returns the number of spans and files that are left, and of spans that were removed."""
        wrong = wrong_columns(self._connection, "spans", [file.path for file in files])
        if wrong:  # its columns would become those of the merged file
            raise Problem(f"cannot close {live}: {wrong}")
        made = self._root / CLOSING / self._token / live.relative_to(self._root / "spans")
        made.mkdir(parents=True)
        shutil.copymode(live, made)
        changed = self._find_repeated(files)
        for resource in sorted({file.resource for file in files}):
            self._rewrite(made, [file for file in files if file.resource == resource], changed)
        names = sorted(path.name for path in made.iterdir())
        (before,) = self._count(files)
        (after,) = self._count([str(made / name) for name in names]) if names else (0,)
        removed = sum(changed.values())
        if before != after + removed:
            raise Problem(f"cannot close {live}: {before} spans became {after}; nothing was changed")
        manifest = {
            "token": self._token,
            "files": names,
            "spans": after,
            "removed": removed,
            "replaced": [Path(file.path).name for file in files],
        }
        if names == sorted(Path(file.path).name for file in files) and not removed:
            _write_json(live / CLOSED, manifest, Path(files[0].path))
            shutil.rmtree(made)
            return after, len(names), 0
        _write_json(made / CLOSED, manifest, Path(files[0].path))
        _sync(made)
        _remove_old(_put_in_place(made, live), live)
        _sync(live.parent)
        return after, len(names), removed

    def _count(self, files: list[Any]) -> tuple[int]:
        paths = [literal_path(file.path if isinstance(file, File) else file) for file in files]
        row: tuple[int] = self._connection.execute(
            "SELECT count(*) FROM read_parquet($files, hive_partitioning = false)", {"files": paths}
        ).fetchone()
        return row

    def _find_repeated(self, files: list[File]) -> dict[str, int]:
        """Fills the table `dropped` with the places of repeated spans, of which the first one stays. Returns their
        number for each file that has some."""
        paths = {"files": [literal_path(file.path) for file in files]}
        self._connection.execute("DROP TABLE IF EXISTS dropped")
        self._connection.execute(
            """CREATE TEMP TABLE dropped AS
            WITH repeated AS (
                SELECT trace_id, span_id FROM read_parquet($files, hive_partitioning = false)
                GROUP BY trace_id, span_id HAVING count(*) > 1
            )
            SELECT filename, file_row_number FROM (
                SELECT trace_id, span_id, filename, file_row_number,
                    row_number() OVER (PARTITION BY trace_id, span_id ORDER BY filename, file_row_number) AS number
                FROM read_parquet($files, hive_partitioning = false, filename = true, file_row_number = true)
                    JOIN repeated USING (trace_id, span_id)
            ) WHERE number > 1""",
            paths,
        )
        found = self._connection.execute("SELECT filename, count(*) FROM dropped GROUP BY filename").fetchall()
        return dict(found)

    def _rewrite(self, made: Path, files: list[File], changed: dict[str, int]) -> None:
        """The files of one resource. Small files become one."""
        group: list[File] = []
        size = 0
        for file in [*files, None]:
            if file is None or (group and size + file.size > _FILE_BYTES):
                if len(group) == 1 and group[0].path not in changed:
                    _link(Path(group[0].path), made)
                elif group:
                    self._merge(made, group)
                group, size = [], 0
            if file is not None:
                group.append(file)
                size += file.size

    def _open(self, path: str) -> Any:
        try:
            return self._pyarrow.parquet.ParquetFile(path)
        except (OSError, self._pyarrow.ArrowException) as error:
            raise Problem(f"cannot read {path}: {first_line(error)}; export its spans again, or delete it") from None

    def _merge(self, made: Path, files: list[File]) -> None:
        """The rows are in order of their start. A new file begins where one has reached its size."""
        parquet = self._pyarrow.parquet
        sources = [self._open(file.path) for file in files]
        source = max(sources, key=lambda each: len(each.schema_arrow))  # a newer release has more columns
        schema, pairs = source.schema_arrow, source.metadata.metadata or {}
        for each in sources:
            each.close()
        names = ", ".join(f'"{name}"' for name in schema.names)
        hashed = hashlib.sha256(
            "\n".join(file.path for file in files).encode("utf-8", "surrogateescape") + self._token.encode()
        )
        reader = self._connection.sql(
            f"""SELECT {names}
            FROM read_parquet($files, hive_partitioning = false, union_by_name = true, filename = true,
                    file_row_number = true)
                ANTI JOIN dropped USING (filename, file_row_number) ORDER BY start_ns, trace_id, span_id""",
            params={"files": [literal_path(file.path) for file in files]},
        ).to_arrow_reader(_GROUP_ROWS)
        writer: Any = None
        path = made
        part = 0
        for batch in reader:
            if not batch.num_rows:
                continue
            if writer is None:
                path = made / f"{files[0].resource}-{hashed.hexdigest()[:13]}{part:03x}.parquet"
                writer = parquet.ParquetWriter(path, schema, **_options(schema))
                writer.add_key_value_metadata({_text(key): _text(value) for key, value in pairs.items()})
                part += 1
            table = self._pyarrow.Table.from_batches([batch]).cast(schema)
            writer.write_table(table, row_group_size=_GROUP_ROWS)
            if path.stat().st_size >= _FILE_BYTES:
                writer.close()
                _finish(path, Path(files[0].path))
                writer = None
        if writer is not None:
            writer.close()
            _finish(path, Path(files[0].path))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")


def _options(schema: Any) -> dict[str, Any]:
    """As cuspan export writes: differences of numbers that are nearly all distinct, dictionaries for others."""
    return {
        "compression": "zstd",
        "store_schema": False,
        "use_dictionary": [f"{name}.key_value.{part}" for name in ["attributes"] for part in ("key", "value")]
        + [name for name in schema.names if name not in _DISTINCT_NUMBERS and name != "attributes"],
        "column_encoding": {name: "DELTA_BINARY_PACKED" for name in _DISTINCT_NUMBERS if name in schema.names},
    }


def _link(path: Path, folder: Path) -> None:
    try:
        os.link(path, folder / path.name)
    except OSError:  # a file system without links
        shutil.copy2(path, folder / path.name)
        _sync(folder / path.name)


def _row(live: Path, before: int, result: tuple[int, int, int]) -> tuple[Any, ...]:
    date, hour, service = (part.split("=", 1)[1] for part in live.parts[-3:])
    spans, files, removed = result
    name = None if service == _NO_SERVICE else unquote(service)
    return f"{date} {hour}:00", name, spans, removed, before, files


def close(folder: str | Path, before_ns: int, *, memory_limit: str = "1GB", threads: int | None = None) -> Answer:
    """Closes the hours that ended by then. The answer has a row for each hour and service that was open."""
    store = Store(folder)
    duckdb, pyarrow = import_duckdb(), _import_pyarrow()
    with _lock(store.folder), tempfile.TemporaryDirectory(prefix="cuspan-fleet-") as spill:
        _recover(store.folder)
        connection = connect(spill, memory_limit, threads)
        closer = _Closer(store, connection, pyarrow)
        partitions: dict[str, list[File]] = {}
        for file in store.open_files(store.files(None, before_ns - HOUR_NS + 1)):
            partitions.setdefault(file.partition, []).append(file)
        rows = []
        try:
            for partition, files in sorted(partitions.items()):
                work = functools.partial(closer.close, Path(partition), files)
                with decoded():
                    rows.append(_row(Path(partition), len(files), interruptible(work, connection.interrupt)))
        except (duckdb.Error, pyarrow.ArrowException, ValueError) as error:  # pyarrow raises the last one, too
            paths = {"spans": [file.path for file in files]}
            with closing(connect(spill, memory_limit, threads)) as other:
                explained = functools.partial(explain, other, error, paths)
                raise Problem(f"cannot close {partition}: {interruptible(explained, other.interrupt)}") from error
        except OSError as error:
            reason = error.strerror or first_line(error)
            raise Problem(
                f"cannot close {partition}: {reason}; check free space and the owner of the folder"
            ) from error
        finally:
            connection.close()
            _recover(store.folder)
    removed, spans = (sum(row[i] for row in rows) for i in (3, 2))
    notes = [f"{removed} of {removed + spans} spans were repeated and are removed."] if rows else ["No hour was open."]
    return Answer("close", "Closed hours", list(_COLUMNS), rows, notes)
