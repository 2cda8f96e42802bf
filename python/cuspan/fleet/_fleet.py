"""Answers questions with an engine."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuspan.fleet import _sql
from cuspan.fleet._answer import Answer
from cuspan.fleet._arguments import Ask, by_of, filters_of, flag_of, query_of, shown, top_of
from cuspan.fleet._engine_clickhouse import ClickHouse
from cuspan.fleet._engine_duckdb import DuckDB
from cuspan.fleet._store import Problem

_HERE = Path(__file__).resolve().parent
DISTINCT_MAX = 1_000_000  # of the values whose quantiles are exact, in each group
ALL_ROWS = 1 << 62
_NOT_COMPARED = (
    "The ranks were not compared: no step is whole on two ranks that took part in the same collective. "
    "Give the spans of all ranks of the same steps, each once (--distinct leaves out repeated ones)."
)


@dataclass(frozen=True)
class Question:
    """One file in questions/: comments with its title and order, then SQL."""

    name: str
    title: str
    notes: tuple[str, ...]
    order: str
    is_ascending: bool
    plotted: str  # the column of a plot
    each: str  # "resource", "partition": rows of one need no other, which would take memory at the same time; or ""
    sql: str


def _read_question(path: Path) -> Question:
    lines = path.read_text(encoding="utf-8").splitlines()
    body_at = next(i for i, line in enumerate(lines) if not line.startswith("-- "))
    head = [line[3:] for line in lines[:body_at]]
    body = "\n".join(line for line in lines[body_at:] if not line.startswith("--"))
    facts = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    notes = tuple(line.split(": ", 1)[1] for line in head if line.startswith("note: "))
    plotted = facts.get("plot", facts["order"])
    return Question(
        path.stem, head[0], notes, facts["order"], "ascending" in head, plotted, facts.get("each", ""), body
    )


@functools.lru_cache(maxsize=1)
def questions() -> dict[str, Question]:
    """All questions by name."""
    return {path.stem: _read_question(path) for path in sorted((_HERE / "questions").glob("*.sql"))}


@functools.lru_cache(maxsize=1)
def call_lists() -> dict[str, list[str]]:
    """Parameters of questions: the calls of the groups that the agent knows."""
    groups = json.loads((_HERE / "calls.json").read_text(encoding="utf-8"))
    blocking = [name for name in groups["sync"] if "Synchronize" in name]
    blocking += [name for name in groups["copy"] if "Async" not in name]
    return {
        "sync_calls": groups["sync"],
        "launch_calls": groups["launch"],
        "memory_calls": [name for name, _, _ in groups["memory"]],
        "memory_kinds": [kind for _, kind, _ in groups["memory"]],
        "memory_sizes": [size for _, _, size in groups["memory"]],
        "blocking_calls": blocking,
    }


class Fleet:
    """The spans of one folder or database. Each question is a method: fleet.kernels(by="host", top=5)."""

    def __init__(self, engine: DuckDB | ClickHouse) -> None:
        self.engine = engine
        self.distinct_max = DISTINCT_MAX

    def close(self) -> None:
        self.engine.close()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Ask: ...

    def ask(
        self, question: str, *, by: str | None = None, top: int = 20, distinct: bool = False, **filters: Any
    ) -> Answer:
        """The answer to a question. `by`: repeat it for each service, job, host, gpu, rank, process, day, hour or
        release, or for each value of an attribute of the spans or their resource, such as engine.request.header.x-tenant. `top`: rows (of each group; 0: all). `distinct`: leave out repeated spans. Filters: since, until (a time in UTC
        as text, a datetime, or nanoseconds since 1970), service, job, host, gpu, rank, release (service.version)."""
        asked = questions().get(question) if isinstance(question, str) else None
        if asked is None:
            name = question if isinstance(question, str) else shown(question)
            raise Problem(f"unknown question {name}; known are: {', '.join(questions())}")
        by, top, distinct, chosen = by_of(by), top_of(top), flag_of("distinct", distinct), filters_of(filters)
        notes = list(asked.notes)
        if not self.engine.has_spans(chosen):
            has_range = chosen.since is not None or chosen.until is not None
            notes.append("No file has spans of this time." if has_range else "The folder has no files of spans.")
            return Answer(asked.name, asked.title, [], [], notes)
        is_distinct = distinct and question != "duplicates"
        text = _sql.question(asked.sql, by, is_distinct, chosen.values(), self.engine.dialect)
        values = {**chosen.values(), **call_lists(), "distinct_max": self.distinct_max, "top": top or ALL_ROWS}
        values["by_key"] = _sql.key_of(by)
        columns, rows = self._guarded(
            lambda: self.engine.answer(text, values, chosen, asked.each), f"cannot answer {asked.name}"
        )
        answer = Answer(asked.name, asked.title, columns, rows, notes, asked.plotted, by)
        answer.finish(asked.order, asked.is_ascending, bool(by), top)
        if question == "stragglers" and not answer.rows and self.ask("steps", top=1, distinct=distinct, **filters).rows:
            answer.is_unanswered = True
            answer.notes.append(_NOT_COMPARED)
        if not distinct and question != "duplicates":
            note = self._guarded(lambda: self.engine.note_of_repeats(chosen), "cannot read the spans")
            answer.notes += [note] if note else []
        return answer

    def _guarded(self, work: Callable[[], Any], what: str) -> Any:
        try:
            return self.engine.interruptible(work)
        except Problem:
            raise
        except Exception as failure:
            error = failure
            text = self.engine.interruptible(lambda: self.engine.problem_of(error))
            if text is None:
                raise
            raise Problem(f"{what}: {text}") from error

    def sql(self, query: str, parameters: dict[str, Any] | None = None) -> Any:
        """The result of a query of your own on the tables `spans` and `resources`, in the engine's SQL. $NAME is a
        parameter."""
        values = query_of(query, parameters)
        view = _sql.expand(f"WITH {_sql.view(None, False, [])}", self.engine.dialect)
        return self.engine.interruptible(lambda: self.engine.sql(f"{view}\n{query}", values))


_ASKED = """{title}.

{notes}`by`: repeat the answer for each service, job, host, gpu, rank, process, day, hour or release, or for each value of an
attribute, such as engine.request.header.x-tenant. `top`: rows (of each group; 0: all). `distinct`: leave out repeated spans; takes longer. Only spans that start from `since` on and before `until` (a
time in UTC such as "2026-11-26T03:00", a datetime, or nanoseconds since 1970), and only those of a service, job, host,
GPU (UUID or CUDA's number), rank or release (service.version)."""


def _method(asked: Question) -> Callable[..., Answer]:
    def ask(self: Fleet, **options: Any) -> Answer:
        return self.ask(asked.name, **options)

    ask.__name__, ask.__qualname__, ask.__module__ = asked.name, f"Fleet.{asked.name}", __name__
    ask.__doc__ = _ASKED.format(
        title=asked.title, notes="".join(f"{note}\n" for note in asked.notes) + "\n" * bool(asked.notes)
    )
    ask.__signature__ = inspect.signature(Ask.__call__)  # type: ignore[attr-defined]
    return ask


for _question in questions().values():
    setattr(Fleet, _question.name, _method(_question))
