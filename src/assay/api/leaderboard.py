"""Leaderboards over runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.files import open_runs
from assay.api.values import Report
from assay.errors import InputError
from assay.progress import Progress, Silent
from assay.reports.compare.contests import CompareSettings
from assay.reports.data import signed
from assay.reports.leaderboard.board import Filters, boards, enough_draws, join, missing_metrics, work_of
from assay.reports.leaderboard.document import document
from assay.statistics.coefficients import check_statistics
from assay.statistics.significance import Correction

__all__ = ["leaderboard"]


def leaderboard(
    runs: str | Path | Sequence[str | Path],
    *,
    by: str = "spearman",
    metrics: Sequence[str] = (),
    datasets: Sequence[str] = (),
    buckets: Sequence[str] = (),
    languages: Sequence[str] = (),
    kinds: Sequence[str] = (),
    statistics: Sequence[str] = (),
    permutations: int = 1000,
    resamples: int = 1000,
    confidence: float = 0.95,
    correction: Correction = "holm",
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Rank metrics over any number of runs, per dataset and bucket and over all datasets.

    Metrics that tests cannot tell apart share a rank.

    Args:
        runs: run folders, or files with a label and score columns.
        by: the coefficient that ranks.
        metrics, datasets, buckets, languages, kinds: what to look at; everything by default.
        statistics: coefficients to show; Pearson, Spearman and Kendall by default.
        permutations: draws of the permutation test; more where the correction for many couples needs them.
        resamples: draws of the bootstrap.
        confidence: level of intervals and tests.
        correction: for the number of couples in a table.
        seed: seeds all draws.
        progress: told of every permutation.

    Raises:
        InputError: a run that cannot be read, a filter that leaves nothing, or a value outside its range.
    """
    progress = progress or Silent()
    paths = [runs] if isinstance(runs, str | Path) else list(runs)
    if not paths:
        raise InputError("no run: give one run folder or more")
    shown = check_statistics(tuple(statistics))
    chosen = check_statistics(tuple(dict.fromkeys([*shown, by])))
    settings = CompareSettings(chosen, permutations, resamples, confidence, correction, seed)
    filters = Filters(tuple(metrics), tuple(datasets), tuple(languages), tuple(kinds))
    with open_runs(paths) as opened:
        joined = join(opened, filters)
        progress.begin("comparing metrics", work_of(joined, settings, buckets))
        settings = enough_draws(joined, settings)
        found = boards(joined, settings, by=by, buckets=buckets, advance=progress.advance)
        laid_out = document(found, settings, by, missing_metrics(opened))
        return Report(signed(laid_out, [one.data for one in joined], (), settings.signature))
