"""Measures of decided classes."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.decisions import class_measures


def test_two_classes_by_hand():
    # of class 1: 2 right, 1 missed, 1 wrong: F1 4/6; of class 0: 1 right, 1 wrong, 1 missed: 2/4
    found = class_measures(np.array([1, 1, 1, 0, 0]), np.array([1, 1, 0, 0, 1]))
    assert found == pytest.approx({"accuracy": 0.6, "f1": 2 / 3, "f1-macro": (2 / 3 + 1 / 2) / 2})


def test_three_classes_and_one_that_is_never_decided():
    # F1 of 0: 2/3; of 1: 2/3; of 2, never decided: 0
    found = class_measures(np.array([0, 1, 2]), np.array([0, 1, 0]))
    assert found == pytest.approx({"accuracy": 2 / 3, "f1-macro": (2 / 3 + 1 + 0) / 3})


def test_f1_depends_on_the_labels_alone():
    labels = np.array([0, 1, 0, 1])
    assert class_measures(labels, np.array([0, 1, 2, 1]))["f1"] == 1
    assert class_measures(labels, np.array([0, 1, 0, 1])).keys() == class_measures(labels, labels + 2).keys()


@pytest.mark.parametrize("count", [2, 4])
def test_against_scikit_learn(count):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(count)
    labels, decided = rng.integers(count, size=(2, 60))
    found = class_measures(labels, decided)
    assert found["f1-macro"] == pytest.approx(metrics.f1_score(labels, decided, average="macro"))
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(labels, decided))
    if count == 2:
        assert found["f1"] == pytest.approx(metrics.f1_score(labels, decided))
