"""What all explanations share, and how a metric that reads a model scores a few pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from assay.metrics.base import Batch, Metric
from assay.metrics.work import Flag, Scores, open_session

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Explanation", "notes_of", "score_together"]


@dataclass(frozen=True)
class Explanation:
    """What the score of one pair comes from.

    Attributes:
        metric: its name.
        reference, candidate: the texts.
        score: the metric's score of the pair.
        notes: what a reader should know.
    """

    kind: ClassVar[str]

    metric: str
    reference: str
    candidate: str
    score: float
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, the kind of explanation first."""
        return {"kind": self.kind, **_plain(dataclasses.asdict(self))}


def _plain(value: Any) -> Any:
    """Return a value with lists for tuples, as JSON has it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def score_together(metrics: Sequence[Metric], batch: Batch) -> Scores:
    """Return the scores of metrics that share an engine; the model stays open until another one is used."""
    return open_session(metrics[0].needs()).score(metrics, batch)


def notes_of(flags: np.uint8) -> tuple[str, ...]:
    """Return what the flags of a score say."""
    return tuple(flag.phrase for flag in Flag if int(flags) & flag)
