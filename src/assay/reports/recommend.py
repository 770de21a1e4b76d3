"""Which metric to use within a cost limit, and how certain that is."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.reports.compare.contests import Contest
from assay.reports.layout import Cell, short
from assay.reports.leaderboard.board import Board, Joined, Line
from assay.reports.power import PlannedComparison, PowerSettings, planned
from assay.reports.settings import PairedTests
from assay.reports.sheets import Document, Sheet
from assay.settings import AgreementSettings, Graphs, Limited, OwnData, RunFolderToo, Scoring, setting
from assay.statistics.best_set import could_be_best
from assay.statistics.coefficients import STATISTICS, title_of
from assay.statistics.winners import of_highest

_BUDGET = re.compile(r"(?P<pairs>\d+(?:\.\d+)?(?:e\d+)?)\s*(?:/\s*(?P<unit>s|min|h))?")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}

#: Value, lower and upper bound; None where there is none.
Bounds = tuple[float | None, float | None, float | None]
_NONE: Bounds = (None, None, None)


def parse_budget(text: str) -> float:
    """Return pairs per second of ``1000/s``, ``1000``, ``600/min`` or ``5e5/h``.

    Raises:
        InputError: it is none of these.
    """
    match = _BUDGET.fullmatch(text.strip())
    if match is None or not float(match["pairs"]):
        raise InputError(f"`budget={text}`: cannot be read; write pairs per time, such as 1000/s, 600/min or 5e5/h")
    return float(match["pairs"]) / _SECONDS[match["unit"] or "s"]


@dataclass(frozen=True)
class RecommendSettings(RunFolderToo, OwnData, Graphs, PairedTests, AgreementSettings, Limited, Scoring):
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
        "What the metric must reach on this machine: 1000/s, 600/min, 5e5/h.", None, metavar="PAIRS/TIME"
    )
    by: str | None = setting(
        "The coefficient that decides [default: auc where the labels have two values, else spearman].",
        None,
        metavar="NAME",
    )
    store: str | Path | None = setting("File for the scores; the shared one by default.", None, python_only=True)

    def check(self) -> None:
        """Read the budget."""
        super().check()
        if self.budget is not None:
            parse_budget(self.budget)


@dataclass(frozen=True)
class Advice:
    """What one board says.

    Attributes:
        board: the evidence.
        highest: the metric with the highest agreement within the budget; None where there is none.
        alike: the other metrics within the budget that could be the best, the fastest first.
        lower: metrics within the budget that are known not to be the best, in the order of agreement.
        too_slow: metrics with a higher agreement that the budget leaves out.
        unknown: metrics whose cost is not known, with a higher agreement, that a budget leaves out.
        warning: why the advice is weak; an empty string where it is not.
        use: the metric to use: the highest, or a much faster one that could be the best, known to agree with people
            better than chance does; None where the highest is not known to.
        new_sample: value, lower and upper bound that the highest metric would show on a new sample, by metric; and
            that of *use*.
        size: about how many pairs would tell the highest from the faster metric that is used in its place, or else
            from the next highest of *alike*; None where there is no such metric.
    """

    board: Board
    highest: Line | None
    alike: tuple[Line, ...]
    too_slow: tuple[Line, ...]
    unknown: tuple[Line, ...]
    warning: str
    use: Line | None = None
    new_sample: Mapping[str, Bounds] = field(default_factory=dict)
    size: PlannedComparison | None = None
    lower: tuple[Line, ...] = ()


def advise(board: Board, budget: float | None, by: str, confidence: float = 0.95, *, corrected: bool = True) -> Advice:
    """Choose a metric.

    Args:
        board: with the cost of its metrics.
        budget: pairs per second that the metric must reach, or None.
        by: the coefficient that decides.
        confidence: level of the intervals and of the tests, in (0, 1).
        corrected: whether the tests are corrected for their number.
    """
    ranked = [line for line in board.lines if line.rank is not None]
    affordable = [line for line in ranked if budget is None or (line.pairs_per_second or 0.0) >= budget]
    if not affordable:
        return Advice(board, None, (), (), (), _why_none(board, ranked))
    # lines are in the order of agreement: those above the best affordable one are better
    best = affordable[0]
    better = ranked[: ranked.index(best)]
    names = [line.metric for line in affordable]
    candidates = could_be_best(names, board.differences, level=1 - confidence, corrected=corrected)
    alike = [line for line in affordable[1:] if line.metric in candidates]
    lower = tuple(line for line in affordable[1:] if line.metric not in candidates)
    alike.sort(key=lambda line: -(line.pairs_per_second or 0.0))
    bounds = _of_highest(board, affordable, by, confidence)
    use = _cheapest(best, alike, by) if _beats_chance(best, bounds, by) else None
    new_sample = {best.metric: bounds}
    if use is not None and use is not best:
        # its cost chose it, not its value
        new_sample[use.metric] = use.values[by]
    return Advice(
        board,
        best,
        tuple(alike),
        too_slow=tuple(line for line in better if line.pairs_per_second is not None),
        unknown=tuple(line for line in better if line.pairs_per_second is None),
        warning=_warning(board, affordable, alike, bounds, within_budget=budget is not None, by=by),
        use=use,
        new_sample=new_sample,
        lower=lower,
    )


def advise_on(
    dataset: Joined, boards: Sequence[Board], budget: float | None, by: str, tests: PairedTests
) -> list[Advice]:
    """Return the advice of every bucket of one dataset, with the number of pairs that would settle it.

    Args:
        dataset: pairs and scores.
        boards: its buckets, ranked by these tests.
        budget: pairs per second that the metric must reach, or None.
        by: the coefficient that decides.
        tests: how metrics were compared.
    """
    advice = []
    for board in boards:
        chosen = advise(board, budget, by, tests.confidence, corrected=tests.correction != "none")
        advice.append(with_size(chosen, dataset, by, tests))
    return advice


def with_size(advice: Advice, dataset: Joined, by: str, tests: PairedTests) -> Advice:
    """Return the advice with the number of pairs that would settle it, as ``assay power`` computes it.

    The level is that of the family divided by the number of metric pairs among those that could be the best.
    """
    highest = advice.highest
    if highest is None or not advice.alike:
        return advice
    other = advice.use
    if other is None or other is highest:
        other = max(advice.alike, key=lambda line: line.values[by][0] or -math.inf)
    names = (highest.metric, other.metric)
    contest = Contest(dataset.data, names, {name: dataset.scores[name] for name in names}, (names,))
    settings = PowerSettings(
        statistics=(by,),
        buckets=(advice.board.bucket,),
        comparisons=1 if tests.correction == "none" else math.comb(len(advice.alike) + 1, 2),
        confidence=tests.confidence,
    )
    return replace(advice, size=next(planned(contest, settings)))


#: Labelled pairs that nobody will have.
TOO_MANY = 100_000


def size_words(size: PlannedComparison) -> str:
    """Return in one line how many pairs would tell two metrics apart, or that no number is known to."""
    who = f"to tell {size.first} from {size.second}"
    if size.pilot is None or size.plan is None:
        return f"{who}: these pairs are too few, or too much alike, to say how many it takes"
    low, high = size.pairs_of(size.plan.needed_low), size.pairs_of(size.plan.needed_high)
    if size.plan.needed is None:
        return f"{who}: no limit, the difference that these pairs show ({short(size.pilot.difference, 3)}) is too small"
    if (size.pairs_of(size.plan.needed) or 0) > TOO_MANY:
        small = f"the difference that these pairs show ({short(size.pilot.difference, 3)}) is too small to matter"
        return f"{who}: more than {TOO_MANY:,} pairs, {small}"
    groups = f" ({size.plan.needed:,} groups)" if size.grouped else ""
    least, most = ("no limit" if number is None else f"{number:,}" for number in (low, high))
    return (
        f"{who}: about {size.pairs_of(size.plan.needed):,} pairs [{least}, {most}]{groups}; then 80% of samples would "
        f"show the difference, if it is the {short(size.pilot.difference, 3)} of these pairs"
    )


def _of_highest(board: Board, affordable: Sequence[Line], by: str, confidence: float) -> Bounds:
    """Return value and bounds that the highest of the affordable metrics would show on a new sample.

    Where nothing was chosen, or nothing drawn, they are its own.
    """
    own = affordable[0].values[by]
    values = {}
    for line in affordable:
        value = line.values[by][0]
        if value is not None and line.metric in board.resampled:
            values[line.metric] = value
    if len(affordable) == 1 or len(values) < len(affordable):
        return own
    found = of_highest(values, board.resampled, lowest=STATISTICS[by].lowest, units=board.units, confidence=confidence)
    return own if found is None else (found.value, found.low, found.high)


#: How many times as fast a metric must be to take the place of one that agrees better on these pairs: measured speeds
#: differ by less from run to run, and nobody gives up agreement for less.
MUCH_FASTER = 2.0


def _cheapest(best: Line, alike: Sequence[Line], by: str) -> Line:
    """Return the metric to use of those that could be the best: the best one, or one that is much faster.

    From the highest value down, a metric is taken that is :data:`MUCH_FASTER` than the one taken before. A metric whose
    cost is not known is not replaced, and replaces none.
    """
    if best.pairs_per_second is None:
        return best
    chosen = best
    for line in sorted(alike, key=lambda line: -(line.values[by][0] or -math.inf)):
        faster = (line.pairs_per_second or 0.0) >= MUCH_FASTER * (chosen.pairs_per_second or 0.0)
        if faster and _beats_chance(line, line.values[by], by):
            chosen = line
    return chosen


def _why_none(board: Board, ranked: Sequence[Line]) -> str:
    """Return why no metric can be recommended."""
    known = [line for line in ranked if line.pairs_per_second is not None]
    if board.unranked:
        return board.unranked
    if known:
        fastest = max(known, key=lambda line: line.pairs_per_second or 0.0)
        return f"no metric is fast enough; the fastest is {fastest.metric} with {fastest.pairs_per_second:,.0f} pairs/s"
    if ranked:
        return "the cost of no metric is known: recorded scores cost nothing now"
    return "no metric has an agreement: scores or labels do not vary"


def _warning(
    board: Board, affordable: Sequence[Line], alike: Sequence[Line], bounds: Bounds, *, within_budget: bool, by: str
) -> str:
    """Return why the advice to use one of the affordable metrics is weak; nothing where it is not."""
    best = affordable[0]
    _, low, high = bounds
    chance = best.chance[by]
    if low is None or high is None:
        return "too few pairs for an interval: label more before you rely on it"
    if high < chance:
        return "it agrees less with people than chance would: look at the labels and at what a high score means"
    if low <= chance:
        others = [line.metric for line in affordable[1:] if _beats_chance(line, line.values[by], by)]
        if others:
            rest = f"; with a lower value, known to: {', '.join(others)}"
        else:
            rest = ", nor is any other within the budget" if within_budget else ", nor is any other metric"
        return (
            f"its interval holds {chance:.3g}, which is chance: on {board.n:,} pairs it is not known to agree with "
            f"people at all{rest}"
        )
    if alike and len(alike) == len(affordable) - 1:
        return f"{board.n:,} pairs leave it open which metric within the budget is the best: label more to choose"
    return ""


def _beats_chance(line: Line, bounds: Bounds, by: str) -> bool:
    """Tell whether a metric with these bounds is known to agree with people better than chance does."""
    low = bounds[1]
    return low is not None and low > line.chance[by]


def with_advice(document: Document, advice: Sequence[Advice], budget: float | None, by: str) -> Document:
    """Return the evidence with the advice above it, and as records the advice alone."""
    sheets = [Sheet(_headline(item), (), (), facts=tuple(_reasons(item, budget, by))) for item in advice]
    records = [_record(item, by) for item in advice]
    value = {"advice": records, "evidence": list(document.records)}
    return replace(document, sheets=[*sheets, *document.sheets], records=records, value=value)


def _record(advice: Advice, by: str) -> dict[str, Any]:
    highest, use = advice.highest, advice.use
    value, low, high = highest.values[by] if highest else _NONE
    highest_new, highest_new_low, highest_new_high = advice.new_sample[highest.metric] if highest else _NONE
    use_new, use_new_low, use_new_high = advice.new_sample[use.metric] if use else _NONE
    return {
        "dataset": advice.board.title,
        "bucket": advice.board.bucket,
        "use": use.metric if use else None,
        "use_value": use_new,
        "use_low": use_new_low,
        "use_high": use_new_high,
        "use_pairs_per_second": use.pairs_per_second if use else None,
        "use_signature": use.signature if use else None,
        "highest": highest.metric if highest else None,
        by: value,
        f"{by}_low": low,
        f"{by}_high": high,
        "highest_value": highest_new,
        "highest_low": highest_new_low,
        "highest_high": highest_new_high,
        "pairs_per_second": highest.pairs_per_second if highest else None,
        "signature": highest.signature if highest else None,
        "cannot_be_told_apart": "; ".join(line.metric for line in advice.alike),
        "not_the_best": "; ".join(line.metric for line in advice.lower),
        "too_slow": "; ".join(line.metric for line in advice.too_slow),
        "why": why_not_highest(advice),
        "warning": advice.warning,
        "n": advice.board.n,
        "by": by,
        **_size_record(advice.size),
    }


def _size_record(size: PlannedComparison | None) -> dict[str, Any]:
    """Return the number of pairs that would settle the advice; None in all fields where there is none."""
    plan = None if size is None else size.plan
    needed: tuple[int | None, ...] = (None, None, None)
    if size is not None and plan is not None:
        needed = tuple(size.pairs_of(units) for units in (plan.needed, plan.needed_low, plan.needed_high))
    return {
        "settle_against": None if size is None else size.second,
        "settle_pairs": needed[0],
        "settle_pairs_low": needed[1],
        "settle_pairs_high": needed[2],
        "settle_groups": plan.needed if size is not None and size.grouped and plan is not None else None,
    }


def why_not_highest(advice: Advice) -> str:
    """Return why a metric other than the highest is recommended; an empty string where none is."""
    highest, use = advice.highest, advice.use
    if highest is None or use is None or use is highest:
        return ""
    times = (use.pairs_per_second or 0.0) / (highest.pairs_per_second or math.inf)
    return f"{times:.2g} times as fast as {highest.metric}, and could be the best, too"


def _headline(advice: Advice) -> str:
    if advice.board.unranked or (advice.highest and not advice.use):
        verdict = "no metric can be recommended"
    else:
        verdict = f"use {advice.use.metric}" if advice.use else "use no metric"
    return f"{advice.board.title}, {advice.board.bucket}: {verdict}"


def _speed(line: Line) -> str:
    return "unknown cost" if line.pairs_per_second is None else f"{line.pairs_per_second:,.0f} pairs/s"


def _reasons(advice: Advice, budget: float | None, by: str) -> list[str]:
    """Return the lines below the headline: what the metric to use would show on a new sample, and why it is not the
    highest; the highest metric with its value on these pairs; the others by how they compare with it; the warning.
    """

    def value(line: Line) -> str:
        return Cell(*line.values[by], "").text

    def expected(line: Line) -> str:
        return f"{Cell(*advice.new_sample[line.metric], '').text} on a new sample"

    lines = []
    highest, use = advice.highest, advice.use
    if use and use is not highest:
        lines.append(f"{title_of(by)} {expected(use)}, {_speed(use)}: {why_not_highest(advice)}")
    if highest:
        within = "" if budget is None else f", the highest of those that reach {budget:,.4g} pairs/s"
        name = "" if use is highest else f"highest: {highest.metric}, "
        number = f"{title_of(by)} {value(highest)} on {advice.board.n:,} pairs"
        corrected = advice.new_sample[highest.metric] != highest.values[by]
        if corrected:
            number = f"{title_of(by)} {expected(highest)}"
        lines.append(f"{name}{number}, {_speed(highest)}{within}")
        if corrected:
            lines.append(f"on the {advice.board.n:,} pairs that chose it: {value(highest)}, which the choice flatters")
    groups = {
        "could be the best, too": [f"{line.metric} ({value(line)}, {_speed(line)})" for line in advice.alike],
        "not the best": [f"{line.metric} ({value(line)}, {_speed(line)})" for line in advice.lower],
        "higher, but too slow": [f"{line.metric} ({value(line)}, {_speed(line)})" for line in advice.too_slow],
        "higher, at unknown cost": [f"{line.metric} ({value(line)})" for line in advice.unknown],
    }
    lines += [f"{what}: {', '.join(metrics)}" for what, metrics in groups.items() if metrics]
    if advice.size:
        lines.append(size_words(advice.size))
    if advice.warning:
        lines.append(advice.warning)
    return lines
