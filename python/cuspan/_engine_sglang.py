"""SGLang. Untested: written from the sources of 0.5.23, it never ran in the engine. So it is off unless CUSPAN_ENGINES
contains sglang.

Each rank has a scheduler, and all decide alike. Their common seed comes from the name of the socket that they share,
and the number of an iteration is SGLang's own. Requests have no context: SGLang passes none to the schedulers unless it
traces itself. Not followed: speculation (a decode counts as one token), pipeline parallelism (each stage has ranks of
its own), and requests that are aborted in the queue."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from cuspan import _agent
from cuspan._engines import RAISED, hook
from cuspan._iterations import ABORTED, DUMMY, FINISHED, FORWARD, NO_ITERATION, Part, Rank, Schedule, Stamp


def follow(agent: _agent.Agent, module: ModuleType) -> None:
    def given(self: Any, _: Any, port_args: Any, *_args: Any, **_keywords: Any) -> tuple[Any, Any]:
        return self, port_args

    def made(token: tuple[Any, Any], result: object) -> None:
        if result is not RAISED:
            scheduler, port_args = token
            parallel = module.get_parallel() if hasattr(module, "get_parallel") else scheduler
            _Engine(agent, scheduler, _seed_of(port_args.scheduler_input_ipc_name), parallel)

    hook(getattr(module, "Scheduler", None), "__init__", "SGLang Scheduler", given, made)


def _seed_of(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") | 1


class _Engine:
    def __init__(self, agent: _agent.Agent, scheduler: Any, seed: int, parallel: Any) -> None:
        self._scheduler = scheduler
        self._rank = Rank(agent, "sglang", parallel.tp_rank, parallel.tp_size)
        self._schedule = Schedule(seed, recorded_per_second=0)  # no request has a context
        label = "SGLang Scheduler"
        hook(scheduler, "run_batch", label, self._begin, self._end)
        hook(scheduler, "process_batch_result", label, self._attach, self._processed)

    def _begin(self, batch: Any, *_args: Any, **_keywords: Any) -> Stamp | None:
        mode = batch.forward_mode
        if mode.is_prebuilt():  # computes nothing
            return None
        kind = DUMMY if mode.is_idle() else FORWARD
        parts = self._decodes(batch) if mode.is_decode_or_idle() else self._extends(batch)
        stamp = self._schedule.stamp(parts, kind, self._scheduler.forward_ct + 1)
        self._rank.begin(stamp)
        return stamp[:4] + (b"", (), (), ())

    def _extends(self, batch: Any) -> Iterator[Part]:
        """Prefill, and in a mixed batch also decodes, which extend by one token."""
        members = self._schedule.members
        for request, tokens, computed in zip(batch.reqs, batch.extend_lens, batch.prefix_lens):
            member = members.get(request.rid)
            if member is None:
                member = self._schedule.admit(request.rid, request.rid, len(request.origin_input_ids), computed)
            known = len(request.origin_input_ids) + len(request.output_ids)
            resumed = member.prefill < known and computed + 1 < known
            if resumed:
                member.prefill = known  # what it has generated is computed again
            yield member, tokens, computed, 0, resumed

    def _decodes(self, batch: Any) -> Iterator[Part]:
        for request in batch.reqs:
            member = self._schedule.members.get(request.rid)
            if member is not None:
                yield member, 1, len(request.origin_input_ids) + max(len(request.output_ids) - 1, 0), 0, False

    def _end(self, stamp: Stamp | None, result: Any) -> None:
        if stamp is None:
            return
        self._rank.end()
        if result is not RAISED and result is not None:
            result.cuspan = stamp

    def _attach(self, batch: Any, result: Any, *_args: Any, **_keywords: Any) -> tuple[int, Any]:
        """With overlap, results are processed while the next iteration is computed."""
        stamp = getattr(result, "cuspan", None)
        return (self._rank.attach(stamp) if stamp is not None else 0), batch

    def _processed(self, token: tuple[int, Any] | None, _: object) -> None:
        if token is None:
            return
        attached, batch = token
        self._rank.detach(attached)
        for request in batch.reqs:
            if request.finished() and request.rid in self._schedule.members:
                reason = ABORTED if type(request.finished_reason).__name__ == "FINISH_ABORT" else FINISHED
                self._schedule.end(request.rid, reason, len(request.output_ids))
        self._rank.begin(self._schedule.stamp(kind=NO_ITERATION))
