"""Replies that are missing: requested several at a time, claimed so that nobody pays twice, stored as they arrive."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import cast

from assay.exceptions import AssayError
from assay.metrics.judge.calls import NoReplyError, PaidCalls
from assay.metrics.judge.client import PARTS, RefusedRequestError
from assay.metrics.judge.probing import simpler_server
from assay.metrics.judge.replies import Reply, ReplyStore, Server
from assay.metrics.judge.request import Request
from assay.metrics.judge.spending import Tally
from assay.metrics.scores import Flag

#: Seconds between two looks for a reply that another process has requested.
SECONDS_BETWEEN_LOOKS = 0.1
#: The number of requests without a reply, one after the other, that ends the calls of a session. After fewer, their
#: pairs have no score. Errors that the server states may be those of these pairs, which a run that resumes asks first.
MOST_FAILED, MOST_STATED = 5, 50
#: Error statuses that concern the server, whatever the request: overload, maintenance.
_OF_SERVER = (429, 503)


class MissingReplies:
    """What requests the missing replies of a session.

    Args:
        calls: the calls of the session.
        store: the store of replies.
        tally: the counts of the session.
        concurrency: the highest number of calls in flight.
        fresh: whether stored replies are ignored and requested again.

    Attributes:
        failure: the first error that concerns all calls: calls in flight finish, no others are started; None before.
        done: the number of replies that the current batch has.
        server: what the server supports, as known from the first call and from later refusals; None before.
    """

    def __init__(self, calls: PaidCalls, store: ReplyStore, tally: Tally, concurrency: int, *, fresh: bool) -> None:
        self._calls, self._store, self._tally = calls, store, tally
        self._concurrency, self._fresh = concurrency, fresh
        self.failure: AssayError | None = None
        self.done = 0
        self.server: Server | None = None
        #: The number of requests without a reply since the last reply.
        self._failed_in_a_row = 0

    async def ask_all(self, requests: Sequence[Request], replies: list[Reply | None], server: Server) -> Server:
        """Request the missing replies, several at a time, fill them in, and store them.

        Args:
            requests: n requests; equal ones are made once.
            replies: n replies, None if missing; changed in place.
            server: what the server supports.

        Returns:
            What the server supports by now: it may have refused a part of a later request.

        Raises:
            BudgetError: the budget does not cover another call.
            StoreError: replies cannot be read or stored.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        equal: dict[bytes, list[int]] = {}
        for index, reply in enumerate(replies):
            if reply is None:
                equal.setdefault(requests[index].digest, []).append(index)
        missing = deque(equal.values())
        self.server = server
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._concurrency, len(missing))):
                group.create_task(self._ask_missing(requests, replies, missing))
        if self.failure is not None:
            raise self.failure
        return self.server

    async def _ask_missing(
        self,
        requests: Sequence[Request],
        replies: list[Reply | None],
        missing: deque[list[int]],
    ) -> None:
        """Request one missing reply after the other until none is left, or an error concerns all calls.

        Several of these run at a time and share *missing*: each takes the first. A request that another process has
        claimed goes to the end. A request that is refused or fails gets a reply with a flag. An error that concerns all
        calls is recorded in ``failure``, not raised.

        Args:
            requests: n requests.
            replies: n replies, None if missing; changed in place.
            missing: the indices of equal requests without a reply, one list for each such request; changed in place.
        """
        waiting = 0
        while missing and self.failure is None:
            if waiting >= len(missing):
                # another process has claimed all that are left
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
                waiting = 0
                continue
            indices = missing.popleft()
            request = requests[indices[0]]
            try:
                reply, waits = await self._claim_and_ask(request)
            except AssayError as error:
                self.failure = self.failure or error
                return
            if waits:
                missing.append(indices)
                waiting += 1
                continue
            for index in indices:
                replies[index] = reply
            self.done += len(indices)

    async def _claim_and_ask(self, request: Request) -> tuple[Reply | None, bool]:
        """Return the reply to a request, and whether another process has claimed it; the reply is then None.

        The reply is requested and stored, unless another process has stored it meanwhile. In place of one that the
        server refuses or does not send, there is a reply with a flag, which is not stored.

        Raises:
            BudgetError: the budget does not cover the call.
            StoreError: replies cannot be read or stored.
            AssayError: the server cannot be used, or sent no usable reply for too many requests in a row.
        """
        if not self._fresh and not self._store.claim(request.digest):
            reply = self._store.get(request.digest)
            self._tally.kept += reply is not None
            return reply, reply is None
        try:
            reply = await self._ask(request)
            self._failed_in_a_row = 0
            self.keep(request, reply)
            return reply, False
        except RefusedRequestError as error:
            self._failed_in_a_row = 0
            self._store.release(request.digest)
            return error.reply(), False
        except NoReplyError as error:
            self._store.release(request.digest)
            self._failed_in_a_row += 1
            most_failed = MOST_STATED if error.is_stated else MOST_FAILED
            if error.status in _OF_SERVER or self._failed_in_a_row >= most_failed:
                raise
            return self._tally.failure(error.reason), False
        except BaseException:
            self._store.release(request.digest)
            raise

    async def _ask(self, request: Request) -> Reply:
        """Return the reply to a request; if the server refuses a part of it, to one without this part, now and later.

        Raises:
            RefusedRequestError: the server refuses the text, or the simplest request.
            NoReplyError: all tries have failed.
            BudgetError: the budget does not cover the call.
            AssayError: the server cannot be used.
        """
        while True:
            server = cast(Server, self.server)
            try:
                return (await self._calls.ask(request, server, server.served))[1]
            except RefusedRequestError as error:
                # of the text, unless it names a part of the request: what the server accepted before is not given up
                is_named = PARTS.search(error.text) is not None and not error.flag
                simpler = simpler_server(server, request, error.text) if is_named else None
                if simpler is None:
                    raise
                # another call may have learned it meanwhile
                if self.server == server:
                    self.server = simpler

    def keep(self, request: Request, reply: Reply) -> None:
        """Store a reply, or give the claim of its request up if it is not to be stored.

        A reply to a refused or too long request, which has no seconds, is not stored, so that a later run asks again.

        Raises:
            StoreError: the store of replies cannot be written.
        """
        if reply.flag != Flag.TOO_LONG and reply.seconds:
            self._store.put(request.digest, reply)
        else:
            self._store.release(request.digest)
