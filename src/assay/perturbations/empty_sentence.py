"""Verbosity: a sentence that says nothing."""

from assay.perturbations.base import Perturbation, appending

TEXTS = {
    "en": " I hope this helps! Let me know if you have any other questions.",
    "de": " Ich hoffe, das hilft! Bei weiteren Fragen können Sie sich gern melden.",
}

EMPTY_SENTENCE = Perturbation(
    name="empty-sentence",
    summary="a sentence added that says nothing: I hope this helps!",
    expected="same",
    change=appending(TEXTS),
    languages=frozenset(TEXTS),
)
