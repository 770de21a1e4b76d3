"""The errors of a whole run."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import InputError, unknown
from assay.reports.categories import PartsOfSpeech
from assay.reports.data import ALL, ScoredDataset, read_datasets
from assay.reports.errors.divergence import Rule
from assay.reports.errors.report import ErrorReport, analyse
from assay.reports.folder import RunFolder
from assay.statistics.coefficients import check_statistics
from assay.statistics.drawing import Drawing

__all__ = ["choose_datasets", "errors_of"]


def choose_datasets(run: RunFolder, wanted: Sequence[str]) -> list[ScoredDataset]:
    """Read the datasets of a run, or those of them that are asked for.

    Raises:
        InputError: the run lacks one of them, or has none.
    """
    found = {data.name: data for data in read_datasets(run)}
    for name in wanted:
        if name not in found:
            raise InputError(unknown(f"{run.title}: has no dataset", name, found))
    if not found:
        raise InputError(f"{run.title}: has no dataset; nothing was scored")
    return [found[name] for name in dict.fromkeys(wanted)] or list(found.values())


def errors_of(
    run: RunFolder,
    metrics: Sequence[str] = (),
    *,
    datasets: Sequence[str] = (),
    rule: Rule | None = None,
    statistics: Sequence[str] = ("kendall",),
    drawing: Drawing | None = None,
    bucket: str = ALL,
    corrected: RunFolder | None = None,
    speech: PartsOfSpeech | None = None,
) -> list[ErrorReport]:
    """Find where metrics and people diverge in a run, dataset by dataset.

    Args:
        run: the run.
        metrics: which; all by default.
        datasets: which; all by default.
        rule: what counts as diverging.
        statistics: coefficients of the agreement.
        drawing: of the intervals.
        bucket: which pairs to look at.
        corrected: a run of the same pairs with other labels.
        speech: what reads parts of speech for the categories.

    Raises:
        InputError: the run lacks what was asked for, or has no dataset in common with the corrected one.
    """
    chosen = choose_datasets(run, datasets)
    others = read_datasets(corrected) if corrected is not None else []
    if corrected is not None and {data.name for data in chosen}.isdisjoint(other.name for other in others):
        raise InputError(
            f"{corrected.title}: has none of the datasets of {run.title} ({', '.join(data.name for data in chosen)})"
        )
    rule = rule or Rule()
    rule.check_used({rule.by_for(data.metrics[name]) for data in chosen for name in data.find_metrics(list(metrics))})
    return [
        analyse(
            data,
            metrics,
            rule=rule,
            statistics=check_statistics(tuple(statistics)),
            drawing=drawing or Drawing(),
            bucket=bucket,
            corrected=others,
            speech=speech,
        )
        for data in chosen
    ]
