"""Files as people have them: several gold answers in a cell, labels that are words, rows without a label."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.datasets import load_dataset
from assay.datasets.reading import Reading
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
    assert "2 of 4 references are lists" in hint and "--separator json" in hint


NOTATIONS = [
    json.dumps,
    lambda golds: json.dumps(json.dumps(golds)),
    repr,
    lambda golds: repr(tuple(golds)),
    lambda golds: str(np.array(golds)),
    lambda golds: repr(np.array(golds, dtype=object)),
    lambda golds: repr([np.str_(gold) for gold in golds]),
    lambda golds: f"c({', '.join(map(json.dumps, golds))})",
    lambda golds: repr({"text": golds, "answer_start": [3] * len(golds)}),
    lambda golds: repr({"text": np.array(golds, dtype=object), "answer_start": np.arange(len(golds))}),
    lambda golds: json.dumps({"text": golds, "answer_start": [3] * len(golds)}),
]
#: What a notation could break: both quotes, a comma, a bracket, a backslash, a newline, another script.
HARD = [["it's", 'say "so", [1]'], ["a\\b"], ["two\nlines", "Straße"], ["('x')", "array(['y'])"]]


@pytest.mark.parametrize("write_list", NOTATIONS)
def test_lists_as_programs_print_them(tmp_path: Path, write_list: Any) -> None:
    """A column of lists is read as lists; lists beside plain answers are announced, and read with the option."""
    for lists in (LISTS, HARD):
        listed = write(tmp_path / "listed.csv", [write_list(golds) for golds in lists], NUMBERS)
        assert golds(load_dataset(listed)) == lists
        some = write(tmp_path / "some.csv", [write_list(lists[0]), "Berlin", write_list(lists[2]), "no"], NUMBERS)
        read = load_dataset(some)
        assert "2 of 4 references are lists" in read.hints[0] and "--separator json" in read.hints[0]
        assert golds(load_dataset(some, separator="json")) == [lists[0], ["Berlin"], lists[2], ["no"]]


@pytest.mark.parametrize("text", ["(a)", "[1]", "[sic]", "[1, 2]", "{x}", "('x')", "()", '"a"', "c(1, 2)", "(" * 9000])
def test_what_looks_like_a_list_and_is_an_answer(tmp_path: Path, text: str) -> None:
    read = load_dataset(write(tmp_path / "d.csv", [text] * 4, NUMBERS))
    assert golds(read) == [text] * 4 and not read.hints


def test_objects_of_squad_in_json_lines(tmp_path: Path) -> None:
    rows = [
        {"reference": {"text": golds, "answer_start": [0] * len(golds)}, "candidate": "x", "label": 1}
        for golds in LISTS
    ]
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert golds(load_dataset(path)) == LISTS == golds(load_dataset(rows))


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["Scorpio/Skorpio", "AC/DC/ACDC", "the UK/Britain", "Paris"], "/"),
        (["NFL, National Football League", "Big Apple, NYC", "red, rouge", "no"], ", "),
        (["seven or 7 km", "Rome or Roma", "Big Apple or NYC", "no"], " or "),
    ],
)
def test_weak_separators_between_short_answers_are_proposed(tmp_path: Path, cells: list[str], separator: str) -> None:
    (hint,) = load_dataset(write(tmp_path / "d.csv", cells, NUMBERS)).hints
    assert hint.startswith("3 of 4 references hold") and hint.endswith(f"--separator {separator!r}".replace("'/'", "/"))
    split = golds(load_dataset(tmp_path / "d.csv", separator=separator))
    assert [separator.join(answers) for answers in split] == cells


@pytest.mark.parametrize(
    "text",
    [
        "12/05/1990",
        "3/4 of it",
        "https://example.org/a/b",
        "He came, saw what there was to be seen, and went home again after that",
        "It is not known whether it was he or somebody else of the same family",
    ],
)
def test_weak_separators_inside_an_answer_are_not(tmp_path: Path, text: str) -> None:
    assert load_dataset(write(tmp_path / "d.csv", [text] * 4, NUMBERS)).hints == ()


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


@pytest.mark.parametrize(
    ("cells", "options", "words"),
    [
        (
            ["yes", "partly", "no", "yes"],
            {},
            ["row 3", "'partly' is none of no, yes", 'labels="no=0,yes=1,partly=NUMBER"'],
        ),
        (["yes", "no", "yes", "unsure"], {}, ["row 5", "'unsure' is none of", '`missing="unsure"`']),
        (["Right", "right ", "wrong", "Unsure"], {}, ["row 5", "'Unsure' is none of wrong, Right"]),
        (["yes", "partly", "no", "yes"], {"labels": "yes=1,no=0"}, ["row 3", 'labels="yes=1,no=0,partly=NUMBER"']),
        (["2", "1", "unsure", "0"], {}, ["row 4", "'unsure' is not a number", '`missing="unsure"`']),
        (["2", "n", "1", "0"], {}, ["row 3", "'n' is not a number", '`missing="n"`']),
        (["some", "none", "all", "some"], {}, ["row 2", '`labels="some=NUMBER,none=NUMBER,all=NUMBER"`']),
        (["a", "A ", "b", "a"], {}, ['`labels="a=NUMBER,b=NUMBER"`']),
        (["1", "2", "3", "1"], {"labels": "1=0,2=1"}, ["row 4", "'3' is none of 1, 2"]),
    ],
)
def test_an_unknown_label_is_named_with_its_row_and_the_settings(
    tmp_path: Path, cells: list[str], options: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        load_dataset(write(tmp_path / "d.csv", ["a", "b", "c", "d"], cells), **options)
    for word in words:
        assert word in str(caught.value)


def test_numbers_as_words_in_a_typed_column() -> None:
    rows = [{"reference": "a", "candidate": "b", "label": label} for label in (1, 2, 1)]
    assert load_dataset(rows, labels="1=0,2=1").labels.tolist() == [0, 1, 0]


def test_words_that_differ_by_case_and_blanks_are_one(tmp_path: Path) -> None:
    read = load_dataset(write(tmp_path / "d.csv", ["a", "b", "c", "d"], ["Right", "right ", " wrong", "WRONG"]))
    assert read.labels.tolist() == [1, 1, 0, 0] and read.notes == ("labels: wrong as 0, Right as 1",)
    read = load_dataset(
        write(tmp_path / "d.csv", ["a", "b", "c", "d"], ["not quite", "Not  quite", "all", "all"]),
        labels="not quite=0,all=1",
    )
    assert read.labels.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("digits", ["٠١٢", "०१२", "０１２", "012"])
def test_digits_of_any_script_are_numbers(tmp_path: Path, digits: str) -> None:
    path = write(
        tmp_path / "d.csv", ["a", "b", "c", "d"], [digits[2], digits[1], digits[0], f"{digits[1]}.{digits[2]}"]
    )
    assert load_dataset(path).labels.tolist() == [2, 1, 0, 1.2]
    scored = tmp_path / "s.csv"
    scored.write_text("label,m\n" + "".join(f"{i},{digits[i]}.{digits[1]}\n" for i in (0, 1, 2)), encoding="utf-8")
    assert assay.agree(scored).scores["score"].tolist() == [0.1, 1.1, 2.1]


# Cells that mean nothing.


@pytest.mark.parametrize("word", ["NA", "N/A", "None", "nan", "null", "-", "–", "", " n/a "])
def test_words_for_nothing_are_no_label_and_no_score(tmp_path: Path, word: str) -> None:
    path = write(tmp_path / "d.csv", ["a", "b", "c", "d"], [2, word, 0, 1])
    with pytest.raises(InputError, match=r"1 of 4 rows have no label \(row 3\)"):
        load_dataset(path)
    read = load_dataset(path, drop_unlabelled=True)
    assert read.labels.tolist() == [2, 0, 1]
    yes = load_dataset(write(path, ["a", "b", "c", "d"], ["yes", word, "no", "yes"]), drop_unlabelled=True)
    assert yes.labels.tolist() == [1, 0, 1]
    scored = tmp_path / "s.csv"
    scored.write_text(f"label,m,n\n0,0.5,1\n1,{word},2\n2,0.25,{word}\n", encoding="utf-8")
    scores = assay.agree(scored).scores
    np.testing.assert_equal(scores["score"].tolist(), [0.5, np.nan, 0.25, 1, 2, np.nan])


def test_words_for_nothing_among_annotators(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("reference,candidate,a1,a2\na,b,1,NA\nc,d,unsure,0\ne,f,-1,1\n", encoding="utf-8")
    read = load_dataset(path, columns="label=a1+a2", missing="unsure,-1")
    assert read.table.column("annotations").to_pylist() == [[1, None], [None, 0], [None, 1]]
    assert read.labels.tolist() == [1, 0, 1]


@pytest.mark.parametrize("typed", [False, True])
def test_a_number_that_means_nothing(tmp_path: Path, typed: bool) -> None:
    labels = [3, -1, 0, 2]
    rows = [{"reference": "a", "candidate": "b", "label": label if typed else f"{label}.0"} for label in labels]
    read = load_dataset(rows, missing=["-1"], drop_unlabelled=True)
    assert read.labels.tolist() == [3, 0, 2] and read.reading["missing"] == "-1"


@pytest.mark.parametrize(
    ("labels", "odd"),
    [
        ([0, 1, 2, 3, -1], "-1"),
        ([1, 2, 3, 4, 5, 99], "99"),
        ([0, 1, -9], "-9"),
        ([0, 0.5, 1, 999], "999"),
        ([-1, 0, 1], None),
        ([-2, -1, 0, 1, 2], None),
        ([0, 1, 2, 3, 4, 5], None),
        ([0, 25, 50, 75, 100], None),
        ([1, 2, 4, 8], None),
        ([0, 1], None),
        ([1, 5], None),
    ],
)
def test_a_label_apart_from_the_others_is_pointed_out(labels: list[float], odd: str | None) -> None:
    rows = [{"reference": f"a{row}", "candidate": "b", "label": label} for row, label in enumerate(labels * 3)]
    hints = load_dataset(rows).hints
    assert len(hints) == (odd is not None)
    assert all(f"the label {odd} (3 times)" in hint and f"--missing {odd}" in hint.replace("=", " ") for hint in hints)


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


def test_the_words_of_a_usual_scale_are_proposed() -> None:
    words = ["Strongly agree", "Agree", "Neither agree nor disagree", "Disagree", "Strongly disagree"]
    rows = [{"reference": "a", "candidate": "b", "label": word} for word in words]
    with pytest.raises(InputError, match="Agree=NUMBER,Neither agree nor disagree=NUMBER"):
        load_dataset(rows)


def test_words_with_commas_are_recorded_so_that_the_data_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    rows = [f"gold {i},answer {i % 3},{word}" for i, word in enumerate(['"yes, fully"', "no", '"no idea, really"'] * 8)]
    path.write_text("\n".join(["reference,candidate,label", *rows]) + "\n")
    labels, missing = {"yes, fully": 1, "no": 0}, ("no idea, really",)
    run = tmp_path / "run"
    assay.run([path], ["f1"], labels=labels, missing=missing, drop_unlabelled=True, resamples=0, page=False, out=run)
    verified = assay.verify(run)
    assert verified.found.same and "could not be read again" not in str(verified)
    recorded = json.loads((run / "run.json").read_text())["datasets"][0]
    assert (recorded["labels"], recorded["missing"]) == ({"yes, fully": 1.0, "no": 0.0}, ["no idea, really"])


@pytest.mark.parametrize("settings", [{"labels": ["no=0"]}, {"labels": 3}, {"missing": 3}])
def test_settings_of_another_type_are_one_line(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(settings))}=.*expected"):
        Reading(**settings)
