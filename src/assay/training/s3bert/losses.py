"""The loss of S3BERT (Opitz and Frank 2022, section 3): decomposition into aspects, consistency with the base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cosine_similarity, normalize

__all__ = ["S3BertLoss", "consistency", "decomposition", "sub_cosines"]


def sub_cosines(first: torch.Tensor, second: torch.Tensor, aspects: int, width: int) -> torch.Tensor:
    """Return the cosine of each sub-embedding, shape (b, aspects).

    Args:
        first, second: embeddings, shape (b, dimensions).
        aspects: how many sub-embeddings stand at the beginning.
        width: dimensions of each.
    """
    shape = (len(first), aspects, width)
    cut = aspects * width
    return cosine_similarity(first[:, :cut].reshape(shape), second[:, :cut].reshape(shape), dim=-1)


def decomposition(
    first: torch.Tensor, second: torch.Tensor, targets: torch.Tensor, scales: torch.Tensor, width: int
) -> torch.Tensor:
    """Return the mean over pairs of equation 3: mean squared error of scaled sub-embedding cosines, a scalar.

    Args:
        first, second: embeddings, shape (b, dimensions).
        targets: scores of the AMR metrics, shape (b, aspects).
        scales: one learnable factor an aspect, shape (aspects,).
        width: dimensions of an aspect.
    """
    predicted = scales * sub_cosines(first, second, len(scales), width)
    return (targets - predicted).square().mean()


def consistency(
    first: torch.Tensor, second: torch.Tensor, base_first: torch.Tensor, base_second: torch.Tensor
) -> torch.Tensor:
    """Return the mean over all b x b pairs of equations 4 and 5: squared difference to the base's cosine, a scalar.

    Args:
        first, second: embeddings, shape (b, dimensions).
        base_first, base_second: those of the frozen base.
    """
    own = normalize(first, dim=-1) @ normalize(second, dim=-1).T
    base = normalize(base_first, dim=-1) @ normalize(base_second, dim=-1).T
    return (base - own).square().mean()


class S3BertLoss(nn.Module):  # type: ignore[misc]  # torch has no types here
    """Equation 6: alpha times decomposition plus consistency, over a batch of pairs.

    A batch holds whole units of pairs that exchanged candidates, so that its texts come again in the negatives: of a
    batch of 64 with one negative a pair, consistency compares about 32 x 32 different pairs of texts, each four times.

    Args:
        model: what is trained; held so that its parameters are found.
        embed: numbers of texts to their embeddings by the model, shape (b, dimensions).
        teacher: embeddings of all texts by the frozen base.
        aspects: how many there are.
        width: dimensions of each.
        alpha: weight of the decomposition.
        parts: which of ``decomposition`` and ``consistency`` are in force.
    """

    def __init__(
        self,
        model: Any,
        embed: Callable[[torch.Tensor], torch.Tensor],
        teacher: torch.Tensor,
        *,
        aspects: int,
        width: int,
        alpha: float = 1.0,
        parts: Sequence[str] = ("decomposition", "consistency"),
    ) -> None:
        super().__init__()
        self.model = model
        self.scales = nn.Parameter(torch.ones(aspects))
        self._embed, self._teacher = embed, teacher
        self._width, self._alpha, self._parts = width, alpha, tuple(parts)

    def forward(self, features: Sequence[torch.Tensor], labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the parts of the loss, whose sum is trained.

        Args:
            features: numbers of the first texts and of the second ones, int64, shape (b,) each, on the CPU.
            labels: the AMR metrics' scores, shape (b, aspects).
        """
        first, second = features
        numbers, places = torch.unique(torch.cat([first, second]), return_inverse=True)
        embedded = self._embed(numbers).float()
        one, other = embedded[places[: len(first)]], embedded[places[len(first) :]]
        found: dict[str, torch.Tensor] = {}
        if "decomposition" in self._parts:
            found["decomposition"] = self._alpha * decomposition(one, other, labels, self.scales, self._width)
        if "consistency" in self._parts:
            found["consistency"] = consistency(one, other, self._teacher[first], self._teacher[second])
        return found
