"""Replies of language models, and the database that stores each as it arrives, since it was paid for.

Requests under way are stored, too, so that no two processes pay for the same reply.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
import zlib
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay.common.database import Database
from assay.common.output import remove_leftovers, unfinished_folder
from assay.paths import cache_dir

#: Seconds after which a claim is taken over even if its session seems to live, as on file systems without locks.
LONGEST_CLAIM = 3600.0
#: Fewest seconds between two looks for sessions that have ended.
SECONDS_BETWEEN_LOOKS = 0.5
#: Whether the system has locks that tell whether a session lives; without them, no claim is respected.
_HAS_LOCKS = find_spec("fcntl") is not None


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the reply, or the reason if the model or the server refused.
        first: the probability of each of the most probable first tokens of the answer, without the reasoning before it,
            in [0, 1]; empty if the model reports none, or not those of this token.
        flag: the :class:`assay.metrics.scores.Flag` of a reply without a verdict (refused, too long), or 0.
        tokens_in, tokens_out: the token counts of prompt and reply, by the server; 0 if it reports none.
        seconds: the time from the call to the reply; 0 for a request that was refused.
        fingerprint: the identifier of the server's configuration; empty if it reports none.
        token: the first token of the answer; None if it is not known, as of replies that versions before 1.1 stored.
        is_cut: whether the reply ended at the limit of its tokens.
        reasoning: what the model thought before, if the server reports it apart from the text.
    """

    text: str
    first: Mapping[str, float] = field(default_factory=dict)
    flag: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    fingerprint: str = ""
    token: str | None = None
    is_cut: bool = False
    reasoning: str = ""


@dataclass(frozen=True)
class Server:
    """What is known of a model at an endpoint since the first request of the last session.

    Attributes:
        served: the model name that the server reports.
        fingerprint: the identifier of its configuration; empty if it reports none.
        gives: what its replies contain: token probabilities (``probability``), JSON with a given schema (``json``), or
            plain ``text``.
        limit: the request field for the highest number of tokens of a reply.
        tokens_per_byte: the tokens per byte of that request's prompt; 0.0 if the server reports no token counts.
        without: what requests leave out, since the server refuses it: ``temperature``, ``seed``, ``system`` (the
            text of the system message then begins the user's message).
        reasons: whether the model thinks before it replies.
        room: the highest limit of tokens of a reply that the server accepts; 0 if it has accepted all so far.
    """

    served: str
    fingerprint: str
    gives: str
    limit: str = "max_tokens"
    tokens_per_byte: float = 0.0
    without: tuple[str, ...] = ()
    reasons: bool = False
    room: int = 0

    def fallbacks(self) -> dict[str, str]:
        """Return what the server gives, and how requests do without what it does not support, by signature key."""
        fallback_by_name = {"gives": self.gives}
        if self.without:
            fallback_by_name["without"] = ", ".join(self.without)
        if self.reasons:
            fallback_by_name["reasons"] = "yes"
        if self.room:
            fallback_by_name["room"] = str(self.room)
        return fallback_by_name

    def fallback_notes(self) -> list[str]:
        """Return how requests do without what the server does not support, one phrase for each."""
        phrases = []
        if self.gives == "json":
            phrases.append("no probabilities, verdicts as JSON")
        elif self.gives == "text":
            phrases.append("no probabilities and no JSON")
        left_out = [name for name in self.without if name != "system"]
        if left_out:
            phrases.append(f"no {' and no '.join(left_out)}, which the server refuses")
        if "system" in self.without:
            phrases.append("the system's text in the user's message")
        if self.room:
            phrases.append(f"at most {self.room:,} tokens a reply, as the server demands")
        return phrases


class ReplyStore(Database):
    """A database of replies by request, of requests under way, and of servers; a context manager, one per session.

    A request is claimed before it is sent. A claim holds as long as its session: each session has a locked folder
    beside the file, and the system releases the lock when the process ends, however it ends.
    """

    title = "store of replies"
    kind = "replies"
    schema = """
        CREATE TABLE IF NOT EXISTS replies (
            request BLOB PRIMARY KEY,
            reply TEXT NOT NULL,
            checksum INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS claims (
            request BLOB PRIMARY KEY,
            session TEXT NOT NULL,
            since REAL NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS servers (
            endpoint TEXT NOT NULL,
            model TEXT NOT NULL,
            known TEXT NOT NULL,
            PRIMARY KEY (endpoint, model)
        );
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._resources = ExitStack()
        #: The name of the locked folder of this session; empty before the first claim.
        self._session = ""
        self._last_look = -math.inf
        remove_leftovers(path.parent)

    def close(self) -> None:
        """Give up what is still claimed, and close the file."""
        if self._session:
            # one that is left in a damaged or locked file ends with the session
            with suppress(sqlite3.Error):
                self._connection.execute("DELETE FROM claims WHERE session = ?", (self._session,))
        self._resources.close()
        super().close()

    def claim(self, request: bytes) -> bool:
        """Claim a request for this session and return True; False if its reply is stored, or another session has it.

        The claim of a session that has ended is taken over. When this returns, a kill of the process does not undo it.

        Args:
            request: the digest of the request.

        Raises:
            StoreError: the file cannot be written.
        """
        if not self._session:
            folder = self._resources.enter_context(unfinished_folder(self.path))
            self._session = folder.name
        with self._transaction():
            if self._connection.execute("SELECT 1 FROM replies WHERE request = ?", (request,)).fetchone():
                return False
            row = self._connection.execute("SELECT session, since FROM claims WHERE request = ?", (request,)).fetchone()
            if row is not None and row[0] != self._session and self._is_under_way(*row):
                return False
            insert = "INSERT OR REPLACE INTO claims (request, session, since) VALUES (?, ?, ?)"
            self._connection.execute(insert, (request, self._session, time.time()))
        return True

    def release(self, request: bytes) -> None:
        """Give up the claim of this session to a request, if it has one.

        Raises:
            StoreError: the file cannot be written.
        """
        with self._transaction():
            delete = "DELETE FROM claims WHERE request = ? AND session = ?"
            self._connection.execute(delete, (request, self._session))

    def _is_under_way(self, session: str, since: float) -> bool:
        """Tell whether another session, which has claimed a request, is still working on it.

        Args:
            session: the name of the session's locked folder.
            since: the time of the claim, in seconds since 1970.
        """
        if not _HAS_LOCKS or time.time() - since > LONGEST_CLAIM:
            return False
        if time.monotonic() - self._last_look > SECONDS_BETWEEN_LOOKS:
            remove_leftovers(self.path.parent)
            self._last_look = time.monotonic()
        return (self.path.parent / session).is_dir()

    def get(self, request: bytes) -> Reply | None:
        """Return the stored reply to a request; None if none is stored.

        Args:
            request: the digest of the request, see :func:`request_digest`.

        Raises:
            StoreError: the file is damaged or unreadable.
        """
        with self._raising_store_errors():
            select = "SELECT reply, checksum FROM replies WHERE request = ?"
            row = self._connection.execute(select, (request,)).fetchone()
        if row is None:
            return None
        text, checksum = row
        if not isinstance(text, str) or checksum != _checksum(request, text):
            raise self.damage_error("a reply does not fit its checksum")
        return Reply(**json.loads(text))

    def put(self, request: bytes, reply: Reply) -> None:
        """Store a reply, in place of an earlier one to the same request, which is no longer claimed.

        When this returns, a kill of the process does not undo it.

        Args:
            request: the digest of the request.
            reply: the reply to store.

        Raises:
            StoreError: the file cannot be written.
        """
        text = json.dumps(vars(reply))
        with self._transaction():
            insert = "INSERT OR REPLACE INTO replies (request, reply, checksum) VALUES (?, ?, ?)"
            self._connection.execute(insert, (request, text, _checksum(request, text)))
            self._connection.execute("DELETE FROM claims WHERE request = ?", (request,))

    def server(self, endpoint: str, model: str) -> Server | None:
        """Return what is known of a model at an endpoint; None before the first session.

        Raises:
            StoreError: the file is damaged or unreadable.
        """
        with self._raising_store_errors():
            select = "SELECT known FROM servers WHERE endpoint = ? AND model = ?"
            row = self._connection.execute(select, (endpoint, model)).fetchone()
        if row is None:
            return None
        stored = json.loads(row[0])
        return Server(**stored | {"without": tuple(stored.get("without", ()))})

    def put_server(self, endpoint: str, model: str, server: Server) -> None:
        """Store what is known of a model at an endpoint, in place of what was known before.

        Raises:
            StoreError: the file cannot be written.
        """
        with self._transaction():
            insert = "INSERT OR REPLACE INTO servers (endpoint, model, known) VALUES (?, ?, ?)"
            self._connection.execute(insert, (endpoint, model, json.dumps(vars(server))))


def reply_store_path() -> Path:
    """Return the path of the database of replies, which all runs share."""
    return cache_dir() / "replies.sqlite"


def known_server(endpoint: str, model: str) -> Server:
    """Return what the last session learned of a model at an endpoint; the server is not called.

    Before the first session this is a placeholder, whose model name is ``not asked yet``.

    Raises:
        StoreError: the store of replies is damaged or unreadable.
    """
    with ReplyStore(reply_store_path()) as store:
        return store.server(endpoint.rstrip("/"), model) or Server("not asked yet", "", "text")


def request_digest(request: Mapping[str, Any]) -> bytes:
    """Return the digest of a request, 16 bytes.

    Args:
        request: everything that decides the reply, as values that JSON can represent.
    """
    content = json.dumps(request, sort_keys=True)
    return blake2b(content.encode(), digest_size=16).digest()


def _checksum(request: bytes, text: str) -> int:
    return zlib.crc32(text.encode(), zlib.crc32(request))
