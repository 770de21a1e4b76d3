"""Sentences on the certainty of a recommendation and on the weaknesses of the metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from assay.analysis.decision import Choice, Evidence, Part, YesNoDecisions
from assay.analysis.leaderboard.board import Line
from assay.analysis.power import PlannedComparison
from assay.analysis.recommend.advice import Advice, rare_words
from assay.analysis.recommend.evidence import NO_COMMON_WORD
from assay.analysis.report import PageSettings
from assay.common.numbers import money, short
from assay.reports.decision.phrases import join_names, percent_text, shorten_metric_names, two_digit_text
from assay.reports.page.parts import typographic_condition
from assay.reports.recommend import MAX_REALISTIC_PAIRS
from assay.statistics.coefficients import title_of

#: The number of labels of the rarer class below which the page warns, and the interval width above which it does.
_FEW_LABELS, _WIDE = 50, 0.1
#: The number of pairs below which the page warns if there is no threshold.
_FEW_PAIRS = 100


def sentences_on_certainty(evidence: Evidence, settings: PageSettings, names: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on how the recommended metric compares with others, and how many labels would settle it.

    Args:
        evidence: the evidence for the decision.
        settings: the settings of the page.
        names: the short names of metrics.
    """
    advice = evidence.advice
    yield from _comparison_sentences(evidence, names)
    yield from _limit_sentences(evidence, settings, names)
    if advice.settling_plan is not None:
        yield labels_needed_sentence(advice.settling_plan, names, evidence.data.facts.n)
    if advice.recommended is not None and advice.warning:
        yield f"Caution: {shorten_metric_names(advice.warning, names)}."
    if evidence.missing:
        yield f"Not compared, because they lack scores: {shorten_metric_names('; '.join(evidence.missing), names)}."
    for hint in (*evidence.data.facts.hints, evidence.data.facts.grouping):
        if hint:
            yield f"A hint on the data: {hint}."


def _comparison_sentences(evidence: Evidence, names: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on how the recommended metric compares with each of the others.

    Of a run with one metric, there is one sentence, which says so. If no metric is recommended, the sentences only name
    the metrics that were not compared.
    """
    advice = evidence.advice
    recommended, highest = advice.recommended, advice.highest
    if evidence.compared == 1:
        yield "There was nothing to choose from: the run has one metric. Whether another one does better is unknown."
        return
    if recommended is not None and highest is not None:
        name = names[recommended.metric]
        if recommended is not highest:
            yield _loss_sentence(advice, names, title_of(evidence.by))
        other_contenders = [line for line in advice.contenders if line is not recommended]
        if other_contenders:
            yield f"These pairs cannot tell {names[highest.metric]} from {_names_of(other_contenders, names)}."
        if advice.risky:
            yield (
                f"Much cheaper or faster, but perhaps lower by more than {advice.limits.max_loss:g}: "
                f"{_names_of(advice.risky, names)}."
            )
        if recommended is highest and advice.lower:
            count = len(advice.lower)
            others_text = _names_of(advice.lower, names)
            if count == evidence.compared - 1:
                others_text = "the other metric" if count == 1 else f"each of the other {count} metrics"
            yield f"{name} agrees with people better than {others_text}, by more than chance would explain."
    if advice.untested:
        untested = _names_of(advice.untested, names)
        yield f"Not tested, since these pairs are too few or too much alike for it: {untested}."
    for line in advice.rare:
        yield f"{names[line.metric]} was left out, since too few pairs differ in its score: {rare_words(line)}."
    if advice.apart:
        names_text = join_names([f"{names[line.metric]} ({line.unscored:,})" for line in advice.apart])
        yield f"Not compared, because many of their scores are missing, or those of certain labels: {names_text}."


def _names_of(lines: Sequence[Line], names: Mapping[str, str]) -> str:
    """Return the short names of metrics as part of a sentence: the first five, and the number of others."""
    short_names = [names[line.metric] for line in lines]
    if len(short_names) > 5:
        short_names[5:] = [f"{len(short_names) - 5} others"]
    return join_names(short_names)


def _loss_sentence(advice: Advice, names: Mapping[str, str], statistic: str) -> str:
    """Return a sentence on what a metric that costs much less saves, and what it loses against the highest one.

    It is empty if the highest metric or none is recommended.

    Args:
        advice: the recommendation.
        names: the short names of metrics.
        statistic: the title of the coefficient that decides.
    """
    recommended, highest, loss = advice.recommended, advice.highest, advice.loss
    if recommended is None or highest is None or loss is None:
        return ""
    name, highest_name = names[recommended.metric], names[highest.metric]
    values = f"{statistic} {short(loss.first or 0.0, 3)} against {short(loss.second or 0.0, 3)}"
    return (
        f"{highest_name} has the higher value on these pairs ({values}), but a loss of more than "
        f"{advice.limits.max_loss:g} can be excluded, and "
        f"{_advantage_over_highest(name, recommended, highest_name, highest)}, use {highest_name}."
    )


def _limit_sentences(evidence: Evidence, settings: PageSettings, names: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on metrics with a higher value that exceed the limit of time or price, or may exceed it."""
    advice = evidence.advice
    price_limit = ""
    if settings.max_price is not None:
        # 0 as it is, where money() writes "free"
        price_limit = f"{money(settings.max_price) if settings.max_price else 0} per 1,000 pairs"
    both_limits = " and ".join(filter(None, (settings.budget, price_limit)))
    for lines, why, limit in (
        (advice.too_slow, "slower than", settings.budget),
        (advice.too_expensive, "more expensive than", price_limit),
        (advice.unknown, "of unknown cost, and not within", both_limits),
    ):
        if lines:
            yield f"Higher, but {why} the limit of {limit}: {join_names([names[line.metric] for line in lines])}."


def _advantage_over_highest(name: str, recommended: Line, highest_name: str, highest: Line) -> str:
    """Return a clause on what the recommended metric saves, and the start of one on when that does not matter.

    Args:
        name: the short name of the recommended metric.
        recommended: the recommended metric, which is cheaper or faster than *highest*.
        highest_name: the short name of *highest*.
        highest: the metric with the highest agreement.
    """
    price, highest_price = recommended.price_per_1000, highest.price_per_1000
    if price is None or highest_price is None or price >= highest_price:
        times = two_digit_text((recommended.pairs_per_second or 0.0) / (highest.pairs_per_second or math.inf))
        return f"{name} is about {times} times as fast. If speed does not matter"
    cost = f"costs {money(price)}" if price else "is free"
    highest_cost = f"1,000 pairs cost {money(highest_price)} with {highest_name}"
    return f"{name} {cost}, where {highest_cost}. If money does not matter"


def labels_needed_sentence(planned: PlannedComparison, names: Mapping[str, str], n: int) -> str:
    """Return a sentence on the number of labelled pairs that would tell two metrics apart, or on why it is unknown.

    Args:
        planned: the planned comparison of the two metrics.
        names: the short names of metrics.
        n: the number of pairs now.
    """
    metric_pair = f"{names.get(planned.first, planned.first)} from {names.get(planned.second, planned.second)}"
    if planned.pilot is None or planned.plan is None:
        return f"These pairs are too few, or too much alike, to say how many are needed to tell {metric_pair}."
    if planned.plan.needed is None:
        return f"The difference is so small that no number of pairs is known to tell {metric_pair}."
    pairs = planned.pair_count(planned.plan.needed)
    if pairs is None or pairs > MAX_REALISTIC_PAIRS:
        return (
            f"The difference is so small that it would take more than {MAX_REALISTIC_PAIRS:,} labelled pairs "
            f"to tell {metric_pair}."
        )
    return f"It takes about {pairs:,} labelled pairs, not {n:,}, to tell {metric_pair}."


def sentences_on_weaknesses(evidence: Evidence, choice: Choice, names: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences on where the metric fails, and on what these pairs cannot show.

    Args:
        evidence: the evidence for the decision.
        choice: the recommended metric.
        names: the short names of metrics.
    """
    data = evidence.data
    yield _no_common_word_sentences(evidence, choice, names)
    for part in choice.parts:
        share = percent_text(part.wrong.value or 0.0)
        yield f"{_name_of_part(part)}: {share} of {part.wrong.of:,} decisions are wrong, more than elsewhere."
    if choice.yes_no is not None:
        yield from _few_label_sentences(choice.yes_no)
    elif data.facts.n < _FEW_PAIRS:
        yield f"All of this rests on only {data.facts.n:,} pairs."
    yield _sentence_on_annotators(evidence)
    for flag, count in choice.record.flags.items():
        yield f"{count:,} of {data.facts.n:,} pairs: {flag}."
    unscored = choice.line.unscored
    if unscored:
        yield "1 pair has no score." if unscored == 1 else f"{unscored:,} pairs have no score and are not counted."
    yield (
        "All of this holds for pairs like these. For other questions, other systems or another language, label some "
        "pairs and look again."
    )


def _few_label_sentences(yes_no: YesNoDecisions) -> Iterator[str]:
    """Yield a sentence if people call few pairs yes, or few no, or else if the range of errors is wide."""
    decision, expected = yes_no.decision, yes_no.share_wrong
    rarer_count = min(decision.positive, decision.n - decision.positive)
    rarer_word = "yes" if decision.positive == rarer_count else "no"
    if rarer_count < _FEW_LABELS:
        yield (
            f"People call only {rarer_count:,} pairs {rarer_word}: what this page says about them rests on few labels."
        )
    elif expected.low is not None and expected.high is not None and expected.high - expected.low > _WIDE:
        yield "The range of errors to expect is wide because there are few labels; more labels make it narrower."


def _sentence_on_annotators(evidence: Evidence) -> str:
    """Return a sentence on how well people agree with each other, or on why that is unknown."""
    alpha = _alpha_of_annotators(evidence)
    if alpha is not None:
        return (
            f"People do not always agree among themselves either (Krippendorff's α {short(alpha, 2)}, where 1 is full "
            "agreement): some of what counts as an error may be one of the labels."
        )
    if evidence.data.has_annotators:
        return (
            "Several people labelled some of these pairs, but these are too few, or too much alike, to say how well "
            "they agree with each other: some errors may be errors of the labels."
        )
    return "The data does not show how well people agree with each other: some errors may be errors of the labels."


def _alpha_of_annotators(evidence: Evidence) -> float | None:
    """Return the ordinal Krippendorff's alpha of the annotators, at most 1; None if undefined or not stored."""
    bucket = evidence.all_pairs_bucket
    if bucket is None or bucket.reliability is None:
        return None
    # labels are ordered, and nominal alpha would treat all disagreements alike
    return bucket.reliability.alpha.get("ordinal")


def _no_common_word_sentences(evidence: Evidence, choice: Choice, names: Mapping[str, str]) -> str:
    """Return sentences on the metric's errors and agreement on pairs whose reference and candidate share no word.

    If there are no such pairs, or if the run did not separate them, a sentence says so.
    """
    advice = evidence.advice_without_common_word
    if advice is None:
        reason = "there are none" if NO_COMMON_WORD in evidence.data.buckets else "the run did not separate them"
        return f"How well it does on pairs without a word in common is unknown: {reason}."
    n = advice.board.n
    text = f"{n:,} pairs have no word in common"
    if choice.without_common_word is not None:
        text += f": {percent_text(choice.without_common_word.wrong.value or 0.0)} of the decisions on them are wrong"
    metric = choice.line.metric
    line_there = next(line for line in advice.board.lines if line.metric == metric)
    agreement = line_there.values[evidence.by]
    if agreement.value is None:
        text += ". No agreement with people can be computed there"
    else:
        chance = line_there.chance[evidence.by]
        on_all_pairs = choice.line.values[evidence.by].text
        text += (
            f". Its agreement with people there is {agreement.text}, against {on_all_pairs} on all pairs"
            f" ({title_of(evidence.by)}; {short(chance, 2)} would be chance)"
        )
        if agreement.low is None or agreement.low <= chance:
            text += ": there it may do no better than guessing"
    if advice.recommended is not None and advice.recommended.metric != metric:
        text += f". For such pairs alone, {names[advice.recommended.metric]} would be recommended"
    return f"{text}."


def _name_of_part(part: Part) -> str:
    """Return the subject of a sentence on a part: the pairs of a category, or those of a bucket."""
    if part.found_by:
        return f"Pairs of the kind “{part.name}”, as {part.found_by} classified them"
    if part.name == "f1>0":
        return "Pairs with a word in common"
    return f"Pairs with {typographic_condition(part.name)}"
