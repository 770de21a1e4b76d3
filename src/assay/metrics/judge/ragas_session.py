"""Sessions of metrics of ragas: pairs are scored by ragas, and its calls made, stored and paid for by assay.

A metric of ragas makes several calls for a pair, and a later one depends on the replies to earlier ones. Here each pair
is scored in rounds: it runs until it asks for a reply that is not there; then all replies that the pairs of the batch
lack are requested together, and the pairs run again.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from assay.metrics.base import Batch, Metric
from assay.metrics.judge.endpoint import Endpoint, EndpointSession
from assay.metrics.judge.judge import REASONING_TOKENS
from assay.metrics.judge.parser import Rule
from assay.metrics.judge.ragas_classes import CLASSES
from assay.metrics.judge.reasoning import split_reasoning
from assay.metrics.judge.replies import Reply, Server, request_digest
from assay.metrics.judge.request import Request
from assay.metrics.judge.verdicts import Reading
from assay.metrics.neural.session import blank_flags
from assay.metrics.scores import NOT_ASKED, Flag, Scores


@dataclass(frozen=True)
class RagasEndpoint(Endpoint):
    """The endpoint of a metric of ragas; see :class:`assay.metrics.base.Engine`."""

    def open(self) -> RagasSession:
        """Open the store of replies, and return a session; the server is not called yet.

        Raises:
            InputError: there is a budget without prices, or the store of replies cannot be used.
            UnavailableError: a package or the key is missing.
        """
        return RagasSession(self)


class RagasSession(EndpointSession):
    """A session that scores pairs by ragas; see :class:`assay.metrics.base.Session`."""

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m metrics of ragas, one after the other; *again* is not used.

        A pair that ragas gives no score has NaN and a flag with the reason. The server is not asked about a pair with
        an empty text: it has a score only if ragas gives it one without a reply.

        Raises:
            InputError: the metric reads a text that the data lacks.
            BudgetError: the budget does not cover another call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        return Scores.concatenate([self._score_by_ragas(metric, batch) for metric in metrics])

    def _score_by_ragas(self, metric: Any, batch: Batch) -> Scores:
        """Return the scores of a batch by a metric of ragas, which runs anew until it lacks no reply to a prompt.

        The errors are those of :meth:`score`.

        Args:
            metric: the :class:`~assay.metrics.judge.ragas.RagasMetric`.
            batch: the pairs.
        """
        texts = metric.texts(batch)
        llm = _ragas_llm()()
        scorer = _ragas_class(metric.subject)(llm=llm, **CLASSES[metric.subject].settings)
        values, flags = np.full(len(batch), np.nan), blank_flags(batch)
        if not metric.declaration.reads_reference:
            flags &= ~np.uint8(Flag.REFERENCE_EMPTY)
        unfinished = list(range(len(batch)))
        seconds = 0.0
        while unfinished:
            llm.lacking = {}
            still_unfinished = []
            for row in unfinished:
                try:
                    values[row], reason = self._score_pair(scorer, llm, texts[row])
                except _LacksReplyError:
                    still_unfinished.append(row)
                    continue
                # an empty reference or answer is the reason, and has its flag; an empty question or context has none
                if llm.may_ask or not flags[row] & NOT_ASKED:
                    flags[row] |= reason
            unfinished = still_unfinished
            if llm.lacking:
                replies = self.replies_to(functools.partial(_requests, metric, list(llm.lacking)))
                for (prompt, model), reply in zip(llm.lacking.items(), replies, strict=True):
                    llm.replies[prompt] = reply
                    seconds += reply.seconds
                    self._tally.add_reply(reply, _reading_of(reply, model))
        self._tally.pairs += len(batch)
        return Scores(values[:, None], flags[:, None], np.array([seconds / metric.concurrency]))

    def _score_pair(self, scorer: Any, llm: Any, texts: dict[str, str | list[str]]) -> tuple[float, int]:
        """Return the score of a pair by ragas, and 0; or NaN, and the flag with the reason why it has none.

        The server is not to be asked about a pair with an empty text.

        Args:
            scorer: the object of ragas that scores.
            llm: the model of the scorer, with the replies so far.
            texts: the texts of the pair, by their names in ragas.

        Raises:
            _LacksReplyError: the pair needs a reply that was not requested yet.
        """
        llm.is_cut = False
        llm.may_ask = not any(map(_is_empty, texts.values()))
        try:
            score = float(self._run_in_loop(functools.partial(scorer.ascore, **texts)).value)
        except _NoAnswerError as error:
            return np.nan, error.flag
        except (_NotAskedError, ValueError):
            # ragas raises a ValueError where a text is empty, and where a reply is not the JSON asked for
            score = np.nan
        if not np.isnan(score):
            return score, 0
        return score, int(Flag.CUT_OFF if llm.is_cut else Flag.NO_VERDICT)


def _is_empty(text: str | list[str]) -> bool:
    """Tell whether a text that ragas reads, or a list of contexts, has nothing but blanks."""
    return not "".join(text).strip()


def _requests(metric: Any, prompts: Sequence[str], server: Server | None) -> Iterator[Request]:
    """Yield the request of each prompt, as ragas makes it: one message of the user, which asks for a JSON object.

    Args:
        metric: the :class:`~assay.metrics.judge.ragas.RagasMetric`, for its settings.
        prompts: the prompts.
        server: what is known of the server, which is a part of each digest; None if it was never called.
    """
    settings = [(name, getattr(metric, name)) for name in ("temperature", "seed")]
    sent_settings = tuple((name, value) for name, value in settings if value is not None)
    thinking_tokens = max(metric.reply_tokens, REASONING_TOKENS)
    reasons = server is not None and server.reasons
    for prompt in prompts:
        messages = ({"role": "user", "content": prompt.encode("utf-8", "replace").decode()},)
        decisive = {
            "address": (metric.endpoint.rstrip("/"), metric.model),
            "served": "" if server is None else server.served,
            "messages": messages,
            "settings": sent_settings,
            "tokens": thinking_tokens if reasons else metric.reply_tokens,
            "verdict": "text",
        }
        digest = request_digest(decisive)
        yield Request(
            digest=digest,
            messages=messages,
            verdicts=(),
            settings=sent_settings,
            tokens=metric.reply_tokens,
            thinking_tokens=thinking_tokens,
            verdict="text",
        )


def _json_of(reply: Reply) -> str:
    """Return the JSON object in a reply, from the first brace of its answer to the last; empty if there is none."""
    answer = split_reasoning(reply.text).text
    return answer[answer.find("{") : answer.rfind("}") + 1]


def _reading_of(reply: Reply, model: Any) -> Reading:
    """Return how a reply was read, for the counts of a session; its score is 1.0 if it is the JSON asked for."""
    if reply.flag:
        return Reading(None, Rule.REFUSED)
    try:
        model.model_validate_json(_json_of(reply))
    except ValueError:
        return Reading(None, Rule.CUT_OFF if reply.is_cut else Rule.NONE)
    return Reading(1.0, Rule.JSON)


# all end a pair through the "except Exception" with which ragas tries again
class _LacksReplyError(BaseException):
    """The pair needs a reply that was not requested yet."""


class _NotAskedError(BaseException):
    """The pair needs a reply, and the server is not asked about it."""


class _NoAnswerError(BaseException):
    """A reply that the pair needs was refused or failed; the flag says why."""

    def __init__(self, flag: int) -> None:
        super().__init__()
        self.flag = flag


def _ragas_class(name: str) -> Any:
    """Return the class of a metric of ragas."""
    _forbid_tracking()
    return getattr(import_module("ragas.metrics.collections"), CLASSES[name].name)


def _forbid_tracking() -> None:
    """Keep ragas from reporting each metric that is used, whatever the user has set; to be called before its import."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"


@functools.cache
def _ragas_llm() -> Any:
    """Return the class of the model that metrics of ragas ask; created on first use, since its base is in ragas."""
    _forbid_tracking()
    from ragas.llms.base import InstructorBaseRagasLLM

    class RepliesLLM(InstructorBaseRagasLLM):  # type: ignore[misc]
        """A model that answers from replies that were requested before.

        Attributes:
            replies: the reply to each prompt that was requested.
            lacking: the prompts without a reply, each with the pydantic class of the JSON asked for.
            may_ask: whether a reply that the pair needs may be requested.
            is_cut: whether a reply that could not be read ended at the limit of its tokens.
        """

        def __init__(self) -> None:
            self.replies: dict[str, Reply] = {}
            self.lacking: dict[str, Any] = {}
            self.may_ask = True
            self.is_cut = False

        def generate(self, prompt: str, response_model: Any) -> Any:
            """Return the reply to a prompt as an object of *response_model*.

            Raises:
                ValueError: the reply is not the JSON asked for.
                _LacksReplyError: the reply was not requested yet.
                _NotAskedError: it may not be requested.
                _NoAnswerError: it was refused or failed.
            """
            if not self.may_ask:
                raise _NotAskedError
            reply = self.replies.get(prompt)
            if reply is None:
                self.lacking[prompt] = response_model
                raise _LacksReplyError
            if reply.flag:
                raise _NoAnswerError(reply.flag)
            try:
                return response_model.model_validate_json(_json_of(reply))
            except ValueError:
                self.is_cut = self.is_cut or reply.is_cut
                raise

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            """As :meth:`generate`."""
            return self.generate(prompt, response_model)

    return RepliesLLM
