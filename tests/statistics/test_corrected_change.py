"""The change of a mean label from scores: Rogan and Gladen's, with an interval."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.corrected_change import corrected_change_interval, followed_part
from assay.statistics.paired_means import mean_difference_interval


def part_of(labels, predictions, groups=None):
    units = np.arange(len(labels)) if groups is None else groups
    return followed_part(labels, predictions, np.ones(len(labels)), units)


def test_the_part_of_decisions_is_youdens_index():
    labels = np.repeat([1.0, 0.0], [50, 30])
    decided = np.concatenate([np.repeat([1.0, 0.0], [45, 5]), np.repeat([0.0, 1.0], [24, 6])])
    part = part_of(labels, decided)
    assert part.value == pytest.approx(45 / 50 + 24 / 30 - 1)
    # the variances of two shares, and that of one more decision that is wrong
    shares = 0.9 * 0.1 / 50 + 0.8 * 0.2 / 30
    more = 1 / (labels.var() * 80**2)
    assert part.error**2 == pytest.approx(shares * 80 / 78 + more)
    assert part.units == 80


def test_pairs_of_equal_answers_count_once():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 60).astype(float)
    decided = np.where(rng.random(60) < 0.85, labels, 1 - labels)
    single = part_of(labels, decided)
    twice = part_of(np.repeat(labels, 2), np.repeat(decided, 2), np.repeat(np.arange(60), 2))
    assert (twice.value, twice.error, twice.units) == pytest.approx((single.value, single.error, single.units))


def test_grades_are_followed_by_a_line():
    rng = np.random.default_rng(2)
    labels = rng.random(200)
    scores = 0.6 * labels + rng.normal(0, 0.1, 200)
    assert part_of(labels, scores).value == pytest.approx(np.polyfit(labels, scores, 1)[0])


def test_a_metric_without_errors_leaves_nearly_the_interval_of_labels():
    labels = np.repeat([1.0, 0.0], [700, 300])
    differences = np.repeat([-1.0, 1.0, 0.0], [80, 20, 900])
    plain = mean_difference_interval(differences, 1.0, 0.95)
    corrected = corrected_change_interval(differences, part_of(labels, labels), 0.95)
    assert corrected == pytest.approx(plain, abs=0.001)


def test_the_interval_reaches_as_far_as_fieller_would():
    # where both widths are normal, the bounds are the roots of (change - bound * part)² = z² (variances)
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 400).astype(float)
    part = part_of(labels, np.where(rng.random(400) < 0.8, labels, 1 - labels))
    differences = np.repeat([-1.0, 1.0, 0.0], [60, 20, 320])
    plain = mean_difference_interval(differences, 1.0, 0.95)
    for bound, edge in zip(corrected_change_interval(differences, part, 0.95), plain, strict=True):
        distance = differences.mean() - bound * part.value
        reach = np.hypot(differences.mean() - edge, bound * part.half_width(0.95))
        assert abs(distance) == pytest.approx(reach)


def test_a_metric_that_may_tell_nothing_has_none():
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, 100).astype(float)
    part = part_of(labels, rng.integers(0, 2, 100).astype(float))
    assert corrected_change_interval(np.zeros(50), part, 0.95) is None
    assert corrected_change_interval(np.zeros(1), part_of(labels, labels), 0.95) is None
