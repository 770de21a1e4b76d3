"""Gold questions of a best-worst study: tuples whose best and worst item are agreed upon, and who answers them so.

Source: Abdalla, Vishnubhotla and Mohammad, What Makes Sentences Semantically Related? (2023), section 3.2.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class GoldQuestions:
    """The agreed answers to some questions.

    Attributes:
        answers: the best and the worst item, by the items of a question; several where several answers are right.
        least_share: the share of right answers below which all answers of an annotator are discarded, in [0, 1].
    """

    answers: Mapping[frozenset[str], frozenset[tuple[str, str]]]
    least_share: float


@dataclass(frozen=True)
class GoldScore:
    """How an annotator answered gold questions.

    Attributes:
        annotator: the name of the annotator.
        annotations: the number of annotations of other questions.
        answered: the number of gold questions that were answered.
        right: the number of these whose best and whose worst item are as agreed.
        is_kept: whether the answers count: the share is high enough, or there was no gold question.
    """

    annotator: str
    annotations: int
    answered: int
    right: int
    is_kept: bool

    @property
    def share(self) -> float | None:
        """The share of right answers, in [0, 1]; None without gold questions."""
        return self.right / self.answered if self.answered else None


def gather_answers(
    rows: Sequence[tuple[str, ...]], best: Sequence[str], worst: Sequence[str]
) -> dict[frozenset[str], frozenset[tuple[str, str]]]:
    """Return the answers of each question; rows with the same items are answers that are all right."""
    answers: dict[frozenset[str], set[tuple[str, str]]] = defaultdict(set)
    for items, best_item, worst_item in zip(rows, best, worst, strict=True):
        answers[frozenset(items)].add((best_item, worst_item))
    return {items: frozenset(found) for items, found in answers.items()}


def score_annotators(
    gold: GoldQuestions,
    rows: Sequence[tuple[str, ...]],
    best: Sequence[str],
    worst: Sequence[str],
    annotators: Sequence[str],
) -> list[GoldScore]:
    """Return how each annotator answered the gold questions, in the order in which they first appear.

    Args:
        gold: the agreed answers.
        rows: the items of each annotation.
        best, worst: the items that it chose.
        annotators: the annotator of each annotation.
    """
    counts: dict[str, list[int]] = {}
    for items, best_item, worst_item, annotator in zip(rows, best, worst, annotators, strict=True):
        count = counts.setdefault(annotator, [0, 0, 0])
        accepted = gold.answers.get(frozenset(items))
        if accepted is None:
            count[0] += 1
        else:
            count[1] += 1
            count[2] += (best_item, worst_item) in accepted
    return [
        GoldScore(annotator, annotations, answered, right, not answered or right / answered >= gold.least_share)
        for annotator, (annotations, answered, right) in counts.items()
    ]
