"""Other numbers in place of those that the gold answer has."""

from __future__ import annotations

import re
from random import Random

from assay.perturbations.base import Perturbation, TextPair

_NUMBER = re.compile(r"\d+")


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with another number for each number of the candidate that a gold answer has.

    None if a gold answer still occurs in the changed candidate.
    """
    gold_numbers = set(_NUMBER.findall(" ".join(pair.references)))

    def replacement(match: re.Match[str]) -> str:
        return _other_number(match[0], gold_numbers, draw) if match[0] in gold_numbers else match[0]

    changed = pair.answered(_NUMBER.sub(replacement, pair.candidate))
    return None if changed.has_gold() else changed


def _other_number(number: str, gold_numbers: set[str], draw: Random) -> str:
    """Return a random number that is in no gold answer, with as many digits as *number* or more if need be.

    With several digits, the first is 0 only if that of *number* is.
    """
    while True:
        first = draw.choice("123456789") if number[0] != "0" else "0"
        rest = "".join(draw.choice("0123456789") for _ in number[1:])
        if len(number) == 1:
            first = draw.choice("0123456789")
        if first + rest not in gold_numbers:
            return first + rest
        # add a digit before the next try: the gold answers may have all numbers of this length
        number += "0"


NUMBERS_REPLACED = Perturbation(
    name="numbers-replaced",
    summary="other numbers in place of those of the gold answer",
    expected="negative",
    change=change,
    pairs="right",
)
