"""Prediction-powered means against ``ppi_python`` 0.2.3, and the properties of their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from assay.statistics.expectation import expected_labels
from assay.statistics.prediction_powered import (
    LabelledSample,
    NewSample,
    labels_alone,
    neyman_allocation,
    powered_mean,
    rogan_gladen,
)

#: Seed, and what ``ppi_mean_pointestimate`` and ``ppi_mean_ci`` (alpha .1) of ppi_python 0.2.3 give.
PPI_PYTHON = [
    (0, 2.2272522027, 2.0336259634, 2.420878442),
    (1, 0.6421588897, 0.5604498607, 0.7238679188),
    (2, 2.7332820224, 2.5925239961, 2.8740400487),
    (3, 0.6781220977, 0.6195192168, 0.7367249786),
    (4, 1.7291235, 1.6279305149, 1.8303164851),
    (5, 0.6956134816, 0.5641152952, 0.827111668),
    (6, 1.9912946667, 1.8135580742, 2.1690312591),
    (7, 0.7477852968, 0.6787490977, 0.8168214959),
    (8, 1.835046, 1.7664871433, 1.9036048567),
    (9, 0.5655794895, 0.4826906251, 0.6484683539),
]


def inputs(seed):
    """The inputs with which ppi_python was called."""
    rng = np.random.default_rng(seed)
    n, new_count = [(30, 100), (60, 500), (100, 50), (200, 2000), (80, 1000)][seed % 5]
    labels = (rng.random(n) < 0.7).astype(float) if seed % 2 else np.round(rng.normal(3, 1, n), 2)
    predictions = np.round(0.2 + 0.5 * labels + rng.normal(0, 0.2 + 0.2 * (seed % 4), n), 3)
    new = np.round(0.2 + 0.5 * (rng.random(new_count) < 0.6) + rng.normal(0, 0.3, new_count), 3)
    return labels, predictions, new


def samples(labels, predictions, new, *, groups=None, new_groups=None, weights=None, strata=None):
    n, new_count = len(labels), len(new)
    groups = np.arange(n) if groups is None else groups
    new_groups = np.arange(n, n + new_count) if new_groups is None else new_groups
    weights = np.ones(n) if weights is None else weights
    strata = np.zeros(n, dtype=np.intp) if strata is None else strata
    count = int(max(groups.max(), new_groups.max())) + 1
    return LabelledSample(labels, predictions, weights, groups, strata), NewSample(new, new_groups), count


@pytest.mark.parametrize(("seed", "value", "low", "high"), PPI_PYTHON)
def test_equal_to_ppi_python(seed, value, low, high):
    labels, predictions, new = inputs(seed)
    labelled, new_sample, count = samples(labels, predictions, new)
    mean = powered_mean(labelled, new_sample, group_count=count)
    assert mean.value == pytest.approx(value, abs=1e-9)
    # its variances divide by n, and it takes the normal quantile
    error = np.sqrt(mean.plain_variance * (len(labels) - 2) / len(labels))
    assert (mean.value - ndtri(0.95) * error, mean.value + ndtri(0.95) * error) == pytest.approx((low, high), abs=1e-9)


def test_without_weight_of_predictions_it_is_the_mean_of_the_labels():
    labels, predictions, new = inputs(3)
    labelled, new_sample, count = samples(labels, predictions, new)
    alone = labels_alone(labelled, group_count=count)
    assert alone.value == pytest.approx(labels.mean())
    assert powered_mean(labelled, new_sample, group_count=count, power=0.0).value == pytest.approx(labels.mean())
    # predictions that are nearly right make the error smaller
    close = 0.2 + 0.6 * labels + 0.1 * (predictions - predictions.mean())
    good, alike, count = samples(labels, close, np.tile(close, 5))
    assert powered_mean(good, alike, group_count=count).plain_variance < 0.3 * alone.plain_variance


def test_predictions_that_say_nothing_are_left_out():
    labels, _, _ = inputs(1)
    labelled, new, count = samples(labels, np.full(len(labels), 0.3), np.full(500, 0.3))
    mean = powered_mean(labelled, new, group_count=count)
    assert (mean.power, mean.value) == (0.0, pytest.approx(labels.mean()))


def test_dependent_answers_are_counted_once():
    labels, predictions, new = inputs(3)
    single, new_sample, count = samples(labels, predictions, new)
    twice = samples(
        np.repeat(labels, 2),
        np.repeat(predictions, 2),
        np.repeat(new, 2),
        groups=np.repeat(np.arange(len(labels)), 2),
        new_groups=np.repeat(np.arange(len(labels), len(labels) + len(new)), 2),
    )
    once = powered_mean(single, new_sample, group_count=count)
    doubled = powered_mean(twice[0], twice[1], group_count=twice[2])
    # the weight of the predictions comes from variances with n - 1
    assert doubled.value == pytest.approx(once.value, rel=1e-3)
    assert doubled.plain_variance == pytest.approx(once.plain_variance, rel=1e-2)


def test_systems_that_answer_the_same_questions_are_compared_in_pairs():
    rng = np.random.default_rng(4)
    hard = rng.random(400)
    first = (hard + rng.normal(0, 0.1, 400) > 0.3).astype(float)
    second = (hard + rng.normal(0, 0.1, 400) > 0.4).astype(float)
    groups = np.arange(400)

    def mean_of(labels, codes):
        predictions = 0.2 + 0.6 * labels
        sample = LabelledSample(
            labels[:100], predictions[:100], np.ones(100), codes[:100], np.zeros(100, dtype=np.intp)
        )
        return powered_mean(sample, NewSample(predictions[100:], codes[100:]), group_count=800)

    paired = mean_of(first, groups).minus(mean_of(second, groups))
    apart = mean_of(first, groups).minus(mean_of(second, groups + 400))
    assert paired.value == apart.value == pytest.approx(first.mean() - second.mean(), abs=0.1)
    assert paired.plain_variance < 0.6 * apart.plain_variance


def test_strata_vary_within_alone():
    """Where each stratum has one label, its weights say everything, and the estimate has no error left."""
    labels = np.repeat([0.0, 1.0], 20)
    predictions = np.full(40, 0.5)
    weights, strata = np.repeat([9.0, 1.0], 20), np.repeat([0, 1], 20)
    labelled, new, count = samples(labels, predictions, np.full(200, 0.5), weights=weights, strata=strata)
    mean = powered_mean(labelled, new, group_count=count)
    assert mean.value == pytest.approx(0.1)
    assert mean.plain_variance == pytest.approx(0)
    assert mean.share_interval(0.95)[0] < 0.1 < mean.share_interval(0.95)[1]


@pytest.mark.parametrize(("share", "strength", "n"), [(0.15, 3.0, 50), (0.85, 1.0, 100), (0.5, 0.0, 50)])
def test_intervals_of_shares_hold(share, strength, n):
    """Two of a hundred below the level is what chance allows in 400 samples; without the further unit it is .91."""
    held = []
    for seed in range(400):
        rng = np.random.default_rng([n, seed])
        labels = (rng.random(n + 2000) < share).astype(float)
        scores = rng.normal(size=n + 2000) + strength * labels
        if min(labels[:n].sum(), n - labels[:n].sum()) < 3:
            continue
        predictions = expected_labels(scores[:n], labels[:n], bounded=True).of(scores)
        labelled, new, count = samples(labels[:n], predictions[:n], predictions[n:])
        low, high = powered_mean(labelled, new, group_count=count).share_interval(0.95)
        held.append(low <= share <= high)
    assert np.mean(held) >= 0.93


def test_a_share_from_decisions_holds_whatever_the_labelled_share():
    """Half of the labelled answers are right and 20 % of the new ones; the decisions find 90 % and 80 %."""
    is_yes = np.repeat([True, False], 500)
    decided = np.concatenate([np.arange(500) < 450, np.arange(500) >= 400])
    observed = 0.2 * 0.9 + 0.8 * 0.2
    share = rogan_gladen(is_yes, decided, observed, 2000, 0.95)
    assert (share.sensitivity, share.specificity, share.value) == pytest.approx((0.9, 0.8, 0.2))
    assert share.low < 0.2 < share.high
    # by the delta method: sqrt(p(1-p)/N + share² se(1-se)/500 + (1-share)² sp(1-sp)/500) / (se + sp - 1)
    error = np.sqrt(observed * (1 - observed) / 2000 + 0.04 * 0.09 / 500 + 0.64 * 0.16 / 500) / 0.7
    assert share.high - share.low == pytest.approx(2 * 1.96 * error, rel=0.03)


def test_decisions_by_chance_say_nothing_of_a_share():
    is_yes = np.repeat([True, False], 50)
    assert rogan_gladen(is_yes, np.tile([True, False], 50), 0.5, 100, 0.95) is None
    assert rogan_gladen(np.ones(50, dtype=bool), np.ones(50, dtype=bool), 0.5, 100, 0.95) is None


def test_decisions_that_no_share_explains_have_none():
    """They find 60 % of yes and 90 % of no: of new answers they may say yes to 10 to 60 %."""
    is_yes = np.repeat([True, False], 100)
    decided = np.concatenate([np.arange(100) < 60, np.arange(100) >= 90])
    assert rogan_gladen(is_yes, decided, 0.95, 200, 0.95) is None
    assert rogan_gladen(is_yes, decided, 0.0, 200, 0.95) is None
    for observed, value in ((0.55, 0.9), (0.6, 1.0), (0.65, 1.0), (0.1, 0.0), (0.08, 0.0)):
        share = rogan_gladen(is_yes, decided, observed, 200, 0.95)
        assert share.value == pytest.approx(value)
        assert 0 <= share.low <= share.value <= share.high <= 1 and share.high - share.low > 0.05


@pytest.mark.parametrize(
    ("sizes", "deviations", "total", "counts"),
    [
        ([100, 100], [0.1, 0.4], 50, [10, 40]),
        ([1000, 10], [0.1, 0.4], 50, [48, 2]),
        ([5, 1000], [0.5, 0.1], 100, [4, 96]),
        ([3, 4], [0.5, 0.5], 50, [3, 4]),
        ([50, 50, 50], [0.0, 0.0, 0.5], 30, [2, 2, 26]),
    ],
)
def test_more_is_drawn_where_labels_vary(sizes, deviations, total, counts):
    drawn = neyman_allocation(sizes, deviations, total)
    assert sum(drawn) == min(total, sum(sizes))
    assert drawn == pytest.approx(counts, abs=2)
    assert all(min(2, size) <= count <= size for size, count in zip(sizes, drawn, strict=True))


def test_the_expected_label_of_scores_that_part_the_labels_is_finite():
    scores = np.concatenate([np.zeros(10), np.ones(10)])
    curve = expected_labels(scores, scores, bounded=True)
    assert np.isfinite([curve.slope, curve.intercept]).all()
    assert curve.of(np.array([0.0, 1.0])) == pytest.approx([0.05, 0.95], abs=0.06)
    line = expected_labels(scores, 1 - 0.5 * scores, bounded=False)
    assert line.of(np.array([0.0, 0.5, np.nan])) == pytest.approx([1.0, 0.75, np.nan], nan_ok=True)
