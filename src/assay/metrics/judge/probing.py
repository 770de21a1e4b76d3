"""The first request of a session with an endpoint, which learns what the server supports and which model answers."""

from __future__ import annotations

import re
from dataclasses import replace

from assay.common.visible import brief_text
from assay.exceptions import AssayError
from assay.metrics.judge.calls import NoReplyError, PaidCalls
from assay.metrics.judge.client import PARTS, ForbiddenError, RefusedRequestError
from assay.metrics.judge.completion import Completion, FailedCallError
from assay.metrics.judge.replies import Reply, Server
from assay.metrics.judge.request import Request, assumed_server

#: Replies with a model name not seen before after which the first request of a session fails. A router over ten models
#: repeats a name within eight replies in 98 of 100 sessions; a server that makes up one name per reply never does.
MOST_NEW_NAMES = 8
#: Error statuses that may be due to something in the request, unlike overload and maintenance.
OF_REQUEST = (500, 501)


async def learn_server(
    calls: PaidCalls, request: Request, url: str, model: str, known_server: Server | None
) -> tuple[Reply, Server | None]:
    """Return the reply to the first request of a session, and what it tells of the server.

    The request is sent again with simpler demands until the server accepts it and reports an accepted model name: the
    requested one, the one known from earlier sessions, or one that it reported before. A model that thinks before it
    replies gets room for that. A refusal of the text of the pair is returned as a reply, and tells nothing of the
    server: None.

    Args:
        calls: the calls of the session.
        request: the request to send.
        url: the address of the server, for messages.
        model: the name of the model in requests.
        known_server: what earlier sessions have learned; None if there were none.

    Raises:
        BudgetError: the budget does not cover the request.
        NoReplyError: all tries have failed, or the server refuses each form of the request.
        AssayError: the server cannot be used, or reports :data:`MOST_NEW_NAMES` different unexpected names.
    """
    assumed = known_server or assumed_server(model)
    names = _AcceptedNames(url, {model, assumed.served})
    first_failure: NoReplyError | None = None
    while True:
        try:
            # after a failure that may be due to something in the request, each simpler form is tried once
            completion, reply = await calls.ask(request, assumed, None, tries=None if first_failure is None else 1)
        except (RefusedRequestError, ForbiddenError, NoReplyError) as error:
            if isinstance(error, RefusedRequestError) and error.flag:
                # this text was refused, which says nothing about the server
                return error.reply(), None
            simpler = _simpler_after(error, assumed, request)
            if simpler is None:
                raise _final_error(error, first_failure, request, url) from None
            if isinstance(error, NoReplyError):
                first_failure = first_failure or error
            assumed = simpler
            continue
        if not names.accept(completion.model):
            continue
        observed = _shown_server(assumed, request, completion, reply, url)
        asks_otherwise = observed.gives != assumed.gives or request.limit(observed) > request.limit(assumed)
        assumed = observed
        if not asks_otherwise:
            tokens_per_byte = reply.tokens_in / max(1, request.size)
            return reply, replace(
                assumed, served=completion.model, fingerprint=reply.fingerprint, tokens_per_byte=tokens_per_byte
            )


class _AcceptedNames:
    """The names of models under which replies of a server are accepted.

    A router may answer once from another model, so that an unexpected name must come twice before it is accepted.

    Args:
        url: the address of the server, for messages.
        names: the names that are accepted at once.
    """

    def __init__(self, url: str, names: set[str]) -> None:
        self._url, self._names = url, set(names)
        self._unexpected: list[str] = []

    def accept(self, name: str) -> bool:
        """Tell whether a reply under a name is accepted; the next one under this name will be.

        Raises:
            AssayError: it is the last of :data:`MOST_NEW_NAMES` different unexpected names.
        """
        if name in self._names:
            return True
        self._names.add(name)
        self._unexpected.append(name)
        if len(self._unexpected) == MOST_NEW_NAMES:
            examples = ", ".join(repr(brief_text(unexpected)) for unexpected in self._unexpected[:3])
            raise AssayError(
                f"{self._url} reports another model name with each reply ({examples}, …): nobody can "
                "tell which model answers; name one model of the server, or let it report a fixed name"
            )
        return False


def _simpler_after(
    error: RefusedRequestError | ForbiddenError | NoReplyError, assumed: Server, request: Request
) -> Server | None:
    """Return the next simpler assumption about a server after an error of the first request; None if none can help.

    Args:
        error: the error.
        assumed: what the server was assumed to support.
        request: the request that ended in the error.
    """
    if isinstance(error, RefusedRequestError):
        return simpler_server(assumed, request, error.text)
    # a status of 500 may mean that the server fails at what it does not support
    if isinstance(error, NoReplyError) and error.status not in OF_REQUEST:
        return None
    return simpler_server(assumed, request, error.reason)


def _shown_server(assumed: Server, request: Request, completion: Completion, reply: Reply, url: str) -> Server:
    """Return what a completion shows of the server: that the model thinks, or that it gives no token probabilities.

    Args:
        assumed: what is known of the server so far.
        request: what the judge asks for.
        completion: the answer of the server.
        reply: what was read of it.
        url: the address, for the message.

    Raises:
        AssayError: the judge needs probabilities, and the server gives none.
    """
    if not assumed.reasons and (completion.has_reasoning or (reply.is_cut and not reply.text.strip())):
        thinking = replace(assumed, reasons=True)
        if request.limit(thinking) > request.limit(assumed):
            # the reply may have been cut off within the thoughts, so that the next one, with more room, shows the rest
            return thinking
        assumed = thinking
    if completion.has_probabilities or reply.flag:
        return assumed
    if request.verdict == "probability":
        raise AssayError(f"{url} gives no probabilities of tokens; leave verdict=probability away")
    if request.verdict == "auto" and assumed.gives == "probability":
        # the server ignored logprobs without an error, so fall back to JSON
        return replace(assumed, gives="json")
    return assumed


def _final_error(
    error: RefusedRequestError | ForbiddenError | NoReplyError, first: NoReplyError | None, request: Request, url: str
) -> AssayError:
    """Return the error to raise if the server accepts no form of the first request.

    A refusal that names no part of the request may be one of the text of this pair.

    Args:
        error: the error of the simplest form.
        first: the first of the errors that ended all tries; None if there were only refusals.
        request: the request.
        url: the address of the server.
    """
    if first is not None:
        return first
    if not isinstance(error, RefusedRequestError):
        return error
    is_simplest = request.verdict in ("auto", "text")
    message = f"{url} refuses the request{', in its simplest form, too' if is_simplest else ''}: {error.text}"
    if not is_simplest:
        message += f"; leave verdict={request.verdict} away, or write verdict=text"
    if PARTS.search(error.text):
        return AssayError(message)
    return NoReplyError(message, failure=FailedCallError(error.text, is_free=True, is_stated=True))


def simpler_server(server: Server, request: Request, text: str) -> Server | None:
    """Return the next simpler assumption about a server that refused a request.

    It is None if there is none, or if the user demands what the server refuses. A part of the request that the reason
    names is left out. If it names none, token probabilities are, then the schema of JSON, the system message, and the
    sampling settings.

    Args:
        server: what the server was assumed to support.
        request: the refused request.
        text: the reason that the server stated.
    """
    reason = text.lower()
    simpler_form = {"probability": "json", "json": "text"}.get(server.gives) if request.verdict == "auto" else None
    sent_settings = {name for name, _ in request.settings} - set(server.without)
    if request.messages[0]["role"] == "system" and "system" not in server.without:
        sent_settings.add("system")
    if re.search(r"max_(?:completion_|new_)?tokens", reason):
        return _with_other_limit(server, request, reason)
    for name, pattern in _NAMED.items():
        if re.search(pattern, reason) and name in sent_settings:
            return replace(server, without=(*server.without, name))
    # probabilities were not asked for: nothing can be left out
    if re.search(r"log_?prob", reason) and server.gives != "probability":
        return None
    if simpler_form is not None:
        return replace(server, gives=simpler_form)
    # the user has demanded what the server refuses
    if request.verdict in ("probability", "json") and re.search(r"log_?prob|response_format|schema", reason):
        return None
    for names in (("system",), ("temperature", "seed")):
        left_out = tuple(name for name in names if name in sent_settings)
        if left_out:
            return replace(server, without=(*server.without, *left_out))
    return None


#: What is left out of a request if a server's reason matches a pattern.
_NAMED = {
    "temperature": r"\btemperature\b",
    "seed": r"\bseed\b",
    "system": r"system (?:role|message|prompt|instruction)|developer instruction|role.{0,20}system|system\W.{0,20}role",
}


def _with_other_limit(server: Server, request: Request, reason: str) -> Server | None:
    """Return a server whose limit of tokens has the other name, or is lower; None if neither helps.

    Args:
        server: what the server was assumed to support.
        request: the refused request.
        reason: the reason that the server stated, in lower case. A number in it ("at most 4096") is the lower limit; if
            it says "too large" or the like without one, the limit is halved, but not below that of a plain reply.
    """
    most = re.search(r"at most (\d+)", reason)
    limit = request.limit(server)
    if most is not None and 0 < int(most[1]) < limit:
        return replace(server, room=int(most[1]))
    if re.search(r"too (?:large|high|big)|exceed|less than|at most|maximum context", reason):
        return replace(server, room=limit // 2) if limit >= 2 * request.tokens else None
    if server.limit == "max_tokens":
        return replace(server, limit="max_completion_tokens")
    return None
