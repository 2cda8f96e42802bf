#!/usr/bin/env python3
"""Runs training loops on two GPUs below `cuspan run torchrun`, and checks their steps. Called by training.sh.

    training_test.py BUILD OUTDIR CUPTI-LIBRARY [CASE...]

Boundaries (python/tests/ranks/program.py): the ranks' steps have the same traces, there is one step for each iteration, and each
begins within the optimizer's step that ends the one before. Late ranks (examples/training/ddp.py): the table of findings names
the planted rank. Period: without the Python package, steps come from the period of collectives. Restart: two starts of a job have different traces. Cases that are not about time run TOGETHER at once, so the
whole takes at most LIMIT_S; what does not fit is reported as failed. Results: OUTDIR/training.json."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support")]

import backend  # noqa: E402

BUILD, OUT, CUPTI = (Path(argument).resolve() for argument in sys.argv[1:4])
LIMIT_S, CASE_S = 145, 60
TOGETHER = 5
ITERATIONS, WARM_UP = 24, 10
NEAR_NS = 200_000  # between the program's clock and the agent's
BOUNDARIES = ("ddp", "fsdp2", "accumulation", "inf", "two_optimizers", "parts", "compiled", "in_backward", "graph")
# Name, what ddp.py does, its number of steps, settings.
LATE = (("sleep", "sleep", 40, {}), ("gpu", "gpu", 40, {}), ("loader", "loader", 40, {}),
        ("sleep-sampled", "sleep", 160, {"steps.traced": "auto", "steps.ratio": "0.0625"}))
LATE_RANK = 1
PERIOD_STEPS, PERIOD_KNOWN = 300, 150  # of ddp.py; how many of them must be known


def start(case, command, settings, before=()):
    folder = OUT / case
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    chosen = {"cupti.library": CUPTI, "exit_deadline_ms": 10000, "steps.traced": "all", **settings}
    options = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    whole = [BUILD / "cuspan", "run", "--file", folder / "spans.jsonl", *options, "--", *before, *torchrun, *command, *([folder] * (
        command[0].name == "program.py"))]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    for name in "PYTHONPATH", "CUDA_INJECTION64_PATH":
        env.pop(name, None)
    with open(folder / "output.txt", "w", encoding="utf-8") as output:
        return subprocess.Popen([str(word) for word in whole], env=env, stdout=output, stderr=output)


def finish(case, process):
    """Raises RuntimeError unless it ended well."""
    try:
        status = process.wait(timeout=CASE_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        status = "too slow"
    if status:
        raise RuntimeError(f"status {status}: {(OUT / case / 'output.txt').read_text()[-800:]}")


def ranks_of(case):
    """The spans `rank R` of training steps, by rank and number."""
    ranks = ({}, {})
    with open(OUT / case / "spans.jsonl", encoding="utf-8") as lines:
        for line in lines:
            if "rank " not in line:
                continue
            for span in backend.spans_of(json.loads(line)):
                if span.name in ("rank 0", "rank 1") and span.attributes.get("training.step.kind", "train") == "train":
                    ranks[int(span.name[-1])][span.attributes["training.step.number"]] = span
    return ranks


def check_same_traces(ranks, source="optimizer"):
    first, second = ranks
    if not first or set(first) != set(second):
        yield f"rank 0 has steps {sorted(first)}, rank 1 {sorted(second)}"
        return
    apart = [n for n in first if (first[n].trace_id, first[n].parent_id) != (second[n].trace_id, second[n].parent_id)]
    if apart:
        yield f"steps {apart} have different traces"
    sources = {span.attributes["training.step.source"] for steps in ranks for span in steps.values()}
    if sources != {source}:
        yield f"sources {sources}"


def check_boundaries(case, steps, truth):
    """The last span is that of the time after the last iteration, if any GPU work is there; then of the last iteration."""
    numbers = sorted(steps)
    done = [iteration for iteration in truth if iteration["iteration"] >= WARM_UP]
    if case not in ("two_optimizers", "parts", "in_backward") and len(numbers) not in (len(truth), len(truth) + 1):
        yield f"{len(numbers)} steps, but {len(truth)} iterations: {numbers}"
    begins = sorted(steps[number].start_ns for number in numbers)
    for iteration in done:
        if iteration["skipped"]:  # ends at the next backward pass
            following = truth[iteration["iteration"] + 1] if iteration["iteration"] + 1 < len(truth) else None
            earliest, latest = 2 * (following["backward_ns"],) if following else (0, 0)
        else:
            earliest, latest = iteration["step_ns"], iteration["stepped_ns"]
        inside = [begin for begin in begins if earliest - NEAR_NS <= begin <= latest + NEAR_NS]
        if latest and iteration is not truth[-1] and len(inside) != 1:
            yield f"iteration {iteration['iteration']}: {len(inside)} steps begin at its end"
    last = truth[-1]["stepped_ns"] + NEAR_NS
    between = [begin for begin in begins if done[0]["stepped_ns"] + NEAR_NS < begin <= last]
    ends = sum(1 for iteration in done[1:-1])
    if not ends <= len(between) <= ends + 1:
        yield f"{len(between)} steps begin in {ends} iterations"


def check_case(case):
    ranks = ranks_of(case)
    yield from check_same_traces(ranks)
    for rank in 0, 1:
        truth = json.loads((OUT / case / f"{rank}.json").read_text())
        yield from (f"rank {rank}: {wrong}" for wrong in check_boundaries(case, ranks[rank], truth))
        if case == "inf" and sum(iteration["skipped"] for iteration in truth) != 2:
            yield f"rank {rank}: {[i['iteration'] for i in truth if i['skipped']]} were skipped"


def check_late(case, by):
    done = subprocess.run([BUILD / "cuspan", "stat", "--table", "rank_findings", OUT / case / "spans.jsonl"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)
    (OUT / case / "findings.txt").write_text(done.stdout)
    wanted = "data-loader" if by == "loader" else "straggler"
    if done.returncode or wanted not in done.stdout or f"rank {LATE_RANK}" not in done.stdout:
        yield f"no {wanted} with rank {LATE_RANK}: status {done.returncode}, {done.stdout.strip()[:600]}"


def check_restart():
    first, second = ranks_of("ddp"), ranks_of("restart")
    common = {span.trace_id for span in first[0].values()} & {span.trace_id for span in second[0].values()}
    if common or not second[0]:
        yield f"{len(common)} traces of both starts, {len(second[0])} steps of the second"


def check_period():
    ranks = ranks_of("period")
    yield from check_same_traces(ranks, "collectives")
    for rank, steps in enumerate(ranks):
        numbers = sorted(steps)
        if len(numbers) < PERIOD_KNOWN or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            yield f"rank {rank} has {len(numbers)} steps: {numbers[:3]} to {numbers[-3:]}"


def run_period(results, deadline):
    """Without PYTHONPATH, the hooks of the Python package are not there."""
    results["period"] = ["no time was left"]
    if time.monotonic() > deadline:
        return
    try:
        finish("period", start("period", [ROOT / "examples/training/ddp.py", "--steps", PERIOD_STEPS], {}, ("env", "-u", "PYTHONPATH")))
        results["period"] = list(check_period())
    except (RuntimeError, OSError, KeyError) as error:
        results["period"] = [repr(error)]


def boundary_command(case):
    return [ROOT / "python/tests/ranks/program.py", "ddp" if case == "restart" else case, ITERATIONS]


def run_together(cases, results, deadline):
    """Each rank has few small kernels, so they do not need the GPUs for themselves."""
    running = [(case, start(case, boundary_command(case), {})) for case in cases if time.monotonic() < deadline]
    for case in cases:
        results[case] = ["no time was left"]
    for case, process in running:
        try:
            finish(case, process)
            results[case] = list(check_restart() if case == "restart" else check_case(case))
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            results[case] = [repr(error)]


def run_late(case, by, steps, settings, results, deadline):
    results[case] = ["no time was left"]
    if time.monotonic() > deadline:
        return
    command = [ROOT / "examples/training/ddp.py", "--steps", steps, "--late", LATE_RANK, "--late-by", by]
    try:
        finish(case, start(case, command, settings))
        results[case] = list(check_late(case, by))
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        results[case] = [repr(error)]


def main():
    chosen = sys.argv[4:]
    deadline = time.monotonic() + LIMIT_S - 25
    results = {}
    for name, by, steps, settings in LATE:  # first: they need the GPUs for themselves
        case = f"late-{name}"
        if not chosen or case in chosen:
            run_late(case, by, steps, settings, results, deadline)
    if not chosen or "period" in chosen:
        run_period(results, deadline)
    cases = [case for case in (*BOUNDARIES, "restart") if not chosen or case in chosen]
    for at in range(0, len(cases), TOGETHER):
        run_together(cases[at:at + TOGETHER], results, deadline)
    for case, wrong in results.items():
        print(f"{'FAILED' if wrong else 'ok    '} {case}")
        print("".join(f"       {line}\n" for line in wrong[:6]), end="")
    failed = sum(map(bool, results.values()))
    (OUT / "training.json").write_text(json.dumps(results, indent=1) + "\n")
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
