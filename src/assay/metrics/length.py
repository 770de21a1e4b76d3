"""The length of the candidate, the baseline that a metric should beat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.metrics.base import Declaration, PairMetric, option
from assay.metrics.text import tokenizer_signature, words


@dataclass(frozen=True)
class Length(PairMetric):
    """Number of words of the candidate, whatever the reference says, from 0 up.

    People often prefer longer texts; a metric that agrees with them no better than this one measures length. The words
    are those of :func:`~assay.metrics.text.words`; each character of Chinese and Japanese writing is one. With
    ``unit=characters`` it is the number of characters, without those of outer white space.
    """

    unit: Literal["words", "characters"] = option("words", "what is counted; characters without the space around them")

    declaration: ClassVar[Declaration] = Declaration(
        name="length",
        kind="lexical",
        summary="number of words of the candidate, a baseline",
        formula="words of the candidate",
        high=math.inf,
        reads_reference=False,
        provider=("regex",),
    )

    def data_signature(self) -> dict[str, str]:
        """Return the version of the Unicode tables, by which texts are split into words; empty for characters."""
        return tokenizer_signature() if self.unit == "words" else {}

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> number of words or characters of the candidate."""
        if self.unit == "characters":
            return lambda reference, candidate: float(len(candidate.strip()))
        return lambda reference, candidate: float(len(words(candidate)))
