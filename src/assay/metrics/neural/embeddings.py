"""Embeddings of texts: pooling, collection over batches, a cache, and cosine similarity.

:class:`BatchEmbeddings` collects one output for the texts of a batch as the encoder computes it, and
:class:`EmbeddingCache` keeps the embeddings of texts that occur again later. A metric gets :class:`TextEmbeddings`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.tokens import Packed, Tokens, to_device, token_mask_of
from assay.metrics.neural.views import Kind, Output

if TYPE_CHECKING:
    import torch

#: A prepared text, and the limit if it was cut there: preparations that lead to the same tokens share a pass.
Key = tuple[str, int | None]

#: Most bytes that an :class:`EmbeddingCache` keeps in memory.
MAX_CACHED_BYTES = 128 * 2**20


@dataclass(frozen=True)
class TextEmbeddings:
    """Embeddings of t texts.

    Attributes:
        values: the vectors, float32: one row per text, shape (t, d), or one row per token, shape (all tokens, d).
        starts: for token embeddings, the first row of each text, shape (t,); otherwise None.
        ids: for token embeddings, the token numbers of each text; otherwise empty.
    """

    values: torch.Tensor
    starts: NDArray[np.intp] | None = None
    ids: Sequence[Sequence[int]] = ()


def pool_tokens(hidden: torch.Tensor, mask: torch.Tensor, kind: Kind) -> torch.Tensor:
    """Return one vector per text, float32, shape (b, d), pooled from the embeddings of its tokens.

    Args:
        hidden: the embeddings of the tokens, special ones included, shape (b, l, d).
        mask: 1 for a token, 0 for padding, shape (b, l).
        kind: the kind of pooling: ``mean``, ``max`` or ``cls`` (the first token).
    """
    torch = import_torch()
    hidden = hidden.float()
    if kind == "cls":
        return hidden[:, 0]
    is_token = mask.unsqueeze(-1).bool()
    if kind == "max":
        return hidden.masked_fill(~is_token, -torch.inf).amax(dim=1)
    return (hidden * is_token).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)


def cosine(embeddings: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the cosine of each pair of texts, in [-1, 1], shape (n,); 0 if either vector is zero.

    It is computed in double precision from single-precision embeddings, and each vector is scaled by itself, so that
    the value of a pair does not depend on other pairs.

    Args:
        embeddings: one vector per text.
        left: the indices of the first texts, shape (n,).
        right: the indices of the second texts, shape (n,).
    """
    torch = import_torch()
    with torch.inference_mode():
        # mps has no double precision
        values = embeddings.values.cpu() if embeddings.values.device.type == "mps" else embeddings.values
        unit = values.double()
        norm = unit.norm(dim=1, keepdim=True)
        unit = torch.where(norm > 0, unit / norm, unit)
        dot_products = (unit[torch.as_tensor(left)] * unit[torch.as_tensor(right)]).sum(dim=1)
        cosines: NDArray[np.float64] = dot_products.clamp(-1.0, 1.0).cpu().numpy()
    return cosines


def compare_vectors(
    embeddings: TextEmbeddings,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    similarity: str,
    dimensions: int | None = None,
) -> NDArray[np.float64]:
    """Return the similarity of each pair of texts, shape (n,), as sentence-transformers defines it.

    Args:
        embeddings: one vector per text.
        left: the indices of the first texts, shape (n,).
        right: the indices of the second texts, shape (n,).
        similarity: ``cosine``, ``dot``, or a negative distance, ``euclidean`` or ``manhattan``.
        dimensions: the number of leading dimensions that count; None for all.
    """
    torch = import_torch()
    compared_values = embeddings.values[:, :dimensions]
    if similarity == "cosine":
        return cosine(TextEmbeddings(compared_values), left, right)
    with torch.inference_mode():
        values = compared_values.cpu().double()
        first, second = values[torch.as_tensor(left)], values[torch.as_tensor(right)]
        if similarity == "dot":
            scores = (first * second).sum(dim=1)
        else:
            scores = -torch.linalg.vector_norm(first - second, ord=2 if similarity == "euclidean" else 1, dim=1)
    similarities: NDArray[np.float64] = scores.numpy()
    return similarities


class EmbeddingCache:
    """Keeps float32 arrays by key: in memory up to a limit, beyond it in an anonymous temporary file.

    Args:
        max_bytes: the most bytes kept in memory.
    """

    def __init__(self, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._in_memory: dict[Hashable, NDArray[np.float32]] = {}
        #: Offset and shape of each array in the file.
        self._in_file: dict[Hashable, tuple[int, tuple[int, ...]]] = {}
        self._file: IO[bytes] | None = None
        self._bytes_in_memory = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._in_memory or key in self._in_file

    def __len__(self) -> int:
        return len(self._in_memory) + len(self._in_file)

    def put(self, key: Hashable, array: NDArray[np.float32]) -> None:
        """Keep a copy of an array, in memory or in the file; a key that already has an array keeps the old one."""
        if key in self:
            return
        if self._bytes_in_memory + array.nbytes <= self._max_bytes:
            self._in_memory[key] = np.array(array, dtype=np.float32)
            self._bytes_in_memory += array.nbytes
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="assay-")  # noqa: SIM115 - lives as long as the cache
        offset = self._file.seek(0, os.SEEK_END)
        self._file.write(np.ascontiguousarray(array, dtype=np.float32).tobytes())
        self._in_file[key] = offset, array.shape

    def get(self, key: Hashable) -> NDArray[np.float32]:
        """Return the array of a key.

        Raises:
            KeyError: there is none.
        """
        if key in self._in_memory:
            return self._in_memory[key]
        offset, shape = self._in_file[key]
        assert self._file is not None  # noqa: S101 - an entry in the file needs the file
        self._file.seek(offset)
        # 4 bytes per float32
        content = self._file.read(4 * int(np.prod(shape)))
        return np.frombuffer(content, dtype=np.float32).reshape(shape)

    def drop(self, keys: Collection[Hashable]) -> None:
        """Forget the arrays of these keys, if there are any; the file is emptied once none of its arrays is left."""
        for key in keys:
            array = self._in_memory.pop(key, None)
            if array is not None:
                self._bytes_in_memory -= array.nbytes
            self._in_file.pop(key, None)
        if self._file is not None and not self._in_file:
            self._file.seek(0)
            self._file.truncate()

    def close(self) -> None:
        """Forget all arrays and delete the file."""
        self._in_memory.clear()
        self._in_file.clear()
        self._bytes_in_memory = 0
        if self._file is not None:
            self._file.close()
            self._file = None


class BatchEmbeddings:
    """Collects one output for the n texts of a batch, as the model computes them in batches of its own.

    The rows are in the order of the texts. Several threads may store results at the same time.

    Args:
        output: the kind of embedding and the layer.
        tokens: the tokens of each text.
    """

    def __init__(self, output: Output, tokens: dict[Key, Tokens]) -> None:
        self.output = output
        self.tokens = tokens
        self._index_of = {key: index for index, key in enumerate(tokens)}
        self._values: torch.Tensor | None = None
        self._allocating = Lock()
        #: The number of rows of each text; ``_starts`` has the first row of each.
        self._sizes = np.ones(len(tokens), dtype=np.intp)
        if output.kind == "tokens":
            self._sizes[:] = [len(text.ids) for text in tokens.values()]
        self._starts = np.cumsum(self._sizes) - self._sizes

    def indices(self, keys: Sequence[Key]) -> NDArray[np.intp]:
        """Return the indices of k texts among the n, shape (k,)."""
        return np.fromiter((self._index_of[key] for key in keys), dtype=np.intp, count=len(keys))

    def put_vectors(self, indices: NDArray[np.intp], vectors: torch.Tensor, device: str) -> None:
        """Store the vectors of k texts on *device*.

        Args:
            indices: the indices of the texts, shape (k,).
            vectors: one vector per text, shape (k, d).
            device: torch's name of the device.
        """
        self._write_rows(indices, vectors, device)

    def put_tokens(self, indices: NDArray[np.intp], hidden: torch.Tensor, batch: Packed, device: str) -> None:
        """Store the token embeddings of k texts on *device*, without the padding.

        Args:
            indices: the indices of the texts, shape (k,).
            hidden: the embeddings of their tokens, shape (k, l, d).
            batch: the batch of these texts, which tells where the padding is.
            device: torch's name of the device.
        """
        flat = hidden.reshape(-1, hidden.shape[-1])
        if not batch.unpadded:
            flat = flat[to_device(np.flatnonzero(batch.token_mask), str(hidden.device))]
        self._write_rows(self._row_numbers(indices), flat, device)

    def load_from(self, cache: EmbeddingCache, device: str) -> set[Key]:
        """Store the embeddings of those texts that are in the cache on *device*, and return the keys of these texts."""
        cached = [key for key in self.tokens if (key, self.output) in cache] if cache else []
        if cached:
            values = np.concatenate([cache.get((key, self.output)) for key in cached])
            self._write_rows(self._row_numbers(self.indices(cached)), import_torch().from_numpy(values), device)
        return set(cached)

    def save_to(self, cache: EmbeddingCache, wanted: Collection[Key]) -> None:
        """Write the embeddings of the *wanted* texts to the cache, and drop the batch's other texts from it."""
        if cache:
            cache.drop([(key, self.output) for key in self.tokens if key not in wanted])
        fresh = [key for key in self.tokens if key in wanted and (key, self.output) not in cache]
        if not fresh or self._values is None:
            return
        indices = self.indices(fresh)
        # one copy for all texts, because each copy waits for the GPU
        values = self._values[to_device(self._row_numbers(indices), str(self._values.device))].cpu().numpy()
        ends = np.cumsum(self._sizes[indices])[:-1]
        for key, array in zip(fresh, np.split(values, ends), strict=True):
            cache.put((key, self.output), array)

    def embeddings(self) -> TextEmbeddings:
        """Return the embeddings of all n texts; those of a text for which none was stored are zeros."""
        values = self._values
        if values is None:
            values = import_torch().zeros((int(self._sizes.sum()), 1))
        if self.output.kind != "tokens":
            return TextEmbeddings(values)
        return TextEmbeddings(values, self._starts, [text.ids for text in self.tokens.values()])

    def _row_numbers(self, indices: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the row numbers of these texts, text after text, shape (r,), where r is the sum of their sizes.

        Args:
            indices: the indices of the texts, shape (k,), at least one.
        """
        sizes = self._sizes[indices]
        # one line per text, as long as the longest text needs; a shorter text has fewer rows
        grid = self._starts[indices][:, None] + np.arange(int(sizes.max()))
        return grid[token_mask_of(sizes)]

    def _write_rows(self, rows: NDArray[np.intp], values: torch.Tensor, device: str) -> None:
        """Write the rows *values*, shape (r, d), to the row numbers *rows*, shape (r,).

        The first call allocates all rows, of zeros, on *device*.
        """
        # several devices store their results at the same time, each in a thread of its own
        with self._allocating:
            if self._values is None:
                torch = import_torch()
                shape = (int(self._sizes.sum()), values.shape[-1])
                self._values = torch.zeros(shape, dtype=torch.float32, device=device)
        self._values[to_device(rows, device)] = values.float().to(device)
