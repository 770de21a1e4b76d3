"""``assay thresholds``: the best threshold for a yes/no decision."""

from __future__ import annotations

from assay.analysis.data import read_datasets
from assay.analysis.settings import draws_signature
from assay.analysis.thresholds.planning import find_thresholds
from assay.analysis.thresholds.settings import ThresholdSettings
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.verbs import verb
from assay.reports.sheets import with_signatures
from assay.reports.thresholds import to_document


@verb(
    ThresholdSettings,
    "Find the threshold of each metric that decides best between yes and no, and test it on other pairs.",
    "assay thresholds runs/main --metric f1 --positive 'label>=2'",
    run="A run folder, or a file with a label and score columns.",
)
def thresholds(run: Run, settings: ThresholdSettings) -> Report:
    """Find the threshold of each metric that best separates yes from no, and test it on other pairs.

    Args:
        run: a run folder, a result of :func:`assay.run`, or a file with a label and score columns.

    Returns:
        A report with one record per metric and dataset: its thresholds, and its measures on the other pairs.

    Raises:
        InputError: the run cannot be read, or lacks a requested metric, dataset or column; the labels have no two
            classes; the pairs cannot be split as the settings say; or no metric has a threshold.
    """
    with open_runs(run) as (opened,):
        subjects = find_thresholds(opened, settings)
        names = {subject.dataset for subject in subjects} | {settings.tune}
        datasets = [data for data in read_datasets(opened) if data.name in names]
        metrics = dict.fromkeys(metric for subject in subjects for metric in subject.decisions)
        draws = draws_signature(settings)
        return Report(
            with_signatures(to_document(subjects, settings), datasets, metrics, draws, group_by=settings.group_by)
        )
