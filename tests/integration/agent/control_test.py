#!/usr/bin/env python3
"""Attach and detach at run time: the agent's control socket, `cuspan ps`, `status`, `start`, `stop` and `flush`,
waiting agents, and a thousand cycles of start and stop under load.

    control_test.py --build DIRECTORY [--sanitizers LIST] [--cycles N] [GROUP[.test]...]

Two tests need root, to become another user, and are skipped without it.
"""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import accounts  # noqa: E402
import backend  # noqa: E402
import proc  # noqa: E402
from built import BUILD, SANITIZERS, take_option  # noqa: E402

CYCLES = int(take_option("--cycles", 1000))  # of start and stop
# Long enough for any machine.
FOREVER_S = 300
HOST_TAKES = 400  # DESCRIPTORS of hosts/control_host.c
NOBODY = 65534
IN_FORKS = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "atexit_sleep_ms=0:report_thread_leaks=0"}


def recording(name):
    return ROOT / f"examples/recordings/{name}.cuspanrec"


def whole_lines(file):
    """Those of a file that a program may be writing to."""
    return [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


def wait_until(what, condition, seconds=FOREVER_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"{what} after {seconds} s")


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="control-test-"))
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.folder = self.directory / "sockets"
        self.spans = self.directory / "spans.jsonl"
        # Not the replay library that plays: a copy that only the agent loads.
        self.cupti = self.directory / "libcupti-of-the-test.so"

    def environment(self, settings=None, **more):
        env = {key: value for key, value in os.environ.items()
               if not re.match("CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|XDG_RUNTIME_DIR|.*_proxy$", key, re.I)}
        chosen = {"control.directory": self.folder, "output_file": self.spans, "exit_deadline_ms": 60000,
                  "cupti.library": BUILD / "libcuspan-replay.so", "accounts_file": self.directory / "report", **(settings or {})}
        text = ";".join(f"{key}={value}" for key, value in chosen.items() if value is not None)
        return {**env, **IN_FORKS, "CUSPAN_SET": text, **more}

    def begin(self, *command, settings=None, **more):
        """A program with an agent; its standard input stays open until it must end."""
        program = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment(settings, **more),
                                   cwd=self.directory)
        self.addCleanup(lambda: [stream.close() for stream in (program.stdin, program.stdout, program.stderr)])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def host(self, *steps, **arguments):
        """A control_host with these steps, which then sleeps."""
        return self.begin(BUILD / "control_host", BUILD / "libcuspan-replay.so", recording("vector_add"),
                          BUILD / "libcuspan.so", *steps, *["nap"] * 600, **arguments)

    def after(self, program, line):
        """Reads until the program has printed this."""
        while True:
            said = program.stdout.readline()
            self.assertTrue(said, program.stderr.read() if program.poll() is not None else "")
            if said.strip() == line:
                return

    def report(self, pid):
        found = json.loads((self.directory / f"report.{pid}").read_text())
        self.assertEqual(accounts.differences(found), [])
        return found

    def socket_of(self, pid):
        path = self.folder / f"{pid}.sock"
        wait_until(f"no socket {path}", path.exists)
        return path

    def raw(self, pid, request, timeout=FOREVER_S):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(timeout)
            client.connect(str(self.socket_of(pid)))
            client.sendall(request)
            answer = b""
            while part := client.recv(65536):
                answer += part
        return answer

    def exact_status(self, pid):
        """Under load the pipeline thread may need longer than the second that the agent waits for it."""
        def exact():
            status = self.ask(pid, "status")
            return status if status["exact"] else None
        return wait_until("no exact status", exact)

    def ask(self, pid, request):
        return json.loads(self.raw(pid, request.encode() + b"\n"))

    def cuspan(self, *arguments, status=0, **more):
        env = {**self.environment(), "CUSPAN_CONTROL_DIRECTORY": str(self.folder), **more}
        del env["CUSPAN_SET"]
        done = subprocess.run([BUILD / "cuspan", *map(str, arguments)], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=FOREVER_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertNotRegex(done.stderr, "Sanitizer|runtime error:")
        return done

    def threads_of(self, pid):
        return sorted(proc.threads(pid).values())


class Waiting(Case):
    """start_on: control."""

    def test_it_costs_a_thread_that_sleeps(self):
        shutil.copy(BUILD / "libcuspan-replay.so", self.cupti)
        program = self.host("inject", settings={"cupti.library": self.cupti}, CUSPAN_START_ON="control")
        self.after(program, "inject: 1")
        self.assertEqual(self.ask(program.pid, "describe")["state"], "waiting")
        maps = Path(f"/proc/{program.pid}/maps").read_text()
        self.assertNotIn(self.cupti.name, maps)
        self.assertNotIn("libcuspan-export", maps)
        self.assertNotIn("libcurl", maps)
        names = {tid: name for tid, name in proc.threads(program.pid).items() if name.startswith("cuspan/")}
        self.assertEqual(list(names.values()), ["cuspan/control"])
        ours = [Path(f"/proc/{program.pid}/task/{tid}") for tid in names]
        wait_until("it never slept", lambda: self.state(ours[0]) == "S")
        time.sleep(0.2)
        before = self.switches(ours[0])
        time.sleep(0.5)
        self.assertEqual(self.switches(ours[0]), before, "it woke up, though nobody asked")

    def switches(self, task):
        return re.findall(r"ctxt_switches:\s+(\d+)", (task / "status").read_text())

    def state(self, task):
        return (task / "stat").read_text().rpartition(")")[2].split()[0]

    def test_it_traces_as_one_that_began_at_once(self):
        program = self.begin(BUILD / "cycling_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                             recording("vector_add"), CUSPAN_START_ON="control")
        self.after(program, "ready")
        self.assertEqual(self.ask(program.pid, "status")["counters"]["calls_captured"], 0)
        self.assertEqual(self.cuspan("start", program.pid).stdout, f"cycling_host (PID {program.pid}) is traced\n")
        wait_until("no call was captured", lambda: self.ask(program.pid, "status")["counters"]["calls_captured"] > 50)
        self.cuspan("flush")
        spans = [span for line in whole_lines(self.spans) for span in backend.spans_of(json.loads(line))]
        self.assertTrue(any(span.attributes.get("cuda.activity") == "kernel" for span in spans))
        self.assertEqual(self.cuspan("stop", "cycling_host").stdout, f"cycling_host (PID {program.pid}) is no longer traced\n")
        described = self.ask(program.pid, "describe")
        self.assertEqual((described["state"], described["why"]), ("asleep", "it was stopped"))
        program.stdin.close()
        self.assertEqual(program.wait(FOREVER_S), 0)
        self.assertGreater(self.report(program.pid)["spans"], 50)
        self.assertFalse((self.folder / f"{program.pid}.sock").exists())

    def test_what_hinders_it_is_said(self):
        program = self.host("inject", settings={"cupti.library": "/nowhere/libcupti.so"}, CUSPAN_START_ON="control")
        self.after(program, "inject: 1")
        failed = self.cuspan("start", status=1)
        self.assertRegex(failed.stderr, "^cuspan: control_host .*start failed: .*/nowhere/libcupti.so")
        self.assertRegex(self.cuspan("ps").stdout, "off: .*/nowhere/libcupti.so")

    def test_a_request_does_not_wake_it(self):
        """Only its user can start it, whatever the program attaches."""
        sampled = "attach=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        program = self.host("inject", sampled, "nap", "nap", "on", CUSPAN_START_ON="control")
        self.after(program, "on: 0")
        self.assertEqual(self.ask(program.pid, "describe")["state"], "waiting")

    def test_the_program_may_start_it(self):
        program = self.host("inject", "on", "start", "on", CUSPAN_START_ON="control")
        self.after(program, "on: 0")
        self.after(program, "on: 1")
        self.assertEqual(self.ask(program.pid, "describe")["state"], "tracing")


class Commands(Case):
    def test_ps_and_status(self):
        program = self.host("inject", "play")
        self.after(program, "play: 0")
        self.ask(program.pid, "flush 10000")
        listed, = json.loads(self.cuspan("ps", "--json").stdout)
        self.assertEqual((listed["pid"], listed["program"], listed["state"], listed["user"], listed["lost"]),
                         (program.pid, "control_host", "tracing", os.getuid(), 0))
        self.assertLess(abs(listed["since_ms"] / 1000 - time.time()), FOREVER_S)
        title, row = self.cuspan("ps").stdout.splitlines()
        self.assertEqual(title.split(), ["PID", "USER", "SINCE", "SPANS", "LOST", "PROGRAM", "STATE"])
        self.assertEqual([row.split()[i] for i in (0, 3, 4, 5, 6)], [str(program.pid), str(listed["spans"]), "0",
                                                                   "control_host", "tracing"])
        for which in [], [program.pid], ["control_host"]:
            self.exact_status(program.pid)
            status = json.loads(self.cuspan("status", "--json", *which).stdout)
            self.assertEqual(accounts.differences(status, has_ended=False), [])
            self.assertEqual(status["delivered"], status["spans"])
            self.assertEqual(status["held"], 1, "the session's span")
        text = self.cuspan("status").stdout
        calls, records = status["counters"]["calls_captured"], status["counters"]["activities_captured"]
        self.assertIn(f"{calls + records + 1} captured ({calls} calls + {records} GPU records + 1 sessions)\n"
                      f"    = {status['spans']} spans + {status['counters']['facts']} facts + 1 held\n", text)
        self.assertIn(f"= {status['spans']} delivered + 0 on their way + 0 lost\n", text)
        self.assertNotIn("unaccounted", text)
        self.assertIn("lost: nothing", text)
        self.assertGreater(status["own"]["pipeline_ns"], 0)
        self.assertGreater(status["own"]["control_ns"], 0)
        self.assertRegex(text, r"  own: (callbacks [0-9.]+ \S+ on the program's threads, estimated from \d+ calls"
                               r"|no callback was timed yet)\n    threads: pipeline [0-9.]+ ")

    def test_status_of_profiles(self):
        taken = socket.create_server(("127.0.0.1", 0))  # accepts nothing
        self.addCleanup(taken.close)
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}/p"
        program = self.host("inject", "play", settings={"profiles.enabled": "true", "profiles.endpoint": endpoint,
                                                        "profiles.interval_ms": 1000, "memory_bytes_max": 100_000_000})
        self.after(program, "play: 0")
        made = wait_until("no profile was made", lambda: self.ask(program.pid, "status")["profiles"]["made"])
        self.assertIn(f"  {made} samples of profiles for {endpoint}\n    = 0 delivered + {made} on their way + 0 lost\n",
                      self.cuspan("status").stdout)

    def test_own_cost_grows_with_the_calls(self):
        program = self.begin(BUILD / "cycling_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so", recording("threads"))
        self.after(program, "ready")
        first = wait_until("nothing was timed", lambda: (lambda own: own if "callback_ns" in own else None)(
            self.ask(program.pid, "status")["own"]))

        # The time in callbacks is an estimate, which falls if one of the first timed calls was slow.
        def has_grown():
            status = self.ask(program.pid, "status")
            is_more = all(status["own"][key] > first[key] for key in ("callback_ns", "pipeline_ns", "control_ns"))
            # A wrong unit would be a thousand times more.
            return is_more and status["own"]["callback_ns"] / status["counters"]["calls_captured"] < 1_000_000
        wait_until("the costs do not grow, or are too high", has_grown)

    def test_losses_have_their_advice(self):
        program = self.begin(BUILD / "cycling_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                             recording("threads"), CUSPAN_REPLAY_FAIL="zero-timestamps=3")
        self.after(program, "ready")
        wait_until("nothing was lost", lambda: self.ask(program.pid, "status")["losses"])
        text = self.cuspan("status").stdout
        self.assertRegex(text, r"lost [0-9,]+: lost_zero_timestamps \(.*\)\n    .*; raise .*device_buffer_limit\n")
        status = self.exact_status(program.pid)
        self.assertEqual(accounts.differences(status, has_ended=False), [])
        session = self.cuspan("stop") and wait_until("no session has ended", self.last_session)
        self.assertGreater(session.attributes["cuspan.lost.zero_timestamps"], 0)
        lost = [value for key, value in session.attributes.items() if key.startswith("cuspan.lost.")]
        self.assertEqual(sum(lost), session.attributes["cuda.session.lost"])

    def last_session(self):
        spans = [span for line in whole_lines(self.spans) for span in backend.spans_of(json.loads(line))]
        sessions = [span for span in spans if "cuda.session.number" in span.attributes]
        return sessions[-1] if sessions else None

    def test_several_agents_and_none(self):
        none = self.cuspan("ps", status=1).stderr
        for part in "cuspan run", "CUDA_INJECTION64_PATH", "cuspan attach PID", "cuspan.h":
            self.assertIn(part, none)
        self.assertEqual(none.count("\n"), 1)
        self.assertEqual(json.loads(self.cuspan("ps", "--json", status=1).stdout), [])
        self.assertEqual(self.cuspan("stop", status=1).stderr, none)
        programs = [self.host("inject", CUSPAN_START_ON="control") for _ in range(3)]
        for program in programs:
            self.after(program, "inject: 1")
        self.assertIn("3 agents run: name one", self.cuspan("start", status=2).stderr)
        self.assertIn("no agent runs in 1;", self.cuspan("start", "1", status=1).stderr)
        self.assertIn("name only one PID or program", self.cuspan("start", "1", "2", status=2).stderr)
        self.cuspan("start", programs[1].pid)
        states = {row["pid"]: row["state"] for row in json.loads(self.cuspan("ps", "--json").stdout)}
        self.assertEqual(states, {program.pid: "tracing" if program is programs[1] else "waiting" for program in programs})
        said = self.cuspan("start", "--all").stdout.splitlines()
        self.assertEqual(sorted(said), sorted(f"control_host (PID {p.pid}) is traced" + (" already" if p is programs[1] else "")
                                              for p in programs))

    def test_flush_says_what_did_not_arrive(self):
        endpoint = f"http://127.0.0.1:{backend.free_ports(1)[0]}"
        program = self.host("inject", "play", settings={"output_file": None, "endpoint": endpoint, "exit_deadline_ms": 100})
        self.after(program, "play: 0")
        status = {"outputs": [{}]}
        while "trouble" not in status["outputs"][0]:  # until the agent has tried to deliver
            failed = self.cuspan("flush", "--timeout", "200", status=1)
            self.assertIn("flush failed: not all was delivered in time", failed.stderr)
            status = self.ask(program.pid, "status")
        self.assertEqual(status["outputs"][0]["on_way"], status["spans"])
        self.assertIn("cannot deliver: ", status["outputs"][0]["trouble"])
        self.assertRegex(self.cuspan("status").stdout, "last error: cannot deliver: .*onnect")
        self.assertEqual(accounts.differences(status, has_ended=False), [])

    def test_a_stopped_process_does_not_answer(self):
        program = self.host("inject")
        self.after(program, "inject: 1")
        os.kill(program.pid, signal.SIGSTOP)
        wait_until("its threads don't stop", lambda: all(
            task.read_text().rsplit(")", 1)[1].split()[0] == "T" for task in Path(f"/proc/{program.pid}/task").glob("*/stat")))
        self.assertIn("no answer", self.cuspan("ps").stdout)
        for command in "status", "start", "stop", "flush":
            said = self.cuspan(command, program.pid, "--timeout", "100", status=1).stderr
            self.assertRegex(said, rf"^cuspan: process {program.pid}: no answer within 100 ms; .*--timeout")
        os.kill(program.pid, signal.SIGCONT)
        wait_until("it never answered again", lambda: "no answer" not in self.cuspan("ps").stdout)
        self.assertEqual(self.ask(program.pid, "describe")["state"], "tracing", "it did what nobody waited for")


class Socket(Case):
    def test_its_modes_and_its_end(self):
        program = self.host("inject")
        self.after(program, "inject: 1")
        made = self.socket_of(program.pid)
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(made.stat().st_mode), 0o600)
        self.assertTrue(stat.S_ISSOCK(made.lstat().st_mode))
        self.assertEqual([path.name for path in self.folder.iterdir()], [made.name])

    def test_without_a_setting_it_is_the_users(self):
        runtime = self.directory / "runtime"
        runtime.mkdir(mode=0o700)
        program = self.host("inject", settings={"control.directory": None}, XDG_RUNTIME_DIR=str(runtime))
        self.after(program, "inject: 1")
        wait_until("no socket", (runtime / f"cuspan/{program.pid}.sock").exists)
        env = {"CUSPAN_CONTROL_DIRECTORY": "", "XDG_RUNTIME_DIR": str(runtime)}
        self.assertIn(program.pid, [row["pid"] for row in json.loads(self.cuspan("ps", "--json", **env).stdout)])
        other = self.host("inject", settings={"control.directory": None})
        self.after(other, "inject: 1")
        self.assertIn(other.pid, [row["pid"] for row in json.loads(self.cuspan("ps", "--json", **env).stdout)])

    def test_off_by_a_setting(self):
        program = self.host("inject", settings={"control.enabled": "false"})
        self.after(program, "inject: 1")
        self.assertFalse(self.folder.exists())
        self.assertNotIn("cuspan/control", self.threads_of(program.pid))

    def test_folders_that_are_not_safe(self):
        target = self.directory / "elsewhere"
        target.mkdir(mode=0o700)
        writable = self.directory / "writable"
        writable.mkdir()
        writable.chmod(0o770)
        link = self.directory / "link"
        link.symlink_to(target)
        unsafe = [link, writable, Path("/dev/null"), Path("/nowhere/below")]
        if os.geteuid() == 0:
            theirs = self.directory / "theirs"
            theirs.mkdir(mode=0o700)
            os.chown(theirs, NOBODY, NOBODY)
            unsafe.append(theirs)
        for path in unsafe:
            with self.subTest(path.name):
                program = self.host("inject", settings={"control.directory": path}, OTEL_LOG_LEVEL="info")
                self.after(program, "inject: 1")
                self.assertNotIn("cuspan/control", self.threads_of(program.pid))
                program.kill()
                self.assertRegex(program.stderr.read(), f"cannot create a control socket in {path}: ")
        self.assertEqual(list(target.iterdir()) + list(writable.iterdir()), [])
        self.assertIn("others can write to it", self.cuspan("ps", "--directory", writable, status=1).stderr)

    def test_clients_that_misbehave_harm_nobody(self):
        program = self.host("inject")
        self.after(program, "inject: 1")
        path = str(self.socket_of(program.pid))
        silent = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for client in silent:
            self.addCleanup(client.close)
            client.connect(path)
        silent[1].sendall(b"describe")  # and no line end
        self.assertEqual(self.ask(program.pid, "describe")["state"], "tracing")
        for request in b"x" * 10000, b"x" * 256 + b"\n", b"":
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                try:
                    client.sendall(request)
                    client.shutdown(socket.SHUT_WR)
                    self.assertEqual(client.recv(100), b"")
                except (BrokenPipeError, ConnectionResetError):
                    pass
        for request in b"\n", b"\0\n", b"nonsense\n", b"\xff\xfe\x00 %s%n\n", b"describe\0\n", b" describe\n":
            answer = self.raw(program.pid, request)
            self.assertEqual(json.loads(answer)["answer"] if b"answer" in answer else "described",
                             "described" if request.startswith(b"describe\0") else "failed", request)
        for argument in "", "-1", "99999999999999999999", "x", "5 5":
            self.assertIn(self.ask(program.pid, f"flush {argument}")["answer"], ("done", "failed"))
        # One that requests much and reads nothing.
        with socket.socket(socket.AF_UNIX) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            client.connect(path)
            client.sendall(b"status\n")
            self.assertEqual(self.ask(program.pid, "describe")["state"], "tracing")
        self.assertIsNone(program.poll())

    def test_what_a_dead_process_left_is_removed(self):
        program = self.host("inject")
        self.after(program, "inject: 1")
        left = self.socket_of(program.pid)
        program.kill()
        program.wait()
        self.assertTrue(left.exists())
        self.cuspan("ps", status=1)
        self.assertFalse(left.exists())

    def dead_socket(self, path):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))

    def test_a_new_process_of_the_same_pid(self):
        """If a living agent has the name already (from another PID namespace), it takes the next one."""
        self.folder.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as alive:
            alive.bind(str(self.folder / "alive"))
            alive.listen(4)
            for source, name in (None, "{}.sock"), (self.folder / "alive", "{}-2.sock"):
                program = self.begin("/bin/sh", "-c", 'read go; exec "$0" "$@"', BUILD / "control_host",
                                     BUILD / "libcuspan-replay.so", recording("vector_add"), BUILD / "libcuspan.so", "inject",
                                     *["nap"] * 600)
                taken = self.folder / f"{program.pid}.sock"
                if source:
                    os.link(source, taken)
                else:
                    self.dead_socket(taken)
                program.stdin.write("go\n")
                program.stdin.flush()
                self.after(program, "inject: 1")
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(str(self.folder / name.format(program.pid)))
                    client.sendall(b"describe\n")
                    self.assertEqual(json.loads(client.recv(65536))["pid"], program.pid)

    def test_a_forked_child_has_no_part_in_it(self):
        program = self.host("inject", "child")
        self.after(program, "child: 0")
        inode = re.search(r"(\d+) \S*" + re.escape(str(self.folder)), Path("/proc/net/unix").read_text())
        child, = map(int, Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split())
        self.assertNotIn("cuspan/control", self.threads_of(child))
        held = list(proc.descriptors(child).values())
        theirs = list(proc.descriptors(program.pid).values())
        self.assertEqual(sum(name.startswith("socket:") for name in theirs), 1, theirs)
        self.assertEqual([name for name in held if name.startswith("socket:")], [], inode)
        self.assertEqual([row["pid"] for row in json.loads(self.cuspan("ps", "--json").stdout)], [program.pid])
        os.kill(child, signal.SIGKILL)

    def test_a_child_s_exit_leaves_its_parent_s_socket(self):
        program = self.begin(BUILD / "control_host", BUILD / "libcuspan-replay.so", recording("vector_add"),
                             BUILD / "libcuspan.so", "inject", "child", "nap")
        self.after(program, "child: 0")
        path = self.socket_of(program.pid)
        child, = map(int, Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split())
        os.kill(program.pid, signal.SIGSTOP)
        wait_until("the child never ended", lambda: Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        self.assertTrue(path.exists())
        os.kill(program.pid, signal.SIGCONT)
        self.assertEqual(program.wait(FOREVER_S), 0)
        self.assertFalse(path.exists())

    def test_a_host_that_closes_all_descriptors(self):
        """The host may then use their descriptor numbers: the agent accepts no connections on its sockets, and closes
        none."""
        if "thread" in SANITIZERS:
            self.skipTest("to close what other threads use is a race, which is what this is about")
        program = self.begin(BUILD / "control_host", BUILD / "libcuspan-replay.so", recording("vector_add"),
                             BUILD / "libcuspan.so", "inject", "nap", "nap", "descriptors", *["nap"] * 30,
                             settings={"output_file": "/dev/null"})
        self.after(program, "inject: 1")
        path = self.socket_of(program.pid)
        self.after(program, "descriptors: 0")
        held = self.taken(program.pid)
        try:
            self.assertEqual(self.raw(program.pid, b"describe\n", 0.5), b"")
        except OSError:
            pass
        self.assertIsNone(program.poll())
        self.assertEqual(self.taken(program.pid), held)
        self.assertEqual(program.wait(FOREVER_S), 0)
        self.assertFalse(path.exists())

    def taken(self, pid):
        """The descriptors of the host's listener. The agent opens none with such a number later."""
        found = proc.descriptors(pid)
        listener = found[HOST_TAKES - 1]
        self.assertRegex(listener, "^socket:")
        return [number for number, name in found.items() if name == listener]

    @unittest.skipUnless(os.geteuid() == 0, "takes root")
    def test_another_user_gets_nothing(self):
        """Not even if folder and socket permit it; and `cuspan` reports it in one line."""
        program = self.host("inject")
        self.after(program, "inject: 1")
        path = self.socket_of(program.pid)
        for opened in self.directory, self.folder:
            opened.chmod(0o755)
        code = (f"import os,socket; os.setuid({NOBODY}); s=socket.socket(socket.AF_UNIX); s.connect({str(path)!r});"
                "s.sendall(b'stop\\n'); print(s.recv(100))")
        refused = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertRegex(refused.stderr, "PermissionError")
        path.chmod(0o666)
        nothing = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertRegex(nothing.stdout + nothing.stderr, "b''|ConnectionResetError|BrokenPipeError")
        self.assertEqual(self.ask(program.pid, "describe")["state"], "tracing")

    @unittest.skipUnless(os.geteuid() == 0, "takes root")
    def test_root_sees_all_and_others_their_own(self):
        program = self.host("inject", settings={"control.directory": None})
        self.after(program, "inject: 1")
        env = {"CUSPAN_CONTROL_DIRECTORY": ""}
        self.assertIn(program.pid, [row["pid"] for row in json.loads(self.cuspan("ps", "--json", **env).stdout)])
        copy = self.directory / "cuspan"
        shutil.copy(BUILD / "cuspan", copy)
        self.directory.chmod(0o755)
        done = subprocess.run([copy, "ps", "--json"], env={"PATH": "/bin"}, user=NOBODY, capture_output=True, text=True)
        if done.returncode == 0:
            self.assertNotIn(program.pid, [row["pid"] for row in json.loads(done.stdout)])
        denied = subprocess.run([copy, "stop", str(program.pid), "--directory", str(self.folder.parent)], user=NOBODY,
                                env={"PATH": "/bin"}, capture_output=True, text=True)
        self.assertEqual(denied.returncode, 1)


class Figures(Case):
    """The data of `cuspan top`: counted only while a client polls."""

    def test_they_begin_with_the_first_look_and_add_up(self):
        program = self.host("inject", *["nap"] * 30, "play", "flush")
        self.after(program, "inject: 1")
        first = self.ask(program.pid, "figures")
        self.assertFalse(first["is_on"])
        self.assertEqual(first["calls"], {"count": 0, "total_ns": 0, "errors": 0, "waiting_ns": 0})

        def all_of_it():
            told = self.ask(program.pid, "figures")
            time.sleep(0.05)
            return told["is_on"] and told["devices"] and told["devices"][0]["copies"] == 3 and told
        told = wait_until("no figures of what was played", all_of_it)
        self.after(program, "flush: 0")
        spans = [span for line in self.spans.read_text().splitlines()
                 for part in json.loads(line)["resourceSpans"] for scope in part["scopeSpans"] for span in scope["spans"]]
        attributes = [{pair["key"]: next(iter(pair["value"].values())) for pair in span["attributes"]} for span in spans]
        calls = [span for span, has in zip(spans, attributes) if "cuda.api" in has]
        kernels = [span for span, has in zip(spans, attributes) if has.get("cuda.activity") == "kernel"]

        def length(span):
            return int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
        self.assertEqual(told["calls"]["count"], len(calls))
        self.assertEqual(told["calls"]["total_ns"], sum(map(length, calls)))
        self.assertEqual(told["launches"], 1)
        self.assertGreater(told["calls"]["waiting_ns"], 0)
        self.assertEqual(told["kernels"], [{"name": span["name"], "count": 1, "total_ns": length(span)} for span in kernels])
        device = told["devices"][0]
        self.assertTrue(device["uuid"].startswith("GPU-"), device)
        self.assertEqual(device["kernel_ns"], sum(map(length, kernels)))
        self.assertEqual(device["copy_bytes"], sum(int(has.get("cuda.memcpy.bytes", 0)) for has in attributes))
        self.assertGreaterEqual(device["busy_ns"], device["kernel_ns"])
        self.assertEqual((device["memory_live"], device["memory_peak"]), (0, device["copy_bytes"]))
        self.assertGreater(told["own"]["pipeline_cpu_ns"], 0)
        self.assertGreater(told["time_ns"], told["since_ns"])

    def test_an_agent_that_waits_has_none(self):
        program = self.host("inject", settings={"start_on": "control"})
        told = self.ask(program.pid, "figures")
        self.assertEqual((told["is_on"], told["devices"], told["kernels"]), (False, [], []))


class Stopping(Case):
    """A stop waits for calls in progress."""

    def stuck(self, settings=None):
        fake = BUILD / "libfake_cupti_classic.so"
        program = self.begin(BUILD / "cycling_host", BUILD / "libcuspan.so", fake, "stuck",
                             settings={"cupti.library": fake, "cupti.api": "classic", "detail": "full", **(settings or {})})
        self.after(program, "ready")
        return program

    def do(self, program, command, answer):
        program.stdin.write(command + "\n")
        program.stdin.flush()
        self.after(program, answer)

    def leave(self, program):
        self.do(program, "leave", "left")

    def test_a_call_that_returns_in_time_has_its_span(self):
        program = self.stuck()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.socket_of(program.pid)))
            client.sendall(b"stop 60000\n")
            time.sleep(0.1)
            self.leave(program)
            answer = json.loads(client.recv(65536))
        self.assertEqual((answer["answer"], answer["under_way"]), ("done", 0))
        status = self.exact_status(program.pid)
        self.assertEqual((status["counters"]["calls_captured"], status["counters"]["calls_cut"]), (1, 0))
        self.assertEqual((status["spans"], status["held"], status["state"]), (2, 0, "asleep"))

    def test_one_that_does_not_is_told(self):
        program = self.stuck()
        said = self.cuspan("stop", "--timeout", "200").stdout
        self.assertIn("is no longer traced; 1 call had not returned after 200 ms, and has no span", said)
        self.leave(program)
        program.stdin.close()
        self.assertEqual(program.wait(FOREVER_S), 0)
        report = self.report(program.pid)
        self.assertEqual((report["counters"]["calls_captured"], report["counters"]["calls_cut"]), (0, 1))
        self.assertEqual(report["losses"], {})

    def test_a_release_meanwhile_counts_it(self):
        program = self.stuck({"cupti.others_wait_ms": 100})
        self.leave(program)
        self.assertEqual(self.ask(program.pid, "stop 60000")["answer"], "done")  # the next stop waits as long for its calls
        self.assertEqual(self.ask(program.pid, "start")["state"], "tracing")
        self.do(program, "enter", "entered")
        self.do(program, "stop", "stopping")
        self.assertEqual(self.ask(program.pid, "describe")["state"], "stopping")
        self.assertEqual(self.ask(program.pid, "release")["state"], "released")
        self.leave(program)
        program.stdin.close()
        self.assertEqual(program.wait(FOREVER_S), 0)
        self.assertEqual(self.report(program.pid)["losses"], {"lost_in_flight": 1})

    def test_a_start_meanwhile_goes_on(self):
        program = self.stuck()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.socket_of(program.pid)))
            client.sendall(b"stop 100\n")
            self.assertEqual(json.loads(client.recv(65536))["under_way"], 1)
        self.assertEqual(self.ask(program.pid, "start")["state"], "tracing")
        self.leave(program)
        self.assertEqual(self.ask(program.pid, "describe")["state"], "tracing")


class Release(Case):
    """CUPTI is left to other tools on request, and a start takes it back."""

    def test_stop_and_start(self):
        program = self.begin(BUILD / "cycling_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                             recording("vector_add"))
        self.after(program, "ready")
        self.assertIn("CUPTI is available to other tools", self.cuspan("stop", "--release").stdout)
        self.assertEqual(self.ask(program.pid, "describe")["state"], "released")
        self.assertIn("wasn't traced", self.cuspan("stop", "--release").stdout)
        self.assertIn("is traced", self.cuspan("start").stdout)
        self.assertEqual(self.ask(program.pid, "describe")["state"], "tracing")
        program.stdin.close()
        self.assertEqual(program.wait(FOREVER_S), 0)
        self.assertEqual(self.report(program.pid)["counters"]["releases"], 1)


class Cycles(Case):
    """Repeated start and stop while threads call CUDA."""

    def facts(self, pid):
        status = Path(f"/proc/{pid}/status").read_text()
        return {"RSS": int(re.search(r"VmRSS:\s+(\d+)", status)[1]), "threads": sum(name.startswith("cuspan/") for name in self.threads_of(pid)),
                "descriptors": self.descriptors_of(pid)}

    def descriptors_of(self, pid):
        """Their files. The report, which the agent may be writing, and files in /proc are left out."""
        found = (re.sub(r":\[\d+\]$", "", name) for name in proc.descriptors(pid).values())
        return sorted(name for name in found if "/.report." not in name and not name.startswith("/proc/"))

    def captured(self, pid):
        return self.ask(pid, "status")["counters"]["calls_captured"]

    def cycle(self, program, cycles):
        pid = program.pid
        at_half = None
        every = max(1, cycles // 20)
        for number in range(cycles):
            looks = number % every == 0
            self.assertIn(self.ask(pid, "start")["answer"], ("done", "already") if number == 0 else ("done",))
            if looks:
                before = self.captured(pid)
                wait_until("it didn't wake up", lambda: self.captured(pid) > before)
            time.sleep(0.002)
            stopped = self.ask(pid, "stop 60000")
            self.assertEqual((stopped["answer"], stopped["under_way"], stopped["state"]), ("done", 0, "asleep"))
            if looks:
                status = self.exact_status(pid)
                self.assertEqual(accounts.differences(status, has_ended=False), [])
                time.sleep(0.02)
                self.assertEqual(self.captured(pid), status["counters"]["calls_captured"], "captured after the stop")
            if number == cycles // 2:
                at_half = self.facts(pid)
        return at_half, self.facts(pid)

    def check(self, program, cycles):
        before, after = self.cycle(program, cycles)
        program.stdin.close()
        self.assertEqual(program.wait(FOREVER_S), 0, program.stderr.read())
        report = self.report(program.pid)
        sessions = report["counters"]["sessions"]
        print(f"{cycles} cycles: {report['counters']['calls_captured']} calls, {sessions} sessions, "
              f"{report['counters']['asleep_ns'] / 1e9:.1f} s asleep; {before} at half, {after} at the end")
        self.assertEqual(report["counters"]["sleeps"], cycles)
        self.assertEqual((after["threads"], after["descriptors"]), (before["threads"], before["descriptors"]))
        if not SANITIZERS:
            self.assertLess(after["RSS"] - before["RSS"], 16 << 10, "KiB")
        self.assertEqual(report["counters"]["calls_cut"], 0)
        return report

    def test_under_callbacks_of_many_threads(self):
        fake = BUILD / "libfake_cupti_classic.so"
        # The race checker takes a minute for the content of full rings.
        small = {"rings.bytes": 8192, "rings.total_bytes": 131072} if SANITIZERS else {}
        program = self.begin(BUILD / "cycling_host", BUILD / "libcuspan.so", fake, "4" if SANITIZERS else "16",
                             CUSPAN_START_ON="control",
                             settings={"cupti.library": fake, "cupti.api": "classic", "detail": "full",
                                       "output_file": "/dev/null", **small})
        self.after(program, "ready")
        report = self.check(program, CYCLES)
        self.assertEqual(report["losses"].keys() - {"lost_ring_full", "lost_queue_full"}, set())

    def test_under_a_recording_with_gpu_work(self):
        for api in "classic", "subscriber":
            program = self.begin(BUILD / "cycling_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                                 recording("threads"), CUSPAN_START_ON="control",
                                 settings={"cupti.api": api, "output_file": "/dev/null"})
            self.after(program, "ready")
            self.check(program, CYCLES // 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
