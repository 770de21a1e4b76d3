"""Aspects in which two AMR graphs are compared, grouped by what they need, and the settings that change a score."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

from assay.metrics.base import Metric

Solver = Literal["exact", "hill-climbing"]

#: Aspects that compare sets of labels.
SETS = ("frames", "named-entities", "negation", "concepts")
#: Aspects whose score is the value of an alignment.
ALIGNED = ("smatch", "unlabeled", "coreference", "srl", "s2match")
#: Aspects that read word vectors.
WITH_VECTORS = ("wwlk", "max-indegree", "max-outdegree", "max-degree", "root", "s2match")


@dataclass(frozen=True)
class AspectSettings:
    """An aspect of a pair of graphs, and how its score is computed.

    Attributes:
        aspect: one of ``assay.language.amr.ASPECTS``, ``bag-of-nodes`` or ``s2match``.
        solver: the algorithm that aligns graphs.
        seed: the seed of hill climbing.
        standardize: whether graphs are standardized first.
        iterations: the number of iterations of the Weisfeiler-Leman kernels.
        vectors: the path of word vectors, empty for none.
        cutoff, diffsense: the settings of :class:`assay.metrics.amr.smatch.ConceptSimilarity`, used by ``s2match``.
        concept_weight: the weight of a concept in ``s2match``; other triples have the weight 1.
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


@dataclass(frozen=True)
class AspectMetric(Metric):
    """A metric that compares graphs in one aspect."""

    @abstractmethod
    def settings(self) -> AspectSettings:
        """Return the aspect and the settings of its computation.

        Raises:
            InputError: the metric means several aspects.
        """
