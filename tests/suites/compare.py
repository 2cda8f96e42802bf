#!/usr/bin/env python3
"""Compares the results of another project's tests with and without the agent, test by test.

    compare.py --bare FILE [--bare FILE] --traced FILE [--name NAME]

FILE: JUnit XML (pytest --junitxml, regrtest --junit-xml, samples.py). A test whose result differs between two bare runs is flaky:
it is listed, and not compared. Exit status: 0 if all others are equal. The last line is "N passed, N failed, N skipped": equal,
different and flaky tests."""

import argparse
import collections
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

OUTCOMES = ("failure", "error", "skipped")


def outcome_of(case):
    for child in case:
        if child.tag in OUTCOMES:
            return child.tag
    return "passed"


def read(path):
    """Outcomes by test. A test that runs several times has several outcomes."""
    results = collections.defaultdict(list)
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        results[f"{case.get('classname') or ''}::{case.get('name')}"].append(outcome_of(case))
    if not results:
        sys.exit(f"{path}: no test in it; see the log beside it")
    return {name: tuple(sorted(outcomes)) for name, outcomes in results.items()}


def show(outcomes):
    return "not run" if outcomes is None else ", ".join(outcomes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bare", action="append", type=Path, required=True)
    parser.add_argument("--traced", type=Path, required=True)
    parser.add_argument("--name", default="")
    options = parser.parse_args()
    bare = [read(path) for path in options.bare]
    traced = read(options.traced)
    names = sorted(set(traced).union(*bare))
    flaky = [name for name in names if len({run.get(name) for run in bare}) > 1]
    different = [name for name in names if name not in set(flaky) and traced.get(name) != bare[0].get(name)]
    for name in flaky:
        print(f"flaky: {name}: bare {' and then '.join(show(run.get(name)) for run in bare)}, traced {show(traced.get(name))}")
    for name in different:
        print(f"different: {name}: bare {show(bare[0].get(name))}, traced {show(traced.get(name))}")
    counts = collections.Counter(outcome for outcomes in traced.values() for outcome in outcomes)
    print(f"{options.name or options.traced}: {len(names)} tests; traced: "
          + ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", *OUTCOMES) if counts[outcome]))
    print(f"{len(names) - len(different) - len(flaky)} passed, {len(different)} failed, {len(flaky)} skipped")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
