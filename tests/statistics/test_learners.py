"""Learners against scikit-learn and SciPy, and what they promise: no metric lowers them, and a pair is scored alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.special import expit

from assay.statistics.learners import NAMES, Learned, Linear, Recipe, Step, Targets, calibrate, fit_linear

N = 400


def drawn(levels=2, seed=0):
    """Three metrics that rise with the label, the last one against it, and a property; labels of so many levels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(levels, size=N).astype(float)
    metrics = [labels * slope + rng.normal(size=N) for slope in (1.5, 0.7, -0.3)]
    return np.stack([*metrics, rng.normal(size=N) + 0.5 * labels], axis=1), labels


def learned_by(name, inputs, labels, are_metrics=(True, True, True, False)):
    targets = Targets.of_labels(labels)
    functions = Recipe(name, (0, 1, 2, 3), are_metrics).fit_steps(inputs, targets)
    return Learned(targets.levels, labels.min(), labels.max(), tuple(Step(function) for function in functions))


def needs(name):
    if name == "trees":
        pytest.importorskip("lightgbm", reason="LightGBM is absent: pip install assay[combine]")


def test_a_logistic_function_is_that_of_scikit_learn():
    models = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is absent")
    inputs, labels = drawn()
    standard = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    intercept, weights = fit_linear(standard, labels, (False,) * 4, is_class=True)
    expected = models.LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(standard, labels)
    assert intercept == pytest.approx(expected.intercept_[0], abs=1e-3)
    assert weights == pytest.approx(expected.coef_[0], abs=1e-3)


def test_weights_of_metrics_are_those_of_bounded_least_squares():
    inputs, labels = drawn(levels=9)
    standard = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    goal = (labels - labels.mean()) / labels.std()
    # the prior is a row for each weight
    expected = lsq_linear(
        np.vstack([standard, np.eye(4)]),
        np.concatenate([goal, np.zeros(4)]),
        ([0, 0, 0, -np.inf], [np.inf] * 4),
    )
    intercept, weights = fit_linear(standard, labels, (True, True, True, False), is_class=False)
    assert weights == pytest.approx(expected.x * labels.std(), abs=1e-4)
    assert weights[2] == 0
    assert intercept == pytest.approx(labels.mean())


@pytest.mark.parametrize("levels", [2, 4, 30])
@pytest.mark.parametrize("name", NAMES)
def test_no_metric_lowers_the_score_by_rising(name, levels):
    needs(name)
    inputs, labels = drawn(levels)
    learned = learned_by(name, inputs, labels)
    before = learned.scores(inputs)
    assert before.min() >= labels.min() and before.max() <= labels.max()
    rng = np.random.default_rng(1)
    for column in range(3):
        raised = inputs.copy()
        raised[:, column] += rng.exponential(size=N) * rng.choice([1e-6, 0.1, 10], size=N)
        assert (learned.scores(raised) >= before - 1e-12).all()
    # the property may count either way; it does here
    raised = inputs.copy()
    raised[:, 3] += 5
    assert name == "mean" or (learned.scores(raised) > before).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_has_the_same_score_in_any_batch(name):
    needs(name)
    inputs, labels = drawn(3)
    learned = learned_by(name, inputs, labels)
    together = learned.scores(inputs)
    order = np.random.default_rng(2).permutation(N)
    assert learned.scores(inputs[order]).tolist() == together[order].tolist()
    alone = [learned.scores(inputs[[row]])[0] for row in range(40)]
    assert alone == together[:40].tolist()
    # the same numbers, laid out column by column
    assert learned.scores(np.asfortranarray(inputs)).tolist() == together.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_learning_again_gives_the_same(name):
    needs(name)
    inputs, labels = drawn()
    assert learned_by(name, inputs, labels) == learned_by(name, inputs, labels)


def test_a_few_labels_are_learned_step_by_step():
    """The score is the lowest label and, for each next one, the distance times the probability of reaching it."""
    learned = Learned((1.0, 2.0, 5.0), 1, 5, (Step(Linear(0.5, (1.0,))), Step(Linear(-1.0, (2.0,)), 0.25, 0.5)))
    (value,) = learned.scores(np.array([[0.75]]))
    assert value == pytest.approx(1 + 1 * expit(1.25) + 3 * expit(0.25 + 0.5 * 0.5))


def test_a_missing_input_is_a_missing_score():
    learned = Learned((), 0, 1, (Step(Linear(0.25, (0.5, 0.0))),))
    values = learned.scores(np.array([[1.0, 2.0], [np.nan, 2.0], [1.0, np.nan], [9.0, 0.0]]))
    assert values[[0, 3]].tolist() == [0.75, 1.0] and np.isnan(values[[1, 2]]).all()


def test_calibration_gives_back_the_probabilities():
    rng = np.random.default_rng(4)
    margins = rng.normal(size=20_000) * 3 + 7
    truth = expit(-2.1 + 0.3 * margins)
    offset, slope = calibrate(margins, (rng.random(20_000) < truth).astype(float), is_class=True)
    assert (offset, slope) == (pytest.approx(-2.1, abs=0.1), pytest.approx(0.3, abs=0.02))
    # what falls with the label is not turned over
    assert calibrate(-margins, (rng.random(20_000) < truth).astype(float), is_class=True)[1] == pytest.approx(
        0, abs=1e-6
    )


def test_margins_that_do_not_vary_are_left_as_they_are():
    margins = np.full(3, 0.1)
    assert margins.std() > 0, "by rounding"
    assert calibrate(margins, np.array([0.0, 1.0, 1.0]), is_class=True) == (0, 1)


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up_to_the_margin(name, levels):
    needs(name)
    inputs, labels = drawn(levels)
    targets = Targets.of_labels(labels)
    functions = Recipe(name, (0, 1, 2), (True, True, True, False)).fit_steps(inputs, targets)
    learned = Learned(targets.levels, 0, 1, tuple(Step(function, 0.3, 1.2) for function in functions))
    moved, base = learned.contributions(inputs, inputs.mean(axis=0))
    margins = np.mean([step.calibrated_margins(inputs) for step in learned.steps], axis=0)
    assert base + moved.sum(axis=1) == pytest.approx(margins)
    assert not moved[:, 3].any()


def test_trees_find_what_no_sum_does():
    """Which of two metrics counts, a property says."""
    needs("trees")
    rng = np.random.default_rng(5)
    inputs = np.stack([rng.normal(size=2000), rng.normal(size=2000), rng.integers(2, size=2000)], axis=1)
    labels = (np.where(inputs[:, 2] == 1, inputs[:, 0], inputs[:, 1]) > 0).astype(float)
    recipes = {name: Recipe(name, (0, 1, 2), (True, True, False)) for name in ("linear", "trees")}
    errors = {}
    for name, recipe in recipes.items():
        (function,) = recipe.fit_steps(inputs[:1000], Targets.of_labels(labels[:1000]))
        errors[name] = np.mean((function.margin(inputs[1000:]) > 0) != labels[1000:])
    assert errors["trees"] < 0.05 < 0.2 < errors["linear"]
