#!/usr/bin/env python3
"""Generates docs/performance.md and docs/performance-*.svg. Called by tests/bench/run.sh page.

    page.py            writes them
    page.py --check    fails and prints the difference if the committed ones are out of date

The sources are tests/bench/performance.md.in, which has the prose, and the committed results in tests/bench/results:
those of GPU_RUNS (each made by one run.sh gpu; see gpu.py and paired.py), of MODEL_RUNS (run.sh models), CODE_RUN (run.sh code),
fleet.json (run.sh fleet) and anywhere.json (run.sh anywhere). A budget takes its figure from the first run that has it; nothing is compared across runs.

anywhere.json must have "machine", "commit", "date" and "command" as in gpu.json; "budgets": {row: [check]} with the rows
of BUDGETS below that have no check of their own, where a check is {"name", "value", "limit", "unit"} and, if there is a
spread, "low" and "high"; "tables": [{"title", "text", "columns": [...], "rows": [[...]]}]. The page shows them, except UNSHOWN, and those of GROWTH as one.

The page names missing results.
"""

import difflib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import paired  # noqa: E402
import plot  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BENCH, DOCS = ROOT / "tests/bench", ROOT / "docs"
# Title, file in tests/bench/results, part of the plots' names, the configurations that the page shows (None: all), and whether it
# has plots. A budget's figure is that of the first run that has it. The page shows one-percent only of the run that measured
# today's sleep: GPU records stay enabled.
LEVELS = {"none", "summary", "default", "graph-nodes", "full", "floor-default"}
BUDGETS_ONLY = {"no configuration"}
UNSHOWN_APPS = {"gpu.json": {"calls"}}  # a later run has more of them
GPU_RUNS = [("A PyTorch step, many rounds", "gpu-torch.json", "many-", None, False),
            ("A service with 1 % of its requests sampled", "gpu-sampled.json", "sampled-", {"none", "one-percent", "default", "floor-off"}, False),
            ("The default settings", "gpu.json", "", {"none", "default", "floor-default", "kineto"}, False),
            ("Starting and ending", "gpu-start.json", "start-", BUDGETS_ONLY, False), ("Asleep", "gpu-asleep.json", "asleep-", BUDGETS_ONLY, False),
            ("Every level", "gpu-levels.json", "levels-", LEVELS, True),
            ("Beside other profilers", "gpu-profilers.json", "profilers-", {"none", "summary", "default", "full", "floor-default", "nsys", "kineto"}, False),
            ("Beside PyTorch's profiler", "gpu-beside.json", "beside-", BUDGETS_ONLY, False),
            ("Metrics, and cuspan stat", "gpu-numbers.json", "numbers-", None, False),
            ("A buffer for each thread", "gpu-buffers.json", "buffers-", None, False)]
# Title, files, end of the plot's name, configurations that the page leaves out: runs of tests/bench/run.sh models. Rounds of
# several files of one model are added. The first two measured one step in 64 with GPU records that were disabled in sleep.
MODEL_RUNS = [("Training", ["gpt2", "gpt2-2", "gpt2-3", "ddp", "ddp-2", "ddp-3", "ddp-4", "ddp-5", "resnet-train", "resnet-train-2"], "training", {"one-step-in-64"}),
              ("Inference, and JAX", ["resnet-infer", "decode", "decode-graph", "decode-graph-2", "jax"], "inference", {"one-step-in-64"}),
              ("One step in 64, with CUPTI's records enabled in sleep", ["one-in-64"], "one-in-64", set())]
CODE_RUN = ("Lines of code", ["code-infer", "code-train"], "code", set())
UNSHOWN_MODELS = "asleep", "default-no-plugin", "default-batch", "default-idle"  # they made no difference
MODEL_ROUNDS = 8  # a cell with fewer tells their number
LOSS_SHOWN = 0.001  # smaller shares of lost spans are not on the page
OURS = "cuspan"  # as rivals/measure.py names it
GPU, ANYWHERE, MODELS = "tests/bench/run.sh gpu", "tests/bench/run.sh anywhere", "tests/bench/run.sh models"
CODE = "tests/bench/run.sh code"
CODE_CONFIGS = ["default", "stacks-python-16", "stacks-python", "stacks-all", "kineto", "kineto-cpu", "kineto-stack"]

FLOORS = {"default": "floor-default", "graph-nodes": "floor-graph-nodes", "full": "floor-full", "one-percent": "floor-off",
          "one-step-in-64": "floor-records-off"}
CONFIGS = ["none", "asleep", "one-percent", "one-step-in-64", "summary", "default", "thread-buffers", "default-no-plugin", "default-batch",
           "default-idle", "graph-nodes", "full", "floor-off", "floor-records-off", "floor-default", "floor-graph-nodes", "floor-full", "metrics", "stat", "nsys", "kineto", "beside-kineto"]
OVER_TRACING = ["metrics", "stat"]  # what these add to "default" is what they cost
# Figure, its name on the page.
FIGURES = {
    "calls": {"launch.median": "launch", "launch-16-threads.median": "launch, 16 threads", "copy-4k.median": "copy of 4 KiB",
              "get-device.median": "cudaGetDevice"},
    "graphs": {"graph-launch.median": "cudaGraphLaunch", "graph-node.median": "per node, to the end of the graph"},
    "service": {"request-time": "time per request", "request-p99": "p99"},
    "torch": {"torch-step.median": "a step"},
    "steps": {"step.median": "a step", "resident": "peak resident memory"},
    "start": {"start.median": "from process start to the end of the first launch", "exit.median": "from the end of main to process exit"},
}
LATE = {"calls-late": ("launch-late.min", "launch"), "torch-late": ("torch-step-late.min", "PyTorch step")}  # of --pairs
TITLES = {"calls": "Calls", "graphs": "CUDA graphs of 100 kernels", "service": "A service of 16 threads",
          "torch": "A launch-bound PyTorch step", "steps": "A step of 200 launches", "start": "A process of one launch"}


# --- budgets ---

@dataclass
class Check:
    """One figure against its limit. `limit` None: the interval must include 1.00, and with `width` be narrower than that."""
    name: str
    value: float
    low: float
    high: float
    is_sure: bool
    limit: float = None
    unit: str = ""
    width: float = None

    @classmethod
    def of(cls, name, estimate, limit=None, unit="×", width=None):
        return cls(name, estimate.median, estimate.low, estimate.high, estimate.is_sure, limit, unit, width)

    @property
    def is_met(self):
        if self.limit is not None:
            return self.value <= self.limit
        if self.width is None:
            return self.low <= 1  # a ratio above that is a loss
        return self.low <= 1 <= self.high and self.is_sure and self.high - self.low < self.width

    def number(self, value):
        return f"{value:.3f}" if self.unit == "×" else f"{value:.0f}" if abs(value) >= 10 else f"{value:.1f}"

    def figure(self):
        spread = "" if self.low == self.high else f" ({self.number(self.low)} to {self.number(self.high)})"
        name, value = self.name, self.value
        if name.endswith("+") and value < 0:  # "floor - 0.7 ns", not "floor + -0.7 ns"
            name, value = f"{name[:-1]}-", -value
        return f"{name} {self.number(value)} {self.unit}{spread}"

    def verdict(self):
        if self.limit is not None:
            is_open = self.low <= self.limit < self.high
            said = "met" if self.is_met else f"missed by {self.number(self.value - self.limit)} {self.unit}"
            few = "" if self.is_sure else ", too few pairs for an interval"
            return said + few + (" (open)" if is_open else "")
        if self.is_met:
            return "met"
        if not self.low <= 1 <= self.high:
            return f"missed by {self.number(self.low - 1 if self.low > 1 else 1 - self.high)} {self.unit}"
        return "undecided: the interval is too wide"


def first_estimate(how, arguments, gpus):
    """The value of the first run that has it: runs of different machines cannot be combined."""
    return next((estimate for gpu in gpus if (estimate := how(gpu["runs"], *arguments))), None)


def gpu_check(name, how, arguments, limit=None, unit="×", width=None):
    """A function of all results that returns a list with one check, or an empty one if they do not have it."""
    def make(gpus):
        estimate = first_estimate(how, arguments, gpus)
        return [Check.of(name, estimate, limit, unit, width)] if estimate else []
    return make


def ratio_check(name, app, config, reference, figure, limit=None, width=None):
    return gpu_check(name, paired.ratio, (app, config, reference, figure), limit, "×", width)


@dataclass
class Budget:
    """A row of the budgets: its own checks, from runs on a GPU, and those of anywhere.json under its key."""
    key: str
    what: str
    limit: str
    checks: tuple = ()
    wants: int = None  # number of checks of a complete row


BUDGETS = [
    Budget("launch", "one traced kernel launch, default settings", "at most 100 ns above the floor",
           (gpu_check("floor +", paired.difference, ("calls", "default", "floor-default", "launch.median"), 100, "ns"),)),
    Budget("torch", "a launch-bound PyTorch step", "at most 1.02 × the floor and 1.12 × no tracer",
           (ratio_check("floor", "torch", "default", "floor-default", "torch-step.median", 1.02),
            ratio_check("none", "torch", "default", "none", "torch-step.median", 1.12))),
    Budget("one-percent", "1 % of requests sampled (the service)", "at most 1.01 × the program with CUPTI enabled once and disabled again",
           (ratio_check("disabled again", "service", "one-percent", "floor-off", "request-time", 1.01),)),
    Budget("profiler", "a PyTorch step with PyTorch's profiler, both complete", "at most 1.05 × that profiler alone",
           (ratio_check("kineto", "torch", "beside-kineto", "kineto", "torch-step.median", 1.05),)),
    Budget("untraced", "a call that isn't traced by default", "none: the 95 % interval includes 1.00",
           (ratio_check("cudaGetDevice", "calls", "default", "none", "get-device.median"),
            ratio_check("cudaStreamQuery", "calls", "default", "none", "stream-query.median"))),
    Budget("graph", "a graph launch, default settings", "at most 1.05 ×",
           (ratio_check("to its end, none", "graphs", "default", "none", "graph-node.median", 1.05),
            ratio_check("the call, floor", "graphs", "default", "floor-default", "graph-launch.median", 1.05))),
    Budget("asleep", "loaded and asleep", "the 95 % interval includes 1.00 and is narrower than 1 %",
           (*(ratio_check(name, app, "asleep", "none", figure, width=0.01) for app, (figure, name) in LATE.items()),)),
    Budget("numbers", "metrics every half second, and `cuspan stat`, beside tracing alone: a step bound by launches", "at most 1.02 ×",
           tuple(ratio_check(f"{config}, {name}", app, config, "default", figure, 1.02)
                 for app, figure, name in (("steps", "step.median", "200 launches"), ("torch", "torch-step.median", "PyTorch"))
                 for config in OVER_TRACING)),
    Budget("encode", "from raw record to encoded OTLP, a span of ten attributes", "at most 200 ns of CPU time"),
    Budget("wire", "from raw record to the wire, gzip included", "at most 500 ns of CPU time per span"),
    Budget("bytes", "on the wire", "at most 40 bytes per span with gzip, 28 with zstd", wants=2),
    Budget("memory", "memory, default settings", "cuspan allocates at most 64 MiB, under any load"),
    Budget("start-exit", "startup; exit with a reachable collector; exit with an unreachable collector",
           "5 ms more than CUPTI alone; 50 ms; the configured deadline",
           (gpu_check("start, floor +", paired.difference, ("start", "default", "floor-default", "start.median"), 5, "ms"),
            gpu_check("exit, live, floor +", paired.difference, ("start", "default", "floor-default", "exit.median"), 50, "ms")),
           wants=3),
]


def with_budgets_of(anywhere, pipeline):
    """A budget may have a figure from either."""
    budgets = {key: [*checks] for key, checks in (pipeline or {}).get("budgets", {}).items()}
    for key, checks in (anywhere or {}).get("budgets", {}).items():
        budgets.setdefault(key, []).extend(checks)
    return {**(anywhere or {}), "budgets": budgets}


def checks_of(budget, gpus, anywhere):
    checks = [check for make in budget.checks for check in make(gpus)]
    found = (anywhere or {}).get("budgets", {}).get(budget.key, [])
    return checks + [Check(c["name"], c["value"], c.get("low", c["value"]), c.get("high", c["value"]), True, c["limit"], c["unit"])
                     for c in found]


def budgets_table(gpus, anywhere):
    lines = ["| cost | budget | measured | result |", "|---|---|---|---|"]
    for budget in BUDGETS:
        checks = checks_of(budget, gpus, anywhere)
        figures = "; ".join(check.figure() for check in checks) or "no result yet"
        verdicts = [f"**{check.verdict()}**" if check.verdict() == "met" else check.verdict() for check in checks]
        wanted = budget.wants or len(budget.checks) or 1
        if checks and len(checks) < wanted:
            verdicts.append(f"{wanted - len(checks)} not measured")
        if len({*verdicts}) == 1:
            verdicts = verdicts[:1]
        lines.append(f"| {budget.what} | {budget.limit} | {figures} | {'; '.join(verdicts)} |")
    return "\n".join(lines)


# --- the GPU ---

def interval(ratio, digits=3):
    return f"{ratio.median:.{digits}f} × ({ratio.low:.{digits}f}–{ratio.high:.{digits}f})"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def unit_of(gpu, figure):
    unit = gpu["units"].get(figure, "")
    return "µs" if unit == "us" else unit  # the programs print ASCII


def configs_of(runs, app, shown=None):
    have = {run["config"] for run in runs if run["app"] == app and run["series"] == "rounds"}
    have &= shown or have
    return [config for config in CONFIGS if config in have]


def figure_cell(runs, app, config, figure, unit):
    value = paired.value(runs, app, config, figure)
    if not value:
        return ""
    ratio = paired.ratio(runs, app, config, "none", figure) if config != "none" else None
    return interval(ratio, 2) if ratio else f"{number(value.median)} {unit}"


def app_table(gpu, app):
    runs, figures = gpu["runs"], FIGURES[app]
    lines = ["| | " + " | ".join(figures.values()) + " |", "|---" * (len(figures) + 1) + "|"]
    for config in configs_of(runs, app, gpu.get("shown")):
        cells = [figure_cell(runs, app, config, figure, unit_of(gpu, figure)) for figure in figures]
        lines.append(f"| {config} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def late_table(gpu):
    """Runs with --pairs: the library is loaded in the middle of a process, so the two halves of each process are compared."""
    lines = ["| loaded in the middle of a process | figure | pairs | compared to none |", "|---|---|---|---|"]
    for config in CONFIGS:
        for app, (figure, name) in LATE.items() if config != "none" else ():
            ratio = paired.ratio(gpu["runs"], app, config, "none", figure)
            if ratio:
                lines.append(f"| {config} | {name} | {len(ratio.values)} | {interval(ratio)} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def asleep_share(gpu):
    """How long the agent slept in the service's runs with 1 % sampled: that share limits what sleep can save."""
    shares = [run["agent"].get("asleep_ns", 0) / 1e9 / run["seconds"] for run in gpu["runs"]
              if run["config"] == "one-percent" and run["config"] in (gpu.get("shown") or CONFIGS) and run.get("agent")]
    return (f"With 1 % sampled the agent slept for {100 * paired.Estimate(shares).median:.0f} % of the run's time.\n"
            if shares else "")


def losses(gpu):
    lost = {}
    for run in gpu["runs"]:
        agent = run.get("agent") or {}
        if run["config"] == "summary" or gpu.get("shown") and run["config"] not in gpu["shown"]:
            continue  # summary has almost no spans to compare with
        count, spans = sum((agent.get("losses") or {}).values()), agent.get("spans") or 0
        if count:
            key = (run["app"], run["config"])
            lost[key] = max(lost.get(key, 0), count / (count + spans))
    said = [f"{app} with {config} up to {100 * share:.2g} %" for (app, config), share in sorted(lost.items()) if share >= LOSS_SHOWN]
    return f"Lost spans: {', '.join(said)}.\n" if said else ""


def machine_name(results):
    machine = results["machine"]
    parts = [machine.get("gpu"), f"driver {machine['driver']}" if "driver" in machine else None,
             f"CUPTI {machine['cupti']}" if "cupti" in machine else None,
             f"PyTorch {machine['torch']}" if machine.get("torch", "unknown") != "unknown" else None,
             machine.get("cpu"), f"{machine['cores']} cores" if "cores" in machine else None]
    return ", ".join(str(part) for part in parts if part)


def machine_line(results, last=None):
    """`last`: the results whose machine the page named last. A file of results has the command; without one, the page names it."""
    named = "Same kind of machine" if last and machine_name(last) == machine_name(results) else machine_name(results)
    command = re.sub(r" --commit \S+| \S+\.json", "", results["command"])  # they change no figure
    source = f"[{results['file']}](../tests/bench/results/{results['file']})" if "file" in results else f"`{command}`"
    return f"{named}; commit {results['commit']}, {results['date']}; {source}"


def gpu_sections(gpus):
    if not gpus:
        return f"There is no result of `{GPU}` in `tests/bench/results` yet.\n"
    with_tables = [gpu for gpu in gpus if gpu.get("shown") != BUDGETS_ONLY]
    sections = [gpu_section(gpu, last) for gpu, last in zip(with_tables, [None, *with_tables])]
    others = [f"[{gpu['title']}](../tests/bench/results/{gpu['file']})" for gpu in gpus if gpu not in with_tables]
    return "\n".join(sections + ([f"Runs for budgets only: {', '.join(others)}."] if others else []))


def rounds_of(gpu):
    return f"; {gpu['rounds']} complete round{'s' if gpu['rounds'] > 1 else ''}" if gpu["rounds"] else ""


def gpu_section(gpu, last=None):
    lines = [f"### {gpu['title']}\n", f"{machine_line(gpu, last)}{rounds_of(gpu)}.\n"]
    if gpu["problems"]:
        lines.append("Problems in this run: " + "; ".join(gpu["problems"]) + ".\n")
    for app, title in TITLES.items():
        if not configs_of(gpu["runs"], app) or app in UNSHOWN_APPS.get(gpu.get("file"), ()):
            continue
        lines.append(f"#### {title}\n")
        if gpu.get("has_plots", True):
            lines.append(f"![{title}, as multiples of no tracer](images/performance-{gpu['prefix']}{app}.svg)\n")
        lines.append(app_table(gpu, app) + "\n")
        if app == "service":
            lines.append(asleep_share(gpu))
    lines += [late_table(gpu), losses(gpu)]
    return "\n".join(line for line in lines if line)


def model_ratios(runs, model, config, reference):
    """Of the median step, or of the mean, which contains the step in 64 that is traced. Where both have them, of the ratios of
    the halves of their processes (BENCH_LATE in apps/models.py)."""
    kind = "mean" if config == "one-step-in-64" else "median"
    return (paired.ratio(runs, model, config, reference, f"{model}.late-{kind}") or
            paired.ratio(runs, model, config, reference, f"{model}.{kind}"))


def model_cell(ratio, rounds):
    few = f", {len(ratio.values)} rounds" if ratio and len(ratio.values) < rounds else ""
    return f"{interval(ratio)}{few}" if ratio else ""


def models_of(gpu):
    return list(dict.fromkeys(run["app"] for run in gpu["runs"]))


def models_section(gpus):
    lines = []
    for gpu, last in zip(gpus, [None, *gpus]):
        runs, models = gpu["runs"], models_of(gpu)
        times = [paired.value(runs, model, "none", f"{model}.median") for model in models]
        lines += [f"### {gpu['title']}\n", f"{machine_line(gpu, last)}.\n",
                  f"![{gpu['title']}, as multiples of no tracer](images/performance-models-{gpu['prefix']}.svg)\n"
                  if has_model_plot(gpu) else "",
                  "| | " + " | ".join(models) + " |", "|---" * (len(models) + 1) + "|",
                  "| none, a step | " + " | ".join(f"{time.median / 1000:.2f} ms, {len(time.values)} rounds" for time in times) + " |"]
        compared = [(config, "none") for config in CONFIGS if config not in ("none", *UNSHOWN_MODELS)] + [pair for pair in FLOORS.items()]
        for config, reference in compared:
            ratios = [model_ratios(runs, model, config, reference) for model in models]
            if any(ratios):
                name = config if reference == "none" else f"{config} ÷ {reference}"
                lines.append(f"| {name} | " + " | ".join(model_cell(ratio, MODEL_ROUNDS) for ratio in ratios) + " |")
        lines.append("")
    return "\n".join(lines).replace("\n\n\n", "\n\n") if lines else f"There is no result of `{MODELS}` in `tests/bench/results` yet.\n"


def has_model_plot(gpu):
    return len({run["config"] for run in gpu["runs"]}) > 2  # more than none and another one


def model_plots(gpus):
    """{file name: SVG}"""
    made = {}
    for gpu in filter(has_model_plot, gpus):
        panels = []
        for model in models_of(gpu):
            rows = [(config, model_ratios(gpu["runs"], model, config, "none")) for config in CONFIGS
                    if config not in ("none", *UNSHOWN_MODELS)]
            panels.append((model, [(config, ratio) for config, ratio in rows if ratio]))
        made[f"images/performance-models-{gpu['prefix']}.svg"] = plot.ratios(
            f"{gpu['title']}: a step as a multiple of no tracer", [panel for panel in panels if panel[1]])
    return made


def stacks_alone(runs, model, config):
    """The cost of stacks in a step, in turns with and without them in one process: (Estimate of the ratio, of the ns for each of
    the model's launches or None), or None."""
    found = [run["figures"] for run in runs if run["app"] == model and run["config"] == config]
    ratios = [figures[f"{model}.switched-median"] for figures in found if f"{model}.switched-median" in figures]
    launches = [run["figures"][f"{model}.launches"] for run in runs if run["app"] == model and run["config"] == "kineto"]
    if not ratios:
        return None
    if not launches or not paired.median(launches):
        return paired.Estimate(ratios), None
    steps_us = paired.value(runs, model, config, f"{model}.median").median
    ns_of_all = 1000 * steps_us / paired.median(launches)  # of a ratio of 1
    return paired.Estimate(ratios), paired.Estimate([(ratio - 1) / ratio * ns_of_all for ratio in ratios])


def alone_cell(alone):
    if not alone:
        return ""
    ratio, more = alone
    ns = f", {more.median:+.0f} ns a launch ({more.low:.0f} to {more.high:.0f})" if more else ""
    return f"{model_cell(ratio, 0)}{ns}"


def code_section(code):
    if not code:
        return f"There is no result of `{CODE}` in `tests/bench/results` yet.\n"
    runs, models = code["runs"], models_of(code)
    lines = [f"{machine_line(code)}.\n"]
    if code["problems"]:
        lines.append("Problems in this run: " + "; ".join(code["problems"]) + ".\n")
    times = [paired.value(runs, model, "none", f"{model}.median") for model in models]
    launches = [paired.value(runs, model, "kineto", f"{model}.launches") for model in models]
    lines += ["| | " + " | ".join(models) + " |", "|---" * (len(models) + 1) + "|",
              "| none, a step | " + " | ".join(f"{time.median / 1000:.2f} ms, {len(time.values)} rounds" if time else "" for time in times) + " |",
              "| launches in a step | " + " | ".join(f"{count.median:.0f}" if count else "" for count in launches) + " |"]
    # Halves of processes differ by much more than stacks cost, which the rows of one process have.
    compared = [(config, "none") for config in CODE_CONFIGS if not config.startswith("stacks")]
    for config, reference in compared:
        ratios = [model_ratios(runs, model, config, reference) for model in models]
        if any(ratios):
            name = config if reference == "none" else f"{config} ÷ {reference}"
            lines.append(f"| {name} | " + " | ".join(model_cell(ratio, 0) for ratio in ratios) + " |")
    for config in CODE_CONFIGS:
        alone = [stacks_alone(runs, model, config) for model in models]
        if any(alone):
            lines.append(f"| {config}, on ÷ off in one process | " + " | ".join(map(alone_cell, alone)) + " |")
    return "\n".join(lines) + "\n"


def callbacks_section(gpus):
    gpu = next((gpu for gpu in gpus if gpu.get("callbacks")), None)
    if not gpu:
        return f"There is no result of `{GPU}` in `tests/bench/results` yet.\n"
    lines = ["| callback | p50 | p99 | p99.9 | maximum | above 50 µs | of these, thread preempted |", "|---" * 7 + "|"]
    for found in [*gpu["callbacks"].values()][:1]:  # the others have the same
        for kind, k in found["kinds"].items():
            lines.append(f"| {kind} | {k['p50_ns']:,.0f} ns | {k['p99_ns']:,.0f} ns | {k['p999_ns']:,.0f} ns | "
                         f"{k['max_ns'] / 1e3:,.1f} µs | {k['over_50us']} | {k['over_50us_switched']} |")
    kinds = [kind for found in gpu["callbacks"].values() for kind in found["kinds"].values()]
    ours = sum(kind["over_50us"] - kind["over_50us_switched"] for kind in kinds)
    return "\n".join(lines) + (f"\n\nOf the run *{gpu['title']}*. Above 50 µs without preemption: {ours} of {sum(kind['count'] for kind in kinds):,} "
                               "callbacks (budget: none).\n")


# --- anywhere ---

GROWTH = "Growth: "  # titles in anywhere.json
UNSHOWN = {"By stage", "Memory by load", "Instructions"}  # budgets have what matters of them


def growth_table(tables):
    """One table of several: the first four columns, with medians only. The first and the last row, that of the ratio 1, and those
    that take clearly longer."""
    lines = ["| growth of | ns per span | ratio | peak resident memory, MiB |", "|---|---|---|---|"]
    for table in tables:
        rows = table["rows"]
        for count, ns, ratio, memory, *_ in (row for row in rows if row in (rows[0], rows[-1]) or
                                             (times := float(row[2].split()[0])) == 1 or times > 1.3):
            lines.append(f"| {table['columns'][0]}: {count} | {str(ns).split(' (')[0]} | {ratio} | {memory} |")
    return "\n".join(lines)


def anywhere_section(anywhere):
    if not anywhere:
        return f"There is no result of `{ANYWHERE}` in `tests/bench/results` yet.\n"
    lines = [machine_line(anywhere) + ".\n"]
    tables = [table for table in anywhere.get("tables", []) if table["title"] not in UNSHOWN]
    for table in tables:
        if table["title"].startswith(GROWTH):
            continue
        lines += [f"### {table['title']}\n", table["text"] + "\n" if table.get("text") else "",
                  "\n".join(["| " + " | ".join(table["columns"]) + " |", "|---" * len(table["columns"]) + "|"] +
                            ["| " + " | ".join(map(str, row)) + " |" for row in table["rows"]]) + "\n"]
    growing = [table for table in tables if table["title"].startswith(GROWTH)]
    if growing:
        lines += ["### Growth\n", growth_table(growing) + "\n"]
    return "\n".join(line for line in lines if line)


def stage_median(runs, stage):
    return paired.Estimate([run["stages"][stage]["ns"] for run in runs])


def pipeline_section(pipeline):
    if not pipeline:
        return "There is no result of `build/pipeline_bench` in `tests/bench/results` yet.\n"
    runs = pipeline["runs"]["after"]  # "before" is an earlier commit
    lines = [machine_line(pipeline) + f", {len(runs)} times.\n", "| stage | ns of CPU time per span |", "|---|---|"]
    lines += [f"| {stage} | {ns.median:.0f} ({ns.low:.0f} to {ns.high:.0f}) |"
              for stage in runs[0]["stages"] for ns in [stage_median(runs, stage)]]
    return "\n".join(lines) + "\n"


def rivals_section(rivals):
    if not rivals:
        return "There is no result of `tests/bench/rivals/run.sh` in `tests/bench/results` yet.\n"
    rows = rivals["exporters"]
    ours = {row["compression"]: row["cpu_ns"]["median"] for row in rows if row["exporter"] == OURS}
    lines = [f"{rivals['machine']}; commit {rivals['commit']}; `{rivals['command']}`.\n",
             "| exporter | version | compression | CPU time per span, ns | × cuspan | bytes per span on the wire |", "|---" * 6 + "|"]
    for row in rows:
        if row["compression"] == "none":
            continue
        cpu = row["cpu_ns"]
        lines.append(f"| {row['exporter']} | {row['version']} | {row['compression']} | {cpu['median']:,.0f} | "
                     f"{cpu['median'] / ours[row['compression']]:.1f} | {row['wire_bytes']['median']:.1f} |")
    return "\n".join(lines) + "\n"


# --- the page ---

def plots(gpu):
    """{file name: SVG}"""
    made = {}
    for app in TITLES if gpu.get("has_plots", True) else ():
        configs = [config for config in configs_of(gpu["runs"], app, gpu.get("shown")) if config != "none"]
        panels = []
        for figure, name in FIGURES[app].items():
            rows = [(config, paired.ratio(gpu["runs"], app, config, "none", figure)) for config in configs]
            panels.append((name, [(config, ratio) for config, ratio in rows if ratio]))
        if any(rows for _, rows in panels):
            made[f"images/performance-{gpu['prefix']}{app}.svg"] = plot.ratios(f"{TITLES[app]}: as a multiple of no tracer",
                                                         [panel for panel in panels if panel[1]])
    return made


def read(name):
    path = BENCH / "results" / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def read_gpus(runs):
    found = [(read(file), {"title": title, "file": file, "prefix": prefix, "shown": shown, "has_plots": has_plots})
             for title, file, prefix, shown, has_plots in runs]
    return [{**gpu, **about} for gpu, about in found if gpu]


def read_models(runs, command=MODELS):
    """Of files of the same machine and commit; a round of a file is paired with no round of another one."""
    made = []
    for title, names, prefix, unshown in runs:
        parts = [part for part in (read(f"models-{name}.json") for name in names) if part]
        if parts:
            made.append({**parts[0], "title": title, "prefix": prefix, "command": command,
                         "runs": [{**run, "round": 1000 * number + run["round"]} for number, part in enumerate(parts)
                                  for run in part["runs"] if run["config"] not in unshown]})
        if len({(json.dumps({**part["machine"], "application_cores": None}), part["commit"]) for part in parts}) > 1:
            raise SystemExit(f"the files of {title} are of different machines or commits")
    return made


# --- growth of a fleet ---

FLEET = "tests/bench/run.sh fleet"
FLEET_PLOTS = {"fleet-cpu": ("A fleet: CPU time", "seconds of CPU time", "cpu_s"),
               "fleet-memory": ("A fleet: peak memory", "MB", "peak_mb")}
FLEET_LINES = ["stat", "export", "fleet kernels", "fleet utilization", "fleet launch_latency", "fleet slow_requests", "pandas kernels",
               "DuckDB read_json"]


# 1 to 7 s and at most 604 MB for 10^8 spans, or as others
FLEET_UNSHOWN = {"fleet calls", "fleet waits", "fleet errors", "fleet copies", "fleet memory", "fleet steps", "fleet ranks",
                 "fleet collectives", "stat of JSON", "export of JSON"}


def fleet_cell(row):
    if not row:
        return ""
    if "failed" in row:
        return f"failed: {row['failed']}"
    return f"{row['wall_s']:.1f} s, {row['peak_mb']:,} MB"


def fleet_section(fleet):
    if not fleet:
        return f"There is no result of `{FLEET}` in `tests/bench/results` yet.\n"
    sizes = [fleet["sizes"][0], fleet["sizes"][-1]]  # the plots have all
    lines = [f"{machine_line(fleet)}.\n"]
    lines += [f"![{title}]({f'images/performance-{name}.svg'})\n" for name, (title, _, _) in FLEET_PLOTS.items()]
    lines += ["| | " + " | ".join(f"{size['spans']:,} spans, {size['processes']:,} processes" for size in sizes) + " |",
              "|---" * (len(sizes) + 1) + "|",
              "| input, zstd protobuf | " + " | ".join(f"{size['input_bytes'] / size['spans']:.1f} bytes a span" for size in sizes) + " |",
              "| exported Parquet | " + " | ".join(f"{size['parquet_bytes'] / size['spans']:.1f} bytes a span, {size['files']:,} files"
                                                   if "files" in size else "" for size in sizes) + " |",
              "| commit | " + " | ".join(size["commit"] for size in sizes) + " |"]
    for name in dict.fromkeys(name for size in sizes for name in size["rows"] if name not in FLEET_UNSHOWN):
        lines.append(f"| {name} | " + " | ".join(fleet_cell(size["rows"].get(name)) for size in sizes) + " |")
    return "\n".join(lines) + "\n"


def fleet_plots(fleet):
    """{file name: SVG}"""
    made = {}
    for name, (title, unit, figure) in FLEET_PLOTS.items() if fleet else ():
        series = []
        for row in FLEET_LINES:
            line = [(size["spans"], size["rows"][row][figure]) for size in fleet["sizes"] if size["rows"].get(row, {}).get(figure)]
            if line:
                series.append((row, "other" if row.startswith(("pandas", "DuckDB")) else "cuspan", line))
        made[f"images/performance-{name}.svg"] = plot.growth(title, unit, series)
    return made


def make(template, gpus, anywhere, pipeline=None, rivals=None, models=(), code=None, fleet=None):
    """{file name in docs: text}"""
    text = template
    for name, part in {"budgets": budgets_table(gpus, with_budgets_of(anywhere, pipeline)),
                       "pipeline": pipeline_section(pipeline), "rivals": rivals_section(rivals), "gpu": gpu_sections(gpus),
                       "callbacks": callbacks_section(gpus), "fleet": fleet_section(fleet), "models": models_section(models), "code": code_section(code),
                       "anywhere": anywhere_section(anywhere)}.items():
        marker = f"{{{{{name}}}}}"
        if text.count(marker) != 1:
            raise SystemExit(f"performance.md.in has {marker} {text.count(marker)} times, not once")
        text = text.replace(marker, part.rstrip("\n"))
    return {"performance.md": text, **{name: plot for gpu in gpus for name, plot in plots(gpu).items()}, **model_plots(models),
            **fleet_plots(fleet)}


def main():
    made = make((BENCH / "performance.md.in").read_text(encoding="utf-8"), read_gpus(GPU_RUNS),
                read("anywhere.json"), read("pipeline.json"), read("rivals.json"), read_models(MODEL_RUNS), next(iter(read_models([CODE_RUN], CODE)), None),
                read("fleet.json"))
    there = {str(path.relative_to(DOCS)): path for path in [DOCS / "performance.md", *DOCS.glob("images/performance*.svg")]}
    if "--check" not in sys.argv[1:]:
        for name in there.keys() - made.keys():
            there[name].unlink()
        for name, text in made.items():
            (DOCS / name).write_text(text, encoding="utf-8")
        return 0
    wrong = False
    for name in sorted({*made, *there}):
        old = there[name].read_text(encoding="utf-8") if name in there else ""
        difference = list(difflib.unified_diff(old.splitlines(), made.get(name, "").splitlines(), f"docs/{name}", "made now",
                                               n=1, lineterm=""))
        wrong |= bool(difference) or (name in there) != (name in made)
        print("\n".join(difference[:40]))
    print("docs/performance.md is out of date: tests/bench/run.sh page" if wrong
          else "docs/performance.md is up to date")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
