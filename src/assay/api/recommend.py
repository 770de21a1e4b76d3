"""``assay recommend``: which metric to use on your data."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.analysis.combine.learning import COMBINATION, SmallCombination, small_combination
from assay.analysis.data import ALL
from assay.analysis.decision import Evidence, gather_evidence
from assay.analysis.folder import RunFolder, missing_metric_lines, read_run
from assay.analysis.leaderboard.board import Line
from assay.analysis.leaderboard.join import Filters, join_runs
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
from assay.common.progress import Progress, Silent
from assay.common.verbs import verb
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
from assay.settings import AgreementSettings, Graphs, Limited, OwnData, Prices, Scoring
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
        InputError: a setting, a metric or the data cannot be used, or *out* holds something else or cannot be written.
        OfflineError: the data is not on this machine, and the network is forbidden.
        UnavailableError: the data, or every metric, is unavailable; or no metric gave scores.
    """
    progress = settings.progress or Silent()
    limits = Limits.parse(settings.budget, settings.max_price, settings.max_loss)
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        folder = Path(temporary) / "run" if settings.out is None else user_path(settings.out)
        made_run, columns_note = _run_metrics(settings, folder)
        run_folder = read_run(folder)
        evidence = _compare_metrics(run_folder, settings, limits, progress)
        advice = evidence.advice()
        keep_evidence(evidence)
        page_settings = _page_settings(settings)
        decision_evidence = evidence_for_decision(run_folder, page_settings)
        closing = close(decision_evidence)
        if settings.out is not None:
            _keep_decision_and_pages(run_folder, folder, made_run, decision_evidence, page_settings)
        combination = small_combination(evidence.joined.data, evidence.by, settings.seed)

    missing_lines = missing_metric_lines([run_folder])
    tables = to_document(list(evidence.boards.values()), evidence.tests, evidence.by, missing_lines)
    signed = with_signatures(tables, [evidence.joined.data], (), evidence.tests.signature)
    advised = with_advice(signed, list(advice.values()), evidence.by, evidence.positive)
    warnings = list(advised.warnings)
    if combination is not None:
        run_name = "RUN" if settings.out is None else str(settings.out)
        warnings.append(_combination_note(combination, evidence, advice[ALL].highest, run_name))
    alternative = run_folder.manifest.buckets[0].alternative
    if alternative is not None:
        warnings += alternative_annotator_lines(alternative)
    hints = advised.hints if columns_note is None else [columns_note, *advised.hints]
    return Report(with_closing(replace(advised, warnings=warnings, hints=hints), closing, settings.out))


def _run_metrics(settings: RecommendSettings, folder: Path) -> tuple[Result, Message | None]:
    """Run the metrics on the dataset, and return the run with a line on how its columns were read.

    The line is None if the columns have the usual names or the user named them. Otherwise the run is tried again with
    the columns that their names and cells suggest, if these leave no doubt.

    Args:
        settings: the settings of the command.
        folder: the run folder to write.

    Raises:
        InputError: a setting, a metric or the data cannot be used, or the folder cannot be written.
        OfflineError: the data is not on this machine, and the network is forbidden.
        UnavailableError: the data, or every metric, is unavailable.
    """
    metrics = settings.metrics or (*load_suite(SUITE).metrics, *LONG_ANSWER_METRICS)
    run_settings = settings.values_of(OwnData, Graphs, AgreementSettings, Limited, Scoring, Prices)
    run_settings["statistics"] = _requested_statistics(settings)
    if settings.out is None:
        run_settings["resamples"] = 0
    run_settings |= {"suite": SUITE, "store": settings.store, "fresh": True, "keep_replies": True}
    run_settings |= {"out": folder, "page": False}
    try:
        return run(settings.dataset, metrics, **run_settings), None
    except MissingColumnsError as error:
        if not error.clear_settings or settings.columns is not None:
            raise
        suggested_settings = error.clear_settings
    return run(settings.dataset, metrics, **(run_settings | suggested_settings)), _recognised_note(suggested_settings)


def _compare_metrics(
    run_folder: RunFolder, settings: RecommendSettings, limits: Limits, progress: Progress
) -> RunEvidence:
    """Return the evidence on the only dataset of a run: its metrics ranked in each bucket, with tests.

    Args:
        run_folder: the run.
        settings: the settings of the command.
        limits: the limits on cost and loss.
        progress: shows how many resamples are done.

    Raises:
        InputError: a statistic is unknown, or the rule for the labels that mean yes does not fit them.
        UnavailableError: no metric gave scores.
    """
    if not run_folder.manifest.has_scores:
        raise UnavailableError("no metric gave scores", "; ".join(missing_metric_lines([run_folder])))
    (joined_dataset,) = join_runs([run_folder], Filters())
    data, positive = with_decision(joined_dataset.data, settings.positive)
    joined_dataset = replace(joined_dataset, data=data)
    by = settings.by or deciding_statistic([data.vote_statistic], calibrate_ties=settings.calibrate_ties)
    if settings.calibrate_ties:
        (by,) = calibrated_forms([by])
    # coefficients of the labels as they are say nothing of yes and no
    shown_statistics = () if positive else run_folder.manifest.request.statistics
    statistics = check_statistics([*shown_statistics, by])
    tests = PairedTests(**{**settings.values_of(PairedTests), "statistics": statistics})
    progress.begin("comparing metrics", resample_count([joined_dataset], tests))
    ranked_boards = boards([joined_dataset], tests, by=by, advance=progress.advance)
    return RunEvidence(
        joined=joined_dataset,
        by=by,
        tests=tests,
        limits=limits,
        boards={board.bucket: board for board in ranked_boards},
        positive=positive,
    )


def _page_settings(settings: RecommendSettings) -> PageSettings:
    """Return the settings of the page for a decision, with the limits and the criterion of the command."""
    return PageSettings(
        audience="decision",
        categories=False,
        **settings.values_of(Criterion),
        budget=settings.budget,
        max_price=settings.max_price,
        max_loss=settings.max_loss,
    )


def _keep_decision_and_pages(
    run_folder: RunFolder, folder: Path, made_run: Result, evidence: Evidence, page_settings: PageSettings
) -> None:
    """Write the decision, the page of the run and the page for a decision into a run folder.

    The page for a decision names no metric if none is recommended, even where the decision is by the highest.

    Args:
        run_folder: the run as it was read, and *folder*, its path.
        made_run: the run as it was made, which writes its page.
        evidence: the evidence for deciding by the recommended metric, or else the highest.
        page_settings: the settings of the page for a decision.
    """
    decision = make_decision(evidence, page_settings)
    if decision is not None:
        keep_decision(run_folder, decision)
    # only now, since the page names the metric that the evidence names
    made_run.write_page()
    has_choice = evidence.advice.recommended is not None
    page_evidence = evidence if has_choice else gather_evidence(run_folder, page_settings)
    put_page(decision_html(decision_page(page_evidence, page_settings)), folder / DECISION_PAGE)


def _recognised_note(reading: Mapping[str, str]) -> Message:
    """Return a line on the settings that the data was read with, as its columns left no doubt.

    Args:
        reading: the settings by name, with ``columns`` among them, which names one column of labels, or several joined
            by ``+``.
    """
    settings_and_spaces: list[Setting | str] = []
    for name, value in reading.items():
        settings_and_spaces += [Setting(name, value), " "]
    people = parse_columns(reading["columns"])["label"][0].split("+")
    as_people = f", {' and '.join(people)} as labels of {len(people)} people" if len(people) > 1 else ""
    return Message(
        "read with ",
        *settings_and_spaces,
        f"by the names and cells of its columns{as_people}; say ",
        Setting("columns"),
        " if not so",
    )


def _combination_note(combination: SmallCombination, evidence: RunEvidence, highest: Line | None, run_name: str) -> str:
    """Return a line on a score learned from several metrics: its agreement, and its difference from the highest metric.

    It is not among the metrics to choose from, since it is no metric yet: the line names the command that makes it one.

    Args:
        combination: the combination, with scores of pairs that it was not learned from.
        evidence: the dataset, the coefficient that decides, and the settings of the tests.
        highest: the metric with the highest agreement on all pairs; None if there is none.
        run_name: the name of the run folder in the command.
    """
    note = f"one score learned from {', '.join(combination.members)}, tested on pairs that it was not learned from"
    if highest is not None:
        note += _difference_from_highest(combination, evidence, highest)
    return f"{note}; {command_line('combine', run_name, '--out', 'FOLDER')} makes it a metric"


def _difference_from_highest(combination: SmallCombination, evidence: RunEvidence, highest: Line) -> str:
    """Return a clause on the agreement of a combination and of the highest metric, with the p-value of the difference.

    It is empty if one of the two is undefined.

    Args:
        combination: the combination, with scores of pairs that it was not learned from.
        evidence: the dataset, the coefficient that decides, and the settings of the tests.
        highest: the metric with the highest agreement on all pairs.
    """
    dataset, tests, by = evidence.joined, evidence.tests, evidence.by
    pairs = dataset.data.pairs_in_bucket(ALL, tests.seed)
    (difference,) = compare_all(
        {COMBINATION: combination.scores, highest.metric: dataset.scores[highest.metric]},
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
        return ""
    values = f"{short(difference.first, 3)} against {short(difference.second, 3)} of {highest.metric}"
    return f": {title_of(by)} {values} (p {p_value(difference.p)})"


def _requested_statistics(settings: RecommendSettings) -> tuple[str, ...]:
    """Return the statistics that the run must compute; empty if they depend on the data."""
    if not (settings.statistics or settings.by or settings.calibrate_ties):
        return ()
    by = [settings.by] if settings.by else []
    statistics = check_statistics([*(settings.statistics or DEFAULT_STATISTICS), *by])
    return calibrated_forms(statistics) if settings.calibrate_ties else statistics
