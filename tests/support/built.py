"""The build under test, which a test's options --build and --sanitizers describe, and its command, without the settings of who
runs the test."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLEAN = {**{key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))}, "LC_ALL": "C.UTF-8"}


def take_option(name, default):
    """The value of an option, which then is no argument anymore: unittest refuses those that it does not know."""
    if name not in sys.argv:
        return default
    at = sys.argv.index(name)
    value = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    return value


def take_flag(name):
    return name in sys.argv and not sys.argv.remove(name)


BUILD = Path(take_option("--build", ROOT / "build")).resolve()
SANITIZERS = take_option("--sanitizers", "")  # what it was built with


def run(*arguments, **options):
    """`cuspan` with these arguments, after its end."""
    return subprocess.run([BUILD / "cuspan", *map(str, arguments)],
                          **{"capture_output": True, "text": True, "timeout": 600, "check": False, "env": CLEAN, **options})


def output_of(*arguments):
    """Its output, after success."""
    done = run(*arguments, text=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()
