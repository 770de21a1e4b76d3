"""The two texts of a similarity pair, exchanged."""

from __future__ import annotations

from random import Random

from assay.perturbations.base import Perturbation, TextPair


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with its texts exchanged; None if they have roles (a question, or several references)."""
    if pair.question.strip() or len(pair.references) != 1:
        return None
    return TextPair((pair.candidate,), pair.references[0], pair.question, pair.language)


SWAPPED_ORDER = Perturbation(
    name="swapped-order",
    summary="the two texts exchanged, where there is no question and one reference",
    expected="same",
    change=change,
)
