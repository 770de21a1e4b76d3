"""The agreement table laid out for a reader: one line per metric, one column per statistic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.analysis.data import ALL
from assay.analysis.folder import RunFolder
from assay.common.messages import Message
from assay.common.numbers import Number, is_exact_integer, label_texts, percent, short
from assay.common.tables import NOT_BY_PEOPLE
from assay.manifest import (
    AgreementRow,
    AlternativeAnnotators,
    AnnotatorReliability,
    BucketRecord,
    DatasetRecord,
    MetricRecord,
)
from assay.statistics.coefficients import (
    MIN_INFLUENCE_PAIRS,
    NO_PARTIAL,
    OF_TWO_LABELS,
    OF_VOTES,
    PERCENTILE,
    STATISTICS,
    WHY_AUC,
    WHY_AUC_OF_VOTES,
    interval_words,
    is_by_influence,
)

# Names short enough for a figure; the list of signatures has the full names.


def elide_middle(text: str, max_characters: int) -> str:
    """Return *text* in at most *max_characters* characters, three or more, with its middle elided if needed.

    The middle is the least useful part, since names usually differ at their start or end.
    """
    if len(text) <= max_characters:
        return text
    # one character is the ellipsis, and twice as many are kept of the end as of the start
    tail_length = (max_characters - 1) * 2 // 3
    head_length = max_characters - 1 - tail_length
    return f"{text[:head_length]}…{text[-tail_length:]}"


#: The maximum number of characters that a table shows of a text from the data.
MAX_TEXT = 60


def cut(text: str) -> str:
    """Return a text from the data, truncated to :data:`MAX_TEXT` characters with an ellipsis as the last if needed."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


# The agreement table laid out for a reader: per dataset and bucket, one line per metric, one column per statistic.

#: A number that a run does not have.
NOT_COMPUTED = Number(notes=("not computed",))


@dataclass(frozen=True)
class Block:
    """One bucket of one dataset.

    Attributes:
        bucket: the bucket's name.
        facts: short phrases on the number of pairs, the labels, their ties and reliability, and the groups.
        ceiling: the highest value that a tie-free score could reach, one number per statistic. Undefined on datasets
            with two labels, since a low ceiling would look like a fault of the metric there.
        chance: the average value of a tie-free score that ignores the pairs, one per statistic; None if unknown.
        rows: one tuple per metric: its name, its numbers in the order of the statistics, and their notes.
    """

    bucket: str
    facts: list[str]
    ceiling: list[Number]
    chance: list[float | None]
    rows: list[tuple[str, list[Number], tuple[str, ...]]]


@dataclass(frozen=True)
class Section:
    """One dataset.

    Attributes:
        title: the heading.
        facts: short phrases on the data.
        hints: hints on settings that the user may not have intended.
        statistics: the names of the statistics, in the order of the cells.
        blocks: the buckets.
        remarks: remarks on metrics and buckets.
        missing: the metrics without scores, each with the reason.
    """

    title: str
    facts: list[str]
    hints: list[str]
    statistics: list[str]
    blocks: list[Block]
    remarks: list[str]
    missing: list[str]


def run_intervals_in_words(run: RunFolder) -> str:
    """Return in words how the intervals of a run were computed; the run must have intervals."""
    request = run.manifest.request
    # the parts of a signature are "name:value"
    signature_parts = dict(field.partition(":")[::2] for field in run.manifest.signature.split("|"))
    method = signature_parts.get("bootstrap", PERCENTILE)
    pair_counts = [bucket.n for bucket in run.manifest.buckets if bucket.labels]
    return intervals_in_words(request.confidence, request.resamples, request.interval, pair_counts, method)


def intervals_in_words(
    confidence: float, resamples: int, interval: str, sizes: Iterable[int], method: str = PERCENTILE
) -> str:
    """Return how intervals are computed, as in ``95% bootstrap intervals (…) from 1,000 resamples``.

    Args:
        confidence: the level of the intervals, in (0, 1).
        resamples: the number of bootstrap resamples, if the bootstrap is used.
        interval: the setting, one of :data:`~assay.statistics.coefficients.INTERVALS`.
        sizes: the number of pairs of each bucket; if it is empty, the bootstrap is told.
        method: the bootstrap method, from :func:`~assay.statistics.coefficients.interval_method`.
    """
    # True, False or both, since buckets may differ
    use_influence = {is_by_influence(interval, pair_count) for pair_count in sizes}
    level = percent(confidence)
    # intervals from influence values are computed on Fisher's scale where the bootstrap has a percentile interval
    influence_method = interval_words(method.replace(PERCENTILE, "Fisher's scale"))
    if use_influence == {True}:
        threshold_text = f", as from {MIN_INFLUENCE_PAIRS:,} pairs on" if interval == "auto" else ""
        return f"{level} intervals from influence values ({influence_method}){threshold_text}"
    words = f"{level} bootstrap intervals ({interval_words(method)}) from {resamples:,} resamples"
    if True in use_influence:
        words += f"; of {MIN_INFLUENCE_PAIRS:,} pairs and more from influence values ({influence_method})"
    return words


def lay_out(run: RunFolder) -> Iterator[Section]:
    """Yield one section per dataset, in the order of the run.

    Datasets with two labels show the area under the curve first if it was added for them. A bucket in which no
    statistic has a partial form is a remark instead of a block.
    """
    for dataset in run.manifest.datasets:
        name_and_split = dataset.name, dataset.split
        rows = [row for row in run.agreement if (row.dataset, row.split) == name_and_split]
        buckets = [bucket for bucket in run.manifest.buckets if (bucket.dataset, bucket.split) == name_and_split]
        metrics = [metric for metric in run.manifest.metrics if metric.dataset == dataset.name]
        remarks = [remark for metric in metrics if (remark := _metric_remark(metric, dataset.n))]
        if buckets and buckets[0].alternative is not None:
            remarks += alternative_annotator_lines(buckets[0].alternative)
        missing: list[str] = [
            Message(f"{metric.metric}: ", metric.missing_reason) for metric in metrics if not metric.is_done
        ]
        has_two_labels = any(bucket.bucket == ALL and len(bucket.labels) == 2 for bucket in buckets)
        statistics, why_area = _shown_statistics(run.manifest.request.statistics, has_two_labels=has_two_labels)
        blocks = []
        for bucket in buckets:
            block = _bucket_block(bucket, rows, statistics, with_ceiling=not has_two_labels)
            cells = [cell for _, row_cells, _ in block.rows for cell in row_cells]
            if cells and all(cell.notes == (NO_PARTIAL,) for cell in cells):
                # one remark says more than a table of dashes
                remarks.append(f"{block.bucket}: none of the statistics has a partial form")
            else:
                blocks.append(block)
        facts = _dataset_facts(dataset) + ([why_area] if why_area else [])
        hints = dataset.hints + ([dataset.grouping] if dataset.grouping else [])
        yield Section(dataset.title, facts, hints, statistics, blocks, remarks, missing)


def _shown_statistics(statistics: Sequence[str], *, has_two_labels: bool) -> tuple[list[str], str]:
    """Return the statistics of a run in the order to show them for a dataset, and why an area under a curve is there.

    The reason is empty if no area needs one.

    Args:
        statistics: the statistics in the order of the run.
        has_two_labels: whether the dataset has two labels.
    """
    area = OF_VOTES if OF_VOTES in statistics else OF_TWO_LABELS
    why_area = WHY_AUC if area == OF_TWO_LABELS else WHY_AUC_OF_VOTES
    if has_two_labels and area in statistics:
        # the last one was added for datasets with two labels, while the others were chosen for other datasets
        was_added = statistics[-1] == area
        return [area, *statistics[:-1]] if was_added else list(statistics), why_area
    return list(statistics), why_area if statistics[0] == OF_VOTES else ""


def _metric_remark(metric: MetricRecord, pair_count: int) -> str:
    """Return one line of remarks on a metric's scores, such as its model or truncated texts; empty without remarks."""
    remarks = [metric.says] if metric.says else []
    remarks += [f"{count:,} of {pair_count:,} pairs: {phrase}" for phrase, count in metric.flags.items()]
    asymmetry = metric.cost.asymmetry
    if asymmetry:
        remarks.append(
            f"the order of the texts moves a score by {asymmetry.mean:.3f} on average, "
            f"{asymmetry.largest:.3f} at most ({asymmetry.pairs:,} pairs)"
        )
    return f"{metric.metric}: {'; '.join(remarks)}" if remarks else ""


#: What annotations need for the alternative annotator test, by what they lack.
_NEEDED = {
    "annotators": "three annotators or more",
    "identity": "to know which annotator gave which label: a column for each, or --annotator COLUMN",
    "pairs": "three annotators with at least 30 pairs each that another one labelled, too",
}


def alternative_annotator_lines(alternative: AlternativeAnnotators) -> list[str]:
    """Return in words whether each metric may take the place of an annotator, or what the data lacks to tell.

    If it can be told, the first line explains the test, and the second has the share of annotators that each metric
    wins against, and its advantage; last comes a score that is the same for all pairs.
    """
    head = "alternative annotator test (may a metric replace an annotator?)"
    if alternative.lack is not None:
        return [f"{head}: needs {_NEEDED[alternative.lack]}"]
    if not alternative.metrics:
        return [f"{head}: too few scores"]
    if alternative.alignment == "accuracy":
        closeness = "accuracy of the threshold that is best on other pairs"
    else:
        closeness = "negative RMSE of the label that a score stands for on other pairs"
    epsilons_text = ", ".join(short(epsilon, 2) for epsilon in alternative.epsilons)
    rule = f"yes if it wins against half of the {alternative.annotators} annotators, ω ≥ .50"
    lines = [f"{head}: {rule}, at ε {epsilons_text} (crowd workers, skilled people, experts); {closeness}"]
    results = []
    for metric in filter(None, (*alternative.metrics, alternative.constant)):
        rates = ", ".join(short(rate, 2) for rate in metric.winning_rates)
        results.append(f"{metric.metric} ω {rates} (ρ {short(metric.advantage, 3)})")
    return [*lines, f"as annotators: {'; '.join(results)}"]


def _dataset_facts(dataset: DatasetRecord) -> list[str]:
    """Return short phrases on a dataset: its pairs, the origin of its labels, its groups, and its notes."""
    facts = [f"{dataset.n:,} pairs"]
    if dataset.kind in NOT_BY_PEOPLE:
        facts.append(NOT_BY_PEOPLE[dataset.kind])
    if dataset.group:
        facts.append(f"resampled by {dataset.group}")
    return facts + dataset.notes


def _bucket_block(
    bucket: BucketRecord, rows: list[AgreementRow], statistics: list[str], *, with_ceiling: bool
) -> Block:
    """Return the table of one bucket, in which a number that the run lacks is :data:`NOT_COMPUTED`.

    A bucket without pairs has no rows.

    Args:
        bucket: the bucket's entry in the manifest.
        rows: the agreement of the dataset, in all of its buckets.
        statistics: the names of the statistics, in the order of the cells.
        with_ceiling: whether to show the highest value that a tie-free score could reach.
    """
    by_metric: dict[str, dict[str, AgreementRow]] = {}
    for row in rows:
        # a bucket without pairs has a block, but no lines of metrics
        if row.bucket == bucket.bucket and bucket.n:
            by_metric.setdefault(row.metric, {})[row.statistic] = row
    metric_rows = []
    for metric, row_by_statistic in by_metric.items():
        cells = [row_by_statistic[name].number if name in row_by_statistic else NOT_COMPUTED for name in statistics]
        metric_rows.append((metric, cells, tuple(dict.fromkeys(note for cell in cells for note in cell.notes))))
    ceiling_values = bucket.ceiling if with_ceiling else {}
    ceiling = [Number(ceiling_values.get(name)) for name in statistics]
    chance = [STATISTICS[name].chance_level(bucket.ties) for name in statistics]
    return Block(bucket.bucket, _bucket_facts(bucket), ceiling, chance, metric_rows)


def _reliability_text(value: float | None) -> str:
    return "not estimable" if value is None else short(value, 3)


def _bucket_facts(bucket: BucketRecord) -> list[str]:
    """Return short phrases on a bucket: the number of pairs, and what is known of the other properties.

    These are the condition of the bucket, the labels, their ties and reliability, and the number of groups.
    """
    facts = [f"n = {bucket.n:,}"]
    if bucket.about:
        facts.append(bucket.about)
    if bucket.labels:
        # more than ten labels are recorded as quartiles
        has_quartiles = "50%" in bucket.labels
        names = list(bucket.labels) if has_quartiles else label_texts([float(label) for label in bucket.labels])
        counts = [f"{n:,.0f}" if is_exact_integer(n) else f"{n:.4g}" for n in bucket.labels.values()]
        listed_counts = ", ".join(f"{name}: {count}" for name, count in zip(names, counts, strict=True))
        head = "label quartiles" if has_quartiles else "labels"
        facts.append(f"{head} {listed_counts}")
    if bucket.ties is not None:
        facts.append(f"{bucket.ties:.0%} of comparisons are ties in the labels")
    if bucket.reliability:
        facts += _reliability_facts(bucket.reliability)
    if bucket.groups is not None:
        facts.append(f"{bucket.groups:,} groups")
    return facts


def _reliability_facts(reliability: AnnotatorReliability) -> list[str]:
    """Return short phrases on the reliability of the labels and the upper bound that it sets for metrics.

    There is no upper bound in runs of older versions, or if the mean of the annotators is not the label. Krippendorff's
    alpha and the agreement of single annotators follow if the run has them.
    """
    reliabilities = f"r {_reliability_text(reliability.pearson)}, ρ {_reliability_text(reliability.spearman)}"
    # older folders lack α, and the agreement of each annotator with the others
    knows_people = reliability.annotators_pearson or not reliability.alpha
    count = reliability.annotators
    method = f"split-half, {count} annotators" if knows_people else f"split-half, up to {count} labels of a pair"
    if reliability.lengths is None:
        # older runs applied the Spearman-Brown step-up to all halves as if equal: too little for an odd number
        return [f"reliability of the labels ({method}, as if halves were equal) {reliabilities}"]
    bounds = f"r {_reliability_text(reliability.bound_pearson)}, ρ {_reliability_text(reliability.bound_spearman)}"
    if reliability.is_of_label:
        facts = [f"reliability of the labels ({method}) {reliabilities}", f"upper bound for a metric {bounds}"]
    else:
        facts = [f"reliability of the annotators' mean, which is not the label ({method}) {reliabilities}"]
    if reliability.alpha:
        alphas = ", ".join(f"{level} {_reliability_text(value)}" for level, value in reliability.alpha.items())
        facts.append(f"Krippendorff's α {alphas}")
    if reliability.annotators_spearman:
        facts.append(
            f"an annotator with the mean of the others ρ {_annotator_values_text(reliability.annotators_spearman)}"
        )
    return facts


#: The maximum number of annotators for whom each value is listed.
MAX_LISTED_ANNOTATORS = 5


def _annotator_values_text(values: list[float | None]) -> str:
    """Return one value per annotator as text; only the range if there are more than :data:`MAX_LISTED_ANNOTATORS`."""
    defined_values = [value for value in values if value is not None]
    if len(values) <= MAX_LISTED_ANNOTATORS or not defined_values:
        return ", ".join(short(value, 3) for value in values)
    return f"{short(min(defined_values), 3)} to {short(max(defined_values), 3)} ({len(values)} annotators)"
