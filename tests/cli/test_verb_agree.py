"""``assay agree``: columns that are there already."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.cli.calling import COLUMNS


@pytest.fixture(autouse=True)
def file(workplace):
    Path("scored.csv").write_text("rater,a,b,note,empty\n1,1.5,3,x,\n2,2,1,y,\n3,4,,z,\n2,1,2,w,\n", encoding="utf-8")


def test_numeric_columns_are_found_and_no_text_is_needed(assay):
    done = assay("agree", "scored.csv", "--columns", "label=rater", "--resamples", 0, "--format", "csv")
    assert (done.code, done.err) == (0, "")
    values = {(row["metric"], row["statistic"]): row for row in done.rows}
    assert {metric for metric, _ in values} == {"recorded:a", "recorded:b"}
    assert {row["bucket"] for row in done.rows} == {"all"}
    expected = stats.spearmanr([1.5, 2, 4, 1], [1, 2, 3, 2]).statistic
    assert float(values["recorded:a", "spearman"]["value"]) == pytest.approx(expected)
    assert values["recorded:b", "kendall"]["n"] == "3"
    assert values["recorded:b", "kendall"]["note"] == "3 of 4 pairs have a score"
    assert sorted(path.name for path in Path().iterdir()) == ["own.csv", "scored.csv"]


def test_a_column_taken_for_row_numbers_is_told(assay):
    Path("rows.csv").write_text("label,n,a\n1,0,3\n2,1,1\n3,2,2\n", encoding="utf-8")
    done = assay("agree", "rows.csv", "--resamples", 0)
    assert "recorded:n" not in done.out
    assert "taken for row numbers, no scores: n (named as a score, it is used)" in " ".join(done.out.split())
    done = assay("agree", "rows.csv", "--resamples", 0, "--score", "n")
    assert "recorded:n" in done.out and "row numbers" not in done.out
    Path("rows.csv").write_text("label,n\n1,0\n2,1\n3,2\n", encoding="utf-8")
    assert "(n numbers the rows)" in assay("agree", "rows.csv").complaint


def test_a_column_of_numbers_with_an_odd_cell_is_not_left_out_silently(assay):
    Path("odd.csv").write_text("label,a,b,note\n1,0.5,3,x\n2,0.1,ERR,y\n3,0.2,2,4\n", encoding="utf-8")
    done = assay("agree", "odd.csv", "--resamples", 0)
    told = " ".join(done.out.split())
    assert "b is left out: 1 of 3 cells are no numbers, such as 'ERR'" in told and "--missing ERR" in told
    assert "recorded:b" not in done.out and "note is left out" not in told
    done = assay("agree", "odd.csv", "--resamples", 0, "--missing", "ERR")
    assert "recorded:b" in done.out and "left out" not in done.out


def test_percentages_are_scores(assay):
    rows = ["human;judge;mixed", "1;12,5 %;0.5", "2;50 %;50%", "3;;60%", "3;100 %;.6"]
    Path("shares.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    options = ("--columns", "label=human", "--resamples", 0, "--format", "csv")
    done = assay("agree", "shares.csv", *options)
    assert {row["metric"] for row in done.rows} == {"recorded:judge"}
    (pearson,) = [float(row["value"]) for row in done.rows if row["statistic"] == "pearson"]
    assert pearson == pytest.approx(np.corrcoef([1, 2, 3], [0.125, 0.5, 1])[0, 1])
    assert "must be a number, not '50%'" in assay("agree", "shares.csv", *options, "--score", "mixed").complaint


def test_verdicts_of_yes_and_no_are_scores_where_they_are_named(assay):
    rows = ["human,judge,mixed", "1,yes,YES", "0,no,maybe", "1,Yes,no", "0,No,no", "1,,yes"]
    Path("verdicts.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    options = ("--columns", "label=human", "--resamples", 0)
    done = assay("agree", "verdicts.csv", *options, "--score", "judge", "--format", "csv")
    assert {(row["n"], row["value"]) for row in done.rows if row["statistic"] == "pearson"} == {("4", "1.0")}
    refused = assay("agree", "verdicts.csv", *options, "--score", "mixed").complaint
    assert "a recorded score must be a number, not" in refused


@pytest.mark.parametrize(("cells", "is_read"), [("ynyn", True), ("tftf", True), ("10n1", False), ("ntnt", False)])
def test_letters_are_verdicts_if_they_are_of_one_pair(assay, cells, is_read):
    rows = [f"{label},{cell}" for label, cell in zip("1010", cells, strict=True)]
    Path("verdicts.csv").write_text("\n".join(["human,judge", *rows, ""]), encoding="utf-8")
    done = assay("agree", "verdicts.csv", "--columns", "label=human", "--resamples", 0, "--score", "judge", "-f", "csv")
    if is_read:
        assert {row["value"] for row in done.rows if row["statistic"] == "pearson"} == {"1.0"}
    else:
        assert "a recorded score must be a number, not" in done.complaint


def test_the_scores_asked_for_and_a_folder(assay):
    done = assay("agree", "scored.csv", "--columns", "label=rater", "--score", "b", "--out", "OUT", "--resamples", 100)
    assert done.code == 0
    assert "recorded:b" in done.out and "recorded:a" not in done.out
    assert done.err == "wrote OUT\n"
    assert (Path("OUT") / "run.json").exists()


def test_buckets_that_read_the_texts_need_them(assay):
    done = assay("agree", "own.csv", *COLUMNS, "--score", "second", "--bucket", "f1", "--format", "csv")
    assert {row["bucket"]: row["n"] for row in done.rows} == {"all": "6", "f1=0": "3", "f1>0": "3"}
    given = ("agree", "scored.csv", "--columns", "label=rater")
    for bucket in ("f1", "length", "number", "label<2+f1"):
        complaint = assay(*given, "--bucket", bucket, "--out", "OUT").complaint
        assert "scored.csv" in complaint and repr(bucket) in complaint and "needs the texts" in complaint
    assert "dropping duplicates needs the texts" in assay(*given, "--drop-duplicates", "--out", "OUT").complaint
    assert "--control length needs the texts" in assay(*given, "--control", "length", "--out", "OUT").complaint
    assert not Path("OUT").exists()
    done = assay(*given, "--bucket", "note", "--bucket", "label<2", "--format", "csv", "--resamples", 0)
    assert "note=x" in {row["bucket"] for row in done.rows}


def test_refused(assay):
    Path("two.csv").write_text("human,rating,second\n1,2,.5\n2,1,.25\n", encoding="utf-8")
    told = assay("agree", "two.csv").complaint
    assert "--columns label=human" in told and "it has human, rating, second." in told
    given = ("agree", "scored.csv", "--columns", "label=rater")
    assert "Did you mean 'note'?" in assay(*given, "--score", "notes").complaint
    complaint = assay(*given, "--score", "note").complaint
    assert "scored.csv" in complaint and "pair 2" in complaint and "column note" in complaint
    assert "row 4" in assay("agree", "scored.csv", "--columns", "label=b").complaint
    assert "there is no such file" in assay("agree", "nofile.csv").complaint
    Path("plain.csv").write_text("label,word\n1,a\n2,b\n", encoding="utf-8")
    assert "has no numeric column beside the label" in assay("agree", "plain.csv").complaint
