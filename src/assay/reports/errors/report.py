"""Everything about the errors of some metrics on one dataset, as values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import InputError, unknown
from assay.reports.categories import PartsOfSpeech
from assay.reports.data import ALL, ScoredDataset
from assay.reports.errors.corrected import Cleaning, clean, partner
from assay.reports.errors.divergence import Divergence, Rule, diverging
from assay.reports.errors.frequency import Frequency, frequencies
from assay.reports.errors.subsets import Part, agreement_on, by_category, by_number
from assay.reports.errors.tagged import Tagged, tag_all
from assay.statistics.drawing import Drawing

__all__ = ["ErrorReport", "analyse", "records"]


@dataclass(frozen=True)
class ErrorReport:
    """The errors of some metrics on one dataset.

    Attributes:
        data: pairs, labels and scores.
        bucket: the pairs looked at.
        statistics: coefficients of the agreement.
        tagged: categories of all pairs.
        divergences: by metric.
        frequencies: by metric, a row a category.
        everywhere: agreement on all pairs of the bucket.
        categories: agreement inside each category and without it.
        numbers: agreement by bucket on all pairs, without those with a number, and on those with one.
        cleaning: agreement with corrected labels, or None.
    """

    data: ScoredDataset
    bucket: str
    statistics: list[str]
    tagged: Tagged
    divergences: dict[str, Divergence]
    frequencies: dict[str, list[Frequency]]
    everywhere: Part
    categories: list[tuple[Part, Part]]
    numbers: list[tuple[str, Part, Part, Part]]
    cleaning: Cleaning | None


def analyse(
    data: ScoredDataset,
    metrics: Sequence[str],
    *,
    rule: Rule,
    statistics: Sequence[str],
    drawing: Drawing,
    bucket: str = ALL,
    corrected: Sequence[ScoredDataset] = (),
    speech: PartsOfSpeech | None = None,
) -> ErrorReport:
    """Find where metrics and people diverge on a dataset, and hold it against the categories of the pairs.

    Args:
        data: the dataset.
        metrics: metrics that it has scores of; all of them where empty.
        rule: what counts as diverging.
        statistics: coefficients of the agreement.
        drawing: of the intervals.
        bucket: which pairs to look at.
        corrected: datasets of a run of the same pairs with other labels.
        speech: what reads parts of speech for the categories.

    Raises:
        InputError: the dataset lacks a metric or the bucket.
    """
    names = data.find_metrics(list(metrics))
    if bucket not in data.buckets:
        raise InputError(unknown(f"{data.run.title}: {data.name} has no bucket", bucket, data.buckets))
    inside, seed = data.buckets[bucket], data.within(bucket, drawing.seed).seed
    tagged = tag_all(data, rule.scale, speech)
    divergences = {name: diverging(data, name, rule, inside) for name in names}
    other = partner(data, corrected)
    numbered = [bucket] if bucket != ALL else [ALL, *(name for name in ("f1=0", "f1>0") if name in data.buckets)]
    return ErrorReport(
        data=data,
        bucket=bucket,
        statistics=list(statistics),
        tagged=tagged,
        divergences=divergences,
        frequencies={
            name: frequencies(tagged, found, data.groups, drawing, seed) for name, found in divergences.items()
        },
        everywhere=agreement_on(data, "all pairs", inside, names, statistics, drawing, bucket=bucket),
        categories=by_category(data, tagged.masks, bucket, names, statistics, drawing),
        numbers=by_number(data, numbered, names, statistics, drawing),
        cleaning=clean(data, other, names, statistics, drawing) if other is not None else None,
    )


def records(report: ErrorReport, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield an object for each diverging pair of each metric, the worst first.

    Args:
        report: the errors of a dataset.
        limit: at most so many a metric.
    """
    data = report.data
    ids = data.table.column("pair_id")
    for metric, found in report.divergences.items():
        for place, row in enumerate(found.rows.tolist()[:limit]):
            texts = data.texts(row)
            yield {
                "dataset": data.name,
                "pair_id": ids[row].as_py(),
                "question": texts["question"],
                "reference": texts["reference"],
                "candidate": texts["candidate"],
                "label": float(data.labels[row]),
                "metric": metric,
                "score": float(data.scores[metric][row]),
                "side": "too-low" if found.too_low[place] else "too-high",
                "distance": round(float(found.distances[place]), 6),
                "categories": [
                    {"category": one.name, "reason": one.reason, "source": one.source}
                    for one in report.tagged.categories[row]
                ],
            }
