"""What a pass gave for the texts of a batch, under one view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.metrics.neural.runtime import import_torch

if TYPE_CHECKING:
    import torch

__all__ = ["TextRows", "cosine"]


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
