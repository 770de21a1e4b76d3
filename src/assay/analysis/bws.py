"""Best-worst annotations: the settings of a study and of its scores; items and their reliability as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.common.declarations import Settings, setting
from assay.common.messages import Setting
from assay.exceptions import InputError
from assay.settings import Seeded, check_seed
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
    gold: str | Path | None = setting(
        "Gold questions, as annotations with the agreed best and worst: they do not count, and annotators who answer "
        "too few of them so are left out.",
        None,
        metavar="FILE",
    )
    gold_share: float | None = setting("The least share of gold questions to answer as agreed [default: 0.7].", None)

    def check(self) -> None:
        """Raise InputError for an invalid seed, or a share of gold questions outside 0 to 1 or without any."""
        super().check()
        if self.gold_share is not None and not 0 <= self.gold_share <= 1:
            raise InputError("must lie between 0 and 1", setting="gold_share", value=self.gold_share)
        _check_gold_given(self, "gold_share")


@dataclass(frozen=True)
class TupleSettings(Settings):
    """What a best-worst study asks, and whom."""

    file: str | Path = setting("The items: a table with one per row, such as pairs of sentences.", argument=True)
    _: KW_ONLY
    out: str | Path = setting("The sheet to fill in, a CSV file.", flags=("--out", "-o"), metavar="FILE")
    id: str | None = setting(
        "The column that names an item [default: id or pair_id, else rows are numbered].", None, metavar="COLUMN"
    )
    show: Sequence[str] = setting(
        "A column to show with every item [default: reference and candidate, else all].", (), metavar="COLUMN"
    )
    size: int = setting("Items in a tuple.", 4, at_least=2)
    per_item: int = setting("Tuples that each item is in.", 8, at_least=1)
    annotations: int = setting("People who answer each tuple.", 2, at_least=1)
    people: int | None = setting(
        "People among whom the tuples are divided [default: as many as answer each tuple].", None, at_least=1
    )
    gold: str | Path | None = setting(
        "Gold questions to insert, as annotations with the agreed best and worst.", None, metavar="FILE"
    )
    gold_every: int | None = setting(
        "Ask a gold question after so many others, each once a person [default: 10].", None, at_least=1
    )
    seed: int = setting("Seed of every random draw.", 0)

    def check(self) -> None:
        """Check the settings.

        Raises:
            InputError: the seed is invalid, there are fewer people than answer each tuple, or ``gold_every`` is set
                without gold questions.
        """
        super().check()
        check_seed(self.seed)
        if self.people is not None and self.people < self.annotations:
            raise InputError(f"each tuple needs {self.annotations} people", setting="people", value=self.people)
        _check_gold_given(self, "gold_every")


def _check_gold_given(settings: BestWorstSettings | TupleSettings, name: str) -> None:
    """Raise InputError if a setting about gold questions is set, and there are none."""
    value = getattr(settings, name)
    if value is not None and settings.gold is None:
        raise InputError("goes with ", Setting("gold"), setting=name, value=value)


#: The least share of gold questions to answer as agreed, as in STR-2022.
GOLD_SHARE = 0.7
#: The number of other questions before each gold question.
GOLD_EVERY = 10
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
        gold_records: how each annotator answered the gold questions, as plain values; empty without any.
    """

    title: str
    items: Sequence[str]
    tuple_size: int
    annotations_per_tuple: Codes
    tuples_per_item: Codes
    annotators: int | None
    warnings: Sequence[str]
    gold_records: Sequence[Mapping[str, Any]] = ()

    @property
    def tuples_with_one_annotation(self) -> int:
        """The number of tuples that were annotated once."""
        return int(np.count_nonzero(self.annotations_per_tuple == 1))


def item_records(annotation_set: AnnotationSet, counts: ChoiceCounts) -> list[dict[str, Any]]:
    """Return one record per item in descending order of score; items with equal scores keep their order.

    A record has the keys :data:`COLUMNS`. Scores lie in [-1, 1], scaled ones in [0, 1].

    Args:
        annotation_set: the items and their tuples.
        counts: how often each item was chosen as best and as worst, in the order of the items.
    """
    scores = counts.scores
    order = np.argsort(-scores, kind="stable")
    scaled = (scores + 1) / 2
    columns = (scores, scaled, counts.best, counts.worst, counts.seen, annotation_set.tuples_per_item)
    sorted_columns = [[annotation_set.items[index] for index in order], *(column[order].tolist() for column in columns)]
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*sorted_columns, strict=True)]


def annotation_counts(annotation_set: AnnotationSet) -> dict[str, Any]:
    """Return counts of a set of annotations by name; those that vary between tuples or items have mean, least and most.

    The number of annotators is None if it is unknown.
    """
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
