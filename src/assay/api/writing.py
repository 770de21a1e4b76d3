"""Tables written to a file whose ending says the format, and what it may replace."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.folder import check_writable
from assay.datasets import Pairs, read_table_file
from assay.datasets.convert import convert
from assay.datasets.readers.jsonl import json_lines
from assay.datasets.reading import Reading
from assay.errors import InputError
from assay.metrics import MetricName
from assay.metrics.registry import registry
from assay.output import shown_by_spreadsheet, write_rows, written_whole
from assay.tables import PAIR_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")


def check_out(file: Path, out: Path) -> None:
    """Raise InputError where what is read from *file* cannot be written to *out*, or would replace it."""
    if out.suffix.lower() not in _FORMATS:
        raise InputError(f"{out}: the name must end in {', '.join(_FORMATS)}")
    try:
        same = out.samefile(file)
    except (FileNotFoundError, NotADirectoryError):
        same = False
    except OSError as error:
        # such as links that lead to each other
        raise InputError(f"{error.filename or out}: cannot be opened ({error.strerror})") from None
    if same:
        raise InputError(f"{out}: is the file that is read; give `out` another name")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; give `out` another name")
    check_writable(out)


def check_held(out: Path, pairs: Pairs, have: list[str], reading: Reading, *, spreadsheet: bool = False) -> None:
    """Raise InputError where *out* holds anything but scores of the same pairs: it would be lost.

    Args:
        out: where scores are to be written; it need not exist.
        pairs: what is scored; the file may hold fewer or more of their rows.
        have: the columns that these were read from.
        reading: how they were read.
        spreadsheet: whether texts that begin as a formula have a ``'`` in *out*.
    """
    if out.exists() and not _holds_scores(out, pairs, have, reading, spreadsheet):
        raise InputError(
            f"{out}: holds something else than scores of these pairs; give `out` another name or remove it"
        )


def _holds_scores(out: Path, pairs: Pairs, have: list[str], reading: Reading, spreadsheet: bool) -> bool:
    try:
        source = read_table_file(out)
        added = [name for name in source.table.column_names if name not in have]
        for name in added:
            registry().find(MetricName.parse(name).name)
        held = convert(source, reading, allow_unlabelled=True).table
    except InputError:
        return False
    rows = min(len(pairs), held.num_rows)
    for name in PAIR_COLUMNS:
        if name == "pair_id":  # the number of the row, which is not that of a file of another format
            continue
        there, here = held.column(name).slice(0, rows), pairs.table.column(name).slice(0, rows)
        if there.equals(here):
            continue
        if not spreadsheet or there.to_pylist() != list(map(_shown_cell, here.to_pylist())):
            return False
    return bool(added)


def write_table(table: pa.Table, out: Path, *, spreadsheet: bool = False) -> None:
    """Write a table under a temporary name and rename it; the ending of *out* says the format.

    In CSV and TSV a value that is missing is an empty cell, and a list is written as JSON.

    Args:
        table: what to write.
        out: where to.
        spreadsheet: whether texts that begin as a formula get a ``'`` in CSV and TSV.

    Raises:
        InputError: it cannot be written.
    """
    ending = out.suffix.lower()
    if ending == ".parquet":
        import pyarrow.parquet as pq

        _put(out, lambda scratch: pq.write_table(table, scratch))
    elif ending == ".jsonl":
        _put(out, lambda scratch: _write_lines(scratch, (_dumped(row) for row in _rows(table))))
    else:
        delimiter = "\t" if ending == ".tsv" else ","
        cell = _shown_cell if spreadsheet else _cell
        _put(out, lambda scratch: _write_delimited(table, scratch, delimiter, cell))


def write_scored_lines(file: Path, scores: Mapping[str, NDArray[np.float64]], n: int, out: Path) -> None:
    """Write the first n objects of a JSONL file as they are, each with its scores as further keys.

    Args:
        file: one JSON object a line; blank lines are left out.
        scores: by the key to write, shape (n,); NaN is written as null.
        n: number of objects.
        out: where to.

    Raises:
        InputError: it cannot be written.
    """

    def lines() -> Iterator[str]:
        for place, (_, line) in zip(range(n), json_lines(file), strict=False):
            held = {name: None if np.isnan(values[place]) else float(values[place]) for name, values in scores.items()}
            # the text itself: 1.50, a large number or an escape would be another text once read and written
            yield f"{line[:-1].rstrip()}, {_dumped(held)[1:]}" if held else line

    _put(out, lambda scratch: _write_lines(scratch, lines()))


def _put(out: Path, write: Callable[[Path], None]) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(out) as scratch:
            write(scratch)
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise InputError(f"{out}: cannot be written ({why}); give `out` another place") from error


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_delimited(table: pa.Table, path: Path, delimiter: str, cell: Callable[[Any], Any]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, [map(cell, table.column_names)], delimiter=delimiter)
        for batch in table.to_batches(max_chunksize=8192):
            columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
            rows = zip(*(map(cell, column) for column in columns), strict=True)
            write_rows(file, rows, delimiter=delimiter)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=8192):
        yield from batch.to_pylist()


def _cell(value: Any) -> Any:
    return _dumped(value) if isinstance(value, list | dict) else value


def _shown_cell(value: Any) -> Any:
    return shown_by_spreadsheet(_cell(value))


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
