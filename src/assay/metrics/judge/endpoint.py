"""Judges at an endpoint: concurrent calls to a server with OpenAI's chat completions, each reply stored as it arrives.

The first request of a session is sent alone, to learn what the server supports: token probabilities, JSON with a given
schema, or plain text. However a session ends, a reply that arrived is stored, and is not requested again.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

from assay.errors import AssayError, InputError
from assay.messages import Setting
from assay.metrics.base import Batch, Metric
from assay.metrics.judge.calls import PaidCalls
from assay.metrics.judge.client import EndpointClient, RefusedRequestError
from assay.metrics.judge.replies import Reply, ReplyStore, Server, reply_store_path, request_digest
from assay.metrics.judge.request import Request, address_of, judge_requests
from assay.metrics.judge.spending import Price, Purse, Tally, current_purse
from assay.metrics.work import Flag, Scores
from assay.progress import report_share
from assay.visible import brief_text

if TYPE_CHECKING:
    from assay.metrics.judge.judge import Judge

#: Seconds between two progress reports.
SECONDS_BETWEEN_REPORTS = 0.1
#: Seconds between two looks for a reply that another process has requested.
SECONDS_BETWEEN_LOOKS = 0.1
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
                f"metric {self.judge}: a budget needs the price of a million tokens: price_in=…,price_out=…, or ",
                Setting("prices", "FILE"),
                f" with a table [{json.dumps(self.model)}]",
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
        self._done = self._total = 0
        self._client = EndpointClient(engine)
        self._calls = PaidCalls(self._client, engine, self._purse, self._price, self._tally)
        self._store = ReplyStore(reply_store_path())
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

        Replies that are not stored are requested, and stored as they arrive. A request is claimed in the store first,
        so that no other process makes it meanwhile; the reply to one that another process has claimed is waited for.
        The first requests of the session are sent one at a time, until one has confirmed what the server supports.
        """
        requests = list(judge_requests(judge, batch, self._server))
        replies = self._stored_replies(requests)
        probed: set[int] = set()
        while not self._is_confirmed and None in replies:
            index, claimed = self._claim_any(requests, replies)
            served = self._served
            if self._reload_server():
                # another process has learned which model is served, which is a part of every request's digest
                self._store.release(claimed)
                requests, probed = list(judge_requests(judge, batch, self._server)), set()
                replies = self._stored_replies(requests)
            elif index is None:
                # another process has requested all that are missing
                time.sleep(SECONDS_BETWEEN_LOOKS)
                report_share(self._done / max(1, self._total))
                found = self._stored_replies(requests)
                replies = [old or new for old, new in zip(replies, found, strict=True)]
            else:
                try:
                    reply = self._run_in_loop(self._probe, requests[index])
                    if self._served != served:
                        # replies of another model do not count
                        requests, probed = list(judge_requests(judge, batch, self._server)), set()
                        replies = self._stored_replies(requests)
                    self._keep(requests[index], reply)
                    if self._is_confirmed:
                        # after the reply, since other processes look for it as soon as they know what is served
                        self._store.put_server(self._engine.url, self._engine.model, cast("Server", self._server))
                finally:
                    self._store.release(claimed)
                replies[index] = reply
                probed.add(index)
        self._done, self._total = sum(reply is not None for reply in replies), len(replies)
        self._tally.kept += self._done - len(probed)
        if None in replies:
            self._run_in_loop(self._ask_all, requests, replies)
        return cast("list[Reply]", replies)

    @property
    def _served(self) -> str | None:
        """The model name that the server is known to report; None if it was never called."""
        return None if self._server is None else self._server.served

    def _reload_server(self) -> bool:
        """Read what is known of the server from the store, and tell whether that is another model than before."""
        known = self._store.server(self._engine.url, self._engine.model)
        if known is None or known.served == self._served:
            return False
        self._server = known
        return True

    def _stored_replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        """Return the stored reply to each request; None where there is none, or if the user asked for fresh replies."""
        if self._purse.fresh:
            return [None] * len(requests)
        return [self._store.get(request.digest) for request in requests]

    def _claim_any(self, requests: Sequence[Request], replies: list[Reply | None]) -> tuple[int | None, bytes]:
        """Claim the first request without a reply that no other process has claimed.

        Until it is known which model is served, equal requests have other digests afterwards. Then one process at a
        time may send requests to the endpoint, and what is claimed is the right to do so.

        Returns:
            The index of the request, None if other processes have claimed all, and the digest that was claimed.
        """
        missing = [index for index, reply in enumerate(replies) if reply is None]
        unknown = (
            request_digest({"first call of": [self._engine.url, self._engine.model]}) if self._server is None else None
        )
        for index in missing[: None if unknown is None else 1]:
            digest = unknown or requests[index].digest
            if self._purse.fresh or self._store.claim(digest):
                return index, digest
        return None, b""

    def _keep(self, request: Request, reply: Reply) -> None:
        """Store a reply, or give the claim of its request up if it is not to be stored.

        A reply to a refused or too long request, which has no seconds, is not stored, so that a later run asks again.
        """
        if reply.flag != Flag.TOO_LONG and reply.seconds:
            self._store.put(request.digest, reply)
        else:
            self._store.release(request.digest)

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
        """Return the reply to the first request of a session, and learn what the server supports.

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
                completion, reply = await self._calls.ask(request, assumed, None)
            except RefusedRequestError as error:
                if error.flag:
                    # this text was refused, which says nothing about the server
                    return error.reply()
                simpler = _simpler_request_form(assumed, request, error.text)
                if simpler is None:
                    remedy = _remedy_for(error.text)
                    raise AssayError(f"{url} refuses the request: {error.text}", remedy) from None
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
            tokens_per_byte = reply.tokens_in / max(1, request.size)
            self._server = replace(
                assumed, served=completion.model, fingerprint=reply.fingerprint, tokens_per_byte=tokens_per_byte
            )
            self._is_confirmed = True
            return reply

    async def _ask_all(self, requests: Sequence[Request], replies: list[Reply | None]) -> None:
        """Request the missing replies, several at a time, fill them in, and store them.

        Args:
            requests: n requests; equal ones are made once.
            replies: n replies, None if missing; changed in place.

        Raises:
            BudgetError: the budget does not cover another call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        equal: dict[bytes, list[int]] = {}
        for index, reply in enumerate(replies):
            if reply is None:
                equal.setdefault(requests[index].digest, []).append(index)
        missing = deque(equal.values())
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._engine.concurrency, len(missing))):
                group.create_task(self._ask_missing(requests, replies, missing))
        if self._failure is not None:
            raise self._failure

    async def _ask_missing(
        self, requests: Sequence[Request], replies: list[Reply | None], missing: deque[list[int]]
    ) -> None:
        """Request one missing reply after the other until none is left, or an error concerns all calls.

        Several of these run at a time and share *missing*, the indices of equal requests: each takes the first. Those
        of a request that another process has claimed go to the end. A refused request gets a reply with a flag. An
        error that concerns all calls is recorded, not raised.
        """
        server = cast("Server", self._server)
        waiting = 0
        while missing and self._failure is None:
            if waiting >= len(missing):
                # another process has claimed all that are left
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
                waiting = 0
                continue
            indices = missing.popleft()
            request = requests[indices[0]]
            try:
                reply, waits = await self._claim_and_ask(request, server)
            except AssayError as error:
                self._failure = self._failure or error
                return
            if waits:
                missing.append(indices)
                waiting += 1
                continue
            for index in indices:
                replies[index] = reply
            self._done += len(indices)

    async def _claim_and_ask(self, request: Request, server: Server) -> tuple[Reply | None, bool]:
        """Return the reply to a request, and whether another process has claimed it, so that there is none yet.

        The reply is requested and stored, unless another process has stored it meanwhile.

        Raises:
            BudgetError: the budget does not cover the call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        if not self._purse.fresh and not self._store.claim(request.digest):
            reply = self._store.get(request.digest)
            self._tally.kept += reply is not None
            return reply, reply is None
        try:
            _, reply = await self._calls.ask(request, server, server.served)
            self._keep(request, reply)
            return reply, False
        except RefusedRequestError as error:
            self._store.release(request.digest)
            return error.reply(), False
        except BaseException:
            self._store.release(request.digest)
            raise

    def cost(self) -> dict[str, Any]:
        """Return the counts and the price of the session so far, as plain values by name; see :meth:`Tally.cost`."""
        self._tally.key_repeats = self._client.repeats
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
