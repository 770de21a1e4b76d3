"""What is usual: the nearest reference pairs, their quantiles, and what is outside of them."""

from __future__ import annotations

import numpy as np
import pytest

from assay.metrics.aspects.reference import Reference, find_neighbours


def reference(n: int = 1001) -> Reference:
    """Overall scores 0, .001, … 1; the aspect ``same`` equals them, ``against`` is 1 less them."""
    overall = np.arange(n) / (n - 1)
    return Reference(("overall", "same", "against"), np.stack([overall, overall, 1 - overall], axis=1).astype("f4"))


def test_the_nearest_pairs_are_taken():
    near = find_neighbours(reference(), 0.5)
    assert (len(near.scores), near.total) == (200, 1001)
    # 200 of step .001 around .5: of the two at distance .1 the first in the set is taken
    assert near.overall_range == (pytest.approx(0.4), pytest.approx(0.599))
    # at the end all lie on one side
    assert find_neighbours(reference(), 1.0).overall_range == (pytest.approx(0.801), pytest.approx(1.0))
    assert len(find_neighbours(reference(150), 0.5).scores) == 150


def test_quantiles_and_shares_are_those_of_the_neighbours():
    near = find_neighbours(reference(), 0.5)
    # .4, .401, … .599: linear quantiles at 5% of 199 steps, and so on
    usual = near.usual_scores("same", 0.45)
    assert usual.median == pytest.approx(0.4995)
    assert usual.low == pytest.approx(0.4 + 0.05 * 0.199, abs=1e-6)
    assert usual.high == pytest.approx(0.4 + 0.95 * 0.199, abs=1e-6)
    # 50 of 200 are below .45; the one that equals it is not
    assert usual.lower == pytest.approx(0.25)
    assert usual.unusual == ""
    assert near.usual_scores("same", 0.409).unusual == "low"
    assert near.usual_scores("same", 0.59).unusual == "high"
    assert near.usual_scores("against", -1.0).lower == 0.0
    assert near.usual_scores("against", 1.0).lower == 1.0


def test_rounding_makes_nothing_unusual():
    scores = np.full((200, 2), np.float32(0.9999999))
    near = find_neighbours(Reference(("overall", "a"), scores), 1.0)
    usual = near.usual_scores("a", 1.0)
    assert (usual.unusual, usual.lower) == ("", 0.0)


def test_a_tenth_of_ordinary_pairs_is_outside():
    random = np.random.default_rng(0)
    overall = random.uniform(0, 1, 3000)
    aspect = np.clip(overall + random.normal(0, 0.1, 3000), -1, 1)
    table = np.stack([overall, aspect], axis=1)
    held = Reference(("overall", "a"), table[:2000].astype("f4"))
    found = [find_neighbours(held, whole).usual_scores("a", part).unusual for whole, part in table[2000:]]
    # expected .1; standard error below .01
    assert np.mean([bool(one) for one in found]) == pytest.approx(0.1, abs=0.04)
