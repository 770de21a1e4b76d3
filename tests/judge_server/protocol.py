"""What the OpenAI chat-completions protocol answers to a request: verdicts that are a function of the last message."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: Kinds of faults. Those of the first line say in the protocol what is wrong.
FAULTS = (
    "rate limit", "rate limit unsaid", "error", "unavailable",
    "cut", "closed", "garbage", "shapeless", "empty", "slow", "other model", "huge", "redirect", "html", "no http",
)  # fmt: skip


@dataclass(frozen=True)
class Behaviour:
    """What the server can do, and how often it fails."""

    model: str = "stand-in"
    #: The name that replies report; by default that of the model.
    served: str = ""
    #: Whether each reply reports a name of its own: the name above with an identifier.
    renamed: bool = False
    #: The key that requests must bear; any will do without one. A wrong one is quoted in the refusal, as proxies do.
    key: str = ""
    #: Seconds that an answer takes on average, and the share by which it takes more or less.
    delay: float = 0.0
    jitter: float = 0.0
    #: Parameters that are refused with status 400, such as ``logprobs`` or ``response_format``.
    unsupported: tuple[str, ...] = ()
    #: Parameters that have no effect.
    ignored: tuple[str, ...] = ()
    #: Tokens of a prompt beyond which it is refused.
    context: int = 8192
    #: A pattern in the last message on which the content filter strikes, and one on which the model refuses to answer.
    filtered: str = ""
    refused: str = ""
    #: The verdicts to choose from, first the positive one; a schema with an enumeration has its own.
    verdicts: tuple[str, ...] = ("yes", "no")
    #: The probability of each kind of fault.
    faults: dict[str, float] = field(default_factory=dict)
    #: A request with the same body fails at most so often.
    failures: int = 2
    seed: int = 1
    #: Seconds that a rate limit asks to wait, and those that a slow answer takes.
    retry_after: float = 0.05
    slow: float = 30.0
    #: Where a redirect leads; at this address there is a page.
    elsewhere: str = "/elsewhere"
    #: Whether replies leave out what the protocol has as optional, or have null there.
    sparse: bool = False


def probability(text: str, model: str = "") -> float:
    """Return the probability of the positive verdict: a digest of the text and of the model, in ]0, 1[."""
    digest = hashlib.sha256(f"{model}\n{text}".encode()).digest()
    return (int.from_bytes(digest[:6]) + 0.5) / 2**48


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a text: words and single other characters, each with the blanks before it."""
    return re.findall(r"\s*(?:\w+|[^\w\s])|\s+$", text)


class RefusalError(Exception):
    """A request that the server does not answer, as the protocol says it."""

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        kind = "invalid_request_error" if status < 500 else "server_error"
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def completion(asked: dict[str, Any], now: Behaviour, chance_of: Callable[[str], float], fault: str) -> dict[str, Any]:
    """Return the reply to a request, or raise what the protocol refuses; *chance_of* is of the positive verdict."""
    if asked.get("model") != now.model:
        raise RefusalError(404, f"The model `{asked.get('model')}` does not exist.", "model_not_found")
    for name in asked:
        if name in now.unsupported:
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            if name == "max_tokens":
                message += " Use 'max_completion_tokens' instead."
            raise RefusalError(400, message, "unsupported_parameter", name)
    asked = {name: value for name, value in asked.items() if name not in now.ignored}
    top = asked.get("top_logprobs")
    if top is not None and not (asked.get("logprobs") and 0 <= top <= 20):
        raise RefusalError(400, "Invalid value for 'top_logprobs'.", "invalid_value", "top_logprobs")
    size = sum(4 + len(tokens_of(str(message["content"]))) for message in asked["messages"])
    if size > now.context:
        message = (
            f"This model's maximum context length is {now.context} tokens. However, your messages resulted in "
            f"{size} tokens. Please reduce the length of the messages."
        )
        raise RefusalError(400, message, "context_length_exceeded", "messages")
    text = last_message(asked)
    # another model has other verdicts, so that a client that takes them for this model's is caught
    chance = probability(text, "other") if fault == "other model" else chance_of(text)
    choices = [choice_of(asked, now, text, chance, index) for index in range(asked.get("n", 1))]
    written = sum(len(tokens_of(choice["message"]["content"] or "")) for choice in choices)
    if fault == "huge":
        choices[0]["message"]["content"] = "x" * 10_000_000
    if now.sparse:
        return {"choices": choices, "model": None, "usage": None}
    served = now.served or now.model
    if now.renamed:
        served += f"-{uuid.uuid4()}"
    return {
        "id": f"chatcmpl-{hashlib.sha1(text.encode()).hexdigest()}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "another-model" if fault == "other model" else served,
        "system_fingerprint": "fp_0123456789",
        "choices": choices,
        "usage": {"prompt_tokens": size, "completion_tokens": written, "total_tokens": size + written},
    }


def last_message(asked: dict[str, Any]) -> str:
    """Return the text of the last message."""
    return str(asked["messages"][-1]["content"])


def choice_of(asked: dict[str, Any], now: Behaviour, text: str, chance: float, index: int) -> dict[str, Any]:
    """Return one of the choices of a reply: a verdict, in JSON where the request has a schema, or a refusal."""
    choice: dict[str, Any] = {"index": index, "message": {"role": "assistant", "refusal": None}, "logprobs": None}
    if now.filtered and re.search(now.filtered, text):
        choice["message"]["content"] = ""
        return choice | {"finish_reason": "content_filter"}
    if now.refused and re.search(now.refused, text):
        choice["message"] |= {"content": None, "refusal": "I'm sorry, I can't help with that."}
        return choice | {"finish_reason": "stop"}
    name, verdicts = schema_of(asked)
    chances = spread(chance, verdicts or now.verdicts)
    verdict = draw(chances, asked, text, index)
    answer = tokens_of(json.dumps({name: verdict})) if verdicts else [str(verdict)]
    limit = asked.get("max_completion_tokens") or asked.get("max_tokens") or len(answer)
    choice["message"]["content"] = "".join(answer[:limit])
    if asked.get("logprobs"):
        top = asked.get("top_logprobs", 0)
        choice["logprobs"] = {"content": [logprobs_of(token, chances, top) for token in answer[:limit]]}
    return choice | {"finish_reason": "length" if limit < len(answer) else "stop"}


def schema_of(asked: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
    """Return the field of the schema of a request that has an enumeration, and its values."""
    wanted = asked.get("response_format") or {}
    if wanted.get("type") != "json_schema":
        return "", ()
    for name, kind in wanted["json_schema"]["schema"]["properties"].items():
        if "enum" in kind:
            return name, tuple(kind["enum"])
    raise RefusalError(400, "Invalid schema for response_format: no enumeration.", None, "response_format")


def spread(chance: float, verdicts: tuple[Any, ...]) -> dict[Any, float]:
    """Return a probability for each verdict; of two, the first has *chance*, of more they are binomial."""
    chance = min(max(chance, 1e-6), 1 - 1e-6)
    n = len(verdicts) - 1
    weights = [math.comb(n, i) * chance ** (n - i) * (1 - chance) ** i for i in range(n + 1)]
    return dict(zip(verdicts, weights, strict=True))


def draw(chances: dict[Any, float], asked: dict[str, Any], text: str, index: int) -> Any:
    """Return the likeliest verdict, or at a temperature one that text, seed and index decide."""
    if not asked.get("temperature"):
        return max(chances, key=lambda verdict: chances[verdict])
    dice = random.Random(f"{asked.get('seed')} {index} {text}")
    return dice.choices(list(chances), list(chances.values()))[0]


def logprobs_of(token: str, chances: dict[Any, float], top: int) -> dict[str, Any]:
    """Return the log-probabilities of a token; a verdict shares its own with its capitals and with a blank line."""
    likely: dict[str, float] = {token: 1.0}
    word = token.lstrip()
    blanks = token.removesuffix(word)
    if word in map(str, chances):
        likely = {"\n": 0.04}
        for verdict, chance in chances.items():
            likely[f"{blanks}{verdict}"] = 0.9 * chance
        for verdict, chance in chances.items():
            other = f"{blanks}{verdict}".upper()
            likely[other] = likely.get(other, 0) + 0.06 * chance
    ranked = sorted(likely, key=lambda one: -likely[one])[:top]
    return entry(token, likely[token]) | {"top_logprobs": [entry(one, likely[one]) for one in ranked]}


def entry(token: str, chance: float) -> dict[str, Any]:
    """Return a token with its log-probability."""
    return {"token": token, "logprob": math.log(chance), "bytes": list(token.encode())}
