"""Reads the STS Benchmark: the English files (without quoting) and their German translation (with quoting)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.readers.base import OPTIONAL_FILE, ReaderResult, number, pairs_of, takes
from assay.exceptions import InputError


def _read_cells(path: Path) -> list[list[str]]:
    """Return the cells of each line, split at \\n and tabs only, since texts may contain quotes and other line ends.

    Raises:
        InputError: a line does not have 7 or 9 cells.
    """
    with path.open(encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\r\n").split("\t") for line in lines]
    for row_number, row in enumerate(rows, 1):
        if len(row) not in (7, 9):
            raise InputError(f"{path}, row {row_number}: has {len(row)} cells; expected 7, or 9 with attribution")
    return rows


def genre_of(text: str) -> str:
    """Return the genre, with ``main-forum`` (in train) spelled ``main-forums`` as in the other splits."""
    return "main-forums" if text == "main-forum" else text


@takes()
def read_stsb(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of a file of the STS benchmark: sentence 1 is the reference, sentence 2 the candidate.

    The label is the score from 0 to 5, and the genre is the subset. A line has the cells genre, file, year, sid, score,
    sentence 1 and sentence 2, which the sources of the two sentences may follow.

    Raises:
        InputError: a line does not have 7 or 9 cells, or a score is not a number.
    """
    (path,) = files.values()
    rows = _read_cells(path)
    return ReaderResult(
        pairs_of(
            {
                "pair_id": [str(row_number) for row_number in range(1, len(rows) + 1)],
                "reference": [row[5].strip() for row in rows],
                "candidate": [row[6].strip() for row in rows],
                "label": [number(path, row_number, "score", row[4]) for row_number, row in enumerate(rows, 1)],
                "subset": [genre_of(row[0]) for row in rows],
                "genre_file": [row[1] for row in rows],
                "year": [row[2] for row in rows],
                "sid": [row[3] for row in rows],
            }
        )
    )


@takes(genre_from=OPTIONAL_FILE)
def read_stsb_de(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of the translation, a CSV file of sentence 1, sentence 2 and score without a header.

    The option ``genre_from`` names the English file. If it is there, the genre of its row is the subset; else a note
    says that there is none.

    Raises:
        InputError: a row does not have 3 cells, a score is not a number, or the English file has other scores.
    """
    english_file = str(options.get("genre_from", ""))
    path = next(path for name, path in files.items() if name != english_file)
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.reader(lines, strict=True))
    for row_number, row in enumerate(rows, 1):
        if len(row) != 3:
            raise InputError(f"{path}, row {row_number}: has {len(row)} cells; expected 3")
    columns: dict[str, Any] = {
        "pair_id": [str(row_number) for row_number in range(1, len(rows) + 1)],
        "reference": [row[0].strip() for row in rows],
        "candidate": [row[1].strip() for row in rows],
        "label": [number(path, row_number, "score", row[2]) for row_number, row in enumerate(rows, 1)],
    }
    if english_file not in files:
        return ReaderResult(pairs_of(columns), ("no subset: the genre is in the English files (stsb)",))
    english_rows = _read_cells(files[english_file])
    if [float(row[4]) for row in english_rows] != columns["label"]:
        raise InputError(f"{path}: its labels are not those of {files[english_file]}, row by row")
    columns["subset"] = [genre_of(row[0]) for row in english_rows]
    return ReaderResult(pairs_of(columns))
