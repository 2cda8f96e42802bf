"""TensorRT-LLM's PyExecutor: front end, and the process of rank 0, which schedules and computes. An iteration is
_forward_step() and _sample_async() of a batch. Its number is TensorRT-LLM's own.

Each rank schedules alone, and nothing that all have differs between two runs, so no seed is common to them: only rank 0
is followed. With data parallelism of attention, each rank has requests of its own and is an engine, but only rank 0
knows their contexts. Not followed: pipeline parallelism.

It has never run in TensorRT-LLM: it is written from the sources of 2026. Off unless CUSPAN_ENGINES names it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from cuspan import _agent
from cuspan._engine_front import attributes, current
from cuspan._engines import RAISED, hook, hook_init
from cuspan._iterations import (
    ABORTED,
    FAILED,
    FINISHED,
    NO_ITERATION,
    Attributes,
    Headers,
    Member,
    Part,
    Rank,
    Schedule,
)

_Note = tuple[Headers, int, Attributes]  # the context, when it arrived, and headers
_UNFINISHED = {"CONTEXT_INIT", "GENERATION_IN_PROGRESS", "GENERATION_TO_COMPLETE"}  # states of a request
_NOTES_MAX = 4096
_notes: dict[int, _Note] = {}  # by the client's ID of a request


# --- Front end ---


def follow_front(_: _agent.Agent, module: ModuleType) -> None:
    hook_init(getattr(module, "GenerationRequest", None), "TensorRT-LLM GenerationRequest", _arrived)


def _arrived(request: Any) -> None:
    given = getattr(request, "trace_headers", None) or {}
    headers = (given["traceparent"], given.get("tracestate", "")) if "traceparent" in given else current()
    request.cuspan = headers, time.time_ns(), attributes()  # travels with it to rank 0


# --- Rank 0 ---


def follow_worker(_: _agent.Agent, module: ModuleType) -> None:
    worker = getattr(module, "BaseWorker", None) or getattr(module, "GenerationExecutorWorker", None)
    hook(worker, "_enqueue_request", "TensorRT-LLM BaseWorker", _note)


def _note(_: Any, request: Any, *_args: Any, **_keywords: Any) -> None:
    note = getattr(request, "cuspan", None)
    if note is not None:
        if len(_notes) >= _NOTES_MAX:  # of requests that were never scheduled
            _notes.pop(next(iter(_notes)), None)
        _notes[request.id] = note


def follow(agent: _agent.Agent, module: ModuleType) -> None:
    label = "TensorRT-LLM PyExecutor"
    hook_init(getattr(module, "PyExecutor", None), label, lambda self: _follow_executor(agent, self))


def _follow_executor(agent: _agent.Agent, executor: Any) -> None:
    dist, label = executor.dist, "TensorRT-LLM PyExecutor"
    if getattr(dist, "pp_size", 1) > 1 or (dist.rank and not getattr(executor, "enable_attention_dp", False)):
        return
    engine = _Engine(agent, executor)
    hook(executor, "_forward_step", label, engine.begin, engine.forwarded)
    hook(executor, "_sample_async", label, after=engine.sampled)
    hook(executor, "_update_requests", label, after=engine.done)
    hook(executor, "_terminate_request", label, engine.terminate)


class _Engine:
    def __init__(self, agent: _agent.Agent, executor: Any) -> None:
        self._executor = executor
        self._rank = Rank(agent, "tensorrt_llm")
        self._schedule = Schedule()
        self._is_open = False
        self._sampled: deque[int] = deque(maxlen=4)  # without results so far: 1, or 2 if scheduling overlaps

    def begin(self, batch: Any, *_args: Any, **_keywords: Any) -> None:
        if self._executor.is_warmup:
            return
        stamp = self._schedule.stamp(list(self._parts(batch)), number=self._executor.iter_counter)
        self._rank.begin(stamp)
        self._is_open = True

    def _parts(self, batch: Any) -> Iterator[Part]:
        for request in batch.context_requests:
            if not request.is_attention_dp_dummy:
                member = self._member(request)
                resumed, member.is_preempted = member.is_preempted, False
                if resumed:
                    member.prefill = request.prompt_len  # and what it has generated
                yield member, request.context_chunk_size, request.context_current_position, 0, resumed
        for request in batch.generation_requests:
            if not request.is_attention_dp_dummy:
                member, drafts = self._member(request), len(request.py_draft_tokens or ())
                computed = request.get_num_tokens(0) - 1  # with overlap, the last token is not known yet
                tokens = (1 + drafts) * request.py_beam_width
                yield member, tokens, max(computed, member.prefill), drafts, False

    def _member(self, request: Any) -> Member:
        found = self._schedule.members.get(request.py_request_id)
        if found is not None:
            return found
        headers, arrived_ns, noted = _notes.get(request.py_client_id) or (None, 0, ())
        name = str(request.py_request_id if request.py_client_id is None else request.py_client_id)
        prompt, cached = request.py_orig_prompt_len, request.context_current_position
        return self._schedule.admit(request.py_request_id, name, prompt, cached, headers, arrived_ns, attributes=noted)

    def forwarded(self, _: None, result: Any) -> None:
        if result is RAISED:
            self._end()

    def sampled(self, _: None, result: Any) -> None:
        if self._is_open:
            self._sampled.append(self._schedule.number)
            self._end()

    def _end(self) -> None:
        if self._is_open:
            self._is_open = False
            self._rank.end()

    def done(self, *_: Any) -> None:
        if self._sampled:
            self._schedule.done(self._sampled.popleft())

    def terminate(self, request: Any, *_args: Any, **_keywords: Any) -> None:
        """It ends, or leaves the KV cache and will be computed again."""
        member = self._schedule.members.get(request.py_request_id)
        if member is None:
            return
        if not request.is_finished and request.state.name in _UNFINISHED:
            member.is_preempted = True
            return
        reason = ABORTED if getattr(request, "is_finished_due_to_cancellation", False) else FINISHED
        if not request.is_finished and request.state.name == "GENERATION_COMPLETE":
            reason = FAILED
        _notes.pop(request.py_client_id, None)
        self._schedule.end(request.py_request_id, reason, max(0, request.get_num_tokens(0) - request.py_orig_prompt_len))
        self._rank.begin(self._schedule.stamp(kind=NO_ITERATION))  # now: the next iteration may be far away
