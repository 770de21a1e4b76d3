"""The expected label of a score that is a probability begins from that probability, worth ten labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from assay.statistics.expectation import PRIOR_LABELS, expected_labels


def labelled(count, seed=0, shift=-1.0):
    """Return probabilities that are too high where *shift* is negative, and labels of 0 and 1."""
    rng = np.random.default_rng(seed)
    probabilities = rng.uniform(0.02, 0.98, count)
    return probabilities, (rng.random(count) < expit(logit(probabilities) + shift)).astype(float)


def test_it_is_the_fit_to_the_labels_and_ten_more():
    """The same as from data in which each pair occurs again as yes and as no, with weights that sum to ten."""
    probabilities, labels = labelled(40)
    curve = expected_labels(probabilities, labels, bounded=True, probabilities=probabilities)
    standardised = (probabilities - curve.centre) / curve.spread
    design = np.column_stack([np.ones(40), standardised])
    expected = curve.of(probabilities)
    # at the maximum of the likelihood the gradient is zero
    gradient = design.T @ (labels - expected) + PRIOR_LABELS / 40 * design.T @ (probabilities - expected)
    assert np.abs(gradient).max() < 1e-6


@pytest.mark.parametrize("all_are", [0.0, 1.0])
def test_labels_of_one_kind_have_a_finite_curve(all_are):
    probabilities, _ = labelled(30)
    curve = expected_labels(probabilities, np.full(30, all_are), bounded=True, probabilities=probabilities)
    expected = curve.of(np.array([0.1, 0.9]))
    assert expected.min() > 0.001 and expected.max() < 0.999
    assert abs(expected - all_are).max() < 0.6


def test_many_labels_outweigh_it():
    probabilities, labels = labelled(5_000)
    alone = expected_labels(probabilities, labels, bounded=True)
    begun = expected_labels(probabilities, labels, bounded=True, probabilities=probabilities)
    assert np.abs(alone.of(probabilities) - begun.of(probabilities)).max() < 0.005


def test_without_probabilities_nothing_is_added():
    probabilities, labels = labelled(50)
    alone = expected_labels(probabilities, labels, bounded=True)
    begun = expected_labels(probabilities, labels, bounded=True, probabilities=probabilities)
    assert alone != begun
    # the labels are lower than the probabilities, and the curve begins from these
    assert begun.of(probabilities).mean() > labels.mean() > alone.of(probabilities).mean() - 1e-6
