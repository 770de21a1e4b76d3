"""Metrics that read different layers of one model, and the table of a layer sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assay.analysis.folder import RunFolder
from assay.common.numbers import Number
from assay.reports.layout import lay_out
from assay.reports.sheets import Document, Sheet, number_columns
from assay.reports.units import Unit

# Metrics of a run that are the layers of one model.

#: Matches the layer in the name of a metric; the group is its index.
LAYER_PATTERN: Final = re.compile(r",layer=(\d+)")


@dataclass(frozen=True)
class LayeredModel:
    """A model of which several layers were scored.

    Attributes:
        name: the name of its metrics, without the layer.
        number: an index that is unique within the dataset, for ids.
        layers: the metric's full name by layer index, in ascending order.
    """

    name: str
    number: int
    layers: dict[int, str]


def layered_models(unit: Unit) -> list[LayeredModel]:
    """Return, in the order of the dataset's metrics, each model that has scores from at least two layers."""
    models: dict[str, dict[int, str]] = {}
    for metric in unit.data.scores:
        match = LAYER_PATTERN.search(metric)
        if match:
            models.setdefault(LAYER_PATTERN.sub("", metric), {})[int(match[1])] = metric
    return [
        LayeredModel(name, number, dict(sorted(layers.items())))
        for number, (name, layers) in enumerate(models.items())
        if len(layers) > 1
    ]


def best_layer(values: Mapping[int, float | None]) -> int | None:
    """Return the layer with the highest value, on ties the lowest layer; None if all values are undefined."""
    defined = {layer: value for layer, value in values.items() if value is not None}
    return max(defined, key=lambda layer: (defined[layer], -layer), default=None)


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
        for block in section.blocks:
            rows = []
            for metric, cells, _ in block.rows:
                match = LAYER_PATTERN.search(metric)
                if match:
                    rows.append((int(match[1]), cells))
            if block.rows:
                tables.append(LayerTable(f"{section.title}, {block.bucket}, {block.facts[0]}", section.heads, rows))
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
