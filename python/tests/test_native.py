"""The native parts of a wheel: the command, and the agent that cuspan.start() loads. A copy of the package gets the
stub agent, and a program of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cuspan
from tests.support import ROOT, STUB, run_python

SCRIPT = '#!/bin/sh\necho "$0 $*"\ngrep SigIgn: /proc/$$/status\n'
PRINT_AGENT = """
import cuspan
print(cuspan.start(), *{line.split()[-1] for line in open("/proc/self/maps") if "libcuspan" in line})
"""


class Native(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuspan-native-")
        self.addCleanup(folder.cleanup)
        self.site = Path(folder.name)
        self.package = self.site / "cuspan"
        ignored = shutil.ignore_patterns("__pycache__", "native", "_wheel.py")
        shutil.copytree(Path(cuspan.__file__).parent, self.package, ignore=ignored)
        self.library = self.package / "native/lib/cuspan/libcuspan.so"
        self.program = self.package / "native/bin/cuspan"

    def add_parts(self, program=SCRIPT, glibc="2.17"):
        for path in self.library, self.program:
            path.parent.mkdir(parents=True)
        shutil.copy(STUB, self.library)
        self.program.write_bytes(program if isinstance(program, bytes) else program.encode())
        self.program.chmod(0o755)
        (self.package / "_wheel.py").write_text(f'GLIBC = "{glibc}"\nMACHINE = "x86_64"\n')

    def python(self, code, **environment):
        return run_python(
            code,
            PYTHONPATH=str(self.site),
            CUDA_INJECTION64_PATH=environment.pop("injected", ""),
            OTEL_PYTHON_CONTEXT="",
            **environment,
        )

    def command(self, *arguments, before=""):
        code = f"import sys\nsys.argv[1:] = {arguments!r}\n{before}\nfrom cuspan._cli import main\nmain()"
        return self.python(code)

    def fails(self, done, *parts):
        self.assertEqual(done.returncode, 126)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("cuspan: "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_command_runs_in_place(self):
        self.add_parts()
        done = self.command("run", "--file", "x y")
        self.assertEqual(done.returncode, 0, done.stderr)
        arguments, ignored = done.stdout.splitlines()
        self.assertTrue(arguments.endswith("native/bin/cuspan run --file x y"), arguments)
        self.assertEqual(int(ignored.split()[1], 16) & (1 << 12 | 1 << 24), 0)  # SIGPIPE, SIGXFSZ

    def test_module(self):
        self.add_parts()
        environment = {**os.environ, "PYTHONPATH": str(self.site)}
        done = subprocess.run(
            [sys.executable, "-m", "cuspan", "version"], env=environment, capture_output=True, text=True
        )
        self.assertIn("native/bin/cuspan version", done.stdout, done.stderr)

    def test_without_native_parts(self):
        self.fails(self.command("version"), "only Python files", "pip install cuspan")

    def test_program_of_another_machine(self):
        self.add_parts(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\x08\x00" + bytes(100))
        self.fails(self.command("version"), "is for another machine (8)", os.uname().machine, "pip install")

    def test_program_that_is_not_executable(self):
        self.add_parts()
        self.program.chmod(0o644)
        self.fails(self.command("version"), "Permission denied", "noexec", "chmod +x")

    def test_program_that_is_missing(self):
        self.add_parts()
        self.program.unlink()
        self.fails(self.command("version"), "No such file", "pip install --force-reinstall")

    def test_without_glibcs_loader(self):
        self.add_parts("#!/lib/no-such-loader.so\n")
        self.fails(self.command("version"), "lacks the dynamic loader of glibc", "glibc 2.17")

    def test_glibc_too_old(self):
        self.add_parts(glibc="99.1")
        self.fails(self.command("version"), "needs glibc 99.1 or later, but this system has 2.", "--no-binary")

    def test_musl(self):
        self.add_parts()
        for answer in ("''", "exec('raise ValueError')", "exec('raise OSError')"):
            done = self.command("version", before=f"import os\nos.confstr = lambda _: {answer}")
            self.fails(done, "has no glibc (musl", "glibc 2.17")

    def test_start_loads_the_wheels_agent(self):
        self.add_parts()
        done = self.python(PRINT_AGENT)
        self.assertEqual(done.stdout.split(), ["True", str(self.library)], done.stderr)

    def test_start_prefers_the_injected_agent(self):
        self.add_parts()
        done = self.python(PRINT_AGENT, injected=STUB)
        self.assertEqual(done.stdout.split(), ["True", os.path.realpath(STUB)], done.stderr)

    def test_start_explains_a_broken_agent(self):
        self.add_parts()
        self.library.write_text("no library")
        done = self.python(PRINT_AGENT)
        self.assertEqual(done.stdout.split(), ["False"])
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("cannot load the agent", done.stderr)
        self.assertIn(str(self.library), done.stderr)

    def test_source_archive_on_another_system(self):
        folder = ROOT / "python/_build"
        for change in 'sys.platform = "darwin"', "os.confstr = lambda _: ''":
            code = f"import os, sys\nsys.path.insert(0, {str(folder)!r})\nimport backend\nos.chdir({str(ROOT)!r})\n"
            done = self.python(f"{code}{change}\nbackend.build_wheel({str(self.site)!r})")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertIn("only Linux with glibc is supported", done.stderr)


if __name__ == "__main__":
    unittest.main()
