"""Verbosity: a sentence that is true and beside the point."""

from assay.perturbations.base import Perturbation, appending

TEXTS = {
    "en": " By the way, water is wet and the sun rises in the east.",
    "de": " Übrigens ist Wasser nass, und die Sonne geht im Osten auf.",
}

TRUE_SENTENCE = Perturbation(
    name="true-sentence",
    summary="a true sentence added that is beside the point",
    expected="same",
    change=appending(TEXTS),
    languages=frozenset(TEXTS),
)
