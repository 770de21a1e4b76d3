"""What is asked of a pair of graphs: an aspect and the settings that change its number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["ALIGNED", "SETS", "WITH_VECTORS", "Asking", "Question", "Solver"]

Solver = Literal["exact", "hill-climbing"]

#: Aspects that compare sets of labels.
SETS = ("frames", "named-entities", "negation", "concepts")
#: Aspects whose score is the worth of an alignment.
ALIGNED = ("smatch", "unlabeled", "coreference", "srl", "s2match")
#: Aspects that read word vectors.
WITH_VECTORS = ("wwlk", "max-indegree", "max-outdegree", "max-degree", "root", "s2match")


@dataclass(frozen=True)
class Question:
    """One number that is asked of a pair of graphs.

    Attributes:
        aspect: one of ``assay.amr.ASPECTS``, ``bag-of-nodes`` or ``s2match``.
        solver: how an alignment is found.
        seed: of hill climbing.
        standardize: whether graphs are put into one form first.
        iterations: of the Weisfeiler-Leman kernels.
        vectors: file of word vectors, empty for none.
        cutoff, diffsense, concept_weight: of graded concept matches, see
            :class:`assay.metrics.amr.smatch.ConceptSimilarity`.
    """

    aspect: str
    solver: Solver = "exact"
    seed: int = 0
    standardize: bool = True
    iterations: int = 2
    vectors: str = ""
    cutoff: float = 0.95
    diffsense: float = 0.5
    concept_weight: float = 1.0


class Asking(Protocol):
    """A metric of graphs, as a session sees it."""

    def question(self) -> Question:
        """Return what it asks of a pair."""
        ...
