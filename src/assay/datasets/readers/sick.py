"""Reads SICK in its two publications, which differ in the order of columns and in line ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.readers.base import TEXT, ReaderResult, number, pairs_of, takes
from assay.datasets.readers.delimited import read_delimited
from assay.exceptions import InputError, unknown_name


@takes(part=TEXT)
def read_sick(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of a file of SICK: sentence A is the reference, sentence B the candidate.

    The label is the relatedness score, and the column ``entailment`` has the entailment label. If one file holds all
    splits, the option ``part`` selects the rows with this value of ``SemEval_set``.

    Raises:
        InputError: a column is missing, or a score is not a number.
    """
    (path,) = files.values()
    table = read_delimited(path, delimiter="\t", quoted=False).table
    column_names = table.column_names
    entailment_names = ("entailment_judgment", "entailment_label")
    entailment_column = next((name for name in entailment_names if name in column_names), None)
    for name in ("pair_ID", "sentence_A", "sentence_B", "relatedness_score"):
        if name not in column_names:
            raise InputError(unknown_name(f"{path}: has no column", name, column_names))
    if entailment_column is None:
        raise InputError(f"{path}: has no column of entailment labels; it has {', '.join(column_names)}")
    row_indices = list(range(table.num_rows))
    part = options.get("part")
    if part:
        part_of_row = table.column("SemEval_set").to_pylist()
        row_indices = [index for index in row_indices if part_of_row[index] == part]
    cells = {
        name: table.column(name).to_pylist()
        for name in ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", entailment_column)
    }
    return ReaderResult(
        pairs_of(
            {
                "pair_id": [cells["pair_ID"][index] for index in row_indices],
                "reference": [cells["sentence_A"][index].strip() for index in row_indices],
                "candidate": [cells["sentence_B"][index].strip() for index in row_indices],
                "label": [
                    number(path, index + 2, "relatedness_score", cells["relatedness_score"][index])
                    for index in row_indices
                ],
                "entailment": [cells[entailment_column][index] for index in row_indices],
            }
        )
    )
