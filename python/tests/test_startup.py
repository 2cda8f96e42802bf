"""The start of Python in a program that does not import cuspan: the archive of `cuspan run`, cuspan_auto."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import cuspan
from tests.support import ROOT, STUB

sys.path.insert(0, str(ROOT / "python/_build"))
import startup_archive  # noqa: E402

PACKAGE = Path(cuspan.__file__).parents[1]
# The parts of PyTorch that the hooks need, with the same names.
TORCH = {
    "__init__.py": """
        from torch import autograd, nn, optim, compiler
        def save(value, file): print("saved")
        """,
    "autograd.py": "def _engine_run_backward(*args, **keywords): print('backward')",
    "compiler.py": "def is_compiling(): return False",
    "nn.py": """
        class Module:
            def eval(self): return self.train(False)
            def train(self, mode=True): return self
        """,
    "optim/__init__.py": "",
    "optim/optimizer.py": """
        hooks = []
        def register_optimizer_step_post_hook(hook): hooks.append(hook)
        """,
}
TRAIN = """
import torch
from torch.optim.optimizer import hooks
for _ in range(2):
    torch.autograd._engine_run_backward([], accumulate_grad=True)
    for hook in hooks:
        hook(hooks, (), {})
torch.autograd._engine_run_backward([])  # autograd.grad(): no backward pass of the loop
torch.nn.Module().eval()
torch.nn.Module().train()
torch.save(1, 2)
import ctypes
stub = ctypes.CDLL("%s")
stub.stub_text.restype = ctypes.c_char_p
print(stub.stub_text().decode())
"""


STEPS = [
    "step 1 kind 0 source 1",
    "step 2 kind 0 source 1",
    "step 3 kind 0 source 1",
    "step 3 kind 1 source 1",
    "step 3 kind 0 source 1",
    "step 3 kind 2 source 1",
    "step 3 kind 0 source 1",
]


def made_site(test):
    """A folder with a torch."""
    folder = tempfile.TemporaryDirectory(prefix="cuspan-startup-")
    test.addCleanup(folder.cleanup)
    for name, text in TORCH.items():
        path = Path(folder.name, "torch", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return Path(folder.name)


class Archive(unittest.TestCase):
    """python.zip in PYTHONPATH, as `cuspan run` sets it."""

    def setUp(self):
        self.site = made_site(self)
        self.archive = self.site / "python.zip"
        startup_archive.write_zip(self.archive, startup_archive.entries(), startup_archive.ZIP_STARTS)

    def python(self, code, *options, folders=(), with_archive=True, injected=STUB):
        """Without the package of these tests, which would be used instead of the archive's."""
        path = [str(self.archive)] * with_archive + [str(folder) for folder in (*folders, self.site)]
        environment = {**os.environ, "CUDA_INJECTION64_PATH": injected, "PYTHONPATH": os.pathsep.join(path)}
        environment.pop("OTEL_PYTHON_CONTEXT")
        return subprocess.run(
            [sys.executable, *options, "-c", code], env=environment, capture_output=True, text=True, timeout=60
        )

    def folder(self, name, text):
        """A folder with a sitecustomize of the program."""
        (self.site / name).mkdir()
        (self.site / name / "sitecustomize.py").write_text(text)
        return self.site / name

    def test_a_program_that_does_not_import_the_package(self):
        done = self.python(TRAIN % STUB)
        steps = [line for line in done.stdout.splitlines() if line.startswith("step")]
        self.assertEqual(steps, STEPS, done.stdout + done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("backward"), 3)
        self.assertIn("saved", done.stdout)

    def test_a_program_that_calls_the_package(self):
        done = self.python("import cuspan; cuspan.is_on()\n" + TRAIN % STUB, folders=(PACKAGE,), with_archive=False)
        steps = [line for line in done.stdout.splitlines() if line.startswith("step")]
        self.assertEqual(steps, STEPS, done.stdout + done.stderr)

    def test_the_profiler_is_expected(self):
        """Once PyTorch is loaded, and before the program can start its profiler."""
        show = f"import ctypes; stub = ctypes.CDLL({STUB!r}); print(stub.stub_expected()); import torch; print(stub.stub_expected())"
        done = self.python(show)
        self.assertEqual((done.stdout, done.stderr), ("0\n1\n", ""))

    def test_the_program_sees_no_difference(self):
        """Its sys.path, its sitecustomize and the errors of that one are the same with and without the archive."""
        show = (
            "import sys; print(sys.path, sys.flags, [n for n in sys.modules if n.startswith(('cuspan.', 'sitecust'))], "
            "getattr(sys, 'mark', None))"
        )
        programs = [
            (),
            (self.folder("own", "import sys; sys.mark = __file__, __name__"),),
            (self.folder("broken", "1 / 0"),),
            (self.folder("incomplete", "import no_such_module"),),
            (self.folder("first", "import sys; sys.mark = 1"), self.site / "own"),
        ]
        for folders in programs:
            for options in (), ("-s",), ("-E",), ("-I",):
                results = [
                    self.python(show, *options, folders=folders, with_archive=wanted) for wanted in (True, False)
                ]
                with_it, without_it = ((done.returncode, done.stdout, done.stderr) for done in results)
                self.assertEqual(with_it, without_it, (folders, options))
        done = self.python(show, folders=(self.site / "own",))
        self.assertIn("own/sitecustomize.py', 'sitecustomize')", done.stdout)

    def test_it_needs_the_agent(self):
        show = "import sys; print([name for name in sys.modules if name.startswith('cuspan')])"
        self.assertEqual(self.python(show).stdout, "['cuspan_auto']\n")
        for injected in "", "/other/tool.so":
            self.assertEqual(self.python(show, injected=injected).stdout, "[]\n")
        self.assertEqual(self.python(show, "-S").stdout, "[]\n")

    def test_a_model_of_triton(self):
        """It may do without PyTorch."""
        (self.site / "triton_python_backend_utils.py").touch()
        done = self.python("import triton_python_backend_utils, sys; print('cuspan._engines' in sys.modules)")
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))

    def test_the_installed_package_comes_first(self):
        done = self.python("import torch, cuspan; print(cuspan.__file__)", folders=(PACKAGE,))
        self.assertEqual(done.stdout, f"{PACKAGE}/cuspan/__init__.py\n", done.stderr)
        done = self.python("import torch, sys; print(sys.modules['cuspan'].__file__)")
        self.assertEqual(done.stdout, f"{self.archive}/cuspan/__init__.py\n", done.stderr)

    def test_an_error_does_not_reach_the_program(self):
        entries = [entry for entry in startup_archive.entries() if entry.name != "cuspan_auto.py"]
        text = (ROOT / "python/cuspan_auto.py").read_text()
        self.assertIn("def install() -> None:", text)
        for broken in "1 / 0", text.replace("def install() -> None:", "def install():\n    1 / 0"):
            made = startup_archive.Entry("cuspan_auto.py", broken)
            startup_archive.write_zip(self.archive, [*entries, made], startup_archive.ZIP_STARTS)
            done = self.python("import torch; print('runs')")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "runs\n", ""))

    def test_an_error_in_the_package_does_not_reach_the_program(self):
        (self.site / "cuspan").mkdir()
        (self.site / "cuspan/__init__.py").write_text("raise RuntimeError('broken')")
        done = self.python("import torch; print('runs')")
        self.assertEqual((done.returncode, done.stdout), (0, "runs\n"), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_the_same_files_give_the_same_bytes(self):
        again = self.site / "again.zip"
        startup_archive.write_zip(again, startup_archive.entries(), startup_archive.ZIP_STARTS)
        self.assertEqual(again.read_bytes(), self.archive.read_bytes())


if __name__ == "__main__":
    unittest.main()
