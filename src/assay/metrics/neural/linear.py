"""Linear layers on a CPU by oneDNN, weights laid out once: faster than torch's own way to MKL, on AMD above all."""

from __future__ import annotations

import platform
from typing import Any

from assay.metrics.neural.runtime import import_torch

__all__ = ["pack_linears"]

#: Rows that the layout is made for; others are as fast or nearly so.
ROWS = 1024


def pack_linears(model: Any) -> None:
    """Replace the linear layers of a model on a CPU in fp32; scores move as by another size of batch, no further.

    torch reaches these kernels for models that it compiles, under names of its own; where it has them no more, or the
    machine is of another kind, the model stays as it is.
    """
    torch = import_torch()
    kernels = torch.ops.mkldnn
    if (
        platform.machine().lower() not in ("x86_64", "amd64")
        or not torch.backends.mkldnn.is_available()
        or not (hasattr(kernels, "_linear_pointwise") and hasattr(kernels, "_reorder_linear_weight"))
    ):
        return
    with torch.no_grad():
        _replace(model, torch)


def _replace(module: Any, torch: Any) -> None:
    for name, child in module.named_children():
        # a subclass may compute something else
        if type(child) is torch.nn.Linear and child.weight.dtype == torch.float32:
            setattr(module, name, _packed(child, torch))
        else:
            _replace(child, torch)


def _packed(linear: Any, torch: Any) -> Any:
    weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), ROWS)
    bias = None if linear.bias is None else linear.bias.detach()
    compute = torch.ops.mkldnn._linear_pointwise

    class PackedLinear(torch.nn.Module):  # type: ignore[misc]
        """Holds no parameters: what torch does with them (casts, counts) would not know the layout."""

        def forward(self, states: Any) -> Any:
            return compute(states, weight, bias, "none", [], "")

    return PackedLinear()
