"""Finds the agent (libcuspan.so) in the process and calls it through its table, like include/cuspan/cuspan.h."""

from __future__ import annotations

import _thread
import os
from typing import Any, Callable

from cuspan import _guard
from cuspan._ctypes import HAS_CTYPES, ctypes

SONAME = "libcuspan.so"
CALLS_BETWEEN_LOOKS = 1024

# PYFUNCTYPE keeps the interpreter lock: none of these functions blocks for more than a few microseconds.
_attributes = ctypes.c_void_p
_IS_ON = ctypes.PYFUNCTYPE(ctypes.c_int)
_ATTACH = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p)
_DETACH = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_uint64)
_CURRENT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_BEGIN = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p, _attributes, ctypes.c_uint32)
_END = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_char_p, _attributes, ctypes.c_uint32)
_MARK = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p, _attributes, ctypes.c_uint32)
# These wait for CUPTI or a collector, so they release the interpreter lock.
_CONTROL = ctypes.CFUNCTYPE(ctypes.c_int)
_FLUSH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32)
_LOOP = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p, _attributes, ctypes.c_uint32)
_AGAIN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)
_STEP = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint32)
_REQUEST = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
_REQUEST_END = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32)
_ITERATION = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_ITERATION_END = ctypes.PYFUNCTYPE(ctypes.c_int)
_ITERATION_HERE = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
_ITERATION_SUMMARY = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_ENGINE_HEADERS = ctypes.PYFUNCTYPE(ctypes.c_char_p)
_AGENT_API = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class _Table(ctypes.Structure):
    """cuspan_api."""

    _fields_ = [
        ("bytes", ctypes.c_uint32),
        ("is_on", _IS_ON),
        ("attach", _ATTACH),
        ("detach", _DETACH),
        ("current", _CURRENT),
        ("range_push", _BEGIN),
        ("span_start", _BEGIN),
        ("end", _END),
        ("mark", _MARK),
        ("start", _CONTROL),
        ("stop", _CONTROL),
        ("flush", _FLUSH),
        ("finish", _CONTROL),
        ("publish", ctypes.c_void_p),
        ("loop_push", _LOOP),
        ("again", _AGAIN),
        ("step", _STEP),
        ("request", _REQUEST),
        ("request_end", _REQUEST_END),
        ("iteration", _ITERATION),
        ("iteration_end", _ITERATION_END),
        ("iteration_here", _ITERATION_HERE),
        ("iteration_summary", _ITERATION_SUMMARY),
        ("engine_headers", _ENGINE_HEADERS),
    ]

    def has(self, member: Any) -> bool:
        return bool(member.offset + member.size <= self.bytes)


class Header(ctypes.Structure):
    """cuspan_header."""

    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class RequestInfo(ctypes.Structure):
    """cuspan_request_info."""

    _fields_ = [
        ("context", ctypes.c_char_p),  # a cuspan_context
        ("id", ctypes.c_char_p),
        ("arrived_unix_ns", ctypes.c_int64),
        ("prompt_tokens", ctypes.c_uint32),
        ("cached_tokens", ctypes.c_uint32),
        ("headers", ctypes.c_void_p),  # of Header
        ("header_count", ctypes.c_uint32),
    ]


class IterationInfo(ctypes.Structure):
    """cuspan_iteration_info."""

    _fields_ = [
        ("engine", ctypes.c_char_p),
        ("seed", ctypes.c_uint64),
        ("number", ctypes.c_int64),
        ("kind", ctypes.c_uint32),
        ("recorded", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("ranks", ctypes.c_int32),
        ("parts", ctypes.c_void_p),
        ("count", ctypes.c_uint32),
    ]


class Agent:
    """The functions of the agent in this process."""

    def __init__(self, library: ctypes.CDLL, table: _Table) -> None:
        self.library = library
        self.is_on = table.is_on
        self.attach = table.attach
        self.detach = table.detach
        self.current = table.current
        self.range_push = table.range_push
        self.span_start = table.span_start
        self.end = table.end
        self.mark = table.mark
        self.start = table.start
        self.stop = table.stop
        self.flush = table.flush
        self.finish = table.finish
        has_loops = table.has(_Table.again)  # older agents have no loops
        self.loop_push = table.loop_push if has_loops else table.range_push
        self.again = table.again if has_loops else lambda _: 0
        self.step = table.step if table.has(_Table.step) else None  # nor steps
        self.has_iterations = table.has(_Table.iteration_here)  # nor iterations, and then they lack these functions
        if self.has_iterations:
            self.request = table.request
            self.request_end = table.request_end
            self.iteration = table.iteration
            self.iteration_end = table.iteration_end
            self.iteration_here = table.iteration_here
        self.iteration_summary = table.iteration_summary if table.has(_Table.iteration_summary) else None
        self._engine_headers = table.engine_headers if table.has(_Table.engine_headers) else None

    @property
    def engine_headers(self) -> tuple[str, ...]:
        """The names in engine.headers, in lower case. The agent reads its configuration for it, once."""
        names = self._engine_headers().decode() if self._engine_headers is not None else ""
        return tuple(names.split(",")) if names else ()


def _load(name: str, mode: int) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name, mode=mode) if HAS_CTYPES else None
    except OSError:
        return None


def _is_own() -> bool:
    """False in a program that runs with another user's rights: its caller's environment must not choose a library."""
    return os.getuid() == os.geteuid() and os.getgid() == os.getegid()


def _path() -> str | None:
    """The path of the agent that CUDA would load."""
    path = os.environ.get("CUDA_INJECTION64_PATH", "") if _is_own() else ""
    return path if os.path.basename(path).startswith(SONAME) else None


def is_loaded() -> bool:
    """Whether the agent's library is in the process. Without it, nothing is traced."""
    return _load(SONAME, os.RTLD_LAZY | os.RTLD_NOLOAD) is not None


def is_expected() -> bool:
    """Whether CUDA is going to load it."""
    return os.path.isfile(_path() or "")


def _find_library() -> ctypes.CDLL | None:
    """The agent in the process, or else the one that CUDA would load. Loading it does not start it."""
    library = _load(SONAME, os.RTLD_LAZY | os.RTLD_NOLOAD)
    path = None if library else _path()
    return _load(path, os.RTLD_LAZY | os.RTLD_LOCAL) if path else library


def _find() -> Agent | None:
    library = _find_library()
    entry: Any = getattr(library, "cuspan_agent_api", None)
    if entry is None:
        return None
    address = ctypes.cast(entry, _AGENT_API)(1)
    if not address:
        return None
    table = _Table.from_address(address)
    return Agent(library, table) if table.has(_Table.finish) else None


_agent: Agent | None = None
_calls = 0
# Reentrant, because a signal handler can look for it, too.
_finding = _thread.RLock()


def _renew_lock() -> None:
    """In a forked child: another thread of the parent may hold the lock."""
    global _finding
    _finding = _thread.RLock()


os.register_at_fork(after_in_child=_renew_lock)
_on_found: list[Callable[[Agent], None]] = []


def on_found(callback: Callable[[Agent], None]) -> None:
    """Calls it once, when the agent has been found. The package's modules register here during their import, before
    anything looks for an agent. Callbacks run in the order of registration."""
    _on_found.append(callback)


def look() -> Agent | None:
    """Returns the agent. If there is none yet, one call in 1024 looks for it."""
    global _calls
    if _agent is None:
        _calls += 1
        if _calls % CALLS_BETWEEN_LOOKS == 1:
            look_now()
    return _agent


def look_now() -> Agent | None:
    """Returns the agent; always looks for it if there is none yet."""
    if _agent is None and _finding.acquire(blocking=False):
        try:
            _use(_find())
        finally:
            _finding.release()
    return _agent


def load(library: str) -> Agent | None:
    """Returns the agent; loads this library if there is none yet. None: logs why it cannot be loaded."""
    with _finding:
        if _agent is None:
            _use(_find())
        if _agent is None and _is_own() and _load_or_warn(library):
            _use(_find())
    return _agent


def _load_or_warn(library: str) -> bool:
    try:
        ctypes.CDLL(library, mode=os.RTLD_LAZY | os.RTLD_LOCAL)
    except OSError as error:
        import logging

        logging.getLogger("cuspan").warning(
            "cannot load the agent: %s; install cuspan for this machine, or call start() with the path of %s",
            error,
            SONAME,
        )
        return False
    return True


def _use(found: Agent | None) -> None:
    global _agent
    if _agent is not None or found is None:
        return
    _agent = found
    for callback in _on_found:
        _call(callback, found)


@_guard.guarded()
def _call(callback: Callable[[Agent], None], found: Agent) -> None:
    callback(found)
