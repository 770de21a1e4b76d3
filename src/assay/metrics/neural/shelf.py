"""What a session keeps of a text for a later batch: in memory up to a limit, in a nameless file beyond it."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Hashable
from typing import IO

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shelf"]

#: Bytes held in memory.
LIMIT = 128 * 2**20


class Shelf:
    """Float32 arrays by key; one that is no longer wanted is let go.

    Args:
        limit: bytes held in memory; what comes later goes to a temporary file without a name.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._held: dict[Hashable, NDArray[np.float32]] = {}
        self._filed: dict[Hashable, tuple[int, tuple[int, ...]]] = {}
        self._file: IO[bytes] | None = None
        self._bytes = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._held or key in self._filed

    def __len__(self) -> int:
        return len(self._held) + len(self._filed)

    def put(self, key: Hashable, array: NDArray[np.float32]) -> None:
        """Keep an array; one that is there already stays."""
        if key in self:
            return
        if self._bytes + array.nbytes <= self._limit:
            self._held[key] = np.array(array, dtype=np.float32)
            self._bytes += array.nbytes
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="assay-")  # noqa: SIM115 - lives as long as the shelf
        place = self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(array, dtype=np.float32).tobytes())
        self._filed[key] = place, array.shape

    def get(self, key: Hashable) -> NDArray[np.float32]:
        """Return an array that was kept."""
        if key in self._held:
            return self._held[key]
        place, shape = self._filed[key]
        assert self._file is not None  # noqa: S101 - what is filed has a file
        self._file.seek(place)
        return np.frombuffer(self._file.read(4 * int(np.prod(shape))), dtype=np.float32).reshape(shape)

    def drop(self, keys: Collection[Hashable]) -> None:
        """Let arrays go; the file shrinks only when nothing is left in it."""
        for key in keys:
            held = self._held.pop(key, None)
            self._bytes -= 0 if held is None else held.nbytes
            self._filed.pop(key, None)
        if self._file is not None and not self._filed:
            self._file.seek(0)
            self._file.truncate()

    def close(self) -> None:
        """Let everything go."""
        self._held.clear()
        self._filed.clear()
        self._bytes = 0
        if self._file is not None:
            self._file.close()
            self._file = None
