"""The candidate without punctuation."""

from __future__ import annotations

import re
from random import Random

from assay.perturbations.base import Perturbation, TextPair

# not within a word or number: l'eau, 3.5, U.S.
_MARKS = re.compile(r"(?<!\w)[^\w\s%€$£°+-]+|[^\w\s%€$£°+-]+(?!\w)")


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with its candidate without marks at the edges of words."""
    bare = " ".join(_MARKS.sub(" ", pair.candidate).split())
    # blanks alone are no change
    if not bare or bare == " ".join(pair.candidate.split()):
        return None
    return pair.answered(bare)


NO_PUNCTUATION = Perturbation(
    name="no-punctuation",
    summary="the answer without punctuation",
    expected="same",
    change=change,
)
