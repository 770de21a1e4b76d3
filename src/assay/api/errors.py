"""Pairs on which metrics and people diverge, with explanations."""

from __future__ import annotations

from assay.analysis.categories import PartsOfSpeech
from assay.analysis.data import choose_datasets
from assay.analysis.errors.evaluation import evaluate_rules
from assay.analysis.errors.report import error_reports
from assay.analysis.errors.settings import ErrorSettings, EvaluationSettings
from assay.analysis.settings import draws_signature
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.common.verbs import takes_settings
from assay.reports.errors import error_document, evaluation_document
from assay.reports.sheets import with_signatures


@takes_settings(ErrorSettings)
def errors(run: Run, settings: ErrorSettings) -> Report:
    """Find the pairs on which metrics and people diverge, with categories that say why.

    Args:
        run: a run folder, a result of :func:`assay.run`, or a file with a label and score columns.
        statistics: the coefficients in the tables by category; Kendall by default, which has published values.

    Returns:
        A report whose records are the diverging pairs of each metric.

    Raises:
        InputError: a run cannot be read or lacks a requested metric, dataset or bucket; there is no such coefficient; a
            dataset does not fit the rule or the corrected labels; or the pipeline is missing.
        MissingExtraError: a pipeline is named and spaCy is not installed.
    """
    parts_of_speech = PartsOfSpeech(settings.tagger) if settings.tagger is not None else None
    runs = [run] if settings.corrected is None else [run, settings.corrected]
    with open_runs(runs) as opened:
        reports = error_reports(
            opened[0],
            settings.metrics,
            datasets=settings.datasets,
            rule=settings.divergence_rule,
            statistics=settings.statistics or ("kendall",),
            drawing=settings,
            bucket=settings.bucket,
            corrected=opened[1] if settings.corrected is not None else None,
            speech=parts_of_speech,
        )
        datasets = [report.data for report in reports]
        metrics = dict.fromkeys(name for report in reports for name in report.divergences)
        draws = draws_signature(settings)
        document = error_document(reports, top=settings.top, limit=settings.limit)
        return Report(with_signatures(document, datasets, metrics, draws))


@takes_settings(EvaluationSettings)
def evaluate_categories(run: Run, settings: EvaluationSettings) -> Report:
    """Compare the categories that rules assign to the pairs of a run with categories assigned by people.

    Args:
        run: a run folder, a result of :func:`assay.run`, or a file with a label, a category and score columns.

    Returns:
        A report with one record per category and per group of categories, for each dataset.

    Raises:
        InputError: the run cannot be read, lacks a requested dataset or has no categories by people, or the pipeline
            does not exist.
        UnavailableError: NLTK refuses WordNet because of its permissions.
        MissingExtraError: a pipeline is named and spaCy is not installed.
    """
    parts_of_speech = PartsOfSpeech(settings.tagger) if settings.tagger is not None else None
    with open_runs(run) as (opened,):
        evaluated, warnings = [], []
        for data in choose_datasets(opened, settings.datasets):
            evaluation, missing = evaluate_rules(data, settings.scale, parts_of_speech)
            evaluated.append((data, evaluation))
            warnings += missing
        return Report(evaluation_document(evaluated, warnings))
