"""Missing scores: the pairs on which metrics are compared, and what a missing score could change.

Metrics are compared on pairs that all of them have scored: two values on different pairs differ even between equal
metrics. A metric that lacks many scores would take the pairs away from all others, and one whose missing scores depend
on the label has been scored on another kind of pairs; both are set apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

#: The largest share of scores, of those of the most complete metric, that a metric may lack to be compared.
MAX_MISSING_SHARE = 0.05
#: The smallest share of the pairs of the most complete metric that all compared metrics must have scored.
MIN_SHARED_SHARE = 1 / 3
#: The level of the test whether missing scores depend on the label, and the fewest missing scores to test.
DEPENDENCE_LEVEL, MIN_TESTED = 0.01, 5
#: The number of draws of that test.
DRAWS = 9_999
#: The number of labels of different value above which its distribution is taken to be normal.
MAX_DRAWN_LEVELS = 1_000


@dataclass(frozen=True)
class SetApart:
    """The reason why a metric is not compared with others.

    Attributes:
        missing: the number of pairs without a score.
        n: the number of pairs.
        mean_label: the mean label of the pairs without a score, if missing scores depend on the label; else None.
        mean_label_scored: the mean label of the pairs with a score; None in the same case.
    """

    missing: int
    n: int
    mean_label: float | None = None
    mean_label_scored: float | None = None


@dataclass(frozen=True)
class SharedScores:
    """Scores on the pairs on which metrics are compared.

    Attributes:
        scores: the scores by metric, each of shape (n,): of a compared metric NaN on the pairs that not all compared
            metrics have scored, of another one as they were.
        rows: the mask of the pairs that all compared metrics have scored, shape (n,); all pairs if none is compared.
        missing: the number of pairs without a score, by metric.
        apart: the metrics that are not compared, with the reason.
    """

    scores: dict[str, Floats]
    rows: NDArray[np.bool_]
    missing: dict[str, int]
    apart: dict[str, SetApart]


def share_pairs(scores: Mapping[str, Floats], labels: Floats) -> SharedScores:
    """Return the scores on the pairs that all compared metrics have scored.

    A metric is compared if it lacks at most :data:`MAX_MISSING_SHARE` of the scores that the most complete metric has,
    or a single one. If that holds for a single metric, which would leave nothing to compare, the others are compared
    as well. In both cases they join the most complete metric one by one, the one with most pairs in common first, as
    long as all of them have scored at least :data:`MIN_SHARED_SHARE` of its pairs. If none does, though another one has
    scored as many pairs, nothing tells which of them to take, and no metric is compared. A metric whose missing scores
    depend on the label is never compared, nor is one without any score.

    Args:
        scores: arrays of shape (n,) by name; NaN marks a pair without a score.
        labels: the labels, shape (n,), finite.
    """
    n = len(labels)
    has_score = {name: np.isfinite(values) for name, values in scores.items()}
    counts = {name: int(mask.sum()) for name, mask in has_score.items()}
    apart = {}
    for name, mask in has_score.items():
        if not counts[name]:
            apart[name] = SetApart(n, n)
        elif _depends_on_label(~mask, labels):
            mean_without_score = float(labels[~mask].mean())
            mean_with_score = float(labels[mask].mean())
            apart[name] = SetApart(n - counts[name], n, mean_without_score, mean_with_score)
    comparable = [name for name in scores if name not in apart]
    highest = max((counts[name] for name in comparable), default=0)
    nearly_complete = [name for name in comparable if counts[name] >= highest - max(1, MAX_MISSING_SHARE * highest)]
    candidates = nearly_complete if len(nearly_complete) > 1 else comparable
    rows, compared_names = _join_metrics({name: has_score[name] for name in candidates}, n)
    for name in comparable:
        if name not in compared_names:
            apart[name] = SetApart(n - counts[name], n)
    return SharedScores(
        scores={name: values if name in apart else np.where(rows, values, np.nan) for name, values in scores.items()},
        rows=rows,
        missing={name: n - count for name, count in counts.items()},
        apart={name: apart[name] for name in scores if name in apart},
    )


def _join_metrics(has_score: Mapping[str, NDArray[np.bool_]], n: int) -> tuple[NDArray[np.bool_], set[str]]:
    """Return the mask of the pairs that all compared metrics have scored, and the names of these metrics.

    Metrics join one by one as :func:`share_pairs` says; without any, the mask is that of all pairs.

    Args:
        has_score: the mask of the pairs with a score, shape (n,), by metric.
        n: the number of pairs.
    """
    rows = np.ones(n, dtype=bool)
    compared_names: set[str] = set()
    fewest = 0.0
    for _ in has_score:
        shared = {name: rows & mask for name, mask in has_score.items() if name not in compared_names}
        best = max(shared, key=lambda name: int(shared[name].sum()))
        if shared[best].sum() < fewest:
            break
        rows = shared[best]
        if not compared_names:
            fewest = MIN_SHARED_SHARE * rows.sum()
        compared_names.add(best)
    another_has_enough = any(mask.sum() >= fewest for name, mask in has_score.items() if name not in compared_names)
    if len(compared_names) == 1 and another_has_enough:
        return np.ones(n, dtype=bool), set()
    return rows, compared_names


def _depends_on_label(is_missing: NDArray[np.bool_], labels: Floats) -> bool:
    """Return whether pairs without a score have higher or lower labels than the others, by a two-sided rank test.

    The distribution of the sum of ranks is drawn, since few missing scores and rare labels are far from normal; it is
    taken to be normal for more than :data:`MAX_DRAWN_LEVELS` different labels. With fewer than :data:`MIN_TESTED`
    missing scores the answer is False: what they could change is then shown instead. It is False, too, if all scores
    are missing or all labels are equal.

    Args:
        is_missing: True for each pair without a score, shape (n,).
        labels: the labels, shape (n,), finite.
    """
    missing = int(is_missing.sum())
    if missing < MIN_TESTED or missing == len(labels):
        return False
    # takes a second to import
    from scipy.stats import mannwhitneyu, rankdata

    ranks = rankdata(labels)
    levels, counts = np.unique(ranks, return_counts=True)
    if len(levels) < 2:
        return False
    centred = levels - ranks.mean()
    observed = abs(float((ranks[is_missing] - ranks.mean()).sum()))
    if len(levels) > MAX_DRAWN_LEVELS:
        return bool(mannwhitneyu(labels[is_missing], labels[~is_missing]).pvalue < DEPENDENCE_LEVEL)
    generator = np.random.default_rng(0)
    label_sums = generator.multivariate_hypergeometric(counts, missing, size=DRAWS, method="marginals") @ centred
    # a difference by rounding counts as equal
    as_far = int((np.abs(label_sums) >= observed * (1 - 1e-12)).sum())
    return (1 + as_far) / (1 + DRAWS) < DEPENDENCE_LEVEL


def filled_scores(scores: Floats, labels: Floats) -> list[Floats]:
    """Return five copies of scores with the missing ones filled in, as badly and as well as their range about allows.

    As badly: a pair with a label above the middle gets the lowest score, any other the highest. As well: the reverse,
    or the score whose rank is that of the label. The middle is the mean of the labels and their median, which matter
    for Pearson's r and for ranks. The lowest and highest coefficient of all of these bound what the missing scores
    could change; a better fill may exist, and changes little.

    Args:
        scores: the scores, shape (n,), at least one of them finite; NaN marks a pair without a score.
        labels: the labels, shape (n,), finite.
    """
    is_missing = np.isnan(scores)
    present_scores = scores[~is_missing]
    low, high = present_scores.min(), present_scores.max()
    below = np.searchsorted(np.sort(labels), labels, side="left")
    at_most = np.searchsorted(np.sort(labels), labels, side="right")
    filled = [np.where(is_missing, np.quantile(present_scores, (below + at_most) / (2 * len(labels))), scores)]
    for middle in (labels.mean(), np.median(labels)):
        is_above = labels > middle
        filled.append(np.where(is_missing, np.where(is_above, low, high), scores))
        filled.append(np.where(is_missing, np.where(is_above, high, low), scores))
    return filled
