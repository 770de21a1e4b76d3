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
from assay.common.messages import Setting
from assay.common.tables import (
    CONTEXT,
    GRAPH_COLUMNS,
    OPTIONAL_PAIR_COLUMNS,
    PAIR_COLUMNS,
    RUN_COLUMNS,
    first_repeated,
    is_list,
    is_text,
    with_known_types,
)
from assay.datasets.annotators import pool_annotations
from assay.datasets.columns import (
    FIELDS,
    MissingColumnsError,
    SourceTable,
    check_human_label,
    parse_columns,
    resolve_columns,
)
from assay.datasets.gold_answers import (
    MAX_SEARCHED_CELLS,
    answers_column,
    checked_answer_lists,
    listed_answers,
    separator_hint,
)
from assay.datasets.graphs import check_graph_cells
from assay.datasets.labels import label_columns
from assay.datasets.nested import with_nested_columns
from assay.datasets.pairs import RENAMED_KEY
from assay.datasets.proposal import complete_proposal
from assay.datasets.reading import Reading
from assay.datasets.shapes import Reshaped, pairs_as_rows
from assay.exceptions import InputError


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


_COLUMN_ORDER = (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS, CONTEXT)


def convert_table(
    source: SourceTable, reading: Reading, *, allow_unlabelled: bool = False, find_annotators: bool = False
) -> Conversion:
    """Return a pairs table (see ``Pairs.table``) made of the columns of *source*, with notes and hints on the reading.

    Rows keep their order. A row may become several, see :func:`~assay.datasets.nested.with_nested_columns` and
    :func:`~assay.datasets.shapes.pairs_as_rows`. Annotations of one pair become one row, if the reading says so or they
    are found, see :func:`~assay.datasets.annotators.pool_annotations`. Rows without a label are left out if the reading
    drops them. A pair without ``pair_id`` is named by its row number in the file (for data in memory by its index,
    from 0).

    Args:
        source: the table as it was read.
        reading: the user's settings: columns, separator, labels.
        allow_unlabelled: whether to keep rows without a label, and accept a table without a label column.
        find_annotators: whether to look for rows that are annotations of one pair, if the reading does not say so.

    Raises:
        InputError: the mapping of columns does not fit, a column or a text is missing, a label is missing or not a
            number, a cell cannot be read, or a pair_id is a duplicate; one line with file, row and column.
    """
    if not isinstance(reading.columns, str | Mapping | None):
        raise InputError(f"columns: {reading.columns!r}; expected a text such as 'reference=answer1', or a mapping")
    source, columns, shape_notes = _prepared_rows(source, reading)
    if not allow_unlabelled:
        check_human_label(source, columns)
    mapping = _mapping_of(source, columns, reading, need_label=not allow_unlabelled)
    recognised = []
    for name, columns_of_name in mapping.items():
        if name not in columns and columns_of_name != [name]:
            recognised.append(f"{name} is {columns_of_name[0]}")
    notes = [f"columns: {', '.join(recognised)}"] if recognised else []
    notes += shape_notes
    if "reference" not in mapping:
        notes.append("no reference: metrics that compare with one are left out")
    pooled = pool_annotations(source, mapping, reading, find_annotators=find_annotators)
    source = pooled.source
    if pooled.label:
        mapping = mapping | {"label": pooled.label}
    reading_result = _read_columns(source, mapping, reading, allow_unlabelled=allow_unlabelled)
    notes += [*filter(None, [pooled.note]), *reading_result.notes]
    source = replace(source, table=source.table.drop_columns(pooled.added))
    pairs = _assemble_table(source.table, reading_result.columns, mapping)
    if reading.drop_unlabelled:
        pairs, drop_notes = _drop_unlabelled(source, pairs)
        notes += drop_notes
    return Conversion(pairs, (*source.notes, *notes), tuple(filter(None, [*reading_result.hints, pooled.hint])))


def _prepared_rows(source: SourceTable, reading: Reading) -> Reshaped:
    """Return the table with a row per pair or annotation, the columns that paths name, and cells of known types.

    Columns of types that are not supported are left out.

    Args:
        source: the table as it was read.
        reading: the user's settings, with the mapping of columns.

    Raises:
        InputError: a path leads nowhere, a shape of rows does not fit, a text is not UTF-8, or a pair column would be
            made from a column of a type that is not supported.
    """
    columns = parse_columns(reading.columns)
    if columns:
        source = with_nested_columns(source, columns)
    unsupported_types: Mapping[str, str] = {}
    if columns or not source.as_text:
        # the cells of delimited text are texts already, but for values at the end of a path
        table, unsupported_types = with_known_types(source.table, source.name)
        source = replace(source, table=table)
    reshaped = pairs_as_rows(source, columns, reading) if columns else Reshaped(source, {})
    # a column with the name of a pair column is one, but for a context, which may be anything under this name
    own_names = {*FIELDS} - {CONTEXT}
    for name in own_names.union(*reshaped.columns.values()):
        if name in unsupported_types:
            raise InputError(f"{source.name}, column {name}: holds {unsupported_types[name]}; expected text or numbers")
    return reshaped


def _mapping_of(
    source: SourceTable, columns: Mapping[str, Sequence[str]], reading: Reading, *, need_label: bool
) -> dict[str, list[str]]:
    """Return the source columns of each pair column that the data has, by the user's mapping and by usual names.

    The result has no ``reference`` for data without references, and no ``context`` for a column of that name that holds
    other things than texts, unless the user names it.

    Args:
        source: the table.
        columns: the user's mapping.
        reading: the user's settings, for the proposal in a message.
        need_label: whether there must be a label.

    Raises:
        InputError: a column is missing, or is named twice.
    """
    try:
        mapping = resolve_columns(columns, source.table.column_names, where=source.name, need_label=need_label)
    except MissingColumnsError as error:
        raise complete_proposal(error, source, reading) from None
    if mapping.get("reference") == []:
        del mapping["reference"]
    for name, sources in mapping.items():
        if len(set(sources)) < len(sources):
            duplicate = first_repeated(sources)
            raise InputError(
                f"{source.name}: {name}={'+'.join(sources)} takes the column {duplicate!r} twice; name each annotator"
                " once"
            )
    if mapping.get(CONTEXT) == [CONTEXT] and CONTEXT not in columns and not _holds_context(source):
        # another column that happens to have this name
        del mapping[CONTEXT]
    return mapping


class _ReadColumns(NamedTuple):
    """The columns of pairs, as they were read.

    Attributes:
        columns: the columns by name.
        notes: remarks on how they were read.
        hints: what may have been meant otherwise; some may be empty.
    """

    columns: dict[str, Any]
    notes: list[str]
    hints: list[str]


def _read_columns(
    source: SourceTable, mapping: Mapping[str, list[str]], reading: Reading, *, allow_unlabelled: bool
) -> _ReadColumns:
    """Return the columns of pairs, read from the source columns that the mapping names.

    Without references, that column has empty texts; without labels, nulls; without identifiers, the row numbers.

    Args:
        source: the table.
        mapping: the source columns of each pair column.
        reading: the user's settings.
        allow_unlabelled: whether rows may have no label.

    Raises:
        InputError: a cell is missing or cannot be read.
    """
    columns: dict[str, Any] = {}
    notes: list[str] = []
    hints: list[str] = []
    for name in ("candidate", "question"):
        if name in mapping:
            columns[name] = _text_column(source, mapping[name][0], refuse_null=name != "question")
    if CONTEXT in mapping:
        columns[CONTEXT] = _context_column(source, mapping[CONTEXT][0])
    if "candidate" in mapping:
        hints.append(_list_hint(mapping["candidate"][0], columns["candidate"]))
    if "reference" in mapping:
        answer_columns = _answer_columns(source, mapping["reference"], reading.separator)
        columns["reference"] = _reference_column(source, mapping["reference"], answer_columns)
        if reading.separator is None and "candidate" in columns:
            texts = [column.drop_null() for column in answer_columns if is_text(column.type)]
            hints += [separator_hint(column, columns["candidate"]) for column in texts]
    else:
        columns["reference"] = pa.array([""] * source.table.num_rows)
    if "pair_id" in mapping:
        columns["pair_id"] = _identifier_column(source, mapping["pair_id"][0])
    else:
        columns["pair_id"] = pa.chunked_array([pa.array(source.numbers()).cast(pa.string())])
    if mapping.get("label"):
        labels = label_columns(source, mapping["label"], reading, allow_missing=allow_unlabelled)
        columns |= labels.columns
        notes += labels.notes
        hints.append(labels.hint)
    else:
        columns["label"] = pa.nulls(source.table.num_rows, pa.float64())
    for name in ("subset", "split", "language", "group", *GRAPH_COLUMNS):
        if name in mapping:
            columns[name] = _text_column(source, mapping[name][0], refuse_null=False)
    if not columns.keys().isdisjoint(GRAPH_COLUMNS):
        check_graph_cells(columns, source)
    return _ReadColumns(columns, notes, hints)


def _list_hint(name: str, candidates: pa.ChunkedArray) -> str:
    """Return a line on candidates whose first :data:`MAX_SEARCHED_CELLS` are lists written as text; else empty.

    Blank ones, which are answers without a text, may be among them.

    Args:
        name: the column in the source.
        candidates: the candidates, string.
    """
    texts = _without_blanks(candidates.slice(0, MAX_SEARCHED_CELLS)).drop_null()
    if not len(texts) or not all(map(listed_answers, texts.to_pylist())):
        return ""
    option = Setting("columns", f"candidate={name}.0").with_flag({})
    return f"the candidates are lists, read as one text each; for the first text of each, run with {option}"


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
    name to the new one. Where several became one, as labels of annotators do, they stay. Another source column with the
    name of a pair column, or of a column that run folders add, is called ``source:NAME``.

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


def _prefixed_name(name: str, used_names: Sequence[str]) -> str:
    """Return the name under which a source column is kept whose own name belongs to assay; none of *used_names*."""
    name = f"source:{name}"
    while name in used_names:
        name = f"source:{name}"
    return name


def _can_hold_labels(column_type: pa.DataType) -> bool:
    """Tell whether a column of this type can hold the annotators' labels, rather than, say, remarks."""
    if not is_list(column_type):
        return False
    return bool(pa.types.is_integer(column_type.value_type) or pa.types.is_floating(column_type.value_type))


def order_pair_columns(columns: Mapping[str, Any]) -> pa.Table:
    """Return a table of the columns: the pair columns first, in their fixed order, then the others as given."""
    pair_columns = [name for name in _COLUMN_ORDER if name in columns]
    # a key that is repeated keeps its first position
    return pa.table({name: columns[name] for name in (*pair_columns, *columns)})


def _answer_columns(source: SourceTable, names: Sequence[str], separator: str | None) -> list[pa.ChunkedArray]:
    """Return each column of gold answers, as strings, or as list<string> if its cells hold several.

    Of several columns, each may have blank cells or empty lists, and the separator is for those without lists.

    Args:
        source: the table.
        names: the columns of gold answers.
        separator: the text between the answers in a cell; ``json`` if some cells are lists; None if there is none.

    Raises:
        InputError: a cell cannot be read as gold answers.
    """
    are_several = len(names) > 1
    columns = [_text_column(source, name, refuse_null=not are_several, allow_lists=True) for name in names]
    have_lists = all(is_list(column.type) for column in columns)
    for index, (name, column) in enumerate(zip(names, columns, strict=True)):
        if are_several and is_text(column.type):
            column = _without_blanks(column)
        used_separator = separator if have_lists or is_text(column.type) else None
        columns[index] = answers_column(source, name, column, used_separator, may_be_empty=are_several)
    return columns


def _without_blanks(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts with null in place of those that are blank."""
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), pa.scalar(None, pa.string()), texts)


def _reference_column(source: SourceTable, names: Sequence[str], columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Return the gold answers, as strings, or as list<string> if a cell holds several or they are in several columns.

    Args:
        source: the table.
        names: the names of the columns.
        columns: the columns of gold answers; answers that several have count once.

    Raises:
        InputError: no column has an answer in some row.
    """
    if len(columns) == 1:
        return columns[0]
    rows = []
    for row, cells in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
        answers: list[str] = []
        for cell in filter(None, cells):
            answers += cell if isinstance(cell, list) else [cell]
        if not answers:
            raise InputError(f"{source.location(row)}: has no gold answer in {', '.join(names)}")
        rows.append(list(dict.fromkeys(answers)))
    return pa.chunked_array([pa.array(rows, pa.list_(pa.string()))])


def _holds_context(source: SourceTable) -> bool:
    """Tell whether the column ``context`` holds texts, or lists of texts."""
    column_type = source.table.column(CONTEXT).type
    return CONTEXT not in source.misfits and (is_text(column_type) or _is_list_of_texts(column_type))


def _is_list_of_texts(column_type: pa.DataType) -> bool:
    return is_list(column_type) and (is_text(column_type.value_type) or pa.types.is_null(column_type.value_type))


def _context_column(source: SourceTable, name: str) -> pa.ChunkedArray:
    """Return a column of contexts as texts; those in a list are divided by a blank line.

    Raises:
        InputError: the column holds something else than texts or lists of texts.
    """
    column = source.table.column(name)
    if name in source.misfits or not _is_list_of_texts(column.type):
        texts = _text_column(source, name, refuse_null=False)
        # lists in text, as pandas writes them; a blank cell is a list without texts
        column = answers_column(source, name, _without_blanks(texts), None, may_be_empty=True)
        if not is_list(column.type):
            return texts
    contexts = [None if texts is None else "\n\n".join(filter(None, texts)) for texts in column.to_pylist()]
    return pa.chunked_array([pa.array(contexts, pa.string())])


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
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    column_type = column.type
    # a column of fractions is refused below, with a message that says how to keep its digits
    if not pa.types.is_floating(column_type):
        _refuse_misfit(source, name, allow_lists=allow_lists)
    if is_list(column_type):
        if not allow_lists:
            raise InputError(
                f"{source.name}, column {name}: holds lists; only a reference may be several answers. The first text of"
                f' each list is the path {name}.0; a card joins its texts with add = {{ whole = "{{{name}}}" }}'
            )
        return checked_answer_lists(source, name, column, may_be_empty=not refuse_null)
    if refuse_null and column.null_count:
        missing_rows = _true_rows(pc.is_null(column))
        further_rows = f" (and in {len(missing_rows) - 1} further rows)" if len(missing_rows) > 1 else ""
        raise InputError(
            f"{source.location(missing_rows[0])}, column {name}: there is no text{further_rows};"
            ' an empty answer is written ""'
        )
    types = pa.types
    is_exact_as_text = types.is_null(column_type) or types.is_integer(column_type) or types.is_boolean(column_type)
    if not is_exact_as_text and not is_text(column_type):
        raise InputError(
            f"{source.name}, column {name}: holds {column_type}, not text (first value"
            f" {column[0].as_py()!r}); read or write that column as text, so that 007 and 1.50 stay what they are"
        )
    return column if column_type == pa.string() else column.cast(pa.string())


def _refuse_misfit(source: SourceTable, name: str, *, allow_lists: bool) -> None:
    """Raise InputError if a column had a value that is not text, nor, if these are allowed, a list of gold answers."""
    misfit = source.misfits.get(name)
    if misfit is None or (allow_lists and misfit.is_answer_list):
        return
    expected = 'a text or one list of texts, as in ["a", "b"]' if allow_lists else "a text"
    location = f"{source.location(misfit.row)}, column {name}"
    raise InputError(f"{location}: holds {misfit.description}; expected {expected}")


def _true_rows(mask: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the ascending row indices for which an Arrow array of booleans is true."""
    return np.flatnonzero(np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool))


def _identifier_column(source: SourceTable, name: str) -> pa.ChunkedArray:
    """Return the pair ids, the cells of a column as text.

    Raises:
        InputError: an id is missing or a duplicate.
    """
    column = _text_column(source, name, refuse_null=True)
    first_rows, id_codes = distinct_rows(row_digests([column], len(column)))
    if len(first_rows) < len(column):
        row = int(np.setdiff1d(np.arange(len(id_codes)), first_rows)[0])
        earlier_row = int(first_rows[id_codes[row]])
        raise InputError(
            f"{source.location(row)}, column {name}: the pair_id {column[row].as_py()!r} already appears in"
            f" {source.unit} {source.number(earlier_row)}; each pair needs its own"
        )
    return column
