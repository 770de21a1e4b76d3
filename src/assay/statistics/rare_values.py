"""How many pairs, or groups of pairs, have each label, and whether so few have a rare one that an interval misleads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.cells import Labels

#: With fewer pairs, or groups of pairs, outside the most frequent label, bootstrap intervals are too narrow:
#: ``docs/simulations.md`` has the simulation.
MIN_RARE_UNITS = 10


@dataclass(frozen=True)
class RareValues:
    """At least half of the pairs share a value, and few units have another one, so that intervals are too narrow.

    A score that is not 0 in a few pairs is as uncertain as labels of which few are not 0: how those few pairs come out
    decides the coefficient, and most resamples repeat what happened to them. Continuous values, or values spread over
    several levels, are not rare: none of them is that frequent.

    Attributes:
        kind: whose values they are, ``label`` or ``score``.
        units: the number of pairs, or groups of pairs, with another value than the most frequent one, below
            :data:`MIN_RARE_UNITS`.
        grouped: whether units are groups.
    """

    kind: str
    units: int
    grouped: bool

    @classmethod
    def of(cls, kind: str, codes: NDArray[np.intp], groups: NDArray[np.intp] | None) -> RareValues | None:
        """Return how few pairs, or groups, have another value than the most frequent one of n > 0 values.

        The result is None if no value is as frequent as half of the pairs, if at least :data:`MIN_RARE_UNITS` units
        have another value, and if all values are equal.

        Args:
            kind: ``label`` or ``score``.
            codes: the values as codes 0 … k-1, shape (n,).
            groups: the group codes, shape (n,); None without groups.
        """
        if 2 * np.bincount(codes).max() < len(codes):
            return None
        units = _rarer_units(codes, groups)
        # a constant has no coefficient that could mislead
        return cls(kind, units, groups is not None) if 0 < units < MIN_RARE_UNITS else None

    @property
    def rarity(self) -> str:
        """The number of units with another value than the most frequent one: ``3 pairs with the rarer label``."""
        unit = "group" if self.grouped else "pair"
        return f"{self.units} {unit}{'' if self.units == 1 else 's'} with the rarer {self.kind}"

    @property
    def reservation(self) -> str:
        """A warning that intervals are too narrow."""
        return f"{self.rarity}: intervals are too narrow"


def _rarer_units(codes: NDArray[np.intp], groups: NDArray[np.intp] | None) -> int:
    """Return the number of pairs, or of groups, with another value than the most frequent one of *codes*."""
    is_rarer = codes != np.argmax(np.bincount(codes))
    return int(is_rarer.sum()) if groups is None else len(np.unique(groups[is_rarer]))


@dataclass(frozen=True)
class LabelUnits:
    """The number of pairs, and of groups of pairs, with each label, from the lowest label.

    Attributes:
        pairs: the number of pairs with each label.
        units: the number of groups that contain each label; equal to *pairs* without groups.
        rarer_units: the number of groups (of pairs, without groups) with a label other than the most frequent one.
        grouped: whether there are groups.
        rare: the labels that few pairs, or groups, have; None if none are so rare.
        effective_units: the number of pairs, or of groups of equal sizes that are worth as much as these (Kish 1965).
    """

    pairs: tuple[int, ...]
    units: tuple[int, ...]
    rarer_units: int
    grouped: bool
    rare: RareValues | None
    effective_units: float

    @classmethod
    def of(cls, labels: Labels, groups: NDArray[np.intp] | None) -> LabelUnits:
        """Return the counts for the labels of n > 0 pairs; *groups* are codes of shape (n,), None for single pairs."""
        pairs = units = tuple(np.bincount(labels.codes, minlength=labels.levels).tolist())
        effective_units = float(len(labels.codes))
        if groups is not None:
            # each label once for each group that has it
            labels_of_groups = np.unique(np.stack([labels.codes, groups]), axis=1)[0]
            units = tuple(np.bincount(labels_of_groups, minlength=labels.levels).tolist())
            sizes = np.bincount(groups).astype(np.float64)
            effective_units = float(sizes.sum() ** 2 / (sizes**2).sum())
        return cls(
            pairs=pairs,
            units=units,
            rarer_units=_rarer_units(labels.codes, groups),
            grouped=groups is not None,
            rare=RareValues.of("label", labels.codes, groups),
            effective_units=effective_units,
        )
