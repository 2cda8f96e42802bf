#!/usr/bin/env python3
"""Runs the exporters that run.sh has built in turn, in a different order each round, and writes their costs. A run that
lost a span, or sent a wrong one, is an error."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
OURS = "cuspan"
OUR_WORDS = ["none", "gzip", "zstd"]  # one that this build does not know is left out
THEIR_WORDS = ["none", "gzip"]
USE_MALLOC = ["rust", "cpp"]
RUN_SECONDS_MAX = 600


def arguments():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    parser.add_argument("out", nargs="?", help="the file that gets all values, as JSON")
    parser.add_argument("--spans", type=int, default=500_000, help="of one run (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--own", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--jemalloc", help=argparse.SUPPRESS)
    parser.add_argument("--rival", action="append", default=[], help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.spans < 1 or chosen.rounds < 1:
        parser.error("--spans and --rounds are at least 1")
    return chosen


class Receiver:
    def __init__(self, kernels):
        self.process = subprocess.Popen([sys.executable, HERE / "receiver.py", kernels], stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def counts(self):
        with urllib.request.urlopen(f"{self.url}/counts", timeout=RUN_SECONDS_MAX) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        self.process.wait()


def run_once(command, preload, receiver, spans):
    """One run: the program's output, and the receiver's counts."""
    receiver.counts()  # forget what an earlier one may have left
    environment = {**os.environ, "LD_PRELOAD": preload} if preload else None
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS_MAX, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    counts = receiver.counts()
    if counts["spans"] != spans or counts["wrong_spans"]:
        sys.exit(f"{command[0]}: {counts['spans']} of {spans} spans came, {counts['wrong_spans']} of them wrong")
    return {**result, "requests": counts["requests"], "wire_bytes": counts["wire_bytes"] / spans,
            "unpacked_bytes": counts["unpacked_bytes"] / spans}


def knows(program, url, word):
    """Whether our build supports this compression. It reports that before it sends anything."""
    done = subprocess.run([program, url, word, "1"], capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
    if done.returncode and "compression" in done.stderr:
        print(f"{OURS} with {word} is left out: this build does not have it", file=sys.stderr)
        return False
    if done.returncode:
        sys.exit(f"{program}: {done.stderr.strip()}")
    return True


def configurations(chosen, receiver, kernels):
    """Name, compression, program, what is preloaded, further arguments."""
    found = [(OURS, word, chosen.own, None, []) for word in OUR_WORDS if knows(chosen.own, receiver.url, word)]
    for rival in chosen.rival:
        name, program = rival.split("=", 1)
        found += [(name, word, program, None, [kernels]) for word in THEIR_WORDS]
        if chosen.jemalloc and name in USE_MALLOC:
            found += [(f"{name}, jemalloc", word, program, chosen.jemalloc, [kernels]) for word in THEIR_WORDS]
    return found


def measure_rounds(chosen, receiver, found):
    runs = {(name, word): [] for name, word, *_ in found}
    for round_number in range(chosen.rounds):
        shift = round_number % len(found)
        for name, word, program, preload, more in found[shift:] + found[:shift]:
            command = [program, f"{receiver.url}/v1/traces", word, str(chosen.spans), *more]
            runs[name, word].append(run_once(command, preload, receiver, chosen.spans))
        print(f"round {round_number + 1} of {chosen.rounds}", file=sys.stderr)
    return runs


def measure(chosen):
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as kernels:
        subprocess.run([chosen.own, "--kernels"], stdout=kernels, check=True)
        receiver = Receiver(kernels.name)
        try:
            runs = measure_rounds(chosen, receiver, configurations(chosen, receiver, kernels.name))
        finally:
            receiver.close()
    checksums = {run["checksum"] for those in runs.values() for run in those}
    if len(checksums) != 1:
        sys.exit(f"the programs don't make the same numbers: {checksums}")
    return runs


def machine():
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{cpu[1] if cpu else os.uname().machine}, {os.cpu_count()} cores, Linux {os.uname().release}"


def commit():
    def git(*command):
        return subprocess.run(["git", "-C", HERE, *command], capture_output=True, text=True).stdout.strip()
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("-dirty" if git("status", "--porcelain") else "")


def summary_of(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def document(chosen, runs):
    command = f"tests/bench/rivals/run.sh --spans {chosen.spans} --rounds {chosen.rounds}"
    rows = [{"exporter": name, "compression": word, "version": those[0]["version"],
             "cpu_ns": summary_of([run["cpu_ns"] for run in those]),
             "wire_bytes": summary_of([run["wire_bytes"] for run in those]),
             "requests": summary_of([run["requests"] for run in those]),
             "runs": those} for (name, word), those in runs.items()]
    return {"machine": machine(), "commit": commit(), "command": command, "spans": chosen.spans,
            "rounds": chosen.rounds, "units": "per span: ns of CPU, user and system, of the whole process; bytes",
            "exporters": rows}


def print_table(result):
    print(f"{result['machine']}; commit {result['commit']}; `{result['command']}`\n")
    print("| exporter | version | compression | CPU a span, ns: median (min..max) | × ours | bytes a span | requests |")
    print("|---|---|---|---|---|---|---|")
    ours = {row["compression"]: row["cpu_ns"]["median"] for row in result["exporters"] if row["exporter"] == OURS}
    for row in result["exporters"]:
        cpu = row["cpu_ns"]
        print(f"| {row['exporter']} | {row['version']} | {row['compression']} | {cpu['median']:.0f} "
              f"({cpu['min']:.0f}..{cpu['max']:.0f}) | {cpu['median'] / ours[row['compression']]:.1f} | "
              f"{row['wire_bytes']['median']:.1f} | {row['requests']['median']:.0f} |")


def main():
    chosen = arguments()
    result = document(chosen, measure(chosen))
    if chosen.out:
        Path(chosen.out).write_text(json.dumps(result, indent=1) + "\n")
    print_table(result)


if __name__ == "__main__":
    main()
