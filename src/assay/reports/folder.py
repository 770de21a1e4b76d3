"""Reading a run folder; its manifest and agreement table are validated first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from assay.errors import InputError
from assay.manifest import AgreementRow, Manifest, MetricRecord
from assay.output import restore
from assay.tables import RUN_SCHEMA


@dataclass(frozen=True)
class RunFolder:
    """The manifest and agreement table of a run, and its path.

    Attributes:
        path: the folder; None for a run that was not written.
        manifest: the contents of ``run.json``.
        agreement: the contents of ``agreement.json``, one row per number.
        source: the file with scores that the user named in place of the folder; None if there is none.
    """

    path: Path | None
    manifest: Manifest
    agreement: list[AgreementRow]
    source: Path | None = None

    @property
    def title(self) -> str:
        """The name of the run in messages."""
        named = self.source or self.path
        return "this run" if named is None else str(named)


Value = TypeVar("Value")
_MANIFEST = TypeAdapter(Manifest)
_ROWS = TypeAdapter(list[AgreementRow])


def read_run(path: Path) -> RunFolder:
    """Return the run in a folder, validated.

    Raises:
        InputError: a file is missing or damaged, or was written by a newer assay; a value is missing or has another
            type than assay writes; the folder's name is not UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        # PyArrow cannot open a file in such a folder
        raise InputError(f"{str(path)!r}: this name is no UTF-8; rename the folder") from None
    try:
        if not path.exists():
            restore(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror or error})") from error
    values = _read_json(path, "run.json", dict)
    schema = values.get("schema")
    if not isinstance(schema, int):
        raise InputError(f"{path / 'run.json'}: has no schema version; is this a run folder of assay?")
    if schema > RUN_SCHEMA:
        raise InputError(
            f"{path}: was written by a newer assay (schema {schema}, this one reads up to {RUN_SCHEMA}); update assay"
        )
    rows = _read_json(path, "agreement.json", list)
    manifest = _validate(_MANIFEST, values, path / "run.json")
    agreement = _validate(_ROWS, rows, path / "agreement.json")
    return RunFolder(path, _with_directions(manifest, agreement), agreement)


def _read_json(folder: Path, name: str, kind: type) -> Any:
    """Return the contents of a JSON file of a run folder.

    Raises:
        InputError: the folder or file is missing, the file is not valid JSON, or its value is not of type *kind*.
    """
    path = folder / name
    if not folder.is_dir():
        if folder.is_file():
            raise InputError(f"{folder}: is a file; assay agree {folder} --out RUN makes a run of its scores")
        raise InputError(f"{folder}: there is no such run folder")
    if not path.is_file():
        raise InputError(f"{folder}: is no run folder, {name} is missing")
    try:
        # earlier versions wrote file names that are not UTF-8 as lone surrogates
        value = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is no valid JSON ({error})") from error
    if not isinstance(value, kind):
        raise InputError(f"{path}: should hold a JSON {'object' if kind is dict else 'list'}")
    return value


def _validate(adapter: TypeAdapter[Value], values: object, file: Path) -> Value:
    """Return the values of a file as typed objects.

    Raises:
        InputError: a value is missing or has another type than assay writes.
    """
    try:
        return adapter.validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{file}: {key}: {first['msg']}; the file was changed, run the same command again to restore it"
        ) from None


def _with_directions(manifest: Manifest, agreement: Sequence[AgreementRow]) -> Manifest:
    """Return the manifest with the direction of each metric; older folders recorded it only in notes of the table."""
    turned = {row.metric for row in agreement if "sign turned" in row.note}

    def completed(metric: MetricRecord) -> MetricRecord:
        if "higher_is_better" in metric.declared.model_fields_set:
            return metric
        declared = metric.declared.model_copy(update={"higher_is_better": metric.metric not in turned})
        return metric.model_copy(update={"declared": declared})

    return manifest.model_copy(update={"metrics": [completed(metric) for metric in manifest.metrics]})


def run_titles(runs: Sequence[RunFolder]) -> list[str]:
    """Return the title of each run: the name of its folder or file, or the path if two runs have the same name.

    Raises:
        InputError: two runs have the same path.
    """
    paths = [path.resolve() if (path := run.source or run.path) else None for run in runs]
    for path in paths:
        if path is not None and paths.count(path) > 1:
            raise InputError(f"{path}: is given twice; give each run once")
    names = [path.name if path else run.title for path, run in zip(paths, runs, strict=True)]
    return [name if names.count(name) == 1 else run.title for name, run in zip(names, runs, strict=True)]


# Checks for files changed by hand: duplicates, and rows that the manifest does not list.


def check_strays(run: RunFolder, folder: Path) -> None:
    """Check that the tables of a run folder hold only datasets and metrics that ``run.json`` lists.

    Readers skip rows that the manifest does not list. Without this check, inserted numbers, or numbers of a metric that
    was removed from the manifest, would go unnoticed.

    Args:
        run: the run, as read from *folder*.
        folder: the run folder; :func:`assay.reports.data.read_datasets` must be able to read its tables.

    Raises:
        InputError: ``run.json`` lists a dataset, or a metric on one dataset, more than once; or another file has rows
            of a dataset, split or metric of which ``run.json`` has no scores.
    """
    datasets, metrics = run.manifest.datasets, run.manifest.metrics
    _refuse(run, "run.json lists {} twice", _repeated(dataset.name for dataset in datasets))
    _refuse(
        run,
        "run.json lists {} twice",
        _repeated(_metric_on_dataset(metric.metric, metric.dataset) for metric in metrics),
    )
    splits = {dataset.name: dataset.split for dataset in datasets}
    done = {(metric.dataset, metric.metric) for metric in metrics if metric.is_done}

    rows = {(row.dataset, row.split, row.metric) for row in run.agreement}
    unknown = {dataset for dataset, _, _ in rows} - set(splits)
    _refuse(run, "agreement.json has rows of {}, which run.json does not list", unknown)
    unknown = {f"{dataset}, split {split!r}" for dataset, split, _ in rows if split != splits[dataset]}
    _refuse(run, "agreement.json has rows of {}, which run.json does not list", unknown)
    unknown = {_metric_on_dataset(metric, dataset) for dataset, _, metric in rows if (dataset, metric) not in done}
    _refuse(run, "agreement.json has rows of {}, of which run.json has no scores", unknown)

    unknown = {dataset for (dataset,) in _distinct(folder / "pairs.parquet", "dataset")} - set(splits)
    _refuse(run, "pairs.parquet has pairs of {}, which run.json does not list", unknown)
    scored = _distinct(folder / "scores.parquet", "dataset", "metric")
    unknown = {_metric_on_dataset(metric, dataset) for dataset, metric in scored if (dataset, metric) not in done}
    _refuse(run, "scores.parquet has scores of {}, of which run.json has none", unknown)


def _refuse(run: RunFolder, problem: str, names: Iterable[str]) -> None:
    """Raise InputError with the names in place of ``{}`` in *problem*; do nothing without names."""
    if listed := sorted(names):
        raise InputError(f"{run.title}: {problem.format(', '.join(listed))}: the folder was changed; run it again")


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _metric_on_dataset(metric: str, dataset: str) -> str:
    return f"{metric} on {dataset}"


def _distinct(file: Path, *columns: str) -> set[tuple[str, ...]]:
    """Return the distinct combinations of values in some text columns of a Parquet file; empty without the columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not set(columns) <= set(pq.read_schema(file).names):
        # a run without pairs has tables without columns
        return set()
    table = pq.read_table(file, columns=list(columns))
    # names are dictionary-encoded, and Arrow cannot group by dictionaries that differ between chunks
    table = table.cast(pa.schema([(column, pa.string()) for column in columns]))
    rows = table.group_by(list(columns)).aggregate([]).to_pylist()
    return {tuple(str(row[column]) for column in columns) for row in rows}
