"""Reads STR-2022: semantic textual relatedness, with both sentences of a pair in one cell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.readers.base import ReaderResult, number, pairs_of, takes
from assay.datasets.readers.delimited import read_delimited
from assay.exceptions import InputError, unknown_name


@takes()
def read_str(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of a CSV file with the columns PairID, Text (two sentences separated by a newline) and Score.

    The first sentence is the reference. If there is a column SourceID, it is the subset. Further columns keep their
    names.

    Raises:
        InputError: a column is missing, a text does not have two sentences, or a score is not a number.
    """
    (path,) = files.values()
    source = read_delimited(path, delimiter=",")
    names = source.table.column_names
    for name in ("PairID", "Text", "Score"):
        if name not in names:
            raise InputError(unknown_name(f"{path}: has no column", name, names))
    cells = {name: source.table.column(name).to_pylist() for name in names}
    texts = []
    for row, text in enumerate(cells["Text"]):
        sentences = [sentence.strip() for sentence in text.split("\n") if sentence.strip()]
        if len(sentences) != 2:
            raise InputError(
                f"{source.location(row)}, column Text: holds {len(sentences)} sentences; expected two with a newline"
                " between"
            )
        texts.append(sentences)
    columns: dict[str, Any] = {
        "pair_id": cells["PairID"],
        "reference": [first for first, _ in texts],
        "candidate": [second for _, second in texts],
        "label": [number(path, source.number(row), "Score", text) for row, text in enumerate(cells["Score"])],
    }
    if "SourceID" in cells:
        columns["subset"] = cells["SourceID"]
    for name in names:
        if name not in ("PairID", "Text", "Score", "SourceID"):
            columns[name] = cells[name]
    return ReaderResult(pairs_of(columns))
