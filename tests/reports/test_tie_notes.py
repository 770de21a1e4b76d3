"""Tables that rank say so where ties decide, and rank by calibrated forms where they are asked to."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.analysis.leaderboard.ties import has_influential_ties


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a run with a metric that is mostly 0 and one without ties that knows more, which ρ puts second."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=300, p=[0.72, 0.17, 0.11])
    overlap = np.where(rng.random(300) < 0.55, 0, labels)
    model = 2.5 * (labels > 0) + labels + rng.normal(size=300)
    rows = [
        {"reference": f"gold {i}", "candidate": f"answer {i}", "label": int(labels[i])}
        | {"overlap": float(overlap[i]), "model": float(model[i]), "close": float(model[i] + rng.normal() / 4)}
        for i in range(300)
    ]
    assay.run(
        [rows],
        ["recorded:overlap", "recorded:model", "recorded:close"],
        buckets=["none"],
        resamples=100,
        out=tmp_path / "run",
    )
    return tmp_path / "run"


def notes_of(report):
    return [note for sheet in report.document.sheets for note in sheet.notes]


def test_a_table_says_once_that_ties_decide_and_names_the_calibrated_order(run):
    report = assay.leaderboard(run, by="pairwise-accuracy", resamples=100)
    notes = [note for note in notes_of(report) if note.startswith("ties: ")]
    assert len(notes) == 1
    assert "recorded:overlap ties 72% of the comparisons, " in notes[0]
    assert "recorded:model 0%, and pairwise accuracy (no tie calibration) depends on that" in notes[0]
    assert report.records["metric"].tolist()[0] == "recorded:overlap"
    calibrated = assay.leaderboard(run, by="acc-eq", resamples=100)
    order = calibrated.records["metric"].tolist()
    assert order[0] == "recorded:model"
    places = [notes[0].index(f"{name} .", notes[0].index("the order is")) for name in order]
    assert places == sorted(places)
    assert not [note for note in notes_of(calibrated) if note.startswith("ties: ")]


def test_the_option_ranks_by_the_calibrated_form_and_shows_the_thresholds(run):
    report = assay.leaderboard(run, calibrate_ties=True, statistics=["pearson", "kendall"], resamples=100)
    records = report.records.set_index("metric")
    assert {"pearson", "kendall-eq", "spearman-eq"} <= set(records)
    assert not {"kendall", "spearman"} & set(records)
    model = records.loc["recorded:model"]
    assert model["tie_threshold"] > 1
    assert model["ties"] == 0
    plain = assay.leaderboard(run, resamples=100).records.set_index("metric")
    assert model["spearman-eq"] > plain.loc["recorded:model", "spearman"] + 0.05
    assert plain["tie_threshold"].isna().all()
    (note,) = [note for note in notes_of(report) if note.startswith("calibrated ties: ")]
    assert f"recorded:model {model['tie_threshold']:.3g}" in note


def test_a_comparison_and_an_advice_take_the_option(run, tmp_path):
    compared = assay.compare(run, calibrate_ties=True, permutations=100, resamples=100, pairs=0).records
    assert set(compared["statistic"]) == {"pearson", "spearman-eq", "kendall-eq"}
    of_ranks = compared[compared["statistic"] != "pearson"]
    assert of_ranks["p_permutation"].isna().all()
    assert of_ranks["p_jackknife"].notna().all()
    rows = [
        {"reference": f"gold {i}", "candidate": f"answer {i}", "label": i % 3, "model": i % 3 + 0.01 * i}
        for i in range(60)
    ]
    advice = assay.recommend([rows], ["recorded:model"], buckets="none", calibrate_ties=True, resamples=100)
    (record,) = advice.records.to_dict("records")
    assert record["use"] == "recorded:model"
    assert record["spearman-eq"] > 0.9


def test_where_no_metric_ties_much_more_than_another_nothing_is_said(run):
    report = assay.leaderboard(run, metrics=["recorded:model", "recorded:close"], resamples=100)
    assert not [note for note in notes_of(report) if "ties" in note]


def test_ties_decide_for_coefficients_that_count_them():
    much, little = {"a": 0.5, "b": 0.0}, {"a": 0.05, "b": 0.0}
    assert [has_influential_ties(much, by) for by in ("spearman", "kendall", "pairwise-accuracy")] == [True] * 3
    assert not any(has_influential_ties(much, by) for by in ("pearson", "auc", "somers-d", "acc-eq", "spearman-eq"))
    assert not has_influential_ties(little, "spearman")
    assert not has_influential_ties({"a": 0.5, "b": np.nan}, "spearman")
