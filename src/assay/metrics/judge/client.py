"""The client of an endpoint: one call by the openai package, and what its errors mean."""

from __future__ import annotations

import asyncio
import functools
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assay.errors import AssayError, MissingExtraError, UnavailableError
from assay.metrics.judge.completion import UnusableReplyError
from assay.metrics.judge.replies import Reply
from assay.metrics.work import Flag
from assay.visible import brief_text

if TYPE_CHECKING:
    from assay.metrics.judge.endpoint import Endpoint

#: The end of error messages: replies that arrived are not lost.
REPLIES_ARE_KEPT = "the replies received so far are kept, and the same command continues"
#: Largest answer that is read, in bytes.
MAX_BYTES = 1 << 20
#: The number of characters of a server's reason that a message shows.
LONGEST_REASON = 300
#: Codes and words, in lower case, by which servers say that a prompt has too many tokens.
_TOO_LONG = ("context_length_exceeded", "context length", "maximum context", "context size", "too many tokens")
#: Codes, in lower case, by which servers say that a filter has refused a prompt.
_FILTERED = ("content_filter", "content_policy", "responsibleaipolicy")


class RefusedRequestError(Exception):
    """The server refuses one request (status 400, 413 or 422).

    Attributes:
        text: the reason that the server stated.
        flag: the :class:`Flag` of the pair if its text is the reason (too long, or filtered); otherwise 0.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        reason = text.lower()
        self.flag = 0
        # servers have no common error code: their words tell the reason
        if any(word in reason for word in _TOO_LONG):
            self.flag = int(Flag.TOO_LONG)
        elif any(word in reason for word in _FILTERED):
            self.flag = int(Flag.REFUSED)

    def reply(self) -> Reply:
        """Return the refusal as a reply.

        Its text is the stated reason, and its flag is that of the error, or REFUSED if the error has none.
        """
        return Reply(self.text, flag=self.flag or int(Flag.REFUSED))


class EndpointClient:
    """A client of one endpoint.

    Args:
        engine: the endpoint, its timeout and its retries.

    Raises:
        MissingExtraError: openai is not installed.
        UnavailableError: there is no API key.
    """

    def __init__(self, engine: Endpoint) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError(error.name or "openai", "judge") from error
        self._openai = openai
        self._engine = engine
        self._key = api_key(engine.url, engine.key)
        self._client = openai.AsyncOpenAI(
            api_key=self._key, base_url=engine.url, max_retries=engine.retries, timeout=engine.timeout
        )

    async def call(self, body: dict[str, Any]) -> tuple[bytes, str, int]:
        """Send a request, and return the body of the answer, its content type and the number of retries.

        The content type is that in the header of the answer, empty if there is none.

        The client retries after status 408, 409, 429 (when Retry-After allows) and 5xx, after a time-out, and after a
        broken connection.

        Args:
            body: the JSON body of the request.

        Raises:
            UnusableReplyError: the answer is incomplete or too large; the error has the number of retries.
            RefusedRequestError: the server refuses the request.
            AssayError: the server cannot be reached, refuses the key, has no such model, or fails despite the retries.
        """
        reason: AssayError | RefusedRequestError
        try:
            # given as extra_body, the body of plain values is sent as it is: the client would otherwise search each
            # argument for values to rewrite, which takes a quarter of the time of a call
            async with self._client.chat.completions.with_streaming_response.create(
                model=body["model"], messages=[], extra_body=body
            ) as response:
                retries = int(response.retries_taken)
                try:
                    return await self._read_body(response), response.headers.get("content-type", ""), retries
                except UnusableReplyError as error:
                    error.retries = retries
                    raise
        except self._openai.APIStatusError as error:
            reason = self._status_error(error)
        except self._openai.APIConnectionError as error:
            reason = AssayError(f"{self._engine.url}: {_cause_text(error)}; {REPLIES_ARE_KEPT}")
        # "from None", since the client's error holds the request, and that holds the key
        raise reason from None

    async def _read_body(self, response: Any) -> bytes:
        """Return the body of an answer, read in chunks.

        Raises:
            UnusableReplyError: the body exceeds :data:`MAX_BYTES` bytes or does not end in time, or the connection
                breaks.
        """
        content = bytearray()
        try:
            async with asyncio.timeout(self._engine.timeout):
                async for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > MAX_BYTES:
                        raise UnusableReplyError(f"its answer is longer than {MAX_BYTES:,} bytes")
        except TimeoutError:
            raise UnusableReplyError(f"its answer did not end in {self._engine.timeout:g} s") from None
        except _transport_error_class(type(response.http_response).__module__) as error:
            raise UnusableReplyError(f"its answer was cut ({type(error).__name__})") from None
        return bytes(content)

    def _status_error(self, error: Any) -> AssayError | RefusedRequestError:
        """Return the error to raise for an HTTP error status of the server.

        It is a RefusedRequestError if the server refuses only this request.

        Args:
            error: the APIStatusError of the client.
        """
        url, status, reason = self._engine.url, error.status_code, self._stated_reason(error)
        if status in (400, 413, 422):
            return RefusedRequestError(reason)
        if status in (401, 403):
            where = f"in {self._engine.key}" if self._engine.key else "(key=NAME names its variable)"
            return AssayError(f"{url} does not accept the key {where} ({status}: {reason})")
        if status == 404:
            return AssayError(
                f"{url} has no model {self._engine.model!r}, or no chat completions at that address: it often ends in "
                f"/v1 ({status}: {reason})"
            )
        is_retried = status in (408, 409, 429) or status >= 500
        when = _after_retries_text(self._engine.retries) if is_retried else "at once"
        return AssayError(f"{url} answers {status} {when}: {reason}; {REPLIES_ARE_KEPT}")

    def _stated_reason(self, error: Any) -> str:
        """Return the reason that a server states for an error status, for a message.

        It is on one line, has at most :data:`LONGEST_REASON` characters and no backticks, and does not show the key,
        which some servers repeat.

        Args:
            error: the APIStatusError of the client.
        """
        content = error.body
        if isinstance(content, dict):
            code = content.get("code")
            message = content.get("message") or content.get("detail") or content
            reason = f"{message} ({code})" if code else str(message)
        else:
            reason = str(content or error.message)
        # a key such as "none" is not a secret, and occurs in other words
        if len(self._key) > 4:
            reason = reason.replace(self._key, "***")
        # assay's own messages mark settings with backticks, so a server's text may have none
        return brief_text(" ".join(reason[:LONGEST_REASON].replace("`", "'").split()))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


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


def _after_retries_text(retries: int) -> str:
    return "after 1 retry" if retries == 1 else f"after {retries} retries"


@functools.cache
def _transport_error_class(module: str) -> type[Exception]:
    """Return the class of the errors that an HTTP library raises when a connection breaks.

    Args:
        module: the name of a module of the library, which is httpx2 with openai 3, and httpx with older versions.
    """
    library = import_module(module.partition(".")[0])
    error_class: type[Exception] = library.TransportError
    return error_class


def _cause_text(error: BaseException) -> str:
    """Return in words why a server cannot be reached, from an error and the chain of its causes."""
    texts = []
    cause: BaseException | None = error
    while cause is not None:
        texts.append(f"{type(cause).__name__} {cause}")
        cause = cause.__cause__ or cause.__context__
    # the libraries have no common error for these causes: the class names and messages tell them apart
    everything = " ".join(texts)
    for fragment, meaning in _MEANINGS.items():
        if fragment in everything:
            return meaning
    return f"cannot be reached ({brief_text(str(error))})"


_CLOSED = "it closed the connection without an answer (does it speak https, or no HTTP at all?)"

#: By a fragment of the class name or message of an error, what the error means to the user; the first match counts.
_MEANINGS = {
    "CERTIFICATE_VERIFY_FAILED": "the certificate of the server is not trusted (SSL_CERT_FILE names one that is)",
    "WRONG_VERSION_NUMBER": "the server does not speak https; write http://",
    "Connection refused": "nothing answers there (is the server running, and is the port right?)",
    "All connection attempts failed": "nothing answers there (is the server running, and is the port right?)",
    "Name or service not known": "there is no server of that name",
    "No address associated": "there is no server of that name",
    "Temporary failure in name resolution": "the name of the server cannot be looked up (no network?)",
    "Server disconnected": _CLOSED,
    # a server that closes before it has read the whole request: which of the two arrives first is a matter of timing
    "Connection reset by peer": _CLOSED,
    "Broken pipe": _CLOSED,
    "RemoteProtocolError": "what answers there does not speak HTTP",
    "Timeout": "the server did not answer in time",
}
