"""Negation: a word or prefix that denies, on one side alone or in two ways."""

from __future__ import annotations

from collections.abc import Iterator

from assay.reports.categories.texts import Pair, Text
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.words import word_set

__all__ = ["negations"]

_NEGATORS = word_set("""
    not no never none nothing nobody neither nor without cannot hardly
    nicht nein nie niemals kein keine keinen keiner keinem keines nichts niemand weder ohne
    """)
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "non-", "nicht")
_SUFFIXES = (("less", "ful"), ("los", "voll"))


def negations(pair: Pair) -> Iterator[Tag]:
    """Tag a negation that stands on one side, or in different words on both; and words that a prefix turns round."""
    mine, others = _negators(pair.reference), _negators(pair.candidate)
    if mine != others and pair.reference.folded != pair.candidate.folded:
        if mine and others:
            yield Tag("negation", f"both texts deny, one by {mine[0]!r}, one by {others[0]!r}")
        else:
            yield Tag("negation", f"{(mine or others)[0]!r} stands in one text alone")
        return
    for one in pair.only_reference:
        for two in pair.only_candidate:
            short, long = sorted((one, two), key=len)
            if len(short) > 3 and (any(long == prefix + short for prefix in _PREFIXES) or _turned(one, two)):
                yield Tag("negation", f"{long!r} is the opposite of {short!r}")
                return


def _negators(text: Text) -> list[str]:
    words = list(text.folded)
    # "no. 5" and "Dr. No" deny nothing
    if "no" in words and ("no." in text.clean.lower() or (len(words) > 1 and "No" in text.words[1:])):
        words.remove("no")
    return [word for word in words if word in _NEGATORS or word.endswith(("n't", "n\u2019t"))]


def _turned(one: str, two: str) -> bool:
    return any(
        one.endswith(a) and two.endswith(b) and one.removesuffix(a) == two.removesuffix(b)
        for ends in _SUFFIXES
        for a, b in (ends, ends[::-1])
    )
