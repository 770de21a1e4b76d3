"""Scores from best-worst annotations as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.bws import AnnotationSet, annotation_counts, item_records, reliability_record
from assay.common.numbers import short
from assay.reports.sheets import Column, Document, Sheet

if TYPE_CHECKING:
    from assay.statistics.best_worst import ChoiceCounts, SplitHalf

#: The number of items shown at each end of the order, the highest and the lowest.
ITEMS_PER_END = 5


def to_document(annotation_set: AnnotationSet, counts: ChoiceCounts, reliability: SplitHalf | None) -> Document:
    """Return a table of the annotations and their reliability, and one of the highest and lowest items.

    The records of the document have all items, highest first.

    Args:
        annotation_set: what the annotations consist of.
        counts: the counts and scores of the items.
        reliability: the split-half reliability; None if no tuple has two annotations.
    """
    records = item_records(annotation_set, counts)
    return Document(
        [_summary_table(annotation_set, reliability), _extreme_items_table(records)],
        records,
        value={
            "annotations": annotation_counts(annotation_set),
            "reliability": reliability_record(reliability),
            "items": records,
        },
    )


def _summary_table(annotation_set: AnnotationSet, reliability: SplitHalf | None) -> Sheet:
    """Return the table with the numbers of annotations and their split-half reliability, with caveats as notes.

    If the reliability is None, its rows are left out, and a note says why.
    """

    def format_count(value: Any) -> str:
        if value is None:
            return "not said"
        if not isinstance(value, dict):
            return f"{value:,}"
        least, most = value["least"], value["most"]
        mean_text = f"{value['mean']:.3g}"
        return mean_text if least == most else f"{mean_text} ({least:,} to {most:,})"

    rows = [(name, format_count(value)) for name, value in annotation_counts(annotation_set).items()]
    notes = list(annotation_set.warnings)
    if reliability is None:
        notes.append("no split-half reliability: no tuple has two annotations")
    else:
        rows += [
            (
                "correlation of split halves, Spearman ρ",
                _mean_cell(reliability.spearman, reliability.spearman_deviation),
            ),
            ("correlation of split halves, Pearson r", _mean_cell(reliability.pearson, reliability.pearson_deviation)),
            ("reliability of the scores (Spearman-Brown, of Pearson r)", _mean_cell(reliability.stepped_up, None)),
            ("upper bound for a metric (its square root), Pearson r", _mean_cell(reliability.upper_bound, None)),
        ]
        notes += _reliability_notes(annotation_set, reliability)
    return Sheet(annotation_set.title, [Column("what"), Column("value", number=True)], rows, notes=notes)


def _reliability_notes(annotation_set: AnnotationSet, reliability: SplitHalf) -> list[str]:
    """Return notes on how the reliability was computed, and on splits, items and tuples that limit it."""
    notes = [f"{reliability.splits:,} random splits of the annotations of each tuple; ± standard deviation over them"]
    if reliability.undefined:
        notes.append(f"undefined in {reliability.undefined:,} of them, where all scores of a half are equal")
    if reliability.fewest < len(annotation_set.items):
        notes.append(f"an item that one half never saw is left out: at least {reliability.fewest:,} items are compared")
    single_annotation_tuples = int(np.count_nonzero(annotation_set.annotations_per_tuple == 1))
    if single_annotation_tuples:
        notes.append(f"tuples with one annotation, which falls to either half by chance: {single_annotation_tuples:,}")
    return notes


def _mean_cell(mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return "–"
    return short(mean, 3) if deviation is None else f"{short(mean, 3)} ± {short(deviation, 3)}"


def _extreme_items_table(records: list[dict[str, Any]]) -> Sheet:
    """Return the table of the highest and the lowest items, or of all items if there are few.

    Args:
        records: the records of all items, highest first.
    """
    shows_all = len(records) <= 2 * ITEMS_PER_END
    shown_records = records if shows_all else [*records[:ITEMS_PER_END], *records[-ITEMS_PER_END:]]
    return Sheet(
        "Items" if shows_all else f"The {ITEMS_PER_END} highest and the {ITEMS_PER_END} lowest items",
        [
            Column("item"),
            Column("score", number=True),
            Column("scaled", number=True),
            Column("best", number=True),
            Column("worst", number=True),
            Column("seen", number=True),
        ],
        [
            (
                record["item"],
                short(record["score"], 3),
                short(record["scaled"], 3),
                f"{record['best']:,}",
                f"{record['worst']:,}",
                f"{record['seen']:,}",
            )
            for record in shown_records
        ],
        facts=["score: (times best - times worst) / times seen, from -1 to 1; scaled: the same from 0 to 1"],
    )
