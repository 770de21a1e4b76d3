"""Which metric to use within a cost."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import assay
from assay.analysis.combine.learning import small_combination
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.leaderboard.board import Board, Line, Rank
from assay.analysis.recommend.advice import advise, rare_words
from assay.analysis.recommend.evidence import evidence_of
from assay.analysis.recommend.settings import NO_LIMITS, Limits, RecommendSettings, parse_budget
from assay.common.numbers import Number, money
from assay.exceptions import InputError
from assay.reports.recommend import with_advice
from assay.reports.sheets import Document
from assay.statistics.agreement import measure_all
from assay.statistics.comparison import Difference
from assay.statistics.rare_values import RareValues
from assay.statistics.winners import fisher_covariances_of_resamples


def line(name, value, speed, low=0.1):
    rank = None if value is None else Rank(1, 1, 3)
    return Line(name, "lexical", {"spearman": Number(value, low, 0.9)}, {"spearman": 0.0}, 50, speed, name, rank)


def board(*lines, apart=(), error=0.01):
    """Return a board on which the tests tell some pairs of metrics apart, the first of each being higher."""
    tests = {}
    for first, second in combinations(lines, 2):
        p = 1e-9 if (first.metric, second.metric) in apart else 1.0
        values = [line.values["spearman"].value for line in (first, second)]
        tests[first.metric, second.metric] = Difference.of(
            *values, statistic="spearman", p_jackknife=p, error=error, degrees=49, n=50
        )
    return Board("own", "all", 50, lines, {}, differences=tests, shared=50)


SLOW, GOOD, FAST = line("slow", 0.8, 10.0), line("good", 0.7, 500.0), line("fast", 0.6, 5000.0)


ALL_APART = {("slow", "good"), ("slow", "fast"), ("good", "fast")}


def test_the_best_within_the_budget():
    free = advise(board(SLOW, GOOD, FAST, apart=ALL_APART), NO_LIMITS, "spearman")
    assert (free.recommended, free.too_slow) == (SLOW, ())
    some = advise(board(SLOW, GOOD, FAST), Limits(speed=100.0), "spearman")
    assert (some.highest, some.too_slow, some.contenders) == (GOOD, (SLOW,), (FAST,))
    tight = advise(board(SLOW, GOOD, FAST), Limits(speed=1000.0), "spearman")
    assert (tight.recommended, tight.too_slow) == (FAST, (SLOW, GOOD))
    none = advise(board(SLOW, GOOD, FAST), Limits(speed=1e6), "spearman")
    assert none.recommended is None
    assert none.warning == "no metric is fast enough; the fastest is fast with 5,000 pairs/s"


def test_what_the_tests_say_of_it():
    sure = advise(board(SLOW, GOOD, apart={("slow", "good")}), NO_LIMITS, "spearman")
    assert (sure.contenders, sure.warning) == ((), "")
    unsure = advise(board(SLOW, GOOD, FAST, apart=()), NO_LIMITS, "spearman")
    assert unsure.contenders == (FAST, GOOD), "the fastest first"
    assert "50 pairs leave it open which metric is the best" in unsure.warning


def test_weak_evidence_is_said():
    weak = advise(board(line("one", 0.2, 9.0, low=-0.1)), NO_LIMITS, "spearman").warning
    assert "its interval includes 0, which is chance" in weak
    assert "too few pairs" in advise(board(line("one", 0.2, 9.0, low=None)), NO_LIMITS, "spearman").warning
    assert "do not vary" in advise(board(line("one", None, 9.0)), NO_LIMITS, "spearman").warning


def test_an_unknown_cost_is_not_within_a_budget():
    unknown = line("unknown", 0.9, None)
    assert advise(board(unknown, GOOD), Limits(speed=1.0), "spearman").recommended == GOOD
    assert advise(board(unknown, GOOD), NO_LIMITS, "spearman").recommended == unknown


@pytest.mark.parametrize(
    ("text", "budget"),
    [("1000/s", 1000), ("1000", 1000), ("600/min", 10), ("7200 / h", 2), ("1.5/s", 1.5), ("5e5/h", 5e5 / 3600)],
)
def test_budgets(text, budget):
    assert parse_budget(text) == pytest.approx(budget)


@pytest.mark.parametrize("text", ["", "fast", "1000/day", "-3/s", "0/s"])
def test_what_is_no_budget(text):
    with pytest.raises(InputError, match="budget="):
        parse_budget(text)


def test_labels_that_no_people_gave_recommend_nothing_and_it_is_said_why():
    told = "probe set: labels follow a rule"
    scored = Line("f1", "lexical", {"spearman": Number(-0.5, -0.9, -0.1)}, {"spearman": 0.0}, 50, 10.0, "f1")
    for budget in (None, 1.0, 1e6):
        limits = Limits(speed=budget)
        advice = advise(Board("own", "all", 50, (scored,), {}, told), limits, "spearman")
        assert (advice.recommended, advice.warning) == (None, told), "the score varies, and it is fast enough"
        (sheet,) = with_advice(Document([], []), [advice], "spearman").sheets
        assert (sheet.title, sheet.facts) == ("own, all: no metric can be recommended", (told,))


def test_what_a_budget_leaves_out_is_not_said_to_be_no_better_than_chance():
    slow, weak = line("slow", 0.5, 10.0, low=0.3), line("weak", 0.2, 5000.0, low=-0.1)
    within = advise(board(slow, weak), Limits(speed=1000.0), "spearman")
    assert (within.recommended, within.too_slow) == (None, (slow,))
    assert within.warning.endswith("to agree with people at all, nor is any other within the limits")


def headline(*lines):
    return with_advice(Document([], []), [advise(board(*lines), NO_LIMITS, "spearman")], "spearman")


def test_no_metric_is_recommended_that_is_not_known_to_be_better_than_chance():
    weak = line("one", 0.2, 9.0, low=-0.54)
    held = headline(weak, line("two", 0.1, 9.0, low=-0.1))
    assert held.sheets[0].title == "own, all: no metric can be recommended"
    assert held.sheets[0].facts[0].startswith("highest: one, Spearman ρ .200 [-.54, .90] on 50 pairs")
    assert held.sheets[0].facts[-1].endswith("it is not known to agree with people at all, nor is any other metric")
    assert (held.records[0]["use"], held.records[0]["highest"]) == (None, "one")
    lower = headline(weak, line("two", 0.15, 9.0, low=0.1)).sheets[0].facts[-1]
    assert "alone, the interval of each of these is above chance: two .150, but one of 2 metrics is expected" in lower
    assert headline(line("one", 0.2, 9.0, low=None)).records[0]["use"] is None
    assert headline(line("one", 0.2, 9.0)).sheets[0].title == "own, all: use one"


def within(max_loss):
    return Limits(max_loss=max_loss)


def advised(advice):
    """Return the facts and the record of a recommendation."""
    made = with_advice(Document([], []), [advice], "spearman")
    return made.sheets[0].facts, made.records[0]


def test_a_much_faster_metric_is_recommended_if_a_larger_loss_than_the_margin_can_be_excluded():
    advice = advise(board(SLOW, GOOD, FAST), within(0.15), "spearman")
    assert (advice.recommended, advice.highest) == (GOOD, SLOW)
    facts, record = advised(advice)
    assert facts[0] == (
        "Spearman ρ .700 [.10, .90] on a new sample, 500 pairs/s: 50 times as fast as slow, and lower by .100; a loss "
        "of more than 0.15 can be excluded (--max-loss)"
    )
    assert facts[1].startswith("highest: slow, Spearman ρ .800 [.10, .90] on 50 pairs, 10 pairs/s")
    assert (record["use"], record["use_value"], record["use_pairs_per_second"]) == ("good", 0.7, 500.0)
    assert (record["highest"], record["spearman"], record["pairs_per_second"]) == ("slow", 0.8, 10.0)
    assert record["why"].startswith("50 times as fast as slow")
    assert (record["max_loss"], record["loss"]) == (0.15, pytest.approx(0.1))
    quick = advise(board(replace(SLOW, pairs_per_second=0.41), FAST), within(0.3), "spearman")
    facts, _ = advised(quick)
    assert "5,000 pairs/s: 12,000 times as fast as slow" in facts[0] and "on 50 pairs, 0.41 pairs/s" in facts[1]
    assert advise(board(SLOW, GOOD, FAST), within(0.3), "spearman").recommended == FAST


def test_not_told_apart_is_not_equal_and_the_cheaper_metric_is_mentioned():
    # the same values, so uncertain that a loss of .3 is as likely as none
    advice = advise(board(SLOW, GOOD, FAST, error=0.15), NO_LIMITS, "spearman")
    assert (advice.recommended, advice.risky) == (SLOW, (GOOD, FAST))
    facts, _ = advised(advice)
    assert "cost much less, but may lose more than 0.05 (--max-loss): good, fast" in facts
    # .03 lower: as the test's error falls, a loss of .05 is excluded
    near = line("near", 0.77, 5000.0)
    for error, expected in ((0.02, SLOW), (0.005, near)):
        assert advise(board(SLOW, near, error=error), NO_LIMITS, "spearman").recommended == expected
    assert advise(board(SLOW, near, error=0.005), within(0.0), "spearman").recommended == SLOW


def test_a_little_speed_is_no_reason_to_give_up_agreement():
    quick = line("quick", 0.6, 999.0)
    assert advise(board(SLOW, GOOD, quick), within(0.3), "spearman").recommended == GOOD, "not twice as fast as good"
    assert advise(board(GOOD, quick), within(0.3), "spearman").recommended == GOOD
    assert advise(board(GOOD, line("quick", 0.6, 1000.0)), within(0.3), "spearman").recommended.metric == "quick"


def test_a_cheap_metric_that_may_be_no_better_than_chance_replaces_none():
    weak = line("weak", 0.6, 5000.0, low=-0.1)
    assert advise(board(SLOW, GOOD, weak), within(0.3), "spearman").recommended == GOOD
    assert advise(board(SLOW, weak), within(0.3), "spearman").recommended == SLOW
    assert advise(board(weak, line("weaker", 0.5, 9000.0)), within(0.3), "spearman").recommended is None


def with_price(line, price):
    return replace(line, price_per_1000=price)


JUDGE = with_price(line("judge", 0.9, 30.0), 0.42)
CHEAP = with_price(line("cheap", 0.8, 20.0), 0.05)
LOCAL = with_price(line("local", 0.7, 12.0), 0.0)


def test_a_cheaper_metric_is_recommended_though_it_is_slower():
    facts, record = advised(advise(board(JUDGE, CHEAP, LOCAL), within(0.3), "spearman"))
    assert record["use"] == "local"
    assert facts[0] == (
        "Spearman ρ .700 [.10, .90] on a new sample, 12 pairs/s, free: cheaper than judge (free against 0.42 per 1,000 "
        "pairs), and lower by .200; a loss of more than 0.3 can be excluded (--max-loss)"
    )
    assert facts[1] == "highest: judge, Spearman ρ .900 [.10, .90] on 50 pairs, 30 pairs/s, 0.42 per 1,000 pairs"
    assert (record["use_price_per_1000"], record["price_per_1000"]) == (0.0, 0.42)
    quick = replace(LOCAL, pairs_per_second=90.0)
    _, record = advised(advise(board(JUDGE, quick), within(0.3), "spearman"))
    assert "0.42 per 1,000 pairs), 3 times as fast, and lower by" in record["why"]


def test_a_price_is_no_reason_to_give_up_agreement_that_the_tests_see():
    apart = {("judge", "local"), ("cheap", "local")}
    assert advise(board(JUDGE, CHEAP, LOCAL, apart=apart), within(0.3), "spearman").recommended == CHEAP
    apart |= {("judge", "cheap")}
    assert advise(board(JUDGE, CHEAP, LOCAL, apart=apart), within(0.3), "spearman").recommended == JUDGE


def test_a_price_is_no_reason_to_give_up_more_agreement_than_the_margin():
    assert advise(board(JUDGE, CHEAP, LOCAL), within(0.15), "spearman").recommended == CHEAP
    assert advise(board(JUDGE, CHEAP, LOCAL), NO_LIMITS, "spearman").recommended == JUDGE
    nearly = with_price(line("nearly", 0.8, 30.0), 0.22)
    assert advise(board(JUDGE, nearly), within(0.3), "spearman").recommended == JUDGE, "more than half the price"


def test_a_faster_metric_that_costs_more_or_nobody_knows_what_replaces_none():
    quick = line("quick", 0.6, 5000.0)
    assert advise(board(LOCAL, with_price(quick, 0.1)), within(0.5), "spearman").recommended == LOCAL
    assert advise(board(JUDGE, quick), within(0.5), "spearman").recommended == JUDGE
    unpriced = with_price(JUDGE, None)
    assert advise(board(unpriced, quick), within(0.5), "spearman").recommended == quick, (
        "speed decides where nothing has a price"
    )
    assert advise(board(with_price(GOOD, 0.0), quick), within(0.5), "spearman").recommended == quick


@pytest.mark.parametrize("max_loss", [-0.1, float("inf"), "much"])
def test_what_is_no_largest_loss(max_loss):
    with pytest.raises(InputError, match=r"max_loss=.*must be a finite number of at least 0, such as 0\.05"):
        RecommendSettings("data.csv", max_loss=max_loss)


def test_scores_of_which_few_differ_are_never_recommended():
    rare = RareValues("score", 2, grouped=False)
    em, f1 = replace(line("em", 0.9, 10.0), rare=(rare,)), line("f1", 0.5, 10.0)
    advice = advise(board(em, f1), NO_LIMITS, "spearman")
    assert (advice.recommended, advice.highest, advice.rare) == (f1, f1, (em,))
    facts, record = advised(advice)
    assert "too few pairs differ in score: em (2 pairs with the rarer score)" in facts
    assert record["rare_scores"] == "em"
    # a constant score has an AUC of .5 whatever the labels are
    flat = replace(line("flat", 0.5, 10.0, low=0.5), ties=1.0)
    advice = advise(board(flat, line("f1", 0.45, 10.0, low=0.41)), NO_LIMITS, "spearman")
    assert (advice.highest.metric, advice.rare) == ("f1", (flat,))
    assert "too few pairs differ in score: flat (constant score)" in advised(advice)[0]
    alone = advise(board(em), NO_LIMITS, "spearman")
    assert alone.recommended is None and "too few pairs differ in score" in alone.warning
    # rare labels are the same for all metrics
    few = RareValues("label", 3, grouped=False)
    both = advise(board(replace(em, rare=(few,)), replace(f1, rare=(few,))), NO_LIMITS, "spearman")
    assert both.recommended is None and "3 pairs with the rarer label" in both.warning


@pytest.mark.parametrize("rarer", [1, 2, 9])
def test_no_metric_is_recommended_by_a_few_pairs_with_the_rarer_label(tmp_path, rarer):
    """Of five scores that are noise, the highest has an AUC far above .5 where one or two pairs decide it."""
    rng = np.random.default_rng(1)
    for number in range(3):
        scores = rng.normal(size=(60, 5))
        rows = [
            {"reference": f"a {row}", "candidate": f"b {row}", "label": float(row < rarer)}
            | {f"m{column}": score for column, score in enumerate(scores[row])}
            for row in range(60)
        ]
        folder = tmp_path / f"run{number}"
        assay.run(rows, [f"recorded:m{column}" for column in range(5)], buckets=["none"], resamples=0, out=folder)
        (data,) = read_datasets(read_run(folder))
        advice = evidence_of(data, ["all"]).advice(with_plan=False)["all"]
        assert advice.recommended is None and "with the rarer label, too few to know" in advice.warning
        # what is expected on a new sample is not more certain than on these pairs
        assert advice.new_sample[advice.highest.metric] == advice.highest.values["auc"]


def test_no_metric_is_recommended_by_a_few_pairs_that_differ_in_score(tmp_path):
    """Nine pairs of sixty, all rated good, decide the AUC of exact match, whose own interval is right."""
    noise = np.random.default_rng(1).normal(size=60)
    rows = [
        {"reference": f"a {row}", "candidate": f"b {row}", "label": float(row < 30)}
        | {"exact": float(row < 9), "other": noise[row] + (row < 30)}
        for row in range(60)
    ]
    assay.run(rows, ["recorded:exact", "recorded:other"], buckets=["none"], resamples=0, out=tmp_path / "run")
    (data,) = read_datasets(read_run(tmp_path / "run"))
    advice = evidence_of(data, ["all"]).advice(with_plan=False)["all"]
    assert [line.metric for line in advice.rare] == ["recorded:exact"]
    assert rare_words(advice.rare[0]) == "9 pairs with the rarer score"
    assert advice.recommended is not None and advice.recommended.metric == "recorded:other"


def test_a_metric_that_was_not_tested_is_not_said_to_be_as_good():
    made = board(SLOW, GOOD, FAST)
    untested = {}
    for pair, difference in made.differences.items():
        untested[pair] = replace(difference, p_jackknife=None, error=None) if "fast" in pair else difference
    advice = advise(replace(made, differences=untested), NO_LIMITS, "spearman")
    assert (advice.contenders, advice.untested) == ((GOOD,), (FAST,))
    facts, record = advised(advice)
    assert "not tested: fast (.600 [.10, .90], 5,000 pairs/s)" in facts
    assert record["not_tested"] == "fast"


def test_a_limit_on_the_price():
    some = advise(board(JUDGE, CHEAP, LOCAL, apart=ALL_APART), Limits(price=0.1), "spearman")
    assert (some.highest, some.too_expensive, some.too_slow) == (CHEAP, (JUDGE,), ())
    both = advise(board(JUDGE, CHEAP, LOCAL), Limits(speed=25.0, price=0.1), "spearman")
    assert (both.recommended, both.warning) == (
        None,
        "no metric is known to be within both limits, on speed and on price",
    )
    none = advise(board(JUDGE, CHEAP), Limits(price=0.01), "spearman")
    assert none.warning == "no metric is cheap enough; the cheapest is cheap with 0.05 per 1,000 pairs"
    unknown = with_price(line("unknown", 0.95, 9.0), None)
    free = advise(board(unknown, JUDGE, LOCAL), Limits(price=0.0), "spearman")
    assert (free.recommended, free.unknown, free.too_expensive) == (LOCAL, (unknown,), (JUDGE,))
    facts = with_advice(Document([], []), [free], "spearman").sheets[0].facts
    assert "free, the highest of those that are free" in facts[0]
    assert "higher, but too expensive: judge (.900 [.10, .90], 30 pairs/s, 0.42 per 1,000 pairs)" in facts


@pytest.mark.parametrize("price", [-0.1, float("inf"), float("nan"), "0.5"])
def test_what_is_no_price_limit(price):
    with pytest.raises(InputError, match=r"max_price=.*must be a finite number of at least 0"):
        RecommendSettings("data.csv", max_price=price)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (1234.5, "1,234.50"),
        (0.4249, "0.42"),
        (0.1, "0.10"),
        (0.0999, "0.10"),
        (0.05, "0.05"),
        (0.0031, "0.0031"),
        (0.0, "free"),
    ],
)
def test_a_price_has_two_digits_at_least(amount, text):
    assert money(amount) == text
    assert money(None) == "–"


def board_of_equal_metrics(seed, metrics=10, n=60):
    """Return a board of metrics that all have a true correlation of .5, with its resamples."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=n)
    scores = {f"m{i}": 0.5 * labels + np.sqrt(0.75) * rng.normal(size=n) for i in range(metrics)}
    measured = measure_all(scores, labels, statistics=("spearman",), resamples=200, seed=(seed,))
    lines = []
    for name, found in measured.items():
        low, high = found.interval(0, 0.95)
        value = float(found.values[0])
        ranked = Rank(1, 1, metrics)
        lines.append(
            Line(name, "lexical", {"spearman": Number(value, low, high)}, {"spearman": 0.0}, n, 1.0, name, ranked)
        )
    lines.sort(key=lambda one: -one.values["spearman"].value)
    resampled = {name: found.resampled[0] for name, found in measured.items()}
    covariances = fisher_covariances_of_resamples(resampled, -1)
    return Board("own", "all", n, tuple(lines), {}, fisher_covariances=covariances, units=n, shared=n)


@pytest.mark.slow
def test_the_winner_of_equal_metrics_is_shown_with_what_a_new_sample_would_give():
    truth = 6 / np.pi * np.arcsin(0.25)
    own = corrected = above = 0
    for seed in range(100):
        advice = advise(board_of_equal_metrics(seed), NO_LIMITS, "spearman")
        _, low, high = advice.highest.values["spearman"].value_and_bounds
        own += low <= truth <= high
        value, low, high = advice.new_sample[advice.highest.metric].value_and_bounds
        corrected += low <= truth <= high
        above += value > truth
    assert own < 85, "the interval on the pairs that chose it"
    assert corrected >= 90  # Binomial(100, .95) reaches 90 in 99 % of cases
    assert 35 <= above <= 65


def test_what_the_choice_flatters_is_said():
    advice = advise(board_of_equal_metrics(0), NO_LIMITS, "spearman")
    (sheet,) = with_advice(Document([], []), [advice], "spearman").sheets
    (record,) = with_advice(Document([], []), [advice], "spearman").records
    assert record["highest_value"] < record["spearman"]
    assert record["highest_low"] < record["spearman_low"]
    assert "on a new sample" in sheet.facts[0]
    assert "which the choice flatters" in sheet.facts[1]
    alone = replace(advice.board, lines=advice.board.lines[:1])
    assert advise(alone, NO_LIMITS, "spearman").new_sample == {
        alone.lines[0].metric: alone.lines[0].values["spearman"]
    }, "of one metric nothing was chosen"


def test_what_could_be_best_stands_before_what_is_not():
    advice = advise(board(SLOW, GOOD, FAST, apart={("slow", "fast"), ("good", "fast")}), NO_LIMITS, "spearman")
    assert (advice.contenders, advice.lower) == ((GOOD,), (FAST,))
    made = with_advice(Document([], []), [advice], "spearman")
    lines = [fact for fact in made.sheets[0].facts if fact.startswith(("could", "not"))]
    assert lines == [
        "could be the best, too: good (.700 [.10, .90], 500 pairs/s)",
        "not the best: fast",
    ]
    assert (made.records[0]["cannot_be_told_apart"], made.records[0]["not_the_best"]) == ("good", "fast")


def test_a_constant_is_no_combination(tmp_path):
    """Metrics that all disagree with people are not learned from, which leaves a constant."""
    rng = np.random.default_rng(3)
    words = [f"word{number}" for number in range(10)]
    rows = []
    for _ in range(120):
        reference = " ".join(rng.choice(words, 3, replace=False))
        wrong = rng.random() < 0.5
        candidate = reference if wrong and rng.random() < 0.8 else " ".join(rng.choice(words, 3, replace=False))
        rows.append({"reference": reference, "candidate": candidate, "label": int(not wrong)})
    assay.run([rows], ["f1", "chrf", "em"], resamples=0, out=tmp_path / "run")
    (data,) = read_datasets(read_run(tmp_path / "run"))
    assert small_combination(data, "auc", 0) is None
