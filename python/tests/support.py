"""Shared by the tests: the stub agent, and what it knows of the thread. Import it before OpenTelemetry."""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HAS_WATCHERS = sys.version_info >= (3, 14)


def _build() -> str:
    made = os.environ.get("CUSPAN_TEST_STUB")
    if made:
        return made
    folder = Path(tempfile.mkdtemp(prefix="cuspan-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = folder / "libcuspan.so"
    sources = [Path(__file__).with_name("stub_agent.c"), ROOT / "src/agent/core/entry/python_entry.c"]
    options = ["-shared", "-fPIC", "-pthread", "-Wl,-soname,libcuspan.so", f"-I{ROOT}/include", f"-I{ROOT}/src"]
    subprocess.run(["cc", *options, "-o", library, *sources, "-ldl"], check=True)
    return str(library)


STUB = _build()
os.environ["CUDA_INJECTION64_PATH"] = STUB
os.environ["OTEL_PYTHON_CONTEXT"] = "cuspan"

stub = ctypes.CDLL(STUB)
stub.stub_calls.restype = ctypes.c_uint64
stub.stub_text.restype = ctypes.c_char_p

from opentelemetry import trace  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.trace import Span  # noqa: E402

trace.set_tracer_provider(TracerProvider())
tracer = trace.get_tracer("tests")


def native():
    """The traceparent attached to the native thread, or None."""
    traceparent, state = ctypes.create_string_buffer(56), ctypes.create_string_buffer(128)
    return traceparent.value.decode() if stub.stub_current(traceparent, state, 128) else None


def native_state():
    traceparent, state = ctypes.create_string_buffer(56), ctypes.create_string_buffer(128)
    return state.value.decode() if stub.stub_current(traceparent, state, 128) else None


def of(span: Span):
    """The traceparent of a span. None for an invalid span."""
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def of_current():
    return of(trace.get_current_span())


def run_python(code: str | None, *launcher: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs the code, or the script that `launcher` names, in a new process. Variables with empty values are unset."""
    variables = {**os.environ, **environment}
    variables = {name: value for name, value in variables.items() if value}
    command = [*launcher, sys.executable, "-c", code] if code else [sys.executable, *launcher]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
