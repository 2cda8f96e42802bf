"""vLLM V1: front end (API servers, LLM), EngineCore with the scheduler, and workers, mostly in processes of their own.

The scheduler's output carries the stamp to the workers, and a request's trace headers its context to the scheduler. If
vLLM itself does not trace, they end there: otherwise they would come back with each output. If a stop string ends a
request, the front end aborts it: so it counts as aborted. If EngineCore is in the program's own process, but workers
are not, these get the last ends with the next requests.

Not followed: the front end in Rust.

Tested with vLLM 0.20.2, 0.24.0 and 0.32.0 (CPU builds; asynchronous scheduling and speculation with replaced functions
of these builds), and 0.24.0 on an H200."""

from __future__ import annotations

import itertools
import re
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
    FORWARD,
    NO_ITERATION,
    TRANSFER,
    Attributes,
    Headers,
    Member,
    Part,
    Rank,
    Schedule,
    Stamp,
)

_REASONS = {"abort": ABORTED, "error": FAILED}
_HEADER = "cuspan."  # before the names of headers of engine.headers, which travel with the trace headers
_RANDOM = re.compile(r"-[0-9a-f]{8}\Z")  # since 0.15, vLLM appends it to the client's ID


# --- Front end ---


def follow_front(_: _agent.Agent, module: ModuleType) -> None:
    hook(getattr(module, "OutputProcessor", None), "add_request", "vLLM OutputProcessor", _add_request)


def _add_request(_: Any, request: Any, *_args: Any, **_keywords: Any) -> None:
    """Before the request goes to the engine."""
    given = request.trace_headers or {}  # empty: vLLM traces, and the client sent none
    headers = current() if "traceparent" not in given else None
    added = {f"{_HEADER}{name}": value for name, value in attributes()}
    if headers is not None:
        traceparent, tracestate = headers
        added.update({"traceparent": traceparent, **({"tracestate": tracestate} if tracestate else {})})
    if added:
        request.trace_headers = {**given, **added}


# --- EngineCore ---


def follow_core(_: _agent.Agent, module: ModuleType) -> None:
    hook_init(getattr(module, "EngineCore", None), "vLLM EngineCore", _follow_scheduler)


def _follow_scheduler(core: Any) -> None:
    scheduler = core.scheduler
    observability = getattr(getattr(core, "vllm_config", None), "observability_config", None)
    driver = getattr(getattr(core, "model_executor", None), "driver_worker", None)  # if there is no other process
    rank = getattr(getattr(driver, "worker", None), "cuspan", None)
    engine = _Core(scheduler, getattr(observability, "otlp_traces_endpoint", None) is not None, rank)
    hook(scheduler, "schedule", "vLLM Scheduler", after=engine.scheduled)
    hook(scheduler, "update_from_output", "vLLM Scheduler", engine.done)
    hook(scheduler, "_free_request", "vLLM Scheduler", engine.free)


class _Core:
    def __init__(self, scheduler: Any, traces: bool, rank: Rank | None) -> None:
        self._scheduler = scheduler
        self._traces = traces
        self._rank = rank
        self._schedule = Schedule()

    def scheduled(self, _: None, output: Any) -> None:
        if output is RAISED:
            return
        for name in output.finished_req_ids:
            self._schedule.end(name)  # unless free() has already
        kind = FORWARD
        if not output.total_num_scheduled_tokens:  # to pass on ended requests, or for a KV cache's connector
            kind = NO_ITERATION if getattr(output, "kv_connector_metadata", None) is None else TRANSFER
        cached = output.scheduled_cached_reqs
        tokens = output.num_scheduled_tokens
        resumed, drafts = _resumed_of(cached), output.scheduled_spec_decode_tokens
        parts = self._new_parts(output.scheduled_new_reqs, tokens)
        if resumed:
            special = self._cached_parts(cached, tokens, resumed, drafts)
            output.cuspan = self._schedule.stamp(itertools.chain(parts, special), kind)
        else:
            is_one_each = output.total_num_scheduled_tokens == len(tokens)
            columns = cached.req_ids, None if is_one_each else tokens, cached.num_computed_tokens, drafts
            output.cuspan = self._schedule.stamp(parts, kind, columns=columns)

    def done(self, scheduler_output: Any, *_args: Any, **_keywords: Any) -> None:
        stamp = getattr(scheduler_output, "cuspan", None)
        if stamp is not None and stamp[2] != NO_ITERATION:
            self._schedule.done(stamp[1])

    def _new_parts(self, requests: Any, tokens: Any) -> Iterator[Part]:
        members = self._schedule.members
        for new in requests:
            name = new.req_id
            member, computed = members.get(name), new.num_computed_tokens
            if member is None:
                yield self._admit(self._scheduler.requests[name], computed), tokens[name], computed, 0, False
            else:  # the second model runner gets all of a request again after a preemption
                yield self._resumed(name), tokens[name], computed, 0, True

    def _cached_parts(self, cached: Any, tokens: Any, resumed: Any, drafts: Any) -> Iterator[Part]:
        for name, computed in zip(cached.req_ids, cached.num_computed_tokens):
            member = self._schedule.members[name]
            is_resumed = name in resumed
            if is_resumed:
                self._resumed(name)
            yield member, tokens[name], computed, len(drafts[name]) if name in drafts else 0, is_resumed

    def _admit(self, request: Any, cached_tokens: int) -> Member:
        headers: Headers = None
        given = request.trace_headers or {}
        if "traceparent" in given:
            headers = given["traceparent"], given.get("tracestate", "")
        noted: Attributes = tuple((key[len(_HEADER) :], given[key]) for key in given if key.startswith(_HEADER))
        if not self._traces:
            request.trace_headers = None
        elif noted:
            request.trace_headers = {key: given[key] for key in given if not key.startswith(_HEADER)}
        return self._schedule.admit(
            request.request_id,
            _RANDOM.sub("", request.request_id),
            request.num_prompt_tokens,
            cached_tokens,
            headers,
            int(request.arrival_time * 1e9),
            attributes=noted,
        )

    def _resumed(self, name: str) -> Member:
        """The generated tokens are computed again, too."""
        return self._schedule.prefill_again(name, self._scheduler.requests[name].num_tokens)

    def free(self, request: Any, *_args: Any, **_keywords: Any) -> None:
        if request.request_id not in self._schedule.members:  # it was in the queue until now
            self._admit(request, 0)
        reason = _REASONS.get(str(request.get_finished_reason()), FINISHED)
        self._schedule.end(request.request_id, reason, request.num_output_tokens)
        if self._rank is not None:  # now: in the program's own process, nothing follows the last iteration
            self._rank.begin(self._schedule.stamp(kind=NO_ITERATION))


def _resumed_of(cached: Any) -> Any:
    names = getattr(cached, "resumed_req_ids", None)
    if names is not None:
        return names
    flags = cached.resumed_from_preemption  # 0.11
    return {name for name, flag in zip(cached.req_ids, flags) if flag}


# --- Workers ---


def follow_worker(agent: _agent.Agent, module: ModuleType) -> None:
    wrapper = getattr(module, "WorkerWrapperBase", None)
    if wrapper is None and module.__name__ == "vllm.v1.worker.worker_base":
        return  # in 0.11 it is in the other module

    def made(self: Any, result: object) -> None:
        if result is not RAISED:
            worker = _Worker(agent, self.worker)
            if hasattr(self, "execute_model_ray"):
                worker.follow_ray(self)

    hook(wrapper, "init_worker", "vLLM WorkerWrapperBase", lambda self, *_args, **_keywords: self, made)


class _Worker:
    """An iteration is execute_model(), and sample_tokens() if that has returned None. With asynchronous scheduling, the
    result is copied later, on another thread: by get_output() of the returned object."""

    def __init__(self, agent: _agent.Agent, worker: Any) -> None:
        ranks = getattr(getattr(worker, "parallel_config", None), "world_size", 1)
        self._rank = worker.cuspan = Rank(agent, "vllm", getattr(worker, "rank", 0), ranks)
        self._stamp: Stamp | None = None
        self._samples = hasattr(worker, "sample_tokens")  # not in 0.11
        label = "vLLM Worker"
        hook(worker, "execute_model", label, self._execute, self._executed)
        if self._samples:
            hook(worker, "sample_tokens", label, after=self._sampled)
        hook(worker, "execute_dummy_batch", label, lambda *_: self._rank.begin_dummy(), self._dummy_ended)

    def follow_ray(self, wrapper: Any) -> None:
        """A compiled graph of Ray's calls the model runner directly. Removed in 0.33."""

        def execute(given: Any, *_args: Any, **_keywords: Any) -> None:
            self._execute(given[0] if isinstance(given, tuple) else given)

        hook(wrapper, "execute_model_ray", "vLLM RayWorkerWrapper", execute, self._sampled)

    def _execute(self, scheduler_output: Any, *_args: Any, **_keywords: Any) -> bool:
        stamp = getattr(scheduler_output, "cuspan", None)
        self._stamp = stamp[:4] + (b"", (), (), ()) if stamp is not None and stamp[2] != NO_ITERATION else None
        return self._rank.begin(stamp)

    def _executed(self, has_begun: bool | None, result: Any) -> None:
        if result is not None or not self._samples:
            self._ended(result)

    def _sampled(self, _: None, result: Any) -> None:
        self._ended(result)

    def _ended(self, result: Any) -> None:
        stamp, self._stamp = self._stamp, None
        if stamp is None:
            return
        self._rank.end()
        if hasattr(result, "get_output"):
            result.cuspan = self._rank, stamp
            hook(type(result), "get_output", f"vLLM {type(result).__name__}", _copy, _copied)

    def _dummy_ended(self, has_begun: bool | None, _: object) -> None:
        if has_begun:
            self._rank.end()


def _copy(result: Any) -> tuple[Rank, int] | None:
    rank, stamp = vars(result).get("cuspan", (None, None))
    return (rank, rank.attach(stamp)) if rank is not None else None


def _copied(token: tuple[Rank, int] | None, _: object) -> None:
    if token is not None:
        rank, attached = token
        rank.detach(attached)
