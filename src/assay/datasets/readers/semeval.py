"""The reader of SemEval STS 2012-2016: one input file and one gold file per source, aligned line by line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.readers.base import ReaderResult, number, pairs_of, takes
from assay.exceptions import InputError


@takes()
def read_sts(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return the pairs of each ``….input.SOURCE.txt`` with the labels in ``….gs.SOURCE.txt``; the subset is SOURCE.

    A blank gold line is a pair that nobody scored: it is left out with a note, and the lines stay aligned. Cells are
    separated by tabs without quoting; the third and fourth cells of 2016 are attributions and are not read.

    Raises:
        InputError: the two files differ in their numbers of lines, a line has a single cell, or a score is not a
            number.
    """
    columns: dict[str, list[Any]] = {"pair_id": [], "reference": [], "candidate": [], "label": [], "subset": []}
    notes: list[str] = []
    for name, path in files.items():
        if ".input." not in name:
            continue
        gold_path = files[name.replace(".input.", ".gs.")]
        # sources that the participants did not know in advance are called surprise.SOURCE in some file names
        source = name.rsplit(".input.", 1)[1].removesuffix(".txt").removeprefix("surprise.")
        lines, gold_lines = _read_lines(path), _read_lines(gold_path)
        if len(lines) != len(gold_lines):
            raise InputError(f"{gold_path}: has {len(gold_lines)} lines; {path.name} has {len(lines)}")
        unscored_count = 0
        for row, (line, score) in enumerate(zip(lines, gold_lines, strict=True), 1):
            if not score.strip():
                unscored_count += 1
                continue
            cells = line.split("\t")
            if len(cells) < 2:
                raise InputError(f"{path}, row {row}: has {len(cells)} cell; expected two sentences with a tab between")
            columns["pair_id"].append(f"{source}-{row}")
            columns["reference"].append(cells[0].strip())
            columns["candidate"].append(cells[1].strip())
            columns["label"].append(number(gold_path, row, "gold", score.strip()))
            columns["subset"].append(source)
        if unscored_count:
            notes.append(f"{source}: {unscored_count} of {len(lines)} pairs that nobody scored left out")
    return ReaderResult(pairs_of(columns), tuple(notes))


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a file, split at \\n only, since sentences may contain other line ends."""
    text = path.read_bytes().decode("utf-8")
    # without its last line end, which no further line follows
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
