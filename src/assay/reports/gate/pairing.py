"""One metric on one dataset in a run and in a baseline, and the numbers that come of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.reports.data import ScoredDataset
from assay.reports.gate.baseline import BaselineMetric
from assay.reports.gate.cells import Cell, Verdict, judge, unpaired_interval
from assay.reports.gate.packing import rounded
from assay.reports.gate.settings import Settings
from assay.statistics.agreement import agreement
from assay.statistics.comparison import compare
from assay.statistics.concordance import Floats

__all__ = ["Pairing", "cells_of"]

#: Resamples that must lie beyond each bound of a plain percentile interval, so that the bound is no single extreme
#: draw. The expanded interval of few units reaches farther out, where there are fewer.
BEYOND = 5


@dataclass(frozen=True)
class Pairing:
    """See the module.

    Attributes:
        data: the dataset of the run.
        metric: name.
        old: the metric in the baseline.
        changed: in which way the pairs differ; an empty string where they are the same.
        old_confidence: level of the intervals in the baseline.
    """

    data: ScoredDataset
    metric: str
    old: BaselineMetric
    changed: str
    old_confidence: float

    @cached_property
    def now(self) -> Floats:
        """The scores of the run as a baseline would keep them, shape (n,)."""
        return rounded(self.data.oriented(self.metric))

    @property
    def same_scores(self) -> bool:
        """Whether no score of the same pairs changed."""
        return not self.changed and np.array_equal(self.now, self.old.scores, equal_nan=True)


@dataclass(frozen=True)
class _Part:
    """Some coefficients of one bucket, and how their intervals are made."""

    bucket: str
    statistics: Sequence[str]
    judged: bool
    confidence: float
    resamples: int


def cells_of(one: Pairing, settings: Settings, family: int) -> Iterator[Cell]:
    """Yield every coefficient in every bucket of the run.

    Args:
        one: what is compared.
        settings: what is judged.
        family: for how many tests the level of the judged ones is corrected.
    """
    shown = dict.fromkeys([*settings.statistics, *one.data.run.manifest["request"]["statistics"]])
    corrected = 1 - (1 - settings.confidence) / max(family, 1)
    enough = max(settings.resamples, math.ceil(2 * BEYOND / (1 - corrected)))
    for bucket in one.data.buckets:
        judged = settings.statistics if bucket in settings.buckets else ()
        rest = [name for name in shown if name not in judged]
        if judged:
            yield from _cells(one, settings, _Part(bucket, judged, True, corrected, enough))
        if rest:
            yield from _cells(one, settings, _Part(bucket, rest, False, settings.confidence, settings.resamples))


def _cells(one: Pairing, settings: Settings, part: _Part) -> Iterator[Cell]:
    # the same resamples for all metrics of a bucket
    pairs = one.data.within(part.bucket, settings.seed)
    now = pairs.take(one.now)

    def cell(
        statistic: str,
        values: tuple[float | None, float | None],
        bounds: tuple[float | None, float | None],
        n: int,
        note: str,
    ) -> Cell:
        same = one.same_scores and values[1] is not None
        verdict = Verdict.unchanged if same else judge(*values, *bounds, settings.margin)
        place = (one.data.name, part.bucket, one.metric, statistic, part.judged)
        return Cell(*place, *values, *bounds, part.confidence, n, verdict, note)

    if one.changed or one.same_scores:
        # the same scores differ by nothing in every resample
        for found in agreement(
            {one.metric: now},
            pairs.labels,
            statistics=part.statistics,
            resamples=part.resamples if one.changed else 0,
            confidence=part.confidence,
            seed=pairs.seed,
            groups=pairs.groups,
        ):
            if one.same_scores:
                nothing = (None, None) if found.value is None else (0.0, 0.0)
                yield cell(found.statistic, (found.value, found.value), nothing, found.n, found.note)
                continue
            before = one.old.agreement.get(part.bucket, {}).get(found.statistic, [])
            bounds = _independent(before, (found.value, found.low, found.high), one.old_confidence, part.confidence)
            note = "; ".join(filter(None, (found.note, "other pairs, hence not paired")))
            yield cell(found.statistic, (before[0] if before else None, found.value), bounds, found.n, note)
        return
    for difference in compare(
        now,
        pairs.take(one.old.scores),
        pairs.labels,
        statistics=part.statistics,
        permutations=0,
        resamples=part.resamples,
        confidence=part.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
    ):
        values = difference.second, difference.first
        yield cell(difference.statistic, values, (difference.low, difference.high), difference.n, difference.note)


def _independent(
    before: Sequence[float], now: tuple[float | None, float | None, float | None], level: float, wanted: float
) -> tuple[float | None, float | None]:
    """Return the interval of the difference on different pairs, or none where a part of it is not known."""
    from scipy.special import ndtri

    value, low, high = now
    if len(before) != 3 or value is None or low is None or high is None:
        return None, None
    widening = float(ndtri((1 + wanted) / 2) / ndtri((1 + level) / 2))
    return unpaired_interval((before[0], before[1], before[2]), (value, low, high), widening)
