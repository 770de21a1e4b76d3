"""Reading of the user's own tables: CSV, TSV, JSONL and Parquet files, standard input, and data in memory.

Cells of CSV and TSV are read as text without interpretation: ``None``, ``007`` and empty cells keep their text. Only
one block of rows at a time is in memory as Python strings; the rest is Arrow.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.common.addresses import is_address, public_address, split_of_address
from assay.common.tables import first_repeated
from assay.common.transfer import sha256_of
from assay.datasets.archives import ARCHIVES, is_archive
from assay.datasets.columns import Misfit, SourceTable
from assay.datasets.content import check_content
from assay.datasets.readers.delimited import read_delimited
from assay.datasets.readers.json import read_json
from assay.datasets.readers.jsonl import column_of, misfit_of, read_jsonl, table_of_columns, table_of_records
from assay.datasets.readers.logs import is_lm_eval, read_inspect_archive, read_lm_eval
from assay.datasets.readers.parquet import is_folder, parts_of, read_parquet
from assay.datasets.readers.workbook import read_workbook
from assay.datasets.reading import Columns
from assay.datasets.unpacking import (
    COMPRESSIONS,
    check_no_member,
    inner_name,
    is_packed,
    temporary_file,
    unpacked_file,
    utf8_file,
)
from assay.exceptions import InputError
from assay.paths import check_is_no_run, check_regular_file, no_such_file, user_path

#: The path that means standard input.
STANDARD_INPUT = "-"
_STANDARD_INPUT_NAME = "standard input"
#: File format by suffix.
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tab",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "text",
    ".json": "json",
    ".xlsx": "workbook",
    ".eval": "inspect",
}
#: The delimiter of the cells of each format of delimited text; that of .txt is found.
_DELIMITERS = {"csv": ",", "tsv": "\t", "tab": "\t", "text": "\t"}


def is_table_file(path: str | Path) -> bool:
    """Tell whether a name has the suffix of a file of pairs, also packed, or is standard input, a folder or an address.

    A name with a split behind it, as in ``FILE:SPLIT``, is none of these.
    """
    address = split_of_address(str(path))
    if address is not None:
        # not by its suffix, which a split may have too
        return address[1] is None
    if str(path) == STANDARD_INPUT:
        return True
    suffix = Path(inner_name(path)).suffix.lower()
    return suffix in SUFFIXES or is_archive(path) or is_folder(path)


def is_standard_input(path: str | Path) -> bool:
    """Tell whether a name stands for standard input: ``-``, or ``-`` with a suffix, such as ``-.jsonl``."""
    if str(path) == STANDARD_INPUT:
        return True
    # a file of this name in a folder is a file
    is_in_folder = Path(path).name != str(path)
    return not is_in_folder and Path(path).stem == STANDARD_INPUT and is_table_file(path)


def local_path_of(path: str | Path) -> Path:
    """Return the local path of a file of rows; standard input is saved to a file that is deleted when the process ends.

    Without a suffix, standard input is JSONL if it begins with ``{``, else CSV.

    Raises:
        InputError: standard input is empty, or *path* is an address.
    """
    if is_address(path):
        raise InputError(f"{public_address(str(path))}: is an address, which assay run reads; give a file here")
    return _save_standard_input(str(path)) if is_standard_input(path) else user_path(path)


def digest_of_files(path: str | Path) -> str:
    """Return the SHA-256 (hex) of a file, or of the digests of a folder's parts; an empty string for an address.

    Raises:
        InputError: standard input is empty, or a folder has no parts.
        OSError: the file cannot be read, or is a pipe, a device or a socket.
    """
    if is_address(path):
        return ""
    file = local_path_of(path)
    if not file.is_dir():
        check_regular_file(file)
        return sha256_of(file)
    return hashlib.sha256("".join(sha256_of(part_path) for part_path in parts_of(file)).encode()).hexdigest()


@functools.cache
def _save_standard_input(name: str) -> Path:
    """Return the path of a temporary file with the content of standard input; *name* may give its suffix.

    Cached, since standard input can be read only once.

    Raises:
        InputError: standard input is empty.
    """
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise InputError(f"{name}: standard input is empty; expected a header and at least one row")
    suffix = Path(name).suffix or (".jsonl" if content.lstrip().startswith(b"{") else ".csv")
    path = temporary_file(f"standard-input{suffix}")
    path.write_bytes(content)
    return path


def read_table_file(
    path: str | Path,
    *,
    offline: bool = False,
    encoding: str | None = None,
    member: str | None = None,
    columns: Columns = None,
) -> SourceTable:
    """Return the rows of a file in any format, which the suffix determines; the columns keep their names.

    ``.csv`` has commas, ``.tsv`` tabs and ``.txt`` either, with quotes around a cell if necessary; if such a file has
    another delimiter, that one is used. ``.tab`` has tabs and no quoting; ``.jsonl`` has one object per line, ``.json``
    a list of objects; ``.xlsx`` is a workbook (extra ``excel``); ``.eval`` a log of Inspect; ``.parquet`` stays Arrow.
    Text may be in any encoding. Behind these may stand ``.gz``, ``.bz2``, ``.xz`` or ``.zst``; a ``.zip``, ``.tar`` or
    ``.tar.gz`` holds such a file. A folder, or an address with one of :data:`assay.common.addresses.PROTOCOLS`, holds
    Parquet, which is read part by part.

    Args:
        path: the file, folder or address; ``-`` for standard input.
        offline: whether the network is forbidden.
        encoding: the encoding of a text file; None to find it. Files that are not text have none, and ignore it.
        member: the file in an archive, the sheet of a workbook or the list in a JSON file; None if there is one.
        columns: the mapping of columns, whose numbers say that delimited text or a sheet has no header, see
            :func:`~assay.datasets.readers.header.numbered_columns`.

    Raises:
        InputError: the file cannot be read; one line with file and row.
        OfflineError: *path* is an address and the network is forbidden.
        UnavailableError: an address cannot be reached, or it or a workbook needs a package that is not installed.
    """
    if isinstance(path, str) and is_address(path):
        check_no_member(path, member)
        return read_parquet(path, offline=offline)
    if not is_standard_input(path):
        return _read_local(Path(path), encoding, member, columns)
    content = local_path_of(path)
    return read_under_name(content, _STANDARD_INPUT_NAME, lambda file: _read_local(file, encoding, member, columns))


def read_under_name(content: Path, name: str, read: Callable[[Path], SourceTable]) -> SourceTable:
    """Return the rows of a temporary file; the table and messages have the name of the file that the user knows.

    Args:
        content: the path of the temporary file.
        name: the name that the user knows.
        read: a function that reads a file.

    Raises:
        InputError: the file cannot be read; the message names *name*.
    """
    try:
        source = read(content)
        return replace(source, name=name, notes=tuple(note.replace(str(content), name) for note in source.notes))
    except InputError as error:
        raise InputError(error.message.replace_text(str(content), name)) from None


def _is_readable_file(path: Path) -> bool:
    """Tell whether a path is a file in a format that can be read, by its name."""
    return path.is_file() and (path.suffix.lower() in SUFFIXES or is_packed(path))


def _read_local(path: Path, encoding: str | None, member: str | None, columns: Columns) -> SourceTable:
    """Return the rows of a file, or of the parts of a folder; the arguments are those of :func:`read_table_file`.

    Raises:
        InputError: the file is missing, empty or of an unknown format, or cannot be read.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
    """
    if path == Path():
        raise InputError(f"the name of a file is empty (or '.'); expected one that ends in {', '.join(SUFFIXES)}")
    try:
        check_regular_file(path)
        if path.is_dir():
            check_is_no_run(path)
            check_no_member(path, member)
            return read_parquet(path)
        file_format = SUFFIXES.get(path.suffix.lower())
        if file_format is None and not is_packed(path):
            raise InputError(
                f"{path}: expected a file that ends in {', '.join(SUFFIXES)}, as it is or compressed "
                f"({', '.join([*COMPRESSIONS, *ARCHIVES[:3]])})"
            )
        if path.stat().st_size == 0:
            raise InputError(f"{path}: the file is empty; expected a header and at least one row")
        check_content(path)
        if file_format is None:
            content = unpacked_file(path, member)
            member = None if is_archive(path) else member
            return read_under_name(content, str(path), lambda file: _read_local(file, encoding, member, columns))
        return read_format(path, file_format, encoding, member, columns)
    except FileNotFoundError:
        raise InputError(no_such_file(path, _is_readable_file)) from None
    except PermissionError:
        raise InputError(f"{path}: may not be read (permission denied)") from None
    except OSError as error:
        # for example, a cycle of symbolic links
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None


def read_format(
    path: Path,
    file_format: str,
    encoding: str | None = None,
    member: str | None = None,
    columns: Columns = None,
) -> SourceTable:
    """Return the rows of a file in a format of :data:`SUFFIXES`, whatever its name; see :func:`read_table_file`.

    Args:
        path: the path of the file.
        file_format: a value of :data:`SUFFIXES`.
        encoding: the encoding of its text; None to find it.
        member: the sheet of a workbook, or the key of a list in JSON; None if there is one.
        columns: the mapping of the user, which may say that there is no header.

    Raises:
        InputError: the file is damaged or has no rows, or its encoding is not known.
        MissingExtraError: it is a workbook, and openpyxl is not installed.
        OSError: it cannot be opened.
    """
    if file_format not in ("workbook", "json"):
        check_no_member(path, member)
    if file_format == "parquet":
        return read_parquet(path)
    if file_format == "inspect":
        return read_inspect_archive(path)
    if file_format == "workbook":
        return read_workbook(path, member, columns)
    content, note = utf8_file(path, encoding)
    if content != path:
        source = read_under_name(
            content, str(path), lambda file: read_format(file, file_format, "utf-8", member, columns)
        )
        return replace(source, notes=(*filter(None, [note]), *source.notes))
    if file_format == "jsonl":
        return read_lm_eval(path) if is_lm_eval(path) else read_jsonl(path)
    if file_format == "json":
        return read_json(path, member, columns)
    return read_delimited(
        path, delimiter=_DELIMITERS[file_format], quoted=file_format != "tab", may_differ=True, columns=columns
    )


def table_from_memory(data: Any, name: str = "data in memory") -> SourceTable:
    """Return data in memory as a table; *name* is its name in messages.

    The data is a list of dicts or tuples, a dict of lists, a DataFrame, an Arrow table or a Hugging Face dataset.
    Tuples are ``(reference, candidate)`` or ``(reference, candidate, label)``. Rows are counted from 0. The input is
    not changed.

    Raises:
        InputError: the data has another form or is empty; columns have duplicate names or unequal lengths, or are
            pandas columns whose rows have other names; or a text has half of a surrogate pair.
    """
    try:
        return _convert_from_memory(data, name)
    except UnicodeEncodeError as error:
        excerpt = ascii(error.object[max(0, error.start - 20) : error.start + 20])
        raise InputError(
            f"{name}: {excerpt} holds half of a surrogate pair, which is not a character; write the whole pair, or"
            " leave it out"
        ) from None


def _convert_from_memory(data: Any, name: str) -> SourceTable:
    """Return data in memory as a table; *name* is its name in messages.

    Raises:
        InputError: the data has no supported form or no rows, or its columns do not fit together.
        UnicodeEncodeError: a text has half of a surrogate pair.
    """
    misfits: dict[str, Misfit] = {}
    if isinstance(data, pa.Table):
        _check_unique_names(data.column_names, name)
        table = data
    # recognised by its module name, so that pandas need not be installed for the other forms
    elif type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
        table, misfits = _table_of_data_frame(data, name)
    elif holds_splits(data):
        splits = ", ".join(f"{split} ({_row_count_text(rows)})" for split, rows in data.items())
        raise InputError(f"{name}: holds the splits {splits}; pass one of them, such as data[{next(iter(data))!r}]")
    elif hasattr(data, "with_format") and hasattr(data, "column_names"):
        table = _table_of_hub_dataset(data, name)
    elif isinstance(data, Mapping):
        table, misfits = _table_of_mapping(data, name)
    elif isinstance(data, Sequence) and not isinstance(data, str | bytes):
        table, misfits = _table_of_rows(list(data), name)
    else:
        raise InputError(
            f"{name}: expected a dataset name, a file, a list of dicts or tuples, a dict of lists, a DataFrame, an"
            f" Arrow table or a Hugging Face dataset, not {type(data).__name__}"
        )
    if not table.num_rows:
        raise InputError(f"{name}: has no rows")
    # in the metadata, pandas and Hugging Face describe their own types, which do not fit the columns of a pairs table
    return SourceTable(table.replace_schema_metadata(None), name, first=0, misfits=misfits)


def holds_splits(data: Any) -> bool:
    """Tell whether data maps names to tables, such as a ``DatasetDict``, and so holds splits instead of one table."""
    if not isinstance(data, Mapping) or not data:
        return False
    return all(hasattr(value, "with_format") or hasattr(value, "columns") for value in data.values())


def _row_count_text(rows: Any) -> str:
    if not hasattr(rows, "__len__"):
        return "streamed"
    return "1 row" if len(rows) == 1 else f"{len(rows):,} rows"


def _table_of_data_frame(data: Any, name: str) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return a pandas DataFrame as a table, and by column the first value that cannot be read as text.

    Raises:
        InputError: two columns have the same name.
    """
    column_names = [str(column_name) for column_name in data.columns]
    _check_unique_names(column_names, name)
    columns: dict[str, pa.Array] = {}
    misfits: dict[str, Misfit] = {}
    for index, column_name in enumerate(column_names):
        columns[column_name], misfit = _series_as_arrow(data.iloc[:, index])
        if misfit is not None:
            misfits[column_name] = misfit
    return pa.table(columns), misfits


def _table_of_hub_dataset(data: Any, name: str) -> pa.Table:
    """Return a Hugging Face dataset as a table.

    Raises:
        InputError: the dataset is streamed.
    """
    if not hasattr(data, "__len__"):
        raise InputError(f"{name}: is a streamed dataset; load it without streaming=True")
    if not len(data):
        # not sliced, since an empty dataset may have no Arrow table to slice
        return pa.table({column_name: [] for column_name in data.column_names})
    return data.with_format("arrow")[:]


def _table_of_mapping(data: Mapping[Any, Any], name: str) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return a dict of columns of equal length as a table, and by column the first value that cannot be read as text.

    Raises:
        InputError: columns have duplicate names or unequal lengths, or are pandas columns whose rows have other names.
    """
    _check_unique_names([str(column_name) for column_name in data], name)
    indexes = {str(column_name): values.index for column_name, values in data.items() if hasattr(values, "iloc")}
    first_name = next(iter(indexes), "")
    for column_name, index in indexes.items():
        # columns of unequal length are refused below, whatever their index
        if len(index) == len(indexes[first_name]) and not index.equals(indexes[first_name]):
            # pandas would join them by their index, others by their order
            raise InputError(
                f"{name}: the columns {first_name!r} and {column_name!r} have rows of another index or order; pass a"
                " DataFrame, or columns with .reset_index(drop=True)"
            )
    columns = {str(column_name): list(values) for column_name, values in data.items()}
    lengths = {column_name: len(values) for column_name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        length_texts = ", ".join(f"{column_name}: {length}" for column_name, length in lengths.items())
        raise InputError(f"{name}: columns of unequal length ({length_texts})")
    return table_of_columns(columns)


def _check_unique_names(names: Sequence[str], where: str) -> None:
    duplicate = first_repeated(names)
    if duplicate is not None:
        raise InputError(f"{where}: two columns are called {duplicate!r}; rename one")


def _table_of_rows(rows: list[Any], name: str) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return a list of dicts or of tuples as a table, and by column the first value that cannot be read as text.

    Raises:
        InputError: there are no rows, a dict has two keys with the same text, or the rows are neither dicts nor tuples
            of one length, 2 or 3.
    """
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return _table_of_tuples(rows, name)
    for row in rows:
        # only keys of other types can collide as texts: 1 and "1"
        if not all(isinstance(key, str) for key in row):
            _check_unique_names([str(key) for key in row], name)
    return table_of_records([{str(key): cell for key, cell in row.items()} for row in rows], column_of)


def _table_of_tuples(rows: list[Any], name: str) -> tuple[pa.Table, dict[str, Misfit]]:
    """Return rows (reference, candidate[, label]) as a table, and by column the first value that is not text.

    Raises:
        InputError: there are no rows, or they are not tuples of one length, 2 or 3.
    """
    for index, row in enumerate(rows):
        is_pair = isinstance(row, Sequence) and not isinstance(row, str) and len(row) in (2, 3)
        if not is_pair or len(row) != len(rows[0]):
            raise InputError(
                f"{name}, row {index}: expected (reference, candidate) or (reference, candidate, label) in every row;"
                ' columns go in as a dict, {"reference": [...], "candidate": [...], "label": [...]}'
            )
    if not rows:
        raise InputError(f"{name}: has no rows")
    columns = [list(cells) for cells in zip(*rows, strict=True)]
    # not strict, since the label may be absent
    return table_of_columns(dict(zip(("reference", "candidate", "label"), columns, strict=False)))


def _series_as_arrow(series: Any) -> tuple[pa.Array, Misfit | None]:
    """Return a pandas column as an Arrow array, and its first value that cannot be read as text, None without one.

    A column of mixed types becomes text; only such a column is searched for that value.
    """
    try:
        return pa.array(series, from_pandas=True), None
    except (pa.ArrowException, TypeError, ValueError):
        # value != value is true only for NaN, which pandas uses for a missing cell
        cells = [None if cell is None or cell != cell else cell for cell in series.tolist()]
        return column_of(cells), misfit_of(cells)
