"""What is asked of an endpoint: one request a sample of a conversation, and what all of them would cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from assay.metrics.base import Batch
from assay.metrics.judge.replies import ReplyStore, Server, digest_of, reply_store
from assay.metrics.judge.spending import Price, current_purse

if TYPE_CHECKING:
    from assay.metrics.judge.judge import Conversation, Judge

#: Most probable first tokens that are asked for; OpenAI gives no more.
TOP = 20
#: Tokens that a reply of JSON needs at least.
JSON_TOKENS = 32
#: Tokens that the form of a conversation adds to its text.
FORM_TOKENS = 32
#: Tokens a byte of English text, where a server was never asked.
USUAL_TOKENS_PER_BYTE = 0.25


def address_of(judge: Judge) -> tuple[str, str]:
    """Return the address of a judge's endpoint without a slash at its end, and the name of its model."""
    return str(judge.endpoint).rstrip("/"), str(judge.subject)


def requests_of(judge: Judge, batch: Batch, server: Server | None) -> Iterator[Request]:
    """Yield the requests of a judge for some pairs: pair by pair, order by order, sample by sample."""
    for orders in judge.conversations(batch):
        for conversation in orders:
            for sample in range(judge.samples):
                yield Request.of(judge, conversation, sample, server)


@dataclass(frozen=True)
class Request:
    """One call.

    Attributes:
        digest: of all that decides the reply; of the server as it is known.
        messages: the conversation, as the protocol writes it.
        verdicts: the words that the reply may be.
        settings: of sampling.
        tokens: most tokens of the reply.
        verdict: what the score is read from; ``auto`` for what the server gives.
    """

    digest: bytes
    messages: tuple[dict[str, str], ...]
    verdicts: tuple[str, ...]
    settings: tuple[tuple[str, float | int], ...]
    tokens: int
    verdict: str

    @classmethod
    def of(cls, judge: Judge, conversation: Conversation, sample: int, server: Server | None) -> Self:
        """Return the call for one sample of a conversation."""
        messages = []
        for message in conversation:
            # half a character, which some files have, cannot be sent
            content = message.content.encode("utf-8", "replace").decode()
            messages.append({"role": message.role, "content": content})
        settings: list[tuple[str, float | int]] = []
        if judge.temperature is not None:
            settings.append(("temperature", judge.temperature))
        if judge.seed is not None:
            settings.append(("seed", judge.seed + sample))
        tokens, verdicts = judge.loaded_prompt.reply_tokens, tuple(judge.scale_used.values)
        decisive = {
            "address": address_of(judge),
            "served": "" if server is None else server.served,
            "messages": messages,
            "settings": settings,
            "sample": sample,
            "tokens": tokens,
            "verdict": judge.verdict,
            "verdicts": verdicts,
        }
        return cls(digest_of(decisive), tuple(messages), verdicts, tuple(settings), tokens, judge.verdict)

    @property
    def size(self) -> int:
        """Bytes of the conversation."""
        return sum(len(message["content"].encode()) for message in self.messages)

    def body(self, model: str, server: Server) -> dict[str, Any]:
        """Return the body of the call, with what the server is known to understand."""
        body: dict[str, Any] = {"model": model, "messages": list(self.messages)} | dict(self.settings)
        tokens, verdict = self.tokens, server.gives if self.verdict == "auto" else self.verdict
        if verdict == "probability":
            body |= {"logprobs": True, "top_logprobs": TOP}
        elif verdict == "json":
            tokens = max(tokens, JSON_TOKENS)
            schema = {
                "type": "object",
                "properties": {"verdict": {"type": "string", "enum": list(self.verdicts)}},
                "required": ["verdict"],
                "additionalProperties": False,
            }
            form = {"name": "verdict", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body | {server.limit: tokens}


@dataclass(frozen=True)
class Asked:
    """What a judge would cost on some pairs.

    Attributes:
        calls: that would be made.
        kept: replies that are there.
        tokens_in: of the prompts, by the mean of earlier calls or four bytes a token.
        tokens_out: of the replies, at most.
        price: of these tokens; None without prices.
    """

    calls: int
    kept: int
    tokens_in: int
    tokens_out: int
    price: float | None


def estimate(judge: Judge, batches: Iterable[Batch], price: Price | None) -> Asked:
    """Return what a judge would cost on some pairs, in bounded memory; nothing is called."""
    calls = kept = size = tokens_out = 0
    purse = current_purse()
    with ReplyStore(reply_store()) as store:
        server = store.server(*address_of(judge))
        for batch in batches:
            for request in requests_of(judge, batch, server):
                if not purse.fresh and store.get(request.digest) is not None:
                    kept += 1
                    continue
                calls += 1
                size += request.size
                tokens_out += request.tokens
    known = 0.0 if server is None else server.tokens_per_byte
    tokens_in = round(size * (known or USUAL_TOKENS_PER_BYTE))
    return Asked(calls, kept, tokens_in, tokens_out, None if price is None else price.of(tokens_in, tokens_out))
