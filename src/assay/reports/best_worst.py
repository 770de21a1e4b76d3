"""Scores from best-worst annotations as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.reports.layout import short
from assay.reports.sheets import Column, Document, Sheet
from assay.statistics.best_worst import Codes, Counts, SplitHalf

#: Columns of the table of items.
COLUMNS = ("item", "score", "scaled", "best", "worst", "seen", "tuples")
#: Items shown at either end.
ENDS = 5


@dataclass(frozen=True, eq=False)
class Annotated:
    """What was annotated.

    Attributes:
        title: how messages name it.
        items: names, n of them.
        size: items of a tuple.
        per_tuple: annotations of each tuple.
        per_item: tuples of each item, shape (n,).
        annotators: number of annotators, None where unknown.
        warnings: what is odd about the tuples.
    """

    title: str
    items: Sequence[str]
    size: int
    per_tuple: Codes
    per_item: Codes
    annotators: int | None
    warnings: Sequence[str]


def to_document(annotated: Annotated, counts: Counts, reliability: SplitHalf | None) -> Document:
    """Return what was annotated, how reliable it is, and the items at both ends; the records hold all items.

    Args:
        annotated: the annotations.
        counts: of its items.
        reliability: None where no tuple has two annotations.
    """
    records = _records(annotated, counts)
    return Document(
        [_summary(annotated, reliability), _ends(records)],
        records,
        value={"annotations": _facts(annotated), "reliability": _reliability(reliability), "items": records},
    )


def _records(annotated: Annotated, counts: Counts) -> list[dict[str, Any]]:
    """Return an object an item, the highest score first; equal ones in their order."""
    scores = counts.scores
    order = np.argsort(-scores, kind="stable")
    columns = (scores, (scores + 1) / 2, counts.best, counts.worst, counts.seen, annotated.per_item)
    sorted_columns = [[annotated.items[place] for place in order], *(column[order].tolist() for column in columns)]
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
    """Return the table of facts on the annotations and their split-half reliability, with what limits it as notes."""

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
    """Return the notes on how the reliability was computed, and which splits, items and tuples limit it."""
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
    """Return the table of the highest and the lowest items, or of all where they are few.

    Args:
        records: of all items, the highest first.
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
