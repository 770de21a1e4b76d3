"""The line to an endpoint: one call by the openai client, and what its errors mean."""

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
from assay.visible import brief

if TYPE_CHECKING:
    from assay.metrics.judge.endpoint import Endpoint

#: What is true of every error: what came is not lost.
KEPT = "replies that came are kept, and the same command goes on"
#: Largest answer that is read, in bytes.
LARGEST = 1 << 20
#: Characters of a server's reason that are shown.
LONGEST_REASON = 300
#: Codes and words by which servers say that a prompt has too many tokens.
_TOO_LONG = ("context_length_exceeded", "context length", "maximum context", "context size", "too many tokens")
_FILTERED = ("content_filter", "content_policy", "responsibleaipolicy")


class RefusedRequestError(Exception):
    """The server refuses one request (status 400, 413 or 422).

    Attributes:
        text: its reason.
        flag: why it has no score, where the reason is the text of the pair; otherwise 0.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        said = text.lower()
        too_long, filtered = any(word in said for word in _TOO_LONG), any(word in said for word in _FILTERED)
        self.flag = int(Flag.TOO_LONG) if too_long else int(Flag.REFUSED) if filtered else 0

    def reply(self) -> Reply:
        """Return the refusal in the place of a reply."""
        return Reply(self.text, flag=self.flag or int(Flag.REFUSED))


class Line:
    """Calls one endpoint.

    Args:
        engine: which, with what patience.

    Raises:
        MissingExtraError: openai is not installed.
        UnavailableError: there is no key.
    """

    def __init__(self, engine: Endpoint) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError(error.name or "openai", "judge") from error
        self._openai = openai
        self._engine = engine
        self._key = key_for(engine.url, engine.key)
        self._client = openai.AsyncOpenAI(
            api_key=self._key, base_url=engine.url, max_retries=engine.retries, timeout=engine.timeout
        )

    async def call(self, body: dict[str, Any]) -> tuple[bytes, str, int]:
        """Return the body of an answer, its type, and the further tries it took.

        The client tries again after 408, 409, 429 (Retry-After), 5xx, a time-out and a connection that is cut.

        Raises:
            UnusableReplyError: the answer is cut or too large.
            RefusedRequestError: the server refuses the request.
            AssayError: the server cannot be used.
        """
        reason: AssayError | RefusedRequestError
        try:
            # the client looks through every part of its arguments for what must be rewritten, for a quarter of the time
            # of a call; a body of plain values needs none of it
            async with self._client.chat.completions.with_streaming_response.create(
                model=body["model"], messages=[], extra_body=body
            ) as response:
                retries = int(response.retries_taken)
                try:
                    return await self._read(response), response.headers.get("content-type", ""), retries
                except UnusableReplyError as error:
                    error.retries = retries
                    raise
        except self._openai.APIStatusError as error:
            reason = self._refusal(error)
        except self._openai.APIConnectionError as error:
            reason = AssayError(f"{self._engine.url}: {_cause(error)}; {KEPT}")
        # the key stands in the request of the client's error
        raise reason from None

    async def _read(self, response: Any) -> bytes:
        """Return the body of an answer as it comes, up to a size."""
        content = bytearray()
        try:
            async with asyncio.timeout(self._engine.timeout):
                async for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > LARGEST:
                        raise UnusableReplyError(f"its answer is longer than {LARGEST:,} bytes")
        except TimeoutError:
            raise UnusableReplyError(f"its answer did not end in {self._engine.timeout:g} s") from None
        except _transport_error(type(response.http_response).__module__) as error:
            raise UnusableReplyError(f"its answer was cut ({type(error).__name__})") from None
        return bytes(content)

    def _refusal(self, error: Any) -> AssayError | RefusedRequestError:
        """Return what a status of the server means."""
        url, status, said = self._engine.url, error.status_code, self._said(error)
        if status in (400, 413, 422):
            return RefusedRequestError(said)
        if status in (401, 403):
            where = f"in {self._engine.key}" if self._engine.key else "(key=NAME names its variable)"
            return AssayError(f"{url} does not accept the key {where} ({status}: {said})")
        if status == 404:
            return AssayError(
                f"{url} has no model {self._engine.model!r}, or no chat completions at that address: it often ends in "
                f"/v1 ({status}: {said})"
            )
        tried = _after(self._engine.retries) if status in (408, 409, 429) or status >= 500 else "at once"
        return AssayError(f"{url} answers {status} {tried}: {said}; {KEPT}")

    def _said(self, error: Any) -> str:
        """Return a server's reason in one line, without the key, which some repeat."""
        content = error.body
        if isinstance(content, dict):
            code = content.get("code")
            message = content.get("message") or content.get("detail") or content
            said = f"{message} ({code})" if code else str(message)
        else:
            said = str(content or error.message)
        if len(self._key) > 4:
            said = said.replace(self._key, "***")
        # in assay's own messages, backticks stand around settings
        return brief(" ".join(said[:LONGEST_REASON].replace("`", "'").split()))

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()


def key_for(url: str, variable: str | None) -> str:
    """Return the key for an endpoint; a word that is none where the server needs none.

    Args:
        url: of the endpoint.
        variable: of the environment; None for a server that asks for no key.

    Raises:
        UnavailableError: the environment has no key.
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


def _after(retries: int) -> str:
    return "after 1 retry" if retries == 1 else f"after {retries} retries"


@functools.cache
def _transport_error(module: str) -> type[Exception]:
    """Return what the HTTP library of a module raises for a broken connection: openai 3 has httpx2, others httpx."""
    library = import_module(module.partition(".")[0])
    found: type[Exception] = library.TransportError
    return found


def _cause(error: BaseException) -> str:
    """Return why a server cannot be reached."""
    texts = []
    cause: BaseException | None = error
    while cause is not None:
        texts.append(f"{type(cause).__name__} {cause}")
        cause = cause.__cause__ or cause.__context__
    everything = " ".join(texts)
    for sign, meaning in _CAUSES.items():
        if sign in everything:
            return meaning
    return f"cannot be reached ({brief(str(error))})"


_CAUSES = {
    "CERTIFICATE_VERIFY_FAILED": "the certificate of the server is not trusted (SSL_CERT_FILE names one that is)",
    "WRONG_VERSION_NUMBER": "the server does not speak https; write http://",
    "Connection refused": "nothing answers there (is the server running, and is the port right?)",
    "All connection attempts failed": "nothing answers there (is the server running, and is the port right?)",
    "Name or service not known": "there is no server of that name",
    "No address associated": "there is no server of that name",
    "Temporary failure in name resolution": "the name of the server cannot be looked up (no network?)",
    "Server disconnected": "it closed the connection without an answer (does it speak https, or no HTTP at all?)",
    "RemoteProtocolError": "what answers there does not speak HTTP",
    "Timeout": "the server gave no answer in time",
}
