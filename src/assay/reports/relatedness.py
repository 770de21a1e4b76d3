"""The correlation of features of words with labels, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.analysis.data import ScoredDataset
from assay.analysis.relatedness import MAX_RARE_SHARE, Feature, RelatednessStudy
from assay.common.numbers import Number
from assay.reports.layout import intervals_in_words
from assay.reports.sheets import Column, Document, Sheet, table_rows
from assay.settings import AgreementIntervals

if TYPE_CHECKING:
    from assay.statistics.agreement import Estimate


def to_document(study: RelatednessStudy, drawing: AgreementIntervals, notes: Sequence[str]) -> Document:
    """Return a table of each feature's rank correlation with the labels, on all pairs and on either half of the labels.

    The features that the study left out as too rare are in a note, with their shares of the pairs. Other notes are on
    undefined correlations, and on pairs without a vector.

    Args:
        study: the correlations of the features.
        drawing: the settings of the intervals.
        notes: further notes.
    """
    data, features = study.data, study.features
    all_notes = [*notes]
    if study.rare:
        shares = ", ".join(f"{feature.name} {feature.present.mean():.1%}" for feature in study.rare)
        all_notes.append(f"left out, in both sentences of no more than {MAX_RARE_SHARE:.0%} of the pairs: {shares}")
    interval = "no intervals"
    if drawing.resamples:
        sizes = list(study.sizes.values())
        interval = intervals_in_words(drawing.confidence, drawing.resamples, drawing.interval, sizes)
    # a row is the index of a feature
    columns = [
        Column("question", cell=lambda index: features[index].question),
        Column("feature", cell=lambda index: features[index].name),
    ]
    records = []
    for range_name, estimates in study.correlations.items():
        columns += _range_columns(range_name, estimates)
        for feature, estimate in zip(features, estimates, strict=True):
            records.append(_correlation_record(data, range_name, feature, estimate))
    sheet = Sheet(
        f"{data.title}: features of related words",
        columns,
        table_rows(columns, range(len(features))),
        facts=[
            f"{len(data):,} pairs; {study.halves}; {interval}",
            "pairs: those in which both sentences have such words, with a vector",
        ],
        notes=[*all_notes, *_undefined_notes(features, study.correlations), *_missing_vector_notes(features)],
    )
    return Document([sheet], records)


def _range_columns(name: str, estimates: Sequence[Estimate]) -> list[Column]:
    """Return the columns of a range of labels: each feature's correlation, and the number of its pairs."""
    return [
        Column(f"Spearman ρ, {name}", number=True, cell=lambda index: estimates[index].text),
        Column("pairs", number=True, cell=lambda index: f"{estimates[index].n:,}"),
    ]


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


def _correlation_record(data: ScoredDataset, range_name: str, feature: Feature, estimate: Estimate) -> dict[str, Any]:
    """Return one correlation as a flat record.

    Args:
        data: the pairs.
        range_name: the name of the range of labels; only the record of ``all`` counts the pairs with such words.
        feature: the feature.
        estimate: its correlation on the pairs in the range that have a score.
    """
    return {
        "dataset": data.name,
        "question": feature.question,
        "feature": feature.name,
        "labels": range_name,
        "spearman": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "present": int(feature.present.sum()) if range_name == "all" else None,
        "note": estimate.note,
    }
