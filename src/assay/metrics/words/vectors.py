"""A table of word vectors that stays on disk: converted once into the cache, then memory-mapped.

The cache has one folder for each content, named by its digest::

    vectors.npy   float32, one row a word (absent where the source is a folder, whose own table is used)
    words.bin     the concatenated words, as bytes
    ends.npy      uint64, where each word ends in words.bin
    keys.npy      uint64, a 64-bit BLAKE2b digest of each word, sorted
    rows.npy      int64, the row of each key; equal keys in the order of their rows
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics.provenance import file_digest
from assay.metrics.words.formats import check_finite, find_format, read_blocks, read_words
from assay.paths import cache_dir, private_folder

_TABLE, _WORDS = "vectors.npy", "words.txt"
_INDEX = ("ends.npy", "keys.npy", "rows.npy")
#: Rows of a folder's table that are checked at a time.
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Word vectors by word, as :func:`open_vectors` returns them.

    ``len()`` is the number of rows. Of several rows of a word, the first counts.

    Attributes:
        digest: the SHA-256 of the source in hexadecimal; of a folder, over the digests of its two files.
        table: shape ``(len, dimensions)``, floating point, memory-mapped.
        words: the concatenated words, uint8.
        ends: where each word ends in *words*, shape ``(len,)``.
        keys: the sorted keys of the words, shape ``(len,)``.
        order: the row of each key, shape ``(len,)``.
    """

    digest: str
    table: NDArray[Any]
    words: NDArray[np.uint8]
    ends: NDArray[np.uint64]
    keys: NDArray[np.uint64]
    order: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.table)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self.table.shape[1])

    def lookup(self, words: Sequence[str]) -> NDArray[np.intp]:
        """Return the row of each word, -1 where it is unknown, shape ``(len(words),)``.

        A word is compared by its UTF-8 bytes: neither case nor Unicode form is changed.
        """
        # a text may have half of a surrogate pair, which is no word of any file, but no error either
        encoded = [word.encode("utf-8", "surrogatepass") for word in words]
        keys = np.fromiter(map(_key, encoded), dtype=np.uint64, count=len(encoded))
        positions = np.searchsorted(self.keys, keys)
        rows = np.empty(len(encoded), dtype=np.intp)
        for index, (word, key, position) in enumerate(zip(encoded, keys, positions, strict=True)):
            rows[index] = self._row(word, key, int(position))
        return rows

    def find(self, words: Sequence[str], case: Literal["lower", "keep", "auto"] = "auto") -> dict[str, int]:
        """Return the row of each distinct word, -1 where it is unknown.

        Args:
            words: as written in a text.
            case: look them up in lower case, as written, or as written and then in lower case.
        """
        distinct = list(dict.fromkeys(words))
        forms: dict[str, list[Callable[[str], str]]] = {"keep": [str], "lower": [str.lower], "auto": [str, str.lower]}
        rows = dict.fromkeys(distinct, -1)
        for form in forms[case]:
            missing = [word for word in distinct if rows[word] < 0]
            rows |= zip(missing, self.lookup([form(word) for word in missing]).tolist(), strict=True)
        return rows

    def _row(self, word: bytes, key: np.uint64, position: int) -> int:
        """Return the row of a word whose key, if there is one, is at a position of the sorted keys; otherwise -1."""
        for index in range(position, len(self.keys)):
            if self.keys[index] != key:
                break
            # two words can have the same key, so their bytes are compared
            row = int(self.order[index])
            start = int(self.ends[row - 1]) if row else 0
            if self.words[start : int(self.ends[row])].tobytes() == word:
                return row
        return -1

    def rows(self, indices: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors at *indices*, float32, shape ``(len(indices), dimensions)``.

        Raises:
            IndexError: an index is negative (an unknown word) or beyond the table.
        """
        if len(indices) and indices.min() < 0:
            raise IndexError("an unknown word has no row")
        return np.asarray(self.table[indices], dtype=np.float32)


def check_source(path: Path) -> None:
    """Return when there are word vectors at *path*, judged by the beginning of the file.

    Raises:
        InputError: it is absent, or has an unsupported format.
    """
    if not path.is_dir():
        find_format(path)
        return
    for name in (_TABLE, _WORDS):
        if not (path / name).is_file():
            raise InputError(f"{path}: a folder of word vectors needs {_TABLE} and {_WORDS}; there is no {name}")


def source_digest(path: Path) -> str:
    """Return the SHA-256, in hexadecimal, of a file, or over the digests of ``vectors.npy`` and ``words.txt``."""
    if not path.is_dir():
        return file_digest(path)
    both = file_digest(path / _TABLE) + file_digest(path / _WORDS)
    return hashlib.sha256(both.encode()).hexdigest()


def open_vectors(path: Path) -> WordVectors:
    """Return the word vectors of a file or folder, converted into the cache at the first opening.

    Formats: word2vec, text and binary; GloVe; fastText's .vec; any of them compressed with gzip; a folder with
    ``vectors.npy`` (floating point, two axes) and ``words.txt`` (one word a line).

    Raises:
        InputError: the source is missing or broken: with file, line and what was expected.
    """
    check_source(path)
    digest = source_digest(path)
    target = cache_dir() / "vectors" / digest
    if not target.is_dir():
        _convert_into(path, digest, target)
    return _open(path.resolve() if path.is_dir() else target, digest, target)


@functools.lru_cache(maxsize=4)
def _open(home: Path, digest: str, target: Path) -> WordVectors:
    """Map the table in *home* and the index in *target*."""
    try:
        ends, keys, rows = (np.asarray(np.load(target / name, mmap_mode="r")) for name in _INDEX)
        words = np.asarray(np.memmap(target / "words.bin", dtype=np.uint8, mode="r"))
        return WordVectors(digest, np.load(home / _TABLE, mmap_mode="r"), words, ends, keys, rows)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{target}: the converted vectors are damaged ({error}); delete this folder") from None


def _convert_into(path: Path, digest: str, target: Path) -> None:
    """Convert a source into *target*: under another name first, so that a folder of this name is complete."""
    private_folder(target.parent)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=target.parent, ignore_cleanup_errors=True) as parent:
        fresh = Path(parent) / digest
        fresh.mkdir()
        if path.is_dir():
            _index_folder(path, fresh)
        else:
            _convert_file(path, fresh)
        if source_digest(path) != digest:
            raise InputError(f"{path}: the file changed while it was read; run again")
        try:
            fresh.rename(target)
        except OSError:
            # another process was quicker, and its folder is as good
            if not target.is_dir():
                raise


def _convert_file(path: Path, folder: Path) -> None:
    """Write table and index of a file, block by block, so that no table is in memory as a whole."""
    index = _Index(folder)
    with (folder / _TABLE).open("wb") as table:
        dimensions = 0
        for block in read_blocks(path):
            if not dimensions:
                dimensions = block.values.shape[1]
                _write_header(table, 0, dimensions)
            table.write(np.ascontiguousarray(block.values, dtype="<f4").tobytes())
            index.add(block.words)
        # the number of rows is known only now; the header has room for any
        table.seek(0)
        _write_header(table, len(index.ends), dimensions)
    index.save()


def _write_header(stream: Any, rows: int, dimensions: int) -> None:
    """Write the 128 bytes before the numbers of a .npy file (NumPy format 1.0)."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dimensions}), }}"
    stream.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n")


def _index_folder(path: Path, folder: Path) -> None:
    """Write the index of a folder's words, and check its table, which is used where it is."""
    index = _Index(folder)
    for words in read_words(path / _WORDS):
        index.add(words)
    index.save()
    table = _check_table(path / _TABLE)
    rows, count = len(table), len(index.ends)
    if rows != count:
        line = min(rows, count) + 1
        raise InputError(f"{path / _WORDS}, line {line}: expected {rows} words as {_TABLE} has rows, found {count}")
    for start in range(0, len(table), _ROWS):
        with np.errstate(over="ignore"):
            values = np.asarray(table[start : start + _ROWS], dtype=np.float32)
        check_finite(path / _TABLE, values, "row", start + 1)


def _check_table(path: Path) -> NDArray[Any]:
    """Return a mapped table with two axes of floating-point numbers."""
    try:
        table: NDArray[Any] = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: expected a NumPy table ({error})") from None
    if table.ndim != 2 or table.dtype.kind != "f" or not table.size:
        raise InputError(f"{path}: expected rows of floating-point numbers, found {table.dtype} of shape {table.shape}")
    return table


class _Index:
    """The index of a table while it is converted: sixteen bytes a word in memory, the words themselves on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = array("Q")
        self.ends = array("Q")
        self._end = 0

    def add(self, words: Iterable[bytes]) -> None:
        """Add the words of the next rows."""
        words = list(words)
        for word in words:
            self._end += len(word)
            self.ends.append(self._end)
            self.keys.append(_key(word))
        with (self.folder / "words.bin").open("ab") as stream:
            stream.write(b"".join(words))

    def save(self) -> None:
        """Write the three arrays."""
        if not self.ends:
            return
        keys = np.frombuffer(self.keys, dtype=np.uint64)
        # stable, so that of several rows of a word the first comes first
        rows = np.argsort(keys, kind="stable").astype(np.int64)
        arrays: dict[str, NDArray[Any]] = {
            "ends.npy": np.frombuffer(self.ends, dtype=np.uint64),
            "keys.npy": keys[rows],
            "rows.npy": rows,
        }
        for name, values in arrays.items():
            np.save(self.folder / name, values)


def _key(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")
