"""A dataset of a run as a report shows it: tables laid out, pairs read, labels in a few classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.reports.data import ALL, ScoredDataset, read_datasets
from assay.reports.folder import RunFolder, run_titles
from assay.reports.layout import Block, Cell, Section, label_texts, lay_out
from assay.statistics.coefficients import main_statistic
from assay.tables import NOT_BY_PEOPLE, short_names

# Labels in a few classes, for colours, strips and filters.

#: More different labels than this are cut into quarters.
MOST = 7


@dataclass(frozen=True)
class LabelClasses:
    """Titles of the classes in ascending order, and the class of each pair, shape (n,)."""

    titles: list[str]
    codes: NDArray[np.uint8]


def classify(labels: NDArray[np.float64]) -> LabelClasses:
    """Return each label as a class of its own, or quarters of the pairs where there are more than seven.

    Equal labels are always in one class, so that there may be fewer than four quarters.
    """
    values, codes = np.unique(labels, return_inverse=True)
    if len(values) <= MOST:
        return LabelClasses(label_texts(values.tolist()), codes.astype(np.uint8))
    cuts = np.unique(np.quantile(labels, [0.25, 0.5, 0.75]))
    _, codes = np.unique(np.searchsorted(cuts, labels, side="left"), return_inverse=True)
    titles = []
    for code in range(int(codes.max()) + 1):
        inside = labels[codes == code]
        titles.append("–".join(label_texts(sorted({float(inside.min()), float(inside.max())}))))
    return LabelClasses(titles, codes.astype(np.uint8))


# A dataset of a run, with its tables laid out and its pairs read.


@dataclass(frozen=True)
class Unit:
    """One dataset of one run.

    Attributes:
        key: names it among the others, such as ``unit-0``.
        title: how a reader calls it, as on the leaderboard; with the run where several have data of that name.
        run: the run that it is a dataset of.
        section: its tables, laid out.
        data: its pairs and scores.
        names: the short name of each metric of all runs.
    """

    key: str
    title: str
    run: RunFolder
    section: Section
    data: ScoredDataset
    names: dict[str, str]

    @property
    def main_statistic(self) -> str:
        """The statistic that is shown first."""
        return main_statistic(self.section.statistics)

    @cached_property
    def labels(self) -> LabelClasses:
        """The labels in classes."""
        return classify(self.data.labels)

    @property
    def is_by_people(self) -> bool:
        """Whether people gave the labels, so that metrics are ranked by it."""
        return self.data.facts.kind not in NOT_BY_PEOPLE

    @cached_property
    def blocks(self) -> list[Block]:
        """Its buckets that hold pairs and have a line for some metric that has scores.

        Earlier versions wrote lines of metrics that had failed on a part of the pairs; of those there are no scores.
        """
        known = [
            replace(block, rows=[row for row in block.rows if row[0] in self.data.scores])
            for block in self.section.blocks
        ]
        return [block for block in known if block.rows]

    def cell(self, block: Block, metric: str, statistic: str) -> Cell | None:
        """Return one number, or None where the metric has no line in this bucket."""
        column = self.section.statistics.index(statistic)
        return next((cells[column] for name, cells, _ in block.rows if name == metric), None)

    def value(self, metric: str, statistic: str, bucket: str = ALL) -> float | None:
        """Return the agreement of a metric in a bucket, or None where it is undefined."""
        block = next((block for block in self.blocks if block.bucket == bucket), None)
        cell = self.cell(block, metric, statistic) if block else None
        return cell.value if cell else None

    def ranking(self, statistic: str) -> list[str]:
        """Return the metrics from the highest value over all pairs to the lowest, undefined ones last."""
        metrics = list(dict.fromkeys(name for block in self.blocks for name, _, _ in block.rows))
        values = {name: self.value(name, statistic) for name in metrics}
        return sorted(metrics, key=lambda name: (values[name] is None, -(values[name] or 0.0)))


def read_units(runs: Sequence[RunFolder]) -> list[Unit]:
    """Read every dataset of every run, in order.

    Raises:
        InputError: a run folder is not whole, or is given twice.
    """
    titles = run_titles(runs)
    names = short_names(dict.fromkeys(metric.metric for run in runs for metric in run.manifest.metrics))
    datasets = [
        (run, title, section, data)
        for run, title in zip(runs, titles, strict=True)
        for section, data in zip(lay_out(run), read_datasets(run), strict=True)
    ]
    counts = Counter(section.title for _, _, section, _ in datasets)
    units = []
    for number, (run, run_title, section, data) in enumerate(datasets):
        title = section.title if counts[section.title] == 1 else f"{section.title} [{run_title}]"
        units.append(Unit(f"unit-{number}", title, run, section, data, names))
    return units
