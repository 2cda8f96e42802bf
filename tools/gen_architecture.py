#!/usr/bin/env python3
"""Generates the two pictures of docs/architecture.md from the includes below src/.

    tools/gen_architecture.py             writes docs/images/architecture-agent.svg and architecture-analysis.svg
    tools/gen_architecture.py --check     fails and prints the difference if a committed one is out of date

A box is a folder. An arrow goes from a folder to one that it includes, unless another path of arrows leads there. Where each box
is, and what it is for, is written here. The tool fails if a folder has no place, or if an arrow would not be a straight line."""

import difflib
import sys
import textwrap
from collections import namedtuple
from pathlib import Path
from xml.sax.saxutils import escape

from source_includes import ROOT, includes_of, sources

Box = namedtuple("Box", "x y width height purpose look", defaults=("box",))
MARGIN = 8        # between an arrow and a box that it passes
CHARACTER = 6.8   # the mean width of one in small text

# ---- The agent: the folders of src/agent, and those that it shares with the analysis --------------------------------------

AGENT = {
    "core": Box(20, 96, 980, 66, "wires the stages: entry points, start and exit, signals, the pipeline thread, resource, control socket"),
    "recording": Box(20, 218, 132, 168, "the file format of recordings: writer and reader", "side"),
    "capture": Box(168, 218, 188, 202, "what CUPTI, NVTX, NVML and cuspan.h report becomes records", "stage"),
    "correlate": Box(384, 218, 140, 168, "records become spans: calls joined with GPU work", "stage"),
    "encode": Box(552, 218, 104, 168, "spans become OTLP: protobuf, JSON", "stage"),
    "export": Box(684, 218, 120, 168, "batches go to collectors and files", "stage"),
    "config": Box(836, 218, 164, 168, "YAML and environment become one frozen struct settings"),
    "operate": Box(1020, 218, 120, 168, "starts, finds and checks agents from other processes"),
    "replay": Box(20, 434, 106, 100, "plays recordings", "side"),
    "abi": Box(168, 434, 136, 100, "binary interfaces of CUPTI, NVTX and NCCL"),
    "share": Box(350, 434, 134, 100, "receives other tools' calls of CUPTI", "side"),
    "watch": Box(516, 434, 84, 134, "looks at all threads and their stacks"),
    "frames": Box(1160, 396, 130, 256, "what frames look like: unwind rules of native code, layouts of Python's objects"),
    "model": Box(20, 586, 860, 66, "data that crosses stages: records, spans, batches, settings, resources; tables of CUDA's calls and kinds of work"),
    "yaml": Box(896, 586, 104, 66, "reads YAML with lines"),
    "cli": Box(1020, 586, 120, 66, "command lines"),
    "base": Box(20, 700, 1270, 66, "status codes, limits, clocks, files, rings, the pool of chunks, counters, threads, text"),
}
AGENT_FLOW = [("capture", "correlate", "records"), ("correlate", "encode", "spans"), ("encode", "export", "batches")]

# ---- The analysis: the folders of src/analysis, and the command -----------------------------------------------------------

ANALYSIS = {
    "trace": Box(20, 96, 160, 524, "files become spans in order of time: open, decompress, parse, sort, cut into linked segments", "stage"),
    "stat/base": Box(216, 96, 140, 118, "what all tables use: segments, places, samples, intervals", "stage"),
    "code": Box(392, 96, 140, 118, "call stacks and lines: origins of spans", "stage"),
    "ranks": Box(392, 242, 140, 118, "compares the ranks of a training job; knows no files", "stage"),
    "stat": Box(568, 96, 148, 264, "sections with tables and findings, each fed one span after the other", "stage"),
    "show": Box(752, 96, 132, 74, "one trace as a picture", "stage"),
    "flame": Box(752, 191, 132, 74, "flame graphs, pprof", "stage"),
    "diff": Box(752, 286, 132, 74, "two sides of runs", "stage"),
    "export": Box(568, 474, 316, 62, "Parquet for fleets", "stage"),
    "sqlite": Box(568, 558, 316, 62, "tables of Nsight Systems", "stage"),
    "hang": Box(568, 390, 316, 62, "why a job stands still, from live states", "stage"),
    "command": Box(920, 96, 140, 524, "one file for each command: options, then the calls of the folders", "box"),
}
ANALYSIS_FLOW = []

STYLE = """
    .page { fill: #ffffff; }
    .box { fill: #f4f6f8; stroke: #57606a; stroke-width: 1.2; }
    .stage { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.2; }
    .side { fill: #fff8c5; stroke: #9a6700; stroke-width: 1.2; }
    .arrow { fill: none; stroke: #57606a; stroke-width: 1.6; marker-end: url(#head); }
    .tip { fill: #57606a; }
    .flow { fill: none; stroke: #0969da; stroke-width: 4; marker-end: url(#flow); }
    .flowtip { fill: #0969da; }
    text { fill: #1f2328; }
    .title { font-weight: 600; font-size: 16px; }
    .name { font-weight: 600; font-size: 14px; }
    .small { font-size: 12px; fill: #57606a; }
    .part { font-size: 12px; font-style: italic; fill: #57606a; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; }
      .box { fill: #21262d; stroke: #8b949e; }
      .stage { fill: #0c2d4a; stroke: #58a6ff; }
      .side { fill: #3b2f0b; stroke: #d29922; }
      .arrow { stroke: #8b949e; }
      .tip { fill: #8b949e; }
      .flow { stroke: #58a6ff; }
      .flowtip { fill: #58a6ff; }
      text { fill: #e6edf3; }
      .small, .part { fill: #9da7b1; }
    }"""


class Wrong(Exception):
    pass


# ---- Folders and their includes ------------------------------------------------------------------------------------------


def agent_folder_of(file):
    """The folder in src/agent or of what is shared; None: the file is the analysis's or the command's."""
    parts = file.split("/")
    if parts[0] == "agent":
        return parts[1]
    return parts[0] if parts[0] not in ("analysis", "command") else None


def analysis_folder_of(file):
    """The folder in src/analysis, or the command. `stat/base` is one of its own, because `code` is between it and the tables."""
    parts = file.split("/")
    if parts[0] != "analysis":
        return parts[0] if parts[0] == "command" else None
    return "stat/base" if parts[1:3] == ["stat", "base"] else parts[1]


def folders_of(includes, folder_of, boxes):
    """{folder: folders that it includes}"""
    found = {}
    for file, others in includes.items():
        if folder := folder_of(file):
            found.setdefault(folder, set()).update({folder_of(other) for other in others} - {folder, None})
    if set(found) != set(boxes):
        raise Wrong(f"folders without a box: {sorted(set(found) - set(boxes))}; boxes without a folder: {sorted(set(boxes) - set(found))}")
    return found


def direct(leads):
    """The includes that no path of other includes implies (the transitive reduction)."""
    def reached(start):
        seen, todo = set(), list(leads[start])
        while todo:
            folder = todo.pop()
            if folder not in seen:
                seen.add(folder)
                todo.extend(leads[folder])
        return seen
    reach = {folder: reached(folder) for folder in leads}
    if circle := sorted(folder for folder in leads if folder in reach[folder]):
        raise Wrong(f"these folders include each other in a circle: {', '.join(circle)}")
    return sorted((a, b) for a, others in leads.items() for b in others if not any(b in reach[other] for other in others))


def parts_of(house, folder):
    """The folders in a folder of a house, or in one of src."""
    place = ROOT / "src" / house / folder
    return sorted(path.name for path in (place if place.is_dir() else ROOT / "src" / folder).iterdir() if path.is_dir())


# ---- The picture ---------------------------------------------------------------------------------------------------------


def free_place(low, high, blocked, wanted):
    """The place nearest to `wanted` between low and high that is in none of the intervals; None: there is none."""
    edges = [wanted, low, high] + [edge for interval in blocked for edge in interval]
    places = [edge for edge in edges if low <= edge <= high and not any(begin < edge < end for begin, end in blocked)]
    return min(places, key=lambda place: abs(place - wanted), default=None)


def arrow(boxes, a, b):
    """The ends of a straight line from box a to box b that touches no other box."""
    start, end = boxes[a], boxes[b]
    others = [box for name, box in boxes.items() if name not in (a, b)]
    low, high = max(start.x, end.x) + MARGIN, min(start.x + start.width, end.x + end.width) - MARGIN
    if low <= high:
        top, bottom = sorted((start, end), key=lambda box: box.y)
        blocked = [(box.x - MARGIN, box.x + box.width + MARGIN) for box in others
                   if top.y + top.height < box.y + box.height and box.y < bottom.y]
        narrow = min(start, end, key=lambda box: box.width)
        if (x := free_place(low, high, blocked, narrow.x + narrow.width / 2)) is not None:
            return (x, start.y + start.height, x, end.y) if start is top else (x, start.y, x, end.y + end.height)
    low, high = max(start.y, end.y) + MARGIN, min(start.y + start.height, end.y + end.height) - MARGIN
    if low <= high:
        left, right = sorted((start, end), key=lambda box: box.x)
        blocked = [(box.y - MARGIN, box.y + box.height + MARGIN) for box in others
                   if left.x + left.width < box.x + box.width and box.x < right.x]
        low_box = min(start, end, key=lambda box: box.height)
        if (y := free_place(low, high, blocked, low_box.y + low_box.height / 2)) is not None:
            return (start.x + start.width, y, end.x, y) if start is left else (start.x, y, end.x + end.width, y)
    raise Wrong(f"no straight line leads from {a} to {b}: move a box")


def box_text(name, box, parts):
    middle, lines = box.x + box.width / 2, [("name", name)]
    characters = int((box.width - 12) / CHARACTER)
    lines += [("small", line) for line in textwrap.wrap(box.purpose, characters)]
    lines += [("part", line) for line in textwrap.wrap(", ".join(parts), characters)]
    y = box.y + 20
    for look, text in lines:
        if y > box.y + box.height - 4:
            raise Wrong(f"the text of {name} does not fit into its box")
        yield f'  <text class="{look}" x="{middle:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>\n'
        y += 16


def picture(title, notes, boxes, arrows, flow, parts):
    width = max(box.x + box.width for box in boxes.values()) + 20
    height = max(box.y + box.height for box in boxes.values()) + 20
    text = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title text" '
            f'font-family="system-ui, -apple-system, \'Segoe UI\', Helvetica, Arial, sans-serif" font-size="14">\n'
            f'  <!-- by tools/gen_architecture.py: do not edit -->\n'
            f'  <title id="title">{title}</title>\n'
            f'  <desc id="text">{"; ".join(f"{a} includes {b}" for a, b in arrows)}</desc>\n'
            f'  <style>{STYLE}\n  </style>\n  <defs>\n')
    for mark, look, size in (("head", "tip", 8), ("flow", "flowtip", 3)):
        text += (f'    <marker id="{mark}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="{size}" markerHeight="{size}" '
                 f'orient="auto"><path class="{look}" d="M0 0 L10 5 L0 10 z"/></marker>\n')
    text += f'  </defs>\n  <rect class="page" width="{width}" height="{height}"/>\n  <text class="title" x="20" y="32">{title}</text>\n'
    for line, note in enumerate(notes):
        text += f'  <text class="small" x="20" y="{54 + 18 * line}">{escape(note)}</text>\n'
    for a, b in arrows:
        x1, y1, x2, y2 = arrow(boxes, a, b)
        text += f'  <path class="arrow" d="M{x1:g} {y1:g} L{x2:g} {y2:g}"/>\n'
    for a, b, _ in flow:
        start, end = boxes[a], boxes[b]
        text += f'  <path class="flow" d="M{start.x + start.width} {start.y + 56} H{end.x}"/>\n'
    for name, box in boxes.items():
        text += f'  <rect class="{box.look}" x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="5"/>\n'
        text += "".join(box_text(name, box, parts(name)))
    for a, b, what in flow:
        middle = (boxes[a].x + boxes[a].width + boxes[b].x) / 2
        text += f'  <text class="small" x="{middle:g}" y="{boxes[a].y - 8}" text-anchor="middle">{what}</text>\n'
    return text + "</svg>\n"


def pictures():
    includes = includes_of(sources())
    agent = direct(folders_of(includes, agent_folder_of, AGENT))
    analysis = direct(folders_of(includes, analysis_folder_of, ANALYSIS))
    return {
        ROOT / "docs/images/architecture-agent.svg": picture(
            "The agent: folders of src/agent/, and model, yaml, cli and base, which the analysis uses, too",
            ["A gray arrow goes from a folder to one that it includes; includes that follow from others are left out.",
             "Blue: the stages, and the data from one to the next. Yellow: recording, replay and sharing."],
            AGENT, agent, AGENT_FLOW, lambda name: parts_of("agent", name)),
        ROOT / "docs/images/architecture-analysis.svg": picture(
            "The analysis: folders of src/analysis/, and the command that calls them",
            ["Spans flow from left to right. An arrow goes from a folder to one that it includes; includes that follow from others are left out.",
             "Not shown: base, model, yaml and cli, which all of them may include."],
            ANALYSIS, analysis, ANALYSIS_FLOW,
            lambda name: [part for part in parts_of("analysis", name) if f"{name}/{part}" not in ANALYSIS]),
    }


def differences(path, text):
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    name = str(path.relative_to(ROOT))
    return list(difflib.unified_diff(old.splitlines(True), text.splitlines(True), name, name + " (made again)", n=1))


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    try:
        made = pictures()
    except Wrong as wrong:
        print(f"{Path(__file__).name}: {wrong}")
        return 1
    changed = [line for path, text in made.items() for line in differences(path, text)]
    if sys.argv[1:]:
        sys.stdout.writelines(changed)
        return int(bool(changed))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
