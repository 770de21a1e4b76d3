"""The pairs of a dataset packed for the browser: columns of numbers, texts once each, compressed, in base64.

Read by ``assets/data.js``. Unpacked, the bytes are: the length of the head as an unsigned 32-bit number; the head, JSON
padded with spaces so that the columns start at a multiple of eight; the columns, each at a multiple of eight after the
head. The head's ``columns`` gives kind, first byte after the head, and length of each. All numbers are little-endian.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.reports.data import ALL
from assay.reports.page.tagging import TagColumns
from assay.reports.units import Unit

__all__ = ["pack"]

_KINDS = {"f4": "Float32Array", "f8": "Float64Array", "u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array"}
#: A browser reads 64-bit floats only from a multiple of their size.
_STEP = 8
#: Level of gzip: higher ones take several times as long for two hundredths less.
LEVEL = 6


def pack(unit: Unit, tagged: TagColumns) -> str:
    """Return pairs, labels, buckets, scores and tags of a dataset; a score is NaN where there is none.

    Labels and scores are 32-bit floats, or 64-bit ones where a number is too large or too small for 32 bits.
    """
    texts: dict[str, int] = {}
    columns: dict[str, NDArray[Any]] = {
        "label": _floats(unit.data.labels),
        "class": unit.labels.codes,
    }
    for name in ("question", "reference", "candidate"):
        columns[name] = _codes(_column(unit, name), texts)
    buckets = [bucket for bucket in unit.data.buckets if bucket != ALL]
    for number, bucket in enumerate(buckets):
        columns[f"bucket-{number}"] = unit.data.buckets[bucket].astype(np.uint8)
    for number, scores in enumerate(unit.data.scores.values()):
        columns[f"score-{number}"] = _floats(scores)
    columns["tag-start"] = tagged.starts
    columns["tag-category"] = tagged.categories
    columns["tag-reason"] = _codes(tagged.reasons, texts)
    head = {
        "n": len(unit.data),
        "ids": unit.data.table.column("pair_id").to_pylist(),
        "classes": unit.labels.titles,
        "buckets": buckets,
        "metrics": [
            {"name": name, "short": unit.names[name], "kind": facts.kind, "higher": facts.higher_is_better}
            for name, facts in unit.data.metrics.items()
        ],
        "ranking": [list(unit.data.scores).index(name) for name in unit.ranking(unit.main_statistic)],
        "categories": tagged.names,
        "texts": list(texts),
    }
    return base64.b64encode(gzip.compress(_join(head, columns), LEVEL, mtime=0)).decode("ascii")


def _column(unit: Unit, name: str) -> Iterable[str]:
    if name not in unit.data.table.column_names:
        return [""] * len(unit.data)
    cells = unit.data.table.column(name).to_pylist()
    if name == "reference":
        return [" | ".join(cell or [""]) for cell in cells]
    return [cell or "" for cell in cells]


def _floats(values: NDArray[np.float64]) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore"):
        short = values.astype("<f4")
    held = (np.isfinite(short) == np.isfinite(values)) & ((short == 0) == (values == 0))
    return short if held.all() else values.astype("<f8")


def _codes(column: Iterable[str], texts: dict[str, int]) -> NDArray[np.uint32]:
    return np.array([texts.setdefault(text, len(texts)) for text in column], dtype="<u4")


def _join(head: dict[str, Any], columns: dict[str, NDArray[Any]]) -> bytes:
    places, offset = {}, 0
    for name, column in columns.items():
        places[name] = [_KINDS[column.dtype.str[1:]], offset, len(column)]
        offset += -(-column.nbytes // _STEP) * _STEP
    # half a surrogate pair cannot be written as UTF-8, but as an escape of JSON
    written = json.dumps({**head, "columns": places}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    written += b" " * (-(4 + len(written)) % _STEP)
    parts = [len(written).to_bytes(4, "little"), written]
    for column in columns.values():
        parts += [column.tobytes(), bytes(-column.nbytes % _STEP)]
    return b"".join(parts)
