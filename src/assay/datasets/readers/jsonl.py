"""One JSON object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.datasets.readers.delimited import check_encoding
from assay.datasets.source_table import SourceTable
from assay.errors import InputError

__all__ = ["column_of", "read_jsonl", "table_of_records"]

BLOCK = 20_000


def read_jsonl(path: Path) -> SourceTable:
    """Read a file with one JSON object a line; a key that a line lacks is null there.

    Raises:
        InputError: not UTF-8, a line that is no JSON object, no rows.
    """
    tables: list[pa.Table] = []
    numbers: list[int] = []
    block: list[dict[str, Any]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                block.append(_record(path, number, line))
                numbers.append(number)
                if len(block) >= BLOCK:
                    tables.append(table_of_records(block))
                    block = []
    except UnicodeDecodeError:
        check_encoding(path)
        raise
    if block:
        tables.append(table_of_records(block))
    if not tables:
        raise InputError(f"{path}: the file has no rows")
    counted = np.asarray(numbers, dtype=np.int64)
    simple = bool(np.array_equal(counted, np.arange(1, len(counted) + 1)))
    return SourceTable(_unite(tables), str(path), unit="line", first=1, rows=None if simple else counted)


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {number}: is no JSON ({error.msg}, character {error.pos + 1})") from None
    if not isinstance(record, dict):
        raise InputError(f'{path}, line {number}: expected a JSON object such as {{"reference": …}}')
    return record


def table_of_records(records: list[dict[str, Any]]) -> pa.Table:
    """Return a table of all keys of the records, in the order in which they first appear."""
    names: dict[str, None] = {}
    for record in records:
        names.update(dict.fromkeys(record))
    return pa.table({str(name): column_of([record.get(name) for record in records]) for name in names})


def column_of(values: list[Any]) -> pa.Array:
    """Return the values as an Arrow array: a column of mixed kinds becomes text or lists of text."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {str}:
        return pa.array(values, pa.string())
    if kinds <= {str, list, tuple} and kinds != {str} and _all_text(values):
        return pa.array(
            [v if v is None else [v] if isinstance(v, str) else list(v) for v in values], pa.list_(pa.string())
        )
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if bool not in kinds and all(issubclass(kind, int | float | np.number) for kind in kinds):
        try:
            return pa.array(values, None if kinds == {int} else pa.float64(), from_pandas=False)
        except (pa.ArrowException, OverflowError):
            pass  # an integer beyond 64 bits: kept as text below
    return pa.array([None if v is None else v if isinstance(v, str) else _text(v) for v in values], pa.string())


def _all_text(values: list[Any]) -> bool:
    return all(
        value is None or isinstance(value, str) or all(item is None or isinstance(item, str) for item in value)
        for value in values
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _unite(tables: list[pa.Table]) -> pa.Table:
    """Join blocks of rows whose columns may differ in kind from block to block."""
    names: dict[str, None] = {}
    for table in tables:
        names.update(dict.fromkeys(table.column_names))
    columns = {}
    for name in names:
        parts = [t.column(name) if name in t.column_names else pa.nulls(t.num_rows) for t in tables]
        kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
        if len(kinds) <= 1:
            kind = kinds.pop() if kinds else pa.null()
            columns[name] = pa.chunked_array(
                [c for part in parts for c in _chunks(part if part.type == kind else part.cast(kind))], kind
            )
        else:
            column = column_of([value for part in parts for value in part.to_pylist()])
            columns[name] = pa.chunked_array([column])
    return pa.table(columns)


def _chunks(part: Any) -> list[pa.Array]:
    return part.chunks if isinstance(part, pa.ChunkedArray) else [part]
