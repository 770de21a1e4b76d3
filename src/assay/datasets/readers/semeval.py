"""Reads SemEval STS 2012-2016: one input file and one gold file per source, aligned line by line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.datasets.readers.base import ReaderResult, number, pairs_of, takes
from assay.errors import InputError


@takes()
def read_sts(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Read each ``….input.SOURCE.txt`` with its ``….gs.SOURCE.txt``; the subset is SOURCE.

    A blank gold line is a pair that nobody scored: it is left out, and the lines stay aligned. Cells are
    divided by tabs with no quoting; the third and fourth of 2016 are attributions.
    """
    columns: dict[str, list[Any]] = {n: [] for n in ("pair_id", "reference", "candidate", "label", "subset")}
    notes: list[str] = []
    for name, path in files.items():
        if ".input." not in name:
            continue
        gold_path = files[name.replace(".input.", ".gs.")]
        source = name.rsplit(".input.", 1)[1].removesuffix(".txt").removeprefix("surprise.")
        lines, gold = _lines(path), _lines(gold_path)
        if len(lines) != len(gold):
            raise InputError(f"{gold_path}: has {len(gold)} lines; {path.name} has {len(lines)}")
        unscored = 0
        for row, (line, score) in enumerate(zip(lines, gold, strict=True), 1):
            if not score.strip():
                unscored += 1
                continue
            cells = line.split("\t")
            if len(cells) < 2:
                raise InputError(f"{path}, row {row}: has {len(cells)} cell; expected two sentences with a tab between")
            columns["pair_id"].append(f"{source}-{row}")
            columns["reference"].append(cells[0].strip())
            columns["candidate"].append(cells[1].strip())
            columns["label"].append(number(gold_path, row, "gold", score.strip()))
            columns["subset"].append(source)
        if unscored:
            notes.append(f"{source}: {unscored} of {len(lines)} pairs that nobody scored left out")
    return ReaderResult(pairs_of(columns), tuple(notes))


def _lines(path: Path) -> list[str]:
    """Return the lines of a file, split at \\n only; an empty piece after the last line end is dropped."""
    text = path.read_bytes().decode("utf-8")
    lines = text.split("\n")
    return [line.rstrip("\r") for line in (lines[:-1] if text.endswith("\n") else lines)]
