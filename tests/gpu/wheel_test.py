"""The wheel on a GPU: PyTorch, JAX and CuPy with the agent of a virtual environment. Called by wheel.sh.

    wheel_test.py OUT-DIR NAME=PYTHON...     the environments: "extra" has a CUPTI beside cuspan, "plain" has none

Spans are complete if the known kernels and copies are all there, and if the agent's own accounts add up without a loss.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support")]
import accounts  # noqa: E402
from backend import spans_of  # noqa: E402

PROGRAM = ROOT / "tests/gpu/programs/wheel_program.py"
LIMIT_S = 300
DROPPED = ("OTEL_", "CUSPAN_", "CUDA_INJ", "NVTX_INJ", "TRACE", "VIRTUAL_ENV", "PYTHONPATH")
ORIGINS = {"extra": "a Python package beside cuspan", "plain": ""}


class Run:
    def __init__(self, out, python, library, how):
        self.out, self.python = out, Path(python)
        self.trace, self.report = out / "spans.jsonl", out / "report"
        for old in (self.trace, *out.glob("report*")):
            old.unlink(missing_ok=True)
        program = [self.python, PROGRAM, library, how]
        if how == "injected":
            options = ["--quiet", "--file", self.trace, "--set", f"accounts_file={self.report}"]
            self.done = self.execute([self.python.with_name("cuspan"), "run", *options, "--", *program])
        else:
            self.done = self.execute(program, CUSPAN_SET=f"accounts_file={self.report};output_file={self.trace}")

    def execute(self, command, **more):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
        return subprocess.run([str(part) for part in command], env={**clean, "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                              "OTEL_LOG_LEVEL": "debug", **more}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)

    def problems(self, origin):
        if self.done.returncode or not self.trace.exists():
            return [f"status {self.done.returncode}; {self.done.stdout[-500:]} {self.done.stderr[-2000:]}"]
        spans = [span for line in self.trace.read_text().splitlines() for span in spans_of(json.loads(line))]
        found = [*self.count(spans), *self.balance(spans)]
        chosen = re.search(r"CUPTI of CUDA [\d.]+: (\S+) \((.*)\)", self.done.stderr)
        if not chosen:
            found.append(f"the log does not say which CUPTI was used: {self.done.stderr[-1000:]}")
        elif origin and chosen.group(2) != origin:
            found.append(f"CUPTI is {chosen.group(1)} ({chosen.group(2)}), not {origin}")
        print(f"    {len(spans)} spans; {chosen.group(0) if chosen else ''}")
        return found

    def count(self, spans):
        want = json.loads(self.done.stdout.splitlines()[-1])
        names = Counter(span.attributes["cuda.kernel.name"] for span in spans if span.attributes.get("cuda.activity") == "kernel")
        sizes = Counter(str(span.attributes.get("cuda.memcpy.bytes")) for span in spans
                        if span.attributes.get("cuda.memcpy.kind") == "HostToDevice")
        for name, count in want["kernels"].items():
            got = sum(number for full, number in names.items() if name in full)
            if got != count:
                yield f"kernel {name}: {got} spans instead of {count}; all: {dict(names)}"
        for size, count in want["copies"].items():
            if sizes[size] != count:
                yield f"copies of {size} bytes: {sizes[size]} spans instead of {count}; all: {dict(sizes)}"

    def balance(self, spans):
        reports = [json.loads(path.read_text()) for path in self.out.glob("report*")]
        reports = [report for report in reports if "counters" in report and report.get("spans")]
        if not reports:
            yield "no report"
        for report in reports:
            yield from accounts.differences(report)
            yield from (f"lost: {name} {count}" for name, count in report["losses"].items() if count)
        delivered = sum(report["delivered"] for report in reports)
        if len(spans) - delivered not in (0, 1):  # the root span of `cuspan run` is not an agent's
            yield f"{len(spans)} spans in the file, {delivered} delivered"


def cases(environments):
    for environment, python in environments.items():
        for library in "torch", "jax", "cupy":
            for how in ("injected", "before", "after") if environment == "extra" else ("injected",):
                yield f"{environment}-{library}-{how}", environment, python, library, how


def doctor_problems(environment, python):
    command = [str(Path(python).with_name("cuspan")), "doctor", "--json", "--only", "cupti.library", "--", python]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
    (line,) = json.loads(done.stdout)["checks"]
    print(f"    {line['found']}")
    if line["finding"] == "ok" and ORIGINS[environment] in line["found"]:
        return []
    return [str(line)]


def main():
    out = Path(sys.argv[1])
    environments = dict(pair.split("=", 1) for pair in sys.argv[2:])
    passed = failed = skipped = 0

    def note(name, problems):
        nonlocal passed, failed
        passed, failed = passed + (not problems), failed + bool(problems)
        print(f"{'failed' if problems else 'passed'}  {name}", *problems[:8], sep="\n    ", flush=True)

    for environment, python in environments.items():
        note(f"{environment}-doctor", doctor_problems(environment, python))
    for name, environment, python, library, how in cases(environments):
        if not importlib.util.find_spec(library):
            print(f"skipped: {name}: no {library} here")
            skipped += 1
            continue
        (out / name).mkdir(parents=True, exist_ok=True)
        try:
            run = Run(out / name, python, library, how)
            note(name, run.problems(ORIGINS[environment]))
        except subprocess.TimeoutExpired as expired:
            note(name, [f"hangs: {expired}"])
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0 or passed == 0)


main()
