#!/usr/bin/env python3
"""The code that makes calls into CUDA (`capture.launch_stacks`): the real agent in a Python program, with a CUPTI that does
nothing. The program reports the stacks that Python itself sees.

    launch_stacks_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import recording  # noqa: E402
from backend import spans_of  # noqa: E402
from built import BUILD  # noqa: E402

PROGRAM = ROOT / "tests/integration/hosts/code_program.py"
FRAME = re.compile(r'File "(.*)", line (\d+), in (.*)')
NATIVE = re.compile(r"(?:[^\s(].*\+0x[0-9a-f]+ \()?[^\s()]+\+0x[0-9a-f]+\)?")
CALLER = re.compile(r"code_calls\+0x[0-9a-f]+ \(libcode_calls\.so\+0x[0-9a-f]+\)")
FRAMES_MAX = 64


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE", "PYTHON"))}
    return {**kept, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **more}


def calls_of(file):
    spans = [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]
    return sorted((span for span in spans if "cuda.correlation.id" in span.attributes), key=lambda span: span.start_ns)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_program(self, part, count, *settings, directory=None, **more):
        """The calls that the program reports. `self.err` is its log."""
        cupti = BUILD / "libfake_cupti_classic.so"
        for old in self.folder.glob("report*"):
            old.unlink()
        # The programs make calls and new stacks as fast as they can, so rings must hold all of them.
        wanted = [f"cupti.library={cupti}", "cupti.api=classic", f"accounts_file={self.folder / 'report'}", "rings.bytes=16777216",
                  "rings.total_bytes=67108864", "memory_bytes_max=268435456", *settings]
        program = [sys.executable, PROGRAM] if part else [BUILD / "native_program"]
        done = subprocess.run([*program, BUILD / "libcuspan.so", cupti, *([part] * bool(part)), str(count)], capture_output=True, text=True,
                              timeout=600, check=False, cwd=directory or self.folder, env=environment(CUSPAN_SET=";".join(wanted), **more))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.err = done.stderr
        return json.loads(done.stdout) if part else None

    def play(self, part, *settings, count=2, directory=None, **more):
        """(the calls that the program reports, their spans in the same order)"""
        file = self.folder / "spans.jsonl"
        file.unlink(missing_ok=True)
        calls = self.run_program(part, count, f"output_file={file}", *settings, directory=directory, **more)
        self.counters, spans = self.read_counters(), calls_of(file)
        self.assertEqual(self.counters["lost_ring_full"], 0)
        self.assertEqual(self.counters["lost_queue_full"], 0)
        self.assertEqual([span.name for span in spans], [call["name"] for call in calls])
        return calls, spans

    def read_counters(self):
        report, = self.folder.glob("report*")
        return json.loads(report.read_text())["counters"]

    def frames_of(self, span, texts):
        """[[file, line, name]] of the stack that the span refers to; `texts` collects those that were sent."""
        if "code.stacktrace" in span.attributes:
            self.assertNotIn(span.attributes["cuspan.stack.id"], texts, "sent twice")
            texts[span.attributes["cuspan.stack.id"]] = span.attributes["code.stacktrace"]
        found = [FRAME.fullmatch(line) for line in texts[span.attributes["cuspan.stack.id"]].split("\n") if line != "..."]
        return [[file, int(line), name] for file, line, name in (match.groups() for match in found)]

    def check(self, calls, spans):
        texts = {}
        for call, span in zip(calls, spans):
            self.assertEqual(self.frames_of(span, texts), call["frames"][:FRAMES_MAX])
        return texts


class LaunchStacks(Case):
    def test_off_there_is_none(self):
        _, spans = self.play("lines")
        for span in spans:
            self.assertFalse({key for key in span.attributes if key.startswith(("code.", "cuspan.stack"))})

    def test_each_call_has_its_frames(self):
        calls, spans = self.play("lines", "capture.launch_stacks=python", "capture.code_paths=full", count=500)
        self.assertEqual(len(self.check(calls, spans)), 4)
        self.assertEqual(self.counters["code_stacks"], 4)
        self.assertEqual(self.counters["code_unknown"], 0)

    def test_the_innermost_frame(self):
        calls, spans = self.play("lines", "capture.launch_stacks=python", count=1)
        for call, span in zip(calls, spans):
            _, line, name = call["frames"][0]
            self.assertEqual(span.attributes["code.line.number"], line)
            self.assertEqual(span.attributes["code.function.name"], name)
            self.assertEqual(span.attributes["code.file.path"], PROGRAM.name)  # outside the working directory
        _, spans = self.play("lines", "capture.launch_stacks=python", count=1, directory=ROOT)
        self.assertEqual(spans[0].attributes["code.file.path"], str(PROGRAM.relative_to(ROOT)))
        _, spans = self.play("lines", "capture.launch_stacks=python", "capture.code_paths=full", count=1)
        self.assertEqual(spans[0].attributes["code.file.path"], str(PROGRAM))

    def test_the_text_on_every_span(self):
        calls, spans = self.play("lines", "capture.launch_stacks=python", "capture.code_paths=full", "capture.code_stacktrace=always", count=3)
        self.assertEqual(len(spans), 12)
        for call, span in zip(calls, spans):
            texts = {}
            self.assertEqual(self.frames_of(span, texts), call["frames"][:FRAMES_MAX])
            self.assertEqual(list(texts), [span.attributes["cuspan.stack.id"]])

    def test_code_at_the_same_address(self):
        calls, spans = self.play("reuse", "capture.launch_stacks=python", "capture.code_paths=full", count=3000)
        self.assertEqual(len(self.check(calls, spans)), 3000)

    def test_more_stacks_than_there_is_room_for(self):
        calls, spans = self.play("reuse", "capture.launch_stacks=python", "capture.code_paths=full", count=6000)
        self.assertEqual(len(self.check(calls, spans)), 6000)
        self.assertEqual(self.counters["code_forgotten"], 1)

    def test_threads_share_a_stack(self):
        calls, spans = self.play("threads", "capture.launch_stacks=python", "capture.code_paths=full", count=4)
        self.check(calls, spans)

    def test_a_deep_stack_is_cut(self):
        calls, spans = self.play("deep", "capture.launch_stacks=python", "capture.code_paths=full", count=1)
        self.assertTrue(spans[0].attributes["code.stacktrace"].endswith("\n..."))
        frames = self.frames_of(spans[0], {})
        self.assertGreater(len(frames), 20)
        self.assertEqual(frames, calls[0]["frames"][:len(frames)])

    def test_packages_are_not_the_programs_code(self):
        packages = self.folder / "lib/python3.11/site-packages"
        packages.mkdir(parents=True)
        (packages / "wrapper.py").write_text("def launch(function):\n    function()\n\n\ndef launch_itself(call):\n    call('cudaLaunchKernel')\n")
        _, spans = self.play("package", "capture.launch_stacks=python", count=1, PACKAGES=str(packages))
        self.assertEqual([span.attributes["code.file.path"] for span in spans], [PROGRAM.name] * 3)
        self.assertIn('File "site-packages/wrapper.py", line 2, in launch\n', spans[0].attributes["code.stacktrace"])

    def test_text_that_is_executed_belongs_to_its_caller(self):
        packages = self.folder / "lib/python3.11/site-packages"
        packages.mkdir(parents=True)
        (packages / "wrapper.py").write_text("""def launch_text(call):\n    exec("call('cudaLaunchKernel')", {"call": call})\n""")
        _, (own, packages_own) = self.play("generated", "capture.launch_stacks=python", count=1, PACKAGES=str(packages))
        self.assertEqual((own.attributes["code.file.path"], own.attributes["code.line.number"]), ("<string>", 1))
        self.assertEqual(packages_own.attributes["code.file.path"], PROGRAM.name)
        self.assertEqual(packages_own.attributes["code.function.name"], "generated")
        self.assertIn('File "<string>", line 1, in <module>\n', packages_own.attributes["code.stacktrace"])

    def test_one_call_in_many(self):
        _, spans = self.play("lines", "capture.launch_stacks=python", "capture.launch_stacks_period=10", count=2500)
        count = sum("cuspan.stack.id" in span.attributes for span in spans)
        self.assertTrue(850 < count < 1150, count)  # of 10,000: 5 standard deviations
        names = {span.name for span in spans if "cuspan.stack.id" in span.attributes}
        self.assertEqual(len(names), 4)  # it does not follow the program's period of 4

    def test_the_default_settings_have_room_for_it(self):
        for settings in ["capture.launch_stacks=python"], ["capture.launch_stacks=all", "memory_bytes_max=80000000"]:
            sets = [word for setting in settings for word in ("--set", setting)]
            done = subprocess.run([BUILD / "cuspan", "check", "--set", "endpoint=http://127.0.0.1:4318", *sets], capture_output=True, text=True,
                                  check=False, env=environment())
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_recording_has_them(self):
        calls, live = self.play("reuse", "capture.launch_stacks=python", count=300)
        recording, replayed = self.folder / "recording", self.folder / "replayed.jsonl"
        self.run_program("reuse", 300, f"record_file={recording}", "capture.launch_stacks=python")
        subprocess.run([BUILD / "cuspan", "replay", "--quiet", "--file", replayed, recording], check=True, timeout=600,
                       env=environment())
        spans = calls_of(replayed)
        self.assertEqual(len(spans), len(live))
        for one, other in zip(spans, live):
            for key in "code.function.name", "code.file.path", "code.line.number", "code.stacktrace":
                self.assertEqual(one.attributes[key], other.attributes[key])

    def nodes(self, *settings, count=50):
        """(the calls that the program reports, {node: [[file, line, name]]}) of its graphs"""
        file = self.folder / "recording"
        file.unlink(missing_ok=True)
        calls = self.run_program("graph", count, f"record_file={file}", "detail=graph-nodes", "capture.code_paths=full", *settings)
        read = recording.read(file)
        nodes = {node: read.stacks.get(code) for node, code in read.nodes}
        self.assertEqual(len(nodes), len(read.nodes))
        self.assertEqual(set(nodes), {node for call in calls for node in call["nodes"]})
        return calls, nodes

    def test_nodes_of_graphs_have_the_stack_of_their_capture(self):
        # whether the launch itself is sampled or not
        for settings in ["capture.launch_stacks_period=1"], ["capture.launch_stacks_period=1000"], ["capture.calls.deny=cuda*"]:
            calls, nodes = self.nodes("capture.launch_stacks=python", *settings)
            for call in calls:
                for node in call["nodes"]:  # the innermost two frames are of the callback itself
                    self.assertEqual(nodes[node][2:], call["frames"][1:])
                    self.assertEqual([name for _, _, name in nodes[node][:2]], ["resource", "call"])
            self.assertEqual(self.read_counters()["code_unknown"], 0)

    def test_nodes_have_none_if_stacks_are_off(self):
        _, nodes = self.nodes()
        self.assertEqual(set(map(str, nodes.values())), {"None"})

    def native(self, *settings, count=10):
        """The spans of a C program's calls: `count` from main(), then `count` from another thread."""
        file = self.folder / "spans.jsonl"
        file.unlink(missing_ok=True)
        self.run_program("", count, f"output_file={file}", *settings)
        spans = calls_of(file)
        self.assertEqual(len(spans), 2 * count)
        return spans

    def test_native_stacks(self):
        spans = self.native("capture.launch_stacks=all", count=50)
        texts, unknown, complete = {}, 0, 0
        for span, functions in zip(spans, [["launch", "forward", "main"]] * 50 + [["launch", "backward", "run_thread"]] * 50):
            stack = span.attributes.get("cuspan.stack.id")
            if not stack:  # the first call of a thread: the limits of its stack are not known yet
                unknown += 1
                continue
            texts.setdefault(stack, span.attributes.get("code.stacktrace"))
            lines = texts[stack].split("\n")
            is_cut = lines[-1] == "..."
            lines = lines[:-1] if is_cut else lines
            complete += not is_cut
            self.assertEqual([re.sub(r"\+.*", "", line) for line in lines[:3]], functions[:len(lines)] if is_cut else functions, texts[stack])
            for line in lines[:3]:
                self.assertRegex(line, r"^\w+\+0x[0-9a-f]+ \(native_program\+0x[0-9a-f]+\)$")
            self.assertEqual(span.attributes["code.function.name"], "launch")
            self.assertNotIn("code.file.path", span.attributes)
        self.assertGreaterEqual(complete, 1)  # the first ones may be cut, until the agent knows the threads' stacks
        self.assertEqual(self.read_counters()["code_unknown"], unknown)

    def test_native_stacks_need_all(self):
        for span in self.native("capture.launch_stacks=python"):
            self.assertNotIn("cuspan.stack.id", span.attributes)

    def check_callers(self, calls, spans):
        """The stacks are those of Python behind the native caller, once it is known: the callers' lines (None: unknown)."""
        texts, callers = {}, []
        for call, span in zip(calls, spans):
            lines = texts.setdefault(span.attributes["cuspan.stack.id"], span.attributes.get("code.stacktrace")).split("\n")
            callers.append(lines.pop(0) if NATIVE.fullmatch(lines[0]) else None)
            found = [FRAME.fullmatch(line).groups() for line in lines]
            self.assertEqual([[file, int(line), name] for file, line, name in found], call["frames"])
            self.assertEqual(span.attributes["code.file.path"], call["frames"][0][0])
            self.assertEqual(span.attributes["code.line.number"], call["frames"][0][1])
            self.assertEqual(span.attributes["code.function.name"], call["frames"][0][2])
        return callers

    def test_python_stacks_begin_with_their_native_caller(self):
        settings = ["capture.launch_stacks=all", "capture.code_paths=full"]
        calls, spans = self.play("library", *settings, count=20, CALLS=str(BUILD / "libcode_calls.so"))
        callers = self.check_callers(calls, spans)
        known, = set(callers) - {None}
        self.assertRegex(known, CALLER)
        self.assertEqual(len({span.attributes["cuspan.stack.id"] for span in spans}), len(set(callers)))
        self.assertEqual(self.counters["code_unknown"], 0)
        self.check_callers(*self.play("lines", *settings, count=500))

    def test_a_recording_has_names_of_native_callers(self):
        file = self.folder / "recording"
        calls = self.run_program("library", 20, f"record_file={file}", "capture.launch_stacks=all", "capture.code_paths=full",
                                 CALLS=str(BUILD / "libcode_calls.so"))
        with_caller = [stack for stack in recording.read(file).stacks.values() if len(stack) > len(calls[0]["frames"])]
        self.assertTrue(with_caller)
        for (module, line, function), *frames in with_caller:
            self.assertRegex(f"{function} ({module})", CALLER)
            self.assertEqual(line, 0)
            self.assertEqual(frames, calls[0]["frames"])

    def test_nodes_of_graphs_have_the_native_caller(self):
        calls, nodes = self.nodes("capture.launch_stacks=all")
        for call in calls:
            for node in call["nodes"]:
                frames = [frame for frame in nodes[node] if frame[1]]
                self.assertLessEqual(len(nodes[node]) - len(frames), 1)
                self.assertEqual(nodes[node][-len(frames):], frames)
                self.assertEqual(frames[2:], call["frames"][1:])

    def test_allocations_alone_have_stacks(self):
        """`capture.allocation_stacks`: of each allocation, whatever the period of other calls is."""
        for more in [], ["capture.launch_stacks=python", "capture.launch_stacks_period=1000000"]:
            calls, spans = self.play("lines", "capture.allocation_stacks=true", "capture.code_paths=full", *more, count=5)
            texts = {}
            for call, span in zip(calls, spans):
                if call["name"] == "cudaMalloc":
                    self.assertEqual(self.frames_of(span, texts), call["frames"][:FRAMES_MAX])
                else:
                    self.assertNotIn("cuspan.stack.id", span.attributes)

    def test_a_recording_has_names_of_native_frames(self):
        recording, replayed = self.folder / "recording", self.folder / "replayed.jsonl"
        self.run_program("", 10, f"record_file={recording}", "capture.launch_stacks=all")
        subprocess.run([BUILD / "cuspan", "replay", "--quiet", "--file", replayed, recording], check=True, timeout=600,
                       env=environment())
        spans = calls_of(replayed)
        self.assertEqual(len(spans), 20)
        named = [span for span in spans if "cuspan.stack.id" in span.attributes]
        self.assertTrue(named)
        for span in named:
            self.assertEqual(span.attributes["code.function.name"], "launch")

    def test_not_in_a_summary(self):
        self.run_program("lines", 2, "detail=summary", "capture.launch_stacks=python")
        self.assertEqual(self.read_counters()["code_stacks"], 0)


if __name__ == "__main__":
    unittest.main()
