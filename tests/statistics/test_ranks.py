"""Ranks, their confidence sets, letters and groups of places, from given tests and by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.statistics.ranks import Rank, letters, rank, rank_groups


def compared_by(names, better):
    """Every comparison of names in order: 1 where (first, second) is in *better*, -1 where the reverse is, else 0."""
    return {
        names: 1 if names in better else -1 if names[::-1] in better else 0
        for names in itertools.combinations(names, 2)
    }


def test_a_set_leaves_out_the_places_of_what_is_better_and_of_what_is_worse():
    values = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.2}
    # a beats c, but neither can be told from b; all beat d
    found = rank(values, compared_by("abcd", {("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")}))
    assert found == {"a": Rank(1, 1, 2), "b": Rank(2, 1, 3), "c": Rank(3, 2, 3), "d": Rank(4, 4, 4)}
    turned = rank({"a": 0.1, "b": 0.5}, compared_by("ab", {("b", "a")}))
    assert turned == {"a": Rank(2, 2, 2), "b": Rank(1, 1, 1)}
    assert rank({"a": 0.1, "b": 0.1}, {("a", "b"): 0}) == {"a": Rank(1, 1, 2), "b": Rank(1, 1, 2)}, "equal values"
    assert rank({"a": 0.1}, {}) == {"a": Rank(1, 1, 1)}
    assert rank({}, {}) == {}


@pytest.mark.parametrize("seed", range(8))
def test_two_share_a_letter_exactly_where_they_cannot_be_told_apart(seed):
    rng = np.random.default_rng(seed)
    names = "abcdefghi"
    pairs = list(itertools.combinations(names, 2))
    compared = {pair: int(rng.choice([0, 1])) for pair in pairs}
    found = letters(names, compared)
    for first, second in pairs:
        assert bool(set(found[first]) & set(found[second])) == (compared[first, second] == 0)
    # no letter is part of another one
    holders = [{name for name in names if letter in found[name]} for letter in set("".join(found.values()))]
    assert not any(one < other for one in holders for other in holders)


def test_letters_begin_with_the_best():
    assert letters("abc", compared_by("abc", {("a", "c")})) == {"a": "a", "b": "ab", "c": "b"}
    assert letters("abc", compared_by("abc", set(itertools.combinations("abc", 2)))) == {"a": "a", "b": "b", "c": "c"}
    assert letters("ab", {("a", "b"): 0}) == {"a": "a", "b": "a"}
    assert letters("", {}) == {}
    many = [f"m{number}" for number in range(60)]
    assert letters(many, compared_by(many, set(itertools.combinations(many, 2))))["m59"] == "(60)"


def test_groups_end_where_all_above_beat_all_below():
    better = compared_by("abcd", {("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")})
    assert rank_groups("abcd", better) == {"a": (1, 3), "b": (1, 3), "c": (1, 3), "d": (4, 4)}
    clear = compared_by("abc", set(itertools.combinations("abc", 2)))
    assert rank_groups("abc", clear) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}
    assert rank_groups("", {}) == {}
