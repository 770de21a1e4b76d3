"""What a run was asked to do, checked once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.benchmark.buckets import check_rules
from assay.benchmark.singles import ReferenceChoice
from assay.errors import InputError, UnavailableError
from assay.metrics import ColumnMetric
from assay.settings import check_level, check_resamples, check_seed, is_whole
from assay.statistics.coefficients import check_statistics

if TYPE_CHECKING:
    from assay.datasets import Pairs
    from assay.metrics import Metric

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """Everything that decides the numbers of a run.

    Attributes:
        pairs: the datasets, loaded.
        metrics: the metrics, in the order of the table.
        buckets: rules, see :mod:`assay.benchmark.buckets`.
        statistics: names of coefficients.
        resamples: bootstrap resamples; 0 for no intervals, else at least 100.
        confidence: level of the intervals, in (0.5, 1).
        group_by: column whose values are resampled whole; None for the data's own ``group`` where it has one,
            "none" for single pairs in any case.
        drop_duplicates: keep the first of pairs equal in question, reference, candidate and label.
        seed: seeds all resampling, not negative.
        limit: first so many pairs of each dataset, or None.
        references: how several gold answers become one score.
        optional: metrics whose absence is reported without failing the run.
        unavailable: datasets that could not be had: name to reason.
        absent: metrics that could not be built: name to what is missing.
        suite: name of the suite, or None.
        offline: fetch nothing.
        graphs: files of AMR graphs that were joined to the pairs, by side.

    Raises:
        InputError: a value outside its range.
    """

    pairs: tuple[Pairs, ...]
    metrics: tuple[Metric, ...]
    buckets: tuple[str, ...] = ("f1",)
    statistics: tuple[str, ...] = ()
    resamples: int = 1000
    confidence: float = 0.95
    group_by: str | None = None
    drop_duplicates: bool = False
    seed: int = 0
    limit: int | None = None
    references: ReferenceChoice = "best"
    optional: frozenset[str] = frozenset()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, UnavailableError] = field(default_factory=dict)
    suite: str | None = None
    offline: bool = False
    graphs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_rules(self.buckets)
        object.__setattr__(self, "statistics", check_statistics(self.statistics))
        check_resamples(self.resamples, none_allowed=True)
        check_level(self.confidence)
        check_seed(self.seed)
        if self.limit is not None and not (is_whole(self.limit) and self.limit >= 1):
            raise InputError(f"`limit={self.limit!r}`: must be a whole number, at least 1")
        if not isinstance(self.group_by, str | None):
            raise InputError(f"`group_by={self.group_by!r}`: expected the name of a column")
        if self.references not in ("best", "mean"):
            raise InputError(f"`references={self.references}`: must be best or mean")
        names = [str(metric) for metric in self.metrics]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"the metric {twice} is asked for twice")
        titles = [one.name for one in self.pairs]
        if len(set(titles)) < len(titles):
            twice = next(title for title in titles if titles.count(title) > 1)
            raise InputError(f"two datasets are called {twice}; leave one out or give it another name")

    def describe(self) -> dict[str, Any]:
        """Return what was asked as plain values, for the manifest."""
        return {
            "suite": self.suite,
            "datasets": [
                {
                    "name": one.name,
                    "version": one.version,
                    "split": one.split,
                    "language": one.language,
                    "digest": one.digest,
                    "other_columns": one.other_digest,
                }
                for one in self.pairs
            ],
            "unavailable": dict(self.unavailable),
            "metrics": [str(metric) for metric in (*self.metrics, *self.absent)],
            "recorded_files": {
                metric.file: hashlib.sha256(Path(metric.file).read_bytes()).hexdigest()
                for metric in self.metrics
                if isinstance(metric, ColumnMetric) and metric.file and Path(metric.file).is_file()
            },
            "buckets": list(self.buckets),
            "statistics": list(self.statistics),
            "resamples": self.resamples,
            "confidence": self.confidence,
            "group_by": self.group_by,
            "drop_duplicates": self.drop_duplicates,
            "seed": self.seed,
            "limit": self.limit,
            "references": self.references,
            "graphs": {side: list(files) for side, files in self.graphs.items()},
        }

    def digest(self) -> str:
        """Return a digest of :meth:`describe`: two runs with the same one may share a folder.

        Where files of graphs lie says nothing; the graphs are in the digests of the datasets.
        """
        told = {key: value for key, value in self.describe().items() if key != "graphs"}
        text = json.dumps(told, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
