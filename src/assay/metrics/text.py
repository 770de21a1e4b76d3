"""What several metrics do with the two texts before they compare them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.metrics.base import PairMetric, option

__all__ = ["PreparedMetric", "empty_score"]


def empty_score(left: str, right: str) -> float | None:
    """Return 1 for two blank texts, 0 where one is blank, None where neither is."""
    blank_left, blank_right = not left.strip(), not right.strip()
    if blank_left and blank_right:
        return 1.0
    return 0.0 if blank_left or blank_right else None


@dataclass(frozen=True)
class PreparedMetric(PairMetric):
    """A metric with the two options that the published answer-similarity scores need.

    There the gold answer was handed in as the hypothesis (``swap``), and a blank answer had become the
    text ``nan`` when the file was read (``blank``).
    """

    swap: bool = option(False, "hand the reference in as the hypothesis and the candidate as the reference")
    blank: str = option("", "the text that stands for an empty one")

    def prepared(self, function: Callable[[str, str], float]) -> Callable[[str, str], float]:
        """Return *function* (reference, candidate) behind these two options."""
        swap, blank = self.swap, self.blank
        if not swap and not blank:
            return function

        def score(reference: str, candidate: str) -> float:
            reference, candidate = reference or blank, candidate or blank
            return function(candidate, reference) if swap else function(reference, candidate)

        return score
