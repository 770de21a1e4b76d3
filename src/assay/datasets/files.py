"""Pairs as a user has them: CSV, TSV, JSONL and Parquet files, and data in memory.

Cells of CSV and TSV are read as text, whatever they look like: ``None``, ``007`` and an empty cell stay what they are.
One block of rows at a time is held as Python strings; the rest is Arrow.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.datasets.columns import Misfit, SourceTable
from assay.datasets.readers.jsonl import column_of, misfit_of, table_of_columns, table_of_records
from assay.datasets.readers.parquet import is_address, is_folder, parts_of, public_address, read_parquet
from assay.errors import InputError
from assay.paths import user_path
from assay.tables import repeated
from assay.transfer import sha256_of

#: The name of standard input.
STANDARD_INPUT = "-"
_WORDS_FOR_INPUT = "standard input"
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
    """Tell whether the name ends as a file of pairs does, stands for standard input, or is a folder or an address."""
    if str(path) == STANDARD_INPUT or is_address(path):
        return True
    return Path(path).suffix.lower() in SUFFIXES or is_folder(path)


def is_standard_input(path: str | Path) -> bool:
    """Tell whether a name stands for standard input: ``-``, or ``-`` with an ending, such as ``-.jsonl``."""
    return str(path) == STANDARD_INPUT or (is_table_file(path) and Path(path).stem == STANDARD_INPUT)


def file_of(path: str | Path) -> Path:
    """Return where a file of rows is; what comes from standard input is written to a file that lasts for this process.

    Without an ending its format is seen from the first byte: an object of JSONL, or CSV.

    Raises:
        InputError: nothing comes from standard input; an address.
    """
    if is_address(path):
        raise InputError(f"{public_address(str(path))}: is an address, which `assay run` reads; give a file here")
    return _file_of_standard_input(str(path)) if is_standard_input(path) else user_path(path)


def digest_of_files(path: str | Path) -> str:
    """Return the SHA-256 of a file, or of those of a folder's parts; an empty string for an address."""
    if is_address(path):
        return ""
    file = file_of(path)
    if not file.is_dir():
        return sha256_of(file)
    return hashlib.sha256("".join(sha256_of(part) for part in parts_of(file)).encode()).hexdigest()


@functools.cache
def _file_of_standard_input(name: str) -> Path:
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise InputError(f"{name}: standard input is empty; expected a header and at least one row")
    ending = Path(name).suffix or (".jsonl" if content.lstrip().startswith(b"{") else ".csv")
    folder = tempfile.TemporaryDirectory(prefix="assay-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / f"standard-input{ending}"
    path.write_bytes(content)
    return path


def read_table_file(path: str | Path, *, offline: bool = False) -> SourceTable:
    """Read any file of rows: the format follows from the suffix, the columns keep their names.

    ``.csv`` has commas, ``.tsv`` tabs, both with quotes around a cell where needed; ``.tab`` has tabs and
    no quoting at all; ``.jsonl`` one object a line; ``.parquet`` stays Arrow. A folder, or an address that fsspec
    knows, holds Parquet, which is read part by part.

    Raises:
        InputError: one line with the file and row of what is wrong.
        OfflineError, UnavailableError: an address, see :func:`~assay.datasets.readers.parquet.read_parquet`.
    """
    if isinstance(path, str) and is_address(path):
        return read_parquet(path, offline=offline)
    if not is_standard_input(path):
        return _read(Path(path))
    written = file_of(path)
    try:
        return replace(_read(written), name=_WORDS_FOR_INPUT)
    except InputError as error:
        # the user knows nothing of the file that keeps the input
        raise InputError(str(error).replace(str(written), _WORDS_FOR_INPUT)) from None


def _read(path: Path) -> SourceTable:
    """Return the rows of a file; errors as for :func:`read_table_file`."""
    from assay.datasets.readers import delimited, jsonl

    form = SUFFIXES.get(path.suffix.lower())
    if path == Path():
        raise InputError(f"the name of a file is empty (or '.'); expected one that ends in {', '.join(SUFFIXES)}")
    try:
        if path.is_dir():
            return read_parquet(path)
        if form is None:
            raise InputError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}")
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty; expected a header and at least one row")
        if form == "parquet":
            return read_parquet(path)
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
            f"{name}: {shown} holds half of a surrogate pair, which is not a character; write the whole pair, or"
            " leave it out"
        ) from None


def _from_memory(data: Any, name: str) -> SourceTable:
    """Return data of any supported form as a table; errors as for :func:`table_from_memory`, but for surrogates."""
    misfits: dict[str, Misfit] = {}
    if isinstance(data, pa.Table):
        _check_names(data.column_names, name)
        table = data
    # by its module, so that nobody needs pandas for other forms
    elif type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
        table, misfits = _of_data_frame(data, name)
    elif holds_splits(data):
        splits = ", ".join(f"{split} ({_rows(part)})" for split, part in data.items())
        raise InputError(f"{name}: holds the splits {splits}; pass one of them, such as data[{next(iter(data))!r}]")
    elif hasattr(data, "with_format") and hasattr(data, "column_names"):  # a Hugging Face dataset
        if not hasattr(data, "__len__"):
            raise InputError(f"{name}: is a streamed dataset; load it without `streaming=True`")
        as_arrow = data.with_format("arrow")
        table = as_arrow[:] if len(data) else pa.table({key: [] for key in data.column_names})
    elif isinstance(data, Mapping):
        table, misfits = _of_mapping(data, name)
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
            f"{name}: expected a dataset name, a file, a list of dicts or tuples, a dict of lists, a DataFrame, an"
            f" Arrow table or a Hugging Face dataset, not {type(data).__name__}"
        )
    if not table.num_rows:
        raise InputError(f"{name}: has no rows")
    return SourceTable(table.replace_schema_metadata(None), name, first=0, misfits=misfits)


def holds_splits(data: Any) -> bool:
    """Tell whether data is a mapping of names to tables, such as a ``DatasetDict``: several splits, and no dataset."""
    if not isinstance(data, Mapping) or not data:
        return False
    return all(hasattr(part, "with_format") or hasattr(part, "columns") for part in data.values())


def _rows(part: Any) -> str:
    if not hasattr(part, "__len__"):
        return "streamed"
    return "1 row" if len(part) == 1 else f"{len(part):,} rows"


def _of_data_frame(data: Any, name: str) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return the columns of a pandas DataFrame, and by column the first value that can be no text."""
    names = [str(key) for key in data.columns]
    _check_names(names, name)
    columns: dict[str, pa.Array] = {}
    misfits: dict[str, Misfit] = {}
    for index, key in enumerate(names):
        columns[key], misfit = _from_series(data.iloc[:, index])
        if misfit is not None:
            misfits[key] = misfit
    return pa.table(columns), misfits


def _of_mapping(data: Mapping[Any, Any], name: str) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return a mapping of names to columns of equal length as a table, and its first values that can be no text."""
    _check_names([str(key) for key in data], name)
    columns = {str(key): list(values) for key, values in data.items()}
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{key}: {length}" for key, length in lengths.items())
        raise InputError(f"{name}: columns of unequal length ({shown})")
    return table_of_columns(columns)


def _check_names(names: Sequence[str], where: str) -> None:
    twice = repeated(names)
    if twice is not None:
        raise InputError(f"{where}: two columns are called {twice!r}; rename one")


def _of_tuples(rows: list[Any], name: str) -> tuple[pa.Table, dict[str, Misfit]]:
    for place, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) not in (2, 3) or len(row) != len(rows[0]):
            raise InputError(
                f"{name}, row {place}: expected (reference, candidate) or (reference, candidate, label) in every row;"
                ' columns go in as a dict, {"reference": [...], "candidate": [...], "label": [...]}'
            )
    if not rows:
        raise InputError(f"{name}: has no rows")
    columns = list(zip(*rows, strict=True))
    return table_of_columns(
        {key: list(v) for key, v in zip(("reference", "candidate", "label"), columns, strict=False)}
    )


def _from_series(series: Any) -> tuple[pa.Array, Misfit | None]:
    """Return a pandas column as Arrow; one of mixed kinds becomes text, with its first value that can be no text."""
    try:
        return pa.array(series, from_pandas=True), None
    except (pa.ArrowException, TypeError, ValueError):
        values = [None if value is None or value != value else value for value in series.tolist()]
        return column_of(values), misfit_of(values)
