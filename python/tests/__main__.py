"""python -m tests [NAME...]: runs all tests, or those of the named files. The last line has the counts."""

import os
import sys
import unittest
from pathlib import Path


def main() -> int:
    names = sys.argv[1:] or sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))
    suite = unittest.defaultTestLoader.loadTestsFromNames([f"tests.{name}" for name in names])
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout, failfast="CUSPAN_TEST_FAILFAST" in os.environ).run(
        suite
    )
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    for test, why in result.skipped:
        print(f"skipped: {test.id()}: {why}")
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or not result.testsRun else 0


sys.exit(main())
