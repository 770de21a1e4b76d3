"""The integer program against brute force, and the weights of its edges against SciPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr

from assay.exceptions import UnavailableError
from assay.training.s3bert.evaluation import assign_dimensions, dimension_weights, random_dimensions


def brute_force(weights, allowed):
    """Return the best sum over every way to give each dimension to one aspect or to none."""
    dimensions, aspects = weights.shape
    best = -np.inf
    for choice in product(range(-1, aspects), repeat=dimensions):
        counts = [choice.count(aspect) for aspect in range(aspects)]
        if all(allowed(count) for count in counts):
            best = max(best, sum(weights[i, j] for i, j in enumerate(choice) if j >= 0))
    return best


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("exactly", [None, 2])
def test_the_integer_program_finds_the_best_partition(seed, exactly):
    weights = np.random.default_rng(seed).uniform(-1, 0.6, (6, 3))
    parts = assign_dimensions(weights, exactly=exactly)
    taken = np.concatenate(parts)
    assert len(taken) == len(set(taken.tolist()))
    assert all(len(part) >= 1 if exactly is None else len(part) == exactly for part in parts)
    reached = sum(weights[part, aspect].sum() for aspect, part in enumerate(parts))
    best = brute_force(weights, lambda count: count >= 1 if exactly is None else count == exactly)
    assert reached == pytest.approx(best)


def test_more_aspects_than_dimensions_have_no_partition():
    with pytest.raises(UnavailableError, match="no solution"):
        assign_dimensions(np.ones((2, 3)))


def test_weights_are_spearman_of_each_dimension():
    dice = np.random.default_rng(1)
    first, second = dice.normal(size=(2, 40, 5)).astype(np.float32)
    scores = np.round(dice.random((40, 3)), 1).astype(np.float32)
    scores[:, 2] = 1.0  # an aspect that is absent everywhere
    found = dimension_weights(first, second, scores)
    values = first / np.linalg.norm(first, axis=1)[:, None] * second / np.linalg.norm(second, axis=1)[:, None]
    expected = [[spearmanr(values[:, i], scores[:, j]).statistic for j in range(2)] for i in range(5)]
    assert found[:, :2] == pytest.approx(np.array(expected), abs=1e-9)
    assert (found[:, 2] == 0).all()


def test_random_dimensions_do_not_overlap_and_follow_the_seed():
    parts = random_dimensions(40, 5, 6, seed=3)
    assert [len(part) for part in parts] == [6] * 5
    assert len(set(np.concatenate(parts).tolist())) == 30
    assert all((a == b).all() for a, b in zip(parts, random_dimensions(40, 5, 6, seed=3), strict=True))
    assert any((a != b).any() for a, b in zip(parts, random_dimensions(40, 5, 6, seed=4), strict=True))
