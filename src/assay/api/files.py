"""Runs opened as folders: run folders, files with a label and score columns, and results."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from assay.analysis.folder import RunFolder, read_run
from assay.api.agree import agree
from assay.api.result import Result
from assay.benchmark.folder import write_run
from assay.common.addresses import command_line
from assay.datasets.columns import MissingColumnsError
from assay.datasets.files import is_table_file
from assay.exceptions import InputError
from assay.paths import user_path

#: Source of a report: a run folder, a file with labels and scores, or the result of :func:`assay.run`.
Run = str | Path | Result


@contextmanager
def open_runs(runs: Run | Sequence[Run]) -> Iterator[list[RunFolder]]:
    """Open runs as run folders: folders, files with labels and scores (as ``assay agree`` reads them), or results.

    Args:
        runs: one run or several, of any kind. A file, or a result that was not saved, is written to a temporary folder,
            which is removed when the context ends; the agreement of a file has no intervals there. A file with other
            column names must first be made a run with ``assay agree FILE --columns … --out RUN``.

    Yields:
        The open run folders, in the order of *runs*.

    Raises:
        InputError: a path is neither a run folder nor such a file, or cannot be read.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
    """
    run_list = [runs] if isinstance(runs, Run) else list(runs)
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        yield [_open_run(run, number, Path(temporary)) for number, run in enumerate(run_list, start=1)]


def _open_run(run: Run, number: int, temporary: Path) -> RunFolder:
    """Return a run as a run folder; a file or an unsaved result is first written to a folder.

    Args:
        run: the run.
        number: the number of the run among those that are opened, from 1; a result that was not saved is called by it.
        temporary: a folder to write into, where each number has a folder of its own.

    Raises:
        InputError: the path is neither a run folder nor a file with a label and score columns, or cannot be read.
    """
    if isinstance(run, Result):
        if run.folder is not None:
            return read_run(run.folder)
        folder = write_run(run.outcome, temporary / str(number))
        return replace(read_run(folder), source=Path(f"result {number}"))
    path = user_path(run)
    if path.is_dir() or not is_table_file(path):
        return read_run(path)
    folder = temporary / str(number) / path.stem
    try:
        agree(path, resamples=0, out=folder)
    except MissingColumnsError as error:
        command = command_line("agree", path, "--columns", error.columns, "--out", "RUN")
        raise InputError(
            f"{error.problem} A report takes the names as they are; this makes a run of the file: {command}"
        ) from error
    return replace(read_run(folder), source=path)
