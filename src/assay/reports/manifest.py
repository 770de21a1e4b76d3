"""The manifest and the agreement table of a run as reports read them, checked before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from assay.errors import InputError

__all__ = ["Environment", "Manifest", "check_manifest"]


class _Part(BaseModel):
    # what is not read here may be anything; a number written as text was written by hand
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class _Asked(_Part):
    name: str
    other_columns: str | None = None


class _Request(_Part):
    datasets: list[_Asked]
    buckets: list[str]
    statistics: list[
        Literal["pearson", "spearman", "kendall", "kendall-tau-c", "pairwise-accuracy", "auc", "pair-accuracy"]
    ] = Field(min_length=1)
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
