#!/usr/bin/env python3
"""Stacks of launches on this machine's GPU, in the callbacks of the real CUPTI. Called by code.sh.

    code_test.py BUILD OUTDIR CUPTI-LIBRARY [CASE...]

lines: kernels with names of their own are on the lines that launch them, in every kind of Python frame. train: a transformer's
training step: 95 % of the forward's GPU time is on lines of the program, all of the GPU time has a row, and nine of the ten most
expensive functions are those that PyTorch's profiler names with with_stack (by innermost frame of the program; its frames have the
first line of a function, so functions are compared). backward: with capture.launch_stacks=all, its work is named by autograd nodes.
forward_lines: under emit_nvtx, it is on the forward's lines. memory: allocations are on the lines that make them, with
capture.allocation_stacks alone; allocations: the same in a C++ program.
sampled: the same with one call in 16. Then torch.compile, a CUDA graph, Triton, JAX, CuPy, Numba if installed, a C++ program.
Results: OUTDIR/code.json, and for each case OUTDIR/CASE.jsonl and .txt."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support")]

import accounts  # noqa: E402

BUILD, OUT, CUPTI = (Path(argument).resolve() for argument in sys.argv[1:4])
PROGRAM = ROOT / "tests/gpu/programs/code.py"
CASE_S = 100
FORWARD_SHARE_MIN = 0.95
TOP, TOP_MIN = 10, 9
STEPS, WARM_UP = 6, 3  # of code.py
UNKNOWN_SHARE_MAX = 0.05  # while unwind rules are learned, and while Python ends
results = {}


def traced(case, command, kind="python", **settings):
    """Runs it with stacks of launches (or as `settings` say). Returns the agent's report."""
    spans, report = OUT / f"{case}.jsonl", OUT / f"{case}.report"
    for old in (spans, *OUT.glob(f"{case}.report*")):
        old.unlink(missing_ok=True)
    chosen = {"cupti.library": CUPTI, "exit_deadline_ms": 20000, "accounts_file": report, "capture.launch_stacks": kind, **settings}
    options = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    env = {key: value for key, value in os.environ.items() if not re.match("CUSPAN_|OTEL_|CUDA_INJ|NVTX_INJ|TRACE|PYTHONPATH", key)}
    done = subprocess.run([str(word) for word in (BUILD / "cuspan", "run", "--file", spans, *options, "--", *command)],
                          env={**env, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}, text=True, capture_output=True, timeout=CASE_S, check=False)
    (OUT / f"{case}.txt").write_text(done.stdout + done.stderr)
    if done.returncode or not spans.exists():
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-1500:]}")
    reports = [json.loads(path.read_text()) for path in OUT.glob(f"{case}.report*")]
    return max(reports, key=lambda found: found["counters"]["calls_captured"])


def table(case, *options):
    done = subprocess.run([BUILD / "cuspan", "stat", "--table", "code", "--top", "0", "--json", *options, OUT / f"{case}.jsonl"],
                          text=True, capture_output=True, check=True)
    return json.loads(done.stdout)["code"]


def gpu_time(case):
    done = subprocess.run([BUILD / "cuspan", "stat", "--table", "kernels,copies", "--top", "0", "--json", OUT / f"{case}.jsonl"],
                          text=True, capture_output=True, check=True)
    return sum(row.get("total_ns", 0) for rows in json.loads(done.stdout).values() for row in rows)


def checked_report(report, unknown_share=UNKNOWN_SHARE_MAX):
    counters = report["counters"]
    yield from accounts.differences(report)
    if report["losses"]:
        yield f"losses {report['losses']}"
    if not counters["code_stacks"]:
        yield "no stack"
    if counters["code_unknown"] > unknown_share * counters["calls_captured"]:
        yield f"code_unknown: {counters['code_unknown']} of {counters['calls_captured']} calls"


def expected(program):
    """The lines of a mode of code.py that name their kernel."""
    found, inside = {}, False
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        if line.startswith("def "):
            inside = line.startswith(f"def {program}(")
        match = re.search(r"# kernel: (\S+)$", line)
        if inside and match:
            found[match[1]] = number
    return found


def line_of(text):
    return next(i for i, line in enumerate(PROGRAM.read_text().splitlines(), 1) if text in line)


def check_places(case, program):
    rows = table(case)
    for kernel, number in expected(program).items():
        places = {row["place"] for row in rows if re.search(kernel, row.get("top", "")) and row["self_ns"]}
        if not places or not all(re.search(rf"code\.py:{number}$", place) for place in places):
            yield f"{kernel}: line {number} expected, but {sorted(places) or 'no row'}"


# ---- Cases -------------------------------------------------------------------------------------------------------------


def lines():
    yield from checked_report(traced("lines", [sys.executable, PROGRAM, "lines"]))
    yield from check_places("lines", "lines")
    if not any(row["place"] == "<string>:3" and "erfc" in row.get("top", "") for row in table("lines")):
        yield "no row for the line of exec"


def own(row):
    return re.search(r"code\.py(:\d+)?$", row["place"])


def profiler_functions(path):
    """GPU time by the innermost function of code.py around each launch, from PyTorch's profiler."""
    events = json.loads(path.read_text())["traceEvents"]
    frames, launches, work = {}, {}, []
    for event in events:
        category = event.get("cat")
        if category == "python_function" and "code.py(" in event["name"]:
            frames.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"], event["name"].split(": ")[-1]))
        elif category in ("cuda_runtime", "cuda_driver"):
            launches[event["args"].get("correlation")] = event
        elif category in ("kernel", "gpu_memcpy", "gpu_memset"):
            work.append(event)
    times = Counter()
    for event in work:
        launch = launches.get(event["args"].get("correlation"))
        around = [frame for frame in frames.get(launch["tid"], ()) if frame[0] <= launch["ts"] <= frame[1]] if launch else []
        times[max(around)[2] if around else "(none)"] += event["dur"] * 1000
    return times


def train():
    yield from checked_report(traced("train", [sys.executable, PROGRAM, "train"]))
    rows = table("train")
    total, kernels = sum(row["self_ns"] for row in rows), gpu_time("train")
    if total != kernels:
        yield f"the rows have {total} ns, but the GPU worked for {kernels} ns"
    forward = [row for row in table("train", "--by", "range") if row["group"] == "forward"]
    whole = sum(row["self_ns"] for row in forward)
    share = sum(row["self_ns"] for row in forward if own(row)) / max(whole, 1)
    results["forward_share"], results["forward_ns"] = share, whole
    if not whole or share < FORWARD_SHARE_MIN:
        yield f"{share:.1%} of the forward's {whole} ns are on lines of the program"
    profile = OUT / "train.profile.json"
    subprocess.run([sys.executable, PROGRAM, "train", "--profile", profile], check=True, capture_output=True, timeout=CASE_S)
    theirs = profiler_functions(profile)
    # Spans of the warm-up are in the table, too: compare the order and the shares.
    ours = Counter()
    for row in table("train", "--by", "range"):
        if own(row) and row["group"] in ("step", "forward"):
            ours[row["function"].split(".")[-1]] += row["self_ns"]
    theirs.pop("(none)", None)
    first = [name for name, _ in ours.most_common(TOP)]
    second = [name for name, _ in theirs.most_common(TOP)]
    results["functions"] = {"cuspan": ours.most_common(20), "profiler": theirs.most_common(20)}
    if len(first) < TOP or len(set(first) & set(second)) < TOP_MIN:
        yield f"the {TOP} most expensive functions are {first}, but the profiler names {second}"
    profile.unlink()


def backward():
    yield from checked_report(traced("backward", [sys.executable, PROGRAM, "train"], "all"))
    rows = table("backward")
    if sum(row["self_ns"] for row in rows) != gpu_time("backward"):
        yield "the sum of the rows is not the GPU time"
    total = sum(row["self_ns"] for row in rows)
    named = {row["place"]: row["self_ns"] for row in rows if row["place"].startswith("(backward: ")}
    results["backward_rows"] = sorted(named.items(), key=lambda item: -item[1])[:20]
    for node in "AddmmBackward0", "NativeLayerNormBackward0", "SoftmaxBackward0", "EmbeddingBackward0":
        if f"(backward: {node})" not in named:
            yield f"no row for {node}: {list(named)[:20]}"
    rest = {f"{row['place']} {row.get('function', '')[:40]}": row["self_ns"] / total
            for row in rows if row["self_ns"] and not own(row) and row["place"] not in named}
    results["rest_of_backward"] = rest
    if sum(rest.values()) > 0.05:
        yield f"{sum(rest.values()):.1%} of the GPU time have other rows: {rest}"


def forward_lines():
    """emit_nvtx's sequence numbers lead from backward to the forward line."""
    yield from checked_report(traced("forward_lines", [sys.executable, PROGRAM, "train", "--nvtx"], "all"))
    rows = table("forward_lines")
    if sum(row["self_ns"] for row in rows) != gpu_time("forward_lines"):
        yield "the sum of the rows is not the GPU time"
    of_lines = {f"{row['place']}": row["self_ns"] for row in rows if row["place"].endswith(" (backward)") and row["self_ns"]}
    of_nodes = {row["place"]: row["self_ns"] for row in rows if row["place"].startswith("(backward: ") and row["self_ns"]}
    results["forward_lines"] = {"lines": of_lines, "nodes": of_nodes}
    steps = STEPS / (STEPS + WARM_UP)  # the warm-up has no ranges
    share = sum(of_lines.values()) / max(1, steps * (sum(of_lines.values()) + sum(of_nodes.values())))
    if share < 0.8 or not all("code.py:" in place for place in of_lines):
        yield f"{share:.0%} of backward is on forward lines: {results['forward_lines']}"


def jax():
    yield from simple("jax")()
    number = line_of("# line of the dot")
    found = {row["place"]: row["top"] for row in table("jax") if row["self_ns"] and row["place"].endswith(f"code.py:{number}")}
    if not found:
        yield f"no row for line {number} of the jitted function: {results['jax']}"


def defined_at(case, kernel, binary):
    """Where a kernel begins, from debug information."""
    return {row.get("top_place") for row in table(case, "--kernel-lines", binary) if kernel in row.get("top", "")}


def triton():
    cache = OUT / "triton_cache"
    os.environ["TRITON_CACHE_DIR"] = str(cache)
    yield from simple("triton")()
    number = line_of("tl.program_id(0)")
    found = defined_at("triton", "add_one", cache)
    # The first line with code may be that of the definition or of its body.
    if not any(place and re.fullmatch(rf".*code\.py:({number - 1}|{number}|{number + 1})", place) for place in found):
        yield f"add_one is defined at line {number - 1}, but the table says {found}"


def sampled():
    report = traced("sampled", [sys.executable, PROGRAM, "train"], **{"capture.launch_stacks_period": 16})
    yield from checked_report(report)
    rows = table("sampled")
    if sum(row["self_ns"] for row in rows) != gpu_time("sampled"):
        yield "the sum of the rows is not the GPU time"
    taken = [row for row in rows if own(row) and row["self_ns"]]
    if not taken or not any(row["place"] == "(not sampled)" for row in rows):
        yield "not both sampled and other calls"


def compiled():
    yield from checked_report(traced("compiled", [sys.executable, PROGRAM, "compile"], "all"))
    rows = table("compiled")
    fused = [row for row in rows if row.get("top", "").startswith("triton_")]
    results["compiled"] = [(row["place"], row.get("function"), row["top"]) for row in fused]
    if not any(own(row) for row in fused):
        yield f"no generated kernel on a line of the program: {results['compiled']}"


def graph():
    yield from checked_report(traced("graph", [sys.executable, PROGRAM, "graph"], detail="graph-nodes"))
    results["graph"] = [(row["place"], row["launches"], row.get("top")) for row in table("graph") if own(row)]
    yield from check_places("graph", "graph")
    number = line_of("# line of the replay")
    launches = [row for row in table("graph") if row["place"].endswith(f"code.py:{number}")]
    if [(row["launches"], row["self_ns"]) for row in launches] != [(5, 0)]:
        yield f"the work of the nodes is not on their lines, but where the graph is launched: {launches}"


def simple(program):
    def check():
        yield from checked_report(traced(program, [sys.executable, PROGRAM, program]))
        rows = table(program)
        results[program] = [(row["place"], row["self_ns"], row.get("top")) for row in rows if row["self_ns"]]
        yield from check_places(program, program)
        if not any(own(row) and row["self_ns"] for row in rows):
            yield f"no GPU time on a line of the program: {results[program]}"
    return check


def cpp():
    program = BUILD / "gpu/stack_calls"
    yield from checked_report(traced("cpp", [program], "all"))
    rows = table("cpp")
    results["cpp"] = [(row["place"], row.get("function"), row["self_ns"], row.get("top")) for row in rows if row["self_ns"]]
    for kernel, function in ("first_kernel", "launch_first"), ("second_kernel", "launch_second"):
        found = {f"{row['place']} {row.get('function')}": row["launches"] for row in rows if kernel in row.get("top", "")}
        right = sum(launches for place, launches in found.items() if function in place)
        if right < 0.9 * sum(found.values()) or not right:  # a thread's first calls may have none
            yield f"{kernel} is not in {function}: {found}"
        source = (ROOT / "tests/gpu/programs/stack_calls.cu").read_text().splitlines()
        number = next(i for i, line in enumerate(source, 1) if f"void {kernel}(" in line)
        if not all((place or "").endswith(f"stack_calls.cu:{number}") for place in defined_at("cpp", kernel, program)):
            yield f"{kernel} is defined at line {number}, but the table says {defined_at('cpp', kernel, program)}"


def rows_of_memory(case):
    """The rows by line, and what is wrong with their sums."""
    done = subprocess.run([BUILD / "cuspan", "stat", "--table", "memory_code,memory", "--top", "0", "--json", OUT / f"{case}.jsonl"],
                          text=True, capture_output=True, check=True)
    tables = json.loads(done.stdout)
    results[case], whole = tables["memory_code"], [row for row in tables["memory"] if row["kind"] == "all"]
    problems = []
    for name in "live_bytes", "total_bytes", "allocations", "frees", "at_peak_bytes":
        ours = sum(row[name] for row in tables["memory_code"] if row["device"] != "managed")
        theirs = sum(row["peak_bytes" if name == "at_peak_bytes" else name] for row in whole)
        if ours != theirs:
            problems.append(f"{name}: the rows have {ours}, but all memory is {theirs}")
    return tables["memory_code"], problems


def memory():
    yield from checked_report(traced("memory", [sys.executable, PROGRAM, "memory"], "none", **{"capture.allocation_stacks": "true"}))
    rows, problems = rows_of_memory("memory")
    yield from problems
    mib = 1 << 20
    wanted = {"kept": (6, 48 * mib, 48 * mib), "scratch": (5, 20 * mib, 4 * mib), "pinned": (1, 2 * mib, 2 * mib)}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        name = re.search(r"# memory: (\w+)$", line)
        if not name:
            continue
        found = [(row["allocations"], row["total_bytes"], row["peak_bytes"]) for row in rows if row["place"].endswith(f"code.py:{number}")]
        if found != [wanted[name[1]]]:
            yield f"{name[1]}: line {number} has {found}, expected {wanted[name[1]]}"
    strange = [row for row in rows if row["place"].startswith("(")]
    if sum(row["total_bytes"] for row in strange) > 0.05 * sum(row["total_bytes"] for row in rows):
        yield f"allocations without a line: {strange}"


def allocations():
    yield from checked_report(traced("allocations", [BUILD / "gpu/stack_calls"], "none", **{"capture.allocation_stacks": "true"}), 1)
    rows, problems = rows_of_memory("allocations")
    yield from problems
    found = [(row["place"], row.get("function"), row["total_bytes"], row["allocations"]) for row in rows if row["allocations"]]
    if found != [("stack_calls", "main", 256, 1)]:
        yield f"one allocation of 256 bytes in main expected, but {found}"


CASES = {"lines": lines, "train": train, "backward": backward, "forward_lines": forward_lines, "sampled": sampled, "compiled": compiled, "graph": graph,
         "triton": triton, "jax": jax, "cupy": simple("cupy"), "numba": simple("numba"), "cpp": cpp, "memory": memory, "allocations": allocations}
TOGETHER = 4


def is_missing(case):
    return case in ("jax", "cupy", "numba") and subprocess.run(
        [sys.executable, "-c", f"import {case}"], capture_output=True, check=False).returncode != 0


def run(case):
    if is_missing(case):
        return None
    try:
        return list(CASES[case]())
    except (RuntimeError, subprocess.SubprocessError, OSError, KeyError, ValueError) as error:
        return [f"{type(error).__name__}: {str(error)[-1500:]}"]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[4:] or list(CASES)
    passed = failed = 0
    with ThreadPoolExecutor(TOGETHER) as workers:
        for case, problems in zip(wanted, workers.map(run, wanted)):
            if problems is None:
                print(f"skipped {case}: not installed")
                continue
            passed, failed = passed + (not problems), failed + bool(problems)
            print(f"{'FAILED' if problems else 'ok'} {case}")
            for problem in problems:
                print(f"    {problem}")
    (OUT / "code.json").write_text(json.dumps(results, indent=1))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
