#!/usr/bin/env python3
"""Runs each test of a build many times while other load keeps all processors busy.

    stress.py --build DIRECTORY [--runs N] [--minutes M] [--state FILE] [REGEX]

REGEX selects tests by their ctest names. A call stops after M minutes, and the next one continues where it stopped:
FILE has the number of runs of each test. They count for one state of the committed code (documents aside): with another
one, counting starts again. The output of each failed run is kept beside FILE.
Exit status: 0 if no run failed, 1 otherwise. The line "all runs are done" says that nothing is left to do.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HANG_S = 1800  # no test takes this long, however busy the machine is
CODE = ("CMakeLists.txt", "cmake", "config", "docker", "examples", "include", "python", "src", "tests", "tools")
LOAD = "while True: pass"
AT_ONCE = 3 * os.cpu_count()  # tests wait for most of their time


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def tests_of(build, pattern):
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    for test in json.loads(listing.stdout)["tests"]:
        if re.search(pattern, test["name"]):
            properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
            environment = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
            yield test["name"], test["command"], environment, properties.get("WORKING_DIRECTORY")


def code_hash():
    """Identifies the committed files that tests depend on."""
    files = git("ls-tree", "-r", "HEAD", *CODE)
    code = [line for line in files.splitlines() if not line.endswith(".md")]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()


class State:
    """The runs so far."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        code = code_hash()
        self.data = json.loads(path.read_text()) if path.exists() else {}
        if self.data.get("code") != code:
            self.data = {"code": code, "commit": git("rev-parse", "HEAD"), "runs": {}, "failures": []}

    def add(self, name, failure):
        with self.lock:
            self.data["runs"][name] = self.data["runs"].get(name, 0) + 1
            if failure:
                self.data["failures"].append(failure)
            replacement = self.path.with_suffix(".new")
            replacement.write_text(json.dumps(self.data, indent=1))
            replacement.replace(self.path)


def still():
    """Some sanitizers cannot cope with the address space as newer kernels lay it out."""
    command = ["setarch", os.uname().machine, "-R"]
    works = subprocess.run([*command, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return command if works.returncode == 0 else []


def default_signals():
    """A shell starts jobs in the background with SIGINT and SIGQUIT ignored, and tests of signals need them."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def run(command, environment, folder, log):
    """Returns the exit status, or "hangs"."""
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder,
                                   env={**os.environ, **environment}, start_new_session=True, preexec_fn=default_signals)
        try:
            return process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "hangs"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=50)
    parser.add_argument("--state", type=Path)
    parser.add_argument("pattern", nargs="?", default="^integration/")
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    path = options.state or options.build / "stress" / "runs.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    state, prefix = State(path), still()
    tests = list(tests_of(options.build, options.pattern))
    if not tests:
        sys.exit(f"no test matches {options.pattern}")
    # All tests a first time, then all a second time: a call that is cut short has run each of them.
    pending = [(test, number) for number in range(1, options.runs + 1) for test in tests
               if number > state.data["runs"].get(test[0], 0)]
    done, passed, skipped, failures = 0, 0, {}, []

    def one(item):
        nonlocal done, passed
        (name, command, environment, folder), number = item
        if time.monotonic() > end:
            return
        log = path.parent / f"{name.replace('/', '-')}-{number}.log"
        status = run([*prefix, *command], environment, folder, log)
        failure = f"{name}, run {number}: {status}; see {log}" if status not in (0, 77) else None
        state.add(name, failure)
        done += 1
        if failure:
            failures.append(failure)
            print(f"failed {failure}", flush=True)
            return
        if status == 77:
            skipped[name] = re.sub(r"(?s).*^skipped: ", "", log.read_text(errors="replace"), flags=re.M).strip()
        else:
            passed += 1
        log.unlink()

    load = [subprocess.Popen([sys.executable, "-c", LOAD]) for _ in range(os.cpu_count())]
    try:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(one, pending))
    finally:
        for process in load:
            process.kill()
            process.wait()
    runs = [state.data["runs"].get(name, 0) for name, *_ in tests]
    print(f"{len(tests)} tests at {state.data['commit'][:12]}: between {min(runs)} and {max(runs)} of {options.runs} runs each; "
          f"{len(state.data['failures'])} failures so far")
    if done == len(pending):
        print("all runs are done")
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")
    print(f"{passed} passed, {len(failures)} failed, {len(skipped)} skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
