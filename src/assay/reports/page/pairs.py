"""The pairs of a dataset with their categories, packed for the browser."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ALL
from assay.analysis.errors.tags import TagColumns
from assay.common.tables import CONTEXT, has_contexts
from assay.reports.units import Unit

# The pairs of a dataset packed for the browser: columns of numbers, and each text once, compressed and in base64
#
# They are read by ``assets/data.js``. The unpacked bytes are: the length of the head as an unsigned 32-bit number; the
# head, JSON padded with spaces so that the columns start at a multiple of eight bytes; the columns, each at a multiple
# of eight bytes after the head. The entry ``columns`` of the head has the type, the first byte after the head, and the
# length of each column. All numbers are little-endian.

_ARRAY_TYPES = {
    "f4": "Float32Array",
    "f8": "Float64Array",
    "u1": "Uint8Array",
    "u2": "Uint16Array",
    "u4": "Uint32Array",
}
#: Alignment of columns in bytes: a browser reads 64-bit floats only from a multiple of their size.
_ALIGNMENT = 8
#: Level of gzip: higher levels take several times as long to save two per cent.
GZIP_LEVEL = 6


def pack_pairs(unit: Unit, tagged: TagColumns) -> str:
    """Return the pairs, labels, buckets, scores and tags of a dataset as base64 text; a missing score is NaN.

    Labels and scores are 32-bit floats; a column with a number too large or too small for 32 bits has 64-bit floats.

    Args:
        unit: the dataset.
        tagged: the categories of its pairs.
    """
    texts: dict[str, int] = {}
    columns: dict[str, NDArray[Any]] = {
        "label": _narrowest_floats(unit.data.labels),
        "class": unit.labels.codes,
    }
    for name in ("question", "reference", "candidate", *([CONTEXT] if has_contexts(unit.data.table) else [])):
        columns[name] = _text_codes(_text_column(unit, name), texts)
    buckets = [bucket for bucket in unit.data.buckets if bucket != ALL]
    for number, bucket in enumerate(buckets):
        columns[f"bucket-{number}"] = unit.data.buckets[bucket].astype(np.uint8)
    for number, scores in enumerate(unit.data.scores.values()):
        columns[f"score-{number}"] = _narrowest_floats(scores)
    columns["tag-start"] = tagged.starts
    columns["tag-category"] = tagged.categories
    columns["tag-reason"] = _text_codes(tagged.reasons, texts)
    head = {
        "n": len(unit.data),
        "ids": unit.data.table.column("pair_id").to_pylist(),
        "classes": unit.labels.titles,
        "buckets": buckets,
        "metrics": [
            {
                "name": name,
                "short": unit.names[name],
                "kind": metric.declared.kind,
                "higher": metric.declared.higher_is_better,
            }
            for name, metric in unit.data.metrics.items()
        ],
        "ranking": [list(unit.data.scores).index(name) for name in unit.ranking(unit.main_statistic)],
        "categories": tagged.names,
        "texts": list(texts),
    }
    return pack(head, columns)


def pack(head: dict[str, Any], columns: dict[str, NDArray[Any]]) -> str:
    """Return a JSON object and columns of numbers as base64 text, in the format that this section begins with.

    Args:
        head: the values of JSON.
        columns: the columns by name; their types are those of :data:`_ARRAY_TYPES`, little-endian.
    """
    # without the time of compression, equal data make equal text
    compressed = gzip.compress(_join_columns(head, columns), GZIP_LEVEL, mtime=0)
    return base64.b64encode(compressed).decode("ascii")


def _text_column(unit: Unit, name: str) -> Iterable[str]:
    """Return the texts of a column, one per pair, with several gold answers joined by bars.

    A missing cell is an empty text, and so are all if the dataset lacks the column.
    """
    if name not in unit.data.table.column_names:
        return [""] * len(unit.data)
    cells = unit.data.table.column(name).to_pylist()
    if name == "reference":
        return [" | ".join(cell or [""]) for cell in cells]
    return [cell or "" for cell in cells]


def _narrowest_floats(values: NDArray[np.float64]) -> NDArray[Any]:
    """Return numbers as 32-bit floats, or as 64-bit floats if one of them would overflow or become 0."""
    with np.errstate(over="ignore", under="ignore"):
        narrow_values = values.astype("<f4")
    is_representable = (np.isfinite(narrow_values) == np.isfinite(values)) & ((narrow_values == 0) == (values == 0))
    return narrow_values if is_representable.all() else values.astype("<f8")


def _text_codes(column: Iterable[str], texts: dict[str, int]) -> NDArray[np.uint32]:
    """Return the index of each text in *texts*, to which new texts are added; shape (n,)."""
    return np.array([texts.setdefault(text, len(texts)) for text in column], dtype="<u4")


def _join_columns(head: dict[str, Any], columns: dict[str, NDArray[Any]]) -> bytes:
    """Return the length of the head, the head with the positions of the columns, and the columns, as bytes.

    The format is that which this section begins with.
    """
    positions, offset = {}, 0
    for name, column in columns.items():
        # without the sign of the byte order, as in "<f4"
        array_type = _ARRAY_TYPES[column.dtype.str[1:]]
        positions[name] = [array_type, offset, len(column)]
        # rounded up to the next multiple
        offset += -(-column.nbytes // _ALIGNMENT) * _ALIGNMENT
    # a lone surrogate cannot be encoded as UTF-8; a JSON escape can express it
    encoded_head = json.dumps({**head, "columns": positions}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    encoded_head += b" " * (-(4 + len(encoded_head)) % _ALIGNMENT)
    chunks = [len(encoded_head).to_bytes(4, "little"), encoded_head]
    for column in columns.values():
        chunks += [column.tobytes(), bytes(-column.nbytes % _ALIGNMENT)]
    return b"".join(chunks)
