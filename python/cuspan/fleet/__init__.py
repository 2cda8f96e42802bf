"""Questions about the spans of many programs and machines, from the Parquet files of `cuspan export`.

    import cuspan.fleet
    fleet = cuspan.fleet.open("fleet")
    fleet.kernels(by="host", top=5).df()

It needs DuckDB (pip install duckdb). `cuspan fleet --help` lists the questions."""

from __future__ import annotations

from pathlib import Path

from cuspan.fleet._answer import Answer
from cuspan.fleet._arguments import folder_of
from cuspan.fleet._engine_clickhouse import ClickHouse, read_password
from cuspan.fleet._engine_duckdb import DuckDB
from cuspan.fleet._fleet import Fleet, questions
from cuspan.fleet._store import Problem

__all__ = ["Answer", "Fleet", "Problem", "open", "questions"]


def open(  # noqa: A001
    where: str | Path, *, memory_limit: str = "1GB", threads: int | None = None, password_file: str | Path | None = None
) -> Fleet:
    """The spans in a folder that `cuspan export` wrote, or in ClickHouse: clickhouse://[USER@]HOST[:PORT][/DATABASE].
    Its password is in the environment, CUSPAN_CLICKHOUSE_PASSWORD, or in a file. `memory_limit` and `threads` are for
    folders. Each failure raises Problem, with one line that says why."""
    folder_of(where, memory_limit, threads)
    if isinstance(where, str) and where.startswith(("clickhouse://", "clickhouses://")):
        return Fleet(ClickHouse(where, read_password(password_file)))
    return Fleet(DuckDB(where, memory_limit, threads))
