"""Baseline files: agreement that a reviewer can read, and packed scores for paired tests; writing and reading them."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.analysis.check.answers import Answers, answers_from, take_answers
from assay.analysis.check.packing import pack, unpack
from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder
from assay.exceptions import InputError
from assay.paths import check_regular_file
from assay.statistics.concordance import Floats

#: The fewest steps of single precision between the lowest and the highest score with which scores are kept in it.
FEWEST_STEPS = 10_000


def round_to_single(scores: Floats) -> Floats:
    """Return scores of shape (n,) rounded to single precision; NaN means no score."""
    return scores.astype(np.float32).astype(np.float64)


def round_as_kept(scores: Floats, earlier: Floats | None = None) -> Floats:
    """Return scores of shape (n,) as a baseline keeps them: in single precision, unless that would tie or lose them.

    Scores such as 1e12 + 1 and 1e12 + 2 are one number in single precision, and 1e39 is none.

    Args:
        scores: the scores; NaN means no score.
        earlier: the scores that a baseline keeps and that these are compared with, if any; if they are not in single
            precision, neither are these.
    """
    known = scores[np.isfinite(scores)]
    if not len(known):
        return scores
    largest, spread = float(np.abs(known).max()), float(np.ptp(known))
    too_large = largest > float(np.finfo(np.float32).max)
    if too_large or 0 < spread < FEWEST_STEPS * float(np.spacing(np.float32(largest))):
        return scores
    return scores if earlier is not None and not _is_single(earlier) else round_to_single(scores)


def _is_single(scores: Floats) -> bool:
    """Tell whether scores of shape (n,) do not change if they are rounded to single precision."""
    known = scores[np.isfinite(scores)]
    # beyond the largest number of single precision, a cast would warn
    fits = not (np.abs(known) > np.finfo(np.float32).max).any()
    return fits and np.array_equal(round_to_single(known), known)


def pack_scores(scores: Floats) -> str:
    """Return scores of shape (n,), as :func:`round_as_kept` returns them, as text."""
    return pack(_score_bytes(scores))


def unpack_scores(text: str, n: int) -> Floats:
    """Return the scores that :func:`pack_scores` packed, shape (n,).

    Raises:
        ValueError: the text does not encode n scores.
    """
    content = unpack(text, n, 4, 8)
    return np.frombuffer(content, dtype="<f4" if len(content) == 4 * n else "<f8").astype(np.float64)


def metric_digest(facts: dict[str, Any], scores: Floats) -> str:
    """Return 16 hexadecimal digits of a SHA-256 of the facts that a baseline has on a metric, and of its scores."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # names may have lone surrogates, which strict UTF-8 refuses
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") + b"\0" + _score_bytes(scores)).hexdigest()[:16]


def _score_bytes(scores: Floats) -> bytes:
    # equal scores must have equal bytes: one bit pattern for NaN, and no negative zero
    plain = np.where(np.isnan(scores), np.nan, scores + 0.0)
    return plain.astype("<f4" if _is_single(plain) else "<f8").tobytes()


# The file of a baseline is JSON, laid out so that a changed number changes one line:
#
#   schema      version of this layout
#   assay       version that wrote it
#   run         signature of the run: how it resampled, what it left out
#   confidence  level of the intervals below
#   origin      the first baseline of a chain, without an origin of its own, reduced to the metrics whose scores differ
#               from those in this file; absent if no scores differ, and in the first baseline of a chain
#   datasets    by name: version, split, n, digest of pairs and labels, and metrics by name; for each metric:
#               signature, pairs_per_second (one digit), agreement (by bucket and statistic: value, low, high), scores
#               (single precision, or double where that would tie them), and the digest of all of these. If the
#               baseline was told the column of systems, also answers: the system, the item (a digest) and the label
#               of each pair, packed

#: Version of the layout; increased when a reader of the old layout would misread the new one.
BASELINE_SCHEMA = 1
#: Number of decimals of the agreement in a baseline.
DECIMALS = 4
#: Longest object on one line of a baseline, in characters with its indentation.
WIDTH = 120


@dataclass(frozen=True)
class BaselineMetric:
    """One metric on one dataset.

    Attributes:
        signature: the full signature of the metric by part.
        pairs_per_second: the speed, rounded to one digit; None if it was not measured.
        agreement: ``[value, low, high]`` or ``[value]`` by bucket and statistic, without undefined coefficients.
        scores: the scores, shape (n,), turned so that higher means more similar, as
            :func:`round_as_kept` returns them; NaN for pairs without a score.
    """

    signature: dict[str, str]
    pairs_per_second: float | None
    agreement: dict[str, dict[str, list[float]]]
    scores: Floats

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that a baseline file stores of the metric, except for its scores."""
        speed = {} if self.pairs_per_second is None else {"pairs_per_second": self.pairs_per_second}
        return {"signature": self.signature, **speed, "agreement": self.agreement}


@dataclass(frozen=True)
class BaselineDataset:
    """One dataset: version, split and digest of its n pairs, metrics by name, and the answers of systems if kept."""

    version: str
    split: str
    n: int
    digest: str
    metrics: dict[str, BaselineMetric]
    answers: Answers | None = None


@dataclass(frozen=True)
class Baseline:
    """The content of a baseline file; the comment at its layout describes each entry.

    Attributes:
        assay: the version of assay that made the run.
        run: the signature of the run.
        confidence: the level of the intervals.
        datasets: the datasets by name.
        origin: the metrics of the first baseline of the chain whose scores differ; None if there are none.
    """

    assay: str
    run: str
    confidence: float
    datasets: dict[str, BaselineDataset]
    origin: Baseline | None = None


def take_baseline(run: RunFolder, system: str | None = None, item: str | None = None) -> Baseline:
    """Return the baseline of a run.

    Args:
        run: the run.
        system: the column that names the system of each answer; None to keep no answers of systems.
        item: the column of the items that systems answered; None for the first of the usual ones.

    Raises:
        InputError: a file of the run is missing or broken, or there is no such column.
    """
    return Baseline(
        assay=run.manifest.environment.packages.get("assay", ""),
        run=run.manifest.signature,
        confidence=run.manifest.request.confidence,
        datasets={data.name: _baseline_dataset(data, system, item) for data in read_datasets(run)},
    )


def continue_chain(baseline: Baseline, old: Baseline) -> Baseline:
    """Return a baseline that replaces an old one and keeps the first baseline of their chain as its origin.

    It has no origin if nothing differs from the first one, or can be compared with it.

    Small losses, each within the margin of a check, would add up unnoticed if each baseline were only compared with the
    one before it. Datasets with other pairs and new metrics cannot be compared and begin a chain of their own. If both
    baselines have answers of systems, other pairs are other answers, and systems are followed in place of metrics.

    Args:
        baseline: the new baseline.
        old: the baseline before it, which may itself have an origin.
    """
    first = old if old.origin is None else old.origin
    origins = {}
    for name, dataset in baseline.datasets.items():
        earlier = old.datasets.get(name)
        if earlier is not None:
            origin = _origin_of_dataset(dataset, earlier, first.datasets.get(name, earlier))
            if origin is not None:
                origins[name] = origin
    if not origins:
        return replace(baseline, origin=None)
    return replace(baseline, origin=replace(first, datasets=origins, origin=None))


def _origin_of_dataset(
    dataset: BaselineDataset, earlier: BaselineDataset, earliest: BaselineDataset
) -> BaselineDataset | None:
    """Return what the origin of a baseline has on a dataset; None if nothing has changed or can be compared.

    On the same pairs these are the metrics whose scores differ, on other pairs the answers of systems.

    Args:
        dataset: the dataset in the new baseline.
        earlier: the dataset in the baseline before it.
        earliest: the dataset in the first baseline of the chain, which may lack metrics or answers of *earlier*.
    """
    if has_other_pairs(dataset, earliest):
        answered = earlier if earliest.answers is None else earliest
        has_answers = dataset.answers is not None and answered.answers is not None
        return replace(answered, metrics={}) if has_answers else None
    changed_metrics = {}
    for name, first in (earlier.metrics | earliest.metrics).items():
        current = dataset.metrics.get(name)
        if current is not None and not np.array_equal(current.scores, first.scores, equal_nan=True):
            changed_metrics[name] = first
    return replace(earlier, metrics=changed_metrics, answers=None) if changed_metrics else None


def has_other_pairs(dataset: BaselineDataset, before: BaselineDataset) -> bool:
    """Return whether a dataset has other pairs than in an earlier baseline."""
    return (dataset.n, dataset.digest) != (before.n, before.digest)


def _baseline_dataset(data: ScoredDataset, system: str | None, item: str | None) -> BaselineDataset:
    """Return the entry of one dataset of a run in its baseline, with all metrics that have scores.

    The arguments are those of :func:`take_baseline`.
    """
    metrics = {}
    for name, record in data.metrics.items():
        speed = record.cost.pairs_per_second
        metrics[name] = BaselineMetric(
            signature=record.signature,
            # a speed of 0 means that the time was too short or too long to be measured
            pairs_per_second=float(f"{speed:.0e}") if speed else None,
            agreement=_estimates_by_bucket(data, name),
            scores=round_as_kept(data.oriented_scores(name)),
        )
    facts = data.facts
    return BaselineDataset(
        version=facts.version,
        split=facts.split,
        n=len(data),
        digest=facts.digest,
        metrics=metrics,
        answers=None if system is None else take_answers(data, system, item),
    )


def _estimates_by_bucket(data: ScoredDataset, metric: str) -> dict[str, dict[str, list[float]]]:
    """Return ``[value, low, high]``, or ``[value]`` without an interval, of a metric by bucket and statistic.

    The numbers are rounded to :data:`DECIMALS` decimals; undefined coefficients are left out.
    """
    by_bucket: dict[str, dict[str, list[float]]] = {}
    for row in data.run.agreement:
        if (row.dataset, row.split, row.metric) == (data.name, data.facts.split, metric) and row.value is not None:
            numbers = [number for number in (row.value, row.low, row.high) if number is not None]
            # adding 0 turns a negative zero into a positive one
            by_bucket.setdefault(row.bucket, {})[row.statistic] = [round(number, DECIMALS) + 0.0 for number in numbers]
    return by_bucket


def to_text(baseline: Baseline) -> str:
    """Return the content of a baseline file.

    It depends only on the run: it holds no time, and of the machine only speeds, which are rounded to one digit.
    """
    value: dict[str, Any] = {"schema": BASELINE_SCHEMA, **_plain_values(baseline)}
    if baseline.origin is not None:
        value["origin"] = _plain_values(baseline.origin)
    return _json_in_lines(value, 0) + "\n"


def _plain_values(baseline: Baseline) -> dict[str, Any]:
    """Return a baseline without its origin as values for JSON; datasets and metrics are sorted by name."""
    datasets = {}
    for name, dataset in sorted(baseline.datasets.items()):
        metrics = {}
        for metric_name, metric in sorted(dataset.metrics.items()):
            digest = metric_digest(metric.facts, metric.scores)
            metrics[metric_name] = {**metric.facts, "scores": pack_scores(metric.scores), "digest": digest}
        datasets[name] = {
            "version": dataset.version,
            "split": dataset.split,
            "n": dataset.n,
            "digest": dataset.digest,
            **({} if dataset.answers is None else {"answers": dataset.answers.plain_values()}),
            "metrics": metrics,
        }
    return {"assay": baseline.assay, "run": baseline.run, "confidence": baseline.confidence, "datasets": datasets}


def values_without_speeds(text: str) -> dict[str, Any]:
    """Return the values in the text of a baseline without speeds, which differ between runs with the same scores.

    The digest of each metric is left out too, since it depends on the speed.
    """
    value: dict[str, Any] = json.loads(text)
    baselines = [value, value["origin"]] if "origin" in value else [value]
    for baseline in baselines:
        for dataset in baseline["datasets"].values():
            for metric in dataset["metrics"].values():
                metric.pop("pairs_per_second", None)
                del metric["digest"]
    return value


def _json_in_lines(value: Any, depth: int) -> str:
    """Return a value as JSON in which each object is one line that holds no other and takes up to :data:`WIDTH`.

    A key before it does not count. Other objects have one entry per line, indented by one space; a value that is not an
    object is always one line.

    Args:
        value: the value.
        depth: the number of spaces by which the value is indented.
    """
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, dict):
        return line
    has_objects = any(isinstance(member, dict) for member in value.values())
    if not has_objects and depth + len(line) <= WIDTH:
        return line
    entries = []
    for key, member in value.items():
        entries.append(f"{json.dumps(key, ensure_ascii=False)}: {_json_in_lines(member, depth + 1)}")
    line_break = "\n" + " " * (depth + 1)
    return "{" + line_break + f",{line_break}".join(entries) + "\n" + " " * depth + "}"


# Reading a baseline, with messages for files that are broken or were edited

_REMEDY = "write it again with: assay baseline RUN --out FILE"


def read_baseline(path: Path) -> Baseline:
    """Return the baseline in a file.

    Raises:
        InputError: the file does not exist or cannot be read, is not a baseline, was edited by hand, or was written by
            a newer assay.
    """
    try:
        check_regular_file(path)
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such baseline; {_REMEDY}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not valid JSON ({error}); {_REMEDY}") from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise InputError(f"{path}: has no schema version; is this a baseline of assay? {_REMEDY}")
    if schema > BASELINE_SCHEMA:
        raise InputError(
            f"{path}: was written by a newer assay (schema {schema}, this one reads up to {BASELINE_SCHEMA}); "
            "update assay"
        )
    return _BaselineReader(path).parse_baseline(value)


class _BaselineReader:
    """Reads a baseline from the parsed JSON of a file; errors name the location of a missing or wrong value."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def failure(self, location: str, problem: str) -> InputError:
        """Return the error for a problem at a location, such as ``spearman on all``; empty for the whole file."""
        subject = f"{location} " if location else ""
        return InputError(f"{self.path}: {subject}{problem}; {_REMEDY}")

    def required_value(self, record: dict[str, Any], key: str, kind: type | tuple[type, ...], location: str) -> Any:
        """Return the value of a key; raise InputError if it is missing, a bool, or not of the type *kind*.

        Args:
            record: a parsed JSON object.
            key: the key.
            kind: the type, or types, that the value may have.
            location: what the object is about, for messages, as in :meth:`failure`.
        """
        if key not in record:
            raise self.failure(location, f"has no {key!r}")
        # a bool is an int for isinstance, but no number for a baseline
        value = record[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.failure(location, f"has another kind of {key!r} than a baseline")
        return value

    def parse_baseline(self, value: dict[str, Any], location: str = "") -> Baseline:
        """Return a baseline with its origin, if it has one; raise InputError if it is invalid.

        Args:
            value: the parsed JSON object of the file, or of the origin in it.
            location: ``origin`` for the origin, which has none of its own; empty for the baseline.
        """
        datasets = self.required_value(value, "datasets", dict, location)
        confidence = self.required_value(value, "confidence", (int, float), location)
        if not 0 < confidence < 1:
            raise self.failure(location, f"has the confidence {confidence}, which is not between 0 and 1")
        origin = None
        if "origin" in value and not location:
            origin = self.parse_baseline(self.required_value(value, "origin", dict, ""), "origin")
        prefix = f"{location}: " if location else ""
        parsed = {}
        for name in datasets:
            record = self.required_value(datasets, name, dict, prefix + name)
            parsed[name] = self.parse_dataset(record, prefix + name)
        return Baseline(
            assay=self.required_value(value, "assay", str, location),
            run=self.required_value(value, "run", str, location),
            confidence=float(confidence),
            datasets=parsed,
            origin=origin,
        )

    def parse_dataset(self, record: dict[str, Any], location: str) -> BaselineDataset:
        """Return the dataset of a parsed record with its metrics; raise InputError if the record is invalid.

        Args:
            record: the parsed JSON object of the dataset.
            location: the name of the dataset for messages, with the prefix ``origin:`` if it is in the origin.
        """
        metrics = self.required_value(record, "metrics", dict, location)
        n = self.required_value(record, "n", int, location)
        # an arbitrary limit, so that the size of the unpacked scores stays a number that the decompressor accepts
        if not 0 <= n < 1 << 40:
            raise self.failure(location, f"has {n} pairs")
        answers = None
        if "answers" in record:
            try:
                answers = answers_from(self.required_value(record, "answers", dict, location), n)
            except ValueError as error:
                raise self.failure(location, f"has answers of systems that cannot be read ({error})") from error
        return BaselineDataset(
            version=self.required_value(record, "version", str, location),
            split=self.required_value(record, "split", str, location),
            n=n,
            digest=self.required_value(record, "digest", str, location),
            metrics={
                name: self.parse_metric(self.required_value(metrics, name, dict, location), n, f"{name} on {location}")
                for name in metrics
            },
            answers=answers,
        )

    def parse_metric(self, record: dict[str, Any], n: int, location: str) -> BaselineMetric:
        """Return the metric of a parsed record; raise InputError if it is invalid or does not match its digest.

        Args:
            record: the parsed JSON object of the metric.
            n: the number of pairs of the dataset.
            location: the names of metric and dataset, for messages.
        """
        speed = None
        if "pairs_per_second" in record:
            speed = self.required_value(record, "pairs_per_second", (int, float), location)
        signature = self.required_value(record, "signature", dict, location)
        agreement = self.required_value(record, "agreement", dict, location)
        if not all(isinstance(part, str) for part in signature.values()):
            raise self.failure(location, "has a signature whose parts are not texts")
        if not all(isinstance(entry, dict) and all(map(_is_estimate, entry.values())) for entry in agreement.values()):
            raise self.failure(location, "has an agreement that is no [value] or [value, low, high]")
        if speed is not None and not 0 < speed <= sys.float_info.max:
            raise self.failure(location, f"has the speed {speed}, in pairs a second")
        try:
            scores = unpack_scores(self.required_value(record, "scores", str, location), n)
        except ValueError as error:
            raise self.failure(location, f"has scores that cannot be read ({error})") from error
        metric = BaselineMetric(signature, speed, agreement, scores)
        if metric_digest(metric.facts, scores) != self.required_value(record, "digest", str, location):
            raise self.failure(location, "does not fit its digest: it was changed by hand")
        return metric


def _refuse_constant(constant: str) -> float:
    """Raise ValueError for NaN and infinities, which Python parses although they are no JSON."""
    raise ValueError(f"{constant} is not a number")


def _is_estimate(value: Any) -> bool:
    """Return whether a parsed value is a list of a finite number, or of one with the bounds of its interval."""
    return (
        isinstance(value, list)
        and len(value) in (1, 3)
        # a bool is an int for isinstance
        and all(type(entry) in (int, float) and abs(entry) <= sys.float_info.max for entry in value)
        and (len(value) == 1 or value[1] <= value[2])
    )
