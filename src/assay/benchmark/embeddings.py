"""Embeddings of texts by the engines of metrics, each computed once per model: their store, and what fills it.

The key of an embedding is the full signature of a metric, which has the digest of the model and the preparation of
texts, and a digest of the text.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from assay.common.batches import digest_of_texts
from assay.common.database import Database
from assay.exceptions import InputError
from assay.metrics.base import Batch, Metric
from assay.metrics.work import open_session
from assay.paths import cache_dir

if TYPE_CHECKING:
    from assay.metrics.neural.encoder import EncoderSession
    from assay.metrics.neural.readers import EncoderBased

Vectors = NDArray[np.float32]

#: Texts that are embedded and stored at a time: an interrupted command loses no more.
UNIT = 2048
#: Digests looked up in one statement; older versions of SQLite allow at most 999 parameters.
_LOOKUP = 900


def default_embeddings() -> Path:
    """Return the path of the embeddings that commands share."""
    return cache_dir() / "embeddings-1.sqlite"


class EmbeddingStore(Database):
    """Embeddings on disk by model and text; a context manager, of which each process needs its own.

    Args:
        path: the SQLite file.

    Raises:
        InputError: the file is not a store of embeddings, or cannot be written.
    """

    title = "store of embeddings"
    kind = "embeddings"
    schema = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, signature TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS vectors (
    model INTEGER NOT NULL REFERENCES models (id),
    text BLOB NOT NULL,
    vector BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (model, text)
);
"""

    def model_id(self, signature: Mapping[str, str]) -> int:
        """Return the key of the embeddings with this full signature; a new one is added.

        Raises:
            StoreError: the store cannot be read or written.
        """
        text = json.dumps(signature, sort_keys=True, ensure_ascii=False)
        with self._transaction():
            self._connection.execute("INSERT OR IGNORE INTO models (signature) VALUES (?)", (text,))
            row = self._connection.execute("SELECT id FROM models WHERE signature = ?", (text,)).fetchone()
        return int(row[0])

    def get(self, model: int, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Return the stored embeddings by digest of the text, each of shape (d,), without those that are not stored.

        Args:
            model: the key that :meth:`model_id` returned.
            digests: the digests of the texts.

        Raises:
            StoreError: the store is damaged, or cannot be read.
        """
        vectors: dict[bytes, Vectors] = {}
        for start in range(0, len(digests), _LOOKUP):
            block = digests[start : start + _LOOKUP]
            marks = ",".join("?" * len(block))
            select = f"SELECT text, vector, checksum FROM vectors WHERE model = ? AND text IN ({marks})"
            with self._raising_store_errors():
                rows = self._connection.execute(select, (model, *block)).fetchall()
            for digest, content, checksum in rows:
                # a number has 4 bytes
                if checksum != zlib.crc32(content, zlib.crc32(digest)) or len(content) % 4:
                    raise self.damage_error("an embedding does not fit its checksum")
                vectors[digest] = np.frombuffer(content, dtype=np.float32)
        return vectors

    def put(self, model: int, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Store the embeddings of n texts, shape (n, d), in place of earlier ones.

        Args:
            model: the key that :meth:`model_id` returned.
            digests: the digest of each text.
            vectors: the embeddings, shape (n, d).

        Raises:
            StoreError: the store cannot be written.
        """
        rows = []
        for digest, vector in zip(digests, vectors, strict=True):
            content = np.ascontiguousarray(vector, dtype=np.float32).tobytes()
            rows.append((model, digest, content, zlib.crc32(content, zlib.crc32(digest))))
        with self._transaction():
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)


@dataclass(frozen=True, eq=False)
class Embedded:
    """The embeddings of texts.

    Attributes:
        rows: the row of each distinct text.
        vectors: the embeddings, shape (t, d).
        computed: the number of texts that were not stored.
        seconds: the time of embedding them, without loading the model.
    """

    rows: Mapping[str, int]
    vectors: Vectors
    computed: int
    seconds: float

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return the embeddings of n texts, shape (n, d)."""
        return self.vectors[[self.rows[text] for text in texts]]


def embed_texts(
    metric: Metric, texts: Sequence[str], store: EmbeddingStore, *, fresh: bool, advance: Callable[[int], None]
) -> Embedded:
    """Return the embedding of each distinct text by the encoder of a metric; stored ones are not computed again.

    Args:
        metric: a metric that compares one vector per text, see :func:`check_encoder`.
        texts: the texts, at least one.
        store: where embeddings are kept.
        fresh: whether to compute those again that are stored.
        advance: is called with the number of further texts that are done.

    Raises:
        UnavailableError: the model cannot be loaded.
        StoreError: the store cannot be read or written.
    """
    distinct = list(dict.fromkeys(texts))
    digests = [digest_of_texts([text]) for text in distinct]
    model = store.model_id(metric.signature())
    vector_by_digest = {} if fresh else store.get(model, digests)
    # long texts first: batches are filled with texts of similar length
    missing = [row for row, digest in enumerate(digests) if digest not in vector_by_digest]
    missing.sort(key=lambda row: -len(distinct[row]))
    advance(len(distinct) - len(missing))
    seconds = 0.0
    if missing:
        session = cast("EncoderSession", open_session(metric.needs()))
        for start in range(0, len(missing), UNIT):
            rows = missing[start : start + UNIT]
            started = time.perf_counter()
            new_vectors = _embed_unit(cast("EncoderBased", metric), session, [distinct[row] for row in rows])
            seconds += time.perf_counter() - started
            new_digests = [digests[row] for row in rows]
            store.put(model, new_digests, new_vectors)
            vector_by_digest |= dict(zip(new_digests, new_vectors, strict=True))
            advance(len(rows))
    vectors = np.stack([vector_by_digest[digest] for digest in digests])
    return Embedded({text: row for row, text in enumerate(distinct)}, vectors, len(missing), seconds)


def check_encoder(metric: Metric) -> None:
    """Check that a metric compares one vector per text, computed by assay's own loop.

    Raises:
        InputError: it does not, or names a prompt or layer that the model lacks.
        UnavailableError: its model is not on this machine.
    """
    from assay.metrics.neural.encoder import EncoderEngine
    from assay.metrics.neural.readers import EncoderBased

    if not isinstance(metric, EncoderBased) or metric.view().kind == "tokens":
        raise InputError(
            f"metric {metric}: gives no vector of a text; use bi-encoder:MODEL or pooled:MODEL,pooling=cls"
        )
    if not isinstance(metric.needs(), EncoderEngine):
        raise InputError(
            f"metric {metric}: its model is computed by sentence-transformers alone, whose embeddings are not read here"
        )


def _embed_unit(metric: EncoderBased, session: EncoderSession, texts: list[str]) -> Vectors:
    """Return the embeddings of distinct texts, shape (n, d), truncated to the dimensions that count."""
    batches = []
    # as pairs of a text with itself; left has the row of each first text among the embeddings
    for embeddings, left, _ in session.embeddings_of(metric, Batch(texts, texts)):
        batches.append(embeddings.values.cpu().numpy()[left])
    vectors = np.concatenate(batches)
    dimensions = metric.dimensions() if hasattr(metric, "dimensions") else None
    return np.ascontiguousarray(vectors[:, :dimensions], dtype=np.float32)
