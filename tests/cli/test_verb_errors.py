"""``assay errors``."""

from __future__ import annotations

import json

import pytest

import assay
from assay.language.wordnet import find_wordnet
from tests.cli.calling import call

ROWS = [
    {"question": "how many", "reference": "9", "candidate": "nine", "label": 2, "kind": "numeric"},
    {"question": "who", "reference": "IMF", "candidate": "International Monetary Fund", "label": 2, "kind": "acronym"},
    {"question": "what", "reference": "the red <b>", "candidate": "the red <b>!", "label": 0, "kind": "wrong label"},
    {"question": "what", "reference": "a bear", "candidate": "a brown bear", "label": 1, "kind": ""},
    {"question": "what", "reference": "salt", "candidate": "stone", "label": 0, "kind": ""},
    {"question": "what", "reference": "grey", "candidate": "grey", "label": 2, "kind": ""},
]


@pytest.fixture
def run(tmp_path):
    assay.run([[{**row, "kind": ""} for row in ROWS]], ["f1", "ter"], resamples=0, out=tmp_path / "run")
    return tmp_path / "run"


def test_json_is_a_list_of_pairs_with_their_categories(run):
    done = call("errors", run, "--metric", "f1", "--format", "json", "--resamples", 100)
    assert done.code == 0
    found = json.loads(done.out)
    assert {(one["reference"], one["side"]) for one in found} == {
        ("9", "too-low"),
        ("IMF", "too-low"),
        ("the red <b>", "too-high"),
    }
    assert {one["reference"]: one["categories"][0]["category"] for one in found} == {
        "9": "numeric",
        "IMF": "acronym",
        "the red <b>": "wrong label",
    }
    assert all(one["categories"][0]["reason"] for one in found)
    assert len(json.loads(call("errors", run, "-m", "f1", "-f", "json", "--limit", 1).out)) == 1


def test_the_table_shows_why_where_and_how_often(run):
    done = call("errors", run, "--metric", "f1", "--top", 3, "--resamples", 100)
    assert done.code == 0
    assert "3 of 6 pairs diverge" in done.out
    for line in ("Why f1 and people diverge", "The 3 pairs on which f1", "Agreement of f1 by category", "with numbers"):
        assert line in done.out
    assert "<b>" in done.out


def test_the_rule_can_be_chosen(run):
    by_rank = json.loads(call("errors", run, "-m", "f1", "--by", "rank", "--residual", 0.6, "-f", "json").out)
    # ranks of f1 are 2, 2, 5.5, 4, 2, 5.5 and of the labels 5, 5, 1.5, 3, 1.5, 5: only row 2 is 4/6 apart
    assert [one["reference"] for one in by_rank] == ["the red <b>"]
    lenient = json.loads(call("errors", run, "-m", "f1", "--high", 1, "-f", "json").out)
    assert {one["side"] for one in lenient} == {"too-low"}
    assert call("errors", run, "-m", "ter", "-f", "csv").rows[0]["metric"] == "ter"


def test_errors_by_a_threshold(run, tmp_path):
    # f1 of the labels 2 is 0, 0 and 1, of the others 1, .8 and 0: two yes and one no are decided wrongly
    done = call("errors", run, "-m", "f1", "--threshold", 0.9, "--positive", "label>=2", "--format", "csv")
    assert [(row["side"], row["threshold"]) for row in done.rows] == [("too-low", "0.9")] * 2 + [("too-high", "0.9")]
    file = tmp_path / "thresholds.json"
    thresholds = call("thresholds", run, "-m", "f1", "--positive", "label>=2", "--same-pairs", "-f", "json")
    file.write_text(thresholds.out)
    shown = call("errors", run, "-m", "f1", "--threshold", file, "--resamples", 0, "--top", 0).out
    assert "threshold from thresholds.json" in shown
    assert (
        "--threshold 7: f1 gives scores from 0 to 1"
        in call("errors", run, "-m", "f1", "--threshold", 7, "--positive", "label>=2").complaint
    )
    assert "only of f1; choose by --metric" in call("errors", run, "--threshold", file).complaint
    assert (
        "--positive label>=1: has no effect without --threshold"
        in call("errors", run, "--positive", "label>=1").complaint
    )


def test_corrected_labels(run, tmp_path):
    fixed = [{**row, "kind": "", "label": 2 if row["kind"] == "wrong label" else row["label"]} for row in ROWS]
    assay.run([fixed], ["f1"], resamples=0, out=tmp_path / "fixed")
    done = call("errors", run, "-m", "f1", "--corrected", tmp_path / "fixed", "--resamples", 0, "-f", "md")
    assert "6 pairs joined by their texts, 1 with another label" in done.out
    # tau-b of f1 (0, 0, 1, .5…) with the first labels is negative, with the corrected ones positive
    line = next(line for line in done.out.splitlines() if line.startswith("| f1 | Kendall"))
    first, corrected = (float(cell) for cell in line.split("|")[3:5])
    assert first < corrected


@pytest.mark.skipif(find_wordnet() is None, reason="WordNet is not on this machine")
def test_the_rules_against_annotated_categories(tmp_path):
    rows = [{**row, "category": row["kind"]} for row in ROWS]
    assay.run([rows], ["f1"], resamples=0, out=tmp_path / "annotated")
    done = call("errors", tmp_path / "annotated", "--evaluate", "--format", "json")
    found = {one["category"]: one for one in json.loads(done.out)}
    assert (found["numeric"]["precision"], found["numeric"]["recall"], found["numeric"]["n"]) == (1, 1, 3)
    assert "3 annotated pairs" in call("errors", tmp_path / "annotated", "--evaluate").out


def test_what_cannot_be_is_refused_in_one_line(run, tmp_path):
    assert "no such run folder" in call("errors", tmp_path / "nothing").complaint
    assert "has no scores of 'f2'" in call("errors", run, "-m", "f2").complaint
    assert "has no dataset" in call("errors", run, "-d", "nowhere").complaint
    assert "has no bucket" in call("errors", run, "-b", "f1=1").complaint
    assert "--residual" in call("errors", run, "--residual", 2).complaint
    assert "'--scale': the first number must be below the second" in call("errors", run, "--scale", "2,0").complaint
    # as other verbs have it, and the slip is told, not the stray word behind it
    told = call("errors", run, "--scale", 0, 2).complaint
    assert "'--scale': must be two numbers with a comma between them, such as 0,5" in told
    assert "no column category" in call("errors", run, "--evaluate").complaint
    assert "statistic" in call("errors", run, "--statistic", "kendal").complaint
    assert "--low nan: must be a finite number" in call("errors", run, "--low", "nan").complaint
    assert "--high inf: must be a finite number" in call("errors", run, "--high", "inf").complaint
    assert "--low is the lower one" in call("errors", run, "--low", 0.6).complaint
    assert "--high 50: f1 gives scores from 0 to 1" in call("errors", run, "--high", 50).complaint
    assert "'--scale': both numbers must be finite" in call("errors", run, "--scale", "0,inf").complaint
    assert "--low 0.1: counts by threshold" in call("errors", run, "--by", "rank", "--low", 0.1).complaint
    for option in (("--top", 5), ("-m", "f1"), ("--statistic", "pearson"), ("--seed", 0), ("--by", "rank")):
        assert "has no effect beside --evaluate" in call("errors", run, "--evaluate", *option).complaint
    assert "--corrected: --format csv lists the pairs" in call("errors", run, "--corrected", run, "-f", "csv").complaint
    (run / "pairs.parquet").unlink()
    assert "pairs.parquet is missing" in call("errors", run).complaint


@pytest.mark.slow
def test_labels_that_are_all_equal_need_a_scale(tmp_path):
    file = tmp_path / "equal.csv"
    file.write_text("reference,candidate,label,score\n" + "".join(f"a{i},b{i},1,0.{i}\n" for i in range(1, 9)))
    said = call("errors", file, "--by", "threshold").complaint
    assert "all labels of equal are 1; give the scale: --scale LOW,HIGH" in said
    assert call("errors", file, "--by", "threshold", "--scale", "0,1").code == 0
    assert call("errors", file, "--by", "rank").code == 0
    assert call("report", file, "--out", tmp_path / "page").code == 0
