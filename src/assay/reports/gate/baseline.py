"""What a run is held against: agreement to read in a review, and the scores for a paired test.

A baseline is JSON, laid out so that a changed number is a changed line::

    schema      version of this layout
    assay       version that wrote it
    run         signature of the run: how it resampled, what it left out
    confidence  level of the intervals below
    datasets    by name: version, split, n, digest of pairs and labels, metrics
    metrics     by name: signature, pairs_per_second (one digit), agreement (by bucket and statistic: value, low, high),
                scores (single precision), digest of all of these
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from assay.reports.data import ScoredDataset, read_datasets
from assay.reports.folder import RunFolder
from assay.reports.gate.packing import digest_of, pack, rounded
from assay.statistics.concordance import Floats

__all__ = [
    "BASELINE_SCHEMA",
    "Baseline",
    "BaselineDataset",
    "BaselineMetric",
    "take_baseline",
    "to_text",
    "without_speeds",
]

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
        """What is said of the metric beside its scores."""
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
    """See the module; datasets by their name."""

    assay: str
    run: str
    confidence: float
    datasets: dict[str, BaselineDataset]


def take_baseline(run: RunFolder) -> Baseline:
    """Return the baseline of a run.

    Raises:
        InputError: a file of the run is missing or broken.
    """
    return Baseline(
        assay=str(run.manifest.get("environment", {}).get("packages", {}).get("assay", "")),
        run=run.manifest["signature"],
        confidence=run.manifest["request"]["confidence"],
        datasets={one.name: _dataset(one) for one in read_datasets(run)},
    )


def _dataset(data: ScoredDataset) -> BaselineDataset:
    facts = data.facts
    return BaselineDataset(
        version=facts["version"],
        split=facts["split"],
        n=len(data),
        digest=facts["digest"],
        metrics={
            name: BaselineMetric(
                signature=known.signature,
                # a speed of 0 is one that was too fast or too slow to be measured
                pairs_per_second=float(f"{known.pairs_per_second:.0e}") if known.pairs_per_second else None,
                agreement=_agreement(data, name),
                scores=rounded(data.oriented(name)),
            )
            for name, known in data.metrics.items()
        },
    )


def _agreement(data: ScoredDataset, metric: str) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    for row in data.run.agreement:
        if (row["dataset"], row["split"], row["metric"]) != (data.name, data.facts["split"], metric):
            continue
        bounds = [row[key] for key in ("value", "low", "high") if row[key] is not None]
        if row["value"] is not None:
            found.setdefault(row["bucket"], {})[row["statistic"]] = [round(bound, DECIMALS) + 0.0 for bound in bounds]
    return found


def to_text(baseline: Baseline) -> str:
    """Return the file of a baseline; it holds no time and no fact of the machine but speeds of one digit."""
    value = {
        "schema": BASELINE_SCHEMA,
        "assay": baseline.assay,
        "run": baseline.run,
        "confidence": baseline.confidence,
        "datasets": {
            name: {
                "version": one.version,
                "split": one.split,
                "n": one.n,
                "digest": one.digest,
                "metrics": {
                    metric: {
                        **held.facts,
                        "scores": pack(held.scores),
                        "digest": digest_of(held.facts, held.scores),
                    }
                    for metric, held in sorted(one.metrics.items())
                },
            }
            for name, one in sorted(baseline.datasets.items())
        },
    }
    return _laid_out(value, 0) + "\n"


def without_speeds(text: str) -> dict[str, Any]:
    """Return what a baseline of :func:`to_text` holds but for its speeds, which differ between runs of the same scores.

    The digest of each metric goes with them: it is one of its speed, too, and of nothing else that is left out.
    """
    value: dict[str, Any] = json.loads(text)
    for dataset in value["datasets"].values():
        for metric in dataset["metrics"].values():
            metric.pop("pairs_per_second", None)
            del metric["digest"]
    return value


def _laid_out(value: Any, depth: int) -> str:
    """Return JSON: what fits a line and holds no object of objects stands on one, all else is broken."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if not isinstance(value, dict) or (len(line) + depth <= WIDTH and not _nested(value)):
        return line
    parts = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(one, depth + 1)}" for key, one in value.items()]
    margin = "\n" + " " * (depth + 1)
    return "{" + margin + f",{margin}".join(parts) + "\n" + " " * depth + "}"


def _nested(value: dict[str, Any]) -> bool:
    return any(isinstance(one, dict) for one in value.values())
