"""A dataset of a run as reports show it: its tables, pairs and scores, and its labels in a few classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from assay.analysis.data import ALL, ScoredDataset, read_datasets
from assay.analysis.distribution import LabelClasses, classify_labels
from assay.analysis.folder import RunFolder, run_titles
from assay.common.numbers import Number
from assay.common.tables import short_names
from assay.reports.layout import Block, Section, lay_out
from assay.statistics.coefficients import main_statistic


@dataclass(frozen=True)
class Unit:
    """One dataset of one run.

    Attributes:
        key: the unique id, such as ``unit-0``.
        title: the display name, as on the leaderboard; with the run's title if several datasets have the same name.
        run: the run that the dataset belongs to.
        section: the dataset's tables, laid out.
        data: the dataset's pairs and scores.
        names: the short names of the metrics of all runs, by full name.
    """

    key: str
    title: str
    run: RunFolder
    section: Section
    data: ScoredDataset
    names: dict[str, str]

    @property
    def main_statistic(self) -> str:
        """The name of the statistic that is shown first."""
        return main_statistic(self.section.statistics)

    @cached_property
    def labels(self) -> LabelClasses:
        """The labels of the pairs, grouped into classes."""
        return classify_labels(self.data.labels)

    @cached_property
    def blocks(self) -> list[Block]:
        """The buckets with a row for at least one metric that has scores, without the rows of other metrics.

        Earlier versions wrote rows for metrics that had failed on some of the pairs; those metrics have no scores.
        """
        blocks = []
        for block in self.section.blocks:
            rows = [row for row in block.rows if row[0] in self.data.scores]
            if rows:
                blocks.append(replace(block, rows=rows))
        return blocks

    def cell(self, block: Block, metric: str, statistic: str) -> Number | None:
        """Return a statistic of a metric with its interval, or None if the metric has no row in this bucket."""
        column = self.section.statistics.index(statistic)
        for name, cells, _ in block.rows:
            if name == metric:
                return cells[column]
        return None

    def statistic_value(self, metric: str, statistic: str) -> float | None:
        """Return the value of a statistic for a metric on all pairs; None if it is undefined or has no row."""
        for block in self.blocks:
            if block.bucket == ALL:
                cell = self.cell(block, metric, statistic)
                return cell.value if cell else None
        return None

    def ranking(self, statistic: str) -> list[str]:
        """Return the metrics with a row in any bucket, in descending order of a statistic over all pairs.

        Metrics with an undefined value are the last; metrics with equal values keep their order.
        """
        metrics = list(dict.fromkeys(name for block in self.blocks for name, _, _ in block.rows))
        values = {name: self.statistic_value(name, statistic) for name in metrics}
        return sorted(metrics, key=lambda name: (values[name] is None, -(values[name] or 0.0)))


def read_units(runs: Sequence[RunFolder]) -> list[Unit]:
    """Return one unit per dataset of each run, in order.

    Raises:
        InputError: a run folder is incomplete, or a run is given twice.
    """
    titles = run_titles(runs)
    names = short_names(dict.fromkeys(metric.metric for run in runs for metric in run.manifest.metrics))
    datasets = []
    for run, title in zip(runs, titles, strict=True):
        for section, data in zip(lay_out(run), read_datasets(run), strict=True):
            datasets.append((run, title, section, data))
    counts = Counter(section.title for _, _, section, _ in datasets)
    units = []
    for number, (run, run_title, section, data) in enumerate(datasets):
        title = section.title if counts[section.title] == 1 else f"{section.title} [{run_title}]"
        units.append(Unit(f"unit-{number}", title, run, section, data, names))
    return units
