"""The choice of datasets, buckets and metrics of a run for a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from assay.analysis.folder import RunFolder
from assay.common.numbers import Number, percent
from assay.exceptions import InputError, unknown_name
from assay.reports.layout import Block
from assay.reports.units import Unit, read_units
from assay.statistics.coefficients import main_statistic


@dataclass(frozen=True)
class ChosenDataset:
    """A dataset with its chosen buckets and metrics, each in the order of the run."""

    unit: Unit
    blocks: list[Block]
    metrics: list[str]

    def defined_cells(self, statistic: str) -> list[Number]:
        """Return the cells of a statistic for the chosen buckets and metrics, without those of undefined value."""
        cells = [self.unit.cell(block, metric, statistic) for block in self.blocks for metric in self.metrics]
        return [cell for cell in cells if cell is not None and cell.value is not None]


def choose_datasets(
    run: RunFolder, datasets: Sequence[str], metrics: Sequence[str], buckets: Sequence[str]
) -> list[ChosenDataset]:
    """Return the chosen datasets with their chosen metrics and buckets; an empty choice means all.

    A dataset need not have all of the chosen metrics and buckets; it is left out if it has none of the metrics, or none
    of the buckets.

    Raises:
        InputError: a name exists in no dataset, no dataset is left, the run has no scores, or its folder is incomplete.
    """
    units = [unit for unit in read_units([run]) if unit.blocks]
    if not units:
        raise InputError(f"{run.title}: has no scores; there is nothing to draw")
    _check_known_names(run, "dataset", datasets, units, lambda unit: [unit.data.name])
    units = [unit for unit in units if not datasets or unit.data.name in datasets]
    _check_known_names(run, "metric", metrics, units, lambda unit: unit.data.scores)
    _check_known_names(run, "bucket", buckets, units, lambda unit: [block.bucket for block in unit.blocks])
    chosen = []
    for unit in units:
        blocks = [block for block in unit.blocks if not buckets or block.bucket in buckets]
        chosen_metrics = [metric for metric in unit.data.scores if not metrics or metric in metrics]
        if blocks and chosen_metrics:
            chosen.append(ChosenDataset(unit, blocks, chosen_metrics))
    if not chosen:
        raise InputError(f"{run.title}: no dataset has both such a bucket and such a metric; ask for less")
    return chosen


def _check_known_names(
    run: RunFolder, kind: str, names: Sequence[str], units: list[Unit], names_of: Callable[[Unit], Iterable[str]]
) -> None:
    """Check that each of some names exists in some dataset.

    Args:
        run: the run, for the message.
        kind: the kind of the names, such as "metric".
        names: the names to check.
        units: the datasets.
        names_of: a function that returns the names that a dataset has.

    Raises:
        InputError: no dataset has one of the names.
    """
    known_names = list(dict.fromkeys(name for unit in units for name in names_of(unit)))
    for name in names:
        if name not in known_names:
            raise InputError(unknown_name(f"{run.title}: has no {kind}", name, known_names))


def choose_statistic(run: RunFolder, statistic: str | None) -> str:
    """Return the requested statistic, or the main statistic of the run if *statistic* is None.

    Raises:
        InputError: the run did not compute the requested statistic.
    """
    computed = list(run.manifest.request.statistics)
    if statistic is None:
        return main_statistic(computed)
    if statistic not in computed:
        raise InputError(unknown_name(f"{run.title}: has no statistic", statistic, computed))
    return statistic


def legend_lines(chosen_datasets: Sequence[ChosenDataset], statistic: str, mark: str) -> list[str]:
    """Return the lines of a legend: the level of the intervals if there are any, and the metrics whose sign is turned.

    Args:
        chosen_datasets: the datasets with the chosen buckets and metrics.
        statistic: the name of the coefficient.
        mark: the word for the mark of an interval, such as "bar".
    """
    lines = []
    if any(cell.low is not None for chosen in chosen_datasets for cell in chosen.defined_cells(statistic)):
        lines.append(f"{mark}: {percent(chosen_datasets[0].unit.run.manifest.request.confidence)} interval")
    turned_metrics: dict[str, None] = {}  # used as an ordered set
    for chosen in chosen_datasets:
        for metric in chosen.metrics:
            if not chosen.unit.data.metrics[metric].declared.higher_is_better:
                turned_metrics[chosen.unit.names[metric]] = None
    if turned_metrics:
        lines.append(f"sign turned: {', '.join(turned_metrics)}")
    return lines
