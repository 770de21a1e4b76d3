"""The HTTP client of an endpoint: whatever a server sends is bounded in time and size, and has no key in it.

Every answer passes here, of any status and after any redirect, before another library reads or logs it.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import zlib
from importlib import import_module
from typing import Any

from assay.common.visible import brief_text
from assay.metrics.judge.completion import FailedCallError
from assay.metrics.judge.secret import HiddenKey, KeyFilter

#: Largest body of an answer, in bytes, as sent and after decompression.
MAX_BYTES = 1 << 20
#: Most characters of a header, and most redirects, that are followed.
MAX_HEADER, MAX_REDIRECTS = 200, 10
#: The headers of an answer that are read; the others are dropped.
_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
#: The HTTP libraries of the versions of openai, and the ends of the names of their loggers.
_LIBRARIES = ("httpx", "httpx2", "httpcore", "httpcore2")
_LOGGING_PARTS = ("", ".connection", ".http11", ".http2", ".proxy", ".socks")
#: Status codes by which proxies and servers report a request that they had begun, so that it may have been paid for.
_PASSED_ON = (408, 499, 502, 504, 520, 524)


def http_client(openai: Any, timeout: float, key: HiddenKey) -> Any:
    """Return an HTTP client for the client of the openai package, of the class that this package uses by default.

    A call raises :class:`FailedCallError` if there is no answer, or only a part of one with a status of success. The
    body of an answer with an error status is cut at :data:`MAX_BYTES` and at the end of the time.

    Args:
        openai: the package.
        timeout: the seconds that an exchange may take with all redirects.
        key: the key to hide in answers.
    """

    class BoundedClient(openai.DefaultAsyncHttpxClient):  # type: ignore[misc]  # openai is not always installed
        async def send(self, request: Any, **options: Any) -> Any:
            options.update(stream=True, follow_redirects=False)
            send = functools.partial(super().send, **options)
            # httpx2 with openai 3, and httpx with older versions
            library = import_module(type(request).__module__.partition(".")[0])
            return await _Exchange(library, timeout, key).run(send, request)

    _filter_logs(key)
    return BoundedClient()


@functools.lru_cache(maxsize=1)
def _key_filter() -> KeyFilter:
    return KeyFilter()


def _filter_logs(key: HiddenKey) -> None:
    """Hide a key in what the HTTP libraries log of a server: redirects, status lines, headers."""
    key_filter = _key_filter()
    key_filter.add(key)
    loggers = {f"{library}{part}" for library in _LIBRARIES for part in _LOGGING_PARTS}
    # those that another version has, if they are loaded
    loggers |= {name for name in list(logging.root.manager.loggerDict) if name.partition(".")[0] in _LIBRARIES}
    for name in loggers:
        # added once, however often this is called
        logging.getLogger(name).addFilter(key_filter)


class _Exchange:
    """One request and its answer, after redirects.

    Args:
        library: the HTTP library.
        timeout: the seconds for all of it.
        key: the key to hide.
    """

    def __init__(self, library: Any, timeout: float, key: HiddenKey) -> None:
        self._library, self._timeout, self._key = library, timeout, key
        self._was_sent = False

    async def run(self, send: Any, request: Any) -> Any:
        """Return the answer to a request, as a response of the library whose body was read; the key is hidden in it.

        Of the headers, only those that are read later are kept. The body of an error may be cut.

        Args:
            send: the coroutine function of the library that sends a request and returns a response, its body unread.
            request: the request of the library; its headers and extensions are changed.

        Raises:
            FailedCallError: there is no answer, or only a part of one with a status of success.
        """
        content = bytearray()
        response: Any = None
        request.headers["accept-encoding"] = "gzip, deflate"
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._follow(send, request)
                try:
                    await self._read(response, content)
                finally:
                    await response.aclose()
        except TimeoutError:
            late = f"its answer did not end in {self._timeout:g} s"
            self._check_partial(response, "the server did not answer in time" if response is None else late)
        except (self._library.HTTPError, self._library.InvalidURL) as error:
            cut_reason = f"its answer was cut ({type(error).__name__})"
            self._check_partial(response, cause_text(error) if response is None else cut_reason)
        except FailedCallError as error:
            self._check_partial(response, str(error))
        headers = {}
        for name in _HEADERS:
            if name in response.headers:
                # cut after the search, since a part of the key would not be found
                value = self._key.hide(response.headers[name][: 10 * MAX_HEADER])[:MAX_HEADER]
                headers[name] = value.encode("ascii", "replace").decode()
        body = self._key.hide_body(bytes(content))
        return self._library.Response(response.status_code, headers=headers, content=body, request=response.request)

    def _check_partial(self, response: Any, reason: str) -> None:
        """Raise FailedCallError unless a part of the answer will do: the reason of a server that reports an error."""
        if response is None or response.status_code < 400:
            raise FailedCallError(self._key.hide(reason), is_free=not self._was_sent) from None

    async def _follow(self, send: Any, request: Any) -> Any:
        """Send a request and return the answer, its body unread, after at most :data:`MAX_REDIRECTS` redirects.

        Raises:
            FailedCallError: there are more redirects, or one leads to an address that contains the key.
        """
        for _ in range(MAX_REDIRECTS + 1):
            request.extensions = {**request.extensions, "trace": self._trace}
            response = await send(request)
            following = response.next_request
            if following is None:
                return response
            await response.aclose()
            address = str(following.url)
            if self._key.hide(address) != address:
                raise FailedCallError("it redirects to an address with the key")
            request = following
        raise FailedCallError(f"it redirects more than {MAX_REDIRECTS} times")

    async def _trace(self, event: str, _: Any) -> None:
        """Note that a request is being sent, from when on it may cost something."""
        if "send_request_headers" in event:
            self._was_sent = True

    async def _read(self, response: Any, content: bytearray) -> None:
        """Read the body of an answer to the end of *content*, decompressed.

        Raises:
            FailedCallError: it is longer than :data:`MAX_BYTES`, damaged, or compressed in an unknown way.
        """
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise FailedCallError(f"its answer is compressed in another way than it was asked for ({encoding!r:.50})")
        # 32: the data begins with the header of gzip or of zlib, and tells which
        expand = None if encoding in ("", "identity") else zlib.decompressobj(zlib.MAX_WBITS | 32)
        received = 0
        async for chunk in response.aiter_raw():
            received += len(chunk)
            try:
                content += chunk if expand is None else expand.decompress(chunk, MAX_BYTES + 1)
            except zlib.error as error:
                raise FailedCallError(f"its answer is damaged ({error})") from None
            if max(received, len(content)) > MAX_BYTES:
                del content[MAX_BYTES:]
                raise FailedCallError(f"its answer is longer than {MAX_BYTES:,} bytes")


def may_have_cost(status: int) -> bool:
    """Tell whether a request that was answered with an error status may have been paid for."""
    return status in _PASSED_ON


def cause_text(error: BaseException) -> str:
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
