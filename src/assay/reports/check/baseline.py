"""Baselines: agreement to read in a review, packed scores for paired tests, and how they are read back."""

from __future__ import annotations

import base64
import bz2
import hashlib
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import InputError
from assay.reports.data import ScoredDataset, read_datasets
from assay.reports.folder import RunFolder
from assay.statistics.concordance import Floats


def rounded(scores: Floats) -> Floats:
    """Return scores, shape (n,), as a baseline keeps them: rounded to single precision; NaN where there is none."""
    return scores.astype(np.float32).astype(np.float64)


def pack(scores: Floats) -> str:
    """Return scores, shape (n,), in single precision as base64 of bzip2.

    bzip2 has one implementation, so that equal scores give an equal line on every machine; zlib has several.
    """
    return base64.b64encode(bz2.compress(_raw(scores))).decode("ascii")


def unpack(text: str, n: int) -> Floats:
    """Return the scores of :func:`pack`, shape (n,).

    Raises:
        ValueError: the text is none that was packed from n scores.
    """
    try:
        # no more is unpacked than belongs there, whatever the text would grow to
        raw = bz2.BZ2Decompressor().decompress(base64.b64decode(text, validate=True), max_length=4 * n + 1)
    except (OSError, EOFError) as error:
        raise ValueError(str(error)) from error
    if len(raw) != 4 * n:
        raise ValueError(f"they are not {n}")
    return np.frombuffer(raw, dtype="<f4").astype(np.float64)


def digest_of(facts: dict[str, Any], scores: Floats) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of what a baseline says of a metric, and of its scores."""
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") + b"\0" + _raw(scores)).hexdigest()[:16]


def _raw(scores: Floats) -> bytes:
    # one bit pattern for NaN, and one for zero
    return np.where(np.isnan(scores), np.nan, scores + 0.0).astype("<f4").tobytes()


# The file of a baseline is JSON, laid out so that a changed number is a changed line:
#
#   schema      version of this layout
#   assay       version that wrote it
#   run         signature of the run: how it resampled, what it left out
#   confidence  level of the intervals below
#   origin      the first of a chain of baselines, without its own origin: of the metrics whose scores differ from those
#               here; absent where no scores differ, and in a baseline that begins a chain
#   datasets    by name: version, split, n, digest of pairs and labels, and metrics by name; of each metric its
#               signature, pairs_per_second (one digit), agreement (by bucket and statistic: value, low, high), scores
#               (single precision) and the digest of all of these

#: Version of the layout; raised when a reader of the old one would go wrong.
BASELINE_SCHEMA = 1
#: Decimals of the agreement in a baseline.
DECIMALS = 4
#: Characters of a line in a baseline, scores apart.
WIDTH = 120


@dataclass(frozen=True)
class BaselineMetric:
    """One metric on one dataset.

    Attributes:
        signature: in full, by part.
        pairs_per_second: rounded to one digit; None where it was not measured.
        agreement: ``[value, low, high]`` or ``[value]`` by bucket and statistic; undefined coefficients are not there.
        scores: shape (n,), turned so that a higher one means more similar, rounded to single precision; NaN where there
            was none.
    """

    signature: dict[str, str]
    pairs_per_second: float | None
    agreement: dict[str, dict[str, list[float]]]
    scores: Floats

    @property
    def facts(self) -> dict[str, Any]:
        """What a baseline has of the metric beside its scores."""
        speed = {} if self.pairs_per_second is None else {"pairs_per_second": self.pairs_per_second}
        return {"signature": self.signature, **speed, "agreement": self.agreement}


@dataclass(frozen=True)
class BaselineDataset:
    """One dataset: what identifies its n pairs, and the metrics by name."""

    version: str
    split: str
    n: int
    digest: str
    metrics: dict[str, BaselineMetric]


@dataclass(frozen=True)
class Baseline:
    """See the module; datasets by their name, and the first of its chain where that has other scores."""

    assay: str
    run: str
    confidence: float
    datasets: dict[str, BaselineDataset]
    origin: Baseline | None = None


def take_baseline(run: RunFolder) -> Baseline:
    """Return the baseline of a run.

    Raises:
        InputError: a file of the run is missing or broken.
    """
    return Baseline(
        assay=run.manifest.environment.packages.get("assay", ""),
        run=run.manifest.signature,
        confidence=run.manifest.request.confidence,
        datasets={data.name: _dataset(data) for data in read_datasets(run)},
    )


def follow(baseline: Baseline, old: Baseline) -> Baseline:
    """Return a baseline that takes the place of an old one and remembers the first of their chain.

    Small losses, each within the margin of a check, would add up where each is compared with the baseline before it
    alone. What cannot be compared with the old baseline begins a chain of its own: other pairs, new metrics.

    Args:
        baseline: the new one.
        old: the one before it, which may have an origin itself.
    """
    origins = {}
    for name, dataset in baseline.datasets.items():
        before = old.datasets.get(name)
        if before is None or other_pairs(dataset, before):
            continue
        firsts = dict(before.metrics)
        if old.origin is not None and name in old.origin.datasets:
            firsts.update(old.origin.datasets[name].metrics)
        changed = {}
        for metric, first in firsts.items():
            now = dataset.metrics.get(metric)
            if now is not None and not np.array_equal(now.scores, first.scores, equal_nan=True):
                changed[metric] = first
        if changed:
            origins[name] = replace(before, metrics=changed)
    if not origins:
        return replace(baseline, origin=None)
    source = old if old.origin is None else old.origin
    return replace(baseline, origin=replace(source, datasets=origins, origin=None))


def other_pairs(dataset: BaselineDataset, before: BaselineDataset) -> bool:
    """Tell whether a dataset has other pairs than it had in an earlier baseline."""
    return (dataset.n, dataset.digest) != (before.n, before.digest)


def _dataset(data: ScoredDataset) -> BaselineDataset:
    metrics = {}
    for name, record in data.metrics.items():
        speed = record.cost.pairs_per_second
        metrics[name] = BaselineMetric(
            signature=record.signature,
            # a speed of 0 is one that was too fast or too slow to be measured
            pairs_per_second=float(f"{speed:.0e}") if speed else None,
            agreement=_agreement(data, name),
            scores=rounded(data.oriented(name)),
        )
    facts = data.facts
    return BaselineDataset(version=facts.version, split=facts.split, n=len(data), digest=facts.digest, metrics=metrics)


def _agreement(data: ScoredDataset, metric: str) -> dict[str, dict[str, list[float]]]:
    by_bucket: dict[str, dict[str, list[float]]] = {}
    for row in data.run.agreement:
        if (row.dataset, row.split, row.metric) == (data.name, data.facts.split, metric) and row.value is not None:
            bounds = [bound for bound in (row.value, row.low, row.high) if bound is not None]
            by_bucket.setdefault(row.bucket, {})[row.statistic] = [round(bound, DECIMALS) + 0.0 for bound in bounds]
    return by_bucket


def to_text(baseline: Baseline) -> str:
    """Return the file of a baseline; it holds no time and no fact of the machine but speeds of one digit."""
    value: dict[str, Any] = {"schema": BASELINE_SCHEMA, **_plain(baseline)}
    if baseline.origin is not None:
        value["origin"] = _plain(baseline.origin)
    return _laid_out(value, 0) + "\n"


def _plain(baseline: Baseline) -> dict[str, Any]:
    """Return a baseline as plain values, without its origin."""
    datasets = {}
    for name, dataset in sorted(baseline.datasets.items()):
        metrics = {}
        for metric_name, metric in sorted(dataset.metrics.items()):
            digest = digest_of(metric.facts, metric.scores)
            metrics[metric_name] = {**metric.facts, "scores": pack(metric.scores), "digest": digest}
        datasets[name] = {
            "version": dataset.version,
            "split": dataset.split,
            "n": dataset.n,
            "digest": dataset.digest,
            "metrics": metrics,
        }
    return {
        "assay": baseline.assay,
        "run": baseline.run,
        "confidence": baseline.confidence,
        "datasets": datasets,
    }


def without_speeds(text: str) -> dict[str, Any]:
    """Return what a baseline of :func:`to_text` holds but for its speeds, which differ between runs of the same scores.

    The digest of each metric goes with them: it is one of its speed, too, and of nothing else that is left out.
    """
    value: dict[str, Any] = json.loads(text)
    for baseline in (value, value.get("origin", {"datasets": {}})):
        for dataset in baseline["datasets"].values():
            for metric in dataset["metrics"].values():
                metric.pop("pairs_per_second", None)
                del metric["digest"]
    return value


def _laid_out(value: Any, depth: int) -> str:
    """Return JSON: what fits a line and holds no object of objects is one line, all else is broken."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, dict) or (len(line) + depth <= WIDTH and not _nested(value)):
        return line
    parts = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(item, depth + 1)}" for key, item in value.items()]
    margin = "\n" + " " * (depth + 1)
    return "{" + margin + f",{margin}".join(parts) + "\n" + " " * depth + "}"


def _nested(value: dict[str, Any]) -> bool:
    return any(isinstance(item, dict) for item in value.values())


# Reading a baseline, whatever was done to it.

_REMEDY = "write it again with: assay baseline RUN --out FILE"


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        InputError: there is no such file, it is no baseline, was changed by hand, or was written by a newer assay.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such baseline; {_REMEDY}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no valid JSON ({error}); {_REMEDY}") from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise InputError(f"{path}: has no schema version; is this a baseline of assay? {_REMEDY}")
    if schema > BASELINE_SCHEMA:
        raise InputError(
            f"{path}: was written by a newer assay (schema {schema}, this one reads up to {BASELINE_SCHEMA}); "
            "update assay"
        )
    return _BaselineReader(path).baseline(value)


class _BaselineReader:
    """Takes values out of the JSON of one file; what is not there or of another kind is named by its place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, place: str, what: str) -> InputError:
        return InputError(f"{self.path}: {f'{place} ' if place else ''}{what}; {_REMEDY}")

    def take(self, held: dict[str, Any], key: str, kind: type | tuple[type, ...], place: str) -> Any:
        if key not in held:
            raise self.fail(place, f"has no {key!r}")
        if not isinstance(held[key], kind) or (isinstance(held[key], bool) and kind is not bool):
            raise self.fail(place, f"has another kind of {key!r} than a baseline")
        return held[key]

    def baseline(self, value: dict[str, Any], place: str = "") -> Baseline:
        datasets = self.take(value, "datasets", dict, place)
        confidence = self.take(value, "confidence", (int, float), place)
        if not 0 < confidence < 1:
            raise self.fail(place, f"has the confidence {confidence}, which is not between 0 and 1")
        origin = None
        if "origin" in value and not place:
            origin = self.baseline(self.take(value, "origin", dict, ""), "origin")
        prefix = f"{place}: " if place else ""
        read = {}
        for name in datasets:
            read[name] = self.dataset(self.take(datasets, name, dict, prefix + name), prefix + name)
        return Baseline(
            assay=self.take(value, "assay", str, place),
            run=self.take(value, "run", str, place),
            confidence=float(confidence),
            datasets=read,
            origin=origin,
        )

    def dataset(self, held: dict[str, Any], place: str) -> BaselineDataset:
        metrics = self.take(held, "metrics", dict, place)
        n = self.take(held, "n", int, place)
        if not 0 <= n < 1 << 40:
            raise self.fail(place, f"has {n} pairs")
        return BaselineDataset(
            version=self.take(held, "version", str, place),
            split=self.take(held, "split", str, place),
            n=n,
            digest=self.take(held, "digest", str, place),
            metrics={
                name: self.metric(self.take(metrics, name, dict, place), n, f"{name} on {place}") for name in metrics
            },
        )

    def metric(self, held: dict[str, Any], n: int, place: str) -> BaselineMetric:
        speed = self.take(held, "pairs_per_second", (int, float), place) if "pairs_per_second" in held else None
        signature = self.take(held, "signature", dict, place)
        agreement = self.take(held, "agreement", dict, place)
        if not all(isinstance(part, str) for part in signature.values()):
            raise self.fail(place, "has a signature that is no list of texts")
        if not all(isinstance(one, dict) and all(map(_is_estimate, one.values())) for one in agreement.values()):
            raise self.fail(place, "has an agreement that is no [value] or [value, low, high]")
        if speed is not None and not 0 < speed <= sys.float_info.max:
            raise self.fail(place, f"has the speed {speed}")
        try:
            scores = unpack(self.take(held, "scores", str, place), n)
        except ValueError as error:
            raise self.fail(place, f"has scores that cannot be read ({error})") from error
        found = BaselineMetric(signature, speed, agreement, scores)
        if digest_of(found.facts, scores) != self.take(held, "digest", str, place):
            raise self.fail(place, "does not fit its digest: it was changed by hand")
        return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _is_estimate(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (1, 3)
        and all(isinstance(one, int | float) and abs(one) <= sys.float_info.max for one in value)
    )
