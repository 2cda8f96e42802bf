"""The boundaries of steps in real training loops: two ranks with gloo, started by `cuspan run torchrun`, in which a library stands in
for CUDA. The program does not import cuspan.

    check.py BUILD OUT-DIR [CASE...]

For each case: both ranks have the same traces for their steps, there is a step for each optimizer's step and none besides,
and each step has exactly the CUDA work of its iteration. Loops with several optimizers are known after some iterations; from
then on this must hold. Needs a Python with torch. The last line has the counts."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/support"))

import backend  # noqa: E402

BUILD, OUT = (Path(argument).resolve() for argument in sys.argv[1:3])
PROGRAM = Path(__file__).with_name("program.py")
RECORDING = ROOT / "examples/recordings/vector_add.cuspanrec"
SPANS = 32  # of one play of the recording
ITERATIONS, WARM_UP = 18, 8  # iterations; those in which a sequence of optimizers may be unknown
CASES = ("ddp", "accumulation", "inf", "two_optimizers", "parts", "compiled", "in_backward", "fsdp2")
SURE_FROM_THE_START = ("ddp", "accumulation", "inf", "compiled", "fsdp2")
LIMIT_S = 300


def command(case, folder, settings):
    chosen = {"cupti.library": BUILD / "libcuspan-replay.so", "exit_deadline_ms": 60000, **settings}
    options = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", PROGRAM]
    return [BUILD / "cuspan", "run", "--file", folder / "spans.jsonl", *options, "--", *torchrun, case, ITERATIONS, folder]


def run(case, settings):
    """The spans of the steps by rank and number, and the truth of each rank."""
    folder = OUT / f"{case}{''.join('-' + str(value) for value in settings.values())}"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    env = {**os.environ, "HOST_DOUBLE": str(BUILD / "libcuspan-replay.so"), "HOST_RECORDING": str(RECORDING),
           "OMP_NUM_THREADS": "1", "TORCHELASTIC_ERROR_FILE": str(folder / "error.json")}
    for name in "PYTHONPATH", "CUDA_INJECTION64_PATH":
        env.pop(name, None)
    done = subprocess.run([str(word) for word in command(case, folder, settings)], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    (folder / "output.txt").write_text(done.stdout)
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {done.stdout[-2000:]}")
    spans = [span for line in (folder / "spans.jsonl").read_text().splitlines()
             for span in backend.spans_of(json.loads(line))]
    return spans, [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]


def steps_of(spans):
    """By rank: number of the step, its span, and the number of spans below it."""
    below, ranks = defaultdict(int), ({}, {})
    for span in spans:
        below[span.trace_id, span.resource.get("process.pid")] += 1
    for span in spans:
        if span.name in ("rank 0", "rank 1"):
            own = below[span.trace_id, span.resource.get("process.pid")] - 1
            roots = span.name == "rank 0"  # sends the step's span, too
            ranks[int(span.name[-1])][span.attributes["training.step.number"]] = span, own - roots
    return ranks


def check_ranks(ranks):
    first, second = ranks
    if set(first) != set(second):
        yield f"rank 0 has steps {sorted(first)}, rank 1 {sorted(second)}"
        return
    for number in first:
        a, b = first[number][0], second[number][0]
        if (a.trace_id, a.parent_id) != (b.trace_id, b.parent_id):
            yield f"step {number}: traces {a.trace_id} and {b.trace_id}"
        sources = {a.attributes["training.step.source"], b.attributes["training.step.source"]}
        if sources != {"optimizer"}:
            yield f"step {number}: sources {sources}"
    if len({span.trace_id for span, _ in first.values()}) != len(first):
        yield "several steps have the same trace"


def check_boundaries(case, steps, truth):
    """The last steps are the last iterations."""
    numbers = sorted(steps)
    if numbers != list(range(numbers[0], numbers[-1] + 1)):
        yield f"steps are missing between {numbers}"
    if case in SURE_FROM_THE_START and len(numbers) != len(truth):
        yield f"{len(numbers)} steps, but {len(truth)} iterations"
        return
    start = 1 if case in SURE_FROM_THE_START else WARM_UP  # the first step begins at the first backward pass
    for back, iteration in enumerate(reversed(truth[start:]), 1):
        found = steps[numbers[-back]][1]
        expected = SPANS * iteration["plays"]
        if found != expected and not follows_skipped(truth, iteration):
            yield f"iteration {iteration['iteration']}: its step has {found} spans instead of {expected}"


def follows_skipped(truth, iteration):
    """A skipped step ends at the next backward pass, so it has the work before that."""
    index = iteration["iteration"]
    return iteration["skipped"] or (index > 0 and truth[index - 1]["skipped"])


def check_skipped(steps, truth):
    numbers = sorted(steps)
    for back, iteration in enumerate(reversed(truth), 1):
        if not iteration["skipped"]:
            continue
        both = steps[numbers[-back]][1] + steps[numbers[-back] + 1][1]
        expected = SPANS * (iteration["plays"] + truth[iteration["iteration"] + 1]["plays"])
        if both != expected:
            yield f"iteration {iteration['iteration']} and the next one: {both} spans instead of {expected}"


def check_case(case):
    spans, truths = run(case, {"steps.traced": "all"})
    ranks = steps_of(spans)
    yield from check_ranks(ranks)
    for rank, (steps, truth) in enumerate(zip(ranks, truths)):
        if not steps:
            yield f"rank {rank} has no steps"
            continue
        found = list(check_boundaries(case, steps, truth))
        if case == "inf" and not found:
            found = list(check_skipped(steps, truth))
        yield from (f"rank {rank}: {wrong}" for wrong in found)
        if case == "inf" and sum(iteration["skipped"] for iteration in truth) != 2:
            yield f"rank {rank}: no step was skipped"


def check_sampled():
    """By default, both ranks keep steps 3 and 4, and one in `steps.ratio`."""
    spans, _ = run("ddp", {"steps.ratio": 0.25})
    ranks = steps_of(spans)
    yield from check_ranks(ranks)
    later = sorted(number for number in ranks[0] if number > 4)
    if not {3, 4} <= set(ranks[0]) or len(later) not in (3, 4) or {b - a for a, b in zip(later, later[1:])} != {4}:
        yield f"sampled steps are {sorted(ranks[0])}"


def main():
    chosen = sys.argv[3:] or [*CASES, "sampled"]
    failed = 0
    for case in chosen:
        try:
            found = list(check_sampled() if case == "sampled" else check_case(case))
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            found = [str(error)]
        print(("not ok " if found else "ok ") + case, flush=True)
        print("".join(f"    {line}\n" for line in found[:10]), end="")
        failed += bool(found)
    print(f"{len(chosen) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
