"""Votes of yes and no: what counts as votes, what is said of a pair, and the AUC against their means."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from assay.statistics.agreement import agreement, measure_all
from assay.statistics.coefficients import deciding_statistic, default_statistics
from assay.statistics.votes import deciding_statistic_of, references_of_votes, votes_of

NAN = np.nan


def ballots(annotators, n=400, seed=0, missing=0.0, values=(0.0, 1.0)):
    """Votes of annotators who call 60 % of the pairs yes, and err in 10 %."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.6
    votes = np.where((rng.random((n, annotators)) < 0.1) ^ truth[:, None], values[1], values[0])
    votes[rng.random(votes.shape) < missing] = NAN
    votes[np.isnan(votes).all(axis=1), 0] = values[0]
    return votes


@pytest.mark.parametrize(
    ("votes", "statistic"),
    [
        (ballots(1), "auc"),
        (ballots(2), "auc-votes"),
        (ballots(3), "auc-votes"),
        (ballots(4), "auc-votes"),
        (ballots(4, missing=0.3), "auc-votes"),
        (ballots(2, values=(1.0, 5.0)), "auc-votes"),
        (ballots(2, values=(-1.0, 1.0)), "auc-votes"),
    ],
)
def test_votes_of_annotators(votes, statistic):
    labels = np.nanmean(votes, axis=1)
    for given in (labels, 100 * labels, labels[:0]):
        if len(given):
            assert deciding_statistic_of(given, votes) == statistic
    unsure = votes.copy()
    unsure[7, 0] = np.nanmean([np.nanmin(votes), np.nanmax(votes)])
    assert deciding_statistic_of(np.nanmean(unsure, axis=1), unsure) == "auc-votes"


def test_one_who_is_unsure_turns_votes_into_nothing_else():
    labels = ballots(1)[:, 0]
    labels[3] = 0.5
    assert deciding_statistic_of(labels, None) == "auc-votes"
    assert deciding_statistic_of(np.append(labels, NAN), None) == "auc-votes"
    labels[:40] = 0.5
    assert deciding_statistic_of(labels, None) is None, "a tenth of all pairs: grades"


def test_grades_are_no_votes():
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 3, (300, 2)).astype(float)
    assert votes_of(grades.mean(axis=1), grades) is None
    assert votes_of(rng.integers(1, 6, 300).astype(float), None) is None
    assert votes_of(np.array([0, 0, 1, 1, 0.4] + [0, 1] * 50), None) is None, "the middle value is not halfway"
    assert votes_of(np.ones(20), np.ones((20, 2))) is None
    # a label of its own that is not the mean of the votes
    votes = ballots(2)
    assert votes_of(rng.normal(size=400), votes) is None


@pytest.mark.parametrize(
    ("votes", "text"),
    [
        ([1, 1], "yes"),
        ([0, 0], "no"),
        ([1, 0], "one of two said yes"),
        ([1, 1, 0], "two of three said yes"),
        ([1, 0, NAN], "one of two said yes"),
        ([1, NAN, NAN], "yes"),
        ([1, 1, 0, 0], "two of four said yes"),
        ([1, 0.5], "one of two said yes, one was unsure"),
        ([0, 0.5, 0.5], "none of three said yes, two were unsure"),
        ([0.5, NAN], "unsure"),
    ],
)
def test_what_people_said_of_a_pair(votes, text):
    others = [[0.0] * len(votes)] * 20 + [[1.0] * len(votes)] * 20
    annotations = np.array([*others, votes], dtype=float)
    found = votes_of(np.nanmean(annotations, axis=1), annotations)
    assert found.text(40) == text
    assert (found.text(0), found.text(39)) == ("no", "yes")


def test_the_majority():
    every = np.array(list(product([0.0, 1.0], repeat=4)) * 5)
    found = votes_of(every.mean(axis=1), every)
    assert (found.is_split == (every.sum(axis=1) == 2)).all()
    assert np.array_equal(found.majority, np.where(found.is_split, NAN, every.sum(axis=1) > 2), equal_nan=True)
    assert (found.lowest_yes(), found.lowest_yes(with_split=True)) == (0.75, 0.5)
    references = references_of_votes(found, every)
    assert list(references) == ["the majority", *(f"annotator {number}" for number in (1, 2, 3, 4))]
    assert (references["annotator 2"] == every[:, 1]).all()


def test_the_auc_of_votes_is_that_of_all_comparisons():
    rng = np.random.default_rng(2)
    votes = ballots(2, n=60)
    labels = votes.mean(axis=1)
    score = np.round(labels + rng.normal(0, 0.7, 60), 1)
    higher, lower = np.nonzero(labels[:, None] > labels)
    expected = np.mean((score[higher] > score[lower]) + 0.5 * (score[higher] == score[lower]))
    (found,) = agreement(
        {"m": score}, labels, statistics=["auc-votes"], resamples=500, confidence=0.95, seed=(0,), interval="auto"
    )
    assert found.value == pytest.approx(expected)
    assert found.low < expected < found.high


def test_without_a_disagreement_it_is_the_auc_and_one_hardly_changes_it():
    rng = np.random.default_rng(3)
    labels = np.arange(400) % 2 * 1.0
    score = labels + rng.normal(0, 0.8, 400)
    area = stats.mannwhitneyu(score[labels == 1], score[labels == 0]).statistic / 200**2

    def measure(labels, statistic):
        found = measure_all({"m": score}, labels, statistics=(statistic,), resamples=0, seed=(0,))
        return float(found["m"].values[0])

    assert measure(labels, "auc-votes") == pytest.approx(area) == pytest.approx(measure(labels, "auc"))
    labels[5] = 0.5
    assert measure(labels, "auc-votes") == pytest.approx(area, abs=0.005)
    assert np.isnan(measure(labels, "auc"))
    flat = measure_all({"m": np.ones(400)}, labels, statistics=("auc-votes",), resamples=0, seed=(0,))
    assert float(flat["m"].values[0]) == 0.5


def test_defaults_by_dataset():
    assert deciding_statistic(["auc", True]) == "auc"
    assert deciding_statistic(["auc", "auc-votes"]) == "auc-votes"
    assert deciding_statistic(["auc-votes", None]) == "spearman"
    assert default_statistics(["auc-votes"])[0] == "auc-votes"
    assert default_statistics(["auc-votes", None])[-1] == "auc-votes"
    assert default_statistics([None]) == ("pearson", "spearman", "kendall")
