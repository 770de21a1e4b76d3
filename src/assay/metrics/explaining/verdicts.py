"""Explanations of a judge: the prompt, the probability of each verdict, and the replies."""

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
    """One reply of the judge.

    Attributes:
        order: the order of the texts, from 1; in order 2 the candidate comes first.
        sample: the number of the sample, from 1.
        reply: the text of the reply; for a refusal, the reason.
        probabilities: the probability of each verdict as the first token, in [0, 1]; empty if the model does not
            report it.
        worth: the value of the reply on the scale; None if it has no verdict.
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
        prompt: the conversation in the first order of the texts, one text per message.
        verdicts: the possible verdicts.
        replies: the replies, order by order and sample by sample.
    """

    kind: ClassVar[str] = "verdicts"

    prompt: tuple[str, ...]
    verdicts: tuple[str, ...]
    replies: tuple[VerdictReply, ...]


def explain_verdicts(metric: Judge, batch: Batch) -> list[VerdictExplanation]:
    """Return the replies of a judge on each pair, and the score that they yield.

    Replies that were kept earlier are reused, so only the others are asked for. The score is None if the replies in one
    order of the texts have no verdict; a note then gives the reason.
    """
    # the sessions of a judge's two engines also return replies
    session = cast("EndpointSession | CausalSession", open_session(metric.needs()))
    replies_by_pair = session.replies(metric, batch)
    scores = metric.scores_of(batch, replies_by_pair, seconds=0.0)
    scale = metric.scale_used
    explanations = []
    for row, conversations in enumerate(metric.conversations(batch)):
        replies = []
        for order, samples in enumerate(replies_by_pair[row], start=1):
            for sample, reply in enumerate(samples, start=1):
                probabilities = scale.probabilities(reply.first) if reply.first else {}
                replies.append(VerdictReply(order, sample, reply.text, probabilities, metric.worth(reply)))
        score = float(scores.values[row, 0])
        explanations.append(
            VerdictExplanation(
                str(metric),
                batch.references[row],
                batch.candidates[row],
                None if math.isnan(score) else score,
                notes_of(scores.flags[row, 0]),
                tuple(message.content for message in conversations[0]),
                tuple(scale.values),
                tuple(replies),
            )
        )
    return explanations
