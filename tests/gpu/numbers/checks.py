"""Shared by the scripts of tests/gpu/numbers/numbers.sh: a line for each check, a summary, programs that run with a
time limit and without variables of ours, and continuing after a failure.

A script makes one Checks, calls part() for each of its parts and ends with sys.exit(checks.end())."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
OURS = re.compile(r"CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|LD_PRELOAD|NO_COLOR|TAP_")
SHOWN = 6  # maximum differences of one kind


class Failure(Exception):
    """Ends a part: a failed check, with its text."""


class Done:
    """How a program ended. `status` is a number, or "no end after S s"."""

    def __init__(self, command, status, out, err, seconds):
        self.command, self.status, self.out, self.err, self.seconds = command, status, out, err, seconds

    def wanted(self, *statuses):
        """Returns itself if it ended as expected; else raises a Failure with the output."""
        if self.status not in (statuses or (0,)):
            said = (self.out + self.err).strip().splitlines()[-6:]
            raise Failure(f"status {self.status}, it said: {' / '.join(said)[-600:]}; it was: {' '.join(self.command)}")
        return self


def clean_environment(**more):
    return {**{key: value for key, value in os.environ.items() if not OURS.match(key)}, "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1", **{key: str(value) for key, value in more.items()}}


def run(command, limit=60, cwd=None, **environment):
    """Runs it in its own process group, which is killed after `limit` seconds. Its output goes to files, not to pipes,
    because a remaining daemon, like that of Nsight Systems, would hold pipes open."""
    command = [str(part) for part in command]
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                   env=clean_environment(**environment), start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = f"no end after {limit} s"
        finally:  # also if this script is ended
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said = []
        for file in out, err:
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
    return Done(command, status, *said, time.monotonic() - begin)


class Checks:
    def __init__(self, name, folder):
        self.name, self.folder = name, Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.passed = self.failed = 0
        self.left_out, self.figures = [], {}
        self.began = time.monotonic()
        self.where = ""
        if threading.current_thread() is threading.main_thread():  # sent at a time limit: the program ends with us
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"{name}: ended by SIGTERM"))

    def say(self, text):
        print(text, flush=True)

    def check(self, is_right, text):
        self.passed += bool(is_right)
        self.failed += not is_right
        self.say(f"{'ok    ' if is_right else 'FAILED'} {self.where}: {text}")
        return is_right

    def none(self, differences, text):
        """Passes if there are no differences; prints the first of them."""
        differences = list(differences)
        self.check(not differences, f"{text}" if not differences else f"{text}: {len(differences)} differ")
        for line in differences[:SHOWN]:
            self.say(f"           {line}")
        return not differences

    def leave_out(self, text):
        self.left_out.append(text)
        self.say(f"left out {self.where}: {text}")

    def figure(self, name, value, text=""):
        """A result for the folder's figures.json."""
        self.figures[f"{self.where}: {name}"] = value
        self.say(f"       {self.where}: {name}: {text or value}")

    def part(self, name, function, *arguments):
        """A part that fails is one failed check, and the others run."""
        self.where = name
        begin = time.monotonic()
        try:
            function(*arguments)
        except Failure as failure:
            self.check(False, str(failure))
        except Exception as error:  # any exception: the others must run
            self.check(False, f"{type(error).__name__}: {error}")
            self.say("".join(traceback.format_tb(error.__traceback__)[-3:]).rstrip())
        self.say(f"       {name}: {time.monotonic() - begin:.1f} s")
        self.write()

    def write(self):
        (self.folder / f"{self.name}.json").write_text(json.dumps(
            {"passed": self.passed, "failed": self.failed, "left_out": self.left_out, "figures": self.figures}, indent=1) + "\n")

    def end(self):
        """The exit status: a script that checked nothing has failed, too."""
        self.write()
        is_well = self.passed and not self.failed
        self.say(f"{self.name}: {'passed' if is_well else 'FAILED'}: {self.failed} of {self.passed + self.failed} checks failed, "
                 f"{len(self.left_out)} parts left out, {time.monotonic() - self.began:.0f} s")
        return 0 if is_well else 1


def python_has(module, also=""):
    """Whether python3 can import it (and `also` is true)."""
    return run([sys.executable, "-c", f"import {module}\n{also}"], 120).status == 0


def has_torch():
    return python_has("torch", "assert torch.cuda.is_available()")
