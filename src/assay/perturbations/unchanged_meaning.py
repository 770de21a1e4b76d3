"""Changes that leave the meaning as it is: case, punctuation, an idle sentence, the order, and chance in the metric."""

from __future__ import annotations

import re
from random import Random

from assay.perturbations.base import Perturbation, TextPair, appending_change


def _lowercase_candidate(pair: TextPair, rng: Random) -> TextPair | None:
    """Return the pair with its candidate in lower case."""
    return pair.answered(pair.candidate.lower())


LOWER_CASE = Perturbation(
    name="lower-case",
    summary="the answer in lower case",
    expected="same",
    change=_lowercase_candidate,
)


def _uppercase_candidate(pair: TextPair, rng: Random) -> TextPair | None:
    """Return the pair with its candidate in capitals."""
    return pair.answered(pair.candidate.upper())


UPPER_CASE = Perturbation(
    name="upper-case",
    summary="the answer in capitals",
    expected="same",
    change=_uppercase_candidate,
)


# marks within a word or number stay: l'eau, 3.5, U.S
_EDGE_PUNCTUATION = re.compile(r"(?<!\w)[^\w\s%€$£°+-]+|[^\w\s%€$£°+-]+(?!\w)")


def _remove_punctuation(pair: TextPair, rng: Random) -> TextPair | None:
    """Return the pair with the punctuation at the edges of words removed from its candidate.

    Return None if only white space would change, or nothing would remain.
    """
    plain = " ".join(_EDGE_PUNCTUATION.sub(" ", pair.candidate).split())
    if not plain or plain == " ".join(pair.candidate.split()):
        return None
    return pair.answered(plain)


NO_PUNCTUATION = Perturbation(
    name="no-punctuation",
    summary="the answer without punctuation",
    expected="same",
    change=_remove_punctuation,
)


_EMPTY_SENTENCES = {
    "en": " I hope this helps! Let me know if you have any other questions.",
    "de": " Ich hoffe, das hilft! Bei weiteren Fragen können Sie sich gern melden.",
}

EMPTY_SENTENCE = Perturbation(
    name="empty-sentence",
    summary="a sentence added that says nothing: I hope this helps!",
    expected="same",
    change=appending_change(_EMPTY_SENTENCES),
    languages=frozenset(_EMPTY_SENTENCES),
)


_TRUE_SENTENCES = {
    "en": " By the way, water is wet and the sun rises in the east.",
    "de": " Übrigens ist Wasser nass, und die Sonne geht im Osten auf.",
}

TRUE_SENTENCE = Perturbation(
    name="true-sentence",
    summary="a true sentence added that is beside the point",
    expected="same",
    change=appending_change(_TRUE_SENTENCES),
    languages=frozenset(_TRUE_SENTENCES),
)


def _swap_texts(pair: TextPair, rng: Random) -> TextPair | None:
    """Return the pair with its texts exchanged; None if it has a question or several references, which set roles."""
    if pair.question.strip() or len(pair.references) != 1:
        return None
    return TextPair((pair.candidate,), pair.references[0], pair.question, pair.language)


SWAPPED_ORDER = Perturbation(
    name="swapped-order",
    summary="the two texts exchanged, where there is no question and one reference",
    expected="same",
    change=_swap_texts,
)


OTHER_SEED = Perturbation(
    name="other-seed",
    summary="the same pairs with the metric's next seed",
    expected="same",
    option="seed",
    other=lambda seed: (seed or 0) + 1,
)


OTHER_TEMPERATURE = Perturbation(
    name="other-temperature",
    summary="the same pairs at temperature 1, or 0 where it is not 0",
    expected="same",
    option="temperature",
    other=lambda temperature: 0.0 if temperature else 1.0,
)
