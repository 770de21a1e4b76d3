"""Reads JSONL, one JSON object per line, and converts Python values to Arrow columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.common.tables import first_repeated
from assay.datasets.columns import Misfit, SourceTable, rows_unless_consecutive
from assay.datasets.gold_answers import squad_answers
from assay.datasets.readers.delimited import check_encoding
from assay.exceptions import InputError

#: The number of lines that are held as Python objects at a time.
BLOCK_ROWS = 20_000
#: The limit on the cells of a block, which only lines with hardly any keys in common exceed.
MAX_CELLS = 50_000_000


def read_jsonl(path: Path) -> SourceTable:
    """Read a file with one JSON object per line; a key that a line lacks is null there.

    Raises:
        InputError: the file is not UTF-8 or has no rows, a line is not a JSON object or has an unsupported value, or
            the lines have too many different keys.
    """
    tables: list[pa.Table] = []
    misfits: dict[str, Misfit] = {}
    numbers: list[int] = []
    block: list[dict[str, Any]] = []

    def flush() -> None:
        """Convert the block to Arrow, which takes less memory, and forget its objects.

        Raises:
            InputError: the lines have too many different keys.
        """
        keys = {key for record in block for key in record}
        if len(keys) * len(block) > MAX_CELLS:
            raise InputError(
                f"{path}: {len(block):,} lines have {len(keys):,} different keys, too many for the columns of a table; "
                "keep the keys that are needed"
            )
        table, block_misfits = table_of_records(block, _column_of_block)
        rows_before = len(numbers) - len(block)
        for name, misfit in block_misfits.items():
            if name not in misfits or misfits[name].is_answer_list > misfit.is_answer_list:
                misfits[name] = misfit._replace(row=rows_before + misfit.row)
        tables.append(table)
        block.clear()

    for number, line in json_lines(path):
        block.append(_parse_record(path, number, line))
        numbers.append(number)
        if len(block) >= BLOCK_ROWS:
            flush()
    if block:
        flush()
    if not tables:
        raise InputError(f"{path}: the file has no rows")
    return SourceTable(
        concatenated_tables(tables),
        str(path),
        unit="line",
        first=numbers[0],
        rows=rows_unless_consecutive(numbers),
        misfits=misfits,
    )


def json_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number (from 1) and the text of each line that is not blank, without surrounding space.

    Raises:
        InputError: the file is not UTF-8.
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


class _DuplicateKeyError(Exception):
    """Raised for a JSON object with a duplicate key, of which Python's parser would keep only the last value."""


def _parse_record(path: Path, number: int, line: str) -> dict[str, Any]:
    """Return the JSON object in a line.

    Raises:
        InputError: the line is not a JSON object, or :func:`parse_json` refuses it; the message has file and line.
    """
    where = f"{path}, line {number}"
    record = parse_json(line, where)
    if not isinstance(record, dict):
        raise InputError(f'{where}: expected a JSON object such as {{"reference": …}}')
    return record


def parse_json(text: str, where: str) -> Any:
    """Return the value of a JSON text; *where* begins messages.

    Raises:
        InputError: the text is not JSON, or has a duplicate key, half of a surrogate pair, a number with too many
            digits or too deep a nesting.
    """
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        position = f"{line}character {error.colno}"
        raise InputError(f"{where}: is not JSON ({error.msg}, {position}); correct it, or get the file again") from None
    except _DuplicateKeyError as error:
        raise InputError(f"{where}: the key {error.args[0]!r} appears twice; rename or remove one") from None
    except RecursionError:
        raise InputError(f"{where}: its lists or objects are nested too deeply to be read") from None
    except ValueError:
        # the only other cause: int() refuses a number with too many digits (sys.set_int_max_str_digits)
        raise InputError(f"{where}: holds a whole number of thousands of digits; write it as text") from None
    # only an escape can produce half of a surrogate pair
    if "\\u" in text:
        _check_surrogates(value, where)
    return value


def _check_surrogates(record: Any, where: str) -> None:
    """Raise InputError if a text in the record has half of a surrogate pair; *where* begins the message."""
    try:
        # without escapes, half of a pair cannot be encoded
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise InputError(
            f"{where}: holds {half}, half of a surrogate pair, which is not a character; write the whole pair, or"
            " leave it out"
        ) from None


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the keys and values of a JSON object as a dict; raise _DuplicateKeyError if a key occurs twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _DuplicateKeyError(first_repeated([name for name, _ in pairs]))
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_reject_duplicate_keys)


def table_of_records(
    records: list[dict[str, Any]], column_of: Callable[[list[Any]], pa.Array]
) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return a table of all keys of the records, and by column the first value that cannot be read as text.

    The columns are in the order in which the keys first appear. The time grows with the number of values, not with
    records times keys, since lines may have few keys in common.

    Args:
        records: the records.
        column_of: converts the values of a column, without those of records that lack its key.
    """
    rows_and_values: dict[str, tuple[list[int], list[Any]]] = {}
    for row, record in enumerate(records):
        for name, value in record.items():
            if name not in rows_and_values:
                rows_and_values[name] = [], []
            rows, values = rows_and_values[name]
            rows.append(row)
            values.append(value)
    columns: dict[str, pa.Array] = {}
    misfits: dict[str, Misfit] = {}
    for name, (rows, values) in rows_and_values.items():
        columns[name] = _spread_to_rows(column_of(values), rows, len(records))
        misfit = misfit_of(values)
        if misfit is not None:
            misfits[name] = misfit._replace(row=rows[misfit.row])
    return pa.table(columns), misfits


def _column_of_block(values: list[Any]) -> pa.Array:
    """Return the values of some lines as an Arrow array; lists of numbers stay so, as other lines may have texts."""
    return pa.array(values) if _are_number_lists(values) else column_of(values)


def _spread_to_rows(column: pa.Array, rows: list[int], length: int) -> pa.Array:
    """Return a column of *length* rows with the values of *column* in the given rows, and null elsewhere."""
    if len(rows) == length:
        return column
    value_index = np.full(length, -1)
    value_index[rows] = np.arange(len(rows))
    return column.take(pa.array(value_index, mask=value_index < 0))


def table_of_columns(columns: Mapping[str, list[Any]]) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return a table of columns of any values, and by column the first value that cannot be read as text."""
    misfits = {name: misfit for name, values in columns.items() if (misfit := misfit_of(values)) is not None}
    return pa.table({name: column_of(values) for name, values in columns.items()}), misfits


def misfit_of(values: list[Any]) -> Misfit | None:
    """Return the first value of a column that can be read neither as text nor as a list of texts; None without one.

    Whole numbers and truth values can be read as text; a fraction cannot, since 1.50 would become 1.5. A list with
    whole numbers or truth values, which may be gold answers, is returned only if there is no other such value.
    """
    if {type(value) for value in values} <= {str, int, bool, type(None)}:
        return None
    answer_list = None
    for row, value in enumerate(values):
        items = _items(value)
        if not all(map(_is_answer, items)):
            return Misfit(row, _description(value))
        if isinstance(value, list | tuple) and not all(item is None or isinstance(item, str) for item in items):
            answer_list = answer_list or Misfit(row, _description(value), is_answer_list=True)
    return answer_list


def _description(value: Any) -> str:
    """Return in words what a value is that cannot be read as text."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        has_list = any(isinstance(item, list | tuple) for item in value)
        return "a list of lists" if has_list else "a list of other things than texts"
    if isinstance(value, float | np.floating):
        return f"the number {value}"
    return f"a value of type {type(value).__name__}"


def column_of(values: list[Any]) -> pa.Array:
    """Return the values as an Arrow array of text, truth values, 64-bit numbers or lists of text; None becomes null.

    Values of mixed types become text, others than text as JSON, as do objects and integers beyond 64 bits. Lists, and
    objects of SQuAD, become lists of text if all their items can be answers; beside them, a text, whole number or truth
    value is a list of one. Lists of numbers alone become JSON: nothing says that they are answers.
    """
    value_types = {type(value) for value in values if value is not None}
    if not value_types:
        return pa.nulls(len(values))
    if value_types == {str}:
        return pa.array(values, pa.string())
    are_answers = all(_is_answer(item) for value in values for item in _items(value))
    if value_types & {list, tuple, dict} and are_answers and not _are_number_lists(values):
        lists = [None if value is None else [_as_text(item) for item in _items(value)] for value in values]
        return pa.array(lists, pa.list_(pa.string()))
    if value_types == {bool}:
        return pa.array(values, pa.bool_())
    if bool not in value_types and all(issubclass(kind, int | float | np.number) for kind in value_types):
        # for None, Arrow chooses int64, or uint64 for large numbers
        number_type = None if value_types == {int} else pa.float64()
        try:
            # not from_pandas, which would turn NaN into null
            return pa.array(values, number_type, from_pandas=False)
        except (pa.ArrowException, OverflowError):
            pass  # an integer beyond 64 bits: kept as text below
    return pa.array([_as_text(value) for value in values], pa.string())


def _is_answer(item: Any) -> bool:
    """Tell whether a value can be read as one answer; a fraction cannot, since 1.50 would become 1.5."""
    return item is None or isinstance(item, str | int | bool | np.integer | np.bool_)


def _are_number_lists(values: list[Any]) -> bool:
    """Tell whether the values are lists of numbers, or None, and there is at least one number."""
    lists = [value for value in values if value is not None]
    if not all(isinstance(value, list | tuple) for value in lists):
        return False
    numbers = list(chain.from_iterable(lists))
    return bool(numbers) and all(map(_is_plain_number, numbers))


def _is_plain_number(value: Any) -> bool:
    """Tell whether a value is a fraction, or a whole number of up to 64 bits; truth values are not."""
    return type(value) is float or (type(value) is int and abs(value) < 2**63)


def _items(value: Any) -> Sequence[Any]:
    """Return the items of a list or tuple, or the answers in an object of SQuAD; another value is the only item."""
    answers = squad_answers(value) if isinstance(value, Mapping) else value
    return answers if isinstance(answers, list | tuple) else [value]


def _as_text(value: Any) -> str | None:
    """Return any value other than a text as JSON; None stays None."""
    if value is None or isinstance(value, str):
        return value
    # the json module does not know the numbers of NumPy
    plain_value = value.item() if isinstance(value, np.generic) else value
    return json.dumps(plain_value, ensure_ascii=False, default=str)


def concatenated_tables(tables: list[pa.Table]) -> pa.Table:
    """Return tables with rows of one kind as one table.

    A column may be absent from a table, which gives null, or differ in type, which converts it to a common type.
    """
    # with sets, the time does not grow with the square of the number of columns
    names_of_tables = [frozenset(table.column_names) for table in tables]
    columns = {}
    for name in dict.fromkeys(chain.from_iterable(table.column_names for table in tables)):
        pieces: list[pa.ChunkedArray] = []
        for table, table_names in zip(tables, names_of_tables, strict=True):
            is_absent = name not in table_names
            pieces.append(pa.chunked_array([pa.nulls(table.num_rows)]) if is_absent else table.column(name))
        columns[name] = _concatenated_columns(pieces)
    return pa.table(columns)


def _concatenated_columns(pieces: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Return the cells of several columns, one column after the other, in a type that fits all."""
    types = {piece.type for piece in pieces if not pa.types.is_null(piece.type)}
    # lists of numbers are answers if another piece has texts
    has_number_lists = any(pa.types.is_list(kind) and kind.value_type != pa.string() for kind in types)
    if len(types) > 1 or has_number_lists:
        return pa.chunked_array([column_of(list(chain.from_iterable(piece.to_pylist() for piece in pieces)))])
    common_type = types.pop() if types else pa.null()
    chunks = chain.from_iterable(piece.cast(common_type).chunks for piece in pieces)
    return pa.chunked_array(list(chunks), common_type)
