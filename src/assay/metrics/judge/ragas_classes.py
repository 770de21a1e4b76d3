"""The classes of ragas that are metrics here, by the name that follows ``ragas:``, and the texts that they read."""

from __future__ import annotations

from typing import Any, NamedTuple


class RagasClass(NamedTuple):
    """A class of ``ragas.metrics.collections``: its name, the texts that it reads, and its settings."""

    name: str
    reads: frozenset[str]
    settings: dict[str, Any]


QUESTION, REFERENCE, CONTEXT = "user_input", "reference", "retrieved_contexts"
#: The classes whose score is one of an answer, by the name that follows ``ragas:``; all read the answer.
CLASSES = {
    "answer-accuracy": RagasClass("AnswerAccuracy", frozenset({QUESTION, REFERENCE}), {}),
    # its other part is the cosine of two embeddings, which is bi-encoder:MODEL
    "answer-correctness": RagasClass("AnswerCorrectness", frozenset({QUESTION, REFERENCE}), {"weights": [1.0, 0.0]}),
    "factual-correctness": RagasClass("FactualCorrectness", frozenset({REFERENCE}), {}),
    "faithfulness": RagasClass("Faithfulness", frozenset({QUESTION, CONTEXT}), {}),
    "response-groundedness": RagasClass("ResponseGroundedness", frozenset({CONTEXT}), {}),
}
