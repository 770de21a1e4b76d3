"""``assay profile``: what metrics cost, measured alone."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from assay.api.values import Tables
from assay.benchmark.profile import MetricProfile, profile_metric
from assay.benchmark.settings import ProfileSettings
from assay.benchmark.singles import Singles
from assay.common.messages import Message, Setting
from assay.common.progress import Silent
from assay.common.verbs import verb
from assay.datasets import Pairs, load_dataset
from assay.datasets.files import is_table_file
from assay.exceptions import AssayError, InputError, UnavailableError
from assay.metrics import ColumnMetric, Context, Metric, MetricName, load_metric
from assay.metrics.judge.spending import read_prices
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.metrics.provenance import own_version
from assay.paths import user_path
from assay.reports import profile as costs
from assay.reports.sheets import Document
from assay.settings import OwnData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from assay.metrics import Batch

#: Output format by file extension.
FORMAT_BY_SUFFIX: Final[dict[str, str]] = {".json": "json", ".csv": "csv", ".md": "md"}


# it prints its tables
@dataclass(frozen=True, repr=False)
class Profile(Tables):
    """Measurements of what metrics cost, and the machine on which they were made.

    Attributes:
        dataset: the name of the data.
        distinct: the number of distinct pairs in the data; further pairs are made by adding a running number.
        machine: the system, processor, number of cores, and versions of Python and assay.
        metrics: the profile of each metric, in the requested order.
    """

    dataset: str
    distinct: int
    machine: dict[str, Any]
    metrics: tuple[MetricProfile, ...]

    @property
    def failures(self) -> list[str]:
        """One line for each metric that could not be measured."""
        lines: list[str] = []
        for metric in self.metrics:
            if metric.status != "done":
                remedy = Message(" -> ", metric.remedy) if metric.remedy else ""
                lines.append(Message(f"{metric.metric}: {metric.status}, ", metric.reason, remedy))
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Return the profile as plain values."""
        facts = {"dataset": self.dataset, "distinct": self.distinct, "machine": self.machine}
        return facts | {"metrics": [metric.as_dict() for metric in self.metrics]}

    @property
    def document(self) -> Document:
        """The tables of costs and times, with one record per measurement."""
        return costs.document(self.as_dict())

    def _draw(self, panel: Axes) -> None:
        from assay.reports.figure.costs import draw_times

        draw_times(panel, self.as_dict()["metrics"])


@verb(
    ProfileSettings,
    "Measure what metrics cost, each in a process of its own: load, memory, speed, and how time grows.",
    "assay profile -m f1 -m bi-encoder:all-MiniLM-L6-v2 --pairs 64,256,1024",
)
def profile(settings: ProfileSettings) -> Profile:
    """Measure what metrics cost: each in a process of its own, with no score store.

    A metric that is unavailable or fails is listed with the reason.

    Args:
        metrics: metric names; a metric object is measured by its name.
        dataset: the source of the texts: a card name, a file, or data in memory; labels are not needed.
        pairs: the numbers of pairs to score, such as ``[64, 256, 1024]``; if the data has fewer, texts are
            repeated with a running number.
        lengths: the numbers of texts to join into one, at the middle number of pairs.
        out: a file to write, too, ending in .json, .csv or .md.

    Returns:
        The measurements, by metric in the order of *metrics*, and the machine.

    Raises:
        InputError: no metric is named or one is unknown or cannot be profiled, the data or the prices cannot be read,
            or *out* has another extension or cannot be written.
        OfflineError: the dataset is not on this machine, and the network is forbidden.
        UnavailableError: the dataset is unavailable.

    Example:
        >>> assay.profile("f1", pairs=[100, 1000]).metrics[0].over_pairs  # doctest: +SKIP
        Fit(exponent=0.98, r_squared=None, points=2)
    """
    if not settings.metrics:
        raise InputError("no metric: give ", Setting("metrics", "NAME"), " (assay metrics list shows them)")
    out = None if settings.out is None else user_path(settings.out)
    _check_output_path(out)
    try:
        report = _measure(settings)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("a measurement that was interrupted is not kept") from None
    if out is not None:
        try:
            out.write_text(report.to_text(FORMAT_BY_SUFFIX[out.suffix.lower()]), encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", setting="out", value=out) from error
    return report


def _check_output_path(out: Path | None) -> None:
    """Raise InputError before anything is measured if the file has an unknown extension or no folder."""
    if out is None:
        return
    if out.suffix.lower() not in FORMAT_BY_SUFFIX:
        raise InputError(f"the name must end in {', '.join(FORMAT_BY_SUFFIX)}", setting="out", value=out)
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent}", setting="out", value=out)


def _measure(settings: ProfileSettings) -> Profile:
    """Measure every metric in turn; one that is unavailable or fails has a profile with the reason.

    Raises:
        InputError: a name is unknown, a metric cannot be profiled, or the data or the prices cannot be read.
        OfflineError, UnavailableError: the data of a card is not on this machine and cannot be downloaded.
    """
    runtime = Runtime(settings.device, settings.threads)
    progress = settings.progress or Silent()
    prices = None if settings.prices is None else read_prices(settings.prices)
    metrics_or_errors = {str(name): _load_profilable_metric(name) for name in settings.metrics}
    data = _load_pairs(settings)
    points = settings.points()
    max_pair_count = max(pair_count for pair_count, _ in points)
    profiles = []
    distinct_count = len(data)
    for name, metric in metrics_or_errors.items():
        progress.begin(name, len(points))
        try:
            if isinstance(metric, UnavailableError):
                # reported below, like an error of the measurement
                raise metric
            # metrics that read other columns may count other pairs as distinct: the last one that is loaded decides
            batch, distinct_count = _sample_distinct_pairs(data, metric, max_pair_count)
            # before the measurement, since a download is not part of loading
            with use_runtime(runtime):
                _make_available(metric, batch, data.language, offline=settings.offline)
            profiles.append(
                profile_metric(name, batch, settings, language=data.language, prices=prices, advance=progress.advance)
            )
        except UnavailableError as error:
            profiles.append(MetricProfile(name, "unavailable", error.reason, error.remedy))
        except AssayError as error:
            profiles.append(MetricProfile(name, "failed", error.message))
    return Profile(data.name, distinct_count, _machine_facts(), tuple(profiles))


def _make_available(metric: Metric, batch: Batch, language: str | None, *, offline: bool) -> None:
    """Download what a metric needs to score a batch.

    Args:
        metric: the metric.
        batch: the texts, whose references are the corpus of a metric that needs one.
        language: the language of the texts, which may select a model; None if unknown.
        offline: whether downloads are forbidden.

    Raises:
        OfflineError: a download is needed and forbidden.
        UnavailableError: the metric cannot be computed on this machine.
    """
    bound_metric = metric.bind(Context(language, partial(list, batch.references)))
    bound_metric.obtain(offline=offline)
    bound_metric.check_available()


def _load_profilable_metric(name: str | MetricName | Metric) -> Metric | UnavailableError:
    """Return the metric of a name, or the error if it is unavailable.

    Raises:
        InputError: the name is unknown, or the metric cannot be profiled.
    """
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


def _load_pairs(settings: ProfileSettings) -> Pairs:
    """Return the pairs whose texts are scored; they need no labels.

    Raises:
        InputError: the dataset cannot be read or has no pairs.
        OfflineError, UnavailableError: the data of a card is not on this machine and cannot be downloaded.
    """
    dataset = settings.dataset
    if isinstance(dataset, Pairs):
        return dataset
    reading_settings = settings.values_of(OwnData)
    is_card = isinstance(dataset, str | Path) and not is_table_file(dataset)
    data = load_dataset(dataset, **reading_settings, offline=settings.offline, allow_unlabelled=not is_card)
    if not len(data):
        raise InputError(f"{dataset}: has no pairs")
    return data


def _sample_distinct_pairs(data: Pairs, metric: Metric, max_pair_count: int) -> tuple[Batch, int]:
    """Return a batch of at most *max_pair_count* distinct pairs, and the number of distinct pairs in the data.

    The pairs are drawn in a fixed random order, so that every call returns the same ones.
    """
    singles = Singles(data, metric.declaration)
    random_order = np.random.default_rng(0).permutation(len(singles.digests))
    return singles.batch(random_order[:max_pair_count]), len(random_order)


def _machine_facts() -> dict[str, Any]:
    """Return the facts that affect speed: system, processor, cores, and the versions of Python and assay."""
    return {
        "system": platform.platform(),
        "processor": _processor_name(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "assay": own_version(),
    }


def _processor_name() -> str:
    """Return the name of the processor, or of its architecture if the system does not report a name."""
    try:
        cpu_info = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    model_names = (line.partition(":")[2].strip() for line in cpu_info.splitlines() if line.startswith("model name"))
    return next(model_names, platform.machine())
