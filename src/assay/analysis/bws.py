"""Scores from best-worst annotations: their settings, their items and how reliable they are, as records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.settings import Seeded, setting
from assay.statistics.best_worst import ChoiceCounts, Codes, SplitHalf


@dataclass(frozen=True, kw_only=True)
class BestWorstSettings(Seeded):
    """Where scores from best-worst annotations are written, and how their reliability is drawn."""

    out: str | Path | None = setting(
        "Write the scores: CSV, TSV, JSONL or Parquet. Earlier scores of these items are replaced, and nothing else.",
        None,
        flags=("--out", "-o"),
        metavar="FILE",
    )
    splits: int = setting("Random splits for the reliability.", 1000, at_least=1)


#: The columns of the table of items.
COLUMNS = ("item", "score", "scaled", "best", "worst", "seen", "tuples")


@dataclass(frozen=True, eq=False)
class AnnotationSet:
    """What a set of best-worst annotations consists of.

    Attributes:
        title: the name of the data in tables.
        items: the names of the n items.
        tuple_size: the number of items in a tuple.
        annotations_per_tuple: the number of annotations of each tuple, shape (tuples,).
        tuples_per_item: the number of tuples that each item occurs in, shape (n,).
        annotators: the number of annotators; None if unknown.
        warnings: messages about irregular tuples.
    """

    title: str
    items: Sequence[str]
    tuple_size: int
    annotations_per_tuple: Codes
    tuples_per_item: Codes
    annotators: int | None
    warnings: Sequence[str]

    @property
    def tuples_with_one_annotation(self) -> int:
        """The number of tuples that were annotated once."""
        return int(np.count_nonzero(self.annotations_per_tuple == 1))


def item_records(annotation_set: AnnotationSet, counts: ChoiceCounts) -> list[dict[str, Any]]:
    """Return one record per item in descending order of score; items with equal scores keep their order."""
    scores = counts.scores
    order = np.argsort(-scores, kind="stable")
    columns = (scores, (scores + 1) / 2, counts.best, counts.worst, counts.seen, annotation_set.tuples_per_item)
    sorted_columns = [[annotation_set.items[index] for index in order], *(column[order].tolist() for column in columns)]
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*sorted_columns, strict=True)]


def annotation_counts(annotation_set: AnnotationSet) -> dict[str, Any]:
    """Return counts by name; those that may vary between tuples or items have their mean, least and most."""
    return {
        "items": len(annotation_set.items),
        "tuples": len(annotation_set.annotations_per_tuple),
        "items per tuple": annotation_set.tuple_size,
        "annotations": int(annotation_set.annotations_per_tuple.sum()),
        "annotators": annotation_set.annotators,
        "annotations per tuple": _count_summary(annotation_set.annotations_per_tuple),
        "tuples per item": _count_summary(annotation_set.tuples_per_item),
    }


def _count_summary(counts: Codes) -> dict[str, float]:
    """Return the mean, the smallest and the largest of some counts."""
    return {"mean": float(counts.mean()), "least": int(counts.min()), "most": int(counts.max())}


def reliability_record(reliability: SplitHalf | None) -> dict[str, Any] | None:
    """Return the split-half reliability by name; None without one."""
    if reliability is None:
        return None
    return vars(reliability) | {"stepped_up": reliability.stepped_up, "upper_bound": reliability.upper_bound}
