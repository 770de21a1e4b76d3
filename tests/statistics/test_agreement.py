"""Values, intervals, notes; and whether the intervals hold what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.statistics.agreement import agreement
from assay.statistics.ceilings import tie_free_ceiling, tie_share
from assay.statistics.intervals import percentile_interval
from assay.statistics.resampling import Resampler

THREE = ("pearson", "spearman", "kendall")


def hold(scores, labels, **changes):
    settings = {"statistics": THREE, "resamples": 200, "confidence": 0.95, "seed": (0,)} | changes
    return {(e.metric, e.statistic): e for e in agreement(scores, labels, **settings)}


def test_interval_is_the_percentile_of_scipy_on_the_same_draws():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=90).astype(float)
    x = y + rng.normal(size=90)
    found = hold({"x": x}, y)["x", "kendall"]
    draws = [
        np.repeat(np.arange(90), column.astype(int))
        for block in Resampler(90, 200, (0,)).blocks()
        for column in block.T
    ]
    values = [stats.kendalltau(x[rows], y[rows]).statistic for rows in draws]
    tail = stats.norm.cdf(np.sqrt(90 / 89) * stats.t.ppf(0.025, 89))
    assert tail < 0.025
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [tail, 1 - tail])), abs=1e-12)
    assert found.value == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


def test_same_resamples_for_all_metrics_whatever_stands_beside_them():
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=60).astype(float)
    x, z = rng.normal(size=60), rng.normal(size=60)
    assert hold({"x": x}, y)["x", "pearson"] == hold({"z": z, "x": x}, y)["x", "pearson"]


def test_draws_do_not_depend_on_the_block_size(monkeypatch):
    whole = np.concatenate(list(Resampler(50, 70, (5,)).blocks()), axis=1)
    monkeypatch.setattr("assay.statistics.resampling.BLOCK", 50 * 3)
    assert (np.concatenate(list(Resampler(50, 70, (5,)).blocks()), axis=1) == whole).all()
    assert whole.shape == (50, 70)
    assert (whole.sum(axis=0) == 50).all()


def test_a_seed_stands_for_the_same_resamples_in_every_version():
    """Old runs are recomputed: each draw is n integers below n of PCG64."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((5, 2))))
    expected = [np.bincount(rng.integers(11, size=11), minlength=11).tolist() for _ in range(4)]
    assert np.concatenate(list(Resampler(11, 4, (5, 2)).blocks()), axis=1).T.tolist() == expected


def test_groups_are_drawn_whole():
    groups = np.array([0, 0, 0, 1, 1, 2])
    (weights,) = Resampler(6, 30, (1,), groups).blocks()
    assert (weights[0] == weights[1]).all() and (weights[0] == weights[2]).all() and (weights[3] == weights[4]).all()
    assert ((weights[0] + weights[3] + weights[5]) == 3).all()


def test_constant_score_has_no_value():
    found = hold({"flat": np.ones(20)}, np.arange(20.0))["flat", "spearman"]
    assert (found.value, found.low, found.high, found.note) == (None, None, None, "constant score")


def test_constant_label_and_single_pair_and_no_pair():
    assert hold({"x": np.arange(9.0)}, np.ones(9))["x", "kendall"].note == "constant label"
    assert hold({"x": np.ones(1)}, np.ones(1))["x", "kendall"].note == "one pair"
    assert hold({"x": np.ones(0)}, np.ones(0))["x", "kendall"].note == "no pairs"
    assert hold({"x": np.arange(9.0)}, np.arange(9.0), statistics=("auc",))["x", "auc"].note == (
        "the label is not binary"
    )


@pytest.mark.parametrize("statistic", ["pairwise-accuracy", "acc-eq"])
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(20), 2)])
@pytest.mark.parametrize("scores", [np.arange(40.0), np.zeros(40)])
def test_with_one_label_a_share_of_comparisons_has_no_interval_and_not_one_of_no_width(statistic, groups, scores):
    found = hold({"x": scores}, np.ones(40), statistics=(statistic,), groups=groups)["x", statistic]
    assert (found.low, found.high) == (None, None)
    assert "constant label" in found.note


def test_missing_scores_are_left_out_and_counted():
    y = np.arange(30.0)
    x = np.where(y < 5, np.nan, y)
    found = hold({"x": x}, y)["x", "pearson"]
    assert found.n == 25
    assert found.note == "25 of 30 pairs have a score"
    assert found.value == pytest.approx(1)


def test_undefined_resamples_are_counted_not_turned_into_numbers():
    x = np.zeros(12)
    x[0] = 1
    found = hold({"x": x}, np.arange(12.0))["x", "pearson"]
    assert "undefined in" in found.note


def test_a_minority_of_defined_resamples_makes_no_interval():
    half = np.concatenate([np.arange(50.0), np.full(50, np.nan)])
    tail = stats.norm.cdf(np.sqrt(30 / 29) * stats.t.ppf(0.05, 29))
    assert percentile_interval(half, 30, 0.9) == pytest.approx((49 * tail, 49 * (1 - tail)), abs=1e-12)
    half[0] = np.nan
    assert percentile_interval(half, 30, 0.9) is None
    assert percentile_interval(np.arange(100.0), 9, 0.9) is None
    assert percentile_interval(np.arange(100.0), 10, 0.9) is not None
    # a resample misses the one pair that spreads the score with probability (29 / 30) ** 30 = .36; where another one
    # spreads the label, one of the two is missed in 1 - .64 ** 2 = .59 of the resamples
    scores = np.eye(30)[0]
    often, seldom = (hold({"x": scores}, labels)["x", "kendall"] for labels in (np.arange(30.0), np.eye(30)[1]))
    assert often.note.startswith("undefined in ") and often.low < often.high < 0
    assert seldom.note.startswith("undefined in ") and (seldom.low, seldom.high) == (None, None)


def test_ceiling_is_reached_by_a_perfect_order_and_by_no_other():
    labels = np.repeat([0.0, 1, 2], [5, 3, 2])
    ceiling = tie_free_ceiling(labels, THREE)
    perfect = np.arange(10.0)
    assert ceiling["spearman"] == pytest.approx(stats.spearmanr(perfect, labels).statistic, abs=1e-12)
    assert ceiling["kendall"] == pytest.approx(stats.kendalltau(perfect, labels).statistic, abs=1e-12)
    assert ceiling["pearson"] == 1
    rng = np.random.default_rng(0)
    best = max(stats.kendalltau(rng.permutation(10), labels).statistic for _ in range(300))
    assert best <= ceiling["kendall"] + 1e-12
    assert tie_share(labels) == pytest.approx((10 + 3 + 1) / 45)


def test_interval_of_a_partly_known_score_is_that_of_the_pairs_it_has():
    y = np.tile([0.0, 1, 2], 100)
    x = np.where(np.arange(300) < 12, np.random.default_rng(1).normal(size=300) + y, np.nan)
    part = hold({"x": x}, y, resamples=2000)["x", "pearson"]
    alone = hold({"x": x[:12]}, y[:12], resamples=2000)["x", "pearson"]
    assert part.value == alone.value
    assert part.high - part.low > 0.75 * (alone.high - alone.low)
    assert hold({"x": np.full(9, np.nan)}, np.arange(9.0))["x", "pearson"].note == "no pair has a score"


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("sign", [1, -1])
def test_size_of_the_scores_does_not_matter(factor, sign):
    x, y = np.array([1.0, 3, 2, 5, 4, 7]), np.arange(6.0)
    found = hold({"x": sign * x * factor}, y, resamples=0)["x", "pearson"]
    assert found.value == pytest.approx(sign * stats.pearsonr(x, y).statistic, abs=1e-12)


def test_constant_score_of_many_pairs_is_undefined_whatever_the_rounding():
    n = 209_801
    found = hold({"x": np.ones(n)}, np.arange(n) % 3.0, resamples=0)
    assert [found["x", name].note for name in THREE] == ["constant score"] * 3


def test_a_handful_of_pairs_has_a_value_and_no_interval():
    y = np.arange(9.0)
    found = hold({"x": y}, y)["x", "spearman"]
    assert (found.value, found.low, found.note) == (pytest.approx(1), None, "no interval below 10 pairs")
    groups = np.arange(30) % 9
    found = hold({"x": np.arange(30.0)}, np.arange(30.0), groups=groups)["x", "spearman"]
    assert (found.low, found.note) == (None, "no interval below 10 groups")


def test_one_odd_pair_among_a_million():
    n = 10**6
    x, y = np.zeros(n), np.arange(n) % 3.0
    x[5] = 1
    found = hold({"x": x}, y, resamples=0)
    assert found["x", "spearman"].value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def test_pearson_alone():
    assert tie_free_ceiling(np.arange(5.0), ("pearson",)) == {"pearson": 1.0}


def coverage(draw, truths, *, cases, grouped=False):
    """Share of simulated samples whose 95 % interval holds the true value, by statistic."""
    hits = dict.fromkeys(THREE, 0)
    for case in range(cases):
        rng = np.random.default_rng([99, case])
        x, y, groups = draw(rng)
        found = agreement(
            {"x": x}, y, statistics=THREE, resamples=600, confidence=0.95, seed=(case,),
            groups=groups if grouped else None,
        )  # fmt: skip
        for e in found:
            hits[e.statistic] += e.low <= truths[e.statistic] <= e.high
    return {name: count / cases for name, count in hits.items()}


def normal_truth(correlation):
    """The population values of a bivariate normal distribution, in closed form."""
    return {
        "pearson": correlation,
        "spearman": 6 / np.pi * np.arcsin(correlation / 2),
        "kendall": 2 / np.pi * np.arcsin(correlation),
    }


def simulated_truth(draw, repeats=10):
    """The population value, from samples far larger than the simulated ones."""
    values = {name: [] for name in THREE}
    for r in range(repeats):
        x, y, _ = draw(np.random.default_rng([7, r]), 24_000)
        for e in agreement({"x": x}, y, statistics=THREE, resamples=0, confidence=0.95, seed=(0,)):
            values[e.statistic].append(e.value)
    return {name: float(np.mean(found)) for name, found in values.items()}


def continuous(rng, n=200):
    y = rng.normal(size=n)
    return 0.6 * y + 0.8 * rng.normal(size=n), y, None


def three_levels(rng, n=200):
    x, y, _ = continuous(rng, n)
    return x, np.digitize(y, [0.6, 1.2]).astype(float), None


def grouped(rng, n=600):
    """Answers to one question share its difficulty, in score and label."""
    questions = n // 4
    groups = np.repeat(np.arange(questions), 4)
    ease_x, ease_y = rng.normal(size=(2, questions))
    y = np.sqrt(0.7) * (0.5 * ease_x + np.sqrt(0.75) * ease_y)[groups] + np.sqrt(0.3) * rng.normal(size=n)
    return np.sqrt(0.7) * ease_x[groups] + np.sqrt(0.3) * rng.normal(size=n), y, groups


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "truths"),
    [(continuous, normal_truth(0.6)), (three_levels, None)],
    ids=["continuous labels", "three-level labels"],
)
def test_intervals_cover_the_truth_in_93_to_97_of_100_cases(draw, truths):
    # 500 cases: an interval that covers 90 % reaches 93 % by a chance of one in a hundred
    found = coverage(draw, truths or simulated_truth(draw), cases=500)
    assert all(0.93 <= share <= 0.97 for share in found.values()), found


@pytest.mark.slow
def test_group_bootstrap_covers_where_the_plain_one_fails():
    # score and label of a pair are jointly normal with a correlation of .7 * .5
    truths = normal_truth(0.35)
    by_group = coverage(grouped, truths, cases=300, grouped=True)
    plain = coverage(grouped, truths, cases=200)
    assert all(0.93 <= share <= 0.97 for share in by_group.values()), by_group
    assert all(share < 0.85 for share in plain.values()), plain
