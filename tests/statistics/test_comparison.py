"""Two scores compared: against SciPy on the same draws, against all permutations, and in simulations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from assay.analysis.settings import PairedTests
from assay.statistics import coefficients as registry
from assay.statistics.agreement import Coefficients, agreement, measure_all
from assay.statistics.cells import Labels
from assay.statistics.coefficients import POWER
from assay.statistics.comparison import average_draws, compare, compare_all
from assay.statistics.draws import PairDraws, Swaps
from assay.statistics.exchange import Exchange
from assay.statistics.prepared import PreparedScore
from assay.statistics.resampling import Resampler

STATISTICS = ("pearson", "spearman", "kendall")
SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y)[0],
    "spearman": lambda x, y: stats.spearmanr(x, y)[0],
    "kendall": lambda x, y: stats.kendalltau(x, y)[0],
}


def data(n, seed=0, noise=(1.0, 1.0), decimals=1):
    """Labels of three levels, and two scores with ties that follow them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n).astype(float)
    return (*(np.round(labels + scale * rng.normal(size=n), decimals) for scale in noise), labels)


@pytest.mark.parametrize(("decimals", "levels"), [(1, 3), (9, 3), (1, 40), (9, 40)])
def test_permutations_and_resamples_are_those_of_scipy_on_the_same_draws(decimals, levels):
    first, second, labels = data(60, noise=(1.0, 1.6), decimals=decimals)
    if levels > 3:
        labels = np.round(labels + np.random.default_rng(5).normal(size=60), 1)
    found = compare(
        first, second, labels, statistics=STATISTICS, permutations=99, resamples=99, confidence=0.9, seed=(3,)
    )
    swaps = np.concatenate(list(Swaps(60, 99, (3, 1)).blocks()), axis=1).astype(bool)
    drawn = np.concatenate(list(Resampler(60, 99, (3,)).blocks()), axis=1).astype(int)
    z = [(one - one.mean()) / one.std() for one in (first, second)]
    for difference in found:
        coefficient = SCIPY[difference.statistic]
        observed = coefficient(first, labels) - coefficient(second, labels)
        assert difference.value == pytest.approx(observed)
        null = [
            coefficient(np.where(swap, z[1], z[0]), labels) - coefficient(np.where(swap, z[0], z[1]), labels)
            for swap in swaps.T
        ]
        hits = (np.abs(null) >= abs(observed) - 1e-12).sum()
        assert difference.p_permutation == (1 + hits) / 100
        rows = [np.repeat(np.arange(60), column) for column in drawn.T]
        resampled = np.array([coefficient(first[r], labels[r]) - coefficient(second[r], labels[r]) for r in rows])
        assert difference.low < difference.value < difference.high
        assert np.quantile(resampled, 0.01) < difference.low < np.quantile(resampled, 0.07)
        left = [np.delete(np.arange(60), unit) for unit in range(60)]
        without = np.array([coefficient(first[r], labels[r]) - coefficient(second[r], labels[r]) for r in left])
        pseudo = 60 * observed - 59 * without
        # Arvesen's test of the mean of the pseudo-values, with the difference in its place
        t, p = stats.ttest_1samp(pseudo - pseudo.mean() + observed, 0)
        assert difference.p_jackknife == pytest.approx(p, rel=1e-6)
        assert difference.error == pytest.approx(observed / t)
        # at .1 with power .8: the quantiles of .95 and of .8 of Student's t with 59 degrees of freedom
        quantiles = stats.t.ppf(0.95, 59) + stats.t.ppf(0.8, 59)
        assert difference.detectable(0.1) == pytest.approx(quantiles * observed / t, rel=1e-6)


@pytest.mark.parametrize(
    "name", [name for name, statistic in registry.STATISTICS.items() if not statistic.is_calibrated]
)
@pytest.mark.parametrize("decimals", [1, 9])
def test_every_statistic_after_an_exchange_is_that_of_the_exchanged_scores(decimals, name):
    first, second, labels = data(40, decimals=decimals)
    labels[labels == 2] = 0.0
    groups = np.arange(40) // 4 if registry.STATISTICS[name].labels is registry.LabelKind.grouped else None
    z = [(one - one.mean()) / one.std() for one in (first, second)]
    swaps = next(Swaps(40, 8, (1,), groups).blocks())
    (differences,) = Exchange.of(first, second, labels, groups).differences(swaps, [name])
    sorted_labels = Labels.of(labels)
    ones = np.ones((40, 1))
    counts = sorted_labels.count(ones)
    for swap, difference in zip(swaps.T.astype(bool), differences, strict=True):
        ((one,),) = PreparedScore.of(np.where(swap, z[1], z[0]), sorted_labels, groups).values(ones, counts, [name])
        ((other,),) = PreparedScore.of(np.where(swap, z[0], z[1]), sorted_labels, groups).values(ones, counts, [name])
        assert difference == pytest.approx(one - other, abs=1e-12)
    assert np.ptp(differences) > 0.01


def test_all_couples_see_the_same_draws_as_one_alone():
    rng = np.random.default_rng(3)
    labels = rng.integers(3, size=50).astype(float)
    scores = {name: labels + rng.normal(size=50) for name in "abcd"}
    scores["d"][:9] = np.nan
    settings = {"statistics": STATISTICS, "permutations": 40, "resamples": 40, "confidence": 0.95, "seed": (1,)}
    found = compare_all(scores, labels, **settings)
    assert list(found) == list(itertools.combinations("abcd", 2))
    for (one, other), differences in found.items():
        assert differences == compare(scores[one], scores[other], labels, **settings)
        assert {difference.n for difference in differences} == {41 if other == "d" else 50}
    assert list(compare_all(scores, labels, metric_pairs=[("d", "a")], **settings)) == [("d", "a")]


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "comparisons"), [(1.5, 1), (1.71, 6)])
def test_the_detectable_difference_is_detected_in_four_of_five_cases(noise, comparisons):
    """The scores differ by what 200 pairs can show; with six comparisons, at the level of Holm's first step."""
    rng = np.random.default_rng(0)
    settings = {"statistics": ["pearson"], "permutations": 0, "resamples": 0, "confidence": 0.95}
    # r of a label and itself plus noise s is 1 / sqrt(1 + s^2): .707, and .555 or .505
    true = 1 / np.sqrt(2) - 1 / np.sqrt(1 + noise**2)
    level = PairedTests().sufficient_level(comparisons)
    seen, sizes = 0, []
    for case in range(300):
        labels = rng.normal(size=200)
        first, second = (labels + scale * rng.normal(size=200) for scale in (1.0, noise))
        (one,) = compare(first, second, labels, seed=(case,), **settings)
        seen += one.value > 0 and one.p_jackknife <= level
        sizes.append(one.detectable(level))
    assert np.median(sizes) == pytest.approx(true, rel=0.05)
    assert seen / 300 == pytest.approx(POWER, abs=0.07), "three standard errors of 300 cases"


def test_many_draws_come_near_all_permutations():
    first, second, labels = data(9, seed=2, noise=(0.5, 2.0), decimals=6)
    z = [(one - one.mean()) / one.std() for one in (first, second)]
    observed = abs(stats.pearsonr(first, labels)[0] - stats.pearsonr(second, labels)[0])
    all_of_them = [
        abs(
            stats.pearsonr(np.where(swap, z[1], z[0]), labels)[0]
            - stats.pearsonr(np.where(swap, z[0], z[1]), labels)[0]
        )
        for swap in itertools.product([False, True], repeat=9)
    ]
    exact = np.mean(np.array(all_of_them) >= observed - 1e-12)
    assert 0.02 < exact < 0.9
    (found,) = compare(
        first, second, labels, statistics=["pearson"], permutations=20_000, resamples=0, confidence=0.95, seed=(0,)
    )
    assert found.p_permutation == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))
    assert (found.low, found.p_jackknife, found.error) == (None, None, None), "nine pairs are too few"


@pytest.mark.slow
def test_a_true_null_is_rejected_in_one_of_twenty_cases():
    """1,000 cases: the share that is rejected has a standard error of .007."""
    rejected = dict.fromkeys(STATISTICS, 0)
    for case in range(1000):
        first, second, labels = data(60, seed=case)
        for one in compare(
            first, second, labels, statistics=STATISTICS, permutations=199, resamples=0, confidence=0.95, seed=(case,)
        ):
            rejected[one.statistic] += one.p_permutation <= 0.05
    assert {name: 40 <= count <= 60 for name, count in rejected.items()} == dict.fromkeys(STATISTICS, True), rejected


def test_a_worse_score_is_found_out():
    first, second, labels = data(300, noise=(0.7, 1.5))
    for one in compare(
        first, second, labels, statistics=STATISTICS, permutations=499, resamples=499, confidence=0.95, seed=(0,)
    ):
        assert one.p_permutation == 1 / 500 and one.p_jackknife < 0.01 and one.low > 0
        assert (one.p_williams is None) == (one.statistic != "pearson")
        back = compare(
            second,
            first,
            labels,
            statistics=[one.statistic],
            permutations=499,
            resamples=499,
            confidence=0.95,
            seed=(0,),
        )
        assert back[0].value == pytest.approx(-one.value) and back[0].p_permutation == one.p_permutation


def test_a_constant_label_is_compared_without_a_warning():
    first, second, _ = data(30)
    (found,) = compare(
        first, second, np.ones(30), statistics=["pearson"], permutations=20, resamples=20, confidence=0.95, seed=(0,)
    )
    assert (found.value, found.p_permutation, found.note) == (None, None, "undefined")


def test_a_seed_stands_for_the_same_exchanges_in_every_version():
    """Old runs are recomputed: each draw is ceil(n / 8) bytes of PCG64, the highest bit first."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence((7, 1))))
    expected = [np.unpackbits(rng.integers(256, size=4, dtype=np.uint8)) for _ in range(5)]
    assert np.concatenate(list(Swaps(32, 5, (7, 1)).blocks()), axis=1).T.tolist() == np.array(expected).tolist()


def test_what_is_undefined_has_no_interval():
    resampled = np.tile(np.arange(100.0), (2, 1))
    found = Coefficients(np.array([np.nan, 50]), np.zeros(2), resampled, 30, ((30, "pairs"),) * 2)
    assert found.interval(0, 0.95) is None and found.interval(1, 0.95) is not None
    assert Coefficients(np.array([50.0]), np.zeros(1), None, 30, ((30, "pairs"),)).interval(0, 0.95) is None


def test_a_score_does_not_differ_from_itself():
    score, _, labels = data(60)
    for one in compare(
        score, score, labels, statistics=STATISTICS, permutations=99, resamples=99, confidence=0.95, seed=(0,)
    ):
        assert (one.value, one.low, one.high, one.error, one.detectable(0.05)) == (0, 0, 0, 0, None)
        assert (one.p_permutation, one.p_jackknife) == (1, 1)


def test_the_mean_over_datasets():
    def part(values, resampled, n):
        drawn = None if resampled is None else np.array(resampled)
        return Coefficients(np.array(values), np.array([n / 100]), drawn, n, ((n, "pairs"),))

    full = PairDraws(part([0.5], [[0.4, 0.6]], 30), part([0.1], [[0.1, 0.3]], 30), np.array([[0.2, -0.2]]), 0.01)
    more = PairDraws(part([0.9], [[0.8, 1.0]], 50), part([0.2], [[0.2, 0.0]], 50), np.array([[0.4, 0.6]]), 0.01)
    found = average_draws([full, more])
    assert found.first.values == pytest.approx([0.7]) and found.second.values == pytest.approx([0.15])
    assert found.first.chance == pytest.approx([0.4])
    assert found.first.resampled == pytest.approx(np.array([[0.6, 0.8]]))
    assert found.permuted == pytest.approx(np.array([[0.3, 0.2]]))
    assert (found.first.n, found.first.units) == (80, ((30, "pairs"),))
    assert np.isnan(found.p_williams)
    # without resamples or exchanges of one there are none of the mean
    bare = PairDraws(part([0.9], None, 50), part([0.2], [[0.2, 0.0]], 50), None, 0.01)
    found = average_draws([full, bare])
    assert found.first.values == pytest.approx([0.7])
    assert found.first.resampled is None and found.second.resampled is not None and found.permuted is None


def test_groups_are_swapped_as_a_whole_and_williams_is_left_out():
    groups = np.repeat(np.arange(20), 5)
    for block in Swaps(100, 7, (1,), groups).blocks():
        assert {tuple(np.unique(column[groups == one])) for column in block.T for one in range(20)} <= {(0,), (1,)}
    first, second, labels = data(100)
    (found,) = compare(
        first,
        second,
        labels,
        statistics=["pearson"],
        permutations=50,
        resamples=50,
        confidence=0.95,
        seed=(0,),
        groups=groups,
    )
    assert found.p_williams is None and 0 < found.p_permutation <= 1


def test_what_cannot_be_compared_says_so():
    first, second, labels = data(30)
    settings = {"statistics": ["kendall"], "permutations": 20, "resamples": 20, "confidence": 0.95, "seed": (0,)}
    (constant,) = compare(np.ones(30), second, labels, **settings)
    assert constant.value is None and constant.first is None and constant.second is not None
    assert (constant.p_permutation, constant.note) == (None, "undefined")
    (none,) = compare(np.full(30, np.nan), second, labels, **settings)
    assert (none.n, none.note) == (0, "no pair has both scores")
    half = np.where(np.arange(30) < 15, first, np.nan)
    (some,) = compare(half, second, labels, **settings)
    assert some.n == 15
    (few,) = compare(first[:6], second[:6], labels[:6], **settings)
    assert few.low is None and "no interval and no t-test below 10 pairs" in few.note


@pytest.mark.filterwarnings("error")
def test_a_score_that_varies_by_rounding_alone_is_constant():
    _, second, labels = data(64)
    noise = np.where(np.arange(64) % 2, 0.3, 0.1 + 0.2)
    assert np.ptp(noise) > 0
    settings = {"statistics": ["pearson", "kendall"], "permutations": 20, "resamples": 20}
    for difference in compare(noise, second, labels, confidence=0.95, seed=(0,), **settings):
        assert difference.first is None and difference.second is not None
        assert (difference.p_permutation, difference.note) == (None, "undefined")


@pytest.mark.parametrize("grouped", [False, True])
def test_scores_that_lack_pairs_have_the_intervals_of_the_agreement_table(grouped):
    first, second, labels = data(90, seed=4)
    groups = np.random.default_rng(0).permutation(90) // 3 if grouped else None
    # of the groups, three lose all of their pairs
    lost = np.arange(90) % 7 == 0 if groups is None else (groups < 3) | (np.arange(90) % 7 == 0)
    scores = {"whole": second, "holes": np.where(lost, np.nan, first), "nothing": np.full(90, np.nan)}
    drawing = {"statistics": STATISTICS, "resamples": 150, "seed": (2, 9)}
    expected = agreement(scores, labels, confidence=0.9, groups=groups, **drawing)
    # the codes need not be 0 to k - 1
    found = measure_all(scores, labels, groups=None if groups is None else 5 + 2 * groups, **drawing)
    for one in expected:
        place = STATISTICS.index(one.statistic)
        assert (found[one.metric].interval(place, 0.9) or (None, None)) == (one.low, one.high)
        assert found[one.metric].n == one.n
    assert sum(one.low is not None for one in expected) == 2 * len(STATISTICS)
