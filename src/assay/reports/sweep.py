"""Metrics that are layers of one model, and the table of a layer sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assay.reports.folder import RunFolder
from assay.reports.layout import Cell, lay_out
from assay.reports.sheets import Document, Sheet, number_columns
from assay.reports.units import Unit

# Metrics of a run that are the layers of one model.

#: The layer in the name of a metric.
LAYER: Final = re.compile(r",layer=(\d+)")


@dataclass(frozen=True)
class LayeredModel:
    """A metric without its layer, its number in the run, and the metric of each layer in ascending order."""

    name: str
    number: int
    layers: dict[int, str]


def layered_models(unit: Unit) -> list[LayeredModel]:
    """Return the models of which the run has at least two layers."""
    models: dict[str, dict[int, str]] = {}
    for metric in unit.data.scores:
        layer = LAYER.search(metric)
        if layer:
            models.setdefault(LAYER.sub("", metric), {})[int(layer[1])] = metric
    return [
        LayeredModel(name, number, dict(sorted(layers.items())))
        for number, (name, layers) in enumerate(models.items())
        if len(layers) > 1
    ]


def best_layer(values: Mapping[int, float | None]) -> int | None:
    """Return the layer with the highest value, the lowest of several; None where all are undefined."""
    known = {layer: value for layer, value in values.items() if value is not None}
    return max(known, key=lambda layer: (known[layer], -layer), default=None)


# A layer sweep laid out: a line a layer, a column a bucket and statistic.


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
        return best_layer({layer: cells[column].value for layer, cells in self.rows})


def layers_of(run: RunFolder) -> list[LayerTable]:
    """Return a table a bucket of a run whose metrics are the layers of one model."""
    tables = []
    for section in lay_out(run):
        for block in section.blocks:
            rows = []
            for metric, cells, _ in block.rows:
                layer = LAYER.search(metric)
                if layer:
                    rows.append((int(layer[1]), cells))
            if block.rows:
                tables.append(LayerTable(f"{section.title}, {block.bucket}, {block.facts[0]}", section.heads, rows))
    return tables


def document(run: RunFolder) -> Document:
    """Return a table a bucket, the best layer of each statistic in bold; the records are the run's agreement table."""
    return Document([_sheet(table) for table in layers_of(run)], [row.plain() for row in run.agreement])


def _sheet(table: LayerTable) -> Sheet:
    rows = [[str(layer), *(cell.text for cell in cells)] for layer, cells in table.rows]
    tops = [table.best(column) for column in range(len(table.heads))]
    best = frozenset(
        (row, column)
        for row, (layer, _) in enumerate(table.rows)
        for column, top in enumerate(tops, start=1)
        if layer == top
    )
    return Sheet(table.title, number_columns(["layer", *table.heads]), rows, best=best)
