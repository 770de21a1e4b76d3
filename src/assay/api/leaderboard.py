"""``assay leaderboard``: rank metrics over runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.analysis.leaderboard.join import Filters, LeaderboardSettings, join_runs, missing_metrics
from assay.analysis.leaderboard.measurements import boards, resample_count
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.progress import Silent
from assay.exceptions import InputError
from assay.reports.leaderboard import to_document
from assay.reports.sheets import with_signatures
from assay.settings import verb
from assay.statistics.coefficients import (
    OF_TWO_LABELS,
    OF_VOTES,
    calibrated_forms,
    check_statistics,
    deciding_statistic,
    default_statistics,
)


@verb(
    LeaderboardSettings,
    "Rank metrics per dataset and bucket and over all datasets; what cannot be told apart shares a rank.",
    "assay leaderboard runs/one runs/two --language en --format md",
    runs="Run folders, or files with a label and score columns.",
)
def leaderboard(runs: Run | Sequence[Run], settings: LeaderboardSettings) -> Report:
    """Rank metrics over any number of runs, per dataset and bucket and over all datasets.

    Each rank has a confidence set, from tests of all pairs of metrics.

    Args:
        runs: run folders, results of :func:`assay.run`, or files with a label and score columns.
        statistics: the coefficients to show besides the one that ranks; by default Pearson, Spearman and Kendall, after
            the AUC if that ranks by default.

    Returns:
        A report with one record per metric, dataset and bucket, and per metric over all datasets.

    Raises:
        InputError: a run cannot be read, a filter matches nothing, or a value is outside its range.
    """
    if not isinstance(runs, Run) and not runs:
        raise InputError("no run: give one run folder or more")
    progress = settings.progress or Silent()
    buckets = settings.buckets
    check_statistics([*settings.statistics, *([settings.by] if settings.by else [])])
    filters = Filters(
        tuple(settings.metrics), tuple(settings.datasets), tuple(settings.languages), tuple(settings.kinds)
    )
    with open_runs(runs) as opened:
        joined = join_runs(opened, filters)
        of_votes = [dataset.data.vote_statistic for dataset in joined if not dataset.unranked]
        by = settings.by or deciding_statistic(of_votes, calibrate_ties=settings.calibrate_ties)
        default = default_statistics([by if by in (OF_TWO_LABELS, OF_VOTES) and settings.by is None else None])
        shown = check_statistics([*(settings.statistics or default), by])
        if settings.calibrate_ties:
            (by,), shown = calibrated_forms([by]), calibrated_forms(shown)
        settings = replace(settings, statistics=shown)
        progress.begin("comparing metrics", resample_count(joined, settings, buckets))
        ranked_boards = boards(joined, settings, by=by, buckets=buckets, advance=progress.advance)
        board_document = to_document(ranked_boards, settings, by, missing_metrics(opened))
        return Report(with_signatures(board_document, [dataset.data for dataset in joined], (), settings.signature))
