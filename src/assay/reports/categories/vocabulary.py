"""The names of the categories.

Source: table 4 of Mustafazade & Ebbinghaus, Evaluation of Semantic Answer Similarity Metrics (2022), and what their
text names beside it: names, numbers, dates, translations, units, encodings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Tag:
    """One category of a pair.

    Attributes:
        category: one of :data:`CATEGORIES`.
        reason: what in the texts speaks for it, in plain words.
    """

    category: str
    reason: str


#: What each category means, in the order in which the tags of a pair stand: what explains most comes first.
CATEGORIES: Mapping[str, str] = MappingProxyType(
    {
        "encoding": "the same characters, damaged or encoded in another way",
        "acronym": "one text is made of the initials of the other",
        "unit": "quantities with units: converted, or the same figure with another unit",
        "date and temporal": "dates, times, periods: written otherwise, or different ones",
        "numeric": "numbers: written otherwise, or different ones",
        "translation": "the two texts are in different languages",
        "negation": "one text negates, or the two say opposite things",
        "co-reference": "one text points at, or describes, what the other one names",
        "medical term": "words for the human body, its illnesses and their treatment",
        "chemical term": "words for substances: trivial name, systematic name, formula",
        "biological term": "words for living things, their parts and processes",
        "spatial": "places, directions and positions",
        "names": "names of persons: variants of one, or different ones",
        "alias": "two names of one person, place or thing",
        "synonym": "different words of the same meaning",
        "different levels of precision": "both say the same, one of them more exactly",
        "incomplete answer": "one text has only a part of what the other lists",
        "multiple correct answers": "the question has several right answers",
        "imprecise question": "the question can be read in more than one way",
        "wrong gold label": "the reference is not an answer to the question, the candidate may be",
        "unrelated": "nothing connects the two texts; by the rules: none of them finds a relation",
        "wrong label": "the human label contradicts the texts",
    }
)

#: Given only where no other category holds: they speak of the data, and rules over the texts can but suspect them.
LAST_RESORTS = ("wrong gold label", "unrelated", "wrong label")

#: Categories that people keep apart by knowing the world, not by the text; evaluated as one as well.
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "names, alias, spatial": ("names", "alias", "spatial"),
        "medical, biological, chemical term": ("medical term", "biological term", "chemical term"),
    }
)

#: What tables call a category that rules gave, where its name says more than they know.
_BY_RULES = {"unrelated": "no relation found"}

_OTHER_SPELLINGS = {
    "dates": "date and temporal",
    "temporal": "date and temporal",
    "name": "names",
    "synonyms": "synonym",
    "unrelated answer": "unrelated",
    "number and its word": "numeric",
    "unit conversion": "unit",
}


def label_of_rules(name: str) -> str:
    """Return what a reader sees of a category that rules gave: people may hold the texts of "unrelated" for the same.

    >>> label_of_rules("unrelated"), label_of_rules("numeric")
    ('no relation found', 'numeric')
    """
    return _BY_RULES.get(name, name)


def from_people(name: str) -> str:
    """Return the category that a column of annotated data means; an unknown one as it stands, in lower case.

    >>> from_people("Medical term"), from_people("Dates"), from_people("unit conversion")
    ('medical term', 'date and temporal', 'unit')
    """
    plain = " ".join(name.lower().split())
    return _OTHER_SPELLINGS.get(plain, plain)
