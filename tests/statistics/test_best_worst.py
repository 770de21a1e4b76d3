"""Counting and split-half reliability: by hand, and on annotations drawn from a known order with known noise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.statistics.best_worst import count_choices, split_halves
from assay.statistics.reliability import spearman_brown


def design(items, tuples_per_item, rng, size=4):
    """Tuples of different items in which each item stands equally often."""
    found = []
    for _ in range(tuples_per_item):
        found.append(rng.permutation(items).reshape(-1, size))
    return np.concatenate(found)


def annotate(tuples, values, times, rng):
    """Thurstone's choice: each item is perceived with normal noise of deviation 1; the extremes are chosen."""
    shown = np.repeat(tuples, times, axis=0)
    perceived = values[shown] + rng.normal(size=shown.shape)
    rows = np.arange(len(shown))
    return (
        shown,
        shown[rows, perceived.argmax(axis=1)],
        shown[rows, perceived.argmin(axis=1)],
        np.repeat(np.arange(len(tuples)), times),
    )


def test_counting_by_hand():
    # a b c d: best a, worst d, twice; a b c e: best b, worst a
    shown = np.array([[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 4]])
    counts = count_choices(shown, np.array([0, 0, 1]), np.array([3, 3, 0]), 6)
    assert counts.seen.tolist() == [3, 3, 3, 2, 1, 0]
    # (2 - 1) / 3, (1 - 0) / 3, 0, (0 - 2) / 2, 0; the sixth was never seen
    assert counts.scores[:5].tolist() == pytest.approx([1 / 3, 1 / 3, 0, -1, 0])
    assert np.isnan(counts.scores[5])


def test_counting_recovers_the_order():
    rng = np.random.default_rng(0)
    values = rng.normal(size=200)
    found = {}
    for times in (1, 8):
        shown, best, worst, _ = annotate(design(200, 8, rng), values, times, rng)
        found[times] = stats.spearmanr(count_choices(shown, best, worst, 200).scores, values).statistic
    assert found[1] > 0.85
    assert found[8] > 0.96


def test_without_noise_the_ends_are_the_ends():
    values = np.arange(8.0)
    shown = np.array(list(itertools.combinations(range(8), 4)))
    counts = count_choices(shown, shown.max(axis=1), shown.min(axis=1), 8)
    # item 7 is best wherever it stands; all C(7, 3) = 35 tuples; item 4 is best where the others are below it: C(4, 3)
    assert counts.scores[7] == 1 and counts.scores[0] == -1
    assert counts.best[4] == 4 and counts.worst[4] == 1 and counts.seen[4] == 35
    assert (np.argsort(counts.scores, kind="stable") == values).all()


def by_loop(shown, best, worst, tuples, items, splits, seed):
    """Split-half reliability, one annotation at a time."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(splits):
        halves = ([], [])
        for code in np.unique(tuples):
            rows = rng.permutation(np.flatnonzero(tuples == code))
            cut = len(rows) // 2 + (len(rows) % 2 and int(rng.integers(2)))
            halves[0].extend(rows[:cut])
            halves[1].extend(rows[cut:])
        first, second = (count_choices(shown[half], best[half], worst[half], items).scores for half in halves)
        both = ~np.isnan(first) & ~np.isnan(second)
        found.append((stats.spearmanr(first[both], second[both])[0], stats.pearsonr(first[both], second[both])[0]))
    return np.array(found)


@pytest.mark.parametrize("drop", [0, 37])
def test_reliability_is_that_of_a_plain_loop(drop):
    """With *drop*, tuples have unequal numbers of annotations."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=60)
    shown, best, worst, tuples = annotate(design(60, 6, rng), values, 3, rng)
    kept = np.sort(rng.permutation(len(tuples))[drop:])
    data = shown[kept], best[kept], worst[kept], np.unique(tuples[kept], return_inverse=True)[1]
    found = split_halves(*data, 60, splits=200, seed=3)
    expected = by_loop(*data, 60, 200, 4)
    error = expected.std(axis=0, ddof=1) / np.sqrt(200)
    assert found.spearman == pytest.approx(expected[:, 0].mean(), abs=4 * 2**0.5 * error[0])
    assert found.pearson == pytest.approx(expected[:, 1].mean(), abs=4 * 2**0.5 * error[1])
    assert found.pearson_deviation == pytest.approx(expected[:, 1].std(ddof=1), rel=0.3)
    assert (found.splits, found.undefined, found.fewest) == (200, 0, 60)


def test_reliability_rises_with_annotations_as_spearman_brown_says():
    """Between halves of 1, 2, 4 and 8 annotations of each tuple: r of k is k r / (1 + (k - 1) r), r that of one."""
    rng = np.random.default_rng(11)
    n = 20_000
    values = rng.normal(0, 0.35, size=n)
    tuples = design(n, 4, rng)
    measured = {
        half: split_halves(*annotate(tuples, values, 2 * half, rng), n, splits=8, seed=half) for half in (1, 2, 4, 8)
    }
    one = measured[1].pearson
    assert 0.15 < one < 0.4
    # three standard errors: .007 of each r, that of one annotation times the slope of the prediction, at most 1.4
    for half in (2, 4, 8):
        assert measured[half].pearson == pytest.approx(spearman_brown(one, half), abs=0.036)
        # the whole has twice the annotations of a half
        assert measured[half // 2].stepped_up == pytest.approx(measured[half].pearson, abs=0.036)
    # what would be missed: that of one annotation for four, say
    assert spearman_brown(one, 4) - one > 0.2


def test_three_annotations_are_not_stepped_up_as_four():
    """Halves of one and two annotations; the truth is the correlation of three with three other ones."""
    rng = np.random.default_rng(12)
    n = 20_000
    values = rng.normal(0, 0.35, size=n)
    tuples = design(n, 2, rng)
    three = split_halves(*annotate(tuples, values, 3, rng), n, splits=8, seed=1)
    six = split_halves(*annotate(tuples, values, 6, rng), n, splits=8, seed=2)
    assert three.times > 2.1
    # three standard errors of both; stepped up twice it is .027 less
    assert three.stepped_up == pytest.approx(six.pearson, abs=0.018)
    assert three.upper_bound == pytest.approx(three.stepped_up**0.5)


def test_spearman_brown_by_hand():
    assert spearman_brown(0.5) == pytest.approx(2 / 3)
    assert spearman_brown(0.5, 4) == pytest.approx(0.8)
    assert spearman_brown(0.8, 0.25) == pytest.approx(0.5)


def test_choices_by_chance_have_no_reliability():
    rng = np.random.default_rng(2)
    found = split_halves(*annotate(design(400, 4, rng), np.zeros(400), 2, rng), 400, splits=50, seed=0)
    assert abs(found.pearson) < 0.15
    assert found.stepped_up is None or found.stepped_up < 0.3


def test_what_is_undefined_is_counted():
    # one tuple, annotated twice: the item never chosen, and both halves with equal scores in no split
    shown = np.array([[0, 1, 2], [0, 1, 2]])
    found = split_halves(shown, np.array([0, 0]), np.array([2, 2]), np.zeros(2, dtype=int), 3, splits=5, seed=0)
    assert (found.spearman, found.pearson, found.undefined) == (pytest.approx(1), pytest.approx(1), 0)
    # two tuples without a common item, annotated once each: in half of the splits one bin has both
    shown = np.array([[0, 1], [2, 3]])
    found = split_halves(shown, np.array([0, 2]), np.array([1, 3]), np.array([0, 1]), 4, splits=40, seed=0)
    assert (found.spearman, found.undefined, found.fewest) == (None, 40, 0)


def test_split_half_by_hand():
    """Whichever bin takes the single annotation of the first tuple, the two bins hold the same."""
    # a b c d: best a, worst b, once; a b e f: best e, worst a, twice
    shown = np.array([[0, 1, 2, 3], [0, 1, 4, 5], [0, 1, 4, 5]])
    found = split_halves(shown, np.array([0, 4, 4]), np.array([1, 0, 0]), np.array([0, 1, 1]), 6, splits=9, seed=0)
    # with it: a (1 - 1) / 2, b -1 / 2, e 1, f 0; without: a -1, b 0, e 1, f 0; c and d stand in one bin only
    assert found.pearson == pytest.approx(1 / (1.1875 * 2) ** 0.5)
    # ranks 2.5 1 4 2.5 and 1 2.5 4 2.5
    assert found.spearman == pytest.approx((2.5 + 2.5 + 16 + 6.25 - 25) / 4.5)
    assert (found.fewest, found.pearson_deviation) == (4, pytest.approx(0, abs=1e-12))


def test_the_seed_decides():
    rng = np.random.default_rng(4)
    data = annotate(design(40, 4, rng), rng.normal(size=40), 2, rng)
    first, again, other = (split_halves(*data, 40, splits=70, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
