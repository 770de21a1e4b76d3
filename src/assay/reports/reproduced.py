"""A published table beside what came out, laid out cell by cell."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports.published import CellVerdict, PublishedTable, summarise
from assay.reports.sheets import Column, Document, Sheet

__all__ = ["document"]


def document(table: PublishedTable, verdicts: Sequence[CellVerdict]) -> Document:
    """Return the cells of a published table with what came out, and a record a cell."""
    columns = (
        Column("row"),
        Column("column"),
        Column("printed", number=True),
        Column("here", number=True),
        Column("difference", number=True),
        Column("verdict"),
    )
    rows = [[cell.row, cell.column, cell.printed, _number(cell), _signed(cell), cell.verdict] for cell in verdicts]
    reasons = [f"{row.title}: {row.note}" for row in table.rows if row.note]
    notes = [summarise(verdicts), *([table.note] if table.note else []), *reasons]
    sheet = Sheet(table.title, columns, rows, facts=(table.source,), notes=notes)
    return Document((sheet,), [vars(cell) for cell in verdicts])


def _number(cell: CellVerdict) -> str:
    if cell.value is None:
        return "" if cell.left_out else "undefined"
    return f"{cell.value:.4f}"


def _signed(cell: CellVerdict) -> str:
    return "" if cell.difference is None else f"{cell.difference:+.4f}"
