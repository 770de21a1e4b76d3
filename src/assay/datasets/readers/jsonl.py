"""One JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.datasets.columns import Misfit, SourceTable
from assay.datasets.readers.delimited import check_encoding
from assay.errors import InputError
from assay.tables import repeated

BLOCK = 20_000
#: Cells of a block: more come of lines that share no keys.
MOST_CELLS = 50_000_000


def read_jsonl(path: Path) -> SourceTable:
    """Read a file with one JSON object a line; a key that a line lacks is null there.

    Raises:
        InputError: not UTF-8, a line that is not JSON object or holds what no table can, lines that share no keys, no
            rows.
    """
    tables: list[pa.Table] = []
    misfits: dict[str, Misfit] = {}
    numbers: list[int] = []
    block: list[dict[str, Any]] = []

    def flush() -> None:
        keys = {key for record in block for key in record}
        if len(keys) * len(block) > MOST_CELLS:
            raise InputError(
                f"{path}: {len(block):,} lines have {len(keys):,} different keys, too many for the columns of a table; "
                "keep the keys that are needed"
            )
        table, found = table_of_records(block)
        before = len(numbers) - len(block)
        for name, one in found.items():
            misfits.setdefault(name, Misfit(before + one.place, one.what))
        tables.append(table)
        block.clear()

    for number, line in json_lines(path):
        block.append(_record(path, number, line))
        numbers.append(number)
        if len(block) >= BLOCK:
            flush()
    if block:
        flush()
    if not tables:
        raise InputError(f"{path}: the file has no rows")
    counted = np.asarray(numbers, dtype=np.int64)
    simple = bool(np.array_equal(counted, np.arange(1, len(counted) + 1)))
    rows = None if simple else counted
    return SourceTable(_unite(tables), str(path), unit="line", first=1, rows=rows, misfits=misfits)


def json_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank, without its line end.

    Raises:
        InputError: not UTF-8.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if text:
                    yield number, text
    except UnicodeDecodeError:
        check_encoding(path)
        raise


class _KeyTwiceError(Exception):
    """An object of JSON has a key twice; Python's reader would keep the last value alone."""


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    where = f"{path}, line {number}"
    try:
        record = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: is not JSON ({error.msg}, character {error.pos + 1})") from None
    except _KeyTwiceError as error:
        raise InputError(f"{where}: the key {error.args[0]!r} appears twice; rename or remove one") from None
    except RecursionError:
        raise InputError(f"{where}: its lists or objects are nested too deeply to be read") from None
    except ValueError:
        # what is left: int() refuses so many digits (sys.set_int_max_str_digits)
        raise InputError(f"{where}: holds a whole number of thousands of digits; write it as text") from None
    if not isinstance(record, dict):
        raise InputError(f'{where}: expected a JSON object such as {{"reference": …}}')
    if "\\u" in line:
        try:
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])[1:-1]
            raise InputError(
                f"{where}: holds {half}, half of a surrogate pair, which is not a character; write the whole pair, or"
                " leave it out"
            ) from None
    return record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _KeyTwiceError(repeated([name for name, _ in pairs]))
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def table_of_records(records: list[dict[str, Any]]) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return a table of all keys of the records, in the order in which they first appear, and what is no text in it.

    Takes time for the values that are there, not for every key of every record: lines may share few keys.
    """
    found: dict[str, tuple[list[int], list[Any]]] = {}
    for place, record in enumerate(records):
        for name, value in record.items():
            if name not in found:
                found[name] = [], []
            places, values = found[name]
            places.append(place)
            values.append(value)
    columns: dict[str, pa.Array] = {}
    misfits: dict[str, Misfit] = {}
    for name, (places, values) in found.items():
        columns[name] = _spread(column_of(values), places, len(records))
        misfit = misfit_of(values)
        if misfit is not None:
            misfits[name] = Misfit(places[misfit.place], misfit.what)
    return pa.table(columns), misfits


def _spread(column: pa.Array, places: list[int], length: int) -> pa.Array:
    """Return a column with its values at some places of more rows, and null elsewhere."""
    if len(places) == length:
        return column
    source = np.full(length, -1)
    source[places] = np.arange(len(places))
    return column.take(pa.array(source, mask=source < 0))


def table_of_columns(columns: Mapping[str, list[Any]]) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return a table of columns of any values, and by column the first value that can be no text."""
    found = {name: one for name, values in columns.items() if (one := misfit_of(values)) is not None}
    return pa.table({name: column_of(values) for name, values in columns.items()}), found


def misfit_of(values: list[Any]) -> Misfit | None:
    """Return the first value that stands for no text and for no list of texts, or None.

    Whole numbers and truth values do stand for a text. A fraction does not: 1.50 would be written as 1.5.
    """
    if {type(value) for value in values} <= {str, int, bool, type(None)}:
        return None
    for place, value in enumerate(values):
        if value is None or isinstance(value, str | int | bool | np.integer | np.bool_):
            continue
        if isinstance(value, Mapping):
            return Misfit(place, "an object")
        if isinstance(value, list | tuple):
            if not _all_text([value]):
                return Misfit(place, "a list of other things than texts")
        elif isinstance(value, float | np.floating):
            return Misfit(place, f"the number {value}")
        else:
            return Misfit(place, f"a value of type {type(value).__name__}")
    return None


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
    return json.dumps(value.item() if isinstance(value, np.generic) else value, ensure_ascii=False, default=str)


def _unite(tables: list[pa.Table]) -> pa.Table:
    """Join blocks of rows whose columns may differ in kind from block to block."""
    names: dict[str, None] = {}
    for table in tables:
        names.update(dict.fromkeys(table.column_names))
    columns = {}
    known = [(table, frozenset(table.column_names)) for table in tables]
    for name in names:
        parts = [table.column(name) if name in own else pa.nulls(table.num_rows) for table, own in known]
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
