"""The gold answer, denied in a sentence."""

from assay.perturbations.base import Perturbation, quoting_gold

TEXTS = {"en": "It is certainly not {}.", "de": "Es ist ganz sicher nicht {}."}

DENIED_SENTENCE = Perturbation(
    name="denied-sentence",
    summary="the gold answer denied in a sentence as the answer: It is certainly not Paris.",
    expected="negative",
    change=quoting_gold(TEXTS),
    pairs="right",
    languages=frozenset(TEXTS),
)
