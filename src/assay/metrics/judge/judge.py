"""What the judges at an endpoint and in this process share: options, conversations, and scores from replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, cast

from assay.common.messages import Setting
from assay.common.numbers import none_if_nan
from assay.exceptions import InputError
from assay.metrics.base import Batch, Declaration, Metric, Session, option
from assay.metrics.judge.parser import Rule
from assay.metrics.judge.prompts import Message, Prompt, cached_prompt
from assay.metrics.judge.reasoning import split_reasoning
from assay.metrics.judge.verdicts import PARSER, Reading, VerdictScale, scale_of
from assay.metrics.name import options_of

if TYPE_CHECKING:
    from assay.metrics.explaining.verdicts import VerdictExplanation, VerdictReply
    from assay.metrics.judge.replies import Reply
    from assay.metrics.scores import Scores

#: What both judges declare; they add the packages that they need.
JUDGE = Declaration(
    name="judge",
    kind="judge",
    summary="the verdict of a language model, at an endpoint or in this process",
    citation="Zheng et al. 2023, Judging LLM-as-a-Judge; Liu et al. 2023, G-Eval",
    subject="MODEL",
    # probabilities of 32-bit floats, in batches of other shapes
    tolerance=1e-3,
)
#: Options that decide how replies are obtained, not what they are; they are not in the signature.
DELIVERY_OPTIONS = frozenset({"key", "concurrency", "timeout", "retries", "price_in", "price_out"})
#: Limit of tokens of a reply for a model that thinks before it replies, if its prompt has a lower one: nine in ten
#: thoughts of such models on a short question are shorter than 2,000 tokens, and what is not written costs nothing.
REASONING_TOKENS = 4096
#: The messages to a model, in order.
Conversation = tuple[Message, ...]


class JudgeSession(Session, Protocol):
    """A session that asks the model of judges."""

    def replies(self, judge: Judge, batch: Batch) -> list[list[list[Reply]]]:
        """Return the replies of a judge on a batch, as nested lists with the indices ``[pair][order][sample]``.

        Raises:
            AssayError: the model cannot be asked.
        """
        ...


@dataclass(frozen=True)
class Judge(Metric):
    """The verdict of a language model on a pair.

    By default the score is the mean of the verdicts, weighted by the probabilities of the first token of the reply
    (G-Eval, Liu et al. 2023, section 2.1); for *yes* and *no* that is the probability of *yes*. If the model gives no
    probabilities, the score is that of the verdict that the reply states. A reply without a verdict gives no score.

    Raises:
        InputError: an option is invalid, or the options contradict each other.
    """

    subject: str | None = option(None, "the model: a folder, owner/name[@revision], a short name, or pypi:…")
    endpoint: str | None = option(
        None,
        "address of a server with OpenAI's chat completions, such as http://localhost:8000/v1; none: this process",
        reaches_out=True,
    )
    key: str | None = option(
        "OPENAI_API_KEY", "environment variable with the key of the endpoint; none for no key", reaches_out=True
    )
    prompt: str = option("equivalence", "correctness, equivalence, grade-1-5, similarity, or a file: ./mine.toml")
    scale: Literal["prompt", "yes-no", "0-2", "1-5"] = option("prompt", "the verdicts; prompt for those of the prompt")
    verdict: Literal["auto", "probability", "json", "text"] = option(
        "auto", "what the score is read from: probabilities of the first token, JSON, text; auto: the first that comes"
    )
    order: Literal["reference-first", "mean"] = option("reference-first", "mean asks both orders of a symmetric prompt")
    samples: int = option(1, "replies a pair, averaged; needs a temperature above 0", minimum=1, maximum=100)
    temperature: float | None = option(0.0, "of sampling; none for the server's own", minimum=0, maximum=2)
    seed: int | None = option(0, "of sampling; none for the server's own")
    reply_tokens: int | None = option(
        None, "highest number of tokens of a reply; none: that of the prompt, or 4096 of a model that thinks", minimum=1
    )
    cut: int | None = option(None, "characters at which a text is cut; none for never", minimum=1)
    concurrency: int = option(16, "calls in flight at a time", minimum=1, maximum=1000)
    timeout: float = option(60.0, "seconds to wait for a reply", minimum=0.01)
    retries: int = option(6, "further tries of a call that failed", minimum=0, maximum=100)
    price_in: float | None = option(None, "price of a million tokens of prompts", minimum=0)
    price_out: float | None = option(None, "price of a million tokens of replies", minimum=0)

    #: never sent to workers: the budget and the store of replies belong to the process that the user started
    stays_here: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the options, and declare the range of the scale and what the prompt reads.

        Raises:
            InputError: an option is invalid, the options contradict each other, or the prompt cannot be read.
            MissingExtraError: Jinja is not installed.
        """
        super().__post_init__()
        self._check_options()
        prompt, scale = self.loaded_prompt, self.scale_used
        self.redeclare(
            low=scale.low,
            high=scale.high,
            reads_reference=not prompt.fields.isdisjoint(("reference", "references")),
            reads_question="question" in prompt.fields,
            reads_context="context" in prompt.fields,
            reads_all_references="references" in prompt.fields,
            symmetric=self.order == "mean",
        )

    def _check_options(self) -> None:
        """Raise InputError if an option does not fit the prompt or another option."""
        if self.order == "mean" and not self.loaded_prompt.symmetric:
            raise InputError(
                f"metric {self}: the prompt {self.prompt} is not symmetric; order=mean is for those that are"
            )
        if self.samples > 1 and self.temperature == 0:
            raise InputError(
                f"metric {self}: at temperature 0 all {self.samples} samples are the same; set temperature=1"
            )

    @property
    def loaded_prompt(self) -> Prompt:
        """The prompt, cached until its file changes."""
        return cached_prompt(self.prompt)

    @property
    def scale_used(self) -> VerdictScale:
        """The verdicts that the model chooses from."""
        return self.loaded_prompt.scale if self.scale == "prompt" else scale_of(self.scale)

    @property
    def orders(self) -> int:
        """The number of orders in which the texts of a pair are shown, 1 or 2."""
        return 2 if self.order == "mean" else 1

    def reply_limit(self, *, reasons: bool) -> int:
        """Return the highest number of tokens of a reply.

        Args:
            reasons: whether the model thinks before it replies, which takes at least :data:`REASONING_TOKENS` unless
                the option ``reply_tokens`` is set.
        """
        if self.reply_tokens is not None:
            return self.reply_tokens
        limit = self.loaded_prompt.reply_tokens
        return max(limit, REASONING_TOKENS) if reasons else limit

    def changes_score(self, name: str) -> bool:
        """Tell whether an option changes the replies of this judge, not only how they are obtained."""
        return self.takes(name) and name not in DELIVERY_OPTIONS

    def conversations(self, batch: Batch) -> list[tuple[Conversation, ...]]:
        """Return the conversations for each pair, one per order of its texts, with the texts cut if the user asked.

        The second order shows the candidate as the reference, and the first gold answer as the candidate.

        Raises:
            InputError: the prompt shows the question or context, which the data lacks, or a template is wrong.
        """
        prompt, scale = self.loaded_prompt, self.scale_used
        for field, column in (("question", batch.questions), ("context", batch.contexts)):
            if column is None and field in prompt.fields - prompt.optional:
                raise InputError(
                    f"metric {self}: the prompt {self.prompt} shows the {field}, and the data has none: ",
                    "name its column (",
                    Setting("columns", f"{field}=…"),
                    "), or use another prompt",
                )
        conversations = []
        for row, (reference, candidate) in enumerate(batch.pairs()):
            question = "" if batch.questions is None else self._shortened_text(batch.questions[row])
            context = "" if batch.contexts is None else self._shortened_text(batch.contexts[row])
            answers = [reference] if batch.gold_answers is None else batch.gold_answers[row]
            shown_answers = [self._shortened_text(answer) for answer in answers]
            shown_candidate = self._shortened_text(candidate)
            orders = [prompt.messages(question, shown_answers, shown_candidate, scale, context)]
            if self.order == "mean":
                orders.append(prompt.messages(question, [shown_candidate], shown_answers[0], scale, context))
            conversations.append(tuple(orders))
        return conversations

    def _shortened_text(self, text: str) -> str:
        return text if self.cut is None else text[: self.cut]

    def read(self, reply: Reply) -> Reading:
        """Return what is read of a reply: its score on the scale, and by which rule; see :meth:`VerdictScale.read`."""
        return self.scale_used.read(reply, self.verdict)

    def worth(self, reply: Reply) -> float | None:
        """Return the score of a reply on the scale; None if it has no verdict or has a flag (refused, too long)."""
        return self.read(reply).score

    def scores_of(self, batch: Batch, replies: Sequence[Sequence[Sequence[Reply]]], seconds: float) -> Scores:
        """Return the scores of n pairs, computed from their replies, as :class:`Scores` of one metric.

        A pair has a score if each order of its texts has a reply with a verdict. Otherwise it has NaN, and a flag with
        the reason. The asymmetry is the distance between the scores of the two orders, NaN if only one is asked or the
        pair has no score.

        Args:
            batch: the pairs.
            replies: the replies, as ``[pair][order of its texts][sample]``.
            seconds: the time that the replies took.
        """
        import numpy as np

        from assay.metrics.neural.session import flags_of
        from assay.metrics.scores import Flag, Scores

        values, distances = np.full(len(batch), np.nan), np.full(len(batch), np.nan)
        reasons = np.zeros(len(batch), dtype=np.uint8)
        for row, orders in enumerate(replies):
            means = [self._mean_score(samples) for samples in orders]
            valid_means = [mean for mean in means if mean is not None]
            without_verdict = [samples for samples, mean in zip(orders, means, strict=True) if mean is None]
            if without_verdict:
                reasons[row] = self._reason_without_score([reply for samples in without_verdict for reply in samples])
                continue
            values[row] = sum(valid_means) / len(valid_means)
            if self.order == "mean":
                distances[row] = max(valid_means) - min(valid_means)
        limit = self.cut or np.inf
        references_cut = [len(text) > limit for text in batch.references]
        candidates_cut = [len(text) > limit for text in batch.candidates]
        flags = flags_of(batch, references_cut, candidates_cut)
        if not self.declaration.reads_reference:
            flags &= ~np.uint8(Flag.REFERENCE_EMPTY)
        flags |= reasons
        return Scores(values[:, None], flags[:, None], np.array([seconds]), distances[:, None])

    def _reason_without_score(self, replies: Sequence[Reply]) -> int:
        """Return the flag of a pair without a score: the highest one of these replies, or CUT_OFF, or NO_VERDICT.

        It is CUT_OFF if no reply has a flag and one was cut off before a verdict.

        Args:
            replies: the replies in the orders of the texts that have no verdict.
        """
        from assay.metrics.scores import Flag

        flags = [reply.flag for reply in replies if reply.flag]
        if flags:
            return max(flags)
        is_cut = any(self.read(reply).rule == Rule.CUT_OFF for reply in replies)
        return int(Flag.CUT_OFF if is_cut else Flag.NO_VERDICT)

    def _mean_score(self, samples: Sequence[Reply]) -> float | None:
        """Return the mean score of the samples that have a verdict; None if none has one."""
        verdicts = [worth for worth in map(self.worth, samples) if worth is not None]
        return sum(verdicts) / len(verdicts) if verdicts else None

    @property
    def is_explainable(self) -> bool:
        """True: the replies can be shown."""
        return True

    def explain(self, batch: Batch) -> list[VerdictExplanation]:
        """Return the replies on each pair, and the score that they yield.

        Stored replies are read, so only the others are requested. The score is None if the replies in one order of the
        texts have no verdict; a note then has the reason.

        Raises:
            InputError: the prompt shows the question or context, which the data lacks, or a template is wrong.
            AssayError: the model cannot be asked.
        """
        from assay.metrics.explaining.verdicts import VerdictExplanation
        from assay.metrics.scores import phrases_of
        from assay.metrics.work import open_session

        session = cast(JudgeSession, open_session(self.needs()))
        replies_by_pair = session.replies(self, batch)
        scores = self.scores_of(batch, replies_by_pair, seconds=0.0)
        explanations = []
        for row, conversations in enumerate(self.conversations(batch)):
            replies = []
            for order, samples in enumerate(replies_by_pair[row], start=1):
                for sample, reply in enumerate(samples, start=1):
                    replies.append(self._explain_reply(reply, order, sample))
            explanations.append(
                VerdictExplanation(
                    metric=str(self),
                    reference=batch.references[row],
                    candidate=batch.candidates[row],
                    score=none_if_nan(float(scores.values[row, 0])),
                    notes=phrases_of(scores.flags[row, 0]),
                    prompt=tuple(message.content for message in conversations[0]),
                    verdicts=tuple(self.scale_used.values),
                    replies=tuple(replies),
                )
            )
        return explanations

    def _explain_reply(self, reply: Reply, order: int, sample: int) -> VerdictReply:
        """Return what an explanation shows of a reply: its text, how it was read, and its reasoning.

        Args:
            reply: the reply.
            order: the order of the texts that the model was asked in, from 1.
            sample: the number of the sample, from 1.
        """
        from assay.metrics.explaining.verdicts import VerdictReply

        reading, answer = self.read(reply), split_reasoning(reply.text)
        return VerdictReply(
            order=order,
            sample=sample,
            reply=reply.text if reply.flag else answer.text,
            probabilities=self.scale_used.probabilities(reply.first) if reply.first else {},
            worth=reading.score,
            rule=reading.rule,
            reasoning=reply.reasoning or answer.reasoning,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
        )

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, in a fixed order, without the options that change no reply.

        ``reply_tokens`` is left out, too, while it is not set.

        Raises:
            AssayError: as for :meth:`data_signature`.
        """
        options = options_of(type(self))
        value_by_option = super().signature()
        if self.reply_tokens is None:
            del value_by_option["reply_tokens"]
        unsigned = {name for name in options if not self.changes_score(name)}
        return {name: value for name, value in value_by_option.items() if name not in unsigned}

    def short_signature(self) -> str:
        """Return the signature without the options that have their default values, or change no reply."""
        options = options_of(type(self))
        defaults = {name: options[name].default for name in DELIVERY_OPTIONS}
        # a default value is not written; super(), since this method would call itself without end
        return super(Judge, replace(self, **defaults)).short_signature()

    def data_signature(self) -> dict[str, str]:
        """Return what changes scores beyond the options: the prompt and its digest, the scale, the parser, the model.

        Raises:
            InputError: the prompt cannot be read.
            AssayError: what the class adds cannot be determined.
        """
        prompt = self.loaded_prompt
        signature = {
            "prompt": prompt.name,
            "scale": self.scale_used.name,
            "prompt_digest": prompt.digest[:16],
            "parser": PARSER,
        }
        return signature | super().data_signature()
