"""Populations of metrics that follow one label with noise, for simulations of tests and of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

#: Where a normal variable is cut into three labels: 62, 22 and 16 % of the pairs.
CUTS = (0.3, 1.0)


@dataclass(frozen=True)
class Population:
    """Pairs and metrics; equally noisy metrics have equal coefficients.

    Attributes:
        name: in tables.
        n: pairs.
        normal_labels: whether labels are normal; else there are three levels.
        rare: how many pairs have the label 1, the others 0; 0 for labels as above.
        groups: how many groups the pairs fall into, with effects on the label and on each metric; None for none.
        unequal: whether the sizes of the groups are as 1, 1/2, 1/3, …; else they are equal.
        zeros: share of the pairs of the lowest label on which all metrics give 0; half of that of the other pairs.
        skewed: how many metrics, from the first, are the exponential of what they would be: equal ranks, a long tail.
    """

    name: str
    n: int
    normal_labels: bool = False
    rare: int = 0
    groups: int | None = None
    unequal: bool = False
    zeros: float = 0.0
    skewed: int = 0

    def draw(self, rng: np.random.Generator, noise: Sequence[float]) -> tuple[list[Floats], Floats, Codes | None]:
        """Return the scores of metrics with so much noise, the labels, and the groups of one sample."""
        groups = self._draw_groups(rng)
        latent = rng.normal(size=self.n) + _effects(rng, groups, 1.0)
        if self.rare:
            labels = (latent > np.sort(latent)[-self.rare - 1]).astype(float)
        else:
            labels = latent if self.normal_labels else np.digitize(latent, CUTS).astype(float)
        scores = []
        for spread in noise:
            scores.append(latent + _effects(rng, groups, 0.5) + spread * rng.normal(size=self.n))
        for place in range(self.skewed):
            scores[place] = np.exp(scores[place])
        if self.zeros:
            share = np.where(labels == labels.min(), self.zeros, self.zeros / 2)
            without_overlap = rng.random(self.n) < share
            # what overlaps scores above 0
            scores = [np.where(without_overlap, 0.0, 1 / (1 + np.exp(-values))) for values in scores]
        return scores, labels, groups

    def _draw_groups(self, rng: np.random.Generator) -> Codes | None:
        """Return the codes of groups of which none is empty, shape (n,)."""
        if self.groups is None:
            return None
        if not self.unequal:
            return np.arange(self.n) * self.groups // self.n
        share = 1 / np.arange(1, self.groups + 1)
        further = rng.choice(self.groups, self.n - self.groups, p=share / share.sum())
        return np.sort(np.concatenate([np.arange(self.groups), further]))


def _effects(rng: np.random.Generator, groups: Codes | None, spread: float) -> Floats | float:
    """Return a normal effect of each pair's group; 0 without groups."""
    return 0.0 if groups is None else spread * rng.normal(size=groups.max() + 1)[groups]
