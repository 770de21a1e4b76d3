"""Agreement on parts of the pairs: inside a category, without it, and without numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.lexicon.columns import has_number
from assay.reports.data import ALL, ScoredDataset
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.drawing import Drawing

__all__ = ["Part", "agreement_on", "by_category", "by_number"]


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
    drawing: Drawing,
    *,
    bucket: str = ALL,
    labels: NDArray[np.float64] | None = None,
) -> Part:
    """Return the agreement of metrics on the pairs inside a mask.

    Args:
        data: the pairs.
        name: of the part.
        inside: shape (n,).
        metrics, statistics: which.
        drawing: of the intervals.
        bucket: the bucket that the part is, or lies in, as a run calls it: its draws are the run's.
        labels: other labels than those of the data, shape (n,).
    """
    pairs = data.within(bucket, drawing.seed, inside)
    found = agreement(
        {metric: pairs.take(data.oriented(metric)) for metric in metrics},
        pairs.labels if labels is None else pairs.take(labels),
        statistics=statistics,
        resamples=drawing.resamples,
        confidence=drawing.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
    )
    return Part(name, len(pairs), found)


def by_category(
    data: ScoredDataset,
    masks: Mapping[str, NDArray[np.bool_]],
    bucket: str,
    metrics: Sequence[str],
    statistics: Sequence[str],
    drawing: Drawing,
) -> list[tuple[Part, Part]]:
    """Return the agreement inside each category in a bucket, and that of all pairs of the bucket without it."""
    inside = data.buckets[bucket]
    return [
        (
            agreement_on(data, name, mask & inside, metrics, statistics, drawing, bucket=bucket),
            agreement_on(data, f"without {name}", ~mask & inside, metrics, statistics, drawing, bucket=bucket),
        )
        for name, mask in masks.items()
        if (mask & inside).any()
    ]


def by_number(
    data: ScoredDataset, buckets: Sequence[str], metrics: Sequence[str], statistics: Sequence[str], drawing: Drawing
) -> list[tuple[str, Part, Part, Part]]:
    """Return for each bucket the agreement on all pairs, on those without a number in a gold answer, and on the rest.

    Source: tables 7 and 8 of Mustafazade & Ebbinghaus (2022): ``w_num`` are all pairs, ``wo_num`` those without.
    """
    number = has_number(data.table.column("reference"))
    parts = []
    for bucket in buckets:
        mask = data.buckets[bucket]
        # the names under which a run has these buckets
        crossed = "" if bucket == ALL else f"{bucket}+"
        every, without, rest = (
            agreement_on(data, name, part, metrics, statistics, drawing, bucket=own)
            for name, part, own in (
                ("all pairs", mask, bucket),
                ("without", mask & ~number, f"{crossed}number=no"),
                ("with", mask & number, f"{crossed}number=yes"),
            )
        )
        parts.append((bucket, every, without, rest))
    return parts
