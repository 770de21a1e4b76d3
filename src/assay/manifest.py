"""The contents of ``run.json`` and ``agreement.json``, as objects that a run fills and every report reads.

A value that is missing, or of another type than assay writes, is refused when a folder is read. A key that is not
declared here is ignored, so that a newer assay may add some. A default stands for what older folders did not record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from assay.errors import InputError
from assay.statistics.coefficients import check_statistics
from assay.tables import RUN_SCHEMA

Status = Literal["done", "failed", "unavailable", "not applicable"]


class _Record(BaseModel):
    # strict: a number written as text was written by hand
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class RequestedDataset(_Record):
    """A dataset as the run was asked for it; `other_columns` digests the columns that decide no score."""

    name: str
    version: str = ""
    split: str = ""
    language: str | None = None
    digest: str = ""
    other_columns: str | None = None


def _registered_statistic(name: str) -> str:
    """Return the name of a statistic; a run of a newer assay may have one that this assay lacks."""
    try:
        check_statistics((name,))
    except InputError as error:
        raise PydanticCustomError("statistic", "{reason}", {"reason": str(error)}) from None
    return name


class RequestRecord(_Record):
    """What the run was asked to do; see :class:`assay.benchmark.request.Request`.

    Attributes:
        unavailable: datasets that could not be loaded: name to reason.
        metrics: names as they were typed, in the order of the tables; with an alias ``ALIAS=NAME``.
        recorded_files: SHA-256 of the files that recorded scores were read from, by path.
        buckets: rules.
        controls: rules of what agreement was adjusted for.
        statistics: names of coefficients, in the order of the tables.
        resamples: 0 for no intervals.
        interval: how intervals were made, see :data:`assay.statistics.coefficients.INTERVALS`; all by resamples in
            folders of an assay that did not record it.
        confidence: level of the intervals, in (0.5, 1).
        graphs: files of AMR graphs that were joined to the pairs, by side.
    """

    suite: str | None = None
    datasets: list[RequestedDataset]
    unavailable: dict[str, str] = {}
    metrics: list[str] = []
    recorded_files: dict[str, str] = {}
    buckets: list[str]
    controls: list[str] = []
    statistics: list[Annotated[str, AfterValidator(_registered_statistic)]] = Field(min_length=1)
    resamples: int
    interval: Literal["auto", "bootstrap", "influence"] = "bootstrap"
    confidence: float
    group_by: str | None = None
    drop_duplicates: bool
    seed: int
    limit: int | None
    sample: int | None = None
    references: Literal["best", "mean"]
    graphs: dict[str, list[str]] = {}


class DatasetRecord(_Record):
    """A dataset as the run used it.

    Attributes:
        version: of its card; empty for a file or pairs from Python.
        split: empty where there are none.
        kind: who made the labels; see :data:`assay.tables.NOT_BY_PEOPLE`.
        scale: lowest and highest label possible; None where unknown.
        n: pairs that were used.
        source: where the pairs were read.
        sha256: of the file.
        columns, separator, labels, drop_unlabelled: the settings that the file was read with; ``columns`` is None in
            folders of an assay that did not record it.
        digest: of the pairs.
        notes: what a reader should know of the data.
        group: the column whose values were resampled whole; None where single pairs were.
        hints: what the user may have meant otherwise, such as several gold answers that were read as one.
        grouping: a hint, where single pairs were resampled and a column looks like groups; else empty.
    """

    name: str
    version: str
    split: str
    language: str | None
    kind: str
    # JSON has lists only
    scale: Annotated[tuple[int | float, int | float] | None, Field(strict=False)]
    n: int = Field(ge=0)
    source: str
    sha256: str
    columns: str | None = None
    separator: str | None = None
    labels: str | None = None
    drop_unlabelled: bool = False
    digest: str
    notes: list[str]
    duplicates_dropped: int = 0
    group: str | None
    hints: list[str] = Field(default_factory=list)
    grouping: str = ""

    @property
    def title(self) -> str:
        """Name with version and split, as tables show it."""
        version = f"@{self.version}" if self.version else ""
        split = f" ({self.split})" if self.split else ""
        return f"{self.name}{version}{split}"


class RecordedDeclaration(_Record):
    """What a metric declared of its scores; empty where it gave none.

    Attributes:
        kind: its family, such as ``lexical``.
        low, high: bounds of its scores; None where infinite or unknown.
        aspect: the aspect of meaning that it measures; empty for a metric of the whole.
        whole: name of the metric that it is an aspect of; empty for a metric of the whole.
    """

    kind: str = ""
    low: float | None = None
    high: float | None = None
    higher_is_better: bool = True
    aspect: str = ""
    whole: str = ""

    @model_serializer(mode="wrap")
    def _only_declared(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if name in self.model_fields_set}


class Asymmetry(_Record):
    """How far the scores of the two orders of the texts lie apart, over `pairs` distinct pairs."""

    mean: float
    largest: float
    pairs: int


class Cost(_Record):
    """What scoring took; empty where the store had all scores, but for a price that is known all the same.

    Attributes:
        pairs_per_second: distinct pairs; None where they were not timed.
        price_per_1000: price of 1,000 distinct pairs, in the currency of the user's own price list; 0 for a model on
            this machine that reports one, None where no price is known.
        details: what else the engine reports, such as seconds to load, parameters, devices; of a preset with several
            models, the cost of each by its number. In ``run.json`` these keys are among the others.
        peak_memory_mb: of the process, in MB (10⁶ bytes).
        asymmetry: None for a metric that reads one order of the texts.
        shared_with: metrics that were scored in the same pass.
    """

    pairs_per_second: float | None = Field(default=None, ge=0)
    price_per_1000: float | None = Field(default=None, ge=0)
    details: dict[str, Any] = {}
    peak_memory_mb: int | float | None = Field(default=None, ge=0)
    asymmetry: Asymmetry | None = None
    shared_with: list[str] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing was measured."""
        return self == Cost()

    @model_validator(mode="before")
    @classmethod
    def _gather_details(cls, values: Any) -> Any:
        """Collect keys that are not declared in `details`."""
        if not isinstance(values, dict) or values.keys() <= cls.model_fields.keys():
            return values
        known = {key: value for key, value in values.items() if key in cls.model_fields}
        return known | {"details": {key: value for key, value in values.items() if key not in known}}

    @model_serializer
    def _flatten(self) -> dict[str, Any]:
        before = {"pairs_per_second": self.pairs_per_second, "price_per_1000": self.price_per_1000}
        after = {"peak_memory_mb": self.peak_memory_mb, "asymmetry": self.asymmetry, "shared_with": self.shared_with}
        return _present(before) | self.details | _present(after)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, [])}


#: Kinds of metrics that are computed on the machine of the run; other kinds, such as a function of one's own, may pay
#: somebody else for it.
_LOCAL_KINDS = frozenset({"lexical", "embedding", "cross-encoder", "amr"})

#: A version of a package in a signature: three numbers or more.
_VERSION = re.compile(r"\d+(\.\d+){2,}\S*")
#: Parts of a signature that are digests of what the subject names: the path to it does not matter then.
_DIGESTS = frozenset({"digest", "vectors"})


def identity_of(
    signature: Mapping[str, str], *, weights: bool = True, versions: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return what makes a metric the same in two runs: its signature without versions of packages and without paths.

    Args:
        signature: of the metric.
        weights: whether the digest of its model counts; without it other weights of one kind are the same.
        versions: whether the versions of packages count as well.
    """
    keys = {key.rpartition(".")[2] for key in signature}
    parts = []
    for key, value in signature.items():
        part = key.rpartition(".")[2]
        is_path = part == "subject" and keys & _DIGESTS
        is_version = _VERSION.fullmatch(value) is not None
        if not is_path and (versions or not is_version) and (weights or part not in _DIGESTS):
            parts.append((key, value))
    return tuple(sorted(parts))


class MetricRecord(_Record):
    """How one metric fared on one dataset.

    Attributes:
        metric: its name, as asked for.
        status: ``done``; ``failed`` (an error in the metric); ``unavailable`` (something is not installed: *remedy* is
            the command that installs it); ``not applicable`` (not made for this language).
        reason: why it is not done.
        remedy: the command that makes it available.
        seconds: wall time for scoring, without what the store had; work shared with other metrics counts for each.
        scored: distinct pairs scored in this run.
        stored: distinct pairs whose score the store had.
        short_signature: the short line that lets another person get the same scores.
        signature: everything that changes the score, by part; of a preset with several models, numbered.
        declared: what the metric promises.
        says: what a reader should know, such as the model that a preset took.
        flags: number of pairs by what is to be known of them: truncated, empty.
        cost: what scoring took.
    """

    dataset: str
    metric: str
    status: Status
    reason: str
    remedy: str
    seconds: float = Field(default=0.0, ge=0)
    scored: int = Field(default=0, ge=0)
    stored: int = Field(default=0, ge=0)
    short_signature: str
    signature: dict[str, str]
    declared: RecordedDeclaration = RecordedDeclaration()
    says: str = ""
    flags: dict[str, int] = {}
    cost: Cost = Cost()

    @classmethod
    def without_scores(cls, dataset: str, metric: str, status: Status, reason: str, remedy: str = "") -> MetricRecord:
        """Return the record of a metric that gave no scores."""
        return cls(
            dataset=dataset,
            metric=metric,
            status=status,
            reason=reason,
            remedy=remedy,
            short_signature="",
            signature={},
        )

    @property
    def is_done(self) -> bool:
        """Whether the run has its scores."""
        return self.status == "done"

    @property
    def price_per_1000(self) -> float | None:
        """Price of 1,000 distinct pairs: of its cost, or 0 where it runs on this machine; None where unknown."""
        if self.cost.price_per_1000 is None and self.declared.kind in _LOCAL_KINDS and "calls" not in self.cost.details:
            return 0.0
        return self.cost.price_per_1000

    @property
    def why_missing(self) -> str:
        """Status, reason and remedy of a metric that gave no scores."""
        return f"{self.status}, {self.reason}" + (f" -> {self.remedy}" if self.remedy else "")


class AnnotatorReliability(_Record):
    """Split-half reliability of the mean label in a bucket; see :mod:`assay.statistics.reliability`.

    Attributes:
        pearson, spearman: reliability; None where it cannot be estimated.
        annotators: largest number of labels of a pair.
        n: pairs with at least two labels.
        splits: number of splits.
        lengths: of first half, second half and whole, by which the correlation of halves was stepped up. Older folders
            do not have them: they took the whole as twice a half, too little where numbers of annotators are odd.
        bound_pearson, bound_spearman: the highest correlation that a metric can have with the mean label, the square
            root of its reliability; None where that is unknown.
        alpha: Krippendorff's alpha by level of measurement; empty for older folders.
        annotators_pearson, annotators_spearman: of each annotator with the mean of the others; empty where it is
            unknown who gave which label, and for older folders.
        is_of_label: whether the label is the mean of the annotators' labels, on any scale, so that this is its
            reliability; data may come with a label that was made of them in another way.
    """

    pearson: float | None
    spearman: float | None
    annotators: int
    n: int = 0
    splits: int = 0
    lengths: list[float] | None = None
    bound_pearson: float | None = None
    bound_spearman: float | None = None
    alpha: dict[str, float | None] = {}
    annotators_pearson: list[float | None] = []
    annotators_spearman: list[float | None] = []
    is_of_label: bool = True


class BucketRecord(_Record):
    """What a bucket holds.

    Attributes:
        labels: number of pairs per label where there are at most ten labels, else the quartiles.
        ties: share of comparisons (pairs of items) with equal labels, in [0, 1].
        ceiling: the best a tie-free score could reach, by statistic.
        reliability: of the annotators, where the data has them.
        groups: number of groups that were resampled, or None.
        about: what the numbers of an adjusted block are; empty for the pairs of a bucket.
    """

    dataset: str
    split: str
    bucket: str
    n: int = Field(ge=0)
    labels: dict[str, float]
    ties: float | None
    ceiling: dict[str, float | None]
    reliability: AnnotatorReliability | None
    groups: int | None
    about: str = ""


class Environment(_Record):
    """Where a run was made; empty where it was not recorded.

    Attributes:
        argv: the words after ``assay``; empty for a run from Python.
        configuration: the file that gave the command line defaults; empty where none did.
        configured: the settings that it gave, by name, less those that the command line changed.
    """

    python: str = ""
    platform: str = ""
    machine: str = ""
    cpus: int | None = None
    packages: dict[str, str] = {}
    argv: list[str] = []
    configuration: str = ""
    configured: dict[str, Any] = {}


class Manifest(_Record):
    """``run.json``.

    Attributes:
        created: when, as ISO 8601; empty where it was not recorded.
        request: what the run was asked to do.
        request_digest: two runs with the same one may share a folder.
        signature: one line that says how the numbers were resampled.
        failures: what was asked for and could not be done, a line each.
        seconds: wall time by phase.
    """

    # `schema` is a method of pydantic's models
    layout: int = Field(default=RUN_SCHEMA, alias="schema")
    created: str = ""
    request: RequestRecord
    request_digest: str = ""
    signature: str
    datasets: list[DatasetRecord]
    metrics: list[MetricRecord]
    buckets: list[BucketRecord]
    failures: list[str] = []
    seconds: dict[str, float] = {}
    environment: Environment = Environment()

    def plain(self) -> dict[str, Any]:
        """Return it as it is written to ``run.json``."""
        return self.model_dump(by_alias=True)

    @property
    def has_scores(self) -> bool:
        """Whether any metric gave scores on any dataset."""
        return any(metric.is_done for metric in self.metrics)


class AgreementRow(_Record):
    """One row of the agreement table: a coefficient of one metric on one bucket, with its interval.

    Attributes:
        value: None where it is undefined.
        low, high: bounds of its interval; None where there is none.
        n: pairs it was computed on.
        note: why it is undefined, or what else a reader should know.
    """

    dataset: str
    split: str
    bucket: str
    metric: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    n: int = Field(ge=0)
    note: str

    def plain(self) -> dict[str, Any]:
        """Return it with the keys of the agreement table."""
        return self.model_dump()


#: The columns of ``agreement.csv``.
AGREEMENT_COLUMNS = tuple(AgreementRow.model_fields)
