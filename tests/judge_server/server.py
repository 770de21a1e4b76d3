"""Connections and faults of the stand-in, and a record of its calls."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.judge_server.protocol import FAULTS, Behaviour, RefusalError, completion, last_message, probability


@dataclass
class Call:
    """A request and what became of it; times are of ``time.monotonic``."""

    method: str
    path: str
    headers: dict[str, str]
    digest: str
    text: str
    begun: float
    ended: float = 0.0
    #: ``answer``, ``refusal`` (an error of the request), ``gone`` (the client left), or the kind of fault.
    outcome: str = ""
    status: int = 0
    #: Of an answer, as its usage says.
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass
class Record:
    """The calls that a server received."""

    calls: list[Call] = field(default_factory=list)
    #: The greatest number of chats that were in flight at once.
    greatest: int = 0

    @property
    def chats(self) -> list[Call]:
        """The calls that asked for a completion."""
        return [call for call in self.calls if call.path.endswith("/chat/completions")]

    @property
    def outcomes(self) -> Counter[str]:
        """How many chats ended how."""
        return Counter(call.outcome for call in self.chats)

    @property
    def repeated(self) -> int:
        """How many answers were given again to a body that had been answered, which a client pays twice."""
        answered = Counter(call.digest for call in self.chats if call.outcome == "answer")
        return sum(times - 1 for times in answered.values())


class Server(Record):
    """A running server; *behaviour* may be replaced while it runs."""

    def __init__(self, behaviour: Behaviour, probability: Callable[[str], float] = probability) -> None:
        super().__init__()
        self.behaviour = behaviour
        self.url = ""
        self.probability = probability
        self._flying = 0
        self._failures: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection one after the other."""
        early = b""  # of the next request, where it came before the answer
        try:
            while head := early + await reader.readuntil(b"\r\n\r\n"):
                early = b""
                method, path, headers = parse(head)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if path == "/record":
                    await send(writer, 200, {"calls": [asdict(call) for call in self.calls], "greatest": self.greatest})
                    continue
                call = Call(method, path, headers, hashlib.sha256(body).hexdigest(), "", time.monotonic())
                self.calls.append(call)
                self._flying += path.endswith("/chat/completions")
                self.greatest = max(self.greatest, self._flying)
                try:
                    early = await self._answer(call, body, reader, writer)
                finally:
                    call.ended = time.monotonic()
                    call.outcome = call.outcome or "gone"
                    self._flying -= path.endswith("/chat/completions")
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            # the client left, or the server stops; asyncio would write a cancelled connection to its log
            return
        finally:
            writer.close()

    async def _answer(
        self, call: Call, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        """Answer a call, and return what the client sent meanwhile."""
        now = self.behaviour
        fault = "html" if call.path == "/elsewhere" else self._fault(call.digest)
        delay = now.delay * (1 + now.jitter * random.Random(call.digest).uniform(-1, 1))
        early = await wait(now.slow if fault == "slow" else delay, reader)
        if fault not in ("", "slow", "other model", "huge"):
            call.outcome = fault
            await misbehave(fault, writer, now)
            return early
        try:
            reply = self._reply(call, body, fault)
        except RefusalError as refusal:
            call.outcome, call.status = "refusal", refusal.status
            await send(writer, refusal.status, refusal.body)
            return early
        call.status, usage = 200, reply.get("usage") or {}
        call.tokens_in, call.tokens_out = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        if fault in ("other model", "huge"):
            # also where the client leaves before the end of ten megabytes
            call.outcome = fault
        await send(writer, 200, reply)
        call.outcome = call.outcome or "answer"
        return early

    def _fault(self, digest: str) -> str:
        """Return the fault of a request, which its body and the number of the attempt decide, or an empty text."""
        now = self.behaviour
        self._attempts[digest] += 1
        draw = random.Random(f"{now.seed} {digest} {self._attempts[digest]}").random()
        for kind, rate in now.faults.items():
            if kind not in FAULTS:
                raise ValueError(f"no such fault: {kind}")
            draw -= rate
            if draw < 0 and self._failures[digest] < now.failures:
                self._failures[digest] += 1
                return kind
        return ""

    def _reply(self, call: Call, body: bytes, fault: str) -> dict[str, Any]:
        """Return what the protocol has for a request, or raise what it refuses."""
        now = self.behaviour
        sent = call.headers.get("authorization", "").removeprefix("Bearer ") or call.headers.get("api-key", "")
        if now.key and sent != now.key:
            raise RefusalError(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
        if call.path == "/v1/models" and call.method == "GET":
            return {"object": "list", "data": [{"id": now.model, "object": "model", "created": 1, "owned_by": "tests"}]}
        if call.path != "/v1/chat/completions" or call.method != "POST":
            raise RefusalError(404, f"Invalid URL ({call.method} {call.path})")
        try:
            asked = json.loads(body)
            call.text = last_message(asked)
        except (ValueError, LookupError, TypeError):
            raise RefusalError(400, "We could not parse the JSON body of your request.") from None
        return completion(asked, now, self.probability, fault)


def parse(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Return method, path without its query, and headers by lower-case name."""
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return method, path.split("?")[0], headers


async def wait(seconds: float, reader: asyncio.StreamReader) -> bytes:
    """Wait, and return what the client sent meanwhile; a client that leaves ends it with ``ConnectionError``."""
    if not seconds:
        return b""
    try:
        early = await asyncio.wait_for(reader.read(1), seconds)
    except TimeoutError:
        return b""
    if not early:
        raise ConnectionResetError
    await asyncio.sleep(seconds)
    return early


async def send(writer: asyncio.StreamWriter, status: int, content: object, **headers: str) -> None:
    """Send a reply: JSON, or bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()


async def misbehave(fault: str, writer: asyncio.StreamWriter, now: Behaviour) -> None:
    """Send what a fault has in place of an answer."""
    limit = RefusalError(429, "Rate limit reached for requests.", "rate_limit_exceeded").body
    if fault == "rate limit":
        await send(writer, 429, limit, Retry_After=f"{now.retry_after:g}")
    elif fault == "rate limit unsaid":
        await send(writer, 429, limit)
    elif fault == "error":
        await send(writer, 500, RefusalError(500, "The server had an error.").body)
    elif fault == "unavailable":
        await send(writer, 503, b"upstream connect error", Content_Type="text/plain")
    elif fault == "cut":
        await send(writer, 200, b'{"id": "chatcmpl-1", "object": "chat.com', Content_Length="2000")
        raise ConnectionResetError
    elif fault == "closed":
        raise ConnectionResetError
    elif fault == "garbage":
        await send(writer, 200, b"\x00\xff\xfe{]garbage\x80" * 20)
    elif fault == "shapeless":
        await send(writer, 200, {"result": [1, 2, {"text": "yes"}], "choices": None})
    elif fault == "empty":
        await send(writer, 200, {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": []})
    elif fault == "redirect":
        await send(writer, 307, b"", Location=now.elsewhere)
    elif fault == "html":
        await send(writer, 200, b"<!doctype html><title>Welcome</title><p>It works!", Content_Type="text/html")
    elif fault == "no http":
        writer.write(b"220 mail.example.com ESMTP\r\n\r\n")
        await writer.drain()
        raise ConnectionResetError
