"""What differs between a run and a baseline beside the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.reports.data import ScoredDataset
from assay.reports.gate.baseline import Baseline, BaselineDataset, BaselineMetric

__all__ = ["Finding", "about_metric", "about_run", "changed_data", "changed_names", "missing_metric"]

#: A metric at less than this share of its old speed is told of. Speeds in a baseline have one digit, hence are up to
#: a half off, and machines differ.
SLOWER = 0.5


@dataclass(frozen=True)
class Finding:
    """One difference.

    Attributes:
        kind: what differs.
        dataset: on which dataset; empty for the whole run.
        metric: of which metric; empty for a whole dataset or run.
        text: one line.
        fails: whether it fails the gate.
    """

    kind: Literal[
        "changed settings",
        "changed version",
        "changed data",
        "changed signature",
        "missing",
        "missing scores",
        "new",
        "slower",
    ]
    dataset: str
    metric: str
    text: str
    fails: bool = False


def about_run(signature: str, baseline: Baseline) -> Iterator[Finding]:
    """Yield how two runs differ in their settings; versions of assay stand with the metrics."""
    old, new = (dict(_part(part) for part in text.split("|")) for text in (baseline.run, signature))
    # the gate resamples by itself
    moot = {"assay", "bootstrap", "resamples", "confidence", "seed"}
    parts = _changed_parts(
        {k: v for k, v in old.items() if k not in moot}, {k: v for k, v in new.items() if k not in moot}
    )
    if parts:
        yield Finding("changed settings", "", "", parts)


def _part(text: str) -> tuple[str, str]:
    key, _, value = text.partition(":")
    return key, value


def changed_data(data: ScoredDataset, old: BaselineDataset) -> str:
    """Return in which way the pairs differ, or an empty string where they are the same, whatever they are called."""
    if old.n != len(data):
        return f"{old.n:,} -> {len(data):,} pairs"
    new = data.facts["digest"]
    if old.digest != new:
        return f"texts, labels or groups of the {old.n:,} pairs (digest {old.digest[:8]} -> {new[:8]})"
    return ""


def changed_names(data: ScoredDataset, old: BaselineDataset) -> str:
    """Return how the version or the split of a dataset differs, or an empty string."""
    names = ("version", old.version, data.facts["version"]), ("split", old.split, data.facts["split"])
    return "; ".join(f"{name} {before!r} -> {after!r}" for name, before, after in names if before != after)


def missing_metric(data: ScoredDataset, metric: str) -> Finding:
    """Return that a metric of the baseline has no scores in the run, and why."""
    why = next(
        (
            f"{one['status']}: {one['reason']}" + (f" -> {one['remedy']}" if one["remedy"] else "")
            for one in data.run.manifest["metrics"]
            if one["dataset"] == data.name and one["metric"] == metric and one["status"] != "done"
        ),
        "the run was not asked for it",
    )
    return Finding("missing", data.name, metric, f"in the baseline, not in the run ({why})", fails=True)


def about_metric(data: ScoredDataset, metric: str, old: BaselineMetric, *, same_data: bool) -> Iterator[Finding]:
    """Yield changed parts of the signature, scores that are gone, and lost speed."""
    known = data.metrics[metric]
    parts = _changed_parts(old.signature, known.signature)
    if parts:
        yield Finding("changed signature", data.name, metric, parts)
    gone = int((np.isfinite(old.scores) & ~np.isfinite(data.scores[metric])).sum()) if same_data else 0
    if gone:
        text = f"{gone:,} of {len(data):,} pairs had a score and have none now"
        yield Finding("missing scores", data.name, metric, text, fails=True)
    if old.pairs_per_second and known.pairs_per_second:
        ratio = known.pairs_per_second / old.pairs_per_second
        if ratio < SLOWER:
            yield Finding(
                "slower",
                data.name,
                metric,
                f"{1 / ratio:.1f} times slower: {known.pairs_per_second:,.0f} pairs per second, "
                f"{old.pairs_per_second:,.0f} in the baseline (a warning: machines differ)",
            )


def _changed_parts(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    return "; ".join(
        f"{key} {old.get(key, 'absent')} -> {new.get(key, 'absent')}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    )
