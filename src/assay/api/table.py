"""``assay table``: a table for a paper, metrics by datasets or buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from assay.analysis.data import ALL
from assay.analysis.folder import RunFolder, missing_metric_lines
from assay.analysis.leaderboard.join import Filters, join_runs
from assay.analysis.leaderboard.measurements import boards, resample_count
from assay.analysis.settings import CorrectedTests, NeededResampling, PairedTests
from assay.analysis.table import TableSettings, tables
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.output import atomic_write
from assay.common.progress import Silent
from assay.common.verbs import verb
from assay.exceptions import InputError
from assay.reports.formats import format_document
from assay.reports.run import document as run_document
from assay.reports.sheets import with_signatures
from assay.reports.table import add_latex, to_document
from assay.settings import Resampling, Seeded
from assay.statistics.coefficients import calibrated_forms, check_statistics, deciding_statistic

#: The settings that determine the intervals of a run.
_DRAWING = ("resamples", "confidence", "interval", "seed")


@dataclass(frozen=True, kw_only=True)
class _TableTests(PairedTests):
    """Settings of tests for which 0 resamples are allowed, since no interval is shown."""

    NONE_ALLOWED: ClassVar[bool] = True


def _table_tests(settings: TableSettings, by: str, runs: Sequence[RunFolder]) -> _TableTests:
    """Return the settings of the tests of a table; without intervals in the table, no resamples are drawn.

    Args:
        settings: the settings of the table.
        by: the coefficient of the table.
        runs: its runs, whose intervals are shown if they agree in how they were drawn.
    """
    values = settings.values_of(CorrectedTests, NeededResampling, Resampling, Seeded)
    if settings.intervals:
        values |= _drawing_of_runs(runs, values)
    else:
        values["resamples"] = 0
    return _TableTests(**values, statistics=(by,))


def _drawing_of_runs(runs: Sequence[RunFolder], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with which the runs drew their intervals, so that the table shows these intervals.

    The result is empty if the user has changed one of these settings, or if the runs have none or different ones.

    Args:
        runs: the runs of the table.
        settings: the settings of the table.
    """
    defaults = vars(_TableTests())
    if any(settings[name] != defaults[name] for name in _DRAWING):
        return {}
    requests = [{name: getattr(run.manifest.request, name) for name in _DRAWING} for run in runs]
    if any(request != requests[0] or not request["resamples"] for request in requests):
        return {}
    return requests[0]


def _write_tables(runs: Sequence[RunFolder]) -> None:
    """Write ``table.md`` and ``table.tex`` into each run folder.

    Raises:
        InputError: a run is no folder, or its folder cannot be written.
    """
    for run in runs:
        if run.path is None or run.source is not None:
            raise InputError(f"{run.title}: is no run folder, which tables could be written into", setting="write")
        tables_of_run = run_document(run)
        try:
            for name, form in (("table.md", "md"), ("table.tex", "latex")):
                with atomic_write(run.path / name) as temporary:
                    temporary.write_text(format_document(tables_of_run, form), encoding="utf-8")
        except OSError as error:
            raise InputError(f"{run.path}: cannot be written ({error.strerror or error})", setting="write") from error


@verb(
    TableSettings,
    ("Write one coefficient of metrics on datasets or buckets as LaTeX; the best is bold, what ties with it marked."),
    "assay table runs/one runs/two --by pearson --siunitx > table.tex",
    output="latex",
    runs="Run folders, or files with a label and score columns.",
)
def table(runs: Run | Sequence[Run], settings: TableSettings) -> Report:
    r"""Lay out one coefficient of metrics on datasets (or in buckets) as a table for a paper.

    The highest value of each column is bold; values that do not differ significantly from it, by jackknife t-tests, are
    marked. ``to_latex()`` has booktabs, a caption with n and method, and a ``\label``.

    Args:
        runs: run folders, results of :func:`assay.run`, or files with a label and score columns.

    Returns:
        A report with one record per cell of the table.

    Raises:
        InputError: no run is given or one cannot be read, a filter matches nothing, the coefficient is unknown, a value
            is outside its range, or with *write* a run is no folder or cannot be written.
    """
    if not isinstance(runs, Run) and not runs:
        raise InputError("no run: give one run folder or more")
    progress = settings.progress or Silent()
    check_statistics([settings.by] if settings.by else [])
    buckets = settings.buckets or ((ALL,) if settings.across == "datasets" else ())
    with open_runs(runs) as opened:
        if settings.write:
            _write_tables(opened)
        datasets = join_runs(opened, Filters(tuple(settings.metrics), tuple(settings.datasets)))
        of_votes = [dataset.data.vote_statistic for dataset in datasets if not dataset.unranked]
        by = settings.by or deciding_statistic(of_votes, calibrate_ties=settings.calibrate_ties)
        if settings.calibrate_ties:
            (by,) = calibrated_forms([by])
        settings = replace(settings, by=by)
        tests = _table_tests(settings, by, opened)
        progress.begin("comparing metrics", resample_count(datasets, tests, buckets))
        paper_tables = tables(
            boards(datasets, tests, by=by, buckets=buckets, advance=progress.advance), datasets, settings
        )
        document = to_document(paper_tables, settings, tests, missing_metric_lines(opened))
        metric_names = dict.fromkeys(name for dataset in datasets for name in dataset.scores)
        document = with_signatures(document, [dataset.data for dataset in datasets], metric_names, tests.signature)
        return Report(add_latex(document, paper_tables, settings, tests))
