"""Gold questions of best-worst annotations: tuples whose best and worst item are agreed upon.

Who answers too few of them as agreed is left out. Source: Abdalla, Vishnubhotla and Mohammad, What Makes Sentences
Semantically Related? (2023), section 3.2.1.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.datasets.best_worst_choices import Choice, read_choices


@dataclass(frozen=True)
class GoldQuestions:
    """The agreed answers to some questions.

    Attributes:
        answers: the best and the worst item, by the items of a question; several where several answers are right.
        least_share: the share of right answers below which all answers of an annotator are discarded, in [0, 1].
    """

    answers: Mapping[frozenset[str], frozenset[tuple[str, str]]]
    least_share: float


@dataclass(frozen=True)
class GoldScore:
    """How an annotator answered gold questions.

    Attributes:
        annotator: the name of the annotator.
        annotations: the number of annotations of other questions.
        answered: the number of gold questions that were answered.
        right: the number of these whose best and whose worst item are as agreed.
        is_kept: whether the answers count: the share is high enough, or there was no gold question.
    """

    annotator: str
    annotations: int
    answered: int
    right: int
    is_kept: bool

    @property
    def share(self) -> float | None:
        """The share of right answers, in [0, 1]; None without gold questions."""
        return self.right / self.answered if self.answered else None


def read_gold_questions(path: str | Path, least_share: float) -> GoldQuestions:
    """Return the gold questions in a file as for :func:`~assay.datasets.best_worst.read_best_worst`.

    If several rows have the same items, the answer of each is right.

    Args:
        path: the file.
        least_share: the share of right answers, in [0, 1], below which all answers of an annotator are discarded.

    Raises:
        InputError: the file cannot be read, a column is missing, or a row is invalid.
        UnavailableError: the file is at an address that cannot be reached, or needs a package that is not installed.
    """
    answers: dict[frozenset[str], set[tuple[str, str]]] = defaultdict(set)
    for choice in read_choices(path)[1]:
        answers[frozenset(choice.items)].add((choice.best, choice.worst))
    return GoldQuestions({items: frozenset(right) for items, right in answers.items()}, least_share)


def score_annotators(gold: GoldQuestions, choices: Sequence[Choice], annotators: Sequence[str]) -> list[GoldScore]:
    """Return how each annotator answered the gold questions, in the order in which they first appear.

    Args:
        gold: the agreed answers.
        choices: all choices.
        annotators: the annotator of each row of the table.
    """
    other_questions, answered, right = Counter[str](), Counter[str](), Counter[str]()
    for choice in choices:
        annotator = annotators[choice.row]
        agreed_answers = gold.answers.get(frozenset(choice.items))
        if agreed_answers is None:
            other_questions[annotator] += 1
        else:
            answered[annotator] += 1
            right[annotator] += (choice.best, choice.worst) in agreed_answers
    scores = []
    for name in dict.fromkeys(annotators):
        is_kept = not answered[name] or right[name] / answered[name] >= gold.least_share
        scores.append(GoldScore(name, other_questions[name], answered[name], right[name], is_kept))
    return scores
