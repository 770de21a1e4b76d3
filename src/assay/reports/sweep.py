"""The table of a layer sweep."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from assay.analysis.folder import RunFolder
from assay.analysis.sweep import LAYER_PATTERN, best_layer
from assay.common.numbers import Number
from assay.reports.layout import Block, lay_out
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.statistics.coefficients import title_of


@dataclass(frozen=True)
class _Layer:
    """The agreement of one layer of a model on one bucket: its index, and its numbers by statistic."""

    index: int
    numbers: dict[str, Number]


def document(run: RunFolder) -> Document:
    """Return one table per bucket, with the best layer of each statistic in bold; records are the agreement table.

    Args:
        run: a run whose metrics are the layers of one model; metrics that name no layer are left out.
    """
    sheets = []
    for section in lay_out(run):
        for block in section.blocks:
            if block.rows:
                title = f"{section.title}, {block.bucket}, {block.facts[0]}"
                sheets.append(_layer_sheet(title, _layers_of(block, section.statistics)))
    return Document(sheets, [row.plain_values() for row in run.agreement])


def _layers_of(block: Block, statistics: list[str]) -> list[_Layer]:
    """Return the layers among the metrics of a bucket, each with its values by statistic."""
    layers = []
    for metric, numbers, _ in block.rows:
        match = LAYER_PATTERN.search(metric)
        if match:
            layers.append(_Layer(int(match[1]), dict(zip(statistics, numbers, strict=True))))
    return layers


def _layer_sheet(title: str, layers: list[_Layer]) -> Sheet:
    """Return a table with one row per layer, in which the cell of the best layer of each statistic is emphasised."""
    statistics = list(layers[0].numbers) if layers else []
    columns = [
        Column("layer", number=True, cell="index"),
        *(Column(title_of(name), number=True, cell=partial(_number_text, name)) for name in statistics),
    ]
    rows_by_index = {layer.index: row for row, layer in enumerate(layers)}
    best_cells = set()
    # column 0 is the layer itself
    for column, name in enumerate(statistics, start=1):
        best = best_layer({layer.index: layer.numbers[name].value for layer in layers})
        if best is not None:
            best_cells.add((rows_by_index[best], column))
    return Sheet(title, columns, table_rows(columns, layers), best=frozenset(best_cells))


def _number_text(statistic: str, layer: _Layer) -> str:
    return layer.numbers[statistic].text
