"""Replies that are missing: requested several at a time, claimed so that nobody pays twice, stored as they arrive."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from assay.exceptions import AssayError
from assay.metrics.judge.calls import PaidCalls
from assay.metrics.judge.client import RefusedRequestError
from assay.metrics.judge.replies import Reply, ReplyStore, Server
from assay.metrics.judge.request import Request
from assay.metrics.judge.spending import Tally
from assay.metrics.scores import Flag

#: Seconds between two looks for a reply that another process has requested.
SECONDS_BETWEEN_LOOKS = 0.1


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
    """

    def __init__(self, calls: PaidCalls, store: ReplyStore, tally: Tally, concurrency: int, *, fresh: bool) -> None:
        self._calls, self._store, self._tally = calls, store, tally
        self._concurrency, self._fresh = concurrency, fresh
        self.failure: AssayError | None = None
        self.done = 0

    async def ask_all(self, requests: Sequence[Request], replies: list[Reply | None], server: Server) -> None:
        """Request the missing replies, several at a time, fill them in, and store them.

        Args:
            requests: n requests; equal ones are made once.
            replies: n replies, None if missing; changed in place.
            server: what the server supports.

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
            for _ in range(min(self._concurrency, len(missing))):
                group.create_task(self._ask_missing(requests, replies, missing, server))
        if self.failure is not None:
            raise self.failure

    async def _ask_missing(
        self,
        requests: Sequence[Request],
        replies: list[Reply | None],
        missing: deque[list[int]],
        server: Server,
    ) -> None:
        """Request one missing reply after the other until none is left, or an error concerns all calls.

        Several of these run at a time and share *missing*, the indices of equal requests: each takes the first. Those
        of a request that another process has claimed go to the end. A refused request gets a reply with a flag. An
        error that concerns all calls is recorded, not raised.
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
                reply, waits = await self._claim_and_ask(request, server)
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

    async def _claim_and_ask(self, request: Request, server: Server) -> tuple[Reply | None, bool]:
        """Return the reply to a request, and whether another process has claimed it, so that there is none yet.

        The reply is requested and stored, unless another process has stored it meanwhile.

        Raises:
            BudgetError: the budget does not cover the call.
            AssayError: the server cannot be used, or sent no usable reply despite all retries.
        """
        if not self._fresh and not self._store.claim(request.digest):
            reply = self._store.get(request.digest)
            self._tally.kept += reply is not None
            return reply, reply is None
        try:
            _, reply = await self._calls.ask(request, server, server.served)
            self.keep(request, reply)
            return reply, False
        except RefusedRequestError as error:
            self._store.release(request.digest)
            return error.reply(), False
        except BaseException:
            self._store.release(request.digest)
            raise

    def keep(self, request: Request, reply: Reply) -> None:
        """Store a reply, or give the claim of its request up if it is not to be stored.

        A reply to a refused or too long request, which has no seconds, is not stored, so that a later run asks again.
        """
        if reply.flag != Flag.TOO_LONG and reply.seconds:
            self._store.put(request.digest, reply)
        else:
            self._store.release(request.digest)
