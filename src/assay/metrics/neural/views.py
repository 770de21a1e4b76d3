"""What a metric takes from a pass of an encoder (token embeddings or one vector a text), and their cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import Prep

if TYPE_CHECKING:
    import torch

__all__ = ["Kind", "TextRows", "View", "cosine", "pool"]


# What a metric takes from a pass of an encoder: token embeddings of a layer, or one vector a text.

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


# What a pass gave for the texts of a batch, under one view.


@dataclass(frozen=True)
class TextRows:
    """Embeddings of t texts.

    Attributes:
        values: float32; one row a text, shape (t, d), or one row a token, shape (tokens of all texts, d).
        starts: for tokens, the first row of each text, shape (t,); None otherwise.
        ids: for tokens, the token numbers of each text.
    """

    values: torch.Tensor
    starts: NDArray[np.intp] | None = None
    ids: Sequence[Sequence[int]] = ()


def cosine(rows: TextRows, left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the cosine of texts *left* and *right*, in [-1, 1], shape (n,); 0 where a vector is zero.

    Computed in double precision from single-precision embeddings, each vector scaled by itself, so that a pair's value
    depends on that pair alone.
    """
    torch = import_torch()
    with torch.inference_mode():
        # mps has no doubles
        values = rows.values.cpu() if rows.values.device.type == "mps" else rows.values
        unit = values.double()
        norm = unit.norm(dim=1, keepdim=True)
        unit = torch.where(norm > 0, unit / norm, unit)
        dots = (unit[torch.as_tensor(left)] * unit[torch.as_tensor(right)]).sum(dim=1)
        found: NDArray[np.float64] = dots.clamp(-1.0, 1.0).cpu().numpy()
    return found
