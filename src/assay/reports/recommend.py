"""The recommendation of a metric within limits on cost, and the certainty of that choice."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.reports.compare.contests import Contest
from assay.reports.layout import Cell, money, rate, short
from assay.reports.leaderboard.board import Board, JoinedDataset, Line
from assay.reports.power import PlannedComparison, PowerSettings, plan_comparisons
from assay.reports.settings import PairedTests
from assay.reports.sheets import Document, Sheet
from assay.settings import AgreementSettings, Graphs, Limited, OwnData, Prices, RunFolderOutput, Scoring, setting
from assay.statistics.coefficients import STATISTICS, title_of
from assay.statistics.winners import confidence_set_of_best, winner_on_new_sample, winner_on_new_sample_by_influence

_BUDGET_PATTERN = re.compile(r"(?P<pairs>\d+(?:\.\d+)?(?:e\d+)?)\s*(?:/\s*(?P<unit>s|min|h))?")
_SECONDS_BY_UNIT = {"s": 1.0, "min": 60.0, "h": 3600.0}

#: The value, lower bound and upper bound of a coefficient; a number that is undefined is None.
ValueAndBounds = tuple[float | None, float | None, float | None]
_UNDEFINED: ValueAndBounds = (None, None, None)


def parse_budget(text: str) -> float:
    """Return the pairs per second that a budget such as ``1000/s``, ``1000``, ``600/min`` or ``5e5/h`` stands for.

    Raises:
        InputError: the text is not of this form, or the number is 0.
    """
    match = _BUDGET_PATTERN.fullmatch(text.strip())
    if match is None or not float(match["pairs"]):
        raise InputError(f"`budget={text}`: cannot be read; write pairs per time, such as 1000/s, 600/min or 5e5/h")
    return float(match["pairs"]) / _SECONDS_BY_UNIT[match["unit"] or "s"]


def check_limits(budget: str | None, max_price: float | None) -> None:
    """Check that both limits on cost are valid; None means no limit.

    Raises:
        InputError: the budget is not a speed, or the price is not a finite number of at least 0.
    """
    if budget is not None:
        parse_budget(budget)
    if max_price is not None and not (isinstance(max_price, Real) and 0 <= max_price < math.inf):
        raise InputError(f"`max_price={max_price}`: must be a finite number of at least 0, such as 0.50")


@dataclass(frozen=True)
class Limits:
    """Limits on the cost of a metric.

    Attributes:
        speed: the pairs per second that a metric must reach; None without a limit.
        price: the most that 1,000 pairs may cost; None without a limit.
    """

    speed: float | None = None
    price: float | None = None

    @classmethod
    def parse(cls, budget: str | None, max_price: float | None) -> Limits:
        """Return the limits that a user set, parsed.

        Raises:
            InputError: the budget is not a speed.
        """
        return cls(None if budget is None else parse_budget(budget), max_price)

    def has_unknown_cost(self, line: Line) -> bool:
        """Tell whether a limited cost of a metric is unknown."""
        has_unknown_speed = self.speed is not None and line.pairs_per_second is None
        has_unknown_price = self.price is not None and line.price_per_1000 is None
        return has_unknown_speed or has_unknown_price

    def is_too_slow(self, line: Line) -> bool:
        """Tell whether a metric is known to be too slow."""
        return self.speed is not None and line.pairs_per_second is not None and line.pairs_per_second < self.speed

    def is_too_expensive(self, line: Line) -> bool:
        """Tell whether a metric is known to cost too much."""
        return self.price is not None and line.price_per_1000 is not None and line.price_per_1000 > self.price

    def allows(self, line: Line) -> bool:
        """Tell whether a metric is known to be within the limits."""
        return not (self.has_unknown_cost(line) or self.is_too_slow(line) or self.is_too_expensive(line))

    @property
    def description(self) -> str:
        """A plural verb phrase for metrics within the limits, such as ``reach 100 pairs/s``; empty without a limit."""
        phrases = []
        if self.speed is not None:
            phrases.append(f"reach {self.speed:,.4g} pairs/s")
        if self.price == 0:
            phrases.append("are free")
        elif self.price is not None:
            phrases.append(f"cost at most {money(self.price)} per 1,000 pairs")
        return " and ".join(phrases)


#: Limits that every metric is within.
NO_LIMITS = Limits()


@dataclass(frozen=True)
class RecommendSettings(RunFolderOutput, OwnData, Graphs, PairedTests, AgreementSettings, Limited, Scoring, Prices):
    """Settings of ``assay recommend``."""

    dataset: Any = setting(
        "A labelled CSV, TSV, JSONL or Parquet file, or a dataset's name.", flags=("--dataset", "-d"), metavar="DATASET"
    )
    metrics: Sequence[Any] = setting(
        "A metric to choose from: name[:subject][,option=value]… [default: those of the suite quickstart, contains and "
        "token-recall].",
        (),
        flags=("--metric", "-m"),
        metavar="METRIC",
    )
    _: KW_ONLY
    budget: str | None = setting(
        "The speed that the metric must reach on this machine: 1000/s, 600/min, 5e5/h.", None, metavar="PAIRS/TIME"
    )
    max_price: float | None = setting(
        "The highest price of 1,000 pairs, in the currency of your prices; 0 for free metrics only.",
        None,
        metavar="PRICE",
    )
    by: str | None = setting(
        "The coefficient that decides [default: auc where the labels have two values, else spearman].",
        None,
        metavar="NAME",
    )
    store: str | Path | None = setting("File of the score store; the shared one by default.", None, python_only=True)

    def check(self) -> None:
        """Check the budget and the highest price; raise InputError if one is invalid."""
        super().check()
        check_limits(self.budget, self.max_price)


@dataclass(frozen=True)
class Advice:
    """The recommendation from one board.

    Attributes:
        board: the evidence.
        highest: the metric with the highest agreement within the limits; None if no metric is within them.
        contenders: the other metrics within the limits that could be the best, the fastest first.
        too_slow: the metrics with a higher agreement that are slower than the limit.
        unknown: the metrics with a higher agreement for which a limited cost is unknown.
        warning: the reason why the evidence is weak; empty if it is not.
        recommended: the recommended metric: the highest, or a much cheaper or faster one that could be the best. It is
            known to agree with people better than chance; None if that is not known of the highest.
        new_sample: the value and bounds that are expected on a new sample, by name, for *highest* and *recommended*.
        settling_plan: the number of pairs that would distinguish *highest* from the cheaper metric recommended in its
            place, or else from the next highest of *contenders*; None if there is no such metric.
        lower: the metrics within the limits that are known not to be the best, in descending order of agreement.
        too_expensive: the metrics with a higher agreement whose price is above the limit.
    """

    board: Board
    highest: Line | None
    contenders: tuple[Line, ...]
    too_slow: tuple[Line, ...]
    unknown: tuple[Line, ...]
    warning: str
    recommended: Line | None = None
    new_sample: Mapping[str, ValueAndBounds] = field(default_factory=dict)
    settling_plan: PlannedComparison | None = None
    lower: tuple[Line, ...] = ()
    too_expensive: tuple[Line, ...] = ()


def advise(board: Board, limits: Limits, by: str, confidence: float = 0.95, *, corrected: bool = True) -> Advice:
    """Return the recommendation from one board, without the number of pairs that would settle it.

    Args:
        board: the ranked metrics with their costs.
        limits: the limits on cost.
        by: the coefficient that decides.
        confidence: the level of the intervals and of the tests, in (0, 1).
        corrected: whether the tests are corrected for their number.
    """
    ranked = [line for line in board.lines if line.rank is not None]
    affordable = [line for line in ranked if limits.allows(line)]
    if not affordable:
        return Advice(board, None, (), (), (), _reason_for_none(board, ranked, limits))
    # lines are in descending order of agreement, so those before the best affordable one agree better
    best = affordable[0]
    better = ranked[: ranked.index(best)]
    names = [line.metric for line in affordable]
    candidates = confidence_set_of_best(names, board.differences, level=1 - confidence, corrected=corrected)
    contenders = [line for line in affordable[1:] if line.metric in candidates]
    lower = tuple(line for line in affordable[1:] if line.metric not in candidates)
    contenders.sort(key=lambda line: -(line.pairs_per_second or 0.0))
    bounds = _new_sample_bounds_of_highest(board, affordable, by, confidence)
    recommended = None
    if _beats_chance(best, bounds, by):
        recommended = _choose_recommended_line(best, contenders, by, has_prices=board.has_prices)
    new_sample = {best.metric: bounds}
    if recommended is not None and recommended is not best:
        # chosen for its cost and not its value, so its value needs no correction for selection
        new_sample[recommended.metric] = recommended.values[by]
    return Advice(
        board,
        best,
        tuple(contenders),
        too_slow=tuple(line for line in better if limits.is_too_slow(line)),
        unknown=tuple(line for line in better if limits.has_unknown_cost(line)),
        warning=_selection_warning(board, affordable, contenders, bounds, limited=limits != NO_LIMITS, by=by),
        recommended=recommended,
        new_sample=new_sample,
        lower=lower,
        too_expensive=tuple(line for line in better if limits.is_too_expensive(line)),
    )


def advise_on(
    dataset: JoinedDataset, boards: Sequence[Board], limits: Limits, by: str, tests: PairedTests
) -> list[Advice]:
    """Return the recommendation for each bucket of one dataset, with the number of pairs that would settle it.

    Args:
        dataset: the pairs and scores.
        boards: the boards of its buckets.
        limits: the limits on cost.
        by: the coefficient that decides.
        tests: the settings of the tests with which the boards were ranked.
    """
    advice = []
    for board in boards:
        chosen = advise(board, limits, by, tests.confidence, corrected=tests.correction != "none")
        advice.append(_with_settling_size(chosen, dataset, by, tests))
    return advice


def _with_settling_size(advice: Advice, dataset: JoinedDataset, by: str, tests: PairedTests) -> Advice:
    """Return a recommendation with the number of pairs that would settle it, as ``assay power`` computes it.

    If tests are corrected, the level is divided by the number of metric pairs among those that could be the best.
    """
    highest = advice.highest
    if highest is None or not advice.contenders:
        return advice
    compared_line = advice.recommended
    if compared_line is None or compared_line is highest:
        # the highest of the contenders, which are sorted by speed
        compared_line = max(advice.contenders, key=lambda line: _coefficient_or_lowest(line, by))
    names = (highest.metric, compared_line.metric)
    contest = Contest(dataset.data, names, {name: dataset.scores[name] for name in names}, (names,))
    settings = PowerSettings(
        statistics=(by,),
        buckets=(advice.board.bucket,),
        comparisons=1 if tests.correction == "none" else math.comb(len(advice.contenders) + 1, 2),
        confidence=tests.confidence,
    )
    return replace(advice, settling_plan=next(plan_comparisons(contest, settings)))


#: The number of labelled pairs above which the exact number that would settle the choice is not shown.
MAX_REALISTIC_PAIRS = 100_000


def settling_size_text(settling_plan: PlannedComparison) -> str:
    """Return one line on the number of pairs that would distinguish two metrics, or on why it is unknown.

    A number above :data:`MAX_REALISTIC_PAIRS` is not given exactly.
    """
    goal = f"to tell {settling_plan.first} from {settling_plan.second}"
    if settling_plan.pilot is None or settling_plan.plan is None:
        return f"{goal}: these pairs are too few, or too much alike, to say how many are needed"
    plan = settling_plan.plan
    needed, low, high = (settling_plan.pair_count(units) for units in (plan.needed, plan.needed_low, plan.needed_high))
    difference = short(settling_plan.pilot.difference, 3)
    if plan.needed is None or needed is None:
        return f"{goal}: no limit, the difference that these pairs show ({difference}) is too small"
    if needed > MAX_REALISTIC_PAIRS:
        reason = f"the difference that these pairs show ({difference}) is too small to matter"
        return f"{goal}: more than {MAX_REALISTIC_PAIRS:,} pairs, {reason}"
    group_note = f" ({plan.needed:,} groups)" if settling_plan.grouped else ""
    least, most = ("no limit" if number is None else f"{number:,}" for number in (low, high))
    return (
        f"{goal}: about {needed:,} pairs [{least}, {most}]{group_note}; then 80% of samples would show the difference, "
        f"if it is the {difference} of these pairs"
    )


def _new_sample_bounds_of_highest(
    board: Board, affordable: Sequence[Line], by: str, confidence: float
) -> ValueAndBounds:
    """Return the value and bounds that are expected of the highest affordable metric on a new sample.

    They are corrected for the selection of the highest value. If there is only one metric, or if neither resamples nor
    covariances are known, they are the metric's uncorrected value and bounds.

    Args:
        board: the ranked metrics, with resamples or covariances.
        affordable: the metrics within the limits, at least one, in descending order of agreement.
        by: the coefficient that decides.
        confidence: the level of the interval.
    """
    uncorrected = affordable[0].values[by]
    # of the metrics that can be drawn anew
    values = {}
    for line in affordable:
        value = line.values[by][0]
        if value is not None and (line.metric in board.resampled or (line.metric, line.metric) in board.covariances):
            values[line.metric] = value
    if len(affordable) == 1 or len(values) < len(affordable):
        return uncorrected
    settings: dict[str, Any] = {"lowest": STATISTICS[by].lowest, "units": board.units, "confidence": confidence}
    if board.resampled:
        corrected = winner_on_new_sample(values, board.resampled, **settings)
    else:
        corrected = winner_on_new_sample_by_influence(values, board.covariances, **settings)
    return uncorrected if corrected is None else (corrected.value, corrected.low, corrected.high)


#: The factor by which a metric must be faster or cheaper to replace one that agrees better on these pairs. Measured
#: speeds vary by less between runs, and a smaller gain is not worth any loss of agreement.
MUCH_FASTER = MUCH_CHEAPER = 2.0


def _coefficient_or_lowest(line: Line, by: str) -> float:
    """Return a coefficient of a metric; minus infinity if it is undefined."""
    value = line.values[by][0]
    return -math.inf if value is None else value


def _choose_recommended_line(best: Line, contenders: Sequence[Line], by: str, *, has_prices: bool) -> Line:
    """Return the metric to use among those that could be the best: the best one, or one that costs much less.

    In descending order of agreement, each metric that costs much less than the current choice, and beats chance,
    replaces it.

    Args:
        best: the metric with the highest agreement within the limits.
        contenders: the other metrics within the limits that could be the best, in any order.
        by: the coefficient that decides.
        has_prices: whether some pairs of the board cost money.
    """
    chosen = best
    for line in sorted(contenders, key=lambda line: _coefficient_or_lowest(line, by), reverse=True):
        if _costs_much_less(line, chosen, has_prices=has_prices) and _beats_chance(line, line.values[by], by):
            chosen = line
    return chosen


def _costs_much_less(line: Line, chosen: Line, *, has_prices: bool) -> bool:
    """Tell whether a metric costs at most half as much as *chosen*, or is twice as fast and not more expensive.

    Price takes precedence over speed, since users can limit the time. A metric of unknown speed is not replaced by a
    faster one. If pairs cost money, a metric of unknown price replaces none whose price is known.
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


def _selection_warning(
    board: Board,
    affordable: Sequence[Line],
    contenders: Sequence[Line],
    bounds: ValueAndBounds,
    *,
    limited: bool,
    by: str,
) -> str:
    """Return the reason why the evidence for the best affordable metric is weak; empty if it is not.

    Args:
        board: the board of the metrics.
        affordable: the metrics within the limits, at least one, in descending order of agreement.
        contenders: the affordable metrics other than the first that could be the best.
        bounds: the value and bounds expected of the first on a new sample.
        limited: whether there is a limit on cost.
        by: the coefficient that decides.
    """
    best = affordable[0]
    _, low, high = bounds
    chance = best.chance[by]
    if low is None or high is None:
        return "too few pairs for an interval: label more before you rely on it"
    if high < chance:
        return "it agrees less with people than chance would: look at the labels and at what a high score means"
    if low <= chance:
        names_above_chance = [line.metric for line in affordable[1:] if _beats_chance(line, line.values[by], by)]
        if names_above_chance:
            alternatives = f"; with a lower value, known to: {', '.join(names_above_chance)}"
        elif limited:
            alternatives = ", nor is any other within the budget"
        else:
            alternatives = ", nor is any other metric"
        return (
            f"its interval includes {chance:.3g}, which is chance level: on {board.n:,} pairs it is not known to agree "
            f"with people at all{alternatives}"
        )
    if contenders and len(contenders) == len(affordable) - 1:
        return f"{board.n:,} pairs leave it open which metric within the budget is the best: label more to choose"
    return ""


def _beats_chance(line: Line, bounds: ValueAndBounds, by: str) -> bool:
    """Tell whether a metric with these bounds is known to agree with people better than chance."""
    low = bounds[1]
    return low is not None and low > line.chance[by]


def with_advice(document: Document, advice: Sequence[Advice], limits: Limits, by: str) -> Document:
    """Return the document of a board with one sheet of advice per bucket above its sheets.

    Its records are those of the advice only; its JSON has both the advice and the evidence.
    """
    sheets = [Sheet(_advice_headline(item), (), (), facts=tuple(_advice_lines(item, limits, by))) for item in advice]
    records = [_advice_record(item, by) for item in advice]
    value = {"advice": records, "evidence": list(document.records)}
    return replace(document, sheets=[*sheets, *document.sheets], records=records, value=value)


def _advice_record(advice: Advice, by: str) -> dict[str, Any]:
    """Return one recommendation as a flat record; undefined or unknown values are None."""
    highest, recommended = advice.highest, advice.recommended
    value, low, high = highest.values[by] if highest else _UNDEFINED
    highest_new, highest_new_low, highest_new_high = advice.new_sample[highest.metric] if highest else _UNDEFINED
    recommended_new, recommended_new_low, recommended_new_high = (
        advice.new_sample[recommended.metric] if recommended else _UNDEFINED
    )
    return {
        "dataset": advice.board.title,
        "bucket": advice.board.bucket,
        "use": recommended.metric if recommended else None,
        "use_value": recommended_new,
        "use_low": recommended_new_low,
        "use_high": recommended_new_high,
        "use_pairs_per_second": recommended.pairs_per_second if recommended else None,
        "use_price_per_1000": recommended.price_per_1000 if recommended else None,
        "use_signature": recommended.signature if recommended else None,
        "highest": highest.metric if highest else None,
        by: value,
        f"{by}_low": low,
        f"{by}_high": high,
        "highest_value": highest_new,
        "highest_low": highest_new_low,
        "highest_high": highest_new_high,
        "pairs_per_second": highest.pairs_per_second if highest else None,
        "price_per_1000": highest.price_per_1000 if highest else None,
        "signature": highest.signature if highest else None,
        "cannot_be_told_apart": "; ".join(line.metric for line in advice.contenders),
        "not_the_best": "; ".join(line.metric for line in advice.lower),
        "too_slow": "; ".join(line.metric for line in advice.too_slow),
        "too_expensive": "; ".join(line.metric for line in advice.too_expensive),
        "why": why_not_highest(advice),
        "warning": advice.warning,
        "n": advice.board.n,
        "by": by,
        **_settling_size_record(advice.settling_plan),
    }


def _settling_size_record(settling_plan: PlannedComparison | None) -> dict[str, Any]:
    """Return the fields of a record on the number of pairs that would settle the choice; all None if it is unknown."""
    plan = None if settling_plan is None else settling_plan.plan
    needed: tuple[int | None, ...] = (None, None, None)
    needed_groups = None
    if settling_plan is not None and plan is not None:
        needed = tuple(settling_plan.pair_count(units) for units in (plan.needed, plan.needed_low, plan.needed_high))
        needed_groups = plan.needed if settling_plan.grouped else None
    return {
        "settle_against": None if settling_plan is None else settling_plan.second,
        "settle_pairs": needed[0],
        "settle_pairs_low": needed[1],
        "settle_pairs_high": needed[2],
        "settle_groups": needed_groups,
    }


def why_not_highest(advice: Advice) -> str:
    """Return the reason why a metric other than the highest is recommended: its lower price or its higher speed.

    It is empty if the highest metric or none is recommended.
    """
    highest, recommended = advice.highest, advice.recommended
    if highest is None or recommended is None or recommended is highest:
        return ""
    ratio = (recommended.pairs_per_second or 0.0) / (highest.pairs_per_second or math.inf)
    # measured speeds are not exact enough for more than two digits
    speed_ratio = rate(float(f"{ratio:.2g}"))
    price, highest_price = recommended.price_per_1000, highest.price_per_1000
    if price is None or highest_price is None or price >= highest_price:
        return f"{speed_ratio} times as fast as {highest.metric}, and could be the best, too"
    faster = f", {speed_ratio} times as fast" if ratio >= MUCH_FASTER else ""
    prices = f"{money(price)} against {money(highest_price)} per 1,000 pairs"
    return f"cheaper than {highest.metric} ({prices}){faster}, and could be the best, too"


def _advice_headline(advice: Advice) -> str:
    """Return the headline of a recommendation: dataset, bucket and verdict.

    The verdict is the metric to use, ``use no metric`` if none is within the limits, or that none can be recommended.
    """
    if advice.board.unranked or (advice.highest and not advice.recommended):
        verdict = "no metric can be recommended"
    elif advice.recommended:
        verdict = f"use {advice.recommended.metric}"
    else:
        verdict = "use no metric"
    return f"{advice.board.title}, {advice.board.bucket}: {verdict}"


def _cost_text(line: Line, *, has_prices: bool) -> str:
    """Return the known speed and, if some pairs cost money, the known price: ``30 pairs/s, 0.42 per 1,000 pairs``.

    The text is ``unknown cost`` if there is neither.
    """
    speed = "" if line.pairs_per_second is None else f"{rate(line.pairs_per_second)} pairs/s"
    if not has_prices or line.price_per_1000 is None:
        return speed or "unknown cost"
    price = f"{money(line.price_per_1000)} per 1,000 pairs" if line.price_per_1000 else "free"
    return f"{speed}, {price}" if speed else price


def _advice_lines(advice: Advice, limits: Limits, by: str) -> list[str]:
    """Return the lines of text below the headline of a recommendation.

    They are, as far as they apply: the metric to use with its value expected on a new sample, and why it is not the
    highest; the highest metric; the other metrics by how they compare with it; the number of pairs that would settle
    the choice; and the warning.
    """

    def value_text(line: Line) -> str:
        return Cell(*line.values[by], "").text

    def expected_text(line: Line) -> str:
        return f"{Cell(*advice.new_sample[line.metric], '').text} on a new sample"

    def cost_text(line: Line) -> str:
        return _cost_text(line, has_prices=advice.board.has_prices)

    def texts_with_cost(metric_lines: Sequence[Line]) -> list[str]:
        return [f"{line.metric} ({value_text(line)}, {cost_text(line)})" for line in metric_lines]

    lines = []
    highest, recommended = advice.highest, advice.recommended
    if recommended and recommended is not highest:
        agreement = f"{title_of(by)} {expected_text(recommended)}"
        lines.append(f"{agreement}, {cost_text(recommended)}: {why_not_highest(advice)}")
    if highest:
        limits_text = f", the highest of those that {limits.description}" if limits.description else ""
        name = "" if recommended is highest else f"highest: {highest.metric}, "
        pair_count_text = f"{advice.board.n:,} pairs"
        is_corrected = advice.new_sample[highest.metric] != highest.values[by]
        agreement = expected_text(highest) if is_corrected else f"{value_text(highest)} on {pair_count_text}"
        lines.append(f"{name}{title_of(by)} {agreement}, {cost_text(highest)}{limits_text}")
        if is_corrected:
            lines.append(f"on the {pair_count_text} that chose it: {value_text(highest)}, which the choice flatters")
    metrics_by_relation = {
        "could be the best, too": texts_with_cost(advice.contenders),
        "not the best": texts_with_cost(advice.lower),
        "higher, but too slow": texts_with_cost(advice.too_slow),
        "higher, but too expensive": texts_with_cost(advice.too_expensive),
        "higher, at unknown cost": [f"{line.metric} ({value_text(line)})" for line in advice.unknown],
    }
    lines += [f"{relation}: {', '.join(metrics)}" for relation, metrics in metrics_by_relation.items() if metrics]
    if advice.settling_plan:
        lines.append(settling_size_text(advice.settling_plan))
    if advice.warning:
        lines.append(advice.warning)
    return lines
