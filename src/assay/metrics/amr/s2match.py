"""S2match (Opitz, Parcalabescu and Frank 2020): Smatch in which concepts match by degrees."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from assay.metrics.amr.node_vectors import NodeVectors

__all__ = ["ConceptSimilarity"]

_SENSE = re.compile(r"-\d+\Z")


@dataclass
class ConceptSimilarity:
    """What a concept is worth on another, from 0 to 1; pairs that were asked for are kept.

    Equal concepts are worth 1, senses of one lemma (``hit-01``, ``hit-02``, ``hit``) *diffsense*. Others are worth the
    cosine of their word vectors where it exceeds *cutoff*, times *diffsense* where one has a sense, and else nothing;
    so are concepts without a vector.

    Attributes:
        vectors: of words.
        cutoff: cosines up to it are worth nothing.
        diffsense: the factor of another sense.
    """

    vectors: NodeVectors
    cutoff: float
    diffsense: float
    _known: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)

    def __call__(self, first: str, second: str) -> float:
        """Return what *first* is worth on *second*; the order does not matter."""
        key = (first, second) if first <= second else (second, first)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._compare(*key)
        return found

    def _compare(self, first: str, second: str) -> float:
        if first == second:
            return 1.0
        lemmas = _SENSE.sub("", first), _SENSE.sub("", second)
        if lemmas[0] == lemmas[1]:
            return self.diffsense
        left, right = map(self.vectors.known, (first, second))
        if left is None or right is None:
            return 0.0
        cosine = float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))
        if not cosine > self.cutoff:
            return 0.0
        return min(1.0, cosine) * (1.0 if lemmas == (first, second) else self.diffsense)
