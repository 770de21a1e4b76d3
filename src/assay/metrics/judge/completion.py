"""Chat completions, read from the JSON of any server that follows OpenAI's protocol."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from assay.common.visible import brief_text
from assay.metrics.judge.replies import Reply
from assay.metrics.scores import Flag

#: Highest number of tokens of a call that is believed, more than any model reads or writes.
MOST_TOKENS = 100_000_000


class FailedCallError(Exception):
    """A call gave no usable reply, and another try may give one.

    The answer is missing, incomplete, too large, not a chat completion, from another model, or reports an error.

    Attributes:
        status: the error status of the answer; 0 for any other failure.
        is_free: whether the call cost nothing for certain, since it was not sent or the server reports an error.
        wait: the seconds that the server asks to wait; 0.0 if it asks for none.
    """

    def __init__(self, text: str, *, status: int = 0, is_free: bool = False, wait: float = 0.0) -> None:
        super().__init__(text)
        self.status, self.is_free, self.wait = status, is_free, wait


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


class _Token(_Part):
    token: str
    logprob: float


class _Position(_Part):
    top_logprobs: list[_Token] = []


class _Probabilities(_Part):
    content: list[_Position] | None = None


class _Message(_Part):
    content: str | None = None
    refusal: str | None = None


class _Choice(_Part):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Probabilities | None = None


def _plausible_count(value: Any) -> int:
    """Return a number of tokens as the server reports it; 0, which means that it is unknown, for anything absurd."""
    # True is an instance of int
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


_Count = Annotated[int, BeforeValidator(_plausible_count)]


class _Usage(_Part):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0


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
        refusal = choice.message.refusal
        is_filtered = choice.finish_reason == "content_filter"
        text = refusal or choice.message.content or ""
        if is_filtered and not text:
            text = "stopped by the server's filter"
        return Reply(
            text=text,
            first=_first_token_probabilities(choice.logprobs),
            flag=int(Flag.REFUSED) if refusal or is_filtered else 0,
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
            seconds=round(seconds, 3),
            fingerprint=self.system_fingerprint or "",
        )


def _first_token_probabilities(probabilities: _Probabilities | None) -> dict[str, float]:
    """Return the probability of each of the most probable first tokens; empty if the server reports none."""
    if probabilities is None or not probabilities.content:
        return {}
    # rounding may bring a logarithm above 0
    return {token.token: math.exp(min(token.logprob, 0.0)) for token in probabilities.content[0].top_logprobs}


def read_completion(content: bytes, content_type: str) -> Completion:
    """Return the completion in the body of an answer.

    Args:
        content: the body.
        content_type: the content type in the header, for messages; empty if there is none.

    Raises:
        FailedCallError: the body is not a chat completion.
    """
    try:
        return Completion.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"{where}: {first['msg']}"
        if not where:
            # the error is about the whole body
            beginning = brief_text(content[:80].decode("utf-8", "replace"))
            problem = f"no JSON ({content_type or 'of no type'}, begins {beginning!r})"
        raise FailedCallError(f"its answer is not a chat completion: {problem}") from None
