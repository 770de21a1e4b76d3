"""Explanations of scores: their common base class, and the choice of the explanation for a metric."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from assay.errors import InputError
from assay.metrics.amr.metric import Amr
from assay.metrics.base import Batch, Metric
from assay.metrics.bertscore import BertScore
from assay.metrics.combined import Combined
from assay.metrics.cross_encoder import CrossEncoder
from assay.metrics.judge.judge import Judge
from assay.metrics.s3bert import S3Bert
from assay.metrics.work import Flag, Scores, open_session

if TYPE_CHECKING:
    import numpy as np

_EXPLAINABLE = (
    "s3bert:FOLDER (aspects), bertscore:MODEL (matches of tokens), cross-encoder:MODEL and sas (words left out), "
    "amr:smatch (alignment of graphs), judge:MODEL (replies), combined:FOLDER (metrics)"
)


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


def score_together(metrics: Sequence[Metric], batch: Batch) -> Scores:
    """Return the scores of each pair under metrics with equal engines, in one pass.

    The engine's session stays open, so that its model is in memory; sessions of other engines are closed first.
    """
    return open_session(metrics[0].needs()).score(metrics, batch)


def notes_of(flags: np.uint8) -> tuple[str, ...]:
    """Return one phrase for each flag that a score has, in the order of :class:`~assay.metrics.work.Flag`."""
    return tuple(flag.phrase for flag in Flag if int(flags) & flag)


def check_explainable(metric: Metric) -> None:
    """Check that the scores of a metric can be explained.

    Raises:
        InputError: its scores have no parts to show; the message lists the metrics that can be explained.
    """
    explainable = S3Bert | BertScore | CrossEncoder | Judge | Combined
    if not (isinstance(metric, explainable) or (isinstance(metric, Amr) and metric.subject == "smatch")):
        raise InputError(f"metric {metric}: its score has no parts to show; these have: {_EXPLAINABLE}")


def explain_pairs(metric: Metric, batch: Batch) -> Sequence[Explanation]:
    """Return the explanation of each pair's score; the metric must be bound and available.

    Raises:
        InputError: the metric cannot be explained, or the data lacks what it needs.
    """
    check_explainable(metric)
    # imported on use, since the modules need different optional packages
    if isinstance(metric, S3Bert):
        from assay.metrics.explaining.aspects import explain_aspects

        return explain_aspects(metric, batch)
    if isinstance(metric, BertScore):
        from assay.metrics.explaining.tokens import explain_tokens

        return explain_tokens(metric, batch)
    if isinstance(metric, CrossEncoder):
        from assay.metrics.explaining.words import explain_words

        return explain_words(metric, batch)
    if isinstance(metric, Judge):
        from assay.metrics.explaining.verdicts import explain_verdicts

        return explain_verdicts(metric, batch)
    if isinstance(metric, Combined):
        from assay.metrics.explaining.members import explain_members

        return explain_members(metric, batch)
    from assay.metrics.explaining.graphs import explain_graphs

    # check_explainable accepts no other class
    return explain_graphs(cast(Amr, metric), batch)
