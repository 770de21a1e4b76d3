"""Writes the run folder: completely under a temporary name, then renamed.

``run.json``
    the manifest, see :class:`assay.manifest.Manifest`
``agreement.json``, ``agreement.csv``
    the agreement table, see :class:`assay.manifest.AgreementRow`; undefined values are null in JSON, empty in CSV
``scores.parquet``
    dataset, pair_id, metric, score: one row per pair and metric
``pairs.parquet``
    the pairs as they were scored, with their dataset, their buckets, the group that was resampled, and further columns
    of the source that hold names or counts
``table.md``, ``table.tex``
    the agreement tables for readers; written by ``assay table --write``, and removed when the run is replaced
``report.html``
    the report page, except for very large runs; written last, by the reports
``stress.json``
    the results of the run's metrics under perturbations; written by ``assay stress --run``, and removed when the run is
    replaced
``evidence.json``, ``decision.json``, ``decision.html``, ``rates.json``
    what was concluded from the run, see docs/architecture.md; removed when the run is replaced
``downstream.json``
    the results of encoders by fold or seed; written by ``assay downstream``, and removed when the run is replaced
"""

from __future__ import annotations

import errno
import json
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.benchmark.buckets import ALL, parse_rule
from assay.benchmark.records import DatasetScores, Outcome
from assay.benchmark.request import Request
from assay.common.configuration import APPLIED
from assay.common.messages import Setting
from assay.common.output import (
    exclusive_lock,
    is_unfinished,
    json_text,
    put_folder,
    restore_folder,
    unfinished_folder,
    write_records,
)
from assay.common.packages import version_of
from assay.common.tables import GRAPH_COLUMNS, RUN_SCHEMA, STRATUM, STRATUM_SIZE, WEIGHT
from assay.exceptions import InputError
from assay.manifest import AGREEMENT_COLUMNS, BucketRecord, DatasetRecord, Environment, Manifest, RequestRecord
from assay.statistics.coefficients import influence_signature, interval_method

if TYPE_CHECKING:
    import pyarrow as pa

#: The report page.
PAGE = "report.html"
#: The files of a run folder; any other file is the user's own and is never removed.
FILES = (
    "run.json",
    "agreement.json",
    "agreement.csv",
    "scores.parquet",
    "pairs.parquet",
    "table.md",
    "table.tex",
    "stress.json",
    "downstream.json",
    "evidence.json",
    "decision.json",
    "decision.html",
    "rates.json",
    PAGE,
)


def write_run(outcome: Outcome, folder: Path) -> Path:
    """Write a run folder in one step and return its absolute path; an existing run of the same request is replaced.

    Args:
        outcome: the finished run.
        folder: the run folder; its parents are created.

    Raises:
        InputError: as for :func:`check_target`, or the disk is full.
    """
    folder = folder.absolute()
    manifest = manifest_of_run(outcome)
    check_target(folder, manifest.request_digest)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with unfinished_folder(folder) as scratch:
            _write_json(scratch / "run.json", manifest.model_dump(by_alias=True))
            _write_json(scratch / "agreement.json", [row.stored_values() for row in outcome.agreement])
            with (scratch / "agreement.csv").open("w", encoding="utf-8", newline="") as file:
                write_records(file, AGREEMENT_COLUMNS, (row.plain_values() for row in outcome.agreement))
            write_scores(outcome.datasets, scratch / "scores.parquet")
            write_pairs(outcome.datasets, scratch / "pairs.parquet")
            with exclusive_lock(folder.parent):
                _check_locked_target(folder, manifest.request_digest)
                put_folder(scratch, folder)
    except OSError as error:
        raise _unwritable_error(folder, error) from error
    return folder


def _unwritable_error(folder: Path, error: OSError) -> InputError:
    """Return the error for a folder that cannot be written, with advice that fits the cause."""
    if error.errno == errno.ENOSPC:
        return InputError(f"{folder}: the disk is full; free some space and run the same command again")
    return InputError(
        f"{folder}: cannot be written ({error.strerror or error}); give ", Setting("out"), " another place"
    )


def _write_json(path: Path, value: object) -> None:
    # file names may hold bytes that are no UTF-8: they are escaped
    path.write_text(json_text(value), encoding="utf-8", errors="backslashreplace")


#: Packages that can change a number of a run.
_PACKAGES = (
    "assay",
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "sacrebleu",
    "rouge-score",
    "nltk",
    "rapidfuzz",
    "regex",
    "torch",
    "transformers",
    "tokenizers",
    "sentence-transformers",
    "onnxruntime",
    "openvino",
    "bert-score",
    "spacy",
    "POT",
    "penman",
    "smatchpp",
    "amrlib",
)


def manifest_of_run(outcome: Outcome) -> Manifest:
    """Return the manifest of a run, created now, with the environment of this process."""
    record = outcome.request.record()
    return Manifest(
        schema=RUN_SCHEMA,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        request=record,
        request_digest=record.digest(),
        signature=_run_signature(record, outcome.buckets),
        datasets=[_dataset_record(dataset, outcome.request) for dataset in outcome.datasets],
        metrics=list(outcome.metrics),
        buckets=list(outcome.buckets),
        failures=outcome.failures,
        seconds=outcome.seconds,
        environment=_environment(),
    )


def _run_signature(request: RequestRecord, buckets: Sequence[BucketRecord]) -> str:
    """Return the settings that determine the agreement values in one line, formatted like a metric's signature."""
    # means over buckets and adjusted values are listed as buckets without labels of their own
    sizes = [bucket.n for bucket in buckets if bucket.labels]
    settings_by_key = {
        "bootstrap": interval_method(request.statistics) if request.resamples else "none",
        **influence_signature(request.interval, request.resamples, sizes),
        **request.signature_parts(),
        "assay": version_of("assay"),
    }
    # a column may be called a|b
    return "|".join(f"{key}:{value.replace('|', '%7C')}" for key, value in settings_by_key.items())


def _dataset_record(dataset: DatasetScores, request: Request) -> DatasetRecord:
    """Return the manifest's record of a dataset: where its pairs came from, how they were read and grouped."""
    pairs = dataset.pairs
    suggested = dataset.suggested_groups if request.group_by is None else None
    # a dataset with a card is not read with settings of the user, and the record requires the columns
    reading = pairs.reading or {"columns": ""}
    return DatasetRecord(
        name=pairs.name,
        version=pairs.version,
        split=pairs.split,
        language=pairs.language,
        kind=pairs.kind,
        scale=pairs.scale,
        n=len(pairs),
        source=pairs.source,
        sha256=pairs.sha256,
        digest=pairs.digest,
        notes=list(pairs.notes),
        duplicates_dropped=dataset.duplicates_dropped,
        group=dataset.group_column,
        hints=list(pairs.hints),
        grouping="" if suggested is None else suggested.message,
        **reading,
    )


def _environment() -> Environment:
    """Return the versions, the machine and the configuration of this process, and its command line if it is assay's."""
    applied = APPLIED.get()
    program = Path(sys.argv[0])
    # not another program that imports assay
    is_command_line = program.name == "assay" or program.parts[-2:] == ("assay", "__main__.py")
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        machine=platform.machine(),
        cpus=os.cpu_count(),
        packages={name: version_of(name) for name in _PACKAGES},
        argv=sys.argv[1:] if is_command_line else [],
        configuration="" if applied is None else str(applied.file),
        configured={} if applied is None else applied.values,
    )


def check_target(folder: Path, digest: str | None) -> None:
    """Check, under a lock, that a run may be written to a folder: one that is absent, empty, or holds the same run.

    A folder that an interrupted run had moved aside is put back first.

    Args:
        folder: the folder that a run will be written to.
        digest: the digest of the request; None to accept a run of any request.

    Raises:
        InputError: the folder cannot be written, is a file or a link, is or contains the current folder, or holds
            another run or other files.
    """
    with exclusive_lock(folder.absolute().parent):
        _check_locked_target(folder, digest)


def _check_locked_target(folder: Path, digest: str | None) -> None:
    """Do what :func:`check_target` does, for a caller that holds the lock of the folder's parent."""
    if folder.is_symlink() or folder.is_file():
        raise InputError(f"{folder}: is a file; give ", Setting("out"), " another name")
    if folder.exists() and folder.resolve() in (Path.cwd(), *Path.cwd().parents):
        raise InputError(f"{folder}: is the folder you are in; give ", Setting("out"), " a name of its own")
    check_writable(folder)
    restore_folder(folder)
    if folder.exists() and not all(is_unfinished(path) for path in folder.iterdir()):
        _check_holds_run(folder, digest)


def _check_holds_run(folder: Path, digest: str | None) -> None:
    """Check that a folder holds a run and nothing else.

    Args:
        folder: the folder, which is not empty.
        digest: the digest of the request that the run must have; None to accept a run of any request.

    Raises:
        InputError: it holds no run or a manifest that cannot be read, another run, a run of a newer assay, or other
            files.
    """
    manifest = folder / "run.json"
    if not manifest.exists():
        raise InputError(f"{folder}: is not empty and holds no run; give ", Setting("out"), " another name")
    try:
        # only two keys are read, so that a damaged manifest of the same request can be replaced; surrogatepass, because
        # file names in it may hold bytes that are no UTF-8
        values = json.loads(manifest.read_text(encoding="utf-8", errors="surrogatepass"))
        is_newer = int(values.get("schema", 0)) > RUN_SCHEMA
        old_digest = values.get("request_digest")
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{manifest}: is not a manifest of a run ({error}); give ", Setting("out"), " another name"
        ) from error
    if is_newer:
        raise InputError(
            f"{folder}: holds a run of a newer assay; give ", Setting("out"), " another name, or upgrade assay"
        )
    if digest is not None and old_digest != digest:
        raise InputError(f"{folder}: holds another run; give ", Setting("out"), " another name or remove it")
    for path in sorted(folder.iterdir()):
        # a folder or link with the name of a run's file is the user's own
        is_file_of_run = path.name in FILES and path.is_file() and not path.is_symlink()
        if not is_file_of_run and not is_unfinished(path):
            raise InputError(
                f"{folder}: holds {path.name} beside the run; move it away or give ", Setting("out"), " another name"
            )


def check_writable(path: Path) -> None:
    """Raise InputError unless *path* can be created.

    Its absolute path must be valid UTF-8, and the nearest existing parent must be a writable folder.
    """
    absolute = path.absolute()
    try:
        str(absolute).encode()
    except UnicodeEncodeError:
        # PyArrow cannot open such a file
        raise InputError(
            f"{str(absolute)!r}: this name is not UTF-8; give ", Setting("out"), " another place"
        ) from None
    nearest_parent = next(parent for parent in absolute.parents if parent.exists())
    if not nearest_parent.is_dir():
        raise InputError(
            f"{path}: cannot be written ({nearest_parent} is a file); give ", Setting("out"), " another place"
        )
    if not os.access(nearest_parent, os.W_OK | os.X_OK):
        raise InputError(
            f"{path}: cannot be written (no permission in {nearest_parent}); give ", Setting("out"), " another place"
        )


#: The number of rows that are written at a time.
_ROWS = 1 << 16
#: Columns of the pairs table that are written with their own types; further columns are written as text.
_KEPT = (
    "pair_id",
    "question",
    "reference",
    "candidate",
    "label",
    "subset",
    "split",
    "language",
    "group",
    "annotations",
    *GRAPH_COLUMNS,
)


def write_scores(datasets: tuple[DatasetScores, ...], path: Path) -> None:
    """Write ``scores.parquet``: dataset, pair_id, metric and score, which is null for a pair without a score."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("dataset", text), ("pair_id", pa.string()), ("metric", text), ("score", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for dataset in datasets:
            ids = dataset.pairs.column("pair_id")
            for metric, scores in dataset.scores.items():
                for start in range(0, len(scores), _ROWS):
                    block = scores[start : start + _ROWS]
                    columns = [
                        _repeated_column(dataset.pairs.name, len(block)),
                        ids.slice(start, _ROWS).combine_chunks(),
                        _repeated_column(metric, len(block)),
                        pa.array(block, from_pandas=True),
                    ]
                    writer.write_table(pa.table(columns, schema=schema))


def _repeated_column(value: str, times: int) -> pa.DictionaryArray:
    """Return an Arrow column that repeats one text, dictionary-encoded so that the text is stored once."""
    import numpy as np
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, dtype=np.int32)), pa.array([value]))


def write_pairs(datasets: tuple[DatasetScores, ...], path: Path) -> None:
    """Write ``pairs.parquet``: the pairs with their dataset, their group and the names of their buckets.

    Further columns of the source are written if they hold names or counts, or if agreement was adjusted for them. A
    column that only other datasets have is null.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    column_names = [_columns_to_keep(dataset) for dataset in datasets]
    empty = [_rows_to_write(dataset, names, 0, 0) for dataset, names in zip(datasets, column_names, strict=True)]
    schema = pa.concat_tables(empty, promote_options="default").schema if empty else pa.schema([])
    with pq.ParquetWriter(path, schema) as writer:
        for dataset, names in zip(datasets, column_names, strict=True):
            for start in range(0, len(dataset.pairs), _ROWS):
                block = _rows_to_write(dataset, names, start, _ROWS)
                # promotion fills the columns that only other datasets have with null
                writer.write_table(pa.concat_tables([schema.empty_table(), block], promote_options="default"))


def _columns_to_keep(dataset: DatasetScores) -> list[str]:
    """Return the columns that go into the run folder, among them weights and all that agreement was adjusted for."""
    controls = {term.name for control in dataset.controls for term in parse_rule(control.rule)}
    named_columns = {WEIGHT, STRATUM, STRATUM_SIZE, *controls}
    table = dataset.pairs.table
    return [name for name in table.column_names if name in named_columns or _is_kept(name, table.column(name))]


def _rows_to_write(dataset: DatasetScores, names: Sequence[str], start: int, size: int) -> pa.Table:
    """Return rows of a dataset as an Arrow table for the run folder, with the same column types for all datasets.

    References become lists of gold answers, and columns beyond the pair columns become text.

    Args:
        dataset: the pairs with their groups and buckets.
        names: the columns to keep.
        start: the first row.
        size: the number of rows at most.
    """
    import numpy as np
    import pyarrow as pa

    table = dataset.pairs.table.select(names).slice(start, size).combine_chunks()
    references = table.column("reference")
    if not pa.types.is_list(references.type):
        offsets = pa.array(np.arange(len(table) + 1, dtype=np.int32))
        # an empty array first, for a column without chunks
        texts = pa.concat_arrays([pa.array([], pa.string()), *references.cast(pa.string()).chunks])
        lists = pa.ListArray.from_arrays(offsets, texts)
        table = table.set_column(table.column_names.index("reference"), "reference", lists)
    for name in set(names) - set(_KEPT):
        table = table.set_column(table.column_names.index(name), name, table.column(name).cast(pa.string()))
    if dataset.group_column is not None:
        # always called `group`, whatever its name in the source
        group = dataset.pairs.column(dataset.group_column).slice(start, size).cast(pa.string())
        table = table.drop_columns(["group"]) if "group" in table.column_names else table
        table = table.append_column("group", group)
    table = table.add_column(0, "dataset", _repeated_column(dataset.pairs.name, len(table)).cast(pa.string()))
    return table.append_column("buckets", _bucket_names(dataset, slice(start, start + size)))


def _is_kept(name: str, column: pa.ChunkedArray) -> bool:
    """Tell whether a column goes into the run folder: a column of a pair, or a named column of names or counts.

    Other numbers are recorded scores, which are in ``scores.parquet``. They may be written as text, as the cells of a
    CSV are: a text column whose cells are all numbers, some of them fractional, is left out too.
    """
    import pyarrow as pa

    if name in _KEPT:
        return True
    if not name.strip():
        return False
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    is_count = pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
    return is_count or (is_text and not _holds_fractions(column))


def _holds_fractions(texts: pa.ChunkedArray) -> bool:
    """Tell whether the cells of a text column are all numbers or empty, and some number is fractional."""
    import pyarrow as pa
    import pyarrow.compute as pc

    has_fractions = False
    for chunk in texts.chunks:
        try:
            values = pc.cast(chunk.filter(pc.not_equal(chunk, "")), pa.float64())
        except pa.ArrowInvalid:
            return False
        # the comparison of no numbers is null
        if not pc.fill_null(pc.all(pc.equal(values, pc.floor(values))), True).as_py():
            has_fractions = True
    return has_fractions


def _bucket_names(dataset: DatasetScores, rows: slice) -> pa.ListArray:
    """Return an Arrow column with the list of bucket names of each pair in *rows*, without the bucket of all pairs."""
    import numpy as np
    import pyarrow as pa

    buckets = [bucket for bucket in dataset.buckets if bucket.name != ALL]
    masks = [bucket.mask[rows] for bucket in buckets]
    # the pairs may end before the slice does
    n = len(range(*rows.indices(len(dataset.pairs))))
    is_in_bucket = np.stack(masks, axis=1) if masks else np.zeros((n, 0), dtype=bool)
    offsets = np.concatenate([[0], np.cumsum(is_in_bucket.sum(axis=1))]).astype(np.int32)
    names = pa.array([bucket.name for bucket in buckets], pa.string()).take(pa.array(np.nonzero(is_in_bucket)[1]))
    return pa.ListArray.from_arrays(pa.array(offsets), names)
