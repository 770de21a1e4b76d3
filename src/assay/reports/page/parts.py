"""The data of the page templates: findings in sentences, parts for runs, datasets and aspects, and a leaderboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from assay.analysis.data import ALL
from assay.analysis.errors.tags import tag_pairs
from assay.analysis.folder import RunFolder
from assay.analysis.sweep import layered_models
from assay.common.addresses import command_line
from assay.common.configuration import Configuration
from assay.common.numbers import Number
from assay.reports.decision.phrases import join_names, metric_count_text, shorten_metric_names
from assay.reports.layout import Block, run_intervals_in_words
from assay.reports.page.agreement import AgreementTable, agreement_table, draw_agreement_forest, draw_layers
from assay.reports.page.aspects import AspectModel, Profile, draw_aspects, draw_profile
from assay.reports.page.cost import PRICE, CostFigure, draw_cost
from assay.reports.page.pairs import pack_pairs
from assay.reports.page.replies import reply_sheets
from assay.reports.page.scores import spread_by_label
from assay.reports.plots import Figure
from assay.reports.sheets import Document, Sheet, ShortNames
from assay.reports.spending import spending_lines
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from assay.analysis.leaderboard.board import Line
    from assay.analysis.recommend.advice import Advice
    from assay.analysis.recommend.evidence import EvidenceFiles

# The page in a few sentences, computed from the numbers

#: The maximum number of buckets in the summary.
MAX_FINDINGS = 3
#: Names of the kinds of labels that were not given by people.
_LABEL_KIND_WORDS = {"probe": "a probe set", "machine": "machine-made labels"}


@dataclass(frozen=True)
class Finding:
    """What the page says first of a bucket, in sentences.

    Attributes:
        where: the name of the bucket, with its number of pairs.
        answer: the metric to use and those that could be the best, too; or why none is named.
        difference: the difference that decides, with its interval: from the next metric, or what the recommended one
            loses; empty without one.
        caution: the reason why the evidence for the answer is weak, and what could not be compared; empty without one.
    """

    where: str
    answer: str
    difference: str = ""
    caution: str = ""

    @property
    def text(self) -> str:
        """All sentences."""
        return " ".join(filter(None, (self.answer, self.difference, self.caution[:1].upper() + self.caution[1:])))


def findings_by_bucket(unit: Unit, files: EvidenceFiles | None = None) -> Iterator[Finding]:
    """Yield the finding of each of the first :data:`MAX_FINDINGS` buckets.

    A finding names the metric to use by the rule of ``assay recommend``, from the evidence that the run keeps, or says
    why none can be named. It gives only the range of the values if there is one metric, if metrics are not ranked by
    the labels of the dataset, or if the tests would take long.

    Args:
        unit: the dataset.
        files: the evidence of the runs, which the caller writes; None to read and write that of this run alone.
    """
    blocks = unit.blocks[:MAX_FINDINGS]
    advice: dict[str, Advice] = {}
    buckets = [block.bucket for block in blocks]
    by = unit.main_statistic
    measure = title_of(by)
    if unit.data.is_by_people and len(unit.data.scores) > 1:
        # a page on one metric needs no tests
        from assay.analysis.recommend.evidence import evidence_of, takes_long

        if not takes_long(unit.data, buckets, files):
            evidence = evidence_of(unit.data, buckets, files=files)
            advice, by = evidence.advice(with_plan=False), evidence.by
            measure = title_of(by) + (f" of {evidence.positive}" if evidence.positive else "")
    for block in blocks:
        name = "All pairs" if block.bucket == ALL else f"Where {typographic_condition(block.bucket)}"
        where = f"{name} ({block.facts[0]})"
        if block.bucket in advice:
            yield _finding(where, advice[block.bucket], unit.names, by, measure)
        else:
            yield Finding(where, _range_sentence(unit, block))


def typographic_condition(bucket: str) -> str:
    """Return the name of a bucket with typographic signs, such as ``F1 = 0`` for ``f1=0``.

    Names that are not a single condition are returned unchanged.
    """
    for operator in (">=", "<=", "!=", "=", ">", "<"):
        name, separator, value = bucket.partition(operator)
        if separator and name and value and "+" not in bucket:
            sign = {">=": "≥", "<=": "≤", "!=": "≠"}.get(operator, operator)
            return f"{'F1' if name == 'f1' else name} {sign} {value}"
    return bucket


def _finding(where: str, advice: Advice, names: Mapping[str, str], by: str, measure: str) -> Finding:
    """Return the finding of a recommendation.

    Args:
        where: the name of the bucket.
        advice: the recommendation.
        names: the short names of metrics.
        by: the coefficient that decides.
        measure: its name, with the rule for yes if metrics were chosen for such a decision.
    """
    recommended, highest = advice.recommended, advice.highest
    warning = shorten_metric_names(advice.warning, names)

    def with_value(line: Line) -> str:
        return f"{names[line.metric]}, {measure} {_unbroken_text(line.values[by])}"

    if highest is None:
        return Finding(where, f"no metric can be named: {warning}.")
    if recommended is None:
        return Finding(where, f"no metric can be named; the highest is {with_value(highest)}: {warning}.")
    answer = f"use {with_value(recommended)}"
    if recommended is not highest:
        answer += f", which costs much less than the highest, {with_value(highest)}"
    answer += _clause_on_others(advice, names)
    undefined = [line for line in advice.board.lines if line.values[by].value is None]
    left_out = len(advice.apart) + len(advice.rare) + len(advice.untested) + len(undefined)
    cautions = [warning] if warning else []
    if left_out:
        cautions.append(f"{metric_count_text(left_out)} could not be compared")
    caution = f"{'; '.join(cautions)}." if cautions else ""
    return Finding(where, f"{answer}.", _difference_sentence(advice, names), caution)


def _unbroken_text(number: Number) -> str:
    """Return a number with its interval, in which a browser breaks no line."""
    return number.text.replace(" ", "\N{NO-BREAK SPACE}")


def _clause_on_others(advice: Advice, names: Mapping[str, str]) -> str:
    """Return a clause on the metrics that could be the best, too, else on how many are known to be lower.

    It is empty if there are neither. Lower means than the highest, so a cheaper metric in its place has no such clause.
    """
    contenders = [line for line in advice.contenders if line is not advice.recommended]
    if contenders:
        in_order = sorted(contenders, key=advice.board.lines.index)
        return f"; {join_names([names[line.metric] for line in in_order])} could be the best, too"
    if advice.recommended is not advice.highest or not advice.lower:
        return ""
    count = len(advice.board.lines) - 1
    if len(advice.lower) < count:
        return f"; {len(advice.lower)} of the other {count} are known to be lower"
    all_others = {1: "the other metric is", 2: "both others are"}.get(count, f"all {count} others are")
    return f"; {all_others} known to be lower"


def _difference_sentence(advice: Advice, names: Mapping[str, str]) -> str:
    """Return a sentence on what the recommended metric loses, else on how much lower the next is; empty for none."""
    if advice.loss is not None and advice.highest is not None:
        return f"It is lower than {names[advice.highest.metric]} by {_unbroken_text(advice.loss)}."
    if advice.closest is None:
        return ""
    line, apart = advice.closest
    remark = " The pairs do not tell them apart." if line in advice.contenders else ""
    lower = f"is lower by {_unbroken_text(apart)}" if apart.value else "has the same value"
    return f"The next, {names[line.metric]}, {lower}.{remark}"


def _range_sentence(unit: Unit, block: Block) -> str:
    """Return a sentence on the range of the values of a bucket, and on why no metric is named.

    Of a run with one metric, it has the value of that one; if no value is defined, it says so. A second sentence counts
    the metrics that are undefined.
    """
    statistic = unit.main_statistic
    cells = [unit.cell(block, metric, statistic) for metric, _, _ in block.rows]
    defined_values = []
    for cell in cells:
        if cell is not None and cell.value is not None:
            defined_values.append((cell.value, _unbroken_text(cell)))
    if not defined_values:
        return f"no metric has a defined {title_of(statistic)}."
    if len(unit.data.scores) == 1:
        return f"{title_of(statistic)} {defined_values[0][1]}; the run has one metric."
    label_kind = _LABEL_KIND_WORDS.get(unit.data.facts.kind)
    why = f"metrics are not ranked by {label_kind}" if label_kind else "assay recommend compares the metrics"
    (_, lowest), (_, highest) = min(defined_values), max(defined_values)
    sentence = f"{title_of(statistic)} from {lowest} to {highest}; {why}."
    undefined_count = len(block.rows) - len(defined_values)
    if undefined_count:
        verb = "is" if undefined_count == 1 else "are"
        sentence += f" {undefined_count} of {len(block.rows)} metrics {verb} undefined here."
    return sentence


# The data of the templates on a run and on a dataset

#: The maximum number of buckets per dataset whose distributions are drawn; the list of pairs has all buckets.
MAX_DRAWN_BUCKETS = 6


def run_part(title: str, run: RunFolder) -> dict[str, Any]:
    """Return the values of the templates on a run: its title, settings and software, and what judges cost and replied.

    Values that the run did not record are ``unknown``, or empty where the page leaves them out.
    """
    manifest, environment = run.manifest, run.manifest.environment
    configured = ""
    if environment.configured:
        configured = Configuration(Path(environment.configuration), environment.configured).line
    installed = [f"{name} {version}" for name, version in environment.packages.items() if version != "absent"]
    resampling = "no intervals were computed"
    if manifest.request.resamples:
        resampling = f"{run_intervals_in_words(run)}, seed {manifest.request.seed}"
    spending: list[str] = []
    replies: list[Sheet] = []
    # a metric without an engine has no details, and calls no server
    if any(metric.cost.details or metric.cost.price_per_1000 for metric in manifest.metrics):
        names = ShortNames(record.metric for record in manifest.metrics)
        spending = [names.shorten_within(line) for line in spending_lines(manifest.metrics)]
        replies = reply_sheets(manifest.metrics)
    return {
        "title": title,
        "created": manifest.created[:10] or "unknown",
        "signature": manifest.signature,
        "resampling": resampling,
        # empty if the run was made from Python
        "command": command_line(*environment.argv) if environment.argv else "",
        # empty if there was no configuration file
        "configured": configured,
        "versions": ", ".join([f"Python {environment.python or 'unknown'}", *installed]),
        "spending": spending,
        "replies": replies,
        "platform": environment.platform or "unknown",
    }


class UnitPart:
    """The part of the page on a dataset of a run.

    Args:
        unit: the dataset of the run.
        max_tagged: the maximum number of pairs that the rules tag; 0 for none.
        files: the evidence of the runs, see :func:`findings_by_bucket`.

    Attributes:
        unit, key, title, data, statistics: the dataset, and what the templates use of it.
        facts: short phrases on the data, and hints on settings that the user may not have intended.
        remarks: remarks on metrics and buckets, and the metrics without scores, each with the reason.
        notes: one line of facts per bucket: labels, ties, reliability of the labels, groups.
        has_numbers: whether the table of some bucket has a metric with scores.
        findings: what is said first of each of the first buckets.
        tagged: the categories of the pairs.
        embedded: the pairs with their scores and categories, packed for the browser.
        agreement: for each statistic its name, its forest plot as SVG, and its table; empty without numbers.
        spreads: the name and the distributions of scores of each of the first :data:`MAX_DRAWN_BUCKETS` non-empty
            buckets; empty without scores.
        buckets_left_out: the number of further non-empty buckets.
        is_priced: whether some metric has a price above 0.
        cost: for each statistic its name, its figure of speed, and its figure of price, None if no metric has a price.
        layers: for each layered model and statistic the names of both, and the figure of agreement by layer.
    """

    def __init__(self, unit: Unit, max_tagged: int, files: EvidenceFiles | None = None) -> None:
        self.unit = unit
        self.key, self.title, self.data = unit.key, unit.title, unit.data
        self.facts = [*unit.section.facts, *unit.section.hints]
        self.remarks = [*unit.section.remarks, *unit.section.missing]
        self.notes = [f"{block.bucket}: {'; '.join(block.facts)}" for block in unit.section.blocks]
        self.statistics = unit.section.statistics
        self.has_numbers = bool(unit.blocks)
        self.findings = list(findings_by_bucket(unit, files))
        self.tagged = tag_pairs(unit.data, max_tagged)
        self.embedded = pack_pairs(unit, self.tagged)
        self.agreement: list[tuple[str, Markup, AgreementTable]] = []
        self.cost: list[tuple[str, CostFigure, CostFigure | None]] = []
        self.is_priced = any(record.price_per_1000 for record in unit.data.metrics.values())
        for statistic in self.statistics:
            if self.has_numbers:
                forest, table = draw_agreement_forest(unit, statistic), agreement_table(unit, statistic)
                self.agreement.append((statistic, forest, table))
            price = draw_cost(unit, statistic, PRICE) if self.is_priced else None
            self.cost.append((statistic, draw_cost(unit, statistic), price))
        filled = [name for name, mask in unit.data.buckets.items() if mask.any()]
        drawn = filled[:MAX_DRAWN_BUCKETS] if unit.data.scores else []
        self.spreads = [(name, spread_by_label(unit, name)) for name in drawn]
        self.buckets_left_out = max(0, len(filled) - MAX_DRAWN_BUCKETS)
        self.layers: list[tuple[str, str, Figure]] = []
        for model in layered_models(unit.data.scores):
            for statistic in self.statistics:
                self.layers.append((model.name, statistic, draw_layers(unit, model, statistic)))


class AspectPart:
    """The part of the page on a model whose aspects were scored, over all datasets with such scores.

    Args:
        model: the model with its aspects.
        parts: the parts of all datasets of the page.
        statistics: the names of the statistics; those that no dataset of the model has are left out.

    Attributes:
        has_whole: whether some dataset has scores of the metric of the overall score.
        figures: the statistics, each with the forest plot of the aspects.
        profiles: the parts of the datasets whose categories have enough pairs, each with its mean aspect scores.
    """

    def __init__(self, model: AspectModel, parts: Sequence[UnitPart], statistics: Sequence[str]) -> None:
        self.number, self.title = model.number, model.title
        self.has_whole = any(model.whole_metric in unit.data.scores for unit in model.units)
        self.figures: list[tuple[str, Figure]] = []
        for name in statistics:
            figure = draw_aspects(model, name)
            if figure:
                self.figures.append((name, figure))
        keys = {unit.key for unit in model.units}
        self.profiles: list[tuple[UnitPart, Profile]] = []
        for part in parts:
            profile = draw_profile(part.unit, model, part.tagged) if part.key in keys else None
            if profile:
                self.profiles.append((part, profile))


# The leaderboard of the page.


#: The number of buckets of each dataset that are ranked, on every dataset that has them: usually all pairs, F1 = 0
#: and F1 > 0.
MAX_RANKED_BUCKETS = 3
#: The maximum product of metrics, pairs and resamples to rank; more would take longer than a minute.
MAX_RANKING_WORK = 1_500_000_000


def rank_metrics(runs: Sequence[RunFolder], statistic: str) -> Document | str:
    """Return the leaderboard of some runs under one statistic, or a sentence on why there is none.

    The buckets are those that are among the first :data:`MAX_RANKED_BUCKETS` of some dataset. In each of them, ranks
    rest on tests of every two metrics. The tables have the short names of the metrics.

    Raises:
        InputError: a run is incomplete or occurs twice.
    """
    # the page of one run has no leaderboard and does not need its tests
    from assay.analysis.leaderboard.join import Filters, join_runs
    from assay.analysis.leaderboard.measurements import boards
    from assay.analysis.settings import PairedTests
    from assay.reports.leaderboard import to_document

    has_scores = any(run.manifest.has_scores for run in runs)
    datasets = join_runs(runs, Filters()) if has_scores else []
    first_buckets = [list(dataset.data.buckets)[:MAX_RANKED_BUCKETS] for dataset in datasets]
    buckets = list(dict.fromkeys(chain.from_iterable(first_buckets)))
    tests = PairedTests(statistics=(statistic,))
    work = 0
    for dataset in datasets:
        if len(dataset.scores) < 2:
            continue
        pairs_in_buckets = sum(int(mask.sum()) for name, mask in dataset.data.buckets.items() if name in buckets)
        work += len(dataset.scores) * pairs_in_buckets * tests.resamples
    if not work:
        return "There is nothing to rank: no dataset has scores of two metrics."
    if work > MAX_RANKING_WORK:
        return "Ranks and their intervals would take long for so many pairs; assay leaderboard computes them."
    ranked = to_document(boards(datasets, tests, by=statistic, buckets=buckets), tests, statistic)
    names = ShortNames(ranked.metrics)
    return replace(ranked, sheets=[names.shorten_sheet(sheet) for sheet in ranked.sheets])
