"""Files that are pairs tables themselves: what a card of one's own, and the probe set, use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.datasets.convert import pairs_table
from assay.datasets.files import read_table_file
from assay.datasets.readers.base import ReaderResult
from assay.datasets.readers.delimited import read_delimited
from assay.datasets.source_table import SourceTable
from assay.errors import InputError

__all__ = ["read_table"]

_OPTIONS = {"columns", "quoted", "delimiter"}


def read_table(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Read each file as ``read_table_file`` does and join them.

    Options of the split: ``columns`` (a table such as ``{reference = "answer1"}`` or the text of
    ``--columns``), and for delimited text ``delimiter`` and ``quoted``.
    """
    wrong = set(options) - _OPTIONS
    if wrong:
        raise InputError(f"reader 'table': there is no option {min(wrong)!r}; it has {', '.join(sorted(_OPTIONS))}")
    tables = []
    for path in files.values():
        source: SourceTable
        if "delimiter" in options or "quoted" in options:
            delimiter = options.get("delimiter", "," if path.suffix == ".csv" else "\t")
            source = read_delimited(path, delimiter=delimiter, quoted=options.get("quoted", True))
        else:
            source = read_table_file(path)
        tables.append(pairs_table(replace(source, name=str(path)), options.get("columns")))
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    return ReaderResult(table)
