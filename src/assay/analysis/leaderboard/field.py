"""What to use for a task, a language, or another group of datasets: a conclusion from the boards of the group."""

from __future__ import annotations

from dataclasses import dataclass

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
        value: its mean over the datasets with the interval; the coefficient itself for one dataset.
        new: the range in which its agreement is expected on one more dataset; without bounds for fewer than three.
        best_on: the number of datasets on which it could be the best.
        alike: the other metrics whose mean could be the highest.
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
    alike: tuple[str, ...]
    never: tuple[str, ...]

    @property
    def lowest_expected(self) -> float | None:
        """The lowest agreement that is expected: on a dataset not seen, or else at the lower end of the interval."""
        return self.value.low if self.new.low is None else self.new.low

    @property
    def is_reliable(self) -> bool:
        """Whether the highest metric is expected to agree with people by at least :data:`WEAK`, also on new data."""
        return self.lowest_expected is not None and self.lowest_expected >= WEAK


def verdict_of(title: str, group: GroupBoards, by: str) -> FieldVerdict:
    """Return the conclusion from the boards of one group.

    Args:
        title: the title of the group.
        group: the boards.
        by: the coefficient that ranks.
    """
    means = group.means
    ranked = [line for line in means.lines if line.rank is not None and not line.has_rare_scores]
    datasets = len(group.datasets)
    if not ranked:
        return FieldVerdict(title, means.bucket, datasets, means.n, None, Number(), Number(), 0, (), ())
    highest = ranked[0]
    random = highest.random_effects.get(by)
    times_best = {line.metric: sum(line.metric in board.best for board in group.datasets) for line in ranked}
    never = []
    for line in ranked[1:]:
        is_lower = _is_lower(means, line.metric, highest.metric)
        if is_lower and line.metric not in means.best and not times_best[line.metric]:
            never.append(line.metric)
    return FieldVerdict(
        title,
        means.bucket,
        datasets,
        means.n,
        highest,
        highest.values[by] if random is None else random.mean,
        Number() if random is None else random.new,
        times_best[highest.metric],
        tuple(name for name in means.best if name != highest.metric),
        tuple(never),
    )


def _is_lower(board: Board, metric: str, other: str) -> bool:
    """Return whether a test says that a metric is lower than another one."""
    return board.compared.get((metric, other)) == -1 or board.compared.get((other, metric)) == 1
