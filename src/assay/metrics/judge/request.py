"""Requests to an endpoint, one per sample of a conversation, and the estimate of their cost."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from assay.metrics.base import Batch
from assay.metrics.judge.replies import ReplyStore, Server, reply_store_path, request_digest
from assay.metrics.judge.spending import Price, current_purse

if TYPE_CHECKING:
    from assay.metrics.judge.judge import Conversation, Judge

#: The number of most probable first tokens to request; OpenAI returns no more.
TOP_TOKENS = 20
#: Lowest token limit for a JSON reply, which has more than the verdict.
JSON_TOKENS = 32
#: Upper bound of the tokens that the chat format adds to the texts of a conversation.
FORM_TOKENS = 32
#: Tokens per byte of English text, used if the server was never called.
USUAL_TOKENS_PER_BYTE = 0.25


#: Names of models that think before they reply: o1 to o5, gpt-5, gpt-oss, DeepSeek R1, QwQ, Magistral, …-thinking.
_THINKING = re.compile(
    r"(?:^|[/:])(?:o[1-5](?:-|$)|gpt-(?:5|oss)|qwq|magistral)|deepseek-r|\br1\b|think|reason", re.IGNORECASE
)


def assumed_server(model: str) -> Server:
    """Return what is assumed of a server that was never called: all is supported, and the name tells if it thinks.

    Args:
        model: the name of the model.
    """
    is_thinking = _THINKING.search(model) is not None and re.search(r"non-?(?:think|reason)", model) is None
    return Server("", "", "probability", reasons=is_thinking)


def address_of(judge: Judge) -> tuple[str, str]:
    """Return the address of a judge's endpoint, without a slash at the end, and the name of its model."""
    return str(judge.endpoint).rstrip("/"), str(judge.subject)


def judge_requests(judge: Judge, batch: Batch, server: Server | None) -> Iterator[Request]:
    """Yield the requests of a judge for some pairs: pair by pair, order by order, sample by sample.

    Args:
        judge: the metric.
        batch: the pairs.
        server: what is known of the server, which is a part of each digest; None if it was never called.

    Raises:
        InputError: the prompt shows the question or context, which the data lacks, or a template cannot be filled in.
    """
    for orders in judge.conversations(batch):
        for conversation in orders:
            for sample in range(judge.samples):
                yield Request.for_sample(judge, conversation, sample, server)


@dataclass(frozen=True)
class Request:
    """One request for a reply.

    Attributes:
        digest: the digest of everything that decides the reply, including the model name that the server reports.
        messages: the conversation, in the form of the protocol.
        verdicts: the words that the judge chooses from.
        settings: the sampling settings (temperature, seed) that are set.
        tokens, thinking_tokens: the highest number of tokens of the reply, and that of a model that thinks first.
        verdict: what the score is read from; ``auto`` for the best that the server supports.
    """

    digest: bytes
    messages: tuple[dict[str, str], ...]
    verdicts: tuple[str, ...]
    settings: tuple[tuple[str, float | int], ...]
    tokens: int
    thinking_tokens: int
    verdict: str

    @classmethod
    def for_sample(cls, judge: Judge, conversation: Conversation, sample: int, server: Server | None) -> Self:
        """Return the request for one reply to a conversation.

        Args:
            judge: the metric that asks.
            conversation: the messages to the model.
            sample: the number of the sample, from 0; it is added to the seed.
            server: what is known of the server; None if it was never called.
        """
        messages = []
        for message in conversation:
            # an unpaired surrogate, which some files have, cannot be encoded as UTF-8
            content = message.content.encode("utf-8", "replace").decode()
            messages.append({"role": message.role, "content": content})
        settings: list[tuple[str, float | int]] = []
        if judge.temperature is not None:
            settings.append(("temperature", judge.temperature))
        if judge.seed is not None:
            settings.append(("seed", judge.seed + sample))
        tokens, thinking_tokens = judge.reply_limit(reasons=False), judge.reply_limit(reasons=True)
        verdicts = tuple(judge.scale_used.values)
        decisive = {
            "address": address_of(judge),
            "served": "" if server is None else server.served,
            "messages": messages,
            "settings": settings,
            "sample": sample,
            "tokens": thinking_tokens if server is not None and server.reasons else tokens,
            "verdict": judge.verdict,
            "verdicts": verdicts,
        }
        digest = request_digest(decisive)
        return cls(
            digest=digest,
            messages=tuple(messages),
            verdicts=verdicts,
            settings=tuple(settings),
            tokens=tokens,
            thinking_tokens=thinking_tokens,
            verdict=judge.verdict,
        )

    @property
    def size(self) -> int:
        """The size of the texts of the conversation in bytes, as UTF-8."""
        return sum(len(message["content"].encode()) for message in self.messages)

    def most_tokens(self, server: Server) -> int:
        """Return an upper bound of the tokens of the prompt, whatever its text and the tokenizer.

        No token is shorter than a byte. A tokenizer may bring a text into a normal form first, which can be longer; a
        server may add the schema of the reply to the prompt.

        Args:
            server: what is known of the server.
        """
        size = FORM_TOKENS
        for message in self.messages:
            size += max(map(_size_of, _normal_forms(message["content"])))
        schema = self.body("", server).get("response_format")
        if schema is not None:
            size += len(json.dumps(schema))
        return size

    def body(self, model: str, server: Server) -> dict[str, Any]:
        """Return the JSON body of the request, limited to what the server is known to support.

        Args:
            model: the name of the model, for the server.
            server: what is known of the server.
        """
        settings = {name: value for name, value in self.settings if name not in server.without}
        body: dict[str, Any] = {"model": model, "messages": self._messages_for(server), **settings}
        form_of_verdict = self._form_of_verdict(server)
        if form_of_verdict == "probability":
            body |= {"logprobs": True, "top_logprobs": TOP_TOKENS}
        elif form_of_verdict == "json":
            schema = {
                "type": "object",
                "properties": {"verdict": {"type": "string", "enum": list(self.verdicts)}},
                "required": ["verdict"],
                "additionalProperties": False,
            }
            named_schema = {"name": "verdict", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named_schema}
        return body | {server.limit: self.limit(server)}

    def limit(self, server: Server) -> int:
        """Return the highest number of tokens of the reply, within what the server is known to accept."""
        tokens = self.thinking_tokens if server.reasons else self.tokens
        if self._form_of_verdict(server) == "json":
            tokens = max(tokens, JSON_TOKENS)
        return min(tokens, server.room) if server.room else tokens

    def _form_of_verdict(self, server: Server) -> str:
        """Return what the server is asked for: ``probability``, ``json`` or ``text``."""
        return server.gives if self.verdict == "auto" else self.verdict

    def _messages_for(self, server: Server) -> list[dict[str, str]]:
        """Return the messages; without a system message, its text begins the user's message."""
        if "system" not in server.without or len(self.messages) < 2 or self.messages[0]["role"] != "system":
            return list(self.messages)
        system, user, *further_messages = self.messages
        return [{**user, "content": f"{system['content']}\n\n{user['content']}"}, *further_messages]


def _normal_forms(text: str) -> list[str]:
    """Return a text, and the normal forms of it that tokenizers use, also in lower case."""
    if text.isascii():
        return [text]
    forms: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
    texts = [text, *(unicodedata.normalize(form, text) for form in forms)]
    return [*texts, *map(str.lower, texts), *map(str.casefold, texts)]


def _size_of(text: str) -> int:
    return len(text.encode())


@dataclass(frozen=True)
class CostEstimate:
    """The estimated cost of a judge on some pairs.

    Attributes:
        calls: the number of calls that would be made.
        kept: the number of replies that are stored already; 0 if the user asked for fresh replies.
        tokens_in: the estimated tokens of the prompts, by the tokens per byte of the last session, or else by
            :data:`USUAL_TOKENS_PER_BYTE`.
        tokens_out: the highest number of tokens of all replies together.
        reply_tokens: the highest number of tokens of one reply.
        reasons: whether the model is known to think before it replies, or its name says so.
        price: the price of these tokens; None without prices.
    """

    calls: int
    kept: int
    tokens_in: int
    tokens_out: int
    reply_tokens: int
    reasons: bool
    price: float | None


def estimate_cost(judge: Judge, batches: Iterable[Batch], price: Price | None) -> CostEstimate:
    """Return the estimated cost of a judge on some pairs, less the replies that are stored already.

    The server is not called. One batch at a time is in memory.

    Args:
        judge: the metric.
        batches: the pairs.
        price: the token prices of the model; None if unknown.

    Raises:
        InputError: the prompt shows the question or context, which the data lacks, or a template cannot be filled in.
        StoreError: the store of replies is damaged or unreadable.
    """
    calls = kept_replies = size = tokens_out = 0
    purse = current_purse()
    with ReplyStore(reply_store_path()) as store:
        server = store.server(*address_of(judge))
        assumed = server or assumed_server(str(judge.subject))
        for batch in batches:
            for request in judge_requests(judge, batch, server):
                if not purse.fresh and store.get(request.digest) is not None:
                    kept_replies += 1
                    continue
                calls += 1
                size += request.size
                tokens_out += request.limit(assumed)
    tokens_per_byte = 0.0 if server is None else server.tokens_per_byte
    tokens_in = round(size * (tokens_per_byte or USUAL_TOKENS_PER_BYTE))
    total_price = None if price is None else price.of_tokens(tokens_in, tokens_out)
    reply_tokens = judge.reply_limit(reasons=assumed.reasons)
    return CostEstimate(
        calls=calls,
        kept=kept_replies,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        reply_tokens=reply_tokens,
        reasons=assumed.reasons,
        price=total_price,
    )
