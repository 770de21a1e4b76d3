"""Explanations of a combination: the scores of its members, and how far each moved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.lexicon.properties import text_pairs
from assay.metrics.base import Batch
from assay.metrics.combined import Combined
from assay.metrics.explaining.explanation import Explanation


@dataclass(frozen=True)
class MemberPart:
    """One input of a combination.

    Attributes:
        input: name of the metric, or of the property of the texts.
        value: its score as it gives it; None where it has none.
        mean: over the pairs that were learned from.
        moved: how far it moves the score from that of mean inputs, on the scale of *unit*; None where some member has
            no score.
    """

    input: str
    value: float | None
    mean: float
    moved: float | None


@dataclass(frozen=True)
class MembersExplanation(Explanation):
    """What the score of a pair comes from.

    Attributes:
        unit: of the parts: ``log-odds`` of a probability, or ``label``.
        base: what mean inputs give; with all that is moved, the score on that scale.
        members: the metrics in the order in which they were chosen, then properties of the texts.
    """

    kind: ClassVar[str] = "members"

    unit: str
    base: float | None
    members: tuple[MemberPart, ...]


def explain_members(metric: Combined, batch: Batch) -> list[MembersExplanation]:
    """Explain pairs under a combination."""
    found = metric.file
    scores = metric.scores_of_members(batch)
    texts = text_pairs(batch.gold_answers or batch.references, batch.candidates, batch.questions)
    inputs = found.inputs_of(scores, texts)
    means = np.array(found.means)
    known: NDArray[np.bool_] = np.asarray(np.isfinite(inputs).all(axis=1))
    moved, base = found.learned().contributions(np.where(known[:, None], inputs, means), means)
    values = metric.combine(scores, texts)
    signs = [1 if member.higher_is_better else -1 for member in found.members] + [1] * len(found.properties)
    names = [member.metric for member in found.members] + list(found.properties)
    explanations = []
    for row in range(len(batch)):
        parts = []
        for column, (name, sign) in enumerate(zip(names, signs, strict=True)):
            value = float(sign * inputs[row, column])
            parts.append(
                MemberPart(
                    name,
                    value if np.isfinite(value) else None,
                    float(sign * means[column]),
                    float(moved[row, column]) if known[row] else None,
                )
            )
        explanations.append(
            MembersExplanation(
                str(metric),
                " | ".join(texts[row].golds),
                texts[row].candidate,
                float(values[row]) if known[row] else None,
                () if known[row] else ("a member has no score",),
                "log-odds" if found.levels else "label",
                float(base[row]) if known[row] else None,
                tuple(parts),
            )
        )
    return explanations
