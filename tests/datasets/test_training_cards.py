"""The cards of pairs that are there to train on, whose labels are not of people."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest

from assay.common.tables import NOT_BY_PEOPLE
from assay.datasets import check_dataset, load_card, load_card_splits, load_dataset
from assay.datasets.readers.base import check_options
from assay.datasets.readers.table import read_table
from assay.exceptions import InputError
from assay.statistics.labels import round_labels

ROWS = {"name-pairs": {"train": 26923, "dev": 7127, "test": 5543}, "number-pairs": {"train": 9110}}
FILES = {"name-pairs": ("name1", "name2"), "number-pairs": ("number1", "number2")}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_the_real_files(with_shared: Path, name: str) -> None:
    splits = load_card_splits(name, offline=True)
    assert {split: len(pairs) for split, pairs in splits.items()} == ROWS[name]
    card = load_card(name)
    assert [f for f in check_dataset(splits, card) if f.severity == "error"] == []
    (entry,) = card.files
    path = with_shared / "sas" / entry.name
    assert (entry.bytes, entry.sha256) == (path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for split, pairs in splits.items():
        assert pairs.kind == "machine" and pairs.scale == (0.0, 1.0)
        found = list(zip(*pairs.texts()[:2], pairs.labels.tolist(), strict=True))
        wanted = [row for row in rows if row.get("split", split) == split]
        scores = round_labels(np.array([float(row["score"]) for row in wanted])).tolist()
        texts = [tuple(row[column] for column in FILES[name]) for row in wanted]
        assert found == [(*pair, score) for pair, score in zip(texts, scores, strict=True)]
    ids = load_dataset(f"{name}:all", offline=True).column("pair_id").to_pylist()
    assert len(set(ids)) == len(rows)


@pytest.mark.slow
def test_what_the_card_of_names_says_is_so(with_shared: Path) -> None:
    pairs = load_dataset("name-pairs:all", offline=True)
    assert int((pairs.labels == 1).sum()) == 14131
    first, second, _ = pairs.texts()
    split = np.array(pairs.column("split").to_pylist())
    texts = {name: {t for k in np.flatnonzero(split == name) for t in (first[k], second[k])} for name in set(split)}
    assert (len(texts["test"]), len(texts["test"] & texts["train"])) == (10052, 6887)
    empty = [k for k, text in enumerate(second) if not text]
    assert (pairs.labels[empty] == 1).all() and split[empty].tolist() == ["train"] * 4
    notes = " ".join(pairs.notes)
    assert "machine-made" in notes and "6,887" in notes and "four pairs" in notes


def test_the_kind_is_told_apart_from_people() -> None:
    kinds = {name: load_card(name).kind for name in ("probe", "name-pairs", "number-pairs", "stsb")}
    assert kinds == {"probe": "probe", "name-pairs": "machine", "number-pairs": "machine", "stsb": "human"}
    assert set(NOT_BY_PEOPLE) == {"probe", "machine"}


def test_rows_of_one_split_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("reference,candidate,label,part\na,b,1,x\nc,d,0,y\ne,f,0.5,x\n")
    table = read_table({"pairs": path}, {"where": {"part": "x"}}).table
    assert table.select(["pair_id", "reference", "label"]).to_pylist() == [
        {"pair_id": "2", "reference": "a", "label": 1.0},
        {"pair_id": "4", "reference": "e", "label": 0.5},
    ]
    with pytest.raises(InputError, match=r"pairs.csv: no row has 'z' in the column part"):
        read_table({"pairs": path}, {"where": {"part": "z"}})
    with pytest.raises(InputError, match=r"for where: has no column 'split'\. Valid: reference"):
        read_table({"pairs": path}, {"where": {"split": "x"}})


def test_a_column_of_another_file_joins_by_the_texts(tmp_path: Path) -> None:
    path, other = tmp_path / "pairs.csv", tmp_path / "questions.csv"
    path.write_text("gold,answer,label\na,b,1\n1999-2000,c d,0\ne,f,0.5\ng,h,1\n")
    # the second row was written with another dash and space, the fourth belongs to two questions
    other.write_text("question,gold,answer\nq1,a,b\nq2,1999–2000,c\u00a0d\nq3,g,h\nq4,g,h\n", encoding="utf-8")
    files = {"pairs.csv": path, "more/questions.csv": other}
    columns = {"reference": "gold", "candidate": "answer", "group": "question"}
    join = {"file": "more/questions.csv", "by": ["gold", "answer"], "take": "question"}
    read = read_table(files, {"columns": columns, "join": join})
    assert read.table.column("question").to_pylist() == ["q1", "q2", None, None]
    assert read.table.column("group").to_pylist() == ["q1", "q2", None, None]
    (note,) = read.notes
    assert note.startswith("question of 2 of 4 pairs joined from questions.csv, of 1 by their words alone; 2 pairs")
    with pytest.raises(InputError, match=r"questions.csv, for join: has no column 'topic'"):
        read_table(files, {"columns": columns, "join": join | {"take": "topic"}})
    for wrong in ({"file": "more/questions.csv"}, join | {"file": "absent.csv"}, join | {"by": "gold"}, [1]):
        with pytest.raises(InputError, match=r"^here: the option join.* expected "):
            check_options(read_table, {"columns": columns, "join": wrong}, files, "here")


def test_a_fault_in_a_kept_row_has_its_number(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("reference,candidate,label,part\na,b,1,x\nc,d,0,y\ne,f,high,x\n")
    with pytest.raises(InputError, match=r"row 4"):
        read_table({"pairs": path}, {"where": {"part": "x"}})
    assert len(read_table({"pairs": path}, {"where": {"part": "y"}}).table) == 1
