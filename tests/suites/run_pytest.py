#!/usr/bin/env python3
"""python3 -m pytest ARGUMENTS..., which writes the result of each test to FILE as soon as it is known, so that a run that is cut off
has results, too.

    run_pytest.py ARGUMENTS... FILE

A line is the outcome, a tab and the test. With --test-limit SECONDS and pytest-xdist, a test that takes longer ends its process,
even if it holds the interpreter lock, and the next tests run in another one."""

import faulthandler
import os
import sys

import pytest

FAILED = {"call": "failure"}  # else, in the code around a test: error


class Results:
    def __init__(self, file):
        self._file = file

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self._write(report, FAILED.get(report.when, "error"))

    def pytest_collectreport(self, report):
        if report.outcome == "failed":
            self._write(report, "error")

    def _write(self, report, failed):
        print(failed if report.outcome == "failed" else report.outcome, report.nodeid, sep="\t", file=self._file, flush=True)


# This module as a plugin, in each process of pytest-xdist


def pytest_addoption(parser):
    parser.addoption("--test-limit", type=float, default=0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    limit_s = item.config.getoption("--test-limit")
    if limit_s:
        faulthandler.dump_traceback_later(limit_s, exit=True, file=sys.__stderr__)
    yield
    if limit_s:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    sys.path[:] = [*sys.path[1:], os.getcwd(), sys.path[0]]  # what is installed comes before the sources; this folder is for the plugin
    with open(sys.argv[-1], "w", encoding="utf-8") as results:
        sys.exit(pytest.main(["-p", "run_pytest", *sys.argv[1:-1]], plugins=[Results(results)]))
