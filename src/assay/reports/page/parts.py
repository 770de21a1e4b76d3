"""The data of the page templates: findings in sentences, parts for runs, datasets and aspects, and a leaderboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.analysis.data import ALL
from assay.analysis.errors.tags import tag_pairs
from assay.analysis.folder import RunFolder
from assay.analysis.settings import PairedTests
from assay.analysis.sweep import layered_models
from assay.common.addresses import command_line
from assay.common.configuration import Configuration
from assay.manifest import MetricRecord
from assay.reports.decision.phrases import shorten_metric_names
from assay.reports.layout import Block, run_intervals_in_words
from assay.reports.page.agreement import AgreementTable, agreement_table, draw_agreement_forest, draw_layers
from assay.reports.page.aspects import AspectModel, Profile, draw_aspects, draw_profile
from assay.reports.page.cost import CostFigure, draw_cost, draw_price
from assay.reports.page.pairs import pack_pairs
from assay.reports.page.scores import Spread, spread_by_label
from assay.reports.plots import Figure
from assay.reports.replies import reply_sheets
from assay.reports.sheets import Document, Sheet, ShortNames
from assay.reports.spending import spending_lines
from assay.reports.units import Unit
from assay.statistics.coefficients import title_of

if TYPE_CHECKING:
    from assay.analysis.leaderboard.board import Line
    from assay.analysis.leaderboard.join import JoinedDataset
    from assay.analysis.recommend.advice import Advice

# The page in a few sentences, computed from the numbers

#: The maximum number of buckets in the summary.
MAX_FINDINGS = 3
#: Names of the kinds of labels that were not given by people.
_LABEL_KIND_WORDS = {"probe": "a probe set", "machine": "machine-made labels"}


def findings_by_bucket(unit: Unit) -> Iterator[tuple[str, str]]:
    """Yield a title and a sentence for each of the first :data:`MAX_FINDINGS` buckets.

    The sentence names the metric to use by the rule of ``assay recommend``, from the evidence that the run keeps, or
    says why none can be named. It gives only the range of the values if there is one metric, if metrics are not ranked
    by the labels of the dataset, or if the tests would take long.
    """
    blocks = unit.blocks[:MAX_FINDINGS]
    advice: dict[str, Advice] = {}
    buckets = [block.bucket for block in blocks]
    by = unit.main_statistic
    measure = title_of(by)
    if unit.is_by_people and len(unit.data.scores) > 1:
        # a page on one metric needs no tests
        from assay.analysis.recommend.evidence import evidence_of, takes_long

        if not takes_long(unit.data, buckets):
            evidence = evidence_of(unit.data, buckets)
            advice, by = evidence.advice(with_plan=False), evidence.by
            measure = title_of(by) + (f" of {evidence.positive}" if evidence.positive else "")
    for block in blocks:
        item = advice.get(block.bucket)
        sentence = _range_sentence(unit, block) if item is None else _advice_sentence(item, unit.names, by, measure)
        name = "All pairs" if block.bucket == ALL else f"Where {typographic_condition(block.bucket)}"
        yield f"{name} ({block.facts[0]})", sentence


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


def _advice_sentence(advice: Advice, names: Mapping[str, str], by: str, measure: str) -> str:
    """Return a sentence on the metric to use in a bucket and on those that may be as good, or on why there is none.

    Args:
        advice: the recommendation.
        names: the short names of metrics.
        by: the coefficient that decides.
        measure: its name, with the rule for yes if metrics were chosen for such a decision.
    """
    recommended, highest = advice.recommended, advice.highest

    def with_value(line: Line) -> str:
        text = line.values[by].text.replace(" ", "\N{NO-BREAK SPACE}")
        return f"{names[line.metric]}, {measure} {text}"

    if highest is None:
        return f"no metric can be named: {shorten_metric_names(advice.warning, names)}."
    if recommended is None:
        reason = shorten_metric_names(advice.warning, names)
        return f"no metric can be named; the highest is {with_value(highest)}: {reason}."
    sentence = f"use {with_value(recommended)}"
    if recommended is not highest:
        sentence += f", which costs much less than the highest, {with_value(highest)}"
    others = [line for line in advice.contenders if line is not recommended]
    if others:
        verb = "is" if len(others) == 1 else "are"
        listed = names[others[0].metric] if len(others) == 1 else f"{len(others)} others"
        sentence += f"; {listed} {verb} not told apart from {names[highest.metric]}"
    elif recommended is highest and advice.lower:
        others_count = len(advice.board.lines) - 1
        all_others = "the other metric is" if others_count == 1 else f"all {others_count} others are"
        some_others = f"{len(advice.lower)} of the other {others_count} are"
        sentence += f"; {all_others if len(advice.lower) == others_count else some_others} known to be lower"
    undefined = [line for line in advice.board.lines if line.values[by].value is None]
    left_out = len(advice.apart) + len(advice.rare) + len(advice.untested) + len(undefined)
    if left_out:
        sentence += f"; {left_out} could not be compared"
    return f"{sentence}."


def _range_sentence(unit: Unit, block: Block) -> str:
    """Return a sentence on the range of the values of a bucket, and on why no metric is named."""
    statistic = unit.main_statistic
    cells = []
    for metric, _, _ in block.rows:
        cell = unit.cell(block, metric, statistic)
        if cell is not None and cell.value is not None:
            cells.append((cell.value, cell.text.replace(" ", "\N{NO-BREAK SPACE}")))
    if not cells:
        return f"no metric has a defined {title_of(statistic)}."
    if len(unit.data.scores) == 1:
        return f"{title_of(statistic)} {cells[0][1]}; the run has one metric."
    label_kind = _LABEL_KIND_WORDS.get(unit.data.facts.kind)
    why = f"metrics are not ranked by {label_kind}" if label_kind else "assay recommend compares the metrics"
    sentence = f"{title_of(statistic)} from {min(cells)[1]} to {max(cells)[1]}; {why}."
    undefined_count = len(block.rows) - len(cells)
    if undefined_count:
        verb = "is" if undefined_count == 1 else "are"
        sentence += f" {undefined_count} of {len(block.rows)} metrics {verb} undefined here."
    return sentence


# The data of the templates on a run and on a dataset

#: The maximum number of buckets per dataset whose distributions are drawn; the list of pairs has all buckets.
MAX_DRAWN_BUCKETS = 6


@dataclass(frozen=True)
class RunPart:
    """The part of the page on a run: its title, and its settings in words."""

    title: str
    run: RunFolder

    @property
    def created(self) -> str:
        """The date of the run, or ``unknown``."""
        return self.run.manifest.created[:10] or "unknown"

    @property
    def signature(self) -> str:
        """The signature of the run: one line on how its numbers were computed."""
        return self.run.manifest.signature

    @property
    def resampling(self) -> str:
        """The resampling of the run in words."""
        request = self.run.manifest.request
        if not request.resamples:
            return "no intervals were computed"
        return f"{run_intervals_in_words(self.run)}, seed {request.seed}"

    @property
    def command(self) -> str:
        """The command line that made the run; empty if it was made from Python."""
        argv = self.run.manifest.environment.argv
        return command_line(*argv) if argv else ""

    @property
    def configured(self) -> str:
        """The settings from a configuration file as one line; empty if there was none."""
        environment = self.run.manifest.environment
        return Configuration(Path(environment.configuration), environment.configured).line

    @property
    def versions(self) -> str:
        """Python and packages with their versions."""
        environment = self.run.manifest.environment
        installed = [f"{name} {version}" for name, version in environment.packages.items() if version != "absent"]
        return ", ".join([f"Python {environment.python or 'unknown'}", *installed])

    @property
    def spending(self) -> list[str]:
        """The spending on metrics that call a server, one line per metric, with their short names."""
        records = self.run.manifest.metrics
        names = ShortNames(record.metric for record in records)
        return [names.shorten_within(line) for line in spending_lines(records)]

    @property
    def replies(self) -> list[Sheet]:
        """Replies of judges with what was read of them, one table per model that was asked."""
        return reply_sheets(self.run.manifest.metrics)

    @property
    def platform(self) -> str:
        """The operating system of the run, or ``unknown``."""
        return self.run.manifest.environment.platform or "unknown"


class UnitPart:
    """The part of the page on a dataset of a run.

    Args:
        unit: the dataset of the run.
        max_tagged: the maximum number of pairs that the rules tag; 0 for none.

    Attributes:
        facts: short phrases on the data, and hints on settings that the user may not have intended.
        remarks: remarks on metrics and buckets, and the metrics without scores, each with the reason.
        has_numbers: whether the table of some bucket has a metric with scores.
        findings: a title and a sentence for each of the first buckets.
        tagged: the categories of the pairs.
        embedded: the pairs with their scores and categories, packed for the browser.
    """

    def __init__(self, unit: Unit, max_tagged: int) -> None:
        self.unit = unit
        self.key, self.title, self.data = unit.key, unit.title, unit.data
        self.facts = [*unit.section.facts, *unit.section.hints]
        self.remarks = [*unit.section.remarks, *unit.section.missing]
        self.statistics = unit.section.statistics
        self.has_numbers = bool(unit.blocks)
        self.findings = list(findings_by_bucket(unit))
        self.tagged = tag_pairs(unit.data, max_tagged)
        self.embedded = pack_pairs(unit, self.tagged)

    @property
    def agreement(self) -> list[tuple[str, Figure, AgreementTable]]:
        """For each statistic: its name, its forest plot, and its table."""
        return [
            (statistic, draw_agreement_forest(self.unit, statistic), agreement_table(self.unit, statistic))
            for statistic in self.statistics
        ]

    @property
    def spreads(self) -> list[tuple[str, Spread]]:
        """The name and the distributions of scores of each of the first non-empty buckets; empty without scores."""
        if not self.unit.data.scores:
            return []
        buckets = [name for name, mask in self.unit.data.buckets.items() if mask.any()]
        return [(name, spread_by_label(self.unit, name)) for name in buckets[:MAX_DRAWN_BUCKETS]]

    @property
    def buckets_left_out(self) -> int:
        """The number of non-empty buckets without a drawing."""
        bucket_count = sum(bool(mask.any()) for mask in self.unit.data.buckets.values())
        return max(0, bucket_count - MAX_DRAWN_BUCKETS)

    @property
    def cost(self) -> list[tuple[str, CostFigure, CostFigure | None]]:
        """For each statistic: its name, its figure of speed, and its figure of price, None if no metric has a price."""
        return [
            (statistic, draw_cost(self.unit, statistic), draw_price(self.unit, statistic))
            for statistic in self.statistics
        ]

    @property
    def is_priced(self) -> bool:
        """Whether some metric has a price above 0."""
        return any(record.price_per_1000 for record in self.unit.data.metrics.values())

    @cached_property
    def layers(self) -> list[tuple[str, str, Figure]]:
        """For each layered model and statistic: the names of both, and the figure of agreement by layer."""
        figures = []
        for model in layered_models(self.unit.data.scores):
            for statistic in self.statistics:
                figures.append((model.name, statistic, draw_layers(self.unit, model, statistic)))
        return figures

    @property
    def signatures(self) -> list[MetricRecord]:
        """The record of each metric in the manifest of the run."""
        return list(self.unit.data.metrics.values())

    @property
    def notes(self) -> list[str]:
        """One line of facts per bucket: labels, ties, reliability of the labels, groups."""
        return [f"{block.bucket}: {'; '.join(block.facts)}" for block in self.unit.section.blocks]


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
        figures = ((name, draw_aspects(model, name)) for name in statistics)
        self.figures: list[tuple[str, Figure]] = [(name, figure) for name, figure in figures if figure]
        keys = {unit.key for unit in model.units}
        profiles = ((part, draw_profile(part.unit, model, part.tagged)) for part in parts if part.key in keys)
        self.profiles: list[tuple[UnitPart, Profile]] = [(part, profile) for part, profile in profiles if profile]


# The leaderboard of the page.


#: The maximum number of buckets per dataset that are ranked: usually all pairs, F1 = 0 and F1 > 0.
MAX_RANKED_BUCKETS = 3
#: The maximum product of metrics, pairs and resamples to rank; more would take longer than a minute.
MAX_RANKING_WORK = 1_500_000_000


def rank_metrics(runs: Sequence[RunFolder], statistic: str) -> Document | str:
    """Return the leaderboard of some runs under one statistic, or a sentence on why there is none.

    Ranks are based on pairwise tests of all metrics in the first :data:`MAX_RANKED_BUCKETS` buckets of each dataset.
    The tables have the short names of the metrics.
    """
    # the page of one run has no leaderboard and does not need its tests
    from assay.analysis.leaderboard.join import Filters, join_runs
    from assay.analysis.leaderboard.measurements import boards
    from assay.reports.leaderboard import to_document

    has_scores = any(run.manifest.has_scores for run in runs)
    joined = join_runs(runs, Filters()) if has_scores else []
    settings = PairedTests(statistics=(statistic,))
    buckets = list(
        dict.fromkeys(name for dataset in joined for name in list(dataset.data.buckets)[:MAX_RANKED_BUCKETS])
    )
    work = sum(_ranking_work(dataset, buckets, settings) for dataset in joined)
    if not work:
        return "There is nothing to rank: no dataset has scores of two metrics."
    if work > MAX_RANKING_WORK:
        return "Ranks and their intervals would take long for so many pairs; assay leaderboard computes them."
    ranked = to_document(boards(joined, settings, by=statistic, buckets=buckets), settings, statistic)
    names = ShortNames(ranked.metrics)
    return replace(ranked, sheets=[names.shorten_sheet(sheet) for sheet in ranked.sheets])


def _ranking_work(dataset: JoinedDataset, buckets: Sequence[str], settings: PairedTests) -> int:
    """Return the product of metrics, pairs in some buckets, and resamples; 0 if there are no two metrics to rank."""
    if len(dataset.scores) < 2:
        return 0
    pair_count = sum(int(mask.sum()) for name, mask in dataset.data.buckets.items() if name in buckets)
    return pair_count * len(dataset.scores) * settings.resamples
