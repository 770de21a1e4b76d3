"""The question in place of an answer."""

from __future__ import annotations

from random import Random

from assay.perturbations.base import Perturbation, TextPair


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with its question as the candidate, or None without a question."""
    return pair.answered(pair.question) if pair.question.strip() else None


QUESTION_AS_ANSWER = Perturbation(
    name="question-as-answer",
    summary="the question repeated as the answer",
    expected="negative",
    change=change,
)
