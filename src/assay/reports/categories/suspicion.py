"""Last resorts: no rule explains a pair, and people's label contradicts what the texts show."""

from __future__ import annotations

from collections.abc import Iterator

from assay.reports.categories.question import expected, kind_of_answer
from assay.reports.categories.texts import Pair
from assay.reports.categories.vocabulary import Tag

__all__ = ["suspicions"]


def suspicions(pair: Pair, label: float, scale: tuple[float, float], score: float | None) -> Iterator[Tag]:
    """Tag what the label makes suspicious; to be asked only where no other rule holds.

    Args:
        pair: the texts.
        label: the human judgement.
        scale: lowest and highest label.
        score: what a metric gave, or None.
    """
    said = f"people gave {label:g} of {scale[0]:g} to {scale[1]:g}" + (
        "" if score is None else f", the metric {score:.3g}"
    )
    low, high = label <= scale[0], label >= scale[1]
    if pair.same:
        if low:
            yield Tag("wrong label", f"the texts have the same words, yet {said}")
    elif high and not pair.shared:
        wanted = expected(pair.question.clean)
        kinds = [kind_of_answer(text, pair.question, pair.language) for text, _ in pair.sides]
        if wanted and kinds[1] == wanted != kinds[0]:
            yield Tag("wrong gold label", f"the question asks for a {wanted}, and only the candidate gives one; {said}")
        else:
            yield Tag("unrelated", f"no word in common, and no other rule holds, yet {said}")
    elif low and not pair.shared:
        yield Tag("unrelated", f"no word in common, and no other rule holds; {said}")
