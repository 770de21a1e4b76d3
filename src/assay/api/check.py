"""Baselines of runs, and the comparison of later runs with a baseline."""

from __future__ import annotations

from pathlib import Path

from assay.analysis.check.baseline import continue_chain, has_other_pairs, read_baseline, take_baseline, to_text
from assay.analysis.check.checking import GateReport, check_run
from assay.analysis.check.settings import CheckSettings
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.output import check_replaceable
from assay.common.progress import Silent
from assay.exceptions import InputError
from assay.paths import user_path
from assay.reports.check import BASELINE, headline, to_document, to_junit, write_file
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


def baseline(run: Run, out: str | Path, *, baseline_of: str | Path | None = None) -> Path:
    """Write the agreement and the scores of a run to one small file, and return the path of that file.

    An existing file is replaced only if it is an earlier baseline.

    Args:
        run: a run folder, a file with a label and score columns, or a result.
        out: the path of the file to write.
        baseline_of: the baseline that the new one succeeds, which may be the file that is replaced. The new one also
            contains the first baseline of the chain, and :func:`check` compares with that one, too. This way small
            losses, each within the margin, cannot add up unnoticed.

    Raises:
        InputError: the run or the earlier baseline cannot be read, the pairs of a dataset differ between them, or the
            file cannot be written or holds something else.
    """
    check_replaceable(user_path(out), BASELINE)
    with open_runs(run) as (opened,):
        new_baseline = take_baseline(opened)
    if baseline_of is not None:
        earlier_baseline = read_baseline(user_path(baseline_of))
        for name, dataset in new_baseline.datasets.items():
            if name in earlier_baseline.datasets and has_other_pairs(dataset, earlier_baseline.datasets[name]):
                raise InputError(
                    f"{name} has other pairs there, so that nothing can be compared with "
                    "the first baseline any more; leave it out to begin a new chain",
                    setting="baseline_of",
                    value=baseline_of,
                )
        new_baseline = continue_chain(new_baseline, earlier_baseline)
    write_file(user_path(out), to_text(new_baseline))
    return user_path(out)


@takes_settings(CheckSettings)
def check(run: Run, against: str | Path, settings: CheckSettings) -> Checked:
    """Test whether a metric agrees less with people than in a baseline, by more than the margin and beyond chance.

    Args:
        run: a run folder, a file with a label and score columns, or a result.
        against: the file that :func:`baseline` wrote.

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
