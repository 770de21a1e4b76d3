"""Which metrics and which learner are combined, and how the nested cross-validation keeps pairs apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from assay.statistics import combination
from assay.statistics.combination import (
    Combination,
    Inputs,
    Options,
    agreement_of,
    combination_count,
    curve_sizes,
    learn_and_test,
    learn_combination,
)
from assay.statistics.learners import Recipe, Targets

LEARNERS = ("mean", "linear")


def inputs_of(n=300, seed=0, strengths=(1.0, 1.0, 0.0), properties=0, groups=1):
    """Metrics with independent errors, some of them of no worth, and labels with two values; groups of pairs."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.6).astype(float)
    columns = [strength * labels + rng.normal(size=n) for strength in strengths]
    columns += [rng.normal(size=n) for _ in range(properties)]
    names = (*(f"m{number}" for number in range(len(strengths))), *(f"p{number}" for number in range(properties)))
    are_metrics = (True,) * len(strengths) + (False,) * properties
    speeds = {f"m{number}": 100.0 * (number + 1) for number in range(len(strengths))}
    return Inputs(names, np.stack(columns, axis=1), are_metrics, labels, np.arange(n) // groups, speeds)


def test_metrics_that_add_are_taken_and_others_are_not():
    found = learn_combination(inputs_of(n=2000), Options("auc", learners=LEARNERS))
    assert sorted(found.members) == ["m0", "m1"]
    first, second = found.additions
    assert first.value == first.alone and second.value > first.value + 0.05
    # the sum of two equal metrics is the best that there is
    assert found.learner == "mean"


def test_no_more_metrics_than_asked_for_and_none_beyond_the_budget():
    inputs = inputs_of(strengths=(1.0, 1.0, 1.0, 1.0))
    assert len(learn_combination(inputs, Options("auc", most=2, learners=LEARNERS)).members) == 2
    # m0 makes 100 pairs a second, m1 200, m2 300, m3 400
    found = learn_combination(inputs, Options("auc", budget=150.0, learners=LEARNERS)).members
    assert inputs.speed_of(found) >= 150
    every = learn_combination(inputs, Options("auc", learners=LEARNERS)).members
    assert inputs.speed_of(every) < 150 and len(every) > len(found)


def test_no_metric_beyond_the_price():
    inputs = inputs_of(n=1000)
    free = learn_combination(inputs, Options("auc", learners=LEARNERS)).members
    assert len(free) > 1
    priced = replace(inputs, prices=dict.fromkeys(inputs.names, 0.0) | {free[1]: 0.4})
    assert free[1] in learn_combination(priced, Options("auc", price=0.4, learners=LEARNERS)).members
    assert free[1] not in learn_combination(priced, Options("auc", price=0.3, learners=LEARNERS)).members
    # one whose price is not known is not known to keep it
    unknown = replace(inputs, prices={name: 0.0 for name in inputs.names if name != free[1]})
    assert free[1] not in learn_combination(unknown, Options("auc", price=9.0, learners=LEARNERS)).members
    assert priced.price_of(free[:2]) == 0.4 and unknown.price_of(free[:2]) is None


def test_a_metric_of_unknown_speed_keeps_no_budget():
    inputs = inputs_of(strengths=(3.0, 1.0))
    without = Inputs(inputs.names, inputs.values, inputs.are_metrics, inputs.labels, inputs.codes, {"m1": 500.0})
    assert learn_combination(without, Options("auc", budget=10.0, learners=LEARNERS)).members == ["m1"]
    assert without.speed_of(["m0", "m1"]) is None


def test_a_simple_learner_is_kept_where_others_are_no_better():
    inputs = inputs_of(n=400, properties=5)
    found = learn_combination(inputs, Options("auc", learners=LEARNERS))
    assert set(found.tried) == {"mean", "linear", "linear with properties"}
    assert found.learner == "mean"


def test_pairs_of_one_code_are_never_on_both_sides(monkeypatch):
    """Neither in the outer folds, nor in the inner ones, nor in the parts of the learning curve."""
    inputs = inputs_of(n=240, groups=4)
    learned_from = []
    whole = combination.learn_combination

    def watched(part, options):
        learned_from.append(part.codes)
        return whole(part, options)

    seen = []
    make = combination.make_folds

    def folds_of(codes, k, rng):
        folds = make(codes, k, rng)
        for fold in folds:
            assert not set(codes[fold.train]) & set(codes[fold.test])
        seen.append(len(folds))
        return folds

    monkeypatch.setattr(combination, "learn_combination", watched)
    monkeypatch.setattr(combination, "make_folds", folds_of)
    told = []
    found = learn_and_test(inputs, Options("auc", learners=("mean",)), advance=told.append)
    assert sum(told) == combination_count(240) == len(learned_from) == 5 * (1 + len(curve_sizes(240))) + 1
    assert len(seen) == len(learned_from) + 1
    for codes in learned_from:
        # whole groups
        assert set(np.bincount(codes)) <= {0, 4}
    assert [point.pairs for point in found.curve] == [52, 100]


def test_scores_of_a_study_are_of_combinations_that_did_not_see_the_pair():
    """Labels that no metric knows: a combination that saw them would agree with them."""
    inputs = inputs_of(n=200, strengths=(0.0,) * 4, properties=20)
    found = learn_and_test(inputs, Options("auc", learners=("linear",)))
    assert agreement_of(found.scores, inputs.labels, "auc") < 0.56
    recipe = Recipe("linear", tuple(range(24)), inputs.are_metrics)
    (function,) = recipe.fit_steps(inputs.values, Targets.of_labels(inputs.labels))
    assert agreement_of(function.margin(inputs.values), inputs.labels, "auc") > 0.6


def test_more_labels_help_until_they_do_not():
    inputs = inputs_of(n=1600, strengths=(0.8, 0.7, 0.6, 0.5))
    found = learn_and_test(inputs, Options("auc", learners=LEARNERS))
    values = [point.value for point in found.curve]
    assert [point.pairs for point in found.curve] == [50, 100, 200, 400, 800]
    whole = agreement_of(found.scores, inputs.labels, "auc")
    assert whole > values[0] and whole == pytest.approx(values[-1], abs=0.02)


def test_graded_labels_are_predicted_on_their_scale():
    rng = np.random.default_rng(3)
    labels = rng.uniform(0, 5, size=500)
    values = np.stack([labels + rng.normal(size=500), np.sqrt(labels) + rng.normal(size=500)], axis=1)
    inputs = Inputs(("a", "b"), values, (True, True), labels, np.arange(500))
    found = learn_and_test(inputs, Options("spearman", learners=LEARNERS))
    assert isinstance(found.combination, Combination)
    assert found.scores.min() >= 0 and found.scores.max() <= 5
    assert np.mean(np.abs(found.scores - labels)) < 0.9
    assert agreement_of(found.scores, labels, "spearman") == pytest.approx(spearmanr(found.scores, labels).statistic)
    assert agreement_of(found.scores, labels, "spearman") > agreement_of(values[:, 0], labels, "spearman")


def test_learning_uses_one_thread_of_blas_and_leaves_the_others_as_they_were(monkeypatch):
    """Threads of tiny matrices wait for each other: beside another program, learning took ten times as long."""
    import scipy.linalg  # noqa: F401 - its BLAS is another one than NumPy's, and has to be loaded to be seen
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    while_learning = []
    recipe_learn = Recipe.fit_steps

    def learn_and_look(self, inputs, targets):
        while_learning.append(threads())
        return recipe_learn(self, inputs, targets)

    monkeypatch.setattr(Recipe, "fit_steps", learn_and_look)
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        learn_combination(inputs_of(n=60), Options("auc", learners=("linear",)))
        assert threads() == before == {2}
    assert while_learning
    assert all(used == {1} for used in while_learning)


def with_prior(labels, shift=0.0, noise=1.0, seed=1):
    """Inputs with the log odds of a judge that is right but for a shift, and with a metric without worth."""
    rng = np.random.default_rng(seed)
    margins = 2 * (2 * labels - 1) + noise * rng.normal(size=len(labels)) + shift
    columns = np.column_stack([rng.normal(size=len(labels)), margins])
    return Inputs(("other", "judge"), columns, (True, True), labels, np.arange(len(labels)))


def test_learning_begins_from_a_prior_and_leaves_it_with_more_labels():
    """The prior's log odds are three too high; some labels say so, and the more there are, the more is believed."""
    rng = np.random.default_rng(0)
    options = Options("auc", learners=("linear",), prior="judge")
    offsets = []
    for count in (60, 2000):
        inputs = with_prior((rng.random(count) < 0.5).astype(float), shift=3.0)
        found = learn_combination(inputs, options)
        assert found.members == ["judge"] and found.learner == "linear"
        offsets.append(found.learned.scores(np.array([[0.0, 3.0]])).item())
    # without labels it would be 1 / (1 + exp(-3)) = .95; the labels say .5
    assert 0.5 < offsets[1] + 0.02 < offsets[0] < 0.8


def test_a_prior_counts_as_ten_labels():
    labels = np.array([0.0, 1.0] * 10)
    targets = Targets.of_labels(labels, np.full(20, 0.8))
    assert targets.columns[0] == pytest.approx((labels + 0.5 * 0.8) / 1.5)
    assert targets.take(np.arange(5)).columns[0] == pytest.approx((labels[:5] + 2 * 0.8) / 3)
    # a part whose labels are all equal still has something to learn from
    assert len(np.unique(Targets(targets.levels, np.ones(4), np.linspace(0.1, 0.9, 4)).columns[0])) == 4


def test_the_same_seed_gives_the_same_study():
    inputs = inputs_of(n=150)
    first, second = (learn_and_test(inputs, Options("auc", learners=LEARNERS, seed=7)) for _ in range(2))
    assert first.scores.tolist() == second.scores.tolist()
    assert first.combination == second.combination and first.curve == second.curve
