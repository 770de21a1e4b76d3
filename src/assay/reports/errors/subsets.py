"""Agreement on parts of the pairs: inside a category, without it, and without numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.reports.data import ScoredDataset
from assay.reports.errors.frequency import Settings
from assay.statistics.agreement import Estimate, agreement

__all__ = ["Part", "agreement_on", "by_category", "by_number", "has_number"]


@dataclass(frozen=True)
class Part:
    """Agreement on a part of the pairs.

    Attributes:
        name: what the part is.
        n: its pairs.
        estimates: one a metric and statistic.
    """

    name: str
    n: int
    estimates: list[Estimate]

    def of(self, metric: str, statistic: str) -> Estimate:
        """Return the estimate of one metric and statistic."""
        return next(one for one in self.estimates if (one.metric, one.statistic) == (metric, statistic))


def agreement_on(
    data: ScoredDataset,
    name: str,
    inside: NDArray[np.bool_],
    metrics: Sequence[str],
    statistics: Sequence[str],
    settings: Settings,
    labels: NDArray[np.float64] | None = None,
) -> Part:
    """Return the agreement of metrics on the pairs inside a mask.

    Args:
        data: the pairs.
        name: of the part.
        inside: shape (n,).
        metrics, statistics: which.
        settings: of the intervals.
        labels: other labels than those of the data, shape (n,).
    """
    groups = None if data.groups is None else np.unique(data.groups[inside], return_inverse=True)[1]
    held = data.labels if labels is None else labels
    found = agreement(
        {metric: data.oriented(metric)[inside] for metric in metrics},
        held[inside],
        statistics=statistics,
        resamples=settings.resamples,
        confidence=settings.confidence,
        seed=(settings.seed,),
        groups=groups,
    )
    return Part(name, int(inside.sum()), found)


def by_category(
    data: ScoredDataset,
    masks: Mapping[str, NDArray[np.bool_]],
    inside: NDArray[np.bool_],
    metrics: Sequence[str],
    statistics: Sequence[str],
    settings: Settings,
) -> list[tuple[Part, Part]]:
    """Return the agreement inside each category, and that of all pairs without it."""
    return [
        (
            agreement_on(data, name, mask & inside, metrics, statistics, settings),
            agreement_on(data, f"without {name}", ~mask & inside, metrics, statistics, settings),
        )
        for name, mask in masks.items()
        if (mask & inside).any()
    ]


def has_number(data: ScoredDataset) -> NDArray[np.bool_]:
    """Tell of each pair whether a gold answer has a digit, shape (n,); so the paper counts 28 % of NQ-open."""
    references = data.table.column("reference").to_pylist()
    return np.array([any(map(_has_digit, golds or ())) for golds in references], dtype=bool)


def _has_digit(text: str) -> bool:
    return any(unicodedata.category(letter).startswith("N") for letter in text or "")


def by_number(
    data: ScoredDataset, buckets: Sequence[str], metrics: Sequence[str], statistics: Sequence[str], settings: Settings
) -> list[tuple[str, Part, Part, Part]]:
    """Return for each bucket the agreement on all pairs, on those without a number in a gold answer, and on the rest.

    Source: tables 7 and 8 of Mustafazade & Ebbinghaus (2022): ``w_num`` are all pairs, ``wo_num`` those without.
    """
    number = has_number(data)
    parts = []
    for bucket in buckets:
        mask = data.buckets[bucket]
        every, without, rest = (
            agreement_on(data, name, mask & part, metrics, statistics, settings)
            for name, part in (("all pairs", np.ones(len(data), dtype=bool)), ("without", ~number), ("with", number))
        )
        parts.append((bucket, every, without, rest))
    return parts
