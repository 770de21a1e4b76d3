"""``python -m tests.metrics.judge.counting``: a server that counts what each of its callers owes, and often fails.

Prints its address, and serves until standard input ends. A caller is told by its key. ``POST /trial`` begins anew with
a :class:`Trial`, ``GET /record`` returns the calls since then.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
import sys
import time
import unicodedata
from dataclasses import asdict, dataclass
from typing import Any

from tests.judge_server import listening
from tests.judge_server.server import parse, send

#: Prices of a million tokens of prompts and of replies.
PRICE_IN, PRICE_OUT = 10.0, 30.0
#: How a server may count the tokens of a text.
TOKENIZERS = {
    "bytes": lambda text: len(text.encode()),
    "bytes of a normal form": lambda text: len(unicodedata.normalize("NFKC", text).encode()),
    "words": lambda text: len(re.findall(r"\w+|[^\w\s]", text)),
    "four bytes": lambda text: len(text.encode()) // 4,
}
#: Outcomes of calls that are owed, and of those that are not.
OWED = ("answer", "uncounted", "absurd", "slow", "cut", "closed", "garbage", "proxy")
FREE = ("error", "limit", "refused")
ABSURD = (-5, True, "many", None, 10**400, [1], 1e300)


@dataclass
class Trial:
    """How the server behaves.

    Attributes:
        seed: of the draws.
        tokenizer: one of :data:`TOKENIZERS`.
        failing: the share of calls that fail.
        slow: seconds that a slow answer takes, longer than clients wait.
        delay: seconds that other answers take at most.
    """

    seed: int = 0
    tokenizer: str = "bytes"
    failing: float = 0.0
    slow: float = 1.0
    delay: float = 0.02


@dataclass
class CountedCall:
    """A call: who made it, which request it was, when, what became of it, and what it costs."""

    caller: str
    request: str
    begun: float
    ended: float = 0.0
    outcome: str = ""
    price: float = 0.0


class CountingServer:
    """The server; what it serves is owed, whether the client reads it or not."""

    def __init__(self) -> None:
        self.trial, self.calls, self.dice = Trial(), [CountedCall("", "", 0.0)][:0], random.Random()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection one after the other."""
        try:
            while True:
                _, path, headers = parse(await reader.readuntil(b"\r\n\r\n"))
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if path == "/trial":
                    self.trial, self.calls = Trial(**json.loads(body)), []
                    self.dice = random.Random(self.trial.seed)
                    await send(writer, 200, {})
                elif path == "/record":
                    await send(writer, 200, [asdict(call) for call in self.calls])
                else:
                    await self._answer(headers["authorization"], body, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            return
        finally:
            writer.close()

    async def _answer(self, caller: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        asked, trial = json.loads(body), self.trial
        call = CountedCall(caller, hashlib.sha256(body).hexdigest(), time.monotonic())
        self.calls.append(call)
        fails = self.dice.random() < trial.failing
        call.outcome = self.dice.choice((*OWED[1:], *FREE)) if fails else "answer"
        delay = trial.slow if call.outcome == "slow" else trial.delay * self.dice.random()
        count = TOKENIZERS[trial.tokenizer]
        tokens_in = sum(count(message["content"]) + 4 for message in asked["messages"]) + 3
        tokens_out = self.dice.randint(1, asked["max_tokens"])
        usage: Any = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        if call.outcome == "uncounted":
            usage = None
        if call.outcome == "absurd":
            usage = dict.fromkeys(usage, self.dice.choice(ABSURD))
        if call.outcome in OWED:
            # owed from the moment that it is served
            call.price = (tokens_in * PRICE_IN + tokens_out * PRICE_OUT) / 1e6
        await asyncio.sleep(delay)
        message = {"content": self.dice.choice(("yes", "no"))}
        reply = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
        if call.outcome in ("cut", "closed"):
            if call.outcome == "cut":
                await send(writer, 200, b'{"model": "m", "cho', Content_Length="2000")
            raise ConnectionResetError
        if call.outcome in ("error", "limit", "proxy"):
            await send(writer, {"error": 500, "limit": 429, "proxy": 504}[call.outcome], {"error": {"message": "no"}})
        elif call.outcome == "refused":
            await send(writer, 400, {"error": {"message": "filtered", "code": "content_filter"}})
        else:
            await send(writer, 200, b"<html>" if call.outcome == "garbage" else reply)
        call.ended = time.monotonic()


if __name__ == "__main__":
    with listening(CountingServer().connected) as port:
        print(f"http://127.0.0.1:{port}", flush=True)
        sys.stdin.read()
