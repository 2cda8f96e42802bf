"""Questions about the spans of many programs and machines, from the Parquet files of `cuspan export`.

    import cuspan.fleet
    fleet = cuspan.fleet.open("fleet")
    fleet.kernels(by="host", top=5).df()

It needs DuckDB: pip install cuspan[fleet]. docs/fleet.md describes the questions."""

from __future__ import annotations

from pathlib import Path

from cuspan.fleet._answer import Answer
from cuspan.fleet._fleet import Fleet, questions
from cuspan.fleet._store import Problem

__all__ = ["Answer", "Fleet", "Problem", "open", "questions"]


def open(folder: str | Path, *, memory_limit: str = "1GB", threads: int | None = None) -> Fleet:  # noqa: A001
    """The spans in a folder that `cuspan export` wrote."""
    return Fleet(folder, memory_limit=memory_limit, threads=threads)
