"""Explanations of a combination: the scores of its members, and the contribution of each to the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.language.answer_features import FEATURES
from assay.language.properties import text_pairs
from assay.metrics.batch import Batch
from assay.metrics.combination import CombinedFile
from assay.metrics.explaining.explanation import Explanation


@dataclass(frozen=True)
class MemberPart:
    """One input of a combination.

    Attributes:
        input: the name of the metric or of the property of the texts.
        value: the metric's unchanged score, or the property's value; None if there is none.
        mean: the mean of these values over the training pairs.
        moved: the contribution to the difference between the score and that of mean inputs, on the scale of *unit*;
            None if any member has no score.
        meaning: what a feature of answers says, in words; empty for other inputs.
    """

    input: str
    value: float | None
    mean: float
    moved: float | None
    meaning: str = ""


@dataclass(frozen=True)
class MembersExplanation(Explanation):
    """The contributions to the score of a pair.

    Attributes:
        unit: the scale of the contributions: ``log-odds`` of a probability, or ``label``.
        base: what mean inputs give on that scale; None without a score. Base and all contributions add up, for
            ``label``, to the score before it is limited to the range of the labels; for ``log-odds`` of two labels, to
            those of the higher label; of more labels, to the mean of the log-odds of all steps from label to label.
        members: the metrics in the order in which they were chosen, then the properties of the texts.
    """

    kind: ClassVar[str] = "members"

    unit: str
    base: float | None
    members: tuple[MemberPart, ...]


def explain_members(
    metric: str, combination: CombinedFile, scores: Sequence[NDArray[np.float64]], batch: Batch
) -> list[MembersExplanation]:
    """Return the contributions of the members and of the properties of the texts to the score of each pair.

    A pair that lacks the score of a member has neither a score nor contributions, and a note that says so. Several gold
    answers of a pair are its reference, joined by ``" | "``.

    Args:
        metric: the name of the metric.
        combination: what it has learned.
        scores: the unchanged scores of each member, shape (n,) each.
        batch: the n pairs.
    """
    texts = text_pairs(batch.gold_answers or batch.references, batch.candidates, batch.questions)
    inputs = combination.inputs_of(scores, texts)
    means = np.array(combination.means)
    has_score: NDArray[np.bool_] = np.asarray(np.isfinite(inputs).all(axis=1))
    # pairs without a score get mean inputs here, and NaN as the result
    contributions, bases = combination.learned.contributions(np.where(has_score[:, None], inputs, means), means)
    contributions = np.where(has_score[:, None], contributions, np.nan)
    bases = np.where(has_score, bases, np.nan)
    values = np.where(has_score, combination.learned.scores(inputs), np.nan)
    # the inputs of members for which low is better are negated; they are shown as the members gave them
    signs = [1 if member.higher_is_better else -1 for member in combination.members] + [1] * len(combination.properties)
    names = [member.metric for member in combination.members] + list(combination.properties)
    explanations = []
    for row in range(len(batch)):
        parts = []
        for column, (name, sign) in enumerate(zip(names, signs, strict=True)):
            parts.append(
                MemberPart(
                    input=name,
                    value=_finite_or_none(sign * inputs[row, column]),
                    mean=float(sign * means[column]),
                    moved=_finite_or_none(contributions[row, column]),
                    meaning=FEATURES.get(name, ""),
                )
            )
        explanations.append(
            MembersExplanation(
                metric=metric,
                reference=" | ".join(texts[row].golds),
                candidate=texts[row].candidate,
                score=_finite_or_none(values[row]),
                notes=() if has_score[row] else ("a member has no score",),
                unit="log-odds" if combination.levels else "label",
                base=_finite_or_none(bases[row]),
                members=tuple(parts),
            )
        )
    return explanations


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
