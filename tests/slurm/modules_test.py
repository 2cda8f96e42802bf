"""The modulefiles of deploy/slurm/, as the README installs them, in Lmod and in Environment Modules. slurm_test.py runs
these tests, and sets PREFIX and WORK."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy/slurm"
PREFIX = WORK = None
# The memory of the module systems, and variables that the shell changes.
BOOKKEEPING = re.compile("_|SHLVL|PWD|OLDPWD|LMOD_.*|__LMOD_.*|_ModuleTable.*|LOADEDMODULES|_LMFILES_|__MODULES_.*|MODULE.*|MANPATH|BASH_.*")


class ModuleCase:
    """The same for both; `init` makes the shell function `module`."""

    init = suffix = source = None

    @classmethod
    def setUpClass(cls):
        cls.folder = WORK / cls.__name__
        cls.folder.mkdir()
        readme = (DEPLOY / "README.md").read_text()
        commands = re.search(r"^```\n(PREFIX=.*?)^```$", readme, re.M | re.S)[1]
        if not cls.suffix:  # "use cuspan.tcl, and file names without .lua"
            commands = commands.replace("cuspan.lua", "cuspan.tcl").replace(".lua", "")
        for old, new in (("/opt/cuspan/bin", f"{PREFIX}/bin"), ("PREFIX=/opt/cuspan", f"PREFIX={PREFIX}"),
                         ("/etc/lmod/modules", str(cls.folder))):
            commands = commands.replace(old, new)
        subprocess.run(["bash", "-ec", commands], cwd=DEPLOY, check=True)
        cls.version = subprocess.run([f"{PREFIX}/bin/cuspan", "version"], capture_output=True, text=True, check=True).stdout.split()[1]

    def shell(self, script, **environment):
        env = {"PATH": "/usr/bin:/bin", "HOME": str(WORK), "LMOD_DISABLE_SAME_NAME_AUTOSWAP": "no", **environment}
        done = subprocess.run(["bash", "-c", f"{self.init}\nmodule use {self.folder}\n{script}"], env=env, capture_output=True,
                              text=True, timeout=300, check=False)
        self.err = " ".join(done.stderr.split())  # Lmod breaks lines
        return done.stdout

    def variables(self, text):
        pairs = (pair.split("=", 1) for pair in text.split("\0") if "=" in pair)
        return {key: value for key, value in pairs if not BOOKKEEPING.fullmatch(key)}

    def around(self, module, **environment):
        """The variables before, with and after the module."""
        out = self.shell(f"env -0; echo ---; module load {module}; env -0; echo ---; module unload {module}; env -0", **environment)
        return [self.variables(part) for part in out.split("---\n")]

    def test_cuspan_gives_the_command_and_traces_nothing(self):
        before, loaded, after = self.around("cuspan")
        changes = {key: value for key, value in loaded.items() if before.get(key) != value}
        self.assertEqual(changes, {"PATH": f"{PREFIX}/bin:/usr/bin:/bin", "CPATH": f"{PREFIX}/include"})
        self.assertEqual(after, before)
        self.assertEqual(self.shell(f"module load cuspan/{self.version}; cuspan version").split()[1], self.version)

    def test_the_header_is_found(self):
        source = "#include <cuspan/cuspan.h>"
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        out = self.shell(f"module load cuspan; echo '{source}' | cc -x c -fsyntax-only - && echo found")
        self.assertIn("found", out, self.err)

    def test_cuspan_trace_sets_the_variables(self):
        before, loaded, after = self.around("cuspan-trace")
        changes = {key: value for key, value in loaded.items() if before.get(key) != value}
        agent = f"{PREFIX}/lib/cuspan/libcuspan.so"
        self.assertEqual(changes, {"PATH": f"{PREFIX}/bin:/usr/bin:/bin", "CPATH": f"{PREFIX}/include",
                                   "CUDA_INJECTION64_PATH": agent, "NVTX_INJECTION64_PATH": agent,
                                   "NCCL_PROFILER_PLUGIN": agent, "PYTHONPATH": f"{PREFIX}/lib/cuspan/python.zip"})
        self.assertEqual(after, before)

    def test_python_path_and_plugin_of_the_user(self):
        own = {"PYTHONPATH": "/own/lib", "NCCL_PROFILER_PLUGIN": "inspector"}
        before, loaded, after = self.around("cuspan-trace", **own)
        self.assertEqual(loaded["PYTHONPATH"], f"{PREFIX}/lib/cuspan/python.zip:/own/lib")
        self.assertEqual(loaded["NCCL_PROFILER_PLUGIN"], "inspector")
        self.assertEqual(after, before)

    def test_what_the_user_set_stays(self):
        own = {"CUDA_INJECTION64_PATH": "/own/tool.so", "CPATH": "/own/include", "PYTHONPATH": "/own/lib"}
        before, loaded, after = self.around("cuspan-trace", **own)
        self.assertEqual((loaded["CUDA_INJECTION64_PATH"], loaded["PYTHONPATH"]), ("/own/tool.so", "/own/lib"))
        self.assertIn("CUDA_INJECTION64_PATH names /own/tool.so, so cuspan does not use it", self.err)
        self.assertEqual(after, before)

    def test_a_program_is_traced(self):
        file = self.folder / "spans.jsonl"
        out = self.shell(f"module load cuspan-trace; CUSPAN_SET=output_file={file} {WORK}/program/program.py RANK; "
                         f"module unload cuspan-trace; {WORK}/program/program.py RANK")
        self.assertEqual(out.splitlines(), ["rank ? traced", "rank ? untraced"], self.err)
        self.assertIn("cudaLaunchKernel", file.read_text())

    def test_a_wrong_prefix(self):
        wrong = self.folder / "wrong"
        wrong.mkdir()
        self.addCleanup(shutil.rmtree, wrong)
        shutil.copy(DEPLOY / self.source, wrong / f"{self.version}{self.suffix}")
        before = self.variables(self.shell("env -0"))
        after = self.variables(self.shell("module load wrong; env -0"))
        self.assertIn("there is no /opt/cuspan/lib/cuspan/libcuspan.so; correct prefix in", self.err)
        self.assertEqual(after, before)


class Lmod(ModuleCase, unittest.TestCase):
    init, suffix, source = ". /usr/share/lmod/lmod/init/bash", ".lua", "cuspan.lua"

    @classmethod
    def setUpClass(cls):
        if not Path("/usr/share/lmod").exists():
            raise unittest.SkipTest("Environment Modules is installed, which excludes Lmod")
        super().setUpClass()

    def test_one_of_both(self):
        out = self.shell("module load cuspan; module load cuspan-trace; module --terse list 2>&1")
        self.assertEqual(re.findall("cuspan.*", out)[-1], f"cuspan-trace/{self.version}")
        self.assertIn("replacing", out + self.err)


class EnvironmentModules(ModuleCase, unittest.TestCase):
    suffix, source = "", "cuspan.tcl"

    @classmethod
    def setUpClass(cls):
        (command,) = Path(os.environ["MODULES_ROOT"]).glob("usr/lib/*/modulecmd.tcl")
        cls.init = f'module() {{ eval "$(tclsh {command} bash "$@")"; }}'
        super().setUpClass()

    def test_one_of_both(self):
        self.shell("module load cuspan; module load cuspan-trace")
        self.assertIn("conflict", self.err)
