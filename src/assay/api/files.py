"""Scores added to a file, and agreement of scores that stand in one."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.api.result import Result
from assay.benchmark.executor import InProcess
from assay.benchmark.folder import check_target
from assay.benchmark.progress import Progress, Silent
from assay.benchmark.request import Request
from assay.benchmark.runner import run, score_pairs
from assay.datasets import Pairs, load_dataset, read_table_file
from assay.errors import InputError, suggest
from assay.metrics import load_metric
from assay.tables import OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["agree_file", "score_file"]

_FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")


def score_file(
    file: Path,
    metrics: Sequence[str],
    out: Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    limit: int | None = None,
    references: Literal["best", "mean"] = "best",
    language: str | None = None,
    store: Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> list[str]:
    """Write the rows of *file*, in order and with all their columns, and one column per metric, headed as typed.

    Args:
        file: CSV, TSV, JSONL or Parquet; labels are not needed.
        metrics: metric names.
        out: where to; its ending says the format.
        columns: which columns are reference, candidate, question.
        limit: only the first so many rows.
        references: how several gold answers become one score.
        language: of the texts.
        store: file with the scores; the shared one by default.
        fresh: compute anew what the store has.
        progress: told how far it is.

    Returns:
        Lines about metrics that gave no scores; their columns are missing.

    Raises:
        InputError: a file that cannot be read or written, or a name that is taken or unknown.
    """
    if not metrics:
        raise InputError("no metric: give --metric NAME (assay metrics list shows them)")
    if out.suffix.lower() not in _FORMATS:
        raise InputError(f"{out}: the name must end in {', '.join(_FORMATS)}")
    if out.resolve() == file.resolve():
        raise InputError(f"{out}: is the file that is read; give --out another name")
    chosen = tuple(load_metric(name) for name in metrics)
    pairs = load_dataset(str(file), columns=columns, language=language, allow_unlabelled=True)
    table = read_table_file(file).table
    taken = [str(metric) for metric in chosen if str(metric) in table.column_names]
    if taken:
        raise InputError(f"{file}: has a column {taken[0]!r} already")
    if limit is not None:
        pairs, table = pairs.limit(limit), table.slice(0, limit)
    request = Request((pairs,), chosen, buckets=("none",), resamples=0, references=references)
    found = score_pairs(request, store=store, executor=InProcess(), fresh=fresh, progress=progress or Silent())
    for metric, scores in found.datasets[0].scores.items():
        table = table.append_column(metric, _as_column(scores))
    _write(table, out)
    return found.failures + [
        f"metric {one.metric}: {one.reason}" for one in found.metrics if one.status == "not applicable"
    ]


def _as_column(scores: np.ndarray[Any, np.dtype[np.float64]]) -> pa.Array:
    import pyarrow as pa

    return pa.array(scores, from_pandas=True)


def _write(table: pa.Table, out: Path) -> None:
    """Write a table under a temporary name and rename it."""
    import pyarrow.parquet as pq

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
        os.close(handle)
        scratch = Path(name)
        try:
            if out.suffix.lower() == ".parquet":
                pq.write_table(table, scratch)
            else:
                _write_text(table, scratch, out.suffix.lower())
            scratch.chmod(0o644)
            scratch.replace(out)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise InputError(f"{out}: cannot be written ({why}); give --out another place") from error


def _write_text(table: pa.Table, path: Path, ending: str) -> None:
    import csv
    import json

    with path.open("w", encoding="utf-8", newline="") as file:
        if ending == ".jsonl":
            for batch in table.to_batches(max_chunksize=8192):
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
            return
        writer = csv.writer(file, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
        writer.writerow(table.column_names)
        for batch in table.to_batches(max_chunksize=8192):
            columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
            writer.writerows(zip(*([_cell(value) for value in column] for column in columns), strict=True))


def _cell(value: Any) -> Any:
    import json

    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def agree_file(
    file: Path,
    *,
    scores: Sequence[str] = (),
    columns: str | Mapping[str, str] | None = None,
    buckets: tuple[str, ...] = (),
    out: Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Result:
    """Hold score columns of a file against its label.

    Args:
        file: CSV, TSV, JSONL or Parquet with a label and scores; texts are needed only for buckets that read them.
        scores: score columns; every numeric column that is no pair column by default.
        columns: which column is the label, and which are texts.
        buckets: rules; none by default.
        out: folder to write; None to write nothing.
        progress: told how far it is.
        **settings: as for :func:`assay.run`.

    Raises:
        InputError: a missing column, or one that holds no numbers.
    """
    pairs = _load_scored(file, columns)
    names = list(scores) or _numeric(pairs)
    if not names:
        raise InputError(f"{file}: has no numeric column beside the label; name one with --score")
    known = [*pairs.table.column_names]
    for name in names:
        if name not in known:
            raise InputError(f"{file}: there is no column {name!r}; it has {', '.join(known)}.{suggest(name, known)}")
    metrics = tuple(load_metric(f"recorded:{name}") for name in names)
    request = Request((pairs,), metrics, buckets=buckets or ("none",), **settings)
    if out is not None:
        check_target(out, request.digest())
    result = Result(run(request, progress=progress))
    if out is not None:
        result.save(out)
    return result


def _load_scored(file: Path, columns: str | Mapping[str, str] | None) -> Pairs:
    """Load a file of which only the label must be there: absent texts are empty."""
    import pyarrow as pa

    source = read_table_file(file)
    named = ",".join(f"{k}={v}" for k, v in columns.items()) if isinstance(columns, Mapping) else columns or ""
    mapped = {part.partition("=")[0].strip() for part in named.split(",") if part}
    missing = [
        name for name in ("reference", "candidate") if name not in source.table.column_names and name not in mapped
    ]
    if not missing:
        return load_dataset(str(file), columns=columns)
    table = source.table
    for name in missing:
        table = table.append_column(name, pa.array([""] * len(table)))
    return load_dataset(table, columns=columns, name=file.stem)


def _numeric(pairs: Pairs) -> list[str]:
    """Name the further columns that hold numbers, whether typed or written as text."""
    import pyarrow as pa

    reserved = {*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS}
    names = []
    for name in pairs.table.column_names:
        column = pairs.table.column(name)
        if name in reserved or not name.strip():
            continue
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or _all_numbers(column):
            names.append(name)
    return names


def _all_numbers(column: pa.ChunkedArray) -> bool:
    values = [value for value in column.to_pylist() if value not in (None, "")]
    try:
        for value in values:
            float(value)
    except (TypeError, ValueError):
        return False
    return bool(values)
