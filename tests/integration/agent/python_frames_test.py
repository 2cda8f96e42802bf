#!/usr/bin/env python3
"""The walk of Python frames (src/agent/capture/stacks/) in real Pythons, compared with sys._getframe() at the same place.

    python_frames_test.py --build BUILD-DIR [--all] [--long] [--python PYTHON]... [unittest's arguments]

Without --python it runs in the Python of this test, and with --all in every CPython from 3.9 to 3.15 of this machine, one
per minor version. --walker LIBRARY replaces BUILD-DIR/libpython_walker.so. --long: 10 times as many stacks, and what
cannot be tested counts as a failure. tests/support/python_stacks.py runs inside."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
INSIDE = ROOT / "tests/support/python_stacks.py"
MINORS = range(9, 16)
EXITS = 4

OPTIONS = argparse.Namespace()
PYTHONS = []


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", **more}


def of_this_machine():
    """One CPython per minor version and kind."""
    found = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in MINORS:
        name = f"python3.{minor}"
        paths = [Path("/usr/bin", name), Path("/usr/local/bin", name), *sorted(pyenv.glob(f"3.{minor}.*/bin/python3")),
                 *sorted(pyenv.glob(f"3.{minor}.*t/bin/python3")), *filter(None, [shutil.which(name)])]
        for path in paths:
            ask = "import sys; print(sys.implementation.name, sys.version_info[1], 'free-threading' in sys.version)"
            done = subprocess.run([path, "-c", ask], capture_output=True, text=True, check=False) if os.access(path, os.X_OK) else None
            if done and done.returncode == 0 and done.stdout.startswith(f"cpython {minor} "):
                found.setdefault(done.stdout, str(path))
    return list(found.values())


class Frames(unittest.TestCase):
    def inside(self, python, part, count=0, **env):
        done = subprocess.run([python, INSIDE, OPTIONS.walker, part, str(count * (10 if OPTIONS.long else 1))],
                              capture_output=True, text=True, timeout=900, check=False, env=environment(**env))
        self.assertEqual(done.returncode, 0, f"{python}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stderr, "", python)
        return done.stdout

    def each(self, part, count=0, **env):
        for python in PYTHONS:
            with self.subTest(python=python):
                said = self.inside(python, part, count, **env)
                print(f"{part}: {python}: {said.splitlines()[-1]}")
                self.assertFalse(OPTIONS.long and said.startswith("skipped:"), said)

    def test_random_stacks(self):
        self.each("stacks", 1000)

    def test_just_in_time_compiler(self):
        """Where the build has one: Debian's from 3.14 on."""
        self.each("stacks", 200, PYTHON_JIT="1")

    def test_asyncio(self):
        self.each("asynchronous", 500)

    def test_threads(self):
        self.each("threads", 60)

    def test_reused_addresses(self):
        self.each("reuse", 10000)

    def test_states(self):
        self.each("states")

    def test_interpreters(self):
        self.each("interpreters")

    def test_forks(self):
        self.each("forks")

    def test_greenlets(self):
        self.each("greenlets", 100)

    def test_exit_with_daemon_threads(self):
        """The freed memory is overwritten. Without the check, every run has a walk that reads it."""
        for python in PYTHONS:
            with self.subTest(python=python):
                said = [self.inside(python, "daemons", PYTHONMALLOC="debug", MALLOC_PERTURB_="165")
                        for _ in range(EXITS * (10 if OPTIONS.long else 1))]
                others = sum("other" in text for text in said)
                print(f"daemons: {python}: {others} of {len(said)} exits with another result")
                self.assertLess(others, len(said) / 2)


class Embedded(unittest.TestCase):
    """A program loads libpython late, in a scope of its own, and uses it twice."""
    # NOT_FOUND, then OK; NO_THREAD; EMPTY without a function; FRAMES; afterward NO_THREAD or FINALIZING.
    ONCE = "1 \n0 <string>\tinner\t2\t1\n<string>\touter\t4\t3\n<string>\t<module>\t6\t1\n\n[23] \n"
    EXPECTED = re.compile(f"3\n0\n2 \n{ONCE}{ONCE}$")

    def test_loaded_late(self):
        tested = 0
        for python in PYTHONS:
            ask = "import sysconfig; print(sysconfig.get_config_var('LIBDIR'), sysconfig.get_config_var('INSTSONAME'), sep='/')"
            library = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
            prefix = subprocess.run([python, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True,
                                    check=True).stdout.strip()
            if ".so" not in library or not os.path.exists(library) or not OPTIONS.host.exists():
                continue
            with self.subTest(python=python):
                done = subprocess.run([OPTIONS.host, OPTIONS.walker, library], capture_output=True, text=True, timeout=300,
                                      check=False, env=environment(PYTHONHOME=prefix))
                self.assertEqual((done.returncode, done.stderr), (0, ""), library)
                self.assertRegex(done.stdout, self.EXPECTED)
                tested += 1
        print(f"embedded: {tested} of {len(PYTHONS)} Pythons have a library")


class Layouts(unittest.TestCase):
    def test_committed_table(self):
        """The committed offsets are those of the headers that are here."""
        headers = filter(None, [os.environ.get("PYTHON_HEADERS")])
        done = subprocess.run([sys.executable, ROOT / "tools/gen_python_layouts.py", "--check", *headers], capture_output=True, text=True,
                              check=False, timeout=600)
        print(done.stdout, end="")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(re.search(r": 3\.\d+", done.stdout) or not OPTIONS.long, "no headers")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--walker", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--python", action="append")
    _, rest = parser.parse_known_args(namespace=OPTIONS)
    OPTIONS.walker = OPTIONS.walker or OPTIONS.build.resolve() / "libpython_walker.so"
    OPTIONS.host = OPTIONS.build.resolve() / "python_host"
    PYTHONS[:] = OPTIONS.python or (of_this_machine() if OPTIONS.all else [sys.executable])
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
