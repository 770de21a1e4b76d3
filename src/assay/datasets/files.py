"""Files of pairs as a user has them: CSV, TSV, JSONL, Parquet.

Cells of CSV and TSV are read as text, whatever they look like: ``None``, ``007`` and an empty cell stay
what they are. Memory holds one block of rows as Python strings at a time; the rest is Arrow.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from assay.datasets.source_table import SourceTable
from assay.errors import InputError

__all__ = ["SUFFIXES", "is_table_file", "read_table_file"]

#: Suffix to the way it is read.
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tab",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}


def is_table_file(path: str | Path) -> bool:
    """Tell whether the name ends as a file of pairs does."""
    return Path(path).suffix.lower() in SUFFIXES


def read_table_file(path: str | Path) -> SourceTable:
    """Read any file of rows: the format follows from the suffix, the columns keep their names.

    ``.csv`` has commas, ``.tsv`` tabs, both with quotes around a cell where needed; ``.tab`` has tabs and
    no quoting at all; ``.jsonl`` one object a line; ``.parquet`` stays Arrow.

    Raises:
        InputError: one line with the file and row of what is wrong.
    """
    from assay.datasets.readers import delimited, jsonl

    if "\0" in str(path):
        raise InputError(f"{str(path)!r}: no file name holds a null character")
    path = Path(path)
    form = SUFFIXES.get(path.suffix.lower())
    if path == Path():
        raise InputError(f"the name of a file is empty (or '.'); expected one that ends in {', '.join(SUFFIXES)}")
    if form is None:
        raise InputError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; expected a file that ends in {', '.join(SUFFIXES)}")
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty; expected a header and at least one row")
        if form == "parquet":
            return _read_parquet(path)
        if form == "jsonl":
            return jsonl.read_jsonl(path)
        return delimited.read_delimited(path, delimiter="," if form == "csv" else "\t", quoted=form in ("csv", "tsv"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except PermissionError:
        raise InputError(f"{path}: may not be read (permission denied)") from None
    except OSError as error:
        # such as links that lead to each other
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def _read_parquet(path: Path) -> SourceTable:
    import pyarrow.parquet as pq

    try:
        # by a stream: PyArrow opens no name that is no UTF-8
        with path.open("rb") as stream:
            schema = pq.read_schema(stream)
            twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
            if twice is not None:
                raise InputError(f"{path}: the column {twice!r} stands twice; rename one")
            stream.seek(0)
            table = pq.read_table(stream)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: is no readable Parquet file ({reason})") from None
    if not table.num_rows:
        raise InputError(f"{path}: the table has no rows")
    return SourceTable(table.replace_schema_metadata(None), str(path), first=1)
