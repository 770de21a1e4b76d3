"""The two objectives that align a sentence with its form."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from assay.training.pairwise.inputs import Inputs
from assay.training.pairwise.losses import BiLoss, PairLoss, SoftmaxLoss

__all__ = ["TripletLoss", "make_loss"]


class TripletLoss(BiLoss):
    """A sentence is to be nearer to its form than to a wrong one, by a margin (Umair and Ferraro, equation 1).

    max(||s - r+||² - ||s - r-||² + margin, 0), with squared Euclidean distances, as it is printed. The text beside the
    equation says "Euclidean distance", and sentence-transformers' loss of this name takes it unsquared, with a margin
    of 5, which no two embeddings of length 1 can reach. The square has the same order and a gradient that does not
    blow up where two embeddings meet.

    One encoder reads both sides, as in Sentence-BERT, whose design the paper takes over. It writes of two encoders E1
    and E2, started alike, and of special tokens that tell a sentence from a form, which only a shared encoder needs.

    Args:
        model, inputs, tokens: see :class:`~assay.training.pairwise.losses.PairLoss`; rows have three texts: the
            sentence, its form and a wrong one, and the label 1.
        margin: the epsilon.
    """

    def __init__(self, model: Any, inputs: Inputs, tokens: int | None, margin: float) -> None:
        super().__init__(model, inputs, tokens)
        self._margin = margin

    def outputs(self, rows: torch.Tensor) -> torch.Tensor:
        """Return squared distances of each sentence to its form and to the wrong one, shape (k, 2)."""
        sentence, right, wrong = self.embeddings(rows)
        return torch.stack([(sentence - other).square().sum(dim=1) for other in (right, wrong)], dim=1)

    def row_losses(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row, shape (k,)."""
        return functional.relu(outputs[:, 0] - outputs[:, 1] + self._margin)

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return 1 where the sentence is nearer to its form, else 0, shape (k,)."""
        return outputs[:, 0] < outputs[:, 1]


def make_loss(objective: str, model: Any, inputs: Inputs, tokens: int | None, margin: float) -> PairLoss:
    """Return the loss of an objective.

    Args:
        objective: ``triplet``, or ``classification``: whether a form is the sentence's, by a linear layer over both
            embeddings and their difference, as in Sentence-BERT.
        model, inputs, tokens: see :class:`~assay.training.pairwise.losses.PairLoss`.
        margin: of the triplets.
    """
    if objective == "triplet":
        return TripletLoss(model, inputs, tokens, margin)
    return SoftmaxLoss(model, inputs, tokens, classes=2)
