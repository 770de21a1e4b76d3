"""The pairs of a dataset packed for the browser: columns of numbers, texts once each, compressed, in base64.

Read by ``assets/data.js``. Unpacked, the bytes are: the length of the head as an unsigned 32-bit number; the head, JSON
padded with spaces to a multiple of four; the columns, each starting at a multiple of four. The head's ``columns`` gives
kind, first byte after the head, and length of each. All numbers are little-endian.
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
from assay.reports.page.units import Unit

__all__ = ["pack"]

_KINDS = {"f4": "Float32Array", "u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array"}
#: Level of gzip: higher ones take several times as long for two hundredths less.
LEVEL = 6


def pack(unit: Unit, tagged: TagColumns) -> str:
    """Return pairs, labels, buckets, scores and tags of a dataset; scores as 32-bit floats, NaN where there is none."""
    texts: dict[str, int] = {}
    columns: dict[str, NDArray[Any]] = {
        "label": unit.data.labels.astype("<f4"),
        "class": unit.labels.codes,
    }
    for name in ("question", "reference", "candidate"):
        columns[name] = _codes(_column(unit, name), texts)
    buckets = [bucket for bucket in unit.data.buckets if bucket != ALL]
    for number, bucket in enumerate(buckets):
        columns[f"bucket-{number}"] = unit.data.buckets[bucket].astype(np.uint8)
    for number, scores in enumerate(unit.data.scores.values()):
        columns[f"score-{number}"] = scores.astype("<f4")
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


def _codes(column: Iterable[str], texts: dict[str, int]) -> NDArray[np.uint32]:
    return np.array([texts.setdefault(text, len(texts)) for text in column], dtype="<u4")


def _join(head: dict[str, Any], columns: dict[str, NDArray[Any]]) -> bytes:
    places, offset = {}, 0
    for name, column in columns.items():
        places[name] = [_KINDS[column.dtype.str[1:]], offset, len(column)]
        offset += -(-column.nbytes // 4) * 4
    # half a surrogate pair cannot be written as UTF-8, but as an escape of JSON
    written = json.dumps({**head, "columns": places}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    written += b" " * (-len(written) % 4)
    parts = [len(written).to_bytes(4, "little"), written]
    for column in columns.values():
        parts += [column.tobytes(), bytes(-column.nbytes % 4)]
    return b"".join(parts)
