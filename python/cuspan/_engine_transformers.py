"""Continuous batching of transformers (model.init_continuous_batching(), `transformers serve --continuous-batching`).

One thread schedules and computes. With tensor parallelism, each rank schedules the same requests, which rank 0 has
received and broadcasts. A note of cuspan on a request is therefore on all ranks.

Tested with transformers 5.17 without tensor parallelism."""

from __future__ import annotations

import time
from collections import deque
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
    RECORDED_PER_SECOND,
    Attributes,
    Headers,
    Member,
    Part,
    Rank,
    Schedule,
    Stamp,
    new_seed,
)

_WARM_UP = "__warmup"  # how IDs of its warm-up begin

_Note = tuple[int, Headers, int, Attributes]  # the engine's seed, the context, when it arrived, and headers


def follow(agent: _agent.Agent, module: ModuleType) -> None:
    label = "transformers ContinuousBatchingManager"
    hook_init(getattr(module, "ContinuousBatchingManager", None), label, lambda self: _follow_manager(agent, self))


def _follow_manager(agent: _agent.Agent, manager: Any) -> None:
    seed = new_seed()
    label = "transformers ContinuousBatchingManager"
    engine = _Engine(agent, seed, getattr(manager, "distributed_helper", None))

    def add(state: Any, *_args: Any, **_keywords: Any) -> None:
        state.cuspan = (seed, current(), time.time_ns(), attributes())  # on the thread that calls add_request()

    hook(getattr(manager, "input_queue", None), "put", f"{label}.input_queue", add)
    hook(manager, "_create_batch_processor", label, after=lambda _, made: engine.use(made))


class _Engine:
    def __init__(self, agent: _agent.Agent, seed: int, helper: Any) -> None:
        rank, ranks = getattr(helper, "tp_local_rank", 0), getattr(helper, "tp_size", 1)
        self._rank = Rank(agent, "transformers", rank, ranks)
        self._schedule = Schedule(seed, RECORDED_PER_SECOND if ranks == 1 else 0)  # ranks would decide differently
        self._begun: deque[Stamp] = deque(maxlen=4)  # without update_batch() so far: 1, or 2 if it is asynchronous
        self._offloads = False

    def use(self, processor: Any) -> None:
        if processor is RAISED:
            return
        label = "transformers ContinuousBatchProcessor"
        scheduler = getattr(processor, "scheduler", None)
        tensors = getattr(processor, "inputs_and_outputs", None)
        offloading = getattr(processor, "offloading_manager", None)
        hook(tensors, "prepare_batch_tensors", f"{label}.inputs_and_outputs", self._begin)
        hook(processor, "_generation_step", label, after=lambda *_: self._rank.end())
        hook(processor, "update_batch", label, self._attach, lambda token, _: self._rank.detach(token or 0))
        hook(offloading, "offload_requests", f"{label}.offloading_manager", self._offload, self._offloaded)
        hook(scheduler, "finish_request", f"{label}.scheduler", lambda id: self._finish(scheduler, id))
        hook(scheduler, "clear_cancelled_requests", f"{label}.scheduler", after=self._cancel)

    def _begin(self, requests_in_batch: Any, *_args: Any, **_keywords: Any) -> None:
        first = requests_in_batch[0].state
        if first.request_id.startswith(_WARM_UP) and not hasattr(first, "cuspan"):  # a client's ID may be the same
            return
        self._schedule.seed = self._note(first)[0]
        stamp = self._schedule.stamp([self._part(future.state, future.query_length) for future in requests_in_batch])
        self._begun.append(stamp)
        self._rank.begin(stamp)

    def _note(self, state: Any) -> _Note:
        return getattr(state, "cuspan", None) or (self._schedule.seed, None, 0, ())

    def _part(self, state: Any, tokens: int) -> Part:
        member = self._member(state)
        resumed, member.is_preempted = member.is_preempted, False
        if resumed:
            member.prefill = len(state.initial_tokens)  # and what it has generated, if that is computed again
        return member, tokens, state.position_offset, 0, resumed

    def _member(self, state: Any) -> Member:
        name = state.request_id
        found = self._schedule.members.get(name)
        if found is not None:
            return found
        _, headers, arrived_ns, noted = self._note(state)
        prompt = len(state.initial_tokens)
        return self._schedule.admit(name, name, prompt, state.position_offset, headers, arrived_ns, attributes=noted)

    def _attach(self) -> int:
        """The results of an iteration are read while the next one is computed, if the engine is asynchronous."""
        if not self._begun:
            return 0
        stamp = self._begun.popleft()
        self._schedule.done(stamp[1])
        return self._rank.attach(stamp)

    def _offload(self) -> None:
        self._offloads = True

    def _offloaded(self, *_: Any) -> None:
        self._offloads = False

    def _finish(self, scheduler: Any, name: str) -> None:
        """Before the scheduler forgets it."""
        member = self._schedule.members.get(name)
        if member is not None and self._offloads:  # it will be back
            member.is_preempted = True
        elif member is not None:
            self._end(scheduler.active_requests[name], FINISHED)

    def _cancel(self, _: None, states: Any) -> None:
        for state in () if states is RAISED else states:
            self._member(state)  # it may have been in the queue until now
            self._end(state, ABORTED)

    def _end(self, state: Any, reason: int) -> None:
        # After a preemption, what was generated before is part of the prompt.
        prompt = state._true_initial_tokens or len(state.initial_tokens)
        tokens = len(state.initial_tokens) - prompt + len(state.generated_tokens)
        self._schedule.end(state.request_id, FAILED if state.status.name == "FAILED" else reason, tokens)
        self._rank.begin(self._schedule.stamp(kind=NO_ITERATION))  # now: the next iteration may be far away
