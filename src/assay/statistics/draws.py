"""What compares metrics two by two: resamples and leave-one-out values that all share, and exchanges of each two.

The permutation test exchanges the two scores of a pair, or of a whole group of pairs, with probability one half, both
scores standardised: PERM-BOTH of Deutsch, Dror & Roth, A Statistical Analysis of Summarization Evaluation Metrics using
Resampling Methods (2021), on single pairs. The bootstrap is paired: all scores see the same resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import PREPARED_BYTES, Coefficients, influences, measure
from assay.statistics.cells import score_codes
from assay.statistics.coefficients import is_by_influence
from assay.statistics.concordance import Floats
from assay.statistics.exchange import Exchange
from assay.statistics.jackknife import JackknifeVariance, leave_one_out
from assay.statistics.resampling import BLOCK
from assay.statistics.significance import williams

#: Bytes of an :class:`Exchange` a pair of texts, about.
_EXCHANGE_BYTES = 400

#: Names of two scores, the first less the second.
MetricPair = tuple[str, str]


@dataclass(frozen=True)
class Swaps:
    """Which pairs are exchanged, the same ones each time it is asked.

    Attributes:
        n: number of pairs.
        permutations: number of draws.
        seed: what seeds the generator.
        groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are exchanged.
    """

    n: int
    permutations: int
    seed: tuple[int, ...]
    groups: NDArray[np.intp] | None = None

    def blocks(self) -> Iterator[Floats]:
        """Yield 0 and 1 (exchanged) in blocks of shape (n, b); the draws do not depend on the size of a block."""
        if self.n == 0:
            return
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed)))
        units = self.n if self.groups is None else int(self.groups.max()) + 1
        width = max(1, min(256, BLOCK // self.n))
        done = 0
        while done < self.permutations:
            b = min(width, self.permutations - done)
            bytes_drawn = np.stack([rng.integers(256, size=-(-units // 8), dtype=np.uint8) for _ in range(b)])
            drawn = np.unpackbits(bytes_drawn, axis=1, count=units).T.astype(np.float64, order="C")
            yield drawn if self.groups is None else drawn[self.groups]
            done += b


@dataclass(frozen=True)
class Drawn:
    """Two scores compared, as drawn: what :func:`~assay.statistics.comparison.summarise` reads.

    Attributes:
        first: of the first score.
        second: of the second score, on the same pairs and under the same resamples.
        permuted: first less second after each exchange, shape (statistics, permutations), or None.
        p_williams: of Pearson's r, NaN where undefined, not asked for, or pairs are not independent.
        variance: of the differences, by the jackknife over pairs or groups; None where no pair has both scores.
    """

    first: Coefficients
    second: Coefficients
    permuted: Floats | None
    p_williams: float
    variance: JackknifeVariance | None = None

    @property
    def sides(self) -> tuple[Coefficients, Coefficients]:
        """Both scores, in the order of the metric pair."""
        return self.first, self.second


def draw_all(
    scores: Mapping[str, Floats],
    labels: Floats,
    *,
    statistics: Sequence[str],
    permutations: int,
    resamples: int,
    seed: Sequence[int],
    groups: NDArray[np.intp] | None = None,
    interval: str = "bootstrap",
    metric_pairs: Sequence[MetricPair] | None = None,
    advance: Callable[[int], None] | None = None,
) -> dict[MetricPair, Drawn]:
    """Return by metric pair what was drawn of it: resamples and exchanges of the pairs of texts that have both scores.

    Args:
        scores: by name, arrays of shape (n,); NaN marks a pair of texts without a score: those that lack one of two
            scores are left out where these are compared.
        labels: shape (n,), finite.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.
        permutations: draws of the permutation test; 0 for none.
        resamples: draws of the paired bootstrap; 0 for no intervals.
        seed: non-negative integers; the same seed gives the same draws for all metric pairs with the same rows.
        groups: None, or integer codes of shape (n,): groups are drawn and exchanged as a whole.
        interval: one of :data:`~assay.statistics.coefficients.INTERVALS`.
        metric_pairs: what is compared; by default every two scores, in the order of *scores*.
        advance: called with the number of (metric pair, permutation) units done.
    """
    compared = list(combinations(scores, 2)) if metric_pairs is None else list(metric_pairs)
    known = {name: np.isfinite(values) for name, values in scores.items()}
    pairs_by_rows: dict[bytes, list[MetricPair]] = {}
    for first, second in compared:
        pairs_by_rows.setdefault(np.packbits(known[first] & known[second]).tobytes(), []).append((first, second))
    drawn: dict[MetricPair, Drawn] = {}
    for pairs_with_same_rows in pairs_by_rows.values():
        first, second = pairs_with_same_rows[0]
        rows = known[first] & known[second]
        names = dict.fromkeys(chain.from_iterable(pairs_with_same_rows))
        drawn |= _draw_on_same_rows(
            pairs_with_same_rows,
            {name: scores[name][rows] for name in names},
            labels[rows],
            None if groups is None else np.unique(groups[rows], return_inverse=True)[1],
            statistics=statistics,
            permutations=permutations,
            resamples=resamples,
            seed=seed,
            interval=interval,
            advance=advance,
        )
    return {metric_pair: drawn[metric_pair] for metric_pair in compared}


def _draw_on_same_rows(
    metric_pairs: Sequence[MetricPair],
    scores: Mapping[str, Floats],
    labels: Floats,
    groups: NDArray[np.intp] | None,
    *,
    statistics: Sequence[str],
    permutations: int,
    resamples: int,
    seed: Sequence[int],
    interval: str,
    advance: Callable[[int], None] | None,
) -> dict[MetricPair, Drawn]:
    """Return what is drawn of metrics that all have a score of every row, shape (n,); n may be 0."""
    n = len(labels)
    if n and is_by_influence(interval, n):
        coefficients, left_out = {}, {}
        for name, measured, without_each in influences(scores, labels, groups, statistics):
            coefficients[name] = measured if resamples else replace(measured, variance=None)
            left_out[name] = without_each
    else:
        coefficients = measure(scores, labels, statistics=statistics, resamples=resamples, seed=seed, groups=groups)
        left_out = leave_one_out(scores, labels, statistics=statistics, groups=groups) if n else {}
    permuted: dict[MetricPair, Floats] = {}
    if permutations and n:
        swaps = Swaps(n, permutations, (*seed, 1), groups)
        permuted = _permuted_differences(metric_pairs, scores, labels, swaps, statistics, advance)
    drawn = {}
    for first, second in metric_pairs:
        p_williams = np.nan
        # the test supposes that pairs are independent
        if groups is None and "pearson" in statistics:
            index = list(statistics).index("pearson")
            first_r, second_r = coefficients[first].values[index], coefficients[second].values[index]
            p_williams = _p_williams(scores[first], scores[second], first_r, second_r)
        drawn[first, second] = Drawn(
            coefficients[first],
            coefficients[second],
            permuted.get((first, second)),
            p_williams,
            JackknifeVariance.of_differences(left_out[first], left_out[second]) if n else None,
        )
    return drawn


def _p_williams(first: Floats, second: Floats, first_r: float, second_r: float) -> float:
    """Return the p-value of two scores with their correlations to the label, NaN where one is undefined."""
    if np.isnan(first_r + second_r):
        return np.nan
    return williams(first_r, second_r, float(np.corrcoef(first, second)[0, 1]), len(first))[1]


def _permuted_differences(
    metric_pairs: Sequence[MetricPair],
    scores: Mapping[str, Floats],
    labels: Floats,
    swaps: Swaps,
    statistics: Sequence[str],
    advance: Callable[[int], None] | None,
) -> dict[MetricPair, Floats]:
    """Return by metric pair the differences under each exchange, shape (statistics, permutations).

    A metric pair with a constant score is left out. A block of exchanges is drawn once for as many metric pairs as
    memory holds.
    """
    # what varies by rounding alone cannot be standardised
    varying = {name for name, values in scores.items() if score_codes(values).any()}
    pairs_at_a_time = max(1, PREPARED_BYTES // (len(labels) * _EXCHANGE_BYTES))
    permuted: dict[MetricPair, Floats] = {}
    for start in range(0, len(metric_pairs), pairs_at_a_time):
        batch = metric_pairs[start : start + pairs_at_a_time]
        exchanges: dict[MetricPair, Exchange] = {}
        for first, second in batch:
            if first in varying and second in varying:
                exchanges[first, second] = Exchange.of(scores[first], scores[second], labels, swaps.groups)
        blocks: dict[MetricPair, list[Floats]] = {metric_pair: [] for metric_pair in exchanges}
        for block in swaps.blocks():
            for metric_pair, exchange in exchanges.items():
                blocks[metric_pair].append(exchange.differences(block, statistics))
            if advance:
                advance(block.shape[1] * len(batch))
        for metric_pair, differences in blocks.items():
            permuted[metric_pair] = np.concatenate(differences, axis=1)
    return permuted
