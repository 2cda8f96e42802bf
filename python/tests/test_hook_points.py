"""Hook points of engines are found in their source files, for `cuspan doctor` and for tools/check_engines.py."""

import contextlib
import http.server
import importlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import cuspan
from cuspan import _hook_search
from cuspan._hook_points import ENGINES, Engine, Point, lost_without
from cuspan._hook_search import Sources, look
from tests.support import ROOT

sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tools")]
import check_engines  # noqa: E402
from made_hook_points import made_sources, write_engine  # noqa: E402

VLLM = next(engine for engine in ENGINES if engine.name == "vLLM")
WITH_POINTS = [engine for engine in ENGINES if engine.points]


class Table(unittest.TestCase):
    def test_adapters_have_the_functions(self):
        for engine in WITH_POINTS:
            adapter = importlib.import_module(f"cuspan._engine_{engine.adapter}")
            for point in engine.points:
                if point.follow:
                    self.assertTrue(callable(getattr(adapter, point.follow)), point)

    def test_what_is_lost(self):
        self.assertEqual(lost_without("vLLM Scheduler", "_free_request"), "ends of requests")
        self.assertEqual(lost_without("vLLM AsyncOutput", "get_output"), "copies of results")
        self.assertIsNone(lost_without("vLLM Scheduler", "other"))
        self.assertIsNone(lost_without("own Scheduler", "schedule"))


class Search(unittest.TestCase):
    FILES = {
        "made/__init__.py": "from .a import Base, taken as renamed\nfrom made.b import *\nif True:\n    def plain(x): pass\n",
        "made/a.py": "class Base:\n    field: int\n    def taken(self, one, two=2): pass\n    @property\n    def p(self): pass\n"
        "async def taken(one): pass\n",
        "made/b.py": "from made import Base\nclass Child(Base, other.Thing):\n    X = 1\n    def __init__(self):\n"
        "        self.made, self.other = 1, 2\n        other.not_own = 3\n        def inner(): pass\n",
        "made/data.py": "import dataclasses\n@dataclasses.dataclass(slots=True)\nclass Data:\n    x: int\n@other\nclass Other: x: int\n",
        "made/loop.py": "from made.loop import Lost\n",
    }

    def missing(self, *given):
        return Sources(self.FILES.get).missing(Point(*given, "it"))

    def test_members(self):
        every = "field taken(one,two) p X __init__() made other"
        self.assertEqual(self.missing("made.b", "Child", f"{every} inner not_own"), ["Child.inner", "Child.not_own"])

    def test_arguments(self):
        self.assertEqual(self.missing("made.a", "Base", "taken(two)"), ["Base.taken(two)"])
        self.assertEqual(self.missing("made.a", "Base", "taken(two)|field"), [])

    def test_imports(self):
        self.assertEqual(self.missing("made", "Base", "field"), [])
        self.assertEqual(self.missing("made", "", "plain(x) renamed(one) renamed(two) gone()"), ["renamed(two)", "gone()"])

    def test_other_places(self):
        self.assertEqual(self.missing("gone|made.a", "Gone|Base", "field"), [])
        self.assertEqual(self.missing("gone", "Base", "field"), ["module gone"])
        self.assertEqual(self.missing("made.a", "Gone", "field"), ["Gone"])
        self.assertEqual(self.missing("made.loop", "Lost", "x"), ["Lost"])

    def test_functions_of_dataclasses(self):
        self.assertEqual(self.missing("made.data", "Data", "__init__(x) x"), [])
        self.assertEqual(self.missing("made.data", "Other", "__init__() x"), ["Other.__init__()"])

    def test_versions(self):
        files = made_sources(VLLM, "sample_tokens")
        self.assertEqual(look(VLLM, "0.11.0", files.get), [])
        self.assertEqual([gone for _, gone in look(VLLM, "0.24.0+cpu", files.get)], [["Worker.sample_tokens()"]])

    def test_each_member_missing(self):
        for engine in WITH_POINTS:
            self.assertEqual(look(engine, "99", made_sources(engine).get), [], engine.name)
            for point in engine.points:
                for word in point.members.split():
                    name = word.split("|")[0].partition("(")[0]
                    found = look(engine, "99", made_sources(engine, name).get)
                    self.assertIn(point, [one for one, _ in found], name)


class Installed(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)

    def lines(self, **environment):
        """In a Python without other packages."""
        code = "from cuspan import _hook_search; _hook_search.main()"
        paths = os.pathsep.join([str(self.folder), str(Path(cuspan.__file__).parents[1])])
        command = [sys.executable, "-S", "-c", code]
        variables = {**os.environ, "CUSPAN_ENGINES": "", **environment, "PYTHONPATH": paths}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=100, check=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def test_none(self):
        self.assertEqual(self.lines(), [["ok", f"no serving engine is installed for {sys.executable}", ""]])

    def test_a_tested_version(self):
        write_engine(self.folder, VLLM, VLLM.tested[0])
        self.assertEqual(self.lines(), [["ok", f"vLLM {VLLM.tested[0]} ({self.folder}): all hook points found", ""]])

    def test_another_version(self):
        write_engine(self.folder, VLLM, f"{VLLM.tested[0]}1")
        [[level, found, _]] = self.lines()
        self.assertEqual(level, "ok")
        self.assertIn(f"; this version was not tested, unlike {', '.join(VLLM.tested)}", found)

    def test_a_missing_function(self):
        write_engine(self.folder, VLLM, "0.99", "_free_request")
        [[level, found, fix]] = self.lines()
        self.assertEqual(level, "warning")
        self.assertTrue(found.endswith("has no Scheduler._free_request(request); not traced: ends of requests"), found)
        self.assertIn(VLLM.tested[0], fix)

    def test_several_missing_members(self):
        """One line for each loss."""
        write_engine(self.folder, VLLM, "0.99")
        (self.folder / "vllm/v1/core/sched/scheduler.py").write_text("class Scheduler:\n    def schedule(self): pass\n")
        wanted = "Scheduler._free_request(request), Scheduler.requests; not traced: ends of requests"
        found = [line[1].partition(" has no ")[2] for line in self.lines()]
        self.assertIn(wanted, found)
        self.assertEqual(len(set(line.partition("; ")[2] for line in found)), len(found))

    def test_an_old_version(self):
        """The program may use it for other things."""
        write_engine(self.folder, VLLM._replace(points=()), "0.5.0")
        [[level, found, _]] = self.lines()
        self.assertEqual(level, "ok")
        self.assertIn("is too old for its hooks: it has no module vllm.v1.engine.output_processor, ", found)
        self.assertRegex(found, rf" and \d+ more; tested: {re.escape(', '.join(VLLM.tested))}$")

    def test_off(self):
        """An adapter that never ran in its engine."""
        engine = next(engine for engine in ENGINES if engine.name == "TensorRT-LLM")
        write_engine(self.folder, engine, "1.4.0")
        [[level, found, fix]] = self.lines()
        self.assertEqual((level, fix), ("warning", "set CUSPAN_ENGINES=tensorrt_llm to try them"))
        self.assertEqual(found, f"TensorRT-LLM 1.4.0 ({self.folder}): its hooks are off, because they are untested")
        [[level, found, _]] = self.lines(CUSPAN_ENGINES="x,tensorrt_llm")
        self.assertEqual(level, "ok")
        self.assertTrue(found.endswith(": all hook points found; this version was not tested, nor was another"), found)
        (self.folder / "tensorrt_llm/executor/request.py").write_text("class GenerationRequest: pass\n")
        [[level, found, fix]] = self.lines(CUSPAN_ENGINES="tensorrt_llm")
        self.assertEqual((level, fix), ("warning", "report this"))
        self.assertTrue(found.endswith("has no GenerationRequest.__init__(); not traced: contexts of requests"), found)

    def test_without_hooks(self):
        (self.folder / "other").mkdir()
        (self.folder / "other/__init__.py").touch()
        (self.folder / "triton_python_backend_utils.py").write_text("\n")
        (self.folder / "vllm").mkdir()  # no package
        [[level, found, _]] = self.lines()
        self.assertEqual((level, found.partition(":")[0]), ("ok", f"tritonserver ({self.folder})"))
        engine = Engine("Other", "other", ())
        [(level, found, _)] = _hook_search._findings(engine, str(self.folder))
        self.assertEqual((level, found), ("warning", f"Other ({self.folder}): there are no hooks for it, so its requests have no spans"))

    def test_triton(self):
        """Its utilities are not in Python's path, and its version is in a file."""
        backend = self.folder / "backends/python"
        backend.mkdir(parents=True)
        (backend / "triton_python_backend_utils.py").write_text("\n")
        (self.folder / "TRITON_VERSION").write_text("2.51.0\n")
        engine = next(engine for engine in ENGINES if engine.name == "tritonserver")
        with mock.patch.object(_hook_search, "_TRITON", str(backend)):
            folder = _hook_search._folder_of(engine)
            found = list(_hook_search._findings(engine, folder))
        self.assertEqual(found, [("ok", f"tritonserver 2.51.0 ({backend}): all hook points found", "")])


class Ranges(http.server.BaseHTTPRequestHandler):
    content = b""
    has_ranges = True

    def do_GET(self):
        start, _, end = self.headers.get("Range", "bytes=0-").partition("=")[2].partition("-")
        part = self.content[int(start) : int(end) + 1 if end else None]
        is_part = self.has_ranges and "Range" in self.headers
        self.send_response(206 if is_part else 200)
        if is_part:
            self.send_header("Content-Range", f"bytes {start}-{end}/{len(self.content)}")
        self.end_headers()
        type(self).sent.append(len(part))
        with contextlib.suppress(OSError):  # the client may want only the header
            self.wfile.write(part if is_part else self.content)

    def log_message(self, *_):
        pass


class Wheels(unittest.TestCase):
    """tools/check_engines.py."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)

    def wheel(self, version, without="", stuffing=0):
        path = self.folder / f"vllm-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("vllm/weights.bin", bytes(stuffing))
            for name, text in made_sources(VLLM, without).items():
                file.writestr(name, text)
        return path

    def run_tool(self, *arguments):
        command = [sys.executable, ROOT / "tools/check_engines.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        return done.returncode, done.stdout.splitlines()

    def test_a_wheel(self):
        found = self.run_tool("--wheel", self.wheel("0.98"))
        self.assertEqual(found, (0, ["vLLM 0.98: all hook points found"]))

    def test_what_moved(self):
        fine, broken = self.wheel("0.98"), self.wheel("0.99", "schedule")
        status, lines = self.run_tool("--wheel", broken, "--wheel", fine)
        self.assertEqual(status, 1)
        self.assertEqual(lines[0], "vLLM 0.99: hook points moved")
        self.assertEqual(
            lines[1], "    no Scheduler.schedule() in vllm.v1.core.sched.scheduler: iterations and requests"
        )
        self.assertEqual(lines[2:], ["vLLM 0.98: all hook points found"])

    def test_what_is_no_wheel(self):
        path = self.folder / "vllm-1-py3-none-any.whl"
        path.write_text("x")
        status, lines = self.run_tool("--wheel", path)
        self.assertEqual((status, len(lines)), (2, 1))
        self.assertIn("cannot be read", lines[0])

    def test_over_http(self):
        path = self.wheel("0.99", "schedule", stuffing=8_000_000)
        for has_ranges in True, False:
            handler = type("Handler", (Ranges,), {"content": path.read_bytes(), "has_ranges": has_ranges, "sent": []})
            with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                title, moved = check_engines.check(f"http://127.0.0.1:{server.server_port}/{path.name}")
                server.shutdown()
            self.assertEqual((title, len(moved)), ("vLLM 0.99", 1))
            if has_ranges:
                self.assertLess(sum(handler.sent), 1_000_000)


if __name__ == "__main__":
    unittest.main()
