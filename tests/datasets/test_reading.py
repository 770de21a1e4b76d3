"""Files as people have them: several gold answers in a cell, labels that are words, rows without a label."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.datasets import load_dataset
from assay.exceptions import InputError

ROWS = [
    (["seven kilometres", "7 km"], "7 km", 1),
    (["Berlin"], "berlin", 1),
    (["a, b", "b and a"], "c", 0),
    (["no"], "none", 0),
]


def write(path: Path, references: list[str], labels: list[Any], header: str = "reference,candidate,label") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header.split(","))
        for reference, (_, candidate, _), label in zip(references, ROWS, labels, strict=True):
            writer.writerow([reference, candidate, label])
    return path


def golds(pairs: Any) -> list[list[str]]:
    return pairs.table.column("reference").to_pylist()


LISTS = [row[0] for row in ROWS]
NUMBERS = [row[2] for row in ROWS]


@pytest.mark.parametrize("separator", ["|", ";", " / ", "\n", " ## "])
def test_gold_answers_between_separators_are_those_of_lists(tmp_path: Path, separator: str) -> None:
    joined = write(tmp_path / "joined.csv", [separator.join(golds) for golds in LISTS], NUMBERS)
    listed = write(tmp_path / "listed.csv", [json.dumps(golds) for golds in LISTS], NUMBERS)
    read = load_dataset(joined, separator=separator)
    assert golds(read) == LISTS == golds(load_dataset(listed))
    assert read.digest == load_dataset(listed).digest and not read.hints


def test_lists_in_some_cells_alone(tmp_path: Path) -> None:
    cells = [json.dumps(LISTS[0]), "Berlin", json.dumps(LISTS[2]), "no"]
    path = write(tmp_path / "some.csv", cells, NUMBERS)
    assert golds(load_dataset(path, separator="json")) == LISTS
    (hint,) = load_dataset(path).hints
    assert "2 of 4 references are JSON lists" in hint and "--separator json" in hint


@pytest.mark.parametrize(("separator", "shown"), [("|", "'|'"), (";", "';'"), (" / ", "' / '"), ("\n", r"$'\n'")])
def test_a_likely_separator_is_proposed(tmp_path: Path, separator: str, shown: str) -> None:
    path = write(tmp_path / "d.csv", [f"a{separator}b", f"c{separator}d", f"e{separator}f", "g"], NUMBERS)
    (hint,) = load_dataset(path).hints
    assert hint.startswith("3 of 4 references hold") and hint.endswith(f"--separator {shown}")


def test_prose_with_semicolons_on_both_sides_is_not_split(tmp_path: Path) -> None:
    rows = [{"reference": f"one; two {i}", "candidate": f"two; one {i}", "label": i % 2} for i in range(20)]
    assert load_dataset(rows).hints == ()
    assert len(load_dataset([row | {"candidate": "one"} for row in rows]).hints) == 1


def test_a_cell_of_separators_alone_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", ["a|b", " | ", "c", ""], NUMBERS)
    with pytest.raises(InputError, match=r"d\.csv, row 3, column reference: ' \| ' holds no answer between"):
        load_dataset(path, separator="|")
    read = load_dataset(write(path, ["a|b|", "|c", "d", ""], NUMBERS), separator="|")
    assert golds(read) == [["a", "b"], ["c"], ["d"], [""]], "an empty cell is an empty answer"


def test_a_separator_for_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds lists of gold answers already"):
        load_dataset([{"reference": ["a", "b"], "candidate": "c", "label": 1}], separator="|")


# Labels that are words.


@pytest.mark.parametrize(
    "words",
    [("no", "yes"), ("False", "TRUE"), ("incorrect", "correct"), ("wrong", "right"), ("fail", "pass"), ("N", "y")],
)
def test_two_words_are_understood_and_reported(tmp_path: Path, words: tuple[str, str]) -> None:
    read = load_dataset(write(tmp_path / "d.csv", ["a", "b", "c", "d"], [words[number] for number in NUMBERS]))
    assert read.labels.tolist() == NUMBERS
    assert read.notes == (f"labels: {words[0]} as 0, {words[1]} as 1",)


@pytest.mark.parametrize("labels", ["no=0, partly=1, yes=2", {"No": 0, "partly": 1, "YES": 2}])
def test_words_in_an_order_of_the_user(tmp_path: Path, labels: Any) -> None:
    path = write(tmp_path / "d.csv", ["a", "b", "c", "d"], ["yes", "Partly ", "no", "yes"])
    read = load_dataset(path, labels=labels)
    assert read.labels.tolist() == [2, 1, 0, 2]
    assert read.reading["labels"] == "no=0,partly=1,yes=2"


def test_an_unknown_word_is_told_with_the_setting(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", ["a", "b", "c", "d"], ["yes", "partly", "no", "yes"])
    with pytest.raises(InputError) as caught:
        load_dataset(path)
    message = str(caught.value)
    assert "d.csv, row 2, column label: the label 'yes' is not a number" in message
    assert "`labels=yes=NUMBER,partly=NUMBER,no=NUMBER`" in message
    with pytest.raises(InputError, match="`labels=yes=NUMBER"):
        load_dataset(path, labels="yes=1,no=0")


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ("no=0,No=1", "stands for 0 and for 1"),
        ("no", "expected a number for each word"),
        ("no=zero", "expected a number for each word"),
        ({"no": float("nan")}, "expected a number for each word"),
    ],
)
def test_labels_that_are_no_mapping(tmp_path: Path, labels: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_dataset(write(tmp_path / "d.csv", ["a", "b", "c", "d"], ["yes"] * 4), labels=labels)


def test_annotators_with_words_and_blanks(tmp_path: Path) -> None:
    rows = []
    for first, second, third in (("yes", "no", ""), ("yes", "yes", "yes"), ("", "", "no"), ("no", "no", "yes")):
        rows.append({"reference": "a", "candidate": "b", "a1": first, "a2": second, "a3": third})
    read = load_dataset(rows, columns="label=a1+a2+a3")
    np.testing.assert_allclose(read.labels, [0.5, 1, 0, 1 / 3])
    assert read.table.column("annotations").to_pylist()[0] == [1, 0, None]


# Rows without a label.


def test_rows_without_a_label_are_left_out_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", ["a", "b", "c", "d"], [1, "", 0, " "])
    with pytest.raises(InputError, match=r"2 of 4 rows have no label \(rows 3, 5\).*`drop_unlabelled`"):
        load_dataset(path)
    read = load_dataset(path, drop_unlabelled=True)
    assert read.table.column("pair_id").to_pylist() == ["2", "4"], "a pair keeps the number of its row"
    assert read.notes == ("2 of 4 rows without a label left out",)
    with pytest.raises(InputError, match="no row has a label"):
        load_dataset(write(path, ["a", "b", "c", "d"], [""] * 4), drop_unlabelled=True)


# A name for a file, and samples.


def test_a_file_with_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", ["a", "b", "c", "d"], NUMBERS)
    assert load_dataset(f"answers of May={path}").name == "answers of May"
    odd = write(tmp_path / "x=y.csv", ["a", "b", "c", "d"], NUMBERS)
    assert load_dataset(odd).name == "x=y", "a file that exists is that file"


def test_a_sample_keeps_groups_whole() -> None:
    rows = [{"reference": "a", "candidate": "b", "label": i % 3, "group": f"g{i // 4}"} for i in range(400)]
    pairs = load_dataset(rows)
    drawn = pairs.sample(90, seed=3, group="group")
    groups = drawn.table.column("group").to_pylist()
    assert len(drawn) == 88 and all(groups.count(name) == 4 for name in set(groups))
    ids = [int(number) for number in drawn.table.column("pair_id").to_pylist()]
    assert ids == sorted(ids)
    assert drawn.digest == pairs.sample(90, seed=3, group="group").digest != pairs.sample(90, seed=4).digest
    assert drawn.notes == ("88 of 400 pairs in 22 of 100 groups by group, drawn with seed 3",)
    # over many seeds every row is drawn as often as the next
    counts = np.zeros(400)
    for seed in range(300):
        counts[[int(number) for number in pairs.sample(100, seed).table.column("pair_id").to_pylist()]] += 1
    assert counts.min() > 40 and counts.max() < 110 and counts.sum() == 30_000
