#!/usr/bin/env python3
"""Side effects that the agent must not have on its host, and resources that a host may take away from it.

    manners_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]

The host is manners_host.c; the replay library stands in for CUPTI.
"""

import contextlib
import os
import re
import socket
import struct
import subprocess
import threading
import time
import unittest
from pathlib import Path

import exits_test
import agent_case
from agent_case import HANG_S, path_of
from preload import preloadable

RECORDING = "threads"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50"}


class Resetting:
    """A collector that accepts a connection, reads a little, and resets it."""

    def __init__(self):
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                with contextlib.suppress(OSError), connection:
                    connection.recv(100)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class MannersCase(exits_test.ExitCase):
    def command(self, way, recording=RECORDING):
        return [agent_case.BUILD / "manners_host", agent_case.BUILD / "libcuspan.so",
                agent_case.BUILD / "libcuspan-replay.so", path_of(recording), way]

    def bare(self, way, env=None):
        return self.start_bare(way, env)

    def scene(self, name, settings=None, env=None, lines=0):
        result = self.host(name, settings, env)
        self.assert_same_end(result, name, env)
        if lines is not None:
            self.assertEqual(len(result.err.splitlines()), lines, result.err)
        return result

    def sessions(self, result):
        return [span for span in result.spans if agent_case.is_session(span)]

    def to_collector(self, collector):
        return {"output_file": None, "protocol": "http/json", "compression": "none", "endpoint": collector.url}


class Children(MannersCase):
    """vfork, posix_spawn, exec, and forks at any time."""

    def test_a_program_that_is_executed_is_a_process_of_its_own(self):
        for scene, sessions, works in ("vfork", 2, 3), ("posix_spawn", 2, 3):
            with self.subTest(scene):
                result = self.scene(scene)
                self.assertEqual(len(self.sessions(result)), sessions)
                self.assertEqual(len({span.resource["process.pid"] for span in self.sessions(result)}), sessions)
                self.assert_whole(result, works)

    def assert_whole(self, result, works):
        if not hasattr(self, "_calls"):
            self._calls = sum(not agent_case.is_session(span) for span in self.scene("plain").spans)
        self.assertEqual(sum(not agent_case.is_session(span) for span in result.spans), works * self._calls)

    def test_what_becomes_another_program(self):
        """exec: the old program loses what it had not sent yet, and nothing else."""
        result = self.scene("exec", {"cupti.flush_interval_ms": 100}, SOON)
        self.assertEqual(len(self.sessions(result)), 1)

    def test_forks_from_many_threads_in_the_middle_of_calls(self):
        """No child calls CUPTI, waits, or sends a span."""
        result = self.scene("forks-from-many-threads")
        self.assertEqual(len({span.resource["process.pid"] for span in result.spans}), 1)
        self.assert_all_there(result, 20)


class Effects(MannersCase):
    @staticmethod
    def threads_of(pid):
        """The name, blocked signals, processors and policy of each thread."""
        threads = {}
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):  # it ended
                status = dict(re.findall(r"(\w+):\s*(.*)", (task / "status").read_text()))
                policy = int((task / "stat").read_text().rpartition(")")[2].split()[38])
                threads[int(task.name)] = status["Name"], int(status["SigBlk"], 16), status["Cpus_allowed_list"], policy
        return threads

    def test_our_threads_block_all_signals_and_inherit_nothing(self):
        collector = exits_test.Collector()
        self.addCleanup(collector.close)
        _, _, extra = self.environment_for(self.to_collector(collector))
        process = subprocess.Popen([str(part) for part in self.command("threads")], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=self.environment(extra), text=True)
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), "host: ready\n")
        expected = {"cuspan/control", "cuspan/pipeline", "cuspan/sender"}
        deadline = time.monotonic() + HANG_S
        threads = {}
        while not expected <= {name for name, *_ in threads.values()}:  # which are set after processors and policy
            self.assertLess(time.monotonic(), deadline, threads)
            time.sleep(0.02)
            threads = self.threads_of(process.pid)
        host = threads.pop(process.pid)
        process.stdin.close()
        self.assertEqual(process.wait(HANG_S), exits_test.STATUS)
        ours = {name: rest for name, *rest in threads.values() if name.startswith("cuspan/")}
        self.assertEqual(set(ours), expected, threads)
        catchable = {number for number in range(1, 32) if number not in (9, 19)}
        for name, (blocked, processors, policy) in ours.items():
            self.assertEqual({n for n in catchable if not blocked >> (n - 1) & 1}, set(), f"not blocked by {name}")
            self.assertEqual(policy, os.SCHED_OTHER)
            if os.cpu_count() > 1:
                self.assertNotEqual(processors, host[2], f"{name} is where the host is pinned to")

    def test_a_program_that_is_executed_inherits_no_descriptor(self):
        if agent_case.SANITIZERS:
            self.skipTest("sanitized builds use the system's libcurl, which leaves a pair of sockets to inherit")
        collector = exits_test.Collector()
        self.addCleanup(collector.close)
        for settings in {}, self.to_collector(collector):
            self.scene("executed-descriptors", settings, SOON)
        self.assertTrue(collector.bodies)

    def test_a_collector_that_resets_its_connections(self):
        """SIGPIPE would end the host."""
        collector = Resetting()
        self.addCleanup(collector.listener.close)
        for deadline_ms in 700, 5000, 30000:  # until a busy machine has connected
            result = self.scene("plain", {**self.to_collector(collector), "exit_deadline_ms": deadline_ms}, SOON, lines=None)
            self.assert_fates(result)
            if collector.connections:
                break
        self.assertGreater(collector.connections, 0)

    def test_our_threads_do_not_read_the_environment(self):
        """The host may call setenv() meanwhile, which frees what getenv() reads before glibc 2.41."""
        watch = agent_case.BUILD / "libgetenv_watch.so"
        if not watch.exists():
            self.skipTest("the double is for x86-64, without sanitizers")
        notes = self.directory / "notes"
        nowhere = {"output_file": None, "exit_deadline_ms": 300}
        for name, settings in (("file", {}), ("proxy", {**nowhere, "endpoint": "http://127.0.0.1:1"}),
                               ("TLS", {**nowhere, "endpoint": "https://127.0.0.1:1"}),
                               ("name", {**nowhere, "endpoint": "http://collector:4318"}),
                               ("metrics", {**nowhere, "endpoint": "http://collector.invalid:4318", "cupti.flush_interval_ms": 50})):
            with self.subTest(name):
                env = {"LD_PRELOAD": preloadable(watch), "GETENV_NOTES": str(notes), "LC_ALL": "C.UTF-8",
                       "OTEL_METRICS_EXPORTER": "otlp" if name == "metrics" else "none", **SOON}
                result = self.host("plain", settings, env | ({"http_proxy": "http://127.0.0.1:1"} if name == "proxy" else {}))
                self.assertEqual((result.status, result.out), (exits_test.STATUS, "host: done\n"), result.err)
                self.assertGreater(result.report["spans"], 0)
        # glibc reads this one when the process resolves its first name.
        self.assertLessEqual(set(notes.read_text().splitlines()), {"cuspan/sender reads LOCALDOMAIN"})

    def test_it_calls_no_cuda(self):
        """CUDA's last error belongs to the host."""
        if agent_case.SANITIZERS:
            self.skipTest("a sanitizer's runtime has to come first")
        noted = self.directory / "cuda"
        driver = agent_case.BUILD / "fake_driver/libcuda.so.1"
        result = self.host("plain", env={"LD_PRELOAD": preloadable(driver), "HOST_CUDA": str(noted)})
        self.assertEqual(result.status, exits_test.STATUS)
        self.assert_all_there(result)
        self.assertEqual(set(noted.read_text().split()), {"cuDriverGetVersion"})


NOWHERE = {"output_file": None, "endpoint": "http://127.0.0.1:1", "exit_deadline_ms": 300}


class Standard(MannersCase):
    """Descriptors 0 to 2 belong to the host, also if it has closed them."""

    def outputs(self, name):
        """Each has something to log, since its report cannot be written."""
        collector = exits_test.Collector()
        self.addCleanup(collector.close)
        quiet = {"output_file": None, "accounts_file": "/nonexistent/report", "exit_deadline_ms": 3000}
        return {"file": {**quiet, "output_file": self.directory / f"{name}.jsonl"},
                "HTTP": {**self.to_collector(collector), **quiet},
                "unresolved": {**quiet, "endpoint": "http://collector.invalid:4318", "exit_deadline_ms": 500},
                "spool": {**quiet, **NOWHERE, "spool.directory": self.directory / "spool"},
                "record": {**quiet, "record_file": self.directory / f"{name}.cuspanrec"},
                "console": {**quiet, "output_file": "/dev/null"}}

    def look(self, scene, names):
        for name in names:
            with self.subTest(scene, output=name):
                environment = {"OTEL_TRACES_EXPORTER": "console"} if name == "console" else {}
                settings = self.outputs(name)[name]
                if name == "console":
                    del settings["output_file"]
                result = self.host(scene, settings, {**SOON, **environment})
                self.assertEqual(result.status, exits_test.STATUS, result.err)
                yield name
                self.assertEqual(sorted(path.name for path in self.directory.glob("found-*")), [])

    def test_none_of_ours_gets_their_numbers(self):
        # Builds with sanitizers have the system's libcurl, whose sockets nobody moves.
        sending = () if agent_case.SANITIZERS else ("HTTP", "unresolved", "spool")
        for _ in self.look("standard-closed", ("file", *sending, "record")):
            pass

    def test_nothing_is_written_into_files_of_the_host(self):
        for scene in "standard-own-files", "standard-own-files-later":
            if scene.endswith("later") and "thread" in agent_case.SANITIZERS:
                continue  # to close what other threads use is a race, which is what this is about
            for name in self.look(scene, ("file", "HTTP", "record", "console")):
                contents = {path.read_bytes() for path in self.directory.glob("host-*")}
                self.assertEqual(contents, {b"mine\n"}, name)

    def test_nothing_is_written_into_what_replaces_them(self):
        for _ in self.look("standard-pipes-later", ("file", "HTTP", "console")):
            pass


class Taken(MannersCase):
    """Resources that the host takes away while the agent runs."""

    def assert_files_are_the_hosts(self):
        files = list(self.directory.glob("host-*"))
        self.assertEqual(len(files), 400)
        self.assertEqual({path.read_bytes() for path in files}, {b"mine\n"})

    def test_a_host_that_closes_all_descriptors_keeps_its_files(self):
        """Later spans are delivered with new descriptors."""
        if "thread" in agent_case.SANITIZERS:
            self.skipTest("to close what other threads use is a race, which is what this is about")
        context, certificate = exits_test.self_signed(self.directory)
        for name, context in ("file", None), ("HTTP", None), ("TLS", context):
            with self.subTest(name):
                collector = exits_test.Collector(context=context)
                self.addCleanup(collector.close)
                settings = {} if name == "file" else {**self.to_collector(collector), "exit_deadline_ms": 60000}
                result = self.scene("all-closed", {"cupti.flush_interval_ms": 100, **settings},
                                    {**SOON, "OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificate)}, lines=None)
                self.assert_files_are_the_hosts()
                self.assert_fates(result)
                self.assertEqual(result.report["losses"], {}, result.err)
                spans = result.spans if name == "file" else collector.spans()
                self.assert_same_work(RECORDING, spans, 3)

    def test_no_descriptor_is_left(self):
        for scene in "no-descriptors-from-the-start", "no-descriptors-later":
            for settings in {}, {"output_file": None, "endpoint": "http://127.0.0.1:1", "exit_deadline_ms": 500}:
                with self.subTest(scene, settings=settings):
                    self.scene(scene, settings, lines=None)

    def test_a_file_that_is_open_needs_no_more_descriptors(self):
        result = self.scene("no-descriptors-later", lines=None)
        self.assert_same_work(RECORDING, result.spans, 2)

    @unittest.skipIf(agent_case.SANITIZERS, "a sanitizer makes system calls of its own")
    def test_system_calls_are_denied(self):
        for scene in "seccomp-later", "seccomp-before":
            for name, settings in ("file", {}), ("collector", {"output_file": None, "endpoint": "http://127.0.0.1:1",
                                                              "exit_deadline_ms": 500}):
                with self.subTest(scene, output=name):
                    result = self.scene(scene, settings, lines=None)
                    if (scene, name) == ("seccomp-later", "file"):
                        self.assert_same_work(RECORDING, result.spans, 2)
                    else:
                        self.assertRegex(result.err, "captured records? (was|were) lost|can't|cannot")

    @unittest.skipIf(os.geteuid() != 0, "only root can make a jail")
    def test_a_jail_and_another_user(self):
        self.directory.chmod(0o755)
        for name, settings in ("file", {}), ("collector", {"output_file": None, "endpoint": "http://127.0.0.1:1",
                                                          "exit_deadline_ms": 500}):
            with self.subTest(name):
                result = self.host("jail", settings)
                self.assertEqual((result.status, result.out), (exits_test.STATUS, "host: done\n"), result.err)
                (self.directory / "jail").rmdir()
                if name == "file":
                    self.assert_same_work(RECORDING, result.spans, 2)
                    self.assertRegex(result.err, "cannot write the report")  # its folder is gone

    def test_no_file_may_grow(self):
        """ulimit -f: a write beyond it raises SIGXFSZ, which would end the host."""
        for scene in "no-files", "no-files-later":
            for name, settings in (("file", {"shutdown_report": self.directory / "shutdown"}),
                                   ("record", {"output_file": None, "record_file": self.directory / f"{scene}.cuspanrec"}),
                                   ("spool", {**NOWHERE, "spool.directory": self.directory / "spool"}),
                                   ("late", {"exit_deadline_ms": 50, "shutdown_report": self.directory / "shutdown"})):
                with self.subTest(scene, output=name):
                    # the host's thread writes the report if a flush blocks the agent's
                    result = self.host(scene, settings, fail="flush-blocks=30000" if name == "late" else None)
                    self.assertEqual(result.status, exits_test.STATUS, result.err)

    def test_a_log_file_that_may_not_grow(self):
        with (self.directory / "log").open("wb") as log:
            done = subprocess.run([str(part) for part in self.command("no-files")], stdout=subprocess.PIPE, stderr=log,
                                  env=self.environment(self.environment_for(NOWHERE)[2]), timeout=HANG_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (exits_test.STATUS, b""))

    def test_how_long_a_library_s_loading_waits_for_ours(self):
        collector = exits_test.Collector()
        self.addCleanup(collector.close)
        times = {}
        for name, settings in ("a file", {}), ("a collector", self.to_collector(collector)):
            file = self.directory / "times"
            times[name] = []
            while len(times[name]) < 10 and min(times[name], default=1000) >= 1000:  # a busy machine may need several
                self.scene("loader", settings, {"HOST_TIMES": str(file)})
                times[name].append(float(file.read_text()))
        print(f"the longest dlopen() of the host, in ms: {times}")
        self.assertLess(min(times["a collector"]), 1000)


if __name__ == "__main__":
    agent_case.main()
