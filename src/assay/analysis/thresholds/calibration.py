"""Calibration: whether scores can be read as probabilities, and isotonic regression, which turns them into some.

The expected calibration error is above 0 by chance alone. It is therefore compared with the errors of a correct model:
labels of the same pairs are drawn from the probabilities, with one draw for each whole group of pairs. If the
probabilities come from an isotonic regression, the regression is also fitted anew to the drawn labels.

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

#: Number of bins of the reliability curve.
BIN_COUNT = 10
#: How often the labels of a correct model are drawn.
DRAW_COUNT = 500
#: Share of the drawn errors of correct models that are below the reported limit.
LEVEL = 0.95


@dataclass(frozen=True)
class Bin:
    """Pairs with similar probabilities: their number, their mean probability, and their share of positives."""

    n: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class Calibration:
    """How well probabilities match the observed shares of positives.

    Attributes:
        bins: the reliability curve; all bins have the same number of pairs, as far as ties of probabilities allow.
        error: the expected calibration error, in [0, 1]: the mean over bins, weighted by their pairs, of the distance
            between mean probability and share of positives.
        expected: the mean of this error for a correct model.
        limit: the 95 % quantile of this error for a correct model; an error below it is not a sign of bad calibration.
        brier: the mean squared difference of probability and label (1 for positive, 0 for negative), in [0, 1].
    """

    bins: list[Bin]
    error: float
    expected: float
    limit: float
    brier: float


def fit_isotonic(scores: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the k distinct scores and the non-decreasing probability of the positive class at each, shape (k,) each.

    Callers interpolate linearly between two scores, and extend the first and last probability beyond the ends.

    Args:
        scores: finite scores, shape (n,), higher where the positive class is likelier.
        positive: whether each pair is positive, shape (n,).
    """
    regression = _IsotonicRegression.from_scores(scores)
    return regression.distinct, regression.fit(positive)


@dataclass(frozen=True)
class _IsotonicRegression:
    """Isotonic regression on scores that are sorted once, to be fitted to many draws of labels.

    Attributes:
        distinct: the distinct scores in ascending order, shape (k,).
        codes: the index in *distinct* of the score of each pair, shape (n,).
        counts: the number of pairs with each distinct score, shape (k,).
    """

    distinct: Floats
    codes: Rows
    counts: NDArray[np.intp]

    @classmethod
    def from_scores(cls, scores: Floats) -> _IsotonicRegression:
        """Return a regression on finite scores of shape (n,), which are sorted here once."""
        distinct, codes, counts = np.unique(scores, return_inverse=True, return_counts=True)
        return cls(distinct, codes, counts)

    def fit(self, labels: NDArray[np.bool_] | Floats) -> Floats:
        """Fit labels of shape (n,) and return the fitted, non-decreasing values at the distinct scores, shape (k,)."""
        from scipy.optimize import isotonic_regression

        shares = np.bincount(self.codes, weights=labels) / self.counts
        return np.asarray(isotonic_regression(shares, weights=self.counts).x, dtype=np.float64)


@dataclass(frozen=True)
class IsotonicPart:
    """The rows that one isotonic regression is fitted on, and the rows that it predicts.

    Attributes:
        tune: the rows to fit on, among the tuned pairs.
        test: the rows to predict, among the tested pairs.
        regression: the regression on the scores of the *tune* rows.
        tested_scores: the scores of the *test* rows.
    """

    tune: Rows
    test: Rows
    regression: _IsotonicRegression
    tested_scores: Floats


@dataclass(frozen=True)
class IsotonicModel:
    """Isotonic regressions, one per part, that together predict a probability for every tested pair.

    They can be fitted to any labels of the tuned pairs.

    Attributes:
        tuned_scores: the scores of the m pairs to tune on, shape (m,).
        tested_scores: the scores of the n tested pairs, shape (n,).
        parts: parts whose test rows together contain every tested pair once.
        has_same_pairs: whether tuned and tested pairs are the same pairs, as in cross-validation.
    """

    tuned_scores: Floats
    tested_scores: Floats
    parts: Sequence[IsotonicPart]
    has_same_pairs: bool

    @classmethod
    def from_rows(
        cls, tuned_scores: Floats, tested_scores: Floats, rows: Sequence[tuple[Rows, Rows]], has_same_pairs: bool
    ) -> IsotonicModel:
        """Return a model with one regression per part.

        Args:
            tuned_scores: the scores of the m pairs to tune on, shape (m,).
            tested_scores: the scores of the n tested pairs, shape (n,).
            rows: for each part, the row indices to tune on and those to test on.
            has_same_pairs: whether tuned and tested pairs are the same pairs.
        """
        parts = [
            IsotonicPart(tune, test, _IsotonicRegression.from_scores(tuned_scores[tune]), tested_scores[test])
            for tune, test in rows
        ]
        return cls(tuned_scores, tested_scores, parts, has_same_pairs)

    def probabilities(self, tuned_labels: NDArray[np.bool_] | Floats) -> Floats:
        """Fit the regressions to labels of shape (m,) and return the probability of each tested pair, shape (n,)."""
        probabilities = np.empty(len(self.tested_scores))
        for part in self.parts:
            fitted = part.regression.fit(tuned_labels[part.tune])
            probabilities[part.test] = np.interp(part.tested_scores, part.regression.distinct, fitted)
        return probabilities

    def residuals(self, tuned_positive: NDArray[np.bool_], positive: NDArray[np.bool_]) -> Floats:
        """Return the residual of the label of each tested pair, shape (n,): at least 0 if positive, else at most 0.

        Residuals from a fit to the same labels are too small, and residuals from a fit to held-out labels too large.
        Their geometric mean is returned, as in the variance estimate HC2 (MacKinnon & White 1985); if other pairs were
        tuned on, it is the residual from that fit.

        Args:
            tuned_positive: whether each tuned pair is positive, shape (m,).
            positive: whether each tested pair is positive, shape (n,).
        """
        held_out_distances = np.abs(positive - self.probabilities(tuned_positive))
        same_fit_distances = held_out_distances
        if self.has_same_pairs:
            same_fit_distances = np.abs(
                positive - np.interp(self.tested_scores, *fit_isotonic(self.tested_scores, positive))
            )
        residuals: Floats = np.where(positive, 1.0, -1.0) * np.sqrt(held_out_distances * same_fit_distances)
        return residuals


def calibrate(
    probabilities: Floats,
    positive: NDArray[np.bool_],
    seed: int,
    groups: Rows | None = None,
    residuals: Floats | None = None,
) -> Calibration:
    """Return the calibration of given probabilities, and the errors that a correct model would have.

    Without groups, the labels of a correct model are drawn from its probabilities. With groups, they are the
    probabilities plus the residuals of the true labels, with one random sign per group (a wild cluster bootstrap).

    Args:
        probabilities: probabilities of the positive class, shape (n,), in [0, 1].
        positive: whether each pair is positive, shape (n,).
        seed: the seed of the draws.
        groups: codes of groups with dependent labels, shape (n,); None for independent pairs.
        residuals: the residuals of the labels, shape (n,), used with groups only; None for the differences of labels
            and probabilities, which are too large if the probabilities are wrong.
    """
    label_residuals = positive - probabilities if residuals is None else residuals
    bins = _Bins.from_probabilities(probabilities)
    signs = None if groups is None else _Signs.from_groups(groups)

    def draw_error(rng: np.random.Generator) -> float:
        """Return the error for one draw of the labels of a correct model."""
        if signs is None:
            return bins.error((rng.random(len(probabilities)) < probabilities).astype(np.float64))
        return bins.error(probabilities + signs.draw(rng) * label_residuals)

    return _calibration_of_bins(bins, positive, draw_error, seed)


def calibrate_fitted(
    model: IsotonicModel,
    tuned_positive: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    seed: int,
    tuned_groups: Rows | None = None,
    groups: Rows | None = None,
) -> Calibration:
    """Return the calibration of probabilities by isotonic regression, and the errors that a correct model would have.

    In a correct model, the fitted probabilities are the true ones. Its labels are these probabilities plus the
    residuals of the true labels, with one random sign per pair or group; the regression is fitted to each draw anew.

    Args:
        model: the regressions.
        tuned_positive: whether each tuned pair is positive, shape (m,).
        positive: whether each tested pair is positive, shape (n,).
        seed: the seed of the draws.
        tuned_groups: codes of the groups of the tuned pairs, shape (m,); None for independent pairs.
        groups: codes of the groups of the tested pairs, shape (n,); None for independent pairs.
    """
    probabilities = model.probabilities(tuned_positive)
    fitted = np.interp(model.tuned_scores, *fit_isotonic(model.tuned_scores, tuned_positive))
    residuals = model.residuals(tuned_positive, positive)
    signs = _Signs.from_groups(np.arange(len(positive)) if groups is None else groups)
    tuned_signs = _Signs.from_groups(np.arange(len(tuned_positive)) if tuned_groups is None else tuned_groups)

    def draw_error(rng: np.random.Generator) -> float:
        """Return the error for one draw of the labels of a correct model, with the regression fitted to it."""
        signed_residuals = signs.draw(rng) * residuals
        if model.has_same_pairs:
            # the regression is fitted to the very labels that it is tested on, so both use one draw of signs
            labels = fitted + signed_residuals
            return _Bins.from_probabilities(model.probabilities(labels)).error(labels)
        tuned_labels = fitted + tuned_signs.draw(rng) * (tuned_positive - fitted)
        return _Bins.from_probabilities(model.probabilities(tuned_labels)).error(probabilities + signed_residuals)

    return _calibration_of_bins(_Bins.from_probabilities(probabilities), positive, draw_error, seed)


@dataclass(frozen=True)
class _Signs:
    """Random signs, with one sign for all pairs of a group.

    Attributes:
        codes: the group of each pair, counted from 0, shape (n,).
        group_count: the number of groups.
    """

    codes: Rows
    group_count: int

    @classmethod
    def from_groups(cls, groups: Rows) -> _Signs:
        """Return the signs for pairs with these group codes, shape (n,), which may have gaps."""
        distinct, codes = np.unique(groups, return_inverse=True)
        return cls(codes, len(distinct))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return 1 or -1 for each pair, shape (n,)."""
        signs = 2 * rng.integers(2, size=self.group_count) - 1
        return signs.astype(np.float64)[self.codes]


@dataclass(frozen=True)
class _Bins:
    """Probabilities in bins of (nearly) equal numbers of pairs; pairs with equal probabilities share a bin.

    Attributes:
        probabilities: the probability of each pair, shape (n,).
        bin_of_pair: the bin of each pair, shape (n,).
    """

    probabilities: Floats
    bin_of_pair: Rows

    @classmethod
    def from_probabilities(cls, probabilities: Floats) -> _Bins:
        """Return probabilities of shape (n,), sorted into bins by the mean rank of each distinct probability."""
        _, codes, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
        middle_ranks = np.cumsum(counts) - counts / 2
        bin_numbers = (middle_ranks * BIN_COUNT // len(codes)).astype(np.intp)
        # with many ties some bins stay empty: the others are renumbered without gaps
        bins_of_codes = np.unique(bin_numbers, return_inverse=True)[1]
        return cls(probabilities, bins_of_codes[codes])

    def error(self, labels: Floats) -> float:
        """Return the expected calibration error for labels of shape (n,); in [0, 1] if they are 0 and 1."""
        distances = np.bincount(self.bin_of_pair, weights=self.probabilities - labels)
        return float(np.abs(distances).sum()) / len(labels)

    def reliability_curve(self, labels: Floats) -> list[Bin]:
        """Return the reliability curve for labels of shape (n,): the bins, by rising probability."""
        sizes = np.bincount(self.bin_of_pair)
        predicted = np.bincount(self.bin_of_pair, weights=self.probabilities) / sizes
        observed = np.bincount(self.bin_of_pair, weights=labels) / sizes
        return [Bin(int(n), float(p), float(o)) for n, p, o in zip(sizes, predicted, observed, strict=True)]


def _calibration_of_bins(
    bins: _Bins, positive: NDArray[np.bool_], draw_error: Callable[[np.random.Generator], float], seed: int
) -> Calibration:
    """Return the calibration of binned probabilities; *draw_error* returns one error of a correct model per call."""
    labels = positive.astype(np.float64)
    rng = np.random.default_rng(seed)
    errors_of_draws = np.array([draw_error(rng) for _ in range(DRAW_COUNT)])
    return Calibration(
        bins=bins.reliability_curve(labels),
        error=bins.error(labels),
        expected=float(errors_of_draws.mean()),
        limit=float(np.quantile(errors_of_draws, LEVEL)),
        brier=float(np.mean((bins.probabilities - labels) ** 2)),
    )
