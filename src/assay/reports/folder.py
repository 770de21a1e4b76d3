"""Reading a run folder: its manifest and agreement table are validated first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from assay.errors import InputError
from assay.statistics.coefficients import check_statistics
from assay.tables import RUN_SCHEMA

__all__ = ["Environment", "Manifest", "RunFolder", "check_manifest", "check_strays", "read_run", "run_titles"]


# The manifest and the agreement table of a run as reports read them, checked before any work.


class _Part(BaseModel):
    # what is not read here may be anything; a number written as text was written by hand
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


def _registered_statistic(name: str) -> str:
    """Return the name of a statistic; a run of a newer assay may have one that this assay lacks."""
    try:
        check_statistics((name,))
    except InputError as error:
        raise PydanticCustomError("statistic", "{reason}", {"reason": str(error)}) from None
    return name


class _Asked(_Part):
    name: str
    other_columns: str | None = None


class _Request(_Part):
    datasets: list[_Asked]
    buckets: list[str]
    statistics: list[Annotated[str, AfterValidator(_registered_statistic)]] = Field(min_length=1)
    resamples: int
    confidence: float
    drop_duplicates: bool
    seed: int
    limit: int | None
    references: Literal["best", "mean"]
    graphs: dict[str, list[str]] = {}


class _Dataset(_Part):
    name: str
    version: str
    split: str
    language: str | None
    n: int
    source: str
    sha256: str
    columns: str | None = None
    digest: str
    group: str | None
    kind: str
    scale: list[float] | None
    notes: list[str]


class _Declared(_Part):
    kind: str = ""
    low: float | None = None
    high: float | None = None
    higher_is_better: bool = True
    aspect: str = ""
    whole: str = ""


class _Cost(_Part):
    pairs_per_second: float | None = None


class _Metric(_Part):
    dataset: str
    metric: str
    status: str
    reason: str
    remedy: str
    short_signature: str
    signature: dict[str, str]
    declared: _Declared = _Declared()
    says: str = ""
    flags: dict[str, int] = {}
    cost: _Cost = _Cost()


class _Reliability(_Part):
    pearson: float | None
    spearman: float | None
    annotators: int


class _Bucket(_Part):
    dataset: str
    split: str
    bucket: str
    n: int
    labels: dict[str, float]
    ties: float | None
    ceiling: dict[str, float | None]
    reliability: _Reliability | None
    groups: int | None


class Environment(_Part):
    """Where a run was made; empty where it was not recorded."""

    python: str = ""
    machine: str = ""
    packages: dict[str, str] = {}
    argv: list[str] = []


class Manifest(_Part):
    """The parts of ``run.json`` that are read."""

    created: str = "an unknown day"
    signature: str
    request: _Request
    datasets: list[_Dataset]
    metrics: list[_Metric]
    buckets: list[_Bucket]
    environment: Environment = Environment()


class _Row(_Part):
    dataset: str
    split: str
    bucket: str
    metric: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    note: str


_ROWS = TypeAdapter(list[_Row])


def check_manifest(where: Path, manifest: object, agreement: object) -> Manifest:
    """Return the manifest of the run folder *where*, checked; its agreement table is checked as well.

    Raises:
        InputError: a value is missing, or of another kind than assay writes.
    """
    file = "run.json"
    try:
        checked = Manifest.model_validate(manifest)
        file = "agreement.json"
        _ROWS.validate_python(agreement)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{where / file}: {place}: {first['msg']}; the file was changed, run the same line again to get it back"
        ) from None
    return checked


# Reading a run folder.


@dataclass(frozen=True)
class RunFolder:
    """A run as it stands on disk.

    Attributes:
        path: the folder, or None for a run that was not written.
        manifest: ``run.json``.
        agreement: ``agreement.json``, one object a number.
        source: what the user named, where that is not the folder: a file with scores.
    """

    path: Path | None
    manifest: dict[str, Any]
    agreement: list[dict[str, Any]]
    source: Path | None = None

    @property
    def title(self) -> str:
        """How messages name it."""
        named = self.source or self.path
        return "this run" if named is None else str(named)


def read_run(path: Path) -> RunFolder:
    """Read a run folder.

    Raises:
        InputError: a file is missing or broken, or was written by a newer assay; the folder's name is no UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        # PyArrow opens no file there
        raise InputError(f"{str(path)!r}: this name is no UTF-8; rename the folder") from None
    manifest = _read(path, "run.json", dict)
    schema = manifest.get("schema")
    if not isinstance(schema, int):
        raise InputError(f"{path / 'run.json'}: has no schema version; is this a run folder of assay?")
    if schema > RUN_SCHEMA:
        raise InputError(
            f"{path}: was written by a newer assay (schema {schema}, this one reads up to {RUN_SCHEMA}); "
            "update assay with: pip install --upgrade assay"
        )
    agreement = _read(path, "agreement.json", list)
    check_manifest(path, manifest, agreement)
    return RunFolder(path, manifest, agreement)


def run_titles(runs: Sequence[RunFolder]) -> list[str]:
    """Return what to call each run: the name of its folder or file, or the path where two have the same name.

    Raises:
        InputError: a run is given twice.
    """
    places = [named.resolve() if (named := run.source or run.path) else None for run in runs]
    for place in places:
        if place is not None and places.count(place) > 1:
            raise InputError(f"{place}: is given twice; give each run once")
    names = [place.name if place else run.title for place, run in zip(places, runs, strict=True)]
    return [name if names.count(name) == 1 else run.title for name, run in zip(names, runs, strict=True)]


def _read(folder: Path, name: str, kind: type) -> Any:
    path = folder / name
    if not folder.is_dir():
        if folder.is_file():
            raise InputError(f"{folder}: is a file; assay agree {folder} --out RUN makes a run of its scores")
        raise InputError(f"{folder}: there is no such run folder")
    if not path.is_file():
        raise InputError(f"{folder}: is no run folder, {name} is missing")
    try:
        # earlier versions wrote as it was what of a file's name is no UTF-8
        value = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is no valid JSON ({error})") from error
    if not isinstance(value, kind):
        raise InputError(f"{path}: should hold a JSON {'object' if kind is dict else 'list'}")
    return value


# What stands in a run folder twice, or that its manifest does not know: the mark of a file changed by hand.


def check_strays(run: RunFolder, folder: Path) -> None:
    """Raise where the files of a folder speak of other datasets or metrics than ``run.json``.

    Readers pass over what the manifest does not name, so that a number which was put in, or one whose metric was taken
    out, would never be looked at.

    Args:
        run: as read from *folder*.
        folder: its tables are such that :func:`assay.reports.data.read_datasets` could read them.

    Raises:
        InputError: ``run.json`` has a dataset, or a metric of one, twice; another file has rows of a dataset, split or
            metric of which it has no scores.
    """
    datasets, statuses = run.manifest["datasets"], run.manifest["metrics"]
    _refuse(run, "run.json lists {} twice", _repeated(one["name"] for one in datasets))
    _refuse(run, "run.json lists {} twice", _repeated(_of(one["metric"], one["dataset"]) for one in statuses))
    splits = {one["name"]: one["split"] for one in datasets}
    done = {(one["dataset"], one["metric"]) for one in statuses if one["status"] == "done"}

    rows = {(row["dataset"], row["split"], row["metric"]) for row in run.agreement}
    unknown = {dataset for dataset, _, _ in rows} - set(splits)
    _refuse(run, "agreement.json has rows of {}, of which run.json knows nothing", unknown)
    unknown = {f"{dataset}, split {split!r}" for dataset, split, _ in rows if split != splits[dataset]}
    _refuse(run, "agreement.json has rows of {}, of which run.json knows nothing", unknown)
    unknown = {_of(metric, dataset) for dataset, _, metric in rows if (dataset, metric) not in done}
    _refuse(run, "agreement.json has rows of {}, of which run.json has no scores", unknown)

    unknown = {dataset for (dataset,) in _held(folder / "pairs.parquet", "dataset")} - set(splits)
    _refuse(run, "pairs.parquet has pairs of {}, of which run.json knows nothing", unknown)
    scored = _held(folder / "scores.parquet", "dataset", "metric")
    unknown = {_of(metric, dataset) for dataset, metric in scored if (dataset, metric) not in done}
    _refuse(run, "scores.parquet has scores of {}, of which run.json has none", unknown)


def _refuse(run: RunFolder, said: str, names: Iterable[str]) -> None:
    if found := sorted(names):
        raise InputError(f"{run.title}: {said.format(', '.join(found))}: the folder was changed; run it again")


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _of(metric: str, dataset: str) -> str:
    return f"{metric} on {dataset}"


def _held(file: Path, *columns: str) -> set[tuple[str, ...]]:
    """Return which combinations of names stand in these columns of a table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not set(columns) <= set(pq.read_schema(file).names):
        # a run without pairs has tables without columns
        return set()
    table = pq.read_table(file, columns=list(columns))
    # names that repeat are a dictionary, which cannot be grouped over several parts
    table = table.cast(pa.schema([(column, pa.string()) for column in columns]))
    found = table.group_by(list(columns)).aggregate([]).to_pylist()
    return {tuple(str(row[column]) for column in columns) for row in found}
