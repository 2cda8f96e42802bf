#!/usr/bin/env python3
"""The wheel in clean environments of the Python that runs this file. run.sh calls it with each Python of the machine.

    wheel_test.py --wheel FILE --recording vector_add.cuspanrec [--other-wheel FILE] [TEST...]
    wheel_test.py --wheel FILE --recording ... --online cuda13|torch       only the tests that install from PyPI

Needs nothing but Python and its venv. As root, it runs the tests of an unprivileged user as nobody. Without --online,
nothing is downloaded. The last line is "N passed, N failed, N skipped".
"""

import argparse
import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import venv
import zipfile
from pathlib import Path

OPTIONS = argparse.Namespace()
PIP = Path()  # the folder of packages of an environment that has pip
IS_ROOT = os.geteuid() == 0
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if IS_ROOT else {}
SPANS = 33  # of the recording: 13 calls, 19 kernels, copies and fills, 1 session
DROPPED = re.compile("CUSPAN_|OTEL_|CUDA_|NVTX_|PIP_|PYTHON|VIRTUAL_ENV|CONDA_|LD_|TRACE|XDG_")


def environment(home, path=None, **more):
    clean = {name: value for name, value in os.environ.items() if not DROPPED.match(name)}
    if OPTIONS.online:
        clean.update({name: value for name, value in os.environ.items() if name.startswith("PIP_")})
    else:
        clean.update(PIP_CONFIG_FILE="/dev/null", PIP_NO_INDEX="1")
    clean.update(HOME=str(home), PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_WARN_SCRIPT_LOCATION="1", PYTHONNOUSERSITE="")
    clean["PATH"] = f"{path}:/usr/bin:/bin" if path else "/usr/bin:/bin"
    return {**clean, **more}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = Path(tempfile.mkdtemp(prefix="cuspan-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.work, True)
        cls.work.chmod(0o755)
        cls.home = cls.work / "home"
        cls.home.mkdir()
        cls.venv = cls.work / "venv"
        venv.create(cls.venv, symlinks=True)  # without pip, which would be most of its time
        cls.python = cls.venv / "bin/python"
        cls.command = cls.venv / "bin/cuspan"
        cls.wheel = shutil.copy(OPTIONS.wheel, cls.work)  # readable by nobody
        cls.recording = shutil.copy(OPTIONS.recording, cls.work)
        cls.version = Path(cls.wheel).name.split("-")[1]

    @classmethod
    def run_in(cls, command, home=None, check=True, path=None, variables=None, **options):
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, cwd=cls.work, timeout=1200, check=False,
                              env=environment(home or cls.home, path, **(variables or {})), **options)
        if check and done.returncode:
            raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    @classmethod
    def pip(cls, *arguments, python=None, **options):
        """That pip in another Python; old ones have no --python."""
        return cls.run_in([python or cls.python, "-m", "pip", *arguments], variables={"PYTHONPATH": str(PIP)}, **options)

    def doctor(self, only, command=None, **options):
        done = self.run_in([command or self.command, "doctor", "--json", "--only", only], check=False, **options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)["checks"]

    def check_replay(self, command, folder, **options):
        trace = folder / "trace.jsonl"
        done = self.run_in([*command, "replay", "--file", trace, self.recording], **options)
        requests = [json.loads(line) for line in trace.read_text().splitlines()]
        spans = [span for request in requests for resource in request["resourceSpans"]
                 for scope in resource["scopeSpans"] for span in scope["spans"]]
        trace.unlink()
        self.assertEqual(len(spans), SPANS)
        return done


def writable_folder(work):
    """A folder in which nobody may write."""
    folder = Path(tempfile.mkdtemp(dir=work))
    folder.chmod(0o777)
    return folder


class Installed(Case):
    """In a virtual environment."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pip("install", "-q", cls.wheel)
        cls.package = Path(cls.run_in([cls.python, "-c", "import cuspan; print(cuspan.__path__[0])"]).stdout.strip())
        cls.library = cls.package / "native/lib/cuspan/libcuspan.so"

    def test_version(self):
        for command in [self.command], [self.python, "-m", "cuspan"]:
            told = json.loads(self.run_in([*command, "version", "--json"]).stdout)
            self.assertEqual(told["version"], self.version)

    def test_replay(self):
        self.check_replay([self.command], self.work)

    def test_run(self):
        code = "import sys; print(sys.argv[1:]); print('error', file=sys.stderr); sys.exit(7)"
        done = self.run_in([self.command, "run", self.python, "-c", code, "a b", "--file"], check=False)
        self.assertEqual((done.returncode, done.stdout), (7, "['a b', '--file']\n"))
        self.assertTrue(done.stderr.startswith("error\n"), done.stderr)

    def test_run_finds_python_in_path(self):
        done = self.run_in(["cuspan", "run", "--quiet", "python", "-c", "import sys; print(sys.prefix)"], path=self.venv / "bin")
        self.assertEqual(done.stdout.strip(), str(self.venv))

    def test_run_keeps_signals(self):
        """Python ignores SIGPIPE. A program must not inherit that."""
        done = self.run_in([self.command, "run", "--quiet", "sh", "-c", "grep SigIgn: /proc/$$/status"])
        self.assertEqual(int(done.stdout.split()[1], 16) & (1 << 12 | 1 << 24), 0)

    def test_run_sets_the_wheels_agent(self):
        done = self.run_in([self.command, "run", "--quiet", "sh", "-c", "echo $CUDA_INJECTION64_PATH"])
        self.assertEqual(done.stdout.strip(), str(self.library))

    def test_run_adds_the_archive_for_python(self):
        """Also for a Python whose environment does not have the wheel."""
        archive = self.library.parent / "python.zip"
        done = self.run_in([self.command, "run", "--quiet", "sh", "-c", "echo $PYTHONPATH"])
        self.assertEqual(done.stdout.strip(), str(archive))
        code = "import sys; print(sys.modules['cuspan_auto'].__file__, [path for path in sys.path if 'cuspan' in path])"
        done = self.run_in([self.command, "run", "--quiet", "/usr/bin/env", sys.executable, "-c", code])
        self.assertEqual((done.stdout, done.stderr), (f"{archive}/cuspan_auto.py []\n", ""))

    def test_import(self):
        code = "import cuspan; print(cuspan.is_on(), cuspan.current_traceparent(), cuspan.library())"
        self.assertEqual(self.run_in([self.python, "-c", code]).stdout, f"False None {self.library}\n")

    def test_start_loads_the_wheels_agent(self):
        code = ("import cuspan\nprint(cuspan.start())\n"
                "print({line.split()[-1] for line in open('/proc/self/maps') if line.endswith('/libcuspan.so\\n')})")
        done = self.run_in([self.python, "-c", code])
        can_start, loaded = done.stdout.splitlines()
        self.assertEqual(loaded, str({str(self.library)}))
        if can_start == "False":  # no CUPTI here, or no driver
            self.assertRegex(done.stderr, r"\Acuspan: .*CUPTI.*; this process is not traced\n\Z")

    def test_doctor(self):
        (own,) = [line for line in self.doctor("injection.library") if str(self.library) in line["found"]]
        self.assertEqual(own["finding"], "ok")
        (module,) = self.doctor("injection.module")
        self.assertEqual(module["finding"], "ok", module)
        line = self.doctor("cupti.library")[0]
        self.assertTrue(line["finding"] == "ok" or "pip install nvidia-cuda-cupti" in line["mend"], line)

    def test_two_installations(self):
        """The agent beside the command that was called is used, and the doctor names both."""
        prefix = self.work / "prefix"  # as from a tarball
        shutil.copytree(self.package / "native", prefix)
        other = prefix / "lib/cuspan/libcuspan.so"
        folders = f"{prefix}/bin:{self.venv}/bin"
        for command, own, beside in (prefix / "bin/cuspan", other, self.library), (self.command, self.library, other):
            shell = [command, "run", "--quiet", "sh", "-c", "echo $CUDA_INJECTION64_PATH"]
            self.assertEqual(self.run_in(shell, path=folders).stdout.strip(), str(own))
            variables = {"CUDA_INJECTION64_PATH": str(beside), "NVTX_INJECTION64_PATH": str(beside)}
            shell[-1] = "echo $CUDA_INJECTION64_PATH $NVTX_INJECTION64_PATH"
            self.assertEqual(self.run_in(shell, variables=variables).stdout, f"{own} {own}\n")
            found = [line["found"] for line in self.doctor("injection.library", command, path=folders)]
            self.assertTrue(found[0].startswith(str(own)), found)
            self.assertTrue(any(f"also installed at {beside}" in text for text in found), found)
        shutil.rmtree(prefix)

    def test_unreadable_home(self):
        """A user without rights on the package and without a home."""
        home = self.work / "read-only"
        home.mkdir(mode=0o555)
        done = self.check_replay([self.command], writable_folder(self.work), home=home, **NOBODY)
        self.assertNotRegex(done.stderr, "(?i)home|denied|read-only")
        done = self.run_in([self.command, "run", self.python, "-c", "import cuspan; print(1)"], home=home, **NOBODY)
        self.assertEqual(done.stdout, "1\n")
        self.assertEqual(list(home.iterdir()), [])

    def broken_copy(self, change):
        """A copy of the package whose program is changed; the outcome of its command."""
        site = Path(tempfile.mkdtemp(dir=self.work))
        shutil.copytree(self.package, site / "cuspan")
        program = site / "cuspan/native/bin/cuspan"
        program.write_bytes(change(program.read_bytes()))
        done = self.run_in([self.python, "-m", "cuspan", "version"], check=False, variables={"PYTHONPATH": str(site)})
        self.assertEqual((done.returncode, done.stdout), (126, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_program_of_another_machine(self):
        text = self.broken_copy(lambda data: data[:18] + b"\x08\x00" + data[20:])  # MIPS
        self.assertIn("is for another machine (8), and this machine is", text)

    def test_without_glibcs_loader(self):
        text = self.broken_copy(lambda data: re.sub(rb"/ld-linux-(?=[\w.-]+\0)", b"/ld-absent-"[:10], data, count=1))
        self.assertIn("lacks the dynamic loader of glibc", text)

    def test_wheel_of_another_architecture(self):
        other = OPTIONS.other_wheel
        done = self.pip("install", "--force-reinstall", other, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("not a supported wheel on this platform", done.stderr)
        site = self.work / "unzipped"
        zipfile.ZipFile(other).extractall(site)
        (site / "cuspan/native/bin/cuspan").chmod(0o755)
        done = self.run_in([self.python, "-m", "cuspan", "version"], check=False, variables={"PYTHONPATH": str(site)})
        if done.returncode == 0:
            self.skipTest("this machine emulates the other architecture")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, "is for (aarch64|x86_64), and this machine is")


class Places(Case):
    """Other ways to install, and what remains after an uninstallation."""

    def files(self, folder):
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}

    def test_uninstall(self):
        before = self.files(self.venv)
        self.pip("install", "-q", self.wheel)
        self.assertIn("bin/cuspan", self.files(self.venv))
        self.check_replay([self.command], self.work)
        self.pip("uninstall", "-q", "-y", "cuspan")
        # pip also removes a folder of packages that is empty.
        packages = {name for name in before if name.endswith("/site-packages")}
        self.assertEqual(self.files(self.venv) | packages, before)
        self.assertEqual(list(self.venv.rglob("*cuspan*")), [])

    def test_target(self):
        target = self.work / "target"
        self.pip("install", "-q", "--target", target, self.wheel)
        variables = {"PYTHONPATH": str(target)}
        self.check_replay([target / "bin/cuspan"], self.work, variables=variables)
        self.check_replay([self.python, "-m", "cuspan"], self.work, variables=variables)
        code = "import cuspan; print(cuspan.library())"
        self.assertTrue(self.run_in([self.python, "-c", code], variables=variables).stdout.startswith(str(target)))

    def test_user(self):
        """pip install --user without root, as in a container."""
        home = writable_folder(self.work)
        user = {"python": sys.executable, "home": home, **NOBODY}
        # Debian's own Python refuses without this option, which older versions of pip do not have.
        managed = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists()
        allow = ["--break-system-packages"] if managed else []
        self.pip("install", "-q", "--user", *allow, self.wheel, **user)
        command = home / ".local/bin/cuspan"
        self.check_replay([command], home, home=home, **NOBODY)
        line = self.doctor("injection.library", command, home=home, **NOBODY)[0]
        # Some versions of pip make folders that only this user can read.
        self.assertRegex(line["found"], rf"\A{home}/.*libcuspan.so(, version| can be loaded, but other users)")
        self.pip("uninstall", "-q", "-y", *allow, "cuspan", **user)
        self.assertEqual(list(home.rglob("*cuspan*")), [])


class TooOld(Case):
    """On a system whose glibc is older than the wheel's files need."""

    def test_pip_refuses(self):
        done = self.pip("install", self.wheel, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("not a supported wheel on this platform", done.stderr)

    def test_unpacked_by_hand(self):
        site = self.work / "site"
        zipfile.ZipFile(self.wheel).extractall(site)
        done = self.run_in([self.python, "-m", "cuspan", "version"], check=False, variables={"PYTHONPATH": str(site)})
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (126, "", 1), done.stderr)
        self.assertRegex(done.stderr, r"\Acuspan: needs glibc 2\.\d+ or later, but this system has 2\.\d+; upgrade it")


def is_too_old():
    needed = re.search(r"manylinux_2_(\d+)_", Path(OPTIONS.wheel).name)
    return needed and int(needed.group(1)) > int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[1])


class Online(Case):
    """With packages from PyPI."""

    def test_extra(self):
        """The agent finds the CUPTI of the extra beside itself."""
        self.pip("install", "-q", f"{self.wheel}[{OPTIONS.online}]")
        self.expect_cupti(r"\(a Python package beside cuspan\)")

    def test_beside_torch(self):
        self.pip("install", "-q", "torch")
        self.pip("install", "-q", "--no-deps", self.wheel)
        self.expect_cupti("beside cuspan, which PyTorch also uses")
        code = "import cuspan, torch; print(cuspan.start(), torch.ones(2, 2).sum().item())"
        self.assertEqual(self.run_in([self.python, "-c", code]).stdout.split()[1], "4.0")
        code = "import torch; print((torch.ones(3) * 2).sum().item())"
        self.assertEqual(self.run_in([self.command, "run", "--quiet", self.python, "-c", code]).stdout, "6.0\n")
        self.check_replay([self.command], self.work)

    def expect_cupti(self, origin):
        found = [line["found"] for group in ("cupti.library", "cupti.others") for line in self.doctor(group)]
        self.assertTrue(any(re.search(origin, text) for text in found), found)


def tests_of(options):
    if options.online:
        name = "test_beside_torch" if options.online == "torch" else "test_extra"
        return unittest.TestSuite([Online(name)])
    loader = unittest.defaultTestLoader
    if not options.other_wheel:
        del Installed.test_wheel_of_another_architecture
    if is_too_old():
        return loader.loadTestsFromTestCase(TooOld)
    if options.tests:
        return loader.loadTestsFromNames(options.tests, sys.modules[__name__])
    return unittest.TestSuite([loader.loadTestsFromTestCase(case) for case in (Installed, Places)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", required=True)
    parser.add_argument("--recording", required=True)
    parser.add_argument("--other-wheel")
    parser.add_argument("--online", choices=["cuda12", "cuda13", "torch"])
    parser.add_argument("tests", nargs="*")
    parser.parse_args(namespace=OPTIONS)
    global PIP
    folder = tempfile.mkdtemp(prefix="cuspan-wheel-pip-")
    atexit.register(shutil.rmtree, folder, True)
    os.chmod(folder, 0o755)
    venv.create(folder, with_pip=True, symlinks=True)
    PIP = next(Path(folder).glob("lib/python3*/site-packages"))
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(tests_of(OPTIONS))
    failed = len(result.failures) + len(result.errors)
    for test, why in result.skipped:
        print(f"skipped: {test.id().split('.')[-1]}: {why}")
    print(f"{max(0, result.testsRun - failed - len(result.skipped))} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(failed > 0 or result.testsRun == 0)


if __name__ == "__main__":
    main()
