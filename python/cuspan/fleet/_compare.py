"""Compares the answers of one question for two times or two releases."""

from __future__ import annotations

from typing import Any

from cuspan.fleet._answer import Answer
from cuspan.fleet._fleet import Fleet, questions
from cuspan.fleet._store import Problem

# The column whose change orders the rows, and others that both sides show.
_COMPARED = {
    "kernels": ("total_ns", ("count", "total_ns", "median_ns", "p99_ns"), ("name", "full_name")),
    "calls": ("total_ns", ("count", "errors", "total_ns", "median_ns", "p99_ns"), ("name", "api")),
    "waits": ("total_ns", ("count", "total_ns", "median_ns", "p99_ns"), ("name", "api")),
    "errors": ("count", ("count",), ("name", "error")),
    "copies": ("total_ns", ("count", "bytes", "total_ns", "bytes_per_s"), ("kind", "from", "to")),
    "launch_latency": ("median_ns", ("count", "median_ns", "p99_ns"), ("work",)),
    "code_lines": ("self_ns", ("self_ns", "launches", "wait_ns"), ("place", "function")),
    "collectives": ("transfer_ns", ("count", "transfer_ns", "wait_ns"), ("operation", "communicator", "from_bytes")),
}


def _by_key(answer: Answer, keys: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {
        tuple(row.get(key) for key in keys): row for row in (dict(zip(answer.columns, cells)) for cells in answer.rows)
    }


def _row(
    key: tuple[Any, ...], sides: tuple[dict[str, Any], dict[str, Any]], order: str, values: tuple[str, ...]
) -> tuple[Any, ...]:
    before, after = sides
    cells = [side.get(value) for value in values for side in sides]
    old, new = before.get(order) or 0, after.get(order) or 0
    return (*key, new - old, (new / old) if old else None, *cells)


def compare(
    fleet: Fleet, question: str, before: dict[str, Any], after: dict[str, Any], *, top: int = 20, distinct: bool = False
) -> Answer:
    """`before` and `after` are filters, as for the questions: {"release": "1.4"}, or since and until of two days."""
    if question not in _COMPARED:
        raise Problem(f"cannot compare {question}; compare one of: {', '.join(sorted(_COMPARED))}")
    order, values, keys = _COMPARED[question]
    answers = [fleet.ask(question, top=0, distinct=distinct, **filters) for filters in (before, after)]
    old, new = (_by_key(answer, keys) for answer in answers)
    columns = [*keys, f"change_{order}" if order != "count" else "change", "ratio"]
    columns += [f"{side}_{value}" for value in values for side in ("before", "after")]
    rows = [_row(key, (old.get(key, {}), new.get(key, {})), order, values) for key in {**old, **new}]
    at = len(keys)
    rows.sort(key=lambda row: (-abs(row[at]), *(str(cell) for cell in row)))
    notes = list(dict.fromkeys(note for answer in answers for note in answer.notes))
    answer = Answer(
        f"compare_{question}", f"{questions()[question].title}: changes", columns, rows, notes, columns[len(keys)]
    )
    answer.shorten(top)
    return answer
