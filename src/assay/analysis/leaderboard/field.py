"""What to use for a task, a language, or another group of datasets: a conclusion from the boards of the group."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.analysis.leaderboard.board import Board, Line
from assay.analysis.leaderboard.measurements import GroupBoards
from assay.common.numbers import Number

#: An agreement below this is too weak to rely on: a score that explains less than a tenth of what varies in labels.
WEAK = 0.3


@dataclass(frozen=True)
class FieldVerdict:
    """What to use on a group of datasets, what never, and how sure that is.

    Attributes:
        title: the title of the group.
        bucket: the bucket of pairs.
        datasets: the number of datasets.
        n: the number of pairs.
        highest: the metric with the highest mean; None if no metric has one.
        value: its random-effects mean over the datasets with the interval; without one the fixed mean, which for a
            single dataset is the coefficient itself.
        new: the range in which its agreement is expected on one more dataset; without bounds for fewer than three
            datasets, or without a random-effects mean.
        best_on: the number of datasets on which it could be the best.
        as_good: the other metrics whose mean could be the highest.
        never: the metrics whose mean is known to be lower, and which could be the best on none of the datasets.
    """

    title: str
    bucket: str
    datasets: int
    n: int
    highest: Line | None
    value: Number
    new: Number
    best_on: int
    as_good: tuple[str, ...]
    never: tuple[str, ...]

    @property
    def lowest_expected(self) -> float | None:
        """The lowest agreement to expect: on a new dataset, else the lower end of the interval; None if unknown."""
        return self.value.low if self.new.low is None else self.new.low

    @property
    def is_reliable(self) -> bool:
        """Whether the highest metric is expected to agree with people by at least :data:`WEAK`, also on new data."""
        return self.lowest_expected is not None and self.lowest_expected >= WEAK


def verdict_of(title: str, group: GroupBoards, by: str) -> FieldVerdict:
    """Return the conclusion from the boards of one group.

    Metrics of rare scores are not considered. If no other metric has a rank, the conclusion names none.

    Args:
        title: the title of the group.
        group: the boards.
        by: the coefficient that ranks.
    """
    means = group.means
    ranked = [line for line in means.lines if line.rank is not None and not line.has_rare_scores]
    verdict = FieldVerdict(
        title=title,
        bucket=means.bucket,
        datasets=len(group.datasets),
        n=means.n,
        highest=None,
        value=Number(),
        new=Number(),
        best_on=0,
        as_good=(),
        never=(),
    )
    if not ranked:
        return verdict
    highest = ranked[0]
    random_effects = highest.random_effects.get(by)
    times_best = {line.metric: sum(line.metric in board.best for board in group.datasets) for line in ranked}
    never = []
    for line in ranked[1:]:
        is_lower = _is_lower(means, line.metric, highest.metric)
        if is_lower and line.metric not in means.best and not times_best[line.metric]:
            never.append(line.metric)
    return replace(
        verdict,
        highest=highest,
        value=highest.values[by] if random_effects is None else random_effects.mean,
        new=Number() if random_effects is None else random_effects.new,
        best_on=times_best[highest.metric],
        as_good=tuple(name for name in means.best if name != highest.metric),
        never=tuple(never),
    )


def _is_lower(board: Board, metric: str, other: str) -> bool:
    """Return whether a test says that a metric is lower than another one."""
    return board.compared.get((metric, other)) == -1 or board.compared.get((other, metric)) == 1
