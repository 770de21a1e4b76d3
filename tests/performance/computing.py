"""A metric that computes for about a millisecond a pair; in a file of its own, so that workers can import it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from assay.metrics.base import Declaration, PairMetric, option


@dataclass(frozen=True)
class Chained(PairMetric):
    """A number from a chain of digests of both texts."""

    rounds: int = option(1500, "digests in the chain", minimum=1)

    declaration: ClassVar[Declaration] = Declaration("chained", "the last of a chain of digests")

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> score."""

        def score(reference: str, candidate: str) -> float:
            digest = f"{reference}\0{candidate}".encode()
            for _ in range(self.rounds):
                digest = hashlib.sha256(digest).digest()
            return digest[0] / 255

        return score
