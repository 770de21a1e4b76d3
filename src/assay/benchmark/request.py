"""The request of a run, with its data and metrics loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.benchmark.adjusted import check_controls
from assay.benchmark.buckets import parse_rule
from assay.common.messages import Setting
from assay.common.tables import annotations_of, first_repeated
from assay.exceptions import InputError, UnavailableError
from assay.manifest import RequestedDataset, RequestRecord
from assay.metrics import ColumnMetric
from assay.paths import user_path
from assay.settings import DEFAULT_BUCKETS, Offline, RequestSettings, check_level, check_resamples, check_seed
from assay.statistics.coefficients import check_statistics, default_statistics
from assay.statistics.votes import deciding_statistic_of

if TYPE_CHECKING:
    from assay.datasets import Pairs
    from assay.metrics import Metric


@dataclass(frozen=True)
class Request(RequestSettings, Offline):
    """Everything that determines the numbers of a run.

    Attributes:
        pairs: the loaded datasets.
        metrics: the metrics, in the order of the table.
        optional: the names of metrics whose absence is reported without failing the run.
        unavailable: the reason why each unavailable dataset is missing, by its name.
        absent: the error of each unavailable metric, by its name.
        suite: the name of the suite; None without a suite.
        graphs: the files of AMR graphs that were joined to the pairs, by side.

    Raises:
        InputError: a value outside its range.
    """

    pairs: tuple[Pairs, ...]
    metrics: tuple[Metric, ...]
    _: KW_ONLY
    optional: frozenset[str] = frozenset()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, UnavailableError] = field(default_factory=dict)
    suite: str | None = None
    graphs: Mapping[str, Sequence[str | Path]] = field(default_factory=dict)

    def check(self) -> None:
        """Check all values, and set the rules and coefficients to their defaults if there are none.

        Raises:
            InputError: a value is outside its range, a rule cannot be parsed, two settings exclude each other, or a
                metric or the name of a dataset occurs twice.
        """
        # only a run checks whether its resamples suffice for the level: requests of earlier runs must stay readable
        check_resamples(self.resamples, none_allowed=True)
        check_level(self.confidence)
        check_seed(self.seed)
        object.__setattr__(self, "buckets", self.buckets or DEFAULT_BUCKETS)
        for rule in self.buckets:
            # raises an error for a rule that cannot be parsed; a run checks its columns
            parse_rule(rule)
        if self.controls:
            check_controls(self.controls)
        object.__setattr__(self, "drop_duplicates", bool(self.drop_duplicates))
        statistics = self.statistics
        if not statistics:
            # labels that are yes and no have a coefficient of their own
            of_votes = [deciding_statistic_of(pairs.labels, annotations_of(pairs.table)[0]) for pairs in self.pairs]
            statistics = default_statistics(of_votes)
        object.__setattr__(self, "statistics", check_statistics(statistics))
        if self.sample is not None and self.limit is not None:
            raise InputError(
                Setting("sample"), " draws pairs at random and ", Setting("limit"), " takes the first: give one of them"
            )
        self._check_names()

    def _check_names(self) -> None:
        """Raise InputError if two metrics or two datasets have the same name."""
        repeated_metric = first_repeated([str(metric) for metric in self.metrics])
        if repeated_metric is not None:
            functions = [metric for metric in self.metrics if metric.declaration.kind == "function"]
            # every function or object has a class of its own: several classes are several functions of one name
            classes = {type(metric) for metric in functions if str(metric) == repeated_metric}
            example = f'{{"{repeated_metric}-1": …, "{repeated_metric}-2": …}}'
            hint = f"; name each: metrics={example}" if len(classes) > 1 else ""
            raise InputError(f"the metric {repeated_metric} is asked for twice{hint}")
        repeated_dataset = first_repeated([pairs.name for pairs in self.pairs])
        if repeated_dataset is not None:
            raise InputError(f"two datasets are called {repeated_dataset}; leave one out or give it another name")

    def group_column(self, pairs: Pairs) -> str | None:
        """Return the column whose values are resampled as whole groups; None if pairs are resampled one by one.

        It is the requested column, or without a request the column ``group`` if the data has it; the request ``none``
        asks for no groups.

        Raises:
            InputError: the data lacks the requested column.
        """
        if self.group_by == "none":
            return None
        if self.group_by is None:
            return "group" if "group" in pairs.table.column_names else None
        try:
            pairs.column(self.group_by)
        except InputError as error:
            raise InputError(error.message, setting="group_by", value=self.group_by) from None
        return self.group_by

    def choose_rows(self, pairs: Pairs) -> tuple[Pairs, int]:
        """Return the pairs that the run uses, and the number of duplicates that were left out.

        Duplicates are dropped first; a sample is then drawn, or the first rows are taken.

        Raises:
            InputError: a sample is drawn in groups, and the data lacks the requested group column.
        """
        dropped = 0
        if self.drop_duplicates:
            pairs, dropped = pairs.drop_duplicates()
        if self.sample is not None:
            pairs = pairs.sample(self.sample, self.seed, self.group_column(pairs))
        if self.limit is not None:
            pairs = pairs.limit(self.limit)
        return pairs, dropped

    def record(self) -> RequestRecord:
        """Return the request in the form of the manifest, with the SHA-256 digests of existing files of scores."""
        datasets = []
        for pairs in self.pairs:
            datasets.append(
                RequestedDataset(
                    name=pairs.name,
                    version=pairs.version,
                    split=pairs.split,
                    language=pairs.language,
                    digest=pairs.digest,
                    other_columns=pairs.other_columns_digest,
                )
            )
        recorded_files = {}
        for metric in self.metrics:
            if isinstance(metric, ColumnMetric) and metric.file and user_path(metric.file).is_file():
                recorded_files[metric.file] = hashlib.sha256(user_path(metric.file).read_bytes()).hexdigest()
        return RequestRecord(
            suite=self.suite,
            datasets=datasets,
            unavailable=dict(self.unavailable),
            metrics=[*(metric.name.text for metric in self.metrics), *self.absent],
            recorded_files=recorded_files,
            **self.values_of(RequestSettings),
            graphs={side: [str(file) for file in files] for side, files in self.graphs.items()},
        )
