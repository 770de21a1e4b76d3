"""An answer that takes itself back."""

from assay.perturbations.base import Perturbation, appending

TEXTS = {
    "en": " No, that is wrong: the opposite is true.",
    "de": " Nein, das ist falsch: Das Gegenteil ist wahr.",
}

ANSWER_DENIED = Perturbation(
    name="answer-denied",
    summary="a right answer that takes itself back: No, that is wrong",
    expected="lower",
    change=appending(TEXTS),
    pairs="right",
    languages=frozenset(TEXTS),
)
