"""The table of a layer sweep."""

from __future__ import annotations

from dataclasses import dataclass

from assay.analysis.folder import RunFolder
from assay.analysis.sweep import LAYER_PATTERN, best_layer
from assay.common.numbers import Number
from assay.reports.layout import lay_out
from assay.reports.sheets import Document, Sheet, number_columns
from assay.statistics.coefficients import title_of

# A layer sweep laid out: one table per bucket, one row per layer, one column per statistic.


@dataclass(frozen=True)
class LayerTable:
    """The layers of a model on one bucket of one dataset.

    Attributes:
        title: the dataset, bucket and number of pairs.
        heads: the titles of the statistics.
        rows: pairs of a layer index and its cells, one per statistic.
    """

    title: str
    heads: list[str]
    rows: list[tuple[int, list[Number]]]

    def best_layer(self, column: int) -> int | None:
        """Return the layer with the highest value in a column of :attr:`heads`; None if all values are undefined."""
        return best_layer({layer: cells[column].value for layer, cells in self.rows})


def layer_tables(run: RunFolder) -> list[LayerTable]:
    """Return one table per dataset and bucket of a run whose metrics are the layers of one model.

    Buckets without a row, and metrics that name no layer, are left out.
    """
    tables = []
    for section in lay_out(run):
        heads = [title_of(name) for name in section.statistics]
        for block in section.blocks:
            rows = []
            for metric, cells, _ in block.rows:
                match = LAYER_PATTERN.search(metric)
                if match:
                    rows.append((int(match[1]), cells))
            if block.rows:
                tables.append(LayerTable(f"{section.title}, {block.bucket}, {block.facts[0]}", heads, rows))
    return tables


def document(run: RunFolder) -> Document:
    """Return one table per bucket, with the best layer of each statistic in bold; records are the agreement table."""
    return Document([_layer_sheet(table) for table in layer_tables(run)], [row.plain_values() for row in run.agreement])


def _layer_sheet(table: LayerTable) -> Sheet:
    """Return a table with one row per layer, in which the cell of the best layer of each statistic is emphasised."""
    rows = [[str(layer), *(cell.text for cell in cells)] for layer, cells in table.rows]
    best_layers = [table.best_layer(column) for column in range(len(table.heads))]
    best_cells = set()
    for row, (layer, _) in enumerate(table.rows):
        # column 0 of the sheet is the layer itself
        for column, best in enumerate(best_layers, start=1):
            if layer == best:
                best_cells.add((row, column))
    return Sheet(table.title, number_columns(["layer", *table.heads]), rows, best=frozenset(best_cells))
