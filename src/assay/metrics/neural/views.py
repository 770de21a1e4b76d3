"""What a metric takes from a pass of an encoder: token embeddings of a layer, or one vector a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.metrics.neural.inputs import Prep
from assay.metrics.neural.runtime import import_torch

if TYPE_CHECKING:
    import torch

__all__ = ["Kind", "View", "pool"]

Kind = Literal["tokens", "sentence", "mean", "max", "cls"]


@dataclass(frozen=True)
class View:
    """One thing that a metric takes from a pass.

    Attributes:
        prep: how texts are made ready.
        kind: ``tokens`` for an embedding a token; ``sentence`` for what the model's own modules make of the last
            layer; ``mean``, ``max`` or ``cls`` over the tokens.
        layer: 0 for the input embeddings, then the layers from 1.
    """

    prep: Prep
    kind: Kind
    layer: int


def pool(hidden: torch.Tensor, mask: torch.Tensor, kind: Kind) -> torch.Tensor:
    """Pool token embeddings, shape (b, l, d), into one vector a text, shape (b, d), in float32.

    Args:
        hidden: embeddings of the tokens, special ones included.
        mask: 1 for a token, 0 for padding, shape (b, l).
        kind: ``mean``, ``max`` or ``cls`` (the first token).
    """
    torch = import_torch()
    hidden = hidden.float()
    if kind == "cls":
        return hidden[:, 0]
    inside = mask.unsqueeze(-1).bool()
    if kind == "max":
        return hidden.masked_fill(~inside, -torch.inf).amax(dim=1)
    return (hidden * inside).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)
