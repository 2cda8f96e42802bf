#!/usr/bin/env python3
"""`cuspan attach` and `detach`: programs that loop in malloc and dlopen, sleeping calls, refusals, a command that is killed at each
of its steps, and the agent in a host that plays a recording.

    attach_test.py --build DIRECTORY [--attaches N] [GROUP[.test]...]

Tests that need root, a capability or a program that this machine lacks are skipped, with the reason.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import accounts  # noqa: E402
from built import BUILD, CLEAN, take_option  # noqa: E402

ATTACHES = int(take_option("--attaches", 60))  # into each kind of loop
HOST = BUILD / "attach_host"
DOUBLE = BUILD / "attach_double/libcuspan.so"
NOBODY = 65534
SLEEP_S = 3  # of attach_host.c
# Result and errno of each call, without an attach.
CALLS = {"nanosleep": (0, 0), "clock_nanosleep": (0, 0), "poll": (0, 0), "ppoll": (0, 0), "select": (0, 0), "epoll_wait": (0, 0),
         "read": (1, 0), "recv": (-1, 11), "cond": (110, 0), "sem": (-1, 110), "sigtimedwait": (-1, 11), "semtimedop": (-1, 11),
         "waitpid": (1, 0)}
MPROTECT, SOCKET, CLOCK_NANOSLEEP = {"x86_64": (10, 41, "230 "), "aarch64": (226, 198, "115 ")}[os.uname().machine]


class Program:
    """A running host; lines of its standard input are answered."""

    def __init__(self, test, *command, **options):
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **{"env": CLEAN, **options})
        self.pid = self.process.pid
        test.addCleanup(self.end)

    def line(self):
        return self.process.stdout.readline().strip()

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.line()

    def end(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


class Case(unittest.TestCase):
    library = DOUBLE

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="attach-test-"))
        self.directory.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.folder = self.directory / "sockets"

    def host(self, *arguments, **options):
        program = Program(self, HOST, *arguments, **options)
        self.assertEqual(program.line(), "ready")
        return program

    def command(self, *arguments, status=0, **options):
        env = {**CLEAN, "CUSPAN_LIBRARY": str(self.library), "CUSPAN_CONTROL_DIRECTORY": str(self.folder)}
        done = subprocess.run([str(BUILD / "cuspan"), *map(str, arguments)], env=env, text=True, check=False, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def attach(self, program, *options, **more):
        return self.command("attach", *options, getattr(program, "pid", program), **more)

    def refused(self, program, *parts, options=(), **more):
        """One line, and the program is as it was."""
        said = self.attach(program, *options, status=1, **more).stderr
        self.assertEqual(said.count("\n"), 1, said)
        for part in parts:
            self.assertIn(part, said)
        return said

    def assert_unharmed(self, program):
        self.assertRegex(program.ask(), r"^\d+ loops, 0 interrupted, registers same, mask same$")

    def maps(self, program):
        return Path(f"/proc/{program.pid}/maps").read_text()


class Loops(Case):
    """Threads that hold the locks of malloc and of the loader most of the time."""

    def attach_often(self, *arguments):
        program = self.host(*arguments)
        for number in range(ATTACHES):
            said = self.attach(program).stdout
            self.assertRegex(said, r"is traced; its thread \d+ was stopped for")
            if number % 10 == 0:
                self.assert_unharmed(program)
        before = int(program.ask().split()[0])
        self.assert_unharmed(program)
        while int(program.ask().split()[0]) == before:
            time.sleep(0.01)  # the loops go on
        self.assertIsNone(program.process.poll())

    def test_malloc(self):
        self.attach_often("loop", "malloc", 4)

    def test_dlopen(self):
        self.attach_often("loop", "dlopen", 2)

    def test_both(self):
        self.attach_often("loop", "both", 4)

    def test_python(self):
        code = ("import threading, time\n"
                "def run():\n while True: [str(i) for i in range(2000)]\n"
                "for _ in range(2): threading.Thread(target=run, daemon=True).start()\n"
                "print('ready', flush=True)\n"
                "while True: print(input() and 0, flush=True)\n")
        program = Program(self, sys.executable, "-c", code)
        self.assertEqual(program.line(), "ready")
        for _ in range(ATTACHES):
            self.assertIn("what needs Python's hooks", self.attach(program).stdout)
        program.process.stdin.write("x\n")
        program.process.stdin.flush()
        self.assertEqual(program.line(), "0")


class Sleeps(Case):
    def test_calls_keep_their_results(self):
        programs = {kind: self.host("sleep", kind) for kind in CALLS}
        time.sleep(0.2)
        attached = {kind: self.attach(program) for kind, program in programs.items()}
        for kind, program in programs.items():
            with self.subTest(kind):
                result, error, seconds = program.line().split()
                self.assertIn(f"its thread {program.pid} was", attached[kind].stdout)
                self.assertEqual((int(result), int(error)), CALLS[kind])
                self.assertGreaterEqual(float(seconds), SLEEP_S - 0.01)
                self.assertEqual(program.process.wait(), 0)

    def test_the_same_without_an_attach(self):
        programs = {kind: self.host("sleep", kind) for kind in CALLS}
        for kind, program in programs.items():
            result, error, _ = program.line().split()
            self.assertEqual((kind, int(result), int(error)), (kind, *CALLS[kind]))

    def test_signals_arrive_after_it(self):
        """Their handlers run, and interrupt the call as without an attach."""
        code = ("import signal, sys\n"
                "count = 0\n"
                "def on(*_):\n global count; count += 1\n"
                "signal.signal(signal.SIGUSR1, on); print('ready', flush=True)\n"
                "for line in iter(sys.stdin.readline, ''): print(count, flush=True)\n")
        program = Program(self, sys.executable, "-c", code)
        self.assertEqual(program.line(), "ready")
        for _ in range(20):
            attach = subprocess.Popen([BUILD / "cuspan", "attach", str(program.pid)], stdout=subprocess.DEVNULL,
                                      env={**CLEAN, "CUSPAN_LIBRARY": str(DOUBLE), "CUSPAN_CONTROL_DIRECTORY": str(self.folder)})
            while attach.poll() is None:
                os.kill(program.pid, signal.SIGUSR1)
                time.sleep(0.002)
            self.assertEqual(attach.returncode, 0)
        self.assertGreater(int(program.ask()), 0)


@unittest.skipUnless(hasattr(sys, "remote_exec"), "this Python has no sys.remote_exec: tests/python-versions/run.sh has later ones")
class PythonExec(Case):
    """Python loads the agent itself, if no thread sleeps."""

    LOOP = ("import hashlib, os, signal, sys\n"
            "def tell(*_): print(sorted(globals().keys() - names), total, flush=True)\n"
            "names, total = set(), 0\n"
            "names = set(globals())\n"
            "signal.signal(signal.SIGUSR1, tell)\n"
            "print('ready', flush=True)\n"
            "hashlib.pbkdf2_hmac('sha256', b'a', b'b', int(sys.argv[1]))\n"
            "while True: total += 1\n")

    def loop(self, *options, rounds=1):
        program = Program(self, sys.executable, *options, "-c", self.LOOP, rounds)
        self.assertEqual(program.line(), "ready")
        return program

    def ask(self, program):
        program.process.send_signal(signal.SIGUSR1)
        names, _, total = program.line().rpartition(" ")
        self.assertEqual(names, "[]")
        return int(total)

    def left(self):
        return [path for path in Path(tempfile.gettempdir()).glob("cuspan-attach-*") if path not in self.others]

    def setUp(self):
        super().setUp()
        self.others = set(Path(tempfile.gettempdir()).glob("cuspan-attach-*"))

    def test_a_program_that_computes(self):
        program = self.loop()
        before = self.ask(program)
        said = self.attach(program).stdout
        self.assertRegex(said, r"^\S+ \(PID \d+\) is traced; Python loaded the agent, which started in ")
        self.assertIn(str(DOUBLE), self.maps(program))
        self.assertGreater(self.ask(program), before)
        self.assertEqual(self.left(), [])

    def test_python_refuses(self):
        program = self.loop("-X", "disable-remote-debug")
        self.refused(program, "no thread slept at a safe place, and Python refuses sys.remote_exec: ")
        self.assertNotIn(str(DOUBLE), self.maps(program))
        self.ask(program)
        self.assertEqual(self.left(), [])

    def test_python_does_not_run(self):
        """It is in a call of C. Afterwards, nothing happens but that the script goes."""
        program = self.loop(rounds=10_000_000)
        self.refused(program, "its main thread ran no Python within 100 ms", options=("--timeout", "100"))
        self.assertEqual(len(self.left()), 1)
        self.ask(program)
        while self.left():
            time.sleep(0.01)
        self.assertNotIn(str(DOUBLE), self.maps(program))
        self.ask(program)

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a namespace of mounts")
    def test_other_files(self):
        """As with PrivateTmp of systemd: the program would not find the script."""
        program = self.loop()
        done = subprocess.run(["unshare", "--mount", "--propagation", "unchanged", BUILD / "cuspan", "attach", "--timeout", "200", str(program.pid)], check=False, text=True,
                              env={**CLEAN, "CUSPAN_LIBRARY": str(DOUBLE), "CUSPAN_CONTROL_DIRECTORY": str(self.folder)}, capture_output=True)
        self.assertIn(": no thread slept at a safe place within 200 ms", done.stderr)
        self.ask(program)

    def test_a_library_that_cannot_be_loaded(self):
        broken = self.directory / "libcuspan.so"
        broken.write_bytes(b"no library")
        program = self.loop()
        self.library = broken
        self.refused(program, "cannot load the agent: ", options=("--set", f"cupti.library={BUILD}/libcuspan-replay.so"))
        self.ask(program)


class PythonDouble(Case):
    """A program with Python's name, which answers the request as it is told. PythonExec has the real one."""

    HANGS = 99
    SOURCE = ("#include <stdio.h>\n"
              "#include <unistd.h>\n"
              "int main(int count, char **words) {\n"
              "    while (count > 3 && STATUS == 99) pause();\n"
              "    if (count > 3) { fputs(\"Traceback\\nRuntimeError: not now\\n\", stderr); return STATUS; }\n"
              "    puts(\"ready\"); fflush(stdout);\n"
              "    for (volatile long n = 0;; n++) {}\n"
              "}\n")

    def program(self, name, status):
        source, path = self.directory / "python.c", self.directory / name
        source.write_text(self.SOURCE)
        subprocess.run(["cc", f"-DSTATUS={status}", source, "-o", path], check=True)
        program = Program(self, path)
        self.assertEqual(program.line(), "ready")
        return program

    def scripts(self):
        return set(Path("/tmp").glob("cuspan-attach-*/script"))

    def test_it_refuses(self):
        before = self.scripts()
        self.refused(self.program("python3.14", 1), "and Python refuses sys.remote_exec: RuntimeError: not now\n", options=("--timeout", "50"))
        self.assertEqual(self.scripts() - before, set())

    def test_it_does_not_come(self):
        """The script stays, because it may be read later, and then removes itself."""
        before = self.scripts()
        self.refused(self.program("python3.15", 0), "its main thread ran no Python within 50 ms", options=("--timeout", "50"))
        left, = self.scripts() - before
        self.assertEqual((left.stat().st_mode & 0o777, left.parent.stat().st_mode & 0o777), (0o600, 0o700))
        subprocess.run([sys.executable, left], check=True)
        self.assertFalse(left.parent.exists())

    def test_it_hangs(self):
        before = self.scripts()
        self.refused(self.program("python3.14", self.HANGS), "its interpreter gave no answer in time", options=("--timeout", "50"))
        self.assertEqual(self.scripts() - before, set())

    def test_an_older_one_is_not_asked(self):
        self.refused(self.program("python3.13", 1), "no thread slept at a safe place within 50 ms: they run", options=("--timeout", "50"))


class Refusals(Case):
    def test_no_process(self):
        self.refused(2**22 - 3, "there is no process")

    def test_a_thread_of_the_kernel(self):
        if not Path("/proc/2/comm").exists() or Path("/proc/2/comm").read_text() != "kthreadd\n":
            self.skipTest("this container does not show the kernel's threads")
        self.refused(2, "is a thread of the kernel")

    def test_a_zombie(self):
        program = subprocess.Popen(["true"])
        while "\nState:\tZ" not in Path(f"/proc/{program.pid}/status").read_text():
            time.sleep(0.01)
        self.refused(program, "zombie")
        program.wait()

    def test_stopped(self):
        program = self.host("read")
        program.process.send_signal(signal.SIGSTOP)
        while "\nState:\tT" not in Path(f"/proc/{program.pid}/status").read_text():
            time.sleep(0.01)
        self.refused(program, "is stopped", f"kill -CONT {program.pid}")
        program.process.send_signal(signal.SIGCONT)
        self.assert_unharmed(program)

    def test_traced(self):
        strace = Program(self, sys.executable, "-c", (
            "import ctypes, sys, time\n"
            "libc = ctypes.CDLL(None)\n"
            "print(libc.ptrace(0x4206, int(sys.argv[1]), None, None), flush=True)\n"
            "input()\n"), (program := self.host("read")).pid)
        self.assertEqual(strace.line(), "0")
        self.refused(program, "is traced by python", f"(PID {strace.pid})")
        strace.end()
        self.assert_unharmed(program)

    def test_a_static_program(self):
        program = Program(self, BUILD / "attach_host_static", "read")
        self.assertEqual(program.line(), "ready")
        self.refused(program, "is linked statically")
        self.assert_unharmed(program)

    def test_32_bits(self):
        compiler, source, name = shutil.which("gcc"), self.directory / "small.c", self.directory / "small"
        source.write_text('void _start(void) { for (;;) __asm__ volatile("int $0x80" : : "a"(29)); }')  # pause()
        made = compiler and subprocess.run([compiler, "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pie", "-no-pie", source,
                                            "-o", name], check=False, stderr=subprocess.DEVNULL).returncode == 0
        if not made:
            self.skipTest("no compiler for 32-bit programs here")
        try:
            program = Program(self, name)
        except OSError as error:
            self.skipTest(f"this kernel runs no 32-bit programs: {error}")
        self.refused(program, "is a 32-bit program")
        self.assertIsNone(program.process.poll())

    def test_musl(self):
        compiler, source, name = shutil.which("musl-gcc"), self.directory / "small.c", self.directory / "small"
        if not compiler:
            self.skipTest("no musl-gcc: apt-get install musl-tools")
        source.write_text('#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); getchar(); puts("over"); return 0; }')
        for options, words in (((), "uses musl"), (("-static",), "is linked statically")):
            subprocess.run([compiler, *options, source, "-o", name], check=True)
            program = Program(self, name)
            self.assertEqual(program.line(), "ready")
            self.refused(program, words)
            self.assertEqual(program.ask(), "over")
            program.end()

    def test_seccomp(self):
        program = self.host("forbid", MPROTECT, "kill")
        said = self.refused(program, "seccomp filter")
        if os.geteuid() == 0 and "only root" not in said:
            self.assertIn("does not allow mprotect (kills the process)", said)
        self.assert_unharmed(program)
        program = self.host("forbid", SOCKET, "error")
        self.refused(program, "seccomp filter")
        self.assert_unharmed(program)

    def test_a_seccomp_filter_that_allows_it(self):
        if os.geteuid() != 0 or "Seccomp:\t0" not in Path("/proc/self/status").read_text():
            self.skipTest("needs root without a filter of its own, to read filters")
        program = self.host("forbid", 4095, "kill")
        self.attach(program)
        self.assert_unharmed(program)

    def test_no_safe_thread(self):
        program = self.host("busy", 2)
        self.refused(program, "no thread slept at a safe place within 200 ms", options=("--timeout", 200))
        self.assertIsNone(program.process.poll())
        self.assertNotIn("libcuspan", self.maps(program))

    def test_a_stack_of_its_own_kind(self):
        program = self.host("coroutine")
        self.refused(program, "no thread slept", options=("--timeout", 200))
        self.assert_unharmed(program)

    def test_a_signal_handler(self):
        program = self.host("handler")
        self.refused(program, "no thread slept", options=("--timeout", 200))
        self.assert_unharmed(program)

    def test_another_user_s_rights(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to make a set-user-ID program")
        name = self.directory / "with_rights"
        shutil.copy(HOST, name)
        os.chown(name, NOBODY, NOBODY)
        name.chmod(0o4755)
        if os.statvfs(name).f_flag & os.ST_NOSUID:
            self.skipTest("the file system of temporary files knows no set-user-ID")
        program = Program(self, name, "read")
        self.assertEqual(program.line(), "ready")
        self.refused(program, "runs with another user's rights")
        self.assert_unharmed(program)

    def test_no_permission(self):
        if os.geteuid() != 0:
            self.refused(1, "belongs to user", "sudo cuspan attach 1")
            return
        program = self.host("read")
        shutil.copy(BUILD / "cuspan", self.directory)
        done = subprocess.run([self.directory / "cuspan", "attach", "--library", DOUBLE, str(program.pid)], user=NOBODY, group=NOBODY,
                              env=CLEAN, text=True, check=False, capture_output=True)
        if "Permission denied" in done.stderr:
            self.skipTest("other users cannot read the folder of this build")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"belongs to user root; run: sudo cuspan attach {program.pid}", done.stderr)
        self.assert_unharmed(program)

    def test_root_without_the_capability(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        program = self.host("read", user=NOBODY, group=NOBODY)
        done = subprocess.run(["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", BUILD / "cuspan", "attach",
                               "--library", DOUBLE, str(program.pid)], env=CLEAN, text=True, check=False, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("without CAP_SYS_PTRACE", done.stderr)
        self.assert_unharmed(program)

    def test_what_is_said_about_yama(self):
        """The level is that of a file in another mount namespace, and the refusal is that of a program that nobody may read, so only the
        text is tried. test_yama is for kernels that have it."""
        name, command = self.directory / "unreadable", self.directory / "cuspan"
        shutil.copy(HOST, name)
        name.chmod(0o711)
        shutil.copy(BUILD / "cuspan", command)
        script = ("mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo $0 >/proc/sys/kernel/yama/ptrace_scope && "
                  f"exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups \"$@\"")
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "sh", "-c", script, "0", "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("needs root, mount namespaces and setpriv")
        program = Program(self, name, "read", user=NOBODY, group=NOBODY)
        self.assertEqual(program.line(), "ready")
        for level, said in ((0, "does not let others read its memory"), (1, "ptrace_scope is 1, which leaves it to root; run: sudo cuspan attach"),
                            (2, "ptrace_scope is 2, which leaves it to root"), (3, "ptrace_scope is 3, which forbids it to everyone")):
            done = subprocess.run(["unshare", "-m", "sh", "-c", script, str(level), command, "attach", "--library", DOUBLE, str(program.pid)],
                                  env=CLEAN, text=True, check=False, capture_output=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn(said, done.stderr)
        self.assert_unharmed(program)

    def test_yama(self):
        scope = Path("/proc/sys/kernel/yama/ptrace_scope")
        if not scope.exists():
            self.skipTest("this kernel has no Yama")
        if os.geteuid() == 0:
            self.skipTest("root may attach with Yama's levels 0 to 2; run this test as a user")
        program = self.host("read")
        if scope.read_text().strip() == "0":
            self.attach(program)
        else:
            self.refused(program, "kernel.yama.ptrace_scope is " + scope.read_text().strip())


class Cupti(Case):
    """Whether a CUPTI is there is known before anything is loaded."""

    def setUp(self):
        super().setUp()
        self.own = self.directory / "own"
        self.own.mkdir()
        shutil.copy(DOUBLE, self.own)
        if any(Path(path).exists() for path in ("/usr/local/cuda", "/usr/lib/x86_64-linux-gnu/libcupti.so.12",
                                                "/usr/lib/x86_64-linux-gnu/libcupti.so.13")):
            self.skipTest("this machine has a CUDA toolkit")

    def assert_refused(self, program, *parts, options=()):
        self.refused(program, *parts, options=("--library", self.own / "libcuspan.so", *options))
        self.assert_unharmed(program)
        self.assertNotIn("libcuspan", self.maps(program))

    def attached(self, program, *options):
        self.attach(program, "--library", self.own / "libcuspan.so", *options)
        self.assert_unharmed(program)

    @staticmethod
    def put(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def test_none(self):
        self.assert_refused(self.host("read"), "finds no CUPTI", "pip install nvidia-cuda-cupti there", "--set cupti.library=PATH")

    def test_named(self):
        program, place = self.host("read"), self.directory / "libcupti.so.13"
        named = "--set", f"cupti.library={place}"
        self.attached(program, "--set", "cupti.library=libcupti.so.13")  # the loader finds it, or not
        program = self.host("read")
        self.assert_refused(program, f"there is no file {place}; check cupti.library", options=named)
        place.touch()
        self.attached(program, *named)

    def test_named_elsewhere(self):
        """In the program's own settings, which the agent reads."""
        self.attached(self.host("read", env={**CLEAN, "CUSPAN_SET": "detail=full;cupti.library=/none"}))
        self.assert_refused(self.host("read", env={**CLEAN, "CUSPAN_SET": "detail=full"}), "finds no CUPTI")
        for variable in "CUSPAN_CONFIG_FILE", "OTEL_CONFIG_FILE":
            self.attached(self.host("read", env={**CLEAN, variable: "/none"}))

    def test_beside_the_agent(self):
        program = self.host("read")
        self.put(self.own / "cupti/libcupti.so.12")
        self.attached(program)

    def test_in_the_program_s_environment(self):
        for variable in "VIRTUAL_ENV", "CONDA_PREFIX":
            prefix = self.directory / variable
            program = self.host("read", env={**CLEAN, variable: str(prefix)})
            self.assert_refused(program, "finds no CUPTI")
            self.put(prefix / "lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13")
            self.attached(program)

    def test_beside_a_library_of_the_program(self):
        packages = self.directory / "site-packages"
        self.put(packages / "x/y")
        library = packages / "x/libcuda.so.1"
        shutil.copy(BUILD / "fake_driver/libcuda.so.1", library)
        program = self.host("read", env={**CLEAN, "LD_PRELOAD": str(library)})
        self.assert_refused(program, "finds no CUPTI")
        self.put(packages / "nvidia/cuda_cupti/lib/libcupti.so.12")
        self.attached(program)

    def test_of_the_program_s_own_prefix(self):
        for place in "bin/program", "path/program":
            program_file = self.directory / place
            self.put(program_file)
            shutil.copy(HOST, program_file)
            env = {**CLEAN, "PATH": f"{self.directory}/none:{self.directory}/path:{os.environ['PATH']}"}
            arguments = [str(program_file), "read"] if place.startswith("bin") else ["bash", "-c", "exec program read"]
            program = Program(self, *arguments, env=env)
            self.assertEqual(program.line(), "ready")
            self.assert_refused(program, "finds no CUPTI")
            self.put(self.directory / "lib/libcupti.so.13")
            self.attached(program)
            shutil.rmtree(self.directory / "lib")


class Starting(Case):
    """A program whose loader has not loaded the C library yet."""

    def test_it_waits_for_the_library(self):
        fifo = self.directory / "late.so"
        os.mkfifo(fifo)  # the loader waits in open()
        program = Program(self, HOST, "read", env={**CLEAN, "LD_PRELOAD": str(fifo)})
        while "ld-linux" not in self.maps(program):
            time.sleep(0.01)
        self.assertNotIn("libc.so.6", self.maps(program))
        self.refused(program, "is linked statically, or without glibc", options=("--timeout", 50))
        attach = subprocess.Popen([BUILD / "cuspan", "attach", str(program.pid)], stdout=subprocess.PIPE, text=True,
                                  env={**CLEAN, "CUSPAN_LIBRARY": str(DOUBLE), "CUSPAN_CONTROL_DIRECTORY": str(self.folder)})
        while attach.poll() is None and not Path(f"/proc/{attach.pid}/syscall").read_text().startswith(CLOCK_NANOSLEEP):
            time.sleep(0.001)
        fifo.open("wb").close()  # the loader reports an error and continues
        self.assertIn("is traced", attach.communicate(timeout=100)[0])
        self.assertEqual(program.line(), "ready")
        self.assert_unharmed(program)


class Library(Case):
    """Which file may be loaded."""

    def copied(self, name="libcuspan.so"):
        folder = self.directory / "copy"
        folder.mkdir()
        shutil.copy(DOUBLE, folder / name)
        shutil.copytree(DOUBLE.parent / "cupti", folder / "cupti")
        return folder / name

    def test_what_others_can_change(self):
        program = self.host("read")
        copy = self.copied()
        copy.chmod(0o666)
        self.refused(program, "can be changed by others", f"chmod go-w {copy}", options=("--library", copy))
        copy.chmod(0o644)
        copy.parent.chmod(0o777)
        self.refused(program, "can be changed by others", f"chmod go-w {copy.parent}", options=("--library", copy))
        copy.parent.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(copy, NOBODY, NOBODY)
            self.refused(program, "can be changed by others", options=("--library", copy))
            os.chown(copy, 0, 0)
        self.attach(program, "--library", copy)
        self.assert_unharmed(program)

    def test_what_cannot_be_loaded(self):
        program = self.host("read")
        copy = self.copied()
        copy.write_bytes(b"\x7fELF and nothing else")
        self.refused(program, "cannot load the agent", "file too short", options=("--library", copy))
        self.assert_unharmed(program)
        self.refused(program, "no agent at", options=("--library", self.directory / "none.so"))

    def test_an_agent_that_refuses(self):
        program = self.host("read")
        self.refused(program, "cannot trace: the double refuses", options=("--service-name", "double=refuses"))
        self.assert_unharmed(program)

    def test_an_agent_that_needs_long(self):
        program = self.host("read")
        slow = "--service-name", "double=slow"
        self.refused(program, "the agent is still starting after 50 ms", options=(*slow, "--timeout", 50))
        self.assert_unharmed(program)
        self.attach(program, *slow)

    def test_a_file_that_was_replaced(self):
        program = self.host("read")
        copy = self.copied()
        self.attach(program, "--library", copy)
        copy.unlink()
        self.refused(program, "whose file was replaced")
        self.assert_unharmed(program)

    def test_the_cupti_of_a_container(self):
        """Below its root, and not below ours, wherever its links lead."""
        def prepare(root):
            (root / str(DOUBLE.parent).lstrip("/") / "cupti/libcupti.so.13").unlink()
            (self.directory / "prefix/lib").mkdir(parents=True)
            (self.directory / "prefix/lib/libcupti.so.13").touch()
            (root / "link").symlink_to(self.directory / "prefix")
        program = self.in_another_root(prepare, CONDA_PREFIX="/link")
        self.refused(program, "finds no CUPTI")
        self.assert_unharmed(program)
        shutil.copytree(self.directory / "prefix", self.directory / "root" / str(self.directory / "prefix").lstrip("/"))
        self.attach(program)

    def in_another_root(self, change, **environment):
        """A host in a container: another root, where `change` may plant something below the library's path."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to change the root directory")
        root = self.directory / "root"
        for file in (HOST, DOUBLE, Path("/lib64/ld-linux-x86-64.so.2"), *map(Path, re.findall(r"=> (\S+)", subprocess.run(
                ["ldd", HOST], capture_output=True, text=True, check=True).stdout))):
            place = root / str(file.parent).lstrip("/")
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.resolve(), place / file.name)
        shutil.copytree(DOUBLE.parent / "cupti", root / str(DOUBLE.parent).lstrip("/") / "cupti")
        change(root)
        program = Program(self, "chroot", root, HOST, "read", env={**CLEAN, **environment})
        self.assertEqual(program.line(), "ready")
        return program

    def container(self, change=lambda root: None):
        """A host in another root without the agent, which uses the driver, in a group that is named as a container's."""
        def prepare(root):
            (root / str(DOUBLE).lstrip("/")).unlink()
            shutil.copy(BUILD / "fake_driver/libcuda.so.1", root)
            change(root)
        return self.in_group(self.in_another_root(prepare, LD_PRELOAD="/libcuda.so.1"))

    def in_group(self, program):
        hierarchies = [path.parent for path in (Path("/sys/fs/cgroup/cgroup.procs"), Path("/sys/fs/cgroup/pids/cgroup.procs")) if path.exists()]
        if not hierarchies or not os.access(hierarchies[0], os.W_OK):
            self.skipTest("no control groups can be made here")
        program.container = f"c0ffee{program.pid:08x}".ljust(64, "0")
        place = hierarchies[0] / f"docker-{program.container}.scope"
        place.mkdir()
        self.addCleanup(place.rmdir)
        self.addCleanup(program.end)
        (place / "cgroup.procs").write_text(str(program.pid))
        return program

    def attach_container(self, program, **more):
        return self.command("attach", "--container", program.container, **more)

    def test_a_container_by_name(self):
        program = self.container()
        self.assertIn(f"(PID {program.pid}) is traced", self.attach_container(program).stdout)
        self.assertRegex(self.maps(program), r"/root/\.cuspan-[\d.]+/libcuspan\.so")
        self.assert_unharmed(program)
        self.assertIn("no container", self.attach_container(program, status=1).stderr)  # it has an agent now
        self.assertIn("no container none has", self.command("attach", "--container", "none", status=1).stderr)

    def test_users_of_a_container(self):
        """The library belongs to the root of the process's user namespace, and the process to another user of it."""
        code = ("import ctypes, os, sys\n"
                "if ctypes.CDLL(None).unshare(0x10000000): sys.exit(1)\n"
                "print('apart', flush=True); input()\n"
                "os.setgid(7); os.setuid(7)\n"
                "os.execve(sys.argv[1], [sys.argv[1], 'read'], {})\n")
        program = Program(self, sys.executable, "-c", code, HOST)
        if os.geteuid() != 0 or program.line() != "apart":
            self.skipTest("needs root and user namespaces")
        for name in "uid_map", "gid_map":
            Path(f"/proc/{program.pid}/{name}").write_text("0 100000 1000\n")
        self.assertEqual(program.ask(), "ready")
        self.assertRegex(Path(f"/proc/{program.pid}/status").read_text(), r"Uid:\t100007\t")
        copy = self.copied()
        for path in copy, copy.parent:
            os.chown(path, 100000, 100000)
        self.attach(program, "--library", copy)
        self.assert_unharmed(program)
        os.chown(copy, 100001, 100001)
        self.refused(program, "can be changed by others", options=("--library", copy))

    def test_several_containers(self):
        programs = [self.container()]
        programs.append(Program(self, "chroot", self.directory / "root", HOST, "read", env={**CLEAN, "LD_PRELOAD": "/libcuda.so.1"}))
        self.assertEqual(programs[1].line(), "ready")
        self.in_group(programs[1])
        said = self.command("attach", "--container", "c0ffee", status=1).stderr
        self.assertIn("several containers are named c0ffee; name one by its ID: c0ffee", said)
        for program in programs:
            self.assert_unharmed(program)
            self.assertNotIn("libcuspan", self.maps(program))
        self.assertIn("--all and --container exclude each other", self.command("attach", "--all", "--container", "x", status=2).stderr)
        self.assertIn("--container and 1 exclude each other", self.command("attach", "--container", "x", "1", status=2).stderr)

    def test_a_hostile_container(self):
        """Which has planted a link, or lets others write: nothing outside it changes, and nothing of it is loaded."""
        version = self.command("--version").stdout.split()[1]
        target = self.directory / "target"
        target.mkdir()
        for plant, part in ((lambda root: (root / f".cuspan-{version}").symlink_to("../target"), "through a link"),
                            (lambda root: (root / f".cuspan-{version}").symlink_to(target), "through a link"),
                            (lambda root: (root / f".cuspan-{version}").write_bytes(b""), "Not a directory"),
                            (lambda root: root.chmod(0o777), "can be changed by others")):
            with self.subTest(part):
                program = self.container(plant)
                said = self.attach_container(program, status=1).stderr
                self.assertIn(part, said)
                self.assert_unharmed(program)
                self.assertNotIn("libcuspan", self.maps(program))
                self.assertEqual(list(target.iterdir()), [])
                shutil.rmtree(self.directory / "root")

    def test_a_container_with_the_agent(self):
        program = self.in_another_root(lambda root: None)
        self.attach(program)
        self.assert_unharmed(program)

    def test_a_container_without_it(self):
        program = self.in_another_root(lambda root: (root / str(DOUBLE).lstrip("/")).unlink())
        self.refused(program, "the process does not see", "copy the agent there")
        self.assert_unharmed(program)

    def test_a_planted_link(self):
        """To a file outside the container, or to the container's own."""
        def plant(root):
            place = root / str(DOUBLE.parent).lstrip("/")
            shutil.rmtree(place)
            place.symlink_to("../" * 20 + str(DOUBLE.parent).lstrip("/"))
        program = self.in_another_root(plant)
        self.refused(program, "through a link")
        self.assert_unharmed(program)


class Kills(Case):
    """Kill -9 of the command before and after each of its calls that touch the target."""

    def kill_at_each_step(self, mode):
        for steps in range(1, 400):
            program = self.host(mode)
            env = {**CLEAN, "CUSPAN_LIBRARY": str(DOUBLE), "CUSPAN_CONTROL_DIRECTORY": str(self.folder)}
            done = subprocess.run([str(BUILD / "kill_at"), str(steps), str(BUILD / "cuspan"), "attach", str(program.pid)],
                                  env=env, text=True, check=False, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            with self.subTest(mode, step=steps):
                self.assertIn(done.returncode, (0, 9), done.stdout + done.stderr)
                self.assert_unharmed(program)
                self.assertNotIn("rwxp", self.maps(program))
                if steps % 8 == 0:
                    self.attach(program)
                    self.assert_unharmed(program)
            program.end()
            if done.returncode != 9:
                return steps
        return 0

    def test_while_it_reads(self):
        self.assertGreater(self.kill_at_each_step("read"), 50)

    def test_while_it_naps(self):
        self.assertGreater(self.kill_at_each_step("nap"), 50)


class Agent(Case):
    """The real agent."""

    library = BUILD / "libcuspan.so"

    def setUp(self):
        super().setUp()
        self.spans = self.directory / "spans.jsonl"

    def replaying(self, *steps, recording="vector_add", **variables):
        settings = {"control.directory": self.folder, "exit_deadline_ms": 60000, "cupti.library": BUILD / "libcuspan-replay.so",
                    "accounts_file": self.directory / "report"}
        env = {**CLEAN, "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items()), **variables}
        return Program(self, BUILD / "control_host", BUILD / "libcuspan-replay.so", ROOT / f"examples/recordings/{recording}.cuspanrec",
                       BUILD / "libcuspan.so", *steps, env=env)

    def report(self, pid):
        found = json.loads((self.directory / f"report.{pid}").read_text())
        self.assertEqual(accounts.differences(found), [])
        return found

    def next_line(self, program, last="line: 0"):
        while (said := program.line()) != last:
            self.assertTrue(said, program.process.stderr.read() if program.process.poll() is not None else "")

    PYTHON = """import ctypes, sys
double = ctypes.CDLL(sys.argv[1])
assert double.cuspan_replay_load(sys.argv[2].encode(), ctypes.create_string_buffer(4096)) == 0
line, path = '', list(sys.path)
names = {'names', *globals()}
print('ready', flush=True)
for line in sys.stdin:
    print('cuspan_auto' in sys.modules, set(globals()) == names, sys.path == path, flush=True)
"""

    def python(self, **variables):
        settings = f"control.directory={self.folder};cupti.library={BUILD / 'libcuspan-replay.so'}"
        program = Program(self, sys.executable, "-c", self.PYTHON, BUILD / "libcuspan-replay.so", ROOT / "examples/recordings/vector_add.cuspanrec",
                          env={**CLEAN, "CUSPAN_SET": settings, **variables})
        self.assertEqual(program.line(), "ready")
        return program

    def test_python_loads_its_hooks(self):
        """It does so when its main thread runs again, and nothing else changes in the program."""
        program = self.python()
        said = self.attach(program, "--file", self.spans).stdout
        self.assertIn("Python loads its hooks when its main thread next runs Python", said)
        self.assertNotIn("what needs Python's hooks", said)
        for _ in range(100):  # the interpreter looks between two instructions of its choice
            if (said := program.ask()) != "False True True":
                break
        self.assertEqual(said, "True True True")

    def test_hooks_that_others_can_write_are_not_loaded(self):
        for name in "libcuspan.so", "libcuspan-export.so", "python.zip":
            shutil.copy(BUILD / name, self.directory / name)
        (self.directory / "python.zip").chmod(0o666)
        self.library = self.directory / "libcuspan.so"
        program = self.python()
        self.assertIn("what needs Python's hooks", self.attach(program, "--file", self.spans).stdout)
        for _ in range(3):
            self.assertEqual(program.ask(), "False True True")

    def test_before_the_first_call(self):
        """Everything is traced, as if the agent had been there from the start."""
        program = self.replaying("line", "play-waiting")
        said = self.attach(program, "--file", self.spans).stdout
        self.assertRegex(said, r"^control_host \(PID \d+\) is traced; its thread \d+ was stopped for .*, and the agent started in .*\n")
        self.assertEqual(said.count("unknown after an attach"), 1)
        program.ask()
        self.assertEqual(program.process.wait(), 0, program.process.stderr.read())
        started = self.replaying("inject", "line", "play-waiting", OTEL_TRACES_EXPORTER="console")
        started.process.communicate("\n")
        found, usual = self.report(program.pid), self.report(started.pid)
        self.assertGreater(found["spans"], 20)
        self.assertEqual(found["spans"], usual["spans"])
        for key in "calls_captured", "activities_captured":
            self.assertEqual((key, found["counters"][key]), (key, usual["counters"][key]))

    def test_in_the_middle(self):
        """The accounts add up; its own environment is unchanged."""
        for _ in range(8):
            program = self.replaying(*["play-waiting"] * 40, "line", "play-waiting")
            self.next_line(program, "play-waiting: 0")
            environment = Path(f"/proc/{program.pid}/environ").read_bytes()
            self.attach(program, "--file", self.spans, "--timeout", 60000)
            self.assertEqual(Path(f"/proc/{program.pid}/environ").read_bytes(), environment)
            program.ask()
            self.assertEqual(program.process.wait(), 0, program.process.stderr.read())
            self.assertGreater(self.report(program.pid)["counters"]["calls_captured"], 0)

    def test_children(self):
        """A forked child continues, and has no agent."""
        program = self.replaying("line", "play-waiting", "child", "play-waiting")
        self.attach(program, "--file", self.spans)
        program.ask()
        self.assertIn("play-waiting: 0", program.process.stdout.read())
        self.assertEqual(program.process.wait(), 0, program.process.stderr.read())
        self.assertGreater(self.report(program.pid)["spans"], 20)
        self.assertEqual([path.name for path in self.directory.glob("report.*")], [f"report.{program.pid}"])

    def test_settings(self):
        """Options go before the program's environment, and other settings of it stay."""
        program = self.replaying("line", "play-waiting", OTEL_SERVICE_NAME="of-the-program", OTEL_RESOURCE_ATTRIBUTES="a=b")
        self.attach(program, "--file", self.spans, "--service-name", "of-the-command", "--set", "session.name=named")
        program.ask()
        self.assertEqual(program.process.wait(), 0)
        resource = json.dumps(json.loads(self.spans.read_text().splitlines()[0])["resourceSpans"][0]["resource"])
        self.assertIn("of-the-command", resource)
        self.assertNotIn("of-the-program", resource)
        self.assertIn('{"key": "a", "value": {"stringValue": "b"}}', resource)

    def test_graphs(self):
        """Before CUPTI 13.5, their records are never enabled, whatever the settings say: they have a span for each node."""
        for version, settings, has_records in (("12.9", {}, False), ("13.0", {"cupti.graph_records": "always"}, False),
                                               ("13.5", {}, True)):
            with self.subTest(version):
                program = self.replaying("line", "play-waiting", recording="graph", CUSPAN_REPLAY_VERSION=version)
                self.spans.unlink(missing_ok=True)
                options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
                said = self.attach(program, "--file", self.spans, *options).stdout
                self.assertEqual("CUPTI before 13.5: graphs have one span per node" in said, not has_records)
                program.ask()
                self.assertEqual(program.process.wait(), 0)
                self.report(program.pid)
                activities = re.findall(r'"cuda.activity","value":\{"stringValue":"(graph|kernel)"', self.spans.read_text())
                self.assertEqual("graph" in activities, has_records)

    def test_wrong_settings_change_nothing(self):
        program = self.host("read")
        said = self.command("attach", "--set", "detail=no", program.pid, status=1).stderr
        self.assertIn("detail", said)
        self.assertNotIn("libcuspan", self.maps(program))

    def test_a_program_that_has_an_agent(self):
        program = self.replaying("inject", "line", CUSPAN_START_ON="control", OTEL_TRACES_EXPORTER="console")
        self.next_line(program, "inject: 1")
        self.assertIn("has an agent, and is traced again", self.attach(program).stdout)
        self.assertIn("has an agent, and is traced already", self.attach(program).stdout)
        self.refused(program, "has an agent already, whose settings cannot change", options=("--detail", "full"))

    def test_no_cupti(self):
        """Which only the agent can find: it is loaded then."""
        program = self.replaying("line", CUSPAN_SET=f"cupti.library={self.directory}/none.so")
        self.refused(program, "has the agent now, which cannot trace: ", "CUPTI", options=("--file", self.spans))

    def test_cycles(self):
        """A hundred of attach and detach: no more memory, threads and descriptors."""
        program = self.replaying("line", "play-waiting", "line", "play-waiting")
        self.attach(program, "--file", self.spans)
        self.command("detach", program.pid)
        before = None
        for number in range(100):
            self.attach(program)
            self.command("detach", program.pid)
            if number == 9:
                before = self.sizes(program)
        after = self.sizes(program)
        self.assertEqual(after[:2], before[:2])
        self.assertLessEqual(after[2], before[2] + 512)
        program.ask()
        self.next_line(program, "play-waiting: 0")
        self.attach(program)
        program.ask()
        self.assertEqual(program.process.wait(), 0)
        self.report(program.pid)

    @staticmethod
    def sizes(program):
        status = Path(f"/proc/{program.pid}/status").read_text()
        return (int(re.search(r"Threads:\s+(\d+)", status)[1]), len(os.listdir(f"/proc/{program.pid}/fd")),
                int(re.search(r"VmRSS:\s+(\d+)", status)[1]))


class Commands(Case):
    def test_usage(self):
        self.assertIn("name a PID or program, or use --all", self.command("attach", status=2).stderr)
        self.assertIn("name only one", self.command("attach", "1", "2", status=2).stderr)
        self.assertIn("exclude each other", self.command("attach", "--all", "1", status=2).stderr)
        self.assertIn("need --all", self.command("attach", "--all-users", "1", status=2).stderr)
        self.assertIn("exclude each other", self.command("attach", "--file", "-", "--console", "1", status=2).stderr)
        if os.geteuid() == 0:
            self.assertIn("there is no user", self.command("attach", "--all", "--user", "no-such-user", status=2).stderr)

    def test_names(self):
        name = self.directory / "program_of_this_test"
        shutil.copy(HOST, name)
        self.assertIn("no process is named program_of_this_test", self.attach("program_of_this_test", status=1).stderr)
        programs = [Program(self, name, "read") for _ in range(2)]
        for program in programs:
            self.assertEqual(program.line(), "ready")
        said = self.attach("program_of_this_test", status=1).stderr
        for program in programs:
            self.assertIn(f" {program.pid}", said)
        programs[1].end()
        self.assertIn(f"(PID {programs[0].pid}) is traced", self.attach("program_of_this_test").stdout)
        self.assert_unharmed(programs[0])

    def using_the_driver(self, **options):
        code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('ready', flush=True); input()"
        program = Program(self, shutil.which("python3", path="/usr/bin") or sys.executable, "-c", code,
                          BUILD / "fake_driver/libcuda.so.1", **options)
        return program if program.line() == "ready" else None

    def test_lists(self):
        """`ps` and `top` offer an attach to processes that have loaded the driver, and have no agent."""
        program, other = self.using_the_driver(), self.host("read")
        offer = rf"(?m)^ +{program.pid} .* no agent: cuspan attach {program.pid}$"
        self.assertRegex(self.command("ps", status=1).stdout, offer)
        self.assertEqual(json.loads(self.command("ps", "--json", status=1).stdout), [])
        traced = Program(self, BUILD / "control_host", BUILD / "libcuspan-replay.so", ROOT / "examples/recordings/vector_add.cuspanrec",
                         BUILD / "libcuspan.so", "inject", "line",
                         env={**CLEAN, "CUSPAN_SET": f"control.directory={self.folder}", "CUSPAN_START_ON": "control",
                              "OTEL_TRACES_EXPORTER": "console"})
        self.assertEqual(traced.line(), "inject: 1")
        listed = self.command("ps").stdout
        self.assertRegex(listed, offer)
        self.assertRegex(listed, rf"(?m)^ +{traced.pid} .* waiting: ")
        self.assertNotIn(f"attach {traced.pid}", listed)
        self.assertNotIn(f"attach {other.pid}", listed)
        shown = self.command("top", "--once", "--interval", 0.1).stdout
        self.assertRegex(shown, r"without an agent: .*\(PID \d+\)")

    def test_all(self):
        """Not those of this user, because other tests may run, and programs of the person who runs this one."""
        if os.geteuid() != 0 or not shutil.which("getent") or subprocess.run(
                ["getent", "passwd", "nobody"], check=False, capture_output=True).returncode != 0:
            self.skipTest("needs root and a user named nobody")
        uid = int(subprocess.run(["getent", "passwd", "nobody"], check=True, capture_output=True, text=True).stdout.split(":")[2])
        programs = [self.using_the_driver(user=uid, group=uid) for _ in range(2)]
        if None in programs:
            self.skipTest("other users cannot read the folder of this build")
        other = self.using_the_driver()
        said = self.command("attach", "--all", "--user", "nobody").stdout
        for program in programs:
            self.assertIn(f"(PID {program.pid}) is traced", said)
            self.assertIn("attach_double/libcuspan.so", self.maps(program))
        self.assertEqual(said.count("unknown after an attach"), 1)
        self.assertNotIn("no CUDA driver", said)
        self.assertNotIn("libcuspan", self.maps(other))
        self.assertIn("no process of this user", self.command("attach", "--all", "--user", "nobody", status=1).stderr)

    def test_detach_without_an_agent(self):
        self.assertIn("no agent found", self.command("detach", "1", status=1).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
