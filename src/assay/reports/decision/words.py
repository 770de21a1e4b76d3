"""The sentences of the page for a decision, for readers who know neither the metrics nor the statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.decision import Choice, Evidence, YesNoDecisions
from assay.analysis.leaderboard.board import Line
from assay.analysis.rate.kept import KeptPart, KeptRating
from assay.analysis.report import PageSettings
from assay.analysis.settings import draws_signature
from assay.analysis.systems import find_system_column
from assay.analysis.thresholds.settings import parse_costs
from assay.common.addresses import command_line
from assay.common.messages import Message
from assay.common.numbers import Number, money, percent
from assay.common.tables import short_names
from assay.manifest import MetricRecord
from assay.reports.decision.examples import Judgement, judgements
from assay.reports.decision.limits import sentences_on_certainty, sentences_on_weaknesses
from assay.reports.decision.phrases import (
    join_names,
    metric_count_text,
    natural_frequency,
    percent_text,
    shorten_metric_names,
    two_digit_text,
)
from assay.reports.recommend import best_system_text
from assay.reports.thresholds import unreached_target_notes
from assay.statistics.coefficients import OF_TWO_LABELS, title_of

#: Kind of metric -> a description for somebody who knows none of them.
_KIND_DESCRIPTIONS = {
    "lexical": "which compares the words or characters of the two texts",
    "embedding": "which compares how a language model represents the two texts",
    "combined": "one score that was learned from several metrics",
    "cross-encoder": "a language model that reads the two texts together",
    "judge": "a language model that is asked for its verdict on each pair",
    "amr": "which compares graphs of what the two texts mean",
    "recorded": "whose scores came with the data",
    "function": "a function of your own",
}
#: Name of a metric in its signature -> a description that replaces that of its kind.
_METRIC_DESCRIPTIONS = {
    "contains": "which tells whether the reference occurs in the candidate, apart from case, punctuation and articles",
    "em": "which tells whether the two texts are the same, apart from case, punctuation and articles",
    "f1": "which measures how many of their words the two texts have in common",
    "token-recall": "which measures how many words of the reference occur in the candidate",
}
#: Measure that a threshold maximises -> the purpose in words.
_AIMS = {
    "f1-macro": "for a balance of yes and no (the mean of their F1 values)",
    "f1": "to get yes right (its F1 value)",
    "accuracy": "for as few wrong decisions as possible",
    "youden": "to find as many of both yes and no as possible (Youden's J)",
    "mcc": "for decisions that correlate best with the labels (Matthews' correlation)",
}


@dataclass(frozen=True)
class Answer:
    """One part of the answer: its subject, and one or more sentences."""

    about: str
    text: str


@dataclass(frozen=True)
class Section:
    """A heading and points of one or more sentences each."""

    title: str
    points: Sequence[str]


@dataclass(frozen=True)
class DecisionPage:
    """All texts of the page.

    Attributes:
        title, note, lead: the texts at the top; the note is the user's own and may be empty.
        verdict: the recommendation in one line.
        answers: the answers on metric, threshold, errors, cost and labels.
        counts: the numbers of decisions by kind, for the picture; empty without decisions.
        sections: the sections on certainty and on weaknesses of the metric.
        commands: the commands that apply the decision, by their purpose.
        examples: the right and wrong judgements by heading.
        small: the notes on how the numbers were computed.
    """

    title: str
    note: str
    lead: str
    verdict: str
    answers: Sequence[Answer]
    counts: Mapping[str, int]
    sections: Sequence[Section]
    commands: Mapping[str, str]
    examples: Mapping[str, Sequence[Judgement]]
    small: Sequence[str]


def decision_page(evidence: Evidence, settings: PageSettings) -> DecisionPage:
    """Return the texts of the page, from the evidence for a decision.

    If no metric can be recommended, the page says why, and has no examples, commands or section on weaknesses.
    """
    names = short_names(evidence.data.metrics)
    choice, facts = evidence.choice, evidence.data.facts
    examples = {} if choice is None else judgements(evidence.data, choice)
    title = "How the metrics compare" if choice is None else "How sure is this choice?"
    sections = [Section(title, list(sentences_on_certainty(evidence, settings, names)))]
    if choice is not None:
        sections.append(Section("What it does not see", list(sentences_on_weaknesses(evidence, choice, names))))
    return DecisionPage(
        title=settings.title or f"Which metric to use for {evidence.data.title}",
        note=settings.note or "",
        lead=(
            f"People labelled {facts.n:,} pairs of a reference (the text expected) and a candidate (the text to "
            f"judge), and {metric_count_text(evidence.compared)} scored them. A metric is a program that computes how "
            "alike two texts are. This page says which one to use in place of people, and which errors to expect."
        ),
        verdict=_verdict_sentence(choice, names),
        answers=list(_answers(evidence, names)),
        counts=choice.yes_no.counts if choice is not None and choice.yes_no is not None else {},
        sections=sections,
        commands={} if choice is None else _commands(evidence),
        examples=examples,
        small=list(_notes_to_reproduce(evidence, has_examples=bool(examples))),
    )


def _verdict_sentence(choice: Choice | None, names: Mapping[str, str]) -> str:
    """Return the recommendation in one line: the metric by its short name, and the threshold if there is one."""
    if choice is None:
        return "No metric can be recommended"
    name = names[choice.line.metric]
    if choice.yes_no is None:
        return f"Use {name}"
    bound_text = "at least" if choice.yes_no.is_rising else "at most"
    return f"Use {name}, and count a score of {bound_text} {_threshold_text(choice.yes_no)} as yes"


def _answers(evidence: Evidence, names: Mapping[str, str]) -> Iterator[Answer]:
    """Yield the answers on metric, threshold, errors, systems, cost and labels, as far as there are any."""
    choice = evidence.choice
    if choice is None:
        yield Answer("Metric", _reason_for_no_metric(evidence, names))
    else:
        yield Answer("Metric", _metric_answer(choice, names, has_two_labels=evidence.by == OF_TWO_LABELS))
        if choice.yes_no is None:
            yield Answer("Threshold", f"None yet. {choice.why_no_threshold}")
        else:
            yield Answer("Threshold", _threshold_answer(choice.record, choice.yes_no))
            yield Answer("Errors", _error_answer(choice.yes_no))
        if evidence.systems is not None:
            yield Answer("Systems", best_system_text(evidence.systems, names[choice.line.metric]))
        for rating in evidence.ratings:
            yield Answer("New answers", _rating_answer(rating, names[rating.metric]))
        yield Answer("Cost", " ".join([_cost_answer(choice, names), *_price_sentences(choice.line, evidence)]))
    yield Answer("Labels", _label_answer(evidence))


def _interval_words(value: Number, level: float) -> str:
    """Return the interval of a share in words; empty if it has none."""
    if value.low is None or value.high is None:
        return ""
    return f"between {percent_text(value.low)} and {percent_text(value.high)} ({percent(level)} interval)"


def _threshold_text(yes_no: YesNoDecisions) -> str:
    """Return the threshold to deploy, as ``assay thresholds`` prints it."""
    value = yes_no.decision.deployed
    # thresholds are those of negated scores if lower scores are better
    return f"{value:.3g}" if yes_no.is_rising else f"{-value:.3g}"


# The answer.


def _reason_for_no_metric(evidence: Evidence, names: Mapping[str, str]) -> str:
    """Return sentences on why no metric is recommended, and on the one with the highest value if there is one."""
    highest = evidence.advice.highest
    reason = shorten_metric_names(evidence.advice.warning, names)
    if highest is None:
        return f"None can be recommended: {reason}."
    return f"None can be recommended. {names[highest.metric]} has the highest value, with a reservation: {reason}."


def _metric_answer(choice: Choice, names: Mapping[str, str], *, has_two_labels: bool) -> str:
    """Return a description of the recommended metric, and how often it orders two pairs as people do if that is known.

    Args:
        choice: the recommended metric.
        names: the short names of metrics.
        has_two_labels: whether the labels have two values, which are called yes and no.
    """
    record, order = choice.record, choice.order
    description = _METRIC_DESCRIPTIONS.get(record.signature.get("metric", "")) or _KIND_DESCRIPTIONS.get(
        record.declared.kind
    )
    text = f"{names[record.metric]}, {description}." if description else f"{names[record.metric]}."
    if order.value is None:
        return text
    two_pairs = "two pairs that people label differently"
    if has_two_labels:
        two_pairs = "two pairs, one that people call yes and one that they call no"
    frequency = natural_frequency(order.value)
    text += f" Of {two_pairs}, it gives the better one the higher score in {frequency} cases"
    if order.low is not None and order.high is not None:
        low, high = f"{100 * order.low:.0f}", f"{100 * order.high:.0f}"
        text += f", on new pairs like these in {low} to {high}. Guessing would do so in 50"
    if choice.compared < choice.scored:
        text += f". This is of the {choice.compared:,} pairs that all compared metrics scored"
    return f"{text}."


def _threshold_answer(record: MetricRecord, yes_no: YesNoDecisions) -> str:
    """Return sentences on the threshold, the range of the scores, what yes means, and the aim of the threshold."""
    side = f"at least {_threshold_text(yes_no)}"
    if not yes_no.is_rising:
        side = f"at most {_threshold_text(yes_no)} (a low score is better)"
    low, high = record.declared.low, record.declared.high
    scale = "" if low is None or high is None else f" Scores range from {low:g} to {high:g}."
    rule = yes_no.subject.rule.removeprefix("label").replace(">=", "at least ").replace(">", "more than ")
    return (
        f"A pair counts as yes if its score is {side}, otherwise as no.{scale} Yes means a label of {rule}. The "
        f"threshold was chosen {_aim_of_threshold(yes_no)}."
    )


def _aim_of_threshold(yes_no: YesNoDecisions) -> str:
    """Return the purpose that the threshold was chosen for, as the end of a sentence: ``to cost least, …``."""
    settings = yes_no.settings
    if settings.precision is not None:
        return (
            f"to find as many yes as possible while people agree with at least {percent(settings.precision)} of its "
            "decisions for yes"
        )
    if settings.recall is not None:
        return (
            f"to be right about yes as often as possible while it finds at least {percent(settings.recall)} of all yes"
        )
    if settings.cost is not None:
        alarm, miss = parse_costs(settings.cost)
        return f"for the lowest cost, if a false yes costs {alarm:g} and a false no {miss:g}"
    return _AIMS[settings.measure]


def _error_answer(yes_no: YesNoDecisions) -> str:
    """Return sentences on the errors to expect; ``Unknown.`` if the share of wrong decisions is undefined.

    They have the share of wrong decisions on held-out pairs, the shares of false negatives and false positives, and the
    share of errors of a constant answer; then, if there are any, the target that was missed, the mean cost, and the
    number of pairs on which people are divided.
    """
    share = yes_no.share_wrong
    decision = yes_no.decision
    if share.value is None:
        return "Unknown."
    level = yes_no.settings.confidence
    text = (
        f"Expect {natural_frequency(share.value)} decisions to be wrong: {percent_text(share.value)} of those on pairs "
        "that the threshold was not learned on"
    )
    new_pairs = "new pairs like these"
    if yes_no.subject.divided:
        text += ", of pairs on which most people agree"
        new_pairs = "new pairs of that kind"
    interval = _interval_words(share, level)
    text += f"; on {new_pairs}, {interval}." if interval else ", which are too few for an interval."
    counts = yes_no.counts
    yes, no = decision.positive, decision.n - decision.positive
    missed, alarmed = percent_text(counts["misses"] / yes), percent_text(counts["alarms"] / no)
    text += f" The metric says no to {missed} of the pairs that people call yes, "
    text += f"and yes to {alarmed} of those that they call no. {_constant_answer_clause(yes, no, share)}"
    (metric,) = yes_no.subject.decisions
    for note in unreached_target_notes(yes_no.subject, yes_no.settings):
        text += f". Target missed: {note.removeprefix(f'{metric}: ')}"
    cost = decision.tested.get("cost")
    if cost is not None and cost.value is not None:
        text += f". At the costs given, a decision costs {cost.value:.3g} on average"
    if yes_no.subject.divided:
        text += (
            f". People are divided on {yes_no.subject.divided:,} further pairs, as many said yes as no; whatever is "
            "decided there, half of them disagree"
        )
    return f"{text}."


def _constant_answer_clause(yes: int, no: int, share_wrong: Number) -> str:
    """Return a sentence, without its full stop, on how often one and the same answer to all pairs would be wrong.

    If that is not worse than the metric, or perhaps not, the sentence says so.

    Args:
        yes, no: the numbers of pairs that people call yes and no.
        share_wrong: the share of wrong decisions by the metric.
    """
    frequent, rare = ("yes", "no") if yes >= no else ("no", "yes")
    constant_share = min(yes, no) / (yes + no)
    text = f"Always saying {frequent} would be wrong on {percent_text(constant_share)} of these pairs"
    if share_wrong.value is not None and constant_share <= share_wrong.value:
        remark = f"never find a “{rare}”: the metric is worth it if that matters more than the number of errors"
        return f"{text} and {remark}"
    if share_wrong.high is not None and constant_share <= share_wrong.high:
        return f"{text}; it is not certain that the metric does better on new pairs"
    return text


def _cost_answer(choice: Choice, names: Mapping[str, str]) -> str:
    """Return sentences on the computing time of the metric, or on why it is unknown.

    The time of metrics that share an engine is one number, so the others are named.
    """
    record, speed = choice.record, choice.line.pairs_per_second
    if not speed:
        if record.declared.kind == "recorded":
            return "Unknown: its scores came with the data."
        return "Unknown: its scores were recorded, or computed in an earlier run. A run with --fresh measures it."
    duration = _duration_words(1000 / speed)
    text = f"1,000 pairs take {duration} on the machine of the run ({two_digit_text(speed)} pairs per second"
    devices = record.cost.details.get("devices")
    text += f", {', '.join(map(str, devices))})" if isinstance(devices, list) and devices else ")"
    shared = [names.get(name, name) for name in record.cost.shared_with]
    return f"{text}, together with {join_names(shared)}." if shared else f"{text}."


def _price_sentences(line: Line, evidence: Evidence) -> Iterator[str]:
    """Yield a sentence on the price of pairs, if any metric costs money."""
    if not evidence.advice.board.has_prices:
        return
    price = line.price_per_1000
    if price is None:
        yield "The price of a pair is unknown."
    elif price:
        yield f"The price of 1,000 pairs is {money(price)}, in the currency of the prices given to the run."
    else:
        yield "It is free."


def _duration_words(seconds: float) -> str:
    """Return a duration in the largest unit of which it has 2 or more, or in seconds.

    It is rounded to two significant digits, and from 10 on to a whole number.
    """
    number, unit = seconds, "seconds"
    for larger_unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            number, unit = seconds / size, larger_unit
            break
    # a whole number first: the format .2g would write 99.6 with an exponent
    return f"{number:,.0f} {unit}" if number >= 9.95 else f"{number:.2g} {unit}"


def _rating_answer(rating: KeptRating, metric: str) -> str:
    """Return sentences on new answers that nobody labelled: the estimate of all, of each part, and what to doubt.

    An estimate with a star has no labels of its own; the last sentences explain it.

    Args:
        rating: the estimates.
        metric: the short name of the metric that scored the answers.
    """
    whole, *parts = rating.parts
    measure = "mean label" if rating.kind == "mean" else "share right"
    if rating.positive is not None:
        measure = f"share of {rating.positive}"
    text = (
        f"{rating.title}: {whole.answers:,} answers that nobody labelled, {measure} {_estimate_words(rating, whole)} "
        f"({percent(rating.confidence)} interval), by {metric} and {whole.labelled:,} labels."
    )
    if parts:
        of_parts = "; ".join(f"{part.name} {_estimate_words(rating, part)}" for part in parts)
        text += f" By {' and '.join(dict.fromkeys(part.column for part in parts))}: {of_parts}."
    if any(part.borrowed for part in rating.parts):
        text += " * no labels of its own: holds only if the metric errs there as on the labelled answers."
    return " ".join([text, *(f"Doubtful: {warning}." for warning in rating.warnings)])


def _estimate_words(rating: KeptRating, part: KeptPart) -> str:
    """Return an estimate with its interval, as percentages for shares, with a mark if its labels are borrowed."""
    if part.value is None or part.low is None or part.high is None:
        return "unknown"
    if rating.kind == "share":
        value, low, high = (percent_text(number) for number in (part.value, part.low, part.high))
    else:
        value, low, high = (f"{number:.3g}" for number in (part.value, part.low, part.high))
    return f"{value}{'*' if part.borrowed else ''} [{low} to {high}]"


def _commands(evidence: Evidence) -> dict[str, str]:
    """Return the commands that apply the decision to answers of tomorrow, by their purpose.

    The check of a next release is among them only if the data has systems or questions, by which answers are compared.
    """
    folder = evidence.run.title
    system = find_system_column(evidence.data.table, None)
    of_systems = ["--system", system] if system else []
    commands = {
        "The share right of answers that nobody labelled": command_line("rate", "NEW.csv", "--decision", folder),
        "Each answer: score, probability, yes or no": command_line(
            "score", "NEW.csv", "--decision", folder, "--out", "SCORED.csv"
        ),
        "In continuous integration, the metric is no worse than today": command_line(
            "baseline", folder, "--out", "baseline.json", "--ci", "github", *of_systems
        ),
    }
    if system or "question" in evidence.data.table.column_names:
        commands["The answers of a next release, without labels, are no worse"] = command_line(
            "check", "NEW.csv", "--against", folder, "--system-by", "rate"
        )
    return commands


def _label_answer(evidence: Evidence) -> str:
    """Return the number of labelled pairs and groups, how often people's labels differ, and what the labels mean."""
    facts, bucket = evidence.data.facts, evidence.all_pairs_bucket
    text = f"{facts.n:,} labelled pairs"
    if evidence.choice is not None and evidence.choice.yes_no is not None:
        decision = evidence.choice.yes_no.decision
        text += f", {decision.positive:,} of them yes and {decision.n - decision.positive:,} no"
    if facts.group and bucket is not None and bucket.groups is not None:
        text += f", in {bucket.groups:,} groups, one per {facts.group}, each of which counts as a unit"
    labelled_twice, divided = evidence.data.disagreements()
    if labelled_twice:
        which = "all" if labelled_twice == facts.n else f"{labelled_twice:,} of them"
        text += f"; {which} by two people or more, whose labels differ on {divided:,}"
    meanings = [note for note in facts.notes if note.startswith("labels: ")]
    return f"{'; '.join([text, *meanings])}."


# How it was computed.


def _notes_to_reproduce(evidence: Evidence, *, has_examples: bool) -> Iterator[str]:
    """Yield the notes with which another person can reproduce the numbers.

    Args:
        evidence: the evidence for the decision.
        has_examples: whether the page shows examples.
    """
    run, data, tests, advice = evidence.run, evidence.data, evidence.tests, evidence.advice
    coefficient = title_of(evidence.by)
    line = advice.recommended or advice.highest
    if line is not None:
        on_these_pairs = line.values[evidence.by]
        expected = advice.new_sample.get(line.metric, on_these_pairs)
        recommender = command_line("recommend", *(["--positive", evidence.positive] if evidence.positive else []))
        subject = f"The metric is the one that {recommender} names" if advice.recommended else "The highest metric"
        yield (
            f"{subject}: {line.metric}, {coefficient} {expected.text} on a new sample, "
            f"{on_these_pairs.text} on these pairs ({tests.signature})."
        )
        yield f"Signature of the metric: {line.signature}"
    choice = evidence.choice
    if choice is not None and choice.yes_no is not None:
        yes_no, settings = choice.yes_no, choice.yes_no.settings
        command = command_line("thresholds", run.title, *settings.words())
        draws = draws_signature(settings)
        rule = f"{yes_no.subject.split_description}; yes is {yes_no.subject.rule}"
        yield f"Threshold and errors are those of {command}: {rule} ({draws})."
        # thresholds are those of negated scores if lower scores are better
        exact = yes_no.decision.deployed if yes_no.is_rising else -yes_no.decision.deployed
        yield f"The threshold in full: {exact!r}"
        for note in yes_no.subject.notes:
            yield Message(note, ".").with_flags({})
    created = f" of {run.manifest.created[:10]}" if run.manifest.created else ""
    digest = f"n:{len(data)}|digest:{data.facts.digest[:16]}"
    yield f"Run {run.title}{created}; data {data.title}, {digest}|{run.manifest.signature}"
    if choice is not None and has_examples:
        yield "The examples were drawn at random, by a fixed seed; long texts are cut; a bar separates references."
        if choice.yes_no is None:
            yield (
                "Ranked as people do: ranks of score and label are less than a tenth of the pairs apart. Otherwise: "
                "half of them, or more."
            )
