"""Cells of a workbook that look filled and hold nothing: formulas that were never computed, and merged cells."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any

import pytest

from assay.datasets import load_dataset
from assay.exceptions import InputError

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("openpyxl.chart")

ROWS = [("a b", "a", 1.5), ("c d", "c d", 2), ("e", "f", 0), ("g", "g", 1)]


def workbook(path: Path, cells: dict[str, Any], merged: str = "", remark: str = "") -> Path:
    """Return a workbook with four pairs, some of whose cells are replaced; its fourth column holds remarks."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["reference", "candidate", "label", "remark"])
    for row in ROWS:
        sheet.append([*row, remark or None])
    for place, value in cells.items():
        sheet[place] = value
    if merged:
        sheet.merge_cells(merged)
    book.save(path)
    return path


@pytest.mark.parametrize(
    ("cells", "merged", "words"),
    [
        ({"C3": "=C2+1"}, "", "row 3, column label: holds a formula without its value (open the file in"),
        ({"C4": "=C2", "C3": "=C2+1"}, "", "row 3, column label: holds a formula"),
        ({"B3": '=CONCATENATE("a","b")'}, "", "row 3, column candidate: holds a formula without its value"),
        ({}, "A3:A4", "row 4, column reference: holds a part of the merged cells A3:A4 (split them and fill in"),
        ({}, "C3:C5", "row 4, column label: holds a part of the merged cells C3:C5"),
        ({}, "B3:C3", "row 3, column label: holds a part of the merged cells B3:C3"),
    ],
)
def test_the_cell_is_named_with_the_remedy(tmp_path: Path, cells: dict[str, str], merged: str, words: str) -> None:
    path = workbook(tmp_path / "d.xlsx", cells, merged)
    with pytest.raises(InputError) as caught:
        load_dataset(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, {words}")
    assert "\n" not in message


@pytest.mark.parametrize(("cells", "merged"), [({"D3": "=1+1"}, ""), ({}, "D2:D4"), ({}, "A9:A12")])
def test_columns_that_are_not_used_may_hold_them(tmp_path: Path, cells: dict[str, str], merged: str) -> None:
    assert len(load_dataset(workbook(tmp_path / "d.xlsx", cells, merged, remark="seen"))) == len(ROWS)


@pytest.mark.parametrize(("place", "column", "error"), [("A3", "reference", "#NAME?"), ("B4", "candidate", "#N/A")])
def test_an_error_of_a_formula_is_no_text(tmp_path: Path, place: str, column: str, error: str) -> None:
    """As a lookup without a match leaves it, or an answer that begins with "-"."""
    path = workbook(tmp_path / "d.xlsx", {place: error, "D5": "#REF!", "D2": "seen"})
    with pytest.raises(InputError) as caught:
        load_dataset(path)
    assert f"row {place[1]}, column {column}: holds the error {error} of a formula" in str(caught.value)


def test_an_error_of_a_formula_is_no_label(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", {"C3": "#N/A", "D5": "#REF!"})
    with pytest.raises(InputError, match=r"1 of 4 rows have no label \(row 3\)"):
        load_dataset(path)
    assert len(load_dataset(path, drop_unlabelled=True)) == 3


def test_an_empty_cell_is_told_as_before_where_another_cell_is_a_formula(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", {"C3": None, "D5": "=1+1"})
    with pytest.raises(InputError, match=r"1 of 4 rows have no label \(row 3\)"):
        load_dataset(path)


def rewritten(path: Path, part: str, old: str, new: str) -> None:
    """Replace text in a part of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts[part]
    parts[part] = parts[part].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_a_formula_whose_text_is_empty_is_an_empty_cell(tmp_path: Path) -> None:
    """As a spreadsheet program saves =IF(A3="","",…): there is nothing to mend."""
    path = workbook(tmp_path / "d.xlsx", {"D1": "question", "D3": '=IF(A3="c d","","q")'}, remark="q")
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path) as archive:
        assert b'<c r="D3"><f>' in archive.read(sheet)
    rewritten(path, sheet, '<c r="D3"><f>', '<c r="D3" t="str"><f>')
    questions = load_dataset(path).column("question").to_pylist()
    assert len(questions) == 4 and not questions[1] and questions[0] == "q"


def test_a_workbook_that_only_the_first_reading_understands(tmp_path: Path) -> None:
    path = workbook(tmp_path / "d.xlsx", {"E2": "=A2"}, remark="")
    with zipfile.ZipFile(path) as archive:
        rels = "xl/worksheets/_rels/sheet1.xml.rels"
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[rels] = (
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="c1" '
        b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments" '
        b'Target="/xl/comments/comment1.xml"/></Relationships>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert len(load_dataset(path)) == 4


def test_a_workbook_of_charts_alone(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.create_chartsheet("chart").add_chart(openpyxl.chart.BarChart())
    book.remove(book.active)
    book.save(tmp_path / "d.xlsx")
    with pytest.raises(InputError, match=r"d\.xlsx: has no sheet with cells"):
        load_dataset(tmp_path / "d.xlsx")


def test_escaped_characters_are_read(tmp_path: Path) -> None:
    """As programs write line ends of Windows: ECMA-376, part 1, 22.9.2.19."""
    texts = {
        "a_x000D_\nb": "a\r\nb",
        "_x005F_x000D_": "_x000D_",
        "x_x00e9_y": "xéy",
        "_xD83D_": "_xD83D_",
        "_x0d_": "_x0d_",
    }
    cells = {f"A{row}": text for row, text in enumerate(texts, 2)} | {
        "B6": "e",
        "C6": 1,
        "D1": "re_x000D_\nmark",
        "D2": 1,
    }
    pairs = load_dataset(workbook(tmp_path / "d.xlsx", cells))
    assert pairs.texts()[0] == list(texts.values())
    assert "re\r\nmark" in pairs.table.column_names


def test_dates_among_texts_are_told(tmp_path: Path) -> None:
    """As a spreadsheet program makes them of an answer such as 3-4; a column of dates alone is meant so."""
    days = {f"D{row}": datetime.date(2024, 3, row) for row in range(2, 6)}
    path = workbook(tmp_path / "d.xlsx", days | {"B3": datetime.date(2024, 3, 4), "B4": datetime.time(3, 4)})
    pairs = load_dataset(path)
    assert pairs.texts()[1] == ["a", "2024-03-04", "03:04:00", "g"]
    assert pairs.notes == ("2 of 4 cells of candidate are dates among texts, such as '2024-03-04'",)
