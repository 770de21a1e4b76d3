"""Agreement corrected for the noise in labels, on annotators whose true score is known."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.attenuation import disattenuated_agreement
from assay.statistics.reliability import split_half_reliability

DRAWS = {"confidence": 0.95, "resamples": 0, "seed": (0,), "statistics": ("pearson", "spearman", "kendall")}


def annotated(rng, n, annotators=3):
    """A score that correlates by .8 with the true score, and noisy labels of several annotators."""
    truth = rng.normal(size=n)
    return truth + 0.75 * rng.normal(size=n), truth[:, None] + rng.normal(size=(n, annotators))


def test_the_value_is_r_over_the_root_of_the_reliability():
    rng = np.random.default_rng(0)
    score, annotations = annotated(rng, 5000)
    labels = annotations.mean(axis=1)
    r, rho, tau = disattenuated_agreement({"m": score}, labels, annotations, **DRAWS)
    reliability = split_half_reliability(annotations)
    assert r.value == pytest.approx(np.corrcoef(score, labels)[0, 1] / reliability.pearson**0.5, abs=1e-12)
    # the labels hide a correlation of .8 behind .8 * .866 = .69
    assert r.value == pytest.approx(0.8, abs=0.02)
    assert rho.value == pytest.approx(6 / np.pi * np.arcsin(0.4), abs=0.02)
    assert (tau.value, tau.note) == (None, "Kendall τ-b has no correction for attenuation")


@pytest.mark.slow
@pytest.mark.parametrize("annotators", [2, 3])
def test_the_interval_covers_the_correlation_with_the_true_score(annotators):
    covered, values = 0, []
    for seed in range(150):
        score, annotations = annotated(np.random.default_rng(seed), 150, annotators)
        settings = {**DRAWS, "resamples": 200, "seed": (seed,), "statistics": ("pearson",)}
        (found,) = disattenuated_agreement({"m": score}, annotations.mean(axis=1), annotations, **settings)
        values.append(found.value)
        covered += found.low <= 0.8 <= found.high
    assert np.mean(values) == pytest.approx(0.8, abs=0.02)
    assert 0.91 <= covered / 150 <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unequal noise", "two camps"])
def test_the_interval_holds_with_unequal_noise_and_with_camps(kind):
    """The covariances of halves are resampled with the agreement; the root of the correlations is 14 and 12 % off."""
    covered, values, rank_values = 0, [], []
    for seed in range(150):
        rng = np.random.default_rng((9, seed))
        truth = rng.normal(size=200)
        if kind == "unequal noise":
            annotations = truth[:, None] + np.array([0.3, 0.3, 3.0]) * rng.normal(size=(200, 3))
        else:
            sides = np.array([1.0, 1.0, -1.0, -1.0]) * rng.normal(size=(200, 1))
            annotations = truth[:, None] + sides + rng.normal(size=(200, 4))
        settings = {**DRAWS, "resamples": 200, "seed": (seed,), "statistics": ("pearson", "spearman")}
        score = truth + 0.75 * rng.normal(size=200)
        found, of_ranks = disattenuated_agreement({"m": score}, annotations.mean(axis=1), annotations, **settings)
        values.append(found.value)
        rank_values.append(of_ranks.value)
        assert of_ranks.low < of_ranks.value < of_ranks.high
        covered += found.low <= 0.8 <= found.high
    assert np.mean(values) == pytest.approx(0.8, abs=0.02)
    assert np.mean(rank_values) == pytest.approx(6 / np.pi * np.arcsin(0.4), abs=0.03)
    assert 0.91 <= covered / 150 <= 0.99


def test_a_value_may_exceed_1():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=30)
    annotations = truth[:, None] + 2 * rng.normal(size=(30, 2))
    score = annotations.mean(axis=1) + 0.1 * rng.normal(size=30)
    (found,) = disattenuated_agreement(
        {"m": score}, annotations.mean(axis=1), annotations, **{**DRAWS, "statistics": ("pearson",)}
    )
    assert found.value > 1


def test_labels_without_reliability_have_nothing_to_correct():
    annotations = np.tile([[0.0, 1], [1, 0], [2, 0], [0, 2], [1, 2], [2, 1]], (3, 1))
    found = disattenuated_agreement({"m": np.arange(18.0)}, annotations.mean(axis=1), annotations, **DRAWS)
    assert found[0].value is None and found[0].note == "the labels have no reliability"
    assert disattenuated_agreement({"m": np.arange(18.0)}, np.ones(18), annotations[:, :1], **DRAWS) == []
