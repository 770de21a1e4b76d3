"""A table as it was read, before anybody knows which column is which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

__all__ = ["Misfit", "SourceTable"]


class Misfit(NamedTuple):
    """The first value of a column that can be no text: its place from 0, and what it is."""

    place: int
    what: str


@dataclass(frozen=True)
class SourceTable:
    """A table as it was read, with what is needed to name a row of it in a message.

    Attributes:
        table: the columns under their own names.
        name: the file, or what the data in memory is.
        unit: what a row is called: ``row`` (the header of a CSV is row 1) or ``line``.
        first: number of the first row of the table.
        rows: number of each row where they do not simply follow each other (blank lines); else None.
        as_text: every cell is text, as in CSV: a number must be read out of it.
        misfits: by column that became text only because its values are of several kinds, the first that is no text.
    """

    table: pa.Table
    name: str
    unit: str = "row"
    first: int = 0
    rows: np.ndarray[Any, np.dtype[np.int64]] | None = None
    as_text: bool = False
    misfits: Mapping[str, Misfit] = field(default_factory=dict)

    def number(self, index: int) -> int:
        """Return the number by which a user knows the row at *index*."""
        return int(self.rows[index]) if self.rows is not None else self.first + int(index)

    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of all rows, int64 of shape (n,)."""
        if self.rows is not None:
            return self.rows
        return np.arange(self.first, self.first + self.table.num_rows, dtype=np.int64)

    def where(self, index: int) -> str:
        """Return ``FILE, row 7``."""
        return f"{self.name}, {self.unit} {self.number(index)}"

    def some(self, indices: Iterable[int], limit: int = 5) -> str:
        """Return ``rows 4, 7, 9`` with at most *limit* numbers."""
        chosen = [int(i) for i in indices]
        shown = ", ".join(str(self.number(i)) for i in chosen[:limit])
        return f"{self.unit}{'s' if len(chosen) > 1 else ''} {shown}{', …' if len(chosen) > limit else ''}"
