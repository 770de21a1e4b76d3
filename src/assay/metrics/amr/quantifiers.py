"""Quantifiers of AMR graphs: numbers, amounts, and words such as all, every, some."""

from __future__ import annotations

import re
from collections import Counter

from assay.amr.graph import Graph

__all__ = ["find_quantifiers", "quantifiers"]

#: Concepts that quantify wherever they stand, but where they say a degree.
_WORDS = {
    word: word
    for word in (
        *("all", "any", "both", "each", "either", "every", "few", "half", "many", "most", "much", "multiple"),
        *("neither", "no", "none", "several", "some"),
    )
}
#: AMR leaves these as one concept.
_WORDS |= dict.fromkeys(("everybody", "everyone", "everything", "everywhere"), "every")
_WORDS |= dict.fromkeys(("nobody", "no-one", "nothing", "nowhere"), "no")
#: A measured amount: what quantifies is its number, not what kind of measure it is.
_MEASURE = re.compile(r".+-(quantity|entity)(-\d+)?")
_PART = re.compile(r"op\d+|value")
#: The frame that stands for ``:quant`` where it is compared: how much, and more or most.
_FRAME, _AMOUNTS = "have-quant-91", ("arg2", "arg3")


def quantifiers(first: Graph, second: Graph) -> float:
    """Return the normalised overlap of the quantifiers of two graphs, from 0 to 1 (Opitz and Frank 2022, section 4.2).

    Twice the number of shared quantifiers over that of both graphs, each as often as it stands there: 1 where neither
    has any, 0 where one has none. "Two cats" and "a cat" share nothing, for AMR writes no article. The paper does not
    say what a quantifier is; see :func:`find_quantifiers`.

    Args:
        first: parsed, or as :func:`assay.amr.graph.normalized` returns it.
        second: likewise.
    """
    one, other = find_quantifiers(first), find_quantifiers(second)
    if not one and not other:
        return 1.0
    return 2.0 * (one & other).total() / (one.total() + other.total())


def find_quantifiers(graph: Graph) -> Counter[str]:
    """Return the quantifiers of a graph and how often each stands there; what they quantify does not count.

    They are

    - the value of ``:quant``, and of ``:ARG2`` and ``:ARG3`` of its frame have-quant-91: a number, or a concept (more,
      lot) with the numbers at its ``:op`` and ``:value`` (more than 100); of a measure the number alone (two years);
    - wherever they stand but at ``:degree`` or in have-degree-91: all, any, both, each, either, every, few, half,
      many, most, much, multiple, neither, no, none, several, some; and everyone or nothing as every and no.

    Negation (no man: ``:polarity -``) is another aspect. Numbers are compared as numbers.

    Example:
        >>> from assay.amr.graph import parse_graph
        >>> find_quantifiers(parse_graph("(c / cat :quant (m / more-than :op1 2) :mod (a / all))"))
        Counter({'more-than': 1, 'all': 1, '2': 1})
    """
    concepts = [concept.lower() for concept in graph.concepts]
    amounts, degrees = set(), set()
    for source, role, target in graph.relations:
        if _is_amount(concepts[source], role.lower()):
            amounts.add(target)
        elif role.lower() == "degree" or concepts[source] == "have-degree-91":
            degrees.add(target)
    words = [
        _WORDS.get(concept, concept)
        for node, concept in enumerate(concepts)
        if (node in amounts and not _MEASURE.fullmatch(concept)) or (concept in _WORDS and node not in degrees)
    ]
    numbers = [
        _number(constant)
        for source, role, constant in graph.attributes
        if _is_amount(concepts[source], role.lower()) or (source in amounts and _PART.fullmatch(role.lower()))
    ]
    return Counter(words + numbers)


def _is_amount(concept: str, role: str) -> bool:
    return role == "quant" or (concept == _FRAME and role in _AMOUNTS)


def _number(constant: str) -> str:
    """Return a constant as it is compared: ``2.0`` and ``"2"`` are ``2``."""
    plain = constant.strip('"').lower()
    try:
        return f"{float(plain.replace(',', '')):.15g}"
    except ValueError:
        return plain
