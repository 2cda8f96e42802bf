#!/usr/bin/env python3
"""Several outputs, `cuspan run`, and programs with several processes.

    agent_outputs_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
import backend  # noqa: E402
import recording  # noqa: E402
import sink  # noqa: E402
from agent_case import (  # noqa: E402
    FORKS, HANG_S, PARENT, TRACE, Case, as_root, is_session, path_of, raw_spans_in, recorded, sessions_of,
    spans_in)


class Outputs(Case):
    def decode(self, *arguments):
        here = ROOT / "tests/support"
        python = subprocess.run([here / "otlp_python.sh"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        done = subprocess.run([python, here / "otlp_decode.py", *arguments], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_protobuf_and_json_say_the_same(self):
        """One process sends all its spans to three outputs; an independent decoder reads two of them."""
        server = sink.Sink()
        self.addCleanup(server.close)
        config = self.directory / "three.yaml"
        target = self.directory / "third.jsonl"
        config.write_text(f"""file_format: "1.1"
tracer_provider:
  processors:
  - batch: {{exporter: {{otlp_http: {{endpoint: "http://127.0.0.1:{server.port}/pb", compression: gzip,
                                    headers: [{{name: api-key, value: sesame}}]}}}}}}
  - batch: {{exporter: {{otlp_http: {{endpoint: "http://127.0.0.1:{server.port}/json", encoding: json,
                                    compression: none}}}}}}
  - batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{target}"}}}}}}
distribution: {{cuspan: {{memory_bytes_max: 134217728}}}} # with libdeflate, three outputs exceed the default
""")
        result = self.replay("torch_inference", "--repeat", "3", "--config", config, to_file=False)
        self.assertEqual(result.report["losses"], {})
        files = {"/pb": [], "/json": []}
        for number, request in enumerate(server.requests):
            is_protobuf = request.path == "/pb"
            headers = {key.lower(): value for key, value in request.headers.items()}
            self.assertEqual(headers["content-type"], "application/x-protobuf" if is_protobuf else "application/json")
            self.assertEqual(headers.get("content-encoding"), "gzip" if is_protobuf else None)
            self.assertEqual(headers.get("api-key"), "sesame" if is_protobuf else None)
            self.assertRegex(headers["user-agent"], "^cuspan/.* OTel-OTLP-Exporter-C/")
            path = self.directory / f"request-{number}"
            path.write_bytes(request.body + (b"" if is_protobuf or request.body.endswith(b"\n") else b"\n"))
            files[request.path].append(path)
        print(self.decode("--protobuf", *files["/pb"], "--json", *files["/json"]).strip())
        third = target.read_text()
        self.assert_same_work("torch_inference", spans_in(third), 3)
        sent = [span for path in files["/json"] for span in raw_spans_in(path.read_text())]
        self.assertEqual(sorted(s["spanId"] for s in sent), sorted(s["spanId"] for s in raw_spans_in(third)))
        self.assertNotIn("sesame", result.err + result.out + third)

    def test_the_environment_chooses_the_output(self):
        server = sink.Sink()
        self.addCleanup(server.close)
        for protocol, kind in (("http/json", "application/json"), ("http/protobuf", "application/x-protobuf")):
            self.replay("vector_add", to_file=False, env={
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.port}", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
            self.assertEqual(server.requests[-1].path, "/v1/traces")
            self.assertEqual({k.lower(): v for k, v in server.requests[-1].headers.items()}["content-type"], kind)

    def test_console_goes_to_standard_output(self):
        result = self.replay("vector_add", "--console", "-q", to_file=False)
        for word in "cudaLaunchKernel", "cudaMemcpy", "add(float const*, float const*, float*, int)":
            self.assertIn(word, result.out)
        self.assertEqual(result.err, "")

    def test_file_to_standard_output(self):
        result = self.replay("vector_add", "--file", "-", "-q", to_file=False)
        self.assert_same_work("vector_add", spans_in(result.out))

    def test_a_slow_file_gets_all_spans(self):
        """Its reader starts later than an agent in a program would wait (exit_deadline_ms)."""
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("CUSPAN_", "OTEL_"))}
        program = subprocess.Popen([agent_case.BUILD / "cuspan", "replay", "-q", "--file", fifo, path_of("vector_add")], env=clean)
        self.addCleanup(program.kill)
        time.sleep(6)
        read = subprocess.run(["cat", fifo], stdout=subprocess.PIPE, text=True, timeout=HANG_S, check=True)
        self.assert_same_work("vector_add", spans_in(read.stdout))
        self.assertEqual(program.wait(HANG_S), 0)

    def test_a_replay_that_delivers_nothing_has_failed(self):
        result = self.replay("vector_add", "--file", self.directory, to_file=False, status=1)
        self.assertRegex(result.err, f"cannot open {self.directory} .Is a directory")
        self.assertEqual(result.report["losses"], {"lost_output": result.report["spans"]})

    def test_a_recordings_name_is_a_name(self):
        """The author of a recording must not control where its spans go, or anything else the agent does."""
        stolen = self.directory / "stolen.jsonl"
        evil = self.directory / "evil.cuspanrec"
        evil.write_bytes(recording.renamed(path_of("vector_add"), f"x;output_file={stolen}"))
        result = self.replay(evil)
        self.assertFalse(stolen.exists())
        self.assertEqual(sessions_of(result.spans)[0].name, f"x_output_file={stolen}")

    def test_show_is_not_led_by_the_environment(self):
        """Variables for an agent in a program do not apply: the picture shows the recording."""
        plain = self.start([agent_case.BUILD / "cuspan", "show", "--lines", path_of("vector_add")], {})
        self.assertEqual(plain.out.count("\n"), 34, plain.err)
        for env in ({"OTEL_SDK_DISABLED": "true"}, {"CUSPAN_CAPTURE_RUNTIME": "false"}, {"CUSPAN_MEMORY_BYTES_MAX": "1"},
                    {"CUSPAN_RECORD_FILE": str(self.directory / "x")}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "bad"},
                    {"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"}):
            told = self.start([agent_case.BUILD / "cuspan", "show", "--lines", path_of("vector_add")], env)
            self.assertEqual((told.status, told.out.count("\n"), told.err), (0, 34, plain.err), env)

    def test_the_users_service_name_goes_before_the_recordings(self):
        for env in {"OTEL_SERVICE_NAME": "mine"}, {"OTEL_RESOURCE_ATTRIBUTES": "service.name=mine"}:
            self.assertEqual(self.replay("vector_add", env=env).spans[0].resource["service.name"], "mine")
        empty = self.replay("vector_add", env={"OTEL_SERVICE_NAME": ""})
        self.assertEqual(empty.spans[0].resource["service.name"], "vector_add")

    def test_contexts_are_as_recorded(self):
        handles = set(recorded("threads").contexts_created)
        self.assertNotIn(0, handles)
        result = self.replay("threads")
        shown = {pair["value"]["stringValue"] for span in raw_spans_in(result.text) for event in span.get("events", [])
                 for pair in event.get("attributes", []) if pair["key"] == "cuda.context.handle"}
        self.assertEqual(shown, {hex(handle) for handle in handles})

    def test_each_output_is_reported_by_itself(self):
        """Loss of all spans in one output and none in the other counts neither as delivery nor as loss of all."""
        target = self.directory / "good.jsonl"
        config = self.directory / "two.yaml"
        for bad, status in (f"{self.directory}/other.jsonl", 0), ("/nowhere/x.jsonl", 1):
            target.unlink(missing_ok=True)
            config.write_text(f"""file_format: "1.1"
tracer_provider:
  processors:
  - batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{bad}"}}}}}}
  - batch: {{exporter: {{otlp_file/development: {{output_stream: "file://{target}"}}}}}}
""")
            result = self.replay("vector_add", "--config", config, to_file=False, status=status)
            made = result.report["spans"]
            arrived = 0 if status else made
            settled = {"on_way": 0, "unaccounted": 0}
            self.assertEqual(len(spans_in(target.read_text())), made)
            self.assertEqual(result.report["outputs"],
                             [{"kind": "file", "endpoint": bad, "delivered": arrived, "lost": made - arrived, **settled,
                               **({"trouble": f"cannot write to {bad}"} if status else {})},
                              {"kind": "file", "endpoint": str(target), "delivered": made, "lost": 0, **settled}])
            self.assertEqual(result.report["delivered"], arrived)
            said = [line for line in result.err.splitlines() if "delivered" in line or "view it" in line]
            self.assertEqual(said, [f"cuspan: {'0 of ' if status else ''}{made} spans delivered to {bad}",
                                    f"cuspan: {made} spans delivered to {target}",
                                    *([] if status else [f"cuspan: view it: cuspan show {bad}"]),
                                    f"cuspan: view it: cuspan show {target}"])

    def test_attribute_limits(self):
        env = {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "4", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "6"}
        result, whole = self.replay("threads", env=env), self.replay("threads")
        full = Counter(len(s["attributes"]) for s in raw_spans_in(whole.text))
        cut = Counter()
        for span in raw_spans_in(result.text, is_whole=False):
            self.assertLessEqual(len(span["attributes"]), 4)
            cut[len(span["attributes"]) + span.get("droppedAttributesCount", 0)] += 1
            for pair in span["attributes"]:
                self.assertLessEqual(len(pair["value"].get("stringValue", "")), 6)
        self.assertEqual(cut, full)

    def test_service_name(self):
        result = self.replay("vector_add", "--service-name", "trainer",
                             env={"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=lab,team=a%20b"})
        for span in result.spans:
            self.assertEqual((span.resource["service.name"], span.resource["deployment.environment.name"],
                              span.resource["team"]), ("trainer", "lab", "a b"))

    def test_rank_and_job(self):
        """On every resource: a device's spans also belong to the process."""
        env = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "SLURM_JOB_ID": "4711", "SLURMD_NODENAME": "node-3"}
        keys = ("cuda.process.rank", "cuda.process.local_rank", "cuda.process.world_size", "slurm.job.id",
                "slurm.node.name")
        result = self.replay("vector_add", env=env)
        self.assertEqual({tuple(span.resource.get(key) for key in keys) for span in result.spans},
                         {(3, 1, 4, "4711", "node-3")})
        plain = self.replay("vector_add")
        self.assertEqual([key for span in plain.spans for key in keys if key in span.resource], [])


class CommandCase(Case):
    """Shared by tests that run commands with cuspan run."""

    def program(self, recording="vector_add"):
        """A host with the agent that plays a recording and exits with status 7."""
        return [agent_case.BUILD / "agent_host", agent_case.BUILD / "libcuspan.so", agent_case.BUILD / "libcuspan-replay.so", path_of(recording)]

    def script(self, text):
        """A shell script, in which the function host runs such a host."""
        path = self.directory / "job.sh"
        path.write_text(f"#!/bin/sh\nhost() {{ {shlex.join(map(str, self.program()))}; }}\n{text}\n")
        path.chmod(0o755)
        return [path]

    def run_command(self, program, *options, env=None, status=7, timeout=HANG_S):
        """Without signal handlers, which the host would notice; exits_test.py tests those."""
        self.runs += 1
        target = self.directory / f"run-{self.runs}.jsonl"
        command = [agent_case.BUILD / "cuspan", "run", "--file", target, "--set", f"cupti.library={agent_case.BUILD}/libcuspan-replay.so",
                   "--set", "on_signal=", *options, *program]
        result = self.start(command, env or {}, timeout)
        self.assertEqual(result.status, status, result.err)
        result.text = target.read_text() if target.exists() else ""
        result.roots = [span for span in raw_spans_in(result.text) if not span.get("parentSpanId")]
        return result

    def attributes(self, span):
        return {pair["key"]: next(iter(pair["value"].values())) for pair in span.get("attributes", [])}


class Command(CommandCase):
    """cuspan run: the processes of one command are one trace, below a root span."""

    def test_the_root_is_above_the_session(self):
        before = time.time_ns()
        result = self.run_command(self.program())
        after = time.time_ns()
        root, = result.roots
        session, = sessions_of(result.spans)
        self.assertEqual((session.trace_id, session.parent_id), (root["traceId"], root["spanId"]))
        self.assertEqual({span.trace_id for span in result.spans}, {root["traceId"]})
        self.assertEqual((root["name"], root["kind"], root["flags"]), ("agent_host", 1, 0x103))
        self.assertEqual(self.attributes(root), {"process.exit.code": "7", "error.type": "exit_status"})
        self.assertEqual(root["status"]["code"], 2)
        self.assertTrue(before <= int(root["startTimeUnixNano"]) < int(root["endTimeUnixNano"]) <= after)
        self.assertIn(f"cuspan: {len(result.spans)} spans delivered to ", result.err)
        self.assertNotIn("processes", result.err)
        of_root, of_session = (next(s.resource for s in result.spans if s.span_id == span_id)
                               for span_id in (root["spanId"], session.span_id))
        for key in "service.name", "host.id", "host.name", "process.pid", "telemetry.sdk.version", "os.type":
            self.assertEqual(of_root[key], of_session[key])

    def test_a_script_of_several_programs_is_one_trace(self):
        result = self.run_command(self.script("host; host; true"), "--service-name", "job", status=0)
        root, = result.roots
        self.assertEqual(root["name"], "job.sh")
        self.assertEqual((self.attributes(root), root.get("status", {})), ({"process.exit.code": "0"}, {}))
        self.assertEqual({(s.trace_id, s.parent_id) for s in sessions_of(result.spans)},
                         {(root["traceId"], root["spanId"])})
        self.assertEqual(len(sessions_of(result.spans)), 2)
        self.assertEqual({span.resource["service.name"] for span in result.spans}, {"job"})
        self.assertRegex(result.err, r"spans delivered to .*, by 2 processes\n")

    def test_a_signal_is_an_error(self):
        result = self.run_command(self.script("host; kill -TERM $$"), status=-15)
        root, = result.roots
        self.assertEqual((self.attributes(root), root["status"]["code"]), ({"error.type": "SIGTERM"}, 2))

    def test_pythons_script_is_the_name(self):
        path = self.directory / "train.py"
        path.write_text(f"import subprocess\nsubprocess.run({list(map(str, self.program()))})\n")
        root, = self.run_command([sys.executable, "-u", path, "--secret"], status=0).roots
        self.assertEqual(root["name"], "train.py")
        self.assertNotIn("--secret", json.dumps(root))

    def test_below_a_traceparent_there_is_no_root(self):
        env = {"TRACEPARENT": f"00-{TRACE}-{PARENT}-01", "TRACESTATE": "a=1"}
        result = self.run_command(self.program(), env=env)
        self.assertEqual(result.roots, [])
        session, = sessions_of(result.spans)
        self.assertEqual((session.trace_id, session.parent_id), (TRACE, PARENT))

    def test_a_bad_traceparent_is_replaced(self):
        result = self.run_command(self.program(), env={"TRACEPARENT": f"00-{TRACE}-x", "TRACESTATE": "a=1"})
        root, = result.roots
        self.assertNotIn("a=1", result.text)
        self.assertEqual(sessions_of(result.spans)[0].parent_id, root["spanId"])

    def test_without_cuda_there_is_no_root(self):
        result = self.run_command(["true"], status=0)
        self.assertEqual(result.text, "")
        self.assertIn("no spans: the agent was never started", result.err)

    def test_what_was_recorded_or_sent_instead_of_spans(self):
        recording = self.directory / "run.cuspanrec"
        run = [agent_case.BUILD / "cuspan", "run", "--set", f"cupti.library={agent_case.BUILD}/libcuspan-replay.so", "--set", "on_signal="]
        said = self.start([*run, "--set", f"record_file={recording}", *self.script("host; host")], {}).err
        lines = said.splitlines()
        self.assertEqual(len(lines), 2, said)
        for line, path in zip(sorted(lines, key=len), (str(recording), rf"{recording}\.\d+")):
            self.assertRegex(line, rf"^cuspan: {path}: 1\.\d KiB, \d+ events; view it: cuspan show {path}$")
        said = self.start([*run, *self.program()],
                          {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "otlp",
                           "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://localhost:{backend.free_ports(1)[0]}"}).err
        self.assertRegex(said, r"(?m)^cuspan: 0 of \d+ data points of metrics delivered to http://localhost:\d+/v1/metrics$")
        self.assertNotIn("no spans", said)

    def test_what_the_command_is_told(self):
        told = self.run_command(["sh", "-c", "echo $TRACEPARENT $TRACESTATE"], status=0)
        self.assertRegex(told.out, "^00-[0-9a-f]{32}-[0-9a-f]{16}-03\n$")
        for env in {"OTEL_SDK_DISABLED": "true"}, {"CUSPAN_SET": "detial=full"}:
            told = self.run_command(["sh", "-c", "echo $TRACEPARENT $TRACESTATE"], status=0, env=env)
            self.assertEqual(told.out, "\n")

    def test_what_is_not_sampled_is_neither_traced_nor_sent(self):
        for env in ({"OTEL_TRACES_SAMPLER": "always_off"}, {"OTEL_TRACES_SAMPLER": "parentbased_always_off"},
                    {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}):
            result = self.run_command(self.script("echo $TRACEPARENT; host"), env=env)
            self.assertRegex(result.out, "^00-[0-9a-f]{32}-[0-9a-f]{16}-02\n")
            self.assertEqual(result.text, "")
            self.assertEqual(result.err, "cuspan: no spans: the sampler dropped this run\n")

    def test_the_threshold_is_in_every_span(self):
        env = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "1"}
        result = self.run_command(self.program(), env=env)
        self.assertEqual({span.get("traceState") for span in raw_spans_in(result.text)}, {"ot=th:0"})
        self.assertEqual(len(result.roots), 1)

    def test_a_dead_collector_is_not_waited_for_twice(self):
        """A busy machine may take longer than two deadlines, so the best of ten attempts counts."""
        self.assertTrue(any(self.ends_before_two_deadlines() for _ in range(10)))

    def ends_before_two_deadlines(self):
        port = backend.free_ports(1)[0]
        command = [agent_case.BUILD / "cuspan", "run", "--endpoint", f"http://localhost:{port}", "--set", "exit_deadline_ms=1500", "--set", "on_signal=",
                   "--set", f"cupti.library={agent_case.BUILD}/libcuspan-replay.so", *self.program()]
        result = self.start(command, {})
        self.assertEqual(result.status, 7)
        self.assertIn("cuspan: 0 of 33 spans delivered", result.err)
        return result.seconds < 3

    def test_only_agents_reports_are_kept(self):
        kept = self.directory / "kept"
        self.run_command(self.program(), "--set", f"accounts_file={kept}")
        self.assertEqual(len(list(self.directory.glob("kept.*"))), 1)


class Processes(CommandCase):
    """The ways in which a Python program starts processes: each process that uses CUDA is a session of the same
    trace."""
    BEGIN = f"""
import multiprocessing, os, subprocess, sys
sys.path[:0] = [{str(ROOT / "tests/support")!r}, {str(ROOT / "python")!r}]
import cuspan, python_host
TRACEPARENT = "00-{TRACE}-{PARENT}-01"

def idle():
    pass

def end(child):
    child.join()
    assert child.exitcode == 0, child.exitcode

def run_both(method, make=lambda work: work, target=python_host.cuda):
    context = multiprocessing.get_context(method)
    children = [context.Process(target=make(target), args=(rank,)) for rank in (0, 1)]
    children.append(context.Process(target=idle))
    for child in children:
        child.start()
    for child in children:
        end(child)

def main():
"""

    def setUp(self):
        super().setUp()
        if agent_case.SANITIZERS:
            self.skipTest("a sanitized library can't be loaded into Python")

    def python(self, text, env=None, **arguments):
        """Runs a program with this as its main function."""
        path = self.directory / "job.py"
        body = "".join(f"    {line}\n" for line in text.strip().splitlines())
        path.write_text(f"{self.BEGIN}{body}\nif __name__ == '__main__':\n    main()\n")
        env = {"HOST_DOUBLE": str(agent_case.BUILD / "libcuspan-replay.so"), "HOST_RECORDING": path_of("vector_add"),
               "PYTHONDONTWRITEBYTECODE": "1", **FORKS, **(env or {})}
        reports = self.directory / f"reports-{self.runs}"
        result = self.run_command([sys.executable, path], "--set", f"accounts_file={reports}", env=env, status=0, **arguments)
        result.reports = [json.loads(report.read_text()) for report in self.directory.glob(f"{reports.name}.*")]
        return result

    def check(self, result, parents, ranks=(0, 1), trace_id=None):
        """Nothing is lost, and each process has the whole recording below a session; these are the sessions'
        parents."""
        self.assertEqual([report["losses"] for report in result.reports], [{}] * len(parents), result.err)
        sessions = sessions_of(result.spans)
        self.assertEqual(sorted(session.parent_id for session in sessions), sorted(parents))
        self.assertEqual({span.trace_id for span in result.spans}, {trace_id or result.roots[0]["traceId"]} | {root["traceId"] for root in result.roots})
        by_rank = sorted((session.resource.get("cuda.process.rank", -1) for session in sessions))
        self.assertEqual(by_rank, sorted(ranks))
        self.assertEqual(len({session.resource["process.pid"] for session in sessions}), len(parents))
        self.assertEqual(len({span.span_id for span in result.spans}), len(result.spans))
        for session in sessions:
            pid = session.resource["process.pid"]
            own = [span for span in result.spans if span.resource["process.pid"] == pid
                   and not span.attributes.keys() & {"cuda.range.kind", "process.exit.code"}]
            self.assert_same_work("vector_add", [as_root(span) if is_session(span) else span for span in own])
        self.assertEqual(result.agent_lines(), [])

    def check_below_the_root(self, result, processes=2, ranks=(0, 1)):
        root, = result.roots
        self.check(result, [root["spanId"]] * processes, ranks)

    def check_below_the_request(self, result, processes=2, ranks=(0, 1)):
        self.check(result, [PARENT] * processes, ranks, TRACE)

    def test_each_start_method_of_multiprocessing(self):
        for method in "spawn", "fork", "forkserver":
            with self.subTest(method):
                result = self.python(f"run_both({method!r})")
                self.check_below_the_root(result)
                self.assertEqual({(session.name, session.resource["service.name"]) for session in sessions_of(result.spans)},
                                 {("job.py", "unknown_service:job.py")})
                self.check_below_the_root(self.python(f"cuspan.is_on()\nrun_both({method!r})"))

    def test_children_below_what_their_parent_works_for(self):
        for method in "spawn", "fork", "forkserver":
            with self.subTest(method):
                self.check_below_the_request(self.python(
                    f"with cuspan.attach(TRACEPARENT):\n    run_both({method!r}, cuspan.child)\n"
                    "assert 'cafe' not in os.environ['TRACEPARENT']"))

    def test_pools_whose_workers_are_begun_in_a_request(self):
        for method in "spawn", "fork", "forkserver":
            with self.subTest(method):
                self.check_below_the_request(self.python(f"""
from concurrent.futures import ProcessPoolExecutor
with cuspan.attach(TRACEPARENT):
    begun = cuspan.child(idle)
with ProcessPoolExecutor(1, multiprocessing.get_context({method!r}), begun) as pool:
    pool.submit(python_host.cuda, 3).result()
"""), 1, [3])

    def test_fork_with_cuda_begun_before(self):
        """The child has no agent of its own, disturbs nothing, and ends at once."""
        for ending in "os._exit(3)", "sys.exit(3)":
            with self.subTest(ending):
                self.check_below_the_root(self.python(f"""
double = python_host.begin()
children = []
for child in range(3):
    pid = os.fork()
    if pid == 0:
        assert not cuspan.finish()
        if child:
            python_host.work(double, overload=True)
        {ending}
    children.append(pid)
python_host.work(double)
for pid in children:
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
"""), 1, [-1])

    def test_spawn_with_cuda_begun_before(self):
        for method in "spawn", "forkserver":
            with self.subTest(method):
                self.check_below_the_root(self.python(f"python_host.cuda()\ncuspan.is_on()\nrun_both({method!r})"),
                                          3, [-1, 0, 1])

    def test_fork_and_exec(self):
        """The child's context is in its environment, and not in the parent's."""
        self.check_below_the_request(self.python("""
program = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; import python_host; python_host.cuda(1)"]
before = dict(os.environ)
with cuspan.attach(TRACEPARENT, "a=1"):
    made = cuspan.environment()
    assert (made["TRACEPARENT"], made["TRACESTATE"]) == (TRACEPARENT, "a=1")
    subprocess.run(program, env=made, check=True)
    pid = os.fork()
    if pid == 0:
        os.execve(program[0], program, made)
assert os.waitpid(pid, 0)[1] == 0
assert dict(os.environ) == before
"""), 2, [1, 1])

    def test_fork_with_cuda_begun_before_and_exec(self):
        """The agent does not trace the child, but does trace the program that the child executes."""
        self.check_below_the_root(self.python("""
program = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; import python_host; python_host.cuda(5)"]
double = python_host.begin()
pid = os.fork()
if pid == 0:
    os.execv(program[0], program)
python_host.work(double)
assert os.waitpid(pid, 0)[1] == 0
"""), 2, [-1, 5])

    def test_subprocesses_without_a_request(self):
        self.check_below_the_root(self.python("""
code = "import sys; sys.path[:0] = {!r}; import python_host; python_host.cuda({})"
for rank in 0, 1:
    subprocess.run([sys.executable, "-c", code.format(sys.path, rank)], check=True)
"""))

    def test_a_range_is_above_the_processes_that_it_begins(self):
        result = self.python("""
python_host.cuda()
cuspan.is_on()
with cuspan.attach(TRACEPARENT), cuspan.range("request"):
    run_both("spawn", cuspan.child)
""")
        request, = (span for span in result.spans if span.name == "request")
        self.assertEqual(request.parent_id, PARENT)
        children = [session for session in sessions_of(result.spans) if session.trace_id == TRACE]
        self.assertEqual([(s.parent_id, s.resource["cuda.process.rank"]) for s in
                          sorted(children, key=lambda s: s.resource["cuda.process.rank"])],
                         [(request.span_id, 0), (request.span_id, 1)])

    def test_a_child_that_ends_by__exit(self):
        """finish() delivers what the agent has. No exit handler runs, and without finish() the session is missing."""
        text = """
pid = os.fork()
if pid == 0:
    python_host.cuda(1)
    {}
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
        self.check_below_the_root(self.python(text.format("assert cuspan.finish() and not cuspan.finish()")), 1, [1])
        self.assertEqual(sessions_of(self.python(text.format("pass")).spans), [])

    def test_what_the_program_ends_is_among_the_spans(self):
        """CUDA calls of a finalizer: the agent finishes after it."""
        self.check_below_the_root(self.python("""
from multiprocessing import util
def work():
    util.Finalize(None, python_host.cuda, (4,), exitpriority=1)
cuspan.is_on()
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
end(child)
"""), 1, [4])

    def test_without_cuda_nothing_is_sent(self):
        result = self.python("""
cuspan.is_on()
for method in "spawn", "fork", "forkserver":
    child = multiprocessing.get_context(method).Process(target=cuspan.child(idle))
    child.start()
    end(child)
""")
        self.assertEqual((result.text, result.reports), ("", []))
        self.assertIn("no spans: the agent was never started", result.err)


if __name__ == "__main__":
    agent_case.main()
