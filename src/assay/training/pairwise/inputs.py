"""What the rows of a training on pairs are made of: tokens, kept once for each distinct text, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from assay.training.tokens import TokenTable, table_of_pairs, table_of_texts

__all__ = ["Inputs", "bi_inputs", "cross_inputs"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the rows of all sets are made of, n of them.

    Attributes:
        table: tokens of distinct texts (bi-encoder), or of pairs (cross-encoder).
        first, second: which inputs of the table each row reads, int64, shape (n,); the same for a cross-encoder.
        labels: float32 in [0, 1] or int64 (number of a class), shape (n,).
        third: as *first*, for rows of three texts.
    """

    table: TokenTable
    first: torch.Tensor
    second: torch.Tensor
    labels: torch.Tensor
    third: torch.Tensor | None = None

    @property
    def sides(self) -> tuple[torch.Tensor, ...]:
        """The inputs of each row, side by side."""
        return (self.first, self.second) if self.third is None else (self.first, self.second, self.third)

    @property
    def lengths(self) -> torch.Tensor:
        """Tokens of each row's longest input, shape (n,)."""
        return torch.stack([self.table.lengths[side] for side in self.sides]).amax(dim=0)


def bi_inputs(model: Any, firsts: Sequence[str], seconds: Sequence[str], labels: torch.Tensor) -> Inputs:
    """Return what a bi-encoder reads of n pairs of texts.

    Args:
        model: of sentence-transformers.
        firsts, seconds: the texts.
        labels: see :class:`Inputs`.
    """
    texts = sorted({*firsts, *seconds})
    numbers = {text: number for number, text in enumerate(texts)}
    first, second = (torch.tensor([numbers[text] for text in side]) for side in (firsts, seconds))
    return Inputs(table_of_texts(model, texts), first, second, labels)


def cross_inputs(model: Any, firsts: Sequence[str], seconds: Sequence[str], labels: torch.Tensor) -> Inputs:
    """Return what a cross-encoder reads of n pairs of texts; see :func:`bi_inputs`."""
    own = torch.arange(len(firsts))
    return Inputs(table_of_pairs(model, firsts, seconds), own, own, labels)
