"""Files that are pairs tables themselves: for a user's card, and for the probe set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.datasets.columns import SourceTable
from assay.datasets.convert import pairs_table
from assay.datasets.files import read_table_file
from assay.datasets.readers.base import ReaderResult
from assay.datasets.readers.delimited import read_delimited
from assay.errors import InputError, unknown_name

_OPTIONS = {"columns", "quoted", "delimiter", "where"}


def read_table(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Read each file as ``read_table_file`` does and join them.

    Options of the split: ``columns`` (a table such as ``{reference = "answer1"}`` or the text of
    ``--columns``), ``where`` (a table such as ``{split = "train"}``: only rows with these cells, so that one file may
    hold several splits; a pair keeps the number of its row), and for delimited text ``delimiter`` and ``quoted``.
    """
    wrong = set(options) - _OPTIONS
    if wrong:
        raise InputError(unknown_name("reader 'table' has no option", min(wrong), sorted(_OPTIONS)))
    tables = []
    for path in files.values():
        source: SourceTable
        if "delimiter" in options or "quoted" in options:
            delimiter = options.get("delimiter", "," if path.suffix == ".csv" else "\t")
            source = read_delimited(path, delimiter=delimiter, quoted=options.get("quoted", True))
        else:
            source = read_table_file(path)
        source = _only(replace(source, name=str(path)), options.get("where", {}))
        tables.append(pairs_table(source, options.get("columns")))
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    return ReaderResult(table)


def _only(source: SourceTable, wanted: Mapping[str, str]) -> SourceTable:
    """Return the rows whose cells are as *wanted* says, by column."""
    for column, value in wanted.items():
        if column not in source.table.column_names:
            raise InputError(
                unknown_name(f"{source.name}, for where: has no column", column, source.table.column_names)
            )
        kept = pc.fill_null(pc.equal(source.table.column(column).cast(pa.string()), value), False)
        numbers = source.numbers()[kept.to_numpy(zero_copy_only=False)]
        if not len(numbers):
            raise InputError(f"{source.name}: no row has {value!r} in the column {column}")
        source = replace(source, table=source.table.filter(kept), rows=numbers)
    return source
