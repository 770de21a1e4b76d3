"""Trees as arrays: their values and contributions are those of LightGBM, on trees that it learned here."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.learners import Recipe
from assay.statistics.tree_text import parse_trees, text_of_trees

lightgbm = pytest.importorskip("lightgbm")

#: Inputs at which comparisons are decided by a hair.
EDGES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-36, -1e-36, 1e-35, 1.1e-35, 1e-34, -1e-34, 1e308, 5e-324)


def booster_of(values, target, *, rounds=30, **settings):
    """Boosted trees of LightGBM with settings that assay's own recipe does not have."""
    settings = {"verbosity": -1, "num_threads": 1, "deterministic": True, **settings}
    return lightgbm.train(settings, lightgbm.Dataset(values, target), num_boost_round=rounds)


def values_near(trees, values, rng):
    """The values, random ones, the edges in every input, and rows with thresholds of the trees themselves."""
    m = values.shape[1]
    edges = [[edge] * m for edge in EDGES]
    mixed = rng.choice([*EDGES, *trees.nodes.thresholds.tolist()], size=(100, m))
    return np.concatenate([values, rng.normal(size=(50, m)), edges, mixed])


@pytest.mark.parametrize("objective", ["regression", "binary"])
@pytest.mark.parametrize("leaves", [2, 7, 40])
@pytest.mark.parametrize(
    "missing",
    [
        {},
        {"use_missing": False},
        {"zero_as_missing": True},
        {"zero_as_missing": True, "monotone_constraints": [1, -1, 0]},
    ],
    ids=["nan", "none", "zero", "zero, monotone"],
)
@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_values_and_contributions_are_those_of_lightgbm(objective, leaves, missing, share_missing):
    rng = np.random.default_rng(leaves)
    values = rng.normal(size=(700, 3)) * [1e-3, 1.0, 1e3]
    values[:, 1] = values[:, 1].round(1)
    target = values @ [1e3, 1.0, 1e-3] + np.abs(values[:, 1]) + rng.normal(size=700)
    values[rng.random(values.shape) < share_missing] = np.nan
    values[rng.random(values.shape) < share_missing / 2] = 0.0
    booster = booster_of(
        values,
        (target > 0).astype(float) if objective == "binary" else target,
        objective=objective,
        num_leaves=leaves,
        min_data_in_leaf=3,
        bagging_fraction=0.7,
        bagging_freq=1,
        **missing,
    )
    trees = parse_trees(text_of_trees(booster), (0, 1, 2))
    inputs = values_near(trees, values, rng)
    assert np.array_equal(trees.margin(inputs), booster.predict(inputs, raw_score=True))
    expected = booster.predict(inputs, pred_contrib=True)
    np.testing.assert_allclose(trees.contributions(inputs), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("is_class", [True, False])
@pytest.mark.parametrize(("n", "inputs"), [(60, 1), (60, 2), (400, 5), (3000, 9)])
def test_what_assay_learns_has_the_values_of_lightgbm(n, inputs, is_class):
    rng = np.random.default_rng(n)
    values = rng.normal(size=(n, inputs))
    target = values @ np.arange(inputs) + rng.normal(size=n)
    recipe = Recipe("trees", tuple(range(inputs)), (True,) * inputs)
    trees = recipe.fit(values, (target > 0).astype(float) if is_class else target, is_class=is_class)
    # this text was written by LightGBM just now
    booster = lightgbm.Booster(model_str=trees.text)
    assert np.array_equal(trees.margin(values), booster.predict(values, raw_score=True, num_threads=1))
    expected = booster.predict(values[:300], pred_contrib=True, num_threads=1)
    np.testing.assert_allclose(trees.contributions(values[:300]), expected, rtol=0, atol=1e-9)


def test_columns_in_another_order_among_others():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(500, 5))
    target = values[:, 3] - values[:, 1] ** 2
    trees = Recipe("trees", (3, 1), (True, False, False, True, True)).fit(values, target, is_class=False)
    booster = lightgbm.Booster(model_str=trees.text)
    assert trees.margin(values).tolist() == booster.predict(values[:, [3, 1]], raw_score=True).tolist()
    assert trees.contributions(values).shape == (500, 3)


def test_a_pair_has_the_same_value_in_any_batch(monkeypatch):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(500, 4))
    trees = Recipe("trees", (0, 1, 2, 3), (True,) * 4).fit(values, values.sum(axis=1), is_class=False)
    margins, contributions = trees.margin(values), trees.contributions(values)
    alone = [trees.margin(values[row : row + 1])[0] for row in range(500)]
    assert margins.tolist() == alone
    monkeypatch.setattr("assay.statistics.trees._PASS_SIZE", 70_000)
    assert trees.margin(values).tolist() == alone
    np.testing.assert_allclose(trees.contributions(values), contributions, rtol=0, atol=1e-12)
    assert trees.margin(values[:0]).shape == (0,) and trees.contributions(values[:0]).shape == (0, 5)


def test_nothing_is_lost_with_what_follows_the_trees():
    rng = np.random.default_rng(1)
    values, target = rng.normal(size=(300, 3)), rng.random(300)
    booster = booster_of(values, target, rounds=20)
    text = text_of_trees(booster)
    assert len(text) < len(booster.model_to_string()) and "parameters" not in text
    trees = parse_trees(text, (0, 1, 2))
    assert trees.margin(values).tolist() == booster.predict(values, raw_score=True).tolist()


@pytest.mark.parametrize("is_class", [True, False])
def test_a_tree_that_divides_nothing_is_one(is_class):
    values = np.ones((60, 2))
    target = (np.arange(60) % 2).astype(float)
    trees = Recipe("trees", (0, 1), (True, True)).fit(values, target, is_class=is_class)
    booster = lightgbm.Booster(model_str=trees.text)
    assert trees.margin(values).tolist() == booster.predict(values, raw_score=True).tolist()
    assert trees.contributions(values).tolist() == booster.predict(values, pred_contrib=True).tolist()
