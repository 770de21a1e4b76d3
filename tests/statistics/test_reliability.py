"""Reliability of simulated annotators, and the bound that follows for a metric."""

import math

import numpy as np
import pytest

from assay.statistics.reliability import Halves, split_half_reliability, step_up, upper_bound
from tests.simulations.reliability import CAMPS, SETTINGS, Setting, measure, measure_camps, simulate


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_perfect_metric_reaches_the_bound(setting, monkeypatch):
    monkeypatch.setattr("tests.simulations.reliability.REPEATS", 15)
    _, bound, reached, bound_of_ranks, reached_by_ranks = measure(setting, 1)
    # four standard errors of the mean over 15 samples of 1,000 pairs
    assert bound == pytest.approx(reached, abs=0.015)
    assert reached_by_ranks - 0.015 < bound_of_ranks
    if len(setting.cuts) != 1:
        # with few labels, nearly all of which are one, a tie-free order is far from the bound
        assert bound_of_ranks == pytest.approx(reached_by_ranks, abs=0.015)


#: Neighbours of the settings of the documentation: of other sizes, and small camps beside much noise.
OTHERS = [
    Setting("4 annotators, noise .5, 1, 2, 4", 4, 4, noise=(0.5, 1.0, 2.0, 4.0)),
    Setting("5 annotators, one of whom is noise", 5, 5, noise=(1.0, 1.0, 1.0, 1.0, 5.0)),
    Setting("8 annotators in two camps", 8, 8, camps=1.0),
    Setting("4 annotators in two camps, unequal noise", 4, 4, noise=(0.5, 2.0, 0.5, 2.0), camps=1.0),
]


@pytest.mark.parametrize("setting", OTHERS, ids=lambda setting: setting.name)
def test_the_bound_holds_for_unequal_noise_and_camps(setting):
    found, reached = [], []
    for repeat in range(10):
        annotations, perfect = simulate(setting, np.random.default_rng((7, repeat)))
        found.append(split_half_reliability(annotations, splits=5).bound_pearson)
        reached.append(np.corrcoef(perfect, annotations.mean(axis=1))[0, 1])
    assert np.mean(found) == pytest.approx(np.mean(reached), abs=0.02)


def test_camps_are_not_found_in_noise():
    """Of ten annotators who agree alike, some halves share more by chance; the reliability stays Cronbach's alpha."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        annotations = rng.normal(size=(200, 1)) + rng.normal(size=(200, 10))
        alpha = 10 / 9 * (1 - annotations.var(axis=0).sum() / annotations.sum(axis=1).var())
        assert split_half_reliability(annotations, splits=5).pearson == pytest.approx(alpha, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("setting", CAMPS, ids=lambda setting: setting.name)
def test_where_a_view_is_held_by_one_annotator_no_estimate_of_three_is_right(setting, monkeypatch):
    monkeypatch.setattr("tests.simulations.reliability.REPEATS", 15)
    mean, equal, any_size, assay, reached = measure_camps(setting, 1)
    assert assay < reached + 0.01, "too low rather than too high"
    if setting.most == 4:
        assert assay == pytest.approx(reached, abs=0.01) and mean < reached - 0.1
    if setting.most < 4:
        assert max(mean, equal, any_size) < reached - 0.03
    if setting.scales:
        assert any_size > reached + 0.05


def test_three_annotators_are_halved_into_one_and_two():
    """A reliability of .5 for one annotator is .75 for the mean of three, and not the .725 of two equal halves."""
    rng = np.random.default_rng(3)
    truth = rng.normal(size=4000)
    annotations = truth[:, None] + rng.normal(size=(4000, 3))
    found = split_half_reliability(annotations)
    assert found.pearson == pytest.approx(0.75, abs=0.012)
    assert found.bound_pearson == pytest.approx(np.corrcoef(truth, annotations.mean(axis=1))[0, 1], abs=0.012)
    assert (found.annotators, found.n, found.splits, found.lengths) == (3, 4000, 3, (1, 2, 3))
    assert split_half_reliability(annotations[:, :1]) is None


def horst(r: float, p: float) -> float:
    """Horst (1951), formula 15: the whole's reliability from parts with shares p and 1 - p of its length."""
    pq = p * (1 - p)
    return r * (math.sqrt(r**2 + 4 * pq * (1 - r**2)) - r) / (2 * pq * (1 - r**2))


@pytest.mark.parametrize("r", [0.05, 0.4, 0.9])
def test_stepping_up(r):
    assert step_up(r, 2, 2, 4) == pytest.approx(2 * r / (1 + r), abs=1e-12)
    assert step_up(r, 1, 2, 3) == pytest.approx(horst(r, 1 / 3), abs=1e-12)
    assert step_up(r, 3, 4, 7) == pytest.approx(horst(r, 3 / 7), abs=1e-12)
    assert step_up(1.0, 1, 2, 3) == 1


def test_complete_annotations_have_cronbachs_alpha():
    rng = np.random.default_rng(6)
    for annotators in (2, 3, 4, 5, 8):
        # annotators who are not equally generous, on a scale of six levels
        raw = rng.normal(size=(3000, 1)) + rng.normal(size=(3000, annotators)) + rng.normal(size=annotators)
        annotations = np.clip(np.round(raw + 2), 0, 5)
        of_columns, of_sums = annotations.var(axis=0, ddof=1).sum(), annotations.sum(axis=1).var(ddof=1)
        alpha = annotators / (annotators - 1) * (1 - of_columns / of_sums)
        assert split_half_reliability(annotations).pearson == pytest.approx(alpha, abs=0.005), annotators


def test_every_split_of_few_annotators_comes_once():
    rng = np.random.default_rng(0)
    for annotators, ways in ((2, 1), (3, 3), (4, 3), (5, 10), (6, 10)):
        halves = Halves.of(rng.normal(size=(30, annotators)))
        firsts = {tuple(first) for first, _ in halves.draw(1000, rng)}
        assert len(firsts) == ways
        both = next(halves.draw(1000, rng))
        size = annotators // 2
        total = size * both[0] + (annotators - size) * both[1]
        assert total == pytest.approx(halves.annotations.sum(axis=1))
    assert len(list(Halves.of(rng.normal(size=(30, 14))).draw(50, rng))) == 50


def test_sorted_lists_are_halved_pair_by_pair():
    """The lowest label of each pair is not an annotator: halves of columns would agree almost wholly."""
    rng = np.random.default_rng(2)
    annotations = rng.normal(size=(2000, 1)) + rng.normal(size=(2000, 3))
    found = split_half_reliability(np.sort(annotations, axis=1), splits=50)
    assert found.pearson == pytest.approx(0.75, abs=0.02)
    assert found.lengths == pytest.approx((4 / 3, 4 / 3, 3))


def test_a_pair_with_one_label_counts_for_the_length_of_the_whole():
    annotations = np.random.default_rng(0).normal(size=(40, 2))
    annotations[:20, 1] = np.nan
    found = split_half_reliability(annotations, splits=20)
    assert (found.n, found.lengths) == (20, pytest.approx((1, 1, 1 / 0.75)))


def test_annotators_who_contradict_each_other_have_no_reliability():
    found = split_half_reliability(np.array([[0.0, 1], [1, 0], [2, 0], [0, 2], [1, 2], [2, 1]]))
    assert (found.pearson, found.spearman, found.bound_pearson, found.bound_spearman) == (None,) * 4
    flat = split_half_reliability(np.array([[1.0, 2], [1, 2], [1, 2]]))
    assert flat.pearson is None
    assert upper_bound(None) is None and upper_bound(0.25) == 0.5
