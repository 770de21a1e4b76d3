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

from assay.statistics.agreement import PREPARED_BYTES, percentile_interval
from assay.statistics.cells import Labels, score_codes
from assay.statistics.coefficients import STATISTICS, LabelKind
from assay.statistics.concordance import Floats
from assay.statistics.exchange import Exchange
from assay.statistics.prepared import PreparedScore
from assay.statistics.resampling import BLOCK, Resampler
from assay.statistics.significance import williams

__all__ = ["Coefficients", "Couple", "Drawn", "Swaps", "draw_all", "draw_scores"]

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
class Coefficients:
    """The coefficients of one score.

    Attributes:
        values: shape (statistics,), NaN where undefined.
        chance: their means over permutations of the labels, shape (statistics,), NaN where no two pairs are compared.
        resampled: under each resample, shape (statistics, resamples), or None.
        n: pairs.
        units: for each statistic, how many pairs or groups of pairs stand behind it, and what they are called.
    """

    values: Floats
    chance: Floats
    resampled: Floats | None
    n: int
    units: tuple[tuple[int, str], ...]

    def interval(self, place: int, confidence: float) -> tuple[float, float] | None:
        """Return the interval of the statistic at *place*, None where there is none."""
        if self.resampled is None or np.isnan(self.values[place]):
            return None
        return percentile_interval(self.resampled[place], self.units[place][0], confidence)


@dataclass(frozen=True)
class Drawn:
    """Two scores compared, as drawn: what :func:`~assay.statistics.comparison.summarise` reads.

    Attributes:
        first: of the first score.
        second: of the second score, on the same pairs and under the same resamples.
        permuted: first less second after each exchange, shape (statistics, permutations), or None.
        p_williams: of Pearson's r, NaN where undefined, not asked for, or pairs are not independent.
    """

    first: Coefficients
    second: Coefficients
    permuted: Floats | None
    p_williams: float

    @property
    def sides(self) -> tuple[Coefficients, Coefficients]:
        """Both scores, in the order of the couple."""
        return self.first, self.second


@dataclass(frozen=True)
class _Rows:
    """Some of the pairs: sorted labels, shape (n,), and codes of their groups 0 … k-1, or None."""

    labels: Labels
    groups: NDArray[np.intp] | None

    @classmethod
    def of(cls, labels: Floats, groups: NDArray[np.intp] | None) -> _Rows:
        return cls(Labels.of(labels), None if groups is None else np.unique(groups, return_inverse=True)[1])

    def coefficients(
        self,
        scores: Floats,
        statistics: Sequence[str],
        resampler: Resampler,
        inside: NDArray[np.bool_] | slice = slice(None),
    ) -> Coefficients:
        """Hold scores against the labels; *inside* are these rows among those that are resampled."""
        n = len(scores)
        held = PreparedScore.of(scores, self.labels, self.groups)
        ones = np.ones((n, 1))
        values = held.values(ones, self.labels.count(ones), statistics)[:, 0]
        drawn = []
        for block in resampler.blocks():
            weights = block[inside]
            drawn.append(held.values(weights, self.labels.count(weights), statistics))
        resampled = np.concatenate(drawn, axis=1) if drawn else None
        behind = (n, "pairs") if self.groups is None else (int(self.groups.max()) + 1, "groups")
        units = dict.fromkeys(statistics, behind)
        for name in statistics:
            if STATISTICS[name].labels is LabelKind.grouped and held.within is not None:
                # of many groups, few may be such that a score can be right or wrong in them
                units[name] = held.within.units, behind[1]
        return Coefficients(values, held.chance(statistics), resampled, n, tuple(units[name] for name in statistics))


def draw_scores(
    scores: Mapping[str, Floats],
    labels: Floats,
    *,
    statistics: Sequence[str],
    resamples: int,
    seed: Sequence[int],
    groups: NDArray[np.intp] | None = None,
) -> dict[str, Coefficients]:
    """Draw resamples of all pairs and count in each score those that have it; arguments as for :func:`draw_all`.

    The same seed gives the same resamples as :func:`~assay.statistics.agreement.agreement`, hence the same intervals.
    """
    every = _Rows.of(labels, groups)
    resampler = Resampler(len(labels), resamples, tuple(seed), every.groups)
    found = {}
    for name, values in scores.items():
        known = np.isfinite(values)
        if not known.any():
            found[name] = _nothing(statistics)
            continue
        if known.all():
            found[name] = every.coefficients(values, statistics, resampler)
        else:
            rows = _Rows.of(labels[known], None if groups is None else groups[known])
            found[name] = rows.coefficients(values[known], statistics, resampler, known)
    return found


def _nothing(statistics: Sequence[str]) -> Coefficients:
    undefined = np.full(len(statistics), np.nan)
    return Coefficients(undefined, undefined, None, 0, ((0, "pairs"),) * len(statistics))


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
    """Draw for scores of the same pairs, couple by couple, resamples and exchanges of the pairs that have both scores.

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
            found |= dict.fromkeys(sharing, Drawn(_nothing(statistics), _nothing(statistics), None, np.nan))
            continue
        rows = _Rows.of(labels[inside], None if groups is None else groups[inside])
        held = {name: scores[name][inside] for couple in sharing for name in couple}
        resampler = Resampler(int(inside.sum()), resamples, tuple(seed), rows.groups)
        coefficients = {name: rows.coefficients(values, statistics, resampler) for name, values in held.items()}
        swaps = Swaps(int(inside.sum()), permutations, (*seed, 1), rows.groups)
        for couple, permuted in _permuted(sharing, held, rows, swaps, statistics, advance):
            first, second = (coefficients[name] for name in couple)
            p_williams = np.nan
            if groups is None and "pearson" in statistics:
                place = list(statistics).index("pearson")
                p_williams = _williams(held[couple[0]], held[couple[1]], first.values[place], second.values[place])
            found[couple] = Drawn(first, second, permuted, p_williams)
    return {couple: found[couple] for couple in asked}


def _williams(one: Floats, other: Floats, first: float, second: float) -> float:
    """Return the p-value of two scores with their correlations to the label, NaN where one is undefined."""
    if np.isnan(first + second):
        return np.nan
    return williams(first, second, float(np.corrcoef(one, other)[0, 1]), len(one))[1]


def _permuted(
    couples: Sequence[Couple],
    held: Mapping[str, Floats],
    rows: _Rows,
    swaps: Swaps,
    statistics: Sequence[str],
    advance: Callable[[int], None] | None,
) -> Iterator[tuple[Couple, Floats | None]]:
    """Yield the differences under each exchange, shape (statistics, permutations), None where a score is constant.

    As many couples see a block of exchanges as memory holds.
    """
    if not swaps.permutations:
        yield from ((couple, None) for couple in couples)
        return
    labels = rows.labels.values
    # what varies by rounding alone cannot be standardised
    varies = {name for name, values in held.items() if score_codes(values).any()}
    step = max(1, PREPARED_BYTES // (len(labels) * _EXCHANGE_BYTES))
    for start in range(0, len(couples), step):
        batch = couples[start : start + step]
        exchanges = {
            (one, other): Exchange.of(held[one], held[other], labels, rows.groups)
            for one, other in batch
            if {one, other} <= varies
        }
        drawn: dict[Couple, list[Floats]] = {couple: [] for couple in exchanges}
        for block in swaps.blocks():
            for couple, exchange in exchanges.items():
                drawn[couple].append(exchange.differences(block, statistics))
            if advance:
                advance(block.shape[1] * len(batch))
        for couple in batch:
            yield couple, np.concatenate(drawn[couple], axis=1) if drawn.get(couple) else None
