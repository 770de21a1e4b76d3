"""A report as plain values: sheets, which are titled tables of text, and the records behind them.

:mod:`assay.reports.formats` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Column:
    """The head of a column.

    Attributes:
        head: its name.
        number: whether it holds numbers, which stand at the right edge and are never cut.
        is_note: whether it holds remarks on rows, separated by ``; ``. Where there is little width, in a terminal, they
            become footnotes; in print they are left out.
        printed: its name in print; the same by default.
    """

    head: str
    number: bool = False
    is_note: bool = False
    printed: str = ""


def number_columns(heads: Iterable[str]) -> list[Column]:
    """Return columns of numbers with these heads."""
    return [Column(head, number=True) for head in heads]


@dataclass(frozen=True)
class Sheet:
    """One table.

    Attributes:
        title: what it shows.
        columns: heads.
        rows: cells as a reader sees them; cells that are missing at the end are blank.
        facts: lines between title and table.
        notes: lines below it.
        warnings: lines below these, on what could not be computed.
        marked: numbers of rows that stand out, such as a winner.
        best: row and column of single cells that stand out, such as the highest value of a column.
        asides: numbers of rows that are no results, but something to compare results with.
        groups: where rows belong together, the first cell of these rows, with facts on each group. A terminal and print
            show the group as a heading above its rows, with the first fact, and no column of its own.
        caption: what stands above the table in print; title, facts and notes by default.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    facts: Sequence[str] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    marked: frozenset[int] = frozenset()
    best: frozenset[tuple[int, int]] = frozenset()
    asides: frozenset[int] = frozenset()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    caption: str = ""

    def stands_out(self, row: int, column: int) -> bool:
        """Return whether a cell is to be seen at once."""
        return row in self.marked or (row, column) in self.best

    def rows_of(self, group: str) -> list[int]:
        """Return the numbers of the rows of a group."""
        return [number for number, row in enumerate(self.rows) if row[0] == group]


@dataclass(frozen=True)
class Provenance:
    """What makes the numbers of a report again.

    Attributes:
        method: how they were computed, in words.
        signature: the same, with every setting.
        metrics: the signature of each metric.
    """

    method: str
    signature: str
    metrics: Mapping[str, str]


@dataclass(frozen=True)
class Document:
    """Sheets to read, and the records behind them to compute with.

    Attributes:
        sheets: the tables.
        records: flat objects, one a row of the CSV; undefined values are None.
        notes: lines at the end.
        value: what JSON shows; the records where it is None.
        latex: what LaTeX shows; the sheets where it is empty.
        columns: the columns of the CSV; by default the keys of the records.
        provenance: stands after the notes, where it is known.
        hints: lines before the tables, on what the user may have meant otherwise.
    """

    sheets: Sequence[Sheet]
    records: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    value: Any = None
    latex: str = ""
    columns: Sequence[str] = ()
    provenance: Provenance | None = None
    hints: Sequence[str] = ()
