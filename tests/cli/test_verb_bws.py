"""``assay bws`` on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def tuples(workplace):
    """40 items, i39 the highest, in 80 tuples, each annotated twice with some noise."""
    rng = np.random.default_rng(0)
    rows = ["tuple,item1,item2,item3,item4,best,worst,annotator"]
    for number, shown in enumerate(np.concatenate([rng.permutation(40).reshape(-1, 4) for _ in range(8)])):
        for annotator in ("kim", "lee"):
            perceived = shown + rng.normal(0, 6, 4)
            best, worst = shown[perceived.argmax()], shown[perceived.argmin()]
            rows.append(",".join([f"t{number}", *(f"i{item}" for item in shown), f"i{best}", f"i{worst}", annotator]))
    Path("tuples.csv").write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("form", ["table", "csv"])
def test_formats(assay, tuples, form):
    done = assay("bws", "tuples.csv", "--splits", "20", "-f", form)
    assert (done.code, done.err) == (0, "")
    assert "i39" in done.out


@pytest.mark.slow
def test_scores_are_written_and_told(assay, tuples):
    done = assay("bws", "tuples.csv", "--out", "scores.csv")
    assert (done.code, done.err) == (0, "wrote scores.csv\n")
    assert assay("bws", "tuples.csv", "--out", "again.csv", "--quiet").err == ""
    with Path("scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 40
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(float(row["scaled"]) == pytest.approx((float(row["score"]) + 1) / 2) for row in rows)
    assert all(
        float(row["score"]) == pytest.approx((int(row["best"]) - int(row["worst"])) / int(row["seen"])) for row in rows
    )
    order = [int(row["item"][1:]) for row in rows]
    assert np.corrcoef(order, np.arange(40))[0, 1] < -0.9
    told = json.loads(assay("bws", "tuples.csv", "-f", "json").out)
    assert told["annotations"]["annotations"] == 160 and told["annotations"]["annotators"] == 2
    assert told["annotations"]["tuples per item"] == {"mean": 8.0, "least": 8, "most": 8}
    assert 0.7 < told["reliability"]["pearson"] < told["reliability"]["stepped_up"] < 1
    assert told["reliability"]["splits"] == 1000


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_scores_of_the_same_items_are_replaced(assay, tuples, ending):
    out = f"scores.{ending}"
    assert assay("bws", "tuples.csv", "--out", out).code == 0
    first = Path(out).read_bytes()
    assert assay("bws", "tuples.csv", "--out", out).code == 0
    assert Path(out).read_bytes() == first
    with Path("tuples.csv").open("a") as file:
        file.write("t80,i0,i1,i2,more,i2,i0,kim\n")
    assert assay("bws", "tuples.csv", "--out", out).code == 0
    assert Path(out).read_bytes() != first


@pytest.mark.parametrize(
    "text",
    [
        "notes\nmy own\n",
        "item,score,scaled,best,worst,seen,tuples\nother,0.5,0.75,1,0,2,2\n",
        "item,score,scaled,best,worst,seen,tuples,mine\ni0,0.5,0.75,1,0,2,2,x\n",
    ],
)
def test_nothing_else_is_replaced(assay, tuples, text):
    Path("scores.csv").write_text(text)
    said = assay("bws", "tuples.csv", "--out", "scores.csv").complaint
    assert "scores.csv: holds something else than scores of these items; give --out another name or remove it" in said
    assert Path("scores.csv").read_text() == text


def test_an_empty_file_has_nothing_to_lose(assay, tuples):
    Path("scores.csv").touch()
    assert assay("bws", "tuples.csv", "--out", "scores.csv").code == 0
    assert len(Path("scores.csv").read_text().splitlines()) == 41


def test_one_annotation_a_tuple_has_no_reliability(assay, tuples):
    lines = Path("tuples.csv").read_text().splitlines()
    Path("once.csv").write_text("\n".join([lines[0], *lines[1::2]]) + "\n")
    done = assay("bws", "once.csv")
    assert done.code == 0 and "no split-half reliability: no tuple has two annotations" in done.out


def test_odd_tuples_are_told(assay, tuples):
    with Path("tuples.csv").open("a") as file:
        file.write("t80,i0,i1,i2,<b>new</b>,i2,i0,kim\n")
    done = assay("bws", "tuples.csv", "--splits", "20", "-f", "html")
    assert "row 162" in done.out and "appears in no other tuple" in done.out
    assert "<b>new" not in done.out and "&lt;b&gt;new" in done.out
    assert "tuples with one annotation, which falls to either half by chance: 1" in done.out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["tuples.csv", "--splits", "0"], "--splits 0: must be a whole number, at least 1"),
        (["tuples.csv", "--out", "tuples.csv"], "is the file that is read"),
        (["tuples.csv", "--out", "scores.xls"], "the name must end in .csv"),
        (["nowhere.csv"], "there is no such file"),
        (["own.csv"], "expected columns item1, item2"),
    ],
)
def test_refusals_are_one_line(assay, tuples, line, said):
    assert said in assay("bws", *line).complaint
