"""A recommendation in words and as records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from assay.analysis.leaderboard.board import Line
from assay.analysis.power import PlannedComparison
from assay.analysis.recommend.advice import MUCH_FASTER, Advice, rare_words
from assay.analysis.recommend.best_systems import BestSystems
from assay.analysis.recommend.closing import Closing
from assay.common.addresses import command_line
from assay.common.numbers import Number, money, rate, short, signed
from assay.reports.sheets import Document, Sheet
from assay.statistics.coefficients import title_of

#: The number of labelled pairs above which the exact number that would settle the choice is not shown.
MAX_REALISTIC_PAIRS = 100_000
#: What a metric costs, where nothing of it is known.
_UNKNOWN_COST = "unknown cost"
#: The bucket of all pairs.
WHOLE = "all"


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


def with_advice(document: Document, advice: Sequence[Advice], by: str, positive: str | None = None) -> Document:
    """Return the document of a board with one sheet of advice per bucket above its sheets.

    Its records are those of the advice only; its JSON has both the advice and the evidence. Sheets on a bucket other
    than all pairs are marked as being of a part.

    Args:
        document: the document of the board.
        advice: the recommendation for each bucket.
        by: the coefficient that decides.
        positive: the rule for the labels that mean yes, if metrics were chosen for that decision; else None.
    """
    sheets, records = [], []
    titles_of_parts = []
    for bucket_advice in advice:
        lines = _advice_lines(bucket_advice, by)
        if positive is not None:
            lines.insert(0, f"for the decision whether {positive} (--positive): {title_of(by)} against it decides")
        sheets.append(Sheet(_advice_headline(bucket_advice), (), (), facts=tuple(lines)))
        records.append({**_advice_record(bucket_advice, by), "positive": positive})
        board = bucket_advice.board
        if board.bucket != WHOLE:
            titles_of_parts.append(f"{board.title}, {board.bucket}")
    # a sheet on a part of the pairs has the title of the part, or that title and more
    beginnings = tuple(chain.from_iterable((title, f"{title}:") for title in titles_of_parts))
    marked = [replace(sheet, is_of_part=sheet.title.startswith(beginnings)) for sheet in [*sheets, *document.sheets]]
    value = {"advice": records, "evidence": list(document.records)}
    return replace(document, sheets=marked, records=records, value=value)


def with_closing(document: Document, closing: Closing, out: str | Path | None) -> Document:
    """Return the document of a recommendation with its closing: what it comes down to, in at most six lines.

    With a closing, a terminal leaves sheets on parts of the pairs to ``--explain``.

    Args:
        document: the document with advice and evidence.
        closing: what the recommendation for all pairs comes down to.
        out: the folder that was written; None without one.
    """
    folder = "FOLDER" if out is None else str(out)
    lines = _use_lines(closing)
    if closing.systems is not None and closing.line is not None:
        lines.append(best_system_text(closing.systems, closing.line.metric))
    if closing.settling is not None:
        lines.append(settling_size_text(closing.settling))
    lines.append(_next_line(closing, folder, is_kept=out is not None))
    return replace(document, closing=lines, value={**document.value, "closing": lines})


def _use_lines(closing: Closing) -> list[str]:
    """Return the lines on the metric with its threshold, the errors to expect, and the cost.

    Without a threshold, there is no line on errors, and the last line is why there is none, if that is known. Without a
    metric, there is one line that says so.
    """
    if closing.line is None:
        return ["Use no metric of these without people: none is known to agree with them."]
    line, yes_no = closing.line, closing.yes_no
    cost_text = _cost_text(line, has_prices=line.price_per_1000 is not None)
    cost = "What it costs is unknown." if cost_text == _UNKNOWN_COST else f"It costs {cost_text}."
    if yes_no is None:
        lines = [f"Use {line.metric}.", cost]
        return [*lines, closing.why_no_threshold] if closing.why_no_threshold else lines
    deployed = yes_no.decision.deployed
    # thresholds are those of negated scores if lower scores are better
    threshold = f">= {deployed:.3g}" if yes_no.is_rising else f"<= {-deployed:.3g}"
    wrong = yes_no.share_wrong
    if wrong.value is None or wrong.low is None or wrong.high is None:
        errors = "How often it errs is unknown"
    else:
        value, low, high = (f"{100 * share:.0f}" for share in (wrong.value, wrong.low, wrong.high))
        errors = f"Expect {value} of 100 decisions to differ from people's ({low} to {high})"
        divided = yes_no.subject.divided
        if divided:
            errors += f", of pairs on which most people agree; {divided:,} on which as many said yes as no are left out"
    return [f"Use {line.metric}: {closing.positive} if its score is {threshold}.", f"{errors}.", cost]


def best_system_text(systems: BestSystems, metric: str) -> str:
    """Return the sentence on which of the two best systems is better, by people and by a metric of this short name."""
    of_more = f", the two best of {systems.count}" if systems.count > 2 else ""
    verdict = f"{systems.first} is better" if systems.people_differ else "not told apart"
    text = (
        f"{systems.first} against {systems.second}{of_more}: {verdict} by people ({_difference_text(systems.people)})"
    )
    if systems.metric is not None:
        better = systems.first if (systems.metric.value or 0.0) > 0 else systems.second
        by_metric = f"{better} by {metric}" if systems.metric_differs else f"{metric} cannot tell"
        text += f"; {by_metric} ({_difference_text(systems.metric)})"
    return f"{text}; {systems.items:,} shared items."


def _difference_text(difference: Number) -> str:
    """Return a difference with its sign and its interval, if it has one; a dash if it is undefined."""
    if difference.value is None:
        return "–"
    if difference.low is None or difference.high is None:
        return signed(difference.value)
    return f"{signed(difference.value)} [{signed(difference.low, 2)}, {signed(difference.high, 2)}]"


def _next_line(closing: Closing, folder: str, *, is_kept: bool) -> str:
    """Return a line with the command that comes next: labels if no metric is named, else new answers.

    Args:
        closing: what the recommendation comes down to.
        folder: the folder that was written, or a placeholder for it.
        is_kept: whether it was written; if not, writing it comes first.
    """
    if closing.line is None:
        command = f"{command_line('annotate', 'NEW.csv', '--decision', folder, '--out', 'SHEET.csv')} for more labels."
        return f"Next: {command}" if is_kept else f"Next: the same command with --out FOLDER, then {command}"
    if not is_kept:
        return "Next: the same command with --out FOLDER, which keeps the metric and its threshold for new answers."
    return f"Next: {command_line('rate', 'NEW.csv', '--decision', folder)} for answers that nobody labelled."


def _advice_record(advice: Advice, by: str) -> dict[str, Any]:
    """Return one recommendation as a flat record; undefined or unknown values are None."""
    highest, recommended = advice.highest, advice.recommended
    observed = highest.values[by] if highest else Number()
    highest_new = advice.new_sample[highest.metric] if highest else Number()
    recommended_new = advice.new_sample[recommended.metric] if recommended else Number()
    return {
        "dataset": advice.board.title,
        "bucket": advice.board.bucket,
        "use": recommended.metric if recommended else None,
        "use_value": recommended_new.value,
        "use_low": recommended_new.low,
        "use_high": recommended_new.high,
        "use_pairs_per_second": recommended.pairs_per_second if recommended else None,
        "use_price_per_1000": recommended.price_per_1000 if recommended else None,
        "use_signature": recommended.signature if recommended else None,
        "highest": highest.metric if highest else None,
        by: observed.value,
        f"{by}_low": observed.low,
        f"{by}_high": observed.high,
        "highest_value": highest_new.value,
        "highest_low": highest_new.low,
        "highest_high": highest_new.high,
        "pairs_per_second": highest.pairs_per_second if highest else None,
        "price_per_1000": highest.price_per_1000 if highest else None,
        "signature": highest.signature if highest else None,
        "cannot_be_told_apart": "; ".join(line.metric for line in advice.contenders),
        "not_the_best": "; ".join(line.metric for line in advice.lower),
        "not_tested": "; ".join(line.metric for line in advice.untested),
        "rare_scores": "; ".join(line.metric for line in advice.rare),
        "set_apart": "; ".join(line.metric for line in advice.apart),
        "max_loss": advice.limits.max_loss,
        "loss": advice.loss.value if advice.loss else None,
        "too_slow": "; ".join(line.metric for line in advice.too_slow),
        "too_expensive": "; ".join(line.metric for line in advice.too_expensive),
        "why": why_not_highest(advice),
        "warning": advice.warning,
        "n": advice.board.n,
        "by": by,
        **_settling_size_record(advice.settling_plan),
    }


def _settling_size_record(settling_plan: PlannedComparison | None) -> dict[str, Any]:
    """Return the fields of a record on the number of pairs that would settle the choice of metric.

    All are None without a plan. The numbers are None if none is known, or none is enough.
    """
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
    """Return the reason why a metric other than the highest is recommended: its lower cost, and what it may lose.

    It is empty if the highest metric or none is recommended.
    """
    highest, recommended = advice.highest, advice.recommended
    if highest is None or recommended is None or advice.loss is None:
        return ""
    # 0 if either speed is unknown; the recommended metric is then the cheaper one
    ratio = (recommended.pairs_per_second or 0.0) / (highest.pairs_per_second or math.inf)
    # measured speeds are not exact enough for more than two digits
    speed_ratio = rate(float(f"{ratio:.2g}"))
    price, highest_price = recommended.price_per_1000, highest.price_per_1000
    loss = (
        f"lower by {short(advice.loss.value or 0.0, 3)}; a loss of more than {advice.limits.max_loss:g} can be excluded"
    )
    if price is None or highest_price is None or price >= highest_price:
        return f"{speed_ratio} times as fast as {highest.metric}, and {loss} (--max-loss)"
    faster = f", {speed_ratio} times as fast" if ratio >= MUCH_FASTER else ""
    prices = f"{money(price)} against {money(highest_price)} per 1,000 pairs"
    return f"cheaper than {highest.metric} ({prices}){faster}, and {loss} (--max-loss)"


def _advice_headline(advice: Advice) -> str:
    """Return the headline of a recommendation: dataset, bucket and verdict.

    The verdict is the metric to use, ``use no metric`` if none is within the limits, or that none can be recommended.
    """
    if advice.recommended:
        verdict = f"use {advice.recommended.metric}"
    elif advice.board.unranked or advice.rare or advice.highest:
        verdict = "no metric can be recommended"
    else:
        verdict = "use no metric"
    return f"{advice.board.title}, {advice.board.bucket}: {verdict}"


def _cost_text(line: Line, *, has_prices: bool) -> str:
    """Return the known speed and the known price of a metric: ``30 pairs/s, 0.42 per 1,000 pairs``.

    The text is ``unknown cost`` if there is neither.

    Args:
        line: the metric.
        has_prices: whether to give a price, since some metric costs money.
    """
    speed = "" if line.pairs_per_second is None else f"{rate(line.pairs_per_second)} pairs/s"
    if not has_prices or line.price_per_1000 is None:
        return speed or _UNKNOWN_COST
    price = f"{money(line.price_per_1000)} per 1,000 pairs" if line.price_per_1000 else "free"
    return f"{speed}, {price}" if speed else price


def _lines_on_choice(advice: Advice, by: str) -> Iterator[str]:
    """Yield the lines on the recommended metric, if it is not the highest, and on the highest one, if there is any.

    A value that was corrected for the choice of the highest of several is followed by the uncorrected one.

    Args:
        advice: the recommendation.
        by: the coefficient that decides.
    """
    highest, recommended = advice.highest, advice.recommended
    has_prices = advice.board.has_prices
    if recommended and recommended is not highest:
        agreement = f"{title_of(by)} {advice.new_sample[recommended.metric].text} on a new sample"
        yield f"{agreement}, {_cost_text(recommended, has_prices=has_prices)}: {why_not_highest(advice)}"
    if highest is None:
        return
    description = advice.limits.description
    limits_text = f", the highest of those that {description}" if description else ""
    name = "" if recommended is highest else f"highest: {highest.metric}, "
    on_these_pairs, expected = highest.values[by], advice.new_sample[highest.metric]
    pair_count_text = f"{advice.board.shared:,} pairs"
    is_corrected = expected != on_these_pairs
    agreement = f"{expected.text} on a new sample" if is_corrected else f"{on_these_pairs.text} on {pair_count_text}"
    yield f"{name}{title_of(by)} {agreement}, {_cost_text(highest, has_prices=has_prices)}{limits_text}"
    if is_corrected and expected.text != on_these_pairs.text:
        yield f"on the {pair_count_text} that chose it: {on_these_pairs.text}, which the choice flatters"


def _advice_lines(advice: Advice, by: str) -> list[str]:
    """Return the lines of text below the headline of a recommendation.

    They are, as far as they apply: the metric to use with its value expected on a new sample, and why it is not the
    highest; the highest metric; the other metrics by how they compare with it; the number of pairs that would settle
    the choice; and the warning.
    """

    def value_text(line: Line) -> str:
        return line.values[by].text

    def texts_with_cost(metric_lines: Sequence[Line]) -> list[str]:
        has_prices = advice.board.has_prices
        costs = [_cost_text(line, has_prices=has_prices) for line in metric_lines]
        return [f"{line.metric} ({value_text(line)}, {cost})" for line, cost in zip(metric_lines, costs, strict=True)]

    lines = list(_lines_on_choice(advice, by))
    max_loss = f"{advice.limits.max_loss:g}"
    metrics_by_relation = {
        "could be the best, too": texts_with_cost(advice.contenders),
        f"cost much less, but may lose more than {max_loss} (--max-loss)": [line.metric for line in advice.risky],
        # the table below has their values
        "not the best": [line.metric for line in advice.lower],
        "not tested": texts_with_cost(advice.untested),
        "too few pairs differ in score": [f"{line.metric} ({rare_words(line)})" for line in advice.rare],
        "not compared, for lack of scores": [
            f"{line.metric} ({value_text(line)} on its {line.n:,} pairs)" for line in advice.apart
        ],
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
