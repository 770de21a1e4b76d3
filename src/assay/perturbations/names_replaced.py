"""Another name in place of one that the gold answer has."""

from __future__ import annotations

import re
from random import Random

from assay.lexicon.texts import text_key
from assay.perturbations.base import Perturbation, TextPair

#: Names that take the place of others.
NAMES = (
    *("Ingrid Larsson", "Tomasz Nowak", "Maria Silva", "Kenji Watanabe", "Fatima Haddad", "Pavel Novotny"),
    *("Aoife Brennan", "Mateo Herrera", "Lucia Bianchi", "Erik Dahl", "Priya Nair", "Jonas Weber"),
)
# capitalised words in a row, small words between them
_RUN = re.compile(r"[A-Z][\w'\u2019.-]*(?:\s+(?:(?:of|the|and|de|van|von|der|la|le|du)\s+)*[A-Z][\w'\u2019.-]*)*")
#: Words of a gold answer that name nothing.
_SMALL = frozenset(
    {"a", "an", "and", "as", "at", "by", "de", "der", "du", "for", "from", "he", "in", "is", "it", "la", "le", "of"}
    | {"on", "or", "she", "the", "they", "this", "to", "van", "von", "was"}
)


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with another name for each one that shares a word with a gold answer.

    None where there is no such name, where it is a name that takes the place of others, or where a gold answer still
    occurs.
    """
    gold = {word for text in pair.references for word in text_key(text).split()} - _SMALL
    names = [name for name in NAMES if gold.isdisjoint(text_key(name).split())]
    if not names:
        return None
    name = draw.choice(names)

    def other(match: re.Match[str]) -> str:
        if gold.isdisjoint(text_key(match[0]).split()):
            return match[0]
        return name + ("." if match[0].endswith(".") else "")

    changed = pair.answered(_RUN.sub(other, pair.candidate))
    return None if changed.has_gold() else changed


NAMES_REPLACED = Perturbation(
    name="names-replaced",
    summary="another name in place of that of the gold answer",
    expected="negative",
    change=change,
    pairs="right",
    # in German every noun is capitalised
    languages=frozenset({"en"}),
)
