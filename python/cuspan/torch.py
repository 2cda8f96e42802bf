"""PyTorch: backward() runs a GPU's part of the graph on a thread of PyTorch's own, which has no context.

Each backward() gives that thread the context of its caller, by a hook on the nodes from which it starts: they run there
first. Not reached are further GPUs of the same graph, and of two backward() that run at once on one GPU the later one
counts for both, because they share the thread."""

from __future__ import annotations

import threading
from typing import Any, Callable

import torch

from cuspan import _link
from cuspan._trace_context import TraceContext


def link_backward() -> bool:
    """Called by itself when torch is imported and the agent is there. False: this PyTorch isn't known."""
    original = getattr(getattr(torch, "autograd", None), "_engine_run_backward", None)
    if original is None:
        return False
    if not hasattr(original, "is_linked"):
        torch.autograd._engine_run_backward = _linked(original)
    return True


def _linked(original: Callable[..., Any]) -> Callable[..., Any]:
    def run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        hooks = _hook(outputs)
        try:
            return original(outputs, *args, **kwargs)
        finally:
            for hook in hooks:
                hook.remove()

    run_backward.is_linked = True  # type: ignore[attr-defined]
    return run_backward


def _hook(outputs: Any) -> list[Any]:
    if _is_compiled():
        return []
    give = _giver(_link.thread.given, threading.get_ident())
    nodes = {node for node in map(_node_of, outputs) if node is not None}
    return [node.register_prehook(give) for node in nodes]


def _node_of(output: Any) -> Any | None:
    """`output`: a tensor, or a graph's edge."""
    return getattr(output, "grad_fn", None) or getattr(output, "node", None)


def _giver(wanted: TraceContext | None, caller: int) -> Callable[[Any], None]:
    def give(_gradients: Any) -> None:
        # For good: the thread is PyTorch's alone, and the next backward() replaces it.
        if threading.get_ident() != caller:
            _link.attach(_link.Explicit(wanted))

    return give


def _is_compiled() -> bool:
    """Then the graph is traced, hooks and all, and runs as code of its own."""
    compiled = getattr(getattr(torch, "_dynamo", None), "compiled_autograd", None)
    return torch.compiler.is_compiling() or bool(getattr(compiled, "compiled_autograd_enabled", False))
