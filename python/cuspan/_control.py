"""Tracing from here to there: cuspan_start, cuspan_stop and cuspan_flush."""

from __future__ import annotations

from cuspan import _agent

_DONE = 0
_FAILED = -1


def start(library: str | None = None) -> bool:
    """Traces from now on. Where CUDA has not loaded the agent, `library` (a path; else libcuspan.so as the loader finds
    it) is loaded first, also after CUDA has begun. False: it can't be; the agent has said why on standard error."""
    agent = _agent.load(library)
    return agent is not None and agent.start() != _FAILED


def stop() -> None:
    """Ends the tracing, until the next start. What is captured goes on to be delivered."""
    agent = _agent.look_now()
    if agent is not None:
        agent.stop()


def flush(timeout: float = 5.0) -> bool:
    """Sends at once what is captured, and of the GPU's work what is finished, and waits for it, `timeout` seconds at
    most. True: it is delivered, or was refused and is counted. False: the time has passed, or nothing is traced here."""
    agent = _agent.look_now()
    milliseconds = int(min(max(timeout * 1000, 0), 0xFFFFFFFF))
    return agent is not None and agent.flush(milliseconds) == _DONE
