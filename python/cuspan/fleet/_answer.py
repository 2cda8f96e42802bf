"""The rows of an answer, and their formats."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

_DURATIONS = (("s", 10**9), ("ms", 10**6), ("us", 10**3))
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_RATES = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")
_NAME_COLUMNS_MAX = 60
_SHOWN_ROWS_MAX = 200
_ESCAPES = {"<": "&lt;", ">": "&gt;"}
_ONLY_FOR_PROGRAMS = {"full_name", "hw_id"}  # too long for a line of a terminal


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    unit = 0
    while abs(value) >= step and unit + 1 < len(units):
        value /= step
        unit += 1
    return f"{value:.0f} {units[unit]}" if unit == 0 or abs(value) >= 100 else f"{value:.1f} {units[unit]}"


def _duration(ns: int) -> str:
    for unit, size in _DURATIONS:
        if abs(ns) >= size:
            value = ns / size
            return f"{value:.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f} {unit}"
    return f"{ns} ns"


def printable(text: str) -> str:
    """Names come from programs: they must not control the terminal or break a line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return printable(value)
    if column.endswith("_unix_ns"):
        return datetime.fromtimestamp(value // 10**9, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    if column.endswith("_ns"):
        return _duration(int(value))
    if column.endswith("_share"):
        return f"{100 * value:.1f} %"
    if column == "share":
        return f"{100 * value:.1f} %"
    if column == "busbw" or column.endswith("bytes_per_s"):
        return _scaled(value, 1000, _RATES)
    if column == "bytes" or column.endswith("_bytes"):
        return _scaled(value, 1024, _SIZES)
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value) if column in ("step", "rank") else f"{value:,}"


def _plain(value: Any) -> Any:
    """As in the JSON of cuspan stat: 9 digits of a real number."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


@dataclass(repr=False)
class Answer:
    """Rows of one question, largest first. Times are in nanoseconds, sizes in bytes, shares between 0 and 1."""

    question: str
    title: str
    columns: list[str]
    rows: list[tuple[Any, ...]]
    notes: list[str] = field(default_factory=list)
    plotted: str = ""  # the column that a plot shows
    by: str | None = None
    plotted_rows: list[tuple[Any, ...]] | None = None  # of all times, if by day or hour

    def finish(self, order: str, is_ascending: bool, has_groups: bool, top: int) -> None:
        """Sorts and shortens the rows. Columns that serve only the engine go away."""
        if "is_rough" in self.columns:
            at = self.columns.index("is_rough")
            self.columns[at] = "quantiles"
            self.rows = [(*row[:at], "within 1 %" if row[at] else "exact", *row[at + 1 :]) for row in self.rows]
            if any(row[at] != "exact" for row in self.rows):
                self.notes.append("Quantiles of rows with more than a million distinct values are within 1 %.")
        totals = self._take_totals()
        key = self.columns.index(order)
        sign = 1 if is_ascending else -1
        self.rows.sort(key=lambda row: (sign * (row[key] or 0), *(str(cell) for cell in row)))
        if totals is None:
            totals = self._totals(key)
        if has_groups:
            self.plotted_rows = list(self.rows) if self.by in ("day", "hour") else None
            self._order_groups(totals, is_ascending, top)
            self.columns[0] = "group"
        else:
            self.columns, self.rows = self.columns[1:], [row[1:] for row in self.rows]
            self._shorten(sum(rows for rows, _ in totals.values()), top)

    def _totals(self, key: int) -> dict[str, tuple[int, Any]]:
        """The number of rows of each group, and the sum that orders it."""
        found: dict[str, tuple[int, Any]] = {}
        for row in self.rows:
            rows, total = found.get(row[0], (0, 0))
            found[row[0]] = (rows + 1, total + (row[key] or 0))
        return found

    def _take_totals(self) -> dict[str, tuple[int, Any]] | None:
        """As the engine says, if it returned the first rows only."""
        if "group_rows" not in self.columns:
            return None
        at = self.columns.index("group_rows")  # and group_sum, the last two
        totals = {row[0]: (row[at], row[at + 1]) for row in self.rows}
        self.columns, self.rows = self.columns[:at], [row[:at] for row in self.rows]
        return totals

    def shorten(self, top: int) -> None:
        self._shorten(len(self.rows), top)

    def _shorten(self, rows: int, top: int) -> None:
        if top and rows > top:
            self._note_rest(rows - top, "row")
            self.rows = self.rows[:top]

    def _order_groups(self, totals: dict[str, tuple[int, Any]], is_ascending: bool, top: int) -> None:
        names = sorted(totals, key=lambda name: (0 if is_ascending else -totals[name][1], name))
        if top and len(names) > top:
            self._note_rest(len(names) - top, "group")
            names = names[:top]
        by_name: dict[str, list[tuple[Any, ...]]] = {name: [] for name in names}
        for row in self.rows:
            rows = by_name.get(row[0])
            if rows is not None and (not top or len(rows) < top):
                rows.append(row)
        self.rows = [row for rows in by_name.values() for row in rows]
        rest = sum(totals[name][0] for name in names) - len(self.rows)
        if rest:
            self._note_rest(rest, "row")

    def _note_rest(self, count: int, what: str) -> None:
        self.notes.append(f"{count} more {what}{'s' if count > 1 else ''}; --top 0 prints all.")

    # --- formats ---

    def dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each row; missing values are absent."""
        return [
            {name: _plain(value) for name, value in zip(self.columns, row) if value is not None} for row in self.rows
        ]

    def df(self) -> Any:
        """A DataFrame of pandas."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)

    def plot(self, axes: Any = None) -> Any:
        """Bars, or lines if the answer is by day or hour, with matplotlib. Returns the axes."""
        from cuspan.fleet._plot import plot

        return plot(self, axes)

    def json(self) -> str:
        return json.dumps({self.question: self.dicts()}, ensure_ascii=False, indent=1)

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_plain(value) for value in row] for row in self.rows)
        return out.getvalue().rstrip("\n")

    def _cells(self, is_for_people: bool) -> tuple[list[str], list[list[str]]]:
        """Without columns that are empty."""
        quantiles = [i for i, name in enumerate(self.columns) if name == "quantiles"]
        exact = all(row[i] == "exact" for row in self.rows for i in quantiles)
        shown = [
            i
            for i, name in enumerate(self.columns)
            if any(row[i] is not None for row in self.rows)
            and not (is_for_people and name in _ONLY_FOR_PROGRAMS)
            and not (name == "quantiles" and exact)
        ]
        titles = [self.columns[i].removesuffix("_unix_ns").removesuffix("_ns").replace("_", " ") for i in shown]
        return titles, [[_cell(self.columns[i], row[i]) for i in shown] for row in self.rows]

    def markdown(self) -> str:
        titles, rows = self._cells(False)
        lines = [f"## {self.title}", "", *self.notes, *([""] if self.notes else [])]
        if rows:
            lines += ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
            lines += ["| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in rows]
        return "\n".join(lines)

    def text(self) -> str:
        titles, rows = self._cells(True)
        lines = [self.title]
        if rows:
            texts = [[_shortened(cell) for cell in row] for row in rows]
            widths = [max(len(row[i]) for row in [titles, *texts]) for i in range(len(titles))]
            places = [self._column(title) for title in titles]
            is_text = [any(isinstance(row[i], str) for row in self.rows) for i in places]
            for row in [titles, *texts]:
                cells = [cell.ljust(w) if t else cell.rjust(w) for cell, w, t in zip(row, widths, is_text)]
                lines.append("  " + "  ".join(cells).rstrip())
        else:
            lines.append("  (no rows)")
        return "\n".join([*lines, *self.notes])

    def _column(self, title: str) -> int:
        name = title.replace(" ", "_")
        return next(i for i, column in enumerate(self.columns) if column in (name, f"{name}_ns", f"{name}_unix_ns"))

    def _first(self) -> Answer:
        """For a person: formatting a million rows takes a minute, and nobody reads them."""
        rest = len(self.rows) - _SHOWN_ROWS_MAX
        if rest <= 0:
            return self
        notes = [*self.notes, f"{rest} more rows; text(), csv(), json() and df() have all."]
        return dataclasses.replace(self, rows=self.rows[:_SHOWN_ROWS_MAX], notes=notes)

    def __str__(self) -> str:
        """The first rows; text() has all."""
        return self._first().text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """In notebooks."""
        from html import escape

        self = self._first()
        titles, rows = self._cells(False)
        head = "".join(f"<th>{escape(title)}</th>" for title in titles)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<h4>{escape(self.title)}</h4><table><tr>{head}</tr>{body}</table>{notes}"


def _shortened(text: str) -> str:
    return text if len(text) <= _NAME_COLUMNS_MAX else text[: _NAME_COLUMNS_MAX - 1] + "…"


def _escaped(text: str) -> str:
    """Of a Markdown table."""
    for character in "\\|<>`*_[]":
        text = text.replace(character, _ESCAPES.get(character, f"\\{character}"))
    return text
