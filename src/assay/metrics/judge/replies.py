"""Replies of language models: what one holds, and the file that keeps each as it arrives, since it was paid for."""

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
        text: the reply; of one that was refused, the reason.
        first: probability of each of the most probable first tokens, in [0, 1]; empty where the model does not tell.
        flag: why there is no verdict (refused, too long for the model), or 0.
        tokens_in, tokens_out: of prompt and reply, as the server counts them; 0 where it does not.
        seconds: from the call to the reply.
        fingerprint: of the server's configuration, as it reports it; empty where it does not.
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
    """What is known of a model at an endpoint since the last call.

    Attributes:
        served: the name under which the server reports the model.
        fingerprint: of its configuration; empty where it reports none.
        gives: what its replies have: ``probability`` of tokens, ``json`` of a given form, or ``text`` alone.
        limit: its name for the most tokens of a reply.
        tokens_per_byte: of prompts, the mean so far; 0.0 where it counts none.
    """

    served: str
    fingerprint: str
    gives: str
    limit: str = "max_tokens"
    tokens_per_byte: float = 0.0


class ReplyStore(Database):
    """Replies by what was asked of whom; use as a context manager, one a process."""

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
        """Return the reply that is kept for a request, or None.

        Args:
            request: what :func:`digest_of` returned.

        Raises:
            StoreError: the file is damaged, or cannot be read.
        """
        with self._explaining():
            select = "SELECT reply, checksum FROM replies WHERE request = ?"
            row = self._connection.execute(select, (request,)).fetchone()
        if row is None:
            return None
        text, checksum = row
        if not isinstance(text, str) or checksum != _checksum(request, text):
            raise self.damaged("a reply does not fit its checksum")
        return Reply(**json.loads(text))

    def put(self, request: bytes, reply: Reply) -> None:
        """Keep a reply; on the disk when this returns.

        Raises:
            StoreError: it cannot be written.
        """
        text = json.dumps(vars(reply))
        with self._writing():
            insert = "INSERT OR REPLACE INTO replies (request, reply, checksum) VALUES (?, ?, ?)"
            self._connection.execute(insert, (request, text, _checksum(request, text)))

    def server(self, endpoint: str, model: str) -> Server | None:
        """Return what is known of a model at an endpoint; None before the first call."""
        with self._explaining():
            select = "SELECT known FROM servers WHERE endpoint = ? AND model = ?"
            row = self._connection.execute(select, (endpoint, model)).fetchone()
        return None if row is None else Server(**json.loads(row[0]))

    def remember(self, endpoint: str, model: str, server: Server) -> None:
        """Keep what is known of a model at an endpoint."""
        with self._writing():
            insert = "INSERT OR REPLACE INTO servers (endpoint, model, known) VALUES (?, ?, ?)"
            self._connection.execute(insert, (endpoint, model, json.dumps(vars(server))))


def reply_store() -> Path:
    """Return the path of the file with replies that runs share."""
    return cache_dir() / "replies.sqlite"


def known_server(endpoint: str, model: str) -> Server:
    """Return what is known of a model at an endpoint from the last call; nothing is called."""
    with ReplyStore(reply_store()) as store:
        return store.server(endpoint.rstrip("/"), model) or Server("not asked yet", "", "text")


def digest_of(request: Mapping[str, Any]) -> bytes:
    """Return the 16 bytes that stand for a request: everything that decides its reply, as plain values."""
    content = json.dumps(request, sort_keys=True)
    return blake2b(content.encode(), digest_size=16).digest()


def _checksum(request: bytes, text: str) -> int:
    return zlib.crc32(text.encode(), zlib.crc32(request))
