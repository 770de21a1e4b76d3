"""What the rules ask of WordNet: how two words are related, and what kind of thing a word names. English alone."""

from __future__ import annotations

import functools
from typing import Any

from assay.lexicon.wordnet import find_wordnet, open_wordnet

__all__ = ["PARTS", "Words", "words"]

#: WordNet's letters of the parts of speech: nouns, verbs, adjectives (their satellites have one of their own), adverbs.
PARTS = "nvasr"

#: A word's senses beyond these are rare, and would relate anything to anything.
_SENSES = 4
#: Steps up to a more general word that still count as the same thing said less precisely.
_STEPS = 3


@functools.lru_cache(maxsize=1)
def words() -> Words | None:
    """Return the WordNet of this machine, or None."""
    return Words(open_wordnet()) if find_wordnet() is not None else None


class Words:
    """WordNet behind caches. Words come folded, phrases with spaces.

    Args:
        reader: NLTK's reader.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.senses = functools.lru_cache(maxsize=1 << 16)(self._senses)
        self.above = functools.lru_cache(maxsize=1 << 16)(self._above)
        self.all_above = functools.lru_cache(maxsize=1 << 16)(self._all_above)

    def _senses(self, phrase: str) -> tuple[Any, ...]:
        """Return the first senses of each part of speech."""
        found: dict[str, list[Any]] = {}
        for synset in self._every(phrase):
            part = found.setdefault(synset.pos().replace("s", "a"), [])
            if len(part) < _SENSES:
                part.append(synset)
        return tuple(synset for part in found.values() for synset in part)

    @functools.cached_property
    def _beginnings(self) -> frozenset[str]:
        """First words of the entries of several words: most phrases of a text begin with another one."""
        return frozenset(name.split("_", 1)[0].lower() for name in self._reader.all_lemma_names() if "_" in name)

    def _every(self, phrase: str) -> list[Any]:
        if " " in phrase and phrase.split(" ", 1)[0] not in self._beginnings:
            return []
        return list(self._reader.synsets(phrase.replace(" ", "_"))) if phrase.isascii() else []

    def knows(self, phrase: str) -> bool:
        """Tell whether a phrase is in WordNet in any form."""
        return bool(self.senses(phrase))

    def knows_as(self, phrase: str, parts: str) -> bool:
        """Tell whether a phrase is in WordNet as one of some parts of speech.

        Args:
            phrase: one or more words.
            parts: letters, as in :data:`PARTS`.
        """
        return any(synset.pos() in parts for synset in self.senses(phrase))

    def is_common(self, phrase: str) -> bool:
        """Tell whether a phrase is, in its commonest sense or as another part of speech, no proper name."""
        senses = self.senses(phrase)
        first = self.first_noun(phrase)
        return any(synset.pos() != "n" for synset in senses) or (first is not None and not _is_name(first))

    def is_name(self, phrase: str) -> bool:
        """Tell whether a phrase is in WordNet as a proper name first of all."""
        return self.knows(phrase) and not self.is_common(phrase)

    def first_noun(self, phrase: str) -> Any | None:
        """Return the commonest sense as a noun; None where there is none, or where it is more of a verb ("come")."""
        nouns = [synset for synset in self.senses(phrase) if synset.pos() == "n"]
        verbs = sum(synset.pos() == "v" for synset in self.senses(phrase))
        return nouns[0] if nouns and len(nouns) >= verbs else None

    def synonym(self, left: str, right: str, parts: str = PARTS, rare: bool = False) -> Any | None:
        """Return a sense that both have, or None; for adjectives, a sense said to be similar.

        Args:
            left, right: words or phrases.
            parts: letters of the parts of speech that count.
            rare: whether rare senses count as well.
        """
        mine, others = (self._every(word) if rare else self.senses(word) for word in (left, right))
        mine = [synset for synset in mine if synset.pos() in parts]
        for synset in mine:
            if synset in others:
                return synset
        for synset in mine:
            if synset.pos() in "as" and any(near in others for near in synset.similar_tos()):
                return synset
        return None

    def is_kind_of(self, narrow: str, wide: str, parts: str = PARTS) -> bool:
        """Tell whether one word names a kind, an instance or a way of what the other names, a few steps up."""
        wanted = {synset for synset in self.senses(wide) if synset.pos() in parts}
        return bool(wanted) and any(not wanted.isdisjoint(self.above(synset)) for synset in self.senses(narrow))

    def is_part_of(self, part: str, whole: str) -> bool:
        """Tell whether one place lies in the other."""
        wanted = set(self.senses(whole))
        step = {one for synset in self.senses(part) for one in synset.part_holonyms()}
        for _ in range(_STEPS):
            if not wanted.isdisjoint(step):
                return True
            step = {one for synset in step for one in synset.part_holonyms()}
        return False

    def opposite(self, left: str, right: str, parts: str = PARTS) -> bool:
        """Tell whether two words are antonyms in one of their senses."""
        others = {synset for synset in self.senses(right) if synset.pos() in parts}
        return any(
            antonym.synset() in others
            for synset in self.senses(left)
            for lemma in synset.lemmas()
            for antonym in lemma.antonyms()
        )

    def _above(self, synset: Any) -> frozenset[Any]:
        found: set[Any] = set()
        step = {synset}
        for _ in range(_STEPS):
            step = {more for one in step for more in (*one.hypernyms(), *one.instance_hypernyms())}
            found |= step
        return frozenset(found)

    def _all_above(self, synset: Any) -> frozenset[str]:
        """Return the names of everything above a sense, itself included."""
        found = {synset.name()}
        for one in (*synset.hypernyms(), *synset.instance_hypernyms()):
            found |= self.all_above(one)
        return frozenset(found)


def _is_name(synset: Any) -> bool:
    return bool(synset.instance_hypernyms())
