"""Judges at an endpoint: concurrent calls to a server with OpenAI's chat completions, each reply stored as it arrives.

The first request of a session is sent alone, to learn what the server supports: token probabilities, JSON with a given
schema, or plain text. However a session ends, a reply that arrived is stored, and is not requested again.
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
from assay.metrics.judge.client import REPLIES_ARE_KEPT, EndpointClient, RefusedRequestError
from assay.metrics.judge.completion import Completion, UnusableReplyError, read_completion
from assay.metrics.judge.replies import Reply, ReplyStore, Server, reply_store_path
from assay.metrics.judge.request import FORM_TOKENS, Request, address_of, judge_requests
from assay.metrics.judge.spending import BudgetError, Price, Purse, Tally, current_purse
from assay.metrics.work import Flag, Scores
from assay.progress import report_share
from assay.visible import brief_text

if TYPE_CHECKING:
    from assay.metrics.judge.judge import Judge

log = logging.getLogger(__name__)

#: Seconds between two progress reports.
SECONDS_BETWEEN_REPORTS = 0.1
#: Safety factor of a budget: the next prompt may have up to this many times the highest tokens per byte so far.
SAFETY_FACTOR = 1.1
#: Seconds before the retry of a call with an unusable reply; doubled with each retry, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
#: Replies with a model name not seen before after which the first request of a session fails. A router over ten models
#: repeats a name within eight replies in 98 of 100 sessions; a server that makes up one name per reply never does.
MOST_NEW_NAMES = 8


@dataclass(frozen=True)
class Endpoint:
    """A model at an endpoint and the settings of its calls; see :class:`assay.metrics.work.Engine`.

    Attributes:
        judge: the name of the metric. It makes engines differ, so that each metric has its own session and cost.
        url: the base address of the server, without a slash at the end.
        model: the name of the model in requests.
        key: the environment variable that holds the API key; None if the server needs no key.
        concurrency: the highest number of calls in flight.
        timeout: seconds to wait for a reply.
        retries: the number of retries of a failed call.
        price: the token prices set with the metric; None to use the price file of the user.
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
    def of_judge(cls, judge: Judge) -> Self:
        """Return the endpoint of a judge.

        Raises:
            InputError: only one of the two prices is set.
        """
        input_price, output_price = judge.price_in, judge.price_out
        if (input_price is None) != (output_price is None):
            raise InputError(f"metric {judge}: give both price_in and price_out, or none of them")
        price = None
        if input_price is not None and output_price is not None:
            price = Price(input=input_price, output=output_price)
        url, model = address_of(judge)
        return cls(judge.name.text, url, model, judge.key, judge.concurrency, judge.timeout, judge.retries, price)

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work; it may be large, since each reply is stored on its own."""
        return 4096

    def open(self) -> EndpointSession:
        """Open the store of replies, and return a session; the server is not called yet.

        Raises:
            InputError: there is a budget without prices, or the store of replies cannot be used.
            UnavailableError: openai is not installed, or there is no key.
        """
        return EndpointSession(self)

    def token_price(self, purse: Purse) -> Price | None:
        """Return the prices of the model's tokens, from the metric's settings or else the purse; None if unknown.

        Raises:
            InputError: there is a budget but no price.
        """
        price = self.price or purse.prices.get(self.model)
        if price is None and purse.budget is not None:
            raise InputError(
                f"metric {self.judge}: a budget needs the price of a million tokens: price_in=…,price_out=…, or "
                f"`prices=FILE` with a table [{json.dumps(self.model)}]"
            )
        return price


class EndpointSession:
    """A session that sends requests to an endpoint and stores the replies; see :class:`assay.metrics.work.Session`.

    Its budget is that of the purse that is current when the session is created.

    Args:
        engine: the endpoint and the settings of its calls.

    Raises:
        InputError: there is a budget without prices, or the store of replies cannot be used.
        UnavailableError: openai is not installed, or there is no key.
    """

    def __init__(self, engine: Endpoint) -> None:
        self._engine = engine
        self._purse = current_purse()
        self._price = engine.token_price(self._purse)
        self._tally = Tally()
        #: The first error that concerns all calls: calls in flight finish, no others are started.
        self._failure: AssayError | None = None
        self._in_flight = self._done = self._total = 0
        self._client = EndpointClient(engine)
        self._store = ReplyStore(reply_store_path())
        self._loop = asyncio.new_event_loop()
        # a thread of its own, since a notebook already runs a loop; a daemon, so that an unclosed session does not keep
        # the process alive
        self._thread = threading.Thread(target=self._loop.run_forever, name="assay judge", daemon=True)
        self._thread.start()
        self._server = self._store.server(engine.url, engine.model)
        self._is_confirmed = False
        measured = 0.0 if self._server is None else self._server.tokens_per_byte
        #: Upper bound of the tokens per byte of a prompt; before any reply 1, since no token is shorter than a byte.
        self._most_tokens_per_byte = measured * SAFETY_FACTOR or 1.0

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m judges, which are asked one after the other; *again* is not used.

        A pair without a verdict has NaN and a flag with the reason.

        Raises:
            InputError: a prompt shows the question, and the batch has none; or a prompt cannot be filled in.
            BudgetError: the budget does not cover another call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        return Scores.concatenate([self._score_batch(cast("Judge", metric), batch) for metric in metrics])

    def _score_batch(self, judge: Judge, batch: Batch) -> Scores:
        """Return the scores of n pairs under one judge, and count its pairs and replies in the tally."""
        started, calls_before = time.perf_counter(), self._tally.calls
        replies_by_pair = self.replies(judge, batch)
        seconds, calls = time.perf_counter() - started, self._tally.calls - calls_before
        replies = [reply for orders in replies_by_pair for samples in orders for reply in samples]
        for reply in replies:
            self._tally.add_reply(reply, judge.worth(reply))
        self._tally.pairs += len(batch)
        # stored replies took no time: scale the time of the calls up to all replies, so that the reported speed is the
        # speed of calls
        scaled_seconds = seconds * len(replies) / calls if calls else 0.0
        return judge.scores_of(batch, replies_by_pair, scaled_seconds)

    def replies(self, judge: Judge, batch: Batch) -> list[list[list[Reply]]]:
        """Return the replies of a judge on a batch, from the store or else from the server; new replies are stored.

        Returns:
            The replies as nested lists, with the indices ``[pair][order of its texts][sample]``.

        Raises:
            BudgetError: the budget does not cover another call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        samples, orders = judge.samples, judge.orders
        replies = self._replies_of_batch(judge, batch)
        by_order = [replies[start : start + samples] for start in range(0, len(replies), samples)]
        return [by_order[start : start + orders] for start in range(0, len(by_order), orders)]

    def _replies_of_batch(self, judge: Judge, batch: Batch) -> list[Reply]:
        """Return the reply to each request of a judge on a batch: pair by pair, order by order, sample by sample.

        Replies that are not stored are requested, and stored as they arrive. The first requests of the session are sent
        one at a time, until one has confirmed what the server supports.
        """
        requests = list(judge_requests(judge, batch, self._server))
        replies = self._stored_replies(requests)
        self._done, self._total = sum(reply is not None for reply in replies), len(replies)
        probed: set[int] = set()
        while not self._is_confirmed and None in replies:
            index = replies.index(None)
            served = None if self._server is None else self._server.served
            replies[index] = self._run_in_loop(self._probe, requests[index])
            probed.add(index)
            if self._server is not None and self._server.served != served:
                # the served model is part of a request's digest: stored replies of another model do not count
                requests = list(judge_requests(judge, batch, self._server))
                probe_reply = replies[index]
                replies = self._stored_replies(requests)
                replies[index] = probe_reply
            if self._is_confirmed:
                self._store_reply(requests[index], replies[index])
        missing = [index for index, reply in enumerate(replies) if reply is None]
        self._tally.kept += len(replies) - len(missing) - len(probed)
        if missing:
            self._run_in_loop(self._ask_all, requests, replies, iter(missing), len(missing))
        return cast("list[Reply]", replies)

    def _stored_replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        """Return the stored reply to each request; None where there is none, or if the user asked for fresh replies."""
        if self._purse.fresh:
            return [None] * len(requests)
        return [self._store.get(request.digest) for request in requests]

    def _store_reply(self, request: Request, reply: Reply | None) -> None:
        """Store a reply; one to a refused or too long request is not stored, so that a later run asks again."""
        # the reply of a refused request has no seconds
        if reply is not None and reply.flag != Flag.TOO_LONG and reply.seconds:
            self._store.put(request.digest, reply)

    def _run_in_loop(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run a coroutine function in the event loop of the session, report progress meanwhile, and return its result.

        An exception in this thread, such as KeyboardInterrupt, cancels the coroutine. If an error has ended earlier
        calls of the session, it is raised again and nothing runs.

        Args:
            work: the coroutine function.
            arguments: its arguments.
        """
        if self._failure is not None:
            raise self._failure
        future: Future[Any] = asyncio.run_coroutine_threadsafe(work(*arguments), self._loop)
        try:
            while not wait([future], timeout=SECONDS_BETWEEN_REPORTS).done:
                report_share(self._done / max(1, self._total))
        except BaseException:
            future.cancel()
            raise
        return future.result()

    async def _probe(self, request: Request) -> Reply:
        """Return the reply to the first request of a session, and record what the server supports.

        The request is sent again with simpler demands until the server accepts it and reports an accepted model name:
        the requested one, the one known from earlier sessions, or one that it reported before. A refusal of the text of
        the pair is returned as a reply, and leaves the server unconfirmed.

        Raises:
            BudgetError: the budget does not cover the request.
            AssayError: the server cannot be used, or reports :data:`MOST_NEW_NAMES` different unexpected names.
        """
        url = self._engine.url
        assumed = self._server or Server("", "", "probability")
        accepted_names = {self._engine.model, assumed.served}
        unexpected_names: list[str] = []
        while True:
            try:
                completion, reply = await self._ask(request, assumed, None)
            except RefusedRequestError as error:
                if error.flag:
                    # this text was refused, which says nothing about the server
                    return error.reply()
                simpler = _simpler_request_form(assumed, request, error.text)
                if simpler is None:
                    remedy = _remedy_for(error.text)
                    raise AssayError(f"{url} refuses the request: {error.text}{remedy}") from None
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
            tokens_per_byte = reply.tokens_in / request.size
            self._server = replace(
                assumed, served=completion.model, fingerprint=reply.fingerprint, tokens_per_byte=tokens_per_byte
            )
            self._store.put_server(url, self._engine.model, self._server)
            self._is_confirmed = True
            return reply

    async def _ask_all(
        self, requests: Sequence[Request], replies: list[Reply | None], missing: Iterator[int], count: int
    ) -> None:
        """Request the missing replies, several at a time, fill them in, and store them.

        Args:
            requests: n requests.
            replies: n replies, None if missing; changed in place.
            missing: the indices of the missing replies.
            count: the number of these indices.

        Raises:
            BudgetError: the budget does not cover another call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._engine.concurrency, count)):
                group.create_task(self._ask_missing(requests, replies, missing))
        if self._failure is not None:
            raise self._failure

    async def _ask_missing(
        self, requests: Sequence[Request], replies: list[Reply | None], missing: Iterator[int]
    ) -> None:
        """Request one missing reply after the other until none is left, or an error concerns all calls.

        Several of these run at a time and share the iterator *missing*, so that each index is handled by one of them. A
        refused request gets a reply with a flag. An error that concerns all calls is recorded, not raised.
        """
        server = cast("Server", self._server)
        for index in missing:
            if self._failure is not None:
                return
            try:
                _, replies[index] = await self._ask(requests[index], server, server.served)
                self._store_reply(requests[index], replies[index])
            except RefusedRequestError as error:
                replies[index] = error.reply()
            except AssayError as error:
                self._failure = self._failure or error
                return
            self._done += 1

    async def _ask(self, request: Request, server: Server, served: str | None) -> tuple[Completion, Reply]:
        """Send a request, and return the completion and the reply read from it; an unusable one is requested again.

        The reply and all retries are counted in the tally, and the price of each attempt is settled with the purse.

        Args:
            request: the request to send.
            server: what the server supports.
            served: the model name that the completion must report; None for any.

        Raises:
            RefusedRequestError: the server refuses this request.
            BudgetError: the budget does not cover it.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        body = request.body(self._engine.model, server)
        for attempt in range(self._engine.retries + 1):
            reserved = await self._reserve(request, body[server.limit])
            price = 0.0
            self._in_flight += 1
            try:
                started = time.perf_counter()
                content, content_type, retries = await self._client.call(body)
                self._tally.retries += retries
                # from here on the call was paid for, even if its answer is unusable; the reserved sum is the most
                price = reserved
                completion = read_completion(content, content_type)
                if served is not None and completion.model != served:
                    raise UnusableReplyError(f"{completion.model!r} answered, and not {served!r}")
                reply = completion.reply(max(time.perf_counter() - started, 0.001))
                price = self._count_reply(request, reply, reserved)
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
        raise AssayError(f"{self._engine.url}: {reason} ({_tries_text(self._engine.retries + 1)}); {REPLIES_ARE_KEPT}")

    async def _reserve(self, request: Request, tokens_out: int) -> float:
        """Reserve the highest price that a call can have, and return it; 0 without prices.

        While calls are in flight, this waits: they may cost less than was reserved for them.

        Args:
            request: the request to send.
            tokens_out: the limit of the tokens of its reply.

        Raises:
            BudgetError: the budget does not cover the call, and no call is in flight.
        """
        if self._price is None:
            return 0.0
        while True:
            # inside the loop, since replies that arrive meanwhile lower or raise the bound
            highest_price = self._price.of_tokens(request.size * self._most_tokens_per_byte + FORM_TOKENS, tokens_out)
            if self._purse.reserve(highest_price):
                return highest_price
            if not self._in_flight:
                raise BudgetError(
                    f"the budget of {self._purse.budget:g} has no room for another call: {self._purse.spent:.6g} is "
                    f"spent; {REPLIES_ARE_KEPT}, with a larger `budget`"
                )
            # until one of the calls in flight may have ended
            await asyncio.sleep(0.01)

    def _count_reply(self, request: Request, reply: Reply, reserved: float) -> float:
        """Count a new reply and return its price, 0.0 without prices; its tokens per byte adjust the bound for prompts.

        Args:
            request: the request that was sent.
            reply: the reply to it.
            reserved: the price reserved for the call, which is returned if the server reports no token counts.
        """
        self._tally.calls += 1
        self._tally.new_tokens_in += reply.tokens_in
        self._tally.new_tokens_out += reply.tokens_out
        if not reply.tokens_in:
            return reserved
        ratio = SAFETY_FACTOR * reply.tokens_in / request.size
        # the first reply replaces the initial bound, which is far too high
        is_first = self._tally.calls == 1
        self._most_tokens_per_byte = ratio if is_first else max(self._most_tokens_per_byte, ratio)
        return 0.0 if self._price is None else self._price.of_tokens(reply.tokens_in, reply.tokens_out)

    def cost(self) -> dict[str, Any]:
        """Return the counts and the price of the session so far, as plain values by name; see :meth:`Tally.cost`."""
        return self._tally.cost(self._server, self._price)

    def close(self) -> None:
        """Close the connections and the store of replies, and end the thread of the event loop."""
        asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._store.close()


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


def _tries_text(count: int) -> str:
    return "tried once" if count == 1 else f"tried {count} times"
