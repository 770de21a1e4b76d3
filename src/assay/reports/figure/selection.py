"""The choice of datasets, buckets and metrics of a run for a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from assay.errors import InputError, unknown_name
from assay.reports.folder import RunFolder
from assay.reports.layout import Block, Cell, percent
from assay.reports.units import Unit, read_units
from assay.statistics.coefficients import main_statistic


@dataclass(frozen=True)
class Chosen:
    """A dataset with its chosen buckets and metrics, each in the order of the run."""

    unit: Unit
    blocks: list[Block]
    metrics: list[str]

    def cells(self, statistic: str) -> list[Cell]:
        """Return the defined numbers of a statistic for the chosen buckets and metrics."""
        cells = [self.unit.cell(block, metric, statistic) for block in self.blocks for metric in self.metrics]
        return [cell for cell in cells if cell is not None and cell.value is not None]


def choose(run: RunFolder, datasets: Sequence[str], metrics: Sequence[str], buckets: Sequence[str]) -> list[Chosen]:
    """Return the chosen datasets with their chosen metrics and buckets; an empty choice means all.

    A dataset need not have all of the metrics and buckets, but one without any of them is left out.

    Raises:
        InputError: no dataset of the run has the chosen names, or the run folder is incomplete.
    """
    units = [unit for unit in read_units([run]) if unit.blocks]
    if not units:
        raise InputError(f"{run.title}: has no scores; there is nothing to draw")
    _check(run, "dataset", datasets, units, lambda unit: [unit.data.name])
    candidates = [unit for unit in units if not datasets or unit.data.name in datasets]
    _check(run, "metric", metrics, candidates, lambda unit: unit.data.scores)
    _check(run, "bucket", buckets, candidates, lambda unit: [block.bucket for block in unit.blocks])
    shown = []
    for unit in candidates:
        blocks = [block for block in unit.blocks if not buckets or block.bucket in buckets]
        drawn = [metric for metric in unit.data.scores if not metrics or metric in metrics]
        if blocks and drawn:
            shown.append(Chosen(unit, blocks, drawn))
    if not shown:
        raise InputError(f"{run.title}: no dataset has both such a bucket and such a metric; ask for less")
    return shown


def _check(
    run: RunFolder, what: str, wanted: Sequence[str], units: list[Unit], names: Callable[[Unit], Iterable[str]]
) -> None:
    """Raise InputError for a name that no dataset has; *names* returns those of a dataset."""
    known = list(dict.fromkeys(name for unit in units for name in names(unit)))
    for name in wanted:
        if name not in known:
            raise InputError(unknown_name(f"{run.title}: has no {what}", name, known))


def choose_statistic(run: RunFolder, statistic: str | None) -> str:
    """Return the statistic asked for; where none is, the one that the run shows first.

    Raises:
        InputError: the run does not have it.
    """
    computed = list(run.manifest.request.statistics)
    if statistic is None:
        return main_statistic(computed)
    if statistic not in computed:
        raise InputError(unknown_name(f"{run.title}: has no statistic", statistic, computed))
    return statistic


def legend(shown: Sequence[Chosen], statistic: str, mark: str) -> list[str]:
    """Return the lines of a legend: the level of the intervals, and the metrics whose sign is turned.

    Args:
        shown: the datasets with the chosen buckets and metrics.
        statistic: the name of the coefficient.
        mark: the word for the mark of an interval, such as "bar".
    """
    lines = []
    if any(cell.low is not None for chosen in shown for cell in chosen.cells(statistic)):
        lines.append(f"{mark}: {percent(shown[0].unit.run.manifest.request.confidence)} interval")
    turned: dict[str, None] = {}  # used as an ordered set
    for chosen in shown:
        for metric in chosen.metrics:
            if not chosen.unit.data.metrics[metric].declared.higher_is_better:
                turned[chosen.unit.names[metric]] = None
    if turned:
        lines.append(f"sign turned: {', '.join(turned)}")
    return lines
