"""Starts and stops tracing: cuspan_start, cuspan_stop and cuspan_flush."""

from __future__ import annotations

from cuspan import _agent, _guard, _native

_DONE = 0
_FAILED = -1


@_guard.guarded(False)
def start(library: str | None = None) -> bool:
    """Starts tracing, in a script or a notebook. If CUDA has not loaded the agent, this loads it: from `library` (a
    path), CUDA_INJECTION64_PATH, this package, or as the loader finds libcuspan.so. Call it before CUDA is initialized
    (for example, before the first tensor on a GPU) to trace everything. If CUDA is already in use, only later calls and
    their GPU work are traced. False: tracing cannot start; one line on standard error has the reason."""
    agent = _agent.load(library or _native.library() or _agent.SONAME)
    return agent is not None and agent.start() != _FAILED


@_guard.guarded()
def stop() -> None:
    """Stops tracing until the next start. Work captured before is still delivered."""
    agent = _agent.look_now()
    if agent is not None:
        agent.stop()


@_guard.guarded(False)
def flush(timeout: float = 5.0) -> bool:
    """Sends everything captured and all finished GPU work now, and waits for it up to `timeout` seconds. True:
    everything was delivered, or rejected and counted. False: the timeout passed, or nothing is traced here."""
    agent = _agent.look_now()
    milliseconds = int(min(max(timeout * 1000, 0), 0xFFFFFFFF))
    return agent is not None and agent.flush(milliseconds) == _DONE
