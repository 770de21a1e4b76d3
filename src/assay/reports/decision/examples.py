"""Random examples of right and wrong judgements of a metric."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ALL, ScoredDataset
from assay.analysis.decision import Choice
from assay.analysis.errors.divergence import find_divergence
from assay.analysis.errors.settings import Rule
from assay.analysis.thresholds.planning import positive_labels_of
from assay.analysis.thresholds.search import decide
from assay.numbers import label_text
from assay.statistics.resampling import seed_of

#: The number of examples of each kind.
EXAMPLES = 3
#: Without a threshold, a judgement is right if ranks of score and label differ by less than this share of the pairs.
NEAR = 0.1
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
    """Return examples of right and wrong judgements by heading, no two from one group or with the same candidate.

    The result is empty if the data has no texts. With a threshold, examples of yes and no alternate. Without one, a
    judgement is wrong if ``assay errors`` finds the ranks of score and label far apart, and right if they differ by
    less than :data:`NEAR`.
    """
    metric, yes_no = choice.line.metric, choice.yes_no
    scores = data.oriented_scores(metric)
    has_score = np.isfinite(scores)
    if yes_no is None:
        verb = "Ranked"
        right = [has_score & ~find_divergence(data, metric, Rule(by="rank", residual=NEAR)).mask]
        wrong = [find_divergence(data, metric, Rule(by="rank")).mask]
    else:
        verb = "Judged"
        _, positive = positive_labels_of(data, yes_no.settings.positive)
        called_yes = decide(scores, yes_no.decision.deployed)
        as_people = called_yes == positive
        right = [has_score & as_people & called_yes, has_score & as_people & ~called_yes]
        wrong = [has_score & ~as_people & called_yes, has_score & ~as_people & ~called_yes]
    seen: set[object] = set()
    examples = {}
    for title, masks in ((f"{verb} as people do", right), (f"{verb} differently from people", wrong)):
        examples[title] = [_judgement(data, choice, row) for row in _draw_examples(data, masks, seen)]
    texts = [example.reference + example.candidate for judged in examples.values() for example in judged]
    return examples if any(texts) else {}


def _draw_examples(data: ScoredDataset, masks: Sequence[NDArray[np.bool_]], seen: set[object]) -> list[int]:
    """Return at most :data:`EXAMPLES` random row indices, taken from the masks in turn; the draw has a fixed seed.

    Args:
        data: n pairs.
        masks: the masks of the pairs to draw from, each of shape (n,).
        seen: the candidates and groups of earlier examples. Pairs with one of them are skipped, and those of the
            returned rows are added.
    """
    rng = np.random.default_rng(seed_of(0, data.name, data.facts.split, ALL))
    queues = [list(rng.permutation(np.flatnonzero(mask))) for mask in masks]
    candidates = data.table.column("candidate").to_pylist()
    rows: list[int] = []
    turn = 0
    while len(rows) < EXAMPLES and any(queues):
        queue = queues[turn % len(queues)]
        turn += 1
        while queue:
            row = int(queue.pop())
            keys: set[object] = {candidates[row]}
            if data.groups is not None:
                keys.add(int(data.groups[row]))
            if not keys & seen:
                seen |= keys
                rows.append(row)
                break
    return rows


def _judgement(data: ScoredDataset, choice: Choice, row: int) -> Judgement:
    """Return the example of the pair at index *row*: its texts, the label, and the score or the decision."""
    metric, yes_no = choice.line.metric, choice.yes_no
    texts = data.texts(row)
    label, score = float(data.labels[row]), float(data.scores[metric][row])
    people = label_text(label, data.labels)
    verdict = f"score {score:.3g}"
    said = "" if data.votes is None else data.votes.text(row)
    if yes_no is None:
        people = f"{said} (label {people})" if said else f"label {people}"
    else:
        positive = bool(positive_labels_of(data, yes_no.settings.positive)[1][row])
        decided = bool(data.oriented_scores(metric)[row] >= yes_no.decision.deployed)
        words = {True: "yes", False: "no"}
        # of votes that differ, the rule says yes or no, and people said something else
        is_divided = data.votes is not None and not data.votes.is_unanimous(row)
        people = f"{said if is_divided else words[positive]} (label {people})"
        verdict = f"{words[decided]} ({verdict})"
    return Judgement(
        one_line_excerpt(texts["question"], _QUESTION),
        one_line_excerpt(texts["reference"], _TEXT),
        one_line_excerpt(texts["candidate"], _TEXT),
        people,
        verdict,
    )


def one_line_excerpt(text: str, max_length: int) -> str:
    """Return a text on one line, cut to *max_length* characters with an ellipsis as the last if needed.

    Its invisible characters are then replaced by their code points, as in ``[U+200B]``.
    """
    line = " ".join(text.split())
    cut = line if len(line) <= max_length else f"{line[: max_length - 1].rstrip()}…"
    return "".join(f"[U+{ord(character):04X}]" if _is_invisible(character) else character for character in cut)


def _is_invisible(character: str) -> bool:
    # the zero-width joiners (U+200C, U+200D) are part of letters and emoji, so they stay
    return unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs") and character not in "\u200c\u200d"
