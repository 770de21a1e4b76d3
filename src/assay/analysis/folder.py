"""Run folders as reports read them: the manifest and the agreement table, validated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from assay.common.addresses import command_line
from assay.common.messages import Message
from assay.common.output import restore_folder
from assay.common.tables import RUN_SCHEMA
from assay.exceptions import InputError
from assay.manifest import AgreementRow, Manifest
from assay.paths import no_such_file

#: The name of the file in a run folder that holds the result of a stress test.
STRESS_FILE = "stress.json"
#: The name of the file in a run folder that holds the results of encoders by fold or seed.
DOWNSTREAM_FILE = "downstream.json"


@dataclass(frozen=True)
class RunFolder:
    """A run that was read: its manifest, its agreement table and its path.

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
        """The name of the run in messages: the path of its source, else of its folder, else ``this run``."""
        path = self.source or self.path
        return "this run" if path is None else str(path)


Value = TypeVar("Value")
_MANIFEST_ADAPTER = TypeAdapter(Manifest)
_ROWS_ADAPTER = TypeAdapter(list[AgreementRow])


def read_run(path: Path) -> RunFolder:
    """Return the run in a folder, with its manifest and agreement table validated.

    If the folder is missing since a write was interrupted, it is restored first; see
    :func:`assay.common.output.restore_folder`.

    Raises:
        InputError: a file is missing or damaged, or was written by a newer assay; a value is missing or has another
            type than assay writes; the folder cannot be opened, or its name is not UTF-8.
        OSError: a file in the folder cannot be read.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        # PyArrow cannot open a file in such a folder
        raise InputError(f"{str(path)!r}: this name is not UTF-8; rename the folder") from None
    try:
        if not path.exists():
            restore_folder(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror or error})") from error
    values = _read_json(path, "run.json", dict)
    schema = values.get("schema")
    if not isinstance(schema, int):
        raise InputError(f"{path / 'run.json'}: has no schema version; is this a run folder of assay?")
    # before validation, since a newer schema may well be invalid in this one
    if schema > RUN_SCHEMA:
        raise InputError(
            f"{path}: was written by a newer assay (schema {schema}, this one reads up to {RUN_SCHEMA}); update assay"
        )
    rows = _read_json(path, "agreement.json", list)
    manifest = _validate_contents(_MANIFEST_ADAPTER, values, path / "run.json")
    agreement = _validate_contents(_ROWS_ADAPTER, rows, path / "agreement.json")
    return RunFolder(path, _with_metric_directions(manifest, agreement), agreement)


def _read_json(folder: Path, name: str, json_type: type) -> Any:
    """Return the parsed contents of a JSON file of a run folder.

    Args:
        folder: the run folder.
        name: the name of the file.
        json_type: the expected type of the contents, ``dict`` or ``list``.

    Raises:
        InputError: the folder or file is missing, the file is not valid JSON, or its contents have another type.
        OSError: the file cannot be read.
    """
    path = folder / name
    if not folder.is_dir():
        if folder.is_file():
            raise InputError(
                f"{folder}: is a file; {command_line('agree', folder, '--out', 'RUN')} makes a run of its scores"
            )
        raise InputError(no_such_file(folder, lambda path: (path / "run.json").is_file(), "run folder"))
    if not path.is_file():
        raise InputError(f"{folder}: is not a run folder, {name} is missing")
    try:
        # earlier versions wrote file names that are not UTF-8 as lone surrogates
        contents = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    # RecursionError: objects nested too deeply for Python's parser
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is not valid JSON ({error})") from error
    if not isinstance(contents, json_type):
        json_name = "object" if json_type is dict else "list"
        raise InputError(f"{path}: should hold a JSON {json_name}")
    return contents


def _validate_contents(adapter: TypeAdapter[Value], values: object, file: Path) -> Value:
    """Return the parsed contents of a JSON file as typed objects.

    Args:
        adapter: the pydantic adapter of the expected type.
        values: the parsed contents.
        file: the path of the file, for messages.

    Raises:
        InputError: a value is missing or has another type than assay writes.
    """
    try:
        return adapter.validate_python(values)
    except ValidationError as error:
        first_error = error.errors()[0]
        key = ".".join(map(str, first_error["loc"]))
        raise InputError(
            f"{file}: {key}: {first_error['msg']}; the file was changed, run the same command again to restore it"
        ) from None


def _with_metric_directions(manifest: Manifest, agreement: Sequence[AgreementRow]) -> Manifest:
    """Return the manifest with ``higher_is_better`` set for every metric.

    Earlier versions of assay did not write it; their agreement tables have a note on each metric whose sign was turned.
    """
    lower_is_better = {row.metric for row in agreement if any("sign turned" in note for note in row.notes)}
    metrics = []
    for metric in manifest.metrics:
        if "higher_is_better" in metric.declared.model_fields_set:
            metrics.append(metric)
        else:
            declared = metric.declared.model_copy(update={"higher_is_better": metric.metric not in lower_is_better})
            metrics.append(metric.model_copy(update={"declared": declared}))
    return manifest.model_copy(update={"metrics": metrics})


def run_titles(runs: Sequence[RunFolder]) -> list[str]:
    """Return a distinct title for each run: the name of its folder or source, or its path if runs share that name.

    Raises:
        InputError: two runs have the same path.
    """
    paths = []
    for run in runs:
        path = run.source or run.path
        paths.append(None if path is None else path.resolve())
    twice = next((path for path in paths if path is not None and paths.count(path) > 1), None)
    if twice is not None:
        raise InputError(f"{twice}: is given twice; give each run once")
    names = [run.title if path is None else path.name for path, run in zip(paths, runs, strict=True)]
    return [name if names.count(name) == 1 else run.title for name, run in zip(names, runs, strict=True)]


# Checks for files changed by hand: duplicates, and rows that the manifest does not list.


def check_tables_match_manifest(run: RunFolder, folder: Path) -> None:
    """Check that the tables of a run folder hold only datasets and metrics that ``run.json`` lists.

    Readers skip rows that the manifest does not list. Without this check, inserted numbers, or numbers of a metric that
    was removed from the manifest, would go unnoticed.

    Args:
        run: the run, as read from *folder*.
        folder: the run folder; :func:`assay.analysis.data.read_datasets` must be able to read its tables.

    Raises:
        InputError: ``run.json`` lists a dataset, or a metric on one dataset, more than once; or another file has rows
            of a dataset, split or metric of which ``run.json`` has no scores.
    """
    datasets, metrics = run.manifest.datasets, run.manifest.metrics
    metric_texts = [_metric_on_dataset_text(metric.metric, metric.dataset) for metric in metrics]
    _raise_for_names(run, "run.json lists {} twice", _duplicates(dataset.name for dataset in datasets))
    _raise_for_names(run, "run.json lists {} twice", _duplicates(metric_texts))
    splits = {dataset.name: dataset.split for dataset in datasets}
    scored_metrics = {(metric.dataset, metric.metric) for metric in metrics if metric.is_done}

    rows = {(row.dataset, row.split, row.metric) for row in run.agreement}
    unlisted_datasets = {dataset for dataset, _, _ in rows} - set(splits)
    _raise_for_names(run, "agreement.json has rows of {}, which run.json does not list", unlisted_datasets)
    unlisted_splits = {f"{dataset}, split {split!r}" for dataset, split, _ in rows if split != splits[dataset]}
    _raise_for_names(run, "agreement.json has rows of {}, which run.json does not list", unlisted_splits)
    unscored = {(dataset, metric) for dataset, _, metric in rows} - scored_metrics
    unscored_texts = [_metric_on_dataset_text(metric, dataset) for dataset, metric in unscored]
    _raise_for_names(run, "agreement.json has rows of {}, of which run.json has no scores", unscored_texts)

    datasets_of_pairs = {dataset for (dataset,) in _distinct_rows(folder / "pairs.parquet", "dataset")}
    _raise_for_names(
        run, "pairs.parquet has pairs of {}, which run.json does not list", datasets_of_pairs - set(splits)
    )
    score_keys = _distinct_rows(folder / "scores.parquet", "dataset", "metric")
    unlisted_texts = [_metric_on_dataset_text(metric, dataset) for dataset, metric in score_keys - scored_metrics]
    _raise_for_names(run, "scores.parquet has scores of {}, of which run.json has none", unlisted_texts)


def _raise_for_names(run: RunFolder, problem: str, names: Iterable[str]) -> None:
    """Raise InputError if there are any names, which replace the ``{}`` in *problem*."""
    sorted_names = sorted(names)
    if sorted_names:
        names_text = ", ".join(sorted_names)
        raise InputError(f"{run.title}: {problem.format(names_text)}: the folder was changed; run it again")


def _duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _metric_on_dataset_text(metric: str, dataset: str) -> str:
    return f"{metric} on {dataset}"


def _distinct_rows(file: Path, *columns: str) -> set[tuple[str, ...]]:
    """Return the distinct rows of some text columns of a Parquet file; empty if the file lacks one of the columns."""
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


def missing_metric_lines(runs: Sequence[RunFolder]) -> list[str]:
    """Return a line, with reason and remedy, for each metric that was requested from a run but has no scores.

    The lines are in the order of the runs; equal lines are listed once.
    """
    lines: list[str] = []
    for run in runs:
        for metric in run.manifest.metrics:
            if not metric.is_done:
                lines.append(Message(f"{metric.metric} on {metric.dataset}: ", metric.missing_reason))
    return list(dict.fromkeys(lines))
