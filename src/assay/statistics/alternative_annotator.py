"""The alternative annotator test: whether a metric may take the place of one of several annotators.

Each annotator is left out in turn. On each pair, it is asked who is closer to the labels of the remaining annotators:
the metric, or the annotator who was left out. With W the share of pairs on which the metric is as close or closer, and
H the share on which the annotator is, the metric wins against annotator j if a one-sided paired t-test rejects
H_j - W_j >= epsilon. Epsilon is what the lower cost of a metric is worth. The p-values are corrected by the procedure
of Benjamini and Yekutieli, which holds for tests that depend on each other. The winning rate omega is the share of
annotators against whom the metric wins; it passes from one half on. The advantage probability rho is the mean of W_j.

Source: Calderon, Reichart and Dror, The Alternative Annotator Test for LLM-as-a-Judge (ACL 2025), section 3; Benjamini
and Yekutieli, The Control of the False Discovery Rate in Multiple Testing under Dependency (2001).

A metric's scores are on another scale than labels. :func:`labels_of_scores` therefore turns them into labels, by what
is learned on other pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import make_folds
from assay.statistics.reliability import are_sorted
from assay.statistics.votes import votes_of

#: The values of epsilon that the authors advise, for annotators who are crowd workers, skilled, and experts.
EPSILONS = (0.1, 0.15, 0.2)
#: The false discovery rate of the tests against all annotators.
LEVEL = 0.05
#: The share of annotators against whom a metric that passes wins.
PASSING_RATE = 0.5
#: The fewest annotators, and the fewest pairs of one, for which the authors advise the test.
MIN_ANNOTATORS = 3
MIN_PAIRS = 30
#: The number of folds in which scores become labels, and that above so many pairs, where half of them tell as much.
FOLDS, FOLDS_OF_MANY = 10, 2
MANY_PAIRS = 20_000
#: Distances that differ by less than this share of the range of labels are equal.
_TIE = 1e-9

#: How close a label is to the labels of the remaining annotators: the share of them that it equals, or the negative
#: root of its mean squared distance from them.
Alignment = Literal["accuracy", "neg_rmse"]
#: What annotations lack for the test.
Lack = Literal["annotators", "identity", "pairs"]


@dataclass(frozen=True)
class Contest:
    """A metric against one annotator.

    Attributes:
        annotator: the column of the annotator.
        n: the number of pairs with a score, the annotator's label, and that of another one.
        advantage: the share of these pairs on which the metric is as close to the others as the annotator, or closer.
        annotator_advantage: the share on which the annotator is as close as the metric, or closer.
        p_values: the uncorrected p-value at each epsilon.
    """

    annotator: int
    n: int
    advantage: float
    annotator_advantage: float
    p_values: tuple[float, ...]


@dataclass(frozen=True)
class AlternativeAnnotatorTest:
    """The result of the test.

    Attributes:
        contests: the metric against each annotator with at least :data:`MIN_PAIRS` pairs.
        winning_rates: omega, in [0, 1], at each epsilon.
        advantage: rho, in [0, 1].
    """

    contests: tuple[Contest, ...]
    winning_rates: tuple[float, ...]
    advantage: float


def alternative_annotator_test(
    predicted: Floats,
    annotations: Floats,
    alignment: Alignment,
) -> AlternativeAnnotatorTest | None:
    """Return the result of the test for labels that a metric predicts.

    Annotators with fewer than :data:`MIN_PAIRS` pairs are left out.

    Args:
        predicted: the predicted labels, shape (n,), NaN for a pair without a score; for ``accuracy`` a label counts as
            met if it is equal.
        annotations: the annotators' labels, shape (n, annotators), one column per annotator, NaN for a missing label.
        alignment: how close a label is to those of the remaining annotators.

    Returns:
        The result; None if no annotator has enough pairs.
    """
    has_label = np.isfinite(annotations)
    is_usable = np.isfinite(predicted) & (has_label.sum(axis=1) >= 2)
    contests = []
    for annotator in range(annotations.shape[1]):
        rows = np.flatnonzero(is_usable & has_label[:, annotator])
        if len(rows) < MIN_PAIRS:
            continue
        other_labels = np.delete(annotations[rows], annotator, axis=1)
        metric_closeness = _closeness(predicted[rows], other_labels, alignment)
        annotator_closeness = _closeness(annotations[rows, annotator], other_labels, alignment)
        tie = _TIE if alignment == "accuracy" else _TIE * float(np.nanmax(annotations) - np.nanmin(annotations))
        metric_wins = metric_closeness >= annotator_closeness - tie
        annotator_wins = annotator_closeness >= metric_closeness - tie
        losses = annotator_wins.astype(np.float64) - metric_wins
        p_values = tuple(_p_of_smaller_mean(losses, epsilon) for epsilon in EPSILONS)
        contests.append(
            Contest(
                annotator=annotator,
                n=len(rows),
                advantage=float(metric_wins.mean()),
                annotator_advantage=float(annotator_wins.mean()),
                p_values=p_values,
            )
        )
    if not contests:
        return None
    rates = []
    for index in range(len(EPSILONS)):
        rejected = rejections_under_dependency(np.array([contest.p_values[index] for contest in contests]), LEVEL)
        rates.append(float(rejected.mean()))
    advantage = float(np.mean([contest.advantage for contest in contests]))
    return AlternativeAnnotatorTest(tuple(contests), tuple(rates), advantage)


def _closeness(labels: Floats, other_labels: Floats, alignment: Alignment) -> Floats:
    """Return how close each label is to those of others on the same pair, shape (n,); higher is closer.

    Args:
        labels: one label per pair, shape (n,), finite.
        other_labels: the labels of others, shape (n, m), NaN where missing, at least one per pair.
        alignment: the measure.
    """
    if alignment == "accuracy":
        counts = np.isfinite(other_labels).sum(axis=1)
        share: Floats = (other_labels == labels[:, None]).sum(axis=1) / counts
        return share
    distance: Floats = np.sqrt(np.nanmean((other_labels - labels[:, None]) ** 2, axis=1))
    return -distance


def _p_of_smaller_mean(values: Floats, mean: float) -> float:
    """Return the p-value of "the mean is *mean* or higher", by the one-sided t-test on values of shape (n,)."""
    from scipy.special import stdtr

    deviation = float(values.std(ddof=1))
    difference = float(values.mean()) - mean
    if deviation == 0:
        return 0.0 if difference < 0 else 1.0
    return float(stdtr(len(values) - 1, difference / (deviation / np.sqrt(len(values)))))


def rejections_under_dependency(p_values: Floats, level: float) -> NDArray[np.bool_]:
    """Return which of m hypotheses are rejected at a false discovery rate, whatever the dependency of the tests.

    With the p-values in ascending order, the i smallest are rejected for the highest i with
    p_(i) <= i / m * level / (1 + 1/2 + ... + 1/m).

    Args:
        p_values: shape (m,), m at least 1.
        level: the false discovery rate.
    """
    m = len(p_values)
    ranks = np.arange(1, m + 1)
    limits = ranks / m * level / (1 / ranks).sum()
    order = np.argsort(p_values, kind="stable")
    below = np.flatnonzero(p_values[order] <= limits)
    rejected = np.zeros(m, dtype=bool)
    if len(below):
        rejected[order[: below[-1] + 1]] = True
    return rejected


def lack_of_annotations(annotations: Floats, *, columns_are_annotators: bool) -> Lack | None:
    """Return what annotations lack for the test; None if nothing.

    It is ``annotators`` for fewer than :data:`MIN_ANNOTATORS` columns, ``identity`` if a column is not one annotator's,
    as where the labels of each pair are sorted, and ``pairs`` if fewer than :data:`MIN_ANNOTATORS` annotators have
    :data:`MIN_PAIRS` pairs that another one labelled, too.

    Args:
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
        columns_are_annotators: whether each column is one annotator.
    """
    if annotations.shape[1] < MIN_ANNOTATORS:
        return "annotators"
    if not columns_are_annotators or are_sorted(annotations):
        return "identity"
    has_label = np.isfinite(annotations)
    with_another = has_label & (has_label.sum(axis=1) >= 2)[:, None]
    return "pairs" if (with_another.sum(axis=0) >= MIN_PAIRS).sum() < MIN_ANNOTATORS else None


def alignment_of(annotations: Floats) -> Alignment:
    """Return the measure for some labels: accuracy for votes of yes and no, else the negative root mean square."""
    labelled = annotations[np.isfinite(annotations).any(axis=1)]
    return "neg_rmse" if votes_of(np.nanmean(labelled, axis=1), labelled) is None else "accuracy"


def labels_of_scores(
    scores: Floats,
    annotations: Floats,
    alignment: Alignment,
    groups: NDArray[np.intp] | None = None,
    seed: tuple[int, ...] = (0,),
) -> Floats:
    """Return the label that each score stands for, by what is learned on the pairs of the other folds.

    For accuracy it is yes, the highest label, from a threshold on, and else no, the lowest. The threshold is the one at
    which most of the other pairs' labels are met; if these are all no, or all yes, every score stands for that.
    Otherwise it is the value of the non-decreasing function of the score that has the least squared distance from the
    other pairs' labels, interpolated between their scores; like the mean of several annotators, it need not be a step
    of their scale.

    Args:
        scores: the scores, shape (n,), higher for a higher label; NaN for a pair without a score.
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
        alignment: the measure of the test, see :func:`alignment_of`.
        groups: None, or codes of shape (n,): whole groups are held out.
        seed: the seed of the folds.

    Returns:
        The labels, shape (n,); NaN for a pair without a score or label, and for all pairs if fewer than two pairs,
        or groups, have both.
    """
    predicted = np.full(len(scores), np.nan)
    rows = np.flatnonzero(np.isfinite(scores) & np.isfinite(annotations).any(axis=1))
    codes = np.arange(len(rows)) if groups is None else groups[rows]
    distinct = len(np.unique(codes))
    if distinct < 2:
        return predicted
    no, yes = float(np.nanmin(annotations)), float(np.nanmax(annotations))
    folds = min(FOLDS if len(rows) <= MANY_PAIRS else FOLDS_OF_MANY, distinct)
    for fold in make_folds(codes, folds, np.random.default_rng(seed)):
        train, test = rows[fold.train], rows[fold.test]
        if alignment == "accuracy":
            threshold = _best_threshold(scores[train], annotations[train] == yes, annotations[train] == no)
            predicted[test] = np.where(scores[test] >= threshold, yes, no)
        else:
            predicted[test] = np.interp(scores[test], *_monotone_fit(scores[train], annotations[train]))
    return predicted


def _best_threshold(scores: Floats, is_yes: NDArray[np.bool_], is_no: NDArray[np.bool_]) -> float:
    """Return the threshold from which scores mean yes: the one at which most labels are met, the lowest of several.

    It is halfway between two scores, or infinite if all scores mean yes or none does.

    Args:
        scores: finite scores, shape (n,).
        is_yes, is_no: which labels are yes and which are no, shape (n, annotators); neither for a missing one.
    """
    distinct, codes = np.unique(scores, return_inverse=True)
    yes = np.bincount(codes, weights=is_yes.sum(axis=1))
    no = np.bincount(codes, weights=is_no.sum(axis=1))
    # the k-th entry is for "yes from the k-th score on"; the last, "never yes"
    met = np.append(yes[::-1].cumsum()[::-1], 0.0) + np.concatenate([[0.0], no.cumsum()])
    thresholds = np.concatenate([[-np.inf], (distinct[:-1] + distinct[1:]) / 2, [np.inf]])
    return float(thresholds[int(met.argmax())])


def _monotone_fit(scores: Floats, annotations: Floats) -> tuple[Floats, Floats]:
    """Return the distinct scores and the value of the least-squares non-decreasing function at each.

    Args:
        scores: finite scores, shape (n,).
        annotations: the labels, shape (n, annotators), NaN where missing, at least one per pair.
    """
    from scipy.optimize import isotonic_regression

    distinct, codes = np.unique(scores, return_inverse=True)
    counts = np.bincount(codes, weights=np.isfinite(annotations).sum(axis=1))
    means = np.bincount(codes, weights=np.nansum(annotations, axis=1)) / counts
    return distinct, np.asarray(isotonic_regression(means, weights=counts).x, dtype=np.float64)
