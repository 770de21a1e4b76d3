"""The errors of a run: agreement on subsets, the cleaning experiment, and the report of each dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, unknown_name
from assay.lexicon.texts import has_number
from assay.reports.categories import PartsOfSpeech
from assay.reports.data import ALL, ScoredDataset, choose_datasets, read_datasets
from assay.reports.errors.categories import Frequency, Tagged, frequencies, tag_all, too_long
from assay.reports.errors.divergence import Divergence, diverging
from assay.reports.errors.settings import Rule
from assay.reports.folder import RunFolder
from assay.settings import Resampling
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.coefficients import check_statistics

# Agreement on subsets of the pairs: inside a category, without it, and without numbers


@dataclass(frozen=True)
class SubsetAgreement:
    """Agreement on a part of the pairs.

    Attributes:
        name: what the part is.
        n: its pairs.
        estimates: one a metric and statistic.
    """

    name: str
    n: int
    estimates: list[Estimate]

    def of(self, metric: str, statistic: str) -> Estimate:
        """Return the estimate of one metric and statistic."""
        for estimate in self.estimates:
            if (estimate.metric, estimate.statistic) == (metric, statistic):
                return estimate
        raise KeyError((metric, statistic))


def agreement_on(
    data: ScoredDataset,
    name: str,
    inside: NDArray[np.bool_],
    metrics: Sequence[str],
    statistics: Sequence[str],
    drawing: Resampling,
    *,
    bucket: str = ALL,
    labels: NDArray[np.float64] | None = None,
) -> SubsetAgreement:
    """Return the agreement of metrics on the pairs inside a mask.

    Args:
        data: the pairs.
        name: of the part.
        inside: shape (n,).
        metrics, statistics: which.
        drawing: of the intervals.
        bucket: the bucket that the part is, or lies in, as a run calls it: its draws are the run's.
        labels: other labels than those of the data, shape (n,).
    """
    pairs = data.within(bucket, drawing.seed, inside)
    estimates = agreement(
        {metric: pairs.take(data.oriented(metric)) for metric in metrics},
        pairs.labels if labels is None else pairs.take(labels),
        statistics=statistics,
        resamples=drawing.resamples,
        confidence=drawing.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
    )
    return SubsetAgreement(name, len(pairs), estimates)


def by_category(
    data: ScoredDataset,
    masks: Mapping[str, NDArray[np.bool_]],
    bucket: str,
    metrics: Sequence[str],
    statistics: Sequence[str],
    drawing: Resampling,
) -> list[tuple[SubsetAgreement, SubsetAgreement]]:
    """Return the agreement inside each category in a bucket, and that of all pairs of the bucket without it."""
    inside = data.buckets[bucket]
    return [
        (
            agreement_on(data, name, mask & inside, metrics, statistics, drawing, bucket=bucket),
            agreement_on(data, f"without {name}", ~mask & inside, metrics, statistics, drawing, bucket=bucket),
        )
        for name, mask in masks.items()
        if (mask & inside).any()
    ]


def by_number(
    data: ScoredDataset, buckets: Sequence[str], metrics: Sequence[str], statistics: Sequence[str], drawing: Resampling
) -> list[tuple[str, SubsetAgreement, SubsetAgreement, SubsetAgreement]]:
    """Return for each bucket the agreement on all pairs, on those without a number in a gold answer, and on the rest.

    Source: tables 7 and 8 of Mustafazade & Ebbinghaus (2022): ``w_num`` are all pairs, ``wo_num`` those without.
    """
    number = has_number(data.table.column("reference"))
    parts = []
    for bucket in buckets:
        mask = data.buckets[bucket]
        # the names under which a run has these buckets
        crossed = "" if bucket == ALL else f"{bucket}+"
        every, without, rest = (
            agreement_on(data, name, part, metrics, statistics, drawing, bucket=own)
            for name, part, own in (
                ("all pairs", mask, bucket),
                ("without", mask & ~number, f"{crossed}number=no"),
                ("with", mask & number, f"{crossed}number=yes"),
            )
        )
        parts.append((bucket, every, without, rest))
    return parts


# The cleaning experiment: the same pairs with corrected labels


@dataclass(frozen=True)
class Cleaning:
    """Agreement before and after labels were corrected, on the pairs that both runs have.

    Attributes:
        title: the dataset with the corrected labels.
        joined: pairs in both.
        only_first, only_second: pairs of one run that the other one lacks.
        changed: joined pairs whose label differs.
        first: agreement with the first labels.
        corrected: agreement with the corrected labels.
        unchanged: agreement on the pairs whose label did not change.
    """

    title: str
    joined: int
    only_first: int
    only_second: int
    changed: int
    first: SubsetAgreement
    corrected: SubsetAgreement
    unchanged: SubsetAgreement


def partner(data: ScoredDataset, others: Sequence[ScoredDataset]) -> ScoredDataset | None:
    """Return the dataset of another run that has the same name, whatever its version, or None."""
    return next((other for other in others if other.name == data.name), None)


def clean(
    data: ScoredDataset,
    other: ScoredDataset,
    metrics: Sequence[str],
    statistics: Sequence[str],
    drawing: Resampling,
) -> Cleaning:
    """Return the agreement of one run's scores with its own labels, and with the labels of another run.

    Pairs are the same where their texts are; a pair that occurs several times is joined in order.

    Args:
        data: pairs, scores, first labels.
        other: the same pairs with other labels; its scores are not read.
        metrics, statistics: which.
        drawing: of the intervals.

    Raises:
        InputError: the two have no pair in common.
    """
    row_of = {key: row for row, key in enumerate(_occurrence_keys(other))}
    # the row of the same pair in the other run, -1 where it has none
    rows = np.array([row_of.get(key, -1) for key in _occurrence_keys(data)], dtype=np.intp)
    joined = rows >= 0
    if not joined.any():
        raise InputError(
            f"{other.run.title}: {other.title} has no pair of {data.run.title}; the texts must be the same"
        )
    labels = np.where(joined, other.labels[rows], data.labels)
    same = joined & (labels == data.labels)

    def agreement_of(name: str, inside: np.ndarray, corrected: bool = False) -> SubsetAgreement:
        return agreement_on(data, name, inside, metrics, statistics, drawing, labels=labels if corrected else None)

    return Cleaning(
        title=other.title,
        joined=int(joined.sum()),
        only_first=int((~joined).sum()),
        only_second=len(other) - int(joined.sum()),
        changed=int((joined & ~same).sum()),
        first=agreement_of("first labels", joined),
        corrected=agreement_of("corrected labels", joined, corrected=True),
        unchanged=agreement_of("without the pairs whose label changed", same),
    )


def _occurrence_keys(data: ScoredDataset) -> Iterator[tuple[object, ...]]:
    """Yield a key for each pair: its texts, and how often they have occurred so far."""
    seen: Counter[tuple[object, ...]] = Counter()
    for golds, candidate in zip(
        data.table.column("reference").to_pylist(), data.table.column("candidate").to_pylist(), strict=True
    ):
        key = (tuple(golds or ()), candidate)
        seen[key] += 1
        yield *key, seen[key]


@dataclass(frozen=True)
class ErrorReport:
    """The errors of some metrics on one dataset.

    Attributes:
        data: pairs, labels and scores.
        bucket: the pairs looked at.
        statistics: coefficients of the agreement.
        tagged: categories of all pairs.
        too_long: pairs with an answer that is too long for the rules, shape (n,).
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
    too_long: NDArray[np.bool_]
    divergences: dict[str, Divergence]
    frequencies: dict[str, list[Frequency]]
    everywhere: SubsetAgreement
    categories: list[tuple[SubsetAgreement, SubsetAgreement]]
    numbers: list[tuple[str, SubsetAgreement, SubsetAgreement, SubsetAgreement]]
    cleaning: Cleaning | None


def analyse(
    data: ScoredDataset,
    metrics: Sequence[str],
    *,
    rule: Rule,
    statistics: Sequence[str],
    drawing: Resampling,
    bucket: str = ALL,
    corrected: Sequence[ScoredDataset] = (),
    speech: PartsOfSpeech | None = None,
) -> ErrorReport:
    """Return where metrics and people diverge on a dataset, and how that goes with the categories of the pairs.

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
        raise InputError(unknown_name(f"{data.run.title}: {data.name} has no bucket", bucket, data.buckets))
    inside, seed = data.buckets[bucket], data.within(bucket, drawing.seed).seed
    tagged = tag_all(data, rule.scale, speech)
    divergences = {name: diverging(data, name, rule, inside, drawing.seed) for name in names}
    other = partner(data, corrected)
    numbered = [bucket] if bucket != ALL else [ALL, *(name for name in ("f1=0", "f1>0") if name in data.buckets)]
    return ErrorReport(
        data=data,
        bucket=bucket,
        statistics=list(statistics),
        tagged=tagged,
        too_long=too_long(data),
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
        limit: most pairs of each metric; all by default.
    """
    data = report.data
    ids = data.table.column("pair_id")
    for metric, divergence in report.divergences.items():
        for rank, row in enumerate(divergence.rows.tolist()[:limit]):
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
                "side": "too-low" if divergence.too_low[rank] else "too-high",
                "distance": round(float(divergence.distances[rank]), 6),
                **_threshold(data, divergence, row),
                "categories": [
                    {"category": category.name, "reason": category.reason, "source": category.source}
                    for category in report.tagged.categories[row]
                ],
            }


def _threshold(data: ScoredDataset, divergence: Divergence, row: int) -> dict[str, float]:
    """Return the threshold that decided a pair, on the scale of the metric; nothing where none did."""
    if divergence.decisions is None:
        return {}
    turned = float(divergence.decisions.thresholds[row])
    return {"threshold": turned if data.metrics[divergence.metric].declared.higher_is_better else -turned}


def errors_of(
    run: RunFolder,
    metrics: Sequence[str] = (),
    *,
    datasets: Sequence[str] = (),
    rule: Rule | None = None,
    statistics: Sequence[str] = ("kendall",),
    drawing: Resampling | None = None,
    bucket: str = ALL,
    corrected: RunFolder | None = None,
    speech: PartsOfSpeech | None = None,
) -> list[ErrorReport]:
    """Return where metrics and people diverge in a run, one report for each dataset.

    Args:
        run: the run.
        metrics: which; all by default.
        datasets: which; all by default.
        rule: what counts as diverging.
        statistics: coefficients of the agreement.
        drawing: of the intervals.
        bucket: which pairs to look at.
        corrected: a run of the same pairs with other labels.
        speech: what reads parts of speech for the categories.

    Raises:
        InputError: the run lacks what was asked for, or has no dataset in common with the corrected one.
    """
    chosen = choose_datasets(run, datasets)
    others = read_datasets(corrected) if corrected is not None else []
    if corrected is not None and {data.name for data in chosen}.isdisjoint(other.name for other in others):
        raise InputError(
            f"{corrected.title}: has none of the datasets of {run.title} ({', '.join(data.name for data in chosen)})"
        )
    rule = rule or Rule()
    rule.check_used({rule.by_for(data.metrics[name]) for data in chosen for name in data.find_metrics(list(metrics))})
    return [
        analyse(
            data,
            metrics,
            rule=rule,
            statistics=check_statistics(tuple(statistics)),
            drawing=drawing or Resampling(),
            bucket=bucket,
            corrected=others,
            speech=speech,
        )
        for data in chosen
    ]
