"""Calls that are paid for: each try within the budget, repeated until a reply can be used."""

from __future__ import annotations

import asyncio
import logging
import random
import time

from assay.common.messages import Setting
from assay.exceptions import AssayError
from assay.metrics.judge.client import EndpointClient, RefusedRequestError
from assay.metrics.judge.completion import Completion, FailedCallError, read_completion
from assay.metrics.judge.replies import Reply, Server
from assay.metrics.judge.request import Request
from assay.metrics.judge.spending import BudgetError, Price, Purse, Tally

log = logging.getLogger(__name__)

#: Seconds before the first retry of a call; doubled with each retry, up to the longest, and up to a quarter less.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0


class OtherModelError(FailedCallError):
    """Another model answered than that of the first reply."""


class NoReplyError(AssayError):
    """All tries of a request have failed, or the server refuses each form of it.

    Attributes:
        status: the status of the last answer; 0 if it was none, or not a completion.
        reason: why the last try failed.
        is_stated: whether the error may be one of this pair alone: the server refuses each form of the request, or
            states an error in an answer with a status of success.
    """

    def __init__(self, *parts: str | Setting, failure: FailedCallError) -> None:
        super().__init__(*parts)
        self.status, self.reason, self.is_stated = failure.status, str(failure), failure.is_stated


class PaidCalls:
    """The calls of a session, counted in its tally and paid from the purse of the run.

    Before each try, the purse reserves the most that it can cost, by a bound that holds for any text. Afterwards the
    price by the token counts of the server is settled. If the cost is unknown, since no answer arrived or it reports no
    counts, all that was reserved counts as spent.

    Args:
        client: the client of the endpoint.
        retries: the number of retries of a failed call.
        purse: the purse of the run.
        price: the token prices; None if unknown, and then nothing is reserved.
        tally: the counts of the session.
    """

    def __init__(self, client: EndpointClient, retries: int, purse: Purse, price: Price | None, tally: Tally) -> None:
        self._client, self._retries, self._purse, self._price, self._tally = client, retries, purse, price, tally
        self._in_flight = 0
        #: The most tokens beyond the bound of a request that the server has counted, for prompts and for replies: a
        #: server may add a prompt of its own, or think before it replies.
        self._more_tokens = (0, 0)

    @property
    def _remedy(self) -> tuple[str | Setting, ...]:
        """How to go on after an error that may pass, as the end of a message; empty if no reply would be kept."""
        if not self._tally.calls + self._tally.kept:
            return ()
        if self._purse.fresh:
            return ("; the replies received so far are kept: without ", Setting("fresh"), " the same command continues")
        return ("; the replies received so far are kept, and the same command continues",)

    async def ask(
        self, request: Request, server: Server, served: str | None, *, tries: int | None = None
    ) -> tuple[Completion, Reply]:
        """Send a request, and return the completion and the reply read from it; a failed call is repeated.

        Args:
            request: the request to send.
            server: what the server supports.
            served: the model name that the completion must report; None for any.
            tries: the number of tries; None for one more than the retries of the metric.

        Raises:
            RefusedRequestError: the server refuses this request.
            NoReplyError: all tries have failed.
            BudgetError: the budget does not cover it.
            AssayError: the server cannot be used.
        """
        body = request.body(self._client.model, server)
        limits = request.most_tokens(server), int(body[server.limit])
        most_tries = tries or self._retries + 1
        number = 1
        while True:
            try:
                return await self._try(body, limits, served)
            except FailedCallError as failure:
                log.info("%s: try %s of %s: %s", self._client.url, number, most_tries, failure)
                if number >= most_tries:
                    raise self._no_reply_error(failure, most_tries) from None
                wait = failure.wait
            self._tally.retries += 1
            # with a larger exponent, the pause would still be the longest
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(number - 1, 10)) * random.uniform(0.75, 1)
            await asyncio.sleep(wait or pause)
            number += 1

    def _no_reply_error(self, failure: FailedCallError, tries: int) -> NoReplyError:
        """Return the error to raise after the last of some tries has failed.

        Args:
            failure: the error of that try.
            tries: the number of tries.
        """
        url = self._client.url
        # a server that answers with another name does so again
        remedy = () if isinstance(failure, OtherModelError) else self._remedy
        if failure.status:
            retries = "1 retry" if tries == 2 else f"{tries - 1} retries"
            when = "at once" if tries == 1 else f"after {retries}"
            return NoReplyError(f"{url} answers {failure.status} {when}: {failure}", *remedy, failure=failure)
        count = "once" if tries == 1 else f"{tries} times"
        return NoReplyError(f"{url}: {failure} (tried {count})", *remedy, failure=failure)

    async def _try(
        self, body: dict[str, object], limits: tuple[int, int], served: str | None
    ) -> tuple[Completion, Reply]:
        """Make one call, settle its price with the purse however it ends, and return the completion and the reply.

        Args:
            body: the JSON body of the request.
            limits: the most tokens of the prompt and of the reply.
            served: the model name that the completion must report; None for any.

        Raises:
            FailedCallError: there is no usable reply, and another try may give one.
            RefusedRequestError: the server refuses this request.
            BudgetError: the budget does not cover it.
            AssayError: the server cannot be used.
        """
        reserved = await self._reserve(limits)
        # until it is known, the price is the highest: a call that is cancelled may have been served
        price, is_known = reserved, False
        self._in_flight += 1
        try:
            started = time.perf_counter()
            completion = read_completion(*await self._client.call(body))
            if served is not None and completion.model != served:
                raise OtherModelError(f"{completion.model!r} answered, and not {served!r}")
            reply = completion.reply(max(time.perf_counter() - started, 0.001))
            is_known = bool(reply.tokens_in and (reply.tokens_out or not reply.text))
            # if the server has counted more than the limits allow, the bound of later calls is higher
            more_in, more_out = self._more_tokens
            self._more_tokens = max(more_in, reply.tokens_in - limits[0]), max(more_out, reply.tokens_out - limits[1])
            price = self._price_of(reply, limits)
            self._tally.calls += 1
            self._tally.new_tokens_in += reply.tokens_in
            self._tally.new_tokens_out += reply.tokens_out
            return completion, reply
        except FailedCallError as error:
            if error.is_free:
                price, is_known = 0.0, True
            raise
        except (RefusedRequestError, AssayError):
            price, is_known = 0.0, True
            raise
        finally:
            self._in_flight -= 1
            self._purse.settle(reserved, price)
            self._tally.spent += price
            if not is_known:
                self._tally.unknown += 1
                self._tally.unknown_price += price

    def _price_of(self, reply: Reply, limits: tuple[int, int]) -> float:
        """Return the price of a reply, with the limit in place of each count that the server does not report."""
        tokens_in = reply.tokens_in or limits[0]
        tokens_out = reply.tokens_out or (limits[1] if reply.text else 0)
        return 0.0 if self._price is None else self._price.of_tokens(tokens_in, tokens_out)

    async def _reserve(self, limits: tuple[int, int]) -> float:
        """Reserve the highest price that a call can have, and return it; 0 without prices.

        If the budget does not cover it, this waits while calls are in flight: they may cost less than was reserved.

        Args:
            limits: the most tokens of the prompt and of the reply.

        Raises:
            BudgetError: the budget does not cover the call, and no call is in flight.
        """
        if self._price is None:
            return 0.0
        while True:
            # inside the loop, since a reply that arrives meanwhile may raise the bound
            tokens_in, tokens_out = (limit + more for limit, more in zip(limits, self._more_tokens, strict=True))
            highest_price = self._price.of_tokens(tokens_in, tokens_out)
            if self._purse.reserve(highest_price):
                return highest_price
            if not self._in_flight:
                raise BudgetError(
                    f"the budget of {self._purse.budget:g} has no room for another call: {self._purse.spent:.6g} is "
                    f"spent, and the next may cost up to {highest_price:.2g}",
                    *(self._remedy or ("; the same command continues",)),
                    ", with a larger ",
                    Setting("budget"),
                )
            # until one of the calls in flight may have ended
            await asyncio.sleep(0.01)
