#!/usr/bin/env python3
"""Effects of the agent on its host (none), the control functions of cuspan.h, the published context, the library file.

    agent_host_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import contextlib
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
import backend  # noqa: E402
import compare  # noqa: E402
from agent_case import (  # noqa: E402
    FOREVER_MS, FORKS, HANG_S, HOST_OUTPUT, HOST_STATUS, NO_HURRY, NOTICED, PARENT, PATIENT, RECORDINGS, TRACE, Case,
    is_call, is_session, path_of, recorded, sessions_of, spans_in)


class Host(Case):
    """A program that loads the agent like the driver runs as without it."""

    def host(self, *arguments, library=None, lines=1, line="", env=None, fail=None, play=None, settings=None,
             program="agent_host"):
        extra = dict(env or {})
        if play:
            arguments = (*arguments, agent_case.BUILD / "libcuspan-replay.so", path_of(play))
            settings = {"cupti.library": agent_case.BUILD / "libcuspan-replay.so", **NO_HURRY, **(settings or {})}
        if settings:
            extra["CUSPAN_SET"] = ";".join(f"{key}={value}" for key, value in settings.items())
        if fail:
            extra["CUSPAN_REPLAY_FAIL"] = fail
        result = self.start([agent_case.BUILD / program, library or agent_case.BUILD / "libcuspan.so", *arguments], extra)
        self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT), result.err)
        said = result.err.splitlines()
        # The agent logs an unreachable collector when it first notices it; a fast program ends before that.
        noticed = [text for text in said if NOTICED.search(text)]
        self.assertLessEqual(len(noticed), 1, result.err)
        said = [text for text in said if text not in noticed]
        if lines is not None:
            self.assertEqual(len(said), lines, result.err)
        if lines:
            print(result.err.strip())
            self.assertRegex("\n".join(said), line)
        self.assertTrue(all(text.startswith("cuspan: ") for text in said + noticed), result.err)
        return result

    def closed_port(self):
        return backend.free_ports(1)[0]

    def yaml(self, text):
        path = self.directory / "cuspan.yaml"
        path.write_text(text)
        return {"CUSPAN_CONFIG_FILE": str(path)}

    def test_broken_yaml_is_placed(self):
        self.host(env=self.yaml('file_format: "1.1"\ntracer_provider:\n  processors: [\n  - batch\n'),
                  line=r"cuspan\.yaml:\d+:\d+: .*not traced")

    def test_a_wrong_key_is_placed(self):
        self.host(env=self.yaml('file_format: "1.1"\ndistribution:\n  cuspan:\n    detial: full\n'),
                  line=r"cuspan\.yaml:4:5: .*detial.*detail")

    def test_a_missing_file_is_named(self):
        self.host(env={"CUSPAN_CONFIG_FILE": "/nowhere/cuspan.yaml"}, line="/nowhere/cuspan.yaml.*not traced")

    def test_no_cupti(self):
        folders = ["/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu",
                   "/usr/lib/aarch64-linux-gnu", agent_case.BUILD / "cupti"]
        if any(Path(folder, f"libcupti.so.{major}").exists() for folder in folders for major in (12, 13)):
            self.skipTest("this machine has a CUPTI")
        self.host(line="found no CUPTI.*cupti.library.*not traced")

    def test_a_library_that_is_no_cupti(self):
        self.host(settings={"cupti.library": agent_case.BUILD / "libcuspan-export.so"}, line="is not CUPTI")
        self.host(settings={"cupti.library": path_of("vector_add")}, line="cannot load CUPTI")
        self.host(settings={"cupti.library": "/nowhere/libcupti.so"}, line="cannot load CUPTI")
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/pipe")  # a read would wait for a writer
            self.host(settings={"cupti.library": f"{folder}/pipe"}, line="is not a file")

    def test_disabled_is_silent(self):
        self.host(env={"OTEL_SDK_DISABLED": "true"}, lines=0)
        self.host(env={"OTEL_SDK_DISABLED": "true"}, play="threads", lines=0)

    def test_never_sampled_is_silent(self):
        self.host(env={"OTEL_TRACES_SAMPLER": "always_off"}, play="threads", lines=0)

    def test_an_unsampled_parent_is_silent(self):
        self.host(env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}, play="threads", lines=0)

    def test_no_exporter(self):
        self.host(env={"OTEL_TRACES_EXPORTER": "none"}, play="threads", line="no exporter is left")

    def test_another_subscriber(self):
        self.host(play="threads", fail="subscribe", line="another tool.*some-profiler")

    def test_a_dead_collector(self):
        deadline_ms = 700
        report = self.directory / "report"
        settings = {"endpoint": f"http://127.0.0.1:{self.closed_port()}", "exit_deadline_ms": deadline_ms,
                    "accounts_file": report}
        self.host(play="threads", settings=settings, line="captured records were lost", env=PATIENT)
        found = json.loads(next(self.directory.glob("report.*")).read_text())
        self.assertEqual(found["delivered"], 0)
        self.assertEqual(sum(found["losses"].values()) - found["losses"].get("lost_unmade", 0), found["spans"])

    def test_a_collector_that_never_answers(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(16)
            self.host(play="threads", line="lost_deadline", env=PATIENT,
                      settings={"endpoint": f"http://127.0.0.1:{listener.getsockname()[1]}", "exit_deadline_ms": 700})

    def test_no_export_module(self):
        """If libcuspan.so is alone in its folder, there is no export module and thus no libcurl."""
        alone = self.directory / "libcuspan.so"
        shutil.copy(agent_case.BUILD / "libcuspan.so", alone)
        self.host(play="threads", library=alone, lines=2, line="libcuspan-export.so",
                  settings={"endpoint": f"http://127.0.0.1:{self.closed_port()}", "exit_deadline_ms": 500})

    def test_spans_to_a_file(self):
        target = self.directory / "spans.jsonl"
        self.host("thread", play="threads", lines=0, settings={"output_file": target})
        spans = spans_in(target.read_text())
        self.assert_same_work("threads", spans)
        self.assertEqual(sessions_of(spans)[0].name, "agent_host")
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)

    def test_forks_before_and_after(self):
        target = self.directory / "spans.jsonl"
        self.host("fork-before", "fork-after", play="threads", lines=0, env=FORKS, settings={"output_file": target})
        self.assert_same_work("threads", spans_in(target.read_text()), 20)

    @unittest.skipIf(agent_case.SANITIZERS, "sanitized builds use the system's OpenSSL, whose exit handler can wait in a child for a lock")
    def test_forked_children_do_not_wait_for_a_dead_collector(self):
        """A child that waited would do so until it is ended: no machine is so slow. The parent would wait, too, and skips
        its exit handlers."""
        self.host("fork-after", "no-exit", play="threads", lines=None, env={**FORKS, **PATIENT},
                  settings={"endpoint": f"http://127.0.0.1:{self.closed_port()}", "exit_deadline_ms": FOREVER_MS,
                            "memory_bytes_max": 100_000_000})  # the replay waits while half of the queue is full

    @unittest.skipIf(agent_case.SANITIZERS, "a sanitizer has an allocator of its own")
    def test_in_a_callback_it_does_little(self):
        """Callbacks make no allocation, lock, system call or call to CUPTI. (docs/promises.md names an exception that a
        replay does not have: on a GPU, a thread's first callback asks the system for its ID.)
        """
        for name in RECORDINGS:
            for api, detail in itertools.product(["subscriber", "classic"], ["summary", "default", "graph-nodes", "full"]):
                with self.subTest(name=name, api=api, detail=detail):
                    noted = self.directory / "noted"
                    self.host(play=name, lines=0, program="agent_host_watched", env={"HOST_WATCH": str(noted)}, settings={
                        "output_file": self.directory / "spans.jsonl", "cupti.api": api, "detail": detail})
                    head, *notes = noted.read_text().splitlines()
                    if detail in ("graph-nodes", "full"):  # an exception that docs/promises.md also names
                        notes = [note for note in notes if not note.endswith("a node of a graph: cuptiGetGraphNodeId")]
                    self.assertEqual(notes, [])
                    if os.uname().machine == "x86_64":
                        self.assertIn("system calls watched", head, "the kernel can't trap them (5.11 and later can)")
                    launches = {work.correlation_id for work in recorded(name).gpu_work()}
                    self.assertGreaterEqual(int(head.split()[0]), 2 * len(launches))

    @unittest.skipIf(agent_case.SANITIZERS, "a sanitizer has an allocator of its own")
    def test_the_first_graph_makes_one_call_to_cupti(self):
        """The other exception: the call that starts the first graph enables graph records. The stand-in sleeps and locks
        for that."""
        noted = self.directory / "noted"
        self.host(play="graph", lines=0, program="agent_host_watched",
                  env={"HOST_WATCH": str(noted), "CUSPAN_REPLAY_FAIL": "late-graphs"},
                  settings={"output_file": self.directory / "spans.jsonl", "cupti.api": "subscriber"})
        _, *notes = noted.read_text().splitlines()
        places, what = zip(*(note.split(": ", 1) for note in notes))
        self.assertEqual({place.split()[-1] for place in places}, {"cudaStreamBeginCapture"})
        self.assertEqual([one for one in what if one.startswith("cupti")], ["cuptiActivityEnable_v2"])

    @unittest.skipIf(agent_case.SANITIZERS, "a sanitizer has an allocator of its own")
    def test_a_forked_child_never_touches_cupti(self):
        """The child makes CUDA calls, and the agent's callbacks are still in CUPTI's tables."""
        for api in "subscriber", "classic":
            with self.subTest(api=api):
                noted, target = self.directory / f"noted-{api}", self.directory / f"{api}.jsonl"
                self.host("fork-play", play="threads", lines=0, program="agent_host_watched",
                          env={"HOST_WATCH": str(noted)}, settings={"output_file": target, "cupti.api": api})
                head, *notes = Path(f"{noted}.child").read_text().splitlines()
                self.assertEqual(notes, [])
                if os.uname().machine == "x86_64":
                    self.assertIn("system calls watched", head, "the kernel can't trap them (5.11 and later can)")
                launches = {work.correlation_id for work in recorded("threads").gpu_work()}
                self.assertGreaterEqual(int(head.split()[0]), 2 * len(launches))
                self.assertEqual(noted.read_text().splitlines()[1:], [])
                self.assert_same_work("threads", spans_in(target.read_text()))

    @unittest.skipIf(agent_case.SANITIZERS, "the leak checker can't look into a process with another user's rights")
    def test_a_set_user_id_program_is_led_by_no_environment(self):
        folder = self.directory / "set-user-id"
        folder.mkdir()
        self.directory.chmod(0o755)

        def copied(program, name, mode):
            path = folder / name
            shutil.copy(program, path)
            try:
                shutil.chown(path, "nobody")
            except (LookupError, OSError) as error:
                self.skipTest(f"only root can make a set-user-ID program: {error}")
            path.chmod(mode)
            return path

        who = subprocess.run([copied(shutil.which("id"), "id", 0o4755), "-u"], stdout=subprocess.PIPE, text=True).stdout
        if int(who or 0) == os.geteuid():
            self.skipTest("programs below the temporary directory don't get their owner's rights (nosuid, no_new_privs)")
        library = folder / "libcuspan.so"  # unreadable for other users
        shutil.copy(agent_case.BUILD / "libcuspan.so", library)
        env = {"CUSPAN_CONFIG_FILE": "/nowhere", "CUSPAN_SET": "detail=/nowhere", "OTEL_LOG_LEVEL": "debug",
               "OTEL_EXPORTER_OTLP_ENDPOINT": "/nowhere"}
        self.host(library=library, program=copied(agent_case.BUILD / "agent_host", "plain", 0o755), env=env, line="/nowhere")
        result = self.start([copied(agent_case.BUILD / "agent_host", "host", 0o4755), library], env)
        self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT), result.err)
        print(result.err.strip())
        self.assertNotIn("/nowhere", result.err)
        # By default it looks for a CUPTI; what it logs about that depends on the machine.
        self.assertTrue(all(line.startswith("cuspan: ") for line in result.err.splitlines()), result.err)

        # cuspan.h does not load a library that the environment names, either.
        for name, mode, found in ("asks", 0o755, "agent\n"), ("asks-as-nobody", 0o4755, "none\n"):
            program = copied(agent_case.BUILD / "api_host", name, mode)
            self.assertEqual(self.start([program], {"CUDA_INJECTION64_PATH": str(library)}).out, found)

    def test_quiet_without_a_standard_error(self):
        """If a host has closed its descriptors, our lines must not end up in its files."""
        out = subprocess.run(["sh", "-c", '"$0" "$1" 2>&-', str(agent_case.BUILD / "agent_host"), str(agent_case.BUILD / "libcuspan.so")],
                             env=self.environment({"CUSPAN_CONFIG_FILE": "/nowhere"}), stdout=subprocess.PIPE, text=True)
        self.assertEqual((out.returncode, out.stdout), (HOST_STATUS, HOST_OUTPUT))

    def test_four_outputs_that_are_stuck_share_one_deadline(self):
        """Otherwise the time for counting losses would be over before the last of them is given up."""
        pipes = [self.directory / f"pipe{number}" for number in range(4)]
        readers = []
        for pipe in pipes:
            os.mkfifo(pipe)
            readers.append(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))  # never read from
        processors = "".join(f'  - batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{pipe}"}}}}}}\n'
                             for pipe in pipes)
        env = self.yaml(f'file_format: "1.1"\ntracer_provider:\n  processors:\n{processors}')
        result = self.host(play="threads", line="lost_deadline", env=env,
                           settings={"exit_deadline_ms": 5000, "accounts_file": self.directory / "report"})
        for reader in readers:
            os.close(reader)
        found = json.loads(next(self.directory.glob("report.*")).read_text())
        self.assertEqual([output["lost"] for output in found["outputs"]], [found["spans"]] * 4)
        self.assertNotIn("at exit has passed", result.err, "the host's thread has lost patience with ours")

    @unittest.skipIf(agent_case.SANITIZERS, "the watched host is not built there")
    def test_a_runtime_call_that_is_denied_keeps_its_callback(self):
        """Otherwise the driver call that the runtime makes inside would be taken for the program's own."""
        counts = []
        for deny in "", "cuda*":
            noted = self.directory / "noted"
            self.host(play="threads", lines=0, program="agent_host_watched", env={"HOST_WATCH": str(noted)}, settings={
                "output_file": self.directory / f"spans{deny[:1]}.jsonl", "capture.calls.deny": deny})
            counts.append(int(noted.read_text().split()[0]))
        print(f"{counts[0]} callbacks, {counts[1]} with all runtime calls denied")
        self.assertAlmostEqual(counts[0], counts[1], delta=20)  # they include requests for buffers
        denied = spans_in((self.directory / "spansc.jsonl").read_text())
        self.assertEqual([span.name for span in denied if span.attributes.get("cuda.api") == "runtime"], [])

    def test_standard_error_that_nobody_reads(self):
        """A pipe whose reader has gone, or has stopped reading: the host neither ends nor blocks."""
        collector = f"endpoint=http://127.0.0.1:{self.closed_port()};exit_deadline_ms=300"
        speaks = {"CUSPAN_CONFIG_FILE": "/nowhere"}
        loses = {"CUSPAN_SET": f"cupti.library={agent_case.BUILD}/libcuspan-replay.so;{collector}"}
        for name, extra, play in (("a wrong file", speaks, []), ("a dead collector", loses, [
                agent_case.BUILD / "libcuspan-replay.so", path_of("threads")])):
            for is_full in False, True:
                with self.subTest(name, is_full=is_full):
                    reader, writer = os.pipe()
                    if is_full:
                        os.set_blocking(writer, False)
                        with contextlib.suppress(BlockingIOError):
                            while True:
                                os.write(writer, b"x")
                        os.set_blocking(writer, True)
                    else:
                        os.close(reader)
                    done = subprocess.run([agent_case.BUILD / "agent_host", agent_case.BUILD / "libcuspan.so", *play], stdout=subprocess.PIPE,
                                          stderr=writer, text=True, env=self.environment({**PATIENT, **extra}), timeout=HANG_S)
                    os.close(writer)
                    self.assertEqual((done.returncode, done.stdout), (HOST_STATUS, HOST_OUTPUT))
                    if is_full:
                        os.close(reader)

    def test_threads_that_go_on_calling_do_not_hold_up_the_exit(self):
        report = self.directory / "report"
        ring = 16384 if agent_case.SANITIZERS else 65536  # with the race checker, a span takes a third of a millisecond
        cupti = agent_case.BUILD / "libfake_cupti_classic.so"
        extra = {"TSAN_OPTIONS": "report_thread_leaks=0:halt_on_error=1", "CUSPAN_SET": ";".join([
            f"cupti.library={cupti}", "cupti.api=classic", "detail=full", "output_file=/dev/null",
            f"accounts_file={report}", f"exit_deadline_ms={FOREVER_MS}", f"rings.bytes={ring}", f"rings.total_bytes={16 * ring}"])}
        result = self.start([agent_case.BUILD / "polling_host", agent_case.BUILD / "libcuspan.so", cupti], extra)
        self.assertEqual((result.status, result.out), (HOST_STATUS, HOST_OUTPUT), result.err)
        found = json.loads(next(self.directory.glob("report.*")).read_text())
        self.assertGreater(found["delivered"], 0)
        self.assertEqual(found["delivered"], found["spans"])
        self.assertNotIn("lost_deadline", found["losses"])
        print(f"{found['spans']} spans, {result.seconds:.2f} s")

    def test_loads_in_milliseconds(self):
        times = []
        for _ in range(5):
            file = self.directory / "times"
            self.host(env={"HOST_TIMES": str(file)}, settings={"output_file": self.directory / "x"}, play="vector_add",
                      lines=0)
            times.append([float(part) for part in file.read_text().split()])
        load, start = (sorted(column)[len(times) // 2] for column in zip(*times))
        print(f"libcuspan.so loads in {load:.2f} ms and starts in {start:.2f} ms (median of 5, double of CUPTI)")


@unittest.skipIf(shutil.which("readelf") is None, "no readelf")
class Control(Case):
    """The program starts and stops its tracing, and the agent sleeps while nothing is sampled."""

    SAMPLED, UNSAMPLED = f"attach=00-{TRACE}-{PARENT}-01", f"attach=00-{TRACE}-{PARENT}-00"

    def steps(self, *steps, settings=None, env=None, play="vector_add"):
        self.runs += 1
        target, report = self.directory / f"{self.runs}.jsonl", self.directory / f"control-{self.runs}"
        double = agent_case.BUILD / "libcuspan-replay.so"
        chosen = {"cupti.library": double, "output_file": target, "accounts_file": report, "exit_deadline_ms": 60000,
                  **(settings or {})}
        result = self.start([agent_case.BUILD / "control_host", double, path_of(play), agent_case.BUILD / "libcuspan.so", *steps], {
            "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items() if value is not None), **(env or {})})
        self.assertEqual(result.status, 0, result.err)
        result.answers = [int(line.split(": ")[1]) for line in result.out.splitlines()]
        result.text = target.read_text() if target.exists() else ""
        for path in self.directory.glob(f"control-{self.runs}.*"):
            result.report = json.loads(path.read_text())
        return result

    def kernels(self, spans):
        return sum(span.attributes.get("cuda.activity") == "kernel" for span in spans)

    def test_start_stop_and_start_again(self):
        """With the classic API, CUPTI's records are disabled in between; with the other one they arrive and are
        ignored."""
        in_one = self.kernels(self.replay("vector_add").spans)
        for api in "classic", "subscriber":
            with self.subTest(api):
                result = self.steps("on", "play", "start", "start", "on", "play", "stop", "stop", "on", "play", "flush", "nap", "start",
                                    "play", settings={"cupti.api": api})
                self.assertEqual(result.answers, [0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
                self.assertEqual(result.err, "")
                sessions = sessions_of(result.spans)
                self.assertEqual([s.attributes["cuda.session.end_reason"] for s in sessions], ["stop", "exit"])
                self.assertEqual([self.kernels(s for s in result.spans if s.trace_id == session.trace_id)
                                  for session in sessions], [in_one, in_one])
                counters = result.report["counters"]
                self.assertEqual(counters["sleeps"], 1)
                self.assertGreater(counters["asleep_ns"], 100e6)
                self.assertEqual(counters["orphans"], 0)
                self.assertEqual(result.report["losses"], {})

    def test_an_agent_that_cannot_start_says_why_once(self):
        result = self.steps("start", "start", "flush", "stop", settings={"cupti.library": "/nowhere"})
        self.assertEqual(result.answers, [-1, -1, -1, 1])
        self.assertEqual(len(result.err.splitlines()), 1, result.err)
        self.assertIn("/nowhere", result.err)
        result = self.start([agent_case.BUILD / "control_host", agent_case.BUILD / "libcuspan-replay.so", path_of("vector_add"), "/nowhere.so",
                             "start", "stop", "flush"], {})
        self.assertEqual((result.status, result.out, result.err), (0, "start: -1\nstop: 1\nflush: -1\n", ""))

    def test_a_start_without_a_place_to_send_to_says_so(self):
        for env, why, injected_lines in ({"OTEL_TRACES_EXPORTER": "none"}, "no exporter is left", 1), (
                {"OTEL_SDK_DISABLED": "true"}, "disabled by its configuration", 0):
            result = self.steps("start", "start", env=env, settings={"output_file": None})
            self.assertEqual(result.answers, [-1, -1])
            self.assertEqual(len(result.err.splitlines()), 1, result.err)
            self.assertIn(why, result.err)
            injected = self.steps("inject", env=env, settings={"output_file": None})
            self.assertEqual((injected.answers, len(injected.err.splitlines())), ([1], injected_lines), injected.err)

    def test_flush_delivers_before_it_returns(self):
        """Flushes repeatedly. Without a flush, the first spans would leave after a minute."""
        target = self.directory / "flushed.jsonl"
        double = agent_case.BUILD / "libcuspan-replay.so"
        program = subprocess.Popen(
            [agent_case.BUILD / "control_host", double, path_of("vector_add"), agent_case.BUILD / "libcuspan.so", "start", "play", "flush", "play",
             "flush", *["nap"] * 600], stdout=subprocess.PIPE, text=True, env=self.environment({
                 "CUSPAN_SET": f"cupti.library={double};output_file={target}", "OTEL_BSP_SCHEDULE_DELAY": "60000"}))
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.kill)
        counts = []
        for expected in "start: 0", "play: 0", "flush: 0", "play: 0", "flush: 0":
            self.assertEqual(program.stdout.readline().strip(), expected)
            if expected == "flush: 0":
                counts.append(self.kernels(spans_in(target.read_text())))
        program.kill()
        program.wait()
        in_one = self.kernels(self.replay("vector_add").spans)
        self.assertIn(counts[0], (in_one, 2 * in_one))  # the program may have continued meanwhile
        self.assertEqual(counts[1], 2 * in_one)

    def test_flush_keeps_to_its_deadline(self):
        result = self.steps("start", "play", "flush-0", env=PATIENT, settings={
            "output_file": None, "endpoint": f"http://127.0.0.1:{backend.free_ports(1)[0]}", "exit_deadline_ms": 300})
        self.assertEqual(result.answers, [0, 0, -1])

    def test_a_child_of_a_dormant_process_loads_nothing(self):
        """CUDA has started in its parent, so it never calls CUPTI, even if a context is attached."""
        env = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}
        result = self.steps("inject", "child", self.SAMPLED, "nap", "nap", "on", "start", env=env)
        self.assertEqual(result.answers, [1, 0, 0, 0, 0, 0, -1])
        self.assertEqual((result.spans, result.report["state"], result.report["counters"]["calls_captured"]),
                         ([], "not traced", 0))

    def test_start_goes_before_the_cuda_profiler(self):
        for env in {}, {"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}:
            result = self.steps("inject", "on", "start", "on", "stop", "on", env=env, settings={"capture.cuda_profiler": "true"})
            self.assertEqual(result.answers, [1, 0, 0, 1, 0, 0])

    def test_graphs_that_are_made_in_sleep_have_no_spans(self):
        for api in "classic", "subscriber":
            result = self.steps("start", "stop", "nap", "play", "nap", "start", play="graph", settings={"cupti.api": api})
            self.assertEqual([span.name for span in result.spans if not is_session(span)], [])
            self.assertEqual(result.report["losses"], {})

    def test_work_that_never_has_a_call_is_there_after_a_sleep(self):
        settings = {"capture.runtime": "false", "capture.driver": "false"}
        alone = self.steps("start", "play", settings=settings)
        after = self.steps("start", "play", "flush", "stop", "flush", "nap", "start", "play",
                           settings=settings)
        self.assertGreater(self.kernels(alone.spans), 0)
        self.assertEqual(self.kernels(after.spans), 2 * self.kernels(alone.spans))

    def test_a_forked_child_is_not_traced(self):
        result = self.steps("start", "child", "start", "on", "flush", "stop")
        self.assertEqual(result.answers, [0, 0, -1, 0, -1, 1])

    def test_a_forked_child_is_not_checked_for_leaks(self):
        """The leak check takes locks that another thread may have held at the fork; then the child would hang at its
        exit."""
        result = self.steps("start", "child", "leak", env={"ASAN_OPTIONS": "detect_leaks=1"})
        self.assertEqual(result.answers, [0, 0, 0])

    def test_it_sleeps_while_nothing_sampled_is_attached(self):
        result = self.steps("start", "play", self.SAMPLED, "on", "detach", settings={"sampling.sleep": "always"})
        self.assertEqual(result.answers, [0, 0, 0, 1, 0])
        self.assertEqual(result.spans, [])
        counters = result.report["counters"]
        self.assertGreaterEqual(counters["sleeps"], 1)
        self.assertEqual(result.report["losses"], {})

    def test_an_unsampled_process_waits_for_a_sampled_context(self):
        """Nothing is loaded before. The start runs in parallel to the request, which does not wait for it."""
        env = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}
        result = self.steps("play", env=env)
        self.assertEqual((result.spans, result.report), ([], None))
        double, recording_path = agent_case.BUILD / "libcuspan-replay.so", path_of("vector_add")
        for attached, wakes in (self.UNSAMPLED, False), (self.SAMPLED, True):
            with self.subTest(attached):
                report = self.directory / f"wakes-{wakes}"
                # The loader stands in for CUDA: the environment injects control_host's agent.
                result = self.start([agent_case.BUILD / "control_host", double, recording_path, agent_case.BUILD / "libcuspan.so", "inject",
                                     attached, "nap", "nap", "on"], {**env, "CUSPAN_SET": (
                                         f"cupti.library={double};accounts_file={report};"
                                         f"output_file={self.directory}/wakes-{wakes}.jsonl")})
                self.assertEqual(result.out.splitlines()[-1], f"on: {int(wakes)}", result.err)


class Published(Case):
    """The contexts that SDKs and the agent publish of a process and its threads (OTEP 4719, OTEP 4947)."""

    host = Host.host

    def published(self, *arguments, library=None, resource="", lines=0, line="", wait_s=0, **settings):
        library = library or agent_case.BUILD / "libcuspan.so"
        target = self.directory / "spans.jsonl"
        self.host(*arguments, agent_case.BUILD / "libcuspan-replay.so", path_of("vector_add"), program="publish_host", library=library,
                  lines=lines, line=line, env={"CUDA_INJECTION64_PATH": str(library), "OTEL_RESOURCE_ATTRIBUTES": resource,
                                                      "PUBLISH_HOST_WAIT_S": str(wait_s)},
                  settings={"cupti.library": agent_case.BUILD / "libcuspan-replay.so", "output_file": target, "cupti.flush_interval_ms": 50,
                            **settings})
        return spans_in(target.read_text())

    def resources(self, spans, key):
        return {span.resource.get(key) for span in spans if compare.is_gpu_span(span)}, {
            span.resource.get(key) for span in spans if is_call(span)}

    def published_late(self, resource):
        """The agent looks after 0.2 s, then less and less often: a busy machine gets more time."""
        for wait_s in 1, 4, 16, 64:
            spans = self.published(resource=resource, wait_s=wait_s)
            if any("sizing" in span.resource for span in spans):
                break
            (self.directory / "spans.jsonl").unlink()
        return spans

    def test_a_process_context_that_comes_late(self):
        spans = self.published_late("deployment.environment.name=mine")
        self.assert_same_work("vector_add", spans, 2)
        names = {"unknown_service:publish_host", "late-shop"}
        self.assertEqual(self.resources(spans, "service.name"), (names, names))
        self.assertEqual(self.resources(spans, "sizing"), ({None, "tiny"}, {None, "tiny"}))
        self.assertEqual(self.resources(spans, "deployment.environment.name"), ({"mine"}, {"mine"}))
        self.assertEqual(len(self.resources(spans, "service.instance.id")[0]), 1)
        self.assertEqual({span.resource["service.name"] for span in spans if span.resource.get("sizing")}, {"late-shop"})
        self.assertFalse([span for span in spans if "cuda.device.uuid" not in span.resource and compare.is_gpu_span(span)])

    def test_the_users_service_name_goes_before_a_late_one(self):
        spans = self.published_late("service.name=mine")
        self.assertEqual(self.resources(spans, "service.name"), ({"mine"}, {"mine"}))
        self.assertEqual(self.resources(spans, "sizing"), ({None, "tiny"}, {None, "tiny"}))

    def test_threads_publish_on_request_alone(self):
        self.published("hidden")
        self.published("ask", "shown")

    def test_threads_publish_by_a_setting(self):
        self.published("shown", publish_thread_context="true")

    def test_without_its_library_it_says_so_once(self):
        alone = self.directory / "alone"
        alone.mkdir()
        for name in ("libcuspan.so", "libcuspan-export.so"):
            shutil.copy(agent_case.BUILD / name, alone / name)
        self.published("hidden", library=alone / "libcuspan.so", lines=1, publish_thread_context="true",
                       line="cannot load .*libcuspan-thread-ctx.so, which must be in the folder of libcuspan.so .*publish_thread_context")

    def test_its_library_exports_the_symbol(self):
        library = agent_case.BUILD / "libcuspan-thread-ctx.so"
        symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", "--relocs", library], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
        self.assertRegex(symbols, r"TLS +GLOBAL +DEFAULT +\d+ otel_thread_ctx_v1")
        if not agent_case.SANITIZERS:
            self.assertRegex(symbols, r"(TLSDESC|DTPMOD64?) .*otel_thread_ctx_v1")  # by its name, which readers look for


class Library(Case):
    """The installed library file."""

    def tool(self, *command):
        return subprocess.run([*command, agent_case.BUILD / "libcuspan.so"], stdout=subprocess.PIPE, text=True, check=True).stdout

    def setUp(self):
        super().setUp()
        if agent_case.SANITIZERS:
            self.skipTest("a sanitized library needs its runtime")

    def test_exports_its_entries_alone(self):
        names = [line.split()[-1] for line in self.tool("nm", "-D", "--defined-only").splitlines()]
        names = [name.split("@")[0] for name in names if " A " not in name and not name.startswith("CUSPAN_")]
        self.assertEqual(names, ["InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension",
                                 "cuspan_agent_api", "cuspan_agent_attach", "cuspan_doctor_api", "cuspan_python_tools", "cuspan_python_watcher", "cuspan_root_api",
                                 *(f"ncclProfiler_v{version}" for version in range(1, 7))])

    def test_needs_libc_alone(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", self.tool("readelf", "-d"))
        self.assertIn("libc.so.6", needed)
        self.assertTrue(all(re.match(r"libc\.so|ld-linux", name) for name in needed), needed)

    def test_glibc_version(self):
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", self.tool("readelf", "-V"))}
        own = tuple(map(int, re.search(r"(\d+)\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION")).groups()))
        print(f"needs glibc {'.'.join(map(str, max(versions)))}, built with {'.'.join(map(str, own))}")
        self.assertLessEqual(max(versions), own)

    def test_thread_local_storage_needs_no_call(self):
        """Our TLS is initial-exec; only the demangler's archive, libsupc++, may add another model."""
        self.assertRegex(self.tool("readelf", "-rW"), "TPOFF|TPREL")
        code = self.tool("objdump", "-d", "--no-show-raw-insn")
        users = set()
        function = ""
        for line in code.splitlines():
            begin = re.match(r"[0-9a-f]+ <(.*)>:", line)
            function = begin[1] if begin else function
            if "__tls_get_addr" in line and "call" in line:
                users.add(function)
        self.assertEqual([name for name in users if "cxa" not in name and not name.startswith("_ZN")], [])

    def test_stays_when_it_is_closed(self):
        """Exit hooks of threads, and CUPTI, hold its addresses."""
        self.assertIn("NODELETE", self.tool("readelf", "-d"))

    def test_nothing_is_writable_and_executable(self):
        self.assertNotRegex(self.tool("readelf", "-lW"), r"LOAD.*RWE|GNU_STACK.*RWE")
        self.assertNotIn("TEXTREL", self.tool("readelf", "-dW"))


if __name__ == "__main__":
    agent_case.main()
