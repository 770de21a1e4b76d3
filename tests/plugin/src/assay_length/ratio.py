"""How far the lengths of two texts agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from assay.metrics import Declaration, PairMetric, option


@dataclass(frozen=True)
class LengthRatio(PairMetric):
    """Length of the shorter text over the length of the longer one, from 0 to 1."""

    unit: Literal["characters", "words"] = option("characters", "what is counted")

    declaration: ClassVar[Declaration] = Declaration(
        name="length-ratio",
        summary="ratio of the lengths",
        symmetric=True,
        perfect=1.0,
        option_sets={"words": {"unit": "words"}},
    )

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score."""

        def length(text: str) -> int:
            return len(text) if self.unit == "characters" else len(text.split())

        def score(reference: str, candidate: str) -> float:
            low, high = sorted((length(reference), length(candidate)))
            return low / high if high else 1.0

        return score
