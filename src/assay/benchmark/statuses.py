"""How metrics fared, as a run reports it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.benchmark.outcome import MetricStatus
from assay.benchmark.prepared import PreparedDataset
from assay.benchmark.request import Request
from assay.benchmark.scoring import Scored
from assay.benchmark.task import Task
from assay.errors import AssayError, UnavailableError
from assay.metrics import Metric

__all__ = ["Statuses", "done", "finished"]


class Statuses:
    """Statuses as they come, given back in the order of the request."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[MetricStatus]] = {}

    def add(self, status: MetricStatus) -> None:
        """Report on a metric, or on a part of what it has to do on a dataset."""
        self._found.setdefault((status.metric, status.dataset), []).append(status)

    def fail(self, place: tuple[str, str], error: Exception) -> None:
        """Report what a metric raised."""
        metric, dataset = place
        if isinstance(error, UnavailableError):
            self.add(MetricStatus(dataset, metric, "unavailable", error.reason, error.remedy))
            return
        reason = str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"
        reason = reason.removeprefix(f"metric {metric}: ")
        self.add(MetricStatus(dataset, metric, "failed", reason))

    def in_order(self, request: Request, datasets: Sequence[PreparedDataset]) -> list[MetricStatus]:
        """Return one status a metric and dataset, metric by metric."""
        names = [str(metric) for metric in (*request.metrics, *request.absent)]
        return [_join(self._found[name, one.pairs.name]) for name in names for one in datasets]


def done(name: str, where: str, metric: Metric) -> MetricStatus:
    """Return the status of a metric that gave scores on a dataset, without what they took."""
    return MetricStatus(
        where,
        name,
        "done",
        short_signature=metric.short_signature(),
        signature=metric.signature(),
        declared=_declared(metric),
        says=metric.says(),
    )


def _declared(metric: Metric) -> dict[str, Any]:
    held = metric.declaration
    low, high = (bound if math.isfinite(bound) else None for bound in (held.low, held.high))
    part = {"aspect": held.aspect, "whole": held.whole} if held.aspect else {}
    return {"kind": held.kind, "low": low, "high": high, "higher_is_better": held.higher_is_better} | part


def finished(task: Task, scored: Scored, cost: dict[str, Any], names: list[str]) -> MetricStatus:
    """Return the status of a task that was scored.

    Args:
        task: what was done.
        scored: what came of it.
        cost: of its engine, empty where it was not needed.
        names: the metrics that were scored together.
    """
    others = [name for name in names if name != task.name]
    if scored.scored and scored.seconds > 0:
        cost = {"pairs_per_second": round(scored.scored / scored.seconds, 1)} | cost
    if scored.asymmetry:
        cost = cost | {"asymmetry": scored.asymmetry}
    if cost and others:
        cost = cost | {"shared_with": others}
    language = task.part.language if task.part.rows is not None and task.metric.name != task.name else None
    told = done(task.name, task.dataset.pairs.name, task.metric)
    if str(task.metric) == task.name or not task.metric.says():
        told = replace(told, says="")
    elif language:
        told = replace(told, says=f"{language}: {told.says}")
    return replace(
        told, seconds=scored.seconds, scored=scored.scored, stored=scored.stored, flags=scored.flags, cost=cost
    )


def _join(statuses: list[MetricStatus]) -> MetricStatus:
    """Make one status of those of a metric's parts; the first that failed stands for all."""
    first = next((one for one in statuses if one.status != "done"), statuses[0])
    if len(statuses) == 1 or first.status != "done":
        return first
    flags: dict[str, int] = {}
    for one in statuses:
        for phrase, count in one.flags.items():
            flags[phrase] = flags.get(phrase, 0) + count
    return replace(
        first,
        seconds=sum(one.seconds for one in statuses),
        scored=sum(one.scored for one in statuses),
        stored=sum(one.stored for one in statuses),
        short_signature="; ".join(one.short_signature for one in statuses),
        signature={
            f"{number}.{key}": value
            for number, one in enumerate(statuses, start=1)
            for key, value in one.signature.items()
        },
        says="; ".join(one.says for one in statuses if one.says),
        flags=flags,
        cost={str(number): one.cost for number, one in enumerate(statuses, start=1) if one.cost},
    )
