"""Pairs to score, and the data that they come from, as metrics read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from assay.exceptions import InputError


@dataclass(frozen=True)
class Batch:
    """Pairs to score, as columns of equal length.

    Attributes:
        references: the gold answers.
        candidates: the answers to judge.
        questions: the questions; None without questions.
        gold_answers: all gold answers of each pair, for metrics that read them together; the first one is the
            reference. None if the reference is the only gold answer.
        reference_graphs, candidate_graphs: the AMR graphs of the texts in Penman notation; None if the data has no
            graphs.
        contexts: what belongs to the question, such as passages that were retrieved; None if the data has none.

    Raises:
        InputError: the columns differ in length.
    """

    references: Sequence[str]
    candidates: Sequence[str]
    questions: Sequence[str] | None = None
    reference_graphs: Sequence[str] | None = None
    candidate_graphs: Sequence[str] | None = None
    gold_answers: Sequence[Sequence[str]] | None = None
    contexts: Sequence[str] | None = None

    def __post_init__(self) -> None:
        lengths = {name.replace("_", " "): len(column) for name, column in vars(self).items() if column is not None}
        if len(set(lengths.values())) > 1:
            lengths_text = ", ".join(f"{count} {name}" for name, count in lengths.items())
            raise InputError(f"the columns of a batch must be equally long: {lengths_text}")

    def __len__(self) -> int:
        return len(self.references)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return an iterator over the pairs (reference, candidate), in order."""
        return zip(self.references, self.candidates, strict=True)

    def take(self, indices: Sequence[int]) -> Batch:
        """Return the pairs at *indices*, in that order."""
        columns = vars(self).items()
        return Batch(**{name: [column[i] for i in indices] for name, column in columns if column is not None})

    def by_gold_answer(self) -> tuple[Batch, list[int]]:
        """Return the batch with each gold answer as the reference of a row of its own, and the row that it was in.

        Raises:
            InputError: a pair of several gold answers has an AMR graph for one of them.
        """
        gold_answers = self.gold_answers or [[reference] for reference in self.references]
        rows = [row for row, answers in enumerate(gold_answers) for _ in answers]
        if len(rows) > len(self) and any(self.reference_graphs or ()):
            raise InputError("pairs with AMR graphs have several gold answers; graphs are read for one")
        flat = [answer for answers in gold_answers for answer in answers]
        return dataclasses.replace(self.take(rows), references=flat, gold_answers=None), rows

    def with_questions(self) -> Batch:
        """Return the batch with each question put before both texts of its pair; the batch itself without questions.

        A blank question leaves its texts unchanged. All other columns, the gold answers among them, stay as they are.
        """
        questions = self.questions
        if questions is None:
            return self

        def prepend_questions(texts: Sequence[str]) -> list[str]:
            return [prepend_question(question, text) for question, text in zip(questions, texts, strict=True)]

        references, candidates = prepend_questions(self.references), prepend_questions(self.candidates)
        return dataclasses.replace(self, references=references, candidates=candidates)

    def swapped(self) -> Batch:
        """Return the batch with references and candidates, and their graphs, exchanged; without ``gold_answers``.

        Questions and contexts stay as they are.
        """
        return dataclasses.replace(
            self,
            references=self.candidates,
            candidates=self.references,
            reference_graphs=self.candidate_graphs,
            candidate_graphs=self.reference_graphs,
            gold_answers=None,
        )


def prepend_question(question: str, text: str) -> str:
    """Return the question, a space and the text as one input for a model; the text alone if the question is blank.

    Outer white space of the question is removed.
    """
    return f"{question.strip()} {text}" if question.strip() else text


@dataclass(frozen=True)
class Context:
    """The data that a metric is about to score.

    Attributes:
        language: the ISO 639-1 code of its texts; None if unknown.
        references: a function that returns all gold answers, in order.
    """

    language: str | None
    references: Callable[[], Sequence[str]]
