"""What a reader made of the files of a split, kept in the cache, since reading takes longer than finding it again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa

from assay.common.database import StoreError
from assay.common.kept import KeptResults, default_results, result_key
from assay.datasets.locate import LocatedFile
from assay.datasets.readers.base import ReaderResult
from assay.exceptions import InputError

#: The least size in bytes of the files of a split whose pairs are kept; less is read in a few hundredths of a second.
MIN_BYTES: Final = 200_000
_NOTES: Final = b"notes"


def kept_result(
    reader: str, files: Mapping[str, LocatedFile], options: Mapping[str, Any], read: Callable[[], ReaderResult]
) -> ReaderResult:
    """Return the result of a reader of the package: kept by an earlier process, or read and kept.

    Of files of fewer than :data:`MIN_BYTES` together nothing is kept: they are read each time.

    Args:
        reader: the name of the reader.
        files: the files of the split, by name; their contents are known by their digests.
        options: the options of the split.
        read: the function that reads the files.

    Raises:
        AssayError: what *read* raises. A cache that cannot be read or written is left alone.
    """
    if sum(file.path.stat().st_size for file in files.values()) < MIN_BYTES:
        return read()
    # files and fields have an order, and notes name the paths
    inputs = [[name, file.sha256, str(file.path)] for name, file in files.items()]
    key = result_key("pairs", reader, json.dumps(options, default=str), inputs)
    content = None
    with suppress(InputError, StoreError), KeptResults(default_results()) as results:
        content = results.find_bytes(key)
    if content is not None:
        return _result_of(content)
    result = read()
    with suppress(InputError, StoreError), KeptResults(default_results()) as results:
        results.keep_bytes(key, _content_of(result))
    return result


def _content_of(result: ReaderResult) -> bytes:
    """Return the table of a result, with its notes, as a stream of Arrow."""
    notes = {_NOTES: json.dumps(result.notes).encode()}
    table = result.table.replace_schema_metadata({**(result.table.schema.metadata or {}), **notes})
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return bytes(stream.getvalue())


def _result_of(content: bytes) -> ReaderResult:
    """Return the result that a stream of Arrow holds."""
    table = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
    metadata = dict(table.schema.metadata)
    notes = json.loads(metadata.pop(_NOTES))
    return ReaderResult(table.replace_schema_metadata(metadata or None), tuple(notes))
