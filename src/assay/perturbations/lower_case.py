"""The candidate without capitals."""

from __future__ import annotations

from random import Random

from assay.perturbations.base import Perturbation, TextPair


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with its candidate in lower case."""
    return pair.answered(pair.candidate.lower())


LOWER_CASE = Perturbation(
    name="lower-case",
    summary="the answer in lower case",
    expected="same",
    change=change,
)
