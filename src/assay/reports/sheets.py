"""A report as plain values: sheets (titled tables of text) and the records behind them.

:mod:`assay.reports.formats` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assay.common.messages import Message
from assay.common.numbers import NOTE_SEPARATOR
from assay.common.tables import short_names

if TYPE_CHECKING:  # the help of a verb needs the formats of tables, and not NumPy
    from assay.analysis.data import ScoredDataset


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, and the text that it shows of a record.

    Attributes:
        head: the text of the head.
        number: whether the column holds numbers, which are aligned to the right and never truncated.
        printed: the text of the head in print; the same as *head* if empty.
        spare: a narrow terminal leaves out the columns with the highest number first, with a hint; columns with 0 are
            always shown.
        key: whether the column names the row. A table too wide for a terminal continues below, with its key columns
            repeated; if it has none, its first column is the key.
        cell: the name of the attribute of a record that the column shows, or a function that returns its text; for
            :func:`table_rows` only.
    """

    head: str
    number: bool = False
    printed: str = ""
    spare: int = 0
    key: bool = False
    cell: str | Callable[[Any], str] = field(default="", compare=False)

    def text(self, record: object) -> str:
        """Return the text that the column shows of a record."""
        return str(getattr(record, self.cell)) if isinstance(self.cell, str) else self.cell(record)


def table_rows(columns: Sequence[Column], records: Iterable[object]) -> list[list[str]]:
    """Return one row per record, with the text that each column shows of it."""
    return [[column.text(record) for column in columns] for record in records]


def number_columns(heads: Iterable[str]) -> list[Column]:
    """Return number columns with these heads."""
    return [Column(head, number=True) for head in heads]


@dataclass(frozen=True)
class Sheet:
    """One table.

    Attributes:
        title: the title.
        columns: the heads of the columns.
        rows: the cells as shown to a reader; missing cells at the end of a row are blank.
        facts: the lines between title and table.
        notes: the lines below the table.
        warnings: the lines below the notes, on what could not be computed.
        marked: the indices of rows to emphasise, such as a winner.
        best: the (row, column) indices of single cells to emphasise, such as the highest value of a column.
        asides: the indices of rows that are not results but references to compare results with, such as a ceiling.
        groups: if rows form groups, the facts on each group by the first cell of its rows. A terminal and print show
            the group as a heading above its rows, with the first fact, instead of the first column.
        caption: the caption in print; title, facts and notes if empty.
        spare_rows: the number of minor rows at the end, which a terminal leaves out and print keeps.
        spare_words: a plural noun phrase for these rows, for the line that a terminal shows in their place.
        row_notes: the remarks on each row, if any row may have some. In a terminal they become footnotes; in print they
            are left out; elsewhere they are the last column.
        is_of_part: whether it is about a part of the data only; a terminal leaves it to ``--explain`` if the document
            has a closing.
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
    row_notes: Sequence[Sequence[str]] = ()
    is_of_part: bool = False

    def is_emphasised(self, row: int, column: int) -> bool:
        """Return whether a cell is emphasised: its row is marked, or it is the best of its column."""
        return row in self.marked or (row, column) in self.best

    @property
    def label_column(self) -> int:
        """The index of the column that names the rows."""
        return 1 if self.groups else 0

    def cell(self, row: int, column: int) -> str:
        """Return the text of a cell; empty if it is missing at the end of a row."""
        cells = self.rows[row]
        return cells[column] if column < len(cells) else ""

    def facts_of_groups(self) -> list[str]:
        """Return one line per group with all its facts."""
        return [f"{group}: {'; '.join(facts)}" for group, facts in self.groups.items()]

    def shown_columns(self) -> list[int]:
        """Return the indices of the columns that print and a terminal show: all but that of groups."""
        return list(range(self.label_column, len(self.columns)))

    def with_note_column(self) -> Sheet:
        """Return the sheet with the remarks on its rows as a last column, for a format without footnotes."""
        if not self.row_notes:
            return self
        rows = []
        for number, (row, notes) in enumerate(zip(self.rows, self.row_notes, strict=True)):
            # a reference has no remarks
            rows.append([*row] if number in self.asides else [*row, NOTE_SEPARATOR.join(notes)])
        return replace(self, columns=[*self.columns, Column("note")], rows=rows, row_notes=())

    def grouped_rows(self) -> Iterator[tuple[tuple[str, str] | None, Sequence[int]]]:
        """Yield the heading (name, first fact) and the row indices of each group; without groups, None and all rows."""
        for group, facts in self.groups.items():
            # the first cell of a row is its group
            yield (group, facts[0]), [number for number, row in enumerate(self.rows) if row[0] == group]
        if not self.groups:
            yield None, range(len(self.rows))


class ShortNames:
    """Short names for metrics whose full names hold a path, see :func:`~assay.common.tables.short_names`.

    Args:
        metrics: the full names of all metrics of a report; their short names are distinct.

    Attributes:
        short: the short name by full name, for metrics whose short name differs.
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        self.short = {name: short for name, short in short_names(metrics).items() if short != name}
        # a regular expression takes the first alternative that matches: a name must precede its own prefixes
        longest_first = sorted(self.short, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def shorten(self, text: str) -> str:
        """Return the short name if a text is the name of a metric, else the text."""
        return self.short.get(text, text)

    def shorten_within(self, text: str) -> str:
        """Return a text in which the metrics that it mentions have their short names."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self.short[match[0]], text)

    def shorten_sheet(self, sheet: Sheet) -> Sheet:
        """Return a sheet with short names in those heads and cells that are the name of a metric."""
        if not self.short:
            return sheet
        columns = [replace(column, head=self.shorten(column.head)) for column in sheet.columns]
        rows = [[self.shorten(cell) for cell in row] for row in sheet.rows]
        return replace(sheet, columns=columns, rows=rows)


@dataclass(frozen=True)
class Provenance:
    """The information needed to reproduce the numbers of a report.

    Attributes:
        method: a description in words of how the numbers were computed.
        signature: the signature of the run, with every setting.
        metrics: the signature of each metric, by name.
    """

    method: str
    signature: str
    metrics: Mapping[str, str]


@dataclass(frozen=True)
class Document:
    """A report: sheets for readers, and the records behind them for programs.

    Attributes:
        sheets: the tables.
        records: flat objects, one per row of the CSV; undefined values are None.
        notes: the last lines, on method and signatures, which a terminal shows on request.
        value: the value to write as JSON; the records if None.
        latex: the text to write as LaTeX; the sheets if empty.
        columns: the columns of the CSV; the keys of the records if empty.
        provenance: the last lines after the notes; None if unknown.
        hints: the lines before the tables, on settings that the user may not have intended.
        warnings: the lines before the notes that limit the conclusions, such as on a metric without scores.
        metrics: the names of the metrics in the sheets; a terminal shortens those that hold a path.
        closing: the last lines of all: the answer in short.
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
    closing: Sequence[str] = ()


def change_lines(document: Document, change: Callable[[str], str]) -> Document:
    """Return a document with its lines and cells changed, such as to show flags; titles, heads and records stay."""

    def changed(lines: Sequence[str]) -> list[str]:
        return list(map(change, lines))

    sheets = [
        replace(
            sheet,
            rows=list(map(changed, sheet.rows)),
            facts=changed(sheet.facts),
            notes=changed(sheet.notes),
            warnings=changed(sheet.warnings),
            row_notes=list(map(changed, sheet.row_notes)),
        )
        for sheet in document.sheets
    ]
    lines = (document.notes, document.hints, document.warnings, document.closing)
    notes, hints, warnings, closing = map(changed, lines)
    return replace(document, sheets=sheets, notes=notes, hints=hints, warnings=warnings, closing=closing)


def with_signatures(
    document: Document,
    datasets: Sequence[ScoredDataset],
    metrics: Iterable[str],
    draws: str,
    *,
    group_by: str | None = None,
) -> Document:
    """Return a document with hints on its data, such as missing groups, and with its signatures as last notes.

    The hints take the place of those that it has. Notes, hints and metrics that several datasets share are there once.

    Args:
        document: the report.
        datasets: the datasets of the report.
        metrics: the metrics of the report; a dataset may lack some of them.
        draws: the signature of intervals and tests.
        group_by: the column whose values the report itself keeps together; None if it uses the groups of the run.
    """
    names = list(metrics)
    hints: list[str] = [Message(f"{data.title}: ", hint) for data in datasets for hint in data.facts.hints]
    if group_by is None:
        hints += [f"{data.title}: {data.facts.grouping}" for data in datasets if data.facts.grouping]
    signatures = [
        f"{data.title}: n:{len(data)}|digest:{data.facts.digest[:16]}|{data.run.manifest.signature}"
        for data in datasets
    ]
    metric_signatures = []
    for name in names:
        for data in datasets:
            if name in data.metrics:
                metric_signatures.append(f"{name}: {data.metrics[name].short_signature}")
    signatures += dict.fromkeys(metric_signatures)
    return replace(
        document,
        # the two runs of a comparison have the same data and hence the same hints
        hints=list(dict.fromkeys(hints)),
        notes=[*document.notes, *signatures, f"draws: {draws}"],
        metrics=list(dict.fromkeys([*document.metrics, *names])),
    )
