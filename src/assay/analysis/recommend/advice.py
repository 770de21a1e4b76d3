"""The rule that recommends a metric, within limits on cost, and the certainty of that choice.

Every command that names a metric as the one to use reads the result of :func:`advise`. The rule:

1. Metrics are compared on the pairs that all of them have scored (:mod:`assay.statistics.missing`).
2. Those outside of the limits are left out, and those of which too few pairs differ in score.
3. The highest of the rest is the candidate. It must be known to agree with people: its interval, corrected for having
   been chosen as the highest, lies above chance, and its labels are not too rare for an interval.
4. A metric that costs much less replaces it if it could be the best, too, and tests exclude that it loses more than a
   margin: not told apart is not equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.analysis.contests import Contest
from assay.analysis.leaderboard.board import Board, Line
from assay.analysis.leaderboard.join import JoinedDataset
from assay.analysis.power import PlannedComparison, PowerSettings, plan_comparisons
from assay.analysis.recommend.settings import Limits
from assay.analysis.settings import PairedTests
from assay.common.numbers import Number, money, rate, short
from assay.statistics.coefficients import STATISTICS
from assay.statistics.comparison import Difference
from assay.statistics.winners import confidence_set_of_best, winner_on_new_sample

#: The factor by which a metric must be faster or cheaper to replace one that agrees better on these pairs. Measured
#: speeds vary by less between runs, and a smaller gain is not worth any loss of agreement.
MUCH_FASTER = MUCH_CHEAPER = 2.0
#: The level of the comparison of a metric that is set apart with the highest ranked one.
SET_APART_LEVEL = 0.05


@dataclass(frozen=True)
class Advice:
    """The recommendation from one board.

    Attributes:
        board: the evidence.
        limits: the limits on cost and loss.
        highest: the metric with the highest agreement within the limits, apart from those of rare scores; None if there
            is none.
        recommended: the recommended metric: the highest, or a contender that costs much less and loses at most the
            margin. It is known to agree with people better than chance; None if that is not known of the highest.
        loss: the difference of the highest and the recommended metric, with the interval of its t-test if it has one;
            None if they are the same.
        closest: the next metric that is tested against the highest, and the difference, as in *loss*; None without.
        contenders: the other metrics within the limits that could be the best, the fastest first.
        risky: those of the contenders that cost much less than the highest, but may lose more than the margin.
        lower: the metrics within the limits that are known not to be the best, in descending order of agreement.
        untested: the metrics within the limits that no test compares with the highest.
        rare: the metrics within the limits of which too few pairs differ in score.
        apart: the metrics that were not compared, since they lack scores.
        too_slow, too_expensive: the metrics with a higher agreement that are outside of a limit.
        unknown: the metrics with a higher agreement for which a limited cost is unknown.
        warning: the reason why the evidence is weak, or why there is none; empty if it is not.
        new_sample: the number that is expected on a new sample, by name, for *highest* and *recommended*.
        settling_plan: the number of pairs that would distinguish *highest* from the cheaper metric recommended in its
            place, or else from the next highest of *contenders*; None if there is no such metric.
    """

    board: Board
    limits: Limits
    highest: Line | None = None
    recommended: Line | None = None
    loss: Difference | None = None
    closest: tuple[Line, Difference] | None = None
    contenders: tuple[Line, ...] = ()
    risky: tuple[Line, ...] = ()
    lower: tuple[Line, ...] = ()
    untested: tuple[Line, ...] = ()
    rare: tuple[Line, ...] = ()
    apart: tuple[Line, ...] = ()
    too_slow: tuple[Line, ...] = ()
    too_expensive: tuple[Line, ...] = ()
    unknown: tuple[Line, ...] = ()
    warning: str = ""
    new_sample: Mapping[str, Number] = field(default_factory=dict)
    settling_plan: PlannedComparison | None = None


def advise(board: Board, limits: Limits, by: str, confidence: float = 0.95, *, corrected: bool = True) -> Advice:
    """Return the recommendation from one board, without the number of pairs that would settle it.

    It names no metric if none is within the limits, or if the highest is not known to agree with people; its warning
    then has the reason.

    Args:
        board: the ranked metrics with their costs.
        limits: the limits on cost and loss.
        by: the coefficient that decides.
        confidence: the level of the intervals and of the tests, in (0, 1); that of the board.
        corrected: whether the tests are corrected for their number; as for the board.
    """
    ranked = [line for line in board.lines if line.rank is not None]
    apart = tuple(line for line in board.lines if line.apart is not None and line.values[by].value is not None)
    affordable = [line for line in ranked if limits.allows(line)]
    rare = tuple(line for line in affordable if line.has_rare_scores)
    candidates = [line for line in affordable if not line.has_rare_scores]
    if not candidates:
        reason = _rare_scores_reason(rare) if rare else _reason_for_none(board, ranked, limits)
        return Advice(board, limits, rare=rare, apart=apart, warning=reason)
    # lines are in descending order of agreement, so those before the best affordable one agree better
    best = candidates[0]
    better = ranked[: ranked.index(best)]
    names = [line.metric for line in candidates]
    could_be_best = board.best
    if len(affordable) < len(ranked) or not could_be_best:
        # the limits leave fewer metrics to choose from than the board has, or the board names none
        could_be_best = confidence_set_of_best(names, board.differences, level=1 - confidence, corrected=corrected)
    contenders, lower, untested = _by_relation(board, candidates, could_be_best)
    on_new_sample = _highest_on_new_sample(board, candidates, by, confidence)
    closest = None
    for line in candidates[1:]:
        difference = board.difference(best.metric, line.metric)
        if difference is not None:
            closest = line, difference.with_t_interval(confidence)
            break
    advice = Advice(
        board,
        limits,
        highest=best,
        closest=closest,
        contenders=tuple(sorted(contenders, key=lambda line: -(line.pairs_per_second or 0.0))),
        lower=lower,
        untested=untested,
        rare=rare,
        apart=apart,
        too_slow=tuple(line for line in better if limits.is_too_slow(line)),
        too_expensive=tuple(line for line in better if limits.is_too_expensive(line)),
        unknown=tuple(line for line in better if limits.has_unknown_cost(line)),
        new_sample={best.metric: on_new_sample},
    )
    if _is_known_to_agree(best, on_new_sample, by):
        advice = _with_recommended(advice, best, by, 1 - confidence, corrected=corrected)
    return replace(advice, warning=_selection_warning(advice, candidates, by))


def advise_on(
    dataset: JoinedDataset,
    boards: Sequence[Board],
    limits: Limits,
    by: str,
    tests: PairedTests,
    *,
    with_plan: bool = True,
) -> list[Advice]:
    """Return the recommendation for each bucket of one dataset, in the order of the boards.

    Args:
        dataset: the pairs and scores.
        boards: the boards of its buckets.
        limits: the limits on cost and loss.
        by: the coefficient that decides.
        tests: the settings of the tests with which the boards were ranked.
        with_plan: whether to compute the number of pairs that would settle each choice.
    """
    advice = []
    for board in boards:
        bucket_advice = advise(board, limits, by, tests.confidence, corrected=tests.correction != "none")
        advice.append(_with_settling_size(bucket_advice, dataset, by, tests) if with_plan else bucket_advice)
    return advice


def _by_relation(
    board: Board, candidates: Sequence[Line], could_be_best: Sequence[str]
) -> tuple[list[Line], tuple[Line, ...], tuple[Line, ...]]:
    """Return the candidates after the first that could be the best, those that are not, and those without a test.

    Args:
        board: the board, with the outcome of the tests.
        candidates: the metrics to choose from, in descending order of agreement.
        could_be_best: the names of those that could be the best.
    """
    names = [line.metric for line in candidates]
    contenders, lower, untested = [], [], []
    for line in candidates[1:]:
        if line.metric not in could_be_best and any(board.is_tested(name, line.metric) for name in names):
            lower.append(line)
        elif board.is_tested(names[0], line.metric):
            contenders.append(line)
        else:
            untested.append(line)
    return contenders, tuple(lower), tuple(untested)


def _with_recommended(advice: Advice, highest: Line, by: str, level: float, *, corrected: bool) -> Advice:
    """Return the advice with the recommended metric: the highest, or one that costs much less and loses little.

    Args:
        advice: the advice, with the contenders.
        highest: its highest metric, which is known to agree with people.
        by: the coefficient that decides.
        level: the error rate of the tests that exclude a loss above the margin.
        corrected: whether to divide it by the number of these tests.
    """
    board = advice.board
    cheaper = []
    for line in sorted(advice.contenders, key=lambda line: _coefficient_or_lowest(line, by), reverse=True):
        costs_less = _costs_much_less(line, highest, has_prices=board.has_prices)
        if costs_less and _is_known_to_agree(line, line.values[by], by):
            cheaper.append(line)
    level_of_each = level / len(cheaper) if corrected and cheaper else level
    chosen, risky = highest, []
    for line in cheaper:
        difference = board.difference(highest.metric, line.metric)
        if difference is None or not difference.excludes_loss(advice.limits.max_loss, level_of_each):
            risky.append(line)
        elif _costs_much_less(line, chosen, has_prices=board.has_prices):
            chosen = line
    new_sample = dict(advice.new_sample)
    if chosen is not highest:
        # chosen for its cost and not its value, so its value needs no correction for selection
        new_sample[chosen.metric] = chosen.values[by]
    loss = None if chosen is highest else board.difference(highest.metric, chosen.metric)
    return replace(
        advice,
        recommended=chosen,
        loss=None if loss is None else loss.with_t_interval(1 - level),
        risky=tuple(risky),
        new_sample=new_sample,
    )


def _with_settling_size(advice: Advice, dataset: JoinedDataset, by: str, tests: PairedTests) -> Advice:
    """Return a recommendation with the number of pairs that would settle it, as ``assay power`` computes it.

    Without a highest metric or contenders, it is returned as it is. If tests are corrected, the level is divided by the
    number of metric pairs among those that could be the best.

    Args:
        advice: the recommendation from one board.
        dataset: the pairs and scores of the board.
        by: the coefficient that decides.
        tests: the settings of the tests.
    """
    highest = advice.highest
    if highest is None or not advice.contenders:
        return advice
    # the highest of the contenders, which are sorted by speed
    compared_line = max(advice.contenders, key=lambda line: _coefficient_or_lowest(line, by))
    if advice.recommended is not None and advice.recommended is not highest:
        compared_line = advice.recommended
    names = (highest.metric, compared_line.metric)
    contest = Contest(dataset.data, names, {name: dataset.scores[name] for name in names}, (names,))
    settings = PowerSettings(
        statistics=(by,),
        buckets=(advice.board.bucket,),
        comparisons=1 if tests.correction == "none" else math.comb(len(advice.contenders) + 1, 2),
        confidence=tests.confidence,
    )
    return replace(advice, settling_plan=next(plan_comparisons(contest, settings)))


def _highest_on_new_sample(board: Board, candidates: Sequence[Line], by: str, confidence: float) -> Number:
    """Return the value with its interval that is expected of the highest candidate on a new sample.

    It is corrected for the selection of the highest value. If there is only one metric, or if a covariance with the
    highest is unknown or rests on a few rare labels, it is the metric's uncorrected value.

    Args:
        board: the ranked metrics, with covariances.
        candidates: the metrics to choose from, at least one, in descending order of agreement.
        by: the coefficient that decides.
        confidence: the level of the interval.
    """
    uncorrected = candidates[0].values[by]
    values = {line.metric: _coefficient_or_lowest(line, by) for line in candidates}
    if len(candidates) == 1 or candidates[0].rare:
        return uncorrected
    corrected = winner_on_new_sample(
        values, board.fisher_covariances, lowest=STATISTICS[by].lowest, units=board.units, confidence=confidence
    )
    return corrected or uncorrected


def _coefficient_or_lowest(line: Line, by: str) -> float:
    """Return a coefficient of a metric; minus infinity if it is undefined."""
    value = line.values[by].value
    return -math.inf if value is None else value


def _costs_much_less(line: Line, chosen: Line, *, has_prices: bool) -> bool:
    """Tell whether a metric costs at most half as much as *chosen*, or is twice as fast and not more expensive.

    Price takes precedence over speed, since users can limit the time. A metric of unknown speed is not replaced by a
    faster one. If pairs cost money, a metric of unknown price replaces none whose price is known.

    Args:
        line: the metric.
        chosen: the metric that it may replace.
        has_prices: whether pairs cost money.
    """
    price, chosen_price = line.price_per_1000, chosen.price_per_1000
    if price is not None and chosen_price and price * MUCH_CHEAPER <= chosen_price:
        return True
    if has_prices and chosen_price is not None and (price is None or price > chosen_price):
        return False
    if chosen.pairs_per_second is None:
        return False
    return (line.pairs_per_second or 0.0) >= MUCH_FASTER * chosen.pairs_per_second


def _reason_for_none(board: Board, ranked: Sequence[Line], limits: Limits) -> str:
    """Return the reason why no metric can be recommended.

    Args:
        board: the board of the metrics.
        ranked: the metrics that have a rank; none of them is within the limits.
        limits: the limits on cost.
    """
    if board.unranked:
        return board.unranked
    if not ranked:
        if any(line.apart is not None for line in board.lines):
            return "no metric can be compared: each lacks scores, or lacks them where labels differ"
        return "no metric has an agreement: scores or labels do not vary"
    prices = {line.metric: line.price_per_1000 for line in ranked if line.price_per_1000 is not None}
    if prices and all(limits.is_too_expensive(line) for line in ranked if line.metric in prices):
        cheapest = min(prices, key=lambda name: prices[name])
        return f"no metric is cheap enough; the cheapest is {cheapest} with {money(prices[cheapest])} per 1,000 pairs"
    timed_lines = [line for line in ranked if line.pairs_per_second is not None]
    if timed_lines and all(limits.is_too_slow(line) for line in timed_lines):
        fastest = max(timed_lines, key=lambda line: line.pairs_per_second or 0.0)
        speed = rate(fastest.pairs_per_second or 0.0)
        return f"no metric is fast enough; the fastest is {fastest.metric} with {speed} pairs/s"
    if timed_lines and prices:
        return "no metric is known to be within both limits, on speed and on price"
    return "no metric has a known cost: recorded scores are not timed"


def _rare_scores_reason(rare: Sequence[Line]) -> str:
    """Return the reason why no metric can be recommended if all within the limits have rare scores."""
    names_text = ", ".join(f"{line.metric} ({rare_words(line)})" for line in rare)
    return f"too few pairs differ in score to know whether a metric agrees with people: {names_text}"


def rare_words(line: Line) -> str:
    """Return what is rare on a line: ``2 pairs with the rarer score``, ``constant score``; empty if nothing is."""
    if line.is_constant:
        return "constant score"
    return ", ".join(rare.rarity for rare in line.rare)


def _selection_warning(advice: Advice, candidates: Sequence[Line], by: str) -> str:
    """Return the reason why the evidence for the highest metric is weak; empty if it is not.

    Args:
        advice: the advice, with its highest metric.
        candidates: the metrics to choose from, at least one, in descending order of agreement.
        by: the coefficient that decides.
    """
    board, best = advice.board, candidates[0]
    low, high = advice.new_sample[best.metric].low, advice.new_sample[best.metric].high
    chance = best.chance[by]
    if low is None or high is None:
        return "too few pairs for an interval: label more before you rely on it"
    if best.rare:
        return f"{rare_words(best)}, too few to know whether it agrees with people: label more of them"
    if high < chance:
        return "it agrees less with people than chance would: look at the labels and at what a high score means"
    if low <= chance:
        return (
            f"its interval includes {chance:.3g}, which is chance level: on {board.shared:,} pairs it is not known to "
            f"agree with people at all{_others_above_chance(advice, candidates, by)}"
        )
    better_apart = [line for line in advice.apart if _is_significantly_better(board, line)]
    if better_apart:
        names_text = ", ".join(line.metric for line in better_apart)
        return f"{names_text}: lacks scores and is not compared, but agrees better on the pairs that both have scored"
    if advice.contenders and len(advice.contenders) == len(candidates) - 1:
        within = " within the limits" if advice.limits.description else ""
        return f"{board.shared:,} pairs leave it open which metric{within} is the best: label more to choose"
    return ""


def _others_above_chance(advice: Advice, candidates: Sequence[Line], by: str) -> str:
    """Return a clause on the metrics whose own interval is above chance, and on why none of them is recommended.

    Args:
        advice: the advice, whose highest metric is not known to agree with people.
        candidates: the metrics to choose from, in descending order of agreement.
        by: the coefficient that decides.
    """
    lines = [line for line in (*candidates, *advice.apart) if _is_known_to_agree(line, line.values[by], by)]
    if not lines:
        clause = ", nor is any other metric" if len(candidates) > 1 else ""
        if advice.limits.description:
            clause = ", nor is any other within the limits"
        return clause + _most_below_chance(candidates, by)
    names_text = ", ".join(f"{line.metric} {short(_coefficient_or_lowest(line, by), 3)}" for line in lines)
    if all(line.apart is not None for line in lines):
        return f"; set apart, since they lack scores, but above chance where they have them: {names_text}"
    return (
        f"; alone, the interval of each of these is above chance: {names_text}, but one of {len(candidates)} metrics"
        " is expected to look so by chance, and the interval above allows for that"
    )


def _most_below_chance(candidates: Sequence[Line], by: str) -> str:
    """Return a clause on a scale that seems to be turned round, since most metrics are below chance; else empty."""
    below = []
    for line in candidates:
        high = line.values[by].high
        if high is not None and high < line.chance[by] and not line.rare:
            below.append(line)
    if 2 * len(below) <= len(candidates):
        return ""
    return f"; {len(below)} of {len(candidates)} agree less with people than chance would: is a low label the good one?"


def _is_significantly_better(board: Board, line: Line) -> bool:
    """Tell whether a metric that is set apart is better than the highest ranked one where both have scores."""
    difference = board.apart.get(line.metric)
    if difference is None or difference.value is None or difference.p is None:
        return False
    return difference.value > 0 and difference.p <= SET_APART_LEVEL


def _is_known_to_agree(line: Line, agreement: Number, by: str) -> bool:
    """Tell whether a metric with this agreement is known to agree with people better than chance."""
    return agreement.low is not None and agreement.low > line.chance[by] and not line.rare
