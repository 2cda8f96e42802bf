"""A W3C trace context: parsed from a traceparent, and in the agent's format."""

from __future__ import annotations

import ctypes
import re
import struct
from typing import NamedTuple

_NATIVE = struct.Struct("=16s8sB7xQ")  # cuspan_context: trace_id, span_id, flags, reserved, tracestate
NATIVE_BYTES = _NATIVE.size

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII | re.DOTALL)
_KNOWN_FLAGS = 3


class TraceContext(NamedTuple):
    trace_id: int
    span_id: int
    flags: int
    tracestate: str = ""

    def traceparent(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{self.flags:02x}"


def parse(traceparent: str, tracestate: str | None = None) -> TraceContext | None:
    """None if W3C's rules make the header invalid."""
    found = _TRACEPARENT.fullmatch(traceparent)
    if not found:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return TraceContext(int(trace_id, 16), int(span_id, 16), int(flags, 16) & _KNOWN_FLAGS, tracestate or "")


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
