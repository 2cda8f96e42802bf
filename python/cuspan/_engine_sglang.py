"""SGLang: front end (TokenizerManager) and a scheduler for each rank, which also computes. All ranks decide alike. Their
common seed comes from the name of the socket that they share, or with several nodes from SGLang's random seed. The
number of an iteration is SGLang's own.

A request's context travels to the schedulers with the times that SGLang keeps of each request. With speculation, each
decode verifies as many tokens as is configured. Not followed: requests that are aborted in the queue.

Tested with SGLang 0.5.23 on a CPU."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from cuspan import _agent
from cuspan._engine_front import attributes, current
from cuspan._engines import RAISED, hook, hook_init
from cuspan._iterations import (
    ABORTED,
    DUMMY,
    FINISHED,
    FORWARD,
    NO_ITERATION,
    RECORDED_PER_SECOND,
    Member,
    Part,
    Rank,
    Schedule,
    Stamp,
)


# --- Front end ---


def follow_front(_: _agent.Agent, module: ModuleType) -> None:
    label = "SGLang APIServerReqTimeStats"
    times = getattr(module, "ReqTimeStatsBase", None)
    if hook(times, "__getstate__", "SGLang ReqTimeStatsBase", lambda self: self, _sent):
        times.cuspan = None  # type: ignore[union-attr]
        hook_init(getattr(module, "APIServerReqTimeStats", None), label, _arrived)


def _arrived(times: Any) -> None:
    times.cuspan = current(), time.time_ns(), attributes()


def _sent(times: Any, state: Any) -> None:
    if state is not RAISED and times is not None and times.cuspan is not None:
        state["cuspan"] = times.cuspan


# --- Schedulers ---


def follow(agent: _agent.Agent, module: ModuleType) -> None:
    def given(self: Any, server_args: Any, port_args: Any, *_args: Any, **_keywords: Any) -> tuple[Any, Any, Any]:
        return self, server_args, port_args

    def made(token: tuple[Any, Any, Any] | None, result: object) -> None:
        if result is not RAISED and token is not None:
            scheduler, server_args, port_args = token
            parallel = getattr(scheduler, "ps", scheduler)  # ps: 0.5.13 to 0.5.15
            if hasattr(module, "get_parallel"):  # later ones
                parallel = module.get_parallel()
            group, size = _group_of(parallel)
            seed = _seed_of(scheduler, server_args, port_args, group)
            _Engine(agent, scheduler, seed, parallel, size, _drafts_of(server_args))

    hook(getattr(module, "Scheduler", None), "__init__", "SGLang Scheduler", given, made)


def _group_of(parallel: Any) -> tuple[int, int]:
    """With data parallelism of attention, the ranks of tensor parallelism belong to several engines: which one, of how many
    ranks."""
    groups = getattr(parallel, "attn_dp_size", None)
    size = parallel.tp_size // groups if groups else getattr(parallel, "attn_tp_size", parallel.tp_size)
    return parallel.tp_rank // size, size


def _seed_of(scheduler: Any, server_args: Any, port_args: Any, group: int) -> int:
    name = port_args.scheduler_input_ipc_name if getattr(server_args, "nnodes", 1) == 1 else ""
    text = f"{name} {scheduler.random_seed} {getattr(scheduler, 'dp_rank', None)} {group}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") | 1


def _drafts_of(server_args: Any) -> int:
    """Of a request in each decode. One token of those that are verified is not a draft."""
    speculates = getattr(server_args, "speculative_algorithm", None) is not None
    return max(0, (server_args.speculative_num_draft_tokens or 0) - 1) if speculates else 0


class _Engine:
    def __init__(self, agent: _agent.Agent, scheduler: Any, seed: int, parallel: Any, size: int, drafts: int) -> None:
        self._scheduler, self._drafts = scheduler, drafts
        rank, ranks = getattr(parallel, "pp_rank", 0) * size + parallel.tp_rank % size, getattr(parallel, "pp_size", 1) * size
        self._rank, self._is_first = Rank(agent, "sglang", rank, ranks), rank == 0
        self._schedule = Schedule(seed, RECORDED_PER_SECOND if ranks == 1 else 0)  # ranks would decide differently
        label = "SGLang Scheduler"
        hook(scheduler, "run_batch", label, self._begin, self._end)
        hook(scheduler, "process_batch_result", label, self._attach, self._processed)

    def _begin(self, batch: Any, *_args: Any, **_keywords: Any) -> Stamp | None:
        mode = batch.forward_mode
        if hasattr(mode, "is_prebuilt") and mode.is_prebuilt():  # computes nothing; since 0.5.6
            return None
        kind = DUMMY if mode.is_idle() else FORWARD
        number = self._scheduler.forward_ct + 1
        if not mode.is_decode_or_idle():
            stamp = self._schedule.stamp(self._extends(batch), kind, number)
        elif self._drafts or not self._is_first:
            stamp = self._schedule.stamp(self._decodes(batch) if self._is_first else (), kind, number)
        else:
            stamp = self._stamp_decode(batch, kind, number)
        self._rank.begin(stamp)
        return stamp[:4] + (b"", (), (), ())

    def _extends(self, batch: Any) -> Iterator[Part]:
        """Prefill, and in a mixed batch also decodes, which extend by one token."""
        members = self._schedule.members
        for request, tokens, computed in zip(batch.reqs, batch.extend_lens, batch.prefix_lens):
            member = members.get(request.rid)
            if member is None:
                member = self._admit(request, computed)
            known = len(request.origin_input_ids) + len(request.output_ids)
            resumed = member.prefill < known and computed + 1 < known
            if resumed:
                self._schedule.prefill_again(request.rid, known)  # what it has generated is computed again
            yield member, tokens, computed, 0, resumed

    def _admit(self, request: Any, cached_tokens: int) -> Member:
        times = getattr(request, "time_stats", None)
        headers, arrived_ns, noted = getattr(times, "cuspan", None) or (None, 0, ())
        if arrived_ns:
            times.cuspan = None  # type: ignore[union-attr]  # it would come back with each output
        prompt = len(request.origin_input_ids)
        name = request.rid
        return self._schedule.admit(name, name, prompt, cached_tokens, headers, arrived_ns, attributes=noted)

    def _stamp_decode(self, batch: Any, kind: int, number: int) -> Stamp:
        keys = [request.rid for request in batch.reqs]
        computed = [len(request.origin_input_ids) + len(request.output_ids) - 1 for request in batch.reqs]
        try:
            return self._schedule.stamp(kind=kind, number=number, columns=self._schedule.all_decode(keys, computed))
        except KeyError:  # prefilled elsewhere
            return self._schedule.stamp(self._decodes(batch), kind, number)

    def _decodes(self, batch: Any) -> Iterator[Part]:
        for request in batch.reqs:
            member = self._schedule.members.get(request.rid)
            if member is not None:
                computed = len(request.origin_input_ids) + len(request.output_ids) - 1
                # With overlap, the last token is not known yet.
                yield member, 1 + self._drafts, max(computed, member.prefill), self._drafts, False

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
                # With speculation, there may be tokens after the last one.
                tokens = getattr(request, "finished_len", None)
                self._schedule.end(request.rid, reason, len(request.output_ids) if tokens is None else tokens)
        self._rank.begin(self._schedule.stamp(kind=NO_ITERATION))
