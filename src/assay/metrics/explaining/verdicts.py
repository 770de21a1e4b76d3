"""Explanations of a judge: the prompt, the probability of each verdict, and the replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.metrics.explaining.explanation import Explanation


@dataclass(frozen=True)
class VerdictReply:
    """One reply of the judge.

    Attributes:
        order: the order of the texts, from 1; in order 2 the candidate comes first.
        sample: the number of the sample, from 1.
        reply: the text of the reply without reasoning; for a refusal, the reason.
        probabilities: the probability of each verdict as the first token, in [0, 1]; empty if the model does not
            report it.
        worth: the value of the reply on the scale; None if it has no verdict.
        rule: how it was read, or why it has no verdict.
        reasoning: what the model thought before it replied; empty if nothing is known of it.
        tokens_in, tokens_out: the tokens of prompt and reply; 0 if unknown.
    """

    order: int
    sample: int
    reply: str
    probabilities: dict[str, float]
    worth: float | None
    rule: str
    reasoning: str
    tokens_in: int
    tokens_out: int


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
