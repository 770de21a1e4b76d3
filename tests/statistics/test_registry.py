"""What a statistic says of itself: its chance level, its range, its ceiling, and that everything reads it there."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import assay
from assay.analysis.folder import read_run
from assay.reports.figure.agreement import draw_agreement
from assay.reports.figure.choice import choose_datasets
from assay.reports.figure.style import figure_style
from assay.statistics.agreement import agreement, measure_all
from assay.statistics.ceilings import tie_free_ceiling, tie_share
from assay.statistics.cells import Labels
from assay.statistics.coefficients import STATISTICS, LabelKind, Statistic, register
from assay.statistics.prepared import PreparedScore


@pytest.fixture
def tau_a(monkeypatch):
    """Register Kendall's tau-a for one test: concordant less discordant comparisons over all of them."""
    monkeypatch.setattr("assay.statistics.coefficients.STATISTICS", STATISTICS)
    yield register(
        Statistic(
            "tau-a",
            "Kendall τ-a",
            "τ-a",
            "share of concordant less share of discordant comparisons",
            lambda score: score.rank_counts.balance / score.rank_counts.comparisons,
            tied_labels_cap_it=True,
        )
    )
    del STATISTICS["tau-a"]


def rows(n=60, levels=3):
    """Return pairs whose labels are independent of the recorded scores ``random`` and ``tied``."""
    rng = np.random.default_rng(4)
    return [
        {
            "reference": f"river {number}",
            "candidate": f"lake {number}",
            "label": float(number % levels),
            "random": rng.random(),
            "tied": float(rng.random() < 0.05),
        }
        for number in range(n)
    ]


def test_a_statistic_that_is_registered_is_computed_saved_read_and_compared(tau_a, tmp_path):
    result = assay.run(
        [rows()],
        ["recorded:random", "recorded:tied"],
        buckets="none",
        statistics=["tau-a"],
        resamples=100,
        out=tmp_path / "run",
    )
    run = read_run(tmp_path / "run")
    values = {row.metric: row.value for row in run.agreement}
    scores = np.array([row["random"] for row in rows()])
    labels = np.array([row["label"] for row in rows()])
    pairs = [(i, j) for i in range(60) for j in range(i)]
    signs = [np.sign(scores[i] - scores[j]) * np.sign(labels[i] - labels[j]) for i, j in pairs]
    assert values["recorded:random"] == pytest.approx(np.mean(signs))
    assert run.manifest.buckets[0].ceiling["tau-a"] == pytest.approx(1 - tie_share(labels))
    assert "Kendall τ-a" in result.to_markdown()
    compared = assay.compare(tmp_path / "run", permutations=100, resamples=100)
    assert "τ-a" in compared.to_markdown()


def test_two_statistics_of_one_name_are_refused(tau_a):
    with pytest.raises(ValueError, match="two statistics called tau-a"):
        register(tau_a)


#: Those whose threshold is chosen by the labels have tests of their own, in test_ties.py.
NOT_CALIBRATED = [name for name, statistic in STATISTICS.items() if not statistic.is_calibrated]


@pytest.mark.parametrize("name", NOT_CALIBRATED)
@pytest.mark.parametrize("ties", ["none", "some"])
def test_chance_is_the_mean_over_permuted_labels(name, ties):
    statistic = STATISTICS[name]
    rng = np.random.default_rng(7)
    n = 40
    scores = rng.normal(size=n)
    if ties == "some" and statistic.labels is not LabelKind.grouped:
        scores[:25] = scores[0]
    levels = 2 if statistic.labels is LabelKind.binary else 3
    labels = np.minimum(rng.integers(levels + 1, size=n), levels - 1).astype(float)
    groups = np.arange(n) // 10 if statistic.labels is LabelKind.grouped else None
    ones = np.ones((n, 1))
    sorted_labels = Labels.of(labels)
    observed = PreparedScore.of(scores, sorted_labels, groups).resampled(ones, sorted_labels.count(ones))
    (chance,) = observed.chance([name])
    values = []
    for _ in range(600):
        order = rng.permutation(n)
        if groups is not None:
            # labels are exchanged within groups: which of them can be compared stays as it is
            order = np.lexsort((rng.random(n), groups))
        permuted = Labels.of(labels[order])
        values.append(PreparedScore.of(scores, permuted, groups).values(ones, permuted.count(ones), [name])[0, 0])
    error = np.std(values) / np.sqrt(len(values))
    assert chance == pytest.approx(np.mean(values), abs=4 * error)
    if ties == "none":
        assert chance == pytest.approx(statistic.chance_level(tie_share(labels)))


@pytest.mark.parametrize("name", STATISTICS)
def test_values_keep_to_the_range(name):
    statistic = STATISTICS[name]
    n = 24
    labels = np.repeat([0.0, 1.0], n // 2) if statistic.labels is LabelKind.binary else np.repeat([0.0, 1, 3], n // 3)
    groups = np.tile(np.arange(n // 3), 3) if statistic.labels is LabelKind.grouped else None
    settings = {"statistics": [name], "resamples": 0, "confidence": 0.95, "seed": (0,), "groups": groups}
    scores = {"equal": labels, "reversed": -labels}
    highest, lowest = (estimate.value for estimate in agreement(scores, labels, **settings))
    assert lowest < highest == pytest.approx(1, abs=0.01 if name == "kendall-tau-c" else 1e-9)
    if name in ("pairwise-accuracy", "acc-eq"):  # the ties are still right
        assert lowest == pytest.approx(tie_share(labels))
    else:
        assert lowest == pytest.approx(statistic.lowest, abs=0.01 if name == "kendall-tau-c" else 1e-9)


@pytest.mark.parametrize("name", STATISTICS)
def test_the_ceiling_is_below_1_where_tied_labels_cap_the_statistic(name):
    statistic = STATISTICS[name]
    sizes = (9, 15) if statistic.labels is LabelKind.binary else (4, 8, 12)
    labels = np.repeat(np.arange(len(sizes), dtype=float), sizes)
    groups = np.arange(24) % 4 if statistic.labels is LabelKind.grouped else None
    ceiling = tie_free_ceiling(labels, [name], groups)
    if statistic.tied_labels_cap_it:
        assert 0.5 < ceiling[name] < 0.999
    else:
        assert ceiling == {name: 1.0}
        assert tie_free_ceiling(np.ones(24), [name], groups) == {name: None}


def test_a_random_score_on_three_labels_has_the_chance_level_that_figures_and_advice_show(tmp_path):
    """A third of the comparisons are ties in the labels, which a score without ties never gets right."""
    metrics = ["recorded:random", "recorded:tied"]
    settings = {"buckets": "none", "statistics": ["pairwise-accuracy", "auc"], "resamples": 100}
    assay.run([rows(300)], metrics, out=tmp_path / "run", **settings)
    run = read_run(tmp_path / "run")
    chance = (1 - tie_share(np.arange(300) % 3)) / 2
    assert chance == pytest.approx(0.334, abs=1e-3)
    value = next(row.value for row in run.agreement if row.metric == "recorded:random")
    assert value == pytest.approx(chance, abs=0.03)
    for statistic, expected in (("pairwise-accuracy", chance), ("auc", 0.5)):
        with figure_style():
            (panel,) = draw_agreement(choose_datasets(run, [], [], []), statistic, 3).axes
        solid = [line.get_xdata()[0] for line in panel.lines if line.get_color() == "#888888"]
        assert solid[0] == pytest.approx(expected)


def test_advice_knows_what_chance_reaches(tmp_path):
    report = assay.recommend([rows(300)], ["recorded:random"], by="pairwise-accuracy", buckets="none", resamples=100)
    assert "its interval includes 0.334, which is chance" in report.to_markdown()


def test_chance_goes_by_the_ties_of_the_score():
    # half of the comparisons are ties in the labels: a score that nearly always ties is right about these
    labels, tied = np.arange(400.0) % 2, np.zeros(400)
    tied[:8] = 1
    held = measure_all({"tied": tied}, labels, statistics=["pairwise-accuracy"], resamples=0, seed=(0,))["tied"]
    assert held.values[0] == pytest.approx(0.5, abs=0.02)
    assert held.values[0] == pytest.approx(held.chance[0], abs=1e-3)


def test_where_the_ties_in_the_labels_are_unknown_so_is_a_chance_that_needs_them():
    assert STATISTICS["pairwise-accuracy"].chance_level(None) is None
    assert STATISTICS["auc"].chance_level(None) == 0.5


def test_help_names_every_statistic_and_needs_no_numpy():
    code = """
import sys
from assay.statistics.coefficients import statistics_help
print(statistics_help())
print("LOADED", "numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    text, loaded = done.stdout.splitlines()
    assert all(name in text for name in STATISTICS)
    assert loaded == "LOADED False", "assay --help reads it"
