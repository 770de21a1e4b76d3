"""From any table to a pairs table: its labels, texts and identifiers; every form of input ends here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.datasets.columns import SourceTable, parse_columns, resolve_columns
from assay.datasets.graphs import check_graph_cells
from assay.datasets.pairs import RENAMED
from assay.errors import InputError
from assay.tables import GRAPH_COLUMNS, OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS

#: Characters of a cell that a message repeats.
_CUT = 40


def one_label(source: SourceTable, name: str, *, allow_missing: bool) -> pa.Array:
    """Return a column as finite float64; null where there is no label, if that is allowed.

    Raises:
        InputError: the first label that is not a number, or the rows without one.
    """
    values = _numbers(source, name)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing) and not allow_missing:
        raise InputError(
            f"{source.name}, column {name}: {len(missing)} of {len(values)} rows have no label"
            f" ({source.some(missing)}); expected a number in each"
        )
    return pa.array(values, mask=np.isnan(values))


def annotator_labels(source: SourceTable, names: list[str], *, allow_missing: bool) -> tuple[pa.Array, pa.Array]:
    """Return the mean label of several annotators, float64, and what each gave, list<float64>.

    An annotator may have left a pair out (null in the list); a pair that all left out has no label.
    """
    values = np.column_stack([_numbers(source, name) for name in names])
    given = ~np.isnan(values)
    counts = given.sum(axis=1)
    missing = np.flatnonzero(counts == 0)
    if len(missing) and not allow_missing:
        raise InputError(
            f"{source.name}, columns {', '.join(names)}: {len(missing)} of {len(values)} rows have no label from"
            f" anyone ({source.some(missing)}); expected a number from at least one annotator"
        )
    mean = np.where(counts > 0, np.where(given, values, 0.0).sum(axis=1) / np.maximum(counts, 1), np.nan)
    flat = pa.array(values.reshape(-1), mask=~given.reshape(-1))
    offsets = pa.array(np.arange(0, values.size + 1, len(names), dtype=np.int32))
    return pa.array(mean, mask=np.isnan(mean)), pa.ListArray.from_arrays(offsets, flat)


def _numbers(source: SourceTable, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a column as float64 of shape (n,), NaN where the cell is empty; numbers written as text are read.

    Raises:
        InputError: a cell that is no finite number, or a column of another kind, such as lists.
    """
    column = source.table.column(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if _is_numeric(kind):
        values, wrong = _values_and_faults(column.cast(pa.float64()))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(f"{source.where(row)}, column {name}: the label is {values[row]}; expected a number")
        return values
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            raise InputError(f"{source.name}, column {name}: holds {kind}; expected numbers") from None
    text = pc.utf8_trim_whitespace(column)
    blank = pc.or_kleene(pc.is_null(text), pc.equal(text, ""))
    try:
        numbers = pc.if_else(pc.fill_null(blank, True), None, text).cast(pa.float64())
    except pa.ArrowInvalid:
        numbers = None
    if numbers is not None:
        values, wrong = _values_and_faults(numbers)
        if not wrong.any():
            return values
    raise _not_a_number(source, name, text)


def _is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _values_and_faults(
    numbers: pa.ChunkedArray,
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return float64 values with NaN for null, shape (n,), and which of them are infinite or were NaN before.

    Null is a missing label, as pandas writes it; a NaN in a file of numbers is a label that was given.
    """
    values = np.array(pc.fill_null(numbers, float("nan")).to_numpy(), dtype=np.float64)
    is_valid = np.asarray(numbers.is_valid().to_numpy(), dtype=bool)
    return values, np.isinf(values) | (np.isnan(values) & is_valid)


def _not_a_number(source: SourceTable, name: str, texts: pa.ChunkedArray) -> InputError:
    """Return the error that shows the first cell which is not a finite number, with its row."""
    row = 0
    for chunk in texts.chunks:
        for cell in chunk.to_pylist():
            if cell and not _is_finite_number(cell):
                hint = f" (a decimal point: {cell.replace(',', '.')})" if _is_comma_number(cell) else ""
                shown = cell if len(cell) <= _CUT else f"{cell[:_CUT]}…"
                return InputError(
                    f"{source.where(row)}, column {name}: the label {shown!r} is not a number;"
                    f" expected one such as 2 or 0.5{hint}"
                )
            row += 1
    return InputError(f"{source.name}, column {name}: holds a label that is not a number")


def _is_finite_number(cell: str) -> bool:
    try:
        # Python reads 1_000 as a number, and PyArrow does not
        return math.isfinite(float(cell)) and "_" not in cell
    except ValueError:
        return False


def _is_comma_number(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal comma, such as ``0,5``."""
    integer, comma, fraction = cell.partition(",")
    return bool(comma) and integer.lstrip("+-").isdigit() and fraction.isdigit()


_ORDER = (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS)


def pairs_table(
    source: SourceTable,
    columns: str | Mapping[str, str | Sequence[str]] | None = None,
    *,
    allow_unlabelled: bool = False,
) -> pa.Table:
    """Return a pairs table (see ``Pairs.table``) made of the columns of *source*.

    Rows keep their order and none is left out. A pair without ``pair_id`` is named by its row number in
    the file (by its place, from 0, for data in memory).

    Raises:
        InputError: a missing column, a missing text, a label that is not a number or is missing, a pair_id
            that appears twice; one line with file, row and column.
    """
    table = source.table
    if not isinstance(columns, str | Mapping | None):
        raise InputError(f"columns: {columns!r}; expected a text such as 'reference=answer1', or a mapping")
    mapping = resolve_columns(
        parse_columns(columns), table.column_names, where=source.name, need_label=not allow_unlabelled
    )
    for name, parts in mapping.items():
        if len(set(parts)) < len(parts):
            twice = next(part for part in parts if parts.count(part) > 1)
            raise InputError(
                f"{source.name}: {name}={'+'.join(parts)} takes the column {twice!r} twice; name each annotator once"
            )
    made: dict[str, Any] = {}
    for name in ("reference", "candidate", "question"):
        if name in mapping:
            made[name] = _texts(source, mapping[name][0], several=name == "reference", refuse_null=name != "question")
    made["pair_id"] = _identifiers(source, mapping.get("pair_id"))
    parts = mapping.get("label", [])
    if not parts:
        made["label"] = pa.nulls(table.num_rows, pa.float64())
    elif len(parts) == 1:
        made["label"] = one_label(source, parts[0], allow_missing=allow_unlabelled)
    else:
        made["label"], made["annotations"] = annotator_labels(source, parts, allow_missing=allow_unlabelled)
    for name in ("subset", "split", "language", "group", *GRAPH_COLUMNS):
        if name in mapping:
            made[name] = _texts(source, mapping[name][0], several=False, refuse_null=False)
    check_graph_cells(made, source)
    return _assemble(table, made, mapping)


def _assemble(table: pa.Table, made: dict[str, Any], mapping: dict[str, list[str]]) -> pa.Table:
    """Return the pair columns in their order, and then the further columns of the source.

    A source column that became one pair column is left out, and the schema's metadata says what it is called now. A
    further column with the name of a pair column is called ``source:NAME``.
    """
    ordered = {name: made[name] for name in _ORDER if name in made}
    # A column that became a pair column can still be asked for by its own name.
    renamed = {p[0]: n for n, p in mapping.items() if len(p) == 1 and p[0] != n and p[0] not in _ORDER}
    moved = {part for name, parts in mapping.items() if len(parts) == 1 for part in parts}
    for name in table.column_names:
        if name in ordered and mapping.get(name) != [name]:
            # The source's column of that name was passed over for another one: it stays, told apart.
            ordered[f"source:{name}"] = table.column(name)
        elif name not in ordered and name not in moved:
            if name == "annotations" and not _is_labels(table.column(name).type):
                renamed[name] = f"source:{name}"
            ordered[renamed.get(name, name)] = table.column(name)
    return pa.table(ordered).replace_schema_metadata({RENAMED: json.dumps(renamed)})


def _is_labels(kind: pa.DataType) -> bool:
    """Tell whether a column can be what annotators gave each pair; of that name it may be anything, such as remarks."""
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and bool(
        pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)
    )


def ordered_pairs(columns: Mapping[str, Any]) -> pa.Table:
    """Return a table of these columns, the pair columns first and in their order."""
    first = [name for name in _ORDER if name in columns]
    return pa.table({name: columns[name] for name in (*first, *(n for n in columns if n not in first))})


def _texts(source: SourceTable, name: str, *, several: bool, refuse_null: bool) -> pa.ChunkedArray:
    """Return a column as strings, or as lists of strings where it holds several gold answers.

    Args:
        source: the table, with what is needed to name a row.
        name: of the column in it.
        several: whether lists are allowed.
        refuse_null: whether a missing cell is an error; otherwise it stays null.

    Raises:
        InputError: a missing cell, or a value that cannot be read as text without changing it.
    """
    column = source.table.column(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if name in source.misfits and not pa.types.is_floating(kind):
        place, what = source.misfits[name]
        wanted = "a text or a list of texts" if several else "a text"
        raise InputError(f"{source.where(place)}, column {name}: holds {what}; expected {wanted}")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        if not several:
            raise InputError(f"{source.name}, column {name}: holds lists; only a reference may be several answers")
        return _lists(source, name, column)
    if refuse_null and column.null_count:
        missing = _rows_where(pc.is_null(column))
        raise InputError(
            f"{source.where(missing[0])}, column {name}: there is no text"
            f"{f' (and in {len(missing) - 1} further rows)' if len(missing) > 1 else ''};"
            ' an empty answer is written ""'
        )
    if pa.types.is_null(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        column = column.cast(pa.string())
    elif pa.types.is_floating(kind) or not _is_text(kind):
        raise InputError(
            f"{source.name}, column {name}: holds {kind}, not text (first value"
            f" {column[0].as_py()!r}); read or write that column as text, so that 007 and 1.50 stay what they are"
        )
    if column.type != pa.string():
        column = column.cast(pa.string())
    if several and _is_text(kind):
        return _json_lists(source, name, column)
    return column


def _is_text(kind: pa.DataType) -> bool:
    view = getattr(pa.types, "is_string_view", None)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or (view is not None and view(kind)))


def _rows_where(mask: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.flatnonzero(np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool))


def _lists(source: SourceTable, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of lists as list<string>, each with at least one gold answer and none of them null.

    Raises:
        InputError: lists of anything other than text, an empty list, or a null in one.
    """
    if not _is_text(column.type.value_type) and not pa.types.is_null(column.type.value_type):
        raise InputError(f"{source.name}, column {name}: holds lists of {column.type.value_type}, not of text")
    column = column.cast(pa.list_(pa.string()))
    sizes = pc.fill_null(pc.list_value_length(column), 0)
    empty = _rows_where(pc.equal(sizes, 0))
    if len(empty):
        raise InputError(f"{source.where(empty[0])}, column {name}: has no gold answer (an empty list)")
    values = pc.list_flatten(column)
    if values.null_count:
        parents = pc.list_parent_indices(column)
        at = int(parents[int(_rows_where(pc.is_null(values))[0])].as_py())
        raise InputError(f"{source.where(at)}, column {name}: one of the gold answers is null")
    return column


def _json_lists(source: SourceTable, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read a text column as lists of gold answers, if every cell is a JSON list of texts; else leave it.

    An answer that merely looks like a list in a column of plain answers thus stays text.
    """
    brackets = pc.all(pc.starts_with(pc.utf8_ltrim_whitespace(column), "[")).as_py()
    if not brackets or not len(column):
        return column
    chunks = []
    for chunk in column.chunks:
        cells = []
        for text in chunk.to_pylist():
            try:
                cell = json.loads(text)
            except (ValueError, RecursionError):
                return column
            if not isinstance(cell, list) or not all(isinstance(item, str) for item in cell):
                return column
            cells.append(cell)
        chunks.append(pa.array(cells, pa.list_(pa.string())))
    if not any(pc.sum(pc.list_value_length(chunk)).as_py() for chunk in chunks):
        # nothing but [] is the text of a plain answer, not a list of none
        return column
    return _lists(source, name, pa.chunked_array(chunks))


def _identifiers(source: SourceTable, parts: list[str] | None) -> pa.ChunkedArray:
    """Return the pair ids: a column of the source, or without one the row numbers as text.

    Raises:
        InputError: an id is missing or appears twice.
    """
    if parts is None:
        return pa.chunked_array([pa.array(source.numbers()).cast(pa.string())])
    column = _texts(source, parts[0], several=False, refuse_null=True)
    counts = column.combine_chunks().dictionary_encode()
    if isinstance(counts, pa.ChunkedArray):
        counts = counts.combine_chunks()
    if len(counts.dictionary) < len(column):
        id_codes = np.asarray(counts.indices.to_numpy(zero_copy_only=False))
        first_rows = np.unique(id_codes, return_index=True)[1]
        again = int(np.setdiff1d(np.arange(len(id_codes)), first_rows)[0])
        earlier = int(first_rows[id_codes[again]])
        raise InputError(
            f"{source.where(again)}, column {parts[0]}: the pair_id {column[again].as_py()!r} already appears in"
            f" {source.unit} {source.number(earlier)}; each pair needs its own"
        )
    return column
