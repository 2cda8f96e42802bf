#!/usr/bin/env python3
"""The benchmark's own parts, without a GPU: pairing and intervals, the harness with stand-in programs, the null
collector,
libcuspan-timed.so on a recording, and the page.

    bench_test.py --build DIRECTORY [Class[.test]...]
"""

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tests/support")]

import page  # noqa: E402
import paired  # noqa: E402
from built import BUILD  # noqa: E402

# Prints what calls and service would print, and writes the agent's report; its cost is known.
STAND_IN = """#!/usr/bin/env python3
import json, os, re, shutil, sys
settings = dict(pair.split("=", 1) for pair in re.split("[;\\n]", os.environ.get("CUSPAN_SET", "")) if pair)
library = os.path.basename(os.environ.get("CUDA_INJECTION64_PATH", ""))
open(os.environ["BENCH_READY"], "w").close()
fails = os.environ.get("STAND_IN_FAILS", "")
asleep = os.environ.get("OTEL_TRACES_SAMPLER") == "always_off"
cost = {"": 1000, "libcuspan-floor.so": 1200, "libcuspan.so": 1000 if asleep else 1260}[library]
if library == "libcuspan.so" and not asleep and fails != "agent":
    if "output_file" in settings:
        shutil.copy(os.environ["STAND_IN_SPANS"], settings["output_file"])
    metrics = {"metrics": {"delivered": 3}} if "OTEL_METRICS_EXPORTER" in os.environ and fails != "metrics" else {}
    json.dump({"spans": 7, "delivered": 7, "losses": {}, "own": {"callback_ns": 150, "callback_calls": 1}, **metrics}, open(f"{settings['accounts_file']}.{os.getpid()}", "w"))
if "CUSPAN_FLOOR_OFF_FILE" in os.environ and fails != "floor":
    print("floor: all off after 3 buffers", file=sys.stderr)
if "CUSPAN_TIMED_FILE" in os.environ:
    json.dump({"runtime exit": {"count": 5, "mean_ns": 300.0, "usual_mean_ns": 30.0, "p50_ns": 30.0, "p99_ns": 60.0, "p999_ns": 90.0, "max_ns": 99.0,
               "over_50us": 0, "over_50us_switched": 0, "over_50us_faulted": 0}}, open(os.environ["CUSPAN_TIMED_FILE"], "w"))
print("said in passing: 3 things")
for name in {"graphs": ["graph-launch"], "steps": ["step"]}.get("".join(sys.argv[1:2]), ["launch", "get-device"]):
    print(f"{name}.median {cost} ns")
    print(f"{name}.min {cost - 5} ns")
"""


# apps/models.py itself, without PyTorch: a step is launches through a CUPTI that does nothing.
SMALL_MODELS = """
import ctypes, importlib.util, os, sys, time, types
from contextlib import contextmanager
from types import SimpleNamespace
sys.modules["torch"] = sys.modules["torch._dynamo"] = types.ModuleType("torch")
spec = importlib.util.spec_from_file_location("models", "{root}/tests/bench/apps/models.py")
models = importlib.util.module_from_spec(spec)
spec.loader.exec_module(models)
LAUNCHES = 20
fails = os.environ.get("STAND_IN_FAILS", "")

def small(is_training):
    os.environ["CUSPAN_SET"] = os.environ.get("CUSPAN_SET", "") + ";cupti.library={build}/libfake_cupti_classic.so;cupti.api=classic"
    if fails == "stacks":
        os.environ["CUSPAN_SET"] += ";capture.launch_stacks=none"
    cupti, calls = ctypes.CDLL("{build}/libfake_cupti_classic.so"), ctypes.CDLL("{build}/libcode_calls.so")
    callback, first, instructions = ctypes.c_void_p.in_dll(cupti, "fake_callback"), 0, ctypes.c_double()
    def step():
        nonlocal first
        if callback.value:
            calls.code_calls(callback, ctypes.c_uint32(first), LAUNCHES, ctypes.byref(instructions))
        first += LAUNCHES
        time.sleep(0.0005)
    return step

@contextmanager
def profiled():
    names = ["cudaLaunchKernel"] * 3000 + ["cudaStreamSynchronize"]
    events = [SimpleNamespace(name=lambda name=name: name) for name in names]
    yield SimpleNamespace(profiler=SimpleNamespace(kineto_results=SimpleNamespace(events=lambda: events)))

models.small = small
real = models.profiler
models.profiler = lambda: profiled() if os.environ.get("PROF") else real()
models.main()
"""


class Intervals(unittest.TestCase):
    def test_too_few_values_have_none(self):
        self.assertIsNone(paired.interval([1, 2, 3, 4, 5]))
        estimate = paired.Estimate([3, 1, 2])
        self.assertEqual((estimate.median, estimate.low, estimate.high, estimate.is_sure), (2, 1, 3, False))

    def test_known_ones(self):
        # From tables of the sign test: n = 6: 1 and 6; 10: 2 and 9; 30: 10 and 21.
        self.assertEqual(paired.interval(range(1, 7)), (1, 6))
        self.assertEqual(paired.interval(range(1, 11)), (2, 9))
        self.assertEqual(paired.interval(range(1, 31)), (10, 21))

    def test_it_covers_as_often_as_it_says(self):
        chance = random.Random(4)
        covered = sum(low <= 1 <= high for low, high in (
            paired.interval([chance.lognormvariate(0, 1) for _ in range(15)]) for _ in range(2000)))
        self.assertGreater(covered, 0.945 * 2000)


def run_of(app, config, number, series="rounds", **figures):
    return {"app": app, "config": config, "round": number, "series": series, "figures": figures}


class Pairs(unittest.TestCase):
    def test_a_machine_that_drifts_does_not_matter(self):
        runs = []
        for number, speed in enumerate([1, 2, 5]):
            runs += [run_of("calls", "none", number, launch=100 * speed), run_of("calls", "default", number, launch=110 * speed)]
        found = paired.ratio(runs, "calls", "default", "none", "launch")
        self.assertAlmostEqual(found.low, 1.1)
        self.assertAlmostEqual(found.high, 1.1)
        self.assertEqual(paired.difference(runs, "calls", "default", "none", "launch").median, 20)

    def test_what_has_no_partner_is_left_out(self):
        runs = [run_of("calls", "none", 0, launch=100), run_of("calls", "default", 0, launch=120),
                run_of("calls", "default", 1, launch=900), run_of("torch", "none", 1, launch=1),
                run_of("calls", "none", 1, "pairs-asleep", launch=1)]
        self.assertEqual(paired.pairs(runs, "calls", "default", "none", "launch"), [(120, 100)])
        self.assertIsNone(paired.ratio(runs, "calls", "full", "none", "launch"))


class Harness(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bench-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        for name in "calls", "service", "torch_step.py":
            (self.folder / name).write_text(STAND_IN)
            (self.folder / name).chmod(0o700 | stat.S_IXUSR)

    def bench(self, *options, fails="", status=0):
        out = self.folder / "gpu.json"
        done = subprocess.run([str(ROOT / "tests/bench/run.sh"), "gpu", str(out), "--build", str(BUILD), "--programs",
                               str(self.folder), *options], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "STAND_IN_FAILS": fails})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(out.read_text())

    def test_two_rounds(self):
        found = self.bench("--rounds", "2", "--apps", "calls,graphs", "--configs",
                           "asleep,floor-default,default,floor-off", "--pairs", "asleep:1")
        self.assertEqual(found["problems"], [])
        self.assertEqual(found["rounds"], 2)
        order = [run["config"] for run in found["runs"] if run["app"] == "calls" and run["series"] == "rounds"]
        self.assertEqual(order, ["none", "asleep", "floor-default", "default", "floor-off",
                                 "asleep", "floor-default", "default", "floor-off", "none"])
        self.assertNotIn("floor-off", [run["config"] for run in found["runs"] if run["app"] == "graphs"])
        self.assertEqual([run["app"] for run in found["runs"] if run["series"] == "pairs-asleep"], ["calls-late"] * 2)
        ratio = paired.ratio(found["runs"], "calls", "default", "floor-default", "launch.median")
        self.assertAlmostEqual(ratio.median, 1260 / 1200)
        self.assertEqual(found["callbacks"]["service"]["kinds"]["runtime exit"]["p99_ns"], 60.0)
        self.assertEqual(found["units"]["launch.median"], "ns")

    def test_a_run_that_is_not_what_its_name_says_has_no_figure(self):
        for fails, config in ("agent", "default"), ("floor", "floor-off"):
            found = self.bench("--rounds", "1", "--apps", "calls", "--configs", config, fails=fails, status=1)
            self.assertEqual({run["config"] for run in found["runs"]}, {"none"})
            self.assertTrue(any(config in problem for problem in found["problems"]), found["problems"])

    def test_metrics_and_stat(self):
        """Compared with the default in pairs; a run without counters has no figure."""
        spans = self.folder / "spans.jsonl"
        subprocess.run([BUILD / "cuspan", "replay", "--quiet", "--file", spans, ROOT / "examples/recordings/vector_add.cuspanrec"],
                       check=True, timeout=600)
        os.environ["STAND_IN_SPANS"] = str(spans)
        self.addCleanup(os.environ.pop, "STAND_IN_SPANS")
        arguments = "--rounds", "6", "--apps", "steps", "--configs", "default,metrics,stat"
        found = self.bench(*arguments)
        self.assertEqual(found["problems"], [])
        for config in "metrics", "stat":
            self.assertEqual(paired.ratio(found["runs"], "steps", config, "default", "step.median").median, 1)
        self.assertEqual(set(found["callbacks"]), {"steps", "threads16"})
        check = [sys.executable, ROOT / "tests/gpu/numbers/costs_check.py", self.folder / "gpu.json", self.folder / "checked"]
        done = subprocess.run(check, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("1.000 x tracing alone (1.000 to 1.000, 6 pairs): within 1.02 x", done.stdout)
        self.assertIn("estimated as 1.00 x what was measured", done.stdout)
        for run in found["runs"]:
            if run["config"] == "stat":
                run["figures"]["step.median"] *= 1.03
        found["callbacks"]["steps"]["agent"]["own"]["callback_ns"] = 60
        (self.folder / "gpu.json").write_text(json.dumps(found))
        done = subprocess.run(check, capture_output=True, text=True, timeout=600, check=False)
        self.assertIn("costs: FAILED: 2 of ", done.stdout)
        found = self.bench(*arguments, fails="metrics", status=1)
        self.assertIn("no metrics were delivered", found["problems"][0])
        spans.write_text("")
        found = self.bench(*arguments, status=1)
        self.assertIn("stat: ", found["problems"][0])
        self.assertNotIn("stat", {run["config"] for run in found["runs"]})

    def test_it_ends_in_time(self):
        """A busy machine may need more time for the first round."""
        for seconds in 3, 10, 30, 100:
            with contextlib.suppress(AssertionError):
                found = self.bench("--rounds", "100000", "--apps", "calls", "--configs", "asleep", "--seconds", str(seconds))
                self.assertIn(len(found["runs"]), range(2, 100000))
                return
        self.fail("not even two runs in 100 seconds")

    def test_one_that_hangs_is_ended(self):
        sleeps = 'import time\nif cost == 1200: time.sleep(10000)\nprint("said'
        (self.folder / "service").write_text(STAND_IN.replace('print("said', sleeps))
        for seconds in 6, 20, 60, 180:  # a busy machine may not come to it in a short time
            with contextlib.suppress(AssertionError):
                found = self.bench("--rounds", "1", "--apps", "service", "--configs", "floor-full", "--seconds", str(seconds), status=1)
                self.assertRegex(" ".join(found["problems"]), "floor-full: status killed after")
                return
        self.fail("it was not reached in 180 seconds, or not ended")


class Code(unittest.TestCase):
    """Stacks of launches: the real agent, loaded in the middle of the model's process, and its switch."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bench-code-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        text = SMALL_MODELS.replace("{root}", str(ROOT)).replace("{build}", str(BUILD))
        (self.folder / "models.py").write_text(text)

    def bench(self, *options, fails="", status=0):
        out = self.folder / "code.json"
        done = subprocess.run([str(ROOT / "tests/bench/run.sh"), "code", str(out), "--build", str(BUILD), "--programs",
                               str(self.folder), *options], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "SECONDS": "0.1", "STAND_IN_FAILS": fails})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(out.read_text())

    def test_a_round(self):
        """Each configuration is what its name says, and has its own figures."""
        found = self.bench("--rounds", "1")
        self.assertEqual(found["problems"], [])
        self.assertEqual([run["config"] for run in found["runs"] if run["app"] == "small-train"],
                         ["none", "default", "stacks-python", "stacks-python-16", "stacks-all", "kineto", "kineto-cpu", "kineto-stack"])
        for run in found["runs"]:
            app, figures, agent = run["app"], run["figures"], run.get("agent", {})
            self.assertGreater(figures[f"{app}.late-median"], 0)
            self.assertEqual(f"{app}.switched-median" in figures, run["config"].startswith("stacks-"))
            self.assertEqual(f"{app}.launches" in figures, run["config"].startswith("kineto"))
            self.assertEqual(bool(agent.get("spans")), not run["config"].startswith(("none", "kineto")))
            self.assertEqual(bool(agent.get("code_stacks")), run["config"].startswith("stacks-"))
        text = page.make(Page.TEMPLATE, [], None, code=found)["performance.md"]
        self.assertIn("| stacks-python, on ÷ off in one process | ", text)

    def test_a_run_without_stacks_has_no_figure(self):
        found = self.bench("--rounds", "1", "--apps", "small-infer", "--configs", "stacks-python", fails="stacks", status=1)
        self.assertEqual({run["config"] for run in found["runs"]}, {"none"})
        self.assertIn("the agent saw no stacks", found["problems"][0])


def results(launch=(), **changed):
    """gpu.json with eight pairs; `launch`: (configuration, ns, additional ns of each round)."""
    runs = []
    for number in range(8):
        for config, ns, more in launch:
            figures = {"launch.median": ns + more * number, "launch.min": ns, "get-device.median": 27.0,
                       "stream-query.median": 150.0}
            runs.append({**run_of("calls", config, number, **figures), "seconds": 2.0})
    kind = {"count": 1000, "p50_ns": 31.0, "p99_ns": 70.0, "p999_ns": 300.0, "max_ns": 61000.0, "over_50us": 2,
            "over_50us_switched": 1, "over_50us_faulted": 0}
    return {"machine": {"gpu": "a GPU", "driver": "1.2", "cupti": "13", "torch": "unknown", "cpu": "a CPU", "cores": 16},
            "commit": "abc", "command": "tests/bench/run.sh gpu", "date": "2026-01-01", "rounds": 8, "problems": [],
            "title": "A run", "prefix": "", "units": {"launch.median": "ns"}, "callbacks": {"service": {"kinds": {"runtime exit": kind}}}, "runs": runs, **changed}


class Page(unittest.TestCase):
    TEMPLATE = "a {{budgets}} b {{gpu}} c {{callbacks}} d {{anywhere}} e {{pipeline}} f {{rivals}} g {{models}} h {{code}} i {{fleet}} j"

    def row(self, text, what):
        return next(line for line in text.splitlines() if what in line).split("|")

    def test_without_results_it_says_so(self):
        made = page.make(self.TEMPLATE, [], None)
        self.assertEqual(list(made), ["performance.md"])
        self.assertEqual(made["performance.md"].count("no result yet"), len(page.BUDGETS))
        self.assertIn("There is no result of `tests/bench/run.sh anywhere`", made["performance.md"])

    def test_a_budget_is_met_or_missed_by_so_much(self):
        for ours, verdict in (3690, "**met**"), (3750, "missed by 50 ns"):
            gpu = results([("none", 2800, 1), ("floor-default", 3600, 1), ("default", ours, 1)])
            row = self.row(page.make(self.TEMPLATE, [gpu], None)["performance.md"], "one traced kernel launch")
            self.assertEqual(row[4].strip(), verdict)
            self.assertIn(f"floor + {ours - 3600} ns", row[3])
        faster = results([("none", 2800, 1), ("floor-default", 3600, 1), ("default", 3550, 1)])
        self.assertIn("floor - 50 ns", page.make(self.TEMPLATE, [faster], None)["performance.md"])

    def test_nothing_means_that_the_interval_holds_one(self):
        row = self.row(page.make(self.TEMPLATE, [results([("none", 2800, 1), ("default", 3700, 1)])], None)["performance.md"],
                       "isn't traced by default")
        self.assertEqual(row[4].strip(), "**met**")

    def test_asleep_needs_a_narrow_interval(self):
        for more, verdict in ((1, "**met**"), (30, "undecided: the interval is too wide"), (0, "missed by 0.004 ×")):
            launch = [("none", 2800, 1), ("asleep", 2800 - 7 * more // 2 + (10 if not more else 0), 1 + more)]
            if not more:
                launch[0], launch[1] = ("none", 2800, 0), ("asleep", 2810, 0)
            late = results(launch)
            for run in late["runs"]:
                run.update(app="calls-late", series="pairs-asleep",
                           figures={"launch-late.min": run["figures"]["launch.median"] / 2800})
            row = self.row(page.make(self.TEMPLATE, [late], None)["performance.md"], "loaded and asleep")
            self.assertTrue(row[4].strip().startswith(verdict), row)
            self.assertIn("1 not measured", row[4])

    def test_pairs_have_a_table(self):
        late = results([("none", 1, 0), ("asleep", 2, 0)], rounds=0)
        for run in late["runs"]:
            run.update(app="calls-late", series="pairs-asleep", figures={"launch-late.min": run["figures"]["launch.median"]})
        text = page.make(self.TEMPLATE, [late], None)["performance.md"]
        self.assertIn("| asleep | launch | 8 | 2.000 × (2.000–2.000) |", text)
        self.assertNotIn("complete round", text)

    def test_units_and_plurals(self):
        for rounds, wanted in (1, "; 1 complete round."), (8, "; 8 complete rounds."):
            made = page.make(self.TEMPLATE, [results([("none", 2800, 0)], rounds=rounds, units={"launch.median": "us"})], None)
            self.assertIn(wanted, made["performance.md"])
            self.assertIn("2,800 µs", made["performance.md"])

    def test_plots_are_svg_with_every_configuration(self):
        made = page.make(self.TEMPLATE, [results([("none", 2800, 1), ("floor-default", 3600, 1), ("default", 3700, 2)])], None)
        drawing = ElementTree.fromstring(made["images/performance-calls.svg"])
        said = ["".join(text.itertext()) for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        for wanted in "floor-default", "default", "launch", "cudaGetDevice":
            self.assertIn(wanted, said)
        self.assertIn("images/performance-calls.svg", made["performance.md"])

    def test_callbacks_losses_and_problems_are_told(self):
        gpu = results([("none", 2800, 1), ("full", 4000, 1)], problems=["torch left out: status 1"])
        gpu["runs"][-1]["agent"] = {"spans": 90, "delivered": 90, "losses": {"lost_ring_full": 10}}
        text = page.make(self.TEMPLATE, [gpu], None)["performance.md"]
        self.assertIn("| runtime exit | 31 ns | 70 ns | 300 ns | 61.0 µs | 2 | 1 |", text)
        self.assertIn("Above 50 µs without preemption: 1 of 1,000 callbacks", text)
        self.assertIn("calls with full up to 10 %", text)
        self.assertIn("torch left out: status 1", text)

    def test_runs_are_not_mixed(self):
        first = results([("none", 2800, 1), ("default", 3700, 1)], title="First", commit="abc")
        other = results([("none", 5000, 1), ("floor-default", 6000, 1), ("default", 6050, 1)], title="Other", prefix="other-",
                        commit="def")
        made = page.make(self.TEMPLATE, [first, other], None)
        self.assertEqual({*made}, {"performance.md", "images/performance-calls.svg", "images/performance-other-calls.svg"})
        text = made["performance.md"]
        self.assertIn("floor + 50 ns", text)  # for the only one with a floor
        self.assertLess(text.index("commit abc"), text.index("### Other"))
        self.assertLess(text.index("### Other"), text.index("commit def"))

    def test_models(self):
        runs = [run_of("decode", config, number, **{"decode.median": median, "decode.mean": mean})
                for number in range(8)
                for config, median, mean in (("none", 6000, 6500), ("one-step-in-64", 6060, 7150), ("default", 6600, 9000),
                                             ("floor-default", 6000, 7000))]
        made = page.make(self.TEMPLATE, [], None, models=[results(runs=runs, title="Inference", prefix="inference")])
        self.assertEqual({*made}, {"performance.md", "images/performance-models-inference.svg"})
        text = made["performance.md"]
        for row in ("| none, a step | 6.00 ms, 8 rounds |", "| one-step-in-64 | 1.100 × (1.100–1.100) |",  # of the mean
                    "| default | 1.100 × (1.100–1.100) |", "| default ÷ floor-default | 1.100 × (1.100–1.100) |"):
            self.assertIn(row, text)

    def test_models_with_halves(self):
        """The speed of the process cancels out."""
        runs = [run_of("decode", config, number, **{"decode.median": 6000 * speed, "decode.late-median": late})
                for number, speed in enumerate((1, 2, 1, 2, 1, 2, 1, 2))
                for config, speed, late in (("none", 1, 1.0), ("default", speed, 1.05), ("nsys", 2, 1.5))]
        for run in runs:
            if run["config"] == "nsys":
                del run["figures"]["decode.late-median"]
        text = page.make(self.TEMPLATE, [], None, models=[results(runs=runs, title="Halves", prefix="halves")])["performance.md"]
        for row in ("| default | 1.050 × (1.050–1.050) |", "| nsys | 2.000 × (2.000–2.000) |"):
            self.assertIn(row, text)

    def test_lines_of_code(self):
        """5,000 µs with stacks, which take 1 / 50 of the time without them, are 98 µs more for 200 launches."""
        found = (("none", {"median": 4800, "late-median": 1.0}), ("default", {"median": 4900, "late-median": 1.1}),
                 ("stacks-python", {"median": 5000, "late-median": 1.21, "switched-median": 1.02}),
                 ("kineto", {"median": 6000, "late-median": 1.3, "launches": 200}), ("kineto-cpu", {"late-median": 2}),
                 ("kineto-stack", {"late-median": 3}))
        runs = [run_of("small-infer", config, number, **{f"small-infer.{name}": value for name, value in figures.items()})
                for number in range(8) for config, figures in found]
        made = page.make(self.TEMPLATE, [], None, code=results(runs=runs))
        self.assertEqual({*made}, {"performance.md"})
        for row in ("| none, a step | 4.80 ms, 8 rounds |", "| launches in a step | 200 |", "| default | 1.100 × (1.100–1.100) |",
                    "| kineto-stack | 3.000 × (3.000–3.000) |",
                    "| stacks-python, on ÷ off in one process | 1.020 × (1.020–1.020), +490 ns a launch (490 to 490) |"):
            self.assertIn(row, made["performance.md"])

    def test_growth_of_a_fleet(self):
        sizes = [{"commit": "abc", "spans": spans, "processes": 8, "input_bytes": 40 * spans, "parquet_bytes": 20 * spans, "files": 16,
                  "rows": {"stat": {"wall_s": spans / 1e6, "cpu_s": spans / 2e6, "peak_mb": 142}, "pandas kernels": {"failed": "why"},
                           "Spark kernels": {"wall_s": 30.0, "peak_mb": 900}}} for spans in (10**6, 10**7)]
        fleet = {"machine": {"cpu": "a CPU", "cores": 2}, "commit": "abc", "date": "2026-01-01", "command": "run.sh fleet", "sizes": sizes}
        made = page.make(self.TEMPLATE, [], None, fleet=fleet)
        self.assertEqual({*made}, {"performance.md", "images/performance-fleet-cpu.svg", "images/performance-fleet-memory.svg"})
        for row in ("| stat | 1.0 s, 142 MB | 10.0 s, 142 MB |", "| pandas kernels | failed: why | failed: why |",
                    "| Spark kernels | 30.0 s, 900 MB | 30.0 s, 900 MB |", "| exported Parquet | 20.0 bytes a span, 16 files |"):
            self.assertIn(row, made["performance.md"])
        drawing = ElementTree.fromstring(made["images/performance-fleet-cpu.svg"])
        self.assertEqual(len(list(drawing.iter("{http://www.w3.org/2000/svg}circle"))), 2)

    def test_what_anywhere_measures_has_its_rows(self):
        anywhere = {"machine": {"cpu": "a CPU"}, "commit": "abc", "date": "2026-01-01", "command": "run.sh anywhere",
                    "budgets": {"bytes": [{"name": "gzip", "value": 33, "limit": 40, "unit": "bytes"},
                                          {"name": "zstd", "value": 30, "limit": 28, "unit": "bytes"}]},
                    "tables": [{"title": "Stages", "columns": ["stage", "ns"], "rows": [["encode", 55]]}]}
        text = page.make(self.TEMPLATE, [], anywhere)["performance.md"]
        self.assertEqual(self.row(text, "on the wire |")[4].strip(), "**met**; missed by 2.0 bytes")
        self.assertIn("| encode | 55 |", text)


class Collector(unittest.TestCase):
    def setUp(self):
        self.collector = subprocess.Popen([str(BUILD / "null_collector")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.collector.stdout.close)
        self.addCleanup(self.collector.wait)
        self.addCleanup(self.collector.kill)
        self.port = int(self.collector.stdout.readline().split()[1])

    def end(self):
        self.collector.send_signal(signal.SIGTERM)
        return self.collector.stdout.readline().strip()

    def test_it_counts_on_one_connection_and_on_another(self):
        for count in 3, 1:
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
            for size in [0, 10, 3_000_000][:count]:
                client.request("POST", "/v1/traces", b"x" * size)
                answer = client.getresponse()
                self.assertEqual((answer.status, answer.read()), (200, b""))
            client.close()
        self.assertEqual(self.end(), "requests 4 bytes 3000010")

    def test_a_body_that_comes_in_pieces_and_two_requests_at_once(self):
        import socket
        head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\ncontent-length: 6\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=300) as client:
            client.sendall(head[:20])
            client.sendall(head[20:] + b"abc")
            client.sendall(b"def" + head + b"ghijkl")
            answers = b""
            while answers.count(b"200 OK") < 2:
                got = client.recv(4096)
                self.assertTrue(got)
                answers += got
        self.assertEqual(self.end(), "requests 2 bytes 12")

    def test_who_asks_before_a_large_body_is_answered(self):
        import socket
        with socket.create_connection(("127.0.0.1", self.port), timeout=300) as client:
            client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(client.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.sendall(b"ok")
            self.assertIn(b"200 OK", client.recv(1000))


class Timed(unittest.TestCase):
    """The agent with the clock around it, in a host that plays a recording."""

    def test_every_callback_is_counted(self):
        folder = Path(tempfile.mkdtemp(prefix="bench-timed-"))
        self.addCleanup(shutil.rmtree, folder, True)
        shutil.copy(BUILD / "libcuspan-timed.so", folder / "libcuspan.so")
        (folder / "libcuspan-export.so").symlink_to(BUILD / "libcuspan-export.so")
        settings = {"cupti.library": BUILD / "libcuspan-replay.so", "output_file": folder / "spans.jsonl",
                    "accounts_file": folder / "report", "exit_deadline_ms": 60000}
        env = {key: value for key, value in os.environ.items() if not key.startswith(("CUSPAN_", "OTEL_"))}
        env.update(CUSPAN_SET=";".join(f"{key}={value}" for key, value in settings.items()),
                   CUSPAN_TIMED_FILE=str(folder / "timed"))
        done = subprocess.run([str(BUILD / "agent_host"), str(folder / "libcuspan.so"), str(BUILD / "libcuspan-replay.so"),
                               str(ROOT / "examples/recordings/threads.cuspanrec")], env=env, cwd=folder, timeout=600,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (7, "host: done\n"), done.stderr)
        kinds = json.loads((folder / "timed").read_text())
        report = json.loads(next(folder.glob("report.*")).read_text())
        calls = report["counters"]["calls_captured"]
        self.assertGreater(calls, 100)
        entered = kinds["runtime enter"]["count"] + kinds.get("driver enter", {"count": 0})["count"]
        left = kinds["runtime exit"]["count"] + kinds.get("driver exit", {"count": 0})["count"]
        self.assertGreaterEqual(left, calls)
        self.assertLessEqual(abs(left - entered), kinds["first of a thread"]["count"])
        for kind in kinds.values():
            self.assertLessEqual(kind["p50_ns"], kind["p99_ns"])
            self.assertLessEqual(kind["p99_ns"], kind["p999_ns"])
            self.assertLessEqual(kind["p999_ns"], kind["max_ns"])
            self.assertLessEqual(kind["over_50us_switched"], kind["over_50us"])


class Floor(unittest.TestCase):
    """It receives what cuspan would, and the environment selects what stays enabled when it is switched off."""

    def run_floor(self, settings=(), **environment):
        folder = Path(tempfile.mkdtemp(prefix="bench-floor-"))
        self.addCleanup(shutil.rmtree, folder, True)
        double = BUILD / "libcuspan-replay.so"
        env = {key: value for key, value in os.environ.items() if not key.startswith(("CUSPAN_", "OTEL_"))}
        env["CUSPAN_SET"] = ";".join([f"cupti.library={double}", "cupti.flush_interval_ms=20", *settings])
        done = subprocess.run([str(BUILD / "floor_host"), str(BUILD / "libcuspan-floor.so"), str(double),
                               str(ROOT / "examples/recordings/torch_inference.cuspanrec"), str(folder / "ready")],
                              env={**env, **{key: value.format(folder=folder) for key, value in environment.items()}},
                              timeout=600, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        # The replay library continues to count.
        first, both = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
        return (first, (both[0] - first[0], both[1] - first[1])), done.stderr

    def test_it_stays_on(self):
        (first, second), said = self.run_floor()
        self.assertGreater(min(first), 100)
        self.assertEqual(first, second)
        self.assertEqual(said, "")

    def test_all_goes_off(self):
        (first, second), said = self.run_floor(["cupti.api=classic"], CUSPAN_FLOOR_OFF_FILE="{folder}/ready")
        self.assertGreater(min(first), 100)
        self.assertEqual(second, (0, 0))
        self.assertRegex(said, r"^floor: all off after \d+ buffers\n$")

    def test_records_go_off_and_callbacks_stay(self):
        (first, second), said = self.run_floor(["cupti.api=classic"], CUSPAN_FLOOR_OFF_FILE="{folder}/ready",
                                               CUSPAN_FLOOR_KEEPS="callbacks")
        self.assertEqual(second[0], first[0])
        self.assertLess(second[1], first[1] / 100)  # device and context records stay enabled
        self.assertRegex(said, r"^floor: records off after \d+ buffers\n$")


if __name__ == "__main__":
    unittest.main()
