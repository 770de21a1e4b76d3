"""The run folder: written whole under a temporary name, then renamed.

========================  ===============================================================================
``run.json``              manifest: schema version, request, datasets, metrics with signatures, buckets,
                          environment, timings, what failed and why
``agreement.json``        list of objects with the keys of the agreement table; undefined values are null
``agreement.csv``         the same as CSV
``scores.parquet``        dataset, pair_id, metric, score; one row per pair and metric
``pairs.parquet``         the pairs as they were scored, with their dataset, their buckets, the group that was
                          resampled, and further columns of the source that hold names or counts
``table.md, table.tex``   what a reader sees; written by the reports
``report.html``           the page to look at, but for very large runs; written last, by the reports
========================  ===============================================================================
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from assay.benchmark.manifest import describe_run
from assay.benchmark.outcome import Outcome
from assay.benchmark.parquet import write_pairs, write_scores
from assay.benchmark.target import check_target, put_in_place
from assay.delimited import write_records
from assay.errors import InputError
from assay.output import json_text
from assay.tables import AGREEMENT_COLUMNS

__all__ = ["write_run"]


def write_run(outcome: Outcome, folder: Path, *, finish: Callable[[Path], None] | None = None) -> Path:
    """Write a run folder in one step; a run of the same request that stands there is replaced.

    Args:
        outcome: the finished run.
        folder: where to.
        finish: called with the temporary folder before it is renamed, to add files.

    Raises:
        InputError: the folder holds something else, or cannot be written.
    """
    folder = folder.absolute()
    check_target(folder, outcome.request.digest())
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        manifest = describe_run(outcome)
        _dump(scratch / "run.json", manifest)
        rows = [row.as_dict() for row in outcome.agreement]
        _dump(scratch / "agreement.json", rows)
        with (scratch / "agreement.csv").open("w", encoding="utf-8", newline="") as file:
            write_records(file, AGREEMENT_COLUMNS, rows)
        write_scores(outcome.datasets, scratch / "scores.parquet")
        write_pairs(outcome.datasets, scratch / "pairs.parquet")
        if finish:
            finish(scratch)
        scratch.chmod(0o755)
        put_in_place(scratch, folder, outcome.request.digest())
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _unwritable(folder: Path, error: OSError) -> InputError:
    if error.errno == errno.ENOSPC:
        return InputError(f"{folder}: the disk is full; free some space and run the same line again")
    return InputError(f"{folder}: cannot be written ({error.strerror or error}); give --out another place")


def _dump(path: Path, value: object) -> None:
    # what of a name is no UTF-8 becomes an escape of JSON
    path.write_text(json_text(value), encoding="utf-8", errors="backslashreplace")
