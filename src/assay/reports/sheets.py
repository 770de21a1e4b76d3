"""A report as plain values: sheets, which are titled tables of text, and the records behind them.

:mod:`assay.reports.formats` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.tables import short_names


@dataclass(frozen=True)
class Column:
    """The head of a column.

    Attributes:
        head: its name.
        number: whether it holds numbers, which stand at the right edge and are never cut.
        is_note: whether it holds remarks on rows, separated by ``; ``. Where there is little width, in a terminal, they
            become footnotes; in print they are left out.
        printed: its name in print; the same by default.
        spare: where a terminal is narrow, columns with the highest number are left out first, with a hint; those with
            0 stay.
        key: whether it names the row: it is repeated where a wide table goes on below itself. By default the column
            that :attr:`Sheet.label` says.
    """

    head: str
    number: bool = False
    is_note: bool = False
    printed: str = ""
    spare: int = 0
    key: bool = False


def number_columns(heads: Iterable[str], *, keep: int | None = None) -> list[Column]:
    """Return columns of numbers with these heads; those after the first *keep* are spare, none by default."""
    columns = []
    for place, head in enumerate(heads):
        spare = 0 if keep is None or place < keep else 1
        columns.append(Column(head, number=True, spare=spare))
    return columns


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
        spare_rows: how many of the last rows say little: a terminal leaves them out, and print has them.
        spare_words: what these rows are, in the plural, for the line that a terminal shows in their place.
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
    spare_rows: int = 0
    spare_words: str = ""

    def stands_out(self, row: int, column: int) -> bool:
        """Return whether a cell is to be seen at once."""
        return row in self.marked or (row, column) in self.best

    def rows_of(self, group: str) -> list[int]:
        """Return the numbers of the rows of a group."""
        return [number for number, row in enumerate(self.rows) if row[0] == group]

    @property
    def label(self) -> int:
        """The number of the column that names the rows."""
        return 1 if self.groups else 0

    def cell(self, row: int, column: int) -> str:
        """Return the text of a cell, blank where it is missing at the end of a row."""
        cells = self.rows[row]
        return cells[column] if column < len(cells) else ""

    def facts_of_groups(self) -> list[str]:
        """Return a line for each group with all its facts."""
        return [f"{group}: {'; '.join(facts)}" for group, facts in self.groups.items()]

    def narrow(self) -> list[int]:
        """Return the columns that print and a terminal show: groups are headings there, notes on rows are elsewhere."""
        return [number for number, column in enumerate(self.columns) if number >= self.label and not column.is_note]

    def headed(self) -> Iterator[tuple[tuple[str, str] | None, Sequence[int]]]:
        """Yield the heading of each group (name, first fact) and its rows; no heading and all rows without groups."""
        for group, facts in self.groups.items():
            yield (group, facts[0]), self.rows_of(group)
        if not self.groups:
            yield None, range(len(self.rows))


class ShortNames:
    """The short names of metrics whose full ones hold a path, see :func:`~assay.tables.short_names`.

    Attributes:
        short: by full name, those that are shorter.
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        self.short = {name: short for name, short in short_names(metrics).items() if short != name}
        # of two names one of which begins the other, the longer is replaced
        longest_first = sorted(self.short, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def of(self, text: str) -> str:
        """Return the short name where a text is the name of a metric, else the text."""
        return self.short.get(text, text)

    def within(self, text: str) -> str:
        """Return a text with the short name of each metric that it names."""
        return self._pattern.sub(lambda match: self.short[match[0]], text) if self._pattern else text

    def in_sheet(self, sheet: Sheet) -> Sheet:
        """Return a sheet with short names in its heads and in the cells that are the name of a metric."""
        columns = [replace(column, head=self.of(column.head)) for column in sheet.columns]
        return replace(sheet, columns=columns, rows=[[self.of(cell) for cell in row] for row in sheet.rows])


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
        notes: lines at the end on method and signatures, which a terminal shows on request.
        warnings: lines before these that change what may be concluded, such as a metric without scores.
        value: what JSON shows; the records where it is None.
        latex: what LaTeX shows; the sheets where it is empty.
        columns: the columns of the CSV; by default the keys of the records.
        provenance: stands after the notes, where it is known.
        hints: lines before the tables, on what the user may have meant otherwise.
        metrics: the names of the metrics that the sheets show; a terminal shortens those that hold a path.
    """

    sheets: Sequence[Sheet]
    records: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    value: Any = None
    latex: str = ""
    columns: Sequence[str] = ()
    provenance: Provenance | None = None
    hints: Sequence[str] = ()
    warnings: Sequence[str] = ()
    metrics: Sequence[str] = ()
