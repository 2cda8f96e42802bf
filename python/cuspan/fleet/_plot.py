"""Plots of answers, with matplotlib."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import Any

from cuspan.fleet._answer import Answer, printable
from cuspan.fleet._store import Problem

_ROWS_MAX = 30
_LINES_MAX = 10
_TIMES_MAX = 40  # that are named
_LABEL_MAX = 50
_UNITS = {
    "ns": ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns")),
    "bytes": ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
    "share": ((0.01, "%"),),
    "": ((1, ""),),
}


def _import_figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Problem("plots need matplotlib, which is not installed; run: pip install matplotlib") from None
    return Figure


def _unit(column: str, most: float) -> tuple[float, str]:
    units = next(units for suffix, units in _UNITS.items() if column.endswith(suffix))
    return next(((size, name) for size, name in units if abs(most) >= size), units[-1])


def _label(cells: list[Any]) -> str:
    text = printable(" ".join(str(cell) for cell in cells if cell is not None))
    text = text if len(text) <= _LABEL_MAX else text[: _LABEL_MAX - 1] + "…"
    return text.replace("$", r"\$")  # not a formula


def _labels(answer: Answer, value: str) -> list[int]:
    """The columns that name a row: the texts before the first number, and the number of a step or rank."""
    found = []
    for i, name in enumerate(answer.columns):
        is_text = all(row[i] is None or isinstance(row[i], str) for row in answer.rows)
        if name == value or not (is_text or name in ("step", "rank", "from_bytes")):
            break
        found.append(i)
    return found or [0]


def draw(answer: Answer, axes: Any) -> None:
    """Bars of the column that orders the rows; lines, if the answer is by day or hour."""
    value = answer.plotted if answer.plotted in answer.columns else answer.columns[-1] if answer.columns else ""
    axes.set_title(_label([answer.title]))
    if not answer.rows:
        axes.text(0.5, 0.5, "no rows", ha="center")
        return
    at = answer.columns.index(value)
    is_over_time = answer.by in ("day", "hour")
    rows = (answer.plotted_rows if is_over_time else None) or answer.rows
    numbers = [row[at] or 0 for row in rows]
    size, unit = _unit(value, max(numbers, key=abs))
    title = value.removesuffix("_ns").removesuffix("_share").replace("_", " ") + (f" ({unit})" if unit else "")
    labels = _labels(answer, value)
    if is_over_time:
        _draw_lines(rows, axes, [number / size for number in numbers], labels[1:] or labels)
        axes.set_ylabel(title)
        return
    rows = rows[:_ROWS_MAX]
    places = range(len(rows))
    axes.barh(places, [number / size for number in numbers[: len(rows)]])
    axes.set_yticks(places, [_label([row[i] for i in labels]) for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel(title)


def _place(time: str) -> int:
    """Days or hours since 1970."""
    form, length = ("%Y-%m-%d %H:%M", 3600) if " " in time else ("%Y-%m-%d", 86_400)
    return int(datetime.strptime(time, form).replace(tzinfo=timezone.utc).timestamp()) // length


def _draw_lines(rows: list[tuple[Any, ...]], axes: Any, numbers: list[float], labels: list[int]) -> None:
    """Lines of the rows with the largest sums, over all times. A line has a gap where its row has no value."""
    places = {time: _place(time) for time in sorted({row[0] for row in rows})}
    first = min(places.values())
    lines: dict[str, dict[int, float]] = {}
    for row, number in zip(rows, numbers):
        lines.setdefault(_label([row[i] for i in labels]), {})[places[row[0]] - first] = number
    largest = sorted(lines.items(), key=lambda line: -sum(map(abs, line[1].values())))
    for name, points in largest[:_LINES_MAX]:
        shown: list[tuple[float, float]] = []
        for place, number in sorted(points.items()):
            if shown and place > shown[-1][0] + 1:
                shown.append((shown[-1][0] + 1, math.nan))
            shown.append((place, number))
        axes.plot(*zip(*shown), marker="o", label=name)
    times = list(places)[:: math.ceil(len(places) / _TIMES_MAX)]
    axes.set_xticks([places[time] - first for time in times], times, rotation=45, ha="right")
    axes.legend(fontsize="small")


def plot(answer: Answer, axes: Any = None) -> Any:
    """In a notebook. Returns the axes."""
    _import_figure()
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    draw(answer, axes)
    return axes


def save(answer: Answer, path: str) -> None:
    """PNG, SVG or PDF, by the name of the file."""
    figure = _import_figure()(figsize=(10, 1.5 + 0.3 * min(max(len(answer.rows), 8), _ROWS_MAX)), layout="constrained")
    draw(answer, figure.add_subplot())
    try:
        figure.savefig(path)
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}") from None
    except ValueError:
        raise Problem(f"cannot write {path}: its name says no known format; end it in .png, .svg or .pdf") from None
