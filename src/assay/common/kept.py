"""Results that take long to compute, kept in the cache by a digest of all that they follow from.

The digest has the inputs, the sources of assay and the versions of the libraries that compute, so that a result is
found again only where computing it anew would give the same.
"""

from __future__ import annotations

import json
import os
import zlib
from functools import cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import numpy as np

from assay.common.database import Database
from assay.common.packages import version_of
from assay.paths import cache_dir

#: The libraries by which results are computed.
_LIBRARIES = ("numpy", "scipy", "pandas", "pyarrow", "regex", "jinja2")
#: The suffixes of the sources.
_SUFFIXES = (".py", ".html", ".js", ".css")


def default_results() -> Path:
    """Return the path of the results that runs share."""
    return cache_dir() / "results-1.sqlite"


class KeptResults(Database):
    """Results on disk by key; a context manager, of which each process needs its own.

    Args:
        path: the SQLite file, created with its folder if absent.

    Raises:
        InputError: the file is not a store of results, or cannot be written.
    """

    title = "store of results"
    kind = "results"
    schema = "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"

    def find(self, key: bytes) -> Any:
        """Return the JSON value that was kept under a key; None without one.

        Raises:
            StoreError: the store cannot be read, or is damaged.
        """
        content = self.find_bytes(key)
        try:
            return None if content is None else json.loads(content)
        except ValueError as error:
            raise self.damage_error(f"a result cannot be read: {error}") from error

    def find_bytes(self, key: bytes) -> bytes | None:
        """Return the bytes that were kept under a key; None without them.

        Raises:
            StoreError: the store cannot be read, or is damaged.
        """
        with self._raising_store_errors():
            row = self._connection.execute("SELECT value FROM results WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else zlib.decompress(row[0])
        except (zlib.error, TypeError) as error:
            raise self.damage_error(f"a result cannot be read: {error}") from error

    def keep(self, key: bytes, value: Any) -> None:
        """Keep a JSON value under a key, in place of an earlier one.

        Raises:
            StoreError: the store cannot be written.
        """
        self.keep_bytes(key, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))

    def keep_bytes(self, key: bytes, content: bytes) -> None:
        """Keep bytes under a key, in place of earlier ones.

        Raises:
            StoreError: the store cannot be written.
        """
        with self._transaction():
            self._connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (key, zlib.compress(content, 1)))


def result_key(*inputs: Any) -> bytes:
    """Return the digest of what a result follows from: the inputs, and the code by which it is computed.

    Args:
        inputs: arrays, and JSON values, with other values as their text. The order of the keys of a dict does not
            count.
    """
    digest = blake2b(_code_digest(), digest_size=16)
    for value in inputs:
        if isinstance(value, np.ndarray):
            content = np.ascontiguousarray(value).tobytes()
            kind = f"{value.dtype.str} {value.shape}"
        else:
            content = json.dumps(value, sort_keys=True, default=str).encode()
            kind = "json"
        # the length in front keeps neighbours apart
        digest.update(f"{kind} {len(content)} ".encode())
        digest.update(content)
    return digest.digest()


@cache
def _code_digest() -> bytes:
    """Return a digest of the sources of assay and the versions of the libraries that compute."""
    # the system's SHA-256 takes half the time of Python's BLAKE2 for the megabytes of sources
    digest = sha256(json.dumps([version_of(name) for name in _LIBRARIES]).encode())
    for folder, folders, names in os.walk(Path(__file__).parents[1]):
        # in an order that depends only on the names
        folders.sort()
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                digest.update(Path(folder, name).read_bytes())
    return digest.digest()
