"""A layer sweep laid out: a line a layer, a column a bucket and statistic."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.reports.escape import markdown, rich_text
from assay.reports.folder import RunFolder
from assay.reports.layout import Cell, lay_out

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["LayerTable", "layers_of", "to_markdown", "to_rich"]

_LAYER = re.compile(r",layer=(\d+)")


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
            [(int(found[1]), cells) for metric, cells, _ in block.rows if (found := _LAYER.search(metric))],
        )
        for section in lay_out(run)
        for block in section.blocks
        if block.rows
    ]


def to_markdown(run: RunFolder) -> str:
    """Return a Markdown table a bucket, the best layer of each statistic in bold."""
    lines: list[str] = []
    for table in layers_of(run):
        best = [table.best(column) for column in range(len(table.heads))]
        lines += [f"### {markdown(table.title)}", ""]
        lines += ["| layer | " + " | ".join(table.heads) + " |", "|---:|" + "---:|" * len(table.heads)]
        for layer, cells in table.rows:
            shown = [f"**{cell.text}**" if layer == top else cell.text for cell, top in zip(cells, best, strict=True)]
            lines.append(f"| {layer} | {' | '.join(shown)} |")
        lines.append("")
    return "\n".join(lines)


def to_rich(run: RunFolder) -> Group:
    """Return the tables for a terminal, the best layer of each statistic in bold."""
    from rich import box
    from rich.console import Group, RenderableType
    from rich.table import Table

    parts: list[RenderableType] = []
    for found in layers_of(run):
        best = [found.best(column) for column in range(len(found.heads))]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column("layer", justify="right")
        for head in found.heads:
            table.add_column(rich_text(head), justify="right", no_wrap=True)
        for layer, cells in found.rows:
            shown = [
                rich_text(cell.text, "bold" if layer == top else "") for cell, top in zip(cells, best, strict=True)
            ]
            table.add_row(str(layer), *shown)
        parts += [rich_text(found.title, "bold"), table, rich_text("")]
    return Group(*parts)
