"""A table of word vectors that stays on disk: converted once into the cache, then memory-mapped.

The cache has one folder per source, named by the digest of its content::

    vectors.npy   float32, one row per word (absent if the source is a folder, whose own table is used)
    words.bin     the concatenated words, as bytes
    ends.npy      uint64, the end of each word in words.bin
    keys.npy      uint64, a 64-bit BLAKE2b digest of each word, sorted
    rows.npy      int64, the row of each key; equal keys in the order of their rows
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.metrics.provenance import file_digest
from assay.metrics.words.formats import check_finite, find_format, read_blocks, read_words
from assay.paths import cache_dir, make_private_folder

_TABLE_FILE, _WORDS_FILE = "vectors.npy", "words.txt"
_INDEX_FILES = ("ends.npy", "keys.npy", "rows.npy")
#: The number of rows of a folder's table that are checked at a time.
_ROWS_PER_CHECK = 4096


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Word vectors by word, as :func:`open_vectors` returns them.

    ``len()`` is the number of rows. If a word has several rows, the first is used.

    Attributes:
        digest: the SHA-256 digest of the source in hexadecimal; for a folder, the digest of its two files' digests.
        table: the vectors, floating point, shape ``(len, dimensions)``, memory-mapped.
        words: the concatenated words as UTF-8, one byte each, uint8.
        ends: the index in *words* after the last byte of each word, shape ``(len,)``.
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
        """The number of dimensions of a vector."""
        return int(self.table.shape[1])

    def find_rows(self, words: Sequence[str]) -> NDArray[np.intp]:
        """Return the number of each word's row, -1 if the word is unknown, shape ``(len(words),)``.

        Words are compared by their UTF-8 bytes: neither case nor Unicode form is changed.
        """
        # "surrogatepass", since a text may have an unpaired surrogate: an unknown word, but not an error
        encoded = [word.encode("utf-8", "surrogatepass") for word in words]
        keys = np.fromiter(map(_hash_word, encoded), dtype=np.uint64, count=len(encoded))
        positions = np.searchsorted(self.keys, keys)
        rows = np.empty(len(encoded), dtype=np.intp)
        for index, (word, key, position) in enumerate(zip(encoded, keys, positions, strict=True)):
            rows[index] = self._row_at_key(word, key, int(position))
        return rows

    def rows_by_word(self, words: Sequence[str], case: Literal["lower", "keep", "auto"] = "auto") -> dict[str, int]:
        """Return the number of the row of each distinct word, -1 if the word is unknown.

        Args:
            words: words as a text has them.
            case: the form to look up: in ``lower`` case, as written (``keep``), or as written and then, if unknown,
                in lower case (``auto``).
        """
        distinct = list(dict.fromkeys(words))
        # str leaves a word as it is
        forms: dict[str, list[Callable[[str], str]]] = {"keep": [str], "lower": [str.lower], "auto": [str, str.lower]}
        rows = dict.fromkeys(distinct, -1)
        for form in forms[case]:
            missing = [word for word in distinct if rows[word] < 0]
            found_rows = self.find_rows([form(word) for word in missing]).tolist()
            rows |= zip(missing, found_rows, strict=True)
        return rows

    def _row_at_key(self, word: bytes, key: np.uint64, position: int) -> int:
        """Return the number of a word's row, -1 if the word is unknown.

        Args:
            word: the UTF-8 bytes of the word.
            key: the key of the word.
            position: the first index in the sorted keys at which the key can be.
        """
        for index in range(position, len(self.keys)):
            if self.keys[index] != key:
                break
            # different words can have the same key, so the bytes are compared
            row = int(self.order[index])
            start = int(self.ends[row - 1]) if row else 0
            if self.words[start : int(self.ends[row])].tobytes() == word:
                return row
        return -1

    def vectors_at(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the vectors in some rows, float32, shape ``(len(rows), dimensions)``.

        Raises:
            IndexError: the number of a row is negative (an unknown word) or past the end of the table.
        """
        if len(rows) and rows.min() < 0:
            raise IndexError("an unknown word has no row")
        return np.asarray(self.table[rows], dtype=np.float32)


def check_source(path: Path) -> None:
    """Check that *path* has word vectors, judging by the beginning of the file or the names in the folder.

    Raises:
        InputError: the file or folder is missing, or has an unsupported format.
    """
    if not path.is_dir():
        find_format(path)
        return
    for name in (_TABLE_FILE, _WORDS_FILE):
        if not (path / name).is_file():
            raise InputError(
                f"{path}: a folder of word vectors needs {_TABLE_FILE} and {_WORDS_FILE}; there is no {name}"
            )


def source_digest(path: Path) -> str:
    """Return the SHA-256 digest of a file in hexadecimal; for a folder, the digest of its two files' digests."""
    if not path.is_dir():
        return file_digest(path)
    both_digests = file_digest(path / _TABLE_FILE) + file_digest(path / _WORDS_FILE)
    return hashlib.sha256(both_digests.encode()).hexdigest()


def open_vectors(path: Path) -> WordVectors:
    """Return the word vectors of a file or folder, memory-mapped; on first use they are converted into the cache.

    Formats: word2vec, text and binary; GloVe; fastText's .vec; any of them compressed with gzip; a folder with
    ``vectors.npy`` (floating point, two axes) and ``words.txt`` (one word per line).

    Raises:
        InputError: the source is missing or broken (the message has the file, the line and what was expected), or the
            converted vectors in the cache are damaged.
        OSError: the cache cannot be written.
    """
    check_source(path)
    digest = source_digest(path)
    target = cache_dir() / "vectors" / digest
    if not target.is_dir():
        _convert_into(path, digest, target)
    # the table of a folder is used in place, only its index is in the cache
    table_folder = path.resolve() if path.is_dir() else target
    return _map_into_memory(table_folder, digest, target)


@functools.lru_cache(maxsize=4)
def _map_into_memory(table_folder: Path, digest: str, target: Path) -> WordVectors:
    """Return word vectors with the table in *table_folder* and the index in *target*, both memory-mapped; cached.

    Args:
        table_folder: the folder of the table.
        digest: the digest of the source, which the result has as an attribute.
        target: the folder of the index.

    Raises:
        InputError: the files are damaged.
    """
    try:
        ends, keys, rows = (np.asarray(np.load(target / name, mmap_mode="r")) for name in _INDEX_FILES)
        words = np.asarray(np.memmap(target / "words.bin", dtype=np.uint8, mode="r"))
        return WordVectors(
            digest=digest,
            table=np.load(table_folder / _TABLE_FILE, mmap_mode="r"),
            words=words,
            ends=ends,
            keys=keys,
            order=rows,
        )
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{target}: the converted vectors are damaged ({error}); delete this folder") from None


def _convert_into(path: Path, digest: str, target: Path) -> None:
    """Convert a source into the folder *target*, which gets its name only when it is complete.

    If another process has created the folder meanwhile, that one stays and this conversion is dropped.

    Args:
        path: the source, a file or folder.
        digest: the digest of the source before the conversion.
        target: the folder to create.

    Raises:
        InputError: the source is broken, or changed during the conversion.
        OSError: the cache cannot be written.
    """
    make_private_folder(target.parent)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=target.parent, ignore_cleanup_errors=True) as parent:
        new_folder = Path(parent) / digest
        new_folder.mkdir()
        if path.is_dir():
            _index_folder(path, new_folder)
        else:
            _convert_file(path, new_folder)
        if source_digest(path) != digest:
            raise InputError(f"{path}: the file changed while it was read; run again")
        try:
            new_folder.rename(target)
        except OSError:
            # the folder of another process has the same content; any other error is a real one
            if not target.is_dir():
                raise


def _convert_file(path: Path, folder: Path) -> None:
    """Write the table and the index of a file into *folder*, block by block, so that memory stays bounded.

    Raises:
        InputError: the file is broken.
    """
    index = _IndexWriter(folder)
    with (folder / _TABLE_FILE).open("wb") as table:
        dimensions = 0
        for block in read_blocks(path):
            # the first block tells the number of dimensions
            if not dimensions:
                dimensions = block.values.shape[1]
                _write_header(table, 0, dimensions)
            table.write(np.ascontiguousarray(block.values, dtype="<f4").tobytes())
            index.add_words(block.words)
        # the number of rows is known only now; the header has the same length for any number
        table.seek(0)
        _write_header(table, len(index.ends), dimensions)
    index.save()


def _write_header(stream: BinaryIO, row_count: int, dimensions: int) -> None:
    """Write the header of a .npy file of float32 in NumPy's format 1.0; it has 128 bytes whatever the shape."""
    # six bytes of magic, two of the version, two of the length, and 118 of the description, which ends with a newline
    description = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({row_count}, {dimensions}), }}"
    stream.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + description.ljust(117).encode() + b"\n")


def _index_folder(path: Path, folder: Path) -> None:
    """Write the index of a source folder's words into *folder*, and check its table, which is used in place.

    Raises:
        InputError: the table is broken or has a number that is not finite, or it has not one row per word.
    """
    index = _IndexWriter(folder)
    for words in read_words(path / _WORDS_FILE):
        index.add_words(words)
    index.save()
    table = _check_table(path / _TABLE_FILE)
    row_count, word_count = len(table), len(index.ends)
    if row_count != word_count:
        line = min(row_count, word_count) + 1
        raise InputError(
            f"{path / _WORDS_FILE}, line {line}: "
            f"expected {row_count} words as {_TABLE_FILE} has rows, found {word_count}"
        )
    for start in range(0, len(table), _ROWS_PER_CHECK):
        # numbers beyond float32 become infinite, which check_finite reports
        with np.errstate(over="ignore"):
            values = np.asarray(table[start : start + _ROWS_PER_CHECK], dtype=np.float32)
        check_finite(path / _TABLE_FILE, values, "row", start + 1)


def _check_table(path: Path) -> NDArray[Any]:
    """Return the memory-mapped table of a .npy file.

    Raises:
        InputError: it is not a table with two axes of floating-point numbers, or it is empty.
    """
    try:
        table: NDArray[Any] = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: expected a NumPy table ({error})") from None
    if table.ndim != 2 or table.dtype.kind != "f" or not table.size:
        raise InputError(f"{path}: expected rows of floating-point numbers, found {table.dtype} of shape {table.shape}")
    return table


class _IndexWriter:
    """The index of a table during conversion: sixteen bytes per word in memory, the words themselves on disk.

    Args:
        folder: the folder to which the files of the index are written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = array("Q")
        self.ends = array("Q")
        self._end = 0

    def add_words(self, words: Sequence[bytes]) -> None:
        """Add the words of the next rows to the index, and append them to ``words.bin``."""
        for word in words:
            self._end += len(word)
            self.ends.append(self._end)
            self.keys.append(_hash_word(word))
        with (self.folder / "words.bin").open("ab") as stream:
            stream.write(b"".join(words))

    def save(self) -> None:
        """Write the ends, the keys and the rows of the words to their files; without words, write nothing."""
        if not self.ends:
            return
        keys = np.frombuffer(self.keys, dtype=np.uint64)
        # a stable sort keeps the rows of a duplicate word in order, so that the first one is found
        rows = np.argsort(keys, kind="stable").astype(np.int64)
        arrays: dict[str, NDArray[Any]] = {
            "ends.npy": np.frombuffer(self.ends, dtype=np.uint64),
            "keys.npy": keys[rows],
            "rows.npy": rows,
        }
        for name, values in arrays.items():
            np.save(self.folder / name, values)


def _hash_word(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")
