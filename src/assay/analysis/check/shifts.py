"""How far scores moved from a baseline: thresholds and calibrations break where agreement does not.

Agreement is of ranks: scores times 100 agree with people as before, but no threshold fits them any more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.check.cells import Pairing

#: The number of pairs that are kept of each metric, those that moved most.
MOST_SHOWN = 10


@dataclass(frozen=True)
class MovedPair:
    """A pair whose score moved: its id and texts, and the score in the baseline and in the run."""

    pair_id: str
    reference: str
    candidate: str
    before: float
    now: float

    @property
    def change(self) -> float:
        """The score in the run minus that in the baseline."""
        return self.now - self.before


@dataclass(frozen=True)
class ScoreShift:
    """The scores of one metric on one dataset that moved.

    Attributes:
        n: the number of pairs with both scores.
        moved: the number of pairs whose scores differ, to single precision.
        mean: the mean absolute change of the n scores.
        deviation: the standard deviation of the n scores in the baseline.
        pairs: the :data:`MOST_SHOWN` pairs that moved most, the largest change first.
        cause: the parts of the metric's signature that differ, in words; empty if it is the same.
        fails: whether the shift is above the largest accepted one.
    """

    dataset: str
    metric: str
    n: int
    moved: int
    mean: float
    deviation: float
    pairs: tuple[MovedPair, ...]
    cause: str
    fails: bool

    @property
    def relative(self) -> float:
        """The mean absolute change in standard deviations; infinite if the baseline's scores are constant."""
        return self.in_deviations(self.mean)

    def in_deviations(self, change: float) -> float:
        """Return a change of a score, other than 0, in standard deviations of the baseline's scores."""
        return change / self.deviation if self.deviation > 0 else math.copysign(math.inf, change)

    @property
    def largest(self) -> float:
        """The largest absolute change of a score."""
        return abs(self.pairs[0].change)


def shift_of(pairing: Pairing, cause: str, max_shift: float | None) -> ScoreShift | None:
    """Return how far the scores of a metric moved; None if no pair has two scores that differ.

    Args:
        pairing: the metric in the run and in the baseline, on the same pairs.
        cause: the parts of the metric's signature that differ, in words.
        max_shift: the largest accepted mean change, in standard deviations of the baseline's scores; None for any.
    """
    data = pairing.data
    # as the metric gave them, not oriented
    sign = 1.0 if data.metrics[pairing.metric].declared.higher_is_better else -1.0
    before, now = sign * pairing.old.scores, sign * pairing.current_scores
    scored_rows = np.flatnonzero(np.isfinite(before) & np.isfinite(now))
    changes = np.abs(now[scored_rows] - before[scored_rows])
    moved = int((changes > 0).sum())
    if not moved:
        return None
    # stable, so that of equal changes the first pair stays the first
    largest_first = np.argsort(-changes, kind="stable")[: min(MOST_SHOWN, moved)]
    pair_ids = data.table.column("pair_id")
    pairs = []
    for row in scored_rows[largest_first].tolist():
        texts = data.texts(row)
        scores = float(before[row]), float(now[row])
        pairs.append(MovedPair(pair_ids[row].as_py(), texts["reference"], texts["candidate"], *scores))
    shift = ScoreShift(
        dataset=data.name,
        metric=pairing.metric,
        n=len(scored_rows),
        moved=moved,
        mean=float(changes.mean()),
        deviation=float(before[scored_rows].std()),
        pairs=tuple(pairs),
        cause=cause,
        fails=False,
    )
    return replace(shift, fails=max_shift is not None and shift.relative > max_shift)
