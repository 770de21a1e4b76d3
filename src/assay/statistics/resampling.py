"""Bootstrap resamples as multiplicities, drawn block by block from a seed.

Source: Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 8 (clusters).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Numbers in one block of multiplicities: 2**17 doubles are 1 MiB, so that the temporaries of one score stay
#: in the cache of the processor while dozens of resamples are still handled at once.
BLOCK = 1 << 17


def seed_of(seed: int, dataset: str, split: str, bucket: str) -> tuple[int, int]:
    """Return what seeds the draws of one bucket: the same in a run and in every report on it."""
    return seed, zlib.crc32(f"{dataset}|{split}|{bucket}".encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Resampler:
    """Draws of n pairs with replacement, the same ones each time it is asked.

    When *groups* are given (one code a pair), whole groups are drawn with replacement, as many as there are:
    pairs of one group (answers to one question, say) are not independent.

    Attributes:
        n: number of pairs.
        resamples: number of resamples.
        seed: what seeds the generator; any sequence of non-negative integers.
        groups: None, or integer codes 0 … k-1 of shape (n,).
    """

    n: int
    resamples: int
    seed: tuple[int, ...]
    groups: NDArray[np.intp] | None = None

    @property
    def units(self) -> int:
        """Number of things that are drawn: pairs, or groups of pairs."""
        return self.n if self.groups is None else int(self.groups.max(initial=-1)) + 1

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield the multiplicities in blocks of shape (n, b), the b of all blocks adding up to *resamples*.

        Row i, column r is how often pair i stands in resample r. The draws do not depend on the size of a block.
        """
        if self.n == 0:
            return
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed)))
        units = self.units
        width = max(1, min(256, BLOCK // self.n, self.resamples))
        # a float32 holds every multiplicity exactly and halves the traffic of the transposed copy
        drawn = np.empty((width, units), dtype=np.float32)
        done = 0
        while done < self.resamples:
            b = min(width, self.resamples - done)
            for r in range(b):
                drawn[r] = np.bincount(rng.integers(units, size=units), minlength=units)
            block = drawn[:b].T if self.groups is None else drawn[:b].T[self.groups]
            yield np.ascontiguousarray(block, dtype=np.float64)
            done += b
