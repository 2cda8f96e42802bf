"""Evaluates the runs of an interleaved benchmark: ratios in pairs, their median over the rounds, and its confidence
interval.

A run is {"app", "config", "series", "round", "figures": {name: value}}. Two runs of the same application, series and
round are a pair; machines drift from minute to minute, so nothing else is ever compared.
"""

from math import comb
from statistics import median


def interval(values, confidence=0.95):
    """The exact order-statistic interval of the median, (low, high): of n sorted values, the k-th from either end, with
    the largest k for which the interval contains the median with at least that confidence, for any distribution. None
    if there are too few values (fewer than six for 95 %)."""
    ordered = sorted(values)
    count = len(ordered)
    outside, k = 0.0, 0
    while k < count // 2:
        outside += 2 * comb(count, k) / 2 ** count
        if outside > 1 - confidence:
            break
        k += 1
    return (ordered[k - 1], ordered[count - k]) if k else None


class Estimate:
    """A median with its interval, or with its range if there are too few values for an interval."""

    def __init__(self, values):
        self.values = list(values)
        self.median = median(self.values)
        found = interval(self.values)
        self.is_sure = found is not None
        self.low, self.high = found or (min(self.values), max(self.values))

    @property
    def width(self):
        return self.high - self.low


def by_pair(runs, app, config, figure):
    """{(series, round): value}"""
    return {(run["series"], run["round"]): run["figures"][figure] for run in runs
            if run["app"] == app and run["config"] == config and figure in run["figures"]}


def pairs(runs, app, config, reference, figure):
    """[(value, the reference's value)], in the order of the rounds."""
    ours, theirs = by_pair(runs, app, config, figure), by_pair(runs, app, reference, figure)
    return [(ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys())]


def value(runs, app, config, figure):
    """Estimate of the figure itself in the rounds that all configurations share, or None."""
    found = [v for (series, _), v in by_pair(runs, app, config, figure).items() if series == "rounds"]
    return Estimate(found) if found else None


def ratio(runs, app, config, reference, figure):
    found = [a / b for a, b in pairs(runs, app, config, reference, figure) if b]
    return Estimate(found) if found else None


def difference(runs, app, config, reference, figure):
    found = [a - b for a, b in pairs(runs, app, config, reference, figure)]
    return Estimate(found) if found else None
