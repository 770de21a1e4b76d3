"""Exact match of the SQuAD v2 evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from assay.metrics.base import Declaration, PairMetric
from assay.metrics.squad import answer_tokens

__all__ = ["ExactMatch"]


@dataclass(frozen=True)
class ExactMatch(PairMetric):
    """1 where the two normalised answers are the same, else 0; two empty answers are the same."""

    declaration: ClassVar[Declaration] = Declaration(
        name="em",
        kind="lexical",
        summary="exact match after the SQuAD v2 normalisation",
        symmetric=True,
        perfect=1.0,
        citation="Rajpurkar, Jia and Liang 2018, Know What You Don't Know (SQuAD 2.0), evaluate-v2.0.py",
    )

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score."""
        return _exact


def _exact(reference: str, candidate: str) -> float:
    return float(answer_tokens(reference) == answer_tokens(candidate))
