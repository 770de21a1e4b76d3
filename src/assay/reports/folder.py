"""Reading a run folder: its manifest and agreement table are validated first."""

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
    """A run as it stands on disk.

    Attributes:
        path: the folder, or None for a run that was not written.
        manifest: ``run.json``.
        agreement: ``agreement.json``, one row a number.
        source: what the user named, where that is not the folder: a file with scores.
    """

    path: Path | None
    manifest: Manifest
    agreement: list[AgreementRow]
    source: Path | None = None

    @property
    def title(self) -> str:
        """How messages name it."""
        named = self.source or self.path
        return "this run" if named is None else str(named)


Value = TypeVar("Value")
_MANIFEST = TypeAdapter(Manifest)
_ROWS = TypeAdapter(list[AgreementRow])


def read_run(path: Path) -> RunFolder:
    """Return the run in a folder, validated.

    Raises:
        InputError: a file is missing or broken, or was written by a newer assay; a value is missing, or of another
            type than assay writes; the folder's name is no UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        # PyArrow opens no file there
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
    path = folder / name
    if not folder.is_dir():
        if folder.is_file():
            raise InputError(f"{folder}: is a file; assay agree {folder} --out RUN makes a run of its scores")
        raise InputError(f"{folder}: there is no such run folder")
    if not path.is_file():
        raise InputError(f"{folder}: is no run folder, {name} is missing")
    try:
        # earlier versions wrote file names that are no UTF-8 as they were
        value = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is no valid JSON ({error})") from error
    if not isinstance(value, kind):
        raise InputError(f"{path}: should hold a JSON {'object' if kind is dict else 'list'}")
    return value


def _validate(adapter: TypeAdapter[Value], values: object, file: Path) -> Value:
    """Return the values of a file as typed objects.

    Raises:
        InputError: a value is missing, or of another type than assay writes.
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
    """Return the manifest with the direction of each metric: older folders recorded it in notes of the table alone."""
    turned = {row.metric for row in agreement if "sign turned" in row.note}

    def completed(metric: MetricRecord) -> MetricRecord:
        if "higher_is_better" in metric.declared.model_fields_set:
            return metric
        declared = metric.declared.model_copy(update={"higher_is_better": metric.metric not in turned})
        return metric.model_copy(update={"declared": declared})

    return manifest.model_copy(update={"metrics": [completed(metric) for metric in manifest.metrics]})


def run_titles(runs: Sequence[RunFolder]) -> list[str]:
    """Return what to call each run: the name of its folder or file, or the path where two have the same name.

    Raises:
        InputError: a run is given twice.
    """
    paths = [path.resolve() if (path := run.source or run.path) else None for run in runs]
    for path in paths:
        if path is not None and paths.count(path) > 1:
            raise InputError(f"{path}: is given twice; give each run once")
    names = [path.name if path else run.title for path, run in zip(paths, runs, strict=True)]
    return [name if names.count(name) == 1 else run.title for name, run in zip(names, runs, strict=True)]


# Checks for files changed by hand: what a run folder has twice, or what its manifest does not list


def check_strays(run: RunFolder, folder: Path) -> None:
    """Raise where the files of a folder name other datasets or metrics than ``run.json``.

    Readers skip what the manifest does not list, so that a number that was inserted, or one whose metric was removed,
    would never be looked at.

    Args:
        run: as read from *folder*.
        folder: its tables are such that :func:`assay.reports.data.read_datasets` could read them.

    Raises:
        InputError: ``run.json`` has a dataset, or a metric of one, twice; another file has rows of a dataset, split or
            metric of which it has no scores.
    """
    datasets, metrics = run.manifest.datasets, run.manifest.metrics
    _refuse(run, "run.json lists {} twice", _repeated(dataset.name for dataset in datasets))
    _refuse(run, "run.json lists {} twice", _repeated(_of(metric.metric, metric.dataset) for metric in metrics))
    splits = {dataset.name: dataset.split for dataset in datasets}
    done = {(metric.dataset, metric.metric) for metric in metrics if metric.is_done}

    rows = {(row.dataset, row.split, row.metric) for row in run.agreement}
    unknown = {dataset for dataset, _, _ in rows} - set(splits)
    _refuse(run, "agreement.json has rows of {}, which run.json does not list", unknown)
    unknown = {f"{dataset}, split {split!r}" for dataset, split, _ in rows if split != splits[dataset]}
    _refuse(run, "agreement.json has rows of {}, which run.json does not list", unknown)
    unknown = {_of(metric, dataset) for dataset, _, metric in rows if (dataset, metric) not in done}
    _refuse(run, "agreement.json has rows of {}, of which run.json has no scores", unknown)

    unknown = {dataset for (dataset,) in _distinct(folder / "pairs.parquet", "dataset")} - set(splits)
    _refuse(run, "pairs.parquet has pairs of {}, which run.json does not list", unknown)
    scored = _distinct(folder / "scores.parquet", "dataset", "metric")
    unknown = {_of(metric, dataset) for dataset, metric in scored if (dataset, metric) not in done}
    _refuse(run, "scores.parquet has scores of {}, of which run.json has none", unknown)


def _refuse(run: RunFolder, problem: str, names: Iterable[str]) -> None:
    if listed := sorted(names):
        raise InputError(f"{run.title}: {problem.format(', '.join(listed))}: the folder was changed; run it again")


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _of(metric: str, dataset: str) -> str:
    return f"{metric} on {dataset}"


def _distinct(file: Path, *columns: str) -> set[tuple[str, ...]]:
    """Return the combinations of names that these columns of a table have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not set(columns) <= set(pq.read_schema(file).names):
        # a run without pairs has tables without columns
        return set()
    table = pq.read_table(file, columns=list(columns))
    # names that repeat are a dictionary, which cannot be grouped over several parts
    table = table.cast(pa.schema([(column, pa.string()) for column in columns]))
    rows = table.group_by(list(columns)).aggregate([]).to_pylist()
    return {tuple(str(row[column]) for column in columns) for row in rows}
