"""Which of two scores agrees better with the label, and whether the difference is more than chance.

The permutation test swaps the two scores of a pair, or of a whole group of pairs, with probability one half, both
scores standardised: PERM-BOTH of Deutsch, Dror & Roth, A Statistical Analysis of Summarization Evaluation Metrics using
Resampling Methods (2021), on single pairs. A swapped score is a choice of n out of the 2 n values of both, so that
its coefficients are those of the 2 n values under multiplicities of 0 and 1, which are counted without sorting again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import FEWEST, expanded_tail
from assay.statistics.cells import Labels, score_codes
from assay.statistics.concordance import Floats
from assay.statistics.corrections import williams
from assay.statistics.held import HeldScore
from assay.statistics.resampling import BLOCK, Resampler

__all__ = ["Difference", "Swaps", "compare"]

#: Differences nearer than this to the observed one count as equal to it.
NOISE = 1e-12


@dataclass(frozen=True)
class Difference:
    """A coefficient of a first score less that of a second one.

    Attributes:
        statistic: name of the coefficient.
        first: of the first score; None where undefined.
        second: of the second score.
        low: lower bound of the paired bootstrap's interval of the difference; None where there is none.
        high: upper bound.
        p_permutation: two-sided, by PERM-BOTH; None where undefined or not asked for.
        p_bootstrap: two-sided: twice the share of resamples on the other side of 0.
        p_williams: two-sided, for Pearson only, and only where pairs are independent.
        n: pairs with both scores.
        note: reason or reservation, or an empty string.
    """

    statistic: str
    first: float | None
    second: float | None
    low: float | None
    high: float | None
    p_permutation: float | None
    p_bootstrap: float | None
    p_williams: float | None
    n: int
    note: str

    @property
    def value(self) -> float | None:
        """The difference, or None where one of the coefficients is undefined."""
        return None if self.first is None or self.second is None else self.first - self.second


@dataclass(frozen=True)
class Swaps:
    """Which pairs are swapped, the same ones each time it is asked.

    Attributes:
        n: number of pairs.
        permutations: number of draws.
        seed: what seeds the generator.
        groups: None, or integer codes 0 … k-1 of shape (n,): whole groups are swapped.
    """

    n: int
    permutations: int
    seed: tuple[int, ...]
    groups: NDArray[np.intp] | None = None

    def blocks(self) -> Iterator[Floats]:
        """Yield 0 and 1 (swapped) in blocks of shape (n, b); the draws do not depend on the size of a block."""
        if self.n == 0:
            return
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed)))
        units = self.n if self.groups is None else int(self.groups.max()) + 1
        width = max(1, min(256, BLOCK // (2 * self.n)))
        done = 0
        while done < self.permutations:
            b = min(width, self.permutations - done)
            drawn = np.stack([rng.integers(2, size=units) for _ in range(b)], axis=1).astype(np.float64)
            yield drawn if self.groups is None else drawn[self.groups]
            done += b


def compare(
    first: Floats,
    second: Floats,
    labels: Floats,
    *,
    statistics: Sequence[str],
    permutations: int,
    resamples: int,
    confidence: float,
    seed: Sequence[int],
    groups: NDArray[np.intp] | None = None,
) -> list[Difference]:
    """Compare two scores of the same pairs, one :class:`Difference` a statistic.

    Args:
        first: shape (n,); NaN marks a pair without a score: pairs that lack one of the scores are left out.
        second: likewise.
        labels: shape (n,), finite.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.
        permutations: draws of the permutation test; 0 for none.
        resamples: draws of the paired bootstrap; 0 for none.
        confidence: level of the interval, in (0, 1).
        seed: non-negative integers; the same seed gives the same draws for all pairs of scores.
        groups: None, or integer codes of shape (n,): groups are drawn and swapped as a whole.
    """
    both = np.isfinite(first) & np.isfinite(second)
    first, second, labels = first[both], second[both], labels[both]
    n = len(labels)
    if groups is not None:
        groups = np.unique(groups[both], return_inverse=True)[1]
    units = n if groups is None else int(groups.max(initial=-1)) + 1
    if n == 0:
        return [_undefined(name, np.nan, np.nan, 0, "no pair has both scores") for name in statistics]
    held_labels = Labels.of(labels)
    held = [HeldScore.of(scores, held_labels) for scores in (first, second)]
    ones = np.ones((n, 1))
    values = np.stack([one.values(ones, held_labels.count(ones), statistics)[:, 0] for one in held])
    resampled = _resampled(held, Resampler(n, resamples, (*seed, 0), groups), statistics) if resamples else None
    swapped = _swapped(first, second, labels, Swaps(n, permutations, (*seed, 1), groups), statistics)
    found = []
    for place, name in enumerate(statistics):
        one, other = values[:, place]
        if np.isnan(one) or np.isnan(other):
            found.append(_undefined(name, one, other, n, "undefined"))
            continue
        notes, low, high, p_bootstrap, p_permutation, p_williams = [], None, None, None, None, None
        if resampled is not None and units < FEWEST:
            notes.append(f"no interval below {FEWEST} {'pairs' if groups is None else 'groups'}")
        elif resampled is not None:
            drawn = resampled[place][~np.isnan(resampled[place])]
            if 2 * len(drawn) >= resamples:
                tail = expanded_tail(units, confidence)
                low, high = (float(bound) for bound in np.quantile(drawn, [tail, 1 - tail]))
                side = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
                p_bootstrap = min(1.0, 2 * (1 + side) / (1 + len(drawn)))
        if swapped is not None:
            drawn = swapped[place][~np.isnan(swapped[place])]
            p_permutation = float(1 + (np.abs(drawn) >= abs(one - other) - NOISE).sum()) / (1 + len(drawn))
        if name == "pearson" and groups is None:
            p_williams = _known(williams(one, other, float(np.corrcoef(first, second)[0, 1]), n)[1])
        found.append(
            Difference(
                name, float(one), float(other), low, high, p_permutation, p_bootstrap, p_williams, n, "; ".join(notes)
            )
        )
    return found


def _undefined(statistic: str, first: float, second: float, n: int, why: str) -> Difference:
    return Difference(statistic, _known(first), _known(second), None, None, None, None, None, n, why)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _standardised(scores: Floats) -> Floats:
    """Return scores with mean 0 and spread 1; those that count as tied are made equal before."""
    _, where, codes = np.unique(score_codes(scores), return_index=True, return_inverse=True)
    level = scores[where][codes]
    found: Floats = (level - level.mean()) / level.std()
    return found


def _resampled(held: Sequence[HeldScore], resampler: Resampler, statistics: Sequence[str]) -> Floats:
    """Return the difference under each resample, shape (statistics, resamples)."""
    drawn = []
    for weights in resampler.blocks():
        counted = held[0].labels.count(weights)
        one, other = (score.values(weights, counted, statistics) for score in held)
        drawn.append(one - other)
    return np.concatenate(drawn, axis=1)


def _swapped(first: Floats, second: Floats, labels: Floats, swaps: Swaps, statistics: Sequence[str]) -> Floats | None:
    """Return the difference under each swap, shape (statistics, permutations), or None where there is none."""
    if not swaps.permutations or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    joined = np.concatenate([_standardised(scores) for scores in (first, second)])
    held = HeldScore.of(joined, Labels.of(np.concatenate([labels, labels])))
    drawn = []
    for swap in swaps.blocks():
        kept = 1 - swap
        one, other = (
            held.values(weights, held.labels.count_choices(weights), statistics)
            for weights in (np.concatenate([kept, swap]), np.concatenate([swap, kept]))
        )
        drawn.append(one - other)
    return np.concatenate(drawn, axis=1)
