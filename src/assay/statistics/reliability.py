"""The reliability of mean labels, from how far annotators agree with each other, and what it allows a metric."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

#: The number of random splits, as in Abdalla, Vishnubhotla & Mohammad (2023).
SPLITS = 1000
#: The largest product of pairs and splits: on large data a few splits are as accurate as many.
BUDGET = 5_000_000
#: The number of mean labels of halves that are correlated at a time.
BLOCK = 100_000
#: From this many pairs on, labels that are all ascending, or all descending, count as sorted on purpose.
FEWEST_SORTED = 20
#: The fewest annotators who can be in camps of equal size, and the folds in which the best halves are found.
FEWEST_IN_CAMPS, FOLDS = 4, 5
#: The number of standard errors by which some halves must share more than halves on average, to tell camps from chance.
CAMPS_EXCESS = 3.0


@dataclass(frozen=True)
class Reliability:
    """The split-half reliability of the mean label: the share of its variance that is not noise of the annotators.

    Attributes:
        pearson: the covariance of halves over the variance of the mean label, in (0, 1], see :meth:`Halves.shared`;
            None if the covariance is not positive, since such labels have no reliability.
        spearman: the same for ranks, approximately: the mean over the splits of the rank correlation of the halves,
            stepped up to the mean label, times the ratio of *pearson* to what r gives by that way.
        annotators: the number of columns of the annotations; no pair has more labels.
        n: the number of pairs that have at least two labels.
        splits: the number of splits.
        lengths: the lengths of the first half, the second half and the whole; see :class:`Halves`.
        bound_pearson, bound_spearman: the highest correlation that a metric can have with the mean label; see
            :func:`upper_bound`.
    """

    pearson: float | None
    spearman: float | None
    annotators: int
    n: int
    splits: int
    lengths: tuple[float, float, float]
    bound_pearson: float | None
    bound_spearman: float | None


def upper_bound(reliability: float | None) -> float | None:
    """Return the highest correlation that a metric can have with labels of a reliability: its square root.

    A metric that gave the expected label of each pair would reach it, since the labels differ from that by the
    annotators' noise alone; no other function of the texts correlates more. In a sample, a metric may exceed it by
    chance. Source: Spearman, The Proof and Measurement of Association between Two Things (1904).

    Args:
        reliability: the reliability of the labels, in [0, 1]; None if unknown, for which None is returned.
    """
    return None if reliability is None else math.sqrt(reliability)


def split_half_reliability(annotations: Floats, *, splits: int | None = None, seed: int = 0) -> Reliability | None:
    """Return the reliability of the mean labels, from what two halves of the labels share.

    The covariance of two halves is the variance of what both measure, whatever the noise in each: unlike their
    correlation, it needs no annotators who are equally noisy.

    Sources: Cronbach, Coefficient Alpha and the Internal Structure of Tests (1951), whose coefficient is the mean
    covariance of halves of annotators over the variance of the mean label; Guttman, A Basis for Analyzing Test-retest
    Reliability (1945), lambda 4, for the halves that share most. For ranks: Spearman (1910), Brown (1910) and Horst
    (1951) for the step-up; Abdalla, Vishnubhotla & Mohammad (2023), section 3.3, for the mean over random splits.

    Args:
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
        splits: the number of splits, see :meth:`Halves.draw`; by default 1,000, for large data fewer but at least 50.
        seed: the seed of the splits.

    Returns:
        The reliability; None if fewer than three pairs have two labels.
    """
    # imported only here, since showing help imports this module
    from scipy.stats import rankdata

    halves = Halves.of(annotations)
    if halves is None:
        return None
    n = len(halves.annotations)
    pearson: list[float] = []
    spearman: list[float] = []
    mean_pairs = halves.draw(splits or _default_splits(n), np.random.default_rng(seed))
    while block := list(itertools.islice(mean_pairs, max(1, BLOCK // n))):
        first, second = (np.column_stack(means) for means in zip(*block, strict=True))
        pearson += _column_correlations(first, second).tolist()
        spearman += _column_correlations(rankdata(first, axis=0), rankdata(second, axis=0)).tolist()
    shared, squares = halves.shared()
    by_covariance = halves.reliability(float(shared.mean()), float(squares.mean()))
    by_rank = halves.reliability_of_ranks(by_covariance, pearson, spearman)
    return Reliability(
        pearson=by_covariance,
        spearman=by_rank,
        annotators=annotations.shape[1],
        n=n,
        splits=len(pearson),
        lengths=halves.lengths,
        bound_pearson=upper_bound(by_covariance),
        bound_spearman=upper_bound(by_rank),
    )


def _default_splits(n: int) -> int:
    """Return the number of splits of n pairs: fewer for large data."""
    return max(50, min(SPLITS, BUDGET // n))


def _column_correlations(first: Floats, second: Floats) -> Floats:
    """Return Pearson's r of each column of one array with that of the other, shape (b,); NaN if one is constant.

    Args:
        first, second: arrays of shape (n, b).
    """
    constant = (np.ptp(first, axis=0) == 0) | (np.ptp(second, axis=0) == 0)
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
        correlations = (first * second).sum(axis=0) / lengths
    result: Floats = np.where(constant, np.nan, np.clip(correlations, -1, 1))
    return result


def are_means(labels: Floats, annotations: Floats) -> bool:
    """Tell whether labels are the means of annotations up to the scale, so that the reliability is that of the labels.

    The scale may be a falling one. Labels, or means, that are all equal count as such. Pairs without annotations are
    left out; at least one must have some.

    Args:
        labels: the labels, shape (n,), finite.
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label.
    """
    is_annotated = ~np.isnan(annotations)
    has_label = is_annotated.any(axis=1)
    means = _mean_labels(annotations[has_label], is_annotated[has_label])
    centred = labels[has_label] - labels[has_label].mean()
    expected = means - means.mean()
    # the residual of a line through both; 10⁻⁶ for labels that were rounded when they were written
    explained = float((centred * expected).sum()) ** 2
    return explained >= (1 - 1e-6) * float((centred**2).sum() * (expected**2).sum())


@dataclass(frozen=True, eq=False)
class Halves:
    """The labels of the n pairs that have at least two, and the ways to halve them.

    If each annotator labelled every pair, the annotators are halved: one who is more generous than others moves all
    labels of a half alike, which is not noise. Else the labels of each pair are halved at random.

    Attributes:
        annotations: the labels of these pairs, shape (n, annotators), NaN for a missing label.
        rows: True for each of these pairs among all pairs, shape (all pairs,).
        lengths: how many labels of each pair the first half, the second half and the whole have: harmonic means over
            the pairs. The noise of a mean of k labels has a variance proportional to 1 / k, so that it is the mean of
            1 / k that counts. Of pairs with three labels that are halved at random, both halves have length 4 / 3.
        are_annotators: whether the columns are annotators, and are halved; else the labels of each pair are.
    """

    annotations: Floats
    rows: NDArray[np.bool_]
    lengths: tuple[float, float, float]
    are_annotators: bool

    @classmethod
    def of(cls, annotations: Floats) -> Halves | None:
        """Return the halves of annotations, shape (pairs, annotators); None if fewer than three pairs can be halved."""
        counts = np.count_nonzero(~np.isnan(annotations), axis=1)
        rows = counts >= 2
        if np.count_nonzero(rows) < 3:
            return None
        smaller = counts[rows] // 2
        larger = counts[rows] - smaller
        # the columns of labels that are sorted hold the lowest label of each pair, not those of one annotator
        are_annotators = not (np.isnan(annotations).any() or are_sorted(annotations))
        if are_annotators:
            lengths = float(smaller[0]), float(larger[0]), float(annotations.shape[1])
        else:
            half = _harmonic_mean(np.concatenate([smaller, larger]))
            # the mean label of a pair with one label counts, though it cannot be halved
            lengths = half, half, _harmonic_mean(counts[counts > 0])
        return cls(annotations[rows], rows, lengths, are_annotators)

    def draw(self, splits: int, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
        """Yield the mean labels of both halves, each of shape (n,), for about *splits* splits.

        Args:
            splits: the number of random splits; annotators that have at most as many divisions (twice as many if their
                number is odd) are divided in each way once instead.
            rng: the generator that draws the splits.
        """
        is_annotated = ~np.isnan(self.annotations)
        if not self.are_annotators:
            for _ in range(splits):
                first = random_halves(is_annotated, rng)
                yield _mean_labels(self.annotations, first), _mean_labels(self.annotations, is_annotated & ~first)
            return
        for columns in _halves_of_columns(is_annotated.shape[1], splits, rng):
            yield self.annotations[:, columns].mean(axis=1), self.annotations[:, ~columns].mean(axis=1)

    def shared(self) -> tuple[Floats, Floats]:
        """Return for each pair the product of what two halves of its labels say, and the square of its mean label.

        Both are of shape (n,) and relative to the means over the pairs. The mean product over the mean square is the
        reliability of the mean labels, whatever the noise of each annotator. The product is the mean over all halves
        of the labels. If annotators are in camps, halves that mix them unequally share too little; if some halves of
        annotators share more than halves on average by :data:`CAMPS_EXCESS` standard errors, the product is that of
        those halves that share most on other pairs. Halves of equal size never share more than all annotators do.
        """
        is_annotated = ~np.isnan(self.annotations)
        if self.are_annotators:
            values = self.annotations - self.annotations.mean(axis=0)
        else:
            values = self.annotations - _mean_labels(self.annotations, is_annotated).mean()
        counts, values = is_annotated.sum(axis=1), np.where(is_annotated, values, 0.0)
        totals = values.sum(axis=1)
        product: Floats = (totals**2 - (values**2).sum(axis=1)) / (counts * (counts - 1))
        squares: Floats = (totals / counts) ** 2
        if self.are_annotators and is_annotated.shape[1] >= FEWEST_IN_CAMPS:
            largest = _largest_products(values, _default_splits(len(values)))
            excess = largest - product
            if excess.mean() > CAMPS_EXCESS * excess.std() / math.sqrt(len(excess)):
                product = largest
        return product, squares

    def reliability(self, covariance: float, variance: float) -> float | None:
        """Return the reliability of the mean labels of all pairs, in (0, 1], from those with two labels or more.

        Args:
            covariance: what halves of the labels of these pairs share.
            variance: the variance of their mean labels.

        Returns:
            The reliability; None unless both are positive.
        """
        if not (covariance > 0 and variance > 0):
            return None
        own_length = _harmonic_mean(np.count_nonzero(~np.isnan(self.annotations), axis=1))
        return spearman_brown(min(covariance / variance, 1.0), self.lengths[2] / own_length)

    def reliability_of_ranks(
        self, by_covariance: float | None, pearson: Sequence[float], spearman: Sequence[float]
    ) -> float | None:
        """Return the reliability of the ranks of the mean labels, in (0, 1], from correlations of halves.

        The step-up of a correlation takes annotators as equally noisy. It is corrected by what that does to r, for
        which the result is known.

        Args:
            by_covariance: the reliability for r.
            pearson, spearman: both correlations of each split; undefined ones, NaN, are left out.

        Returns:
            The reliability; None if that for r is undefined, or a mean correlation is not above 0.
        """
        stepped_up = []
        for correlations in (pearson, spearman):
            defined = [value for value in correlations if not np.isnan(value)]
            mean = float(np.mean(defined)) if defined else 0.0
            stepped_up.append(step_up(mean, *self.lengths) if mean > 0 else None)
        by_r, by_rank = stepped_up
        if by_covariance is None or by_r is None or by_rank is None:
            return None
        return min(by_rank * by_covariance / by_r, 1.0)


def are_sorted(annotations: Floats) -> bool:
    """Tell whether the labels of each pair are sorted, so that the first one is the lowest (or highest).

    The result is False for fewer than :data:`FEWEST_SORTED` pairs with two labels, which may be sorted by chance.

    Args:
        annotations: the labels, shape (pairs, annotators), NaN for a missing label.
    """
    label_counts = np.count_nonzero(~np.isnan(annotations), axis=1)
    steps = np.diff(annotations, axis=1)
    steps = steps[~np.isnan(steps)]
    is_monotonic = bool((steps >= 0).all() or (steps <= 0).all())
    # a few pairs may be sorted by chance
    return int((label_counts >= 2).sum()) >= FEWEST_SORTED and is_monotonic


def _halves_of_columns(columns: int, random_divisions: int, rng: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    """Yield masks of the columns in the smaller half, shape (columns,).

    Args:
        columns: the number of columns.
        random_divisions: the number of random divisions; if choosing the smaller half has at most twice as many
            results, every division comes once instead.
        rng: the generator that draws random divisions.
    """
    size = columns // 2
    choices = math.comb(columns, size)
    halves: Iterable[Sequence[int]]
    if choices <= 2 * random_divisions:
        # of an even number of columns, the second half of the choices are the first ones with the halves exchanged
        divisions = choices // 2 if columns % 2 == 0 else choices
        halves = itertools.islice(itertools.combinations(range(columns), size), divisions)
    else:
        halves = (rng.permutation(columns)[:size].tolist() for _ in range(random_divisions))
    for half in halves:
        mask = np.zeros(columns, dtype=bool)
        mask[list(half)] = True
        yield mask


def _largest_products(values: Floats, splits: int) -> Floats:
    """Return the product of two halves of the annotators for each pair, of those halves that share most on other pairs.

    Found on the same pairs, such halves would seem to share more than they do. Of an odd number of annotators each one
    is left out in turn, and the product is the mean: in unequal halves those who use more of the scale weigh too much.

    Args:
        values: the labels relative to the mean of each annotator, shape (n, annotators).
        splits: the largest number of divisions to choose from.
    """
    n, annotators = values.shape
    if annotators % 2:
        without_each = [np.delete(values, column, axis=1) for column in range(annotators)]
        products: Floats = np.mean(
            [_largest_products(remaining_values, splits) for remaining_values in without_each], axis=0
        )
        return products
    rng = np.random.default_rng(0)
    masks = np.array(list(_halves_of_columns(annotators, splits, rng)))
    firsts, seconds = (side / (annotators / 2) for side in (masks, ~masks))
    folds = rng.permutation(n) % FOLDS
    products = np.empty(n)
    for fold in range(FOLDS):
        values_outside = values[folds != fold]
        shared = np.einsum("si,ij,sj->s", firsts, values_outside.T @ values_outside, seconds, optimize=True)
        best = int(np.argmax(shared))
        held_out = values[folds == fold]
        products[folds == fold] = (held_out @ firsts[best]) * (held_out @ seconds[best])
    return products


def _mean_labels(annotations: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """Return the mean of the chosen labels of each pair, shape (n,).

    Args:
        annotations: the labels, shape (n, annotators), NaN for a missing label.
        chosen: True for each label to average, at least one per pair, in the same shape.
    """
    means: Floats = np.where(chosen, annotations, 0).sum(axis=1) / chosen.sum(axis=1)
    return means


def random_halves(is_annotated: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a mask of the entries of each row that fall into the first of two random halves, shape (rows, entries).

    Of an odd number of entries either half may take one more than the other.

    Args:
        is_annotated: True for each entry that exists, shape (rows, entries).
        rng: the generator that draws the halves.
    """
    # missing entries get the highest ranks
    random_ranks = np.argsort(np.argsort(np.where(is_annotated, rng.random(is_annotated.shape), 2.0), axis=1), axis=1)
    sizes = is_annotated.sum(axis=1)
    gets_the_odd_entry = rng.integers(2, size=len(sizes)) * (sizes % 2)
    first_sizes = (sizes + gets_the_odd_entry) // 2
    first: NDArray[np.bool_] = random_ranks < first_sizes[:, None]
    return first


def _harmonic_mean(counts: NDArray[np.intp]) -> float:
    return float(1 / np.mean(1 / counts))


def relative_length(counts: Floats, half_counts: Floats) -> float:
    """Return how much longer means of *counts* values are than means of *half_counts*, by harmonic means.

    Args:
        counts: the number of values behind each mean, all above 0.
        half_counts: the number of values behind the mean of each half, all above 0.
    """
    return float(np.mean(1 / half_counts) / np.mean(1 / counts))


def spearman_brown(correlation: float, times: float = 2.0) -> float:
    """Return the reliability that a measurement would have at *times* its length (Spearman 1910, Brown 1910).

    Args:
        correlation: the correlation of two parallel measurements, above -1 / (times - 1).
        times: the factor of the length; 2 steps up from a half to the whole.
    """
    return times * correlation / (1 + (times - 1) * correlation)


def step_up(correlation: float, first: float, second: float, whole: float) -> float:
    """Return the reliability of a mean of *whole* labels from the correlation of means of *first* and *second* labels.

    A mean of k labels has the reliability 1 / (1 + x / k), x being the variance of one label's noise over that of the
    true score, and two means correlate by the geometric mean of their reliabilities. This is solved for x. For equal
    halves it is the formula of Spearman (1910) and Brown (1910), for halves that add up to the whole that of Horst,
    Estimating Total Test Reliability from Parts of Unequal Length (1951).

    Args:
        correlation: the correlation of the two means, in (0, 1].
        first, second, whole: the numbers of labels, or harmonic means of them, above 0.
    """
    # (1 + x / first) (1 + x / second) = 1 / correlation²
    linear = 1 / first + 1 / second
    quadratic = 1 / (first * second)
    excess = 1 / correlation**2 - 1
    noise = 2 * excess / (linear + math.sqrt(linear**2 + 4 * quadratic * excess))
    return 1 / (1 + noise / whole)
