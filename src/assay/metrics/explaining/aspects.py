"""Explanations of S3BERT: the score of each aspect, compared with the usual scores of pairs with that overall score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from assay.exceptions import InputError
from assay.metrics.aspects.layout import LAYOUT_FILE, OVERALL, Layout, read_layout
from assay.metrics.aspects.reference import (
    MIN_PAIRS,
    REFERENCE_FILE,
    Reference,
    UsualScores,
    find_neighbours,
    read_reference,
)
from assay.metrics.base import Batch, Metric
from assay.metrics.explaining.explanation import Explanation
from assay.metrics.scores import phrases_of
from assay.metrics.work import open_session

NO_REFERENCE_SET = (
    f"what is usual is not known: the model keeps no reference set ({REFERENCE_FILE}); assay train s3bert writes one, "
    "and docs/explain.md says how to make one for another model"
)


@dataclass(frozen=True)
class AspectScore:
    """The score of one aspect of a pair.

    Attributes:
        aspect: the aspect's name, or ``residual``.
        score: the cosine of its dimensions, in [-1, 1].
        usual: the aspect's scores in reference pairs with a similar overall score; None without a usable reference set.
    """

    aspect: str
    score: float
    usual: UsualScores | None


@dataclass(frozen=True)
class ComparedPairs:
    """The reference pairs that a pair is compared with.

    Attributes:
        pairs: the number of these pairs.
        total: the number of all pairs in the reference set.
        low, high: the lowest and the highest overall score of these pairs.
    """

    pairs: int
    total: int
    low: float
    high: float


@dataclass(frozen=True)
class AspectExplanation(Explanation):
    """The aspects of a pair.

    Attributes:
        aspects: the aspects in the order of the layout, the residual last.
        compared: the reference pairs that they are compared with; None if there are none.
    """

    kind: ClassVar[str] = "aspects"

    aspects: tuple[AspectScore, ...]
    compared: ComparedPairs | None


def explain_aspects(metrics: Sequence[Metric], folder: Path, layout: Layout, batch: Batch) -> list[AspectExplanation]:
    """Return the score of each aspect of each pair under an S3BERT model, and what is usual for the overall score.

    If the model has no usable reference set, what is usual is None, and a note gives the reason.

    Args:
        metrics: the metric of the whole embedding, and that of each aspect.
        folder: the folder of the model.
        layout: the layout of the aspects.
        batch: the pairs.

    Raises:
        InputError: the reference set lacks an aspect of the layout, or cannot be read.
        AssayError: the model cannot be loaded, or the scores cannot be computed.
    """
    reference, remarks = _usable_reference(folder, layout)
    scores = open_session(metrics[0].needs()).score(metrics, batch)
    names = tuple(metric.declaration.aspect or OVERALL for metric in metrics)
    explanations = []
    for row, (first, second) in enumerate(batch.pairs()):
        overall = float(scores.values[row, 0])
        neighbours = None if reference is None else find_neighbours(reference, overall)
        compared = None
        if neighbours is not None:
            compared = ComparedPairs(len(neighbours.scores), neighbours.total, *neighbours.overall_range)
        aspects = []
        for name, value in zip(names[1:], scores.values[row, 1:], strict=True):
            score = float(value)
            usual = None if neighbours is None else neighbours.usual_scores(name, score)
            aspects.append(AspectScore(name, score, usual))
        notes = (*remarks, *phrases_of(scores.flags[row, 0]))
        if compared and not compared.low <= overall <= compared.high:
            notes += ("no reference pair has an overall score this far out: what is usual is a guess",)
        explanations.append(
            AspectExplanation(
                metric=str(metrics[0]),
                reference=first,
                candidate=second,
                score=overall,
                notes=notes,
                aspects=tuple(aspects),
                compared=compared,
            )
        )
    return explanations


def _usable_reference(folder: Path, layout: Layout) -> tuple[Reference | None, tuple[str, ...]]:
    """Return the model's reference set and no remarks, or None and a remark with the reason why it is not used.

    Raises:
        InputError: the reference set belongs to the layout but has other aspects.
    """
    reference = read_reference(folder)
    if reference is None:
        return None, (NO_REFERENCE_SET,)
    if not _belongs_to_layout(reference, folder, layout):
        return None, ("what is usual is not known: the model's reference set belongs to another layout",)
    if set(reference.names) != {OVERALL, *layout.parts}:
        raise InputError(f"{folder / REFERENCE_FILE}: has not the aspects of the layout: {', '.join(layout.parts)}")
    if len(reference.scores) < MIN_PAIRS:
        size = f"{len(reference.scores)} pairs, not {MIN_PAIRS}"
        return None, (f"what is usual is not known: the reference set has {size}",)
    return reference, ()


def _belongs_to_layout(reference: Reference, folder: Path, layout: Layout) -> bool:
    """Tell whether a reference set was computed for a layout; a set that names none belongs to the folder's layout."""
    if reference.layout:
        return reference.layout == layout.digest
    return (folder / LAYOUT_FILE).is_file() and read_layout(folder, layout.dimensions) == layout
