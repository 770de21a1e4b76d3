"""Data that a Python user holds in memory, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from assay.datasets.readers.jsonl import column_of, misfit_of, table_of_columns, table_of_records
from assay.datasets.source_table import Misfit, SourceTable
from assay.errors import InputError

__all__ = ["table_from_memory"]


def table_from_memory(data: Any, name: str = "data in memory") -> SourceTable:
    """Return a list of dicts or tuples, a DataFrame, an Arrow table or a Hugging Face dataset as a table.

    Tuples are ``(reference, candidate)`` or ``(reference, candidate, label)``. Rows are counted from 0.
    The input is not changed.

    Raises:
        InputError: none of these, or empty; columns of one name or of unequal length; half of a surrogate pair in a
            text.
    """
    try:
        return _from_memory(data, name)
    except UnicodeEncodeError as error:
        shown = ascii(error.object[max(0, error.start - 20) : error.start + 20])
        raise InputError(
            f"{name}: {shown} holds half of a surrogate pair, which is no character; write the whole pair, or leave it"
            " out"
        ) from None


def _from_memory(data: Any, name: str) -> SourceTable:
    misfits: dict[str, Misfit] = {}
    if isinstance(data, pa.Table):
        _check_names(data.column_names, name)
        table = data
    elif type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
        names = [str(key) for key in data.columns]
        _check_names(names, name)
        columns = {key: _from_series(data.iloc[:, place]) for place, key in enumerate(names)}
        table = pa.table({key: column for key, (column, _) in columns.items()})
        misfits = {key: misfit for key, (_, misfit) in columns.items() if misfit is not None}
    elif hasattr(data, "with_format") and hasattr(data, "column_names"):  # a Hugging Face dataset
        held = data.with_format("arrow")
        table = held[:] if len(data) else pa.table({key: [] for key in data.column_names})
    elif isinstance(data, Mapping) and all(hasattr(value, "with_format") for value in data.values()) and data:
        raise InputError(f"{name}: holds the splits {', '.join(map(str, data))}; pass one of them")
    elif isinstance(data, Mapping):
        _check_names([str(key) for key in data], name)
        plain = {str(key): list(values) for key, values in data.items()}
        lengths = {key: len(values) for key, values in plain.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{key}: {length}" for key, length in lengths.items())
            raise InputError(f"{name}: columns of unequal length ({told})")
        table, misfits = table_of_columns(plain)
    elif isinstance(data, Sequence) and not isinstance(data, str | bytes):
        rows = list(data)
        if rows and all(isinstance(row, Mapping) for row in rows):
            for row in rows:
                if not all(isinstance(key, str) for key in row):
                    _check_names([str(key) for key in row], name)
            table, misfits = table_of_records([{str(key): cell for key, cell in row.items()} for row in rows])
        else:
            table, misfits = _of_tuples(rows, name)
    else:
        raise InputError(
            f"{name}: expected a dataset name, a file, a list of dicts or tuples, a DataFrame, an Arrow table"
            f" or a Hugging Face dataset, not {type(data).__name__}"
        )
    if not table.num_rows:
        raise InputError(f"{name}: has no rows")
    return SourceTable(table.replace_schema_metadata(None), name, first=0, misfits=misfits)


def _check_names(names: Sequence[str], where: str) -> None:
    twice = next((column for column in names if names.count(column) > 1), None)
    if twice is not None:
        raise InputError(f"{where}: two columns are called {twice!r}; rename one")


def _of_tuples(rows: list[Any], name: str) -> tuple[pa.Table, dict[str, Misfit]]:
    for place, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) not in (2, 3) or len(row) != len(rows[0]):
            raise InputError(
                f"{name}, row {place}: expected (reference, candidate) or (reference, candidate, label) in every row"
            )
    if not rows:
        raise InputError(f"{name}: has no rows")
    columns = list(zip(*rows, strict=True))
    return table_of_columns(
        {key: list(v) for key, v in zip(("reference", "candidate", "label"), columns, strict=False)}
    )


def _from_series(series: Any) -> tuple[pa.Array, Misfit | None]:
    try:
        return pa.array(series, from_pandas=True), None
    except (pa.ArrowException, TypeError, ValueError):
        values = [None if value is None or value != value else value for value in series.tolist()]
        return column_of(values), misfit_of(values)
