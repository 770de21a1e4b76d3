"""Another name in place of a name in the gold answer."""

from __future__ import annotations

import re
from random import Random

from assay.lexicon.texts import text_key
from assay.perturbations.base import Perturbation, TextPair

#: Names to insert.
NAMES = (
    *("Ingrid Larsson", "Tomasz Nowak", "Maria Silva", "Kenji Watanabe", "Fatima Haddad", "Pavel Novotny"),
    *("Aoife Brennan", "Mateo Herrera", "Lucia Bianchi", "Erik Dahl", "Priya Nair", "Jonas Weber"),
)
# a run of capitalised words, with small words between them
_RUN = re.compile(r"[A-Z][\w'\u2019.-]*(?:\s+(?:(?:of|the|and|de|van|von|der|la|le|du)\s+)*[A-Z][\w'\u2019.-]*)*")
#: Words of a gold answer that are no part of a name on their own.
_SMALL = frozenset(
    {"a", "an", "and", "as", "at", "by", "de", "der", "du", "for", "from", "he", "in", "is", "it", "la", "le", "of"}
    | {"on", "or", "she", "the", "they", "this", "to", "van", "von", "was"}
)


def change(pair: TextPair, draw: Random) -> TextPair | None:
    """Return the pair with another name for each one that shares a word with a gold answer.

    None if the gold answers share a word with each of :data:`NAMES`, or if a gold answer still occurs.
    """
    gold_words = {word for text in pair.references for word in text_key(text).split()} - _SMALL
    names = [name for name in NAMES if gold_words.isdisjoint(text_key(name).split())]
    if not names:
        return None
    name = draw.choice(names)

    def replacement(match: re.Match[str]) -> str:
        if gold_words.isdisjoint(text_key(match[0]).split()):
            return match[0]
        return name + ("." if match[0].endswith(".") else "")

    changed = pair.answered(_RUN.sub(replacement, pair.candidate))
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
