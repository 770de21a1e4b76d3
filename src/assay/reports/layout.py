"""The agreement table laid out for a reader: a line for each metric, a column for each statistic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.manifest import AgreementRow, AnnotatorReliability, BucketRecord, DatasetRecord, MetricRecord
from assay.reports.data import ALL
from assay.reports.folder import RunFolder
from assay.statistics.coefficients import (
    INFLUENCE_FROM,
    OF_TWO_LABELS,
    PERCENTILE,
    STATISTICS,
    WHY_AUC,
    interval_words,
    is_by_influence,
    title_of,
)
from assay.statistics.partial import NO_PARTIAL
from assay.tables import NOT_BY_PEOPLE

# Names short enough for a figure; the list of signatures has them in full.


def fit(text: str, width: int) -> str:
    """Return *text* in at most *width* characters, its middle left out: start and end tell names apart."""
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


#: Characters of a text of the data that a table shows.
MAX_TEXT = 60


def cut(text: str) -> str:
    """Return a text of the data as a table shows it: its beginning where it is long."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


# The agreement table laid out for a reader: per dataset and bucket, a line a metric, a column a statistic.


class Number(Protocol):
    """A number with its interval and a note, such as an estimate."""

    @property
    def value(self) -> float | None:
        """The number; None where it is undefined."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval; None without one."""

    @property
    def high(self) -> float | None:
        """The upper end."""

    @property
    def note(self) -> str:
        """Why it is undefined, or what a reader should know."""


@dataclass(frozen=True)
class Cell:
    """One number with its interval; the text is empty where there is none."""

    value: float | None
    low: float | None
    high: float | None
    note: str

    @classmethod
    def of(cls, number: Number) -> Cell:
        """Return the cell of an estimate, or of a row of an agreement table."""
        return cls(number.value, number.low, number.high, number.note)

    @property
    def ends(self) -> tuple[float | None, float | None, float | None]:
        """Value, low and high."""
        return self.value, self.low, self.high

    @property
    def exact_texts(self) -> list[str]:
        """Value, low and high with four decimals, for the table behind a plot; a dash for what is undefined."""
        return [short(end, 4) for end in self.ends]

    @property
    def text(self) -> str:
        """Value with three decimals, bounds with two: ``.734 [.68, .78]``; a dash where it is undefined.

        Coefficients lie between -1 and 1, so the zero before the point says nothing and is left out.
        """
        if self.value is None or self.low is None or self.high is None:
            return short(self.value, 3)
        return f"{short(self.value, 3)} [{short(self.low, 2)}, {short(self.high, 2)}]"


def short(value: float | None, decimals: int) -> str:
    """Return a number that lies between -1 and 1 without the zero before the point; a dash where it is undefined."""
    if value is None:
        return "–"
    text = f"{value:.{decimals}f}"
    if not float(text):
        # what rounds to 0 has no sign
        text = text.removeprefix("-")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def label_texts(labels: Sequence[float]) -> list[str]:
    """Return labels with four significant digits, or with more where two of them would look the same."""
    for digits in (4, 6, 15):
        texts = [f"{label:.0f}" if _is_whole(label) else f"{float(f'{label:.{digits}g}'):.15g}" for label in labels]
        if len(set(texts)) == len(set(labels)):
            break
    return texts


def _is_whole(value: float) -> bool:
    """Tell whether a number is written with all its digits: from 1e15 on they say nothing."""
    return abs(value) < 1e15 and value == int(value)


def p_value(value: float | None) -> str:
    """Return a p-value with three decimals, or a dash where there is none (None, NaN)."""
    if value is None or math.isnan(value):
        return "–"
    return "< .001" if value < 0.001 else short(value, 3)


def percent(level: float) -> str:
    """Return the level of an interval in percent, with all its digits: ``95%``, ``99.9%``."""
    # 100 * .07 is a little more than 7
    return f"{round(100 * level, 10):.12g}%"


def rate(number: float) -> str:
    """Return a speed, or a ratio of two, without more digits than it has: ``1,250``, ``12``, ``2.5``, ``0.41``."""
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.2g}"


def money(amount: float | None) -> str:
    """Return a price without its currency: ``1,250.00``, ``0.42``, ``0.0031``; ``free``; a dash where it is unknown."""
    if amount is None:
        return "–"
    if not amount:
        return "free"
    if amount >= 0.0995:
        return f"{amount:,.2f}"
    return f"{amount:.{1 - math.floor(math.log10(amount))}f}".rstrip("0")


def signed(value: float, digits: int = 3) -> str:
    """Return a difference with its sign and three decimals or more, as :func:`short` writes them."""
    # the sign of a bound says on which side of 0 it is, also where the digits that are shown are 0
    return f"{'-' if value < 0 else '+'}{short(abs(value), digits)}"


@dataclass(frozen=True)
class Block:
    """One bucket of one dataset.

    Attributes:
        bucket: its condition.
        facts: n, labels, ties, ceiling as short phrases.
        ceiling: the best a tie-free score could reach, by statistic; none on datasets with two labels, where a
            low one looks like a fault of the metric.
        chance: what a tie-free score that ignores the pairs reaches on average, by statistic; None where unknown.
        rows: metric, cells in the order of the statistics, notes.
    """

    bucket: str
    facts: list[str]
    ceiling: list[Cell]
    chance: list[float | None]
    rows: list[tuple[str, list[Cell], str]]


@dataclass(frozen=True)
class Section:
    """One dataset: heading, facts, hints on what the user may have meant otherwise, statistics, blocks, remarks on
    metrics, and metrics that gave no score and why.
    """

    title: str
    facts: list[str]
    hints: list[str]
    statistics: list[str]
    blocks: list[Block]
    remarks: list[str]
    missing: list[str]

    @property
    def heads(self) -> list[str]:
        """Column heads of the statistics."""
        return [title_of(name) for name in self.statistics]


def intervals_of(run: RunFolder) -> str:
    """Return how the intervals of a run were made, in words; it has some."""
    request = run.manifest.request
    parts = dict(part.partition(":")[::2] for part in run.manifest.signature.split("|"))
    method = parts.get("bootstrap", PERCENTILE)
    sizes = [bucket.n for bucket in run.manifest.buckets if bucket.labels]
    return intervals_in_words(request.confidence, request.resamples, request.interval, sizes, method)


def intervals_in_words(
    confidence: float, resamples: int, interval: str, sizes: Iterable[int], method: str = PERCENTILE
) -> str:
    """Return how intervals of agreement are made, as in ``95% bootstrap intervals (…) from 1,000 resamples``.

    Args:
        confidence: their level.
        resamples: of those that have any.
        interval: out of :data:`~assay.statistics.coefficients.INTERVALS`.
        sizes: pairs of each bucket.
        method: of :func:`~assay.statistics.coefficients.interval_method`.
    """
    chosen = {is_by_influence(interval, pairs) for pairs in sizes}
    level = percent(confidence)
    scale = interval_words(method.replace(PERCENTILE, "Fisher's scale"))
    if chosen == {True}:
        size = f", as from {INFLUENCE_FROM:,} pairs on" if interval == "auto" else ""
        return f"{level} intervals from influence values ({scale}){size}"
    words = f"{level} bootstrap intervals ({interval_words(method)}) from {resamples:,} resamples"
    return f"{words}; of {INFLUENCE_FROM:,} pairs and more from influence values ({scale})" if True in chosen else words


def lay_out(run: RunFolder) -> Iterator[Section]:
    """Yield a section a dataset, in the order of the run."""
    for dataset in run.manifest.datasets:
        key = dataset.name, dataset.split
        rows = [row for row in run.agreement if (row.dataset, row.split) == key]
        buckets = [bucket for bucket in run.manifest.buckets if (bucket.dataset, bucket.split) == key]
        metrics = [metric for metric in run.manifest.metrics if metric.dataset == dataset.name]
        remarks = [remark for metric in metrics if (remark := _remark(metric, dataset.n))]
        missing = [f"{metric.metric}: {metric.why_missing}" for metric in metrics if not metric.is_done]
        two_labels = any(bucket.bucket == ALL and len(bucket.labels) == 2 for bucket in buckets)
        statistics, facts = list(run.manifest.request.statistics), _facts(dataset)
        if two_labels and OF_TWO_LABELS in statistics:
            if statistics[-1] == OF_TWO_LABELS:
                # computed for this dataset, beside others of more labels
                statistics = [OF_TWO_LABELS, *statistics[:-1]]
            facts.append(WHY_AUC)
        blocks = [_block(bucket, rows, statistics, with_ceiling=not two_labels) for bucket in buckets]
        # a block of dashes would say less than a line
        remarks += [
            f"{block.bucket}: none of the statistics has a partial form" for block in blocks if _lacks_partial(block)
        ]
        blocks = [block for block in blocks if not _lacks_partial(block)]
        hints = [*dataset.hints, *([dataset.grouping] if dataset.grouping else [])]
        yield Section(dataset.title, facts, hints, statistics, blocks, remarks, missing)


def _lacks_partial(block: Block) -> bool:
    """Tell whether no statistic of a block has the partial form that the block is for."""
    cells = [cell for _, cells, _ in block.rows for cell in cells]
    return bool(cells) and all(cell.note == NO_PARTIAL for cell in cells)


def _remark(metric: MetricRecord, n: int) -> str:
    """Return what a reader should know of a metric's scores: a preset's model, texts that were cut or empty."""
    parts = [metric.says] if metric.says else []
    parts += [f"{count:,} of {n:,} pairs: {phrase}" for phrase, count in metric.flags.items()]
    asymmetry = metric.cost.asymmetry
    if asymmetry:
        parts.append(
            f"the order of the texts moves a score by {asymmetry.mean:.3f} on average, "
            f"{asymmetry.largest:.3f} at most ({asymmetry.pairs:,} pairs)"
        )
    return f"{metric.metric}: {'; '.join(parts)}" if parts else ""


def _facts(dataset: DatasetRecord) -> list[str]:
    facts = [f"{dataset.n:,} pairs"]
    if dataset.kind in NOT_BY_PEOPLE:
        facts.append(NOT_BY_PEOPLE[dataset.kind])
    if dataset.group:
        facts.append(f"resampled by {dataset.group}")
    return facts + dataset.notes


def _block(bucket: BucketRecord, rows: list[AgreementRow], statistics: list[str], *, with_ceiling: bool) -> Block:
    by_metric: dict[str, dict[str, AgreementRow]] = {}
    for row in rows:
        # a bucket without pairs is named, with no line a metric
        if row.bucket == bucket.bucket and bucket.n:
            by_metric.setdefault(row.metric, {})[row.statistic] = row
    lines = []
    for metric, by_statistic in by_metric.items():
        cells = [_cell(by_statistic.get(name)) for name in statistics]
        notes = list(dict.fromkeys(note for cell in cells for note in cell.note.split("; ") if note))
        lines.append((metric, cells, "; ".join(notes)))
    ceiling = [Cell(bucket.ceiling.get(name) if with_ceiling else None, None, None, "") for name in statistics]
    chance = [STATISTICS[name].chance_level(bucket.ties) for name in statistics]
    return Block(bucket.bucket, _bucket_facts(bucket), ceiling, chance, lines)


def _cell(row: AgreementRow | None) -> Cell:
    if row is None:
        return Cell(None, None, None, "not computed")
    return Cell.of(row)


def _count(value: float) -> str:
    return f"{value:,.0f}" if _is_whole(value) else f"{value:.4g}"


def _known(value: float | None) -> str:
    return "not estimable" if value is None else short(value, 3)


def _bucket_facts(bucket: BucketRecord) -> list[str]:
    facts = [f"n = {bucket.n:,}"]
    if bucket.about:
        facts.append(bucket.about)
    if bucket.labels:
        quartiles = "50%" in bucket.labels
        names = list(bucket.labels) if quartiles else label_texts([float(label) for label in bucket.labels])
        counts = map(_count, bucket.labels.values())
        shown = ", ".join(f"{name}: {count}" for name, count in zip(names, counts, strict=True))
        facts.append(("label quartiles " if quartiles else "labels ") + shown)
    if bucket.ties is not None:
        facts.append(f"{bucket.ties:.0%} of comparisons are ties in the labels")
    if bucket.reliability:
        facts += _reliability_facts(bucket.reliability)
    if bucket.groups is not None:
        facts.append(f"{bucket.groups:,} groups")
    return facts


def _reliability_facts(reliability: AnnotatorReliability) -> list[str]:
    values = f"r {_known(reliability.pearson)}, ρ {_known(reliability.spearman)}"
    kind = f"split-half, {reliability.annotators} annotators"
    if reliability.lengths is None:
        # of an older run, which stepped all halves up to twice their length: too little for odd numbers of annotators
        return [f"reliability of the labels ({kind}, as if halves were equal) {values}"]
    bounds = f"r {_known(reliability.bound_pearson)}, ρ {_known(reliability.bound_spearman)}"
    if reliability.is_of_label:
        facts = [f"reliability of the labels ({kind}) {values}", f"upper bound for a metric {bounds}"]
    else:
        facts = [f"reliability of the annotators' mean, which is not the label ({kind}) {values}"]
    if reliability.alpha:
        alphas = ", ".join(f"{level} {_known(value)}" for level, value in reliability.alpha.items())
        facts.append(f"Krippendorff's α {alphas}")
    if reliability.annotators_spearman:
        facts.append(f"an annotator with the mean of the others ρ {_spread(reliability.annotators_spearman)}")
    return facts


#: Annotators whose numbers are listed one by one.
MAX_LISTED_ANNOTATORS = 5


def _spread(values: list[float | None]) -> str:
    """Return the values of few annotators one by one, of more the lowest and the highest."""
    defined = [value for value in values if value is not None]
    if len(values) <= MAX_LISTED_ANNOTATORS or not defined:
        return ", ".join("–" if value is None else short(value, 3) for value in values)
    return f"{short(min(defined), 3)} to {short(max(defined), 3)} ({len(values)} annotators)"
