"""Iterations of serving engines and their requests, for the program's own engine and for the adapters (_engine_*.py).

The scheduler of an engine decides what an iteration computes, often in another process than those with the GPUs. It
makes a stamp of each iteration, which travels to them with the scheduler's own message, and they report what the stamp
says. A stamp consists of numbers and texts only: a receiver without this package can unpickle it."""

from __future__ import annotations

import os
import time
from array import array
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sized
from typing import Any, Optional

from cuspan import _agent, _attach, _guard
from cuspan._ctypes import ctypes
from cuspan._text import utf8
from cuspan._trace_context import TraceContext, parse, to_native

FORWARD, DUMMY, TRANSFER, WARM_UP = range(4)
NO_ITERATION = -1  # a stamp that brings only requests
FINISHED, ABORTED, FAILED = range(3)
_KINDS = {"forward": FORWARD, "dummy": DUMMY, "transfer": TRANSFER, "warm-up": WARM_UP}
_REASONS = {"finished": FINISHED, "aborted": ABORTED, "failed": FAILED}

RECORDED_PER_SECOND = 4  # iterations recorded because they begin a request; engine.ratio adds others
SUMMARIES_PER_SECOND = 4  # iterations sent afterwards
_RECENT = 448  # latest iterations: an agent keeps those of its process, 512 in all
_LOOK = 64  # iterations until the next look at what is slow
_WORDS = 3  # of 64 bits, in cuspan_part
_DECODE, _RESUMED, _TOKENS, _DRAFTS = 1, 1 << 16, 1 << 32, 1 << 32
_DUMMIES = 0x64756D6D79  # makes the seed of an engine's dummy iterations, which have numbers of their own

# Seed, number, kind, recorded, parts, new requests, ended requests, numbers of earlier iterations to send afterwards.
Stamp = tuple[int, int, int, int, bytes, tuple[Any, ...], tuple[Any, ...], tuple[int, ...]]
Headers = Optional[tuple[str, str]]  # traceparent and tracestate
Attributes = tuple[tuple[str, str], ...]  # of a request: headers that engine.headers names, and their values
Part = tuple["Member", int, int, int, bool]  # a request, tokens, tokens computed before, drafts, resumed
# The engine's IDs of requests; of each its tokens (None: one); tokens computed before; those with drafts.
Columns = tuple[list[Hashable], Optional[Mapping[Hashable, int]], list[int], Mapping[Hashable, Sized]]


def new_seed() -> int:
    return int.from_bytes(os.urandom(8), "little") | 1


class Member:
    """A request that the scheduler knows."""

    __slots__ = ("after", "is_preempted", "may_be_sampled", "number", "prefill")

    def __init__(self, number: int, prefill: int, after: int = 0, may_be_sampled: bool = False) -> None:
        self.number = number
        self.after = after  # its iterations have higher numbers
        self.may_be_sampled = may_be_sampled
        self.prefill = (
            prefill  # tokens up to which it prefills: the prompt, and what a preemption makes it compute again
        )
        self.is_preempted = False


class _Budget:
    """At most so many in a second."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._left = float(per_second)
        self._at = time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self._left = min(self._per_second, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class _Recent:
    """How long the latest iterations took, and which ones are sent afterwards as summaries, because they were not
    recorded: the slow ones, and a sampled request's slowest. Ranks must send the same, so one process decides."""

    def __init__(self, per_second: int) -> None:
        self._budget = _Budget(per_second)
        self._begun: dict[int, int] = {}  # those in progress, by number
        self._done_ns = 0
        self._took: deque[int] = deque(maxlen=_RECENT)  # ns
        self._slowest: deque[tuple[int, int]] = deque()  # number, ns: each the slowest from the one before it on
        self._count = 0
        self._slow_ns = 1 << 62
        self._traced: deque[int] = deque(maxlen=_RECENT)  # these have a trace, or get one
        self._wanted: list[int] = []

    def begin(self, number: int, recorded: bool) -> None:
        if len(self._begun) == _LOOK:  # their ends are not reported
            self._begun.clear()
        self._begun[number] = time.monotonic_ns()
        if recorded:
            self._traced.append(number)

    def end(self, number: int, may_be_sampled: bool) -> None:
        """Several may be in progress. One lasts from its start, or from the end of the one before, until now."""
        now, begun = time.monotonic_ns(), self._begun.pop(number, None)
        if begun is None:
            return
        took = now - max(begun, self._done_ns)
        self._done_ns = now
        if took > self._slow_ns and may_be_sampled:
            self._want(number)
        slowest = self._slowest
        while slowest and slowest[-1][1] <= took:
            slowest.pop()
        slowest.append((number, took))
        if slowest[0][0] <= number - _RECENT:
            slowest.popleft()
        self._took.append(took)
        self._count += 1
        if self._count % _LOOK == 0:
            times = sorted(self._took)
            self._slow_ns = max(2 * times[len(times) // 2], times[len(times) * 49 // 50])

    def end_request(self, after: int) -> None:
        """It was in iterations with higher numbers than this one."""
        for number, _ in tuple(self._slowest):
            if number > after:
                self._want(number)
                return

    def _want(self, number: int) -> None:
        if number not in self._traced and self._budget.take():
            self._traced.append(number)
            self._wanted.append(number)

    def take(self) -> tuple[int, ...]:
        """The iterations to send, before the requests that have ended meanwhile are reported."""
        if not self._wanted:
            return ()
        wanted, self._wanted = tuple(self._wanted), []
        return wanted


class Schedule:
    """An engine's requests and iterations, in the process of its scheduler. For one thread."""

    def __init__(self, seed: int | None = None, recorded_per_second: int = RECORDED_PER_SECOND) -> None:
        self.seed = new_seed() if seed is None else seed
        self.number = 0
        self.members: dict[Hashable, Member] = {}  # by the engine's ID
        self._numbers: dict[Hashable, int] = {}  # the members', likewise
        self._before: dict[Hashable, Member] = {}  # those that may not decode so far
        self._keys: list[Hashable] | None = None  # of the latest columns, and their numbers
        self._key_numbers = array("Q")
        self._count = 0
        self._new: list[tuple[Any, ...]] = []
        self._ended: list[tuple[int, int, int]] = []
        self._begins_sampled = False
        self._budget = _Budget(recorded_per_second)
        self._sampled = 0  # members that may be
        self._recent = _Recent(SUMMARIES_PER_SECOND) if recorded_per_second else None

    def admit(
        self,
        key: Hashable,
        name: str,
        prompt_tokens: int,
        cached_tokens: int = 0,
        headers: Headers = None,
        arrived_ns: int = 0,
        attributes: Attributes = (),
    ) -> Member:
        """Before the first part of a request."""
        self._count += 1
        context = parse(*headers) if headers else None
        is_sampled = context is not None and context.flags & 1 == 1
        made = Member(self._count, prompt_tokens, self.number, is_sampled or context is None)
        self.members[key] = self._before[key] = made
        self._numbers[key] = made.number
        self._keys = None  # it may have the ID of an ended one
        self._sampled += made.may_be_sampled
        self._new.append((made.number, name, headers, arrived_ns, prompt_tokens, cached_tokens, attributes))
        self._begins_sampled |= is_sampled
        return made

    def end(self, key: Hashable, reason: int = FINISHED, tokens: int = 0) -> None:
        member = self.members.pop(key, None)
        if member is None:
            return
        del self._numbers[key]
        self._before.pop(key, None)
        self._ended.append((member.number, reason, tokens))
        self._sampled -= member.may_be_sampled
        if member.may_be_sampled and self._recent is not None:
            self._recent.end_request(member.after)

    def done(self, number: int) -> None:
        """The scheduler has the results of this iteration. Before end() of its requests."""
        if self._recent is not None:
            self._recent.end(number, self._sampled > 0)

    def stamp(
        self,
        parts: Iterable[Part] = (),
        kind: int = FORWARD,
        number: int | None = None,
        columns: Columns | None = None,
    ) -> Stamp:
        """The next iteration. The requests reported since the last one travel with it. `columns` are further parts, not
        resumed; a KeyError, and nothing else, if one of them is of no member."""
        words: list[int] = []
        for member, tokens, computed, drafts, resumed in parts:
            phase = _DECODE if computed >= member.prefill else 0
            words += (member.number, phase + resumed * _RESUMED + tokens * _TOKENS, computed + drafts * _DRAFTS)
        packed = array("Q", words).tobytes() + (self._pack(*columns) if columns is not None else b"")
        if kind != NO_ITERATION:
            self.number = self.number + 1 if number is None else number
        recorded = kind != NO_ITERATION and self._begins_sampled and self._budget.take()
        wanted = self._recent.take() if self._recent is not None else ()
        made = (self.seed, self.number, kind, int(recorded), packed, *self._take_requests(), wanted)
        self._begins_sampled = self._begins_sampled and kind == NO_ITERATION
        if kind != NO_ITERATION and self._recent is not None:
            self._recent.begin(self.number, recorded)
        return made

    def prefill_again(self, key: Hashable, tokens: int) -> Member:
        """After a preemption, the request computes so many tokens before it decodes."""
        member = self._before[key] = self.members[key]
        member.prefill = tokens
        return member

    def all_decode(self, keys: list[Hashable], computed: list[int]) -> Columns:
        """Columns of one token each. With overlap, the token of a prefill may not be known yet."""
        for at, key in enumerate(keys) if self._before else ():
            if key in self._before:
                computed[at] = max(computed[at], self._before[key].prefill)
        return keys, None, computed, {}

    def _pack(
        self,
        keys: list[Hashable],
        tokens: Mapping[Hashable, int] | None,
        computed: list[int],
        drafts: Mapping[Hashable, Sized],
    ) -> bytes:
        """An engine does this in each iteration, for up to a thousand requests of which few have changed."""
        if keys != self._keys:
            self._keys = list(keys)
            self._key_numbers = array("Q", map(self._numbers.__getitem__, keys))
        words = array("Q", bytes(array("Q").itemsize * _WORDS * len(keys)))
        words[::_WORDS] = self._key_numbers
        words[2::_WORDS] = array("Q", computed)
        if tokens is None:
            words[1::_WORDS] = array("Q", (_DECODE + _TOKENS,)) * len(keys)
        else:
            words[1::_WORDS] = array("Q", [_DECODE + count * _TOKENS for count in map(tokens.__getitem__, keys)])
        places = dict(zip(keys, range(len(keys)))) if self._before or drafts else {}
        for key in drafts.keys() & places.keys():
            words[places[key] * _WORDS + 2] += len(drafts[key]) * _DRAFTS
        for key in self._before.keys() & places.keys():
            if computed[places[key]] < self._before[key].prefill:
                words[places[key] * _WORDS + 1] -= _DECODE
            else:
                del self._before[key]
        return words.tobytes()

    def _take_requests(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        new, ended = tuple(self._new), tuple(self._ended)
        self._new.clear()
        self._ended.clear()
        return new, ended


class _Numbers(dict[int, int]):
    def __missing__(self, _: int) -> int:
        return 0


class Rank:
    """One process that computes the iterations of an engine. Only rank 0 reports requests and parts."""

    def __init__(self, agent: _agent.Agent, engine: str, rank: int = 0, ranks: int = 1) -> None:
        self._agent = agent
        self._engine = utf8(engine)
        self._info = self._info_of(0, 0, FORWARD, 0, rank, ranks)
        self._numbers = _Numbers()  # the agent's, by the scheduler's
        self._latest = array("Q"), array("Q")  # the scheduler's of the latest iteration, and the agent's
        self._dummies = 0

    def _info_of(self, seed: int, number: int, kind: int, recorded: int, rank: int, ranks: int) -> _agent.IterationInfo:
        return _agent.IterationInfo(self._engine, seed, number, kind, recorded, rank, ranks)

    def begin(self, stamp: Stamp | None) -> bool:
        """Without a stamp, the work belongs to no iteration. Returns whether it began one."""
        if stamp is None:
            return False
        seed, number, kind, recorded, parts, new, ended, wanted = stamp
        words = array("Q")
        self._report(new if self._info.rank == 0 else ())
        for earlier in wanted:
            _send_summary(self._agent, self._info_of(seed, earlier, FORWARD, 0, self._info.rank, self._info.ranks))
        if self._info.rank == 0:
            for request, reason, tokens in ended:
                self._agent.request_end(self._numbers.pop(request, 0), reason, tokens)
            words.frombytes(parts)
            requests = words[::_WORDS]
            if requests != self._latest[0]:
                self._latest = requests, array("Q", map(self._numbers.__getitem__, requests))
            words[::_WORDS] = self._latest[1]
        if kind == NO_ITERATION:
            return False
        self._begin(seed, number, kind, recorded, words)
        return True

    def begin_dummy(self) -> bool:
        """An iteration that the scheduler does not stamp, but that all ranks are told of in the same order."""
        if not self._info.seed:
            return False
        seed = self._info.seed
        self._dummies += 1
        self._begin(seed ^ _DUMMIES, self._dummies, DUMMY, 0, array("Q"))
        self._info.seed = seed
        return True

    def _begin(self, seed: int, number: int, kind: int, recorded: int, words: array[int]) -> None:
        info = self._info
        info.seed, info.number, info.kind, info.recorded = seed, number, kind, recorded
        info.parts, info.count = words.buffer_info()[0], len(words) // _WORDS
        self._agent.iteration(ctypes.byref(info))
        info.parts, info.count = None, 0

    def _report(self, new: Iterable[tuple[Any, ...]]) -> None:
        for number, name, headers, *rest in new:
            context = parse(*headers) if headers else None
            self._numbers[number] = _request(self._agent, context, name, *rest)

    def end(self) -> None:
        self._agent.iteration_end()

    def attach(self, stamp: Stamp) -> int:
        """This thread works for another iteration than the process. Returns a token for detach()."""
        info = self._info_of(*stamp[:4], self._info.rank, self._info.ranks)
        return int(self._agent.iteration_here(ctypes.byref(info)))

    def detach(self, token: int) -> None:
        if token:
            self._agent.detach(token)


def _request(
    agent: _agent.Agent,
    context: TraceContext | None,
    name: object,
    arrived_ns: int,
    prompt_tokens: int,
    cached_tokens: int,
    attributes: Attributes = (),
) -> int:
    native, keep = to_native(context) if context is not None else (None, None)
    info = _agent.RequestInfo(native, utf8(name), arrived_ns, prompt_tokens, cached_tokens)
    headers = (_agent.Header * len(attributes))(*((utf8(key), utf8(value)) for key, value in attributes))
    if attributes:
        info.headers, info.header_count = ctypes.addressof(headers), len(attributes)
    number = int(agent.request(ctypes.byref(info)))
    del keep, headers  # until here
    return number


def _send_summary(agent: _agent.Agent, info: _agent.IterationInfo) -> None:
    if agent.iteration_summary is not None:
        agent.iteration_summary(ctypes.byref(info))


# --- The program's own engine ---


class _Own:
    """An engine of the program."""

    def __init__(self, engine: bytes, seed: int) -> None:
        self._engine, self.seed = engine, seed
        self.recent = _Recent(SUMMARIES_PER_SECOND)

    def send(self, agent: _agent.Agent) -> None:
        for number in self.recent.take():
            _send_summary(agent, _agent.IterationInfo(self._engine, self.seed, number, FORWARD, 0, 0, 1))


_own: dict[bytes | tuple[bytes, int], _Own] = {}  # by the engine's name, and its seed if the program gives one
_OWN_MAX = 64


def _own_of(engine: bytes, seed: int | None) -> _Own:
    key = engine if seed is None else (engine, seed)
    found = _own.get(key)
    if found is None:
        if len(_own) == _OWN_MAX:
            _own.clear()
        found = _own[key] = _Own(engine, new_seed() if seed is None else seed)
    return found


class request:
    """A request that the program's own engine works for: a span from its first iteration to end(), below the span that
    is current here, or that `traceparent` names. On rank 0, before the request's first iteration. Of `headers`, those
    that engine.headers names become its attributes."""

    _number = 0
    _prompt_tokens = 0
    _computed = 0
    _may_be_sampled = False
    _engine: _Own | None = None  # that works for it
    _after = 0

    @_guard.guarded()
    def __init__(
        self,
        id: str = "",
        prompt_tokens: int = 0,
        cached_tokens: int = 0,
        *,
        traceparent: str | None = None,
        tracestate: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        agent = _agent.look()
        self._prompt_tokens, self._computed = int(prompt_tokens), int(cached_tokens)
        if agent is None or not agent.has_iterations:
            return
        context = _attach.of_program() if traceparent is None else parse(traceparent, tracestate)
        self._may_be_sampled = context is None or context.flags & 1 == 1
        named = tuple((name, value) for name, value in (headers or {}).items() if name.lower() in agent.engine_headers)
        self._number = _request(agent, context, id, time.time_ns(), self._prompt_tokens, self._computed, named)

    @_guard.guarded()
    def end(self, tokens: int = 0, reason: str = "finished") -> None:
        """`tokens` is the number of generated ones, `reason` finished, aborted or failed. The first call counts."""
        agent = _agent.look()
        number, self._number = self._number, 0
        if not number or agent is None:
            return
        if self._engine is not None and self._may_be_sampled:
            self._engine.recent.end_request(self._after)
            self._engine.send(agent)
        agent.request_end(number, _REASONS[reason], int(tokens))

    def _part(self, tokens: int, computed: int | None = None, drafts: int = 0) -> tuple[int, int, int]:
        before = self._computed if computed is None else computed
        phase = _DECODE if before >= self._prompt_tokens else 0
        resumed = before < self._computed
        self._computed = before + tokens
        return self._number, phase + resumed * _RESUMED + tokens * _TOKENS, before + drafts * _DRAFTS


class iteration:
    """`with cuspan.iteration("engine", number, parts):` the CUDA calls of this process belong to the iteration. Each
    part is a tuple: a request, its tokens in this iteration, and optionally the tokens that were computed before and
    the speculative ones. All ranks need the same seed and number; only rank 0 needs parts."""

    _begun: _agent.Agent | None = None
    _own: _Own | None = None
    _may_be_sampled = False

    @_guard.guarded()
    def __init__(
        self,
        engine: str,
        number: int,
        parts: Iterable[tuple[Any, ...]] = (),
        *,
        kind: str = "forward",
        seed: int | None = None,
        rank: int = 0,
        ranks: int = 1,
        recorded: bool = False,
    ) -> None:
        self._engine, self._number, self._parts = engine, number, parts
        self._kind, self._seed, self._rank, self._ranks, self._recorded = kind, seed, rank, ranks, recorded

    def __enter__(self) -> iteration:
        try:
            self._begin()
        except _guard.NO_ROOM:
            pass
        except BaseException as error:
            _guard.keep(error)
        return self

    def _begin(self) -> None:
        agent = _agent.look()
        if agent is None or not agent.has_iterations:
            return
        words = array("Q")
        name = utf8(self._engine)
        own = _own_of(name, self._seed)
        self._own = own if self._ranks == 1 else None  # ranks would decide differently
        for made, *rest in self._parts:
            words.extend(made._part(*rest))
            self._may_be_sampled |= made._may_be_sampled
            if made._engine is None:
                made._engine, made._after = self._own, self._number - 1
        info = _agent.IterationInfo(
            name, own.seed, self._number, _KINDS[self._kind], bool(self._recorded), self._rank, self._ranks
        )
        info.parts, info.count = words.buffer_info()[0], len(words) // _WORDS
        agent.iteration(ctypes.byref(info))
        self._begun = agent
        if self._own is not None:
            self._own.recent.begin(self._number, bool(self._recorded))

    def __exit__(self, *_error: object) -> None:
        agent, self._begun = self._begun, None
        try:
            if agent is not None:
                agent.iteration_end()
                if self._own is not None:
                    self._own.recent.end(self._number, self._may_be_sampled)
                    self._own.send(agent)
        except _guard.NO_ROOM:
            pass
        except BaseException as error:
            _guard.keep(error)
