"""Explanations of scores: their common base class."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.exceptions import InputError

_EXPLAINABLE = (
    "s3bert:FOLDER (aspects), bertscore:MODEL (matches of tokens), cross-encoder:MODEL and sas (words left out), "
    "amr:smatch (alignment of graphs), judge:MODEL (replies), combined:FOLDER (metrics)"
)


class NotExplainableError(InputError):
    """The score of a metric has no parts to show; the message lists the metrics that can be explained."""

    def __init__(self, metric: str) -> None:
        super().__init__(f"metric {metric}: its score has no parts to show; these have: {_EXPLAINABLE}")


@dataclass(frozen=True)
class Explanation:
    """The explanation of the score of one pair; subclasses add the parts that the score consists of.

    Attributes:
        kind: the name of the subclass in JSON, such as ``tokens``.
        metric: the metric's name.
        reference, candidate: the texts.
        score: the metric's score of the pair; None if it has none.
        notes: remarks on the pair, such as a truncated text.
    """

    kind: ClassVar[str]

    metric: str
    reference: str
    candidate: str
    score: float | None
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON values, with ``kind`` first."""
        return {"kind": self.kind, **_json_value(dataclasses.asdict(self))}


def _json_value(value: Any) -> Any:
    """Return a value with all tuples in it replaced by lists, as they are in JSON."""
    if isinstance(value, dict):
        return {key: _json_value(item) for key, item in value.items()}
    return [_json_value(item) for item in value] if isinstance(value, list | tuple) else value
