"""Conversion of a table of the user's own to a pairs table: labels, texts and identifiers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.common.batches import distinct_rows, row_digests, take_table_rows
from assay.common.messages import Message, Setting
from assay.common.tables import (
    GRAPH_COLUMNS,
    MAX_EXACT_INTEGER,
    OPTIONAL_PAIR_COLUMNS,
    PAIR_COLUMNS,
    RUN_COLUMNS,
    finite_number,
    first_repeated,
    with_known_types,
)
from assay.datasets.columns import FIELDS, SourceTable, parse_columns, resolve_columns
from assay.datasets.gold_answers import answers_column, checked_answer_lists, separator_hint
from assay.datasets.graphs import check_graph_cells
from assay.datasets.pairs import RENAMED_KEY
from assay.datasets.reading import (
    Columns,
    Reading,
    numbers_of_words,
    word_labels_note,
)
from assay.exceptions import InputError
from assay.statistics.labels import round_labels

#: The number of characters of a cell that a message quotes.
MAX_QUOTED_LENGTH = 40
#: The largest number of distinct words in a label column for which a message proposes the setting `labels`, and the
#: largest number of characters of each.
MAX_PROPOSED_WORDS, MAX_WORD_LENGTH = 8, 20


class Conversion(NamedTuple):
    """The result of converting a table of the user's own.

    Attributes:
        table: the pairs table, see ``Pairs.table``.
        notes: one line per decision that the user should know, such as words that were read as labels.
        hints: one line per part that may have been read differently from the user's intention, with the setting that
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

    Numbers are rounded by :func:`~assay.statistics.labels.round_labels`. With several annotators the label is the mean
    over those who labelled the pair. In ``annotations`` the value of an
    annotator who left the pair out is null; a pair that all left out has no label.

    Args:
        source: the table.
        names: the label columns, one per annotator.
        reading: the user's settings.
        allow_missing: whether rows may have no label.

    Raises:
        InputError: a label is neither a number nor a known word, or rows lack a label that is required.
    """
    numbers_by_word = _numbers_by_word(source, names, reading)
    labels = np.column_stack([_label_numbers(source, name, numbers_by_word) for name in names])
    has_label = ~np.isnan(labels)
    label_counts = has_label.sum(axis=1)
    missing_rows = np.flatnonzero(label_counts == 0)
    notes = [word_labels_note(numbers_by_word)] if numbers_by_word else []
    if len(missing_rows) and not allow_missing and not reading.drop_unlabelled:
        if len(names) == 1:
            location, lacking, wanted = f"column {names[0]}", "no label", "a number in each"
        else:
            location = f"columns {', '.join(names)}"
            lacking, wanted = "no label from anyone", "a number from at least one annotator"
        raise InputError(
            f"{source.name}, {location}: {len(missing_rows)} of {len(labels)} rows have {lacking}"
            f" ({source.numbers_text(missing_rows)}); expected {wanted}, or ",
            Setting("drop_unlabelled"),
            " to leave these rows out",
        )
    # in ascending order, so that the same labels have the same sum whoever gave which
    label_sums = np.sort(np.where(has_label, labels, 0.0), axis=1).sum(axis=1)
    means = round_labels(np.where(label_counts > 0, label_sums / np.maximum(label_counts, 1), np.nan))
    columns: dict[str, Any] = {"label": pa.array(means, mask=np.isnan(means))}
    if len(names) > 1:
        flat_labels = pa.array(round_labels(labels).reshape(-1), mask=~has_label.reshape(-1))
        offsets = pa.array(np.arange(0, labels.size + 1, len(names), dtype=np.int32))
        columns["annotations"] = pa.ListArray.from_arrays(offsets, flat_labels)
    return columns, notes


def _numbers_by_word(source: SourceTable, names: Sequence[str], reading: Reading) -> dict[str, float]:
    """Return the number of each word in the label columns, by word; empty if the columns hold numbers.

    Words get their number from the setting ``labels``, or are understood by themselves, such as no and yes. The result
    is also empty for words whose numbers are unknown.
    """
    words: dict[str, None] = {}
    for name in names:
        column = source.table.column(name)
        if _is_text(_value_type(column.type)):
            words.update(dict.fromkeys(cell.strip() for cell in column.unique().to_pylist() if cell and cell.strip()))
    are_numbers = all(finite_number(word) is not None for word in words)
    # a setting such as 1=0,2=1 replaces numbers, too
    are_replaced = any(word in reading.configured_numbers() for word in words)
    if are_numbers and not are_replaced:
        return {}
    return numbers_of_words(reading, list(words)) or {}


def _label_numbers(
    source: SourceTable, name: str, numbers_by_word: Mapping[str, float]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a column as float64 of shape (n,), with NaN for empty cells; numbers written as text are parsed.

    Args:
        source: the table.
        name: the name of the column.
        numbers_by_word: the number of each word that the column may hold; empty for a column of numbers.

    Raises:
        InputError: a cell is not a finite number, or the column has an unsupported type, such as lists.
    """
    column = source.table.column(name)
    value_type = _value_type(column.type)
    if value_type != column.type:
        column = column.cast(value_type)
    if pa.types.is_null(value_type):
        return np.full(len(column), np.nan)
    if _is_numeric(value_type):
        # an unsafe cast may round large integers; _check_label_size refuses those
        values, is_faulty = _values_and_fault_mask(pc.cast(column, pa.float64(), safe=False))
        if is_faulty.any():
            row = int(np.flatnonzero(is_faulty)[0])
            raise InputError(f"{source.location(row)}, column {name}: the label is {values[row]}; expected a number")
        _check_label_size(source, name, values)
        return values
    if not (pa.types.is_string(value_type) or pa.types.is_large_string(value_type)):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            raise InputError(f"{source.name}, column {name}: holds {value_type}; expected numbers") from None
    texts = pc.utf8_trim_whitespace(column)
    if not numbers_by_word:
        values = _parse_labels(source, name, texts)
        _check_label_size(source, name, values)
        return values
    chunks = []
    for chunk in texts.chunks:
        numbers = [numbers_by_word[cell] if cell else np.nan for cell in chunk.to_pylist()]
        chunks.append(np.array(numbers, dtype=np.float64))
    return np.concatenate(chunks)


def _parse_labels(source: SourceTable, name: str, texts: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return texts without surrounding space as float64 of shape (n,), with NaN for empty and missing ones.

    Raises:
        InputError: a text is not a finite number.
    """
    is_blank = pc.fill_null(pc.equal(texts, ""), True)
    try:
        numbers = pc.if_else(is_blank, None, texts).cast(pa.float64())
    except pa.ArrowInvalid:
        raise _invalid_label_error(source, name, texts) from None
    values, is_faulty = _values_and_fault_mask(numbers)
    if is_faulty.any():
        raise _invalid_label_error(source, name, texts)
    return values


def _check_label_size(source: SourceTable, name: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Check that float64 can tell whole numbers of the size of the labels apart; *values* has shape (n,).

    Raises:
        InputError: a label is beyond 2**53, from which on neighbouring whole numbers become equal.
    """
    too_large = np.flatnonzero(np.abs(values) > MAX_EXACT_INTEGER)
    if len(too_large):
        row = int(too_large[0])
        raise InputError(
            f"{source.location(row)}, column {name}: the label {values[row]:g} is too large to differ from the next; "
            "expected a number up to 9e15 (is this column an identifier?)"
        )


def _value_type(column_type: pa.DataType) -> pa.DataType:
    """Return a column type; for a dictionary-encoded column, the type of its values."""
    return column_type.value_type if pa.types.is_dictionary(column_type) else column_type


def _is_numeric(column_type: pa.DataType) -> bool:
    """Tell whether a column type holds numbers; false and true count as 0 and 1."""
    types = pa.types
    return bool(
        types.is_integer(column_type)
        or types.is_floating(column_type)
        or types.is_boolean(column_type)
        or types.is_decimal(column_type)
    )


def _values_and_fault_mask(
    numbers: pa.ChunkedArray,
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return float64 values with NaN for null, and a mask of the faulty ones (infinite or NaN); both of shape (n,).

    Null is a missing label (pandas' NaN arrives as null). A NaN that is not null was written as a label: a fault.
    """
    values = np.array(pc.fill_null(numbers, float("nan")).to_numpy(), dtype=np.float64)
    is_valid = np.asarray(numbers.is_valid().to_numpy(), dtype=bool)
    return values, np.isinf(values) | (np.isnan(values) & is_valid)


def _invalid_label_error(source: SourceTable, name: str, texts: pa.ChunkedArray) -> InputError:
    """Return the error to raise for the first cell that is not a finite number, with its row and a hint."""
    # chunk by chunk, so that only one chunk becomes Python strings
    cells = (cell for chunk in texts.chunks for cell in chunk.to_pylist())
    for row, cell in enumerate(cells):
        if not cell or finite_number(cell) is not None:
            continue
        hint = f" (a decimal point: {cell.replace(',', '.')})" if _is_comma_number(cell) else _words_hint(texts)
        quoted_cell = cell if len(cell) <= MAX_QUOTED_LENGTH else f"{cell[:MAX_QUOTED_LENGTH]}…"
        return InputError(
            f"{source.location(row)}, column {name}: the label {quoted_cell!r} is not a number;"
            " expected one such as 2 or 0.5",
            hint,
        )
    return InputError(f"{source.name}, column {name}: holds a label that is not a number")


def _words_hint(texts: pa.ChunkedArray) -> str:
    """Return a hint for the setting that gives each word of a column a number; empty if its cells are not words."""
    words = [word for word in texts.unique().to_pylist() if word]
    if len(words) > MAX_PROPOSED_WORDS or not all(map(_is_word, words)):
        return ""
    numbers = ",".join(f"{word}=NUMBER" for word in words)
    return Message("; if the labels are words: ", Setting("labels", numbers))


def _is_word(cell: str) -> bool:
    """Tell whether a cell is short, has a letter, and can be written in the setting `labels`."""
    has_separator = any(sign in cell for sign in ",=\n")
    return len(cell) <= MAX_WORD_LENGTH and not has_separator and any(map(str.isalpha, cell))


def _is_comma_number(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal comma, such as ``0,5``."""
    integer, comma, fraction = cell.partition(",")
    return bool(comma) and integer.lstrip("+-").isdigit() and fraction.isdigit()


_COLUMN_ORDER = (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS)


def pairs_table(source: SourceTable, columns: Columns = None) -> pa.Table:
    """Return a pairs table (see ``Pairs.table``) made of the columns of *source*.

    Args:
        source: the table as it was read.
        columns: the mapping of columns, see :func:`~assay.datasets.columns.parse_columns`.

    Raises:
        InputError: a column or a text is missing, a row has no label or one that is not a number, or a pair_id is a
            duplicate; one line with file, row and column.
    """
    return convert_table(source, Reading(columns)).table


def convert_table(source: SourceTable, reading: Reading, *, allow_unlabelled: bool = False) -> Conversion:
    """Return a pairs table (see ``Pairs.table``) made of the columns of *source*, with notes and hints on the reading.

    Rows keep their order; only rows without a label are left out, if the reading drops them. A pair without ``pair_id``
    is named by its row number in the file (for data in memory by its index, from 0).

    Args:
        source: the table as it was read.
        reading: the user's settings: columns, separator, labels.
        allow_unlabelled: whether to keep rows without a label, and accept a table without a label column.

    Raises:
        InputError: a column or a text is missing, a label is missing or not a number, or a pair_id is a duplicate; one
            line with file, row and column.
    """
    table, omitted_columns = with_known_types(source.table, source.name)
    source = replace(source, table=table)
    if not isinstance(reading.columns, str | Mapping | None):
        raise InputError(f"columns: {reading.columns!r}; expected a text such as 'reference=answer1', or a mapping")
    columns = parse_columns(reading.columns)
    # columns of unsupported types were left out: an error only if they would be pair columns
    for name in {source_name for sources in columns.values() for source_name in sources} | set(FIELDS):
        if name in omitted_columns:
            raise InputError(f"{source.name}, column {name}: holds {omitted_columns[name]}; expected text or numbers")
    mapping = resolve_columns(columns, table.column_names, where=source.name, need_label=not allow_unlabelled)
    for name, sources in mapping.items():
        if len(set(sources)) < len(sources):
            duplicate = first_repeated(sources)
            raise InputError(
                f"{source.name}: {name}={'+'.join(sources)} takes the column {duplicate!r} twice; name each annotator"
                " once"
            )
    pair_columns: dict[str, Any] = {}
    for name in ("candidate", "question"):
        if name in mapping:
            pair_columns[name] = _text_column(source, mapping[name][0], refuse_null=name != "question")
    hint = ""
    if "reference" in mapping:
        name = mapping["reference"][0]
        references = _text_column(source, name, refuse_null=True, allow_lists=True)
        pair_columns["reference"] = answers_column(source, name, references, reading.separator)
        if reading.separator is None and "candidate" in pair_columns and _is_text(pair_columns["reference"].type):
            hint = separator_hint(pair_columns["reference"], pair_columns["candidate"])
    pair_columns["pair_id"] = _identifier_column(source, mapping.get("pair_id"))
    notes: list[str] = []
    if "label" in mapping:
        label_columns, notes = _label_columns(source, mapping["label"], reading, allow_missing=allow_unlabelled)
        pair_columns |= label_columns
    else:
        pair_columns["label"] = pa.nulls(table.num_rows, pa.float64())
    for name in ("subset", "split", "language", "group", *GRAPH_COLUMNS):
        if name in mapping:
            pair_columns[name] = _text_column(source, mapping[name][0], refuse_null=False)
    if not pair_columns.keys().isdisjoint(GRAPH_COLUMNS):
        check_graph_cells(pair_columns, source)
    pairs = _assemble_table(table, pair_columns, mapping)
    if reading.drop_unlabelled:
        pairs, drop_notes = _drop_unlabelled(source, pairs)
        notes += drop_notes
    return Conversion(pairs, tuple(notes), (hint,) if hint else ())


def _drop_unlabelled(source: SourceTable, pairs: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the pairs that have a label, and a list with a note if any were left out.

    Raises:
        InputError: no pair has a label.
    """
    labelled_rows = _true_rows(pc.is_valid(pairs.column("label")))
    dropped_count = len(pairs) - len(labelled_rows)
    if not len(labelled_rows):
        raise InputError(f"{source.name}: no row has a label, and ", Setting("drop_unlabelled"), " leaves nothing")
    if not dropped_count:
        return pairs, []
    return take_table_rows(pairs, labelled_rows), [f"{dropped_count:,} of {len(pairs):,} rows without a label left out"]


def _assemble_table(table: pa.Table, pair_columns: dict[str, Any], mapping: dict[str, list[str]]) -> pa.Table:
    """Return a table of the pair columns in their order, followed by the other columns of the source.

    A source column that became a pair column under another name is left out, and the schema's metadata maps its old
    name to the new one. Another source column with the name of a pair column, or of a column that run folders add, is
    called ``source:NAME``.

    Args:
        table: the source's columns.
        pair_columns: the pair columns by name.
        mapping: the source columns from which each pair column was made.
    """
    columns = {name: pair_columns[name] for name in _COLUMN_ORDER if name in pair_columns}
    renamed_columns: dict[str, str] = {}
    used_columns: set[str] = set()
    for pair_column, source_names in mapping.items():
        if len(source_names) > 1:
            continue  # the columns of several annotators stay in the table beside their mean
        used_columns.add(source_names[0])
        if source_names[0] not in _COLUMN_ORDER:
            # a column that became a pair column can still be requested by its own name
            renamed_columns[source_names[0]] = pair_column
    for name in table.column_names:
        if name in columns and mapping.get(name) != [name]:
            # the pair column was made from another column: this one is kept under a prefixed name
            columns[_prefixed_name(name, table.column_names)] = table.column(name)
        elif name not in columns and name not in used_columns:
            # as a pair column, annotations would have to hold the annotators' labels
            is_remark = name == "annotations" and not _can_hold_labels(table.column(name).type)
            if is_remark or name in RUN_COLUMNS:
                renamed_columns[name] = _prefixed_name(name, table.column_names)
            columns[renamed_columns.get(name, name)] = table.column(name)
    return pa.table(columns).replace_schema_metadata({RENAMED_KEY: json.dumps(renamed_columns)})


def _prefixed_name(name: str, taken: Sequence[str]) -> str:
    """Return the name under which a source column is kept whose own name belongs to assay; none of the names taken."""
    name = f"source:{name}"
    while name in taken:
        name = f"source:{name}"
    return name


def _can_hold_labels(column_type: pa.DataType) -> bool:
    """Tell whether a column of this type can hold the annotators' labels, rather than, say, remarks."""
    if not (pa.types.is_list(column_type) or pa.types.is_large_list(column_type)):
        return False
    return bool(pa.types.is_integer(column_type.value_type) or pa.types.is_floating(column_type.value_type))


def order_pair_columns(columns: Mapping[str, Any]) -> pa.Table:
    """Return a table of the columns: the pair columns first, in their fixed order, then the others as given."""
    pair_columns = [name for name in _COLUMN_ORDER if name in columns]
    # a key that is repeated keeps its first position
    return pa.table({name: columns[name] for name in (*pair_columns, *columns)})


def _text_column(source: SourceTable, name: str, *, refuse_null: bool, allow_lists: bool = False) -> pa.ChunkedArray:
    """Return a column as strings, or as lists of strings if it holds lists of gold answers.

    Args:
        source: the table.
        name: the name of the column.
        refuse_null: whether a missing cell is an error; if not, it stays null.
        allow_lists: whether lists of texts are allowed.

    Raises:
        InputError: a cell is missing, the column holds lists that are not allowed or something else than text, or a
            value would change if it were converted to text (1.50 to 1.5).
    """
    column = source.table.column(name)
    column_type = column.type
    if pa.types.is_dictionary(column_type):
        column, column_type = column.cast(column_type.value_type), column_type.value_type
    misfit = source.misfits.get(name)
    # a floating column is refused below, with a message that says how to keep its digits
    if misfit is not None and not pa.types.is_floating(column_type) and not (allow_lists and misfit.is_answer_list):
        wanted = "a text or a list of texts" if allow_lists else "a text"
        raise InputError(f"{source.location(misfit.row)}, column {name}: holds {misfit.description}; expected {wanted}")
    if pa.types.is_list(column_type) or pa.types.is_large_list(column_type) or pa.types.is_fixed_size_list(column_type):
        if not allow_lists:
            raise InputError(f"{source.name}, column {name}: holds lists; only a reference may be several answers")
        return checked_answer_lists(source, name, column)
    if refuse_null and column.null_count:
        missing_rows = _true_rows(pc.is_null(column))
        further_rows = f" (and in {len(missing_rows) - 1} further rows)" if len(missing_rows) > 1 else ""
        raise InputError(
            f"{source.location(missing_rows[0])}, column {name}: there is no text{further_rows};"
            ' an empty answer is written ""'
        )
    if pa.types.is_null(column_type) or pa.types.is_integer(column_type) or pa.types.is_boolean(column_type):
        column = column.cast(pa.string())
    elif pa.types.is_floating(column_type) or not _is_text(column_type):
        raise InputError(
            f"{source.name}, column {name}: holds {column_type}, not text (first value"
            f" {column[0].as_py()!r}); read or write that column as text, so that 007 and 1.50 stay what they are"
        )
    if column.type != pa.string():
        column = column.cast(pa.string())
    return column


def _is_text(column_type: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(column_type) for is_kind in kinds)


def _true_rows(mask: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the ascending row indices for which an Arrow array of booleans is true."""
    return np.flatnonzero(np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool))


def _identifier_column(source: SourceTable, source_names: list[str] | None) -> pa.ChunkedArray:
    """Return the pair ids: the cells of the given source column, or for None the row numbers as text.

    Raises:
        InputError: an id is missing or a duplicate.
    """
    if source_names is None:
        return pa.chunked_array([pa.array(source.numbers()).cast(pa.string())])
    column = _text_column(source, source_names[0], refuse_null=True)
    first_rows, id_codes = distinct_rows(row_digests([column], len(column)))
    if len(first_rows) < len(column):
        row = int(np.setdiff1d(np.arange(len(id_codes)), first_rows)[0])
        earlier_row = int(first_rows[id_codes[row]])
        raise InputError(
            f"{source.location(row)}, column {source_names[0]}: the pair_id {column[row].as_py()!r} already appears in"
            f" {source.unit} {source.number(earlier_row)}; each pair needs its own"
        )
    return column
