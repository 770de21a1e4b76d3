"""Readers of results over seeds: tables, and the folders that a training with several seeds writes."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.common.tables import first_repeated
from assay.common.visible import visible_text
from assay.exceptions import InputError
from assay.paths import path_exists

#: The file that a training writes into the folder of each seed.
RESULTS = "results.json"
_COLUMNS = ("system", "dataset", "seed", "value")


@dataclass(frozen=True)
class Row:
    """One result of a system.

    Attributes:
        system, dataset, statistic, seed: the names; the statistic is "value" if the file does not name it.
        value: the result, finite; higher is better.
        where: the file and row, for messages.
    """

    system: str
    dataset: str
    statistic: str
    seed: str
    value: float
    where: str


def read_results(results: Sequence[str | Path]) -> tuple[list[Row], list[str]]:
    """Read results from tables and folders.

    A table is JSONL if its name ends in ``.jsonl`` or ``.ndjson``, else CSV. It has the columns system, dataset, seed,
    value and optionally statistic. A folder holds ``seed-N/results.json`` files, or a single ``results.json``, which
    counts as one seed with the name of the folder. Each is an object whose ``scores`` list objects with dataset,
    statistic and value. ``NAME=FOLDER`` names the system, which otherwise has the name of the folder; folders with the
    same name are seeds of one system.

    Returns:
        The results in the order of the files, and one note per seed folder without results.

    Raises:
        InputError: a file or folder is missing or empty, a table has a name before it, a file is not in its format, a
            column is missing or appears twice, a cell is empty or not a number, or a result is duplicate.
    """
    rows: list[Row] = []
    notes: list[str] = []
    for argument in results:
        name, path = _split_argument(str(argument))
        if path.is_dir():
            rows += _read_run_folder(path, name or path.resolve().name, notes)
        elif not path.is_file():
            raise InputError(f"{path}: there is no such file or folder")
        elif name:
            raise InputError(f"{argument}: NAME= goes before a folder; a table names its systems in the column system")
        else:
            rows += _read_table(path)
    _check_duplicates(rows)
    return rows, notes


def _check_duplicates(rows: Sequence[Row]) -> None:
    """Raise InputError for a second result of a system by the same statistic on the same dataset for the same seed."""
    location_of: dict[tuple[str, str, str, str], str] = {}
    for row in rows:
        key = (row.system, row.dataset, row.statistic, row.seed)
        if key in location_of:
            raise InputError(
                f"{row.where}: {row.system!r} has a second {row.statistic} on {row.dataset!r} for seed {row.seed!r}, "
                f"after {location_of[key]}; keep one of them"
            )
        location_of[key] = row.where


def _split_argument(argument: str) -> tuple[str, Path]:
    """Return the name and the path of an argument NAME=PATH or PATH.

    The name is empty if *argument* has none, begins with ``=``, or is itself the path of an existing file or folder;
    the path is then the whole argument.
    """
    name, equals, path = argument.partition("=")
    if not equals or not name or path_exists(argument):
        return "", Path(argument)
    return name, Path(path)


def _read_table(path: Path) -> Iterator[Row]:
    """Yield the results of a JSONL or CSV table; raise InputError if it has none or is not UTF-8."""
    read_rows = _read_jsonl if path.suffix.lower() in (".jsonl", ".ndjson") else _read_csv
    has_rows = False
    try:
        for where, cells in read_rows(path):
            has_rows = True
            yield _parse_row(where, cells)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    if not has_rows:
        raise InputError(f"{path}: has no rows; it needs the columns {', '.join(_COLUMNS)}")


def _read_csv(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the location of each row of a CSV file, for messages, and its cells by column.

    Rows are numbered as in the file: the head is row 1, and blank rows count although they are skipped.

    Raises:
        InputError: the file is not valid CSV, a column is missing or appears twice, or a row has too many or too few
            cells.
    """
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, strict=True)
        try:
            rows = ((number, cells) for number, cells in enumerate(reader, start=1) if cells)
            _, heads = next(rows, (0, []))
            missing = [name for name in _COLUMNS if name not in heads]
            if missing:
                raise InputError(
                    f"{path}: has no column {', '.join(missing)}; it needs {', '.join(_COLUMNS)} and may have statistic"
                )
            duplicate = first_repeated(heads)
            if duplicate is not None:
                raise InputError(f"{path}: the column {duplicate!r} appears twice; rename one")
            for number, cells in rows:
                if len(cells) != len(heads):
                    raise InputError(f"{path}: row {number}: has {len(cells)} cells; the header has {len(heads)}")
                yield f"{path}: row {number}", dict(zip(heads, cells, strict=True))
        except csv.Error as error:
            raise InputError(f"{path}: line {reader.line_num}: is not valid CSV ({error})") from error


def _read_jsonl(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the location of each line of a JSONL file, for messages, and the object in it; blank lines are skipped.

    Raises:
        InputError: a line is not valid JSON, or not an object.
    """
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            where = f"{path}: line {number}"
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{where}: is not valid JSON ({error}); write one object a line") from error
            if not isinstance(record, dict):
                raise InputError(f"{where}: should be a JSON object with {', '.join(_COLUMNS)}")
            yield where, record


def _read_run_folder(folder: Path, system: str, notes: list[str]) -> Iterator[Row]:
    """Yield the results of all seeds of a system; append a note for each seed folder without results to *notes*.

    Without seed folders, the folder's own results count as one seed with the name of the folder.

    Raises:
        InputError: the folder has neither seed folders nor results of its own, or a file of results is invalid.
    """
    # shorter names first, so that seed-10 comes after seed-9
    seed_folders = sorted(
        (path for path in folder.glob("seed-*") if path.is_dir()), key=lambda path: (len(path.name), path.name)
    )
    if not seed_folders:
        if not (folder / RESULTS).is_file():
            raise InputError(
                f"{folder}: has neither seed-0/{RESULTS} nor {RESULTS}; name the folder that a training with several "
                "seeds wrote"
            )
        yield from _read_scores(folder / RESULTS, system, folder.resolve().name)
        return
    for seed_folder in seed_folders:
        if (seed_folder / RESULTS).is_file():
            yield from _read_scores(seed_folder / RESULTS, system, seed_folder.name.removeprefix("seed-"))
        else:
            notes.append(f"{seed_folder}: has no {RESULTS}; that seed of {system} is left out")


def _read_scores(path: Path, system: str, seed: str) -> Iterator[Row]:
    """Yield the results in the ``results.json`` of one seed; raise InputError if it has none or is invalid."""
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not valid JSON ({error}); train that seed again") from error
    scores = contents.get("scores") if isinstance(contents, dict) else None
    if not isinstance(scores, list) or not all(isinstance(score, dict) for score in scores) or not scores:
        raise InputError(
            f'{path}: should hold a JSON object with "scores", a list of objects with dataset, statistic and value'
        )
    for number, score in enumerate(scores, start=1):
        yield _parse_row(f"{path}: score {number}", {**score, "system": system, "seed": seed})


def _parse_row(where: str, cells: Mapping[str, Any]) -> Row:
    """Return one result from the cells of a row; without a cell of the statistic, that is ``value``.

    Args:
        where: the file and row, for messages.
        cells: the cells by column; those of JSON may have any type.

    Raises:
        InputError: a name is empty or neither text nor a whole number, or the value is no finite number.
    """
    names = {}
    for column in ("system", "dataset", "seed"):
        cell = cells.get(column)
        # JSON has numbers and booleans as well; a bool is an int for isinstance
        names[column] = _parse_name(cell) if isinstance(cell, str | int) and not isinstance(cell, bool) else ""
        if not names[column]:
            raise InputError(f"{where}: {column} is {cell!r}; write a name or a whole number")
    return Row(
        system=names["system"],
        dataset=names["dataset"],
        statistic=_parse_name(cells.get("statistic") or "") or "value",
        seed=names["seed"],
        value=_parse_number(where, cells.get("value")),
        where=where,
    )


def _parse_name(cell: object) -> str:
    """Return a name on one line, with invisible characters spelt out."""
    return visible_text(" ".join(str(cell).split()))


def _parse_number(where: str, cell: object) -> float:
    """Return a cell as a finite number; raise InputError, with *where* as location, if it is not such a number."""
    # NaN stands for anything that is not a number, so that one check below rejects all of them
    value = math.nan
    if isinstance(cell, str | int | float) and not isinstance(cell, bool):
        try:
            value = float(cell)
        except (ValueError, OverflowError):
            # an int may be too large for a float
            value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: value is {cell!r}, no finite number; write one such as .81, or leave that seed out")
    return value
