"""Greedy matching of token embeddings: precision and recall of BERTScore.

Zhang et al. (2020), "BERTScore: Evaluating Text Generation with BERT", section 3: each token is matched to the most
similar token of the other text; special tokens may be matched but do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.metrics.neural.rows import TextRows
from assay.metrics.neural.runtime import import_torch

if TYPE_CHECKING:
    import torch

__all__ = ["harmonic", "match"]

#: Embeddings, weights and presence of the tokens of one side, see :func:`_gather`.
_Side = tuple["torch.Tensor", "torch.Tensor", "torch.Tensor"]

#: Padded cells of the similarity matrices of a batch, and of the gathered embeddings, on a CPU and on a GPU.
CPU_CELLS, GPU_CELLS = 2**22, 2**26
#: A sum of precision and recall below this has no quotient worth the name.
NEARLY = 1e-6


def match(
    rows: TextRows,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    weigh: Callable[[NDArray[np.int64]], NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precision and recall of n pairs, each of shape (n,), in [-1, 1]; 0 where either text has no weight.

    Args:
        rows: token embeddings of the texts.
        left: the references.
        right: the candidates.
        weigh: the weights of token numbers, the same shape.

    A cell of the similarity matrix without a token on both sides is -inf, never 0: a zero would win against negative
    similarities in a pair that is padded, and the value of a pair would depend on its batch.
    """
    torch = import_torch()
    assert rows.starts is not None  # noqa: S101 - what has tokens has starts
    unit = torch.nn.functional.normalize(rows.values, dim=1)
    sizes = np.array([len(ids) for ids in rows.ids], dtype=np.intp)
    flat = np.fromiter(chain.from_iterable(rows.ids), dtype=np.int64, count=int(sizes.sum()))
    heavy = weigh(flat)
    weights = torch.from_numpy(heavy).to(unit.device, torch.float32)
    has_weight = np.bincount(np.repeat(np.arange(len(sizes)), sizes), heavy, len(sizes)) > 0
    cells = CPU_CELLS if unit.device.type == "cpu" else GPU_CELLS
    precision, recall = np.zeros(len(left)), np.zeros(len(left))
    longest = np.maximum(sizes[left], sizes[right])
    order = np.argsort(longest, kind="stable")
    order = order[has_weight[left[order]] & has_weight[right[order]]]
    start = 0
    while start < len(order):
        width = int(longest[order[start]])
        room = max(1, cells // max(1, (unit.shape[1] + width) * width))
        part = order[start : start + room]
        # a batch ends before pairs that are much longer than its first
        part = part[: int(np.searchsorted(longest[part], width * 1.25 + 2, side="right"))]
        try:
            with torch.inference_mode():
                references = _gather(unit, weights, rows.starts, sizes, left[part])
                candidates = _gather(unit, weights, rows.starts, sizes, right[part])
                precision[part], recall[part] = _matched(references, candidates)
        except torch.OutOfMemoryError:
            if len(part) == 1:
                raise
            # once more, half as many pairs
            cells = len(part) * (unit.shape[1] + width) * width // 2
            continue
        start += len(part)
    return precision, recall


def _matched(references: _Side, candidates: _Side) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return precision and recall of a batch."""
    torch = import_torch()
    similar = torch.bmm(candidates[0], references[0].transpose(1, 2))
    absent = ~(candidates[2].unsqueeze(2) & references[2].unsqueeze(1))
    similar = similar.masked_fill_(absent, -torch.inf)
    return _weighted(similar.amax(dim=2), *candidates[1:]), _weighted(similar.amax(dim=1), *references[1:])


def _gather(
    unit: torch.Tensor,
    weights: torch.Tensor,
    starts: NDArray[np.intp],
    sizes: NDArray[np.intp],
    texts: NDArray[np.intp],
) -> _Side:
    """Return embeddings (b, l, d), weights (b, l) and which cells have a token (b, l)."""
    torch = import_torch()
    width = int(sizes[texts].max())
    inside = np.arange(width) < sizes[texts][:, None]
    places = np.where(inside, starts[texts][:, None] + np.arange(width), starts[texts][:, None])
    index = torch.from_numpy(places).to(unit.device)
    held = torch.from_numpy(inside).to(unit.device)
    return unit[index], weights[index] * held, held


def _weighted(best: torch.Tensor, weights: torch.Tensor, held: torch.Tensor) -> NDArray[np.float64]:
    """Return the weighted mean of the best similarities, 0 where nothing weighs."""
    torch = import_torch()
    best, weights = best.cpu().double(), weights.cpu().double()
    total = weights.sum(dim=1)
    sums = torch.where(held.cpu() & (weights != 0), best * weights, 0.0).sum(dim=1)
    found: NDArray[np.float64] = torch.where(total > 0, sums / total, 0.0).numpy()
    return found


def harmonic(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return F = 2PR / (P + R), 0 where the sum is nearly 0.

    Between -1 and 1 where the two have one sign, as they nearly always do; otherwise unbounded, as in the package.
    """
    total = precision + recall
    fine = np.abs(total) > NEARLY
    return np.where(fine, 2 * precision * recall / np.where(fine, total, 1.0), 0.0)
