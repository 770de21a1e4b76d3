"""Cross-validation: folds of whole groups, and coefficients over folds, averaged, pooled and by source."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.concordance import Floats

__all__ = [
    "Average",
    "Fold",
    "Partition",
    "Rows",
    "ScoresOf",
    "SourceAgreement",
    "Validated",
    "codes_of",
    "codes_of_groups",
    "cross_validate",
    "deal",
    "given",
    "joined",
    "leave_one_out",
]


# Which pairs a model is trained on and which it is tested on: folds of whole groups, one part left out at a time.

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
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)


def codes_of_groups(names: Iterable[Hashable]) -> Rows:
    """Return codes of named groups, shape (n,), in the order in which names first occur, and of pairs alone after them.

    Where nothing or an empty text stands for a name, the pair is a group of its own. The order decides which groups a
    resample draws: runs and all reports on them take it from here.
    """
    known: dict[Hashable, int] = {}
    codes = np.array(
        [-1 if name in (None, "") else known.setdefault(name, len(known)) for name in names], dtype=np.intp
    )
    alone = codes < 0
    codes[alone] = len(known) + np.arange(int(alone.sum()))
    return codes


def deal(codes: Rows, k: int, rng: np.random.Generator) -> list[Fold]:
    """Return k folds that test every pair once; pairs with one code are never on both sides.

    Codes are shuffled and dealt to folds of equally many of them, within one.

    Args:
        codes: shape (n,), integers: what must not be torn apart.
        k: number of folds.
        rng: shuffles.

    Raises:
        InputError: there are fewer codes than folds.
    """
    units = np.unique(codes)
    if len(units) < 2:
        raise InputError(f"`folds={k}`: there are too few pairs or groups that differ ({len(units)}; at least 2)")
    if not 2 <= k <= len(units):
        raise InputError(f"`folds={k}`: expected 2 to {len(units):,}, the number of pairs or groups that differ")
    found = []
    for number, chosen in enumerate(np.array_split(rng.permutation(units), k), 1):
        inside = np.isin(codes, chosen)
        found.append(Fold(f"fold {number}", np.flatnonzero(~inside), np.flatnonzero(inside)))
    return found


def leave_one_out(values: Sequence[str], codes: Rows) -> list[Fold]:
    """Return a fold for each value: its pairs are tested, all others trained on.

    A pair that shares its code with a tested one is not trained on there.

    Args:
        values: such as the source of each pair, n of them.
        codes: shape (n,), integers: what must not be on both sides.
    """
    held = codes_of(values)
    found = []
    for place, value in enumerate(dict.fromkeys(values)):
        inside = held == place
        found.append(Fold(value, np.flatnonzero(~inside & ~np.isin(codes, codes[inside])), np.flatnonzero(inside)))
    return found


def joined(first: Rows, second: Rows) -> Rows:
    """Return codes under which pairs that share a code of either stay together, shape (n,).

    These are the connected components of the graph whose nodes are the codes and whose edges are the pairs.

    Args:
        first: codes, shape (n,), integers.
        second: others, shape (n,).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    one, other = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    other = other + len(one)
    size = 2 * len(one)
    _, components = connected_components(coo_array((np.ones(len(one)), (one, other)), shape=(size, size)), False)
    return components[one].astype(np.intp)


# Coefficients over folds: their average beside the pooled one, and source by source.
#
# Source: Abdalla, Vishnubhotla & Mohammad (2023), What Makes Sentences Semantically Related?, section 6, tables 5 and
# 6.

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
        folds: of each fold, its name and what was found there, with the reason where it is undefined.
    """

    value: float | None
    deviation: float | None
    folds: tuple[tuple[str, Estimate], ...]

    @classmethod
    def of(cls, folds: Sequence[tuple[str, Estimate]]) -> Average:
        """Average the coefficient over named folds."""
        defined = [one.value for _, one in folds if one.value is not None]
        mean = float(np.mean(defined)) if defined else None
        return cls(mean, float(np.std(defined, ddof=1)) if len(defined) > 1 else None, tuple(folds))

    @property
    def undefined(self) -> dict[str, str]:
        """Folds in which the coefficient is undefined, and why."""
        return {name: one.note for name, one in self.folds if one.value is None}


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
    """What came of one method.

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


def given(scores: Floats) -> ScoresOf:
    """Return a method without training: the scores that are there, shape (n,), whatever was trained on."""
    return lambda train, test: scores[test]


def cross_validate(labels: Floats, partition: Partition, scores_of: ScoresOf, statistics: Sequence[str]) -> Validated:
    """Hold the scores of pairs that were not trained on against their labels.

    Args:
        labels: shape (n,), finite.
        partition: who is trained on and tested.
        scores_of: trains on some rows and scores others; called once a fold, then once a source left out.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.

    Raises:
        ValueError: *scores_of* does not return one score a tested row.
    """
    tested = _held_out(len(labels), partition.folds, scores_of)
    alone = _held_out(len(labels), partition.left_out, scores_of)

    def found(scores: Floats, rows: Rows) -> list[Estimate]:
        return agreement(
            {"": scores[rows]}, labels[rows], statistics=statistics, resamples=0, confidence=0.95, seed=(0,)
        )

    def averages(parts: Sequence[tuple[str, Rows]]) -> dict[str, Average]:
        by_fold = [(name, found(tested, rows)) for name, rows in parts]
        return {
            statistic: Average.of([(name, estimates[place]) for name, estimates in by_fold])
            for place, statistic in enumerate(statistics)
        }

    sources = [
        SourceAgreement(
            name,
            len(rows),
            averages([(fold.name, np.intersect1d(fold.test, rows)) for fold in partition.folds]),
            {one.statistic: one for one in found(alone, rows)},
        )
        for name, rows in partition.sources.items()
    ]
    return Validated(
        averages([(fold.name, fold.test) for fold in partition.folds]),
        {one.statistic: one for one in found(tested, np.arange(len(labels)))},
        tuple(sources),
        len(labels),
        int(np.count_nonzero(~np.isfinite(tested))),
    )


def _held_out(n: int, folds: Sequence[Fold], scores_of: ScoresOf) -> Floats:
    """Return the score of each pair from the fold that tests it, shape (n,), NaN where none does."""
    scores = np.full(n, np.nan)
    for fold in folds:
        returned = np.asarray(scores_of(fold.train, fold.test), dtype=np.float64)
        if returned.shape != fold.test.shape:
            raise ValueError(f"{fold.name}: {returned.shape} scores for {len(fold.test)} pairs")
        scores[fold.test] = returned
    return scores
