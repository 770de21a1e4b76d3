"""The names and meanings of the categories.

Source: table 4 of Mustafazade & Ebbinghaus, Evaluation of Semantic Answer Similarity Metrics (2022), and what the
text of the paper adds: names, numbers, dates, translations, units, encodings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Tag:
    """One category of a pair.

    Attributes:
        category: the name of the category, a key of :data:`CATEGORIES`.
        reason: the evidence for it in the texts, in words.
    """

    category: str
    reason: str


#: The meaning of each category, in the order of the tags of a pair: the one that explains most comes first.
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

#: Tagged only if no other category applies: they concern the data, and rules on the texts can only suspect them.
LAST_RESORTS = ("wrong gold label", "unrelated", "wrong label")

#: Categories that people distinguish by world knowledge, and not by the text; each group is also evaluated as one.
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "names, alias, spatial": ("names", "alias", "spatial"),
        "medical, biological, chemical term": ("medical term", "biological term", "chemical term"),
    }
)

#: Names in tables for categories by rules whose own name would claim more than the rules can know.
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
    """Return the name that tables show for a category that the rules found.

    Only "unrelated" has another one: where rules find no relation, people may see one.

    >>> label_of_rules("unrelated"), label_of_rules("numeric")
    ('no relation found', 'numeric')
    """
    return _BY_RULES.get(name, name)


def from_people(name: str) -> str:
    """Return the category that a name in annotated data means; unknown names are returned in lower case.

    >>> from_people("Medical term"), from_people("Dates"), from_people("unit conversion")
    ('medical term', 'date and temporal', 'unit')
    """
    normalised = " ".join(name.lower().split())
    return _OTHER_SPELLINGS.get(normalised, normalised)
