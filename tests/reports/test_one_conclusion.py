"""One conclusion: every place that names a metric names the one that the evidence of the run names."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.recommend.evidence import FILE_NAME, evidence_of, recommended_metric
from assay.reports.units import read_units


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def write_scores(path, labels, **scores):
    """Write a file of pairs with labels and recorded scores; NaN is an empty cell."""
    lines = [",".join(["reference", "candidate", "label", *scores])]
    for row, label in enumerate(labels):
        cells = ["" if np.isnan(values[row]) else f"{values[row]:.6g}" for values in scores.values()]
        lines.append(",".join([f"gold {row}", f"answer {row}", f"{label:g}", *cells]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def follow(rng, labels, r):
    """Return a score with about this correlation with standardised labels."""
    z = (labels - labels.mean()) / labels.std()
    return r * z + np.sqrt(1 - r**2) * rng.normal(size=len(labels))


def without(values, rows):
    copied = values.copy()
    copied[rows] = np.nan
    return copied


def case(name, n=300):
    """Return labels and scores of a kind of real data on which conclusions differed."""
    rng = np.random.default_rng(11)
    labels = rng.integers(0, 5, size=n).astype(float)
    good, fair, poor = (follow(rng, labels, r) for r in (0.72, 0.68, 0.2))
    if name == "one missing score each":
        return labels, {"a": without(good, [5]), "b": without(fair, [9]), "c": poor}
    if name == "one missing score, the whole one useless":
        return labels, {"a": without(good, [5]), "b": without(fair, [9]), "c": rng.normal(size=n)}
    if name == "many missing scores":
        order = rng.permutation(n)
        return labels, {"a": without(good, order[:80]), "b": without(fair, order[80:160])}
    if name == "few shared scores":
        return labels, {"a": without(good, np.arange(0, n, 2)), "b": without(fair, np.arange(1, n, 2)), "c": poor}
    if name == "missing where labels are low":
        return labels, {"a": without(good, np.flatnonzero(labels == 0)[:30]), "b": fair, "c": poor}
    if name == "rare score":
        rare = np.zeros(n)
        rare[np.argsort(labels)[-2:]] = 1
        return labels, {"em": rare, "noise": rng.normal(size=n)}
    if name == "one row apart from the constant":
        # 81 rows of which one keeps the score from being constant
        return labels[:81], {"em": np.where(np.arange(81) == np.argmax(labels[:81]), 1.0, 0.0), "good": good[:81]}
    if name == "rare label":
        people = np.zeros(n)
        people[:3] = 1
        return people + 0.0, {"a": follow(rng, people, 0.5), "b": rng.normal(size=n)}
    assert name == "plain"
    return labels, {"a": good, "b": fair, "c": poor}


CASES = {
    "plain": {"a"},
    "one missing score each": {"a"},
    "one missing score, the whole one useless": {"a"},
    "many missing scores": {"a", "b"},
    "few shared scores": {"a", "b"},
    "missing where labels are low": {"b"},
    "rare score": {None},
    "one row apart from the constant": {"good"},
    "rare label": {"a", None},
}


@pytest.mark.parametrize("name", CASES)
def test_every_place_that_names_a_metric_names_the_same(name, tmp_path):
    labels, scores = case(name)
    file = write_scores(tmp_path / "own.csv", labels, **scores)
    metrics = [f"recorded:{metric}" for metric in scores]
    run = tmp_path / "run"
    (record, *_) = assay.recommend(file, metrics, out=run, resamples=200).records.to_dict("records")
    used = record["use"]
    assert (None if used is None else used.removeprefix("recorded:")) in CASES[name]

    # the page of the run, the page for a decision, and what the command line suggests
    (unit,) = read_units([read_run(run)])
    finding = findings(unit)[0].text
    page = assay.report(run, tmp_path / "decision.html", audience="decision").read_text(encoding="utf-8")
    (data,) = read_datasets(read_run(run))
    assert recommended_metric(data) == used
    if used is None:
        assert "no metric can be named" in finding and "No metric can be recommended" in page
    else:
        assert finding.startswith(f"use {used},") and f">Use {used}" in page

    # the tables: the highest ranked is the highest of the advice, and is bold
    board = assay.leaderboard(run, resamples=200, by=record["by"]).records
    ranked = board[(board["bucket"] == "all") & board["rank"].notna()].sort_values("rank")
    if record["highest"] is not None and not record["rare_scores"]:
        assert ranked["metric"].iloc[0] == record["highest"]
        table = assay.table(run, by=record["by"], resamples=200).records
        if len(ranked) > 1:
            assert table[table["standing"] == "best"]["metric"].tolist() == [record["highest"]]
    # compare tells the same metrics apart as the letters of the leaderboard
    compared = assay.compare(run, statistics=[record["by"]], resamples=200, permutations=200).records
    alike = dict(zip(ranked["metric"], ranked["alike"], strict=True))
    for row in compared[compared["bucket"] == "all"].itertuples():
        if alike.get(row.first) and alike.get(row.second):
            same_letter = bool(set(alike[row.first]) & set(alike[row.second]))
            assert same_letter == (row.verdict == "cannot be told apart"), (row.first, row.second)


@pytest.mark.parametrize("copies", [2, 3])
def test_no_place_says_that_a_metric_beats_copies_of_itself(copies, tmp_path):
    labels, scores = case("plain", 81)
    twins = {f"m{number}": (number + 1) * scores["a"] + number for number in range(copies)}
    file = write_scores(tmp_path / "own.csv", labels, **twins)
    run = tmp_path / "run"
    recommended = assay.recommend(file, [f"recorded:{metric}" for metric in twins], out=run, resamples=100)
    (record, *_) = recommended.records.to_dict("records")
    assert record["use"] == "recorded:m0" and "not the best" not in recommended.to_markdown()
    page = assay.report(run, tmp_path / "decision.md", audience="decision").read_text(encoding="utf-8")
    assert "better than" not in page and "by more than chance" not in page
    table = assay.table(run, by=record["by"], resamples=100).records
    assert set(table["standing"]) <= {"best", "tied"}, table["standing"].tolist()


def findings(unit):
    from assay.reports.page.parts import findings_by_bucket

    return list(findings_by_bucket(unit))


def test_a_kept_recommendation_with_a_limit_is_what_the_page_names(tmp_path):
    labels, scores = case("plain")
    file = write_scores(tmp_path / "own.csv", labels, **scores)
    run = tmp_path / "run"
    metrics = [f"recorded:{metric}" for metric in scores]
    (record, *_) = assay.recommend(file, metrics, out=run, resamples=200, by="pearson").records.to_dict("records")
    (data,) = read_datasets(read_run(run))
    kept = evidence_of(data, ["all"])
    assert (kept.by, kept.tests.resamples) == ("pearson", 200)
    assert kept.advice()["all"].highest.values["pearson"].value == record["pearson"]
    assert "Pearson" in assay.report(run, tmp_path / "page.html", audience="decision").read_text(encoding="utf-8")


def test_kept_evidence_is_what_a_fresh_computation_gives(tmp_path):
    labels, scores = case("missing where labels are low")
    file = write_scores(tmp_path / "own.csv", labels, **scores)
    run = tmp_path / "run"
    assay.run([file], [f"recorded:{metric}" for metric in scores], out=run, resamples=100)
    (data,) = read_datasets(read_run(run))
    assert (run / FILE_NAME).is_file(), "the page of the run read it"
    kept = evidence_of(data)
    (run / FILE_NAME).unlink()
    fresh = evidence_of(data)
    assert kept.advice() == fresh.advice()


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"version": 1}', "scores", "metric", "version"])
def test_evidence_that_is_damaged_or_of_other_scores_is_computed_anew(damage, tmp_path):
    labels, scores = case("plain", 60)
    file = write_scores(tmp_path / "own.csv", labels, **scores)
    run = tmp_path / "run"
    assay.run([file], [f"recorded:{metric}" for metric in scores], out=run, resamples=100)
    (data,) = read_datasets(read_run(run))
    expected = evidence_of(data).advice()["all"].highest.metric
    contents = json.loads((run / FILE_NAME).read_text(encoding="utf-8"))
    if damage == "scores":
        contents["digest"] = "0" * 64
    elif damage == "metric":
        contents = json.loads(re.sub(r"recorded:a\b", "recorded:z", json.dumps(contents)))
    elif damage == "version":
        contents["version"] = 99
    text = json.dumps(contents) if damage in ("scores", "metric", "version") else damage
    (run / FILE_NAME).write_text(text, encoding="utf-8")
    assert evidence_of(data).advice()["all"].highest.metric == expected
    assert json.loads((run / FILE_NAME).read_text(encoding="utf-8"))["version"] == 1


def test_a_folder_that_cannot_be_written_has_the_same_evidence(tmp_path, monkeypatch):
    labels, scores = case("plain", 60)
    file = write_scores(tmp_path / "own.csv", labels, **scores)
    run = tmp_path / "run"
    assay.run([file], [f"recorded:{metric}" for metric in scores], out=run, resamples=100, page=False)
    shutil.copytree(run, tmp_path / "copy")

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    (data,) = read_datasets(read_run(run))
    expected = evidence_of(data).advice()
    (copied,) = read_datasets(read_run(tmp_path / "copy"))
    monkeypatch.setattr("assay.analysis.recommend.evidence.atomic_write", refuse)
    assert {name: item.highest.metric for name, item in evidence_of(copied).advice().items()} == {
        name: item.highest.metric for name, item in expected.items()
    }
    assert not (tmp_path / "copy" / FILE_NAME).exists()


def test_a_combination_is_not_learned_from_a_metric_that_is_set_apart(tmp_path):
    rng = np.random.default_rng(5)
    words = [f"word{i}" for i in range(40)]
    rows = []
    for _ in range(120):
        reference = rng.choice(words, 6, replace=False)
        kept = int(rng.integers(0, 7))
        candidate = [*reference[:kept], *rng.choice(words, 6 - kept)]
        rows.append({"reference": " ".join(reference), "candidate": " ".join(candidate), "label": kept})
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    metrics = ["f1", "levenshtein", "rouge-l"]
    run = tmp_path / "run"
    assay.run([file], metrics, out=run, resamples=100, page=False)
    scores = pq.read_table(run / "scores.parquet")
    values = scores.column("score").to_numpy().copy()
    values[(np.array(scores.column("metric").to_pylist()) == "rouge-l") & (np.arange(len(values)) % 2 == 0)] = np.nan
    index = scores.column_names.index("score")
    changed = scores.set_column(index, scores.schema.field(index), pa.array(values, scores.schema.field(index).type))
    pq.write_table(changed, run / "scores.parquet")
    report = assay.combine(run, learners=["mean"], resamples=100)
    text = report.to_markdown()
    assert "rouge-l: lacks many scores, or those of certain labels, and is not learned from" in text


def for_the_decision(n=400):
    """Return grades 0 to 4, a score that orders the lower grades, and one that knows only which pairs have a 4."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 5, size=n).astype(float)
    grades = np.minimum(labels, 3) + 0.4 * rng.normal(size=n)
    return labels, {"grades": grades, "tops": 2.0 * (labels == 4) + 0.5 * rng.normal(size=n)}


def decision_text(folder, **settings):
    """Return the page for a decision, without markup."""
    page = assay.report(folder, folder.parent / f"{folder.name}.html", audience="decision", **settings)
    return re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8"))


def test_a_metric_for_a_decision_is_chosen_by_the_auc_against_it(tmp_path):
    labels, scores = for_the_decision()
    path = write_scores(tmp_path / "d.csv", labels, **scores)
    metrics = [f"recorded:{name}" for name in scores]
    (plain, *_) = assay.recommend(path, metrics, out=tmp_path / "plain", resamples=200).records.to_dict("records")
    assert (plain["use"], plain["by"], plain["positive"]) == ("recorded:grades", "spearman", None)
    report = assay.recommend(path, metrics, out=tmp_path / "R", positive="label >= 4", resamples=200)
    (found, *_) = report.records.to_dict("records")
    assert (found["use"], found["by"], found["positive"]) == ("recorded:tops", "auc", "label>=4")
    is_yes, tops = labels >= 4, scores["tops"]
    above = (tops[is_yes][:, None] > tops[~is_yes]).mean()
    assert found["auc"] == pytest.approx(above, abs=1e-4)
    assert "(--positive): AUC against it decides" in report.to_markdown()
    # whoever reads the evidence of this run names the same metric, and applies the same rule
    (data,) = read_datasets(read_run(tmp_path / "R"))
    assert recommended_metric(data) == "recorded:tops"
    assert evidence_of(data).joined.data.labels.tolist() == is_yes.astype(float).tolist()
    assert data.labels.tolist() == labels.tolist()
    (unit,) = read_units([read_run(tmp_path / "R")])
    finding = findings(unit)[0].text
    assert finding.startswith("use recorded:tops, AUC of label>=4 ")
    text = decision_text(tmp_path / "R")
    assert "assay recommend --positive" in text and "one that people call yes" in text
    assert "yes is label&gt;=4" in text
    # another decision than the one that the run keeps, which it goes on keeping
    assert "recorded:tops, AUC" in decision_text(tmp_path / "plain", positive="label>=4")
    (data,) = read_datasets(read_run(tmp_path / "plain"))
    assert (recommended_metric(data), evidence_of(data).positive) == ("recorded:grades", None)


def test_a_rule_that_separates_the_two_labels_there_are_changes_nothing(tmp_path):
    rng = np.random.default_rng(2)
    people = (rng.random(200) < 0.4).astype(float)
    scores = {"a": follow(rng, people, 0.6), "b": follow(rng, people, 0.3)}
    path = write_scores(tmp_path / "d.csv", people, **scores)
    metrics = [f"recorded:{name}" for name in scores]
    without = assay.recommend(path, metrics, resamples=200).records
    given = assay.recommend(path, metrics, positive="label>=1", resamples=200).records
    assert given.to_dict("records") == without.to_dict("records")
    assert set(without["by"]) == {"auc"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positive": "label>=9"}, "makes all pairs of d no"),
        ({"positive": "label=4"}, "write label>=2 or label>1"),
        ({"positive": "label>=4", "by": "pearson"}, "leave out one of them"),
        ({"positive": "label>=4", "calibrate_ties": True}, "leave out one of them"),
    ],
)
def test_a_rule_for_yes_that_cannot_decide(settings, message, tmp_path):
    labels, scores = for_the_decision(60)
    path = write_scores(tmp_path / "d.csv", labels, **scores)
    with pytest.raises(assay.InputError, match=message):
        assay.recommend(path, [f"recorded:{name}" for name in scores], **settings)


@pytest.mark.parametrize("change", ["board", "line"])
def test_boards_of_other_fields_are_computed_anew_by_the_kept_limits(change, tmp_path):
    """As in a folder of another version of assay: the user's limits are not forgotten."""
    labels, scores = case("many missing scores")
    file = write_scores(tmp_path / "own.csv", labels, **scores)
    run = tmp_path / "run"
    assay.recommend(file, [f"recorded:{metric}" for metric in scores], out=run, max_loss=0.2)
    (data,) = read_datasets(read_run(run))
    before = evidence_of(data)
    contents = json.loads((run / FILE_NAME).read_text(encoding="utf-8"))
    for board in contents["datasets"]["own"]["boards"]:
        values = board if change == "board" else board["lines"][0]
        values["other"] = 1
    (run / FILE_NAME).write_text(json.dumps(contents), encoding="utf-8")
    found = evidence_of(data)
    assert found.limits == before.limits and found.limits.max_loss == 0.2
    assert repr(found.boards) == repr(before.boards)
    assert '"other"' not in (run / FILE_NAME).read_text(encoding="utf-8")
