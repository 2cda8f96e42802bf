#!/usr/bin/env python3
"""Programs in hostile conditions: output, errno, descriptors and status are the same with and without the agent.

    hostile_hosts_test.py --build DIRECTORY [--long] [CONDITION...]

hostile_host.c has the table of conditions. Each one begins before the agent starts, in the middle of the program or at
its exit, with an agent on a recording and with one that finds no CUPTI. By default each condition is tried at one or two
moments; --long tries all of them, each Python (3.9 and later) that is installed, and each condition in gVisor (runsc), if
it is there.
"""

import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STATUS, UNAVAILABLE = 7, 77
HANG_S = 300  # paying FOREVER_MS, the deadline at exit, takes longer
FOREVER_MS = 600000
MOMENTS = ("start", "middle", "exit")
# The agent can still do all of its work.
HARMLESS = re.compile("nothing|close-[012]|close-standard|no-locked-memory|process-1|deny-network|kill-no-service|cancel.*|jump.*|end-threads.*|"
                      "flush.*|small-stack|deleted-folder|no-environment|other-locale|ignore-signals|block-signals|daemonize|"
                      "small-threads|environment|libraries|forks|python-.*")
LOST = {"cancel": {"lost_ring_full"}, "cancel-asynchronously": {"lost_ring_full"}}  # they fill a ring as fast as they can
# No network, cgroups or KVM of its own; the program writes to this machine's files.
GVISOR = ("runsc", "--platform=ptrace", "--network=none", "--ignore-cgroups", "do", "-quiet", "-force-overlay=false", "--")
LIBRARIES = ("libcuspan.so", "libcuspan-export.so", "libcuspan-replay.so", "libcuspan-thread-ctx.so")


def pythons():
    """The libraries of CPython 3.9 and later, the oldest first, one for each version."""
    found = {}
    for pattern in ("~/.pyenv/versions/*/lib/libpython3.*.so.1.0", "/usr/local/lib/libpython3.*.so.1.0",
                    "/usr/lib/*-linux-gnu/libpython3.*.so.1.0"):
        for path in glob.glob(os.path.expanduser(pattern)):
            minor = int(re.search(r"libpython3\.(\d+)", path)[1])
            if minor >= 9:
                found[minor] = path
    return [found[minor] for minor in sorted(found)]


class Case:
    """One condition at one moment."""

    def __init__(self, build, folder, condition, moment, argument="", gvisor=False):
        self.build, self.folder, self.condition, self.moment, self.argument = build, folder, condition, moment, argument
        self.name = f"{condition} at {moment}" + (f" ({argument})" if argument else "") + (" in gVisor" if gvisor else "")
        self.under = GVISOR if gvisor else ()
        self.runs = 0

    def run(self, how, terminal=False):
        """Returns status, output, lines on standard error, and the report. `how`: bare, replay or no-cupti."""
        self.runs += 1
        place = self.folder / f"{abs(hash(self.name))}-{self.runs}"
        place.mkdir(mode=0o777)
        place.chmod(0o777)  # a condition may change the user
        agent, argument = self.build / LIBRARIES[0], self.argument
        if self.condition in ("uninstall", "replace"):
            argument = place / "lib"
            argument.mkdir()
            for library in LIBRARIES:
                shutil.copy(self.build / library, argument)
            agent = argument / LIBRARIES[0]
        double = self.build / "libcuspan-replay.so"
        settings = {"cupti.library": double if how == "replay" else "/nowhere/libcupti.so", "output_file": place / "spans.jsonl",
                    "accounts_file": place / "report", "exit_deadline_ms": FOREVER_MS, "on_signal": "TERM,INT,HUP",
                    "capture.launch_stacks": "python" if self.condition.startswith("python") else "none"}
        env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "HOSTILE_OUTPUT": str(place / "output"),
               "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items()), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [str(part) for part in (*self.under, self.build / "hostile_host", "-" if how == "bare" else agent, double,
                                          ROOT / "examples/recordings/threads.cuspanrec", self.moment, self.condition, argument)]
        status, out, err = self.on_terminal(command, env) if terminal else self.on_pipes(command, env)
        for file in place.iterdir():  # a condition may have denied them to all
            if file.stat().st_uid == os.geteuid():
                file.chmod(0o700)
        output = place / "output"
        out += output.read_text() if output.exists() else ""
        reports = sorted(place.glob("report.*"))
        report = json.loads(reports[-1].read_text()) if reports else None
        shutil.rmtree(place)
        return status, out, err.splitlines(), report

    @staticmethod
    def on_pipes(command, env):
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=HANG_S, start_new_session=True)
        return done.returncode, done.stdout, done.stderr

    @staticmethod
    def on_terminal(command, env):
        child, terminal = pty.fork()
        if child == 0:
            os.execve(command[0], command, env)
        text = b""
        while True:
            try:
                if not select.select([terminal], [], [], HANG_S)[0] or not (more := os.read(terminal, 4096)):
                    break
            except OSError:  # the end of a terminal
                break
            text += more
        os.close(terminal)
        lines = text.decode().splitlines()
        own = [line for line in lines if line.startswith("cuspan: ")]
        others = [line for line in lines if line not in own]
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "\n".join(others), "\n".join(own)

    def check(self, terminal=False):
        """Returns what is wrong, or None; ("skipped", why) if the condition cannot be made here."""
        try:
            bare = self.run("bare", terminal)
            if bare[0] == UNAVAILABLE:
                return "skipped", bare[2][-1]
            for how in ("replay", "no-cupti"):
                wrong = self.compare(bare, self.run(how, terminal), how)
                if wrong:
                    return "failed", f"{how}: {wrong}"
        except subprocess.TimeoutExpired:
            return "failed", "it hangs"
        return None

    def compare(self, bare, traced, how):
        own = [line for line in traced[2] if line.startswith("cuspan: ")]
        others = [line for line in traced[2] if not line.startswith("cuspan: ")]
        if (traced[0], traced[1], others) != (bare[0], bare[1], bare[2]):
            return f"{traced[:3]} instead of {bare[:3]}"
        report = traced[3]
        if report and report["state"] == "ended" and report.get("unaccounted"):
            return f"{report['unaccounted']} unaccounted"
        if how != "replay" or not HARMLESS.fullmatch(self.condition):
            return None
        lost = set(report["losses"]) - LOST.get(self.condition, set()) if report else {"report"}
        if own and not (report and report["losses"]):
            return f"a warning: {own[0]}"
        if lost or report["state"] != "ended" or report["delivered"] != report["spans"]:
            return f"a report {report and {key: report.get(key) for key in ('state', 'losses', 'spans', 'delivered', 'why')}}"
        if any(step["name"] == "flushers" and step["count"] for step in report["shutdown"]["steps"]) and "cancel" in self.condition:
            return "a cancelled thread is still waited for"
        return None if report["spans"] > 4 else "no spans"


def cases(build, folder, is_long, wanted):
    listed = subprocess.run([build / "hostile_host", "list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    installed = pythons()
    has_gvisor = is_long and shutil.which(GVISOR[0])
    for index, line in enumerate(listed.splitlines()):
        condition, moments = line.split()
        moments = moments.rstrip(",").split(",")
        if wanted and condition not in wanted:
            continue
        if has_gvisor and not condition.startswith("python"):
            yield Case(build, folder, condition, moments[index % len(moments)], gvisor=True)
        if not is_long and not wanted:
            moments = sorted({moments[0], moments[index % len(moments)]})
        for moment in moments:
            if not condition.startswith("python"):
                yield Case(build, folder, condition, moment)
                continue
            chosen = installed if is_long or wanted else installed[index % len(installed):][:1] if installed else []
            for library in chosen or ["no libpython"]:
                yield Case(build, folder, condition, moment, library)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--build", type=Path, required=True)
    arguments.add_argument("--long", action="store_true")
    arguments.add_argument("conditions", nargs="*")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hostile-hosts-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        build = chosen.build.resolve()
        tried = list(cases(build, folder, chosen.long, set(chosen.conditions)))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(Case.check, tried))
        on_terminal = Case(build, folder, "nothing", "middle")
        on_terminal.name = "a terminal"
        tried.append(on_terminal)
        results.append(on_terminal.check(terminal=True))
        with contextlib.suppress(OSError):
            os.rmdir("/sys/fs/cgroup/cuspan-hostile-host")
    failed = 0
    for case, result in zip(tried, results):
        kind, why = result or ("passed", "")
        failed += kind == "failed"
        if kind != "passed":
            print(f"{kind}: {case.name}: {why}")
    print(f"{len(tried)} cases ({sum(bool(case.under) for case in tried)} of them in gVisor), {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
