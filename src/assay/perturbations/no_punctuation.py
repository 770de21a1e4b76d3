"""The candidate without punctuation."""

from __future__ import annotations

import re
from random import Random

from assay.perturbations.base import Perturbation, TextPair

# marks within a word or number stay: l'eau, 3.5, U.S
_MARKS = re.compile(r"(?<!\w)[^\w\s%€$£°+-]+|[^\w\s%€$£°+-]+(?!\w)")


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with the punctuation at the edges of words removed from its candidate.

    None if only white space would change, or nothing would remain.
    """
    plain = " ".join(_MARKS.sub(" ", pair.candidate).split())
    if not plain or plain == " ".join(pair.candidate.split()):
        return None
    return pair.answered(plain)


NO_PUNCTUATION = Perturbation(
    name="no-punctuation",
    summary="the answer without punctuation",
    expected="same",
    change=change,
)
