"""Groups of many pairs are left out exactly at any number of pairs; only small groups are approximated."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics import leave_one_out as leave_one_out_module
from assay.statistics.agreement import agreement
from assay.statistics.coefficients import STATISTICS
from assay.statistics.comparison import compare
from assay.statistics.jackknife import JackknifeVariance
from assay.statistics.leave_one_out import leave_one_out

THREE = ("pearson", "spearman", "kendall")


def drawn(n, case, *, share=0.4, groups=400, levels=None):
    """Two scores that agree equally well with the labels; one group has so large a share of the pairs."""
    rng = np.random.default_rng([n, case])
    codes = np.where(rng.random(n) < share, 0, rng.integers(1, groups, size=n))

    def noise():
        return np.sqrt(0.5) * rng.normal(size=groups)[codes] + np.sqrt(0.5) * rng.normal(size=n)

    labels = noise()
    scores = {name: 0.6 * labels + 0.8 * noise() for name in ("x", "y")}
    return scores, labels if levels is None else np.digitize(labels, levels).astype(float), codes


@pytest.fixture
def from_300_pairs(monkeypatch):
    """Small groups are approximated from 300 pairs on, in place of 10,000."""
    monkeypatch.setattr(leave_one_out_module, "LINEAR_FROM", 300)


@pytest.mark.parametrize("shares", [(0.4,), (0.3, 0.3), (0.1, 0.05, 0.03), ()])
@pytest.mark.parametrize("levels", [None, [0.0], [-0.5, 0.8]])
def test_large_groups_are_left_out_exactly(from_300_pairs, shares, levels, monkeypatch):
    rng = np.random.default_rng(len(shares))
    n = 900
    rest = 1 - sum(shares)
    codes = rng.choice(len(shares) + 90, size=n, p=[*shares, *[rest / 90] * 90])
    codes = np.unique(codes, return_inverse=True)[1]
    labels = rng.normal(size=n) if levels is None else np.digitize(rng.normal(size=n), levels).astype(float)
    scores = {"x": np.round(labels + rng.normal(size=n), 1)}
    names = [name for name, one in STATISTICS.items() if not one.is_calibrated and name != "pair-accuracy"]
    names = [name for name in names if name != "auc" or len(np.unique(labels)) == 2]
    found = leave_one_out(scores, labels, statistics=names, groups=codes)["x"]
    monkeypatch.setattr(leave_one_out_module, "LINEAR_FROM", n + 1)
    exact = leave_one_out(scores, labels, statistics=names, groups=codes)["x"]
    large = np.bincount(codes) > 0.02 * n
    assert large.sum() >= len(shares) and not large.all()
    for name, approximate, without in zip(names, found, exact, strict=True):
        assert approximate[large] == pytest.approx(without[large], abs=1e-12), name
        assert approximate[~large] == pytest.approx(without[~large], abs=2e-3), name
    variances = [JackknifeVariance.of(values).variances for values in (found, exact)]
    assert variances[0] == pytest.approx(variances[1], rel=0.05)


def test_a_test_does_not_change_where_the_approximation_begins():
    """The first 9,990 and 10,050 pairs of the same data have about the same p-value."""
    scores, labels, codes = drawn(10_050, 0)
    p = {}
    for n in (9_990, 10_050):
        settings = {"statistics": THREE, "confidence": 0.95, "permutations": 0, "resamples": 1000, "seed": (0,)}
        tests = compare(
            scores["x"][:n], scores["y"][:n], labels[:n], groups=codes[:n], interval="influence", **settings
        )
        p[n] = [one.p_jackknife for one in tests]
    assert p[9_990] == pytest.approx(p[10_050], abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.4, 0.15])
def test_tests_keep_their_level_with_a_large_group(share, from_300_pairs):
    cases = 150
    found = np.zeros(3)
    for case in range(cases):
        scores, labels, codes = drawn(800, case, share=share)
        left_out = leave_one_out(scores, labels, statistics=THREE, groups=np.unique(codes, return_inverse=True)[1])
        settings = {"statistics": THREE, "resamples": 0, "confidence": 0.95, "seed": (0,)}
        values = [estimate.value for estimate in agreement(scores, labels, **settings)]
        variance = JackknifeVariance.of_differences(left_out["x"], left_out["y"])
        differences = np.subtract(values[:3], values[3:])
        found += [abs(differences[i]) > variance.half_width(i, 0.95) for i in range(3)]
    # summed influence: .3 to .5 with 40 %
    assert (found / cases < 0.08).all(), found / cases


@pytest.mark.slow
def test_intervals_cover_with_a_large_group(from_300_pairs):
    cases, held = 300, np.zeros(2)
    for case in range(cases):
        scores, labels, codes = drawn(800, case)
        settings = {"statistics": ("pearson", "spearman"), "resamples": 100, "confidence": 0.95, "seed": (0,)}
        estimates = agreement({"x": scores["x"]}, labels, groups=codes, interval="influence", **settings)
        truth = 0.6, 6 / np.pi * np.arcsin(0.3)
        held += [one.low <= value <= one.high for one, value in zip(estimates, truth, strict=True)]
    assert (held / cases > 0.9).all(), held / cases


def test_comparisons_within_groups_are_left_alone_where_no_statistic_needs_them(monkeypatch):
    """Their time and memory grow with the squares of the sizes of groups."""
    scores, labels, codes = drawn(2000, 1)

    def refuse(*_):
        raise AssertionError("not needed")

    monkeypatch.setattr("assay.statistics.prepared.WithinGroups.of", refuse)
    leave_one_out(scores, labels, statistics=THREE, groups=np.unique(codes, return_inverse=True)[1])
