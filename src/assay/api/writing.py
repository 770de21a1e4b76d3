"""Writers of tables, whose file extension selects the format, and checks of what they may overwrite."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.folder import check_writable
from assay.common.messages import Setting
from assay.common.numbers import none_if_nan
from assay.common.output import atomic_write, escape_formula, write_rows
from assay.common.tables import PAIR_COLUMNS
from assay.datasets import Pairs, read_table_file
from assay.datasets.convert import convert_table
from assay.datasets.readers.jsonl import json_lines
from assay.datasets.reading import Reading
from assay.exceptions import InputError
from assay.metrics import MetricName
from assay.metrics.registry import registry

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
#: The number of rows that are held as Python objects at a time.
_BLOCK_ROWS = 8192


def check_output_path(source_file: Path, out: Path) -> None:
    """Raise InputError if *out* has an unknown extension, is *source_file* or a folder, or cannot be written."""
    if out.suffix.lower() not in _FORMATS:
        raise InputError(f"{out}: the name must end in {', '.join(_FORMATS)}")
    try:
        is_same_file = out.samefile(source_file)
    except (FileNotFoundError, NotADirectoryError):
        is_same_file = False
    except OSError as error:
        # for example symbolic links in a loop
        raise InputError(f"{error.filename or out}: cannot be opened ({error.strerror})") from None
    if is_same_file:
        raise InputError(f"{out}: is the file that is read; give ", Setting("out"), " another name")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; give ", Setting("out"), " another name")
    check_writable(out)


def check_existing_output(
    out: Path, pairs: Pairs, columns: Sequence[str], reading: Reading, *, spreadsheet: bool = False
) -> None:
    """Raise InputError if *out* exists and is anything but scores of the same pairs, since it would be replaced.

    Args:
        out: the path of the scores; it need not exist.
        pairs: the pairs to score; the file may hold fewer or more rows.
        columns: the names of all columns in the file of the pairs, and of those that are added besides scores.
        reading: how that file is read (columns, separator, labels).
        spreadsheet: whether texts in *out* that look like a formula begin with ``'``.
    """
    if out.exists() and not _has_scores_of_pairs(out, pairs, columns, reading, spreadsheet):
        raise InputError(
            f"{out}: holds something else than scores of these pairs; give ",
            Setting("out"),
            " another name or remove it",
        )


def _has_scores_of_pairs(out: Path, pairs: Pairs, columns: Sequence[str], reading: Reading, spreadsheet: bool) -> bool:
    """Tell whether *out* has the texts and labels of these pairs, and scores of known metrics as its other columns.

    It has not if it cannot be read, or has no other column. If it has fewer or more rows than there are pairs, only the
    rows that both have are compared. The arguments are those of :func:`check_existing_output`.
    """
    try:
        source = read_table_file(out)
        score_names = [name for name in source.table.column_names if name not in columns]
        for name in score_names:
            registry().find(MetricName.parse(name).name)
        existing = convert_table(source, reading, allow_unlabelled=True).table
    except InputError:
        return False
    row_count = min(len(pairs), existing.num_rows)
    for name in PAIR_COLUMNS:
        if name == "pair_id":  # derived from the row number, which formats count differently
            continue
        existing_column = existing.column(name).slice(0, row_count)
        column = pairs.table.column(name).slice(0, row_count)
        if existing_column.equals(column):
            continue
        if not spreadsheet:
            return False
        expected_cells = [_spreadsheet_cell_as_read(cell) for cell in column.to_pylist()]
        if existing_column.to_pylist() != expected_cells:
            return False
    return bool(score_names)


def _spreadsheet_cell_as_read(value: Any) -> Any:
    """Return a text as a table for spreadsheets has it; of the answers that stood in one cell, the first one so."""
    if isinstance(value, list) and value:
        return [escape_formula(value[0]), *value[1:]]
    return _format_spreadsheet_cell(value)


def write_table(table: pa.Table, out: Path, *, spreadsheet: bool = False) -> None:
    """Write a table to a temporary file and rename it to *out*, whose extension selects the format.

    In CSV and TSV a missing value is an empty cell, and a list is written as JSON.

    Args:
        table: the table to write.
        out: the output path, ending in .csv, .tsv, .jsonl or .parquet; missing parent folders are made.
        spreadsheet: whether texts in CSV and TSV that look like a formula get a leading ``'``.

    Raises:
        InputError: the file cannot be written.
    """
    suffix = out.suffix.lower()
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        _write_atomically(out, lambda temporary: pq.write_table(table, temporary))
    elif suffix == ".jsonl":
        batches = table.to_batches(max_chunksize=_BLOCK_ROWS)
        lines = (_json_text(row) for batch in batches for row in batch.to_pylist())
        _write_atomically(out, lambda temporary: _write_lines(temporary, lines))
    else:
        delimiter = "\t" if suffix == ".tsv" else ","
        format_cell = _format_spreadsheet_cell if spreadsheet else _format_csv_cell
        _write_atomically(out, lambda temporary: _write_delimited(table, temporary, delimiter, format_cell))


def write_scored_lines(
    file: Path, scores: Mapping[str, NDArray[np.float64] | list[str]], row_count: int, out: Path
) -> None:
    """Copy the first objects of a JSONL file unchanged, each with its scores as further keys.

    Args:
        file: a file with one JSON object per line; blank lines are left out.
        scores: the scores or texts by the key to write, each of shape (row_count,); NaN is written as null. None of
            these keys occurs in the objects, which the caller has checked.
        row_count: the number of objects to copy.
        out: the path of the output.

    Raises:
        InputError: the file cannot be written.
    """

    def scored_lines() -> Iterator[str]:
        """Yield the line of each object, with its scores before the closing brace."""
        # not strict, since only the first objects of the file may have been scored
        for row, (_, line) in zip(range(row_count), json_lines(file), strict=False):
            row_scores = {name: _json_value(values[row]) for name, values in scores.items()}
            if not row_scores:
                yield line
                continue
            # spliced into the text instead of re-serialised, since 1.50, large integers and escapes would change; a
            # scored object is never empty, so that a comma always fits
            scores_text = _json_text(row_scores)
            yield f"{line[:-1].rstrip()}, {scores_text[1:]}"

    _write_atomically(out, lambda temporary: _write_lines(temporary, scored_lines()))


def _json_value(value: str | np.float64) -> str | float | None:
    if isinstance(value, str):
        return value
    return none_if_nan(value)


def _write_atomically(out: Path, write: Callable[[Path], None]) -> None:
    """Let a function write a temporary file, then rename that to *out*, so that *out* is never incomplete.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(out) as temporary:
            write(temporary)
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise InputError(f"{out}: cannot be written ({reason}); give ", Setting("out"), " another place") from error


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    """Write lines, which have no line ends, as UTF-8, each followed by a line feed."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_delimited(table: pa.Table, path: Path, delimiter: str, format_cell: Callable[[Any], Any]) -> None:
    """Write a table as delimited text with a header; *format_cell* returns a name or value as it is written."""
    with path.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, [map(format_cell, table.column_names)], delimiter=delimiter)
        for batch in table.to_batches(max_chunksize=_BLOCK_ROWS):
            columns = [column.to_pylist() for column in batch.columns]
            rows = zip(*(map(format_cell, column) for column in columns), strict=True)
            write_rows(file, rows, delimiter=delimiter)


def _format_csv_cell(value: Any) -> Any:
    """Return a list or dict as JSON text, and any other value unchanged."""
    return _json_text(value) if isinstance(value, list | dict) else value


def _format_spreadsheet_cell(value: Any) -> Any:
    return escape_formula(_format_csv_cell(value))


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
