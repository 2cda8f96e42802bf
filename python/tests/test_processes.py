"""Whole processes: opentelemetry-instrument, no agent, an agent that is loaded late, no OpenTelemetry."""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from tests.support import STUB, run_python

SEEN = """
import ctypes, cuspan
cuspan.is_on()  # looks for the agent
stub = ctypes.CDLL("libcuspan.so")
def native():
    text, state = ctypes.create_string_buffer(56), ctypes.create_string_buffer(8)
    return text.value.decode() if stub.stub_current(text, state, 8) else None
"""
REQUEST = """
from opentelemetry import trace
from concurrent.futures import ThreadPoolExecutor
with trace.get_tracer("service").start_as_current_span("request") as span:
    wanted = f"{span.get_span_context().span_id:016x}"
    assert int(wanted, 16), "the instrumentation has made no SDK"
    assert native().split("-")[2] == wanted, (native(), wanted)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(native).result().split("-")[2] == wanted
assert native() is None
print("right")
"""
GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNCHANGED = f"""
import asyncio, contextvars, sys
import cuspan
from cuspan import _agent
run = asyncio.Handle._run
for _ in range(3000):
    with cuspan.attach("{GIVEN}"), cuspan.range("decode", size=3) as opened, cuspan.span("x"):
        assert cuspan.current_traceparent() == "{GIVEN}"
assert not cuspan.mark("x") and not cuspan.is_on() and cuspan.current_traceparent() is None
assert asyncio.Handle._run is run and _agent.look() is None
assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("cuspan")]
"""


def find_instrument():
    beside = Path(sys.executable).with_name("opentelemetry-instrument")
    return str(beside) if beside.exists() else shutil.which("opentelemetry-instrument")


FINISHED = """
import ctypes, multiprocessing, os
{top}
def work():
    ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])  # as CUDA does it
    {inside}
    print("child", os.getpid(), flush=True)
def main():
    {before}
    child = multiprocessing.get_context({method!r}).Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == 0
    print("parent", os.getpid())
if __name__ == "__main__":
    main()
"""
CHILDREN = f"""
import multiprocessing, os, pickle, subprocess, sys
import cuspan
from cuspan import _processes
OTHER = "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01"
def variables():
    return os.environ.get("TRACEPARENT"), os.environ.get("TRACESTATE")
def tell(queue):
    assert cuspan.current_traceparent() is None, cuspan.current_traceparent()
    queue.put(variables())
def in_child(method, target):
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    child = context.Process(target=target, args=(queue,))
    child.start()
    told = queue.get()
    child.join()
    return told
def main():
    os.environ["TRACEPARENT"], os.environ["TRACESTATE"] = "{GIVEN}", "a=1"
    process = variables()
    assert dict(os.environ) == cuspan.environment()
    assert cuspan.environment({{"A": "1"}}) == {{"A": "1"}}
    with cuspan.attach(OTHER):  # the same trace: its tracestate, too
        same, below = cuspan.environment(), cuspan.child(tell)
        code = "import os; print(os.environ['TRACEPARENT'], os.environ['TRACESTATE'])"
        said = subprocess.run([sys.executable, "-c", code], env=cuspan.environment(), stdout=subprocess.PIPE, text=True)
    assert (same["TRACEPARENT"], same["TRACESTATE"]) == (OTHER, "a=1"), same
    assert said.stdout == f"{{OTHER}} a=1\\n", said.stdout
    assert {{**same, "TRACEPARENT": "{GIVEN}"}} == dict(os.environ)
    foreign = OTHER.replace("0af7", "1af7")
    with cuspan.attach(foreign):  # another trace: not its tracestate
        assert cuspan.environment({{"TRACEPARENT": OTHER, "TRACESTATE": "a=1"}}) == {{"TRACEPARENT": foreign}}
        far = cuspan.child(tell)
    with cuspan.attach(foreign, "b=2"):
        assert cuspan.environment({{}}) == {{"TRACEPARENT": foreign, "TRACESTATE": "b=2"}}
    for method in "spawn", "fork", "forkserver":
        assert in_child(method, tell) == process
        with cuspan.attach(foreign):
            assert in_child(method, below) == (OTHER, "a=1")
        assert in_child(method, far) == (foreign, None)
    assert variables() == process
    class Queue(list):
        put = list.append
    here = Queue()
    below(here)  # in this process it is the function
    assert here == [process] and variables() == process
if __name__ == "__main__":
    main()
"""
CARRIED = f"""
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import multiprocessing, os
import cuspan
def where(add):
    return cuspan.current_traceparent(), add
def main():
    with ThreadPoolExecutor(1) as threads, ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        with cuspan.attach("{GIVEN}", "a=1"):
            carried = cuspan.carried(where)
        free = cuspan.carried(where)
        for pool in threads, processes:
            assert pool.submit(carried, 3).result() == ("{GIVEN}", 3)
            assert pool.submit(where, add=4).result() == (None, 4)
            assert pool.submit(free, 5).result() == (None, 5)
        assert carried(1) == ("{GIVEN}", 1) and cuspan.current_traceparent() is None
if __name__ == "__main__":
    main()
"""


class Processes(unittest.TestCase):
    def check(self, code, *launcher, **environment):
        done = run_python(code, *launcher, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_opentelemetry_instrument(self):
        script = find_instrument()
        launcher = (
            [script]
            if script
            else [sys.executable, "-c", "from opentelemetry.instrumentation.auto_instrumentation import run; run()"]
        )
        said = self.check(
            SEEN + REQUEST,
            *launcher,
            OTEL_TRACES_EXPORTER="none",
            OTEL_METRICS_EXPORTER="none",
            OTEL_LOGS_EXPORTER="none",
            OTEL_PYTHON_CONTEXT="cuspan",
        )
        self.assertEqual(said, "right\n")

    def test_no_agent_no_effect(self):
        self.check(UNCHANGED, CUDA_INJECTION64_PATH="")
        self.check(UNCHANGED, CUDA_INJECTION64_PATH="/nowhere/libcuspan.so")
        self.check(UNCHANGED, CUDA_INJECTION64_PATH="/nowhere/libother.so")

    def test_spans_without_an_agent(self):
        self.check(
            """
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from cuspan.otel import RuntimeContext
assert isinstance(context._RUNTIME_CONTEXT, RuntimeContext)
with TracerProvider().get_tracer("t").start_as_current_span("outer") as outer:
    with TracerProvider().get_tracer("t").start_as_current_span("inner") as inner:
        assert trace.get_current_span() is inner
    assert trace.get_current_span() is outer
assert not trace.get_current_span().get_span_context().is_valid
""",
            CUDA_INJECTION64_PATH="",
        )

    def test_an_agent_that_comes_late(self):
        self.check(
            f"""
import ctypes, cuspan
assert not cuspan.is_on()
with cuspan.attach("{GIVEN}"):
    ctypes.CDLL({STUB!r})
    for _ in range(1024):
        cuspan.is_on()
    assert cuspan.is_on()
{SEEN.replace(chr(10), chr(10) + "    ")}
    assert native() == "{GIVEN}", native()
assert native() is None
""",
            CUDA_INJECTION64_PATH="",
        )

    def test_without_opentelemetry(self):
        self.check(
            f"""
import sys
sys.modules["opentelemetry"] = None
{SEEN}
with cuspan.attach("{GIVEN}"), cuspan.range("decode"):
    assert native() == "{GIVEN}"
with cuspan.attach():
    assert native() is None
"""
        )

    def test_opentelemetrys_own_runtime_context(self):
        self.check(
            f"""
{SEEN}
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
with TracerProvider().get_tracer("t").start_as_current_span("request") as span:
    assert native() is None
    with cuspan.attach():
        assert native().split("-")[2] == f"{{span.get_span_context().span_id:016x}}"
    assert native() is None
""",
            OTEL_PYTHON_CONTEXT="",
        )

    def run_script(self, code, **environment):
        """Runs the code from a file, because children of spawn read it again."""
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "script.py")
            script.write_text(code)
            return self.check(None, str(script), **environment)

    def test_what_children_are_told(self):
        for agent in STUB, "":
            with self.subTest(agent):
                self.run_script(CHILDREN, CUDA_INJECTION64_PATH=agent)

    def test_work_that_is_carried(self):
        for agent in STUB, "":
            with self.subTest(agent):
                self.run_script(CARRIED, CUDA_INJECTION64_PATH=agent)

    def finished(self, method, top, before, inside):
        """Which of the processes parent and child told their agent that they end."""
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder, "told")
            script = FINISHED.format(method=method, top=top, before=before, inside=inside)
            said = self.run_script(script, STUB_FINISHED=str(told))
            numbers = dict(reversed(line.split()) for line in said.splitlines())
            return [numbers[number] for number in told.read_text().split()] if told.exists() else []

    def test_the_end_of_those_that_end_by__exit(self):
        for method, finished in ("fork", ["child"]), ("forkserver", ["child"]), ("spawn", []):
            for top, before, inside, who in (
                ("import cuspan", "pass", "pass", finished),
                ("import cuspan", "cuspan.is_on()", "pass", finished),
                ("", "pass", "import cuspan; cuspan.is_on()", finished),
                ("", "pass", "pass", []),
            ):
                with self.subTest(method, top=top, before=before, inside=inside):
                    self.assertEqual(self.finished(method, top, before, inside), who)

    def test_finish(self):
        self.check("import cuspan; assert not cuspan.finish()", CUDA_INJECTION64_PATH="")
        with tempfile.TemporaryDirectory() as folder:
            told = str(Path(folder, "told"))
            self.check("import cuspan; assert not cuspan.finish()", STUB_FINISHED=told)  # the library is not loaded
            self.check("import cuspan; cuspan.is_on(); assert cuspan.finish()", STUB_FINISHED=told)
