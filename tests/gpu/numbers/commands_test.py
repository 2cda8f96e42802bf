#!/usr/bin/env python3
"""`cuspan overhead`, `cuspan diff` and `cuspan top` on a GPU: checks properties that hold for any program. Called by
numbers.sh.

    commands_test.py BUILD OUT CUPTI-LIBRARY STEADY VECTOR-ADD THREADS     (programs; steady.cu, examples/)
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks import Checks, Failure, clean_environment, run  # noqa: E402

LEVELS = ["none", "asleep", "summary", "default", "graph-nodes", "full"]
ROUNDS = 2000
RUNS = 5  # per side: with four, the smallest p is 2 / 70
SLOWER = 20
RATE = 0.2  # top's rate over some seconds, compared with the program's own over the whole run


class Commands:
    def __init__(self, checks, build, folder, cupti, steady, vector_add, threads):
        self.checks, self.cuspan, self.cupti = checks, Path(build).resolve() / "cuspan", cupti
        self.folder = Path(folder).resolve()
        self.steady, self.vector_add, self.threads = steady, vector_add, threads

    # --- cuspan overhead ---

    def overhead(self, program, rounds, levels):
        done = run([self.cuspan, "overhead", "--json", "-q", "--rounds", rounds, "--levels", ",".join(levels), "--set",
                    f"cupti.library={self.cupti}", "--", program], 90).wanted()
        (self.folder / f"overhead-{Path(program).stem}.json").write_text(done.out)
        rows = {row["level"]: row for row in json.loads(done.out)["overhead"]}
        self.checks.check(list(rows) == levels, f"every level has its row: {list(rows)}")
        self.checks.check(all(row["runs"] == rounds for row in rows.values()), f"each ran {rounds} times")
        wrong = [f"{level}: {row}" for level, row in rows.items() if "whole_ns" in row and
                 (row.get("callback_ns", 0) > row["whole_ns"] or
                  row.get("callback_ns", 0) + row.get("rest_ns", row["whole_ns"]) != row["whole_ns"])]
        self.checks.none(wrong, "own time in callbacks is not above the whole, and with the rest it is the whole")
        self.checks.none([f"{level}: {row}" for level, row in rows.items() if "wall_ratio_low" in row and
                          not row["wall_ratio_low"] <= row["wall_ratio"] <= row["wall_ratio_high"]], "each ratio lies in its interval")
        self.checks.none([f"{level}: {row['lost']}" for level, row in rows.items() if row.get("lost")], "nothing is lost")
        spans = [rows[level].get("spans", 0) for level in LEVELS if level in rows]
        self.checks.check(spans == sorted(spans) and spans[-1] > spans[0] == 0, f"the more detail, the more spans: {spans}")
        for level, row in rows.items():
            if "wall_ratio" in row:
                self.checks.figure(level, {key: row.get(key) for key in ("wall_ratio", "wall_ratio_low", "wall_ratio_high",
                                                                         "callback_ns", "rest_ns", "whole_ns")},
                                   f"{row['wall_ratio']:.3f} x, {row.get('callback_ns', 0) / 1e3:.0f} us in callbacks of "
                                   f"{row.get('whole_ns', 0) / 1e3:.0f}")

    # --- cuspan diff ---

    def record(self, name, *command):
        target = self.folder / f"{name}.cuspanrec"
        target.unlink(missing_ok=True)
        run([self.cuspan, "record", "-q", "--set", f"cupti.library={self.cupti}", "--set", "rings.total_bytes=67108864",
             "--set", "memory_bytes_max=268435456", "-o", target, "--", *command], 40).wanted()
        return target

    def diff(self, base, new, statuses):
        done = run([self.cuspan, "diff", "--json", "--base", *base, "--new", *new], 60).wanted(*statuses)
        return done.status, json.loads(done.out)

    def sides(self, name, commands):
        """RUNS recordings of each command, alternating, so that a drift affects all."""
        found = [[] for _ in commands]
        for number in range(RUNS):
            for side, command in enumerate(commands):
                found[side].append(self.record(f"{name}-{side}-{number}", *command))
        return found

    def diff_of_itself(self, name, command):
        """One false alarm in twenty comparisons is allowed; two in a row for the same item occur once in many
        hundred."""
        alarms = []
        for attempt in range(2):
            base, new = self.sides(f"{name}-self", [command, command])
            status, found = self.diff(base, new, (0, 1))
            alarms.append(regressions_of(found))
            if status == 0:
                break
        common = set.intersection(*map(set, alarms))
        self.checks.check(not common, f"{name} with itself, {RUNS} runs a side: no regression" if not any(alarms) else
                          f"{name} with itself: alarms {alarms}")

    def diff_slower(self):
        """The slower kernel is found with recordings and with a baseline, and no other kernel is; then in the other
        direction."""
        command = [self.steady, "--rounds", ROUNDS]
        base, new = self.sides("slower", [command, [*command, "--slower", SLOWER]])
        baseline = self.folder / "steady-baseline.json"
        run([self.cuspan, "stat", "--save", baseline, *base], 60).wanted()
        for what, side in ("recordings", base), ("a baseline", [baseline]):
            status, found = self.diff(side, new, (0, 1))
            kernels = [name for kind, name in regressions_of(found) if kind == "kernel"]
            self.checks.check(status == 1 and len(kernels) == 1 and kernels[0].startswith("third("),
                              f"against {what} a kernel that is {SLOWER} % slower is the kernel that is found: status {status}, {kernels}")
            row = next((row for row in found["regressions"] if row["name"].startswith("third(")), {})
            change = row.get("change_share", 0)
            self.checks.check(0.6 * SLOWER / 100 < change < 1.4 * SLOWER / 100, f"its change is told as {100 * change:+.1f} %")
        status, found = self.diff(new, base, (0, 1))
        self.checks.check(not [name for kind, name in regressions_of(found) if kind == "kernel"],
                          "the other way round no kernel is slower")

    # --- cuspan top ---

    def top(self):
        sockets = Path(tempfile.mkdtemp(prefix="cuspan-top-"))  # a socket's path has at most 107 characters
        program = subprocess.Popen([self.cuspan, "run", "--file", "/dev/null", "--set", f"cupti.library={self.cupti}", "--set",
                                    f"control.directory={sockets}", "--", self.steady, "--seconds", "16",
                                    "--times", "10"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(),
                                   start_new_session=True)
        try:
            until = time.monotonic() + 15
            while not list(sockets.glob("*.sock")) and time.monotonic() < until:
                if program.poll() is not None:
                    raise Failure("the program has ended: " + " / ".join(program.communicate()))
                time.sleep(0.1)
            time.sleep(1)
            text = run([self.cuspan, "top", "--once", "--interval", "2", "--directory", sockets, "--width", "120"], 30).wanted().out
            line = run([self.cuspan, "top", "--once", "--json", "--interval", "4", "--directory", sockets], 30).wanted().out
            out, err = program.communicate(timeout=40)
        finally:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.communicate()
            shutil.rmtree(sockets, True)
        (self.folder / "top.txt").write_text(text)
        self.look(text, json.loads(line.splitlines()[-1]), out, err)

    def look(self, text, looked, out, err):
        said = re.search(r"rounds (\d+) seconds ([\d.]+)", out)
        if not said:
            raise Failure(f"the program said {out!r} {err!r}")
        rate = int(said[1]) / float(said[2])
        name = Path(self.steady).name
        self.checks.check(name[:15] in text and all(kernel in text for kernel in ("first", "second", "third")),
                          "the screen names the program and its three kernels")
        (agent,) = looked["agents"]
        (device,) = agent["devices"]
        seconds = agent["window_ns"] / 1e9
        for what, got, wanted in (("launches", agent["launches"], 3 * rate), ("kernels", device["kernels"], 3 * rate),
                                  ("copies", device["copies"], 2 * rate), ("bytes copied", device["copy_bytes"], 2 * rate * 2**20)):
            self.checks.check(abs(got / seconds - wanted) <= RATE * wanted,
                              f"{what} a second: {got / seconds:.0f}, the program's own word {wanted:.0f}, within {100 * RATE:.0f} %")
        kernels = {kernel["name"]: kernel["total_ns"] for kernel in agent["kernels"]}
        all_ns = sum(kernels.values()) + agent["kernels_other"]["total_ns"]
        self.checks.check(abs(all_ns - device["kernel_ns"]) <= 0.01 * all_ns,
                          f"the kernels' times are all of the kernels': {kernels}")
        self.checks.check(0 < device["kernel_ns"] <= device["busy_ns"] + 1e6 <= agent["window_ns"] * 1.3,
                          f"kernels {device['kernel_ns']} ns, busy {device['busy_ns']} of {agent['window_ns']}")
        self.checks.check(agent["lost_since_begin"] == 0, "nothing is lost")


def regressions_of(found):
    """[(kind, name)] of a diff's table."""
    return [(row["kind"], row["name"]) for row in found["regressions"]]


def main():
    checks = Checks("commands", sys.argv[2])
    commands = Commands(checks, *sys.argv[1:])
    checks.part("overhead of vector_add", commands.overhead, commands.vector_add, 6, LEVELS)
    checks.part("overhead of threads", commands.overhead, commands.threads, 3, ["none", "summary", "default", "full"])
    checks.part("top", commands.top)
    checks.part("diff with a slower kernel", commands.diff_slower)
    checks.part("diff of steady", commands.diff_of_itself, "steady", [commands.steady, "--rounds", ROUNDS])
    checks.part("diff of threads", commands.diff_of_itself, "threads", [commands.threads])
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
