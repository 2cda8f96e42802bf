"""Whole processes: opentelemetry-instrument, no agent, an agent that comes late, no OpenTelemetry."""

import shutil
import sys
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
