"""``assay power``: tables, records, groups, a difference of interest, and what is refused."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import assay as library
from assay.exceptions import InputError
from assay.statistics.power import units_needed


@pytest.fixture
def pilot(tmp_path):
    """Return a file with 60 pairs in 20 questions and three scores."""
    rng = np.random.default_rng(0)
    path = tmp_path / "pilot.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["reference", "candidate", "group", "label", "good", "fair", "poor"])
        for row in range(60):
            label = rng.normal()
            noise = rng.normal(size=3) * (0.5, 0.8, 2.0)
            rows.writerow([f"r{row}", f"c{row}", f"q{row // 3}", label, *(label + noise)])
    return path


def without_groups(path):
    file = path.parent / "single.csv"
    file.write_text(path.read_text().replace("group", "remark", 1))
    return file


def test_a_line_for_each_metric_pair_and_a_column_for_each_number_of_pairs(assay, pilot):
    done = assay("power", pilot, "--statistic", "spearman", "--format", "md")
    assert done.code == 0, done.err
    assert "pilot of 60 pairs in 20 groups" in done.out
    assert "level 0.0167 of each of 3 tests" in done.out
    assert "| n = 100 | n = 300 | n = 1,000 | n = 3,000 | n for power 0.8 | groups |" in done.out
    assert done.out.count("\n| recorded:") == 3


def test_differences_have_the_digits_of_compare(assay, pilot):
    line = (pilot, "--metric", "recorded:good", "--metric", "recorded:fair", "--statistic", "pearson")
    (row,) = [row for row in assay("power", *line, "--format", "md").out.splitlines() if row.startswith("| recorded:")]
    (record,) = json.loads(assay("power", *line, "--n", 50, "--format", "json").out)
    shown = [f"{record[name]:.3f}".replace("0.", ".", 1) for name in ("difference", "low", "high")]
    assert f"| {shown[0]} [{shown[1]}, {shown[2]}] |" in row


def test_records_say_what_the_table_says(assay, pilot):
    line = ("power", pilot, "--metric", "recorded:good", "--metric", "recorded:fair", "--statistic", "pearson")
    rows = json.loads(assay(*line, "--n", 50, "--n", 400, "--format", "json").out)
    assert [row["n"] for row in rows] == [50, 400]
    assert rows[0]["share_low"] <= rows[0]["share"] <= rows[0]["share_high"]
    assert rows[0]["share"] < rows[1]["share"]
    (first, *_) = rows
    assert (first["pilot_pairs"], first["pilot_units"], first["unit"], first["level"]) == (60, 20, "group", 0.05)
    assert first["needed"] == 3 * first["needed_units"]
    table = assay(*line, "--format", "csv").rows
    assert [row["n"] for row in table] == ["100", "300", "1000", "3000"]
    # the interval of the difference is that of the t-test which decides in a comparison
    compared = assay("compare", pilot, *line[2:], "--pairs", 0, "--format", "csv").rows
    assert float(compared[0]["difference"]) == pytest.approx(first["difference"])
    assert (float(compared[0]["p_jackknife"]) < 0.05) == (not first["low"] <= 0 <= first["high"])


def test_a_difference_of_interest_and_more_comparisons(pilot):
    file = without_groups(pilot)
    (row, *_) = library.power(
        file, ["recorded:good", "recorded:fair"], statistics="pearson", effect=0.1, comparisons=10, power=0.9
    ).records.to_dict("records")
    assert row["unit"] == "pair" and row["effect"] == 0.1 and row["level"] == pytest.approx(0.005)
    # the standard error of the pilot is a quarter of the interval's width over Student's t
    from scipy.stats import t

    spread = (row["high"] - row["low"]) / 2 / t.ppf(0.975, 59) * 60**0.5
    assert row["needed"] == units_needed(0.1, spread, 0.005, 0.9)
    assert row["needed_low"] < row["needed"] < row["needed_high"]


def test_two_runs_are_compared_as_well(pilot, tmp_path):
    other = tmp_path / "other" / "pilot.csv"
    other.parent.mkdir()
    rows = list(csv.reader(pilot.open()))
    place = rows[0].index("good")
    worse = [[*row[:place], str(float(row[place]) * -1), *row[place + 1 :]] for row in rows[1:]]
    with other.open("w", newline="") as file:
        csv.writer(file).writerows([rows[0], *worse])
    found = library.power([pilot, other], "recorded:good", statistics="spearman").records
    assert (found["difference"] > 1).all() and (found["share"] > 0.9).all()


def test_a_pilot_that_is_too_small_gives_no_plan_and_says_so(assay, pilot):
    file = pilot.parent / "few.csv"
    file.write_text("\n".join(pilot.read_text().splitlines()[:20]))
    done = assay("power", file, "--statistic", "spearman")
    assert done.code == 0 and "no plan below 10 groups in the pilot" in done.out
    rows = json.loads(assay("power", file, "--statistic", "spearman", "--format", "json").out)
    assert {row["share"] for row in rows} == {row["needed"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--power", 0.04), "--power 0.04: must lie between the level of the test (0.05) and 1"),
        (("--effect", 0), "--effect 0"),
        (("--comparisons", 0), "--comparisons 0"),
        (("--n", 5), "--n 5"),
        (("--confidence", 1.5), "--confidence 1.5"),
        (("--bucket", "f1=0"), "--bucket f1=0: no run has it"),
        (("--metric", "recorded:goood"), "Did you mean"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(assay, pilot, words, complaint):
    assert complaint in assay("power", pilot, *words).complaint


def test_python_names_the_settings(pilot):
    with pytest.raises(InputError, match="effect=-1: must be above 0"):
        library.power(pilot, effect=-1)
