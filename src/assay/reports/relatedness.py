"""The correlation of features of words with labels, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.data import ScoredDataset
from assay.analysis.relatedness import MAX_RARE_SHARE, Feature, RelatednessStudy
from assay.common.numbers import Number
from assay.reports.layout import intervals_in_words
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.settings import AgreementIntervals


def to_document(study: RelatednessStudy, drawing: AgreementIntervals, notes: Sequence[str]) -> Document:
    """Return a table of each feature's rank correlation with the labels, on all pairs and on either half of the labels.

    Features that are left out if rare are not in the table if they are rare; a note has their shares of the pairs.

    Args:
        study: the correlations of the features.
        drawing: the settings of the intervals.
        notes: further notes.
    """
    data, kept = study.data, study.features
    if study.rare:
        shares = ", ".join(f"{feature.name} {feature.present.mean():.1%}" for feature in study.rare)
        notes = [
            *notes,
            f"left out, in both sentences of no more than {MAX_RARE_SHARE:.0%} of the pairs: {shares}",
        ]
    interval = "no intervals"
    if drawing.resamples:
        sizes = list(study.sizes.values())
        interval = intervals_in_words(drawing.confidence, drawing.resamples, drawing.interval, sizes)

    def range_columns(name: str, estimates: Sequence[Number]) -> list[Column]:
        return [
            Column(f"Spearman ρ, {name}", number=True, cell=lambda number: estimates[number].text),
            Column("pairs", number=True, cell=lambda number: f"{estimates[number].n:,}"),
        ]

    # a row is the number of a feature
    columns = [
        Column("question", cell=lambda number: kept[number].question),
        Column("feature", cell=lambda number: kept[number].name),
    ]
    records = []
    for name, feature_estimates in study.correlations.items():
        columns += range_columns(name, feature_estimates)
        for feature, estimate in zip(kept, feature_estimates, strict=True):
            records.append(_correlation_record(data, name, feature, estimate, estimate.n))
    sheet = Sheet(
        f"{data.title}: features of related words",
        columns,
        table_rows(columns, range(len(kept))),
        facts=[
            f"{len(data):,} pairs; {study.halves}; {interval}",
            "pairs: those in which both sentences have such words, with a vector",
        ],
        notes=[*notes, *_undefined_notes(kept, study.correlations), *_missing_vector_notes(kept)],
    )
    return Document([sheet], records)


def _undefined_notes(features: Sequence[Feature], estimates: Mapping[str, Sequence[Number]]) -> list[str]:
    """Return one note, with the reason, per undefined correlation.

    Args:
        features: the features.
        estimates: the correlations of these features, by range of the labels.
    """
    notes = []
    for name, feature_estimates in estimates.items():
        for feature, estimate in zip(features, feature_estimates, strict=True):
            if estimate.value is None:
                notes.append(f"{feature.name}, {name}: undefined, {estimate.note}")
    return notes


def _missing_vector_notes(features: Sequence[Feature]) -> list[str]:
    """Return a note that counts, by feature, the pairs with such words of which one sentence has no vector.

    The list is empty if there are no such pairs.
    """
    counts = []
    for feature in features:
        if feature.without_vector:
            counts.append(f"{feature.name} {feature.without_vector:,}")
    if not counts:
        return []
    return [f"pairs with such words of which a sentence has none with a vector, left out: {', '.join(counts)}"]


def _correlation_record(
    data: ScoredDataset, range_name: str, feature: Feature, estimate: Number, n: int
) -> dict[str, Any]:
    """Return one correlation as a flat record.

    Args:
        data: the pairs.
        range_name: the name of the range of labels; only the record of ``all`` counts the pairs with such words.
        feature: the feature.
        estimate: its correlation on the pairs in the range.
        n: the number of these pairs that have a score.
    """
    return {
        "dataset": data.name,
        "question": feature.question,
        "feature": feature.name,
        "labels": range_name,
        "spearman": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": n,
        "present": int(feature.present.sum()) if range_name == "all" else None,
        "note": estimate.note,
    }
