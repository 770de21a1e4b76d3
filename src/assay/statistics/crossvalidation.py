"""Cross-validation: folds of whole groups, and coefficients over folds, averaged, pooled and by source.

Source: Abdalla, Vishnubhotla & Mohammad (2023), What Makes Sentences Semantically Related?, section 6, tables 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.coefficients import CLASS_MEASURES
from assay.statistics.concordance import Floats
from assay.statistics.decisions import class_measures

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of n pairs.

    Attributes:
        name: the name of the tested pairs in messages, such as ``fold 2``.
        train: the rows to train or tune on, ascending.
        test: the rows to test on, ascending; none of them in *train*.
    """

    name: str
    train: Rows
    test: Rows


def codes_of(keys: Iterable[Hashable]) -> Rows:
    """Return one code per key, numbered from 0 in the order of first occurrence, shape (n,)."""
    code_of: dict[Hashable, int] = {}
    return np.array([code_of.setdefault(key, len(code_of)) for key in keys], dtype=np.intp)


def codes_of_groups(names: Iterable[Hashable]) -> Rows:
    """Return codes of named groups, shape (n,), in the order in which names first occur; pairs without a name follow.

    A pair whose name is None or empty is a group of its own. The order decides which groups a resample draws: runs and
    all reports on them take it from here.
    """
    code_of: dict[Hashable, int] = {}
    named_codes = []
    for name in names:
        is_single = name in (None, "")
        # -1 until the number of names is known
        named_codes.append(-1 if is_single else code_of.setdefault(name, len(code_of)))
    codes = np.array(named_codes, dtype=np.intp)
    is_unnamed = codes < 0
    codes[is_unnamed] = len(code_of) + np.arange(int(is_unnamed.sum()))
    return codes


def make_folds(codes: Rows, k: int, rng: np.random.Generator) -> list[Fold]:
    """Return k folds that test every pair once; pairs with the same code are never on both sides.

    Codes are shuffled and divided among the folds; the numbers of codes of two folds differ by at most one.

    Args:
        codes: the code of each pair, shape (n,); pairs with the same code stay together.
        k: the number of folds.
        rng: the random generator that shuffles the codes.

    Raises:
        InputError: there are fewer than two distinct codes, or *k* is not between 2 and their number.
    """
    distinct = np.unique(codes)
    if len(distinct) < 2:
        raise InputError(
            f"there are too few pairs or groups that differ ({len(distinct)}; at least 2)", setting="folds", value=k
        )
    if not 2 <= k <= len(distinct):
        raise InputError(
            f"expected 2 to {len(distinct):,}, the number of pairs or groups that differ", setting="folds", value=k
        )
    folds = []
    for number, tested_codes in enumerate(np.array_split(rng.permutation(distinct), k), 1):
        is_tested = np.isin(codes, tested_codes)
        folds.append(Fold(f"fold {number}", np.flatnonzero(~is_tested), np.flatnonzero(is_tested)))
    return folds


def leave_one_value_out(values: Sequence[str], codes: Rows) -> list[Fold]:
    """Return one fold per value, which tests the pairs with that value and trains on all others.

    The folds are named by their values, in the order of first occurrence. A pair that shares its code with a tested
    pair is left out of the training rows of that fold, which may have none.

    Args:
        values: the value of each pair, such as its source, n strings.
        codes: the code of each pair, shape (n,); pairs with the same code are never on both sides.
    """
    value_codes = codes_of(values)
    folds = []
    for value_code, value in enumerate(dict.fromkeys(values)):
        is_tested = value_codes == value_code
        shares_a_code = np.isin(codes, codes[is_tested])
        folds.append(Fold(value, np.flatnonzero(~is_tested & ~shares_a_code), np.flatnonzero(is_tested)))
    return folds


def join_codes(first: Rows, second: Rows) -> Rows:
    """Return joint codes, shape (n,): pairs that share their first or their second code have the same joint code.

    So have pairs that are linked through other pairs: the joint codes number the connected components of the graph
    whose nodes are the codes and whose edges are the pairs.

    Args:
        first: the first code of each pair, shape (n,), such as the code of its source.
        second: the second code of each pair, shape (n,).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(first)
    first_nodes = np.unique(first, return_inverse=True)[1]
    # the second codes are numbered after all possible first codes, so that no node is shared by accident
    second_nodes = np.unique(second, return_inverse=True)[1] + n
    edges = coo_array((np.ones(n), (first_nodes, second_nodes)), shape=(2 * n, 2 * n))
    _, components = connected_components(edges, directed=False)
    return components[first_nodes].astype(np.intp)


# Coefficients over folds.

#: A function of the training rows and the tested rows that returns one score per tested row, NaN for no score.
ScoresOf = Callable[[Rows, Rows], Floats]


@dataclass(frozen=True, eq=False)
class Partition:
    """A division of n pairs into folds and sources.

    Attributes:
        folds: folds that together test every pair once.
        sources: the rows of each source by name; empty if sources are not distinguished.
        left_out: one fold per source that trains on the other sources, named as in *sources*.
    """

    folds: Sequence[Fold]
    sources: Mapping[str, Rows]
    left_out: Sequence[Fold]


@dataclass(frozen=True)
class Average:
    """One coefficient over folds.

    Attributes:
        value: the mean over the folds in which the coefficient is defined, in [-1, 1]; None if there are none.
        deviation: the standard deviation over these folds (n - 1); None for fewer than two.
        folds: the name of each fold with its estimate, whose note says why it is undefined.
    """

    value: float | None
    deviation: float | None
    folds: tuple[tuple[str, Estimate], ...]

    @classmethod
    def of_folds(cls, folds: Sequence[tuple[str, Estimate]]) -> Average:
        """Return the average of a coefficient over folds, given as the name and the estimate of each."""
        defined = [estimate.value for _, estimate in folds if estimate.value is not None]
        mean = float(np.mean(defined)) if defined else None
        deviation = float(np.std(defined, ddof=1)) if len(defined) > 1 else None
        return cls(mean, deviation, tuple(folds))

    @property
    def undefined(self) -> dict[str, str]:
        """The reason why the coefficient is undefined, by name of each fold in which it is."""
        return {name: estimate.note for name, estimate in self.folds if estimate.value is None}


@dataclass(frozen=True)
class SourceAgreement:
    """The agreement of one method on one source.

    Attributes:
        name: the name of the source.
        n: the number of its pairs, with or without a score.
        tested: for each statistic, the average over folds of the coefficient on the source's tested pairs.
        left_out: for each statistic, the coefficient on all pairs of the source, without training on any of them.
    """

    name: str
    n: int
    tested: dict[str, Average]
    left_out: dict[str, Estimate]


@dataclass(frozen=True)
class CrossValidated:
    """The agreement of one method.

    Attributes:
        average: for each statistic, the average over the folds.
        pooled: for each statistic, the coefficient on the pooled scores of all folds.
        sources: the agreement on each source, in the order of the partition.
        n: the number of pairs.
        missing: the number of pairs without a score, which coefficients leave out.
    """

    average: dict[str, Average]
    pooled: dict[str, Estimate]
    sources: tuple[SourceAgreement, ...]
    n: int
    missing: int


def lookup_of_scores(scores: Floats) -> ScoresOf:
    """Return a method that needs no training: a function that looks up the tested rows in scores of shape (n,)."""
    return lambda train, test: scores[test]


def cross_validate(
    labels: Floats, partition: Partition, scores_of: ScoresOf, statistics: Sequence[str]
) -> CrossValidated:
    """Return the agreement of scores with the labels of held-out pairs.

    Args:
        labels: the labels, shape (n,), finite.
        partition: the folds and sources of the pairs.
        scores_of: the method, a function of training rows and tested rows; called once per fold, then once per source.
        statistics: names from :data:`~assay.statistics.coefficients.STATISTICS`, or from CLASS_MEASURES alone.

    Raises:
        ValueError: *scores_of* does not return one score per tested row.
    """
    fold_scores = _held_out_scores(len(labels), partition.folds, scores_of)
    left_out_scores = _held_out_scores(len(labels), partition.left_out, scores_of)
    all_rows = np.arange(len(labels))
    sources = []
    for name, rows in partition.sources.items():
        tested = _averages_over_folds(fold_scores, labels, partition.folds, rows, statistics)
        left_out = _estimates_of_scores(left_out_scores[rows], labels[rows], statistics)
        sources.append(SourceAgreement(name, len(rows), tested, left_out))
    return CrossValidated(
        _averages_over_folds(fold_scores, labels, partition.folds, all_rows, statistics),
        _estimates_of_scores(fold_scores, labels, statistics),
        tuple(sources),
        len(labels),
        int(np.count_nonzero(~np.isfinite(fold_scores))),
    )


def _estimates_of_scores(scores: Floats, labels: Floats, statistics: Sequence[str]) -> dict[str, Estimate]:
    """Return the agreement of scores and labels, both of shape (n,), for each statistic, without intervals.

    For measures of decisions, scores and labels are class numbers.
    """
    if set(statistics) <= set(CLASS_MEASURES):
        return _measures_of_decisions(scores, labels, statistics)
    estimates = agreement({"": scores}, labels, statistics=statistics, resamples=0, confidence=0.95, seed=(0,))
    return {estimate.statistic: estimate for estimate in estimates}


def _measures_of_decisions(decided: Floats, classes: Floats, statistics: Sequence[str]) -> dict[str, Estimate]:
    """Return measures of decided and labelled class numbers, both of shape (n,), NaN where none was decided.

    All are undefined without a decision, and ``f1`` if there are other classes than 0 and 1.
    """
    rows = np.isfinite(decided)
    n = int(rows.sum())
    measures = class_measures(classes[rows].astype(np.int64), decided[rows].astype(np.int64)) if n else {}
    missing = "there are more than two classes" if n else "there is no decision"
    return {
        name: Estimate(measures.get(name), notes=() if name in measures else (missing,), metric="", statistic=name, n=n)
        for name in statistics
    }


def _averages_over_folds(
    scores: Floats, labels: Floats, folds: Sequence[Fold], rows: Rows, statistics: Sequence[str]
) -> dict[str, Average]:
    """Return the average of each statistic over folds, computed in each fold on its tested pairs among *rows*.

    Args:
        scores, labels: the scores and labels of n pairs, shape (n,).
        folds: the folds.
        rows: the indices of the pairs to count.
        statistics: the names of the coefficients.
    """
    estimates_by_statistic: dict[str, list[tuple[str, Estimate]]] = {statistic: [] for statistic in statistics}
    for fold in folds:
        tested_rows = np.intersect1d(fold.test, rows)
        for statistic, estimate in _estimates_of_scores(scores[tested_rows], labels[tested_rows], statistics).items():
            estimates_by_statistic[statistic].append((fold.name, estimate))
    return {statistic: Average.of_folds(estimates) for statistic, estimates in estimates_by_statistic.items()}


def _held_out_scores(n: int, folds: Sequence[Fold], scores_of: ScoresOf) -> Floats:
    """Return the score of each pair from the fold that tests it, shape (n,), NaN if no fold does.

    Raises:
        ValueError: *scores_of* does not return one score per tested row.
    """
    scores = np.full(n, np.nan)
    for fold in folds:
        fold_scores = np.asarray(scores_of(fold.train, fold.test), dtype=np.float64)
        if fold_scores.shape != fold.test.shape:
            raise ValueError(f"{fold.name}: {fold_scores.shape} scores for {len(fold.test)} pairs")
        scores[fold.test] = fold_scores
    return scores
