"""Which features of a pair go with its label: in the full range of the labels, and in either half of it.

Source: Abdalla, Vishnubhotla & Mohammad, What Makes Sentences Semantically Related? (2023), section 5, table 4 and
appendix B.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.reports.data import ALL, BucketPairs, ScoredDataset
from assay.reports.layout import Cell, percent
from assay.reports.sheets import Column, Document, Sheet
from assay.settings import Limited, Offline, OwnData, Resampling, ScoreStore, WithProgress, setting
from assay.statistics.agreement import Estimate, agreement
from assay.statistics.concordance import Floats

__all__ = ["LEAST_SHARE", "Measured", "RelatednessSettings", "to_document"]

#: Parts of speech in no larger share of the pairs are left out, as in STR-2022.
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class RelatednessSettings(OwnData, Resampling, Limited, Offline, ScoreStore, WithProgress):
    """Settings of ``assay relatedness``."""

    dataset: Any = setting(
        "A dataset (NAME[@VERSION][:SPLIT]) or a labelled file.", flags=("--dataset", "-d"), metavar="DATASET"
    )
    vectors: str | Path = setting("Word vectors: word2vec, GloVe, fastText .vec, or a folder.", metavar="FILE")
    _: KW_ONLY
    pipeline: str | Path | None = setting("A spaCy pipeline, folder or name, that reads parts of speech.", None)
    drop_duplicates: bool = setting("Drop pairs that repeat with the same label.", False)
    read_with: Callable[[str | Path], Any] | None = setting(
        "Makes a reader of words of `pipeline`; spaCy by default.", None, python_only=True
    )


@dataclass(frozen=True, eq=False)
class Measured:
    """A feature of n pairs.

    Attributes:
        question: such as Q1.
        name: what it is.
        scores: shape (n,), NaN where a pair has none.
        present: pairs that have what is compared in both sentences, shape (n,).
        rare_is_left_out: whether a feature of few pairs is left out.
    """

    question: str
    name: str
    scores: Floats
    present: NDArray[np.bool_]
    rare_is_left_out: bool = False


def to_document(
    data: ScoredDataset, features: Sequence[Measured], drawing: Resampling, notes: Sequence[str]
) -> Document:
    """Return the rank correlation of each feature with the label, on all pairs and on those of either half.

    Args:
        data: n pairs.
        features: of these pairs.
        drawing: of the intervals.
        notes: what a reader should know beside.
    """
    middle, said = _middle(data)
    rare = [one for one in features if one.rare_is_left_out and one.present.mean() <= LEAST_SHARE]
    kept = [one for one in features if all(one is not other for other in rare)]
    ranges = {
        "all": data.within(ALL, drawing.seed),
        # drawn as a run draws its buckets of these names
        f"< {middle:g}": data.within(f"label<{middle:g}", drawing.seed, data.labels < middle),
        f"≥ {middle:g}": data.within(f"label>={middle:g}", drawing.seed, data.labels >= middle),
    }
    found = {name: _correlations(pairs, kept, drawing) for name, pairs in ranges.items()}
    if rare:
        shares = ", ".join(f"{one.name} {one.present.mean():.1%}" for one in rare)
        notes = [*notes, f"left out, in both sentences of no more than {LEAST_SHARE:.0%} of the pairs: {shares}"]
    interval = f"{percent(drawing.confidence)} intervals by the bootstrap" if drawing.resamples else "no intervals"
    heads = [Column(head, number=True) for name in ranges for head in (f"Spearman ρ, {name}", "pairs")]
    sheet = Sheet(
        f"{data.title}: features of related words",
        [Column("question"), Column("feature"), *heads],
        [
            (one.question, one.name, *(text for name in ranges for text in _cells(found[name][place])))
            for place, one in enumerate(kept)
        ],
        facts=[
            f"{len(data):,} pairs; {said}; {interval}",
            "pairs: those in which both sentences have such words, with a vector",
        ],
        notes=[*notes, *_undefined(kept, found), *_unknown(kept)],
    )
    return Document([sheet], [record for name in ranges for record in _records(data, name, kept, found[name])])


def _middle(data: ScoredDataset) -> tuple[float, str]:
    scale = data.facts.scale
    if scale:
        middle = (float(scale[0]) + float(scale[1])) / 2
        return middle, f"labels from {scale[0]:g} to {scale[1]:g}, halves below and from {middle:g}"
    low, high = float(data.labels.min()), float(data.labels.max())
    middle = (low + high) / 2
    return middle, f"halves below and from {middle:g}, the middle of the labels that occur ({low:g} to {high:g})"


def _correlations(pairs: BucketPairs, features: Sequence[Measured], drawing: Resampling) -> list[Estimate]:
    return agreement(
        {str(place): pairs.take(one.scores) for place, one in enumerate(features)},
        pairs.labels,
        statistics=("spearman",),
        resamples=drawing.resamples,
        confidence=drawing.confidence,
        seed=pairs.seed,
        groups=pairs.groups,
    )


def _cells(found: Estimate) -> tuple[str, str]:
    return Cell(found.value, found.low, found.high, found.note).text, f"{found.n:,}"


def _undefined(features: Sequence[Measured], found: dict[str, list[Estimate]]) -> list[str]:
    return [
        f"{feature.name}, {name}: undefined, {one.note}"
        for name, estimates in found.items()
        for feature, one in zip(features, estimates, strict=True)
        if one.value is None
    ]


def _unknown(features: Sequence[Measured]) -> list[str]:
    """Return a note on pairs that have such words, none of which has a vector in one of the sentences."""
    lost = {one.name: int(np.count_nonzero(one.present & ~np.isfinite(one.scores))) for one in features}
    said = ", ".join(f"{name} {count:,}" for name, count in lost.items() if count)
    return [f"pairs with such words of which a sentence has none with a vector, left out: {said}"] if said else []


def _records(
    data: ScoredDataset, name: str, features: Sequence[Measured], found: Sequence[Estimate]
) -> list[dict[str, Any]]:
    return [
        {
            "dataset": data.name,
            "question": feature.question,
            "feature": feature.name,
            "labels": name,
            "spearman": one.value,
            "low": one.low,
            "high": one.high,
            "n": one.n,
            "present": int(feature.present.sum()) if name == "all" else None,
            "note": one.note,
        }
        for feature, one in zip(features, found, strict=True)
    ]
