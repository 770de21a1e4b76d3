"""Places in texts, and what is tagged of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assay.reports.categories.gazetteer import Place, countries_by_language, gazetteer
from assay.reports.categories.texts import Pair, Text
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.wordnet import words
from assay.reports.categories.words import FUNCTION_WORDS, word_set

__all__ = ["Named", "asks_where", "find_places", "places"]

_WHERE = re.compile(
    r"\b(where|(what|which) (city|country|state|town|continent|county|place|region|location|province|island|river|"
    r"street|village|capital)|wo|woher|wohin|welche[rmns]? (stadt|land|ort|kontinent|bundesland|insel|fluss|region))\b",
    re.IGNORECASE,
)
_BEFORE = word_set("in at near of from to off by im am bei nach aus vor")
_DIRECTION = re.compile(
    r"(?:(?:north|south)(?:east|west)?|east|west)(?:ern|ward|wards)?|left|right|above|below|under|over|beneath|behind|"
    r"inside|outside|near|beside|between|top|bottom|upper|lower|inner|outer|upstairs|downstairs|upstream|downstream|"
    r"inland|offshore|clockwise|(?:nord|sud)(?:ost|west)?(?:en|lich\w*|warts)?|(?:ost|west)(?:en|lich\w*|warts)|"
    r"links|rechts|(?:link|recht|ober|unter|inner|ausser)en?|oben|unten|hinter|vorn|hinten|innen|aussen|oberhalb|"
    r"unterhalb|neben|zwischen"
)
_ASKS_DIRECTION = re.compile(r"\b(direction|side|bank|border|richtung|seite|ufer)\b|ufer\b", re.IGNORECASE)


@dataclass(frozen=True)
class Named:
    """A place name in a text: the folded name and what it may mean."""

    name: str
    meanings: tuple[Place, ...]


def asks_where(question: str) -> bool:
    """Tell whether a question asks for a place."""
    return bool(_WHERE.search(question))


def find_places(text: Text) -> tuple[Named, ...]:
    """Return the place names of a text, the longest ones, none inside another or inside a longer name."""
    known = gazetteer()
    if not known:
        return ()
    found: list[Named] = []
    folded, at = text.folded, 0
    while at < len(folded):
        for length in range(min(4, len(folded) - at), 0, -1):
            name = " ".join(folded[at : at + length]).replace("-", " ")
            meanings = known.get(name)
            if meanings and name not in FUNCTION_WORDS and _is_meant(text, at, at + length, name, meanings):
                found.append(Named(name, meanings))
                at += length - 1
                break
        at += 1
    return tuple(found)


def _is_meant(text: Text, start: int, end: int, name: str, meanings: tuple[Place, ...]) -> bool:
    """Tell whether words that are a place's name are meant as one here."""
    folded = text.folded
    before = folded[start - 1] if start else ""
    whole = all(word in FUNCTION_WORDS for word in (*folded[:start], *folded[end:]))
    after_comma = bool(start) and f"{text.words[start - 1]}, {text.words[start]}" in text.clean
    marked = before in _BEFORE or after_comma
    lexicon = words()
    is_country = any(place.kind in ("country", "continent") for place in meanings)
    if " " not in name and (lexicon.is_common(name) if lexicon else not text.has_case) and not is_country:
        return marked and text.words[start][0].isupper()
    if not text.has_case:
        comma_follows = end < len(folded) and f"{text.words[end - 1]}, {text.words[end]}" in text.clean
        return whole or marked or comma_follows
    if not text.words[start][0].isupper():
        return False
    # part of a longer name, such as Andrew Jackson or Jackson Pollock
    joined_before = start and not marked and text.words[start - 1][0].isupper() and before not in FUNCTION_WORDS
    joined_before = joined_before and not _DIRECTION.fullmatch(before)
    joined_after = (
        end < len(folded)
        and f"{text.words[end - 1]} {text.words[end]}" in text.clean
        and (text.words[end][0].isupper() and folded[end] not in FUNCTION_WORDS)
    )
    return not (joined_before or joined_after) or (is_country and end - start > 1)


def places(pair: Pair) -> Iterator[Tag]:
    """Tag places: other names of one, one inside the other, different ones; and directions that differ."""
    mine, others = find_places(pair.reference), find_places(pair.candidate)
    names = {one.name for one in mine} & {one.name for one in others}
    left = [one for one in mine if one.name not in names]
    right = [one for one in others if one.name not in names]
    if left and right:
        yield from _compared(left, right)
    elif (left or right) and not pair.same and asks_where(pair.question.clean):
        yield Tag("spatial", f"asked for a place, only one text names {(left or right)[0].name!r}")
    yield from _turned(pair)


def _turned(pair: Pair) -> Iterator[Tag]:
    mine, others = (
        {word for word in text.folded if _DIRECTION.fullmatch(word)} for text in (pair.reference, pair.candidate)
    )
    left, right = mine - others, others - mine
    asked = pair.question.clean
    if left and right:
        yield Tag("spatial", f"directions or positions: {min(left)!r} and {min(right)!r}")
    elif (left or right) and not pair.same and (asks_where(asked) or _ASKS_DIRECTION.search(asked)):
        yield Tag("spatial", f"asked for a place, only one text says {min(left or right)!r}")
    elif mine and pair.reference.folded != pair.candidate.folded and pair.same:
        yield Tag("spatial", f"the same words around {min(mine)!r} in another order")


def _compared(left: list[Named], right: list[Named]) -> Iterator[Tag]:
    for one in left:
        for two in right:
            if not {(p.kind, p.code) for p in one.meanings}.isdisjoint((p.kind, p.code) for p in two.meanings):
                what = f"{one.name!r} and {two.name!r} are the same place"
                tongues = _tongues(one.name), _tongues(two.name)
                foreign = tongues[0] and tongues[1] and tongues[0].isdisjoint(tongues[1])
                yield Tag("translation" if foreign else "alias", what)
                yield Tag("spatial", what)
                return
    for one in left:
        for two in right:
            for inner, outer in ((one, two), (two, one)):
                if any(a.within(b) for a in inner.meanings for b in outer.meanings):
                    what = f"{inner.name!r} lies in {outer.name!r}"
                    yield Tag("spatial", what)
                    yield Tag("different levels of precision", what)
                    return
    lexicon = words()
    for one in left:
        for two in right:
            if lexicon and (lexicon.is_part_of(one.name, two.name) or lexicon.is_part_of(two.name, one.name)):
                yield Tag("spatial", f"one of {one.name!r} and {two.name!r} lies in the other")
                yield Tag("different levels of precision", f"one of {one.name!r} and {two.name!r} lies in the other")
                return
    yield Tag("spatial", f"different places: {left[0].name!r} and {right[0].name!r}")


def _tongues(name: str) -> frozenset[str]:
    return frozenset(language for language, names in countries_by_language().items() if name in names)
