"""Which datasets, buckets and metrics of a run a figure shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from assay.errors import InputError, unknown
from assay.reports.folder import RunFolder
from assay.reports.layout import Block, Cell, percent
from assay.reports.units import Unit, main_statistic, read_units

__all__ = ["Chosen", "choose", "choose_statistic", "legend"]


@dataclass(frozen=True)
class Chosen:
    """One dataset with the buckets and metrics of it that are drawn, each in the order of the run."""

    unit: Unit
    blocks: list[Block]
    metrics: list[str]

    def ranking(self, statistic: str) -> list[str]:
        """Return the metrics from the highest value over all pairs to the lowest, undefined ones last."""
        return [metric for metric in self.unit.ranking(statistic) if metric in self.metrics]

    def cells(self, statistic: str) -> list[Cell]:
        """Return the numbers of a statistic that are drawn and defined."""
        found = [self.unit.cell(block, metric, statistic) for block in self.blocks for metric in self.metrics]
        return [cell for cell in found if cell is not None and cell.value is not None]


def choose(run: RunFolder, datasets: Sequence[str], metrics: Sequence[str], buckets: Sequence[str]) -> list[Chosen]:
    """Return the datasets asked for, with what is drawn of each; where nothing is asked for, everything.

    A dataset need not have all of the metrics and buckets; one that has none of them is left out.

    Raises:
        InputError: no dataset of the run has what was asked for, or the run folder is not whole.
    """
    units = [unit for unit in read_units([run]) if unit.blocks]
    if not units:
        raise InputError(f"{run.title}: has no scores; there is nothing to draw")
    _check(run, "dataset", datasets, units, lambda unit: [unit.data.name])
    taken = [unit for unit in units if not datasets or unit.data.name in datasets]
    _check(run, "metric", metrics, taken, lambda unit: unit.data.scores)
    _check(run, "bucket", buckets, taken, lambda unit: [block.bucket for block in unit.blocks])
    found = [
        Chosen(
            unit,
            [block for block in unit.blocks if not buckets or block.bucket in buckets],
            [metric for metric in unit.data.scores if not metrics or metric in metrics],
        )
        for unit in taken
    ]
    found = [one for one in found if one.blocks and one.metrics]
    if not found:
        raise InputError(f"{run.title}: no dataset has both such a bucket and such a metric; ask for less")
    return found


def _check(
    run: RunFolder, what: str, wanted: Sequence[str], units: list[Unit], names: Callable[[Unit], Iterable[str]]
) -> None:
    there = list(dict.fromkeys(name for unit in units for name in names(unit)))
    for name in wanted:
        if name not in there:
            raise InputError(unknown(f"{run.title}: has no {what}", name, there))


def choose_statistic(run: RunFolder, statistic: str | None) -> str:
    """Return the statistic asked for; where none is, Spearman's if the run has it, else its first.

    Raises:
        InputError: the run does not have it.
    """
    there = list(run.manifest.request.statistics)
    if statistic is None:
        return main_statistic(there)
    if statistic not in there:
        raise InputError(unknown(f"{run.title}: has no statistic", statistic, there))
    return statistic


def legend(shown: Sequence[Chosen], statistic: str, mark: str) -> list[str]:
    """Return what a reader must know of the numbers that are drawn.

    Args:
        shown: what is drawn.
        statistic: the one that is shown.
        mark: what an interval is drawn as.
    """
    found = []
    if any(cell.low is not None for one in shown for cell in one.cells(statistic)):
        found.append(f"{mark}: {percent(shown[0].unit.run.manifest.request.confidence)} interval")
    turned = dict.fromkeys(
        one.unit.names[metric]
        for one in shown
        for metric in one.metrics
        if not one.unit.data.metrics[metric].declared.higher_is_better
    )
    if turned:
        found.append(f"sign turned: {', '.join(turned)}")
    return found
