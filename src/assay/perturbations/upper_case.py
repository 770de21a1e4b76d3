"""The candidate in capitals."""

from __future__ import annotations

from random import Random

from assay.perturbations.base import Perturbation, TextPair


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with its candidate in capitals."""
    return pair.answered(pair.candidate.upper())


UPPER_CASE = Perturbation(
    name="upper-case",
    summary="the answer in capitals",
    expected="same",
    change=change,
)
