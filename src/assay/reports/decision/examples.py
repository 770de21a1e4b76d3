"""Random examples of right and wrong judgements of a metric."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from assay.analysis.data import ScoredDataset
from assay.analysis.decision import Choice, Example, draw_examples
from assay.common.numbers import label_text

#: The most characters to show of a question, and of an answer.
_QUESTION, _TEXT = 140, 260


@dataclass(frozen=True)
class Judgement:
    """One example as texts: the pair, the human label and the metric's verdict; the question may be empty."""

    question: str
    reference: str
    candidate: str
    people: str
    metric: str


def judgements(data: ScoredDataset, choice: Choice) -> dict[str, list[Judgement]]:
    """Return random examples of right and of wrong judgements by heading; empty if they have no texts."""
    verb = "Ranked" if choice.yes_no is None else "Judged"
    right, wrong = draw_examples(data, choice)
    examples = {
        f"{verb} as people do": [_judgement(data, choice, example) for example in right],
        f"{verb} differently from people": [_judgement(data, choice, example) for example in wrong],
    }
    texts = [example.reference + example.candidate for judged in examples.values() for example in judged]
    return examples if any(texts) else {}


def _judgement(data: ScoredDataset, choice: Choice, example: Example) -> Judgement:
    """Return an example as texts: those of the pair, the label, and the score or the decision.

    Votes of people are written out where there is no decision, or where they differ.
    """
    row, metric = example.row, choice.line.metric
    texts = data.texts(row)
    label = f"label {label_text(float(data.labels[row]), data.labels)}"
    score = f"score {float(data.scores[metric][row]):.3g}"
    votes = "" if data.votes is None else data.votes.text(row)
    if example.positive is None or example.decided is None:
        people, verdict = f"{votes} ({label})" if votes else label, score
    else:
        words = {True: "yes", False: "no"}
        # of votes that differ, the rule says yes or no, and people said something else
        is_divided = data.votes is not None and not data.votes.is_unanimous(row)
        people = f"{votes if is_divided else words[example.positive]} ({label})"
        verdict = f"{words[example.decided]} ({score})"
    return Judgement(
        one_line_excerpt(texts["question"], _QUESTION),
        one_line_excerpt(texts["reference"], _TEXT),
        one_line_excerpt(texts["candidate"], _TEXT),
        people,
        verdict,
    )


def one_line_excerpt(text: str, max_length: int) -> str:
    """Return a text on one line, cut to *max_length* characters with an ellipsis as the last if needed.

    Its invisible characters, apart from zero-width joiners, are then replaced by their code points, as in
    ``[U+200B]``, which makes it longer.
    """
    line = " ".join(text.split())
    excerpt = line if len(line) <= max_length else f"{line[: max_length - 1].rstrip()}…"
    characters = []
    for character in excerpt:
        # for control, format or private use, or half a character; but the zero-width joiners (U+200C, U+200D) are part
        # of letters and emoji
        is_invisible = unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs") and character not in "\u200c\u200d"
        characters.append(f"[U+{ord(character):04X}]" if is_invisible else character)
    return "".join(characters)
