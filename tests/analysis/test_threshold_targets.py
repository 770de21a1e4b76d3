"""A required precision or recall is reached on new pairs, not only on those that the threshold was chosen on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import assay
from assay.analysis.thresholds.objectives import Target
from assay.analysis.thresholds.search import best_threshold, decide, with_design_effect
from assay.analysis.thresholds.settings import ThresholdSettings
from assay.exceptions import InputError


def draw(n, distance, yes, case, groups=None):
    """Scores of so many pairs, those of yes so much higher; groups share their label and half of the noise."""
    rng = np.random.default_rng([n, case])
    if groups is None:
        positive = rng.random(n) < yes
        return rng.normal(size=n) + distance * positive, positive
    # a group has one label and shares half of the noise
    positive = (rng.random(groups.max() + 1) < yes)[groups]
    noise = np.sqrt(0.5) * (rng.normal(size=groups.max() + 1)[groups] + rng.normal(size=n))
    return noise + distance * positive, positive


def truth(threshold, distance, yes, name):
    """Precision or recall of a threshold in the population."""
    hits, alarms = yes * stats.norm.sf(threshold - distance), (1 - yes) * stats.norm.sf(threshold)
    return hits / (hits + alarms) if name == "precision" else stats.norm.sf(threshold - distance)


def missed(target, n, distance, yes, groups=None, cases=300):
    """The share of samples whose threshold reaches the target by its own account, and misses it on new pairs."""
    count = 0
    for case in range(cases):
        scores, positive = draw(n, distance, yes, case, groups)
        threshold, value = best_threshold(scores, positive, with_design_effect(target, scores, positive, groups))
        count += value >= 0 and truth(threshold, distance, yes, target.name) < target.least
    return count / cases


@pytest.mark.parametrize(("n", "distance", "yes", "least"), [(500, 1.5, 0.35, 0.9), (300, 2.5, 0.5, 0.95)])
def test_a_required_precision_is_seldom_missed(n, distance, yes, least):
    assert missed(Target("precision", least, 0.95), n, distance, yes) <= 0.08
    # a threshold that has it on the pairs alone misses it more often than not
    assert missed(Target("precision", least), n, distance, yes) > 0.45


@pytest.mark.parametrize(("n", "distance", "yes", "least"), [(300, 1.5, 0.35, 0.9), (200, 2.5, 0.5, 0.8)])
def test_a_required_recall_is_seldom_missed(n, distance, yes, least):
    assert missed(Target("recall", least, 0.95), n, distance, yes) <= 0.08
    assert missed(Target("recall", least), n, distance, yes) > 0.3


def test_groups_count_for_less_than_their_pairs():
    groups = np.repeat(np.arange(60), 10)
    assert missed(Target("recall", 0.8, 0.95), 600, 2.0, 0.5, groups) <= 0.08
    objective = with_design_effect(Target("recall", 0.8, 0.95), *draw(600, 2.0, 0.5, 0, groups), groups)
    assert objective.effect > 1.5
    # without a bound, and without groups, nothing changes
    assert with_design_effect(Target("recall", 0.8), *draw(600, 2.0, 0.5, 0, groups), groups) == Target("recall", 0.8)
    assert with_design_effect(Target("recall", 0.8, 0.95), *draw(600, 2.0, 0.5, 0), None) == Target("recall", 0.8, 0.95)


def test_the_bound_holds_the_target_at_the_threshold():
    """The threshold has the highest recall of all whose one-sided Wilson bound of the precision is high enough."""
    scores, positive = draw(800, 2.0, 0.4, 1)
    threshold, value = best_threshold(scores, positive, Target("precision", 0.9, 0.95))
    best = 0.0
    for one in np.append(np.unique(scores), scores.max() + 1):
        decided = decide(scores, one)
        k, n = int((decided & positive).sum()), int(decided.sum())
        if n and stats.binomtest(k, n).proportion_ci(0.9, method="wilson").low >= 0.9:
            best = max(best, k / positive.sum())
    assert value == pytest.approx(best) and 0 < best < 1
    assert (decide(scores, threshold) & positive).sum() / positive.sum() == pytest.approx(best)


def test_every_yes_is_found_where_no_bound_is_high_enough():
    """A recall of 1 cannot be promised: of the decisions that find every yes, the one with the highest precision."""
    scores, positive = draw(200, 3.0, 0.5, 2)
    threshold, value = best_threshold(scores, positive, Target("recall", 1, 0.95))
    assert value < 0
    assert decide(scores, threshold).sum() == (scores >= scores[positive].min()).sum()


@pytest.fixture
def run(tmp_path):
    """Runs of so many pairs with a score."""

    def make(n, distance=2.0):
        scores, positive = draw(n, distance, 0.4, 5)
        frame = pd.DataFrame(
            {
                "reference": [f"reference {i}" for i in range(n)],
                "candidate": [f"candidate {i}" for i in range(n)],
                "label": positive.astype(int),
                "s": scores,
            }
        )
        return assay.run([frame], ["recorded:s"], out=tmp_path / f"run{n}", resamples=0).folder

    return make


def test_the_report_says_what_is_reached(run):
    folder = run(800)
    text = assay.thresholds(folder, precision=0.9, resamples=0).to_markdown()
    assert "precision of at least 0.9 on new pairs, with 95% confidence" in text
    assert "at least .9" in text and "on new ones with 95% confidence" in text
    plain = assay.thresholds(folder, precision=0.9, plain_target=True, resamples=0)
    assert "precision of at least 0.9 on the labelled pairs" in plain.to_markdown()
    assert "on new ones" not in plain.to_markdown()
    (sure,) = assay.thresholds(folder, precision=0.9, resamples=0).records.to_dict("records")
    (record,) = plain.records.to_dict("records")
    assert sure["deploy"] > record["deploy"]
    assert sure["target-low"] >= 0.9 and sure["target"] > sure["target-low"]
    assert record["target-low"] is None or np.isnan(record["target-low"])


def test_the_report_says_so_where_no_threshold_reaches_it(run):
    text = assay.thresholds(run(60), precision=0.95, resamples=0).to_markdown()
    lines = [line for line in text.splitlines() if "no threshold has a precision of 0.95 with 95% confidence" in line]
    assert len(lines) == 1 and "the highest bound is" in lines[0]


def test_a_plain_target_needs_a_target():
    with pytest.raises(InputError, match="neither is given"):
        ThresholdSettings(plain_target=True)
    assert ThresholdSettings(precision=0.9).objective == Target("precision", 0.9, 0.95)
    assert ThresholdSettings(recall=0.9, plain_target=True).objective == Target("recall", 0.9)
