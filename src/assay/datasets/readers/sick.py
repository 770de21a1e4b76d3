"""Reads SICK in its two publications, which differ in the order of columns and in line ends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.readers.base import TEXT, ReaderResult, number, pairs_of, takes
from assay.datasets.readers.delimited import read_delimited
from assay.errors import InputError, unknown_name


@takes(part=TEXT)
def read_sick(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Read the columns ``pair_ID, sentence_A, sentence_B, relatedness_score`` and the entailment label by name.

    If one file holds all splits, the option ``part`` selects the rows with this value of ``SemEval_set``.

    Raises:
        InputError: a column is missing, or a score is not a number.
    """
    ((_, path),) = files.items()
    table = read_delimited(path, delimiter="\t", quoted=False).table
    names = table.column_names
    entailment = next((n for n in ("entailment_judgment", "entailment_label") if n in names), None)
    for name in ("pair_ID", "sentence_A", "sentence_B", "relatedness_score"):
        if name not in names:
            raise InputError(unknown_name(f"{path}: has no column", name, names))
    if entailment is None:
        raise InputError(f"{path}: has no column of entailment labels; it has {', '.join(names)}")
    part = options.get("part")
    parts = table.column("SemEval_set").to_pylist() if part else []
    kept = [i for i, value in enumerate(parts) if value == part] if part else list(range(table.num_rows))
    cells = {
        n: table.column(n).to_pylist() for n in ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", entailment)
    }
    return ReaderResult(
        pairs_of(
            {
                "pair_id": [cells["pair_ID"][i] for i in kept],
                "reference": [cells["sentence_A"][i].strip() for i in kept],
                "candidate": [cells["sentence_B"][i].strip() for i in kept],
                "label": [number(path, i + 2, "relatedness_score", cells["relatedness_score"][i]) for i in kept],
                "entailment": [cells[entailment][i] for i in kept],
            }
        )
    )
