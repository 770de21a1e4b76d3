"""Bootstrap resamples as multiplicities, drawn block by block from a seed, and the design effect of groups.

Source: Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 8 (clusters).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

#: The size of one block of multiplicities: 2**16 doubles are half a MiB, so that the temporaries of one score stay in
#: the cache of a core while dozens of resamples are still handled at once.
BLOCK = 1 << 16
#: The most resamples in one block, which few pairs reach.
MAX_BLOCK_WIDTH = 256


def seed_of(seed: int, dataset: str, split: str, bucket: str) -> tuple[int, int]:
    """Return the seed for the draws of one bucket: *seed* and a checksum of the names of the bucket.

    It is the same in a run and in every report on it.
    """
    # a name that comes from a file name may hold bytes that are no UTF-8, as lone surrogates
    return seed, zlib.crc32(f"{dataset}|{split}|{bucket}".encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Resampler:
    """Bootstrap resamples of n pairs, the same ones in each iteration.

    With *groups*, each resample draws whole groups with replacement, as many as there are, because pairs of one group
    (such as answers to one question) are not independent.

    Attributes:
        n: the number of pairs.
        resamples: the number of resamples.
        seed: the seed of the generator, non-negative integers.
        groups: None, or integer codes 0 … k-1 of shape (n,).
    """

    n: int
    resamples: int
    seed: tuple[int, ...]
    groups: NDArray[np.intp] | None = None

    @property
    def units(self) -> int:
        """The number of units that are drawn: pairs, or groups of pairs."""
        return self.n if self.groups is None else int(self.groups.max(initial=-1)) + 1

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield the multiplicities in blocks of shape (n, b), the b of all blocks adding up to *resamples*.

        The entry in row i and column r is how often resample r contains pair i. The draws do not depend on the size of
        a block. There are no blocks if *n* is 0.
        """
        if self.n == 0:
            return
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed)))
        units = self.units
        width = max(1, min(MAX_BLOCK_WIDTH, BLOCK // self.n, self.resamples))
        # a float32 holds every multiplicity exactly and halves the traffic of the transposed copy
        multiplicities = np.empty((width, units), dtype=np.float32)
        resamples_drawn = 0
        while resamples_drawn < self.resamples:
            b = min(width, self.resamples - resamples_drawn)
            for r in range(b):
                multiplicities[r] = np.bincount(rng.integers(units, size=units), minlength=units)
            block = multiplicities[:b].T if self.groups is None else multiplicities[:b].T[self.groups]
            yield np.ascontiguousarray(block, dtype=np.float64)
            resamples_drawn += b


# The design effect of grouped pairs: the loss of precision compared with the same number of independent pairs.


def design_effect(values: Floats, groups: NDArray[np.intp]) -> float | None:
    """Return the design effect of the mean: its variance with groups as the units drawn, over that with single pairs.

    It is about 1 if the pairs of a group are no more alike than others, and below 1 if they differ by design, as a foil
    and a paraphrase of one sentence do. With many groups of one size m it is about 1 + (m - 1) ICC, which is m if the
    pairs of each group are equal. Its square root is the factor by which a standard error grows.

    Args:
        values: one value per pair, such as its label, shape (n,), finite.
        groups: the group of each pair as a code 0 … k-1, shape (n,).

    Returns:
        The design effect; None if it is undefined, with fewer than two groups or equal values.

    Source:
        Kish 1965, Survey Sampling, chapters 5.4 and 8.2; the variance of the mean with groups of unequal sizes is that
        of a ratio (chapter 6.3), or the cluster-robust one of Liang and Zeger 1986 with the factor k / (k - 1).
    """
    n, k = len(values), int(groups.max(initial=-1)) + 1
    if k < 2 or not np.ptp(values):
        return None
    totals = np.bincount(groups, weights=values - values.mean(), minlength=k)
    with_groups = k / (k - 1) * (totals**2).sum() / n**2
    with_pairs = values.var(ddof=1) / n
    return float(with_groups / with_pairs)
