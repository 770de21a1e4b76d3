"""Ties up to a calibrated threshold: against a direct search, the published formula and the definition by loops."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import pytest

import assay
from assay.statistics.agreement import agreement, measure_all
from assay.statistics.cells import NOISE, Labels
from assay.statistics.coefficients import STATISTICS, calibrated_form
from assay.statistics.comparison import compare
from assay.statistics.leave_one_out import leave_one_out
from assay.statistics.prepared import PreparedScore
from assay.statistics.tie_calibration import BLOCKS, FOLDS, Thresholds
from assay.statistics.tie_thresholds import best_thresholds, fold_subsets

EQ = ("acc-eq", "kendall-eq", "spearman-eq")
PLAIN = ("pairwise-accuracy", "kendall", "spearman")


def direct_search(scores, labels):
    """Return the smallest best threshold and what agrees under it, from all differences, sorted."""
    first, second = np.triu_indices(len(scores), 1)
    by_score, by_label = scores[first] - scores[second], np.sign(labels[first] - labels[second])
    noise = NOISE * np.abs(scores).max()
    sizes = np.abs(by_score)
    in_order = (np.sign(by_score) == by_label) & (by_label != 0)
    order = np.argsort(sizes, kind="stable")
    gains = np.where(by_label == 0, 1, np.where(in_order, -1, 0))[order]
    running = in_order.sum() + np.cumsum(gains)
    ends = np.append(np.flatnonzero(np.diff(sizes[order]) > noise), len(order) - 1)
    at_zero = (in_order & (sizes > noise)).sum() + ((by_label == 0) & (sizes <= noise)).sum()
    thresholds, agreeing = np.append(0.0, sizes[order][ends]), np.append(at_zero, running[ends])
    best = int(agreeing.argmax())
    return thresholds[best], agreeing[best]


def cases():
    """Yield scores and labels: few and many levels, heavy ties, negative, reversed and constant scores."""
    rng = np.random.default_rng(0)
    shapes = itertools.product((2, 3, 7, 60, 400), (2, 3, 12, 70), (0, 1, 9), (0.3, 3.0))
    for n, levels, decimals, noise in shapes:
        labels = rng.integers(levels, size=n).astype(float)
        if levels == 3:
            labels = rng.choice(3, size=n, p=[0.72, 0.17, 0.11]).astype(float)
        sign = rng.choice([-1, 1])
        yield np.round(sign * labels / levels + noise * rng.normal(size=n), decimals), labels
    for labels in (np.arange(30.0), np.arange(30.0) // 10, np.zeros(30)):
        yield np.full(30, -2.5), labels
        yield -1e6 * labels, labels
        yield np.where(labels > 3, 1.0, 0.0), labels


def all_of(scores, labels):
    kept = np.ones((1, 1))
    found = best_thresholds(scores, Labels.of(labels).codes, np.zeros(len(labels), dtype=np.intp), kept)
    return found.thresholds[0], found.agreeing[0]


@pytest.mark.slow
def test_the_threshold_is_that_of_a_direct_search_over_all_differences():
    compared = 0
    for scores, labels in cases():
        threshold, agreeing = all_of(scores, labels)
        expected_threshold, expected = direct_search(scores, labels)
        assert agreeing == expected
        assert threshold == pytest.approx(expected_threshold, abs=2 * NOISE * np.abs(scores).max())
        compared += threshold > 0
    assert compared > 40


def test_every_subset_has_the_threshold_of_a_direct_search_over_it():
    rng = np.random.default_rng(1)
    for decimals, levels in ((1, 3), (9, 3), (9, 30)):
        labels = rng.integers(levels, size=80).astype(float)
        scores = np.round(labels / levels + 0.4 * rng.normal(size=80), decimals)
        folds = rng.permutation(80) % FOLDS
        kept = fold_subsets(FOLDS)
        found = best_thresholds(scores, Labels.of(labels).codes, folds, kept)
        for row, subset in enumerate(kept.astype(bool)):
            inside = subset[folds]
            threshold, agreeing = direct_search(scores[inside], labels[inside])
            assert found.agreeing[row] == agreeing
            assert found.thresholds[row] == pytest.approx(threshold, abs=1e-9)


def test_what_a_division_of_intervals_leaves_out_holds_no_better_threshold(monkeypatch):
    """With almost nothing looked at one by one, the intervals are divided to the end."""
    monkeypatch.setattr("assay.statistics.tie_thresholds.FEW_DIFFERENCES", 1)
    rng = np.random.default_rng(2)
    for noise in (0.3, 1.0, 30.0):
        labels = rng.choice(3, size=300, p=[0.72, 0.17, 0.11]).astype(float)
        scores = labels + noise * rng.normal(size=300)
        threshold, agreeing = all_of(scores, labels)
        expected_threshold, expected = direct_search(scores, labels)
        assert (threshold, agreeing) == (pytest.approx(expected_threshold), expected)


def published(scores, labels):
    """Return threshold and value of pairwise accuracy with tie calibration as published, from its five counts.

    Deutsch, Foster & Freitag (2023), equation 9: (C + T_hm) / (C + D + T_h + T_m + T_hm), with concordant and
    discordant comparisons and ties in the human label alone, in the metric alone and in both. Their search tries 0
    and every difference that occurs, keeps the highest value and, of several, the first.
    """
    first, second = np.triu_indices(len(scores), 1)
    distance, human = np.abs(scores[first] - scores[second]), labels[first] - labels[second]
    best = -1.0, 0.0
    for threshold in [0.0, *np.unique(distance)]:
        metric = np.where(distance <= threshold, 0.0, scores[first] - scores[second])
        concordant = ((human * metric) > 0).sum()
        discordant = ((human * metric) < 0).sum()
        ties_human, ties_metric = ((human == 0) & (metric != 0)).sum(), ((human != 0) & (metric == 0)).sum()
        ties_both = ((human == 0) & (metric == 0)).sum()
        value = (concordant + ties_both) / (concordant + discordant + ties_human + ties_metric + ties_both)
        if value > best[0]:
            best = value, threshold
    return best


@pytest.mark.parametrize("levels", [2, 3, 25])
def test_value_and_threshold_are_those_of_the_published_formula(levels):
    rng = np.random.default_rng(levels)
    for noise in (0.2, 1.0):
        labels = rng.integers(levels, size=60).astype(float)
        # multiples of 1/64, whose differences have no rounding
        scores = np.round(64 * (noise * rng.normal(size=60) + labels / levels)) / 64
        value, threshold = published(scores, labels)
        found_threshold, agreeing = all_of(scores, labels)
        assert agreeing / (60 * 59 / 2) == pytest.approx(value)
        assert found_threshold == pytest.approx(threshold)


# Values out of fold, on the pairs and under multiplicities.


def by_definition(scores, labels, weights, thresholds):
    """Return acc-eq, tau-b and rho from all n² signs, a comparison being weighted by both of its multiplicities."""
    limits = thresholds.out_of_fold[np.ix_(thresholds.folds, thresholds.folds)]
    differences = scores[:, None] - scores[None, :]
    signs = np.where(np.abs(differences) <= limits + 1e-12, 0, np.sign(differences))
    label_signs = np.sign(labels[:, None] - labels[None, :])
    pairs = np.outer(weights, weights)
    # each comparison occurs there twice, and each pair of texts once with itself
    n = weights.sum()
    comparisons = n * n - n
    agree = (pairs * (signs == label_signs)).sum() - n
    untied, label_untied = (pairs * (signs != 0)).sum(), (pairs * (label_signs != 0)).sum()
    tau = (pairs * signs * label_signs).sum() / np.sqrt(untied * label_untied)
    ranks, label_ranks = signs @ weights, label_signs @ weights
    rho = (weights * ranks * label_ranks).sum() / np.sqrt((weights * ranks**2).sum() * (weights * label_ranks**2).sum())
    return agree / comparisons, tau, rho


@pytest.mark.parametrize(
    ("levels", "decimals", "grouped"), [(2, 9, False), (3, 1, True), (3, 9, True), (5, 2, False), (30, 1, False)]
)
def test_values_under_multiplicities_are_those_of_all_comparisons(levels, decimals, grouped):
    rng = np.random.default_rng(levels)
    # many are 0, so that ties are worth a threshold with 30 levels, too
    labels = np.maximum(rng.integers(-levels, levels, size=60), 0).astype(float)
    scores = np.round(labels / levels + 0.4 * rng.normal(size=60), decimals)
    groups = np.arange(60) // 3 if grouped else None
    sorted_labels = Labels.of(labels)
    prepared = PreparedScore.of(scores, sorted_labels, groups)
    thresholds = Thresholds.of(scores, sorted_labels, groups)
    assert np.ptp(thresholds.out_of_fold) > 0, "the thresholds differ, or the test would not see which one is used"
    weights = rng.integers(0, 4, size=(60, 5)).astype(float)
    weights[:, 0] = 1
    found = prepared.values(weights, sorted_labels.count(weights), EQ)
    for column, values in zip(weights.T, found.T, strict=True):
        assert values == pytest.approx(by_definition(scores, labels, column, thresholds), abs=1e-12)


@pytest.mark.parametrize(("levels", "decimals"), [(2, 1), (3, 9), (30, 1)])
@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_the_jackknife_leaves_out_blocks_and_chooses_the_thresholds_anew(levels, decimals, size):
    rng = np.random.default_rng(9)
    labels = np.maximum(rng.integers(-levels, levels, size=60), 0).astype(float)
    scores = np.round(labels / levels + 0.4 * rng.normal(size=60), decimals)
    groups = None if size == 1 else np.arange(60) // size
    found = np.array(leave_one_out({"": scores}, labels, statistics=EQ, groups=groups)[""])
    thresholds = Thresholds.of(scores, Labels.of(labels), groups)
    if size == 20:
        assert thresholds is None
        assert np.isnan(found).all()
        return
    # pairs, groups of three in blocks of their own, and eight groups: fewer than blocks
    assert found.shape == (3, min(len(np.unique(np.arange(60) // size)), FOLDS * BLOCKS))
    units = np.arange(60) if groups is None else groups
    places = np.random.default_rng(0).permutation(units.max() + 1)[units]
    assert (places % FOLDS == thresholds.folds).all()
    for block in range(found.shape[1]):
        rest = places % (FOLDS * BLOCKS) != block
        out_of_fold = np.empty((FOLDS, FOLDS))
        for one, other in itertools.combinations_with_replacement(range(FOLDS), 2):
            inside = rest & (thresholds.folds != one) & (thresholds.folds != other)
            best, _ = direct_search(scores[inside], labels[inside])
            everything = best >= np.ptp(scores[inside]) - 1e-9
            out_of_fold[one, other] = out_of_fold[other, one] = np.inf if everything else best
        anew = Thresholds(np.nan, np.nan, thresholds.folds, out_of_fold)
        assert found[:, block] == pytest.approx(by_definition(scores, labels, rest.astype(float), anew), abs=1e-12)


def test_a_comparison_is_judged_by_a_threshold_that_has_seen_neither_of_its_folds():
    rng = np.random.default_rng(3)
    labels = rng.integers(3, size=90).astype(float)
    scores = labels + rng.normal(size=90)
    before = Thresholds.of(scores, Labels.of(labels))
    changed = labels.copy()
    inside = np.isin(before.folds, (1, 3))
    changed[inside] = rng.permutation(changed[inside])
    after = Thresholds.of(scores, Labels.of(changed))
    assert after.out_of_fold[1, 3] == after.out_of_fold[3, 1] == before.out_of_fold[1, 3]
    assert after.shown != before.shown
    assert (after.out_of_fold != before.out_of_fold).sum() > 10


def test_groups_are_not_divided_among_folds():
    labels = np.arange(60.0) % 3
    groups = np.random.default_rng(0).integers(12, size=60)
    folds = Thresholds.of(labels + np.arange(60) / 100, Labels.of(labels), groups).folds
    assert {len(set(folds[groups == group])) for group in range(12)} == {1}
    assert set(folds) == set(range(FOLDS))


@pytest.mark.slow
def test_a_threshold_that_fits_noise_gains_nothing_out_of_fold():
    """Scores at random: the best threshold in the sample looks better than chance, and out of fold it does not."""
    rng = np.random.default_rng(4)
    in_sample, out_of_fold = [], []
    for _ in range(60):
        labels, scores = rng.choice(3, size=40, p=[0.4, 0.3, 0.3]).astype(float), rng.normal(size=40)
        in_sample.append(all_of(scores, labels)[1] / (40 * 39 / 2))
        coefficients = measure_all({"": scores}, labels, statistics=["acc-eq"], resamples=0, seed=(0,))[""]
        out_of_fold.append(coefficients.values[0] - coefficients.chance[0])
        in_sample[-1] -= coefficients.chance[0]
    assert np.mean(in_sample) > 0.01
    assert np.mean(out_of_fold) < 0


def test_a_score_that_needs_no_threshold_keeps_its_values():
    rng = np.random.default_rng(5)
    labels = rng.normal(size=120)
    scores = labels + rng.normal(size=120)
    found = measure_all({"": scores}, labels, statistics=[*EQ, *PLAIN], resamples=0, seed=(0,))[""].values
    assert found[:3] == pytest.approx(found[3:], abs=1e-12)


def test_each_statistic_knows_its_calibrated_form():
    assert [calibrated_form(name) for name in PLAIN] == list(EQ)
    assert [calibrated_form(name) for name in EQ] == list(EQ)
    assert calibrated_form("pearson") is None
    assert calibrated_form("auc") is None


def test_the_threshold_that_is_best_on_all_pairs_stands_in_the_note():
    rng = np.random.default_rng(11)
    labels = rng.integers(2, size=80).astype(float)
    scores = labels + 0.3 * rng.random(80)
    settings = {"statistics": ["spearman", "acc-eq"], "resamples": 0, "confidence": 0.95, "seed": (0,)}
    plain, calibrated = agreement({"": scores}, labels, **settings)
    threshold, agreeing = direct_search(scores, labels)
    assert (agreeing, calibrated.value) == (80 * 79 / 2, pytest.approx(1.0, abs=0.02))
    # in sample, as values are published, it is that of the direct search
    assert calibrated.note == f"differences up to {threshold:.3g} are ties, with which acc-eq is 1.000 in sample"
    assert plain.note == ""


@pytest.mark.parametrize(
    ("scores", "labels", "groups", "note"),
    [
        (np.arange(4.0), np.arange(4.0), None, "fewer than 5 pairs to choose a threshold for ties"),
        (np.arange(8.0), np.arange(8.0), np.arange(8) // 2, "fewer than 5 groups to choose a threshold for ties"),
        (np.arange(40.0), np.ones(40), None, "constant label"),
    ],
)
def test_why_there_is_no_value(scores, labels, groups, note):
    settings = {"statistics": EQ, "resamples": 0, "confidence": 0.95, "seed": (0,), "groups": groups}
    for estimate in agreement({"": scores}, labels, **settings):
        assert (estimate.value, estimate.note) == (None, note)


def test_where_everything_is_best_tied_rank_correlations_have_no_value():
    scores = np.random.default_rng(0).random(100)
    labels = np.zeros(100)
    labels[np.argsort(scores)[48:53]] = 1  # the largest differences are ties in the labels
    settings = {"statistics": EQ, "resamples": 0, "confidence": 0.95, "seed": (0,)}
    accuracy, tau, rho = agreement({"": scores}, labels, **settings)
    assert accuracy.value == pytest.approx((95 * 94 + 5 * 4) / (100 * 99))
    assert tau.value is rho.value is None
    assert tau.note == "the best threshold for ties makes every comparison a tie"


# Chance, tests and intervals.


@pytest.mark.parametrize("shares", [(0.72, 0.17, 0.11), (0.2, 0.2, 0.2, 0.2, 0.2)])
@pytest.mark.parametrize("tied", [0, 40])
def test_chance_is_the_mean_over_permuted_labels_each_with_its_own_thresholds(shares, tied):
    rng = np.random.default_rng(6)
    labels = rng.choice(len(shares), size=120, p=shares).astype(float)
    scores = rng.normal(size=120)
    scores[:tied] = scores[0]
    ones = np.ones((120, 1))
    sorted_labels = Labels.of(labels)
    chance = PreparedScore.of(scores, sorted_labels).resampled(ones, sorted_labels.count(ones)).chance(EQ)
    assert chance.tolist() == [pytest.approx(STATISTICS["acc-eq"].chance_level(*ties_of(labels, scores))), 0, 0]
    values = []
    for _ in range(40):
        permuted = Labels.of(rng.permutation(labels))
        values.append(PreparedScore.of(scores, permuted).values(ones, permuted.count(ones), ["acc-eq"])[0, 0])
    error = np.std(values) / np.sqrt(len(values))
    # at most a little lower, where the sample picks the worse end by chance
    assert -0.02 - 4 * error < np.mean(values) - chance[0] < 4 * error


def ties_of(labels, scores):
    n = len(labels)
    return [
        sum(count * (count - 1) for count in np.unique(values, return_counts=True)[1]) / (n * (n - 1))
        for values in (labels, scores)
    ]


def test_there_is_no_permutation_test_of_calibrated_ties_but_an_interval():
    rng = np.random.default_rng(7)
    labels = rng.integers(3, size=60).astype(float)
    first, second = labels + rng.normal(size=60), labels + 2 * rng.normal(size=60)
    settings = {"permutations": 100, "resamples": 200, "confidence": 0.95, "seed": (0,)}
    differences = compare(first, second, labels, statistics=["spearman", *EQ], **settings)
    assert differences[0].p_permutation is not None
    for difference in differences[1:]:
        assert difference.p_permutation is None
        assert difference.low < difference.value < difference.high


@pytest.mark.slow
def test_recommend_takes_a_perfect_order_without_ties_for_more_than_chance():
    """Labels 72/17/11: plain pairwise accuracy of a perfect order is about .43, and chance is not .5 but half of it."""
    rng = np.random.default_rng(8)
    labels = rng.permutation(np.repeat([0.0, 1.0, 2.0], [144, 34, 22]))
    rows = [
        {"reference": f"river {i}", "candidate": f"lake {i}", "label": label, "perfect": label + rng.random() / 2}
        for i, label in enumerate(labels)
    ]
    settings = {"buckets": "none", "resamples": 100}
    for by, value in (("pairwise-accuracy", 0.44), ("acc-eq", 0.99)):
        report = assay.recommend([rows], ["recorded:perfect"], by=by, **settings)
        (record,) = report.records.to_dict("records")
        assert record["use"] == "recorded:perfect"
        assert record[by] == pytest.approx(value, abs=0.015)
        assert "chance" not in record["warning"]


def test_on_squad_the_answer_similarity_model_is_first_and_not_the_metric_with_most_ties(shared_data):
    with (shared_data / "sas" / "recorded" / "squad.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    labels = np.array([float(row["label"]) for row in rows])
    names = ("sas", "f1", "rouge_L", "meteor", "berttrained", "bi_encoder")
    scores = {name: np.array([float(row[name]) for row in rows]) for name in names}
    found = measure_all(scores, labels, statistics=["pairwise-accuracy", "acc-eq"], resamples=0, seed=(0,))
    plain, calibrated = ({name: found[name].values[place] for name in names} for place in (0, 1))
    assert max(plain, key=plain.get) == "f1"
    assert (plain["f1"], plain["sas"]) == (pytest.approx(0.697, abs=1e-3), pytest.approx(0.523, abs=1e-3))
    assert max(calibrated, key=calibrated.get) == "sas"
    # the threshold that is best on all pairs fits these, as published values do; out of fold a little is lost
    thresholds = Thresholds.of(scores["sas"], Labels.of(labels))
    assert (thresholds.shown, thresholds.fitted) == (pytest.approx(0.330, abs=1e-3), pytest.approx(0.771, abs=1e-3))
    assert calibrated["sas"] == pytest.approx(0.766, abs=1e-3)
