"""The jackknife variance of statistics, from their values without one pair or one group of pairs at a time.

Sources: Efron & Stein, The jackknife estimate of variance (1981); Arvesen, Jackknifing U-statistics (1969), for the
t-test; Kott (2001), for the delete-a-group form for dependent pairs, as in surveys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.coefficients import STATISTICS
from assay.statistics.concordance import Floats, Indices

#: The largest share of pairs with another label than the others for which they are a sample of their own.
RARE_SHARE = 0.2


@dataclass(frozen=True)
class JackknifeVariance:
    """The jackknife variances of statistics or of their differences; NaN where undefined.

    Attributes:
        variances: the variance of each statistic from sample to sample, shape (statistics,).
        degrees: the degrees of freedom of each variance, shape (statistics,).
    """

    variances: Floats
    degrees: Floats

    @classmethod
    def of(cls, without_each: Sequence[Floats]) -> JackknifeVariance:
        """Return the variances from the leave-one-out values, one array of shape (units,) per statistic.

        This is Efron & Stein's estimate: (N - 1) / N times the sum of squared deviations of the N values from their
        mean, with N - 1 degrees of freedom. Both are NaN for fewer than two values, or if one of them is NaN.
        """
        variances, degrees = [], []
        for values in without_each:
            units = len(values)
            variance = (units - 1) / units * np.sum(_centred(values) ** 2) if units > 1 else np.nan
            variances.append(float(variance))
            degrees.append(np.nan if np.isnan(variance) else units - 1.0)
        return cls(np.array(variances), np.array(degrees))

    @classmethod
    def of_differences(
        cls,
        first: Sequence[Floats],
        second: Sequence[Floats],
        statistics: Sequence[str] = (),
        has_rarer_label: NDArray[np.bool_] | None = None,
    ) -> JackknifeVariance:
        """Return the variances of the differences of two scores in each statistic.

        If one label is rare, the few units with another one make up most of the variance, and few units estimate it
        badly. For statistics that separate rare labels, the degrees of freedom are then at most those of two samples
        (Welch 1947, Satterthwaite 1946): one of the units with a rarer label, and one of the others.

        Args:
            first, second: the leave-one-out values of both scores, one array per statistic, for the same units.
            statistics: the names of the statistics, if labels may be rare.
            has_rarer_label: the mask of the units with a rarer label, see :func:`units_with_rarer_label`.
        """
        differences = [
            first_coefficient - second_coefficient
            for first_coefficient, second_coefficient in zip(first, second, strict=True)
        ]
        variance = cls.of(differences)
        if has_rarer_label is None:
            return variance
        degrees = variance.degrees.copy()
        for index, name in enumerate(statistics):
            if STATISTICS[name].separates_rare_labels and not np.isnan(degrees[index]):
                degrees[index] = min(degrees[index], _degrees_of_two_samples(differences[index], has_rarer_label))
        return cls(variance.variances, degrees)

    def half_width(self, index: int, confidence: float) -> float:
        """Return the half-width of the interval of the statistic at *index*, at a level in (0, 1).

        It is Student's quantile times the standard error; NaN if the variance is undefined.
        """
        from scipy.special import stdtrit

        quantile = stdtrit(self.degrees[index], (1 + confidence) / 2)
        return float(quantile * np.sqrt(self.variances[index]))

    @classmethod
    def of_mean(cls, parts: Sequence[JackknifeVariance]) -> JackknifeVariance:
        """Return the variances of the unweighted means of statistics over independent samples, NaN where undefined.

        The degrees of freedom follow Satterthwaite, An approximate distribution of estimates of variance components
        (1946).
        """
        variances = np.stack([part.variances for part in parts])
        degrees = np.stack([part.degrees for part in parts])
        total = variances.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            joint = total**2 / (variances**2 / degrees).sum(axis=0)
        # 0 / 0 if nothing varies; any number will do, since the interval has no width
        joint = np.where(total == 0, degrees.sum(axis=0), joint)
        return cls(total / len(parts) ** 2, joint)


def units_with_rarer_label(labels: Floats, groups: Indices | None) -> NDArray[np.bool_] | None:
    """Return which units have another label than most pairs, shape (units,); None if such labels are not rare.

    They are rare if some of the pairs, but at most :data:`RARE_SHARE`, have them.

    Args:
        labels: the labels, shape (n,), finite, n > 0.
        groups: None, or integer codes 0 … k-1 of shape (n,); the units are then the groups.
    """
    values, counts = np.unique(labels, return_counts=True)
    if len(values) < 2 or counts.max() < (1 - RARE_SHARE) * len(labels):
        return None
    is_rarer = labels != values[counts.argmax()]
    return is_rarer if groups is None else np.bincount(groups, weights=is_rarer) > 0


def _degrees_of_two_samples(values: Floats, is_first: NDArray[np.bool_]) -> float:
    """Return the degrees of freedom of the sum of squared deviations of values that are two samples.

    They are at least 1, and infinite if nothing varies.

    Args:
        values: the values of both samples, shape (units,), finite.
        is_first: which of them are the first sample, shape (units,); a sample may be empty.
    """
    squares = _centred(values) ** 2
    total = float(squares.sum())
    # Satterthwaite: the square of the sum, over the sum of the squares of its terms by their degrees of freedom
    squares_by_degree = 0.0
    for sample in (squares[is_first], squares[~is_first]):
        if len(sample):
            squares_by_degree += float(sample.sum()) ** 2 / max(len(sample) - 1, 1)
    return max(total**2 / squares_by_degree, 1.0) if squares_by_degree else np.inf


def _centred(values: Floats) -> Floats:
    """Return values less their mean, in their shape; all NaN if one of them is."""
    centred: Floats = values - values.mean()
    return centred
