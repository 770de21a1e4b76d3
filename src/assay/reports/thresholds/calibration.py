"""Calibration: whether a score can be read as a probability, and isotonic regression, which makes it one.

The expected calibration error is above 0 by chance alone, so it is compared with what a correct model would show: the
same pairs with labels drawn anew from the probabilities, whole groups of pairs together, and with the isotonic
regression fitted to the drawn labels where one was fitted to the true ones.

Sources: Naeini et al., Obtaining Well Calibrated Probabilities Using Bayesian Binning (2015), for the error; Nguyen &
O'Connor, Posterior Calibration and Exploratory Analysis (2015), for bins of equal counts; Zadrozny & Elkan,
Transforming Classifier Scores into Accurate Multiclass Probability Estimates (2002), for isotonic regression; Bröcker &
Smith, Increasing the Reliability of Reliability Diagrams (2007), for draws from the probabilities; Cameron, Gelbach &
Miller, Bootstrap-Based Improvements for Inference with Clustered Errors (2008), for draws of whole groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import Rows

#: Bins of the reliability curve.
BINS = 10
#: Draws of labels that a correct model would have seen.
DRAWS = 500
#: Share of correct models whose error stays below the limit.
LEVEL = 0.95


@dataclass(frozen=True)
class Bin:
    """Pairs with near probabilities: how many, mean probability, share of yes."""

    n: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class Calibration:
    """How far probabilities are to be believed.

    Attributes:
        bins: the reliability curve; bins hold equally many pairs as far as equal probabilities stay together.
        error: expected calibration error, in [0, 1]: mean distance of predicted and observed, weighted by pairs.
        expected: that error for a correct model, on average.
        limit: 95 % of correct models stay below this; an error below it is no sign of bad calibration.
        brier: mean squared distance of probability and truth, in [0, 1].
    """

    bins: list[Bin]
    error: float
    expected: float
    limit: float
    brier: float


def fit_isotonic(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return distinct scores and the probability of yes at each, never falling: isotonic regression.

    Between two scores the probability is interpolated, beyond the ends it stays.

    Args:
        scores: shape (n,), finite.
        positive: shape (n,).
    """
    regression = _Isotonic.of(scores)
    return regression.distinct, regression.fit(positive)


@dataclass(frozen=True)
class _Isotonic:
    """Scores sorted once, so that isotonic regression can be fitted to any labels.

    Attributes:
        distinct: the distinct scores, ascending, shape (k,).
        codes: which of them each pair has, shape (n,).
        counts: pairs with each, shape (k,).
    """

    distinct: Floats
    codes: Rows
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, scores: Floats) -> _Isotonic:
        """Sort finite scores of shape (n,)."""
        return cls(*np.unique(scores, return_inverse=True, return_counts=True))

    def fit(self, labels: NDArray[np.bool_] | Floats) -> Floats:
        """Return the regression of labels of shape (n,) at the distinct scores, shape (k,)."""
        from scipy.optimize import isotonic_regression

        shares = np.bincount(self.codes, weights=labels) / self.counts
        return np.asarray(isotonic_regression(shares, weights=self.counts).x, dtype=np.float64)


@dataclass(frozen=True)
class IsotonicPart:
    """One part of the pairs to calibrate on, and one to test on.

    Attributes:
        tune: rows to fit on.
        test: rows whose probability is wanted.
        regression: the scores of *tune*.
        tested_scores: those of *test*.
    """

    tune: Rows
    test: Rows
    regression: _Isotonic
    tested_scores: Floats


@dataclass(frozen=True)
class IsotonicModel:
    """Isotonic regressions that together give every tested pair a probability, for any labels to fit them to.

    Attributes:
        tuned_scores: of the pairs that rows to tune on are of, shape (m,).
        tested_scores: of the pairs tested, shape (n,).
        parts: whose test rows together hold every tested pair once.
        same: whether the pairs tuned on and tested are the same ones.
    """

    tuned_scores: Floats
    tested_scores: Floats
    parts: Sequence[IsotonicPart]
    same: bool

    @classmethod
    def of(
        cls, tuned_scores: Floats, tested_scores: Floats, rows: Sequence[tuple[Rows, Rows]], same: bool
    ) -> IsotonicModel:
        """Sort the scores of each part, given by rows to tune on and rows to test on."""
        parts = [IsotonicPart(tune, test, _Isotonic.of(tuned_scores[tune]), tested_scores[test]) for tune, test in rows]
        return cls(tuned_scores, tested_scores, parts, same)

    def probabilities(self, tuned_labels: NDArray[np.bool_] | Floats) -> Floats:
        """Return the probability of yes of each tested pair, shape (n,), where the labels tuned on are these."""
        found = np.empty(len(self.tested_scores))
        for part in self.parts:
            fitted = part.regression.fit(tuned_labels[part.tune])
            found[part.test] = np.interp(part.tested_scores, part.regression.distinct, fitted)
        return found

    def deviations(self, tuned_positive: NDArray[np.bool_], positive: NDArray[np.bool_]) -> Floats:
        """Return how far the labels of the tested pairs are from what the regressions expect of them, shape (n,).

        Deviations from a fit to the same labels are too small and those from a fit to others too large: their geometric
        mean is taken, as in the variance estimate HC2 (MacKinnon & White 1985).

        Args:
            tuned_positive: labels of the pairs tuned on, shape (m,).
            positive: those of the pairs tested, shape (n,).
        """
        outside = np.abs(positive - self.probabilities(tuned_positive))
        inside = outside
        if self.same:
            inside = np.abs(positive - np.interp(self.tested_scores, *fit_isotonic(self.tested_scores, positive)))
        found: Floats = np.where(positive, 1.0, -1.0) * np.sqrt(outside * inside)
        return found


def calibrate(
    probabilities: Floats,
    positive: NDArray[np.bool_],
    seed: int,
    groups: Rows | None = None,
    deviations: Floats | None = None,
) -> Calibration:
    """Compare given probabilities with the truth.

    The labels of a correct model are drawn from its probabilities. With groups they are these plus the deviations of
    the true labels, with a random sign a group.

    Args:
        probabilities: shape (n,), in [0, 1].
        positive: shape (n,).
        seed: of the draws.
        groups: codes of groups whose labels depend on each other, shape (n,), or None.
        deviations: of the labels from what is expected of them where the probabilities are wrong, shape (n,), used with
            groups; by default from the probabilities.
    """
    from_expected = positive - probabilities if deviations is None else deviations
    bins = _Bins.of(probabilities)
    signs = None if groups is None else _Signs.of(groups)

    def draw(rng: np.random.Generator) -> float:
        if signs is None:
            return bins.error((rng.random(len(probabilities)) < probabilities).astype(np.float64))
        return bins.error(probabilities + signs.draw(rng) * from_expected)

    return _compare(bins, positive, draw, seed)


def calibrate_fitted(
    model: IsotonicModel,
    tuned_positive: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    seed: int,
    tuned_groups: Rows | None = None,
    groups: Rows | None = None,
) -> Calibration:
    """Compare probabilities by isotonic regression with the truth.

    A correct model is one whose pairs have the probabilities that were fitted. Its labels are these plus the deviations
    of the true labels, with a random sign each, the same for a whole group; to them the regression is fitted anew.

    Args:
        model: the regressions.
        tuned_positive: labels of the pairs tuned on, shape (m,).
        positive: those of the pairs tested, shape (n,).
        seed: of the draws.
        tuned_groups: codes of groups of the pairs tuned on, shape (m,), or None.
        groups: those of the pairs tested, shape (n,), or None.
    """
    probabilities = model.probabilities(tuned_positive)
    fitted = np.interp(model.tuned_scores, *fit_isotonic(model.tuned_scores, tuned_positive))
    deviations = model.deviations(tuned_positive, positive)
    signs = _Signs.of(np.arange(len(positive)) if groups is None else groups)
    tuned_signs = _Signs.of(np.arange(len(tuned_positive)) if tuned_groups is None else tuned_groups)

    def draw(rng: np.random.Generator) -> float:
        drawn = signs.draw(rng) * deviations
        if model.same:
            labels = fitted + drawn
            return _Bins.of(model.probabilities(labels)).error(labels)
        tuned_labels = fitted + tuned_signs.draw(rng) * (tuned_positive - fitted)
        return _Bins.of(model.probabilities(tuned_labels)).error(probabilities + drawn)

    return _compare(_Bins.of(probabilities), positive, draw, seed)


@dataclass(frozen=True)
class _Signs:
    """Random signs, the same for all pairs of a group.

    Attributes:
        codes: of the groups, from 0, shape (n,).
        groups: how many there are.
    """

    codes: Rows
    groups: int

    @classmethod
    def of(cls, groups: Rows) -> _Signs:
        """Number the groups."""
        names, codes = np.unique(groups, return_inverse=True)
        return cls(codes, len(names))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return 1 or -1 for each pair, shape (n,)."""
        signs = 2 * rng.integers(2, size=self.groups) - 1
        return signs.astype(np.float64)[self.codes]


@dataclass(frozen=True)
class _Bins:
    """Probabilities in bins of equally many pairs, equal ones in one bin.

    Attributes:
        probabilities: shape (n,).
        places: the bin of each pair, shape (n,).
    """

    probabilities: Floats
    places: Rows

    @classmethod
    def of(cls, probabilities: Floats) -> _Bins:
        """Sort probabilities of shape (n,) into bins."""
        _, codes, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
        middle_ranks = np.cumsum(counts) - counts / 2
        bins_of_codes = np.unique((middle_ranks * BINS // len(codes)).astype(np.intp), return_inverse=True)[1]
        return cls(probabilities, bins_of_codes[codes])

    def error(self, labels: Floats) -> float:
        """Return the expected calibration error, in [0, 1] for labels that are 0 and 1, shape (n,)."""
        distances = np.bincount(self.places, weights=self.probabilities - labels)
        return float(np.abs(distances).sum()) / len(labels)

    def listed(self, labels: Floats) -> list[Bin]:
        """Return the reliability curve for labels of shape (n,)."""
        sizes = np.bincount(self.places)
        predicted = np.bincount(self.places, weights=self.probabilities) / sizes
        observed = np.bincount(self.places, weights=labels) / sizes
        return [Bin(int(n), float(p), float(o)) for n, p, o in zip(sizes, predicted, observed, strict=True)]


def _compare(
    bins: _Bins, positive: NDArray[np.bool_], draw: Callable[[np.random.Generator], float], seed: int
) -> Calibration:
    """Return the calibration of probabilities, and the errors of a correct model, which *draw* returns one of."""
    labels = positive.astype(np.float64)
    rng = np.random.default_rng(seed)
    drawn = np.array([draw(rng) for _ in range(DRAWS)])
    return Calibration(
        bins=bins.listed(labels),
        error=bins.error(labels),
        expected=float(drawn.mean()),
        limit=float(np.quantile(drawn, LEVEL)),
        brier=float(np.mean((bins.probabilities - labels) ** 2)),
    )
