#!/usr/bin/env python3
"""Torture test: for each place where the agent allocates, opens, writes, sends or starts a thread, and for each call
that it makes to CUPTI, a replay in which this call fails. The host must not notice it, and undelivered data must be
reported.

    torture.py --build DIRECTORY [--long] [--jobs N] [SCENARIO.KIND[:N[+]]...]

A dry run finds the calls. If they are few, each one fails in turn. If they are many, the first and the last call of
each place in the code fail, and a hundred others; --long selects all. Then all calls of the kind fail from some call
on. Places in the agent have their function and line if addr2line is installed. `file.memory:17` runs one case and
prints the output of its process.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import accounts  # noqa: E402
import recording  # noqa: E402
import sink  # noqa: E402
from preload import preloadable  # noqa: E402

RECORDING = ROOT / "examples/recordings/vector_add.cuspanrec"
HOST_STATUS, HOST_OUTPUT = 7, "host: done\n"
TIMEOUT_S = 60
FEW = 500  # up to this many calls, each one fails
KINDS = {"file": ["memory", "file", "thread", "cupti"], "http": ["memory", "file", "network", "thread"],
         "record": ["memory", "file", "thread"], "classic": ["cupti"]}
OTHER_ENVIRONMENT = re.compile("CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|.*_proxy$", re.I)


def output_of(scenario, folder, url):
    if scenario == "http":
        return f"otlp_http: {{endpoint: '{url}', encoding: json}}"
    return f"otlp_file/development: {{output_stream: 'file://{folder}/spans.jsonl'}}"


def yaml_of(scenario, folder, build, url):
    """A file with everything for which a YAML reader allocates: anchors, lists, variables."""
    double = "libcuspan-replay-classic.so" if scenario == "classic" else "libcuspan-replay.so"
    record = f"record_file: '{folder}/copy.cuspanrec'" if scenario == "record" else ""
    return f"""file_format: "1.1"
resource:
  attributes: [{{name: service.name, value: &name torture}}, {{name: test.name, value: *name}}]
tracer_provider:
  processors:
  - batch:
      schedule_delay: 50
      exporter:
        {output_of(scenario, folder, url)}
distribution:
  cuspan:
    cupti: {{library: '{build / double}'}}
    accounts_file: '{folder}/report'
    exit_deadline_ms: 3000
    {record}
"""


class Collector:
    """One sink for all replays of a scenario; each posts to its own path."""

    def __init__(self):
        self.sink = sink.Sink()
        self.sink.server.handle_error = lambda *_: None  # broken connections are expected
        self.numbers = itertools.count()

    def requests(self, path):
        return [request for request in self.sink.requests if request.path == path]


class Run:
    """One replay in its own folder."""

    def __init__(self, build, collector, scenario, kind, call=None, onwards=False):
        self.scenario, self.kind, self.call, self.onwards = scenario, kind, call, onwards
        self.folder = Path(tempfile.mkdtemp(prefix="torture-"))
        path = f"/{next(collector.numbers)}"
        try:
            self.start(build, f"http://127.0.0.1:{collector.sink.port}{path}")
            self.requests = collector.requests(path)
            self.read()
        finally:
            shutil.rmtree(self.folder, True)

    def environment(self, build):
        env = {key: value for key, value in os.environ.items() if not OTHER_ENVIRONMENT.match(key)}
        mark = f"{self.call or 0}{'+' if self.onwards else ''}"
        env.update(LD_PRELOAD=preloadable(build / "libtorture.so"), TORTURE_REPORT=str(self.folder / "torture"),
                   CUSPAN_CONFIG_FILE=str(self.folder / "cuspan.yaml"), no_proxy="*")
        if self.kind != "cupti":
            env["TORTURE"] = f"{self.kind}:{mark}"
        elif self.call:
            env["CUSPAN_REPLAY_FAIL"] = f"call={self.call}"
        if not self.call:
            env["CUSPAN_REPLAY_CALLS"] = str(self.folder / "calls")
        return env

    def start(self, build, url):
        (self.folder / "cuspan.yaml").write_text(yaml_of(self.scenario, self.folder, build, url))
        double = "libcuspan-replay-classic.so" if self.scenario == "classic" else "libcuspan-replay.so"
        command = [build / "agent_host", build / "libcuspan.so", build / double, RECORDING]
        begin = time.monotonic()
        try:
            done = subprocess.run(command, env=self.environment(build), cwd=self.folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=TIMEOUT_S)
            self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()
        except subprocess.TimeoutExpired as late:
            self.status, self.out, self.err = "hangs", "", (late.stderr or b"").decode()
        self.seconds = time.monotonic() - begin

    def read(self):
        self.threads, self.failed, self.calls = None, None, []
        torture = self.folder / "torture"
        for line in torture.read_text().splitlines() if torture.exists() else []:
            word, rest = line.split(" ", 1)
            if word == "threads":
                self.threads = rest
            elif word == "failed":
                self.failed = rest
            else:
                self.calls.append(rest)
        if self.kind == "cupti":
            calls = self.folder / "calls"
            self.calls = calls.read_text().splitlines() if calls.exists() else []
            self.failed = f"call {self.call}"
        self.report = next((json.loads(path.read_text()) for path in self.folder.glob("report.*[0-9]")), None)
        self.spans = self.count_spans()
        if self.scenario == "record":
            self.spans = self.count_events()

    def count_spans(self):
        file = self.folder / "spans.jsonl"
        texts = file.read_text().splitlines() if file.exists() else []
        texts += [request.body.decode() for request in self.requests]
        found = set()
        for text in texts:
            try:
                groups = json.loads(text)["resourceSpans"]
            except ValueError:
                continue  # the incomplete line of a failed write
            found |= {span["spanId"] for group in groups for scope in group["scopeSpans"] for span in scope["spans"]}
        return len(found)

    def count_events(self):
        try:
            copy = recording.read(str(self.folder / "copy.cuspanrec"))
        except Exception:  # an incomplete file can cause any exception
            return 0
        return len(copy.calls) + len(copy.activities)

    def is_said(self):
        """Everything lost is counted, or a log line gives the reason."""
        lines = [line for line in self.err.splitlines() if line.startswith("cuspan: ")]
        return bool(lines) or bool(self.report and self.report["losses"])

    def is_late(self):
        """On a busy machine, a deadline can pass before the sender has loaded its library. It is left then, and that is said."""
        return self.threads == "1 cuspan/sender" and ("lost_deadline" in self.err or "cannot start" in self.err)

    def problems(self, whole):
        found = []
        if (self.status, self.out) != (HOST_STATUS, HOST_OUTPUT):
            found.append(f"the host's status is {self.status}, its output {self.out!r}")
        elif self.threads != "0" and not self.is_late():
            found.append(f"threads of the agent's are left: {self.threads}")
        foreign = [line for line in self.err.splitlines() if not line.startswith("cuspan: ")]
        if foreign:
            found.append(f"it said {foreign[0]!r}")
        if self.spans != whole and not self.is_said():
            found.append(f"{self.spans} of {whole} spans came, and nothing says why")
        if self.report and self.scenario != "record":
            # If the last write of the report failed, the one written while the host ran is still there.
            found += accounts.differences(self.report, has_ended=self.report["state"] == "ended")
            if self.report["delivered"] > self.spans:
                found.append(f"{self.report['delivered']} count as delivered, and {self.spans} came")
        return found


def choose(calls, stride):
    """The numbers, from 1, of the calls that must fail: each place's first and last, and a share of the others."""
    first, last = {}, {}
    for number, place in enumerate(calls, 1):
        first.setdefault(place, number)
        last[place] = number
    return sorted({*first.values(), *last.values(), *range(1, len(calls) + 1, stride)})


def line_of(build, place):
    """file:line of "FUNCTION MODULE+OFFSET", if it can be determined."""
    found = re.match(r"(\S+) (\S+)\+(0x[0-9a-f]+)$", place or "")
    if not found or not shutil.which("addr2line"):
        return place
    said = subprocess.run(["addr2line", "-fie", build / found[2], found[3]], capture_output=True, text=True).stdout.split()
    return f"{found[1]} in " + " < ".join(f"{name} ({Path(line).name})" for name, line in zip(said[::2], said[1::2]))


def torture(build, scenario, kind, options, only=None):
    collector = Collector()
    dry = Run(build, collector, scenario, kind)
    problems = dry.problems(dry.spans)
    if problems or not dry.spans:
        print(f"failed {scenario}.{kind}: without any failure: {problems or 'no spans'}\n{dry.err}")
        return 0, 1
    stride = 1 if options.long or len(dry.calls) <= FEW else len(dry.calls) // 100
    cases = [(number, False) for number in choose(dry.calls, stride)]
    if kind != "cupti":
        cases += [(number, True) for number in choose(dry.calls, len(dry.calls))[:: 1 if options.long else 8]]
    if only:
        number, onwards = re.fullmatch(r"(\d+)(\+?)", only).groups()
        cases = [(int(number), bool(onwards))]
    begin, failed, said = time.monotonic(), 0, Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = pool.map(lambda case: Run(build, collector, scenario, kind, *case), cases)
        for (number, onwards), run in zip(cases, runs):
            problems = run.problems(dry.spans)
            failed += bool(problems)
            said["reached"] += bool(run.failed)
            said["without loss"] += run.spans == dry.spans
            said["late"] += run.is_late()
            if problems or only:
                name = f"{scenario}.{kind}:{number}{'+' if onwards else ''}"
                place = dry.calls[number - 1] if kind == "cupti" else line_of(build, run.failed)
                print(f"{'failed' if problems else 'passed'} {name} ({place}): {'; '.join(problems)}")
                print("".join(f"    | {line}\n" for line in run.err.splitlines()), end="", flush=True)
    collector.sink.close()
    if said["late"] > len(cases) // 50:
        print(f"failed {scenario}.{kind}: the sender is left in {said['late']} replays")
        failed += 1
    print(f"{scenario}.{kind}: {len(dry.calls)} calls at {len(set(dry.calls))} places, {len(cases)} replays "
          f"({said['reached']} met it, {said['without loss']} lost nothing, {said['late']} left the sender), {failed} failed, "
          f"{time.monotonic() - begin:.1f} s", flush=True)
    return len(cases) - failed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    build = options.build.resolve()
    passed = failed = 0
    wanted = options.cases or [f"{scenario}.{kind}" for scenario, kinds in KINDS.items() for kind in kinds]
    for case in wanted:
        name, _, only = case.partition(":")
        scenario, kind = name.split(".")
        right, wrong = torture(build, scenario, kind, options, only)
        passed, failed = passed + right, failed + wrong
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
