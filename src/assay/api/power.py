"""``assay power``: how many pairs tell two metrics apart?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.analysis.compare import check_buckets
from assay.analysis.contests import compared_datasets, computed_statistics, contests
from assay.analysis.power import PowerSettings, plan_comparisons
from assay.api.files import open_runs
from assay.api.values import Report
from assay.common.verbs import verb
from assay.reports.power import document
from assay.reports.sheets import with_signatures
from assay.statistics.coefficients import check_statistics


@verb(
    PowerSettings,
    "Say how many labelled pairs it takes to tell metrics apart, from a pilot run.",
    "assay power runs/pilot --metric f1 --metric chrf --statistic spearman",
    "assay power runs/pilot --effect 0.05 --comparisons 6 -n 500 -n 2000",
    runs="The pilot: a run folder, two of the same data, or files with a label and score columns.",
)
def power(runs: str | Path | Sequence[str | Path], settings: PowerSettings) -> Report:
    """Estimate the number of labelled pairs that is needed to tell metrics apart, from a pilot run.

    Args:
        runs: run folders, or files with a label and score columns: one, to compare its metrics pairwise, or two, to
            compare each metric between them.
        statistics: the coefficients; those of the first run by default.

    Returns:
        A report with one record per comparison of two metrics and planned number of pairs.

    Raises:
        InputError: a run cannot be read, there are more than two, they have different data or no metrics to compare, a
            metric, bucket or statistic is unknown, or a value is outside its range.
    """
    with open_runs([runs] if isinstance(runs, str | Path) else runs) as opened:
        compared_contests = contests(opened, settings.metrics)
        check_buckets([contest.data for contest in compared_contests], settings.buckets)
        statistics = tuple(settings.statistics) or computed_statistics(opened[0], compared_contests)
        metric_pair_count = max(len(contest.metric_pairs) for contest in compared_contests)
        settings = replace(
            settings, statistics=check_statistics(statistics), comparisons=settings.comparisons or metric_pair_count
        )
        plans = [plan for contest in compared_contests for plan in plan_comparisons(contest, settings)]
        datasets = compared_datasets(compared_contests)
        metrics = dict.fromkeys(name for contest in compared_contests for name in contest.metrics)
        return Report(with_signatures(document(plans, settings), datasets, metrics, settings.signature))
