#!/usr/bin/env python3
"""Tests the scripts of tests/gpu/numbers/numbers.sh without a GPU: with programs that replay a recording if an agent is
injected, with stand-ins for Nsight Systems, nvidia-smi and NVML, and with wrong figures, which must be detected.

    numbers_test.py --build BUILD-DIR [--sanitizers LIST] [unittest's arguments]
"""

import contextlib
import io
import json
import os
import random
import shlex
import sqlite3
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import commands_test  # noqa: E402
import hardware_test  # noqa: E402
import profilers_test  # noqa: E402
from checks import ROOT, Checks, run  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/support"))
from backend import spans_of  # noqa: E402
from built import BUILD, SANITIZERS  # noqa: E402

TORCH = """import subprocess, sys, types
from unittest.mock import MagicMock
subprocess.run(["{standin}"], check=True, stdout=subprocess.DEVNULL)
class Module:
    def __getattr__(self, name):
        return MagicMock()
sys.modules["torch.nn"] = nn = MagicMock(Module=Module)
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock()
"""
TORCH_PROFILER = """import collections, json, pathlib, shutil, types
from unittest.mock import MagicMock
ProfilerActivity = MagicMock()
events = pathlib.Path(__file__).parent / "events.json"
class profile:
    def __init__(self, activities):
        pass
    def __enter__(self):
        return self
    def __exit__(self, *ignored):
        pass
    def export_chrome_trace(self, path):
        shutil.copy(events, path)
    def key_averages(self):
        found = collections.defaultdict(list)
        for event in json.loads(events.read_text())["traceEvents"]:
            found[event["name"]].append(event["dur"])
        return [types.SimpleNamespace(key=name, count=len(times), self_device_time_total=sum(times)) for name, times in found.items()]
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def standin(self, recording="threads", name="standin", after="echo done"):
        """A program that replays if an agent is injected, and otherwise does nothing."""
        host = shlex.join(map(str, (BUILD / "exit_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                                  ROOT / f"examples/recordings/{recording}.cuspanrec", "return")))
        return self.script(name, f"[ -z \"$CUDA_INJECTION64_PATH\" ] || {host} > /dev/null || [ $? = 7 ] || exit 9\n{after}\n")

    def run_script(self, name, *arguments, status=0, **environment):
        done = run([sys.executable, ROOT / f"tests/gpu/numbers/{name}", *arguments], 300, **environment)
        self.assertEqual(done.status, status, done.out + done.err)
        return done.out

    def checked(self, name, function):
        """(passed, failed, output) of a part of a script."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            checks = Checks(name, self.folder / "out")
            checks.part(name, function, checks)
            checks.end()
        return checks.passed, checks.failed, said.getvalue()

    def spans(self, recording):
        """(file, spans)"""
        file = self.folder / f"{recording}.jsonl"
        file.unlink(missing_ok=True)
        run([BUILD / "cuspan", "replay", "--quiet", "--file", file, ROOT / f"examples/recordings/{recording}.cuspanrec"],
            60).wanted()
        return file, [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]


class Profilers(Case):
    def events(self, spans):
        """Events as PyTorch's profiler would have them."""
        short = {long: short for short, long in profilers_test.COPY_KINDS.items()}
        found = []
        for span in spans:
            attributes, length = span.attributes, span.end_ns - span.start_ns
            sort = attributes.get("cuda.activity")
            if sort == "kernel":
                found.append(("kernel", attributes["cuda.kernel.name"], length))
            elif sort == "memset":
                found.append(("fill", "Memset (Device)", length))
            elif sort == "memcpy":
                found.append(("copy", f"Memcpy {short[attributes['cuda.memcpy.kind']]} ({attributes['cuda.memcpy.src_kind'].title()}"
                              f" -> {attributes['cuda.memcpy.dst_kind'].title()})", length))
        return found

    def test_what_pytorch_has_is_compared(self):
        file, spans = self.spans("torch_inference")
        tables = profilers_test.of_tables(json.loads(run([BUILD / "cuspan", "stat", "--json", "--top", "0", file]).wanted().out))
        events = self.events(spans)
        self.assertGreater(len(events), 400)

        def differ(seen):
            seen = profilers_test.of_events(seen)
            return (list(profilers_test.counts_differ(seen, tables)),
                    profilers_test.times_differ(seen, tables, profilers_test.CLOCKS_NS)[0])
        self.assertEqual(differ(events), ([], []))
        self.assertEqual(profilers_test.times_differ(profilers_test.of_events(events), tables, 0)[1], 0)
        for sort in "kernel", "copy", "fill":
            at = next(i for i, event in enumerate(events) if event[0] == sort)
            self.assertTrue(differ(events[:at] + events[at + 1:])[0], sort)
            name, length = events[at][1:]
            self.assertTrue(differ([*events[:at], (sort, name, length + 10**6), *events[at + 1:]])[1], sort)

    def test_noise_has_bounds(self):
        one = {"a": (10, 100000, 10000), "b": (1, 50000, 50000)}
        self.assertEqual(list(profilers_test.noise_differs(one, {"a": (10, 110000, 11000), "b": (1, 52000, 52000)})), [])
        self.assertEqual(len(list(profilers_test.noise_differs(one, {"a": (10, 300000, 30000), "b": (1, 50000, 50000)}))), 2)

    def with_torch(self, events):
        """PYTHONPATH with a PyTorch whose profiler has these events, and whose import replays if an agent is
        injected."""
        site = self.folder / "site/torch"
        site.mkdir(parents=True, exist_ok=True)
        shorten = {"kernel": "kernel", "copy": "gpu_memcpy", "fill": "gpu_memset"}
        (site / "events.json").write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "dur": 1}] + [
            {"ph": "X", "cat": shorten[sort], "name": name, "dur": length / 1e3} for sort, name, length in events]}))
        (site / "__init__.py").write_text(TORCH.format(standin=self.standin("torch_inference", "replays")))
        (site / "profiler.py").write_text(TORCH_PROFILER)
        return str(site.parent)

    def profiled(self, events):
        os.environ["PYTHONPATH"] = self.with_torch(events)
        self.addCleanup(os.environ.pop, "PYTHONPATH", None)

        def part(checks):
            kineto = profilers_test.Kineto(checks, BUILD, BUILD / "libcuspan-replay.so", self.folder / "out")
            kineto.beside()
            kineto.alone()
        return self.checked("kineto", part)

    def test_beside_a_profiler_and_alone(self):
        if SANITIZERS:
            self.skipTest("a sanitizer's library wants to come first in Python, before the one that --share preloads")
        _, spans = self.spans("torch_inference")
        events = self.events(spans)
        passed, failed, said = self.profiled(events)
        self.assertEqual((passed, failed), (7, 0), said)
        at = next(i for i, event in enumerate(events) if event[0] == "kernel")
        passed, failed, said = self.profiled(events[:at] + events[at + 1:])
        self.assertEqual((passed, failed), (4, 3), said)

    def nsys(self, text):
        return self.run_script("profilers_test.py", BUILD, self.folder / "out", BUILD / "libcuspan-replay.so", "--",
                               self.standin(), NSYS=self.script("nsys", text))

    def test_nsight_systems(self):
        """First with the file of a run of ours, then with one without a kernel, then without a file."""
        file, _ = self.spans("threads")
        database = self.folder / "made.sqlite"
        run([BUILD / "cuspan", "stat", "--sqlite", database, file]).wanted()
        text = (f'case $1 in profile) shift; while [ "$1" != -o ]; do shift; done; touch "$2.nsys-rep"; shift 2; exec "$@";; '
                f'export) while [ "$1" != -o ]; do shift; done; cp {database} "$2";; esac')
        out = self.nsys(text)
        self.assertIn("ok     Nsight Systems, standin: as many kernels by name", out)
        self.assertRegex(out, "profilers: passed: 0 of 4 checks failed, 1 parts left out")
        with sqlite3.connect(database) as connection:
            connection.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = 1")
            connection.execute("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = bytes + 1 WHERE rowid = 1")
        connection.close()
        out = run([sys.executable, ROOT / "tests/gpu/numbers/profilers_test.py", BUILD, self.folder / "out",
                   BUILD / "libcuspan-replay.so", "--", self.standin()], NSYS=self.script("nsys", text)).wanted(1).out
        self.assertRegex(out, "profilers: FAILED: 2 of 4 checks failed")

    def test_nsight_systems_that_makes_no_report(self):
        done = run([sys.executable, ROOT / "tests/gpu/numbers/profilers_test.py", BUILD, self.folder / "out",
                    BUILD / "libcuspan-replay.so", "--", self.standin()],
                   NSYS=self.script("nsys", "echo Importer error: no importer >&2; exit 1"))
        self.assertEqual(done.status, 1)  # nothing was checked
        self.assertIn("made no report (status 1): Importer error: no importer", done.out)


class Commands(Case):
    def commands(self, checks):
        standin = self.standin()
        return commands_test.Commands(checks, BUILD, self.folder / "out", BUILD / "libcuspan-replay.so", standin, standin, standin)

    def test_overhead(self):
        """The levels and their invariants; this machine's time does not matter."""
        passed, failed, said = self.checked("overhead", lambda checks: self.commands(checks).overhead(
            self.standin(), 2, ["none", "summary", "default", "full"]))
        self.assertEqual((passed, failed), (6, 0), said)

    def made_run(self, name, command):
        """Replaces a recording: spans of a run with noise, in which one kernel is `third`, slower if requested."""
        random.seed(name)
        if not hasattr(self, "file"):
            self.file, _ = self.spans("threads")
        slower = 1 + float(command[command.index("--slower") + 1]) / 100 if "--slower" in command else 1
        lines = []
        for line in self.file.read_text().splitlines():
            document = json.loads(line)
            for span in (span for resource in document["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]):
                start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
                factor = random.uniform(0.97, 1.03)
                for pair in span.get("attributes", ()):
                    if pair["key"] == "cuda.kernel.name" and pair["value"]["stringValue"].startswith("scale("):
                        pair["value"]["stringValue"] = "third(float*, int)"
                        factor *= slower
                span["endTimeUnixNano"] = str(start + max(1, round((end - start) * factor)))
            lines.append(json.dumps(document))
        target = self.folder / "out" / f"{name}.jsonl"
        target.write_text("\n".join(lines) + "\n")
        return target

    def diffed(self, slower):
        def part(checks):
            commands = self.commands(checks)
            commands.record = lambda name, *command: self.made_run(name, [*command])
            commands_test.SLOWER = slower
            self.addCleanup(setattr, commands_test, "SLOWER", 20)
            commands.diff_slower()
            commands.diff_of_itself("threads", ["threads"])
        return self.checked("diff", part)

    def test_diff(self):
        passed, failed, said = self.diffed(20)
        self.assertEqual((passed, failed), (6, 0), said)
        passed, failed, said = self.diffed(0)  # nothing is slower, so the check must fail
        self.assertEqual((passed, failed), (2, 4), said)

    def test_diff_of_itself_that_alarms(self):
        def part(checks):
            commands = self.commands(checks)
            commands.record = lambda name, *command: self.made_run(name, ["--slower", "30" if "-1-" in name else "0"])
            commands.diff_of_itself("threads", ["threads"])
        passed, failed, said = self.checked("diff", part)
        self.assertEqual((passed, failed), (0, 1), said)

    def looked(self, **changed):
        agent = {"program": "steady", "window_ns": 4 * 10**9, "launches": 12000, "lost_since_begin": 0,
                 "devices": [{"kernels": 12000, "kernel_ns": 240 * 10**6, "busy_ns": 400 * 10**6, "copies": 8000,
                              "copy_bytes": 8000 << 20}],
                 "kernels": [{"name": name, "total_ns": 80 * 10**6} for name in ("first", "second", "third")],
                 "kernels_other": {"total_ns": 0}, **changed}
        return self.checked("top", lambda checks: self.commands(checks).look(
            f"standin{' first second third'}", {"agents": [agent]}, "rounds 12000 seconds 12.0 kernels 36000", ""))

    def test_top(self):
        self.assertEqual(self.looked()[:2], (8, 0))
        self.assertEqual(self.looked(launches=9000)[:2], (7, 1))
        self.assertEqual(self.looked(lost_since_begin=1)[:2], (7, 1))


class Hardware(Case):
    UUID = "GPU-f7f5f309-04cf-e12f-0dbd-0d65aefb3c4d"

    def setUp(self):
        super().setUp()
        for name, value in ("SECONDS", 2), ("INTERVAL_MS", 300), ("HELD_MIB", 0), ("MEMORY_MIB", 0.0001), \
                ("APART_S", 1e12):  # the stand-in has the recording's clock
            self.addCleanup(setattr, hardware_test, name, getattr(hardware_test, name))
            setattr(hardware_test, name, value)
        libraries = self.folder / "libraries"
        libraries.mkdir()
        (libraries / "libnvidia-ml.so.1").symlink_to(BUILD / "libfake_nvml.so")
        for name, value in (("LD_LIBRARY_PATH", str(libraries)), ("FAKE_NVML_OLD", "1"), ("HOST_DELAY_MS", "1500"),
                            ("PATH", f"{self.folder}:{os.environ['PATH']}")):
            before = os.environ.get(name)
            self.addCleanup(os.environ.__setitem__ if before is not None else os.environ.pop, name,
                            *([before] if before is not None else []))
            os.environ[name] = value

    def hardware(self, celsius=55, kernels=128, corrected=12):
        """The stand-in for NVML has 42 %, 250 of 1000 bytes, 55 and 61 degrees, 123.5 W, 12 corrected errors and an uncorrected one."""
        said = (f"echo {self.UUID}, 42, 0.00095367431640625, 0.0002384185791015625, 0, {celsius}, 61, 123.50, {corrected}, 1, "
                "1653724000314")
        self.script("nvidia-smi", f"while :; do {said}; sleep 0.1; done\n")
        _, spans = self.spans("threads")
        moved = sum(int(span.attributes.get("cuda.memcpy.bytes", span.attributes.get("cuda.memset.bytes", 0))) for span in spans)
        copies = sum(span.attributes.get("cuda.activity") == "memcpy" for span in spans)
        steady = self.standin(after=f"echo rounds 1 seconds 1 kernels {kernels} copies {copies} copied {moved} filled 0")

        def part(checks):
            hardware = hardware_test.Hardware(checks, BUILD, self.folder / "out", BUILD / "libcuspan-replay.so", steady)
            hardware.run()
            hardware.hardware()
            hardware.totals()
        return self.checked("hardware", part)

    def test_what_agrees_and_what_does_not(self):
        passed, failed, said = self.hardware()
        self.assertEqual(failed, 0, said)
        self.assertRegex(said, r"ok     hardware: hw.temperature gpu: [1-9]\d* points lie within 3")
        self.assertGreater(passed, 17, said)
        _, failed, said = self.hardware(celsius=60)
        self.assertEqual(failed, 1, said)
        _, failed, said = self.hardware(kernels=127)
        self.assertEqual(failed, 1, said)
        _, failed, said = self.hardware(corrected=13)
        self.assertEqual(failed, 1, said)

    def test_energy(self):
        for joules, wrong in (100, 0), (200, 1):
            def part(checks, joules=joules):
                hardware = hardware_test.Hardware(checks, BUILD, self.folder / "out", "", "")
                hardware.points = {"hw.energy": [({"hw.id": "x"}, {"timeUnixNano": str(at * 10**9), "asDouble": 7.0 + joules * at})
                                                 for at in range(1, 6)]}
                hardware.samples = {"x": [(at, {"power.draw": 110.0}) for at in range(8)]}
                hardware.energy()
            self.assertEqual(self.checked("energy", part)[:2], (1 - wrong, wrong))


class Script(Case):
    """numbers.sh: parts in order, each with its line, whether others fail or not."""

    def numbers(self, *parts, status, **environment):
        done = run([ROOT / "tests/gpu/numbers/numbers.sh", self.folder / "out", *parts], 300, BUILD=BUILD,
                   NUMBERS_PROGRAMS=self.folder, CUPTI=BUILD / "libcuspan-replay.so", **environment)
        self.assertEqual(done.status, status, done.out + done.err)
        self.assertIn(done.out.splitlines()[-2], (self.folder / "out/summary.txt").read_text())
        return (self.folder / "out/summary.txt").read_text().splitlines(), done.out

    def test_each_part_has_its_line(self):
        for name in "vector_add", "threads", "graph":
            self.standin(name, name=name)
        self.script("faults", "echo $1; exit 3")
        self.script("nsys", "exit 1")
        lines, said = self.numbers("tables", "findings", status=1, NSYS=self.folder / "nsys")
        self.assertRegex(lines[0], r"^ok +tables +\d+ s  tables: passed: 0 of \d+ checks failed")
        self.assertRegex(lines[1], r"^FAILED findings +\d+ s  findings: 18 of 18 wrong")
        self.assertRegex(said.splitlines()[-1], "numbers: FAILED: 1 of 2 parts failed")
        self.assertGreater(json.loads((self.folder / "out/figures.json").read_text())["tables"]["passed"], 30)
        lines, said = self.numbers("tables", status=0)
        self.assertRegex(said.splitlines()[-1], "numbers: passed: 0 of 1 parts failed")

    def test_wrong_parts_are_named(self):
        done = run([ROOT / "tests/gpu/numbers/numbers.sh", self.folder / "out", "tabels"], BUILD=BUILD, NUMBERS_PROGRAMS=self.folder)
        self.assertEqual(done.status, 1)
        self.assertIn('no part "tabels"; there are: tables profilers', done.err)


class Limits(Case):
    def test_what_does_not_end_is_ended_with_what_it_began(self):
        done = run([self.script("hangs", f"sleep 60 & echo $! > {self.folder}/pid; wait\n")], 0.5)
        self.assertEqual(done.status, "no end after 0.5 s")
        pid = int((self.folder / "pid").read_text())
        until = time.monotonic() + 5
        while Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() \
                and time.monotonic() < until:
            time.sleep(0.01)
        self.assertLess(time.monotonic(), until)

    def test_a_part_that_breaks_is_a_failed_check_and_others_go_on(self):
        def both(checks):
            checks.part("first", lambda: 1 / 0)
            checks.part("second", checks.check, True, "fine")
        passed, failed, said = self.checked("both", both)
        self.assertEqual((passed, failed), (1, 1))
        self.assertIn("FAILED first: ZeroDivisionError", said)
        self.assertEqual(self.checked("nothing", lambda checks: None)[2].count("nothing: FAILED: 0 of 0"), 1)


if __name__ == "__main__":
    unittest.main()
