"""Where metrics and people diverge, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.files import open_runs
from assay.api.values import Report
from assay.reports.categories import PartsOfSpeech
from assay.reports.data import ALL, draws_of, signed
from assay.reports.errors.divergence import Rule
from assay.reports.errors.document import error_document
from assay.reports.errors.evaluation import evaluation_document
from assay.reports.errors.report import choose_datasets, errors_of
from assay.settings import Resampling

__all__ = ["evaluate_categories", "find_errors"]


def find_errors(
    run: str | Path,
    metrics: Sequence[str] = (),
    *,
    datasets: Sequence[str] = (),
    bucket: str = ALL,
    rule: Rule | None = None,
    corrected: str | Path | None = None,
    statistics: Sequence[str] = (),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    top: int = 10,
    limit: int | None = None,
    tagger: str | Path | None = None,
) -> Report:
    """Find the pairs on which metrics and people diverge, with categories that say why.

    Args:
        run: a run folder, or a file with a label and score columns.
        metrics: which; all by default.
        datasets: which; all by default.
        bucket: which pairs to look at.
        rule: what counts as diverging; by default the paper's thresholds for scores from 0 to 1, ranks for others.
        corrected: a run of the same pairs with other labels, for the cleaning experiment.
        statistics: coefficients of the tables by category; Kendall by default, whose published values are compared.
        resamples: draws of the intervals; 0 for none.
        confidence: level of the intervals.
        seed: seeds the draws.
        top: pairs in the tables.
        limit: pairs of each metric among the records; None for all.
        tagger: folder or name of a spaCy pipeline that reads parts of speech for the categories; None for none.

    Raises:
        InputError: the run cannot be read, or lacks what was asked for; there is no such pipeline.
        MissingExtraError: a pipeline is named and spaCy is not installed.
    """
    speech = PartsOfSpeech(tagger) if tagger is not None else None
    with open_runs([run, *([] if corrected is None else [corrected])]) as opened:
        found = errors_of(
            opened[0],
            metrics,
            datasets=datasets,
            rule=rule,
            statistics=statistics or ("kendall",),
            drawing=Resampling(resamples=resamples, confidence=confidence, seed=seed),
            bucket=bucket,
            corrected=opened[1] if corrected is not None else None,
            speech=speech,
        )
        data = [one.data for one in found]
        names = dict.fromkeys(name for one in found for name in one.divergences)
        draws = draws_of(resamples=resamples, confidence=confidence, seed=seed)
        return Report(signed(error_document(found, top=top, limit=limit), data, names, draws))


def evaluate_categories(
    run: str | Path,
    *,
    datasets: Sequence[str] = (),
    scale: tuple[float, float] | None = None,
    tagger: str | Path | None = None,
) -> Report:
    """Hold the rules that give categories against those that people gave the pairs of a run.

    Args:
        run: a run folder, or a file with a label, a category and score columns.
        datasets: which; all by default.
        scale: lowest and highest label; as the data declares, else those that occur, by default.
        tagger: folder or name of a spaCy pipeline that reads parts of speech; None for none.

    Raises:
        InputError: the run cannot be read, or has no categories of people; there is no such pipeline.
        MissingExtraError: a pipeline is named and spaCy is not installed.
    """
    speech = PartsOfSpeech(tagger) if tagger is not None else None
    with open_runs([run]) as opened:
        return Report(evaluation_document(choose_datasets(opened[0], datasets), scale, speech))
