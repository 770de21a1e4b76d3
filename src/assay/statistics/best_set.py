"""Which of several metrics could be the best, after the observed best was picked on the same pairs.

Picked by its value, the highest of k equal metrics beats the lowest as often as any of all k (k - 1) / 2 pairs is told
apart. Testing it against the other k - 1 alone, at the level of k - 1 tests, therefore errs too often: with ten equal
metrics and Holm's correction in 14 of 100 samples. The tests here count every two metrics that are still in question:
metrics that another one beats leave the set, and those that remain are tested anew, without the ones that left.
Whichever metrics are truly the best, all of them stay in the set with the stated confidence.

Sources: Hansen, Lunde & Nason, The Model Confidence Set, Econometrica (2011), the range statistic and section 3.1.2;
Hsu, Constrained simultaneous confidence intervals for multiple comparisons with the best, Annals of Statistics (1984),
whose set is smaller and keeps *one* of several equally good metrics rather than all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.statistics.comparison import NOISE, Difference
from assay.statistics.concordance import Floats
from assay.statistics.draws import MetricPair

#: Draws of the largest of correlated tests; the standard error of a p-value of .05 is then .001.
DRAWS = 50_000


def could_be_best(
    names: Sequence[str], differences: Mapping[MetricPair, Difference], *, level: float, corrected: bool = True
) -> tuple[str, ...]:
    """Return the metrics that no other of them is known to beat.

    The p-values are those of the jackknife t-tests. How the tests depend on each other follows from the variances of
    the differences: metrics whose differences vary by v(i, j) are like points with the squared distances v. The largest
    of the tests is drawn from normal variables at these points.

    Args:
        names: the metrics to choose from.
        differences: the pairwise differences, the first metric less the second, each pair in one of both orders.
        level: the level of the family, in (0, 1): the largest probability that one of the best metrics is missing.
        corrected: whether to correct for the number of tests; else each test has the level by itself.

    Returns:
        The metrics that may be the best, in the order of *names*; a metric without a test stays.
    """
    tests = _Tests(names, differences)
    remaining = list(tests.names)
    while len(remaining) > 1:
        losers = tests.losers(remaining, level, corrected)
        if not losers:
            break
        remaining = [name for name in remaining if name not in losers]
    return tuple(name for name in names if name in remaining or name not in tests.names)


class _Tests:
    """The pairwise tests of metrics, and draws of the tests under the hypothesis of no true differences.

    Attributes:
        names: the k metrics that have tests.
        p: the two-sided p-value of each pair of names, the metric with the higher value first.
    """

    def __init__(self, names: Sequence[str], differences: Mapping[MetricPair, Difference]) -> None:
        # an undefined test is one metric's, which has no value without some pair: such a metric has no test at all
        known = {}
        for pair, difference in differences.items():
            if difference.p_jackknife is not None and pair[0] in names and pair[1] in names:
                known[pair] = difference
        self.names = [name for name in names if any(name in pair for pair in known)]
        self.p: dict[MetricPair, float] = {}
        squared = np.zeros((len(self.names), len(self.names)))
        for pair, difference in known.items():
            winner, loser = pair if (difference.value or 0.0) >= 0 else pair[::-1]
            self.p[winner, loser] = 1.0 if difference.p_jackknife is None else difference.p_jackknife
            i, j = self.names.index(winner), self.names.index(loser)
            squared[i, j] = squared[j, i] = (difference.error or 0.0) ** 2
        self._points = _points_of(squared)

    def losers(self, remaining: Sequence[str], level: float, corrected: bool) -> set[str]:
        """Return the metrics of *remaining* that another of them beats at the level of all their tests together."""
        pairs = {pair: p for pair, p in self.p.items() if pair[0] in remaining and pair[1] in remaining}
        limit = self._limit(list(pairs), level) if corrected and len(pairs) > 1 else level
        # 1 - .95 is a little more than .05: a p-value on the level counts in either case
        return {loser for (_, loser), p in pairs.items() if p <= limit + NOISE}

    def _limit(self, pairs: Sequence[MetricPair], level: float) -> float:
        """Return the p-value that the smallest p-value of the tests falls below by chance with probability *level*."""
        from scipy.special import ndtr

        normal = np.random.default_rng(0).normal(size=(DRAWS, self._points.shape[1])) @ self._points.T
        largest = np.zeros(DRAWS)
        for first, second in pairs:
            i, j = self.names.index(first), self.names.index(second)
            distance = float(np.linalg.norm(self._points[i] - self._points[j]))
            if distance > NOISE:
                np.maximum(largest, np.abs(normal[:, i] - normal[:, j]) / distance, out=largest)
        return float(2 * ndtr(-np.quantile(largest, 1 - level)))


def _points_of(squared: Floats) -> Floats:
    """Return k points with these squared distances, shape (k, k), by classical scaling (Torgerson 1952).

    Variances of differences are squared distances of the jackknife's values; a small negative eigenvalue is noise.
    """
    k = len(squared)
    if not k:
        return np.zeros((0, 0))
    centring = np.eye(k) - 1 / k
    values, vectors = np.linalg.eigh(-0.5 * centring @ squared @ centring)
    points: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return points
