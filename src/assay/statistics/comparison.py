"""Which of two scores agrees better with the label, and whether the difference is more than chance.

The permutation test exchanges the two scores of a pair, or of a whole group of pairs, with probability one half, both
scores standardised: PERM-BOTH of Deutsch, Dror & Roth, A Statistical Analysis of Summarization Evaluation Metrics using
Resampling Methods (2021), on single pairs. The bootstrap is paired: all scores see the same resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import FEWEST, PREPARED_BYTES, expanded_tail
from assay.statistics.cells import Labels
from assay.statistics.concordance import Floats
from assay.statistics.corrections import williams
from assay.statistics.exchange import Exchange
from assay.statistics.held import HeldScore
from assay.statistics.resampling import BLOCK, Resampler

__all__ = ["POWER", "Couple", "Difference", "Swaps", "compare", "compare_all"]

#: Differences nearer than this to the observed one count as equal to it.
NOISE = 1e-12
#: With this probability the smallest difference that the data could have shown would have been shown.
POWER = 0.8
#: Bytes of an :class:`Exchange` a pair of texts, about.
_EXCHANGE_BYTES = 400

Couple = tuple[str, str]


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
        detectable: the smallest difference that so many pairs would have shown with probability :data:`POWER`, by a
            two-sided test at the level of the interval, from the spread of the resampled differences (normal
            approximation); None where there is no interval.
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
    detectable: float | None
    n: int
    note: str

    @property
    def value(self) -> float | None:
        """The difference, or None where one of the coefficients is undefined."""
        return None if self.first is None or self.second is None else self.first - self.second


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
class _Rows:
    """Pairs that have both scores of some couples, and what is drawn of them.

    Attributes:
        labels: shape (n,).
        resampler: of the bootstrap.
        swaps: of the permutation test.
        units: pairs, or groups of pairs.
    """

    labels: Labels
    resampler: Resampler
    swaps: Swaps
    units: int

    @classmethod
    def of(
        cls, labels: Floats, groups: NDArray[np.intp] | None, resamples: int, permutations: int, seed: tuple[int, ...]
    ) -> _Rows:
        n = len(labels)
        if groups is not None:
            groups = np.unique(groups, return_inverse=True)[1]
        units = n if groups is None else int(groups.max(initial=-1)) + 1
        return cls(
            Labels.of(labels),
            Resampler(n, resamples, (*seed, 0), groups),
            Swaps(n, permutations, (*seed, 1), groups),
            units,
        )


@dataclass(frozen=True)
class _Held:
    """One score on some rows: its coefficients, shape (statistics,), and those of each resample, or None."""

    scores: Floats
    values: Floats
    resampled: Floats | None


def compare(first: Floats, second: Floats, labels: Floats, **settings: Any) -> list[Difference]:
    """Compare two scores of the same pairs, each of shape (n,), one :class:`Difference` a statistic.

    The settings are those of :func:`compare_all`.
    """
    return compare_all({"first": first, "second": second}, labels, **settings)["first", "second"]


def compare_all(
    scores: Mapping[str, Floats],
    labels: Floats,
    *,
    statistics: Sequence[str],
    permutations: int,
    resamples: int,
    confidence: float,
    seed: Sequence[int],
    groups: NDArray[np.intp] | None = None,
    couples: Sequence[Couple] | None = None,
    advance: Callable[[int], None] | None = None,
) -> dict[Couple, list[Difference]]:
    """Compare scores of the same pairs two by two.

    Args:
        scores: by name, arrays of shape (n,); NaN marks a pair without a score: pairs that lack one of two scores are
            left out where these are compared.
        labels: shape (n,), finite.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.
        permutations: draws of the permutation test; 0 for none.
        resamples: draws of the paired bootstrap; 0 for none.
        confidence: level of the interval, in (0, 1).
        seed: non-negative integers; the same seed gives the same draws for all couples with the same pairs.
        groups: None, or integer codes of shape (n,): groups are drawn and exchanged as a whole.
        couples: names of what is compared, the first less the second; all couples in the order of *scores* by default.
        advance: called with the number of (couple, permutation) units done.

    Returns:
        By couple, one difference a statistic.
    """
    asked = list(combinations(scores, 2)) if couples is None else list(couples)
    known = {name: np.isfinite(values) for name, values in scores.items()}
    by_rows: dict[bytes, list[Couple]] = {}
    for one, other in asked:
        by_rows.setdefault(np.packbits(known[one] & known[other]).tobytes(), []).append((one, other))
    found: dict[Couple, list[Difference]] = {}
    for sharing in by_rows.values():
        one, other = sharing[0]
        inside = known[one] & known[other]
        if not inside.any():
            found |= {
                couple: [_undefined(name, np.nan, np.nan, 0, "no pair has both scores") for name in statistics]
                for couple in sharing
            }
            continue
        rows = _Rows.of(
            labels[inside], None if groups is None else groups[inside], resamples, permutations, tuple(seed)
        )
        names = dict.fromkeys(name for couple in sharing for name in couple)
        held = {name: _hold(scores[name][inside], rows, statistics) for name in names}
        for couple, swapped in _swapped(sharing, held, rows, statistics, advance):
            first, second = (held[name] for name in couple)
            found[couple] = [
                _difference(name, place, first, second, swapped, rows, confidence)
                for place, name in enumerate(statistics)
            ]
    return {couple: found[couple] for couple in asked}


def _hold(scores: Floats, rows: _Rows, statistics: Sequence[str]) -> _Held:
    held = HeldScore.of(scores, rows.labels)
    ones = np.ones((len(scores), 1))
    values = held.values(ones, rows.labels.count(ones), statistics)[:, 0]
    drawn = [held.values(weights, rows.labels.count(weights), statistics) for weights in rows.resampler.blocks()]
    return _Held(scores, values, np.concatenate(drawn, axis=1) if drawn else None)


def _swapped(
    couples: Sequence[Couple],
    held: Mapping[str, _Held],
    rows: _Rows,
    statistics: Sequence[str],
    advance: Callable[[int], None] | None,
) -> Iterator[tuple[Couple, Floats | None]]:
    """Yield the differences under each exchange, shape (statistics, permutations), None where a score is constant.

    As many couples see a block of exchanges as memory holds.
    """
    n = len(rows.labels.values)
    step = max(1, PREPARED_BYTES // (n * _EXCHANGE_BYTES))
    for start in range(0, len(couples), step):
        batch = couples[start : start + step]
        exchanges = {
            (one, other): Exchange.of(held[one].scores, held[other].scores, rows.labels.values)
            for one, other in batch
            if np.ptp(held[one].scores) and np.ptp(held[other].scores)
        }
        drawn: dict[Couple, list[Floats]] = {couple: [] for couple in exchanges}
        for swaps in rows.swaps.blocks():
            for couple, exchange in exchanges.items():
                drawn[couple].append(exchange.differences(swaps, statistics))
            if advance:
                advance(swaps.shape[1] * len(batch))
        for couple in batch:
            yield couple, np.concatenate(drawn[couple], axis=1) if drawn.get(couple) else None


def _difference(
    name: str, place: int, one: _Held, other: _Held, swapped: Floats | None, rows: _Rows, confidence: float
) -> Difference:
    n = len(one.scores)
    first, second = one.values[place], other.values[place]
    if np.isnan(first) or np.isnan(second):
        return _undefined(name, first, second, n, "undefined")
    note, low, high, detectable, p_bootstrap, p_permutation, p_williams = "", None, None, None, None, None, None
    groups = rows.resampler.groups
    if one.resampled is not None and other.resampled is not None:
        drawn = one.resampled[place] - other.resampled[place]
        known = drawn[~np.isnan(drawn)]
        if rows.units < FEWEST:
            note = f"no interval below {FEWEST} {'pairs' if groups is None else 'groups'}"
        elif 2 * len(known) >= len(drawn):
            tail = expanded_tail(rows.units, confidence)
            low, high = (float(bound) for bound in np.quantile(known, [tail, 1 - tail]))
            detectable = _detectable(known, confidence)
            side = min(int((known <= 0).sum()), int((known >= 0).sum()))
            p_bootstrap = min(1.0, 2 * (1 + side) / (1 + len(known)))
    if swapped is not None:
        null = swapped[place][~np.isnan(swapped[place])]
        p_permutation = float(1 + (np.abs(null) >= abs(first - second) - NOISE).sum()) / (1 + len(null))
    if name == "pearson" and groups is None:
        between = float(np.corrcoef(one.scores, other.scores)[0, 1])
        p_williams = _known(williams(first, second, between, n)[1])
    return Difference(
        name, float(first), float(second), low, high, p_permutation, p_bootstrap, p_williams, detectable, n, note
    )


def _detectable(drawn: Floats, confidence: float) -> float:
    from scipy.special import ndtri

    return float((ndtri((1 + confidence) / 2) + ndtri(POWER)) * drawn.std(ddof=1))


def _undefined(statistic: str, first: float, second: float, n: int, why: str) -> Difference:
    return Difference(statistic, _known(first), _known(second), None, None, None, None, None, None, n, why)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
