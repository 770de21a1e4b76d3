"""What metrics cost, each measured alone."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.benchmark.profile import MetricProfile, Plan, profile_metric
from assay.benchmark.singles import Singles
from assay.datasets import Pairs, load_dataset
from assay.datasets.files import is_table_file
from assay.errors import AssayError, InputError, UnavailableError
from assay.metrics import ColumnMetric, Context, Metric, MetricName, load_metric
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.provenance import own_version
from assay.progress import Progress, Silent

if TYPE_CHECKING:
    from assay.metrics import Batch

__all__ = ["Profile", "profile"]


@dataclass(frozen=True)
class Profile:
    """What was measured, and where.

    Attributes:
        dataset: name of the data.
        distinct: pairs that it has; more are made of them by a running number.
        machine: system, processor, cores, versions.
        metrics: one a metric, in the order asked for.
    """

    dataset: str
    distinct: int
    machine: dict[str, Any]
    metrics: tuple[MetricProfile, ...]

    @property
    def failures(self) -> list[str]:
        """A line for each metric that is not done."""
        return [
            f"{one.metric}: {one.status}, {one.reason}" + (f" -> {one.remedy}" if one.remedy else "")
            for one in self.metrics
            if one.status != "done"
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        found = {"dataset": self.dataset, "distinct": self.distinct, "machine": self.machine}
        return found | {"metrics": [one.as_dict() for one in self.metrics]}


def profile(
    metrics: str | MetricName | Metric | Iterable[str | MetricName | Metric],
    dataset: Any = "probe",
    *,
    pairs: int | Sequence[int] = (64, 256, 1024),
    lengths: int | Sequence[int] = (1, 2, 4, 8),
    repeats: int = 3,
    columns: str | Mapping[str, str] | None = None,
    language: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Profile:
    """Measure what metrics cost: each in a process of its own, with no score store.

    Args:
        metrics: metric names; a metric object is measured by its name.
        dataset: where the texts come from: a card name, a file, or data in memory; labels are not needed.
        pairs: how many pairs to score; where they exceed the data, texts are made distinct by a running number.
        lengths: how many texts to join to one, at the middle number of pairs.
        repeats: timed calls a point; the median counts.
        columns: which columns of one's own data are what, as for :func:`assay.run`.
        language: of one's own data.
        device: where models run, as for :func:`assay.run`.
        threads: threads of the CPU for models; the cores that are free by default.
        offline: fetch nothing.
        progress: told of every point.

    Raises:
        InputError: something that was given cannot be used; one line says what and where.
        UnavailableError: the dataset cannot be had.

    Example:
        >>> assay.profile("f1", pairs=[100, 1000]).metrics[0].over_pairs  # doctest: +SKIP
        Fit(exponent=0.98, r_squared=None, points=2)
    """
    asked = [metrics] if isinstance(metrics, str | MetricName | Metric) else list(metrics)
    if not asked:
        raise InputError("no metric: give `metrics=NAME` (assay metrics list shows them)")
    plan = Plan(_numbers(pairs), _numbers(lengths), repeats, device, threads)
    runtime = Runtime(device, threads)
    progress = progress or Silent()
    loaded = {str(name): _load(name) for name in asked}
    data = _data(dataset, columns=columns, language=language, offline=offline)
    found, distinct = [], 0
    for name, metric in loaded.items():
        progress.begin(name, len(plan.points()))
        try:
            if isinstance(metric, UnavailableError):
                raise metric
            batch, distinct = _sample(data, metric, max(plan.pairs))
            with use_runtime(runtime):
                # here, since fetching is no part of loading
                bound = metric.bind(Context(data.language, partial(list, batch.references)))
                bound.obtain(offline=offline)
                bound.check_available()
            found.append(profile_metric(name, batch, plan, language=data.language, advance=progress.advance))
        except UnavailableError as error:
            found.append(MetricProfile(name, "unavailable", error.reason, error.remedy))
        except AssayError as error:
            found.append(MetricProfile(name, "failed", str(error)))
    return Profile(data.name, distinct or len(data), _machine(), tuple(found))


def _numbers(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _load(name: str | MetricName | Metric) -> Metric | UnavailableError:
    try:
        metric = load_metric(name)
    except UnavailableError as error:
        return error
    if isinstance(metric, ColumnMetric):
        raise InputError(f"metric {metric}: a recorded score is read from the data, there is nothing to measure")
    if metric.declaration.reads_graphs:
        raise InputError(
            f"metric {metric}: a profile grows texts, and this metric reads graphs (run.json has its cost)"
        )
    return metric


def _data(dataset: Any, *, columns: str | Mapping[str, str] | None, language: str | None, offline: bool) -> Pairs:
    if isinstance(dataset, Pairs):
        return dataset
    card = isinstance(dataset, str | Path) and not is_table_file(dataset)
    if card and columns is not None:
        raise InputError(f"`columns` is for files of your own; {dataset} has its own reader")
    data = load_dataset(dataset, columns=columns, language=language, offline=offline, allow_unlabelled=not card)
    if not len(data):
        raise InputError(f"{dataset}: has no pairs")
    return data


def _sample(data: Pairs, metric: Metric, most: int) -> tuple[Batch, int]:
    """Return the first so many distinct pairs in an order by chance (the same each time), and how many there are."""
    singles = Singles.read_by(metric, data)
    order = np.random.default_rng(0).permutation(len(singles.digests))
    return singles.batch(order[:most]), len(order)


def _machine() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "assay": own_version(),
    }


def _processor() -> str:
    """Return the name of the processor where the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    lines = (line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name"))
    return next(lines, platform.machine())
