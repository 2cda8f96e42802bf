#!/usr/bin/env python3
"""PyTorch's profiler together with cuspan, in each mode of cupti.others. Called by tests/gpu/others.sh.

    others.py BUILD OUT [CASE...]

Each case runs torch_others.py in its own process. Every check is a line "ok" or "FAILED"; a failed case prints the
output of the agent and the program, and OUT/CASE.* keeps all of it. PyTorch's profiler alone, and cuspan alone, are
measured in the same run, and all counts are compared with these.
"""

import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import backend  # noqa: E402

BUILD, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
WORK = HERE / "programs/torch_others.py"
SECONDS_MAX = 100
AT_ONCE = 4
OURS = re.compile(r"CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|LD_PRELOAD")

lines, failures = [], 0


def check(case, is_right, text):
    global failures
    failures += not is_right
    lines.append(f"{'ok    ' if is_right else 'FAILED'} {case.name}: {text}")
    return is_right


class Case:
    def __init__(self, name, *options, way=None, settings=None, environment=None, command=(), program=None):
        self.name, self.options, self.way = name, list(options), way
        self.settings, self.environment, self.command = settings or {}, environment or {}, list(command)
        self.program = program or [sys.executable, str(WORK)]
        self.said, self.spans, self.report = None, [], {"losses": {}, "counters": {}}
        self.kernels, self.calls = [], set()

    def run(self):
        env = {key: value for key, value in os.environ.items() if not OURS.match(key)}
        env.update(self.environment, PYTHONUNBUFFERED="1")
        target = OUT / f"{self.name}.jsonl"
        for path in [target, *OUT.glob(f"{self.name}.report.*")]:
            path.unlink(missing_ok=True)
        command = list(self.command)
        if self.way is not None:
            command += [str(BUILD / "cuspan"), "run", *([f"--{self.way}"] if self.way else []), "--file", str(target),
                        "--set", f"accounts_file={OUT / self.name}.report", "--set", "exit_deadline_ms=20000"]
            for key, value in self.settings.items():
                command += ["--set", f"{key}={value}"]
        elif self.settings:  # the program is not started by cuspan run
            files = {"output_file": target, "accounts_file": f"{OUT / self.name}.report", "exit_deadline_ms": 20000}
            env["CUSPAN_SET"] = "\n".join(f"{key}={value}" for key, value in {**files, **self.settings}.items())
        begin = time.monotonic()
        try:
            done = subprocess.run([*command, *self.program, *self.options], env=env, stdin=subprocess.DEVNULL, text=True,
                                  capture_output=True, timeout=SECONDS_MAX)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            self.status = "no end"
            self.out, self.err = ((text or b"").decode(errors="replace") for text in (late.stdout, late.stderr))
        self.seconds = time.monotonic() - begin
        (OUT / f"{self.name}.log").write_text(f"$ {' '.join(map(str, command))}\nstatus {self.status}, {self.seconds:.1f} s\n"
                                              f"--- out\n{self.out}\n--- err\n{self.err}\n")
        found = re.search(r"^RESULT (.*)$", self.out, re.MULTILINE)
        self.said = json.loads(found[1]) if found else None
        for path in OUT.glob(f"{self.name}.report.*"):
            report = json.loads(path.read_text())
            if report.get("spans"):
                self.report = report
        self.read_spans(target)
        return self

    def read_spans(self, target):
        if not target.exists():
            return
        with open(target) as file:
            self.spans = [span for line in file for span in backend.spans_of(json.loads(line))]
        self.kernels = [s for s in self.spans if s.attributes.get("cuda.activity") == "kernel"]
        self.calls = {s.span_id for s in self.spans if "cuda.api" in s.attributes}

    def kernels_in(self, phase):
        """Our sessions, by their start."""
        windows = self.said[phase]
        return [sum(begin <= s.start_ns <= end for s in self.kernels) for begin, end in windows]

    def agent_lines(self):
        return [line for line in self.err.splitlines() if line.startswith("cuspan: ") and not
                re.match(r"cuspan: ([0-9,]+( of [0-9,]+)? spans? delivered|view it|trace ID|and )", line)]

    def show(self):
        lines.append(f"       {self.name}: status {self.status}, {self.seconds:.1f} s; losses {self.report['losses']}; counters "
                     + json.dumps({k: v for k, v in self.report["counters"].items() if v}))
        if self.said:
            lines.append(f"       {self.name}: profiler {json.dumps(self.said['rounds'][:2])}; step {self.said['step_us']} us")
        for line in (self.err.strip().splitlines() or ["(nothing on standard error)"])[:6] + self.err.strip().splitlines()[-3:]:
            lines.append(f"       | {line[:220]}")


# --- checks ---

def check_host(case):
    return check(case, case.status == 0 and case.said is not None, f"the program ends well (status {case.status}, "
                                                                  f"{case.seconds:.0f} s)")


def check_profiler(case, alone, exact=True):
    """Each round has as many kernels as with the profiler alone, with calls, operators and times."""
    want = alone.said["rounds"][0]
    scale = int(case.options[case.options.index("--threads") + 1]) if "--threads" in case.options else 1
    steps = int(case.options[case.options.index("--steps") + 1]) if "--steps" in case.options else 40
    expected = want["kernels"] * scale * steps // 40
    counts = [seen["kernels"] for seen in case.said["rounds"]]
    check(case, bool(counts) and all(count == expected for count in counts) if exact else all(counts),
          f"the profiler sees {expected} kernels a round: {counts[:20]}")
    doubts = {key: sum(seen[key] for seen in case.said["rounds"]) for key in ("kernels_without_call", "no_duration")}
    check(case, not any(doubts.values()), f"each kernel has its call and a duration: {doubts}")
    operators = [seen["kernels_with_operator"] for seen in case.said["rounds"]]
    if "--threads" not in case.options:  # it traces only the operators of its own thread
        check(case, operators == counts or want["kernels_with_operator"] == 0, f"each kernel has its operator: {operators[:5]}")
    lows, highs = [seen["lead_us"][0] for seen in case.said["rounds"]], [seen["lead_us"][2] for seen in case.said["rounds"]]
    if scale == 1 and steps == 40 and "first" not in case.said and exact:
        kinds = ("kernels", "copies", "runtime", "operators")
        check(case, all(seen[kind] == want[kind] for seen in case.said["rounds"] for kind in kinds),
              f"its events are those without cuspan: {[[seen[kind] for kind in kinds] for seen in case.said['rounds']][:3]}")
    check(case, min(lows, default=0) > -50 and max(highs, default=0) < 1e6,
          f"kernels begin after their calls: {min(lows, default=0):.1f} to {max(highs, default=0):.1f} us later")


def check_agent(case, alone, phases, losses=()):
    """As many kernels in each phase as with cuspan alone, each below its call."""
    want = alone.kernels_in("before")[0]
    scale = int(case.options[case.options.index("--threads") + 1]) if "--threads" in case.options else 1
    steps = int(case.options[case.options.index("--steps") + 1]) if "--steps" in case.options else 40
    want = want * scale * steps // 40
    for phase in ("before", "during", "after"):
        found = case.kernels_in(phase)
        expected = want if phase in phases else 0
        check(case, all(count == expected for count in found), f"cuspan has {expected} kernels {phase}: {found[:20]}")
    orphans = sum(s.parent_id not in case.calls for s in case.kernels)
    check(case, orphans == 0, f"each kernel lies below its call ({orphans} don't)")
    by_parent = {}
    for span in case.kernels:
        by_parent[span.parent_id] = by_parent.get(span.parent_id, 0) + 1
    check(case, "--graph" in case.options or max(by_parent.values(), default=0) <= 1,
          f"no call has two kernels (at most {max(by_parent.values(), default=0)})")
    wrong = sum(not 0 < s.end_ns - s.start_ns < 1e9 for s in case.kernels)
    check(case, wrong == 0, f"times are sane ({wrong} aren't)")
    left = {key: n for key, n in case.report["losses"].items() if key not in losses}
    check(case, not left, f"nothing is lost: {case.report['losses']}")


def check_lines(case, patterns):
    said = case.agent_lines()
    is_right = len(said) == len(patterns) and all(re.search(p, line) for p, line in zip(patterns, said))
    check(case, is_right, f"says {len(patterns)} lines: {said}")


def left_out(case):
    """The one line about what the agent left out."""
    times = case.report["counters"].get("releases", 0)
    return [rf"another tool used CUPTI {times} time"]


def pytorchs_cupti():
    """The one that PyTorch is linked with."""
    for folder in map(Path, sys.path):
        found = folder / "nvidia/cu13/lib/libcupti.so.13"
        if found.exists():
            return str(found)
    return ""


def cases():
    quick = {"cupti.others_retry_ms": 200}
    older = {"cupti.library": pytorchs_cupti()}  # 13.0; without it, the agent takes build/cupti, 13.5
    windows = ["--rounds", "2", "--pause", "0.8", "--quiet-end", "1.5"]
    return [
        Case("kineto-alone"),
        Case("agent-alone", "--without", way=""),
        Case("passed-through", environment={"LD_PRELOAD": str(BUILD / "libcuspan-share.so")}),
        Case("hold", way="", settings={"cupti.others": "hold"}),
        Case("agent-hold", "--without", way="", settings={"cupti.others": "hold"}),
        Case("auto", "--quiet-end", "1.5", way="", settings=quick),
        Case("auto-older", "--quiet-end", "1.5", way="", settings={**quick, **older}),
        Case("auto-windows", *windows, way="", settings=quick),
        Case("auto-windows-older", *windows, way="", settings={**quick, **older}),
        Case("kineto-first", "--first"),
        Case("auto-first", "--first", "--pause", "0.8", "--quiet-end", "1.5", way="", settings=quick),
        Case("auto-first-older", "--first", "--pause", "0.8", "--quiet-end", "1.5", way="", settings={**quick, **older}),
        Case("auto-injected", "--quiet-end", "1.5", settings=quick, environment={"CUDA_INJECTION64_PATH": str(BUILD / "libcuspan.so")}),
        Case("auto-nodes", "--graph", way="", settings={"detail": "graph-nodes"}),
        Case("auto-nodes-older", "--graph", "--quiet-end", "1.5", way="", settings={"detail": "graph-nodes", **quick, **older}),
        Case("auto-teardown", "--rounds", "2", "--nudge", "--pause", "1", "--quiet-end", "0.5", way="", settings=quick,
             environment={"TEARDOWN_CUPTI": "1"}),
        Case("share", way="share"),
        *(Case(f"kineto-twenty-{i}", "--rounds", "20", "--steps", "10") for i in range(3)),
        *(Case(f"share-twenty-{i}", "--rounds", "20", "--steps", "10", way="share") for i in range(3)),
        *(Case(f"kineto-teardown-{i}", "--rounds", "4", "--steps", "20", environment={"TEARDOWN_CUPTI": "1"}) for i in range(3)),
        *(Case(f"share-teardown-{i}", "--rounds", "4", "--steps", "20", way="share", environment={"TEARDOWN_CUPTI": "1"})
          for i in range(3)),
        Case("share-threads", "--threads", "4", way="share"),
        Case("share-first", "--first", way="share"),
        Case("share-graph", "--graph", way="share"),
        Case("kineto-graph", "--graph"),
        Case("agent-graph", "--graph", "--without", way="", settings={"detail": "graph-nodes"}),
        Case("give-way", "--quiet-end", "1.5", way="give-way", settings=quick),
        Case("give-way-subscriber", "--quiet-end", "1.5", way="give-way", settings={**quick, "cupti.api": "subscriber"}),
        Case("give-way-twenty", "--rounds", "20", "--steps", "10", "--pause", "0.6", "--quiet-end", "1", way="give-way",
             settings=quick),
        Case("give-way-teardown", "--rounds", "2", "--nudge", "--pause", "1", "--quiet-end", "0.5", way="give-way", settings=quick,
             environment={"TEARDOWN_CUPTI": "1"}),
    ]


def judge(by):
    kineto, agent = by["kineto-alone"], by["agent-alone"]
    if not (check_host(kineto) and check_host(agent)):
        return
    check(kineto, kineto.said["rounds"][0]["kernels"] > 1000, f"sees kernels: {kineto.said['rounds'][0]}")
    check_agent(agent, agent, ("before", "during", "after"))
    # Are rounds empty without cuspan, too? A profiler that ends CUPTI after each does so on its own thread, maybe
    # during the next one. The same program without cuspan shows it.
    empty = {name: sum(seen["kernels"] == 0 for seen in case.said["rounds"]) for name, case in by.items()
             if name.rstrip("012").endswith(("-teardown-", "-twenty-")) and case.said}
    if empty:
        lines.append(f"       rounds in which the profiler saw nothing: {empty}")
    ends = {name: [seen["teardown_ms"] for seen in case.said["rounds"]] for name, case in by.items()
            if case.said and any("teardown_ms" in seen for seen in case.said["rounds"])}
    if ends:
        lines.append(f"       ms until the profiler has ended CUPTI: {ends}")
    for name, case in by.items():
        if name in ("kineto-alone", "agent-alone") or not check_host(case):
            continue
        if name.startswith(("kineto-teardown", "kineto-twenty", "kineto-first")):
            continue
        alone = sum(count for other, count in empty.items() if other.startswith(name.rstrip("012").replace("share", "kineto")))
        if name in empty and alone:
            check(case, empty[name] <= alone, f"{empty[name]} rounds are empty, {alone} in three programs without cuspan")
            check_agent(case, agent, ("before", "during", "after"))
        elif name == "passed-through":
            check_profiler(case, kineto)
        elif name == "hold":
            check_agent(case, agent, ("before", "during", "after"))
            check_lines(case, [])
            check(case, True, f"the profiler, refused, sees {case.said['rounds'][0]['kernels']} kernels")
        elif name == "agent-hold":
            check_agent(case, agent, ("before", "during", "after"))
            spans = [Counter(s.name for s in who.spans if s.attributes.get("cuda.activity") != "overhead") for who in (case, agent)]
            check(case, spans[0] == spans[1] and not agent.report["counters"].get("releases"),
                  f"without another tool, auto has the spans of hold: {[sum(names.values()) for names in spans]}")
        elif name == "auto-nodes" and "kineto-graph" in by and "agent-graph" in by:
            check_profiler(case, by["kineto-graph"])
            check_agent(case, by["agent-graph"], ("before", "during", "after"))
            check_lines(case, [])
        elif name == "auto-nodes-older" and "kineto-graph" in by and "agent-graph" in by:
            check_profiler(case, by["kineto-graph"])
            check_agent(case, by["agent-graph"], ("before", "after"), ("lost_in_flight",))
            check_lines(case, left_out(case))
        elif name == "share-graph" and "kineto-graph" in by and "agent-graph" in by:
            check_profiler(case, by["kineto-graph"])
            check_agent(case, by["agent-graph"], ("before", "during", "after"))
        elif name.startswith("share"):
            check_profiler(case, kineto)
            check_agent(case, agent, ("before", "during", "after"))
            check_lines(case, [])
        elif name.startswith(("give-way", "auto")) and not name.startswith("auto-nodes"):
            check_profiler(case, kineto)
            check_agent(case, agent, ("before", "after"), ("lost_in_flight",))
            if "--first" in case.options and "kineto-first" in by:
                seen = [who.said["first"]["kernels"] for who in (case, by["kineto-first"])]
                check(case, seen[0] == seen[1] > 0, f"the profiler that comes first sees as many kernels as without cuspan: {seen}")
            check_lines(case, left_out(case))


# --- NVIDIA's tools, and JAX ---

def find_tool(name, *patterns):
    places = [shutil.which(name) or ""]
    for pattern in patterns:
        places += sorted(glob.glob(pattern), reverse=True)
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def check_tools():
    """The variables that each tool leaves in the environment (for src/agent/core/resource/nvidia_tools.c). A program runs
    under it with cuspan."""
    tools = {"nsys": (find_tool("nsys", "/opt/nvidia/nsight-systems/*/bin/nsys", "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys"),
                      ["profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-f", "true", "-o", str(OUT / "nsys")]),
             "ncu": (find_tool("ncu", "/opt/nvidia/nsight-compute/*/ncu", "/usr/local/cuda/bin/ncu"), ["--launch-count", "1"]),
             "compute-sanitizer": (find_tool("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer"), [])}
    small = [sys.executable, "-c", "import torch; print(torch.ones(8, device='cuda').sum().item())"]
    for name, (path, options) in tools.items():
        if not path:
            lines.append(f"left out: {name}, which is not here")
            continue
        case = Case(name, command=[path, *options], way="", program=small).run()
        is_well = "8.0" in case.out
        check(case, is_well, f"the program under it runs well with cuspan run (status {case.status}, {case.seconds:.0f} s)")
        said = [line for line in case.err.splitlines() + case.out.splitlines() if line.startswith("cuspan:")]
        check(case, any("needs CUPTI for itself" in line for line in said) and not case.spans, f"is named in one line: {said[:3]}")
        plain = subprocess.run([path, *options, "env"], capture_output=True, text=True, timeout=SECONDS_MAX).stdout
        new = [line[:160] for line in plain.splitlines() if "=" in line and os.environ.get(line.split("=")[0]) != line.split("=", 1)[1]]
        lines.append(f"       {name} sets: {new}")


JAX = """
import glob, gzip, json, tempfile, time, jax, jax.numpy as jnp
f = jax.jit(lambda x: (x @ x).sum())
x = jnp.ones((256, 256))
def work(steps):
    begin = time.time_ns()
    for _ in range(steps): f(x).block_until_ready()
    return [begin, time.time_ns()]
def events_on_gpu(folder):
    # with a time each, by the process that they are shown in
    found = 0
    for path in glob.glob(folder + "/**/*.trace.json.gz", recursive=True):
        events = json.load(gzip.open(path))["traceEvents"]
        gpus = {e["pid"] for e in events if e.get("name") == "process_name" and "GPU" in e["args"]["name"]}
        found += sum(e.get("ph") == "X" and e["pid"] in gpus for e in events)
    return found
work(5)
said = {"before": [], "during": [], "rounds": [], "after": [], "step_us": {}}
for _ in range(2):
    said["before"].append(work(20))
    folder = tempfile.mkdtemp()
    with jax.profiler.trace(folder):
        said["during"].append(work(20))
    said["rounds"].append(events_on_gpu(folder))
    time.sleep(1.5)
said["after"].append(work(20))
print("RESULT " + json.dumps(said))
"""


def check_jax():
    """JAX's profiler looks CUPTI's functions up by their names in a library of its own."""
    if not importlib.util.find_spec("jax"):
        lines.append("left out: JAX, which is not installed")
        return
    program, small = [sys.executable, "-c", JAX], {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    done = [Case("jax-alone", program=program, environment=small), Case("jax-without", way="", program=program, environment=small,
                                                                        settings={"cupti.others": "hold"})]
    done += [Case(f"jax-{way or 'auto'}", way=way, settings={"cupti.others_retry_ms": 200}, program=program, environment=small)
             for way in ("", "give-way", "share")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(Case.run, done))
    alone = done[0]
    for case in done:
        if not check_host(case):
            case.show()
            continue
        seen = case.said["rounds"]
        if case.name == "jax-without":
            lines.append(f"       {case.name}: with hold, JAX's profiler sees {seen} events, cuspan {len(case.spans)} spans")
            continue
        is_same = check(case, seen == alone.said["rounds"] and min(seen) > 0, f"JAX's profiler sees {seen} events on the GPU")
        if case is not alone:
            phases = {phase: case.kernels_in(phase) for phase in ("before", "during", "after")}
            is_same &= check(case, all(min(phases[phase], default=0) >= 20 for phase in ("before", "after")),
                             f"cuspan has kernels: {phases}")
        if not is_same:
            case.show()


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    chosen = [case for case in cases() if not sys.argv[3:] or case.name in sys.argv[3:]
              or case.name in ("kineto-alone", "agent-alone")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(Case.run, chosen))
    by = {case.name: case for case in done}
    judge(by)
    for case in done:
        if any(line.startswith(f"FAILED {case.name}:") for line in lines):
            case.show()
    if not sys.argv[3:]:
        check_tools()
    if not sys.argv[3:] or "jax" in sys.argv[3:]:
        check_jax()
    print("\n".join(lines))
    for case in done:
        if case.said:
            print(f"       {case.name}: a step takes {case.said['step_us']} us ({AT_ONCE} programs at once: no measurement)")
    print(f"others: {'FAILED' if failures else 'passed'}: {failures} of {sum(line[:6] in ('ok    ', 'FAILED') for line in lines)} "
          f"checks failed, {time.monotonic() - begin:.0f} s; logs in {OUT}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
