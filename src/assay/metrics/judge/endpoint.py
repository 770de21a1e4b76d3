"""An endpoint: a server with OpenAI's chat completions, asked by several calls at a time, each reply kept as it comes.

The first request goes alone, to learn what the server's replies have: probabilities of tokens, JSON of a given form, or
text. Whatever ends a session, a reply that came is kept, and is not asked for again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

from assay.errors import AssayError, InputError
from assay.metrics.base import Batch, Metric
from assay.metrics.judge.completion import Completion, UnusableReplyError, read_completion
from assay.metrics.judge.line import KEPT, Line, RefusedRequestError
from assay.metrics.judge.replies import Reply, ReplyStore, Server, reply_store
from assay.metrics.judge.request import FORM_TOKENS, Request, address_of, requests_of
from assay.metrics.judge.spending import BudgetError, Price, Purse, current_purse
from assay.metrics.judge.tally import Tally
from assay.metrics.work import Flag, Scores
from assay.progress import tell_share
from assay.visible import brief

if TYPE_CHECKING:
    from assay.metrics.judge.judge import Judge

log = logging.getLogger(__name__)

#: Seconds between two looks at how far the calls are.
GLANCE = 0.1
#: Largest share by which a prompt may have more tokens a byte than any before, where a budget is kept.
MARGIN = 1.1
#: Seconds before an answer that is none is asked for again; twice as long each time, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
#: Replies under a model name not seen before after which the first request of a session is given up. A router over ten
#: models repeats a name within eight replies in 98 of 100 sessions; a server that makes up a name per reply never does.
MOST_NEW_NAMES = 8


@dataclass(frozen=True)
class Endpoint:
    """A model at an endpoint, and how it is asked; see :class:`assay.metrics.work.Engine`.

    Attributes:
        judge: the name of the metric: each has a session of its own, which counts its cost.
        url, model: where and what.
        key: environment variable with the key; None for none.
        concurrency: calls in flight.
        timeout: seconds to wait for a reply.
        retries: further tries of a call.
        price: of tokens, given with the metric; None for that of the user's file.
    """

    judge: str
    url: str
    model: str
    key: str | None
    concurrency: int
    timeout: float
    retries: int
    price: Price | None

    @classmethod
    def of(cls, judge: Judge) -> Self:
        """Return the endpoint of a judge.

        Raises:
            InputError: one of the two prices is missing.
        """
        prices = judge.price_in, judge.price_out
        if (prices[0] is None) != (prices[1] is None):
            raise InputError(f"metric {judge}: give both price_in and price_out, or none of them")
        price = None if prices[0] is None or prices[1] is None else Price(input=prices[0], output=prices[1])
        url, model = address_of(judge)
        return cls(judge.name.text, url, model, judge.key, judge.concurrency, judge.timeout, judge.retries, price)

    @property
    def pairs(self) -> int:
        """Pairs in a unit of work; each reply is kept by itself."""
        return 4096

    def open(self) -> EndpointSession:
        """Open a session; nothing is called."""
        return EndpointSession(self)

    def price_by(self, purse: Purse) -> Price | None:
        """Return the prices of the model's tokens, None where the user gave none.

        Raises:
            InputError: there is a budget, and no price.
        """
        price = self.price or purse.prices.get(self.model)
        if price is None and purse.budget is not None:
            raise InputError(
                f"metric {self.judge}: a budget needs the price of a million tokens: price_in=…,price_out=…, or "
                f"`prices=FILE` with a table [{json.dumps(self.model)}]"
            )
        return price


class EndpointSession:
    """Asks an endpoint; see :class:`assay.metrics.work.Session`.

    Args:
        engine: whom, and how.

    Raises:
        InputError: a budget without prices, or a store that cannot be used.
        UnavailableError: openai is not installed, or there is no key.
    """

    def __init__(self, engine: Endpoint) -> None:
        self._engine = engine
        self._purse = current_purse()
        self._price = engine.price_by(self._purse)
        self._tally = Tally()
        #: What went wrong for all calls; those in flight end, others are not begun.
        self._failure: AssayError | None = None
        self._in_flight = self._done = self._total = 0
        self._line = Line(engine)
        self._store = ReplyStore(reply_store())
        self._loop = asyncio.new_event_loop()
        # of its own, since a notebook has a loop that runs; it ends with the process where nobody hangs up
        self._thread = threading.Thread(target=self._loop.run_forever, name="assay judge", daemon=True)
        self._thread.start()
        self._server = self._store.server(engine.url, engine.model)
        self._is_confirmed = False
        known = 0.0 if self._server is None else self._server.tokens_per_byte
        #: Tokens that a byte of a prompt has at most; without a reply, as many as there can be.
        self._most_tokens_per_byte = known * MARGIN or 1.0

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`.

        Raises:
            BudgetError: the budget has no room for another call.
            AssayError: the server gave no reply that can be used, however often it was asked.
        """
        return Scores.joined([self._score(cast("Judge", metric), batch) for metric in metrics])

    def _score(self, judge: Judge, batch: Batch) -> Scores:
        started, calls_before = time.perf_counter(), self._tally.calls
        by_pair = self.replies(judge, batch)
        seconds, calls = time.perf_counter() - started, self._tally.calls - calls_before
        replies = [reply for orders in by_pair for samples in orders for reply in samples]
        for reply in replies:
            self._tally.add(reply, judge.worth(reply))
        self._tally.pairs += len(batch)
        # what was kept took no time: the speed is that of the calls
        return judge.scores_of(batch, by_pair, seconds * len(replies) / calls if calls else 0.0)

    def replies(self, judge: Judge, batch: Batch) -> list[list[list[Reply]]]:
        """Return the replies on each pair, for each order of its texts, one a sample: kept ones, and others asked now.

        Raises:
            BudgetError, AssayError: see :meth:`score`.
        """
        replies, samples, orders = self._replies(judge, batch), judge.samples, judge.orders
        by_order = [replies[start : start + samples] for start in range(0, len(replies), samples)]
        return [by_order[start : start + orders] for start in range(0, len(by_order), orders)]

    def _replies(self, judge: Judge, batch: Batch) -> list[Reply]:
        """Return a reply to each request, pair by pair."""
        requests = list(requests_of(judge, batch, self._server))
        replies = self._kept(requests)
        self._done, self._total = sum(reply is not None for reply in replies), len(replies)
        contacts: set[int] = set()
        while not self._is_confirmed and None in replies:
            number = replies.index(None)
            served = None if self._server is None else self._server.served
            replies[number] = self._wait(self._contact, requests[number])
            contacts.add(number)
            if self._server is not None and self._server.served != served:
                # replies of the model that was there before are not its own
                requests = list(requests_of(judge, batch, self._server))
                first, replies = replies[number], self._kept(requests)
                replies[number] = first
            if self._is_confirmed:
                self._keep(requests[number], replies[number])
        missing = [number for number, reply in enumerate(replies) if reply is None]
        self._tally.kept += len(replies) - len(missing) - len(contacts)
        if missing:
            self._wait(self._ask_all, requests, replies, iter(missing), len(missing))
        return cast("list[Reply]", replies)

    def _kept(self, requests: Sequence[Request]) -> list[Reply | None]:
        """Return the replies that were kept, None for each other request."""
        if self._purse.fresh:
            return [None] * len(requests)
        return [self._store.get(request.digest) for request in requests]

    def _keep(self, request: Request, reply: Reply | None) -> None:
        """Put a reply into the store; what was not paid for is asked again."""
        if reply is not None and reply.flag != Flag.TOO_LONG and reply.seconds:
            self._store.put(request.digest, reply)

    def _wait(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run work in the event loop, tell how far it is, and return its result; whatever ends this ends it."""
        if self._failure is not None:
            raise self._failure
        future: Future[Any] = asyncio.run_coroutine_threadsafe(work(*arguments), self._loop)
        try:
            while not wait([future], timeout=GLANCE).done:
                tell_share(self._done / max(1, self._total))
        except BaseException:
            future.cancel()
            raise
        return future.result()

    async def _contact(self, request: Request) -> Reply:
        """Return the reply to the first request of a session, and learn what the server gives.

        A name of the model that is neither the one asked for nor the one known is believed when it comes twice.
        """
        known = self._server or Server("", "", "probability")
        names = {self._engine.model, known.served}
        new_names: list[str] = []
        while True:
            try:
                completion, reply = await self._ask(request, known, None)
            except RefusedRequestError as error:
                if error.flag:
                    return error.reply()
                simpler = _simpler(known, request, error.text)
                if simpler is None:
                    remedy = _remedy(error.text)
                    raise AssayError(f"{self._engine.url} refuses the request: {error.text}{remedy}") from None
                known = simpler
                continue
            if completion.model not in names:
                names.add(completion.model)
                new_names.append(completion.model)
                if len(new_names) == MOST_NEW_NAMES:
                    examples = ", ".join(repr(brief(name)) for name in new_names[:3])
                    raise AssayError(
                        f"{self._engine.url} reports another model name with each reply ({examples}, …): nobody can "
                        "tell which model answers; name one model of the server, or let it report a fixed name"
                    )
            elif request.verdict == "probability" and not reply.first and not reply.flag:
                raise AssayError(f"{self._engine.url} gives no probabilities of tokens; leave verdict=probability away")
            elif request.verdict == "auto" and known.gives == "probability" and not reply.first and not reply.flag:
                known = replace(known, gives="json")
            else:
                ratio = reply.tokens_in / request.size
                self._server = replace(
                    known, served=completion.model, fingerprint=reply.fingerprint, tokens_per_byte=ratio
                )
                self._store.remember(self._engine.url, self._engine.model, self._server)
                self._is_confirmed = True
                return reply

    async def _ask_all(
        self, requests: Sequence[Request], replies: list[Reply | None], missing: Iterator[int], count: int
    ) -> None:
        """Fill in the replies that are missing, several calls at a time."""
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._engine.concurrency, count)):
                group.create_task(self._work(requests, replies, missing))
        if self._failure is not None:
            raise self._failure

    async def _work(self, requests: Sequence[Request], replies: list[Reply | None], missing: Iterator[int]) -> None:
        """Ask one request after the other until none is left, or something goes wrong for all."""
        server = cast("Server", self._server)
        for number in missing:
            if self._failure is not None:
                return
            try:
                _, replies[number] = await self._ask(requests[number], server, server.served)
                self._keep(requests[number], replies[number])
            except RefusedRequestError as error:
                replies[number] = error.reply()
            except AssayError as error:
                self._failure = self._failure or error
                return
            self._done += 1

    async def _ask(self, request: Request, server: Server, served: str | None) -> tuple[Completion, Reply]:
        """Return what the server answers; an answer that is none is asked for again.

        Args:
            request: what to ask.
            server: what it understands.
            served: the model that must answer; None for any.

        Raises:
            RefusedRequestError: the server refuses this request.
            BudgetError: the budget has no room for it.
            AssayError: the server cannot be used.
        """
        body = request.body(self._engine.model, server)
        for attempt in range(self._engine.retries + 1):
            reserved = await self._reserve(request, body[server.limit])
            price = 0.0
            self._in_flight += 1
            try:
                started = time.perf_counter()
                content, kind, retries = await self._line.call(body)
                self._tally.retries += retries
                # an answer that cannot be used was paid for, at most so
                price = reserved
                completion = read_completion(content, kind)
                if served is not None and completion.model != served:
                    raise UnusableReplyError(f"{completion.model!r} answered, and not {served!r}")
                reply = completion.reply(max(time.perf_counter() - started, 0.001))
                price = self._count(request, reply, reserved)
                return completion, reply
            except UnusableReplyError as error:
                log.info("%s: try %s of %s: %s", self._engine.url, attempt + 1, self._engine.retries + 1, error)
                self._tally.retries += error.retries
                reason = str(error)
            finally:
                self._in_flight -= 1
                self._purse.settle(reserved, price)
            if attempt < self._engine.retries:
                self._tally.retries += 1
                await asyncio.sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))
        raise AssayError(f"{self._engine.url}: {reason} ({_times(self._engine.retries + 1)}); {KEPT}")

    async def _reserve(self, request: Request, tokens_out: int) -> float:
        """Set aside the most that a call can cost, and return it; waits for calls in flight where that may help.

        Raises:
            BudgetError: the budget has no room for it.
        """
        if self._price is None:
            return 0.0
        while True:
            most = self._price.of(request.size * self._most_tokens_per_byte + FORM_TOKENS, tokens_out)
            if self._purse.reserve(most):
                return most
            if not self._in_flight:
                raise BudgetError(
                    f"the budget of {self._purse.budget:g} has no room for another call: {self._purse.spent:.6g} is "
                    f"spent; {KEPT}, with a larger `budget`"
                )
            await asyncio.sleep(0.01)

    def _count(self, request: Request, reply: Reply, reserved: float) -> float:
        """Count a reply that came, and return its price: the most it can be where the server counts no tokens."""
        self._tally.calls += 1
        self._tally.new_tokens_in += reply.tokens_in
        self._tally.new_tokens_out += reply.tokens_out
        if not reply.tokens_in:
            return reserved
        ratio = MARGIN * reply.tokens_in / request.size
        first = self._tally.calls == 1
        self._most_tokens_per_byte = ratio if first else max(self._most_tokens_per_byte, ratio)
        return 0.0 if self._price is None else self._price.of(reply.tokens_in, reply.tokens_out)

    def cost(self) -> dict[str, Any]:
        """See :meth:`assay.metrics.work.Session.cost`."""
        return self._tally.cost(self._server, self._price)

    def close(self) -> None:
        """Hang up."""
        asyncio.run_coroutine_threadsafe(self._line.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._store.close()


def _simpler(server: Server, request: Request, text: str) -> Server | None:
    """Return what to try next where a server refuses the first request; None where nothing simpler is left.

    Args:
        server: as it was asked.
        request: what it was asked.
        text: its reason.
    """
    if _refused_setting(text):
        return None
    if server.limit == "max_tokens" and "max_completion_tokens" in text:
        return replace(server, limit="max_completion_tokens")
    gives = {"probability": "json", "json": "text"}.get(server.gives)
    return replace(server, gives=gives) if request.verdict == "auto" and gives else None


def _refused_setting(text: str) -> str:
    """Return the setting of sampling that a server says it does not take; empty where it is none of them."""
    return next((name for name in ("temperature", "seed") if re.search(rf"\b{name}\b", text)), "")


def _remedy(text: str) -> str:
    """Return what to do about a refusal, as the end of a message; empty where that is not known."""
    setting = _refused_setting(text)
    if setting:
        return f"; set {setting}=none"
    return "; leave verdict=probability away" if "logprobs" in text else ""


def _times(count: int) -> str:
    return "tried once" if count == 1 else f"tried {count} times"
