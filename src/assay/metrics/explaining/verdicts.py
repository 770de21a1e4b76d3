"""Explanations of a judge: what it was asked, how likely each verdict was, and what it replied."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from assay.metrics.base import Batch
from assay.metrics.explaining.explanation import Explanation, notes_of
from assay.metrics.judge.judge import Judge
from assay.metrics.work import open_session

if TYPE_CHECKING:
    from assay.metrics.judge.endpoint import EndpointSession
    from assay.metrics.neural.causal import CausalSession


@dataclass(frozen=True)
class VerdictReply:
    """One reply.

    Attributes:
        order: of the texts, from 1; 2 has the candidate first.
        sample: from 1.
        reply: the text; of a refusal the reason.
        probabilities: of each verdict as the first token, in [0, 1]; empty where the model does not tell.
        worth: on the scale; None where there is no verdict.
    """

    order: int
    sample: int
    reply: str
    probabilities: dict[str, float]
    worth: float | None


@dataclass(frozen=True)
class VerdictExplanation(Explanation):
    """The replies on a pair.

    Attributes:
        prompt: the conversation, in the first order of the texts, a text a message.
        verdicts: the words to choose from.
        replies: order by order, sample by sample.
    """

    kind: ClassVar[str] = "verdicts"

    prompt: tuple[str, ...]
    verdicts: tuple[str, ...]
    replies: tuple[VerdictReply, ...]


def explain_verdicts(metric: Judge, batch: Batch) -> list[VerdictExplanation]:
    """Explain pairs under a judge; what was asked before is not asked again."""
    session = cast("EndpointSession | CausalSession", open_session(metric.needs()))
    by_pair = session.replies(metric, batch)
    scores = metric.scores_of(batch, by_pair, 0.0)
    scale = metric.scale_used
    explanations = []
    for row, conversations in enumerate(metric.conversations(batch)):
        replies = []
        for order, samples in enumerate(by_pair[row], start=1):
            for sample, reply in enumerate(samples, start=1):
                told = scale.probabilities(reply.first) if reply.first else {}
                replies.append(VerdictReply(order, sample, reply.text, told, metric.worth(reply)))
        explanations.append(
            VerdictExplanation(
                str(metric),
                batch.references[row],
                batch.candidates[row],
                None if math.isnan(scores.values[row, 0]) else float(scores.values[row, 0]),
                notes_of(scores.flags[row, 0]),
                tuple(message.content for message in conversations[0]),
                tuple(scale.values),
                tuple(replies),
            )
        )
    return explanations
