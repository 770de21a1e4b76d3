"""Converts a table of the user's own, in whatever form it was read, to a pairs table: labels, texts and identifiers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.batches import converted, distinct_rows, row_digests, take_table
from assay.datasets.columns import FIELDS, SourceTable, parse_columns, resolve_columns
from assay.datasets.graphs import check_graph_cells
from assay.datasets.pairs import RENAMED
from assay.datasets.reading import (
    Columns,
    Reading,
    numbers_of_words,
    separator_hint,
    split_answers,
    words_text,
)
from assay.errors import InputError
from assay.tables import (
    GRAPH_COLUMNS,
    MOST_EXACT,
    OPTIONAL_PAIR_COLUMNS,
    PAIR_COLUMNS,
    finite_number,
    with_known_types,
)

#: The number of characters of a cell that a message quotes.
_CUT = 40
#: The largest number of distinct words in a label column for which a message proposes the setting `labels`.
_MOST_WORDS = 8


class Converted(NamedTuple):
    """The result of converting a table of the user's own.

    Attributes:
        table: the pairs table, see ``Pairs.table``.
        notes: one line per decision that a reader should know of, such as words that were read as labels.
        hints: one line per part that may have been read differently from what the user meant, with the setting that
            changes it.
    """

    table: pa.Table
    notes: tuple[str, ...]
    hints: tuple[str, ...]


# Labels.


def _label_columns(
    source: SourceTable, names: Sequence[str], reading: Reading, *, allow_missing: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the columns ``label`` and, for several annotators, ``annotations``, and notes about them.

    With several annotators the label is the mean of those who labelled the pair. ``annotations`` is null where an
    annotator left the pair out; a pair that all left out has no label.

    Args:
        source: the table.
        names: the label columns, one per annotator.
        reading: the user's settings.
        allow_missing: whether rows may have no label.

    Raises:
        InputError: a label is neither a number nor a known word, or rows lack a label that is required.
    """
    words = _numbers_of_words(source, names, reading)
    values = np.column_stack([_label_numbers(source, name, words) for name in names])
    known = ~np.isnan(values)
    counts = known.sum(axis=1)
    missing = np.flatnonzero(counts == 0)
    notes = [words_text(words)] if words else []
    if len(missing) and not allow_missing and not reading.drop_unlabelled:
        place = f"column {names[0]}" if len(names) == 1 else f"columns {', '.join(names)}"
        lacking = "no label" if len(names) == 1 else "no label from anyone"
        wanted = "a number in each" if len(names) == 1 else "a number from at least one annotator"
        raise InputError(
            f"{source.name}, {place}: {len(missing)} of {len(values)} rows have {lacking} ({source.some(missing)}); "
            f"expected {wanted}, or `drop_unlabelled` to leave these rows out"
        )
    mean = np.where(counts > 0, np.where(known, values, 0.0).sum(axis=1) / np.maximum(counts, 1), np.nan)
    columns: dict[str, Any] = {"label": pa.array(mean, mask=np.isnan(mean))}
    if len(names) > 1:
        flat = pa.array(values.reshape(-1), mask=~known.reshape(-1))
        offsets = pa.array(np.arange(0, values.size + 1, len(names), dtype=np.int32))
        columns["annotations"] = pa.ListArray.from_arrays(offsets, flat)
    return columns, notes


def _numbers_of_words(source: SourceTable, names: Sequence[str], reading: Reading) -> dict[str, float]:
    """Return the number of each word in the label columns; empty if the columns hold numbers.

    Words get their number from the setting ``labels``, or are understood by themselves, such as no and yes. The result
    is also empty for words whose numbers are unknown.
    """
    words: dict[str, None] = {}
    for name in names:
        column = source.table.column(name)
        if _is_text(_plain_type(column.type)):
            words.update(dict.fromkeys(cell.strip() for cell in column.unique().to_pylist() if cell and cell.strip()))
    if all(finite_number(word) is not None for word in words) and not any(
        word in reading.numbers_of_words() for word in words
    ):
        return {}
    return numbers_of_words(reading, list(words)) or {}


def _label_numbers(source: SourceTable, name: str, words: Mapping[str, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a column as float64 of shape (n,), with NaN for empty cells; numbers written as text are parsed.

    Args:
        source: the table.
        name: the name of the column.
        words: the number of each word that the column may hold; empty for a column of numbers.

    Raises:
        InputError: a cell is not a finite number, or the column has an unsupported type, such as lists.
    """
    column = source.table.column(name)
    kind = _plain_type(column.type)
    if kind != column.type:
        column = column.cast(kind)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if _is_numeric(kind):
        values, wrong = _values_and_fault_mask(pc.cast(column, pa.float64(), safe=False))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(f"{source.where(row)}, column {name}: the label is {values[row]}; expected a number")
        return _check_magnitude(source, name, values)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            raise InputError(f"{source.name}, column {name}: holds {kind}; expected numbers") from None
    text = pc.utf8_trim_whitespace(column)
    if words:
        parts = [[words[cell] if cell else np.nan for cell in chunk.to_pylist()] for chunk in text.chunks]
        return np.concatenate([np.array(part, dtype=np.float64) for part in parts])
    blank = pc.or_kleene(pc.is_null(text), pc.equal(text, ""))
    try:
        numbers = pc.if_else(pc.fill_null(blank, True), None, text).cast(pa.float64())
    except pa.ArrowInvalid:
        numbers = None
    if numbers is not None:
        values, wrong = _values_and_fault_mask(numbers)
        if not wrong.any():
            return _check_magnitude(source, name, values)
    raise _not_a_number(source, name, text)


def _check_magnitude(
    source: SourceTable, name: str, values: np.ndarray[Any, np.dtype[np.float64]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return *values*, shape (n,), unchanged, after checking that float64 represents whole numbers of their size.

    Raises:
        InputError: a label is beyond 2**53, from which on neighbouring whole numbers become equal.
    """
    too_large = np.flatnonzero(np.abs(values) > MOST_EXACT)
    if len(too_large):
        row = int(too_large[0])
        raise InputError(
            f"{source.where(row)}, column {name}: the label {values[row]:g} is too large to differ from the next; "
            "expected a number up to 9e15 (is this column an identifier?)"
        )
    return values


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a column type; for a dictionary-encoded column, the type of its values."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _values_and_fault_mask(
    numbers: pa.ChunkedArray,
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return float64 values with NaN for null, and a mask of the faulty ones (infinite or NaN); both of shape (n,).

    Null is a missing label (pandas' NaN arrives as null). A NaN that is not null was written as a label: a fault.
    """
    values = np.array(pc.fill_null(numbers, float("nan")).to_numpy(), dtype=np.float64)
    is_valid = np.asarray(numbers.is_valid().to_numpy(), dtype=bool)
    return values, np.isinf(values) | (np.isnan(values) & is_valid)


def _not_a_number(source: SourceTable, name: str, texts: pa.ChunkedArray) -> InputError:
    """Return the error to raise for the first cell that is not a finite number, with its row and a hint."""
    row = 0
    for chunk in texts.chunks:
        for cell in chunk.to_pylist():
            if cell and finite_number(cell) is None:
                hint = f" (a decimal point: {cell.replace(',', '.')})" if _is_comma_number(cell) else _words_hint(texts)
                shown = cell if len(cell) <= _CUT else f"{cell[:_CUT]}…"
                return InputError(
                    f"{source.where(row)}, column {name}: the label {shown!r} is not a number;"
                    f" expected one such as 2 or 0.5{hint}"
                )
            row += 1
    return InputError(f"{source.name}, column {name}: holds a label that is not a number")


def _words_hint(texts: pa.ChunkedArray) -> str:
    """Return a hint for the setting that gives each word of a column a number; empty if its cells are not words."""
    words = [word for word in texts.unique().to_pylist() if word]
    if len(words) > _MOST_WORDS or not all(map(_is_word, words)):
        return ""
    return f"; if the labels are words: `labels={','.join(f'{word}=NUMBER' for word in words)}`"


def _is_word(cell: str) -> bool:
    return len(cell) <= _CUT / 2 and not any(sign in cell for sign in ",=\n") and any(map(str.isalpha, cell))


def _is_comma_number(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal comma, such as ``0,5``."""
    integer, comma, fraction = cell.partition(",")
    return bool(comma) and integer.lstrip("+-").isdigit() and fraction.isdigit()


_ORDER = (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS)


def pairs_table(source: SourceTable, columns: Columns = None) -> pa.Table:
    """Return a pairs table made of the columns of *source*; every row must have a label. See :func:`convert`."""
    return convert(source, Reading(columns)).table


def convert(source: SourceTable, reading: Reading, *, allow_unlabelled: bool = False) -> Converted:
    """Return a pairs table (see ``Pairs.table``) pair_columns of the columns of *source*.

    Rows keep their order; only rows without a label are left out, if the reading drops them. A pair without ``pair_id``
    is named by its row number in the file (for data in memory by its index, from 0).

    Args:
        source: the table as it was read.
        reading: the user's settings: columns, separator, labels.
        allow_unlabelled: whether to keep rows without a label, and accept a table without a label column.

    Raises:
        InputError: a missing column, a missing text, a label that is not a number or is missing, or a repeat
            pair_id; one line with file, row and column.
    """
    table, left_out = with_known_types(source.table, source.name)
    source = replace(source, table=table)
    if not isinstance(reading.columns, str | Mapping | None):
        raise InputError(f"columns: {reading.columns!r}; expected a text such as 'reference=answer1', or a mapping")
    columns = parse_columns(reading.columns)
    # columns of unsupported types were left out: an error only if they would be pair columns
    for name in {part for parts in columns.values() for part in parts} | set(FIELDS):
        if name in left_out:
            raise InputError(f"{source.name}, column {name}: holds {left_out[name]}; expected text or numbers")
    mapping = resolve_columns(columns, table.column_names, where=source.name, need_label=not allow_unlabelled)
    for name, parts in mapping.items():
        if len(set(parts)) < len(parts):
            repeat = next(part for part in parts if parts.count(part) > 1)
            raise InputError(
                f"{source.name}: {name}={'+'.join(parts)} takes the column {repeat!r} twice; name each annotator once"
            )
    pair_columns: dict[str, Any] = {}
    for name in ("candidate", "question"):
        if name in mapping:
            pair_columns[name] = _texts(source, mapping[name][0], refuse_null=name != "question")
    hints = []
    if "reference" in mapping:
        pair_columns["reference"] = _references(source, mapping["reference"][0], reading.separator)
        if reading.separator is None and "candidate" in pair_columns and _is_text(pair_columns["reference"].type):
            hints = [line for line in [separator_hint(pair_columns["reference"], pair_columns["candidate"])] if line]
    pair_columns["pair_id"] = _identifiers(source, mapping.get("pair_id"))
    pair_columns["label"], notes = pa.nulls(table.num_rows, pa.float64()), list[str]()
    if "label" in mapping:
        labels, notes = _label_columns(source, mapping["label"], reading, allow_missing=allow_unlabelled)
        pair_columns |= labels
    for name in ("subset", "split", "language", "group", *GRAPH_COLUMNS):
        if name in mapping:
            pair_columns[name] = _texts(source, mapping[name][0], refuse_null=False)
    check_graph_cells(pair_columns, source)
    pairs = _assemble(table, pair_columns, mapping)
    if reading.drop_unlabelled:
        pairs, dropped = _drop_unlabelled(source, pairs)
        notes += dropped
    return Converted(pairs, tuple(notes), tuple(hints))


def _drop_unlabelled(source: SourceTable, pairs: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the pairs that have a label, and a list with a note if any were left out.

    Raises:
        InputError: no pair has a label.
    """
    labelled = _rows_where(pc.is_valid(pairs.column("label")))
    missing = len(pairs) - len(labelled)
    if not len(labelled):
        raise InputError(f"{source.name}: no row has a label, and `drop_unlabelled` leaves nothing")
    if not missing:
        return pairs, []
    return take_table(pairs, labelled), [f"{missing:,} of {len(pairs):,} rows without a label left out"]


def _assemble(table: pa.Table, pair_columns: dict[str, Any], mapping: dict[str, list[str]]) -> pa.Table:
    """Return a table of the pair columns in their order, followed by the other columns of the source.

    A source column that became a pair column under another name is left out, and the schema's metadata maps its old
    name to the new one. Another source column with the name of a pair column is called ``source:NAME``.

    Args:
        table: the source's columns.
        pair_columns: the pair columns by name.
        mapping: the source columns that each pair column was pair_columns of.
    """
    ordered = {name: pair_columns[name] for name in _ORDER if name in pair_columns}
    # a column that became a pair column can still be requested by its own name
    renamed = {p[0]: n for n, p in mapping.items() if len(p) == 1 and p[0] != n and p[0] not in _ORDER}
    moved = {part for name, parts in mapping.items() if len(parts) == 1 for part in parts}
    for name in table.column_names:
        if name in ordered and mapping.get(name) != [name]:
            # the pair column was pair_columns of another column: this one is kept under a prefixed name
            ordered[f"source:{name}"] = table.column(name)
        elif name not in ordered and name not in moved:
            if name == "annotations" and not _is_labels(table.column(name).type):
                renamed[name] = f"source:{name}"
            ordered[renamed.get(name, name)] = table.column(name)
    return pa.table(ordered).replace_schema_metadata({RENAMED: json.dumps(renamed)})


def _is_labels(kind: pa.DataType) -> bool:
    """Tell whether a column of this type can hold the annotators' labels, rather than, say, remarks."""
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and bool(
        pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)
    )


def ordered_pairs(columns: Mapping[str, Any]) -> pa.Table:
    """Return a table of the columns: the pair columns first, in their fixed order, then the others as given."""
    first = [name for name in _ORDER if name in columns]
    return pa.table({name: columns[name] for name in (*first, *(n for n in columns if n not in first))})


def _references(source: SourceTable, name: str, separator: str | None) -> pa.ChunkedArray:
    """Return a column of gold answers, as strings, or as lists of strings if cells hold several.

    Raises:
        InputError: as for :func:`_texts`; or a separator was given and the cells are lists already.
    """
    column = _texts(source, name, refuse_null=True, several=True)
    if separator is None:
        return _read_json_lists(source, name, column) if _is_text(column.type) else column
    if not _is_text(column.type):
        raise InputError(
            f"{source.name}, column {name}: holds lists of gold answers already; leave `separator={separator}` out"
        )
    return split_answers(source, name, column, separator)


def _texts(source: SourceTable, name: str, *, refuse_null: bool, several: bool = False) -> pa.ChunkedArray:
    """Return a column as strings, or as lists of strings if it holds lists of gold answers.

    Args:
        source: the table.
        name: the name of the column.
        refuse_null: whether a missing cell is an error; if not, it stays null.
        several: whether lists of texts are allowed.

    Raises:
        InputError: a cell is missing, or a value would change if it were converted to text (1.50 to 1.5).
    """
    column = source.table.column(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    # a floating column is refused below, with a message that says how to keep its digits
    if name in source.misfits and not pa.types.is_floating(kind):
        row, what = source.misfits[name]
        wanted = "a text or a list of texts" if several else "a text"
        raise InputError(f"{source.where(row)}, column {name}: holds {what}; expected {wanted}")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        if not several:
            raise InputError(f"{source.name}, column {name}: holds lists; only a reference may be several answers")
        return _answer_lists(source, name, column)
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
    return column


def _is_text(kind: pa.DataType) -> bool:
    view = getattr(pa.types, "is_string_view", None)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or (view is not None and view(kind)))


def _rows_where(mask: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.flatnonzero(np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool))


def _answer_lists(source: SourceTable, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of lists as list<string>, after checking that each has a gold answer and none is null.

    Raises:
        InputError: the lists hold something other than text, or a list is empty or has a null.
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
        first_null = int(_rows_where(pc.is_null(values))[0])
        row = int(parents[first_null].as_py())
        raise InputError(f"{source.where(row)}, column {name}: one of the gold answers is null")
    return column


def _read_json_lists(source: SourceTable, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a text column as lists of gold answers if every cell is a JSON list of texts, else unchanged.

    A single answer that looks like a list in a column of plain answers thus stays text.

    Raises:
        InputError: every cell is a list, and some but not all of them are empty.
    """
    if not len(column):
        return column
    try:
        lists = converted(column, pa.list_(pa.string()), _parse_json_lists)
    except _NoListsError:
        return column
    if not any(pc.sum(pc.list_value_length(chunk)).as_py() for chunk in lists.chunks):
        # every cell is []: more likely plain answers with that text than empty lists
        return column
    return _answer_lists(source, name, lists)


class _NoListsError(Exception):
    """Raised for a cell that is not a JSON list of texts."""


def _parse_json_lists(texts: list[str], _first: int) -> list[list[str]]:
    """Return the JSON lists of texts in some cells; raise _NoListsError if a cell is something else."""
    lists = []
    for text in texts:
        try:
            cell = json.loads(text) if text.lstrip().startswith("[") else None
        except (ValueError, RecursionError):
            cell = None
        if not isinstance(cell, list) or not all(isinstance(item, str) for item in cell):
            raise _NoListsError
        lists.append(cell)
    return lists


def _identifiers(source: SourceTable, parts: list[str] | None) -> pa.ChunkedArray:
    """Return the pair ids: the given column of the source, or for None the row numbers as text.

    Raises:
        InputError: an id is missing or a duplicate.
    """
    if parts is None:
        return pa.chunked_array([pa.array(source.numbers()).cast(pa.string())])
    column = _texts(source, parts[0], refuse_null=True)
    first_rows, id_codes = distinct_rows(row_digests([column], len(column)))
    if len(first_rows) < len(column):
        again = int(np.setdiff1d(np.arange(len(id_codes)), first_rows)[0])
        earlier = int(first_rows[id_codes[again]])
        raise InputError(
            f"{source.where(again)}, column {parts[0]}: the pair_id {column[again].as_py()!r} already appears in"
            f" {source.unit} {source.number(earlier)}; each pair needs its own"
        )
    return column
