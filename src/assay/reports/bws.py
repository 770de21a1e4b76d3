"""Scores from best-worst annotations as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.bws import AnnotationSet, annotation_counts
from assay.common.numbers import short
from assay.reports.sheets import Column, Document, Sheet, table_rows

#: The number of items shown at each end of the order, the highest and the lowest.
ITEMS_PER_END = 5


def to_document(
    annotation_set: AnnotationSet, records: Sequence[dict[str, Any]], reliability: Mapping[str, Any] | None
) -> Document:
    """Return tables of the annotations and their reliability, of gold questions if any, and of extreme items.

    The records of the document have all items, highest first; its JSON has the counts, the reliability and the
    annotators with gold questions as well.

    Args:
        annotation_set: what the annotations consist of.
        records: the items with their counts and scores, highest first.
        reliability: the split-half reliability by name; None if no tuple has two annotations.
    """
    return Document(
        [
            _summary_table(annotation_set, reliability),
            *([_gold_table(annotation_set.gold_records)] if annotation_set.gold_records else ()),
            _extreme_items_table(records),
        ],
        records,
        value={
            "annotations": annotation_counts(annotation_set),
            "reliability": reliability,
            **({"annotators": list(annotation_set.gold_records)} if annotation_set.gold_records else {}),
            "items": records,
        },
    )


#: What is told of a set of annotations: its name and its text.
_SUMMARY_COLUMNS = (Column("what", cell=lambda row: row[0]), Column("value", number=True, cell=lambda row: row[1]))
#: The rows of the reliability, with its key in the record.
_RELIABILITY_ROWS = {
    "correlation of split halves, Spearman ρ": "spearman",
    "correlation of split halves, Pearson r": "pearson",
    "reliability of the scores (Spearman-Brown, of Pearson r)": "stepped_up",
    "upper bound for a metric (its square root), Pearson r": "upper_bound",
}


def _summary_table(annotation_set: AnnotationSet, reliability: Mapping[str, Any] | None) -> Sheet:
    """Return the table with the numbers of annotations and their split-half reliability, with caveats as notes.

    If the reliability is None, its rows are left out, and a note says why.
    """

    def format_count(value: Any) -> str:
        """Return a count as text, or the mean, least and most of one that varies; ``not said`` for None."""
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
        for name, key in _RELIABILITY_ROWS.items():
            rows.append((name, _mean_cell(reliability[key], reliability.get(f"{key}_deviation"))))
        notes += _reliability_notes(annotation_set, reliability)
    return Sheet(annotation_set.title, _SUMMARY_COLUMNS, table_rows(_SUMMARY_COLUMNS, rows), notes=notes)


def _reliability_notes(annotation_set: AnnotationSet, reliability: Mapping[str, Any]) -> list[str]:
    """Return notes on how the reliability was computed, and on splits, items and tuples that limit it."""
    notes = [
        f"{reliability['splits']:,} random splits of the annotations of each tuple; ± standard deviation over them"
    ]
    if reliability["undefined"]:
        notes.append(f"undefined in {reliability['undefined']:,} of them, where all scores of a half are equal")
    fewest = reliability["fewest"]
    if fewest < len(annotation_set.items):
        notes.append(f"an item that one half never saw is left out: at least {fewest:,} items are compared")
    single = annotation_set.tuples_with_one_annotation
    if single:
        notes.append(f"tuples with one annotation, which falls to either half by chance: {single:,}")
    return notes


_GOLD_COLUMNS = (
    Column("annotator", cell=lambda record: record["annotator"]),
    Column("annotations", number=True, cell=lambda record: f"{record['annotations']:,}"),
    Column("gold questions", number=True, cell=lambda record: f"{record['answered']:,}"),
    Column("as agreed", number=True, cell=lambda record: f"{record['right']:,}"),
    Column("share", number=True, cell=lambda record: "–" if record["share"] is None else short(record["share"], 3)),
    Column("counted", cell=lambda record: "yes" if record["is_kept"] else "no"),
)


def _gold_table(records: Sequence[Mapping[str, Any]]) -> Sheet:
    """Return the table of annotators and the gold questions that they answered as agreed, the lowest share first.

    Annotators without a gold question come last.
    """
    discarded = [record for record in records if not record["is_kept"]]
    annotations = sum(record["annotations"] for record in discarded)
    unchecked = sum(record["share"] is None for record in records)
    notes = ["as agreed: best and worst item; gold questions themselves do not count for the scores"]
    if discarded:
        notes.append(f"left out: {len(discarded):,} of {len(records):,} annotators with {annotations:,} annotations")
    if unchecked:
        notes.append(f"annotators without a gold question, who are counted: {unchecked:,}")
    # a share is at most 1
    in_order = sorted(records, key=lambda record: math.inf if record["share"] is None else record["share"])
    return Sheet("Gold questions", _GOLD_COLUMNS, table_rows(_GOLD_COLUMNS, in_order), notes=notes)


def _mean_cell(mean: float | None, deviation: float | None) -> str:
    if mean is None:
        return "–"
    return short(mean, 3) if deviation is None else f"{short(mean, 3)} ± {short(deviation, 3)}"


_ITEM_COLUMNS = (
    Column("item", cell=lambda record: record["item"]),
    Column("score", number=True, cell=lambda record: short(record["score"], 3)),
    Column("scaled", number=True, cell=lambda record: short(record["scaled"], 3)),
    Column("best", number=True, cell=lambda record: f"{record['best']:,}"),
    Column("worst", number=True, cell=lambda record: f"{record['worst']:,}"),
    Column("seen", number=True, cell=lambda record: f"{record['seen']:,}"),
)


def _extreme_items_table(records: Sequence[dict[str, Any]]) -> Sheet:
    """Return the table of the highest and the lowest items, or of all items if there are few.

    Args:
        records: the records of all items, highest first.
    """
    shows_all = len(records) <= 2 * ITEMS_PER_END
    shown_records = records if shows_all else [*records[:ITEMS_PER_END], *records[-ITEMS_PER_END:]]
    return Sheet(
        "Items" if shows_all else f"The {ITEMS_PER_END} highest and the {ITEMS_PER_END} lowest items",
        _ITEM_COLUMNS,
        table_rows(_ITEM_COLUMNS, shown_records),
        facts=["score: (times best - times worst) / times seen, from -1 to 1; scaled: the same from 0 to 1"],
    )
