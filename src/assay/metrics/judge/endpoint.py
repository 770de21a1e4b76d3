"""Judges at an endpoint: concurrent calls to a server with OpenAI's chat completions, each reply stored as it arrives.

The first request of a session is sent alone, to learn what the server supports: token probabilities, JSON with a given
schema, or plain text. However a session ends, a reply that arrived is stored, and is not requested again.
"""

from __future__ import annotations

import asyncio
import functools
import json
import threading
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar, cast

from assay.common.messages import Setting
from assay.common.progress import report_share
from assay.exceptions import InputError
from assay.metrics.base import Batch, Metric
from assay.metrics.judge.calls import NoReplyError, PaidCalls
from assay.metrics.judge.client import EndpointClient
from assay.metrics.judge.judge import Judge
from assay.metrics.judge.missing import MOST_STATED, SECONDS_BETWEEN_LOOKS, MissingReplies
from assay.metrics.judge.probing import OF_REQUEST, learn_server
from assay.metrics.judge.readings import ReadReplies
from assay.metrics.judge.replies import Reply, ReplyStore, Server, reply_store_path, request_digest
from assay.metrics.judge.request import Request, judge_requests
from assay.metrics.judge.spending import Price, Purse, Tally, current_purse
from assay.metrics.scores import Scores

R = TypeVar("R")

#: The number of pairs that end a session without earlier replies if the server states an error for each of them.
MOST_FAILED_FIRST = 3
#: Seconds between two progress reports.
SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True)
class Endpoint:
    """A model at an endpoint and the settings of its calls; see :class:`assay.metrics.base.Engine`.

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
                f"metric {self.judge}: a budget needs the price of a million tokens: price_in=…,price_out=…, or ",
                Setting("prices", "FILE"),
                f" with a table [{json.dumps(self.model)}]",
            )
        return price


@dataclass
class _Batch:
    """The requests of a batch and the replies to them so far.

    Attributes:
        requests: n requests.
        replies: n replies, None for a missing one.
        asked: the indices of the replies that were requested one at a time, not found in the store.
    """

    requests: list[Request]
    replies: list[Reply | None]
    asked: set[int] = field(default_factory=set)

    @property
    def done(self) -> int:
        """The number of replies."""
        return len(self.replies) - self.replies.count(None)

    def add(self, index: int, reply: Reply) -> None:
        """Add a reply that was requested."""
        self.replies[index] = reply
        self.asked.add(index)


class EndpointSession:
    """A session that sends requests to an endpoint and stores the replies; see :class:`assay.metrics.base.Session`.

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
        self._tally, self._read = Tally(), ReadReplies()
        self._client = EndpointClient(engine.url, engine.model, engine.key, engine.timeout)
        self._calls = PaidCalls(self._client, engine.retries, self._purse, self._price, self._tally)
        self._store = ReplyStore(reply_store_path())
        fresh = self._purse.fresh
        self._missing = MissingReplies(self._calls, self._store, self._tally, engine.concurrency, fresh=fresh)
        self._total = 0
        self._loop = asyncio.new_event_loop()
        # a thread of its own, since a notebook already runs a loop; a daemon, so that an unclosed session does not keep
        # the process alive
        self._thread = threading.Thread(target=self._loop.run_forever, name="assay judge", daemon=True)
        self._thread.start()
        self._server = self._store.server(engine.url, engine.model)
        self._is_confirmed = False

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m judges, which are asked one after the other; *again* is not used.

        A pair without a verdict has NaN and a flag with the reason.

        Raises:
            InputError: a prompt shows the question or context, which the batch lacks; or a prompt cannot be filled in.
            BudgetError: the budget does not cover another call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        return Scores.concatenate([self._score_batch(cast(Judge, metric), batch) for metric in metrics])

    def _score_batch(self, judge: Judge, batch: Batch) -> Scores:
        """Return the scores of n pairs under one judge, and count its pairs and replies in the tally.

        The errors are those of :meth:`score`.
        """
        started, calls_before = time.perf_counter(), self._tally.calls
        replies_by_pair = self.replies(judge, batch)
        seconds, calls = time.perf_counter() - started, self._tally.calls - calls_before
        replies_in_order = list(chain.from_iterable(chain.from_iterable(replies_by_pair)))
        for reply in replies_in_order:
            self._tally.add_reply(reply, judge.read(reply))
        self._read.add_batch(judge, batch, replies_by_pair)
        self._tally.pairs += len(batch)
        # stored replies took no time: scale the time of the calls up to all replies, so that the reported speed is the
        # speed of calls
        scaled_seconds = seconds * len(replies_in_order) / calls if calls else 0.0
        return judge.scores_of(batch, replies_by_pair, scaled_seconds)

    def replies(self, judge: Judge, batch: Batch) -> list[list[list[Reply]]]:
        """Return the replies of a judge on a batch, from the store or else from the server; new replies are stored.

        Returns:
            The replies as nested lists, with the indices ``[pair][order of its texts][sample]``.

        Raises:
            InputError: the prompt shows the question or context, which the batch lacks; or it cannot be filled in.
            BudgetError: the budget does not cover another call.
            StoreError: replies cannot be read or stored.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        samples, orders = judge.samples, judge.orders
        replies = self.replies_to(functools.partial(judge_requests, judge, batch))
        by_order = [replies[start : start + samples] for start in range(0, len(replies), samples)]
        return [by_order[start : start + orders] for start in range(0, len(by_order), orders)]

    def replies_to(self, requests_of: Callable[[Server | None], Iterable[Request]]) -> list[Reply]:
        """Return the reply to each request, in order.

        Replies that are not stored are requested, and stored as they arrive. A request is claimed in the store first,
        so that no other process makes it meanwhile; the reply to one that another process has claimed is waited for.
        The first requests of the session are sent one at a time, until one has confirmed what the server supports.

        Args:
            requests_of: returns the requests, always as many, given what is known of the server, which is a part of
                each digest; None if it was never called.

        Raises:
            BudgetError: the budget does not cover another call.
            StoreError: replies cannot be read or stored.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        batch = self._look_up(requests_of)
        failed_before = self._tally.failed
        while not self._is_confirmed and None in batch.replies:
            index, claimed = self._claim_any(batch)
            try:
                if self._reload_server():
                    # another process has learned which model is served, which is a part of every request's digest
                    batch = self._look_up(requests_of)
                elif index is None:
                    self._wait_for_others(batch)
                else:
                    batch = self._ask_first(batch, index, requests_of, failed_before)
            finally:
                if index is not None:
                    self._store.release(claimed)
        self._missing.done, self._total = batch.done, len(batch.replies)
        self._tally.kept += batch.done - len(batch.asked)
        if None in batch.replies:
            self._ask_missing(batch)
        return cast("list[Reply]", batch.replies)

    def _ask_first(
        self,
        batch: _Batch,
        index: int,
        requests_of: Callable[[Server | None], Iterable[Request]],
        failed_before: int,
    ) -> _Batch:
        """Send a request alone, store the reply and what it tells of the server, and return the batch with the reply.

        If the requests have other digests by what was learned, the batch is looked up anew.

        Args:
            batch: the requests and the replies so far.
            index: the index of the request to send, which is claimed.
            requests_of: returns the requests, given what is known of the server.
            failed_before: the number of failed requests in the tally before this batch.

        Raises:
            BudgetError: the budget does not cover the call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        decisive_before = self._decisive
        reply = self._ask_alone(batch, index)
        if self._decisive != decisive_before:
            # replies of another model do not count, and pairs without one are asked again
            self._tally.failed = failed_before
            batch = self._look_up(requests_of)
        batch.add(index, reply)
        self._missing.keep(batch.requests[index], reply)
        if self._server is not None and self._is_confirmed:
            # after the reply, since other processes look for it as soon as they know what is served
            self._store.put_server(self._engine.url, self._engine.model, self._server)
        return batch

    def _look_up(self, requests_of: Callable[[Server | None], Iterable[Request]]) -> _Batch:
        """Return the requests by what is known of the server, with the stored replies to them."""
        requests = list(requests_of(self._server))
        return _Batch(requests, self._stored_replies(requests))

    def _wait_for_others(self, batch: _Batch) -> None:
        """Wait a moment for replies that other processes have requested, and fill in those that are stored by then."""
        time.sleep(SECONDS_BETWEEN_LOOKS)
        report_share(self._missing.done / max(1, self._total))
        stored = self._stored_replies(batch.requests)
        batch.replies = [present or new for present, new in zip(batch.replies, stored, strict=True)]

    def _ask_alone(self, batch: _Batch, index: int) -> Reply:
        """Return the reply to a request that is sent alone; what it tells of the server is confirmed from then on.

        An error that may be one of this pair is returned as a reply without a verdict, unless there were too many.

        Raises:
            BudgetError: the budget does not cover the call.
            NoReplyError: all tries have failed, and the error is one of the server, or too many pairs had one.
            AssayError: the server cannot be used.
        """
        url, model = self._engine.url, self._engine.model
        ask = functools.partial(learn_server, self._calls, batch.requests[index], url, model, self._server)
        try:
            reply, learned = self._run_in_loop(ask)
        except NoReplyError as error:
            is_of_pair = error.is_stated or error.status in OF_REQUEST
            has_stored_replies = batch.done > len(batch.asked)
            most_failed = MOST_STATED if has_stored_replies and error.is_stated else MOST_FAILED_FIRST
            # fewer errors suffice if there are fewer pairs: all of them have one then
            if not is_of_pair or self._tally.failed + 1 >= min(most_failed, len(batch.replies)):
                raise
            return self._tally.failure(error.reason)
        if learned is not None:
            self._server, self._is_confirmed = learned, True
        return reply

    def _ask_missing(self, batch: _Batch) -> None:
        """Request the missing replies of a batch, several at a time, from a server that is known.

        The errors are those of :meth:`replies_to`.
        """
        known_server = cast(Server, self._server)
        ask_all = functools.partial(self._missing.ask_all, batch.requests, batch.replies, known_server)
        self._server = self._run_in_loop(ask_all)
        if self._server != known_server:
            self._store.put_server(self._engine.url, self._engine.model, self._server)

    @property
    def _decisive(self) -> tuple[str, bool] | None:
        """What decides the digest of a request: the model's name, and whether it thinks; None until a reply came."""
        return None if self._server is None else (self._server.served, self._server.reasons)

    def _reload_server(self) -> bool:
        """Read what is known of the server from the store, and tell whether requests have other digests by that."""
        known_server, before = self._store.server(self._engine.url, self._engine.model), self._decisive
        if known_server is None or (known_server.served, known_server.reasons) == before:
            return False
        self._server = known_server
        return True

    def _stored_replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        """Return the stored reply to each request; None where there is none, or if the user asked for fresh replies."""
        if self._purse.fresh:
            return [None] * len(requests)
        return [self._store.get(request.digest) for request in requests]

    def _claim_any(self, batch: _Batch) -> tuple[int | None, bytes]:
        """Claim the first request without a reply that no other process has claimed.

        Until it is known which model is served, equal requests have other digests afterwards. Then one process at a
        time may send requests to the endpoint, and what is claimed is the right to do so.

        Returns:
            The index of the request, None if other processes have claimed all, and the digest that was claimed.

        Raises:
            StoreError: the store of replies cannot be written.
        """
        claims: Iterable[tuple[int, bytes]]
        if self._server is None:
            first_call = request_digest({"first call of": [self._engine.url, self._engine.model]})
            claims = [(batch.replies.index(None), first_call)]
        else:
            missing = (index for index, reply in enumerate(batch.replies) if reply is None)
            claims = ((index, batch.requests[index].digest) for index in missing)
        for index, digest in claims:
            if self._purse.fresh or self._store.claim(digest):
                return index, digest
        return None, b""

    def _run_in_loop(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Run a coroutine function in the event loop of the session, report progress meanwhile, and return its result.

        An exception in this thread, such as KeyboardInterrupt, cancels the coroutine.

        Raises:
            AssayError: an error has ended earlier calls of the session: it is raised again, and nothing runs.
            BaseException: whatever the coroutine raises.
        """
        if self._missing.failure is not None:
            raise self._missing.failure
        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            while not wait([future], timeout=SECONDS_BETWEEN_REPORTS).done:
                report_share(self._missing.done / max(1, self._total))
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def cost(self) -> dict[str, Any]:
        """Return the counts and the price of the session so far, as plain values by name; see :meth:`Tally.cost`."""
        self._tally.key_repeats = self._client.repeats
        return self._tally.cost(self._server, self._price) | self._read.details()

    def close(self) -> None:
        """Close the connections and the store of replies, and end the thread of the event loop."""
        asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._store.close()
