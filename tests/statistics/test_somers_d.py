"""Somers' D of a score given the label: against SciPy, by hand, and its relation to the AUC."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.statistics.agreement import agreement
from assay.statistics.cells import Labels
from assay.statistics.prepared import PreparedScore
from assay.statistics.resampling import Resampler

SETTINGS = {"statistics": ["somers-d"], "resamples": 0, "confidence": 0.95, "seed": (0,)}


def somers_d(scores, labels):
    (estimate,) = agreement({"x": np.asarray(scores, float)}, np.asarray(labels, float), **SETTINGS)
    return estimate


def test_by_hand():
    # labels tell 5 of 6 comparisons apart: 3 in order, 1 reversed, 1 tied in the score
    assert somers_d([1, 2, 2, 1.5], [0, 1, 2, 2]).value == pytest.approx((3 - 1) / 5)


@pytest.mark.parametrize("levels", [2, 3, 40])
@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_every_resample_is_scipys_with_the_label_as_the_independent_variable(levels, decimals):
    rng = np.random.default_rng(2)
    labels = rng.integers(levels, size=90).astype(float)
    scores = np.round(labels / levels + rng.normal(size=90), decimals)
    sorted_labels = Labels.of(labels)
    prepared = PreparedScore.of(scores, sorted_labels)
    (weights,) = Resampler(90, 20, (5,)).blocks()
    (values,) = prepared.values(weights, sorted_labels.count(weights), ["somers-d"])
    for column, value in zip(weights.T.astype(int), values, strict=True):
        rows = np.repeat(np.arange(90), column)
        assert value == pytest.approx(stats.somersd(labels[rows], scores[rows]).statistic, abs=1e-12)
    assert np.ptp(values) > 0


def test_with_two_labels_it_is_twice_the_area_less_one():
    rng = np.random.default_rng(4)
    labels = rng.integers(2, size=50).astype(float)
    scores = {"x": np.round(labels + rng.normal(size=50), 1)}
    d, area = agreement(scores, labels, **SETTINGS | {"statistics": ["somers-d", "auc"]})
    assert d.value == pytest.approx(2 * area.value - 1)


def test_a_constant_score_tells_nothing_apart_and_a_constant_label_has_nothing_to_tell():
    assert somers_d([1, 1, 1], [0, 1, 2]).value == 0
    undefined = somers_d([1, 2, 3], [1, 1, 1])
    assert (undefined.value, undefined.note) == (None, "constant label")
