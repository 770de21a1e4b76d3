"""Thresholds, curves and calibration: by hand, and against scikit-learn where it is installed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from assay.analysis.thresholds.calibration import IsotonicModel, calibrate, calibrate_fitted, fit_isotonic
from assay.analysis.thresholds.intervals import values_with_intervals
from assay.analysis.thresholds.measures import MEASURES, ConfusionMatrix
from assay.analysis.thresholds.objectives import Costs, MeasureObjective, Target
from assay.analysis.thresholds.parts import LabelledScores, ThresholdPart, draw_folds, same_pairs_part
from assay.analysis.thresholds.search import (
    Levels,
    average_precision,
    best_threshold,
    decide,
    precision_recall,
    resampled_average_precision,
    resampled_thresholds,
    roc,
)
from assay.analysis.thresholds.settings import OPTIMISED
from assay.analysis.thresholds.study import tune_and_test
from assay.exceptions import InputError
from assay.settings import Resampling
from assay.statistics.resampling import Resampler

SCORES = np.array([0.1, 0.2, 0.3, 0.4, 0.8, 0.9])
POSITIVE = np.array([False, False, True, False, True, True])


def examine(scores, positive, repeats, objective, *, resamples=0, groups=None):
    """Study one dataset without a name."""
    pairs, drawing = LabelledScores(scores, positive), Resampling(resamples=resamples)
    return tune_and_test(
        "s",
        pairs,
        pairs,
        repeats,
        objective,
        drawing,
        seed=(0,),
        groups=groups,
        are_probabilities=False,
    )


@pytest.fixture(scope="module")
def drawn():
    """300 pairs with tied scores and two classes."""
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.35
    return np.round(positive + rng.normal(0, 1, 300), 1), positive


def test_measures_by_hand():
    # true positives, false positives, false negatives, true negatives
    counts = ConfusionMatrix(*(np.array(float(n)) for n in (3, 1, 2, 4)))
    expected = {
        "precision": 3 / 4,
        "recall": 3 / 5,
        "f1": 6 / 9,
        "f1-no": 8 / 11,
        "f1-macro": (6 / 9 + 8 / 11) / 2,
        "accuracy": 7 / 10,
        "balanced-accuracy": (3 / 5 + 4 / 5) / 2,
        "kappa": (7 / 10 - (0.5 * 0.4 + 0.5 * 0.6)) / (1 - (0.5 * 0.4 + 0.5 * 0.6)),
        "youden": 3 / 5 + 4 / 5 - 1,
        "mcc": (3 * 4 - 1 * 2) / (5 * 5 * 4 * 6) ** 0.5,
    }
    assert {name: float(take(counts)) for name, take in MEASURES.items()} == pytest.approx(expected)


def test_measures_at_the_ends():
    nothing = ConfusionMatrix(*(np.array(float(n)) for n in (0, 0, 5, 5)))  # decided no, always
    assert np.isnan(MEASURES["precision"](nothing))
    assert (MEASURES["f1"](nothing), MEASURES["youden"](nothing), MEASURES["mcc"](nothing)) == (0, 0, 0)
    assert (MEASURES["kappa"](nothing), MEASURES["balanced-accuracy"](nothing)) == (0, 0.5)
    one_class = ConfusionMatrix(*(np.array(float(n)) for n in (0, 0, 0, 5)))
    assert all(np.isnan(MEASURES[name](one_class)) for name in ("f1", "f1-macro", "recall", "youden", "mcc", "kappa"))


def test_the_best_threshold_by_hand():
    # accuracy 5/6 with a yes from .3 (one alarm) and from .8 (one miss): the gap .4 to .8 is the wider
    assert best_threshold(SCORES, POSITIVE, MeasureObjective("accuracy")) == (pytest.approx(0.6), pytest.approx(5 / 6))
    # F1 6/7 from .3, 4/5 from .8
    assert best_threshold(SCORES, POSITIVE, MeasureObjective("f1")) == (pytest.approx(0.25), pytest.approx(6 / 7))


def test_the_threshold_to_deploy_is_learned_on_all_pairs(drawn):
    scores, positive = drawn
    decision = examine(scores, positive, list(draw_folds(np.arange(300), 5, 2, 0)), MeasureObjective("accuracy"))
    assert decision.deployed == best_threshold(scores, positive, MeasureObjective("accuracy"))[0]
    # of ten thresholds of folds some differ, and their median is another number
    assert decision.thresholds.shape == (2, 5) and np.median(decision.thresholds) != decision.deployed


def test_all_or_none_may_be_best():
    threshold, value = best_threshold(np.array([0.3, 0.1, 0.2]), np.array([False, True, True]), MeasureObjective("f1"))
    assert (threshold, value) == (0.1, pytest.approx(4 / 5))
    threshold, value = best_threshold(
        np.array([0.9, 0.8, 0.1, 0.2]), np.array([False, False, True, False]), MeasureObjective("accuracy")
    )
    assert (threshold > 0.9, value) == (True, 3 / 4)
    assert not decide(np.array([0.9]), threshold).any()


@pytest.mark.parametrize("measure", OPTIMISED)
def test_no_threshold_is_better(drawn, measure):
    metrics = pytest.importorskip("sklearn.metrics")
    scores, positive = drawn
    value_of = {
        "f1-macro": lambda decided: metrics.f1_score(positive, decided, average="macro"),
        "f1": lambda decided: metrics.f1_score(positive, decided),
        "accuracy": lambda decided: metrics.accuracy_score(positive, decided),
        "youden": lambda decided: metrics.balanced_accuracy_score(positive, decided) * 2 - 1,
        "mcc": lambda decided: metrics.matthews_corrcoef(positive, decided),
    }[measure]
    threshold, value = best_threshold(scores, positive, MeasureObjective(measure))
    assert value == pytest.approx(value_of(decide(scores, threshold)))
    tried = np.arange(scores.min() - 0.15, scores.max() + 0.15, 0.1)
    assert value == pytest.approx(max(value_of(scores >= one) for one in tried))


def test_curves_are_those_of_scikit_learn(drawn):
    metrics = pytest.importorskip("sklearn.metrics")
    scores, positive = drawn
    levels = Levels.from_scores(scores, positive)
    alarms, recall, thresholds = metrics.roc_curve(positive, scores, drop_intermediate=False)
    found = roc(levels)
    points = set(zip(thresholds[1:], alarms[1:], recall[1:], strict=True))
    assert set(zip(*(found[name][1:] for name in ("threshold", "alarms", "recall")), strict=True)) < points
    assert (found["alarms"][0], found["recall"][0]) == (0, 0)
    # what is left out lies on a line
    assert metrics.auc(found["alarms"], found["recall"]) == pytest.approx(metrics.roc_auc_score(positive, scores))
    precision, recall, thresholds = metrics.precision_recall_curve(positive, scores)
    found = precision_recall(levels)
    assert found["threshold"][::-1] == pytest.approx(thresholds)
    assert found["recall"][::-1] == pytest.approx(recall[:-1])
    assert found["precision"][::-1] == pytest.approx(precision[:-1])
    assert average_precision(levels) == pytest.approx(metrics.average_precision_score(positive, scores))


def test_curves_by_hand():
    found = roc(Levels.from_scores(SCORES, POSITIVE))
    # from .9 and .8: two of three yes; .4: an alarm; .3: the third yes; the rest
    assert found["alarms"] == pytest.approx([0, 0, 1 / 3, 1 / 3, 1])
    assert found["recall"] == pytest.approx([0, 2 / 3, 2 / 3, 1, 1])
    # 1/3 each at precision 1, 1 and 3/4
    assert average_precision(Levels.from_scores(SCORES, POSITIVE)) == pytest.approx((1 + 1 + 3 / 4) / 3)


def test_average_precision_under_multiplicities(drawn):
    metrics = pytest.importorskip("sklearn.metrics")
    scores, positive = drawn
    resampler = Resampler(300, 5, (0,))
    found = resampled_average_precision(scores, positive, resampler.blocks())
    (weights,) = resampler.blocks()
    expected = [metrics.average_precision_score(positive, scores, sample_weight=one) for one in weights.T]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("measure", OPTIMISED)
def test_thresholds_under_multiplicities_are_the_best_of_the_repeated_pairs(drawn, measure):
    scores, positive = drawn
    (weights,) = Resampler(300, 20, (0,)).blocks()
    found = resampled_thresholds(scores, positive, weights, MeasureObjective(measure))
    for threshold, multiplicity in zip(found, weights.T.astype(int), strict=True):
        repeated_scores, repeated = np.repeat(scores, multiplicity), np.repeat(positive, multiplicity)
        _, best = best_threshold(repeated_scores, repeated, MeasureObjective(measure))
        hits, alarms = (decide(repeated_scores, threshold) & side for side in (repeated, ~repeated))
        yes, no = repeated.sum(), (~repeated).sum()
        counts = ConfusionMatrix(
            *(np.array(float(n)) for n in (hits.sum(), alarms.sum(), yes - hits.sum(), no - alarms.sum()))
        )
        assert float(MEASURES[measure](counts)) == pytest.approx(best)


def test_where_no_yes_is_best_the_threshold_is_beyond_all_scores():
    weights = np.ones((3, 1))
    assert (
        resampled_thresholds(
            np.array([0.9, 0.5, 0.1]), np.array([False, False, True]), weights, MeasureObjective("accuracy")
        )
        == np.inf
    )
    # the lowest score: all are yes
    assert (
        resampled_thresholds(np.array([0.3, 0.1, 0.2]), np.array([False, True, True]), weights, MeasureObjective("f1"))
        == 0.1
    )


def interval_of_folds(case, n, resamples):
    """Return the value of five-fold thresholds by accuracy with two intervals, and its true value on new pairs."""
    rng = np.random.default_rng([case, n])
    positive = rng.random(n) < 0.35
    scores = rng.normal(size=n) + 1.2 * positive
    (parts,) = draw_folds(np.arange(n), 5, 1, case)
    decided, true_values = np.empty((n, 1), dtype=bool), []
    for part in parts:
        threshold, _ = best_threshold(scores[part.tune], positive[part.tune], MeasureObjective("accuracy"))
        decided[part.test, 0] = scores[part.test] >= threshold
        true_values.append(0.35 * stats.norm.sf(threshold - 1.2) + 0.65 * stats.norm.cdf(threshold))
    resampler = Resampler(n, resamples, (case,))
    same = decided, LabelledScores(scores, positive)
    with_choice = values_with_intervals(*same, [parts], MeasureObjective("accuracy"), resampler, 0.95)["accuracy"]
    fixed = values_with_intervals(*same, (), MeasureObjective("accuracy"), resampler, 0.95)["accuracy"]
    return with_choice, fixed, np.mean(true_values)


@pytest.mark.slow
def test_intervals_of_thresholds_include_their_choice():
    held = held_fixed = 0
    for case in range(150):
        with_choice, fixed, truth = interval_of_folds(case, 100, 100)
        held += with_choice.low <= truth <= with_choice.high
        held_fixed += fixed.low <= truth <= fixed.high
        assert with_choice.value == fixed.value
        assert with_choice.low <= fixed.low and with_choice.high >= fixed.high
    # Binomial(150, .95) is between these with a probability of .98
    assert 136 <= held <= 148
    assert held_fixed < held - 2


def test_isotonic_regression_is_that_of_scikit_learn(drawn):
    isotonic = pytest.importorskip("sklearn.isotonic")
    scores, positive = drawn
    model = isotonic.IsotonicRegression(out_of_bounds="clip").fit(scores, positive)
    asked = np.linspace(-4, 5, 200)
    assert np.interp(asked, *fit_isotonic(scores, positive)) == pytest.approx(model.predict(asked))


def test_calibration_error_by_hand():
    # five pairs at .2 of which two are yes, five at .8 of which all are: .5 * .2 + .5 * .2
    probabilities = np.repeat([0.2, 0.8], 5)
    positive = np.array([1, 1, 0, 0, 0, 1, 1, 1, 1, 1], dtype=bool)
    found = calibrate(probabilities, positive, 0)
    assert [(one.n, one.predicted, one.observed) for one in found.bins] == [(5, 0.2, 0.4), (5, 0.8, 1.0)]
    assert found.error == pytest.approx(0.2)
    assert found.brier == pytest.approx((2 * 0.64 + 3 * 0.04 + 5 * 0.04) / 10)


def test_bins_hold_equally_many_pairs(drawn):
    rng = np.random.default_rng(1)
    bins = calibrate(rng.random(1000), rng.random(1000) < 0.5, 0).bins
    assert [one.n for one in bins] == [100] * 10
    tied = calibrate(np.repeat([0.1, 0.5], [700, 300]), rng.random(1000) < 0.5, 0).bins
    assert [one.n for one in tied] == [700, 300]


@pytest.mark.slow
def test_a_calibrated_score_stays_below_the_limit_as_often_as_stated():
    rng = np.random.default_rng(3)
    below = 0
    for draw in range(100):
        probabilities = rng.random(200)
        found = calibrate(probabilities, rng.random(200) < probabilities, draw)
        below += found.error <= found.limit
        assert found.expected < found.limit
    assert 88 <= below <= 100  # Binomial(100, .95)
    crooked = calibrate(rng.random(1000) ** 3, rng.random(1000) < 0.5, 0)
    assert crooked.error > crooked.limit


def of_five_folds(scores, codes, seed):
    """Return isotonic regressions that test each fifth of the codes with a fit to the others."""
    (parts,) = draw_folds(codes, 5, 1, seed)
    return IsotonicModel.from_rows(scores, scores, [(part.tune, part.test) for part in parts], has_same_pairs=True)


def test_isotonic_models_give_each_pair_the_fit_of_the_other_folds(drawn):
    scores, positive = drawn
    model = of_five_folds(scores, np.arange(300), 0)
    found = model.probabilities(positive)
    for part in draw_folds(np.arange(300), 5, 1, 0).__next__():
        expected = np.interp(scores[part.test], *fit_isotonic(scores[part.tune], positive[part.tune]))
        assert found[part.test] == pytest.approx(expected)
    fitted = calibrate_fitted(model, positive, positive, 0)
    assert (fitted.error, fitted.brier) == (
        pytest.approx(calibrate(found, positive, 0).error),
        pytest.approx(np.mean((found - positive) ** 2)),
    )
    assert fitted.limit > calibrate(found, positive, 0).limit, "the noise of the fit belongs to it"


@pytest.mark.slow
def test_isotonic_regression_of_a_correct_model_stays_below_its_limit(monkeypatch):
    """The score orders pairs as their probabilities do: the limit of given probabilities is exceeded by two of five."""
    monkeypatch.setattr("assay.analysis.thresholds.calibration.DRAW_COUNT", 100)
    exceeded = as_given = 0
    for case in range(60):
        rng = np.random.default_rng([case, 1])
        scores = rng.normal(size=200)
        positive = rng.random(200) < 1 / (1 + np.exp(-1.5 * scores))
        model = of_five_folds(scores, np.arange(200), case)
        found = calibrate_fitted(model, positive, positive, case)
        exceeded += found.error > found.limit
        given = calibrate(model.probabilities(positive), positive, case)
        as_given += given.error > given.limit
    assert exceeded <= 8, "Binomial(60, .05) exceeds 8 in 1 of 200 cases"
    assert as_given >= 15


@pytest.mark.slow
def test_the_limit_of_dependent_labels_draws_whole_groups():
    """Groups of ten with one label each: a calibrated score is as far off as one of a tenth of the pairs."""
    exceeded = taken_apart = 0
    groups = np.repeat(np.arange(60), 10)
    for case in range(60):
        rng = np.random.default_rng([case, 2])
        probabilities = rng.random(60)[groups]
        positive = (rng.random(60)[groups]) < probabilities
        found = calibrate(probabilities, positive, case, groups)
        exceeded += found.error > found.limit
        apart = calibrate(probabilities, positive, case)
        taken_apart += apart.error > apart.limit
    assert exceeded <= 9
    assert taken_apart >= 50


def test_a_wrong_score_does_not_widen_its_own_limit():
    """Half of the pairs are yes whatever the score: groups that are all far off are not a sign of dependent labels."""
    rng = np.random.default_rng(9)
    scores = rng.random(600) ** 4
    positive, groups = rng.random(600) < 0.5, np.repeat(np.arange(60), 10)
    pairs = LabelledScores(scores, positive)
    repeats = list(draw_folds(groups, 5, 1, 0))
    drawing = Resampling(resamples=0)
    by_f1 = MeasureObjective("f1")
    found = tune_and_test("s", pairs, pairs, repeats, by_f1, drawing, seed=(0,), groups=groups, are_probabilities=True)
    independent = calibrate(np.full(600, 0.5), positive, 0)
    assert found.separation.as_probability.error > 0.25
    assert found.separation.as_probability.limit < 2 * independent.limit
    assert calibrate(scores, positive, 0, groups).limit > 2 * independent.limit, "by deviations from the score"


def test_the_limit_of_another_dataset_draws_both(drawn):
    scores, positive = drawn
    rng = np.random.default_rng(8)
    tuned_positive = rng.random(120) < 0.35
    tuned = np.round(tuned_positive + rng.normal(0, 1, 120), 1)
    model = IsotonicModel.from_rows(tuned, scores, [(np.arange(120), np.arange(300))], has_same_pairs=False)
    found = calibrate_fitted(model, tuned_positive, positive, 0)
    assert found.error == pytest.approx(calibrate(model.probabilities(tuned_positive), positive, 0).error)
    assert found.limit > calibrate(model.probabilities(tuned_positive), positive, 0).limit
    turned = calibrate_fitted(model, tuned_positive, ~positive, 0)
    assert turned.error > turned.limit


@pytest.mark.parametrize("k", [2, 5, 7])
def test_a_group_is_never_on_both_sides(k):
    groups = np.random.default_rng(0).integers(0, 40, 500)
    for parts in draw_folds(groups, k, 3, 0):
        assert len(parts) == k
        assert sorted(np.concatenate([part.test for part in parts])) == list(range(500))
        for part in parts:
            assert not set(groups[part.tune]) & set(groups[part.test])
            assert len(part.tune) + len(part.test) == 500
    first, second, _ = draw_folds(groups, k, 3, 0)
    assert [part.test.tolist() for part in first] != [part.test.tolist() for part in second]


def test_folds_deal_groups_evenly():
    (parts,) = draw_folds(np.repeat(np.arange(28), 10), 4, 1, 0)
    assert [len(part.test) for part in parts] == [70] * 4


@pytest.mark.parametrize(("k", "said"), [(1, "folds=1: expected 2 to 28"), (29, "folds=29: expected 2 to 28")])
def test_folds_that_cannot_be(k, said):
    with pytest.raises(InputError, match=said):
        list(draw_folds(np.repeat(np.arange(28), 10), k, 1, 0))


def test_a_threshold_is_worth_less_on_other_pairs():
    """A score without any sense: on its own pairs a threshold seems to help, on others it does not."""
    rng = np.random.default_rng(5)
    scores, positive = rng.random(60), rng.random(60) < 0.5
    same = examine(scores, positive, [[same_pairs_part(60)]], MeasureObjective("mcc"))
    repeats = list(draw_folds(np.arange(60), 5, 20, 0))
    other = examine(scores, positive, repeats, MeasureObjective("mcc"))
    assert same.tested["mcc"].value == pytest.approx(same.tuned)
    assert same.tuned > 0.15
    assert other.tuned > 0.15
    assert other.tested["mcc"].value < 0.08


def test_all_parts_together_and_their_mean(drawn):
    metrics = pytest.importorskip("sklearn.metrics")
    scores, positive = drawn
    repeats = list(draw_folds(np.arange(300), 3, 2, 0))
    found = examine(*drawn, repeats, MeasureObjective("f1"), resamples=200)
    together, apart = [], []
    for parts in repeats:
        decided = np.empty(300, dtype=bool)
        for part in parts:
            threshold, _ = best_threshold(scores[part.tune], positive[part.tune], MeasureObjective("f1"))
            decided[part.test] = scores[part.test] >= threshold
            apart.append(metrics.f1_score(positive[part.test], decided[part.test]))
        together.append(metrics.f1_score(positive, decided))
    assert found.tested["f1"].value == pytest.approx(np.mean(together))
    assert found.averaged["f1"] == pytest.approx(np.mean(apart))
    assert found.spread["f1"] == pytest.approx(abs(np.mean(apart[:3]) - np.mean(apart[3:])) / 2**0.5)
    assert found.tested["f1"].low < found.tested["f1"].value < found.tested["f1"].high
    assert found.separation.auc.value == pytest.approx(metrics.roc_auc_score(positive, scores))
    assert found.thresholds.shape == (2, 3)


def test_agreement_of_decisions_is_that_of_scikit_learn(drawn):
    metrics = pytest.importorskip("sklearn.metrics")
    scores, positive = drawn
    found = examine(scores, positive, list(draw_folds(np.arange(300), 3, 1, 0)), MeasureObjective("f1"), resamples=200)
    (decided,) = found.decided.T
    assert found.tested["kappa"].value == pytest.approx(metrics.cohen_kappa_score(positive, decided))
    assert found.tested["balanced-accuracy"].value == pytest.approx(metrics.balanced_accuracy_score(positive, decided))
    assert found.tested["mcc"].value == pytest.approx(metrics.matthews_corrcoef(positive, decided))
    assert found.tested["kappa"].low < found.tested["kappa"].value < found.tested["kappa"].high


def test_intervals_draw_whole_groups():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(30), 10)
    positive = rng.random(30)[groups] < 0.5
    scores = positive + rng.normal(0, 1, 30)[groups]
    widths = []
    for codes in (None, groups):
        parts = [[ThresholdPart("other", np.arange(300), np.arange(300), "")]]
        found = examine(scores, positive, parts, MeasureObjective("accuracy"), resamples=500, groups=codes)
        for value in (found.tested["accuracy"], found.separation.auc, found.separation.average_precision):
            widths.append(value.high - value.low)
    assert (np.array(widths[3:]) > 1.5 * np.array(widths[:3])).all()


def test_the_argument_similarity_protocol(shared_data):
    """UKP ASPECT, 28 topics in four folds, ten times: S2match with concept focus, whose authors published 68.6."""
    folder = shared_data / "ukp-aspect"
    table = pd.read_csv(folder / "UKP_ASPECT.tsv", sep="\t", quoting=3, keep_default_na=False)

    def predictions(name):
        lines = (folder / "sim_preds" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        return np.array([float(line.rsplit(" ", 1)[1]) for line in lines[1 : 1 + len(table)]])

    sentences, conclusions = (predictions(f"s2match-090-100{part}-conceptfocus3") for part in ("", "-c-cbar"))
    scores = 0.95 * sentences + 0.05 * conclusions
    positive = table["label"].isin(["SS", "HS"]).to_numpy()
    topics = np.unique(table["topic"], return_inverse=True)[1]
    assert topics.max() == 27
    repeats = list(draw_folds(topics, 4, 10, 0))
    found = examine(scores, positive, repeats, MeasureObjective("f1-macro"))
    # table 3 of Opitz et al. (2022), row OP21: macro 68.6, similar 60.4, not similar 77.0
    assert found.averaged["f1-macro"] == pytest.approx(0.686, abs=0.004)
    assert found.averaged["f1"] == pytest.approx(0.604, abs=0.01)
    assert found.averaged["f1-no"] == pytest.approx(0.770, abs=0.01)


# Criteria other than a measure: least precision or recall, and cost.


def every_decision(scores, positive):
    """Return the counts of all decisions that a threshold can make, by trying each."""
    rows = []
    for threshold in [np.inf, *np.unique(scores)]:
        decided = scores >= threshold
        rows.append([(decided & positive).sum(), (decided & ~positive).sum(), (~decided & positive).sum()])
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("least", [0.4, 0.6, 0.75, 0.999])
def test_the_highest_recall_that_a_precision_allows(drawn, least):
    scores, positive = drawn
    threshold, value = best_threshold(scores, positive, Target("precision", least))
    hits, alarms, misses = every_decision(scores, positive)[1:].T
    enough = hits / (hits + alarms) >= least
    if enough.any():
        assert value == pytest.approx((hits / (hits + misses))[enough].max())
        decided = decide(scores, threshold)
        assert positive[decided].mean() >= least
    else:
        assert value == pytest.approx((hits / (hits + alarms)).max() - 1), "the highest precision there is"


@pytest.mark.parametrize("least", [0.1, 0.5, 0.9, 1.0])
def test_the_highest_precision_that_a_recall_allows(drawn, least):
    scores, positive = drawn
    threshold, value = best_threshold(scores, positive, Target("recall", least))
    hits, alarms, misses = every_decision(scores, positive)[1:].T
    enough = hits / (hits + misses) >= least
    assert value == pytest.approx((hits / (hits + alarms))[enough].max())
    assert positive[decide(scores, threshold)].sum() / positive.sum() >= least


@pytest.mark.parametrize(("alarm", "miss"), [(1, 1), (5, 1), (1, 8), (0, 1), (3.5, 0)])
def test_the_cheapest_decision(drawn, alarm, miss):
    scores, positive = drawn
    threshold, value = best_threshold(scores, positive, Costs(alarm, miss))
    _, alarms, misses = every_decision(scores, positive).T
    assert -value == pytest.approx((alarm * alarms + miss * misses).min() / len(scores))
    decided = decide(scores, threshold)
    spent = alarm * (decided & ~positive).sum() + miss * (~decided & positive).sum()
    assert spent / len(scores) == pytest.approx(-value)


def test_resampled_thresholds_are_those_of_the_copied_pairs_for_every_criterion(drawn):
    scores, positive = drawn
    weights = np.random.default_rng(1).integers(0, 4, (300, 20)).astype(float)
    for criterion in (Target("precision", 0.5), Target("recall", 0.8), Costs(5, 1)):
        for column, threshold in enumerate(resampled_thresholds(scores, positive, weights, criterion)):
            copies = np.repeat(np.arange(300), weights[:, column].astype(int))
            best, value = best_threshold(scores[copies], positive[copies], criterion)
            drawn_scores, drawn_positive = scores[copies], positive[copies]
            same = decide(drawn_scores, best), decide(drawn_scores, threshold)
            spent = [(5 * (d & ~drawn_positive).sum() + (~d & drawn_positive).sum()) / len(copies) for d in same]
            if criterion == Costs(5, 1):
                assert spent[1] == pytest.approx(spent[0]) == pytest.approx(-value)
            else:
                hits = [(d & drawn_positive).sum() for d in same]
                shares = [
                    hits[i] / (drawn_positive.sum() if criterion.name == "precision" else same[i].sum()) for i in (0, 1)
                ]
                assert shares[1] == pytest.approx(shares[0]) == pytest.approx(value)


def test_constant_decisions_are_the_base_line(drawn):
    scores, positive = drawn
    decision = examine(scores, positive, [[same_pairs_part(300)]], Costs(2, 1), resamples=100)
    yes = positive.mean()
    assert decision.always["precision"] == pytest.approx(yes) and decision.always["recall"] == 1
    assert decision.never["accuracy"] == pytest.approx(1 - yes) and decision.never["precision"] is None
    assert decision.always["cost"] == pytest.approx(2 * (1 - yes)) and decision.never["cost"] == pytest.approx(yes)
    cost = decision.tested["cost"]
    assert cost.low < cost.value < cost.high


def test_a_resampled_threshold_between_neighbouring_floats_parts_them():
    """Their middle rounds down to the lower score, which is no."""
    scores = np.array([1.0, 1.0, np.nextafter(1.0, 2), np.nextafter(1.0, 2)])
    positive = np.array([False, False, True, True])
    (threshold,) = resampled_thresholds(scores, positive, np.ones((4, 1)), MeasureObjective("f1"))
    assert (scores >= threshold).tolist() == positive.tolist()
    assert threshold == best_threshold(scores, positive, MeasureObjective("f1"))[0]
