"""step(), and what finds the steps of PyTorch's training loops without it."""

from __future__ import annotations

import _thread
import functools
import operator
import sys
import weakref
from typing import Any, Callable

from cuspan import _agent, _guard
from cuspan._imports import when_imported
from cuspan._steps import BY_API, TRAIN, Steps, thread_of


@_guard.guarded(False)
def step(number: int) -> bool:
    """Begins step `number` of a training job and ends the current one, for all threads of the process. All ranks must use
    the same numbers. From the first call on, PyTorch's optimizers no longer begin steps. False: there is no agent."""
    agent = _agent.look()
    return agent is not None and agent.step is not None and agent.step(operator.index(number), TRAIN, BY_API) == 0


def follow(agent: _agent.Agent) -> None:
    """Installs the hooks in torch, once it is imported."""
    if agent.step is None:
        return
    steps = Steps(agent.step)
    when_imported("torch", lambda torch: follow_torch(torch, steps))
    when_imported("torch.distributed.checkpoint", lambda module: _wrap_checkpoint(module, "save", steps))
    when_imported("safetensors.torch", lambda module: _wrap_checkpoint(module, "save_file", steps))


def follow_torch(torch: Any, steps: Steps) -> None:
    @_guard.guarded()
    def after_step(optimizer: object, _args: object, _keywords: object) -> None:
        # No test for torch.compiler.is_compiling(): it would remove the hook from the compiled step.
        steps.optimizer(id(optimizer))

    # Since PyTorch 2.0. Up to 2.2, torch.compile removes the hooks.
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(after_step)
    _wrap_backward(torch.autograd, steps)
    _follow_save(torch, steps)
    _wrap_train(torch.nn.Module, steps)


class _Depth(_thread._local):
    """Of calls within calls, in one thread."""

    backward = 0
    train = 0


def _wrap_backward(autograd: Any, steps: Steps) -> None:
    original = getattr(autograd, "_engine_run_backward", None)
    if original is None:
        return
    depth = _Depth()
    running: set[int] = set()  # the threads of the program with a backward pass

    @_guard.guarded()
    def begin() -> None:
        # Not what a backward pass itself starts (checkpointing does), which may be on a thread of PyTorch.
        if depth.backward == 1 and not (running and _is_foreign_thread()):
            running.add(_thread.get_ident())
            steps.backward()

    @functools.wraps(original)
    def run_backward(*args: Any, **keywords: Any) -> Any:
        if not keywords.get("accumulate_grad"):  # autograd.grad()
            return original(*args, **keywords)
        depth.backward += 1
        try:
            begin()
            return original(*args, **keywords)
        finally:
            depth.backward -= 1
            if not depth.backward:
                running.discard(_thread.get_ident())

    autograd._engine_run_backward = run_backward


def _is_foreign_thread() -> bool:
    """Not started by Python."""
    import threading

    known = thread_of(_thread.get_ident())
    return known is None or isinstance(known, threading._DummyThread)  # type: ignore[attr-defined]


def _follow_save(torch: Any, steps: Steps) -> None:
    """Inside torch.save(), so that the program's references to it stay right."""
    inside = getattr(torch, "serialization", None)
    names = [name for name in ("_save", "_legacy_save") if hasattr(inside, name)]
    for name in names:
        _wrap_checkpoint(inside, name, steps)
    if not names:
        _wrap_checkpoint(torch, "save", steps)


def _wrap_checkpoint(module: Any, name: str, steps: Steps) -> None:
    """In the module that defines the function, too: it can be pickled only if it is found there."""
    original: Callable[..., Any] | None = getattr(module, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def save(*args: Any, **keywords: Any) -> Any:
        kind = _begin_checkpoint(steps)
        try:
            return original(*args, **keywords)
        finally:
            if kind is not None:
                _end_checkpoint(steps, kind)

    for place in (module, sys.modules.get(original.__module__)):
        if getattr(place, name, None) is original:
            setattr(place, name, save)


@_guard.guarded()
def _begin_checkpoint(steps: Steps) -> int | None:
    return steps.checkpoint()


@_guard.guarded()
def _end_checkpoint(steps: Steps, kind: int) -> None:
    steps.end_checkpoint(kind)


def _wrap_train(module_class: Any, steps: Steps) -> None:
    original = module_class.train
    depth = _Depth()
    last: list[Any] = [lambda: None]  # a weak reference to the module that was put into training mode last

    @_guard.guarded()
    def after(module: Any, mode: bool = True) -> None:
        if mode:
            last[0] = weakref.ref(module)
            steps.training()
        elif not _is_part(module, last[0]()):
            steps.evaluation()

    @functools.wraps(original)
    def train(*args: Any, **keywords: Any) -> Any:
        if depth.train:  # it calls itself for each part of a model
            return original(*args, **keywords)
        depth.train = 1
        try:
            result = original(*args, **keywords)
        finally:
            depth.train = 0
        after(*args, **keywords)
        return result

    module_class.train = train


def _is_part(module: Any, model: Any) -> bool:
    """Layers that are frozen during training stay in evaluation mode. The only child of a wrapper
    (DistributedDataParallel, torch.compile) is the whole model: trainers put the wrapper into training mode and the
    model into evaluation mode."""
    while model is not None and model is not module and len(model._modules) == 1:
        model = next(iter(model._modules.values()))
    return model is not None and model is not module and any(part is module for part in model.modules())


_agent.on_found(follow)
