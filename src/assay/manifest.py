"""The contents of ``run.json`` and ``agreement.json``, as objects that runs write and reports read.

When a folder is read, a missing value or a value of the wrong type is refused. Unknown keys are ignored, so that a
newer assay may add keys. Defaults are for values that older folders did not record.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from assay.common.addresses import public_address, public_text, public_values
from assay.common.declarations import declarations_of, to_tuple
from assay.common.messages import Message
from assay.common.numbers import NOTE_SEPARATOR, Number
from assay.common.tables import RUN_SCHEMA
from assay.exceptions import InputError
from assay.settings import DEFAULT_BUCKETS, RequestSettings
from assay.statistics.coefficients import DEFAULT_STATISTICS, check_statistics

Status = Literal["done", "failed", "unavailable", "not applicable"]
#: Texts that may hold addresses. Their secrets are left out when a folder is written, and when one is read that an
#: assay wrote which did not do so.
PublicAddress = Annotated[str, AfterValidator(public_address)]
PublicText = Annotated[str, AfterValidator(public_text)]


def _keep_message(text: Any, check: ValidatorFunctionWrapHandler) -> str:
    """Return a message as it is, since Pydantic would make it plain text."""
    return text if isinstance(text, Message) else check(text)


#: A line for users. In the process of the run it may be a message, whose settings the command line shows as flags.
Line = Annotated[str, WrapValidator(_keep_message)]


class _Record(BaseModel):
    """A frozen object of a run folder, whose fields are the keys of a JSON object; unknown keys are ignored."""

    # strict, since a number written as text was edited by hand
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class RequestedDataset(_Record):
    """A dataset as requested.

    Attributes:
        digest: the digest of its pairs.
        other_columns: the digest of the columns that affect no score; None in folders that did not record it.
    """

    name: str
    version: str = ""
    split: str = ""
    language: str | None = None
    digest: str = ""
    other_columns: str | None = None


def _check_statistic_name(name: str) -> str:
    """Return the name of a statistic unchanged if this assay has it; a run of a newer assay may have others.

    Raises:
        PydanticCustomError: this assay has no such statistic.
    """
    try:
        check_statistics((name,))
    except InputError as error:
        raise PydanticCustomError("statistic", "{reason}", {"reason": str(error)}) from None
    return name


#: The name of a statistic that this assay has.
StatisticName = Annotated[str, AfterValidator(_check_statistic_name)]
#: Settings that runs recorded from the start: they count in every digest, also where they have their default.
_IN_EVERY_FOLDER = frozenset(
    {
        "buckets",
        "statistics",
        "resamples",
        "confidence",
        "group_by",
        "drop_duplicates",
        "seed",
        "limit",
        "references",
    }
)
#: The fields of a request that are no part of its digest, each with the reason.
NOT_IN_DIGEST = {"graphs": "the digests of the datasets cover the graphs, wherever their files lie"}
#: The fields of a request that are no part of the signature of the run, each with the reason.
NOT_IN_SIGNATURE = {
    "suite": "a name for datasets and metrics",
    "datasets": "have digests of their own",
    "unavailable": "has no numbers",
    "metrics": "have signatures of their own",
    "recorded_files": "the signatures of the metrics have their digests",
    "graphs": "the digests of the datasets cover the graphs",
    "interval": "the signature says which intervals were computed how",
}


class RequestRecord(BaseModel, RequestSettings, frozen=True):
    """The request of the run: what was to be scored, and by which settings agreement was to be computed.

    It is the one list of what determines the numbers of a run; digest and signature follow from it.

    Attributes:
        suite: the name of the suite; None without one.
        unavailable: the reason for each dataset that could not be loaded, by name.
        metrics: the metric names as typed, in the order of the tables; with an alias, ``ALIAS=NAME``.
        recorded_files: the SHA-256 of each file that recorded scores were read from, by path.
        graphs: the files of AMR graphs that were joined to the pairs, by side.
        statistics: the names of the coefficients, in the order of the tables.
    """

    model_config = _Record.model_config

    suite: str | None = None
    datasets: list[RequestedDataset]
    unavailable: dict[PublicAddress, PublicText] = {}
    metrics: list[str] = []
    recorded_files: dict[str, str] = {}
    graphs: dict[str, list[str]] = {}
    # as a request that names none resolves them
    buckets: Sequence[str] = DEFAULT_BUCKETS
    statistics: Sequence[StatisticName] = Field(DEFAULT_STATISTICS, min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _complete_older_record(cls, values: Any) -> Any:
        """Return the values with what older folders did not record: resampled intervals, and groups of the data.

        Anything but a dictionary is returned unchanged, for pydantic to refuse.

        Raises:
            PydanticCustomError: a setting is missing that every folder has.
        """
        if not isinstance(values, dict):
            return values
        completed = {"interval": "bootstrap", "group_by": None} | values
        missing = sorted(_IN_EVERY_FOLDER - completed.keys())
        if missing:
            raise PydanticCustomError("missing", "{names} missing", {"names": ", ".join(missing)})
        return completed

    def digest(self) -> str:
        """Return the SHA-256 of the request in hexadecimal; a run may replace the folder of one with the same digest.

        Settings that older folders did not record count where they differ from their default, so that a request keeps
        its digest when assay gets a new setting. The fields in :data:`NOT_IN_DIGEST` do not count.
        """
        later_settings = declarations_of(RequestSettings).keys() - _IN_EVERY_FOLDER
        later_defaults = {name for name in later_settings if self._has_default(name)}
        values = self.model_dump(exclude={*NOT_IN_DIGEST, *later_defaults})
        text = json.dumps(values, sort_keys=True, ensure_ascii=False)
        # surrogatepass, because file names may hold bytes that are no UTF-8
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def signature_parts(self) -> dict[str, str]:
        """Return the settings for the signature of the run as texts, by key.

        Those of resampling, and how several gold answers, duplicates and a limit were treated, are always there; the
        others where they differ from their default. The fields in :data:`NOT_IN_SIGNATURE` are left out.
        """
        always = {
            "resamples": self.resamples,
            "confidence": self.confidence,
            "seed": self.seed,
            "group_by": self.group_by or "data",
            "references": self.references,
            "drop_duplicates": "dropped" if self.drop_duplicates else "kept",
            "limit": self.limit or "none",
        }
        keys = {"group_by": "group", "drop_duplicates": "duplicates"}
        value_by_key = {keys.get(name, name): str(value) for name, value in always.items()}
        for name in type(self).model_fields:
            if name not in always and name not in NOT_IN_SIGNATURE and not self._has_default(name):
                value_by_key[name] = ",".join(map(str, to_tuple(getattr(self, name))))
        return value_by_key

    def _has_default(self, name: str) -> bool:
        value = getattr(self, name)
        # JSON has lists but no tuples
        return bool((tuple(value) if isinstance(value, list) else value) == type(self).model_fields[name].default)


class DatasetRecord(_Record):
    """A dataset as the run used it.

    Attributes:
        version: the version of its card; empty for a file or pairs from Python.
        split: the name of the split; empty if the dataset has no splits.
        kind: the origin of the labels; see :data:`assay.common.tables.NOT_BY_PEOPLE`.
        scale: the lowest and highest possible label; None if unknown.
        n: the number of pairs used.
        source: the path or address that the pairs were read from.
        sha256: the SHA-256 of the file.
        columns, separator, labels, drop_unlabelled, missing, annotator, encoding, member: the settings that the file
            was read with; ``columns`` is None in folders of an assay that did not record it.
        digest: the digest of the pairs.
        notes: notes on the data for readers.
        group: the column whose values were resampled as whole groups; None if single pairs were resampled.
        hints: hints on possible mistakes, such as several gold answers that were read as one.
        grouping: a hint on a column that looks like groups when single pairs were resampled; else empty.
    """

    name: str
    version: str
    split: str
    language: str | None
    kind: str
    # not strict, since JSON has lists but no tuples
    scale: Annotated[tuple[int | float, int | float] | None, Field(strict=False)]
    n: int = Field(ge=0)
    source: PublicAddress
    sha256: str
    columns: str | None = None
    separator: str | None = None
    labels: str | dict[str, float] | None = None
    drop_unlabelled: bool = False
    missing: str | list[str] | None = None
    annotator: str | None = None
    encoding: str | None = None
    member: str | None = None
    digest: str
    notes: list[str]
    duplicates_dropped: int = 0
    group: str | None
    hints: list[str] = Field(default_factory=list)
    grouping: str = ""

    @property
    def title(self) -> str:
        """The name with version and split, as tables show it."""
        version = f"@{self.version}" if self.version else ""
        split = f" ({self.split})" if self.split else ""
        return f"{self.name}{version}{split}"


class RecordedDeclaration(_Record):
    """The declaration of a metric about its scores; empty if it returned none.

    Attributes:
        kind: the family of the metric, such as ``lexical``.
        low, high: the bounds of its scores; None if infinite or unknown.
        aspect: the aspect of meaning that it measures; empty for a metric of the whole meaning.
        whole: the name of the metric that it is an aspect of; empty for a metric of the whole meaning.
    """

    kind: str = ""
    low: float | None = None
    high: float | None = None
    higher_is_better: bool = True
    aspect: str = ""
    whole: str = ""

    @model_serializer(mode="wrap")
    def _serialize_given_fields(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return only the fields that were given, so that a record without a declaration does not declare defaults."""
        return {name: value for name, value in serialize(self).items() if name in self.model_fields_set}


class Asymmetry(_Record):
    """The difference between the scores of a pair in both orders of its texts.

    Attributes:
        mean, largest: the mean and the largest absolute difference.
        pairs: the number of distinct pairs that were scored in both orders.
    """

    mean: float
    largest: float
    pairs: int


class Cost(_Record):
    """The cost of scoring; empty, except for a known price and speed, if the store had all scores.

    Attributes:
        pairs_per_second: the number of distinct pairs scored per second, in the run that computed them if the store
            had all scores; None if not timed.
        price_per_1000: the price of 1,000 distinct pairs, in the currency of the user's own price list; 0 for a model
            on this machine that reports a price, None if no price is known.
        details: what else the engine reports, such as seconds to load, parameters, devices; for a preset with several
            models, the cost of each by its number. ``run.json`` has these keys at the same level as the others.
        peak_memory_mb: the peak memory of the process, in MB (10⁶ bytes).
        asymmetry: None for a metric that reads one order of the texts.
        shared_with: the metrics that were scored in the same pass.
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
        """Return the values with all keys that are not fields of this class moved into `details`.

        Anything but a dictionary is returned unchanged, for pydantic to refuse.
        """
        if not isinstance(values, dict) or values.keys() <= cls.model_fields.keys():
            return values
        field_values = {key: value for key, value in values.items() if key in cls.model_fields}
        details = {key: value for key, value in values.items() if key not in field_values}
        return field_values | {"details": details}

    @model_serializer
    def _flatten_details(self) -> dict[str, Any]:
        """Return what was measured, with `details` at the same level, in the order in which runs write the keys.

        What was not measured has no key.
        """
        before = {"pairs_per_second": self.pairs_per_second, "price_per_1000": self.price_per_1000}
        after = {"peak_memory_mb": self.peak_memory_mb, "asymmetry": self.asymmetry, "shared_with": self.shared_with}
        measurements = {key: value for key, value in before.items() if value is not None} | self.details
        return measurements | {key: value for key, value in after.items() if value not in (None, [])}


#: Kinds of metrics that are computed on the machine of the run; other kinds, such as a function of the user, may call a
#: paid service.
_LOCAL_KINDS = frozenset({"lexical", "embedding", "cross-encoder", "amr"})

#: Pattern of a package version in a signature: three numbers or more.
_VERSION = re.compile(r"\d+(\.\d+){2,}\S*")
#: Parts of a signature that are digests of the files of the subject, which make its path irrelevant.
_DIGESTS = frozenset({"digest", "vectors"})


def identity_of(
    signature: Mapping[str, str], *, weights: bool = True, versions: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return the parts of a signature that are equal for the same metric in two runs, as sorted (key, value) pairs.

    Paths of files whose digest is in the signature are left out. Package versions, which are all values with three
    numbers or more, such as ``2.1.0``, are left out unless *versions*.

    Args:
        signature: the signature of the metric.
        weights: whether digests count; without them, metrics that differ only in model weights are the same.
        versions: whether package versions count as well.
    """
    # a preset of several models has keys such as "1.digest"
    keys = {key.rpartition(".")[2] for key in signature}
    parts = []
    for key, value in signature.items():
        part = key.rpartition(".")[2]
        is_path_of_digested_file = part == "subject" and not keys.isdisjoint(_DIGESTS)
        is_version = _VERSION.fullmatch(value) is not None
        is_digest = part in _DIGESTS
        if is_path_of_digested_file or (is_version and not versions) or (is_digest and not weights):
            continue
        parts.append((key, value))
    return tuple(sorted(parts))


class MetricRecord(_Record):
    """The outcome of one metric on one dataset.

    Attributes:
        metric: the name of the metric as requested.
        status: ``done``; ``failed`` (an error in the metric); ``unavailable`` (something is not installed: *remedy* is
            the command that installs it); ``not applicable`` (not made for this language).
        reason: the reason why it is not done.
        remedy: the command that makes it available.
        seconds: the wall time of scoring; work shared with other metrics counts for each of them.
        scored: the number of distinct pairs scored in this run.
        stored: the number of distinct pairs whose score was in the store.
        short_signature: the short line that lets another person get the same scores.
        signature: everything that affects the scores, by part; numbered for a preset with several models.
        declared: the declaration of the metric.
        says: a note for readers, such as which model a preset used.
        flags: the number of pairs with each flag, such as truncated or empty.
        cost: the cost of scoring.
    """

    dataset: str
    metric: str
    status: Status
    reason: Line
    remedy: Line
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
        """Return the record of a metric that has no scores on a dataset.

        Args:
            dataset: the name of the dataset.
            metric: the name of the metric as requested.
            status: any but ``done``.
            reason: the reason why there are no scores.
            remedy: the command that makes the metric available; empty if there is none.
        """
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
        """Whether the metric was scored on the dataset."""
        return self.status == "done"

    @property
    def price_per_1000(self) -> float | None:
        """The recorded price of 1,000 distinct pairs; None if it is unknown.

        Without a record, it is 0 for a metric that ran on the machine of the run.
        """
        if self.cost.price_per_1000 is not None:
            return self.cost.price_per_1000
        is_local = self.declared.kind in _LOCAL_KINDS and "calls" not in self.cost.details
        return 0.0 if is_local else None

    @property
    def missing_reason(self) -> str:
        """The status, the reason and, if there is one, the remedy of a metric without scores, as text."""
        remedy = Message(" -> ", self.remedy) if self.remedy else ""
        return Message(f"{self.status}, ", self.reason, remedy)


class AnnotatorReliability(_Record):
    """The split-half reliability of the mean label in a bucket, from :mod:`assay.statistics.reliability`.

    Attributes:
        pearson, spearman: the reliability; None if it cannot be estimated.
        annotators: the largest number of labels per pair.
        n: the number of pairs with at least two labels.
        splits: the number of random splits.
        lengths: the lengths of first half, second half and whole, by which the correlation of the halves was stepped
            up. Older folders lack them: they took the whole as twice a half, too short for odd numbers of annotators.
        bound_pearson, bound_spearman: the highest correlation that a metric can have with the mean label, the square
            root of its reliability; None if unknown.
        alpha: Krippendorff's alpha by level of measurement; empty for older folders.
        annotators_pearson, annotators_spearman: the correlation of each annotator with the mean of the others; empty if
            it is unknown which annotator gave which label, and for older folders.
        is_of_label: whether the label is the mean of the annotators' labels, up to the scale, so that this is its
            reliability; the label in the data may have been derived in another way.
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


class MetricAsAnnotator(_Record):
    """The alternative annotator test of one metric, from :mod:`assay.statistics.alternative_annotator`.

    Attributes:
        advantage: the share of pairs on which the metric is as close to the other annotators as one of them, or closer.
        winning_rates: the share of annotators against whom it wins, at each epsilon of the record.
    """

    metric: str
    advantage: float
    winning_rates: list[float]


class AlternativeAnnotators(_Record):
    """Whether a metric may take the place of an annotator, on all pairs.

    Attributes:
        lack: what the annotations lack for the test: ``annotators``, ``identity`` or ``pairs``; None if nothing.
        alignment: how close labels are: ``accuracy`` or ``neg_rmse``; empty if something is lacking.
        annotators: the number of annotators that metrics were compared with.
        epsilons: the differences in the share of pairs that a metric may lose by.
        constant: the test of a score that is the same for all pairs, which what a metric gains is measured from.
        metrics: the test of each metric; without those that have too few scores.
    """

    lack: Literal["annotators", "identity", "pairs"] | None = None
    alignment: Literal["", "accuracy", "neg_rmse"] = ""
    annotators: int = 0
    epsilons: list[float] = []
    constant: MetricAsAnnotator | None = None
    metrics: list[MetricAsAnnotator] = []


class BucketRecord(_Record):
    """The statistics of the labels in a bucket.

    Attributes:
        labels: the number of pairs per label if there are at most ten labels, else the quartiles.
        ties: the share of comparisons (pairs of items) with equal labels, in [0, 1].
        ceiling: the highest value that scores without ties could reach, by statistic.
        reliability: the reliability of the annotators; None if the data lacks their labels.
        groups: the number of groups that were resampled; None if single pairs were resampled.
        about: the meaning of the numbers in an adjusted block; empty for the pairs of a bucket.
        alternative: whether a metric may take the place of an annotator; None if the data lacks their labels, in
            buckets other than all pairs, and for older folders.
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
    alternative: AlternativeAnnotators | None = None


class Environment(_Record):
    """The software and hardware of a run; empty if it was not recorded.

    Attributes:
        argv: the words after ``assay``; empty for a run from Python.
        configuration: the configuration file with defaults that were used; empty if there was none.
        configured: the settings from that file, by name, without those overridden on the command line.
    """

    python: str = ""
    platform: str = ""
    machine: str = ""
    cpus: int | None = None
    packages: dict[str, str] = {}
    argv: list[PublicAddress] = []
    configuration: str = ""
    configured: Annotated[dict[str, Any], AfterValidator(public_values)] = {}


class Manifest(_Record):
    """The contents of ``run.json``.

    Attributes:
        created: the time of the run, in ISO 8601; empty if it was not recorded.
        request: the request of the run.
        request_digest: the digest of the request; runs with equal digests may be written to the same folder.
        signature: one line with the settings that differ from the defaults, the resampling and assay's version.
        failures: one line for each requested task that failed.
        seconds: the wall time by phase.
    """

    # not named `schema`, which is a method of pydantic models
    layout: int = Field(default=RUN_SCHEMA, alias="schema")
    created: str = ""
    request: RequestRecord
    request_digest: str = ""
    signature: str
    datasets: list[DatasetRecord]
    metrics: list[MetricRecord]
    buckets: list[BucketRecord]
    failures: list[PublicText] = []
    seconds: dict[str, float] = {}
    environment: Environment = Environment()

    @property
    def has_scores(self) -> bool:
        """Whether any metric returned scores on any dataset."""
        return any(metric.is_done for metric in self.metrics)


class AgreementRow(_Record):
    """One row of the agreement table: a coefficient of one metric on one bucket, with its interval.

    Attributes:
        value: the coefficient; None if it is undefined.
        low, high: the bounds of its interval; None without an interval.
        n: the number of pairs it was computed on.
        notes: the reason why it is undefined, or other notes for readers. A table has them joined as ``note``, and
            ``agreement.json`` also as ``notes`` where the joined text does not show where a note ends.
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
    notes: Annotated[tuple[str, ...], Field(strict=False)]

    @model_validator(mode="before")
    @classmethod
    def _read_joined_notes(cls, values: Any) -> Any:
        """Return the values with ``notes`` from the joined text ``note``, if they have only that; else unchanged.

        What is no text becomes the notes as it is, for pydantic to refuse.
        """
        if not isinstance(values, Mapping) or "notes" in values or "note" not in values:
            return values
        note = values["note"]
        return {**values, "notes": _split_notes(note) if isinstance(note, str) else note}

    @property
    def number(self) -> Number:
        """The coefficient with its interval and notes."""
        return Number(self.value, self.low, self.high, self.notes)

    def plain_values(self) -> dict[str, Any]:
        """Return the row as plain values, by column of the agreement table."""
        return {**self.model_dump(exclude={"notes"}), "note": NOTE_SEPARATOR.join(self.notes)}

    def stored_values(self) -> dict[str, Any]:
        """Return the row as plain values, as in ``agreement.json``, with ``notes`` where ``note`` is ambiguous."""
        values = self.plain_values()
        return values if _split_notes(values["note"]) == self.notes else {**values, "notes": list(self.notes)}


def _split_notes(note: str) -> tuple[str, ...]:
    return tuple(filter(None, note.split(NOTE_SEPARATOR)))


#: The columns of ``agreement.csv``.
AGREEMENT_COLUMNS = (*(name for name in AgreementRow.model_fields if name != "notes"), "note")
