"""Whole small trainings, made once a session: tests read what they left, and compare resumed ones with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.training import mid_run, pair_run, training_run, tune_run
from tests.training.training_run import made_pairs


@dataclass(frozen=True)
class Whole:
    """A finished training.

    Attributes:
        out: its output folder, which no test may change.
        files: the data: training, development and test pairs, or frames and test pairs.
        lines: what was shown as it went.
        results: what it returned.
    """

    out: Path
    files: tuple[str, ...]
    lines: list[str]
    results: dict[str, Any]


def write_pairs(path: Path, number: int, seed: int, **changes: object) -> str:
    """Write so many pairs with graphs to a Parquet file and return its path; *seed* decides the texts."""
    pq.write_table(pa.Table.from_pylist([row | changes for row in made_pairs(number, seed)]), path)
    return str(path)


def train_whole(recipe: str, base: Path, folder: Path) -> None:
    """Train by a recipe with the settings that its tests leave as they are; ``folder / "out"`` is the output."""
    sizes = {"train": (40, 1), "dev": (20, 2), "test": (20, 3)}
    files = tuple(write_pairs(folder / f"{name}.parquet", *size) for name, size in sizes.items())
    out = folder / "out"
    results: dict[str, Any] = {}
    if recipe == "s3bert":
        progress = training_run.train(str(base), out, *files)
    elif recipe == "mid-tuning":
        files = mid_run.write_frames(folder / "frames.jsonl", 66), files[2]
        progress, results = mid_run.tune_on(base, out, *files)
    elif recipe == "tune":
        progress, results = tune_run.search_on(base, out, files, trials=4, seeds=2)
    else:
        progress, results = pair_run.train_on(recipe, base, out, *files)
    record = {"files": files, "lines": progress.lines, "results": results}
    (folder / "record.json").write_text(json.dumps(record))


def read_whole(folder: Path) -> Whole:
    """Return what :func:`train_whole` left in a folder."""
    record = json.loads((folder / "record.json").read_text())
    return Whole(folder / "out", tuple(record["files"]), record["lines"], record["results"])
