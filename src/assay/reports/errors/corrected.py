"""The cleaning experiment: the same pairs with other labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import InputError
from assay.reports.data import ScoredDataset
from assay.reports.errors.subsets import Part, agreement_on
from assay.statistics.drawing import Drawing

__all__ = ["Cleaning", "clean", "partner"]


@dataclass(frozen=True)
class Cleaning:
    """Agreement before and after labels were corrected, on the pairs that both runs have.

    Attributes:
        title: the dataset with the corrected labels.
        joined: pairs in both.
        only_first, only_second: pairs of one run that the other one lacks.
        changed: joined pairs whose label differs.
        first: agreement with the first labels.
        corrected: agreement with the corrected labels.
        unchanged: agreement on the pairs whose label did not change.
    """

    title: str
    joined: int
    only_first: int
    only_second: int
    changed: int
    first: Part
    corrected: Part
    unchanged: Part


def partner(data: ScoredDataset, others: Sequence[ScoredDataset]) -> ScoredDataset | None:
    """Return the dataset of another run that has the same name, whatever its version, or None."""
    return next((other for other in others if other.name == data.name), None)


def clean(
    data: ScoredDataset,
    other: ScoredDataset,
    metrics: Sequence[str],
    statistics: Sequence[str],
    drawing: Drawing,
) -> Cleaning:
    """Hold the scores of one run against its labels and against those of another.

    Pairs are the same where their texts are; a pair that occurs several times is joined in order.

    Args:
        data: pairs, scores, first labels.
        other: the same pairs with other labels; its scores are not read.
        metrics, statistics: which.
        drawing: of the intervals.

    Raises:
        InputError: the two have no pair in common.
    """
    at = {key: row for row, key in enumerate(_keys(other))}
    rows = np.array([at.get(key, -1) for key in _keys(data)], dtype=np.intp)
    joined = rows >= 0
    if not joined.any():
        raise InputError(
            f"{other.run.title}: {other.title} has no pair of {data.run.title}; the texts must be the same"
        )
    labels = np.where(joined, other.labels[rows], data.labels)
    same = joined & (labels == data.labels)

    def part(name: str, inside: np.ndarray, corrected: bool = False) -> Part:
        return agreement_on(data, name, inside, metrics, statistics, drawing, labels=labels if corrected else None)

    return Cleaning(
        title=other.title,
        joined=int(joined.sum()),
        only_first=int((~joined).sum()),
        only_second=len(other) - int(joined.sum()),
        changed=int((joined & ~same).sum()),
        first=part("first labels", joined),
        corrected=part("corrected labels", joined, corrected=True),
        unchanged=part("without the pairs whose label changed", same),
    )


def _keys(data: ScoredDataset) -> Iterator[tuple[object, ...]]:
    """Yield what a pair is known by: its texts, and how often they occurred before."""
    seen: Counter[tuple[object, ...]] = Counter()
    for golds, candidate in zip(
        data.table.column("reference").to_pylist(), data.table.column("candidate").to_pylist(), strict=True
    ):
        key = (tuple(golds or ()), candidate)
        seen[key] += 1
        yield *key, seen[key]
