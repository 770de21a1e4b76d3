"""``assay combine`` on the command line: verdicts, tables, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.metrics.test_combined import answers


def write(path, rows):
    Path(path).write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


@pytest.fixture
def run(assay, workplace):
    write("answers.jsonl", answers(300))
    metrics = ["-m", "f1", "-m", "rouge-l", "-m", "chrf"]
    done = assay("run", "-d", "answers.jsonl", *metrics, "-b", "f1", "-q", "--resamples", "0", "--out", "run")
    assert done.code == 0, done.err


def test_from_a_run_to_a_metric(assay, run):
    done = assay("combine", "run", "--out", "mine", "--resamples", "100", "-q")
    assert (done.code, done.err) == (0, "")
    for words in ("answers: combine ", "what each metric adds", "learning curve", "combined is better by"):
        assert words in done.out
    learned = json.loads(Path("mine/combined.json").read_text(encoding="utf-8"))["learned_from"]
    said = " ".join(done.out.split())
    assert f"accuracy {learned['accuracy']:.3f}".replace("0.", ".") in said
    assert f"expected calibration error {learned['calibration_error']:.3f}".replace("0.", ".") in said
    again = assay("run", "-d", "answers.jsonl", "-m", "combined:mine", "-m", "f1", "-q", "--resamples", "0")
    assert again.code == 0 and "combined:mine" in again.out
    assert "is not an empty folder" in assay("combine", "run", "--out", "mine").complaint


def test_json_has_every_bucket_and_metric(assay, run):
    done = assay("combine", "run", "--resamples", "100", "-q", "-f", "json", "--learner", "linear")
    records = json.loads(done.out)
    assert {record["metric"] for record in records} == {"combined", "f1", "rouge-l", "chrf"}
    assert {record["bucket"] for record in records} >= {"all"}
    combined, *others = [record for record in records if record["bucket"] == "all"]
    assert combined["difference"] is None
    for record in others:
        assert record["difference"] == pytest.approx(combined["auc"] - record["auc"])
        assert record["difference_low"] <= record["difference"] <= record["difference_high"]


@pytest.mark.parametrize(("pairs", "label"), [(5, 1), (9, 1), (9, 0)])
def test_json_of_a_part_too_small_for_a_test_has_null_p_values(assay, workplace, pairs, label):
    """Below ten pairs there is no p-value, and JSON has no NaN."""
    rows = [row | {"part": "large"} for row in answers(120)]
    small = [row | {"part": "small"} for row in answers(160)[120:]]
    chosen = [row for row in small if row["label"] == label][: pairs - 1]
    write("answers.jsonl", [*rows, *chosen, next(row for row in small if row["label"] != label)])
    metrics = ["-m", "f1", "-m", "rouge-l", "-b", "part"]
    assert assay("run", "-d", "answers.jsonl", *metrics, "-q", "--resamples", "0", "--out", "run").code == 0
    done = assay("combine", "run", "--resamples", "100", "-q", "-f", "json", "--learner", "linear")
    assert (done.code, done.err) == (0, "")
    of_part = [record for record in json.loads(done.out) if record["bucket"] == "part=small"]
    assert {record["n"] for record in of_part} == {pairs}
    assert {record["p"] for record in of_part} == {None}
    assert "NaN" not in done.out


def test_where_no_combination_is_better_none_is_recommended(assay, workplace):
    """One metric says all, and the others nothing; whether to use that one is what recommend says."""
    rows = [
        {"reference": "a b c", "candidate": f"a b c {n}" if n % 2 else f"x y z {n}", "label": n % 2} for n in range(120)
    ]
    write("answers.jsonl", rows)
    assay("run", "-d", "answers.jsonl", "-m", "f1", "-m", "ter", "-q", "--resamples", "0", "--out", "run")
    done = assay("combine", "run", "--resamples", "100", "-q")
    assert "answers: no combination is known to be better than f1" in done.out and "use f1" not in done.out


def test_a_metric_of_one_score_that_lacks_some_is_not_learned_from(assay, run):
    """A missing score is no second value, and no pair is left out for it."""
    table = pq.read_table("run/scores.parquet")
    is_chrf = np.array(table.column("metric").to_pylist()) == "chrf"
    scores = np.where(is_chrf, 0.5, table.column("score").to_numpy())
    scores[np.flatnonzero(is_chrf)[0]] = np.nan
    column = table.column_names.index("score")
    pq.write_table(table.set_column(column, "score", pa.array(scores)), "run/scores.parquet")
    done = assay("combine", "run", "--resamples", "100", "-q", "--learner", "linear")
    said = " ".join(done.out.split())
    assert done.code == 0, done.err
    assert "chrf: its scores do not vary, and it is not learned from" in said
    assert "pairs lack a score" not in said


def test_refusals_are_one_line(assay, run):
    assert "there is none called 'forest'" in assay("combine", "run", "--learner", "forest").complaint
    assert "--budget fast: cannot be read" in assay("combine", "run", "--budget", "fast").complaint
    assert "--max-price -1" in assay("combine", "run", "--max-price", "-1").complaint
    assert "no metric of run is known to reach it" in assay("combine", "run", "--budget", "1e12/s").complaint
    assert "--most 0: expected 1 or more" in assay("combine", "run", "--most", "0").complaint
    assert "has no scores of 'bleu'" in assay("combine", "run", "-m", "bleu").complaint
    assert "there is no such run folder" in assay("combine", "nowhere").complaint
    # found before anything is learned
    below_a_file = assay("combine", "run", "--out", "answers.jsonl/mine", "--resamples", "100", "-q")
    assert below_a_file.code == 2 and "answers.jsonl is a file" in below_a_file.err and not below_a_file.out
    write("few.jsonl", answers(30))
    assay("run", "-d", "few.jsonl", "-m", "f1", "-q", "--resamples", "0", "--out", "few")
    assert "30 labelled pairs are too few to learn from; it takes 50 at least" in assay("combine", "few").complaint
    write("same.jsonl", [row | {"label": 1} for row in answers(60)])
    assay("run", "-d", "same.jsonl", "-m", "f1", "-q", "--resamples", "0", "--out", "same")
    assert "all labels are 1; learning needs pairs with other labels" in assay("combine", "same").complaint


def test_learning_begins_from_a_judge_of_the_run(assay, workplace):
    write("answers.jsonl", answers(120))
    metrics = ["-m", "combined:answer-judge", "-m", "f1"]
    assay("run", "-d", "answers.jsonl", *metrics, "-b", "f1", "-q", "--resamples", "0", "--out", "run")
    prior = ["combine", "run", "--resamples", "100", "-q", "--prior"]
    done = assay(*prior, "combined:answer-judge", "--out", "mine")
    said = " ".join(done.out.split())
    assert (done.code, done.err) == (0, "")
    assert "begun from combined:answer-judge; its own probabilities: accuracy ." in said
    assert "the same metrics were chosen" in said and "combined:answer-judge: is combined" not in said
    assert "combined:mine" in assay("run", "-d", "answers.jsonl", "-m", "combined:mine", "-q", "--resamples", "0").out
    # it is free and fast, and limits hold for it as for others
    assert assay(*prior, "combined:answer-judge", "--max-price", "0").code == 0
    slow = assay(*prior, "combined:answer-judge", "--budget", "30000000/s", "-m", "f1").complaint
    assert "is known to reach it" in slow
    assert "has no scores of 'combined:answer-judge:grade'" in assay(*prior, "combined:answer-judge:grade").complaint
    assert "--prior f1: is not learned; begin from a metric such as" in assay(*prior, "f1").complaint
    refused = assay(*prior, "combined:answer-judge", "--learner", "trees").complaint
    assert "linear alone begins" in refused
    path = Path("run/run.json")
    changed = path.read_text(encoding="utf-8")
    digest = json.loads(Path("mine/combined.json").read_text(encoding="utf-8"))["learned_from"]["prior_digest"][:16]
    path.write_text(changed.replace(digest, "0123456789abcdef"), encoding="utf-8")
    assert "is another one now than in run; run it again" in assay(*prior, "combined:answer-judge").complaint


def test_a_prior_needs_two_labels(assay, workplace):
    write("graded.jsonl", [row | {"label": number % 4} for number, row in enumerate(answers(120))])
    metrics = ["-m", "combined:answer-judge", "-m", "f1"]
    assay("run", "-d", "graded.jsonl", *metrics, "-b", "f1", "-q", "--resamples", "0", "--out", "run")
    refused = assay("combine", "run", "--prior", "combined:answer-judge").complaint
    assert "--prior combined:answer-judge: gives probabilities, and graded has more than two labels" in refused
    assay("run", "-d", "graded.jsonl", "-m", "f1", "-m", "chrf", "-q", "--resamples", "0", "--out", "own")
    assay("combine", "own", "--out", "numbers", "--resamples", "100", "-q", "--learner", "linear")
    assay("run", "-d", "graded.jsonl", "-m", "combined:numbers", "-m", "f1", "-q", "--resamples", "0", "--out", "next")
    assert (
        "is not a linear function for two labels" in assay("combine", "next", "--prior", "combined:numbers").complaint
    )


def test_what_a_paid_metric_costs_is_said_and_limited(assay, run):
    """A judge's price, as its run recorded it."""
    path = Path("run/run.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    (record,) = [each for each in manifest["metrics"] if each["metric"] == "rouge-l"]
    record["declared"]["kind"], record["cost"]["price_per_1000"] = "judge", 0.4
    path.write_text(json.dumps(manifest), encoding="utf-8")
    done = assay("combine", "run", "--resamples", "100", "-q", "--learner", "mean", "-f", "json")
    prices = {each["metric"]: each["price_per_1000"] for each in json.loads(done.out) if each["bucket"] == "all"}
    assert prices == {"combined": None, "rouge-l": 0.4, "f1": 0.0, "chrf": 0.0}
    taken = assay("combine", "run", "--resamples", "100", "-q", "--learner", "mean", "--max-price", "0.4", "--explain")
    assert "1,000 pairs cost 0.40" in taken.out and "price per 1,000" in taken.out
    free = assay("combine", "run", "--resamples", "100", "-q", "--learner", "mean", "--max-price", "0")
    assert "its metrics are free" in free.out
    unaffordable = assay("combine", "run", "-m", "rouge-l", "--max-price", "0.1").complaint
    assert "no metric of run is known to cost so little" in unaffordable
