"""Words related by meaning, through WordNet: synonyms, more general words, antonyms, other names of one thing."""

from __future__ import annotations

from collections.abc import Iterator

from assay.reports.categories.texts import Pair, Text
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.wordnet import PARTS, Words, words

__all__ = ["meanings"]

#: Words left on a side up to which every word is held against every word of the other.
_FEW = 4
#: WordNet's letters of verbs, and of all else.
_VERB, _OTHER = "v", "nasr"


def meanings(pair: Pair) -> Iterator[Tag]:
    """Tag what WordNet knows of the two texts as wholes, or else of the words in which they differ."""
    lexicon = words()
    if lexicon is None or pair.same or pair.language != "en":
        return
    whole = pair.reference.phrase, pair.candidate.phrase
    if found := _related(lexicon, *whole, _parts(pair, lexicon, *whole), rare=True):
        yield found
        return
    left, right = _phrases(pair.only_reference, lexicon), _phrases(pair.only_candidate, lexicon)
    if not left or not right or len(left) > _FEW or len(right) > _FEW:
        return
    matches = [
        tag for one in left for two in right if (tag := _related(lexicon, one, two, _parts(pair, lexicon, one, two)))
    ]
    # a related word among many unrelated ones explains nothing
    if matches and 2 * len(matches) >= min(len(left), len(right)):
        yield from matches


def _phrases(rest: tuple[str, ...], lexicon: Words) -> list[str]:
    """Join neighbours that WordNet has as one entry (shoulder blade)."""
    found: list[str] = []
    at = 0
    while at < len(rest):
        for length in (3, 2, 1):
            phrase = " ".join(rest[at : at + length])
            if length == 1 or (at + length <= len(rest) and lexicon.knows(phrase)):
                found.append(phrase)
                at += length
                break
    return found


def _parts(pair: Pair, lexicon: Words, one: str, two: str) -> str:
    """Return WordNet's letters of the parts of speech that both phrases may be in their texts; all where unknown."""
    mine, others = _letters(pair.reference, one, lexicon), _letters(pair.candidate, two, lexicon)
    return "".join(letter for letter in PARTS if letter in mine and letter in others)


def _letters(text: Text, phrase: str, lexicon: Words) -> str:
    """Tell verbs from the rest; nouns, adjectives and adverbs are one, since taggers mix them up in short texts."""
    verb = {part in ("VERB", "AUX") for part in text.parts_of(phrase)}
    letters = PARTS if len(verb) != 1 else _VERB if True in verb else _OTHER
    # WordNet corrects the tagger: a bicarbonate is no verb
    return letters if lexicon.knows_as(phrase, letters) else PARTS


def _related(lexicon: Words, one: str, two: str, parts: str, rare: bool = False) -> Tag | None:
    if one == two or not lexicon.knows(one) or not lexicon.knows(two):
        return None
    said = {PARTS: "", _VERB: " (as verbs)"}.get(parts, " (not as verbs)")
    if shared := lexicon.synonym(one, two, parts, rare):
        about = shared.definition().strip("()").split(";")[0]
        if shared.instance_hypernyms():
            return Tag("alias", f"{one!r} and {two!r} are names of the same: {about}")
        return Tag("synonym", f"{one!r} and {two!r} have a meaning in common{said}: {about}")
    if lexicon.opposite(one, two, parts):
        return Tag("negation", f"{one!r} is the opposite of {two!r}{said}")
    for narrow, wide in ((one, two), (two, one)):
        if lexicon.is_kind_of(narrow, wide, parts):
            return Tag("different levels of precision", f"{narrow!r} is a kind of {wide!r}{said}")
    return None
