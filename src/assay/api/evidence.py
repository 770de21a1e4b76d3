"""Runs from folders and files with scores, and the reports on them."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from assay.api.files import agree_file
from assay.datasets.columns import MissingColumnsError
from assay.datasets.files import is_table_file
from assay.errors import InputError
from assay.reports.folder import RunFolder, read_run

__all__ = ["open_runs"]


@contextmanager
def open_runs(paths: Sequence[str | Path]) -> Iterator[list[RunFolder]]:
    """Give runs to report on: run folders, or files with a label and score columns, as ``assay agree`` reads them.

    Args:
        paths: of either kind. A file becomes a run for as long as the context lasts; one whose columns have other names
            goes through ``assay agree FILE --columns … --out RUN`` first.

    Raises:
        InputError: a path is neither, or cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        yield [_open(Path(path), Path(scratch) / str(number)) for number, path in enumerate(paths)]


def _open(path: Path, scratch: Path) -> RunFolder:
    if path.is_dir() or not is_table_file(path):
        return read_run(path)
    folder = scratch / path.stem
    try:
        agree_file(path, resamples=0, out=folder)
    except MissingColumnsError as error:
        line = shlex.join(["assay", "agree", str(path), "--columns", error.columns, "--out", "RUN"])
        raise InputError(
            f"{error.problem} A report takes the names as they are; this makes a run of the file: {line}"
        ) from error
    return replace(read_run(folder), source=path)
