"""Finds the steps of a training loop and reports them to the agent, so that each step is a trace.

Two events mark a step: a backward pass begins (B), and an optimizer has finished its step (O). A step ends at an O. Which
one it is depends on the loop: several optimizers, one for each part of the model, or an optimizer that calls another one
have several O in each step. So the sequence of O is watched until it has repeated itself three times:

- An O is known by its optimizer, by its order within one B, and by its number of B since the O before.
- Until the sequence is known, each O that follows a B ends a step. Afterwards, the last O of the sequence does.
- If an O does not fit, the sequence was a part of a longer one, or has changed. It is learned again, from twice as many O.
  Step numbers continue.
- If a step has as many B as each step so far and another B begins without an O, the step was skipped (GradScaler found
  inf), and ends there.

An evaluation begins when a model is put into evaluation mode, and ends at Module.train() or the next B; a checkpoint is
what torch.save() and its relatives do.

If several threads train at the same time, the steps are those of the one that was first, until it ends or has no B while
the others have many. An O on a thread without B of its own (an optimizer in the backward pass) is the loop's."""

from __future__ import annotations

import _thread
import functools
import os
from collections.abc import Hashable
from typing import Any, Callable, TypeVar, cast

TRAIN, EVALUATION, CHECKPOINT, NO_STEP = range(4)
BY_API, BY_OPTIMIZER = range(2)
REPEATS = 3
HISTORY_MAX = 8 * 1024  # O: with an optimizer for each parameter, a step has hundreds

FOREIGN_MAX = 64  # B of other threads without an event of the loop's
OTHERS_MAX = 1024

Report = Callable[[int, int, int], Any]
Symbol = Hashable
Method = TypeVar("Method", bound=Callable[..., Any])

# Reentrant, because a signal handler can run a step.
_lock = _thread.RLock()


def _renew_lock() -> None:
    """In a forked child: another thread of the parent may hold the lock."""
    global _lock
    _lock = _thread.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def _locked(method: Method) -> Method:
    @functools.wraps(method)
    def call(*args: Any) -> Any:
        with _lock:
            return method(*args)

    return cast(Method, call)


def thread_of(number: int) -> object:
    """None: not of Python. threading.current_thread() would add it to the program's threads."""
    import threading

    return threading._active.get(number)  # type: ignore[attr-defined]


class Steps:
    """The state of one process. Its methods are called by any thread."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.number = 1
        self.is_in_progress = False  # a first O or B has been seen
        self._kind = TRAIN
        self._loop = 0  # its thread; 0: none so far
        self._loop_thread: object = None
        # Threads with B of their own, by number: that of a thread that has ended may be another's later.
        self._others: dict[int, object] = {}
        self._foreign = 0  # B of others since the last event of the loop
        self._backwards = 0  # B since the last O
        self._ordinal = 0  # of O since the last B
        self._all, self._changed, self._recent = _History(), _History(), _History()
        self._sequence: list[Symbol] = []  # of O in a step; empty: not known so far
        self._at = 0  # position in it
        self._window = REPEATS  # O that its repetitions must cover
        self._usual = 0  # B in each step; 0: not known, or it changes
        self._counts: list[int] = []  # B in the last steps
        self._step_backwards = 0

    def begin(self, number: int, kind: int = TRAIN) -> None:
        self.number = number
        self._kind = kind
        self.is_in_progress = True
        self._report(number, kind, BY_OPTIMIZER)

    @_locked
    def backward(self) -> None:
        """B."""
        if not self._is_of_loop():
            return
        if not self.is_in_progress:
            self.begin(self.number)
        elif self._kind == EVALUATION:
            self._resume()
        if self._sequence and self._usual and self._step_backwards == self._usual:
            self._end_skipped()
        self._backwards += 1
        self._step_backwards += 1
        self._ordinal = 0

    def _is_of_loop(self) -> bool:
        """Whether this thread's B is."""
        thread = _thread.get_ident()
        if thread != self._loop:
            self._foreign += 1
            if self._loop and self._foreign < FOREIGN_MAX and not self._has_loop_ended():
                if len(self._others) < OTHERS_MAX:
                    self._others[thread] = thread_of(thread)
                return False
            if self._loop:
                self._forget()
            self._others.pop(thread, None)
            self._loop, self._loop_thread = thread, thread_of(thread)
        self._foreign = 0
        return True

    def _has_loop_ended(self) -> bool:
        return self._loop_thread is not None and not self._loop_thread.is_alive()

    @_locked
    def optimizer(self, optimizer: Symbol) -> None:
        """O."""
        thread = _thread.get_ident()
        if thread != self._loop and self._others.get(thread, self) is thread_of(thread):
            return
        self._foreign = 0
        symbol = (optimizer, self._ordinal)
        follows_backward = self._backwards > 0
        self._backwards = 0
        self._ordinal += 1
        if self._kind == EVALUATION:
            self._resume()
        if not self._sequence and follows_backward:
            self._find_sequence()
        if self._sequence:
            self._follow(symbol, follows_backward)
        else:
            self._learn(symbol, follows_backward)

    def _follow(self, symbol: Symbol, follows_backward: bool) -> None:
        if self._at >= len(self._sequence) or symbol != self._sequence[self._at]:  # also after a Ctrl-C in between
            self._forget()
            self._learn(symbol, follows_backward)
            return
        self._all.add(symbol)
        self._at += 1
        if self._at == len(self._sequence):
            self._at = 0
            self._end()

    def _learn(self, symbol: Symbol, follows_backward: bool) -> None:
        for history in (self._all, self._changed, self._recent):
            history.add(symbol)
        if follows_backward or not self.is_in_progress:
            self._end()
        if len(self._recent.symbols) > 4 * self._window:
            self._window = min(2 * self._window, HISTORY_MAX // 4)
            self._recent = _History()

    def _find_sequence(self) -> None:
        """Steps began with the first O of the program, or with the one that did not fit. Else only the repetition counts, and
        the step may seem to begin at another of its optimizers."""
        for history, least in (
            (self._all, REPEATS),
            (self._changed, self._window),
            (self._recent, 2 * self._window),
        ):
            length = history.period()
            if length and len(history.symbols) >= least:
                self._sequence = history.symbols[:length]
                self._at = len(history.symbols) % length
                self._usual, self._counts = 0, []  # what seemed to be a step may be a part of one
                return

    def _forget(self) -> None:
        self._window = min(2 * self._window, HISTORY_MAX // 4)
        self._changed, self._recent = _History(), _History()
        self._sequence, self._at = [], 0
        self._usual, self._counts = 0, []

    def _end(self) -> None:
        self._counts = [*self._counts[-2:], self._step_backwards]
        is_usual = len(self._counts) == REPEATS and len(set(self._counts)) == 1
        # A shorter step at the end of an epoch changes nothing. A longer one shows that no number is usual.
        if is_usual:
            self._usual = self._step_backwards
        elif self._step_backwards > self._usual:
            self._usual = 0
        self._step_backwards = 0
        self.begin(self.number + 1)

    def _end_skipped(self) -> None:
        self._step_backwards = 0
        self._at = 0
        self.begin(self.number + 1)

    def _resume(self) -> None:
        self.begin(self.number)

    @_locked
    def evaluation(self) -> None:
        if self.is_in_progress and self._kind == TRAIN and self._is_own_thread():
            self.begin(self.number, EVALUATION)

    @_locked
    def training(self) -> None:
        if self._kind == EVALUATION and self._is_own_thread():
            self._resume()

    @_locked
    def checkpoint(self) -> int | None:
        """Returns the kind to resume with; None: this thread has no steps."""
        if not self.is_in_progress or not self._is_own_thread() or self._kind == CHECKPOINT:
            return None
        kind = self._kind
        self.begin(self.number, CHECKPOINT)
        return kind

    @_locked
    def end_checkpoint(self, kind: int) -> None:
        if self._kind == CHECKPOINT:
            self.begin(self.number, kind)

    def _is_own_thread(self) -> bool:
        return self._loop == _thread.get_ident()


class _History:
    """A sequence of O, and the period of the whole of it, found in constant time for each O (the prefix function of Knuth,
    Morris and Pratt)."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self._prefix: list[int] = []  # length of the longest proper prefix that ends there

    def add(self, symbol: Symbol) -> None:
        symbols, prefix = self.symbols, self._prefix
        if len(symbols) == HISTORY_MAX:
            return
        length = prefix[-1] if prefix else 0
        while length and symbols[length] != symbol:
            length = prefix[length - 1]
        if symbols and symbols[length] == symbol:
            length += 1
        symbols.append(symbol)
        prefix.append(length)

    def period(self) -> int:
        """0: it does not repeat itself REPEATS times, or is too long."""
        count = len(self.symbols)
        length = count - self._prefix[-1] if count else 0
        return length if length and REPEATS * length <= count < HISTORY_MAX else 0
