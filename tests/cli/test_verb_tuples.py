"""``assay tuples``, and ``assay bws`` on what people filled in: a study with gold questions from end to end."""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def study(workplace):
    """30 pairs, p29 the most related, and three gold questions."""
    Path("pairs.csv").write_text(
        "id,reference,candidate\n" + "".join(f"p{i},first {i},second {i}\n" for i in range(30)), encoding="utf-8"
    )
    gold = [(0, 9, 18, 27), (1, 8, 15, 28), (2, 11, 21, 29)]
    Path("gold.csv").write_text(
        "item1,item2,item3,item4,best,worst\n"
        + "".join(",".join([*(f"p{i}" for i in row), f"p{max(row)}", f"p{min(row)}"]) + "\n" for row in gold)
    )


def rows_of(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def fill_in(path, careless=()):
    """Every annotator chooses by the number of the item; careless ones the other way round."""
    rows = rows_of(path)
    for row in rows:
        items = sorted((row[f"item{k}"] for k in range(1, 5)), key=lambda name: int(name[1:]))
        order = items[::-1] if row["annotator"] in careless else items
        row["worst"], row["best"] = order[0], order[-1]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_a_study_from_end_to_end(assay, study):
    done = assay(
        "tuples", "pairs.csv", "--people", "3", "--gold", "gold.csv", "--gold-every", "8", "--out", "sheet.csv"
    )
    assert done.code == 0 and "next: assay bws sheet.csv --gold=gold.csv\n" in done.err
    rows = rows_of("sheet.csv")
    # 60 tuples by two people each, and three gold questions for each of three
    assert len(rows) == 60 * 2 + 3 * 3
    assert list(rows[0]) == [
        "annotator", "tuple",
        *(f"item{k}{part}" for k in range(1, 5) for part in ("", "_reference", "_candidate")),
        "best", "worst",
    ]  # fmt: skip
    assert all(row["item2_candidate"] == f"second {row['item2'][1:]}" for row in rows)
    asked = Counter(row["tuple"] for row in rows)
    assert sorted(asked.values()) == [2] * 60 + [3] * 3
    assert len({(row["tuple"], row["annotator"]) for row in rows}) == len(rows)
    gold_names = {name for name, count in asked.items() if count == 3}
    own = [row for row in rows if row["annotator"] == "1"]
    assert [place for place, row in enumerate(own) if row["tuple"] in gold_names] == [8, 17, 26]

    fill_in("sheet.csv", careless=("3",))
    told = json.loads(assay("bws", "sheet.csv", "--gold", "gold.csv", "--splits", "50", "-f", "json").out)
    by_name = {record["annotator"]: record for record in told["annotators"]}
    assert {name: (one["answered"], one["right"], one["is_kept"]) for name, one in by_name.items()} == {
        "1": (3, 3, True), "2": (3, 3, True), "3": (3, 0, False),
    }  # fmt: skip
    assert told["annotations"]["annotators"] == 2
    assert told["annotations"]["annotations"] == by_name["1"]["annotations"] + by_name["2"]["annotations"] == 80
    scores = {record["item"]: record["score"] for record in told["items"]}
    assert np.corrcoef([scores[f"p{i}"] for i in range(30)], np.arange(30))[0, 1] > 0.9
    table = assay("bws", "sheet.csv", "--gold", "gold.csv", "--splits", "50").out
    assert "left out: 1 of 3 annotators with 40 annotations" in table
    # with a lower bar all count, the careless one against the others
    lenient = json.loads(
        assay("bws", "sheet.csv", "--gold", "gold.csv", "--gold-share", "0", "--splits", "50", "-f", "json").out
    )
    assert lenient["annotations"]["annotations"] == 120
    assert "annotators" not in json.loads(assay("bws", "sheet.csv", "--splits", "50", "-f", "json").out)


def test_numbers_of_tuples_do_not_tell_which_are_gold_questions(assay, study):
    for seed in range(3):
        done = assay("tuples", "pairs.csv", "--gold", "gold.csv", "--seed", str(seed), "--out", f"sheet{seed}.csv")
        assert done.code == 0
        rows = rows_of(f"sheet{seed}.csv")
        assert {row["tuple"] for row in rows} == {f"t{number}" for number in range(1, 64)}
        for person in ("1", "2"):
            numbers = [int(row["tuple"][1:]) for row in rows if row["annotator"] == person]
            rising = sum(after > before for before, after in itertools.pairwise(numbers))
            # of 62 steps about half, where all but a few did
            assert 12 < rising < 50
    # people who get all questions, and nobody fewer than a gold question needs
    assert assay("tuples", "pairs.csv", "--people", "12", "--gold", "gold.csv", "--out", "twelve.csv").code == 0
    gold = {frozenset(row[f"item{k}"] for k in range(1, 5)) for row in rows_of("gold.csv")}
    asked = {
        row["annotator"] for row in rows_of("twelve.csv") if frozenset(row[f"item{k}"] for k in range(1, 5)) in gold
    }
    assert len(asked) == 12
    done = assay("tuples", "pairs.csv", "--out", "plain.csv")
    assert "next: assay bws plain.csv\n" in done.err


def test_several_answers_to_a_gold_question_may_be_right(assay, study):
    assert assay("tuples", "pairs.csv", "--gold", "gold.csv", "--out", "sheet.csv", "-q").code == 0
    fill_in("sheet.csv", careless=("2",))
    with Path("gold.csv").open("a") as file:
        file.write("p0,p9,p18,p27,p0,p27\np1,p8,p15,p28,p1,p28\np2,p11,p21,p29,p2,p29\n")
    told = json.loads(assay("bws", "sheet.csv", "--gold", "gold.csv", "-f", "json").out)
    assert [(one["right"], one["is_kept"]) for one in told["annotators"]] == [(3, True), (3, True)]


def test_items_without_a_name_are_numbered_and_other_columns_shown(assay, workplace):
    Path("words.csv").write_text("word,label\n" + "".join(f"w{i},1\n" for i in range(12)))
    assert assay("tuples", "words.csv", "--per-item", "4", "--annotations", "1", "--out", "sheet.tsv").code == 0
    lines = Path("sheet.tsv").read_text().splitlines()
    assert lines[0].split("\t")[:4] == ["annotator", "tuple", "item1", "item1_word"]
    first = lines[1].split("\t")
    assert len(lines) == 13 and first[3] == f"w{int(first[2]) - 1}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--people", "1"], "--people 1: each tuple needs 2 people"),
        (["--id", "name"], "pairs.csv: has no column 'name'"),
        (["--show", "text"], "pairs.csv: has no column 'text'"),
        (["--size", "3", "--gold", "gold.csv"], "gold.csv: a tuple has 4 items; give --size 4"),
        (["--per-item", "90000"], "different tuples of 4; give --per-item a smaller number, or add items"),
        (["--size", "9000"], "different tuples of 9,000; give --size a smaller number, or add items"),
        (["--seed", "-1"], "--seed -1: must not be negative"),
        (["--gold", "nowhere.csv"], "nowhere.csv"),
        (["--gold-every", "5"], "--gold-every 5: goes with --gold"),
        (["--people", "121"], "--people 121: there are only 120 questions"),
        (
            ["--people", "13", "--gold", "gold.csv"],
            "a person has only 9 other questions, and is asked no gold question; give --gold-every 9 or less",
        ),
    ],
)
def test_refusals_are_one_line(assay, study, words, said):
    assert said in assay("tuples", "pairs.csv", *words, "--out", "sheet.csv").complaint
    assert not Path("sheet.csv").exists()


def test_names_must_differ_and_annotations_are_not_replaced(assay, study):
    with Path("pairs.csv").open("a") as file:
        file.write("p3,x,y\n")
    assert "pairs.csv, row 32, column id: 'p3' names an item above" in assay(
        "tuples", "pairs.csv", "--out", "sheet.csv"
    ).complaint.replace("line", "row")
    Path("sheet.csv").write_text("a\n1\n")
    assert "exists, and may hold annotations" in assay("tuples", "pairs.csv", "--out", "sheet.csv").complaint


def test_gold_questions_need_annotators_and_questions(assay, study):
    Path("a.csv").write_text("item1,item2,item3,item4,best,worst\np0,p1,p2,p3,p0,p3\n")
    assert "a.csv: gold questions need a column annotator" in assay("bws", "a.csv", "--gold", "gold.csv").complaint
    Path("b.csv").write_text("item1,item2,item3,item4,best,worst,annotator\np0,p1,p2,p3,p0,p3,kim\n")
    assert "b.csv: has none of the 3 gold questions" in assay("bws", "b.csv", "--gold", "gold.csv").complaint
    assert "--gold-share 1.5: must lie between 0 and 1" in assay("bws", "b.csv", "--gold-share", "1.5").complaint
    for share in ("0.9", "0.7"):
        complaint = assay("bws", "b.csv", "--gold-share", share).complaint
        assert f"--gold-share {share}: goes with --gold" in complaint
