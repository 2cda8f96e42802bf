"""DuckDB as the engine: reads the files of a folder."""

from __future__ import annotations

import functools
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cuspan.fleet._progress import Progress
from cuspan.fleet._sql import DUCKDB
from cuspan.fleet._store import HOUR_NS, File, Filters, Problem, Store, batches, literal_path

_BATCH_BYTES = 32 << 20
_RETRIES = 5
_PARTS_AT_A_TIME = 2  # because steps of a query that need the order of rows have one thread
_LONGEST_SESSION_NS = 24 * HOUR_NS

COUNTED_BYTES = 16 << 20  # of the files in which repeated spans are counted for each answer: less than a million spans

Rows = tuple[list[str], list[tuple[Any, ...]]]


def import_duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise Problem("this needs DuckDB, which is not installed; run: pip install 'cuspan[fleet]'") from None
    return duckdb


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
    return connection


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


class DuckDB:
    """The files of one folder."""

    dialect = DUCKDB

    def __init__(self, folder: str | Path, memory_limit: str, threads: int | None) -> None:
        self.store = Store(folder)
        self._duckdb = import_duckdb()
        # The engine writes here what does not fit into memory.
        self._spill = tempfile.TemporaryDirectory(prefix="cuspan-fleet-")
        try:
            self._connection = connect(self._spill.name, memory_limit, threads)
        except Problem:
            self._spill.cleanup()
            raise
        self.counted_bytes = COUNTED_BYTES
        self.progress = Progress(self._percent)
        self._running: list[Any] = []  # connections with a query
        self._parts = self._parts_done = 0

    def close(self) -> None:
        self._connection.close()
        self._spill.cleanup()

    def has_spans(self, filters: Filters) -> bool:
        return bool(self.store.files(filters.since, filters.until))

    def answer(self, text: str, values: dict[str, Any], filters: Filters, is_by_resource: bool) -> Rows:
        """The rows of a query. `is_by_resource`: rows of one resource need no other resource, so a part of the files at
        a time takes less memory."""
        for _ in range(_RETRIES):
            files = self.store.files(filters.since, filters.until)
            try:
                return self._answer(text, values, filters, files, is_by_resource)
            except self._duckdb.Error:
                if all(Path(file.path).exists() for file in files):  # else cuspan fleet close has replaced them
                    raise
        raise Problem(f"the files in {self.store.folder} change all the time; ask again later")

    def _answer(
        self, text: str, values: dict[str, Any], filters: Filters, files: list[File], is_by_resource: bool
    ) -> Rows:
        parts = list(batches(files, _BATCH_BYTES)) if is_by_resource else [files]
        all_values = [{**values, **self._files(part, filters)} for part in parts]
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
        cursor = self._connection.cursor()
        self._running.append(cursor)
        try:
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

    def _files(self, files: list[File], filters: Filters) -> dict[str, Any]:
        since = None if filters.since is None else filters.since - _LONGEST_SESSION_NS
        return {
            "files": [literal_path(file.path) for file in files],
            "earlier_files": [literal_path(file.path) for file in self.store.files(since, filters.until)],
            "resource_files": [literal_path(path) for path in self.store.resource_files()],
        }

    def _run(self, text: str, values: dict[str, Any], connection: Any = None) -> Any:
        used = {name: values[name] for name in set(re.findall(r"\$(\w+)", text)) if name in values}
        return (connection or self._connection).execute(text, used)

    def sql(self, text: str, values: dict[str, Any]) -> Any:
        return self._run(text, {**self._files(self.store.files(), Filters()), **values})

    def problem_of(self, error: Exception) -> str | None:
        """The engine's text; None: the error is not the engine's. It does not always name a damaged file."""
        if not isinstance(error, self._duckdb.Error):
            return None
        text = first_line(error)
        duckdb = self._duckdb
        others = (duckdb.OutOfMemoryException, duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
        is_clear = ".parquet" in text or isinstance(error, others)
        damaged = None if is_clear else self._damaged_file()
        return f"{text} ({damaged} is damaged; export its spans again)" if damaged else text

    def _damaged_file(self) -> str | None:
        """The first one whose description or data cannot be read."""
        text = "SELECT max(COLUMNS(*)::VARCHAR) FROM read_parquet($path)"
        for path in [*(file.path for file in self.store.files()), *self.store.resource_files()]:
            try:
                self._connection.execute(text, {"path": [literal_path(path)]})
            except self._duckdb.Error:
                return path
        return None

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
        spans, once = self._run(text, {"files": [literal_path(file.path) for file in open_files]}).fetchone()
        if once == spans:
            return None
        return (
            f"{spans - once} of {spans} spans are repeated; leave them out with --distinct, or remove them with cuspan "
            "fleet close."
        )
