"""From any table to a pairs table: its labels, texts and identifiers; every form of input ends here."""

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

#: Characters of a cell that a message repeats.
_CUT = 40
#: Different words in a column of labels, up to which the message names the setting that gives each a number.
_MOST_WORDS = 8


class Converted(NamedTuple):
    """A table of the user's own as pairs.

    Attributes:
        table: a pairs table, see ``Pairs.table``.
        notes: what was read in a way that a reader should know, such as labels that are words.
        hints: what may have been read in another way than the user meant, with the setting that reads it so.
    """

    table: pa.Table
    notes: tuple[str, ...]
    hints: tuple[str, ...]


# Labels.


def _labels(
    source: SourceTable, names: Sequence[str], reading: Reading, *, allow_missing: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the columns ``label`` and, of several annotators, ``annotations``, and notes about them.

    The label of several annotators is their mean. An annotator may have left a pair out (null in the list); a pair that
    all left out has no label.

    Raises:
        InputError: the first label that is neither a number nor a known word, or the rows without one.
    """
    words = _numbers_of_words(source, names, reading)
    values = np.column_stack([_numbers(source, name, words) for name in names])
    known = ~np.isnan(values)
    counts = known.sum(axis=1)
    missing = np.flatnonzero(counts == 0)
    notes = [words_text(words)] if words else []
    if len(missing) and not allow_missing and not reading.drop_unlabelled:
        columns = f"column {names[0]}" if len(names) == 1 else f"columns {', '.join(names)}"
        lacking = "no label" if len(names) == 1 else "no label from anyone"
        wanted = "a number in each" if len(names) == 1 else "a number from at least one annotator"
        raise InputError(
            f"{source.name}, {columns}: {len(missing)} of {len(values)} rows have {lacking} ({source.some(missing)}); "
            f"expected {wanted}, or `drop_unlabelled` to leave these rows out"
        )
    mean = np.where(counts > 0, np.where(known, values, 0.0).sum(axis=1) / np.maximum(counts, 1), np.nan)
    made: dict[str, Any] = {"label": pa.array(mean, mask=np.isnan(mean))}
    if len(names) > 1:
        flat = pa.array(values.reshape(-1), mask=~known.reshape(-1))
        offsets = pa.array(np.arange(0, values.size + 1, len(names), dtype=np.int32))
        made["annotations"] = pa.ListArray.from_arrays(offsets, flat)
    return made, notes


def _numbers_of_words(source: SourceTable, names: Sequence[str], reading: Reading) -> dict[str, float]:
    """Return the number of each word in some label columns; empty where they hold numbers.

    Raises:
        InputError: labels were given, and a cell is neither one of their words nor are all cells numbers.
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


def _numbers(source: SourceTable, name: str, words: Mapping[str, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a column as float64 of shape (n,), NaN where the cell is empty; numbers written as text are read.

    Args:
        source: the table.
        name: of the column.
        words: the number of each word that the column may hold instead of numbers.

    Raises:
        InputError: a cell that is no finite number, or a column of another kind, such as lists.
    """
    column = source.table.column(name)
    kind = _plain_type(column.type)
    if kind != column.type:
        column = column.cast(kind)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if _is_numeric(kind):
        values, wrong = _values_and_faults(pc.cast(column, pa.float64(), safe=False))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(f"{source.where(row)}, column {name}: the label is {values[row]}; expected a number")
        return _of_usual_size(source, name, values)
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
        values, wrong = _values_and_faults(numbers)
        if not wrong.any():
            return _of_usual_size(source, name, values)
    raise _not_a_number(source, name, text)


def _of_usual_size(
    source: SourceTable, name: str, values: np.ndarray[Any, np.dtype[np.float64]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return labels, shape (n,), none of which is so large that whole numbers would become others.

    Raises:
        InputError: a label beyond 2**53.
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
    """Return the type of the values of a column, also where it is encoded by a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


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
    """Return the setting that gives each word of a column a number; empty where its cells are no words for labels."""
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
    """Return a pairs table made of the columns of *source*, every row of which has a label; see :func:`convert`."""
    return convert(source, Reading(columns)).table


def convert(source: SourceTable, reading: Reading, *, allow_unlabelled: bool = False) -> Converted:
    """Return a pairs table (see ``Pairs.table``) made of the columns of *source*.

    Rows keep their order, and none is left out but those without a label, where the reading drops them. A pair without
    ``pair_id`` is named by its row number in the file (by its place, from 0, for data in memory).

    Raises:
        InputError: a missing column, a missing text, a label that is not a number or is missing, a pair_id
            that appears twice; one line with file, row and column.
    """
    table, left_out = with_known_types(source.table, source.name)
    source = replace(source, table=table)
    if not isinstance(reading.columns, str | Mapping | None):
        raise InputError(f"columns: {reading.columns!r}; expected a text such as 'reference=answer1', or a mapping")
    columns = parse_columns(reading.columns)
    for name in {part for parts in columns.values() for part in parts} | set(FIELDS):
        if name in left_out:
            raise InputError(f"{source.name}, column {name}: holds {left_out[name]}; expected text or numbers")
    mapping = resolve_columns(columns, table.column_names, where=source.name, need_label=not allow_unlabelled)
    for name, parts in mapping.items():
        if len(set(parts)) < len(parts):
            twice = next(part for part in parts if parts.count(part) > 1)
            raise InputError(
                f"{source.name}: {name}={'+'.join(parts)} takes the column {twice!r} twice; name each annotator once"
            )
    made: dict[str, Any] = {}
    for name in ("candidate", "question"):
        if name in mapping:
            made[name] = _texts(source, mapping[name][0], refuse_null=name != "question")
    hints = []
    if "reference" in mapping:
        made["reference"] = _references(source, mapping["reference"][0], reading.separator)
        if reading.separator is None and "candidate" in made and _is_text(made["reference"].type):
            hints = [line for line in [separator_hint(made["reference"], made["candidate"])] if line]
    made["pair_id"] = _identifiers(source, mapping.get("pair_id"))
    made["label"], notes = pa.nulls(table.num_rows, pa.float64()), list[str]()
    if "label" in mapping:
        labels, notes = _labels(source, mapping["label"], reading, allow_missing=allow_unlabelled)
        made |= labels
    for name in ("subset", "split", "language", "group", *GRAPH_COLUMNS):
        if name in mapping:
            made[name] = _texts(source, mapping[name][0], refuse_null=False)
    check_graph_cells(made, source)
    pairs = _assemble(table, made, mapping)
    if reading.drop_unlabelled:
        pairs, dropped = _labelled(source, pairs)
        notes += dropped
    return Converted(pairs, tuple(notes), tuple(hints))


def _labelled(source: SourceTable, pairs: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the pairs that have a label, and a note where that leaves any out.

    Raises:
        InputError: none has a label.
    """
    labelled = _rows_where(pc.is_valid(pairs.column("label")))
    missing = len(pairs) - len(labelled)
    if not len(labelled):
        raise InputError(f"{source.name}: no row has a label, and `drop_unlabelled` leaves nothing")
    if not missing:
        return pairs, []
    return take_table(pairs, labelled), [f"{missing:,} of {len(pairs):,} rows without a label left out"]


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


def _references(source: SourceTable, name: str, separator: str | None) -> pa.ChunkedArray:
    """Return a column of gold answers, as strings or as lists of strings where cells hold several.

    Raises:
        InputError: as for :func:`_texts`; a separator where the cells are lists already.
    """
    column = _texts(source, name, refuse_null=True, several=True)
    if separator is None:
        return _json_lists(source, name, column) if _is_text(column.type) else column
    if not _is_text(column.type):
        raise InputError(
            f"{source.name}, column {name}: holds lists of gold answers already; leave `separator={separator}` out"
        )
    return split_answers(source, name, column, separator)


def _texts(source: SourceTable, name: str, *, refuse_null: bool, several: bool = False) -> pa.ChunkedArray:
    """Return a column as strings, or as lists of strings where it holds several gold answers.

    Args:
        source: the table, with what is needed to name a row.
        name: of the column in it.
        refuse_null: whether a missing cell is an error; otherwise it stays null.
        several: whether lists of texts are allowed.

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
    if not len(column):
        return column
    try:
        lists = converted(column, pa.list_(pa.string()), _json_lists_of)
    except _NoListsError:
        return column
    if not any(pc.sum(pc.list_value_length(chunk)).as_py() for chunk in lists.chunks):
        # nothing but [] is the text of a plain answer, not a list of none
        return column
    return _lists(source, name, lists)


class _NoListsError(Exception):
    """A cell is no JSON list of texts."""


def _json_lists_of(texts: list[str], _first: int) -> list[list[str]]:
    """Return the JSON lists of texts that some cells are; raise _NoListsError where one is something else."""
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
    """Return the pair ids: a column of the source, or without one the row numbers as text.

    Raises:
        InputError: an id is missing or appears twice.
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
