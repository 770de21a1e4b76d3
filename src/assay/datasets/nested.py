"""Values inside of nested records, named by paths such as ``ref.answers`` or ``choices.0.text``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from assay.datasets.columns import SourceTable
from assay.datasets.gold_answers import structured_value
from assay.datasets.readers.jsonl import column_of, misfit_of
from assay.exceptions import InputError

#: The number of rows whose keys a message about a wrong path draws on, and the number of paths it names.
_SEARCHED_ROWS, _SHOWN_PATHS = 100, 8


def with_nested_columns(source: SourceTable, mapping: Mapping[str, Sequence[str]]) -> SourceTable:
    """Return the table with a column for each path that a mapping names, under the path as its name.

    A path is a column, then keys of objects or indices of lists, with dots between them. The cells of that column are
    objects or lists: Arrow structures, or texts with JSON or what Python prints.

    If the path of the candidate leads to or through a list, each of its items becomes a row, and a record without any
    gives no row, with a note.

    Args:
        source: the table as it was read.
        mapping: the source columns of each pair column; a name that is a column is no path, and one such as
            ``ref.a+ref.b`` names two.

    Raises:
        InputError: no row has a value at a path (the message has similar paths), or a value that lies beside the
            candidates is missing for some of them.
    """
    column_names = source.table.column_names
    values_by_path: dict[str, list[Any]] = {}
    names = chain.from_iterable(mapping.values())
    for name in dict.fromkeys(chain.from_iterable(_joined_names(name, column_names) for name in names)):
        column = next((prefix for prefix in _prefixes(name) if prefix in column_names), None)
        if name not in column_names and column is not None:
            values_by_path[name] = _values_of_path(source, column, name)
    for candidate in mapping.get("candidate", ()):
        if any(isinstance(value, list) for value in values_by_path.get(candidate, ())):
            source, values_by_path = _row_per_candidate(source, values_by_path, candidate)
    table, misfits = source.table, dict(source.misfits)
    for path, values in values_by_path.items():
        table = table.append_column(path, column_of(values))
        misfit = misfit_of(values)
        if misfit is not None:
            misfits[path] = misfit
    return replace(source, table=table, misfits=misfits)


def _joined_names(name: str, column_names: Sequence[str]) -> list[str]:
    """Return the names that a name joins by ``+``; the name alone if it is a column, or a part is no column or path."""
    parts = [part.strip() for part in name.split("+")]
    are_known = all(any(prefix in column_names for prefix in (part, *_prefixes(part))) for part in parts)
    return parts if are_known and name not in column_names else [name]


def _values_of_path(source: SourceTable, column: str, path: str) -> list[Any]:
    """Return what each row has at a path; None for a row without a value.

    Args:
        source: the table.
        column: the column with which the path begins, and whose name may have dots itself.
        path: the path.

    Raises:
        InputError: no row has a value; the message has similar paths.
    """
    records = [_decoded(cell) for cell in source.table.column(column).to_pylist()]
    keys = path.removeprefix(f"{column}.").split(".")
    values = [_value_at(record, keys) for record in records]
    if any(value is not None for value in values):
        return values
    known_paths: dict[str, None] = {}
    for record in records[:_SEARCHED_ROWS]:
        known_paths.update(dict.fromkeys(_paths_of(record, column)))
    similar_paths = get_close_matches(path, known_paths, n=_SHOWN_PATHS, cutoff=0.4) or list(known_paths)[:_SHOWN_PATHS]
    hint = f"; there is {', '.join(similar_paths)}" if similar_paths else f"; {column} holds no objects"
    raise InputError(f"{source.name}: no row has a value at {path}{hint}", setting="columns")


def _row_per_candidate(
    source: SourceTable, values_by_path: Mapping[str, list[Any]], candidate: str
) -> tuple[SourceTable, dict[str, list[Any]]]:
    """Return a row for each candidate of a record; what lies in the same list goes with it, all else is repeated.

    Records without a candidate are left out, with a note. Without a column ``pair_id``, rows are called ``RECORD-N``.

    Args:
        source: the table with one row per record.
        values_by_path: the values at each path, one per record.
        candidate: the path of the candidates.

    Raises:
        InputError: a value in the same list is missing for some of the candidates.
    """
    counts = [len(value) if isinstance(value, list) else 0 for value in values_by_path[candidate]]
    list_path = candidate.rpartition(".")[0]
    new_values: dict[str, list[Any]] = {}
    for path, values in values_by_path.items():
        is_in_list = path == candidate or path.rpartition(".")[0] == list_path
        cells: list[Any] = []
        for row, (value, count) in enumerate(zip(values, counts, strict=True)):
            if not is_in_list:
                cells += [value] * count
            elif isinstance(value, list) and len(value) == count:
                cells += value
            elif count:
                value_count = len(value) if isinstance(value, list) else 0
                raise InputError(f"{source.location(row)}: has {count} candidates and {value_count} values at {path}")
        new_values[path] = cells
    numbers = np.repeat(source.numbers(), counts)
    table = source.table.take(pa.array(np.repeat(np.arange(len(counts)), counts)))
    if "pair_id" not in table.column_names:
        positions = np.concatenate([np.arange(1, count + 1) for count in counts])
        pair_ids = [f"{number}-{position}" for number, position in zip(numbers, positions, strict=True)]
        table = table.append_column("pair_id", pa.array(pair_ids))
    notes = [*source.notes]
    without_candidate = np.flatnonzero(np.array(counts) == 0)
    if len(without_candidate):
        count_of_all = f"{len(without_candidate):,} of {len(counts):,} records"
        row_numbers = source.numbers_text(without_candidate)
        notes.append(f"{count_of_all} have no {candidate} and give no pair ({row_numbers})")
    return replace(source, table=table, rows=numbers, misfits={}, notes=tuple(notes)), new_values


def _prefixes(name: str) -> list[str]:
    """Return the parts of a path before each dot, the longest first."""
    return [name[:index] for index in range(len(name) - 1, 0, -1) if name[index] == "."]


def _decoded(cell: Any) -> Any:
    """Return the object or list that a text is in JSON or Python, None if it is invalid, and other cells unchanged."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(("{", "[")):
        return cell
    return structured_value(cell)


def _value_at(record: Any, keys: Sequence[str]) -> Any:
    """Return the value in a record behind some keys; None if there is none. Behind a list, the value in each item."""
    for index, key in enumerate(keys):
        if isinstance(record, dict):
            record = record.get(key)
        elif isinstance(record, list) and key.isdecimal():
            record = record[int(key)] if int(key) < len(record) else None
        elif isinstance(record, list):
            values = [_value_at(item, keys[index:]) for item in record]
            return [value for value in values if value is not None] or None
        else:
            return None
    return record


def _paths_of(record: Any, path: str) -> Iterator[str]:
    """Yield the paths of the values in a record; those in a list have no index."""
    if isinstance(record, dict):
        for key, value in record.items():
            yield from _paths_of(value, f"{path}.{key}")
    elif isinstance(record, list) and any(isinstance(item, dict) for item in record):
        for item in record:
            yield from _paths_of(item, path)
    else:
        yield path
