"""Tables whose rows are not pairs: the answers of several systems side by side, and preferences between two answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay.common.messages import Setting
from assay.common.tables import exact_number
from assay.datasets.columns import PREFERENCE_FIELDS, SourceTable
from assay.datasets.readers.jsonl import column_of
from assay.datasets.reading import Reading, normalised_word
from assay.exceptions import InputError, unknown_name

#: What stands for the name of a system in a column's name.
SYSTEM = "{system}"
#: Words of a preference for the first answer, for the second, and for none.
FIRST_WORDS = ("a", "1", "first", "left", "model_a", "answer_a", "response_a", "candidate", "a>b", "win")
SECOND_WORDS = ("b", "2", "second", "right", "model_b", "answer_b", "response_b", "other", "b>a", "loss", "lose")
TIE_WORDS = ("tie", "equal", "both", "draw", "neither", "same", "a=b", "=", "tie (bothbad)", "both_bad", "bothbad")
_LABEL_OF_TIES = dict.fromkeys(TIE_WORDS, 0.5)

#: Names that people give the columns of the two systems whose answers are compared.
SYSTEM_PAIRS = (
    ("model_a", "model_b"),
    ("system_a", "system_b"),
    ("model_1", "model_2"),
    ("system_1", "system_2"),
    ("model1", "model2"),
    ("system1", "system2"),
)

Columns = Mapping[str, Sequence[str]]
_Floats = np.ndarray[Any, np.dtype[np.float64]]


class Reshaped(NamedTuple):
    """A table whose rows are pairs.

    Attributes:
        source: the rows.
        columns: the source columns of each pair column.
        notes: what was done.
    """

    source: SourceTable
    columns: dict[str, list[str]]
    notes: tuple[str, ...] = ()


def pairs_as_rows(source: SourceTable, columns: Columns, reading: Reading) -> Reshaped:
    """Return a table with one row per pair, as the mapping of columns says; most tables stay as they are.

    With ``{system}`` in names of columns each row becomes one row per system, and the column ``system`` has its name.
    With ``other`` and ``preference`` each row becomes two of one group, with the labels 1 and 0, .5 for a tie or none
    without a preference, with the column ``position``, and with the column ``system`` if the columns of both systems
    are named (``system=model_a+model_b``) or have usual names. Both get identifiers of their own, ``ROW-SUFFIX``.

    Args:
        source: the table as it was read.
        columns: the mapping of the user, see :func:`~assay.datasets.columns.parse_columns`.
        reading: the user's settings, whose labels give words of a preference a number.

    Raises:
        InputError: no column fits a pattern, a system lacks a column, a preference is unknown, a column of preferences
            is missing, the mapping has a label beside them, or a column has the name of one that is to be added.
    """
    sources_by_field = {name: list(sources) for name, sources in columns.items()}
    if any(SYSTEM in name for name in chain.from_iterable(sources_by_field.values())):
        return _rows_per_system(source, sources_by_field)
    if not sources_by_field.keys().isdisjoint(PREFERENCE_FIELDS):
        return _rows_per_answer(source, sources_by_field, reading)
    return Reshaped(source, sources_by_field)


def _rows_per_system(source: SourceTable, columns: dict[str, list[str]]) -> Reshaped:
    """Return one row per system of each row.

    Args:
        source: the table as it was read, with a column for each system.
        columns: the source columns of each pair column; some have ``{system}`` in their names.

    Raises:
        InputError: there is a column ``system`` already, no column fits a pattern, or a system lacks a column.
    """
    names = source.table.column_names
    patterns = [name for sources in columns.values() for name in sources if SYSTEM in name]
    systems = _systems_of_patterns(source, patterns)
    if "system" in names:
        raise InputError(f"{source.name}: has a column 'system' already; rename it")
    row_count, system_count = source.table.num_rows, len(systems)

    columns_of_systems = {pattern: [pattern.replace(SYSTEM, system) for system in systems] for pattern in patterns}
    wide_names = set(chain.from_iterable(columns_of_systems.values()))
    shared_names = [name for name in names if name not in wide_names]
    table = source.table.select(shared_names).take(pa.array(np.repeat(np.arange(row_count), system_count)))
    # the stacked cells are in the order of systems: these indices put the answers of one row beside each other
    order = pa.array(np.arange(row_count * system_count).reshape(system_count, row_count).T.reshape(-1))
    for pattern, column_names in columns_of_systems.items():
        table = table.append_column(pattern, _stacked(source.table, column_names).take(order))
    table = table.append_column("system", pa.array(systems * row_count))
    note = (
        f"{row_count:,} rows with the answers of {system_count} systems ({', '.join(systems)}) read as"
        f" {row_count * system_count:,} pairs"
    )
    return _with_identifiers(source, table, columns, systems, note)


def _systems_of_patterns(source: SourceTable, patterns: Sequence[str]) -> list[str]:
    """Return the systems that have a column for every pattern, in the order of the columns.

    Raises:
        InputError: no column fits a pattern, or a system lacks a column.
    """
    names = source.table.column_names
    systems_by_pattern = {pattern: _systems(pattern, names) for pattern in patterns}
    systems = list(dict.fromkeys(chain.from_iterable(systems_by_pattern.values())))
    for pattern, systems_of_pattern in systems_by_pattern.items():
        if not systems_of_pattern:
            raise InputError(unknown_name(f"{source.name}: no column fits", pattern, names), setting="columns")
        for system in systems:
            if system not in systems_of_pattern:
                lacking = pattern.replace(SYSTEM, system)
                raise InputError(f"{source.name}: the system {system!r} has no column {lacking!r}", setting="columns")
    return systems


def _stacked(table: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Return the cells of some columns, one column after the other; as text if the columns differ in type."""
    columns = [table.column(name) for name in names]
    if len({column.type for column in columns}) > 1:
        columns = [column.cast(pa.string()) for column in columns]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks])


def _with_identifiers(
    source: SourceTable, table: pa.Table, columns: dict[str, list[str]], suffixes: list[str], note: str
) -> Reshaped:
    """Return the table with identifiers ``ROW-SUFFIX``, as a row of the file has become one row per suffix.

    ROW is the identifier of the old row, or its number if it has none.

    Args:
        source: the table as it was read, of n rows.
        table: the new table, of n times ``len(suffixes)`` rows.
        columns: the source columns of each pair column.
        suffixes: what tells the new rows of one old row apart.
        note: what was done, for the user.
    """
    name = columns.get("pair_id", ["pair_id"])[0]
    count = len(suffixes)
    identifiers = source.table.column(name).to_pylist() if name in source.table.column_names else source.numbers()
    pair_ids = [f"{identifier}-{suffix}" for identifier in identifiers for suffix in suffixes]
    if name in table.column_names:
        table = table.drop_columns([name])
    table = table.append_column("pair_id", pa.array(pair_ids))
    numbers = np.repeat(source.numbers(), count)
    misfits = {key: misfit._replace(row=misfit.row * count) for key, misfit in source.misfits.items()}
    reshaped = replace(source, table=table, rows=numbers, misfits=misfits)
    return Reshaped(reshaped, columns | {"pair_id": ["pair_id"]}, (note,))


def _systems(pattern: str, names: Sequence[str]) -> list[str]:
    """Return what stands for the system in the names of columns that fit a pattern."""
    before, after = pattern.split(SYSTEM, 1)
    expression = re.compile(f"{re.escape(before)}(.+){re.escape(after)}")
    matches = [expression.fullmatch(name) for name in names]
    return [match[1] for match in matches if match]


def _rows_per_answer(source: SourceTable, columns: dict[str, list[str]], reading: Reading) -> Reshaped:
    """Return two rows of one group for each preference between two answers, the preferred one with the label 1.

    The columns ``label`` and ``position`` are added, ``group`` unless there is one, and ``system`` if systems are
    named.

    Args:
        source: the table as it was read, a row per preference.
        columns: the source columns of each pair column, with ``candidate``, ``other`` and ``preference``.
        reading: the user's settings, whose labels give words of a preference a number.

    Raises:
        InputError: a column is missing or is not to be there, a preference is unknown, or a column that is to be added
            exists already.
    """
    _check_preference_columns(source, columns)
    names = source.table.column_names
    first, second, winner = (columns[field][0] for field in ("candidate", "other", "preference"))
    systems = _system_columns(source, columns.get("system"))
    labels, is_by_name = _labels_of_first(source, winner, (first, second), systems, reading)

    row_count = source.table.num_rows
    table = source.table.drop_columns([second]).take(pa.array(np.repeat(np.arange(row_count), 2)))
    answers = _alternating(source.table.column(first), source.table.column(second))
    table = table.set_column(table.column_names.index(first), first, column_of(answers))
    labels_of_answers = np.stack([labels, 1 - labels], axis=1).reshape(-1)
    added = {
        "label": pa.array(labels_of_answers, mask=np.isnan(labels_of_answers)),
        "position": pa.array(["first", "second"] * row_count),
    }
    if "group" not in columns and "group" not in names:
        added["group"] = pa.array(np.repeat(source.numbers(), 2)).cast(pa.string())
    if systems:
        of_first, of_second = (source.table.column(name).cast(pa.string()) for name in systems)
        added["system"] = pa.array(_alternating(of_first, of_second), pa.string())
    for name, cells in added.items():
        if name in table.column_names:
            raise InputError(f"{source.name}: has a column {name!r} beside preferences; rename it")
        table = table.append_column(name, cells)

    ties = int((labels == 0.5).sum())
    counts = f"{row_count:,} preferences, {ties:,} of them ties, read as {2 * row_count:,} answers"
    note = f"{counts} with the labels 1, 0 and .5"
    if systems:
        note += f", of the systems in {' and '.join(systems)}"
    if is_by_name:
        note += f", which {winner} names"
    remaining_columns = {name: sources for name, sources in columns.items() if name not in PREFERENCE_FIELDS}
    return _with_identifiers(source, table, remaining_columns, ["first", "second"], note)


def _check_preference_columns(source: SourceTable, columns: Mapping[str, Sequence[str]]) -> None:
    """Raise InputError if the mapping lacks an answer or the preference, names no column, or has a label as well."""
    for field in ("candidate", "other", "preference"):
        if field not in columns:
            raise InputError(
                f"{source.name}: a preference needs two answers and which is better: ",
                Setting("columns", "candidate=A,other=B,preference=WINNER"),
            )
        name, names = columns[field][0], source.table.column_names
        if name not in names:
            raise InputError(unknown_name(f"{source.name}, for {field}: has no column", name, names), setting="columns")
    if "label" in columns:
        raise InputError(f"{source.name}: preferences have no label of their own; leave it out", setting="columns")


def _alternating(first: pa.ChunkedArray, second: pa.ChunkedArray) -> list[Any]:
    """Return the cells of two columns row by row: first, second, first, second, …"""
    return list(chain.from_iterable(zip(first.to_pylist(), second.to_pylist(), strict=True)))


def _system_columns(source: SourceTable, named_columns: Sequence[str] | None) -> tuple[str, str] | None:
    """Return the two columns that name the systems of the answers: those named, or with usual names; None without any.

    Args:
        source: the table as it was read.
        named_columns: the columns in the user's mapping, or one text with ``+`` between them; None without any.

    Raises:
        InputError: not two columns are named, or one is missing.
    """
    names = source.table.column_names
    if named_columns is None:
        return next((pair for pair in SYSTEM_PAIRS if set(pair) <= set(names)), None)
    columns = named_columns[0].split("+") if len(named_columns) == 1 else named_columns
    if len(columns) != 2:
        raise InputError(
            f"{source.name}: the two answers of a preference are of two systems: ",
            Setting("columns", "system=SYSTEM_A+SYSTEM_B"),
        )
    for name in columns:
        if name not in names:
            raise InputError(unknown_name(f"{source.name}, for system: has no column", name, names), setting="columns")
    return columns[0], columns[1]


def _labels_of_first(
    source: SourceTable,
    winner: str,
    answers: tuple[str, str],
    systems: tuple[str, str] | None,
    reading: Reading,
) -> tuple[_Floats, bool]:
    """Return the label of the first answer of each row, and whether preferences are the names of systems.

    The label is 1 if the answer is preferred, .5 for a tie, NaN if nothing is said. A preference names an answer, or,
    if all of a column do, the system that gave it.

    Args:
        source: the table as it was read.
        winner: the column of preferences.
        answers: the columns of the two answers, whose names a preference may be.
        systems: the columns of the two systems; None if there are none.
        reading: the user's settings; words to which they give a number replace all others.

    Raises:
        InputError: a word is unknown, at its row.
    """
    cells = source.table.column(winner).to_pylist()
    words = [normalised_word("" if cell is None else str(cell)) for cell in cells]
    configured = reading.configured_numbers()
    first_words = dict.fromkeys((*FIRST_WORDS, normalised_word(answers[0])), 1.0)
    second_words = dict.fromkeys((*SECOND_WORDS, normalised_word(answers[1])), 0.0)
    label_of_word_by_row = [configured or first_words | second_words | _LABEL_OF_TIES] * len(words)
    is_by_name = False
    if systems and not configured:
        label_of_system_by_row = _labels_by_system(source, systems, reading)
        said = [row for row, word in enumerate(words) if word not in _LABEL_OF_TIES and not reading.is_missing(word)]
        is_by_name = bool(said) and all(words[row] in label_of_system_by_row[row] for row in said)
        if is_by_name:
            label_of_word_by_row = [label_of_system | _LABEL_OF_TIES for label_of_system in label_of_system_by_row]

    labels = []
    for row, (word, label_of) in enumerate(zip(words, label_of_word_by_row, strict=True)):
        if word not in label_of and not reading.is_missing(word):
            # the setting replaces what is known of the other words, so that it has to name them, too
            numbers = {str(cells[row]).strip(): "NUMBER"}
            for other_word, cell in zip(words, cells, strict=True):
                if other_word in label_of:
                    numbers.setdefault(str(cell).strip(), exact_number(label_of[other_word]))
            raise InputError(
                f"{source.location(row)}, column {winner}: the preference {str(cells[row])!r} is unknown; say which"
                " label the first answer gets: ",
                Setting("labels", ",".join(f"{cell}={number}" for cell, number in numbers.items())),
                " (1 preferred, 0.5 tie, 0 not)",
            )
        if np.isnan(label_of.get(word, 0)):
            raise InputError(
                f"{source.location(row)}, column {winner}: the preference {str(cells[row])!r} is the system of both"
                " answers, which does not tell which is better; leave the cell empty, or the row out"
            )
        labels.append(label_of.get(word, np.nan))
    return np.array(labels, dtype=np.float64), is_by_name


def _labels_by_system(source: SourceTable, systems: tuple[str, str], reading: Reading) -> list[dict[str, float]]:
    """Return for each row the label of its first answer by the normalised name of the system that is preferred.

    The label is NaN for a system that gave both answers. An empty name, or a word for a missing label, names none.

    Args:
        source: the table as it was read.
        systems: the columns of the systems of the first and of the second answer.
        reading: the user's settings, with the words for missing labels.
    """
    of_first, of_second = (source.table.column(name).cast(pa.string()).to_pylist() for name in systems)
    labels_of_rows = []
    for names in zip(of_first, of_second, strict=True):
        first, second = (normalised_word(name or "") for name in names)
        label_of_system = {first: np.nan} if first == second else {first: 1.0, second: 0.0}
        labels_of_rows.append({name: label for name, label in label_of_system.items() if not reading.is_missing(name)})
    return labels_of_rows
