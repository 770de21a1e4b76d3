"""``assay recommend``: which metric to use on your data."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.analysis.combine import COMBINATION, SmallCombination, small_combination
from assay.analysis.data import ALL
from assay.analysis.decision import gather_evidence
from assay.analysis.folder import read_run
from assay.analysis.leaderboard.board import Line
from assay.analysis.leaderboard.join import Filters, JoinedDataset, join_runs, missing_metrics
from assay.analysis.leaderboard.measurements import boards, resample_count
from assay.analysis.recommend.closing import close
from assay.analysis.recommend.decision import evidence_for_decision, keep_decision, make_decision
from assay.analysis.recommend.evidence import RunEvidence, keep_evidence, with_decision
from assay.analysis.recommend.settings import Limits, RecommendSettings
from assay.analysis.report import PageSettings
from assay.analysis.settings import PairedTests
from assay.analysis.thresholds.settings import Criterion
from assay.api.result import Result
from assay.api.run import run
from assay.api.values import Report
from assay.benchmark.suite import load_suite
from assay.common.addresses import command_line
from assay.common.messages import Message, Setting
from assay.common.numbers import p_value, short
from assay.common.progress import Silent
from assay.datasets.columns import MissingColumnsError, parse_columns
from assay.exceptions import UnavailableError
from assay.paths import user_path
from assay.reports.decision.words import decision_page
from assay.reports.decision.write import decision_html
from assay.reports.layout import alternative_annotator_lines
from assay.reports.leaderboard import to_document
from assay.reports.page.render import put_page
from assay.reports.recommend import with_advice, with_closing
from assay.reports.sheets import with_signatures
from assay.settings import AgreementSettings, Graphs, Limited, OwnData, Prices, Scoring, verb
from assay.statistics.coefficients import (
    DEFAULT_STATISTICS,
    calibrated_forms,
    check_statistics,
    deciding_statistic,
    title_of,
)
from assay.statistics.comparison import compare_all

#: The page for a decision in the folder.
DECISION_PAGE = "decision.html"
#: The suite whose metrics are compared by default.
SUITE = "quickstart"
#: Further metrics that are compared by default, for long answers to questions whose gold answers are a word or two.
LONG_ANSWER_METRICS = ("contains", "token-recall")


@verb(
    RecommendSettings,
    "Name the metric to use on your labelled data within a cost, with the evidence.",
    ("assay recommend my.csv --columns reference=gold,candidate=answer,label=score --budget 1000/s"),
)
def recommend(settings: RecommendSettings) -> Report:
    """Recommend the metric to use on labelled data within limits of speed and price, with the evidence.

    All scores are computed anew, since the store keeps scores but not their cost. Replies of judges that are stored are
    read: they were paid for, and their cost is stored with them.

    Args:
        dataset: labelled data, as for :func:`assay.run`.
        metrics: the candidates; by default the metrics of the suite quickstart, ``contains`` and ``token-recall``.
        budget: the speed that the metric must reach on this machine, such as ``"1000/s"``; None for no limit.
        max_price: the highest price of 1,000 pairs; None for no limit.
        max_loss: the largest loss of agreement with which a metric that costs much less is recommended in place of the
            highest; None for the default.
        positive: the labels that mean yes, such as ``"label>=2"``: metrics are chosen for that decision, by the AUC
            against it.
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
    limits = Limits.parse(settings.budget, settings.max_price, settings.max_loss)
    scoring = settings.values_of(OwnData, Graphs, AgreementSettings, Limited, Scoring, Prices)
    scoring["statistics"] = _requested_statistics(settings)
    if settings.out is None:
        scoring["resamples"] = 0
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        folder = Path(temporary) / "run" if settings.out is None else user_path(settings.out)

        def run_with(reading: Mapping[str, str]) -> Result:
            """Run the metrics on the dataset, read with these settings besides those of the user."""
            return run(
                settings.dataset,
                settings.metrics or (*load_suite(SUITE).metrics, *LONG_ANSWER_METRICS),
                suite=SUITE,
                store=settings.store,
                fresh=True,
                keep_replies=True,
                out=folder,
                page=False,
                **{**scoring, **reading},
            )

        recognised = None
        try:
            result = run_with({})
        except MissingColumnsError as error:
            if not error.clear_settings or settings.columns is not None:
                raise
            result = run_with(error.clear_settings)
            recognised = _recognised_note(error.clear_settings)
        opened = read_run(folder)
        if not opened.manifest.has_scores:
            raise UnavailableError("no metric gave scores", "; ".join(missing_metrics([opened])))
        joined = join_runs([opened], Filters())
        # there is only one dataset
        decided, positive = with_decision(joined[0].data, settings.positive)
        joined = [replace(joined[0], data=decided)]
        of_votes = [dataset.data.vote_statistic for dataset in joined]
        by = settings.by or deciding_statistic(of_votes, calibrate_ties=settings.calibrate_ties)
        if settings.calibrate_ties:
            (by,) = calibrated_forms([by])
        # coefficients of the labels as they are say nothing of yes and no
        shown = () if positive else opened.manifest.request.statistics
        statistics = check_statistics([*shown, by])
        tests = PairedTests(**{**settings.values_of(PairedTests), "statistics": statistics})
        progress.begin("comparing metrics", resample_count(joined, tests))
        ranked_boards = boards(joined, tests, by=by, advance=progress.advance)
        # each board is one of the dataset's buckets
        of_bucket = {board.bucket: board for board in ranked_boards}
        evidence = RunEvidence(joined[0], by, tests, limits, of_bucket, positive)
        advice = evidence.advice()
        keep_evidence(evidence)
        deciding = PageSettings(
            audience="decision",
            categories=False,
            **settings.values_of(Criterion),
            budget=settings.budget,
            max_price=settings.max_price,
            max_loss=settings.max_loss,
        )
        for_decision = evidence_for_decision(opened, deciding)
        closing = close(for_decision)
        if settings.out is not None:
            decision = make_decision(for_decision, deciding)
            if decision is not None:
                keep_decision(opened, decision)
            # only now, since the page names the metric that the evidence names
            result.write_page()
            has_choice = for_decision.advice.recommended is not None
            page = decision_page(for_decision if has_choice else gather_evidence(opened, deciding), deciding)
            put_page(decision_html(page), folder / DECISION_PAGE)
        combined = small_combination(joined[0].data, by, settings.seed)
    tables = to_document(ranked_boards, tests, by, missing_metrics([opened]))
    signed = with_signatures(tables, [subject.data for subject in joined], (), tests.signature)
    advised = with_advice(signed, list(advice.values()), by, positive)
    if combined is not None:
        run_folder = "RUN" if settings.out is None else str(settings.out)
        note = _combination_note(combined, joined[0], advice[ALL].highest, tests, by)
        remedy = f"{command_line('combine', run_folder, '--out', 'FOLDER')} makes it a metric"
        advised = replace(advised, warnings=[*advised.warnings, f"{note}; {remedy}"])
    alternative = opened.manifest.buckets[0].alternative
    if alternative is not None:
        advised = replace(advised, warnings=[*advised.warnings, *alternative_annotator_lines(alternative)])
    if recognised is not None:
        advised = replace(advised, hints=[recognised, *advised.hints])
    return Report(with_closing(advised, closing, settings.out))


def _recognised_note(reading: Mapping[str, str]) -> Message:
    """Return a line on the settings that the data was read with, as its columns left no doubt."""
    settings = [part for name, value in reading.items() for part in (Setting(name, value), " ")]
    people = parse_columns(reading["columns"])["label"][0].split("+")
    as_people = f", {' and '.join(people)} as labels of {len(people)} people" if len(people) > 1 else ""
    return Message(
        "read with ",
        *settings,
        f"by the names and cells of its columns{as_people}; say ",
        Setting("columns"),
        " if not so",
    )


def _combination_note(
    combined: SmallCombination, dataset: JoinedDataset, highest: Line | None, tests: PairedTests, by: str
) -> str:
    """Return a line on a score learned from several metrics: its agreement, and its difference from the highest metric.

    It is not among the metrics to choose from, since it is no metric yet.

    Args:
        combined: the combination, with scores of pairs that it was not learned from.
        dataset: the dataset.
        highest: the metric with the highest agreement on all pairs; None if there is none.
        tests: the settings of the tests.
        by: the coefficient that decides.
    """
    line = f"one score learned from {', '.join(combined.members)}, tested on pairs that it was not learned from"
    if highest is None:
        return line
    pairs = dataset.data.pairs_in_bucket(ALL, tests.seed)
    (difference,) = compare_all(
        {COMBINATION: combined.scores, highest.metric: dataset.scores[highest.metric]},
        pairs.labels,
        statistics=(by,),
        confidence=tests.confidence,
        permutations=0,
        resamples=0,
        seed=pairs.seed,
        groups=pairs.groups,
        interval=tests.interval,
    )[COMBINATION, highest.metric]
    if difference.first is None or difference.second is None:
        return line
    values = f"{short(difference.first, 3)} against {short(difference.second, 3)} of {highest.metric}"
    return f"{line}: {title_of(by)} {values} (p {p_value(difference.p)})"


def _requested_statistics(settings: RecommendSettings) -> tuple[str, ...]:
    """Return the statistics that the run must compute; empty if they depend on the data."""
    if not (settings.statistics or settings.by or settings.calibrate_ties):
        return ()
    by = [settings.by] if settings.by else []
    named = check_statistics([*(settings.statistics or DEFAULT_STATISTICS), *by])
    return calibrated_forms(named) if settings.calibrate_ties else named
