"""Finds what a transformer does behind its last layer, such as a final normalisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay.metrics.neural.runtime import import_torch


def modules_behind_layers(model: Any, compute: Callable[[], Any]) -> tuple[Any, ...]:
    """Return the modules that turn the states of the last layer into those that a transformer returns, in order.

    They are found by a trial: each module reads what the one before it returned, the first one the output of the last
    layer, and the last one returns the states of the model. Without such a sequence, as in BERT, there are none.

    Args:
        model: the transformer, without a decoder; its layers are in lists.
        compute: computes a text with it, and returns the states of the model, shape (1, l, d).
    """
    torch = import_torch()
    with _recorded_calls(model) as calls:
        states = compute()
    modules: list[Any] = []
    output: Any = None
    for is_layer, module, input_states, output_states in calls:
        if is_layer:
            modules, output = [], output_states
            continue
        is_leaf = not list(module.children())
        returns_states = torch.is_tensor(output_states)
        if is_leaf and returns_states and _is_same(input_states, output):
            modules.append(module)
            output = output_states
    is_complete = torch.is_tensor(output) and output.numel() == states.numel()
    return tuple(modules) if is_complete and torch.equal(output.reshape(states.shape), states) else ()


@contextmanager
def _recorded_calls(model: Any) -> Iterator[list[tuple[bool, Any, Any, Any]]]:
    """Record the modules that are called within the block, in the order in which they return.

    Yields:
        For each call, whether the module is an entry of a list of modules, the module, and the first tensor that it
        reads and returns.
    """
    calls: list[tuple[bool, Any, Any, Any]] = []

    def record(is_layer: bool) -> Callable[..., None]:
        def hook(module: Any, inputs: Any, output: Any) -> None:
            calls.append((is_layer, module, _first(inputs), _first(output)))

        return hook

    handles = []
    for path, module in model.named_modules():
        parts = path.split(".")
        # a module inside a layer belongs to it
        if not any(part.isdigit() for part in parts[:-1]):
            handles.append(module.register_forward_hook(record(parts[-1].isdigit())))
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _first(values: Any) -> Any:
    """Return the first of several values, or a single value itself; None for none."""
    if not isinstance(values, tuple):
        return values
    return values[0] if values else None


def _is_same(first: Any, second: Any) -> bool:
    """Tell whether two values are tensors with the same numbers."""
    torch = import_torch()
    return torch.is_tensor(first) and torch.is_tensor(second) and bool(torch.equal(first, second))
