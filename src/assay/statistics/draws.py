"""Draws for pairwise comparisons of metrics: shared resamples and leave-one-out values, and exchanges of two scores.

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

from assay.statistics.agreement import PREPARED_BYTES, Coefficients, measure_all, measure_by_influence
from assay.statistics.cells import score_codes
from assay.statistics.coefficients import MIN_INFLUENCE_PAIRS, MIN_UNITS, is_by_influence
from assay.statistics.concordance import Floats
from assay.statistics.exchange import Exchange
from assay.statistics.jackknife import JackknifeVariance, units_with_rarer_label
from assay.statistics.leave_one_out import leave_one_out
from assay.statistics.resampling import BLOCK, MAX_BLOCK_WIDTH
from assay.statistics.significance import williams

#: The approximate number of bytes of an :class:`Exchange` per pair of texts.
_EXCHANGE_BYTES = 400

#: The number of exchanges where the t-test is undefined and none were requested; p-values are then at least .0001.
FALLBACK_PERMUTATIONS = 9_999

#: The names of two scores, of which the second is subtracted from the first.
MetricPair = tuple[str, str]


@dataclass(frozen=True)
class Swaps:
    """Random choices of the pairs whose two scores are exchanged; every iteration over them gives the same choices.

    Attributes:
        n: the number of pairs.
        permutations: the number of draws.
        seed: the seed of the generator.
        groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are exchanged.
    """

    n: int
    permutations: int
    seed: tuple[int, ...]
    groups: NDArray[np.intp] | None = None

    def blocks(self) -> Iterator[Floats]:
        """Yield the draws in blocks of shape (n, b): 1 for a pair whose scores are exchanged, else 0.

        The b of all blocks add up to *permutations*; there are none if *n* is 0. The draws do not depend on the size
        of a block.
        """
        if self.n == 0:
            return
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed)))
        units = self.n if self.groups is None else int(self.groups.max()) + 1
        # half a block, since both scores of each pair are laid out
        width = max(1, min(MAX_BLOCK_WIDTH, BLOCK // (2 * self.n)))
        permutations_drawn = 0
        while permutations_drawn < self.permutations:
            b = min(width, self.permutations - permutations_drawn)
            # one random bit per unit; the number of bytes is rounded up
            bytes_drawn = np.stack([rng.integers(256, size=-(-units // 8), dtype=np.uint8) for _ in range(b)])
            swaps = np.unpackbits(bytes_drawn, axis=1, count=units).T.astype(np.float64, order="C")
            yield swaps if self.groups is None else swaps[self.groups]
            permutations_drawn += b


@dataclass(frozen=True)
class PairDraws:
    """The draws of two scores, which :func:`~assay.statistics.comparison.summarise` turns into differences.

    Attributes:
        first: the coefficients of the first score.
        second: the coefficients of the second score, on the same pairs and under the same resamples.
        permuted: first less second after each exchange, shape (statistics, permutations); None without exchanges, or if
            one of the scores is constant.
        p_williams: the p-value of Williams' test; NaN if undefined or not requested, or for dependent pairs.
        variance: the jackknife variance of the differences over pairs or groups; None if no pair has both scores.
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
) -> dict[MetricPair, PairDraws]:
    """Return the draws of each metric pair: resamples and exchanges over the pairs of texts that have both scores.

    Where the jackknife variance of a difference is undefined, as for a score that a single pair keeps from being
    constant, :data:`FALLBACK_PERMUTATIONS` exchanges are drawn if none were requested, so that there is a test. With
    :data:`~assay.statistics.coefficients.MIN_INFLUENCE_PAIRS` pairs or more they are not, since they would take too
    long.

    Args:
        scores: arrays of shape (n,) by name; NaN marks a pair of texts without a score, which is left out of
            comparisons with that score.
        labels: the labels, shape (n,), finite.
        statistics: distinct names from :data:`~assay.statistics.coefficients.STATISTICS`.
        permutations: the number of draws of the permutation test; 0 for none but where the t-test is undefined.
        resamples: the number of draws of the paired bootstrap; 0 for no intervals.
        seed: non-negative integers; the same seed gives the same draws for all metric pairs with the same rows.
        groups: None, or integer codes of shape (n,): groups are drawn and exchanged as a whole.
        interval: one of :data:`~assay.statistics.coefficients.INTERVALS`.
        metric_pairs: the metric pairs to compare; by default all pairs, in the order of *scores*.
        advance: called after each part with the number of (metric pair, permutation) units in it; None for no calls.

    Returns:
        The draws by metric pair, in the order of *metric_pairs*.
    """
    if metric_pairs is None:
        metric_pairs = list(combinations(scores, 2))
    has_score = {name: np.isfinite(values) for name, values in scores.items()}
    metric_pairs_by_rows: dict[bytes, list[MetricPair]] = {}
    for first, second in metric_pairs:
        rows = has_score[first] & has_score[second]
        metric_pairs_by_rows.setdefault(np.packbits(rows).tobytes(), []).append((first, second))
    draws: dict[MetricPair, PairDraws] = {}
    for pairs_on_same_rows in metric_pairs_by_rows.values():
        names = dict.fromkeys(chain.from_iterable(pairs_on_same_rows))
        first, second = pairs_on_same_rows[0]
        rows = has_score[first] & has_score[second]
        draws |= _draw_on_same_rows(
            pairs_on_same_rows,
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
    return {metric_pair: draws[metric_pair] for metric_pair in metric_pairs}


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
) -> dict[MetricPair, PairDraws]:
    """Return the draws of metric pairs on pairs of texts that have all of their scores.

    The arguments are those of :func:`draw_all`, except that the scores are finite and that groups are codes 0 … k-1;
    the number of pairs of texts may be 0.
    """
    n = len(labels)
    if n == 0:
        coefficients = measure_all(scores, labels, statistics=statistics, resamples=resamples, seed=seed, groups=groups)
        return {
            (first, second): PairDraws(coefficients[first], coefficients[second], permuted=None, p_williams=np.nan)
            for first, second in metric_pairs
        }
    if is_by_influence(interval, n):
        coefficients, left_out = _coefficients_and_left_out(scores, labels, groups, statistics, resamples)
    else:
        coefficients = measure_all(scores, labels, statistics=statistics, resamples=resamples, seed=seed, groups=groups)
        left_out = leave_one_out(scores, labels, statistics=statistics, groups=groups)
    has_rarer_label = units_with_rarer_label(labels, groups)
    variances = {}
    for first, second in metric_pairs:
        variances[first, second] = JackknifeVariance.of_differences(
            left_out[first], left_out[second], statistics, has_rarer_label
        )
    exchanged: Sequence[MetricPair] = ()
    if permutations:
        exchanged = metric_pairs
    elif n < MIN_INFLUENCE_PAIRS:
        exchanged = [names for names in metric_pairs if _lacks_t_test(coefficients, names, variances[names])]
        # these permutations are not part of the progress, which counts those that were requested
        permutations, advance = FALLBACK_PERMUTATIONS, None
    permuted: dict[MetricPair, Floats] = {}
    if exchanged:
        # not the seed of the resamples, so that both draws are independent
        swaps = Swaps(n, permutations, (*seed, 1), groups)
        permuted = _permuted_differences(exchanged, scores, labels, swaps, statistics, advance)
    draws = {}
    # the test assumes independent pairs
    has_williams = groups is None and "pearson" in statistics
    for first, second in metric_pairs:
        draws[first, second] = PairDraws(
            first=coefficients[first],
            second=coefficients[second],
            permuted=permuted.get((first, second)),
            p_williams=_p_williams(scores, coefficients, first, second, statistics) if has_williams else np.nan,
            variance=variances[first, second],
        )
    return draws


def _coefficients_and_left_out(
    scores: Mapping[str, Floats],
    labels: Floats,
    groups: NDArray[np.intp] | None,
    statistics: Sequence[str],
    resamples: int,
) -> tuple[dict[str, Coefficients], dict[str, tuple[Floats, ...]]]:
    """Return two dictionaries by score: its coefficients, and its leave-one-out values, one array per statistic.

    Without resamples, the coefficients have no variance, since no interval was asked for. The other arguments are those
    of :func:`~assay.statistics.agreement.measure_by_influence`.
    """
    coefficients, left_out = {}, {}
    for name, score_coefficients, without_each in measure_by_influence(scores, labels, groups, statistics):
        coefficients[name] = score_coefficients if resamples else replace(score_coefficients, variance=None)
        left_out[name] = without_each
    return coefficients, left_out


def _lacks_t_test(
    coefficients: Mapping[str, Coefficients], metric_pair: MetricPair, variance: JackknifeVariance
) -> bool:
    """Tell whether some statistic of two scores has enough units and a defined difference, but no jackknife t-test.

    Args:
        coefficients: the coefficients by metric, with their units; two compared scores have the same units.
        metric_pair: the names of the two scores.
        variance: the variances of their differences.
    """
    first, second = (coefficients[name] for name in metric_pair)
    has_enough_units = np.array([units >= MIN_UNITS for units, _ in first.units])
    is_defined = ~np.isnan(first.values - second.values) & has_enough_units
    return bool((is_defined & np.isnan(variance.variances)).any())


def _p_williams(
    scores: Mapping[str, Floats],
    coefficients: Mapping[str, Coefficients],
    first: str,
    second: str,
    statistics: Sequence[str],
) -> float:
    """Return the p-value of Williams' test of the correlations of two scores with the label; NaN if undefined.

    Args:
        scores: the scores by metric, shape (n,) each.
        coefficients: their coefficients by metric.
        first, second: the metrics of the test.
        statistics: the names of the coefficients, in their order; Pearson's r is one of them.
    """
    pearson = list(statistics).index("pearson")
    first_r, second_r = coefficients[first].values[pearson], coefficients[second].values[pearson]
    if np.isnan(first_r + second_r):
        return np.nan
    r_of_scores = float(np.corrcoef(scores[first], scores[second])[0, 1])
    return williams(first_r, second_r, r_of_scores, len(scores[first]))[1]


def _permuted_differences(
    metric_pairs: Sequence[MetricPair],
    scores: Mapping[str, Floats],
    labels: Floats,
    swaps: Swaps,
    statistics: Sequence[str],
    advance: Callable[[int], None] | None,
) -> dict[MetricPair, Floats]:
    """Return the differences of each metric pair under each exchange, shape (statistics, permutations).

    A metric pair with a constant score is left out. Each block of exchanges is drawn once per batch of metric pairs
    that fits into memory.

    Args:
        metric_pairs: the metric pairs to compare.
        scores: the scores by metric, shape (n,), finite.
        labels: the labels, shape (n,), finite.
        swaps: the exchanges.
        statistics: names from :data:`~assay.statistics.coefficients.STATISTICS`.
        advance: called after each part with the number of (metric pair, permutation) units in it; metric pairs that are
            left out count, too.
    """
    # a score that varies only by rounding cannot be standardised
    varying = {name for name, values in scores.items() if score_codes(values).any()}
    pairs_at_a_time = max(1, PREPARED_BYTES // (len(labels) * _EXCHANGE_BYTES))
    permuted: dict[MetricPair, Floats] = {}
    for start in range(0, len(metric_pairs), pairs_at_a_time):
        batch = metric_pairs[start : start + pairs_at_a_time]
        exchanges: dict[MetricPair, Exchange] = {}
        for first, second in batch:
            if first in varying and second in varying:
                exchanges[first, second] = Exchange.of(scores[first], scores[second], labels, swaps.groups)
        difference_blocks: dict[MetricPair, list[Floats]] = {metric_pair: [] for metric_pair in exchanges}
        for swap_block in swaps.blocks():
            for metric_pair, exchange in exchanges.items():
                difference_blocks[metric_pair].append(exchange.differences(swap_block, statistics))
            if advance:
                # with the pairs that were left out, since the caller expects units for all metric pairs
                advance(swap_block.shape[1] * len(batch))
        for metric_pair, blocks in difference_blocks.items():
            permuted[metric_pair] = np.concatenate(blocks, axis=1)
    return permuted
