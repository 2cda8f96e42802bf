"""DuckDB as the engine: reads the files of a folder."""

from __future__ import annotations

import contextlib
import functools
import re
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from cuspan.fleet import _check
from cuspan.fleet._check import decoded, execute, fetch, first_line, import_duckdb, is_about_columns
from cuspan.fleet._columns import COLUMNS
from cuspan.fleet._interrupt import interruptible
from cuspan.fleet._progress import Progress
from cuspan.fleet._sql import DUCKDB
from cuspan.fleet._store import HOUR_NS, File, Filters, Problem, Store, batches, literal_path

_BATCH_BYTES = 64 << 20
_RETRIES = 5
_PARTS_AT_A_TIME = 2  # because steps of a query that need the order of rows have one thread
_LONGEST_SESSION_NS = 24 * HOUR_NS

COUNTED_BYTES = 16 << 20  # of the files in which repeated spans are counted for each answer: less than a million spans

Result = TypeVar("Result")
Rows = tuple[list[str], list[tuple[Any, ...]]]


def connect(spill: str, memory_limit: str, threads: int | None) -> Any:
    duckdb = import_duckdb()
    config = {
        "memory_limit": memory_limit,
        "temp_directory": spill,
        "autoinstall_known_extensions": "false",  # nothing is fetched from the network
        "autoload_known_extensions": "false",
    }
    if threads:
        config["threads"] = str(threads)
    try:
        connection = duckdb.connect(config=config)
    except duckdb.Error as error:
        raise Problem(f"DuckDB does not start: {first_line(error)}; see --memory and --threads") from error
    return quiet(connection)


def quiet(connection: Any) -> Any:
    """Each cursor has these settings of its own. DuckDB measures progress only with a bar, which an interactive Python
    and `python -c` would print to standard output."""
    connection.execute("SET enable_progress_bar_print = false")
    connection.execute("SET enable_progress_bar = true")
    return connection


class DuckDB:
    """The files of one folder."""

    dialect = DUCKDB

    def __init__(self, folder: str | Path, memory_limit: str, threads: int | None) -> None:
        self.store = Store(folder)
        self._duckdb = import_duckdb()
        # The engine writes here what does not fit into memory.
        self._spill = tempfile.TemporaryDirectory(prefix="cuspan-fleet-")
        self._connect = functools.partial(connect, self._spill.name, memory_limit, threads)
        try:
            self._connection = self._connect()
        except Problem:
            self._spill.cleanup()
            raise
        self.counted_bytes = COUNTED_BYTES
        self.batch_bytes = _BATCH_BYTES
        self.progress = Progress(self._percent)
        self._running: list[Any] = []  # connections with a query
        self._parts = self._parts_done = 0
        self._is_interrupted = False

    def interruptible(self, work: Callable[[], Result]) -> Result:
        self._is_interrupted = False
        return interruptible(work, self._interrupt)

    def _interrupt(self) -> None:
        self._is_interrupted = True
        for connection in (self._connection, *list(self._running)):
            connection.interrupt()

    def close(self) -> None:
        self._connection.close()
        self._spill.cleanup()

    def has_spans(self, filters: Filters) -> bool:
        return bool(self.store.files(filters.since, filters.until))

    def answer(self, text: str, values: dict[str, Any], filters: Filters, each: str) -> Rows:
        """The rows of a query. `each`: rows of one "resource" or "partition" need no other, so a part of the files at a
        time takes less memory; "" if they do."""
        is_mixed = False
        for _ in range(_RETRIES):
            files = self.store.files(filters.since, filters.until)
            try:
                return self._answer(text, values, filters, files, each, is_mixed)
            except self._duckdb.Error as error:
                if all(Path(file.path).exists() for file in files):  # else cuspan fleet close has replaced them
                    if is_mixed or not self._is_mixed(error):
                        raise
                    is_mixed = True
        raise Problem(f"the files in {self.store.folder} change all the time; ask again later")

    def _answer(
        self,
        text: str,
        values: dict[str, Any],
        filters: Filters,
        files: list[File],
        each: str,
        is_mixed: bool,
    ) -> Rows:
        parts = list(batches(files, self.batch_bytes, each)) if each else [files]
        all_values = [{**values, **self._files(part, filters, is_mixed)} for part in parts]
        columns: list[str] = []
        rows: list[tuple[Any, ...]] = []
        self._parts, self._parts_done = len(parts), 0
        with self.progress, ThreadPoolExecutor(_PARTS_AT_A_TIME) as pool:
            for names, found in pool.map(functools.partial(self._rows, text), all_values):
                columns = names
                rows += found
                self._parts_done += 1
        return columns, rows

    def _rows(self, text: str, values: dict[str, Any]) -> Rows:
        cursor = quiet(self._connection.cursor())
        self._running.append(cursor)
        try:
            if self._is_interrupted:
                raise KeyboardInterrupt  # seen by nobody: the one that was interrupted has raised its own
            with decoded():
                result = self._run(text, values, cursor)
                return [column[0] for column in result.description], result.fetchall()
        finally:
            self._running.remove(cursor)
            cursor.close()

    def _percent(self) -> float:
        """Of all parts. Below 0: the engine does not know yet."""
        running = [cursor.query_progress() for cursor in list(self._running)]
        if self._parts == 1:
            return max(running, default=-1.0)
        return (100 * self._parts_done + sum(max(each, 0) for each in running)) / self._parts

    def _files(self, files: list[File], filters: Filters, is_mixed: bool) -> dict[str, Any]:
        """`is_mixed`: columns that some files lack are null, or all: a file without rows has all columns. The engine
        opens every file before it reads one."""
        since = None if filters.since is None else filters.since - _LONGEST_SESSION_NS
        earlier = self.store.files(since, filters.until)
        found = {
            "files": [literal_path(file.path) for file in files],
            "earlier_files": [literal_path(file.path) for file in earlier],
            "resource_files": [literal_path(path) for path in self.store.resource_files()],
        }
        if is_mixed:
            for name, paths in found.items():
                paths.append(literal_path(self._empty("resources" if name == "resource_files" else "spans")))
        return {**found, "by_name": is_mixed}

    def _empty(self, table: str) -> str:
        return str(Path(self._spill.name) / f"{table}.parquet")

    def _paths(self) -> dict[str, list[str]]:
        return {"spans": [file.path for file in self.store.files()], "resources": self.store.resource_files()}

    def _is_mixed(self, error: Exception) -> bool:
        """The query failed because files of an older release lack columns, and nothing else is wrong with any."""
        if not is_about_columns(str(error)):
            return False
        paths = self._paths()
        if not any(_check.lacks_added_columns(self._connection, table, paths[table]) for table in paths):
            return False
        if any(_check.wrong_columns(self._connection, table, paths[table]) for table in paths):
            return False
        for table in COLUMNS:
            _check.write_empty(self._connection, table, self._empty(table))
        return True

    def _run(self, text: str, values: dict[str, Any], connection: Any = None) -> Any:
        used = {name: values[name] for name in set(re.findall(r"\$(\w+)", text)) if name in values}
        return execute(connection or self._connection, text, used)

    def sql(self, text: str, values: dict[str, Any]) -> Any:
        try:
            return self._sql(text, values, is_mixed=False)
        except self._duckdb.Error as error:
            if not self._is_mixed(error):
                raise
        return self._sql(text, values, is_mixed=True)

    def _sql(self, text: str, values: dict[str, Any], is_mixed: bool) -> Any:
        return self._run(text, {**self._files(self.store.files(), Filters(), is_mixed), **values})

    def problem_of(self, error: Exception) -> str | None:
        """The fault of a file, or the engine's text, which does not always name one. None: the error is not the
        engine's."""
        if not isinstance(error, self._duckdb.Error):
            return None
        with contextlib.closing(self._connect()) as connection:
            self._running.append(connection)
            try:
                return _check.explain(connection, error, self._paths())
            finally:
                self._running.remove(connection)

    def note_of_repeats(self, filters: Filters) -> str | None:
        """Retries and overlapping exports repeat spans. To count them takes longer than most answers, so in large
        folders the note says where they may be."""
        files = self.store.files(filters.since, filters.until)
        open_files = self.store.open_files(files)
        if not open_files:
            return None
        if sum(file.size for file in open_files) > self.counted_bytes:
            count, all_of = (len({file.partition for file in group}) for group in (open_files, files))
            return (
                f"Spans may be repeated in {count} of {all_of} hours of services, which are not closed. Remove "
                "repeated spans: cuspan fleet close. Count them: cuspan fleet duplicates. Leave them out: --distinct."
            )
        text = """SELECT count(*), count(DISTINCT (trace_id, span_id))
            FROM read_parquet($files, hive_partitioning = false)"""
        files_of_text = {"files": [literal_path(file.path) for file in open_files]}
        ((spans, once),) = fetch(self._connection, text, files_of_text)
        if once == spans:
            return None
        return (
            f"{spans - once} of {spans} spans are repeated; leave them out with --distinct, or remove them with cuspan "
            "fleet close."
        )
