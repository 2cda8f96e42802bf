#!/usr/bin/env python3
"""Runs a program on its own pseudo-terminal and writes the screen as an SVG picture, cell by cell, with its colors.

    terminal_picture.py [--columns N] [--lines N] [--seconds S] [--keys KEYS] [--wait TEXT] OUT.svg COMMAND [ARGUMENT...]

Waits until the screen has TEXT, presses KEYS, takes the picture S seconds later and ends the program. Needs the package
pyte (tools/lib.sh: python_with pyte==0.8.2)."""

import argparse
import os
import re
import sys
from html import escape
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/support"))
from terminal import Terminal  # noqa: E402

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 12
BACKGROUND, FOREGROUND = "#10151c", "#d5dbe3"
COLORS = {"default": FOREGROUND, "black": "#10151c", "red": "#f0696b", "green": "#7bc275", "brown": "#e6c15a", "yellow": "#e6c15a",
          "blue": "#6aa5f0", "magenta": "#c792ea", "cyan": "#5fc9d8", "white": "#f2f5f8"}


def color(name, otherwise):
    if name == "default":
        return otherwise
    return COLORS.get(name) or f"#{name}"


def look(cell):
    """(color, background, weight). Neighbors with equal styles become one piece."""
    front, back = color(cell.fg, FOREGROUND), color(cell.bg, BACKGROUND)
    if cell.reverse:
        front, back = back, front
    return front, back, "bold" if cell.bold else "normal"


def row_svg(cells, y):
    parts, x = [], 0
    for (front, back, weight), group in groupby(cells, look):
        text = "".join(cell.data for cell in group)
        left, width = MARGIN + x * CELL_WIDTH, len(text) * CELL_WIDTH
        if back != BACKGROUND:
            parts.append(f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{CELL_HEIGHT}" fill="{back}"/>')
        for word in re.finditer(r"\S+", text):  # viewers collapse several spaces into one
            parts.append(f'<text x="{left + word.start() * CELL_WIDTH:.1f}" y="{y + 13.5}" fill="{front}" font-weight="{weight}" '
                         f'textLength="{len(word[0]) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs">{escape(word[0])}</text>')
        x += len(text)
    return "".join(parts)


def picture(screen):
    width, height = 2 * MARGIN + screen.columns * CELL_WIDTH, 2 * MARGIN + screen.lines * CELL_HEIGHT
    rows = "\n".join(row_svg([screen.buffer[line][column] for column in range(screen.columns)], MARGIN + line * CELL_HEIGHT)
                     for line in range(screen.lines))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
            f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">\n'
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>\n{rows}\n</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--lines", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--keys", default="")
    parser.add_argument("--wait", default="")
    parser.add_argument("out", type=Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    terminal = Terminal(args.command, dict(os.environ), args.columns, args.lines)
    try:
        terminal.wait_for(f"no {args.wait!r}", lambda text: args.wait in text)
        terminal.press(args.keys)
        terminal.read(args.seconds)
        args.out.write_text(picture(terminal.screen), encoding="utf-8")
    finally:
        terminal.close()


if __name__ == "__main__":
    main()
