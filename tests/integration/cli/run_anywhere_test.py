#!/usr/bin/env python3
"""`cuspan run` starts the program wherever it is: with nothing to write to, as process 1, without /proc, with no room for
another process, without its own library. And it traces the program where it can.

    run_anywhere_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import agent_case  # noqa: E402
import backend  # noqa: E402

SECONDS = 60
READ_ONLY = ("for at in / /tmp /var/tmp /run /dev/shm; do mount --bind \"$at\" \"$at\" && mount -o remount,ro,bind \"$at\" || exit 99; done; "
             "cd \"$PWD\"")
NOBODY = 65534


NUMBERS = {"rt_sigprocmask": 14, "mkdir": 83, "readlink": 89, "rt_sigtimedwait": 128, "mkdirat": 258, "pipe2": 293, "getrandom": 318,
           "memfd_create": 319}
# Refuses these system calls with EPERM, and becomes a program: load the number; equal: return the error; else allow.
REFUSE = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
steps = [(0x20, 0, 0, 0)]
for number in map(int, sys.argv[1].split(",")):
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050001)]
steps.append((0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no filter")
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Case(agent_case.Case):
    def cuspan(self, *arguments):
        return [str(agent_case.BUILD / "cuspan"), *map(str, arguments)]

    def traced(self, *options):
        """cuspan run with a program that makes CUDA calls, and writes its spans to standard output."""
        host = [agent_case.BUILD / "other_tool_host", agent_case.path_of("vector_add"), agent_case.BUILD / "libcuspan.so"]
        return self.cuspan("run", *options, "--console", "--set", f"cupti.library={agent_case.BUILD / 'libcuspan-replay.so'}",
                           *host, "inject", "play")

    def run_in(self, setup, command, unshare=("-m",), env=None, **options):
        """In a mount namespace in which the shell runs `setup`."""
        environment = {**self.environment({}), "TMPDIR": "", **(env or {})}
        flags = [*unshare, *([] if os.getuid() == 0 else ["-r"])]
        done = subprocess.run(["unshare", *flags, "sh", "-c", setup + "; exec \"$@\"", "sh", *command], text=True,
                              capture_output=True, env=environment, cwd=self.directory, timeout=SECONDS, check=False,
                              stdin=subprocess.DEVNULL, **options)
        if done.returncode == 99 or "unshare failed" in done.stderr:
            self.skipTest("cannot mount here: " + done.stderr.strip())
        return done

    def assert_traced(self, done, says=""):
        self.assertEqual(done.returncode, agent_case.HOST_STATUS, done.stderr)
        spans = [span for line in done.stdout.splitlines() if line.startswith("{") for span in backend.spans_of(json.loads(line))]
        self.assertIn("cudaLaunchKernel", {span.name for span in spans})
        self.assertIn(says, done.stderr)


class Writable(Case):
    def test_nothing_can_be_written(self):
        """A container with a read-only root and no volume. One line says what is missing: the summary."""
        done = self.run_in(READ_ONLY, self.traced())
        self.assert_traced(done)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, "no summary.*Read-only file system.*TMPDIR")
        self.assertEqual(self.run_in(READ_ONLY, self.traced("-q")).stderr, "")

    def test_other_commands(self):
        """They keep what they need in memory; a recording goes where there is room."""
        recording = agent_case.path_of("vector_add")
        self.assertIn("vector_add", self.run_in(READ_ONLY, self.cuspan("show", recording)).stdout)
        self.assertIn("add ", self.run_in(READ_ONLY, self.cuspan("stat", "--table", "kernels", recording)).stdout)
        live = self.traced()
        live = [live[0], "stat", "--table", "kernels", *live[live.index("--set"):]]
        self.assertIn("add ", self.run_in(READ_ONLY, live).stderr)
        where = self.directory / "volume"
        where.mkdir()
        record = self.traced()
        record = [record[0], "record", "-o", str(where / "x.cuspanrec"), *record[record.index("--set"):]]
        done = self.run_in(f"{READ_ONLY}; mount -t tmpfs none '{where}' || exit 99", record)
        self.assertEqual(done.returncode, agent_case.HOST_STATUS, done.stderr)
        done = self.run_in(READ_ONLY, self.cuspan("overhead", "true"))
        self.assertRegex(done.stderr, "need a folder that can be written")

    def test_the_first_folder_that_can_be_written(self):
        """In which there is room, and whose path settings can contain."""
        full = self.directory / "full"
        odd = self.directory / "a;b"
        good = self.directory / "good"
        for folder in full, odd, good:
            folder.mkdir()
        setup = f"{READ_ONLY}; mount -t tmpfs -o size=4k none '{full}' && mount -t tmpfs none '{good}' || exit 99; echo x >'{full}/x'"
        for tmp in full, odd, "/nowhere", "":
            env = {"TMPDIR": str(tmp), "XDG_RUNTIME_DIR": str(good)}
            done = self.run_in(setup, self.traced(), env=env)
            self.assert_traced(done, "spans delivered")
        self.assertEqual(sorted(path.name for path in self.directory.iterdir() if path.name.startswith("cuspan-")), [])

    def test_a_relative_folder(self):
        (self.directory / "here").mkdir()
        command = self.traced()
        done = self.start(command[:command.index("--console")] + ["sh", "-c", "cd /; echo $CUSPAN_SET"], {"TMPDIR": "here"})
        self.assertRegex(done.out, rf"accounts_file={re.escape(str(self.directory.resolve()))}/here/cuspan-run")

    def start(self, command, env):
        done = subprocess.run(command, env={**self.environment({}), **env}, cwd=self.directory, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
        done.out = done.stdout
        return done

    def test_without_proc(self):
        if agent_case.SANITIZERS:
            self.skipTest("the sanitizers' own code needs /proc")
        done = self.run_in("umount -l /proc || exit 99", self.traced())
        self.assertEqual(done.returncode, agent_case.HOST_STATUS, done.stderr)

    def test_where_programs_cannot_run(self):
        """noexec. The agent is not there, so all is well."""
        where = self.directory / "data"
        where.mkdir()
        done = self.run_in(f"mount -t tmpfs -o noexec none '{where}' || exit 99", self.traced(), env={"TMPDIR": str(where)})
        self.assert_traced(done, "spans delivered")


class Limits(Case):
    def test_no_other_process(self):
        """The program then takes the place of cuspan."""
        def limit():
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        folder = self.directory / "open"  # the program's user must be able to read it
        folder.mkdir()
        for name in ("cuspan", "libcuspan.so"):
            shutil.copy(agent_case.BUILD / name, folder)
        self.directory.chmod(0o755)
        taken = subprocess.Popen(["sleep", "60"], preexec_fn=limit) if os.getuid() == 0 else None  # the one that counts
        try:
            done = subprocess.run([folder / "cuspan", "run", "sh", "-c", "echo ran; exit 5"], preexec_fn=limit, capture_output=True,
                                  env=self.environment({}), text=True, timeout=SECONDS, check=False)
        finally:
            if taken:
                taken.kill()
                taken.wait()
        self.assertEqual((done.returncode, done.stdout), (5, "ran\n"), done.stderr)
        self.assertIn("without a summary", done.stderr)

    def test_limits_of_resources(self):
        """The program gets the limits that it would have."""
        if agent_case.SANITIZERS:
            self.skipTest("a sanitizer needs more memory")
        for limit in "-f 0", "-f 1", "-n 3", "-n 4", "-n 6", "-v 200000", "-s 64", "-d 20000", "-c 0", "-l 0", "-i 0", "-q 0":
            flag = limit.split()[0]
            shell = f"ulimit {limit}; exec \"$@\""
            plain, ours = (subprocess.run(["bash", "-c", shell, "bash", *command, "sh", "-c", f"ulimit {flag}; exit 5"],
                                          capture_output=True, env=self.environment({}), cwd=self.directory, text=True,
                                          timeout=SECONDS, check=False) for command in ([], self.cuspan("run", "-q")))
            self.assertEqual((ours.returncode, ours.stdout), (plain.returncode, plain.stdout), f"{limit}: {ours.stderr}")

    @unittest.skipUnless(platform.machine() == "x86_64", "numbers of system calls")
    def test_a_filter_that_refuses_system_calls(self):
        """As containers have. The program starts and ends, and one line at most says what is missing."""
        if agent_case.SANITIZERS:
            self.skipTest("the sanitizers' own code needs these calls")
        for calls in ("mkdir", "mkdirat", "memfd_create"), ("pipe2",), ("rt_sigtimedwait",), ("rt_sigprocmask",), ("getrandom",), ("readlink",):
            command = [sys.executable, "-c", REFUSE, ",".join(str(NUMBERS[call]) for call in calls), *self.cuspan("run", "-q"), "sh", "-c",
                       "echo ran; exit 5"]
            done = subprocess.run(command, capture_output=True, env=self.environment({}), text=True, timeout=SECONDS, check=False)
            if "no filter" in done.stderr:
                self.skipTest(done.stderr)
            self.assertEqual((done.returncode, done.stdout), (5, "ran\n"), f"{calls}: {done.stderr}")
            self.assertLessEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_its_library_is_missing(self):
        cuspan = shutil.copy(agent_case.BUILD / "cuspan", self.directory)
        done = subprocess.run([cuspan, "run", "sh", "-c", "echo $CUDA_INJECTION64_PATH.; exit 5"], capture_output=True, text=True,
                              env=self.environment({}), timeout=SECONDS, check=False)
        self.assertEqual((done.returncode, done.stdout), (5, ".\n"), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("runs untraced", done.stderr)

    def test_closed_standard_streams(self):
        shell = 'exec "$0" run -q sh -c "ls /proc/self/fd >$1; exit 5" <&- >&- 2>&-'
        out = self.directory / "out"
        done = subprocess.run(["sh", "-c", shell.replace("$1", str(out)), *self.cuspan()], env=self.environment({}), timeout=SECONDS,
                              check=False)
        self.assertEqual(done.returncode, 5)


class ProcessOne(Case):
    """As the entry point of a container."""

    def in_container(self, *program, **options):
        command = ["unshare", "-p", "-f", "--mount-proc", "--kill-child", *([] if os.getuid() == 0 else ["-r"]),
                   *self.cuspan("run", "-q"), *program]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment({}), **options)

    def test_orphans_are_reaped(self):
        """Those that end before the program, and while it waits."""
        program = ("import os, time\n"
                   "for _ in range(5):\n"
                   "    if os.fork() == 0:\n"
                   "        if os.fork() == 0: time.sleep(0.05)\n"
                   "        os._exit(0)\n"
                   "    os.wait()\n"
                   "def states():\n"
                   "    found = []\n"
                   "    for pid in filter(str.isdigit, os.listdir('/proc')):\n"
                   "        try: found.append(open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0])\n"
                   "        except OSError: pass  # it has ended meanwhile\n"
                   "    return found\n"
                   "for _ in range(400):\n"
                   "    if len(states()) == 2: break\n"
                   "    time.sleep(0.05)\n"
                   "print(len(states()), states().count('Z'))\n"
                   "raise SystemExit(4)\n")
        host = self.in_container(sys.executable, "-c", program)
        out, err = host.communicate(timeout=SECONDS)
        if "unshare failed" in err:
            self.skipTest(err)
        self.assertEqual((host.returncode, out), (4, "2 0\n"), err)

    def test_signals_reach_the_program(self):
        program = ("import os, signal, sys\n"
                   "number = int(sys.argv[1])\n"
                   "def handle(*_): os.write(1, b'got it\\n'); os._exit(9)\n"
                   "signal.signal(number, handle)\n"
                   "os.write(1, b'ready\\n')\n"
                   "while True: signal.pause()\n")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH,
                       signal.SIGALRM, signal.SIGPWR, signal.SIGRTMIN + 3):
            host = self.in_container(sys.executable, "-c", program, str(int(number)))
            ready = host.stdout.readline()
            if not ready:
                self.skipTest(host.stderr.read())
            [child] = Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split()
            os.kill(int(child), number)
            out, err = host.communicate(timeout=SECONDS)
            self.assertEqual((host.returncode, out), (9, "got it\n"), f"{number}: {err}")

    def test_its_end(self):
        for program, status in (("exit 7", 7), ("kill -9 $$", 128 + 9), ("kill -SEGV $$", 128 + 11)):
            host = self.in_container("sh", "-c", program)
            _, err = host.communicate(timeout=SECONDS)
            if "unshare failed" in err:
                self.skipTest(err)
            self.assertEqual(host.returncode, status, err)


if __name__ == "__main__":
    agent_case.main()
