"""The first request of a session with an endpoint, which learns what the server supports and which model answers."""

from __future__ import annotations

import re
from dataclasses import replace

from assay.common.visible import brief_text
from assay.exceptions import AssayError
from assay.metrics.judge.calls import PaidCalls
from assay.metrics.judge.client import RefusedRequestError
from assay.metrics.judge.replies import Reply, Server
from assay.metrics.judge.request import Request

#: Replies with a model name not seen before after which the first request of a session fails. A router over ten models
#: repeats a name within eight replies in 98 of 100 sessions; a server that makes up one name per reply never does.
MOST_NEW_NAMES = 8


async def learn_server(
    calls: PaidCalls, request: Request, url: str, model: str, known: Server | None
) -> tuple[Reply, Server | None]:
    """Return the reply to the first request of a session, and what it tells of the server.

    The request is sent again with simpler demands until the server accepts it and reports an accepted model name: the
    requested one, the one known from earlier sessions, or one that it reported before. A refusal of the text of the
    pair is returned as a reply, and tells nothing of the server: None.

    Args:
        calls: the calls of the session.
        request: the request to send.
        url: the address of the server, for messages.
        model: the name of the model in requests.
        known: what earlier sessions have learned; None if there were none.

    Raises:
        BudgetError: the budget does not cover the request.
        AssayError: the server cannot be used, or reports :data:`MOST_NEW_NAMES` different unexpected names.
    """
    assumed = known or Server("", "", "probability")
    accepted_names = {model, assumed.served}
    unexpected_names: list[str] = []
    while True:
        try:
            completion, reply = await calls.ask(request, assumed, None)
        except RefusedRequestError as error:
            if error.flag:
                # this text was refused, which says nothing about the server
                return error.reply(), None
            simpler = _simpler_request_form(assumed, request, error.text)
            if simpler is None:
                remedy = _remedy_for(error.text)
                raise AssayError(f"{url} refuses the request: {error.text}", remedy) from None
            assumed = simpler
            continue
        if completion.model not in accepted_names:
            # a router may answer once from another model: an unexpected name must come twice before it is accepted
            accepted_names.add(completion.model)
            unexpected_names.append(completion.model)
            if len(unexpected_names) == MOST_NEW_NAMES:
                examples = ", ".join(repr(brief_text(name)) for name in unexpected_names[:3])
                raise AssayError(
                    f"{url} reports another model name with each reply ({examples}, …): nobody can "
                    "tell which model answers; name one model of the server, or let it report a fixed name"
                )
            continue
        lacks_probabilities = not reply.first and not reply.flag
        if request.verdict == "probability" and lacks_probabilities:
            raise AssayError(f"{url} gives no probabilities of tokens; leave verdict=probability away")
        if request.verdict == "auto" and assumed.gives == "probability" and lacks_probabilities:
            # the server ignored logprobs without an error, so fall back to JSON
            assumed = replace(assumed, gives="json")
            continue
        tokens_per_byte = reply.tokens_in / max(1, request.size)
        learned = replace(
            assumed, served=completion.model, fingerprint=reply.fingerprint, tokens_per_byte=tokens_per_byte
        )
        return reply, learned


def _simpler_request_form(server: Server, request: Request, text: str) -> Server | None:
    """Return the next simpler assumption about a server that refused the first request; None if there is none.

    Args:
        server: what the server was assumed to support.
        request: the refused request.
        text: the reason that the server stated.
    """
    if _refused_setting(text):
        return None
    if server.limit == "max_tokens" and "max_completion_tokens" in text:
        return replace(server, limit="max_completion_tokens")
    gives = {"probability": "json", "json": "text"}.get(server.gives)
    return replace(server, gives=gives) if request.verdict == "auto" and gives else None


def _refused_setting(text: str) -> str:
    """Return the sampling setting that a server's reason names, and so does not support; empty if it names none."""
    return next((name for name in ("temperature", "seed") if re.search(rf"\b{name}\b", text)), "")


def _remedy_for(text: str) -> str:
    """Return what to do about a refusal, as the end of a message; empty if that is unknown."""
    setting = _refused_setting(text)
    if setting:
        return f"; set {setting}=none"
    return "; leave verdict=probability away" if "logprobs" in text else ""
