"""When two texts, or two pairs of texts, are the same: case, marks and the order of a pair do not count."""

from __future__ import annotations

import re

__all__ = ["in_order", "pair_key", "text_key"]

_WORD = re.compile(r"\w+")


def pair_key(first: str, second: str) -> tuple[str, str]:
    """Return the words of two texts in an order of their own, without case and marks: equal for the same pair."""
    return in_order(text_key(first), text_key(second))


def text_key(text: str) -> str:
    """Return the words of a text, without case and marks."""
    return " ".join(_WORD.findall(text.casefold()))


def in_order(first: str, second: str) -> tuple[str, str]:
    """Return two texts in the order of the alphabet."""
    return (first, second) if first <= second else (second, first)
