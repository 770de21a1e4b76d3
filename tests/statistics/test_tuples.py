"""Tuples for best-worst annotation: as many for each item, all different, mixed."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from assay.statistics.tuples import draw_tuples


@pytest.mark.parametrize(
    ("items", "size", "per_item"), [(40, 4, 8), (41, 4, 8), (43, 4, 7), (9, 4, 8), (30, 3, 5), (12, 2, 4), (5, 4, 4)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_counts(items, size, per_item, seed):
    tuples = draw_tuples(items, size, per_item, np.random.default_rng(seed))
    assert tuples.shape == (-(-items * per_item // size), size)
    assert all(len(set(row)) == size for row in tuples.tolist())
    assert len({frozenset(row) for row in tuples.tolist()}) == len(tuples)
    counts = Counter(tuples.ravel().tolist())
    extra = -items * per_item % size
    assert sorted(counts.values()) == [per_item] * (items - extra) + [per_item + 1] * extra


def test_items_meet_seldom_again():
    tuples = draw_tuples(200, 4, 8, np.random.default_rng(3))
    meetings = Counter(pair for row in tuples.tolist() for pair in combinations(sorted(row), 2))
    # 2,400 meetings of 19,900 possible: draws at random leave about 140 repetitions
    assert sum(count - 1 for count in meetings.values()) < 130


def test_seeds():
    first, again, other = (draw_tuples(50, 4, 8, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()


@pytest.mark.parametrize(("items", "size", "per_item"), [(3, 4, 1), (4, 4, 2), (5, 4, 8)])
def test_too_few_items(items, size, per_item):
    with pytest.raises(ValueError, match="different tuples"):
        draw_tuples(items, size, per_item, np.random.default_rng(0))
