"""Pair accuracy: by hand, by the definition on copied groups, under exchanges, and its intervals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.statistics.agreement import Coefficients, agreement
from assay.statistics.ceilings import tie_free_ceiling
from assay.statistics.cells import WithinGroups
from assay.statistics.comparison import average, compare
from assay.statistics.draws import Swaps, draw_all
from assay.statistics.exchange import Exchange
from assay.statistics.resampling import Resampler

PAIR_ACCURACY = "pair-accuracy"
ONLY = (PAIR_ACCURACY,)


def estimate(scores, labels, groups, **changes):
    settings = {"statistics": ONLY, "resamples": 0, "confidence": 0.95, "seed": (0,)} | changes
    groups = None if groups is None else np.asarray(groups, dtype=np.intp)
    (found,) = agreement({"x": np.asarray(scores, float)}, np.asarray(labels, float), groups=groups, **settings)
    return found


def by_definition(scores, labels, groups):
    """The share over all couples of one group with different labels, compared one by one."""
    right = total = 0
    for one, other in itertools.combinations(range(len(scores)), 2):
        if groups[one] == groups[other] and labels[one] != labels[other]:
            total += 1
            right += np.sign(scores[one] - scores[other]) == np.sign(labels[one] - labels[other])
    return right / total if total else None


def test_of_four_foils_two_score_lower_one_ties_and_one_scores_higher():
    labels, groups = [0, 1] * 4, np.repeat(range(4), 2)
    # rows alternate foil and paraphrase, as BAMBOO's files do
    assert estimate([0.2, 0.9, 0.5, 0.6, 0.7, 0.7, 0.8, 0.1], labels, groups).value == 2 / 4


def test_ties_up_to_the_last_bit_count_as_wrong():
    assert estimate([0.3, 0.1 + 0.2, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]).value == 0.5


def test_couples_of_equal_labels_and_of_different_groups_do_not_count():
    # group 0 has labels 0, 1, 1: two couples, one of them ordered; group 1 has one label only
    assert estimate([0.5, 0.4, 0.6, 0.9, 0.1], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1]).value == 0.5


def test_undefined_where_nothing_can_be_compared():
    found = estimate([1, 2, 3, 4], [0, 0, 1, 1], [0, 0, 1, 1])
    assert (found.value, found.low, found.note) == (None, None, "no group has two labels")
    assert estimate([1, 2, 3], [0, 1, 2], None).note == "there are no groups"
    assert estimate([1, 2, 3], [1, 1, 1], [0, 0, 0]).note == "constant label"


def test_a_constant_score_orders_nothing():
    assert estimate([1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]).value == 0


def random_groups(seed, n=80, groups=17):
    rng = np.random.default_rng(seed)
    codes = rng.integers(groups, size=n)
    codes = np.unique(codes, return_inverse=True)[1].astype(np.intp)
    return np.round(rng.normal(size=n), 1), rng.integers(3, size=n).astype(float), codes


@pytest.mark.parametrize("seed", range(5))
def test_every_resample_is_the_definition_on_copied_groups(seed):
    scores, labels, groups = random_groups(seed)
    assert estimate(scores, labels, groups).value == by_definition(scores, labels, groups)
    within = WithinGroups.of(scores, labels, groups)
    resampler = Resampler(len(scores), 12, (seed,), groups)
    for weights in resampler.blocks():
        for column, found in zip(weights.T.astype(int), within.accuracy(weights), strict=True):
            # each drawing of a group is a group of its own
            rows = [(row, copy) for row, times in enumerate(column) for copy in range(times)]
            copied = [(int(groups[row]), copy) for row, copy in rows]
            at = [row for row, _ in rows]
            assert found == pytest.approx(by_definition(scores[at], labels[at], copied), abs=1e-12)


def test_pairs_without_a_score_take_their_couples_with_them():
    scores, labels, groups = random_groups(9)
    scores[::7] = np.nan
    known = np.isfinite(scores)
    found = estimate(scores, labels, groups)
    assert found.value == by_definition(scores[known], labels[known], groups[known])
    assert found.n == known.sum()
    assert "pairs have a score" in found.note


def test_beside_other_statistics_it_changes_none():
    scores, labels, groups = random_groups(3)
    settings = {"resamples": 100, "confidence": 0.95, "seed": (4,), "groups": groups}
    alone = agreement({"x": scores}, labels, statistics=("kendall",), **settings)
    beside = agreement({"x": scores}, labels, statistics=("kendall", PAIR_ACCURACY), **settings)
    assert alone == beside[:1]
    assert beside[1].low < beside[1].value < beside[1].high


def test_few_groups_that_can_be_right_or_wrong_have_no_interval():
    # 30 groups, of which 9 have two labels, all in order: [1, 1] would feign certainty
    labels = np.zeros(60)
    labels[1:18:2] = 1
    found = estimate(np.arange(60), labels, np.repeat(range(30), 2), resamples=100)
    assert (found.value, found.low) == (1, None)
    assert found.note.startswith("no interval below 10 groups")
    other = np.random.default_rng(0).normal(size=60)
    settings = {"statistics": ONLY, "confidence": 0.95, "permutations": 50, "resamples": 100, "seed": (0,)}
    (difference,) = compare(np.arange(60.0), other, labels, groups=np.repeat(np.arange(30), 2), **settings)
    assert (difference.first, difference.low, difference.p_jackknife) == (1, None, None)
    assert difference.note == "no interval and no t-test below 10 groups"
    assert difference.p_permutation is not None


def test_a_comparison_counts_the_groups_that_a_statistic_looks_into():
    # 30 groups, of which 12 have two labels: the rank coefficient is of all groups, pair accuracy of these
    labels, groups = np.zeros(60), np.repeat(np.arange(30), 2)
    labels[1:24:2] = 1
    rng = np.random.default_rng(1)
    first, second = labels + rng.normal(size=60), labels + rng.normal(size=60)
    settings = {"statistics": ("kendall", PAIR_ACCURACY), "resamples": 200, "seed": (0,), "groups": groups}
    drawn = draw_all({"a": first, "b": second}, labels, permutations=0, **settings)["a", "b"]
    assert drawn.first.units == ((30, "groups"), (12, "groups"))
    few = Coefficients(np.zeros(2), np.zeros(2), None, 9, ((9, "pairs"), (9, "pairs")))
    assert average([drawn.first, few]).units == ((9, "pairs"), (9, "pairs"))
    # the interval of one score is that of the agreement table
    alone = agreement({"a": first}, labels, confidence=0.95, **settings)
    for place, one in enumerate(alone):
        assert drawn.first.interval(place, 0.95) == (one.low, one.high)


def test_after_an_exchange_it_is_that_of_the_exchanged_scores():
    first, labels, groups = random_groups(5)
    second = np.round(np.random.default_rng(6).normal(size=80) + labels, 1)
    z = [(one - one.mean()) / one.std() for one in (first, second)]
    swaps = next(Swaps(80, 9, (1,), groups).blocks())
    found = Exchange.of(first, second, labels, groups).differences(swaps, ("pearson", PAIR_ACCURACY))[1]
    for column, swap in enumerate(swaps.T.astype(bool)):
        one, other = (
            by_definition(scores, labels, groups) for scores in (np.where(swap, z[1], z[0]), np.where(swap, z[0], z[1]))
        )
        assert found[column] == pytest.approx(one - other, abs=1e-12)


def test_an_exchange_says_nothing_where_no_group_has_two_labels():
    first, labels, _ = random_groups(5)
    groups = np.unique(labels, return_inverse=True)[1]
    swaps = next(Swaps(80, 4, (1,), groups).blocks())
    assert np.isnan(Exchange.of(first, first[::-1], labels, groups).differences(swaps, ONLY)).all()


def test_a_perfect_score_orders_all():
    _, labels, groups = random_groups(2)
    assert tie_free_ceiling(labels, ONLY, groups) == {PAIR_ACCURACY: 1.0}
    assert tie_free_ceiling(labels, ONLY) == {PAIR_ACCURACY: None}


@pytest.mark.slow
def test_intervals_cover_the_true_share():
    """300 samples of 80 couples that are in order with probability .7."""
    hits = 0
    labels, groups = np.tile([0.0, 1.0], 80), np.repeat(np.arange(80), 2)
    for case in range(300):
        right = np.random.default_rng([5, case]).random(80) < 0.7
        scores = np.column_stack([~right, right]).astype(float).ravel()
        found = estimate(scores, labels, groups, resamples=400, seed=(case,))
        hits += found.low <= 0.7 <= found.high
    # a true 95 % gives 285 +- 3.8; the counts of 80 couples are discrete
    assert 274 <= hits <= 296
