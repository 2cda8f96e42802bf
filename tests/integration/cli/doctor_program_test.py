#!/usr/bin/env python3
"""`cuspan doctor`: running agents, a program that the doctor starts, and the output.

    doctor_program_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import backend  # noqa: E402
import doctor_case  # noqa: E402
from doctor_case import LOCAL, ROOT, all_checks  # noqa: E402


class Agents(doctor_case.Case):
    def process(self, pid, name, maps, thread="main"):
        self.put(f"/proc/{pid}/comm", name + "\n")
        self.put(f"/proc/{pid}/maps", "".join(f"7f00-7f01 r-xp 00000000 08:01 12 {path}\n" for path in maps))
        self.put(f"/proc/{pid}/task/{pid}/comm", "main\n")
        self.put(f"/proc/{pid}/task/{pid + 1}/comm", thread + "\n")

    def test_running(self):
        self.put("/proc/version")
        self.says("agents.running", "skipped", "no process uses CUDA")
        self.process(300, "plain", ["/usr/lib/libc.so.6"])
        self.says("agents.running", "skipped", "no process uses CUDA")
        self.process(400, "train", ["/usr/lib/libcuda.so.1", "/opt/cuspan/libcuspan.so"], "cuspan/pipeline")
        self.process(500, "asleep", ["/opt/cuspan/libcuspan.so"])
        self.process(600, "without", ["/usr/lib/libcuda.so.570.10"])
        self.process(700, "old", ["/opt/cuspan/libcuspan.so (deleted)"], "cuspan/pipeline")
        self.says("agents.running", "ok", r"400 \(train\) has an active agent: /opt")
        self.says("agents.running", "warning", r"500 \(asleep\) .*does not trace", "OTEL_LOG_LEVEL=info")
        self.says("agents.running", "warning", r"600 \(without\) uses CUDA", "cuspan attach 600, or .*cuspan run")
        self.says("agents.running", "warning", r"700 \(old\) .*replaced", "restart the program")

    def test_real_process(self):
        """In the real /proc, a process with a loaded agent is listed."""
        process = subprocess.Popen([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(self.agent())!r}); print(1, flush=True); input()"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE) if not doctor_case.SANITIZERS else None
        if not process:
            self.skipTest("a sanitized library needs its runtime")
        self.addCleanup(process.communicate, b"\n")
        process.stdout.readline()
        lines = self.doctor("agents.running", env={"CUSPAN_DOCTOR_ROOT": None})["agents.running"]
        self.assertTrue(any(f"process {process.pid} " in line["found"] or "more processes" in line["found"] for line in lines), lines)


class Program(doctor_case.Case):
    """The stage at which a program's data ends."""

    def host(self, recording="vector_add"):
        return [doctor_case.BUILD / "agent_host", doctor_case.BUILD / "libcuspan.so", doctor_case.BUILD / "libcuspan-replay.so", ROOT / f"examples/recordings/{recording}.cuspanrec"]

    def run_it(self, finding, found, fix="", settings=(), program=None, arguments=(), **options):
        target = self.directory / "spans.jsonl"
        arguments = [*arguments, *(part for setting in [f"cupti.library={doctor_case.BUILD}/libcuspan-replay.so", *settings] for part in ("--set", setting))]
        if not any("endpoint" in str(each) or "record_file" in str(each) for each in arguments):
            arguments += ["--file", target]
        return self.says("program.run", finding, found, fix, arguments=arguments, program=program or self.host(), **options)

    def run_for_long_enough(self, finding, found, fix, program):
        """Terminates the program after 1 s, or later if a busy machine needs longer to start it."""
        for seconds in "1", "5", "25":
            with contextlib.suppress(AssertionError):
                return self.run_it(finding, found.format(seconds), fix, program=program, arguments=["--seconds", seconds])
        return self.run_it(finding, found.format(125), fix, program=program, arguments=["--seconds", "125"])

    def test_no_fault(self):
        self.run_it("ok", r"\d+ spans delivered, from \d+ calls and \d+ GPU records")
        spans = [span for line in (self.directory / "spans.jsonl").read_text().splitlines() for span in backend.spans_of(json.loads(line))]
        self.assertGreater(len(spans), 20)

    def test_no_program(self):
        self.says("program.run", "skipped")
        # With a PATH of its own: a folder of another user's in it would be a reason, too.
        self.run_it("problem", "cannot run .*: No such file", "in PATH", program=["no-such-program-at-all"], env={"PATH": "/usr/bin:/bin"})

    def test_never_loaded(self):
        self.run_it("problem", "never loaded.*status 0", "driver.start", program=["true"])
        self.run_it("problem", r"never loaded.*crashed \(Segmentation", program=["sh", "-c", "kill -SEGV $$"])

    def test_a_driver_without_an_agent(self):
        self.driver()
        code = "import ctypes, time; ctypes.CDLL('libcuda.so.1'); time.sleep(600)"
        self.run_for_long_enough("problem", "the driver did not load the agent", "driver.start", program=[sys.executable, "-c", code])

    def test_another_subscriber(self):
        self.run_it("problem", "another tool in the program uses CUPTI", "without that tool", env={"CUSPAN_REPLAY_FAIL": "subscribe"})

    def test_agent_did_not_start(self):
        self.run_it("problem", "did not start: the sampler is always_off", env={"OTEL_TRACES_SAMPLER": "always_off"})
        self.run_it("problem", "did not start: cuspan is disabled", env={"OTEL_SDK_DISABLED": "true"})

    def test_no_exit_handlers(self):
        if doctor_case.SANITIZERS:
            self.skipTest("a sanitized library needs its runtime")
        code = ("import ctypes, os; d = ctypes.CDLL(os.environ['HOST_DOUBLE']); d.cuspan_replay_load(os.environ['HOST_RECORDING'].encode(), "
                "ctypes.create_string_buffer(512)); ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH']).InitializeInjection(); os._exit(3)")
        host = self.host()
        self.run_it("problem", "wrote no final report: the program exited with status 3", "cuspan_finish", program=[sys.executable, "-c", code],
                    env={"HOST_DOUBLE": host[2], "HOST_RECORDING": host[3]})

    def test_no_calls_at_all(self):
        self.run_it("problem", "saw no calls and no GPU work", "configuration.filters", program=self.host()[:2],
                    settings=[f"cupti.library={self.cupti('other', 130200)}"])

    def test_nothing_sampled(self):
        ratio = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}
        self.run_it("problem", r"but no spans: [1-9]\d* not sampled", "configuration.sampling", env=ratio)

    def test_no_gpu_records(self):
        self.run_it("problem", r"\d+ calls, but CUPTI reported no GPU work", "cupti.api", settings=["capture.activities.deny=*"])

    def test_nothing_delivered(self):
        port = backend.free_ports(1)[0]
        self.run_it("problem", r"none of \d+ spans was delivered: lost_\w+ \d+", "collector", settings=["exit_deadline_ms=500"],
                    arguments=["--endpoint", f"http://{LOCAL}:{port}"])

    def test_refused(self):
        server = self.serve(400)
        self.run_it("problem", r"none of \d+ spans was delivered: lost_refused \d+; .* refuses spans", "collector",
                    arguments=["--endpoint", f"http://{LOCAL}:{server.server_port}"])

    def test_losses(self):
        self.run_it("warning", r"\d+ of \d+ spans were delivered; lost: lost_cupti_dropped 5", "troubleshooting", env={"CUSPAN_REPLAY_FAIL": "dropped=5"})

    def test_recorded(self):
        self.run_it("warning", "recorded", "record_file", settings=[f"record_file={self.directory}/x.cuspanrec"])

    def test_long_program(self):
        self.run_it("problem", "never loaded.*was terminated by cuspan doctor", program=["sleep", "3600"], arguments=["--seconds", "1"])

    def test_long_program_with_an_agent(self):
        script = self.directory / "long.sh"
        script.write_text("#!/bin/sh\n" + shlex.join(map(str, self.host())) + "\nexec sleep 600\n")
        script.chmod(0o755)
        self.run_for_long_enough("warning", "was terminated after {} s", "--seconds", program=[script])

    def test_another_tools_variable(self):
        self.run_it("problem", "not run: CUDA_INJECTION64_PATH is set to", "fix this first", env={"CUDA_INJECTION64_PATH": doctor_case.BUILD / "libfake_cuda.so"})

    def test_program_output_is_discarded(self):
        done = self.run_doctor("--only", "program", program=["sh", "-c", "echo loud; echo loud >&2"])
        self.assertNotIn("loud", done.stdout + done.stderr)


class Output(doctor_case.Case):
    def test_plain_and_colored(self):
        plain = self.run_doctor("--only", "driver.library")
        self.assertRegex(plain.stdout, r"\Aproblem   driver\.library: .*\n          fix: .*\n\n1 problem, 0 warnings, 0 unknown")
        self.assertNotIn("\033", plain.stdout)
        colored = self.run_doctor("--only", "driver.library", "--color", "always")
        self.assertEqual(re.sub("\033\\[[0-9;]*m", "", colored.stdout), plain.stdout)
        self.assertIn("\033[1;31mproblem", colored.stdout)
        self.assertNotIn("\033", self.run_doctor("--only", "driver.library", env={"NO_COLOR": "1"}).stdout)

    def test_a_terminal(self):
        for env, is_colored in ({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False):
            ours, theirs = os.openpty()
            subprocess.run([doctor_case.BUILD / "cuspan", "doctor", "--only", "driver.library"], stdout=theirs, env=self.environment({"TERM": "xterm", "NO_COLOR": None, **env}), check=False)
            os.close(theirs)
            self.assertEqual(b"\033[" in os.read(ours, 4096), is_colored, env)
            os.close(ours)

    def test_control_characters_are_removed(self):
        done = self.run_doctor("--only", "injection.variable", env={"CUDA_INJECTION64_PATH": "/nowhere/\033[2J\nx.so"})
        self.assertNotIn("\033", done.stdout)
        self.assertIn("/nowhere/?[2J?x.so", done.stdout)
        lines = self.doctor("injection.variable", env={"CUDA_INJECTION64_PATH": "/nowhere/\033[2J\nx.so"})
        self.assertIn("\033[2J\n", lines["injection.variable"][0]["found"])

    def test_usage(self):
        for arguments in ["--only", "nonsense"], ["--only", "driver.nonsense"], ["--seconds", "0"], ["--protocol", "x"], ["--nonsense"], ["--color", "blue"]:
            done = self.run_doctor(*arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done)

    def test_a_whole_run(self):
        self.driver()
        done = self.run_doctor("--json", "--file", "x")
        said = json.loads(done.stdout)
        self.assertEqual({f"{line['group']}.{line['name']}" for line in said["checks"]}, set(all_checks()))
        order = list(dict.fromkeys(f"{line['group']}.{line['name']}" for line in said["checks"]))
        self.assertEqual(order, all_checks())

    def test_each_group_has_a_file(self):
        groups = {check.split(".")[0] for check in all_checks()}
        self.assertEqual(sorted(group for file in doctor_case.GROUPS.values() for group in file), sorted(groups))


class Page(doctor_case.Case):
    """docs/troubleshooting.md."""

    def test_has_every_check(self):
        page = (ROOT / "docs/troubleshooting.md").read_text()
        named = set(re.findall(r"`([a-z]+\.[a-z]+)`", page))
        for check in all_checks():
            self.assertIn(check, named)
        groups = {check.split(".")[0] for check in all_checks()}
        self.assertEqual({name for name in named if name.split(".")[0] in groups} - set(all_checks()), set())

    def test_has_every_loss(self):
        page = (ROOT / "docs/troubleshooting.md").read_text()
        counters = (ROOT / "src/base/accounting/counters.h").read_text()
        for name in re.findall(r"X\((lost_\w+), true", counters):
            self.assertIn(f"`{name}`", page)


if __name__ == "__main__":
    doctor_case.main("program")
