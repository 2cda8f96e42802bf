"""Measures what cuspan_startup.pth costs a Python that starts without the agent, compared with a .pth file that has only
a comment. Compare columns of one run: the machine may be busy, so processes with different files take turns.

python3 tests/startup_cost.py [--rounds N] [PYTHON...]    default: this one

  cold  time of site.addpackage(), the first call in a new process
  warm  the same call, repeated in the same process
  all   wall-clock time of a whole process with the file in its environment, which runs a script of some lines"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Once the first file with any content is decoded, which CPython 3.13 and later do with a codec that it imports.
ONE = """
import site, sys, time
folder, name = sys.argv[1:]
site.addpackage(folder, "comment.pth", set())
for _ in range(2):
    start = time.perf_counter_ns()
    site.addpackage(folder, name, set())
    print(time.perf_counter_ns() - start)
"""
# Most programs compile a script, and so run much of the compiler anyway.
SCRIPT = """
import sys

def main(names):
    try:
        for name in names[1:]:
            print(f"{name!r}")
    except OSError as error:
        print(error)
    return [len(name) for name in names if name] and 0

main(sys.argv)
"""
NAMES = "comment", "import", "cuspan"


def files(folder):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "_build"))
    import package

    texts = {"comment": "#\n", "import": "import sys\n", "cuspan": package._STARTUP}
    for name, text in texts.items():
        Path(folder, f"{name}.pth").write_text(text)
    return texts


def environment():
    return {
        name: value
        for name, value in os.environ.items()
        if name != "CUDA_INJECTION64_PATH" and not name.startswith("PYTHON")
    }


def calls(python, folder, rounds):
    """{name: ([cold], [warm])} in microseconds."""
    script = Path(folder, "one.py")
    script.write_text(ONE)
    times = {name: ([], []) for name in NAMES}
    for _ in range(rounds):
        for name in random.sample(NAMES, len(NAMES)):
            done = subprocess.run(
                [python, "-S", "-E", str(script), folder, f"{name}.pth"],
                env=environment(), stdout=subprocess.PIPE, text=True, check=True,
            )  # fmt: skip
            for numbers, value in zip(times[name], done.stdout.split()):
                numbers.append(int(value) / 1000)
    return times


def processes(python, folder, texts, rounds):
    """{name: [microseconds]} of whole processes, in environments that differ in one file."""
    commands = {}
    script = Path(folder, "script.py")
    script.write_text(SCRIPT)
    for name, text in texts.items():
        home = Path(folder, name)
        subprocess.run([python, "-m", "venv", "--without-pip", str(home)], check=True)
        (packages,) = home.glob("lib/python3.*/site-packages")
        (packages / "first.pth").write_text("#\n")
        (packages / "second.pth").write_text(text)
        commands[name] = [str(home / "bin/python3"), str(script)]
    times = {name: [] for name in NAMES}
    for _ in range(rounds):
        for name in random.sample(NAMES, len(NAMES)):
            start = time.perf_counter_ns()
            child = os.posix_spawn(commands[name][0], commands[name], environment())
            os.waitpid(child, 0)
            times[name].append((time.perf_counter_ns() - start) / 1000)
    return times


def median_and_interval(differences):
    """With the 95 % interval of the median."""
    ordered = sorted(differences)
    half = len(ordered) / 2
    margin = 0.98 * len(ordered) ** 0.5
    low, high = max(0, int(half - margin)), min(len(ordered) - 1, int(half + margin))
    return f"{statistics.median(ordered):6.1f} ({ordered[low]:.1f} to {ordered[high]:.1f})"


def report(python, rounds):
    version = subprocess.run([python, "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    print(f"{version}, us, median of {rounds} (95 % interval), least of each")
    with tempfile.TemporaryDirectory(prefix="cuspan-startup-cost-") as folder:
        texts = files(folder)
        inside = calls(python, folder, rounds)
        whole = processes(python, folder, texts, rounds)
        columns = {"cold": {n: inside[n][0] for n in NAMES}, "warm": {n: inside[n][1] for n in NAMES}, "all": whole}
        for column, times in columns.items():
            print(f"  {column:4}  comment {statistics.median(times['comment']):8.1f}", end="")
            for name in NAMES[1:]:
                differences = [value - base for value, base in zip(times[name], times["comment"])]
                least = min(times[name]) - min(times["comment"])
                print(f"   {name} + {median_and_interval(differences)}, least {least:.1f}", end="")
            print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("python", nargs="*", default=[sys.executable])
    arguments = parser.parse_args()
    for python in arguments.python:
        report(python, arguments.rounds)


if __name__ == "__main__":
    main()
