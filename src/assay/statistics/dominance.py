"""Almost stochastic order: is one system's distribution of results over seeds nearly everywhere above another's?

Sources: del Barrio, Cuesta-Albertos & Matrán, An Optimal Transportation Approach for Assessing Almost Stochastic Order
(2018), for the violation ratio and its bound; Dror, Shlomov & Reichart, Deep Dominance (2019), for systems with several
seeds; Ulmer, Hardmeier & Frellsen, deep-significance (2022), for the threshold and the correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

__all__ = ["Order", "almost_stochastic_order", "corrected_confidence", "resampled", "violation_ratio"]

#: Samples whose quantiles differ by less than this, relative to their largest value, are equal.
NOISE = 1e-12
#: Numbers in one block of resamples that are compared at once: a MiB of doubles, which a processor's cache holds.
BLOCK = 1 << 17


@dataclass(frozen=True)
class Order:
    """How far a first sample is from being stochastically larger than a second one, and the other way round.

    Attributes:
        ratio: violation ratio of "the first is larger", in [0, 1]; that of "the second is larger" is one less it.
        deviation: standard deviation of the ratio over the resamples.
        better: epsilon_min of "the first is larger": upper confidence bound of the ratio, in [0, 1].
        worse: epsilon_min of "the second is larger".
    """

    ratio: float
    deviation: float
    better: float
    worse: float


def violation_ratio(first: Floats, second: Floats) -> Floats:
    """Return how much of the distance between two samples violates "the first is stochastically larger".

    del Barrio et al. (2018): with the empirical quantile functions F and G of first and second, the integral of
    (G - F)² over the t in (0, 1) where G(t) > F(t), divided by the integral over all t, which is the squared
    2-Wasserstein distance. Both functions are steps, so that the integrals are finite sums and exact; an implementation
    that sums over a grid of t converges to them.

    Args:
        first: shape (..., n), in any order along the last axis.
        second: shape (..., m), the same leading axes or axes that broadcast.

    Returns:
        Shape (...), in [0, 1]: 0 where the first is larger at every t, 1 where the second is. By convention .5 where
        the samples are equal (there is nothing that could be violated): neither is better.
    """
    first, second = np.sort(first, axis=-1), np.sort(second, axis=-1)
    n, m = first.shape[-1], second.shape[-1]
    if n == m:
        gaps, widths = second - first, np.full(n, 1 / n)
    else:
        widths, places, others = _steps(n, m)
        gaps = second.take(others, axis=-1) - first.take(places, axis=-1)
    # not a product of matrices, whose last bit depends on how many samples there are
    distance = np.einsum("...k,k->...", gaps * gaps, widths)
    np.maximum(gaps, 0.0, out=gaps)
    gaps *= gaps
    violated = np.einsum("...k,k->...", gaps, widths)
    ends = [np.abs(values[..., end]) for values in (first, second) for end in (0, -1)]
    noise = (NOISE * np.maximum.reduce(np.broadcast_arrays(*ends))) ** 2
    return np.asarray(np.divide(violated, distance, out=np.full_like(distance, 0.5), where=distance > noise))


def _steps(n: int, m: int) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Return the intervals of (0, 1) in which neither of two quantile functions steps: widths, places of the values."""
    # in units of 1 / (n m), so that ends which coincide are equal
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    return np.diff(ends, prepend=0) / (n * m), (ends - 1) // m, (ends - 1) // n


def resampled(values: Floats, resamples: int, seed: Sequence[int]) -> Floats:
    """Return a sample of shape (n,) drawn anew with replacement, shape (resamples, n).

    Args:
        values: shape (n,), n > 0.
        resamples: number of draws.
        seed: non-negative integers; two samples that are compared need different ones, or their draws are paired.
    """
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    n = len(values)
    return values.take(rng.integers(n, size=(resamples, n), dtype=np.uint16 if n < 1 << 16 else np.uint32))


def corrected_confidence(confidence: float, comparisons: int) -> float:
    """Return the confidence level of one of several comparisons, by Bonferroni: 1 - (1 - confidence) / comparisons.

    The more comparisons, the higher the level and the higher epsilon_min: each of them is held to a stricter standard,
    and the chance of one false claim among all stays below 1 - confidence. (Adding ``(1 - confidence) / comparisons``
    to the level instead agrees for two comparisons and then goes the wrong way: with many of them it is hardly stricter
    than with one.)

    Args:
        confidence: of all comparisons together, in (0, 1).
        comparisons: how many, at least 1.
    """
    return 1 - (1 - confidence) / comparisons


def almost_stochastic_order(
    samples: Sequence[Floats],
    drawn: Sequence[Floats],
    couples: Sequence[tuple[int, int]],
    *,
    confidence: float,
    comparisons: int = 1,
) -> list[Order]:
    """Test samples two by two for almost stochastic order, in both directions.

    epsilon_min is the ratio plus the normal quantile of the level times the ratio's standard deviation over resamples
    of both samples (the factors sqrt(nm / (n + m)) of del Barrio et al. cancel), at most 1. The first is better than
    the second where it lies below a threshold of at most .5.

    Args:
        samples: arrays of shape (n,), finite, a higher value being better; n may differ.
        drawn: resamples of each, shape (resamples, n), as many for all; see :func:`resampled`.
        couples: places of a first and a second sample.
        confidence: level of the bounds before the correction, in (.5, 1).
        comparisons: what the level is corrected for, see :func:`corrected_confidence`.

    Returns:
        An order a couple.
    """
    from scipy.special import ndtri

    by_sizes: dict[tuple[int, int], list[int]] = {}
    for place, (one, other) in enumerate(couples):
        by_sizes.setdefault((len(samples[one]), len(samples[other])), []).append(place)
    margin = float(ndtri(corrected_confidence(confidence, comparisons)))
    found: dict[int, Order] = {}
    for (n, m), alike in by_sizes.items():
        step = max(1, BLOCK // (len(drawn[couples[alike[0]][0]]) * (n + m)))
        for start in range(0, len(alike), step):
            block = alike[start : start + step]
            ratios = violation_ratio(*(np.stack([samples[couples[place][side]] for place in block]) for side in (0, 1)))
            spread = violation_ratio(*(np.stack([drawn[couples[place][side]] for place in block]) for side in (0, 1)))
            for place, ratio, deviation in zip(block, ratios.tolist(), spread.std(axis=1).tolist(), strict=True):
                better, worse = (min(1.0, part + margin * deviation) for part in (ratio, 1 - ratio))
                found[place] = Order(ratio, deviation, better, worse)
    return [found[place] for place in range(len(couples))]
