#!/usr/bin/env python3
"""Compares the results of another project's tests with and without the agent, test by test.

    compare.py --bare FILE [--bare FILE] --traced FILE [--name NAME]

FILE: lines of an outcome, a tab and a test (run_pytest.py, samples.py), or JUnit XML (regrtest --junit-xml). A last line "cut" says that
the run was cut off by its limit. Tests that a cut run did not reach are counted, and not compared. A test whose result differs between
two bare runs is flaky: it is listed, and not compared. A difference of explained.txt is listed with its reason. Exit status: 0 if all
others are equal. The last line is "N passed, N failed, N skipped": equal, different, and neither."""

import argparse
import collections
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

EXPLAINED = [line.split("\t") for line in Path(__file__).with_name("explained.txt").read_text(encoding="utf-8").splitlines()
             if not line.startswith("#")]
OUTCOMES = ("failure", "error", "skipped")
UNREACHED = ("not reached",)


def of_xml(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        outcomes = [child.tag for child in case if child.tag in OUTCOMES]
        yield (outcomes or ["passed"])[0], f"{case.get('classname') or ''}::{case.get('name')}"


def of_lines(text):
    for line in text.splitlines():
        outcome, tab, name = line.partition("\t")
        if tab:
            yield outcome, name


class Run:
    """Outcomes by test. A test that runs several times, or has subtests, has several."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        self.results = collections.defaultdict(list)
        for outcome, name in of_xml(path) if text.startswith("<") else of_lines(text):
            self.results[name].append(outcome)
        if not self.results:
            sys.exit(f"{path}: no test in it; see the log beside it")
        self._missing = UNREACHED if text.endswith("cut\n") else ("not run",)

    def of(self, name):
        return tuple(sorted(self.results[name])) if name in self.results else self._missing


def show(outcomes):
    return ", ".join(f"{outcomes.count(one)} {one}" if outcomes.count(one) > 1 else one for one in dict.fromkeys(outcomes))


def judge(bare, traced):
    """equal, different, flaky or unreached"""
    reached = {outcomes for outcomes in bare if outcomes != UNREACHED}
    if len(reached) > 1:
        return "flaky"
    if not reached or traced == UNREACHED:
        return "unreached"
    return "equal" if traced in reached else "different"


def reason_of(name):
    """Why the test may differ; None: it may not."""
    return next((why for pattern, why in EXPLAINED if re.search(f"{pattern}$", name)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bare", action="append", type=Path, required=True)
    parser.add_argument("--traced", type=Path, required=True)
    parser.add_argument("--name", default="")
    options = parser.parse_args()
    bare, traced = [Run(path) for path in options.bare], Run(options.traced)
    verdicts = collections.Counter()
    for name in sorted(set(traced.results).union(*(run.results for run in bare))):
        outcomes = [run.of(name) for run in bare]
        verdict, why = judge(outcomes, traced.of(name)), reason_of(name)
        verdict = "explained" if verdict == "different" and why else verdict
        verdicts[verdict] += 1
        if verdict in ("flaky", "different", "explained"):
            print(f"{verdict}: {name}: bare {' and then '.join(dict.fromkeys(map(show, outcomes)))}, traced {show(traced.of(name))}"
                  + (f": {why}" if verdict == "explained" else ""))
    counts = collections.Counter(outcome for outcomes in traced.results.values() for outcome in outcomes)
    print(f"{options.name or options.traced}: {verdicts.total()} tests, {verdicts['unreached']} of them not reached, "
          f"{verdicts['flaky']} flaky, {verdicts['explained']} different for a known reason; traced: " + ", ".join(f"{counts[one]} {one}" for one in ("passed", *OUTCOMES) if counts[one]))
    print(f"{verdicts['equal']} passed, {verdicts['different']} failed, "
          f"{verdicts['flaky'] + verdicts['unreached'] + verdicts['explained']} skipped")
    return 1 if verdicts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
