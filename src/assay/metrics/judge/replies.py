"""Replies of language models, and the database that stores each as it arrives, since it was paid for."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from assay.database import Database
from assay.paths import cache_dir


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the reply, or the reason if the model or the server refused.
        first: the probability of each of the most probable first tokens, in [0, 1]; empty if the model reports none.
        flag: the :class:`assay.metrics.work.Flag` of a reply without a verdict (refused, too long), or 0.
        tokens_in, tokens_out: the token counts of prompt and reply, by the server; 0 if it reports none.
        seconds: the time from the call to the reply; 0 for a request that was refused.
        fingerprint: the identifier of the server's configuration; empty if it reports none.
    """

    text: str
    first: Mapping[str, float] = field(default_factory=dict)
    flag: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    fingerprint: str = ""


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
    """

    served: str
    fingerprint: str
    gives: str
    limit: str = "max_tokens"
    tokens_per_byte: float = 0.0


class ReplyStore(Database):
    """A database of replies by request, and of what is known of servers; a context manager, one per process."""

    title = "store of replies"
    kind = "replies"
    schema = """
        CREATE TABLE IF NOT EXISTS replies (
            request BLOB PRIMARY KEY,
            reply TEXT NOT NULL,
            checksum INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS servers (
            endpoint TEXT NOT NULL,
            model TEXT NOT NULL,
            known TEXT NOT NULL,
            PRIMARY KEY (endpoint, model)
        );
    """

    def get(self, request: bytes) -> Reply | None:
        """Return the stored reply to a request; None if none is stored.

        Args:
            request: the digest of the request, see :func:`request_digest`.

        Raises:
            StoreError: the file is damaged or unreadable.
        """
        with self._translated_errors():
            select = "SELECT reply, checksum FROM replies WHERE request = ?"
            row = self._connection.execute(select, (request,)).fetchone()
        if row is None:
            return None
        text, checksum = row
        if not isinstance(text, str) or checksum != _checksum(request, text):
            raise self.damage_error("a reply does not fit its checksum")
        return Reply(**json.loads(text))

    def put(self, request: bytes, reply: Reply) -> None:
        """Store a reply, in place of an earlier one to the same request; it is on disk when this returns.

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

    def server(self, endpoint: str, model: str) -> Server | None:
        """Return what is known of a model at an endpoint; None before the first session.

        Raises:
            StoreError: the file is damaged or unreadable.
        """
        with self._translated_errors():
            select = "SELECT known FROM servers WHERE endpoint = ? AND model = ?"
            row = self._connection.execute(select, (endpoint, model)).fetchone()
        return None if row is None else Server(**json.loads(row[0]))

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
