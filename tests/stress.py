#!/usr/bin/env python3
"""Runs each test of a build many times while other load keeps all processors busy.

    stress.py --build DIRECTORY [--runs N] [--minutes M] [--state FILE] [REGEX]

REGEX selects tests by their ctest names. A call stops after M minutes, and the next one continues where it stopped:
FILE has the number of runs of each test. They count for one state of the committed code: counting starts again for all
tests when anything but documents and tests changes, and for a test when its own file does. The output of each failed
run is kept beside FILE.
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
LOAD = f"import os\nwhile os.getppid() == {os.getpid()}: pass"  # ends with this process, however that ends
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


def code_hashes(tests):
    """{test: hash of the committed files that it depends on}: all except documents and other tests' files."""
    blobs = {}
    for line in git("ls-tree", "-r", "HEAD", *CODE).splitlines():
        what, path = line.split("\t")
        if not path.endswith(".md"):
            blobs[Path(path)] = what
    shared = {path for path in blobs if not path.stem.endswith("_test")}
    return {test: hash_of(blobs, shared | files_of(test, command, blobs)) for test, command, *_ in tests}


def hash_of(blobs, paths):
    return hashlib.sha256("\n".join(f"{path} {blobs[path]}" for path in sorted(paths)).encode()).hexdigest()


def files_of(test, command, blobs):
    """The files NAME_test.* of a test, and those that they mention."""
    found, wanted = set(), {Path(command[0]).stem, test.split("/")[-1] + "_test"}
    while wanted:
        added = {path for path in blobs if path.stem in wanted and path.stem.endswith("_test")} - found
        found |= added
        wanted = {word for path in added for word in re.findall(r"\w+_test\b", (ROOT / path).read_text())}
    return found


class State:
    """{test: {"code": hash, "commit": of the first run, "runs": number, "failures": [...]}}"""

    def __init__(self, path, tests):
        self.path, self.lock = path, threading.Lock()
        self.tests = json.loads(path.read_text()) if path.exists() else {}
        commit = git("rev-parse", "HEAD")
        for test, code in code_hashes(tests).items():
            if self.tests.get(test, {}).get("code") != code:
                self.tests[test] = {"code": code, "commit": commit, "runs": 0, "failures": []}

    def add(self, test, failure):
        with self.lock:
            entry = self.tests[test]
            entry["runs"] += 1
            if failure:
                entry["failures"].append(failure)
            replacement = self.path.with_suffix(".new")
            replacement.write_text(json.dumps(self.tests, indent=1))
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
    tests = list(tests_of(options.build, options.pattern))
    if not tests:
        sys.exit(f"no test matches {options.pattern}")
    state, prefix = State(path, tests), still()
    # All tests a first time, then all a second time: a call that is cut short has run each of them.
    pending = [(test, number) for number in range(1, options.runs + 1) for test in tests
               if number > state.tests[test[0]]["runs"]]
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
    entries = [state.tests[name] for name, *_ in tests]
    runs, commits = [entry["runs"] for entry in entries], sorted({entry["commit"][:12] for entry in entries})
    print(f"{len(tests)} tests at {', '.join(commits)}: between {min(runs)} and {max(runs)} of {options.runs} runs each; "
          f"{sum(len(entry['failures']) for entry in entries)} failures so far")
    if done == len(pending):
        print("all runs are done")
    for name, why in skipped.items():
        print(f"skipped: {name}: {why}")
    print(f"{passed} passed, {len(failures)} failed, {len(skipped)} skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
