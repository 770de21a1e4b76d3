"""What is drawn to compare scores of the same pairs two by two: resamples for all of them, exchanges for each couple.

The permutation test exchanges the two scores of a pair, or of a whole group of pairs, with probability one half, both
scores standardised: PERM-BOTH of Deutsch, Dror & Roth, A Statistical Analysis of Summarization Evaluation Metrics using
Resampling Methods (2021), on single pairs. The bootstrap is paired: all scores see the same resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import PREPARED_BYTES
from assay.statistics.cells import Labels
from assay.statistics.concordance import Floats
from assay.statistics.corrections import williams
from assay.statistics.exchange import Exchange
from assay.statistics.held import HeldScore
from assay.statistics.resampling import BLOCK, Resampler

__all__ = ["Couple", "Drawn", "Swaps", "draw_all"]

#: Bytes of an :class:`Exchange` a pair of texts, about.
_EXCHANGE_BYTES = 400

#: Names of two scores, the first less the second.
Couple = tuple[str, str]


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


@dataclass(frozen=True)
class Drawn:
    """Two scores compared, as drawn: what :func:`summarise` reads.

    Attributes:
        first: coefficients of the first score, shape (statistics,), NaN where undefined.
        second: of the second score.
        resampled: first less second under each resample, shape (statistics, resamples), or None.
        permuted: first less second after each exchange, shape (statistics, permutations), or None.
        p_williams: of Pearson's r, NaN where undefined, not asked for, or pairs are not independent.
        n: pairs with both scores.
        units: pairs, or groups of pairs, that were drawn.
        unit: what they are called.
    """

    first: Floats
    second: Floats
    resampled: Floats | None
    permuted: Floats | None
    p_williams: float
    n: int
    units: int
    unit: str


def draw_all(
    scores: Mapping[str, Floats],
    labels: Floats,
    *,
    statistics: Sequence[str],
    permutations: int,
    resamples: int,
    seed: Sequence[int],
    groups: NDArray[np.intp] | None = None,
    couples: Sequence[Couple] | None = None,
    advance: Callable[[int], None] | None = None,
) -> dict[Couple, Drawn]:
    """Draw for scores of the same pairs, couple by couple.

    Args:
        scores: by name, arrays of shape (n,); NaN marks a pair without a score: pairs that lack one of two scores are
            left out where these are compared.
        labels: shape (n,), finite.
        statistics: names out of :data:`~assay.statistics.coefficients.STATISTICS`.
        permutations: draws of the permutation test; 0 for none.
        resamples: draws of the paired bootstrap; 0 for none.
        seed: non-negative integers; the same seed gives the same draws for all couples with the same pairs.
        groups: None, or integer codes of shape (n,): groups are drawn and exchanged as a whole.
        couples: what is compared; all couples in the order of *scores* by default.
        advance: called with the number of (couple, permutation) units done.
    """
    asked = list(combinations(scores, 2)) if couples is None else list(couples)
    known = {name: np.isfinite(values) for name, values in scores.items()}
    by_rows: dict[bytes, list[Couple]] = {}
    for one, other in asked:
        by_rows.setdefault(np.packbits(known[one] & known[other]).tobytes(), []).append((one, other))
    found: dict[Couple, Drawn] = {}
    for sharing in by_rows.values():
        one, other = sharing[0]
        inside = known[one] & known[other]
        if not inside.any():
            nothing = np.full(len(statistics), np.nan)
            found |= dict.fromkeys(sharing, Drawn(nothing, nothing, None, None, np.nan, 0, 0, "pairs"))
            continue
        rows = _Rows.of(
            labels[inside], None if groups is None else groups[inside], resamples, permutations, tuple(seed)
        )
        names = dict.fromkeys(name for couple in sharing for name in couple)
        held = {name: _hold(scores[name][inside], rows, statistics) for name in names}
        for couple, permuted in _permuted(sharing, held, rows, statistics, advance):
            first, second = (held[name] for name in couple)
            found[couple] = _drawn(first, second, permuted, rows, statistics)
    return {couple: found[couple] for couple in asked}


def _hold(scores: Floats, rows: _Rows, statistics: Sequence[str]) -> _Held:
    held = HeldScore.of(scores, rows.labels)
    ones = np.ones((len(scores), 1))
    values = held.values(ones, rows.labels.count(ones), statistics)[:, 0]
    drawn = [held.values(weights, rows.labels.count(weights), statistics) for weights in rows.resampler.blocks()]
    return _Held(scores, values, np.concatenate(drawn, axis=1) if drawn else None)


def _drawn(one: _Held, other: _Held, permuted: Floats | None, rows: _Rows, statistics: Sequence[str]) -> Drawn:
    n = len(one.scores)
    single = rows.resampler.groups is None
    p_williams = np.nan
    if "pearson" in statistics and single:
        first, second = (held.values[list(statistics).index("pearson")] for held in (one, other))
        if not np.isnan(first + second):
            between = float(np.corrcoef(one.scores, other.scores)[0, 1])
            p_williams = williams(first, second, between, n)[1]
    resampled = None
    if one.resampled is not None and other.resampled is not None:
        resampled = one.resampled - other.resampled
    return Drawn(
        one.values, other.values, resampled, permuted, p_williams, n, rows.units, "pairs" if single else "groups"
    )


def _permuted(
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
