"""Cross-validation: folds of whole groups, and coefficients over folds, averaged, pooled and by source.

Source: Abdalla, Vishnubhotla & Mohammad (2023), What Makes Sentences Semantically Related?, section 6, tables 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.concordance import Floats

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fold:
    """One division of n pairs.

    Attributes:
        name: what messages call the pairs tested, such as ``fold 2``.
        train: rows to train or tune on, ascending.
        test: rows to test on, ascending; none of them in *train*.
    """

    name: str
    train: Rows
    test: Rows


def codes_of(keys: Iterable[Hashable]) -> Rows:
    """Return codes from 0 on that are equal where keys are, in the order in which keys first occur, shape (n,)."""
    code_of: dict[Hashable, int] = {}
    return np.array([code_of.setdefault(key, len(code_of)) for key in keys], dtype=np.intp)


def codes_of_groups(names: Iterable[Hashable]) -> Rows:
    """Return codes of named groups, shape (n,), in the order in which names first occur; pairs without a name follow.

    A pair whose name is None or empty is a group of its own. The order decides which groups a resample draws: runs and
    all reports on them take it from here.
    """
    code_of: dict[Hashable, int] = {}
    listed = []
    for name in names:
        unnamed = name in (None, "")
        listed.append(-1 if unnamed else code_of.setdefault(name, len(code_of)))
    codes = np.array(listed, dtype=np.intp)
    alone = codes < 0
    codes[alone] = len(code_of) + np.arange(int(alone.sum()))
    return codes


def make_folds(codes: Rows, k: int, rng: np.random.Generator) -> list[Fold]:
    """Return k folds that test every pair once; pairs with one code are never on both sides.

    Codes are shuffled and divided among the folds; the numbers of codes of two folds differ by at most one.

    Args:
        codes: shape (n,), integers: pairs with the same code stay together.
        k: number of folds.
        rng: shuffles the codes.

    Raises:
        InputError: there are fewer codes than folds.
    """
    units = np.unique(codes)
    if len(units) < 2:
        raise InputError(f"`folds={k}`: there are too few pairs or groups that differ ({len(units)}; at least 2)")
    if not 2 <= k <= len(units):
        raise InputError(f"`folds={k}`: expected 2 to {len(units):,}, the number of pairs or groups that differ")
    folds = []
    for number, tested_units in enumerate(np.array_split(rng.permutation(units), k), 1):
        is_tested = np.isin(codes, tested_units)
        folds.append(Fold(f"fold {number}", np.flatnonzero(~is_tested), np.flatnonzero(is_tested)))
    return folds


def leave_one_out(values: Sequence[str], codes: Rows) -> list[Fold]:
    """Return a fold for each value: its pairs are tested, all others trained on.

    A pair that shares its code with a tested one is not trained on there.

    Args:
        values: such as the source of each pair, n of them.
        codes: shape (n,), integers: what must not be on both sides.
    """
    value_codes = codes_of(values)
    folds = []
    for value_code, value in enumerate(dict.fromkeys(values)):
        is_tested = value_codes == value_code
        shares_a_code = np.isin(codes, codes[is_tested])
        folds.append(Fold(value, np.flatnonzero(~is_tested & ~shares_a_code), np.flatnonzero(is_tested)))
    return folds


def join_codes(first: Rows, second: Rows) -> Rows:
    """Return codes under which pairs that share a code of either stay together, shape (n,).

    These are the connected components of the graph whose nodes are the codes and whose edges are the pairs.

    Args:
        first: codes, shape (n,), integers.
        second: others, shape (n,).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(first)
    first_nodes = np.unique(first, return_inverse=True)[1]
    second_nodes = np.unique(second, return_inverse=True)[1] + n
    edges = coo_array((np.ones(n), (first_nodes, second_nodes)), shape=(2 * n, 2 * n))
    _, components = connected_components(edges, directed=False)
    return components[first_nodes].astype(np.intp)


# Coefficients over folds.

#: Takes the rows trained on and the rows tested; returns a score of each tested one, NaN where it has none.
ScoresOf = Callable[[Rows, Rows], Floats]


@dataclass(frozen=True, eq=False)
class Partition:
    """How n pairs are divided.

    Attributes:
        folds: test every pair once.
        sources: rows of each source, by name; empty where sources are not told apart.
        left_out: a fold for each source, which trains on the others; named as in *sources*.
    """

    folds: Sequence[Fold]
    sources: Mapping[str, Rows]
    left_out: Sequence[Fold]


@dataclass(frozen=True)
class Average:
    """One coefficient over folds.

    Attributes:
        value: mean over the folds in which it is defined, in [-1, 1]; None where it is in none.
        deviation: standard deviation over them (n - 1); None for fewer than two.
        folds: of each fold, its name and the estimate there, with the reason where it is undefined.
    """

    value: float | None
    deviation: float | None
    folds: tuple[tuple[str, Estimate], ...]

    @classmethod
    def of(cls, folds: Sequence[tuple[str, Estimate]]) -> Average:
        """Average the coefficient over named folds."""
        defined = [estimate.value for _, estimate in folds if estimate.value is not None]
        mean = float(np.mean(defined)) if defined else None
        return cls(mean, float(np.std(defined, ddof=1)) if len(defined) > 1 else None, tuple(folds))

    @property
    def undefined(self) -> dict[str, str]:
        """Folds in which the coefficient is undefined, and why."""
        return {name: estimate.note for name, estimate in self.folds if estimate.value is None}


@dataclass(frozen=True)
class SourceAgreement:
    """One source.

    Attributes:
        name: of the source.
        n: its pairs, with or without a score.
        tested: by statistic, average over the folds of the coefficient on the source's pairs in that fold.
        left_out: by statistic, the coefficient on all pairs of the source, scored without training on any of them.
    """

    name: str
    n: int
    tested: dict[str, Average]
    left_out: dict[str, Estimate]


@dataclass(frozen=True)
class Validated:
    """The agreement of one method.

    Attributes:
        average: by statistic, over the folds.
        pooled: by statistic, on the tested scores of all folds together.
        sources: in the order of the partition.
        n: pairs.
        missing: pairs that were tested and have no score; coefficients leave them out.
    """

    average: dict[str, Average]
    pooled: dict[str, Estimate]
    sources: tuple[SourceAgreement, ...]
    n: int
    missing: int


def recorded_scores(scores: Floats) -> ScoresOf:
    """Return a method that needs no training: it looks up scores of shape (n,), whatever was trained on."""
    return lambda train, test: scores[test]


def cross_validate(labels: Floats, partition: Partition, scores_of: ScoresOf, statistics: Sequence[str]) -> Validated:
    """Return how far scores agree with the labels of pairs that were not trained on.

    Args:
        labels: shape (n,), finite.
        partition: who is trained on and tested.
        scores_of: trains on some rows and scores others; called once a fold, then once a source left out.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.

    Raises:
        ValueError: *scores_of* does not return one score a tested row.
    """
    fold_scores = _held_out_scores(len(labels), partition.folds, scores_of)
    left_out_scores = _held_out_scores(len(labels), partition.left_out, scores_of)
    all_rows = np.arange(len(labels))
    sources = []
    for name, rows in partition.sources.items():
        tested = _averages(fold_scores, labels, partition.folds, rows, statistics)
        left_out = _estimates(left_out_scores[rows], labels[rows], statistics)
        sources.append(SourceAgreement(name, len(rows), tested, left_out))
    return Validated(
        _averages(fold_scores, labels, partition.folds, all_rows, statistics),
        _estimates(fold_scores, labels, statistics),
        tuple(sources),
        len(labels),
        int(np.count_nonzero(~np.isfinite(fold_scores))),
    )


def _estimates(scores: Floats, labels: Floats, statistics: Sequence[str]) -> dict[str, Estimate]:
    """Return by statistic how far scores agree with labels, both of shape (n,), without an interval."""
    estimates = agreement({"": scores}, labels, statistics=statistics, resamples=0, confidence=0.95, seed=(0,))
    return {estimate.statistic: estimate for estimate in estimates}


def _averages(
    scores: Floats, labels: Floats, folds: Sequence[Fold], rows: Rows, statistics: Sequence[str]
) -> dict[str, Average]:
    """Return by statistic its average over folds, of each of which only the tested pairs among *rows* count."""
    folds_of: dict[str, list[tuple[str, Estimate]]] = {statistic: [] for statistic in statistics}
    for fold in folds:
        tested = np.intersect1d(fold.test, rows)
        for statistic, estimate in _estimates(scores[tested], labels[tested], statistics).items():
            folds_of[statistic].append((fold.name, estimate))
    return {statistic: Average.of(estimates) for statistic, estimates in folds_of.items()}


def _held_out_scores(n: int, folds: Sequence[Fold], scores_of: ScoresOf) -> Floats:
    """Return the score of each pair from the fold that tests it, shape (n,), NaN where none does."""
    scores = np.full(n, np.nan)
    for fold in folds:
        returned = np.asarray(scores_of(fold.train, fold.test), dtype=np.float64)
        if returned.shape != fold.test.shape:
            raise ValueError(f"{fold.name}: {returned.shape} scores for {len(fold.test)} pairs")
        scores[fold.test] = returned
    return scores
