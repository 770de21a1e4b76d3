"""Readers of word-vector files, one per format, which yield blocks of rows, so that memory stays bounded.

Words are bytes throughout. A word that is not UTF-8 (the published word2vec file has some, truncated in the middle of
a character) keeps its row, so that counts and line numbers agree with the file; no text contains it.
"""

from __future__ import annotations

import gzip
import itertools
import struct
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.exceptions import InputError
from assay.paths import no_such_file

Format = Literal["text", "binary"]

_FASTTEXT = struct.pack("<i", 793712314)
_GZIP, _ZIP, _NUMPY = b"\x1f\x8b", b"PK\x03\x04", b"\x93NUMPY"
#: The number of rows in a block.
_ROWS_PER_BLOCK = 1024
#: The number of bytes read at a time, and of the longest line or word: a longer one means another format.
_CHUNK_BYTES, _MAX_LINE_BYTES = 1 << 20, 1 << 22
_MAX_DIMENSIONS = 1 << 16
#: The number of bytes by which the format of a file is judged.
_HEAD_BYTES = 1 << 16


class Block(NamedTuple):
    """Consecutive rows of a table.

    Attributes:
        words: one word per row, as the bytes in the file.
        values: the vectors, float32, shape ``(len(words), dimensions)``, all finite.
    """

    words: list[bytes]
    values: NDArray[np.float32]


def read_blocks(path: Path) -> Iterator[Block]:
    """Yield the rows of a file of word vectors in order, in blocks; :func:`find_format` lists the formats.

    Raises:
        InputError: the file is missing, unreadable, empty or broken; the message has the file, the line (the word, in
            a binary file) and what was expected.
    """
    binary = find_format(path) == "binary"
    with _open_decompressed(path) as stream:
        yield from _read_binary(path, stream) if binary else _read_text(path, stream)


def find_format(path: Path) -> Format:
    """Return the format of a file, judged by its first bytes and its name; it may be compressed with gzip.

    ``binary`` is the format of word2vec: a line ``n d``, then for each word the word, a space, and d little-endian
    float32. ``text`` has one word per line with its numbers, after a line ``n d`` (word2vec, fastText's .vec) or from
    the first line on (GloVe). A file with a line ``n d`` is binary if its name ends in .bin or .bin.gz, or if its
    beginning has a zero byte; any other file counts as text.

    Raises:
        InputError: the file is missing, unreadable or empty, or is a .bin of fastText, a zip archive or a NumPy table.
    """
    if not path.is_file():
        raise InputError(no_such_file(path, Path.exists, "file of word vectors"))
    with _open_decompressed(path) as stream:
        head = stream.read(_HEAD_BYTES)
    if not head:
        raise InputError(f"{path}, line 1: expected word vectors, the file is empty")
    if head.startswith(_FASTTEXT):
        raise InputError(f"{path}: fastText's own .bin format is not supported; use the .vec file of the same vectors")
    if head.startswith(_ZIP):
        raise InputError(f"{path}: a zip archive is not supported; unpack it and name the file in it")
    if head.startswith(_NUMPY):
        raise InputError(f"{path}: a table without words; name the folder that has vectors.npy and words.txt")
    if _parse_header(head.partition(b"\n")[0]) is None:
        return "text"
    return "binary" if path.name.removesuffix(".gz").endswith(".bin") or b"\0" in head else "text"


def read_words(path: Path) -> Iterator[list[bytes]]:
    """Yield the words of a file with one word per line, in blocks.

    Raises:
        InputError: the file cannot be read, or a line is blank or too long.
    """
    with _open_decompressed(path) as stream:
        words: list[bytes] = []
        for line_number, line in enumerate(_read_lines(path, stream), 1):
            word = line.rstrip(b"\r\n")
            if not word.strip():
                raise InputError(f"{path}, line {line_number}: expected a word, the line is blank")
            words.append(word)
            if len(words) == _ROWS_PER_BLOCK:
                yield words
                words = []
        if words:
            yield words


def check_finite(path: Path, values: NDArray[np.float32], unit: str, first: int) -> None:
    """Check that all values are finite.

    Args:
        path: the file, for the message.
        values: consecutive rows of a table, shape (rows, dimensions).
        unit: the name of a row in the message: line, word or row.
        first: the number of the first row in the file.

    Raises:
        InputError: a value is not finite; the message has its row.
    """
    is_finite = np.isfinite(values)
    if not is_finite.all():
        row, column = np.argwhere(~is_finite)[0]
        problem = f"number {column + 1} is {values[row, column]}"
        raise InputError(f"{path}, {unit} {first + row}: expected finite numbers of single precision, {problem}")


def _read_text(path: Path, stream: BufferedIOBase) -> Iterator[Block]:
    """Yield the rows of a text file in blocks, and check their number if the first line declares it.

    The numbers of a block are collected in one array of doubles: a list would take four times the memory.

    Raises:
        InputError: the file is broken, or its number of rows is not the declared one.
    """
    lines = _read_lines(path, stream)
    # find_format has refused an empty file
    first = next(lines)
    header = _parse_header(first)
    if header is None:
        expected_rows, dimensions = None, _count_numbers(path, first)
        lines = itertools.chain([first], lines)
        first_row = 1
    else:
        expected_rows, dimensions = header
        first_row = 2
    row_count = 0
    while block_lines := list(itertools.islice(lines, _ROWS_PER_BLOCK)):
        start_line = row_count + first_row
        if expected_rows is not None and row_count + len(block_lines) > expected_rows:
            raise InputError(
                f"{path}, line {expected_rows + 2}: expected the end after the {expected_rows} words of line 1"
            )
        row_count += len(block_lines)
        words, numbers = [], array("d")
        for line_number, line in enumerate(block_lines, start_line):
            word, line_numbers = _parse_line(path, line_number, line, dimensions)
            words.append(word)
            numbers.extend(line_numbers)
        # numbers beyond float32 become infinite, which check_finite reports
        with np.errstate(over="ignore"):
            values = np.frombuffer(numbers).reshape(len(block_lines), dimensions).astype(np.float32)
        check_finite(path, values, "line", start_line)
        yield Block(words, values)
    if expected_rows is not None and row_count < expected_rows:
        raise InputError(
            f"{path}, line {row_count + 2}: expected {expected_rows} words as line 1 says, found the end of the file"
        )


def _parse_line(path: Path, line_number: int, line: bytes, dimensions: int) -> tuple[bytes, list[float]]:
    """Return the word of a line and the numbers after it, one per dimension.

    Args:
        path: the file, for messages.
        line_number: the number of the line, from 1, for messages.
        line: the line, line end included.
        dimensions: the number of dimensions.

    Raises:
        InputError: the line has too few or too many fields, or one that is not a number.
    """
    # split from the right, since a few words of GloVe's 840B file contain spaces
    fields = line.rsplit(None, dimensions)
    word = fields[0] if len(fields) == dimensions + 1 else b""
    # a number at the end of a word with spaces is a surplus number, not part of the word
    has_extra_number = b" " in word and _is_number(word.rpartition(b" ")[2])
    if not word or has_extra_number:
        count = len(line.split())
        raise InputError(f"{path}, line {line_number}: expected a word and {dimensions} numbers, found {count} fields")
    try:
        return word, [float(field) for field in fields[1:]]
    except ValueError:
        wrong = next(field for field in fields[1:] if not _is_number(field))
        raise InputError(f"{path}, line {line_number}: expected a number, found {_quote_field(wrong)}") from None


def _count_numbers(path: Path, line: bytes) -> int:
    """Return the number of dimensions of a file without a header: how many numbers end its first line.

    Raises:
        InputError: the line is not a word and its numbers.
    """
    fields = line.split()
    count = 0
    while count < len(fields) - 1 and _is_number(fields[-1 - count]):
        count += 1
    if not 0 < count <= _MAX_DIMENSIONS:
        raise InputError(
            f"{path}, line 1: expected 'n d' or a word and its numbers, found {_quote_field(line.strip())}"
        )
    if any(map(_is_number, fields[1:-count])):
        raise InputError(f"{path}, line 1: expected a number, found {_quote_field(fields[-count - 1])}")
    return count


def _read_binary(path: Path, stream: BufferedIOBase) -> Iterator[Block]:
    """Yield the rows of a binary file in blocks.

    Raises:
        InputError: the file is truncated or broken, or does not end after the declared number of words.
    """
    # find_format has read the header; it is absent only if the file changed since
    word_count, dimensions = _parse_header(stream.readline(_MAX_LINE_BYTES)) or (0, 0)
    rows = _BinaryRows(path, stream, word_count, dimensions)
    for start in range(1, word_count + 1, _ROWS_PER_BLOCK):
        words, numbers = [], bytearray()
        for word_number in range(start, min(start + _ROWS_PER_BLOCK, word_count + 1)):
            word, vector = rows.take(word_number)
            words.append(word)
            numbers += vector
        values = np.frombuffer(numbers, dtype="<f4").reshape(len(words), dimensions).astype(np.float32, copy=False)
        check_finite(path, values, "word", start)
        yield Block(words, values)
    rows.check_end()


class _BinaryRows:
    """The rows of a binary file after its header, one after the other.

    Words have no fixed length: the file is read in large pieces, and the end of each word is searched in the buffer.
    One read per word would take most of the time.

    Args:
        path: the file, for messages.
        stream: the file, opened after its header.
        word_count: the number of words by the header.
        dimensions: the number of numbers after each word.
    """

    def __init__(self, path: Path, stream: BufferedIOBase, word_count: int, dimensions: int) -> None:
        self._path, self._stream, self._word_count = path, stream, word_count
        self._vector_bytes = 4 * dimensions
        self._buffer = b""
        #: Where in the buffer the next row begins.
        self._position = 0

    def take(self, number: int) -> tuple[bytes, bytes]:
        """Return the next word and the bytes of its vector.

        Args:
            number: the number of the word, from 1, for messages.

        Raises:
            InputError: the file ends or has no word here; the message names the number of the word.
        """
        space = self._buffer.find(b" ", self._position)
        # until the word and all of its vector are in the buffer
        while space < 0 or len(self._buffer) <= space + self._vector_bytes:
            self._read_on(number)
            space = self._buffer.find(b" ", self._position)
        # the original program writes a newline after each vector, others do not
        word = self._buffer[self._position : space].removeprefix(b"\n")
        if not word:
            raise self._error(number, "expected a word, found an empty one")
        self._position = space + 1 + self._vector_bytes
        return word, self._buffer[space + 1 : self._position]

    def _read_on(self, number: int) -> None:
        """Add a piece of the file to the buffer, since a word and its vector are not yet all there.

        Raises:
            InputError: the file ends within the row, or the row is too long for one.
        """
        piece = self._stream.read(_CHUNK_BYTES)
        if not piece:
            raise self._error(number, f"expected a word and {self._vector_bytes} bytes, cut short")
        if len(self._buffer) - self._position > _MAX_LINE_BYTES:
            raise self._error(number, "expected a word and a space, found neither")
        self._buffer, self._position = self._buffer[self._position :] + piece, 0

    def _error(self, number: int, problem: str) -> InputError:
        return InputError(f"{self._path}, word {number} of {self._word_count}: {problem}")

    def check_end(self) -> None:
        """Check that nothing but a newline follows the last row.

        Raises:
            InputError: other bytes follow.
        """
        # two more bytes tell whether anything but a final newline follows
        if (self._buffer[self._position :] + self._stream.read(2)).strip(b"\n"):
            raise InputError(
                f"{self._path}, word {self._word_count + 1}: expected the end after the {self._word_count} words of "
                "line 1"
            )


def _parse_header(line: bytes) -> tuple[int, int] | None:
    """Return the number of words and of dimensions in a first line ``n d``; None for any other line."""
    fields = line.split()
    if len(fields) != 2:
        return None
    # 16 digits are too many for a number of words, but may be a word
    if not all(field.isdigit() and len(field) < 16 for field in fields):
        return None
    count, dimensions = int(fields[0]), int(fields[1])
    if count == 0 or not 0 < dimensions <= _MAX_DIMENSIONS:
        return None
    return count, dimensions


def _read_lines(path: Path, stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield the lines of a file, line ends included.

    Raises:
        InputError: a line is too long for a file of word vectors.
    """
    for line_number in itertools.count(1):
        line = stream.readline(_MAX_LINE_BYTES)
        if not line:
            return
        if len(line) == _MAX_LINE_BYTES:
            raise InputError(
                f"{path}, line {line_number}: expected a line of text, found more than {_MAX_LINE_BYTES} bytes"
            )
        yield line


@contextmanager
def _open_decompressed(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file for reading bytes, decompressed if it is compressed with gzip.

    Raises:
        InputError: the file cannot be read or decompressed, on opening or within the block.
    """
    try:
        with path.open("rb") as file:
            is_compressed = file.read(2) == _GZIP
            file.seek(0)
            if is_compressed:
                with gzip.open(file) as stream:
                    yield stream
            else:
                yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: the gzip stream is broken ({error})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def _is_number(field: bytes) -> bool:
    """Tell whether a field is a number as Python writes it."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _quote_field(field: bytes) -> str:
    return repr(field[:40].decode("utf-8", "replace"))
