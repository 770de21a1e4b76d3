"""The agreement table of a dataset under one statistic: a line a metric, a column a bucket."""

from __future__ import annotations

from dataclasses import dataclass

from assay.reports.layout import Cell
from assay.reports.units import Unit

__all__ = ["AgreementTable", "agreement_table"]


@dataclass(frozen=True)
class Shown:
    """A cell: its text, its value to sort by, and the letters of its notes."""

    text: str
    value: float | None
    marks: list[str]


@dataclass(frozen=True)
class AgreementTable:
    """The table.

    Attributes:
        buckets: name and short facts of each column.
        rows: metric and cells, from the highest value over all pairs to the lowest.
        ceiling: the last line.
        notes: letter and text of what cells refer to.
    """

    buckets: list[tuple[str, list[str]]]
    rows: list[tuple[str, list[Shown]]]
    ceiling: list[str]
    notes: dict[str, str]


def agreement_table(unit: Unit, statistic: str) -> AgreementTable:
    """Lay out one statistic of a dataset; a note, such as why a value is undefined, gets a letter."""
    letters: dict[str, str] = {}
    rows = [
        (metric, [_shown(unit.cell(block, metric, statistic), letters) for block in unit.blocks])
        for metric in unit.ranking(statistic)
    ]
    column = unit.section.statistics.index(statistic)
    return AgreementTable(
        [(block.bucket, block.facts) for block in unit.blocks],
        rows,
        [block.ceiling[column].text for block in unit.blocks],
        {letter: note for note, letter in letters.items()},
    )


def _shown(cell: Cell | None, letters: dict[str, str]) -> Shown:
    found = cell or Cell(None, None, None, "not computed")
    notes = [note for note in found.note.split("; ") if note]
    if found.value is None and not notes:
        notes = ["undefined"]
    marks = [letters.setdefault(note, _letter(len(letters))) for note in notes]
    return Shown(found.text, found.value, marks)


def _letter(number: int) -> str:
    """Return a, b, … z, aa, ab, …"""
    head, tail = divmod(number, 26)
    return (_letter(head - 1) if head else "") + chr(ord("a") + tail)
