#!/usr/bin/env python3
"""Profiles of code.py train, beside the spans of the same run. Called by profiles.sh.

    profiles_test.py BUILD OUTDIR CUPTI-LIBRARY

The times of all (stack, kernel) in the profiles must equal those in the spans, to the ns, and the profiles must be many. Protobuf is
read without any package, because the machine may have no network. Results: OUTDIR/profiles.json and OUTDIR/profiles.jsonl."""

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support")]

import accounts  # noqa: E402
from backend import spans_of  # noqa: E402
from otlp_sink import fields  # noqa: E402
from sink import Sink  # noqa: E402

PROGRAM = ROOT / "tests/gpu/programs/code.py"
FRAME = re.compile(r'File "(.*)", line (\d+), in (.*)')
INTERVAL_MS = 1000
CASE_S = 100


def parts(data, span):
    """{number: [values]} of the message at `span`"""
    found = defaultdict(list)
    for number, value in fields(data, *span):
        found[number].append(value)
    return found


def varints(data, span):
    value = shift = 0
    for byte in data[slice(*span)]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


class Request:
    def __init__(self, data):
        self.data = data
        top = parts(data, (0, len(data)))
        dictionary = parts(data, top[2][0])
        self.strings = [data[slice(*span)].decode() for span in dictionary[5]]
        self.functions = [parts(data, span) for span in dictionary[3]]
        self.locations = [parts(data, span) for span in dictionary[2]]
        self.stacks = [[i for packed in parts(data, span)[1] for i in varints(data, packed)] for span in dictionary[7]]
        scope = parts(data, parts(data, top[1][0])[2][0])
        self.profiles = [parts(data, span) for span in scope[2]]

    def frame(self, index):
        line = parts(self.data, self.locations[index][3][0])
        function = self.functions[line[1][0]]
        return self.strings[(function[3] or [0])[0]], (line[2] or [0])[0], self.strings[function[1][0]]

    def times(self):
        """{(leaf's name, frames): ns}, and the number of samples with a link"""
        found, links = Counter(), 0
        for profile in self.profiles:
            for span in profile[2]:
                sample = parts(self.data, span)
                leaf, *frames = [self.frame(i) for i in self.stacks[sample[1][0]]]
                value, = varints(self.data, sample[4][0])
                found[leaf[2], tuple(frames)] += value
                links += bool(sample[3])
        return found, links


def read_line(line):
    """A frame of code.stacktrace: (file, line, function)"""
    if match := FRAME.fullmatch(line):
        return match[1], int(match[2]), match[3]
    name, is_named, _ = line.rpartition(" (")
    return "", 0, name.rpartition("+")[0] if is_named else line


def times_of_spans(spans):
    texts = {span.attributes["cuspan.stack.id"]: span.attributes["code.stacktrace"] for span in spans if "code.stacktrace" in span.attributes}
    stacks = {span.span_id: span.attributes["cuspan.stack.id"] for span in spans if "cuspan.stack.id" in span.attributes}
    found = Counter()
    for span in spans:
        if span.attributes.get("cuda.activity") not in ("kernel", "graph", "memcpy", "memset", "memcpy_peer"):
            continue
        stack = stacks.get(span.span_id, stacks.get(span.parent_id))
        lines = texts[stack].split("\n") if stack else []
        found[span.name, tuple(read_line(line) for line in lines if line != "...")] += span.end_ns - span.start_ns
    return found


def run(command, out, settings):
    spans, report = out / "profiles.jsonl", out / "profiles.report"
    for old in (spans, *out.glob("profiles.report*")):
        old.unlink(missing_ok=True)
    options = [word for key, value in {"accounts_file": report, **settings}.items() for word in ("--set", f"{key}={value}")]
    env = {key: value for key, value in os.environ.items() if not re.match("CUSPAN_|OTEL_|CUDA_INJ|NVTX_INJ|TRACE|PYTHONPATH", key)}
    done = subprocess.run([*map(str, command[:2]), "--file", spans, *options, *map(str, command[2:])], env=env, text=True,
                          capture_output=True, timeout=CASE_S, check=False)
    (out / "profiles.txt").write_text(done.stdout + done.stderr)
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-1500:]}")
    reports = [json.loads(path.read_text()) for path in out.glob("profiles.report*")]
    return [span for line in spans.read_text().splitlines() for span in spans_of(json.loads(line))], \
        max(reports, key=lambda found: found["counters"]["calls_captured"])


def check(spans, report, bodies):
    yield from accounts.differences(report)
    if report["losses"] or report["counters"]["profile_unplaced"]:
        yield f"losses {report['losses']}, unplaced {report['counters']['profile_unplaced']}"
    found, links = Counter(), 0
    for body in bodies:
        times, of_body = Request(body).times()
        found += times
        links += of_body
    wanted = times_of_spans(spans)
    different = [key for key in found.keys() | wanted.keys() if found[key] != wanted[key]]
    if different:
        yield f"{len(different)} of {len(wanted)} stacks have another time: {[(key, found[key], wanted[key]) for key in different[:3]]}"
    if not links or not any(frames for _, frames in found):
        yield "no links, or no stacks"
    print(f"{len(bodies)} requests with {sum(map(len, bodies))} bytes, {len(wanted)} stacks, {sum(wanted.values()) / 1e6:.1f} ms of GPU time")


def main():
    build, out, cupti = (Path(argument).resolve() for argument in sys.argv[1:4])
    sink = Sink()
    settings = {"profiles.enabled": "true", "profiles.interval_ms": INTERVAL_MS, "capture.launch_stacks": "python",
                "profiles.endpoint": f"http://127.0.0.1:{sink.port}/v1development/profiles", "exit_deadline_ms": 20000}
    if cupti.suffix == ".cuspanrec":  # to try this test without a GPU
        command = [build / "cuspan", "replay", "--repeat", "3", cupti]
    else:
        settings["cupti.library"] = cupti
        command = [build / "cuspan", "run", "--", sys.executable, PROGRAM, "train"]
    spans, report = run(command, out, settings)
    found = list(check(spans, report, [request.body for request in sink.requests]))
    sink.close()
    (out / "profiles.json").write_text(json.dumps({"wrong": found, "profiles": report["profiles"]}, indent=1) + "\n")
    print("\n".join(found) or "profiles: as in the spans")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
