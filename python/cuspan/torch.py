"""PyTorch: backward() runs a GPU's part of the graph on a thread of PyTorch, which has no context.

Each backward() gives that thread the context of its caller, by a hook on the nodes where it starts, because they run
first. Two cases are not covered. Further GPUs of the same graph get no context. If two backward() run at once on one
GPU, they share the thread, and the later one's context applies to both."""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable

import torch

from cuspan import _guard, _link
from cuspan._trace_context import TraceContext


def link_backward() -> bool:
    """Called automatically when torch is imported and an agent exists. False: this PyTorch is unknown."""
    original = getattr(getattr(torch, "autograd", None), "_engine_run_backward", None)
    if original is None:
        return False
    if not hasattr(original, "is_linked"):
        torch.autograd._engine_run_backward = _linked(original)
    return True


def _linked(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run_backward(*args: Any, **kwargs: Any) -> Any:
        hooks: list[Any] = []
        _hook(hooks, *args[:1])
        try:
            return original(*args, **kwargs)
        finally:
            _remove(hooks)

    run_backward.is_linked = True  # type: ignore[attr-defined]
    return run_backward


@_guard.guarded()
def _hook(hooks: list[Any], outputs: Any = ()) -> None:
    if _is_compiled() or not isinstance(outputs, (tuple, list)):
        return
    give = _giver(_link.link.given(), threading.get_ident())
    for node in {node for node in map(_node_of, outputs) if node is not None}:
        hooks.append(node.register_prehook(give))


@_guard.guarded()
def _remove(hooks: list[Any]) -> None:
    for hook in hooks:
        hook.remove()


def _node_of(output: Any) -> Any | None:
    """`output`: a tensor, or an edge of a graph."""
    return getattr(output, "grad_fn", None) or getattr(output, "node", None)


def _giver(wanted: TraceContext | None, caller: int) -> Callable[[Any], None]:
    @_guard.guarded()
    def give(_gradients: Any) -> None:
        # Never detached: the thread belongs to PyTorch, and the next backward() replaces it.
        if threading.get_ident() != caller:
            _link.link.replace(wanted)

    return give


def _is_compiled() -> bool:
    """Whether the graph is being compiled: it is traced with its hooks, and later runs as separate code."""
    compiled = getattr(getattr(torch, "_dynamo", None), "compiled_autograd", None)
    return torch.compiler.is_compiling() or bool(getattr(compiled, "compiled_autograd_enabled", False))
