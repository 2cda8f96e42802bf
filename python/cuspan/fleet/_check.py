"""Files that are not as `cuspan export` writes them, and the engine's errors about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from cuspan.fleet._columns import ADDED, COLUMNS
from cuspan.fleet._store import Problem, literal_path

_REMEDY = "export its spans again, or delete it"


def import_duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise Problem("this needs DuckDB, which is not installed; run: pip install 'duckdb>=2.0'") from None
    return duckdb


@contextmanager
def decoded() -> Iterator[None]:
    """For each use of the engine: its text of an error can have bytes of a damaged file, which its Python package
    cannot decode. CPython 3.11.2 then raises an error without text."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise import_duckdb().Error(bytes(error.object).decode("utf-8", "backslashreplace")) from None
    except import_duckdb().Error as error:
        if error.args:
            raise
        kind = type(error).__name__.removesuffix("Exception")
        raise type(error)(f"{kind} Error: its text has bytes that are not UTF-8, as in a damaged file") from None


def execute(connection: Any, text: str, values: dict[str, Any] | None = None) -> Any:
    with decoded():
        return connection.execute(text, values)


def fetch(connection: Any, text: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """All rows. Reading them can fail, too."""
    with decoded():
        rows: list[tuple[Any, ...]] = connection.execute(text, values).fetchall()
    return rows


def first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def is_about_columns(text: str) -> bool:
    """An error of a query that files with other columns or types can cause."""
    return text.startswith(("Binder Error", "Conversion Error")) or "schema mismatch" in text


def _named(error: Exception, text: str) -> str:
    """Of an error whose text names a file: also what to do, except about access to it."""
    return text if isinstance(error, import_duckdb().IOException) else f"{text}; {_REMEDY}"


def _types(connection: Any, path: str) -> dict[str, str]:
    """Of the columns of a file, from its footer. Names without case, as for the engine."""
    text = "DESCRIBE SELECT * FROM read_parquet($path, hive_partitioning = false)"
    return {row[0].lower(): row[1] for row in fetch(connection, text, {"path": [literal_path(path)]})}


def wrong_columns(connection: Any, table: str, paths: Iterable[str]) -> str | None:
    """The fault of the first file that lacks a column, or has it with another type. Files may have more columns: those
    of a newer release do."""
    duckdb = import_duckdb()
    for path in paths:
        try:
            types = _types(connection, path)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            text = first_line(error)
            return _named(error, text) if ".parquet" in text else f"{path} is damaged ({text}); {_REMEDY}"
        for name, kind in COLUMNS[table].items():
            if name not in types and name not in ADDED[table]:
                return f"{path} has no column {name}; {_REMEDY}"
            if types.get(name, kind) != kind:
                return f"{path} has {name} as {types[name]} instead of {kind}; {_REMEDY}"
    return None


def lacks_added_columns(connection: Any, table: str, paths: Iterable[str]) -> bool:
    """An older release has written one of the files."""
    added = set(ADDED[table])
    return bool(added) and any(added - set(_types(connection, path)) for path in paths)


def write_empty(connection: Any, table: str, path: str) -> None:
    """A file with all columns and no rows."""
    columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in COLUMNS[table].items())
    connection.sql(f"SELECT {columns} WHERE false").write_parquet(path)


def damaged_file(connection: Any, paths: Iterable[str]) -> str | None:
    """The first one whose description or data cannot be read."""
    duckdb = import_duckdb()
    for path in paths:
        try:
            fetch(
                connection, "SELECT max(COLUMNS(*)::VARCHAR) FROM read_parquet($path)", {"path": [literal_path(path)]}
            )
        except duckdb.OutOfMemoryException:
            continue
        except duckdb.Error:
            return path
    return None


def explain(connection: Any, error: Exception, paths: dict[str, list[str]]) -> str:
    """The fault of a file, or the engine's text, which does not always name one. `paths`: of each table. `connection`:
    not that of the error, because some errors end it."""
    duckdb = import_duckdb()
    text = first_line(error)
    if isinstance(error, (duckdb.OutOfMemoryException, duckdb.ParserException)):
        return text
    if ".parquet" in text and not is_about_columns(text):
        return _named(error, text)
    try:
        wrong = next(filter(None, (wrong_columns(connection, table, listed) for table, listed in paths.items())), None)
    except duckdb.OutOfMemoryException:
        return text
    if wrong:
        return wrong
    if isinstance(error, (duckdb.BinderException, duckdb.CatalogException)):
        return text
    damaged = damaged_file(connection, [path for listed in paths.values() for path in listed])
    return f"{text} ({damaged} is damaged; export its spans again)" if damaged else text
