"""Which dimensions of an embedding belong to which aspect.

Opitz and Frank (2022), "SBERT studies Meaning Representations", section 3.1: sub-embeddings that do not overlap, one
an aspect, and a residual for what no aspect covers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import InputError, unknown

__all__ = ["OVERALL", "RESIDUAL", "Layout", "even_layout"]

#: Names that no aspect can have: the cosine of the whole embeddings, and of what no aspect has.
OVERALL, RESIDUAL = "overall", "residual"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True)
class Layout:
    """A partition of an embedding.

    Attributes:
        aspects: name, first dimension, one past its last; counted from 0, side by side without a gap.
        dimensions: of the embedding; those after the last aspect are the residual.

    Raises:
        InputError: two ranges overlap or leave a gap, one exceeds the embedding or is empty, or a name comes twice or
            has not the form.
    """

    aspects: tuple[tuple[str, int, int], ...]
    dimensions: int

    def __post_init__(self) -> None:
        if not self.aspects:
            raise InputError("layout: it has no aspect")
        names = self.names
        for name in names:
            if _NAME.fullmatch(name) is None or name in (OVERALL, RESIDUAL):
                raise InputError(
                    f"layout: {name!r} is no name of an aspect; valid: small letters, digits and hyphens, "
                    f"but not {OVERALL} or {RESIDUAL}"
                )
            if names.count(name) > 1:
                raise InputError(f"layout: the aspect {name} is there twice")
        before, end = "", 0
        for name, first, stop in sorted(self.aspects, key=lambda one: one[1:]):
            if not 0 <= first < stop:
                raise InputError(f"layout: {name} has the range {first} to {stop}; the first must be below the end")
            if first < end:
                raise InputError(f"layout: {name} begins at dimension {first}, inside {before}, which ends at {end}")
            if first > end:
                raise InputError(f"layout: dimensions {end} to {first} belong to no aspect; the residual comes last")
            if stop > self.dimensions:
                raise InputError(f"layout: {name} ends at dimension {stop}, the embedding has {self.dimensions}")
            before, end = name, stop

    @property
    def names(self) -> tuple[str, ...]:
        """The aspects in the order of the layout."""
        return tuple(name for name, _, _ in self.aspects)

    @property
    def residual(self) -> tuple[int, int]:
        """First dimension of the residual, and one past its last; empty where aspects take all dimensions."""
        return max(stop for _, _, stop in self.aspects), self.dimensions

    @property
    def parts(self) -> tuple[str, ...]:
        """All that has a score of its own besides the whole: the aspects, and the residual where there is one."""
        first, stop = self.residual
        return self.names if first == stop else (*self.names, RESIDUAL)

    def range_of(self, part: str) -> tuple[int, int]:
        """Return the first dimension of an aspect or the residual, and one past its last.

        Raises:
            InputError: there is none of that name.
        """
        if part not in self.parts:
            raise InputError(unknown("the layout has no aspect", part, self.parts))
        if part == RESIDUAL:
            return self.residual
        return next((first, stop) for name, first, stop in self.aspects if name == part)

    @property
    def digest(self) -> str:
        """Twelve hex digits that tell layouts apart."""
        return hashlib.sha256(repr((self.aspects, self.dimensions)).encode()).hexdigest()[:12]


def even_layout(names: Sequence[str], width: int, dimensions: int) -> Layout:
    """Return a layout that gives each name *width* dimensions, in order.

    Raises:
        InputError: they do not fit, or the names are no names of aspects.
    """
    return Layout(tuple((name, i * width, (i + 1) * width) for i, name in enumerate(names)), dimensions)
