"""An agent that records the calls about iterations and requests, as Python values."""

from __future__ import annotations

import ctypes
import struct
import threading
from typing import Any

from cuspan import _agent
from cuspan._trace_context import NATIVE_BYTES, from_native

PREFILL, DECODE = range(2)


def _of(reference: Any) -> Any:
    return reference._obj


class FakeAgent:
    has_iterations = True
    engine_headers: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.requests: dict[int, dict[str, Any]] = {}
        self.iterations: list[dict[str, Any]] = []
        self.threads: list[tuple[int, dict[str, Any]]] = []  # attached iterations
        self.open = 0
        self.summaries: list[dict[str, Any]] = []

    def request(self, info: Any) -> int:
        given: _agent.RequestInfo = _of(info)
        number = len(self.requests) + 101
        address = ctypes.cast(ctypes.byref(given), ctypes.POINTER(ctypes.c_void_p))[0]
        context = from_native(ctypes.string_at(address, NATIVE_BYTES)) if address else None
        self.requests[number] = {
            "id": given.id.decode(),
            "context": context,
            "arrived": given.arrived_unix_ns,
            "prompt": given.prompt_tokens,
            "cached": given.cached_tokens,
        }
        headers = ctypes.cast(given.headers, ctypes.POINTER(_agent.Header))
        if given.header_count:
            self.requests[number]["headers"] = {
                headers[at].name.decode(): headers[at].value.decode() for at in range(given.header_count)
            }
        self.events.append(("request", number))
        return number

    def request_end(self, number: int, reason: int, tokens: int) -> int:
        self.requests.get(number, {}).update(reason=reason, tokens=tokens)
        self.events.append(("end", number, reason, tokens))
        return 0

    def iteration(self, info: Any) -> int:
        self.iterations.append(self._described(_of(info)))
        self.events.append(("iteration", self.iterations[-1]["number"]))
        self.open += 1
        return 0

    def _described(self, given: _agent.IterationInfo) -> dict[str, Any]:
        raw = ctypes.string_at(given.parts, 24 * given.count) if given.count else b""
        return {
            "engine": given.engine.decode(),
            "seed": given.seed,
            "number": given.number,
            "kind": given.kind,
            "recorded": given.recorded,
            "rank": given.rank,
            "ranks": given.ranks,
            # request, phase, resumed, tokens, computed, drafts
            "parts": [struct.unpack_from("=QHHIII", raw, 24 * at) for at in range(given.count)],
        }

    def iteration_end(self) -> int:
        self.events.append(("iteration end",))
        self.open = 0
        return 0

    def iteration_summary(self, info: Any) -> int:
        described = self._described(_of(info))
        self.events.append(("summary", described["number"]))
        self.summaries.append(described)
        return 0

    def iteration_here(self, info: Any) -> int:
        self.threads.append((threading.get_ident(), self._described(_of(info))))
        self.events.append(("here", self.threads[-1][1]["number"]))
        return 1000 + len(self.threads)

    def detach(self, token: int) -> int:
        self.events.append(("detach", token))
        return 0
