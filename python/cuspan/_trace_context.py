"""A W3C trace context: parsed from a traceparent, and in the agent's format."""

from __future__ import annotations

import re
import struct
from typing import Any, NamedTuple

from cuspan._ctypes import ctypes

_NATIVE = struct.Struct("=16s8sB7xQ")  # cuspan_context: trace_id, span_id, flags, reserved, tracestate
NATIVE_BYTES = _NATIVE.size

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII | re.DOTALL)
_TRACESTATE = re.compile(r"[\t -~]*", re.ASCII)
_KNOWN_FLAGS = 3


class TraceContext(NamedTuple):
    trace_id: int
    span_id: int
    flags: int
    tracestate: str = ""

    def traceparent(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.flags:02x}"


def valid_context(trace_id: Any, span_id: Any, flags: Any, tracestate: object = "") -> TraceContext | None:
    """None if a number is out of range. The values are the program's, and may be of any class."""
    trace_id, span_id, flags = int(trace_id), int(span_id), int(flags)
    if not (0 < trace_id < 1 << 128 and 0 < span_id < 1 << 64):
        return None
    return TraceContext(trace_id, span_id, flags & 0xFF, _valid_state(tracestate))


def _text(header: object) -> str | None:
    if isinstance(header, str):
        return str.__str__(header)
    return bytes(header).decode("latin-1") if isinstance(header, (bytes, bytearray)) else None


def _valid_state(tracestate: object) -> str:
    """W3C: a tracestate that cannot be parsed is left out, and the traceparent still counts."""
    text = _text(tracestate)
    return text if text and _TRACESTATE.fullmatch(text) else ""


def parse(traceparent: object, tracestate: object = None) -> TraceContext | None:
    """None if W3C's rules make the header invalid, or if it is no text."""
    text = _text(traceparent)
    found = _TRACEPARENT.fullmatch(text) if text else None
    if not found:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more):
        return None
    return valid_context(int(trace_id, 16), int(span_id, 16), int(flags, 16) & _KNOWN_FLAGS, tracestate)


def to_native(context: TraceContext) -> tuple[bytes, object]:
    """A cuspan_context, together with the objects that must live as long as it is used."""
    state = ctypes.create_string_buffer(context.tracestate.encode()) if context.tracestate else None
    native = _NATIVE.pack(
        context.trace_id.to_bytes(16, "big"),
        context.span_id.to_bytes(8, "big"),
        context.flags & 0xFF,
        ctypes.addressof(state) if state else 0,
    )
    return native, state


def from_native(native: bytes) -> TraceContext:
    trace_id, span_id, flags, state = _NATIVE.unpack(native)
    text = ctypes.string_at(state).decode("ascii", "replace") if state else ""
    return TraceContext(int.from_bytes(trace_id, "big"), int.from_bytes(span_id, "big"), flags, text)
