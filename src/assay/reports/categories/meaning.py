"""Words related by meaning, through WordNet: synonyms, more general words, antonyms, other names of one thing."""

from __future__ import annotations

from collections.abc import Iterator

from assay.reports.categories.texts import Pair
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.wordnet import Words, words

__all__ = ["meanings"]

#: Words left on a side up to which every word is held against every word of the other.
_FEW = 4


def meanings(pair: Pair) -> Iterator[Tag]:
    """Tag what WordNet knows of the two texts as wholes, or else of the words in which they differ."""
    lexicon = words()
    if lexicon is None or pair.same or pair.language != "en":
        return
    whole = pair.reference.phrase, pair.candidate.phrase
    if found := _related(lexicon, *whole, rare=True):
        yield found
        return
    left, right = _phrases(pair.only_reference, lexicon), _phrases(pair.only_candidate, lexicon)
    if not left or not right or len(left) > _FEW or len(right) > _FEW:
        return
    matches = [tag for one in left for two in right if (tag := _related(lexicon, one, two))]
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


def _related(lexicon: Words, one: str, two: str, rare: bool = False) -> Tag | None:
    if one == two or not lexicon.knows(one) or not lexicon.knows(two):
        return None
    if shared := lexicon.synonym(one, two, rare):
        about = shared.definition().strip("()").split(";")[0]
        if shared.instance_hypernyms():
            return Tag("alias", f"{one!r} and {two!r} are names of the same: {about}")
        return Tag("synonym", f"{one!r} and {two!r} have a meaning in common: {about}")
    if lexicon.opposite(one, two):
        return Tag("negation", f"{one!r} is the opposite of {two!r}")
    for narrow, wide in ((one, two), (two, one)):
        if lexicon.is_kind_of(narrow, wide):
            return Tag("different levels of precision", f"{narrow!r} is a kind of {wide!r}")
    return None
