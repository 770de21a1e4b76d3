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
from assay.exceptions import InputError
from assay.paths import user_path
from assay.reports.check import headline, to_document, to_junit
from assay.settings import takes_settings


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
        against: the file that :func:`assay.baseline` wrote; or a run folder, such as that of :func:`assay.recommend`,
            of which the metric that it decides by is judged.

    Returns:
        The judged numbers and the findings; ``passed`` is False if any of them fails the check.

    Raises:
        InputError: a file cannot be read or was changed by hand, the pairs differ from those in the baseline, or a
            value is outside its range.
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
    """Return the baseline in a file or of a folder, and the settings: of a folder its decision is judged."""
    if not path.is_dir():
        return read_baseline(path), settings
    folder = read_run(path)
    decision = kept_decision(folder)
    if decision is not None and not settings.metrics:
        settings = replace(settings, metrics=(decision.metric,))
    return take_baseline(folder, settings.system, settings.item), settings


def _check_unlabelled(run: Run, against: str | Path, settings: CheckSettings) -> GateReport:
    """Return the comparison of answers that nobody labelled with the labelled ones of a folder of ``recommend``.

    Raises:
        InputError: *run* is no file of answers, or *against* no folder with a decision.
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
    scored = score_by_decision(RateSettings(run, decision=against, progress=settings.progress), metric)
    return check_new_answers(scored.decision, scored.data, Path(run), scored.pairs.table, scored.scores, settings)
