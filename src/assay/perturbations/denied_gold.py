"""The gold answer, denied in a word."""

from assay.perturbations.base import Perturbation, quoting_gold

TEXTS = {"en": "not {}", "de": "nicht {}"}

DENIED_GOLD = Perturbation(
    name="denied-gold",
    summary="the gold answer denied as the answer: not Paris",
    expected="negative",
    change=quoting_gold(TEXTS),
    pairs="right",
    languages=frozenset(TEXTS),
)
