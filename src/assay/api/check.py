"""The comparison of a run with a baseline."""

from __future__ import annotations

from pathlib import Path

from assay.analysis.check.baseline import read_baseline
from assay.analysis.check.checking import GateReport, check_run
from assay.analysis.check.settings import CheckSettings
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.progress import Silent
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
        run: a run folder, a file with a label and score columns, or a result.
        against: the file that :func:`assay.baseline` wrote.

    Returns:
        The judged numbers and the findings; ``passed`` is False if any of them fails the check.

    Raises:
        InputError: a file cannot be read or was changed by hand, the pairs differ from those in the baseline, or a
            value is outside its range.
    """
    progress = settings.progress or Silent()
    earlier_baseline = read_baseline(user_path(against))
    with open_runs(run) as (opened,):
        metric_count = sum(metric.is_done for metric in opened.manifest.metrics)
        progress.begin("comparing with the baseline", metric_count)
        return Checked(check_run(opened, earlier_baseline, settings, progress.advance))
