"""Smatch (Cai and Knight 2013): F1 of the triples that an alignment makes equal."""

from __future__ import annotations

from assay.metrics.amr.alignment import Triples

__all__ = ["f1", "smatch_f1"]


def f1(matched: float, first: float, second: float) -> float:
    """Return the F1, from 0 to 1, of what matched; 1 where both sides are empty, 0 where one is.

    Damonte and Cohen's scores are 0 where both are empty; Opitz 2020 and S3BERT set 1: the graphs agree in having
    nothing of the kind.

    Args:
        matched: the worth of what is equal.
        first, second: the worth of all on each side.
    """
    if not first and not second:
        return 1.0
    return 2.0 * matched / (first + second)


def smatch_f1(matched: float, first: Triples, second: Triples, concept_weight: float = 1.0) -> float:
    """Return the F1 of two sets of triples of which triples worth *matched* are equal.

    Args:
        matched: the value of an alignment.
        first, second: the triples of the two graphs.
        concept_weight: what a concept is worth; other triples are worth 1.
    """
    extra = concept_weight - 1.0
    return f1(matched, len(first) + extra * len(first.concepts), len(second) + extra * len(second.concepts))
