"""A published table beside the reproduced one, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.analysis.reproduce import NOT_PRINTED, CellVerdict, PublishedTable
from assay.reports.sheets import Column, Document, Sheet, table_rows


def summarise(verdicts: Sequence[CellVerdict]) -> str:
    """Return one line with the number of equal cells and the counts of the other verdicts.

    Undefined cells that were printed as zero count as equal, and their number is given in brackets.
    """
    counts = Counter(cell.verdict for cell in verdicts)
    undefined_count = counts.pop("undefined, printed as zero", 0)
    equal_count = counts.pop("equal", 0) + undefined_count
    line = f"{equal_count} of {len(verdicts) - counts[NOT_PRINTED]} cells equal as printed"
    if undefined_count:
        line += f" ({undefined_count} of them undefined here and printed as zero)"
    return "; ".join([line, *(f"{count} {verdict}" for verdict, count in counts.items())])


def document(table: PublishedTable, verdicts: Sequence[CellVerdict]) -> Document:
    """Return a table of the published and reproduced numbers, with one record per cell."""
    columns = [
        Column("row", cell="row"),
        Column("column", cell="column"),
        Column("printed", number=True, cell="printed"),
        Column("here", number=True, cell=_recomputed_text),
        Column(
            "difference", number=True, cell=lambda cell: "" if cell.difference is None else f"{cell.difference:+.4f}"
        ),
        Column("verdict", cell="verdict"),
    ]
    reasons = [f"{row.title}: {reason}" for row in table.rows for reason in (row.note, row.explained) if reason]
    table_notes = [table.note] if table.note else []
    notes = [summarise(verdicts), *table_notes, *reasons]
    sheet = Sheet(table.title, columns, table_rows(columns, verdicts), facts=(table.source,), notes=notes)
    return Document((sheet,), [vars(cell) for cell in verdicts])


def list_document(tables: Sequence[PublishedTable]) -> Document:
    """Return a list of published tables, with one record per table."""
    columns = [Column("name", cell="name"), Column("title", cell="title"), Column("source", cell="source")]
    records = [{"name": table.name, "title": table.title, "source": table.source} for table in tables]
    return Document((Sheet("Published tables", columns, table_rows(columns, tables)),), records)


def _recomputed_text(cell: CellVerdict) -> str:
    if cell.value is None:
        return "" if cell.left_out else "undefined"
    return f"{cell.value:.4f}"
