"""Recommendation of a metric for the user's own labelled data."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from assay.api.run import run
from assay.api.values import Report
from assay.benchmark.suite import load_suite
from assay.errors import UnavailableError
from assay.paths import user_path
from assay.progress import Silent
from assay.reports.combine import COMBINATION, small_combination
from assay.reports.data import with_signatures
from assay.reports.folder import read_run
from assay.reports.leaderboard.board import Filters, boards, join_runs, missing_metrics, resample_count
from assay.reports.leaderboard.document import to_document
from assay.reports.recommend import Limits, RecommendSettings, advise_on, with_advice
from assay.reports.settings import PairedTests
from assay.settings import AgreementSettings, Graphs, Limited, OwnData, Prices, Scoring, takes_settings
from assay.statistics.coefficients import (
    DEFAULT_STATISTICS,
    calibrated_forms,
    check_statistics,
    deciding_statistic,
    have_two_values,
)

#: The suite whose metrics are compared by default.
SUITE = "quickstart"
#: Further metrics that are compared by default, for long answers to questions whose gold answers are a word or two.
LONG_ANSWER_METRICS = ("contains", "token-recall")


@takes_settings(RecommendSettings)
def recommend(settings: RecommendSettings) -> Report:
    """Recommend the metric to use on labelled data within limits of speed and price, with the evidence.

    All scores are computed anew, since the store keeps scores but not their cost.

    Args:
        dataset: labelled data, as for :func:`assay.run`.
        metrics: the candidates; by default the metrics of the suite quickstart, ``contains`` and ``token-recall``.
        budget: the speed that the metric must reach on this machine, such as ``"1000/s"``; None for no limit.
        max_price: the highest price of 1,000 pairs; None for no limit.
        buckets: the bucket rules, as for :func:`assay.run`; there is one recommendation per bucket.
        statistics: the coefficients of the evidence, besides the one that decides.
        out: the run folder to write; None to keep nothing.

    Returns:
        A report with one record per bucket, the recommendation; its tables have the evidence, too.

    Raises:
        InputError: a setting, a metric or the data cannot be used.
        UnavailableError: none of the metrics is available.
    """
    progress = settings.progress or Silent()
    limits = Limits.parse(settings.budget, settings.max_price)
    scoring = settings.values_of(OwnData, Graphs, AgreementSettings, Limited, Scoring, Prices)
    scoring["statistics"] = _requested_statistics(settings)
    if settings.out is None:
        scoring["resamples"] = 0
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        folder = Path(temporary) / "run" if settings.out is None else user_path(settings.out)
        run(
            settings.dataset,
            settings.metrics or (*load_suite(SUITE).metrics, *LONG_ANSWER_METRICS),
            suite=SUITE,
            store=settings.store,
            fresh=True,
            out=folder,
            page=settings.out is not None,
            **scoring,
        )
        opened = read_run(folder)
        if not opened.manifest.has_scores:
            raise UnavailableError("no metric gave scores", "; ".join(missing_metrics([opened])))
        joined = join_runs([opened], Filters())
        has_two_values = [have_two_values(dataset.data.labels) for dataset in joined]
        by = settings.by or deciding_statistic(has_two_values, calibrate_ties=settings.calibrate_ties)
        if settings.calibrate_ties:
            (by,) = calibrated_forms([by])
        statistics = check_statistics([*opened.manifest.request.statistics, by])
        tests = PairedTests(**{**settings.values_of(PairedTests), "statistics": statistics})
        combined = small_combination(joined[0].data, by, settings.seed)
        if combined is not None:
            joined[0].scores[COMBINATION] = combined.scores
            joined[0].records[COMBINATION] = combined.record
        progress.begin("comparing metrics", resample_count(joined, tests))
        ranked_boards = boards(joined, tests, by=by, advance=progress.advance)
        # there is only one dataset, and each board is one of its buckets
        advice = advise_on(joined[0], ranked_boards, limits, by, tests)
    tables = to_document(ranked_boards, tests, by, missing_metrics([opened]))
    evidence = with_signatures(tables, [subject.data for subject in joined], (), tests.signature)
    advised = with_advice(evidence, advice, limits, by)
    if combined is not None:
        run_folder = "RUN" if settings.out is None else str(settings.out)
        warning = (
            f"{COMBINATION}: one score learned from {', '.join(combined.members)}, tested on pairs that it was not "
            f"learned from; assay combine {run_folder} --out FOLDER makes it a metric"
        )
        advised = replace(advised, warnings=[*advised.warnings, warning])
    return Report(advised)


def _requested_statistics(settings: RecommendSettings) -> tuple[str, ...]:
    """Return the statistics that the run must compute; empty if they depend on the data."""
    if not (settings.statistics or settings.by or settings.calibrate_ties):
        return ()
    by = [settings.by] if settings.by else []
    named = check_statistics([*(settings.statistics or DEFAULT_STATISTICS), *by])
    return calibrated_forms(named) if settings.calibrate_ties else named
