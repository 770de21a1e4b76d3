"""A layer sweep laid out: a line a layer, a column a bucket and statistic."""

from __future__ import annotations

from dataclasses import dataclass

from assay.reports.folder import RunFolder
from assay.reports.layered import LAYER
from assay.reports.layout import Cell, lay_out
from assay.reports.sheets import Column, Document, Sheet

__all__ = ["LayerTable", "document", "layers_of"]


@dataclass(frozen=True)
class LayerTable:
    """One bucket of one dataset.

    Attributes:
        title: dataset, bucket and n.
        heads: the statistics.
        rows: layer and cells.
    """

    title: str
    heads: list[str]
    rows: list[tuple[int, list[Cell]]]

    def best(self, column: int) -> int | None:
        """Return the layer with the highest value of a statistic, or None where there is none."""
        known = [(cells[column].value, layer) for layer, cells in self.rows if cells[column].value is not None]
        return max(known, key=lambda pair: (pair[0] or 0.0, -pair[1]))[1] if known else None


def layers_of(run: RunFolder) -> list[LayerTable]:
    """Return a table a bucket of a run whose metrics are the layers of one model."""
    return [
        LayerTable(
            f"{section.title}, {block.bucket}, {block.facts[0]}",
            section.heads,
            [(int(found[1]), cells) for metric, cells, _ in block.rows if (found := LAYER.search(metric))],
        )
        for section in lay_out(run)
        for block in section.blocks
        if block.rows
    ]


def document(run: RunFolder) -> Document:
    """Return a table a bucket, the best layer of each statistic in bold; the records are the run's agreement table."""
    return Document([_sheet(table) for table in layers_of(run)], run.agreement)


def _sheet(table: LayerTable) -> Sheet:
    heads = [Column(head, number=True) for head in ("layer", *table.heads)]
    rows = [[str(layer), *(cell.text for cell in cells)] for layer, cells in table.rows]
    tops = [table.best(column) for column in range(len(table.heads))]
    best = frozenset(
        (row, column)
        for row, (layer, _) in enumerate(table.rows)
        for column, top in enumerate(tops, start=1)
        if layer == top
    )
    return Sheet(table.title, heads, rows, best=best)
