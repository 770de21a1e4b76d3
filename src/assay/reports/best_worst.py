"""Scores from best-worst annotations as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.reports.layout import short
from assay.reports.sheets import Column, Document, Sheet
from assay.statistics.best_worst import Codes, Counts, SplitHalf

#: The columns of the table of items.
COLUMNS = ("item", "score", "scaled", "best", "worst", "seen", "tuples")
#: The number of items to show at either end of the order.
ENDS = 5


@dataclass(frozen=True, eq=False)
class Annotated:
    """Facts on a set of best-worst annotations.

    Attributes:
        title: the name of the data in messages.
        items: the names of the n items.
        size: the number of items in a tuple.
        per_tuple: the number of annotations of each tuple, shape (tuples,).
        per_item: the number of tuples of each item, shape (n,).
        annotators: the number of annotators; None if unknown.
        warnings: lines on irregularities of the tuples.
    """

    title: str
    items: Sequence[str]
    size: int
    per_tuple: Codes
    per_item: Codes
    annotators: int | None
    warnings: Sequence[str]


def to_document(annotated: Annotated, counts: Counts, reliability: SplitHalf | None) -> Document:
    """Return tables of the annotations with their reliability and of the items at both ends; records have all items.

    Args:
        annotated: the facts on the annotations.
        counts: the counts and scores of the items.
        reliability: the split-half reliability; None if no tuple has two annotations.
    """
    records = _records(annotated, counts)
    return Document(
        [_summary(annotated, reliability), _ends(records)],
        records,
        value={"annotations": _facts(annotated), "reliability": _reliability(reliability), "items": records},
    )


def _records(annotated: Annotated, counts: Counts) -> list[dict[str, Any]]:
    """Return one record per item in descending order of score; items with equal scores keep their order."""
    scores = counts.scores
    order = np.argsort(-scores, kind="stable")
    columns = (scores, (scores + 1) / 2, counts.best, counts.worst, counts.seen, annotated.per_item)
    sorted_columns = [[annotated.items[index] for index in order], *(column[order].tolist() for column in columns)]
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*sorted_columns, strict=True)]


def _facts(annotated: Annotated) -> dict[str, Any]:
    return {
        "items": len(annotated.items),
        "tuples": len(annotated.per_tuple),
        "items per tuple": annotated.size,
        "annotations": int(annotated.per_tuple.sum()),
        "annotators": annotated.annotators,
        "annotations per tuple": _span(annotated.per_tuple),
        "tuples per item": _span(annotated.per_item),
    }


def _span(counts: Codes) -> dict[str, float]:
    return {"mean": float(counts.mean()), "least": int(counts.min()), "most": int(counts.max())}


def _reliability(reliability: SplitHalf | None) -> dict[str, Any] | None:
    if reliability is None:
        return None
    return vars(reliability) | {"stepped_up": reliability.stepped_up, "upper_bound": reliability.upper_bound}


def _summary(annotated: Annotated, reliability: SplitHalf | None) -> Sheet:
    """Return the table of facts on the annotations and of their split-half reliability, with caveats as notes."""

    def shown(value: Any) -> str:
        if isinstance(value, dict):
            least, most = value["least"], value["most"]
            return f"{value['mean']:.3g}" + (f" ({least:,} to {most:,})" if least != most else "")
        return "not said" if value is None else f"{value:,}"

    rows = [(name, shown(value)) for name, value in _facts(annotated).items()]
    notes = list(annotated.warnings)
    if reliability is None:
        notes.append("no split-half reliability: no tuple has two annotations")
    else:
        rows += [
            ("correlation of split halves, Spearman ρ", _mean(reliability.spearman, reliability.spearman_deviation)),
            ("correlation of split halves, Pearson r", _mean(reliability.pearson, reliability.pearson_deviation)),
            ("reliability of the scores (Spearman-Brown, of Pearson r)", _mean(reliability.stepped_up, None)),
            ("upper bound for a metric (its square root), Pearson r", _mean(reliability.upper_bound, None)),
        ]
        notes += _reservations(annotated, reliability)
    return Sheet(annotated.title, [Column("what"), Column("value", number=True)], rows, notes=notes)


def _reservations(annotated: Annotated, reliability: SplitHalf) -> list[str]:
    """Return notes on the computation of the reliability, and on splits, items and tuples that limit it."""
    notes = [f"{reliability.splits:,} random splits of the annotations of each tuple; ± standard deviation over them"]
    if reliability.undefined:
        notes.append(f"undefined in {reliability.undefined:,} of them, where all scores of a half are equal")
    if reliability.fewest < len(annotated.items):
        notes.append(f"an item that one half never saw is left out: at least {reliability.fewest:,} items are compared")
    alone = int(np.count_nonzero(annotated.per_tuple == 1))
    if alone:
        notes.append(f"tuples with one annotation, which falls to either half by chance: {alone:,}")
    return notes


def _mean(value: float | None, deviation: float | None) -> str:
    if value is None:
        return "–"
    return short(value, 3) + (f" ± {short(deviation, 3)}" if deviation is not None else "")


def _ends(records: list[dict[str, Any]]) -> Sheet:
    """Return the table of the highest and the lowest items, or of all items if there are few.

    Args:
        records: the records of all items, highest first.
    """
    few = len(records) <= 2 * ENDS
    chosen = records if few else [*records[:ENDS], *records[-ENDS:]]
    return Sheet(
        "Items" if few else f"The {ENDS} highest and the {ENDS} lowest items",
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
                item["item"],
                short(item["score"], 3),
                short(item["scaled"], 3),
                *(f"{item[name]:,}" for name in ("best", "worst", "seen")),
            )
            for item in chosen
        ],
        facts=["score: (times best - times worst) / times seen, from -1 to 1; scaled: the same from 0 to 1"],
    )
