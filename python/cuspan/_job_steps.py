"""step(), and what finds the steps of PyTorch's training loops without it."""

from __future__ import annotations

import threading
import weakref
from types import ModuleType
from typing import Any, Callable

from cuspan import _agent
from cuspan._imports import when_imported
from cuspan._steps import BY_API, TRAIN, Steps


def step(number: int) -> bool:
    """Begins step `number` of a training job and ends the current one, for all threads of the process. All ranks must use
    the same numbers. From the first call on, PyTorch's optimizers no longer begin steps. False: there is no agent."""
    agent = _agent.look()
    return agent is not None and agent.step is not None and agent.step(number, TRAIN, BY_API) == 0


def follow(agent: _agent.Agent) -> None:
    """Installs the hooks in torch, once it is imported."""
    if agent.step is None:
        return
    steps = Steps(agent.step)
    when_imported("torch", lambda torch: follow_torch(torch, steps))
    when_imported("torch.distributed.checkpoint", lambda module: _wrap_checkpoint(module, "save", steps))
    when_imported("safetensors.torch", lambda module: _wrap_checkpoint(module, "save_file", steps))


def follow_torch(torch: Any, steps: Steps) -> None:
    def after_step(optimizer: object, _args: object, _keywords: object) -> None:
        # No test for torch.compiler.is_compiling(): it would remove the hook from the compiled step.
        steps.optimizer(id(optimizer))

    # Since PyTorch 2.0. Up to 2.2, torch.compile removes the hooks.
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(after_step)
    _wrap_backward(torch.autograd, steps)
    _wrap_checkpoint(torch, "save", steps)
    _wrap_train(torch.nn.Module, steps)


def _wrap_backward(autograd: Any, steps: Steps) -> None:
    original = getattr(autograd, "_engine_run_backward", None)
    if original is None:
        return
    is_running = threading.Lock()

    def run_backward(*args: Any, **keywords: Any) -> Any:
        # Not autograd.grad(), and not what a backward pass itself starts (checkpointing does).
        if not keywords.get("accumulate_grad") or not is_running.acquire(blocking=False):
            return original(*args, **keywords)
        try:
            steps.backward()
            return original(*args, **keywords)
        finally:
            is_running.release()

    run_backward.is_linked = getattr(original, "is_linked", False)  # type: ignore[attr-defined]
    autograd._engine_run_backward = run_backward


def _wrap_checkpoint(module: ModuleType, name: str, steps: Steps) -> None:
    original: Callable[..., Any] = getattr(module, name)

    def save(*args: Any, **keywords: Any) -> Any:
        kind = steps.checkpoint()
        try:
            return original(*args, **keywords)
        finally:
            if kind is not None:
                steps.begin(steps.number, kind)

    save.__wrapped__ = original  # type: ignore[attr-defined]
    save.__name__, save.__qualname__, save.__doc__ = name, name, original.__doc__
    setattr(module, name, save)


def _wrap_train(module_class: Any, steps: Steps) -> None:
    original = module_class.train
    last: list[Any] = [lambda: None]  # a weak reference to the module that was put into training mode last

    def train(self: Any, mode: bool = True) -> Any:
        module_class.train = original  # it calls itself for each part of a model
        try:
            return original(self, mode)
        finally:
            module_class.train = train
            if mode:
                last[0] = weakref.ref(self)
                steps.training()
            elif not _is_part(self, last[0]()):
                steps.evaluation()

    train.__name__, train.__qualname__, train.__doc__ = original.__name__, original.__qualname__, original.__doc__
    module_class.train = train


def _is_part(module: Any, model: Any) -> bool:
    """Layers that are frozen during training stay in evaluation mode. The only child of a wrapper
    (DistributedDataParallel, torch.compile) is the whole model: trainers put the wrapper into training mode and the
    model into evaluation mode."""
    while model is not None and model is not module and len(model._modules) == 1:
        model = next(iter(model._modules.values()))
    return model is not None and model is not module and any(part is module for part in model.modules())


_agent.on_found(follow)
