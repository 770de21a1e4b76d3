"""Files without a header, whose columns are named by their numbers, and labels that are votes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.datasets import load_dataset
from assay.datasets.readers.table import read_table
from assay.exceptions import InputError
from tests.datasets.test_formats import workbook, zipped

ROWS: list[list[Any]] = [["a b", 'a "b"', 1, "x"], ["c", "d, e", 0, "y"], ["a b", "f", 2, "x"]]
NUMBERS = "reference=1,candidate=2,label=3"
NOTE = "there is no header: the columns are numbers, and row 1 is a pair"


def text_of(delimiter: str, rows: list[list[Any]] = ROWS) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.txt", "semicolons.csv", "d.tab", "d.zip", "d.xlsx", "d.json"])
def test_no_row_is_lost_without_a_header(tmp_path: Path, name: str) -> None:
    delimiter = {"d.csv": ",", "semicolons.csv": ";", "d.zip": ","}.get(name, "\t")
    content = text_of(delimiter).encode()
    if name == "d.tab":
        content = "\n".join("\t".join(map(str, row)) for row in ROWS).encode()
    elif name == "d.zip":
        content = zipped(d_csv=content.decode())
    elif name == "d.json":
        content = json.dumps(ROWS).encode()
    elif name == "d.xlsx":
        content = workbook(ROWS)
    (tmp_path / name).write_bytes(content)
    pairs = load_dataset(tmp_path / name, columns=NUMBERS)
    assert pairs.texts()[:2] == ([row[0] for row in ROWS], [row[1] for row in ROWS])
    assert pairs.labels.tolist() == [1, 0, 2] and pairs.column("4").to_pylist() == ["x", "y", "x"]
    assert pairs.table.column("pair_id").to_pylist() == ["1", "2", "3"]
    assert NOTE in pairs.notes
    again = load_dataset(tmp_path / name, **pairs.reading)
    assert again.digest == pairs.digest


def test_columns_by_number_go_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("".join(f"q{row // 2},w{row} x,w{row % 3} x,{row % 3},{row % 2}\n" for row in range(12)))
    columns = "reference=2,candidate=3,label=4+5,question=1"
    result = assay.run(path, ["f1", "recorded:5"], columns=columns, group_by="1", buckets=["5"], resamples=0)
    assert {"5=0", "5=1"} <= set(result.agreement["bucket"])
    assert load_dataset(path, columns=columns).labels.tolist() == [(row % 3 + row % 2) / 2 for row in range(12)]
    scored = assay.agree(path, columns="label=4", resamples=0).agreement
    assert set(scored["n"]) == {12}
    assay.score(path, ["f1"], tmp_path / "out.csv", columns="reference=2,candidate=3")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "1,2,3,4,5,f1" and len(lines) == 13
    # again, over the scores of the same pairs
    assay.score(path, ["f1"], tmp_path / "out.csv", columns="reference=2,candidate=3")


def test_annotations_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("".join(f"a{row // 2},b,{row % 3},{'pq'[row % 2]}\n" for row in range(8)))
    pairs = load_dataset(path, columns=NUMBERS, annotator="4")
    assert len(pairs) == 4 and pairs.notes[0] == NOTE and pairs.notes[-1].startswith("8 annotations, by 2 annotators")


@pytest.mark.parametrize(
    ("header", "columns", "count", "note"),
    [
        # a header of numbers, named so
        ("1,2,3", "reference=1,candidate=2,label=3", 2, "row 1 is the header, since it has the names 1, 2, 3"),
        ("2020,2021,2022", "reference=2020,candidate=2021,label=2022", 2, "row 1 is the header"),
        ("0,1,2", "reference=0,candidate=1,label=2", 2, ""),
        # a row that has one of the numbers by chance
        ("7,5,3", "reference=1,candidate=2,label=3", 3, NOTE),
        ("1,2,3", "reference=column_1,candidate=column_2,label=column_3", 3, NOTE),
        ("gold,answer,score", "reference=gold,candidate=answer,label=score", 2, ""),
    ],
)
def test_what_the_first_row_is(tmp_path: Path, header: str, columns: str, count: int, note: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"{header}\na,b,1\nc,d,2\n")
    pairs = load_dataset(path, columns=columns)
    assert len(pairs) == count and (pairs.notes[0].startswith(note) if note else not pairs.notes)


@pytest.mark.parametrize(
    "rows",
    [
        "a,a,1\nb,c,2\n",
        "The cat sat on the mat.,A cat sat on a mat,yes\nb,c,no\n",
        "a,b,0.5\nc,d,1\n",
        "a,b,0.5\n",
        "a,b,0.5\nc,d,1,e\n",
    ],
)
def test_a_missing_header_is_announced(tmp_path: Path, rows: str) -> None:
    (tmp_path / "d.csv").write_text(rows)
    with pytest.raises(InputError, match=re.escape(f'`columns="{NUMBERS}"`')):
        load_dataset(tmp_path / "d.csv")


def test_columns_of_annotators_are_proposed() -> None:
    rows = [{"reference": "a", "candidate": "b", "a1": 1, "a2": 2, "a10": 1}]
    with pytest.raises(InputError, match=re.escape('`columns="label=a1+a2+a10"`')):
        load_dataset(rows)
    assert load_dataset(rows, columns="label=a1+a2+a10").labels.tolist() == [pytest.approx(4 / 3)]
    with pytest.raises(InputError, match='`columns="label=LABEL"`'):
        load_dataset([{**rows[0], "b1": 1, "b2": 1}])


def test_a_header_is_no_pair(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("gold,answer,score\na,b,1\n")
    with pytest.raises(InputError, match="row 1, column 3: the label 'score' is not a number"):
        load_dataset(tmp_path / "d.csv", columns=NUMBERS)
    with pytest.raises(InputError, match="row 1: has no column 4; it has 3 cells: gold, answer, score"):
        load_dataset(tmp_path / "d.csv", columns="reference=1,candidate=2,label=4")
    with pytest.raises(InputError, match="has no column '1'"):
        load_dataset(tmp_path / "d.csv", columns="reference=1,candidate=answer,label=score")


def test_rows_of_other_lengths_are_said(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,b,1,x\nc,d,2,,y\ne,f,0\n")
    pairs = load_dataset(tmp_path / "d.csv", columns=NUMBERS)
    assert pairs.labels.tolist() == [1, 2, 0] and pairs.column("4").to_pylist() == ["x", "", None]
    assert pairs.notes[1:] == (
        "1 row has fewer cells than row 1 (row 3); the last ones are empty",
        "1 row has more cells than row 1 (row 2); those behind column 4 are left out",
    )
    (tmp_path / "d.csv").write_text("a,b,1\nc\n")
    with pytest.raises(InputError, match="row 2: has 1 cells; row 1 has 3"):
        load_dataset(tmp_path / "d.csv", columns=NUMBERS)


def test_rows_that_are_lists(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps([["gold", "answer", "score"], ["a", "b", 1], [["c", "d"], "d", 2]]))
    pairs = load_dataset(path)
    assert pairs.texts()[:2] == ([["a"], ["c", "d"]], ["b", "d"]) and pairs.labels.tolist() == [1, 2]
    path.write_text(json.dumps([["a", "b", 1], ["c", "d", 2]]))
    with pytest.raises(InputError, match=re.escape(f'`columns="{NUMBERS}"`')):
        load_dataset(path)
    path.write_text(json.dumps([["a", "b", 1], ["c", "d"]]))
    with pytest.raises(InputError, match="entry 2: has 2 cells; entry 1 has 3"):
        load_dataset(path, columns=NUMBERS)
    path.write_text(json.dumps([["gold", "answer", "score"]]))
    with pytest.raises(InputError, match="has a header and no rows"):
        load_dataset(path)


@pytest.mark.parametrize("options", [{}, {"delimiter": "\t", "quoted": True}])
def test_the_reader_of_cards_takes_numbers(tmp_path: Path, options: dict[str, Any]) -> None:
    (tmp_path / "d.tsv").write_text(text_of("\t"))
    result = read_table({"d.tsv": tmp_path / "d.tsv"}, {"columns": NUMBERS, **options})
    assert result.table.column("label").to_pylist() == [1, 0, 2] and NOTE in result.notes


@pytest.mark.parametrize(
    ("cells", "shares"),
    [
        (["(4,6)", "(0,6)", "(6,6)"], [4 / 6, 0, 1]),
        (["4/6", "0/6", ""], [4 / 6, 0, None]),
        (["[1; 5]", "[2; 4]", "[4; 4]"], [0.2, 0.5, 1]),
        (["2 of 3", "3 out of 3", "0 OF 3"], [2 / 3, 1, 0]),
        # for and against
        (["(4, 2)", "(0, 6)", "(5, 1)"], [4 / 6, 0, 5 / 6]),
    ],
)
def test_votes_are_shares(cells: list[str], shares: list[float | None]) -> None:
    rows = [{"reference": "a", "candidate": "b", "label": cell} for cell in cells]
    pairs = load_dataset(rows, drop_unlabelled=True)
    np.testing.assert_allclose(pairs.labels, [share for share in shares if share is not None], rtol=1e-12)
    assert any(note.startswith("labels: votes read as shares, ") for note in pairs.notes)


@pytest.mark.parametrize(
    "cells", [["4/6", "3"], ["(6,4)", "(6,6)"], ["0/0", "1/2"], ["4,5", "3,5"], ["(4,6)", "maybe"]]
)
def test_what_is_no_vote_is_a_number_or_an_error(cells: list[str]) -> None:
    rows = [{"reference": "a", "candidate": "b", "label": cell} for cell in cells]
    if cells[0] == "4,5":
        assert load_dataset(rows).labels.tolist() == [4.5, 3.5]
    else:
        with pytest.raises(InputError, match="is not a number"):
            load_dataset(rows)
