"""``assay systems``: is one system better than another, and can the metric tell?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.analysis.data import read_datasets
from assay.analysis.settings import SystemSettings, draws_signature
from assay.analysis.systems import study_systems
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.verbs import verb
from assay.reports.sheets import with_signatures
from assay.reports.systems import document

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@verb(
    SystemSettings,
    "Compare systems on the items that all of them answered, under people's labels and under each metric.",
    "assay systems runs/main --system model --item question",
    runs="A run whose data has a column that names the system; or several runs, one per system.",
)
def systems(runs: Run | Sequence[Run], settings: SystemSettings) -> Report:
    """Compare systems that answered the same items, under people's labels and under each metric.

    Args:
        runs: a run folder, file with scores or result with a column for the name of the system; or several, each
            with the answers of one system to the same items.

    Returns:
        A report whose records are the means of the systems, the differences of two systems, and the metrics; the field
        ``kind`` tells which.

    Raises:
        InputError: a run cannot be read or is given twice; a column, dataset, metric or system is missing; there are
            fewer than two systems; a system answered an item twice; or fewer than two items were answered by all.
    """
    with open_runs(runs) as opened:
        studies = study_systems(opened, settings)
        datasets = [data for run in opened for data in read_datasets(run)]
        # with several runs, the names of datasets select nothing
        if len(opened) == 1 and settings.datasets:
            datasets = [data for data in datasets if data.name in settings.datasets]
        metrics = dict.fromkeys(name for study in studies for name in study.metrics)
        draws = draws_signature(settings)
        # resamples draw whole items here, whatever the groups of the run are
        report_document = document(studies, settings)
        signed = with_signatures(report_document, datasets, metrics, draws, group_by=settings.item or "item")

    def draw(panel: Axes) -> None:
        from assay.reports.figure.systems import draw_systems

        draw_systems(panel, studies)

    return Report(signed, draw)
