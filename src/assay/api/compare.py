"""``assay compare``: which of two is better, and is it real?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.analysis.compare import CompareSettings, check_buckets, compare_metrics, used_buckets
from assay.analysis.contests import compared_datasets, computed_statistics, contests
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.progress import Silent
from assay.common.verbs import verb
from assay.reports.compare import to_document
from assay.reports.sheets import with_signatures
from assay.statistics.coefficients import calibrated_forms, check_statistics

#: The number of pairs to show on which metrics differ most, over all comparisons: each of m metric pairs gets 1/m.
MAX_SHOWN_PAIRS = 10


@verb(
    CompareSettings,
    "Compare metrics pairwise: differences with intervals, corrected tests, and the pairs they differ on.",
    "assay compare runs/answers --metric f1 --metric rouge-l",
    "assay compare runs/before runs/after --metric chrf",
    runs="One run folder, or two of the same data; or files with a label and score columns.",
)
def compare(runs: Run | Sequence[Run], settings: CompareSettings) -> Report:
    """Test which metric of a run, or which of two runs, agrees better with people.

    Args:
        runs: run folders, results of :func:`assay.run`, or files with a label and score columns: one, to
            compare its metrics pairwise, or two, to compare each metric between them.
        statistics: the coefficients; by default those of the first run, the AUC first if all labels have two values.

    Returns:
        A report with one record per comparison, that is per metric pair, bucket and coefficient.

    Raises:
        InputError: a run cannot be read, there are more than two, they have different data (unless *force* is set) or
            no metrics to compare, a metric, bucket or statistic is unknown, or a value is outside its range.
    """
    progress = settings.progress or Silent()
    with open_runs(runs) as opened:
        compared_contests = contests(opened, settings.metrics, force=settings.force)
        check_buckets([contest.data for contest in compared_contests], settings.buckets)
        statistics = check_statistics(tuple(settings.statistics) or computed_statistics(opened[0], compared_contests))
        if settings.calibrate_ties:
            statistics = calibrated_forms(statistics)
        settings = replace(settings, statistics=statistics)
        results = []
        for contest in compared_contests:
            metric_pair_count = len(contest.metric_pairs)
            permutation_count = 0
            for bucket in used_buckets(contest.data, settings.buckets):
                bucket_size = int(contest.data.buckets[bucket].sum())
                permutation_count += metric_pair_count * settings.permutation_count(metric_pair_count, bucket_size)
            progress.begin(f"comparing on {contest.data.name}", permutation_count)
            comparisons = compare_metrics(contest, settings, buckets=settings.buckets, advance=progress.advance)
            results.append((contest, comparisons))
        pairs_to_show = settings.pairs
        if pairs_to_show is None:
            pairs_to_show = MAX_SHOWN_PAIRS // max(1, sum(len(contest.metric_pairs) for contest in compared_contests))
        datasets = compared_datasets(compared_contests)
        metrics = dict.fromkeys(name for contest in compared_contests for name in contest.metrics)
        return Report(
            with_signatures(to_document(results, settings, pairs_to_show), datasets, metrics, settings.signature)
        )
