"""Cells of a sheet that stand out, beside rows that do."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from assay.reports.sheets import Column, Document, Sheet, to_rich, write

SHEET = Sheet(
    "Layers",
    (Column("layer", number=True), Column("r", number=True), Column("ρ", number=True)),
    [["0", ".1", ".9"], ["1", ".5", ".<"]],
    best=frozenset({(1, 1), (0, 2)}),
)
DOCUMENT = Document((SHEET,), [])


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("md", ["| 0 | .1 | **.9** |", "| 1 | **.5** | .\\< |"]),
        ("latex", [r"0 & .1 & \textbf{.9} \\", r"1 & \textbf{.5} & .$<$ \\"]),
        (
            "html",
            ['<td class="number">.1</td><td class="number"><b>.9</b></td>', '<b>.5</b></td><td class="number">.&lt;'],
        ),
    ],
)
def test_the_best_of_a_column_is_bold_and_no_other_cell(form, lines):
    written = write(DOCUMENT, form)

    assert all(line in written for line in lines), written


def test_in_a_terminal_too():
    out = io.StringIO()
    Console(file=out, force_terminal=True, color_system="standard", width=60).print(to_rich(DOCUMENT))
    top = next(line for line in out.getvalue().splitlines() if ".9" in line)

    assert "\x1b[1m.9" in top and "\x1b[1m.1" not in top


def test_a_marked_row_stands_out_whole():
    sheet = Sheet("T", (Column("a"), Column("b")), [["x", "y"], ["z", ""]], marked=frozenset({1}))

    assert [sheet.stands_out(row, column) for row in (0, 1) for column in (0, 1)] == [False, False, True, True]
    assert "| x | y |\n| **z** |  |" in write(Document((sheet,), []), "md")
