"""Chat completions, read from the JSON of any server that follows OpenAI's protocol."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WrapValidator, model_validator

from assay.common.visible import brief_text
from assay.metrics.judge.reasoning import answer_start, split_reasoning
from assay.metrics.judge.replies import Reply
from assay.metrics.judge.stated_error import stated_error
from assay.metrics.scores import Flag

#: Highest number of tokens of a call that is believed, more than any model reads or writes.
MOST_TOKENS = 100_000_000
#: Highest sum of probabilities that is believed; servers round them.
MOST_MASS = 1.02


class FailedCallError(Exception):
    """A call gave no usable reply, and another try may give one.

    The answer is missing, incomplete, too large, not a chat completion, from another model, or reports an error.

    Attributes:
        status: the error status of the answer; 0 for any other failure.
        is_free: whether the call cost nothing for certain, since it was not sent or the server reports an error.
        wait: the seconds that the server asks to wait; 0.0 if it asks for none.
        is_stated: whether the server states an error in an answer with a status of success.
    """

    def __init__(
        self, text: str, *, status: int = 0, is_free: bool = False, wait: float = 0.0, is_stated: bool = False
    ) -> None:
        super().__init__(text)
        self.status, self.is_free, self.wait, self.is_stated = status, is_free, wait, is_stated


class _Part(BaseModel):
    """A JSON object in a chat completion; its field names are those of the protocol."""

    # servers add fields of their own, and omit those without a value or set them to null
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, part: Any) -> Any:
        """Return a part without the fields that are null, so that these have their defaults."""
        if not isinstance(part, dict):
            # not valid, which pydantic reports
            return part
        return {name: value for name, value in part.items() if value is not None}


def _log_probability(value: Any) -> float:
    """Return a logarithm of a probability as servers report it; −∞, which is probability 0, for null and the like."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
    # rounding may bring it above 0
    return min(float(value), 0.0) if is_number else -math.inf


class _Token(_Part):
    model_config = ConfigDict(allow_inf_nan=True)

    token: str = ""
    logprob: Annotated[float, BeforeValidator(_log_probability)] = -math.inf


class _Position(_Token):
    top_logprobs: list[_Token] = []


class _Probabilities(_Part):
    content: list[_Position] | None = None


def _readable_probabilities(value: Any, read: Callable[[Any], _Probabilities]) -> _Probabilities | None:
    """Return the probabilities that a server reports, None if they have another form: the reply has its text."""
    try:
        return read(value)
    except ValidationError:
        return None


class _Message(_Part):
    content: str | list[Any] | None = None
    refusal: str | None = None
    #: what the model thought, under the names that servers have for it
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    thinking: Any = None

    @property
    def text(self) -> str:
        """The reply; of content in parts, those that are text and not reasoning."""
        if not isinstance(self.content, list):
            return self.content or ""
        texts = []
        for part in self.content:
            if isinstance(part, dict) and part.get("type", "text") in ("text", "output_text"):
                texts.append(part.get("text"))
        return "".join(text for text in texts if isinstance(text, str))

    @property
    def thought(self) -> str:
        """What the model thought before, as far as the server reports it apart from the reply; empty if it does not.

        Of several fields that have it, the first counts; one that is not a text is shown as JSON.
        """
        fields = self.reasoning_content, self.reasoning, self.reasoning_details, self.thinking
        thoughts = [thought for thought in fields if thought]
        if isinstance(self.content, list):
            parts = [part for part in self.content if isinstance(part, dict)]
            thoughts += [part for part in parts if part.get("type") in ("thinking", "reasoning")]
        if not thoughts:
            return ""
        return thoughts[0] if isinstance(thoughts[0], str) else json.dumps(thoughts[0])


#: Reasons to end a reply by which servers say that it is not whole, and that a filter has stopped it.
_CUT = re.compile(r"length|max_|limit|abort|insufficient|cancel|interrupt|time_?out", re.IGNORECASE)
_STOPPED = re.compile(r"filter|safety|prohibited|blocklist|recitation|spii|guardrail|refus|moderat", re.IGNORECASE)


class _Choice(_Part):
    message: _Message
    finish_reason: str | None = None
    logprobs: Annotated[_Probabilities | None, WrapValidator(_readable_probabilities)] = None
    error: Any = None

    @model_validator(mode="before")
    @classmethod
    def _add_message(cls, choice: Any) -> Any:
        """Return a choice, with an empty message if it has none because it was cut or stopped by a filter."""
        ending = choice.get("finish_reason") if isinstance(choice, dict) else None
        if isinstance(ending, str) and (_CUT.search(ending) or _STOPPED.search(ending)):
            return {**choice, "message": choice.get("message") or {}}
        return choice

    @property
    def is_cut(self) -> bool:
        """Whether the reply is not whole."""
        return _CUT.search(self.finish_reason or "") is not None

    @property
    def is_stopped(self) -> bool:
        """Whether a filter of the server has stopped the reply."""
        return _STOPPED.search(self.finish_reason or "") is not None


#: A token that ends or frames a message, which a text does not show.
_MARK = re.compile(r"^<\|?[^<>]*\|?>$")


def _plausible_count(value: Any) -> int:
    """Return a number of tokens as the server reports it; 0, which means that it is unknown, for anything absurd."""
    # True is an instance of int
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


_Count = Annotated[int, BeforeValidator(_plausible_count)]


class _Details(_Part):
    reasoning_tokens: _Count = 0


class _Usage(_Part):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0
    completion_tokens_details: Annotated[
        _Details | None, BeforeValidator(lambda value: value if isinstance(value, dict) else None)
    ] = None


class Completion(_Part):
    """A chat completion.

    Attributes:
        model: the model name that the server reports; empty if it reports none.
        choices: the replies, at least one; requests ask for one.
        usage: the token counts that the server reports; None if it reports none.
        system_fingerprint: the identifier of the server's configuration; None if it reports none.
    """

    model: str = ""
    choices: list[_Choice] = Field(min_length=1)
    usage: Annotated[_Usage | None, BeforeValidator(lambda usage: usage if isinstance(usage, dict) else None)] = None
    system_fingerprint: str | None = None

    def reply(self, seconds: float) -> Reply:
        """Return the first choice as a reply; a refusal by the model or by the server's filter has a flag.

        Args:
            seconds: the time that the call took.
        """
        choice, usage = self.choices[0], self.usage or _Usage()
        refusal, thought = choice.message.refusal, choice.message.thought
        text = refusal or choice.message.text
        if choice.is_cut and text.strip() == thought.strip():
            # a reply that ended within its reasoning, which the server repeats
            text = ""
        if choice.is_stopped and not text:
            text = "stopped by the server's filter"
        token, first = _first_token(choice.logprobs, text)
        return Reply(
            text=text,
            first=first,
            flag=int(Flag.REFUSED) if refusal or choice.is_stopped else 0,
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
            seconds=round(seconds, 3),
            fingerprint=self.system_fingerprint or "",
            token=token,
            is_cut=choice.is_cut,
            reasoning=thought,
        )

    @property
    def has_probabilities(self) -> bool:
        """Whether the server reports the probabilities of tokens, be they those of the reply or of reasoning."""
        probabilities = self.choices[0].logprobs
        return probabilities is not None and bool(probabilities.content and probabilities.content[0].top_logprobs)

    @property
    def has_reasoning(self) -> bool:
        """Whether the model thought before it replied, by any sign that servers give."""
        message, details = self.choices[0].message, (self.usage or _Usage()).completion_tokens_details
        in_text = split_reasoning(message.text)
        counted = details is not None and details.reasoning_tokens > 0
        return bool(message.thought or in_text.reasoning or in_text.is_open or counted)


def _first_token(probabilities: _Probabilities | None, text: str) -> tuple[str, dict[str, float]]:
    """Return the token that begins the answer and the probability of each of the most probable ones, by their texts.

    Tokens with equal texts add up. Both are empty if the server reports none, or if that token is not found among those
    that it reports, such as those of the reasoning alone. The probabilities alone are empty if they add up to more than
    :data:`MOST_MASS`.

    Args:
        probabilities: what the server reports of the tokens; None if it reports nothing.
        text: the text of the reply.
    """
    if probabilities is None or not probabilities.content:
        return "", {}
    tokens = [re.sub("[▁Ġ]", " ", _MARK.sub("", position.token)) for position in probabilities.content]
    start = answer_start(tokens, split_reasoning(text).text)
    if start is None:
        # a server may report the first tokens alone, or others than it writes. Several tokens are compared, since the
        # first word of the reasoning may be that of the reply, too
        start = 0
        if not probabilities.content[0].token.strip() or not text.strip().startswith("".join(tokens[:5]).strip()):
            return "", {}
    emitted = probabilities.content[start]
    first: dict[str, float] = {}
    for alternative in emitted.top_logprobs:
        first[alternative.token] = first.get(alternative.token, 0.0) + math.exp(alternative.logprob)
    # more than MOST_MASS: they are something else than logarithms of probabilities
    return emitted.token, first if sum(first.values()) <= MOST_MASS else {}


def read_completion(content: bytes, content_type: str) -> Completion:
    """Return the completion in the body of an answer.

    Args:
        content: the body.
        content_type: the content type in the header, for messages; empty if there is none.

    Raises:
        FailedCallError: the body is not a chat completion, or its reply is an error.
    """
    try:
        completion = Completion.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"{where}: {first['msg']}"
        if not where:
            # the error is about the whole body
            beginning = brief_text(content[:80].decode("utf-8", "replace"))
            problem = f"no JSON ({content_type or 'of no type'}, begins {beginning!r})"
        raise FailedCallError(f"its answer is not a chat completion: {problem}") from None
    choice = completion.choices[0]
    if choice.error or choice.finish_reason == "error":
        stated = stated_error({"error": choice.error or "finish_reason is 'error'"})
        reason = stated.reason if stated else choice.error
        raise FailedCallError(f"its answer is an error: {reason}", is_stated=True)
    return completion
