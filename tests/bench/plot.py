"""Plots as plain SVG, with text as text, readable on white and on dark pages."""

import math
from xml.sax.saxutils import escape

LEFT, RIGHT, WIDTH = 150, 120, 760
MARGIN = 14
ROW, HEAD, FOOT = 20, 30, 26
STYLE = """
    .page { fill: #ffffff; }
    text { fill: #424a53; }
    .title { font-weight: 600; }
    .soft { fill: #6e7781; }
    .grid { stroke: #d0d7de; }
    .one { stroke: #6e7781; stroke-dasharray: 3 3; }
    .cuspan { fill: #0969da; stroke: #0969da; }
    .floor { fill: #6e7781; stroke: #6e7781; }
    .other { fill: #bc4c00; stroke: #bc4c00; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; }
      text { fill: #c9d1d9; }
      .soft { fill: #8b949e; }
      .grid { stroke: #30363d; }
      .cuspan { fill: #58a6ff; stroke: #58a6ff; }
      .floor { fill: #8b949e; stroke: #8b949e; }
      .other { fill: #f0883e; stroke: #f0883e; }
    }
"""


def kind_of(config):
    return "floor" if config.startswith("floor") else "other" if config.startswith(("nsys", "kineto")) else "cuspan"


def step_for(span):
    """1, 2 or 5 times a power of ten, so that about five lines are drawn."""
    power = 10 ** math.floor(math.log10(span / 5))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 6)


def panel(title, rows, top):
    """One figure: a dot for each configuration, a line for its interval. Returns SVG and its height."""
    low = min(1.0, *(ratio.low for _, ratio in rows))
    high = max(1.05, *(ratio.high for _, ratio in rows))
    step = step_for(high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    bottom = top + HEAD + ROW * len(rows)

    def x(value):
        return LEFT + (value / step - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    out = [f'<text class="title" x="0" y="{top + 18}">{escape(title)}</text>']
    for tick in range(first, last + 1):
        at = x(tick * step)
        out += [f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top + HEAD - 4}" y2="{bottom}"/>',
                f'<text class="soft" x="{at:.1f}" y="{bottom + 14}" text-anchor="middle">{tick * step:g}</text>']
    out.append(f'<line class="one" x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{top + HEAD - 4}" y2="{bottom}"/>')
    for i, (config, ratio) in enumerate(rows):
        y = top + HEAD + ROW * i + ROW / 2
        out += [f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(config)}</text>',
                f'<line class="{kind_of(config)}" stroke-width="2" x1="{x(ratio.low):.1f}" x2="{x(ratio.high):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>',
                f'<circle class="{kind_of(config)}" cx="{x(ratio.median):.1f}" cy="{y:.1f}" r="4"/>',
                f'<text x="{WIDTH - RIGHT + 20}" y="{y + 4:.1f}">{ratio.median:.3f} ×</text>']
    return out, bottom - top + FOOT + 8


def ratios(title, panels):
    """Panels [(title, [(configuration, Estimate)])], each with its own scale."""
    body, top = [], 34
    for name, rows in panels:
        drawn, height = panel(name, rows, top)
        body += drawn
        top += height
    key = [f'<text class="title" x="0" y="16" font-size="15">{escape(title)}</text>',
           f'<text class="soft" x="0" y="{top + 12}">dot: median of the pairs; line: 95 % interval of the median, '
           "or the range of fewer than six</text>"]
    lines = "\n  ".join(key + body)
    box = f'x="{-MARGIN}" y="{-MARGIN}" width="{WIDTH + 2 * MARGIN}" height="{top + 20 + 2 * MARGIN}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {WIDTH + 2 * MARGIN} {top + 20 + 2 * MARGIN}" '
            'role="img" aria-labelledby="title" '
            f'font-family="system-ui, -apple-system, \'Segoe UI\', Helvetica, Arial, sans-serif" font-size="13">\n'
            f'  <title id="title">{escape(title)}</title>\n  <style>{STYLE}  </style>\n  <rect class="page" {box}/>\n  {lines}\n</svg>\n')


# ---- growth: both axes by powers of ten ----

GROWTH_HEIGHT, GROWTH_LEFT, GROWTH_RIGHT = 360, 60, 190


def power_of(exponent):
    return f"{10 ** exponent:,}" if 0 <= exponent < 6 else f"10^{exponent}" if exponent >= 6 else f"{10 ** exponent:g}"


def growth(title, unit, series):
    """Lines [(name, kind of STYLE, [(spans, value)])]."""
    points = [point for _, _, line in series for point in line]
    edges = [(math.floor(math.log10(min(values)) + slack), math.ceil(math.log10(max(values)) - slack))
             for values, slack in zip(zip(*points), (0.05, 1e-9))]  # 1.01 * 10^8 spans need no further power
    (left, right), (low, high) = ((first, max(last, first + 1)) for first, last in edges)
    top, bottom = 56, 56 + GROWTH_HEIGHT

    def x(value):
        return GROWTH_LEFT + (math.log10(value) - left) / (right - left) * (WIDTH - GROWTH_LEFT - GROWTH_RIGHT)

    def y(value):
        return bottom - (math.log10(value) - low) / (high - low) * GROWTH_HEIGHT

    out = [f'<text class="title" x="0" y="16" font-size="15">{escape(title)}</text>',
           f'<text class="soft" x="0" y="40">{escape(unit)}</text>',
           f'<text class="soft" x="{x(10 ** right):.1f}" y="{bottom + 34}" text-anchor="end">spans</text>']
    for exponent in range(left, right + 1):
        at = x(10 ** exponent)
        out += [f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>',
                f'<text class="soft" x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{power_of(exponent)}</text>']
    for exponent in range(low, high + 1):
        at = y(10.0 ** exponent)
        out += [f'<line class="grid" x1="{GROWTH_LEFT}" x2="{x(10 ** right):.1f}" y1="{at:.1f}" y2="{at:.1f}"/>',
                f'<text class="soft" x="{GROWTH_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{power_of(exponent)}</text>']
    free = top
    for name, kind, line in sorted(series, key=lambda one: -one[2][-1][1]):
        places = " ".join(f"{x(spans):.1f},{y(value):.1f}" for spans, value in line)
        label = max(y(line[-1][1]) + 4, free)  # labels do not overlap
        free = label + 15
        out += [f'<polyline class="{kind}" style="fill: none" stroke-width="2" points="{places}"/>',
                *(f'<circle class="{kind}" cx="{x(spans):.1f}" cy="{y(value):.1f}" r="3"/>' for spans, value in line),
                f'<text x="{WIDTH - GROWTH_RIGHT + 12}" y="{label:.1f}">{escape(name)}</text>']
    height = max(bottom + 40, free)
    box = f'x="{-MARGIN}" y="{-MARGIN}" width="{WIDTH + 2 * MARGIN}" height="{height + 2 * MARGIN:.0f}"'
    lines = "\n  ".join(out)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {WIDTH + 2 * MARGIN} {height + 2 * MARGIN:.0f}" '
            'role="img" aria-labelledby="title" '
            f'font-family="system-ui, -apple-system, \'Segoe UI\', Helvetica, Arial, sans-serif" font-size="13">\n'
            f'  <title id="title">{escape(title)}</title>\n  <style>{STYLE}  </style>\n  <rect class="page" {box}/>\n  {lines}\n</svg>\n')
