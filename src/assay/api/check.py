"""The comparison of a run with a baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.analysis.check.baseline import Baseline, read_baseline, take_baseline
from assay.analysis.check.checking import GateReport, check_run
from assay.analysis.check.rated import check_new_answers
from assay.analysis.check.settings import RATE, CheckSettings
from assay.analysis.folder import read_run
from assay.analysis.rate.settings import RateSettings
from assay.analysis.recommend.decision import kept_decision
from assay.api.decided import score_by_decision
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.progress import Silent
from assay.common.verbs import takes_settings
from assay.exceptions import InputError
from assay.paths import user_path
from assay.reports.check import headline, to_document
from assay.reports.junit import to_junit


class Checked(Report):
    """The result of a check.

    Attributes:
        found: the complete result as values: the judged numbers and the findings.
    """

    def __init__(self, found: GateReport) -> None:
        super().__init__(to_document(found))
        self.found = found

    @property
    def passed(self) -> bool:
        """Whether no judged number and no finding fails the check."""
        return self.found.passed

    @property
    def headline(self) -> str:
        """The outcome in one line."""
        return headline(self.found)

    def to_junit(self) -> str:
        """Return JUnit XML with one test case per judged number."""
        return to_junit(self.found)


@takes_settings(CheckSettings)
def check(run: Run, against: str | Path, settings: CheckSettings) -> Checked:
    """Test whether a metric agrees less with people than in a baseline, by more than the margin and beyond chance.

    Args:
        run: a run folder, a file with a label and score columns, or a result; with ``system_by="rate"`` a file of
            answers without labels.
        against: the file that :func:`assay.baseline` wrote; or a run folder. Of the folder of :func:`assay.recommend`,
            only the metric that it decides by is judged unless others are named.

    Returns:
        The judged numbers and the findings; ``passed`` is False if any of them fails the check.

    Raises:
        InputError: a file cannot be read or was changed by hand, the pairs differ from those in the baseline, a named
            metric, bucket, dataset or column is unknown, nothing can be judged, or a value is outside its range.
        AssayError: with ``system_by="rate"``, the metric cannot be built, is unavailable, or gave no scores.
    """
    if RATE in settings.system_by:
        return Checked(_check_unlabelled(run, against, settings))
    progress = settings.progress or Silent()
    earlier_baseline, settings = _read_baseline(user_path(against), settings)
    with open_runs(run) as (opened,):
        metric_count = sum(metric.is_done for metric in opened.manifest.metrics)
        progress.begin("comparing with the baseline", metric_count)
        return Checked(check_run(opened, earlier_baseline, settings, progress.advance))


def _read_baseline(path: Path, settings: CheckSettings) -> tuple[Baseline, CheckSettings]:
    """Return the baseline that a file holds, or that a run folder would give, and the settings to check with.

    The settings are unchanged, except that of a folder with a decision only its metric is judged, unless the settings
    name metrics.

    Raises:
        InputError: the file or folder cannot be read, was changed by hand, or lacks the column of systems or items.
    """
    if not path.is_dir():
        return read_baseline(path), settings
    folder = read_run(path)
    decision = kept_decision(folder)
    if decision is not None and not settings.metrics:
        settings = replace(settings, metrics=(decision.metric,))
    return take_baseline(folder, settings.system, settings.item), settings


def _check_unlabelled(run: Run, against: str | Path, settings: CheckSettings) -> GateReport:
    """Return the comparison of answers that nobody labelled with the labelled ones of a folder of ``recommend``.

    Args:
        run: the file of the new answers.
        against: the folder.
        settings: the settings of the check; the first of its metrics, if any, decides in place of that of the folder.

    Raises:
        InputError: *run* is no file of answers, *against* no folder with a decision, the metric has changed since, or
            the answers cannot be compared, see :func:`check_new_answers`.
        AssayError: the metric cannot be built, is unavailable, or gave no scores.
    """
    if not isinstance(run, str | Path) or user_path(run).is_dir():
        raise InputError(
            "is for a file of answers that nobody labelled; a run is judged by its labels",
            setting="system_by",
            value=RATE,
        )
    if not user_path(against).is_dir():
        raise InputError(f"{against}: is no folder of assay recommend, whose labels and metric rate rests on")
    metric = settings.metrics[0] if settings.metrics else None
    new = score_by_decision(RateSettings(run, decision=against, progress=settings.progress), against, metric)
    return check_new_answers(new.decision, new.data, Path(run), new.pairs.table, new.scores, settings)
