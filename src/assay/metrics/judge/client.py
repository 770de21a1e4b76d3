"""The client of an endpoint: one call by the openai package, and what the answers of a server mean."""

from __future__ import annotations

import email.utils
import math
import os
import re
import time
from typing import Any
from urllib.parse import urlsplit

from assay.common.visible import brief_text
from assay.exceptions import AssayError, MissingExtraError, UnavailableError
from assay.metrics.judge.completion import FailedCallError
from assay.metrics.judge.exchange import cause_text, http_client, may_have_cost
from assay.metrics.judge.replies import Reply
from assay.metrics.judge.secret import HiddenKey
from assay.metrics.judge.stated_error import LONGEST_REASON, error_within, stated_error
from assay.metrics.scores import Flag

#: Longest time in seconds that a server may ask to wait before a retry; one that asks for more is not called again.
LONGEST_WAIT = 120.0
#: Codes and words, in lower case, by which servers say that a prompt has too many tokens.
_TOO_LONG = ("context_length_exceeded", "context length", "maximum context", "context size", "too many tokens")
#: Codes and words, in lower case, by which servers say that a filter has refused a prompt.
_FILTERED = ("content_filter", "content_policy", "responsibleaipolicy", "moderation", "flagged", "safety")
#: What servers name when they refuse a part of a request, with any status: 403 "not allowed to request logprobs", 500
#: "logprobs is not implemented", 404 "no endpoints support the requested parameters".
PARTS = re.compile(
    r"log_?prob|response_format|json.?schema|structured output|guided|grammar|max_(?:completion_|new_)?tokens"
    r"|temperature|\bseed\b|system (?:role|message|prompt|instruction)|developer instruction|role.{0,20}system"
    r"|requested parameters",
    re.IGNORECASE,
)


class RefusedRequestError(Exception):
    """The server refuses one request, or a part of it.

    Attributes:
        text: the reason that the server stated.
        flag: the :class:`Flag` of the pair if its text is the reason (too long, or filtered); otherwise 0.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        reason = text.lower()
        self.flag = 0
        # servers have no common error code: their words tell the reason; a limit of tokens for the reply that is too
        # high concerns the request, not the text
        if re.search(r"max_(?:completion_)?tokens\W.{0,40}too (?:large|high|big)", reason):
            return
        if any(word in reason for word in _TOO_LONG):
            self.flag = int(Flag.TOO_LONG)
        elif any(word in reason for word in _FILTERED):
            self.flag = int(Flag.REFUSED)

    def reply(self) -> Reply:
        """Return the refusal as a reply.

        Its text is the stated reason, and its flag is that of the error, or REFUSED if the error has none.
        """
        return Reply(self.text, flag=self.flag or int(Flag.REFUSED))


class ForbiddenError(AssayError):
    """The server answers 403 and names no part of the request: it may refuse the key, or something in the request.

    Attributes:
        reason: the reason that the server stated.
    """

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


class EndpointClient:
    """A client of one endpoint.

    Args:
        url: the base address of the server, without a slash at the end.
        model: the name of the model in requests.
        key: the environment variable that holds the API key; None if the server needs no key.
        timeout: seconds to wait for a reply.

    Attributes:
        url, model: as given.

    Raises:
        MissingExtraError: openai is not installed.
        UnavailableError: there is no API key.
    """

    def __init__(self, url: str, model: str, key: str | None, timeout: float) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError(error.name or "openai", "judge") from error
        self._openai = openai
        self.url, self.model, self._key_variable = url, model, key
        value = api_key(url, key)
        self._key = HiddenKey(value)
        # no retries of its own: each try is paid for, so the session counts and repeats them
        self._client = openai.AsyncOpenAI(
            api_key=value,
            base_url=url,
            max_retries=0,
            timeout=timeout,
            http_client=http_client(openai, timeout, self._key),
        )

    @property
    def repeats(self) -> int:
        """The number of answers in which the server repeated the key, which was removed."""
        return self._key.repeats

    async def call(self, body: dict[str, Any]) -> tuple[bytes, str]:
        """Send a request once, and return the body of the answer and its content type, both without the key.

        The content type is that in the header of the answer, empty if there is none.

        Args:
            body: the JSON body of the request.

        Raises:
            FailedCallError: there is no complete answer, or the server reports an error that may pass: status 408, 409,
                429 or 5xx, unless the server asks not to retry, or to wait for longer than :data:`LONGEST_WAIT`.
            RefusedRequestError: the server refuses the request.
            AssayError: the server refuses the key, has no such model, or reports another error.
        """
        failure: AssayError | RefusedRequestError | FailedCallError
        try:
            # given as extra_body, the body of plain values is sent as it is: the client would otherwise search each
            # argument for values to rewrite, which takes a quarter of the time of a call
            response = await self._client.chat.completions.with_raw_response.create(
                model=body["model"], messages=[], extra_body=body
            )
            content = response.content
            # most answers are plain completions, which need not be parsed to see that they state no error
            is_plain = b'"choices"' in content and b'"error"' not in content
            stated = None if is_plain else error_within(content)
            if stated is None:
                return content, response.headers.get("content-type", "")
            # an error without a status counts as one of the server: a retry may help
            failure = self._error_of_status(stated.status or 502, stated.reason, {})
            if isinstance(failure, FailedCallError):
                failure = FailedCallError(f"its answer is an error: {stated.reason}", is_stated=True)
        except self._openai.APIStatusError as error:
            failure = self._error_of_status(error.status_code, _stated_reason(error), error.response.headers)
        except self._openai.APIConnectionError as error:
            cause = error.__cause__
            failure = cause if isinstance(cause, FailedCallError) else FailedCallError(cause_text(error))
            # its own causes hold the request
            failure.__cause__ = failure.__context__ = None
        # "from None", since the client's error holds the request, and that holds the key
        raise failure from None

    def _error_of_status(
        self, status: int, reason: str, headers: Any
    ) -> AssayError | RefusedRequestError | FailedCallError:
        """Return the error to raise for an error that the server states.

        It is a RefusedRequestError if the server refuses this request or a part of it, a FailedCallError if a retry may
        help, a ForbiddenError if it refuses either the key or the request, and else another AssayError.

        Args:
            status: the status of HTTP, or the one in the body of an answer with a status of success.
            reason: the reason that the server states.
            headers: the headers of the answer.
        """
        url = self.url
        if status != 401 and status != 429 and PARTS.search(reason):
            return RefusedRequestError(reason)
        if status == 403 and any(word in reason.lower() for word in _FILTERED):
            return RefusedRequestError(reason)
        if status in (400, 413, 422):
            return RefusedRequestError(reason)
        if status in (401, 403):
            where = f"in {self._key_variable}" if self._key_variable else "(key=NAME names its variable)"
            text = f"{url} does not accept the key {where} ({status}: {reason})"
            return AssayError(text) if status == 401 else ForbiddenError(text, reason)
        if status == 404:
            return AssayError(
                f"{url} has no model {self.model!r}, or no chat completions at that address: it often ends in "
                f"/v1 ({status}: {reason})"
            )
        wait = _stated_wait(headers)
        is_retried = status in (408, 409, 429) or status >= 500
        if is_retried and wait <= LONGEST_WAIT and headers.get("x-should-retry") != "false":
            timed_out = re.search(r"timed? ?out", reason, re.IGNORECASE) is not None
            is_free = not may_have_cost(status) and not timed_out
            return FailedCallError(reason, status=status, is_free=is_free, wait=wait)
        return AssayError(f"{url} answers {status} at once: {reason}")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _stated_reason(error: Any) -> str:
    """Return the reason that a server states for an error status, for a message.

    It is on one line and has at most :data:`LONGEST_REASON` characters and no backticks.

    Args:
        error: the APIStatusError of the client.
    """
    # the client of openai takes the field "error" out of the body
    stated = stated_error({"error": error.body} if error.body else None)
    if stated is not None:
        return stated.reason
    reason = str(error.body or error.message)
    return brief_text(" ".join(reason[:LONGEST_REASON].split()))


def _stated_wait(headers: Any) -> float:
    """Return the seconds that a server asks to wait before a retry; 0.0 if it asks for none that can be read."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "")
        try:
            wait = float(text) / unit
        except ValueError:
            continue
        return wait if wait > 0 and not math.isnan(wait) else 0.0
    try:
        date = email.utils.parsedate_tz(headers.get("retry-after", ""))
        return 0.0 if date is None else max(0.0, email.utils.mktime_tz(date) - time.time())
    except (ValueError, OverflowError, OSError):
        return 0.0


def api_key(url: str, variable: str | None) -> str:
    """Return the API key for an endpoint; ``"none"`` if it needs no key, or if it is local and the variable is not set.

    Args:
        url: the address of the endpoint.
        variable: the environment variable that holds the key; None for a server that needs no key.

    Raises:
        UnavailableError: the variable is not set or empty, and the server is not on this machine.
    """
    key = os.environ.get(variable, "").strip() if variable else ""
    if key:
        return key
    if variable is None or urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1"):
        return "none"
    raise UnavailableError(
        f"the environment has no key for {url}",
        f"export {variable}=…, name another variable by key=NAME, or key=none for a server that asks for none",
    )
