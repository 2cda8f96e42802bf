"""Answers questions with DuckDB."""

from __future__ import annotations

import functools
import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuspan.fleet._answer import Answer
from cuspan.fleet._store import (
    GROUPS,
    MACROS,
    File,
    Filters,
    Problem,
    Store,
    batches,
    literal_path,
    spans_query,
)

_HERE = Path(__file__).resolve().parent
_BATCH_BYTES = 64 << 20
_SHOW_AFTER_S = 1.0
DISTINCT_MAX = 1_000_000  # of the values whose quantiles are exact, in each group

COUNTED_MAX = 1_000_000  # of the spans among which repeated ones are counted for each answer


@dataclass(frozen=True)
class Question:
    """One file in questions/: comments with its title and order, then SQL."""

    name: str
    title: str
    notes: tuple[str, ...]
    order: str
    is_ascending: bool
    is_by_resource: bool  # rows of one resource need no other; the others would need memory at the same time
    sql: str


def _read_question(path: Path) -> Question:
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line[3:] for line in lines if line.startswith("-- ")]
    body = "\n".join(line for line in lines if not line.startswith("--"))
    facts = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    notes = tuple(line.split(": ", 1)[1] for line in head if line.startswith("note: "))
    return Question(path.stem, head[0], notes, facts["order"], "ascending" in head, "each" in facts, body)


@functools.lru_cache(maxsize=1)
def questions() -> dict[str, Question]:
    """All questions by name."""
    return {path.stem: _read_question(path) for path in sorted((_HERE / "questions").glob("*.sql"))}


@functools.lru_cache(maxsize=1)
def _call_lists() -> dict[str, list[str]]:
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


def _import_duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise Problem("this needs DuckDB, which is not installed; run: pip install 'cuspan[fleet]'") from None
    return duckdb


class _Progress:
    """Prints the engine's progress to a terminal while a query runs for longer than a second."""

    def __init__(self, connection: Any, is_shown: bool) -> None:
        self._connection = connection
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True) if is_shown else None
        self.part = ""

    def __enter__(self) -> _Progress:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

    def _watch(self) -> None:
        has_printed = False
        while not self._done.wait(_SHOW_AFTER_S):
            percent = max(self._connection.query_progress(), 0)
            print(f"\rcuspan fleet: {self.part}{percent:.0f} %\033[K", end="", file=sys.stderr, flush=True)
            has_printed = True
        if has_printed:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Fleet:
    """The spans of one folder. Each question is a method: fleet.kernels(by="host", top=5)."""

    def __init__(self, folder: str | Path, *, memory_limit: str = "1GB", threads: int | None = None) -> None:
        self.store = Store(folder)
        self._duckdb = _import_duckdb()
        # The engine writes here what does not fit into memory.
        self._spill = tempfile.TemporaryDirectory(prefix="cuspan-fleet-")
        config = {
            "memory_limit": memory_limit,
            "temp_directory": self._spill.name,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "preserve_insertion_order": "false",
        }
        if threads:
            config["threads"] = str(threads)
        try:
            self._connection = self._duckdb.connect(config=config)
        except self._duckdb.Error as error:
            self._spill.cleanup()
            raise Problem(f"DuckDB does not start: {str(error).splitlines()[0]}") from None
        for macro in MACROS:
            self._connection.execute(macro)
        self.shows_progress = False
        self.distinct_max = DISTINCT_MAX
        self.counted_max = COUNTED_MAX

    def close(self) -> None:
        self._connection.close()
        self._spill.cleanup()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *questions()])

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        if name.startswith("_") or name not in questions():
            raise AttributeError(name)
        return functools.partial(self.ask, name)

    def ask(
        self, question: str, *, by: str | None = None, top: int = 20, distinct: bool = False, **filters: Any
    ) -> Answer:
        """The answer to a question. `by`: repeat it for each service, job, host, gpu, rank, process, day or hour.
        `top`: rows (of each group; 0: all). `distinct`: leave out repeated spans. Filters: since, until (nanoseconds
        since 1970), service, job, host, gpu, rank, release (service.version)."""
        asked = questions().get(question)
        if asked is None:
            raise Problem(f"unknown question {question}; known are: {', '.join(questions())}")
        if by is not None and by not in GROUPS:
            raise Problem(f"cannot group by {by}; known are: {', '.join(GROUPS)}")
        chosen = Filters(**filters)
        files = self.store.files(chosen.since, chosen.until)
        notes = list(asked.notes)
        if not files:
            return Answer(asked.name, asked.title, [], [], [*notes, "No file has spans of this time."])
        head = spans_query(chosen, by, distinct and question != "duplicates")
        columns, rows = self._run(asked, head, files, chosen)
        answer = Answer(asked.name, asked.title, columns, rows, notes)
        answer.finish(asked.order, asked.is_ascending, bool(by), top)
        if not distinct and question != "duplicates":
            self._note_repeats(answer, files)
        return answer

    def _run(
        self, asked: Question, head: str, files: list[File], filters: Filters
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        separator = ",\n" if re.match(r"\s*\w+ AS \(", asked.sql) else "\n"
        text = f"WITH {head}{separator}{asked.sql}"
        known = {
            **filters.values(),
            **_call_lists(),
            "resource_files": [literal_path(path) for path in self.store.resource_files()],
            "distinct_max": self.distinct_max,
        }
        parts = list(batches(files, _BATCH_BYTES)) if asked.is_by_resource else [files]
        columns: list[str] = []
        rows: list[tuple[Any, ...]] = []
        with _Progress(self._connection, self.shows_progress) as progress:
            for number, part in enumerate(parts, 1):
                progress.part = f"part {number} of {len(parts)}, " if len(parts) > 1 else ""
                known["files"] = [literal_path(file.path) for file in part]
                values = {name: known[name] for name in set(re.findall(r"\$(\w+)", text))}
                try:
                    result = self._connection.execute(text, values)
                except self._duckdb.Error as error:
                    raise Problem(f"cannot answer {asked.name}: {str(error).splitlines()[0]}") from error
                columns = [column[0] for column in result.description]
                rows += result.fetchall()
        return columns, rows

    def _one(self, query: str, files: list[File]) -> tuple[int, ...]:
        values = {"files": [literal_path(file.path) for file in files]}
        try:
            row: tuple[int, ...] = self._connection.execute(query, values).fetchone()
        except self._duckdb.Error as error:
            raise Problem(f"cannot read the spans: {str(error).splitlines()[0]}") from error
        return row

    def _note_repeats(self, answer: Answer, files: list[File]) -> None:
        """Retries and overlapping exports repeat spans. To count them takes longer than most answers, so in large
        folders the note says how many there may be."""
        counted = "SELECT count(*) FROM read_parquet($files, hive_partitioning = false)"
        (spans,) = self._one(counted, files)
        if spans <= self.counted_max:
            (once,) = self._one(
                "SELECT count(DISTINCT (trace_id, span_id)) FROM read_parquet($files, hive_partitioning = false)", files
            )
            if once < spans:
                answer.notes.append(f"{spans - once} of {spans} spans are repeated; leave them out with --distinct.")
            return
        by_hour: dict[tuple[str, int], list[File]] = {}
        for file in files:
            by_hour.setdefault((file.resource, file.hour), []).append(file)
        several = [file for group in by_hour.values() if len(group) > 1 for file in group]
        (doubtful,) = self._one(counted, several) if several else (0,)
        answer.notes.append(
            f"Up to {doubtful} of {spans} spans may be repeated, because an hour of their process has several files. "
            "Retries may have repeated others in one file. Count them: cuspan fleet duplicates. "
            "Leave them out: --distinct."
        )

    def sql(self, query: str, parameters: dict[str, Any] | None = None) -> Any:
        """The result of a query of your own on the tables `spans` and `resources`, as DuckDB gives it."""
        files = [literal_path(file.path) for file in self.store.files()]
        known = {"files": files, "resource_files": [literal_path(path) for path in self.store.resource_files()]}
        text = f"WITH {spans_query(Filters(), None, False)}\n{query}"
        used = {name: value for name, value in known.items() if f"${name}" in text}
        return self._connection.execute(text, {**used, **(parameters or {})})
