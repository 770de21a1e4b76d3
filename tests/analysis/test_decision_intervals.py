"""Intervals of measures of decisions: they have a width where no decision is wrong, and keep their level there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import assay
from assay.analysis.thresholds.intervals import values_with_intervals
from assay.analysis.thresholds.measures import LOWEST, MEASURES, ConfusionMatrix
from assay.analysis.thresholds.objectives import MeasureObjective
from assay.analysis.thresholds.parts import LabelledScores
from assay.statistics.resampling import Resampler


def values_of(cells, *, groups=None, resamples=500, seed=0):
    """Values of decisions by cell: 0 true positive, 1 false positive, 2 false negative, 3 true negative."""
    positive, decided = np.isin(cells, (0, 2)), np.asarray(cells) < 2
    resampler = Resampler(len(cells), resamples, (seed,), groups)
    return values_with_intervals(
        decided[:, None], LabelledScores(positive * 1.0, positive), (), MeasureObjective("f1-macro"), resampler, 0.95
    )


@pytest.mark.parametrize("counts", [(30, 0, 0, 30), (3, 0, 0, 57), (59, 0, 0, 1), (0, 0, 3, 57), (57, 3, 0, 0)])
@pytest.mark.parametrize("in_groups", [False, True])
def test_no_measure_has_an_interval_of_width_zero(counts, in_groups):
    cells = np.repeat(np.arange(4), counts)
    groups = np.random.default_rng(0).permutation(60) // 3 if in_groups else None
    for name, value in values_of(cells, groups=groups).items():
        # a share of the pairs of a single group tells nothing of other groups
        if value.value is None or (in_groups and name == "f1-no" and counts[3] == 1):
            assert (value.low, value.high) == (None, None)
            continue
        assert value.low < value.high, name
        assert value.low <= value.value <= value.high, name
        assert LOWEST.get(name, 0.0) <= value.low and value.high <= 1, name


def test_perfect_decisions_in_groups_count_the_groups():
    cells = np.repeat([0, 3], 60)
    single, grouped = values_of(cells), values_of(cells, groups=np.arange(120) // 6)
    for name in MEASURES:
        assert 1 - grouped[name].low > 2 * (1 - single[name].low), name


def test_shares_of_decisions_have_wilsons_interval():
    values = values_of(np.repeat(np.arange(4), (24, 6, 3, 67)))
    for name, k, n in (("accuracy", 91, 100), ("precision", 24, 30), ("recall", 24, 27)):
        expected = binomtest(k, n).proportion_ci(0.95, method="wilson")
        assert (values[name].low, values[name].high) == pytest.approx((expected.low, expected.high))
    # F1 is 2 s / (1 + s) of the share of 24 among the 33 that either calls yes
    share = binomtest(24, 33).proportion_ci(0.95, method="wilson")
    expected = [2 * bound / (1 + bound) for bound in (share.low, share.high)]
    assert (values["f1"].low, values["f1"].high) == pytest.approx(expected)


@pytest.mark.parametrize("chances", [(0.49, 0.01, 0.01, 0.49), (0.4, 0.1, 0.1, 0.4), (0.1, 0.02, 0.02, 0.86)])
def test_measures_of_the_whole_table_keep_their_level(chances):
    """With 2 % wrong decisions of 60, percentiles of plain resamples cover κ in .70 of the cases."""
    truth = {name: float(compute(ConfusionMatrix(*map(np.array, chances)))) for name, compute in MEASURES.items()}
    cases = 200
    held = dict.fromkeys(MEASURES, 0)
    defined = dict.fromkeys(MEASURES, 0)
    for case in range(cases):
        cells = np.random.default_rng([4, case]).choice(4, size=60, p=chances)
        for name, value in values_of(cells, resamples=300, seed=case).items():
            if value.low is not None:
                defined[name] += 1
                held[name] += value.low <= truth[name] <= value.high
    for name in MEASURES:
        assert held[name] / defined[name] > 0.92, name


def test_the_draws_of_a_seed_do_not_depend_on_the_blocks(monkeypatch):
    cells = np.repeat(np.arange(4), (20, 3, 5, 32))
    together = values_of(cells)
    monkeypatch.setattr("assay.statistics.resampling.BLOCK", 60 * 7)
    assert values_of(cells) == together


@pytest.fixture
def perfect_run(tmp_path):
    """A run of a score that separates 30 yes from 30 no without an error."""
    frame = pd.DataFrame(
        {
            "reference": [f"answer {i} of the first" for i in range(60)],
            "candidate": [f"answer {i} of the second" for i in range(60)],
            "label": [0, 1] * 30,
            "s": np.arange(60) / 100 + np.array([0, 1] * 30),
        }
    )
    return assay.run([frame], ["recorded:s"], out=tmp_path / "run", resamples=200).folder


def test_the_page_does_not_promise_that_no_decision_will_be_wrong(perfect_run, tmp_path):
    (record,) = assay.thresholds(perfect_run, resamples=200).records.to_dict("records")
    for name in ("accuracy", "kappa", "mcc", "f1-macro", "average-precision", "auc"):
        assert record[name] == 1 and record[f"{name}-low"] < 0.99, name
    page = tmp_path / "page.md"
    assay.report(perfect_run, page, audience="decision")
    text = page.read_text(encoding="utf-8")
    # Wilson's upper bound for 0 of 60
    assert "0 of 100" in text and "6.0%" in text and "between 0.0% and 0.0%" not in text
