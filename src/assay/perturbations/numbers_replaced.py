"""Other numbers in place of those that the gold answer has."""

from __future__ import annotations

import re
from random import Random

from assay.perturbations.base import Perturbation, TextPair

_NUMBER = re.compile(r"\d+")


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with other digits in each number of the candidate that a gold answer has.

    None where there is none, or where a gold answer still occurs.
    """
    gold = set(_NUMBER.findall(" ".join(pair.references)))

    def other(match: re.Match[str]) -> str:
        return _another(match[0], gold, draw) if match[0] in gold else match[0]

    changed = pair.answered(_NUMBER.sub(other, pair.candidate))
    return None if changed.has_gold() else changed


def _another(number: str, gold: set[str], draw: Random) -> str:
    """Return a number of as many digits that no gold answer has, its first digit no 0 unless it was one."""
    while True:
        first = draw.choice("123456789") if number[0] != "0" else "0"
        rest = "".join(draw.choice("0123456789") for _ in number[1:])
        if len(number) == 1:
            first = draw.choice("0123456789")
        if first + rest not in gold:
            return first + rest
        # a gold answer may have all numbers of so many digits
        number += "0"


NUMBERS_REPLACED = Perturbation(
    name="numbers-replaced",
    summary="other numbers in place of those of the gold answer",
    expected="negative",
    change=change,
    pairs="right",
)
